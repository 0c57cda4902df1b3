// SPDX-License-Identifier: GPL-2.0-only
/* What steps used under their programs' names: the map is read as a whole. */
#include <errno.h>
#include <stdlib.h>

#include <bpf/bpf.h>

#include "kern/internal.h"

#define BATCH 256

static int make_room(struct kern_commands *c)
{
	unsigned max = c->max + BATCH;
	struct jp_command_key *key = realloc(c->key, max * sizeof(*key));
	struct jp_command *use;

	if (!key)
		return -ENOMEM;
	c->key = key;
	use = realloc(c->use, max * sizeof(*use));
	if (!use)
		return -ENOMEM;
	c->use = use;
	c->max = max;
	return 0;
}

int kern__commands(const struct kern *k, struct kern_commands *c)
{
	uint32_t at = 0, n = BATCH;
	bool first = true, last = false;
	int err = 0;

	for (c->n = 0; !err && !last; c->n += err ? 0 : n) {
		n = BATCH;
		err = c->max - c->n < BATCH ? make_room(c) : 0;
		if (err)
			break;
		if (bpf_map_lookup_batch(k->map[M_COMMANDS], first ? NULL : &at, &at, c->key + c->n,
					 c->use + c->n, &n, NULL)) {
			last = errno == ENOENT;
			err = last ? 0 : -errno;
		}
		first = false;
	}
	return err;
}

void kern__commands_free(struct kern_commands *c)
{
	free(c->key);
	free(c->use);
	*c = (struct kern_commands){0};
}

void kern_forget_commands(struct kern *k, uint32_t step)
{
	struct kern_commands c = {0};
	unsigned i;

	if (!kern__commands(k, &c))
		for (i = 0; i < c.n; i++)
			if (c.key[i].step == step)
				bpf_map_delete_elem(k->map[M_COMMANDS], &c.key[i]);
	kern__commands_free(&c);
}
