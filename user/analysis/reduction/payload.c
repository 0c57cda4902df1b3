/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes a reduction as bytes, and reads one. */
#include "analysis/reduction/payload.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "analysis/reduction/reduction.h"

#define MAGIC	   UINT64_C(0x3143554445524a50) /* also says the order of bytes */
#define VERSION	   1u
#define LISTS_MAX  4096u
#define FILES_MAX  (UINT64_C(1) << 24)
#define PLACES_MAX (1u << 20)

struct head {
	uint64_t magic;
	uint32_t version, crc; /* crc32 (zlib) of what follows the head */
	uint64_t length;       /* of it */
};

struct counts {
	uint64_t seed, tables, rows, processes;
	double cpu_s;
	uint32_t k, ncolumns, nitems, nlists, nplaces, pad;
};

struct column_numbers {
	uint64_t n, unknown;
	double sum_hi, sum_lo, squares_hi, squares_lo, min, max;
	uint64_t nbins;
};

struct bin_count {
	uint64_t bin, n;
};

struct list_numbers {
	uint64_t id, n;
};

struct item_numbers {
	uint64_t key, row;
};

static void put_column(struct message *m, const struct reduction_column *c)
{
	const struct moments *v = &c->moments;
	struct column_numbers n = {v->n,	  c->unknown, v->sum.hi, v->sum.lo, v->squares.hi,
				   v->squares.lo, v->min,     v->max,	 0};

	for (unsigned i = 0; i < LOG_HISTOGRAM_BINS; i++)
		n.nbins += c->histogram.n[i] != 0;
	message__put_text(m, c->name);
	message__put_text(m, c->unit);
	message__put(m, &n, sizeof(n));
	for (unsigned i = 0; i < LOG_HISTOGRAM_BINS; i++)
		if (c->histogram.n[i])
			message__put(m, &(struct bin_count){i, c->histogram.n[i]},
				     sizeof(struct bin_count));
}

static void put_list(struct message *m, const struct reduction_list *l)
{
	message__put(m, &(struct list_numbers){l->id, l->n}, sizeof(struct list_numbers));
	message__put(m, l->read, l->n / 8 + 1);
	message__put(m, l->damaged, l->n / 8 + 1);
}

/* reduction__order() has given each item as many values as there are columns. */
static void put_item(struct message *m, const struct reduction_item *i)
{
	message__put(m, &(struct item_numbers){i->key, i->row}, sizeof(struct item_numbers));
	message__put_text(m, i->place);
	message__put_text(m, i->table);
	message__put(m, i->values, i->nvalues * sizeof(double));
}

int payload__write(struct message *m, struct reduction *r)
{
	struct counts c = {.seed = r->seed,
			   .tables = r->tables,
			   .rows = r->rows,
			   .processes = r->processes,
			   .cpu_s = r->cpu_s,
			   .k = r->k};
	struct head h = {MAGIC, VERSION, 0, 0};

	reduction__order(r);
	c.ncolumns = r->ncolumns;
	c.nitems = r->nitems;
	c.nlists = r->nlists;
	c.nplaces = r->places.n;
	message__begin(m);
	message__put(m, &h, sizeof(h));
	message__put(m, &c, sizeof(c));
	message__put_text(m, r->series);
	for (unsigned i = 0; i < r->ncolumns; i++)
		put_column(m, r->columns[i]);
	for (unsigned i = 0; i < r->nlists; i++)
		put_list(m, &r->lists[i]);
	for (unsigned i = 0; i < r->places.n; i++)
		message__put_text(m, r->places.v[i]);
	for (unsigned i = 0; i < r->nitems; i++)
		put_item(m, &r->items[i]);
	if (m->bad || m->len > PAYLOAD_MAX)
		return -EFBIG;
	h.length = m->len - sizeof(h);
	h.crc = (uint32_t)crc32(0, m->p + sizeof(h), (uInt)h.length);
	memcpy(m->p, &h, sizeof(h));
	return 0;
}

/* ---- reading */

static bool is_between(double v, double low, double high)
{
	return v >= low && v <= high;
}

static bool take_histogram(struct message *m, struct reduction_column *c,
			   const struct column_numbers *n)
{
	uint64_t sum = 0, next = 0;

	for (uint64_t i = 0; i < n->nbins; i++) {
		const struct bin_count *b = message__take(m, sizeof(*b));

		if (!b || b->bin < next || b->bin >= LOG_HISTOGRAM_BINS || !b->n ||
		    b->n > n->n - sum)
			return false;
		c->histogram.n[b->bin] = b->n;
		sum += b->n;
		next = b->bin + 1;
	}
	return sum == n->n;
}

/* The numbers are possible ones: a mean lies between the extremes. */
static bool take_column(struct message *m, struct reduction *r, uint64_t rows)
{
	const char *name = message__take_text(m), *unit = message__take_text(m);
	const struct column_numbers *n = message__take(m, sizeof(*n));
	unsigned before = r->ncolumns;
	struct reduction_column *c;
	double slack;

	if (!n || n->n > rows || n->unknown > rows - n->n ||
	    reduction__column(r, name, unit) != (int)before)
		return false;
	c = r->columns[before];
	c->unknown = n->unknown;
	if (!n->n)
		return !n->nbins;
	c->moments = (struct moments){
		n->n, {n->sum_hi, n->sum_lo}, {n->squares_hi, n->squares_lo}, n->min, n->max};
	slack = 1e-9 * (fabs(n->min) + fabs(n->max));
	return isfinite(n->min) && isfinite(n->max) && n->min <= n->max && isfinite(n->sum_lo) &&
	       isfinite(n->squares_lo) && !(n->squares_hi < 0) &&
	       is_between(moments__mean(&c->moments), n->min - slack, n->max + slack) &&
	       take_histogram(m, c, n);
}

static bool take_list(struct message *m, struct reduction *r)
{
	const struct list_numbers *l = message__take(m, sizeof(*l));
	const uint8_t *read, *damaged;
	size_t bytes;

	if (!l || !l->n || l->n > FILES_MAX)
		return false;
	bytes = (size_t)(l->n / 8 + 1);
	read = message__take(m, bytes);
	damaged = message__take(m, bytes);
	if (!read || !damaged || reduction__list(r, l->id, l->n))
		return false;
	for (uint64_t i = 0; i < l->n; i++)
		if ((read[i / 8] >> i % 8 & 1) &&
		    reduction__file(r, l->id, l->n, i, damaged[i / 8] >> i % 8 & 1))
			return false;
	return true;
}

static bool take_place(struct message *m, struct reduction *r)
{
	const char *place = message__take_text(m);

	return *place && (!r->places.n || strcmp(r->places.v[r->places.n - 1], place) < 0) &&
	       !string_list__append(&r->places, place);
}

static bool take_item(struct message *m, struct reduction *r, const int *at)
{
	const struct item_numbers *n = message__take(m, sizeof(*n));
	struct reduction_item item = {.nvalues = r->ncolumns};
	const char *place = message__take_text(m), *table = message__take_text(m);

	item.values = (double *)message__take(m, r->ncolumns * sizeof(double));
	if (!n || !item.values)
		return false;
	item.key = n->key;
	item.row = n->row;
	item.place = (char *)place;
	item.table = (char *)table;
	return item.key ==
		       sample_item__of(r->seed ^ reduction__unit(place, table), 0, n->row).key &&
	       !reduction_items__add(r, &item, at);
}

static bool take_items(struct message *m, struct reduction *r, unsigned n)
{
	int *at = malloc((r->ncolumns + 1) * sizeof(*at));
	bool ok = at != NULL;

	for (unsigned i = 0; ok && i < r->ncolumns; i++)
		at[i] = (int)i;
	for (unsigned i = 0; ok && i < n; i++)
		ok = take_item(m, r, at);
	free(at);
	return ok;
}

static bool are_possible(const struct counts *c)
{
	return c->k <= REDUCTION_K_MAX && c->ncolumns <= REDUCTION_COLUMNS && c->nitems <= c->k &&
	       c->nitems <= c->rows && c->nlists <= LISTS_MAX && c->nplaces <= PLACES_MAX &&
	       c->rows <= UINT64_C(1) << 53 && c->tables <= c->rows + PLACES_MAX && c->cpu_s >= 0 &&
	       isfinite(c->cpu_s);
}

static int take_all(struct message *m, struct reduction *r)
{
	const struct counts *c = message__take(m, sizeof(*c));
	const char *series = message__take_text(m);
	bool ok = c && *series && are_possible(c);

	if (ok && reduction__init(r, series, c->seed, c->k))
		return -ENOMEM;
	for (unsigned i = 0; ok && i < c->ncolumns; i++)
		ok = take_column(m, r, c->rows);
	for (unsigned i = 0; ok && i < c->nlists; i++)
		ok = take_list(m, r);
	for (unsigned i = 0; ok && i < c->nplaces; i++)
		ok = take_place(m, r);
	ok = ok && take_items(m, r, c->nitems);
	if (!ok || m->at != m->len)
		return -EBADMSG;
	r->tables = c->tables;
	r->rows = c->rows;
	r->processes = c->processes;
	r->cpu_s = c->cpu_s;
	return 0;
}

int payload__read(struct reduction *r, const void *bytes, size_t n)
{
	struct message m = {0};
	struct head h;
	int err;

	*r = (struct reduction){0};
	if (n < sizeof(h))
		return -EBADMSG;
	memcpy(&h, bytes, sizeof(h));
	if (h.magic != MAGIC)
		return h.magic == __builtin_bswap64(MAGIC) ? -EPROTONOSUPPORT : -EBADMSG;
	if (h.version != VERSION)
		return -EPROTONOSUPPORT;
	if (n > PAYLOAD_MAX || h.length != n - sizeof(h) ||
	    h.crc != (uint32_t)crc32(0, (const Bytef *)bytes + sizeof(h), (uInt)h.length))
		return -EBADMSG;
	message__put(&m, (const char *)bytes + sizeof(h), h.length);
	err = m.bad ? -ENOMEM : m.len != h.length ? -EBADMSG : take_all(&m, r);
	message__free(&m);
	return err;
}

const char *payload__strerror(int err)
{
	switch (err) {
	case -EPROTONOSUPPORT:
		return "another version of jobprof, or another kind of machine, made it";
	case -EBADMSG:
		return "damaged, or no part of a reduction";
	case -EINVAL:
		return "it is of another series, seed or size of the sample";
	case -EEXIST:
		return "it has rows of a node that are in another one too";
	default:
		return strerror(-err);
	}
}
