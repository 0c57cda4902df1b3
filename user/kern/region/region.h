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

/* Links that the probes of a region are. */
struct region_links {
	int *fd;
	unsigned n;
};

/* Whether this kernel can: 0, or -errno and kern__error() says why. */
int kern_region_probe(const struct kern_opts *o);
/* Measures what a probe costs, and puts all on their places. 0, or -errno and kern__error() says
 * which region failed and why. */
int kern_region_start(struct kern *k);
void kern_region_stop(struct kern *k);

/* Finds out, from k->btf, whether one link takes many probes. */
void kern_region_choose(struct kern *k);
/* Before the program p is loaded, which the probes execute. */
struct bpf_program;
void kern_region_load(const struct kern *k, struct bpf_program *p);

/* Puts the probes on their places, and their links after those of l. 0 or -errno. */
int kern_region_link(const struct kern *k, const char *path, const struct region_probes *p,
		     struct region_links *l);

/* Opens the ring of crossings; who waits for events is woken by it, too. 0 or -errno, said. */
int kern_region_open_ring(struct kern *k);

/* A link to a probe that belongs to no region, at the entry of the function there or on its return.
 * -errno. */
int kern_region_probe_at(const struct kern *k, const char *path, uint64_t offset, bool end);

#endif
