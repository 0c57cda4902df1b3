/* SPDX-License-Identifier: GPL-2.0-only */
/* The parts of a page, for the files of the room view. */
#ifndef JP_VIEW_PAGE_H
#define JP_VIEW_PAGE_H

#include "view/view.h"

#define PAGE_LABEL 12 /* columns of the page before the text of a line */
#define PAGE_WIDTH 80 /* of text; sparklines take the terminal's */

/* Flags of schemas/show.def. */
enum { SOME = 1, WITH = 2, ELSE = 4, RATE = 8 };

/* The lines about a task, or about the whole step, which has those of its tasks too if it is their
 * sum: when there is not just one. */
void page__print_task_lines(const struct page *p, const struct model_task *t);
/* The last of these lines: the columns that have no line of their own. */
void page__print_other_columns(const struct page *p, const struct model_task *t);
/* The tables of the other series. */
void page__print_other_series(const struct page *p);
/* The line on energy, if the step has any. */
void page__print_energy(const struct page *p);
/* The programs that used most CPU time, and how many processes of each ended; the CPU time of the
 * ranks of MPI launchers. */
void page__print_commands(const struct page *p);
void page__print_ranks(const struct page *p);
/* The marks of the job's programs, and when they were set. */
void page__print_marks(const struct page *p);
/* Notes that qualify the numbers: modes, losses, unknown columns, the cost of the collector. */
void page__print_notes(const struct page *p);
/* The value of an attribute. */
void page__print_attr(const struct page *p, const struct model_attr *a);

#endif
