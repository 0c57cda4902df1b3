/* SPDX-License-Identifier: GPL-2.0-only */
/* Files of rules: who may have written them, and how they are run. */
#include <errno.h>
#include <fcntl.h>
#include <lauxlib.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/io_full.h"
#include "base/str.h"
#include "findings/engine.h"

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
	if (engine__call(e, 0, 1))
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

int rules_file__load(struct engine *e, const struct rules_options *o)
{
	int err = load_builtin(e, o ? o->builtin : NULL);

	return err ? err : load_site(e, o);
}
