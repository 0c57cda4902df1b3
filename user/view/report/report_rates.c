/* SPDX-License-Identifier: GPL-2.0-only */
/* Rates of input and output. */
#include <math.h>

#include "analysis/job/facts_fill.h"
#include "view/report/report_page.h"
#include "view/report/report_text.h"

static void print_calls(const struct facts *f, const char *name, enum fact mb, enum fact calls,
			FILE *out)
{
	double wall = facts__job(f, FACT_JOB_wall_s), v = facts__job(f, mb),
	       n = facts__job(f, calls);
	report_number all, rate, often, each;

	if (!(v > 0) || !(wall > 0))
		return;
	fprintf(out, "  %-10s %s, %s", name, report_text__mb(v, all),
		report_text__rate(v / wall, rate));
	if (n > 0)
		fprintf(out, ", %s, %s each", report_text__often(n, wall, "call", often),
			report_text__mb(v / n, each));
	putc('\n', out);
}

static void print_disk(const struct report *r, FILE *out)
{
	const struct facts *f = r->facts;
	double ops = facts__job(f, FACT_JOB_blk_ops), wall = facts__job(f, FACT_JOB_wall_s);
	double time_s = facts__job(f, FACT_JOB_blk_time_s), p99 = facts__job(f, FACT_JOB_blk_p99_s);
	double busy = facts__max(r->job, Q_DISK_BUSY);
	report_number often, text, share;

	if (!(ops > 0) || !(wall > 0))
		return;
	fprintf(out, "  %-10s %s", "disk", report_text__often(ops, wall, "request", often));
	if (!isnan(p99))
		fprintf(out, ", 99 %% of them below %s", report_text__time(p99, text));
	fprintf(out, "\n%13s%.2f in flight", "", time_s / wall);
	if (!isnan(busy))
		fprintf(out, "; disks of the node busy for %s of the time",
			report_text__share(busy / wall, share));
	putc('\n', out);
}

void report_rates__print(const struct report *r, FILE *out)
{
	const struct facts *f = r->facts;

	if (facts__job(f, FACT_JOB_read_mb) + facts__job(f, FACT_JOB_write_mb) < 1 &&
	    !(facts__job(f, FACT_JOB_blk_ops) > 100))
		return;
	fputs("\nInput and output\n", out);
	print_calls(f, "read", FACT_JOB_read_mb, FACT_JOB_read_calls, out);
	print_calls(f, "written", FACT_JOB_write_mb, FACT_JOB_write_calls, out);
	print_disk(r, out);
}
