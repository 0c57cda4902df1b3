/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One interval: checks the input, and splits packages, DRAM and GPUs among the consumers. */
#include "energy/energy.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "energy/energy_internal.h"

/* ---- the weights of a split: how much each consumer did, and the cores it holds */

/* A clock further from the mean than this is a count that came late, not a clock. */
#define CLOCK_SPAN 4.0

/* The mean clock of all consumers that ran, cycles/s; NAN: cycles were not counted. */
static double mean_clock(const struct energy_input *in)
{
	size_t n = (size_t)in->nsteps * in->npackages;
	double cycles = 0, run = 0;

	for (size_t i = 0; i < n + in->npackages; i++) {
		const struct energy_use *u = i < n ? &in->use[i] : &in->system[i - n];

		if (isnan(u->cycles))
			continue;
		cycles += u->cycles;
		run += u->run_s;
	}
	return cycles > 0 && run > 0 ? cycles / run : NAN;
}

/* Whether cycles are known of every step that ran; those of the system need not be. */
static bool is_counted(const struct energy_work *w, unsigned package)
{
	if (isnan(w->clock))
		return false;
	for (unsigned i = 0; i < w->in->nsteps; i++) {
		const struct energy_use *u = energy__use(w, i, package);

		if (u->run_s > 0 && isnan(u->cycles))
			return false;
	}
	return true;
}

/* The clock of a consumer, as a part of the mean. */
static double clock_of(const struct energy_use *u, double mean)
{
	if (isnan(mean) || isnan(u->cycles) || !(u->run_s > 0))
		return 1;
	return fmin(fmax(u->cycles / u->run_s / mean, 1 / CLOCK_SPAN), CLOCK_SPAN);
}

/* Cycles, in seconds at the mean clock. */
static double weight_of(const struct energy_use *u, double clock)
{
	double alone = u->run_s;

	if (!isnan(u->overlap_s))
		alone -= (1 - ENERGY_SMT) * fmin(u->overlap_s, u->run_s);
	return alone * clock;
}

/* Sets weights and busy seconds of w->p for one package; returns the limits for them. */
static struct portion_range energy_weigh(struct energy_work *w, unsigned package)
{
	const struct energy_package *pk = &w->in->package[package];
	bool cycles = is_counted(w, package);

	if (!cycles)
		w->out->weight = WEIGHT_RUN_TIME;
	for (unsigned i = 0; i < w->n; i++) {
		const struct energy_use *u = energy__use(w, i, package);

		double clock = clock_of(u, cycles ? w->clock : NAN);

		w->p[i].weight = weight_of(u, clock);
		/* The powers were seen at usual clocks. The voltage follows the clock, so the power
		 * has its square as a factor. */
		w->p[i].busy_low_s = energy__busy(u) * fmin(clock * clock, 1);
		w->p[i].busy_high_s = energy__busy(u) * fmax(clock * clock, 1);
	}
	return (struct portion_range){.ratio = cycles ? ENERGY_RATIO : ENERGY_RATIO_RUN_TIME,
				      .pmin_w = pk->pmin_w,
				      .pmax_w = pk->pmax_w};
}

/* Sets the weights to cache misses. False: they are not known of all steps that ran. */
static bool weigh_misses(struct energy_work *w, unsigned package)
{
	const struct energy_use *system = &w->in->system[package];
	double misses = 0, run = 0;

	for (unsigned i = 0; i < w->in->nsteps; i++) {
		const struct energy_use *u = energy__use(w, i, package);

		if (!(u->run_s > 0))
			continue;
		if (isnan(u->misses))
			return false;
		misses += u->misses;
		run += u->run_s;
	}
	for (unsigned i = 0; i < w->n; i++) {
		const struct energy_use *u = energy__use(w, i, package);

		w->p[i].weight = isnan(u->misses) ? 0 : u->misses;
	}
	if (isnan(system->misses) && run > 0)
		w->p[w->in->nsteps].weight = misses / run * system->run_s;
	return misses > 0;
}

/* Cores that a consumer holds; if not known, the cores that it kept busy. */
static double cores_held(const struct energy_work *w, unsigned consumer, unsigned package,
			 bool *known)
{
	const struct energy_use *u = energy__use(w, consumer, package);

	*known = !isnan(u->alloc_cores) || consumer == w->in->nsteps;
	if (*known)
		return isnan(u->alloc_cores) ? 0 : u->alloc_cores;
	w->out->alloc_known = false;
	return energy__busy(u) / w->in->seconds;
}

/* Sets share* of w->t, the shares of a package's cores, and adds them to held*. */
static void energy_shares(struct energy_work *w, unsigned package)
{
	double cores = w->in->package[package].cores, all = 0, low = 0;
	struct consumer *unallocated = &w->t[w->n];
	bool known, every = true;

	for (unsigned i = 0; i < w->n; i++)
		all += cores_held(w, i, package, &known);
	all = fmax(all, cores);
	for (unsigned i = 0; i < w->n; i++) {
		struct consumer *t = &w->t[i];

		t->share = t->share_low = t->share_high = cores_held(w, i, package, &known) / all;
		t->share_high = known ? t->share : NAN;
		every = every && known;
		low += t->share;
	}
	unallocated->share = unallocated->share_high = fmax(1 - low, 0);
	unallocated->share_low = every ? unallocated->share : 0;
	for (unsigned i = 0; i <= w->n; i++) {
		struct consumer *t = &w->t[i];

		if (isnan(t->share_high))
			t->share_high = t->share + unallocated->share;
		t->held += t->share * cores;
		t->held_low += t->share_low * cores;
		t->held_high += t->share_high * cores;
	}
	w->cores += cores;
}

/* ---- splits the rest of the node, and widens bounds by the errors of sensors */

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

/* DRAM that is not measured is in the rest of the node, and is divided by cache misses. */
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

/* Splits the energy that is neither package nor DRAM nor GPU, if the node was measured. */
static void split_other(struct energy_work *w)
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

/* Writes totals and bounds of all consumers, with the errors of sensors, to w->out. */
static void energy_finish(struct energy_work *w)
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
		/* This consumer cannot have what the others have at least. */
		s->low = fmin(fmax(t->low, least - (high - t->high)), t->total);
		s->high = fmax(fmin(t->high, most - (low - t->low)), t->total);
		w->steps += t->total;
	}
	w->out->system = w->t[w->in->nsteps].total;
	w->out->unallocated = w->t[w->n].total;
}

/* Whether a value cannot be true. NAN can: not measured. */
static bool wrong(double x)
{
	return x < 0 || isinf(x);
}

static bool wrong_or_unknown(double x)
{
	return !(x >= 0) || isinf(x);
}

static bool wrong_use(const struct energy_use *u)
{
	return wrong_or_unknown(u->run_s) || wrong(u->overlap_s) || wrong(u->cycles) ||
	       wrong(u->misses) || wrong(u->alloc_cores);
}

static bool wrong_package(const struct energy_package *p)
{
	return !p->cores || wrong(p->pkg) || wrong(p->dram) || wrong(p->pkg_idle_w) ||
	       wrong(p->dram_idle_w) || wrong(p->pmin_w) || wrong(p->pmax_w);
}

static int check_input(const struct energy_input *in)
{
	bool any = !isnan(in->node) || in->gpu_unowned > 0;

	if (!(in->seconds > 0) || isinf(in->seconds) || !in->npackages || wrong(in->node) ||
	    wrong(in->other_idle_w) || !(in->node_error >= 0 && in->node_error < 1) ||
	    wrong_or_unknown(in->node_off) || !(in->pkg_error >= 0 && in->pkg_error < 1) ||
	    !(in->gpu_error >= 0 && in->gpu_error < 1) || wrong_or_unknown(in->pkg_step) ||
	    wrong_or_unknown(in->idle_error) || wrong_or_unknown(in->pkg_edge_s) ||
	    wrong_or_unknown(in->gpu_unowned))
		return -EINVAL;
	for (unsigned i = 0; i < in->npackages; i++) {
		if (wrong_package(&in->package[i]) || wrong_use(&in->system[i]))
			return -EINVAL;
		any = any || !isnan(in->package[i].pkg) || !isnan(in->package[i].dram);
	}
	for (size_t i = 0; i < (size_t)in->nsteps * in->npackages; i++)
		if (wrong_use(&in->use[i]))
			return -EINVAL;
	for (unsigned i = 0; in->gpu && i < in->nsteps; i++) {
		if (wrong(in->gpu[i]))
			return -EINVAL;
		any = any || !isnan(in->gpu[i]);
	}
	return any ? 0 : -ENODATA;
}

static void add_fixed(struct energy_work *w, double joules)
{
	for (unsigned i = 0; i <= w->n; i++) {
		struct consumer *t = &w->t[i];

		t->fixed += joules * t->share;
		t->low += joules * t->share_low;
		t->high += joules * t->share_high;
		t->total += joules * t->share;
	}
}

/* Divides joules by the weights in p. held: an unknown part of them may be what cores take when
 * idle. */
static void add_dynamic(struct energy_work *w, double joules, const struct portion_range *range,
			bool held)
{
	double left = portion__split(w->p, w->n, joules, range);

	w->p[w->in->nsteps].point += left;
	w->p[w->in->nsteps].low += left;
	w->p[w->in->nsteps].high += left;
	for (unsigned i = 0; i < w->n; i++) {
		struct consumer *t = &w->t[i];
		struct portion *p = &w->p[i];

		if (held) {
			p->low = fmin(p->low, joules * t->share_low);
			p->high = fmax(p->high, joules * t->share_high);
		}
		t->dynamic += p->point;
		t->low += p->low;
		t->high += p->high;
		t->act += p->point;
		t->act_low += p->low;
		t->act_high += p->high;
		t->total += p->point;
	}
	if (held)
		w->t[w->n].high += joules * w->t[w->n].share_high;
}

/* A package or its DRAM, with the weights that are in p. */
static void split_part(struct energy_work *w, double joules, double idle_w,
		       const struct portion_range *range)
{
	double fixed = isnan(idle_w) ? 0 : fmin(idle_w * w->in->seconds, joules);

	for (unsigned i = 0; i <= w->n; i++)
		w->t[i].total = 0;
	add_fixed(w, fixed);
	add_dynamic(w, joules - fixed, range, isnan(idle_w));
	w->part[w->nparts] = (struct part){joules, fixed};
	for (unsigned i = 0; i <= w->n; i++)
		w->of[(size_t)w->nparts * (w->n + 1) + i] = w->t[i].total;
	w->nparts++;
	w->parts += joules;
	w->parts_idle += fixed;
	w->measured = true;
}

static void split_package(struct energy_work *w, unsigned package)
{
	const struct energy_package *pk = &w->in->package[package];
	struct portion_range range = energy_weigh(w, package);
	bool misses;

	energy_shares(w, package);
	for (unsigned i = 0; i < w->n; i++)
		w->t[i].weight += w->p[i].weight;
	if (!isnan(pk->pkg)) {
		w->out->static_known = w->out->static_known && !isnan(pk->pkg_idle_w);
		split_part(w, pk->pkg, pk->pkg_idle_w, &range);
	}
	misses = weigh_misses(w, package);
	for (unsigned i = 0; misses && i < w->n; i++)
		w->t[i].misses += w->p[i].weight;
	w->misses_known = w->misses_known || misses;
	if (isnan(pk->dram))
		return;
	w->dram_known = true;
	range = (struct portion_range){misses ? ENERGY_RATIO_MISS : INFINITY, NAN, NAN};
	if (!misses)
		energy_weigh(w, package);
	split_part(w, pk->dram, pk->dram_idle_w, &range);
}

static void give_gpus(struct energy_work *w)
{
	const struct energy_input *in = w->in;

	for (unsigned i = 0; i <= w->n; i++) {
		struct consumer *t = &w->t[i];
		double joules = 0;

		if (i == w->n)
			joules = in->gpu_unowned;
		else if (i < in->nsteps && in->gpu && !isnan(in->gpu[i]))
			joules = in->gpu[i];
		t->gpu = joules;
		t->dynamic += joules;
		t->low += joules;
		t->high += joules;
		t->act += joules;
		t->act_low += joules;
		t->act_high += joules;
		w->gpu += joules;
	}
}

int energy__split(const struct energy_input *in, struct energy_split *out)
{
	struct energy_work w = {.in = in, .out = out, .n = in->nsteps + 1};
	_cleanup_free_ struct consumer *t = NULL;
	_cleanup_free_ struct portion *p = NULL;
	_cleanup_free_ struct part *part = NULL;
	_cleanup_free_ double *of = NULL;
	int err = check_input(in);

	if (err)
		return err;
	t = calloc(w.n + 1, sizeof(*t));
	p = calloc(w.n, sizeof(*p));
	part = calloc(in->npackages, 2 * sizeof(*part));
	of = calloc((size_t)in->npackages * (w.n + 1), 2 * sizeof(*of));
	if (!t || !p || !part || !of)
		return -ENOMEM;
	w.t = t;
	w.p = p;
	w.part = part;
	w.of = of;
	w.clock = mean_clock(in);
	*out = (struct energy_split){.step = out->step,
				     .weight = WEIGHT_CYCLES,
				     .static_known = true,
				     .alloc_known = true,
				     .node_known = !isnan(in->node)};
	for (unsigned i = 0; i < in->npackages; i++)
		split_package(&w, i);
	give_gpus(&w);
	split_other(&w);
	energy_finish(&w);
	assert(fabs(out->system + out->unallocated + w.steps - out->measured) <=
	       1e-9 * out->measured);
	return 0;
}
