/* SPDX-License-Identifier: GPL-2.0-only */
/* Why cores that the job did not use were idle: the one account from which the page, its JSON and
 * the rules take their shares. */
#include <math.h>

#include "analysis/job/facts_fill.h"
#include "base/known.h"

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
	double wait = bin_of(j, n, Q_WAIT, bin) - known(bin_of(j, n, Q_HELD, bin)),
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
	wanted.quota = bin_of(j, n, Q_HELD, bin); /* of which the wait is a part */
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
	} of[] = {{FACT_JOB_idle_quota_s, Q_HELD},	{FACT_JOB_idle_wait_s, Q_WAIT},
		  {FACT_JOB_idle_disk_s, Q_DISK_WAIT},	{FACT_JOB_idle_asleep_s, Q_THREADS},
		  {FACT_JOB_idle_taken_s, Q_NODE_IDLE}, {FACT_JOB_idle_s, Q_CPU}};
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
