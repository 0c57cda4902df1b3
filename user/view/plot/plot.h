/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Curves over time in one picture: as text for a terminal, as SVG for print, and as JSON, which the
 * page in a browser draws. */
#ifndef JP_VIEW_PLOT_H
#define JP_VIEW_PLOT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "model/curve.h"
#include "view/svg.h"

#define PLOT_CURVES SVG_COLOURS /* curves whose colours can be told apart */

struct plot_curve {
	const struct curve *curve;
	const char *label; /* its file's title */
};

struct plot {
	const char *series;
	const struct plot_curve *curves; /* of the same column */
	unsigned n;
};

/* How a terminal shows it. */
struct plot_text {
	unsigned width, height; /* columns and lines, all of which are used at most */
	bool utf8, colour;
};

/* 0 or -ENOMEM. */
int plot__print(const struct plot *p, const struct plot_text *how, FILE *out);
/* A whole file. Text of files is escaped. */
void plot__svg(const struct plot *p, FILE *out);
/* docs/report-json.md has the schema. NULL: no memory. */
json_t *plot__json(const struct plot *p);

/* ---- for the files of the room */

#define PLOT_LABEL 48

/* ticks: about so many. */
struct axis plot_axis__of_values(const struct plot *p, unsigned ticks);
struct axis plot_axis__of_time(const struct plot *p, unsigned ticks);
/* "RSS of Tasks, GiB" */
void plot__title(const struct plot *p, const struct axis *values, char *text, size_t size);
/* "solver, job 42: 16 tasks: median, lowest to highest"; printable ASCII, at most `size` - 1 bytes.
 */
void plot__legend(const struct plot *p, unsigned i, char *text, size_t size);

#endif
