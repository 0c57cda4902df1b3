/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the time went: shares of the job's core time, of threads' time, of what ran while threads
 * waited for a CPU, and of executed code; and how well ranks work in parallel. */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/job/facts_fill.h"
#include "base/escape.h"
#include "base/json.h"
#include "base/str.h"
#include "view/report/report_page.h"
#include "view/report/report_text.h"

/* ---- parts of a whole, as JSON and as a line */

struct report_share {
	const char *name;
	double amount; /* NaN: unknown, adds nothing to sums */
};

/* ---- A line of the parts of a whole, the largest first */

#define NAMED_LEAST 0.005 /* share from which a part is named */

static int largest_first(const void *a, const void *b)
{
	const struct report_share *x = a, *y = b;

	return (x->amount < y->amount) - (x->amount > y->amount);
}

/* Prints " name a 60 %, b 30 %", the largest first, without parts below NAMED_LEAST; continues on
 * another line where the width is reached. Sorts parts. Prints nothing if all are 0. */
static void shares_print(const char *name, struct report_share *parts, size_t n, FILE *out)
{
	const char *comma = "";
	double sum = 0;
	int at;

	for (size_t i = 0; i < n; i++) {
		if (isnan(parts[i].amount))
			parts[i].amount = 0;
		sum += parts[i].amount;
	}
	if (!(sum > 0))
		return;
	qsort(parts, n, sizeof(*parts), largest_first);
	at = fprintf(out, "  %-14s", name);
	for (size_t i = 0; i < n && parts[i].amount >= NAMED_LEAST * sum; i++) {
		char text[48];

		snprintf(text, sizeof(text), "%s %s %.0f %%", comma, parts[i].name,
			 100 * parts[i].amount / sum);
		if (at + strlen(text) + 1 > REPORT_WIDTH) {
			fprintf(out, "%s\n%16s", comma, "");
			at = 16;
			snprintf(text, sizeof(text), " %s %.0f %%", parts[i].name,
				 100 * parts[i].amount / sum);
		}
		at += fprintf(out, "%s", text);
		comma = ",";
	}
	putc('\n', out);
}

double report_parts__divide(const struct report_parts *p, const double total[static N_QUANTITIES],
			    double share[static REPORT_PARTS_MAX])
{
	double all = p->whole == N_QUANTITIES ? 0 : total[p->whole];

	for (unsigned i = 0; i < p->n && p->whole == N_QUANTITIES; i++)
		all += total[p->parts[i].of];
	for (unsigned i = 0; i < p->n; i++)
		share[i] = all > 0 ? total[p->parts[i].of] / all : NAN;
	if (all > 0 && p->correct)
		p->correct(total, share);
	return all > 0 ? all : NAN;
}

double report_parts__of(const struct report_parts *p, const struct model_job *j,
			double share[static REPORT_PARTS_MAX])
{
	double total[N_QUANTITIES];

	for (int q = 0; q < N_QUANTITIES; q++)
		total[q] = facts__sum(j, q);
	return report_parts__divide(p, total, share);
}

static const char *name_of(const struct report_parts *p, const double *share, unsigned i)
{
	return !i && p->first_alone && isnan(share[1]) ? p->first_alone : p->parts[i].name;
}

json_t *report_parts__json(const struct report_parts *p, const struct model_job *j)
{
	json_t *o = json_object(), *shares = json_array(), *one;
	double share[REPORT_PARTS_MAX], all = report_parts__of(p, j, share);

	for (unsigned i = 0; i < p->n && !isnan(all); i++) {
		one = json_object();
		if (p->parts[i].kind)
			json__set(one, "kind", json__text(p->parts[i].kind));
		json__set(one, "name", json__text(name_of(p, share, i)));
		json__set(one, "share", json__number(share[i]));
		json_array_append_new(shares, one);
	}
	json__set(o, p->all_key, json__number(all));
	json__set(o, "shares", shares);
	return o;
}

/* Prints a line of the parts from `first` on, as shares_print() does. */
static void parts_print(const char *name, const struct report_parts *p, unsigned first,
			const struct model_job *j, FILE *out)
{
	struct report_share shares[REPORT_PARTS_MAX];

	for (unsigned i = first; i < p->n; i++)
		shares[i] = (struct report_share){p->parts[i].name, facts__sum(j, p->parts[i].of)};
	shares_print(name, shares + first, p->n - first, out);
}

/* ---- where the time of threads went: they ran, waited for a CPU, or were blocked, by causes */

#define BLOCKED_LEAST 0.01 /* share of all threads' time from which causes get a line */

static const struct report_part thread_parts[] = {
	{Q_USER, "run", "own code"},
	{Q_SYSTEM, "run", "kernel"},
	{Q_STOLEN, "stolen", "stolen"},
	{Q_CPU_WAIT, "wait", "wait for CPU"},
	{Q_THREAD_THROTTLED, "quota", "CPU quota"},
	{Q_BLOCKED_DISK, "blocked", "disk"},
	{Q_BLOCKED_FAULT, "blocked", "page faults"},
	{Q_BLOCKED_NET_FS, "blocked", "network files"},
	{Q_BLOCKED_KERNEL, "blocked", "kernel wait"},
	{Q_BLOCKED_FUTEX, "blocked", "locks"},
	{Q_BLOCKED_PIPE, "blocked", "pipe"},
	{Q_BLOCKED_SOCKET, "blocked", "socket"},
	{Q_BLOCKED_POLL, "blocked", "poll"},
	{Q_BLOCKED_SLEEP, "blocked", "sleep"},
	{Q_BLOCKED_CHILD, "blocked", "child"},
	{Q_BLOCKED_SIGNAL, "blocked", "signal"},
	{Q_BLOCKED_OTHER, "blocked", "other"},
};

/* Splits Q_RUNNING into program and kernel code by the ratio of their CPU times. */
static void correct(const double total[static N_QUANTITIES], double share[static REPORT_PARTS_MAX])
{
	double running = total[Q_RUNNING] / total[Q_THREAD_TIME];
	double cpu = total[Q_USER] + total[Q_SYSTEM];

	share[1] = cpu > 0 ? running * total[Q_SYSTEM] / cpu : NAN;
	share[0] = isnan(share[1]) ? running : running - share[1];
}

const struct report_parts report_threads = {
	.rows_key = "thread_shares",
	.all_key = "thread_s",
	.parts = thread_parts,
	.n = sizeof(thread_parts) / sizeof(thread_parts[0]),
	.whole = Q_THREAD_TIME,
	.correct = correct,
	.first_alone = "CPU",
};

/* Prints only the causes of waits, if these matter. */
void report_threads__print(const struct report *r, FILE *out)
{
	unsigned first = 0;
	double blocked_s = 0;

	while (strcmp(thread_parts[first].kind, "blocked"))
		first++;
	for (unsigned i = first; i < report_threads.n; i++) {
		double s = facts__sum(r->job, thread_parts[i].of);

		blocked_s += isnan(s) ? 0 : s;
	}
	if (blocked_s >= BLOCKED_LEAST * facts__sum(r->job, Q_THREAD_TIME))
		parts_print("blocked in", &report_threads, first, r->job, out);
}

/* ---- what was executed, as shares of all samples */

static const struct report_part module_parts[] = {
	{Q_SAMPLED_OWN, NULL, "own program"},	  {Q_SAMPLED_MPI, NULL, "MPI"},
	{Q_SAMPLED_LIBGPU, NULL, "GPU library"},  {Q_SAMPLED_BLAS, NULL, "BLAS"},
	{Q_SAMPLED_OPENMP, NULL, "OpenMP"},	  {Q_SAMPLED_INTERPRETER, NULL, "interpreter"},
	{Q_SAMPLED_LIBC, NULL, "C library"},	  {Q_SAMPLED_LIBRARY, NULL, "other libraries"},
	{Q_SAMPLED_GENERATED, NULL, "generated"}, {Q_SAMPLED_KERNEL, NULL, "kernel"},
	{Q_SAMPLED_UNKNOWN, NULL, "not known"},
};

const struct report_parts report_modules = {
	.rows_key = "module_shares",
	.all_key = "samples",
	.parts = module_parts,
	.n = sizeof(module_parts) / sizeof(module_parts[0]),
	.whole = Q_SAMPLES,
};

json_t *report_modules__json(const struct report *r)
{
	json_t *o = report_parts__json(&report_modules, r->job);

	json__set(o, "for_mpi", json__number(facts__job(r->facts, FACT_JOB_sampled_for_mpi)));
	return o;
}

void report_modules__print(const struct report *r, FILE *out)
{
	if (facts__sum(r->job, Q_SAMPLES) >= REPORT_SAMPLES_LEAST)
		parts_print("executed", &report_modules, 0, r->job, out);
}

/* ---- what had the CPU that threads waited for, of the job and of the units that waited most */

#define MATTERS 0.02 /* waiting share of the runnable time from which the line is printed */
#define MOST	5    /* units in JSON, those that waited most */
#define NAMED	3    /* units on the page, as far as there is room */

static const struct report_part culprit_parts[] = {
	{Q_CPU, NULL, "ran"},
	{Q_BY_OWN_TASK, NULL, "own task"},
	{Q_BY_OWN_STEP, NULL, "own step"},
	{Q_BY_OWN_JOB, NULL, "own job"},
	{Q_BY_OTHER_JOBS, NULL, "other jobs"},
	{Q_BY_SYSTEM, NULL, "not profiled"},
	{Q_BY_IDLE, NULL, "wake-up"},
	{Q_BY_QUOTA, NULL, "CPU quota"},
	{Q_BY_UNKNOWN, NULL, "unknown"},
};
#define CULPRITS (sizeof(culprit_parts) / sizeof(culprit_parts[0]))

const struct report_parts report_culprits = {
	.rows_key = "culprit_shares",
	.all_key = "runnable_s",
	.parts = culprit_parts,
	.n = CULPRITS,
	.whole = N_QUANTITIES,
};

/* A unit that waited, and what used the CPU for most of that time. */
struct waiter {
	const struct job_unit *unit;
	double wait_s, most_s;
	const char *most;
};

static struct waiter waiter_of(const struct job_unit *u)
{
	struct waiter w = {.unit = u, .wait_s = 0, .most_s = -1};

	for (size_t i = 1; i < CULPRITS; i++) {
		double s = u->total[culprit_parts[i].of];

		w.wait_s += s;
		if (s > w.most_s) {
			w.most_s = s;
			w.most = culprit_parts[i].name;
		}
	}
	return w;
}

static int by_wait(const void *a, const void *b)
{
	const struct waiter *x = a, *y = b;

	if (x->wait_s != y->wait_s)
		return (x->wait_s < y->wait_s) - (x->wait_s > y->wait_s);
	return (x->unit > y->unit) - (x->unit < y->unit);
}

/* Finds the tasks of the main step that waited longest, at most `most`, longest first. */
static unsigned waiters_of(const struct model_job *j, struct waiter *out, unsigned most)
{
	unsigned n, kept = 0;
	const struct job_unit *units = facts__main_tasks(j, &n);
	struct waiter *all = calloc(n + 1, sizeof(*all));

	for (unsigned i = 0; all && i < n; i++) {
		struct waiter w = waiter_of(&units[i]);

		if (w.wait_s > 0)
			all[kept++] = w;
	}
	if (kept)
		qsort(all, kept, sizeof(*all), by_wait);
	kept = kept < most ? kept : most;
	if (kept)
		memcpy(out, all, kept * sizeof(*all));
	free(all);
	return kept;
}

json_t *report_culprits__json(const struct model_job *j)
{
	json_t *o = report_parts__json(&report_culprits, j), *list = json_array(), *one;
	struct waiter most[MOST];
	unsigned n = waiters_of(j, most, MOST);

	for (unsigned i = 0; i < n; i++) {
		one = json_object();
		json__set(one, "name", json__text(most[i].unit->name));
		json__set(one, "node", json__text(j->nodes[most[i].unit->node].unit.name));
		json__set(one, "wait_s", json__number(most[i].wait_s));
		json__set(one, "most_for", json__text(most[i].most));
		json__set(one, "most_share", json__number(most[i].most_s / most[i].wait_s));
		json_array_append_new(list, one);
	}
	json__set(o, "waited_most", list);
	return o;
}

/* Prints " longest rank 3 20.1 s (other jobs), rank 5 19.8 s (own step)". */
static void print_waiters(const struct model_job *j, FILE *out)
{
	struct waiter most[NAMED];
	unsigned n = waiters_of(j, most, NAMED), all;
	int at;

	facts__main_tasks(j, &all);
	if (all < 2 || !n)
		return;
	at = fprintf(out, "  %-14s", "longest");
	for (unsigned i = 0; i < n; i++) {
		report_number wait;
		char text[100];

		snprintf(text, sizeof(text), "%s %s %.10s %s (%s)", i ? "," : "",
			 most[i].unit->is_rank ? "rank" : "task", most[i].unit->name,
			 report_text__time(most[i].wait_s, wait), most[i].most);
		if (at + strlen(text) > REPORT_WIDTH)
			break;
		at += (int)strlen(text);
		print__escaped(out, text);
	}
	putc('\n', out);
}

void report_culprits__print(const struct report *r, FILE *out)
{
	if (!(facts__job(r->facts, FACT_JOB_wait_share) >= MATTERS))
		return;
	parts_print("waited for", &report_culprits, 1, r->job, out);
	if (!r->is_run)
		print_waiters(r->job, out);
}

/* ---- how well the ranks worked in parallel: POP's numbers, how they were measured, or why there
 * are none */

#define UNSUITABLE "UNSUITABLE: "

/* Why the last of POP's numbers is not known; NULL: all are. */
static const char *reason_of(const struct facts *f)
{
	const char *why = f->missing[FACT_JOB_parallel_efficiency];

	if (!isnan(facts__job(f, FACT_JOB_parallel_efficiency)))
		return NULL;
	return why && str__starts(why, UNSUITABLE) ? why + strlen(UNSUITABLE) : why;
}

static bool by_samples(const struct facts *f)
{
	return !isnan(facts__job(f, FACT_JOB_pop_samples));
}

json_t *report_pop__json(const struct facts *f)
{
	static const enum fact numbers[] = {FACT_JOB_load_balance,
					    FACT_JOB_communication_efficiency, FACT_JOB_with_cpu,
					    FACT_JOB_parallel_efficiency, FACT_JOB_pop_samples};
	json_t *o = json_object();
	bool is_known = !isnan(facts__job(f, FACT_JOB_load_balance));
	const char *why = reason_of(f);

	json__set(o, "status", json__text(is_known ? "OK" : "UNSUITABLE"));
	json__set(o, "reason", json__text(why));
	json__set(o, "measured_by",
		  is_known ? json__text(by_samples(f) ? "samples" : "blocking") : json_null());
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		json__set(o, fact_infos[numbers[i]].name, json__number(facts__job(f, numbers[i])));
	return o;
}

/* Warns that ranks may spin while they wait, and this CPU time would look like work. */
static void print_spinning(const struct facts *f, FILE *out)
{
	if (f->count[SCOPE_TASK] > 1 && facts__job(f, FACT_JOB_has_mpi) == 1 &&
	    isnan(facts__job(f, FACT_JOB_samples)))
		fprintf(out, "  %-14s may wait by spinning: --series all,sample says how long\n",
			"ranks");
}

void report_pop__print(const struct report *r, FILE *out)
{
	double lb = facts__job(r->facts, FACT_JOB_load_balance);
	double comm = facts__job(r->facts, FACT_JOB_communication_efficiency);

	if (isnan(lb)) {
		print_spinning(r->facts, out);
		return;
	}
	fprintf(out, "  %-14s load balance %.2f", "ranks", lb);
	if (!isnan(comm))
		fprintf(out, " x communication %.2f x with a CPU %.2f\n%17s= efficiency %.2f", comm,
			facts__job(r->facts, FACT_JOB_with_cpu), "",
			facts__job(r->facts, FACT_JOB_parallel_efficiency));
	fprintf(out, "%s%s\n", isnan(comm) ? "; useful time is " : ": useful time is ",
		by_samples(r->facts) ? "CPU time outside of MPI" : "all CPU time, as ranks block");
}

/* ---- the account of the job's core time */

static const char *const names[N_BUDGET] = {
	[BUDGET_USER] = "own code",	    [BUDGET_KERNEL] = "kernel",
	[BUDGET_OTHERS] = "other programs", [BUDGET_QUOTA] = "CPU quota",
	[BUDGET_WAIT] = "wait for CPU",	    [BUDGET_DISK] = "wait for disk",
	[BUDGET_ASLEEP] = "asleep",	    [BUDGET_IDLE] = "idle",
};

/* Explains the names, for readers who see the page for the first time. */
static const char *const meanings[N_BUDGET] = {
	[BUDGET_OTHERS] = "used cores no thread wanted",
	[BUDGET_QUOTA] = "a quota held threads",
	[BUDGET_WAIT] = "threads waited for a CPU",
	[BUDGET_DISK] = "threads waited for a disk",
	[BUDGET_ASLEEP] = "threads slept or waited",
};

#define CELLS 24 /* characters of a bar: with the longest meaning, 80 columns */

const char *report_budget__name(const struct report_budget *b, enum budget i)
{
	if (i == BUDGET_USER && isnan(b->share[BUDGET_KERNEL]))
		return "CPU";
	if (i == BUDGET_IDLE && isnan(b->share[BUDGET_WAIT]) && isnan(b->share[BUDGET_ASLEEP]))
		return "not used";
	return names[i];
}

struct report_budget report_budget__of_times(const struct budget_times *t)
{
	const struct idle_split *idle = &t->idle;
	double all = fmax(t->core_s, t->cpu), kernel;
	struct report_budget b = {.core_s = all};

	if (isnan(t->cpu) || isnan(t->core_s) || !(all > 0) || isinf(all))
		return (struct report_budget){.core_s = NAN};
	/* The kernel's split is by ticks: scaled, so that both parts add up to the CPU time. */
	kernel = t->user + t->system > 0 ? t->cpu * t->system / (t->user + t->system) : t->system;
	b.share[BUDGET_USER] = (t->cpu - (isnan(kernel) ? 0 : kernel)) / all;
	b.share[BUDGET_KERNEL] = kernel / all;
	b.share[BUDGET_OTHERS] = idle->taken / all;
	b.share[BUDGET_QUOTA] = idle->quota / all;
	b.share[BUDGET_WAIT] = idle->wait / all;
	b.share[BUDGET_DISK] = idle->disk / all;
	b.share[BUDGET_ASLEEP] = idle->asleep / all;
	b.share[BUDGET_IDLE] = (isnan(idle->none) ? all - t->cpu : idle->none) / all;
	return b;
}

struct report_budget report_budget__of(const struct report *r)
{
	const struct facts *f = r->facts;
	const struct budget_times t = {
		.cpu = facts__job(f, FACT_JOB_cpu_s),
		.user = facts__job(f, FACT_JOB_user_s),
		.system = facts__job(f, FACT_JOB_system_s),
		.core_s = facts__job(f, FACT_JOB_core_s),
		.idle = {facts__job(f, FACT_JOB_idle_quota_s), facts__job(f, FACT_JOB_idle_wait_s),
			 facts__job(f, FACT_JOB_idle_disk_s), facts__job(f, FACT_JOB_idle_asleep_s),
			 facts__job(f, FACT_JOB_idle_taken_s), facts__job(f, FACT_JOB_idle_s)},
	};

	return report_budget__of_times(&t);
}

#define LEAST	  0.0005
#define LEAST_RUN 0.005

/* Whether a part gets a line. */
static bool matters(const struct report *r, const struct report_budget *b, int i)
{
	if (i == BUDGET_USER)
		return true;
	return b->share[i] >= (r->is_run ? LEAST_RUN : LEAST) || (i == BUDGET_IDLE && !r->is_run);
}

/* Prints the heading; a long product begins further left. */
static void print_heading(const struct report *r, FILE *out)
{
	const struct facts *f = r->facts;
	const bool are_cores = model_job__counts_cores(r->job);
	double cores = facts__job(f, FACT_JOB_cores);
	report_number count, wall, all;
	report_line product;
	int n = snprintf(
		product, sizeof(product), "%.20s %s%s x %.20s%s%.20s",
		report_text__count(cores, count), report_head__core(r), report_text__s(cores),
		report_text__time(facts__job(f, FACT_JOB_wall_s), wall), are_cores ? " = " : "",
		are_cores ? report_text__cores(facts__job(f, FACT_JOB_core_s), all) : "");

	fprintf(out, "\n%-*s %s\n", n < REPORT_WIDTH - 45 ? 44 : REPORT_WIDTH - n - 1,
		"Where the time went", product);
}

void report_budget__print(const struct report *r, FILE *out)
{
	struct report_budget b = report_budget__of(r);

	if (isnan(b.core_s))
		return;
	print_heading(r, out);
	for (int i = 0; i < N_BUDGET; i++) {
		int cells = isnan(b.share[i]) ? 0 : (int)lrint(b.share[i] * CELLS);

		if (!matters(r, &b, i))
			continue;
		fprintf(out, "  %-14s %5.1f %%", report_budget__name(&b, i), 100 * b.share[i]);
		fputs(cells ? "  " : "", out);
		for (int k = 0; k < cells; k++)
			putc('#', out);
		if (i == BUDGET_IDLE && !model_job__counts_cores(r->job))
			fputs("  CPUs, or threads of cores", out);
		else if (meanings[i])
			fprintf(out, "  %s", meanings[i]);
		putc('\n', out);
	}
}

/* ---- compared with other jobs of the index */

json_t *report_alike__json(const struct alike *a)
{
	json_t *o, *more = json_null(), *earlier = json_null();

	if (!a || (!a->what && !a->runs))
		return json_null();
	o = json_object();
	if (a->what) {
		more = json_object();
		json__set(more, "of", json__text(a->what));
		JSON_NUMBERS(more, {"share", a->share}, {"than", a->than}, {"jobs", a->jobs},
			     {"users", a->users});
		json__set(more, "program", json__text(a->program));
	}
	if (a->runs) {
		earlier = json_object();
		JSON_NUMBERS(earlier, {"runs", a->runs}, {"median_s", a->median_s},
			     {"elapsed_s", a->elapsed_s});
	}
	json__set(o, "more", more);
	json__set(o, "earlier", earlier);
	return o;
}

#define PROGRAM 24 /* columns */

void report_alike__print(const struct report *r, FILE *out)
{
	const struct alike *a = r->alike;
	report_number jobs, median;
	report_line program;
	char text[256];

	if (a && a->what) {
		snprintf(text, sizeof(text), "more %s than %.0f %% of %s other jobs of %s here",
			 a->what, floor(100 * a->than), report_text__count(a->jobs, jobs),
			 report_text__cut(a->program, PROGRAM, program));
		fprintf(out, "  %-14s ", "others");
		report_text__paragraph(out, text, 17, 17);
	}
	if (a && a->runs)
		fprintf(out, "  %-14s this one took %.2g times the median of the %u before, %s\n",
			"earlier runs", a->elapsed_s / a->median_s, a->runs,
			report_text__time(a->median_s, median));
}
