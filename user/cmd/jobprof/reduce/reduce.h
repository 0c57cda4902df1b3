/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jobprof reduce: its options, its processes, and its parts. */
#ifndef JP_CMD_JOBPROF_REDUCE_REDUCE_H
#define JP_CMD_JOBPROF_REDUCE_REDUCE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "analysis/job/reduce_fold.h"
#include "analysis/job/reduce_model.h"
#include "analysis/job/reduce_track.h"
#include "analysis/reduction/payload.h"
#include "cmd/jobprof/input_args.h"
#include "jobfile/jobfile.h"
#include "jobfile/profiles.h"
#include "pool/message.h"

struct reduce_world {
	unsigned rank, size;
	/* Starts communication with the others; children must have been started before. 0 or
	 * -errno. */
	int (*join)(void);
	/* Sends one message to the parent or a child in the tree, which need not be alive. */
	void (*send)(unsigned to, const void *bytes, size_t n);
	/* Tells parent and children that this process lives: to be called every second or so. */
	void (*beat)(void);
	/* Receives in *m what the parent or a child in the tree sent. False: that process has been
	 * silent for too long. */
	bool (*receive)(unsigned from, struct message *m);
	/* Ends communication. is_whole, in process 0: no process was lost. */
	void (*leave)(bool is_whole, int status);
};

/* One process. */
extern const struct reduce_world reduce_world__alone;

/* The number of processes that a launcher of MPI or srun started together with this one, and its
 * rank; 1 where none did. */
unsigned reduce_world__of_environment(unsigned *rank);
/* Where there are several processes, becomes the program that can communicate with the others. 0:
 * there is only this process; else the exit status: there is no such program, which is logged. */
int reduce_world__elsewhere(char **argv);

#define REDUCE_PART ".part" /* suffix of files with parts of a reduction */

struct reduce_options {
	const char *series, *columns, *keep, *output, *region;
	struct select_words words; /* jobs, input and nodes */
	unsigned k;
	bool json, store, clusters, fold, follow;
	double window_s;
	unsigned windows; /* 0: until a signal comes */
};

struct reduce_work {
	const struct reduce_options *o;
	char series[128];	    /* as in the file */
	struct string_list columns; /* empty: all columns but times */
	struct string_list nodes;
	struct number_range task;
	struct selection sel; /* all but the steps */
	struct profiles in;
	struct string_list parts; /* files of earlier reductions */
	uint64_t list;		  /* a hash of files and of what is read of them */
	/* One of these is set in the second pass: */
	const struct burst_model *model; /* bursts are reduced by its clusters */
	const struct reduce_fold *folded;
	bool failed; /* something could not be read, and was logged */
};

/* Reads the files of process `rank` of `size`, every size-th file, in children with limits. 0;
 * -errno: nothing can be reduced, which is logged. */
int reduce_read__files(struct reduce_work *w, unsigned rank, unsigned size, struct reduction *out);
/* CPU time of this process since it was last asked, or began. */
double reduce_read__cpu_s(void);
/* Adds the parts in files that belong to process `rank` of `size`, as above. 0 or -errno, logged.
 */
int reduce_parts__add(struct reduce_work *w, unsigned rank, unsigned size, struct reduction *out);
/* Writes the part of process `rank` into the directory w->o->keep. 0 or -errno, logged. */
int reduce_parts__keep(const struct reduce_work *w, unsigned rank, struct reduction *r);
/* Merges `from`, which came from `where`, and logs why if that fails. 0 or -errno. */
int reduce_parts__merge(const struct reduce_work *w, struct reduction *r,
			const struct reduction *from, const char *where);
/* The result over all files. */
struct reduce_result {
	struct reduction rows;
	/* With o->clusters: */
	struct burst_model model;
	enum analysis_status clustered;
	struct reduction clusters; /* a column per cluster and feature */
	/* With o->fold: */
	struct reduce_fold fold;
	struct reduction points;
};

/* Whether all `size` processes have added to all of its reductions. */
bool reduce_result__is_whole(const struct reduce_result *r, unsigned size);
void reduce_result__free(struct reduce_result *r);
/* Prints the result, or stores it. The exit status. */
int reduce_result__put(const struct reduce_work *w, struct reduce_result *r);
json_t *reduce_result__json(const struct reduce_work *w, const struct reduce_result *r);
/* The column of r->clusters whose sum is the number of bursts that are known to exist and were not
 * read. */
#define REDUCE_LOST "Lost"
/* Prints the table of clusters, how many bursts it is made of, and how many more there were. */
void reduce_clusters__print(const struct reduce_result *r, FILE *out);
/* Stores the result in a job file below /analysis/reduce, with the fold unless f is NULL;
 * may_create: path may be another file, which is created if it does not exist. 0; 1, logged. */
int reduce_store__write(const struct reduce_result *r, const struct folded *f, const char *path,
			bool may_create);
/* A window of --follow. */
struct reduce_window {
	uint64_t number;
	double begin_s, end_s; /* since 1970 */
	const struct reduce_track *track;
};
/* Creates the file for windows, if it does not exist. 0; -errno: it cannot be created, which is
 * logged. */
int reduce_store__begin(const char *path);
/* Stores the clusters of a window as /analysis/clusters/N in a file, which is created if it does
 * not exist; a model equal to that of the window before is left out. 0; 1, logged. */
int reduce_store__window(const struct reduce_result *r, const struct reduce_window *w,
			 const char *path);

/* Follows a running job. Returns the exit status. */
int reduce_follow__run(struct reduce_work *w, const struct reduce_world *world);

/* The verb as one process of a world. The exit status. */
int reduce__run(int argc, char **argv, const struct reduce_world *world);

#define REDUCE_FANOUT 32u

static inline unsigned reduce_tree__parent(unsigned rank)
{
	return (rank - 1) / REDUCE_FANOUT;
}

/* Adds what the processes below this one send to *out, and sends the sum up. 0 or -errno. */
int reduce_tree__up(struct reduce_work *w, const struct reduce_world *world, struct reduction *out);
/* Sends the message of process 0 to all; in the others *m becomes that message. 0 or -ECONNRESET.
 */
int reduce_tree__down(const struct reduce_world *world, struct message *m);
/* In process 0, *out, which must be zeroed, becomes the result over all files.
 * reduce_result__free() in all cases. 0, or the exit status, logged. */
int reduce_tree__collect(struct reduce_work *w, const struct reduce_world *world,
			 struct reduce_result *out);

#endif
