// SPDX-License-Identifier: GPL-2.0-or-later
/* Clusters of bursts, what they are made of and what nodes reduce: against definitions by brute
 * force, and what holds in every order. */
#include "tests/unit/unit.h"

#include <time.h>

#include "analysis/cluster/burst.h"
#include "analysis/cluster/cluster.h"
#include "analysis/counters/counters.h"
#include "analysis/reduce.h"

#define N 600

static double gauss(void)
{
	return sqrt(-2 * log(1 - drand48())) * cos(2 * M_PI * drand48());
}

/* Clouds around 6 centers and some points anywhere; on a lattice, if asked, where many distances
 * are equal. */
static void make_points(double *v, size_t n, bool lattice)
{
	for (size_t i = 0; i < n; i++) {
		for (unsigned d = 0; d < 2; d++) {
			double center = 0.15 * (double)(i % 6 * (d + 1) % 7);

			v[2 * i + d] = i % 10 ? center + 0.02 * gauss() : drand48();
			if (lattice)
				v[2 * i + d] = rint(v[2 * i + d] * 32) / 32;
		}
	}
}

static bool near_points(const double *v, size_t i, size_t j, double eps)
{
	double x = v[2 * i] - v[2 * j], y = v[2 * i + 1] - v[2 * j + 1];

	return x * x + y * y <= eps * eps;
}

static bool is_core(const double *v, size_t n, size_t i, double eps, size_t min_pts)
{
	size_t found = 0;

	for (size_t j = 0; j < n; j++)
		found += near_points(v, i, j, eps);
	return found >= min_pts;
}

static void expand(const double *v, const bool *core, size_t n, double eps, size_t from,
		   unsigned label, unsigned *labels)
{
	size_t stack[N] = {from}, depth = 1;

	labels[from] = label;
	while (depth) {
		size_t i = stack[--depth];

		for (size_t j = 0; core[i] && j < n; j++) {
			if (labels[j] || !near_points(v, i, j, eps))
				continue;
			labels[j] = label;
			stack[depth++] = j;
		}
	}
}

/* DBSCAN by its definition. */
static unsigned dbscan_slowly(const double *v, size_t n, double eps, size_t min_pts,
			      unsigned *labels)
{
	bool core[N];
	unsigned k = 0;

	for (size_t i = 0; i < n; i++) {
		core[i] = is_core(v, n, i, eps, min_pts);
		labels[i] = 0;
	}
	for (size_t i = 0; i < n; i++) {
		if (core[i] && !labels[i])
			expand(v, core, n, eps, i, ++k, labels);
	}
	return k;
}

TEST(dbscan_by_cells_is_dbscan_by_definition)
{
	double v[2 * N];
	unsigned labels[N], should[N], k;

	srand48(1);
	for (size_t n = 0; n <= N; n += 60) {
		make_points(v, n, n % 120);
		for (size_t min_pts = 1; min_pts < 12; min_pts += 3) {
			double eps = 1.0 / 32 * (min_pts % 2 ? 1 : sqrt(2));

			assert_int_equal(cluster__dbscan(v, n, 2, eps, min_pts, labels, &k),
					 ANALYSIS_OK);
			assert_int_equal(k, dbscan_slowly(v, n, eps, min_pts, should));
			assert_memory_equal(labels, should, n * sizeof(*labels));
		}
	}
}

static void shuffle(size_t *order, size_t n)
{
	for (size_t i = 0; i < n; i++)
		order[i] = i;
	for (size_t i = n; i > 1; i--) {
		size_t j = (size_t)(drand48() * (double)i), was = order[j];

		order[j] = order[i - 1];
		order[i - 1] = was;
	}
}

TEST(core_points_keep_their_cluster_in_any_order)
{
	double v[2 * N], dur[N], moved[2 * N], moved_dur[N];
	unsigned labels[N], other[N], k, k2;
	size_t order[N];

	srand48(2);
	make_points(v, N, false);
	for (size_t i = 0; i < N; i++)
		dur[i] = 100 + (double)(i % 6) * 50; /* the ranks of the clusters are far apart */
	cluster__dbscan(v, N, 2, 0.02, 5, labels, &k);
	cluster__relabel(labels, dur, N, k);
	for (int turn = 0; turn < 20; turn++) {
		shuffle(order, N);
		for (size_t i = 0; i < N; i++) {
			memcpy(moved + 2 * i, v + 2 * order[i], 2 * sizeof(double));
			moved_dur[i] = dur[order[i]];
		}
		cluster__dbscan(moved, N, 2, 0.02, 5, other, &k2);
		cluster__relabel(other, moved_dur, N, k2);
		assert_int_equal(k, k2);
		for (size_t i = 0; i < N; i++) {
			if (is_core(moved, N, i, 0.02, 5))
				assert_int_equal(other[i], labels[order[i]]);
		}
	}
}

/* A million points in two dense lines a little more than eps apart, the worst case: every cell has
 * thousands of points. */
TEST(a_million_points_are_clustered_in_seconds)
{
	size_t n = 1000000;
	double *v = calloc(2 * n, sizeof(*v));
	unsigned *labels = calloc(n, sizeof(*labels)), k;
	clock_t began = clock();

	assert_non_null(v);
	assert_non_null(labels);
	srand48(3);
	for (size_t i = 0; i < n; i++) {
		v[2 * i] = drand48();
		v[2 * i + 1] = v[2 * i] + (i % 2 ? 0.0156 : 0);
	}
	assert_int_equal(cluster__dbscan(v, n, 2, 0.01, 10, labels, &k), ANALYSIS_OK);
	assert_int_equal(k, 2);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(labels[i], 1 + i % 2);
	assert_true((double)(clock() - began) / CLOCKS_PER_SEC < 60);
	free(v);
	free(labels);
}

TEST(dbscan_refuses_what_has_no_distance)
{
	double v[] = {0, 0, 1, NAN};
	unsigned labels[2] = {7, 7}, k;

	assert_int_equal(cluster__dbscan(v, 2, 2, 0.1, 1, labels, &k), ANALYSIS_UNSUITABLE);
	assert_int_equal(labels[0] + labels[1] + k, 0);
	assert_int_equal(cluster__dbscan(v, 1, 2, 0, 1, labels, &k), ANALYSIS_UNSUITABLE);
	assert_int_equal(cluster__dbscan(v, 1, 2, 0.1, 1, labels, &k), ANALYSIS_OK);
	assert_int_equal(labels[0], 1);
}

static int descending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x < y) - (x > y);
}

TEST(distances_to_near_points_are_those_of_all_pairs)
{
	double v[2 * N], kdist[N], should[N], d[N];
	struct cluster_kdist r;

	srand48(4);
	make_points(v, N, false);
	for (size_t i = 0; i < N; i++) {
		for (size_t j = 0; j < N; j++)
			d[j] = hypot(v[2 * i] - v[2 * j], v[2 * i + 1] - v[2 * j + 1]);
		qsort(d, N, sizeof(*d), descending);
		should[i] = d[N - 4];
	}
	qsort(should, N, sizeof(*should), descending);
	assert_int_equal(cluster__kdist(v, N, 2, 4, kdist, &r), ANALYSIS_OK);
	for (size_t i = 0; i < N; i++)
		near(kdist[i], should[i]);
	near(r.eps, fmin(fmax(kdist[r.knee], 0.005), 0.05));
	memset(v, 0, sizeof(v));
	assert_int_equal(cluster__kdist(v, N, 2, 4, kdist, &r), ANALYSIS_OK);
	near(r.eps, CLUSTER_EPS);
	assert_int_equal(cluster__kdist(v, 3, 2, 4, kdist, &r), ANALYSIS_INSUFFICIENT);
	assert_true(isnan(kdist[0]));
}

TEST(a_point_has_the_label_of_the_first_of_its_nearest)
{
	double subset[] = {0, 0, 1, 1, 0, 0, 2, 2}, v[] = {0, 0.1, 0.5, 0.5, 2, 2, 1, 1.5};
	unsigned known[] = {3, 1, 2, 0}, labels[4];

	cluster__classify(subset, known, 4, v, 4, 2, 0.1, labels);
	assert_int_equal(labels[0], 3); /* at a distance of eps; the other one there comes later */
	assert_int_equal(labels[1], 0); /* far from all */
	assert_int_equal(labels[2], 0); /* near to noise */
	assert_int_equal(labels[3], 0);
	cluster__classify(subset, known, 4, v, 4, 2, 1, labels);
	assert_int_equal(labels[1], 3);
	assert_int_equal(labels[3], 1);
}

TEST(a_subset_holds_whole_threads_and_a_part_of_the_others)
{
	enum { BURSTS = 40000, THREADS = 20 };
	struct cluster_subset s = {1000, 8, 0.15, 50000};
	static unsigned thread[BURSTS];
	static uint64_t key[BURSTS];
	static bool take[BURSTS], fewer[BURSTS];
	size_t of[THREADS] = {0}, n, whole = 0, part = 0;

	for (size_t i = 0; i < BURSTS; i++) {
		thread[i] = i % THREADS;
		key[i] = sample_item__of(9, 0, i).key;
	}
	assert_int_equal(cluster__subset(thread, key, BURSTS, THREADS, 9, &s, take, &n),
			 ANALYSIS_OK);
	for (size_t i = 0; i < BURSTS; i++)
		of[thread[i]] += take[i];
	for (size_t t = 0; t < THREADS; t++) {
		whole += of[t] == BURSTS / THREADS;
		part += of[t] == BURSTS / THREADS ? 0 : of[t];
	}
	assert_int_equal(whole, 8);
	assert_in_range(part, 3400, 3800); /* 15 % of 24000 */
	assert_int_equal(n, 8 * BURSTS / THREADS + part);
	s.limit = 5000;
	cluster__subset(thread, key, BURSTS, THREADS, 9, &s, fewer, &n);
	assert_int_equal(n, 5000);
	for (size_t i = 0; i < BURSTS; i++)
		assert_true(take[i] || !fewer[i]);
}

TEST(a_table_describes_clusters_and_noise)
{
	unsigned labels[] = {0, 1, 1, 2};
	double dur[] = {10, 20, 40, 30}, v[] = {1, NAN, 2, 5, NAN, 7, 4, NAN};
	struct cluster_row rows[3];
	double means[6];

	assert_int_equal(cluster__table(labels, dur, v, 4, 2, 2, rows, means), ANALYSIS_OK);
	near(rows[1].share, 0.6);
	near(rows[1].std_dur, sqrt(200));
	assert_true(isnan(rows[0].std_dur));
	near(means[2], 2);
	near(means[3], 6);
	assert_true(isnan(means[5]));
	assert_int_equal(cluster__table(labels, dur, v, 4, 2, 1, rows, means), ANALYSIS_UNSUITABLE);
}

TEST(tasks_that_do_the_same_are_alike)
{
	unsigned task[] = {0, 1, 2, 0, 1, 2, 0}, same[] = {1, 1, 1, 2, 2, 2, 1};
	unsigned one_differs[] = {1, 1, 1, 2, 2, 1, 1};
	double spmd;

	cluster__spmdness(same, task, 7, 3, &spmd);
	near(spmd, 1);
	cluster__spmdness(one_differs, task, 7, 3, &spmd);
	near(spmd, (1 + 2 / 3.0 + 1) / 3);
}

TEST(clusters_keep_their_names_over_windows)
{
	double va[] = {100, 1, 110, 1.1, 500, 0.5, 520, 0.5}, vb[] = {510, 0.5, 102, 1, 9000, 3};
	unsigned la[] = {1, 1, 2, 2}, lb[] = {1, 2, 3}, name_a[] = {0, 4, 7}, name_b[4], next = 8;
	double dur[] = {1, 1, 1, 1};
	struct cluster_window a = {va, la, dur, 4, 2, 2}, b = {vb, lb, dur, 3, 2, 3};

	assert_int_equal(cluster__identify(&a, &b, 0.05, name_a, name_b, &next), ANALYSIS_OK);
	assert_int_equal(name_b[1], 7);
	assert_int_equal(name_b[2], 4);
	assert_int_equal(name_b[3], 8);
	assert_int_equal(next, 9);
}

TEST(requisites_are_lowered_while_nothing_is_stable)
{
	near(cluster_level__after(4).threshold, 0.85);
	near(cluster_level__after(5).threshold, 0.80);
	near(cluster_level__after(5).margin, 0.10);
	near(cluster_level__after(100).threshold, 0.60);
	near(cluster_level__after(100).margin, 0.20);
}

TEST(moments_do_not_depend_on_the_order_of_merges)
{
	struct moments parts[20], all = MOMENTS_NONE;
	size_t order[20];

	srand48(5);
	for (size_t p = 0; p < 20; p++) {
		parts[p] = MOMENTS_NONE;
		for (size_t i = 0; i < p * p; i++) {
			double v = i % 7 ? 1e6 + gauss() : NAN;

			moments__add(&parts[p], v);
			moments__add(&all, v);
		}
	}
	for (int turn = 0; turn < 20; turn++) {
		struct moments sum = MOMENTS_NONE;

		shuffle(order, 20);
		for (size_t i = 0; i < 20; i++)
			moments__merge(&sum, &parts[order[i]]);
		assert_int_equal(sum.n, all.n);
		assert_true(moments__mean(&sum) == moments__mean(&all));
		assert_true(moments__m2(&sum) == moments__m2(&all));
		assert_true(sum.min == all.min && sum.max == all.max);
	}
	all = MOMENTS_NONE;
	assert_true(isnan(moments__std(&all)));
}

TEST(a_sample_does_not_depend_on_the_tree)
{
	struct bottom_k all, parts[8], sum;
	size_t order[8];

	srand48(6);
	bottom_k__init(&all, 50);
	for (uint64_t node = 0; node < 8; node++) {
		bottom_k__init(&parts[node], 50);
		for (uint64_t seq = 0; seq < 100; seq++) {
			bottom_k__add(&parts[node], sample_item__of(42, node, seq));
			bottom_k__add(&all, sample_item__of(42, node, seq));
		}
	}
	bottom_k__sort(&all);
	for (int turn = 0; turn < 20; turn++) {
		shuffle(order, 8);
		bottom_k__init(&sum, 50);
		for (size_t i = 0; i < 8; i++)
			bottom_k__merge(&sum, &parts[order[i]]);
		bottom_k__sort(&sum);
		assert_int_equal(sum.n, 50);
		assert_memory_equal(sum.items, all.items, 50 * sizeof(*all.items));
		bottom_k__free(&sum);
	}
	for (size_t i = 0; i < 8; i++)
		bottom_k__free(&parts[i]);
	bottom_k__free(&all);
	assert_true(sample_item__is_in_part(UINT64_MAX, 1));
	assert_true(sample_item__is_in_part(UINT64_MAX / 2, 0.5));
	assert_false(sample_item__is_in_part(UINT64_MAX / 2 + 1, 0.5));
	assert_false(sample_item__is_in_part(0, 0));
}

TEST(a_counter_that_every_burst_measured_projects_to_its_sum)
{
	unsigned cluster[100];
	double ins[100], counts[100], sum[4] = {0};
	struct projected_cluster c[4];
	struct projection p[4];

	srand48(7);
	for (size_t i = 0; i < 100; i++) {
		cluster[i] = i % 4;
		ins[i] = 1e6 * drand48();
		counts[i] = 1e3 * drand48();
		sum[cluster[i]] += counts[i];
	}
	assert_int_equal(counters__project(cluster, ins, counts, 100, 1, 3, c, p), ANALYSIS_OK);
	for (size_t k = 0; k < 4; k++) {
		assert_true(fabs(p[k].total / sum[k] - 1) < 1e-12);
		assert_false(p[k].is_low_confidence);
	}
}

TEST(the_parts_of_a_stack_add_up_to_the_cpi)
{
	double counts[N_CPI_COUNTS];
	struct cpi_stack s;

	for (int kind = 0; kind < N_CPI_KINDS; kind++) {
		double sum = 0;

		for (int i = 0; i < N_CPI_COUNTS; i++)
			counts[i] = 1e9 + 1e7 * i;
		counts[CPI_WIDTH] = 8;
		assert_int_equal(cpi__stack(kind, counts, &s), ANALYSIS_OK);
		for (int i = 0; i < N_CPI_PARTS; i++) {
			assert_int_equal(isnan(s.stack[i]), !cpi_kind__has(kind, i));
			sum += isnan(s.stack[i]) ? 0 : s.stack[i];
		}
		near(sum, s.cpi);
		counts[CPI_INSTRUCTIONS] = 0;
		cpi__stack(kind, counts, &s);
		assert_true(isnan(s.cpi) && isnan(s.stack[CPI_PART_FRONTEND]));
		assert_false(isnan(s.fraction[CPI_PART_FRONTEND]));
	}
}

TEST(a_stall_by_level_is_not_negative)
{
	struct cpi_memory m;

	assert_int_equal(cpi__memory(100, 60, 70, 20, 10, &m), ANALYSIS_OK);
	near(m.l1, 4);
	near(m.l2, 0);
	near(m.l3, 5);
	near(m.dram, 2);
	assert_true(m.is_clipped);
	assert_int_equal(cpi__memory(100, 60, 70, 20, 0, &m), ANALYSIS_UNAVAILABLE);
}

TEST(a_counter_that_hardly_ran_is_doubtful)
{
	struct mux_count m;

	assert_int_equal(mux__scale(10, 100, 5, &m), ANALYSIS_OK);
	near(m.scaled, 200);
	assert_true(m.is_low_confidence);
	assert_int_equal(mux__scale(0, 100, 0, &m), ANALYSIS_UNAVAILABLE);
	assert_true(isnan(m.scaled));
	near(m.running_part, 0);
}

TEST(a_burst_survives_preemption)
{
	double t[] = {0, 5, 6, 7, 9, 20, 30}, ins[] = {0, 10, 10, 12, 20, 20, 25};
	enum burst_event kinds[] = {BURST_IN,	 BURST_PREEMPT, BURST_PREEMPT, BURST_IN,
				    BURST_BLOCK, BURST_IN,	BURST_PREEMPT};
	struct bursts b;

	assert_int_equal(burst__extract(&(struct burst_stream){t, kinds, ins, 7, 1}, 1, &b),
			 ANALYSIS_OK);
	assert_int_equal(b.n, 1);
	near(b.bursts[0].preempted, 2);
	near(b.bursts[0].on_cpu, 7);
	near(b.bursts[0].preempted_share, 2 / 9.0);
	near(b.counts[0], 20);
	assert_true(b.is_open);
	bursts__free(&b);
	assert_int_equal(burst__extract(&(struct burst_stream){t, kinds, ins, 5, 1}, 8, &b),
			 ANALYSIS_INSUFFICIENT);
	assert_int_equal(b.filtered_n, 1);
	near(b.filtered_time, 7);
	bursts__free(&b);
}

TEST(a_filter_leaves_nine_tenths_of_the_time)
{
	double on_cpu[] = {1, 2, 3, 3, 100, 200, 300, NAN}, least;

	assert_int_equal(burst__choose_filter(on_cpu, 8, &least), ANALYSIS_OK);
	near(least, 64); /* with 128 a sixth of the time would be lost */
	assert_int_equal(burst__choose_filter(on_cpu, 0, &least), ANALYSIS_INSUFFICIENT);
	assert_true(isnan(least));
}
