/* SPDX-License-Identifier: GPL-2.0-only */
/* The bursts of a file, whichever step, node and task they are of. */
#ifndef JP_MODEL_BURSTS_H
#define JP_MODEL_BURSTS_H

#include <stddef.h>
#include <stdint.h>

#include "model/model.h"

/* Who makes bursts: a task on a node, or a rank of a launcher in it. */
struct burst_place {
	char *step, *node, *task;
	int rank; /* -1: none */
};

/* Columns of n values; s. */
struct model_bursts {
	size_t n, max;
	double *run, *wall, *on_cpu, *gap; /* gap NaN: not known */
	double *end;			   /* since the first of them began */
	unsigned *place, *thread;	   /* < nplaces, < nthreads */
	struct burst_place *places;
	unsigned nplaces, nthreads;
	/* Columns of events, by their names; NaN: not counted in that burst. */
	char **events;
	double **counts;
	unsigned nevents;
	char *cpi_kind;	  /* of the first node that says it; NULL: none does */
	double cpi_width; /* slots per cycle; NaN: not known */
	double all_s;	  /* run time of the bursts that have no row, too; NaN: not known */
	double lost;	  /* bursts that should have rows and have none */
};

/* Reads all. 0; -ENODATA: the file has no bursts; -ERANGE: it has the series of them, and none was
 * long enough for a row; else as reader__open(), reader__node() and
 * cursor__open(). model_bursts__free() in all cases. */
int model_bursts__read(struct model_bursts *b, const char *path);
void model_bursts__free(struct model_bursts *b);
/* "task 3", "task 0 rank 7 on n2", in the words that tell the places apart. */
void model_bursts__name(const struct model_bursts *b, unsigned place, char *text, size_t size);

#endif
