/* SPDX-License-Identifier: GPL-2.0-only */
#include "hdf5/h5file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io_full.h"
#include "hdf5/h5driver.h"

#define BLOCK  (16u << 10)
#define BLOCKS 6u

#define WHOLE_FILE_MAX (128u << 20) /* of addresses, a small part of what a guarded child has */

struct block {
	haddr_t at;
	size_t len; /* less than BLOCK where the file ends */
	uint64_t used;
	uint8_t *bytes;
};

struct h5file {
	H5FD_t pub; /* the library's, at the beginning */
	int fd;
	haddr_t eof, eoa;
	uint64_t clock; /* 0: nothing was read */
	struct block blocks[BLOCKS];
	uint8_t bytes[BLOCKS][BLOCK];
};

/* What a reader of this process waits for: the library does not say how many bytes a chunk has
 * without looking for it twice. */
static struct {
	const void *to;
	size_t max, came;
} expected;

/* What a descriptor is open for already is not looked up again, which takes a while in /proc. */
static int open_file(const char *name)
{
	int fd = -1, end = 0;

	if (sscanf(name, "/proc/self/fd/%d%n", &fd, &end) == 1 && !name[end])
		return fcntl(fd, F_DUPFD_CLOEXEC, 0);
	return open(name, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
}

static H5FD_t *on_open(const char *name, unsigned flags, hid_t fapl, haddr_t max)
{
	int fd = flags & (H5F_ACC_RDWR | H5F_ACC_TRUNC | H5F_ACC_CREAT) ? -1 : open_file(name);
	struct h5file *f = fd < 0 ? NULL : malloc(sizeof(*f));
	struct stat st;

	if (f && !fstat(fd, &st) && S_ISREG(st.st_mode)) {
		memset(&f->pub, 0, sizeof(f->pub));
		f->fd = fd;
		f->eof = (haddr_t)st.st_size;
		f->eoa = 0;
		f->clock = 0;
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

static herr_t on_close(H5FD_t *file)
{
	struct h5file *f = (struct h5file *)file;

	close(f->fd);
	free(f);
	return 0;
}

static herr_t on_query(const H5FD_t *file, unsigned long *flags)
{
	*flags = H5FD_FEAT_DATA_SIEVE | H5FD_FEAT_DEFAULT_VFD_COMPATIBLE;
	return 0;
}

static haddr_t on_get_eoa(const H5FD_t *file, H5FD_mem_t type)
{
	return ((const struct h5file *)file)->eoa;
}

static herr_t on_set_eoa(H5FD_t *file, H5FD_mem_t type, haddr_t addr)
{
	((struct h5file *)file)->eoa = addr;
	return 0;
}

static haddr_t on_get_eof(const H5FD_t *file, H5FD_mem_t type)
{
	return ((const struct h5file *)file)->eof;
}

static bool is_small(const struct h5file *f)
{
	return f->eof <= sizeof(f->bytes);
}

/* All of a small file: of a node's, all is wanted, and each call takes as long as some KiB. */
static int read_whole(struct h5file *f)
{
	ssize_t n = pread_fully(f->fd, f->bytes, f->eof, 0);

	for (unsigned i = 0; n >= 0 && i < BLOCKS; i++) {
		size_t at = (size_t)i * BLOCK, there = (size_t)n > at ? (size_t)n - at : 0;

		f->blocks[i].at = at;
		f->blocks[i].len = there < BLOCK ? there : BLOCK;
	}
	f->clock += n >= 0;
	return n < 0 ? -1 : 0;
}

/* The block that begins there; NULL: it cannot be read. */
static const struct block *block_at(struct h5file *f, haddr_t at)
{
	struct block *oldest = &f->blocks[0];
	size_t size = f->eof > at ? f->eof - at : 0;
	ssize_t n;

	if (is_small(f) && !f->clock && read_whole(f))
		return NULL;

	for (unsigned i = 0; i < BLOCKS; i++) {
		struct block *b = &f->blocks[i];

		if (b->at == at) {
			b->used = ++f->clock;
			return b;
		}
		oldest = b->used < oldest->used ? b : oldest;
	}
	n = pread_fully(f->fd, oldest->bytes, size < BLOCK ? size : BLOCK, at);
	oldest->at = n < 0 ? HADDR_UNDEF : at;
	oldest->len = n < 0 ? 0 : (size_t)n;
	oldest->used = n < 0 ? 0 : ++f->clock;
	return n < 0 ? NULL : oldest;
}

/* What is behind the end of the file reads as zeros, as it does to the library's own driver. */
static int read_blocks(struct h5file *f, haddr_t addr, size_t size, uint8_t *to)
{
	while (size) {
		size_t skip = addr % BLOCK, n = BLOCK - skip < size ? BLOCK - skip : size, there;
		const struct block *b = block_at(f, addr - skip);

		if (!b)
			return -1;
		there = b->len > skip ? b->len - skip : 0;
		there = there < n ? there : n;
		memcpy(to, b->bytes + skip, there);
		memset(to + there, 0, n - there);
		addr += n;
		to += n;
		size -= n;
	}
	return 0;
}

static int read_through(const struct h5file *f, haddr_t addr, size_t size, uint8_t *to)
{
	ssize_t n = pread_fully(f->fd, to, size, addr);

	if (n >= 0)
		memset(to + n, 0, size - (size_t)n);
	return n < 0 ? -1 : 0;
}

static herr_t on_read(H5FD_t *file, H5FD_mem_t type, hid_t dxpl, haddr_t addr, size_t size,
		      void *to)
{
	struct h5file *f = (struct h5file *)file;
	int err;

	if (!h5driver__inside(f->eoa, addr, size))
		return -1;
	if (to == expected.to && size > expected.max)
		return -1;
	err = size < BLOCK || is_small(f) ? read_blocks(f, addr, size, to)
					  : read_through(f, addr, size, to);
	if (err)
		h5driver__say(H5E_READERROR, "read");
	else if (to == expected.to)
		expected.came = size;
	return err;
}

static herr_t on_write(H5FD_t *file, H5FD_mem_t type, hid_t dxpl, haddr_t addr, size_t size,
		       const void *from)
{
	return -1;
}

/* Without cmp: a file that is open already is opened again, whatever it was opened with. */
static const H5FD_class_t driver = {
#if H5_VERSION_GE(1, 13, 0)
	.version = H5FD_CLASS_VERSION,
	.value = 600,
#endif
	.name = "jobprof",
	.maxaddr = H5DRIVER_LIMIT,
	.fc_degree = H5F_CLOSE_STRONG,
	.open = on_open,
	.close = on_close,
	.query = on_query,
	.get_eoa = on_get_eoa,
	.set_eoa = on_set_eoa,
	.get_eof = on_get_eof,
	.read = on_read,
	.write = on_write,
	.fl_map = H5FD_FLMAP_DICHOTOMY,
};

void h5file__set_driver(hid_t fapl)
{
	static hid_t id = H5I_INVALID_HID; /* of the process */

	h5driver__set(fapl, &driver, &id, NULL);
}

static int make_room(struct h5chunk *c, size_t size)
{
	uint8_t *p;

	if (c->room >= size)
		return 0;
	p = realloc(c->bytes, size);
	if (!p)
		return -ENOMEM;
	c->bytes = p;
	c->room = size;
	return 0;
}

static bool read_chunk(struct h5chunk *c, hid_t dset, hsize_t at)
{
	return H5Dread_chunk(dset, H5P_DEFAULT, &at, &c->mask, c->bytes) >= 0;
}

static int read_asking(struct h5chunk *c, hid_t dset, hsize_t at, size_t max)
{
	hsize_t size = 0;

	/* Releases differ in whether a chunk that was never written is an error or has no size. */
	if (H5Dget_chunk_storage_size(dset, &at, &size) < 0 || !size)
		return -ENODATA;
	if (size > max)
		return -EBADMSG;
	if (make_room(c, size))
		return -ENOMEM;
	c->size = size;
	return read_chunk(c, dset, at) ? 0 : -EBADMSG;
}

/* The driver refuses what is too much. Where it is not this one, there is room all the same: the
 * library reads nothing that is not in the file, and only bytes that come take memory. */
static bool read_at_once(struct h5chunk *c, hid_t dset, hsize_t at, size_t max, uint64_t file_bytes)
{
	bool done;

	if (file_bytes > WHOLE_FILE_MAX || make_room(c, file_bytes))
		return false;
	expected.to = c->bytes;
	expected.max = max;
	expected.came = 0;
	done = read_chunk(c, dset, at);
	expected.to = NULL;
	c->size = expected.came;
	return done && c->size;
}

int h5chunk__read(struct h5chunk *c, hid_t dset, hsize_t at, size_t max, uint64_t file_bytes)
{
	return read_at_once(c, dset, at, max, file_bytes) ? 0 : read_asking(c, dset, at, max);
}
