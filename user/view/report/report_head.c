/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The head of a report: job, place, time, how much of it is known, and how much of its resources
 * the job used. */
#include <math.h>
#include <string.h>

#include "base/command_line.h"
#include "base/escape.h"
#include "identity/stepname.h"
#include "view/report/report_page.h"
#include "view/report/report_text.h"

static const char *text(const struct report *r, const char *name)
{
	const struct model_attr *a = model_job__attr(r->job, name);

	return a && a->text && *a->text ? a->text : NULL;
}

/* Writes "exit status 3", "signal 9 (Killed)", or the reason as it is. */
static const char *end_of(const struct report *r, char *buf, size_t size)
{
	const struct model_attr *status = model_job__attr(r->job, "Exit Status");
	const char *reason = text(r, "End Reason");
	double code = !status || status->text ? NAN
		      : status->is_integer    ? (double)status->integer
					      : status->number;
	int number;

	if (!reason)
		return NULL;
	if (!strcmp(reason, "exited") && code > 0) {
		snprintf(buf, size, "exit status %.0f", code);
		return buf;
	}
	if (sscanf(reason, "signal %d", &number) == 1) {
		snprintf(buf, size, "%s (%s)", reason, strsignal(number));
		return buf;
	}
	return reason;
}

/* Longest word and end: two words and an end fit on a line. */
#define WORD 24u
#define END  32u

/* Writes " alice, batch, COMPLETED". */
static void put_words(const struct report *r, char *line, size_t size)
{
	char end[128];
	report_line word;
	/* a run is the reader's own: no user */
	const char *const words[] = {
		text(r, "Command Line") ? NULL : text(r, "User"), text(r, "Partition"),
		r->facts->state ? r->facts->state : end_of(r, end, sizeof(end))};
	size_t len = 0;

	*line = 0;
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (words[i])
			len += (size_t)snprintf(
				line + len, size - len, "%s%s", len ? ", " : "  ",
				report_text__cut(words[i], i < 2 ? WORD : END, word));
}

/* Writes "job 42 step 0"; for jobprof run "run 4711", with its process. */
static void put_steps(const struct model_job *j, bool is_run, char *line, size_t size)
{
	report_line id, step;
	int len = snprintf(line, size, "%s%s%s",
			   is_run   ? "run"
			   : *j->id ? "job"
				    : "a job",
			   *j->id ? " " : "", report_text__cut(j->id, WORD, id));

	if (is_run) /* a run has a single step */
		return;
	if (j->nsteps == 1)
		snprintf(line + len, size - (size_t)len, " step %s",
			 report_text__cut(stepname__human(j->steps[0].name), WORD, step));
	else
		snprintf(line + len, size - (size_t)len, ", %u steps", j->nsteps);
}

#define NAME_LEAST 16 /* columns for a name; with less, the words go to the next line */

static void print_job(const struct report *r, FILE *out)
{
	const struct model_job *j = r->job;
	const char *command = text(r, "Command Line");
	const char *name = r->name		 ? r->name
			   : command		 ? command
			   : text(r, "Job Name") ? text(r, "Job Name")
						 : r->facts->program;
	char line[COMMAND_LINE_MAX + 1];
	report_line steps, words, cut;
	size_t room;
	bool fits;

	/* mpirun, and programs too short to be seen in a task, have a name among commands */
	if (!name && j->ncommands)
		name = j->commands[0].name;

	put_steps(j, command, steps, sizeof(steps));
	put_words(r, words, sizeof(words));
	room = REPORT_WIDTH - strlen(steps);
	fits = room >= strlen(words) + (name ? NAME_LEAST + 3 : 0);
	room -= fits ? strlen(words) : 0;
	fputs(steps, out);
	if (name)
		fprintf(out, " \"%s\"",
			report_text__cut(command_line__short(name, room - 3, line),
					 (unsigned)room - 3, cut));
	fprintf(out, "%s%s\n", fits ? "" : "\n", words);
}

static void print_nodes(const struct report *r, FILE *out)
{
	const struct model_job *j = r->job;

	fprintf(out, "%u node%s (", j->nnodes, report_text__s(j->nnodes));
	print__escaped(out, j->nodes[0].unit.name);
	if (j->nnodes > 1) {
		fputs(j->nnodes > 2 ? " ... " : ", ", out);
		print__escaped(out, j->nodes[j->nnodes - 1].unit.name);
	}
	putc(')', out);
}

static void print_count(double n, const char *what, FILE *out)
{
	report_number buf;

	if (!isnan(n))
		fprintf(out, ", %s %s%s", report_text__count(n, buf), what, report_text__s(n));
}

static bool is_run(const struct report *r)
{
	return text(r, "Command Line");
}

/* Whether this is a run inside a step: its rows are a part of the step's. */
static bool is_window(const struct report *r)
{
	return r->is_run && !is_run(r);
}

/* Whether a process of the step is, or was, in a cgroup that is not followed. */
static bool is_away(const struct report *r)
{
	return !isnan(facts__job(r->facts, FACT_JOB_left_cgroup_s));
}

/* Prints the CPU time that processes had used before they were counted. */
static void print_missed(double cpu_s, FILE *out)
{
	report_number time;

	if (isnan(cpu_s))
		fputs(", ran before it was counted", out);
	else if (cpu_s > 0)
		fprintf(out, ", used %s of CPU time before it was counted",
			report_text__time(cpu_s, time));
}

const char *report_head__lost_what(const struct report *r)
{
	const struct model_attr *what = NULL;

	for (unsigned i = 0; !what && i < r->job->nparts; i++)
		what = job_part__attr(&r->job->parts[i], "Lost Counts");
	return what ? what->text : NULL;
}

static void print_lost(const struct report *r, FILE *out)
{
	double cpu_s = facts__job(r->facts, FACT_JOB_lost_cpu_s);
	const char *what = report_head__lost_what(r);
	report_number time, cpu;

	if (!what) {
		fputs(", counts lost: a restart or a damaged journal", out);
		return;
	}
	fprintf(out, ", %s of ", report_text__time(facts__job(r->facts, FACT_JOB_lost_s), time));
	print__escaped(out, what);
	fputs(" counts lost at a restart", out);
	if (cpu_s > 0)
		fprintf(out, ", %s of CPU time", report_text__time(cpu_s, cpu));
}

#define FEW_ROWS 3 /* fewer rows show no rhythm */

static void print_coverage(const struct report *r, FILE *out)
{
	double row_s = facts__job(r->facts, FACT_JOB_row_s);
	double coverage = facts__job(r->facts, FACT_JOB_coverage);
	double rows = facts__job(r->facts, FACT_JOB_lost_rows);
	double missed = facts__job(r->facts, FACT_JOB_missed_cpu_s);
	bool lost = facts__job(r->facts, FACT_JOB_lost_counts) > 0;
	unsigned bad = 0;
	report_number row, share;

	for (unsigned i = 0; i < r->job->nparts; i++)
		bad += r->job->parts[i].trouble != NULL;
	if (r->job->rows <= FEW_ROWS)
		fprintf(out, ", %u row%s", (unsigned)r->job->rows,
			report_text__s((double)r->job->rows));
	else
		fprintf(out, ", a row every %s", report_text__time(row_s, row));
	if (isnan(rows) && !is_window(r))
		fputs(", its end is not in the file", out);
	else if (coverage > 0.995 && !rows && !lost && missed == 0 && !(is_away(r) && !is_run(r)))
		fputs(", none missing", out);
	else if (rows > 0)
		fprintf(out, ", %s row%s missing", report_text__count(rows, row),
			report_text__s(rows));
	else if (coverage <= 0.995)
		fprintf(out, ", %s of the time recorded", report_text__share(coverage, share));
	print_missed(missed, out);
	if (lost)
		print_lost(r, out);
	if (bad)
		fprintf(out, ", %u file%s not readable", bad, report_text__s(bad));
}

static void print_leaving(const struct report *r, FILE *out)
{
	double after = facts__job(r->facts, FACT_JOB_left_cgroup_s);
	report_number buf;

	if (is_away(r))
		fprintf(out, "left its cgroup after %s: %s\n", report_text__time(after, buf),
			is_run(r) ? "counted on, but for limits, quota and pressure"
				  : "what left is not counted from then on");
}

/* Prints the peak memory first: a user needs it for the next request. */
static void print_memory(const struct report *r, FILE *out)
{
	double peak = facts__job(r->facts, FACT_JOB_peak_mb);
	report_number text, option;

	if (isnan(peak))
		return;
	fprintf(out, "peak memory %s%s; ask for --mem=%s\n", report_text__mb(peak, text),
		r->job->nnodes > 1 ? " on the fullest node" : "",
		report_text__mem_option(facts__job(r->facts, FACT_JOB_ask_mb), option));
}

const char *report_head__core(const struct report *r)
{
	return model_job__counts_cores(r->job) ? "core" : "CPU";
}

void report_head__print(const struct report *r, FILE *out)
{
	double limit = facts__job(r->facts, FACT_JOB_limit_s);
	report_number wall, most;

	print_job(r, out);
	print_nodes(r, out);
	print_count(facts__job(r->facts, FACT_JOB_cores), report_head__core(r), out);
	print_count(facts__job(r->facts, FACT_JOB_tasks), "task", out);
	if (facts__job(r->facts, FACT_JOB_gpus) > 0)
		print_count(facts__job(r->facts, FACT_JOB_gpus), "GPU", out);
	fprintf(out, "\nran %s", report_text__time(facts__job(r->facts, FACT_JOB_wall_s), wall));
	if (!isnan(limit))
		fprintf(out, " of %s", report_text__time(limit, most));
	print_coverage(r, out);
	putc('\n', out);
	print_leaving(r, out);
	print_memory(r, out);
}

/* ---- how much was used of what the job was given: four bars */

#define BAR 28

static void print_bar(FILE *out, const char *name, double share, const char *detail)
{
	report_number text;

	fprintf(out, "  %-8s %6s  ", name, report_text__share(share, text));
	report_text__bar(out, share, BAR, '#', '-');
	fprintf(out, "  %s\n", detail);
}

/* Prints nothing without a limit: the head of the page has the memory. */
static void print_memory_bar(const struct facts *f, FILE *out)
{
	double peak = facts__job(f, FACT_JOB_peak_mb), limit = facts__job(f, FACT_JOB_limit_mb);
	char detail[160];
	report_number used, of;

	if (isnan(peak) || isnan(limit))
		return;
	snprintf(detail, sizeof(detail), "%s of %s", report_text__mb(peak, used),
		 report_text__mb(limit, of));
	print_bar(out, "memory", peak / limit, detail);
}

double report_given__gpu_use(const struct facts *f)
{
	double sum = 0, n = 0;

	for (size_t i = 0; i < f->count[SCOPE_GPU]; i++)
		if (!isnan(f->values[FACT_GPU_util][i])) {
			sum += f->values[FACT_GPU_util][i];
			n++;
		}
	return n ? sum / n : NAN;
}

void report_given__print(const struct report *r, FILE *out)
{
	const struct facts *f = r->facts;
	double cpu = facts__job(f, FACT_JOB_cpu_share), limit = facts__job(f, FACT_JOB_limit_s);
	double elapsed = facts__job(f, FACT_JOB_job_elapsed_s), gpus = facts__job(f, FACT_JOB_gpus);
	bool has_limits = !isnan(limit) || !isnan(facts__job(f, FACT_JOB_limit_mb)) || gpus > 0;
	char detail[160];
	report_number used, of;

	if (!r->is_run || has_limits)
		fputs("\nUsed of what was given\n", out);
	if (isfinite(cpu) && !r->is_run) { /* a run has it in the lines above */
		snprintf(detail, sizeof(detail), "%.*f of %.0f %s%s", cpu < 0.05 ? 2 : 1,
			 facts__job(f, FACT_JOB_cpu_s) / facts__job(f, FACT_JOB_wall_s),
			 facts__job(f, FACT_JOB_cores), report_head__core(r),
			 report_text__s(facts__job(f, FACT_JOB_cores)));
		print_bar(out, "CPU", cpu, detail);
	}
	print_memory_bar(f, out);
	if (!isnan(limit)) {
		snprintf(detail, sizeof(detail), "%s of %s", report_text__time(elapsed, used),
			 report_text__time(limit, of));
		print_bar(out, "time", elapsed / limit, detail);
	}
	if (gpus > 0) {
		snprintf(detail, sizeof(detail), "mean of %.0f GPU%s", gpus, report_text__s(gpus));
		print_bar(out, "GPU", report_given__gpu_use(f), detail);
	}
}
