// SPDX-License-Identifier: GPL-2.0-only
/* One process by its files in /proc: parents, user, command line. */
#include "identity/proc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io_full.h"
#include "base/str.h"
#include "identity/layout.h"

#define ANCESTORS_MAX  256
#define ENVIRON_MAX    (4u << 20)
#define STAT_PPID      4 /* fields of /proc/<pid>/stat, from 1 */
#define STAT_STARTTIME 22

static const char *proc_root = "/proc";

void proc__set_root(const char *root)
{
	proc_root = root;
}

static ssize_t read_proc(pid_t pid, const char *file, char *buf, size_t size)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s/%d/%s", proc_root, (int)pid, file) >= PATH_MAX)
		return -ENAMETOOLONG;
	return read_file(AT_FDCWD, path, buf, size);
}

/* comm may hold blanks and parentheses: fields are counted from its last parenthesis. */
static int stat_field(pid_t pid, unsigned field, uint64_t *v)
{
	char buf[2048], *p, *save = NULL;
	ssize_t n = read_proc(pid, "stat", buf, sizeof(buf));

	if (n < 0)
		return (int)n;
	p = strrchr(buf, ')');
	if (!p)
		return -EINVAL;
	p = strtok_r(p + 1, " \n", &save);
	for (unsigned i = 3; p && i < field; i++)
		p = strtok_r(NULL, " \n", &save);
	return p ? parse_u64(p, v) : -EINVAL;
}

int proc__ppid(pid_t pid, pid_t *ppid)
{
	uint64_t v;
	int err = stat_field(pid, STAT_PPID, &v);

	if (err)
		return err;
	if (v > INT_MAX)
		return -EINVAL;
	*ppid = (pid_t)v;
	return 0;
}

int proc__starttime(pid_t pid, uint64_t *ticks)
{
	return stat_field(pid, STAT_STARTTIME, ticks);
}

int proc__comm(pid_t pid, char *buf, size_t size)
{
	ssize_t n = read_proc(pid, "comm", buf, size);

	if (n < 0)
		return (int)n;
	if (n > 0 && buf[n - 1] == '\n')
		buf[n - 1] = '\0';
	return 0;
}

static int open_proc(pid_t pid, const char *file)
{
	char path[PATH_MAX];
	int fd;

	if (snprintf(path, sizeof(path), "%s/%d/%s", proc_root, (int)pid, file) >= PATH_MAX)
		return -ENAMETOOLONG;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Uid is among the first lines; what may be long (Groups) is not read. */
int proc__uid(pid_t pid, uid_t *uid)
{
	_cleanup_close_ int fd = open_proc(pid, "status");
	char buf[1024], *p;
	uint32_t v;
	ssize_t n;

	if (fd < 0)
		return fd;
	n = read(fd, buf, sizeof(buf) - 1);
	if (n < 0)
		return -errno;
	buf[n] = '\0';
	p = strstr(buf, "\nUid:\t");
	if (!p)
		return -EINVAL;
	p += strlen("\nUid:\t");
	p[strcspn(p, "\t\n")] = '\0';
	if (parse_u32(p, &v))
		return -EINVAL;
	*uid = v;
	return 0;
}

int proc__link(pid_t pid, const char *link, char *buf, size_t size)
{
	char path[PATH_MAX];
	ssize_t n;

	if (snprintf(path, sizeof(path), "%s/%d/%s", proc_root, (int)pid, link) >= PATH_MAX)
		return -ENAMETOOLONG;
	n = readlink(path, buf, size);
	if (n < 0)
		return -errno;
	if ((size_t)n == size)
		return -E2BIG;
	buf[n] = '\0';
	return 0;
}

static int stat_root(const char *process, struct stat *st)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s/%s/root", proc_root, process) >= PATH_MAX)
		return -ENAMETOOLONG;
	return stat(path, st) ? -errno : 0;
}

bool proc__has_our_root(pid_t pid)
{
	struct stat its, ours;
	char process[16];

	snprintf(process, sizeof(process), "%d", (int)pid);
	return !stat_root(process, &its) && !stat_root("self", &ours) &&
	       its.st_dev == ours.st_dev && its.st_ino == ours.st_ino;
}

int proc__each(int (*fn)(void *ctx, pid_t pid), void *ctx)
{
	DIR *dir = opendir(proc_root);
	struct dirent *e;
	uint32_t pid;
	int ret = 0;

	if (!dir)
		return -errno;
	while (!ret && (e = readdir(dir)))
		if (!parse_u32(e->d_name, &pid) && pid && pid <= INT_MAX)
			ret = fn(ctx, (pid_t)pid);
	closedir(dir);
	return ret;
}

ssize_t proc__args(pid_t pid, char *buf, size_t size)
{
	_cleanup_close_ int fd = open_proc(pid, "cmdline");
	ssize_t len;

	if (fd < 0)
		return fd;
	len = read_fully(fd, buf, size - 1);
	if (len >= 0)
		buf[len] = '\0';
	return len;
}

int proc__title(pid_t pid, char *buf, size_t size)
{
	ssize_t len = proc__args(pid, buf, size);

	if (len < 0)
		return (int)len;
	for (ssize_t i = 0; i < len; i++)
		if (!buf[i])
			buf[i] = ' ';
	while (len && buf[len - 1] == ' ')
		len--;
	buf[len] = '\0';
	return 0;
}

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

/* The memory that a descriptor of "environ" was opened for is gone once its process has begun
 * another program: what was read by then may be a part, or nothing. */
static bool has_memory(int fd)
{
	char c;

	return pread(fd, &c, 1, 0) == 1;
}

/* Waits for its parent: it has no memory any more, nor what began it. */
static bool has_ended(pid_t pid)
{
	char exe[PATH_MAX];

	return proc__link(pid, "exe", exe, sizeof(exe)) == -ENOENT;
}

/* Gives fn each byte of an environment until it says something else than 0, which is returned; 0:
 * that was all of it; -E2BIG: there is more than is read; -EAGAIN: see proc.h. */
static int each_env_byte(pid_t pid, int (*fn)(void *ctx, char c), void *ctx)
{
	_cleanup_close_ int fd = open_proc(pid, "environ");
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

int proc__stepd_title(const char *title, uint32_t *job, char *step, size_t size)
{
	static const char start[] = "slurmstepd: [", stepmgr[] = " stepmgr";
	char ids[96], *dot, *plus;
	uint32_t id, offset = 0, step_id;
	int32_t het;
	size_t len;

	if (!str__starts(title, start))
		return -EINVAL;
	title += strlen(start);
	len = strcspn(title, "]");
	if (title[len] != ']' || len >= sizeof(ids) ||
	    title[len + 1 + strspn(title + len + 1, " ")])
		return -EINVAL;
	if (len >= strlen(stepmgr) && str__starts(title + len - strlen(stepmgr), stepmgr))
		len -= strlen(stepmgr);
	memcpy(ids, title, len);
	ids[len] = '\0';
	dot = strchr(ids, '.');
	if (!dot)
		return -EINVAL;
	*dot = '\0';
	plus = strchr(ids, '+');
	if (plus)
		*plus = '\0';
	if (parse_u32(ids, &id) || !id || (plus && parse_u32(plus + 1, &offset)) ||
	    __builtin_add_overflow(id, offset, &id) || id >= STEP_NONE)
		return -EINVAL;
	if (layout__step_id(dot + 1, &step_id, &het) || str__copy(step, size, dot + 1))
		return -EINVAL;
	*job = id;
	return 0;
}

int proc__is_stepd(pid_t pid)
{
	char comm[64] = "";
	uid_t uid = (uid_t)-1;
	int err = proc__comm(pid, comm, sizeof(comm));

	if (err)
		return err;
	if (strcmp(comm, "slurmstepd") != 0)
		return 0;
	err = proc__uid(pid, &uid);
	return err ? err : uid == 0;
}

int proc__root_of(pid_t pid, pid_t *root)
{
	/* Parents may die and pids be used again between two reads: the bound ends any loop. */
	for (unsigned i = 0; i < ANCESTORS_MAX; i++) {
		pid_t parent;
		int ret = proc__ppid(pid, &parent);

		if (ret)
			return ret;
		if (parent <= 1 || parent == pid)
			return -ENOENT;
		ret = proc__is_stepd(parent);
		if (ret < 0)
			return ret;
		if (ret) {
			*root = pid;
			return 0;
		}
		pid = parent;
	}
	return -ELOOP;
}
