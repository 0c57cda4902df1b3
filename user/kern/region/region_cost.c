// SPDX-License-Identifier: GPL-2.0-only
/* What a probe on a function takes from the thread that comes there: a function of this program is
 * called with the probes. Without them a call takes some 2 ns, of thousands; that is not taken off,
 * as another jobprof may have its probes on the same function then. */
#include <errno.h>
#include <link.h>
#include <math.h>
#include <unistd.h>

#include "base/clock.h"
#include "kern/internal.h"
#include "kern/region/region.h"

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

int kern_region_calibrate(struct kern *k)
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
