// SPDX-License-Identifier: GPL-2.0-only
/* The hottest functions and stacks as text, and stacks one a line. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "view/flame/flame.h"

#define FUNCTIONS 20
#define STACKS	  5

static int by_self(const void *a, const void *b)
{
	const struct flame_function *x = a, *y = b;
	double s = x->self_s[0] + x->self_s[1], t = y->self_s[0] + y->self_s[1];

	return s != t ? (s < t) - (s > t) : strcmp(x->name, y->name);
}

/* A function that calls itself counts once. */
static bool is_below_itself(const struct flame *f, uint32_t frame)
{
	const char *name = f->frames[frame].name;

	while (frame) {
		frame = f->frames[frame].parent;
		if (frame && !strcmp(f->frames[frame].name, name))
			return true;
	}
	return false;
}

struct flame_function *flame__functions(const struct flame *f, unsigned *n)
{
	struct flame_function *all = calloc(f->n + 1, sizeof(*all));
	struct id_table at = {};

	*n = 0;
	for (uint32_t i = 1; all && i < f->n; i++) {
		const struct flame_frame *frame = &f->frames[i];
		uint64_t id = id__of_text(frame->name);
		uint32_t *have = id_table__find(&at, id);
		struct flame_function *fn = &all[have ? *have : *n];

		if (!have && !id_table__add(&at, id, (*n)++))
			break;
		fn->name = frame->name;
		for (unsigned r = 0; r < FLAME_RUNS; r++) {
			fn->self_s[r] += frame->self_s[r];
			if (!is_below_itself(f, i))
				fn->total_s[r] += frame->total_s[r];
		}
	}
	id_table__free(&at);
	if (all)
		qsort(all, *n, sizeof(*all), by_self);
	return all;
}

static double share(const struct flame *f, double s, unsigned run)
{
	return f->frames[FLAME_ROOT].total_s[run] > 0 ? 100 * s / f->frames[FLAME_ROOT].total_s[run]
						      : 0;
}

static void print_functions(const struct flame *f, const struct flame_function *all, unsigned n,
			    FILE *out)
{
	if (f->runs > 1)
		fprintf(out, "  %8s  %8s  %8s\n", "self", "was", "change");
	else
		fprintf(out, "  %8s  %7s  %8s\n", "self", "", "with");
	for (unsigned i = 0; i < n && i < FUNCTIONS; i++) {
		const struct flame_function *fn = &all[i];

		if (!(fn->self_s[0] + fn->self_s[1] > 0))
			break;
		if (f->runs > 1)
			fprintf(out, "  %7.2fs  %7.2fs  %+7.2fs  ", fn->self_s[1], fn->self_s[0],
				fn->self_s[1] - fn->self_s[0]);
		else
			fprintf(out, "  %7.2fs  %5.1f %%  %5.1f %%  ", fn->self_s[0],
				share(f, fn->self_s[0], 0), share(f, fn->total_s[0], 0));
		print__escaped(out, fn->name);
		putc('\n', out);
	}
}

static int by_time(const void *a, const void *b)
{
	const struct flame_frame *const *x = a, *const *y = b;
	double s = (*x)->self_s[0] + (*x)->self_s[1], t = (*y)->self_s[0] + (*y)->self_s[1];

	return s != t ? (s < t) - (s > t) : (*x > *y) - (*x < *y);
}

static int print_stacks(const struct flame *f, FILE *out)
{
	const struct flame_frame **all = calloc(f->n + 1, sizeof(void *));
	uint32_t *path = calloc(f->n + 1, sizeof(*path));

	for (uint32_t i = 0; all && i < f->n; i++)
		all[i] = &f->frames[i];
	if (all)
		qsort(all, f->n, sizeof(void *), by_time);
	for (unsigned i = 0; all && path && i < f->n && i < STACKS; i++) {
		unsigned last = f->runs - 1,
			 n = flame__path(f, (uint32_t)(all[i] - f->frames), path);

		if (!(all[i]->self_s[last] > 0))
			break;
		fprintf(out, "  %7.2fs  %5.1f %%\n", all[i]->self_s[last],
			share(f, all[i]->self_s[last], last));
		for (unsigned k = n; k-- > 0;) {
			fputs("           ", out);
			print__escaped(out, f->frames[path[k]].name);
			putc('\n', out);
		}
	}
	free(path);
	free(all);
	return path && all ? 0 : -ENOMEM;
}

static void print_time(const struct flame *f, const char *what, unsigned run, FILE *out)
{
	fputs(what, out);
	if (f->last_s[run] >= f->first_s[run])
		fprintf(out, ", %.4g s to %.4g s", f->first_s[run], f->last_s[run]);
	fprintf(out, ": %.2f s", f->frames[FLAME_ROOT].total_s[run]);
}

int flame__print(const struct flame *f, FILE *out)
{
	unsigned n;
	struct flame_function *all = flame__functions(f, &n);
	int err = all ? 0 : -ENOMEM;

	print_time(f, f->off_cpu ? "Blocked for 1 ms and more" : "Running", f->runs - 1, out);
	if (f->runs > 1)
		print_time(f, "; before", 0, out);
	fprintf(out, "\n\nFunctions\n");
	if (all)
		print_functions(f, all, n, out);
	fprintf(out, "\nStacks, the innermost function first\n");
	if (!err)
		err = print_stacks(f, out);
	free(all);
	return err;
}

static void put_value(const struct flame *f, const struct flame_frame *n, unsigned run, FILE *out)
{
	fprintf(out, " %.0f", f->off_cpu ? n->self_s[run] * 1e6 : n->self_n[run]);
}

void flame__folded(const struct flame *f, FILE *out)
{
	uint32_t *path = calloc(f->n + 1, sizeof(*path));

	for (uint32_t i = 1; path && i < f->n; i++) {
		const struct flame_frame *n = &f->frames[i];
		unsigned len = flame__path(f, i, path);

		if (!(n->self_n[0] + n->self_n[1] > 0))
			continue;
		for (unsigned k = 0; k < len; k++) {
			if (k)
				putc(';', out);
			flame__put_name(out, f->frames[path[k]].name);
		}
		for (unsigned r = 0; r < f->runs; r++)
			put_value(f, n, r, out);
		putc('\n', out);
	}
	free(path);
}
