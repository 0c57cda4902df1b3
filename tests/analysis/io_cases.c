/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Cases of the characterisation of I/O, of bins and of derived metrics. */
#include "tests/analysis/case.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/derived_metrics.h"
#include "analysis/grid.h"
#include "analysis/io/io.h"
#include "analysis/resample.h"

/* t and v of the inputs, of one length. */
struct samples {
	double *t, *v;
	size_t n;
};

static bool read_samples(const json_t *inputs, struct samples *s)
{
	size_t n;

	*s = (struct samples){
		.t = case_numbers(json_object_get(inputs, "t"), &s->n),
		.v = case_numbers(json_object_get(inputs, "v"), &n),
	};
	s->n = n;
	return s->t && s->v && json_array_size(json_object_get(inputs, "t")) == n;
}

static json_t *bin_case(const json_t *inputs, bool counter)
{
	double t0 = case_number(inputs, "t0", 0), dt = case_number(inputs, "dt", GRID_DT_S);
	unsigned n = grid__bins(t0, case_number(inputs, "t1", NAN), dt);
	double *bins = case_alloc(n, sizeof(*bins));
	struct samples s;
	int err = 0;

	if (!read_samples(inputs, &s))
		return NULL;
	if (counter)
		err = grid__counter(s.t, s.v, s.n, (unsigned)case_number(inputs, "width", 64), t0,
				    dt, bins, n);
	else
		grid__gauge(s.t, s.v, s.n, t0, dt, bins, n);
	return err ? NULL : json_pack("{s:o}", "bins", case_reals(bins, n));
}

static json_t *gauge_case(const json_t *params, const json_t *inputs)
{
	return bin_case(inputs, false);
}

static json_t *counter_case(const json_t *params, const json_t *inputs)
{
	return bin_case(inputs, true);
}

static json_t *resample_case(const json_t *params, const json_t *inputs)
{
	double t0 = case_number(inputs, "t0", 0), dt = case_number(inputs, "dt", IO_DT_S);
	double points = case_number(inputs, "n", 0), *grid, coverage;
	struct resample r = {0};
	struct samples s;

	if (!(points >= 0 && points < 1e8) || !read_samples(inputs, &s) ||
	    resample__open(&r, s.t, s.v, s.n, (unsigned)case_number(inputs, "width", 64)))
		return NULL;
	grid = case_alloc((size_t)points, sizeof(*grid));
	coverage = resample__coverage(&r, t0, dt, points > 1 ? (size_t)points - 1 : 0);
	resample__grid(&r, t0, dt, grid, (size_t)points);
	return json_pack("{s:o, s:o, s:o, s:b}", "monotone", case_reals(r.total, r.n), "grid",
			 case_reals(grid, (size_t)points), "coverage", case_real(coverage),
			 "degraded", coverage < RESAMPLE_LOW_COVERAGE);
}

static json_t *character_of(const struct matrix *bytes, const struct matrix *ops, double dt,
			    double c)
{
	bool *active = case_alloc(bytes->bins, sizeof(*active));
	json_t *h = json_array();
	struct io_character io;

	io_character__of(bytes, ops, 0, dt, c, active, &io);
	for (unsigned b = 0; b < bytes->bins; b++)
		json_array_append_new(h, json_integer(active[b]));
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:b}",
			 "volume", case_real(io.volume), "bw_max", case_real(io.bw_max), "bw_mean",
			 case_real(io.bw_mean), "bw_max_server", case_real(io.bw_max_server),
			 "iops_max", case_real(io.iops_max), "intensity", case_real(io.intensity),
			 "H", h, "l_io", case_real(io.l_io), "l_noio", case_real(io.l_noio),
			 "burstiness", case_real(io.burstiness), "parallel_intensity",
			 case_real(io.parallel), "parallel_intensity_norm",
			 case_real(io.parallel_norm), "io_active", io.is_active);
}

/* Those of a job are the default. */
static json_t *thresholds_of(const json_t *inputs)
{
	json_t *c = json_object_get(inputs, "c");

	return c ? c : json_pack("[i, i, i]", 0, 128 << 10, 1 << 20);
}

/* One result per threshold, under its text. */
static json_t *characterise_case(const json_t *params, const json_t *inputs)
{
	json_t *thresholds = thresholds_of(inputs), *r = json_object();
	const json_t *rows = json_object_get(inputs, "ops");
	struct matrix bytes = {0}, ops = {0};

	if (!json_is_array(thresholds) || !case_matrix(json_object_get(inputs, "bytes"), &bytes) ||
	    (rows && !json_is_null(rows) && !case_matrix(rows, &ops)))
		return NULL;
	for (size_t i = 0; i < json_array_size(thresholds); i++) {
		const json_t *c = json_array_get(thresholds, i);

		json_object_set_new(r, json_dumps(c, JSON_ENCODE_ANY),
				    character_of(&bytes, &ops, case_number(inputs, "dt", IO_DT_S),
						 json_number_value(c)));
	}
	return r;
}

static json_t *metrics_result(const struct derived_metrics *m)
{
	const struct {
		const char *name;
		double v;
	} fields[] = {
		{"ipc", m->ipc},
		{"cpi", m->cpi},
		{"mips", m->mips},
		{"mcps", m->mcps},
		{"mem_bw_MBps", m->mem_bw},
		{"llc_mpki", m->llc_mpki},
		{"l1_mpki", m->l1_mpki},
		{"ls_per_l1_miss", m->ls_per_l1_miss},
		{"l1_hit", m->l1_hit},
		{"mem_mix", m->mem_mix},
		{"load_mix", m->load_mix},
		{"store_mix", m->store_mix},
		{"ins_per_ls", m->ins_per_ls},
		{"mem_ins_per_s_M", m->mem_ins},
		{"br_miss_pki", m->br_miss_pki},
		{"flops_any", m->flops_any},
		{"mflops", m->mflops},
		{"computation_intensity", m->comp_intensity},
		{"loads_per_dtlb_miss", m->loads_per_dtlb_miss},
		{"dtlb_miss_per_cycle", m->dtlb_miss_per_cycle},
		{"bytes_per_flop", m->bytes_per_flop},
		{"fp_mix", m->fp_mix},
		{"fxu_mix", m->fxu_mix},
		{"preempted_share", m->preempted_share},
	};
	json_t *r = json_object();

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		json_object_set_new(r, fields[i].name, case_real(fields[i].v));
	return r;
}

static json_t *metrics_case(const json_t *params, const json_t *inputs)
{
	struct counter_sums c = {
		.time_s = case_number(inputs, "time_s", NAN),
		.preempted_s = case_number(inputs, "preempted_s", NAN),
		.instructions = case_number(inputs, "ins", NAN),
		.cycles = case_number(inputs, "cyc", NAN),
		.loads = case_number(inputs, "loads", NAN),
		.stores = case_number(inputs, "stores", NAN),
		.l1_miss = case_number(inputs, "l1_miss", NAN),
		.llc_miss = case_number(inputs, "llc_miss", NAN),
		.line = case_number(inputs, "line", NAN),
		.dtlb_miss = case_number(inputs, "dtlb_miss", NAN),
		.br_miss = case_number(inputs, "br_miss", NAN),
		.flops_sp = case_number(inputs, "flops_sp", NAN),
		.flops_dp = case_number(inputs, "flops_dp", NAN),
		.fp_ls = case_number(inputs, "fp_ls", NAN),
		.fp = case_number(inputs, "fp", NAN),
		.fxu = case_number(inputs, "fxu", NAN),
	};
	struct derived_metrics m;

	derived_metrics__of(&c, &m);
	return metrics_result(&m);
}

const struct case_entry io_cases[] = {
	{"bin.gauge", gauge_case},	   {"bin.counter", counter_case},
	{"io.resample", resample_case},	   {"io.characterise", characterise_case},
	{"metrics.derived", metrics_case}, {NULL, NULL},
};
