/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Judges a running job several times: by all of its time, and by the last part of it. */
#include "findings/live.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/job/facts_fill.h"
#include "base/known.h"
#include "base/room.h"

/* By which of the last bins, of 30 s in a job of hours, a pass judges; 0: all. A finding is given
 * by the first pass that has it. */
static const struct pass {
	const char *rule; /* that it is about; NULL: all */
	unsigned bins;
	bool is_short; /* least durations are scaled to it, as in a short run */
	bool confirms; /* a finding of an earlier pass must be one of this, too */
} passes[] = {
	{NULL, 0, false, false},
	{"mem.leak", 0, true, false},
	{"mem.leak", 60, true, false},
	{"gpu.idle", 30, false, true}, /* a pause long ago is none now */
	{"mem.leak", 10, true, false},
	{"cpu.stacked", 3, false, false},
};
#define N_PASSES (sizeof(passes) / sizeof(*passes))

/* While it reads its input a program may fill memory as a leak does. */
#define LEAK_S 900

static struct live_finding *find(const struct live_verdict *v, const char *rule)
{
	for (unsigned i = 0; i < v->n; i++)
		if (!strcmp(v->v[i].rule, rule))
			return &v->v[i];
	return NULL;
}

static void free_finding(struct live_finding *f)
{
	free(f->rule);
	free(f->text);
	free(f->remedy);
	free(f->code);
}

void live_verdict__free(struct live_verdict *v)
{
	for (unsigned i = 0; i < v->n; i++)
		free_finding(&v->v[i]);
	free(v->v);
	*v = (struct live_verdict){0};
}

/* ---- one finding */

/* Whether it holds in the last rows; of a finding without times that is so all the time. */
static bool is_now(const struct finding *f, const struct model_job *j)
{
	const double row_s = isnan(j->row_s) ? 0 : j->row_s;

	return !f->ntimes || finding__to_s(f) >= j->grid.end_s - 2 * fmax(j->grid.dt_s, row_s);
}

static double cores_of(const struct finding *f, const struct facts *facts)
{
	double s = f->ntimes ? 0 : facts__job(facts, FACT_JOB_wall_s);

	for (size_t i = 0; i < f->ntimes; i++)
		s += f->times[i][1] - f->times[i][0];
	if (isnan(f->cost_core_s) || !(s > 0))
		return NAN;
	return fmin(f->cost_core_s / s, facts__job(facts, FACT_JOB_cores));
}

static void set_full(struct live_finding *to, const struct facts *f)
{
	const double room =
		facts__job(f, FACT_JOB_leak_limit_mb) - facts__job(f, FACT_JOB_leak_now_mb);

	to->full_s = fmax(0, room / facts__job(f, FACT_JOB_leak_mb_s));
	to->full_low_s = fmax(0, room / facts__job(f, FACT_JOB_leak_high_mb_s));
	to->full_high_s = fmax(0, room / facts__job(f, FACT_JOB_leak_low_mb_s));
}

static int add(struct live_verdict *out, const struct finding *f, const struct facts *facts)
{
	struct live_finding *to;
	const double *begin = facts->values[FACT_BIN_start_s];

	if (room__grow(&out->v, out->n, 1, sizeof(*to)))
		return -ENOMEM;
	to = &out->v[out->n++];
	*to = (struct live_finding){
		.rule = strdup(f->id),
		.text = strdup(f->text),
		.remedy = strdup(f->remedy),
		.code = strdup(f->code),
		.severity = f->severity,
		.kind = f->kind,
		.since_s = f->ntimes ? f->times[f->ntimes - 1][0] : begin[0],
		.cores = cores_of(f, facts),
		.full_s = NAN,
		.full_low_s = NAN,
		.full_high_s = NAN,
	};
	if (!strcmp(f->id, "mem.leak") && f->severity == SEVERITY_BAD)
		set_full(to, facts);
	return to->rule && to->text && to->remedy && to->code ? 0 : -ENOMEM;
}

/* A leak that some pass finds, and that will fill memory, is more than one that will not. */
static bool is_worse(const struct finding *f, const struct live_finding *before)
{
	return !before || (!strcmp(f->id, "mem.leak") && f->severity > before->severity);
}

static void drop(struct live_verdict *v, struct live_finding *f)
{
	free_finding(f);
	*f = v->v[--v->n];
}

/* ---- facts of the last bins */

static double sum_of(const struct facts *f, enum fact fact)
{
	double sum = NAN;

	for (size_t k = 0; k < f->count[SCOPE_BIN]; k++)
		sum = known__sum(sum, f->values[fact][k]);
	return sum;
}

static double sum_from(const struct model_job *j, enum quantity q, unsigned first)
{
	double sum = NAN;

	for (unsigned k = first; k < j->grid.n; k++)
		sum = known__sum(sum, facts__bin_sum(j, q, k));
	return sum;
}

/* The job's fact of that name; N_FACTS: there is none. */
static enum fact of_job(const char *name)
{
	for (int i = 0; i < N_FACTS; i++)
		if (fact_infos[i].scope == SCOPE_JOB && !strcmp(fact_infos[i].name, name))
			return (enum fact)i;
	return N_FACTS;
}

static bool is_idle_time(const struct fact_info *i)
{
	return i->scope == SCOPE_BIN && i->of == N_QUANTITIES && !strcmp(i->unit, "s") &&
	       !strncmp(i->name, "idle_", 5);
}

/* Facts of the job that are sums over time become those of its last bins. */
static void add_up(struct facts *f, const struct model_job *j, unsigned first)
{
	for (int i = 0; i < N_FACTS; i++) {
		const struct fact_info *info = &fact_infos[i];
		enum fact job;

		if (info->scope == SCOPE_JOB && info->of != N_QUANTITIES &&
		    !quantity__is_gauge(info->of))
			*f->values[i] = sum_from(j, info->of, first);
		job = is_idle_time(info) ? of_job(info->name) : N_FACTS;
		if (job != N_FACTS)
			*f->values[job] = sum_of(f, (enum fact)i);
	}
}

static void derive(struct facts *f)
{
	double *const *v = f->values;
	const double cpu = *v[FACT_JOB_cpu_s], wait = *v[FACT_JOB_wait_s];

	*v[FACT_JOB_wall_s] = sum_of(f, FACT_BIN_span_s);
	*v[FACT_JOB_core_s] = sum_of(f, FACT_BIN_cores_s);
	*v[FACT_JOB_cpu_share] = cpu / *v[FACT_JOB_core_s];
	*v[FACT_JOB_wait_share] = cpu + wait > 0 ? wait / (cpu + wait) : NAN;
	*v[FACT_JOB_demand] = (cpu + wait) / *v[FACT_JOB_wall_s];
	*v[FACT_JOB_remote_loads] /= *v[FACT_JOB_node_loads];
}

/* Makes facts of a job those of its last bins: over time, of the job as far as they are sums over
 * time, of the use of GPUs, and of whether memory grows. Others stay. 0 or -ENOMEM. */
static int narrow(struct facts *f, const struct model_job *j, unsigned bins)
{
	const size_t n = bins < f->count[SCOPE_BIN] ? bins : f->count[SCOPE_BIN];
	const size_t gone = f->count[SCOPE_BIN] - n;
	const unsigned first = j->grid.n - (unsigned)n;
	static const enum fact leaks[] = {FACT_JOB_leak_m,	  FACT_JOB_leak_mb_s,
					  FACT_JOB_leak_low_mb_s, FACT_JOB_leak_high_mb_s,
					  FACT_JOB_leak_now_mb,	  FACT_JOB_leak_limit_mb};

	for (int i = 0; i < N_FACTS; i++)
		if (fact_infos[i].scope == SCOPE_BIN)
			memmove(f->values[i], f->values[i] + gone, n * sizeof(**f->values));
	f->count[SCOPE_BIN] = n;
	add_up(f, j, first);
	derive(f);
	for (size_t i = 0; i < sizeof(leaks) / sizeof(*leaks); i++)
		*f->values[leaks[i]] = NAN;
	facts_gpus__use(f, j, first);
	return facts_memory__leak(f, j, first);
}

/* ---- passes */

static int take(struct live_verdict *out, const struct verdict *v, const struct facts *facts,
		const struct model_job *j, const struct pass *p)
{
	int err = 0;

	for (size_t i = 0; !err && i < v->nfindings; i++) {
		const struct finding *f = &v->findings[i];
		struct live_finding *before = find(out, f->id);

		if ((p->rule && strcmp(p->rule, f->id) != 0) || !is_now(f, j) ||
		    !is_worse(f, before))
			continue;
		if (before)
			drop(out, before);
		err = add(out, f, facts);
	}
	return err;
}

static bool has(const struct verdict *v, const char *rule)
{
	for (size_t i = 0; i < v->nfindings; i++)
		if (!strcmp(v->findings[i].id, rule))
			return true;
	return false;
}

/* Nobody knows how long the job will run: that it is short yet makes rules no quicker, but for bins
 * that are short. */
static double scale_of(const struct model_job *j)
{
	return fmin(1, j->grid.dt_s / 30);
}

static int judge_pass(struct live_verdict *out, struct facts *f, const struct model_job *j,
		      const struct rules_options *o, const struct pass *p)
{
	struct live_finding *before;
	struct verdict v = {0};
	int err = p->bins ? narrow(f, j, p->bins) : 0;

	f->scale = scale_of(j);
	if (p->is_short)
		f->scale = fmin(f->scale, facts__job(f, FACT_JOB_wall_s) / 3600);
	if (!err)
		err = rules__judge(&v, f, o);
	if (!err && !p->confirms)
		err = take(out, &v, f, j, p);
	before = p->confirms && !err ? find(out, p->rule) : NULL;
	if (before && !has(&v, p->rule))
		drop(out, before);
	verdict__free(&v);
	return err;
}

/* Whether the pass can say something that the first one has not said. */
static bool is_needed(const struct live_verdict *v, const struct model_job *j, const struct pass *p)
{
	if (!p->rule)
		return true;
	if (p->bins >= j->grid.n || (p->is_short && j->grid.end_s < LEAK_S * scale_of(j)))
		return false;
	return p->confirms == (find(v, p->rule) != NULL) || !strcmp(p->rule, "mem.leak");
}

static int by_danger(const void *a, const void *b)
{
	const struct live_finding *x = a, *y = b;
	const double full[] = {isnan(x->full_s) ? HUGE_VAL : x->full_s,
			       isnan(y->full_s) ? HUGE_VAL : y->full_s};
	const double cores[] = {isnan(x->cores) ? 0 : x->cores, isnan(y->cores) ? 0 : y->cores};

	if (full[0] != full[1])
		return full[0] < full[1] ? -1 : 1;
	if (cores[0] != cores[1])
		return cores[0] > cores[1] ? -1 : 1;
	if (x->severity != y->severity)
		return x->severity > y->severity ? -1 : 1;
	return strcmp(x->rule, y->rule);
}

int live__judge(struct live_verdict *out, const struct model_job *j, const struct rules_options *o)
{
	struct facts f;
	int err = facts__of(&f, j);

	*out = (struct live_verdict){0};
	if (!err) {
		*f.values[FACT_JOB_is_running] = 1;
		*f.values[FACT_JOB_is_completed] = NAN;
	}
	for (size_t i = 0; !err && i < N_PASSES; i++)
		if (is_needed(out, j, &passes[i]))
			err = judge_pass(out, &f, j, o, &passes[i]);
	facts__free(&f);
	if (!err && out->n)
		qsort(out->v, out->n, sizeof(*out->v), by_danger);
	return err;
}
