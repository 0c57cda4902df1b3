/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The facts that are sums over nodes, of the job and of its bins; the others are filled in by
 * subject. */
#include "analysis/job/facts_fill.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/counters/counter_metrics.h"
#include "analysis/job/pop.h"
#include "base/known.h"

/* ---- facts that Slurm, or the programs' own end, said: attributes of the parts */

static double number(const struct model_job *j, const char *name)
{
	const struct model_attr *a = model_job__attr(j, name);

	return a ? a->number : NAN;
}

static const char *text(const struct model_job *j, const char *name)
{
	const struct model_attr *a = model_job__attr(j, name);

	return a ? a->text : NULL;
}

static double part_number(const struct job_part *p, const char *name)
{
	for (unsigned i = 0; i < p->nattrs; i++)
		if (!strcmp(p->attrs[i].name, name))
			return p->attrs[i].number;
	return NAN;
}

static double max_of_parts(const struct model_job *j, const char *name)
{
	double max = NAN;

	for (unsigned i = 0; i < j->nparts; i++)
		max = fmax(max, part_number(&j->parts[i], name));
	return max;
}

static double min_of_parts(const struct model_job *j, const char *name)
{
	double min = NAN;

	for (unsigned i = 0; i < j->nparts; i++)
		min = fmin(min, part_number(&j->parts[i], name));
	return min;
}

/* The GPUs of all nodes: of each node the most that one of its parts says. */
static double gpus_of(const struct model_job *j)
{
	double sum = NAN;

	for (unsigned n = 0; n < j->nnodes; n++) {
		double most = NAN;

		for (unsigned i = 0; i < j->nparts; i++)
			if (!j->parts[i].trouble && j->parts[i].node == n)
				most = fmax(most, part_number(&j->parts[i], "Allocated GPUs"));
		if (!isnan(most))
			sum = isnan(sum) ? most : sum + most;
	}
	if (!isnan(sum) || j->ngpus)
		return isnan(sum) ? j->ngpus : sum;
	/* Slurm names the GPUs of a job that has some. */
	return model_job__attr(j, "Node Sharing") ? 0 : NAN;
}

/* 1: no other job may be on the nodes; 0: others may. */
static double is_exclusive(const struct model_job *j)
{
	const char *sharing = text(j, "Node Sharing");

	return sharing ? !strcmp(sharing, "exclusive") : NAN;
}

/* Reasons that say why jobprofd saw no more of the step, and not how the step ended. */
static bool is_end_unknown(const char *reason)
{
	return !strcmp(reason, "cgroup removed") || !strcmp(reason, "jobprofd was stopped") ||
	       !strcmp(reason, "ended while jobprofd was away");
}

static double is_completed(const struct model_job *j)
{
	const char *state = text(j, "Job State"), *end = text(j, "End Reason");
	double status = max_of_parts(j, "Exit Status");

	if (state)
		return !strcmp(state, "COMPLETED");
	if (end && is_end_unknown(end))
		return NAN;
	if (end && strcmp(end, "exited"))
		return 0;
	return isnan(status) ? NAN : status == 0;
}

static double is_running(const struct model_job *j)
{
	const char *state = text(j, "Job State"), *end = text(j, "End Reason");

	if (state)
		return !strcmp(state, "RUNNING");
	return end && strcmp(end, "jobprofd was stopped") ? 0 : NAN;
}

static void facts_slurm_fill(struct facts *f, const struct model_job *j)
{
	const char *state = text(j, "Job State");
	double start = number(j, "Job Start EpochTime");
	double *const *v = f->values;
	const char *step = j->nsteps ? j->steps[j->main_step].name : "";

	f->state = state ? strdup(state) : NULL;
	*v[FACT_JOB_limit_s] = number(j, "Time Limit");
	*v[FACT_JOB_is_completed] = is_completed(j);
	*v[FACT_JOB_is_running] = is_running(j);
	*v[FACT_JOB_is_exclusive] = is_exclusive(j);
	*v[FACT_JOB_is_interactive] = !strcmp(step, "interactive") || !strcmp(step, "-6");
	*v[FACT_JOB_is_slurm] = j->is_slurms || !isnan(start) || text(j, "Partition");
	*v[FACT_JOB_array_tasks] = number(j, "Array Task Count");
	*v[FACT_JOB_nodes_allocated] = max_of_parts(j, "Nodes in Step");
	*v[FACT_JOB_left_cgroup_s] = min_of_parts(j, "Left Cgroup After");
	*v[FACT_JOB_gpus] = gpus_of(j);
	*v[FACT_JOB_job_elapsed_s] =
		start > 0 ? j->grid.t0_ns / 1e9 + j->grid.end_s - start : j->grid.end_s;
	/* What was asked for per CPU may be the site's default. */
	*v[FACT_JOB_is_request_default] = isnan(number(j, "Requested Memory per Node")) ? NAN : 0;
	*v[FACT_JOB_request_mb] = NAN;
	for (unsigned i = 0; i < j->nnodes; i++)
		*v[FACT_JOB_request_mb] = fmin(*v[FACT_JOB_request_mb], j->nodes[i].request_mb);
}

/* ---- facts of hardware counters: the cycles per instruction, and what they were used for */

/* The events that the stack needs, as quantities and by the columns that counter_metrics knows. */
static const struct {
	const char *column;
	enum quantity q;
} events[] = {
	{"Cycles", Q_CYCLES},
	{"Instructions", Q_INSTRUCTIONS},
	{"SlotsFrontend", Q_SLOTS_FRONTEND},
	{"SlotsBackend", Q_SLOTS_BACKEND},
	{"SlotsSmt", Q_SLOTS_SMT},
	{"SlotsStalled", Q_SLOTS_STALLED},
	{"Slots", Q_SLOTS},
	{"OpsDispatched", Q_OPS_DISPATCHED},
	{"OpsRetired", Q_OPS_RETIRED},
	{"RecoveryCycles", Q_RECOVERY_CYCLES},
};
#define N_EVENTS (sizeof(events) / sizeof(*events))

static const enum fact parts[N_CPI_PARTS] = {
	[CPI_PART_FRONTEND] = FACT_JOB_cpi_frontend,
	[CPI_PART_BAD_SPEC] = FACT_JOB_cpi_bad_speculation,
	[CPI_PART_RETIRING] = FACT_JOB_cpi_retiring,
	[CPI_PART_BACKEND] = FACT_JOB_cpi_backend,
	[CPI_PART_SMT] = FACT_JOB_cpi_smt,
	[CPI_PART_OTHER] = FACT_JOB_cpi_other,
};

/* Nodes of different processors have no stack together. */
static bool have_one_kind(const struct model_job *j)
{
	for (unsigned i = 0; i < j->nnodes; i++)
		if (!j->nodes[i].cpi_kind || strcmp(j->nodes[i].cpi_kind, j->nodes[0].cpi_kind))
			return false;
	return j->nnodes > 0;
}

static void facts_counters_fill(struct facts *f, const struct model_job *j)
{
	const char *columns[N_EVENTS];
	double totals[N_EVENTS];
	struct counter_totals t = {columns, totals, N_EVENTS, NAN, NULL, NAN};
	struct counter_metrics m;

	for (size_t i = 0; i < N_EVENTS; i++) {
		columns[i] = events[i].column;
		totals[i] = facts__sum(j, events[i].q);
	}
	*f->values[FACT_JOB_cpi] = totals[1] > 0 ? totals[0] / totals[1] : NAN;
	if (!have_one_kind(j))
		return;
	t.kind = j->nodes[0].cpi_kind;
	t.width = j->nodes[0].cpi_width;
	counter_metrics__of(&t, &m);
	for (int i = 0; m.status == ANALYSIS_OK && i < N_CPI_PARTS; i++)
		*f->values[parts[i]] = m.stack.stack[i];
}

/* ---- how well the ranks of the main step work in parallel, of all and of each bin */

static int miss(struct facts *f, const char *why)
{
	static const enum fact of_job[] = {FACT_JOB_load_balance, FACT_JOB_communication_efficiency,
					   FACT_JOB_with_cpu, FACT_JOB_parallel_efficiency};
	int err = 0;

	for (unsigned i = 0; !err && i < sizeof(of_job) / sizeof(*of_job); i++)
		if (isnan(*f->values[of_job[i]]))
			err = facts__miss(f, of_job[i], why);
	return err;
}

/* After the tasks: how well they work in parallel. */
static int facts_pop_fill(struct facts *f, const struct model_job *j)
{
	unsigned n;
	const struct job_unit *ranks = facts__main_tasks(j, &n);
	struct pop pop = pop__of(ranks, n);

	for (unsigned i = 0; i < n; i++)
		f->values[FACT_TASK_useful_s][i] = pop__useful_s(&ranks[i]);
	*f->values[FACT_JOB_load_balance] = pop.load_balance;
	*f->values[FACT_JOB_communication_efficiency] = pop.communication;
	*f->values[FACT_JOB_with_cpu] = pop.with_cpu;
	*f->values[FACT_JOB_parallel_efficiency] = pop.parallel;
	*f->values[FACT_JOB_pop_samples] = pop.samples;
	for (unsigned k = 0; !isnan(pop.load_balance) && k < j->grid.n; k++) {
		struct pop bin = pop__of_bin(ranks, n, &j->grid, k);

		f->values[FACT_BIN_load_balance][k] = bin.load_balance;
		f->values[FACT_BIN_communication_efficiency][k] = bin.communication;
		f->values[FACT_BIN_with_cpu][k] = bin.with_cpu;
		f->values[FACT_BIN_parallel_efficiency][k] = bin.parallel;
	}
	return pop.why ? miss(f, pop.why) : 0;
}

/* Of nodes and tasks: each unit has its own. */
static void put_totals(struct facts *f, const struct model_job *j, enum fact fact, enum quantity q)
{
	unsigned n;
	const struct job_unit *tasks = facts__main_tasks(j, &n);

	if (fact_infos[fact].scope == SCOPE_TASK)
		for (unsigned i = 0; i < n; i++)
			f->values[fact][i] = tasks[i].total[q];
	else
		for (unsigned i = 0; i < j->nnodes; i++)
			f->values[fact][i] = j->nodes[i].unit.total[q];
}

static int add_total(struct facts *f, const struct model_job *j, enum fact fact, enum quantity q)
{
	char reason[160];

	switch (fact_infos[fact].scope) {
	case SCOPE_JOB:
		f->values[fact][0] = facts__sum(j, q);
		break;
	case SCOPE_BIN:
		for (unsigned k = 0; k < j->grid.n; k++)
			f->values[fact][k] = facts__bin_sum(j, q, k);
		break;
	default:
		put_totals(f, j, fact, q);
		return 0;
	}
	if (!isnan(facts__sum(j, q)))
		return 0;
	model_job__why_unknown(j, q, reason, sizeof(reason));
	return facts__miss(f, fact, reason);
}

/* Files opened and closed in a bin: of the tasks where they are counted, else of the mounts of a
 * node that no other job uses. */
static double opens_in(const struct facts *f, const struct model_job *j, unsigned bin)
{
	double own = facts__bin_sum(j, Q_OPENS, bin);

	if (!isnan(own))
		return own;
	return facts__job(f, FACT_JOB_is_exclusive) == 1 ? facts__bin_sum(j, Q_MOUNT_OPENS, bin)
							 : NAN;
}

static void add_bins(struct facts *f, const struct model_job *j)
{
	for (unsigned k = 0; k < j->grid.n; k++) {
		double cores_s = 0, psi = NAN, share = NAN;

		for (unsigned i = 0; i < j->nnodes; i++) {
			const struct job_node *n = &j->nodes[i];
			const double *covered = job_unit__bins(&n->unit, Q_COVERED, &j->grid);
			const double *stall = job_unit__bins(&n->unit, Q_PSI_MEM, &j->grid);
			const double *charged = job_unit__bins(&n->unit, Q_MEM, &j->grid);

			if (!covered)
				continue;
			if (covered[k] > 0)
				cores_s +=
					n->cores * fmin(covered[k], time_grid__span_s(&j->grid, k));
			psi = fmax(psi, stall[k]);
			share = fmax(share, charged[k] / facts__limit_mb(n));
		}
		f->values[FACT_BIN_start_s][k] = k * j->grid.dt_s;
		f->values[FACT_BIN_span_s][k] = time_grid__span_s(&j->grid, k);
		f->values[FACT_BIN_cores_s][k] = cores_s;
		f->values[FACT_BIN_psi_mem_s][k] = psi;
		f->values[FACT_BIN_charged_share][k] = share;
		f->values[FACT_BIN_calls][k] = known__sum(facts__bin_sum(j, Q_READ_CALLS, k),
							  facts__bin_sum(j, Q_WRITE_CALLS, k));
		f->values[FACT_BIN_net_mb][k] =
			facts__bin_sum(j, Q_NET_TX, k) + facts__bin_sum(j, Q_NET_RX, k);
		f->values[FACT_BIN_port_mb][k] =
			facts__bin_sum(j, Q_PORT_TX, k) + facts__bin_sum(j, Q_PORT_RX, k);
		f->values[FACT_BIN_opens][k] = opens_in(f, j, k);
	}
}

static double quantile_s(const struct job_histogram *h, double q)
{
	return h->is_known ? histogram__quantile_ns(h->counts, q) / 1e9 : NAN;
}

static double coverage_of(const struct model_job *j)
{
	double covered = 0, all = 0;
	unsigned good = 0;

	for (unsigned i = 0; i < j->nparts; i++) {
		const struct job_part *p = &j->parts[i];
		double s = (p->end_ns - p->start_ns) / 1e9;

		if (p->trouble || !(s > 0) || isnan(p->covered_s))
			continue;
		good++;
		covered += fmin(p->covered_s, s);
		all += s;
	}
	return all > 0 ? covered / all * good / j->nparts : NAN;
}

/* Files whose journal lost what was counted meanwhile. */
static double lost_counts(const struct model_job *j)
{
	unsigned n = 0;

	for (unsigned i = 0; i < j->nparts; i++) {
		const struct model_attr *again = job_part__attr(&j->parts[i], "Restarted");

		n += (again && again->text && strstr(again->text, " are lost")) ||
		     job_part__attr(&j->parts[i], "Lost Bytes") ||
		     job_part__attr(&j->parts[i], "Torn Rows");
	}
	return n;
}

/* The sum of an attribute of those files that have it. NaN: counts are lost, and none has it. */
static double sum_lost(const struct model_job *j, const char *name)
{
	bool known = !(lost_counts(j) > 0);
	double s = 0;

	for (unsigned i = 0; i < j->nparts; i++) {
		const struct model_attr *lost = job_part__attr(&j->parts[i], name);

		known |= lost != NULL;
		s += lost ? lost->number : 0;
	}
	return known ? s : NAN;
}

/* s of CPU time; NaN: nobody knows how much. */
static double missed_cpu(const struct model_job *j)
{
	double s = 0;

	for (unsigned i = 0; i < j->nparts; i++) {
		const struct model_attr *missed = job_part__attr(&j->parts[i], "Missed CPU Time");

		if (job_part__attr(&j->parts[i], "Baseline"))
			s += missed && missed->number >= 0 ? missed->number : NAN;
	}
	return s;
}

/* NaN: the end of a step, which says how many, is not in the file: it runs, or the journal had no
 * room. */
static double lost_rows(const struct model_job *j)
{
	double n = 0;

	for (unsigned i = 0; i < j->nparts; i++) {
		const struct model_attr *lost = job_part__attr(&j->parts[i], "Lost");

		if (!lost && job_part__attr(&j->parts[i], "JobProf Version"))
			return NAN;
		n += lost && lost->number > 0 ? lost->number : 0;
	}
	return n;
}

/* The power of each bin, for the time in it that rows cover. */
static double node_energy(const struct model_job *j)
{
	double sum = NAN;

	for (unsigned i = 0; j->is_slurms && i < j->nnodes; i++) {
		const struct job_unit *u = &j->nodes[i].unit;
		const double *watts = job_unit__bins(u, Q_NODE_POWER, &j->grid);
		const double *covered = job_unit__bins(u, Q_COVERED, &j->grid);

		for (unsigned k = 0; watts && covered && k < j->grid.n; k++)
			sum = known__sum(
				sum, watts[k] * fmin(covered[k], time_grid__span_s(&j->grid, k)));
	}
	return sum;
}

static double cores_of(const struct model_job *j, bool threads)
{
	double sum = NAN;

	for (unsigned i = 0; i < j->nnodes; i++)
		sum = known__sum(sum, threads ? j->nodes[i].cpus : j->nodes[i].cores);
	return sum;
}

static double largest_of(const struct model_job *j)
{
	double most = NAN;

	for (unsigned i = 0; i < j->nnodes; i++)
		most = fmax(most, j->nodes[i].cores_in_all);
	return most;
}

/* What is neither idle nor the job's on a node all of whose cores are the job's. */
static double used_by_others(const struct job_node *n)
{
	double threads = n->threads_per_core, wall = n->unit.end_s - n->unit.begin_s;
	double idle = n->unit.total[Q_NODE_IDLE], stolen = n->unit.total[Q_NODE_STOLEN];

	if (!(n->cores >= n->cores_in_all) || !(threads > 0))
		return NAN;
	return known__not_negative(n->cores_in_all * threads * wall - idle - stolen -
				   n->unit.total[Q_CPU]) /
	       threads;
}

static double others_of(const struct model_job *j)
{
	double sum = 0;

	for (unsigned i = 0; i < j->nnodes; i++)
		sum += used_by_others(&j->nodes[i]);
	return j->nnodes ? sum : NAN;
}

static double taken_of(const struct model_job *j)
{
	double sum = NAN;

	for (unsigned i = 0; i < j->nnodes; i++)
		sum = known__sum(sum, j->nodes[i].taken_s);
	return sum;
}

static double least_memory(const struct model_job *j)
{
	double least = NAN;

	for (unsigned i = 0; i < j->nnodes; i++)
		least = fmin(least, j->nodes[i].memory_in_all_mb);
	return least;
}

#define SHORT_PROCESS_S	   0.005 /* of CPU time: it does little but start and end */
#define REPEATED_PROCESS_S 0.5	 /* it may do much more than that */
#define REPEATED	   20

static void fill_commands(struct facts *f, const struct model_job *j)
{
	double processes = 0, cpu_s = 0, repeated = 0, repeated_s = 0;

	for (unsigned i = 0; i < j->ncommands; i++) {
		const struct job_command *c = &j->commands[i];

		if (c->cpu_s < SHORT_PROCESS_S * c->processes) {
			processes += c->processes;
			cpu_s += c->cpu_s;
		} else if (c->processes >= REPEATED &&
			   c->cpu_s < REPEATED_PROCESS_S * c->processes) {
			repeated += c->processes;
			repeated_s += c->cpu_s;
		}
	}
	*f->values[FACT_JOB_commands] = j->ncommands ? j->ncommands : NAN;
	*f->values[FACT_JOB_short_processes] = j->ncommands ? processes : NAN;
	*f->values[FACT_JOB_short_cpu_s] = j->ncommands ? cpu_s : NAN;
	*f->values[FACT_JOB_repeated_processes] = j->ncommands ? repeated : NAN;
	*f->values[FACT_JOB_repeated_cpu_s] = j->ncommands ? repeated_s : NAN;
}

static void fill_job(struct facts *f, const struct model_job *j)
{
	double *v[N_FACTS];
	double opens = NAN;

	memcpy(v, f->values, sizeof(v));
	*v[FACT_JOB_wall_s] = j->grid.end_s;
	*v[FACT_JOB_dt_s] = j->grid.dt_s;
	*v[FACT_JOB_row_s] = j->row_s;
	*v[FACT_JOB_lost_rows] = lost_rows(j);
	*v[FACT_JOB_lost_counts] = lost_counts(j);
	*v[FACT_JOB_lost_s] = sum_lost(j, "Lost Time");
	*v[FACT_JOB_lost_cpu_s] = sum_lost(j, "Lost CPU Time");
	*v[FACT_JOB_missed_cpu_s] = missed_cpu(j);
	*v[FACT_JOB_steps] = j->nsteps;
	*v[FACT_JOB_nodes] = j->nnodes;
	*v[FACT_JOB_cores] = cores_of(j, false);
	*v[FACT_JOB_cpus] = cores_of(j, true);
	*v[FACT_JOB_cores_per_node] = largest_of(j);
	*v[FACT_JOB_node_energy_j] = node_energy(j);
	*v[FACT_JOB_others_s] = others_of(j);
	*v[FACT_JOB_taken_s] = taken_of(j);
	*v[FACT_JOB_node_mb] = least_memory(j);
	*v[FACT_JOB_core_s] = *v[FACT_JOB_cores] * j->grid.end_s;
	*v[FACT_JOB_coverage] = coverage_of(j);
	*v[FACT_JOB_cpu_share] = *v[FACT_JOB_cpu_s] / *v[FACT_JOB_core_s];
	*v[FACT_JOB_wait_share] = *v[FACT_JOB_wait_s] / (*v[FACT_JOB_wait_s] + *v[FACT_JOB_cpu_s]);
	*v[FACT_JOB_demand] = (*v[FACT_JOB_wait_s] + *v[FACT_JOB_cpu_s]) / j->grid.end_s;
	*v[FACT_JOB_blk_p99_s] = quantile_s(&j->blk_latency, 0.99);
	*v[FACT_JOB_run_p50_s] = quantile_s(&j->run_latency, 0.5);
	for (unsigned k = 0; k < j->grid.n; k++)
		opens = known__sum(opens, f->values[FACT_BIN_opens][k]);
	*v[FACT_JOB_opens] = opens;
	*v[FACT_JOB_remote_loads] /= *v[FACT_JOB_node_loads];
	fill_commands(f, j);
	*v[FACT_JOB_swap_peak_mb] = NAN;
	for (unsigned k = 0; k < j->grid.n; k++)
		*v[FACT_JOB_swap_peak_mb] =
			fmax(*v[FACT_JOB_swap_peak_mb], f->values[FACT_BIN_swap_mb][k]);
}

static int make_names(struct facts *f, enum fact_scope scope)
{
	f->names[scope] = calloc(f->count[scope] + 1, sizeof(char *));
	return f->names[scope] ? 0 : -ENOMEM;
}

static int set_name(struct facts *f, enum fact_scope scope, size_t i, const char *name)
{
	f->names[scope][i] = strdup(name);
	return f->names[scope][i] ? 0 : -ENOMEM;
}

static int set_names(struct facts *f, const struct model_job *j)
{
	unsigned ntasks;
	const struct job_unit *tasks = facts__main_tasks(j, &ntasks);
	int err = make_names(f, SCOPE_NODE);

	if (!err)
		err = make_names(f, SCOPE_TASK);
	if (!err)
		err = make_names(f, SCOPE_GPU);
	for (unsigned i = 0; !err && i < j->nnodes; i++)
		err = set_name(f, SCOPE_NODE, i, j->nodes[i].unit.name);
	for (unsigned i = 0; !err && i < ntasks; i++)
		err = set_name(f, SCOPE_TASK, i, tasks[i].name);
	for (unsigned i = 0; !err && i < j->ngpus; i++)
		err = set_name(f, SCOPE_GPU, i, j->gpus[i].name);
	return err;
}

/* A run of less than an hour is judged as if it had taken one, and its bins half a minute. */
static double scale_of(const struct model_job *j)
{
	return fmin(1, fmin(j->grid.dt_s / 30, j->grid.end_s / 3600));
}

int facts__of(struct facts *f, const struct model_job *j)
{
	size_t count[N_SCOPES] = {1, j->nnodes, 0, j->ngpus, j->grid.n};
	unsigned ntasks;
	int err;

	facts__main_tasks(j, &ntasks);
	count[SCOPE_TASK] = ntasks;
	err = facts__alloc(f, count);
	if (!err)
		err = set_names(f, j);
	if (err)
		return err;
	f->start_ns = j->grid.t0_ns;
	f->scale = scale_of(j);
	for (int i = 0; !err && i < N_FACTS; i++)
		if (fact_infos[i].of != N_QUANTITIES)
			err = add_total(f, j, i, fact_infos[i].of);
	if (err)
		return err;
	facts_slurm_fill(f, j);
	add_bins(f, j);
	fill_job(f, j);
	facts_counters_fill(f, j);
	err = facts_nodes__fill(f, j);
	if (!err)
		err = facts_tasks__fill(f, j);
	if (!err)
		err = facts_pop_fill(f, j);
	if (!err)
		err = facts_idle__fill(f, j);
	if (!err)
		err = facts_memory__fill(f, j);
	if (!err)
		err = facts_gpus__fill(f, j);
	if (!err)
		err = facts_periods__fill(f, j);
	return err ? err : facts_missing__fill(f, j);
}
