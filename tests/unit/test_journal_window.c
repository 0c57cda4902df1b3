/* SPDX-License-Identifier: GPL-2.0-only */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "synth.h"

#define FRAMES 3000 /* several windows */

static char dir[] = "/tmp/test_window.XXXXXX";
static char path[64];

static int make_dir(void **state)
{
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/j", dir);
	return 0;
}

static int remove_dir(void **state)
{
	unlink(path);
	return rmdir(dir);
}

static int no_file(void **state)
{
	unlink(path);
	return 0;
}

static const struct column one = {.name = "N", .type = COL_U64, .unit = "", .kind = COL_TIME};
static const struct column *const columns[] = {&one};

static int put(struct journal *j, uint64_t n)
{
	union cell c = {.u = n};

	assert_int_equal(journal__row(j, 1, &c, 1), 0);
	return journal__commit(j);
}

static struct journal *begin(void)
{
	struct journal *j;

	assert_int_equal(journal__create(&j, path), 0);
	assert_int_equal(journal__series(j, 1, "S", false, columns, 1), 0);
	assert_int_equal(journal__table(j, 1, 1, "S"), 0);
	assert_int_equal(journal__commit(j), 0);
	return j;
}

/* Rows, which count from 0, as another process finds them. */
static uint64_t rows(uint64_t *torn)
{
	int fd = open(path, O_RDONLY);
	struct journal_reader *r;
	struct journal_record rec;
	uint64_t n = 0;

	assert_true(fd >= 0);
	assert_int_equal(journal_reader__open(&r, fd), 0);
	while (journal_reader__next(r, &rec) > 0)
		if (rec.type == J_ROW)
			assert_int_equal(rec.cells[0].u, n++);
	*torn = journal_reader__torn(r);
	journal_reader__free(r);
	close(fd);
	return n;
}

static uint64_t file_size(void)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return st.st_size;
}

static void a_reader_finds_every_row_at_all_times(void **state)
{
	struct journal *j = begin();
	uint64_t torn, i, size;

	for (i = 0; i < FRAMES; i++) {
		assert_int_equal(put(j, i), 0);
		if (i % 97 == 0) {
			assert_int_equal(rows(&torn), i + 1);
			assert_int_equal(torn, 0);
		}
	}
	size = journal__size(j);
	assert_true(file_size() > size);
	journal__free(j);
	assert_int_equal(file_size(), size);
	assert_int_equal(rows(&torn), FRAMES);
}

static void a_kill_leaves_zeros_and_the_next_goes_on(void **state)
{
	uint64_t torn, cut;
	struct journal *j;
	pid_t pid = fork();
	int status;

	if (!pid) {
		j = begin();
		for (unsigned i = 0; i < 100; i++)
			put(j, i);
		kill(getpid(), SIGKILL);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(rows(&torn), 100);
	assert_int_equal(torn, 0);
	assert_int_equal(journal__reopen(&j, path, &cut), 0);
	assert_int_equal(cut, 0);
	assert_int_equal(file_size(), journal__size(j));
	for (unsigned i = 100; i < 200; i++)
		assert_int_equal(put(j, i), 0);
	journal__free(j);
	assert_int_equal(rows(&torn), 200);
}

/* The header comes last: a frame that was being copied is bytes behind zeros. */
static void a_kill_in_the_middle_of_a_copy_is_cut_off(void **state)
{
	uint64_t torn, cut, size;
	struct journal *j;
	pid_t pid = fork();
	int status;

	if (!pid) {
		j = begin();
		for (unsigned i = 0; i < 20; i++)
			put(j, i);
		if (pwrite(journal__fd(j), "half a row", 10, journal__size(j) + 8) != 10)
			_exit(1);
		kill(getpid(), SIGKILL);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	size = file_size();
	assert_int_equal(rows(&torn), 20);
	assert_true(torn > 18);
	assert_int_equal(journal__reopen(&j, path, &cut), 0);
	assert_int_equal(cut, torn);
	assert_int_equal(journal__size(j), size - torn);
	assert_int_equal(put(j, 20), 0);
	journal__free(j);
	assert_int_equal(rows(&torn), 21);
	assert_int_equal(torn, 0);
}

/* Where the room cannot be had, frames are written as long as that goes. */
static void no_room_for_a_window_is_no_loss(void **state)
{
	struct journal *j = begin();
	struct rlimit old, tight;
	uint64_t torn, size;

	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &old);
	tight = old;
	tight.rlim_cur = 2048;
	setrlimit(RLIMIT_FSIZE, &tight);
	for (unsigned i = 0; i < 20; i++)
		assert_int_equal(put(j, i), 0);
	size = journal__size(j);
	setrlimit(RLIMIT_FSIZE, &old);
	assert_int_equal(file_size(), size);
	journal__free(j);
	assert_int_equal(rows(&torn), 20);
}

/* The file cut short under it: a signal, which must not end the program. */
static void a_fault_in_the_window_is_survived(void **state)
{
	struct journal *j = begin();
	uint64_t size;

	for (unsigned i = 0; i < 20; i++)
		assert_int_equal(put(j, i), 0);
	size = journal__size(j);
	assert_int_equal(truncate(path, 0), 0);
	assert_int_equal(put(j, 20), 0);
	assert_true(journal__size(j) > size);
	assert_int_equal(file_size(), journal__size(j));
	journal__free(j);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_reader_finds_every_row_at_all_times, no_file),
		cmocka_unit_test_setup(a_kill_leaves_zeros_and_the_next_goes_on, no_file),
		cmocka_unit_test_setup(a_kill_in_the_middle_of_a_copy_is_cut_off, no_file),
		cmocka_unit_test_setup(no_room_for_a_window_is_no_loss, no_file),
		cmocka_unit_test_setup(a_fault_in_the_window_is_survived, no_file),
	};

	return cmocka_run_group_tests_name("journal window", tests, make_dir, remove_dir);
}
