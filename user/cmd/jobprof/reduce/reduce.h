/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jobprof reduce: what is asked for, and its parts. */
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
	/* Begins to talk to the others: children are started before. 0 or -errno. */
	int (*join)(void);
	/* One message to parent or child in the tree, which need not be alive. */
	void (*send)(unsigned to, const void *bytes, size_t n);
	/* Tells parent and children that this process lives: to be called every second or so. */
	void (*beat)(void);
	/* What parent or child in the tree sent, in *m. false: it has not been heard of for too
	 * long. */
	bool (*receive)(unsigned from, struct message *m);
	/* The end; is_whole, in process 0: no process was lost. */
	void (*leave)(bool is_whole, int status);
};

/* One process. */
extern const struct reduce_world reduce_world__alone;

/* The size of the world that a launcher of MPI or srun started this process in, and the rank; 1
 * where none did. */
unsigned reduce_world__of_environment(unsigned *rank);
/* In a world of several, becomes the program that can talk to the others. 0: this is one process;
 * else the exit status: there is no such program, said. */
int reduce_world__elsewhere(char **argv);

#define REDUCE_PART ".part" /* how names of files with parts of a reduction end */

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
	struct string_list columns; /* none: all but times */
	struct string_list nodes;
	struct number_range task;
	struct selection sel; /* but for steps */
	struct profiles in;
	struct string_list parts; /* files of earlier reductions */
	uint64_t list;		  /* a hash of files and of what is read of them */
	/* In the second pass one of these is there: */
	const struct burst_model *model; /* bursts are reduced by its clusters */
	const struct reduce_fold *folded;
	bool failed; /* something could not be read; it has been said */
};

/* Reads the files of process `rank` of `size`, every size-th one, in children with limits. 0 or
 * -errno: nothing can be reduced, said. */
int reduce_read__files(struct reduce_work *w, unsigned rank, unsigned size, struct reduction *out);
/* CPU time of this process since it was last asked, or began. */
double reduce_read__cpu_s(void);
/* Adds the parts in files, of process rank of size as above. 0 or -errno, said. */
int reduce_parts__add(struct reduce_work *w, unsigned rank, unsigned size, struct reduction *out);
/* Writes the part of process `rank` into the directory w->o->keep. 0 or -errno, said. */
int reduce_parts__keep(const struct reduce_work *w, unsigned rank, struct reduction *r);
/* Merges from, which came from `where`, and says why if it cannot. 0 or -errno. */
int reduce_parts__merge(const struct reduce_work *w, struct reduction *r,
			const struct reduction *from, const char *where);
/* What is known of all files in the end. */
struct reduce_result {
	struct reduction rows;
	/* These are there with o->clusters: */
	struct burst_model model;
	enum analysis_status clustered;
	struct reduction clusters; /* a column per cluster and feature */
	/* And these with o->fold: */
	struct reduce_fold fold;
	struct reduction points;
};

/* Whether all `size` processes have added to all of its reductions. */
bool reduce_result__is_whole(const struct reduce_result *r, unsigned size);
void reduce_result__free(struct reduce_result *r);
/* Prints the result, or stores it. The exit status. */
int reduce_result__put(const struct reduce_work *w, struct reduce_result *r);
json_t *reduce_result__json(const struct reduce_work *w, const struct reduce_result *r);
/* The column of r->clusters whose sum is the bursts that this process knows of and has not got. */
#define REDUCE_LOST "Lost"
/* How many bursts are in a line of the table, and how many there were besides. */
void reduce_clusters__print(const struct reduce_result *r, FILE *out);
/* Puts it into a job file, below /analysis/reduce, with the fold or NULL; may_create: into another
 * file too, which need not be there. 0, or 1 and it has said why. */
int reduce_store__write(const struct reduce_result *r, const struct folded *f, const char *path,
			bool may_create);
/* Of --follow. */
struct reduce_window {
	uint64_t number;
	double begin_s, end_s; /* since 1970 */
	const struct reduce_track *track;
};
/* Makes the file that windows go to, if it is not there. 0 or -errno: they cannot, said. */
int reduce_store__begin(const char *path);
/* Puts the clusters of a window into a file, which is made where it is not there, as
 * /analysis/clusters/N; a model that is that of the window before is left out. 0, or 1 and it has
 * said why. */
int reduce_store__window(const struct reduce_result *r, const struct reduce_window *w,
			 const char *path);

/* Follows a job that runs. The exit status. */
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
/* The message of process 0 goes to all: in the others *m is what came. 0 or -ECONNRESET. */
int reduce_tree__down(const struct reduce_world *world, struct message *m);
/* In process 0 *out, which is zeroed, is of all files. reduce_result__free() in all cases. 0, or
 * the exit status and it has said why. */
int reduce_tree__collect(struct reduce_work *w, const struct reduce_world *world,
			 struct reduce_result *out);

#endif
