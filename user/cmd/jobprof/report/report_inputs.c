/* SPDX-License-Identifier: GPL-2.0-only */
/* Finds the files of a report. */
#include "cmd/jobprof/report/report_inputs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "cmd/jobprof/input_search.h"

static int use_paths(struct report_inputs *in, const struct string_list *nodes)
{
	in->v = calloc(in->paths.n, sizeof(*in->v));
	if (!in->v)
		return -ENOMEM;
	string_list__sort(&in->paths, 0);
	for (; in->n < in->paths.n; in->n++)
		in->v[in->n] = (struct job_input){.path = in->paths.v[in->n], .nodes = nodes};
	return 0;
}

/* 0 or the exit status. */
static int use_files(struct report_inputs *in, const struct string_list *nodes)
{
	const struct input_files *f = &in->files;

	in->v = calloc(f->n, sizeof(*in->v));
	if (!in->v)
		return 1;
	for (; in->n < f->n; in->n++)
		in->v[in->n] = (struct job_input){f->v[in->n].path, f->v[in->n].steps,
						  f->v[in->n].nsteps, nodes};
	return 0;
}

static int use_one(struct report_inputs *in, const char *input, const struct string_list *nodes)
{
	int status;

	in->files.v = calloc(1, sizeof(*in->files.v));
	if (!in->files.v)
		return 1;
	in->files.n = 1;
	status = input_file__choose(in->files.v, NULL, input);
	return status ? status : use_files(in, nodes);
}

static int use_job(struct report_inputs *in, const char *jobs, const char *input,
		   const struct string_list *nodes)
{
	int status = input_files__parse(&in->files, jobs, input);

	if (!status && in->files.n > 1 && !input_files__are_parts(&in->files))
		status = input_files__refuse(&in->files, jobs, false);
	return status ? status : use_files(in, nodes);
}

int report_inputs__of(struct report_inputs *in, const char *jobs, const char *input,
		      const struct string_list *nodes)
{
	int err;

	*in = (struct report_inputs){0};
	if (jobs)
		return use_job(in, jobs, input, nodes);
	if (!input || !input_search__is_dir(input))
		return use_one(in, input, nodes);
	err = input_search__files(&in->paths, input, NULL, 0);
	if (!err && !in->paths.n)
		return use_one(in, input, nodes);
	if (!err)
		err = use_paths(in, nodes);
	if (err)
		log_error("%s: %s", input, strerror(-err));
	return err ? 1 : 0;
}

int report_inputs__words(struct report_inputs *in, char *const *words, unsigned n,
			 const struct string_list *nodes)
{
	int err = 0;

	*in = (struct report_inputs){0};
	for (unsigned i = 0; !err && i < n; i++) {
		unsigned before = in->paths.n;

		err = input_search__is_dir(words[i])
			      ? input_search__files(&in->paths, words[i], NULL, 0)
			      : string_list__append(&in->paths, words[i]);
		if (!err && in->paths.n == before)
			err = -ENOENT;
		if (err == -ENOENT)
			log_error("%s: there is no profile in this directory", words[i]);
		else if (err)
			log_error("%s: %s", words[i], strerror(-err));
	}
	return err || use_paths(in, nodes) ? 1 : 0;
}

void report_inputs__free(struct report_inputs *in)
{
	string_list__free(&in->paths);
	free(in->v);
	input_files__free(&in->files);
	*in = (struct report_inputs){0};
}
