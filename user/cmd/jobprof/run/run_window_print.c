// SPDX-License-Identifier: GPL-2.0-only
/* The page about the window of a step in which a command ran, and the same as JSON. */
#include <math.h>
#include <stdio.h>

#include <jansson.h>

#include "base/escape.h"
#include "base/json.h"
#include "client/protocol.h"
#include "cmd/jobprof/run/run_window.h"
#include "view/report/report_text.h"

#define LABEL 16
#define CELL  14
#define BAR   40

typedef const char *(*to_text)(double v, report_number buf);

static const char *exact_time(double s, report_number buf)
{
	if (!(s < 60))
		return report_text__time(s, buf);
	snprintf(buf, REPORT_NUMBER, "%.3f s", s);
	return buf;
}

/* The names in JSON are those of the report's facts, as far as it has them. */
static const struct line {
	enum window_column column;
	const char *label, *key;
	to_text text;
} lines[] = {
	{WINDOW_CPU, "CPU time", "cpu_s", exact_time},
	{WINDOW_USER, "  in user mode", "user_s", exact_time},
	{WINDOW_SYSTEM, "  in the kernel", "system_s", exact_time},
	{WINDOW_WAIT, "wait for CPU", "wait_s", exact_time},
	{WINDOW_DISK_WAIT, "wait for disk", "disk_wait_s", exact_time},
	{WINDOW_VOLUNTARY, "gave CPU up", "voluntary_switches", report_text__count},
	{WINDOW_FORCED, "lost CPU", "forced_switches", report_text__count},
	{WINDOW_PEAK, "memory peak", "peak_mb", report_text__mb},
	{WINDOW_READ, "read", "read_mb", report_text__mb},
	{WINDOW_WRITE, "written", "write_mb", report_text__mb},
	{WINDOW_DISK_READ, "read from disk", "disk_read_mb", report_text__mb},
	{WINDOW_DISK_WRITE, "written to disk", "disk_write_mb", report_text__mb},
	{WINDOW_NET_RX, "received", "net_rx_mb", report_text__mb},
	{WINDOW_NET_TX, "sent", "net_tx_mb", report_text__mb},
};
#define LINES (sizeof(lines) / sizeof(lines[0]))

static double wall_s(const struct window *w)
{
	return window__used(w, WINDOW_STEP, WINDOW_TIME_NS) / 1e9;
}

static bool has_task(const struct window *w)
{
	return w->task != JPC_UNKNOWN && !isnan(w->after.v[WINDOW_TASK][WINDOW_TIME_NS]);
}

static void print_command(const struct window *w, FILE *out)
{
	for (char **a = w->argv; *a; a++) {
		fputs(a == w->argv ? "" : " ", out);
		print__escaped(out, *a);
	}
}

static void print_head(const struct window *w, FILE *out)
{
	report_number wall;

	fputs("\nstep ", out);
	print__escaped(out, w->before.step);
	fprintf(out, ", %s from the begin of CMD to its end, exit status %d: ",
		report_text__time(wall_s(w), wall), w->status);
	print_command(w, out);
	putc('\n', out);
}

static void print_share(const char *name, double share, FILE *out)
{
	int cells = (int)lrint(fmin(fmax(share, 0), 1) * BAR);

	fprintf(out, "  %-14s %5.1f %%  ", name, 100 * share);
	while (cells-- > 0)
		putc('#', out);
	putc('\n', out);
}

/* Prints the budget of the task, since the CPUs of its processes are known here, and those of the
 * step are not. */
static void print_budget(const struct window *w, FILE *out)
{
	enum window_table t = has_task(w) ? WINDOW_TASK : WINDOW_STEP;
	double cpu = window__used(w, t, WINDOW_CPU), user = window__used(w, t, WINDOW_USER),
	       system = window__used(w, t, WINDOW_SYSTEM), all = fmax(w->cores * wall_s(w), cpu);
	report_number wall, cores;

	if (isnan(w->cores) || isnan(cpu) || !(all > 0))
		return;
	fprintf(out, "\nWhere the time went: %.0f core%s x %s = %s\n", w->cores,
		report_text__s(w->cores), report_text__time(wall_s(w), wall),
		report_text__cores(w->cores * wall_s(w), cores));
	if (user + system > 0) {
		print_share("own code", cpu / all * user / (user + system), out);
		print_share("kernel", cpu / all * system / (user + system), out);
	} else {
		print_share("CPU time", cpu / all, out);
	}
	print_share("others or idle", (all - cpu) / all, out);
}

static void print_line(const struct window *w, const struct line *l, FILE *out)
{
	double step = window__used(w, WINDOW_STEP, l->column),
	       task = window__used(w, WINDOW_TASK, l->column);
	report_number text;

	if (isnan(step) && isnan(task))
		return;
	fprintf(out, "  %-*s%*s", LABEL, l->label, CELL, l->text(step, text));
	if (has_task(w))
		fprintf(out, "%*s", CELL, l->text(task, text));
	putc('\n', out);
}

static void print_peak_note(const struct window *w, FILE *out)
{
	double before = w->before.v[WINDOW_STEP][WINDOW_PEAK],
	       after = w->after.v[WINDOW_STEP][WINDOW_PEAK];
	report_number text;

	if (before != after) /* it has risen, or a new jobprofd does not know the old one */
		return;
	fprintf(out, "The memory of the step stayed below its peak before CMD, which was %s.\n",
		report_text__mb(before, text));
}

static double seconds(struct timeval t)
{
	return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

void window__print_foot(const struct window *w)
{
	report_number size;

	fprintf(stderr,
		"CMD alone: exit status %d, user %.3f s, system %.3f s, largest process %s.\n",
		w->status, seconds(w->use.ru_utime), seconds(w->use.ru_stime),
		report_text__mb((double)w->use.ru_maxrss / 1024, size));
	fputs("What other processes of the step and task did in that time is in these numbers.\n",
	      stderr);
}

void window__print(const struct window *w)
{
	FILE *out = stderr;
	char task[32];

	print_head(w, out);
	print_budget(w, out);
	fprintf(out, "\n%-*s%*s", LABEL + 2, "What was used", CELL, "step");
	if (has_task(w)) {
		snprintf(task, sizeof(task), "task %u", w->task);
		fprintf(out, "%*s", CELL, task);
	}
	putc('\n', out);
	for (size_t i = 0; i < LINES; i++)
		print_line(w, &lines[i], out);
	print_peak_note(w, out);
	window__print_foot(w);
}

static json_t *json_of_table(const struct window *w, enum window_table t)
{
	json_t *j = json_object();

	for (size_t i = 0; i < LINES; i++)
		json_object_set_new(j, lines[i].key,
				    json__number(window__used(w, t, lines[i].column)));
	json_object_set_new(j, "earlier_peak_mb", json__number(w->before.v[t][WINDOW_PEAK]));
	return j;
}

static json_t *json_of_series(const struct window *w)
{
	json_t *j = json_object();
	char task[32];

	json_object_set_new(j, "Step", json_of_table(w, WINDOW_STEP));
	if (has_task(w)) {
		snprintf(task, sizeof(task), "Tasks/%u", w->task);
		json_object_set_new(j, task, json_of_table(w, WINDOW_TASK));
	}
	return j;
}

void window__print_json(const struct window *w, json_t *report, FILE *out)
{
	json_t *command = json_array(), *j;

	for (char **a = w->argv; *a; a++)
		json_array_append_new(command, json__text(*a));
	j = json_pack("{s:o, s:o, s:i, s:I, s:o, s:o, s:{s:f, s:f, s:f}, s:o, s:o}", "step",
		      json__text(w->before.step), "command", command, "exit_status", w->status,
		      "begin_ns", (json_int_t)w->begin_ns, "wall_s", json__number(wall_s(w)),
		      "cores", json__number(w->cores), "command_use", "user_s",
		      seconds(w->use.ru_utime), "system_s", seconds(w->use.ru_stime), "max_rss_mb",
		      (double)w->use.ru_maxrss / 1024, "series", json_of_series(w), "report",
		      report ? report : json_null());
	if (!j)
		return;
	json__dump(j, out, JSON_INDENT(2));
	fputc('\n', out);
	json_decref(j);
}

double window__used(const struct window *w, enum window_table t, enum window_column c)
{
	double before = w->before.v[t][c], after = w->after.v[t][c];

	if (c == WINDOW_PEAK)
		return isnan(before) || after > before ? after : NAN;
	/* the split of user and kernel mode may have been corrected by a hair */
	return after < before ? 0 : after - before;
}
