/* SPDX-License-Identifier: GPL-2.0-only */
#include "hdf5/h5record.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/io_full.h"
#include "hdf5/digest.h"

#define BLOCK H5RECORD_BLOCK

static uint64_t sum_of(const uint8_t *bytes)
{
	uint64_t sum = digest__add(1, bytes, BLOCK);

	return sum ? sum : 1;
}

static bool is_empty(const uint8_t *bytes)
{
	return !*bytes && !memcmp(bytes, bytes + 1, BLOCK - 1);
}

static bool make_room(struct h5record *r, uint64_t block)
{
	size_t room = r->room ? r->room : 16;
	uint64_t *v;

	while (room <= block)
		room *= 2;
	v = room > r->room ? realloc(r->sums, room * sizeof(*v)) : r->sums;
	if (!v)
		return false;
	memset(v + r->room, 0, (room - r->room) * sizeof(*v));
	r->sums = v;
	r->room = room;
	return true;
}

uint64_t h5record__add_rows(uint64_t rows, const void *bytes, size_t n)
{
	static const char heap[] = {'G', 'C', 'O', 'L'};

	return n >= sizeof(heap) && !memcmp(bytes, heap, sizeof(heap))
		       ? rows
		       : digest__add(rows, bytes, n);
}

void h5record__put(struct h5record *r, uint64_t block, const uint8_t *bytes)
{
	if (!make_room(r, block)) {
		r->lost = true;
		return;
	}
	r->sums[block] = sum_of(bytes);
	r->n = block < r->n ? r->n : block + 1;
}

bool h5record__has(const struct h5record *r, uint64_t block, const uint8_t *bytes)
{
	return block < r->n && r->sums[block] ? r->sums[block] == sum_of(bytes) : is_empty(bytes);
}

void h5record__cut(struct h5record *r, uint64_t bytes)
{
	size_t n = (bytes + BLOCK - 1) / BLOCK;

	if (n >= r->n)
		return;
	memset(r->sums + n, 0, (r->n - n) * sizeof(*r->sums));
	r->n = n;
}

void h5record__end(struct h5record *r, uint64_t bytes)
{
	r->bytes = bytes;
	r->complete = !r->lost;
}

void h5record__free(struct h5record *r)
{
	free(r->sums);
	*r = (struct h5record){0};
}

/* A whole block, with zeros behind the end of the file. */
static int read_block(int fd, uint64_t block, uint8_t *to)
{
	ssize_t n = pread_fully(fd, to, BLOCK, block * BLOCK);

	if (n < 0)
		return (int)n;
	memset(to + n, 0, BLOCK - (size_t)n);
	return 0;
}

int h5record__check(const struct h5record *r, int fd, unsigned i, unsigned n)
{
	const uint64_t blocks = (r->bytes + BLOCK - 1) / BLOCK, end = blocks * (i + 1) / n;
	uint8_t bytes[BLOCK];
	struct stat st;
	int err = fstat(fd, &st) ? -errno : 0;

	if (!err && (uint64_t)st.st_size != r->bytes)
		err = -EIO;
	for (uint64_t k = blocks * i / n; !err && k < end; k++) {
		err = read_block(fd, k, bytes);
		if (!err && !h5record__has(r, k, bytes))
			err = -EIO;
	}
	return err;
}
