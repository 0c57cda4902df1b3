/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parts of a page, for the files of the room view. */
#ifndef JP_VIEW_PAGE_H
#define JP_VIEW_PAGE_H

#include "view/view.h"

#define PAGE_LABEL 12 /* columns of the page before the text of a line */
#define PAGE_WIDTH 80 /* of text; sparklines take the terminal's */

/* Flags of schemas/show.def. */
enum { SOME = 1, WITH = 2, ELSE = 4, RATE = 8 };

/* Notes that qualify the numbers: modes, losses, unknown columns, the cost of the collector. */
void page__print_notes(const struct page *p);
/* The value of an attribute. */
void page__print_attr(const struct page *p, const struct model_attr *a);

#endif
