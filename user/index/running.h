/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The jobs that run or wait, in the table `running`: Slurm's queue says which there are (queue.h),
 * the files of running steps what they do. Where the queue is known, jobs that it does not have are
 * none; elsewhere a file that is written again and again is a job that runs. Between index__begin()
 * and index__commit().
 */
#ifndef JP_INDEX_RUNNING_H
#define JP_INDEX_RUNNING_H

#include "index/index.h"
#include "index/scan.h"

/* A job of the queue. */
struct queued_job {
	struct row row;	   /* what Slurm says of it */
	char *array_tasks; /* of an array that waits: "3-100%4"; NULL: none */
	char *reason;	   /* why it waits, or NULL */
	double estimated;  /* begin, Unix time; NaN: Slurm has no guess */
};

/* Whether Slurm's queue may be asked now: nobody else asks, and the last answer is a minute old. It
 * is then this caller's turn. In a transaction of its own. */
bool running__may_ask(struct index *ix, double now);
/* Stores a job of the queue as it was at that time. 0 or -errno. */
int running__put_queued(struct index *ix, const struct queued_job *j, const char *cluster,
			double at);
/* The queue of that time is complete: other jobs of the user (NULL: of all) have ended. */
int running__end_queue(struct index *ix, const char *user, double at);

/* When Slurm's queue was read last, and the files of running steps; NaN: never. Unix time. */
double running__asked(struct index *ix, int *err);
double running__looked(struct index *ix, int *err);
int running__note_look(struct index *ix, double at);

/* A running job that is known by its files. */
struct running_known {
	int64_t id;
	uint32_t job;
	char *directory;
	double mtime_s;
	unsigned files;
	bool is_there;
};
struct running_list {
	struct running_known *v;
	unsigned n;
};
/* Those in a directory and in the directories in it. 0 or -errno; running_list__free() in any case.
 */
int running__known(struct index *ix, const char *path, struct running_list *out);
void running_list__free(struct running_list *l);
/* Where the files of a job are. */
struct running_files {
	const char *directory, *cluster, *user;
	double mtime_s; /* of the newest */
	unsigned n;
};
/* Stores what the files of a job say, unless Slurm says that there is no such job of that user. */
int running__put_profile(struct index *ix, const struct row *r, const struct running_files *f);
/* The files of a job are gone. */
int running__drop_profile(struct index *ix, int64_t id);

/* Reads the files of running steps in a directory and in those in it. 0 or -errno, logged. */
int running__scan(struct index *ix, const char *path, const struct scan_options *o);

#endif
