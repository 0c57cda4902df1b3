/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What peers send about a step through the socket: wanted families and intervals, ids, tasks, and
 * external tables. A request lives from the first message, which may come before the step's cgroup
 * is seen, to the end of the step.
 */
#ifndef JP_DAEMON_STEP_REQUEST_H
#define JP_DAEMON_STEP_REQUEST_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/freq.h"
#include "daemon/child/end_reason.h"
#include "daemon/step/external_series.h"
#include "identity/layout.h"

/*
 * The key of a step: its job's directory in one hierarchy, and its number there. When slurmstepd
 * begins it is in no cgroup of its job yet: then job_path is "", and the job's id and node are
 * compared.
 */
struct step_key {
	uint32_t hier;
	char job_path[JP_PATH_LEN];
	uint32_t step_id;
	int32_t het_comp; /* of "<n>+<comp>", else -1 */
	uint32_t job_id;  /* JPC_UNKNOWN: not known */
	char node[65];	  /* "": not known, or this host has only one node */
};

struct slurm_task {
	uint32_t gtid;
	pid_t pid;
	int status; /* wait status, valid when ended */
	bool ended;
};

/* What was found of the step while it runs (files/live_findings.h), each once. */
struct live_findings {
	bool wanted; /* by its user or the configuration */
	struct jpc_finding v[JPC_FINDINGS_MAX];
	unsigned n;
	pid_t pid; /* of the child that judges; 0: none does */
	int out;   /* its output */
	uint64_t deadline_ns;
};

struct request {
	struct request *next;
	uint64_t serial; /* number among all requests, by which a peer finds its request, or that it
			    is gone */
	struct step_key key;
	uint64_t updated_ns;  /* boot time of the last message */
	bool known;	      /* info is filled */
	struct jpc_step info; /* from messages of Slurm's plugins: the last value of each field */
	bool unjournaled;     /* something is not in the journal yet */
	bool spank;	      /* SPANK has sent its message: nothing more will be asked for */
	uint32_t asked_by;    /* enum jpc_source; 0: nothing was asked for */
	bool none;	      /* "none" was asked for */
	unsigned families;
	bool own_freq;
	struct freq freq;
	struct slurm_task *tasks;
	unsigned ntasks;
	struct slurmd slurmd; /* where Slurm can be asked, as slurmstepd has sent it */
	char reason[64];      /* why the step ended; "": not known */
	struct external_series external;
	struct live_findings findings;
};

struct request *request__new(const struct step_key *p);
void request__free(struct request *r);
/* Merges a message of root about the step; freq is the configuration's. -EINVAL with the reason in
 * err: there are no such families or intervals; all else is merged. */
int request__update(struct request *r, const struct jpc_step *m, const struct freq *freq, char *err,
		    size_t errlen);
/* Merges a message about a task. 0 or -ENOMEM, -E2BIG. */
int request__update_task(struct request *r, const struct jpc_task *m);
/* Whether "none" was asked for: no file of the step is wanted. r may be NULL. */
bool request__refuses(const struct request *r);
const struct slurm_task *request__find_task(const struct request *r, pid_t pid);
/* Whether both keys stand for the same step, as far as both are known. */
bool step_key__equal(const struct step_key *a, const struct step_key *b);

#endif
