/* SPDX-License-Identifier: GPL-2.0-only */
/* How much was used of what the job was given: four bars. */
#include <math.h>

#include "view/report/report_page.h"
#include "view/report/report_text.h"

/* A process's peak has files that it maps, which the job's memory has not. */
#define FAR_ABOVE 1.1
#define MAPPED_MB 32

#define BAR	  28
#define DETAIL_AT (2 + 8 + 1 + 6 + 2 + BAR + 2) /* the column that follows a bar */

static void print_bar(FILE *out, const char *name, double share, const char *detail)
{
	report_number text;

	fprintf(out, "  %-8s %6s  ", name, report_text__share(share, text));
	report_text__bar(out, share, BAR, '#', '-');
	fprintf(out, "  %s\n", detail);
}

/* The largest process of the job where that is known to be more: memory between two rows is in no
 * row. NULL: it is not more. */
static const char *largest_process(const struct report *r, double peak, report_number text)
{
	double most = 0;

	for (unsigned i = 0; i < r->job->ncommands; i++)
		if (r->job->commands[i].peak_mb > most)
			most = r->job->commands[i].peak_mb;
	return most > FAR_ABOVE * peak && most > peak + MAPPED_MB ? report_text__mb(most, text)
								  : NULL;
}

/* Where a run has no limit, this line stands below those of the time. */
static void print_memory(const struct report *r, int width, FILE *out)
{
	const struct facts *f = r->facts;
	bool one = r->job->nnodes == 1;
	double peak = facts__job(f, FACT_JOB_own_peak_mb), limit = facts__job(f, FACT_JOB_limit_mb);
	char detail[160];
	report_number used, of, text;
	const char *largest;

	if (isnan(peak))
		return;
	largest = largest_process(r, peak, text);
	if (isnan(limit)) {
		fprintf(out, "  %-*s %s %s%s; %s%s\n", width, "memory", report_text__mb(peak, used),
			one ? "at the ends of rows" : "on the fullest node",
			r->job->is_slurms ? "" : ", without files",
			largest ? "largest process " : "no limit known", largest ? largest : "");
		return;
	}
	snprintf(detail, sizeof(detail), "%s of %s", report_text__mb(peak, used),
		 report_text__mb(limit, of));
	print_bar(out, "memory", peak / limit, detail);
	if (!one)
		fprintf(out, "%*son the fullest node\n", DETAIL_AT, "");
	if (largest)
		fprintf(out, "%*slargest process %s\n", DETAIL_AT, "", largest);
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
		snprintf(detail, sizeof(detail), "%.*f of %.0f core%s", cpu < 0.05 ? 2 : 1,
			 facts__job(f, FACT_JOB_cpu_s) / facts__job(f, FACT_JOB_wall_s),
			 facts__job(f, FACT_JOB_cores),
			 report_text__s(facts__job(f, FACT_JOB_cores)));
		print_bar(out, "CPU", cpu, detail);
	}
	print_memory(r, r->is_run && !has_limits ? 14 : 8, out);
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
