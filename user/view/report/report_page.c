/* SPDX-License-Identifier: GPL-2.0-only */
/* The page of a report: what is wrong, what that cost, where the time went, who, when, and what is
 * not known. */
#include "view/report/report_page.h"

void report__print(const struct report *r, FILE *out)
{
	if (r->is_run)
		putc('\n', out); /* after the output of the command */
	report_head__print(r, out);
	report_findings__print(r, out);
	report_budget__print(r, out);
	report_threads__print(r, out);
	report_culprits__print(r, out);
	report_modules__print(r, out);
	report_pop__print(r, out);
	report_given__print(r, out);
	report_tasks__print(r, out);
	report_commands__print(r, out);
	report_clusters__print(r, out);
	report_time__print(r, out);
	report_pika__print(r, out);
	report_io__print(r, out);
	report_end__print(r, out);
}
