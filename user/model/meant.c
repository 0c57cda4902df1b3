/* SPDX-License-Identifier: GPL-2.0-only */
/* Compares a job's name with what the first node of a file says of its job. */
#include "model/meant.h"

#include "base/str.h"
#include "hdf5/hdf5.h"
#include "jobfile/select.h"

static bool is_part(const struct reader *r, const struct jobspec *spec)
{
	struct reader_node *n = NULL;
	bool is;

	for (unsigned s = 0; s < r->nsteps && !n; s++)
		if (r->steps[s].nodes.n)
			(void)reader__node(r, s, 0, NULL, &n);
	is = n && select__part(n, spec);
	reader_node__free(n);
	return is;
}

static bool is_job(const struct reader *r, const struct jobspec *spec, uint32_t job)
{
	return (spec->kind == JOBSPEC_JOB && job == spec->job) || is_part(r, spec);
}

/* A job file has steps that are chosen later, a node-step file is of one. */
static bool has_step(const struct reader *r, const struct jobspec *specs, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (r->merged || jobspec__has_step(&specs[i], r->steps[0].name))
			return true;
	return false;
}

uint32_t meant__job(const char *path, const struct jobspec *specs, unsigned n)
{
	struct reader *r;
	uint32_t job = 0;
	bool is;

	if (reader__open(&r, path))
		return 0;
	is = !parse_u32(r->job, &job) && r->nsteps && is_job(r, specs, job) &&
	     has_step(r, specs, n);
	reader__free(r);
	return is ? job : 0;
}

bool meant__profile(const char *path)
{
	struct reader *r;
	bool is;

	if (reader__open(&r, path))
		return false;
	is = r->nsteps > 0;
	reader__free(r);
	return is;
}

uint32_t meant__other(const char *path, const struct jobspec *spec)
{
	struct reader *r;
	uint32_t job = 0;
	bool other;

	if (reader__open(&r, path))
		return 0;
	other = !parse_u32(r->job, &job) && !is_job(r, spec, job);
	reader__free(r);
	return other ? job : 0;
}

bool meant__part(const char *path, const struct jobspec *spec)
{
	struct reader *r;
	bool is;

	if (reader__open(&r, path))
		return false;
	is = is_part(r, spec);
	reader__free(r);
	return is;
}
