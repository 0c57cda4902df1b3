// SPDX-License-Identifier: GPL-2.0-or-later
/* Files of many numbers, read as a whole and split into lines. */
#include "sensor/core/text.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/room.h"

#define ROOM_MIN 8192

void sensor_text__close(struct sensor_text *t)
{
	if (t->fd >= 0)
		close(t->fd);
	t->fd = -1;
}

static bool is_kernels(int fd)
{
	struct statfs fs;

	return !fstatfs(fd, &fs) && (fs.f_type == PROC_SUPER_MAGIC || fs.f_type == SYSFS_MAGIC);
}

static int open_file(struct sensor_text *t)
{
	struct stat st;

	if (t->fd >= 0 && !t->stays && (fstat(t->fd, &st) || !st.st_nlink))
		sensor_text__close(t);
	if (t->fd >= 0)
		return 0;
	t->fd = open(t->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (t->fd < 0)
		return -errno;
	t->stays = is_kernels(t->fd);
	return 0;
}

static int make_room(struct sensor_text *t)
{
	if (t->len + 1 < t->room)
		return 0;
	if (t->room == TEXT_MAX)
		return -EFBIG;
	return room__make(&t->buf, &t->room, t->room ? t->room * 2 : ROOM_MIN, 1);
}

int sensor_text__read(struct sensor_text *t)
{
	int err = open_file(t);
	ssize_t n = 1;

	t->len = 0;
	while (!err && n > 0) {
		err = make_room(t);
		if (err)
			break;
		n = pread(t->fd, t->buf + t->len, t->room - t->len - 1, (off_t)t->len);
		if (n > 0)
			t->len += (size_t)n;
		else if (n < 0)
			err = -errno;
	}
	if (err) {
		t->len = 0;
		sensor_text__close(t);
	}
	if (t->buf)
		t->buf[t->len] = '\0';
	return err;
}

void sensor_text__free(struct sensor_text *t)
{
	if (!t)
		return;
	sensor_text__close(t);
	free(t->buf);
	t->buf = NULL;
	t->len = t->room = 0;
}

const char *text__line(const char **at, size_t *len)
{
	const char *line = *at, *end;

	if (!*line)
		return NULL;
	end = strchrnul(line, '\n');
	*len = (size_t)(end - line);
	*at = *end ? end + 1 : end;
	return line;
}

bool text__u64(const char **at, uint64_t *v)
{
	const char *p = *at + strspn(*at, " \t");
	uint64_t n = 0;

	if (*p < '0' || *p > '9')
		return false;
	for (; *p >= '0' && *p <= '9'; p++)
		if (__builtin_mul_overflow(n, 10, &n) ||
		    __builtin_add_overflow(n, (uint64_t)(*p - '0'), &n))
			return false;
	if (*p && *p != ' ' && *p != '\t' && *p != '\n')
		return false;
	*at = p;
	*v = n;
	return true;
}

unsigned text__numbers(const char *at, uint64_t *v, unsigned max)
{
	unsigned n = 0;

	while (n < max && text__u64(&at, &v[n]))
		n++;
	return n;
}
