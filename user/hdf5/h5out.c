/* SPDX-License-Identifier: GPL-2.0-only */
#include "hdf5/h5out.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io_full.h"
#include "hdf5/h5driver.h"

#define BLOCK  H5RECORD_BLOCK
#define BLOCKS 16u
#define HINTS  256u

/* What is dirty is one run of bytes: those between two writes are known, for a block is whole. */
struct block {
	haddr_t at; /* HADDR_UNDEF: none */
	size_t from, to;
	size_t known; /* bytes that are in memory: what follows has not been written, and is zeros
		       */
	uint64_t used;
	uint8_t *bytes;
};

struct h5out {
	H5FD_t pub; /* the library's, at the beginning */
	int fd;
	haddr_t stored; /* bytes of the file itself */
	haddr_t eof;	/* with those that are kept */
	haddr_t eoa;
	uint64_t clock;
	struct h5record *record; /* NULL: nobody asks */
	struct block *last;
	uint8_t hint[HINTS]; /* of a block's number, where it may be */
	struct block blocks[BLOCKS];
	uint8_t bytes[BLOCKS][BLOCK];
};

static void know(struct block *b, size_t to)
{
	if (to <= b->known)
		return;
	memset(b->bytes + b->known, 0, to - b->known);
	b->known = to;
}

static void record(struct h5out *f, struct block *b)
{
	if (!f->record)
		return;
	know(b, BLOCK);
	h5record__put(f->record, b->at / BLOCK, b->bytes);
}

static int store(struct h5out *f, struct block *b)
{
	if (b->from == b->to)
		return 0;
	record(f, b);
	if (pwrite_fully(f->fd, b->bytes + b->from, b->to - b->from, b->at + b->from)) {
		h5driver__say(H5E_WRITEERROR, "write");
		return -1;
	}
	if (b->at + b->to > f->stored)
		f->stored = b->at + b->to;
	b->from = b->to = 0;
	return 0;
}

/* Behind the end of the file are zeros. */
static int load(struct h5out *f, struct block *b, haddr_t at)
{
	size_t there = f->stored > at ? f->stored - at : 0;
	ssize_t got = pread_fully(f->fd, b->bytes, there < BLOCK ? there : BLOCK, at);

	if (got < 0) {
		h5driver__say(H5E_READERROR, "read");
		return -1;
	}
	b->known = (size_t)got;
	if (f->record)
		know(b, BLOCK);
	if (f->record && !h5record__has(f->record, at / BLOCK, b->bytes)) {
		errno = EIO; /* or it would be written again, and counted as right */
		h5driver__say(H5E_READERROR, "reading back");
		return -1;
	}
	b->at = at;
	return 0;
}

static struct block *find(struct h5out *f, haddr_t at)
{
	struct block *b = &f->blocks[f->hint[at / BLOCK % HINTS]];

	if (b->at == at)
		return b;
	for (unsigned i = 0; i < BLOCKS; i++)
		if (f->blocks[i].at == at)
			return &f->blocks[i];
	return NULL;
}

/* The one that was not used for longest, with what is there now; NULL: it could not be stored, or
 * the new one not be read. */
static struct block *replace(struct h5out *f, haddr_t at)
{
	struct block *b = &f->blocks[0];

	for (unsigned i = 1; i < BLOCKS; i++)
		b = f->blocks[i].used < b->used ? &f->blocks[i] : b;
	f->last = NULL;
	if (store(f, b))
		return NULL;
	b->at = HADDR_UNDEF;
	return load(f, b, at) ? NULL : b;
}

/* The block that begins there; NULL: another could not be stored, or this one not be read. */
static struct block *block_at(struct h5out *f, haddr_t at)
{
	struct block *b;

	if (f->last && f->last->at == at)
		return f->last;
	b = find(f, at);
	if (!b)
		b = replace(f, at);
	if (!b)
		return NULL;
	b->used = ++f->clock;
	f->hint[at / BLOCK % HINTS] = (uint8_t)(b - f->blocks);
	f->last = b;
	return b;
}

/* A file that is not made anew has bytes that are in no record. */
static struct h5record *record_of(hid_t fapl, unsigned flags)
{
	struct h5record *const *info = H5Pget_driver_info(fapl);

	return info && flags & H5F_ACC_TRUNC ? *info : NULL;
}

static H5FD_t *on_open(const char *name, unsigned flags, hid_t fapl, haddr_t max)
{
	int how = O_RDWR | O_CLOEXEC | (flags & H5F_ACC_TRUNC ? O_TRUNC : 0) |
		  (flags & H5F_ACC_CREAT ? O_CREAT : 0) | (flags & H5F_ACC_EXCL ? O_EXCL : 0);
	int fd = flags & H5F_ACC_RDWR ? open(name, how, 0666) : -1;
	struct h5out *f = fd < 0 ? NULL : malloc(sizeof(*f));
	struct stat st;

	if (f && !fstat(fd, &st)) {
		memset(f, 0, offsetof(struct h5out, bytes)); /* megabytes that may not be needed */
		f->fd = fd;
		f->stored = f->eof = (haddr_t)st.st_size;
		f->record = record_of(fapl, flags);
		for (unsigned i = 0; i < BLOCKS; i++)
			f->blocks[i] = (struct block){.at = HADDR_UNDEF, .bytes = f->bytes[i]};
		return &f->pub;
	}
	h5driver__say(H5E_CANTOPENFILE, "open");
	free(f);
	if (fd >= 0)
		close(fd);
	return NULL;
}

static herr_t on_flush(H5FD_t *file, hid_t dxpl, hbool_t closing)
{
	struct h5out *f = (struct h5out *)file;

	for (unsigned i = 0; i < BLOCKS; i++)
		if (store(f, &f->blocks[i]))
			return -1;
	return 0;
}

/* What is behind the end of the file that it shall have is not in its last block. */
static int cut(struct h5out *f)
{
	size_t there = f->eoa % BLOCK;
	struct block *b = there && f->eoa < f->stored ? block_at(f, f->eoa - there) : NULL;

	if (there && f->eoa < f->stored && !b)
		return -1;
	if (b && b->known > there)
		b->known = there;
	for (unsigned i = 0; i < BLOCKS; i++)
		if (f->blocks[i].at != HADDR_UNDEF && f->blocks[i].at >= f->eoa)
			f->blocks[i].at = HADDR_UNDEF;
	f->last = NULL;
	if (f->record)
		h5record__cut(f->record, f->eoa);
	if (b)
		record(f, b);
	return 0;
}

static herr_t on_truncate(H5FD_t *file, hid_t dxpl, hbool_t closing)
{
	struct h5out *f = (struct h5out *)file;

	if (f->eof == f->eoa && f->stored == f->eoa)
		return 0;
	if (on_flush(file, dxpl, closing) || cut(f))
		return -1;
	if (ftruncate(f->fd, (off_t)f->eoa)) {
		h5driver__say(H5E_WRITEERROR, "truncate");
		return -1;
	}
	f->stored = f->eof = f->eoa;
	return 0;
}

static herr_t on_close(H5FD_t *file)
{
	struct h5out *f = (struct h5out *)file;
	herr_t err = on_flush(file, H5P_DEFAULT, true);

	if (close(f->fd)) {
		h5driver__say(H5E_CANTCLOSEFILE, "close");
		err = -1;
	}
	if (f->record && !err)
		h5record__end(f->record, f->stored);
	free(f);
	return err;
}

static herr_t on_query(const H5FD_t *file, unsigned long *flags)
{
	/* No sieve: rows pass once, as they are, and blocks are kept here. */
	*flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_AGGREGATE_SMALLDATA |
		 H5FD_FEAT_DEFAULT_VFD_COMPATIBLE;
	return 0;
}

static haddr_t on_get_eoa(const H5FD_t *file, H5FD_mem_t type)
{
	return ((const struct h5out *)file)->eoa;
}

static herr_t on_set_eoa(H5FD_t *file, H5FD_mem_t type, haddr_t addr)
{
	((struct h5out *)file)->eoa = addr;
	return 0;
}

static haddr_t on_get_eof(const H5FD_t *file, H5FD_mem_t type)
{
	return ((const struct h5out *)file)->eof;
}

static herr_t on_read(H5FD_t *file, H5FD_mem_t type, hid_t dxpl, haddr_t addr, size_t size,
		      void *to)
{
	struct h5out *f = (struct h5out *)file;
	uint8_t *p = to;

	if (!h5driver__inside(f->eoa, addr, size))
		return -1;
	while (size) {
		size_t skip = addr % BLOCK, n = BLOCK - skip < size ? BLOCK - skip : size;
		struct block *b = block_at(f, addr - skip);

		if (!b)
			return -1;
		know(b, skip + n);
		memcpy(p, b->bytes + skip, n);
		addr += n;
		p += n;
		size -= n;
	}
	return 0;
}

static herr_t on_write(H5FD_t *file, H5FD_mem_t type, hid_t dxpl, haddr_t addr, size_t size,
		       const void *from)
{
	struct h5out *f = (struct h5out *)file;
	const uint8_t *p = from;

	if (!h5driver__inside(f->eoa, addr, size))
		return -1;
	if (f->record && type == H5FD_MEM_DRAW)
		f->record->rows = h5record__add_rows(f->record->rows, from, size);
	while (size) {
		size_t skip = addr % BLOCK, n = BLOCK - skip < size ? BLOCK - skip : size;
		struct block *b = block_at(f, addr - skip);
		bool clean;

		if (!b)
			return -1;
		clean = b->from == b->to;
		know(b, skip);
		memcpy(b->bytes + skip, p, n);
		b->known = skip + n > b->known ? skip + n : b->known;
		b->from = clean || skip < b->from ? skip : b->from;
		b->to = clean || skip + n > b->to ? skip + n : b->to;
		addr += n;
		p += n;
		size -= n;
		if (addr > f->eof)
			f->eof = addr;
	}
	return 0;
}

static const H5FD_class_t driver = {
#if H5_VERSION_GE(1, 13, 0)
	.version = H5FD_CLASS_VERSION,
	.value = 601,
#endif
	.name = "jobprof-out",
	.maxaddr = H5DRIVER_LIMIT,
	.fc_degree = H5F_CLOSE_STRONG,
	.fapl_size = sizeof(struct h5record *),
	.open = on_open,
	.close = on_close,
	.query = on_query,
	.get_eoa = on_get_eoa,
	.set_eoa = on_set_eoa,
	.get_eof = on_get_eof,
	.read = on_read,
	.write = on_write,
	.flush = on_flush,
	.truncate = on_truncate,
	.fl_map = H5FD_FLMAP_DICHOTOMY,
};

void h5out__set_driver(hid_t fapl, struct h5record *record)
{
	static hid_t id = H5I_INVALID_HID; /* of the process */

	h5driver__set(fapl, &driver, &id, &record);
}
