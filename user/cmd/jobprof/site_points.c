/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Divides the time of a filter into parts. */
#include "cmd/jobprof/site_points.h"

#include <math.h>
#include <stdio.h>
#include <time.h>

/* The number of the local day of an instant. */
static int64_t day_of(double s)
{
	time_t t = (time_t)s;
	struct tm tm = {0};

	localtime_r(&t, &tm);
	return (int64_t)floor((s + (double)tm.tm_gmtoff) / 86400);
}

void site_points__init(struct site_points *p, struct index *ix, const struct job_filter *f,
		       unsigned most)
{
	const double now = (double)time(NULL);
	const bool of_days = query__has_whole_days(ix, f);

	*p = (struct site_points){.n = most < SITE_POINTS ? most : SITE_POINTS, .of_days = of_days};
	if (isnan(f->since)) {
		p->n = 0;
		return;
	}
	if (of_days) {
		p->from = day_of(f->since);
		p->length = (isnan(f->until) ? day_of(now) + 1 : day_of(f->until)) - p->from;
		p->n = p->length < p->n ? (unsigned)fmax((double)p->length, 0) : p->n;
	} else {
		p->from = (int64_t)f->since;
		p->length = (int64_t)ceil(isnan(f->until) ? now : f->until) - p->from;
	}
	if (p->length <= 0)
		p->n = 0;
}

void site_points__add(const struct site_points *p, struct query *q, bool is_sums)
{
	char sql[160];

	snprintf(sql, sizeof(sql), "(%s - %lld) * %u / %lld",
		 is_sums      ? "s.day"
		 : p->of_days ? "j.day"
			      : "j.start",
		 (long long)p->from, p->n, (long long)p->length);
	query__add(q, sql);
}
