/* SPDX-License-Identifier: GPL-2.0-only */
/* The text page of "jobprof show". */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/show_view.h"
#include "cmd/spark.h"

#define DETAIL_TASKS 4 /* more tasks than these get a line each */
#define LABEL	     12
#define PAGE_WIDTH   80 /* of text; sparklines take the terminal's */

static const char *known(double v, const char *fmt, char buf[static 32])
{
	if (isnan(v))
		return "?";
	snprintf(buf, 32, fmt, v);
	return buf;
}

/* Formatted numbers, each in a buffer of its own statement. */
#define NUM(v, fmt) known((v), (fmt), (char[32]){0})

static const char *duration(double ns, char buf[static 32])
{
	static const char *const units[] = {"ns", "us", "ms", "s"};
	unsigned u = 0;

	if (isnan(ns))
		return "?";
	for (; ns >= 1000 && u < 3; u++)
		ns /= 1000;
	snprintf(buf, 32, "%.3g %s", ns, units[u]);
	return buf;
}

#define DURATION(ns) duration((ns), (char[32]){0})

static void put_attr(FILE *out, const struct reader_attr *a)
{
	if (a->type == ATTR_STR)
		print__escaped(out, a->str);
	else if (a->type == ATTR_F64)
		fprintf(out, "%g", a->f);
	else
		fprintf(out, "%lld", (long long)a->i);
}

static void put_label(FILE *out, const char *label)
{
	fprintf(out, "  %-*s", LABEL - 2, label);
}

static void print_head(const struct view *v, FILE *out)
{
	static const char *const more[] = {"Start Time", "End Reason", "Exit Status", "User",
					   "Job Name"};
	const struct reader_attr *a;
	double tasks;

	fputs(*v->r->job ? "job " : "", out);
	fputs(v->r->job, out);
	fputs(*v->n->step ? " step " : "", out);
	print__escaped(out, view__step_name(v->n->step));
	fputs(*v->r->job || *v->n->step ? " on " : "", out);
	print__escaped(out, v->n->name);
	fprintf(out, ": %s s", NUM(v->wall, "%.3f"));
	if (!node__number(v->n, "Number of Tasks", &tasks))
		tasks = v->ntasks;
	fprintf(out, ", %.0f task%s", tasks, tasks == 1 ? "" : "s");
	if (v->node_cpus > 0)
		fprintf(out, ", %.0f CPU%s", v->node_cpus, v->node_cpus == 1 ? "" : "s");
	putc('\n', out);
	for (size_t i = 0, n = 0; i < sizeof(more) / sizeof(more[0]); i++) {
		a = node__attr(v->n, more[i]);
		if (a) {
			fprintf(out, "%s%s: ", n++ ? "; " : "  ", more[i]);
			put_attr(out, a);
		}
		if (i + 1 == sizeof(more) / sizeof(more[0]) && n)
			putc('\n', out);
	}
}

static void print_spark(FILE *out, const struct view *v, const struct view_task *t,
			const char *label, const double *values, bool rate, const char *unit,
			unsigned width, bool utf8)
{
	unsigned n = width - LABEL - 20;
	double max = NAN;
	double bins[256];

	if (!t->end || !values || !(v->wall > 0))
		return;
	calc__bins(t->end, values, t->t->nrows, v->wall, rate, bins, n);
	for (unsigned i = 0; i < n; i++)
		if (isnan(max) || bins[i] > max)
			max = bins[i];
	if (isnan(max))
		return;
	put_label(out, label);
	spark__print(out, bins, n, max, utf8);
	fprintf(out, " max %.4g %s\n", max, unit);
}

static void print_io_spark(FILE *out, const struct view *v, const struct view_task *t,
			   unsigned width, bool utf8)
{
	const double *rd = table__column(t->t, "ReadMB"), *wr = table__column(t->t, "WriteMB");
	double *sum = rd && wr ? calloc(t->t->nrows + 1, sizeof(*sum)) : NULL;

	for (uint64_t i = 0; sum && i < t->t->nrows; i++)
		sum[i] = rd[i] + wr[i];
	print_spark(out, v, t, "I/O", sum, true, "MB/s", width, utf8);
	free(sum);
}

static void print_sparks(FILE *out, const struct view *v, const struct view_task *t, unsigned width,
			 bool utf8)
{
	const double *rss = table__column(t->t, "RSS");
	double *mb = rss ? calloc(t->t->nrows + 1, sizeof(*mb)) : NULL;

	print_spark(out, v, t, "CPU", table__column(t->t, "CPUUtilization"), false, "%", width,
		    utf8);
	for (uint64_t i = 0; mb && i < t->t->nrows; i++)
		mb[i] = rss[i] / 1024;
	print_spark(out, v, t, "RSS", mb, false, "MB", width, utf8);
	free(mb);
	print_io_spark(out, v, t, width, utf8);
}

/* A number and how to say it; unknown ones are left out of the line. */
struct item {
	const char *fmt;
	double v;
};

static void print_items(FILE *out, const char *label, const struct item *items, unsigned n)
{
	unsigned printed = 0;
	int column = LABEL;

	for (unsigned i = 0; i < n; i++) {
		char text[64];
		int len;

		if (isnan(items[i].v))
			continue;
		len = snprintf(text, sizeof(text), items[i].fmt, items[i].v);
		if (!printed++) {
			put_label(out, label);
		} else if (column + 3 + len > PAGE_WIDTH) {
			fprintf(out, ",\n%*s", LABEL, "");
			column = LABEL;
		} else {
			column += fprintf(out, ", ");
		}
		column += fprintf(out, "%s", text);
	}
	if (printed)
		putc('\n', out);
}

#define PRINT_ITEMS(out, label, items) \
	print_items((out), (label), (items), sizeof(items) / sizeof((items)[0]))

static void print_cpu(FILE *out, const struct view_task *t, double cpus)
{
	const struct item cpu[] = {
		{"%.3f s", calc__sum(t->t, "CPUTime")},
		{"%.1f %% of the allocation", 100 * view__efficiency(t, cpus)},
		{"user %.2f s", calc__sum(t->t, "UserTime")},
		{"system %.2f s", calc__sum(t->t, "SystemTime")},
	};
	const struct item sched[] = {
		{"waited for a CPU %.3f s", calc__sum(t->t, "RunDelay")},
		{"for disk %.3f s", calc__sum(t->t, "OffCPUDisk")},
		{"migrations %.0f", calc__sum(t->t, "Migrations")},
	};
	const struct item switches[] = {
		{"voluntary %.0f", calc__sum(t->t, "VolSwitches")},
		{"forced %.0f", calc__sum(t->t, "InvolSwitches")},
		{"processes made %.0f", calc__sum(t->t, "Forks")},
		{"threads at most %.0f", calc__max(t->t, "Threads")},
	};

	PRINT_ITEMS(out, "CPU time", cpu);
	PRINT_ITEMS(out, "scheduler", sched);
	PRINT_ITEMS(out, "switches", switches);
}

static void print_latency(FILE *out, const struct table *t)
{
	double counts[JP_LAT_BUCKETS];

	if (!t || !(calc__histogram(t, counts) > 0))
		return;
	put_label(out, "run queue");
	fprintf(out, "p50 < %s, p90 < %s, p99 < %s, all < %s\n",
		DURATION(calc__quantile(counts, 0.5)), DURATION(calc__quantile(counts, 0.9)),
		DURATION(calc__quantile(counts, 0.99)), DURATION(calc__quantile(counts, 1)));
}

static void print_memory(FILE *out, const struct view *v, const struct view_task *t)
{
	double peak = view__peak_mb(t->t), major = calc__sum(t->t, "MajorFaults");
	const struct item memory[] = {
		{"peak %.1f MB", peak},
		{"%.0f %% of the limit", v->limit_mb > 0 ? 100 * peak / v->limit_mb : NAN},
		{"swap %.1f MB", calc__max(t->t, "SwapMB") > 0 ? calc__max(t->t, "SwapMB") : NAN},
		{"minor faults %.0f", calc__sum(t->t, "MinorFaults")},
		{"major faults %.0f", isnan(major) ? calc__last(t->t, "Pages") : major},
	};

	PRINT_ITEMS(out, "memory", memory);
}

static void print_io(FILE *out, const struct view_task *t)
{
	const struct item calls[] = {
		{"read %.1f MB", calc__sum(t->t, "ReadMB")},
		{"written %.1f MB", calc__sum(t->t, "WriteMB")},
		{"read calls %.0f", calc__sum(t->t, "ReadCalls")},
		{"write calls %.0f", calc__sum(t->t, "WriteCalls")},
	};
	const struct item disk[] = {
		{"read %.1f MB", calc__sum(t->t, "DiskReadMB")},
		{"written %.1f MB", calc__sum(t->t, "DiskWriteMB")},
	};

	PRINT_ITEMS(out, "I/O", calls);
	PRINT_ITEMS(out, "disk", disk);
}

static void print_task(const struct view *v, const struct view_task *t, FILE *out, unsigned width,
		       bool utf8)
{
	fputs("task ", out);
	print__escaped(out, t->name);
	fprintf(out, ": wall %s s, %llu rows\n", NUM(t->wall, "%.3f"),
		(unsigned long long)t->t->nrows);
	print_cpu(out, t, v->task_cpus);
	print_latency(out, t->latency);
	print_memory(out, v, t);
	print_io(out, t);
	print_sparks(out, v, t, width, utf8);
}

static void print_table(const struct view *v, FILE *out, unsigned width, bool utf8)
{
	unsigned n = width > 74 ? width - 66 : 8;

	fprintf(out, "%6s %8s %9s %5s %8s %8s %8s %8s CPU\n", "task", "wall s", "CPU s", "eff%",
		"delay s", "peak MB", "read MB", "write MB");
	for (unsigned i = 0; i < v->ntasks; i++) {
		const struct view_task *t = &v->tasks[i];
		const double *util = table__column(t->t, "CPUUtilization");
		double bins[256];

		for (int pad = 6 - (int)strlen(t->name); pad > 0; pad--)
			putc(' ', out);
		print__escaped(out, t->name);
		fprintf(out, " %8s %9s %5s %8s %8s %8s %8s ", NUM(t->wall, "%.1f"),
			NUM(calc__sum(t->t, "CPUTime"), "%.2f"),
			NUM(100 * view__efficiency(t, v->task_cpus), "%.0f"),
			NUM(calc__sum(t->t, "RunDelay"), "%.2f"), NUM(view__peak_mb(t->t), "%.0f"),
			NUM(calc__sum(t->t, "ReadMB"), "%.0f"),
			NUM(calc__sum(t->t, "WriteMB"), "%.0f"));
		if (t->end && util && v->wall > 0) {
			calc__bins(t->end, util, t->t->nrows, v->wall, false, bins, n);
			spark__print(out, bins, n, 100 * (v->task_cpus > 1 ? v->task_cpus : 1),
				     utf8);
		}
		putc('\n', out);
	}
}

static void print_step(const struct view *v, FILE *out, unsigned width, bool utf8)
{
	const struct table *t = v->step.t;
	const struct item cgroup[] = {
		{"memory %.1f MB", calc__last(t, "MemMB")},
		{"peak %.1f MB", calc__max(t, "MemPeakMB")},
		{"limit %.0f MB", calc__last(t, "MemLimitMB")},
		{"throttled %.3f s", calc__sum(t, "Throttled")},
		{"OOM kills %.0f", calc__sum(t, "OOMKills")},
	};
	const struct item pressure[] = {
		{"CPU %.3f s", calc__sum(t, "PSICpu")},
		{"memory %.3f s", calc__sum(t, "PSIMem")},
		{"I/O %.3f s", calc__sum(t, "PSIIO")},
	};

	fprintf(out, "step: all processes\n");
	print_cpu(out, &v->step, v->node_cpus);
	print_memory(out, v, &v->step);
	PRINT_ITEMS(out, "cgroup", cgroup);
	PRINT_ITEMS(out, "pressure", pressure);
	if (v->ntasks != 1)
		print_sparks(out, v, &v->step, width, utf8);
}

static bool is_mode(const struct reader_attr *a)
{
	return !strncmp(a->name, "Mode ", 5) && a->type == ATTR_STR;
}

/* The families that are as good as can be share a line; each of the others says why it is not. */
static void print_modes(const struct view *v, FILE *out)
{
	bool any = false;

	for (unsigned i = 0; i < v->n->nattrs; i++) {
		const struct reader_attr *a = &v->n->attrs[i];

		if (!is_mode(a) || strcmp(a->str, "exact"))
			continue;
		fputs(any ? ", " : "Mode exact: ", out);
		print__escaped(out, a->name + 5);
		any = true;
	}
	if (any)
		putc('\n', out);
}

static bool all_unknown(const struct table *t, unsigned col)
{
	for (uint64_t r = 0; r < t->nrows; r++)
		if (!isnan(t->cells[col * t->nrows + r]))
			return false;
	return t->nrows > 0;
}

/* Columns without one known value: what this node, or its kernel, does not give. */
static void print_unknown(const struct view *v, FILE *out)
{
	const struct table *t = v->step.t ? v->step.t : v->ntasks ? v->tasks[0].t : NULL;
	unsigned width = 0;

	for (unsigned c = 0; t && c < t->ncols; c++) {
		unsigned len = strlen(t->names[c]) + 2;

		if (!all_unknown(t, c))
			continue;
		if (!width)
			width = fprintf(out, "Unknown Columns: ");
		else if (width + len > PAGE_WIDTH)
			width = fprintf(out, ",\n  ") - 2;
		else
			fputs(", ", out);
		print__escaped(out, t->names[c]);
		width += len;
	}
	if (width)
		putc('\n', out);
}

/* Attributes that qualify the numbers. */
static void print_notes(const struct view *v, FILE *out)
{
	static const char *const notes[] = {"Lost", "Unattributed", "Torn Rows"};
	double probe = view__probe_s(v), cpu = 0;

	print_modes(v, out);
	for (unsigned i = 0; i < v->n->nattrs; i++) {
		const struct reader_attr *a = &v->n->attrs[i];
		bool note = is_mode(a) && strcmp(a->str, "exact");

		for (size_t k = 0; k < sizeof(notes) / sizeof(notes[0]); k++)
			note |= !strcmp(a->name, notes[k]);
		if (!note || (a->type == ATTR_I64 && !a->i) || (a->type == ATTR_F64 && a->f == 0))
			continue;
		print__escaped(out, a->name);
		fputs(": ", out);
		put_attr(out, a);
		putc('\n', out);
	}
	print_unknown(v, out);
	for (unsigned i = 0; i < v->ntasks; i++) {
		double s = calc__sum(v->tasks[i].t, "CPUTime");

		cpu += isnan(s) ? 0 : s;
	}
	if (!isnan(probe))
		fprintf(out, "collector: %.6f s inside the tasks%s%s%s\n", probe,
			cpu > 0 ? ", " : "", cpu > 0 ? NUM(100 * probe / cpu, "%.3f") : "",
			cpu > 0 ? " % of their CPU time" : "");
}

void show__page(const struct view *v, FILE *out, unsigned width, bool utf8)
{
	print_head(v, out);
	if (v->ntasks > DETAIL_TASKS)
		print_table(v, out, width, utf8);
	else
		for (unsigned i = 0; i < v->ntasks; i++)
			print_task(v, &v->tasks[i], out, width, utf8);
	if (v->step.t)
		print_step(v, out, width, utf8);
	print_notes(v, out);
}
