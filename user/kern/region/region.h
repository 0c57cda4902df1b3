/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Probes on the functions of programs that are regions. Part of user/kern. */
#ifndef JP_KERN_REGION_H
#define JP_KERN_REGION_H

#include "kern/kern.h"

/* Places of a file that get a probe each, all of one kind. */
struct region_probes {
	uint64_t *offsets, *semaphores, *cookies;
	unsigned n;
	bool on_return;
};

/* The links of a region's probes. */
struct region_links {
	int *fd;
	unsigned n;
};

/* Whether this kernel supports such probes: 0, or -errno with the reason in kern__error(). */
int kern_region_probe(const struct kern_opts *o);
/* Measures what a probe costs, and attaches all probes. 0, or -errno; kern__error() names the
 * region and the reason. */
int kern_region_start(struct kern *k);
void kern_region_stop(struct kern *k);

/* Finds out, from k->btf, whether one link takes many probes. */
void kern_region_choose(struct kern *k);
/* Prepares the program p, which the probes execute, before it is loaded. */
struct bpf_program;
void kern_region_load(const struct kern *k, struct bpf_program *p);

/* Attaches the probes, and appends their links to l. 0 or -errno. */
int kern_region_link(const struct kern *k, const char *path, const struct region_probes *p,
		     struct region_links *l);

/* Opens the ring of crossings, which also wakes a process that waits for events. 0 or -errno, with
 * the reason in kern__error(). */
int kern_region_open_ring(struct kern *k);

/* Attaches a probe that belongs to no region, at the entry of the function there or on its return.
 * Returns a link or -errno. */
int kern_region_probe_at(const struct kern *k, const char *path, uint64_t offset, bool end);

#endif
