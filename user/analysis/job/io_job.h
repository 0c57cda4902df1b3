/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The character of a job's I/O, with its nodes, file systems or disks as servers. */
#ifndef JP_ANALYSIS_IO_JOB_H
#define JP_ANALYSIS_IO_JOB_H

#include "analysis/io/io.h"
#include "analysis/job/facts.h"
#include "model/job/job.h"

enum io_direction { IO_READ, IO_WRITE, IO_DIRECTIONS };

/*
 * IO_NODE: each node, by the calls of the job's programs. IO_MOUNT: each network file system, over
 * all nodes. IO_BLKDEV: each disk of a node. The counters of the latter two are the node's, so that
 * they are the job's only where no other job uses the nodes.
 */
enum io_kind { IO_NODE, IO_MOUNT, IO_BLKDEV, IO_KINDS };

struct io_kind_info {
	const char *name;  /* "node" */
	const char *level; /* where bytes are counted: "vfs", "fs", "blk" */
	bool is_of_nodes;  /* and not of the job */
	enum quantity bytes[IO_DIRECTIONS], ops[IO_DIRECTIONS];
};
extern const struct io_kind_info io_kinds[IO_KINDS];

#define IO_CUTOFFS 3
extern const double io_cutoffs[IO_CUTOFFS]; /* bytes per interval and server */

/* The I/O in intervals of one length. missing: intervals of single servers that are not known. */
struct io_job {
	double dt_s;
	unsigned intervals, missing[IO_DIRECTIONS];
	struct io_character of[IO_DIRECTIONS][IO_CUTOFFS];
};

/* There are up to two lengths of intervals: that of a bin, or of the whole job if it is shorter;
 * and the paper's 120 s, where a number of bins make these up and the job is that long. */
#define IO_INTERVALS 2
struct io_of_kind {
	/* UNSUITABLE: not_exclusive; UNAVAILABLE: no_servers. The other members are not set then.
	 */
	struct analysis_verdict verdict;
	unsigned servers; /* servers that moved a byte; all of them where none did */
	struct io_job of[IO_INTERVALS];
};

/* One network file system, over all nodes. */
struct io_mount {
	const char *name;	      /* the job's */
	double volume[IO_DIRECTIONS]; /* B; NaN: not known */
	double bw_max[IO_DIRECTIONS]; /* B/s, the highest of a bin */
};

struct io_jobs {
	unsigned n; /* of the intervals */
	struct io_of_kind of[IO_KINDS];
	struct io_mount *mounts; /* servers of IO_MOUNT, where that is OK */
	unsigned nmounts;
};

/* 0 or -ENOMEM; io_jobs__free() in both cases. */
int io_jobs__of(struct io_jobs *out, const struct model_job *j, const struct facts *f);
void io_jobs__free(struct io_jobs *io);

#endif
