// SPDX-License-Identifier: GPL-2.0-only
/* Reads the ring of a process's regions. */
#include "daemon/step/region_ring.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "client/column.h"

#define AT_ONCE 256 /* records */
#define AT_MOST (2 * JPC_RING_RECORDS)
#define ALL_MAX (UINT64_C(1) << 48) /* more have not been: nonsense */

int region_ring__make(struct region_ring **out)
{
	struct region_ring *r = calloc(1, sizeof(*r));
	int err = 0;

	if (!r)
		return -ENOMEM;
	r->fd = memfd_create("jobprof regions", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (r->fd < 0 || ftruncate(r->fd, sizeof(struct jpc_ring)) ||
	    fcntl(r->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		err = -errno;
	if (err) {
		region_ring__free(r);
		return err;
	}
	*out = r;
	return 0;
}

void region_ring__free(struct region_ring *r)
{
	if (!r)
		return;
	if (r->fd >= 0)
		close(r->fd);
	free(r);
}

static bool read_at(const struct region_ring *r, void *to, size_t len, size_t at)
{
	return pread(r->fd, to, len, (off_t)at) == (ssize_t)len;
}

struct pass {
	uint64_t from_ns, now_ns;
	region_fn fn;
	void *ctx;
};

static void take_record(struct region_ring *r, const struct jpc_record *rec, const struct pass *p)
{
	const struct region_mark m = {rec->time_ns, rec->thread, 0, rec->region & ~JPC_REGION_END,
				      THREAD_USED_UNKNOWN};
	struct region_mark begin;

	if (m.time_ns < p->from_ns || m.time_ns > p->now_ns || m.region >= JPC_REGIONS)
		region_pairs__lose(&r->pairs, 1);
	else if (!(rec->region & JPC_REGION_END))
		region_pairs__begin(&r->pairs, &m);
	else if (region_pairs__end(&r->pairs, &m, &begin))
		p->fn(p->ctx,
		      &(struct region_instance){rec->thread, m.region, begin.time_ns, m.time_ns});
}

/* The records from r->next on, at most n, that are there once. Returns how many. */
static uint64_t read_some(const struct region_ring *r, struct jpc_record *to, uint64_t n)
{
	uint64_t at = r->next % JPC_RING_RECORDS;

	if (n > AT_ONCE)
		n = AT_ONCE;
	if (n > JPC_RING_RECORDS - at)
		n = JPC_RING_RECORDS - at;
	return read_at(r, to, n * sizeof(*to), offsetof(struct jpc_ring, record[at])) ? n : 0;
}

/* Skips what has been overwritten. False: there is nothing more, or nothing that can be. */
static bool find_next(struct region_ring *r, uint64_t *head)
{
	if (!read_at(r, head, sizeof(*head), offsetof(struct jpc_ring, head)) || *head <= r->next ||
	    *head > ALL_MAX)
		return false;
	if (*head - r->next > JPC_RING_RECORDS) {
		region_pairs__lose(&r->pairs, *head - r->next - JPC_RING_RECORDS);
		r->next = *head - JPC_RING_RECORDS;
	}
	return true;
}

/* Whether none of the records that were just read may have been overwritten meanwhile. */
static bool are_there(const struct region_ring *r)
{
	uint64_t head;

	return read_at(r, &head, sizeof(head), offsetof(struct jpc_ring, head)) &&
	       head - r->next <= JPC_RING_RECORDS;
}

/* False: a record is not whole yet. It is waited for until the next pass, and then lost. */
static bool take_next(struct region_ring *r, const struct jpc_record *rec, const struct pass *p)
{
	if (rec->seq == r->next + 1) {
		take_record(r, rec, p);
	} else if (r->stuck == r->next + 1) {
		region_pairs__lose(&r->pairs, 1);
	} else {
		r->stuck = r->next + 1;
		return false;
	}
	r->next++;
	return true;
}

static uint64_t read_number(const struct region_ring *r, size_t at)
{
	uint64_t n;

	return read_at(r, &n, sizeof(n), at) ? n : 0;
}

bool region_ring__meet(struct region_ring *r)
{
	if (r->id)
		return false;
	r->id = read_number(r, offsetof(struct jpc_ring, id));
	if (r->id)
		r->known = read_number(r, offsetof(struct jpc_ring, before)) -
			   read_number(r, offsetof(struct jpc_ring, lost));
	return r->id;
}

uint64_t region_ring__settled(const struct region_ring *r)
{
	return r->known + r->lost_early + r->next - r->pairs.nopen;
}

/* A libjobprof that gives no id says what is lost alone. */
static void count_early(struct region_ring *r)
{
	uint64_t early = r->id ? read_number(r, offsetof(struct jpc_ring, before)) - r->known
			       : read_number(r, offsetof(struct jpc_ring, lost));

	if (early <= r->lost_early || early > ALL_MAX)
		return;
	r->pairs.lost += early - r->lost_early;
	r->lost_early = early;
}

/* A writer that fills the ring all the time is not followed for ever. */
uint64_t region_ring__read(struct region_ring *r, uint64_t from_ns, uint64_t now_ns, region_fn fn,
			   void *ctx)
{
	const struct pass p = {from_ns, now_ns, fn, ctx};
	struct jpc_record rec[AT_ONCE];
	uint64_t head, n, i, read = 0;
	bool whole = true;

	count_early(r);
	while (whole && read < AT_MOST && find_next(r, &head)) {
		n = read_some(r, rec, head - r->next);
		if (!n)
			break;
		read += n;
		if (!are_there(r))
			continue;
		for (i = 0; whole && i < n; i++)
			whole = take_next(r, &rec[i], &p);
	}
	if (pwrite(r->fd, &r->next, sizeof(r->next), offsetof(struct jpc_ring, read)) < 0)
		return read; /* a word for the process, of no use to us */
	return read;
}

bool region_ring__name(const struct region_ring *r, uint32_t region, char name[64])
{
	char raw[64];

	if (region >= JPC_REGIONS ||
	    !read_at(r, raw, sizeof(raw), offsetof(struct jpc_ring, name) + region * sizeof(raw)) ||
	    !memchr(raw, 0, sizeof(raw)))
		return false;
	return !column__mark_name(name, raw);
}
