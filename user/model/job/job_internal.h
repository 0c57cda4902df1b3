/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How a job is read, in three rounds of workers: which parts there are, what their attributes say,
 * and their rows. */
#ifndef JP_MODEL_JOB_INTERNAL_H
#define JP_MODEL_JOB_INTERNAL_H

#include "hdf5/hdf5.h"
#include "model/binned.h"
#include "model/job/job.h"
#include "pool/pool.h"

/* Where a part is. */
struct job_place {
	unsigned input, step, node; /* step and node: indices of the reader of that input */
	unsigned of_step, of_node;  /* the same of the job */
};

/* The state of reading, of which every worker has a copy. */
struct job_reading {
	const struct job_input *inputs;
	unsigned ninputs;
	struct job_place *places; /* as many as there are parts */
	struct model_job *job;
	/* The series of which tasks keep bins: STEP, BINNED_BUDGET or BINNED_DRAWN_TASKS. */
	const char *of_tasks;
	const char *of_nodes; /* BINNED_DRAWN_NODES, or NULL: all */
	unsigned unread;      /* number of inputs that could not be read */
	/* Only in a worker: */
	struct reader *reader; /* of the input last used */
	unsigned input;
	struct cursor *cursor; /* its memory serves all parts */
};

/* In a worker: opens the reader of an input and the cursor. Errors as reader__open(). */
int job_reading__open(struct job_reading *r, unsigned input);
/* Gives both back. */
void job_reading__close(struct job_reading *r);

/* The work of each round, as struct pool_work has it: item is an input, or a part. The message
 * begins with 0 or -errno; nothing follows an error. */
int job_list__work(void *reading, unsigned item, struct message *m);
int job_head__work(void *reading, unsigned item, struct message *m);
int job_rows__work(void *reading, unsigned item, struct message *m);

/* Where there are several inputs, the first round also does the work of the second, so that each
 * input is opened once for both. */
void job_head__put(struct job_reading *r, unsigned step, unsigned node, struct message *m);

/* Each takes what the work of its round put. 0; -EBADMSG; -ENOMEM. */
int job_list__take(struct job_reading *r, unsigned item, struct message *m);
int job_head__take(struct job_reading *r, unsigned item, struct message *m);
int job_rows__take(struct job_reading *r, unsigned item, struct message *m);

/* Sets the part's trouble: why the part cannot be read. 0 or -ENOMEM. */
int job_part__fail(struct job_reading *r, unsigned item, int err);
void job_part__free(struct job_part *p);

/* The usual time between rows that ended at end_s[n]: the median of the first intervals; NaN: there
 * are fewer than `least`. A step's last row may have no length. */
double job_clock__usual_s(const double *end_s, size_t n, size_t least);
/* Gives parts a trouble whose times are far from those of the others. 0 or -ENOMEM. */
int job_clock__judge(struct model_job *j);

/* Puts the bins that a unit of a series has; series NULL: those of a node, all of them and `held`.
 */
void job_message__put_unit(struct message *m, const struct binner *b, const char *series);

/* Puts the rows of the part's table Marks; a damaged one has none. 0 or -ENOMEM. */
int job_marks__put(const struct reader_node *n, struct cursor *c, const struct time_grid *g,
		   struct message *m);

/* Puts the sums of the part's tables in Commands. 0; -EBADMSG; -ENOMEM. */
int job_commands__put(const struct reader_node *n, struct cursor *c, struct message *m);

#endif
