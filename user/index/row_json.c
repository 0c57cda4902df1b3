/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A row as a JSON object, for lines of export and for job files. */
#include "index/row.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/hostlist.h"
#include "base/json.h"
#include "base/str.h"

/* ---- written */

json_t *row_finding__json(const struct row_finding *f)
{
	static const char *const severities[] = {"note", "warn", "bad"};
	static const char *const kinds[] = {"sentence", "line", "command"};
	json_t *o = json_object(), *cost = json_object();

	json__set(o, "id", json__text(f->rule));
	json__set(o, "severity", json_string(severities[f->severity]));
	JSON_NUMBERS(cost, {"core_s", f->cost_core_s}, {"saving", f->saving});
	json__set(cost, "is_at_least", json_boolean(f->at_least));
	json__set(o, "cost", cost);
	json__set(o, "text", json__text(f->text));
	json__set(o, "remedy", json__text(f->remedy));
	json__set(o, "remedy_kind", json_string(kinds[f->kind]));
	json__set(o, "remedy_code", json__text(f->code));
	if (!isnan(f->needs)) {
		json_t *sets = json_object();

		JSON_NUMBERS(sets, {"needs", f->needs}, {"used", f->used}, {"asked", f->asked});
		json__set(o, "sets", sets);
	}
	json__set(o, "where", json__text(f->where));
	if (!isnan(f->from_s) && !isnan(f->to_s))
		json__set(o, "when", json_pack("[f,f]", f->from_s, f->to_s));
	return o;
}

json_t *row_fs__json(const struct row_fs *f)
{
	json_t *o = json_object();

	json__set(o, "name", json__text(f->name));
	JSON_NUMBERS(o, {"read_bytes", f->read_bytes}, {"write_bytes", f->write_bytes},
		     {"read_bw_max", f->read_bw_max}, {"write_bw_max", f->write_bw_max});
	return o;
}

static json_t *number_json(double v, enum index_type type)
{
	return type == INDEX_INT && v == floor(v) && fabs(v) <= 1e15 ? json_integer((json_int_t)v)
								     : json__number(v);
}

json_t *row__json(const struct row *r)
{
	json_t *o = json_object(), *findings = json_array(), *nodes = json_array(),
	       *fs = json_array();

	for (int i = 0; i < N_INDEX; i++) {
		const struct index_info *info = &index_infos[i];

		if (info->type == INDEX_TEXT ? r->text[i] != NULL : !isnan(r->number[i]))
			json__set(o, info->name,
				  info->type == INDEX_TEXT ? json__text(r->text[i])
							   : number_json(r->number[i], info->type));
	}
	for (unsigned i = 0; i < r->nfindings; i++)
		json_array_append_new(findings, row_finding__json(&r->findings[i]));
	for (unsigned i = 0; i < r->nodes.n; i++)
		json_array_append_new(nodes, json__text(r->nodes.v[i]));
	json__set(o, "finding_list", findings);
	json__set(o, "node_names", nodes);
	for (unsigned i = 0; i < r->nfs; i++)
		json_array_append_new(fs, row_fs__json(&r->fs[i]));
	json__set(o, "file_systems", fs);
	if (r->node_rows.n)
		json__set(o, "node_rows", node_rows__json(&r->node_rows));
	return o;
}

/* ---- read */

static bool is_number_of(const struct index_info *info, const json_t *v)
{
	double d = json_number_value(v);

	if (info->type != INDEX_INT)
		return json_is_number(v);
	return json_is_number(v) && d >= 0 && d == floor(d);
}

/* Returns NULL, or what is wrong. */
static const char *take_columns(struct row *r, const json_t *o, size_t *taken, char *why,
				size_t size)
{
	for (int i = 0; i < N_INDEX; i++) {
		const struct index_info *info = &index_infos[i];
		const json_t *v = json_object_get(o, info->name);
		const bool is_text = info->type == INDEX_TEXT;

		*taken += v != NULL;
		if (!v || json_is_null(v))
			continue;
		if (is_text ? !json_is_string(v) : !is_number_of(info, v)) {
			snprintf(why, size, "%s is no %s", info->name,
				 is_text		   ? "text"
				 : info->type == INDEX_INT ? "whole number"
							   : "number");
			return why;
		}
		if (!is_text)
			r->number[i] = json_number_value(v);
		else if (row__set_text(r, i, json_string_value(v)))
			return strerror(ENOMEM);
	}
	return NULL;
}

#define RULE_ID_MAX 64
#define CODE_MAX    200

/* As "cpu.unused". */
static bool is_rule_id(const char *id)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789_.";
	const char *dot = strchr(id, '.');

	return dot && dot != id && dot[1] && strlen(id) <= RULE_ID_MAX &&
	       id[strspn(id, letters)] == '\0';
}

/* Of the shape that rules can make (rules_text__has_code() has more of it), or left out. */
static bool is_code(const struct row_finding *f)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789 %+,./:=@_#-";
	const char *code = f->code;
	const size_t len = strlen(code), before = strlen(f->remedy);

	if (!len)
		return true;
	if (len > CODE_MAX || code[strspn(code, letters)] || before < len ||
	    strcmp(f->remedy + before - len, code) != 0)
		return false;
	if (f->kind == 1)
		return str__starts(code, "#SBATCH --") || str__starts(code, "export ") ||
		       str__starts(code, "srun --");
	return f->kind == 2 && *code >= 'a' && *code <= 'z';
}

/* Columns that sum up findings are made again from the list. */
static const char *take_findings(struct row *r, const json_t *o, size_t *taken)
{
	const json_t *list = json_object_get(o, "finding_list"), *one;
	size_t i;

	*taken += list != NULL;
	if (!list && r->number[INDEX_findings] > 0)
		return "it has findings, and no finding_list";
	if (isnan(r->number[INDEX_findings]) && !list)
		return NULL;
	if (list && (!json_is_array(list) || json_array_size(list) > ROW_FINDINGS))
		return "finding_list is no list, or too long";
	json_array_foreach ((json_t *)list, i, one) {
		if (!json_is_string(json_object_get(one, "id")))
			return "finding_list has something that is no finding";
		if (row__add_finding(r, one))
			return strerror(ENOMEM);
		if (!is_rule_id(r->findings[i].rule) || !is_code(&r->findings[i]))
			return "finding_list has a rule or a line to copy that is none";
	}
	return row__rate(r) ? strerror(ENOMEM) : NULL;
}

/* Adds a node's name, cleaned as texts of rows are. 0 or -ENOMEM. */
static int add_node(struct row *r, const char *text)
{
	struct row name;
	int err;

	row__init(&name);
	err = row__set_text(&name, INDEX_name, text);
	if (!err)
		err = string_list__append(&r->nodes, name.text[INDEX_name]);
	row__free(&name);
	return err;
}

/* Without node_names, or with an empty list, the nodes are those of node_list, as in Slurm's
 * accounting; if that is not a list, as "None assigned", they are unknown. 0 or -ENOMEM. */
static int expand_nodes(struct row *r, const json_t *o)
{
	const char *list = json_string_value(json_object_get(o, "node_list"));
	struct string_list names = {0};
	int err = 0;

	if (!list || strpbrk(list, " \t\n"))
		return 0;
	err = hostlist__parse(&names, list, NULL, 0);
	if (err)
		return err == -ENOMEM ? err : 0;
	for (unsigned i = 0; !err && i < names.n && names.n <= ROW_NODES; i++)
		err = add_node(r, names.v[i]);
	string_list__free(&names);
	return err;
}

static const char *take_nodes(struct row *r, const json_t *o, size_t *taken)
{
	const json_t *list = json_object_get(o, "node_names"), *one;
	size_t i;

	*taken += list != NULL;
	if (!list || (json_is_array(list) && !json_array_size(list)))
		return expand_nodes(r, o) ? strerror(ENOMEM) : NULL;
	if (!json_is_array(list) || json_array_size(list) > ROW_NODES)
		return "node_names is no list, or too long";
	json_array_foreach ((json_t *)list, i, one) {
		if (!json_is_string(one))
			return "node_names has something that is no text";
		if (add_node(r, json_string_value(one)))
			return strerror(ENOMEM);
	}
	return NULL;
}

static const char *take_fs(struct row *r, const json_t *o, size_t *taken)
{
	const json_t *list = json_object_get(o, "file_systems"), *one;
	size_t i;

	*taken += list != NULL;
	if (list && (!json_is_array(list) || json_array_size(list) > ROW_FS))
		return "file_systems is no list, or too long";
	json_array_foreach ((json_t *)list, i, one) {
		if (!json_string_length(json_object_get(one, "name")))
			return "file_systems has something without a name";
		if (row__add_fs(r, one))
			return strerror(ENOMEM);
	}
	return NULL;
}

static const char *take_node_rows(struct row *r, const json_t *o, size_t *taken)
{
	const json_t *list = json_object_get(o, "node_rows");

	*taken += list != NULL;
	return node_rows__of_json(&r->node_rows, list);
}

const char *row__of_json(struct row *r, const json_t *o, size_t *taken, char *why, size_t size)
{
	const char *wrong;

	*taken = 0;
	row__init(r);
	if (!json_is_object(o))
		return "it is not a JSON object";
	wrong = take_columns(r, o, taken, why, size);
	if (!wrong)
		wrong = take_findings(r, o, taken);
	if (!wrong)
		wrong = take_nodes(r, o, taken);
	if (!wrong)
		wrong = take_fs(r, o, taken);
	if (!wrong)
		wrong = take_node_rows(r, o, taken);
	if (!wrong && !row__has_key(r))
		wrong = "job_id or start is missing or impossible";
	return wrong;
}
