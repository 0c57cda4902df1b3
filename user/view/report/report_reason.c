/* SPDX-License-Identifier: GPL-2.0-only */
/* The reasons of an analysis stand as they are in JSON; a page has words for those that it can
 * print. */
#include "view/report/report_reason.h"

#include <string.h>

static const struct {
	const char *reason, *words;
} reasons[] = {
	{"no_bins", "it is shorter than one of its bins"},
	{"no_servers", "the files have no rows of any"},
	{"too_few_bursts", "it has too few bursts"},
	{"not_exclusive", "other jobs may have used these nodes"},
};

const char *report_reason__words(const struct analysis_verdict *v)
{
	for (size_t i = 0; i < sizeof(reasons) / sizeof(*reasons); i++)
		if (!strcmp(v->reason, reasons[i].reason))
			return reasons[i].words;
	return v->reason;
}
