/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks what a profile says against its owner, its name and its times. */
#include "index/claim.h"

#include <math.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* What a profile may claim to have been allocated, per node that it has. */
#define CPUS_OF_NODE 4096
#define GPUS_OF_NODE 256
#define CPUS_OF_CORE 8	   /* threads; Slurm may be configured with more than exist */
#define DAY_S	     86400 /* by which clocks may differ */

void claim__name_of_user(uid_t uid, char *name, size_t size)
{
	const struct passwd *pw = getpwuid(uid);

	if (pw)
		snprintf(name, size, "%s", pw->pw_name);
	else
		snprintf(name, size, "%u", (unsigned)uid);
}

static bool is_named_for(const struct row *r, const struct claim *c)
{
	const double id = r->number[INDEX_job_id];

	return (!c->job || id == c->job) && (isnan(r->inside_id) || id == r->inside_id);
}

/* Whether the profile names another user of this machine; a name that nobody has here may be of
 * another machine. */
static bool names_other(const struct row *r, uid_t uid, const char *owner)
{
	const char *name = r->text[INDEX_user];
	const struct passwd *pw;

	pw = name && strcmp(name, owner) ? getpwnam(name) : NULL;
	return pw && pw->pw_uid != uid;
}

/* How long the job can have run, in s: files are written while it runs. If it begins later than
 * now, a clock is wrong. */
static double longest(const struct row *r, const struct claim *c)
{
	const double last = fmin(c->changed_s, (double)time(NULL));

	return fmax(last - r->number[INDEX_start], 0) + DAY_S;
}

static bool has_too_many(const struct row *r)
{
	const double nodes = r->nodes.n ? r->nodes.n : 1, *v = r->number;

	return v[INDEX_cpus] > nodes * CPUS_OF_NODE || v[INDEX_cores] > nodes * CPUS_OF_NODE ||
	       v[INDEX_gpus] > nodes * GPUS_OF_NODE ||
	       v[INDEX_cores] > r->node_cores * CPUS_OF_CORE;
}

void claim__find_lie(char *why, size_t size, const struct row *r, const struct claim *c)
{
	/* Without names: the reason is kept, also when a user is forgotten. */
	static const char of_other[] = "it says that it is of another user than its owner";
	const char *bad_time = row__find_bad_time(r, false);
	const double elapsed = r->number[INDEX_elapsed_s];

	*why = '\0';
	if ((!isnan(r->uid) && r->uid != c->uid) || names_other(r, c->uid, c->owner))
		snprintf(why, size, "%s", of_other);
	else if (bad_time)
		snprintf(why, size, "%s", bad_time);
	else if (!is_named_for(r, c))
		snprintf(why, size, "its name says another job than what is in it");
	else if (elapsed > longest(r, c))
		snprintf(why, size,
			 "its job ran %.0f s, longer than from its begin to the file's "
			 "last change",
			 elapsed);
	else if (has_too_many(r))
		snprintf(why, size, "its job had %.0f cores and %.0f GPUs, more than its nodes",
			 fmax(r->number[INDEX_cpus], r->number[INDEX_cores]),
			 r->number[INDEX_gpus]);
}
