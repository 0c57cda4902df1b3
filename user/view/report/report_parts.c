/* SPDX-License-Identifier: GPL-2.0-only */
/* Parts of a whole, as JSON and as a line. */
#include "view/report/report_parts.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/job/facts_fill.h"
#include "base/json.h"
#include "view/report/report_text.h"

struct report_share {
	const char *name;
	double amount; /* NaN: not known, which counts nothing */
};

/* ---- A line of the parts of a whole, the largest first */

#define LEAST 0.005 /* share of a part that is named */

static int largest_first(const void *a, const void *b)
{
	const struct report_share *x = a, *y = b;

	return (x->amount < y->amount) - (x->amount > y->amount);
}

/* Prints "  name  a 60 %, b 30 %", the largest first, without what is less than half a per cent of
 * all; what does not fit the width is on another line. Sorts parts. Nothing where all are 0. */
static void shares_print(const char *name, struct report_share *parts, size_t n, FILE *out)
{
	const char *comma = "";
	double sum = 0;
	int at;

	for (size_t i = 0; i < n; i++) {
		if (isnan(parts[i].amount))
			parts[i].amount = 0;
		sum += parts[i].amount;
	}
	if (!(sum > 0))
		return;
	qsort(parts, n, sizeof(*parts), largest_first);
	at = fprintf(out, "  %-14s", name);
	for (size_t i = 0; i < n && parts[i].amount >= LEAST * sum; i++) {
		char text[48];

		snprintf(text, sizeof(text), "%s %s %.0f %%", comma, parts[i].name,
			 100 * parts[i].amount / sum);
		if (at + strlen(text) + 1 > REPORT_WIDTH) {
			fprintf(out, "%s\n%16s", comma, "");
			at = 16;
			snprintf(text, sizeof(text), " %s %.0f %%", parts[i].name,
				 100 * parts[i].amount / sum);
		}
		at += fprintf(out, "%s", text);
		comma = ",";
	}
	putc('\n', out);
}

double report_parts__divide(const struct report_parts *p, const double total[static N_QUANTITIES],
			    double share[static REPORT_PARTS_MAX])
{
	double all = p->whole == N_QUANTITIES ? 0 : total[p->whole];

	for (unsigned i = 0; i < p->n && p->whole == N_QUANTITIES; i++)
		all += total[p->parts[i].of];
	for (unsigned i = 0; i < p->n; i++)
		share[i] = all > 0 ? total[p->parts[i].of] / all : NAN;
	if (all > 0 && p->correct)
		p->correct(total, share);
	return all > 0 ? all : NAN;
}

double report_parts__of(const struct report_parts *p, const struct model_job *j,
			double share[static REPORT_PARTS_MAX])
{
	double total[N_QUANTITIES];

	for (int q = 0; q < N_QUANTITIES; q++)
		total[q] = facts__sum(j, q);
	return report_parts__divide(p, total, share);
}

static const char *name_of(const struct report_parts *p, const double *share, unsigned i)
{
	return !i && p->first_alone && isnan(share[1]) ? p->first_alone : p->parts[i].name;
}

json_t *report_parts__json(const struct report_parts *p, const struct model_job *j)
{
	json_t *o = json_object(), *shares = json_array(), *one;
	double share[REPORT_PARTS_MAX], all = report_parts__of(p, j, share);

	for (unsigned i = 0; i < p->n && !isnan(all); i++) {
		one = json_object();
		if (p->parts[i].kind)
			json__set(one, "kind", json__text(p->parts[i].kind));
		json__set(one, "name", json__text(name_of(p, share, i)));
		json__set(one, "share", json__number(share[i]));
		json_array_append_new(shares, one);
	}
	json__set(o, p->all_key, json__number(all));
	json__set(o, "shares", shares);
	return o;
}

void report_parts__print(const char *name, const struct report_parts *p, unsigned first,
			 const struct model_job *j, FILE *out)
{
	struct report_share shares[REPORT_PARTS_MAX];

	for (unsigned i = first; i < p->n; i++)
		shares[i] = (struct report_share){p->parts[i].name, facts__sum(j, p->parts[i].of)};
	shares_print(name, shares + first, p->n - first, out);
}
