/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds, samples, resumes and ends steps: daemon_sync_steps() makes steps from the kernel's slots
 * (step_list.c), step__identify() finds their jobs and users (step_identity.c),
 * request_match__claim() gives steps the requests of peers (request_match.c), sampling__rows()
 * takes a snapshot and has rows made of it (sampling.c), and daemon_resume() takes up the journals
 * of earlier runs (resume.c). kernel_watch.h takes what the kernel side reports.
 */
#ifndef JP_DAEMON_FOLLOW_FOLLOW_H
#define JP_DAEMON_FOLLOW_FOLLOW_H

#include <stdint.h>

#include "daemon/lookup/lookup.h"
#include "daemon/step/request.h"
#include "daemon/step/step.h"

struct daemon;

/* ---- Snapshots of all slots on the wall clock's grid, and the rows that steps get from them. */

/* Takes a snapshot. 0 or -errno. */
int sampling__snapshot(const struct step_env *env);
/* Takes a snapshot from which no row is made; all steps note the peaks in it. 0 or
 * -errno. */
int sampling__look(const struct step_env *env);
/* Journals a row of each table of the step, made from the last snapshot. */
void sampling__rows_of(struct step *s, const struct step_env *env);
/* Takes a snapshot and journals the rows that are due. */
void sampling__rows(struct step_env *env);
/* Reads counters that wrap in minutes, whether rows are due or not. */
void sampling__watch_node(struct step_env *env, uint64_t now);
/* The shortest interval of the active steps; UINT64_MAX: none is active. */
uint64_t sampling__least_interval(const struct step_env *env);
/* Sets the instant of the next sample. */
void daemon_schedule_sample(struct daemon *d, uint64_t now);
/* Takes the configuration's intervals for the steps that have none of their own. */
void daemon_set_intervals(struct daemon *d);

/* ---- The list of steps, which follows the kernel's slots; steps are made and freed. */

/* Makes the list of steps agree with the slots, and asks for what is not known of the steps. */
void daemon_sync_steps(struct daemon *d);
/* Whether no step has begun since then, and none waits for its identity. */
bool daemon_in_sync(const struct daemon *d);
/* The lookup_answered_fn of the daemon: gives the answer to the step that asked. */
void daemon_answered(void *ctx, const struct lookup *q, const struct lookup_answer *a);

/* Makes a step for a slot of kind STEP, with state NEW (or IGNORED if nothing is asked for). NULL:
 * no memory. */
struct step *step__new(const struct step_env *env, uint32_t slot);
void step__free(struct step *s);

/* ---- The identity of a step: its job and its user. Most of it comes from paths, the rest from
 * slurmstepd's title, Slurm's plugins and processes. */

/* Makes a NEW step ACTIVE once its job and user are known, or IGNORED. last: nothing more will
 * become known. */
void step__identify(struct step *s, const struct step_env *env, const struct step *all, bool last);

/* ---- Requests (request.h) and the steps to which they belong. A key finds a step only while the
 * step's cgroup is there. */

/* The step of the list that has the key and has not ended, or NULL. */
struct step *request_match__find_step(struct step *steps, const struct step_key *p);
bool request_match__has_key(const struct step *s, const struct step_key *p);
/* The request with that serial number. NULL: it has been freed. */
struct request *request_match__of_serial(const struct step_env *env, uint64_t serial);
/* The request of the step with that key; make: it is made if there is none. NULL: there is none, or
 * no memory. */
struct request *request_match__of_step(const struct step_env *env, const struct step_key *p,
				       bool make);
/* Gives steps their requests, and frees requests whose steps have not come. */
void request_match__claim(const struct step_env *env, uint64_t now);
/* Journals the rows of external series that requests have. */
void request_match__journal_external(struct step *steps, const struct step_env *env);

/* ---- Journals of earlier runs. */

/* Takes up every journal in StateDir: steps of this boot go on, and the files of all others are
 * finished. Errors are logged. */
void daemon_resume(struct daemon *d);
/* Journals of each step that goes on what is missing of it. Called when the programs are attached.
 */
void daemon_tell_losses(struct daemon *d);

#endif
