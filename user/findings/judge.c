/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Judges a job: calls each rule with the facts, and puts its result into the verdict. */
#include <errno.h>
#include <fcntl.h>
#include <lauxlib.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/io_full.h"
#include "base/room.h"
#include "base/str.h"
#include "findings/engine.h"

/* ---- the verdict: which findings explain others, their order, their end */

/* A finding is explained by others that cost this much of it together. */
#define EXPLAINED_SHARE 0.5
/* What a finding counts for in the order: of a note, which may be as it should be, a part of its
 * cost. */
#define NOTE_COUNTS 0.5
/* A note is worth the place of a louder finding if it would save this much of the core time. */
#define WORTH_SHARE 0.01

const char *severity__name(enum severity s)
{
	static const char *const names[] = {"note", "warn", "bad"};

	return names[s];
}

const char *remedy_kind__name(enum remedy_kind k)
{
	static const char *const names[] = {"sentence", "line", "command"};

	return names[k];
}

double finding__from_s(const struct finding *f)
{
	return f->ntimes ? f->times[0][0] : NAN;
}

double finding__to_s(const struct finding *f)
{
	return f->ntimes ? f->times[f->ntimes - 1][1] : NAN;
}

static void free_finding(struct finding *f)
{
	free(f->id);
	free(f->text);
	free(f->remedy);
	free(f->code);
	free(f->where);
	free(f->source);
}

void verdict__free(struct verdict *v)
{
	for (size_t i = 0; i < v->nfindings; i++)
		free_finding(&v->findings[i]);
	for (size_t i = 0; i < v->nothers; i++) {
		free(v->others[i].id);
		free(v->others[i].reason);
	}
	free(v->findings);
	free(v->others);
	string_list__free(&v->errors);
	*v = (struct verdict){0};
}

/* The texts are copied. 0 or -ENOMEM. */
static int verdict_add_other(struct verdict *v, const char *id, bool judged, const char *reason)
{
	struct rule_verdict *r;

	if (room__grow(&v->others, v->nothers, 1, sizeof(*v->others)))
		return -ENOMEM;
	r = &v->others[v->nothers];
	*r = (struct rule_verdict){strdup(id), judged, strdup(reason)};
	if (!r->id || !r->reason) {
		free(r->id);
		free(r->reason);
		return -ENOMEM;
	}
	v->nothers++;
	return 0;
}

/* One finding while it is decided which of them stay. */
struct explained {
	const char *by; /* the ids of those that explain it, with commas between them */
	enum { OPEN, VISITED, STAYS, GOES } state;
	size_t dearest; /* of those that explain it */
};

static bool lists(const char *list, const char *id)
{
	size_t n = strlen(id);

	for (const char *p = list; (p = strstr(p, id)); p += n)
		if ((p == list || p[-1] == ',') && (p[n] == ',' || !p[n]))
			return true;
	return false;
}

/* Findings that explain each other in a circle do not all go: one that is being visited explains
 * nothing. */
static void decide(const struct verdict *v, struct explained *e, size_t i)
{
	double cost = 0;
	bool found = false;

	if (e[i].state != OPEN)
		return;
	e[i].state = VISITED;
	for (size_t k = 0; k < v->nfindings; k++) {
		if (!lists(e[i].by, v->findings[k].id) || e[k].state == VISITED)
			continue;
		decide(v, e, k);
		if (!found || v->findings[k].cost_core_s > v->findings[e[i].dearest].cost_core_s)
			e[i].dearest = k;
		found = true;
		/* A cost that is not known may be any. */
		cost += isnan(v->findings[k].cost_core_s) ? INFINITY : v->findings[k].cost_core_s;
	}
	e[i].state = found && !(cost < EXPLAINED_SHARE * v->findings[i].cost_core_s) ? GOES : STAYS;
}

/* Findings that others explain become verdicts without one. suppressed_by[i] are the ids that
 * explain finding i, with commas between them. 0 or -ENOMEM. */
static int verdict_explain(struct verdict *v, char *const *suppressed_by)
{
	struct explained *e;
	size_t kept = 0;
	char reason[256];
	int err = 0;

	if (!suppressed_by) /* there is no finding */
		return 0;
	e = calloc(v->nfindings + 1, sizeof(*e));
	if (!e)
		return -ENOMEM;
	for (size_t i = 0; i < v->nfindings; i++)
		e[i].by = suppressed_by[i];
	for (size_t i = 0; i < v->nfindings; i++)
		decide(v, e, i);
	for (size_t i = 0; i < v->nfindings && !err; i++) {
		if (e[i].state != GOES)
			continue;
		snprintf(reason, sizeof(reason), "%s explains it", v->findings[e[i].dearest].id);
		err = verdict_add_other(v, v->findings[i].id, true, reason);
	}
	for (size_t i = 0; i < v->nfindings; i++) {
		if (e[i].state == GOES)
			free_finding(&v->findings[i]);
		else
			v->findings[kept++] = v->findings[i];
	}
	v->nfindings = kept;
	free(e);
	return err;
}

unsigned verdict__judged(const struct verdict *v)
{
	unsigned judged = v->nrules;

	for (size_t i = 0; i < v->nothers; i++)
		judged -= !v->others[i].judged;
	return judged;
}

/* What ends the job, or will: its cost is not in core-seconds. */
static bool is_fatal(const struct finding *f)
{
	return f->severity == SEVERITY_BAD && isnan(f->cost_core_s);
}

/* A note that would save next to nothing. */
static bool is_idle_talk(const struct finding *f, double core_s)
{
	return f->severity == SEVERITY_NOTE && !(f->cost_core_s >= WORTH_SHARE * core_s);
}

static double weight(const struct finding *f)
{
	return fmax(0, f->cost_core_s) * (f->severity == SEVERITY_NOTE ? NOTE_COUNTS : 1);
}

/* True: a comes after b. */
static bool is_after(const struct finding *a, const struct finding *b, double core_s)
{
	double cost_a = weight(a), cost_b = weight(b);

	if (is_fatal(a) != is_fatal(b))
		return is_fatal(b);
	if (is_idle_talk(a, core_s) != is_idle_talk(b, core_s))
		return is_idle_talk(a, core_s);
	if (cost_a != cost_b)
		return cost_a < cost_b;
	return a->severity < b->severity;
}

/* There are few, and equal ones keep the order of the rules. */
static void sort(struct verdict *v, double core_s)
{
	for (size_t i = 1; i < v->nfindings; i++) {
		struct finding f = v->findings[i];
		size_t k = i;

		for (; k && is_after(&v->findings[k - 1], &f, core_s); k--)
			v->findings[k] = v->findings[k - 1];
		v->findings[k] = f;
	}
}

/* What the dearer ones cost is not lost twice. */
static void verdict_settle(struct verdict *v, double core_s)
{
	double left = isnan(core_s) ? INFINITY : core_s;

	sort(v, core_s);
	for (size_t i = 0; i < v->nfindings; i++) {
		struct finding *f = &v->findings[i];

		if (!(f->cost_core_s > 0))
			continue;
		if (f->cost_core_s > left) {
			f->saving *= left / f->cost_core_s;
			f->cost_core_s = left;
		}
		left -= f->cost_core_s;
	}
	sort(v, core_s);
}

/* ---- files of rules: who may have written them, and how they are run */

#define SITE_RULES JOBPROF_SYSCONFDIR "/jobprof/rules.lua"

const char *rules_file__reason(int err)
{
	switch (err) {
	case -ENOTSUP:
		return "it is not a regular file of at most 1 MiB";
	case -EPERM:
		return "it belongs to another user (chown root)";
	case -EACCES:
		return "others than its owner may write it (chmod go-w), or it cannot be read";
	default:
		return strerror(-err);
	}
}

/* Rules can do no harm but to what a reader believes: they come from root or from the reader. */
static int check_owner(const struct stat *st)
{
	if (!S_ISREG(st->st_mode) || st->st_size > (off_t)RULE_FILE_MAX)
		return -ENOTSUP;
	if (st->st_uid != 0 && st->st_uid != geteuid())
		return -EPERM;
	if ((st->st_mode & S_IWOTH) || ((st->st_mode & S_IWGRP) && st->st_uid != 0))
		return -EACCES;
	return 0;
}

/* The text of a file, ended with NUL; NULL and -errno. *text is to be freed. */
static int read_rules(const char *path, char **text, size_t *len)
{
	/* Non-blocking: a FIFO in the file's place must not hang us. */
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	ssize_t n;
	int err;

	*text = NULL;
	if (fd < 0 || fstat(fd, &st))
		return -errno;
	err = check_owner(&st);
	if (err)
		return err;
	*text = malloc((size_t)st.st_size + 1);
	if (!*text)
		return -ENOMEM;
	n = read_full(fd, *text, (size_t)st.st_size);
	if (n < 0)
		return (int)n;
	(*text)[n] = '\0';
	*len = (size_t)n;
	return 0;
}

/* Pushes the function of that name in the prelude's table. */
static void push_prelude(lua_State *L, const char *name)
{
	lua_getfield(L, LUA_REGISTRYINDEX, "prelude");
	lua_getfield(L, -1, name);
	lua_remove(L, -2);
}

/* The text on the stack's top is why a file has ended: it becomes an error, with the name of the
 * file in place of Lua's for it. */
static int complain(struct engine *e, const char *chunk, const char *path)
{
	const char *text = lua_tostring(e->L, -1);
	char place[PATH_MAX + 8];
	size_t n = strlen(chunk);
	int err;

	if (!text)
		text = "only a rule can end with only_if() or need()";
	if (str__starts(text, chunk) && text[n] == ':') {
		err = engine__complain(e, path, text + n);
	} else {
		snprintf(place, sizeof(place), "%s: ", path);
		err = engine__complain(e, str__starts(text, path) ? "" : place, text);
	}
	lua_pop(e->L, 1);
	return err;
}

static int run_chunk(struct engine *e, const char *text, size_t len, const char *chunk,
		     const char *path)
{
	char name[16] = "=";

	strncat(name, chunk, sizeof(name) - 2);
	if (luaL_loadbufferx(e->L, text, len, name, "t"))
		return complain(e, chunk, path);
	push_prelude(e->L, "environment");
	lua_pushboolean(e->L, !strcmp(chunk, "builtin"));
	if (engine__call(e, 1, 1))
		return -ENOMEM;
	lua_setupvalue(e->L, -2, 1);
	return engine__call(e, 0, 0) ? complain(e, chunk, path) : 0;
}

static int load_builtin(struct engine *e, const char *path)
{
	_cleanup_free_ char *text = NULL;
	size_t len = 0;
	int err;

	if (!path)
		return run_chunk(e, rules_text_builtin, strlen(rules_text_builtin), "builtin",
				 e->builtin);
	e->builtin = path;
	err = read_rules(path, &text, &len);
	return err ? err : run_chunk(e, text, len, "builtin", path);
}

void rules_text__read(struct rules_text *t, const char *site)
{
	*t = (struct rules_text){0};
	if (!site || *site)
		t->err = read_rules(site ? site : SITE_RULES, &t->text, &t->len);
}

void rules_text__free(struct rules_text *t)
{
	free(t->text);
	*t = (struct rules_text){0};
}

static uint64_t add_to_digest(uint64_t h, const char *text)
{
	do
		h = (h ^ (uint8_t)*text) * 0x100000001b3;
	while (*text++);
	return h;
}

uint64_t rules_text__digest(const struct rules_text *t)
{
	uint64_t h = add_to_digest(0xcbf29ce484222325, rules_text_prelude);

	h = add_to_digest(h, rules_text_builtin);
	return add_to_digest(h, t->text ? t->text : "");
}

static int run_site(struct engine *e, const struct rules_text *t, const char *path)
{
	bool is_default = !path;
	char line[256];

	e->site = is_default ? SITE_RULES : path;
	if (t->err == -ENOENT && is_default)
		return 0;
	if (t->err && t->err != -ENOMEM && is_default) {
		snprintf(line, sizeof(line), ": it is not used: %s", rules_file__reason(t->err));
		return engine__complain(e, e->site, line);
	}
	if (t->err || !t->text)
		return t->err;
	return run_chunk(e, t->text, t->len, "site", e->site);
}

static int load_site(struct engine *e, const struct rules_options *o)
{
	const char *path = o ? o->site : NULL;
	struct rules_text own;
	int err;

	if (path && !*path)
		return 0;
	if (o && o->text)
		return run_site(e, o->text, path);
	rules_text__read(&own, path);
	err = run_site(e, &own, path);
	rules_text__free(&own);
	return err;
}

/* Runs the files: rules are in the prelude's table. 0, -ENOMEM or -errno, as rules__judge(). */
static int rules_file_load(struct engine *e, const struct rules_options *o)
{
	int err = load_builtin(e, o ? o->builtin : NULL);

	return err ? err : load_site(e, o);
}

struct rule {
	const char *id, *place; /* of strings that the prelude keeps */
	const char *suppressed_by;
};

/* ---- each rule is called with the facts; what it gives goes to the verdict */

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
	struct finding *f;

	if (room__grow(&v->findings, v->nfindings, 1, sizeof(*v->findings)) ||
	    room__grow(suppressed_by, v->nfindings, 1, sizeof(**suppressed_by)))
		return -ENOMEM;
	(*suppressed_by)[v->nfindings] = strdup(r->suppressed_by);
	f = &v->findings[v->nfindings++];
	*f = (struct finding){.id = strdup(r->id),
			      .severity = (enum severity)field_number(e->L, "severity"),
			      .cost_core_s = field_number(e->L, "cost"),
			      .saving = field_number(e->L, "saving"),
			      .at_least = field_flag(e->L, "at_least"),
			      .text = field_text(e->L, "text"),
			      .remedy = field_text(e->L, "remedy"),
			      .kind = (enum remedy_kind)field_number(e->L, "kind"),
			      .code = field_text(e->L, "code"),
			      .needs = field_number(e->L, "needs"),
			      .used = field_number(e->L, "used"),
			      .asked = field_number(e->L, "asked"),
			      .where = field_text(e->L, "where"),
			      .source = field_text(e->L, "source")};
	add_times(e->L, f);
	return (*suppressed_by)[v->nfindings - 1] && f->id && f->text && f->remedy && f->code &&
			       f->where && f->source
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
	return err ? err : verdict_add_other(e->out, r->id, false, line);
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
			     : verdict_add_other(e->out, r->id, judged, reason);
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
	int err = rules_file_load(e, ctx);
	size_t found;

	for (int n = 1; !err; n++)
		err = judge_one(e, n, &suppressed_by);
	found = e->out->nfindings;
	if (err > 0)
		err = verdict_explain(e->out, suppressed_by);
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
		verdict_settle(out, facts__job(f, FACT_JOB_core_s));
	return err;
}

/* ---- what rules say of findings of many jobs */

struct listing {
	rule_many_take *take;
	void *arg;
};

/* Of the nth rule; 1: there is none. */
static int list_one(struct engine *e, int n, const struct listing *l)
{
	lua_State *L = e->L;
	int top = lua_gettop(L), err = 1;

	push_prelude(L, "many");
	lua_pushinteger(L, n);
	if (engine__call(e, 1, 5))
		return -ENOMEM;
	if (!lua_isnil(L, top + 1)) {
		const struct rule_many m = {
			.id = lua_tostring(L, top + 1),
			.kind = (enum remedy_kind)lua_tointeger(L, top + 2),
			.highest_is_safe = lua_toboolean(L, top + 3),
			.unit = lua_tostring(L, top + 4),
			.column = lua_tostring(L, top + 5),
		};

		err = l->take(l->arg, &m);
	}
	lua_settop(L, top);
	return err;
}

static int list_all(struct engine *e, const void *ctx)
{
	int err = rules_file_load(e, NULL);

	for (int n = 1; !err; n++)
		err = list_one(e, n, ctx);
	return err < 0 ? err : 0;
}

int rules__each_many(rule_many_take *take, void *arg)
{
	const size_t none[N_SCOPES] = {[SCOPE_JOB] = 1};
	const struct listing l = {take, arg};
	struct verdict v = {0};
	struct facts facts; /* a file of rules may look at them */
	struct engine e = {.facts = &facts, .out = &v, .builtin = "rules.lua", .site = "site"};
	int err = facts__alloc(&facts, none);

	if (!err)
		err = engine__run(&e, list_all, &l);
	facts__free(&facts);
	verdict__free(&v);
	return err;
}
