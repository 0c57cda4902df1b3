// SPDX-License-Identifier: GPL-2.0-only
/* What steps used under their programs' names: the kernel side's accounts, and what living
 * processes add to them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/room.h"
#include "sample/snapshot_internal.h"

/* A name becomes the name of a table: without what a path or a terminal could take amiss. */
static void name_of(const char comm[JP_COMM_LEN], char name[JP_COMM_LEN])
{
	size_t i;

	memset(name, 0, JP_COMM_LEN);
	for (i = 0; i + 1 < JP_COMM_LEN && comm[i]; i++)
		name[i] = comm[i] < 0x20 || comm[i] >= 0x7f || comm[i] == '/' ? '_' : comm[i];
	if (!i || !strcmp(name, ".") || !strcmp(name, ".."))
		name[0] = '_';
}

static int by_name(const void *a, const void *b)
{
	const struct command_use *x = a, *y = b;

	return x->step != y->step ? x->step < y->step ? -1 : 1
				  : strncmp(x->name, y->name, sizeof(x->name));
}

static void raise_to(uint64_t *to, uint64_t n)
{
	if (n > *to)
		*to = n;
}

static void add_use(struct command_use *to, const struct command_use *c)
{
	to->processes += c->processes;
	to->runtime_ns += c->runtime_ns;
	to->run_delay_ns += c->run_delay_ns;
	to->rchar += c->rchar;
	to->wchar += c->wchar;
	raise_to(&to->peak, c->peak);
	raise_to(&to->last_ns, c->last_ns);
	if (c->first_ns < to->first_ns)
		to->first_ns = c->first_ns;
}

/* Names that are the same as tables' names become one. */
static void merge_same(struct commands *c)
{
	unsigned n = 0, i;

	qsort(c->use, c->n, sizeof(*c->use), by_name);
	for (i = 0; i < c->n; i++) {
		if (n && !by_name(&c->use[n - 1], &c->use[i]))
			add_use(&c->use[n - 1], &c->use[i]);
		else
			c->use[n++] = c->use[i];
	}
	c->n = c->sorted = n;
}

static void add_account(struct snapshot *s, uint32_t step, const char comm[JP_COMM_LEN],
			const struct jp_command *from)
{
	struct command_use *to = &s->commands.use[s->commands.n++];

	*to = (struct command_use){
		.step = step,
		.processes = from->processes,
		.runtime_ns = from->runtime_ns,
		.run_delay_ns = from->run_delay_ns,
		.rchar = from->rchar,
		.wchar = from->wchar,
		.peak = from->peak * s->page,
		.first_ns = from->first_ns,
		.last_ns = from->last_ns,
	};
	name_of(comm, to->name);
}

static const char other[JP_COMM_LEN] = "(other)";

int snapshot_read_commands(struct snapshot *s)
{
	struct commands *c = &s->commands;
	unsigned i;
	int err = kern__commands(s->k, &c->maps);

	c->n = c->sorted = 0;
	if (!err)
		err = room__make(&c->use, &c->room, c->maps.n + s->nslots, sizeof(*c->use));
	if (err)
		return err;
	for (i = 0; i < c->maps.n; i++)
		add_account(s, c->maps.key[i].step, c->maps.key[i].comm, &c->maps.use[i]);
	for (i = JP_SLOT_FIRST; i < s->nslots; i++)
		if (kern__acct(s->k, i)->other.first_ns)
			add_account(s, i, other, &kern__acct(s->k, i)->other);
	merge_same(c);
	return 0;
}

/* Finds the account of a living process, which may have none yet. NULL: no memory. */
static struct command_use *find_use(struct commands *c, const struct command_use *key)
{
	struct command_use *at =
		c->sorted ? bsearch(key, c->use, c->sorted, sizeof(*key), by_name) : NULL;

	for (unsigned i = c->sorted; !at && i < c->n; i++)
		if (!by_name(key, &c->use[i]))
			at = &c->use[i];
	if (at || room__make(&c->use, &c->room, c->n + 1u, sizeof(*c->use)))
		return at;
	at = &c->use[c->n++];
	*at = *key;
	return at;
}

/* The kernel side gives no more names an account. */
static bool is_full(const struct snapshot *s, uint32_t step)
{
	return kern__acct(s->k, step)->commands >= JP_COMMANDS;
}

static struct command_use *use_of(struct snapshot *s, const struct jp_task_rec *r, uint32_t step)
{
	struct command_use key = {.step = step, .first_ns = r->start_ns};
	struct commands *c = &s->commands;

	name_of(r->comm, key.name);
	if (is_full(s, step) && c->sorted &&
	    !bsearch(&key, c->use, c->sorted, sizeof(key), by_name))
		memcpy(key.name, other, sizeof(other));
	return find_use(c, &key);
}

static void add_living(struct snapshot *s, const struct jp_task_rec *r)
{
	const struct jp_slot *info = r->slot < s->nslots ? &s->slots[r->slot] : NULL;
	struct command_use *use;
	uint64_t rss;

	if (!info || r->slot < JP_SLOT_FIRST || !r->comm[0] || info->step >= s->nslots)
		return;
	use = use_of(s, r, info->step);
	if (!use)
		return;
	use->living += r->pid == r->tgid && !r->ended;
	use->runtime_ns += snapshot_positive(r->command_runtime_ns);
	use->run_delay_ns += snapshot_positive(r->command_run_delay_ns);
	use->rchar += snapshot_positive(r->command_rchar);
	use->wchar += snapshot_positive(r->command_wchar);
	use->last_ns = s->boot_ns;
	if (!r->mm)
		return;
	rss = snapshot_positive(r->rss_anon + r->rss_file + r->rss_shmem);
	raise_to(&use->peak, (r->hiwater_rss > rss ? r->hiwater_rss : rss) * s->page);
}

void snapshot_add_living(struct snapshot *s)
{
	for (size_t i = 0; i < s->tasks.n; i++)
		add_living(s, &s->tasks.rec[i]);
}

void snapshot_free_commands(struct snapshot *s)
{
	kern__commands_free(&s->commands.maps);
	free(s->commands.use);
}

const struct command_use *snapshot__commands(const struct snapshot *s, unsigned *n)
{
	*n = s->commands.n;
	return s->commands.use;
}
