/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Facts of units: of nodes, of GPUs, and of tasks and how evenly they work. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/job/facts_fill.h"
#include "analysis/pika/pika.h"
#include "identity/cpulist.h"

/* ---- facts of nodes: use, clock, speed, and the health of their parts */

#define ACTIVE_CORES 0.01 /* fewer cores are idle: PIKA's threshold */
#define BUSY_SHARE   0.5  /* of its cores, from which on a node's clock is that of work */
#define SLOW	     0.9  /* of the median of the nodes */

static const double *bins_of(const struct model_job *j, unsigned node, enum quantity q)
{
	return job_unit__bins(&j->nodes[node].unit, q, &j->grid);
}

static bool is_busy(const struct model_job *j, unsigned node, unsigned bin)
{
	const double *cpu = bins_of(j, node, Q_CPU);

	return cpu &&
	       cpu[bin] >= BUSY_SHARE * j->nodes[node].cores * time_grid__span_s(&j->grid, bin);
}

/* Instructions per CPU second in a bin, else the clock; NaN: not known, or the node is not busy. */
static double speed_in(const struct model_job *j, unsigned node, unsigned bin)
{
	const double *cpu = bins_of(j, node, Q_CPU), *done = bins_of(j, node, Q_INSTRUCTIONS);
	const double *clock = bins_of(j, node, Q_CPU_FREQUENCY);

	if (!is_busy(j, node, bin))
		return NAN;
	return !isnan(facts__sum(j, Q_INSTRUCTIONS)) ? done[bin] / cpu[bin] : clock[bin];
}

static double clock_in(const struct model_job *j, unsigned node, unsigned bin)
{
	return is_busy(j, node, bin) ? bins_of(j, node, Q_CPU_FREQUENCY)[bin] : NAN;
}

typedef double (*in_bin)(const struct model_job *j, unsigned node, unsigned bin);

/* The median over the bins of a node. */
static double median_of_node(const struct model_job *j, unsigned node, in_bin value, double *room)
{
	size_t n = 0;

	for (unsigned k = 0; k < j->grid.n; k++) {
		double v = value(j, node, k);

		if (v > 0)
			room[n++] = v;
	}
	return facts__median(room, n);
}

/* Shares of a node's known bins in which its value is slow beside the median of the nodes. */
static void fill_slow(struct facts *f, const struct model_job *j, in_bin value, enum fact share,
		      double *room)
{
	double *slow = f->values[share];
	double *known = calloc(j->nnodes + 1, sizeof(*known));

	for (unsigned i = 0; known && i < j->nnodes; i++)
		slow[i] = 0;
	for (unsigned k = 0; known && k < j->grid.n; k++) {
		size_t n = 0;
		double median;

		for (unsigned i = 0; i < j->nnodes; i++) {
			double v = value(j, i, k);

			if (v > 0)
				room[n++] = v;
		}
		median = n >= 3 ? facts__median(room, n) : NAN;
		for (unsigned i = 0; !isnan(median) && i < j->nnodes; i++) {
			double v = value(j, i, k);

			known[i] += v > 0;
			slow[i] += v > 0 && v < SLOW * median;
		}
	}
	for (unsigned i = 0; known && i < j->nnodes; i++)
		slow[i] = known[i] > 0 ? slow[i] / known[i] : NAN;
	free(known);
}

/* Speeds by their median, and how far each is from it in robust deviations: 1.4826 MAD, and at
 * least 1 % of the median. */
static void fill_speed(struct facts *f, const struct model_job *j, double *room, double *bins)
{
	double *speed = f->values[FACT_NODE_speed], *z = f->values[FACT_NODE_speed_z];
	double median, mad;
	size_t n = 0;

	for (unsigned i = 0; i < j->nnodes; i++) {
		speed[i] = median_of_node(j, i, speed_in, bins);
		if (speed[i] > 0)
			room[n++] = speed[i];
	}
	median = n >= 3 ? facts__median(room, n) : NAN;
	n = 0;
	for (unsigned i = 0; i < j->nnodes; i++) {
		speed[i] /= median;
		if (!isnan(speed[i]))
			room[n++] = fabs(speed[i] - 1);
	}
	mad = fmax(1.4826 * facts__median(room, n), 0.01);
	for (unsigned i = 0; i < j->nnodes; i++)
		z[i] = (speed[i] - 1) / mad;
}

static void fill_active(struct facts *f, const struct model_job *j, unsigned node)
{
	const double *cpu = bins_of(j, node, Q_CPU);
	double bins = 0;

	if (!cpu)
		return;
	for (unsigned k = 0; k < j->grid.n; k++)
		bins += cpu[k] >= ACTIVE_CORES * time_grid__span_s(&j->grid, k);
	f->values[FACT_NODE_active_bins][node] = bins;
	f->values[FACT_NODE_active][node] = bins / j->grid.n;
}

/* The index of the first node with the same processors. */
static double model_number(const struct model_job *j, unsigned node)
{
	for (unsigned i = 0; j->nodes[node].model && i <= node; i++)
		if (j->nodes[i].model && !strcmp(j->nodes[i].model, j->nodes[node].model))
			return i + 1;
	return NAN;
}

static void fill_node(struct facts *f, const struct model_job *j, unsigned i)
{
	const struct job_node *n = &j->nodes[i];

	f->values[FACT_NODE_cores][i] = n->cores;
	f->values[FACT_NODE_wall_s][i] = n->unit.end_s - n->unit.begin_s;
	f->values[FACT_NODE_rows][i] = n->unit.rows;
	f->values[FACT_NODE_coverage][i] =
		fmin(1, n->unit.total[Q_COVERED] / (n->unit.end_s - n->unit.begin_s));
	f->values[FACT_NODE_limit_mb][i] = facts__limit_mb(n);
	f->values[FACT_NODE_oom_limit_mb][i] = n->oom_limit_mb;
	f->values[FACT_NODE_model][i] = model_number(j, i);
	f->values[FACT_NODE_tasks][i] = 0;
	f->values[FACT_NODE_gpus][i] = 0;
	fill_active(f, j, i);
}

int facts_nodes__fill(struct facts *f, const struct model_job *j)
{
	size_t most = j->nnodes > j->grid.n ? j->nnodes : j->grid.n;
	double *room = calloc(most + 1, sizeof(*room)), *bins = calloc(most + 1, sizeof(*bins));
	int err = room && bins ? 0 : -ENOMEM;
	unsigned ntasks;
	const struct job_unit *tasks = facts__main_tasks(j, &ntasks);

	for (unsigned i = 0; !err && i < j->nnodes; i++) {
		fill_node(f, j, i);
		f->values[FACT_NODE_clock_mhz][i] = median_of_node(j, i, clock_in, bins);
	}
	for (unsigned i = 0; !err && i < ntasks; i++)
		f->values[FACT_NODE_tasks][tasks[i].node]++;
	for (unsigned i = 0; !err && i < j->ngpus; i++)
		f->values[FACT_NODE_gpus][j->gpus[i].node]++;
	if (!err) {
		fill_speed(f, j, room, bins);
		fill_slow(f, j, speed_in, FACT_NODE_speed_slow, room);
		fill_slow(f, j, clock_in, FACT_NODE_clock_slow, room);
	}
	free(room);
	free(bins);
	return err;
}

/* ---- facts of GPUs: how much and when they were used */

/* Time with utilization 0: in all, from the start, and the longest. */
struct idleness {
	double all_s, first_s, longest_s;
};

static struct idleness idleness_of(const double *util, const struct time_grid *g, unsigned first)
{
	struct idleness idle = {0};
	double now = 0;
	bool begun = false;

	for (unsigned k = first; k < g->n; k++) {
		double s = time_grid__span_s(g, k);

		if (isnan(util[k]))
			continue;
		begun |= util[k] > 0;
		now = util[k] > 0 ? 0 : now + s;
		idle.all_s += util[k] > 0 ? 0 : s;
		idle.first_s = begun ? idle.first_s : now;
		idle.longest_s = fmax(idle.longest_s, now);
	}
	return idle;
}

static double mean_of(const double *v, unsigned n)
{
	double sum = 0, known = 0;

	for (unsigned k = 0; k < n; k++)
		if (!isnan(v[k])) {
			sum += v[k];
			known++;
		}
	return known ? sum / known : NAN;
}

/* Share of the bins with use in which heat or the hardware held the GPU back. */
static double throttled_of(const double *util, const double *throttled, unsigned n)
{
	double held = 0, busy = 0;

	for (unsigned k = 0; k < n; k++)
		if (util[k] > 0 && !isnan(throttled[k])) {
			held += throttled[k];
			busy++;
		}
	return busy ? held / busy : NAN;
}

/* By the bins from the first one on. */
static void fill_use(struct facts *f, const struct model_job *j, unsigned i, unsigned first)
{
	const struct job_unit *u = &j->gpus[i];
	const double *util = job_unit__bins(u, Q_GPU_UTILIZATION, &j->grid);
	struct idleness idle = idleness_of(util, &j->grid, first);

	f->values[FACT_GPU_util][i] = mean_of(util + first, j->grid.n - first);
	f->values[FACT_GPU_idle_s][i] = idle.all_s;
	f->values[FACT_GPU_idle_from_start_s][i] = idle.first_s;
	f->values[FACT_GPU_idle_longest_s][i] = idle.longest_s;
}

static void fill_gpu(struct facts *f, const struct model_job *j, unsigned i)
{
	const struct job_unit *u = &j->gpus[i];

	f->values[FACT_GPU_node][i] = u->node + 1;
	f->values[FACT_GPU_mem_peak_mb][i] = u->total[Q_GPU_MEM];
	f->values[FACT_GPU_is_split][i] = u->total[Q_GPU_SPLIT];
	if (isnan(u->total[Q_GPU_UTILIZATION]))
		return;
	fill_use(f, j, i, 0);
	f->values[FACT_GPU_throttled][i] =
		throttled_of(job_unit__bins(u, Q_GPU_UTILIZATION, &j->grid),
			     job_unit__bins(u, Q_GPU_THROTTLE, &j->grid), j->grid.n);
}

void facts_gpus__use(struct facts *f, const struct model_job *j, unsigned first)
{
	for (unsigned i = 0; i < j->ngpus; i++)
		if (!isnan(j->gpus[i].total[Q_GPU_UTILIZATION]))
			fill_use(f, j, i, first);
}

int facts_gpus__fill(struct facts *f, const struct model_job *j)
{
	for (unsigned i = 0; i < j->ngpus; i++)
		fill_gpu(f, j, i);
	for (unsigned k = 0; k < j->grid.n; k++) {
		double sum = 0, known = 0;

		for (unsigned i = 0; i < j->ngpus; i++) {
			double v = job_unit__bins(&j->gpus[i], Q_GPU_UTILIZATION, &j->grid)[k];

			sum += isnan(v) ? 0 : v;
			known += !isnan(v);
		}
		if (known)
			f->values[FACT_BIN_gpu][k] = sum / known;
		else if (facts__job(f, FACT_JOB_gpus) == 0)
			f->values[FACT_BIN_gpu][k] = 0;
	}
	return 0;
}

/* ---- which tasks of a node share the CPUs that they are bound to, and how many CPUs they need
 * there */

#define CPUS_MAX 4096
#define WORDS	 (CPUS_MAX / 64)

/* The tasks of a node with the same list of CPUs. */
struct binding {
	int cpus; /* below 1: the list is not usable */
	uint64_t bits[WORDS];
	double work_s; /* CPU time and waiting for it */
	double begin_s, end_s;
};

struct bound_task {
	const struct job_unit *unit;
	unsigned number; /* among the facts */
};

static int cmp(const void *a, const void *b)
{
	const struct bound_task *x = a, *y = b;

	if (x->unit->node != y->unit->node)
		return x->unit->node < y->unit->node ? -1 : 1;
	return strcmp(x->unit->about.texts[ABOUT_CPUS], y->unit->about.texts[ABOUT_CPUS]);
}

static double work_of(const struct job_unit *t)
{
	return t->total[Q_CPU] + t->total[Q_WAIT];
}

static bool is_within(const struct binding *part, const struct binding *whole)
{
	for (unsigned i = 0; i < WORDS; i++)
		if (part->bits[i] & ~whole->bits[i])
			return false;
	return part->cpus > 0;
}

/* Tasks that run one after the other need no more CPUs than one of them. */
static double demand_on(const struct binding *b, const struct binding *all, unsigned n)
{
	double work = 0, begin = NAN, end = NAN;

	for (unsigned i = 0; i < n; i++) {
		if (!is_within(&all[i], b))
			continue;
		work += all[i].work_s;
		begin = fmin(begin, all[i].begin_s);
		end = fmax(end, all[i].end_s);
	}
	return b->cpus > 0 && end > begin ? work / (end - begin) / b->cpus : NAN;
}

/* The bindings of one node; returns how many there are. */
static unsigned find_bindings(const struct bound_task *tasks, unsigned n, struct binding *out)
{
	unsigned found = 0;

	for (unsigned i = 0; i < n; i++) {
		const struct job_unit *t = tasks[i].unit;
		struct binding *b;

		if (!i || cmp(&tasks[i - 1], &tasks[i])) {
			b = &out[found++];
			*b = (struct binding){.begin_s = NAN, .end_s = NAN};
			b->cpus = cpulist__read(t->about.texts[ABOUT_CPUS], b->bits, CPUS_MAX);
		}
		b = &out[found - 1];
		b->work_s += work_of(t);
		b->begin_s = fmin(b->begin_s, t->begin_s);
		b->end_s = fmax(b->end_s, t->end_s);
	}
	return found;
}

static void fill_demand(struct facts *f, const struct bound_task *tasks, unsigned n,
			struct binding *room)
{
	unsigned bindings = find_bindings(tasks, n, room), at = 0;
	double demand = NAN;

	for (unsigned i = 0; i < n; i++) {
		if (i && cmp(&tasks[i - 1], &tasks[i]))
			at++;
		if (!i || cmp(&tasks[i - 1], &tasks[i]))
			demand = demand_on(&room[at], room, bindings);
		f->values[FACT_TASK_cpus_demand][tasks[i].number] = demand;
	}
}

/* The most tasks that one node has. */
static unsigned most_of_a_node(const struct bound_task *tasks, unsigned n)
{
	unsigned most = 0;

	for (unsigned i = 0, first = 0; i < n; i++) {
		if (tasks[i].unit->node != tasks[first].unit->node)
			first = i;
		most = i - first + 1 > most ? i - first + 1 : most;
	}
	return most;
}

/* Fills in how many CPUs tasks[n], those of facts_tasks__fill(), need where they may run. */
static int facts_cpus_fill(struct facts *f, const struct job_unit *tasks, unsigned n)
{
	struct bound_task *bound = calloc(n + 1, sizeof(*bound));
	struct binding *room = NULL;
	unsigned known = 0;

	for (unsigned i = 0; bound && i < n; i++) {
		f->values[FACT_TASK_cpus_demand][i] = work_of(&tasks[i]) /
						      (tasks[i].end_s - tasks[i].begin_s) /
						      tasks[i].about.cpus_allowed;
		if (tasks[i].about.texts[ABOUT_CPUS])
			bound[known++] = (struct bound_task){&tasks[i], i};
	}
	if (known)
		qsort(bound, known, sizeof(*bound), cmp);
	if (bound)
		room = calloc(most_of_a_node(bound, known) + 1, sizeof(*room));
	for (unsigned i = 0, first = 0; room && i < known; i++)
		if (i + 1 == known || bound[i + 1].unit->node != bound[first].unit->node) {
			fill_demand(f, bound + first, i + 1 - first, room);
			first = i + 1;
		}
	n = !room;
	free(room);
	free(bound);
	return n ? -ENOMEM : 0;
}

static void fill_task(struct facts *f, const struct model_job *j, const struct job_unit *t,
		      unsigned i)
{
	const struct job_step *step = &j->steps[j->main_step];

	f->values[FACT_TASK_node][i] = t->node + 1;
	f->values[FACT_TASK_number][i] = atof(t->name);
	f->values[FACT_TASK_wall_s][i] = t->end_s - t->begin_s;
	f->values[FACT_TASK_peak_mb][i] = fmax(t->total[Q_PEAK], t->total[Q_RSS]);
	f->values[FACT_TASK_calls][i] = t->total[Q_READ_CALLS] + t->total[Q_WRITE_CALLS];
	f->values[FACT_TASK_cpus_allowed][i] = t->about.cpus_allowed;
	f->values[FACT_TASK_numa_nodes][i] = t->about.numa_nodes;
	f->values[FACT_TASK_busy][i] = t->total[Q_CPU] / (step->end_s - step->begin_s);
}

static bool is_same(const char *a, const char *b)
{
	return a && b && !strcmp(a, b);
}

/* Tasks with the same executable, by build id where there is one, have the same number. Ranks of a
 * launcher of MPI are MPI's, whatever was seen of their programs.
 */
static void fill_programs(struct facts *f, const struct job_unit *tasks, unsigned n)
{
	double *number = f->values[FACT_TASK_program], programs = 0, mpi = NAN;

	for (unsigned i = 0; i < n; i++) {
		char *const *own = tasks[i].about.texts;

		for (unsigned k = i; k-- > 0 && isnan(number[i]) && own[ABOUT_PROGRAM];) {
			char *const *other = tasks[k].about.texts;

			if (own[ABOUT_BUILD_ID]
				    ? is_same(own[ABOUT_BUILD_ID], other[ABOUT_BUILD_ID])
				    : is_same(own[ABOUT_PROGRAM], other[ABOUT_PROGRAM]))
				number[i] = number[k];
		}
		if (own[ABOUT_PROGRAM] && isnan(number[i]))
			number[i] = ++programs;
		if (own[ABOUT_PROGRAM] || tasks[i].is_rank)
			mpi = fmax(mpi, own[ABOUT_MPI] != NULL || tasks[i].is_rank);
	}
	*f->values[FACT_JOB_programs] = programs ? programs : NAN;
	*f->values[FACT_JOB_has_mpi] = mpi;
}

/* The unit with the most CPU time of those whose program is known; NULL: there is none. */
static const struct job_unit *busiest(const struct job_unit *units, unsigned n, unsigned step)
{
	const struct job_unit *most = NULL;

	for (unsigned i = 0; i < n; i++)
		if (units[i].step == step && units[i].about.texts[ABOUT_PROGRAM] &&
		    (!most || units[i].total[Q_CPU] > most->total[Q_CPU]))
			most = &units[i];
	return most;
}

/* Files of earlier versions do not say the programs of ranks; then the launcher's is the name. */
static int name_program(struct facts *f, const struct model_job *j, const struct job_unit *tasks,
			unsigned n)
{
	const struct job_unit *most = busiest(tasks, n, j->main_step);
	const char *path, *slash;

	if (!most)
		most = busiest(j->tasks, j->ntasks, j->main_step);
	if (!most)
		return 0;
	path = most->about.texts[ABOUT_PROGRAM];
	slash = strrchr(path, '/');
	f->program = strdup(slash && slash[1] ? slash + 1 : path);
	return f->program ? 0 : -ENOMEM;
}

/* The part of the wall time that equal work would save. Where tasks have several threads, the
 * busiest one uses so many CPUs at its best, and is that much sooner done. */
static double balance_saving(double unequal_s, double most_in_bin_s, const struct time_grid *grid)
{
	return unequal_s / fmax(most_in_bin_s / grid->dt_s, 1) / grid->end_s;
}

/* Mean and maximum of the tasks' CPU time in each bin, and what they say of the whole. */
static void fill_balance(struct facts *f, const struct model_job *j, const struct job_unit *tasks,
			 unsigned n)
{
	double unequal_s = 0, most_in_bin_s = 0, sum = 0, max = 0;

	for (unsigned k = 0; k < j->grid.n; k++) {
		double total = 0, most = NAN;

		for (unsigned i = 0; i < n; i++) {
			double v = job_unit__bins(&tasks[i], Q_CPU, &j->grid)[k];

			total += isnan(v) ? 0 : v;
			most = fmax(most, v);
		}
		if (isnan(most))
			continue;
		f->values[FACT_BIN_task_mean_s][k] = total / n;
		f->values[FACT_BIN_task_max_s][k] = most;
		unequal_s += most - total / n;
		most_in_bin_s = fmax(most_in_bin_s, most);
	}
	for (unsigned i = 0; i < n; i++) {
		sum += tasks[i].total[Q_CPU];
		max = fmax(max, tasks[i].total[Q_CPU]);
	}
	*f->values[FACT_JOB_task_balance] = max > 0 ? sum / n / max : NAN;
	*f->values[FACT_JOB_balance_saving] =
		max > 0 ? balance_saving(unequal_s, most_in_bin_s, &j->grid) : NAN;
}

/* A fact of PIKA's issues, or why it is not known. */
static int put_pika(struct facts *f, enum fact fact, double v, unsigned bins, double dt_s)
{
	char why[80] = "the CPU time of tasks, or their CPUs, are not known";

	*f->values[fact] = v;
	if (!isnan(v))
		return 0;
	if (!bins)
		snprintf(why, sizeof(why), "the job is shorter than a bin of %g s", dt_s);
	return facts__miss(f, fact, why);
}

/* PIKA's issues of load: a unit is a task, whose load is 1 when it uses the cores that are its. */
static int fill_pika(struct facts *f, const struct model_job *j, const struct job_unit *tasks,
		     unsigned n)
{
	unsigned bins = (unsigned)floor(j->grid.end_s / j->grid.dt_s + 1e-9);
	double *load = calloc((size_t)n * bins + 1, sizeof(*load));
	struct matrix m = {n, bins, load};
	double cores = facts__job(f, FACT_JOB_cores) / n;
	struct imbalance imbalance;
	struct idle idle;
	int err;

	if (!load)
		return -ENOMEM;
	for (unsigned i = 0; i < n; i++)
		for (unsigned k = 0; k < bins; k++)
			load[(size_t)i * bins + k] = job_unit__bins(&tasks[i], Q_CPU, &j->grid)[k] /
						     j->grid.dt_s / cores;
	imbalance__of(&m, &imbalance);
	idle__of(&m, IDLE_CPU_LOAD, j->grid.dt_s, NULL, &idle);
	err = put_pika(f, FACT_JOB_imbalance_sd, imbalance.mean_sd, bins, j->grid.dt_s);
	if (!err)
		err = put_pika(f, FACT_JOB_idle_ratio, idle.idle_ratio, bins, j->grid.dt_s);
	if (!err)
		err = put_pika(f, FACT_JOB_unused_ratio, idle.unused_ratio, bins, j->grid.dt_s);
	free(load);
	return err;
}

int facts_tasks__fill(struct facts *f, const struct model_job *j)
{
	unsigned n;
	const struct job_unit *tasks = facts__main_tasks(j, &n);

	*f->values[FACT_JOB_tasks] = n;
	for (unsigned i = 0; i < n; i++)
		fill_task(f, j, &tasks[i], i);
	if (!n)
		return 0;
	fill_balance(f, j, tasks, n);
	fill_programs(f, tasks, n);
	if (name_program(f, j, tasks, n) || facts_cpus_fill(f, tasks, n))
		return -ENOMEM;
	return fill_pika(f, j, tasks, n);
}
