/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The actions of jobprof index that are not in index.c, and the options of all of them. */
#ifndef JP_CMD_JOBPROF_INDEX_ACTIONS_H
#define JP_CMD_JOBPROF_INDEX_ACTIONS_H

#include "cmd/jobprof/site_args.h"

struct index_options {
	struct site_args site;
	const char *cluster;
	bool again, anonymize, verbose;
	double every_s;
	const char *sacct, *squeue;
	double wait_s;
	const char *detail, *keep; /* ages, in the form of --since */
	int rate, delay;	   /* below 0: the default */
	const char *spool, *sendmail;
	bool is_service; /* of watch: an action that did nothing prints nothing */
};

/* Works on the index at `where`; words[n] follow the action's name. Returns the exit status. */
typedef int index_action(const struct index_options *o, const char *where, int n, char **words);

/* index_watch.c */
index_action index_watch__run, index_watch__prune, index_watch__forget;
int index_watch__take_age(void *to, const struct opt *opt, const char *arg);
/* comment.c, mail_queue.c */
index_action index_comment__run, index_mail__run;

#endif
