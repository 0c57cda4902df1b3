/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Probes on the functions of programs: puts them on, counts them, and takes them away. */
#include "kern/region/region.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <link.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "kern/internal.h"

/* ---- what a probe on a function takes from the thread that comes there: a function of this
 * program is called with the probes. Without them a call takes some 2 ns, of thousands; that is not
 * taken off, as another jobprof may have its probes on the same function then */

#define BURSTS 8
#define CALLS  32 /* of a burst, which is over before the tick or another task disturbs it */

static volatile unsigned called;

/* Its first instruction is none that the kernel can do itself, so that it costs two exceptions. */
__attribute__((noinline, noclone)) static void trial(void)
{
	called += 1;
}

struct place {
	uintptr_t address;
	uint64_t offset; /* in the file */
};

static int find_offset(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct place *at = arg;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t begin = info->dlpi_addr + p->p_vaddr;

		if (p->p_type != PT_LOAD || at->address < begin ||
		    at->address - begin >= p->p_filesz)
			continue;
		at->offset = at->address - begin + p->p_offset;
		return 1;
	}
	return 0;
}

/* ns of a call: the quickest burst's mean, that of others is disturbed. */
static double call_ns(void)
{
	double least = INFINITY;

	for (int burst = 0; burst < BURSTS; burst++) {
		uint64_t from = clock__mono_ns();

		for (int i = 0; i < CALLS; i++)
			trial();
		least = fmin(least, (double)(clock__mono_ns() - from) / CALLS);
	}
	return least;
}

/* Measures k->trap_ns: some 20 ms. 0; -errno: no probe can be put on a program's function. */
static int kern_region_calibrate(struct kern *k)
{
	struct place at = {(uintptr_t)trial, 0};
	int begin, end, err;

	if (!dl_iterate_phdr(find_offset, &at))
		return -ENOENT;
	end = kern_region_probe_at(k, "/proc/self/exe", at.offset, true);
	begin = kern_region_probe_at(k, "/proc/self/exe", at.offset, false);
	err = begin < 0 ? begin : end < 0 ? end : 0;
	k->trap_ns = err ? 0 : call_ns() / 2;
	kern_close_fd(&begin);
	kern_close_fd(&end);
	return err;
}

static int on_crossing(void *ctx, void *data, size_t len)
{
	const struct kern *k = ctx;

	if (len >= sizeof(struct jp_crossing) && k->crossing_fn)
		k->crossing_fn(data, k->crossing_ctx);
	return 0;
}

int kern_region_open_ring(struct kern *k)
{
	struct epoll_event e = {.events = EPOLLIN};

	if (k->map[M_CROSSINGS] < 0)
		return 0;
	k->crossing_ring = ring_buffer__new(k->map[M_CROSSINGS], on_crossing, k, NULL);
	if (!k->crossing_ring)
		return kern_fail(-errno, "cannot read the ring of regions: %s", strerror(errno));
	epoll_ctl(ring_buffer__epoll_fd(k->ring), EPOLL_CTL_ADD,
		  ring_buffer__epoll_fd(k->crossing_ring), &e);
	return 0;
}

void kern__take_crossings(struct kern *k, void (*fn)(const struct jp_crossing *c, void *ctx),
			  void *ctx)
{
	k->crossing_fn = fn;
	k->crossing_ctx = ctx;
	if (k->crossing_ring)
		ring_buffer__consume(k->crossing_ring);
}

/* The probes where threads begin a region, or end it. */
static void choose_probes(struct region_probes *p, const struct kern_region *r, uint32_t number,
			  bool end)
{
	p->n = 0;
	p->on_return = false;
	for (unsigned i = 0; i < r->nplaces; i++) {
		const struct kern_region_place *at = &r->places[i];
		bool call = at->kind == KERN_REGION_CALL;

		if (at->kind == (end ? KERN_REGION_BEGIN : KERN_REGION_END))
			continue;
		p->on_return |= call && end;
		p->offsets[p->n] = at->offset;
		p->semaphores[p->n] = at->semaphore;
		p->cookies[p->n++] = number | (call ? JP_REGION_CALL : 0) |
				     (r->wait ? JP_REGION_WAIT : 0) | (end ? JP_REGION_END : 0);
	}
}

static int add_probes(const struct kern *k, struct region_links *l, uint32_t number)
{
	const struct kern_region *r = &k->opts.regions[number];
	const size_t n = r->nplaces;
	_cleanup_free_ uint64_t *room = calloc(3 * n + 1, sizeof(*room));
	struct region_probes p;
	char path[32];
	int err = 0;

	l->fd = calloc(2 * n + 1, sizeof(*l->fd));
	if (!l->fd || !room)
		return -ENOMEM;
	p = (struct region_probes){room, room + n, room + 2 * n, 0, false};
	/* the file that was looked at, whatever has its name by now */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", r->fd);
	/* the return first: a call that is seen to begin is seen to end */
	for (int end = 1; !err && end >= 0; end--) {
		choose_probes(&p, r, number, end);
		err = p.n ? kern_region_link(k, path, &p, l) : 0;
	}
	return err;
}

#define NOT_SUPPORTED 524 /* the kernel's ENOTSUPP, which has no name for programs */

static const char *advice(int err)
{
	return err == -NOT_SUPPORTED
		       ? ": the kernel puts no probe on one of its functions: name others"
	       : err == -EINVAL || err == -EOPNOTSUPP
		       ? ": the kernel puts no probe on this instruction: choose another function"
		       : "";
}

int kern_region_start(struct kern *k)
{
	int err = 0;

	if (!k->opts.nregions || k->region_links)
		return 0;
	err = kern_region_calibrate(k);
	if (err)
		return kern_fail(err,
				 "cannot put a probe on a function of jobprof itself: %s: no "
				 "function can be a region here",
				 strerror(-err));
	k->region_links = calloc(k->opts.nregions, sizeof(*k->region_links));
	if (!k->region_links)
		return kern_fail(-ENOMEM, "out of memory");
	for (unsigned i = 0; !err && i < k->opts.nregions; i++) {
		err = add_probes(k, &k->region_links[i], i);
		if (err)
			kern_fail(err, "cannot put a probe on region %s: %s%s",
				  k->opts.regions[i].name, strerror(-err), advice(err));
	}
	if (err)
		kern_region_stop(k);
	else if (k->control)
		k->control->calls_from = 0;
	return err;
}

/* Of more places the probes do not come back where each is a link of its own: to take it away lasts
 * a tenth of a second. */
#define PLACES_MAX 4

/* Bursts end at calls only while all probes on calls that are waits are there. */
static void see_calls(struct kern *k)
{
	bool paused = false;

	for (unsigned i = 0; i < k->opts.nregions; i++)
		paused |= k->opts.regions[i].wait && !k->region_links[i].n;
	if (k->control)
		k->control->calls_from =
			paused ? JP_CALLS_PAUSED
			       : clock__mono_ns() - (uint64_t)k->control->clock_behind_ns;
}

static void remove_probes(struct region_links *l)
{
	while (l->n)
		kern_close_fd(&l->fd[--l->n]);
	free(l->fd);
	l->fd = NULL;
}

void kern__pause_region(struct kern *k, unsigned region)
{
	if (!k->region_links)
		return;
	if (k->opts.regions[region].wait && k->control)
		k->control->calls_from = JP_CALLS_PAUSED;
	remove_probes(&k->region_links[region]);
}

int kern__resume_region(struct kern *k, unsigned region)
{
	struct region_links *l = k->region_links ? &k->region_links[region] : NULL;
	int err;

	if (!k->many_probes && k->opts.regions[region].nplaces > PLACES_MAX)
		return kern_fail(
			-EOPNOTSUPP,
			"the probes of region %s stay away: before Linux 6.6 each function "
			"has its own, and these are more than %d",
			k->opts.regions[region].name, PLACES_MAX);
	err = l ? add_probes(k, l, region) : -ENODEV;
	if (err && l)
		remove_probes(l);
	if (err)
		return kern_fail(err, "cannot put the probes of region %s back: %s",
				 k->opts.regions[region].name, strerror(-err));
	if (k->opts.regions[region].wait)
		see_calls(k);
	return 0;
}

void kern_region_stop(struct kern *k)
{
	for (unsigned i = 0; k->region_links && i < k->opts.nregions; i++)
		kern__pause_region(k, i);
	free(k->region_links);
	k->region_links = NULL;
}

uint64_t kern__traps(const struct kern *k, unsigned region)
{
	uint64_t n = 0;
	uint32_t key = region;

	return bpf_map_lookup_elem(k->map[M_TRAPS], &key, &n) ? 0 : n;
}

double kern__trap_ns(const struct kern *k)
{
	return k->trap_ns;
}
