/* SPDX-License-Identifier: GPL-2.0-only */
/* A file as a whole: its job, its kind, and how many steps and nodes it has. */
#include "model/model.h"

#include <stdlib.h>

#include "hdf5/hdf5.h"

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
