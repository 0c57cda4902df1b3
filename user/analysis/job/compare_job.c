/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Adds up the seconds of a job's critical path. */
#include "analysis/job/compare_job.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/job/facts_fill.h"
#include "analysis/order.h"
#include "identity/stepname.h"

/* The tasks, or the ranks inside of them, of all steps; the nodes where there are no tasks. */
struct compare_units {
	struct compare_unit {
		const struct job_unit *unit;
		double cpus; /* that it can have: those of its node */
	} * v;
	unsigned n;
};

/* Seconds of a bin. */
struct compare_seconds {
	double cpu, wait, disk;
	double busy_cpus; /* of the unit, or of all of them */
};

/* ---- finds the critical path through the tasks of a job, bin by bin */

#define LEAST 1e-9 /* of a bin: rounding does not choose between units that were always busy */

/* Where a step has more ranks than tasks, MPI's launcher runs in a task and the ranks do the work.
 */
static bool uses_ranks(const struct model_job *j, unsigned step)
{
	unsigned tasks = 0, ranks = 0;

	for (unsigned i = 0; i < j->ntasks; i++)
		if (j->tasks[i].step == step && j->tasks[i].is_rank)
			ranks++;
		else if (j->tasks[i].step == step)
			tasks++;
	return ranks > tasks;
}

static void add_unit(struct compare_units *u, const struct model_job *j,
		     const struct job_unit *unit)
{
	const struct job_node *n = &j->nodes[unit->node];

	u->v[u->n++] = (struct compare_unit){unit, n->cpus >= 1	   ? n->cpus
						   : n->cores >= 1 ? n->cores
								   : INFINITY};
}

/* 0 or -ENOMEM; compare_units_free() in both cases. */
static int compare_units_of(struct compare_units *u, const struct model_job *j)
{
	size_t most = (size_t)j->ntasks + j->nnodes + 1;
	bool *ranks = calloc(j->nsteps + 1, sizeof(*ranks));

	*u = (struct compare_units){calloc(most, sizeof(*u->v)), 0};
	if (!ranks || !u->v) {
		free(ranks);
		return -ENOMEM;
	}
	for (unsigned s = 0; s < j->nsteps; s++)
		ranks[s] = uses_ranks(j, s);
	for (unsigned i = 0; i < j->ntasks; i++)
		if (j->tasks[i].is_rank == ranks[j->tasks[i].step])
			add_unit(u, j, &j->tasks[i]);
	free(ranks);
	for (unsigned i = 0; !j->ntasks && i < j->nnodes; i++)
		add_unit(u, j, &j->nodes[i].unit);
	return 0;
}

static void compare_units_free(struct compare_units *u)
{
	free(u->v);
	*u = (struct compare_units){0};
}

static double amount(const struct job_unit *u, enum quantity q, const struct time_grid *g,
		     unsigned bin, bool use)
{
	const double *bins = use ? job_unit__bins(u, q, g) : NULL;

	return bins && bins[bin] > 0 ? bins[bin] : 0;
}

/* A unit with one CPU busy at a time has its seconds as they are; what several CPUs did at the same
 * time counts once. Waiting counts as far as CPUs were left. false: nothing is known. */
static bool seconds_of(const struct job_unit *u, double cpus, const struct time_grid *g,
		       const struct compare_how *how, unsigned bin, struct compare_seconds *s)
{
	const double *known = job_unit__bins(u, Q_CPU, g);
	double span = time_grid__span_s(g, bin), cpu, wait, disk, lanes;

	if (!known || isnan(known[bin]) || !(span > 0))
		return false;
	cpu = fmax(0, known[bin]);
	wait = amount(u, Q_WAIT, g, bin, how->wait);
	disk = amount(u, Q_DISK_WAIT, g, bin, how->disk);
	s->busy_cpus = fmin((cpu + wait + disk) / span, cpus);
	lanes = fmax(1, s->busy_cpus);
	s->cpu = fmin(cpu / lanes, span);
	s->wait = fmin(wait / lanes, span - s->cpu);
	s->disk = fmin(disk / lanes, span - s->cpu - s->wait);
	return true;
}

/* The path's unit in a bin, whose seconds are *s; s->busy_cpus are those of all units. NULL: of
 * none is the CPU time known. */
static const struct job_unit *compare_units_path(const struct compare_units *u,
						 const struct time_grid *g,
						 const struct compare_how *how, unsigned bin,
						 struct compare_seconds *s)
{
	const struct job_unit *path = NULL;
	double most = -1, busy = 0;

	for (unsigned i = 0; i < u->n; i++) {
		struct compare_seconds one;

		if (!seconds_of(u->v[i].unit, u->v[i].cpus, g, how, bin, &one))
			continue;
		busy += one.busy_cpus;
		if (one.cpu + one.wait + one.disk > most + LEAST * g->dt_s) {
			most = one.cpu + one.wait + one.disk;
			path = u->v[i].unit;
			*s = one;
		}
	}
	s->busy_cpus = busy;
	return path;
}

static const enum quantity of_cause[COMPARE_CAUSES] = {
	[0] = Q_THREAD_THROTTLED,
	[TERM_NET_FS - TERM_QUOTA] = Q_BLOCKED_NET_FS,
	[TERM_KERNEL - TERM_QUOTA] = Q_BLOCKED_KERNEL,
	[TERM_FUTEX - TERM_QUOTA] = Q_BLOCKED_FUTEX,
	[TERM_PIPE - TERM_QUOTA] = Q_BLOCKED_PIPE,
	[TERM_SOCKET - TERM_QUOTA] = Q_BLOCKED_SOCKET,
	[TERM_POLL - TERM_QUOTA] = Q_BLOCKED_POLL,
	[TERM_SLEEP - TERM_QUOTA] = Q_BLOCKED_SLEEP,
	[TERM_CHILD - TERM_QUOTA] = Q_BLOCKED_CHILD,
	[TERM_SIGNAL - TERM_QUOTA] = Q_BLOCKED_SIGNAL,
};

/* Splits rest_s of the path's unit in a bin, in which it neither ran nor waited for a CPU or a
 * disk, by what its threads were blocked by meanwhile, in proportion; adds them to cause_s. A
 * thread that waits for a child counts for no more than what no other thread was blocked by. What
 * is of other causes, or of none, is not added. */
static void compare_path_causes(const struct job_unit *path, const struct time_grid *g,
				const struct compare_how *how, unsigned bin, double rest_s,
				double cause_s[static COMPARE_CAUSES])
{
	static const int child = TERM_CHILD - TERM_QUOTA;
	double s[COMPARE_CAUSES], sum = amount(path, Q_BLOCKED_OTHER, g, bin, true);

	sum += amount(path, Q_BLOCKED_DISK, g, bin, !how->disk);
	sum += amount(path, Q_BLOCKED_FAULT, g, bin, !how->disk);
	for (int i = 0; i < COMPARE_CAUSES; i++) {
		s[i] = amount(path, of_cause[i], g, bin, true);
		sum += i == child ? 0 : s[i];
	}
	s[child] = fmin(s[child], fmax(0, rest_s - sum));
	sum += s[child];
	for (int i = 0; i < COMPARE_CAUSES && sum > 0 && isfinite(sum); i++)
		cause_s[i] += s[i] * fmin(1, fmax(0, rest_s) / sum);
}

#define TYPICAL	     0.75 /* a quarter of the bins have more CPUs busy: the tail may be long */
#define SERIAL_CPUS  1.1  /* one, and what else a step does */
#define SERIAL_SHARE 0.25 /* of what is typical */
#define SLOW	     0.95 /* of the median */
#define SLOW_NODES   3	  /* fewer have no median to speak of */
#define SERIAL_LEAST 1.5  /* typical are so many times more, else there is no tail */

const char *compare_job__refuse(const struct model_job *j)
{
	if (!(j->grid.end_s > 0) || isinf(j->grid.end_s))
		return "how long it ran is not known";
	return isnan(facts__sum(j, Q_CPU)) ? "its CPU time is not known" : NULL;
}

static bool is_known(const struct model_job *const *jobs, unsigned n, enum quantity q)
{
	for (unsigned i = 0; i < n; i++)
		if (isnan(facts__sum(jobs[i], q)))
			return false;
	return true;
}

/* The job's cores or, where these are not known, its tasks. */
static double size_of(const struct model_job *j)
{
	double cores = 0;

	for (unsigned i = 0; i < j->nnodes; i++)
		cores += j->nodes[i].cores;
	return cores >= 1 ? cores : fmax(1, fmax(j->ntasks, j->nnodes));
}

/* How many CPUs are busy in a typical bin of a job; 0: there is no memory. */
static double typical_cpus(const struct model_job *j, const struct compare_how *how)
{
	double *v = malloc((j->grid.n + 1) * sizeof(*v)), typical = 0;
	struct compare_units u;
	unsigned n = 0;

	if (!compare_units_of(&u, j) && v) {
		for (unsigned k = 0; k < j->grid.n; k++) {
			struct compare_seconds s = {0};

			if (compare_units_path(&u, &j->grid, how, k, &s))
				v[n++] = s.busy_cpus;
		}
		if (n) {
			qsort(v, n, sizeof(*v), order__doubles);
			typical = v[(size_t)(TYPICAL * (n - 1))];
		}
	}
	compare_units_free(&u);
	free(v);
	return typical;
}

struct compare_how compare_job__how(const struct model_job *const *jobs, unsigned n)
{
	struct compare_how how = {is_known(jobs, n, Q_WAIT), is_known(jobs, n, Q_DISK_WAIT),
				  is_known(jobs, n, Q_THREAD_TIME), 0};
	double share = 0;

	for (unsigned i = 0; i < n; i++)
		share = fmax(share, typical_cpus(jobs[i], &how) / size_of(jobs[i]));
	how.busy_share = share;
	return how;
}

/* No more CPUs than these are busy in the serial tail; 0: the job has none. */
static double serial_cpus(const struct model_job *j, const struct compare_how *how)
{
	double typical = how->busy_share * size_of(j),
	       serial = fmax(SERIAL_CPUS, SERIAL_SHARE * typical);

	return typical < SERIAL_LEAST * serial ? 0 : serial;
}

/* ---- one job */

struct walk {
	const struct model_job *j;
	const struct compare_how *how;
	struct compare_units units;
	unsigned tail_from;	   /* the first bin of the tail */
	double *wait_of, *disk_of; /* of the path, by node */
	bool has_counters;
};

static unsigned find_tail(const struct walk *w)
{
	double serial = serial_cpus(w->j, w->how);
	unsigned k = w->j->grid.n;

	while (k > 0) {
		struct compare_seconds s = {0};

		if (!compare_units_path(&w->units, &w->j->grid, w->how, k - 1, &s) ||
		    !(s.busy_cpus <= serial))
			break;
		k--;
	}
	/* What was never more than serial has no end that is. */
	return k ? k : w->j->grid.n;
}

/* What all nodes did in a bin of the part before the tail. */
static void add_job_bin(struct walk *w, struct compare_run *r, unsigned k)
{
	const struct model_job *j = w->j;

	for (unsigned i = 0; i < j->nnodes; i++) {
		const struct job_unit *u = &j->nodes[i].unit;
		const double *cpu = job_unit__bins(u, Q_CPU, &j->grid),
			     *work = job_unit__bins(u, Q_INSTRUCTIONS, &j->grid),
			     *cycles = job_unit__bins(u, Q_CYCLES, &j->grid);

		if (!cpu || isnan(cpu[k]))
			continue;
		r->cpu_s += cpu[k];
		w->has_counters &= work && cycles && !isnan(work[k]) && !isnan(cycles[k]);
		r->instructions += w->has_counters ? work[k] : 0;
		r->cycles += w->has_counters ? cycles[k] : 0;
	}
}

static void add_bin(struct walk *w, struct compare_run *r, unsigned k)
{
	double span = time_grid__span_s(&w->j->grid, k);
	struct compare_seconds s = {0};
	const struct job_unit *path = compare_units_path(&w->units, &w->j->grid, w->how, k, &s);

	if (!path) {
		r->unknown_s += span;
		return;
	}
	r->path_wait_s += s.wait;
	r->path_disk_s += s.disk;
	w->wait_of[path->node] += s.wait;
	w->disk_of[path->node] += s.disk;
	if (k >= w->tail_from) {
		r->tail_s += span - s.wait - s.disk;
		return;
	}
	r->path_cpu_s += s.cpu;
	if (w->how->causes)
		compare_path_causes(path, &w->j->grid, w->how, k, span - s.cpu - s.wait - s.disk,
				    r->path_cause_s);
	add_job_bin(w, r, k);
}

static struct compare_run walk_path(struct walk *w)
{
	const struct model_job *j = w->j;
	struct compare_run r = {.wall_s = j->grid.end_s};

	w->has_counters = true;
	w->tail_from = find_tail(w);
	for (unsigned k = 0; k < j->grid.n; k++)
		add_bin(w, &r, k);
	for (unsigned i = 0; i < j->nnodes; i++)
		r.cores += j->nodes[i].cores;
	if (!w->has_counters)
		r.instructions = r.cycles = NAN;
	if (!w->how->wait)
		r.path_wait_s = NAN;
	if (!w->how->disk)
		r.path_disk_s = NAN;
	for (int i = 0; i < COMPARE_CAUSES && !w->how->causes; i++)
		r.path_cause_s[i] = NAN;
	return r;
}

/* 0 or -ENOMEM. */
static int name_node(const struct model_job *j, const double *of, double total, char **name,
		     double *share)
{
	unsigned at = 0;

	for (unsigned i = 1; i < j->nnodes; i++)
		at = of[i] > of[at] ? i : at;
	if (!(total > 0) || !j->nnodes)
		return 0;
	*share = of[at] / total;
	*name = strdup(j->nodes[at].unit.name);
	return *name ? 0 : -ENOMEM;
}

/* The node with the least of a by b, where that is far below the median. 0 or -ENOMEM. */
static int find_slow(const struct model_job *j, enum quantity a, enum quantity b,
		     struct compare_slow *out)
{
	double *v = malloc((j->nnodes + 1) * sizeof(*v)), least = INFINITY, median;
	unsigned n = 0, at = 0;

	if (!v)
		return -ENOMEM;
	for (unsigned i = 0; i < j->nnodes; i++) {
		double ratio = j->nodes[i].unit.total[a] / j->nodes[i].unit.total[b];

		if (!isfinite(ratio) || !(ratio > 0))
			continue;
		v[n++] = ratio;
		if (ratio < least) {
			least = ratio;
			at = i;
		}
	}
	median = facts__median(v, n);
	free(v);
	if (n < SLOW_NODES || !(least < SLOW * median))
		return 0;
	out->ratio = least / median;
	out->node = strdup(j->nodes[at].unit.name);
	return out->node ? 0 : -ENOMEM;
}

static const char *program_of(const struct model_job *j)
{
	const struct model_attr *name = model_job__attr(j, "Job Name"),
				*command = model_job__attr(j, "Command Line");
	unsigned n;
	const struct job_unit *t = facts__main_tasks(j, &n);
	const char *path = n ? t->about.texts[ABOUT_PROGRAM] : NULL;
	const char *slash = path ? strrchr(path, '/') : NULL;

	if (command && command->text)
		return command->text;
	if (path)
		return slash ? slash + 1 : path;
	if (name && name->text)
		return name->text;
	return j->ncommands ? j->commands[0].name : "";
}

static int describe(struct compared_job *out, const struct model_job *j)
{
	facts__main_tasks(j, &out->tasks);
	out->nodes = j->nnodes;
	out->start_s = j->grid.t0_ns / 1e9;
	out->id = strdup(j->id);
	out->step = strdup(j->nsteps == 1 ? stepname__human(j->steps[0].name) : "");
	out->program = strdup(program_of(j));
	return out->id && out->step && out->program ? 0 : -ENOMEM;
}

int compare_job__of(struct compared_job *out, const struct model_job *j,
		    const struct compare_how *how)
{
	struct walk w = {.j = j, .how = how};
	int err;

	*out = (struct compared_job){
		.wait_share = NAN, .disk_share = NAN, .clock.ratio = NAN, .ipc.ratio = NAN};
	w.wait_of = calloc(j->nnodes + 1, sizeof(double));
	w.disk_of = calloc(j->nnodes + 1, sizeof(double));
	err = w.wait_of && w.disk_of ? compare_units_of(&w.units, j) : -ENOMEM;
	if (!err)
		out->run = walk_path(&w);
	if (!err)
		err = describe(out, j);
	if (!err)
		err = name_node(j, w.wait_of, out->run.path_wait_s, &out->wait_node,
				&out->wait_share);
	if (!err)
		err = name_node(j, w.disk_of, out->run.path_disk_s, &out->disk_node,
				&out->disk_share);
	if (!err)
		err = find_slow(j, Q_CYCLES, Q_CPU, &out->clock);
	if (!err)
		err = find_slow(j, Q_INSTRUCTIONS, Q_CYCLES, &out->ipc);
	compare_units_free(&w.units);
	free(w.wait_of);
	free(w.disk_of);
	return err;
}

void compared_job__free(struct compared_job *c)
{
	free(c->id);
	free(c->step);
	free(c->program);
	free(c->wait_node);
	free(c->disk_node);
	free(c->clock.node);
	free(c->ipc.node);
	*c = (struct compared_job){0};
}
