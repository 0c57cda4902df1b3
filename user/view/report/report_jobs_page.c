/* SPDX-License-Identifier: GPL-2.0-only */
/* The table of several jobs as a page: what each lost, PIKA's issues, and the sums. */
#include <math.h>
#include <string.h>

#include "base/command_line.h"
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

/* What a job is called: its name, its command, or at least its program. */
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

/* Columns for the longest of these texts, between least and most. */
static int width_of(const json_t *rows, const char *(*text)(const json_t *o), int least, int most)
{
	json_t *o;
	size_t i;

	json_array_foreach(rows, i, o)
	{
		int n = (int)strnlen(text(o), (size_t)most);

		least = n > least ? n : least;
	}
	return least;
}

#define NUMBERS	    30 /* columns of cores, ran and lost */
#define NAME_LEAST  9
#define FINDING	    13 /* its heading */
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
	json_array_foreach(rows, i, o)
	{
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

	json_array_foreach(json_object_get(jobs, "groups"), i, o)
	{
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
