/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Folds the executions of a region, or iterations where programs have named none. */
#include "analysis/fold/folded.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/fold/fold_period.h"
#include "analysis/fold/fold_traces.h"
#include "analysis/order.h"
#include "base/cleanup.h"

#define ITERATIONS_MAX (1u << 20) /* that are looked for, of all threads */
#define CPU_MAX	       1.0	  /* of one thread */

/* What part of the count is done at x: by its definition none at the begin, and all at the end. */
static double progress(const struct fold_result *r, double x)
{
	if (x <= 0 || x >= 1)
		return x >= 1;
	return fmin(fmax(fold_spline__at(&r->spline, x), 0), 1);
}

double folded__rate(const struct folded *f, enum point_counter c, const struct fold_phase *p)
{
	const struct fold_result *r = &f->of[c];

	if (!f->known[c] || !(p->to > p->from))
		return NAN;
	return r->factor * fmax(progress(r, p->to) - progress(r, p->from), 0) / (p->to - p->from);
}

double folded__possible(enum point_counter c, double rate)
{
	return c == POINT_CPU_TIME && rate > CPU_MAX ? CPU_MAX : rate;
}

double folded__bounds(const struct folded *f)
{
	double off = NAN;

	for (size_t i = 0; i + 1 < f->nphases; i++)
		off = fmax(off, fmax(f->phases[i].high - f->phases[i].to,
				     f->phases[i].to - f->phases[i].low));
	return off;
}

/* How they are found: by the code of samples, or by bursts, which say when each of them begins. */
struct iterations {
	struct fold_period period; /* of samples; NaN: they have none */
	struct fold_train train;   /* of bursts; NaN: they have none, or none of that period */
	struct fold_wake *wakes;   /* of all threads; NULL: iterations are those of the samples */
	const struct points *p;
};

/* ---- finds iterations, by samples or by bursts */

static int by_thread(const struct point_burst *b, const struct thread_key *k)
{
	if (b->node != k->node)
		return b->node < k->node ? -1 : 1;
	return b->thread < k->thread ? -1 : b->thread > k->thread;
}

/* The first burst of that thread, or of one after it; with is_end, the first one after all of it.
 */
static size_t bound_of(const struct points *p, const struct thread_key *thread, bool is_end)
{
	size_t from = 0, to = p->nbursts;

	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (by_thread(&p->bursts[middle], thread) < is_end)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

/* The bursts of the thread of a trace: a part of the wakes. */
static size_t wakes_of(const struct iterations *it, const struct traces *t,
		       const struct fold_trace *tr, const struct fold_wake **out)
{
	const struct points *p = it->p;
	const struct thread_key *thread = &p->points[tr->samples - t->samples].thread;
	size_t from = bound_of(p, thread, false);

	*out = it->wakes + from;
	return bound_of(p, thread, true) - from;
}

static const struct fold_trace *busiest(const struct traces *t)
{
	size_t most = 0;

	for (size_t i = 1; i < t->n; i++)
		if (t->trace[i].nsamples > t->trace[most].nsamples)
			most = i;
	return &t->trace[most];
}

static int find_train(struct iterations *it, const struct traces *t)
{
	const struct points *p = it->p;
	const struct fold_wake *w;
	enum analysis_status status;
	size_t n;

	it->train = (struct fold_train){NAN, NAN};
	if (!p->nbursts || !t->n)
		return -ENODATA;
	it->wakes = calloc(p->nbursts + 1, sizeof(*it->wakes));
	if (!it->wakes)
		return -ENOMEM;
	for (size_t i = 0; i < p->nbursts; i++)
		it->wakes[i] = (struct fold_wake){p->bursts[i].begin_s, p->bursts[i].gap_s};
	n = wakes_of(it, t, busiest(t), &w);
	status = fold_train__find(w, n, it->period.period_s, &it->train);
	if (status == ANALYSIS_OK)
		return 0;
	free(it->wakes);
	it->wakes = NULL;
	return status == ANALYSIS_NO_MEMORY ? -ENOMEM : -ENODATA;
}

/* Looks at the thread with most samples. The period that the code of samples has decides which of
 * the bursts' waits end iterations; without such a period bursts are believed alone. 0; -ENODATA:
 * there are no iterations; -ENOMEM. iterations_free() in all cases. */
static int iterations_find(struct iterations *it, const struct traces *t, const struct points *p)
{
	enum analysis_status status;
	int err;

	*it = (struct iterations){.p = p};
	status = fold_period__find(busiest(t), &it->period);
	if (status == ANALYSIS_NO_MEMORY)
		return -ENOMEM;
	err = find_train(it, t);
	return err == -ENODATA && status == ANALYSIS_OK ? 0 : err;
}

#define OFTEN \
	4 /* that bursts are looked at: a number may be of several threads, one after another */

/* Another thread waits for others in its own way, and has the same iterations. *looked: bursts so
 * far, of which a damaged file could give all to every trace. */
static size_t make_by_train(const struct iterations *it, const struct traces *t,
			    const struct fold_trace *tr, size_t max, size_t *looked)
{
	const struct fold_wake *w;
	size_t n = wakes_of(it, t, tr, &w);
	struct fold_train train;

	*looked += n;
	if (*looked > OFTEN * it->p->nbursts)
		return 0;
	if (fold_train__find(w, n, it->train.period_s, &train) != ANALYSIS_OK)
		return 0;
	return fold_train__instances(w, n, &train, tr->instances, max);
}

/* Fills the instances of t, which traces__of_threads() has made. shift moves the begin of those
 * that were found by samples, in periods. */
static void iterations_make(struct traces *t, const struct iterations *it, double shift)
{
	size_t looked = 0;

	t->ninstances = 0;
	for (size_t i = 0; i < t->n; i++) {
		struct fold_trace *tr = &t->trace[i];
		size_t max = ITERATIONS_MAX - t->ninstances;

		tr->instances = &t->instances[t->ninstances];
		tr->ninstances = it->wakes ? make_by_train(it, t, tr, max, &looked)
					   : fold_period__instances(tr, &it->period, shift,
								    tr->instances, max);
		t->ninstances += tr->ninstances;
	}
}

static void iterations_free(struct iterations *it)
{
	free(it->wakes);
	it->wakes = NULL;
}

#define SAMPLE_LATE_S 20e-6
#define FAR	      3 /* standard deviations */

/* What the threads have counted, as their samples say, from the first execution to the last one. */
static double count_all(const struct traces *t, bool *sampled)
{
	double all = 0;

	*sampled = false;
	for (size_t i = 0; i < t->n; i++) {
		const struct fold_trace *tr = &t->trace[i];
		double first, last, from = NAN, to = NAN;
		size_t known = 0;

		if (!tr->ninstances) /* a thread that has no iterations */
			continue;
		first = tr->instances[0].t0;
		last = tr->instances[tr->ninstances - 1].t1;
		for (size_t k = 0; k < tr->nsamples && tr->samples[k].t <= last; k++) {
			if (isnan(tr->samples[k].c) || tr->samples[k].t < first)
				continue;
			from = isnan(from) ? tr->samples[k].c : from;
			to = tr->samples[k].c;
			known++;
		}
		*sampled |= known > 1;
		all += isnan(from) ? 0 : to - from;
	}
	return all;
}

static double count_known(const struct traces *t, bool *known)
{
	double sum = 0;

	*known = false;
	for (size_t i = 0; i < t->ninstances; i++) {
		double count = t->instances[i].c1 - t->instances[i].c0;

		*known |= !isnan(count);
		sum += isnan(count) ? 0 : count;
	}
	return sum;
}

/* Less than one event in all executions together, by what is known of them, and of their threads.
 */
static bool is_still(const struct traces *t, enum point_counter c)
{
	static const double one[POINT_COUNTERS] = {
		[POINT_CPU_TIME] = 1e-9, [POINT_PAGE_FAULTS] = 1};
	bool known, sampled;
	double inside = count_known(t, &known), all = count_all(t, &sampled);

	return known ? inside < one[c] / 2 && (!sampled || all < one[c]) : sampled && all < one[c];
}

/* There are samples in executions, but what these counted cannot be told. */
static bool is_stretched(const struct traces *t)
{
	bool known;

	count_known(t, &known);
	for (size_t i = 0; !known && i < t->ninstances; i++)
		if (t->instances[i].nsamples)
			return true;
	return false;
}

#define RUNNING_MAX 2 /* CPUs of one thread; an estimate may be above 1 */

#define FEW  0.1 /* of the executions */
#define MOST 0.8 /* of the count */

#define LEAST 30   /* samples */
#define DOUBT 0.1  /* of a CPU */
#define FALL  0.02 /* of the count: what is left of noise */

/* What an execution has counted; where that is not known, as others stretched it, what samples
 * inside of it say that it has at least. NaN: neither. */
static double count_at_least(const struct fold_instance *in)
{
	double first = NAN, last = NAN;

	if (!isnan(in->c1 - in->c0))
		return in->c1 - in->c0;
	for (size_t i = 0; i < in->nsamples; i++) {
		last = isnan(in->samples[i].c) ? last : in->samples[i].c;
		first = isnan(first) ? last : first;
	}
	return last - first;
}

/* Every execution is taken to count alike: a curve of one that did it all would be of none. */
static int is_in_few(bool *few, const struct traces *t)
{
	_cleanup_free_ double *count = calloc(t->ninstances + 1, sizeof(*count));
	double all = 0, most = 0;
	size_t n = 0, some;

	if (!count)
		return -ENOMEM;
	for (size_t i = 0; i < t->ninstances; i++) {
		count[n] = count_at_least(&t->instances[i]);
		all += isnan(count[n]) ? 0 : count[n];
		n += !isnan(count[n]);
	}
	qsort(count, n, sizeof(*count), order__doubles);
	some = (size_t)(FEW * (double)n);
	for (size_t i = n - some; i < n; i++)
		most += count[i];
	*few = most > MOST * all;
	return 0;
}

/* Whether probes have read the counts at begin and end; else they are estimated. */
static bool is_measured(const struct traces *t)
{
	return t->bounds && t->ninstances && !isnan(t->bounds[0].begin[POINT_CPU_TIME]);
}

/* The estimate is far from the part of the samples at which the thread ran. */
static bool is_doubtful(const struct traces *t, double rate)
{
	double ran = 0, all = 0;

	for (size_t i = 0; i < t->ninstances; i++)
		for (size_t k = 0; k < t->instances[i].nsamples; k++) {
			ran += !t->instances[i].samples[k].off;
			all++;
		}
	return all >= LEAST && fabs(rate - ran / all) > DOUBT + 3 * sqrt(0.25 / all);
}

/* Why the counts of the executions say nothing; NULL: they do. factor: the mean rate. */
static const char *find_flaw(const struct traces *t, enum point_counter c, bool few, double factor)
{
	if (is_still(t, c))
		return "does not change in this region";
	if (few)
		return "is counted in few executions of this region, which folding takes to be "
		       "alike";
	if (c == POINT_CPU_TIME && !is_measured(t) &&
	    (factor > RUNNING_MAX || is_doubtful(t, factor)))
		return "cannot be told from the samples: executions differ too much, or are too "
		       "short beside what is between them";
	if (c == POINT_CPU_TIME && factor > RUNNING_MAX)
		return "is more than the time that passed: the file is damaged";
	if (is_stretched(t))
		return "is not known of any execution: between two samples there are always some "
		       "of unusual length";
	return NULL;
}

/* A count never falls: the executions are not alike if their curve does. */
static bool falls(const struct fold_result *r)
{
	double highest = 0;

	for (size_t i = 0; i < FOLD_CURVE; i++) {
		if (r->curve[i] < highest - FALL)
			return true;
		highest = fmax(highest, r->curve[i]);
	}
	return false;
}

static int fold_counter(struct folded *f, struct traces *t, const struct points *p,
			enum point_counter c, double nugget)
{
	struct fold_options o = {FOLD_FILTER_MEDIAN, nugget, FAR};
	double scatter;
	enum analysis_status status = traces__count(t, p, c, &scatter);
	bool few = false;

	o.filter.floor = fmax(o.filter.floor, t->blur);
	if (status == ANALYSIS_OK)
		status = fold__region(t->instances, t->ninstances, &o, FOLD_CURVE, &f->of[c]);
	if (status == ANALYSIS_NO_MEMORY || is_in_few(&few, t))
		return -ENOMEM;
	f->flawed[c] = find_flaw(t, c, few, f->of[c].factor);
	if (c == POINT_CPU_TIME)
		f->scatter = scatter;
	f->known[c] = status == ANALYSIS_OK && !f->flawed[c];
	if (c == POINT_CPU_TIME && f->known[c] && falls(&f->of[c]))
		f->scatter = fmax(f->scatter, 1);
	return 0;
}

/* Of iterations without markers, whose begin and end are estimated. */
static void set_misplaced(struct folded *f, double misplaced, double unlike)
{
	for (int c = 0; c < POINT_COUNTERS; c++) {
		fold_validity__misplaced(&f->of[c].validity, misplaced);
		fold_validity__unlike(&f->of[c].validity, unlike);
	}
}

/* The samples inside of the executions that are kept, for the phases. */
static int find_phases(struct folded *f, const struct traces *t)
{
	const struct fold_result *r = &f->of[f->shown];
	uint64_t *code = calloc(r->points.n + 1, sizeof(*code));
	_cleanup_free_ size_t *execution = calloc(r->points.n + 1, sizeof(*execution));
	size_t n = 0;
	bool ok = true;

	if (!code || !execution) {
		free(code);
		return -ENOMEM;
	}
	for (size_t i = 0; i < t->ninstances; i++) {
		const struct fold_instance *in = &t->instances[i];

		/* as fold__points() takes them */
		if (!r->keep[i] || !(in->t1 > in->t0) || !(in->c1 > in->c0))
			continue;
		for (size_t k = 0; k < in->nsamples && n < r->points.n; k++)
			if (in->samples[k].t > in->t0 && in->samples[k].t < in->t1 &&
			    !isnan(in->samples[k].c)) {
				execution[n] = i;
				code[n++] = t->code[&in->samples[k] - t->samples];
			}
	}
	if (n == r->points.n) {
		f->nphases = fold_trace__phases(r->points.x, code, n, f->phases);
		ok = fold_names__phases(f, r->points.x, code, n);
		if (ok && !t->bounds)
			set_misplaced(f, fold_names__misplaced(f, r->points.x, code, n),
				      fold__unlike(r->points.x, code, execution, n));
	}
	free(code);
	return ok ? 0 : -ENOMEM;
}

/* A sample has its time some microseconds after the instruction that was interrupted; where it is
 * known how many, they have been taken off, but for some of them. */
static void widen_bounds(struct folded *f, const struct traces *t)
{
	double late = t->blur > 0 ? t->blur * f->period_s : SAMPLE_LATE_S;
	double misplaced = f->of[f->shown].validity.misplaced, blur = misplaced > 0 ? misplaced : 0;

	for (size_t i = 0; i + 1 < f->nphases; i++) {
		struct fold_phase *p = &f->phases[i];

		p->low = fmax(p->from, p->low - late / f->period_s - blur);
		p->high = fmin(p[1].to, p->high + blur);
	}
}

/* The part of a phase that is no other's, however its bounds lie; those of the iteration are known
 * no better than the others. */
static struct fold_phase middle_of(const struct folded *f, size_t i)
{
	struct fold_phase p = f->phases[i];
	double bounds = folded__bounds(f);

	p.from = i ? f->phases[i - 1].high : bounds;
	p.to = i + 1 < f->nphases ? p.low : 1 - bounds;
	return p;
}

/* How far phases' rates are off, see fold_validity__blurred(). */
static double find_blurred(const struct folded *f, enum point_counter c)
{
	double blurred = NAN;

	for (size_t i = 0; i < f->nphases; i++) {
		struct fold_phase middle = middle_of(f, i);
		double rate = folded__rate(f, c, &f->phases[i]),
		       inside = folded__rate(f, c, &middle);

		blurred = fmax(blurred,
			       fabs(inside - rate) / fmax(fmax(inside, rate), f->of[c].factor));
	}
	return blurred;
}

static double mean_length(const struct traces *t, const struct fold_result *r)
{
	double sum = 0;

	for (size_t i = 0; i < t->ninstances; i++)
		sum += r->keep[i] ? t->instances[i].t1 - t->instances[i].t0 : 0;
	return r->range.kept ? sum / (double)r->range.kept : NAN;
}

static int fold_all(struct folded *f, struct traces *t, const struct points *p,
		    const struct fold_query *q)
{
	int err = 0;

	for (int c = 0; !err && c < POINT_COUNTERS; c++)
		if (c != (int)q->counter)
			err = fold_counter(f, t, p, c, q->nugget);
	if (!err) /* last: the instances have its counts */
		err = fold_counter(f, t, p, q->counter, q->nugget);
	if (err)
		return err;
	f->shown = q->counter;
	for (int c = 0; c < POINT_COUNTERS; c++)
		fold_validity__scatter(&f->of[c].validity, f->scatter);
	if (!f->known[f->shown])
		return -ENODATA;
	f->threads = 0;
	for (size_t i = 0; i < t->n; i++)
		f->threads += t->trace[i].ninstances > 0;
	f->instances = t->ninstances;
	f->samples = f->of[f->shown].points.n;
	f->period_s = mean_length(t, &f->of[f->shown]);
	if (fold__is_locked(&f->of[f->shown].points, &f->of[POINT_CPU_TIME].spline))
		f->locked = "samples fall on the same parts of it again and again";
	err = f->locked ? 0 : find_phases(f, t);
	widen_bounds(f, t);
	for (int c = 0; !t->bounds && c < POINT_COUNTERS; c++)
		fold_validity__blurred(&f->of[c].validity, find_blurred(f, c));
	return err;
}

/* "solve" is "PROGRAM:solve" too, as a probed function is called. */
static bool is_called(const char *region, const char *name)
{
	const char *colon = strrchr(region, ':');

	return !strcmp(region, name) || (colon && !strcmp(colon + 1, name));
}

/* The region of that name, or the one that took most time; of several of a name likewise. */
static int choose_region(const struct points *p, const char *name, unsigned *region)
{
	double *spent = calloc(p->nnames + 1, sizeof(*spent));
	int err = spent ? -ENOENT : -ENOMEM;

	for (size_t i = 0; spent && i < p->nregions; i++)
		spent[p->regions[i].region] += p->regions[i].end_s - p->regions[i].begin_s;
	for (unsigned i = 0; spent && i < p->nnames; i++)
		if ((!name || is_called(p->names[i], name)) && (err || spent[i] > spent[*region])) {
			*region = i;
			err = 0;
		}
	free(spent);
	return err;
}

/* Where iterations are to begin instead of at 0: at the bound between the two longest phases, and
 * not inside of a phase, whose two parts then are the first phase and the last one. */
static double begin_of(const struct folded *f, bool is_first_pass)
{
	const struct fold_phase *first = &f->phases[0], *last = &f->phases[f->nphases - 1];
	double best = 0, at = 0;

	if (!is_first_pass)
		return f->nphases < 3 || first->code != last->code ? 0
		       : first->to < last->to - last->from	   ? first->to
								   : last->from;
	for (size_t i = 1; i < f->nphases; i++) {
		const struct fold_phase *a = &f->phases[i - 1], *b = &f->phases[i];
		double least = fmin(a->to - a->from, b->to - b->from);

		if (a->code != b->code && least > best) {
			best = least;
			at = b->from;
		}
	}
	return at;
}

#define PASSES 3

/* Iterations begin where one phase follows another: each pass but the last finds where that is. */
static int fold_periods(struct folded *f, struct traces *t, const struct points *p,
			const struct fold_query *q)
{
	struct iterations it;
	double begin = 0, shift = 0;
	int err;

	traces__set_counter(t, p, q->counter);
	err = iterations_find(&it, t, p);
	for (int pass = 0; pass < PASSES && !err && (!pass || begin > 0); pass++) {
		folded__free(f);
		*f = (struct folded){.lost_points = p->lost_points,
				     .functions = p->functions,
				     .event = p->event,
				     .wait_s = it.train.gap_s};
		shift += begin;
		iterations_make(t, &it, shift);
		err = fold_all(f, t, p, q);
		begin = err || f->locked || f->nphases < 2 || it.wakes ? 0 : begin_of(f, !pass);
	}
	iterations_free(&it);
	return err;
}

int folded__of(struct folded *f, const struct points *p, const struct fold_query *q)
{
	bool named = p->nregions || q->region;
	unsigned region = 0;
	struct traces t;
	int err = named ? choose_region(p, q->region, &region) : 0;

	*f = (struct folded){.wait_s = NAN,
			     .lost_points = p->lost_points,
			     .lost_regions = p->lost_regions,
			     .functions = p->functions,
			     .event = p->event};
	if (err)
		return err;
	if (named) {
		err = traces__of(&t, p, region);
		err = err ? err : fold_all(f, &t, p, q);
		f->region = p->names[region];
	} else {
		err = traces__of_threads(&t, p, ITERATIONS_MAX);
		err = err ? err : fold_periods(f, &t, p, q);
	}
	traces__free(&t);
	return err;
}

void folded__free(struct folded *f)
{
	for (int c = 0; c < POINT_COUNTERS; c++)
		fold_result__free(&f->of[c]);
}
