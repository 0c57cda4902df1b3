/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The third round of reading a job: the rows of each part, as bins. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "hdf5/hdf5.h"
#include "model/job/job_internal.h"
#include "schema/describe.h"

#define FAR_S 3600 /* off the job's time: then a clock is wrong */

/* A row is over a gap that is longer than both; fewer intervals do not say what is usual. */
#define GAP_USUAL     10
#define GAP_S	      60
#define GAP_INTERVALS 4

/* Series that a task or rank has a table in beside its own. */
static const struct {
	const char *of_tasks, *of_ranks;
} besides[] = {
	{BINNED_BUDGET, "RankBudget"},
	{BINNED_SAMPLES, "RankSamples"},
	{BINNED_CULPRITS, "RankCulprits"},
};
#define N_BESIDES ((int)(sizeof(besides) / sizeof(besides[0])))

/* A worker reads a part. */
struct part_reading {
	struct reader_node *node;
	double start_ns;    /* NaN: not known, or the step was first seen late */
	double first_end_s; /* of the first row of the part's first table; NaN: none was read */
	bool is_whole; /* rows are known to count from start_ns, however late the first one is */
	double cores;
	const struct time_grid *grid;
	struct cursor *cursor;
	double *end_s; /* room for a block of rows */
	unsigned room;
	struct binner table, all;
	const char *of_tasks, *of_nodes; /* as struct job_reading has them */
	/* Where columns are in tables of a shape and series; a task has one such table of its own,
	 * and one of each series in `besides`. */
	struct shape {
		unsigned shape;
		const char *series;
		struct binner_columns columns;
		int time_ns, epoch;
	} shapes[1 + N_BESIDES];
};

static bool is_step_series(const char *series)
{
	return !strcmp(series, "Tasks") || !strcmp(series, "Step") || !strcmp(series, "Ranks");
}

/* Finds the one of `besides` that a series is of; -1: none. */
static int beside_of(const char *series)
{
	for (int i = 0; i < N_BESIDES; i++)
		if (!strcmp(series, besides[i].of_tasks) || !strcmp(series, besides[i].of_ranks))
			return i;
	return -1;
}

static const struct shape *find_columns(struct part_reading *p, const struct cursor *c,
					const char *series)
{
	int beside = beside_of(series);
	struct shape *s = &p->shapes[1 + beside];
	struct binner_columns *out = &s->columns;

	if (s->series && s->shape == c->shape && !strcmp(s->series, series))
		return s;
	s->shape = c->shape;
	s->series = series;
	s->time_ns = cursor__column(c, "TimeNS");
	s->epoch = cursor__column(c, "EpochTime");
	out->series = is_step_series(series) ? "STEP"
		      : beside >= 0	     ? besides[beside].of_tasks
					     : series;
	for (int q = 0; q < N_QUANTITIES; q++)
		for (unsigned i = 0; i < BINNED_COLUMNS && quantity_infos[q].columns[i]; i++) {
			int at = cursor__column(c, quantity_infos[q].columns[i]);

			out->at[q][i] = at >= 0 && c->cols[at].unknown ? -1 : at;
			out->type[q][i] = at < 0 ? COL_F64 : c->cols[at].type;
		}
	return s;
}

/* The end of each row, since the job's start. 0; -ENOMEM; -ERANGE: a row is far from the job. */
static int set_ends(struct part_reading *p, const struct shape *s, const struct cursor *c,
		    const union cell *rows, unsigned n)
{
	int at = s->time_ns >= 0 ? s->time_ns : s->epoch;

	if (n > p->room) {
		free(p->end_s);
		p->end_s = malloc(n * sizeof(*p->end_s));
		p->room = p->end_s ? n : 0;
		if (!p->end_s)
			return -ENOMEM;
	}
	for (unsigned i = 0; i < n; i++) {
		double t = at < 0 ? NAN
				  : cell__number(rows[(size_t)i * c->ncols + at], c->cols[at].type);

		p->end_s[i] = (s->time_ns >= 0 ? t : t * 1e9) - p->grid->t0_ns;
		p->end_s[i] /= 1e9;
		if (p->end_s[i] < -FAR_S || p->end_s[i] > p->grid->end_s + FAR_S)
			return -ERANGE;
	}
	return 0;
}

/* The longest interval between two rows; NaN: there is one row. A step's last row may be short. */
static double longest_interval(const double *end_s, unsigned n)
{
	double longest = NAN;

	for (unsigned i = 1; i < n; i++)
		longest = fmax(longest, end_s[i] - end_s[i - 1]);
	return longest;
}

/*
 * When the first row of a table began. A table that begins after the first row of its part (of a
 * late task, or of all where the step was first seen late) has a first row as long as the others,
 * but none begins before the job.
 */
static double first_begin(struct part_reading *p, unsigned n)
{
	double start = (p->start_ns - p->grid->t0_ns) / 1e9, first = p->end_s[0];
	double usual = job_clock__usual_s(p->end_s, n, 1);
	bool late = isnan(p->first_end_s)
			    ? !p->is_whole && n > 3 &&
				      first - start > 1.5 * longest_interval(p->end_s, n)
			    : first > p->first_end_s + 1e-3;

	if (isnan(p->first_end_s)) {
		p->first_end_s = first;
		if (late)
			p->start_ns = NAN; /* for all its tables */
	}
	if (isnan(start) || late)
		return fmax(fmax(start, 0), first - (usual > 0 ? usual : 0));
	return start;
}

/* The length from which on a row of a table is over a gap. */
static double gap_of(const struct part_reading *p, unsigned n)
{
	double usual = job_clock__usual_s(p->end_s, n, GAP_INTERVALS);

	return isnan(usual) ? INFINITY : fmax(GAP_USUAL * usual, GAP_S);
}

/* The usual length of a row: steps may have other ones. */
static double row_of(const struct part_reading *p, unsigned n)
{
	double usual = job_clock__usual_s(p->end_s, n, GAP_INTERVALS);

	return usual > 0 ? usual : p->grid->row_s;
}

/* Adds the rows of a table to b. */
static int bin_table(struct part_reading *p, const struct reader_series *s, const char *table,
		     struct binner *b)
{
	struct cursor *c = p->cursor;
	const union cell *rows;
	const struct shape *shape;
	double begin = NAN;
	unsigned n;
	int err = cursor__open(c, p->node, s, table), got;

	if (err)
		return err;
	shape = find_columns(p, c, s->name);
	while ((got = cursor__next(c, &rows, &n)) > 0) {
		err = set_ends(p, shape, c, rows, n);
		if (err)
			return err;
		if (isnan(begin)) {
			begin = first_begin(p, n);
			b->gap_s = gap_of(p, n);
			b->row_s = row_of(p, n);
		}
		err = binner__add(b, &shape->columns, rows, c->ncols, n, begin, p->end_s);
		if (err)
			return err;
		begin = p->end_s[n - 1];
	}
	binner__end_table(b);
	return got;
}

static void put_about(hid_t table, struct message *m)
{
	static const char *const numbers[] = {"Allowed CPUs", "NUMA Nodes", "Start TimeNS",
					      "End TimeNS"};

	for (int i = 0; i < ABOUT_TEXTS; i++) {
		char *text = reader__text(table, about_attrs[i]);

		message__put_text(m, text ? text : "");
		free(text);
	}
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		int64_t v = 0;
		double number = reader__i64(table, numbers[i], &v) ? (double)v : NAN;

		message__put(m, &number, sizeof(number));
	}
}

/* Adds to a task's or rank's rows what the tables of its name have in the series `besides`. A
 * damaged table takes nothing from the other numbers. */
static int add_beside(struct part_reading *p, const char *series, const char *own,
		      const char *table)
{
	const struct reader_series *s = node__series(p->node, series);
	struct binner *b = &p->table, before = *b;
	int err;

	for (unsigned i = 0; s && s->grouped && i < s->tables.n; i++) {
		if (strcmp(s->tables.v[i], table))
			continue;
		err = bin_table(p, s, table, b);
		if (err == -ENOMEM)
			return err;
		if (err)
			binner__forget(b, own);
		b->rows = before.rows;
		b->begin_s = before.begin_s;
		b->end_s = before.end_s;
		return 0;
	}
	return 0;
}

/* The tables of a group as units of their own; with `sum`, they are added to that, too. */
static int put_units(struct part_reading *p, const char *series, struct binner *sum,
		     struct message *m)
{
	const struct reader_series *s = node__series(p->node, series);
	unsigned n = s && s->grouped ? s->tables.n : 0;
	bool of_ranks = !strcmp(series, "Ranks");
	int err = 0;

	message__put(m, &n, sizeof(n));
	for (unsigned i = 0; !err && i < n; i++) {
		binner__clear(&p->table);
		err = bin_table(p, s, s->tables.v[i], &p->table);
		if (err)
			break;
		message__put_text(m, s->tables.v[i]);
		put_about(cursor__dataset(p->cursor), m);
		if (sum)
			binner__merge(sum, &p->table);
		for (int k = 0; !err && k < N_BESIDES; k++) {
			err = add_beside(p, of_ranks ? besides[k].of_ranks : besides[k].of_tasks,
					 besides[k].of_tasks, s->tables.v[i]);
			if (!of_ranks) /* ranks are in their tasks */
				binner__merge_series(&p->all, &p->table, besides[k].of_tasks);
		}
		job_message__put_unit(m, &p->table, p->of_tasks);
	}
	return err;
}

static int bin_step(struct part_reading *p, struct message *m)
{
	const struct reader_series *s = node__series(p->node, "Step");
	bool has_step = s && !s->grouped;
	int err = has_step ? bin_table(p, s, s->name, &p->all) : 0;

	if (!err)
		err = put_units(p, "Tasks", has_step ? NULL : &p->all, m);
	return err ? err : put_units(p, "Ranks", NULL, m);
}

/* Only those network interfaces are of interest that carry IP over the fabric. */
static bool is_wanted_table(const char *series, const char *table)
{
	return strcmp(series, "NetDev") || str__starts(table, "ib") || str__starts(table, "hsn");
}

/*
 * The tables of a sensor's group as units of their own; with is_summed, what they add up to is the
 * node's, too. A damaged table of a sensor takes nothing from the tasks' numbers.
 */
static int put_devices(struct part_reading *p, const char *series, bool is_summed,
		       struct message *m)
{
	const struct reader_series *s = node__series(p->node, series);
	unsigned n = s && s->grouped ? s->tables.n : 0;

	message__put(m, &n, sizeof(n));
	for (unsigned i = 0; i < n; i++) {
		int err;

		binner__clear(&p->table);
		err = bin_table(p, s, s->tables.v[i], &p->table);
		if (err == -ENOMEM)
			return err;
		if (err)
			binner__clear(&p->table);
		message__put_text(m, s->tables.v[i]);
		job_message__put_unit(m, &p->table, series);
		p->table.rows = 0; /* the rows of a part are those of its processes */
		p->table.begin_s = p->table.end_s = NAN;
		if (is_summed)
			binner__merge(&p->all, &p->table);
	}
	return 0;
}

/* Series whose tables are units. */
static const struct {
	const char *series;
	bool is_summed;
} devices[] = {{"GPU", false}, {"Mount", true}, {"Disk", true}};

static bool is_device(const char *series)
{
	for (size_t i = 0; i < sizeof(devices) / sizeof(*devices); i++)
		if (!strcmp(devices[i].series, series))
			return true;
	return false;
}

/* Series of other sensors: the tables of each are added up. */
static int bin_sensors(struct part_reading *p)
{
	int err = 0;

	for (unsigned i = 0; !err && i < p->node->nseries; i++) {
		const struct reader_series *s = &p->node->series[i];
		bool wanted = false;

		for (int q = 0; q < N_QUANTITIES; q++)
			wanted |= !strcmp(s->name, quantity_infos[q].series);
		wanted &= !is_device(s->name) && beside_of(s->name) < 0;
		for (unsigned t = 0; !err && wanted && t < s->tables.n; t++) {
			if (!is_wanted_table(s->name, s->tables.v[t]))
				continue;
			binner__clear(&p->table);
			err = bin_table(p, s, s->tables.v[t], &p->table);
			/* A damaged table of a sensor takes nothing from the tasks' numbers. */
			if (err == -ENOMEM)
				break;
			p->table.rows = 0; /* the rows of a part are those of its processes */
			p->table.begin_s = p->table.end_s = NAN;
			if (!err)
				binner__merge(&p->all, &p->table);
			err = 0;
		}
	}
	return err;
}

static int add_buckets(struct cursor *c, const char *prefix, struct job_histogram *h)
{
	int at[JP_LAT_BUCKETS], err;
	const union cell *rows;
	char name[32];
	unsigned n;

	for (int k = 0; k < JP_LAT_BUCKETS; k++) {
		snprintf(name, sizeof(name), "%sB%d", prefix, k);
		at[k] = cursor__column(c, name);
		if (at[k] < 0)
			return 0;
	}
	while ((err = cursor__next(c, &rows, &n)) > 0)
		for (unsigned i = 0; i < n; i++)
			for (int k = 0; k < JP_LAT_BUCKETS; k++) {
				double v = cell__number(rows[(size_t)i * c->ncols + at[k]],
							c->cols[at[k]].type);

				if (v > 0)
					h->counts[k] += v;
			}
	h->is_known = true;
	return err;
}

/* From Totals where the node has them. */
static int put_histogram(struct part_reading *p, const char *series, struct message *m)
{
	const struct reader_series *totals = node__series(p->node, "Totals"),
				   *s = node__series(p->node, series);
	struct job_histogram h = {0};
	int err = 0;

	for (unsigned i = 0; totals && totals->grouped && !h.is_known && i < totals->tables.n;
	     i++) {
		if (strcmp(totals->tables.v[i], series))
			continue;
		err = cursor__open(p->cursor, p->node, totals, series);
		if (!err)
			err = add_buckets(p->cursor, aggregate__prefix(AGGREGATE_SUM), &h);
	}
	if (!h.is_known)
		memset(&h, 0, sizeof(h));
	for (unsigned i = 0; !err && !h.is_known && s && s->grouped && i < s->tables.n; i++) {
		struct job_histogram one = h;

		err = cursor__open(p->cursor, p->node, s, s->tables.v[i]);
		if (!err)
			err = add_buckets(p->cursor, "", &one);
		one.is_known = i + 1 == s->tables.n && one.is_known;
		h = one;
	}
	message__put(m, &h, sizeof(h));
	return err;
}

static int read_part(struct part_reading *p, struct message *m)
{
	int err = bin_step(p, m);

	for (size_t i = 0; !err && i < sizeof(devices) / sizeof(*devices); i++)
		err = put_devices(p, devices[i].series, devices[i].is_summed, m);
	if (!err)
		err = job_commands__put(p->node, p->cursor, m);
	if (!err)
		err = job_marks__put(p->node, p->cursor, p->grid, m);
	if (!err)
		err = bin_sensors(p);
	if (!err)
		err = put_histogram(p, "RunLatency", m);
	if (!err)
		err = put_histogram(p, "BlkLatency", m);
	if (!err)
		job_message__put_unit(m, &p->all, p->of_nodes);
	return err;
}

int job_rows__work(void *reading, unsigned item, struct message *m)
{
	struct job_reading *r = reading;
	const struct job_part *part = &r->job->parts[item];
	struct part_reading p = {.grid = &r->job->grid,
				 .of_tasks = r->of_tasks,
				 .of_nodes = r->of_nodes,
				 .start_ns = part->start_ns,
				 .first_end_s = NAN,
				 .is_whole = job_part__attr(part, "Start TimeNS") &&
					     !job_part__attr(part, "Baseline")};
	int err = part->trouble ? -EBADMSG : job_reading__open(r, r->places[item].input);
	size_t begin;

	if (!err)
		err = reader__node(r->reader, r->places[item].step, r->places[item].node, NULL,
				   &p.node);
	p.cursor = r->cursor;
	if (!err)
		err = binner__init(&p.table, p.grid);
	if (!err)
		err = binner__init(&p.all, p.grid);
	p.table.cores = p.all.cores = r->job->nodes[part->node].cores;
	begin = m->len;
	message__put(m, &err, sizeof(err));
	if (!err)
		err = read_part(&p, m);
	if (err) { /* and nothing of what there was before it */
		m->len = begin;
		message__put(m, &err, sizeof(err));
	}
	binner__free(&p.table);
	binner__free(&p.all);
	if (p.cursor)
		cursor__close(p.cursor);
	reader_node__free(p.node);
	free(p.end_s);
	return 0;
}
