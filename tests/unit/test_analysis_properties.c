/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What holds of the analyses for any data: what is conserved, bounds, and what is not known. The
 * numbers themselves are in tests/e2e/cli/analysis_cases.py. */

#include "tests/unit/unit.h"
#include "analysis/grid.h"
#include "analysis/io/io.h"
#include "analysis/resample.h"
#include "analysis/pika/pika.h"

#define ROUNDS 200

/* 0..1, the same ones in every run. */
static double chance(void)
{
	static uint64_t state = 1;

	state = state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (double)(state >> 33) / (1ULL << 31);
}

static unsigned below(unsigned n)
{
	return (unsigned)(chance() * n);
}

/* Values 0..max, or nothing known with the chance p. */
static void fill(double *v, size_t n, double max, double p)
{
	for (size_t i = 0; i < n; i++)
		v[i] = chance() < p ? NAN : chance() * max;
}

TEST(resampling_conserves_the_volume)
{
	double t[50], v[50], grid[200];

	for (unsigned round = 0; round < ROUNDS; round++) {
		double at = 0, value = 0, moved = 0;
		struct resample r;

		for (unsigned i = 0; i < 50; i++) {
			double more = below(1000000);
			bool again = below(10) == 0;

			at += 0.1 + chance() * 9;
			value = again ? more : value + more;
			moved += i ? more : 0;
			t[i] = at;
			v[i] = value;
			/* A counter that has passed its last value is no longer seen to have
			 * begun again. */
			if (again && i && value >= v[i - 1])
				moved -= v[i - 1];
		}
		assert_int_equal(resample__open(&r, t, v, 50, 64), 0);
		resample__grid(&r, t[0], 2.5, grid, 200);
		near(grid[0], 0);
		near(grid[199], moved);
		for (unsigned k = 1; k < 200; k++)
			assert_true(grid[k] >= grid[k - 1]);
		near(resample__coverage(&r, t[0], 9, (size_t)((at - t[0]) / 9)), 1);
		resample__close(&r);
	}
}

TEST(intervals_inside_a_long_gap_are_not_covered)
{
	double t[] = {0, 10, 50, 60}, v[] = {0, 1, 2, 3};
	struct resample r;

	assert_int_equal(resample__open(&r, t, v, 4, 64), 0);
	/* No interval of 10 is farther than 10 from a sample; four of 5 are farther than 5. */
	near(resample__coverage(&r, 0, 10, 6), 1);
	near(resample__coverage(&r, 0, 5, 12), 8.0 / 12);
	resample__close(&r);
}

TEST(a_counter_in_bins_sums_up_to_the_counter)
{
	double t[] = {0, 45, 90, 120}, v[] = {5, 50, 10, 40}, bins[4];

	assert_int_equal(grid__bins(0, 120, 30), 4);
	assert_int_equal(grid__counter(t, v, 4, 64, 0, 30, bins, 4), 0);
	near(30 * (bins[0] + bins[1] + bins[2] + bins[3]), 45 + 10 + 30);
	assert_int_equal(grid__counter(t, v, 0, 64, 0, 30, bins, 4), 0);
	assert_true(isnan(bins[0]));
}

TEST(shares_of_io_are_between_0_and_1)
{
	double bytes[6 * 20];

	for (unsigned round = 0; round < ROUNDS; round++) {
		struct matrix m = {.units = 1 + below(6), .bins = 1 + below(20), .v = bytes};
		struct matrix none = {0};
		struct io_character c;

		fill(bytes, (size_t)m.units * m.bins, 2e6, 0.1);
		for (unsigned i = 0; i < m.units * m.bins; i++)
			bytes[i] = chance() < 0.5 ? 0 : bytes[i];
		io_character__of(&m, &none, 0, 120, round % 2 ? 0 : 131072, NULL, &c);
		if (c.verdict.status != ANALYSIS_OK)
			continue;
		assert_true(c.intensity >= 0 && c.intensity <= 1);
		assert_true(c.burstiness >= 0 && c.burstiness <= 1);
		assert_true(isnan(c.iops_max));
		assert_int_equal(isnan(c.parallel), !c.is_active);
		assert_int_equal(isnan(c.parallel_norm), !c.is_active || m.units == 1);
		assert_false(c.parallel < 0 || c.parallel > 1);
		assert_false(c.parallel_norm < -1e-12 || c.parallel_norm > 1 + 1e-12);
	}
}

TEST(a_leak_does_not_depend_on_units_of_memory_and_time)
{
	double t[40], bytes[40], t2[40], bytes2[40];

	for (unsigned round = 0; round < ROUNDS; round++) {
		double slope = chance() * 1e8, noise = chance() * 1e9;
		struct memleak a, b;

		for (unsigned i = 0; i < 40; i++) {
			t[i] = 30 * i;
			t2[i] = 1.7e9 + t[i] * 1024;
			bytes[i] = 3e9 + slope * i + noise * chance();
			bytes2[i] = bytes[i] / 4096;
		}
		memleak__of(t, bytes, 40, &a);
		memleak__of(t2, bytes2, 40, &b);
		near(b.m, a.m);
		near(b.n, a.n);
		near(b.max_dis, a.max_dis);
		assert_int_equal(b.is_suspected, a.is_suspected);
		near(b.rate * 4096 * 1024, a.rate);
	}
}

TEST(a_leak_is_suspected_when_all_points_are_within_a_tenth_of_the_line)
{
	double t[10], bytes[10];
	struct memleak l;

	for (unsigned bump = 0; bump < 30; bump++) {
		double vertical = 0;

		for (unsigned i = 0; i < 10; i++) {
			t[i] = i;
			bytes[i] = 50 + 5 * i + (i == 4 ? bump : 0);
		}
		memleak__of(t, bytes, 10, &l);
		for (unsigned i = 0; i < 10; i++)
			vertical = fmax(vertical,
					fabs(bytes[i] / fmax(95, 70 + bump) - l.m * i / 9 - l.n));
		assert_int_equal(l.is_suspected, vertical < 0.1);
		/* What the header says of P. */
		near(l.max_distance, fabs(l.m * l.p[0] - l.p[1] + l.n) / sqrt(l.m * l.m + 1));
	}
}

/* CPUs that wait in one of three bins, in which I/O happens. */
static void blocking(double *cpu, double *io, unsigned n, unsigned period)
{
	for (unsigned i = 0; i < n; i++) {
		bool waits = i % period < period / 3;

		cpu[i] = waits ? 0.1 : 0.96;
		io[i] = waits ? 3e8 : 0;
	}
}

TEST(the_vector_with_the_most_periods_is_the_one_reported)
{
	double cpu[120], io[120], none[120] = {0}, once;
	struct periodic_vector v[] = {
		{PERIODIC_BANDWIDTH, none}, {PERIODIC_BANDWIDTH, io}, {PERIODIC_METADATA, none}};
	struct periodic p;
	unsigned which;

	blocking(cpu, io, 120, 6);
	once = io[1];
	assert_int_equal(periodic__strongest(cpu, v, 3, 120, 30, 3600, &p, &which), 0);
	assert_int_equal(which, 1);
	assert_true(p.is_detected);
	near(p.period_num, 20);
	near(io[1], once); /* its input is left as it was */
	assert_int_equal(periodic__strongest(cpu, v, 1, 120, 30, 3600, &p, &which), 0);
	assert_int_equal(which, 1);
	assert_false(p.is_detected);
	assert_string_equal(p.verdict.reason, "bw_mean");
	assert_int_equal(periodic__strongest(cpu, v, 0, 120, 30, 3600, &p, &which), 0);
	assert_int_equal(p.verdict.status, ANALYSIS_UNAVAILABLE);
}

TEST(of_equally_strong_harmonics_the_first_is_the_frequency)
{
	double cpu[370], io[370];
	struct periodic_vector v = {PERIODIC_BANDWIDTH, io};
	struct periodic p;

	/* One bin of ten: all multiples of the frequency have its amplitude. */
	for (unsigned i = 0; i < 370; i++) {
		cpu[i] = i % 10 == 9 ? 0.1 : 0.96;
		io[i] = i % 10 == 9 ? 3e8 : 0;
	}
	assert_int_equal(periodic__of(cpu, &v, 370, 30, 11100, &p), 0);
	assert_int_equal(p.k, 37);
}

TEST(gaps_are_filled_up_to_one_bin_in_twenty)
{
	double cpu[120], io[120];
	struct periodic_vector v = {PERIODIC_BANDWIDTH, io};
	struct periodic p;

	blocking(cpu, io, 120, 6);
	for (unsigned i = 0; i < 6; i++)
		cpu[20 * i + 3] = NAN;
	cpu[3] = 0.96;
	cpu[0] = NAN;
	assert_int_equal(periodic__of(cpu, &v, 120, 30, 3600, &p), 0);
	assert_int_equal(p.verdict.status, ANALYSIS_OK);
	assert_int_equal(p.k, 20);
	cpu[3] = NAN;
	assert_int_equal(periodic__of(cpu, &v, 120, 30, 3600, &p), 0);
	assert_int_equal(p.verdict.status, ANALYSIS_INSUFFICIENT);
	assert_true(isnan(p.corr) && isnan(p.period_num) && isnan(p.freq_hz));
}

TEST(what_is_not_known_is_never_zero)
{
	double v[] = {NAN, NAN, NAN, NAN, NAN, NAN};
	struct matrix m = {.units = 2, .bins = 3, .v = v};
	struct footprint_series series = {.read_bytes = m, .mem_bw = m, .mem_used = m};
	struct footprint f;
	struct imbalance im;
	struct io_congestion ioc;
	struct io_character c;
	struct memleak l;
	struct idle i;

	footprint__of(&series, &f);
	assert_int_equal(f.verdict.status, ANALYSIS_UNAVAILABLE);
	assert_true(isnan(f.read_bytes) && isnan(f.mem_bw) && isnan(f.mem_used_max_total) &&
		    isnan(f.cpu_usage) && isnan(f.ipc) && isnan(f.flops));
	idle__of(&m, IDLE_CPU_LOAD, 30, NULL, &i);
	assert_true(isnan(i.idle_ratio) && isnan(i.unused_ratio) && isnan(i.unused_to_used));
	imbalance__of(&m, &im);
	assert_true(isnan(im.mean_sd) && isnan(im.mean_sd_population) && !im.is_attributed);
	io_congestion__of(&m, &ioc);
	assert_true(isnan(ioc.max_rate) && isnan(ioc.ioc) && isnan(ioc.max_rate_unit));
	io_character__of(&m, &m, 0, 120, 0, NULL, &c);
	assert_true(isnan(c.volume) && isnan(c.bw_max) && isnan(c.iops_max) && isnan(c.intensity));
	memleak__of(v, v, 6, &l);
	assert_true(isnan(l.m) && isnan(l.ml) && isnan(l.rate) && !l.is_suspected);
	assert_true(isnan(matrix__total(&m, 0)) && isnan(matrix__mean_known(&m, 0)));
}

TEST(totals_need_all_units_and_means_one)
{
	double v[] = {1, NAN, 3, NAN};
	struct matrix m = {.units = 2, .bins = 2, .v = v};

	near(matrix__total(&m, 0), 4);
	near(matrix__mean_known(&m, 0), 2);
	v[0] = NAN;
	assert_true(isnan(matrix__total(&m, 0)));
	near(matrix__mean_known(&m, 0), 3);
	near(matrix__sum_known(&m, 0), 3);
}

TEST(jobs_that_are_not_eligible_do_not_enter_the_table)
{
	struct issue_job jobs[] = {
		{.is_eligible = true, .idle_cpu_s = 10, .cpu_s = 40, .cli = NAN},
		{.is_eligible = false, .idle_cpu_s = 1000, .cpu_s = 1000, .cli = 0.9},
		{.is_eligible = true, .idle_cpu_s = NAN, .cpu_s = 60, .cli = NAN, .so = 12},
	};
	struct issue_row row;

	issue_row__of(jobs, 3, &row);
	assert_int_equal(row.runs, 2);
	near(row.idle_cpu_s, 10);
	near(row.icr, 0.25); /* of the job whose idle time is known */
	near(row.igr, 0);
	near(row.max_so, 12);
	assert_true(isnan(row.max_cli));
}

TEST(there_is_one_interval_at_least)
{
	assert_int_equal(io_grid__intervals(0, 10, 120), 1);
	assert_int_equal(io_grid__intervals(0, 360, 120), 3);
	assert_int_equal(io_grid__intervals(0, 359, 120), 2);
	assert_int_equal(io_grid__intervals(0, NAN, 120), 0);
	assert_int_equal(io_grid__intervals(10, 0, 120), 0);
	assert_int_equal(grid__bins(0, 29, 30), 0);
	assert_int_equal(grid__bins(0, INFINITY, 30), 0);
}
