/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The options by which several verbs choose: -s, -d, -j, -i, -N, and what their words mean. Each
 * function says what is wrong with a word. */
#ifndef JP_CMD_JOBPROF_SELECT_ARGS_H
#define JP_CMD_JOBPROF_SELECT_ARGS_H

#include "base/hostlist.h"
#include "jobfile/select.h"
#include "model/model.h"

/* The words of these options, as they were given; NULL: it was not. */
struct select_words {
	const char *series, *column, *jobs, *input, *nodes;
};

/* -N: sel->nodes is all of l, or NULL for text NULL and "*". What l held is freed, and the caller
 * frees it. 0, or the exit status. */
int select_args__nodes(struct selection *sel, struct string_list *l, const char *text);
/* -s, of one series or one of its tables: its name goes to series, and sel is of that table; a
 * task's number goes to task, to which sel points then. 0, or the exit status. */
int select_args__series(struct selection *sel, struct number_range *task, char *series, size_t size,
			const char *text);
/* Says that the file has no such series, or not that table of it, and which one was meant. */
void select_args__no_series(const struct model_file *f, const struct selection *sel,
			    const char *path, const char *series);
/* Says that the series has no such column, or none with a known time, and which one was meant. */
void select_args__no_column(const struct model_file *f, const struct selection *sel,
			    const char *path, const char *series, const char *column);
/* Names, as an error, the first wanted step or node that the file does not have. Whether there is
 * one. */
bool select_args__missing(const struct model_file *f, const struct selection *sel,
			  const char *path);

#endif
