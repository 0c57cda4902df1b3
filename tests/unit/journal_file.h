/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A journal in a directory of the test's own, made of rows whose cells follow from their number. */
#ifndef JP_TESTS_JOURNAL_FILE_H
#define JP_TESTS_JOURNAL_FILE_H

#include "tests/unit/unit.h"
#include "synth.h"

static char path[64];

static inline int no_file(void **state)
{
	strcpy(path, in_dir("j"));
	unlink(path);
	return 0;
}

static const struct column two[] = {
	{.name = "ElapsedTime", .type = COL_U64, .unit = "s", .kind = COL_TIME},
	{.name = "X", .type = COL_F64, .unit = "", .kind = COL_DELTA},
};
static const struct column *const two_ptr[] = {&two[0], &two[1]};

static inline void put_row(struct journal *j, unsigned i)
{
	union cell c[2] = {{.u = i}, {.f = i + 0.5}};

	assert_int_equal(journal__row(j, 7, c, 2), 0);
	assert_int_equal(journal__commit(j), 0);
}

static inline void put_rows(struct journal *j, unsigned from, unsigned to)
{
	for (unsigned i = from; i < to; i++)
		put_row(j, i);
}

/* A frame of declarations, then n frames of one row {i, i + 0.5}. */
static inline struct journal *small(unsigned n)
{
	struct journal *j;

	assert_int_equal(journal__create(&j, path), 0);
	assert_int_equal(journal__attr_str(j, "Node Name", "n1"), 0);
	assert_int_equal(journal__series(j, 3, "S", true, two_ptr, 2), 0);
	assert_int_equal(journal__table(j, 7, 3, "0"), 0);
	assert_int_equal(journal__commit(j), 0);
	put_rows(j, 0, n);
	return j;
}

static inline uint64_t file_size(void)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return st.st_size;
}

static inline struct journal_reader *open_reader(int *fd)
{
	struct journal_reader *r;

	*fd = open(path, O_RDONLY);
	assert_int_equal(journal_reader__open(&r, *fd), 0);
	return r;
}

/* Rows until the end, checked against what small() wrote; -1 when the file is no journal. */
static inline int count_rows(uint64_t *torn)
{
	int fd = open(path, O_RDONLY), n = 0, err;
	struct journal_reader *r;
	struct journal_record rec;

	assert_true(fd >= 0);
	err = journal_reader__open(&r, fd);
	if (err) {
		assert_int_equal(err, -EBADMSG);
		close(fd);
		return -1;
	}
	while ((err = journal_reader__next(r, &rec)) > 0) {
		if (rec.type != J_ROW)
			continue;
		assert_int_equal(rec.id, 7);
		assert_int_equal(rec.ncols, 2);
		assert_int_equal(rec.cells[0].u, n);
		assert_true(rec.cells[1].f == n + 0.5);
		n++;
	}
	assert_int_equal(err, 0);
	assert_int_equal(journal_reader__next(r, &rec), 0);
	if (torn)
		*torn = journal_reader__torn(r);
	journal_reader__free(r);
	close(fd);
	return n;
}

/* n rows, and nothing behind them. */
static inline void rows_are(int n)
{
	uint64_t torn = 1;

	assert_int_equal(count_rows(&torn), n);
	assert_int_equal(torn, 0);
}

/* Runs until n rows are committed, and is killed. */
static inline void write_and_be_killed(unsigned n)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		put_rows(small(0), 0, n);
		kill(getpid(), SIGKILL);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

#endif
