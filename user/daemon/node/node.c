/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sensors of the node: opened once, read in ticks, their energy split among the steps. */
#include "daemon/node/node.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "daemon/node/node_internal.h"
#include "sensor/plugin/plugin.h"
#include "sensor/sensors.h"

/* ---- the node's energy, split among its steps */

/* Returns how many steps of the list have a share. */
static unsigned split_count_steps(const struct step *s)
{
	unsigned n = 0;

	for (; s; s = s->next)
		n += step__uses_node(s);
	return n;
}

/* One number for all steps of a job: a hash of the path of the job's directory (FNV-1a). */
static uint64_t job_of(const struct step *s)
{
	uint64_t h = 14695981039346656037ull;

	for (size_t i = 0; i < s->ids.job_end && s->path[i]; i++)
		h = (h ^ (unsigned char)s->path[i]) * 1099511628211ull;
	return h;
}

/* Steps that hold the CPUs of their job, and use little of them. */
static bool is_support(const struct step *s)
{
	static const char *const names[] = {"batch", "extern", "interactive"};

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(s->ids.step_name, names[i]))
			return true;
	return false;
}

static void fill_step(struct step *s, const struct step_env *env, uint64_t from_ns, uint64_t now_ns,
		      struct node_step *out)
{
	struct step_sensors *n = s->sensors;
	unsigned np = node_energy__npackages(n->node->energy);

	step_cpus__find(s, env, now_ns);
	*out = (struct node_step){.id = s->start_boot_ns ^ s->slot,
				  .job = job_of(s),
				  .support = is_support(s),
				  .by_core = n->by_core,
				  .held = n->held_known ? n->held : NULL,
				  .alive = 1,
				  .run_s = n->run_s,
				  .cycles = &n->events[NODE_CYCLES * np],
				  .misses = &n->events[NODE_MISSES * np]};
	if (s->start_boot_ns > from_ns && now_ns > from_ns)
		out->alive = s->start_boot_ns < now_ns ? (double)(now_ns - s->start_boot_ns) /
								 (double)(now_ns - from_ns)
						       : 0;
}

static void add_shares(struct step_sensors *s, const struct node_interval *o,
		       const struct energy_share *share)
{
	double others = o->measured - o->system - o->unallocated - share->total;
	const double v[ENERGY_COLUMNS] = {
		[NODE_POWER] = o->power * o->seconds,
		[NODE_ENERGY] = o->node,
		[PKG_ENERGY] = o->pkg,
		[DRAM_ENERGY] = o->dram,
		[GPU_ENERGY] = o->gpu,
		[STEP_ENERGY] = share->total,
		[STEP_STATIC] = share->fixed,
		[STEP_DYNAMIC] = share->dynamic,
		[STEP_ENERGY_LOW] = share->low,
		[STEP_ENERGY_HIGH] = share->high,
		[OTHER_ENERGY] = others > 0	 ? others
				 : isnan(others) ? NAN
						 : 0,
		[SYSTEM_ENERGY] = o->system,
		[UNALLOCATED_ENERGY] = o->unallocated,
	};

	for (unsigned i = 0; i < ENERGY_COLUMNS; i++)
		s->energy[i] += v[i];
	s->seconds += o->seconds;
	s->any = true;
}

static void add_known(double *sum, double v)
{
	if (!isnan(v))
		*sum = isnan(*sum) ? v : *sum + v;
}

static void add_joules(struct node_joules *j, const struct node_interval *o)
{
	add_known(&j->node, o->node);
	add_known(&j->package, o->pkg);
	add_known(&j->dram, o->dram);
	add_known(&j->gpu, o->gpu);
}

/* Steps whose uses could not be read are the system's. */
static void split_run(struct node *n, struct step *steps, const struct step_env *env,
		      uint64_t now_ns)
{
	unsigned max = split_count_steps(steps), used = 0;
	struct node_step *v = calloc(max + 1, sizeof(*v));
	struct step **used_by = calloc(max + 1, sizeof(struct step *));
	int err = v && used_by ? 0 : -ENOMEM;

	for (struct step *s = steps; !err && s; s = s->next) {
		if (!step__uses_node(s) || step_use__update(s, env))
			continue;
		fill_step(s, env, n->energy_ns, now_ns, &v[used]);
		used_by[used++] = s;
	}
	cpu_busy__take(n->busy, n->busy_s);
	node_gpus__share(n, steps, env);
	for (unsigned i = 0; !err && i < used; i++)
		v[i].gpu = used_by[i]->sensors->gpu;
	if (!err)
		err = node_energy__end(n->energy, n->sensors, now_ns, n->busy_s, v, used, &n->last);
	if (err && err != -EAGAIN)
		log_error("cannot split the node's energy: %s", strerror(-err));
	if (!err)
		add_joules(&n->joules, &n->last);
	for (unsigned i = 0; !err && i < used; i++)
		add_shares(used_by[i]->sensors, &n->last, &v[i].share);
	free(v);
	free(used_by);
}

/* A counter of energy may wrap in minutes: counters are read that often whether rows are due or
 * not. */
#define TICK_NS (55 * NSEC_PER_SEC)
/* Idle power is not known at the start: so many short ticks measure it while no step runs. */
#define FIRST_TICKS 12
#define FIRST_NS    (1 * NSEC_PER_SEC)
/* Idle power is saved that often. */
#define SAVE_NS (600 * NSEC_PER_SEC)
/* Intervals at which slow sources are read: for steps with long intervals, and without steps. */
#define SLOW_STEP_NS (5 * NSEC_PER_SEC)
#define SLOW_IDLE_NS (30 * NSEC_PER_SEC)

void node_read__sensors(struct node *n, uint64_t now_ns, bool all)
{
	if (all)
		sensor_set__read_all(n->sensors);
	else
		sensor_set__read(n->sensors);
	n->read_ns = now_ns;
	if ((n->energy && node_energy__find_channels(n->energy, n->sensors)) ||
	    sensor_tables__update(n))
		log_error("out of memory: some sensors are in no table");
}

/* Channels that no wanted table has are not read. */
void node_read__want(struct node *n, unsigned families, uint64_t period_ns)
{
	const struct channel_state *c;
	unsigned nc = sensor_set__channels(n->sensors, &c);
	bool *wanted;

	if (families == n->asked && period_ns == n->period_ns && n->version == n->wanted_version)
		return;
	wanted = calloc(nc + 1, sizeof(*wanted));
	if (!wanted)
		return;
	for (unsigned i = 0; i < n->ntables; i++)
		for (unsigned k = 0; n->tables[i].family & families && k < n->tables[i].ncols; k++)
			for (unsigned j = 0; j < n->tables[i].cols[k].nchannels; j++)
				wanted[n->tables[i].cols[k].channel[j]] = true;
	/* idle power is measured while no step asks */
	for (unsigned i = 0; n->energy && i < nc; i++)
		wanted[i] = wanted[i] || node_energy__uses(n->energy, i);
	sensor_set__want(n->sensors, wanted, nc, period_ns);
	free(wanted);
	if (n->gpu_users)
		gpu_users__set_period(n->gpu_users, period_ns);
	n->asked = families;
	n->period_ns = period_ns;
	n->wanted_version = n->version;
}

static int open_energy(struct node *n, const struct node_opts *opts)
{
	int err = node_energy__new(&n->energy, &opts->roots);
	unsigned ncpus;

	if (err == -ENOMEM)
		return err;
	if (err) {
		log_warn("energy is not split: %s/devices/system/cpu does not say where CPUs are",
			 opts->roots.sys);
		return 0;
	}
	ncpus = node_energy__ncpus(n->energy);
	n->busy = cpu_busy__new("/proc", ncpus);
	n->busy_s = calloc(ncpus, sizeof(*n->busy_s));
	if (!n->busy || !n->busy_s)
		return -ENOMEM;
	if (opts->state_dir &&
	    asprintf(&n->idle_power_file, "%s/energy.learnt", opts->state_dir) < 0)
		n->idle_power_file = NULL;
	if (n->idle_power_file)
		node_energy__load(n->energy, n->idle_power_file);
	return 0;
}

/* A plug-in that fails, or a missing directory, does not keep the other sources from being used. */
static unsigned load_plugins(const char *dir, const struct sensor_ops *const **out)
{
	int n = dir ? plugins__load(dir, sensor_sources, out) : 0;

	if (n < 0 && n != -ENOENT && n != -EPERM)
		log_error("sensor plug-ins of %s are not loaded: %s", dir, strerror(-n));
	return n > 0 ? (unsigned)n : 0;
}

/* All built-in sources, then those of the site. */
static int open_sensors(struct node *n, const struct node_opts *opts)
{
	const struct sensor_set_opts set_opts = {.roots = opts->roots, .only = opts->only};
	const struct sensor_ops *const *plugins = NULL;
	unsigned nplugins = load_plugins(opts->plugins, &plugins);
	_cleanup_free_ const struct sensor_ops **all =
		calloc(n_sensor_sources + nplugins, sizeof(struct sensor_ops *));

	if (!all)
		return -ENOMEM;
	memcpy(all, sensor_sources, n_sensor_sources * sizeof(struct sensor_ops *));
	for (unsigned i = 0; i < nplugins; i++)
		all[n_sensor_sources + i] = plugins[i];
	return sensor_set__open(&n->sensors, all, n_sensor_sources + nplugins, &set_opts);
}

int node__open(struct node **out, const struct node_opts *opts)
{
	struct node *n = calloc(1, sizeof(*n));
	int err;

	if (!n)
		return -ENOMEM;
	n->joules = node__joules(NULL);
	err = open_sensors(n, opts);
	if (!err)
		err = open_energy(n, opts);
	if (!err && (sensor_set__means(opts->only, sensor_nvml.name) ||
		     sensor_set__means(opts->only, sensor_rsmi.name)))
		gpu_users__start(&n->gpu_users, &opts->roots, NSEC_PER_SEC);
	if (err) {
		node__free(n);
		return err;
	}
	*out = n;
	return 0;
}

static void save_idle_power(struct node *n, uint64_t now_ns)
{
	n->saved_ns = now_ns;
	if (!n->idle_power_file || !node_energy__any(n->energy))
		return;
	if (node_energy__save(n->energy, n->idle_power_file))
		log_warn("cannot write %s: what was learnt of idle power will be learnt again",
			 n->idle_power_file);
}

void node__free(struct node *n)
{
	if (!n)
		return;
	if (n->energy && n->last_ns)
		save_idle_power(n, n->last_ns);
	sensor_tables__free(n);
	gpu_users__stop(n->gpu_users);
	sensor_set__close(n->sensors);
	node_energy__free(n->energy);
	cpu_busy__free(n->busy);
	free(n->busy_s);
	free(n->idle_power_file);
	free(n);
}

void node__begin(struct node *n, struct step *steps, const struct step_env *env)
{
	uint64_t now = clock__boot_ns();

	if (!n)
		return;
	node_read__sensors(n, now, true);
	n->last_ns = n->energy_ns = now;
	if (!n->energy)
		return;
	cpu_busy__take(n->busy, n->busy_s);
	node_energy__begin(n->energy, n->sensors, now);
	for (struct step *s = steps; s; s = s->next)
		if (step__uses_node(s))
			step_use__skip(s, env);
}

/* Sets the families and intervals that steps ask for now. */
static void want_for_steps(struct node *n, const struct step *steps)
{
	uint64_t least = UINT64_MAX;
	unsigned asked = 0;

	for (const struct step *s = steps; s; s = s->next) {
		if (!step__uses_node(s))
			continue;
		asked |= s->families & FAM_SENSORS;
		for (int kind = COUNTED_KINDS; kind < ALL_KINDS; kind++)
			if (s->interval_ns[kind] && s->interval_ns[kind] < least)
				least = s->interval_ns[kind];
	}
	node_read__want(n, asked,
			!asked		       ? SLOW_IDLE_NS
			: least < SLOW_STEP_NS ? NODE_SLOW_NS
					       : SLOW_STEP_NS);
}

void node__tick(struct node *n, struct step *steps, const struct step_env *env, uint64_t now_ns)
{
	if (!n || now_ns <= n->last_ns)
		return;
	want_for_steps(n, steps);
	node_read__sensors(n, now_ns, false);
	if (n->energy && (n->asked & FAM_ENERGY || now_ns >= node__due(n, steps != NULL))) {
		split_run(n, steps, env, now_ns);
		n->energy_ns = now_ns;
	}
	n->last_ns = now_ns;
	n->idle_ticks = split_count_steps(steps) ? 0 : n->idle_ticks + 1;
	if (n->energy && now_ns > n->saved_ns + SAVE_NS)
		save_idle_power(n, now_ns);
}

struct node_joules node__joules(const struct node *n)
{
	return n ? n->joules : (struct node_joules){NAN, NAN, NAN, NAN};
}

uint64_t node__due(const struct node *n, bool any_step)
{
	if (!n || !n->energy || !node_energy__any(n->energy))
		return UINT64_MAX;
	if (!any_step && !n->saved_ns && n->idle_ticks < FIRST_TICKS)
		return n->energy_ns + FIRST_NS;
	return n->energy_ns + TICK_NS;
}

unsigned node__families(const struct node *n)
{
	return n ? n->families : 0;
}
