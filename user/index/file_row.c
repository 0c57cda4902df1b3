/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes and reads the row in a job file. */
#include "index/file_row.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/room.h"
#include "index/index.h"
#include "jobfile/stored.h"

#define TEXT_MAX (4u << 20) /* bytes */

static uint64_t add(uint64_t h, const char *text)
{
	do
		h = (h ^ (uint8_t)*text) * 0x100000001b3;
	while (*text++);
	return h;
}

void file_row__maker(const struct rules_text *site, char to[static FILE_ROW_MAKER])
{
	uint64_t h = rules_text__digest(site);

	for (int i = 0; i < N_INDEX; i++) {
		h = add(h, index_infos[i].name);
		h = add(h, index_infos[i].path);
	}
	snprintf(to, FILE_ROW_MAKER, "%.40s %d %016" PRIx64, JOBPROF_VERSION, INDEX_VERSION, h);
}

json_t *file_row__json(const json_t *report, const struct model_job *j)
{
	struct row r;
	const bool is_made = !row__of_report(&r, report) && !node_rows__of_job(&r.node_rows, j);
	json_t *o = is_made ? row__json(&r) : NULL;

	if (o) {
		json__set(o, "uid", json__number(r.uid));
		json__set(o, "node_cores", json__number(r.node_cores));
	}
	row__free(&r);
	return o;
}

char *file_row__text(json_t *row, const char *maker, time_t written_s)
{
	const size_t flags = JSON_COMPACT | JSON_REAL_PRECISION(17);
	char *text;

	json__set(row, "made_by", json_string(maker));
	json__set(row, index_infos[INDEX_file_mtime].name, json_integer(written_s));
	text = json_dumps(row, flags);
	if (!text || strlen(text) < TEXT_MAX)
		return text;
	free(text); /* without these rows an index judges the job while they would be stored */
	json_object_del(row, "node_rows");
	return json_dumps(row, flags);
}

/* ---- what would judge it now */

struct file_row_rule {
	char *id;
	int kind; /* as in row_finding */
	bool sets_number;
};

static int add_rule(void *arg, const struct rule_many *m)
{
	struct file_row_judge *j = arg;
	struct file_row_rule *r;

	if (room__grow(&j->rules, j->nrules, 1, sizeof(*j->rules)))
		return -ENOMEM;
	r = &j->rules[j->nrules++];
	*r = (struct file_row_rule){strdup(m->id), (int)m->kind, m->unit != NULL};
	return r->id ? 0 : -ENOMEM;
}

int file_row_judge__init(struct file_row_judge *j, const struct rules_text *site)
{
	*j = (struct file_row_judge){.site = site};
	file_row__maker(site, j->maker);
	return rules__each_many(add_rule, j);
}

void file_row_judge__free(struct file_row_judge *j)
{
	for (unsigned i = 0; i < j->nrules; i++)
		free(j->rules[i].id);
	free(j->rules);
	*j = (struct file_row_judge){0};
}

static bool can_be_found(const struct file_row_judge *j, const struct row_finding *f)
{
	const struct file_row_rule *r = j->rules, *end = r + j->nrules;

	while (r < end && strcmp(r->id, f->rule) != 0)
		r++;
	if (r == end)
		return false;
	if (!f->kind || !*f->code)
		return !f->kind && !*f->code && isnan(f->needs);
	return f->kind == r->kind && (isnan(f->needs) || r->sets_number) &&
	       rules_text__has_code(j->site, f->code);
}

bool file_row_judge__can_find(const struct file_row_judge *j, const struct row *r)
{
	for (unsigned i = 0; i < r->nfindings; i++)
		if (!can_be_found(j, &r->findings[i]))
			return false;
	return true;
}

/* ---- it is read */

/* Whether the index would store rows of its nodes. */
static bool is_recent(const struct row *r)
{
	return r->number[INDEX_end] >= (double)time(NULL) - NODE_ROW_DAYS * 86400.0;
}

static int take(struct row *r, const json_t *o, double mtime_s, const struct file_row_judge *j)
{
	char why[128];
	size_t taken;

	if (row__of_json(r, o, &taken, why, sizeof(why)) ||
	    strcmp(json__text_of(o, "made_by"), j->maker) != 0 ||
	    r->number[INDEX_file_mtime] != mtime_s || row__find_bad_time(r, false) ||
	    (!r->node_rows.n && is_recent(r)) || !file_row_judge__can_find(j, r))
		return -ENOENT;
	r->uid = json__number_of(o, "uid");
	r->node_cores = json__number_of(o, "node_cores");
	return 0;
}

int file_row__read(struct row *r, const char *path, double mtime_s, const struct file_row_judge *j)
{
	struct reader *file;
	char *text = NULL;
	json_t *o = NULL;
	int err = -ENOENT;

	row__init(r);
	if (!reader__open_results(&file, path)) {
		text = stored__text(file, "row", TEXT_MAX);
		reader__free(file);
	}
	if (text)
		o = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	if (o)
		err = take(r, o, mtime_s, j);
	json_decref(o);
	free(text);
	return err;
}
