/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A journal has one owner, which may die, or have no room on its disk. */

#include <sys/file.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "tests/unit/journal_file.h"

static char unborn[sizeof(path) + 8];

/* Killed before the journal had its name, and before or after that. */
TEST(what_a_killed_maker_left_is_in_nobodys_way)
{
	struct journal *j;

	snprintf(unborn, sizeof(unborn), "%s" JOURNAL_UNBORN, path);
	for (int linked = 0; linked < 2; linked++) {
		unlink(path);
		close(open(unborn, O_WRONLY | O_CREAT | O_EXCL, 0600));
		if (linked)
			assert_int_equal(link(unborn, path), 0);
		assert_int_equal(journal__create(&j, path), linked ? -EEXIST : 0);
		assert_int_equal(access(unborn, F_OK), -1);
		if (!linked)
			journal__free(j);
	}
}

TEST(a_journal_has_one_owner)
{
	struct journal *j = small(1), *other;
	uint64_t cut;

	assert_int_equal(journal__create(&other, path), -EEXIST);
	assert_int_equal(journal__reopen(&other, path, &cut), -EWOULDBLOCK);
	journal__free(j);
	assert_int_equal(journal__reopen(&other, path, &cut), 0);
	assert_int_equal(cut, 0);
	journal__free(other);
	journal__free(NULL);
	assert_int_equal(journal__reopen(&other, "/nonexistent/j", &cut), -ENOENT);
}

/* On a busy machine it may be long before a child has closed what it was born with. */
TEST(a_child_of_the_owner_holds_nothing_up)
{
	struct journal *j = small(1), *other;
	pid_t child = fork();
	uint64_t cut;

	if (!child) {
		pause();
		_exit(1);
	}
	assert_true(child > 0);
	journal__free(j);
	assert_int_equal(journal__reopen(&other, path, &cut), 0);
	journal__free(other);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

/* A file size limit stops a write in its middle, like a full disk. */
TEST(a_full_disk_loses_nothing)
{
	struct journal *j = small(2);
	uint64_t size = file_size();
	union cell c[2] = {{.u = 2}, {.f = 2.5}};
	struct rlimit old, tight;
	size_t mark;

	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &old);
	tight = old;
	tight.rlim_cur = size + 20;
	setrlimit(RLIMIT_FSIZE, &tight);
	journal__row(j, 7, c, 2);
	assert_int_equal(journal__commit(j), -EFBIG);
	assert_int_equal(file_size(), size);
	/* what the caller takes back is gone, and no more */
	mark = journal__mark(j);
	c[0].u = 99;
	journal__row(j, 7, c, 2);
	assert_int_equal(journal__commit(j), -EFBIG);
	journal__discard(j, mark);
	setrlimit(RLIMIT_FSIZE, &old);
	assert_int_equal(journal__commit(j), 0);
	journal__free(j);
	rows_are(3);
}

TEST(a_journal_may_be_made_later)
{
	union cell c[2] = {{.u = 0}, {.f = 0.5}};
	char sub[sizeof(path) + 8], file[sizeof(path) + 16];
	struct journal *j;

	snprintf(sub, sizeof(sub), "%s.d", path);
	snprintf(file, sizeof(file), "%s/j", sub);
	assert_int_equal(journal__prepare(&j, file), 0);
	journal__series(j, 3, "S", true, two_ptr, 2);
	journal__table(j, 7, 3, "12");
	journal__row(j, 7, c, 2);
	assert_int_equal(journal__commit(j), -ENOENT);
	assert_int_equal(mkdir(sub, 0700), 0);
	assert_int_equal(journal__commit(j), 0);
	journal__free(j);
	assert_int_equal(rename(file, path), 0);
	assert_int_equal(rmdir(sub), 0);
	assert_int_equal(count_rows(NULL), 1);
}

TEST(a_kill_loses_no_row_and_the_next_owner_goes_on)
{
	uint64_t cut, size;
	struct journal *j;

	write_and_be_killed(100);
	rows_are(100);
	size = file_size();
	assert_int_equal(journal__reopen(&j, path, &cut), 0);
	assert_int_equal(cut, 0);
	assert_int_equal(file_size(), size);
	put_rows(j, 100, 200);
	journal__free(j);
	rows_are(200);
}

/* What was cut off is lost; the owner goes on, and a reader says that the file is damaged. */
TEST(a_journal_that_is_cut_under_its_owner_ends_there)
{
	struct journal *j = small(20);
	uint64_t size = file_size(), torn, cut;

	assert_int_equal(truncate(path, size - 40), 0);
	put_row(j, 20);
	assert_true(file_size() > size);
	assert_in_range(count_rows(&torn), 18, 19);
	assert_true(torn > 0);
	assert_int_equal(truncate(path, 0), 0);
	put_row(j, 21);
	assert_true(file_size() > size);
	journal__free(j);
	assert_int_equal(count_rows(NULL), -1);
	assert_int_equal(journal__reopen(&j, path, &cut), -EBADMSG);
}

TEST(a_journal_that_is_replaced_is_put_back_with_all_rows)
{
	struct journal *j = small(5);
	uint64_t cut, torn;
	int other;

	assert_int_equal(journal__secure(j, &cut), 0);
	for (int gone = 0; gone < 2; gone++) {
		unlink(path);
		if (!gone) {
			other = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
			assert_int_equal(write(other, "something else", 14), 14);
			close(other);
		}
		assert_int_equal(journal__secure(j, &cut), 1);
		assert_int_equal(cut, 0);
		put_row(j, 5 + gone);
		rows_are(6 + gone);
		/* it has its owner's lock again */
		other = open(path, O_RDONLY);
		assert_int_equal(flock(other, LOCK_EX | LOCK_NB), -1);
		close(other);
	}
	/* where it cannot be put, the open file has the rows */
	unlink(path);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(journal__secure(j, &cut), -EISDIR);
	other = journal__take_fd(j);
	journal__free(j);
	assert_int_equal(rmdir(path), 0);
	snprintf(unborn, sizeof(unborn), "/proc/self/fd/%d", other);
	assert_int_equal(symlink(unborn, path), 0);
	assert_int_equal(count_rows(&torn), 7);
	close(other);
}

TEST(a_journal_that_is_cut_goes_on_behind_its_last_good_frame)
{
	struct journal *j = small(5);
	uint64_t size = file_size(), cut;

	assert_int_equal(truncate(path, size - 4), 0);
	assert_int_equal(journal__secure(j, &cut), 0);
	assert_in_range(cut, 5, size / 5);
	put_row(j, 4);
	rows_are(5);
	for (unsigned left = 0; left < 20; left += 10) {
		assert_int_equal(truncate(path, left), 0);
		assert_int_equal(journal__secure(j, &cut), 0);
		assert_true(cut > 0);
		assert_int_equal(file_size(), JOURNAL_HEADER_SIZE);
		put_row(j, 0);
		rows_are(1);
	}
	journal__free(j);
}

static struct unit_fixture fixture = {.setup = no_file};
