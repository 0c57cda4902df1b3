/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a step did between two ticks: CPU time by CPU, events by package; and which CPUs it has.
 */
#include "daemon/node/node_internal.h"

#include <fcntl.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/str.h"
#include "daemon/child/job_infos.h"
#include "identity/cpulist.h"

/* ---- which steps have the node for themselves, so that their files may say what the whole node
 * did */

#define ASK_NS NSEC_PER_SEC /* and as long as the step has lasted */

static bool is_there(const struct step *s, struct kern *k)
{
	const struct jp_slot *info = kern__slot(k, s->slot);

	return info->gen == s->gen && info->state == JP_SLOT_ACTIVE;
}

static bool has_process(struct step *s, struct kern *k)
{
	uint32_t slot;

	step__collect_slots(s, kern__slots(k));
	for_each_slot(slot, s) if (kern__held(k, slot)) return true;
	return false;
}

/* Slurm's list of cores is of a step: that of the batch or extern step has all of the job's. */
static bool has_all_cores(const struct step *s, const struct step_env *env)
{
	int cores = cpulist__node_cores();

	for (const struct step *o = *env->steps; o; o = o->next)
		if ((o == s || step__same_job(o, s)) && o->req && o->req->known &&
		    cpulist__count(o->req->info.cpus) >= cores)
			return true;
	return false;
}

static bool has_all_cpus(const struct step *s, const struct step_env *env)
{
	char dir[600], path[700], list[4096];

	if (!s->ids.job_end || !step_cpus__dir(s, env, s->ids.job_end, dir, sizeof(dir)))
		return false;
	snprintf(path, sizeof(path), "%s/cpuset.cpus", dir);
	if (read_file(AT_FDCWD, path, list, sizeof(list)) <= 0)
		return false;
	list[strcspn(list, "\n")] = '\0';
	return list[0] && cpulist__count(list) >= sysconf(_SC_NPROCESSORS_ONLN);
}

static bool is_exclusive(const struct step *s, const struct step_env *env, uint64_t now_ns)
{
	const struct job_facts *f =
		s->ids.has_job ? job_infos__get(env->jobs, s->ids.job_id, now_ns) : NULL;

	return f && !strcmp(f->sharing, "exclusive");
}

static bool others_run(const struct step *s, const struct step_env *env)
{
	for (struct step *o = *env->steps; o; o = o->next)
		if (o != s && !step__same_job(o, s) && is_there(o, env->k) &&
		    has_process(o, env->k))
			return true;
	return false;
}

bool node_tables__allowed(struct step *s, const struct step_env *env)
{
	uint64_t now = clock__boot_ns();

	if (env->node_tables != NODE_TABLES_EXCLUSIVE || env->embedded)
		return env->node_tables != NODE_TABLES_NEVER;
	if (s->crowded)
		return false;
	if (!s->has_node && now >= s->node_ask_ns) {
		s->has_node =
			has_all_cores(s, env) || has_all_cpus(s, env) || is_exclusive(s, env, now);
		s->node_ask_ns = now + ASK_NS + (now - s->start_boot_ns);
	}
	s->crowded = s->has_node && others_run(s, env);
	return s->has_node && !s->crowded;
}

/* Directories of ended jobs may stay: one without a process that was there before is no job. */
void node_tables__note_new(const struct step *s, const struct step_env *env)
{
	for (struct step *o = *env->steps; o && !s->baseline; o = o->next)
		o->crowded |= o != s && !step__same_job(o, s);
}

const char *node_tables__mode(enum family f)
{
	if (f == FAM_GPU)
		return "only GPUs that no other job uses: other jobs may be on the node "
		       "(NodeTables in jobprof.conf)";
	return "off: other jobs may be on the node (NodeTables in jobprof.conf)";
}

/* ---- which steps use the node's GPUs: those whose processes are on them */

#define GPU_BITS 64 /* GPUs whose users are stored */

bool node_gpus__known(const struct node *n)
{
	return n && n->gpu_users;
}

void node_gpus__mark(struct node *n, struct snapshot *snap)
{
	static const struct gpu_use none;

	if (!n || !n->gpu_users)
		return;
	n->nuse = gpu_users__take(n->gpu_users, &n->use);
	if (n->nuse < 0)
		snapshot__set_gpus(snap, NULL, 0);
	else
		snapshot__set_gpus(snap, n->nuse ? n->use : &none, (unsigned)n->nuse);
}

/* A GPU that several processes share is split by their utilization or, where that is not known of
 * one of them or is 0, in equal parts. */
static double gpu_weight(const struct gpu_use *use, unsigned n, unsigned i)
{
	double work = 0;
	bool known = true;

	for (unsigned k = 0; k < n; k++) {
		if (use[k].gpu != use[i].gpu)
			continue;
		known = known && use[k].util >= 0;
		work += use[k].util >= 0 ? use[k].util : 0;
	}
	return known && work > 0 ? use[i].util : 1;
}

static struct step *step_of_use(const struct step_env *env, struct step *steps, int use)
{
	uint32_t slot = snapshot__gpu_slot(env->snap, (unsigned)use);
	uint32_t of = slot == JP_SLOT_NONE ? slot : snapshot__slot(env->snap, slot)->step;

	for (struct step *s = steps; s && of != JP_SLOT_NONE; s = s->next)
		if (s->slot == of && s->sensors)
			return s;
	return NULL;
}

static void clear_parts(struct step *steps, unsigned ngpus)
{
	for (struct step *s = steps; s; s = s->next) {
		if (!s->sensors)
			continue;
		free(s->sensors->gpu);
		s->sensors->gpu = ngpus ? calloc(ngpus, sizeof(*s->sensors->gpu)) : NULL;
	}
}

void node_gpus__share(struct node *n, struct step *steps, const struct step_env *env)
{
	unsigned ngpus = node_energy__ngpus(n->energy);
	const struct gpu_use *use = n->use;
	int count = n->nuse;

	clear_parts(steps, ngpus);
	for (unsigned g = 0; g < ngpus; g++) {
		int index = node_energy__gpu_index(n->energy, g);
		double all = 0;

		for (int i = 0; i < count; i++)
			if ((int)use[i].gpu == index)
				all += gpu_weight(use, (unsigned)count, (unsigned)i);
		for (int i = 0; i < count; i++) {
			struct step *s;

			if ((int)use[i].gpu != index || !(all > 0))
				continue;
			s = step_of_use(env, steps, i);
			if (s && s->sensors->gpu)
				s->sensors->gpu[g] +=
					gpu_weight(use, (unsigned)count, (unsigned)i) / all;
		}
	}
}

static void note_uses(struct step *s, const struct step_env *env)
{
	const struct node *n = s->sensors->node;

	for (int i = 0; i < n->nuse; i++) {
		const struct step *by = step_of_use(env, *env->steps, i);

		if (!by || n->use[i].gpu >= GPU_BITS)
			continue;
		if (by == s || step__same_job(by, s))
			s->sensors->gpus_own |= 1ull << n->use[i].gpu;
		else
			s->sensors->gpus_others |= 1ull << n->use[i].gpu;
	}
}

bool node_gpus__is_jobs(struct step *s, const struct step_env *env, const char *number)
{
	uint32_t gpu;

	if (parse_u32(number, &gpu) || gpu >= GPU_BITS)
		return false;
	note_uses(s, env);
	return s->sensors->gpus_own & ~s->sensors->gpus_others & 1ull << gpu;
}

#define CHECK_NS (10 * NSEC_PER_SEC)

static const char *const events[NODE_EVENTS] = {
	[NODE_CYCLES] = "Cycles", [NODE_MISSES] = "CacheMisses"};

static int event_number(const struct step_env *env, const char *name)
{
	for (unsigned i = 0; i < env->npmu; i++)
		if (!strcmp(env->pmu_cols[i].name, name))
			return (int)i;
	return -1;
}

static struct event_count read_event(const struct step *s, struct kern *k, int event, int package)
{
	const struct node_energy *e = s->sensors->node->energy;
	struct event_count sum = {};
	uint32_t slot;

	for (unsigned cpu = 0; cpu < kern__ncpus(k); cpu++) {
		if (node_energy__package(e, cpu) != package)
			continue;
		for_each_slot(slot, s)
		{
			const struct jp_pmu *p = kern__pmu(k, cpu, slot);

			if (!p)
				continue;
			sum.count += (double)p->ev[event].counter;
			sum.enabled += p->enabled;
			sum.running += p->ev[event].running;
		}
	}
	return sum;
}

/* The count is scaled to the time that the event was enabled, as perf does. */
static double scaled_count(const struct event_count *before, const struct event_count *now)
{
	double wanted = (double)(now->enabled - before->enabled);
	double ran = (double)(now->running - before->running);

	if (!(now->enabled > before->enabled))
		return 0;
	return now->running > before->running ? (now->count - before->count) * (wanted / ran) : NAN;
}

static void update_events(struct step *s, const struct step_env *env)
{
	struct step_sensors *ss = s->sensors;
	unsigned np = node_energy__npackages(ss->node->energy);

	for (unsigned i = 0; i < NODE_EVENTS; i++) {
		int event = event_number(env, events[i]);

		for (unsigned p = 0; p < np; p++) {
			struct event_count *was = &ss->pmu[i * np + p], now;

			ss->events[i * np + p] = NAN;
			if (event < 0 || !kern__pmu(env->k, 0, s->slot))
				continue;
			now = read_event(s, env->k, event, (int)p);
			ss->events[i * np + p] = scaled_count(was, &now);
			*was = now;
		}
	}
}

/* Run time since the last switch of running tasks is counted for the CPU on which they run. */
static void add_in_flight(const struct step *s, const struct step_env *env, uint64_t *ns,
			  unsigned ncpus)
{
	unsigned n;
	const struct jp_task_rec *r = snapshot__tasks(env->snap, &n);

	for (unsigned i = 0; i < n; i++)
		if (r[i].cpu < ncpus && r[i].sched_slot < kern__nslots(env->k) &&
		    (int64_t)r[i].cpu_ns > 0 &&
		    snapshot__slot(env->snap, r[i].sched_slot)->step == s->slot)
			ns[r[i].cpu] += r[i].cpu_ns;
}

/* Sets the part of each CPU in the interval's run time: by the counts of this interval or, without
 * any, as in the last interval or, without that, all CPUs alike. */
static void update_parts(struct step_sensors *ss, const uint64_t *fresh, uint64_t sum,
			 unsigned ncpus)
{
	double all = 0;

	for (unsigned i = 0; sum && i < ncpus; i++)
		ss->part[i] = (double)fresh[i] / (double)sum;
	for (unsigned i = 0; i < ncpus; i++)
		all += ss->part[i];
	for (unsigned i = 0; all < 0.5 && i < ncpus; i++)
		ss->part[i] = node_energy__package(ss->node->energy, i) >= 0;
}

static void update_run_time(struct step *s, const struct step_env *env, uint64_t *fresh)
{
	struct step_sensors *ss = s->sensors;
	unsigned ncpus = node_energy__ncpus(ss->node->energy);
	uint64_t total = 0, sum = 0, ran;
	double parts = 0;
	uint32_t slot;

	for_each_slot(slot, s)
	{
		total += snapshot__totals(env->snap, slot)->v[T_CPU];
		for (unsigned cpu = 0; cpu < ncpus && cpu < kern__ncpus(env->k); cpu++)
			fresh[cpu] += kern__sched(env->k, cpu, slot)->cpu_ns;
	}
	add_in_flight(s, env, fresh, ncpus);
	for (unsigned i = 0; i < ncpus; i++) {
		uint64_t now = fresh[i];

		fresh[i] = now > ss->cpu_ns[i] ? now - ss->cpu_ns[i] : 0;
		ss->cpu_ns[i] = now;
		sum += fresh[i];
	}
	ran = total > ss->run_ns ? total - ss->run_ns : 0;
	ss->run_ns = total > ss->run_ns ? total : ss->run_ns;
	update_parts(ss, fresh, sum, ncpus);
	for (unsigned i = 0; i < ncpus; i++)
		parts += ss->part[i];
	for (unsigned i = 0; i < ncpus; i++)
		ss->run_s[i] = parts > 0 ? (double)ran * 1e-9 * ss->part[i] / parts : 0;
}

static int alloc_counts(struct step_sensors *ss)
{
	unsigned ncpus = node_energy__ncpus(ss->node->energy);
	unsigned ncounts = NODE_EVENTS * node_energy__npackages(ss->node->energy);

	ss->cpu_ns = calloc(ncpus, sizeof(*ss->cpu_ns));
	ss->run_s = calloc(ncpus, sizeof(*ss->run_s));
	ss->part = calloc(ncpus, sizeof(*ss->part));
	ss->pmu = calloc(ncounts, sizeof(*ss->pmu));
	ss->events = calloc(ncounts, sizeof(*ss->events));
	ss->started = ss->cpu_ns && ss->run_s && ss->part && ss->pmu && ss->events;
	return ss->started ? 0 : -1;
}

int step_use__update(struct step *s, const struct step_env *env)
{
	struct step_sensors *ss = s->sensors;
	uint64_t *fresh;

	if (!ss->started && alloc_counts(ss))
		return -1;
	fresh = calloc(node_energy__ncpus(ss->node->energy), sizeof(*fresh));
	if (!fresh)
		return -1;
	step__collect_slots(s, snapshot__slots(env->snap));
	update_run_time(s, env, fresh);
	update_events(s, env);
	free(fresh);
	return 0;
}

void step_use__skip(struct step *s, const struct step_env *env)
{
	if (s->sensors->node->energy)
		step_use__update(s, env);
}

/* The cpuset as it was written: on v2 the file is empty unless the cgroup is confined. */
static bool read_list(struct step_sensors *ss, const char *dir, unsigned ncpus)
{
	char path[700], text[4096];

	snprintf(path, sizeof(path), "%s/cpuset.cpus", dir);
	if (read_file(AT_FDCWD, path, text, sizeof(text)) <= 0)
		return false;
	text[strcspn(text, "\n")] = '\0';
	return text[0] && cpulist__read(text, ss->held, ncpus) > 0;
}

bool step_cpus__dir(const struct step *s, const struct step_env *env, size_t end, char *dir,
		    size_t size)
{
	const struct kern_root *r = step__cgroup_root(s, env);
	char *slash;

	if (!r)
		return false;
	snprintf(dir, size, "%s", r->mount);
	slash = strrchr(dir, '/');
	if (r->controller[0] && slash) /* controllers of v1 are mounted side by side */
		snprintf(slash, size - (size_t)(slash - dir), "/cpuset");
	snprintf(dir + strlen(dir), size - strlen(dir), "%.*s", (int)end, s->path);
	return true;
}

static bool find_cpuset(struct step *s, const struct step_env *env, unsigned ncpus)
{
	char dir[600], *slash;

	if (!step_cpus__dir(s, env, sizeof(s->path), dir, sizeof(dir)))
		return false;
	/* the step's cpuset, else the job's: directories above are not for the job alone */
	for (unsigned i = 0; i < 2; i++) {
		if (read_list(s->sensors, dir, ncpus))
			return true;
		slash = strrchr(dir, '/');
		if (!slash)
			break;
		*slash = '\0';
	}
	return false;
}

/* jobprof run: the command has the CPUs of this process. */
static bool find_own(struct step_sensors *ss, unsigned ncpus)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set))
		return false;
	for (unsigned i = 0; i < ncpus && i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &set))
			ss->held[i / 64] |= 1ull << (i % 64);
	return true;
}

void step_cpus__find(struct step *s, const struct step_env *env, uint64_t now_ns)
{
	struct step_sensors *ss = s->sensors;
	const struct node_energy *e = ss->node->energy;
	unsigned ncpus = node_energy__ncpus(e), words = (ncpus + 63) / 64;

	if (ss->held && now_ns < ss->held_ns + (ss->held_known ? CHECK_NS : CHECK_NS / 10))
		return;
	if (!ss->held && !(ss->held = malloc((words + 1) * sizeof(*ss->held))))
		return;
	memset(ss->held, 0, (words + 1) * sizeof(*ss->held));
	ss->held_ns = now_ns;
	ss->by_core = s->req && s->req->known && s->req->info.cpus[0];
	if (ss->by_core)
		ss->held_known =
			cpulist__read(s->req->info.cpus, ss->held, node_energy__ncores(e)) > 0;
	else if (env->embedded)
		ss->held_known = find_own(ss, ncpus);
	else
		ss->held_known = find_cpuset(s, env, ncpus);
	ss->held_by = !ss->held_known ? "not known"
		      : ss->by_core   ? "cores as Slurm said"
		      : env->embedded ? "the CPUs of jobprof run"
				      : "the CPUs of its cpuset";
}
