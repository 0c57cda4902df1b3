// SPDX-License-Identifier: GPL-2.0-or-later
/* The steps that a rule may still take. */
#include <lauxlib.h>

#include "findings/engine.h"

struct engine *engine__of(lua_State *L)
{
	return *(struct engine **)lua_getextraspace(L);
}

void engine__charge(lua_State *L, size_t n)
{
	struct engine *e = engine__of(L);

	if (n >= e->steps)
		luaL_error(L, "it took more than %d steps", (int)e->budget);
	e->steps -= (unsigned)n;
}
