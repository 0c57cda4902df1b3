/* SPDX-License-Identifier: GPL-2.0-only */
/* The state of Lua for rules: its limits, the libraries that are safe, errors with file and line.
 */
#include "findings/engine.h"

#include <errno.h>
#include <lauxlib.h>
#include <lualib.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"

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
	fact_access__register(L);
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
