// SPDX-License-Identifier: GPL-2.0-only
/* What is asked of a job: bins, attributes. */
#include <string.h>

#include "model/job/job_internal.h"

const char *const about_attrs[ABOUT_TEXTS] = {
	[ABOUT_PROGRAM] = "Executable",	   [ABOUT_BUILD_ID] = "Build Id",
	[ABOUT_MPI] = "MPI Libraries",	   [ABOUT_GPU] = "GPU Libraries",
	[ABOUT_CPUS] = "Allowed CPU List",
};

const struct job_part *model_job__unread(const struct model_job *j)
{
	for (unsigned i = 0; j->parts && i < j->nparts; i++)
		if (j->parts[i].trouble)
			return &j->parts[i];
	return NULL;
}

const struct model_attr *job_part__attr(const struct job_part *p, const char *name)
{
	for (unsigned i = 0; i < p->nattrs; i++)
		if (!strcmp(p->attrs[i].name, name))
			return &p->attrs[i];
	return NULL;
}

const double *job_unit__bins(const struct job_unit *u, enum quantity q, const struct time_grid *g)
{
	unsigned slot = 0;

	if (!u->bins || !quantity__is_kept(q, u->series))
		return NULL;
	for (int i = 0; i < (int)q; i++)
		slot += quantity__is_kept(i, u->series);
	return u->bins + (size_t)slot * g->n;
}

const float *job_unit__extremes(const struct job_unit *u, enum quantity q)
{
	return extremes__of(&u->extremes, q);
}

const double *job_unit__held(const struct job_unit *u, enum quantity q, const struct time_grid *g)
{
	return u->held ? u->held + (size_t)quantity__held_before(q) * g->n * g->instants : NULL;
}

const struct model_attr *model_job__attr(const struct model_job *j, const char *name)
{
	for (unsigned i = 0; i < j->nparts; i++) {
		const struct model_attr *a = job_part__attr(&j->parts[i], name);

		if (a)
			return a;
	}
	return NULL;
}
