/* SPDX-License-Identifier: GPL-2.0-only */
/* The usual time between rows; and parts of a job whose node had a wrong clock, which would make
 * the time axis so long that nothing else is seen. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/job/job_internal.h"

#define HOUR_NS	    3600e9
#define DAY_NS	    (24 * HOUR_NS)
#define YEAR_NS	    (365.25 * DAY_NS)
#define TOGETHER_NS (HOUR_NS / 2) /* a step begins on all its nodes in this time */
#define NO_CLOCK_NS 1e18	  /* September 2001: earlier is a clock that was never set */

static bool has_times(const struct job_part *p)
{
	return !p->trouble && !isnan(p->start_ns) && !isnan(p->end_ns);
}

static int cmp(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

#define SAMPLE 512

double job_clock__usual_s(const double *end_s, size_t n, size_t least)
{
	double v[SAMPLE];
	size_t count = 0;

	for (size_t i = 1; i < n && count < SAMPLE; i++)
		if (end_s[i] > end_s[i - 1])
			v[count++] = end_s[i] - end_s[i - 1];
	if (!count || count < least)
		return NAN;
	qsort(v, count, sizeof(*v), cmp);
	return v[count / 2];
}

/* The median; of an even number the lower one, and of clocks that were set where there are some. */
static double median(double *v, size_t n)
{
	size_t unset = 0;

	qsort(v, n, sizeof(*v), cmp);
	while (unset < n && v[unset] < NO_CLOCK_NS)
		unset++;
	unset = unset < n ? unset : 0;
	return v[unset + (n - unset - 1) / 2];
}

/* 0 or -ENOMEM. */
static int set_trouble(struct job_part *p, double off_ns)
{
	double off = fabs(off_ns);
	double unit = off > 2 * YEAR_NS ? YEAR_NS : off > 2 * DAY_NS ? DAY_NS : HOUR_NS;
	const char *name = off > 2 * YEAR_NS ? "years" : off > 2 * DAY_NS ? "days" : "hours";

	if (asprintf(&p->trouble, "the clock of the node is wrong: %.1f %s %s the others",
		     off / unit, name, off_ns < 0 ? "behind" : "ahead of") >= 0)
		return 0;
	p->trouble = NULL;
	return -ENOMEM;
}

/* What is compared: parts of a step, or all, and how far their starts may be apart. */
struct comparison {
	int step; /* -1: all */
	double start_far_ns;
};

static bool is_compared(const struct job_part *p, const struct comparison *c)
{
	return has_times(p) && (c->step < 0 || p->step == (unsigned)c->step);
}

/* room[2 nparts] is for times. 0 or -ENOMEM. */
static int compare(struct model_job *j, const struct comparison *c, double *room)
{
	double *start = room, *end = room + j->nparts, start_ns, end_ns;
	size_t n = 0;
	int err = 0;

	for (unsigned i = 0; i < j->nparts; i++)
		if (is_compared(&j->parts[i], c)) {
			start[n] = j->parts[i].start_ns;
			end[n++] = j->parts[i].end_ns;
		}
	if (n < 2)
		return 0;
	start_ns = median(start, n);
	end_ns = median(end, n);
	for (unsigned i = 0; !err && i < j->nparts; i++) {
		struct job_part *p = &j->parts[i];

		if (!is_compared(p, c))
			continue;
		if (fabs(p->start_ns - start_ns) > c->start_far_ns)
			err = set_trouble(p, p->start_ns - start_ns);
		else if (fabs(p->end_ns - end_ns) > YEAR_NS)
			err = set_trouble(p, p->end_ns - end_ns);
	}
	return err;
}

/* A part that ends before it begins. */
static int find_fallen(struct model_job *j)
{
	for (unsigned i = 0; i < j->nparts; i++) {
		struct job_part *p = &j->parts[i];

		if (!has_times(p) || p->end_ns >= p->start_ns)
			continue;
		p->trouble = strdup("the clock of the node fell: its last row is before its start");
		if (!p->trouble)
			return -ENOMEM;
	}
	return 0;
}

/* Steps of a job may be days apart, but not years. */
int job_clock__judge(struct model_job *j)
{
	double *room = malloc(2 * j->nparts * sizeof(*room));
	int err = room ? find_fallen(j) : -ENOMEM;

	for (unsigned s = 0; !err && s < j->nsteps; s++)
		err = compare(j, &(struct comparison){(int)s, TOGETHER_NS}, room);
	if (!err)
		err = compare(j, &(struct comparison){-1, YEAR_NS}, room);
	free(room);
	return err;
}
