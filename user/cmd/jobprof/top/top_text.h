/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The lines of jobprof top: a head of the node, and a table whose columns fit the width. */
#ifndef JP_CMD_JOBPROF_TOP_TEXT_H
#define JP_CMD_JOBPROF_TOP_TEXT_H

#include <stddef.h>
#include <stdio.h>
#include <time.h>

#include "cmd/jobprof/top/top_node.h"
#include "cmd/jobprof/top/top_rows.h"

#define TOP_LINE     2048 /* bytes of a line */
#define TOP_HEAD_MAX 4

/* How a cell stands out; a terminal may show it by a colour. */
enum top_mark { TOP_PLAIN, TOP_UNKNOWN, TOP_HIGH, TOP_FULL };

struct top_layout {
	unsigned width;	      /* of the terminal */
	unsigned columns[24]; /* numbers of the columns that fit */
	unsigned n;
	unsigned id_width, user_width, name_width; /* 0: there is no room */
	bool of_nodes;				   /* rows are nodes of one job */
};

/* What the head is about. */
struct top_head {
	const struct top_node *node;
	const struct top_rows *rows;
	const struct top_view *view;
	const char *about; /* of the nodes of a job: "job 4711"; NULL: of this node */
	time_t now;
	double delay;
};

/* Which columns fit, the most important first. */
void top_layout__fit(struct top_layout *l, unsigned width, const struct top_rows *rows,
		     const struct top_view *v, bool of_nodes);
/* The columns that can be sorted by, as they stand: the one so many places from that of v. */
unsigned top_layout__next_sort(const struct top_layout *l, unsigned sort, int by);

/* Writes lines of the head, cut to the width. Returns how many there are. */
unsigned top_text__head(char lines[TOP_HEAD_MAX][TOP_LINE], const struct top_head *h,
			unsigned width);
/* The heads of the columns. *from, *to: the columns of the terminal where that of the sort is. */
void top_text__columns(char *line, const struct top_layout *l, const struct top_view *v,
		       unsigned *from, unsigned *to);
/* Where in the line of a row a cell is marked. */
struct top_span {
	unsigned from, to;
	enum top_mark mark;
};
/* A row, without blanks at its end. Returns how many spans there are. */
unsigned top_text__row(char *line, struct top_span spans[24], const struct top_layout *l,
		       const struct top_view *v, const struct top_row *r);

#endif
