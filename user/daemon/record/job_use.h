/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What each job has used on this node: the sums of its steps that are profiled, those that have
 * ended included, for the metrics. Jobs are kept by their number, so that none is there twice. A
 * job whose last step has ended is kept for an hour, for it may have another one; the oldest goes
 * where there are too many.
 */
#ifndef JP_DAEMON_RECORD_JOB_USE_H
#define JP_DAEMON_RECORD_JOB_USE_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/step/step.h"
#include "identity/sluid.h"

#define JOB_USES     1024 /* that are kept */
#define JOB_ANSWERS  2	  /* that have a job after its end */
#define JOB_USE_TEXT 64

/* Seconds and bytes; NaN: not known. Counters first. */
enum job_value {
	JOB_CPU,
	JOB_CPU_WAIT,
	JOB_BY_QUOTA, /* blocked: by a quota, */
	JOB_BY_DISK,
	JOB_BY_NET_FS,
	JOB_BY_LOCK,
	JOB_BY_MESSAGE, /* a pipe or socket, */
	JOB_BY_OTHER,
	JOB_READ,
	JOB_WRITTEN,
	JOB_COUNTERS,
	JOB_MEMORY = JOB_COUNTERS,
	JOB_MEMORY_PEAK,
	JOB_MEMORY_LIMIT,
	JOB_GPU, /* part of its GPUs that is busy */
	JOB_PROCESSES,
	JOB_VALUES
};

struct job_use {
	struct job_use *next;
	uint32_t job_id;
	char sluid[SLUID_LEN + 1];
	/* As users may have written them; "": not known. */
	char user[JOB_USE_TEXT], account[JOB_USE_TEXT], partition[JOB_USE_TEXT];
	double v[JOB_VALUES];
	unsigned steps;	  /* that run */
	unsigned answers; /* since the last one ended */
	/* for this file alone: */
	double ended[JOB_COUNTERS], peak; /* of steps that have ended */
	double last[JOB_COUNTERS];	  /* told: a wait is lost where its family rests */
	uint64_t ended_ns;
	unsigned gpus;
};

struct job_uses {
	struct job_use *jobs; /* the oldest first */
	unsigned n;
	double cpu_s, cpu_wait_s; /* of all jobs since the start, as at the last look */
	double cpu_ended_s, cpu_wait_ended_s;
};

/* Steps that run are counted on by the kernel side when jobprofd restarts; what ended steps have
 * used is in a file of StateDir meanwhile, for counters of Prometheus are not to fall. Errors are
 * logged.
 */
void job_uses__save(const struct job_uses *u, const char *state_dir);
void job_uses__load(struct job_uses *u, const char *state_dir);
void job_uses__free(struct job_uses *u);
/* Adds the totals of a step of which the snapshot is the last one. */
void job_uses__end_step(struct job_uses *u, struct step *s, const struct step_env *env);
/* Sets all values as of the last snapshot, and forgets jobs that have ended long ago. */
void job_uses__look(struct job_uses *u, const struct step_env *env);
/* Whether an answer has the job. */
bool job_use__is_shown(const struct job_use *j);

#endif
