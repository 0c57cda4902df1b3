// SPDX-License-Identifier: GPL-2.0-only
/* Splits the rest of the node, and widens bounds by the errors of sensors. */
#include "energy/energy_internal.h"

/* Fills p per joule. Without any weight all of it is the system's. */
static void portions_of_node(struct energy_work *w, double ratio)
{
	struct portion_range range = {ratio, NAN, NAN};
	double left = portion__split(w->p, w->n, 1, &range);
	struct portion *system = &w->p[w->in->nsteps];

	system->point += left;
	system->low += left;
	system->high += left;
}

static void load_by_weight(struct energy_work *w)
{
	for (unsigned i = 0; i < w->n; i++)
		w->p[i].weight = w->t[i].weight;
	portions_of_node(w, w->out->weight == WEIGHT_CYCLES ? ENERGY_RATIO : ENERGY_RATIO_RUN_TIME);
	for (unsigned i = 0; i < w->n; i++) {
		w->t[i].load = w->p[i].point;
		w->t[i].load_low = w->p[i].low;
		w->t[i].load_high = w->p[i].high;
	}
}

/* DRAM that is not measured is in the rest of the node, and goes by misses. */
static void widen_by_misses(struct energy_work *w)
{
	for (unsigned i = 0; i < w->n; i++)
		w->p[i].weight = w->t[i].misses;
	portions_of_node(w, ENERGY_RATIO_MISS);
	for (unsigned i = 0; i < w->n; i++) {
		w->t[i].load_low = fmin(w->t[i].load_low, w->p[i].low);
		w->t[i].load_high = fmax(w->t[i].load_high, w->p[i].high);
	}
}

static void find_load(struct energy_work *w)
{
	double all = 0;

	for (unsigned i = 0; i <= w->n; i++)
		all += w->t[i].act;
	if (w->measured && all > 0)
		for (unsigned i = 0; i <= w->n; i++) {
			w->t[i].load = w->t[i].act / all;
			w->t[i].load_low = w->t[i].act_low / all;
			w->t[i].load_high = fmin(w->t[i].act_high / all, 1);
		}
	else
		load_by_weight(w);
	if (!w->dram_known && w->misses_known)
		widen_by_misses(w);
}

/* Each consumer gets a part of the idle J by the cores that it holds, and of the rest by its load.
 * Where the idle part is not known, all goes by cores held, and the bounds include a split by load.
 * */
static void give_other(struct energy_work *w, double idle, double rest, bool known)
{
	for (unsigned i = 0; i <= w->n; i++) {
		struct consumer *t = &w->t[i];
		double fixed = idle * t->held / w->cores, dynamic = rest * t->load;
		double low = idle * t->held_low / w->cores + rest * t->load_low;
		double high = idle * t->held_high / w->cores + rest * t->load_high;

		if (!known) {
			low = fmin(low, idle * t->load_low);
			high = fmax(high, idle * t->load_high);
		}
		t->other = fixed + dynamic;
		t->fixed += fixed;
		t->dynamic += dynamic;
		t->low += low;
		t->high += high;
	}
}

void energy__split_other(struct energy_work *w)
{
	const struct energy_input *in = w->in;
	double parts = w->parts + w->gpu, idle;

	w->out->measured = parts;
	find_load(w);
	if (isnan(in->node))
		return;
	if (in->node < parts) {
		w->out->clamped = true;
		return;
	}
	w->out->measured = in->node;
	w->other = in->node - parts;
	idle = isnan(in->other_idle_w) ? w->other : fmin(in->other_idle_w * in->seconds, w->other);
	w->other_idle = isnan(in->other_idle_w) ? 0 : idle;
	give_other(w, idle, w->other - idle, !isnan(in->other_idle_w));
}

/* One consumer's part of what the node's sensor has, per joule too much: of a quick change, and of
 * what is taken when idle. */
struct slope {
	double load, idle;
};

/* Idle powers were learnt from the same sensors, which were off by as much then. */
static struct slope slope_of(const struct energy_work *w, double held, double load)
{
	if (!(w->other > 0))
		return (struct slope){0, 0};
	if (isnan(w->in->other_idle_w))
		return (struct slope){held, held};
	return (struct slope){load, held};
}

/* A sensor that is off by up to e says r = (1 +- e) of the truth, which is then from r / (1 + e) to
 * r / (1 - e): how far it is above (or below) for slope joules, below where slope is negative. */
static double deviation(double slope, double e, bool above)
{
	return fabs(slope) * e / ((slope > 0) == above ? 1 - e : 1 + e);
}

/*
 * What a consumer is off by when the sensors are, to first order. The rest of the node is what the
 * node's sensor says less the others, so what one of these has too much the rest has too little.
 * Errors of packages and DRAM add up in the worst way, since it is not known what they have in
 * common; their granularity, the node's and the GPUs' errors do so in quadrature. of_part: J of
 * each part; above: how much too little it has, else too much.
 */
static double sensor_error(const struct energy_work *w, struct slope s, double gpu,
			   const double *of_part, size_t stride, bool above)
{
	const struct energy_input *in = w->in;
	double idle = w->parts_idle + w->other_idle, parts = 0, sum;
	double node = s.idle * idle + s.load * (in->node - idle);

	sum = w->other > 0 ? pow(deviation(node, in->node_error, above), 2) +
				     pow(s.load * in->node_off, 2)
			   : 0;
	sum += pow(deviation(gpu - s.load * w->gpu, in->gpu_error, above), 2);
	for (unsigned i = 0; i < w->nparts; i++) {
		const struct part *p = &w->part[i];
		double of = of_part[i * stride], q;

		parts += deviation(of - s.idle * p->idle - s.load * (p->joules - p->idle),
				   in->pkg_error, above);
		q = in->pkg_step + p->joules / in->seconds * in->pkg_edge_s;
		if (p->joules > 0) /* it is read at both ends */
			sum += 2 * pow(q * (of / p->joules - s.load), 2);
	}
	return sqrt(sum + parts * parts);
}

/* sensor_error() of all consumers together. */
static double whole_error(const struct energy_work *w, bool above)
{
	return sensor_error(w, slope_of(w, 1, 1), w->gpu, &w->part[0].joules,
			    sizeof(struct part) / sizeof(double), above);
}

/* The error of a consumer by the error of idle power, which goes by cores held and not by load. */
static double idle_error(const struct energy_work *w, const struct consumer *t)
{
	double moved = fabs(t->load - t->held / w->cores);

	return moved * (w->parts_idle + w->other_idle) * w->in->idle_error;
}

/* Bounds by what is not known of the split, and now by what the sensors are off by. */
static void widen_bounds(struct energy_work *w, unsigned consumer)
{
	struct consumer *t = &w->t[consumer];
	struct slope s = slope_of(w, t->held / w->cores, t->load);
	const double *of = &w->of[consumer];

	t->total = t->fixed + t->dynamic;
	t->low = fmin(t->low, t->total) -
		 hypot(sensor_error(w, s, t->gpu, of, w->n + 1, false), idle_error(w, t));
	t->high = fmax(t->high, t->total) +
		  hypot(sensor_error(w, s, t->gpu, of, w->n + 1, true), idle_error(w, t));
	t->low = fmax(t->low, 0);
}

void energy__finish(struct energy_work *w)
{
	double measured = w->out->measured, low = 0, high = 0;
	double least = measured - whole_error(w, false), most = measured + whole_error(w, true);

	for (unsigned i = 0; i <= w->n; i++) {
		widen_bounds(w, i);
		low += w->t[i].low;
		high += w->t[i].high;
	}
	for (unsigned i = 0; i < w->in->nsteps; i++) {
		struct consumer *t = &w->t[i];
		struct energy_share *s = &w->out->step[i];

		*s = (struct energy_share){
			.total = t->total, .fixed = t->fixed, .dynamic = t->dynamic};
		/* What the others have at least, this one has not. */
		s->low = fmin(fmax(t->low, least - (high - t->high)), t->total);
		s->high = fmax(fmin(t->high, most - (low - t->low)), t->total);
		w->steps += t->total;
	}
	w->out->system = w->t[w->in->nsteps].total;
	w->out->unallocated = w->t[w->n].total;
}
