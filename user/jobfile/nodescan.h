/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Looks through one node's group before it is copied to a job file, and after: whether all of it
 * can be read, a digest of it, what it says of its job, and the totals it lacks.
 */
#ifndef JP_JOBFILE_NODESCAN_H
#define JP_JOBFILE_NODESCAN_H

#include <hdf5.h>
#include <stdbool.h>
#include <stdint.h>

#include "hdf5/reader.h"

#define NODESCAN_TEXT 128
#define NODESCAN_LIST 16384

/* What the nodes of a job have in common. */
enum nodescan_label {
	LABEL_USER,
	LABEL_UID,
	LABEL_CLUSTER,
	LABEL_JOB_NAME,
	LABEL_ACCOUNT,
	LABEL_PARTITION,
	LABEL_SLUID,
	LABEL_ARRAY_JOB,
	LABEL_ARRAY_TASK,
	LABEL_HET_JOB,
	LABEL_HET_OFFSET,
	LABEL_RESTART,
	LABEL_JOB_START,
	LABEL_N
};

struct nodescan_label_info {
	const char *attr;
	bool number;
};
extern const struct nodescan_label_info nodescan_labels[LABEL_N];

struct nodescan_value {
	bool known;
	int64_t i;
	char text[NODESCAN_TEXT];
};

/* Numbers as the node says them; -1: it does not say. */
struct nodescan_facts {
	uint64_t body;	 /* digest of everything but Totals */
	uint64_t totals; /* digest of the names in Totals, 0: there are none */
	uint64_t kind;	 /* digest of what objects there are: nodes of a step have few kinds */
	bool whole;	 /* body is of all of it, not of names only */
	uint64_t chunks; /* of its longest table, about */
	int64_t start_s, end_s;
	bool start_exact; /* start_s is the step's own word, not made of its rows */
	bool late;	  /* and when it was first seen: it was running then */
	int64_t tasks;
	int64_t nodes; /* of the whole step */
	struct nodescan_value labels[LABEL_N];
};

struct nodescan {
	struct nodescan_facts facts;
	char nodelist[NODESCAN_LIST]; /* attribute "Step Node List", "" without one */
	struct reader_series *series; /* but Totals */
	unsigned nseries;
	char *unknown;	     /* attribute "Unknown Columns" */
	char object[256];    /* what an error is about */
	const char *trouble; /* what is wrong with it */
};

/* What is kept from one node to the next. 0 or -ENOMEM. */
struct nodescanner;
struct message;
int nodescanner__new(struct nodescanner **out);
void nodescanner__free(struct nodescanner *s);

/*
 * How much of a node is read. Totals follow from the rows, so that the digest has only their names.
 * Opening tables with very wide rows takes the library longer than all the rest.
 */
enum nodescan_depth {
	/* Digests of names only: what kinds of objects there are, where tables have their bytes,
	 * the facts. A node without Totals has its rows read by nodescan__totals, and no others
	 * are. */
	NODESCAN_OUTSIDE,
	NODESCAN_ALL,	/* every table and attribute */
	NODESCAN_COPY,	/* the same, but of Totals only what NODESCAN_OUTSIDE looks at */
	NODESCAN_AGAIN, /* what has been read once already: Totals are not opened */
};

/*
 * Reads a group that lies in a file of file_size bytes. *out stays the scanner's and is good until
 * the next call. 0; -EBADMSG: damaged, or it holds what no node does (out->object and out->trouble
 * say what); -ENOMEM.
 */
int nodescan__read(struct nodescanner *s, hid_t group, uint64_t file_size,
		   enum nodescan_depth depth, struct nodescan **out);

/*
 * The totals of all series of the node just read: for each the name, columns and rows of a table
 * as nodestep.h describes Totals/<series>. Also finds when its rows begin and end (facts.start_s,
 * end_s). Valid until the next call. Errors as above.
 */
struct nodescan_total {
	char *name;
	struct column *cols;
	unsigned ncols, nrows;
	union cell *rows;
	bool mixed; /* its tables have different columns: there are no totals */
};
int nodescan__totals(struct nodescanner *s, hid_t group, struct nodescan_total **out, unsigned *n);

/* The image of a node whose totals have been made, until the next is read; NULL: it has none. */
const struct message *nodescan__image(const struct nodescanner *s);

#endif
