// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A disk or file system, through a scratch file that has no name: sequential writes and reads of
 * 1 MiB, and random reads of 4 KiB. Several threads keep requests in flight, since one request at a
 * time measures a latency. Requests are direct; where the file system refuses these, they go
 * through the page cache, which is flushed or dropped in each pass, and the result says so.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io_full.h"
#include "peaks/measure.h"

#define BLOCK	   (1u << 20)
#define SMALL	   4096u
#define BLOCKS_MIN 16u
#define SPACE_PART 4 /* the file takes a quarter of what is free at most */
#define FLIGHT_MAX 16u
#define PASS_MAX_S 1.0
#define FILL_PART  0.25 /* of the time goes to the first writing, which finds room for blocks */

struct kind {
	const char *what;
	unsigned size, flight;
	bool write, random;
	bool per_request; /* the rate is of requests, not of bytes */
};

static const struct kind kinds[] = {
	{"writes of 1 MiB", BLOCK, 4, true, false, false},
	{"reads of 1 MiB", BLOCK, 4, false, false, false},
	{"random reads of 4 KiB", SMALL, FLIGHT_MAX, false, true, true},
};

#define KINDS ((unsigned)(sizeof(kinds) / sizeof(kinds[0])))

struct disk {
	int fd;
	bool direct;
	unsigned blocks; /* of the file */
	char *buffer[FLIGHT_MAX];
	/* of a pass */
	const struct kind *kind;
	uint64_t end_ns, most; /* it ends then, or after that many requests */
	atomic_ullong next, done;
	atomic_int err;
};

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static void work(void *ctx, unsigned i)
{
	struct disk *d = ctx;
	const struct kind *k = d->kind;
	uint64_t state = clock__mono_ns() * 2 + i * 0x9e3779b97f4a7c15u + 1;
	uint64_t n, at, room = (uint64_t)d->blocks * BLOCK / k->size;
	ssize_t ret;

	while (!atomic_load(&d->err) && clock__mono_ns() < d->end_ns) {
		n = atomic_fetch_add(&d->next, 1);
		if (n >= d->most)
			break;
		at = (k->random ? next_random(&state) : n) % room * k->size;
		if (k->write)
			ret = pwrite_full(d->fd, d->buffer[i], k->size, at);
		else
			ret = pread_full(d->fd, d->buffer[i], k->size, at);
		if (ret < 0 || (!k->write && ret != k->size))
			atomic_store(&d->err, ret < 0 ? (int)ret : -EIO);
		else
			atomic_fetch_add(&d->done, 1);
	}
	if (k->write && !d->direct && fdatasync(d->fd))
		atomic_store(&d->err, -errno);
}

/* One pass of at most that many seconds and requests; the rate is in *rate. 0 or -errno. */
static int run_pass(struct disk *d, const struct kind *k, double seconds, uint64_t most,
		    double *rate)
{
	struct crew_time time = {0};
	int err;

	d->kind = k;
	d->most = most;
	atomic_store(&d->next, 0);
	atomic_store(&d->done, 0);
	if (!d->direct && !k->write)
		posix_fadvise(d->fd, 0, 0, POSIX_FADV_DONTNEED);
	d->end_ns = clock__mono_ns() + (uint64_t)(seconds * NSEC_PER_SEC);
	err = crew__run(NULL, k->flight, work, d, &time);
	if (!err)
		err = atomic_load(&d->err);
	*rate = (double)atomic_load(&d->done) * (k->per_request ? 1 : k->size) / time.seconds;
	return err;
}

/* A file without a name, so that nothing is left of it. An fd or -errno. */
static int open_unnamed(const char *dir, int flags)
{
	int fd = open(dir, O_RDWR | O_TMPFILE | O_CLOEXEC | flags, 0600);
	char path[PATH_MAX];

	if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL))
		return fd >= 0 ? fd : -errno;
	if (snprintf(path, sizeof(path), "%s/jobprof-calibrate.XXXXXX", dir) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	fd = mkostemp(path, O_CLOEXEC | flags);
	if (fd < 0)
		return -errno;
	unlink(path);
	return fd;
}

static int open_file(struct disk *d, const char *dir)
{
	d->direct = true;
	d->fd = open_unnamed(dir, O_DIRECT);
	if (d->fd == -EINVAL || d->fd == -EOPNOTSUPP) {
		d->direct = false;
		d->fd = open_unnamed(dir, 0);
	}
	return d->fd < 0 ? d->fd : 0;
}

/* What a file system could compress or leave out is not what a job writes: bytes are random. */
static int make_buffers(struct disk *d)
{
	uint64_t state = clock__mono_ns() | 1, word;

	for (unsigned i = 0; i < FLIGHT_MAX; i++) {
		if (posix_memalign((void **)&d->buffer[i], SMALL, BLOCK)) {
			d->buffer[i] = NULL;
			return -ENOMEM;
		}
		for (unsigned at = 0; at < BLOCK; at += sizeof(word)) {
			word = next_random(&state);
			memcpy(d->buffer[i] + at, &word, sizeof(word));
		}
	}
	return 0;
}

/* Writes the file for the first time. 0 or -errno. */
static int fill_scratch(struct disk *d, const struct measure_opts *o)
{
	struct statvfs st;
	uint64_t bytes = o->file_bytes, room;
	double rate;
	int err;

	if (fstatvfs(d->fd, &st))
		return -errno;
	room = (uint64_t)st.f_bavail * st.f_frsize / SPACE_PART;
	d->blocks = (unsigned)((bytes < room ? bytes : room) / BLOCK);
	if (d->blocks < BLOCKS_MIN)
		return -ENOSPC;
	err = run_pass(d, &kinds[0], o->seconds * FILL_PART, d->blocks, &rate);
	/* Each request that was begun is done: the file has no hole. */
	if (!err)
		d->blocks = (unsigned)atomic_load(&d->done);
	return !err && !d->blocks ? -ETIMEDOUT : err;
}

static void measure_kind(struct disk *d, const struct kind *k, const struct measure_opts *o,
			 struct measure *m)
{
	double seconds = o->seconds * (1 - FILL_PART) / KINDS / o->passes, rate;
	/* What the page cache took in is not asked for again. */
	uint64_t most = d->direct ? UINT64_MAX : (uint64_t)d->blocks * BLOCK / k->size;
	uint64_t began = clock__mono_ns();
	int err = 0;

	if (seconds > PASS_MAX_S)
		seconds = PASS_MAX_S;
	while (!err && measure__goes_on(m, o, began)) {
		err = run_pass(d, k, seconds, most, &rate);
		if (!err)
			m->pass[m->npasses++] = rate;
	}
	if (err)
		measure__fail(m, "%s: %s: %s", o->dir, k->what, strerror(-err));
	snprintf(m->how, sizeof(m->how), "%s, %u in flight, %s, file of %u MiB in %.80s", k->what,
		 k->flight, d->direct ? "direct" : "not direct, which is refused there: page cache",
		 d->blocks, o->dir);
}

static void release(struct disk *d)
{
	for (unsigned i = 0; i < FLIGHT_MAX; i++)
		free(d->buffer[i]);
	if (d->fd >= 0)
		close(d->fd);
}

void disk__measure(const struct measure_opts *o, struct measure *m)
{
	struct disk d = {.fd = -1};
	int err = open_file(&d, o->dir);

	if (!err)
		err = make_buffers(&d);
	if (!err)
		err = fill_scratch(&d, o);
	for (unsigned i = 0; i < KINDS; i++) {
		if (err)
			measure__fail(&m[i], "%s: a scratch file cannot be written: %s", o->dir,
				      strerror(-err));
		else
			measure_kind(&d, &kinds[i], o, &m[i]);
	}
	release(&d);
}
