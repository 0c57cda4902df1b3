/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The room view: results for people and for programs, as text and as JSON. It prints what model and
 * analysis return: the page about a node, the line about a step, the rows of "jobprof items".
 * schemas/show.def has the contents of a page, in order and with their words. Names that come from
 * files are escaped; nothing wider than the page is printed but sparklines, which take the width of
 * the terminal. Other headers: view/svg.h (axes, and pictures for print), view/items/items_print.h,
 * view/report/report_text.h.
 */
#ifndef JP_VIEW_VIEW_H
#define JP_VIEW_VIEW_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "model/model.h"

/* The page about a node. */
struct page {
	const struct model_node *node;
	FILE *out;
	bool all;	/* also columns without a line of their own, and the other series */
	unsigned width; /* columns of the terminal, 40 to 200 */
	bool utf8;	/* of the terminal */
};

void page__print(const struct page *p);
/* The page as JSON; NULL: no memory. */
json_t *page__json(const struct model_node *n);

/* The table of a job's steps: its head, and a line for each. */
void step_line__print_head(FILE *out);
void step_line__print(const struct model_step *s, FILE *out);
json_t *step_line__json(const struct model_step *s);

#endif
