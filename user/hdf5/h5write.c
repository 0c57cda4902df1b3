/* SPDX-License-Identifier: GPL-2.0-only */
/* A file driver for the HDF5 library that writes a new file, with rows put together. */
#include "hdf5/h5write.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io_full.h"
#include "hdf5/h5driver.h"

#define RUN_BYTES (256u << 10)

struct h5write {
	H5FD_t pub; /* the library's, at the beginning */
	int fd;
	haddr_t eof, eoa;
	/* Rows that are not written yet: */
	haddr_t run_at;
	size_t run_len;
	uint8_t run[RUN_BYTES];
};

static int write_out(const struct h5write *f, haddr_t addr, const void *from, size_t size)
{
	if (!pwrite_fully(f->fd, from, size, addr))
		return 0;
	h5driver__say(H5E_WRITEERROR, "write");
	return -1;
}

static int write_run(struct h5write *f)
{
	const size_t len = f->run_len;

	f->run_len = 0;
	return len ? write_out(f, f->run_at, f->run, len) : 0;
}

/* Before those bytes of the file are read or written past the run. */
static int write_overlapping_run(struct h5write *f, haddr_t addr, size_t size)
{
	const bool overlaps = addr < f->run_at + f->run_len && f->run_at < addr + size;

	return overlaps ? write_run(f) : 0;
}

static H5FD_t *on_open(const char *name, unsigned flags, hid_t fapl, haddr_t max)
{
	int fd = flags & H5F_ACC_TRUNC ? open(name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)
				       : -1;
	struct h5write *f = fd < 0 ? NULL : malloc(sizeof(*f));

	if (!f) {
		h5driver__say(H5E_CANTOPENFILE, "open");
		if (fd >= 0)
			close(fd);
		return NULL;
	}
	memset(&f->pub, 0, sizeof(f->pub));
	f->fd = fd;
	f->eof = f->eoa = f->run_at = 0;
	f->run_len = 0;
	return &f->pub;
}

static herr_t on_flush(H5FD_t *file, hid_t dxpl, hbool_t closing)
{
	return write_run((struct h5write *)file);
}

static herr_t on_truncate(H5FD_t *file, hid_t dxpl, hbool_t closing)
{
	struct h5write *f = (struct h5write *)file;

	if (write_run(f))
		return -1;
	if (ftruncate(f->fd, (off_t)f->eoa)) {
		h5driver__say(H5E_WRITEERROR, "truncate");
		return -1;
	}
	f->eof = f->eoa;
	return 0;
}

static herr_t on_close(H5FD_t *file)
{
	struct h5write *f = (struct h5write *)file;
	int err = write_run(f);

	if (close(f->fd)) {
		h5driver__say(H5E_CANTCLOSEFILE, "close");
		err = -1;
	}
	free(f);
	return err;
}

static herr_t on_query(const H5FD_t *file, unsigned long *flags)
{
	*flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA |
		 H5FD_FEAT_AGGREGATE_SMALLDATA | H5FD_FEAT_DEFAULT_VFD_COMPATIBLE;
	return 0;
}

static haddr_t on_get_eoa(const H5FD_t *file, H5FD_mem_t type)
{
	return ((const struct h5write *)file)->eoa;
}

static herr_t on_set_eoa(H5FD_t *file, H5FD_mem_t type, haddr_t addr)
{
	((struct h5write *)file)->eoa = addr;
	return 0;
}

static haddr_t on_get_eof(const H5FD_t *file, H5FD_mem_t type)
{
	return ((const struct h5write *)file)->eof;
}

/* What is behind the end of the file reads as zeros, as it does to the library's own driver. */
static herr_t on_read(H5FD_t *file, H5FD_mem_t type, hid_t dxpl, haddr_t addr, size_t size,
		      void *to)
{
	struct h5write *f = (struct h5write *)file;
	ssize_t n;

	if (!h5driver__inside(f->eoa, addr, size) || write_overlapping_run(f, addr, size))
		return -1;
	n = pread_fully(f->fd, to, size, addr);
	if (n < 0) {
		h5driver__say(H5E_READERROR, "read");
		return -1;
	}
	memset((uint8_t *)to + n, 0, size - (size_t)n);
	return 0;
}

static int add_to_run(struct h5write *f, haddr_t addr, const void *from, size_t size)
{
	if (addr != f->run_at + f->run_len || size > RUN_BYTES - f->run_len) {
		if (write_run(f))
			return -1;
		f->run_at = addr;
	}
	memcpy(f->run + f->run_len, from, size);
	f->run_len += size;
	return 0;
}

static herr_t on_write(H5FD_t *file, H5FD_mem_t type, hid_t dxpl, haddr_t addr, size_t size,
		       const void *from)
{
	struct h5write *f = (struct h5write *)file;
	int err;

	if (!h5driver__inside(f->eoa, addr, size))
		return -1;
	if (type == H5FD_MEM_DRAW && size <= RUN_BYTES) {
		err = add_to_run(f, addr, from, size);
	} else {
		err = write_overlapping_run(f, addr, size);
		if (!err)
			err = write_out(f, addr, from, size);
	}
	if (addr + size > f->eof)
		f->eof = addr + size;
	return err;
}

static const H5FD_class_t driver = {
#if H5_VERSION_GE(1, 13, 0)
	.version = H5FD_CLASS_VERSION,
	.value = 601,
#endif
	.name = "jobprof-write",
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
	.flush = on_flush,
	.truncate = on_truncate,
	.fl_map = H5FD_FLMAP_DICHOTOMY,
};

void h5write__set_driver(hid_t fapl)
{
	static hid_t id = H5I_INVALID_HID; /* of the process */

	h5driver__set(fapl, &driver, &id, NULL);
}
