/* SPDX-License-Identifier: GPL-2.0-only */
/* What the parts of a merge share. */
#ifndef JP_JOBFILE_MERGE_INTERNAL_H
#define JP_JOBFILE_MERGE_INTERNAL_H

#include <hdf5.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/progress.h"
#include "identity/jobspec.h"
#include "hdf5/h5record.h"
#include "jobfile/merge.h"
#include "jobfile/nodescan.h"

#define MERGE_NAME_MAX 255

/* Identity of a file: it is deleted only while it is still the one that was copied. */
struct merge_stamp {
	dev_t dev;
	ino_t ino;
	off_t size;
	struct timespec mtime;
	uint64_t bytes; /* pool__file_bytes() */
};

enum merge_state {
	ITEM_NEW,     /* not looked at yet */
	ITEM_COPIED,  /* is in the output */
	ITEM_KNOWN,   /* the output has the same under that name already */
	ITEM_REFUSED, /* has been named; stays where it is */
};

/* What a node says of its job; 0 or -1 where it does not. */
struct merge_origin {
	bool known;		 /* the node has been read */
	bool exact;		 /* start is not from rounded times of rows */
	uint64_t step;		 /* Slurm's number, else a digest of its name */
	uint64_t cluster, sluid; /* digests */
	int64_t uid;
	int64_t restart;   /* the run of a job that is requeued, from 0 on */
	int64_t job_start; /* unix time, as Slurm has it */
	int64_t start;	   /* of the step on this node */
	unsigned job;	   /* out: which of those that the files of the id are of */
};

/* One node of one step: a file, or what the job file held before. */
struct merge_item {
	char *file; /* name in the directory, NULL: of the old job file */
	char *step; /* the group's name, as in the job file */
	char *node;
	enum merge_state state;
	bool *named;		  /* of all tries: a file that was refused has been named */
	struct merge_stamp stamp; /* of a file */
	uint64_t body, totals;	  /* digests; totals 0: it has none of its own */
	bool whole;		  /* they are of all of it */
	struct merge_origin origin;
};

/* A step's group that is running or could not be read: "node is missing". */
struct merge_absent {
	char *step, *node;
};

/* Everything of one job and run in one directory. */
struct merge_set {
	int dir;     /* the directory's fd */
	char *where; /* its path, for messages */
	uint32_t job;
	int restart; /* -1: the run that counts */
	struct merge_item *items;
	unsigned nitems;
	unsigned nothers; /* items behind these, of another job */
	bool extends;	  /* a job file that is there */
	struct merge_absent *absent;
	unsigned nabsent;
	unsigned refused;
	bool running;  /* a step of it */
	char *suspect; /* of parent and child: the file that is copied now, MERGE_NAME_MAX + 1 */
};

/* merge.c: where it goes; NULL: no memory. FILE.h5 of run N that a requeue has ended is
 * FILE.restart<N>.h5; -1: the run that counts. */
char *merge__output_name(const struct merge_opts *o, uint32_t job, int restart);

/* merge_prepare.c: the heap and the library, before the library is used. Better after a fork: what
 * both processes then have in common, each would have to copy page by page. Once per process. */
void merge__prepare(unsigned nodes);

/* merge_wants.c: the ids of jobs that are meant, each with the spec that it is meant by. */
struct merge_want {
	const struct jobspec *spec;
	uint32_t job;
};

struct merge_wants {
	struct merge_want *v;
	unsigned n;
};

/* Of the files with these names in a directory. 0, -ENOMEM or -errno (logged). Frees nothing: w->v
 * is the caller's. */
int merge_wants__find(struct merge_wants *w, const struct merge_opts *o, int dir, const char *where,
		      char **names, unsigned nnames);

/* merge_dir.c: which files there are. */
struct merge_sets {
	struct merge_set *v;
	unsigned n;
	bool *found;	  /* of each spec, whether there was any file */
	unsigned missing; /* specs without */
};

/* Finds the sets of all specs. 0, -ENOMEM or -errno (logged). */
int merge_dir__find(const struct merge_opts *o, struct merge_sets *out);
void merge_dir__free(struct merge_sets *sets);
int merge_set__add_absent(struct merge_set *s, const char *step, const char *node);
/* Opens a file of the set for reading; *st if not NULL. -ELOOP: a link; -EBADMSG: no regular file;
 * -EBUSY: its writer has it open; -ESTALE: not the one it was. */
int merge_dir__open(int dir, const char *name, const struct merge_stamp *was,
		    struct merge_stamp *is);
hid_t merge_dir__open_h5(int fd);
struct merge_stamp merge_dir__stamp(const struct stat *st);

/* What a reader found; pointers are good until the next one. */
struct merge_found {
	int err; /* -EBADMSG with trouble[], or -errno of opening */
	struct merge_stamp stamp;
	struct nodescan_facts facts;
	const char *trouble;
	const char *nodelist;
	char **tasks; /* tables of the series Tasks */
	unsigned ntasks;
	struct nodescan_total *totals; /* where it has none of its own */
	unsigned ntotals;
	const void *image; /* of the node; NULL: it has to be copied */
	size_t image_bytes;
};

/* merge_found.c: from a reader's message on that item, which has to stay while it is used. The
 * readers are ours, but what they read may have overwritten their memory: nothing is taken that is
 * not there. 0, -EBADMSG or -ENOMEM, and then too it is to be cleared. */
struct message;
int merge_found__take(struct merge_found *f, unsigned item, struct message *w);
void merge_found__clear(struct merge_found *f);

enum merge_look {
	LOOK_QUICK,  /* enough to copy it where nothing is lost if that fails */
	LOOK_SAMPLE, /* the same, and all of the first node of each kind: is its copy one? */
	LOOK_TOTALS, /* all of it */
	LOOK_DIGEST, /* at the copy */
};

/* merge_readers.c: looks through items in processes of their own. */
struct merge_readers;

/* How many processes merge that many items; wanted by the user, 0: as many as are of use. */
unsigned merge_readers__number(unsigned wanted, unsigned nitems);

/* old_fd: the job file that items without a file are in. This process looks too with look_too, or
 * without readers. 0 or -errno. */
int merge_readers__start(struct merge_readers **out, const struct merge_set *set, int old_fd,
			 enum merge_look look, unsigned readers, bool look_too);
/* The next item's result, in the order of the set. 0 or -errno: no reader can be had. */
int merge_readers__next(struct merge_readers *r, const struct merge_found **found);
/* The open file of that item where this process has looked, until the next; else invalid. */
hid_t merge_readers__file(const struct merge_readers *r);
void merge_readers__free(struct merge_readers *r);

/* merge_tree.c: the job file while it is made. */
struct merge_tree;

/* With a record (else NULL) what is written is kept account of, and what is copied. */
int merge_tree__create(struct merge_tree **out, int fd, uint64_t longest_table,
		       struct h5record *record);
/* Copies a node from a group of another file: everything in it, its totals where it has none.
 * -EBADMSG: the library will not copy it, or by the record wrote other rows than it had read. */
int merge_tree__copy(struct merge_tree *t, hid_t from, const char *path, const struct merge_item *i,
		     const struct merge_found *f);
/* The same from its image. */
int merge_tree__make(struct merge_tree *t, const struct merge_item *i, const struct merge_found *f);
/* Of the root or, with a step's group name, of that step. */
int merge_tree__number(struct merge_tree *t, const char *step, const char *name, int64_t v,
		       bool wide);
int merge_tree__text(struct merge_tree *t, const char *step, const char *name, const char *text);
/* Copies what users have put beside /Steps into the old file. -ENOTSUP with its name in *what. */
int merge_tree__keep_others(struct merge_tree *t, hid_t old, char *what, size_t len);
/* The file is complete, and is not closed before the process ends: 0, or what writing the last of
 * it said. */
int merge_tree__leave(struct merge_tree *t);
/* Also frees what the library has of it. */
int merge_tree__close(struct merge_tree *t);

/* merge_facts.c: attributes of the job and its steps. */
struct merge_facts;

int merge_facts__new(struct merge_facts **out);
void merge_facts__free(struct merge_facts *f);
int merge_facts__add(struct merge_facts *f, const struct merge_item *i,
		     const struct merge_found *found);
int merge_facts__old_missing(struct merge_facts *f, const char *step, hid_t step_group);
int merge_facts__write(struct merge_facts *f, const struct merge_set *s, const char *user,
		       struct merge_tree *t);

/* merge_origin.c: whether all is of one job. */
void merge_origin__take(struct merge_item *i, const struct nodescan_facts *f);
/* 0; -EXDEV: the items are of several jobs (logged); -ENOMEM. */
int merge_origin__check(struct merge_set *s);
/* Leaves only the items of the job that began at that unix time. 0; -ENOENT: none did, -EEXIST: the
 * job file is of another one (both logged); -ENOMEM. */
int merge_origin__choose(struct merge_set *s, int64_t start, const char *output);

/* merge_place.c: the output's name, and how a file gets there. */
struct merge_place {
	int dir;
	char *path; /* as asked for, for messages */
	char base[MERGE_NAME_MAX + 1];
	char tmp[MERGE_NAME_MAX + 1];
	int fd;	 /* of the temporary file, -1 */
	int old; /* of what has the name now, -1: nothing */
	struct merge_stamp old_stamp;
};

/* Opens what is there and makes the temporary file, which also keeps others off. Logs errors. */
int merge_place__begin(struct merge_place *p, const char *path);
int merge_place__sync(struct merge_place *p);
int merge_place__commit(struct merge_place *p);
void merge_place__end(struct merge_place *p); /* removes what was not committed */

/*
 * merge_check.c: reads the whole file back. Its bytes are those that were written, and by the
 * record's account the rows among them were those of the inputs. Nodes that were looked at as a
 * whole are compared with their inputs as a whole: all of them, or where it is quick the first of
 * each kind, for what the library does to one it does to all. 0; -EAGAIN: the suspect has to be
 * left out, or it must not be quick; -EIO (logged).
 */
struct merge_check {
	struct merge_set *set;
	const struct merge_place *place;
	const struct h5record *record;
	struct progress *progress;
	bool quick;
	unsigned threads;
	unsigned compared; /* out: nodes, as a whole */
};

int merge_check__run(struct merge_check *c);

/*
 * merge_job.c: one job file. 0, 1, or -errno (logged); -EAGAIN (not logged): the suspect has to be
 * left out. With quick, and only if no node is there twice, inputs are not looked at with care
 * before they are copied, which may fail or end the process where one is bad; -EAGAIN: one is, try
 * again without.
 */
int merge_job__run(const struct merge_opts *o, struct merge_set *s, const char *output, bool quick,
		   struct merge_report *st);

#endif
