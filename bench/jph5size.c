/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prints for every table of an HDF5 file: path, rows, bytes of a row in memory, bytes in the file.
 */
#include <hdf5.h>
#include <stdio.h>

static herr_t print_table(hid_t at, const char *name, const H5L_info_t *info, void *ctx)
{
	hid_t space, type, d = H5Oopen(at, name, H5P_DEFAULT);

	if (H5Iget_type(d) != H5I_DATASET) {
		H5Oclose(d);
		return 0;
	}
	space = H5Dget_space(d);
	type = H5Dget_type(d);
	printf("%s %lld %zu %llu\n", name, (long long)H5Sget_simple_extent_npoints(space),
	       H5Tget_size(type), (unsigned long long)H5Dget_storage_size(d));
	H5Tclose(type);
	H5Sclose(space);
	H5Oclose(d);
	return 0;
}

int main(int argc, char **argv)
{
	hid_t f;

	if (argc != 2) {
		fprintf(stderr, "usage: jph5size FILE\n");
		return 2;
	}
	f = H5Fopen(argv[1], H5F_ACC_RDONLY, H5P_DEFAULT);
	if (f < 0 || H5Lvisit(f, H5_INDEX_NAME, H5_ITER_INC, print_table, NULL) < 0)
		return 1;
	H5Fclose(f);
	return 0;
}
