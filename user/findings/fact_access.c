/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What rules see of the facts: job.wall_s is a number, node.cpu_s an array (task, gpu and bin
 * alike), node.name[1] a text. Arrays are made at their first use and show the facts' own memory.
 */
#include <lauxlib.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "findings/engine.h"

static const char *const scope_names[N_SCOPES] = {"job", "node", "task", "gpu", "bin"};

/* The fact of that name, -1: there is none. */
static int find_fact(enum fact_scope scope, const char *name, size_t len)
{
	for (int i = 0; i < N_FACTS; i++)
		if (fact_infos[i].scope == scope && strlen(fact_infos[i].name) == len &&
		    !memcmp(fact_infos[i].name, name, len))
			return i;
	return -1;
}

static int no_fact(lua_State *L, enum fact_scope scope, const char *name)
{
	return luaL_error(L, "there is no fact %s.%s", scope_names[scope], name);
}

static int job_index(lua_State *L)
{
	const struct facts *f = engine__of(L)->facts;
	size_t len;
	const char *name = luaL_checklstring(L, 2, &len);
	int fact = find_fact(SCOPE_JOB, name, len);

	if (fact >= 0)
		lua_pushnumber(L, facts__job(f, (enum fact)fact));
	else if (!strcmp(name, "state"))
		lua_pushstring(L, f->state);
	else if (!strcmp(name, "program"))
		lua_pushstring(L, f->program);
	else
		return no_fact(L, SCOPE_JOB, name);
	return 1;
}

/* Names of items: node.name[i]; nil where they have none. */
static int name_index(lua_State *L)
{
	const struct facts *f = engine__of(L)->facts;
	lua_Integer scope = lua_tointeger(L, lua_upvalueindex(1)), i = luaL_checkinteger(L, 2);

	if (f->names[scope] && i >= 1 && (lua_Unsigned)i <= f->count[scope])
		lua_pushstring(L, f->names[scope][i - 1]);
	else
		lua_pushnil(L);
	return 1;
}

static int scope_len(lua_State *L)
{
	lua_Integer scope = lua_tointeger(L, lua_upvalueindex(1));

	lua_pushinteger(L, (lua_Integer)engine__of(L)->facts->count[scope]);
	return 1;
}

static int is_read_only(lua_State *L)
{
	return luaL_error(L, "facts cannot be changed");
}

/* An empty userdata with these functions; they have the scope as their first upvalue, and a table
 * to keep things in as their second. */
static void push_view(lua_State *L, enum fact_scope scope, lua_CFunction index, lua_CFunction len)
{
	const luaL_Reg meta[] = {
		{"__index", index}, {"__newindex", is_read_only}, {"__len", len}, {NULL, NULL}};

	lua_newuserdatauv(L, 0, 0);
	luaL_newlibtable(L, meta);
	lua_pushinteger(L, scope);
	lua_newtable(L);
	luaL_setfuncs(L, meta, 2);
	lua_setmetatable(L, -2);
}

static int scope_index(lua_State *L)
{
	const struct facts *f = engine__of(L)->facts;
	enum fact_scope scope = (enum fact_scope)lua_tointeger(L, lua_upvalueindex(1));
	size_t len;
	const char *name = luaL_checklstring(L, 2, &len);
	int fact = find_fact(scope, name, len);

	lua_pushvalue(L, 2);
	if (lua_rawget(L, lua_upvalueindex(2)) != LUA_TNIL)
		return 1;
	if (fact >= 0)
		array__push_facts(L, f->values[fact], f->count[scope]);
	else if (!strcmp(name, "name"))
		push_view(L, scope, name_index, scope_len);
	else
		return no_fact(L, scope, name);
	lua_pushvalue(L, 2);
	lua_pushvalue(L, -2);
	lua_rawset(L, lua_upvalueindex(2));
	return 1;
}

static bool is_known(const struct facts *f, int fact)
{
	for (size_t i = 0; i < f->count[fact_infos[fact].scope]; i++)
		if (!isnan(f->values[fact][i]))
			return true;
	return false;
}

/* missing("bin.cpu_s"): why no value of it is known; nothing where one is. */
static int fact_missing(lua_State *L)
{
	const struct facts *f = engine__of(L)->facts;
	const char *whole = luaL_checkstring(L, 1), *dot = strchr(whole, '.');
	int fact = -1;

	for (int s = 0; dot && s < N_SCOPES; s++)
		if (strlen(scope_names[s]) == (size_t)(dot - whole) &&
		    !strncmp(whole, scope_names[s], (size_t)(dot - whole)))
			fact = find_fact((enum fact_scope)s, dot + 1, strlen(dot + 1));
	if (fact < 0)
		return luaL_error(L, "there is no fact %s", whole);
	if (is_known(f, fact))
		return 0;
	lua_pushstring(L, f->missing[fact] ? f->missing[fact] : "it is not known");
	return 1;
}

/* at_least(s): a least duration, shorter where the whole report is about a short run; but of less
 * than a second nothing is said. */
static int at_least(lua_State *L)
{
	double s = luaL_checknumber(L, 1);

	lua_pushnumber(L, fmax(s * engine__of(L)->facts->scale, fmin(s, 1)));
	return 1;
}

void fact_access__register(lua_State *L)
{
	static const luaL_Reg functions[] = {
		{"missing", fact_missing}, {"at_least", at_least}, {NULL, NULL}};

	luaL_setfuncs(L, functions, 0);
	for (int s = 0; s < N_SCOPES; s++) {
		push_view(L, (enum fact_scope)s, s == SCOPE_JOB ? job_index : scope_index,
			  scope_len);
		lua_setfield(L, -2, scope_names[s]);
	}
}
