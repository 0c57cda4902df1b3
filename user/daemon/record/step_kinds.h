/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kinds of tables that a step has: their columns, and when their rows are due. Each kind has an
 * interval on the wall clock. */
#ifndef JP_DAEMON_RECORD_STEP_KINDS_H
#define JP_DAEMON_RECORD_STEP_KINDS_H

#include "base/freq.h"
#include "daemon/step/step.h"
#include "sample/counters.h"

/* A kind of table: its series, its interval, and the readings from which its rows are made. */
struct step_kind {
	const char *name;
	enum freq_name freq;
	int counts_as; /* the kind whose tables have these readings; it has the same interval */
	enum { READ_TOTALS = 1, READ_HIST = 2 } reads; /* what its rows are made of */
	enum hist hist;
};

extern const struct step_kind step_kinds[ALL_KINDS];

/* Chooses the columns of every counted kind by the families that the step has. */
void step__select_columns(struct step *s, const struct step_env *env);
/* Restores the columns of a series from a journal, as far as they are still measured. 0; -EINVAL:
 * another build has written them. */
int step__restore_columns(const struct step_env *env, const struct journal_record *rec,
			  struct column_set sets[COUNTED_KINDS]);
/* Whether a column of integers is 0 because its value is not known. */
bool step__column_unknown(const struct step *s, const struct node *node, const char *name);

/* Sets the intervals of the step from now on. */
void step__set_freq(struct step *s, const struct freq *f);
/* Sets the grid: the next rows are due at instants after now. */
void step__set_grid(struct step *s, const struct step_env *env);
/* Whether the step has tables of that kind. */
bool step__has_kind(const struct step *s, int kind);
/* Whether rows of that kind are due at the snapshot's instant. */
bool step__is_due(const struct step *s, const struct step_env *env, int kind);
/* Notes that rows of that kind were written: the next ones are due in the next interval. */
void step__mark_written(struct step *s, const struct step_env *env, int kind);
/* Whether rows of the node's tables are due at the snapshot's instant. */
bool step__wants_sensors(const struct step *s, const struct step_env *env);

#endif
