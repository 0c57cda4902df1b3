/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stacks of one run, or of two, as a tree of functions, and its output: text, SVG, and the formats
 * of other programs. */
#ifndef JP_VIEW_FLAME_H
#define JP_VIEW_FLAME_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "model/stacks.h"
#include "model/symbols.h"

enum { FLAME_ROOT = 0, FLAME_RUNS = 2 };

enum flame_kind { FLAME_USER, FLAME_KERNEL, FLAME_CAUSE };

/* A function in a place of the call tree, with its time in each run; there is a second run only
 * with --diff. */
struct flame_frame {
	const char *name, *module; /* these belong to the symbols, the stacks, or `texts` */
	enum flame_kind kind;
	uint32_t parent, first, next; /* child and sibling, 0: none */
	unsigned depth;
	double self_s[FLAME_RUNS], total_s[FLAME_RUNS];
	double self_n[FLAME_RUNS]; /* samples, or gaps */
};

/* The time of a frame itself in an interval, over all tasks. */
struct flame_count {
	uint32_t frame;
	int run;
	double end_s, seconds;
};

struct flame {
	struct flame_frame *frames; /* the first is the root */
	struct id_table child_of;
	struct flame_count *counts; /* after flame__finish(): by run, interval and frame */
	char **texts;		    /* names that had to be cleaned */
	unsigned n, ncounts, ntexts;
	unsigned runs;
	const char *label[FLAME_RUNS];
	/* For the page, of the last run: program and job, and how its stacks were unwound; NULL or
	 * "": not known. */
	const char *title, *unwound;
	bool off_cpu;
	double from_s, to_s; /* intervals that end after from and not after to; NaN: all */
	double first_s[FLAME_RUNS],
		last_s[FLAME_RUNS]; /* the time that its intervals cover; NaN: there are none */
};

/* Adds a run; the stacks and symbols must live as long as the flame. 0 or -ENOMEM. */
int flame__add(struct flame *f, const struct stacks *s, struct symbols *symbols, const char *label);
/* Orders children by name, makes the sums, and orders counts. To be called before any of the
 * functions below. */
void flame__finish(struct flame *f);
void flame__free(struct flame *f);

/* A function, wherever in the tree it is. */
struct flame_function {
	const char *name;
	double self_s[FLAME_RUNS], total_s[FLAME_RUNS]; /* by itself; with what it called */
};

/* All *n functions, those with most time by themselves first; the caller frees them. NULL: no
 * memory. */
struct flame_function *flame__functions(const struct flame *f, unsigned *n);
/* The hottest functions and stacks. 0 or -ENOMEM. */
int flame__print(const struct flame *f, FILE *out);
/* Prints "a;b;c N", where N is samples, or microseconds for gaps; with two runs it has both. */
void flame__folded(const struct flame *f, FILE *out);
void flame__svg(const struct flame *f, FILE *out);
/* For the page: docs/report-json.md. NULL: no memory. */
json_t *flame__json(const struct flame *f);
/* As flame__json(), for one run and its whole time, with at most n frames: those with the most
 * time. The time of other frames counts as their callers'. */
json_t *flame__hottest_json(const struct flame *f, unsigned n);
json_t *flame__speedscope(const struct flame *f);
/* Chrome's trace events: in each interval the functions side by side by their share. 0 or -errno.
 */
int flame__perfetto(const struct flame *f, FILE *out);
/* The gzipped profile.proto of pprof, into memory that the caller frees. 0 or -ENOMEM. */
int flame__pprof(const struct flame *f, unsigned char **out, size_t *len);

/* ---- for the files of the room */

/* The text without semicolons, which are between names. */
void flame__put_name(FILE *out, const char *name);
/* The file that a function is in, NULL: none, or not known. */
const char *flame__file(const struct flame_frame *n);
/* From the root down to a frame: *n of them at path, which has room for as many as its depth. */
unsigned flame__path(const struct flame *f, uint32_t frame, uint32_t *path);

#endif
