/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads instants as users write them, and tells which rows lie between two of them. */
#include "jobfile/extract/extract_internal.h"
#include "jobfile/extract/extract_time.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <time.h>

#include "base/str.h"

#define SECOND INT64_C(1000000000)

static int parse_seconds(struct time_bound *b, const char *text)
{
	const char *point = strchr(text, '.');
	double v;

	/* Beyond this there are no ns in 63 bits. */
	if (parse_double(text, &v) || v > 9e9)
		return -EINVAL;
	b->whole = !point;
	b->ns = (int64_t)v * SECOND;
	if (point) {
		char digits[] = "000000000";
		size_t n = strlen(point + 1);
		uint64_t ns;

		memcpy(digits, point + 1, n < 9 ? n : 9);
		parse_u64(digits, &ns);
		b->ns += (int64_t)ns;
	}
	return 0;
}

static int parse_date(struct time_bound *b, const char *text)
{
	static const char *const formats[] = {
		"%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M",
		"%m/%d/%y-%H:%M:%S", "%m/%d/%y-%H:%M",	  "%m/%d-%H:%M:%S", "%m/%d-%H:%M",
	};
	time_t now = time(NULL);
	struct tm today;

	if (!localtime_r(&now, &today))
		return -EINVAL;
	for (unsigned i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		struct tm tm = {.tm_isdst = -1, .tm_year = today.tm_year};
		const char *end = strptime(text, formats[i], &tm);
		bool utc = end && !strcmp(end, "Z");
		time_t t;

		if (!end || (*end && !utc))
			continue;
		t = utc ? timegm(&tm) : mktime(&tm);
		if (t < 0 || t > 9000000000)
			return -EINVAL;
		b->ns = t * SECOND;
		b->whole = b->epoch = true;
		return 0;
	}
	return -EINVAL;
}

int time_bound__parse(struct time_bound *b, const char *text)
{
	*b = (struct time_bound){.set = true, .epoch = text[0] == '@'};
	if (b->epoch)
		return parse_seconds(b, text + 1);
	return strchr(text, '-') ? parse_date(b, text) : parse_seconds(b, text);
}

int time_filter__table(struct time_filter *f, const struct cursor *c, const struct reader_node *n)
{
	bool by_elapsed = (f->from.set && !f->from.epoch) || (f->to.set && !f->to.epoch);
	bool by_epoch = (f->from.set && f->from.epoch) || (f->to.set && f->to.epoch);

	if (!f->on)
		return 0;
	f->elapsed = cursor__column(c, "ElapsedTime");
	f->epoch = cursor__column(c, "EpochTime");
	f->ns = cursor__column(c, "TimeNS");
	f->started = by_elapsed && f->ns >= 0 && reader_node__i64(n, "Start TimeNS", &f->start_ns);
	if (by_elapsed && f->elapsed < 0 && !f->started)
		return -ENODATA;
	return by_epoch && f->epoch < 0 && f->ns < 0 ? -ENODATA : 0;
}

static int64_t seconds(const union cell *row, int at)
{
	int64_t ns;

	if (row[at].u > INT64_MAX || __builtin_mul_overflow((int64_t)row[at].u, SECOND, &ns))
		return INT64_MAX;
	return ns;
}

static int64_t instant(const struct time_filter *f, bool epoch, const union cell *row)
{
	if (epoch)
		return f->ns >= 0 ? (int64_t)row[f->ns].u : seconds(row, f->epoch);
	return f->started ? (int64_t)(row[f->ns].u - (uint64_t)f->start_ns)
			  : seconds(row, f->elapsed);
}

bool time_filter__row(const struct time_filter *f, const union cell *row)
{
	if (f->from.set && instant(f, f->from.epoch, row) < f->from.ns)
		return false;
	return !f->to.set ||
	       instant(f, f->to.epoch, row) <= f->to.ns + (f->to.whole ? SECOND - 1 : 0);
}

bool extract__has_seconds(const struct extraction *x)
{
	const struct cursor *c = x->cursor;
	int ns = cursor__column(c, "TimeNS");

	return !x->opt->stock && !x->opt->totals && ns >= 0 && c->cols[ns].type == COL_U64 &&
	       !c->cols[ns].unknown && cursor__column(c, EXTRACT_SECONDS) < 0;
}
