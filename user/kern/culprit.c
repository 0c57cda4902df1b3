// SPDX-License-Identifier: GPL-2.0-only
/* The family culprit: where it can be had, and its rings. */
#include <string.h>

#include <bpf/btf.h>

#include "kern/internal.h"
#include "kern/probe.h"

/* Raw tracepoints give no pointer to a moved thread that its storage can be found by. */
void kern_choose_culprit(struct kern *k)
{
	if (k->opts.raw_tp || (k->btf && !kern_tracepoint_args(k->btf, "sched_migrate_task")))
		k->families &= ~FAM_CULPRIT;
}

const char *kern_culprit_mode(const struct kern *k)
{
	if (k->families & FAM_CULPRIT)
		return k->opts.culprit_matrix ? "exact; who waited for whom, too" : "exact";
	if (k->opts.raw_tp)
		return "off: by the raw tracepoint a waiting thread's move to another CPU is not "
		       "seen";
	return "off: not loaded";
}

void kern_reset_rings(struct kern *k)
{
	if (k->mem[M_RINGS])
		memset(k->mem[M_RINGS], 0, (size_t)k->ncpus * sizeof(struct jp_ring));
}
