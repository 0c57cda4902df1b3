/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The contents of a file: the series of each step, on how many nodes and of which tasks, and the
 * columns of every series. */
#ifndef JP_MODEL_CONTENTS_H
#define JP_MODEL_CONTENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/string_list.h"
#include "jobfile/select.h"
#include "model/model.h"
#include "schema/series.h"

struct contents_column {
	char *name;
	unsigned tables;      /* number of tables that have it */
	struct column column; /* as it is in the first of them */
	char *unit, *doc;     /* the texts of `column` that the first table stores, or NULL */
};

struct contents_series {
	/* "Tasks"; tables of the groups Totals and User, which have columns of their own, are
	 * series of their own: "Totals/Tasks", "User/solver". */
	char *name;
	bool grouped;
	struct contents_column *cols; /* in the order of the first table */
	unsigned ncols;
	unsigned tables; /* tables whose columns were read, over all steps */
};

/* A series in a step. */
struct contents_place {
	unsigned series; /* in contents.series */
	unsigned nodes;
	uint64_t *tasks; /* sorted, each once */
	unsigned ntasks;
	struct string_list others; /* tables that are not named by a number, each once */
};

struct contents_step {
	const char *name;   /* as in the file */
	const char **nodes; /* those selected */
	unsigned nnodes;
	struct contents_place *places;
	unsigned nplaces;
};

/* Names of steps and nodes are the model_file's. */
struct contents {
	struct contents_series *series;
	unsigned nseries;
	struct contents_step *steps; /* those selected */
	unsigned nsteps;
};

/*
 * Reads the contents. all_tables: the columns of all tables; else only of the first table of a
 * series on each node, because the others are usually like the first. Only tables of selected tasks
 * are read. series: only this one, by its name as above, or NULL. problem() is called for
 * everything that cannot be read, with table SERIES/TABLE or NULL; it may be NULL. 0; -E2BIG: more
 * names than are followed; -ENOMEM.
 */
int contents__read(struct contents **out, const struct model_file *f, const struct selection *sel,
		   const char *series, bool all_tables,
		   void (*problem)(void *ctx, const char *step, const char *node, const char *table,
				   int err),
		   void *ctx);
void contents__free(struct contents *c);

#endif
