/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lookups whose duration others control: the environment and title of a process (its user may lock
 * its memory map for ever), the processes of a cgroup (as many as its user makes), the name
 * service. Helper processes do them, one question each at a time, and answers come through the
 * event loop. A helper that gives no answer is killed and abandoned, and the question is answered
 * with -ETIMEDOUT. Questions about one user's processes occupy one helper at most; after several
 * such answers none is asked for a while.
 */
#ifndef JP_DAEMON_LOOKUP_LOOKUP_H
#define JP_DAEMON_LOOKUP_LOOKUP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "identity/hetjob.h"
#include "identity/proc_maps.h"
#include "identity/proc_program.h"

#define LOOKUP_PIDS 4096
#define ENV_ATTRS   14
#define LOOKUP_TEXT 512

/* ENV and TASK_NUMBER read the environment of pid, for the step's attributes or a task's number.
 */
/* PROGRAM: what that process of a task executes which has used most CPU time, and on which CPUs the
 * task's main process pid may run; LIBRARIES: the libraries that such a process has mapped; MAPS:
 * where its code is. */
enum lookup_kind {
	LOOKUP_STEPD,
	LOOKUP_TASKS,
	LOOKUP_ENV,
	LOOKUP_TASK_NUMBER,
	LOOKUP_USER,
	LOOKUP_PROGRAM,
	LOOKUP_LIBRARIES,
	LOOKUP_MAPS
};

struct lookup {
	enum lookup_kind kind;
	uint32_t slot, gen; /* of the step that asks */
	uint32_t of;	    /* the slot that the question is about, except for STEPD and USER */
	uint32_t job_id;    /* ENV: the job whose component of a heterogeneous job is searched */
	pid_t pid;
	uid_t uid;	/* USER: the user; else the owner of the processes, -1: not known */
	bool below;	/* TASKS, PROGRAM: also the processes of cgroups below that count with it */
	bool lineage;	/* PROGRAM: only descendants of pid */
	bool again;	/* a helper was lost over this question */
	char path[512]; /* STEPD, TASKS, PROGRAM: the cgroup */
};

/* Variables of Slurm's that become attributes. The user may have changed them. */
struct env_attr {
	const char *env, *attr;
	bool number;
};
extern const struct env_attr env_attrs[ENV_ATTRS];

struct lookup_env {
	uid_t uid;
	int32_t procid; /* SLURM_PROCID, -1: none */
	bool het;	/* het_leader and het_offset are known */
	uint32_t het_leader, het_offset;
	char job_host[256];		     /* first of the job's nodes, "": not known */
	char values[ENV_ATTRS][LOOKUP_TEXT]; /* "": not set, or too long */
};

/* Takes the strings of an environment, "NAME=VALUE", one by one; then lookup_env__finish(). */
struct lookup_env_parser {
	struct lookup_env *env;
	struct hetjob het;
};
/* Takes all strings at once, each with its NUL. job_id: the job whose component of a heterogeneous
 * job is wanted. env must be zero. */
void lookup_env__parse(const char *text, size_t len, uint32_t job_id, struct lookup_env *env);

struct lookup_pid {
	pid_t pid, root; /* root: of its lineage, 0: none is known */
	uid_t uid;
	bool stepd; /* has slurmstepd's name, as its children have before their exec */
};

struct lookup_program {
	pid_t pid; /* the living process that has used most CPU time; 0: none */
	uint64_t ticks;
	struct proc_program program;
	struct proc_cpus cpus; /* of the main process; cpus 0: not known */
};

/* The question's kind says which fields are set; none is after an error. */
struct lookup_answer {
	int err; /* 0 or -errno; -ETIMEDOUT, -EBUSY: there was no answer */
	uint32_t job_id;
	gid_t gid;
	char name[64];
	struct lookup_env env;
	struct lookup_program program;
	struct proc_libraries libraries;
	unsigned npids;
	unsigned nmaps;
	bool maps_cut; /* there were more maps */
	union {
		struct lookup_pid pids[LOOKUP_PIDS]; /* ordered by root */
		struct proc_map maps[PROC_MAPS];
	};
};

typedef void lookup_answered_fn(void *ctx, const struct lookup *q, const struct lookup_answer *a);

struct lookups;

/* answered() is called from lookups__turn() only. 0 or -errno. */
int lookups__new(struct lookups **out, lookup_answered_fn *answered, void *ctx);
void lookups__free(struct lookups *l);
int lookups__fd(const struct lookups *l);
/* Forks a helper before it is needed: a process that will be asked about may be gone soon. */
void lookups__prepare(struct lookups *l);
/* Every question that is taken is answered. 0, -EBUSY (too many wait), -ENOMEM. */
int lookups__ask(struct lookups *l, const struct lookup *q);
void lookups__turn(struct lookups *l, uint64_t now_ns);
/* When lookups__turn() is due; UINT64_MAX: only when the descriptor is ready. */
uint64_t lookups__due(const struct lookups *l);
/* A child has ended. True if it was one of the helpers. */
bool lookups__reaped(struct lookups *l, pid_t pid);

/* The work of a helper process, until the other end of fd is closed. */
void lookup__serve(int fd) __attribute__((noreturn));
/* Bytes of an answer that are sent. */
size_t lookup_answer__size(const struct lookup_answer *a);

/* ---- Names and groups of users. The name service may take long, so a helper (lookup.h) asks it,
 * and answers are cached for a while. */

#define USERS_KEPT 64

struct users {
	struct user {
		enum { USER_FREE, USER_ASKED, USER_KNOWN, USER_UNKNOWN } state;
		uid_t uid;
		gid_t gid;
		char name[64];
		uint64_t at_ns; /* of the question, or of the answer */
	} kept[USERS_KEPT];
};

/* Finds the user. NULL with *err -EAGAIN: the answer of the name service is under way, -ENOENT:
 * there is no such user, or no answer. */
const struct user *users__find(struct users *u, struct lookups *l, uid_t uid, uint64_t now_ns,
			       int *err);
/* A question of kind LOOKUP_USER was answered. */
void users__answered(struct users *u, uid_t uid, const struct lookup_answer *a, uint64_t now_ns);

#endif
