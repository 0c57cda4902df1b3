/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a running job does now, and what holds it back, by its files so far. */
#include "index/row_now.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/job/facts_fill.h"
#include "base/room.h"
#include "findings/live.h"

#define NOW_S	 300.0
#define MINUTE_S 60.0

/* The part of a bin that lies in a time. */
static double part_in(const struct facts *f, size_t bin, double from, double to)
{
	const double begin = f->values[FACT_BIN_start_s][bin];
	const double span = f->values[FACT_BIN_span_s][bin];
	const double in = fmin(to, begin + span) - fmax(from, begin);

	return span > 0 && in > 0 ? in / span : 0;
}

/* Of bins in which it is known, by a second fact of the same bins; by NULL: by their time. */
static double mean_in(const struct facts *f, enum fact of, const double *by, double from, double to)
{
	const double *v = f->values[of];
	double sum = 0, all = 0;

	if (!by)
		by = f->values[FACT_BIN_span_s];
	for (size_t k = 0; k < f->count[SCOPE_BIN]; k++) {
		const double part = part_in(f, k, from, to);

		if (!(part > 0) || isnan(v[k]) || isnan(by[k]))
			continue;
		sum += v[k] * part;
		all += by[k] * part;
	}
	return all > 0 ? sum / all : NAN;
}

/* An amount that is a level, which holds for the whole of its bin. */
static double level_in(const struct facts *f, enum fact of, double from, double to)
{
	double sum = 0, all = 0;

	for (size_t k = 0; k < f->count[SCOPE_BIN]; k++) {
		const double s = part_in(f, k, from, to) * f->values[FACT_BIN_span_s][k];

		if (!(s > 0) || isnan(f->values[of][k]))
			continue;
		sum += f->values[of][k] * s;
		all += s;
	}
	return all > 0 ? sum / all : NAN;
}

static double memory_share(const struct model_job *j)
{
	const enum quantity own = facts__own_memory(j);
	double most = NAN;

	for (unsigned i = 0; i < j->nnodes; i++) {
		const struct job_unit *u = &j->nodes[i].unit;
		const double *v = u->bins ? job_unit__bins(u, own, &j->grid) : NULL;
		unsigned k = j->grid.n;

		while (v && k && isnan(v[k - 1]))
			k--;
		if (v && k)
			most = fmax(most, v[k - 1] / facts__limit_mb(&j->nodes[i]));
	}
	return most;
}

static void fill_spark(struct row_now *to, const struct facts *f, double end)
{
	const double *cores = f->values[FACT_BIN_cores_s];

	for (int i = 0; i < ROW_SPARK; i++) {
		const double from = end - MINUTE_S * (ROW_SPARK - i);

		to->spark[i] = mean_in(f, FACT_BIN_cpu_s, cores, from, from + MINUTE_S);
	}
}

static void fill(struct row_now *to, const struct facts *f, const struct model_job *j)
{
	const double end = j->grid.end_s, from = end - NOW_S;
	const double read = mean_in(f, FACT_BIN_read_mb, NULL, from, end);
	const double written = mean_in(f, FACT_BIN_write_mb, NULL, from, end);

	to->begin = j->grid.t0_ns / 1e9;
	to->last = to->begin + end;
	to->cpu_share = mean_in(f, FACT_BIN_cpu_s, f->values[FACT_BIN_cores_s], from, end);
	to->gpu_share =
		facts__job(f, FACT_JOB_gpus) > 0 ? level_in(f, FACT_BIN_gpu, from, end) : NAN;
	to->io_bytes_s = (read + written) * 1048576;
	to->memory_share = memory_share(j);
	fill_spark(to, f, end);
}

/* ---- findings */

static char *copy_of(const char *text)
{
	return strdup(text ? text : "");
}

static int add(struct row *r, const struct live_finding *f)
{
	struct row_now *now = r->now;
	struct row_finding *to;

	if (r->nfindings == ROW_FINDINGS)
		return 0;
	if (room__grow(&r->findings, r->nfindings, 1, sizeof(*to)))
		return -ENOMEM;
	now->holds[r->nfindings] = (struct row_holds){
		.since = now->begin + f->since_s,
		.cores = f->cores,
		.full = now->last + f->full_s,
		.full_low = now->last + f->full_low_s,
		.full_high = now->last + f->full_high_s,
	};
	to = &r->findings[r->nfindings++];
	*to = (struct row_finding){
		.rule = copy_of(f->rule),
		.text = copy_of(f->text),
		.remedy = copy_of(f->remedy),
		.where = copy_of(""),
		.code = copy_of(f->code),
		.kind = (int)f->kind,
		.severity = (int)f->severity,
		.cost_core_s = NAN,
		.saving = NAN,
		.from_s = f->since_s,
		.to_s = now->last - now->begin,
		.needs = NAN,
		.used = NAN,
		.asked = NAN,
	};
	return to->rule && to->text && to->remedy && to->where && to->code ? 0 : -ENOMEM;
}

static void clear_findings(struct row *r)
{
	for (unsigned i = 0; i < r->nfindings; i++) {
		free(r->findings[i].rule);
		free(r->findings[i].text);
		free(r->findings[i].remedy);
		free(r->findings[i].where);
		free(r->findings[i].code);
	}
	r->nfindings = 0;
}

int row_now__of(struct row *r, const struct model_job *j, const struct facts *f,
		const struct rules_options *rules)
{
	struct live_verdict v = {0};
	int err;

	r->now = calloc(1, sizeof(*r->now));
	if (!r->now)
		return -ENOMEM;
	fill(r->now, f, j);
	clear_findings(r);
	err = live__judge(&v, j, rules);
	for (unsigned i = 0; !err && i < v.n; i++)
		err = add(r, &v.v[i]);
	live_verdict__free(&v);
	return err;
}
