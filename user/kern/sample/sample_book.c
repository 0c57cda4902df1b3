// SPDX-License-Identifier: GPL-2.0-only
/*
 * Books samples: the page of the code tells the file's kind, by the process's memory map, and is
 * made known to the kernel side. Of the C library and of the kernel the caller is looked for on the
 * stack: what MPI had them do is MPI's.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "identity/proc_modules.h"
#include "kern/internal.h"
#include "kern/sample/sample.h"

#define POLL_MS	      100
#define PROCESSES     64	   /* whose maps are kept */
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
	bool stop; /* atomic */
	int pages_fd;
	struct ring_buffer *ring;
	struct jp_samples *samples;
	const struct jp_slot *slots;
	struct jp_control *control;
	unsigned nslots;
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

static struct process *process_of(struct booker *b, const struct jp_sample *s)
{
	struct jp_page_key who = s->at;
	struct process *p;
	uint64_t now = clock__mono_ns();

	who.page = 0;
	p = place_of(b, &who);
	if (!p)
		return NULL;
	p->used_ns = now;
	if (proc_modules__at(&p->modules, s->ip) != JP_MODULE_UNKNOWN || !may_read(p, now))
		return p;
	p->err = maps_reader__read(&b->reader, (pid_t)who.tgid, &p->modules);
	p->read_ns = clock__mono_ns();
	return p;
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

static void book(struct booker *b, const struct jp_sample *s)
{
	const struct process *p = process_of(b, s);
	uint32_t module = p ? proc_modules__at(&p->modules, s->ip) : JP_MODULE_UNKNOWN;
	uint32_t as = s->kernel ? JP_MODULE_KERNEL : module;
	struct jp_samples *to = &b->samples[s->slot];

	if (module != JP_MODULE_UNKNOWN)
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

static int on_sample(void *ctx, void *data, size_t len)
{
	struct booker *b = ctx;
	const struct jp_sample *s = data;

	if (len >= sizeof(*s) && s->slot < b->nslots)
		book(b, s);
	return 0;
}

static void *run_booker(void *arg)
{
	struct booker *b = arg;

	while (!__atomic_load_n(&b->stop, __ATOMIC_ACQUIRE)) {
		ring_buffer__poll(b->ring, POLL_MS);
		ring_buffer__consume(b->ring); /* samples that woke nobody */
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
	unmap_own(b->samples, b->nslots, M_SAMPLES);
	unmap_own((void *)b->slots, b->nslots, M_SLOTS);
	unmap_own(b->control, 1, M_CONTROL);
	maps_reader__stop(b->reader);
	for (int i = 0; i < PROCESSES; i++)
		free(b->process[i]);
	free(b);
}

int booker__start(struct booker **out, const struct kern *k)
{
	struct booker *b = calloc(1, sizeof(*b));
	sigset_t all, before;
	int err;

	if (!b)
		return -ENOMEM;
	b->nslots = k->nslots;
	b->pages_fd = fcntl(k->map[M_PAGES], F_DUPFD_CLOEXEC, 0);
	b->ring = ring_buffer__new(k->map[M_UNBOOKED], on_sample, b, NULL);
	b->samples = map_own(k, M_SAMPLES);
	b->slots = map_own(k, M_SLOTS);
	b->control = map_own(k, M_CONTROL);
	if (b->pages_fd < 0 || !b->ring || !b->samples || !b->slots || !b->control) {
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

void booker__stop(struct booker *b)
{
	struct timespec until;

	if (!b)
		return;
	__atomic_store_n(&b->stop, true, __ATOMIC_RELEASE);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += STOP_WAIT_S;
	if (!pthread_timedjoin_np(b->thread, NULL, &until))
		booker_free(b);
	else
		pthread_detach(b->thread);
}
