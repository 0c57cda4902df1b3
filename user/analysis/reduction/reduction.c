/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Adds columns, rows and files to a reduction: histograms, the sample, the order of columns.
 */
#include "analysis/reduction/reduction.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/room.h"
#include "schema/series.h"

/* ---- counts numbers in bins of the logarithm */

/* 0: it is in the bin of 0. */
static unsigned distance(double v)
{
	int exponent;
	double m = frexp(v, &exponent); /* v is m 2^exponent, m from 0.5 to below 1 */

	exponent--;
	if (v == 0 || exponent < LOG_HISTOGRAM_LEAST)
		return 0;
	if (exponent >= LOG_HISTOGRAM_MOST)
		return LOG_HISTOGRAM_SIDE;
	return 1 + LOG_HISTOGRAM_PARTS * (unsigned)(exponent - LOG_HISTOGRAM_LEAST) +
	       (unsigned)((m - 0.5) * 2 * LOG_HISTOGRAM_PARTS);
}

void log_histogram__add(struct log_histogram *h, double v)
{
	unsigned d = distance(fabs(v));

	h->n[v < 0 ? LOG_HISTOGRAM_SIDE - d : LOG_HISTOGRAM_SIDE + d]++;
}

static void log_histogram_merge(struct log_histogram *h, const struct log_histogram *from)
{
	for (unsigned i = 0; i < LOG_HISTOGRAM_BINS; i++)
		h->n[i] += from->n[i];
}

static uint64_t log_histogram_sum(const struct log_histogram *h)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < LOG_HISTOGRAM_BINS; i++)
		sum += h->n[i];
	return sum;
}

/* Returns where a bin of positive numbers begins. */
static double lower_bound(unsigned d)
{
	int exponent = (int)((d - 1) / LOG_HISTOGRAM_PARTS) + LOG_HISTOGRAM_LEAST;

	if (d > LOG_HISTOGRAM_SIDE)
		return INFINITY;
	return ldexp(1 + (d - 1) % LOG_HISTOGRAM_PARTS / (double)LOG_HISTOGRAM_PARTS, exponent);
}

struct log_bin log_histogram__bin(unsigned bin)
{
	double least = lower_bound(1);

	if (bin == LOG_HISTOGRAM_SIDE)
		return (struct log_bin){-least, least};
	if (bin > LOG_HISTOGRAM_SIDE)
		return (struct log_bin){lower_bound(bin - LOG_HISTOGRAM_SIDE),
					lower_bound(bin - LOG_HISTOGRAM_SIDE + 1)};
	return (struct log_bin){-lower_bound(LOG_HISTOGRAM_SIDE - bin + 1),
				-lower_bound(LOG_HISTOGRAM_SIDE - bin)};
}

struct log_bin log_histogram__quantile(const struct log_histogram *h, double q)
{
	uint64_t sum = log_histogram_sum(h), below = 0;

	for (unsigned i = 0; i < LOG_HISTOGRAM_BINS; i++) {
		below += h->n[i];
		if (h->n[i] && (double)below >= q * (double)sum)
			return log_histogram__bin(i);
	}
	return (struct log_bin){NAN, NAN};
}

/* ---- the k rows with the smallest keys: up to 2 k are gathered, then the others are left out */

static void item_clear(struct reduction_item *i)
{
	free(i->place);
	free(i->table);
	free(i->values);
	*i = (struct reduction_item){0};
}

/* By key, place, table and row, which no two have in common. */
static int compare(const void *a, const void *b)
{
	const struct reduction_item *x = a, *y = b;
	int order;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	order = strcmp(x->place, y->place);
	if (!order)
		order = strcmp(x->table, y->table);
	return order ? order : (x->row > y->row) - (x->row < y->row);
}

/* Leaves the k smallest, ascending. */
static void items_cut(struct reduction *r)
{
	if (r->nitems)
		qsort(r->items, r->nitems, sizeof(*r->items), compare);
	while (r->nitems > r->k)
		item_clear(&r->items[--r->nitems]);
}

/* After the first cut, the key that an item may have at most is that of item k. */
static bool is_too_large(const struct reduction *r, uint64_t key)
{
	return r->nitems >= r->k && (!r->k || key > r->items[r->k - 1].key);
}

/* Takes the item over, also after an error. */
static int take_item(struct reduction *r, struct reduction_item item)
{
	unsigned most = 2 * r->k;

	if (!item.place || !item.table || (item.nvalues && !item.values)) {
		item_clear(&item);
		return -ENOMEM;
	}
	if (room__make(&r->items, &r->room, r->nitems + 1u, sizeof(*r->items))) {
		item_clear(&item);
		return -ENOMEM;
	}
	r->items[r->nitems++] = item;
	/* The first k are put in order once, for is_too_large(). */
	if (r->nitems == r->k || r->nitems >= most)
		items_cut(r);
	return 0;
}

static double *unknown_values(unsigned n)
{
	double *v = malloc((n + 1) * sizeof(*v));

	for (unsigned i = 0; v && i < n; i++)
		v[i] = NAN;
	return v;
}

/* 0 or -ENOMEM, all of them. */
static int items_row(struct reduction *r, const struct reduction_table *t, uint64_t row,
		     const double *values)
{
	uint64_t key = sample_item__of(r->seed ^ t->unit, 0, row).key;
	struct reduction_item item = {.key = key, .row = row, .nvalues = r->ncolumns};

	if (is_too_large(r, key))
		return 0;
	item.place = strdup(t->place);
	item.table = strdup(t->name);
	item.values = unknown_values(item.nvalues);
	for (unsigned i = 0; item.values && i < t->n; i++)
		item.values[t->columns[i]] = isfinite(values[i]) ? values[i] : NAN;
	return take_item(r, item);
}

int reduction_items__add(struct reduction *r, const struct reduction_item *from, const int *at)
{
	struct reduction_item item = *from;

	if (is_too_large(r, item.key))
		return 0;
	item.place = strdup(from->place);
	item.table = strdup(from->table);
	item.nvalues = r->ncolumns;
	item.values = unknown_values(item.nvalues);
	for (unsigned i = 0; item.values && i < from->nvalues; i++)
		item.values[at[i]] = from->values[i];
	return take_item(r, item);
}

static int items_merge(struct reduction *r, const struct reduction *from, const int *at)
{
	int err = 0;

	for (unsigned i = 0; !err && i < from->nitems; i++)
		err = reduction_items__add(r, &from->items[i], at);
	return err;
}

/* Column i of all values becomes column at[i]; after -ENOMEM they are as they were. */
static int items_move(struct reduction *r, const int *at)
{
	double **moved = calloc(r->nitems + 1, sizeof(double *));
	unsigned n = 0;

	while (moved && n < r->nitems && (moved[n] = unknown_values(r->ncolumns))) {
		for (unsigned i = 0; i < r->items[n].nvalues; i++)
			moved[n][at[i]] = r->items[n].values[i];
		n++;
	}
	for (unsigned i = 0; moved && i < r->nitems; i++) {
		free(n == r->nitems ? r->items[i].values : moved[i]);
		if (n == r->nitems) {
			r->items[i].values = moved[i];
			r->items[i].nvalues = r->ncolumns;
		}
	}
	free(moved);
	return n == r->nitems ? 0 : -ENOMEM;
}

int reduction__init(struct reduction *r, const char *series, uint64_t seed, unsigned k)
{
	*r = (struct reduction){.series = strdup(series), .seed = seed, .k = k};
	return r->series ? 0 : -ENOMEM;
}

void reduction__free(struct reduction *r)
{
	for (unsigned i = 0; i < r->ncolumns; i++) {
		free(r->columns[i]->name);
		free(r->columns[i]->unit);
		free(r->columns[i]);
	}
	free(r->columns);
	for (unsigned i = 0; i < r->nitems; i++)
		item_clear(&r->items[i]);
	free(r->items);
	for (unsigned i = 0; i < r->nlists; i++) {
		free(r->lists[i].read);
		free(r->lists[i].damaged);
	}
	free(r->lists);
	string_list__free(&r->places);
	free(r->series);
	*r = (struct reduction){0};
}

static struct reduction_column *new_column(const char *name, const char *unit)
{
	struct reduction_column *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->moments = MOMENTS_NONE;
	c->name = strdup(name);
	c->unit = strdup(unit);
	if (c->name && c->unit)
		return c;
	free(c->name);
	free(c->unit);
	free(c);
	return NULL;
}

int reduction__find(const struct reduction *r, const char *name)
{
	for (unsigned i = 0; i < r->ncolumns; i++)
		if (!strcmp(r->columns[i]->name, name))
			return (int)i;
	return -1;
}

int reduction__column(struct reduction *r, const char *name, const char *unit)
{
	for (unsigned i = 0; i < r->ncolumns; i++)
		if (!strcmp(r->columns[i]->name, name) && !strcmp(r->columns[i]->unit, unit))
			return (int)i;
	if (r->ncolumns == REDUCTION_COLUMNS)
		return -E2BIG;
	if (room__grow(&r->columns, r->ncolumns, 1, sizeof(struct reduction_column *)))
		return -ENOMEM;
	r->columns[r->ncolumns] = new_column(name, unit);
	return r->columns[r->ncolumns] ? (int)r->ncolumns++ : -ENOMEM;
}

int reduction__place(struct reduction *r, const char *place)
{
	unsigned from = 0, to = r->places.n;
	char *added;
	int err;

	while (from < to) {
		unsigned middle = from + (to - from) / 2;
		int order = strcmp(r->places.v[middle], place);

		if (!order)
			return -EEXIST;
		if (order < 0)
			from = middle + 1;
		else
			to = middle;
	}
	err = string_list__append(&r->places, place);
	if (err)
		return err;
	added = r->places.v[r->places.n - 1];
	memmove(r->places.v + from + 1, r->places.v + from,
		(r->places.n - 1 - from) * sizeof(char *));
	r->places.v[from] = added;
	return 0;
}

static size_t bytes_of(uint64_t files)
{
	return (size_t)(files / 8 + 1);
}

/* The list of that id; a new one if there is none. NULL: no memory. */
static struct reduction_list *find_list(struct reduction *r, uint64_t id, uint64_t n)
{
	struct reduction_list *l;

	for (unsigned i = 0; i < r->nlists; i++)
		if (r->lists[i].id == id && r->lists[i].n == n)
			return &r->lists[i];
	if (room__grow(&r->lists, r->nlists, 1, sizeof(*r->lists)))
		return NULL;
	l = &r->lists[r->nlists];
	*l = (struct reduction_list){id, n, calloc(bytes_of(n), 1), calloc(bytes_of(n), 1)};
	r->nlists++;
	return l->read && l->damaged ? l : NULL;
}

int reduction__list(struct reduction *r, uint64_t list, uint64_t n)
{
	return find_list(r, list, n) ? 0 : -ENOMEM;
}

int reduction__file(struct reduction *r, uint64_t list, uint64_t n, uint64_t i, bool damaged)
{
	struct reduction_list *l = find_list(r, list, n);

	if (!l)
		return -ENOMEM;
	l->read[i / 8] |= (uint8_t)(1u << i % 8);
	if (damaged)
		l->damaged[i / 8] |= (uint8_t)(1u << i % 8);
	return 0;
}

uint64_t reduction__unit(const char *place, const char *table)
{
	uint64_t h = 0;

	for (const char *s = place; *s; s++)
		h = splitmix64(h ^ (unsigned char)*s);
	h = splitmix64(h ^ 256);
	for (const char *s = table; *s; s++)
		h = splitmix64(h ^ (unsigned char)*s);
	return h;
}

void reduction__sums(struct reduction *r, const struct reduction_table *t, const double *values)
{
	for (unsigned i = 0; i < t->n; i++) {
		struct reduction_column *c = r->columns[t->columns[i]];

		if (!isfinite(values[i])) {
			c->unknown++;
			continue;
		}
		moments__add(&c->moments, values[i]);
		log_histogram__add(&c->histogram, values[i]);
	}
	r->rows++;
}

int reduction__row(struct reduction *r, const struct reduction_table *t, uint64_t row,
		   const double *values)
{
	reduction__sums(r, t, values);
	return items_row(r, t, row, values);
}

static int merge_columns(struct reduction *r, const struct reduction *from, int *at)
{
	for (unsigned i = 0; i < from->ncolumns; i++) {
		const struct reduction_column *c = from->columns[i];

		at[i] = reduction__column(r, c->name, c->unit);
		if (at[i] < 0)
			return at[i];
		moments__merge(&r->columns[at[i]]->moments, &c->moments);
		log_histogram_merge(&r->columns[at[i]]->histogram, &c->histogram);
		r->columns[at[i]]->unknown += c->unknown;
	}
	return 0;
}

static int merge_lists(struct reduction *r, const struct reduction *from)
{
	for (unsigned i = 0; i < from->nlists; i++) {
		const struct reduction_list *f = &from->lists[i];
		struct reduction_list *l = find_list(r, f->id, f->n);

		for (size_t k = 0; l && k < bytes_of(f->n); k++) {
			l->read[k] |= f->read[k];
			l->damaged[k] |= f->damaged[k];
		}
		if (!l)
			return -ENOMEM;
	}
	return 0;
}

/* NULL: no place is in both. */
static const char *common_place(const struct reduction *a, const struct reduction *b)
{
	for (unsigned i = 0, k = 0; i < a->places.n && k < b->places.n;) {
		int order = strcmp(a->places.v[i], b->places.v[k]);

		if (!order)
			return a->places.v[i];
		i += order < 0;
		k += order > 0;
	}
	return NULL;
}

static int merge_places(struct reduction *r, const struct reduction *from)
{
	int err = 0;

	for (unsigned i = 0; !err && i < from->places.n; i++)
		err = reduction__place(r, from->places.v[i]);
	return err;
}

int reduction__merge(struct reduction *r, const struct reduction *from, const char **place)
{
	int *at;
	int err;

	if (strcmp(r->series, from->series) || r->seed != from->seed || r->k != from->k)
		return -EINVAL;
	*place = common_place(r, from);
	if (*place)
		return -EEXIST;
	at = calloc(from->ncolumns + 1, sizeof(*at));
	err = at ? merge_columns(r, from, at) : -ENOMEM;
	if (!err)
		err = items_merge(r, from, at);
	if (!err)
		err = merge_lists(r, from);
	if (!err)
		err = merge_places(r, from);
	r->tables += from->tables;
	r->rows += from->rows;
	r->processes += from->processes;
	r->cpu_s += from->cpu_s;
	free(at);
	return err;
}

void reduction__cover(struct reduction *r, const struct reduction *second)
{
	for (unsigned i = 0; i < r->nlists; i++) {
		struct reduction_list *l = &r->lists[i];
		const struct reduction_list *s = NULL;

		for (unsigned k = 0; !s && k < second->nlists; k++)
			if (second->lists[k].id == l->id && second->lists[k].n == l->n)
				s = &second->lists[k];
		for (size_t k = 0; k < bytes_of(l->n); k++)
			l->damaged[k] |= l->read[k] & (s ? ~s->read[k] | s->damaged[k] : 0xff);
	}
}

struct reduction_coverage reduction__coverage(const struct reduction *r)
{
	struct reduction_coverage c = {0};

	for (unsigned i = 0; i < r->nlists; i++) {
		const struct reduction_list *l = &r->lists[i];

		c.files += l->n;
		for (uint64_t k = 0; k < l->n; k++) {
			c.read += l->read[k / 8] >> k % 8 & 1;
			c.damaged += l->damaged[k / 8] >> k % 8 & 1;
		}
	}
	c.part = c.files ? (double)(c.read - c.damaged) / (double)c.files : NAN;
	c.is_enough = !(c.part < REDUCTION_ENOUGH);
	return c;
}

/* ---- the order of columns */

struct place_of_column {
	unsigned schema; /* its place in schemas/ */
	unsigned at;
	const struct reduction_column *column;
};

static int by_schema(const void *a, const void *b)
{
	const struct place_of_column *x = a, *y = b;
	int order = strcmp(x->column->name, y->column->name);

	if (x->schema != y->schema)
		return x->schema < y->schema ? -1 : 1;
	return order ? order : strcmp(x->column->unit, y->column->unit);
}

static unsigned place_in_schema(const struct series *s, const char *column)
{
	unsigned i = 0;

	while (s && i < s->ncols && strcmp(s->cols[i].name, column))
		i++;
	return s ? i : 0;
}

void reduction__order(struct reduction *r)
{
	const struct series *s = series__find(r->series);
	struct place_of_column *p = malloc((r->ncolumns + 1) * sizeof(*p));
	struct reduction_column **columns =
		malloc((r->ncolumns + 1) * sizeof(struct reduction_column *));
	int *at = calloc(r->ncolumns + 1, sizeof(*at));

	items_cut(r);
	for (unsigned i = 0; p && columns && at && i < r->ncolumns; i++)
		p[i] = (struct place_of_column){place_in_schema(s, r->columns[i]->name), i,
						r->columns[i]};
	if (p && columns && at) {
		qsort(p, r->ncolumns, sizeof(*p), by_schema);
		for (unsigned i = 0; i < r->ncolumns; i++) {
			columns[i] = r->columns[p[i].at];
			at[p[i].at] = (int)i;
		}
		if (!items_move(r, at))
			memcpy(r->columns, columns, r->ncolumns * sizeof(void *));
	}
	free(at);
	free(columns);
	free(p);
}
