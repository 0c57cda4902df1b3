/* SPDX-License-Identifier: GPL-2.0-only */
/* Whether files of one id are of one job: clusters may share a directory, and ids come again. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "model/job/job_internal.h"

#define SAME_S 2 /* rows of one step on one node begin at one time */

static const char *const texts[] = {"Cluster", "SLUID"};
static const char *const numbers[] = {"UID", "Restart Count", "Job Start EpochTime",
				      "Start TimeNS"};

static void put_text(const struct reader_node *n, const char *name, char *to)
{
	const char *text = node__str(n, name);

	snprintf(to, JOB_ORIGIN_TEXT, "%s", text ? text : "");
}

void job_origin__read(struct job_origin *o, const struct reader_node *n)
{
	double *const number[] = {&o->uid, &o->restart, &o->job_start, &o->start_ns};
	char *const text[] = {o->cluster, o->sluid};

	*o = (struct job_origin){.is_known = true};
	for (unsigned i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		put_text(n, texts[i], text[i]);
	for (unsigned i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		if (!node__number(n, numbers[i], number[i]))
			*number[i] = NAN;
}

/* slurmctld writes the cluster's name in lower case, a configuration may not. */
static bool texts_differ(const char *a, const char *b)
{
	return *a && *b && strcasecmp(a, b);
}

static bool numbers_differ(double a, double b)
{
	return fabs(a - b) > 0;
}

bool job_origin__differ(const struct job_origin *a, const struct job_origin *b, bool same_step)
{
	if (!a->is_known || !b->is_known)
		return false;
	if (texts_differ(a->cluster, b->cluster) || numbers_differ(a->uid, b->uid))
		return true;
	/* A job that Slurm ran again has another start. */
	if (numbers_differ(a->restart, b->restart))
		return false;
	if (texts_differ(a->sluid, b->sluid) || numbers_differ(a->job_start, b->job_start))
		return true;
	return same_step && fabs(a->start_ns - b->start_ns) > SAME_S * 1e9;
}
