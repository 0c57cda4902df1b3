/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The page of a node as text: its head, each task or a table of tasks, the step, and the rest. */
#include "view/page.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "base/escape.h"
#include "identity/stepname.h"
#include "view/line.h"
#include "view/report/report_text.h"

/* ---- columns and series of a file that schemas/show.def does not name */

#define N(a) (sizeof(a) / sizeof((a)[0]))

static const char *const named[] = {
#define ITEM(text, how, column, by, unit, flags) column, by,
#define COUNTERS(label, where, text, column)	 column,
#define SPARK(label, unit, scale, flags, ...)	 __VA_ARGS__,
#define CELL(head, width, unit, how, column, by) column, by,
#include "schemas/show.def"
};

static const char *const aside[] = {
#define ASIDE(column) column,
#include "schemas/show.def"
};

static bool is_in(const char *const *names, size_t n, const char *name)
{
	while (n--)
		if (!strcmp(names[n], name))
			return true;
	return false;
}

/* Whether earlier lines have printed the column, or no line is to print it. */
static bool is_printed(const struct page *p, const struct model_task *t, unsigned c)
{
	const struct model_node *n = p->node;
	const char *name = t->rows.cols[c].name;

	if (is_in(named, N(named), name) || (!p->all && is_in(aside, N(aside), name)))
		return true;
	if (t->rows.cols[c].kind == COL_DELTA && model_table__family(&t->rows, c) == FAM_PERF)
		return true;
	/* a single task has printed these columns already */
	return t == &n->all && n->ntasks == 1 && model_table__column(&n->tasks[0].rows, name);
}

/* Prints a column: the sum of a per-interval one, mean and maximum of a gauge, the last value of a
 * cumulative one. */
static void add_column(struct line *l, const struct model_table *t, unsigned c, bool zeros)
{
	const char *name = t->cols[c].name, *unit = t->cols[c].unit;
	enum col_kind kind = t->cols[c].kind;
	double n = kind == COL_DELTA   ? column_stats__sum(t, name)
		   : kind == COL_GAUGE ? column_stats__max(t, name)
				       : column_stats__last(t, name);
	double mean = kind == COL_GAUGE ? column_stats__mean(t, name) : n;

	if (kind == COL_TIME || isnan(n) || (!zeros && n == 0 && mean == 0))
		return;
	line__end_part(l);
	line__text(l, name);
	if (fabs(n - mean) > 1e-9 * fabs(n)) {
		line__add(l, " mean %s", mean, U_ANY);
		line__text(l, " max");
	}
	line__add(l, " %s", n, U_ANY);
	if (*unit) {
		line__text(l, " ");
		line__text(l, unit);
	}
}

/* Prints the columns that have no line of their own. */
static void page_print_other_columns(const struct page *p, const struct model_task *t)
{
	struct line l = {.out = p->out, .label = "other"};

	for (unsigned c = 0; c < t->rows.ncols; c++)
		if (!is_printed(p, t, c))
			add_column(&l, &t->rows, c, p->all);
	line__end(&l);
}

static void print_table(const struct model_series *s, const struct model_table *t, FILE *out)
{
	struct line l = {.out = out, .label = "columns"};

	print__escaped(out, s->name);
	if (s->grouped) {
		putc('/', out);
		print__escaped(out, t->name);
	}
	if (!t->cols) {
		fputs(": not a table of numbers, or damaged\n", out);
		return;
	}
	fprintf(out, ": %llu row%s\n", (unsigned long long)t->nrows, t->nrows == 1 ? "" : "s");
	for (unsigned c = 0; c < t->ncols; c++)
		add_column(&l, t, c, true);
	line__end(&l);
}

/* Prints the tables of the other series. */
static void page_print_other_series(const struct page *p)
{
	const struct model_node *n = p->node;

	for (unsigned i = 0; i < n->nothers; i++) {
		for (unsigned k = 0; k < n->others[i].ntables; k++) {
			struct model_table t;

			model_node__read_other(n, &n->others[i], k, &t);
			print_table(&n->others[i], &t, p->out);
			model_table__free(&t);
		}
	}
}

/* ---- the line on energy: the step's part of the node's, with its bounds */

/* Prints the energy of the step, if it is known. */
static void page_print_energy(const struct page *p)
{
	struct line l = {.out = p->out, .label = "energy"};
	struct energy_use e;

	if (!energy_use__of(p->node, &e))
		return;
	if (!isnan(e.step_j)) {
		line__add(&l, "%s J", e.step_j, U_P1);
		line__add(&l, " (%s", e.low_j, U_P1);
		line__add(&l, " to %s)", e.high_j, U_P1);
		line__end_part(&l);
		line__add(&l, "what it did %s J", e.dynamic_j, U_P1);
		line__end_part(&l);
	}
	if (!isnan(e.mean_w)) {
		line__add(&l, "mean %s W", e.mean_w, U_P1);
		line__end_part(&l);
	}
	line__add(&l, isnan(e.step_j) ? "the whole node's %s J" : "of the node's %s J", e.node_j,
		  U_P1);
	line__end_part(&l);
	line__end(&l);
}

/* ---- the line on marks: names that the job's programs have set, with their times */

/* further marks are only counted */
#define MARKS_SHOWN 24

static const char *mark_name(const struct model_node *n, double number)
{
	char attr[32];

	snprintf(attr, sizeof(attr), "Mark %.0f", number);
	return model_node__text(n, attr);
}

static void add_mark(struct line *l, const struct model_node *n, double time_s, double number)
{
	const char *name = mark_name(n, number);
	char text[64] = "";
	FILE *f = name ? fmemopen(text, sizeof(text), "w") : NULL;

	line__add(l, "%s s ", time_s, U_P2);
	if (f) {
		print__escaped(f, name);
		fclose(f);
		text[sizeof(text) - 1] = 0;
	} else {
		snprintf(text, sizeof(text), "%.0f", number);
	}
	line__text(l, text);
	line__end_part(l);
}

/* Prints the marks that the job's programs set, and their times. */
static void page_print_marks(const struct page *p)
{
	const struct model_table *t = &p->node->marks;
	const double *numbers = model_table__column(t, "Mark");
	struct line l = {.out = p->out, .label = "marks"};
	uint64_t i;

	if (!numbers)
		return;
	for (i = 0; t->end_s && i < t->nrows && i < MARKS_SHOWN; i++)
		add_mark(&l, p->node, t->end_s[i], numbers[i]);
	if (i < t->nrows) {
		line__add(&l, "%s more", (double)(t->nrows - i), U_COUNT);
		line__end_part(&l);
	}
	line__end(&l);
}

/* ---- the lines on the programs of a step, and on the ranks of MPI launchers in it */

#define PARTS_MAX      4096 /* tables that are read */
#define COMMANDS_SHOWN 8
#define SHOWN_S	       0.0005 /* s; less would be printed as 0 */

/* The sums of one table of a series. */
struct part {
	const char *name;
	double cpu_s, processes;
};

struct parts {
	struct part *v;
	unsigned n;
};

static const struct model_series *find_series(const struct model_node *n, const char *name)
{
	for (unsigned i = 0; i < n->nothers; i++)
		if (n->others[i].grouped && !strcmp(n->others[i].name, name))
			return &n->others[i];
	return NULL;
}

/* Tables without a known CPU time are left out. */
static struct parts read_parts(const struct model_node *n, const char *series)
{
	const struct model_series *s = find_series(n, series);
	const unsigned ntables = !s ? 0 : s->ntables < PARTS_MAX ? s->ntables : PARTS_MAX;
	struct parts p = {.v = calloc(ntables + 1, sizeof(*p.v))};

	for (unsigned i = 0; p.v && i < ntables; i++) {
		struct model_table t;

		model_node__read_other(n, s, i, &t);
		p.v[p.n].name = t.name;
		p.v[p.n].cpu_s = column_stats__sum(&t, "CPUTime");
		p.v[p.n].processes = column_stats__sum(&t, "Processes");
		p.n += t.name && !isnan(p.v[p.n].cpu_s);
		model_table__free(&t);
	}
	return p;
}

static int by_cpu(const void *a, const void *b)
{
	const struct part *x = a, *y = b;

	return (x->cpu_s < y->cpu_s) - (x->cpu_s > y->cpu_s);
}

/* Prints the programs with most CPU time and how many processes of each ended, and the CPU time of
 * the ranks of MPI launchers. */
static void page_print_commands(const struct page *p)
{
	struct parts parts = read_parts(p->node, "Commands");
	struct line l = {.out = p->out, .label = "commands"};
	unsigned more = 0;
	double rest = 0;

	if (parts.n)
		qsort(parts.v, parts.n, sizeof(*parts.v), by_cpu);
	for (unsigned i = 0; i < parts.n; i++) {
		const struct part *c = &parts.v[i];

		if (i >= COMMANDS_SHOWN || (i && c->cpu_s < SHOWN_S)) {
			rest += c->cpu_s;
			more++;
			continue;
		}
		line__text(&l, c->name);
		line__add(&l, " %s s", c->cpu_s, U_P3);
		if (!isnan(c->processes))
			line__add(&l, " (%s)", c->processes, U_COUNT);
		line__end_part(&l);
	}
	if (more) {
		line__add(&l, "%s more", more, U_COUNT);
		line__add(&l, " %s s", rest, U_P3);
	}
	line__end(&l);
	free(parts.v);
}

static void page_print_ranks(const struct page *p)
{
	struct parts parts = read_parts(p->node, "Ranks");
	struct line l = {.out = p->out, .label = "ranks"};

	if (parts.n) {
		qsort(parts.v, parts.n, sizeof(*parts.v), by_cpu);
		line__add(&l, "%s", parts.n, U_COUNT);
		line__add(&l, ": CPU time %s s", parts.v[parts.n - 1].cpu_s, U_P3);
		line__text(&l, " (rank ");
		line__text(&l, parts.v[parts.n - 1].name);
		line__add(&l, ") to %s s", parts.v[0].cpu_s, U_P3);
		line__text(&l, " (rank ");
		line__text(&l, parts.v[0].name);
		line__text(&l, ")");
	}
	line__end(&l);
	free(parts.v);
}

/* ---- the lines of a page about one task or the whole step, as schemas/show.def has them */

/* Where a line is printed. */
#define IN_TASK	 1
#define IN_STEP	 2 /* always */
#define IN_SUM	 4 /* for the step, unless its single task has printed it */
#define IN_BOTH	 (IN_TASK | IN_STEP)
#define IN_PARTS (IN_TASK | IN_SUM)

/* The lines of a page, each followed by its items. */
static const struct element {
	enum { E_LINE, E_ITEM, E_HISTOGRAM, E_COUNTERS } kind;
	char prefix, less;
	unsigned where, flags;
	enum task_measure how;
	enum unit unit;
	const char *label, *text, *column, *by, *series;
} elements[] = {
#define LINE(label_, where_, flags_) \
	{.kind = E_LINE, .label = label_, .where = IN_##where_, .flags = flags_},
#define LINE_OF(label_, series_, flags_) \
	{.kind = E_LINE, .label = label_, .where = IN_TASK, .flags = flags_, .series = series_},
#define ITEM(text_, how_, column_, by_, unit_, flags_) \
	{.kind = E_ITEM,                               \
	 .text = text_,                                \
	 .how = MEASURE_##how_,                        \
	 .column = column_,                            \
	 .by = by_,                                    \
	 .unit = U_##unit_,                            \
	 .flags = flags_},
#define HISTOGRAM(label_, key, series_, prefix_, less_) \
	{.kind = E_HISTOGRAM,                           \
	 .where = IN_TASK,                              \
	 .label = label_,                               \
	 .series = series_,                             \
	 .prefix = prefix_,                             \
	 .less = less_},
#define COUNTERS(label_, where_, text_, column_) \
	{.kind = E_COUNTERS,                     \
	 .label = label_,                        \
	 .where = IN_##where_,                   \
	 .text = text_,                          \
	 .column = column_},
#include "schemas/show.def"
};

static const struct counter {
	const char *column, *words, *text, *by;
	double scale;
} counters[] = {
#define COUNTER(column, words, text, by, scale) {column, words, text, by, scale},
#include "schemas/show.def"
};

/* The task, with its rows of the series that the line names. */
static struct model_task task_of(const struct model_task *t, const struct element *line)
{
	struct model_task of = {0};

	for (unsigned i = 0; t->histograms && i < n_builtin_series; i++)
		if (!strcmp(builtin_series[i].name, line->series))
			of.rows = t->histograms[i];
	return of;
}

static double item_value(const struct page *p, const struct model_task *t, const struct element *e)
{
	return task_measure__value(p->node, t, e->how, e->column, e->by);
}

static bool is_item(const struct element *e)
{
	return e < elements + N(elements) && e->kind == E_ITEM;
}

static bool all_items_are_0(const struct page *p, const struct model_task *t,
			    const struct element *line)
{
	for (const struct element *e = line + 1; is_item(e); e++)
		if (item_value(p, t, e) > 0)
			return false;
	return true;
}

static void print_items(const struct page *p, const struct model_task *task,
			const struct element *line)
{
	const struct model_task of = line->series ? task_of(task, line) : (struct model_task){0};
	const struct model_task *t = line->series ? &of : task;
	struct line l = {.out = p->out, .label = line->label};
	bool shown = false, known = false;

	if ((line->flags & SOME) && all_items_are_0(p, t, line))
		return;
	for (const struct element *e = line + 1; is_item(e); e++) {
		double n = item_value(p, t, e);

		if ((e->flags & ELSE) && known)
			continue;
		known = !isnan(n);
		if (!(e->flags & WITH)) {
			line__end_part(&l);
			shown = known && !((e->flags & SOME) && n == 0);
		}
		if (shown && known)
			line__add(&l, e->text, n, e->unit);
	}
	line__end(&l);
}

/* ns, the end of the first bucket: no time passed */
#define NONE_NS 2

static void print_histogram(const struct page *p, const struct model_task *t,
			    const struct element *e)
{
	static const struct {
		const char *text;
		double q;
	} points[] = {{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"all", 1}};
	struct line l = {.out = p->out, .label = e->label};
	double counts[JP_LAT_BUCKETS];

	if (!*e->label || !(histogram__sum(t, e->series, e->prefix, e->less, counts) > 0))
		return;
	for (size_t i = 0; i < N(points); i++) {
		const double ns = histogram__quantile_ns(counts, points[i].q);

		line__end_part(&l);
		line__text(&l, points[i].text);
		if (ns > NONE_NS)
			line__add(&l, " < %s", ns / 1e9, U_TIME);
		else
			line__text(&l, " none");
	}
	line__end(&l);
}

static void add_counter(struct line *l, const struct model_table *t, const char *column, double n)
{
	const struct counter *c = counters;
	double share;

	while (c < counters + N(counters) && strcmp(c->column, column))
		c++;
	if (c == counters + N(counters))
		c = NULL;
	line__text(l, c ? c->words : column);
	line__add(l, " %s", n, U_SI);
	share = c ? n / column_stats__sum(t, c->by) * c->scale : NAN;
	if (isfinite(share))
		line__add(l, c->text, share, U_P2);
}

/* Prints all hardware counters, by the names in the file. */
static void print_counters(const struct page *p, const struct model_task *t,
			   const struct element *e)
{
	const struct model_table *rows = &t->rows;
	double running = column_stats__mean(rows, e->column);
	struct line l = {.out = p->out, .label = e->label};

	for (unsigned c = 0; c < rows->ncols; c++) {
		const char *name = rows->cols[c].name;
		double n = column_stats__sum(rows, name);

		if (model_table__family(rows, c) != FAM_PERF || rows->cols[c].kind != COL_DELTA ||
		    isnan(n))
			continue;
		line__end_part(&l);
		add_counter(&l, rows, name, n);
	}
	line__end_part(&l);
	if (l.printed && running < 0.9995)
		line__add(&l, e->text, 100 * running, U_P1);
	line__end(&l);
}

/* Prints the lines of a task, or of the step; the step also has the lines of its tasks, as sums,
 * unless it has a single task. */
static void page_print_task_lines(const struct page *p, const struct model_task *t)
{
	const struct model_node *n = p->node;
	unsigned here = t != &n->all ? IN_TASK : n->ntasks == 1 ? IN_STEP : IN_STEP | IN_SUM;

	for (size_t i = 0; i < N(elements); i++) {
		const struct element *e = &elements[i];

		if (!(e->where & here))
			continue;
		if (e->kind == E_HISTOGRAM)
			print_histogram(p, t, e);
		else if (e->kind == E_COUNTERS)
			print_counters(p, t, e);
		else
			print_items(p, t, e);
	}
	page_print_other_columns(p, t);
}

/* ---- the page */

#define DETAIL_TASKS  2 /* more tasks get a line each */
#define SPARK_COLUMNS 4

/* A number as text, in a buffer that lives as long as the statement. */
#define NUM(v, unit) number__text((v), (unit), (char[NUMBER_SIZE]){0})

static void print_head(const struct page *p)
{
	static const char *const more[] = {"Start Time", "End Reason",	 "Exit Status",	     "User",
					   "Job Name",	 "Command Line", "Working Directory"};
	const struct model_node *n = p->node;
	double tasks = model_node__number(n, "Number of Tasks");
	FILE *out = p->out;
	unsigned printed = 0;

	fputs(*n->job ? "job " : "", out);
	fputs(n->job, out);
	fputs(*n->step ? " step " : "", out);
	print__escaped(out, stepname__human(n->step));
	fputs(*n->job || *n->step ? " on " : "", out);
	print__escaped(out, n->name);
	fprintf(out, ": %s s", NUM(n->wall_s, U_P3));
	if (isnan(tasks))
		tasks = n->ntasks;
	fprintf(out, ", %.0f task%s", tasks, tasks == 1 ? "" : "s");
	if (n->node_cpus > 0)
		fprintf(out, ", %.0f CPU%s", n->node_cpus, n->node_cpus == 1 ? "" : "s");
	putc('\n', out);
	for (size_t i = 0; i < N(more); i++) {
		const struct model_attr *a = model_node__attr(n, more[i]);

		if (!a)
			continue;
		fprintf(out, "%s%s: ", printed++ ? "; " : "  ", more[i]);
		page__print_attr(p, a);
	}
	if (printed)
		putc('\n', out);
}

/* Columns that are drawn over time. */
static const struct spark {
	const char *label, *unit;
	double scale;
	unsigned flags;
	const char *columns[SPARK_COLUMNS];
} sparks[] = {
#define SPARK(label, unit, scale, flags, ...) {label, unit, scale, flags, {__VA_ARGS__}},
#include "schemas/show.def"
};

/* Columns of the table of tasks, for steps with many. */
static const struct table_cell {
	const char *head;
	int width;
	enum unit unit;
	enum task_measure how;
	const char *column, *by;
} cells[] = {
#define CELL(head, width, unit, how, column, by) {head, width, U_##unit, MEASURE_##how, column, by},
#include "schemas/show.def"
};

/* Returns a value per row, which the caller frees; NULL: a column is missing, or no memory. */
static double *spark_values(const struct model_table *t, const struct spark *s)
{
	double *sum = calloc(t->nrows + 1, sizeof(*sum));

	for (unsigned c = 0; sum && c < SPARK_COLUMNS && s->columns[c]; c++) {
		const double *v = model_table__column(t, s->columns[c]);

		if (!v) {
			free(sum);
			return NULL;
		}
		for (uint64_t i = 0; i < t->nrows; i++)
			sum[i] += v[i] * s->scale;
	}
	return sum;
}

static void print_spark(const struct page *p, const struct model_table *t, const struct spark *s)
{
	double wall_s = p->node->wall_s, bins[256], max = NAN;
	double *values = t->end_s && wall_s > 0 ? spark_values(t, s) : NULL;
	unsigned n = p->width - PAGE_LABEL - 20;

	if (!values)
		return;
	time_bins__fill(t->end_s, values, t->nrows, wall_s, s->flags & RATE, bins, n);
	free(values);
	for (unsigned i = 0; i < n; i++)
		if (isnan(max) || bins[i] > max)
			max = bins[i];
	if (isnan(max) || ((s->flags & SOME) && !(max > 0)))
		return;
	fprintf(p->out, "  %-*s", PAGE_LABEL - 2, s->label);
	spark__print(p->out, bins, n, max, p->utf8);
	fprintf(p->out, " max %.4g %s\n", max, s->unit);
}

static void print_sparks(const struct page *p, const struct model_task *t)
{
	for (size_t i = 0; i < N(sparks); i++)
		print_spark(p, &t->rows, &sparks[i]);
}

static void print_task(const struct page *p, const struct model_task *t)
{
	fputs("task ", p->out);
	print__escaped(p->out, t->rows.name);
	fprintf(p->out, ": wall %s s, %llu row%s\n", NUM(task_measure__wall_s(t), U_P3),
		(unsigned long long)t->rows.nrows, t->rows.nrows == 1 ? "" : "s");
	page_print_task_lines(p, t);
	print_sparks(p, t);
}

/* Prints CPU utilization over time, as a share of the task's CPUs. */
static void print_cell_spark(const struct page *p, const struct model_table *t, unsigned n)
{
	const double *percent = model_table__column(t, "CPUUtilization");
	double cpus = p->node->task_cpus, bins[256];

	if (!t->end_s || !percent || !(p->node->wall_s > 0))
		return;
	time_bins__fill(t->end_s, percent, t->nrows, p->node->wall_s, false, bins, n);
	spark__print(p->out, bins, n, 100 * (cpus > 1 ? cpus : 1), p->utf8);
}

static void print_cells(const struct page *p, const struct model_task *t)
{
	for (int pad = 6 - (int)strlen(t->rows.name); pad > 0; pad--)
		putc(' ', p->out);
	print__escaped(p->out, t->rows.name);
	for (size_t c = 0; c < N(cells); c++) {
		const struct table_cell *cell = &cells[c];
		double v = task_measure__value(p->node, t, cell->how, cell->column, cell->by);

		fprintf(p->out, " %*s", cell->width, NUM(v, cell->unit));
	}
	putc(' ', p->out);
}

static void print_task_table(const struct page *p)
{
	unsigned n = p->width > 74 ? p->width - 66 : 8;

	fprintf(p->out, "%6s", "task");
	for (size_t c = 0; c < N(cells); c++)
		fprintf(p->out, " %*s", cells[c].width, cells[c].head);
	fputs(" CPU\n", p->out);
	for (unsigned i = 0; i < p->node->ntasks; i++) {
		print_cells(p, &p->node->tasks[i]);
		print_cell_spark(p, &p->node->tasks[i].rows, n);
		putc('\n', p->out);
	}
}

static void print_step(const struct page *p)
{
	const struct model_node *n = p->node;

	if (!n->all.rows.cols)
		return;
	fputs("step: all processes\n", p->out);
	page_print_task_lines(p, &n->all);
	page_print_ranks(p);
	page_print_commands(p);
	if (n->ntasks != 1)
		print_sparks(p, &n->all);
}

void page__print(const struct page *p)
{
	const struct model_node *n = p->node;

	print_head(p);
	if (n->ntasks > DETAIL_TASKS)
		print_task_table(p);
	else
		for (unsigned i = 0; i < n->ntasks; i++)
			print_task(p, &n->tasks[i]);
	print_step(p);
	page_print_energy(p);
	page_print_marks(p);
	if (p->all)
		page_print_other_series(p);
	page__print_notes(p);
}
