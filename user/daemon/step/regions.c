/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Regions of programs: the ring of a process, executions, each made of a begin and an end, and what
 * is known of each process. */
#include "daemon/step/regions.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "client/column.h"
#include "journal/journal.h"

/* ---- makes executions of regions from begins and ends */

void region_pairs__begin(struct region_pairs *p, const struct region_mark *m)
{
	if (p->nopen == REGION_OPEN_MAX) { /* the oldest will not end any more */
		p->nopen--;
		p->lost++;
		memmove(&p->open[0], &p->open[1], p->nopen * sizeof(p->open[0]));
	}
	p->open[p->nopen++] = *m;
}

static bool fits(const struct region_mark *begin, const struct region_mark *end)
{
	return begin->thread == end->thread && begin->region == end->region &&
	       begin->frame == end->frame;
}

bool region_pairs__end(struct region_pairs *p, const struct region_mark *m,
		       struct region_mark *begin)
{
	unsigned at = p->nopen, i, kept;

	while (at > 0 && !fits(&p->open[at - 1], m))
		at--;
	if (!at || p->open[at - 1].time_ns > m->time_ns) {
		p->lost++;
		return false;
	}
	*begin = p->open[at - 1];
	for (i = kept = at - 1; i < p->nopen; i++) {
		if (p->open[i].thread != m->thread)
			p->open[kept++] = p->open[i];
		else
			p->lost += i != at - 1;
	}
	p->nopen = kept;
	return true;
}

void region_pairs__forget(struct region_pairs *p, uint32_t region)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < p->nopen; i++)
		if (p->open[i].region != region)
			p->open[kept++] = p->open[i];
	p->lost += p->nopen - kept;
	p->nopen = kept;
}

void region_pairs__lose(struct region_pairs *p, uint64_t n)
{
	p->lost += n + p->nopen;
	p->nopen = 0;
}

/* ---- what is known of the regions of a step's processes, in memory and in the journal */

#define KEY_ACCOUNT "region account" /* pid, id, settled */
#define KEY_LOST    "regions lost"
#define ACCOUNTS    2048 /* as many as there are connections: each process has one at most */

static bool has_ended(pid_t pid)
{
	return kill(pid, 0) && errno == ESRCH;
}

/* Most processes come in the order of the last time. */
static struct region_account *find_account(struct region_accounts *a, pid_t pid)
{
	unsigned i, at = a->next;

	for (i = 0; i < a->n; i++, at++) {
		if (at >= a->n)
			at = 0;
		if (a->of[at].pid != pid)
			continue;
		a->next = at + 1;
		return &a->of[at];
	}
	return NULL;
}

const struct region_account *region_accounts__find(struct region_accounts *a, pid_t pid,
						   uint64_t id)
{
	const struct region_account *of = find_account(a, pid);

	return of && of->id == id ? of : NULL;
}

/* Forgets processes that will not come back. What the journal does not know about them is written
 * first. */
static bool make_room(struct region_accounts *a)
{
	unsigned kept = 0, i;
	struct region_account *of;

	if (a->n < a->max)
		return true;
	for (i = 0; i < a->n; i++)
		if (a->of[i].is_new || !has_ended(a->of[i].pid))
			a->of[kept++] = a->of[i];
	a->n = kept;
	if (a->max && a->n <= a->max / 2)
		return true;
	if (a->max >= ACCOUNTS)
		return a->n < a->max;
	of = realloc(a->of, (a->max ? 2 * a->max : 16) * sizeof(*of));
	if (!of)
		return a->n < a->max;
	a->of = of;
	a->max = a->max ? 2 * a->max : 16;
	return true;
}

void region_accounts__set(struct region_accounts *a, pid_t pid, uint64_t id, uint64_t settled)
{
	struct region_account *of = find_account(a, pid);

	if (of && of->id == id && of->settled == settled)
		return;
	if (!of && make_room(a))
		of = &a->of[a->n++];
	if (of)
		*of = (struct region_account){id, settled, pid, true};
}

void region_accounts__free(struct region_accounts *a)
{
	free(a->of);
	memset(a, 0, sizeof(*a));
}

bool region_accounts__has_new(const struct region_accounts *a, uint64_t lost)
{
	for (unsigned i = 0; i < a->n; i++)
		if (a->of[i].is_new)
			return true;
	return a->lost_in_frame != lost;
}

void region_accounts__put(struct region_accounts *a, struct journal *j, uint64_t lost)
{
	char text[72];

	for (unsigned i = 0; i < a->n; i++) {
		const struct region_account *of = &a->of[i];

		if (!of->is_new)
			continue;
		snprintf(text, sizeof(text), "%d %" PRIu64 " %" PRIu64, of->pid, of->id,
			 of->settled);
		journal__meta(j, KEY_ACCOUNT, text);
	}
	snprintf(text, sizeof(text), "%" PRIu64, lost);
	if (lost != a->lost_in_frame)
		journal__meta(j, KEY_LOST, text);
	a->lost_in_frame = lost;
}

void region_accounts__end_frame(struct region_accounts *a, enum frame_end end)
{
	for (unsigned i = 0; i < a->n; i++)
		a->of[i].is_new = end != FRAME_WRITTEN;
	if (end != FRAME_WRITTEN)
		a->lost_in_frame = UINT64_MAX;
}

void region_accounts__remember(struct region_accounts *a, const char *key, const char *text,
			       uint64_t *lost)
{
	struct region_account *of;
	uint64_t id, settled;
	pid_t pid;

	if (!strcmp(key, KEY_LOST))
		a->lost_in_frame = *lost = strtoull(text, NULL, 10);
	if (strcmp(key, KEY_ACCOUNT) ||
	    sscanf(text, "%d %" SCNu64 " %" SCNu64, &pid, &id, &settled) != 3 || has_ended(pid))
		return;
	region_accounts__set(a, pid, id, settled);
	of = find_account(a, pid);
	if (of) /* else there was no memory */
		of->is_new = false;
}

/* ---- the ring is made, and read */

#define AT_ONCE 256		    /* records */
#define ALL_MAX (UINT64_C(1) << 48) /* more have not been: nonsense */

/* A file of memory whose size stays. */
static int make_file(int *fd, const char *name, size_t size)
{
	*fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (*fd < 0 || ftruncate(*fd, (off_t)size) ||
	    fcntl(*fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW))
		return -errno;
	return 0;
}

/* The word is written through this mapping alone, which nobody can keep waiting. */
static int make_word(struct region_ring *r)
{
	int err = make_file(&r->read_fd, "jobprof regions read", sizeof(*r->read));
	void *at;

	if (err)
		return err;
	at = mmap(NULL, sizeof(*r->read), PROT_READ | PROT_WRITE, MAP_SHARED, r->read_fd, 0);
	if (at == MAP_FAILED)
		return -errno;
	r->read = at;
	return fcntl(r->read_fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE | F_SEAL_SEAL) ? -errno : 0;
}

int region_ring__make(struct region_ring **out)
{
	struct region_ring *r = calloc(1, sizeof(*r));
	int err;

	if (!r)
		return -ENOMEM;
	r->read_fd = -1;
	err = make_file(&r->fd, "jobprof regions", sizeof(struct jpc_ring));
	if (!err && fcntl(r->fd, F_ADD_SEALS, F_SEAL_SEAL))
		err = -errno;
	if (!err)
		err = make_word(r);
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
	if (r->read)
		munmap(r->read, sizeof(*r->read));
	if (r->read_fd >= 0)
		close(r->read_fd);
	if (r->fd >= 0)
		close(r->fd);
	free(r);
}

void region_ring__given(struct region_ring *r)
{
	close(r->read_fd);
	r->read_fd = -1;
}

static bool read_at(const struct region_ring *r, void *to, size_t len, size_t at)
{
	return pread(r->fd, to, len, (off_t)at) == (ssize_t)len;
}

static void take_record(struct region_ring *r, const struct jpc_record *rec, uint64_t now_ns,
			const struct region_pass *p)
{
	const struct region_mark m = {rec->time_ns, rec->thread, 0, rec->region & ~JPC_REGION_END,
				      THREAD_USED_UNKNOWN};
	struct region_mark begin;

	if (m.time_ns < p->from_ns || m.time_ns > now_ns || m.region >= JPC_REGIONS)
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
static bool take_next(struct region_ring *r, const struct jpc_record *rec, uint64_t now_ns,
		      const struct region_pass *p)
{
	if (rec->seq == r->next + 1) {
		take_record(r, rec, now_ns, p);
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

/* A libjobprof that gives no id sends only the number of losses. */
static void count_early(struct region_ring *r)
{
	uint64_t early = r->id ? read_number(r, offsetof(struct jpc_ring, before)) - r->known
			       : read_number(r, offsetof(struct jpc_ring, lost));

	if (early <= r->lost_early || early > ALL_MAX)
		return;
	r->pairs.lost += early - r->lost_early;
	r->lost_early = early;
}

uint64_t region_ring__read(struct region_ring *r, const struct region_pass *p)
{
	struct jpc_record rec[AT_ONCE];
	uint64_t head, n, i, now_ns, read = 0;
	bool whole = true;

	count_early(r);
	while (whole && read < p->most && find_next(r, &head)) {
		n = head - r->next < p->most - read ? head - r->next : p->most - read;
		n = read_some(r, rec, n);
		if (!n)
			break;
		read += n;
		now_ns = clock__mono_ns(); /* a process writes while its ring is read */
		if (!are_there(r))
			continue;
		for (i = 0; whole && i < n; i++)
			whole = take_next(r, &rec[i], now_ns, p);
	}
	__atomic_store_n(r->read, r->next, __ATOMIC_RELAXED);
	return read;
}

void region_ring__end(struct region_ring *r)
{
	uint64_t head = read_number(r, offsetof(struct jpc_ring, head));
	uint64_t unread = head > r->next && head <= ALL_MAX ? head - r->next : 0;

	region_pairs__lose(&r->pairs, unread);
	r->next += unread;
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
