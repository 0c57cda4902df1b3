/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Threads that wait, each in its way, and measure how long by their own clock. */
#include "tests/tools/tool.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/futex.h>
#include <linux/io_uring.h>
#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

static const char help[] =
	"[-n ROUNDS] SECONDS KIND...\n"
	"Starts a thread per KIND that waits for SECONDS, ROUNDS times, then prints \"KIND "
	"SECONDS\" of\n"
	"each as measured: sleep, poll, select, epoll, futex, sigtimedwait, recv, sockread, pipe,\n"
	"child, vfork, flock, semop, mqueue, aio, uring; of helpers that wake others sleep, of the "
	"main thread join.\n";

#define MAX_NOTES 8192

/* Shared with children. */
static struct notes {
	unsigned n;
	struct {
		char kind[16];
		double s;
	} note[MAX_NOTES];
} * notes;

static double seconds;
static unsigned long rounds = 1;

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void note(const char *kind, double since)
{
	double s = now_s() - since;
	unsigned i = __atomic_fetch_add(&notes->n, 1, __ATOMIC_RELAXED);

	if (i >= MAX_NOTES)
		die("more than %d waits", MAX_NOTES);
	snprintf(notes->note[i].kind, sizeof(notes->note[i].kind), "%s", kind);
	notes->note[i].s = s;
}

static struct timespec span(void)
{
	return (struct timespec){(time_t)seconds,
				 (long)((seconds - (double)(time_t)seconds) * 1e9)};
}

static void wait_sleep(void)
{
	struct timespec t = span();

	nanosleep(&t, NULL);
}

static void noted_sleep(void)
{
	double since = now_s();

	wait_sleep();
	note("sleep", since);
}

static void wait_poll(void)
{
	poll(NULL, 0, (int)(seconds * 1000));
}

static void wait_select(void)
{
	struct timespec t = span();

	pselect(0, NULL, NULL, NULL, &t, NULL);
}

static void wait_epoll(void)
{
	struct epoll_event e;
	int fd = epoll_create1(0);

	epoll_wait(fd, &e, 1, (int)(seconds * 1000));
	close(fd);
}

static void wait_futex(void)
{
	struct timespec t = span();
	int word = 0;

	syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &t, NULL, 0);
}

static void wait_sigtimedwait(void)
{
	struct timespec t = span();
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigtimedwait(&set, NULL, &t);
}

/* A socket that gives up after a time. */
static int silent_socket(int pair[2])
{
	struct timeval t = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e6)};

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) ||
	    setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t)))
		die("socketpair");
	return pair[0];
}

static void wait_recv(void)
{
	int pair[2];
	char c;

	(void)!recv(silent_socket(pair), &c, 1, 0);
	close(pair[0]), close(pair[1]);
}

static void wait_sockread(void)
{
	int pair[2];
	char c;

	(void)!read(silent_socket(pair), &c, 1);
	close(pair[0]), close(pair[1]);
}

static void *write_later(void *fd)
{
	noted_sleep();
	(void)!write(*(int *)fd, "", 1);
	return NULL;
}

static void wait_pipe(void)
{
	pthread_t t;
	int p[2];
	char c;

	if (pipe(p) || pthread_create(&t, NULL, write_later, &p[1]))
		die("pipe");
	(void)!read(p[0], &c, 1);
	pthread_detach(t);
	close(p[0]), close(p[1]);
}

static void wait_child(void)
{
	pid_t pid = fork();

	if (!pid) {
		noted_sleep();
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

static void wait_vfork(void)
{
	pid_t pid = vfork();

	if (!pid) {
		noted_sleep();
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

static void *unlock_later(void *fd)
{
	noted_sleep();
	flock(*(int *)fd, LOCK_UN);
	return NULL;
}

static void wait_flock(void)
{
	char path[] = "/tmp/jpwaitXXXXXX";
	int has = mkostemp(path, O_CLOEXEC), wants = open(path, O_RDWR | O_CLOEXEC);
	pthread_t t;

	unlink(path);
	if (has < 0 || wants < 0 || flock(has, LOCK_EX) ||
	    pthread_create(&t, NULL, unlock_later, &has))
		die("flock");
	flock(wants, LOCK_EX);
	pthread_join(t, NULL);
	close(has), close(wants);
}

static void wait_semop(void)
{
	struct sembuf take = {.sem_op = -1};
	struct timespec t = span();
	int id = semget(IPC_PRIVATE, 1, 0600);

	if (id < 0)
		die("semget");
	semtimedop(id, &take, 1, &t);
	semctl(id, 0, IPC_RMID);
}

static void wait_mqueue(void)
{
	struct mq_attr attr = {.mq_maxmsg = 1, .mq_msgsize = 1};
	struct timespec until, t = span();
	char name[32], c;
	mqd_t q;

	snprintf(name, sizeof(name), "/jpwait%d", (int)getpid());
	q = mq_open(name, O_CREAT | O_RDWR, 0600, &attr);
	if (q == (mqd_t)-1)
		die("mq_open");
	mq_unlink(name);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += t.tv_sec + (until.tv_nsec + t.tv_nsec) / 1000000000;
	until.tv_nsec = (until.tv_nsec + t.tv_nsec) % 1000000000;
	mq_timedreceive(q, &c, 1, NULL, &until);
	mq_close(q);
}

/* The context ends with the process: that takes the kernel a while. */
static void wait_aio(void)
{
	static aio_context_t ctx;
	struct timespec t = span();
	struct io_event e;

	if (!ctx && syscall(SYS_io_setup, 1, &ctx))
		die("io_setup");
	syscall(SYS_io_getevents, ctx, 1, 1, &e, &t);
}

/* A timer is the request under way. */
static void wait_uring(void)
{
	struct __kernel_timespec t = {(long long)seconds, span().tv_nsec};
	struct io_uring_params p = {0};
	int fd = (int)syscall(SYS_io_uring_setup, 1, &p);
	struct io_uring_sqe *sqe;
	char *ring;

	if (fd < 0)
		die("io_uring_setup: %s", strerror(errno));
	ring = mmap(NULL, p.sq_off.array + p.sq_entries * sizeof(__u32), PROT_READ | PROT_WRITE,
		    MAP_SHARED, fd, IORING_OFF_SQ_RING);
	sqe = mmap(NULL, sizeof(*sqe), PROT_READ | PROT_WRITE, MAP_SHARED, fd, IORING_OFF_SQES);
	if (ring == MAP_FAILED || sqe == MAP_FAILED)
		die("io_uring");
	*sqe = (struct io_uring_sqe){
		.opcode = IORING_OP_TIMEOUT, .addr = (unsigned long)&t, .len = 1};
	*(volatile unsigned *)(ring + p.sq_off.tail) = 1;
	syscall(SYS_io_uring_enter, fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0);
	close(fd);
}

static const struct kind {
	const char *name;
	void (*wait)(void);
} kinds[] = {
	{"sleep", wait_sleep}, {"poll", wait_poll},	    {"select", wait_select},
	{"epoll", wait_epoll}, {"futex", wait_futex},	    {"sigtimedwait", wait_sigtimedwait},
	{"recv", wait_recv},   {"sockread", wait_sockread}, {"pipe", wait_pipe},
	{"child", wait_child}, {"vfork", wait_vfork},	    {"flock", wait_flock},
	{"semop", wait_semop}, {"mqueue", wait_mqueue},	    {"aio", wait_aio},
	{"uring", wait_uring},
};

static void *waiter(void *arg)
{
	const struct kind *k = arg;

	for (unsigned long i = 0; i < rounds; i++) {
		double since = now_s();

		k->wait();
		note(k->name, since);
	}
	return NULL;
}

static pthread_t start(const char *name)
{
	pthread_t t;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(kinds[i].name, name)) {
			if (pthread_create(&t, NULL, waiter, (void *)&kinds[i]))
				die("cannot start a thread");
			return t;
		}
	usage(help, false);
	return 0;
}

int main(int argc, char **argv)
{
	pthread_t threads[32];
	double since;
	sigset_t set;
	int n, i;
	const struct opt opts[] = {OPT('n', &rounds), {}};

	options(argc, argv, opts, help);
	n = argc - optind - 1;
	if (n < 1 || n > 32)
		usage(help, false);
	seconds = to_number(argv[optind]);
	notes = mmap(NULL, sizeof(*notes), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	if (notes == MAP_FAILED)
		die("out of memory");
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	for (i = 0; i < n; i++)
		threads[i] = start(argv[optind + 1 + i]);
	since = now_s();
	for (i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	note("join", since);
	for (unsigned k = 0; k < notes->n; k++)
		printf("%s %.6f\n", notes->note[k].kind, notes->note[k].s);
	return 0;
}
