/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The words of the options by which several verbs select: -s, -d, -j, -i, -N. Each function logs
 * what is wrong with a word. */
#ifndef JP_CMD_JOBPROF_SELECT_ARGS_H
#define JP_CMD_JOBPROF_SELECT_ARGS_H

#include "base/hostlist.h"
#include "jobfile/select.h"
#include "model/model.h"

/* The words of these options, as they were given; NULL: the option was not given. */
struct select_words {
	const char *series, *column, *jobs, *input, *nodes;
};

/* Takes the word of -N: sel->nodes becomes l with all names, or NULL where text is NULL or "*".
 * Earlier names in l are freed; the caller frees l. 0, or the exit status. */
int select_args__nodes(struct selection *sel, struct string_list *l, const char *text);
/* Takes the word of -s, one series or one of its tables: series gets the name, and sel selects the
 * table; task gets a task's number, and sel then points to it. 0, or the exit status. */
int select_args__series(struct selection *sel, struct number_range *task, char *series, size_t size,
			const char *text);
/* Logs that the file has no such series, or no such table of it, and which one was probably wanted.
 */
void select_args__no_series(const struct model_file *f, const struct selection *sel,
			    const char *path, const char *series);
/* Logs that the series has no such column, or none with a known time, and which one was probably
 * wanted. */
void select_args__no_column(const struct model_file *f, const struct selection *sel,
			    const char *path, const char *series, const char *column);
/* Logs the first selected step or node that the file does not have. Returns whether there is one.
 */
bool select_args__missing(const struct model_file *f, const struct selection *sel,
			  const char *path);

#endif
