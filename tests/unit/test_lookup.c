// SPDX-License-Identifier: GPL-2.0-or-later
/* Helpers that hang and cannot be killed, as in a read of a user's own file system: here in one of
 * a FIFO, and those that were killed are not waited for. */

#include "tests/unit/unit.h"
#include "base/clock.h"
#include "daemon/lookup/lookup.h"

#define USER	     1000
#define OTHER	     1001
#define HANGS	     20
#define LEFT_OF_USER 3
#define PATIENCE_NS  (2 * NSEC_PER_SEC + NSEC_PER_MSEC)

static char fifo_dir[64], file_dir[64];
static int answered, last_err;
static pid_t killed[2 * HANGS];
static unsigned nkilled;

static void on_answer(void *ctx, const struct lookup *q, const struct lookup_answer *a)
{
	answered++;
	last_err = a->err;
}

/* One that has ended by itself is reaped, one that was killed is kept from the daemon. */
static void reap(struct lookups *l)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (WIFSIGNALED(status))
			killed[nkilled++] = pid;
		else
			assert_true(lookups__reaped(l, pid));
	}
}

/* The answer's error. A question about hangs is given up as soon as a helper has it. */
static int ask(struct lookups *l, uid_t uid, const char *dir)
{
	const bool hangs = dir == fifo_dir;
	struct lookup q = {.kind = LOOKUP_TASKS, .uid = uid};
	int before = answered;

	snprintf(q.path, sizeof(q.path), "%s", dir);
	assert_int_equal(lookups__ask(l, &q), 0);
	for (int i = 0; answered == before && i < (hangs ? 50 : 1500); i++) {
		lookups__turn(l, clock__boot_ns());
		usleep(1000);
		reap(l);
	}
	if (hangs && answered == before)
		lookups__turn(l, clock__boot_ns() + PATIENCE_NS);
	for (int i = 0; hangs && i < 50; i++) {
		usleep(1000);
		reap(l);
	}
	assert_int_equal(answered, before + 1);
	return last_err;
}

/* The process id of the helper that looks at the FIFO. */
static pid_t only_child(void)
{
	char path[64];
	pid_t pid = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid());
	f = fopen(path, "r");
	assert_non_null(f);
	assert_int_equal(fscanf(f, "%d", &pid), 1);
	fclose(f);
	return pid;
}

static void kill_helper(struct lookups *l)
{
	pid_t pid = only_child();

	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	lookups__reaped(l, pid);
	for (int i = 0; i < 20; i++) {
		lookups__turn(l, clock__boot_ns());
		usleep(1000);
	}
}

/* As by the kernel where memory is short: another helper is asked, once. */
TEST(a_helper_is_killed)
{
	struct lookup q = {.kind = LOOKUP_TASKS, .uid = USER};
	int before = answered;
	struct lookups *l;

	snprintf(q.path, sizeof(q.path), "%s", fifo_dir);
	assert_int_equal(lookups__new(&l, on_answer, NULL), 0);
	assert_int_equal(lookups__ask(l, &q), 0);
	lookups__turn(l, clock__boot_ns());
	kill_helper(l);
	assert_int_equal(answered, before);
	kill_helper(l);
	assert_int_equal(answered, before + 1);
	assert_int_equal(last_err, -EIO);
	lookups__free(l);
}

/* Answers between do not help. */
TEST(one_user_leaves_a_few_behind)
{
	struct lookups *l;

	assert_int_equal(lookups__new(&l, on_answer, NULL), 0);
	for (int i = 0; i < HANGS; i++) {
		assert_true(ask(l, USER, fifo_dir) < 0);
		ask(l, USER, file_dir);
	}
	assert_int_equal(nkilled, LEFT_OF_USER);
	assert_int_equal(ask(l, OTHER, file_dir), 0);
	assert_int_equal(ask(l, USER, file_dir), -EBUSY);
	for (unsigned i = 0; i < nkilled; i++)
		assert_true(lookups__reaped(l, killed[i]));
	assert_int_equal(ask(l, USER, file_dir), 0);
	lookups__free(l);
}

static void ask_kind(struct lookups *l, enum lookup_kind kind, uid_t uid, const char *dir)
{
	struct lookup q = {.kind = kind, .uid = uid, .pid = getpid()};

	snprintf(q.path, sizeof(q.path), "%s", dir);
	assert_int_equal(lookups__ask(l, &q), 0);
}

static void turn(struct lookups *l, unsigned ms)
{
	for (unsigned i = 0; i < ms; i++) {
		lookups__turn(l, clock__boot_ns());
		usleep(1000);
		reap(l);
	}
}

/* Users' task numbers are read while one user's program is not to be had; other programs wait. */
TEST(a_program_hangs)
{
	int before = answered;
	struct lookups *l;

	assert_int_equal(lookups__new(&l, on_answer, NULL), 0);
	ask_kind(l, LOOKUP_PROGRAM, USER, fifo_dir);
	turn(l, 20);
	ask_kind(l, LOOKUP_TASKS, USER, file_dir);
	ask_kind(l, LOOKUP_TASKS, OTHER, file_dir);
	turn(l, 200);
	assert_int_equal(answered, before + 2);
	ask_kind(l, LOOKUP_PROGRAM, OTHER, file_dir);
	turn(l, 100);
	assert_int_equal(answered, before + 2);
	lookups__turn(l, clock__boot_ns() + PATIENCE_NS);
	turn(l, 200);
	assert_int_equal(answered, before + 4);
	lookups__free(l);
}

static int setup(void **state)
{
	strcpy(fifo_dir, in_dir("fifo"));
	strcpy(file_dir, in_dir("file"));
	put_text(file_dir, "cgroup.procs", "");
	return mkdir(fifo_dir, 0700) || mkfifo(in_dir("fifo/cgroup.procs"), 0600);
}

static struct unit_fixture fixture = {.setup_all = setup};
