// SPDX-License-Identifier: GPL-2.0-or-later
/* Functions as regions: their executions, and the budget of their probes. */
#include "daemon/step/probed_regions.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"

#define WATCH_NS (NSEC_PER_SEC / 10)

static double saved_ns(const struct probed_regions *r)
{
	return r->percent / 100 * PROBED_SAVED_S * NSEC_PER_SEC;
}

struct probed_regions *probed_regions__new(const struct kern_region *list, unsigned n,
					   double percent, uint64_t now_ns)
{
	struct probed_regions *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->list = list;
	r->n = n;
	r->percent = percent;
	r->began_ns = r->watched_ns = now_ns;
	r->limit_ns = saved_ns(r);
	for (unsigned i = 0; i < n; i++)
		r->of[i].until_ns = UINT64_MAX;
	return r;
}

/* What was spent since the last time, ns. */
static double spend(struct probed_regions *r, const struct kern *k)
{
	double all = 0;

	for (unsigned i = 0; i < r->n; i++) {
		uint64_t traps = kern__traps(k, i);
		double ns = (double)(traps - r->of[i].traps) * kern__trap_ns(k);

		r->of[i].traps = traps;
		r->of[i].spent_ns += ns;
		all += ns;
	}
	return all;
}

/* Time that was spent long ago does not count: a region that spends little for hours owes nothing.
 */
static void fade(struct probed_regions *r, uint64_t ns)
{
	const double keep = exp(-(double)ns / (PROBED_SAVED_S * NSEC_PER_SEC));

	for (unsigned i = 0; i < r->n; i++)
		r->of[i].spent_ns *= keep;
}

/* The others may go on: they have not spent it. */
static void pause_dearest(struct probed_regions *r, struct kern *k, uint64_t now_ns)
{
	struct probed_region *p = NULL;

	for (unsigned i = 0; i < r->n; i++)
		if (!r->of[i].paused && (!p || r->of[i].spent_ns > p->spent_ns))
			p = &r->of[i];
	if (!p)
		return;
	p->until_ns = clock__mono_ns();
	p->paused = true;
	p->paused_ns = now_ns;
	if (!p->pauses++)
		p->first_ns = now_ns;
	kern__pause_region(k, (unsigned)(p - r->of));
	r->debt_ns += spend(r, k); /* that took a while */
	for (unsigned i = 0; i < r->n; i++)
		r->of[i].spent_ns = 0;
	r->limit_ns = r->debt_ns + saved_ns(r);
}

/* From one instant to another, 0 if that was before. */
static double span_s(uint64_t from_ns, uint64_t to_ns)
{
	return to_ns > from_ns ? (double)(to_ns - from_ns) / NSEC_PER_SEC : 0;
}

static double pause_s(const struct probed_region *p, uint64_t now_ns)
{
	return p->paused_s + (p->paused ? span_s(p->paused_ns, now_ns) : 0);
}

static void resume_all(struct probed_regions *r, struct kern *k, uint64_t now_ns)
{
	r->limit_ns = saved_ns(r);
	for (unsigned i = 0; i < r->n; i++) {
		struct probed_region *p = &r->of[i];

		if (!p->paused || p->gone)
			continue;
		region_pairs__forget(&r->pairs, i);
		p->gone = kern__resume_region(k, i) != 0;
		if (p->gone) {
			log_error("%s", kern__error());
			continue;
		}
		p->paused_s = pause_s(p, now_ns);
		p->from_ns = clock__mono_ns();
		p->until_ns = UINT64_MAX;
		p->paused = false;
	}
}

void probed_regions__watch(struct probed_regions *r, struct kern *k, uint64_t now_ns)
{
	double paid = r->percent / 100 * (double)(now_ns - r->watched_ns);

	fade(r, now_ns - r->watched_ns);
	r->watched_ns = now_ns;
	r->debt_ns = fmax(r->debt_ns + spend(r, k) - paid, 0);
	r->limit_ns = fmax(fmin(r->limit_ns, r->debt_ns + saved_ns(r)), saved_ns(r));
	if (r->debt_ns > r->limit_ns)
		pause_dearest(r, k, now_ns);
	else if (r->debt_ns <= 0)
		resume_all(r, k, now_ns);
}

uint64_t probed_regions__due(const struct probed_regions *r)
{
	return r && r->n ? r->watched_ns + WATCH_NS : UINT64_MAX;
}

bool probed_regions__take(struct probed_regions *r, const struct jp_crossing *c,
			  struct external_region *x, const char **name)
{
	const struct region_mark m = {c->time_ns,
				      (uint64_t)c->tgid << 32 | c->tid,
				      c->frame,
				      c->cookie & JP_REGION_NUMBER,
				      {(double)c->cpu_ns, (double)c->faults}};
	struct region_mark begin;

	if (m.region >= r->n || m.time_ns < r->of[m.region].from_ns ||
	    m.time_ns > r->of[m.region].until_ns)
		return false;
	if (c->lost > r->ring_lost) {
		r->ring_lost = c->lost;
		region_pairs__lose(&r->pairs, 0);
	}
	if (!(c->cookie & JP_REGION_END)) {
		region_pairs__begin(&r->pairs, &m);
		return false;
	}
	if (!region_pairs__end(&r->pairs, &m, &begin))
		return false;
	*x = (struct external_region){begin.time_ns, m.time_ns,	 c->tgid,
				      c->tid,	     begin.used, m.used};
	*name = r->list[m.region].name;
	return true;
}

void probed_regions__step(struct probed_regions *r, uint64_t began_ns, uint64_t ended_ns)
{
	r->began_ns = began_ns;
	r->ended_ns = ended_ns;
}

uint64_t probed_regions__lost(const struct probed_regions *r, const struct kern *k)
{
	return r ? r->pairs.lost + r->pairs.nopen + kern__control(k)->stats.crossings_lost : 0;
}

/* Appends to text[len], whose first *at characters are set, as much as fits. */
__attribute__((format(printf, 4, 5))) static void append(char *text, size_t len, size_t *at,
							 const char *format, ...)
{
	va_list args;
	int n;

	if (*at >= len)
		return;
	va_start(args, format);
	n = vsnprintf(text + *at, len - *at, format, args);
	va_end(args);
	*at += n > 0 ? (size_t)n : 0;
}

unsigned probed_regions__text(const struct probed_regions *r, const struct kern *k, char *text,
			      size_t len)
{
	const uint64_t end_ns = r->ended_ns ? r->ended_ns : r->watched_ns;
	unsigned n = 0;
	size_t at = 0;

	append(text, len, &at, "probes: %.1f us each time", kern__trap_ns(k) / 1e3);
	for (unsigned i = 0, waits = 0; i < r->n; i++)
		if (r->list[i].wait)
			append(text, len, &at, "%s%s", waits++ ? ", " : "; bursts end at ",
			       r->list[i].name);
	for (unsigned i = 0; i < r->n; i++) {
		const struct probed_region *p = &r->of[i];

		if (!p->pauses)
			continue;
		n++;
		append(text, len, &at, "; %s paused ", r->list[i].name);
		if (p->pauses > 1)
			append(text, len, &at, "%u times", p->pauses);
		else
			append(text, len, &at, "once");
		append(text, len, &at,
		       ", %.1f s in all, first after %.1f s: its probes cost more than %g %% of a "
		       "CPU",
		       pause_s(p, end_ns), span_s(r->began_ns, p->first_ns), r->percent);
	}
	for (unsigned i = 0; i < r->n; i++) {
		if (kern__traps(k, i))
			continue;
		n++;
		append(text, len, &at, "; %s was never executed", r->list[i].name);
	}
	return n;
}
