/* SPDX-License-Identifier: GPL-2.0-only */
/* A line of the parts of a whole, the largest first. */
#include "view/report/report_shares.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "view/report/report_text.h"

#define LEAST 0.005 /* share of a part that is named */

static int largest_first(const void *a, const void *b)
{
	const struct report_share *x = a, *y = b;

	return (x->amount < y->amount) - (x->amount > y->amount);
}

void report_shares__print(const char *name, struct report_share *parts, size_t n, FILE *out)
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
