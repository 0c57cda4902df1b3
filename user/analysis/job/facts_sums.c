/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Values that facts of several subjects use: sums over nodes, a node's limit, the tasks of a step;
 * and why facts are not known. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/job/facts_fill.h"
#include "base/known.h"

double facts__sum(const struct model_job *j, enum quantity q)
{
	double sum = NAN;

	for (unsigned i = 0; i < j->nnodes; i++)
		sum = known__sum(sum, j->nodes[i].unit.total[q]);
	return sum;
}

double facts__max(const struct model_job *j, enum quantity q)
{
	double max = NAN;

	for (unsigned i = 0; i < j->nnodes; i++)
		max = fmax(max, j->nodes[i].unit.total[q]);
	return max;
}

double facts__bin_sum(const struct model_job *j, enum quantity q, unsigned bin)
{
	double sum = NAN;

	for (unsigned i = 0; i < j->nnodes; i++) {
		const double *bins = job_unit__bins(&j->nodes[i].unit, q, &j->grid);

		if (bins)
			sum = known__sum(sum, bins[bin]);
	}
	return sum;
}

static int cmp(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

double facts__median(double *v, size_t n)
{
	if (!n)
		return NAN;
	qsort(v, n, sizeof(*v), cmp);
	return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

double facts__limit_mb(const struct job_node *n)
{
	double charged = n->unit.total[Q_MEM_LIMIT];

	return isnan(n->limit_mb) ? charged
	       : isnan(charged)	  ? n->limit_mb
				  : fmin(n->limit_mb, charged);
}

/* The tasks of a step lie together, and so do its ranks, unless other steps have more of them. */
static const struct job_unit *units_of(const struct model_job *j, unsigned step, bool ranks,
				       unsigned *n)
{
	const struct job_unit *first = NULL;

	*n = 0;
	for (unsigned i = 0; i < j->ntasks; i++)
		if (j->tasks[i].step == step && j->tasks[i].is_rank == ranks) {
			first = first ? first : &j->tasks[i];
			++*n;
		}
	return first;
}

const struct job_unit *facts__tasks_of(const struct model_job *j, unsigned step, unsigned *n)
{
	unsigned ntasks, nranks;
	const struct job_unit *tasks = units_of(j, step, false, &ntasks),
			      *ranks = units_of(j, step, true, &nranks);

	if (nranks && j->world > nranks) {
		nranks = step == j->main_step ? j->world : 0;
		ranks = &j->tasks[j->ntasks - j->world];
	}
	*n = nranks > ntasks ? nranks : ntasks;
	return nranks > ntasks ? ranks : tasks;
}

const struct job_unit *facts__main_tasks(const struct model_job *j, unsigned *n)
{
	return facts__tasks_of(j, j->main_step, n);
}

/* ---- why facts are not known: each has a column, an attribute or a reason of its own that it is
 * made of */

#define NO_GPU	  "no GPU of the job was seen"
#define NO_TASKS  "there are no tables of tasks"
#define UNSEEN	  "no task lived long enough to be looked at, or Slurm's own plugin wrote the files"
#define NO_TURNS  "there is no period"
#define NO_LEAK	  "the points of memory do not lie on a rising line"
#define NO_CLOCK  "no node was busy for half of its cores while its clock was known"
#define NO_SPEED  "three nodes must have been busy whose instructions or clock are known"
#define NO_LIMIT  "there is no limit of memory, or neither Slurm nor the cgroup says it"
#define NO_CPI	  "no file has the columns of PerfEvents=@cpi, or its nodes are of two kinds"
#define NO_ENDING "neither Slurm's state of the job nor an exit status is in the files"

#define COLUMN(q)     false, q, NULL
#define ATTRIBUTE(a)  true, 0, a
#define BECAUSE(text) false, N_QUANTITIES, text

static const struct {
	enum fact fact;
	bool is_attribute;
	enum quantity q; /* N_QUANTITIES: none, and the text is the reason */
	const char *text;
} sources[] = {
	{FACT_JOB_limit_s, ATTRIBUTE("Time Limit")},
	{FACT_JOB_request_mb, ATTRIBUTE("Requested Memory per Node")},
	{FACT_JOB_is_request_default, ATTRIBUTE("Requested Memory per Node")},
	{FACT_JOB_is_exclusive, ATTRIBUTE("Node Sharing")},
	{FACT_JOB_gpus, ATTRIBUTE("Allocated GPUs")},
	{FACT_JOB_nodes_allocated, ATTRIBUTE("Nodes in Step")},
	{FACT_JOB_is_running, ATTRIBUTE("Job State")},
	{FACT_JOB_is_completed, BECAUSE(NO_ENDING)},
	{FACT_JOB_array_tasks, BECAUSE("it is of no job array")},
	{FACT_JOB_runs_per_day,
	 BECAUSE("the files of one job do not say how many are like it, but for the "
		 "tasks of a job array, and it is none; an index of jobs would")},
	{FACT_JOB_cores, BECAUSE("the files do not say which CPUs it has")},
	{FACT_JOB_cpus, BECAUSE("the files do not say which CPUs it has")},
	{FACT_JOB_core_s, BECAUSE("the files do not say which CPUs it has")},
	{FACT_JOB_cores_per_node, BECAUSE("the files do not say how many cores the nodes have")},
	{FACT_JOB_node_mb, BECAUSE("the files do not say how much memory the nodes have")},
	{FACT_JOB_node_energy_j,
	 BECAUSE("only files of Slurm's own plugin have it, with the table Energy")},
	{FACT_JOB_cpu_share, BECAUSE("its CPU time or its CPUs are not known")},
	{FACT_JOB_wait_share, COLUMN(Q_WAIT)},
	{FACT_JOB_demand, COLUMN(Q_WAIT)},
	{FACT_JOB_others_s,
	 BECAUSE("the job does not have all cores of its nodes, or their idle time is "
		 "not known")},
	{FACT_JOB_taken_s, BECAUSE("the nodes' idle time is not known")},
	{FACT_JOB_limit_mb, BECAUSE(NO_LIMIT)},
	{FACT_JOB_peak_mb, COLUMN(Q_RSS)},
	{FACT_JOB_ask_mb, COLUMN(Q_RSS)},
	{FACT_JOB_own_peak_mb, COLUMN(Q_RSS)},
	{FACT_JOB_own_sum_peak_mb, COLUMN(Q_RSS)},
	{FACT_JOB_swap_peak_mb, COLUMN(Q_SWAP)},
	{FACT_JOB_opens, COLUMN(Q_OPENS)},
	{FACT_JOB_io_congestion_ops, COLUMN(Q_OPENS)},
	{FACT_JOB_run_p50_s, BECAUSE("no wait is in the histogram RunLatency (family latency)")},
	{FACT_JOB_blk_p99_s,
	 BECAUSE("no disk request is in the histogram BlkLatency (family block)")},
	{FACT_JOB_leak_m, BECAUSE(NO_LEAK)},
	{FACT_JOB_leak_mb_s, BECAUSE(NO_LEAK)},
	{FACT_JOB_leak_low_mb_s, BECAUSE(NO_LEAK)},
	{FACT_JOB_leak_high_mb_s, BECAUSE(NO_LEAK)},
	{FACT_JOB_leak_now_mb, BECAUSE(NO_LEAK)},
	{FACT_JOB_leak_limit_mb, BECAUSE(NO_LEAK)},
	{FACT_JOB_io_periods, COLUMN(Q_READ)},
	{FACT_JOB_io_period_s, BECAUSE(NO_TURNS)},
	{FACT_JOB_io_period_idle_s, BECAUSE(NO_TURNS)},
	{FACT_JOB_gpu_periods, BECAUSE(NO_GPU)},
	{FACT_JOB_gpu_period_s, BECAUSE(NO_TURNS)},
	{FACT_JOB_task_balance, BECAUSE(NO_TASKS)},
	{FACT_JOB_balance_saving, BECAUSE(NO_TASKS)},
	{FACT_JOB_imbalance_sd, BECAUSE(NO_TASKS)},
	{FACT_JOB_idle_ratio, BECAUSE(NO_TASKS)},
	{FACT_JOB_unused_ratio, BECAUSE(NO_TASKS)},
	{FACT_JOB_pop_samples, BECAUSE("useful time is not from samples")},
	{FACT_JOB_cpi, BECAUSE("cycles and instructions were not counted (family perf)")},
	{FACT_JOB_cpi_frontend, BECAUSE(NO_CPI)},
	{FACT_JOB_cpi_bad_speculation, BECAUSE(NO_CPI)},
	{FACT_JOB_cpi_retiring, BECAUSE(NO_CPI)},
	{FACT_JOB_cpi_backend, BECAUSE(NO_CPI)},
	{FACT_JOB_cpi_smt, BECAUSE(NO_CPI)},
	{FACT_JOB_cpi_other, BECAUSE(NO_CPI)},
	{FACT_JOB_programs, BECAUSE(UNSEEN)},
	{FACT_JOB_has_mpi, BECAUSE(UNSEEN)},
	{FACT_JOB_commands, BECAUSE("no file has the table Commands")},
	{FACT_JOB_lost_s, BECAUSE("a journal was damaged, or jobprofd was away when a step ended")},
	{FACT_JOB_lost_cpu_s, BECAUSE("nobody saw how much CPU time was lost")},
	{FACT_JOB_missed_cpu_s,
	 BECAUSE("nobody saw how much a step had used before it was counted")},
	{FACT_JOB_left_cgroup_s, BECAUSE("no process was seen to leave its cgroup")},
	{FACT_NODE_cores, BECAUSE("the files do not say which CPUs it has")},
	{FACT_NODE_cpu_s, COLUMN(Q_CPU)},
	{FACT_NODE_wait_s, COLUMN(Q_WAIT)},
	{FACT_NODE_avoidable_s, COLUMN(Q_WAIT)},
	{FACT_NODE_active_bins, COLUMN(Q_CPU)},
	{FACT_NODE_limit_mb, BECAUSE(NO_LIMIT)},
	{FACT_NODE_oom_limit_mb,
	 BECAUSE("no process was killed for want of memory at a known limit")},
	{FACT_NODE_peak_mb, COLUMN(Q_RSS)},
	{FACT_NODE_own_peak_mb, COLUMN(Q_RSS)},
	{FACT_NODE_charged_peak_mb, COLUMN(Q_MEM)},
	{FACT_NODE_throttled_s, COLUMN(Q_THROTTLED)},
	{FACT_NODE_clock_mhz, BECAUSE(NO_CLOCK)},
	{FACT_NODE_clock_slow,
	 BECAUSE("three nodes must have been busy at the same time whose clock is known")},
	{FACT_NODE_speed, BECAUSE(NO_SPEED)},
	{FACT_NODE_speed_slow, BECAUSE(NO_SPEED)},
	{FACT_NODE_speed_z, BECAUSE(NO_SPEED)},
	{FACT_NODE_model, BECAUSE("the files do not say which processors the nodes have")},
	{FACT_NODE_pkg_throttle_s, COLUMN(Q_PKG_THROTTLE)},
	{FACT_NODE_temperature_max, COLUMN(Q_PKG_TEMPERATURE)},
	{FACT_NODE_net_tx_mb, COLUMN(Q_NET_TX)},
	{FACT_NODE_tcp_retrans, COLUMN(Q_TCP_RETRANS)},
	{FACT_NODE_port_errors, COLUMN(Q_PORT_ERRORS)},
	{FACT_NODE_links_down, COLUMN(Q_PORT_LINK_DOWNED)},
	{FACT_NODE_port_rate, COLUMN(Q_PORT_RATE)},
	{FACT_NODE_oom_kills, COLUMN(Q_OOM_KILLS)},
	{FACT_TASK_cpus_allowed, BECAUSE(UNSEEN)},
	{FACT_TASK_cpus_demand, BECAUSE(UNSEEN)},
	{FACT_TASK_numa_nodes, BECAUSE(UNSEEN)},
	{FACT_TASK_program, BECAUSE(UNSEEN)},
	{FACT_TASK_cpu_s, COLUMN(Q_CPU)},
	{FACT_TASK_user_s, COLUMN(Q_USER)},
	{FACT_TASK_system_s, COLUMN(Q_SYSTEM)},
	{FACT_TASK_wait_s, COLUMN(Q_WAIT)},
	{FACT_TASK_disk_wait_s, COLUMN(Q_DISK_WAIT)},
	{FACT_TASK_peak_mb, COLUMN(Q_RSS)},
	{FACT_TASK_read_mb, COLUMN(Q_READ)},
	{FACT_TASK_write_mb, COLUMN(Q_WRITE)},
	{FACT_TASK_io_mb, COLUMN(Q_IO)},
	{FACT_TASK_calls, COLUMN(Q_READ_CALLS)},
	{FACT_TASK_threads, COLUMN(Q_THREADS)},
	{FACT_TASK_invol_switches, COLUMN(Q_INVOL_SWITCHES)},
	{FACT_TASK_migrations, COLUMN(Q_MIGRATIONS)},
	{FACT_GPU_util, COLUMN(Q_GPU_UTILIZATION)},
	{FACT_GPU_idle_s, COLUMN(Q_GPU_UTILIZATION)},
	{FACT_GPU_idle_from_start_s, COLUMN(Q_GPU_UTILIZATION)},
	{FACT_GPU_idle_longest_s, COLUMN(Q_GPU_UTILIZATION)},
	{FACT_GPU_mem_peak_mb, COLUMN(Q_GPU_MEM)},
	{FACT_GPU_throttled, COLUMN(Q_GPU_THROTTLE)},
	{FACT_GPU_is_split, COLUMN(Q_GPU_SPLIT)},
	{FACT_BIN_task_mean_s, BECAUSE(NO_TASKS)},
	{FACT_BIN_task_max_s, BECAUSE(NO_TASKS)},
	{FACT_BIN_own_mb, COLUMN(Q_RSS)},
	{FACT_BIN_charged_share,
	 BECAUSE("the memory that is charged to the cgroup, or its limit, is not known")},
	{FACT_BIN_psi_mem_s, COLUMN(Q_PSI_MEM)},
	{FACT_BIN_calls, COLUMN(Q_READ_CALLS)},
	{FACT_BIN_opens, COLUMN(Q_OPENS)},
	{FACT_BIN_net_mb, COLUMN(Q_NET_TX)},
	{FACT_BIN_port_mb, COLUMN(Q_PORT_TX)},
	{FACT_BIN_gpu, BECAUSE(NO_GPU)},
};

static bool is_known(const struct facts *f, enum fact fact)
{
	for (size_t i = 0; i < f->count[fact_infos[fact].scope]; i++)
		if (!isnan(f->values[fact][i]))
			return true;
	return false;
}

/* What Slurm says of a job is no column. */
static void why_no_attribute(const struct facts *f, const struct model_job *j, const char *name,
			     char *text, size_t size)
{
	if (j->is_slurms)
		snprintf(text, size, "Slurm's own profiles have no attribute %s", name);
	else if (facts__job(f, FACT_JOB_is_slurm) == 0)
		snprintf(text, size, "only a job of Slurm's has the attribute %s", name);
	else
		snprintf(text, size, "the files have no attribute %s: Slurm did not say it", name);
}

int facts_missing__fill(struct facts *f, const struct model_job *j)
{
	int err = 0;

	for (size_t i = 0; !err && i < sizeof(sources) / sizeof(*sources); i++) {
		enum fact fact = sources[i].fact;
		enum fact_scope scope = fact_infos[fact].scope;
		char text[200];

		if (is_known(f, fact))
			continue;
		if (!f->count[scope])
			snprintf(text, sizeof(text), "%s", scope == SCOPE_GPU ? NO_GPU : NO_TASKS);
		else if (sources[i].is_attribute)
			why_no_attribute(f, j, sources[i].text, text, sizeof(text));
		else if (sources[i].text)
			snprintf(text, sizeof(text), "%s", sources[i].text);
		else
			model_job__why_unknown(j, sources[i].q, text, sizeof(text));
		err = facts__miss(f, fact, text);
	}
	return err;
}
