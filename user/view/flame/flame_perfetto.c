// SPDX-License-Identifier: GPL-2.0-only
/* The tree as Chrome's trace events, which Perfetto reads: each is written as soon as it is made,
 * for a long run has millions. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "view/flame/flame.h"

struct tracing {
	const struct flame *f;
	double *time; /* of each frame in the interval, with its children */
	FILE *out;
	int run;
	bool any; /* an event was written */
	int err;
};

static void put_event(struct tracing *t, uint32_t frame, double from_s)
{
	const struct flame_frame *n = &t->f->frames[frame];
	json_t *e = json_object();

	json__set(e, "name", json__text(n->name));
	json__set(e, "cat", json_string(n->kind == FLAME_KERNEL ? "kernel" : "user"));
	json__set(e, "ph", json_string("X"));
	JSON_NUMBERS(e, {"ts", from_s * 1e6}, {"dur", t->time[frame] * 1e6});
	json__set(e, "pid", json_integer(t->run + 1));
	json__set(e, "tid", json_integer(1));
	fputs(t->any ? ",\n" : "\n", t->out);
	t->any = true;
	if (!e || json__dump(e, t->out, JSON_COMPACT))
		t->err = -EIO;
	json_decref(e);
}

static void put_tree(struct tracing *t, uint32_t frame, double from_s)
{
	for (uint32_t c = t->f->frames[frame].first; c && !t->err; c = t->f->frames[c].next) {
		if (!(t->time[c] > 0))
			continue;
		put_event(t, c, from_s);
		put_tree(t, c, from_s);
		from_s += t->time[c];
	}
}

static void put_interval(struct tracing *t, const struct flame_count *c, unsigned n, double from_s)
{
	double scale;

	memset(t->time, 0, t->f->n * sizeof(*t->time));
	for (unsigned i = 0; i < n; i++)
		t->time[c[i].frame] += c[i].seconds;
	for (uint32_t i = t->f->n; i-- > 1;)
		t->time[t->f->frames[i].parent] += t->time[i];
	/* threads run at once: what they did is put side by side in the interval */
	scale = t->time[FLAME_ROOT] > c->end_s - from_s ? (c->end_s - from_s) / t->time[FLAME_ROOT]
							: 1;
	for (uint32_t i = 0; i < t->f->n; i++)
		t->time[i] *= scale;
	t->run = c->run;
	put_tree(t, FLAME_ROOT, from_s);
}

int flame__perfetto(const struct flame *f, FILE *out)
{
	struct tracing t = {.f = f, .out = out};
	const struct flame_count *c = f->counts;
	double from_s = 0;
	unsigned k;

	t.time = calloc(f->n + 1, sizeof(*t.time));
	if (!t.time)
		return -ENOMEM;
	fputs("{\"traceEvents\":[", out);
	for (unsigned i = 0; i < f->ncounts && !t.err; i += k) {
		for (k = 1;
		     i + k < f->ncounts && c[i + k].run == c[i].run && c[i + k].end_s == c[i].end_s;
		     k++)
			;
		if (!i || c[i].run != c[i - 1].run)
			from_s = 0;
		if (c[i].end_s > from_s)
			put_interval(&t, &c[i], k, from_s);
		from_s = c[i].end_s;
	}
	fputs("\n]}\n", out);
	free(t.time);
	return t.err;
}
