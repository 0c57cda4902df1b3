/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Periodic inverse correlation: I/O or GPUs work in the rhythm in which the CPUs wait. */
#include "analysis/pika/pika.h"

#include <complex.h>
#include <errno.h>
#include <fftw3.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FEWEST_BINS    4
#define LOAD_MEAN      0.1
#define LOAD_RANGE     0.7
#define BANDWIDTH_MEAN 1e6 /* B/s */
#define METADATA_MEAN  1   /* operations/s */
#define DOMINANT_SUM   1.8 /* of at most 2 */
#define QUIET_MEDIAN   0.1
#define INVERSE_CORR   -0.4
#define FEWEST_PERIODS 10
#define MISSING_SHARE  0.05
#define LOAD_ROUNDING  1e-12
#define ROUNDING       1e-9

const struct analysis_param periodic__params[] = {
	{"fewest_bins", FEWEST_BINS},
	{"missing_share", MISSING_SHARE},
	{"load_mean", LOAD_MEAN},
	{"load_range", LOAD_RANGE},
	{"bandwidth_mean", BANDWIDTH_MEAN},
	{"metadata_mean", METADATA_MEAN},
	{"dominant_sum", DOMINANT_SUM},
	{"quiet_median", QUIET_MEDIAN},
	{"inverse_corr", INVERSE_CORR},
	{"fewest_periods", FEWEST_PERIODS},
	{NULL, 0},
};

/* One vector: its bins without gaps, and its spectrum without the mean. */
struct wave {
	double *v;	  /* v[bins] */
	double *spectrum; /* spectrum[bins / 2 + 1]; [0] is 0 */
};

struct moments {
	double mean, min, max;
};

static struct moments moments_of(const double *v, unsigned n)
{
	struct moments m = {.min = INFINITY, .max = -INFINITY};
	long double sum = 0;

	for (unsigned i = 0; i < n; i++) {
		sum += v[i];
		m.min = fmin(m.min, v[i]);
		m.max = fmax(m.max, v[i]);
	}
	m.mean = (double)(sum / n);
	return m;
}

static bool has_gaps_only_few(const double *v, unsigned n)
{
	unsigned missing = 0;

	for (unsigned i = 0; i < n; i++)
		missing += isnan(v[i]);
	return missing <= MISSING_SHARE * n && missing < n;
}

/* Linear between known bins, the nearest one's value at the ends; one bin at least is known. */
static void fill_gaps(double *v, unsigned n)
{
	unsigned before = n; /* the last known bin; n: none yet */

	for (unsigned i = 0; i < n; i++) {
		if (isnan(v[i]))
			continue;
		for (unsigned g = before == n ? 0 : before + 1; g < i; g++)
			v[g] = before == n ? v[i]
					   : v[before] + (v[i] - v[before]) * (g - before) /
								 (i - before);
		before = i;
	}
	for (unsigned g = before + 1; before < n && g < n; g++)
		v[g] = v[before];
}

static const char *wrong_load(struct moments m, const char *low, const char *narrow)
{
	if (!(m.mean >= LOAD_MEAN - LOAD_ROUNDING))
		return low;
	return m.max - m.min >= LOAD_RANGE - LOAD_ROUNDING ? NULL : narrow;
}

/* Why the method does not apply to vectors without gaps; NULL: it does. */
static const char *unsuitable(const double *cpu, const double *other, enum periodic_kind kind,
			      unsigned n)
{
	struct moments o = moments_of(other, n);
	const char *why = wrong_load(moments_of(cpu, n), "cpu_mean", "cpu_range");

	if (why)
		return why;
	switch (kind) {
	case PERIODIC_GPU:
		return wrong_load(o, "gpu_mean", "gpu_range");
	case PERIODIC_BANDWIDTH:
		return o.mean >= BANDWIDTH_MEAN ? NULL : "bw_mean";
	case PERIODIC_METADATA:
		return o.mean >= METADATA_MEAN ? NULL : "meta_mean";
	}
	return NULL;
}

/* Loads of CPUs to one decimal, half to even; of I/O what is below the mean does not count. */
static void prepare_pair(double *cpu, double *other, enum periodic_kind kind, unsigned n)
{
	double mean = moments_of(other, n).mean;

	for (unsigned i = 0; i < n; i++) {
		cpu[i] = rint(cpu[i] * 10) / 10;
		if (kind != PERIODIC_GPU && other[i] < mean)
			other[i] = 0;
	}
}

/* Amplitudes by the highest one. 1: there is none but rounding; -ENOMEM. */
static int make_spectrum(struct wave *w, unsigned n)
{
	fftw_complex *f = fftw_alloc_complex(n / 2 + 1);
	double *in = fftw_alloc_real(n), max = 0, level = 0;
	fftw_plan plan = f && in ? fftw_plan_dft_r2c_1d((int)n, in, f, FFTW_ESTIMATE) : NULL;
	int err = plan ? 0 : -ENOMEM;

	if (plan) {
		memcpy(in, w->v, n * sizeof(*in));
		fftw_execute(plan);
		for (unsigned i = 0; i < n; i++)
			level += fabs(w->v[i]);
		for (unsigned i = 1; i <= n / 2; i++) {
			w->spectrum[i] = cabs(f[i]);
			max = fmax(max, w->spectrum[i]);
		}
		err = max > LOAD_ROUNDING * level ? 0 : 1;
		for (unsigned i = 1; !err && i <= n / 2; i++)
			w->spectrum[i] /= max;
		fftw_destroy_plan(plan);
	}
	fftw_free(in);
	fftw_free(f);
	return err;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The median of a vector, which it sorts. */
static double median_of(double *v, unsigned n)
{
	qsort(v, n, sizeof(*v), by_value);
	return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

/* The spectra's sum, over that of the CPUs. Where frequencies are equally strong but for rounding,
 * as harmonics of short pulses are, the first counts. */
static void find_dominant(struct wave *cpu, const struct wave *other, unsigned n,
			  struct periodic *out)
{
	double *sum = cpu->spectrum;

	out->sum_max = 0;
	for (unsigned i = 1; i <= n / 2; i++) {
		sum[i] += other->spectrum[i];
		out->sum_max = fmax(out->sum_max, sum[i]);
	}
	for (out->k = 1; sum[out->k] < out->sum_max - ROUNDING; out->k++)
		;
	out->sum_median = median_of(sum + 1, n / 2);
	out->is_dominant = out->sum_max >= DOMINANT_SUM && out->sum_median <= QUIET_MEDIAN;
}

static double correlation(const double *a, const double *b, unsigned n)
{
	double a_mean = moments_of(a, n).mean, b_mean = moments_of(b, n).mean;
	double ab = 0, aa = 0, bb = 0;

	for (unsigned i = 0; i < n; i++) {
		double x = a[i] - a_mean, y = b[i] - b_mean;

		ab += x * y;
		aa += x * x;
		bb += y * y;
	}
	return ab / sqrt(aa) / sqrt(bb);
}

/* cpu and other are without gaps. */
static int compare(struct wave *cpu, struct wave *other, enum periodic_kind kind, unsigned n,
		   struct periodic *out)
{
	const char *why = unsuitable(cpu->v, other->v, kind, n);
	int err;

	if (why) {
		out->verdict = (struct analysis_verdict){ANALYSIS_UNSUITABLE, why};
		return 0;
	}
	prepare_pair(cpu->v, other->v, kind, n);
	err = make_spectrum(cpu, n);
	if (!err)
		err = make_spectrum(other, n);
	if (err < 0)
		return err;
	if (err) {
		out->verdict = (struct analysis_verdict){ANALYSIS_UNSUITABLE, "flat"};
		return 0;
	}
	find_dominant(cpu, other, n, out);
	if (out->is_dominant)
		out->corr = correlation(cpu->v, other->v, n);
	return 0;
}

static void decide(double duration_s, struct periodic *out)
{
	if (!out->is_dominant) {
		out->undetected = "no_dominant_frequency";
		return;
	}
	out->period_num = out->freq_hz * duration_s;
	if (!(out->corr <= INVERSE_CORR + ROUNDING))
		out->undetected = "corr";
	else if (!(out->period_num >= FEWEST_PERIODS - ROUNDING))
		out->undetected = "period_num";
	else
		out->is_detected = true;
}

static struct analysis_verdict first_verdict(const double *cpu, const double *other, unsigned n)
{
	if (n < FEWEST_BINS)
		return (struct analysis_verdict){ANALYSIS_UNSUITABLE, "too_short"};
	if (!has_gaps_only_few(cpu, n) || !has_gaps_only_few(other, n))
		return (struct analysis_verdict){ANALYSIS_INSUFFICIENT, "missing_bins"};
	return (struct analysis_verdict){ANALYSIS_OK, ""};
}

static struct periodic nothing_known(struct analysis_verdict verdict)
{
	return (struct periodic){
		.verdict = verdict,
		.undetected = "",
		.freq_hz = NAN,
		.sum_max = NAN,
		.sum_median = NAN,
		.corr = NAN,
		.period_num = NAN,
	};
}

static double *without_gaps(const double *v, unsigned n)
{
	double *copy = malloc(n * sizeof(*copy));

	if (copy) {
		memcpy(copy, v, n * sizeof(*copy));
		fill_gaps(copy, n);
	}
	return copy;
}

int periodic__of(const double *cpu, const struct periodic_vector *other, unsigned bins, double dt_s,
		 double duration_s, struct periodic *out)
{
	struct wave c = {0}, o = {0};
	int err = -ENOMEM;

	*out = nothing_known(first_verdict(cpu, other->v, bins));
	for (unsigned i = 0; i < bins; i++)
		out->missing += isnan(cpu[i]) || isnan(other->v[i]);
	out->known = bins - out->missing;
	if (out->verdict.status != ANALYSIS_OK)
		return 0;
	c = (struct wave){without_gaps(cpu, bins), calloc(bins / 2 + 1, sizeof(double))};
	o = (struct wave){without_gaps(other->v, bins), calloc(bins / 2 + 1, sizeof(double))};
	if (c.v && c.spectrum && o.v && o.spectrum)
		err = compare(&c, &o, other->kind, bins, out);
	if (!err && out->verdict.status == ANALYSIS_OK) {
		out->freq_hz = out->k / (bins * dt_s);
		decide(duration_s, out);
	}
	free(c.v);
	free(c.spectrum);
	free(o.v);
	free(o.spectrum);
	return err;
}

int periodic__strongest(const double *cpu, const struct periodic_vector *others, unsigned n,
			unsigned bins, double dt_s, double duration_s, struct periodic *out,
			unsigned *which)
{
	struct periodic p;

	*which = n;
	*out = nothing_known((struct analysis_verdict){ANALYSIS_UNAVAILABLE, "no_vectors"});
	for (unsigned i = 0; i < n; i++) {
		int err = periodic__of(cpu, &others[i], bins, dt_s, duration_s, &p);

		if (err)
			return err;
		if (p.is_detected && (*which == n || p.period_num > out->period_num)) {
			*out = p;
			*which = i;
		} else if (*which == n) {
			*out = p;
		}
	}
	return 0;
}
