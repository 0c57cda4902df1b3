// SPDX-License-Identifier: GPL-2.0-or-later
/* Folding: what holds for every region, and the spline against Kriging by its definition. */
#include "tests/unit/unit.h"

#include "analysis/fold/fold_trace.h"

#define M 1000

/* The progress of a region that is fast first. */
static double progress(double x)
{
	return x < 0.3 ? 2 * x : 0.6 + 0.4 / 0.7 * (x - 0.3);
}

static double noise(double amplitude)
{
	return amplitude * (2 * drand48() - 1);
}

static void make_points(double *x, double *y, size_t n, double amplitude)
{
	for (size_t i = 0; i < n; i++) {
		x[i] = drand48();
		y[i] = progress(x[i]) + noise(amplitude);
	}
}

TEST(a_curve_goes_from_0_to_1)
{
	double x[200], y[200], curve[M];

	srand48(1);
	for (size_t n = 1; n <= 200; n++) {
		make_points(x, y, n, 0);
		assert_int_equal(fold__krige(x, y, n, FOLD_NUGGET, curve, M), ANALYSIS_OK);
		assert_true(fabs(curve[0]) < 0.02);
		assert_true(fabs(curve[M - 1] - 1) < 0.02);
	}
}

TEST(a_rate_adds_up_to_what_the_curve_gains)
{
	double x[300], y[300], curve[M], rate[M], sum = 0, top = 0;

	srand48(2);
	make_points(x, y, 300, 0.05);
	fold__krige(x, y, 300, FOLD_NUGGET, curve, M);
	assert_int_equal(fold__rate(curve, M, 2.5e9, rate), ANALYSIS_OK);
	near(rate[0], rate[1]);
	for (size_t j = 0; j < M; j++) {
		assert_true(rate[j] >= 0);
		sum += j ? rate[j] : 0;
		top = fmax(top, curve[j]);
	}
	near(sum / (M - 1) / 2.5e9, top - curve[0]);
}

static void swap(double *a, double *b)
{
	double was = *a;

	*a = *b;
	*b = was;
}

/* Solves a x = b of order n in place, by elimination with pivots. */
static void solve(double *a, double *b, size_t n)
{
	for (size_t c = 0; c < n; c++) {
		size_t pivot = c;

		for (size_t r = c + 1; r < n; r++)
			pivot = fabs(a[r * n + c]) > fabs(a[pivot * n + c]) ? r : pivot;
		for (size_t k = 0; k < n; k++)
			swap(&a[c * n + k], &a[pivot * n + k]);
		swap(&b[c], &b[pivot]);
		for (size_t r = 0; r < n; r++) {
			double f = r == c ? 0 : a[r * n + c] / a[c * n + c];

			for (size_t k = c; f != 0 && k < n; k++)
				a[r * n + k] -= f * a[c * n + k];
			b[r] -= f * b[c];
		}
	}
	for (size_t c = 0; c < n; c++)
		b[c] /= a[c * n + c];
}

TEST(a_spline_is_kriging_with_a_cubic_covariance)
{
	enum { N = 40, ORDER = N + 2 };
	double x[N], y[N], a[ORDER * ORDER] = {0}, b[ORDER] = {0};
	struct fold_spline s;

	srand48(3);
	make_points(x, y, N, 0.03);
	x[7] = x[8]; /* two samples at the same place */
	for (size_t i = 0; i < N; i++) {
		for (size_t j = 0; j < N; j++)
			a[i * ORDER + j] = pow(fabs(x[i] - x[j]), 3) + (i == j ? 1e-3 : 0);
		a[i * ORDER + N] = a[N * ORDER + i] = 1;
		a[i * ORDER + N + 1] = a[(N + 1) * ORDER + i] = x[i];
		b[i] = y[i];
	}
	solve(a, b, ORDER);
	assert_int_equal(fold_spline__fit(x, y, N, 1e-3, &s), ANALYSIS_OK);
	for (double at = -0.2; at < 1.2; at += 0.01) {
		double f = b[N] + b[N + 1] * at;

		for (size_t i = 0; i < N; i++)
			f += b[i] * pow(fabs(at - x[i]), 3);
		near(fold_spline__at(&s, at), f);
	}
	fold_spline__free(&s);
}

TEST(many_points_do_not_spoil_the_spline)
{
	size_t n = 200000;
	double *x = calloc(n, sizeof(*x)), *y = calloc(n, sizeof(*y)), curve[M];

	srand48(4);
	assert_non_null(x);
	assert_non_null(y);
	for (size_t i = 0; i < n; i++) {
		x[i] = drand48();
		y[i] = sin(x[i]) / sin(1);
	}
	assert_int_equal(fold__krige(x, y, n, FOLD_NUGGET, curve, M), ANALYSIS_OK);
	for (size_t j = 0; j < M; j++)
		assert_true(fabs(curve[j] - sin((double)j / (M - 1)) / sin(1)) < 3e-5);
	free(x);
	free(y);
}

TEST(what_cannot_be_fitted_is_unknown)
{
	double x[] = {0, 1, NAN}, y[] = {0, 1, 0.5}, curve[11], rate[11];
	double middle[] = {0.3, 0.6}, zero[] = {0, 0};

	assert_int_equal(fold__krige(x, y, 3, FOLD_NUGGET, curve, 11), ANALYSIS_INSUFFICIENT);
	assert_true(isnan(curve[0]) && isnan(curve[10]));
	assert_int_equal(fold__krige(middle, zero, 2, -1, curve, 11), ANALYSIS_UNSUITABLE);
	assert_int_equal(fold__krige(middle, zero, 2, FOLD_NUGGET, curve, 11), ANALYSIS_OK);
	fold__rate(curve, 11, 1e9, rate);
	for (size_t j = 0; j < 11; j++) {
		near(curve[j], 0);
		near(rate[j], 0);
	}
}

TEST(durations_that_are_unknown_are_left_out)
{
	double dur[] = {NAN, 10, 11, 10, 30};
	bool keep[5];
	struct fold_range r;

	assert_int_equal(fold__outliers(dur, 5, &FOLD_FILTER_MEDIAN, &r, keep), ANALYSIS_OK);
	near(r.center, 11); /* the upper median of 10, 10, 11, 30 */
	near(r.width, 1);   /* of 0, 1, 1, 19 */
	near(r.lo, 9.5);
	assert_int_equal(r.kept, 3);
	assert_false(keep[0] || keep[4]);
	assert_int_equal(fold__outliers(dur, 1, &FOLD_FILTER_MEDIAN, &r, keep),
			 ANALYSIS_INSUFFICIENT);
	assert_int_equal(fold__outliers(dur + 1, 1, &FOLD_FILTER_MEAN, &r, keep),
			 ANALYSIS_INSUFFICIENT);
}

TEST(durations_fall_into_groups_at_wide_steps)
{
	double dur[] = {100, 505, 101, 500, 103, 510, 99, 900};
	size_t group[8], n;

	assert_int_equal(fold__groups(dur, 8, group, &n), ANALYSIS_OK); /* steps above 400 */
	assert_int_equal(n, 1);
	dur[1] = dur[3] = dur[5] = dur[7] = 1000;
	assert_int_equal(fold__groups(dur, 8, group, &n), ANALYSIS_OK);
	assert_int_equal(n, 2);
	for (size_t i = 0; i < 8; i++)
		assert_int_equal(group[i], dur[i] == 1000);
	assert_int_equal(fold__groups(dur, 7, group, &n), ANALYSIS_OK); /* too few for groups */
	assert_int_equal(n, 1);
}

/* The choice by its definition, in O(n * cap). */
static void thin_slowly(const double *x, size_t n, size_t cap, bool *take)
{
	for (size_t i = 0; i < n; i++)
		take[i] = false;
	for (size_t j = 0; j < cap; j++) {
		double center = ((double)j + 0.5) / (double)cap;
		size_t best = n;

		for (size_t i = 0; i < n; i++) {
			if (!take[i] && (best == n || fabs(x[i] - center) < fabs(x[best] - center)))
				best = i;
		}
		take[best] = true;
	}
}

TEST(thinned_points_are_the_nearest_to_a_grid)
{
	double x[500];
	bool take[500], should[500];

	srand48(5);
	for (size_t i = 0; i < 500; i++)
		x[i] = pow(drand48(), 3);
	for (size_t cap = 1; cap < 500; cap += 71) {
		assert_int_equal(fold__thin(x, 500, cap, take), ANALYSIS_OK);
		thin_slowly(x, 500, cap, should);
		assert_memory_equal(take, should, sizeof(take));
	}
}

enum { INSTANCES = 40, SAMPLES = 5 };

/* Instances of the region, of about 1000 time units and 2e6 events; one of them runs otherwise. */
static void make_instances(struct fold_instance *in, struct fold_sample *s, size_t strange)
{
	for (size_t i = 0; i < INSTANCES; i++) {
		double t0 = 2000.0 * (double)i, duration = 1000 + noise(10);

		in[i] = (struct fold_instance){.t0 = t0,
					       .t1 = t0 + duration,
					       .c0 = 3e6 * (double)i,
					       .c1 = 3e6 * (double)i + 2e6,
					       .samples = s + i * SAMPLES,
					       .nsamples = SAMPLES};
		for (size_t k = 0; k < SAMPLES; k++) {
			double x = drand48();

			s[i * SAMPLES + k] = (struct fold_sample){
				.t = t0 + x * duration,
				.c = in[i].c0 + 2e6 * (i == strange ? x * x * x : progress(x))};
		}
	}
}

TEST(a_region_is_folded_from_end_to_end)
{
	struct fold_instance in[INSTANCES];
	struct fold_sample s[INSTANCES * SAMPLES];
	struct fold_options o = {FOLD_FILTER_MEAN, FOLD_NUGGET, 0};
	struct fold_result r;
	double off = 0;

	srand48(6);
	make_instances(in, s, INSTANCES);
	in[3].t1 += 5000;
	assert_int_equal(fold__region(in, INSTANCES, &o, 101, &r), ANALYSIS_OK);
	assert_int_equal(r.range.kept, INSTANCES - 1);
	assert_false(r.keep[3]);
	assert_int_equal(r.points.n, (INSTANCES - 1) * SAMPLES);
	assert_true(fabs(r.factor / 2000 - 1) < 0.01);
	for (size_t j = 0; j < 101; j++)
		off += fabs(r.curve[j] - progress((double)j / 100)) / 101;
	assert_true(off < 0.01);
	assert_true(r.validity.good);
	near(r.validity.kept_fraction, (INSTANCES - 1) / (double)INSTANCES);
	fold_result__free(&r);
	assert_int_equal(fold__region(in, 0, &o, 101, &r), ANALYSIS_INSUFFICIENT);
	assert_true(isnan(r.curve[50]) && isnan(r.rate[0]) && isnan(r.validity.rms));
	fold_result__free(&r);
}

TEST(an_instance_far_from_the_curve_is_left_out)
{
	struct fold_instance in[INSTANCES];
	struct fold_sample s[INSTANCES * SAMPLES];
	struct fold_points p;
	bool keep[INSTANCES];

	srand48(7);
	make_instances(in, s, 11);
	for (size_t i = 0; i < INSTANCES; i++)
		keep[i] = true;
	assert_int_equal(fold__points(in, INSTANCES, keep, &p), ANALYSIS_OK);
	assert_int_equal(fold__prefilter(&p, FOLD_NUGGET, 3, keep, INSTANCES), ANALYSIS_OK);
	for (size_t i = 0; i < INSTANCES; i++)
		assert_int_equal(keep[i], i != 11);
	fold_points__free(&p);
}

TEST(samples_at_the_same_phase_are_not_uniform)
{
	double x[100], y[100];
	struct fold_validity v;
	struct fold_spline s;

	for (size_t i = 0; i < 100; i++)
		x[i] = y[i] = 0.4 + 0.001 * (double)i;
	fold__fit(x, y, 100, FOLD_NUGGET, &s);
	assert_true(fold__is_locked(&(struct fold_points){.x = x, .y = y, .n = 100}, &s));
	assert_int_equal(fold__validity(x, y, 100, &s, 100, 100, &v), ANALYSIS_OK);
	assert_false(v.uniform || v.good);
	near(v.max_gap, 1 - 0.499);
	near(v.ks_d, 1 - 0.499);
	assert_int_equal(fold__validity(x, y, 0, &s, 100, 100, &v), ANALYSIS_INSUFFICIENT);
	fold_spline__free(&s);
}

#define LOOPS	   500
#define LOOP_S	   0.024
#define LOOP_COUNT 600

/* Counts of a thread until t, which loops without a pause. */
static double counted_until(double t)
{
	double loops = floor(t / LOOP_S);

	return floor(LOOP_COUNT * (loops + progress(t / LOOP_S - loops)));
}

/* The instances are counted at or not as is_counted says. Of the samples one in so many is not
 * known, and what came between it and the one before is missing in all later ones; 0: none. */
static void fold_loops_with_gaps(struct fold_instance *in, bool (*is_counted)(int i), size_t every)
{
	static struct fold_sample samples[1200];
	struct fold_trace trace = {samples, NULL, 0, in, LOOPS};
	double missing = 0;

	for (double t = 0.001; t < LOOPS * LOOP_S; t += 1 / 97.0) {
		bool gap = every && trace.nsamples % every == every - 1;

		if (gap)
			missing += counted_until(t) - counted_until(t - 1 / 97.0);
		samples[trace.nsamples++] =
			(struct fold_sample){.t = t, .c = gap ? NAN : counted_until(t) - missing};
	}
	for (int i = 0; i < LOOPS; i++)
		in[i] = (struct fold_instance){
			.t0 = i * LOOP_S,
			.t1 = (i + 1) * LOOP_S,
			.c0 = is_counted(i) ? i * LOOP_COUNT : NAN,
			.c1 = is_counted(i) ? (i + 1) * LOOP_COUNT : NAN,
		};
	assert_int_equal(fold_trace__counts(&trace, 1, NULL), ANALYSIS_OK);
}

static void fold_loops(struct fold_instance *in, bool (*is_counted)(int i))
{
	fold_loops_with_gaps(in, is_counted, 0);
}

static bool never(int i)
{
	(void)i;
	return false;
}

static bool always(int i)
{
	(void)i;
	return true;
}

static bool sometimes(int i)
{
	return i % 3 == 0;
}

TEST(counts_at_bounds_are_kept_where_they_are_known_and_else_estimated)
{
	bool (*const ways[])(int i) = {never, sometimes, always};
	static struct fold_instance in[LOOPS];

	for (int way = 0; way < 3; way++) {
		fold_loops(in, ways[way]);
		for (int i = 1; i < LOOPS - 1; i++) {
			double allowed = ways[way](i) ? 0 : 0.005 * LOOP_COUNT;

			assert_true(fabs(in[i].c0 - i * LOOP_COUNT) <= allowed);
			assert_true(fabs(in[i].c1 - (i + 1) * LOOP_COUNT) <= allowed);
			assert_true(in[i].nsamples >= 2 && in[i].nsamples <= 3);
			assert_true(in[i].samples->t > in[i].t0);
		}
	}
	fold_loops(in, never); /* no sample is before the first and behind the last */
	assert_true(isnan(in[0].c0) && isnan(in[LOOPS - 1].c1));
}

/* Loops of 4.1 ms, two or three between two samples: the profile goes on being found. */
TEST(counts_of_loops_shorter_than_the_samples_are_apart)
{
	const double length = 0.0041;
	static struct fold_sample samples[2400];
	static struct fold_instance in[6000];
	struct fold_trace trace = {samples, NULL, 0, in, 6000};
	double worst = 0;

	for (double t = 0.001; trace.nsamples < 2380; t += 1 / 97.0) {
		double loops = floor(t / length);
		double c = loops + progress(t / length - loops);

		samples[trace.nsamples++] =
			(struct fold_sample){.t = t, .c = floor(LOOP_COUNT * c)};
	}
	for (int i = 0; i < 6000; i++)
		in[i] = (struct fold_instance){
			.t0 = i * length, .t1 = (i + 1) * length, .c0 = NAN, .c1 = NAN};
	assert_int_equal(fold_trace__counts(&trace, 1, NULL), ANALYSIS_OK);
	for (int i = 1; i < 5900; i++)
		worst = fmax(worst, fabs(in[i].c0 - i * LOOP_COUNT));
	assert_true(worst <= 0.01 * LOOP_COUNT);
}

/* Loops that run for 0.7 of their time, and the ticks of a clock that does not see the rest. */
TEST(counts_where_nothing_ran_are_found_between_the_samples)
{
	static struct fold_sample samples[1200];
	static struct fold_instance in[LOOPS];
	static double truth[1200];
	struct fold_trace trace = {samples, NULL, 0, in, LOOPS};
	size_t unknown = 0;

	for (double t = 0.001; t < LOOPS * LOOP_S; t += 1 / 97.0) {
		double loops = floor(t / LOOP_S), x = t / LOOP_S - loops;
		double ran = LOOP_S * (loops * 0.7 + (x < 0.3 ? x : fmax(x - 0.3, 0.3)));
		bool sleeps = x >= 0.3 && x < 0.6;

		truth[trace.nsamples] = ran;
		samples[trace.nsamples++] = (struct fold_sample){t, sleeps ? NAN : ran, sleeps};
		unknown += sleeps;
	}
	for (int i = 0; i < LOOPS; i++)
		in[i] = (struct fold_instance){
			.t0 = i * LOOP_S, .t1 = (i + 1) * LOOP_S, .c0 = NAN, .c1 = NAN};
	assert_true(unknown > 300);
	assert_int_equal(fold_trace__counts(&trace, 1, NULL), ANALYSIS_OK);
	for (size_t i = 1; i < trace.nsamples - 2; i++)
		assert_true(fabs(samples[i].c - truth[i]) < 0.01 * LOOP_S);
	for (int i = 1; i < LOOPS - 1; i++)
		assert_true(fabs(in[i].c1 - in[i].c0 - 0.7 * LOOP_S) < 0.01 * LOOP_S);
}

/* CPU time of a thread that runs for 4 ms and is stopped for 4 to 5, or always runs. */
static double scatter_of(bool is_stopped)
{
	static struct fold_sample samples[1200];
	static struct fold_instance in[LOOPS];
	struct fold_trace trace = {samples, NULL, 0, in, LOOPS};
	double ran = 0, t = 0, next = 0.001, scatter = NAN;

	srand48(3);
	while (t < LOOPS * LOOP_S && trace.nsamples < 1200) {
		double stop = is_stopped ? 0.004 + 0.001 * drand48() : 0;

		for (; next < t + 0.004; next += 1 / 97.0)
			samples[trace.nsamples++] =
				(struct fold_sample){.t = next, .c = ran + next - t};
		ran += 0.004;
		t += 0.004 + stop;
		while (next < t)
			next += 1 / 97.0;
	}
	for (int i = 0; i < LOOPS; i++)
		in[i] = (struct fold_instance){
			.t0 = i * LOOP_S, .t1 = (i + 1) * LOOP_S, .c0 = NAN, .c1 = NAN};
	assert_int_equal(fold_trace__counts(&trace, 1, &scatter), ANALYSIS_OK);
	return scatter;
}

TEST(a_thread_that_others_stop_is_told_from_one_that_runs)
{
	struct fold_validity v = {.good = true};

	fold_validity__scatter(&v, scatter_of(false));
	assert_true(v.good && v.scatter < 0.005);
	fold_validity__scatter(&v, scatter_of(true));
	assert_true(!v.good && v.scatter > 0.04);
}

enum { RUNS = 200, SEEN = 400 };

/* The codes of two phases, of which the first ends somewhere: of a share they have the other's. */
static double make_codes(double *x, uint64_t *code, size_t n, double share)
{
	double end = 0.3 + 0.4 * drand48();

	for (size_t i = 0; i < n; i++) {
		x[i] = drand48();
		code[i] = (x[i] < end) != (drand48() < share) ? 7 : 8 + (uint64_t)(3 * drand48());
	}
	return end;
}

TEST(a_bound_is_where_it_is_said_to_be_in_95_of_100_runs)
{
	static const double shares[] = {0, 0.1, 0.2}, widest[] = {0.02, 0.04, 0.08};
	double x[SEEN];
	uint64_t code[SEEN];

	srand48(8);
	for (int s = 0; s < 3; s++) {
		unsigned inside = 0, cuts = 0;
		double width = 0;

		for (int run = 0; run < RUNS; run++) {
			struct fold_phase p[FOLD_PHASES];
			double end = make_codes(x, code, SEEN, shares[s]);

			if (fold_trace__phases(x, code, SEEN, p) != 2)
				continue;
			cuts++;
			assert_true(p[0].low <= p[0].to && p[0].to <= p[0].high);
			assert_true(p[0].to == p[1].from && p[1].high == 1);
			inside += p[0].low <= end && end <= p[0].high;
			width += p[0].high - p[0].low;
		}
		assert_true(cuts > 0.9 * RUNS);
		assert_true(inside >= 0.95 * cuts);
		assert_true(width / cuts < widest[s]);
	}
}

/* Between two long phases a short one, a bin or two of 200 long. */
TEST(each_phase_ends_behind_its_begin)
{
	enum { MANY = 3000 };
	double x[MANY];
	uint64_t code[MANY];

	srand48(1);
	for (int run = 0; run < 4 * RUNS; run++) {
		struct fold_phase p[FOLD_PHASES];
		double begin = 0.3 + 0.1 * drand48(), end = begin + 0.004 + 0.006 * drand48();
		size_t n;

		for (int i = 0; i < MANY; i++) {
			x[i] = drand48();
			code[i] = x[i] < begin ? 1 : x[i] > end ? 3 : 2;
			if (code[i] == 2 ? drand48() < 0.3 : drand48() < 0.02)
				code[i] = 1 + (uint64_t)(3 * drand48());
		}
		n = fold_trace__phases(x, code, MANY, p);
		assert_true(n >= 2);
		for (size_t i = 0; i < n; i++)
			assert_true(p[i].from < p[i].to);
	}
}

TEST(an_instance_with_a_gap_has_no_count_and_the_others_are_right)
{
	static struct fold_instance in[LOOPS];
	int known = 0;

	fold_loops_with_gaps(in, never, 20);
	for (int i = 0; i < LOOPS; i++) {
		if (isnan(in[i].c0) || isnan(in[i].c1))
			continue;
		known++;
		assert_true(fabs(in[i].c1 - in[i].c0 - LOOP_COUNT) <= 0.04 * LOOP_COUNT);
	}
	assert_in_range(known, LOOPS * 0.7, LOOPS * 0.9);
}

/* Three samples in each of 200 executions, of which each `every`-th executes other code in the
 * first three quarters. */
static double unlike_of(size_t every)
{
	static double x[600];
	static uint64_t code[600];
	static size_t execution[600];

	for (size_t i = 0; i < 600; i++) {
		execution[i] = i / 3;
		x[i] = ((double)(i % 3) + drand48()) / 3;
		code[i] = x[i] > 0.75 ? 3 : every && !(i / 3 % every) ? 2 : 1;
	}
	return fold__unlike(x, code, execution, 600);
}

TEST(halves_of_an_iteration_are_not_alike)
{
	assert_true(unlike_of(2) > FOLD_UNLIKE_MAX);
	assert_true(unlike_of(3) > FOLD_UNLIKE_MAX);
	assert_true(unlike_of(0) < FOLD_UNLIKE_MAX);
}
