// SPDX-License-Identifier: GPL-2.0-or-later
/* Prints a folded region in the terminal: its phases, the rate of a counter in it, and how reliable
 * that is. As SVG, draws the counter's progress and rate over the phases. */
#include "view/fold/fold_view.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/escape.h"
#include "bpf/jobprof.h"
#include "view/report/report_text.h"
#include "view/svg.h"

#define SPARK_MAX 120u
#define RUNS	  "; when it runs: "

void fold_view__code(const struct folded *f, uint64_t code, char *text, size_t size)
{
	unsigned kind = (unsigned)(code >> 56);
	uint64_t place = (code & ((1ull << 56) - 1)) << FOLD_CODE_SHIFT;

	if (code & FOLD_NAMED) {
		size_t function = (code & (FOLD_NAMED - 1)) >> FOLD_FUNCTION_SHIFT;

		place = (code & FOLD_BLOCK_MASK) << FOLD_CODE_SHIFT;
		snprintf(text, size, "%s", f->functions[function - 1]);
		if (place)
			snprintf(text + strlen(text), size - strlen(text), " (at 0x%" PRIx64 ")",
				 place);
		return;
	}
	kind = kind <= POINT_NOT_RUNNING ? kind : JP_MODULE_UNKNOWN;
	if (place && !(place & JP_PLACE_LIBRARY))
		snprintf(text, size, "%s + 0x%" PRIx64, point_kinds[kind], place);
	else
		snprintf(text, size, "%s", point_kinds[kind]);
}

/* Writes the code of a phase; of one that mostly does not run, also what it executes otherwise. */
static void phase_text(const struct folded *f, const struct fold_phase *p, char *text, size_t size)
{
	size_t len;

	fold_view__code(f, p->code, text, size);
	len = strlen(text);
	if (!p->runs || len + sizeof(RUNS) > size)
		return;
	memcpy(text + len, RUNS, sizeof(RUNS));
	fold_view__code(f, p->runs, text + len + sizeof(RUNS) - 1, size - len - sizeof(RUNS) + 1);
}

const char *fold_view__counter(const struct folded *f, enum point_counter c)
{
	return c == POINT_EVENT ? f->event : point_counters[c];
}

const char *fold_view__missing(const struct folded *f, enum point_counter c)
{
	return f->known[c]    ? NULL
	       : f->flawed[c] ? f->flawed[c]
			      : "no execution with a sample has counted any";
}

const char *fold_view__validity(const struct folded *f, char *why, size_t size)
{
	const struct fold_validity *v = &f->of[f->shown].validity;
	const struct {
		bool failed;
		const char *what;
	} all[] = {
		{f->of[f->shown].range.kept < 10, "fewer than 10 executions"},
		{v->n_samples < 30, "fewer than 30 samples"},
		{!(v->max_gap <= 0.05), "a part without samples"},
		{!v->uniform, "samples are not uniform"},
		{!(v->rms <= 0.05), "executions differ"},
		{v->scatter > FOLD_SCATTER_MAX, "executions ran or counted at different times"},
		{v->misplaced > FOLD_MISPLACED_MAX,
		 "functions run for other times than their phases"},
		{v->blurred > FOLD_BLURRED_MAX, "rates are blurred where phases end"},
		{v->unlike > FOLD_UNLIKE_MAX, "executions executed different code"},
	};

	why[0] = 0;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (all[i].failed)
			snprintf(why + strlen(why), size - strlen(why), "%s%s", why[0] ? ", " : "",
				 all[i].what);
	return v->good ? "good" : "weak";
}

static void print_iterations(const struct folded *f, FILE *out)
{
	report_number wait;

	fputs("none named: iterations ", out);
	if (isnan(f->wait_s)) {
		fputs("of the period that was found", out);
		return;
	}
	fprintf(out, "that end with a wait of %s or longer", report_text__time(f->wait_s, wait));
}

static void print_head(const struct folded *f, FILE *out)
{
	const struct fold_result *r = &f->of[f->shown];
	const struct fold_validity *v = &r->validity;
	char why[256];

	fputs("region        ", out);
	if (f->region)
		print__escaped(out, f->region);
	else
		print_iterations(f, out);
	fprintf(out, "\nexecutions    %zu by %zu thread%s, of %.4g ms; %zu are folded\n",
		f->instances, f->threads, f->threads == 1 ? "" : "s", f->period_s * 1e3,
		r->range.kept);
	fprintf(out, "validity      %s", fold_view__validity(f, why, sizeof(why)));
	if (why[0])
		fprintf(out, ": %s", why);
	fprintf(out,
		"\nsamples       %zu; largest gap %.1f %%, distance to uniform %.3f of %.3f,"
		" residuals %.3f\n",
		v->n_samples, 100 * v->max_gap, v->ks_d, v->ks_limit, v->rms);
	if (f->known[POINT_CPU_TIME])
		fprintf(out,
			"running       %.1f %% of the time; else asleep, or it waits for a CPU\n",
			100 * folded__possible(POINT_CPU_TIME, f->of[POINT_CPU_TIME].factor));
	if (f->nphases > 1)
		fprintf(out,
			"bounds        of phases to %.4f of the region or better, 95 %% sure%s\n",
			folded__bounds(f), f->region ? "" : " if all are alike");
	for (int c = 0; c < POINT_COUNTERS; c++)
		if (fold_view__counter(f, c) && fold_view__missing(f, c))
			fprintf(out, "%-13s %s\n", fold_view__counter(f, c),
				fold_view__missing(f, c));
	if (f->lost_points > 0 || f->lost_regions > 0)
		fprintf(out, "lost          %.0f samples, %.0f begins and ends of regions\n",
			f->lost_points, f->lost_regions);
}

static void print_number(FILE *out, const char *format, double v, int width)
{
	if (isnan(v))
		fprintf(out, "%*s", width, "-");
	else
		fprintf(out, format, v);
}

static void print_phases(const struct folded *f, FILE *out)
{
	bool event = f->shown == POINT_EVENT;
	char code[FOLD_TEXT];

	if (!f->nphases)
		return;
	fprintf(out, "\n%-15s %-15s %8s %6s %10s %6s  code\n", "phase", "ends in", "ms", "CPUs",
		event ? "events/s" : "faults/s", "of it");
	for (size_t i = 0; i < f->nphases; i++) {
		const struct fold_phase *p = &f->phases[i];

		fprintf(out, "%6.4f - %6.4f %6.4f - %6.4f %8.3f", p->from, p->to, p->low, p->high,
			(p->to - p->from) * f->period_s * 1e3);
		print_number(out, " %6.2f",
			     folded__possible(POINT_CPU_TIME, folded__rate(f, POINT_CPU_TIME, p)),
			     7);
		print_number(out, " %10.5g",
			     folded__rate(f, event ? POINT_EVENT : POINT_PAGE_FAULTS, p), 11);
		fprintf(out, " %4.0f %%  ", 100 * p->share);
		phase_text(f, p, code, sizeof(code));
		print__escaped(out, code);
		fputc('\n', out);
	}
}

static void print_rate(const struct folded *f, FILE *out, unsigned width, bool utf8)
{
	double v[SPARK_MAX], max = 0;
	unsigned n = width < SPARK_MAX ? width : SPARK_MAX, i;
	const struct fold_result *r = &f->of[f->shown];

	for (i = 0; i < n; i++) {
		size_t from = i * FOLD_CURVE / n, to = (i + 1) * FOLD_CURVE / n;

		v[i] = 0;
		for (size_t k = from; k < to; k++)
			v[i] += r->rate[k] / (double)(to - from);
		v[i] = folded__possible(f->shown, v[i]);
		max = fmax(max, v[i]);
	}
	fprintf(out, "\n%s, 0 to %.4g %s/s along the region\n", fold_view__counter(f, f->shown),
		max, point_units[f->shown]);
	spark__print(out, v, n, max, utf8);
	fputc('\n', out);
	for (i = 0; i < n; i++) {
		bool bound = false;

		for (size_t k = 1; k < f->nphases; k++)
			bound |= (unsigned)(f->phases[k].from * n) == i;
		fputc(bound ? '^' : ' ', out);
	}
	fputc('\n', out);
}

void fold_text__print(const struct folded *f, FILE *out, unsigned width, bool utf8)
{
	print_head(f, out);
	print_phases(f, out);
	print_rate(f, out, width, utf8);
}

/* ---- SVG */

static void put_line(const struct svg *s, unsigned number, const double *v, double scale)
{
	svg__begin_line(s->out, "polyline", number);
	fputs("points=\"", s->out);
	for (size_t i = 0; i < FOLD_CURVE; i += 2)
		if (isfinite(v[i]))
			fprintf(s->out, "%.1f,%.1f ",
				svg__x(s, (double)i / (FOLD_CURVE - 1) * s->x.high),
				svg__y(s, v[i] * scale));
	fputs("\"/>\n", s->out);
}

static void put_phase(const struct svg *s, const struct folded *f, size_t i)
{
	const struct fold_phase *p = &f->phases[i];
	double from = svg__x(s, p->from * s->x.high), to = svg__x(s, p->to * s->x.high);
	char code[FOLD_TEXT];

	phase_text(f, p, code, sizeof(code));
	fprintf(s->out,
		"<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"%s\"><title>",
		from, SVG_TOP, to - from, SVG_BOTTOM - SVG_TOP, i % 2 ? "#f8f8f8" : "#ebebeb");
	print__xml(s->out, code, sizeof(code));
	fprintf(s->out, ", %.4f to %.4f</title></rect>\n", p->from, p->to);
}

void fold_svg__print(const struct folded *f, FILE *out)
{
	const struct fold_result *r = &f->of[f->shown];
	const char *unit = point_units[f->shown];
	struct svg s = {out, {.high = f->period_s, .factor = 1e3}, {.factor = 1}};
	char title[256];

	for (size_t i = 0; i < FOLD_CURVE; i++)
		s.y.high = isfinite(r->rate[i]) ? fmax(s.y.high, r->rate[i]) : s.y.high;
	s.y.high = s.y.high > 0 ? folded__possible(f->shown, s.y.high) : 1;
	s.y.step = axis__step(s.y.high, 6);
	s.x.step = axis__step(s.x.high * s.x.factor, 8);
	snprintf(title, sizeof(title),
		 "%.100s%s%s per second (dashes), and its progress to 1 (line)",
		 fold_view__counter(f, f->shown), *unit ? ", " : "", unit);
	svg__begin(out, SVG_WIDTH, SVG_HEIGHT, 9, f->region ? f->region : title);
	for (size_t i = 0; i < f->nphases; i++)
		put_phase(&s, f, i);
	svg__axes(&s, "Time in the region (ms)", title);
	put_line(&s, 0, r->curve, s.y.high);
	put_line(&s, 1, r->rate, 1);
	svg__end(out);
}
