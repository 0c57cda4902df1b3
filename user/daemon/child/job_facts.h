/* SPDX-License-Identifier: GPL-2.0-only */
/* What Slurm's controller says of a job, in a line of "scontrol -o show job". */
#ifndef JP_DAEMON_CHILD_JOB_FACTS_H
#define JP_DAEMON_CHILD_JOB_FACTS_H

#include <stdbool.h>
#include <stdint.h>

struct job_facts {
	int64_t time_limit;		/* s; -1: none, or not known, as all below */
	int64_t submitted, eligible;	/* unix time */
	double node_memory, cpu_memory; /* MB asked for per node, or per CPU; NaN */
	char sharing[16];		/* "exclusive", "shared", "user" ...; "" */
	char state[32];			/* "RUNNING" ...; "" */
};

/* Takes the line of that job among lines whose times are seconds since 1970. Texts that users
 * choose are in the line as well, such as the job's name: a key that is there twice is not taken.
 * False: there is no line of the job, or there are several. */
bool job_facts__parse(const char *text, uint32_t job_id, struct job_facts *f);
/* The state is one in which a job ends. */
bool job_facts__ended(const struct job_facts *f);

#endif
