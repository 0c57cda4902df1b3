/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Intensity, burstiness and parallelism of I/O over servers. */
#include "analysis/io/io.h"

#include <limits.h>
#include <math.h>

unsigned io_grid__intervals(double start_s, double end_s, double dt_s)
{
	double n = dt_s > 0 && end_s >= start_s ? floor((end_s - start_s) / dt_s + 1e-9) : NAN;

	if (!(n <= INT_MAX))
		return 0;
	return n >= 1 ? (unsigned)n : 1;
}

/* What is counted in one pass over all intervals. */
struct counts {
	double bytes, max_bytes, max_bytes_server;
	unsigned known;			 /* intervals in which a server is */
	unsigned active, active_servers; /* intervals; servers summed over intervals */
	unsigned runs, quiet_runs;
};

struct interval {
	double bytes, max_server;
	unsigned known, active; /* servers */
};

static struct interval read_interval(const struct matrix *bytes, unsigned bin, double c)
{
	struct interval i = {0};

	for (unsigned s = 0; s < bytes->units; s++) {
		double v = matrix__at(bytes, s, bin);

		if (isnan(v))
			continue;
		i.bytes += v;
		i.max_server = fmax(i.max_server, v);
		i.active += v > c;
		i.known++;
	}
	return i;
}

static void count_intervals(const struct matrix *bytes, double c, bool *active, struct counts *n)
{
	bool was_active = false;

	for (unsigned b = 0; b < bytes->bins; b++) {
		struct interval i = read_interval(bytes, b, c);
		bool is_active = i.active > 0;

		n->bytes += i.bytes;
		n->max_bytes = fmax(n->max_bytes, i.bytes);
		n->max_bytes_server = fmax(n->max_bytes_server, i.max_server);
		n->known += i.known > 0;
		n->active += is_active;
		n->active_servers += i.active;
		if (!b || is_active != was_active) {
			n->runs += is_active;
			n->quiet_runs += !is_active;
		}
		was_active = is_active;
		if (active)
			active[b] = is_active;
	}
}

static double max_ops(const struct matrix *ops)
{
	double max = NAN;

	for (unsigned b = 0; b < ops->bins; b++)
		max = fmax(max, matrix__sum_known(ops, b));
	return max;
}

/* How many intervals a run of them has in the mean. */
static double mean_run(unsigned intervals, unsigned runs)
{
	return runs ? (double)intervals / runs : 0;
}

static void set_pattern(const struct counts *n, unsigned servers, unsigned intervals,
			struct io_character *out)
{
	out->is_active = n->active > 0;
	out->intensity = (double)n->active / intervals;
	out->l_io = mean_run(n->active, n->runs);
	out->l_noio = mean_run(intervals - n->active, n->quiet_runs);
	out->burstiness = out->l_noio > 0 ? 1 - tanh(out->l_io / out->l_noio) : 0;
	if (n->active)
		out->parallel = (double)n->active_servers / servers / n->active;
	if (n->active && servers > 1)
		out->parallel_norm = (servers * out->parallel - 1) / (servers - 1.0);
}

static struct analysis_verdict verdict_of(const struct matrix *bytes, const struct counts *n)
{
	if (!bytes->units)
		return (struct analysis_verdict){ANALYSIS_UNAVAILABLE, "no_servers"};
	if (!bytes->bins)
		return (struct analysis_verdict){ANALYSIS_INSUFFICIENT, "no_intervals"};
	if (!n->known)
		return (struct analysis_verdict){ANALYSIS_UNAVAILABLE, "no_values"};
	return (struct analysis_verdict){ANALYSIS_OK, ""};
}

void io_character__of(const struct matrix *bytes, const struct matrix *ops, double rest_bytes,
		      double dt_s, double c, bool *active, struct io_character *out)
{
	struct counts n = {0};

	count_intervals(bytes, c, active, &n);
	*out = (struct io_character){
		.verdict = verdict_of(bytes, &n),
		.volume = NAN,
		.bw_max = NAN,
		.bw_mean = NAN,
		.bw_max_server = NAN,
		.iops_max = max_ops(ops) / dt_s,
		.intensity = NAN,
		.l_io = NAN,
		.l_noio = NAN,
		.burstiness = NAN,
		.parallel = NAN,
		.parallel_norm = NAN,
	};
	if (out->verdict.status != ANALYSIS_OK)
		return;
	out->volume = n.bytes + rest_bytes;
	out->bw_max = n.max_bytes / dt_s;
	out->bw_mean = n.bytes / (bytes->bins * dt_s);
	out->bw_max_server = n.max_bytes_server / dt_s;
	set_pattern(&n, bytes->units, bytes->bins, out);
}
