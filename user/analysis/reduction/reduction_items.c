/* SPDX-License-Identifier: GPL-2.0-only */
/* The k rows of a reduction whose keys are the smallest. Up to 2 k are gathered, then all but the k
 * smallest are removed. */
#include "analysis/reduction/reduction_items.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void reduction_item__clear(struct reduction_item *i)
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

void reduction_items__cut(struct reduction *r)
{
	if (r->nitems)
		qsort(r->items, r->nitems, sizeof(*r->items), compare);
	while (r->nitems > r->k)
		reduction_item__clear(&r->items[--r->nitems]);
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
		reduction_item__clear(&item);
		return -ENOMEM;
	}
	if (r->nitems == r->room) {
		unsigned room = r->room ? 2 * r->room : 64;
		struct reduction_item *items = realloc(r->items, room * sizeof(*items));

		if (!items) {
			reduction_item__clear(&item);
			return -ENOMEM;
		}
		r->items = items;
		r->room = room;
	}
	r->items[r->nitems++] = item;
	/* The first k are put in order once, for is_too_large(). */
	if (r->nitems == r->k || r->nitems >= most)
		reduction_items__cut(r);
	return 0;
}

static double *unknown_values(unsigned n)
{
	double *v = malloc((n + 1) * sizeof(*v));

	for (unsigned i = 0; v && i < n; i++)
		v[i] = NAN;
	return v;
}

int reduction_items__row(struct reduction *r, const struct reduction_table *t, uint64_t row,
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

int reduction_items__merge(struct reduction *r, const struct reduction *from, const int *at)
{
	int err = 0;

	for (unsigned i = 0; !err && i < from->nitems; i++)
		err = reduction_items__add(r, &from->items[i], at);
	return err;
}

int reduction_items__move(struct reduction *r, const int *at)
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
