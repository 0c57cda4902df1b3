/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef JP_DAEMON_INTERNAL_H
#define JP_DAEMON_INTERNAL_H

#include <stdio.h>

#include "daemon/automerge.h"
#include "daemon/daemon.h"
#include "daemon/perf_columns.h"
#include "daemon/journals.h"
#include "daemon/request.h"
#include "identity/layout.h"

#define MAX_ROWS  16
#define ENDED_MAX 64

/* A journal whose step has ended in an earlier run: only its file is missing. */
struct orphan {
	struct publication pub;
	struct orphan *next;
};

struct daemon {
	struct daemon_opts opts;
	struct step_env env;
	struct kern_root roots[JP_CARRIERS];
	unsigned nroots;
	struct jp_node nodes[JP_NODES];
	const struct layout *rows[MAX_ROWS];
	struct layout patterns[CONFIG_PATTERNS];
	char *pattern_texts[CONFIG_PATTERNS];
	unsigned nrows;
	struct perf_columns perf;
	struct step *steps;
	struct request *requests;    /* of steps that are not there yet */
	struct control *control;     /* NULL: no socket */
	struct automerge *automerge; /* NULL: users merge */
	struct orphan *orphans;
	struct journal_stats journals;
	struct users users;
	int epfd, sigfd, clockfd, lockfd;
	size_t files;	    /* that may be open at once */
	bool external_rows; /* rows of external series have come */
	bool stop, finishing, handover, sync, sweep, wake;
	uint32_t ended[ENDED_MAX]; /* slots of the steps of which a task has ended in this turn */
	unsigned nended;	   /* more: of any of them */
	int stop_signal;
	uint64_t rb_lost_seen, exhausted_seen, slots_seen;
	uint64_t next_exhausted_ns;
	uint64_t exhausted_placed, freed_seen, next_late_ns; /* of those that found no slot */
	bool unplaced;					     /* there are some */
	uint64_t started_ns;
	uint64_t least_ns; /* shortest interval of the active steps */
	uint64_t next_sample_ns, next_rescan_ns, idle_since_ns;
	char last_file[PUBLISH_PATH + 400];
};

/* roots.c: hierarchies, layouts and the trie of both. Logs. */
int cgroup_roots__find(struct daemon *d);
/* request_match.c: requests of steps, and steps of requests; a key stands for a step whose cgroup
 * is there. */
struct step *daemon_find_step(const struct daemon *d, const struct step_key *p);
bool daemon_step_has_key(const struct daemon *d, const struct step *s, const struct step_key *p);
struct request *daemon_find_request(const struct daemon *d,
				    uint64_t serial); /* NULL: not any more */
struct request *daemon_request_of(struct daemon *d, const struct step_key *p, bool make);
void daemon_claim_requests(struct daemon *d, uint64_t now);
void daemon_journal_external(struct daemon *d);
/* recover.c: journals left by earlier runs. */
void daemon_recover(struct daemon *d);
/* steps.c: brings steps in line with the slots, and every step forward as far as it can go. */
void daemon_sync_steps(struct daemon *d);
/* Nothing has begun since, or was left to be found out. */
bool daemon_in_sync(const struct daemon *d);
void daemon_advance(struct daemon *d, uint64_t now);
void daemon_reaped(struct daemon *d, pid_t pid, int status, uint64_t now);
/* A lookup_answered_fn. */
void daemon_answered(void *ctx, const struct lookup *q, const struct lookup_answer *a);
void daemon_sample(struct daemon *d, uint64_t now);
void daemon_watch_node(struct daemon *d, uint64_t now);
bool daemon_busy(const struct daemon *d, uint64_t now); /* some step waits for something soon */
int daemon_attach(struct daemon *d);
/* status.c: how the daemon is, for people; returns the number of problems. now: boot time. */
unsigned daemon_status(const struct daemon *d, uint64_t now, FILE *out);
/* reload.c: what SIGHUP asks for. */
void daemon_reload(struct daemon *d);
/* loop.c */
int daemon_turn(struct daemon *d, int timeout_ms);
void daemon_set_intervals(struct daemon *d);

#endif
