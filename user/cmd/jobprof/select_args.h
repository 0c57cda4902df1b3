/* SPDX-License-Identifier: GPL-2.0-only */
/* What the options that several verbs have mean: -j, -N, -s. Each says what is wrong with its word.
 */
#ifndef JP_CMD_JOBPROF_SELECT_ARGS_H
#define JP_CMD_JOBPROF_SELECT_ARGS_H

#include "base/hostlist.h"
#include "identity/jobspec.h"
#include "jobfile/select.h"
#include "model/model.h"

/* -j: the caller frees *out. 0, or the exit status. */
int select_args__jobs(struct jobspec **out, unsigned *n, const char *text);
/* -N: sel->nodes is all of l, or NULL for text NULL and "*". What l held is freed, and the caller
 * frees it. 0, or the exit status. */
int select_args__nodes(struct selection *sel, struct string_list *l, const char *text);
/* -s, of one series or one of its tables: its name goes to series, and sel is of that table; a
 * task's number goes to task, to which sel points then. 0, or the exit status. */
int select_args__series(struct selection *sel, struct number_range *task, char *series, size_t size,
			const char *text);
/* Names, as an error, the first wanted step or node that the file does not have. Whether there is
 * one. */
bool select_args__missing(const struct model_file *f, const struct selection *sel,
			  const char *path);

#endif
