/* SPDX-License-Identifier: GPL-2.0-only */
#include "jobfile/nodescan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hdf5/h5util.h"
#include "hdf5/names.h"
#include "jobfile/nodescan_internal.h"

#define ATTRS_MAX  4096
#define TABLES_MAX 65536
#define TOTALS	   "Totals"

#define MESG_EXTERNAL	7  /* the header message "External Data Files" of the file format */
#define INDEX_PER_CHUNK 64 /* bytes: between what a full large node and a small one take */

const struct nodescan_label_info nodescan_labels[LABEL_N] = {
	[LABEL_USER] = {"User", false},
	[LABEL_UID] = {"UID", true},
	[LABEL_CLUSTER] = {"Cluster", false},
	[LABEL_JOB_NAME] = {"Job Name", false},
	[LABEL_ACCOUNT] = {"Account", false},
	[LABEL_PARTITION] = {"Partition", false},
	[LABEL_SLUID] = {"SLUID", false},
	[LABEL_ARRAY_JOB] = {"Array Job Id", true},
	[LABEL_ARRAY_TASK] = {"Array Task Id", true},
	[LABEL_HET_JOB] = {"Het Job Id", true},
	[LABEL_HET_OFFSET] = {"Het Job Offset", true},
	[LABEL_RESTART] = {"Restart Count", true},
	[LABEL_JOB_START] = {"Job Start EpochTime", true},
};

/* One group on its way to a digest. */
struct walk {
	struct nodescanner *s;
	struct nodescan *n;
	uint64_t file_size;
	enum nodescan_depth depth;
	unsigned what; /* is asked about an object */
	bool has_totals;
	bool totals; /* in them */
	uint64_t *digest;
	const char *group; /* its name below the node, NULL: the node itself */
	struct reader_series *into;
	unsigned room;
	uint64_t children;
	int err;
};

int nodescanner__new(struct nodescanner **out)
{
	struct nodescanner *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	if (digester__new(&s->digester) || cursor__new(&s->cursor) || nodeimage__new(&s->image)) {
		nodescanner__free(s);
		return -ENOMEM;
	}
	*out = s;
	return 0;
}

static void clear(struct nodescanner *s)
{
	struct nodescan *n = &s->scan;

	nodescan_totals__clear(s);
	for (unsigned i = 0; i < n->nseries; i++) {
		struct names tables = {n->series[i].tables, n->series[i].ntables};

		names__free(&tables);
		free(n->series[i].name);
	}
	free(n->series);
	free(n->unknown);
	n->series = NULL;
	n->unknown = NULL;
	n->nseries = 0;
	n->facts = (struct nodescan_facts){
		.body = 1,
		.kind = 1,
		.start_s = -1,
		.end_s = -1,
		.tasks = -1,
		.nodes = -1,
	};
	n->nodelist[0] = n->object[0] = 0;
	n->trouble = "";
}

void nodescanner__free(struct nodescanner *s)
{
	if (!s)
		return;
	clear(s);
	nodeimage__free(s->image);
	cursor__free(s->cursor);
	digester__free(s->digester);
	free(s);
}

int nodescan__fail(struct nodescan *n, int err, const char *a, const char *b, const char *trouble)
{
	snprintf(n->object, sizeof(n->object), "%s%s%s", a ? a : "", a && b ? "/" : "", b ? b : "");
	n->trouble = trouble;
	return err;
}

static const char *table_trouble(int err)
{
	switch (err) {
	case -ENOTSUP:
		return "no table of a profile";
	case -EMSGSIZE:
		return "claims more rows than the file can hold";
	case -ENOMEM:
		return "not enough memory";
	default:
		return "damaged";
	}
}

static bool read_text(hid_t attr, hid_t type, char *to, size_t size)
{
	char *text;

	*to = 0;
	if (h5__get_text(attr, type, size - 1, &text))
		return false;
	strcpy(to, text);
	free(text);
	return *to != 0;
}

static bool read_number(hid_t attr, hid_t type, int64_t *v)
{
	return H5Tget_class(type) == H5T_INTEGER && H5Aread(attr, H5T_NATIVE_INT64, v) >= 0;
}

/* Of nodes or tasks. What no job has is not known. */
static bool read_count(hid_t attr, hid_t type, int64_t *v)
{
	return read_number(attr, type, v) && *v >= 0 && *v <= INT32_MAX;
}

static int take_unknown(struct nodescan *n, hid_t attr, hid_t type)
{
	int err = n->unknown ? 0 : h5__get_text(attr, type, JOURNAL_STR_MAX, &n->unknown);

	return err == -ENOMEM ? err : 0;
}

static int take(struct nodescan *n, const char *name, hid_t attr, hid_t type)
{
	struct nodescan_facts *f = &n->facts;
	int64_t v = -1;

	if (!strcmp(name, "Unknown Columns"))
		return take_unknown(n, attr, type);
	if (!strcmp(name, "Step Node List"))
		read_text(attr, type, n->nodelist, sizeof(n->nodelist));
	else if (!strcmp(name, "Nodes in Step") && read_count(attr, type, &v))
		f->nodes = v;
	else if (!strcmp(name, "Number of Tasks") && read_count(attr, type, &v))
		f->tasks = v;
	else if (!strcmp(name, "Start TimeNS") && read_number(attr, type, &v)) {
		f->start_s = v / 1000000000;
		f->start_exact = true;
	} else if (!strcmp(name, "Baseline")) {
		f->late = true;
	}
	for (unsigned i = 0; i < LABEL_N; i++) {
		struct nodescan_value *l = &f->labels[i];

		if (!strcmp(name, nodescan_labels[i].attr))
			l->known = nodescan_labels[i].number
					   ? read_number(attr, type, &l->i)
					   : read_text(attr, type, l->text, sizeof(l->text));
	}
	return 0;
}

/* Facts are in attributes with one value. */
static int take_attr(struct nodescan *n, const char *name, hid_t attr, hid_t type)
{
	hid_t space = H5Aget_space(attr);
	int err = 0;

	if (space >= 0 && H5Sget_simple_extent_npoints(space) == 1)
		err = take(n, name, attr, type);
	if (space >= 0)
		H5Sclose(space);
	return err;
}

/* A number or a text is copied as it is; what else an attribute may be, its digest decides. */
static bool is_plain(hid_t type)
{
	H5T_class_t class = H5Tget_class(type);

	return class == H5T_INTEGER || class == H5T_FLOAT || class == H5T_STRING;
}

static herr_t on_attr(hid_t loc, const char *name, const H5A_info_t *info, void *arg)
{
	struct walk *w = arg;
	hid_t attr = H5Aopen(loc, name, H5P_DEFAULT);
	hid_t type = attr < 0 ? H5I_INVALID_HID : H5Aget_type(attr);

	*w->digest = digest__text(*w->digest, name);
	w->err = type < 0 ? -EBADMSG : 0;
	if (!w->err && (w->depth != NODESCAN_OUTSIDE || !is_plain(type)))
		w->err = digester__attr(w->s->digester, attr, w->digest);
	if (!w->err && !w->group)
		w->err = take_attr(w->n, name, attr, type);
	if (!w->err)
		nodeimage__attr(w->s->image, name, attr, type, info);
	if (type >= 0)
		H5Tclose(type);
	if (attr >= 0)
		H5Aclose(attr);
	if (!w->err && ++w->children > ATTRS_MAX)
		w->err = -EMSGSIZE;
	if (w->err)
		nodescan__fail(w->n, w->err, w->group, name,
			       w->err == -ENOTSUP ? "an attribute of a kind no profile has"
						  : "a damaged attribute");
	return w->err ? -1 : 0;
}

static int add_attrs(struct walk *w, hid_t group)
{
	hsize_t at = 0;

	w->children = 0;
	if (H5Aiterate2(group, H5_INDEX_NAME, H5_ITER_INC, &at, on_attr, w) >= 0)
		return 0;
	return w->err ? w->err : nodescan__fail(w->n, -EBADMSG, w->group, NULL, "damaged");
}

static int remember(struct walk *w, const char *name)
{
	struct reader_series *s = w->into;
	char **v;

	if (s->ntables == w->room) {
		w->room = w->room ? 2 * w->room : 4;
		v = realloc(s->tables, w->room * sizeof(*v));
		if (!v)
			return -ENOMEM;
		s->tables = v;
	}
	s->tables[s->ntables] = strdup(name);
	return s->tables[s->ntables++] ? 0 : -ENOMEM;
}

static int add_table_attrs(struct walk *w, hid_t group, const char *name)
{
	struct walk sub = *w;
	hid_t dset = H5Oopen(group, name, H5P_DEFAULT);
	int err;

	if (dset < 0)
		return nodescan__fail(w->n, -EBADMSG, w->group, name, "damaged");
	sub.group = name;
	err = add_attrs(&sub, dset);
	H5Oclose(dset);
	return err;
}

/* Whether the table surely has its bytes in this file: without opening it, that can be said of
 * chunked ones. External files have a message in the header, virtual tables a heap. */
static bool is_chunked(const H5O_info_t *obj)
{
	return !(obj->hdr.mesg.present & UINT64_C(1) << MESG_EXTERNAL) &&
	       obj->meta_size.obj.index_size && !obj->meta_size.obj.heap_size;
}

static void count_chunks(struct nodescan *n, uint64_t chunks)
{
	if (chunks > n->facts.chunks)
		n->facts.chunks = chunks;
}

/* 1: that is enough; 0: it must be read; -ENOMEM. */
static int look_outside(struct walk *w, const char *name, const H5O_info_t *obj)
{
	int err = w->into ? remember(w, name) : 0;

	if (err)
		return err;
	if (!w->has_totals)
		return 1;
	if (!is_chunked(obj))
		return 0;
	count_chunks(w->n, obj->meta_size.obj.index_size / INDEX_PER_CHUNK);
	return 1;
}

/* The same. */
static int look_at_table(struct walk *w, const char *name, const H5O_info_t *obj)
{
	if (w->depth == NODESCAN_OUTSIDE || (w->totals && w->depth == NODESCAN_COPY))
		return look_outside(w, name, obj);
	return w->totals && w->depth == NODESCAN_AGAIN;
}

static int read_table(struct walk *w, hid_t group, const char *name)
{
	struct digest_table t;
	int err = digester__table(w->s->digester, group, name, w->file_size, &t);

	if (err)
		return nodescan__fail(w->n, err == -ENOMEM ? err : -EBADMSG, w->group, name,
				      table_trouble(err));
	if (!w->totals)
		*w->digest = digest__add(*w->digest, &t.digest, sizeof(t.digest));
	count_chunks(w->n, t.chunks);
	return w->into && w->depth != NODESCAN_OUTSIDE ? remember(w, name) : 0;
}

static int add_table(struct walk *w, hid_t group, const char *name, const H5O_info_t *obj)
{
	int err = look_at_table(w, name, obj);

	if (obj->num_attrs)
		nodeimage__spoil(w->s->image);
	if (err < 0 || (err && w->depth == NODESCAN_OUTSIDE))
		return err < 0 ? err : 0;
	err = err ? 0 : read_table(w, group, name);
	/* Slurm's tables have none, nor have ours. */
	return !err && obj->num_attrs ? add_table_attrs(w, group, name) : err;
}

static int add_group(struct walk *w, hid_t node, const char *name);

static struct reader_series *new_series(struct nodescan *n, const char *name, bool grouped)
{
	struct reader_series *v = realloc(n->series, (n->nseries + 1) * sizeof(*v));

	if (!v)
		return NULL;
	n->series = v;
	v += n->nseries;
	*v = (struct reader_series){.name = strdup(name), .grouped = grouped};
	if (!v->name)
		return NULL;
	n->nseries++;
	return v;
}

static int add_child(struct walk *w, hid_t group, const char *name, const H5O_info_t *obj)
{
	struct walk series = *w;

	if (obj->rc != 1)
		return nodescan__fail(w->n, -EBADMSG, w->group, name, "an object with two names");
	if (obj->type == H5O_TYPE_GROUP && !w->group)
		return add_group(w, group, name);
	if (obj->type != H5O_TYPE_DATASET)
		return nodescan__fail(w->n, -EBADMSG, w->group, name, "no table of a profile");
	if (w->group)
		return add_table(w, group, name, obj);
	series.into = new_series(w->n, name, false);
	series.room = 0;
	return series.into ? add_table(&series, group, name, obj) : -ENOMEM;
}

/* Tables with a number for a name, as those of tasks, are of a kind. The bytes of its header say
 * that a table has the same columns, most likely; 0 where they were not asked for. */
static void add_kind(struct walk *w, const char *name, const H5O_info_t *obj)
{
	const bool number = w->group && !name[strspn(name, "0123456789")];
	const uint64_t v[] = {obj->type, obj->num_attrs, obj->hdr.nmesgs, obj->hdr.space.total};
	uint64_t *kind = &w->n->facts.kind;

	*kind = digest__text(*kind, number ? "0" : name);
	*kind = digest__add(*kind, v, obj->type == H5O_TYPE_DATASET ? sizeof(v) : sizeof(*v));
}

static herr_t on_link(hid_t group, const char *name, const H5L_info_t *link, void *arg)
{
	struct walk *w = arg;
	H5O_info_t obj = {0};

	if (link->type != H5L_TYPE_HARD || !h5__name_ok(name))
		w->err = nodescan__fail(w->n, -EBADMSG, w->group, name,
					"a link that is no part of a profile");
	else if (++w->children > TABLES_MAX)
		w->err = nodescan__fail(w->n, -EBADMSG, w->group, NULL, "too many tables");
	else if (H5Oget_info_by_name2(group, name, &obj, w->what, H5P_DEFAULT) < 0)
		w->err = nodescan__fail(w->n, -EBADMSG, w->group, name, "damaged");
	if (w->err)
		return -1;
	/* Whether there are Totals is no part of the body. */
	if (w->group || strcmp(name, TOTALS))
		*w->digest = digest__text(*w->digest, name);
	add_kind(w, name, &obj);
	nodeimage__look(w->s->image, link, &obj);
	w->err = add_child(w, group, name, &obj);
	return w->err ? -1 : 0;
}

static int add_links(struct walk *w, hid_t group)
{
	w->children = 0;
	if (H5Literate(group, H5_INDEX_NAME, H5_ITER_INC, NULL, on_link, w) >= 0)
		return 0;
	return w->err ? w->err : nodescan__fail(w->n, -EBADMSG, w->group, NULL, "damaged");
}

/* A series of tables; Totals have a digest of their own. */
static int add_group(struct walk *w, hid_t node, const char *name)
{
	struct walk sub = *w;
	hid_t g;
	int err;

	sub.group = name;
	sub.room = 0;
	if (!strcmp(name, TOTALS)) {
		w->n->facts.totals = 1;
		sub.totals = true;
		sub.has_totals = true;
		if (w->depth == NODESCAN_COPY)
			sub.what |= H5O_INFO_HDR | H5O_INFO_META_SIZE;
		sub.digest = &w->n->facts.totals;
		sub.into = NULL;
		nodeimage__spoil(w->s->image);
	} else {
		sub.into = new_series(w->n, name, true);
		if (!sub.into)
			return -ENOMEM;
	}
	g = H5Gopen2(node, name, H5P_DEFAULT);
	if (g < 0)
		return nodescan__fail(w->n, -EBADMSG, NULL, name, "damaged");
	nodeimage__group(w->s->image, g, name);
	err = add_attrs(&sub, g);
	if (!err)
		err = add_links(&sub, g);
	H5Gclose(g);
	return err;
}

int nodescan__read(struct nodescanner *s, hid_t group, uint64_t file_size,
		   enum nodescan_depth depth, struct nodescan **out)
{
	struct walk w = {
		.s = s,
		.n = &s->scan,
		.file_size = file_size,
		.depth = depth,
		.what = H5O_INFO_BASIC | H5O_INFO_NUM_ATTRS,
		.digest = &s->scan.facts.body,
	};
	int err;

	if (depth == NODESCAN_OUTSIDE) {
		w.has_totals = H5Lexists(group, TOTALS, H5P_DEFAULT) > 0;
		w.what |= w.has_totals ? H5O_INFO_HDR | H5O_INFO_META_SIZE : 0;
	}

	nodeimage__begin(s->image, group);
	if (w.has_totals || depth == NODESCAN_AGAIN)
		nodeimage__spoil(s->image);
	else
		w.what |= H5O_INFO_HDR;
	*out = &s->scan;
	clear(s);
	s->scan.facts.whole = depth != NODESCAN_OUTSIDE;
	s->file_size = file_size;
	err = add_attrs(&w, group);
	if (!err)
		err = add_links(&w, group);
	return err && err != -ENOMEM ? -EBADMSG : err;
}
