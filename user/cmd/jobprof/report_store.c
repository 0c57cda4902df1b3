/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The report, its analyses, its findings and its page go into the job file, and the page comes back
 * from there. The owner of the file may have written anything: of a page that fits, findings are
 * believed as those of a stored row are (index/file_row.h), and it is only drawn.
 */
#include "cmd/jobprof/report_store.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/json.h"
#include "base/log.h"
#include "index/file_row.h"
#include "jobfile/store.h"
#include "jobfile/stored.h"
#include "peaks/peaks.h"
#include "pool/pool.h"
#include "view/report/report_page.h"

#define PAGE_MAX (8u << 20) /* bytes of JSON; that of 1,000 nodes has about 1 MB */

/* ---- it is stored */

static const struct store_column columns[] = {
	{"id", false},	  {"severity", false}, {"cost", true},	{"cost_unit", false},
	{"saving", true}, {"at_least", true},  {"text", false}, {"remedy", false},
	{"where", false}, {"from_s", true},    {"to_s", true},	{"source", false},
};

static json_t *row_of(const struct finding *f)
{
	const struct {
		const char *name;
		json_t *value;
	} all[] = {
		{"id", json__text(f->id)},
		{"severity", json__text(severity__name(f->severity))},
		{"cost", json__number(f->cost_core_s)},
		{"cost_unit", json__text(isnan(f->cost_core_s) ? "" : "core-s")},
		{"saving", json__number(f->saving)},
		{"at_least", json_integer(f->at_least)},
		{"text", json__text(f->text)},
		{"remedy", json__text(f->remedy)},
		{"where", json__text(f->where)},
		{"from_s", json__number(finding__from_s(f))},
		{"to_s", json__number(finding__to_s(f))},
		{"source", json__text(f->source)},
	};
	json_t *row = json_object();

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		json_object_set_new(row, all[i].name, all[i].value);
	return row;
}

static json_t *rows_of(const struct verdict *v)
{
	json_t *rows = json_array();

	for (size_t i = 0; i < v->nfindings; i++)
		json_array_append_new(rows, row_of(&v->findings[i]));
	return rows;
}

static int put_json(json_t *json, int digits, struct message *m)
{
	char *text = json ? json_dumps(json, JSON_COMPACT | JSON_REAL_PRECISION(digits)) : NULL;

	if (text)
		message__put_text(m, text);
	free(text);
	json_decref(json);
	return text ? 0 : 1;
}

/* The report, the rows of the table of findings, what all that is stored has as attributes, the
 * job's row for an index, and the page. */
int report_store__put(const struct report *r, json_t *page, struct message *m)
{
	const struct time_grid *g = &r->job->grid;
	json_t *common = json_pack("{s:i, s:f, s:f}", "version", 1, "source_begin", g->t0_ns / 1e9,
				   "source_end", g->t0_ns / 1e9 + g->end_s);
	json_t *report = report__json(r), *row = file_row__json(report, r->job);
	int status = put_json(report, 15, m);

	status |= put_json(rows_of(r->verdict), 17, m);
	status |= put_json(common, 17, m);
	status |= put_json(row, 17, m);
	return status | put_json(page, 15, m);
}

/* Whether it is what others would have, who ask without options. */
static bool is_usual(const struct job_input *in, const struct report_opts *o)
{
	return !o->force && !in->nsteps && !in->nodes;
}

/* What a page is made of. A file without a job's id has that of its name. */
struct made_by {
	char maker[FILE_ROW_MAKER], peaks[24];
	const char *name;
	time_t written_s;
};

static const char *name_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static struct made_by made_by_now(const struct report_opts *o, const struct job_input *in)
{
	struct made_by by = {.name = name_of(in->path), .written_s = time(NULL)};
	struct rules_text rules;

	rules_text__read(&rules, o->rules);
	file_row__maker(&rules, by.maker);
	rules_text__free(&rules);
	snprintf(by.peaks, sizeof(by.peaks), "%016" PRIx64, peaks__digest());
	return by;
}

static json_t *page_by(const struct made_by *by)
{
	json_t *o = json_object();

	json__set(o, "made_by", json__text(by->maker));
	json__set(o, "peaks", json__text(by->peaks));
	json__set(o, "file", json__text(by->name));
	json__set(o, "file_mtime", json_integer(by->written_s));
	return o;
}

/* What the child sent. */
struct taken {
	const char *text, *page; /* the message's */
	json_t *report, *rows, *common, *row;
	struct made_by by;
};

/* 0, or 1, which is logged. */
static int store(const struct taken *t, const struct report_opts *o, const struct job_input *in,
		 const struct timespec *read_at)
{
	const bool has_row = is_usual(in, o),
		   has_page = has_row && !o->rules && *t->page && strlen(t->page) <= PAGE_MAX;
	json_t *by = page_by(&t->by);
	char *row = has_row ? file_row__text(t->row, t->by.maker, t->by.written_s) : NULL;
	const struct store_group groups[] = {
		{"pika", json_object_get(t->report, "pika")},
		{"io", json_object_get(t->report, "io")},
	};
	const struct store_results results = {
		.groups = groups,
		.ngroups = sizeof(groups) / sizeof(*groups),
		.table = {"findings", columns, sizeof(columns) / sizeof(*columns), t->rows},
		.report = t->text,
		.row = row,
		.page = has_page ? t->page : NULL,
		.page_by = by,
		.written_s = t->by.written_s,
		.read_at = read_at,
		.common = t->common,
	};
	const int err = store__analysis(in->path, &results);

	free(row);
	json_decref(by);
	return err ? 1 : 0;
}

int report_store__take(struct message *m, const struct report_opts *o, const struct job_input *in,
		       const struct timespec *read_at)
{
	struct taken t = {.text = message__take_text(m), .by = made_by_now(o, in)};
	int status = 1;

	t.report = json_loads(t.text, 0, NULL);
	t.rows = json_loads(message__take_text(m), 0, NULL);
	t.common = json_loads(message__take_text(m), 0, NULL);
	t.row = json_loads(message__take_text(m), 0, NULL);
	t.page = message__take_text(m);
	if (t.report && t.rows && t.common && t.row)
		status = store(&t, o, in, read_at);
	else
		log_error("%s", strerror(ENOMEM));
	json_decref(t.row);
	json_decref(t.common);
	json_decref(t.rows);
	json_decref(t.report);
	return status;
}

/* ---- the page comes back */

/* Whether this program would make the same page of the file, which has not been written since.
 * Where this machine has no peaks, those of the machine that stored the page are better than none.
 */
static bool is_current(const json_t *by, const char *path, const struct file_row_judge *j,
		       const struct stat *st)
{
	char peaks[24];
	const uint64_t own = peaks__digest();

	snprintf(peaks, sizeof(peaks), "%016" PRIx64, own);
	return !strcmp(json__text_of(by, "made_by"), j->maker) &&
	       (!own || !strcmp(json__text_of(by, "peaks"), peaks)) &&
	       !strcmp(json__text_of(by, "file"), name_of(path)) && !st->st_mtim.tv_nsec &&
	       json__number_of(by, "file_mtime") == (double)st->st_mtim.tv_sec;
}

/* Whether it has the parts of such a page and no others, by which a browser would take it for
 * another page. What is in the parts is drawn as it is. */
static bool has_parts(const json_t *page)
{
	static const char *const objects[] = {"job",	  "facts",   "time_budget", "thread_budget",
					      "culprits", "samples", "pop",	    "clusters",
					      "fold",	  "marks",   "pika",	    "io",
					      "coverage", "missing", "page"};
	static const char *const arrays[] = {"findings", "not_given", "rule_errors", "commands"};

	const size_t n = sizeof(objects) / sizeof(*objects) + sizeof(arrays) / sizeof(*arrays);

	if (json_object_size(page) != n + 2 || !json_object_get(page, "format") ||
	    !json_object_get(page, "alike"))
		return false;
	for (size_t i = 0; i < sizeof(objects) / sizeof(*objects); i++)
		if (!json_is_object(json_object_get(page, objects[i])))
			return false;
	for (size_t i = 0; i < sizeof(arrays) / sizeof(*arrays); i++)
		if (!json_is_array(json_object_get(page, arrays[i])))
			return false;
	return true;
}

static bool is_believed(const json_t *page, const struct file_row_judge *j)
{
	struct row r;
	bool fits;

	row__init(&r);
	fits = has_parts(page) && !row__of_report(&r, page) &&
	       r.nfindings == json_array_size(json_object_get(page, "findings")) &&
	       file_row_judge__can_find(j, &r);
	row__free(&r);
	return fits;
}

static json_t *read_page(const char *path, const struct file_row_judge *j)
{
	struct reader *file;
	json_t *by = NULL, *page = NULL;
	char *text = NULL;
	struct stat st;

	if (stat(path, &st) || reader__open_results(&file, path))
		return NULL;
	text = stored__page(file, PAGE_MAX, &by);
	reader__free(file);
	if (text && is_current(by, path, j, &st))
		page = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	free(text);
	json_decref(by);
	if (page && is_believed(page, j))
		return page;
	json_decref(page);
	return NULL;
}

json_t *report_store__page(const struct job_input *inputs, unsigned n, const struct report_opts *o)
{
	struct file_row_judge j = {0};
	json_t *page = NULL;

	if (n != 1 || o->rules || !is_usual(inputs, o))
		return NULL;
	pool__has_workers();
	if (!file_row_judge__init(&j, o->text))
		page = read_page(inputs->path, &j);
	file_row_judge__free(&j);
	if (page)
		json__set(page, "alike", report_alike__json(o->alike));
	return page;
}
