/* SPDX-License-Identifier: GPL-2.0-only */
#include "store/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/h5util.h"

#define NAME_MAX_H5  1024
#define ATTRS_MAX    1024
#define CHILDREN_MAX 65536
#define NODES_MAX    (1u << 20)

struct names {
	char **v;
	unsigned n;
};

static void names_free(struct names *l)
{
	for (unsigned i = 0; i < l->n; i++)
		free(l->v[i]);
	free(l->v);
	*l = (struct names){0};
}

/* Decimal numbers by value and before everything else, the rest by name. */
static int by_number(const void *a, const void *b)
{
	const char *x = *(char *const *)a, *y = *(char *const *)b;
	size_t nx = strspn(x, "0123456789"), ny = strspn(y, "0123456789");
	bool dx = nx && !x[nx], dy = ny && !y[ny];

	if (dx != dy)
		return dx ? -1 : 1;
	if (dx && nx != ny)
		return nx < ny ? -1 : 1;
	return strcmp(x, y);
}

/* The name of child i of a group when it is a hard link to an object of that type, else NULL. */
static char *child_name(hid_t group, hsize_t i, H5O_type_t type)
{
	char name[NAME_MAX_H5];
	H5O_info_t obj;
	H5L_info_t link;
	ssize_t len;

	len = H5Lget_name_by_idx(group, ".", H5_INDEX_NAME, H5_ITER_NATIVE, i, name, sizeof(name),
				 H5P_DEFAULT);
	if (len <= 0 || len >= (ssize_t)sizeof(name) || !h5__name_ok(name))
		return NULL;
	if (H5Lget_info(group, name, &link, H5P_DEFAULT) < 0 || link.type != H5L_TYPE_HARD)
		return NULL;
	if (H5Oget_info_by_name2(group, name, &obj, H5O_INFO_BASIC, H5P_DEFAULT) < 0 ||
	    obj.type != type)
		return NULL;
	return strdup(name);
}

static int children(hid_t group, H5O_type_t type, struct names *out)
{
	H5G_info_t info;

	*out = (struct names){0};
	if (H5Gget_info(group, &info) < 0 || info.nlinks > CHILDREN_MAX)
		return -EBADMSG;
	out->v = calloc(info.nlinks + 1, sizeof(*out->v));
	if (!out->v)
		return -ENOMEM;
	for (hsize_t i = 0; i < info.nlinks; i++) {
		char *name = child_name(group, i, type);

		if (name)
			out->v[out->n++] = name;
	}
	if (out->n)
		qsort(out->v, out->n, sizeof(*out->v), by_number);
	return 0;
}

static int read_string(hid_t attr, hid_t type, struct reader_attr *a)
{
	size_t size = H5Tget_size(type);
	hid_t mem;
	int err = 0;

	if (H5Tis_variable_str(type) || !size || size > JOURNAL_STR_MAX + 1)
		return -EBADMSG;
	a->str = calloc(1, size + 1);
	if (!a->str)
		return -ENOMEM;
	mem = H5Tcopy(type);
	if (mem < 0 || H5Aread(attr, mem, a->str) < 0)
		err = -EBADMSG;
	H5Tclose(mem);
	return err;
}

static int read_value(hid_t attr, struct reader_attr *a)
{
	hid_t type = H5Aget_type(attr), space = H5Aget_space(attr);
	H5T_class_t class = H5Tget_class(type);
	int err = 0;

	if (type < 0 || space < 0 || H5Sget_simple_extent_npoints(space) != 1) {
		err = -EBADMSG;
	} else if (class == H5T_STRING) {
		a->type = ATTR_STR;
		err = read_string(attr, type, a);
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

static int read_attrs(hid_t group, struct reader_node *n)
{
	int count = H5Aget_num_attrs(group);
	struct attr_list l = {n, count > ATTRS_MAX ? ATTRS_MAX : count};
	hsize_t at = 0;

	if (count < 0)
		return -EBADMSG;
	if (!count)
		return 0;
	n->attrs = calloc(l.max, sizeof(*n->attrs));
	if (!n->attrs)
		return -ENOMEM;
	if (H5Aiterate2(group, H5_INDEX_NAME, H5_ITER_NATIVE, &at, on_attr, &l) < 0)
		return -EBADMSG;
	return 0;
}

static int add_group_series(hid_t node, const char *name, struct reader_series *s)
{
	hid_t g = H5Gopen2(node, name, H5P_DEFAULT);
	struct names tables;
	int err;

	if (g < 0)
		return -EBADMSG;
	err = children(g, H5O_TYPE_DATASET, &tables);
	H5Gclose(g);
	if (err)
		return err;
	*s = (struct reader_series){strdup(name), true, tables.v, tables.n};
	return s->name ? 0 : -ENOMEM;
}

static int add_table_series(const char *name, struct reader_series *s)
{
	*s = (struct reader_series){strdup(name), false, calloc(1, sizeof(*s->tables)), 0};
	if (!s->name || !s->tables)
		return -ENOMEM;
	s->tables[0] = strdup(name);
	s->ntables = s->tables[0] != NULL;
	return s->ntables ? 0 : -ENOMEM;
}

static int read_series(hid_t node, struct reader_node *n)
{
	struct names groups = {0}, tables = {0};
	int err;

	err = children(node, H5O_TYPE_GROUP, &groups);
	if (!err)
		err = children(node, H5O_TYPE_DATASET, &tables);
	if (!err) {
		n->series = calloc(groups.n + tables.n + 1, sizeof(*n->series));
		err = n->series ? 0 : -ENOMEM;
	}
	for (unsigned i = 0; !err && i < groups.n; i++)
		err = add_group_series(node, groups.v[i], &n->series[n->nseries++]);
	for (unsigned i = 0; !err && i < tables.n; i++)
		err = add_table_series(tables.v[i], &n->series[n->nseries++]);
	names_free(&groups);
	names_free(&tables);
	return err;
}

static void node_clear(struct reader_node *n)
{
	for (unsigned i = 0; i < n->nattrs; i++) {
		free(n->attrs[i].name);
		free(n->attrs[i].str);
	}
	for (unsigned i = 0; i < n->nseries; i++) {
		struct names tables = {n->series[i].tables, n->series[i].ntables};

		names_free(&tables);
		free(n->series[i].name);
	}
	free(n->attrs);
	free(n->series);
	free(n->step);
	free(n->name);
	free(n->path);
}

static int add_node(struct reader *r, hid_t parent, const char *prefix, const char *step,
		    const char *name)
{
	struct reader_node *nodes, n = {0};
	hid_t g;
	int err;

	if (r->nnodes == NODES_MAX)
		return -EMSGSIZE;
	nodes = realloc(r->nodes, (r->nnodes + 1) * sizeof(*nodes));
	if (!nodes)
		return -ENOMEM;
	r->nodes = nodes;
	g = H5Gopen2(parent, name, H5P_DEFAULT);
	if (g < 0)
		return -EBADMSG;
	n.step = strdup(step);
	n.name = strdup(name);
	if (asprintf(&n.path, "%s/%s", prefix, name) < 0)
		n.path = NULL;
	err = n.step && n.name && n.path ? read_attrs(g, &n) : -ENOMEM;
	if (!err)
		err = read_series(g, &n);
	H5Gclose(g);
	r->nodes[r->nnodes++] = n;
	return err;
}

/* Every group of parent is a node. */
static int add_nodes(struct reader *r, hid_t parent, const char *prefix, const char *step)
{
	struct names nodes;
	int err = children(parent, H5O_TYPE_GROUP, &nodes);

	for (unsigned i = 0; !err && i < nodes.n; i++)
		err = add_node(r, parent, prefix, step, nodes.v[i]);
	names_free(&nodes);
	return err;
}

static bool has(const struct names *l, const char *name)
{
	for (unsigned i = 0; i < l->n; i++)
		if (!strcmp(l->v[i], name))
			return true;
	return false;
}

static int add_step(struct reader *r, hid_t steps, const char *step)
{
	hid_t s = H5Gopen2(steps, step, H5P_DEFAULT), g;
	struct names groups = {0};
	char *prefix = NULL;
	int err = s < 0 ? -EBADMSG : children(s, H5O_TYPE_GROUP, &groups);

	if (!err && has(&groups, "Nodes")) {
		r->merged = true;
		g = H5Gopen2(s, "Nodes", H5P_DEFAULT);
		if (asprintf(&prefix, "/Steps/%s/Nodes", step) < 0)
			prefix = NULL;
		err = g < 0 ? -EBADMSG : prefix ? add_nodes(r, g, prefix, step) : -ENOMEM;
		if (g >= 0)
			H5Gclose(g);
	}
	free(prefix);
	names_free(&groups);
	if (s >= 0)
		H5Gclose(s);
	return err;
}

static int add_steps(struct reader *r, hid_t root)
{
	hid_t g = H5Gopen2(root, "Steps", H5P_DEFAULT);
	struct names steps = {0};
	int err = g < 0 ? -EBADMSG : children(g, H5O_TYPE_GROUP, &steps);

	for (unsigned i = 0; !err && i < steps.n; i++)
		err = add_step(r, g, steps.v[i]);
	names_free(&steps);
	if (g >= 0)
		H5Gclose(g);
	return err;
}

/* [.]<job>_<step>_<node>.h5, or job_<job>.h5. */
static int parse_name(struct reader *r, const char *path, char **step)
{
	const char *base = strrchr(path, '/');
	size_t job, n;

	base = base ? base + 1 : path;
	base += *base == '.';
	base += strncmp(base, "job_", 4) ? 0 : 4;
	job = strspn(base, "0123456789");
	n = base[job] == '_' ? strcspn(base + job + 1, "_") : 0;
	if (n && base[job + 1 + n] != '_')
		n = 0;
	r->job = strndup(base, job && (base[job] == '_' || base[job] == '.') ? job : 0);
	*step = strndup(n ? base + job + 1 : "", n);
	return r->job && *step ? 0 : -ENOMEM;
}

static int read_tree(struct reader *r, const char *path)
{
	struct names groups = {0};
	char *step = NULL;
	hid_t root = H5Gopen2(r->file, "/", H5P_DEFAULT);
	int err;

	err = root < 0 ? -EBADMSG : parse_name(r, path, &step);
	if (!err)
		err = children(root, H5O_TYPE_GROUP, &groups);
	if (!err && has(&groups, "Steps"))
		err = add_steps(r, root);
	if (!err && !r->merged)
		err = add_nodes(r, root, "", step);
	if (!err && !r->nnodes)
		err = -EBADMSG;
	names_free(&groups);
	free(step);
	if (root >= 0)
		H5Gclose(root);
	return err;
}

/* What open(2) says is clearer than what the library makes of it. */
static int check_file(const char *path)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY), err = 0;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st))
		err = -errno;
	else if (!S_ISREG(st.st_mode))
		err = S_ISDIR(st.st_mode) ? -EISDIR : -EBADMSG;
	close(fd);
	return err;
}

static int64_t open_file(const char *path)
{
	hid_t fapl = H5Pcreate(H5P_FILE_ACCESS), file;

	H5Pset_fclose_degree(fapl, H5F_CLOSE_STRONG);
#if H5_VERSION_GE(1, 10, 7)
	H5Pset_file_locking(fapl, false, true);
#endif
	file = H5Fopen(path, H5F_ACC_RDONLY, fapl);
	H5Pclose(fapl);
	return file;
}

int reader__open(struct reader **out, const char *path)
{
	struct reader *r;
	int err = check_file(path);

	if (err)
		return err;
	h5__init();
	H5PLset_loading_state(0);
	r = calloc(1, sizeof(*r));
	if (!r)
		return -ENOMEM;
	r->file = open_file(path);
	err = r->file < 0 ? -EBADMSG : read_tree(r, path);
	if (err) {
		reader__free(r);
		return err;
	}
	*out = r;
	return 0;
}

void reader__free(struct reader *r)
{
	if (!r)
		return;
	for (unsigned i = 0; i < r->nnodes; i++)
		node_clear(&r->nodes[i]);
	if (r->file >= 0)
		H5Fclose(r->file);
	free(r->nodes);
	free(r->job);
	free(r);
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
