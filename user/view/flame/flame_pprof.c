// SPDX-License-Identifier: GPL-2.0-or-later
/* The form of pprof: the message Profile of its profile.proto, gzipped. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/room.h"
#include "view/flame/flame.h"

/* Fields of the messages, by profile.proto. */
enum {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION,
	PROFILE_STRINGS
};
enum { VALUE_TYPE = 1, VALUE_UNIT };
enum { SAMPLE_LOCATION = 1, SAMPLE_VALUE };
enum { LOCATION_ID = 1, LOCATION_LINE = 4 };
enum { LINE_FUNCTION = 1 };
enum { FUNCTION_ID = 1, FUNCTION_NAME, FUNCTION_SYSTEM_NAME, FUNCTION_FILE };

struct bytes {
	unsigned char *v;
	size_t n, max;
	bool failed;
};

static void put_bytes(struct bytes *b, const void *from, size_t n)
{
	if (b->failed || room__make(&b->v, &b->max, b->n + n, 1)) {
		b->failed = true;
		return;
	}
	if (n)
		memcpy(b->v + b->n, from, n);
	b->n += n;
}

static void put_varint(struct bytes *b, uint64_t v)
{
	do {
		unsigned char c = (v & 0x7f) | (v > 0x7f ? 0x80 : 0);

		put_bytes(b, &c, 1);
		v >>= 7;
	} while (v);
}

static void put_number(struct bytes *b, unsigned field, uint64_t v)
{
	put_varint(b, field << 3);
	put_varint(b, v);
}

static void put_block(struct bytes *b, unsigned field, const void *from, size_t n)
{
	put_varint(b, field << 3 | 2);
	put_varint(b, n);
	put_bytes(b, from, n);
}

/* Appends a message to b as a field, and empties the message. */
static void put_message(struct bytes *b, unsigned field, struct bytes *message)
{
	put_block(b, field, message->v, message->n);
	b->failed |= message->failed;
	message->n = 0;
}

struct pprof {
	const struct flame *f;
	struct bytes out, message, inner, strings;
	struct id_table string_of, function_of;
	unsigned nstrings, nfunctions;
};

static uint64_t string_of(struct pprof *p, const char *text)
{
	uint64_t id = id__of_text(text);
	uint32_t *have = id_table__find(&p->string_of, id);

	if (have)
		return *have;
	if (!id_table__add(&p->string_of, id, p->nstrings))
		p->out.failed = true;
	put_block(&p->strings, PROFILE_STRINGS, text, strlen(text));
	return p->nstrings++;
}

static void put_type(struct pprof *p, const char *type, const char *unit)
{
	put_number(&p->message, VALUE_TYPE, string_of(p, type));
	put_number(&p->message, VALUE_UNIT, string_of(p, unit));
	put_message(&p->out, PROFILE_SAMPLE_TYPE, &p->message);
}

/* The location of a frame's function: both have the same number. */
static uint64_t location_of(struct pprof *p, const struct flame_frame *n)
{
	uint64_t id = id__mix(id__of_text(n->name), n->kind), number = p->nfunctions + 1;
	uint32_t *have = id_table__find(&p->function_of, id);
	const char *file = n->kind == FLAME_KERNEL ? "[kernel]" : flame__file(n);

	if (have)
		return *have;
	if (!id_table__add(&p->function_of, id, (uint32_t)number))
		p->out.failed = true;
	p->nfunctions++;
	put_number(&p->message, FUNCTION_ID, number);
	put_number(&p->message, FUNCTION_NAME, string_of(p, n->name));
	put_number(&p->message, FUNCTION_SYSTEM_NAME, string_of(p, n->name));
	put_number(&p->message, FUNCTION_FILE, string_of(p, file ? file : ""));
	put_message(&p->out, PROFILE_FUNCTION, &p->message);
	put_number(&p->inner, LINE_FUNCTION, number);
	put_number(&p->message, LOCATION_ID, number);
	put_message(&p->message, LOCATION_LINE, &p->inner);
	put_message(&p->out, PROFILE_LOCATION, &p->message);
	return number;
}

static void put_sample(struct pprof *p, uint32_t frame, const uint32_t *path, unsigned n)
{
	const struct flame_frame *at = &p->f->frames[frame];
	struct bytes sample = {};

	for (unsigned i = n; i-- > 0;) /* the innermost first */
		put_number(&sample, SAMPLE_LOCATION, location_of(p, &p->f->frames[path[i]]));
	for (unsigned r = 0; r < p->f->runs; r++) {
		put_number(&sample, SAMPLE_VALUE, (uint64_t)llrint(at->self_n[r]));
		put_number(&sample, SAMPLE_VALUE, (uint64_t)llrint(at->self_s[r] * 1e9));
	}
	put_message(&p->out, PROFILE_SAMPLE, &sample);
	free(sample.v);
}

static void put_profile(struct pprof *p)
{
	uint32_t *path = calloc(p->f->n + 1, sizeof(*path));

	p->out.failed |= !path;
	string_of(p, "");
	for (unsigned r = 0; r < p->f->runs; r++) {
		put_type(p, p->f->off_cpu ? "gaps" : "samples", "count");
		put_type(p, p->f->off_cpu ? "blocked" : "cpu", "nanoseconds");
	}
	for (uint32_t i = 1; path && i < p->f->n; i++)
		if (p->f->frames[i].self_n[0] + p->f->frames[i].self_n[1] > 0)
			put_sample(p, i, path, flame__path(p->f, i, path));
	put_bytes(&p->out, p->strings.v, p->strings.n);
	p->out.failed |= p->strings.failed;
	free(path);
}

static int gzip(const struct bytes *in, unsigned char **out, size_t *len)
{
	z_stream z = {};
	int err = deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK ? 0
											  : -ENOMEM;
	size_t room = deflateBound(&z, in->n);

	*out = err ? NULL : malloc(room);
	if (*out) {
		z.next_in = in->v;
		z.avail_in = (uInt)in->n;
		z.next_out = *out;
		z.avail_out = (uInt)room;
		err = deflate(&z, Z_FINISH) == Z_STREAM_END ? 0 : -EIO;
		*len = z.total_out;
	}
	deflateEnd(&z);
	return *out ? err : -ENOMEM;
}

int flame__pprof(const struct flame *f, unsigned char **out, size_t *len)
{
	struct pprof p = {.f = f};
	int err;

	put_profile(&p);
	err = p.out.failed ? -ENOMEM : gzip(&p.out, out, len);
	free(p.out.v);
	free(p.message.v);
	free(p.inner.v);
	free(p.strings.v);
	id_table__free(&p.string_of);
	id_table__free(&p.function_of);
	return err;
}
