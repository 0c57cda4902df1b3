/* SPDX-License-Identifier: GPL-2.0-only */
/* The kernel side as the daemon follows it: programs are attached while a step needs them, cgroups
 * that they have not seen are looked for, and their events are taken. */
#ifndef JP_DAEMON_FOLLOW_KERNEL_H
#define JP_DAEMON_FOLLOW_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

struct daemon;
struct kern;

/* Attaches the programs unless they are. 0; -errno: logged. */
int daemon_attach(struct kern *k);
/* Walks over all cgroups: those that have no slot get one. */
void daemon_rescan(struct daemon *d, uint64_t now);
/* Walks over all cgroups when some found no slot and slots have been given back since. */
void daemon_place_late(struct daemon *d, uint64_t now);
/* Logs what the kernel side could not count, when it becomes more. */
void daemon_note_losses(struct daemon *d, uint64_t now);
/* Text of the kind of loss, for n of it: what is not counted, and what to do. */
const char *kernel_loss__text(unsigned kind, uint64_t n);
/* Detaches the programs when there has been no step for a while. */
void daemon_detach_idle(struct daemon *d, uint64_t now);
/* Takes what the kernel side has reported since the last turn: steps that begin, tasks that end.
 * Attaches the programs when a step begins. */
void daemon_take_events(struct daemon *d, uint64_t now);

#endif
