// SPDX-License-Identifier: GPL-2.0-only
/* jobprof-dump --culprits: which step waited for a CPU while which other one had it. The maps, and
 * with them the numbers of other users' jobs, are root's. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/dump/dump.h"

struct pair {
	const struct dump_step *waits, *ran;
	const char *other; /* what ran, where it is no living step */
	uint64_t ns;
};

struct pairs {
	const struct dump *d;
	struct pair *p;
	size_t n;
	bool failed;
};

static const struct dump_step *step_of(const struct dump *d, uint32_t slot, uint32_t gen)
{
	const struct jp_slot *info = kern__slot(d->k, slot);

	for (unsigned i = 0; info && info->gen == gen && i < d->nsteps; i++)
		if (d->steps[i].row.slot == info->step)
			return &d->steps[i];
	return NULL;
}

static const char *other_of(uint32_t ran)
{
	switch (ran) {
	case JP_SLOT_NONE:
	case JP_SLOT_SELF:
		return "not profiled";
	case JP_RAN_IDLE:
		return "idle";
	case JP_RAN_UNKNOWN:
	case JP_SLOT_OTHER:
		return "unknown";
	default:
		return "ended";
	}
}

/* Slots of a step are one. */
static void add_pair(const struct jp_pair_key *key, uint64_t ns, void *ctx)
{
	struct pairs *all = ctx;
	struct pair new = {step_of(all->d, key->waits, key->waits_gen),
			   step_of(all->d, key->ran, key->ran_gen), NULL, ns},
		    *p;

	if (!new.waits)
		return;
	if (!new.ran)
		new.other = other_of(key->ran);
	for (size_t i = 0; i < all->n; i++) {
		if (all->p[i].waits == new.waits && all->p[i].ran == new.ran &&
		    (new.ran || !strcmp(all->p[i].other, new.other))) {
			all->p[i].ns += ns;
			return;
		}
	}
	p = realloc(all->p, (all->n + 1) * sizeof(*p));
	all->failed |= !p;
	if (!p)
		return;
	all->p = p;
	all->p[all->n++] = new;
}

static int most_first(const void *a, const void *b)
{
	const struct pair *x = a, *y = b;

	if (x->waits != y->waits)
		return x->waits < y->waits ? -1 : 1;
	return (x->ns < y->ns) - (x->ns > y->ns);
}

static int collect_pairs(const struct dump *d, struct pairs *all)
{
	int err;

	*all = (struct pairs){.d = d};
	err = kern__pairs(d->k, add_pair, all);
	if (!err && all->failed)
		err = -ENOMEM;
	if (all->n)
		qsort(all->p, all->n, sizeof(*all->p), most_first);
	return err;
}

static void name_step(const struct dump_step *s, char *job, char *step)
{
	snprintf(job, GRID_CELL, "-");
	if (s->ids.has_job)
		snprintf(job, GRID_CELL, "%u", s->ids.job_id);
	else if (s->ids.sluid[0])
		snprintf(job, GRID_CELL, "%s", s->ids.sluid);
	snprintf(step, GRID_CELL, "%s", s->parsed ? s->ids.step_name : "?");
}

int culprits__text(const struct dump *d, FILE *out)
{
	static const char *const heading[] = {"job", "step", "waited for", "step", "s"};
	struct grid g = {.ncols = 5, .nleft = 4};
	char(*row)[GRID_CELL] = grid__row(&g);
	struct pairs all;
	int err = collect_pairs(d, &all);

	for (unsigned i = 0; row && i < g.ncols; i++)
		snprintf(row[i], GRID_CELL, "%s", heading[i]);
	for (size_t i = 0; i < all.n; i++) {
		const struct pair *p = &all.p[i];

		row = grid__row(&g);
		if (!row)
			break;
		name_step(p->waits, row[0], row[1]);
		if (p->ran)
			name_step(p->ran, row[2], row[3]);
		else
			snprintf(row[2], GRID_CELL, "%s", p->other);
		snprintf(row[4], GRID_CELL, "%.3f", (double)p->ns / 1e9);
	}
	grid__print(&g, out);
	grid__free(&g);
	free(all.p);
	return err;
}

static json_t *ran_json(const struct pair *p, char (*name)[GRID_CELL])
{
	if (!p->ran)
		return json_pack("{s:s}", "kind", p->other);
	name_step(p->ran, name[0], name[1]);
	return json_pack("{s:s, s:s, s:s}", "kind", "step", "job", name[0], "step", name[1]);
}

int culprits__json(const struct dump *d, json_t **out)
{
	struct pairs all;
	int err = collect_pairs(d, &all);

	*out = json_array();
	for (size_t i = 0; i < all.n; i++) {
		char name[2][GRID_CELL];
		json_t *ran = ran_json(&all.p[i], name);

		name_step(all.p[i].waits, name[0], name[1]);
		json_array_append_new(*out, json_pack("{s:s, s:s, s:o, s:f}", "job", name[0],
						      "step", name[1], "waited_for", ran, "s",
						      (double)all.p[i].ns / 1e9));
	}
	free(all.p);
	return err;
}
