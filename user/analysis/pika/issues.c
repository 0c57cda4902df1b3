/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tags of a job, and its issues but for the periodic ones. */
#include "analysis/pika/pika.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

/* ---- which jobs are looked at for issues: those that ran long enough, in parallel, and to an end
 */

#define SHORTEST_S  3600
#define CORES_ABOVE 1

const struct analysis_param eligibility__params[] = {
	{"shortest_s", SHORTEST_S},
	{"cores_above", CORES_ABOVE},
	{NULL, 0},
};

static const char *const names[INELIGIBLE_REASONS] = {
	[INELIGIBLE_DURATION] = "duration",
	[INELIGIBLE_CORES] = "cores",
	[INELIGIBLE_STATE] = "state",
};

static bool has_ended_well(const char *state)
{
	static const char *const states[] = {"COMPLETED", "OUT_OF_MEMORY", "TIMEOUT"};

	for (size_t i = 0; state && i < sizeof(states) / sizeof(states[0]); i++)
		if (!strcmp(state, states[i]))
			return true;
	return false;
}

unsigned eligibility__of(double duration_s, double physical_cores, const char *state)
{
	unsigned failed = 0;

	if (!(duration_s >= SHORTEST_S))
		failed |= 1U << INELIGIBLE_DURATION;
	if (!(physical_cores > CORES_ABOVE))
		failed |= 1U << INELIGIBLE_CORES;
	if (!has_ended_well(state))
		failed |= 1U << INELIGIBLE_STATE;
	return failed;
}

const char *ineligible__name(enum ineligible reason)
{
	return names[reason];
}

/* ---- the tags of a job: which part of the machine it comes near the peak of */

#define MEMORY_ABOVE  0.80
#define FLOPS_ABOVE   0.70
#define IPC_ABOVE     0.60
#define GPU_ABOVE     0.70
#define IO_ABOVE      0.60
#define NETWORK_ABOVE 0.60

const struct analysis_param job_tags__params[] = {
	{"mem_bw_above", MEMORY_ABOVE},
	{"flops_above", FLOPS_ABOVE},
	{"ipc_above", IPC_ABOVE},
	{"gpu_usage_above", GPU_ABOVE},
	{"io_bw_above", IO_ABOVE},
	{"net_bw_above", NETWORK_ABOVE},
	{NULL, 0},
};

static const char *const tag_names[JOB_TAGS] = {
	[JOB_TAG_UNRESTRAINED] = "unrestrained",
	[JOB_TAG_MEMORY] = "memory-bound",
	[JOB_TAG_COMPUTE] = "compute-bound",
	[JOB_TAG_GPU] = "GPU-bound",
	[JOB_TAG_IO] = "IO-heavy",
	[JOB_TAG_NETWORK] = "network-heavy",
};

/* Comparisons with NaN are false: what is not known gives no tag. */
static bool is_above(struct tag_metric m, double share)
{
	return m.peak > 0 && m.value / m.peak > share;
}

unsigned job_tags__of(const struct tag_metrics *m)
{
	unsigned tags = 0;

	if (is_above(m->mem_bw, MEMORY_ABOVE))
		tags |= 1U << JOB_TAG_MEMORY;
	if (is_above(m->flops, FLOPS_ABOVE) || is_above(m->ipc, IPC_ABOVE))
		tags |= 1U << JOB_TAG_COMPUTE;
	if (m->gpu_usage > GPU_ABOVE || m->gpu_usage > m->cpu_usage)
		tags |= 1U << JOB_TAG_GPU;
	if (is_above(m->io_bw, IO_ABOVE))
		tags |= 1U << JOB_TAG_IO;
	if (is_above(m->net_bw, NETWORK_ABOVE))
		tags |= 1U << JOB_TAG_NETWORK;
	return tags ? tags : 1U << JOB_TAG_UNRESTRAINED;
}

const char *job_tag__name(enum job_tag tag)
{
	return tag_names[tag];
}

/* ---- computes the idle time of cores and GPUs, and how many of them a job did not use */

#define FEWEST_KNOWN	 3
#define OTHERS_OF_UNUSED 1 /* bins that an unused unit may work in */

const struct analysis_param idle__params[] = {
	{"cpu_load_below", IDLE_CPU_LOAD},
	{"gpu_load_above", 0},
	{"unused_known_bins", FEWEST_KNOWN},
	{"unused_busy_bins", OTHERS_OF_UNUSED},
	{NULL, 0},
};

struct unit_bins {
	unsigned known, idle;
};

static struct unit_bins count_unit(const struct matrix *load, unsigned unit, double threshold)
{
	struct unit_bins n = {0};

	for (unsigned b = 0; b < load->bins; b++) {
		double v = matrix__at(load, unit, b);

		n.known += !isnan(v);
		n.idle += threshold > 0 ? v < threshold : v == 0;
	}
	return n;
}

void idle__of(const struct matrix *load, double threshold, double dt_s, unsigned *idle_bins,
	      struct idle *out)
{
	size_t idle = 0, known = 0;
	unsigned unused = 0;

	for (unsigned u = 0; u < load->units; u++) {
		struct unit_bins n = count_unit(load, u, threshold);

		idle += n.idle;
		known += n.known;
		unused += n.known >= FEWEST_KNOWN && n.idle + OTHERS_OF_UNUSED >= n.known;
		if (idle_bins)
			idle_bins[u] = n.idle;
	}
	*out = (struct idle){
		.verdict = known ? (struct analysis_verdict){ANALYSIS_OK, ""}
				 : (struct analysis_verdict){ANALYSIS_INSUFFICIENT, "no_values"},
		.known = known,
		.missing = (size_t)load->units * load->bins - known,
		.idle_s = dt_s * idle,
		.total_s = dt_s * known,
		.idle_ratio = known ? (double)idle / known : NAN,
		.unused_units = unused,
		.unused_ratio = known ? (double)unused / load->units : NAN,
		.unused_to_used = known && unused < load->units
					  ? (double)unused / (load->units - unused)
					  : NAN,
	};
}

/* ---- computes load imbalance: how far the loads of units are apart, on average over time */

#define ATTRIBUTED_ABOVE 0.2

const struct analysis_param imbalance__params[] = {
	{"attributed_above", ATTRIBUTED_ABOVE},
	{NULL, 0},
};

/* Returns the sum over units of the squared distance to their mean. */
static double squares(const struct matrix *load, unsigned bin, double mean)
{
	double sum = 0;

	for (unsigned u = 0; u < load->units; u++) {
		double d = matrix__at(load, u, bin) - mean;

		sum += d * d;
	}
	return sum;
}

/* The sum is divided by units - 1: a population's deviation of loads 0..1 never exceeds 0.5, but
 * PIKA shows higher values. */
void imbalance__of(const struct matrix *load, struct imbalance *out)
{
	double sample = 0, population = 0;
	unsigned valid = 0;

	for (unsigned b = 0; b < load->bins; b++) {
		double total = matrix__total(load, b), sum;

		if (isnan(total))
			continue;
		sum = squares(load, b, total / load->units);
		sample += load->units > 1 ? sqrt(sum / (load->units - 1)) : 0;
		population += sqrt(sum / load->units);
		valid++;
	}
	*out = (struct imbalance){
		.verdict =
			valid ? (struct analysis_verdict){ANALYSIS_OK, ""}
			      : (struct analysis_verdict){ANALYSIS_INSUFFICIENT, "no_whole_bins"},
		.known = valid,
		.missing = load->units ? load->bins - valid : 0,
		.mean_sd = valid ? sample / valid : NAN,
		.mean_sd_population = valid ? population / valid : NAN,
	};
	out->is_attributed = out->mean_sd > ATTRIBUTED_ABOVE;
}

/* ---- I/O congestion: the highest rate at which a job opens and closes files */

#define ATTRIBUTED_FROM 40 /* operations/s */

const struct analysis_param io_congestion__params[] = {
	{"attributed_from", ATTRIBUTED_FROM},
	{NULL, 0},
};

void io_congestion__of(const struct matrix *rates, struct io_congestion *out)
{
	*out = (struct io_congestion){
		.verdict = {ANALYSIS_UNAVAILABLE, "no_values"},
		.max_rate = NAN,
		.ioc = NAN,
		.max_rate_unit = NAN,
	};
	for (size_t i = 0; i < (size_t)rates->units * rates->bins; i++) {
		out->max_rate_unit = fmax(out->max_rate_unit, rates->v[i]);
		*(isnan(rates->v[i]) ? &out->missing : &out->known) += 1;
	}
	if (isnan(out->max_rate_unit))
		return;
	for (unsigned b = 0; b < rates->bins; b++) {
		double rate = matrix__sum_known(rates, b);

		rate = isnan(rate) ? 0 : rate;
		if (b && rate <= out->max_rate)
			continue;
		out->max_rate = rate;
		out->bin = b;
	}
	out->verdict = (struct analysis_verdict){ANALYSIS_OK, ""};
	out->is_attributed = out->max_rate >= ATTRIBUTED_FROM;
	out->ioc = out->is_attributed ? out->max_rate : 0;
}

/* ---- suspicion of a memory leak: the memory of a job follows a line that rises */

#define LOWEST_SLOPE  0.01
#define HIGHEST_SLOPE 1.0
#define LIMIT_SLOPE   0.1 /* from here on a tenth of the highest memory is the limit */
#define ROUNDING      1e-12

const struct analysis_param memleak__params[] = {
	{"lowest_slope", LOWEST_SLOPE},
	{"highest_slope", HIGHEST_SLOPE},
	{"limit_slope", LIMIT_SLOPE},
	{NULL, 0},
};

/* The points that are known. */
struct known_points {
	size_t n;
	double first_s, span_s, max;
	double x_mean, y_mean; /* normalised: of time 0..1, of memory by its maximum */
};

static bool is_known(const double *t_s, const double *bytes, size_t i)
{
	return !isnan(t_s[i]) && !isnan(bytes[i]);
}

static struct known_points known_points(const double *t_s, const double *bytes, size_t n)
{
	struct known_points p = {.max = -INFINITY};
	double last_s = 0, since_first = 0, sum = 0;

	for (size_t i = 0; i < n; i++) {
		if (!is_known(t_s, bytes, i))
			continue;
		if (!p.n++)
			p.first_s = t_s[i];
		last_s = t_s[i];
		since_first += t_s[i] - p.first_s;
		sum += bytes[i];
		p.max = fmax(p.max, bytes[i]);
	}
	p.span_s = p.n ? last_s - p.first_s : 0;
	p.x_mean = since_first / p.n / p.span_s;
	p.y_mean = sum / p.n / p.max;
	return p;
}

static struct analysis_verdict verdict_of(const struct known_points *p)
{
	if (p->n < 3)
		return (struct analysis_verdict){ANALYSIS_INSUFFICIENT, "too_short"};
	if (!(p->max > 0) || isinf(p->max))
		return (struct analysis_verdict){ANALYSIS_UNSUITABLE, "no_memory"};
	if (!(p->span_s > 0) || isinf(p->span_s))
		return (struct analysis_verdict){ANALYSIS_UNSUITABLE, "no_time"};
	return (struct analysis_verdict){ANALYSIS_OK, ""};
}

static void fit_line(const double *t_s, const double *bytes, size_t n, const struct known_points *p,
		     struct memleak *out)
{
	double xy = 0, xx = 0;

	for (size_t i = 0; i < n; i++) {
		double x = (t_s[i] - p->first_s) / p->span_s - p->x_mean;

		if (!is_known(t_s, bytes, i))
			continue;
		xy += x * (bytes[i] / p->max - p->y_mean);
		xx += x * x;
	}
	out->m = xy / xx;
	if (fabs(out->m) < ROUNDING)
		out->m = 0;
	out->n = p->y_mean - out->m * p->x_mean;
	out->rate = out->m * p->max / p->span_s;
}

static double largest_distance(const double *t_s, const double *bytes, size_t n,
			       const struct known_points *p, const struct memleak *line)
{
	double max = 0;

	for (size_t i = 0; i < n; i++) {
		double x = (t_s[i] - p->first_s) / p->span_s, y = bytes[i] / p->max;

		if (is_known(t_s, bytes, i))
			max = fmax(max, fabs(line->m * x - y + line->n));
	}
	return max / sqrt(line->m * line->m + 1);
}

/* P is on the horizontal through the line's begin, where the line has risen by a tenth. */
static void set_limit(struct memleak *out)
{
	out->p1[0] = 0;
	out->p1[1] = out->n;
	out->p2[0] = 1;
	out->p2[1] = out->m + out->n;
	out->p[0] = out->m >= LIMIT_SLOPE ? LIMIT_SLOPE / out->m : 1;
	out->p[1] = out->n;
	out->max_distance = fmin(out->m, LIMIT_SLOPE) / sqrt(out->m * out->m + 1);
}

void memleak__of(const double *t_s, const double *bytes, size_t n, struct memleak *out)
{
	struct known_points p = known_points(t_s, bytes, n);

	*out = (struct memleak){
		.verdict = verdict_of(&p),
		.known = p.n,
		.missing = n - p.n,
		.m = NAN,
		.n = NAN,
		.max_dis = NAN,
		.p1 = {NAN, NAN},
		.p2 = {NAN, NAN},
		.p = {NAN, NAN},
		.max_distance = NAN,
		.ml = NAN,
		.rate = NAN,
	};
	if (out->verdict.status != ANALYSIS_OK)
		return;
	fit_line(t_s, bytes, n, &p, out);
	out->max_dis = largest_distance(t_s, bytes, n, &p, out);
	if (out->m >= LOWEST_SLOPE - ROUNDING && out->m <= HIGHEST_SLOPE + ROUNDING) {
		set_limit(out);
		out->is_suspected = out->max_dis < out->max_distance;
	}
	out->ml = out->is_suspected ? out->m : 0;
}
