/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A Lua state in which rules run: what it may use, and what it sees. Rules can neither read a file
 * nor write one, nor load code; memory and steps have limits. prelude.lua, which is trusted, keeps
 * the table of rules; each file of rules has a global environment of its own.
 */
#ifndef JP_FINDINGS_ENGINE_H
#define JP_FINDINGS_ENGINE_H

#include <lua.h>

#include "findings/findings.h"

#define RULE_STEPS 20000000u /* instructions of Lua for one rule or one file */
/* Instructions for all rules together; where these are used up, each remaining rule has only
 * RULE_STEPS_LAST. */
#define RULES_STEPS	200000000u
#define RULE_STEPS_LAST 1000000u
#define RULE_MEMORY	((size_t)64 << 20)  /* bytes that one rule or one file may add */
#define RULES_MEMORY	((size_t)512 << 20) /* bytes, for all rules together */
#define RULE_STRING_MAX ((size_t)256 << 10) /* bytes of one string */
#define RULE_FILE_MAX	((size_t)1 << 20)
#define RULE_ERRORS_MAX 64u

struct engine {
	lua_State *L;
	const struct facts *facts;
	struct verdict *out;
	const char *builtin, *site; /* how messages name the two files */
	size_t memory;		    /* in use */
	size_t memory_max;	    /* while a rule runs */
	unsigned budget, steps; /* instructions for what runs now, and how many of these are left */
	unsigned used;		/* by all that ran before */
};

/* Runs work() in a new state, which is closed after it. Errors of Lua outside of engine__call() can
 * only be those of memory: -ENOMEM. */
int engine__run(struct engine *e, int (*work)(struct engine *e, const void *ctx), const void *ctx);
struct engine *engine__of(lua_State *L);

/*
 * Calls a function under the function's limits, as lua_call() does. 0: results are on the stack.
 * Else one value is on the stack: a text "FILE:LINE: what", or the table with which a rule ended.
 */
int engine__call(struct engine *e, int nargs, int nresults);
/* Uses up n steps; raises an error where too few are left. */
void engine__charge(lua_State *L, size_t n);
/* Adds an error to the verdict; "" as place: none. 0 or -ENOMEM. */
int engine__complain(struct engine *e, const char *place, const char *text);

/* Functions for the prelude, which are added to the table on top of the stack. */
void arrays__register(lua_State *L);

/* Pushes an array that shows doubles of the facts. */
void array__push_facts(lua_State *L, const double *v, size_t n);

/* The built-in texts (rules_text.c), which end with NUL. */
extern const char rules_text_prelude[], rules_text_builtin[];

#endif
