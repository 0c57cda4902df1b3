/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A comparison as a page: a sentence, a waterfall of the terms, and how often other runs differ as
 * much. */
#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/command_line.h"
#include "base/escape.h"
#include "base/json.h"
#include "view/compare/compare.h"
#include "view/line.h"
#include "view/report/report_text.h"

#define COMPARE_SENTENCE 1024

/* ---- the words for the terms of a comparison */

/* The words for a term. */
struct compare_words {
	const char *id;		 /* in JSON */
	const char *name;	 /* at the left of the page */
	const char *unit;	 /* of the term's quantity, in JSON */
	const char *more, *less; /* used where it adds to the time, and where it takes from it */
};
static const struct compare_words compare_words[N_TERMS] = {
	[TERM_WORK] = {"work", "work", "instructions", "more work", "less work"},
	[TERM_IPC] = {"ipc", "IPC", "1", "fewer instructions per cycle",
		      "more instructions per cycle"},
	[TERM_CLOCK] = {"clock", "clock", "Hz", "a lower clock", "a higher clock"},
	[TERM_CORES] = {"cores", "cores", "cores", "fewer cores", "more cores"},
	[TERM_BALANCE] = {"balance", "parallelism", "at a time", "less work at the same time",
			  "more work at the same time"},
	[TERM_WAIT] = {"wait", "waiting for CPU", "s", "more waiting for a CPU",
		       "less waiting for a CPU"},
	[TERM_DISK] = {"disk", "waiting for disk", "s", "more waiting for a disk",
		       "less waiting for a disk"},
	[TERM_QUOTA] = {"quota", "CPU quota", "s", "more time held back by a CPU quota",
			"less time held back by a CPU quota"},
	[TERM_NET_FS] = {"net_fs", "network files", "s", "more waiting for a network file system",
			 "less waiting for a network file system"},
	[TERM_KERNEL] = {"kernel", "kernel wait", "s", "more waiting in the kernel",
			 "less waiting in the kernel"},
	[TERM_FUTEX] = {"futex", "locks", "s", "more waiting for locks", "less waiting for locks"},
	[TERM_PIPE] = {"pipe", "pipe", "s", "more waiting for pipes", "less waiting for pipes"},
	[TERM_SOCKET] = {"socket", "socket", "s", "more waiting for sockets",
			 "less waiting for sockets"},
	[TERM_POLL] = {"poll", "poll", "s", "more waiting in poll", "less waiting in poll"},
	[TERM_SLEEP] = {"sleep", "sleep", "s", "more sleep", "less sleep"},
	[TERM_CHILD] = {"child", "child", "s", "more waiting for child processes",
			"less waiting for child processes"},
	[TERM_SIGNAL] = {"signal", "signal", "s", "more waiting for signals, or stopped",
			 "less waiting for signals, or stopped"},
	[TERM_BLOCKED] = {"blocked", "other waiting", "s", "more waiting for something else",
			  "less waiting for something else"},
	[TERM_TAIL] = {"tail", "serial end", "s", "a longer serial end", "a shorter serial end"},
	[TERM_UNKNOWN] = {"unknown", "not recorded", "s", "more time that was not recorded",
			  "less time that was not recorded"},
};

/* The words of a term. The term work is CPU time where there are no counters. */
static struct compare_words words_of(const struct comparison *c, enum compare_term term)
{
	static const struct compare_words cpu = {"work", "CPU time", "s", "more CPU time",
						 "less CPU time"};

	return term == TERM_WORK && c->change[TERM_IPC].is_in == TERM_WORK ? cpu
									   : compare_words[term];
}

/* ---- the page */

#define CELLS	       19 /* characters of a bar */
#define PROGRAM_LEAST  20 /* characters */
#define QUANTITY_WIDTH (REPORT_WIDTH - 43 - CELLS)
#define SAID_SHARE     0.01 /* smaller terms are not in the sentence */
#define MOSTLY	       0.6  /* share of the waiting that makes one node its place */
#define NOTHING	       1e-6 /* share of the wall time: less is rounding */
#define CAUSE_LEAST    1e-3 /* share of the wall time from which a cause is named */
#define SENTENCE       COMPARE_SENTENCE

/* ---- the two runs */

static void print_run(const char *letter, const struct compared_job *r, FILE *out)
{
	size_t others = sizeof("   job  step  \"\"") - 1 + strlen(r->id) + strlen(r->step);
	size_t room = others + PROGRAM_LEAST < REPORT_WIDTH ? REPORT_WIDTH - others : PROGRAM_LEAST;
	char day[32] = "", line[COMMAND_LINE_MAX + 1];
	report_number wall, tasks, cores;
	report_line cut;
	time_t t = (time_t)r->start_s;
	struct tm tm;

	if (r->start_s > 0 && r->start_s < 1e11 && localtime_r(&t, &tm))
		strftime(day, sizeof(day), "%Y-%m-%d %H:%M", &tm);
	fprintf(out, "%s  %-16s  ran %s, %u node%s", letter, day,
		report_text__time(r->run.wall_s, wall), r->nodes, report_text__s(r->nodes));
	if (r->run.cores > 0)
		fprintf(out, ", %s core%s", report_text__count(r->run.cores, cores),
			report_text__s(r->run.cores));
	if (r->tasks)
		fprintf(out, ", %s task%s", report_text__count(r->tasks, tasks),
			report_text__s(r->tasks));
	fputs("\n   ", out);
	fputs(*r->id ? "job " : "a job", out);
	print__escaped(out, r->id);
	fputs(*r->step ? " step " : "", out);
	print__escaped(out, r->step);
	if (*r->program)
		fprintf(out, " \"%s\"",
			report_text__cut(command_line__short(r->program, room, line),
					 (unsigned)room, cut));
	putc('\n', out);
}

/* ---- the sentence */

/* Writes "+1.4" or "-0.2"; a value that rounds to 0 has no sign. */
static const char *put_percent(double v, report_number buf)
{
	snprintf(buf, REPORT_NUMBER, fabs(v) < 0.05 ? "0.0" : "%+.1f", v);
	return buf;
}

struct sentence {
	char *text; /* SENTENCE bytes */
	size_t len;
};

__attribute__((format(printf, 2, 3))) static void say(struct sentence *s, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(s->text + s->len, SENTENCE - s->len, fmt, ap);
	va_end(ap);
	if (n > 0)
		s->len = s->len + (size_t)n < SENTENCE ? s->len + (size_t)n : SENTENCE - 1;
}

struct sized_term {
	double s; /* > 0: it has the sign of the whole change */
	enum compare_term term;
};

/* Sorts terms: those with the sign of the whole change first, each kind by size. */
static int by_size(const void *a, const void *b)
{
	double x = ((const struct sized_term *)a)->s, y = ((const struct sized_term *)b)->s;

	if ((x > 0) != (y > 0))
		return (y > 0) - (x > 0);
	return (fabs(x) < fabs(y)) - (fabs(x) > fabs(y));
}

/* Adds the node, of several, on which most of the additional waiting was. */
static void say_where(const struct compare_page *p, enum compare_term term, struct sentence *s)
{
	const char *node = term == TERM_WAIT ? p->b->wait_node : p->b->disk_node;
	double share = term == TERM_WAIT ? p->b->wait_share : p->b->disk_share;

	if ((term == TERM_WAIT || term == TERM_DISK) && p->b->nodes > 1 && node &&
	    share >= MOSTLY && p->c->change[term].s > 0)
		say(s, ", mostly on %.64s", node);
}

/* Adds the node whose clock or IPC is slower. */
static void say_slow(const struct compare_page *p, enum compare_term term, struct sentence *s)
{
	const struct compare_slow *slow = term == TERM_CLOCK ? &p->b->clock : &p->b->ipc;
	report_number share;

	if ((term == TERM_CLOCK || term == TERM_IPC) && slow->node && p->c->change[term].s > 0)
		say(s, ", %.64s at %s of the others", slow->node,
		    report_text__share(slow->ratio, share));
}

static void sort_terms(const struct comparison *c, struct sized_term sorted[static N_TERMS])
{
	double sign = c->s < 0 ? -1 : 1;

	for (int i = 0; i < N_TERMS; i++)
		sorted[i] =
			(struct sized_term){isnan(c->change[i].s) ? 0 : sign * c->change[i].s, i};
	qsort(sorted, N_TERMS, sizeof(*sorted), by_size);
}

/* Writes an amount in percent of A; in seconds if B took at least twice as long, since then the
 * sentence gives no percent of the whole. */
static const char *amount(const struct compare_page *p, double s, report_number text)
{
	double wall = p->a->run.wall_s;

	return p->c->s < wall ? report_text__share(fabs(s / wall), text)
			      : report_text__time(fabs(s), text);
}

/* Adds the terms that matter. Returns their number. */
static unsigned say_terms(const struct compare_page *p, struct sentence *s, bool *work)
{
	bool is_same = fabs(p->c->s / p->a->run.wall_s) < COMPARE_SAME, against = false;
	struct sized_term sorted[N_TERMS];
	unsigned said = 0;
	report_number text;

	sort_terms(p->c, sorted);
	for (int i = 0; i < N_TERMS; i++) {
		enum compare_term term = sorted[i].term;
		struct compare_words words = words_of(p->c, term);
		double of_a = p->c->change[term].s / p->a->run.wall_s;
		bool turns = sorted[i].s < 0 && !against;

		if (!(fabs(of_a) >= SAID_SHARE) || fabs(sorted[i].s) < 0.1 * fabs(p->c->s))
			continue;
		*work |= term == TERM_WORK;
		against |= turns;
		say(s, "%s%s%s%s for %s", said++ ? "; " : "",
		    turns && !is_same ? "against it " : "", amount(p, p->c->change[term].s, text),
		    !is_same && !against ? ""
		    : of_a > 0		 ? " more"
					 : " less",
		    of_a > 0 ? words.more : words.less);
		say_where(p, term, s);
		say_slow(p, term, s);
	}
	return said;
}

static void say_work(const struct compare_page *p, struct sentence *s)
{
	const struct compare_change *work = &p->c->change[TERM_WORK];
	double ratio = work->after / work->before - 1;
	report_number percent;

	if (!(fabs(ratio) < COMPARE_SAME))
		return;
	say(s, " The %s is the same (%s %%%s).", words_of(p->c, TERM_WORK).name,
	    put_percent(100 * ratio, percent),
	    p->c->change[TERM_IPC].is_in == TERM_WORK ? "" : " instructions");
}

/* Writes the first sentence of the page. Names of nodes are not escaped. */
static void compare_sentence(const struct compare_page *p, char text[static COMPARE_SENTENCE])
{
	double of_a = p->c->s / p->a->run.wall_s;
	struct sentence s = {.text = text};
	report_number share, time;
	bool work = false;

	if (fabs(of_a) < COMPARE_SAME)
		say(&s, "B took as long as A (%s %%)", put_percent(100 * of_a, share));
	else if (of_a >= 1)
		say(&s,
		    of_a < 999 ? "B took %.3g times as long as A (+%s)"
			       : "B took %.0f times as long as A (+%s)",
		    1 + of_a, report_text__time(p->c->s, time));
	else
		say(&s, "B took %s %s than A (%s)", report_text__share(fabs(of_a), share),
		    of_a > 0 ? "longer" : "less time", report_text__time(fabs(p->c->s), time));
	say(&s, ": ");
	if (!say_terms(p, &s, &work))
		s.len -= 2;
	say(&s, ".");
	if (!work)
		say_work(p, &s);
}

static void print_sentence(const struct compare_page *p, FILE *out)
{
	char text[COMPARE_SENTENCE];

	compare_sentence(p, text);
	putc('\n', out);
	report_text__paragraph(out, text, 0, 0);
}

/* ---- the waterfall */

/* The highest sum of the waterfall from A's time to B's: the axis goes from 0 to there. */
static double axis_of(const struct compare_page *p)
{
	double at = p->a->run.wall_s, most = fmax(at, p->b->run.wall_s);

	for (int i = 0; i < N_TERMS; i++) {
		at += isnan(p->c->change[i].s) ? 0 : p->c->change[i].s;
		most = fmax(most, at);
	}
	return most;
}

static int cell_of(double axis_s, double s)
{
	return axis_s > 0 ? (int)lrint(fmax(0, s) / axis_s * (CELLS - 1)) : 0;
}

/* Prints a bar between two sums: + adds, - takes, | is a change below one character. */
static void print_bar(double axis_s, double from, double to, FILE *out)
{
	int a = cell_of(axis_s, from), b = cell_of(axis_s, to);
	int low = a < b ? a : b, high = a < b ? b : a;

	for (int i = 0; i < CELLS; i++)
		putc(i < low || i > high ? ' ' : low == high ? '|' : to > from ? '+' : '-', out);
}

/* Writes two times that are too long for minutes and seconds in hours: "31.0 -> 34.4 h". */
static void put_hours(double a, double b, char *text, size_t size)
{
	double most = fmax(a, b) / 3600, by = most < 999999.5 ? 3600 : 3.6e9;

	snprintf(text, size, "%.*f -> %.*f %s", a / by < 99.95, a / by,
		 b / by<99.95, b / by, by> 3600 ? "Mh" : "h");
}

static void put_times(double a, double b, char *text, size_t size)
{
	report_number x, y;
	int n = snprintf(text, size, "%s -> %s", report_text__time(a, x), report_text__time(b, y));

	if (n > QUANTITY_WIDTH)
		put_hours(a, b, text, size);
}

static void print_quantity(const struct compare_change *c, enum compare_term term, bool counters,
			   char *text, size_t size)
{
	char x[NUMBER_SIZE], y[NUMBER_SIZE];

	if (isnan(c->before) || isnan(c->after))
		snprintf(text, size, "?");
	else if (term == TERM_WORK && counters)
		snprintf(text, size, "%s -> %s", number__text(c->before, U_SI, x),
			 number__text(c->after, U_SI, y));
	else if (term == TERM_IPC || (term == TERM_BALANCE && fmax(c->before, c->after) < 999.5))
		snprintf(text, size, "%.3g -> %.3g", c->before, c->after);
	else if (term == TERM_BALANCE)
		snprintf(text, size, "%.0f -> %.0f", c->before, c->after);
	else if (term == TERM_CLOCK)
		snprintf(text, size, "%.2f -> %.2f GHz", c->before / 1e9, c->after / 1e9);
	else if (term == TERM_CORES)
		snprintf(text, size, "%.0f -> %.0f", c->before, c->after);
	else
		put_times(fmax(0, c->before), fmax(0, c->after), text, size);
}

static bool is_shown(const struct compare_page *p, enum compare_term term)
{
	const struct compare_change *c = &p->c->change[term];

	if (c->is_in != term)
		return false;
	if (compare_term__is_cause(term))
		return fmax(c->before, c->after) >= CAUSE_LEAST * p->a->run.wall_s;
	/* few runs have these */
	if (term == TERM_CORES || term == TERM_UNKNOWN || term == TERM_TAIL)
		return c->s != 0 || (term == TERM_TAIL && c->before > 0);
	return true;
}

static void print_term(const struct compare_page *p, enum compare_term term, double axis_s,
		       double at, FILE *out)
{
	const struct compare_change *c = &p->c->change[term];
	bool counters = p->c->change[TERM_IPC].is_in != TERM_WORK;
	char quantity[96];
	report_number change, percent;

	report_text__change(fabs(c->s) < NOTHING * p->a->run.wall_s ? 0 : c->s, change);
	put_percent(100 * c->s / p->a->run.wall_s, percent);
	print_quantity(c, term, counters, quantity, sizeof(quantity));
	fprintf(out, "  %-16s %9s %7s %% %s ", words_of(p->c, term).name, change, percent,
		p->spread && p->spread[term].is_unusual ? "!" : " ");
	print_bar(axis_s, at, at + c->s, out);
	/* longer numbers come from a damaged file */
	fprintf(out, "  %s\n", strlen(quantity) <= QUANTITY_WIDTH ? quantity : "?");
}

static void print_end(const char *name, double wall_s, double axis_s, FILE *out)
{
	report_number wall;

	fprintf(out, "  %-16s %9s %12s", name, report_text__time(wall_s, wall), "");
	for (int i = cell_of(axis_s, wall_s); i >= 0; i--)
		putc('=', out);
	putc('\n', out);
}

static void print_waterfall(const struct compare_page *p, FILE *out)
{
	double axis_s = axis_of(p), at = p->a->run.wall_s;
	report_number most;

	fprintf(out, "\nWhy%25s %9s   %-*s  A -> B\n", "change", "of A", CELLS, "- less   + more");
	print_end("A", p->a->run.wall_s, axis_s, out);
	for (int i = 0; i < N_TERMS; i++) {
		if (is_shown(p, i))
			print_term(p, i, axis_s, at, out);
		at += isnan(p->c->change[i].s) ? 0 : p->c->change[i].s;
	}
	print_end("B", p->b->run.wall_s, axis_s, out);
	fprintf(out, "%41s0%*s\n", "", CELLS - 1, report_text__time(axis_s, most));
	report_text__paragraph(
		out,
		p->c->change[TERM_IPC].is_in == TERM_WORK
			? "Changes are in seconds of the run. CPU time A -> B is that of "
			  "all threads together."
			: "Changes are in seconds of the run.",
		2, 2);
}

/* ---- how usual such a difference is */

static void print_unusual(const struct compare_page *p, FILE *out)
{
	unsigned n = 0;

	fprintf(out, "\nAgainst %u earlier runs, of ln(B/A)%22s\n", p->earlier,
		"usual            B");
	for (int i = 0; i < N_TERMS; i++) {
		const struct compare_spread *s = &p->spread[i];
		report_number median, ln;

		if (!s->is_unusual)
			continue;
		n++;
		fprintf(out, "! %-24s %9s %% +- %4.1f %% %9s %%\n", words_of(p->c, i).name,
			put_percent(100 * s->median, median), 100 * s->mad,
			put_percent(100 * p->c->change[i].ln, ln));
	}
	fprintf(out, "  %s\n", n ? "all other terms are as usual" : "all terms are as usual");
}

static void print_judgement(const struct compare_page *p, FILE *out)
{
	char text[256];

	if (p->spread && p->earlier >= COMPARE_RUNS_LEAST) {
		print_unusual(p, out);
		return;
	}
	if (p->spread)
		snprintf(text, sizeof(text),
			 "Two runs only: the baseline has %u like A, and %d are needed to tell "
			 "what is "
			 "usual.",
			 p->earlier, COMPARE_RUNS_LEAST);
	else
		snprintf(text, sizeof(text),
			 "Two runs only: how much such runs differ anyway is not known; --baseline "
			 "with "
			 "%d earlier ones tells.",
			 COMPARE_RUNS_LEAST);
	putc('\n', out);
	report_text__paragraph(out, text, 0, 0);
}

static void print_merged(const struct compare_page *p, enum compare_term term, FILE *out)
{
	enum compare_term in = p->c->change[term].is_in;
	const char *name = compare_words[term].name;
	char text[400];

	/* the reason for clock is that for IPC, and all causes have one */
	if (in == term || term == TERM_CLOCK || !*p->why[term])
		return;
	if (compare_term__is_cause(term) && term != TERM_QUOTA)
		return;
	if (term == TERM_IPC)
		name = "IPC and clock";
	if (term == TERM_QUOTA)
		name = "causes (locks, pipe, socket ...)";
	snprintf(text, sizeof(text), "%c%s %s part of \"%s\": %s.", toupper(name[0]), name + 1,
		 term == TERM_IPC || term == TERM_QUOTA ? "are" : "is", words_of(p->c, in).name,
		 p->why[term]);
	report_text__paragraph(out, text, 0, 2);
}

static void print_notes(const struct compare_page *p, FILE *out)
{
	char text[400];

	for (int i = 0; i < N_TERMS; i++)
		print_merged(p, i, out);
	for (const char *const *n = p->notes; *n; n++)
		report_text__paragraph(out, *n, 0, 2);
	if (p->left_out) {
		snprintf(text, sizeof(text),
			 "%u other run%s of the baseline: not like A in program, nodes, tasks or "
			 "columns.",
			 p->left_out, report_text__s(p->left_out));
		report_text__paragraph(out, text, 0, 2);
	}
	if (p->later)
		fprintf(out, "%u run%s of the baseline began after B and %s not count.\n", p->later,
			report_text__s(p->later), p->later == 1 ? "does" : "do");
}

void compare__print(const struct compare_page *p, FILE *out)
{
	print_run("A", p->a, out);
	print_run("B", p->b, out);
	print_sentence(p, out);
	print_waterfall(p, out);
	compare_tables__print(p->tables, p->ntables, out);
	print_judgement(p, out);
	print_notes(p, out);
}

/* ---- the same as JSON: docs/compare-json.md has the schema */

#define FORMAT 1 /* grows when a key changes its meaning or is removed */

static json_t *place_json(const char *node, double share)
{
	json_t *o = json_object();

	if (!node) {
		json_decref(o);
		return json_null();
	}
	json__set(o, "node", json__text(node));
	json__set(o, "share", json__number(share));
	return o;
}

static json_t *slow_json(const struct compare_slow *s)
{
	return s->node ? json_pack("{s:o, s:o}", "node", json__text(s->node), "ratio",
				   json__number(s->ratio))
		       : json_null();
}

static json_t *run_json(const struct compared_job *r)
{
	json_t *o = json_object();

	json__set(o, "job", json__nonempty(r->id));
	json__set(o, "step", json__nonempty(r->step));
	json__set(o, "program", json__nonempty(r->program));
	JSON_NUMBERS(o, {"start", r->start_s}, {"wall_s", r->run.wall_s});
	json__set(o, "nodes", json_integer(r->nodes));
	json__set(o, "tasks", json_integer(r->tasks));
	json__set(o, "cores", json__number(r->run.cores));
	json__set(o, "waits_for_cpu", place_json(r->wait_node, r->wait_share));
	json__set(o, "waits_for_disk", place_json(r->disk_node, r->disk_share));
	json__set(o, "low_clock", slow_json(&r->clock));
	json__set(o, "low_ipc", slow_json(&r->ipc));
	return o;
}

static json_t *usual_json(const struct compare_spread *s)
{
	json_t *o = json_object();

	if (!s || isnan(s->median)) {
		json_decref(o);
		return json_null();
	}
	JSON_NUMBERS(o, {"median", s->median}, {"mad", s->mad}, {"z", s->z});
	json__set(o, "unusual", isnan(s->z) ? json_null() : json_boolean(s->is_unusual));
	return o;
}

static json_t *term_json(const struct compare_page *p, enum compare_term term)
{
	const struct compare_change *change = &p->c->change[term];
	struct compare_words words = words_of(p->c, term);
	bool own = change->is_in == term;
	json_t *o = json_object();

	json__set(o, "id", json_string(words.id));
	json__set(o, "name", json_string(words.name));
	JSON_NUMBERS(o, {"s", change->s}, {"ln", change->ln},
		     {"share", change->s / p->a->run.wall_s}, {"a", change->before},
		     {"b", change->after});
	json__set(o, "unit", json_string(words.unit));
	json__set(o, "part_of", own ? json_null() : json_string(compare_words[change->is_in].id));
	json__set(o, "reason", own ? json_null() : json__nonempty(p->why[term]));
	json__set(o, "usual", usual_json(p->spread ? &p->spread[term] : NULL));
	return o;
}

static json_t *baseline_json(const struct compare_page *p)
{
	json_t *o = json_object();

	json__set(o, "runs", json_integer(p->earlier));
	json__set(o, "left_out", json_integer(p->left_out + p->later));
	json__set(o, "later", json_integer(p->later));
	json__set(o, "is_judged", json_boolean(p->earlier >= COMPARE_RUNS_LEAST));
	return o;
}

json_t *compare__json(const struct compare_page *p)
{
	json_t *o = json_object(), *terms = json_array(), *notes = json_array();
	char sentence[COMPARE_SENTENCE];

	for (int i = 0; i < N_TERMS; i++)
		json_array_append_new(terms, term_json(p, i));
	for (const char *const *n = p->notes; *n; n++)
		json_array_append_new(notes, json__text(*n));
	compare_sentence(p, sentence);
	json__set(o, "format", json_integer(FORMAT));
	json__set(o, "sentence", json__text(sentence));
	json__set(o, "a", run_json(p->a));
	json__set(o, "b", run_json(p->b));
	JSON_NUMBERS(o, {"s", p->c->s}, {"ln", p->c->ln});
	json__set(o, "cause",
		  p->c->cause == N_TERMS ? json_null()
					 : json_string(compare_words[p->c->cause].id));
	json__set(o, "terms", terms);
	json__set(o, "tables", compare_tables__json(p->tables, p->ntables));
	json__set(o, "baseline", baseline_json(p));
	json__set(o, "notes", notes);
	return o;
}
