/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Cases of the analyses of PIKA. */
#include "tests/analysis/case.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/pika/pika.h"

static json_t *footprint_result(const struct footprint *f)
{
	const struct {
		const char *name;
		double v;
	} fields[] = {
		{"cpu_usage", f->cpu_usage},
		{"gpu_usage", f->gpu_usage},
		{"ipc", f->ipc},
		{"flops", f->flops},
		{"mem_bw", f->mem_bw},
		{"net_bw", f->net_bw},
		{"cpu_power", f->cpu_power},
		{"gpu_power", f->gpu_power},
		{"read_bytes", f->read_bytes},
		{"write_bytes", f->write_bytes},
		{"mem_used_max_unit", f->mem_used_max_unit},
		{"mem_used_max_total", f->mem_used_max_total},
		{"gpu_mem_used_max_unit", f->gpu_mem_used_max_unit},
		{"gpu_mem_used_max_total", f->gpu_mem_used_max_total},
	};
	json_t *r = json_object();

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		json_object_set_new(r, fields[i].name, case_real(fields[i].v));
	return r;
}

static json_t *footprint_case(const json_t *params, const json_t *inputs)
{
	struct footprint_series s = {0};
	const struct {
		const char *name;
		struct matrix *to;
	} fields[] = {
		{"cpu_usage", &s.cpu_usage},
		{"gpu_usage", &s.gpu_usage},
		{"instructions", &s.instructions},
		{"cycles", &s.cycles},
		{"flops", &s.flops},
		{"flops_sp", &s.flops_sp},
		{"flops_dp", &s.flops_dp},
		{"mem_bw", &s.mem_bw},
		{"net_bw", &s.net_bw},
		{"cpu_power", &s.cpu_power},
		{"gpu_power", &s.gpu_power},
		{"read_bytes", &s.read_bytes},
		{"write_bytes", &s.write_bytes},
		{"mem_used", &s.mem_used},
		{"gpu_mem_used", &s.gpu_mem_used},
	};
	const size_t n = sizeof(fields) / sizeof(fields[0]);
	const json_t *series = json_object_get(inputs, "series");
	struct footprint f;
	bool bad = !json_is_object(series);

	for (size_t i = 0; i < n; i++) {
		const json_t *rows = json_object_get(series, fields[i].name);

		if (rows && !json_is_null(rows) && !case_matrix(rows, fields[i].to))
			bad = true;
	}
	footprint__of(&s, &f);
	for (size_t i = 0; i < n; i++)
		free((double *)fields[i].to->v);
	return bad ? NULL : footprint_result(&f);
}

static json_t *tags_case(const json_t *params, const json_t *inputs)
{
	const json_t *f = json_object_get(inputs, "footprint"),
		     *p = json_object_get(inputs, "peak");
	struct tag_metrics m = {
		.mem_bw = {case_number(f, "mem_bw", NAN), case_number(p, "mem_bw", NAN)},
		.flops = {case_number(f, "flops", NAN), case_number(p, "flops", NAN)},
		.ipc = {case_number(f, "ipc", NAN), case_number(p, "ipc", NAN)},
		.io_bw = {case_number(f, "io_bw", NAN), case_number(p, "io_bw", NAN)},
		.net_bw = {case_number(f, "net_bw", NAN), case_number(p, "net_bw", NAN)},
		.cpu_usage = case_number(f, "cpu_usage", NAN),
		.gpu_usage = case_number(f, "gpu_usage", NAN),
	};
	unsigned tags = job_tags__of(&m);
	json_t *names = json_array();

	for (enum job_tag t = 0; t < JOB_TAGS; t++)
		if (tags & 1U << t)
			json_array_append_new(names, json_string(job_tag__name(t)));
	return json_pack("{s:o}", "tags", names);
}

static json_t *eligibility_case(const json_t *params, const json_t *inputs)
{
	unsigned failed = eligibility__of(case_number(inputs, "duration_s", NAN),
					  case_number(inputs, "phys_cores", NAN),
					  json_string_value(json_object_get(inputs, "state")));
	json_t *reasons = json_array();

	for (enum ineligible i = 0; i < INELIGIBLE_REASONS; i++)
		if (failed & 1U << i)
			json_array_append_new(reasons, json_string(ineligible__name(i)));
	return json_pack("{s:b, s:o}", "eligible", !failed, "reasons", reasons);
}

static json_t *idle_case(const json_t *params, const json_t *inputs)
{
	double threshold = case_number(params, "thr", IDLE_CPU_LOAD);
	json_t *counts = json_array();
	struct matrix load;
	unsigned *bins;
	struct idle i;

	if (!case_matrix(json_object_get(inputs, "load"), &load)) {
		json_decref(counts);
		return NULL;
	}
	bins = calloc(load.units + 1, sizeof(*bins));
	idle__of(&load, json_is_true(json_object_get(inputs, "gpu")) ? 0 : threshold,
		 case_number(params, "dt", 30), bins, &i);
	for (unsigned u = 0; bins && u < load.units; u++)
		json_array_append_new(counts, json_integer(bins[u]));
	free(bins);
	free((double *)load.v);
	return json_pack("{s:o, s:o, s:o, s:o, s:i, s:o, s:o}", "idle_counts", counts,
			 "idle_time_s", case_real(i.idle_s), "total_time_s", case_real(i.total_s),
			 "idle_ratio", case_real(i.idle_ratio), "unused_units", i.unused_units,
			 "unused_ratio", case_real(i.unused_ratio), "unused_to_used",
			 case_real(i.unused_to_used));
}

static json_t *imbalance_case(const json_t *params, const json_t *inputs)
{
	struct imbalance i;
	struct matrix load;

	if (!case_matrix(json_object_get(inputs, "load"), &load))
		return NULL;
	imbalance__of(&load, &i);
	free((double *)load.v);
	return json_pack("{s:o, s:b, s:o}", "avg_std", case_real(i.mean_sd), "attributed",
			 i.is_attributed, "avg_std_population", case_real(i.mean_sd_population));
}

static bool kind_of(const json_t *name, enum periodic_kind *kind)
{
	static const struct {
		const char *name;
		enum periodic_kind kind;
	} kinds[] = {
		{"bw", PERIODIC_BANDWIDTH}, {"meta", PERIODIC_METADATA},
		{"ops", PERIODIC_METADATA}, {"metadata", PERIODIC_METADATA},
		{"gpu", PERIODIC_GPU},
	};

	for (size_t i = 0; json_is_string(name) && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		*kind = kinds[i].kind;
		if (!strcmp(json_string_value(name), kinds[i].name))
			return true;
	}
	return false;
}

static json_t *periodic_result(const struct periodic *p, size_t bins)
{
	bool suitable = p->verdict.status == ANALYSIS_OK;

	return json_pack("{s:b, s:b, s:b, s:s, s:i, s:o, s:o, s:o, s:o, s:o, s:o}", "suitable",
			 suitable, "dominant", p->is_dominant, "detected", p->is_detected, "reason",
			 suitable ? p->undetected : p->verdict.reason, "n", (int)bins, "k_dom",
			 suitable ? json_integer(p->k) : json_null(), "freq_hz",
			 case_real(p->freq_hz), "sum_max", case_real(p->sum_max), "sum_median",
			 case_real(p->sum_median), "corr", case_real(p->corr), "period_num",
			 case_real(p->period_num));
}

static json_t *periodic_case(const json_t *params, const json_t *inputs)
{
	double dt = case_number(inputs, "dt", 30);
	struct periodic_vector other = {0};
	size_t n, m;
	double *cpu = case_numbers(json_object_get(inputs, "cpu"), &n);
	double *v = case_numbers(json_object_get(inputs, "other"), &m);
	struct periodic p;
	json_t *r = NULL;

	other.v = v;
	if (cpu && v && n == m && dt > 0 && kind_of(json_object_get(inputs, "kind"), &other.kind) &&
	    !periodic__of(cpu, &other, n, dt, case_number(inputs, "duration_s", n * dt), &p))
		r = periodic_result(&p, n);
	free(cpu);
	free(v);
	return r;
}

static json_t *io_congestion_case(const json_t *params, const json_t *inputs)
{
	struct io_congestion c;
	struct matrix rates;

	if (!case_matrix(json_object_get(inputs, "rates"), &rates))
		return NULL;
	io_congestion__of(&rates, &c);
	free((double *)rates.v);
	return json_pack("{s:o, s:o, s:b, s:o}", "max_rate", case_real(c.max_rate), "index",
			 c.verdict.status == ANALYSIS_OK ? json_integer(c.bin) : json_null(),
			 "attributed", c.is_attributed, "ioc", case_real(c.ioc));
}

static json_t *memleak_case(const json_t *params, const json_t *inputs)
{
	size_t n, n_bytes;
	double *t = case_numbers(json_object_get(inputs, "t_s"), &n);
	double *bytes = case_numbers(json_object_get(inputs, "mem_bytes"), &n_bytes);
	struct memleak l;
	bool bad = !t || !bytes || n != n_bytes;

	if (!bad)
		memleak__of(t, bytes, n, &l);
	free(t);
	free(bytes);
	if (bad)
		return NULL;
	return json_pack("{s:b, s:o, s:o, s:b, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "valid",
			 l.verdict.status == ANALYSIS_OK, "m", case_real(l.m), "n", case_real(l.n),
			 "suspected", l.is_suspected, "ml", case_real(l.ml), "max_dis",
			 case_real(l.max_dis), "p1", case_reals(l.p1, 2), "p2", case_reals(l.p2, 2),
			 "P", case_reals(l.p, 2), "max_distance", case_real(l.max_distance),
			 "leak_rate_per_s", case_real(l.rate));
}

static json_t *aggregate_case(const json_t *params, const json_t *inputs)
{
	const json_t *array = json_object_get(inputs, "jobs");
	size_t n = json_array_size(array);
	struct issue_job *jobs = calloc(n + 1, sizeof(*jobs));
	struct issue_row row;

	for (size_t i = 0; jobs && i < n; i++) {
		const json_t *j = json_array_get(array, i);

		jobs[i] = (struct issue_job){
			.is_eligible = !json_is_false(json_object_get(j, "eligible")),
			.idle_cpu_s = case_number(j, "ict_s", NAN),
			.cpu_s = case_number(j, "cpu_time_s", NAN),
			.idle_gpu_s = case_number(j, "igt_s", NAN),
			.gpu_s = case_number(j, "gpu_time_s", NAN),
			.ucr = case_number(j, "ucr", NAN),
			.cli = case_number(j, "cli", NAN),
			.iob = case_number(j, "iob", NAN),
			.ioc = case_number(j, "ioc", NAN),
			.ml = case_number(j, "ml", NAN),
			.ugr = case_number(j, "ugr", NAN),
			.gli = case_number(j, "gli", NAN),
			.so = case_number(j, "so", NAN),
		};
	}
	if (!jobs || !json_is_array(array)) {
		free(jobs);
		return NULL;
	}
	issue_row__of(jobs, n, &row);
	free(jobs);
	return json_pack("{s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}",
			 "runs", (int)row.runs, "ict_s", case_real(row.idle_cpu_s), "igt_s",
			 case_real(row.idle_gpu_s), "icr", case_real(row.icr), "igr",
			 case_real(row.igr), "max_ucr", case_real(row.max_ucr), "max_cli",
			 case_real(row.max_cli), "max_ugr", case_real(row.max_ugr), "max_gli",
			 case_real(row.max_gli), "max_ioc", case_real(row.max_ioc), "max_iob",
			 case_real(row.max_iob), "max_so", case_real(row.max_so), "max_ml",
			 case_real(row.max_ml));
}

static json_t *project_table_case(const json_t *params, const json_t *inputs)
{
	const json_t *array = json_object_get(inputs, "jobs");
	size_t n = json_array_size(array);
	struct project_job *jobs = calloc(n + 1, sizeof(*jobs));
	struct project_row row;

	for (size_t i = 0; jobs && i < n; i++) {
		const json_t *j = json_array_get(array, i);

		jobs[i] = (struct project_job){
			.nodes = case_number(j, "nodes", NAN),
			.cores = case_number(j, "cores", NAN),
			.submit_s = case_number(j, "submit", NAN),
			.start_s = case_number(j, "start", NAN),
			.end_s = case_number(j, "end", NAN),
			.is_tagged = json_is_true(json_object_get(j, "tagged")),
		};
	}
	if (!jobs || !json_is_array(array)) {
		free(jobs);
		return NULL;
	}
	project_row__of(jobs, n, &row);
	free(jobs);
	return json_pack("{s:i, s:o, s:o, s:o, s:o, s:o, s:i}", "jobs", (int)row.jobs, "max_nodes",
			 case_real(row.max_nodes), "max_cores", case_real(row.max_cores),
			 "core_time_s", case_real(row.core_s), "max_pending_s",
			 case_real(row.max_pending_s), "runtime_s", case_real(row.runtime_s),
			 "footprints", (int)row.footprints);
}

const struct case_entry pika_cases[] = {
	{"pika.footprint", footprint_case},
	{"pika.tags", tags_case},
	{"pika.eligibility", eligibility_case},
	{"pika.idle", idle_case},
	{"pika.imbalance", imbalance_case},
	{"pika.periodic", periodic_case},
	{"pika.io_congestion", io_congestion_case},
	{"pika.memleak", memleak_case},
	{"pika.aggregate", aggregate_case},
	{"pika.project_table", project_table_case},
	{NULL, NULL},
};
