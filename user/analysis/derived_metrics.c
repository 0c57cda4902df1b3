/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Metrics of sums of counters. */
#include "analysis/derived_metrics.h"

#include <math.h>

static double ratio(double a, double b)
{
	return b == 0 ? NAN : a / b;
}

void derived_metrics__of(const struct counter_sums *c, struct derived_metrics *out)
{
	double mem_ins = c->loads + c->stores, flop = c->flops_sp + c->flops_dp;
	double mem_bytes = c->llc_miss * c->line, ls_per_l1_miss = ratio(mem_ins, c->l1_miss);

	*out = (struct derived_metrics){
		.ipc = ratio(c->instructions, c->cycles),
		.cpi = ratio(c->cycles, c->instructions),
		.mips = ratio(c->instructions, c->time_s) / 1e6,
		.mcps = ratio(c->cycles, c->time_s) / 1e6,
		.mem_bw = ratio(mem_bytes, c->time_s) / 1e6,
		.llc_mpki = ratio(1000 * c->llc_miss, c->instructions),
		.l1_mpki = ratio(1000 * c->l1_miss, c->instructions),
		.ls_per_l1_miss = ls_per_l1_miss,
		.l1_hit = 1 - ratio(1, ls_per_l1_miss),
		.mem_mix = ratio(mem_ins, c->instructions),
		.load_mix = ratio(c->loads, c->instructions),
		.store_mix = ratio(c->stores, c->instructions),
		.ins_per_ls = ratio(c->instructions, mem_ins),
		.mem_ins = ratio(mem_ins, c->time_s) / 1e6,
		.br_miss_pki = ratio(1000 * c->br_miss, c->instructions),
		.flops_any = c->flops_sp + 2 * c->flops_dp,
		.mflops = ratio(flop, c->time_s) / 1e6,
		.comp_intensity = ratio(flop, c->fp_ls),
		.loads_per_dtlb_miss = ratio(c->loads, c->dtlb_miss),
		.dtlb_miss_per_cycle = ratio(c->dtlb_miss, c->cycles),
		.bytes_per_flop = ratio(mem_bytes, flop),
		.fp_mix = ratio(c->fp, c->instructions),
		.fxu_mix = ratio(c->fxu, c->instructions),
		.preempted_share = ratio(c->preempted_s, c->preempted_s + c->time_s),
	};
}
