/* SPDX-License-Identifier: GPL-2.0-only */
/* Adds up the seconds of a job's critical path. */
#include "analysis/job/compare_job.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/job/compare_path.h"
#include "analysis/job/facts_fill.h"
#include "analysis/order.h"
#include "identity/stepname.h"

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

	if (!compare_units__of(&u, j) && v) {
		for (unsigned k = 0; k < j->grid.n; k++) {
			struct compare_seconds s = {0};

			if (compare_units__path(&u, &j->grid, how, k, &s))
				v[n++] = s.busy_cpus;
		}
		if (n) {
			qsort(v, n, sizeof(*v), order__doubles);
			typical = v[(size_t)(TYPICAL * (n - 1))];
		}
	}
	compare_units__free(&u);
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

		if (!compare_units__path(&w->units, &w->j->grid, w->how, k - 1, &s) ||
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
	const struct job_unit *path = compare_units__path(&w->units, &w->j->grid, w->how, k, &s);

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
		compare_path__causes(path, &w->j->grid, w->how, k, span - s.cpu - s.wait - s.disk,
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
	err = w.wait_of && w.disk_of ? compare_units__of(&w.units, j) : -ENOMEM;
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
	compare_units__free(&w.units);
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
