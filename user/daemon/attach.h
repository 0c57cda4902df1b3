/* SPDX-License-Identifier: GPL-2.0-only */
/* The kernel side's programs: attached while a step needs them; cgroups that they have not seen are
 * looked for. */
#ifndef JP_DAEMON_ATTACH_H
#define JP_DAEMON_ATTACH_H

#include <stdbool.h>
#include <stdint.h>

struct daemon;
struct kern;

/* 0; -errno: logged. */
int daemon_attach(struct kern *k);
/* Looks at all cgroups: those that have no slot get one. */
void daemon_rescan(struct daemon *d, uint64_t now);
/* Cgroups that found all slots taken are looked for when some have been given back. */
void daemon_place_late(struct daemon *d, uint64_t now);
/* Detaches when no step has been there for a while. */
void daemon_detach_idle(struct daemon *d, uint64_t now);
/* Some slot counts for a step that is not ignored. */
bool daemon_counts_any(const struct daemon *d);

#endif
