/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * judge [--builtin FILE] [--site FILE] FACTS.json: what rules say of facts, as JSON. The facts are
 * {"job": {"wall_s": 600, ...}, "bin": {"cpu_s": [...], ...}, "names": {"node": ["n1", ...]},
 * "missing": {"job.wait_s": "why"}, "scale": 1, "state": "COMPLETED", "program": "lmp"}; what is
 * left out or null is not known, a number in place of a list stands for all items, and "count":
 * {"bin": 20} says how many items there are where no list does.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/json.h"
#include "findings/findings.h"

static const char *const scopes[N_SCOPES] = {"job", "node", "task", "gpu", "bin"};

static void die(const char *what, const char *on)
{
	fprintf(stderr, "judge: %s %s\n", what, on);
	exit(2);
}

static enum fact find_fact(int scope, const char *name)
{
	for (int i = 0; i < N_FACTS; i++)
		if ((int)fact_infos[i].scope == scope && !strcmp(fact_infos[i].name, name))
			return (enum fact)i;
	die("there is no fact", name);
	return 0;
}

static size_t count_items(const json_t *facts, int scope)
{
	const json_t *said = json_object_get(json_object_get(facts, "count"), scopes[scope]), *v;
	json_t *all = json_object_get(facts, scopes[scope]);
	const char *name;

	if (said)
		return (size_t)json_integer_value(said);
	json_object_foreach (all, name, v)
		if (json_is_array(v))
			return json_array_size(v);
	return scope == SCOPE_JOB;
}

static void fill(struct facts *f, int scope, const char *name, const json_t *v)
{
	enum fact fact = find_fact(scope, name);

	if (json_is_array(v) && json_array_size(v) != f->count[scope])
		die("another number of items in", name);
	for (size_t i = 0; i < f->count[scope]; i++) {
		const json_t *one = json_is_array(v) ? json_array_get(v, i) : v;

		f->values[fact][i] = json_is_number(one) ? json_number_value(one) : NAN;
	}
}

static void fill_scope(struct facts *f, const json_t *facts, int scope)
{
	json_t *all = json_object_get(facts, scopes[scope]), *v;
	const json_t *names = json_object_get(json_object_get(facts, "names"), scopes[scope]);
	const char *name;

	json_object_foreach (all, name, v)
		fill(f, scope, name, v);
	if (!names)
		return;
	f->names[scope] = calloc(f->count[scope] + 1, sizeof(char *));
	for (size_t i = 0; i < f->count[scope]; i++) {
		const char *text = json_string_value(json_array_get(names, i));

		f->names[scope][i] = strdup(text ? text : "");
	}
}

static void fill_missing(struct facts *f, json_t *missing)
{
	const char *name, *dot;
	json_t *v;

	json_object_foreach (missing, name, v) {
		dot = strchr(name, '.');
		for (int s = 0; dot && s < N_SCOPES; s++)
			if (!strncmp(name, scopes[s], (size_t)(dot - name)))
				facts__miss(f, find_fact(s, dot + 1), json_string_value(v));
	}
}

static char *text_of(const json_t *facts, const char *name)
{
	const char *text = json_string_value(json_object_get(facts, name));

	return text ? strdup(text) : NULL;
}

static void read_facts(struct facts *f, const char *path)
{
	json_error_t error;
	json_t *facts = json_load_file(path, 0, &error);
	size_t count[N_SCOPES];

	if (!facts)
		die(path, error.text);
	for (int s = 0; s < N_SCOPES; s++)
		count[s] = count_items(facts, s);
	if (facts__alloc(f, count))
		die("not enough memory for", path);
	for (int s = 0; s < N_SCOPES; s++)
		fill_scope(f, facts, s);
	fill_missing(f, json_object_get(facts, "missing"));
	if (json_object_get(facts, "scale"))
		f->scale = json_number_value(json_object_get(facts, "scale"));
	f->state = text_of(facts, "state");
	f->program = text_of(facts, "program");
	json_decref(facts);
}

static json_t *times(const struct finding *f)
{
	json_t *list = json_array();

	for (size_t i = 0; i < f->ntimes; i++)
		json_array_append_new(list, json_pack("[f f]", f->times[i][0], f->times[i][1]));
	return list;
}

static json_t *findings(const struct verdict *v)
{
	json_t *list = json_array();

	for (size_t i = 0; i < v->nfindings; i++) {
		const struct finding *f = &v->findings[i];

		json_array_append_new(
			list,
			json_pack("{so so so so so so so so so sb ss ss so so so}", "id",
				  json__text(f->id), "severity",
				  json__text(severity__name(f->severity)), "cost",
				  json__number(f->cost_core_s), "saving", json__number(f->saving),
				  "text", json__text(f->text), "remedy", json__text(f->remedy),
				  "where", json__text(f->where), "times", times(f), "source",
				  json__text(f->source), "at_least", f->at_least, "kind",
				  remedy_kind__name(f->kind), "code", f->code, "needs",
				  json__number(f->needs), "used", json__number(f->used), "asked",
				  json__number(f->asked)));
	}
	return list;
}

static json_t *others(const struct verdict *v)
{
	json_t *all = json_object();

	for (size_t i = 0; i < v->nothers; i++)
		json_object_set_new(all, v->others[i].id,
				    json_pack("{sb so}", "judged", v->others[i].judged, "reason",
					      json__text(v->others[i].reason)));
	return all;
}

static json_t *errors(const struct verdict *v)
{
	json_t *list = json_array();

	for (size_t i = 0; i < v->errors.n; i++)
		json_array_append_new(list, json__text(v->errors.v[i]));
	return list;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	struct rules_options o = {.site = ""};
	struct verdict v;
	struct facts f;
	double begin, end;
	json_t *out;
	int err;

	for (; argc > 3; argc -= 2, argv += 2) {
		if (!strcmp(argv[1], "--builtin"))
			o.builtin = argv[2];
		else if (!strcmp(argv[1], "--site"))
			o.site = argv[2];
		else
			die("unknown option", argv[1]);
	}
	if (argc != 2)
		die("usage: judge [--builtin FILE] [--site FILE]", "FACTS.json");
	read_facts(&f, argv[1]);
	begin = now();
	err = rules__judge(&v, &f, &o);
	end = now();
	if (err)
		fprintf(stderr, "judge: %s\n", strerror(-err));
	out = json_pack("{so so so si sf}", "findings", findings(&v), "others", others(&v),
			"errors", errors(&v), "nrules", (int)v.nrules, "seconds", end - begin);
	json_dumpf(out, stdout, JSON_COMPACT);
	putchar('\n');
	json_decref(out);
	verdict__free(&v);
	facts__free(&f);
	return err ? 1 : 0;
}
