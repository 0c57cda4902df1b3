// SPDX-License-Identifier: GPL-2.0-or-later
/* jobprof-dump --culprits: which step waited for a CPU, and which other step had that CPU
 * meanwhile. The maps, and with them the numbers of other users' jobs, are root's. */
#include <stdlib.h>
#include <string.h>

#include "base/room.h"
#include "base/text_table.h"
#include "cmd/dump/dump.h"

struct pair {
	const struct dump_step *waits, *ran;
	const char *other; /* what ran, where it is no living step */
	uint64_t ns;
};

struct pairs {
	const struct dump *d;
	struct pair *p;
	unsigned n;
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
			   step_of(all->d, key->ran, key->ran_gen), NULL, ns};

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
	if (room__grow(&all->p, all->n, 1, sizeof(*all->p)))
		all->failed = true;
	else
		all->p[all->n++] = new;
}

static int most_first(const void *a, const void *b)
{
	const struct pair *x = a, *y = b;

	if (x->waits != y->waits)
		return x->waits < y->waits ? -1 : 1;
	return (x->ns < y->ns) - (x->ns > y->ns);
}

static json_t *pair_json(const struct pair *p)
{
	const struct dump_name waits = dump__name(p->waits);
	json_t *ran;

	if (p->ran) {
		const struct dump_name name = dump__name(p->ran);

		ran = json_pack("{s:s, s:s, s:o}", "kind", "step", "job", name.job, "step",
				json__text(name.step));
	} else {
		ran = json_pack("{s:s}", "kind", p->other);
	}
	return json_pack("{s:s, s:o, s:o, s:f}", "job", waits.job, "step", json__text(waits.step),
			 "waited_for", ran, "s", (double)p->ns / 1e9);
}

json_t *culprits__json(const struct dump *d)
{
	struct pairs all = {.d = d};
	json_t *array = kern__pairs(d->k, add_pair, &all) || all.failed ? NULL : json_array();

	if (all.n)
		qsort(all.p, all.n, sizeof(*all.p), most_first);
	for (size_t i = 0; array && i < all.n; i++)
		json_array_append_new(array, pair_json(&all.p[i]));
	free(all.p);
	return array;
}

void culprits__text(const struct dump *d, FILE *out)
{
	static const char *const heading[] = {"job", "step", "waited for", "step", "s"};
	struct text_table t = {.ncols = 5, .nleft = 4};
	json_t *all = culprits__json(d), *pair;
	size_t i;

	for (i = 0; i < t.ncols; i++)
		text_table__cell(&t, "%s", heading[i]);
	json_array_foreach (all, i, pair) {
		const json_t *ran = json_object_get(pair, "waited_for");
		bool is_step = json_object_get(ran, "job");

		text_table__cell(&t, "%s", json__text_of(pair, "job"));
		text_table__cell(&t, "%s", json__text_of(pair, "step"));
		text_table__cell(&t, "%s", json__text_of(ran, is_step ? "job" : "kind"));
		text_table__cell(&t, "%s", is_step ? json__text_of(ran, "step") : "");
		text_table__number(&t, "%.3f", json__number_of(pair, "s"));
	}
	text_table__end(&t, out);
	json_decref(all);
}
