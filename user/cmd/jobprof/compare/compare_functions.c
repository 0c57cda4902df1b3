// SPDX-License-Identifier: GPL-2.0-only
/* The functions that two runs were in, by their stacks. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/jobprof/compare/compare_besides.h"
#include "model/stacks.h"
#include "model/symbols.h"
#include "view/flame/flame.h"

struct reading {
	const struct compare_inside *run;
	struct stacks stacks[FLAME_RUNS];
	struct symbols *symbols;
	struct flame flame;
};

static int read_runs(struct reading *r)
{
	int err = r->symbols ? 0 : -ENOMEM;

	for (unsigned i = 0; !err && i < FLAME_RUNS; i++) {
		const struct job_input *in = r->run[i].in->v;
		const struct selection steps = {.steps = in->steps, .nsteps = in->nsteps};

		err = stacks__read_file(&r->stacks[i], in->path, &steps);
		if (!err)
			err = flame__add(&r->flame, &r->stacks[i], r->symbols, "");
	}
	if (!err)
		flame__finish(&r->flame);
	return err;
}

struct function {
	const char *name;
	double share[FLAME_RUNS], s[FLAME_RUNS];
};

static int by_change(const void *a, const void *b)
{
	const struct function *x = a, *y = b;
	double s = fabs(x->s[1] - x->s[0]), t = fabs(y->s[1] - y->s[0]);

	return s != t ? (s < t) - (s > t) : strcmp(x->name, y->name);
}

/* All functions: of a run's samples and so of its CPU time each has a share. NULL: no memory. */
static struct function *share_out(const struct reading *r, unsigned *n)
{
	const double *all = r->flame.frames[FLAME_ROOT].total_s;
	struct flame_function *v = flame__functions(&r->flame, n);
	struct function *out = calloc(*n + 1, sizeof(*out));

	for (unsigned i = 0; v && out && i < *n; i++) {
		out[i].name = v[i].name;
		for (unsigned k = 0; k < FLAME_RUNS; k++) {
			out[i].share[k] = v[i].self_s[k] / all[k];
			out[i].s[k] = out[i].share[k] * r->run[k].cpu_s;
		}
	}
	if (!v) {
		free(out);
		out = NULL;
	}
	free(v);
	return out;
}

static int put_functions(const struct reading *r, struct message *m)
{
	const double *all = r->flame.frames[FLAME_ROOT].total_s;
	struct function *v;
	unsigned n;

	if (!(all[0] > 0 && all[1] > 0))
		return -ENODATA;
	v = share_out(r, &n);
	if (!v)
		return -ENOMEM;
	qsort(v, n, sizeof(*v), by_change);
	for (unsigned i = 0; i < n && i < COMPARE_BESIDES_ROWS && v[i].s[0] + v[i].s[1] > 0; i++)
		compare_rows__put(m, v[i].name, v[i].share, v[i].s);
	free(v);
	return 0;
}

int compare_functions__put(const struct compare_inside runs[2], struct message *m)
{
	struct reading r = {
		.run = runs, .flame = {.from_s = NAN, .to_s = NAN}, .symbols = symbols__new()};
	int err = read_runs(&r);

	if (!err)
		err = put_functions(&r, m);
	flame__free(&r.flame);
	for (unsigned i = 0; i < FLAME_RUNS; i++)
		stacks__free(&r.stacks[i]);
	symbols__free(r.symbols);
	return err;
}
