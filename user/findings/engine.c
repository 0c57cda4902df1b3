/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The state of Lua for rules: its limits, the libraries that are safe, errors with file and line.
 */
#include "findings/engine.h"

#include <errno.h>
#include <lauxlib.h>
#include <lualib.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"

/* ---- what rules see of the facts: job.wall_s is a number, node.cpu_s an array (task, gpu and bin
 * alike), node.name[1] a text. Arrays are made at their first use and show the facts' own memory */

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

static void fact_access_register(lua_State *L)
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

#define HOOK_EVERY 1000

static void *allocate(void *ctx, void *p, size_t old, size_t size)
{
	struct engine *e = ctx;
	/* Lua says the kind of a new object in place of the size. */
	size_t had = p ? old : 0;
	void *grown;

	if (!size) {
		e->memory -= had;
		free(p);
		return NULL;
	}
	if (!p && old == LUA_TSTRING && size > RULE_STRING_MAX)
		return NULL;
	if (size > had && e->memory + (size - had) > e->memory_max)
		return NULL;
	grown = realloc(p, size);
	if (grown)
		e->memory += size - had;
	return grown;
}

static void count_steps(lua_State *L, lua_Debug *ar)
{
	(void)ar;
	engine__charge(L, HOOK_EVERY);
}

/* "FILE:LINE: " of the innermost function of a rules file; false: none is running. */
static bool push_place(lua_State *L, int level)
{
	struct engine *e = engine__of(L);
	lua_Debug ar;

	for (; lua_getstack(L, level, &ar); level++) {
		lua_getinfo(L, "Sl", &ar);
		if (ar.currentline <= 0 || ar.source[0] != '=')
			continue;
		if (!strcmp(ar.source, "=builtin"))
			lua_pushfstring(L, "%s:%d: ", e->builtin, ar.currentline);
		else if (!strcmp(ar.source, "=site"))
			lua_pushfstring(L, "%s:%d: ", e->site, ar.currentline);
		else
			continue;
		return true;
	}
	return false;
}

/* Skips "chunk:12: ", which Lua puts before messages. */
static const char *without_place(const char *text)
{
	static const char *const chunks[] = {"builtin:", "site:", "prelude:"};

	for (size_t i = 0; i < sizeof(chunks) / sizeof(chunks[0]); i++) {
		const char *p = text + strlen(chunks[i]);

		if (!str__starts(text, chunks[i]))
			continue;
		p += strspn(p, "0123456789");
		return str__starts(p, ": ") ? p + 2 : text;
	}
	return text;
}

/* The message of an error gets its place; a table, with which a rule ends itself, stays. */
static int add_place(lua_State *L)
{
	const char *text;

	if (lua_istable(L, 1))
		return 1;
	text = lua_tostring(L, 1);
	text = text ? without_place(text) : "an error without a message";
	if (!push_place(L, 1))
		lua_pushliteral(L, "");
	lua_pushstring(L, text);
	lua_concat(L, 2);
	return 1;
}

int engine__call(struct engine *e, int nargs, int nresults)
{
	int handler = lua_gettop(e->L) - nargs, status;

	lua_pushcfunction(e->L, add_place);
	lua_insert(e->L, handler);
	e->budget = e->used < RULES_STEPS ? RULE_STEPS : RULE_STEPS_LAST;
	e->steps = e->budget;
	e->memory_max =
		e->memory + RULE_MEMORY < RULES_MEMORY ? e->memory + RULE_MEMORY : RULES_MEMORY;
	status = lua_pcall(e->L, nargs, nresults, handler);
	e->memory_max = SIZE_MAX;
	e->used += e->used < RULES_STEPS ? e->budget - e->steps : 0;
	lua_remove(e->L, handler);
	if (status)
		lua_gc(e->L, LUA_GCCOLLECT);
	return status;
}

int engine__complain(struct engine *e, const char *place, const char *text)
{
	char *line;
	size_t size = strlen(place) + strlen(text) + 1;

	if (e->out->errors.n == RULE_ERRORS_MAX)
		return 0;
	line = malloc(size);
	if (!line)
		return -ENOMEM;
	stpcpy(stpcpy(line, place), text);
	for (char *p = line; *p; p++)
		if (*p == '\n')
			*p = ' ';
	return string_list__take(&e->out->errors, line);
}

/* complain(text): an error of the verdict, at the line of the rules file that is running. */
static int complain(lua_State *L)
{
	const char *text = luaL_checkstring(L, 1);

	if (!push_place(L, 1))
		lua_pushliteral(L, "");
	if (engine__complain(engine__of(L), lua_tostring(L, -1), text))
		return luaL_error(L, "not enough memory");
	return 0;
}

/* place(f): "FILE:LINE: " of a function that rules define. */
static int place(lua_State *L)
{
	struct engine *e = engine__of(L);
	lua_Debug ar;

	luaL_checktype(L, 1, LUA_TFUNCTION);
	lua_settop(L, 1);
	lua_getinfo(L, ">S", &ar);
	lua_pushfstring(L, "%s:%d: ", strcmp(ar.source, "=site") ? e->builtin : e->site,
			ar.linedefined);
	return 1;
}

/* charge(n): as n steps. */
static int charge(lua_State *L)
{
	lua_Number n = luaL_checknumber(L, 1);

	engine__charge(L, n >= 0 && n < RULE_STEPS ? (size_t)n : RULE_STEPS);
	return 0;
}

/* Libraries of Lua without files, processes, code and coroutines; prelude.lua hands on fewer. */
static void open_libraries(lua_State *L)
{
	static const luaL_Reg libs[] = {{LUA_GNAME, luaopen_base},
					{LUA_STRLIBNAME, luaopen_string},
					{LUA_TABLIBNAME, luaopen_table},
					{LUA_MATHLIBNAME, luaopen_math}};
	static const luaL_Reg natives[] = {
		{"complain", complain}, {"place", place}, {"charge", charge}, {NULL, NULL}};

	for (size_t i = 0; i < sizeof(libs) / sizeof(libs[0]); i++) {
		luaL_requiref(L, libs[i].name, libs[i].func, 1);
		lua_pop(L, 1);
	}
	luaL_newlib(L, natives);
	arrays__register(L);
	fact_access_register(L);
	lua_pushinteger(L, FINDING_TIMES);
	lua_setfield(L, -2, "times_max");
	lua_setglobal(L, "native");
}

/* Runs prelude.lua; the table that it returns is "prelude" of the registry. */
static int run_prelude(struct engine *e)
{
	if (luaL_loadbufferx(e->L, rules_text_prelude, strlen(rules_text_prelude), "=prelude",
			     "t") ||
	    engine__call(e, 0, 1)) {
		/* It is a part of the program, so only a developer sees this. */
		engine__complain(e, "prelude.lua: ", lua_tostring(e->L, -1));
		return -EINVAL;
	}
	lua_setfield(e->L, LUA_REGISTRYINDEX, "prelude");
	return 0;
}

struct work {
	struct engine *e;
	int (*function)(struct engine *e, const void *ctx);
	const void *ctx;
	int err;
};

static int run_work(lua_State *L)
{
	struct work *w = lua_touserdata(L, 1);

	open_libraries(L);
	lua_sethook(L, count_steps, LUA_MASKCOUNT, HOOK_EVERY);
	w->err = run_prelude(w->e);
	if (!w->err)
		w->err = w->function(w->e, w->ctx);
	return 0;
}

int engine__run(struct engine *e, int (*work)(struct engine *e, const void *ctx), const void *ctx)
{
	struct work w = {e, work, ctx, 0};
	int status;

	e->memory_max = SIZE_MAX;
	e->steps = RULE_STEPS;
	e->L = lua_newstate(allocate, e);
	if (!e->L)
		return -ENOMEM;
	*(struct engine **)lua_getextraspace(e->L) = e;
	lua_pushcfunction(e->L, run_work);
	lua_pushlightuserdata(e->L, &w);
	status = lua_pcall(e->L, 1, 0, 0);
	lua_close(e->L);
	return status ? -ENOMEM : w.err;
}
