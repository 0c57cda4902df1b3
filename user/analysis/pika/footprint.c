/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The footprint of a job, one number per quantity over all units and bins; and the rows that tables
 * of several jobs have. */
#include "analysis/pika/pika.h"

#include <math.h>

#include "base/known.h"

/* Sum and number of the known values. */
struct account {
	double sum;
	size_t known;
};

static double sum_of(struct account a)
{
	return a.known ? a.sum : NAN;
}

static double mean_of(struct account a)
{
	return a.known ? a.sum / a.known : NAN;
}

static void count_value(struct account *a, double v)
{
	if (isnan(v))
		return;
	a->sum += v;
	a->known++;
}

static struct account all_values(const struct matrix *m)
{
	struct account a = {0};

	for (size_t i = 0; i < (size_t)m->units * m->bins; i++)
		count_value(&a, m->v[i]);
	return a;
}

static double mean_total(const struct matrix *m)
{
	struct account a = {0};

	for (unsigned b = 0; b < m->bins; b++)
		count_value(&a, matrix__total(m, b));
	return mean_of(a);
}

static double max_value(const struct matrix *m)
{
	double max = NAN;

	for (size_t i = 0; i < (size_t)m->units * m->bins; i++)
		max = fmax(max, m->v[i]);
	return max;
}

static double max_total(const struct matrix *m)
{
	double max = NAN;

	for (unsigned b = 0; b < m->bins; b++)
		max = fmax(max, matrix__total(m, b));
	return max;
}

static double mean_flops(const struct footprint_series *s)
{
	struct account a = {0};

	if (s->flops.units)
		return mean_total(&s->flops);
	for (unsigned b = 0; b < s->flops_sp.bins && b < s->flops_dp.bins; b++)
		count_value(&a,
			    matrix__total(&s->flops_sp, b) + 2 * matrix__total(&s->flops_dp, b));
	return mean_of(a);
}

/* A ratio of sums: bins in which a core idles do not count more than their cycles. */
static double ipc_of(const struct matrix *ins, const struct matrix *cyc)
{
	double instructions = 0, cycles = 0;

	for (unsigned u = 0; u < ins->units && u < cyc->units; u++)
		for (unsigned b = 0; b < ins->bins && b < cyc->bins; b++) {
			double i = matrix__at(ins, u, b), c = matrix__at(cyc, u, b);

			if (isnan(i) || isnan(c))
				continue;
			instructions += i;
			cycles += c;
		}
	return cycles > 0 ? instructions / cycles : NAN;
}

static struct analysis_verdict verdict_of(const struct footprint_series *s)
{
	const struct matrix *const all[] = {
		&s->cpu_usage, &s->gpu_usage, &s->instructions, &s->cycles,	 &s->flops,
		&s->flops_sp,  &s->flops_dp,  &s->mem_bw,	&s->net_bw,	 &s->cpu_power,
		&s->gpu_power, &s->mem_used,  &s->read_bytes,	&s->write_bytes, &s->gpu_mem_used,
	};
	unsigned bins = 0;

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		if (all_values(all[i]).known)
			return (struct analysis_verdict){ANALYSIS_OK, ""};
		bins = all[i]->bins > bins ? all[i]->bins : bins;
	}
	if (bins)
		return (struct analysis_verdict){ANALYSIS_UNAVAILABLE, "no_values"};
	return (struct analysis_verdict){ANALYSIS_INSUFFICIENT, "no_bins"};
}

void footprint__of(const struct footprint_series *s, struct footprint *out)
{
	*out = (struct footprint){
		.verdict = verdict_of(s),
		.cpu_usage = mean_of(all_values(&s->cpu_usage)),
		.gpu_usage = mean_of(all_values(&s->gpu_usage)),
		.ipc = ipc_of(&s->instructions, &s->cycles),
		.flops = mean_flops(s),
		.mem_bw = mean_total(&s->mem_bw),
		.net_bw = mean_total(&s->net_bw),
		.cpu_power = mean_total(&s->cpu_power),
		.gpu_power = mean_total(&s->gpu_power),
		.read_bytes = sum_of(all_values(&s->read_bytes)),
		.write_bytes = sum_of(all_values(&s->write_bytes)),
		.mem_used_max_unit = max_value(&s->mem_used),
		.mem_used_max_total = max_total(&s->mem_used),
		.gpu_mem_used_max_unit = max_value(&s->gpu_mem_used),
		.gpu_mem_used_max_total = max_total(&s->gpu_mem_used),
	};
}

/* ---- makes a table's row of several jobs: it has their issues, and what they used of the machine
 */

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
