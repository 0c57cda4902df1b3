/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The first pass over a journal, which finds attributes, series, tables and the number of their
 * rows. */
#include "hdf5/nodestep_layout.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/room.h"
#include "hdf5/columns_table.h"
#include "hdf5/h5util.h"
#include "schema/describe.h"

#define ATTRS_MAX	256
#define TABLE_ATTRS_MAX 160

/* What else the group has that the series are in: the summaries, and the descriptions of columns.
 */
static bool is_reserved(const char *series)
{
	return !strcmp(series, "Totals") || !strcmp(series, COLUMNS_TABLE);
}

static struct nodestep_attr *attr_find(const struct nodestep_attrs *attrs, const char *name)
{
	for (unsigned i = 0; i < attrs->n; i++)
		if (!strcmp(attrs->at[i].name, name))
			return &attrs->at[i];
	return NULL;
}

const struct nodestep_attr *nodestep_layout__attr(const struct nodestep_layout *p, const char *name)
{
	return attr_find(&p->attrs, name);
}

static int add_attr(struct nodestep_attrs *attrs, unsigned max, const struct journal_record *rec)
{
	struct nodestep_attr *a = attr_find(attrs, rec->name);
	char *str = NULL;

	if (!a && attrs->n == max)
		return -EINVAL;
	if (rec->str) {
		str = strdup(rec->str);
		if (!str)
			return -ENOMEM;
	}
	if (!a) {
		char *name = strdup(rec->name);

		if (!name || room__grow(&attrs->at, attrs->n, 1, sizeof(*a))) {
			free(name);
			free(str);
			return -ENOMEM;
		}
		a = &attrs->at[attrs->n++];
		*a = (struct nodestep_attr){.name = name};
	}
	free(a->str);
	a->str = str;
	a->type = rec->attr_type;
	a->value = rec->value;
	return 0;
}

static void attrs_clear(struct nodestep_attrs *attrs)
{
	for (unsigned i = 0; i < attrs->n; i++) {
		free(attrs->at[i].name);
		free(attrs->at[i].str);
	}
	free(attrs->at);
}

static bool same_columns(const struct nodestep_series *s, const struct journal_record *rec)
{
	if (s->grouped != rec->grouped || s->ncols != rec->ncols)
		return false;
	for (unsigned i = 0; i < s->ncols; i++)
		if (strcmp(s->cols[i].name, rec->cols[i].name) ||
		    s->cols[i].type != rec->cols[i].type || s->cols[i].kind != rec->cols[i].kind)
			return false;
	return true;
}

static void series_clear(struct nodestep_series *s)
{
	for (unsigned i = 0; s->cols && i < s->ncols; i++) {
		free((char *)s->cols[i].name);
		free((char *)s->cols[i].unit);
	}
	free(s->cols);
	free(s->name);
}

/* Completes a column of the journal, which has its unit and kind, by what schemas/ say. */
static void describe_column(struct column *c, const char *series)
{
	const struct column known = column__describe(series, c->name, NULL);

	c->how = known.how;
	c->doc = known.doc;
	/* The user names the counters, in PerfEvents. */
	if (known.source != COL_BUILTIN && series__find(series))
		c->doc = "Events of the hardware counter of that name.";
}

static int series_copy(struct nodestep_series *s, const struct journal_record *rec)
{
	*s = (struct nodestep_series){.grouped = rec->grouped, .ncols = rec->ncols, .time = -1};
	s->name = strdup(rec->name);
	s->cols = calloc(rec->ncols, sizeof(*s->cols));
	if (!s->name || !s->cols)
		return -ENOMEM;
	for (unsigned i = 0; i < rec->ncols; i++) {
		s->cols[i] = rec->cols[i];
		s->cols[i].name = strdup(rec->cols[i].name);
		s->cols[i].unit = strdup(rec->cols[i].unit);
		if (!s->cols[i].name || !s->cols[i].unit)
			return -ENOMEM;
		describe_column(&s->cols[i], rec->name);
		if (!strcmp(s->cols[i].name, "TimeNS"))
			s->time = (int)i;
	}
	return 0;
}

static bool series_ok(const struct journal_record *rec)
{
	if (!h5__name_ok(rec->name) || is_reserved(rec->name))
		return false;
	for (unsigned i = 0; i < rec->ncols; i++)
		for (unsigned k = 0; k < i; k++)
			if (!strcmp(rec->cols[i].name, rec->cols[k].name))
				return false;
	return true;
}

static int add_series(struct nodestep_layout *p, const struct journal_record *rec)
{
	int16_t at = -1;
	int err;

	if (!series_ok(rec))
		return -EINVAL;
	for (unsigned i = 0; i < p->nseries; i++)
		if (!strcmp(p->series[i].name, rec->name) &&
		    (at < 0 || same_columns(&p->series[i], rec)))
			at = i;
	/* tables of one group may have columns of their own */
	if (at >= 0 && p->series[at].grouped && rec->grouped && !same_columns(&p->series[at], rec))
		at = -1;
	if (p->series_of[rec->id] >= 0 && p->series_of[rec->id] != at)
		return -EINVAL;
	if (at >= 0) {
		if (!same_columns(&p->series[at], rec))
			return -EINVAL;
		p->series_of[rec->id] = at;
		return 0;
	}
	if (p->nseries == JOURNAL_SERIES_MAX)
		return -EINVAL;
	err = room__grow(&p->series, p->nseries, 1, sizeof(*p->series));
	if (err)
		return err;
	p->series_of[rec->id] = p->nseries;
	return series_copy(&p->series[p->nseries++], rec);
}

static int table_find(const struct nodestep_layout *p, unsigned series, const char *name)
{
	for (unsigned i = 0; i < p->ntables; i++)
		if (p->tables[i].series == series && !strcmp(p->tables[i].name, name))
			return i;
	return -1;
}

/* The table of that name, made if need be; its position or -errno. */
static int table_get(struct nodestep_layout *p, unsigned series, const char *name)
{
	int at = table_find(p, series, name);
	char *copy;

	if (at >= 0)
		return at;
	if (p->ntables == JOURNAL_TABLES_MAX)
		return -EINVAL;
	if (room__grow(&p->tables, p->ntables, 1, sizeof(*p->tables)))
		return -ENOMEM;
	copy = strdup(name);
	if (!copy)
		return -ENOMEM;
	p->tables[p->ntables] = (struct nodestep_table){.name = copy, .series = series};
	return p->ntables++;
}

static int add_table(struct nodestep_layout *p, const struct journal_record *rec)
{
	int s = p->series_of[rec->series], was = p->table_of[rec->id], at;
	const char *name;

	if (s < 0 || !p->series)
		return -EINVAL;
	name = p->series[s].grouped ? rec->name : p->series[s].name;
	if (!h5__name_ok(name) || (was >= 0 && was != table_find(p, s, name)))
		return -EINVAL;
	at = table_get(p, s, name);
	if (at < 0)
		return at;
	p->table_of[rec->id] = at;
	return 0;
}

static int add_table_attr(struct nodestep_layout *p, const struct journal_record *rec)
{
	int t = p->table_of[rec->id];

	/* those names are taken for descriptions of columns: hdf5/table_columns.h */
	if (t < 0 || !p->tables || !strncmp(rec->name, "Column ", strlen("Column ")))
		return -EINVAL;
	return add_attr(&p->tables[t].attrs, TABLE_ATTRS_MAX, rec);
}

int nodestep_layout__row_table(const struct nodestep_layout *p, const struct journal_record *rec)
{
	int t = p->table_of[rec->id];

	if (t < 0 || !p->tables || p->series[p->tables[t].series].ncols != rec->ncols)
		return -1;
	return t;
}

bool nodestep_layout__is_wanted(const struct nodestep_layout *p, int table,
				const struct journal_record *rec)
{
	int time = p->series[p->tables[table].series].time;

	return !p->window || time < 0 ||
	       ((int64_t)rec->cells[time].u > p->window->after_ns &&
		(int64_t)rec->cells[time].u <= p->window->until_ns);
}

static int add_row(struct nodestep_layout *p, const struct journal_record *rec)
{
	int t = nodestep_layout__row_table(p, rec);

	if (t < 0)
		return -EINVAL;
	if (!nodestep_layout__is_wanted(p, t, rec))
		return 0;
	p->tables[t].rows++;
	p->rows++;
	return 0;
}

/* 0, -EINVAL: rejected, -ENOMEM. */
static int add_record(struct nodestep_layout *p, const struct journal_record *rec)
{
	switch (rec->type) {
	case J_ATTR:
		return add_attr(&p->attrs, ATTRS_MAX, rec);
	case J_TABLE_ATTR:
		return add_table_attr(p, rec);
	case J_SERIES:
		return add_series(p, rec);
	case J_TABLE:
		return add_table(p, rec);
	case J_ROW:
		return add_row(p, rec);
	case J_END:
		p->complete = true;
		return 0;
	case J_STATE:
	case J_META:
		break;
	}
	return 0;
}

static int read_records(struct nodestep_layout *p, struct journal_reader *r)
{
	struct journal_record rec;
	int err;

	while ((err = journal_reader__next(r, &rec)) > 0) {
		p->records++;
		err = add_record(p, &rec);
		if (err == -EINVAL)
			p->rejected++;
		else if (err)
			return err;
	}
	p->torn_bytes = journal_reader__torn(r);
	p->torn_rows = journal_reader__torn_rows(r);
	return err;
}

/* Stock extraction of a series fails where a node of the step does not have it. */
static bool is_stock(const char *series)
{
	static const char *const names[] = {"Tasks", "Energy", "Filesystem", "Network"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(series, names[i]))
			return true;
	return false;
}

/* Decides what is made. */
static int complete_tables(struct nodestep_layout *p)
{
	for (unsigned i = 0; i < p->nseries; i++) {
		struct nodestep_series *s = &p->series[i];
		int at = s->grouped ? 0 : table_get(p, i, s->name);

		if (at < 0)
			return at;
		s->made = is_stock(s->name);
		for (unsigned k = 0; k < p->nseries; k++)
			s->apart |= k != i && !strcmp(p->series[k].name, s->name);
	}
	for (unsigned i = 0; i < p->ntables; i++) {
		struct nodestep_table *t = &p->tables[i];
		struct nodestep_series *s = &p->series[t->series];

		t->made = t->rows || t->attrs.n || (s->made && !s->grouped);
		s->ntables += t->made;
		s->rows += t->rows;
	}
	for (unsigned i = 0; i < p->nseries; i++)
		p->series[i].made |= p->series[i].ntables > 0;
	return 0;
}

/* Puts the step's start to that of the window. */
static void begin_window(struct nodestep_layout *p)
{
	struct nodestep_attr *start = attr_find(&p->attrs, "Start TimeNS");

	if (p->window && start && start->type == ATTR_I64)
		start->value.u = (uint64_t)p->window->after_ns;
}

int nodestep_layout__read(struct nodestep_layout **out, int journal_fd,
			  const struct nodestep_window *window)
{
	struct journal_reader *r;
	struct nodestep_layout *p;
	int err;

	err = journal_reader__open(&r, journal_fd);
	if (err)
		return err;
	p = calloc(1, sizeof(*p));
	if (p) {
		p->window = window;
		memset(p->series_of, -1, sizeof(p->series_of));
		memset(p->table_of, -1, sizeof(p->table_of));
		err = read_records(p, r);
		if (!err)
			err = complete_tables(p);
	} else {
		err = -ENOMEM;
	}
	journal_reader__free(r);
	if (err) {
		nodestep_layout__free(p);
	} else {
		begin_window(p);
		*out = p;
	}
	return err;
}

void nodestep_layout__free(struct nodestep_layout *p)
{
	if (!p)
		return;
	attrs_clear(&p->attrs);
	for (unsigned i = 0; i < p->nseries; i++)
		series_clear(&p->series[i]);
	for (unsigned i = 0; i < p->ntables; i++) {
		attrs_clear(&p->tables[i].attrs);
		free(p->tables[i].name);
	}
	free(p->series);
	free(p->tables);
	free(p);
}
