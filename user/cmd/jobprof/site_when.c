/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads times as people write them, and finds days of local time. */
#include "cmd/jobprof/site_when.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "base/str.h"

/* ---- days */

double site_when__midnight(double s, int days)
{
	const time_t t = (time_t)s;
	struct tm tm;

	if (!localtime_r(&t, &tm))
		return NAN;
	tm.tm_mday -= days;
	tm.tm_hour = tm.tm_min = tm.tm_sec = 0;
	tm.tm_isdst = -1;
	return (double)mktime(&tm);
}

bool site_when__is_midnight(double s)
{
	return site_when__midnight(s, 0) == s;
}

int64_t site_when__day(double s)
{
	const time_t t = (time_t)s;
	struct tm tm = {0};

	localtime_r(&t, &tm);
	return (int64_t)floor((s + (double)tm.tm_gmtoff) / 86400);
}

bool site_when__before(const struct job_filter *f, struct job_filter *before)
{
	const bool of_days = site_when__is_midnight(f->since);
	const double now = (double)time(NULL), end = of_days ? site_when__midnight(now, -1) : now;
	const double until = isnan(f->until) ? end : f->until, length = until - f->since;

	*before = *f;
	before->until = f->since;
	if (!(length > 0) || !(length < 1e10))
		return false;
	if (of_days && site_when__is_midnight(until))
		before->since = site_when__midnight(f->since, (int)lround(length / 86400));
	else
		before->since = f->since - length;
	return true;
}

/* ---- texts */

struct unit {
	char letter;
	int n;
};

/* Reads a number of at most 14 characters before the letter of one of n units. NULL: it is none. */
static const struct unit *split(char number[static 16], const char *text, const struct unit *units,
				size_t n)
{
	const size_t len = strlen(text);

	if (len < 2 || len > 15)
		return NULL;
	snprintf(number, 16, "%.*s", (int)len - 1, text);
	for (size_t i = 0; i < n; i++)
		if (units[i].letter == text[len - 1])
			return &units[i];
	return NULL;
}

/* "24h" is that many hours ago; days, weeks, months and years begin at midnight. */
static int parse_ago(double *s, const char *text)
{
	static const struct unit units[] = {{'h', 0}, {'d', 1}, {'w', 7}, {'m', 30}, {'y', 365}};
	const double now = (double)time(NULL);
	char number[16];
	const struct unit *days = split(number, text, units, sizeof(units) / sizeof(*units));
	uint32_t count;

	if (!days || parse_u32(number, &count) || count > 100000)
		return -EINVAL;
	*s = days->n ? site_when__midnight(now, (int)count * days->n) : now - 3600.0 * count;
	return 0;
}

int site_when__parse_span(const char *text, double *s)
{
	static const struct unit units[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}};
	char number[16];
	const struct unit *of = split(number, text, units, sizeof(units) / sizeof(*units));

	if (!of || parse_double(number, s))
		return -EINVAL;
	*s *= of->n;
	return 0;
}

static int parse_date(double *s, const char *text)
{
	static const char *const forms[] = {"%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%d",
					    "%Y-%m"};
	double unix_time;

	if (!parse_double(text, &unix_time) && unix_time > 1e8) {
		*s = unix_time;
		return 0;
	}
	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
		struct tm tm = {.tm_mday = 1, .tm_isdst = -1};
		const char *end = strptime(text, forms[i], &tm);

		const bool is_utc = end && !strcmp(end, "Z") && strchr(text, 'T');

		if (!end || (*end && !is_utc))
			continue;
		*s = (double)(is_utc ? timegm(&tm) : mktime(&tm));
		return 0;
	}
	return -EINVAL;
}

int site_when__parse(double *s, const char *option, const char *text)
{
	const bool is_one = !strcmp(option, "at") || !strcmp(option, "ran-at");

	if (!is_one && !strcmp(text, "all")) {
		*s = NAN;
		return 0;
	}
	if (!parse_ago(s, text) || !parse_date(s, text))
		return 0;
	log_error("--%s %s: it is %s24h, 7d, 4w, 6m, 1y, 2026-11-01%s2026-11-01T08:00%s", option,
		  text, is_one ? "one time: " : "", is_one ? " or " : ", ",
		  is_one ? "" : " or all");
	return 2;
}
