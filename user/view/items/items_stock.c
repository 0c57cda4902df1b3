/* SPDX-License-Identifier: GPL-2.0-only */
/* The form of "sh5util -I": CSV as Slurm's own tool writes it. */
#include <stdio.h>

#include "base/cleanup.h"
#include "base/csv.h"
#include "view/items/items_print.h"

/* A cell of one or two words. */
static void put_words(struct outbuf *out, const char *first, const char *second)
{
	_cleanup_free_ char *both = NULL;

	if (first && asprintf(&both, "%s %s", first, second) < 0)
		both = NULL;
	csv__put(out, both ? both : second);
}

static void print_header(struct outbuf *out, const struct items *it, const char *series)
{
	/* The second word is spelt as scripts know it. */
	outbuf__str(out, "Step,ElaspedTime,MinNode,MinValue,MaxNode,MaxValue,Sum,Avg,NumNodes");
	for (unsigned i = 0; i < it->ncols; i++) {
		outbuf__char(out, ',');
		put_words(out, it->grouped ? NULL : series, it->cols[i].node);
	}
	outbuf__char(out, '\n');
}

static void print_extreme(struct outbuf *out, const struct items *it, const struct items_row *row,
			  unsigned at)
{
	const struct items_col *c = &it->cols[at];

	outbuf__char(out, ',');
	if (row->n)
		put_words(out, c->table, c->node);
	outbuf__char(out, ',');
	if (row->n)
		items__print(out, (struct items_number){row->cells[at], false}, it->type);
}

static void print_row(struct outbuf *out, const struct items *it, const struct items_row *row)
{
	csv__put(out, row->step);
	outbuf__char(out, ',');
	outbuf__u64(out, row->elapsed);
	print_extreme(out, it, row, row->min_at);
	print_extreme(out, it, row, row->max_at);
	outbuf__char(out, ',');
	if (row->n)
		items__print(out, row->sum, it->type);
	outbuf__char(out, ',');
	if (row->n)
		outbuf__f6(out, row->avg);
	outbuf__char(out, ',');
	outbuf__u64(out, row->tables);
	for (unsigned i = 0; i < it->ncols; i++) {
		outbuf__char(out, ',');
		if (row->known[i])
			items__print(out, (struct items_number){row->cells[i], false}, it->type);
	}
	outbuf__char(out, '\n');
}

const struct items_format items_stock = {
	"stock", print_header, print_row, NULL, NULL, items__highest_sum,
};
