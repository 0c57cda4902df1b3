/* SPDX-License-Identifier: GPL-2.0-only */
/* A file as a whole: its job, its kind, and how many steps and nodes it has. */
#include "model/model.h"

#include <stdlib.h>

#include "hdf5/hdf5.h"
#include "jobfile/profiles.h"

int model_file__open(struct model_file *f, const char *path)
{
	struct reader *r = NULL;
	int err = reader__open(&r, path);

	*f = (struct model_file){0};
	if (err)
		return err;
	*f = (struct model_file){
		.reader = r,
		.job = r->job,
		.merged = r->merged,
		.nsteps = r->nsteps,
		.nnodes = r->nnodes,
	};
	return 0;
}

const char *model_file__strerror(int err)
{
	return reader__strerror(err);
}

void model_file__close(struct model_file *f)
{
	reader__free(f->reader);
	*f = (struct model_file){0};
}

void model_files__open(struct model_files *f, const struct job_input *inputs, unsigned n)
{
	f->n = 0;
	for (unsigned i = 0; i < n && f->n < MODEL_FILES_OPEN; i++)
		if (!reader__open(&f->v[f->n], inputs[i].path))
			f->n++;
}

void model_files__close(struct model_files *f)
{
	while (f->n)
		reader__free(f->v[--f->n]);
}
