/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef JP_DAEMON_STEP_INTERNAL_H
#define JP_DAEMON_STEP_INTERNAL_H

#include "daemon/step.h"

/* So many seconds lie between two times that a step's log says that its journal cannot be written.
 */
#define FULL_AGAIN_S 600

struct table *step__table(struct step *s, const struct step_env *env, int kind, int gtid);
/* The next rows are due at the instants that come, not for one that has passed already. */
void step__set_grid(struct step *s, const struct step_env *env);
void step__select_columns(struct step *s, const struct step_env *env);
/* Is it a column of whole numbers that is 0 because nothing says what it is? */
bool step__column_unknown(const struct step *s, const struct step_env *env, const char *name);
/* The columns that a journal says a series has, as far as they are still measured; -EINVAL: they
 * are none of ours. */
int step__restore_columns(const struct step_env *env, const struct journal_record *rec,
			  struct column_set sets[COUNTED_KINDS]);
int step__open_journal(struct step *s, const struct step_env *env);
void step__put_state(struct step *s, const struct step_env *env);
void step__put_start_attrs(struct step *s, const struct step_env *env);
void step__put_end_attrs(struct step *s, const struct step_env *env, const char *reason);
/* Attributes of what root told; they outrank the environment's. */
void step__put_slurm_attrs(struct step *s);
/* Its ids, as far as its path says them. 0 or -errno. */
int step__parse_path(struct step *s, const struct step_env *env);
/* The hierarchy that its cgroup is in, or NULL. */
const struct kern_root *step__cgroup_root(const struct step *s, const struct step_env *env);
/* Slurm's name of the node that the step runs on. */
const char *step__node_name(const struct step *s, const struct step_env *env);
/* Journals what the environment of a task said. */
void step__put_env_attrs(struct step *s);
/* step_ask.c: who its job is, whose it is, its tasks, its attributes. Answers come later; asking
 * again meanwhile does nothing. */
void step__ask_stepd(struct step *s, const struct step_env *env);
void step__ask_owner(struct step *s, const struct step_env *env);
void step__ask_tasks(struct step *s, const struct step_env *env);
void step__use_kept_env(struct step *s, const struct step_env *env);
void step__ask_env(struct step *s, const struct step_env *env, uint32_t slot);
/* Does a process of that user say whose the step is? */
bool step__may_own(const struct step *s, uid_t uid);
/* Its processes ran before they could be counted. */
bool step__began_before(const struct step *s, const struct step_env *env);
void step__find_tasks(struct step *s, const struct step_env *env);
/* now: what the row will say of its processes; NULL: it is for no row. */
void step__read_cgroup(struct step *s, const struct step_env *env, const struct totals *now,
		       double cg[CG_N]);
/* Writes the frame. False: it cannot be written, which is counted and said, and the rows after the
 * mark are left out: what they count is in the next ones. What is before the mark waits in memory.
 */
bool step__commit(struct step *s, size_t mark, unsigned rows);
/* What tables told in the frame, and the rows they have there, are in the journal, or left out. */
void step__settle_frame(struct step *s, bool kept);

const struct series *step__series(int kind);
/* Rows of that kind are made of a histogram, not of totals. */
bool step__is_hist(int kind);

void step__collect_slots(struct step *s, const struct step_env *env);

#define for_each_slot(slot, s) \
	for (unsigned i_ = 0; i_ < (s)->nslots && ((slot) = (s)->slots[i_], true); i_++)

#endif
