/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One node of a file: its attributes, the names of its tables. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/read_note.h"
#include "hdf5/columns_table.h"
#include "hdf5/h5util.h"
#include "hdf5/names.h"
#include "hdf5/reader.h"

#define ATTRS_MAX  1024
#define TABLES_MAX (1u << 20) /* of all series together: groups may be the same one many times */
#define UNKNOWN	   "Unknown Columns"

static int read_value(hid_t attr, struct reader_attr *a)
{
	hid_t type = H5Aget_type(attr), space = H5Aget_space(attr);
	H5T_class_t class = H5Tget_class(type);
	int err = 0;

	if (type < 0 || space < 0 || H5Sget_simple_extent_npoints(space) != 1) {
		err = -EBADMSG;
	} else if (class == H5T_STRING) {
		a->type = ATTR_STR;
		err = h5__get_text(attr, type, JOURNAL_STR_MAX + 1, &a->str);
	} else if (class == H5T_INTEGER && H5Tget_size(type) <= 8) {
		a->type = ATTR_I64;
		err = H5Aread(attr, H5T_NATIVE_INT64, &a->i) < 0 ? -EBADMSG : 0;
	} else if (class == H5T_FLOAT && H5Tget_size(type) <= 8) {
		a->type = ATTR_F64;
		err = H5Aread(attr, H5T_NATIVE_DOUBLE, &a->f) < 0 ? -EBADMSG : 0;
	} else {
		err = -EBADMSG;
	}
	if (type >= 0)
		H5Tclose(type);
	if (space >= 0)
		H5Sclose(space);
	return err;
}

struct attr_list {
	struct reader_node *node;
	unsigned max;
};

/* Attributes of other shapes are left out. */
static herr_t on_attr(hid_t loc, const char *name, const H5A_info_t *info, void *arg)
{
	struct attr_list *l = arg;
	struct reader_node *n = l->node;
	struct reader_attr a = {0};
	hid_t attr = H5Aopen(loc, name, H5P_DEFAULT);
	int err;

	if (attr < 0)
		return 0;
	err = read_value(attr, &a);
	H5Aclose(attr);
	a.name = err ? NULL : strdup(name);
	if (!a.name) {
		free(a.str);
		return err == -ENOMEM || !err ? -1 : 0;
	}
	n->attrs[n->nattrs++] = a;
	return n->nattrs == l->max;
}

static int read_attrs(struct reader_node *n)
{
	int count = H5Aget_num_attrs(n->group);
	struct attr_list l = {n, count > ATTRS_MAX ? ATTRS_MAX : count};
	hsize_t at = 0;

	if (count < 0)
		return -EBADMSG;
	if (!count)
		return 0;
	n->attrs = calloc(l.max, sizeof(*n->attrs));
	if (!n->attrs)
		return -ENOMEM;
	if (H5Aiterate2(n->group, H5_INDEX_NAME, H5_ITER_NATIVE, &at, on_attr, &l) < 0)
		return -EBADMSG;
	return 0;
}

int reader__attr(const struct reader_node *n, const char *name, struct reader_attr *a)
{
	htri_t there = H5Aexists(n->group, name);
	hid_t attr = there > 0 ? H5Aopen(n->group, name, H5P_DEFAULT) : H5I_INVALID_HID;
	int err;

	*a = (struct reader_attr){0};
	if (attr < 0)
		return there ? -EBADMSG : -ENOENT;
	err = read_value(attr, a);
	H5Aclose(attr);
	if (err)
		free(a->str);
	return err;
}

static int read_unknown(struct reader_node *n)
{
	struct reader_attr a;
	int err = reader__attr(n, UNKNOWN, &a);

	if (!err)
		n->unknown = a.str;
	return err == -ENOMEM ? err : 0;
}

bool reader__i64(int64_t group, const char *name, int64_t *v)
{
	struct reader_attr a = {0};
	hid_t attr =
		H5Aexists(group, name) > 0 ? H5Aopen(group, name, H5P_DEFAULT) : H5I_INVALID_HID;
	bool ok;

	if (attr < 0)
		return false;
	ok = !read_value(attr, &a) && a.type == ATTR_I64;
	H5Aclose(attr);
	free(a.str);
	if (ok)
		*v = a.i;
	return ok;
}

char *reader__text(int64_t object, const char *name)
{
	struct reader_attr a = {0};
	hid_t attr =
		H5Aexists(object, name) > 0 ? H5Aopen(object, name, H5P_DEFAULT) : H5I_INVALID_HID;
	bool ok;

	if (attr < 0)
		return NULL;
	ok = !read_value(attr, &a) && a.type == ATTR_STR;
	H5Aclose(attr);
	if (ok)
		return a.str;
	free(a.str);
	return NULL;
}

bool reader_node__i64(const struct reader_node *n, const char *name, int64_t *v)
{
	return reader__i64(n->group, name, v);
}

/* jobprof's have times in ns, too; a file that somebody made need have none. */
bool reader__is_slurms(int64_t group)
{
	return H5Aexists(group, "Start Time") > 0 && H5Aexists(group, "Start TimeNS") <= 0;
}

static int add_group_series(hid_t node, const char *name, bool hold, struct reader_series *s)
{
	hid_t g = H5Gopen2(node, name, H5P_DEFAULT);
	struct string_list tables = {0};
	int err;

	if (g < 0)
		return -EBADMSG;
	err = names__children(g, H5O_TYPE_DATASET, &tables);
	if (err || !hold)
		H5Gclose(g);
	if (err)
		return err;
	*s = (struct reader_series){strdup(name), true, tables, hold ? g : 0};
	return s->name ? 0 : -ENOMEM;
}

static int add_table_series(const char *name, struct reader_series *s)
{
	*s = (struct reader_series){.name = strdup(name)};
	return s->name ? string_list__append(&s->tables, name) : -ENOMEM;
}

static int read_series(struct reader_node *n)
{
	struct string_list groups = {0}, tables = {0};
	unsigned ntables = 0;
	int err;

	err = names__children(n->group, H5O_TYPE_GROUP, &groups);
	if (!err)
		err = names__children(n->group, H5O_TYPE_DATASET, &tables);
	if (!err) {
		n->series = calloc(groups.n + tables.n + 1, sizeof(*n->series));
		err = n->series ? 0 : -ENOMEM;
	}
	for (unsigned i = 0; !err && i < groups.n; i++) {
		err = add_group_series(n->group, groups.v[i], false, &n->series[n->nseries++]);
		ntables += n->series[i].tables.n;
		if (!err && ntables > TABLES_MAX)
			err = -EMSGSIZE;
	}
	for (unsigned i = 0; !err && i < tables.n; i++)
		if (strcmp(tables.v[i], COLUMNS_TABLE) != 0)
			err = add_table_series(tables.v[i], &n->series[n->nseries++]);
	string_list__free(&groups);
	string_list__free(&tables);
	return err;
}

static void free_series(struct reader_series *s)
{
	string_list__free(&s->tables);
	free(s->name);
	if (s->group > 0)
		H5Gclose(s->group);
}

int reader_node__series(struct reader_node *n, const char *name)
{
	struct reader_series *all;
	H5O_info_t obj;
	H5L_info_t link;
	int err;

	if (!h5__name_ok(name) || !strcmp(name, COLUMNS_TABLE))
		return 0;
	if (H5Lget_info(n->group, name, &link, H5P_DEFAULT) < 0)
		return H5Lexists(n->group, name, H5P_DEFAULT) > 0 ? -EBADMSG : 0;
	if (link.type != H5L_TYPE_HARD)
		return 0;
	if (H5Oget_info_by_name2(n->group, name, &obj, H5O_INFO_BASIC, H5P_DEFAULT) < 0)
		return -EBADMSG;
	if (obj.type != H5O_TYPE_GROUP && obj.type != H5O_TYPE_DATASET)
		return 0;
	all = reallocarray(n->series, n->nseries + 1, sizeof(*all));
	if (!all)
		return -ENOMEM;
	n->series = all;
	all += n->nseries;
	*all = (struct reader_series){0};
	err = obj.type == H5O_TYPE_GROUP ? add_group_series(n->group, name, true, all)
					 : add_table_series(name, all);
	if (err)
		free_series(all);
	else
		n->nseries++;
	return err;
}

static int read_all(struct reader_node *n)
{
	const char *unknown;
	int err = read_attrs(n);

	if (!err)
		err = read_series(n);
	unknown = err ? NULL : node__str(n, UNKNOWN);
	if (unknown) {
		n->unknown = strdup(unknown);
		err = n->unknown ? 0 : -ENOMEM;
	}
	return err;
}

/* Nodes of one step follow on each other: the group they are in stays open. */
static hid_t open_group(const struct reader *r, unsigned step, const struct reader_node *n)
{
	struct reader_place *p = r->place;
	char *slash = strrchr(n->path, '/');

	if (p->group <= 0 || p->step != step) {
		if (p->group > 0)
			H5Gclose(p->group);
		*slash = '\0';
		p->group = H5Gopen2(r->file, *n->path ? n->path : "/", H5P_DEFAULT);
		*slash = '/';
		p->step = step;
	}
	return p->group > 0 ? H5Gopen2(p->group, n->name, H5P_DEFAULT) : H5I_INVALID_HID;
}

static int open_node(struct reader_node *n, const struct reader *r, unsigned step)
{
	hsize_t bytes;

	if (asprintf(&n->path, r->merged ? "/Steps/%s/Nodes/%s" : "%.0s/%s", n->step, n->name) <
	    0) {
		n->path = NULL;
		return -ENOMEM;
	}
	read_note__object("%s", n->path);
	if (H5Fget_filesize(r->file, &bytes) < 0)
		return -EBADMSG;
	n->file_bytes = bytes;
	n->group = open_group(r, step, n);
	return n->group < 0 ? -EBADMSG : 0;
}

int reader__node(const struct reader *r, unsigned step, unsigned node, const char *series,
		 struct reader_node **out)
{
	struct reader_node *n;
	int err;

	if (step >= r->nsteps || node >= r->steps[step].nodes.n)
		return -ENOENT;
	n = calloc(1, sizeof(*n));
	if (!n)
		return -ENOMEM;
	n->step = r->steps[step].name;
	n->name = r->steps[step].nodes.v[node];
	n->group = H5I_INVALID_HID;
	err = open_node(n, r, step);
	n->is_slurms = !err && reader__is_slurms(n->group);
	if (!err && !series)
		err = read_all(n);
	else if (!err && !(err = read_unknown(n)))
		err = reader_node__series(n, series);
	if (err) {
		reader_node__free(n);
		return err;
	}
	*out = n;
	return 0;
}

void reader_node__free(struct reader_node *n)
{
	if (!n)
		return;
	for (unsigned i = 0; i < n->nattrs; i++) {
		free(n->attrs[i].name);
		free(n->attrs[i].str);
	}
	for (unsigned i = 0; i < n->nseries; i++)
		free_series(&n->series[i]);
	if (n->group >= 0)
		H5Gclose(n->group);
	free(n->path);
	free(n->attrs);
	free(n->series);
	free(n->unknown);
	free(n);
}

const struct reader_attr *node__attr(const struct reader_node *n, const char *name)
{
	for (unsigned i = 0; i < n->nattrs; i++)
		if (!strcmp(n->attrs[i].name, name))
			return &n->attrs[i];
	return NULL;
}

const char *node__str(const struct reader_node *n, const char *name)
{
	const struct reader_attr *a = node__attr(n, name);

	return a && a->type == ATTR_STR ? a->str : NULL;
}

bool node__number(const struct reader_node *n, const char *name, double *v)
{
	const struct reader_attr *a = node__attr(n, name);

	if (!a || a->type == ATTR_STR)
		return false;
	*v = a->type == ATTR_F64 ? a->f : (double)a->i;
	return true;
}

const struct reader_series *node__series(const struct reader_node *n, const char *name)
{
	for (unsigned i = 0; i < n->nseries; i++)
		if (!strcmp(n->series[i].name, name))
			return &n->series[i];
	return NULL;
}
