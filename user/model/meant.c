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

uint32_t meant__job(const char *path, const struct jobspec *spec)
{
	struct reader *r;
	uint32_t job = 0;
	bool is;

	if (reader__open(&r, path))
		return 0;
	is = r->merged && !parse_u32(r->job, &job) &&
	     ((spec->kind == JOBSPEC_JOB && job == spec->job) || is_part(r, spec));
	reader__free(r);
	return is ? job : 0;
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
