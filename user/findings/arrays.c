/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Arrays of numbers for rules: they cannot be changed, and calculate element by element. A mask is
 * an array of 1 (yes), 0 (no) and NaN (not known). Sums, means and so on leave out NaN, and are NaN
 * themselves where more than a tenth of the elements is, or where there is no element.
 */
#include <lauxlib.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/order.h"
#include "findings/engine.h"

#define ARRAY	    "jobprof array"
#define UNKNOWN_MAX 0.1

struct array {
	size_t n;
	const double *v; /* own, or values of the facts */
	double own[];
};

static struct array *make_array(lua_State *L, size_t n)
{
	struct array *a;

	engine__charge(L, n / 4 + 1);
	a = lua_newuserdatauv(L, sizeof(*a) + n * sizeof(double), 0);
	a->n = n;
	a->v = a->own;
	luaL_setmetatable(L, ARRAY);
	return a;
}

void array__push_facts(lua_State *L, const double *v, size_t n)
{
	struct array *a = lua_newuserdatauv(L, sizeof(*a), 0);

	a->n = n;
	a->v = v;
	luaL_setmetatable(L, ARRAY);
}

static const struct array *take_array(lua_State *L, int arg)
{
	const struct array *a = luaL_checkudata(L, arg, ARRAY);

	engine__charge(L, a->n / 4 + 1);
	return a;
}

/* A number, which stands for an array of that number, or an array. */
struct operand {
	const struct array *a; /* NULL: a number */
	double number;
};

static struct operand operand(lua_State *L, int arg)
{
	if (lua_type(L, arg) == LUA_TNUMBER)
		return (struct operand){.number = lua_tonumber(L, arg)};
	return (struct operand){.a = take_array(L, arg)};
}

static double at(const struct operand *o, size_t i)
{
	return o->a ? o->a->v[i] : o->number;
}

static double plus(double a, double b)
{
	return a + b;
}

static double minus(double a, double b)
{
	return a - b;
}

static double times(double a, double b)
{
	return a * b;
}

static double by(double a, double b)
{
	return b == 0 ? NAN : a / b;
}

/* fmin() and fmax() take the other number where one is NaN. */
static double lower(double a, double b)
{
	return isnan(a) || isnan(b) ? NAN : fmin(a, b);
}

static double higher(double a, double b)
{
	return isnan(a) || isnan(b) ? NAN : fmax(a, b);
}

/* Combines arguments 1 and 2 into a number, or an array of the length of those that are arrays. */
static int combine(lua_State *L, double (*f)(double, double))
{
	struct operand x = operand(L, 1), y = operand(L, 2);
	size_t n = x.a ? x.a->n : y.a ? y.a->n : 0;
	struct array *to;

	if (!x.a && !y.a) {
		lua_pushnumber(L, f(x.number, y.number));
		return 1;
	}
	if (x.a && y.a && x.a->n != y.a->n)
		return luaL_error(L, "arrays of %d and %d elements cannot be combined", (int)x.a->n,
				  (int)y.a->n);
	to = make_array(L, n);
	for (size_t i = 0; i < n; i++)
		to->own[i] = f(at(&x, i), at(&y, i));
	return 1;
}

#define COMBINATION(name, f)          \
	static int name(lua_State *L) \
	{                             \
		return combine(L, f); \
	}
COMBINATION(array_add, plus)
COMBINATION(array_sub, minus)
COMBINATION(array_mul, times)
COMBINATION(array_div, by)
COMBINATION(array_lower, lower)
COMBINATION(array_higher, higher)
#undef COMBINATION

static double is_less(double a, double b)
{
	return isnan(a) || isnan(b) ? NAN : a < b;
}

static double is_most(double a, double b)
{
	return isnan(a) || isnan(b) ? NAN : a <= b;
}

static double is_more(double a, double b)
{
	return is_less(b, a);
}

static double is_least(double a, double b)
{
	return is_most(b, a);
}

static double is_same(double a, double b)
{
	return isnan(a) || isnan(b) ? NAN : a == b;
}

static double is_other(double a, double b)
{
	return isnan(a) || isnan(b) ? NAN : a != b;
}

/* mask(a, "<", b) */
static int array_mask(lua_State *L)
{
	static const char *const names[] = {"<", "<=", ">", ">=", "==", "~=", NULL};
	static double (*const functions[])(double, double) = {is_less,	is_most, is_more,
							      is_least, is_same, is_other};
	int i = luaL_checkoption(L, 2, NULL, names);

	lua_remove(L, 2);
	return combine(L, functions[i]);
}

/* How many values are known; 0 where these are too few. */
static size_t known(const struct array *a)
{
	size_t n = 0;

	for (size_t i = 0; i < a->n; i++)
		n += !isnan(a->v[i]);
	return (double)(a->n - n) > UNKNOWN_MAX * (double)a->n ? 0 : n;
}

static double sum(const struct array *a)
{
	double s = 0;

	for (size_t i = 0; i < a->n; i++)
		if (!isnan(a->v[i]))
			s += a->v[i];
	return s;
}

static int array_sum(lua_State *L)
{
	const struct array *a = take_array(L, 1);

	lua_pushnumber(L, known(a) ? sum(a) : NAN);
	return 1;
}

static int array_mean(lua_State *L)
{
	const struct array *a = take_array(L, 1);
	size_t n = known(a);

	lua_pushnumber(L, n ? sum(a) / (double)n : NAN);
	return 1;
}

/* quantile(a, q): between two values, the line between them. */
static int array_quantile(lua_State *L)
{
	const struct array *a = take_array(L, 1);
	double q = luaL_checknumber(L, 2), where, *v;
	size_t n = known(a), k = 0, below;

	luaL_argcheck(L, q >= 0 && q <= 1, 2, "not within 0 and 1");
	if (!n) {
		lua_pushnumber(L, NAN);
		return 1;
	}
	engine__charge(L, 4 * n);
	v = make_array(L, n)->own;
	for (size_t i = 0; i < a->n; i++)
		if (!isnan(a->v[i]))
			v[k++] = a->v[i];
	qsort(v, n, sizeof(*v), order__doubles);
	where = q * (double)(n - 1);
	below = (size_t)where;
	lua_pushnumber(L, below + 1 < n
				  ? v[below] + (where - (double)below) * (v[below + 1] - v[below])
				  : v[n - 1]);
	return 1;
}

/* The greatest (sign 1) or least (-1) value, and its place; NaN and nothing where it is not known.
 */
static int extreme(lua_State *L, double sign)
{
	const struct array *a = take_array(L, 1);
	double best = -INFINITY;
	size_t best_at = 0;

	if (!known(a)) {
		lua_pushnumber(L, NAN);
		return 1;
	}
	for (size_t i = 0; i < a->n; i++) {
		if (!(sign * a->v[i] > best) && best_at)
			continue;
		if (isnan(a->v[i]))
			continue;
		best = sign * a->v[i];
		best_at = i + 1;
	}
	lua_pushnumber(L, sign * best);
	lua_pushinteger(L, (lua_Integer)best_at);
	return 2;
}

static int array_max(lua_State *L)
{
	return extreme(L, 1);
}

static int array_min(lua_State *L)
{
	return extreme(L, -1);
}

/* longest(mask): first and last of the longest run of 1; nil where there is none. */
static int array_longest(lua_State *L)
{
	const struct array *a = take_array(L, 1);
	lua_Integer best = 0, end = 0, run = 0;

	for (size_t i = 0; i < a->n; i++) {
		run = a->v[i] == 1 ? run + 1 : 0;
		if (run > best) {
			best = run;
			end = (lua_Integer)i + 1;
		}
	}
	if (!best) {
		lua_pushnil(L);
		return 1;
	}
	lua_pushinteger(L, end - best + 1);
	lua_pushinteger(L, end);
	return 2;
}

/* tail(mask): where the run of 1 begins that lasts to the end; nil where there is none. */
static int array_tail(lua_State *L)
{
	const struct array *a = take_array(L, 1);
	size_t i = a->n;

	while (i && a->v[i - 1] == 1)
		i--;
	if (i < a->n)
		lua_pushinteger(L, (lua_Integer)i + 1);
	else
		lua_pushnil(L);
	return 1;
}

/* indexes(mask): a table of the places of 1. */
static int array_indexes(lua_State *L)
{
	const struct array *a = take_array(L, 1);
	lua_Integer n = 0;

	lua_newtable(L);
	for (size_t i = 0; i < a->n; i++) {
		if (a->v[i] != 1)
			continue;
		lua_pushinteger(L, (lua_Integer)i + 1);
		lua_rawseti(L, -2, ++n);
	}
	return 1;
}

/* only(a, mask): the values where the mask is 1. */
static int array_only(lua_State *L)
{
	const struct array *a = take_array(L, 1), *mask = take_array(L, 2);
	size_t n = 0;
	double *v;

	luaL_argcheck(L, a->n == mask->n, 2, "a mask of another length");
	for (size_t i = 0; i < a->n; i++)
		n += mask->v[i] == 1;
	v = make_array(L, n)->own;
	n = 0;
	for (size_t i = 0; i < a->n; i++)
		if (mask->v[i] == 1)
			v[n++] = a->v[i];
	return 1;
}

/* slice(a, first, last) */
static int array_slice(lua_State *L)
{
	const struct array *a = take_array(L, 1);
	lua_Integer first = luaL_checkinteger(L, 2),
		    last = luaL_optinteger(L, 3, (lua_Integer)a->n);
	size_t n = last >= first ? (size_t)(last - first + 1) : 0;
	struct array *to;

	luaL_argcheck(L, first >= 1, 2, "below 1");
	luaL_argcheck(L, last <= (lua_Integer)a->n, 3, "beyond the end");
	to = make_array(L, n);
	if (n)
		memcpy(to->own, a->v + first - 1, n * sizeof(double));
	return 1;
}

/* diff(a): each value less the one before it, which are one fewer. */
static int array_diff(lua_State *L)
{
	const struct array *a = take_array(L, 1);
	struct array *to = make_array(L, a->n ? a->n - 1 : 0);

	for (size_t i = 0; i < to->n; i++)
		to->own[i] = a->v[i + 1] - a->v[i];
	return 1;
}

/* array{1, 2, 3} */
static int array_new(lua_State *L)
{
	lua_Unsigned n;
	struct array *to;

	luaL_checktype(L, 1, LUA_TTABLE);
	n = lua_rawlen(L, 1);
	to = make_array(L, n);
	for (lua_Unsigned i = 0; i < n; i++) {
		int is_number;

		lua_rawgeti(L, 1, (lua_Integer)i + 1);
		to->own[i] = lua_tonumberx(L, -1, &is_number);
		if (!is_number)
			return luaL_error(L, "element %d is no number", (int)i + 1);
		lua_pop(L, 1);
	}
	return 1;
}

static int array_index(lua_State *L)
{
	const struct array *a = luaL_checkudata(L, 1, ARRAY);
	lua_Integer i = luaL_checkinteger(L, 2);

	if (i < 1 || (lua_Unsigned)i > a->n)
		return luaL_error(L, "an array of %d elements has none at %d", (int)a->n, (int)i);
	lua_pushnumber(L, a->v[i - 1]);
	return 1;
}

static int array_len(lua_State *L)
{
	const struct array *a = luaL_checkudata(L, 1, ARRAY);

	lua_pushinteger(L, (lua_Integer)a->n);
	return 1;
}

static int array_newindex(lua_State *L)
{
	return luaL_error(L, "arrays cannot be changed");
}

void arrays__register(lua_State *L)
{
	static const luaL_Reg meta[] = {{"__index", array_index}, {"__newindex", array_newindex},
					{"__len", array_len},	  {"__add", array_add},
					{"__sub", array_sub},	  {"__mul", array_mul},
					{"__div", array_div},	  {NULL, NULL}};
	static const luaL_Reg functions[] = {{"sum", array_sum},
					     {"mean", array_mean},
					     {"quantile", array_quantile},
					     {"max", array_max},
					     {"min", array_min},
					     {"mask", array_mask},
					     {"longest", array_longest},
					     {"tail", array_tail},
					     {"indexes", array_indexes},
					     {"only", array_only},
					     {"slice", array_slice},
					     {"diff", array_diff},
					     {"lower", array_lower},
					     {"higher", array_higher},
					     {"ratio", array_div},
					     {"array", array_new},
					     {NULL, NULL}};

	luaL_newmetatable(L, ARRAY);
	luaL_setfuncs(L, meta, 0);
	lua_pop(L, 1);
	luaL_setfuncs(L, functions, 0);
}
