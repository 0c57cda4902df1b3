/* SPDX-License-Identifier: GPL-2.0-only */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/h5out.h"
#include "store/h5util.h"

#define TABLES	300 /* a few MB: more than the driver keeps */
#define VALUES	2000
#define PER_ROW 100

static char dir[] = "/tmp/test_h5out.XXXXXX";
static char path[64];

static int set_up(void **state)
{
	h5__init();
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/out.h5", dir);
	return 0;
}

static int tear_down(void **state)
{
	unlink(path);
	return rmdir(dir);
}

static int value(unsigned table, unsigned i)
{
	return (int)(table * 7919 + i * 31);
}

static hid_t create(void)
{
	hid_t fapl = H5Pcreate(H5P_FILE_ACCESS), file;

	h5__small_cache(fapl);
	h5out__set_driver(fapl);
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
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_in_any_order_is_there),
		cmocka_unit_test(no_room_is_an_error_with_its_number),
	};

	return cmocka_run_group_tests_name("h5out", tests, set_up, tear_down);
}
