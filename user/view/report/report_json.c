/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The report as JSON: docs/report-json.md has the schema. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/job/facts_fill.h"
#include "analysis/job/pop.h"
#include "base/json.h"
#include "identity/stepname.h"
#include "view/report/report_page.h"
#include "view/report/report.h"

/* ---- the marks of a job, by time; marks that a reader cannot tell apart are one */

#define MARKS_SHOWN 200
#define NEAR	    0.002 /* share of the job's time: marks that are nearer look like one */

static int by_time(const void *a, const void *b)
{
	const struct job_mark *x = a, *y = b;

	return x->at_s != y->at_s   ? (x->at_s > y->at_s) - (x->at_s < y->at_s)
	       : x->part != y->part ? (x->part > y->part) - (x->part < y->part)
				    : (x->number > y->number) - (x->number < y->number);
}

static bool is_same(const struct model_job *j, const struct job_mark *a, const struct job_mark *b)
{
	bool named = a->name && b->name;

	return j->parts[a->part].step == j->parts[b->part].step &&
	       (named ? !strcmp(a->name, b->name) : a->name == b->name && a->number == b->number);
}

/* The number of marks from v[0] on that are one mark, which ranks set at about the same time. */
static unsigned length_of(const struct model_job *j, const struct job_mark *v, unsigned n)
{
	unsigned k = 1;

	while (k < n && is_same(j, v, &v[k]) && v[k].at_s - v[k - 1].at_s <= NEAR * j->grid.end_s)
		k++;
	return k;
}

static json_t *mark_json(const struct model_job *j, const struct job_mark *v, unsigned n)
{
	const struct job_part *part = &j->parts[v->part];
	json_t *o = json_object();
	bool one_node = true;

	for (unsigned i = 1; i < n; i++)
		one_node &= j->parts[v[i].part].node == part->node;
	json_object_set_new(o, "at_s", json__number(v->at_s));
	json_object_set_new(o, "name", json__text(v->name));
	json_object_set_new(o, "number", json__number(v->number));
	json_object_set_new(o, "step", json__text(stepname__human(j->steps[part->step].name)));
	json_object_set_new(o, "node",
			    one_node ? json__text(j->nodes[part->node].unit.name) : json_null());
	json_object_set_new(o, "times", json_integer(n));
	return o;
}

/* The marks of the job. */
static json_t *marks_json(const struct model_job *j)
{
	struct job_mark *v = calloc(j->nmarks + 1, sizeof(*v));
	json_t *o = json_object(), *of = json_array();
	unsigned i = 0, n;

	if (v && j->nmarks)
		memcpy(v, j->marks, j->nmarks * sizeof(*v));
	if (v)
		qsort(v, j->nmarks, sizeof(*v), by_time);
	for (; v && i < j->nmarks && json_array_size(of) < MARKS_SHOWN; i += n) {
		n = length_of(j, &v[i], j->nmarks - i);
		json_array_append_new(of, mark_json(j, &v[i], n));
	}
	json_object_set_new(o, "of", of);
	json_object_set_new(o, "left_out", json_integer(j->nmarks - i));
	free(v);
	return o;
}

#define TASK_BINS_MAX (256u << 10) /* cells of a quantity, at most: about 20 MB of text in all */
#define FORMAT	      1		   /* grows when a key changes its meaning or is removed */

static json_t *cost_json(const struct finding *f)
{
	json_t *o = json_object();

	JSON_NUMBERS(o, {"core_s", f->cost_core_s}, {"saving", f->saving});
	json__set(o, "is_at_least", json_boolean(f->at_least));
	return o;
}

/* Sets when the finding is true: from its first time to the end of the last one. */
static void set_times(json_t *o, const struct finding *f)
{
	json_t *times = json_array();

	for (size_t i = 0; i < f->ntimes; i++)
		json_array_append_new(times, json__numbers(f->times[i], 2));
	json__set(o, "when",
		  f->ntimes ? json__numbers((double[]){finding__from_s(f), finding__to_s(f)}, 2)
			    : json_null());
	json__set(o, "times", times);
}

/* The number that the remedy sets; null: there is none. */
static json_t *sets_json(const struct finding *f)
{
	json_t *o;

	if (isnan(f->needs))
		return json_null();
	o = json_object();
	JSON_NUMBERS(o, {"needs", f->needs}, {"used", f->used}, {"asked", f->asked});
	return o;
}

static json_t *finding_json(const struct finding *f)
{
	json_t *o = json_object();

	json__set(o, "id", json__text(f->id));
	json__set(o, "severity", json__text(severity__name(f->severity)));
	json__set(o, "cost", cost_json(f));
	json__set(o, "text", json__text(f->text));
	json__set(o, "remedy", json__text(f->remedy));
	json__set(o, "remedy_kind", json__text(remedy_kind__name(f->kind)));
	json__set(o, "remedy_code", *f->code ? json__text(f->code) : json_null());
	json__set(o, "sets", sets_json(f));
	json__set(o, "where", json__text(f->where));
	set_times(o, f);
	json__set(o, "source", json__text(f->source));
	return o;
}

static json_t *findings_json(const struct verdict *v)
{
	json_t *a = json_array();

	for (size_t i = 0; i < v->nfindings; i++)
		json_array_append_new(a, finding_json(&v->findings[i]));
	return a;
}

static json_t *rules_json(const struct verdict *v)
{
	json_t *a = json_array(), *o;

	for (size_t i = 0; i < v->nothers; i++) {
		o = json_object();
		json__set(o, "id", json__text(v->others[i].id));
		json__set(o, "judged", json_boolean(v->others[i].judged));
		json__set(o, "reason", json__text(v->others[i].reason));
		json_array_append_new(a, o);
	}
	return a;
}

static json_t *errors_json(const struct verdict *v)
{
	json_t *a = json_array();

	for (size_t i = 0; i < v->errors.n; i++)
		json_array_append_new(a, json__text(v->errors.v[i]));
	return a;
}

/* All facts of a scope: numbers for the job, arrays for the other scopes. A fact without a known
 * value is in `missing` only. */
static json_t *facts_json(const struct facts *f, enum fact_scope scope)
{
	json_t *o = json_object();

	for (int i = 0; i < N_FACTS; i++) {
		size_t n = f->count[scope], known = 0;

		if (fact_infos[i].scope != scope)
			continue;
		for (size_t k = 0; k < n; k++)
			known += !isnan(f->values[i][k]);
		if (!known)
			continue;
		json__set(o, fact_infos[i].name,
			  scope == SCOPE_JOB ? json__number(f->values[i][0])
					     : json__numbers(f->values[i], n));
	}
	return o;
}

static json_t *missing_json(const struct facts *f)
{
	json_t *o = json_object();

	for (int i = 0; i < N_FACTS; i++)
		if (fact_infos[i].scope == SCOPE_JOB && isnan(f->values[i][0]))
			json__set(o, fact_infos[i].name, json__text(f->missing[i]));
	return o;
}

static json_t *names_json(const struct facts *f, enum fact_scope scope)
{
	json_t *a = json_array();

	for (size_t i = 0; i < f->count[scope]; i++)
		json_array_append_new(a, json__text(f->names[scope][i]));
	return a;
}

static json_t *units_json(const struct facts *f, enum fact_scope scope)
{
	json_t *o = facts_json(f, scope);

	json__set(o, "name", names_json(f, scope));
	return o;
}

/* The stored bins of each of units.tasks, an array per quantity: task_bins.CPU[task][bin]. */
static json_t *task_bins_json(const struct model_job *j)
{
	json_t *o = json_object();
	unsigned n;
	const struct job_unit *units = facts__main_tasks(j, &n);

	if ((uint64_t)n * j->grid.n > TASK_BINS_MAX)
		return o;
	for (int q = 0; q < N_QUANTITIES; q++) {
		json_t *tasks = json_array();
		bool known = false;

		for (unsigned i = 0; quantity__is_kept(q, "STEP") && i < n; i++) {
			const double *bins = job_unit__bins(&units[i], q, &j->grid);

			known |= !isnan(units[i].total[q]);
			json_array_append_new(tasks, json__numbers(bins, j->grid.n));
		}
		if (known)
			json__set(o, quantity_infos[q].id, json_incref(tasks));
		json_decref(tasks);
	}
	return o;
}

static json_t *commands_json(const struct model_job *j)
{
	json_t *a = json_array(), *o;

	for (unsigned i = 0; i < j->ncommands; i++) {
		const struct job_command *c = &j->commands[i];

		o = json_object();
		json__set(o, "name", json__text(c->name));
		JSON_NUMBERS(o, {"processes", c->processes}, {"cpu_s", c->cpu_s},
			     {"wait_s", c->wait_s}, {"peak_mb", c->peak_mb},
			     {"read_mb", c->read_mb}, {"write_mb", c->write_mb});
		json_array_append_new(a, o);
	}
	return a;
}

static json_t *budget_json(const struct report *r)
{
	struct report_budget b = report_budget__of(r);
	json_t *o = json_object(), *shares = json_array(), *one;

	for (int i = 0; !isnan(b.core_s) && i < N_BUDGET; i++) {
		one = json_object();
		json__set(one, "name", json__text(report_budget__name(&b, i)));
		json__set(one, "share", json__number(b.share[i]));
		json_array_append_new(shares, one);
	}
	json__set(o, "core_s", json__number(b.core_s));
	json__set(o, "shares", shares);
	return o;
}

static json_t *pop_json(const struct model_job *j, unsigned step)
{
	json_t *o = json_object();
	unsigned n;
	const struct job_unit *ranks = facts__tasks_of(j, step, &n);
	struct pop pop = pop__of(ranks, n);

	JSON_NUMBERS(o, {"load_balance", pop.load_balance},
		     {"communication_efficiency", pop.communication}, {"with_cpu", pop.with_cpu},
		     {"parallel_efficiency", pop.parallel}, {"samples", pop.samples});
	json__set(o, "reason", json__text(pop.why));
	return o;
}

static json_t *steps_json(const struct model_job *j)
{
	json_t *a = json_array(), *o;

	for (unsigned i = 0; i < j->nsteps; i++) {
		o = json_object();
		json__set(o, "name", json__text(stepname__human(j->steps[i].name)));
		json__set(o, "nodes", json_integer(j->steps[i].nodes));
		json__set(o, "tasks", json_integer(j->steps[i].tasks));
		JSON_NUMBERS(o, {"cpu_s", j->steps[i].cpu_s}, {"begin_s", j->steps[i].begin_s},
			     {"end_s", j->steps[i].end_s});
		json__set(o, "pop", pop_json(j, i));
		json__set(o, "main", json_boolean(i == j->main_step));
		json_array_append_new(a, o);
	}
	return a;
}

static double number_of(const struct model_job *j, const char *attr)
{
	const struct model_attr *a = model_job__attr(j, attr);

	return a && !a->text ? a->is_integer ? (double)a->integer : a->number : NAN;
}

static json_t *job_json(const struct report *r)
{
	static const char *const texts[][2] = {{"user", "User"},
					       {"name", "Job Name"},
					       {"partition", "Partition"},
					       {"account", "Account"},
					       {"cluster", "Cluster"},
					       {"end_reason", "End Reason"},
					       {"command", "Command Line"},
					       {"directory", "Working Directory"},
					       {"sluid", "SLUID"}};
	static const char *const numbers[][2] = {{"uid", "UID"},
						 {"restart", "Restart Count"},
						 {"array_id", "Array Job Id"},
						 {"array_task", "Array Task Id"},
						 {"het_id", "Het Job Id"},
						 {"submit", "Submit EpochTime"},
						 {"memory_per_cpu", "Requested Memory per CPU"},
						 {"job_start", "Job Start EpochTime"}};
	json_t *o = json_object();

	json__set(o, "id", json__text(r->job->id));
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		const struct model_attr *a = model_job__attr(r->job, texts[i][1]);

		json__set(o, texts[i][0], json__text(a ? a->text : NULL));
	}
	json__set(o, "state", json__text(r->facts->state));
	json__set(o, "program", json__text(r->facts->program));
	json__set(o, "start", json__number(r->facts->start_ns / 1e9));
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		json__set(o, numbers[i][0], json__number(number_of(r->job, numbers[i][1])));
	json__set(o, "steps", steps_json(r->job));
	return o;
}

static json_t *coverage_json(const struct report *r)
{
	json_t *o = json_object(), *troubles = json_array(), *one;

	for (unsigned i = 0; i < r->job->nparts; i++) {
		if (!r->job->parts[i].trouble)
			continue;
		one = json_object();
		json__set(one, "part", json_integer(i + 1));
		json__set(one, "step",
			  json__text(stepname__human(r->job->steps[r->job->parts[i].step].name)));
		json__set(one, "node", json__text(r->job->nodes[r->job->parts[i].node].unit.name));
		json__set(one, "trouble", json__text(r->job->parts[i].trouble));
		json_array_append_new(troubles, one);
	}
	json__set(o, "share", json__number(facts__job(r->facts, FACT_JOB_coverage)));
	json__set(o, "lost_rows", json__number(facts__job(r->facts, FACT_JOB_lost_rows)));
	json__set(o, "lost_counts", json__number(facts__job(r->facts, FACT_JOB_lost_counts)));
	JSON_NUMBERS(o, {"lost_s", facts__job(r->facts, FACT_JOB_lost_s)},
		     {"lost_cpu_s", facts__job(r->facts, FACT_JOB_lost_cpu_s)});
	json__set(o, "lost_what", json__text(report_head__lost_what(r)));
	json__set(o, "missed_cpu_s", json__number(facts__job(r->facts, FACT_JOB_missed_cpu_s)));
	json__set(o, "rows", json_integer((json_int_t)r->job->rows));
	JSON_NUMBERS(o, {"row_s", facts__job(r->facts, FACT_JOB_row_s)},
		     {"bin_s", r->job->grid.dt_s});
	json__set(o, "parts", json_integer(r->job->nparts));
	json__set(o, "collector", json__text(r->job->is_slurms ? "slurm" : "jobprof"));
	json__set(o, "not_readable", troubles);
	return o;
}

static json_t *shared(json_t *o)
{
	return o ? json_incref(o) : json_null();
}

json_t *report__json(const struct report *r)
{
	json_t *o = json_object(), *units = json_object();

	json__set(units, "nodes", units_json(r->facts, SCOPE_NODE));
	json__set(units, "tasks", units_json(r->facts, SCOPE_TASK));
	json__set(units, "gpus", units_json(r->facts, SCOPE_GPU));
	json__set(units, "task_bins", task_bins_json(r->job));
	json__set(o, "format", json_integer(FORMAT));
	json__set(o, "job", job_json(r));
	json__set(o, "findings", findings_json(r->verdict));
	json__set(o, "not_given", rules_json(r->verdict));
	json__set(o, "rule_errors", errors_json(r->verdict));
	json__set(o, "facts", facts_json(r->facts, SCOPE_JOB));
	json__set(o, "bins", facts_json(r->facts, SCOPE_BIN));
	json__set(o, "time_budget", budget_json(r));
	json__set(o, "thread_budget", report_parts__json(&report_threads, r->job));
	json__set(o, "culprits", report_culprits__json(r->job));
	json__set(o, "samples", report_modules__json(r));
	json__set(o, "alike", report_alike__json(r->alike));
	json__set(o, "pop", report_pop__json(r->facts));
	json__set(o, "clusters", shared(r->besides ? r->besides->clusters : NULL));
	json__set(o, "fold", shared(r->besides ? r->besides->fold : NULL));
	json__set(o, "units", units);
	json__set(o, "commands", commands_json(r->job));
	json__set(o, "marks", marks_json(r->job));
	json__set(o, "pika", report_pika__json(r->pika));
	json__set(o, "io", report_io__json(r->io));
	json__set(o, "coverage", coverage_json(r));
	json__set(o, "missing", missing_json(r->facts));
	return o;
}
