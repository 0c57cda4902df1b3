// SPDX-License-Identifier: GPL-2.0-or-later
/* The cycles per instruction as a stack of what the pipeline's slots were used for. */
#include "analysis/counters/counters.h"

#include <math.h>

static void intel_pre_icl(const double *c, double *f)
{
	double slots = 4 * c[CPI_CYCLES];

	f[CPI_PART_FRONTEND] = c[CPI_FRONTEND] / slots;
	f[CPI_PART_BAD_SPEC] = (c[CPI_ISSUED] - c[CPI_RETIRED] + 4 * c[CPI_RECOVERY]) / slots;
	f[CPI_PART_RETIRING] = c[CPI_RETIRED] / slots;
	f[CPI_PART_BACKEND] =
		1 - (f[CPI_PART_FRONTEND] + f[CPI_PART_BAD_SPEC] + f[CPI_PART_RETIRING]);
}

static void intel_icl(const double *c, double *f)
{
	double slots = c[CPI_RETIRED] + c[CPI_BAD_SPEC] + c[CPI_FRONTEND] + c[CPI_BACKEND];

	f[CPI_PART_FRONTEND] = c[CPI_FRONTEND] / slots;
	f[CPI_PART_BAD_SPEC] = c[CPI_BAD_SPEC] / slots;
	f[CPI_PART_RETIRING] = c[CPI_RETIRED] / slots;
	f[CPI_PART_BACKEND] = c[CPI_BACKEND] / slots;
}

static void amd_zen(const double *c, double *f, double width)
{
	double slots = width * c[CPI_CYCLES];

	f[CPI_PART_FRONTEND] = c[CPI_FRONTEND] / slots;
	f[CPI_PART_BAD_SPEC] = (c[CPI_ISSUED] - c[CPI_RETIRED]) / slots;
	f[CPI_PART_RETIRING] = c[CPI_RETIRED] / slots;
	f[CPI_PART_BACKEND] = c[CPI_BACKEND] / slots;
	f[CPI_PART_SMT] = c[CPI_SMT] / slots;
}

static void amd_zen4(const double *c, double *f)
{
	amd_zen(c, f, 6);
}

static void amd_zen5(const double *c, double *f)
{
	amd_zen(c, f, 8);
}

static void arm_sbsa(const double *c, double *f)
{
	double slots = c[CPI_WIDTH] * c[CPI_CYCLES], used = 1 - c[CPI_STALLED] / slots;
	double retired = c[CPI_RETIRED] / c[CPI_ISSUED];

	f[CPI_PART_FRONTEND] = c[CPI_FRONTEND] / slots;
	f[CPI_PART_BACKEND] = c[CPI_BACKEND] / slots;
	f[CPI_PART_RETIRING] = retired * used;
	f[CPI_PART_BAD_SPEC] = (1 - retired) * used;
}

static void stalled_cycles(const double *c, double *f)
{
	f[CPI_PART_FRONTEND] = c[CPI_FRONTEND] / c[CPI_CYCLES];
	f[CPI_PART_BACKEND] = c[CPI_BACKEND] / c[CPI_CYCLES];
}

#define TOP_DOWN                                                                    \
	(1 << CPI_PART_FRONTEND | 1 << CPI_PART_BAD_SPEC | 1 << CPI_PART_RETIRING | \
	 1 << CPI_PART_BACKEND | 1 << CPI_PART_OTHER)
#define STALLS (1 << CPI_PART_FRONTEND | 1 << CPI_PART_BACKEND | 1 << CPI_PART_OTHER)

static const struct {
	void (*fractions)(const double *counts, double *fractions);
	unsigned parts;
} kinds[N_CPI_KINDS] = {
	[CPI_INTEL_PRE_ICL] = {intel_pre_icl, TOP_DOWN},
	[CPI_INTEL_ICL] = {intel_icl, TOP_DOWN},
	[CPI_AMD_ZEN4] = {amd_zen4, TOP_DOWN | 1 << CPI_PART_SMT},
	[CPI_AMD_ZEN5] = {amd_zen5, TOP_DOWN | 1 << CPI_PART_SMT},
	[CPI_AMD_STALLS] = {stalled_cycles, STALLS},
	[CPI_ARM_SBSA] = {arm_sbsa, TOP_DOWN},
	[CPI_ARM_STALLS] = {stalled_cycles, STALLS},
};

bool cpi_kind__has(enum cpi_kind kind, enum cpi_part part)
{
	return kinds[kind].parts >> part & 1;
}

/* A denominator of 0 leaves no infinite part. */
static void drop_infinite(double *f)
{
	for (int i = 0; i < N_CPI_PARTS; i++) {
		if (!isfinite(f[i]))
			f[i] = NAN;
	}
}

enum analysis_status cpi__stack(enum cpi_kind kind, const double counts[N_CPI_COUNTS],
				struct cpi_stack *s)
{
	double ins = counts[CPI_INSTRUCTIONS], known = 0;
	bool any = false;

	for (int i = 0; i < N_CPI_PARTS; i++)
		s->fraction[i] = NAN;
	kinds[kind].fractions(counts, s->fraction);
	drop_infinite(s->fraction);
	for (int i = 0; i < CPI_PART_OTHER; i++) {
		if (isnan(s->fraction[i]))
			continue;
		known += s->fraction[i];
		any = true;
	}
	if (any)
		s->fraction[CPI_PART_OTHER] = 1 - known;
	s->cpi = ins > 0 ? counts[CPI_CYCLES] / ins : NAN;
	for (int i = 0; i < N_CPI_PARTS; i++)
		s->stack[i] = s->fraction[i] * s->cpi;
	return any ? ANALYSIS_OK : ANALYSIS_UNAVAILABLE;
}

static double clip(double v, bool *is_clipped)
{
	*is_clipped = *is_clipped || v < 0;
	return v < 0 ? 0 : v;
}

enum analysis_status cpi__memory(double mem_any, double l1d_miss, double l2_miss, double l3_miss,
				 double instructions, struct cpi_memory *m)
{
	double ins = instructions > 0 ? instructions : NAN;
	bool clipped = false;

	m->l1 = clip((mem_any - l1d_miss) / ins, &clipped);
	m->l2 = clip((l1d_miss - l2_miss) / ins, &clipped);
	m->l3 = clip((l2_miss - l3_miss) / ins, &clipped);
	m->dram = clip(l3_miss / ins, &clipped);
	m->is_clipped = clipped;
	return isnan(m->l1 + m->l2 + m->l3 + m->dram) ? ANALYSIS_UNAVAILABLE : ANALYSIS_OK;
}
