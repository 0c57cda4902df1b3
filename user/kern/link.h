/* SPDX-License-Identifier: GPL-2.0-only */
/* Programs on their events, and iterator programs. Part of user/kern. */
#ifndef JP_KERN_LINK_H
#define JP_KERN_LINK_H

#include <sys/types.h>

#include "kern/tables.h"

/* Puts the program on its event; pinned where the others are. */
int kern_attach_one(struct kern *k, enum kern_program p);
/* Where the link is pinned. */
void kern_link_path(const struct kern *k, enum kern_program p, char *out, size_t len);
/* Id of an event "group/name" of tracefs, or -errno. */
int kern_event_id(const char *event);
/* A link from the event to a loaded program, or -errno. */
int kern_link_event(const char *event, int prog_fd);
/* A link from the root of cgroup v2 to P_SKB_IN or P_SKB_OUT, loaded; or -errno. */
int kern_link_packets(enum kern_program p, int prog_fd);
/* fd of a fresh pass over the tasks of the node: struct jp_task_rec records. Or -errno. */
int kern_iter(struct kern *k);
/* Tells the programs where each CPU's copy of a per-CPU variable is. 0: also where the kernel does
 * not say. */
int kern_offsets(struct kern *k);
/* Notes what steps have used unseen: called when the programs have just been attached. */
void kern_note_missed(struct kern *k);
/* The process counts for the collector from its beginning. */
int kern_track_pid(struct kern *k, pid_t pid);

#endif
