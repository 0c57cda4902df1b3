/* SPDX-License-Identifier: GPL-2.0-only */
/* Maps and programs on their way into the kernel, and back from their pins. Part of user/kern. */
#ifndef JP_KERN_LOAD_H
#define JP_KERN_LOAD_H

#include "kern/tables.h"

/* Loads maps and programs for the families of k and keeps them as file descriptors. */
int kern_load(struct kern *k);
/* What pinned maps must agree on to be taken over. */
uint64_t kern_shape(const struct kern *k);
/* Maps the counters into memory; of maps that another process made, the control page says how many
 * slots and CPUs there are. */
int kern_mmap(struct kern *k);
void kern_munmap(struct kern *k);
int kern_pin_all(struct kern *k);
/* Makes this process the owner of pin_dir, if it is there. -EBUSY: another one that lives uses it.
 */
int kern_lock_pins(struct kern *k);
int kern_open_pins(struct kern *k, bool readonly);

#endif
