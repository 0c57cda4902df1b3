// SPDX-License-Identifier: GPL-2.0-or-later
/* What of the regions of processes is in a journal: a later jobprofd reads it. */

#include "tests/unit/unit.h"
#include "daemon/step/regions.h"
#include "journal/journal.h"

#define NO_PID 5000000 /* and above: no process has it (pid_max is 4194304 at most) */

static struct region_accounts accounts;

static int teardown(void **state)
{
	(void)state;
	region_accounts__free(&accounts);
	return 0;
}

/* What a later jobprofd has from the journal. */
static struct region_accounts read_again(const char *path, uint64_t *lost)
{
	struct region_accounts a = {};
	struct journal_reader *r;
	struct journal_record rec;
	int fd = open(path, O_RDONLY);

	assert_int_equal(journal_reader__open(&r, fd), 0);
	while (journal_reader__next(r, &rec) == 1)
		if (rec.type == J_META)
			region_accounts__remember(&a, rec.name, rec.str, lost);
	journal_reader__free(r);
	close(fd);
	return a;
}

TEST(over_a_restart)
{
	char path[64];
	struct region_accounts later;
	struct journal *j;
	uint64_t lost = 0;

	strcpy(path, in_dir("journal"));
	assert_int_equal(journal__create(&j, path), 0);
	region_accounts__set(&accounts, getpid(), 7, 100);
	region_accounts__set(&accounts, getppid(), 8, 50);
	region_accounts__put(&accounts, j, 3);
	assert_int_equal(journal__commit(j), 0);
	region_accounts__end_frame(&accounts, FRAME_WRITTEN);
	assert_false(region_accounts__has_new(&accounts, 3));
	assert_true(region_accounts__has_new(&accounts, 4));
	region_accounts__set(&accounts, getpid(), 7, 120);
	assert_true(region_accounts__has_new(&accounts, 3));
	region_accounts__put(&accounts, j, 3);
	assert_int_equal(journal__commit(j), 0);
	region_accounts__set(&accounts, getppid(), 8, 70); /* in no frame */
	journal__free(j);
	later = read_again(path, &lost);
	assert_int_equal(lost, 3);
	assert_int_equal(later.n, 2);
	assert_int_equal(region_accounts__find(&later, getpid(), 7)->settled, 120);
	assert_int_equal(region_accounts__find(&later, getppid(), 8)->settled, 50);
	assert_null(region_accounts__find(&later, getpid(), 8));
	assert_null(region_accounts__find(&later, getppid(), 7));
	assert_false(region_accounts__has_new(&later, lost));
	region_accounts__free(&later);
}

TEST(a_frame_that_was_left_out_is_put_again)
{
	region_accounts__set(&accounts, getpid(), 7, 100);
	region_accounts__end_frame(&accounts, FRAME_DROPPED);
	assert_true(region_accounts__has_new(&accounts, 0));
	region_accounts__end_frame(&accounts, FRAME_WRITTEN);
	region_accounts__end_frame(&accounts, FRAME_DROPPED);
	assert_true(region_accounts__has_new(&accounts, 0));
}

TEST(processes_that_have_ended_are_forgotten)
{
	pid_t ended = fork();
	uint64_t lost = 0;
	char text[64];

	if (!ended)
		_exit(0);
	waitpid(ended, NULL, 0);
	for (uint64_t id = 1; id <= 1000; id++) {
		region_accounts__set(&accounts, NO_PID + (pid_t)id, id, id);
		region_accounts__end_frame(&accounts, FRAME_WRITTEN);
	}
	region_accounts__set(&accounts, getpid(), 7, 100);
	assert_in_range(accounts.max, 1, 16);
	assert_int_equal(region_accounts__find(&accounts, getpid(), 7)->settled, 100);
	snprintf(text, sizeof(text), "%d 5 100", ended);
	region_accounts__remember(&accounts, "region account", text, &lost);
	assert_null(region_accounts__find(&accounts, ended, 5));
	region_accounts__remember(&accounts, "region account", "nonsense", &lost);
	assert_int_equal(lost, 0);
}

/* A process may say as many numbers as it likes, and there may be as many processes. */
TEST(there_is_an_end_to_them)
{
	struct region_accounts a = {0};

	for (uint64_t id = 1; id <= 20000; id++)
		region_accounts__set(&a, getpid(), id, id);
	assert_int_equal(a.n, 1);
	for (pid_t pid = 1; pid <= 20000; pid++)
		region_accounts__set(&a, NO_PID + pid, 1, 1);
	assert_int_equal(a.n, 2048);
	region_accounts__set(&a, NO_PID + 5, 5, 77);
	assert_int_equal(region_accounts__find(&a, NO_PID + 5, 5)->settled, 77);
	assert_null(region_accounts__find(&a, NO_PID + 20000, 1));
	region_accounts__free(&a);
}

static struct unit_fixture fixture = {.teardown = teardown};
