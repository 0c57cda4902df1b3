/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prints a job, or an array, as seff does. */
#include "view/site/seff.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"

#define KIB_PER_MIB 1024

/* ---- forms of numbers */

void seff__time(char to[static SEFF_TEXT], double s)
{
	long long t = isfinite(s) && s > 0 && s < 1e15 ? (long long)s : 0;
	int n = t >= 86400 ? snprintf(to, SEFF_TEXT, "%lld-", t / 86400) : 0;

	snprintf(to + n, SEFF_TEXT - (size_t)n, "%02lld:%02lld:%02lld", t % 86400 / 3600,
		 t % 3600 / 60, t % 60);
}

void seff__memory(char to[static SEFF_TEXT], double kib)
{
	static const char units[] = "KMGTPE";
	int power = 0;

	if (!(kib > 0)) {
		snprintf(to, SEFF_TEXT, "0.00 MB");
		return;
	}
	if (kib >= 1)
		power = (int)(log(kib) / log(1024));
	if (power > 5)
		power = 5;
	snprintf(to, SEFF_TEXT, "%.2f %cB", kib / pow(1024, power), units[power]);
}

/* ---- the values of a row */

const char *seff__state(const struct row *r, char to[static SEFF_TEXT])
{
	const char *text = r->text[INDEX_state] ? r->text[INDEX_state] : "";

	snprintf(to, SEFF_TEXT, "%.*s", (int)strcspn(text, " +"), text);
	return to;
}

/* Slurm's exit status; without one it is 0 for a completed job, else -1: unknown. */
static int exit_status(const struct row *r, const char *state)
{
	const char *text = r->text[INDEX_exit_code];

	if (text && *text >= '0' && *text <= '9')
		return atoi(text);
	return strcmp(state, "COMPLETED") ? -1 : 0;
}

/* CPU time by the profile, unless Slurm's differs. */
static double cpu_s(const struct row *r)
{
	double own = r->number[INDEX_cpu_s], slurms = r->number[INDEX_slurm_cpu_s];

	return isnan(own) || (r->number[INDEX_disagrees] > 0 && !isnan(slurms)) ? slurms : own;
}

/* Sum of the nodes' peaks. */
static double memory_kib(const struct row *r)
{
	const double *v = r->number;
	const bool is_one = isnan(v[INDEX_peak_sum_mb]) && v[INDEX_nodes] == 1;

	return v[is_one ? INDEX_peak_mb : INDEX_peak_sum_mb] * KIB_PER_MIB;
}

static double allocated_kib(const struct row *r)
{
	return r->number[INDEX_mem_asked_mb] * KIB_PER_MIB * r->number[INDEX_nodes];
}

static void put_text(FILE *out, const char *label, const char *text)
{
	if (!text || !*text)
		return;
	fputs(label, out);
	print__utf8(out, text);
	putc('\n', out);
}

static void put_owner(FILE *out, const struct row *r, const char *group)
{
	if (!r->text[INDEX_user] || !*r->text[INDEX_user])
		return;
	fputs("User/Group: ", out);
	print__utf8(out, r->text[INDEX_user]);
	putc('/', out);
	print__utf8(out, group);
	putc('\n', out);
}

/* ---- one job */

static void put_state(FILE *out, const struct seff_job *j, const char *state)
{
	int status = exit_status(j->row, state);

	if (!*state)
		return;
	fputs("State: ", out);
	print__utf8(out, state);
	if (!j->is_running && strcmp(state, "PENDING") && status >= 0)
		fprintf(out, " (exit code %d)", status);
	putc('\n', out);
}

static void put_cores(FILE *out, const struct row *r)
{
	double cpus = r->number[INDEX_cpus], nodes = r->number[INDEX_nodes];

	if (cpus == 1)
		fputs("Cores: 1\n", out);
	else if (nodes > 0 && cpus > 0)
		fprintf(out, "Nodes: %.0f\nCores per node: %.0f\n", nodes, floor(cpus / nodes));
}

static void put_cpu(FILE *out, double cpu, double core_s)
{
	char time[SEFF_TEXT];

	if (isnan(cpu))
		return;
	cpu = round(cpu);
	seff__time(time, cpu);
	fprintf(out, "CPU Utilized: %s\n", time);
	if (isnan(core_s))
		return;
	seff__time(time, core_s);
	fprintf(out, "CPU Efficiency: %.2f%% of %s core-walltime\n",
		core_s > 0 ? 100 * (cpu / core_s) : 0, time);
}

static void put_memory(FILE *out, const struct row *r)
{
	const bool per_core = !isnan(r->number[INDEX_mem_per_cpu_mb]);
	double used = memory_kib(r), allocated = allocated_kib(r);
	char all[SEFF_TEXT], part[SEFF_TEXT];

	if (isnan(used))
		return;
	seff__memory(all, used);
	fprintf(out, "Memory Utilized: %s\n", all);
	if (!(allocated > 0))
		return;
	seff__memory(all, allocated);
	seff__memory(part, allocated / r->number[per_core ? INDEX_cpus : INDEX_nodes]);
	fprintf(out, "Memory Efficiency: %.2f%% of %s (%s/%s)\n", 100 * (used / allocated), all,
		part, per_core ? "core" : "node");
	if (r->number[INDEX_task_spread] > 1 + 1e-9)
		fprintf(out,
			"The task which had the largest memory consumption differs by %.02f%% from "
			"the average task max memory consumption\n",
			100 * r->number[INDEX_task_spread]);
}

/* Slurm's seff has no such line. */
static void put_wait(FILE *out, double wait, double cpu)
{
	char time[SEFF_TEXT];

	if (!(wait + cpu > 0))
		return;
	seff__time(time, round(wait));
	fprintf(out, "CPU Wait: %.2f%% of the time that its threads could run (%s)\n",
		100 * wait / (wait + cpu), time);
}

static void put_gpus(FILE *out, double use, double gpus)
{
	if (gpus > 0 && !isnan(use))
		fprintf(out, "GPU Efficiency: %.2f%% of %.0f GPU%s\n", 100 * use, gpus,
			gpus == 1 ? "" : "s");
}

static void put_worst(FILE *out, const struct row *r)
{
	const char *rule = r->text[INDEX_worst_rule];

	if (r->number[INDEX_findings] == 0)
		fputs("Worst Finding: none\n", out);
	if (!rule || !*rule)
		return;
	fputs("Worst Finding: ", out);
	print__utf8(out, rule);
	put_text(out, ": ", r->text[INDEX_worst_text] ? r->text[INDEX_worst_text] : "?");
}

static void put_more(FILE *out, const struct row *r)
{
	put_gpus(out, r->number[INDEX_gpu_use], r->number[INDEX_gpus]);
	put_wait(out, r->number[INDEX_wait_s], r->number[INDEX_cpu_s]);
	put_worst(out, r);
}

/* Both are lines of Slurm's seff: the first one of the current release, the other one of 22.05. */
static void put_warning(FILE *out, bool is_live)
{
	fputs(is_live ? "WARNING: Efficiency statistics may be misleading for RUNNING jobs.\n"
		      : "WARNING: Efficiency statistics can only be obtained after the job has "
			"ended as seff tool is based on the accounting database data.\n",
	      out);
}

static void put_ids(FILE *out, const struct row *r)
{
	fprintf(out, "Job ID: %.0f\n", r->number[INDEX_job_id]);
	if (r->number[INDEX_array_id] > 0)
		fprintf(out, "Array Job ID: %.0f_%.0f\n", r->number[INDEX_array_id],
			r->number[INDEX_array_task]);
}

static const char *shown_state(const struct seff_job *j, char to[static SEFF_TEXT])
{
	if (j->is_running)
		return strcpy(to, "RUNNING");
	return seff__state(j->row, to);
}

void seff__print(const struct seff_job *j, FILE *out)
{
	const struct row *r = j->row;
	char state[SEFF_TEXT], time[SEFF_TEXT];

	shown_state(j, state);
	put_ids(out, r);
	put_text(out, "Cluster: ", r->text[INDEX_cluster]);
	put_owner(out, r, j->group);
	put_state(out, j, state);
	put_cores(out, r);
	if (!strcmp(state, "PENDING")) {
		fputs("Efficiency not available for jobs in the PENDING state.\n", out);
		return;
	}
	put_cpu(out, cpu_s(r), r->number[INDEX_elapsed_s] * r->number[INDEX_cpus]);
	seff__time(time, r->number[INDEX_elapsed_s]);
	fprintf(out, "Job Wall-clock time: %s\n", time);
	put_memory(out, r);
	if (j->is_running)
		put_warning(out, j->is_live);
	put_more(out, r);
}

/* Prints a number as perl does; "": unknown. */
static void put_raw(FILE *out, double v)
{
	fputs(" ", out);
	if (!isnan(v))
		fprintf(out, "%.15g", v);
}

static void put_raw_text(FILE *out, const char *text)
{
	fputs(" ", out);
	print__utf8(out, text ? text : "");
}

void seff__print_raw(const struct seff_job *j, FILE *out)
{
	const struct row *r = j->row;
	char state[SEFF_TEXT], array[SEFF_TEXT] = "";
	int status;

	shown_state(j, state);
	status = exit_status(r, state);
	if (r->number[INDEX_array_id] > 0)
		snprintf(array, sizeof(array), "%.0f_%.0f", r->number[INDEX_array_id],
			 r->number[INDEX_array_task]);
	fputs("Slurm data: JobID ArrayJobID User Group State Clustername Ncpus Nnodes Ntasks "
	      "Reqmem PerNode Cput Walltime Mem ExitStatus\nSlurm data:",
	      out);
	put_raw(out, r->number[INDEX_job_id]);
	put_raw_text(out, array);
	put_raw_text(out, r->text[INDEX_user]);
	put_raw_text(out, j->group);
	put_raw_text(out, state);
	put_raw_text(out, r->text[INDEX_cluster]);
	put_raw(out, r->number[INDEX_cpus]);
	put_raw(out, r->number[INDEX_nodes]);
	put_raw(out, allocated_kib(r));
	put_raw(out, isnan(r->number[INDEX_mem_per_cpu_mb]));
	put_raw(out, round(cpu_s(r)));
	put_raw(out, r->number[INDEX_elapsed_s]);
	put_raw(out, memory_kib(r));
	put_raw(out, status < 0 ? NAN : status);
	fputs("\n\n", out);
}

/* ---- an array */

#define TALLIES 64 /* further names are not counted */

/* How many tasks have a name, and how many core-s they lost. */
struct tally {
	char name[SEFF_TEXT];
	unsigned tasks;
	double lost_s;
};

static void count(struct tally *t, unsigned *n, const char *name, double lost_s)
{
	unsigned i = 0;

	while (i < *n && strcmp(t[i].name, name))
		i++;
	if (!*name || i == TALLIES)
		return;
	if (i == *n) {
		t[i] = (struct tally){.tasks = 0};
		snprintf(t[i].name, sizeof(t[i].name), "%s", name);
		++*n;
	}
	t[i].tasks++;
	t[i].lost_s += lost_s > 0 ? lost_s : 0;
}

/* Prints "Tasks: 100 (97 COMPLETED, 3 FAILED)", in the order in which states occur. */
static void put_tasks(FILE *out, const struct row *rows, unsigned n)
{
	struct tally states[TALLIES];
	char state[SEFF_TEXT];
	unsigned nstates = 0;

	for (unsigned i = 0; i < n; i++)
		count(states, &nstates, seff__state(&rows[i], state), 0);
	fprintf(out, "Tasks: %u", n);
	for (unsigned i = 0; i < nstates; i++) {
		fprintf(out, "%s%u ", i ? ", " : " (", states[i].tasks);
		print__utf8(out, states[i].name);
	}
	fputs(nstates ? ")\n" : "\n", out);
}

/* Prints the worst finding of the tasks that together lost most. */
static void put_common(FILE *out, const struct row *rows, unsigned n)
{
	struct tally rules[TALLIES];
	unsigned nrules = 0, worst = 0;

	for (unsigned i = 0; i < n; i++)
		if (rows[i].text[INDEX_worst_rule])
			count(rules, &nrules, rows[i].text[INDEX_worst_rule],
			      rows[i].number[INDEX_lost_core_s]);
	for (unsigned i = 1; i < nrules; i++)
		if (rules[i].lost_s > rules[worst].lost_s)
			worst = i;
	if (!nrules)
		return;
	fputs("Worst Finding: ", out);
	print__utf8(out, rules[worst].name);
	fprintf(out, ", of %u of %u tasks\n", rules[worst].tasks, n);
}

static int by_value(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Sorts the known values of the tasks, the least first. Returns their number. */
static unsigned sorted(double *to, const struct row *rows, unsigned n,
		       double (*of)(const struct row *r))
{
	unsigned known = 0;

	for (unsigned i = 0; i < n; i++)
		if (!isnan(of(&rows[i])))
			to[known++] = of(&rows[i]);
	qsort(to, known, sizeof(*to), by_value);
	return known;
}

static double elapsed_s(const struct row *r)
{
	return r->number[INDEX_elapsed_s];
}

/* From the begin of the first task to the end of the last one. */
static void put_wall(FILE *out, const struct row *rows, unsigned n)
{
	double begin = NAN, end = NAN;
	char time[SEFF_TEXT];

	for (unsigned i = 0; i < n; i++) {
		const double start = rows[i].number[INDEX_start];

		begin = fmin(begin, start);
		end = fmax(end, start + elapsed_s(&rows[i]));
	}
	if (isnan(end - begin))
		return;
	seff__time(time, end - begin);
	fprintf(out, "Job Wall-clock time: %s\n", time);
}

static void put_times(FILE *out, const double *sorted_s, unsigned n)
{
	char least[SEFF_TEXT], median[SEFF_TEXT], most[SEFF_TEXT];

	if (!n)
		return;
	seff__time(least, sorted_s[0]);
	seff__time(median, sorted_s[(n - 1) / 2]);
	seff__time(most, sorted_s[n - 1]);
	fprintf(out, "Wall-clock time per task: %s to %s, median %s\n", least, most, median);
}

/* Prints the peak of the fullest task, for which a request of memory must suffice. */
static void put_peaks(FILE *out, const struct row *rows, unsigned n, const double *sorted_kib,
		      unsigned known)
{
	char most[SEFF_TEXT], median[SEFF_TEXT];

	if (!known)
		return;
	seff__memory(most, sorted_kib[known - 1]);
	seff__memory(median, sorted_kib[(known - 1) / 2]);
	fprintf(out, "Memory Utilized: %s (largest task), median %s\n", most, median);
	for (unsigned i = 0; i < n; i++)
		if (memory_kib(&rows[i]) == sorted_kib[known - 1] && allocated_kib(&rows[i]) > 0) {
			seff__memory(most, allocated_kib(&rows[i]));
			fprintf(out, "Memory Efficiency: %.2f%% of %s (largest task)\n",
				100 * (memory_kib(&rows[i]) / allocated_kib(&rows[i])), most);
			break;
		}
}

static void put_spread(FILE *out, const struct row *rows, unsigned n)
{
	double *values = calloc(n, sizeof(*values));
	unsigned known = values ? sorted(values, rows, n, elapsed_s) : 0;

	put_wall(out, rows, n);
	put_times(out, values, known);
	known = values ? sorted(values, rows, n, memory_kib) : 0;
	put_peaks(out, rows, n, values, known);
	free(values);
}

/* Sums over the tasks in which both values of a ratio are known. */
struct totals {
	double cpu_s, core_s, wait_s, waited_cpu_s, gpu_s, gpu_use_s;
	unsigned unprofiled;
};

static struct totals add_up(const struct row *rows, unsigned n)
{
	struct totals t = {0};

	for (unsigned i = 0; i < n; i++) {
		const double *v = rows[i].number, core_s = v[INDEX_elapsed_s] * v[INDEX_cpus];

		if (!isnan(cpu_s(&rows[i])) && !isnan(core_s)) {
			t.cpu_s += cpu_s(&rows[i]);
			t.core_s += core_s;
		}
		if (!isnan(v[INDEX_wait_s]) && !isnan(v[INDEX_cpu_s])) {
			t.wait_s += v[INDEX_wait_s];
			t.waited_cpu_s += v[INDEX_cpu_s];
		}
		if (!isnan(v[INDEX_gpu_use] * v[INDEX_held_gpu_s])) {
			t.gpu_s += v[INDEX_held_gpu_s];
			t.gpu_use_s += v[INDEX_gpu_use] * v[INDEX_held_gpu_s];
		}
		t.unprofiled += isnan(v[INDEX_findings]);
	}
	return t;
}

void seff__print_array(const struct row *rows, unsigned n, const char *group, FILE *out)
{
	const struct totals t = add_up(rows, n);

	fprintf(out, "Array Job ID: %.0f\n", rows->number[INDEX_array_id]);
	put_text(out, "Cluster: ", rows->text[INDEX_cluster]);
	put_owner(out, rows, group);
	put_tasks(out, rows, n);
	put_cpu(out, t.core_s > 0 ? t.cpu_s : NAN, t.core_s);
	put_spread(out, rows, n);
	if (t.gpu_s > 0)
		fprintf(out, "GPU Efficiency: %.2f%%\n", 100 * t.gpu_use_s / t.gpu_s);
	put_wait(out, t.wait_s, t.waited_cpu_s);
	put_common(out, rows, n);
	if (t.unprofiled)
		fprintf(out, "%u of %u tasks have no profile\n", t.unprofiled, n);
}
