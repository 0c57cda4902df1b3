/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads one node's group, before a merge copies it to a job file and again at the copy: whether all
 * of it can be read, a digest of its content, its job, and the totals that it lacks.
 */
#ifndef JP_JOBFILE_NODESCAN_H
#define JP_JOBFILE_NODESCAN_H

#include <hdf5.h>
#include <stdbool.h>
#include <stdint.h>

#include "hdf5/reader.h"

#define NODE_INFO_TEXT 128
#define NODESCAN_LIST  16384

/* Attributes of a node that all nodes of its job have in common. */
enum job_attr {
	JOB_USER,
	JOB_UID,
	JOB_CLUSTER,
	JOB_NAME,
	JOB_ACCOUNT,
	JOB_PARTITION,
	JOB_SLUID,
	JOB_ARRAY_JOB,
	JOB_ARRAY_TASK,
	JOB_HET_JOB,
	JOB_HET_OFFSET,
	JOB_RESTART,
	JOB_START,
	JOB_ATTRS
};

struct job_attr_info {
	const char *name; /* in the file */
	bool number;	  /* else a text */
};
extern const struct job_attr_info job_attrs[JOB_ATTRS];

struct job_attr_value {
	bool known;
	int64_t i;
	char text[NODE_INFO_TEXT];
};

/* What a merge needs to know of a node. Numbers are -1 where the node does not say. */
struct node_info {
	uint64_t body;		/* digest of everything but Totals */
	uint64_t totals;	/* digest of the names in Totals, 0: there are none */
	uint64_t columns;	/* digest of its table Columns, 0: there is none */
	uint64_t chunks;	/* of its longest table */
	int64_t start_s, end_s; /* unix time */
	bool late;		/* the step ran already when it was first seen */
	int64_t tasks;
	int64_t nodes; /* of the whole step */
	struct job_attr_value attrs[JOB_ATTRS];
};

struct nodescan {
	struct node_info info;
	char nodelist[NODESCAN_LIST]; /* attribute "Step Node List", "" without one */
	struct reader_series *series; /* all but Totals */
	unsigned nseries;
	char *unknown;	     /* attribute "Unknown Columns" */
	char object[256];    /* the object with an error */
	const char *trouble; /* what is wrong with the object */
};

/* State that is used again for the next node. 0 or -ENOMEM. */
struct nodescanner;
int nodescanner__new(struct nodescanner **out);
void nodescanner__free(struct nodescanner *s);

/*
 * Reads a group that lies in a file of file_size bytes; with `decode`, rows that cannot be decoded
 * are reported as damage even where nodescan__totals() is not needed. *out stays the scanner's and
 * is valid until the next call. 0; -EBADMSG: damaged, or it has an object that no node has (see
 * out->object and out->trouble); -ENOMEM.
 */
int nodescan__read(struct nodescanner *s, hid_t group, uint64_t file_size, bool decode,
		   struct nodescan **out);

/*
 * Computes the totals of all series of the node that was read last: for each the name, columns and
 * rows of a table, as nodestep.h describes Totals/<series>. Also finds when its rows begin and end
 * (info.start_s, end_s). Valid until the next call. Errors as above.
 */
struct nodescan_total {
	char *name;
	struct column *cols;
	unsigned ncols, nrows;
	union cell *rows;
	bool none; /* its tables have different columns, or few rows: there are no totals */
};
int nodescan__totals(struct nodescanner *s, hid_t group, struct nodescan_total **out, unsigned *n);

#endif
