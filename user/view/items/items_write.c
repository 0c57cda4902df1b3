/* SPDX-License-Identifier: GPL-2.0-only */
/* Writes all rows of items in one of the formats, and below each step when its sum was highest. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/escape.h"
#include "identity/stepname.h"
#include "view/items/items_print.h"

#define NS INT64_C(1000000000)

static void number_text(char text[static 400], struct items_number v, enum col_type type)
{
	if (v.big || type == COL_F64)
		snprintf(text, 400, "%f", v.v.f);
	else if (type == COL_I64)
		snprintf(text, 400, "%" PRId64, v.v.i);
	else
		snprintf(text, 400, "%" PRIu64, v.v.u);
}

void items__highest_sum(FILE *out, const struct items *it, const char *step, const char *column,
			const struct items_totals *t)
{
	char text[400];

	number_text(text, t->best, it->type);
	fputs("    Step ", out);
	print__escaped(out, step);
	fputs(" Maximum accumulated ", out);
	print__escaped(out, column);
	fprintf(out, " Value (%s) occurred at Time=%" PRIu64 ", Ave Node %f\n", text,
		t->best_elapsed, t->best_avg);
}

static void print_extreme(FILE *out, const struct items *it, const char *label, union cell v,
			  unsigned at, int64_t when_ns)
{
	const struct items_col *c = &it->cols[at];
	time_t second = when_ns / NS;
	char text[400], when[64];
	struct tm tm;

	number_text(text, (struct items_number){v, false}, it->type);
	fprintf(out, "    %s %s on ", label, text);
	print__escaped(out, c->node);
	if (c->table) {
		/* tables of tasks are numbers, those of disks and the like are names */
		fputs(strspn(c->table, "0123456789") == strlen(c->table) ? ", task " : ", ", out);
		print__escaped(out, c->table);
	}
	strftime(when, sizeof(when), "%F %T", localtime_r(&second, &tm));
	fprintf(out, " at %s.%03d\n", when, (int)(when_ns % NS / 1000000));
}

void items__summary(FILE *out, const struct items *it, const char *step, const char *column,
		    const struct items_totals *t)
{
	char text[400];

	number_text(text, t->best, it->type);
	fputs("    Step ", out);
	print__escaped(out, stepname__human(step));
	if (*it->unit) {
		fputs(", in ", out);
		print__escaped(out, it->unit);
	}
	fputs(": highest sum of ", out);
	print__escaped(out, it->column);
	fprintf(out, " at one time %s, ", text);
	if (isnan(t->best_seconds))
		fprintf(out, "at %" PRIu64 " s", t->best_elapsed);
	else
		fprintf(out, "at %.3f s", t->best_seconds);
	fprintf(out, ", %f per node\n", t->best_avg);
	if (!t->n)
		return;
	print_extreme(out, it, "Minimum", t->min, t->min_at, t->min_ns);
	print_extreme(out, it, "Maximum", t->max, t->max_at, t->max_ns);
	fputs("    ", out);
	number_text(text, t->sum, it->type);
	if (it->kind == COL_DELTA) /* a sum of levels over time means nothing */
		fprintf(out, "Sum %s, average ", text);
	else
		fputs("Average ", out);
	fprintf(out, "%f\n", items__double(t->sum, it->type) / (double)t->n);
}

static void end_step(const struct items_text *text, struct outbuf *o, const struct items *it,
		     const char *step, const struct items_totals *t)
{
	if (text->format->end_step)
		text->format->end_step(o, it, step, t);
	else
		text->format->summary(text->summary, it, step, text->column, t);
}

static int write_rows(const struct items_text *text, struct outbuf *o, struct items *it)
{
	const struct items_format *f = text->format;
	struct items_totals totals = {0};
	struct items_row row;
	const char *step = NULL;
	int got;

	f->begin(o, it, text->series);
	while ((got = items__next(it, &row)) > 0) {
		if (row.first && step)
			end_step(text, o, it, step, &totals);
		if (row.first)
			totals = (struct items_totals){0};
		step = row.step;
		f->row(o, it, &row);
		items__total(&totals, it, &row);
	}
	if (step)
		end_step(text, o, it, step, &totals);
	if (f->end)
		f->end(o);
	return got;
}

int items__write(struct items *it, const struct items_text *text, int fd)
{
	struct outbuf o;
	int err = outbuf__init(&o, fd), ended;

	if (!err)
		err = write_rows(text, &o, it);
	ended = outbuf__end(&o);
	return err ? err : ended;
}
