/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes results of analyses into a copy of the job file, which then replaces it. */
#include "jobfile/store.h"

#include <errno.h>
#include <hdf5.h>
#include <libdeflate.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/foreign.h"
#include "base/log.h"
#include "hdf5/h5file.h"
#include "hdf5/h5util.h"
#include "jobfile/merge/merge_internal.h"
#include "pool/pool.h"

/* ---- writes a table whose rows are objects of JSON */

static size_t text_size(const json_t *rows, const char *name)
{
	size_t longest = 1, i;
	json_t *row;

	json_array_foreach (rows, i, row) {
		size_t n = json_string_length(json_object_get(row, name));

		longest = n > longest ? n : longest;
	}
	return longest;
}

static hid_t text_type(size_t size)
{
	hid_t type = H5Tcopy(H5T_C_S1);

	H5Tset_size(type, size);
	H5Tset_strpad(type, H5T_STR_NULLPAD);
	H5Tset_cset(type, H5T_CSET_UTF8);
	return type;
}

/* The type of a row, without padding; *size: its bytes. */
static hid_t row_type(const struct store_table *t, hid_t number, size_t *size)
{
	hid_t type = H5Tcreate(H5T_COMPOUND, 1);

	*size = 0;
	for (unsigned i = 0; i < t->ncols; i++) {
		const struct store_column *c = &t->cols[i];
		hid_t own = c->is_number ? H5Tcopy(number) : text_type(text_size(t->rows, c->name));
		size_t n = H5Tget_size(own);

		H5Tset_size(type, *size + n);
		H5Tinsert(type, c->name, *size, own);
		H5Tclose(own);
		*size += n;
	}
	return type;
}

static void fill_row(const struct store_table *t, const json_t *row, hid_t type, char *out)
{
	for (unsigned i = 0; i < t->ncols; i++) {
		const json_t *v = json_object_get(row, t->cols[i].name);
		double number = json_is_number(v) ? json_number_value(v) : NAN;
		char *at = out + H5Tget_member_offset(type, i);

		if (t->cols[i].is_number)
			memcpy(at, &number, sizeof(number));
		else if (json_is_string(v))
			memcpy(at, json_string_value(v), json_string_length(v));
	}
}

static hid_t create(hid_t at, const char *name, hid_t type, hsize_t n)
{
	hid_t space = H5Screate_simple(1, &n, NULL), dcpl = H5Pcreate(H5P_DATASET_CREATE), set;

	h5__plain_attrs(dcpl);
	set = H5Dcreate2(at, name, type, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
	H5Pclose(dcpl);
	H5Sclose(space);
	return set;
}

/* Makes the table, whose rows have texts of one length, as long as the longest: all readers take
 * these. < 0 on failure. */
static hid_t store_table_create(hid_t at, const struct store_table *t)
{
	size_t n = json_array_size(t->rows), size;
	hid_t of_file = row_type(t, H5T_IEEE_F64LE, &size);
	hid_t type = row_type(t, H5T_NATIVE_DOUBLE, &size);
	hid_t set = create(at, t->name, of_file, n);
	char *rows = calloc(n * size + 1, 1);

	for (size_t i = 0; rows && i < n; i++)
		fill_row(t, json_array_get(t->rows, i), type, rows + i * size);
	if (set >= 0 &&
	    (!rows || (n && H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, rows) < 0))) {
		H5Dclose(set);
		set = H5I_INVALID_HID;
	}
	free(rows);
	H5Tclose(type);
	H5Tclose(of_file);
	return set;
}

#define DEPTH_MAX   8
#define COLUMNS_MAX 512 /* of a table, the first ones */

struct storing {
	char path[64]; /* of the copy */
	struct merge_output output;
	const struct store_results *results;
	bool is_new;
};

static int put_number(hid_t at, const char *name, double v)
{
	hid_t space = H5Screate(H5S_SCALAR);
	hid_t attr = H5Acreate2(at, name, H5T_IEEE_F64LE, space, H5P_DEFAULT, H5P_DEFAULT);
	int err = attr < 0 || H5Awrite(attr, H5T_NATIVE_DOUBLE, &v) < 0 ? h5__error() : 0;

	if (attr >= 0)
		H5Aclose(attr);
	H5Sclose(space);
	return err;
}

/* The texts of an array, with ", " between them. */
static int put_list(hid_t at, const char *name, const json_t *list)
{
	char text[512] = "";
	size_t i, n = 0;
	json_t *one;

	json_array_foreach (list, i, one) {
		if (json_is_string(one) && n < sizeof(text))
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s", n ? ", " : "",
					      json_string_value(one));
	}
	return h5__put_text(at, name, text);
}

static int put_object(hid_t at, const char *name, const json_t *object, const json_t *common,
		      unsigned depth);

/* A table of objects. */
static int put_rows(hid_t at, const char *name, const json_t *rows)
{
	json_t *first = json_array_get(rows, 0), *v;
	struct store_column cols[COLUMNS_MAX];
	struct store_table t = {name, cols, 0, rows};
	const char *key;
	hid_t set;

	json_object_foreach (first, key, v) {
		if (t.ncols < COLUMNS_MAX)
			cols[t.ncols++] = (struct store_column){key, !json_is_string(v)};
	}
	set = store_table_create(at, &t);
	return set < 0 || H5Dclose(set) < 0 ? h5__error() : 0;
}

/* The parameters of an analysis are attributes of its group, by names of their own. */
static int put_params(hid_t g, const json_t *params)
{
	char name[64];
	const char *key;
	json_t *v;
	int err = 0;

	json_object_foreach ((json_t *)params, key, v) {
		snprintf(name, sizeof(name), "param_%s", key);
		if (!err && json_is_number(v))
			err = put_number(g, name, json_number_value(v));
	}
	return err;
}

static int put_value(hid_t g, const char *key, const json_t *v, const json_t *common,
		     unsigned depth)
{
	if (json_is_object(v) && !strcmp(key, "params"))
		return put_params(g, v);
	if (json_is_number(v))
		return put_number(g, key, json_number_value(v));
	if (json_is_boolean(v))
		return put_number(g, key, json_is_true(v));
	if (json_is_string(v))
		return h5__put_text(g, key, json_string_value(v));
	if (json_is_object(json_array_get(v, 0)))
		return put_rows(g, key, v);
	if (json_is_array(v))
		return put_list(g, key, v);
	return json_is_object(v) ? put_object(g, key, v, common, depth + 1) : 0;
}

/* What groups inside of a group have, unless they say it of themselves. */
static json_t *common_inside(const json_t *object, const json_t *common)
{
	static const char *const handed_down[] = {"status", "n_used", "n_missing"};
	json_t *inside = json_copy((json_t *)common);

	for (size_t i = 0; i < sizeof(handed_down) / sizeof(*handed_down); i++)
		json_object_set(inside, handed_down[i], json_object_get(object, handed_down[i]));
	return inside;
}

static int put_object(hid_t at, const char *name, const json_t *object, const json_t *common,
		      unsigned depth)
{
	hid_t g = depth < DEPTH_MAX ? h5__create_list(at, name) : H5I_INVALID_HID;
	json_t *inside = common_inside(object, common), *v;
	const char *key;
	int err = g < 0 ? h5__error() : 0;

	json_object_foreach ((json_t *)object, key, v)
		if (!err)
			err = put_value(g, key, v, inside, depth);
	json_object_foreach ((json_t *)common, key, v)
		if (!err && !json_object_get(object, key))
			err = put_value(g, key, v, NULL, depth);
	json_decref(inside);
	if (g >= 0)
		H5Gclose(g);
	return err;
}

/* Puts the attributes of all groups, in place of earlier ones, at a group or data set. */
static int put_common(hid_t at, const json_t *common)
{
	const char *key;
	json_t *v;
	int err = 0;

	json_object_foreach ((json_t *)common, key, v) {
		if (!err && H5Aexists(at, key) > 0 && H5Adelete(at, key) < 0)
			err = h5__error();
		if (!err)
			err = put_value(at, key, v, NULL, 0);
	}
	return err;
}

/* One text of some ten KiB, which is most of a small job's file if it is not compressed. */
static hid_t create_report(hid_t at, const char *text)
{
	const hsize_t one = 1;
	hid_t space = H5Screate_simple(1, &one, NULL), type = text_type(strlen(text));
	hid_t dcpl = H5Pcreate(H5P_DATASET_CREATE), set;

	H5Pset_chunk(dcpl, 1, &one);
	H5Pset_deflate(dcpl, 6);
	set = H5Dcreate2(at, "report", type, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
	if (set >= 0 && H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, text) < 0) {
		H5Dclose(set);
		set = H5I_INVALID_HID;
	}
	H5Pclose(dcpl);
	H5Tclose(type);
	H5Sclose(space);
	return set;
}

static int put_report(hid_t at, const char *text, const json_t *common)
{
	hid_t set = create_report(at, text);
	int err = set < 0 ? h5__error() : put_common(set, common);

	if (!err)
		err = put_common(at, common);
	if (set >= 0)
		H5Dclose(set);
	return err;
}

/* With a length of its own, which readers look at before they read. */
static int put_row(hid_t at, const char *text)
{
	hid_t space = H5Screate(H5S_SCALAR), type = text_type(strlen(text) + 1);
	hid_t set = H5Dcreate2(at, "row", type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
	int err = set < 0 || H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, text) < 0
			  ? h5__error()
			  : 0;

	if (set >= 0)
		H5Dclose(set);
	H5Tclose(type);
	H5Sclose(space);
	return err;
}

static int put_bytes(hid_t at, const char *name, const void *bytes, size_t n, const json_t *by)
{
	hid_t set = create(at, name, H5T_STD_U8LE, n);
	int err =
		set < 0 || H5Dwrite(set, H5T_NATIVE_UINT8, H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes) < 0
			? h5__error()
			: put_common(set, by);

	if (set >= 0)
		H5Dclose(set);
	return err;
}

/* As gzip has it: a reader knows the size before it reads, which a filter of HDF5 does not say. */
static int put_page(hid_t at, const char *text, const json_t *by)
{
	struct libdeflate_compressor *c = libdeflate_alloc_compressor(6);
	const size_t n = strlen(text), room = c ? libdeflate_gzip_compress_bound(c, n) : 0;
	void *bytes = room ? malloc(room) : NULL;
	const size_t size = bytes ? libdeflate_gzip_compress(c, text, n, bytes, room) : 0;
	const int err = size ? put_bytes(at, "page", bytes, size, by) : -ENOMEM;

	free(bytes);
	libdeflate_free_compressor(c);
	return err;
}

static int put_table(hid_t at, const struct store_table *t, const json_t *common)
{
	hid_t set = store_table_create(at, t);
	int err = set < 0 ? h5__error() : put_common(set, common);

	if (set >= 0)
		H5Dclose(set);
	return err;
}

/* /analysis as a group of this file that has no other name. 0, -EEXIST: another program has put
 * something else there. */
static int open_root(hid_t *root, hid_t file)
{
	H5L_info_t link;
	H5O_info_t object;

	if (H5Lexists(file, "analysis", H5P_DEFAULT) <= 0) {
		*root = h5__create_list(file, "analysis");
		return *root < 0 ? h5__error() : 0;
	}
	if (H5Lget_info(file, "analysis", &link, H5P_DEFAULT) < 0 || link.type != H5L_TYPE_HARD ||
	    H5Oget_info_by_name(file, "analysis", &object, H5P_DEFAULT) < 0 ||
	    object.type != H5O_TYPE_GROUP || object.rc != 1)
		return -EEXIST;
	*root = H5Gopen2(file, "analysis", H5P_DEFAULT);
	return *root < 0 ? h5__error() : 0;
}

static int remove_earlier(hid_t root, const char *name)
{
	return H5Lexists(root, name, H5P_DEFAULT) > 0 && H5Ldelete(root, name, H5P_DEFAULT) < 0
		       ? h5__error()
		       : 0;
}

/* Makes "clusters" of "clusters/3", if it is not there. */
static int make_parent(hid_t root, const char *path)
{
	const char *slash = strchr(path, '/');
	char name[64];
	hid_t g;

	if (!slash)
		return 0;
	snprintf(name, sizeof(name), "%.*s", (int)(slash - path), path);
	if (H5Lexists(root, name, H5P_DEFAULT) > 0)
		return 0;
	g = h5__create_list(root, name);
	return g < 0 || H5Gclose(g) < 0 ? h5__error() : 0;
}

static int put_group(hid_t root, const struct store_group *g, const json_t *common)
{
	int err = make_parent(root, g->path);

	return err ? err : put_object(root, g->path, g->object, common, 0);
}

/* A job file; or, where another one may be made, one that has results alone. */
static bool may_have_results(hid_t file, bool may_create)
{
	H5G_info_t root;
	hsize_t ours = H5Lexists(file, "analysis", H5P_DEFAULT) > 0;

	return H5Lexists(file, "Steps", H5P_DEFAULT) > 0 ||
	       (may_create && H5Gget_info(file, &root) >= 0 && root.nlinks == ours);
}

static int put_all(hid_t file, const struct store_results *r)
{
	hid_t root = H5I_INVALID_HID;
	int err = may_have_results(file, r->may_create) ? 0 : -EINVAL;

	if (!err)
		err = open_root(&root, file);
	if (!err && r->report)
		err = remove_earlier(root, "report");
	if (!err && r->report)
		err = remove_earlier(root, "row");
	if (!err && r->report)
		err = remove_earlier(root, "page");
	if (!err && r->table.rows)
		err = remove_earlier(root, r->table.name);
	for (unsigned i = 0; !err && i < r->ngroups; i++)
		err = remove_earlier(root, r->groups[i].path);
	if (!err && r->report)
		err = put_report(root, r->report, r->common);
	if (!err && r->row)
		err = put_row(root, r->row);
	if (!err && r->page)
		err = put_page(root, r->page, r->page_by);
	for (unsigned i = 0; !err && i < r->ngroups; i++)
		err = put_group(root, &r->groups[i], r->common);
	if (!err && r->table.rows)
		err = put_table(root, &r->table, r->common);
	if (root >= 0)
		H5Gclose(root);
	return err;
}

/* In a child: the file may be anything. */
static int write_copy(void *arg)
{
	const struct storing *s = arg;
	int err = s->is_new ? 0 : foreign__begin(s->output.old);
	hid_t fapl, file;

	if (!err)
		err = merge_output__copy_old(&s->output);
	if (err)
		return -err;
	h5__init();
	fapl = h5file__write_access();
	file = s->is_new ? H5Fcreate(s->path, H5F_ACC_TRUNC, H5P_DEFAULT, fapl)
			 : H5Fopen(s->path, H5F_ACC_RDWR, fapl);
	err = file >= 0 ? put_all(file, s->results) : s->is_new ? h5__error() : -EBADMSG;
	if (file >= 0 && H5Fclose(file) < 0 && !err)
		err = h5__error();
	H5Pclose(fapl);
	return -err;
}

/* Whether another program has written to the file since it was read for these results. */
static bool has_changed(const struct merge_output *p, const struct timespec *read_at)
{
	struct stat st;

	return read_at && p->old >= 0 && !fstat(p->old, &st) &&
	       (st.st_mtim.tv_sec != read_at->tv_sec || st.st_mtim.tv_nsec != read_at->tv_nsec);
}

static int set_time(const struct merge_output *p, time_t written_s)
{
	const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = written_s}};

	return written_s && futimens(p->fd, times) ? -errno : 0;
}

int store__analysis(const char *path, const struct store_results *results)
{
	struct storing s = {.results = results};
	struct merge_output *p = &s.output;
	int err = merge_output__begin(p, path);

	if (err)
		return err;
	snprintf(s.path, sizeof(s.path), "/proc/self/fd/%d", p->fd);
	s.is_new = p->old < 0 && results->may_create;
	err = p->old < 0 && !s.is_new ? -ENOENT : has_changed(p, results->read_at) ? -ESTALE : 0;
	if (!err)
		err = pool__try(write_copy, &s, &POOL_STREAM);
	if (err > 0)
		err = -err;
	if (!err)
		err = merge_output__sync(p);
	if (!err)
		err = set_time(p, results->written_s);
	if (!err)
		err = merge_output__commit(p, -1);
	if (err && err != -EINTR)
		log_error("%s: results cannot be stored: %s; the file is as it was", path,
			  err == -EINVAL    ? "it is no job file: jobprof merge makes one"
			  : err == -EBADMSG ? "it is no HDF5 file, or damaged"
			  : err == -EEXIST  ? "another program's /analysis is in it: rename that"
			  : err == -ESTALE  ? "another program changed it meanwhile"
					    : strerror(-err));
	merge_output__end(p);
	if (err == -EINTR)
		pool__follow_signal();
	return err;
}
