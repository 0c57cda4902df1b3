// SPDX-License-Identifier: GPL-2.0-or-later
/* The environment that a process was started with, read byte by byte. */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "identity/proc.h"

#define ENVIRON_MAX (4u << 20)

/* Finds NAME= at the start of a string of the environment as its bytes come by. */
struct env_search {
	const char *name;
	size_t matched; /* characters of NAME= that this string began with */
	bool skip;	/* this string is another variable */
	bool value;	/* inside the value */
	char *buf;
	size_t len, size;
};

/* 1: the value is complete; 0: go on; -E2BIG. */
static int env_byte(void *ctx, char c)
{
	struct env_search *e = ctx;
	size_t name_len = strlen(e->name);

	if (e->value) {
		if (e->len == e->size)
			return -E2BIG;
		e->buf[e->len++] = c;
		return c == '\0';
	}
	if (!c) {
		e->matched = 0;
		e->skip = false;
	} else if (!e->skip) {
		if (e->matched == name_len && c == '=')
			e->value = true;
		else if (e->matched < name_len && c == e->name[e->matched])
			e->matched++;
		else
			e->skip = true;
	}
	return 0;
}

/* Whether the memory that a descriptor of "environ" was opened for still exists. It is gone once
 * the process has begun another program: what was read by then may be a part, or nothing. */
static bool has_memory(int fd)
{
	char c;

	return pread(fd, &c, 1, 0) == 1;
}

/* Whether the process waits for its parent: it has no memory and no program any more. */
static bool has_ended(pid_t pid)
{
	char exe[PATH_MAX];

	return proc__link(pid, "exe", exe, sizeof(exe)) == -ENOENT;
}

/* Gives fn each byte of an environment until fn returns something else than 0, which is returned.
 * 0: fn has had all bytes; -E2BIG: there are more than are read; -EAGAIN: see proc.h. */
static int each_env_byte(pid_t pid, int (*fn)(void *ctx, char c), void *ctx)
{
	_cleanup_close_ int fd = proc__open(pid, "environ");
	size_t total = 0;
	char chunk[4096];

	if (fd < 0)
		return fd;
	while (total < ENVIRON_MAX) {
		ssize_t n = read(fd, chunk, sizeof(chunk));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (!n && total && has_memory(fd))
			return 0;
		if (!n)
			return has_ended(pid) ? -ESRCH : -EAGAIN;
		for (ssize_t i = 0; i < n; i++) {
			int ret = fn(ctx, chunk[i]);

			if (ret)
				return ret;
		}
		total += (size_t)n;
	}
	return -E2BIG;
}

int proc__environ(pid_t pid, const char *name, char *buf, size_t size)
{
	struct env_search e = {.name = name, .buf = buf, .size = size};
	int ret = each_env_byte(pid, env_byte, &e);

	if (!ret) /* the last string may be without its NUL */
		ret = e.value ? env_byte(&e, '\0') : -ENODATA;
	return ret > 0 ? 0 : ret;
}

/* Strings of an environment, put together as its bytes come by. */
struct env_strings {
	char text[512];
	size_t len;
	void (*fn)(void *ctx, const char *text);
	void *ctx;
};

static int env_string_byte(void *ctx, char c)
{
	struct env_strings *e = ctx;

	if (e->len < sizeof(e->text))
		e->text[e->len++] = c;
	if (c)
		return 0;
	if (!e->text[e->len - 1])
		e->fn(e->ctx, e->text);
	e->len = 0;
	return 0;
}

int proc__environ_each(pid_t pid, void (*fn)(void *ctx, const char *text), void *ctx)
{
	struct env_strings e = {.fn = fn, .ctx = ctx};
	int err = each_env_byte(pid, env_string_byte, &e);

	return err == -E2BIG ? 0 : err;
}

int proc__procid(pid_t pid, int32_t *procid)
{
	char buf[16] = "";
	uint32_t v;
	int err = proc__environ(pid, "SLURM_PROCID", buf, sizeof(buf));

	if (err)
		return err == -E2BIG ? -EINVAL : err;
	if (parse_u32(buf, &v) || v > INT32_MAX || (buf[0] == '0' && buf[1]))
		return -EINVAL;
	*procid = (int32_t)v;
	return 0;
}
