/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What holds a job back that still runs, by its files so far: findings of the rules which hold in
 * its last rows. Some are judged by the last part of the time alone, so that a job of days has them
 * soon after they begin; a rule may say less of a job that runs (job.is_running).
 */
#ifndef JP_FINDINGS_LIVE_H
#define JP_FINDINGS_LIVE_H

#include "findings/findings.h"
#include "model/job/job.h"

struct live_finding {
	char *rule, *text, *remedy, *code; /* as in struct finding */
	enum severity severity;
	enum remedy_kind kind;
	double since_s; /* begin of the time in which it holds, s since the first row */
	double cores;	/* that do nothing because of it: core-hours an hour; NaN: it costs none */
	/* From the last row until memory is full, with the 95 % bounds; NaN: it does not grow. */
	double full_s, full_low_s, full_high_s;
};

/* What will end the job first, then what costs most. */
struct live_verdict {
	struct live_finding *v;
	unsigned n;
};

/* Judges the job of files that were read, as if it ran. 0; -ENOMEM; -errno: a file of rules that
 * the options name cannot be read. live_verdict__free() in all cases. */
int live__judge(struct live_verdict *out, const struct model_job *j, const struct rules_options *o);
void live_verdict__free(struct live_verdict *v);

#endif
