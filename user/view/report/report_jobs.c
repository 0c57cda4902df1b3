/* SPDX-License-Identifier: GPL-2.0-only */
/* The table of several jobs, and their sums as in PIKA's tables of issues and of projects. */
#include "view/report/report_jobs.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "view/report/report_pika.h"

#define FORMAT 1 /* grows when something changes its meaning or goes */

const char *const report_by_names[REPORT_BYS] = {
	[REPORT_BY_USER] = "user",
	[REPORT_BY_ACCOUNT] = "account",
	[REPORT_BY_NAME] = "name",
	[REPORT_BY_PARTITION] = "partition",
};

/* ---- the row of a job */

static double when_ok(struct analysis_verdict v, double value)
{
	return v.status == ANALYSIS_OK ? value : NAN;
}

/* Periods that were detected; NaN: no pair was compared. */
static double periods_of(const struct periodic *io, unsigned n, const struct periodic *strongest)
{
	for (unsigned i = 0; i < n; i++)
		if (io[i].verdict.status != ANALYSIS_UNAVAILABLE)
			return strongest ? strongest->period_num : 0;
	return NAN;
}

/* Idle time of a task or node is that of its cores. */
static struct issue_job issues_of(const struct pika_job *p, double cores)
{
	double per_unit = p->units ? cores / p->units : NAN;
	const struct periodic *offload = p->offload.is_detected ? &p->offload : NULL;

	if (p->issues.status != ANALYSIS_OK)
		return (struct issue_job){false, NAN, NAN, NAN, NAN, NAN, NAN,
					  NAN,	 NAN, NAN, NAN, NAN, NAN};
	return (struct issue_job){
		.is_eligible = true,
		.idle_cpu_s = when_ok(p->cpu_idle.verdict, p->cpu_idle.idle_s) * per_unit,
		.cpu_s = when_ok(p->cpu_idle.verdict, p->cpu_idle.total_s) * per_unit,
		.idle_gpu_s = when_ok(p->gpu_idle.verdict, p->gpu_idle.idle_s),
		.gpu_s = when_ok(p->gpu_idle.verdict, p->gpu_idle.total_s),
		.ucr = when_ok(p->cpu_idle.verdict, p->cpu_idle.unused_ratio),
		.cli = when_ok(p->cpu_imbalance.verdict, p->cpu_imbalance.mean_sd),
		.iob = periods_of(p->io, PIKA_IO_VECTORS, p->strongest),
		.ioc = when_ok(p->congestion.verdict, p->congestion.ioc),
		.ml = when_ok(p->leak.verdict, p->leak.ml),
		.ugr = when_ok(p->gpu_idle.verdict, p->gpu_idle.unused_ratio),
		.gli = when_ok(p->gpu_imbalance.verdict, p->gpu_imbalance.mean_sd),
		.so = periods_of(&p->offload, 1, offload),
	};
}

static struct project_job size_of(const struct report *r)
{
	const struct facts *f = r->facts;
	const struct model_attr *submit = model_job__attr(r->job, "Submit EpochTime");
	double end = r->job->grid.t0_ns / 1e9 + r->job->grid.end_s;
	double nodes = facts__job(f, FACT_JOB_nodes_allocated);

	return (struct project_job){
		.nodes = isnan(nodes) ? facts__job(f, FACT_JOB_nodes) : nodes,
		.cores = facts__job(f, FACT_JOB_cores),
		.submit_s = submit ? submit->number : NAN,
		.start_s = end - facts__job(f, FACT_JOB_job_elapsed_s),
		.end_s = end,
		.is_tagged = r->pika->verdict.status == ANALYSIS_OK,
	};
}

static json_t *issues_json(const struct issue_job *i)
{
	json_t *o = json_object();
	double total = i->cpu_s, gpu = i->gpu_s;

	if (!i->is_eligible)
		return o;
	NAMED_NUMBERS(o, {"ict", i->idle_cpu_s}, {"icr", total > 0 ? i->idle_cpu_s / total : NAN},
		      {"ucr", i->ucr}, {"cli", i->cli}, {"iob", i->iob}, {"ioc", i->ioc},
		      {"ml", i->ml}, {"igt", i->idle_gpu_s},
		      {"igr", gpu > 0 ? i->idle_gpu_s / gpu : NAN}, {"ugr", i->ugr},
		      {"gli", i->gli}, {"so", i->so});
	return o;
}

/* The dearest, with what it costs; null: there is none. */
static json_t *finding_json(const struct verdict *v)
{
	json_t *o;

	if (!v->nfindings)
		return json_null();
	o = json_object();
	json_object_set_new(o, "id", json__text(v->findings[0].id));
	json_object_set_new(o, "severity", json__text(severity__name(v->findings[0].severity)));
	NAMED_NUMBERS(o, {"core_s", v->findings[0].cost_core_s}, {"saving", v->findings[0].saving});
	json__set(o, "is_at_least", json_boolean(v->findings[0].at_least));
	return o;
}

static void put_text(json_t *o, const char *key, const struct report *r, const char *attr)
{
	const struct model_attr *a = model_job__attr(r->job, attr);

	json_object_set_new(o, key, a && a->text ? json__text(a->text) : json_null());
}

static json_t *row_of(const struct report *r, const struct report_job *job)
{
	json_t *o = json_object(), *pika = report_pika__json(r->pika);
	const struct project_job *s = &job->size;

	json_object_set_new(o, "id", json__text(r->job->id));
	json_object_set_new(o, "file", json_null());
	put_text(o, "user", r, "User");
	put_text(o, "account", r, "Account");
	put_text(o, "partition", r, "Partition");
	put_text(o, "name", r, "Job Name");
	put_text(o, "command", r, "Command Line");
	json_object_set_new(o, "program",
			    r->facts->program ? json__text(r->facts->program) : json_null());
	json_object_set_new(o, "state",
			    r->facts->state ? json__text(r->facts->state) : json_null());
	NAMED_NUMBERS(o, {"nodes", s->nodes}, {"cores", s->cores}, {"start", s->start_s},
		      {"elapsed_s", s->end_s - s->start_s},
		      {"core_s", s->cores * (s->end_s - s->start_s)},
		      {"pending_s", s->start_s - s->submit_s},
		      {"coverage", facts__job(r->facts, FACT_JOB_coverage)});
	json_object_set_new(o, "findings", json_integer((json_int_t)r->verdict->nfindings));
	json_object_set_new(o, "finding", finding_json(r->verdict));
	json_object_set_new(o, "judged", json_integer(verdict__judged(r->verdict)));
	json_object_set_new(o, "rules", json_integer(r->verdict->nrules));
	json_object_set(o, "footprint", json_object_get(pika, "footprint"));
	json_object_set(o, "tags", json_object_get(json_object_get(pika, "tags"), "given"));
	json_object_set(o, "failed", json_object_get(json_object_get(pika, "issues"), "failed"));
	json_object_set_new(o, "eligible", json_boolean(!r->pika->ineligible));
	json_object_set_new(o, "issues", issues_json(&job->issues));
	json_decref(pika);
	return o;
}

int report_jobs__put(const struct report *r, struct message *m)
{
	const struct report_job job = {
		.issues = issues_of(r->pika, facts__job(r->facts, FACT_JOB_cores)),
		.size = size_of(r),
	};
	json_t *row = row_of(r, &job);
	char *text = row ? json_dumps(row, JSON_COMPACT | JSON_REAL_PRECISION(17)) : NULL;

	message__put(m, &job, sizeof(job));
	if (text)
		message__put_text(m, text);
	free(text);
	json_decref(row);
	return text ? 0 : 1;
}

int report_jobs__take(struct report_jobs *jobs, struct message *m, const char *file, const char *id)
{
	const struct report_job *from = message__take(m, sizeof(*from));
	struct report_job *v = realloc(jobs->v, (jobs->n + 1) * sizeof(*v));
	json_t *row = from ? json_loads(message__take_text(m), 0, NULL) : NULL;

	jobs->v = v ? v : jobs->v;
	if (!v || !row) {
		json_decref(row);
		return v ? -EBADMSG : -ENOMEM;
	}
	json__set(row, "file", json__text(file));
	if (!*json__text_of(row, "id"))
		json__set(row, "id", json__text(id));
	v[jobs->n++] = (struct report_job){row, from->issues, from->size};
	return 0;
}

void report_jobs__free(struct report_jobs *jobs)
{
	for (size_t i = 0; i < jobs->n; i++)
		json_decref(jobs->v[i].json);
	free(jobs->v);
	*jobs = (struct report_jobs){0};
}

/* Descending, what is not known last. */
static int cmp_numbers(double a, double b)
{
	if (isnan(a) || isnan(b))
		return (isnan(a) != 0) - (isnan(b) != 0);
	return (a < b) - (a > b);
}

static int cmp_jobs(const void *a, const void *b)
{
	const json_t *x = ((const struct report_job *)a)->json;
	const json_t *y = ((const struct report_job *)b)->json;
	int cost = cmp_numbers(json__number_of(json_object_get(x, "finding"), "core_s"),
			       json__number_of(json_object_get(y, "finding"), "core_s"));
	int used = cost ? cost
			: cmp_numbers(json__number_of(x, "core_s"), json__number_of(y, "core_s"));

	return used ? used : strverscmp(json__text_of(x, "id"), json__text_of(y, "id"));
}

void report_jobs__sort(struct report_jobs *jobs)
{
	if (jobs->n)
		qsort(jobs->v, jobs->n, sizeof(*jobs->v), cmp_jobs);
}

/* ---- groups */

struct group {
	const json_t *first; /* a row of it */
	unsigned by;
	struct issue_row issues;
	struct project_row size;
};

static bool is_same(const json_t *a, const json_t *b, unsigned by)
{
	for (int i = 0; i < REPORT_BYS; i++)
		if (by & 1u << i && !json_equal(json_object_get(a, report_by_names[i]),
						json_object_get(b, report_by_names[i])))
			return false;
	return true;
}

/* Makes the group of the jobs like jobs->v[first]; both arrays have room for all jobs. */
static struct group group_of(const struct report_jobs *jobs, size_t first, unsigned by,
			     struct issue_job *issues, struct project_job *sizes)
{
	struct group g = {.first = jobs->v[first].json, .by = by};
	size_t n = 0;

	for (size_t i = first; i < jobs->n; i++) {
		if (!is_same(g.first, jobs->v[i].json, by))
			continue;
		issues[n] = jobs->v[i].issues;
		sizes[n++] = jobs->v[i].size;
	}
	issue_row__of(issues, n, &g.issues);
	project_row__of(sizes, n, &g.size);
	return g;
}

static int cmp_groups(const void *a, const void *b)
{
	const struct group *x = a, *y = b;
	int idle = cmp_numbers(x->issues.idle_cpu_s, y->issues.idle_cpu_s);

	return idle ? idle : cmp_numbers(x->size.core_s, y->size.core_s);
}

/* By idle CPU time, most first. groups[jobs->n]; how many there are, 0 also without memory. */
static size_t make_groups(const struct report_jobs *jobs, unsigned by, struct group *groups)
{
	struct issue_job *issues = calloc(jobs->n + 1, sizeof(*issues));
	struct project_job *sizes = calloc(jobs->n + 1, sizeof(*sizes));
	size_t n = 0;

	for (size_t i = 0; issues && sizes && i < jobs->n; i++) {
		bool is_new = true;

		for (size_t k = 0; k < n && is_new; k++)
			is_new = !is_same(groups[k].first, jobs->v[i].json, by);
		if (is_new)
			groups[n++] = group_of(jobs, i, by, issues, sizes);
	}
	free(issues);
	free(sizes);
	if (n)
		qsort(groups, n, sizeof(*groups), cmp_groups);
	return n;
}

static json_t *group_json(const struct group *g)
{
	const struct issue_row *i = &g->issues;
	const struct project_row *s = &g->size;
	json_t *o = json_object();

	for (int k = 0; k < REPORT_BYS; k++)
		if (g->by & 1u << k)
			json_object_set(o, report_by_names[k],
					json_object_get(g->first, report_by_names[k]));
	NAMED_NUMBERS(o, {"jobs", (double)s->jobs}, {"max_nodes", s->max_nodes},
		      {"max_cores", s->max_cores}, {"core_s", s->core_s},
		      {"max_pending_s", s->max_pending_s}, {"runtime_s", s->runtime_s},
		      {"footprints", (double)s->footprints});
	NAMED_NUMBERS(o, {"runs", (double)i->runs}, {"ict", i->idle_cpu_s}, {"icr", i->icr},
		      {"max_ucr", i->max_ucr}, {"max_cli", i->max_cli}, {"max_iob", i->max_iob},
		      {"max_ioc", i->max_ioc}, {"max_ml", i->max_ml}, {"igt", i->idle_gpu_s},
		      {"igr", i->igr}, {"max_ugr", i->max_ugr}, {"max_gli", i->max_gli},
		      {"max_so", i->max_so});
	return o;
}

json_t *report_jobs__json(const struct report_jobs *jobs)
{
	json_t *o = json_object(), *rows = json_array(), *some = json_array(), *by = json_array();
	struct group *groups = calloc(jobs->n + 1, sizeof(*groups));
	size_t n = groups ? make_groups(jobs, jobs->by, groups) : 0;

	for (size_t i = 0; i < jobs->n; i++)
		json_array_append(rows, jobs->v[i].json);
	for (size_t i = 0; i < n; i++)
		json_array_append_new(some, group_json(&groups[i]));
	if (n > 1 && make_groups(jobs, 0, groups))
		json_array_append_new(some, group_json(&groups[0]));
	for (int i = 0; i < REPORT_BYS; i++)
		if (jobs->by & 1u << i)
			json_array_append_new(by, json__text(report_by_names[i]));
	json_object_set_new(o, "format", json_integer(FORMAT));
	json_object_set_new(o, "jobs", rows);
	json_object_set_new(o, "by", by);
	json_object_set_new(o, "groups", some);
	free(groups);
	return o;
}
