/* SPDX-License-Identifier: GPL-2.0-only */
/* Makes the tables of two runs, as text and as JSON. */
#include "view/compare/compare_tables.h"

#include <math.h>
#include <string.h>

#include "analysis/job/facts_fill.h"
#include "analysis/job/pop.h"
#include "base/json.h"
#include "view/report/report_text.h"

#define NAME_WIDTH  16
#define SHARE_LEAST 0.005 /* of a row of the page, in one of the runs */

/* The whole in seconds: samples are taken of CPU time. NaN: not known, or too few samples. */
static double seconds_of(const struct report_parts *parts, const struct model_job *j, double whole)
{
	if (parts != &report_modules)
		return whole;
	return whole >= REPORT_SAMPLES_LEAST ? facts__sum(j, Q_CPU) : NAN;
}

/* false: a run does not have it. */
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

/* A name that is too long for its column has a line of its own. */
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
	json__set_numbers(o,
			  (const struct json_pair[]){
				  {"a", r->share[0]},
				  {"b", r->share[1]},
				  {"points", 100 * (r->share[1] - r->share[0])},
				  {"a_s", r->s[0]},
				  {"b_s", r->s[1]},
				  {"s", r->s[1] - r->s[0]},
			  },
			  6);
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
		json__set(o, "a_by", *t->how[0] ? json__text(t->how[0]) : json_null());
		json__set(o, "b_by", *t->how[1] ? json__text(t->how[1]) : json_null());
		json__set(o, "rows", rows);
		json_array_append_new(list, o);
	}
	return list;
}
