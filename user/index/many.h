/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One finding in the jobs of a signature: how many have it, and which remedy is safe for all. */
#ifndef JP_INDEX_MANY_H
#define JP_INDEX_MANY_H

#include "index/query.h"

#define MANY_JOB 32 /* bytes of "7", "7_2" */

/* A rule's findings in the jobs of one signature. The texts are valid during the call. */
struct many {
	const char *signature, *user, *account, *name, *program, *rule;
	char dearest[MANY_JOB];	  /* the job that it cost most, as many__dearest() has it */
	bool are_tasks;		  /* all judged jobs are tasks of arrays */
	int severity;		  /* the worst */
	double jobs, of;	  /* jobs that have it, judged jobs */
	double nodes, tasks;	  /* of each of them; NaN: unknown */
	double cost_core_s, last; /* sum; begin of the last job; NaN: unknown */
	/* From the job whose remedy is safe for all, else from the dearest one. */
	const char *text, *remedy, *code; /* code "": there is nothing to copy */
	int kind;			  /* as in struct row_finding */
	const char *unit;		  /* "MiB", "s" or a noun; NULL: the rule sets no number */
	double needs;			  /* what the remedy allows for; NaN: no number */
	double used, asked_least, asked_most;
	/* How many jobs would have had enough, of those that ended by themselves or at a limit.
	 * What they used decides, if the index has that, else what their findings need: then only
	 * jobs with the finding can count. A job that ran out of memory (unit MiB) or time (s) had
	 * not enough; one that ran out of memory does not count for time. NaN if needs is NaN. */
	double safe, safe_of;
};

typedef int many_take(void *arg, const struct many *m);
/* Calls take with the dearest `most` (0: all) of the jobs that the filter selects and the viewer
 * may see. Those of one signature follow each other, the dearest first; signatures are in the order
 * of their dearest. 0, -errno, or what take returned. */
int many__each(struct index *ix, const struct job_filter *f, const struct viewer *v, unsigned most,
	       many_take *take, void *arg);
/* The job of a signature (NULL: of any) that a rule's finding cost most; of these one whose profile
 * agrees with Slurm, if there is one. many_dearest__free() ends it. */
struct many_dearest {
	char job[MANY_JOB]; /* "": there is none that the viewer may see */
	int severity;
	char *user, *text, *code; /* of its finding; NULL: none */
};
int many__dearest(struct many_dearest *out, struct index *ix, const struct job_filter *f,
		  const struct viewer *v, const char *signature, const char *rule);
void many_dearest__free(struct many_dearest *d);
/* *share: of the core-seconds that were allocated to the filter's jobs, the part without a profile,
 * in which nothing can be found; NaN: none were allocated. more: a further condition on the job j,
 * or NULL. 0 or -errno. */
int many__without_profile(struct index *ix, const struct job_filter *f, const struct viewer *v,
			  const char *more, double *share);

#endif
