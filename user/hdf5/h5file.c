/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A file driver for the HDF5 library that opens nothing itself, reads in blocks, and gives chunks
 * as they are stored. */
#include "hdf5/h5file.h"

#include <errno.h>
#include <fcntl.h>
#if H5_VERSION_GE(1, 13, 0)
#include <H5FDdevelop.h>
#endif
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/foreign.h"
#include "base/io_full.h"
#include "base/room.h"

#define BLOCK  (16u << 10)
#define BLOCKS 32u
#define LIMIT  ((haddr_t)INT64_MAX)

struct block {
	haddr_t at;
	size_t len; /* less than BLOCK where the file ends */
	uint64_t used;
	uint8_t *bytes;
};

struct h5file {
	H5FD_t pub; /* the library's, at the beginning */
	int fd;
	bool writes; /* and keeps no blocks */
	haddr_t eof, eoa;
	uint64_t clock; /* 0: nothing was read */
	struct block blocks[BLOCKS];
	uint8_t bytes[BLOCKS][BLOCK];
};

/* Reports a failure with errno in the words of the library's own drivers: h5__error() looks for
 * them. */
static void push_error(hid_t error, const char *function)
{
	H5Epush2(H5E_DEFAULT, __FILE__, __func__, __LINE__, H5E_ERR_CLS, H5E_IO, error,
		 "%s failed: errno = %d, error message = '%s'", function, errno, strerror(errno));
}

/* What is to be created is there, and empty from now on. 0 or -1. */
static int empty(int fd, unsigned flags)
{
	return flags & H5F_ACC_TRUNC ? ftruncate(fd, 0) : 0;
}

static H5FD_t *on_open(const char *name, unsigned flags, hid_t fapl, haddr_t max)
{
	int fd = foreign__open(AT_FDCWD, name, 0);
	struct h5file *f = fd < 0 ? NULL : malloc(sizeof(*f));
	struct stat st;

	errno = fd < 0 ? -fd : errno;
	if (f && !empty(fd, flags) && !fstat(fd, &st) && S_ISREG(st.st_mode)) {
		memset(&f->pub, 0, sizeof(f->pub));
		f->fd = fd;
		f->writes = flags & H5F_ACC_RDWR;
		f->eof = (haddr_t)st.st_size;
		f->eoa = 0;
		f->clock = 0;
		for (unsigned i = 0; i < BLOCKS; i++)
			f->blocks[i] = (struct block){.at = HADDR_UNDEF, .bytes = f->bytes[i]};
		return &f->pub;
	}
	push_error(H5E_CANTOPENFILE, "open");
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
	if (file && ((const struct h5file *)file)->writes)
		*flags |= H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA |
			  H5FD_FEAT_AGGREGATE_SMALLDATA;
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
	ssize_t n = pread_full(f->fd, f->bytes, f->eof, 0);

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
	n = pread_full(f->fd, oldest->bytes, size < BLOCK ? size : BLOCK, at);
	oldest->at = n < 0 ? HADDR_UNDEF : at;
	oldest->len = n < 0 ? 0 : (size_t)n;
	oldest->used = n < 0 ? 0 : ++f->clock;
	return n < 0 ? NULL : oldest;
}

/* Bytes behind the end of the file read as zeros, as the library's own driver has it. */
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
	ssize_t n = pread_full(f->fd, to, size, addr);

	if (n >= 0)
		memset(to + n, 0, size - (size_t)n);
	return n < 0 ? -1 : 0;
}

/* While a chunk is read, as many bytes as its buffer has: where a dataset has no filters, the
 * library says the size that a chunk should have, and reads the size that the file's index claims.
 */
static size_t chunk_room = SIZE_MAX;

/* The file has addresses for these bytes. */
static bool is_inside(const struct h5file *f, haddr_t addr, size_t size)
{
	return addr <= LIMIT && size <= LIMIT - addr && addr + size <= f->eoa;
}

static herr_t on_read(H5FD_t *file, H5FD_mem_t type, hid_t dxpl, haddr_t addr, size_t size,
		      void *to)
{
	struct h5file *f = (struct h5file *)file;
	int err;

	if (!is_inside(f, addr, size) || (type == H5FD_MEM_DRAW && size > chunk_room))
		return -1;
	err = !f->writes && (size < BLOCK || is_small(f)) ? read_blocks(f, addr, size, to)
							  : read_through(f, addr, size, to);
	if (err)
		push_error(H5E_READERROR, "read");
	return err;
}

static herr_t on_write(H5FD_t *file, H5FD_mem_t type, hid_t dxpl, haddr_t addr, size_t size,
		       const void *from)
{
	struct h5file *f = (struct h5file *)file;

	if (!is_inside(f, addr, size))
		return -1;
	if (pwrite_full(f->fd, from, size, addr)) {
		push_error(H5E_WRITEERROR, "write");
		return -1;
	}
	f->eof = addr + size > f->eof ? addr + size : f->eof;
	return 0;
}

static herr_t on_truncate(H5FD_t *file, hid_t dxpl, hbool_t closing)
{
	struct h5file *f = (struct h5file *)file;

	if (!f->writes || f->eoa == f->eof)
		return 0;
	if (ftruncate(f->fd, (off_t)f->eoa)) {
		push_error(H5E_SEEKERROR, "ftruncate");
		return -1;
	}
	f->eof = f->eoa;
	return 0;
}

/* Without cmp: a file that is open already is opened again, whatever it was opened with. */
static const H5FD_class_t driver = {
#if H5_VERSION_GE(1, 13, 0)
	.version = H5FD_CLASS_VERSION,
	.value = 600,
#endif
	.name = "jobprof",
	.maxaddr = LIMIT,
	.fc_degree = H5F_CLOSE_STRONG,
	.open = on_open,
	.close = on_close,
	.query = on_query,
	.get_eoa = on_get_eoa,
	.set_eoa = on_set_eoa,
	.get_eof = on_get_eof,
	.read = on_read,
	.write = on_write,
	.truncate = on_truncate,
	.fl_map = H5FD_FLMAP_DICHOTOMY,
};

void h5file__set_driver(hid_t fapl)
{
	static hid_t id = H5I_INVALID_HID; /* of the process */

	if (id < 0)
		id = H5FDregister(&driver);
	if (id >= 0)
		H5Pset_driver(fapl, id, NULL);
}

hid_t h5file__write_access(void)
{
	hid_t fapl = H5Pcreate(H5P_FILE_ACCESS);

	/* As old as may be; what an input has of newer things can only be copied as it is. */
	H5Pset_libver_bounds(fapl, H5F_LIBVER_V18, H5F_LIBVER_LATEST);
	H5Pset_fclose_degree(fapl, H5F_CLOSE_STRONG);
#if H5_VERSION_GE(1, 10, 7)
	/* The file is under a name of our own; some shared file systems have no locks. */
	H5Pset_file_locking(fapl, false, true);
#endif
	h5file__set_driver(fapl);
	return fapl;
}

int h5chunk__read(struct h5chunk *c, hid_t dset, hsize_t at, size_t max)
{
	hsize_t size = 0;
	herr_t err;

	/* Releases differ in whether a chunk that was never written is an error or has no size. */
	if (H5Dget_chunk_storage_size(dset, &at, &size) < 0 || !size)
		return -ENODATA;
	if (size > max)
		return -EBADMSG;
	if (room__make(&c->bytes, &c->room, size, 1))
		return -ENOMEM;
	c->size = size;
	chunk_room = size;
	err = H5Dread_chunk(dset, H5P_DEFAULT, &at, &c->mask, c->bytes);
	chunk_room = SIZE_MAX;
	return err < 0 ? -EBADMSG : 0;
}
