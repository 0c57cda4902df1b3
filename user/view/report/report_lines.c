/* SPDX-License-Identifier: GPL-2.0-only */
/* The lowest, the median and the highest unit of a job at each point of time; where points are
 * longer than rows, the lowest and the highest row of all units. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/job/facts_fill.h"
#include "base/json.h"
#include "view/report/report_series.h"

#define POINTS_MAX 3000 /* of a line: more than a screen has pixels */

/* Where a key is there twice, the first of which something is known. */
static const struct line {
	const char *key;
	enum series_unit of;
	enum quantity q;
} lines[] = {
	{"cpu", SERIES_TASKS, Q_CPU},
	{"cpu", SERIES_NODES, Q_CPU},
	{"memory", SERIES_TASKS, Q_RSS},
	{"memory", SERIES_NODES, Q_CHARGED_OWN},
	{"memory", SERIES_NODES, Q_RSS},
	{"io", SERIES_TASKS, Q_IO},
	{"io", SERIES_NODES, Q_IO},
	{"gpu", SERIES_GPUS, Q_GPU_UTIL},
	{"net", SERIES_NODES, Q_NET},
	{"fabric", SERIES_NODES, Q_PORT},
	{"wait", SERIES_TASKS, Q_WAIT},
	{"wait", SERIES_NODES, Q_WAIT},
	{"disk_wait", SERIES_TASKS, Q_DISK_WAIT},
	{"disk_wait", SERIES_NODES, Q_DISK_WAIT},
	{"blk", SERIES_NODES, Q_BLK_MB},
	{"power", SERIES_NODES, Q_STEP_ENERGY},
};

/* What a unit has of a line; NULL: nothing. */
struct unit_bins {
	const double *mean;
	const float *extremes;
};

/* A line while it is made: points of `factor` bins. */
struct points {
	unsigned n, factor;
	bool has_rows; /* lowest and highest are those of rows */
	float *lo, *mid, *hi;
	double *room;	      /* for the units of a bin */
	struct unit_bins *of; /* of each unit */
};

static void find_bins(struct points *p, const struct line *l, const struct job_units *u,
		      const struct time_grid *g)
{
	for (unsigned m = 0; m < u->n; m++) {
		const struct job_unit *unit = job_units__at(u, m);

		p->of[m].mean = job_unit__bins(unit, l->q, g);
		p->of[m].extremes = job_unit__extremes(unit, l->q);
	}
}

static double value(const struct line *l, const struct unit_bins *b, const struct time_grid *g,
		    unsigned bin)
{
	double span = quantity__is_gauge(l->q) ? 1 : time_grid__span_s(g, bin);

	return b->mean && span > 0 ? b->mean[bin] / span : NAN;
}

/* Damaged files have numbers that no float has. */
static float drawable(double v)
{
	return fabs(v) < 1e30 ? (float)v : NAN;
}

static void fill_points(struct points *p, const struct line *l, const struct job_units *u,
			const struct time_grid *g)
{
	find_bins(p, l, u, g);
	for (unsigned i = 0; i < p->n; i++) {
		double lo = NAN, hi = NAN, sum = 0, medians = 0;

		for (unsigned k = i * p->factor; k < g->n && k < (i + 1) * p->factor; k++) {
			size_t n = 0;

			for (unsigned m = 0; m < u->n; m++) {
				double v = value(l, &p->of[m], g, k);
				const float *rows = p->of[m].extremes;

				if (isnan(v))
					continue;
				p->room[n++] = v;
				lo = rows ? fmin(lo, rows[k]) : lo;
				hi = rows ? fmax(hi, rows[g->n + k]) : hi;
			}
			if (!n)
				continue;
			sum += facts__median(p->room, n); /* which sorts them */
			medians++;
			lo = fmin(lo, p->room[0]);
			hi = fmax(hi, p->room[n - 1]);
		}
		p->lo[i] = drawable(lo);
		p->hi[i] = drawable(hi);
		p->mid[i] = drawable(sum / medians);
	}
}

static json_t *line_json(const struct points *p, const struct line *l, const struct job_units *u)
{
	json_t *o = json_object();

	json_object_set_new(o, "key", json__text(l->key));
	json_object_set_new(o, "of", json__text(series_unit_names[l->of]));
	json_object_set_new(o, "units", json_integer(u->n));
	json_object_set_new(o, "median", report_series__floats(p->mid, p->n));
	if (u->n > 1 || p->factor > 1 || p->has_rows) {
		json_object_set_new(o, "lowest", report_series__floats(p->lo, p->n));
		json_object_set_new(o, "highest", report_series__floats(p->hi, p->n));
	}
	return o;
}

static bool is_known(const struct line *l, const struct job_units *u)
{
	return u->n && job_units__know(u, l->q);
}

static json_t *all_lines(const struct model_job *j, struct points *p)
{
	json_t *a = json_array();
	const char *last = "";

	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		struct job_units u = report_series__units(j, lines[i].of);

		if (!strcmp(last, lines[i].key) || !is_known(&lines[i], &u))
			continue;
		fill_points(p, &lines[i], &u, &j->grid);
		json_array_append_new(a, line_json(p, &lines[i], &u));
		last = lines[i].key;
	}
	return a;
}

json_t *report_lines__json(const struct report *r)
{
	const struct model_job *j = r->drawn ? r->drawn : r->job;
	unsigned factor = (j->grid.n + POINTS_MAX - 1) / POINTS_MAX;
	unsigned n = (j->grid.n + factor - 1) / (factor ? factor : 1);
	size_t units = (size_t)j->ntasks + j->nnodes + j->ngpus + 1;
	struct points p = {.n = n, .factor = factor, .has_rows = j->grid.row_s > 0};
	json_t *o = json_object();

	p.lo = calloc(3 * (size_t)n + 1, sizeof(*p.lo));
	p.room = calloc(units, sizeof(*p.room));
	p.of = calloc(units, sizeof(*p.of));
	if (p.lo && p.room && p.of) {
		p.mid = p.lo + n;
		p.hi = p.mid + n;
		json_object_set_new(o, "dt_s", json__number(j->grid.dt_s * factor));
		json_object_set_new(o, "end_s", json__number(j->grid.end_s));
		json_object_set_new(o, "n", json_integer(n));
		json_object_set_new(o, "of_rows", json_boolean(p.has_rows));
		json_object_set_new(o, "of", all_lines(j, &p));
	}
	free(p.lo);
	free(p.room);
	free(p.of);
	return o;
}
