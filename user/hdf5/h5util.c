/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Helpers over the HDF5 library: errors, row types, text attributes, groups. */
#include "hdf5/h5util.h"

#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CACHE_BYTES (128u << 10) /* as they are in the file */
#define KEPT_BYTES  (32 << 20)
#define SHARED_MIN  128 /* bytes of a type: smaller than the row of any table */

static _Thread_local int last_errno;

/* The file drivers put "errno = N, ..." into the description of the innermost error. */
static herr_t find_errno(unsigned n, const H5E_error2_t *e, void *arg)
{
	static const char mark[] = "errno = ";
	const char *at = e->desc ? strstr(e->desc, mark) : NULL;
	int *found = arg;

	if (at && !*found)
		*found = atoi(at + strlen(mark));
	return 0;
}

static herr_t on_error(hid_t stack, void *arg)
{
	int found = 0;

	H5Ewalk2(stack, H5E_WALK_UPWARD, find_errno, &found);
	last_errno = found;
	return 0;
}

void h5__init(void)
{
	/* Every file is closed where it is used; at exit the library would only complain on stderr
	 * about what it lost itself while reading a damaged one. */
	H5dont_atexit();
	H5PLset_loading_state(0);
	H5Eset_auto2(H5E_DEFAULT, on_error, NULL);
}

/* By default the library keeps less than one table of some hundred columns takes, and then gives
 * back all; and malloc gives the half MiB that every open file takes back to the kernel. */
void h5__keep_memory(void)
{
	mallopt(M_MMAP_THRESHOLD, KEPT_BYTES);
	mallopt(M_TRIM_THRESHOLD, KEPT_BYTES);
	H5set_free_list_limits(8 << 20, 1 << 20, 4 << 20, 1 << 20, 16 << 20, 1 << 20);
}

int h5__error(void)
{
	return last_errno > 0 ? -last_errno : -EIO;
}

bool h5__of_system(void)
{
	return last_errno > 0;
}

bool h5__name_ok(const char *name)
{
	return *name && !strchr(name, '/') && strcmp(name, ".") && strcmp(name, "..");
}

static herr_t insert_array(hid_t row, const struct column *first, size_t offset, hid_t number)
{
	const hsize_t n = first->array;
	hid_t type = H5Tarray_create2(number, 1, &n);
	char *name = strndup(first->name, strlen(first->name) - 1);
	herr_t done = type >= 0 && name ? H5Tinsert(row, name, offset, type) : -1;

	free(name);
	if (type >= 0)
		H5Tclose(type);
	return done;
}

hid_t h5__row_type(const struct column *cols, unsigned ncols, bool in_file)
{
	hid_t types[] = {
		[COL_U64] = in_file ? H5T_STD_U64LE : H5T_NATIVE_UINT64,
		[COL_F64] = in_file ? H5T_IEEE_F64LE : H5T_NATIVE_DOUBLE,
		[COL_I64] = in_file ? H5T_STD_I64LE : H5T_NATIVE_INT64,
	};
	hid_t t = H5Tcreate(H5T_COMPOUND, ncols * sizeof(union cell));

	for (unsigned i = 0; t >= 0 && i < ncols; i += cols[i].array ? cols[i].array : 1) {
		const size_t offset = i * sizeof(union cell);
		const hid_t number = types[cols[i].type];

		if ((cols[i].array ? insert_array(t, &cols[i], offset, number)
				   : H5Tinsert(t, cols[i].name, offset, number)) < 0) {
			H5Tclose(t);
			return H5I_INVALID_HID;
		}
	}
	return t;
}

void h5__small_cache(hid_t fapl)
{
	H5AC_cache_config_t mdc = {.version = H5AC__CURR_CACHE_CONFIG_VERSION};

	if (H5Pget_mdc_config(fapl, &mdc) < 0)
		return;
	mdc.set_initial_size = true;
	mdc.initial_size = mdc.max_size = CACHE_BYTES;
	mdc.min_size = CACHE_BYTES / 2;
	H5Pset_mdc_config(fapl, &mdc);
}

static hid_t text_type(const char *text)
{
	hid_t type = H5Tcopy(H5T_C_S1);

	H5Tset_size(type, H5T_VARIABLE);
	while (*text && !(*text & 0x80))
		text++;
	if (*text)
		H5Tset_cset(type, H5T_CSET_UTF8);
	return type;
}

int h5__put_text(hid_t at, const char *name, const char *text)
{
	hid_t type = text_type(text), space = H5Screate(H5S_SCALAR);
	hid_t attr = H5Acreate2(at, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
	int err = attr < 0 || H5Awrite(attr, type, &text) < 0 ? h5__error() : 0;

	if (attr >= 0)
		H5Aclose(attr);
	H5Sclose(space);
	H5Tclose(type);
	return err;
}

static int get_any_length(hid_t attr, hid_t type, size_t max, char **out)
{
	char *text = NULL;
	int err = H5Aread(attr, type, &text) < 0 || !text ? -EBADMSG : 0;

	if (!err && strnlen(text, max + 1) > max)
		err = -EBADMSG;
	if (!err)
		*out = strdup(text);
	H5free_memory(text);
	return err ? err : *out ? 0 : -ENOMEM;
}

int h5__get_text(hid_t attr, hid_t type, size_t max, char **out)
{
	size_t size = H5Tget_size(type);

	*out = NULL;
	if (H5Tget_class(type) != H5T_STRING)
		return -EBADMSG;
	if (H5Tis_variable_str(type))
		return get_any_length(attr, type, max, out);
	if (!size || size > max)
		return -EBADMSG;
	*out = calloc(1, size + 1); /* it may have no room for a NUL, as Slurm does it */
	if (*out && H5Aread(attr, type, *out) >= 0)
		return 0;
	free(*out);
	return *out ? -EBADMSG : -ENOMEM;
}

int h5__share_types(hid_t fcpl)
{
	return H5Pset_shared_mesg_nindexes(fcpl, 1) < 0 ||
			       H5Pset_shared_mesg_index(fcpl, 0, H5O_SHMESG_DTYPE_FLAG,
							SHARED_MIN) < 0
		       ? h5__error()
		       : 0;
}

herr_t h5__plain_attrs(hid_t ocpl)
{
	return H5Pset_attr_phase_change(ocpl, UINT16_MAX, 0);
}

/* Up to so many links stay in the header: the indexed form takes kilobytes, and to move to it takes
 * the square of them. */
static hid_t create_group(hid_t at, const char *name, unsigned links, hid_t *gcpl)
{
	if (*gcpl < 0) {
		*gcpl = H5Pcreate(H5P_GROUP_CREATE);
		H5Pset_link_phase_change(*gcpl, links, links * 3 / 4);
		h5__plain_attrs(*gcpl);
		H5Pset_obj_track_times(*gcpl, false);
	}
	return H5Gcreate2(at, name, H5P_DEFAULT, *gcpl, H5P_DEFAULT);
}

hid_t h5__create_group(hid_t at, const char *name)
{
	static hid_t gcpl = H5I_INVALID_HID; /* of the process */

	return create_group(at, name, 64, &gcpl);
}

hid_t h5__create_list(hid_t at, const char *name)
{
	static hid_t gcpl = H5I_INVALID_HID;

	return create_group(at, name, 24, &gcpl);
}

/* Above every errno: the filter's number, which has 16 bits, goes on top. */
#define NO_FILTER 0x10000

int h5__filters(hid_t dcpl)
{
	int n = H5Pget_nfilters(dcpl);

	for (int i = 0; i < n; i++) {
		unsigned flags;
		size_t ncd = 0;
		H5Z_filter_t f = H5Pget_filter2(dcpl, i, &flags, &ncd, NULL, 0, NULL, NULL);

		if (f > 0 && f <= UINT16_MAX && H5Zfilter_avail(f) <= 0)
			return -(NO_FILTER + f);
	}
	return 0;
}

const char *h5__missing_filter(int err)
{
	/* as the HDF Group has registered them; a file may give any name */
	static const struct {
		int number;
		const char *name;
	} names[] = {{H5Z_FILTER_DEFLATE, "deflate"},
		     {H5Z_FILTER_SZIP, "szip"},
		     {307, "bzip2"},
		     {32000, "lzf"},
		     {32001, "blosc"},
		     {32004, "lz4"},
		     {32008, "bitshuffle"},
		     {32013, "zfp"},
		     {32015, "zstd"},
		     {32026, "blosc2"}};
	static char number[16];

	if (err > -NO_FILTER || err < -NO_FILTER - UINT16_MAX)
		return NULL;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (names[i].number == -err - NO_FILTER)
			return names[i].name;
	snprintf(number, sizeof(number), "%d", -err - NO_FILTER);
	return number;
}

bool h5__in_list(const char *list, const char *name)
{
	size_t len = strlen(name);

	while (list && *list) {
		size_t n;

		list += strspn(list, ", ");
		n = strcspn(list, ",");
		while (n && list[n - 1] == ' ')
			n--;
		if (n == len && !strncmp(list, name, n))
			return true;
		list += strcspn(list, ",");
	}
	return false;
}
