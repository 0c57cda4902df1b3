/* SPDX-License-Identifier: GPL-2.0-only */
/* The lines of the page about one task or the step: a table says which, one loop prints them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/show_view.h"

#define N(a) (sizeof(a) / sizeof((a)[0]))

/* How a number is written. */
enum unit {
	U_COUNT, /* "requests" loses its s after 1 */
	U_SI,	 /* k, M, G, T */
	U_2,	 /* so many places */
	U_3,
	U_PERCENT,
	U_MB,
	U_SIZE, /* of MB: B to MB */
	U_TIME, /* of s: ns to s */
};

enum reduce { SUM, MAX, MEAN, LAST };

/* A number and how to say it; unknown ones are left out of the line. */
struct item {
	const char *text;   /* with a %s for the number */
	const char *column; /* NULL: calc tells */
	enum unit unit;
	enum reduce how;
	const char *per; /* divided by the sum of this column */
	unsigned flags;
	double (*calc)(const struct view *v, const struct view_task *t);
};

/* Goes with the item before it, without a comma. */
#define WITH 1
/* Left out when it is 0, with all that goes with it. */
#define SOME 2

/* What a line is about: columns, waits for a CPU, disk requests, or the hardware counters. */
enum content { ITEMS, RUN_QUEUE, DISK_READS, DISK_WRITES, COUNTERS };

/* Where a line stands. */
#define IN_TASK	 1
#define IN_STEP	 2 /* always */
#define IN_SUM	 4 /* of the step, unless there is one task, which has said it */
#define IN_BOTH	 (IN_TASK | IN_STEP)
#define IN_PARTS (IN_TASK | IN_SUM)

#define MAX_ITEMS 8

struct line {
	const char *label;
	unsigned where;
	enum content content;
	bool some; /* left out when all its numbers are 0 */
	struct item items[MAX_ITEMS];
};

static double efficiency(const struct view *v, const struct view_task *t)
{
	return 100 * view__efficiency(t, t == &v->step ? v->node_cpus : v->task_cpus);
}

static double peak(const struct view *v, const struct view_task *t)
{
	return view__peak_mb(t->t);
}

static double of_limit(const struct view *v, const struct view_task *t)
{
	return v->limit_mb > 0 ? 100 * view__peak_mb(t->t) / v->limit_mb : NAN;
}

/* Slurm's own files have them as Pages. */
static double major_faults(const struct view *v, const struct view_task *t)
{
	double n = calc__sum(t->t, "MajorFaults");

	return isnan(n) ? calc__last(t->t, "Pages") : n;
}

/* clang-format off */
static const struct line lines[] = {
	{"CPU time", IN_BOTH, .items = {
		{"%s s", "CPUTime", U_3},
		{"%s %% of the allocation", .unit = U_PERCENT, .calc = efficiency},
		{"user %s s", "UserTime", U_2},
		{"system %s s", "SystemTime", U_2}}},
	{"scheduler", IN_BOTH, .items = {
		{"waited for a CPU %s s", "RunDelay", U_3},
		{"for disk %s s", "OffCPUDisk", U_3},
		{"migrations %s", "Migrations"}}},
	{"switches", IN_BOTH, .items = {
		{"voluntary %s", "VolSwitches"},
		{"forced %s", "InvolSwitches"},
		{"processes made %s", "Forks"},
		{"threads at most %s", "Threads", .how = MAX}}},
	{"run queue", IN_TASK, .content = RUN_QUEUE},
	{"counters", IN_PARTS, COUNTERS, .items = {
		{"on the hardware %s %% of the time, scaled", "PerfRunning", U_PERCENT, MEAN}}},
	{"memory", IN_BOTH, .items = {
		{"peak %s MB", .unit = U_MB, .calc = peak},
		{"%s %% of the limit", .unit = U_COUNT, .calc = of_limit},
		{"swap %s MB", "SwapMB", U_MB, MAX, .flags = SOME},
		{"minor faults %s", "MinorFaults"},
		{"major faults %s", .calc = major_faults}}},
	{"I/O", IN_PARTS, .items = {
		{"read %s", "ReadMB", U_SIZE},
		{"written %s", "WriteMB", U_SIZE},
		{"read calls %s", "ReadCalls"},
		{"write calls %s", "WriteCalls"}}},
	{"disk", IN_PARTS, .items = {
		{"read %s", "DiskReadMB", U_SIZE},
		{"written %s", "DiskWriteMB", U_SIZE}}},
	{"block", IN_PARTS, .some = true, .items = {
		{"read %s", "BlkReadMB", U_SIZE, .flags = SOME},
		{" in %s requests", "BlkReads", .flags = WITH},
		{" of %s", "BlkReadTime", U_TIME, .per = "BlkReads", .flags = WITH},
		{"written %s", "BlkWriteMB", U_SIZE, .flags = SOME},
		{" in %s requests", "BlkWrites", .flags = WITH},
		{" of %s", "BlkWriteTime", U_TIME, .per = "BlkWrites", .flags = WITH}}},
	{"blk read", IN_TASK, .content = DISK_READS},
	{"blk write", IN_TASK, .content = DISK_WRITES},
	{"network", IN_PARTS, .some = true, .items = {
		{"sent %s", "NetTxMB", U_SIZE, .flags = SOME},
		{" in %s calls", "NetTxOps", .flags = WITH},
		{"received %s", "NetRxMB", U_SIZE, .flags = SOME},
		{" in %s calls", "NetRxOps", .flags = WITH},
		{"retransmits %s", "TcpRetrans"}}},
	{"loopback", IN_PARTS, .some = true, .items = {
		{"sent %s", "NetLoopTxMB", U_SIZE, .flags = SOME},
		{" in %s calls", "NetLoopTxOps", .flags = WITH},
		{"received %s", "NetLoopRxMB", U_SIZE, .flags = SOME},
		{" in %s calls", "NetLoopRxOps", .flags = WITH}}},
	{"files", IN_PARTS, .some = true, .items = {
		{"opened %s", "Opens"},
		{"closed %s", "Closes"}}},
	{"cgroup", IN_STEP, .items = {
		{"memory %s MB", "MemMB", U_MB, LAST},
		{"peak %s MB", "MemPeakMB", U_MB, MAX},
		{"limit %s MB", "MemLimitMB", U_COUNT, LAST},
		{"throttled %s s", "Throttled", U_3},
		{"OOM kills %s", "OOMKills"}}},
	{"pressure", IN_STEP, .items = {
		{"CPU %s s", "PSICpu", U_3},
		{"memory %s s", "PSIMem", U_3},
		{"I/O %s s", "PSIIO", U_3}}},
};

/* Counters that are said in words, and as a share of another; others have their column's name. */
static const struct {
	const char *column, *words, *text, *per;
	double scale;
} counters[] = {
	{"Cycles", "cycles", NULL, NULL, 0},
	{"Instructions", "instructions", " (%s per cycle)", "Cycles", 1},
	{"CacheMisses", "cache misses", " (%s per 1000 instructions)", "Instructions", 1000},
	{"BranchMisses", "branch misses", " (%s per 1000 instructions)", "Instructions", 1000},
};
/* clang-format on */

#define NUMBER_SIZE 32

static const char *with_unit(double v, double step, double enough, const char *const *units,
			     unsigned n, char buf[static NUMBER_SIZE])
{
	unsigned u = 0;

	for (; v >= enough && u + 1 < n; u++)
		v /= step;
	snprintf(buf, NUMBER_SIZE, "%.*g%s", v < 999.5 ? 3 : 4, v, units[u]);
	return buf;
}

static const char *put_size(double mb, char buf[static NUMBER_SIZE])
{
	static const char *const units[] = {" B", " KiB"};

	if (mb < 1)
		return with_unit(mb * 1048576, 1024, 1000, units, N(units), buf);
	snprintf(buf, NUMBER_SIZE, "%.1f MB", mb);
	return buf;
}

static const char *put_time(double s, char buf[static NUMBER_SIZE])
{
	static const char *const units[] = {" ns", " us", " ms", " s"};

	return with_unit(s * 1e9, 1000, 999.5, units, N(units), buf);
}

static const char *put_number(double v, enum unit unit, char buf[static NUMBER_SIZE])
{
	static const char *const si[] = {"", " k", " M", " G", " T"};
	static const int places[] = {
		[U_COUNT] = 0, [U_2] = 2, [U_3] = 3, [U_PERCENT] = 1, [U_MB] = 1};

	switch (unit) {
	case U_SIZE:
		return put_size(v, buf);
	case U_TIME:
		return put_time(v, buf);
	case U_SI:
		return with_unit(v, 1000, 999.5, si, N(si), buf);
	default:
		snprintf(buf, NUMBER_SIZE, "%.*f", places[unit], v);
		return buf;
	}
}

/* A line under way: parts with commas between, broken before the page's edge. */
struct out_line {
	FILE *out;
	const char *label;
	unsigned printed;
	int column;
	char part[160];
};

static void end_part(struct out_line *l)
{
	int len = strlen(l->part);

	if (!len)
		return;
	if (!l->printed++) {
		fprintf(l->out, "  %-*s", VIEW_LABEL - 2, l->label);
		l->column = VIEW_LABEL;
	} else if (l->column + 3 + len > VIEW_WIDTH) {
		fprintf(l->out, ",\n%*s", VIEW_LABEL, "");
		l->column = VIEW_LABEL;
	} else {
		l->column += fprintf(l->out, ", ");
	}
	print__escaped(l->out, l->part);
	l->column += len;
	l->part[0] = 0;
}

static void add(struct out_line *l, const char *text, double v, enum unit unit)
{
	size_t len = strlen(l->part), end;
	char number[NUMBER_SIZE];

	snprintf(l->part + len, sizeof(l->part) - len, text, put_number(v, unit, number));
	end = strlen(l->part);
	if (unit == U_COUNT && v >= 0.5 && v < 1.5 && end && l->part[end - 1] == 's')
		l->part[end - 1] = 0;
}

static void end_line(struct out_line *l)
{
	end_part(l);
	if (l->printed)
		putc('\n', l->out);
}

static double value(const struct view *v, const struct view_task *t, const struct item *i)
{
	static double (*const reduce[])(const struct table *, const char *) = {
		[SUM] = calc__sum,
		[MAX] = calc__max,
		[MEAN] = calc__mean,
		[LAST] = calc__last,
	};
	double n;

	if (i->calc)
		return i->calc(v, t);
	n = reduce[i->how](t->t, i->column);
	return i->per ? n / calc__sum(t->t, i->per) : n;
}

static bool is_nothing(const struct view *v, const struct view_task *t, const struct line *l)
{
	for (unsigned i = 0; i < MAX_ITEMS && l->items[i].text; i++)
		if (value(v, t, &l->items[i]) > 0)
			return false;
	return true;
}

static void print_items(const struct view *v, const struct view_task *t, const struct line *line,
			FILE *out)
{
	struct out_line l = {.out = out, .label = line->label};
	bool said = false;

	if (line->some && is_nothing(v, t, line))
		return;
	for (unsigned i = 0; i < MAX_ITEMS && line->items[i].text; i++) {
		const struct item *item = &line->items[i];
		double n = value(v, t, item);

		if (item->flags & WITH) {
			if (!said || isnan(n))
				continue;
		} else {
			end_part(&l);
			said = !isnan(n) && !((item->flags & SOME) && n == 0);
			if (!said)
				continue;
		}
		add(&l, item->text, n, item->unit);
	}
	end_line(&l);
}

static void print_quantiles(const char *label, const double counts[JP_LAT_BUCKETS], FILE *out)
{
	static const struct {
		const char *text;
		double q;
	} points[] = {{"p50 < %s", 0.5}, {"p90 < %s", 0.9}, {"p99 < %s", 0.99}, {"all < %s", 1}};
	struct out_line l = {.out = out, .label = label};

	for (size_t i = 0; i < N(points); i++) {
		end_part(&l);
		add(&l, points[i].text, calc__quantile(counts, points[i].q) / 1e9, U_TIME);
	}
	end_line(&l);
}

static void print_latency(const struct view_task *t, const struct line *line, FILE *out)
{
	const struct table *table = line->content == RUN_QUEUE ? t->latency : t->blk;
	double counts[JP_LAT_BUCKETS], n;

	if (!table)
		return;
	if (line->content == RUN_QUEUE)
		n = calc__histogram(table, 'B', counts);
	else
		n = view__requests(table, line->content == DISK_READS ? 'R' : 'W', counts);
	if (n > 0)
		print_quantiles(line->label, counts, out);
}

static void add_counter(struct out_line *l, const struct table *t, const char *column, double n)
{
	char text[128];
	double share;
	size_t i;

	for (i = 0; i < N(counters) && strcmp(counters[i].column, column);)
		i++;
	snprintf(l->part, sizeof(l->part), "%.64s", i < N(counters) ? counters[i].words : column);
	add(l, " %s", n, U_SI);
	if (i == N(counters) || !counters[i].text)
		return;
	share = n / calc__sum(t, counters[i].per) * counters[i].scale;
	if (isfinite(share)) {
		snprintf(text, sizeof(text), "%s", counters[i].text);
		add(l, text, share, U_2);
	}
}

/* Whatever was counted: the events are the file's to name. */
static void print_counters(const struct view *v, const struct view_task *t, const struct line *line,
			   FILE *out)
{
	double running = value(v, t, &line->items[0]);
	struct out_line l = {.out = out, .label = line->label};

	for (unsigned c = 0; c < t->t->ncols; c++) {
		const char *name = t->t->names[c];
		double n = calc__sum(t->t, name);

		if (view__family(t->t, c) != FAM_PERF || view__kind(t, name) != COL_DELTA ||
		    isnan(n))
			continue;
		end_part(&l);
		add_counter(&l, t->t, name, n);
	}
	end_part(&l);
	if (l.printed && running < 0.9995)
		add(&l, line->items[0].text, 100 * running, line->items[0].unit);
	end_line(&l);
}

static void print_line(const struct view *v, const struct view_task *t, const struct line *line,
		       FILE *out)
{
	switch (line->content) {
	case ITEMS:
		print_items(v, t, line, out);
		break;
	case COUNTERS:
		print_counters(v, t, line, out);
		break;
	default:
		print_latency(t, line, out);
	}
}

void show__lines(const struct view *v, const struct view_task *t, FILE *out)
{
	unsigned here = t != &v->step ? IN_TASK : v->ntasks == 1 ? IN_STEP : IN_STEP | IN_SUM;

	for (size_t i = 0; i < N(lines); i++)
		if (lines[i].where & here)
			print_line(v, t, &lines[i], out);
}
