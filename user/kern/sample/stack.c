// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads stacks out of the kernel. */
#include <errno.h>
#include <stdlib.h>

#include <bpf/bpf.h>

#include "kern/internal.h"

#define ENTRIES	       4096
#define ENTRIES_OF_CPU 256
#define ENTRIES_MAX    65536
#define BATCH	       512u
#define COPIES_OF_CPU  16384
#define COPIES_MIN     (256u << 10)
#define COPIES_MAX     (8u << 20)
#define COPIES_NONE    4096

unsigned kern_stack_entries(const struct kern *k)
{
	unsigned n = ENTRIES + ENTRIES_OF_CPU * k->ncpus;

	if (k->opts.nstacks)
		return k->opts.nstacks;
	if (!k->opts.follow) /* a job that is alone gets half */
		n *= 2;
	return n < ENTRIES_MAX ? n : ENTRIES_MAX;
}

/* A CPU makes 45 KB a second. */
unsigned kern_copies_size(const struct kern *k)
{
	unsigned n = COPIES_MIN;

	while (k->opts.unwind && n < COPIES_OF_CPU * k->ncpus && n < COPIES_MAX)
		n *= 2;
	return k->opts.unwind ? n : COPIES_NONE;
}

bool kern__unwinds(const struct kern *k)
{
	return k->opts.unwind && k->has_regs && (k->families & FAM_STACK);
}

int kern__copies_fd(const struct kern *k)
{
	return k->map[M_COPIES];
}

int kern__take_stacks(struct kern *k,
		      void (*fn)(void *ctx, const struct jp_stack_key *key,
				 const struct jp_stack *s),
		      void *ctx)
{
	struct jp_stack_key *keys;
	struct jp_stack *stacks;
	uint32_t at = 0, n;
	bool first = true;
	int err = 0;

	if (!(k->families & FAM_STACK))
		return 0;
	keys = malloc(BATCH * sizeof(*keys));
	stacks = malloc(BATCH * sizeof(*stacks));
	while (keys && stacks && !err) {
		n = BATCH;
		if (bpf_map_lookup_and_delete_batch(k->map[M_STACKS], first ? NULL : &at, &at, keys,
						    stacks, &n, NULL))
			err = -errno;
		if (err && err != -ENOENT)
			break;
		for (uint32_t i = 0; i < n; i++)
			fn(ctx, &keys[i], &stacks[i]);
		first = false;
	}
	if (!keys || !stacks)
		err = -ENOMEM;
	else
		kern_share_emptied(k, JP_SHARE_STACKS);
	free(keys);
	free(stacks);
	return err == -ENOENT ? 0 : err;
}
