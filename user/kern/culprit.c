// SPDX-License-Identifier: GPL-2.0-or-later
/* The family culprit: whether this kernel allows it, and its rings. */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <errno.h>
#include <string.h>

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

int kern__pairs(const struct kern *k,
		void (*fn)(const struct jp_pair_key *pair, uint64_t ns, void *ctx), void *ctx)
{
	struct jp_pair_key key, next;
	uint64_t ns;

	if (k->map[M_PAIRS] < 0)
		return -ENOENT;
	/* a pair that is forgotten meanwhile begins the walk again: it ends all the same */
	for (unsigned i = 0; i < 2 * JP_PAIRS; i++) {
		if (bpf_map_get_next_key(k->map[M_PAIRS], i ? &key : NULL, &next))
			break;
		key = next;
		if (!bpf_map_lookup_elem(k->map[M_PAIRS], &key, &ns))
			fn(&key, ns, ctx);
	}
	return 0;
}
