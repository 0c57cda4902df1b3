/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Divides the time of a filter into parts, and takes what a query says of these. */
#include "cmd/jobprof/site_points.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/known.h"
#include "cmd/jobprof/site_when.h"

#define LONG_DAYS 183 /* a longer time may be of months */

/* The number of the month of a day. */
static int64_t month_of(int64_t day)
{
	time_t t = (time_t)day * 86400;
	struct tm tm = {0};

	gmtime_r(&t, &tm);
	return (tm.tm_year + 1900) * 12 + tm.tm_mon;
}

void site_points__init(struct site_points *p, struct index *ix, const struct job_filter *f,
		       unsigned most)
{
	const double now = (double)time(NULL);
	const bool of_days = query__has_whole_days(ix, f);

	*p = (struct site_points){.n = most < SITE_POINTS ? most : SITE_POINTS,
				  .of = of_days ? PARTS_OF_DAYS : PARTS_OF_SECONDS};
	if (isnan(f->since)) {
		p->n = 0;
		return;
	}
	if (of_days) {
		p->from = site_when__day(f->since);
		p->length = (isnan(f->until) ? site_when__day(now) + 1 : site_when__day(f->until)) -
			    p->from;
		p->n = p->length < p->n ? (unsigned)fmax((double)p->length, 0) : p->n;
	} else {
		p->from = (int64_t)f->since;
		p->length = (int64_t)ceil(isnan(f->until) ? now : f->until) - p->from;
	}
	if (p->length <= 0)
		p->n = 0;
}

/* The first and the last month may be cut. In a part are as many months as in the others. */
void site_points__use_months(struct site_points *p)
{
	const int64_t from = month_of(p->from);
	const int64_t n = month_of(p->from + p->length - 1) + 1 - from;
	const int64_t each = (n + SITE_POINTS - 1) / SITE_POINTS;

	if (!p->n || p->of != PARTS_OF_DAYS || p->length <= LONG_DAYS)
		return;
	p->of = PARTS_OF_MONTHS;
	p->n = (unsigned)((n + each - 1) / each);
	p->from = from;
	p->length = p->n * each;
}

void site_points__add(const struct site_points *p, struct query *q, bool is_sums)
{
	static const char *const columns[] = {"start", "day", "month"};
	char sql[160];

	snprintf(sql, sizeof(sql), "(%c.%s - %lld) * %u / %lld", is_sums ? 's' : 'j',
		 columns[is_sums && !p->of ? PARTS_OF_DAYS : p->of], (long long)p->from, p->n,
		 (long long)p->length);
	query__add(q, sql);
}

/* ---- what each part has */

/* Of one row. */
struct over_time {
	char *key; /* NULL: no row yet */
	double v[SITE_POINTS], of[SITE_POINTS];
	bool is_share;
};

static int set(const struct site_points *p, struct over_time *w, struct site_table *t,
	       unsigned column)
{
	char text[SITE_SERIES];

	for (unsigned i = 0; w->is_share && i < p->n; i++)
		w->v[i] = w->of[i] > 0 ? w->v[i] / w->of[i] : NAN;
	for (unsigned i = 0; i + t->has_sum < t->nrows; i++) {
		struct db_value *row = &t->cells[(size_t)i * t->ncolumns];

		if (strcmp(row->type == DB_TEXT ? row->text : "", w->key) != 0)
			continue;
		row[column] = db_value__text(strdup(site_series__text(text, w->v, p->n)));
		return row[column].text ? 0 : -ENOMEM;
	}
	return 0;
}

int site_points__take(const struct site_points *p, struct db_rows *r, struct site_table *t,
		      unsigned column)
{
	struct over_time w = {0};
	int err = 0;

	while (!err && db_rows__next(r)) {
		const int64_t at = r->v[1].i;

		if (!w.key || strcmp(w.key, r->v[0].text) != 0) {
			err = w.key ? set(p, &w, t, column) : 0;
			free(w.key);
			w = (struct over_time){strdup(r->v[0].text), .is_share = r->n > 3};
		}
		if (!w.key)
			return -ENOMEM;
		if (at < 0 || at >= p->n)
			continue;
		w.v[at] = known__sum(db_value__number(&r->v[2]), 0);
		w.of[at] = w.is_share ? known__sum(db_value__number(&r->v[3]), 0) : 0;
	}
	if (!err && w.key)
		err = set(p, &w, t, column);
	free(w.key);
	return err ? err : r->err;
}
