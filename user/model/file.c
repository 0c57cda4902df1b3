/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A file as a whole: its job, its kind, and how many steps and nodes it has. */
#include "model/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/command_line.h"
#include "hdf5/hdf5.h"
#include "identity/stepname.h"
#include "jobfile/profiles.h"

/* ---- reads what names a file: its program, and its job */

static struct reader_node *first_node(const struct model_file *f)
{
	struct reader_node *n = NULL;

	for (unsigned s = 0; f->reader && s < f->reader->nsteps && !n; s++)
		if (f->reader->steps[s].nodes.n && reader__node(f->reader, s, 0, NULL, &n))
			return NULL;
	return n;
}

char *model_title__attr(const struct model_file *f, const char *name)
{
	struct reader_node *n = first_node(f);
	const char *text = n ? node__str(n, name) : NULL;
	char *copy = text ? strdup(text) : NULL;

	reader_node__free(n);
	return copy;
}

/* The executable of the first task that has one. */
static char *executable(const struct model_file *f)
{
	struct reader_node *n = first_node(f);
	const struct reader_series *tasks = n ? node__series(n, "Tasks") : NULL;
	struct cursor *c = NULL;
	char *path = NULL;

	if (tasks && cursor__new(&c))
		c = NULL;
	for (unsigned i = 0; c && !path && i < tasks->tables.n; i++)
		if (!cursor__open(c, n, tasks, tasks->tables.v[i]))
			path = reader__text(cursor__dataset(c), "Executable");
	if (c)
		cursor__close(c);
	cursor__free(c);
	reader_node__free(n);
	return path;
}

#define NAME_MAX_SHOWN 120

void model_title__of(const struct model_file *f, char text[static MODEL_TITLE])
{
	_cleanup_free_ char *path = executable(f), *command = model_title__attr(f, "Command Line");
	const char *slash = path ? strrchr(path, '/') : NULL, *name = command ? command
								      : slash ? slash + 1
									      : path;
	char line[COMMAND_LINE_MAX + 1];
	bool job = f->job && *f->job,
	     step = f->reader && !f->merged && f->reader->nsteps && *f->reader->steps[0].name;

	snprintf(text, MODEL_TITLE, "%.*s%s%s%.20s%s%.60s", NAME_MAX_SHOWN,
		 name ? command_line__short(name, NAME_MAX_SHOWN, line) : "",
		 name && job ? ", " : "", job ? "job " : "", job ? f->job : "",
		 job && step ? " step " : "",
		 job && step ? stepname__human(f->reader->steps[0].name) : "");
}

void model_title__read(const char *path, char text[static MODEL_TITLE])
{
	struct model_file f;

	*text = 0;
	if (!model_file__open(&f, path))
		model_title__of(&f, text);
	model_file__close(&f);
}

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
