/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The clock of the families sample and stack, and the clock or cycles of points: events on every
 * CPU, which call programs. */
#include "kern/sample/sample.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "identity/proc_modules.h"
#include "kern/internal.h"
#include "kern/probe.h"

/* ---- threads that read memory maps. One works at a time. A thread whose map does not come is
 * abandoned for a new one, and ends by itself when the process unlocks its map, or ends */

#define WAIT_NS	 200000000
#define HUNG_MAX 16

struct maps_reader {
	pthread_mutex_t lock;
	pthread_cond_t asked, answered;
	pid_t pid; /* to be read; 0: nothing */
	int err;
	bool given_up; /* the thread frees all */
	bool hangs;    /* counted in hung */
	struct proc_modules modules;
};

static unsigned hung; /* threads that are given up; atomic */

static void reader_free(struct maps_reader *r)
{
	pthread_mutex_destroy(&r->lock);
	pthread_cond_destroy(&r->asked);
	pthread_cond_destroy(&r->answered);
	free(r);
}

static void *read_maps(void *arg)
{
	struct maps_reader *r = arg;

	pthread_mutex_lock(&r->lock);
	while (!r->given_up) {
		pid_t pid = r->pid;

		if (!pid) {
			pthread_cond_wait(&r->asked, &r->lock);
			continue;
		}
		pthread_mutex_unlock(&r->lock);
		r->err = proc_modules__read(pid, &r->modules);
		pthread_mutex_lock(&r->lock);
		r->pid = 0;
		pthread_cond_signal(&r->answered);
	}
	pthread_mutex_unlock(&r->lock);
	if (r->hangs)
		__atomic_fetch_sub(&hung, 1, __ATOMIC_RELAXED);
	reader_free(r);
	return NULL;
}

static struct maps_reader *reader_new(void)
{
	struct maps_reader *r = calloc(1, sizeof(*r));
	pthread_attr_t detached;
	pthread_condattr_t mono;
	sigset_t all, before;
	pthread_t thread;
	int err;

	if (!r)
		return NULL;
	pthread_mutex_init(&r->lock, NULL);
	pthread_condattr_init(&mono);
	pthread_condattr_setclock(&mono, CLOCK_MONOTONIC);
	pthread_cond_init(&r->asked, &mono);
	pthread_cond_init(&r->answered, &mono);
	pthread_condattr_destroy(&mono);
	pthread_attr_init(&detached);
	pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&thread, &detached, read_maps, r);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&detached);
	if (err) {
		reader_free(r);
		return NULL;
	}
	return r;
}

void maps_reader__stop(struct maps_reader *r)
{
	if (!r)
		return;
	pthread_mutex_lock(&r->lock);
	r->given_up = true;
	pthread_cond_signal(&r->asked);
	pthread_mutex_unlock(&r->lock);
}

static int wait_for(struct maps_reader *r)
{
	uint64_t until = clock__mono_ns() + WAIT_NS;
	const struct timespec t = {.tv_sec = (time_t)(until / NSEC_PER_SEC),
				   .tv_nsec = (long)(until % NSEC_PER_SEC)};
	int err = 0;

	while (r->pid && !err)
		err = pthread_cond_timedwait(&r->answered, &r->lock, &t);
	return r->pid ? -ETIMEDOUT : r->err;
}

bool maps_reader__hangs(void)
{
	return __atomic_load_n(&hung, __ATOMIC_RELAXED) > 0;
}

int maps_reader__read(struct maps_reader **r, pid_t pid, struct proc_modules *m)
{
	int err;

	if (__atomic_load_n(&hung, __ATOMIC_RELAXED) >= HUNG_MAX)
		return -EAGAIN;
	if (!*r)
		*r = reader_new();
	if (!*r)
		return -ENOMEM;
	pthread_mutex_lock(&(*r)->lock);
	(*r)->pid = pid;
	pthread_cond_signal(&(*r)->asked);
	err = wait_for(*r);
	if (!err)
		*m = (*r)->modules;
	if ((*r)->pid) {
		(*r)->given_up = (*r)->hangs = true;
		__atomic_fetch_add(&hung, 1, __ATOMIC_RELAXED);
	}
	pthread_mutex_unlock(&(*r)->lock);
	if (err == -ETIMEDOUT)
		*r = NULL;
	return err;
}

/* ---- books samples: the page of the code tells the file's kind, by the process's memory map, and
 * is made known to the kernel side. Of the C library and of the kernel the caller is looked for on
 * the stack: what MPI had them do is MPI's. The daemon's thread books those whose process's map has
 * been read, and a thread of their own the others, as a map may be long in coming */

#define PROCESSES     64	   /* whose maps are kept */
#define LATER	      64	   /* samples that wait for the thread */
#define READ_AGAIN_NS 50000000	   /* a map is read at most that often, */
#define LATE_AGAIN_NS NSEC_PER_SEC /* and one that did not come in time, as on a busy machine */
#define STOP_WAIT_S   1
#define PAGE_SHIFT    12

struct process {
	struct jp_page_key who; /* page 0 */
	uint64_t read_ns, used_ns;
	int err;
	struct proc_modules modules;
};

struct booker {
	pthread_t thread;
	int wake_fd; /* can be read when it is to look, or to end */
	bool stop;   /* atomic */
	int pages_fd;
	struct jp_samples *samples;
	const struct jp_slot *slots;
	struct jp_control *control;
	unsigned nslots;
	pthread_mutex_t lock; /* of all below */
	struct ring_buffer *ring;
	bool quick; /* rows wait: no map is read */
	unsigned nlater;
	struct jp_sample later[LATER];
	struct maps_reader *reader;
	struct process *process[PROCESSES];
};

/* A map that never comes is not asked for again. */
static bool may_read(const struct process *p, uint64_t now)
{
	bool late = p->err == -ETIMEDOUT;

	return !p->read_ns || (!(late && maps_reader__hangs()) &&
			       now - p->read_ns >= (late ? LATE_AGAIN_NS : READ_AGAIN_NS));
}

/* The process's place among those that are kept: its own, a free one, or the one that was not used
 * for longest. */
static struct process *place_of(struct booker *b, const struct jp_page_key *who)
{
	struct process **oldest = &b->process[0];

	for (int i = 0; i < PROCESSES; i++) {
		struct process **p = &b->process[i];

		if (*p && !memcmp(&(*p)->who, who, sizeof(*who)))
			return *p;
		if (!*p || (*oldest && (*p)->used_ns < (*oldest)->used_ns))
			oldest = p;
	}
	if (!*oldest)
		*oldest = malloc(sizeof(**oldest));
	if (*oldest)
		(*oldest)->who = *who, (*oldest)->read_ns = 0, (*oldest)->modules.n = 0;
	return *oldest;
}

/* False: it is for the thread. */
static bool find_process(struct booker *b, const struct jp_sample *s, struct process **out)
{
	struct jp_page_key who = s->at;
	struct process *p;
	uint64_t now = clock__mono_ns();

	who.page = 0;
	*out = p = place_of(b, &who);
	if (!p)
		return true;
	p->used_ns = now;
	if (proc_modules__at(&p->modules, s->ip) != JP_MODULE_UNKNOWN || !may_read(p, now))
		return true;
	if (b->quick)
		return false;
	p->err = maps_reader__read(&b->reader, (pid_t)who.tgid, &p->modules);
	p->read_ns = clock__mono_ns();
	return true;
}

/* The first return address that is outside the C library says who has called it. */
static bool is_for_mpi(const struct jp_sample *s, const struct process *p)
{
	for (int i = 0; i < JP_STACK_WORDS; i++) {
		enum jp_module m = proc_modules__at(&p->modules, s->stack[i]);

		if (m != JP_MODULE_UNKNOWN && m != JP_MODULE_LIBC)
			return m == JP_MODULE_MPI;
	}
	return false;
}

static void book(struct booker *b, const struct jp_sample *s, const struct process *p)
{
	uint32_t module = p ? proc_modules__at(&p->modules, s->ip) : JP_MODULE_UNKNOWN;
	uint32_t as = s->kernel ? JP_MODULE_KERNEL : module;
	struct jp_samples *to = &b->samples[s->slot];

	if (module != JP_MODULE_UNKNOWN && module != s->known)
		bpf_map_update_elem(b->pages_fd, &s->at, &module, BPF_ANY);
	if (b->slots[s->slot].gen != s->gen) {
		__atomic_fetch_add(&b->control->stats.samples_late, 1, __ATOMIC_RELAXED);
		return;
	}
	__atomic_fetch_add(&to->module[as], 1, __ATOMIC_RELAXED);
	if ((s->kernel && module == JP_MODULE_MPI) ||
	    (module == JP_MODULE_LIBC && is_for_mpi(s, p)))
		__atomic_fetch_add(&to->for_mpi, 1, __ATOMIC_RELAXED);
}

/* Below 0: no more are to be taken now. */
static int on_sample(void *ctx, void *data, size_t len)
{
	struct booker *b = ctx;
	const struct jp_sample *s = data;
	struct process *p;

	if (len < sizeof(*s) || s->slot >= b->nslots)
		return 0;
	if (find_process(b, s, &p))
		book(b, s, p);
	else
		b->later[b->nlater++] = *s;
	return b->nlater == LATER ? -EAGAIN : 0;
}

static void book_all(struct booker *b)
{
	unsigned n = b->nlater;

	b->nlater = 0;
	for (unsigned i = 0; i < n; i++)
		on_sample(b, &b->later[i], sizeof(b->later[i]));
	ring_buffer__consume(b->ring);
}

static void *run_booker(void *arg)
{
	struct booker *b = arg;
	struct pollfd wait[] = {{ring_buffer__epoll_fd(b->ring), POLLIN, 0},
				{b->wake_fd, POLLIN, 0}};
	eventfd_t n;

	while (!__atomic_load_n(&b->stop, __ATOMIC_ACQUIRE)) {
		poll(wait, 2, -1);
		if (wait[1].revents)
			eventfd_read(b->wake_fd, &n);
		pthread_mutex_lock(&b->lock);
		book_all(b);
		pthread_mutex_unlock(&b->lock);
	}
	return NULL;
}

static void *map_own(const struct kern *k, enum kern_map m)
{
	size_t len = (size_t)kern_map_entries(k, m) * kern_maps[m].mapped,
	       page = sysconf(_SC_PAGESIZE);
	void *p = mmap(NULL, (len + page - 1) / page * page, PROT_READ | PROT_WRITE, MAP_SHARED,
		       k->map[m], 0);

	if (p == MAP_FAILED)
		return NULL;
	madvise(p, len, MADV_DONTFORK);
	return p;
}

static void unmap_own(void *p, unsigned n, enum kern_map m)
{
	size_t page = sysconf(_SC_PAGESIZE);

	if (p)
		munmap(p, ((size_t)n * kern_maps[m].mapped + page - 1) / page * page);
}

static void booker_free(struct booker *b)
{
	if (b->ring)
		ring_buffer__free(b->ring);
	if (b->pages_fd >= 0)
		close(b->pages_fd);
	if (b->wake_fd >= 0)
		close(b->wake_fd);
	unmap_own(b->samples, b->nslots, M_SAMPLES);
	unmap_own((void *)b->slots, b->nslots, M_SLOTS);
	unmap_own(b->control, 1, M_CONTROL);
	maps_reader__stop(b->reader);
	pthread_mutex_destroy(&b->lock);
	for (int i = 0; i < PROCESSES; i++)
		free(b->process[i]);
	free(b);
}

/* Starts the thread; it works on descriptors and mappings of its own. 0 or -errno. */
static int booker_start(struct booker **out, const struct kern *k)
{
	struct booker *b = calloc(1, sizeof(*b));
	sigset_t all, before;
	int err;

	if (!b)
		return -ENOMEM;
	pthread_mutex_init(&b->lock, NULL);
	b->nslots = k->nslots;
	b->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	b->pages_fd = fcntl(k->map[M_PAGES], F_DUPFD_CLOEXEC, 0);
	b->ring = ring_buffer__new(k->map[M_UNBOOKED], on_sample, b, NULL);
	b->samples = map_own(k, M_SAMPLES);
	b->slots = map_own(k, M_SLOTS);
	b->control = map_own(k, M_CONTROL);
	if (b->wake_fd < 0 || b->pages_fd < 0 || !b->ring || !b->samples || !b->slots ||
	    !b->control) {
		booker_free(b);
		return -ENOMEM;
	}
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&b->thread, NULL, run_booker, b);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (err) {
		booker_free(b);
		return -err;
	}
	*out = b;
	return 0;
}

/* Ends the thread. One that hangs is left behind. NULL is fine. */
static void booker_stop(struct booker *b)
{
	struct timespec until;

	if (!b)
		return;
	__atomic_store_n(&b->stop, true, __ATOMIC_RELEASE);
	eventfd_write(b->wake_fd, 1);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += STOP_WAIT_S;
	if (!pthread_timedjoin_np(b->thread, NULL, &until))
		booker_free(b);
	else
		pthread_detach(b->thread);
}

#define PERIOD_NS (NSEC_PER_SEC / SAMPLE_HZ)
#define VARIED_NS (NSEC_PER_SEC / 4)

/* prog: a program that the event calls; below 0: the event is only tried. */
static int open_event(struct perf_event_attr *attr, unsigned cpu, int prog)
{
	int fd = syscall(SYS_perf_event_open, attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (prog >= 0 &&
	    (ioctl(fd, PERF_EVENT_IOC_SET_BPF, prog) || ioctl(fd, PERF_EVENT_IOC_ENABLE, 0))) {
		int err = -errno;

		close(fd);
		return err;
	}
	return fd;
}

static int open_clock(unsigned cpu, int prog, uint64_t period_ns)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = period_ns,
		.exclude_idle = 1,
		.disabled = 1,
	};

	return open_event(&attr, cpu, prog);
}

/* The kernel sets the period anew all the time, so that a busy CPU has as many samples. */
static int open_cycles(unsigned cpu, int prog, uint64_t period_ns)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_HW_CPU_CYCLES,
		.sample_freq = NSEC_PER_SEC / period_ns,
		.freq = 1,
		.disabled = 1,
	};

	return open_event(&attr, cpu, prog);
}

typedef int open_fn(unsigned cpu, int prog, uint64_t period_ns);

/* CPUs begin one after another, so that they are not interrupted together. */
static int open_all(const struct kern *k, int *fds, open_fn *open_one, int prog)
{
	const struct timespec pause = {.tv_nsec = (long)(PERIOD_NS / k->ncpus)};

	for (unsigned cpu = 0; cpu < k->ncpus; cpu++) {
		if (fds[cpu] >= 0)
			continue;
		fds[cpu] = open_one(cpu, prog, PERIOD_NS);
		if (fds[cpu] < 0 && fds[cpu] != -ENODEV) /* a CPU that is not there */
			return fds[cpu];
		nanosleep(&pause, NULL);
	}
	return 0;
}

/* On all CPUs: a thread that moves to one without cycles would have no points there. */
void kern_sample_choose(struct kern *k)
{
	if (!(k->opts.by_cycles && k->families & FAM_FOLD))
		k->cycles_err = -ECANCELED;
	for (unsigned cpu = 0; !k->cycles_err && cpu < k->ncpus; cpu++) {
		int fd = open_cycles(cpu, -1, PERIOD_NS);

		if (fd >= 0)
			close(fd);
		else if (fd != -ENODEV)
			k->cycles_err = fd;
	}
	k->by_cycles = !k->cycles_err;
}

const char *kern_sample_points(const struct kern *k)
{
	static char text[192];
	bool counts = kern__counts_points(k);

	if (k->by_cycles)
		snprintf(text, sizeof(text),
			 "sampled: by cycles, some 97 times a second of each "
			 "CPU that is busy%s",
			 counts ? "; with counts of events" : "");
	else
		snprintf(text, sizeof(text),
			 "sampled: 78 to 116 times a second of each CPU, by turns%s%s%s",
			 counts ? "; with counts of events" : "",
			 k->opts.by_cycles ? "; SampleEvent=cycles: perf_event_open says " : "",
			 k->opts.by_cycles ? strerror(-k->cycles_err) : "");
	return text;
}

static int *new_fds(const struct kern *k)
{
	int *fds = malloc(k->ncpus * sizeof(*fds));

	for (unsigned cpu = 0; fds && cpu < k->ncpus; cpu++)
		fds[cpu] = -1;
	return fds;
}

static int start_clock(struct kern *k)
{
	int err = 0;

	if (!k->clock)
		k->clock = new_fds(k);
	if (!k->points && k->families & FAM_FOLD)
		k->points = new_fds(k);
	if (!k->clock || (k->families & FAM_FOLD && !k->points))
		return -ENOMEM;
	if (!k->booker && k->families & FAM_SAMPLE)
		err = booker_start(&k->booker, k);
	if (!err)
		err = open_all(k, k->clock, open_clock, k->prog[P_CLOCK]);
	if (!err && k->points)
		err = open_all(k, k->points, k->by_cycles ? open_cycles : open_clock,
			       k->prog[P_POINT]);
	return err;
}

void kern_sample_start(struct kern *k)
{
	const unsigned sampled = FAM_SAMPLE | FAM_STACK;

	if (!(k->families & sampled) || (kern__resting(k) & sampled) || !start_clock(k))
		return;
	kern_sample_stop(k);
	k->families &= ~sampled;
	k->control->families &= ~sampled;
}

void kern_sample_stop(struct kern *k)
{
	for (unsigned cpu = 0; k->clock && cpu < k->ncpus; cpu++)
		kern_close_fd(&k->clock[cpu]);
	for (unsigned cpu = 0; k->points && cpu < k->ncpus; cpu++)
		kern_close_fd(&k->points[cpu]);
	free(k->clock), k->clock = NULL;
	free(k->points), k->points = NULL;
	booker_stop(k->booker), k->booker = NULL;
}

void kern__book(struct kern *k)
{
	struct booker *b = k->booker;

	if (!b || pthread_mutex_trylock(&b->lock)) /* the thread books them */
		return;
	b->quick = true;
	if (!b->nlater)
		ring_buffer__consume(b->ring);
	b->quick = false;
	if (b->nlater)
		eventfd_write(b->wake_fd, 1);
	pthread_mutex_unlock(&b->lock);
}

void kern__tick(struct kern *k, bool on)
{
	if (on && !k->clock)
		kern_sample_start(k);
	else if (!on && k->clock)
		kern_sample_stop(k);
}

/* The period of so many samples a second, from 0.8 to 1.2 times SAMPLE_HZ, each as likely. */
static uint64_t any_period_ns(void)
{
	double part = 0.5;
	uint32_t r;

	if (getrandom(&r, sizeof(r), GRND_NONBLOCK) == sizeof(r))
		part = r / 4294967296.0;
	return (uint64_t)(NSEC_PER_SEC / (SAMPLE_HZ * (0.8 + 0.4 * part)));
}

uint64_t kern__points_due(const struct kern *k)
{
	return k->points ? k->varied_ns + VARIED_NS : UINT64_MAX;
}

void kern__vary_points(struct kern *k, uint64_t now_ns)
{
	_cleanup_free_ uint64_t *periods = NULL;
	uint32_t zero = 0;

	if (now_ns < kern__points_due(k))
		return;
	k->varied_ns = now_ns;
	periods = calloc(k->ncpus, sizeof(*periods));
	for (unsigned cpu = 0; periods && cpu < k->ncpus; cpu++)
		periods[cpu] = any_period_ns();
	if (!periods ||
	    (!k->by_cycles && bpf_map_update_elem(k->map[M_PERIODS], &zero, periods, BPF_ANY)))
		return;
	for (unsigned cpu = 0; cpu < k->ncpus; cpu++) {
		uint64_t v = k->by_cycles ? NSEC_PER_SEC / periods[cpu] : periods[cpu];

		if (k->points[cpu] >= 0)
			ioctl(k->points[cpu], PERF_EVENT_IOC_PERIOD, &v);
	}
}

#define TRIAL_PERIOD_NS 50000 /* many samples in a short time */
#define TRIAL_NS	1500000
#define TRIALS		12

/* Computes that many rounds. ns */
static uint64_t compute_ns(uint64_t rounds)
{
	uint64_t from = clock__mono_ns();
	volatile uint64_t x = 0;

	for (uint64_t i = 0; i < rounds; i++)
		x += i;
	return clock__mono_ns() - from;
}

/* The quickest of several trials with the clock, and of as many without, for others disturb the
 * rest; in turn, for a CPU that was idle becomes faster meanwhile. */
static void quickest_ns(int clock, uint64_t rounds, uint64_t *with, uint64_t *without)
{
	*with = *without = UINT64_MAX;
	for (int i = 0; i < TRIALS; i++) {
		uint64_t ns = compute_ns(rounds);

		*without = ns < *without ? ns : *without;
		ioctl(clock, PERF_EVENT_IOC_ENABLE, 0);
		ns = compute_ns(rounds);
		ioctl(clock, PERF_EVENT_IOC_DISABLE, 0);
		*with = ns < *with ? ns : *with;
	}
}

void kern_sample_calibrate(struct kern *k)
{
	uint64_t rounds = 1000, without, with;
	int cpu = sched_getcpu(), clock;

	if (!(k->families & (FAM_SAMPLE | FAM_STACK)) || cpu < 0)
		return;
	clock = open_clock((unsigned)cpu, k->prog[P_CLOCK], TRIAL_PERIOD_NS);
	if (clock < 0)
		return;
	ioctl(clock, PERF_EVENT_IOC_DISABLE, 0);
	do {
		rounds *= 2;
		quickest_ns(clock, rounds, &with, &without);
	} while (without < TRIAL_NS / 4 && rounds < 1u << 30);
	close(clock);
	if (with > without)
		k->control->sample_ns = (with - without) * TRIAL_PERIOD_NS / with;
}
