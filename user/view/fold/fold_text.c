// SPDX-License-Identifier: GPL-2.0-only
/* A folded region in the terminal: its phases, the rate of a counter along it, and how far to trust
 * that. */
#include "view/fold/fold_view.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/escape.h"
#include "bpf/jobprof.h"
#include "view/report/spark.h"

#define SPARK_MAX 120u

void fold_view__code(uint64_t code, char *text, size_t size)
{
	static const char *const kinds[JP_MODULES] = {
		[JP_MODULE_OWN] = "the program",      [JP_MODULE_MPI] = "MPI",
		[JP_MODULE_GPU] = "GPU library",      [JP_MODULE_BLAS] = "BLAS",
		[JP_MODULE_OPENMP] = "OpenMP",	      [JP_MODULE_INTERPRETER] = "interpreter",
		[JP_MODULE_LIBC] = "C library",	      [JP_MODULE_LIBRARY] = "library",
		[JP_MODULE_MADE] = "generated code",  [JP_MODULE_KERNEL] = "kernel",
		[JP_MODULE_UNKNOWN] = "unknown code",
	};
	unsigned kind = (unsigned)(code >> 56);
	uint64_t place = (code & ((1ull << 56) - 1)) << FOLD_CODE_SHIFT;

	kind = kind < JP_MODULES ? kind : JP_MODULE_UNKNOWN;
	if (place && !(place & JP_PLACE_LIBRARY))
		snprintf(text, size, "%s + 0x%" PRIx64, kinds[kind], place);
	else
		snprintf(text, size, "%s", kinds[kind]);
}

double fold_view__rate(const struct folded *f, enum point_counter c, const struct fold_phase *p)
{
	const struct fold_result *r = &f->of[c];

	if (!f->known[c] || !(p->to > p->from))
		return NAN;
	return r->factor *
	       fmax(fold_spline__at(&r->spline, p->to) - fold_spline__at(&r->spline, p->from), 0) /
	       (p->to - p->from);
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
	};

	why[0] = 0;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (all[i].failed)
			snprintf(why + strlen(why), size - strlen(why), "%s%s", why[0] ? ", " : "",
				 all[i].what);
	return v->good ? "good" : "weak";
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
		fputs("none named: iterations of the period that was found", out);
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
	if (f->lost_points > 0 || f->lost_regions > 0)
		fprintf(out, "lost          %.0f samples, %.0f begins and ends of regions\n",
			f->lost_points, f->lost_regions);
}

static void print_phases(const struct folded *f, FILE *out)
{
	char code[64];

	if (!f->nphases)
		return;
	fprintf(out, "\n%-15s %8s  %-28s %6s %8s %12s\n", "phase", "ms", "code", "of it", "CPUs",
		"faults/s");
	for (size_t i = 0; i < f->nphases; i++) {
		const struct fold_phase *p = &f->phases[i];

		fold_view__code(p->code, code, sizeof(code));
		fprintf(out, "%6.4f - %6.4f %8.3f  %-28s %4.0f %% %8.2f %12.5g\n", p->from, p->to,
			(p->to - p->from) * f->period_s * 1e3, code, 100 * p->share,
			fold_view__rate(f, POINT_CPU_TIME, p),
			fold_view__rate(f, POINT_PAGE_FAULTS, p));
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
		max = fmax(max, v[i]);
	}
	fprintf(out, "\n%s, 0 to %.4g%s/s along the region\n", point_counters[f->shown], max,
		point_units[f->shown]);
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
