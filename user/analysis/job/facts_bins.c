/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Facts that are calculated from the bins of time: idle cores, memory, rhythms. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analysis/job/facts_fill.h"
#include "analysis/pika/pika.h"
#include "base/known.h"

/* ---- what cores that the job did not use were idle for: the one account of it, of which the page,
 * its JSON and the rules take their shares */

static double known(double v)
{
	return isnan(v) ? 0 : v;
}

/* Takes a part from what is left, as far as there is some; a part that is not known stays so. */
static double take(double *left, double part)
{
	double taken = fmin(*left, known(part));

	*left -= taken;
	return isnan(part) ? NAN : taken;
}

struct idle_split facts_idle__split(double idle, const struct idle_split *wanted)
{
	struct idle_split s;

	idle = fmax(0, idle);
	s.quota = take(&idle, known__not_negative(wanted->quota));
	s.wait = take(&idle, known__not_negative(wanted->wait));
	s.disk = take(&idle, known__not_negative(wanted->disk));
	s.asleep = take(&idle, known__not_negative(wanted->asleep));
	s.taken = take(&idle, known__not_negative(wanted->taken));
	s.none = idle;
	return s;
}

static double bin_of(const struct model_job *j, const struct job_node *n, enum quantity q,
		     unsigned bin)
{
	return job_unit__bins(&n->unit, q, &j->grid)[bin];
}

/* What other programs and the hypervisor had: where the job has all cores of the node that is all
 * that was neither the job's nor idle; else it is at least what was neither of the job's cores, for
 * they may have been the idle ones. */
static double taken_in(const struct model_job *j, const struct job_node *n, double covered,
		       double cpu, unsigned bin)
{
	double threads = n->threads_per_core, stolen = known(bin_of(j, n, Q_NODE_STOLEN, bin));
	double not_idle = -bin_of(j, n, Q_NODE_IDLE, bin) - stolen - cpu, others;

	if (n->cores >= n->cores_in_all && threads > 0)
		others = (n->cores_in_all * threads * covered + not_idle) / threads;
	else
		others = n->cores * covered + not_idle;
	return stolen > 0 ? stolen + fmax(0, known(others)) : others;
}

/* Where the job has all cores of the node, a wait took one of them only while it was idle at that
 * instant, or others had it. */
static double wait_in(const struct model_job *j, const struct job_node *n, double taken,
		      unsigned bin)
{
	double wait = bin_of(j, n, Q_WAIT, bin) - known(bin_of(j, n, Q_THREAD_THROTTLED, bin)),
	       avoidable = bin_of(j, n, Q_AVOIDABLE, bin);

	if (n->cores < n->cores_in_all || n->cpus == 1 || isnan(avoidable) || isnan(taken))
		return wait;
	return fmin(wait, avoidable + fmax(0, taken));
}

struct idle_split facts_idle__in(const struct model_job *j, const struct job_node *n, unsigned bin)
{
	const struct idle_split unknown = {NAN, NAN, NAN, NAN, NAN, NAN};
	struct idle_split wanted;
	double covered, cpu, threads;

	if (!n->unit.bins)
		return unknown;
	covered = fmin(bin_of(j, n, Q_COVERED, bin), time_grid__span_s(&j->grid, bin));
	cpu = bin_of(j, n, Q_CPU, bin);
	if (!(covered > 0) || isnan(cpu) || isnan(n->cores) || !job_node__counts_cores(j, n))
		return unknown;
	wanted.quota = bin_of(j, n, Q_THREAD_THROTTLED, bin); /* of which the wait is a part */
	wanted.taken = taken_in(j, n, covered, cpu, bin);
	wanted.wait = wait_in(j, n, wanted.taken, bin);
	wanted.disk = bin_of(j, n, Q_DISK_WAIT, bin);
	threads = bin_of(j, n, Q_THREADS, bin) * covered;
	wanted.asleep = threads - cpu - bin_of(j, n, Q_WAIT, bin) - wanted.disk;
	return facts_idle__split(n->cores * covered - cpu, &wanted);
}

void facts_idle__add(struct idle_split *to, const struct idle_split *s)
{
	to->quota = known__sum(to->quota, s->quota);
	to->wait = known__sum(to->wait, s->wait);
	to->disk = known__sum(to->disk, s->disk);
	to->asleep = known__sum(to->asleep, s->asleep);
	to->taken = known__sum(to->taken, s->taken);
	to->none = known__sum(to->none, s->none);
}

struct idle_split facts_idle__of(const struct model_job *j, const struct job_node *n)
{
	struct idle_split sum = {NAN, NAN, NAN, NAN, NAN, NAN}, bin;

	for (unsigned k = 0; k < j->grid.n; k++) {
		bin = facts_idle__in(j, n, k);
		facts_idle__add(&sum, &bin);
	}
	return sum;
}

static void fill_bin(struct facts *f, const struct idle_split *s, unsigned bin)
{
	f->values[FACT_BIN_idle_quota_s][bin] = s->quota;
	f->values[FACT_BIN_idle_wait_s][bin] = s->wait;
	f->values[FACT_BIN_idle_disk_s][bin] = s->disk;
	f->values[FACT_BIN_idle_asleep_s][bin] = s->asleep;
	f->values[FACT_BIN_idle_taken_s][bin] = s->taken;
	f->values[FACT_BIN_idle_s][bin] = s->none;
}

/* The job's have core time that no row covers among what nobody wanted. */
static void fill_job(struct facts *f, const struct idle_split *sum, bool cores)
{
	double idle = cores ? facts__job(f, FACT_JOB_core_s) - facts__job(f, FACT_JOB_cpu_s) : NAN;
	struct idle_split s = facts_idle__split(idle, sum);

	*f->values[FACT_JOB_idle_quota_s] = s.quota;
	*f->values[FACT_JOB_idle_wait_s] = s.wait;
	*f->values[FACT_JOB_idle_disk_s] = s.disk;
	*f->values[FACT_JOB_idle_asleep_s] = s.asleep;
	*f->values[FACT_JOB_idle_taken_s] = s.taken;
	*f->values[FACT_JOB_idle_s] = isnan(idle) ? NAN : s.none;
}

/* Why parts are not known, by the quantity that they are made of. */
static int miss(struct facts *f, const struct model_job *j)
{
	static const struct {
		enum fact fact;
		enum quantity q;
	} of[] = {{FACT_JOB_idle_quota_s, Q_THREAD_THROTTLED}, {FACT_JOB_idle_wait_s, Q_WAIT},
		  {FACT_JOB_idle_disk_s, Q_DISK_WAIT},	       {FACT_JOB_idle_asleep_s, Q_THREADS},
		  {FACT_JOB_idle_taken_s, Q_NODE_IDLE},	       {FACT_JOB_idle_s, Q_CPU}};
	char reason[160];
	int err = model_job__counts_cores(j)
			  ? 0
			  : facts__miss(f, FACT_JOB_idle_s,
					"the files do not say how many threads a core has: a CPU "
					"that was not used may be one of a core that was");

	for (size_t i = 0; !err && i < sizeof(of) / sizeof(*of); i++) {
		if (!isnan(*f->values[of[i].fact]) || !isnan(facts__sum(j, of[i].q)))
			continue;
		model_job__why_unknown(j, of[i].q, reason, sizeof(reason));
		err = facts__miss(f, of[i].fact, reason);
	}
	return err;
}

int facts_idle__fill(struct facts *f, const struct model_job *j)
{
	struct idle_split all = {NAN, NAN, NAN, NAN, NAN, NAN};

	for (unsigned k = 0; k < j->grid.n; k++) {
		struct idle_split sum = {NAN, NAN, NAN, NAN, NAN, NAN}, one;

		for (unsigned i = 0; i < j->nnodes; i++) {
			one = facts_idle__in(j, &j->nodes[i], k);
			facts_idle__add(&sum, &one);
		}
		fill_bin(f, &sum, k);
		facts_idle__add(&all, &sum);
	}
	fill_job(f, &all, model_job__counts_cores(j));
	return miss(f, j);
}

/* ---- facts of memory: peaks, limits, and whether it grows without end */

#define MB 1048576.0

enum quantity facts__own_memory(const struct model_job *j)
{
	if (!isnan(facts__sum(j, Q_MEM_OWN)))
		return Q_MEM_OWN;
	return isnan(facts__sum(j, Q_OWN)) ? Q_RSS : Q_OWN;
}

/* The line through n points, and half the width of the 95 % interval of its slope. */
static double slope_error(const double *t, const double *v, size_t n, double slope)
{
	double tm = 0, vm = 0, tt = 0, rest = 0;

	for (size_t i = 0; i < n; i++) {
		tm += t[i] / n;
		vm += v[i] / n;
	}
	for (size_t i = 0; i < n; i++)
		tt += (t[i] - tm) * (t[i] - tm);
	for (size_t i = 0; i < n; i++) {
		double r = v[i] - vm - slope * (t[i] - tm);

		rest += r * r;
	}
	return n > 2 && tt > 0 ? 1.96 * sqrt(rest / (n - 2) / tt) : NAN;
}

/* How many points lie before the end, at which the processes go and their memory with them: that
 * is in the last bin or, of rows as long as bins, in the last two. */
static size_t before_end(const double *v, size_t n)
{
	size_t most = n;

	while (n > 2 && n + 2 > most && v[n - 1] < 0.9 * v[n - 2])
		n--;
	return n;
}

/* Looks for a leak on a node: the points are the means of its bins from the first one on. */
static int fill_leak(struct facts *f, const struct model_job *j, const struct job_node *node,
		     unsigned first)
{
	const enum quantity own = facts__own_memory(j);
	const double *bins = job_unit__bins(&node->unit, own, &j->grid);
	double *t = calloc(2 * (size_t)j->grid.n + 2, sizeof(*t)), *v, error;
	struct memleak leak;
	size_t n = 0;

	if (!t)
		return -ENOMEM;
	v = t + j->grid.n + 1;
	for (unsigned k = first; bins && k < j->grid.n; k++)
		if (!isnan(bins[k])) {
			t[n] = k * j->grid.dt_s + time_grid__span_s(&j->grid, k) / 2;
			v[n++] = bins[k] * MB;
		}
	n = before_end(v, n);
	memleak__of(t, v, n, &leak);
	*f->values[FACT_JOB_leak_m] = leak.is_suspected ? leak.m : NAN;
	if (leak.is_suspected) {
		error = slope_error(t, v, n, leak.rate) / MB;
		*f->values[FACT_JOB_leak_mb_s] = leak.rate / MB;
		*f->values[FACT_JOB_leak_low_mb_s] = leak.rate / MB - error;
		*f->values[FACT_JOB_leak_high_mb_s] = leak.rate / MB + error;
		*f->values[FACT_JOB_leak_now_mb] = v[n - 1] / MB;
		*f->values[FACT_JOB_leak_limit_mb] = facts__limit_mb(node);
	}
	free(t);
	return 0;
}

/* NULL: of none it is known. */
static const struct job_node *fullest_of(const struct model_job *j)
{
	const enum quantity own = facts__own_memory(j);
	const struct job_node *fullest = NULL;

	for (unsigned i = 0; i < j->nnodes; i++) {
		const struct job_node *n = &j->nodes[i];

		if (n->unit.bins && (!fullest || n->unit.total[own] > fullest->unit.total[own]))
			fullest = n;
	}
	return fullest;
}

int facts_memory__leak(struct facts *f, const struct model_job *j, unsigned first)
{
	const struct job_node *fullest = fullest_of(j);

	return fullest ? fill_leak(f, j, fullest, first) : 0;
}

/* Over all nodes at one instant, at most; NaN: not known. */
static double highest_sum(const struct model_job *j, enum quantity own)
{
	double highest = NAN;

	for (size_t k = 0; k < (size_t)j->grid.n * j->grid.instants; k++) {
		double sum = NAN;

		for (unsigned i = 0; i < j->nnodes; i++) {
			const double *held = job_unit__held(&j->nodes[i].unit, own, &j->grid);

			sum = held ? known__sum(sum, held[k]) : sum;
		}
		highest = fmax(highest, sum);
	}
	return highest;
}

/* The largest process of the job; 0: not known. */
static double largest_process(const struct model_job *j)
{
	double most = 0;

	for (unsigned i = 0; i < j->ncommands; i++)
		most = fmax(most, j->commands[i].peak_mb);
	return most;
}

/*
 * What a request of memory must hold on a node. That of one process is exact, as the kernel keeps
 * its peak. The sum over several counts what they share once for each, so that where the cgroup's
 * highest charge is known, which has that once and page cache besides, it is no more than that.
 */
static double peak_of(const struct job_unit *node, enum quantity own, double largest)
{
	double peak = node->total[Q_PEAK];

	if (peak > largest)
		peak = fmax(largest, fmin(peak, node->total[Q_MEM_PEAK]));
	return fmax(peak, node->total[own]);
}

#define NEAR 0.5 /* of the limit: less is of a process that another limit ended, or a full node */

/* Between two rows memory grows unseen. Where a process was killed for want of it, and what was
 * seen comes near the limit, the job held all of that at that instant: this is why the kernel
 * killed. */
static double killed_with(const struct job_node *n, double peak, double largest)
{
	double limit = isnan(n->oom_limit_mb) ? facts__limit_mb(n) : n->oom_limit_mb;
	double seen = fmax(peak, largest);

	return n->unit.total[Q_OOM_KILLS] >= 1 && seen >= NEAR * limit ? limit : NAN;
}

#define ASK_MARGIN 1.2 /* of a request of memory, above what was used */

/* A process that is killed for want of memory would have taken more. */
static double ask_of(const struct facts *f, double peak, double limit)
{
	bool killed = *f->values[FACT_JOB_oom_kills] >= 1;

	return ASK_MARGIN * (killed ? fmax(peak, limit) : peak);
}

int facts_memory__fill(struct facts *f, const struct model_job *j)
{
	enum quantity own = facts__own_memory(j);
	double limit = NAN, sum_peak = highest_sum(j, own), largest = largest_process(j);
	double *peak = f->values[FACT_JOB_peak_mb];

	for (unsigned i = 0; i < j->nnodes; i++) {
		const struct job_node *n = &j->nodes[i];
		double most = peak_of(&n->unit, own, largest);
		double killed = killed_with(n, most, j->nnodes > 1 ? NAN : largest);

		/* what a process has mapped of files counts in its peak, not against the limit */
		f->values[FACT_NODE_peak_mb][i] = isnan(killed) ? most : killed;
		*peak = fmax(*peak, f->values[FACT_NODE_peak_mb][i]);
		f->values[FACT_NODE_own_peak_mb][i] = fmax(n->unit.total[own], killed);
		limit = fmin(limit, facts__limit_mb(n));
	}
	for (unsigned k = 0; k < j->grid.n; k++)
		f->values[FACT_BIN_own_mb][k] = facts__bin_sum(j, own, k);
	for (unsigned k = 0; isnan(sum_peak) && k < j->grid.n; k++)
		sum_peak = fmax(sum_peak, f->values[FACT_BIN_own_mb][k]);
	for (unsigned i = 0; i < j->nnodes; i++)
		*f->values[FACT_JOB_own_peak_mb] =
			fmax(*f->values[FACT_JOB_own_peak_mb], f->values[FACT_NODE_own_peak_mb][i]);
	*f->values[FACT_JOB_own_sum_peak_mb] = fmax(sum_peak, facts__max(j, own));
	*f->values[FACT_JOB_limit_mb] = limit;
	*f->values[FACT_JOB_ask_mb] = ask_of(f, *peak, limit);
	/* Programs begin by filling their buffers. */
	return facts_memory__leak(f, j, j->grid.n / 5);
}

/* ---- facts of rhythm: stops for I/O, turns of CPU and GPU, and bursts of opened files, as PIKA
 * finds them */

#define EDGE  0.05 /* of the cores: less is no part of a stop */
#define QUIET 0.25

/* The vectors of a job; all have as many bins as are whole. */
struct rhythm {
	unsigned n;
	double *cpu, *read, *write, *opens, *gpu;
	double *room; /* for another one */
};

static void fill_rhythm(struct rhythm *r, const struct facts *f, const struct model_job *j)
{
	for (unsigned k = 0; k < r->n; k++) {
		r->cpu[k] = f->values[FACT_BIN_cpu_s][k] / f->values[FACT_BIN_cores_s][k];
		r->read[k] = f->values[FACT_BIN_read_mb][k] * MB / j->grid.dt_s / j->nnodes;
		r->write[k] = f->values[FACT_BIN_write_mb][k] * MB / j->grid.dt_s / j->nnodes;
		r->opens[k] = f->values[FACT_BIN_opens][k] / j->grid.dt_s / j->nnodes;
		r->gpu[k] = f->values[FACT_BIN_gpu][k];
	}
}

static double idle_share(const struct facts *f, unsigned bin)
{
	double cores_s = f->values[FACT_BIN_cores_s][bin];

	return cores_s > 0 ? 1 - f->values[FACT_BIN_cpu_s][bin] / cores_s : NAN;
}

/* What is usually idle: the median of the bins with little I/O, nearer to the least than to the
 * mean.
 */
static double usual_idle(const struct facts *f, const double *io, unsigned n, double mean,
			 double *room)
{
	double least = mean;
	unsigned known = 0;

	for (unsigned k = 0; k < n; k++)
		least = fmin(least, io[k]);
	for (unsigned k = 0; k < n; k++)
		if (io[k] <= least + QUIET * (mean - least) && !isnan(idle_share(f, k)))
			room[known++] = idle_share(f, k);
	return facts__median(room, known);
}

/* Core-seconds that were idle, beyond what usually is, in the bins with more I/O than the mean; and
 * in the bins beside these, where a stop begins, or its last wait ends, with less I/O. */
static double idle_in_stops(const struct facts *f, const double *io, unsigned n, double *room)
{
	double mean = 0, sum = 0, usual;

	for (unsigned k = 0; k < n; k++)
		mean += io[k] / n;
	usual = usual_idle(f, io, n, mean, room);
	for (unsigned k = 0; k < n; k++) {
		double more = idle_share(f, k) - usual;
		bool beside = (k && io[k - 1] >= mean) || (k + 1 < n && io[k + 1] >= mean);

		if (io[k] >= mean || (beside && more > EDGE))
			sum += isnan(more) ? 0 : more * f->values[FACT_BIN_cores_s][k];
	}
	return isnan(usual) ? NAN : known__not_negative(sum);
}

static int fill_io(struct facts *f, const struct model_job *j, const struct rhythm *r)
{
	const struct periodic_vector vectors[] = {
		{PERIODIC_BANDWIDTH, r->read},
		{PERIODIC_BANDWIDTH, r->write},
		{PERIODIC_METADATA, r->opens},
	};
	struct periodic found;
	unsigned which;
	int err = periodic__strongest(r->cpu, vectors, 3, r->n, j->grid.dt_s, j->grid.end_s, &found,
				      &which);

	if (err)
		return err;
	if (isnan(facts__sum(j, Q_READ)) && isnan(facts__sum(j, Q_WRITE)))
		return 0;
	*f->values[FACT_JOB_io_periods] = 0;
	if (which == 3)
		return 0;
	*f->values[FACT_JOB_io_periods] = found.period_num;
	*f->values[FACT_JOB_io_period_s] = 1 / found.freq_hz;
	*f->values[FACT_JOB_io_period_idle_s] = idle_in_stops(f, vectors[which].v, r->n, r->room);
	return 0;
}

static int fill_gpu(struct facts *f, const struct model_job *j, const struct rhythm *r)
{
	const struct periodic_vector vector = {PERIODIC_GPU, r->gpu};
	struct periodic found;
	int err;

	if (!j->ngpus)
		return 0;
	err = periodic__of(r->cpu, &vector, r->n, j->grid.dt_s, j->grid.end_s, &found);
	if (err)
		return err;
	*f->values[FACT_JOB_gpu_periods] = found.is_detected ? found.period_num : 0;
	if (found.is_detected)
		*f->values[FACT_JOB_gpu_period_s] = 1 / found.freq_hz;
	return 0;
}

static void fill_congestion(struct facts *f, const struct rhythm *r, unsigned nodes)
{
	double max = NAN;

	for (unsigned k = 0; k < r->n; k++)
		max = fmax(max, r->opens[k] * nodes);
	*f->values[FACT_JOB_io_congestion_ops] = max;
}

int facts_periods__fill(struct facts *f, const struct model_job *j)
{
	unsigned n = (unsigned)floor(j->grid.end_s / j->grid.dt_s + 1e-9);
	double *room = calloc(6 * (size_t)n + 1, sizeof(*room));
	struct rhythm r = {n,
			   room,
			   room + n,
			   room + 2 * (size_t)n,
			   room + 3 * (size_t)n,
			   room + 4 * (size_t)n,
			   room + 5 * (size_t)n};
	int err = room ? 0 : -ENOMEM;

	if (!err) {
		fill_rhythm(&r, f, j);
		fill_congestion(f, &r, j->nnodes);
		err = fill_io(f, j, &r);
	}
	if (!err)
		err = fill_gpu(f, j, &r);
	free(room);
	return err;
}
