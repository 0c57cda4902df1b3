/* SPDX-License-Identifier: GPL-2.0-only */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hdf5/h5driver.h"
#include "hdf5/h5file.h"
#include "hdf5/h5out.h"
#include "hdf5/h5util.h"

#define TABLES	300 /* a few MB: more than the driver keeps */
#define VALUES	2000
#define PER_ROW 100

static char dir[] = "/tmp/test_h5out.XXXXXX";
static char path[64], other[64];
static struct h5record record; /* of the file made last */

static int set_up(void **state)
{
	h5__init();
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/out.h5", dir);
	snprintf(other, sizeof(other), "%s/other.h5", dir);
	return 0;
}

static int tear_down(void **state)
{
	unlink(path);
	unlink(other);
	h5record__free(&record);
	return rmdir(dir);
}

static int value(unsigned table, unsigned i)
{
	return (int)(table * 7919 + i * 31);
}

static hid_t create(void)
{
	hid_t fapl = H5Pcreate(H5P_FILE_ACCESS), file;

	h5record__free(&record);
	h5__small_cache(fapl);
	h5out__set_driver(fapl, &record);
	file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
	H5Pclose(fapl);
	return file;
}

static void name_of(char *name, size_t len, unsigned table)
{
	snprintf(name, len, "table %u", table);
}

/* Chunked, so that pieces of all tables lie between one another; 0 or -1. */
static int make_table(hid_t file, unsigned table)
{
	const hsize_t dims = VALUES, chunk = PER_ROW;
	hid_t space = H5Screate_simple(1, &dims, NULL), dcpl = H5Pcreate(H5P_DATASET_CREATE), d;
	char name[32];

	name_of(name, sizeof(name), table);
	H5Pset_chunk(dcpl, 1, &chunk);
	d = H5Dcreate2(file, name, H5T_STD_I32LE, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
	H5Pclose(dcpl);
	H5Sclose(space);
	return d < 0 ? -1 : H5Dclose(d) < 0 ? -1 : 0;
}

static int put_part(hid_t file, unsigned table, unsigned part)
{
	const hsize_t from = part * PER_ROW, n = PER_ROW;
	hid_t all, some, d;
	int cells[PER_ROW], err;
	char name[32];

	for (unsigned i = 0; i < PER_ROW; i++)
		cells[i] = value(table, part * PER_ROW + i);
	name_of(name, sizeof(name), table);
	d = H5Dopen2(file, name, H5P_DEFAULT);
	if (d < 0)
		return -1;
	all = H5Dget_space(d);
	some = H5Screate_simple(1, &n, NULL);
	H5Sselect_hyperslab(all, H5S_SELECT_SET, &from, NULL, &n, NULL);
	err = H5Dwrite(d, H5T_NATIVE_INT, some, all, H5P_DEFAULT, cells);
	H5Sclose(some);
	H5Sclose(all);
	return H5Dclose(d) < 0 || err < 0 ? -1 : 0;
}

/* Differences that the library finds through its own driver. */
static unsigned differences(void)
{
	hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
	unsigned bad = 0;
	static int cells[VALUES];
	char name[32];

	assert_true(file >= 0);
	for (unsigned t = 0; t < TABLES; t++) {
		hid_t d;

		name_of(name, sizeof(name), t);
		d = H5Dopen2(file, name, H5P_DEFAULT);
		assert_true(d >= 0);
		memset(cells, 0xff, sizeof(cells));
		assert_true(H5Dread(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, cells) >= 0);
		for (unsigned i = 0; i < VALUES; i++)
			bad += cells[i] != value(t, i);
		H5Dclose(d);
	}
	H5Fclose(file);
	return bad;
}

/* All shares of the file. */
static int read_back(unsigned shares)
{
	int fd = open(path, O_RDONLY), err = fd < 0 ? -errno : 0;

	for (unsigned i = 0; !err && i < shares; i++)
		err = h5record__check(&record, fd, i, shares);
	close(fd);
	return err;
}

static void what_is_written_in_any_order_is_there(void **state)
{
	hid_t file = create();
	uint32_t random = 1;

	assert_true(file >= 0);
	for (unsigned t = 0; t < TABLES; t++)
		assert_int_equal(make_table(file, t), 0);
	for (unsigned part = 0; part < VALUES / PER_ROW; part++)
		for (unsigned t = 0; t < TABLES; t++)
			assert_int_equal(put_part(file, t, part), 0);
	/* over what is there, here and there, and from the file again */
	for (unsigned i = 0; i < 2000; i++) {
		random = random * 1103515245 + 12345;
		assert_int_equal(
			put_part(file, (random >> 8) % TABLES, (random >> 20) % (VALUES / PER_ROW)),
			0);
	}
	assert_true(H5Fclose(file) >= 0);
	assert_int_equal(differences(), 0);
	assert_true(record.complete);
	assert_int_equal(read_back(3), 0);
}

#define MODEL_BYTES (40u * H5RECORD_BLOCK) /* more than the driver keeps */
#define OPERATIONS  4000u

struct model {
	H5FD_t *fd;
	haddr_t eoa;
	uint32_t random;
	uint8_t bytes[MODEL_BYTES];
	uint8_t read[3 * H5RECORD_BLOCK];
};

static uint32_t below(struct model *m, uint32_t n)
{
	m->random = m->random * 1664525 + 1013904223;
	return (uint32_t)((uint64_t)m->random * n >> 32);
}

/* Short ones mostly, that leave holes. */
static void some_range(struct model *m, haddr_t *at, size_t *n)
{
	*at = below(m, (uint32_t)m->eoa);
	*n = 1 + below(m, below(m, 4) ? 500 : sizeof(m->read) - 1);
	*n = *n < m->eoa - *at ? *n : m->eoa - *at;
}

static void cut_to(struct model *m, haddr_t eoa)
{
	m->eoa = eoa;
	assert_true(H5FDset_eoa(m->fd, H5FD_MEM_DEFAULT, eoa) >= 0);
	assert_true(H5FDtruncate(m->fd, H5P_DEFAULT, false) >= 0);
	memset(m->bytes + eoa, 0, MODEL_BYTES - eoa);
}

static void operate(struct model *m)
{
	haddr_t at;
	size_t n;

	some_range(m, &at, &n);
	if (!below(m, 200)) {
		cut_to(m, m->eoa - below(m, H5RECORD_BLOCK));
		m->eoa = MODEL_BYTES;
		H5FDset_eoa(m->fd, H5FD_MEM_DEFAULT, m->eoa);
	} else if (below(m, 3)) {
		for (size_t i = 0; i < n; i++)
			m->bytes[at + i] = (uint8_t)below(m, 256);
		assert_true(H5FDwrite(m->fd, H5FD_MEM_OHDR, H5P_DEFAULT, at, n, m->bytes + at) >=
			    0);
	} else {
		assert_true(H5FDread(m->fd, H5FD_MEM_OHDR, H5P_DEFAULT, at, n, m->read) >= 0);
		assert_memory_equal(m->read, m->bytes + at, n);
	}
}

/* Against an array in memory: what was never written, in holes and behind a cut, is zeros. */
static void it_is_as_an_array_would_be(void **state)
{
	static struct model m;

	for (unsigned recorded = 0; recorded < 2; recorded++) {
		hid_t fapl = H5Pcreate(H5P_FILE_ACCESS);
		int fd;

		h5record__free(&record);
		h5out__set_driver(fapl, recorded ? &record : NULL);
		m = (struct model){.random = 1 + recorded, .eoa = MODEL_BYTES};
		m.fd = H5FDopen(path, H5F_ACC_RDWR | H5F_ACC_CREAT | H5F_ACC_TRUNC, fapl,
				HADDR_UNDEF);
		assert_non_null(m.fd);
		H5FDset_eoa(m.fd, H5FD_MEM_DEFAULT, m.eoa);
		for (unsigned i = 0; i < OPERATIONS; i++)
			operate(&m);
		cut_to(&m, MODEL_BYTES - 12345);
		assert_true(H5FDclose(m.fd) >= 0);
		fd = open(path, O_RDONLY);
		for (haddr_t at = 0; at < m.eoa; at += H5RECORD_BLOCK) {
			ssize_t n = pread(fd, m.read, H5RECORD_BLOCK, (off_t)at);

			assert_true(n > 0);
			assert_memory_equal(m.read, m.bytes + at, (size_t)n);
		}
		assert_int_equal(lseek(fd, 0, SEEK_END), m.eoa);
		close(fd);
		assert_int_equal(recorded ? read_back(1) : 0, 0);
		H5Pclose(fapl);
	}
}

/* The file gets shorter, in the middle of a block, and longer again. */
static void the_record_follows_the_end(void **state)
{
	hid_t file = create();

	assert_true(file >= 0);
	for (unsigned t = 0; t < TABLES; t++)
		assert_int_equal(make_table(file, t), 0);
	for (unsigned t = 0; t < TABLES; t++)
		assert_int_equal(put_part(file, t, 0), 0);
	for (unsigned t = 7; t < TABLES; t++) {
		char name[32];

		name_of(name, sizeof(name), t);
		assert_true(H5Ldelete(file, name, H5P_DEFAULT) >= 0);
		if (t == TABLES / 2)
			assert_true(H5Fflush(file, H5F_SCOPE_GLOBAL) >= 0);
	}
	assert_true(H5Fclose(file) >= 0);
	assert_true(record.complete && record.bytes % H5RECORD_BLOCK);
	assert_int_equal(read_back(1), 0);
}

static void flip(int fd, off_t at)
{
	uint8_t byte;

	assert_int_equal(pread(fd, &byte, 1, at), 1);
	byte ^= 1;
	assert_int_equal(pwrite(fd, &byte, 1, at), 1);
}

static void any_other_byte_is_found(void **state)
{
	hid_t file = create();
	struct stat st;
	int fd;

	for (unsigned t = 0; t < TABLES; t++)
		assert_int_equal(make_table(file, t) || put_part(file, t, 3), 0);
	assert_true(H5Fclose(file) >= 0);
	fd = open(path, O_RDWR);
	assert_true(fd >= 0 && !fstat(fd, &st) && st.st_size > 2 * H5RECORD_BLOCK);
	for (off_t at = 0; at < st.st_size; at += 1 + at / 7) {
		flip(fd, at);
		assert_int_equal(read_back(5), -EIO);
		flip(fd, at);
	}
	assert_int_equal(read_back(5), 0);
	assert_int_equal(ftruncate(fd, st.st_size + 1), 0);
	assert_int_equal(read_back(1), -EIO);
	assert_int_equal(ftruncate(fd, st.st_size - 1), 0);
	assert_int_equal(read_back(1), -EIO);
	close(fd);
}

/* A block that is needed again is not taken as it is, either: without the library between. */
static void a_block_that_changed_is_an_error(void **state)
{
	enum { BLOCKS = 100 }; /* more than are kept */
	static uint8_t block[H5RECORD_BLOCK];
	hid_t fapl = H5Pcreate(H5P_FILE_ACCESS);
	H5FD_t *f;
	int fd;

	h5record__free(&record);
	h5out__set_driver(fapl, &record);
	f = H5FDopen(path, H5F_ACC_RDWR | H5F_ACC_CREAT | H5F_ACC_TRUNC, fapl, H5DRIVER_LIMIT);
	H5Pclose(fapl);
	assert_non_null(f);
	assert_true(H5FDset_eoa(f, H5FD_MEM_DRAW, BLOCKS * sizeof(block)) >= 0);
	for (unsigned i = 0; i < BLOCKS; i++) {
		memset(block, (int)i, sizeof(block));
		assert_true(H5FDwrite(f, H5FD_MEM_DRAW, H5P_DEFAULT, i * sizeof(block),
				      sizeof(block), block) >= 0);
	}
	assert_true(H5FDread(f, H5FD_MEM_DRAW, H5P_DEFAULT, sizeof(block), 1, block) >= 0);
	assert_int_equal(*block, 1);
	fd = open(path, O_RDWR);
	assert_true(fd >= 0);
	flip(fd, 2 * sizeof(block) + 12345);
	close(fd);
	assert_true(H5FDread(f, H5FD_MEM_DRAW, H5P_DEFAULT, 2 * sizeof(block), 1, block) < 0);
	assert_int_equal(h5__error(), -EIO);
	assert_true(H5FDclose(f) >= 0);
	assert_int_equal(read_back(1), -EIO);
}

static void rows_are_summed_alike(void **state)
{
	hid_t fapl = H5Pcreate(H5P_FILE_ACCESS), file = create(), from;
	uint64_t read = 1;

	for (unsigned t = 0; t < 3; t++)
		assert_int_equal(
			make_table(file, t) || put_part(file, t, t) || put_part(file, t, 19), 0);
	assert_true(H5Fclose(file) >= 0);
	assert_int_equal(rename(path, other), 0);
	h5file__set_driver(fapl);
	from = H5Fopen(other, H5F_ACC_RDONLY, fapl);
	H5Pclose(fapl);
	file = create();
	assert_true(from >= 0 && file >= 0);
	record.rows = 1;
	h5file__sum_rows(&read);
	assert_true(H5Ocopy(from, "/", file, "copy", H5P_DEFAULT, H5P_DEFAULT) >= 0);
	h5file__sum_rows(NULL);
	assert_true(read != 1);
	assert_true(read == record.rows);
	H5Fclose(from);
	H5Fclose(file);
}

/* A limit of the file's size, like a full disk: some call fails, by the close at the latest. */
static void no_room_is_an_error_with_its_number(void **state)
{
	struct rlimit old, tight;
	bool failed = false;
	hid_t file = create();

	assert_true(file >= 0);
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &old);
	tight = old;
	tight.rlim_cur = 300000;
	setrlimit(RLIMIT_FSIZE, &tight);
	for (unsigned t = 0; t < TABLES && !failed; t++) {
		failed |= make_table(file, t) != 0;
		for (unsigned part = 0; part < VALUES / PER_ROW && !failed; part++)
			failed |= put_part(file, t, part) != 0;
	}
	failed |= H5Fclose(file) < 0;
	setrlimit(RLIMIT_FSIZE, &old);
	assert_true(failed);
	assert_int_equal(h5__error(), -EFBIG);
	assert_false(record.complete);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_in_any_order_is_there),
		cmocka_unit_test(it_is_as_an_array_would_be),
		cmocka_unit_test(the_record_follows_the_end),
		cmocka_unit_test(any_other_byte_is_found),
		cmocka_unit_test(a_block_that_changed_is_an_error),
		cmocka_unit_test(rows_are_summed_alike),
		cmocka_unit_test(no_room_is_an_error_with_its_number),
	};

	return cmocka_run_group_tests_name("h5out", tests, set_up, tear_down);
}
