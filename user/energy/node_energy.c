/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Energy of a node from one reading of its sensors to the next. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "energy/node_energy_internal.h"
#include "sensor/core/cpus.h"

/* ---- packages, cores and hardware threads of the node, numbered from 0 for the split */

static int compare_places(const void *a, const void *b)
{
	const struct cpu_place *const *x = a, *const *y = b;

	if ((*x)->package != (*y)->package)
		return (*x)->package < (*y)->package ? -1 : 1;
	return (*x)->core != (*y)->core ? ((*x)->core < (*y)->core ? -1 : 1)
					: (*x)->cpu - (*y)->cpu;
}

/* Numbers packages and cores from 0, in the kernel's order. */
static int number_cores(struct node_energy *e, const struct cpus *c)
{
	_cleanup_free_ const struct cpu_place **at = calloc(c->n, sizeof(struct cpu_place *));
	unsigned first = 0;

	if (!at)
		return -ENOMEM;
	for (unsigned i = 0; i < c->n; i++)
		at[i] = &c->at[i];
	qsort(at, c->n, sizeof(struct cpu_place *), compare_places);
	for (unsigned i = 0; i < c->n; i++) {
		const struct cpu_place *p = at[i];
		bool new_package = !i || p->package != at[i - 1]->package;
		bool new_core = new_package || p->core != at[i - 1]->core;

		if (new_package)
			e->package_id[e->topo.npackages++] = p->package;
		if (new_core) {
			e->topo.ncores++;
			e->cores[e->topo.npackages - 1]++;
			first = (unsigned)p->cpu;
		}
		e->cpu[p->cpu] =
			(struct core_alloc_cpu){.core = (uint16_t)(e->topo.ncores - 1),
						.package = (uint16_t)(e->topo.npackages - 1),
						.there = true};
		e->next[p->cpu] = first;
		if (!new_core)
			e->next[at[i - 1]->cpu] = (unsigned)p->cpu;
	}
	return 0;
}

/* Fills in topo, cpu, cores, package_id and next. 0, -ENOMEM, -ENOENT. */
static int node_topology_read(struct node_energy *e, const struct sensor_roots *roots)
{
	struct cpus c;
	int err = cpus__read(&c, roots);

	if (err)
		return err;
	if (!c.n || !c.packages)
		err = -ENOENT;
	if (!err) {
		e->topo.ncpus = (unsigned)c.at[c.n - 1].cpu + 1;
		e->cpu = calloc(e->topo.ncpus, sizeof(*e->cpu));
		e->next = calloc(e->topo.ncpus, sizeof(*e->next));
		e->cores = calloc((size_t)c.packages, sizeof(*e->cores));
		e->package_id = calloc((size_t)c.packages, sizeof(*e->package_id));
		err = e->cpu && e->next && e->cores && e->package_id ? number_cores(e, &c)
								     : -ENOMEM;
	}
	e->topo.cpu = e->cpu;
	cpus__free(&c);
	return err;
}

/* ---- one interval of the node: how much each step used of which package, what its sensors have
 * measured, the split of that among the steps, and what is learnt from it for the intervals to come
 */

/* Largest relative error of sensors that document none: BMCs are sold with 5 %, see README. */
#define NODE_ERROR 0.05
#define PKG_ERROR  0.05
#define GPU_ERROR  0.05
/* RAPL's counters are up to date to 1 ms. */
#define PKG_EDGE_S 0.001

/* An interval that is split. */
struct interval {
	struct node_energy *e;
	const double *busy_s;
	struct node_step *steps;
	unsigned nsteps;
	double seconds;
	struct energy_package *package; /* [npackages] */
	struct energy_use *use;		/* [nsteps + 1][npackages]: the last is the system */
	double *gpu;			/* [nsteps] */
	double *alloc;			/* [nsteps][npackages] */
	struct energy_share *share;	/* [nsteps] */
};

static struct energy_use *use_of(const struct interval *v, unsigned consumer, unsigned package)
{
	return &v->use[(size_t)consumer * v->e->topo.npackages + package];
}

/* The part of the interval in which other threads of the CPU's core were busy. */
static double siblings_busy(const struct interval *v, unsigned cpu)
{
	double part = 0;

	for (unsigned i = v->e->next[cpu]; i != cpu; i = v->e->next[i])
		part += v->busy_s[i] / v->seconds;
	return fmin(part, 1);
}

/* Two threads of a core are taken to run independently of each other: how long both ran together is
 * not counted. */
static void add_cpu(const struct interval *v, unsigned cpu)
{
	double left = v->busy_s[cpu], both = siblings_busy(v, cpu);
	unsigned package = v->e->cpu[cpu].package;

	for (unsigned i = 0; i <= v->nsteps; i++) {
		struct energy_use *u = use_of(v, i, package);
		double run = i < v->nsteps ? v->steps[i].run_s[cpu] : fmax(left, 0);

		u->run_s += run;
		u->overlap_s += run * both;
		left -= run;
	}
}

static int fill_use(struct interval *v)
{
	struct node_energy *e = v->e;
	_cleanup_free_ struct core_alloc_step *held = calloc(v->nsteps + 1, sizeof(*held));
	int err;

	if (!held)
		return -ENOMEM;
	for (unsigned i = 0; i < e->topo.ncpus; i++)
		if (e->cpu[i].there)
			add_cpu(v, i);
	for (unsigned i = 0; i < v->nsteps; i++) {
		const struct node_step *s = &v->steps[i];

		held[i] = (struct core_alloc_step){s->job, s->support, s->by_core, s->held};
	}
	err = core_alloc__count(&e->topo, held, v->nsteps, v->alloc);
	for (unsigned i = 0; !err && i <= v->nsteps; i++)
		for (unsigned p = 0; p < e->topo.npackages; p++) {
			const struct node_step *s = i < v->nsteps ? &v->steps[i] : NULL;
			struct energy_use *u = use_of(v, i, p);

			u->cycles = s && s->cycles ? s->cycles[p] : NAN;
			u->misses = s && s->misses ? s->misses[p] : NAN;
			u->alloc_cores =
				s ? v->alloc[(size_t)i * e->topo.npackages + p] * s->alive : NAN;
		}
	return err;
}

/* Dies of a package are added up; a part of one that was not measured makes all of it unknown. */
static void fill_packages(struct interval *v)
{
	struct node_energy *e = v->e;

	for (unsigned p = 0; p < e->topo.npackages; p++) {
		struct calib_package *l = &e->learnt->package[p];
		struct energy_package *k = &v->package[p];
		unsigned npkg = 0, ndram = 0;

		*k = (struct energy_package){.pkg_idle_w = calib_package__pkg_idle_w(l),
					     .dram_idle_w = calib_package__dram_idle_w(l),
					     .cores = e->cores[p]};
		calib_package__range(l, &k->pmin_w, &k->pmax_w);
		for (unsigned i = 0; i < e->nroles; i++) {
			const struct role *r = &e->role[i];

			if (r->of != p || (r->part != PART_PACKAGE && r->part != PART_DRAM))
				continue;
			*(r->part == PART_PACKAGE ? &k->pkg : &k->dram) += r->joules;
			*(r->part == PART_PACKAGE ? &npkg : &ndram) += 1;
		}
		k->pkg = npkg ? k->pkg : NAN;
		k->dram = ndram ? k->dram : NAN;
	}
}

/* Puts the J of each step's GPUs in v->gpu: NAN where none was measured. Returns the J of GPUs that
 * no step owns. */
static double fill_gpus(struct interval *v)
{
	double unowned = 0;
	bool any = false;

	for (unsigned i = 0; i < v->e->nroles; i++)
		any = any || (v->e->role[i].part == PART_GPU && !isnan(v->e->role[i].joules));
	for (unsigned k = 0; k < v->nsteps; k++)
		v->gpu[k] = any ? 0 : NAN;
	for (unsigned i = 0; i < v->e->nroles; i++) {
		const struct role *r = &v->e->role[i];
		double left = 1;

		if (r->part != PART_GPU || isnan(r->joules))
			continue;
		for (unsigned k = 0; k < v->nsteps; k++) {
			double part = v->steps[k].gpu ? v->steps[k].gpu[r->of] : 0;

			v->gpu[k] += part * r->joules;
			left -= part;
		}
		unowned += fmax(left, 0) * r->joules;
	}
	return unowned;
}

static double error_of(const struct node_energy *e, enum sensor_part part, double usual)
{
	double worst = NAN;

	for (unsigned i = 0; i < e->nroles; i++)
		if (e->role[i].part == part)
			worst = fmax(worst, e->channel[e->role[i].channel].channel->error);
	return worst >= 0 && worst < 1 ? worst : usual;
}

static double step_of(const struct node_energy *e, enum sensor_part part)
{
	const struct role *r = node_roles__first(e, part);
	double step = r ? e->channel[r->channel].channel->step : NAN;

	return step > 0 ? step : 0;
}

/* Packages, DRAM and GPUs together, W: of what was measured. */
static double quick_w(const struct node_interval *o)
{
	double sum = 0;

	if (isnan(o->pkg) && isnan(o->gpu))
		return NAN;
	sum += isnan(o->pkg) ? 0 : o->pkg;
	sum += isnan(o->dram) ? 0 : o->dram;
	sum += isnan(o->gpu) ? 0 : o->gpu;
	return sum / o->seconds;
}

static double busy_of(const struct energy_use *u)
{
	return u->run_s - u->overlap_s / 2;
}

/* Learns idle and busy powers, after the split: an interval must not be split by what it taught
 * itself. */
static void learn_powers(struct interval *v, const struct node_interval *o)
{
	struct node_energy *e = v->e;
	double busy_all = 0;

	for (unsigned p = 0; p < e->topo.npackages; p++) {
		struct calib_window w = {
			v->seconds, v->package[p].pkg, v->package[p].dram, e->cores[p], 0, 0, 0};

		for (unsigned i = 0; i <= v->nsteps; i++) {
			double busy = busy_of(use_of(v, i, p));

			w.busy_s += busy;
			if (i == v->nsteps || busy <= w.busy_of_step_s)
				continue;
			w.busy_of_step_s = busy;
			w.step = v->steps[i].id;
		}
		busy_all += w.busy_s;
		calib_package__add(&e->learnt->package[p], &w);
	}
	if (!isnan(o->node) && !isnan(quick_w(o)))
		calib_other__add(&e->learnt->other, o->node / v->seconds - quick_w(o),
				 busy_all / e->topo.ncores / v->seconds);
}

/* Finds how far the node's sensor is behind the quick ones, as far as that shows. */
static void find_lag(struct node_energy *e)
{
	double s;

	if (++e->unasked < LAG_KEPT)
		return;
	e->unasked = 0;
	s = energy_lag__find(&e->lag);
	if (!isnan(s))
		e->lag_s = s;
}

/* The age of the oldest moment that a value of the node's sensor is about, s. */
static double late_s(const struct node_energy *e, uint64_t now_ns)
{
	const struct role *r = node_roles__first(e, PART_NODE);
	const struct channel_state *c;
	uint64_t age;

	if (!r)
		return 0;
	c = &e->channel[r->channel];
	age = now_ns > c->time_ns ? now_ns - c->time_ns : 0;
	return (double)(2 * c->channel->period_ns + c->channel->lag_ns + age) * 1e-9 +
	       (isnan(e->lag_s) ? 0 : e->lag_s);
}

static int split_interval(struct interval *v, uint64_t now_ns, struct node_interval *o)
{
	struct node_energy *e = v->e;
	struct energy_split s = {.step = v->share};
	struct energy_input in = {.seconds = v->seconds,
				  .node = o->node,
				  .node_error = error_of(e, PART_NODE, NODE_ERROR),
				  .pkg_error = error_of(e, PART_PACKAGE, PKG_ERROR),
				  .gpu_error = error_of(e, PART_GPU, GPU_ERROR),
				  .pkg_step = step_of(e, PART_PACKAGE),
				  .pkg_edge_s = PKG_EDGE_S,
				  .other_idle_w = calib_min__value(&e->learnt->other),
				  .idle_error = ENERGY_IDLE_ERROR,
				  .npackages = e->topo.npackages,
				  .package = v->package,
				  .nsteps = v->nsteps,
				  .use = v->use,
				  .system = use_of(v, v->nsteps, 0),
				  .gpu = e->ngpus ? v->gpu : NULL};
	const struct role *node = node_roles__first(e, PART_NODE);
	double step = step_of(e, PART_NODE);
	int err;

	if (node && e->channel[node->channel].channel->quantity == QUANTITY_ENERGY)
		step /= v->seconds;
	in.gpu_unowned = fill_gpus(v);
	in.node_off = isnan(o->node) ? 0 : energy_lag__off(&e->lag, step, late_s(e, now_ns));
	err = energy__split(&in, &s);
	if (err == -ENODATA)
		return 0;
	if (err)
		return err;
	o->split = true;
	o->measured = s.measured;
	o->system = s.system;
	o->unallocated = s.unallocated;
	o->static_known = s.static_known;
	o->alloc_known = s.alloc_known;
	o->node_known = s.node_known;
	o->clamped = s.clamped;
	o->weight = s.weight;
	o->power = s.measured / v->seconds;
	for (unsigned i = 0; i < v->nsteps; i++)
		v->steps[i].share = v->share[i];
	return 0;
}

/*
 * Splits what node_roles__take() has read, and out holds the sums of, among the
 * steps, and learns from it. busy_s and steps as in node_energy__end(); out->seconds is set. 0,
 * -ENOMEM, -EINVAL.
 */
static int node_interval_split(struct node_energy *e, uint64_t now_ns, const double *busy_s,
			       struct node_step *steps, unsigned nsteps, struct node_interval *out)
{
	size_t n = nsteps + 1, np = e->topo.npackages;
	_cleanup_free_ struct energy_package *package = calloc(np, sizeof(*package));
	_cleanup_free_ struct energy_use *use = calloc(n * np, sizeof(*use));
	_cleanup_free_ double *gpu = calloc(n, sizeof(*gpu));
	_cleanup_free_ double *alloc = calloc(n * np, sizeof(*alloc));
	_cleanup_free_ struct energy_share *share = calloc(n, sizeof(*share));
	struct interval v = {.e = e,
			     .busy_s = busy_s,
			     .steps = steps,
			     .nsteps = nsteps,
			     .seconds = out->seconds,
			     .package = package,
			     .use = use,
			     .gpu = gpu,
			     .alloc = alloc,
			     .share = share};
	int err;

	if (!package || !use || !gpu || !alloc || !share)
		return -ENOMEM;
	err = fill_use(&v);
	if (err)
		return err;
	fill_packages(&v);
	energy_lag__add(&e->lag, v.seconds, quick_w(out), out->node / v.seconds);
	find_lag(e);
	err = split_interval(&v, now_ns, out);
	learn_powers(&v, out);
	return err;
}

int node_energy__new(struct node_energy **out, const struct sensor_roots *roots)
{
	struct node_energy *e = calloc(1, sizeof(*e));
	int err;

	if (!e)
		return -ENOMEM;
	err = node_topology_read(e, roots);
	if (!err) {
		e->learnt = calloc(1, sizeof(*e->learnt) +
					      e->topo.npackages * sizeof(e->learnt->package[0]));
		err = e->learnt ? 0 : -ENOMEM;
	}
	if (err) {
		node_energy__free(e);
		return err;
	}
	e->lag_s = NAN;
	calib_min__init(&e->learnt->other);
	for (unsigned i = 0; i < e->topo.npackages; i++)
		calib_package__init(&e->learnt->package[i]);
	*out = e;
	return 0;
}

void node_energy__free(struct node_energy *e)
{
	if (!e)
		return;
	free(e->cpu);
	free(e->next);
	free(e->cores);
	free(e->package_id);
	free(e->role);
	free(e->learnt);
	free(e);
}

unsigned node_energy__ncpus(const struct node_energy *e)
{
	return e->topo.ncpus;
}

unsigned node_energy__ncores(const struct node_energy *e)
{
	return e->topo.ncores;
}

unsigned node_energy__npackages(const struct node_energy *e)
{
	return e->topo.npackages;
}

int node_energy__package(const struct node_energy *e, unsigned cpu)
{
	return cpu < e->topo.ncpus && e->cpu[cpu].there ? e->cpu[cpu].package : -1;
}

unsigned node_energy__ngpus(const struct node_energy *e)
{
	return e->ngpus;
}

int node_energy__gpu_index(const struct node_energy *e, unsigned gpu)
{
	for (unsigned i = 0; i < e->nroles; i++)
		if (e->role[i].part == PART_GPU && e->role[i].of == gpu)
			return e->role[i].index;
	return -1;
}

bool node_energy__uses(const struct node_energy *e, unsigned channel)
{
	for (unsigned i = 0; i < e->nroles; i++)
		if (e->role[i].channel == channel)
			return true;
	return false;
}

bool node_energy__any(const struct node_energy *e)
{
	return e->nroles > 0;
}

int node_energy__find_channels(struct node_energy *e, const struct sensor_set *b)
{
	return node_roles__choose(e, b);
}

void node_energy__begin(struct node_energy *e, const struct sensor_set *b, uint64_t now_ns)
{
	if (node_roles__choose(e, b))
		return;
	node_roles__take(e, now_ns);
	e->since_ns = now_ns;
}

static void clear_shares(struct node_step *steps, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		steps[i].share = (struct energy_share){NAN, NAN, NAN, NAN, NAN};
}

int node_energy__end(struct node_energy *e, const struct sensor_set *b, uint64_t now_ns,
		     const double *busy_s, struct node_step *steps, unsigned nsteps,
		     struct node_interval *out)
{
	int err = node_roles__choose(e, b);

	clear_shares(steps, nsteps);
	*out = (struct node_interval){.node = NAN,
				      .pkg = NAN,
				      .dram = NAN,
				      .gpu = NAN,
				      .power = NAN,
				      .measured = NAN,
				      .system = NAN,
				      .unallocated = NAN};
	if (err)
		return err;
	if (!e->since_ns || now_ns <= e->since_ns)
		return -EAGAIN;
	out->seconds = (double)(now_ns - e->since_ns) / NSEC_PER_SEC;
	node_roles__take(e, now_ns);
	e->since_ns = now_ns;
	out->node = node_roles__sum(e, PART_NODE);
	out->pkg = node_roles__sum(e, PART_PACKAGE);
	out->dram = node_roles__sum(e, PART_DRAM);
	out->gpu = node_roles__sum(e, PART_GPU);
	err = node_interval_split(e, now_ns, busy_s, steps, nsteps, out);
	if (err)
		clear_shares(steps, nsteps);
	e->last = *out;
	e->any_last = out->split;
	return err;
}
