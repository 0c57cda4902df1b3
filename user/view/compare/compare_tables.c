/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes the tables of two runs, as text and as JSON: tables of facts, and by children those of
 * functions, clusters and folded regions. */
#include "view/compare/compare.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/cluster/burst_track.h"
#include "analysis/job/facts_fill.h"
#include "analysis/job/pop.h"
#include "base/json.h"
#include "jobfile/select.h"
#include "model/bursts.h"
#include "model/stacks.h"
#include "model/symbols.h"
#include "pool/pool.h"
#include "view/cluster/cluster_view.h"
#include "view/flame/flame.h"
#include "view/report/report.h"
#include "view/report/report_text.h"

#define NAME_WIDTH  16
#define SHARE_LEAST 0.005 /* share in one of the runs from which a row is on the page */

/* The seconds that the whole stands for (samples: CPU time). NaN: unknown, or too few samples. */
static double seconds_of(const struct report_parts *parts, const struct model_job *j, double whole)
{
	if (parts != &report_modules)
		return whole;
	return whole >= REPORT_SAMPLES_LEAST ? facts__sum(j, Q_CPU) : NAN;
}

/* Divides the whole into rows. False: a run lacks it. */
static bool divide(struct compare_table *t, const struct report_parts *parts,
		   const struct model_job *const jobs[2])
{
	double share[2][REPORT_PARTS_MAX], all[2];

	for (int i = 0; i < 2; i++) {
		all[i] = seconds_of(parts, jobs[i], report_parts__of(parts, jobs[i], share[i]));
		if (isnan(all[i]))
			return false;
	}
	for (t->n = 0; t->n < parts->n; t->n++) {
		struct compare_row *r = &t->rows[t->n];

		r->name = parts->parts[t->n].name;
		for (int i = 0; i < 2; i++) {
			r->share[i] = share[i][t->n];
			r->s[i] = r->share[i] * all[i];
		}
	}
	return true;
}

static bool compare_pop(struct compare_table *t, const struct model_job *const jobs[2])
{
	struct pop pop[2];

	for (int i = 0; i < 2; i++) {
		unsigned n;
		const struct job_unit *ranks = facts__main_tasks(jobs[i], &n);

		pop[i] = pop__of(ranks, n);
		snprintf(t->how[i], sizeof(t->how[i]), "%s",
			 isnan(pop[i].samples) ? "blocking" : "samples");
	}
	t->rows[0] = (struct compare_row){
		"load balance", {pop[0].load_balance, pop[1].load_balance}, {NAN, NAN}};
	t->rows[1] = (struct compare_row){
		"communication", {pop[0].communication, pop[1].communication}, {NAN, NAN}};
	t->rows[2] =
		(struct compare_row){"parallel", {pop[0].parallel, pop[1].parallel}, {NAN, NAN}};
	t->n = 3;
	return !isnan(pop[0].load_balance) && !isnan(pop[1].load_balance);
}

unsigned compare_tables__of(struct compare_table out[static COMPARE_TABLES],
			    const struct model_job *a, const struct model_job *b)
{
	const struct model_job *const jobs[] = {a, b};
	unsigned n = 0;

	out[n] = (struct compare_table){.id = "culprits", .name = "What had the CPU"};
	n += divide(&out[n], &report_culprits, jobs);
	out[n] = (struct compare_table){.id = "modules", .name = "What was executed"};
	n += divide(&out[n], &report_modules, jobs);
	out[n] = (struct compare_table){.id = "pop", .name = "Rank efficiency"};
	n += compare_pop(&out[n], jobs);
	return n;
}

static bool is_shown(const struct compare_row *r)
{
	if (isnan(r->share[0]) || isnan(r->share[1]))
		return false;
	return isnan(r->s[0]) || fmax(r->share[0], r->share[1]) >= SHARE_LEAST;
}

/* Prints a row; a name that is too long for its column has a line of its own. */
static void print_row(const struct compare_row *r, FILE *out)
{
	report_number number;
	bool fits = strlen(r->name) <= NAME_WIDTH;
	double points = 100 * (r->share[1] - r->share[0]);

	if (!fits)
		fprintf(out, "  %s\n", r->name);
	fprintf(out, "  %-*s", NAME_WIDTH, fits ? r->name : "");
	for (int i = 0; i < 2; i++) {
		fprintf(out, " %7.1f %%", 100 * r->share[i]);
		fprintf(out, " %9s", isnan(r->s[i]) ? "" : report_text__time(r->s[i], number));
	}
	fprintf(out, " %11s", isnan(r->s[0]) ? "" : report_text__change(r->s[1] - r->s[0], number));
	if (fabs(points) < 0.05)
		fprintf(out, " %6.1f\n", 0.0);
	else
		fprintf(out, " %+6.1f\n", points);
}

void compare_tables__print(const struct compare_table *tables, unsigned n, FILE *out)
{
	for (const struct compare_table *t = tables; t < tables + n; t++) {
		fprintf(out, "\n%-18s %7s %21s %21s %7s\n", t->name, "A", "B", "change", "points");
		for (unsigned i = 0; i < t->n; i++)
			if (is_shown(&t->rows[i]))
				print_row(&t->rows[i], out);
		if (t->n && !isnan(t->rows[0].s[0]))
			fputs("  seconds of all threads together\n", out);
		if (strcmp(t->how[0], t->how[1]))
			fprintf(out, "  A is measured by %s, B by %s.\n", t->how[0], t->how[1]);
	}
}

static json_t *row_json(const struct compare_row *r)
{
	json_t *o = json_object();

	json__set(o, "name", json__text(r->name));
	JSON_NUMBERS(o, {"a", r->share[0]}, {"b", r->share[1]},
		     {"points", 100 * (r->share[1] - r->share[0])}, {"a_s", r->s[0]},
		     {"b_s", r->s[1]}, {"s", r->s[1] - r->s[0]});
	return o;
}

json_t *compare_tables__json(const struct compare_table *tables, unsigned n)
{
	json_t *list = json_array(), *rows, *o;

	for (const struct compare_table *t = tables; t < tables + n; t++) {
		o = json_object();
		rows = json_array();
		for (unsigned i = 0; i < t->n; i++)
			json_array_append_new(rows, row_json(&t->rows[i]));
		json__set(o, "id", json__text(t->id));
		json__set(o, "name", json__text(t->name));
		json__set(o, "a_by", json__nonempty(t->how[0]));
		json__set(o, "b_by", json__nonempty(t->how[1]));
		json__set(o, "rows", rows);
		json_array_append_new(list, o);
	}
	return list;
}

/* ---- rows of a table on their way from the child to its parent */

struct numbers {
	double share[2], s[2];
};

/* Puts a row; share and s, of both runs, are as in struct compare_row. */
static void rows_put(struct message *m, const char *name, const double share[2], const double s[2])
{
	const struct numbers v = {{share[0], share[1]}, {s[0], s[1]}};

	message__put_text(m, name);
	message__put(m, &v, sizeof(v));
}

/* In the parent: takes rows up to the message's end, or until there is no memory; names[] are to be
 * freed. */
static void rows_take(struct compare_table *t, char **names, struct message *m)
{
	while (t->n < COMPARE_BESIDES_ROWS && m->at < m->len) {
		const char *name = message__take_text(m);
		const struct numbers *v = message__take(m, sizeof(*v));
		struct compare_row *row = &t->rows[t->n];

		if (!v)
			return;
		row->name = names[t->n] = strdup(name);
		if (!row->name)
			return;
		memcpy(row->share, v->share, sizeof(row->share));
		memcpy(row->s, v->s, sizeof(row->s));
		t->n++;
	}
}

/* ---- the clusters of two runs' bursts, by the names that they have in both */

#define RUNS 2

/* Reads a run's clusters. 0; -ENODATA: it has none; -errno. */
static int read_run(struct burst_track *t, const struct compare_inside *run,
		    const struct cluster_request *how)
{
	const struct job_input *in = run->files;
	const struct selection steps = {.steps = in->steps, .nsteps = in->nsteps};
	struct model_bursts b;
	int err = model_bursts__read(&b, in->path, &steps);

	if (!err)
		err = burst_track__add(t, &b, how, in->path);
	if (!err && (t->v[t->n - 1].c.verdict.status != ANALYSIS_OK || !t->v[t->n - 1].c.k))
		err = -ENODATA;
	t->all += b.all;
	t->kept += b.n;
	model_bursts__free(&b);
	return err == -ERANGE || err == -ENOMSG ? -ENODATA : err;
}

/* Run time of the bursts in clusters and in noise. */
static double run_time(const struct burst_piece *p)
{
	double sum = 0;

	for (size_t i = 0; i < p->c.n; i++)
		if (p->c.labels[i] != CLUSTER_UNUSED)
			sum += p->run[i];
	return sum;
}

/* The cluster of that name; 0 is noise. NULL: the run has no bursts of it. */
static const struct burst_cluster *cluster_of(const struct burst_piece *p, unsigned name)
{
	for (unsigned k = 1; name && k <= p->c.k; k++)
		if (p->names[k] == name)
			return &p->c.clusters[k];
	return name || !p->c.clusters[0].n ? NULL : &p->c.clusters[0];
}

/* Names a cluster by a number, since letters are the runs, and by the run time of a burst. */
static void name_of(const struct burst_track *t, unsigned name, char *text, size_t size)
{
	const struct burst_cluster *c = cluster_of(&t->v[0], name);
	cluster_time run;

	if (!c)
		c = cluster_of(&t->v[1], name);
	if (name && c)
		snprintf(text, size, "%u, of %s", name, cluster_time__of(c->run, run));
	else
		snprintf(text, size, "noise");
}

static void put_cluster(const struct burst_track *t, unsigned name, struct message *m)
{
	const bool is_all = t->kept == t->all;
	double share[RUNS], s[RUNS];
	char text[64];

	for (unsigned i = 0; i < RUNS; i++) {
		const struct burst_cluster *c = cluster_of(&t->v[i], name);

		share[i] = c ? c->share : 0;
		s[i] = is_all ? share[i] * run_time(&t->v[i]) : NAN;
	}
	name_of(t, name, text, sizeof(text));
	rows_put(m, text, share, s);
}

/* Puts the clusters of both runs, matched as jobprof track does. */
static int clusters_put(const struct compare_inside runs[2], struct message *m)
{
	struct burst_track t = {0};
	const struct cluster_request request = CLUSTER_REQUEST;
	int err = 0;

	for (unsigned i = 0; !err && i < RUNS; i++)
		err = read_run(&t, &runs[i], &request);
	if (!err && burst_track__compare(&t, request.dims) != ANALYSIS_OK)
		err = -ENOMEM;
	for (unsigned name = 1; !err && name <= t.names && name < COMPARE_BESIDES_ROWS; name++)
		put_cluster(&t, name, m);
	if (!err)
		put_cluster(&t, 0, m);
	burst_track__free(&t);
	return err;
}

/* ---- the folded regions that two job files have, and their phases */

#define NAME 128

static double length_of(const json_t *phase)
{
	return json__number_of(phase, "to") - json__number_of(phase, "from");
}

/* The phase at position `at`, which may be any number: phases repeat. Their names are numbers
 * from 1. */
static const json_t *phase_of(const json_t *fold, size_t at)
{
	const json_t *phases = json_object_get(fold, "phases");
	char key[24];

	snprintf(key, sizeof(key), "%zu", at % json_object_size(phases) + 1);
	return json_object_get(phases, key);
}

/* Length of the name of a phase's code, without the place in it that the fold may add. */
static size_t code_length(const char *code)
{
	const char *place = strstr(code, " (at ");

	return place ? (size_t)(place - code) : strlen(code);
}

static bool is_same_code(const json_t *a, const json_t *b)
{
	const char *x = json__text_of(a, "code"), *y = json__text_of(b, "code");

	return code_length(x) == code_length(y) && !strncmp(x, y, code_length(x));
}

/* Finds by how many phases the second fold lags behind the first: the begin of an iteration without
 * a name is arbitrary. True if each phase then executes the same code; sets *shift. */
static bool find_shift(json_t *const fold[2], size_t n, size_t *shift)
{
	const bool is_named = json_string_value(json_object_get(fold[0], "region"));

	for (*shift = 0; *shift < (is_named ? 1 : n); (*shift)++) {
		size_t i = 0;

		while (i < n && is_same_code(phase_of(fold[0], i), phase_of(fold[1], i + *shift)))
			i++;
		if (i == n)
			return true;
	}
	return false;
}

static void put_part(json_t *const fold[2], const char *name, const double share[2],
		     struct message *m)
{
	double s[2];

	for (int i = 0; i < 2; i++)
		s[i] = share[i] * json__number_of(fold[i], "period_s");
	rows_put(m, name, share, s);
}

static void put_phase(json_t *const fold[2], size_t at, size_t shift, struct message *m)
{
	const json_t *a = phase_of(fold[0], at), *b = phase_of(fold[1], at + shift);
	const double share[2] = {length_of(a), length_of(b)};
	const char *code = json__text_of(a, "code");
	char name[NAME];

	snprintf(name, sizeof(name), "%.*s", (int)code_length(code), code);
	put_part(fold, name, share, m);
}

/* Whether the phases cover the iteration from 0 to 1 without gaps. */
static bool are_whole(const json_t *fold)
{
	const size_t n = json_object_size(json_object_get(fold, "phases"));
	double end = 0;

	for (size_t i = 0; i < n; i++) {
		const json_t *phase = phase_of(fold, i);
		double from = json__number_of(phase, "from"), to = json__number_of(phase, "to");

		if (fabs(from - end) > 1e-6 || !(to > from))
			return false;
		end = to;
	}
	return fabs(end - 1) <= 1e-6;
}

/* Puts one execution, and its phases if both runs have as many, of the same code. */
static void put_parts(json_t *const fold[2], struct message *m)
{
	const size_t n = json_object_size(json_object_get(fold[0], "phases"));
	const double all[2] = {1, 1};
	size_t shift;

	put_part(fold, "one execution", all, m);
	if (n < 2 || !are_whole(fold[0]) || !are_whole(fold[1]) ||
	    json_object_size(json_object_get(fold[1], "phases")) != n ||
	    !find_shift(fold, n, &shift))
		return;
	for (size_t i = 0; i < n && i + 1 < COMPARE_BESIDES_ROWS; i++)
		put_phase(fold, i, shift, m);
}

static bool are_comparable(json_t *const fold[2])
{
	for (int i = 0; i < 2; i++)
		if (!json_is_object(fold[i]) || !(json__number_of(fold[i], "period_s") > 0))
			return false;
	return !strcmp(json__text_of(fold[0], "region"), json__text_of(fold[1], "region"));
}

/* Puts the region that jobprof fold --store has stored in both files, and its phases. */
static int fold_put(const struct compare_inside runs[2], struct message *m)
{
	json_t *fold[2];
	int err = -ENODATA;

	for (int i = 0; i < 2; i++) {
		fold[i] = report_besides__stored(runs[i].files, "fold", NULL);
		json_object_del(json_object_get(fold[i], "phases"), "version");
	}
	if (are_comparable(fold)) {
		put_parts(fold, m);
		err = 0;
	}
	for (int i = 0; i < 2; i++)
		json_decref(fold[i]);
	return err;
}

/* ---- the functions that two runs were in, by their stacks */

struct reading {
	const struct compare_inside *run;
	struct stacks stacks[FLAME_RUNS];
	struct symbols *symbols;
	struct flame flame;
};

static int read_runs(struct reading *r)
{
	int err = r->symbols ? 0 : -ENOMEM;

	for (unsigned i = 0; !err && i < FLAME_RUNS; i++) {
		const struct job_input *in = r->run[i].files;
		const struct selection steps = {.steps = in->steps, .nsteps = in->nsteps};

		err = stacks__read_file(&r->stacks[i], in->path, &steps);
		if (!err)
			err = flame__add(&r->flame, &r->stacks[i], r->symbols, "");
	}
	if (!err)
		flame__finish(&r->flame);
	return err;
}

struct function {
	const char *name;
	double share[FLAME_RUNS], s[FLAME_RUNS];
};

static int by_change(const void *a, const void *b)
{
	const struct function *x = a, *y = b;
	double s = fabs(x->s[1] - x->s[0]), t = fabs(y->s[1] - y->s[0]);

	return s != t ? (s < t) - (s > t) : strcmp(x->name, y->name);
}

/* All functions with their shares of a run's samples, and so of its CPU time. NULL: no memory. */
static struct function *share_out(const struct reading *r, unsigned *n)
{
	const double *all = r->flame.frames[FLAME_ROOT].total_s;
	struct flame_function *v = flame__functions(&r->flame, n);
	struct function *out = calloc(*n + 1, sizeof(*out));

	for (unsigned i = 0; v && out && i < *n; i++) {
		out[i].name = v[i].name;
		for (unsigned k = 0; k < FLAME_RUNS; k++) {
			out[i].share[k] = v[i].self_s[k] / all[k];
			out[i].s[k] = out[i].share[k] * r->run[k].cpu_s;
		}
	}
	if (!v) {
		free(out);
		out = NULL;
	}
	free(v);
	return out;
}

static int put_functions(const struct reading *r, struct message *m)
{
	const double *all = r->flame.frames[FLAME_ROOT].total_s;
	struct function *v;
	unsigned n;

	if (!(all[0] > 0 && all[1] > 0))
		return -ENODATA;
	v = share_out(r, &n);
	if (!v)
		return -ENOMEM;
	qsort(v, n, sizeof(*v), by_change);
	for (unsigned i = 0; i < n && i < COMPARE_BESIDES_ROWS && v[i].s[0] + v[i].s[1] > 0; i++)
		rows_put(m, v[i].name, v[i].share, v[i].s);
	free(v);
	return 0;
}

/* Puts the functions whose own CPU time differs most. */
static int functions_put(const struct compare_inside runs[2], struct message *m)
{
	struct reading r = {
		.run = runs, .flame = {.from_s = NAN, .to_s = NAN}, .symbols = symbols__new()};
	int err = read_runs(&r);

	if (!err)
		err = put_functions(&r, m);
	flame__free(&r.flame);
	for (unsigned i = 0; i < FLAME_RUNS; i++)
		stacks__free(&r.stacks[i]);
	symbols__free(r.symbols);
	return err;
}

static const struct maker {
	const char *id, *name, *what;
	int (*put)(const struct compare_inside runs[2], struct message *m);
} makers[COMPARE_BESIDES] = {
	{"functions", "Functions", "stacks", functions_put},
	{"clusters", "Bursts", "bursts", clusters_put},
	{"fold", "Folded region", "folded regions", fold_put},
};

static int work(void *arg, unsigned item, struct message *m)
{
	int err = makers[item].put(arg, m);

	return err == -ENODATA ? 0 : err;
}

int compare_besides__of(struct compare_besides *out, const struct compare_inside runs[2],
			const char **what)
{
	const struct pool_work w = {.work = work, .arg = (void *)runs, .nitems = COMPARE_BESIDES};
	struct pool *pool = NULL;
	int err, first;

	*out = (struct compare_besides){0};
	if (runs[0].n != 1 || runs[1].n != 1)
		return 0;
	*what = "files";
	first = pool__start(&pool, &w, 1, &POOL_STREAM);
	for (unsigned i = 0; pool && first != -EINTR && i < COMPARE_BESIDES; i++) {
		struct compare_table *t = &out->tables[out->n];
		struct message *m;

		*t = (struct compare_table){.id = makers[i].id, .name = makers[i].name};
		err = pool__next(pool, &m);
		if (!err)
			rows_take(t, out->names[i], m);
		if (err && (!first || err == -EINTR)) {
			first = err;
			*what = makers[i].what;
		}
		out->n += t->n > 0;
	}
	pool__free(pool);
	return first;
}

void compare_besides__free(struct compare_besides *b)
{
	for (unsigned i = 0; i < COMPARE_BESIDES; i++)
		for (unsigned k = 0; k < COMPARE_BESIDES_ROWS; k++)
			free(b->names[i][k]);
}
