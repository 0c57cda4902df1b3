/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads files in the syntax of slurm.conf, and hands each key and value to a function. */
#include "base/config/conf_file.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/str.h"

#define INCLUDE_DEPTH	8
#define FILE_MAX_SIZE	(16 << 20)
#define BYTE_ORDER_MARK "\xef\xbb\xbf"

/* One open file. */
struct reader {
	struct conf_pair at;	 /* its line is the first one of a continued line */
	const struct reader *by; /* of the file that includes it; NULL: none does */
	unsigned depth;
	dev_t dev;
	ino_t ino;
};

static int read_conf(struct conf_file *c, const char *path, const struct reader *by, bool slurm);

void conf_file__complain(const struct conf_pair *p, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	log_error("%s:%u: %s", p->file, p->line, text);
	if (!p->from->errors++)
		snprintf(p->from->first, sizeof(p->from->first), "%s has an error in line %u: %s",
			 p->file, p->line, text);
}

static bool is_slurms(const char *path)
{
	const char *base = strrchr(path, '/');

	base = base ? base + 1 : path;
	return !strcmp(base, "slurm.conf") || !strcmp(base, "acct_gather.conf");
}

/* What "%x" in the name of a file stands for. NULL: it stands for itself; "": it is not known. */
static const char *find_part(const struct conf_file *c, const char *text, char buf[static 256])
{
	buf[0] = '\0';
	if (str__starts(text, "%n"))
		return *c->node_name;
	if (str__starts(text, "%h")) {
		memset(buf, 0, 256);
		gethostname(buf, 255);
		buf[strcspn(buf, ".")] = '\0';
	} else if (str__starts(text, "%c")) {
		snprintf(buf, 256, "%s", c->cluster && *c->cluster ? *c->cluster : "");
		for (char *p = buf; *p; p++)
			*p = (char)tolower((unsigned char)*p);
	} else {
		return NULL;
	}
	return buf;
}

/* Appends with %h, %n and %c replaced. NULL, or why it cannot. */
static const char *expand_name(const struct conf_file *c, const char *text, char *out, size_t size)
{
	size_t len = strlen(out);

	for (; *text; text++) {
		char buf[256];
		const char *part = find_part(c, text, buf);
		int n;

		if (part && !*part)
			return "no ClusterName comes before this line, for its %c";
		n = part ? snprintf(out + len, size - len, "%s", part)
			 : snprintf(out + len, size - len, "%c", *text);
		len += (size_t)n;
		if (len >= size)
			return "the path is too long";
		if (part)
			text++;
	}
	return NULL;
}

const char *conf_file__reason(int err)
{
	switch (err) {
	case -EDEADLK:
		return "it is included by itself";
	case -ENOTSUP:
		return "it is not a regular file of at most 16 MiB";
	case -EPERM:
		return "others than its owner may write it (chmod go-w)";
	default:
		return strerror(-err);
	}
}

static void include(struct reader *r, const char *name)
{
	const char *slash = strrchr(r->at.file, '/'), *reason;
	char path[PATH_MAX] = "";
	int err;

	if (r->depth + 1 >= INCLUDE_DEPTH) {
		conf_file__complain(&r->at, "Include %s: more than %d files deep", name,
				    INCLUDE_DEPTH);
		return;
	}
	if (r->at.slurm && strchr(name, '*'))
		return; /* Slurm passes it over, too */
	if (name[0] != '/' && slash)
		snprintf(path, sizeof(path), "%.*s/", (int)(slash - r->at.file), r->at.file);
	reason = expand_name(r->at.from, name, path, sizeof(path));
	if (reason) {
		conf_file__complain(&r->at, "Include %s: %s", name, reason);
		return;
	}
	err = read_conf(r->at.from, path, r, r->at.slurm || is_slurms(path));
	if (err)
		conf_file__complain(&r->at, "Include %s: cannot read it: %s", path,
				    conf_file__reason(err));
}

static void give_pair(struct reader *r, const char *key, const char *value)
{
	if (!strcasecmp(key, "Include")) {
		include(r, value);
	} else {
		r->at.key = key;
		r->at.value = value;
		r->at.from->take(r->at.from->ctx, &r->at);
	}
}

static char *skip_blanks(char *p)
{
	while (isspace((unsigned char)*p))
		p++;
	return p;
}

static void unescape(char *s)
{
	char *out = s;

	for (; *s; s++) {
		if (*s == '\\' && s[1])
			s++;
		*out++ = *s;
	}
	*out = '\0';
}

/* Cuts one value off *p and ends it with NUL. NULL: what is wrong is in *reason. */
static char *take_value(char **p, const char **reason)
{
	char *value, *end;

	value = skip_blanks(*p);
	if (*value == '"') {
		end = strchr(++value, '"');
		if (!end) {
			*reason = "the quote does not end on this line (a # in a value is written "
				  "\\#)";
			return NULL;
		}
		if (end[1] && !isspace((unsigned char)end[1])) {
			*reason = "text follows the closing quote";
			return NULL;
		}
	} else {
		for (end = value; *end && !isspace((unsigned char)*end); end++)
			;
	}
	if (end == value) {
		*reason = "there is no value";
		return NULL;
	}
	*p = *end ? end + 1 : end;
	*end = '\0';
	unescape(value);
	return value;
}

/* One pair, or "Include FILE". False: the rest of the line makes no sense. */
static bool take_pair(struct reader *r, char **p)
{
	const char *reason = "expected Key=Value";
	char *key = *p, *end = key, *value;
	bool include_file;

	while (isalnum((unsigned char)*end) || *end == '_' || *end == '.')
		end++;
	*p = skip_blanks(end);
	include_file = end - key == 7 && !strncasecmp(key, "Include", 7) && *p != end;
	if (end == key || (**p != '=' && !include_file))
		goto bad;
	if (**p == '=')
		(*p)++;
	*end = '\0';
	value = take_value(p, &reason);
	if (!value)
		goto bad;
	give_pair(r, key, value);
	return true;
bad:
	if (!r->at.slurm)
		conf_file__complain(&r->at, "%.*s: %s", end > key ? (int)(end - key) : 20, key,
				    reason);
	return false;
}

static void read_line(struct reader *r, char *text)
{
	char *p = skip_blanks(text);

	while (*p && take_pair(r, &p))
		p = skip_blanks(p);
}

/* Cuts the comment and the end of line; true if the line goes on in the next. */
static bool trim(char *line)
{
	size_t len = 0, backslashes = 0;

	/* An escaped character is stepped over: "\#" starts no comment. */
	while (line[len] && line[len] != '#' && line[len] != '\n')
		len += line[len] == '\\' && line[len + 1] && line[len + 1] != '\n' ? 2 : 1;
	line[len] = '\0';
	if (len && line[len - 1] == '\r')
		line[--len] = '\0';
	while (backslashes < len && line[len - 1 - backslashes] == '\\')
		backslashes++;
	if (backslashes % 2 == 0)
		return false;
	line[len - 1] = '\0';
	return true;
}

/* A logical line as it grows: physical lines joined where a backslash ended them. */
struct whole_line {
	char *text;
	size_t len;
};

static int append(struct whole_line *w, const char *text)
{
	size_t len = strlen(text);
	char *grown = realloc(w->text, w->len + len + 1);

	if (!grown)
		return -ENOMEM;
	w->text = grown;
	memcpy(grown + w->len, text, len + 1);
	w->len += len;
	return 0;
}

/* Some editors begin a file with it. To Slurm it is a part of the first key. */
static char *skip_mark(struct reader *r, char *line)
{
	if (!str__starts(line, BYTE_ORDER_MARK))
		return line;
	conf_file__complain(&r->at,
			    "a byte order mark (BOM), with which Slurm cannot read the line "
			    "either: save the file as UTF-8 without one");
	return line + strlen(BYTE_ORDER_MARK);
}

/* Calls read_line for every logical line. */
static int read_lines(struct reader *r, FILE *f)
{
	struct whole_line whole = {0};
	unsigned number = 0;
	char *line = NULL, *text;
	bool more = false;
	size_t cap = 0;
	int err = 0;
	ssize_t n;

	while ((n = getline(&line, &cap, f)) >= 0) {
		number++;
		if (!more) {
			r->at.line = number;
			whole.len = 0;
		}
		if (strlen(line) != (size_t)n) {
			conf_file__complain(&r->at, "a NUL byte: this is not a text file");
			goto out;
		}
		text = number == 1 ? skip_mark(r, line) : line;
		more = trim(text);
		err = append(&whole, text);
		if (err)
			goto out;
		if (!more)
			read_line(r, whole.text);
	}
	if (ferror(f))
		err = -EIO;
	else if (more)
		read_line(r, whole.text);
out:
	free(whole.text);
	free(line);
	return err;
}

/* Root does as the file says, so no other user may be able to write to the file. */
static int check_owner(const struct stat *st)
{
	if (!S_ISREG(st->st_mode) || st->st_size > FILE_MAX_SIZE)
		return -ENOTSUP;
	if (geteuid() != 0)
		return 0;
	if ((st->st_mode & S_IWOTH) || ((st->st_mode & S_IWGRP) && st->st_uid != 0))
		return -EPERM;
	return 0;
}

static bool is_open(const struct reader *r, const struct stat *st)
{
	while (r && (r->dev != st->st_dev || r->ino != st->st_ino))
		r = r->by;
	return r;
}

static int read_conf(struct conf_file *c, const char *path, const struct reader *by, bool slurm)
{
	struct reader r = {.at = {.from = c, .file = path, .slurm = slurm},
			   .by = by,
			   .depth = by ? by->depth + 1 : 0};
	/* Non-blocking: a FIFO in the file's place must not hang us. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), err;
	_cleanup_fclose_ FILE *f = NULL;
	struct stat st;

	if (fd < 0)
		return -errno;
	f = fdopen(fd, "re");
	if (!f) {
		close(fd);
		return -ENOMEM;
	}
	if (fstat(fd, &st))
		return -errno;
	if (is_open(by, &st))
		return -EDEADLK;
	r.dev = st.st_dev;
	r.ino = st.st_ino;
	err = check_owner(&st);
	return err ? err : read_lines(&r, f);
}

int conf_file__read(struct conf_file *c, const char *path)
{
	c->errors = 0;
	return read_conf(c, path, NULL, is_slurms(path));
}
