// SPDX-License-Identifier: GPL-2.0-or-later
/* Regions of a program: instants at which threads enter and leave them go to a ring in shared
 * memory. */
#include "client/region.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "client/column.h"
#include "client/libjobprof.h"
#include "client/protocol.h"

#define AGAIN_S 5 /* without jobprofd, before the next attempt to find it */

_Static_assert(JOBPROF_REGIONS_MAX == JPC_REGIONS, "regions of a process");

static struct {
	struct jpc_ring *ring; /* atomic; NULL: none yet */
	int64_t again_s;       /* atomic: when a ring is asked for again */
	bool asked;	       /* atomic: one may be coming */
	int64_t checked_s;     /* atomic: when it was seen that jobprofd still reads the ring */
	uint64_t lost;	       /* atomic: records while there was none */
	pthread_mutex_t lock;  /* of the names, and of what follows */
	const uint64_t *read;  /* count of the ring's records that jobprofd has read; NULL: jobprofd
				  gives none */
	uint64_t id;	       /* of the process; 0: it has had no ring */
	const uint64_t *early; /* counts records that are not in the ring: own.lost, or a head */
	uint64_t early_told;   /* of these, those that the ring's head knows */
	unsigned nnames;       /* atomic */
	char name[JPC_REGIONS][64];
} own = {.lock = PTHREAD_MUTEX_INITIALIZER};

static __thread uint32_t thread __attribute__((tls_model("initial-exec")));

/* In a child of fork(2) the ring is the parent's. The mapping stays: a signal handler may have
 * forked in the middle of a record. */
static void forget_ring(void)
{
	__atomic_store_n(&own.ring, NULL, __ATOMIC_RELEASE);
	own.again_s = 0;
	own.asked = false;
	own.lost = 0;
	own.read = NULL;
	own.id = 0;
	thread = 0;
	own.lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* A thread that has been in the middle of a record since before the ring came. */
static void tell_late(struct jpc_ring *r)
{
	uint64_t late = __atomic_load_n(own.early, __ATOMIC_RELAXED) - own.early_told;

	own.early_told += late;
	__atomic_add_fetch(&r->before, late, __ATOMIC_RELAXED);
	__atomic_add_fetch(&r->lost, late, __ATOMIC_RELAXED);
}

/* Notes in a new ring how many records there were before it. */
static void tell_early(struct jpc_ring *r)
{
	const struct jpc_ring *old = own.ring;
	uint64_t known = 0, read = own.read ? *own.read : 0;

	if (old) {
		tell_late(own.ring);
		r->before = old->before;
		known = read ? old->before + read : old->before - old->lost;
	}
	own.early = old ? &old->head : &own.lost;
	own.early_told = __atomic_load_n(own.early, __ATOMIC_RELAXED);
	r->before += own.early_told;
	r->lost = r->before - known;
	if (!own.id)
		own.id = clock_ns(CLOCK_MONOTONIC);
	__atomic_store_n(&r->id, own.id, __ATOMIC_RELEASE);
}

/* Returns NULL when there is none, or the file is shorter. */
static void *map_file(int fd, size_t size, int prot)
{
	struct stat st;
	void *at;

	if (fd < 0 || fstat(fd, &st) || (uint64_t)st.st_size < size)
		return NULL;
	at = mmap(NULL, size, prot, MAP_SHARED, fd, 0);
	return at == MAP_FAILED ? NULL : at;
}

/* After a restart of jobprofd there is another ring. The old mapping stays: other threads may be
 * writing there. */
static void map_ring(const int fd[CLIENT_FDS])
{
	struct jpc_ring *r = map_file(fd[0], sizeof(*r), PROT_READ | PROT_WRITE);

	if (!r)
		return;
	memcpy(r->name, own.name, sizeof(r->name));
	tell_early(r);
	own.read = map_file(fd[1], sizeof(*own.read), PROT_READ);
	__atomic_store_n(&own.ring, r, __ATOMIC_RELEASE);
}

/* Takes the ring that has come, if one has; returns whether one may still be coming. Under the
 * lock, so that of two rings the later one stays. */
static bool take_ring(void)
{
	int fd[CLIENT_FDS], errno_before = errno;
	bool coming;

	pthread_mutex_lock(&own.lock);
	coming = region__take_ring(fd);
	map_ring(fd);
	client__close_fds(fd);
	pthread_mutex_unlock(&own.lock);
	errno = errno_before;
	return coming;
}

/* Returns NULL when no ring has come yet, there is no jobprofd, or it does not profile this
 * process. */
static struct jpc_ring *find_ring(void)
{
	int64_t now = (int64_t)(clock_ns(CLOCK_MONOTONIC_COARSE) / 1000000000u);

	if (__atomic_load_n(&own.asked, __ATOMIC_RELAXED)) {
		__atomic_store_n(&own.asked, take_ring(), __ATOMIC_RELAXED);
	} else if (now >= __atomic_load_n(&own.again_s, __ATOMIC_RELAXED)) {
		__atomic_store_n(&own.again_s, now + AGAIN_S, __ATOMIC_RELAXED);
		region__ask();
		__atomic_store_n(&own.asked, true, __ATOMIC_RELAXED);
	}
	return __atomic_load_n(&own.ring, __ATOMIC_ACQUIRE);
}

/* Once a second: a jobprofd that was restarted does not know the ring, and gives another one. */
static void check_ring(int64_t now)
{
	if (__atomic_exchange_n(&own.checked_s, now, __ATOMIC_RELAXED) == now)
		return;
	take_ring();
	region__ask();
	pthread_mutex_lock(&own.lock);
	tell_late(own.ring);
	pthread_mutex_unlock(&own.lock);
}

__attribute__((constructor)) static void at_load(void)
{
	pthread_atfork(NULL, NULL, forget_ring);
}

/* The program ends: jobprofd is told how many records it has not read. */
__attribute__((destructor)) static void at_unload(void)
{
	struct jpc_ring *r = __atomic_load_n(&own.ring, __ATOMIC_ACQUIRE);

	if (!r && !__atomic_load_n(&own.lost, __ATOMIC_RELAXED))
		return;
	region__ask_last(!r);
	take_ring();
	pthread_mutex_lock(&own.lock);
	if (own.ring)
		tell_late(own.ring);
	pthread_mutex_unlock(&own.lock);
}

static void put_record(int region, uint32_t flag)
{
	struct jpc_ring *r = __atomic_load_n(&own.ring, __ATOMIC_ACQUIRE);
	struct jpc_record *to;
	struct timespec t;
	uint64_t seq;

	if ((unsigned)region >= __atomic_load_n(&own.nnames, __ATOMIC_RELAXED))
		return;
	if (!r)
		r = find_ring();
	if (!r) {
		__atomic_add_fetch(&own.lost, 1, __ATOMIC_RELAXED);
		return;
	}
	if (!thread)
		thread = (uint32_t)syscall(SYS_gettid);
	clock_gettime(CLOCK_MONOTONIC, &t);
	seq = __atomic_add_fetch(&r->head, 1, __ATOMIC_RELAXED);
	to = &r->record[(seq - 1) % JPC_RING_RECORDS];
	__atomic_store_n(&to->seq, 0, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	to->time_ns = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
	to->region = (uint32_t)region | flag;
	to->thread = thread;
	__atomic_store_n(&to->seq, seq, __ATOMIC_RELEASE);
	if (seq % (JPC_RING_RECORDS / 4) == 0)
		region__ask();
	if (__atomic_load_n(&own.checked_s, __ATOMIC_RELAXED) != t.tv_sec)
		check_ring(t.tv_sec);
}

void jobprof_region_begin(int region)
{
	put_record(region, 0);
}

void jobprof_region_end(int region)
{
	put_record(region, JPC_REGION_END);
}

static int place_region(const char *name)
{
	unsigned i;

	for (i = 0; i < own.nnames; i++)
		if (!strcmp(own.name[i], name))
			return (int)i;
	if (i == JPC_REGIONS)
		return -ENOSPC;
	strcpy(own.name[i], name);
	if (own.ring)
		memcpy(own.ring->name[i], own.name[i], sizeof(own.name[i]));
	__atomic_store_n(&own.nnames, i + 1, __ATOMIC_RELEASE);
	return (int)i;
}

int jobprof_region(const char *name)
{
	char copy[sizeof(own.name[0])];
	int ret, errno_before = errno;

	if (!name || column__mark_name(copy, name))
		return -EINVAL;
	pthread_mutex_lock(&own.lock);
	ret = place_region(copy);
	pthread_mutex_unlock(&own.lock);
	if (ret >= 0 && !__atomic_load_n(&own.ring, __ATOMIC_ACQUIRE))
		find_ring();
	errno = errno_before;
	return ret;
}
