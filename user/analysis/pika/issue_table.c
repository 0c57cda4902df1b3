/* SPDX-License-Identifier: GPL-2.0-only */
/* Makes a table's row of several jobs: it has their issues, and what they used of the machine. */
#include "analysis/pika/pika.h"

#include <math.h>

#include "base/known.h"

/* Returns the share of idle time in all time, of jobs of which both are known. */
static double idle_share(const struct issue_job *jobs, size_t n, bool gpu)
{
	double idle = 0, total = 0;

	for (size_t i = 0; i < n; i++) {
		double a = gpu ? jobs[i].idle_gpu_s : jobs[i].idle_cpu_s;
		double b = gpu ? jobs[i].gpu_s : jobs[i].cpu_s;

		if (!jobs[i].is_eligible || isnan(a) || isnan(b))
			continue;
		idle += a;
		total += b;
	}
	return total > 0 ? idle / total : NAN;
}

void issue_row__of(const struct issue_job *jobs, size_t n, struct issue_row *out)
{
	double gpu_s = 0;

	*out = (struct issue_row){
		.idle_cpu_s = NAN,
		.idle_gpu_s = NAN,
		.icr = idle_share(jobs, n, false),
		.max_ucr = NAN,
		.max_cli = NAN,
		.max_iob = NAN,
		.max_ioc = NAN,
		.max_ml = NAN,
		.max_ugr = NAN,
		.max_gli = NAN,
		.max_so = NAN,
	};
	for (const struct issue_job *j = jobs; j < jobs + n; j++) {
		if (!j->is_eligible)
			continue;
		out->runs++;
		out->idle_cpu_s = known__sum(out->idle_cpu_s, j->idle_cpu_s);
		out->idle_gpu_s = known__sum(out->idle_gpu_s, j->idle_gpu_s);
		gpu_s = known__sum(gpu_s, j->gpu_s);
		out->max_ucr = fmax(out->max_ucr, j->ucr);
		out->max_cli = fmax(out->max_cli, j->cli);
		out->max_iob = fmax(out->max_iob, j->iob);
		out->max_ioc = fmax(out->max_ioc, j->ioc);
		out->max_ml = fmax(out->max_ml, j->ml);
		out->max_ugr = fmax(out->max_ugr, j->ugr);
		out->max_gli = fmax(out->max_gli, j->gli);
		out->max_so = fmax(out->max_so, j->so);
	}
	if (!out->runs)
		out->idle_cpu_s = out->idle_gpu_s = 0;
	out->igr = gpu_s == 0 ? 0 : idle_share(jobs, n, true);
}

void project_row__of(const struct project_job *jobs, size_t n, struct project_row *out)
{
	*out = (struct project_row){
		.jobs = n,
		.max_nodes = NAN,
		.max_cores = NAN,
		.max_pending_s = NAN,
		.core_s = n ? NAN : 0,
		.runtime_s = n ? NAN : 0,
	};
	for (const struct project_job *j = jobs; j < jobs + n; j++) {
		double duration = j->end_s - j->start_s;

		out->footprints += j->is_tagged;
		out->max_nodes = fmax(out->max_nodes, j->nodes);
		out->max_cores = fmax(out->max_cores, j->cores);
		out->max_pending_s = fmax(out->max_pending_s, j->start_s - j->submit_s);
		out->core_s = known__sum(out->core_s, j->cores * duration);
		out->runtime_s = known__sum(out->runtime_s, duration);
	}
}
