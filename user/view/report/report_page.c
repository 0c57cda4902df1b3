/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The page of a report: findings and what they cost, where the time went, in which tasks and when,
 * and what is unknown. */
#include "view/report/report_page.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/job/facts_fill.h"
#include "base/escape.h"
#include "base/str.h"
#include "identity/stepname.h"
#include "view/report/report_text.h"

/* ---- tasks that differ: those with the least, the median and the most of each quantity */

static const struct {
	enum fact fact;
	const char *name;
	const char *(*text)(double v, report_number buf);
} task_facts[] = {
	{FACT_TASK_cpu_s, "CPU", report_text__time},
	{FACT_TASK_useful_s, "not in MPI", report_text__time},
	{FACT_TASK_wait_s, "wait CPU", report_text__time},
	{FACT_TASK_disk_wait_s, "wait disk", report_text__time},
	{FACT_TASK_peak_mb, "peak", report_text__mb},
	{FACT_TASK_read_mb, "read", report_text__mb},
	{FACT_TASK_write_mb, "written", report_text__mb},
};

struct ranked {
	double v;
	size_t task;
};

static int cmp(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	return x->v != y->v ? (x->v > y->v) - (x->v < y->v)
			    : (x->task > y->task) - (x->task < y->task);
}

#define EXTREME 21   /* columns */
#define ALIKE	1.05 /* ratio of highest to lowest; below it, tasks are printed with --all only */

/* Prints "1,204 s (17 n2)". A name that is too long loses its beginning: node names differ at the
 * end. */
static void print_extreme(const struct facts *f, const struct ranked *t, size_t line, int width,
			  FILE *out)
{
	size_t node = (size_t)f->values[FACT_TASK_node][t->task] - 1;
	const char *name = f->names[SCOPE_NODE][node];
	report_number v;
	char text[80];
	int n = snprintf(text, sizeof(text), "%s (%.10s ", task_facts[line].text(t->v, v),
			 f->names[SCOPE_TASK][t->task]);
	size_t room = n < EXTREME - 3 ? (size_t)(EXTREME - 1 - n) : 2, length = strlen(name);

	snprintf(text + n, sizeof(text) - (size_t)n, "%s%s)", length > room ? "~" : "",
		 length > room ? name + length - (room - 1) : name);
	for (char *c = text; *c; c++)
		*c = *c < 32 || *c > 126 ? '?' : *c;
	fprintf(out, "%-*s", width, text);
}

/* False for the CPU time of ranks that may spin while they wait: it does not measure their work. */
static bool is_work(const struct facts *f, enum fact fact)
{
	if (!isnan(facts__job(f, FACT_JOB_pop_samples)))
		return fact == FACT_TASK_useful_s;
	return fact == FACT_TASK_cpu_s && (facts__job(f, FACT_JOB_has_mpi) != 1 ||
					   !isnan(facts__job(f, FACT_JOB_load_balance)));
}

/* Prints a line, and the heading before the first one. */
static void print_line(const struct report *r, size_t line, struct ranked *t, const char **heading,
		       FILE *out)
{
	const struct facts *f = r->facts;
	bool has_balance = is_work(f, task_facts[line].fact);
	size_t n = 0;
	double median, sum = 0;
	report_number v;

	if (task_facts[line].fact == FACT_TASK_useful_s && !has_balance)
		return;
	for (size_t i = 0; i < f->count[SCOPE_TASK]; i++)
		if (!isnan(f->values[task_facts[line].fact][i])) {
			t[n++] = (struct ranked){f->values[task_facts[line].fact][i], i};
			sum += t[n - 1].v;
		}
	if (!n)
		return;
	qsort(t, n, sizeof(*t), cmp);
	if (!(t[n - 1].v > 0) || (line && !r->all && t[n - 1].v < ALIKE * t[0].v))
		return;
	if (*heading)
		fprintf(out, "\n%-12s lowest                median     highest\n", *heading);
	*heading = NULL;
	median = n % 2 ? t[n / 2].v : (t[n / 2 - 1].v + t[n / 2].v) / 2;
	fprintf(out, "  %-10s ", task_facts[line].name);
	print_extreme(f, &t[0], line, 22, out);
	fprintf(out, "%-11s", task_facts[line].text(median, v));
	print_extreme(f, &t[n - 1], line, has_balance ? 22 : 0, out);
	if (has_balance)
		fprintf(out, "balance %.2f", sum / n / t[n - 1].v);
	putc('\n', out);
}

static void tasks_print(const struct report *r, FILE *out)
{
	const struct facts *f = r->facts;
	struct ranked *room;
	const char *heading;

	if (f->count[SCOPE_TASK] < 2)
		return;
	room = calloc(f->count[SCOPE_TASK], sizeof(*room));
	if (!room)
		return;
	heading = facts__job(f, FACT_JOB_has_mpi) == 1 ? "Ranks" : "Tasks";
	for (size_t i = 0; i < sizeof(task_facts) / sizeof(*task_facts); i++)
		print_line(r, i, room, &heading, out);
	free(room);
}

/* ---- which programs used the CPU */

#define FIRST_PAGE  4
#define LEAST_SHARE 0.01 /* share of the CPU time from which a program is printed without --all */

static void print_command(const struct job_command *c, double all, FILE *out)
{
	report_number cpu, share, count, peak;
	int pad = 16 - (int)strnlen(c->name, 16);

	fputs("  ", out);
	print__escaped(out, c->name);
	fprintf(out, "%*s %10s %6s", pad, "", report_text__time(c->cpu_s, cpu),
		report_text__share(c->cpu_s / all, share));
	if (c->processes > 0) /* 0 if another program replaced each of them by exec */
		fprintf(out, "  %s process%s", report_text__count(c->processes, count),
			c->processes == 1 ? "" : "es");
	if (!isnan(c->peak_mb))
		fprintf(out, "%s peak %s", c->processes > 0 ? "," : " ",
			report_text__mb(c->peak_mb, peak));
	putc('\n', out);
}

static void commands_print(const struct report *r, FILE *out)
{
	const struct model_job *j = r->job;
	double all = 0;
	unsigned shown = 0;

	for (unsigned i = 0; i < j->ncommands; i++)
		all += isnan(j->commands[i].cpu_s) ? 0 : j->commands[i].cpu_s;
	while (shown < j->ncommands &&
	       (j->commands[shown].cpu_s > 0 || j->commands[shown].processes > 0) &&
	       (r->all || (shown < FIRST_PAGE && j->commands[shown].cpu_s >= LEAST_SHARE * all)))
		shown++;
	if (shown < 2 || !(all > 0)) /* the head of the page names a single program */
		return;
	fputs("\nPrograms by CPU time\n", out);
	for (unsigned i = 0; i < shown; i++)
		print_command(&j->commands[i], all, out);
	if (shown < j->ncommands)
		fprintf(out, "  and %u other%s\n", j->ncommands - shown,
			report_text__s(j->ncommands - shown));
}

/* ---- rates of input and output */

static void print_calls(const struct facts *f, const char *name, enum fact mb, enum fact calls,
			FILE *out)
{
	double wall = facts__job(f, FACT_JOB_wall_s), v = facts__job(f, mb),
	       n = facts__job(f, calls);
	report_number all, rate, often, each;

	if (!(v > 0) || !(wall > 0))
		return;
	fprintf(out, "  %-10s %s, %s", name, report_text__mb(v, all),
		report_text__rate(v / wall, rate));
	if (n > 0)
		fprintf(out, ", %s, %s each", report_text__often(n, wall, "call", often),
			report_text__mb(v / n, each));
	putc('\n', out);
}

static void print_disk(const struct report *r, FILE *out)
{
	const struct facts *f = r->facts;
	double ops = facts__job(f, FACT_JOB_blk_ops), wall = facts__job(f, FACT_JOB_wall_s);
	double time_s = facts__job(f, FACT_JOB_blk_time_s), p99 = facts__job(f, FACT_JOB_blk_p99_s);
	double busy = facts__max(r->job, Q_DISK_BUSY);
	report_number often, text, share;

	if (!(ops > 0) || !(wall > 0))
		return;
	fprintf(out, "  %-10s %s", "disk", report_text__often(ops, wall, "request", often));
	if (!isnan(p99))
		fprintf(out, ", 99 %% of them below %s", report_text__time(p99, text));
	fprintf(out, "\n%13s%.2f in flight", "", time_s / wall);
	if (!isnan(busy))
		fprintf(out, "; disks of the node busy for %s of the time",
			report_text__share(busy / wall, share));
	putc('\n', out);
}

static void rates_print(const struct report *r, FILE *out)
{
	const struct facts *f = r->facts;

	if (facts__job(f, FACT_JOB_read_mb) + facts__job(f, FACT_JOB_write_mb) < 1 &&
	    !(facts__job(f, FACT_JOB_blk_ops) > 100))
		return;
	fputs("\nInput and output\n", out);
	print_calls(f, "read", FACT_JOB_read_mb, FACT_JOB_read_calls, out);
	print_calls(f, "written", FACT_JOB_write_mb, FACT_JOB_write_calls, out);
	print_disk(r, out);
}

/* ---- questions that a family would answer which was not recorded */

#define MUCH	    0.1	 /* share of the core time that was computed */
#define MUCH_KERNEL 0.2	 /* of the CPU time */
#define MUCH_DISK   0.02 /* share of the core time in which threads waited for a disk */

static bool computes(const struct facts *f)
{
	return facts__job(f, FACT_JOB_cpu_share) >= MUCH;
}

static bool calls_much(const struct facts *f)
{
	return facts__job(f, FACT_JOB_system_s) >= MUCH_KERNEL * facts__job(f, FACT_JOB_cpu_s) ||
	       facts__job(f, FACT_JOB_disk_wait_s) >= MUCH_DISK * facts__job(f, FACT_JOB_core_s);
}

static bool has_ranks(const struct facts *f)
{
	return f->count[SCOPE_TASK] > 1 && computes(f);
}

static const struct question {
	const char *family, *text;
	bool (*matters)(const struct facts *f);
} questions[] = {
	{"sample", "which libraries ran", computes},
	{"stack", "which functions ran", computes},
	{"files", "calls for files", calls_much},
	{"burst", "how even ranks compute", has_ranks},
};

static bool was_left_out(const struct model_job *j, const char *family)
{
	const struct model_attr *mode;
	char name[32];

	snprintf(name, sizeof(name), "Mode %s", family);
	mode = model_job__attr(j, name);
	return mode && mode->text && str__starts(mode->text, "off: not asked for");
}

/* Prints one line, without an empty line before it. */
static void open_print(const struct report *r, FILE *out)
{
	/* not for a run inside a step: its rows come from the step's series */
	bool is_run = model_job__attr(r->job, "Command Line");
	char text[256];
	int len = 0;

	for (size_t i = 0; i < sizeof(questions) / sizeof(questions[0]); i++) {
		const struct question *q = &questions[i];

		if (!q->matters(r->facts) || !was_left_out(r->job, q->family))
			continue;
		len += snprintf(text + len, sizeof(text) - (size_t)len, "%s%s (%s)",
				len	 ? ", "
				: is_run ? "run --deep also tells: "
					 : "srun --jobprof=deep also tells: ",
				q->text, q->family);
	}
	if (len)
		report_text__paragraph(out, text, 0, 0);
}

/* ---- the foot of a report: energy, switches, what is not known, what the profile cost */

static void print_switches(const struct facts *f, FILE *out)
{
	double forced = facts__job(f, FACT_JOB_invol_switches);
	double n = facts__job(f, FACT_JOB_vol_switches) + forced;
	double wall = facts__job(f, FACT_JOB_wall_s);
	report_number often, share;

	if (n > 0 && wall > 0)
		fprintf(out, "Switches     %s, %s of them forced\n",
			report_text__often(n, wall, "", often),
			report_text__share(forced / n, share));
}

static void print_energy(const struct facts *f, FILE *out)
{
	double j = facts__job(f, FACT_JOB_energy_j), least = facts__job(f, FACT_JOB_energy_low_j);
	double like = isnan(least) ? j : least;
	double nodes = facts__job(f, FACT_JOB_node_energy_j);
	report_number all, low, high, idle;

	if (isnan(j) && !isnan(nodes))
		fprintf(out, "Energy       %s of the whole nodes, by Slurm's sensors\n",
			report_text__energy(nodes, nodes, all));
	if (isnan(j))
		return;
	fprintf(out, "Energy       %s (%s to %s), %s of it idle cores\n",
		report_text__energy(j, like, all), report_text__energy(least, like, low),
		report_text__energy(facts__job(f, FACT_JOB_energy_high_j), like, high),
		report_text__energy(facts__job(f, FACT_JOB_energy_static_j), like, idle));
}

/* Facts whose absence is explained, and their names on the page. */
static const struct {
	enum fact fact;
	const char *name;
} missed[] = {
	{FACT_JOB_wait_s, "waiting for CPUs"},
	{FACT_JOB_disk_wait_s, "waiting for disks"},
	{FACT_JOB_instructions, "instructions, IPC"},
	{FACT_JOB_blk_ops, "disk requests"},
	{FACT_JOB_net_tx_mb, "network"},
	{FACT_JOB_energy_j, "energy"},
	{FACT_JOB_samples, "where the code was"},
	{FACT_JOB_waited_own_task_s, "what had the CPU"},
};

static void print_reasons(const struct facts *f, FILE *out)
{
	const char *heading = "Not known";
	char text[512];

	for (size_t i = 0; i < sizeof(missed) / sizeof(*missed); i++) {
		if (!f->missing[missed[i].fact])
			continue;
		snprintf(text, sizeof(text), "%s: %s", missed[i].name, f->missing[missed[i].fact]);
		fprintf(out, "%-13s", heading);
		report_text__paragraph(out, text, 13, 13);
		heading = "";
	}
}

static void print_names(const struct facts *f, FILE *out)
{
	char text[512];
	size_t len = 0;

	for (size_t i = 0; i < sizeof(missed) / sizeof(*missed); i++)
		if (f->missing[missed[i].fact])
			len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s",
						len ? "; " : "", missed[i].name);
	if (!len)
		return;
	snprintf(text + len, sizeof(text) - len, " (--all says why)");
	fputs("Not known    ", out);
	report_text__paragraph(out, text, 13, 13);
}

static void print_slurms(const struct facts *f, FILE *out)
{
	char text[256];

	snprintf(text, sizeof(text),
		 "waiting, IPC, disk requests, network, %senergy: Slurm's own profiles do not have "
		 "them; rules that need them were not judged",
		 isnan(facts__job(f, FACT_JOB_node_energy_j)) ? "" : "the job's part of the ");
	fputs("Not known    ", out);
	report_text__paragraph(out, text, 13, 13);
}

static void print_missing(const struct report *r, FILE *out)
{
	if (r->job->is_slurms)
		print_slurms(r->facts, out);
	else if (r->all)
		print_reasons(r->facts, out);
	else
		print_names(r->facts, out);
}

#define LEAST 0.00001 /* share of the CPU time: less has no digit to print */

#define TROUBLES_MAX 3 /* on a page without --all */

static void print_troubles(const struct report *r, FILE *out)
{
	const struct model_job *j = r->job;
	unsigned n = 0;

	for (unsigned i = 0; i < j->nparts; i++) {
		const struct job_part *p = &j->parts[i];

		if (!p->trouble || (n++ >= TROUBLES_MAX && !r->all))
			continue;
		fprintf(out, "%-13s", n > 1 ? "" : "Left out");
		print__escaped(out, j->nodes[p->node].unit.name);
		if (*j->steps[p->step].name) {
			fputs(" step ", out);
			print__escaped(out, stepname__human(j->steps[p->step].name));
		}
		fputs(": ", out);
		print__escaped(out, p->trouble);
		putc('\n', out);
	}
	if (n > TROUBLES_MAX && !r->all)
		fprintf(out, "%-13sand %u more (--all)\n", "", n - TROUBLES_MAX);
}

static void end_print(const struct report *r, FILE *out)
{
	const struct facts *f = r->facts;
	double probe = facts__job(f, FACT_JOB_probe_s), cpu = facts__job(f, FACT_JOB_cpu_s);

	if (!r->is_run)
		putc('\n', out);
	print_energy(f, out);
	if (r->is_run)
		return;
	print_switches(f, out);
	print_missing(r, out);
	print_troubles(r, out);
	if (probe >= 0 && cpu > 0)
		fprintf(out, "Cost of the profile: %s%.3f %% of the CPU time. ",
			probe / cpu < LEAST ? "below " : "", 100 * fmax(probe / cpu, LEAST));
	fputs(r->all ? "More: --facts, --json\n" : "More: --all, --facts, --json\n", out);
}

/* ---- the page */

#define SCREEN	   40 /* lines of a page */
#define SCREEN_RUN 30 /* lines of a run's page, below the command's output */

/* Parts with a name are left out where a screen has no room for them. */
static const struct part {
	void (*print)(const struct report *r, FILE *out);
	const char *name;
	bool only_of_runs; /* that is left out */
	const char
		*rules; /* findings of these rules are visible here, so the part gets room first */
} parts[] = {
	{report_head__print, NULL, false, NULL},
	{report_findings__print, NULL, false, NULL},
	{report_budget__print, NULL, false, NULL},
	{report_alike__print, NULL, false, NULL},
	{report_threads__print, "causes of waits", true, NULL},
	{report_culprits__print, "what had the CPU", true, NULL},
	{report_modules__print, "what was executed", true, NULL},
	{report_pop__print, "efficiency of ranks", true, NULL},
	{report_given__print, "use of what was given", true, NULL},
	{tasks_print, "tasks", false, "mpi."},
	{commands_print, "programs", false, "proc."},
	{report_time__print, "over time", false, NULL},
	{report_pika__print, NULL, false, NULL},
	{report_io__print, NULL, false, NULL},
	{rates_print, "input and output", false, "io."},
	{report_clusters__print, "bursts and folds", false, NULL},
	{end_print, NULL, false, NULL},
	{open_print, NULL, false, NULL},
};
#define PARTS	      (sizeof(parts) / sizeof(*parts))
#define PART_FINDINGS 1

struct text {
	char *s;
	size_t size;
	unsigned lines;
};

/* Prints a part into a text. False: no memory. */
static bool print_text(const struct report *r, const struct part *part, struct text *t)
{
	FILE *f = open_memstream(&t->s, &t->size);

	if (f)
		part->print(r, f);
	if (!f || fclose(f))
		return false;
	t->lines = 0;
	for (const char *c = t->s; *c; c++)
		t->lines += *c == '\n';
	return true;
}

static bool may_go(const struct report *r, const struct part *p)
{
	return p->name && (r->is_run || !p->only_of_runs);
}

static bool is_wanted(const struct report *r, const struct part *p)
{
	bool wanted = false;

	for (size_t i = 0; p->rules && i < r->verdict->nfindings; i++)
		wanted |= str__starts(r->verdict->findings[i].id, p->rules);
	return wanted;
}

/* Lines that the page needs; a page of a file also has the parts that its findings refer to. */
static unsigned lines_needed(const struct report *r, const struct text t[static PARTS])
{
	unsigned lines = 1 + (r->is_run ? 1 + r->lines_after : 0);

	for (size_t i = 0; i < PARTS; i++)
		lines += !may_go(r, &parts[i]) || (!r->is_run && is_wanted(r, &parts[i]))
				 ? t[i].lines
				 : 0;
	return lines;
}

/* The number of findings that keep their remedies in all cases. A page of a file: all that have one
 * on the first page, without a third one that is a note. */
static unsigned least_in_full(const struct report *r)
{
	const struct verdict *v = r->verdict;
	bool third_is_note = v->nfindings >= REPORT_IN_FULL &&
			     v->findings[REPORT_IN_FULL - 1].severity == SEVERITY_NOTE;

	return r->is_run ? 1 : third_is_note ? REPORT_IN_FULL - 1 : REPORT_IN_FULL;
}

/* Prints all parts into texts; if the page is too long, findings lose their remedies, the last ones
 * first. */
static bool print_texts(const struct report *r, struct text t[static PARTS])
{
	struct report less = *r;
	unsigned most = r->is_run ? SCREEN_RUN : SCREEN, least = least_in_full(r);
	bool ok = true;

	for (size_t i = 0; ok && i < PARTS; i++)
		ok = print_text(r, &parts[i], &t[i]);
	for (unsigned n = REPORT_IN_FULL; ok && n-- > least;) {
		if (lines_needed(r, t) <= most)
			break;
		less.in_full = n;
		free(t[PART_FINDINGS].s);
		t[PART_FINDINGS].s = NULL;
		ok = print_text(&less, &parts[PART_FINDINGS], &t[PART_FINDINGS]);
	}
	return ok;
}

/* Chooses the parts that fit a screen: first those that must be there, then those that findings
 * refer to, then the rest. */
static void choose(const struct report *r, const struct text t[static PARTS], bool chosen[PARTS])
{
	unsigned lines = 1 + (r->is_run ? 1 + r->lines_after : 0);
	unsigned most = r->is_run ? SCREEN_RUN : SCREEN;

	for (size_t i = 0; i < PARTS; i++) {
		chosen[i] = !may_go(r, &parts[i]);
		lines += chosen[i] ? t[i].lines : 0;
	}
	for (int rest = 0; rest < 2; rest++)
		for (size_t i = 0; i < PARTS; i++) {
			if (chosen[i] || lines + t[i].lines > most ||
			    (!rest && !is_wanted(r, &parts[i])))
				continue;
			chosen[i] = true;
			lines += t[i].lines;
		}
}

/* Prints the texts that a screen has room for, and the names of the others. */
static void print_screen(const struct report *r, struct text t[static PARTS], FILE *out)
{
	const char *before = "Not on this page: ";
	bool chosen[PARTS];

	choose(r, t, chosen);
	for (size_t i = 0; i < PARTS; i++) {
		if (!chosen[i])
			continue;
		fputs(t[i].s, out);
		t[i].lines = 0;
	}
	for (size_t i = 0; i < PARTS; i++)
		if (t[i].lines && r->is_run) {
			fprintf(out, "More: %s\n", r->more);
			return;
		} else if (t[i].lines) {
			fprintf(out, "%s%s", before, parts[i].name);
			before = ", ";
		}
	if (*before == ',')
		fputs(" (--all)\n", out);
}

void report__print(const struct report *r, FILE *out)
{
	struct text texts[PARTS] = {0};
	bool ok = !r->all && print_texts(r, texts);

	if (r->is_run)
		putc('\n', out); /* after the output of the command */
	if (ok)
		print_screen(r, texts, out);
	for (size_t i = 0; i < PARTS; i++) {
		if (!ok)
			parts[i].print(r, out);
		free(texts[i].s);
	}
}
