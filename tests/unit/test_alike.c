/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A job beside others (user/index/alike.h): who may see which of them; with the address of an empty
 * database of a PostgreSQL server as an argument in that, for tests/e2e/site/postgresql.py. */
#include <sys/stat.h>

#include "tests/unit/unit.h"
#include "index/alike.h"

#define START 1800000000

static const char *address; /* NULL: a new file for each test */
static struct index ix;
static const char file[] = "/proc/self/exe"; /* one that is there */

static int open_index(void **state)
{
	static unsigned n;
	char name[32];

	snprintf(name, sizeof(name), "%u.db", n++);
	if (index__open(&ix, address ? address : in_dir(name), DB_WRITE))
		return 1;
	return db__run(ix.db, "DELETE FROM job", NULL, 0);
}

static int close_index(void **state)
{
	index__close(&ix);
	return 0;
}

struct one {
	int job;
	const char *user, *account;
	double disk, elapsed_s;
	const char *file;
	double mtime;
};

static void put(const struct one *o)
{
	const struct db_value args[] = {
		db_value__int(o->job),	 db_value__int(START - (o->job == 7 ? 0 : o->job)),
		db_value__text(o->user), db_value__text(o->account),
		db_value__real(o->disk), db_value__int((int64_t)o->elapsed_s),
		db_value__text(o->file), db_value__int((int64_t)o->mtime),
		db_value__text(o->user), /* all jobs of a user are alike */
	};

	assert_int_equal(
		db__run(ix.db,
			"INSERT INTO job (cluster, job_id, start, \"user\", account, partition, "
			"day, month, program, state, share_disk, elapsed_s, file, file_mtime, "
			"signature, findings) VALUES ('c', ?, ?, ?, ?, 'p', 1, 1, 'lmp', "
			"'COMPLETED', ?, ?, ?, ?, ?, 0)",
			args, sizeof(args) / sizeof(*args)),
		0);
}

static void put_own(double disk)
{
	struct stat st;

	assert_int_equal(stat(file, &st), 0);
	put(&(struct one){7, "alice", "a", disk, 1300, file, (double)st.st_mtim.tv_sec});
}

/* Jobs of each user in turn, which take 1000 s. */
static void put_others(const char *const *users, unsigned nusers, int n, const char *account)
{
	for (int i = 0; i < n; i++)
		put(&(struct one){1000 + i, users[(unsigned)i % nusers], account, 0.1, 1000, NULL,
				  NAN});
}

static struct alike of(const struct viewer *v)
{
	struct alike a;

	assert_int_equal(alike__of(&a, &ix, 7, file, v), 0);
	return a;
}

static const char *const three[] = {"bob", "carol", "dave"}, *const with_own[] = {"alice", "bob"};
static const struct viewer staff = {.sees_all = true, .user = "root"}, alice = {.user = "alice"};

TEST(staff_see_it_beside_all_jobs)
{
	struct alike a;

	put_own(0.3);
	put_others(three, 3, 30, "b");
	a = of(&staff);
	assert_string_equal(a.what, "wait for a disk");
	assert_string_equal(a.program, "lmp");
	assert_true(a.share == 0.3 && a.than == 1 && a.jobs == 30 && a.users == 3);
	assert_int_equal(a.runs, 0);
	alike__free(&a);
}

TEST(a_user_sees_nothing_of_others)
{
	struct alike a;

	put_own(0.3);
	put_others(three, 3, 60, "b");
	a = of(&alice);
	assert_null(a.what);
	alike__free(&a);
}

TEST(own_earlier_runs_are_seen)
{
	struct alike a;

	put_own(0.3);
	put_others(with_own, 2, 40, "a");
	a = of(&alice);
	assert_null(a.what); /* one user's */
	assert_int_equal(a.runs, 20);
	assert_true(a.median_s == 1000 && a.elapsed_s == 1300);
	alike__free(&a);
}

TEST(little_needs_no_word)
{
	struct alike a;

	put_own(0.04);
	put_others(three, 3, 60, "b");
	db__run(ix.db, "UPDATE job SET share_disk = 0.01 WHERE job_id <> 7", NULL, 0);
	a = of(&staff);
	assert_null(a.what);
	alike__free(&a);
}

TEST(without_its_number_and_of_another_file)
{
	struct alike a;

	put_own(0.3);
	put_others(three, 3, 30, "b");
	assert_int_equal(alike__of(&a, &ix, 0, file, &staff), 0);
	assert_non_null(a.what);
	alike__free(&a);
	assert_int_equal(alike__of(&a, &ix, 8, file, &staff), 0);
	assert_null(a.what);
	assert_int_equal(alike__of(&a, &ix, 7, "/nowhere/job_7.h5", &staff), 0);
	assert_null(a.what);
}

static int in_postgresql(char **args)
{
	address = args[0];
	for (size_t i = 0; i < n_unit_tests; i++) {
		unit_tests[i].setup_func = open_index;
		unit_tests[i].teardown_func = close_index;
	}
	return _cmocka_run_group_tests("PostgreSQL", unit_tests, n_unit_tests, NULL, NULL);
}

static struct unit_fixture fixture = {
	.setup = open_index, .teardown = close_index, .with_args = in_postgresql};
