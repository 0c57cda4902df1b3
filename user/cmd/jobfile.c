/* SPDX-License-Identifier: GPL-2.0-only */
#include "cmd/jobfile.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/str.h"
#include "cmd/choice.h"
#include "store/guard.h"
#include "store/reader.h"

/* The id in "job_<id>.h5" and "job_<id>.restart<n>.h5". */
static bool job_file(const char *name, uint32_t *job)
{
	char id[16];
	size_t n;

	if (strncmp(name, "job_", 4))
		return false;
	n = strspn(name + 4, "0123456789");
	if (!n || n >= sizeof(id) || strcmp(name + 4 + n, ".h5"))
		return false;
	memcpy(id, name + 4, n);
	id[n] = '\0';
	return !parse_u32(id, job);
}

struct question {
	const char *path;
	const struct jobspec *spec;
};

/* The job's first node says of which array or heterogeneous job it is. In a child. */
static int is_part(void *arg)
{
	const struct question *q = arg;
	struct reader_node *n = NULL;
	struct reader *r;
	bool is;

	if (reader__open(&r, q->path))
		return false;
	for (unsigned s = 0; s < r->nsteps && !n; s++)
		if (r->steps[s].nnodes)
			(void)reader__node(r, s, 0, NULL, &n);
	is = n && select__part(n, q->spec);
	reader_node__free(n);
	reader__free(r);
	return is;
}

static int find_part(const struct jobspec *spec, uint32_t *job)
{
	_cleanup_closedir_ DIR *dir = opendir(".");
	struct dirent *e;

	while (dir && (e = readdir(dir)) != NULL) {
		struct question q = {e->d_name, spec};

		/* A file that crashes its reader is not the one. */
		if (job_file(e->d_name, job) && guard__run(is_part, &q, &GUARD_STREAM) == 1)
			return 0;
	}
	return -ENOENT;
}

static int note_steps(struct jobfile *f, const struct jobspec *specs, unsigned n)
{
	f->texts = calloc(n, sizeof(*f->texts));
	f->steps = calloc(n, sizeof(*f->steps));
	if (!f->texts || !f->steps)
		return -ENOMEM;
	for (unsigned i = 0; i < n; i++) {
		if (specs[i].any_step) {
			f->nsteps = 0;
			return 0;
		}
		snprintf(f->texts[i], sizeof(*f->texts), "%" PRIu32, specs[i].step);
		f->steps[f->nsteps++] = f->texts[i];
	}
	return 0;
}

int jobfile__of(struct jobfile *out, const struct jobspec *specs, unsigned n, const char *input)
{
	int err;

	*out = (struct jobfile){.job = specs->job};
	err = note_steps(out, specs, n);
	if (!err && !input && specs->kind != JOBSPEC_JOB)
		err = find_part(specs, &out->job);
	if (err) {
		jobfile__free(out);
		return err;
	}
	if (input)
		out->path = strdup(input);
	else if (asprintf(&out->path, "./job_%" PRIu32 ".h5", out->job) < 0)
		out->path = NULL;
	if (out->path)
		return 0;
	jobfile__free(out);
	return -ENOMEM;
}

static int of_specs(struct jobfile *out, const struct jobspec *specs, unsigned n, const char *input)
{
	int err;

	for (unsigned i = 1; i < n; i++) {
		if (jobspec__same_job(&specs[0], &specs[i]))
			continue;
		log_error("-j: %s and %s are two jobs; one at a time", specs[0].text,
			  specs[i].text);
		return 2;
	}
	err = jobfile__of(out, specs, n, input);
	if (err == -ENOENT)
		log_error("%s: no ./job_*.h5 says that it is of it; name the file with -i",
			  specs->text);
	else if (err)
		log_error("%s", strerror(-err));
	return err ? 1 : 0;
}

int jobfile__choose(struct jobfile *out, const char *jobs, const char *input)
{
	_cleanup_free_ struct jobspec *specs = NULL;
	unsigned n = 0;
	int status;

	*out = (struct jobfile){0};
	if (!jobs && !input) {
		log_error("which file: -j JOB or -i FILE");
		return 2;
	}
	if (!jobs) {
		out->path = strdup(input);
		return out->path ? 0 : 1;
	}
	status = choice__jobs(&specs, &n, jobs);
	return status ? status : of_specs(out, specs, n, input);
}

void jobfile__free(struct jobfile *f)
{
	free(f->path);
	free(f->steps);
	free(f->texts);
	*f = (struct jobfile){0};
}
