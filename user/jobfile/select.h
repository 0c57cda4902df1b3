/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Selects tables of a file: by step, node, series and task. */
#ifndef JP_JOBFILE_SELECT_H
#define JP_JOBFILE_SELECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hostlist.h"
#include "identity/jobspec.h"

struct reader;
struct reader_node;
struct reader_series;

struct number_range {
	uint64_t from, to; /* both included */
};

struct selection {
	const char *const *steps; /* in any spelling; nsteps 0: all */
	unsigned nsteps;
	const struct string_list *nodes;  /* NULL: all */
	const struct number_range *tasks; /* ntasks 0: all */
	unsigned ntasks;
	const char *table; /* the one of that name; NULL: all */
	bool by_name;	   /* steps, nodes and tables in the order of strcmp, as sh5util has them;
			    * else in natural order */
};

struct node_ref {
	unsigned step, node;
};

/* The selected nodes of r, in order: *out is an array of *n, which the caller frees. Selected steps
 * and nodes that do not exist are found by select__missing(). 0 or -ENOMEM. */
int select__nodes(const struct reader *r, const struct selection *sel, struct node_ref **out,
		  unsigned *n);
/* Names the first selected step or node that the file does not have, and a similar node if there is
 * one: "there is no step 7", "there is no node n9; did you mean "n1"?". False: all exist.
 */
#define SELECT_MISSING 400
bool select__missing(const struct reader *r, const struct selection *sel,
		     char missing[static SELECT_MISSING]);
/* The series of the file's first node whose name is nearest to a word that is no series; "": none
 * is near. */
#define SELECT_SERIES 128
void select__near_series(const struct reader *r, const char *word, char near[static SELECT_SERIES]);
/* Whether a node, by its attributes, is of that task of an array, component or SLUID; with only a
 * job's id, of any task of the array with that id. */
bool select__part(const struct reader_node *n, const struct jobspec *part);
/* Whether a table of a grouped series is selected. A table whose name is no number is selected
 * unless tasks or another table are. */
bool select__table(const struct selection *sel, const char *table);
/* Puts the tables of s into the order of sel. */
void select__order(const struct selection *sel, struct reader_series *s);

/*
 * Parses a series as users name it: "Tasks", "Task", "Task_3", "Tasks/3", "User/solver", "energy"
 * ... name becomes the name in the file (built-in names may be in any case), *task the task (-1:
 * all), and *table the table, which points into the text (NULL: all). 0; -EINVAL: not a possible
 * name; -E2BIG.
 */
int select__series(const char *text, char *name, size_t len, int64_t *task, const char **table);
/* Parses "0-3,7" into ranges, which the caller frees. 0, -EINVAL, -E2BIG (more than 4096) or
 * -ENOMEM. */
int select__tasks(const char *text, struct number_range **out, unsigned *n);

#endif
