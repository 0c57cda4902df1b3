/* SPDX-License-Identifier: GPL-2.0-only */
/* The table of several jobs as a page: what each lost, PIKA's issues, and the sums. */
#include <math.h>
#include <string.h>

#include "base/json.h"
#include "view/report/report_jobs.h"
#include "view/report/report_text.h"

/* A text of a file in so many columns; what is no ASCII is "?". */
static void print_cell(const char *text, int width, FILE *out)
{
	int n = 0;

	for (; *text && n < width; text++, n++)
		putc(*text < 32 || *text > 126 ? '?' : *text, out);
	fprintf(out, "%*s", width - n, "");
}

/* In so many columns, after a blank; "-": it is not known. */
static void print_number(double v, int width, int places, FILE *out)
{
	if (isnan(v))
		fprintf(out, " %*s", width, "-");
	else
		fprintf(out, " %*.*f", width, places, v);
}

static void print_jobs(const json_t *rows, FILE *out)
{
	json_t *o;
	size_t i;

	fputs("\n  job       user     name       cores        ran        lost  first finding\n",
	      out);
	json_array_foreach(rows, i, o)
	{
		const json_t *finding = json_object_get(o, "finding");
		double cost = json__number_of(finding, "core_s");
		report_number ran, lost;

		fputs("  ", out);
		print_cell(json__text_of(o, "id"), 9, out);
		putc(' ', out);
		print_cell(json__text_of(o, "user"), 8, out);
		putc(' ', out);
		/* A command outside of a job has no name but its program's. */
		print_cell(json__text_of(o, json_is_string(json_object_get(o, "name")) ? "name"
										       : "program"),
			   9, out);
		print_number(json__number_of(o, "cores"), 6, 0, out);
		fprintf(out, " %10s %11s  %s\n",
			report_text__time(json__number_of(o, "elapsed_s"), ran),
			isnan(cost) ? "-" : report_text__cores(cost, lost),
			json_is_object(finding) ? json__text_of(finding, "id") : "-");
	}
}

/* ---- PIKA's issues */

/* The columns of CPUs and of GPUs; keys of groups have "max_" before these. */
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
	char time[DURATION_TEXT_SIZE], key[32];

	duration_text__short(json__number_of(o, c->time), time);
	fprintf(out, " %14s", time);
	print_number(json__number_of(o, c->ratio), 4, 2, out);
	for (int i = 0; c->cells[i].key; i++) {
		double v;

		snprintf(key, sizeof(key), "%s%s", before, c->cells[i].key);
		v = json__number_of(o, key);
		print_number(c->cells[i].places ? v : floor(v + 0.5), c->cells[i].width,
			     c->cells[i].places, out);
	}
}

/* "memory,IO": the first word of each. */
static void print_tags(const json_t *tags, FILE *out)
{
	const char *before = "  ";
	json_t *tag;
	size_t i;

	json_array_foreach(tags, i, tag)
	{
		const char *text = json_string_value(tag);

		fprintf(out, "%s%.*s", before, (int)strcspn(text, "-"), text);
		before = ",";
	}
}

/* What the jobs of a group have in common. */
static void print_name(const json_t *group, const json_t *by, int width, FILE *out)
{
	char name[128] = "";
	json_t *key;
	size_t i, n = 0;

	json_array_foreach(by, i, key)
	{
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
	json_array_foreach(json_object_get(jobs, "jobs"), i, o)
	{
		fputs("  ", out);
		print_cell(json__text_of(o, "id"), 9, out);
		fputs("     ", out);
		print_cells(c, json_object_get(o, "issues"), "", out);
		if (c == columns)
			print_tags(json_object_get(o, "tags"), out);
		putc('\n', out);
	}
	fputs("  by ", out);
	json_array_foreach(by, i, o)
	{
		fprintf(out, "%s%s", i ? "," : "", json_string_value(o));
	}
	fputs(": sum, and highest of each\n", out);
	json_array_foreach(groups, i, o)
	{
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
	json_array_foreach(json_object_get(jobs, "groups"), i, o)
	{
		char core[DURATION_TEXT_SIZE], wait[DURATION_TEXT_SIZE], ran[DURATION_TEXT_SIZE];

		duration_text__long(json__number_of(o, "core_s"), core);
		duration_text__short(json__number_of(o, "max_pending_s"), wait);
		duration_text__short(json__number_of(o, "runtime_s"), ran);
		print_name(o, json_object_get(jobs, "by"), 12, out);
		print_number(json__number_of(o, "jobs"), 5, 0, out);
		print_number(json__number_of(o, "max_nodes"), 5, 0, out);
		print_number(json__number_of(o, "max_cores"), 6, 0, out);
		fprintf(out, " %17s %14s %13s\n", core, wait, ran);
	}
}

void report_jobs__print(const json_t *jobs, FILE *out)
{
	const json_t *rows = json_object_get(jobs, "jobs");
	bool has_gpus = false;
	json_t *o;
	size_t i;

	json_array_foreach(json_object_get(jobs, "groups"), i, o)
	{
		has_gpus |= !isnan(json__number_of(o, "max_ugr"));
	}
	fprintf(out, "%zu jobs, the dearest first\n", json_array_size(rows));
	print_jobs(rows, out);
	print_issues(jobs, &columns[0], out);
	if (has_gpus)
		print_issues(jobs, &columns[1], out);
	print_sizes(jobs, out);
}
