/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Times as people write them, and days of local time. */
#ifndef JP_CMD_JOBPROF_SITE_WHEN_H
#define JP_CMD_JOBPROF_SITE_WHEN_H

#include "index/query.h"

/* "7d", "2026-11-01", "all", which is NaN, as Unix time. 0, or 2, which is logged with the name of
 * the option. */
int site_when__parse(double *s, const char *option, const char *text);
/* "90s", "1.5h". 0 or -EINVAL. */
int site_when__parse_span(const char *text, double *s);

/* Midnight of the local day that is `days` before that of s, Unix time; NaN: of no year. */
double site_when__midnight(double s, int days);
bool site_when__is_midnight(double s);
/* The number of the local day of an instant, from 1970 on. */
int64_t site_when__day(double s);

/* Sets `before` to the time that precedes the filter's: as many days, or as many seconds unless
 * both ends are midnights. A filter of days without an end lasts to the end of today, another one
 * until now. False: none. */
bool site_when__before(const struct job_filter *f, struct job_filter *before);

#endif
