/* SPDX-License-Identifier: GPL-2.0-only */
/* Judging: each rule is called with the facts, and its result goes to the verdict. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "findings/engine.h"

struct rule {
	const char *id, *place; /* of strings that the prelude keeps */
	const char *suppressed_by;
};

static char *field_text(lua_State *L, const char *name)
{
	char *text;

	lua_getfield(L, -1, name);
	text = strdup(lua_tostring(L, -1) ? lua_tostring(L, -1) : "");
	lua_pop(L, 1);
	return text;
}

static double field_number(lua_State *L, const char *name)
{
	double v;

	lua_getfield(L, -1, name);
	v = lua_isnumber(L, -1) ? lua_tonumber(L, -1) : NAN;
	lua_pop(L, 1);
	return v;
}

static bool field_flag(lua_State *L, const char *name)
{
	bool flag;

	lua_getfield(L, -1, name);
	flag = lua_toboolean(L, -1);
	lua_pop(L, 1);
	return flag;
}

/* The prelude has made sure that there are not too many. */
static void add_times(lua_State *L, struct finding *f)
{
	lua_getfield(L, -1, "times");
	for (lua_Integer i = 1; lua_geti(L, -1, i) == LUA_TTABLE && f->ntimes < FINDING_TIMES;
	     i++) {
		for (int end = 0; end < 2; end++) {
			lua_geti(L, -1, end + 1);
			f->times[f->ntimes][end] = lua_tonumber(L, -1);
			lua_pop(L, 1);
		}
		f->ntimes++;
		lua_pop(L, 1);
	}
	lua_pop(L, 2);
}

/* The finding is the table on the top of the stack. */
static int add_finding(struct engine *e, const struct rule *r, char ***suppressed_by)
{
	struct verdict *v = e->out;
	struct finding *f, *grown = realloc(v->findings, (v->nfindings + 1) * sizeof(*grown));
	char **by;

	if (!grown)
		return -ENOMEM;
	v->findings = grown;
	by = realloc(*suppressed_by, (v->nfindings + 1) * sizeof(*by));
	if (!by)
		return -ENOMEM;
	*suppressed_by = by;
	by[v->nfindings] = strdup(r->suppressed_by);
	f = &grown[v->nfindings++];
	*f = (struct finding){.id = strdup(r->id),
			      .severity = (enum severity)field_number(e->L, "severity"),
			      .cost_core_s = field_number(e->L, "cost"),
			      .saving = field_number(e->L, "saving"),
			      .at_least = field_flag(e->L, "at_least"),
			      .text = field_text(e->L, "text"),
			      .remedy = field_text(e->L, "remedy"),
			      .where = field_text(e->L, "where"),
			      .source = field_text(e->L, "source")};
	add_times(e->L, f);
	return by[v->nfindings - 1] && f->id && f->text && f->remedy && f->where && f->source
		       ? 0
		       : -ENOMEM;
}

/* A rule that failed is an error, and is not judged. */
static int add_broken(struct engine *e, const struct rule *r, const char *place, const char *why)
{
	char line[512];
	int err;

	if (*place)
		snprintf(line, sizeof(line), "%srule %s: %s", place, r->id, why);
	else
		snprintf(line, sizeof(line), "%s", why);
	err = engine__complain(e, "", line);
	return err ? err : verdict__add_other(e->out, r->id, false, line);
}

/* "FILE:LINE: " at the begin of text, which is moved behind it; "" where there is none. */
static void cut_place(const struct engine *e, const char **text, char *place, size_t size)
{
	const char *files[] = {e->builtin, e->site}, *end;

	*place = '\0';
	for (int i = 0; i < 2; i++) {
		size_t n = strlen(files[i]);

		if (strncmp(*text, files[i], n) || (*text)[n] != ':')
			continue;
		end = strstr(*text + n, ": ");
		if (!end)
			continue;
		snprintf(place, size, "%.*s", (int)(end + 2 - *text), *text);
		*text = end + 2;
		return;
	}
}

/* The rule has ended itself (a table), or has failed (a text). */
static int add_end(struct engine *e, const struct rule *r)
{
	_Bool judged, broken = true;
	const char *reason;
	char place[512];
	int err;

	if (lua_istable(e->L, -1)) {
		lua_getfield(e->L, -1, "judged");
		broken = lua_isnil(e->L, -1);
		judged = lua_toboolean(e->L, -1);
		lua_pop(e->L, 1);
		lua_getfield(e->L, -1, "reason");
		reason = lua_tostring(e->L, -1);
		reason = reason ? reason : "";
		err = broken ? add_broken(e, r, "", reason)
			     : verdict__add_other(e->out, r->id, judged, reason);
		lua_pop(e->L, 1);
		return err;
	}
	reason = lua_tostring(e->L, -1);
	reason = reason ? reason : "an error without a message";
	cut_place(e, &reason, place, sizeof(place));
	return add_broken(e, r, *place ? place : r->place, reason);
}

/* Judges the nth rule; 1: there is none. */
static int judge_one(struct engine *e, int n, char ***suppressed_by)
{
	lua_State *L = e->L;
	struct rule r;
	int err, top = lua_gettop(L);

	lua_getfield(L, LUA_REGISTRYINDEX, "prelude");
	lua_getfield(L, -1, "rule");
	lua_pushinteger(L, n);
	if (engine__call(e, 1, 4))
		return -ENOMEM;
	if (lua_isnil(L, -4)) {
		lua_settop(L, top);
		return 1;
	}
	r = (struct rule){lua_tostring(L, -4), lua_tostring(L, -3), lua_tostring(L, -2)};
	e->out->nrules++;
	lua_getfield(L, top + 1, "judge");
	lua_pushvalue(L, -2);
	err = engine__call(e, 1, 1) ? add_end(e, &r) : add_finding(e, &r, suppressed_by);
	lua_settop(L, top);
	return err;
}

static int judge_all(struct engine *e, const void *ctx)
{
	char **suppressed_by = NULL;
	int err = rules_file__load(e, ctx);
	size_t found;

	for (int n = 1; !err; n++)
		err = judge_one(e, n, &suppressed_by);
	found = e->out->nfindings;
	if (err > 0)
		err = verdict__explain(e->out, suppressed_by);
	for (size_t i = 0; suppressed_by && i < found; i++)
		free(suppressed_by[i]);
	free(suppressed_by);
	return err;
}

int rules__judge(struct verdict *out, const struct facts *f, const struct rules_options *o)
{
	struct engine e = {.facts = f, .out = out, .builtin = "rules.lua", .site = "site"};
	int err;

	*out = (struct verdict){0};
	err = engine__run(&e, judge_all, o);
	if (!err)
		verdict__settle(out, facts__job(f, FACT_JOB_core_s));
	return err;
}
