/* SPDX-License-Identifier: GPL-2.0-only */
/* The kinds of tables that a step has, and which columns they have. */
#ifndef JP_DAEMON_STEP_COLUMNS_H
#define JP_DAEMON_STEP_COLUMNS_H

#include "daemon/step.h"
#include "sample/counters.h"
#include "base/freq.h"

/* A kind of table: the series, the interval that it has, and the histogram that its rows are made
 * of. */
struct step_kind {
	const char *name;
	enum freq_name freq;
	bool is_hist; /* rows are made of a histogram, not of totals */
	enum hist hist;
};

extern const struct step_kind step_kinds[ALL_KINDS];

const struct series *step__series(int kind);
void step__select_columns(struct step *s, const struct step_env *env);
/* The columns that a journal says a series has, as far as they are still measured; -EINVAL: they
 * are none of ours. */
int step__restore_columns(const struct step_env *env, const struct journal_record *rec,
			  struct column_set sets[COUNTED_KINDS]);
/* Is it a column of whole numbers that is 0 because nothing says what it is? */
bool step__column_unknown(const struct step *s, const struct node *node, const char *name);

#endif
