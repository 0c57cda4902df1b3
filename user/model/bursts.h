/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The bursts of a file, over all nodes and tasks. */
#ifndef JP_MODEL_BURSTS_H
#define JP_MODEL_BURSTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/model.h"

/* Where bursts are made: by a task on a node, or by a rank of a launcher in a task. */
struct burst_place {
	char *step, *node, *task;
	int rank; /* -1: none */
};

#define BURST_EVENTS 32 /* the first events of a file */

/* s; NaN: not known. */
struct burst_row {
	double run, wall, on_cpu, gap;
	double end;		     /* since the first burst of the file began */
	unsigned place, thread;	     /* < nplaces, < nthreads */
	double counts[BURST_EVENTS]; /* of the model's events */
};

#define BURSTS_KEPT (1u << 20) /* of a file with more bursts a part is read, by a hash */

/* Columns of n values; s. */
struct model_bursts {
	const char *path;
	const struct selection *sel;
	size_t n, max;
	size_t all;			   /* bursts in the file; more than n where n are a part */
	double *run, *wall, *on_cpu, *gap; /* gap NaN: not known */
	double *end;			   /* since the first of them began */
	unsigned *place, *thread;	   /* < nplaces, < nthreads */
	struct burst_place *places;
	double *tids; /* [nthreads] the threads' numbers in the file; NaN: not known */
	unsigned nplaces, nthreads;
	bool steps_differ, nodes_differ; /* of places */
	/* Columns of events, by their names; NaN: not counted in that burst. */
	char **events;
	double **counts;
	unsigned nevents;	  /* at most BURST_EVENTS */
	char *cpi_kind;		  /* of the first node that has it; NULL: none has */
	double cpi_width;	  /* slots per cycle; NaN: not known */
	double least[3], most[3]; /* over all values above 0: of run, gap (from 2 ns), wall */
	bool ends_at_calls;	  /* bursts also end at calls of some functions */
	bool calls_paused;	  /* some of these calls were not seen for a while */
	char *paused; /* which regions, how long and why, of the first node that has any; or NULL */
	double start_ns, first_s; /* offsets from the times of rows to those of bursts */
	double long_s;		  /* run time of all bursts of the file */
	double all_s; /* run time of all bursts, also of those without a row; NaN: not known */
	double lost;  /* number of bursts that should have a row and have none */
};

/* path and sel (of steps and nodes; NULL: all) stay the caller's. 0; -ESRCH: the file has none of
 * these steps; -ENODATA: the file has no bursts; -ERANGE: it has the series, but no burst was long
 * enough for a row; else as reader__open(), reader__node() and cursor__open(). model_bursts__free()
 * in all cases. */
int model_bursts__read(struct model_bursts *b, const char *path, const struct selection *sel);
/* Calls fn for every burst of the file, also for those that are not in b; an error of fn ends this.
 * 0, or as model_bursts__read(). */
int model_bursts__each(const struct model_bursts *b,
		       int (*fn)(void *arg, const struct burst_row *row), void *arg);
/* The first place on that node in that step; nplaces: there is none. */
unsigned model_bursts__place(const struct model_bursts *b, const char *step, const char *node);
void model_bursts__free(struct model_bursts *b);
/* "task 3", "task 0 rank 7 on n2", in the words that tell the places apart. */
void model_bursts__name(const struct model_bursts *b, unsigned place, char *text, size_t size);

#endif
