/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads a job in three rounds, and answers questions about it. */
#include "model/job/job.h"

#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/known.h"
#include "base/log.h"
#include "base/progress.h"
#include "base/str.h"
#include "hdf5/hdf5.h"
#include "identity/stepname.h"
#include "model/job/job_internal.h"

/* ---- how long other programs had a job's cores, by the run time and idle time of the whole node
 */

/* The least time for which other programs had the job's cores: the time of these cores, without
 * the job's run time, the hypervisor's time and the node's idle time, for the job's cores may have
 * been the idle ones. On a node where the job has one CPU, other programs had that CPU whenever a
 * thread of the job waited for it. */
static double taken_of(const struct job_node *n, const struct time_grid *g)
{
	const double *covered = job_unit__bins(&n->unit, Q_COVERED, g),
		     *cpu = job_unit__bins(&n->unit, Q_CPU, g),
		     *idle = job_unit__bins(&n->unit, Q_NODE_IDLE, g),
		     *stolen = job_unit__bins(&n->unit, Q_NODE_STOLEN, g),
		     *waited = job_unit__bins(&n->unit, Q_WAIT, g);
	double sum = NAN;

	for (unsigned k = 0; covered && cpu && idle && stolen && waited && k < g->n; k++) {
		double taken = n->cores * covered[k] - cpu[k] - idle[k] - known__sum(0, stolen[k]);

		if (n->cpus == 1)
			taken = fmax(taken, fmin(waited[k], n->cores * covered[k] - cpu[k]));
		sum = known__sum(sum, known__not_negative(taken));
	}
	return sum;
}

/* A wait was avoidable only while the node had an idle CPU: otherwise other programs used the
 * step's cores. Where the job has one CPU no wait was avoidable: other programs used that CPU. */
static void cap_avoidable(struct job_unit *u, bool has_one_cpu, const struct time_grid *g)
{
	double *avoidable = (double *)job_unit__bins(u, Q_AVOIDABLE, g);
	const double *idle = job_unit__bins(u, Q_NODE_IDLE, g);
	double sum = NAN;

	for (unsigned k = 0; avoidable && idle && k < g->n; k++) {
		if (!isnan(avoidable[k]) && !isnan(idle[k]))
			avoidable[k] = has_one_cpu ? 0 : fmin(avoidable[k], idle[k]);
		sum = known__sum(sum, avoidable[k]);
	}
	if (!isnan(u->total[Q_NODE_IDLE]))
		u->total[Q_AVOIDABLE] = sum;
}

/* Fills taken_s of a node whose bins are complete, and takes from Q_AVOIDABLE what was no fault of
 * the job's. */
static void others_find(struct job_node *n, const struct time_grid *g)
{
	n->taken_s = n->unit.bins ? taken_of(n, g) : NAN;
	if (n->unit.bins)
		cap_avoidable(&n->unit, n->cpus == 1, g);
}

#define DT_USUAL_S     30
#define SHORT_BINS     120 /* a short run has about so many */
#define BINS_MAX       8192
#define NODE_BYTES_MAX (160u << 20) /* of all nodes: bins of 30 s of 1,000 nodes and two hours */
#define TASK_BYTES_MAX (128u << 20)
#define PART_BYTES_MAX (24u << 20)
#define HELD_BYTES_MAX (64u << 20) /* of all nodes */
#define INSTANTS_MAX   (2 * BINS_MAX)

static const struct pool_limits limits = {UINT64_C(1) << 30, 60};

static unsigned processes(const struct job_options *o)
{
	cpu_set_t set;

	if (o->here)
		return 0;
	if (o->processes)
		return o->processes;
	return sched_getaffinity(0, sizeof(set), &set) ? 1 : (unsigned)CPU_COUNT(&set);
}

struct round {
	const char *what; /* for the user who waits */
	int (*work)(void *reading, unsigned item, struct message *m);
	int (*take)(struct job_reading *r, unsigned item, struct message *m);
	/* What a failed item is; none: the round fails. */
	int (*fail)(struct job_reading *r, unsigned item, int err);
	unsigned nitems;
};

static int take_next(struct job_reading *r, const struct round *round, struct pool *pool,
		     unsigned i)
{
	struct message *m;
	int err = pool__next(pool, &m);

	if (err == -EINTR) {
		pool__follow_signal();
		return err;
	}
	if (!err)
		err = round->take(r, i, m);
	return err && err != -ENOMEM && err != -EINVAL ? round->fail(r, i, err) : err;
}

/* Reads the parts one by one, without workers. */
static int run_here(struct job_reading *r, const struct round *round)
{
	struct message m = {0};
	int err = 0;

	for (unsigned i = 0; !err && i < round->nitems; i++) {
		message__begin(&m);
		err = round->work(r, i, &m);
		if (!err)
			err = m.bad ? -EBADMSG : round->take(r, i, &m);
		if (err && err != -ENOMEM && err != -EINVAL)
			err = round->fail(r, i, err);
	}
	message__free(&m);
	return err;
}

static int run_round(struct job_reading *r, const struct round *round, unsigned workers)
{
	const struct pool_work work = {.work = round->work, .arg = r, .nitems = round->nitems};
	struct progress progress;
	struct pool *pool;
	int err;

	if (!workers)
		return run_here(r, round);
	err = pool__start(&pool, &work, workers, &limits);
	if (err)
		return err;
	progress__begin(&progress, round->what, round->nitems);
	for (unsigned i = 0; !err && i < round->nitems; i++) {
		progress__at(&progress, i);
		err = take_next(r, round, pool, i);
	}
	progress__clear(&progress);
	pool__free(pool);
	return err;
}

static int fail_input(struct job_reading *r, unsigned item, int err)
{
	log_error("%s: %s", r->inputs[item].path, reader__strerror(err));
	r->unread++;
	return 0;
}

/* ---- what the attributes say of nodes */

static double part_number(const struct job_part *p, const char *name)
{
	const struct model_attr *a = job_part__attr(p, name);

	return a ? a->number : NAN;
}

static double allocated_cpus(const struct job_part *p)
{
	const struct model_attr *a = job_part__attr(p, "Allocated CPUs");
	unsigned listed = a && a->text ? model__count_cpus(a->text) : 0;

	if (a && a->number > 0)
		return a->number;
	if (listed)
		return listed;
	return part_number(p, "CPUs per Task") * part_number(p, "Number of Tasks");
}

static double requested_mb(const struct job_part *p, double cpus)
{
	double node = part_number(p, "Requested Memory per Node");

	return isnan(node) ? part_number(p, "Requested Memory per CPU") * cpus : node;
}

static void set_node(struct job_node *n, const struct job_part *p)
{
	const struct model_attr *model, *kind;
	double cpus = allocated_cpus(p), threads = part_number(p, "Threads per Core");
	double cores = part_number(p, "Allocated Cores");

	if (isnan(cores))
		cores = threads > 0 ? ceil(cpus / threads) : cpus;
	n->cpus = fmax(n->cpus, cpus);
	n->cores = fmax(n->cores, cores);
	n->threads_per_core = fmax(n->threads_per_core, threads);
	n->cores_in_all = fmax(n->cores_in_all, part_number(p, "Node Cores"));
	n->memory_in_all_mb = fmax(n->memory_in_all_mb, part_number(p, "Node Memory"));
	n->limit_mb = fmax(n->limit_mb, part_number(p, "Memory Limit"));
	n->request_mb = fmax(n->request_mb, requested_mb(p, cpus));
	model = job_part__attr(p, "CPU Model");
	n->model = model ? model->text : n->model;
	kind = job_part__attr(p, "CPI Kind");
	n->cpi_kind = kind ? kind->text : n->cpi_kind;
	n->cpi_width = fmax(n->cpi_width, part_number(p, "Slots per Cycle"));
}

static void set_nodes(struct model_job *j)
{
	for (unsigned i = 0; i < j->nnodes; i++)
		j->nodes[i].cores = j->nodes[i].cpus = j->nodes[i].threads_per_core =
			j->nodes[i].cores_in_all = j->nodes[i].memory_in_all_mb =
				j->nodes[i].limit_mb = j->nodes[i].request_mb =
					j->nodes[i].oom_limit_mb = j->nodes[i].cpi_width = NAN;
	for (unsigned i = 0; i < j->nparts; i++)
		if (!j->parts[i].trouble)
			set_node(&j->nodes[j->parts[i].node], &j->parts[i]);
}

/* ---- the axis of time */

static double nice_dt(double s)
{
	static const double nice[] = {0.1, 0.2, 0.3, 0.5, 1, 2, 3, 5, 10, 15, DT_USUAL_S};

	for (unsigned i = 0; i < sizeof(nice) / sizeof(*nice); i++)
		if (nice[i] >= s)
			return nice[i];
	return DT_USUAL_S;
}

static unsigned bins_max(const struct job_reading *r)
{
	const struct model_job *j = r->job;
	size_t kept = 0, of_node = 0, tasks = 0, most = 1;
	size_t n;

	for (int q = 0; q < N_QUANTITIES; q++) {
		kept += quantity__is_kept(q, r->of_tasks);
		of_node += quantity__is_kept(q, r->of_nodes);
	}
	for (unsigned i = 0; i < j->nparts; i++) {
		tasks += j->parts[i].tasks;
		most = j->parts[i].tasks > most ? j->parts[i].tasks : most;
	}
	n = TASK_BYTES_MAX / sizeof(double) / (tasks * kept + 1);
	if (NODE_BYTES_MAX / sizeof(double) / of_node / (j->nnodes + 1) < n)
		n = NODE_BYTES_MAX / sizeof(double) / of_node / (j->nnodes + 1);
	if (PART_BYTES_MAX / sizeof(double) / (most * kept + of_node) < n)
		n = PART_BYTES_MAX / sizeof(double) / (most * kept + of_node);
	return n < 16 ? 16 : n > BINS_MAX ? BINS_MAX : (unsigned)n;
}

/* Two for each row, so that rows of steps and tasks meet there that overlap in time, or as many as
 * there is memory for. */
static unsigned instants_of_bin(const struct model_job *j)
{
	size_t held = quantity__held_before(N_QUANTITIES) * sizeof(double);
	size_t most = HELD_BYTES_MAX / held / (j->nnodes + 1);
	double wanted = fmax(1, ceil(2 * j->grid.dt_s / j->row_s - 1e-9));

	most = (most < INSTANTS_MAX ? most : INSTANTS_MAX) / j->grid.n;
	return wanted < (double)most ? (unsigned)wanted : (unsigned)most;
}

#define FEW_ROWS 3 /* of a part, whose last one may be short: they say no usual length */

/* -ENODATA: no part has rows. */
static int set_grid(struct job_reading *r, double dt_s)
{
	struct model_job *j = r->job;
	double t0 = NAN, t1 = NAN, longest = 0;

	for (unsigned i = 0; i < j->nparts; i++) {
		const struct job_part *p = &j->parts[i];
		double s = (p->end_ns - p->start_ns) / 1e9;

		if (p->trouble || !isfinite(p->start_ns) || !isfinite(p->end_ns))
			continue;
		t0 = fmin(t0, p->start_ns);
		t1 = fmax(t1, p->end_ns);
		if (p->row_s > 0 && p->rows > FEW_ROWS)
			j->least_row_s = fmin(j->least_row_s, p->row_s);
		if (s > longest && p->rows) {
			longest = s;
			j->rows = p->rows;
			j->row_s = isnan(p->row_s) ? s / p->rows : p->row_s;
		}
	}
	if (!(t1 > t0))
		return -ENODATA;
	j->least_row_s = fmin(j->least_row_s, j->row_s);
	if (!(dt_s > 0))
		dt_s = nice_dt(fmax(0.9 * j->row_s, (t1 - t0) / 1e9 / SHORT_BINS));
	j->grid = time_grid__of(t0, t1, dt_s, bins_max(r));
	j->grid.instants = r->of_nodes ? 0 : instants_of_bin(j);
	if (r->of_nodes && j->grid.dt_s >= JOB_LONG_BIN * j->least_row_s)
		j->grid.row_s = j->least_row_s;
	return 0;
}

/* ---- the end */

static int cmp_tasks(const void *a, const void *b)
{
	const struct job_unit *x = a, *y = b;
	double nx = atof(x->name), ny = atof(y->name);

	if (x->is_rank != y->is_rank)
		return y->is_rank ? -1 : 1;
	if (x->step != y->step)
		return x->step < y->step ? -1 : 1;
	return (nx > ny) - (nx < ny);
}

static bool is_better(const struct job_step *a, const struct job_step *b)
{
	if (!a->nodes || !b->nodes)
		return a->nodes;
	if (isnan(b->cpu_s))
		return !isnan(a->cpu_s);
	return a->cpu_s > b->cpu_s;
}

static int cmp_commands(const void *a, const void *b)
{
	const struct job_command *x = a, *y = b;
	double nx = isnan(x->cpu_s) ? -1 : x->cpu_s, ny = isnan(y->cpu_s) ? -1 : y->cpu_s;

	return nx != ny ? (nx < ny) - (nx > ny) : strcmp(x->name, y->name);
}

static int cmp_numbers(const void *a, const void *b)
{
	double x = atof(((const struct job_unit *)a)->name),
	       y = atof(((const struct job_unit *)b)->name);

	return (x > y) - (x < y);
}

/* A launcher of the batch script starts ranks of other nodes in a step: all of them together are
 * numbers from 0 on, each once. 0 or -ENOMEM. */
static int find_world(struct model_job *j)
{
	unsigned first = 0, n;
	bool *seen;

	while (first < j->ntasks && !j->tasks[first].is_rank)
		first++;
	n = j->ntasks - first;
	seen = calloc(n + 1, sizeof(*seen));
	if (!seen)
		return -ENOMEM;
	j->world = n;
	for (unsigned i = first; i < j->ntasks && j->world; i++) {
		double number = atof(j->tasks[i].name);

		if (!(number >= 0) || number >= n || seen[(unsigned)number])
			j->world = 0;
		else
			seen[(unsigned)number] = true;
	}
	free(seen);
	if (j->world)
		qsort(j->tasks + first, n, sizeof(*j->tasks), cmp_numbers);
	return 0;
}

static int set_main_step(struct model_job *j)
{
	for (unsigned i = 1; i < j->nsteps; i++)
		if (is_better(&j->steps[i], &j->steps[j->main_step]))
			j->main_step = i;
	if (j->ntasks)
		qsort(j->tasks, j->ntasks, sizeof(*j->tasks), cmp_tasks);
	if (j->ncommands)
		qsort(j->commands, j->ncommands, sizeof(*j->commands), cmp_commands);
	return find_world(j);
}

static bool is_slurms(const struct model_job *j)
{
	for (unsigned i = 0; i < j->nparts; i++)
		if (job_part__attr(&j->parts[i], "Start TimeNS"))
			return false;
	return j->nparts > 0;
}

bool job_node__counts_cores(const struct model_job *j, const struct job_node *n)
{
	return !j->is_slurms || !isnan(n->threads_per_core) || !(n->cpus > 1);
}

bool model_job__counts_cores(const struct model_job *j)
{
	for (unsigned i = 0; i < j->nnodes; i++)
		if (!job_node__counts_cores(j, &j->nodes[i]))
			return false;
	return true;
}

/* What a node could do is not known where its rows are not. */
static void end_node(struct job_node *n, const struct time_grid *g)
{
	others_find(n, g);
	if (!n->unit.bins)
		n->cores = n->cpus = n->limit_mb = n->request_mb = NAN;
}

/* Whether a part says that it has a family. */
static bool was_counted(const struct model_job *j, enum family family)
{
	char name[32];

	snprintf(name, sizeof(name), "Mode %s", family__name(family));
	for (unsigned i = 0; i < j->nparts; i++) {
		const struct model_attr *mode = job_part__attr(&j->parts[i], name);

		if (mode && mode->text && !str__starts(mode->text, "off") &&
		    !str__starts(mode->text, "absent"))
			return true;
	}
	return false;
}

static int read_all(struct job_reading *r, const struct job_options *o)
{
	struct model_job *j = r->job;
	struct round list = {"looking for nodes", job_list__work, job_list__take, fail_input,
			     r->ninputs};
	struct round head = {"reading attributes", job_head__work, job_head__take, job_part__fail,
			     0};
	struct round rows = {"reading rows", job_rows__work, job_rows__take, job_part__fail, 0};
	int err = run_round(r, &list, processes(o));

	if (err)
		return err;
	if (!j->nparts)
		return r->unread ? -EIO : -ENODATA;
	head.nitems = rows.nitems = j->nparts;
	err = r->ninputs == 1 ? run_round(r, &head, processes(o)) : 0;
	if (err)
		return err;
	err = job_clock__judge(j);
	set_nodes(j);
	j->is_slurms = is_slurms(j);
	r->of_nodes = o->drawn ? BINNED_DRAWN_NODES : NULL;
	r->of_tasks = o->drawn				      ? BINNED_DRAWN_TASKS
		      : o->budget && was_counted(j, FAM_WAIT) ? BINNED_BUDGET
							      : "STEP";
	if (!err)
		err = set_grid(r, o->dt_s);
	if (!err)
		err = run_round(r, &rows, processes(o));
	for (unsigned i = 0; !err && i < j->nnodes; i++)
		end_node(&j->nodes[i], &j->grid);
	if (!err)
		err = set_main_step(j);
	return err;
}

int model_job__read(struct model_job *out, const struct job_input *inputs, unsigned ninputs,
		    const struct job_options *o)
{
	struct job_reading r = {.inputs = inputs, .ninputs = ninputs, .job = out};
	int err;

	*out = (struct model_job){.row_s = NAN, .least_row_s = NAN};
	err = read_all(&r, o);
	if (!err && !out->id)
		err = -ENOMEM;
	job_reading__close(&r);
	free(r.places);
	return err;
}

static void free_units(struct job_unit *u, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		free(u[i].name);
		free(u[i].bins);
		extremes__free(&u[i].extremes);
		for (int k = 0; k < ABOUT_TEXTS; k++)
			free(u[i].about.texts[k]);
	}
	free(u);
}

void model_job__free(struct model_job *j)
{
	for (unsigned i = 0; j->parts && i < j->nparts; i++)
		job_part__free(&j->parts[i]);
	for (unsigned i = 0; i < j->nnodes; i++) {
		free(j->nodes[i].unit.name);
		free(j->nodes[i].unit.bins);
		free(j->nodes[i].unit.held);
		extremes__free(&j->nodes[i].unit.extremes);
	}
	for (unsigned i = 0; i < j->nsteps; i++)
		free(j->steps[i].name);
	free_units(j->tasks, j->ntasks);
	free_units(j->gpus, j->ngpus);
	free_units(j->mounts, j->nmounts);
	free_units(j->disks, j->ndisks);
	for (unsigned i = 0; i < j->ncommands; i++)
		free(j->commands[i].name);
	free(j->commands);
	free(j->marks);
	free(j->parts);
	free(j->nodes);
	free(j->steps);
	free(j->id);
	*j = (struct model_job){0};
}

/* Finds a quantity's first column in the schemas; NULL: none has it, as it is of an event. */
static const struct column *column_of(enum quantity q)
{
	const struct quantity_info *info = &quantity_infos[q];
	const struct series *s = series__find(strcmp(info->series, "STEP") ? info->series : "Step");

	for (unsigned i = 0; s && i < s->ncols; i++)
		if (info->columns[0] && !strcmp(s->cols[i].name, info->columns[0]))
			return &s->cols[i];
	return NULL;
}

void model_job__why_unknown(const struct model_job *j, enum quantity q, char *text, size_t size)
{
	const char *column = quantity_infos[q].columns[0];
	const struct column *known = column_of(q);
	const struct model_attr *mode;
	char name[32];

	snprintf(name, sizeof(name), "Mode %s", family__name(known ? known->family : FAM_PERF));
	mode = model_job__attr(j, name);
	if (j->is_slurms)
		snprintf(text, size, "Slurm's own profiles have no %s", column);
	else if (mode && mode->text &&
		 (str__starts(mode->text, "off") || str__starts(mode->text, "absent")))
		snprintf(text, size, "family %s: %s", name + 5, mode->text);
	else if (!mode)
		snprintf(text, size, "the family %s was not asked for", name + 5);
	else if (!known)
		snprintf(text, size,
			 "PerfEvents= in jobprof.conf names no event with the column %s", column);
	else if (strcmp(quantity_infos[q].series, "STEP"))
		snprintf(text, size, "no sensor of the node gave %s of %s", column,
			 quantity_infos[q].series);
	else
		snprintf(text, size, "the node could not tell %s", column);
}
