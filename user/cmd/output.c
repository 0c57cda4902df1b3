/* SPDX-License-Identifier: GPL-2.0-only */
#include "cmd/output.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json.h"

int output__open(struct output *o, const char *path)
{
	const int flags = O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY;
	int fd = STDOUT_FILENO, err;

	o->path = path && strcmp(path, "-") ? path : NULL;
	if (o->path) {
		/* Parts of a regular file are written by others and read back. */
		fd = open(path, O_RDWR | flags, 0666);
		if (fd < 0 && errno == EACCES)
			fd = open(path, O_WRONLY | flags, 0666);
	}
	if (fd < 0)
		return -errno;
	err = outbuf__init(&o->text, fd);
	if (err && o->path)
		close(fd);
	return err;
}

int output__close(struct output *o, bool keep)
{
	int err = outbuf__end(&o->text);
	struct stat st = {0};

	if (!o->path)
		return err;
	if (fstat(o->text.fd, &st))
		st.st_mode = 0;
	if (close(o->text.fd) && !err)
		err = -errno;
	if ((!keep || err) && S_ISREG(st.st_mode))
		unlink(o->path);
	return err;
}

void output__csv_name(struct outbuf *o, const char *name)
{
	bool quote = strpbrk(name, ",\"") != NULL;
	char hex[8];

	if (quote)
		outbuf__char(o, '"');
	for (; *name; name++) {
		unsigned char c = *name;

		if (c == '"')
			outbuf__str(o, "\"\"");
		else if (c >= 0x20 && c < 0x7f)
			outbuf__char(o, (char)c);
		else if (snprintf(hex, sizeof(hex), "\\x%02x", c) > 0)
			outbuf__str(o, hex);
	}
	if (quote)
		outbuf__char(o, '"');
}

void output__json_text(struct outbuf *o, const char *text)
{
	json_t *j = json__text(text);
	char *dump = json_dumps(j, JSON_ENCODE_ANY);

	outbuf__str(o, dump ? dump : "null");
	free(dump);
	json_decref(j);
}

void output__json_number(struct outbuf *o, double v)
{
	char text[32];

	if (isfinite(v))
		snprintf(text, sizeof(text), "%.17g", v);
	outbuf__str(o, isfinite(v) ? text : "null");
}
