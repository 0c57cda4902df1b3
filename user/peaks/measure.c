// SPDX-License-Identifier: GPL-2.0-or-later
/* The groups of measures, each run within its time. */
#include "peaks/measure.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

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
