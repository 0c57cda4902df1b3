/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What goes to a step's journal: its rows, which tasks it has, and the attributes of its group in
 * the file. Other headers of this folder: the journal and its frames (step_journal.h), kinds of
 * tables and their columns (step_kinds.h), tables (step_tables.h) and their state (step_state.h),
 * stacks and bursts.
 */
#ifndef JP_DAEMON_RECORD_RECORD_H
#define JP_DAEMON_RECORD_RECORD_H

#include "daemon/step/step.h"

/* ---- Rows: counts of the step's slots, readings of sensors, and rows of external series. */

/* Journals the rows that are due at the snapshot's instant; all: of every series, due or not. */
void step__rows(struct step *s, const struct step_env *env, bool all);
/* Notes the highest RSS between rows; to be called for every snapshot. rows_follow: due rows will
 * be made from this snapshot. */
void step__watch_peak(struct step *s, const struct step_env *env, bool rows_follow);
/* What the step, or a task of it, has used up to the snapshot's instant, as cells of a row that
 * counts from its start; PeakMB is the highest so far. False: it has no slot. */
bool step__totals(struct step *s, const struct step_env *env, int kind, int gtid,
		  union cell cells[MAX_COLUMNS]);
/* Adds up all that the step has used up to the snapshot's instant. False: it has no slot. */
bool step__sum(struct step *s, const struct step_env *env, struct totals *sum);
/* Journals the rows of external series that have come since the last time. */
void step__journal_external(struct step *s, const struct step_env *env);

/* ---- The tasks of a step whose numbers the kernel side did not know when they began. */

/* Finds global ids of tasks that the kernel side did not know when they began. */
void step__find_tasks(struct step *s, const struct step_env *env);
/* Finds numbers and environment of new tasks at once, because they may have ended before the first
 * row. */
void step__find_new_tasks(struct step *s, const struct step_env *env);

/* ---- Attributes of the node group of a step's file: Slurm's five, then ours; what is unknown is
 * absent. */

/* Journals the attributes that are known when the step begins. */
void step__put_start_attrs(struct step *s, const struct step_env *env);
/* Journals the attributes from the environment of a task. */
void step__put_env_attrs(struct step *s);
/* Journals the attributes that are known when the step has ended. reason may be NULL: then the
 * tasks tell it. */
void step__put_end_attrs(struct step *s, const struct step_env *env, const char *reason);
/* Whether Slurm has ended the step by a signal, and only Slurm knows why. */
bool step__must_ask_squeue(const struct step *s, const struct step_env *env);
/* Journals the attributes that Slurm's plugins have sent: they outrank those from the
 * environment. */
void step__put_slurm_attrs(struct step *s);

/* What was lost, in all, by this jobprofd and those that had the step before. */
void step__own_losses(const struct step *s, const struct step_env *env, uint64_t n[OWN_LOSSES]);

/* ---- Attributes that Slurm's controller knows of a step's job. */

/* Takes what is known of the step's job; where nothing is known, and the step begins on this node,
 * the controller is asked. */
void job_attrs__take(struct step *s, const struct step_env *env, uint64_t now_ns);
/* Whether an answer may come that the step's file does not have yet. */
bool job_attrs__waits(const struct step *s, const struct step_env *env);
/* Where the step is the last of its job to end on this node, and its job's state is needed: asks
 * for it. Returns whether an answer may come. */
bool job_attrs__ask_end(const struct step *s, const struct step_env *env, uint64_t now_ns);
/* Journals what is known at the end of the job, its final state included. */
void job_attrs__put_end(struct step *s, const struct step_env *env, uint64_t now_ns);

#endif
