/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of several jobs, and their sums as in PIKA's tables of issues and of projects. */
#include "view/report/report_jobs.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/command_line.h"
#include "base/json.h"
#include "base/room.h"
#include "view/report/report_page.h"
#include "view/report/report_text.h"

#define FORMAT 1 /* grows when a key changes its meaning or is removed */

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

/* The number of detected periods; NaN: no pair of series was compared. */
static double periods_of(const struct periodic *io, unsigned n, const struct periodic *strongest)
{
	for (unsigned i = 0; i < n; i++)
		if (io[i].verdict.status != ANALYSIS_UNAVAILABLE)
			return strongest ? strongest->period_num : 0;
	return NAN;
}

/* The issues of a job; idle time of a task or node counts for its share of the cores. */
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
	JSON_NUMBERS(o, {"ict", i->idle_cpu_s}, {"icr", total > 0 ? i->idle_cpu_s / total : NAN},
		     {"ucr", i->ucr}, {"cli", i->cli}, {"iob", i->iob}, {"ioc", i->ioc},
		     {"ml", i->ml}, {"igt", i->idle_gpu_s},
		     {"igr", gpu > 0 ? i->idle_gpu_s / gpu : NAN}, {"ugr", i->ugr}, {"gli", i->gli},
		     {"so", i->so});
	return o;
}

/* The dearest finding and its cost; null: there is none. */
static json_t *finding_json(const struct verdict *v)
{
	json_t *o;

	if (!v->nfindings)
		return json_null();
	o = json_object();
	json_object_set_new(o, "id", json__text(v->findings[0].id));
	json_object_set_new(o, "severity", json__text(severity__name(v->findings[0].severity)));
	JSON_NUMBERS(o, {"core_s", v->findings[0].cost_core_s}, {"saving", v->findings[0].saving});
	json__set(o, "is_at_least", json_boolean(v->findings[0].at_least));
	return o;
}

static void put_text(json_t *o, const char *key, const struct report *r, const char *attr)
{
	const struct model_attr *a = model_job__attr(r->job, attr);

	json_object_set_new(o, key, json__text(a ? a->text : NULL));
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
	json_object_set_new(o, "program", json__text(r->facts->program));
	json_object_set_new(o, "state", json__text(r->facts->state));
	JSON_NUMBERS(o, {"nodes", s->nodes}, {"cores", s->cores}, {"start", s->start_s},
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
	json_t *row = from ? json_loads(message__take_text(m), 0, NULL) : NULL;

	if (!row)
		return -EBADMSG;
	if (room__grow(&jobs->v, jobs->n, 1, sizeof(*jobs->v))) {
		json_decref(row);
		return -ENOMEM;
	}
	json__set(row, "file", json__text(file));
	if (!*json__text_of(row, "id"))
		json__set(row, "id", json__text(id));
	jobs->v[jobs->n++] = (struct report_job){row, from->issues, from->size};
	return 0;
}

void report_jobs__free(struct report_jobs *jobs)
{
	for (size_t i = 0; i < jobs->n; i++)
		json_decref(jobs->v[i].json);
	free(jobs->v);
	*jobs = (struct report_jobs){0};
}

/* Sorts in descending order, unknown values last. */
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
	const json_t *first; /* the first row of the group */
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

/* Makes groups[jobs->n], sorted by idle CPU time, most first. Returns their number; 0 also without
 * memory. */
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
	JSON_NUMBERS(o, {"jobs", (double)s->jobs}, {"max_nodes", s->max_nodes},
		     {"max_cores", s->max_cores}, {"core_s", s->core_s},
		     {"max_pending_s", s->max_pending_s}, {"runtime_s", s->runtime_s},
		     {"footprints", (double)s->footprints});
	JSON_NUMBERS(o, {"runs", (double)i->runs}, {"ict", i->idle_cpu_s}, {"icr", i->icr},
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

/* ---- the table of several jobs as a page: what each lost, PIKA's issues, and the sums */

/* Prints a text of a file in `width` columns; bytes that are not ASCII become "?". */
static void print_cell(const char *text, int width, FILE *out)
{
	int n = 0;

	for (; *text && n < width; text++, n++)
		putc(*text < 32 || *text > 126 ? '?' : *text, out);
	fprintf(out, "%*s", width - n, "");
}

/* Prints a blank and a number in `width` columns; "-": unknown. */
static void print_number(double v, int width, int places, FILE *out)
{
	if (isnan(v))
		fprintf(out, " %*s", width, "-");
	else
		fprintf(out, " %*.*f", width, places, v);
}

/* The label of a job: its name, its command, or its program. */
static const char *name_of(const json_t *o)
{
	static const char *const keys[] = {"name", "command", "program"};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (json_is_string(json_object_get(o, keys[i])))
			return json__text_of(o, keys[i]);
	return "?";
}

static const char *user_of(const json_t *o)
{
	return json_is_string(json_object_get(o, "user")) ? json__text_of(o, "user") : "";
}

static const char *finding_of(const json_t *o)
{
	const json_t *finding = json_object_get(o, "finding");

	if (json_is_object(finding))
		return json__text_of(finding, "id");
	return 2 * json__number_of(o, "judged") < json__number_of(o, "rules") ? "too little known"
									      : "none";
}

static const char *id_of(const json_t *o)
{
	return json__text_of(o, "id");
}

/* The width of the longest of these texts, from `least` to `most`. */
static int width_of(const json_t *rows, const char *(*text)(const json_t *o), int least, int most)
{
	json_t *o;
	size_t i;

	json_array_foreach (rows, i, o) {
		int n = (int)strnlen(text(o), (size_t)most);

		least = n > least ? n : least;
	}
	return least;
}

#define NUMBERS	    30 /* width of the columns cores, ran and lost */
#define NAME_LEAST  9
#define FINDING	    13 /* width of its heading */
#define FINDING_MAX 20

static void print_jobs(const json_t *rows, FILE *out)
{
	int id = width_of(rows, id_of, 3, 9), user = width_of(rows, user_of, 0, 8);
	int rest = REPORT_WIDTH - 2 - id - 1 - user - (user > 0) - NUMBERS - 2 -
		   width_of(rows, finding_of, FINDING, FINDING_MAX);
	int name = width_of(rows, name_of, 4, rest < NAME_LEAST ? NAME_LEAST : rest);
	json_t *o;
	size_t i;

	fprintf(out, "\n  %-*s %-*s%s%-*s %5s %10s %12s  first finding\n", id, "job", user,
		user > 3 ? "user" : "", user ? " " : "", name, "name", "cores", "ran", "lost");
	json_array_foreach (rows, i, o) {
		double cost = json__number_of(json_object_get(o, "finding"), "core_s");
		char line[COMMAND_LINE_MAX + 1];
		report_number ran, lost;

		fputs("  ", out);
		print_cell(id_of(o), id, out);
		putc(' ', out);
		print_cell(user_of(o), user, out);
		fputs(user ? " " : "", out);
		print_cell(command_line__short(name_of(o), (size_t)name, line), name, out);
		print_number(json__number_of(o, "cores"), 5, 0, out);
		fprintf(out, " %10s %12s  %s\n",
			report_text__time(json__number_of(o, "elapsed_s"), ran),
			isnan(cost) ? "" : report_text__cores(cost, lost), finding_of(o));
	}
}

/* ---- PIKA's issues */

/* Columns of issues of CPUs and of GPUs; keys of groups have "max_" in front of these. */
static const struct issue_columns {
	const char *head, *time, *ratio;
	struct {
		const char *key;
		int width, places;
	} cells[6];
} columns[] = {
	{"\n  job       runs  idle CPU time  ICR  UCR  CLI  IOB  IOC   ML  tags\n",
	 "ict",
	 "icr",
	 {{"ucr", 4, 2}, {"cli", 4, 2}, {"iob", 4, 0}, {"ioc", 4, 0}, {"ml", 4, 2}}},
	{"\n  job       runs  idle GPU time  IGR  UGR  GLI   SO\n",
	 "igt",
	 "igr",
	 {{"ugr", 4, 2}, {"gli", 4, 2}, {"so", 4, 0}}},
};

static void print_cells(const struct issue_columns *c, const json_t *o, const char *before,
			FILE *out)
{
	double seconds = json__number_of(o, c->time);
	report_number time;
	char key[32];

	fprintf(out, " %14s", isnan(seconds) ? "-" : report_text__time(seconds, time));
	print_number(json__number_of(o, c->ratio), 4, 2, out);
	for (int i = 0; c->cells[i].key; i++) {
		double v;

		snprintf(key, sizeof(key), "%s%s", before, c->cells[i].key);
		v = json__number_of(o, key);
		print_number(c->cells[i].places ? v : floor(v + 0.5), c->cells[i].width,
			     c->cells[i].places, out);
	}
}

/* Prints "memory,IO": the first word of each tag. */
static void print_tags(const json_t *tags, FILE *out)
{
	const char *before = "  ";
	json_t *tag;
	size_t i;

	json_array_foreach (tags, i, tag) {
		const char *text = json_string_value(tag);

		fprintf(out, "%s%.*s", before, (int)strcspn(text, "-"), text);
		before = ",";
	}
}

/* Prints the values that the jobs of a group share. */
static void print_name(const json_t *group, const json_t *by, int width, FILE *out)
{
	char name[128] = "";
	json_t *key;
	size_t i, n = 0;

	json_array_foreach (by, i, key) {
		const char *word = json_string_value(key);

		if (json_object_get(group, word) && n < sizeof(name))
			n += (size_t)snprintf(name + n, sizeof(name) - n, "%s%s", n ? "," : "",
					      json__text_of(group, word));
	}
	fputs("  ", out);
	print_cell(n ? name : "all", width, out);
}

static void print_issues(const json_t *jobs, const struct issue_columns *c, FILE *out)
{
	const json_t *groups = json_object_get(jobs, "groups"), *by = json_object_get(jobs, "by");
	json_t *o;
	size_t i;

	fputs(c->head, out);
	json_array_foreach (json_object_get(jobs, "jobs"), i, o) {
		fputs("  ", out);
		print_cell(json__text_of(o, "id"), 9, out);
		fputs("     ", out);
		print_cells(c, json_object_get(o, "issues"), "", out);
		if (c == columns)
			print_tags(json_object_get(o, "tags"), out);
		putc('\n', out);
	}
	fputs("  by ", out);
	json_array_foreach (by, i, o) {
		fprintf(out, "%s%s", i ? "," : "", json_string_value(o));
	}
	fputs(": sum, and highest of each\n", out);
	json_array_foreach (groups, i, o) {
		print_name(o, by, 9, out);
		print_number(json__number_of(o, "runs"), 4, 0, out);
		print_cells(c, o, "max_", out);
		putc('\n', out);
	}
}

/* ---- what was used */

static void print_sizes(const json_t *jobs, FILE *out)
{
	json_t *o;
	size_t i;

	fputs("\n  job           jobs nodes  cores         core time   longest wait           "
	      "ran\n",
	      out);
	json_array_foreach (json_object_get(jobs, "groups"), i, o) {
		double pending = json__number_of(o, "max_pending_s");
		report_number core, wait, ran;

		print_name(o, json_object_get(jobs, "by"), 12, out);
		print_number(json__number_of(o, "jobs"), 5, 0, out);
		print_number(json__number_of(o, "max_nodes"), 5, 0, out);
		print_number(json__number_of(o, "max_cores"), 6, 0, out);
		fprintf(out, " %17s %14s %13s\n",
			report_text__cores(json__number_of(o, "core_s"), core),
			isnan(pending) ? "" : report_text__time(pending, wait),
			report_text__time(json__number_of(o, "runtime_s"), ran));
	}
}

void report_jobs__print(const json_t *jobs, bool all, FILE *out)
{
	const json_t *rows = json_object_get(jobs, "jobs");
	bool has_gpus = false;
	json_t *o;
	size_t i;

	json_array_foreach (json_object_get(jobs, "groups"), i, o) {
		has_gpus |= !isnan(json__number_of(o, "max_ugr"));
	}
	fprintf(out, "%zu jobs, the dearest first\n", json_array_size(rows));
	print_jobs(rows, out);
	if (all)
		print_issues(jobs, &columns[0], out);
	if (all && has_gpus)
		print_issues(jobs, &columns[1], out);
	print_sizes(jobs, out);
}
