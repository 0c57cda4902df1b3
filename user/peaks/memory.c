/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory bandwidth: the triad a[i] = b[i] + s * c[i] of STREAM (J. McCalpin). Each thread has
 * slices of the three arrays that it has touched first, so they are in its own NUMA domain. Bytes
 * are counted as STREAM counts them, 24 for an element. On x86 a is written past the caches: with
 * usual stores a would be read first, which STREAM does not count.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"
#include "identity/cpulist.h"
#include "peaks/measure.h"

/* ---- caches of the CPUs, and free memory: of the node and of the cgroups of this process */

#define LEVELS 8 /* index0 to index7 of a CPU */

static int read_text(const char *path, char *buf, size_t size)
{
	ssize_t n = read_file(AT_FDCWD, path, buf, size);

	if (n < 0)
		return (int)n;
	buf[strcspn(buf, "\n")] = '\0';
	return 0;
}

/* "32768K" */
static uint64_t size_of(const char *text)
{
	char *end;
	uint64_t v = strtoull(text, &end, 10);

	return *end == 'M' ? v << 20 : *end == 'K' ? v << 10 : v;
}

static bool is_earlier(const char *list, const int *cpus, unsigned n)
{
	uint64_t bits[1024] = {0}; /* 65536 CPUs */

	if (cpulist__read(list, bits, 65536) < 0)
		return false;
	for (unsigned i = 0; i < n; i++)
		if (bits[cpus[i] / 64] >> (cpus[i] % 64) & 1)
			return true;
	return false;
}

/* The cache of cpus[n], unless one of the CPUs before has it too. */
static uint64_t cache_of(const char *sys, const int *cpus, unsigned n)
{
	char dir[PATH_MAX], path[PATH_MAX + 32], text[4096], shared[4096] = "";
	uint64_t size = 0, highest = 0, level;

	for (unsigned i = 0; i < LEVELS; i++) {
		snprintf(dir, sizeof(dir), "%s/devices/system/cpu/cpu%d/cache/index%u", sys,
			 cpus[n], i);
		snprintf(path, sizeof(path), "%s/level", dir);
		if (read_file_u64(AT_FDCWD, path, &level) || level < highest)
			continue;
		snprintf(path, sizeof(path), "%s/size", dir);
		if (read_text(path, text, sizeof(text)))
			continue;
		size = size_of(text);
		highest = level;
		snprintf(path, sizeof(path), "%s/shared_cpu_list", dir);
		if (read_text(path, shared, sizeof(shared)))
			shared[0] = '\0';
	}
	return is_earlier(shared, cpus, n) ? 0 : size;
}

uint64_t node_memory__caches(const char *sys, const int *cpus, unsigned ncpus)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < ncpus; i++)
		sum += cache_of(sys, cpus, i);
	return sum;
}

static uint64_t node_free(void)
{
	_cleanup_fclose_ FILE *f = fopen("/proc/meminfo", "re");
	unsigned long long kib = 0;
	char line[256];

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "MemAvailable: %llu kB", &kib) == 1)
			break;
	return kib << 10;
}

/* limit less usage of DIR, UINT64_MAX: there is no limit. */
static uint64_t left_in(const char *dir, const char *limit, const char *usage)
{
	char path[PATH_MAX + 64];
	uint64_t most, used;

	snprintf(path, sizeof(path), "%s/%s", dir, limit);
	if (read_file_u64(AT_FDCWD, path, &most) || most == UINT64_MAX)
		return UINT64_MAX;
	snprintf(path, sizeof(path), "%s/%s", dir, usage);
	if (read_file_u64(AT_FDCWD, path, &used))
		used = 0;
	return most > used ? most - used : 0;
}

/* The least that a cgroup of this line of /proc/self/cgroup, or one above it, leaves. */
static uint64_t left_by(const char *line)
{
	bool v1 = strstr(line, ":memory:") != NULL;
	const char *at = strrchr(line, ':');
	char dir[PATH_MAX];
	uint64_t least = UINT64_MAX, left;
	char *slash;

	if (!at || (!v1 && !str__starts(line, "0::")))
		return UINT64_MAX;
	snprintf(dir, sizeof(dir), "/sys/fs/cgroup%s%.*s", v1 ? "/memory" : "",
		 (int)strcspn(at + 1, "\n"), at + 1);
	while ((slash = strrchr(dir, '/')) && strlen(dir) > strlen("/sys/fs/cgroup")) {
		left = v1 ? left_in(dir, "memory.limit_in_bytes", "memory.usage_in_bytes")
			  : left_in(dir, "memory.max", "memory.current");
		least = left < least ? left : least;
		*slash = '\0';
	}
	return least;
}

/* Bytes that this process may take: the node's free memory, or what its cgroups leave. */
static uint64_t node_memory_free(void)
{
	_cleanup_fclose_ FILE *f = fopen("/proc/self/cgroup", "re");
	uint64_t least = node_free(), left;
	char line[PATH_MAX];

	while (f && fgets(line, sizeof(line), f)) {
		left = left_by(line);
		least = left < least ? left : least;
	}
	return least;
}

#define ARRAYS	    3
#define CACHES	    4		  /* an array is that many times the last-level caches */
#define ARRAY_MIN   (64ull << 20) /* B; STREAM asks for 10 million elements, this is 8 */
#define MEMORY_PART 4		  /* the arrays take a quarter of what is free at most */
#define SLICE_UNIT  (2ull << 20)  /* B: a huge page */
#define PAD	    1088	  /* B: arrays do not begin at the same offset of a page */
#define PASS_S	    0.1

typedef double vec __attribute__((vector_size(16)));

#ifdef __SSE2__
#include <emmintrin.h>
#define STORES		"stores that bypass the caches"
#define STORE(to, what) _mm_stream_pd((double *)(to), what)
#else
#define STORES		"usual stores"
#define STORE(to, what) (*(to) = (what))
#endif

struct slice {
	char *map; /* NULL: there was no memory */
	size_t map_len;
	vec *a, *b, *c;
};

struct triad {
	struct slice *slice;
	size_t len;	 /* of a slice of each array, in vec */
	unsigned sweeps; /* in a pass */
};

static void make_slice(void *ctx, unsigned i)
{
	struct triad *t = ctx;
	struct slice *s = &t->slice[i];
	size_t bytes = t->len * sizeof(vec);
	char *map;

	s->map_len = ARRAYS * (bytes + PAD) + SLICE_UNIT;
	map = mmap(NULL, s->map_len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (map == MAP_FAILED)
		return;
	madvise(map, s->map_len, MADV_HUGEPAGE);
	s->map = map;
	s->a = (void *)map;
	s->b = (void *)(map + bytes + PAD);
	s->c = (void *)(map + 2 * (bytes + PAD));
	for (size_t k = 0; k < t->len; k++) {
		s->a[k] = (vec){0, 0};
		s->b[k] = (vec){2, 2};
		s->c[k] = (vec){1, 1};
	}
}

static void sweep(void *ctx, unsigned i)
{
	const struct triad *t = ctx;
	vec *a = t->slice[i].a;
	const vec *b = t->slice[i].b, *c = t->slice[i].c;
	const vec factor = {3, 3};

	for (unsigned s = 0; s < t->sweeps; s++)
		for (size_t k = 0; k < t->len; k++)
			STORE(&a[k], b[k] + factor * c[k]);
}

static bool has_slices(const struct triad *t, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (!t->slice[i].map)
			return false;
	return true;
}

static void measure_passes(struct triad *t, const struct measure_opts *o, struct measure *m)
{
	uint64_t began = clock__mono_ns();
	struct crew_time time;
	int err;

	t->sweeps = 1;
	err = crew__run(o->cpus, o->ncpus, sweep, t, &time); /* a warm-up */
	if (!err && time.seconds < PASS_S)
		t->sweeps = (unsigned)(PASS_S / time.seconds) + 1;
	while (!err && measure__goes_on(m, o, began)) {
		err = crew__run(o->cpus, o->ncpus, sweep, t, &time);
		if (err)
			break;
		m->pass[m->npasses++] =
			(double)t->len * ARRAYS * sizeof(vec) * o->ncpus * t->sweeps / time.seconds;
		m->cpu_share += time.cpu_share;
	}
	if (m->npasses)
		m->cpu_share /= m->npasses;
	if (err)
		measure__fail(m, "threads: %s", strerror(-err));
}

/* Returns the size of one array, over all threads, in B; 0: there is too little memory, and m says
 * so. */
static uint64_t array_bytes(const struct measure_opts *o, struct measure *m)
{
	uint64_t caches = node_memory__caches(o->sys, o->cpus, o->ncpus);
	uint64_t free_bytes = node_memory_free(), bytes = CACHES * caches;
	uint64_t most = free_bytes / MEMORY_PART / ARRAYS, least = SLICE_UNIT * o->ncpus;

	if (bytes < ARRAY_MIN)
		bytes = ARRAY_MIN;
	if (bytes < least)
		bytes = least;
	if (bytes > most)
		bytes = most;
	if (bytes >= least && bytes > caches)
		return bytes;
	measure__fail(m,
		      "%.0f MB of memory are free for this process: too few for arrays beyond "
		      "the caches of %.0f MB",
		      (double)free_bytes / 1e6, (double)caches / 1e6);
	return 0;
}

void memory__measure(const struct measure_opts *o, struct measure *m)
{
	struct triad t = {.slice = calloc(o->ncpus, sizeof(*t.slice))};
	uint64_t bytes = array_bytes(o, m);
	struct crew_time time;
	int err;

	t.len = bytes / o->ncpus / SLICE_UNIT * SLICE_UNIT / sizeof(vec);
	if (!bytes || !t.slice)
		goto out;
	err = crew__run(o->cpus, o->ncpus, make_slice, &t, &time);
	if (err)
		measure__fail(m, "threads: %s", strerror(-err));
	else if (!has_slices(&t, o->ncpus))
		measure__fail(m, "arrays of %.0f MB: %s", (double)bytes / 1e6, strerror(ENOMEM));
	else
		measure_passes(&t, o, m);
	snprintf(m->how, sizeof(m->how),
		 "triad, %d arrays of %.0f MiB, %s; 24 B an element, as STREAM counts", ARRAYS,
		 (double)(t.len * sizeof(vec) * o->ncpus) / (1 << 20), STORES);
	for (unsigned i = 0; i < o->ncpus; i++)
		if (t.slice[i].map)
			munmap(t.slice[i].map, t.slice[i].map_len);
out:
	if (!t.slice)
		measure__fail(m, "%s", strerror(ENOMEM));
	free(t.slice);
}
