/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What peers say of a step through the socket: what was asked for, its ids, its tasks, tables of
 * others. Kept from the first word, which may come before the step's cgroup is seen, to its end.
 */
#ifndef JP_DAEMON_REQUEST_H
#define JP_DAEMON_REQUEST_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/freq.h"
#include "daemon/external_series.h"
#include "daemon/end_reason.h"
#include "identity/layout.h"

/*
 * What tells a step from others: its job's directory in one hierarchy, and its number there.
 * slurmstepd is in no cgroup of its job yet when it begins: then job_path is "" and the job's id
 * and node must do.
 */
struct step_key {
	uint32_t hier;
	char job_path[JP_PATH_LEN];
	uint32_t step_id;
	int32_t het_comp; /* of "<n>+<comp>", else -1 */
	uint32_t job_id;  /* JPC_UNKNOWN: not known */
	char node[65];	  /* "": not known, or the only one of this host */
};

struct slurm_task {
	uint32_t gtid;
	pid_t pid;
	int status; /* wait status, valid when ended */
	bool ended;
};

struct request {
	struct request *next;
	uint64_t serial; /* of all requests: a peer finds its request by it, or finds that it has
			    gone */
	struct step_key key;
	uint64_t updated_ns;  /* boot time of the last word */
	bool known;	      /* info is filled */
	struct jpc_step info; /* what Slurm's plugins said, the last value of each */
	bool news;	      /* facts that the journal has not */
	bool spank;	      /* SPANK has spoken: nothing more will be asked for */
	uint32_t asked_by;    /* enum jpc_source; 0: nothing was asked for */
	bool none;	      /* "none" was */
	unsigned families;
	bool own_freq;
	struct freq freq;
	struct slurm_task *tasks;
	unsigned ntasks, max_tasks;
	struct slurmd site; /* where Slurm can be asked, as slurmstepd said */
	char reason[64];    /* of the end, "": not known */
	struct external_series external;
};

struct request *request__new(const struct step_key *p);
void request__free(struct request *r);
/* Takes in what root says of the step; freq is the configuration's. -EINVAL with the reason in
 * err: no such families or intervals, all else is taken. */
int request__tell(struct request *r, const struct jpc_step *m, const struct freq *freq, char *err,
		  size_t errlen);
/* 0 or -ENOMEM, -E2BIG. */
int request__task(struct request *r, const struct jpc_task *m);
const struct slurm_task *request__find_task(const struct request *r, pid_t pid);
/* One and the same step, as far as both know. */
bool step_key__equal(const struct step_key *a, const struct step_key *b);

#endif
