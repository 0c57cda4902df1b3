/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What happens in a limited child process stays there. */

#include "tests/unit/unit.h"
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "base/log.h"
#include "base/read_note.h"
#include "pool/pool.h"

static const struct pool_limits limits = {UINT64_C(256) << 20, 1};

static int give_status(void *arg)
{
	return *(int *)arg;
}

static int die_by(void *arg)
{
	int sig = *(int *)arg;

	signal(sig, SIG_DFL);
	read_note__file("/dir/x.h5");
	read_note__object("/n1/%s", "Tasks");
	raise(sig);
	return 3;
}

static int spin(void *arg)
{
	for (volatile unsigned i = 0;; i++)
		;
	return 0;
}

/* 512 MiB. */
static int take_memory(void *arg)
{
	for (unsigned i = 0; i < 512; i++) {
		volatile char *p = malloc(1u << 20);

		if (!p)
			return 7;
		*p = 1;
	}
	return 0;
}

static int write_shared(void *arg)
{
	*(int *)arg = 42;
	return 0;
}

static int run_nested(void *arg)
{
	int sig = SIGSEGV, err;

	read_note__file("outer");
	err = pool__try(die_by, &sig, &limits);
	return err == -EBADMSG && !strcmp(read_note__get_object(), "") ? 5 : 6;
}

/* Says who it is and waits to be killed. */
static int wait_for_signal(void *arg)
{
	*(volatile pid_t *)arg = getpid();
	for (;;)
		pause();
	return 0;
}

TEST(the_childs_status_is_passed_on)
{
	int wanted[] = {0, 1, 2, 255};

	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(pool__try(give_status, &wanted[i], &limits), wanted[i]);
}

TEST(a_crash_is_an_error)
{
	int sigs[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL};

	for (unsigned i = 0; i < 5; i++)
		assert_int_equal(pool__try(die_by, &sigs[i], &limits), -EBADMSG);
}

TEST(other_deaths_are_told_apart)
{
	int sigs[] = {SIGKILL, SIGXCPU, SIGTERM, SIGPIPE};
	int wanted[] = {-EOWNERDEAD, -ETIME, -EINTR, -EINTR};

	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(pool__try(die_by, &sigs[i], &limits), wanted[i]);
}

TEST(a_loop_ends_at_its_processor_time)
{
	assert_int_equal(pool__try(spin, NULL, &limits), -ETIME);
}

TEST(memory_is_limited)
{
#ifdef __SANITIZE_ADDRESS__
	skip(); /* which has no limit there */
#endif
	assert_int_equal(pool__try(take_memory, NULL, &limits), 7);
}

TEST(shared_memory_is_seen_by_both)
{
	int *p = pool__share(sizeof(*p));

	assert_non_null(p);
	assert_int_equal(*p, 0);
	assert_int_equal(pool__try(write_shared, p, &limits), 0);
	assert_int_equal(*p, 42);
	pool__unshare(p, sizeof(*p));
	pool__unshare(NULL, 1);
}

TEST(a_child_of_a_child)
{
	assert_int_equal(pool__try(run_nested, NULL, &limits), 5);
}

/* pool__call_verb in a process of its own; what it wrote to fd comes back. */
static int verb(int (*fn)(void *), void *arg, int fd, char *text, size_t size)
{
	int pipes[2], status;
	ssize_t got = 0, n;
	pid_t pid;

	assert_int_equal(pipe(pipes), 0);
	pid = fork();
	if (!pid) {
		dup2(pipes[1], fd);
		close(pipes[0]);
		close(pipes[1]);
		log__init("jobprof", LOGL_INFO);
		_exit(pool__call_verb(fn, arg, &limits));
	}
	close(pipes[1]);
	while ((n = read(pipes[0], text + got, size - 1 - got)) > 0)
		got += n;
	text[got] = 0;
	close(pipes[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

TEST(a_crash_is_one_line_with_file_and_object)
{
	int sig = SIGSEGV, status;
	char text[512];

	status = verb(die_by, &sig, STDERR_FILENO, text, sizeof(text));
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 1);
	assert_string_equal(text, "jobprof: /dir/x.h5: /n1/Tasks: damaged: reading it crashed the "
				  "HDF5 library (Segmentation fault)\n");
}

static int print_and_fail(void *arg)
{
	printf("whole line\n");
	return 1;
}

TEST(output_of_the_child_comes_once)
{
	char text[512];

	verb(print_and_fail, NULL, STDOUT_FILENO, text, sizeof(text));
	assert_string_equal(text, "whole line\n");
}

TEST(a_signal_that_ended_the_child_ends_the_verb)
{
	int sig = SIGPIPE, status;
	char text[512];

	status = verb(die_by, &sig, STDERR_FILENO, text, sizeof(text));
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGPIPE);
	assert_string_equal(text, "");
}

/* A verb whose child waits; returns the verb's pid when the child is there. */
static pid_t start_waiting(pid_t *child,
			   int (*how)(int (*fn)(void *arg), void *arg, const struct pool_limits *l))
{
	pid_t pid;

	*child = 0;
	pid = fork();
	if (!pid)
		_exit(how(wait_for_signal, child, &limits) < 0);
	for (unsigned i = 0; !*(volatile pid_t *)child && i < 10000; i++)
		usleep(1000);
	assert_int_not_equal(*child, 0);
	return pid;
}

static void end_both(int (*how)(int (*fn)(void *arg), void *arg, const struct pool_limits *l))
{
	pid_t *child = pool__share(sizeof(*child)), pid = start_waiting(child, how);
	int status;

	kill(pid, SIGTERM);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGTERM);
	assert_int_equal(kill(*child, 0), -1); /* and it was waited for */
	pool__unshare(child, sizeof(*child));
}

TEST(signals_reach_the_child)
{
	end_both(pool__call_verb);
}

/* A signal that comes while a file is looked at is no answer about the file. */
TEST(who_asks_ends_by_the_signal_too)
{
	end_both(pool__call);
}

TEST(the_child_dies_with_its_parent)
{
	pid_t *child = pool__share(sizeof(*child)), pid;
	int status;

	prctl(PR_SET_CHILD_SUBREAPER, 1);
	pid = start_waiting(child, pool__call_verb);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(waitpid(*child, &status, 0), *child);
	assert_true(WIFSIGNALED(status));
	prctl(PR_SET_CHILD_SUBREAPER, 0);
	pool__unshare(child, sizeof(*child));
}

/* Numbers, but for some items. */
enum { CRASHES = 7, SPINS = 9, LAST = 20 };

static int square(void *arg, unsigned item, struct message *result)
{
	int sig = SIGSEGV;

	read_note__file("/dir/x.h5");
	if (arg && item == CRASHES)
		die_by(&sig);
	if (arg && item == SPINS)
		spin(NULL);
	message__put_text(result, "square");
	item *= item;
	message__put(result, &item, sizeof(item));
	return 0;
}

static void expect_square(struct pool *p, unsigned i)
{
	struct message *m;
	const unsigned *v;

	assert_int_equal(pool__next(p, &m), 0);
	assert_string_equal(message__take_text(m), "square");
	v = message__take(m, sizeof(*v));
	assert_non_null(v);
	assert_int_equal(*v, i * i);
	assert_null(message__take(m, 1));
}

TEST(results_come_in_order)
{
	const struct pool_work work = {.work = square, .nitems = 100};
	const unsigned workers[] = {1, 3, 200};

	for (unsigned k = 0; k < 3; k++) {
		struct pool *p;

		assert_int_equal(pool__start(&p, &work, workers[k], &limits), 0);
		for (unsigned i = 0; i < work.nitems; i++)
			expect_square(p, i);
		pool__free(p);
	}
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

TEST(an_item_that_ends_its_worker_ends_no_other)
{
	const struct pool_work work = {.work = square, .arg = (void *)1, .nitems = LAST};

	for (unsigned n = 1; n < 4; n++) {
		struct message *m;
		struct pool *p;

		assert_int_equal(pool__start(&p, &work, n, &limits), 0);
		for (unsigned i = 0; i < LAST; i++) {
			if (i == CRASHES)
				assert_int_equal(pool__next(p, &m), -EBADMSG);
			else if (i == SPINS)
				assert_int_equal(pool__next(p, &m), -ETIME);
			else
				expect_square(p, i);
		}
		pool__free(p);
	}
}

static int large(void *arg, unsigned item, struct message *result)
{
	static const char bytes[1 << 20];

	message__put(result, bytes, sizeof(bytes));
	return 0;
}

TEST(workers_end_with_results_that_nobody_takes)
{
	const struct pool_work work = {.work = large, .nitems = 8};
	struct pool *p;

	assert_int_equal(pool__start(&p, &work, 4, &limits), 0);
	pool__free(p);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

/* Which of the parent's descriptors a worker has. */
static int has_open(void *arg, unsigned item, struct message *result)
{
	const int *fds = arg;
	int open[2] = {fcntl(fds[0], F_GETFD) >= 0, fcntl(fds[1], F_GETFD) >= 0};

	message__put(result, open, sizeof(open));
	return 0;
}

TEST(a_worker_that_is_alone_has_nothing_that_its_parent_has_open)
{
	int fds[] = {STDERR_FILENO, open("/dev/null", O_WRONLY)};

	for (int alone = 0; alone < 2; alone++) {
		const struct pool_work work = {has_open, fds, 4, .is_alone = alone};
		struct pool *p;

		assert_int_equal(pool__start(&p, &work, 2, &limits), 0);
		for (unsigned i = 0; i < work.nitems; i++) {
			struct message *m;
			const int *is_open;

			assert_int_equal(pool__next(p, &m), 0);
			is_open = message__take(m, 2 * sizeof(*is_open));
			assert_non_null(is_open);
			assert_true(is_open[0]);
			assert_int_equal(is_open[1], !alone);
		}
		pool__free(p);
	}
	close(fds[1]);
}

/* A child that starts workers and crashes. */
static int start_and_crash(void *arg)
{
	const struct pool_work work = {.work = large, .nitems = 8};
	int sig = SIGSEGV;
	struct pool *p;

	assert_int_equal(pool__start(&p, &work, 4, &limits), 0);
	return die_by(&sig);
}

TEST(no_descendant_outlives_a_child)
{
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	assert_int_equal(pool__try(start_and_crash, NULL, &limits), -EBADMSG);
	for (unsigned i = 0; i < 4; i++) {
		siginfo_t info;

		/* They have closed their files, and at most have yet to become zombies. */
		alarm(2);
		assert_int_equal(waitid(P_ALL, 0, &info, WEXITED), 0);
		alarm(0);
	}
	prctl(PR_SET_CHILD_SUBREAPER, 0);
}

/* What a reader needs goes on in a confined process; anything else ends it. */
static int read_on(void *arg)
{
	int fd = *(int *)arg;
	char *room = malloc(8 << 20), byte;
	struct stat st;

	return !room || fstat(fd, &st) || pread(fd, &byte, 1, 1) != 1 || byte != 'E';
}

static int open_file(void *arg)
{
	return open("/dev/null", O_RDONLY) < 0;
}

static int write_more(void *arg)
{
	return write(*(int *)arg, "x", 1) < 0;
}

static int take_code(void *arg)
{
	return mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, *(int *)arg, 0) == MAP_FAILED;
}

static int start_process(void *arg)
{
	return fork() < 0;
}

static int connect_out(void *arg)
{
	return socket(AF_INET, SOCK_STREAM, 0) < 0;
}

static int trace_parent(void *arg)
{
	return kill(getppid(), 0) < 0;
}

struct confined {
	int (*fn)(void *);
	int fd;
};

static int confine(void *arg)
{
	struct confined *c = arg;

	return pool__confine(UINT64_C(256) << 20) ? 9 : c->fn(&c->fd);
}

TEST(a_confined_process_reads_what_it_has_and_does_nothing_else)
{
	static int (*const forbidden[])(void *) = {open_file,	  write_more,  take_code,
						   start_process, connect_out, trace_parent};
	struct confined c = {read_on, open("/proc/self/exe", O_RDONLY | O_CLOEXEC)};

	assert_int_equal(pool__try(confine, &c, &limits), 0);
#ifdef __SANITIZE_ADDRESS__
	skip(); /* there calls are not filtered */
#endif
	for (size_t i = 0; i < sizeof(forbidden) / sizeof(forbidden[0]); i++) {
		c.fn = forbidden[i];
		assert_int_equal(pool__try(confine, &c, &limits), -EBADMSG);
	}
	c.fn = take_memory;
	assert_int_equal(pool__try(confine, &c, &POOL_STREAM), 7);
	close(c.fd);
}
