/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the features of this kernel before the load: BTF, families, ways to follow requests and
 * sockets. Part of user/kern. */
#ifndef JP_KERN_PROBE_H
#define JP_KERN_PROBE_H

#include <linux/bpf.h>

#include "bpf/jobprof.h"
#include "kern/kern.h"

struct btf;

/* Whether the kernel is older than all that jobprof was tried on; release: its own name for itself.
 */
bool kern_is_old(char *release, size_t len);
/* Whether programs of a type may call a helper, by trying it: 1, 0, -EPERM. */
int kern_has_helper(enum bpf_prog_type type, enum bpf_func_id helper);
/* Opens k->btf, which is NULL if the kernel has no BTF. -EINVAL: the file of the configuration is
 * not BTF. */
int kern_btf_open(struct kern *k);
void kern_btf_close(struct kern *k);
/* Finds the roots' controllers; -ENOENT. */
int kern_choose_carriers(struct kern *k);
/* The number of a tracepoint's arguments, 0 if the kernel has no such tracepoint. */
unsigned kern_tracepoint_args(const struct btf *btf, const char *tracepoint);
/* Sets k->families to those of the wanted families that this kernel supports. */
void kern_probe_families(struct kern *k);
/* Chooses the tracepoints of requests: the submitter is known at the start or, before 6.5, only at
 * insert and issue; before 5.11 those tracepoints begin with the queue. */
void kern_choose_block(struct kern *k);
/* The number of elements of jp_owners, by the requests that this node's disks can have; a power of
 * two. */
unsigned kern_blk_sets(void);
/* Sets the name of a disk that measures no times (iostats = 0), "" if there is none. */
void kern_untimed_disk(char name[32]);
/* Chooses among programs that do the same work (k->unused), and removes from k->families those for
 * which there is none. */
void kern_choose_hooks(struct kern *k);
/* Whether an enumeration of the kernel has that value. */
bool kern_has_enumerator(const struct btf *btf, const char *type, const char *name);
/* Whether programs can be attached to the return of the function, by trying it. */
bool kern_can_fexit(const struct btf *btf, const char *function);
/* Whether programs that user space calls can find tasks by number, by trying it. */
bool kern_can_query_tasks(const struct btf *btf);
/* Whether programs can read the registers of a task (bpf_task_pt_regs). */
bool kern_has_registers(void);
/* Whether programs can make a typed pointer of an address (bpf_rdonly_cast), by trying it. */
bool kern_can_cast(const struct btf *btf);
/* Sets what the family wait can use on this kernel: k->has_regs, k->can_cast, k->blind. */
void kern_choose_wait(struct kern *k);
/* Leaves the family culprit out where this kernel does not support it; kern_culprit_mode() gives
 * the reason. */
void kern_choose_culprit(struct kern *k);
const char *kern_culprit_mode(const struct kern *k);
/* Empties the rings of what ran on each CPU: nothing was seen while no program was attached. */
void kern_reset_rings(struct kern *k);
const char *kern_wait_mode(const struct kern *k);
/* Makes the collector leave its CPU for a moment, so that the programs read the run queues' clock.
 */
void kern_wait_clock(void);
/* Tries whether programs on packets can be attached to the root of cgroup v2. 0 or -errno. */
int kern_try_packets(void);
/* The meaning of that error. The text lives until the next call. */
const char *kern_no_packets(int err);
/* Stores in the control page how the network counters are made and what they see, or why they are
 * off. */
void kern_store_network_text(struct kern *k);

/* Writes in one line which ways of a program's data to and from the network the counters see:
 * "seen: A, B; not seen: C (device, device); no D, no E". packets: the counters are those of
 * packets, not of sockets. sysfs and procfs: "/sys" and "/proc". */
void net_paths__text(bool packets, const char *sysfs, const char *procfs, char *text, size_t len);

#endif
