// SPDX-License-Identifier: GPL-2.0-or-later
/* Idle powers and the range of busy powers, learnt from intervals as they come. */
#include "energy/energy_calib.h"

#include <math.h>
#include <stdlib.h>

#define MIDDLE (CALIB_BATCH / 2)

void calib_min__init(struct calib_min *m)
{
	*m = (struct calib_min){.least = NAN, .before = NAN, .spread = NAN};
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void end_batch(struct calib_min *m)
{
	double middle;

	qsort(m->batch, CALIB_BATCH, sizeof(m->batch[0]), ascending);
	middle = m->batch[MIDDLE];
	if (isnan(m->least) || middle < m->least) {
		m->least = middle;
		m->spread = (m->batch[3 * CALIB_BATCH / 4] - m->batch[CALIB_BATCH / 4]) / 2;
	}
	m->n = 0;
	if (++m->batches < CALIB_EPOCH)
		return;
	m->before = m->least;
	m->least = NAN;
	m->batches = 0;
}

void calib_min__add(struct calib_min *m, double value)
{
	if (isnan(value))
		return;
	m->windows++;
	m->batch[m->n++] = value;
	if (m->n == CALIB_BATCH)
		end_batch(m);
}

double calib_min__value(const struct calib_min *m)
{
	return fmin(m->least, m->before); /* the one that is known, if only one is */
}

void calib_package__init(struct calib_package *c)
{
	*c = (struct calib_package){.core = {.least_w = NAN, .most_w = NAN}};
	calib_min__init(&c->pkg);
	calib_min__init(&c->dram);
}

static void end_step_batch(struct calib_range *r)
{
	double middle;

	qsort(r->batch, CALIB_BATCH, sizeof(r->batch[0]), ascending);
	middle = r->batch[MIDDLE];
	r->least_w = fmin(r->least_w, middle);
	r->most_w = fmax(r->most_w, middle);
	if (!r->steps || r->last_step != r->step)
		r->steps++;
	r->last_step = r->step;
	r->n = 0;
}

static void add_power(struct calib_range *r, uint64_t step, double watts)
{
	if (r->n && r->step != step)
		r->n = 0;
	r->step = step;
	r->batch[r->n++] = watts;
	if (r->n == CALIB_BATCH)
		end_step_batch(r);
}

void calib_package__add(struct calib_package *c, const struct calib_window *w)
{
	double idle = calib_package__pkg_idle_w(c), all = w->cores * w->seconds;

	if (!(all > 0))
		return;
	if (w->busy_s < CALIB_IDLE * all) {
		calib_min__add(&c->pkg, w->pkg / w->seconds);
		calib_min__add(&c->dram, w->dram / w->seconds);
	}
	if (isnan(w->pkg) || isnan(idle) || w->busy_s < CALIB_CORES * all ||
	    w->busy_of_step_s < (1 - CALIB_OTHERS) * w->busy_s) {
		c->core.n = 0;
		return;
	}
	add_power(&c->core, w->step, fmax(w->pkg - idle * w->seconds, 0) / w->busy_s);
}

double calib_package__pkg_idle_w(const struct calib_package *c)
{
	return calib_min__value(&c->pkg);
}

double calib_package__dram_idle_w(const struct calib_package *c)
{
	return calib_min__value(&c->dram);
}

void calib_package__range(const struct calib_package *c, double *pmin_w, double *pmax_w)
{
	bool known = c->core.steps >= CALIB_STEPS;

	*pmin_w = known ? c->core.least_w / CALIB_MARGIN : NAN;
	*pmax_w = known ? c->core.most_w * CALIB_MARGIN : NAN;
}

void calib_other__add(struct calib_min *other, double watts, double busy)
{
	if (busy < CALIB_IDLE)
		calib_min__add(other, watts);
}

static bool is_valid(double x)
{
	return isnan(x) || (x >= 0 && !isinf(x));
}

bool calib_min__sound(const struct calib_min *m)
{
	bool ok = m->n < CALIB_BATCH && m->batches <= CALIB_EPOCH && is_valid(m->least) &&
		  is_valid(m->before) && is_valid(m->spread);

	for (unsigned i = 0; ok && i < m->n; i++)
		ok = isfinite(m->batch[i]);
	return ok;
}

bool calib_package__sound(const struct calib_package *c)
{
	const struct calib_range *r = &c->core;
	bool ok = calib_min__sound(&c->pkg) && calib_min__sound(&c->dram) && r->n < CALIB_BATCH &&
		  is_valid(r->least_w) && is_valid(r->most_w);

	for (unsigned i = 0; ok && i < r->n; i++)
		ok = isfinite(r->batch[i]);
	return ok;
}
