/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One finding in many jobs of a signature: how many have it, and which limit would have been safe
 * for all. */
#ifndef JP_INDEX_MANY_H
#define JP_INDEX_MANY_H

#include "index/query.h"

/* A rule's findings in the jobs of one signature. The texts are there during the call. */
struct many {
	const char *signature, *user, *name, *program, *rule;
	bool are_tasks;		  /* all that were judged, of job arrays */
	double nodes, tasks;	  /* of each of them; NaN: not known */
	int severity;		  /* the worst */
	double jobs, of;	  /* that have it, of those that were judged */
	double cost_core_s, last; /* of all; begin of the last one; NaN: not known */
	/* Of the job whose line is safe for all of them, else of the dearest one. */
	const char *text, *remedy, *code; /* code "": there is nothing to copy */
	int kind;			  /* as in struct row_finding */
	const char *unit; /* of the numbers: "MiB", "s" or a noun; NULL: the rule sets none */
	double needs;	  /* what that job's line allows for; NaN: there is none */
	double used, asked_least, asked_most;
	/* How many jobs would have had enough, of those that ended by themselves or at a limit: by
	 * what they used, where the index has that, else those with the finding alone, by what they
	 * need. A job that was ended for lack of memory (unit MiB) or time (s) had not; for time
	 * one that memory ended does not count. NaN without needs. */
	double safe, safe_of;
};

typedef int many_take(void *arg, const struct many *m);
/* The dearest `most` of the jobs that the filter selects and the viewer may see; 0: all. Those of a
 * signature come together, the dearest first; so do signatures. 0, -errno, or what take returned.
 */
int many__each(struct index *ix, const struct job_filter *f, const struct viewer *v, unsigned most,
	       many_take *take, void *arg);
/* Of what all jobs of the filter held in core-seconds, the part that has no profile, of which
 * nothing can be found; NaN: nothing was held. more: SQL on the job j, or NULL. 0 or -errno. */
int many__without_profile(struct index *ix, const struct job_filter *f, const struct viewer *v,
			  const char *more, double *share);

#endif
