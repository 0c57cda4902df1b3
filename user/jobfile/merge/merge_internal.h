/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the files of a merge share. The process of the program finds the files (merge_dir.c) and has
 * a limited child make each job file (merge.c). That child opens the output and has another child
 * write it. The second child opens the files of others and then has no further rights: it has
 * workers scan every node (merge_scan.c), copies the nodes one by one (merge_tree.c), and has
 * workers compare the copies with what was scanned (merge_scan.c). The first child, which parses
 * nothing, gives the job file its name (merge_output.c) and deletes the node-step files.
 */
#ifndef JP_JOBFILE_MERGE_INTERNAL_H
#define JP_JOBFILE_MERGE_INTERNAL_H

#include <hdf5.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/progress.h"
#include "identity/jobspec.h"
#include "jobfile/merge/merge.h"
#include "jobfile/merge/merge_name.h"
#include "jobfile/merge/nodescan.h"
#include "pool/message.h"

#define MERGE_NAME_MAX 255

/* Identity of a file, which is deleted only if it is still the one that was copied. */
struct merge_stamp {
	dev_t dev;
	ino_t ino;
	off_t size;
	struct timespec mtime, ctime;
	uint64_t bytes; /* read_note__file_bytes() */
};

enum merge_state {
	ITEM_NEW,     /* has not been scanned yet */
	ITEM_COPIED,  /* has been copied to the output */
	ITEM_KNOWN,   /* the output has the same node already */
	ITEM_REFUSED, /* is named in a message, and stays as it is */
};

/* The job of a node by its attributes; 0 or -1 where an attribute is missing. */
struct job_identity {
	bool known;		 /* the node has been read */
	uint64_t cluster, sluid; /* digests */
	int64_t uid;
	int64_t restart;   /* the run of a job that is requeued, from 0 on */
	int64_t job_start; /* unix time, as Slurm has it */
	int64_t start;	   /* start of the step on this node */
	unsigned job; /* result: number of its job among those that have this id; UINT_MAX: none */
	int run;      /* result: its run, if others of the set are of a later one; else -1 */
};

/* What has been done with a file; shared by all tries and processes of a merge. */
struct merge_done {
	bool named; /* a message has named the refused file */
	int run;    /* job_identity.run */
	enum merge_state state;
	struct merge_stamp stamp;
};

/* One node of one step: in a node-step file, or in the job file that is extended. */
struct merge_item {
	char *file; /* name in the directory, NULL: of the old job file */
	char *step; /* the group's name, as in the job file */
	char *node;
	enum merge_state state;
	struct merge_done *done;  /* of a file */
	struct merge_stamp stamp; /* of a file */
	uint64_t body, totals;	  /* digests; totals 0: it has none of its own */
	struct job_identity identity;
};

/* A node of a step that is running or could not be read: "node is missing". */
struct merge_absent {
	char *step, *node;
};

/* Everything of one job and run in one directory. */
struct merge_set {
	int dir;     /* the directory's fd */
	char *where; /* its path, for messages */
	uint32_t job;
	int restart; /* of a run that a requeue has ended; -1: the last run */
	struct merge_item *items;
	unsigned nitems;
	unsigned nothers; /* further items behind these, of another job */
	bool extends;	  /* a job file exists, and is extended */
	struct merge_absent *absent;
	unsigned nabsent;
	unsigned refused;
	bool running;	   /* a step of it is running */
	bool asked, ended; /* Slurm; it says that the job has ended */
	char *copying;	   /* shared by parent and child: the file that is copied now, or "";
			    * MERGE_NAME_MAX + 1 bytes */
	int *full;	   /* shared likewise: why there was no room for the output, 0: there was */
};

/* merge.c: the job file's name; NULL: no memory. FILE.h5 of the last run (restart -1), and
 * FILE.restart<N>.h5 of run N, which a requeue has ended. */
char *merge__output_name(const struct merge_opts *o, uint32_t job, int restart);

/* The ids of the selected jobs, each with the spec that selects it. */
struct matched_job {
	const struct jobspec *spec;
	uint32_t job;
};

struct matched_jobs {
	struct matched_job *v;
	unsigned n;
};

/* merge_dir.c: which files there are. */
struct merge_sets {
	struct merge_set *v;
	unsigned n;
	bool *found;	  /* for each spec: whether there was a file */
	unsigned missing; /* number of specs without a file */
};

/* Finds the sets of all specs. 0, -ENOMEM or -errno (logged). */
int merge_dir__find(const struct merge_opts *o, struct merge_sets *out);
void merge_dir__free(struct merge_sets *sets);
/* The set of a job's run in a directory, which may be new: then others may have moved. NULL: no
 * memory. */
struct merge_set *merge_sets__of(struct merge_sets *sets, uint32_t job, int restart, int dir,
				 const char *where);
int merge_set__add_absent(struct merge_set *s, const char *step, const char *node);
/* By step and node. */
void merge_set__sort(struct merge_set *s);
/* Whether both are of one step on one node: such items are neighbours in a set. */
bool merge_item__same_node(const struct merge_item *a, const struct merge_item *b);

/* merge_file.c: opens a file of the set for reading; *is if not NULL. -ELOOP: a link; -EBADMSG: no
 * regular file; -EBUSY: its writer has it open; -ESTALE: not the file that `was` describes. */
int merge_file__open(int dir, const char *name, const struct merge_stamp *was,
		     struct merge_stamp *is);
hid_t merge_file__open_h5(int fd);
struct merge_stamp merge_file__stamp(const struct stat *st);
/* Whether both are of one file that nobody has written to in between. */
bool merge_file__same(const struct merge_stamp *a, const struct merge_stamp *b);

/* merge_scan.c: what a worker found of an item; pointers are valid until the next one. */
struct merge_result {
	int err; /* -EBADMSG with trouble, or -errno of opening */
	struct merge_stamp stamp;
	struct node_info info;
	const char *trouble;
	const char *nodelist;
	char **tasks; /* tables of the series Tasks */
	unsigned ntasks;
	struct nodescan_total *totals; /* set where the node has no totals of its own */
	unsigned ntotals;
};

/* merge_scan.c: workers scan the items of a set. */
struct merge_scan;

/* How many processes merge so many items; wanted: as the user asks, 0: as many as are useful. */
unsigned merge_scan__processes(unsigned wanted, unsigned nitems);

/*
 * fd, path: a job file, or -1. Without `copies`, the items that have no file are scanned in it;
 * with `copies`, only the items that were copied are scanned, in it. 0 or -errno.
 */
int merge_scan__start(struct merge_scan **out, const struct merge_set *set, int fd,
		      const char *path, bool copies, unsigned nworkers);
/* The next item's result, in the order of the set; that of an item that is not scanned has err
 * -ENOENT. 0 or -errno: no worker could be started. */
int merge_scan__next(struct merge_scan *s, const struct merge_result **result);
void merge_scan__free(struct merge_scan *s);
/* What a worker does with an item that has a file, in this process. 0 or -errno. */
int merge_scan__here(const struct merge_set *set, unsigned item, struct message *result);

/* merge_tree.c: the job file while it is made. */
struct merge_tree;

/* chunks: the expected number of chunks in the longest table; nodes: how many come, of all steps.
 */
int merge_tree__create(struct merge_tree **out, int fd, uint64_t chunks, unsigned nodes);
/* fd holds a job file, to which nodes are added. */
int merge_tree__extend(struct merge_tree **out, int fd, unsigned nodes);
/* Copies a node from a group of another file with everything in it, and adds totals where it has
 * none. -EBADMSG: the library cannot copy it; -EEXIST: the job file that is extended has something
 * else in its place, which merge_tree__in_the_way() names. */
int merge_tree__copy(struct merge_tree *t, hid_t from, const char *path, const struct merge_item *i,
		     const struct merge_result *r);
/* Adds to a node of the job file what a merge adds to nodes. Errors as above. */
int merge_tree__complete(struct merge_tree *t, const struct merge_item *i,
			 const struct merge_result *r);
const char *merge_tree__in_the_way(const struct merge_tree *t);
/* Removes an attribute, if it is there, of the root or, with a step's group name, of that step. */
int merge_tree__forget(struct merge_tree *t, const char *step, const char *name);
/* Writes an attribute of the root or, with a step's group name, of that step. */
int merge_tree__number(struct merge_tree *t, const char *step, const char *name, int64_t v,
		       bool wide);
int merge_tree__text(struct merge_tree *t, const char *step, const char *name, const char *text);
int merge_tree__close(struct merge_tree *t);

/* merge_metadata.c: attributes of the job and its steps. */
struct merge_metadata;

int merge_metadata__new(struct merge_metadata **out);
void merge_metadata__free(struct merge_metadata *metadata);
int merge_metadata__add(struct merge_metadata *metadata, const struct merge_item *i,
			const struct merge_result *r);
/* Takes what is missing of a step by the old job file. */
int merge_metadata__add_missing(struct merge_metadata *metadata, const char *step,
				hid_t step_group);
int merge_metadata__write(struct merge_metadata *metadata, const struct merge_set *s,
			  const char *user, struct merge_tree *t);

/* job_identity.c: whether all items are of one job. */
void job_identity__read(struct merge_item *i, const struct node_info *info);
/* 0; -EXDEV: the items are of several jobs (logged); -ENOTUNIQ: of several runs of a job, which
 * identity.run tells apart; -ENOMEM. */
int job_identity__check(struct merge_set *s);
/* Leaves only the items of the job that began at that unix time. 0; -ENOENT: none did, -EEXIST: the
 * job file is of another one (both logged); -ENOMEM. */
int job_identity__choose(struct merge_set *s, int64_t start, const char *output);

/* merge_output.c: the output's name, and how a file gets there. */
struct merge_output {
	int dir;
	char *path; /* as the user gave it, for messages */
	char base[MERGE_NAME_MAX + 1];
	char tmp[MERGE_NAME_MAX + 1];
	int fd;	 /* of the temporary file, -1 */
	int old; /* the file that has the name now; -1: none */
	struct merge_stamp old_stamp;
};

/* Opens an existing file and makes the temporary one, which also locks out other merges. Logs
 * errors. */
int merge_output__begin(struct merge_output *p, const char *path);
/* Copies an existing file byte by byte to the temporary one, in a child whose rights
 * foreign__begin() has removed. 0 or -errno. */
int merge_output__copy_old(const struct merge_output *p);
int merge_output__sync(struct merge_output *p);
/* The existing file becomes the output, and is synced. -ESTALE: the name has another file now. */
int merge_output__keep(struct merge_output *p);
/* Renames it. `inputs`: the directory of what is deleted then, -1: nothing is. */
int merge_output__commit(struct merge_output *p, int inputs);
void merge_output__end(struct merge_output *p); /* removes what was not committed */

/*
 * merge_scan.c: scans the nodes in the output that were copied, and compares their digests with
 * those of the inputs. 0; -EIO (logged): they differ, or cannot be read.
 */
int merge_scan__compare(const struct merge_set *set, const struct merge_output *output,
			struct progress *p, unsigned nworkers);

#endif
