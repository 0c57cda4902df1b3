/* SPDX-License-Identifier: GPL-2.0-only */
/* How much was used of what the job was given: four bars. */
#include <math.h>

#include "view/report/report_page.h"
#include "view/report/report_text.h"

#define BAR 28

static void print_bar(FILE *out, const char *name, double share, const char *detail)
{
	report_number text;

	fprintf(out, "  %-8s %6s  ", name, report_text__share(share, text));
	report_text__bar(out, share, BAR, '#', '-');
	fprintf(out, "  %s\n", detail);
}

/* Without a limit the head of the page says it all. */
static void print_memory(const struct facts *f, FILE *out)
{
	double peak = facts__job(f, FACT_JOB_peak_mb), limit = facts__job(f, FACT_JOB_limit_mb);
	char detail[160];
	report_number used, of;

	if (isnan(peak) || isnan(limit))
		return;
	snprintf(detail, sizeof(detail), "%s of %s", report_text__mb(peak, used),
		 report_text__mb(limit, of));
	print_bar(out, "memory", peak / limit, detail);
}

double report_given__gpu_use(const struct facts *f)
{
	double sum = 0, n = 0;

	for (size_t i = 0; i < f->count[SCOPE_GPU]; i++)
		if (!isnan(f->values[FACT_GPU_util][i])) {
			sum += f->values[FACT_GPU_util][i];
			n++;
		}
	return n ? sum / n : NAN;
}

void report_given__print(const struct report *r, FILE *out)
{
	const struct facts *f = r->facts;
	double cpu = facts__job(f, FACT_JOB_cpu_share), limit = facts__job(f, FACT_JOB_limit_s);
	double elapsed = facts__job(f, FACT_JOB_job_elapsed_s), gpus = facts__job(f, FACT_JOB_gpus);
	bool has_limits = !isnan(limit) || !isnan(facts__job(f, FACT_JOB_limit_mb)) || gpus > 0;
	char detail[160];
	report_number used, of;

	if (!r->is_run || has_limits)
		fputs("\nUsed of what was given\n", out);
	if (isfinite(cpu) && !r->is_run) { /* of a run the lines above say it */
		snprintf(detail, sizeof(detail), "%.*f of %.0f %s%s", cpu < 0.05 ? 2 : 1,
			 facts__job(f, FACT_JOB_cpu_s) / facts__job(f, FACT_JOB_wall_s),
			 facts__job(f, FACT_JOB_cores), report_head__core(r),
			 report_text__s(facts__job(f, FACT_JOB_cores)));
		print_bar(out, "CPU", cpu, detail);
	}
	print_memory(f, out);
	if (!isnan(limit)) {
		snprintf(detail, sizeof(detail), "%s of %s", report_text__time(elapsed, used),
			 report_text__time(limit, of));
		print_bar(out, "time", elapsed / limit, detail);
	}
	if (gpus > 0) {
		snprintf(detail, sizeof(detail), "mean of %.0f GPU%s", gpus, report_text__s(gpus));
		print_bar(out, "GPU", report_given__gpu_use(f), detail);
	}
}
