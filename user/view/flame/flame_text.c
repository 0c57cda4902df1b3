// SPDX-License-Identifier: GPL-2.0-or-later
/* The hottest functions and stacks as text, stacks one per line, and a flame graph as SVG without
 * scripts: a box per function, with its callers below it. Each box has a title. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "view/flame/flame.h"
#include "view/svg.h"

#define FUNCTIONS 20
#define STACKS	  5

/* Sizes in the SVG. */
#define WIDTH	  1200.0
#define LINE	  16.0
#define TOP	  34.0
#define CHAR	  6.2 /* width of a character, about */
#define LEAST	  0.3 /* narrower boxes are left out */
#define DEPTH_MAX 260

static int by_self(const void *a, const void *b)
{
	const struct flame_function *x = a, *y = b;
	double s = x->self_s[0] + x->self_s[1], t = y->self_s[0] + y->self_s[1];

	return s != t ? (s < t) - (s > t) : strcmp(x->name, y->name);
}

/* Whether a caller has the same name: a recursive function counts once. */
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

/* ---- SVG */

/* The width of a box: the run's time; in a difference the larger of both runs', so that functions
 * show that only the first has. */
static double width_of(const struct flame *f, uint32_t frame)
{
	const double *t = f->frames[frame].total_s;

	return f->runs > 1 ? fmax(t[0], t[1]) : t[0];
}

/* The width of a box's inside: children may be wider than their parent where both runs count. */
static double inner_width(const struct flame *f, uint32_t frame)
{
	double sum = 0;

	for (uint32_t c = f->frames[frame].first; c; c = f->frames[c].next)
		sum += width_of(f, c);
	return sum;
}

static void put_colour(FILE *out, const struct flame *f, const struct flame_frame *n)
{
	unsigned hash = (unsigned)id__of_text(n->name) % 50;
	double change = n->total_s[1] - n->total_s[0], most = fmax(n->total_s[0], n->total_s[1]);

	if (f->runs > 1) {
		int pale = most > 0 ? (int)lrint(235 - 150 * fmin(1, fabs(change) / most)) : 235;

		fprintf(out, change > 0 ? "#eb%02x%02x" : "#%02x%02xeb", pale, pale);
	} else if (n->kind == FLAME_KERNEL) {
		fprintf(out, "#e8a%xa%x", hash % 16, hash % 16);
	} else if (n->kind == FLAME_CAUSE) {
		fputs("#b8c4d0", out);
	} else {
		fprintf(out, "#f%x%x%x6%x", hash % 6 + 8, 12 - hash % 5, hash % 16, hash % 10);
	}
}

static void put_title(FILE *out, const struct flame *f, const struct flame_frame *n)
{
	const struct flame_frame *all = &f->frames[FLAME_ROOT];
	unsigned last = f->runs - 1;

	print__xml(out, n->name, 400);
	fprintf(out, ": %.2f s", n->total_s[last]);
	if (all->total_s[last] > 0)
		fprintf(out, ", %.1f %%", 100 * n->total_s[last] / all->total_s[last]);
	if (f->runs > 1)
		fprintf(out, ", before %.2f s", n->total_s[0]);
}

static void put_box(FILE *out, const struct flame *f, uint32_t frame, double x, double w, double y)
{
	const struct flame_frame *n = &f->frames[frame];

	fputs("<g><title>", out);
	put_title(out, f, n);
	fprintf(out,
		"</title><rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"1\" "
		"fill=\"",
		x, y, w, LINE - 1);
	put_colour(out, f, n);
	fputs("\"/>", out);
	if (w > 4 * CHAR)
		svg__text(out, x + 3, y + 11.5, "", n->name, (size_t)((w - 6) / CHAR));
	fputs("</g>\n", out);
}

static unsigned deepest(const struct flame *f, double scale)
{
	unsigned depth = 0;

	for (uint32_t i = 0; i < f->n; i++)
		if (width_of(f, i) * scale >= LEAST && f->frames[i].depth > depth)
			depth = f->frames[i].depth;
	return depth < DEPTH_MAX ? depth : DEPTH_MAX;
}

static void put_children(FILE *out, const struct flame *f, uint32_t frame, double x, double w,
			 double bottom)
{
	double sum = inner_width(f, frame), own = width_of(f, frame);
	double scale = w / fmax(sum, own);

	if (f->frames[frame].depth >= DEPTH_MAX)
		return;
	for (uint32_t c = f->frames[frame].first; c; c = f->frames[c].next) {
		double cw = width_of(f, c) * scale;

		if (cw >= LEAST) {
			put_box(out, f, c, x, cw, bottom - f->frames[c].depth * LINE);
			put_children(out, f, c, x, cw, bottom);
		}
		x += cw;
	}
}

void flame__svg(const struct flame *f, FILE *out)
{
	double all = width_of(f, FLAME_ROOT), scale = all > 0 ? WIDTH / all : 0;
	double height = TOP + (deepest(f, scale) + 1) * LINE + 8, bottom = height - LINE - 8;

	svg__begin(out, WIDTH, height, 11, f->label[0]);
	fputs("<text x=\"4\" y=\"18\" font-size=\"14\">", out);
	fputs(f->off_cpu ? "Blocked for 1 ms and more: " : "Running: ", out);
	print__xml(out, f->label[f->runs - 1], 80);
	if (f->runs > 1) {
		fputs(", red: more than in ", out);
		print__xml(out, f->label[0], 80);
	}
	fputs("</text>\n", out);
	if (all > 0) {
		put_box(out, f, FLAME_ROOT, 0, WIDTH, bottom);
		put_children(out, f, FLAME_ROOT, 0, WIDTH, bottom);
	}
	svg__end(out);
}
