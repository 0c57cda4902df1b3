/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads a journal. A frame is used as a whole or not at all: it is read, its crc and then every
 * record in it are checked, and only then does the caller get its records.
 */
#include "journal/journal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <libdeflate.h>

#include "base/io_full.h"
#include "journal/journal_format.h"
#include "journal/zero_suppress.h"

/* A hostile length must not cost memory that the file does not back. */
#define READ_STEP (1u << 20)

/* Bytes that are read in search of frames behind a bad one: so many, and so many times what is
 * there. */
#define SEARCH_MIN   (64ull << 20)
#define SEARCH_SHARE 4

struct journal_reader {
	int fd;
	uint64_t good; /* file offset after the last good frame */
	char *buf;     /* records of the frame in hand */
	size_t cap;
	size_t len;
	size_t pos;
	char *other; /* where the frame is unpacked to; then the two change places */
	size_t other_cap;
	bool done;
	uint64_t torn;
	uint64_t torn_rows;
	struct column cols[JOURNAL_COLS_MAX];
};

/* A payload being taken apart: what is left of it. */
struct cursor {
	const char *p;
	size_t left;
};

static const void *take_bytes(struct cursor *c, size_t n)
{
	const void *p = c->p;

	if (c->left < n)
		return NULL;
	c->p += n;
	c->left -= n;
	return p;
}

static const char *take_str(struct cursor *c, size_t max)
{
	size_t n = strnlen(c->p, c->left);

	if (n == c->left || n > max)
		return NULL;
	return take_bytes(c, n + 1);
}

static bool parse_attr(struct cursor *c, struct journal_record *rec)
{
	const struct attr_payload *a = take_bytes(c, sizeof(*a));

	if (!a || a->type > ATTR_STR || a->table >= JOURNAL_TABLES_MAX)
		return false;
	rec->id = a->table;
	rec->attr_type = a->type;
	rec->value.u = a->value;
	rec->name = take_str(c, JOURNAL_NAME_MAX);
	if (!rec->name || !*rec->name)
		return false;
	if (a->type != ATTR_STR)
		return rec->type != J_META;
	rec->str = take_str(c, JOURNAL_STR_MAX);
	return rec->str != NULL;
}

static bool parse_series(struct journal_reader *r, struct cursor *c, struct journal_record *rec)
{
	const struct series_payload *s = take_bytes(c, sizeof(*s));

	if (!s || !s->ncols || s->ncols > JOURNAL_COLS_MAX || s->id >= JOURNAL_SERIES_MAX)
		return false;
	rec->id = s->id;
	rec->grouped = s->grouped;
	rec->ncols = s->ncols;
	rec->cols = r->cols;
	rec->name = take_str(c, JOURNAL_NAME_MAX);
	if (!rec->name || !*rec->name)
		return false;
	for (unsigned i = 0; i < s->ncols; i++) {
		const uint8_t *b = take_bytes(c, 2);
		struct column *col = &r->cols[i];

		if (!b || b[0] > COL_F64 || b[1] > COL_CUMULATIVE)
			return false;
		*col = (struct column){.type = b[0], .kind = b[1], .how = HOW_GIVEN, .scale = 1};
		col->name = take_str(c, JOURNAL_NAME_MAX);
		if (!col->name || !*col->name)
			return false;
		col->unit = take_str(c, JOURNAL_NAME_MAX);
		if (!col->unit)
			return false;
		col->doc = col->blind = "";
	}
	return true;
}

static bool parse_table(struct cursor *c, struct journal_record *rec)
{
	const struct table_payload *t = take_bytes(c, sizeof(*t));

	if (!t || t->id >= JOURNAL_TABLES_MAX || t->series >= JOURNAL_SERIES_MAX)
		return false;
	rec->id = t->id;
	rec->series = t->series;
	rec->name = take_str(c, JOURNAL_NAME_MAX);
	return rec->name && *rec->name;
}

static bool parse_row(struct cursor *c, struct journal_record *rec)
{
	const struct row_payload *r = take_bytes(c, sizeof(*r));

	if (!r || !r->ncells || r->ncells > JOURNAL_COLS_MAX || r->table >= JOURNAL_TABLES_MAX)
		return false;
	rec->id = r->table;
	rec->ncols = r->ncells;
	rec->cells = take_bytes(c, r->ncells * sizeof(union cell));
	return rec->cells != NULL;
}

static bool parse_frame(struct journal_reader *r, struct cursor c, struct journal_record *rec)
{
	switch (rec->type) {
	case J_ATTR:
	case J_TABLE_ATTR:
	case J_META:
		return parse_attr(&c, rec);
	case J_SERIES:
		return parse_series(r, &c, rec);
	case J_TABLE:
		return parse_table(&c, rec);
	case J_ROW:
		return parse_row(&c, rec);
	case J_STATE:
		rec->blob = c.p;
		rec->blob_len = c.left;
		return true;
	case J_END:
		return true;
	}
	return false;
}

/* The record at r->pos, which is moved behind it. */
static bool next_record(struct journal_reader *r, struct journal_record *rec)
{
	struct cursor c = {r->buf + r->pos, r->len - r->pos};
	const struct record_header *h = take_bytes(&c, sizeof(*h));
	size_t padded;

	memset(rec, 0, sizeof(*rec));
	if (!h || h->len > JOURNAL_FRAME_MAX)
		return false;
	padded = ((size_t)h->len + 7) & ~(size_t)7;
	if (padded > c.left)
		return false;
	r->pos += sizeof(*h) + padded;
	c.left = h->len;
	rec->type = h->type;
	return parse_frame(r, c, rec);
}

static int frame_read(struct journal_reader *r, const struct frame_header *h)
{
	size_t len = h->len & ~JOURNAL_PACKED;

	r->len = 0;
	while (r->len < len) {
		size_t step = len - r->len < READ_STEP ? len - r->len : READ_STEP;
		ssize_t n;

		if (r->len + step > r->cap) {
			char *buf = realloc(r->buf, r->len + step);

			if (!buf)
				return -ENOMEM;
			r->buf = buf;
			r->cap = r->len + step;
		}
		n = pread_full(r->fd, r->buf + r->len, step, r->good + sizeof(*h) + r->len);
		if (n < 0)
			return n;
		r->len += n;
		if ((size_t)n < step)
			break;
	}
	return 0;
}

/*
 * Makes r->buf the records of a packed frame, or as many of them as its bytes lead to. Each packed
 * word stands for 64 at most, so that memory goes by what the file holds. 0; -EBADMSG: not all
 * that it says is there; -ENOMEM.
 */
static int frame_unpack(struct journal_reader *r)
{
	const uint64_t *in = (const uint64_t *)r->buf;
	size_t len = r->len / 8, want, words, got, used, cap = r->cap;
	char *buf = r->buf;

	r->len = 0;
	if (len < 2 || !in[0] || in[0] % 8 || in[0] > JOURNAL_FRAME_MAX)
		return -EBADMSG;
	want = in[0] / 8;
	words = want < (len - 1) * 64 ? want : (len - 1) * 64;
	if (words * 8 > r->other_cap) {
		char *p = realloc(r->other, words * 8);

		if (!p)
			return -ENOMEM;
		r->other = p;
		r->other_cap = words * 8;
	}
	got = zero_suppress__unpack(in + 1, len - 1, (uint64_t *)r->other, words, &used);
	r->buf = r->other;
	r->cap = r->other_cap;
	r->other = buf;
	r->other_cap = cap;
	r->len = got * 8;
	return got == want && used == len - 1 ? 0 : -EBADMSG;
}

static bool frame_intact(const struct journal_reader *r, const struct frame_header *h)
{
	uint32_t len = h->len & ~JOURNAL_PACKED, crc = h->len & JOURNAL_PACKED ? ~h->crc : h->crc;

	return r->len == len && libdeflate_crc32(0, r->buf, len) == crc;
}

static bool records_valid(struct journal_reader *r)
{
	struct journal_record rec;

	for (r->pos = 0; r->pos < r->len;)
		if (!next_record(r, &rec))
			return false;
	return true;
}

/* Row headers in the frame in hand, up to the first header that is none. */
static uint64_t count_rows(const struct journal_reader *r)
{
	struct record_header h;
	uint64_t rows = 0;

	for (size_t pos = 0; pos + sizeof(h) <= r->len; pos += ((size_t)h.len + 15) & ~(size_t)7) {
		memcpy(&h, r->buf + pos, sizeof(h));
		if (h.type < J_ATTR || h.type > J_TABLE_ATTR || h.zero || h.len > JOURNAL_FRAME_MAX)
			break;
		rows += h.type == J_ROW;
	}
	return rows;
}

/* Older versions kept zeros behind the last frame while a journal grew. */
static bool is_zeros(const struct journal_reader *r)
{
	char part[4096];
	uint64_t at = r->good;
	ssize_t n, i;

	while ((n = pread_full(r->fd, part, sizeof(part), at)) > 0) {
		for (i = 0; i < n; i++)
			if (part[i])
				return false;
		at += n;
	}
	return !n;
}

static bool length_possible(const struct frame_header *h)
{
	uint32_t len = h->len & ~JOURNAL_PACKED;

	return len && len % 8 == 0 && len <= JOURNAL_FRAME_MAX;
}

/* The frame at r->good. 1: it is good, and r->good is behind it; 0: it is not; -ENODATA: the file
 * ends there; -errno. */
static int frame_load(struct journal_reader *r)
{
	struct frame_header h;
	uint32_t len;
	bool intact;
	ssize_t n;
	int err;

	r->len = 0;
	n = pread_full(r->fd, &h, sizeof(h), r->good);
	if (n <= 0)
		return n ? (int)n : -ENODATA;
	if (n != sizeof(h) || !length_possible(&h))
		return 0;
	len = h.len & ~JOURNAL_PACKED;
	err = frame_read(r, &h);
	if (err)
		return err;
	intact = frame_intact(r, &h);
	if (h.len & JOURNAL_PACKED)
		err = frame_unpack(r);
	if (err && err != -EBADMSG)
		return err;
	if (err || !intact || !records_valid(r))
		return 0;
	r->good += sizeof(h) + len;
	r->pos = 0;
	return 1;
}

/*
 * The next place at or behind r->good, before end, where a good frame may begin: all frames begin
 * at a multiple of 8. *budget is how many bytes may still be read in search of frames.
 */
static bool find_frame(struct journal_reader *r, uint64_t end, uint64_t *budget)
{
	struct frame_header part[512];

	for (;;) {
		ssize_t n = pread_full(r->fd, part, sizeof(part), r->good);

		if (n < (ssize_t)sizeof(*part) || *budget < sizeof(part))
			return false;
		*budget -= sizeof(part);
		for (size_t i = 0; i < n / sizeof(*part); i++, r->good += sizeof(*part)) {
			uint64_t len = part[i].len & ~JOURNAL_PACKED;

			if (!length_possible(&part[i]) || r->good + sizeof(*part) + len > end)
				continue;
			if (*budget < len)
				return false;
			*budget -= len;
			return true;
		}
	}
}

/* Rows of the bad frame at r->good, which is in hand, and of the frames behind it, as far as they
 * can be found. */
static uint64_t count_lost_rows(struct journal_reader *r, uint64_t end)
{
	/* lengths that lie must not cost more time than reading the file does */
	uint64_t budget = SEARCH_MIN + SEARCH_SHARE * (end - r->good), rows = count_rows(r);

	r->good += sizeof(struct frame_header);
	while (find_frame(r, end, &budget)) {
		int got = frame_load(r);

		if (got < 0)
			break;
		if (got)
			rows += count_rows(r);
		else
			r->good += sizeof(struct frame_header);
	}
	return rows;
}

/* What the file has behind the last good frame; only asked when there is something. */
static void note_torn(struct journal_reader *r)
{
	uint64_t good = r->good;
	struct stat st;

	if (fstat(r->fd, &st) || (uint64_t)st.st_size <= good || is_zeros(r))
		return;
	r->torn = st.st_size - good;
	r->torn_rows = count_lost_rows(r, st.st_size);
	r->good = good;
	r->len = 0;
}

/* 1: a good frame in r->buf; 0: the end. */
static int frame_next(struct journal_reader *r)
{
	int got = frame_load(r);

	if (!got)
		note_torn(r);
	return got == -ENODATA ? 0 : got;
}

int journal_reader__open(struct journal_reader **out, int fd)
{
	struct journal_header h;
	struct journal_reader *r;
	ssize_t n;

	n = pread_full(fd, &h, sizeof(h), 0);
	if (n < 0)
		return n;
	if (n != sizeof(h) || memcmp(h.magic, JOURNAL_MAGIC, sizeof(h.magic)) ||
	    h.version != JOURNAL_VERSION || h.bom != JOURNAL_BOM)
		return -EBADMSG;
	r = calloc(1, sizeof(*r));
	if (!r)
		return -ENOMEM;
	r->fd = fd;
	r->good = sizeof(h);
	*out = r;
	return 0;
}

int journal_reader__next(struct journal_reader *r, struct journal_record *rec)
{
	int err;

	if (!r->done && r->pos >= r->len) {
		err = frame_next(r);
		if (err < 0)
			return err;
		r->done = !err;
	}
	if (r->done)
		return 0;
	return next_record(r, rec);
}

uint64_t journal_reader__end(const struct journal_reader *r)
{
	return r->good;
}

uint64_t journal_reader__torn(const struct journal_reader *r)
{
	return r->torn;
}

uint64_t journal_reader__torn_rows(const struct journal_reader *r)
{
	return r->torn_rows;
}

void journal_reader__free(struct journal_reader *r)
{
	if (!r)
		return;
	free(r->buf);
	free(r->other);
	free(r);
}
