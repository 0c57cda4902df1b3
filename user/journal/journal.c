/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes a journal. Records are collected in memory as a frame, which one pwrite(2) appends to the
 * file. A frame that the disk has no room for stays in memory and is tried again.
 */
#include "journal/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <libdeflate.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io_full.h"
#include "base/utf8.h"
#include "journal/journal_format.h"
#include "journal/zero_suppress.h"

/* ---- an open journal whose name another program has taken away is found, and gets its name back
 */

static int copy_bytes(int from, int to, uint64_t size)
{
	char part[65536];
	uint64_t at = 0;

	while (at < size) {
		size_t want = size - at < sizeof(part) ? size - at : sizeof(part);
		ssize_t n = pread_full(from, part, want, at);
		int err = n > 0 ? pwrite_full(to, part, n, at) : n ? (int)n : -EIO;

		if (err)
			return err;
		at += n;
	}
	return 0;
}

/* Copies the first size bytes of fd to a new file, which is locked and gets the name PATH, whatever
 * had it. Its descriptor, or -errno: PATH is as it was. */
static int file_put_back(int fd, const char *path, uint64_t size)
{
	char copy[4096];
	int to, err = 0;

	if (snprintf(copy, sizeof(copy), "%s" JOURNAL_UNBORN, path) >= (int)sizeof(copy))
		return -ENAMETOOLONG;
	unlink(copy);
	to = open(copy, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (to < 0)
		return -errno;
	if (flock(to, LOCK_EX | LOCK_NB))
		err = -errno;
	if (!err)
		err = copy_bytes(fd, to, size);
	if (!err && rename(copy, path))
		err = -errno;
	if (!err)
		return to;
	unlink(copy);
	close(to);
	return err;
}

struct journal {
	int fd;	   /* -1: the file is not there yet */
	dev_t dev; /* with ino: which file it is */
	ino_t ino;
	char *path;    /* its name, or where it will be made */
	uint64_t size; /* end of the last committed frame */
	char *buf;     /* frame header and records */
	size_t len;    /* of buf in use; 0: nothing to commit */
	size_t cap;
	char *packed; /* the frame without zeros */
	size_t packed_cap;
	uint64_t replaced; /* see journal__replaced() */
};

/* Room for n more bytes at the end of the frame; NULL without memory. */
static char *frame_grow(struct journal *j, size_t n)
{
	size_t want = j->len + n;
	char *at;

	if (want > j->cap) {
		size_t cap = j->cap ? j->cap : 4096;
		char *buf;

		while (cap < want)
			cap *= 2;
		buf = realloc(j->buf, cap);
		if (!buf)
			return NULL;
		j->buf = buf;
		j->cap = cap;
	}
	at = j->buf + j->len;
	j->len = want;
	return at;
}

/* A record of len payload bytes for the caller to fill, all of them. */
static int record_new(struct journal *j, enum journal_type type, size_t len, void **payload)
{
	size_t start = j->len ? 0 : sizeof(struct frame_header);
	size_t padded = sizeof(struct record_header) + ((len + 7) & ~(size_t)7);
	struct record_header *h;
	char *p;

	if (len > JOURNAL_FRAME_MAX ||
	    j->len + start + padded > JOURNAL_FRAME_MAX + sizeof(struct frame_header))
		return -EMSGSIZE;
	p = frame_grow(j, start + padded);
	if (!p)
		return -ENOMEM;
	memset(p, 0, start);
	h = (struct record_header *)(p + start);
	memset(p + start + padded - 8, 0, 8);
	*h = (struct record_header){.type = type, .len = len};
	*payload = h + 1;
	return 0;
}

static void set_file(struct journal *j, int fd)
{
	struct stat st;

	j->fd = fd;
	if (fd >= 0 && !fstat(fd, &st)) {
		j->dev = st.st_dev;
		j->ino = st.st_ino;
	}
}

/* Takes fd over, if it succeeds. */
static int journal_new(struct journal **out, const char *path, int fd, uint64_t size)
{
	struct journal *j = calloc(1, sizeof(*j));

	if (!j)
		return -ENOMEM;
	j->path = strdup(path);
	if (!j->path) {
		free(j);
		return -ENOMEM;
	}
	set_file(j, fd);
	j->size = size;
	*out = j;
	return 0;
}

static int write_header(int fd)
{
	struct journal_header h = {.version = JOURNAL_VERSION, .bom = JOURNAL_BOM};
	ssize_t n;

	memcpy(h.magic, JOURNAL_MAGIC, sizeof(h.magic));
	n = pwrite(fd, &h, sizeof(h), 0);
	if (n < 0)
		return -errno;
	return n == sizeof(h) ? 0 : -ENOSPC;
}

static int make_file(struct journal *j)
{
	char first[4096];
	int fd, err;

	if (snprintf(first, sizeof(first), "%s" JOURNAL_UNBORN, j->path) >= (int)sizeof(first))
		return -ENAMETOOLONG;
	unlink(first);
	fd = open(first, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	if (flock(fd, LOCK_EX | LOCK_NB))
		err = -errno;
	else
		err = write_header(fd);
	/* the file gets its name only now: a jobprofd that starts meanwhile would take an empty
	 * journal without an owner for one that was left behind */
	if (!err && link(first, j->path))
		err = -errno;
	unlink(first);
	if (err)
		close(fd);
	else
		set_file(j, fd);
	return err;
}

int journal__prepare(struct journal **out, const char *path)
{
	return journal_new(out, path, -1, sizeof(struct journal_header));
}

int journal__create(struct journal **out, const char *path)
{
	struct journal *j;
	int err = journal__prepare(&j, path);

	if (err)
		return err;
	err = make_file(j);
	if (err)
		journal__free(j);
	else
		*out = j;
	return err;
}

/* Finds the end of the last good frame, and how many bytes of the rest are no zeros that were kept
 * free. */
static int find_end(int fd, uint64_t *end, uint64_t *torn)
{
	struct journal_reader *r;
	struct journal_record rec;
	int err;

	err = journal_reader__open(&r, fd);
	if (err)
		return err;
	do
		err = journal_reader__next(r, &rec);
	while (err > 0);
	*end = journal_reader__end(r);
	*torn = journal_reader__torn(r);
	journal_reader__free(r);
	return err;
}

static int repair(int fd, uint64_t *size, uint64_t *cut)
{
	struct stat st;
	int err;

	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EBADMSG;
	*size = sizeof(struct journal_header);
	/* Its maker was killed before the header was out. */
	if ((uint64_t)st.st_size < sizeof(struct journal_header)) {
		*cut = st.st_size;
		if (ftruncate(fd, 0))
			return -errno;
		return write_header(fd);
	}
	err = find_end(fd, size, cut);
	if (err)
		return err;
	return (uint64_t)st.st_size > *size && ftruncate(fd, *size) ? -errno : 0;
}

int journal__reopen(struct journal **out, const char *path, uint64_t *cut)
{
	uint64_t size = 0;
	int fd, err;

	*cut = 0;
	fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	if (flock(fd, LOCK_EX | LOCK_NB))
		err = -errno;
	else
		err = repair(fd, &size, cut);
	if (!err)
		err = journal_new(out, path, fd, size);
	if (err)
		close(fd);
	return err;
}

/* The file has become shorter than what was committed: its good frames stay. */
static int cut_to_good(struct journal *j, uint64_t *cut)
{
	uint64_t was = j->size, torn;
	int err = repair(j->fd, &j->size, &torn);

	if (err == -EBADMSG) { /* not even the header is left */
		j->size = sizeof(struct journal_header);
		err = ftruncate(j->fd, 0) ? -errno : write_header(j->fd);
	}
	*cut = was - j->size;
	return err;
}

int journal__secure(struct journal *j, uint64_t *cut)
{
	struct stat st;
	int fd, err = 0;
	bool there;

	*cut = 0;
	if (j->fd < 0)
		return 0;
	there = !lstat(j->path, &st) && st.st_dev == j->dev && st.st_ino == j->ino;
	if (!there && fstat(j->fd, &st))
		return -errno;
	if ((uint64_t)st.st_size < j->size)
		err = cut_to_good(j, cut);
	if (err || there)
		return err;
	fd = file_put_back(j->fd, j->path, j->size);
	if (fd < 0)
		return fd;
	close(j->fd);
	set_file(j, fd);
	return 1;
}

int journal__take_fd(struct journal *j)
{
	int fd = j->fd;

	j->fd = -1;
	return fd;
}

void journal__free(struct journal *j)
{
	if (!j)
		return;
	if (j->fd >= 0) {
		/* a child that has just been forked has the descriptor, too, until it runs */
		flock(j->fd, LOCK_UN);
		close(j->fd);
	}
	free(j->path);
	free(j->buf);
	free(j->packed);
	free(j);
}

static char *put_str(char *p, const char *s)
{
	size_t n = strlen(s) + 1;

	memcpy(p, s, n);
	return p + n;
}

/* table: for J_TABLE_ATTR, else 0. */
static int put_attr(struct journal *j, enum journal_type rec, uint32_t table, enum attr_type type,
		    const char *name, uint64_t value, const char *str)
{
	size_t nlen = strlen(name), slen = str ? strlen(str) + 1 : 0;
	struct attr_payload *a;
	void *p;
	int err;

	if (!nlen || nlen > JOURNAL_NAME_MAX || slen > JOURNAL_STR_MAX + 1 ||
	    table >= JOURNAL_TABLES_MAX)
		return -EINVAL;
	err = record_new(j, rec, sizeof(*a) + nlen + 1 + slen, &p);
	if (err)
		return err;
	a = p;
	a->type = type;
	a->table = table;
	a->value = value;
	p = put_str((char *)(a + 1), name);
	if (str)
		put_str(p, str);
	return 0;
}

int journal__attr_i32(struct journal *j, const char *name, int32_t v)
{
	return put_attr(j, J_ATTR, 0, ATTR_I32, name, (uint64_t)(int64_t)v, NULL);
}

int journal__attr_i64(struct journal *j, const char *name, int64_t v)
{
	return put_attr(j, J_ATTR, 0, ATTR_I64, name, (uint64_t)v, NULL);
}

int journal__attr_f64(struct journal *j, const char *name, double v)
{
	union cell c = {.f = v};

	return put_attr(j, J_ATTR, 0, ATTR_F64, name, c.u, NULL);
}

static int put_text(struct journal *j, enum journal_type rec, uint32_t table, const char *name,
		    const char *v)
{
	unsigned replaced;
	char *text;
	int err;

	if (strlen(v) > JOURNAL_STR_MAX)
		return -EINVAL;
	text = utf8__clean(v, JOURNAL_STR_MAX, &replaced);
	err = text ? put_attr(j, rec, table, ATTR_STR, name, 0, text) : -ENOMEM;
	if (!err)
		j->replaced += replaced;
	free(text);
	return err;
}

int journal__attr_str(struct journal *j, const char *name, const char *v)
{
	return put_text(j, J_ATTR, 0, name, v);
}

int journal__table_attr_i32(struct journal *j, uint32_t table, const char *name, int32_t v)
{
	return put_attr(j, J_TABLE_ATTR, table, ATTR_I32, name, (uint64_t)(int64_t)v, NULL);
}

int journal__table_attr_i64(struct journal *j, uint32_t table, const char *name, int64_t v)
{
	return put_attr(j, J_TABLE_ATTR, table, ATTR_I64, name, (uint64_t)v, NULL);
}

int journal__table_attr_str(struct journal *j, uint32_t table, const char *name, const char *v)
{
	return put_text(j, J_TABLE_ATTR, table, name, v);
}

uint64_t journal__replaced(const struct journal *j)
{
	return j->replaced;
}

int journal__meta(struct journal *j, const char *key, const char *v)
{
	return put_attr(j, J_META, 0, ATTR_STR, key, 0, v);
}

int journal__series(struct journal *j, uint16_t id, const char *name, bool grouped,
		    const struct column *const *cols, unsigned ncols)
{
	size_t len = sizeof(struct series_payload) + strlen(name) + 1;
	struct series_payload *s;
	void *p;
	char *at;
	int err;

	if (!*name || strlen(name) > JOURNAL_NAME_MAX || !ncols || ncols > JOURNAL_COLS_MAX ||
	    id >= JOURNAL_SERIES_MAX)
		return -EINVAL;
	for (unsigned i = 0; i < ncols; i++) {
		size_t n = strlen(cols[i]->name), u = strlen(cols[i]->unit);

		if (!n || n > JOURNAL_NAME_MAX || u > JOURNAL_NAME_MAX)
			return -EINVAL;
		len += 2 + n + 1 + u + 1;
	}
	err = record_new(j, J_SERIES, len, &p);
	if (err)
		return err;
	s = p;
	*s = (struct series_payload){.id = id, .ncols = ncols, .grouped = grouped};
	at = put_str((char *)(s + 1), name);
	for (unsigned i = 0; i < ncols; i++) {
		*at++ = cols[i]->type;
		*at++ = cols[i]->kind;
		at = put_str(at, cols[i]->name);
		at = put_str(at, cols[i]->unit);
	}
	return 0;
}

int journal__table(struct journal *j, uint32_t id, uint16_t series, const char *name)
{
	struct table_payload *t;
	void *p;
	int err;

	if (!*name || strlen(name) > JOURNAL_NAME_MAX || id >= JOURNAL_TABLES_MAX ||
	    series >= JOURNAL_SERIES_MAX)
		return -EINVAL;
	err = record_new(j, J_TABLE, sizeof(*t) + strlen(name) + 1, &p);
	if (err)
		return err;
	t = p;
	*t = (struct table_payload){.id = id, .series = series};
	put_str((char *)(t + 1), name);
	return 0;
}

int journal__row(struct journal *j, uint32_t table, const union cell *cells, unsigned ncells)
{
	struct row_payload *r;
	void *p;
	int err;

	if (!ncells || ncells > JOURNAL_COLS_MAX)
		return -EINVAL;
	err = record_new(j, J_ROW, sizeof(*r) + ncells * sizeof(*cells), &p);
	if (err)
		return err;
	r = p;
	r->table = table;
	r->ncells = ncells;
	memcpy(r + 1, cells, ncells * sizeof(*cells));
	return 0;
}

int journal__state(struct journal *j, const void *data, size_t len)
{
	void *p;
	int err = record_new(j, J_STATE, len, &p);

	if (!err && len)
		memcpy(p, data, len);
	return err;
}

int journal__end(struct journal *j)
{
	void *p;

	return record_new(j, J_END, 0, &p);
}

/* The frame's bytes without the zeros, its header filled; 0: that would not be less, or there is no
 * memory for it. */
static size_t pack_frame(struct journal *j)
{
	const struct frame_header *plain = (const struct frame_header *)j->buf;
	size_t bytes = j->len - sizeof(*plain), words;
	struct frame_header *h;
	uint64_t *at;

	if (j->packed_cap < j->len) {
		char *p = realloc(j->packed, j->cap);

		if (!p)
			return 0;
		j->packed = p;
		j->packed_cap = j->cap;
	}
	h = (struct frame_header *)j->packed;
	at = (uint64_t *)(h + 1);
	*at = bytes;
	words = zero_suppress__pack((const uint64_t *)(plain + 1), bytes / 8, at + 1,
				    bytes / 8 - 1);
	if (!words)
		return 0;
	bytes = (words + 1) * 8;
	h->len = bytes | JOURNAL_PACKED;
	h->crc = ~libdeflate_crc32(0, h + 1, bytes);
	return bytes + sizeof(*h);
}

static int put_frame(struct journal *j, const char *from, size_t len)
{
	size_t done = 0;

	while (done < len) {
		/* At an explicit place: whatever an earlier failure left behind is overwritten. */
		ssize_t n = pwrite(j->fd, from + done, len - done, (off_t)(j->size + done));
		int err = n < 0 ? -errno : -ENOSPC;

		if (n > 0)
			done += (size_t)n;
		if (n > 0 || err == -EINTR)
			continue;
		/* If this fails too, the torn frame ends the journal for readers all the same. */
		if (done && ftruncate(j->fd, (off_t)j->size))
			return -ENOSPC;
		return err;
	}
	return 0;
}

int journal__commit(struct journal *j)
{
	struct frame_header *h = (struct frame_header *)j->buf;
	size_t len = j->len;
	const char *from;
	int err = len && j->fd < 0 ? make_file(j) : 0;

	if (err || !len)
		return err;
	len = pack_frame(j);
	from = len ? j->packed : j->buf;
	if (!len) {
		len = j->len;
		h->len = len - sizeof(*h);
		h->crc = libdeflate_crc32(0, h + 1, h->len);
	}
	err = put_frame(j, from, len);
	if (err)
		return err;
	j->len = 0;
	j->size += len;
	return 0;
}

size_t journal__mark(const struct journal *j)
{
	return j->len;
}

void journal__discard(struct journal *j, size_t mark)
{
	j->len = mark;
}
