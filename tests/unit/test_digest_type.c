/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Types that differ have digests that differ. */

#include "tests/unit/unit.h"
#include "hdf5/digest_type.h"

static uint64_t digest_of(unsigned rank, const hsize_t *dims, hid_t of)
{
	hid_t array = H5Tarray_create2(of, rank, dims), row;
	uint64_t digest = 1;

	assert_true(array >= 0);
	row = H5Tcreate(H5T_COMPOUND, H5Tget_size(array));
	assert_true(H5Tinsert(row, "X", 0, array) >= 0);
	assert_int_equal(type__digest(row, &digest), 0);
	H5Tclose(row);
	H5Tclose(array);
	return digest;
}

TEST(arrays_differ_by_shape_and_type)
{
	const struct {
		unsigned rank;
		hsize_t dims[3];
		hid_t of;
	} types[] = {
		{1, {12}, H5T_STD_U64LE},   {2, {3, 4}, H5T_STD_U64LE},
		{2, {4, 3}, H5T_STD_U64LE}, {3, {3, 4, 1}, H5T_STD_U64LE},
		{1, {12}, H5T_IEEE_F64LE},  {1, {12}, H5T_STD_I64LE},
		{1, {24}, H5T_STD_U32LE},   {2, {6, 4}, H5T_STD_U32LE},
	};
	uint64_t digests[sizeof(types) / sizeof(types[0])];
	unsigned n = 0;

	for (; n < sizeof(types) / sizeof(types[0]); n++) {
		digests[n] = digest_of(types[n].rank, types[n].dims, types[n].of);
		assert_true(digests[n] == digest_of(types[n].rank, types[n].dims, types[n].of));
		for (unsigned i = 0; i < n; i++)
			assert_true(digests[i] != digests[n]);
	}
}

TEST(arrays_of_what_is_no_number_are_not_taken)
{
	const hsize_t dims = 3;
	hid_t row = H5Tcreate(H5T_COMPOUND, 8), array, arrays;
	uint64_t digest = 1;

	H5Tinsert(row, "X", 0, H5T_STD_U64LE);
	array = H5Tarray_create2(row, 1, &dims);
	assert_int_equal(type__digest(array, &digest), -ENOTSUP);
	H5Tclose(array);
	H5Tclose(row);
	array = H5Tarray_create2(H5T_STD_U64LE, 1, &dims);
	arrays = H5Tarray_create2(array, 1, &dims);
	assert_int_equal(type__digest(arrays, &digest), -ENOTSUP);
	H5Tclose(arrays);
	H5Tclose(array);
}
