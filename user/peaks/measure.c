// SPDX-License-Identifier: GPL-2.0-only
/* The groups of measures, each run within its time, and what its passes come to. */
#include "peaks/measure.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"

#define GRACE_S 15.0 /* beyond its time, for what a group does before and after its passes */

const struct measure_group measure_groups[MEASURE_GROUPS] = {
	{"memory", PEAK_MEMORY, PEAK_MEMORY, memory__measure},
	{"flops", PEAK_FLOPS, PEAK_FLOPS, flops__measure},
	{"disk", PEAK_DISK_WRITE, PEAK_DISK_READ_OPS, disk__measure},
	{"network", PEAK_NETWORK, PEAK_NETWORK, network__measure},
};

/* What a thread that may never end works on: it outlives the call. */
struct job {
	const struct measure_group *group;
	const struct measure_opts *opts; /* the caller's, for the whole program */
	struct measure m[PEAK_KINDS];
};

static void *run_job(void *arg)
{
	struct job *j = arg;

	j->group->run(j->opts, j->m);
	return NULL;
}

static void fail_all(const struct measure_group *g, struct measures *m, const char *why)
{
	for (unsigned i = g->first; i <= g->last; i++)
		measure__fail(&m->of[i], "%s", why);
}

void measure__run(const struct measure_group *g, const struct measure_opts *o, struct measures *m)
{
	struct job *j = calloc(1, sizeof(*j));
	struct timespec end;
	pthread_t thread;

	if (!j) {
		fail_all(g, m, strerror(ENOMEM));
		return;
	}
	j->group = g;
	j->opts = o;
	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += (time_t)ceil(o->seconds + GRACE_S);
	if (pthread_create(&thread, NULL, run_job, j)) {
		fail_all(g, m, "no thread can be started");
	} else if (pthread_timedjoin_np(thread, NULL, &end)) {
		fail_all(g, m, "it did not end in time");
		return;
	} else {
		memcpy(&m->of[g->first], j->m, (g->last - g->first + 1) * sizeof(j->m[0]));
	}
	free(j);
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

struct peak measure__peak(const struct measure *m)
{
	double sorted[PASSES_MAX];
	unsigned n = m->npasses;

	if (!n)
		return (struct peak){NAN, NAN, NAN};
	memcpy(sorted, m->pass, n * sizeof(sorted[0]));
	qsort(sorted, n, sizeof(sorted[0]), compare);
	return (struct peak){(sorted[(n - 1) / 2] + sorted[n / 2]) / 2, sorted[0], sorted[n - 1]};
}

double measure__spread(const struct measure *m)
{
	struct peak p = measure__peak(m);

	return m->npasses < 2 ? NAN : (p.max - p.min) / p.value;
}

void measure__fail(struct measure *m, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(m->error, sizeof(m->error), fmt, ap);
	va_end(ap);
	m->npasses = 0;
}

bool measure__goes_on(const struct measure *m, const struct measure_opts *o, uint64_t began)
{
	if (m->error[0] || m->npasses >= o->passes || m->npasses >= PASSES_MAX)
		return false;
	return !m->npasses || (double)(clock__mono_ns() - began) / NSEC_PER_SEC < o->seconds;
}
