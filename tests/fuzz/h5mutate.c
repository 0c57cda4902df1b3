/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the structures of an HDF5 file, changes some of their fields, corrects their checksums. */
#include "tests/fuzz/h5mutate.h"

#include <stdbool.h>
#include <string.h>

#define SPOTS_MAX 4096
#define SUPER	  "\211HDF\r\n\032\n"

/* A structure, or a message of an object header: bytes [at, at + len) are its fields. */
struct spot {
	uint32_t at, len;
	bool message;
};

struct map {
	uint8_t *p;
	size_t len;
	struct spot spots[SPOTS_MAX];
	unsigned n;
	uint64_t random;
};

static uint32_t next(struct map *m)
{
	m->random ^= m->random << 13;
	m->random ^= m->random >> 7;
	m->random ^= m->random << 17;
	return m->random >> 24;
}

static uint64_t get(const struct map *m, size_t at, unsigned bytes)
{
	uint64_t v = 0;

	if (at + bytes <= m->len)
		memcpy(&v, m->p + at, bytes);
	return v;
}

static void put(struct map *m, size_t at, unsigned bytes, uint64_t v)
{
	if (at + bytes <= m->len)
		memcpy(m->p + at, &v, bytes);
}

static void add_spot(struct map *m, size_t at, size_t len, bool message)
{
	if (m->n == SPOTS_MAX || at >= m->len)
		return;
	if (len > m->len - at)
		len = m->len - at;
	if (len)
		m->spots[m->n++] = (struct spot){at, len, message};
}

/* Bob Jenkins' lookup3 over bytes, as HDF5 uses it. */
#define ROT(x, k) (((x) << (k)) | ((x) >> (32 - (k))))

static uint32_t lookup3(const uint8_t *p, size_t len)
{
	uint32_t a = 0xdeadbeef + (uint32_t)len, b = a, c = a, w[3];

	for (; len > 12; len -= 12, p += 12) {
		memcpy(w, p, 12);
		a += w[0], b += w[1], c += w[2];
		a -= c, a ^= ROT(c, 4), c += b;
		b -= a, b ^= ROT(a, 6), a += c;
		c -= b, c ^= ROT(b, 8), b += a;
		a -= c, a ^= ROT(c, 16), c += b;
		b -= a, b ^= ROT(a, 19), a += c;
		c -= b, c ^= ROT(b, 4), b += a;
	}
	if (!len)
		return c;
	memset(w, 0, sizeof(w));
	memcpy(w, p, len);
	a += w[0], b += w[1], c += w[2];
	c ^= b, c -= ROT(b, 14);
	a ^= c, a -= ROT(c, 11);
	b ^= a, b -= ROT(a, 25);
	c ^= b, c -= ROT(b, 16);
	a ^= c, a -= ROT(c, 4);
	b ^= a, b -= ROT(a, 14);
	c ^= b, c -= ROT(b, 24);
	return c;
}

static void seal(struct map *m, size_t at, size_t len)
{
	if (at < m->len && len <= m->len - at && len <= 65536)
		put(m, at + len, 4, lookup3(m->p + at, len));
}

/* Offset of the first message of a version 2 header and, in *end, where its checksum is. */
static size_t header2(const struct map *m, size_t at, size_t *end)
{
	uint8_t flags = get(m, at + 5, 1);
	size_t p = at + 6 + (flags & 0x20 ? 16 : 0) + (flags & 0x10 ? 4 : 0);
	unsigned width = 1u << (flags & 3);

	*end = p + width + get(m, p, width);
	return p + width;
}

/* Messages of a version 2 header in [from, end): spots, or checksums of continuations. */
static void messages2(struct map *m, size_t from, size_t end, uint8_t flags, bool sealing)
{
	unsigned head = flags & 4 ? 6 : 4;

	for (unsigned n = 0; n < 256 && from + head <= end && from + head <= m->len; n++) {
		size_t size = get(m, from + 1, 2), next_at = get(m, from + head, 8);
		size_t next_len = get(m, from + head + 8, 8);

		if (!sealing)
			add_spot(m, from, head + size, true);
		if (get(m, from, 1) == 0x10 && next_len > 8 && next_len < 65536 &&
		    next_at < m->len) {
			if (sealing)
				seal(m, next_at, next_len - 4);
			else if (n < 255 && next_at != from)
				add_spot(m, next_at, next_len, false);
		}
		from += head + size;
	}
}

static void map_header2(struct map *m, size_t at, bool sealing)
{
	size_t end, from = header2(m, at, &end);

	messages2(m, from, end, get(m, at + 5, 1), sealing);
	if (sealing && end > at)
		seal(m, at, end - at);
	else
		add_spot(m, at, 24, false);
}

/* Version 1 headers have no signature. */
static bool looks_like_header1(const struct map *m, size_t at)
{
	unsigned n = get(m, at + 2, 2), size = get(m, at + 8, 4);

	return get(m, at, 2) == 1 && n && n < 256 && get(m, at + 4, 4) < 64 && size >= 8 &&
	       size < 65536 && !get(m, at + 12, 4) && get(m, at + 16, 2) < 0x19;
}

static void map_header1(struct map *m, size_t at)
{
	size_t from = at + 16, end = from + get(m, at + 8, 4);

	add_spot(m, at, 16, false);
	for (unsigned n = 0; n < 256 && from + 8 <= end && from + 8 <= m->len; n++) {
		size_t size = get(m, from + 2, 2);

		add_spot(m, from, 8 + size, true);
		if (get(m, from, 2) == 0x10)
			add_spot(m, get(m, from + 8, 8), get(m, from + 16, 8) % 65536, true);
		from += 8 + size;
	}
}

static void seal_btree2(struct map *m, size_t at)
{
	size_t root = get(m, at + 16, 8), bytes = get(m, at + 24, 2) * get(m, at + 10, 2);

	seal(m, at, 34);
	if (root && root < m->len && bytes < 65536)
		seal(m, root, 6 + bytes);
}

static const struct {
	const char *mark;
	unsigned len; /* of the fields worth changing */
} marks[] = {
	{"TREE", 560}, {"SNOD", 648}, {"HEAP", 160}, {"OCHK", 64}, {"FRHP", 146},
	{"FHDB", 96},  {"FHIB", 96},  {"BTHD", 38},  {"BTLF", 96}, {"BTIN", 96},
	{"GCOL", 64},  {"FAHD", 32},  {"FADB", 64},  {"EAHD", 80},
};

static void map_file(struct map *m)
{
	for (size_t at = 0; at + 16 <= m->len; at++) {
		if (!memcmp(m->p + at, "OHDR", 4))
			map_header2(m, at, false);
		else if (!memcmp(m->p + at, SUPER, 8))
			add_spot(m, at, 96, false);
		else if (at % 8 == 0 && looks_like_header1(m, at))
			map_header1(m, at);
		for (unsigned i = 0; i < sizeof(marks) / sizeof(*marks); i++)
			if (!memcmp(m->p + at, marks[i].mark, 4))
				add_spot(m, at, marks[i].len, false);
	}
}

void h5mutate__checksums(uint8_t *file, size_t len)
{
	struct map m = {.p = file, .len = len};

	if (len >= 48 && !memcmp(file, SUPER, 8) && file[8] >= 2)
		seal(&m, 0, 44);
	for (size_t at = 0; at + 16 <= len; at++) {
		if (!memcmp(file + at, "OHDR", 4))
			map_header2(&m, at, true);
		else if (!memcmp(file + at, "BTHD", 4))
			seal_btree2(&m, at);
		else if (!memcmp(file + at, "FRHP", 4))
			seal(&m, at, 142);
	}
}

static uint64_t odd_value(struct map *m)
{
	static const uint64_t values[] = {
		0,	    1,
		2,	    3,
		7,	    8,
		0x7f,	    0x80,
		0xff,	    0x100,
		0x7fff,	    0x8000,
		0xffff,	    0x10000,
		0x7fffffff, 0x80000000,
		0xffffffff, 0x100000000,
		UINT64_MAX, INT64_MAX,
		1ULL << 60, 1ULL << 40,
		4096,	    1024,
		65536,	    1040ULL << 20,
		40,	    48,
		1ULL << 63, 16,
	};

	return values[next(m) % (sizeof(values) / sizeof(*values))];
}

/* Structures point at each other: loops, and one thing where another is expected. */
static void point_elsewhere(struct map *m, const struct spot *s)
{
	const struct spot *to = &m->spots[next(m) % m->n];
	size_t at = s->at + (next(m) % s->len & ~7u);

	put(m, at, 8, to->at);
}

static void set_field(struct map *m, const struct spot *s)
{
	unsigned bytes = 1u << next(m) % 4;
	size_t at = s->at + next(m) % s->len;

	put(m, at, bytes, odd_value(m));
}

static void nudge_field(struct map *m, const struct spot *s)
{
	unsigned bytes = 1u << next(m) % 4;
	size_t at = s->at + next(m) % s->len;

	put(m, at, bytes, get(m, at, bytes) + next(m) % 17 - 8);
}

static void flip_bit(struct map *m, const struct spot *s)
{
	size_t at = s->at + next(m) % s->len;

	put(m, at, 1, get(m, at, 1) ^ 1u << next(m) % 8);
}

static void overlay(struct map *m, const struct spot *s)
{
	const struct spot *from = &m->spots[next(m) % m->n];
	size_t len = from->len < s->len ? from->len : s->len;
	size_t off = next(m) % len, n = 1 + next(m) % (len - off);

	memmove(m->p + s->at + off, m->p + from->at + off, n);
}

/* The first bytes of a message are its type, size and flags; those after them its version. */
static void change_message(struct map *m, const struct spot *s)
{
	put(m, s->at + next(m) % (s->len < 16 ? s->len : 16), 1, next(m) % 32);
}

size_t h5mutate(uint8_t *file, size_t len, uint32_t seed)
{
	static void (*const ways[])(struct map *, const struct spot *) = {
		set_field,   set_field, point_elsewhere, nudge_field,
		nudge_field, flip_bit,	overlay,	 change_message,
	};
	static struct map m;

	m = (struct map){.p = file, .len = len, .random = seed * 2654435761ULL + 88172645463325252};
	map_file(&m);
	if (!m.n)
		return len;
	for (unsigned n = 1 + next(&m) % 4; n > 0; n--) {
		const struct spot *s = &m.spots[next(&m) % m.n];

		/* Most of what is decoded, and most faults, are in messages. */
		for (unsigned i = 0; i < 4 && !s->message && next(&m) % 2; i++)
			s = &m.spots[next(&m) % m.n];
		ways[next(&m) % (sizeof(ways) / sizeof(*ways))](&m, s);
	}
	if (next(&m) % 32 == 0)
		len = next(&m) % len;
	h5mutate__checksums(file, len);
	return len;
}
