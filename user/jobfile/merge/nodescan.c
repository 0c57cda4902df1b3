/* SPDX-License-Identifier: GPL-2.0-only */
/* The walk through a node's group: every attribute and table goes to a digest. */
#include "jobfile/merge/nodescan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/read_note.h"
#include "hdf5/h5util.h"
#include "hdf5/names.h"
#include "hdf5/summary.h"
#include "jobfile/merge/nodescan_internal.h"

#define ATTRS_MAX  4096
#define TABLES_MAX 65536
#define TOTALS	   "Totals"

#define MESG_EXTERNAL 7 /* the header message "External Data Files" of the file format */

/* One group on its way to a digest. */
struct walk {
	struct nodescanner *s;
	struct nodescan *n;
	uint64_t *digest;
	const char *group;	    /* its name below the node, NULL: the node itself */
	struct reader_series *into; /* the series that its tables belong to, or NULL */
	bool totals;		    /* it is Totals */
	unsigned children;
	int err;
};

int nodescanner__new(struct nodescanner **out)
{
	struct nodescanner *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	if (digester__new(&s->digester) || cursor__new(&s->cursor)) {
		nodescanner__free(s);
		return -ENOMEM;
	}
	*out = s;
	return 0;
}

static void clear_scan(struct nodescanner *s)
{
	struct nodescan *n = &s->scan;

	nodescan_totals__clear(s);
	for (unsigned i = 0; i < n->nseries; i++) {
		string_list__free(&n->series[i].tables);
		free(n->series[i].name);
	}
	free(n->series);
	free(n->unknown);
	n->series = NULL;
	n->unknown = NULL;
	n->nseries = 0;
	n->info = (struct node_info){
		.body = 1,
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
	clear_scan(s);
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
	if (h5__missing_filter(err))
		return reader__strerror(err);
	switch (err) {
	case -ENOTSUP:
		return "no table of a profile";
	case -EMSGSIZE:
		return "claims more rows than the file can hold";
	case -ENODATA:
		return "has rows that were never written";
	case -ENOMEM:
		return "not enough memory";
	default:
		return "damaged";
	}
}

static herr_t on_attr(hid_t loc, const char *name, const H5A_info_t *info, void *arg)
{
	struct walk *w = arg;
	hid_t attr = H5Aopen(loc, name, H5P_DEFAULT);
	hid_t type = attr < 0 ? H5I_INVALID_HID : H5Aget_type(attr);

	*w->digest = digest__text(*w->digest, name);
	w->err = type < 0 ? -EBADMSG : digester__attr(w->s->digester, attr, w->digest);
	if (!w->err && !w->group)
		w->err = node_info__take_attr(w->n, name, attr, type);
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

static int add_attrs(struct walk *w, hid_t object)
{
	hsize_t at = 0;

	w->children = 0;
	if (H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_INC, &at, on_attr, w) >= 0)
		return 0;
	return w->err ? w->err : nodescan__fail(w->n, -EBADMSG, w->group, NULL, "damaged");
}

/* Totals follow from the rows: their names are in the digest, and opening them would take as long
 * as all the rest. Of a chunked table the header says whether its bytes are in this file: external
 * files have a message in it, virtual tables a heap. */
static bool is_unopened_total(const struct walk *w, const H5O_info_t *obj)
{
	return w->totals && obj->meta_size.obj.index_size && !obj->meta_size.obj.heap_size &&
	       !(obj->hdr.mesg.present & UINT64_C(1) << MESG_EXTERNAL);
}

static int digest_table(struct walk *w, hid_t dset, const char *name)
{
	struct node_info *info = &w->n->info;
	struct digest_table t;
	int err = digester__table(w->s->digester, dset, w->s->file_size, &t);

	if (err)
		return nodescan__fail(w->n, err == -ENOMEM ? err : -EBADMSG, w->group, name,
				      table_trouble(err));
	if (!w->totals)
		*w->digest = digest__add(*w->digest, &t.digest, sizeof(t.digest));
	info->chunks = t.chunks > info->chunks ? t.chunks : info->chunks;
	return 0;
}

/* Slurm's tables have no attributes. */
static int add_table(struct walk *w, hid_t group, const char *name, const H5O_info_t *obj)
{
	struct walk table = *w;
	hid_t dset;
	int err = w->into ? string_list__append(&w->into->tables, name) : 0;

	if (err || is_unopened_total(w, obj))
		return err;
	read_note__object("%s%s%s", w->group ? w->group : "", w->group ? "/" : "", name);
	dset = digester__open_table(w->s->digester, group, name);
	if (dset < 0)
		return nodescan__fail(w->n, -EBADMSG, w->group, name, "damaged");
	err = digest_table(w, dset, name);
	table.group = name;
	if (!err && obj->num_attrs)
		err = add_attrs(&table, dset);
	H5Dclose(dset);
	return err;
}

static struct reader_series *add_series(struct nodescan *n, const char *name, bool grouped)
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

static int add_group(struct walk *w, hid_t node, const char *name);

static int add_child(struct walk *w, hid_t group, const char *name, const H5O_info_t *obj)
{
	struct walk series = *w;

	if (obj->rc != 1)
		return nodescan__fail(w->n, -EBADMSG, w->group, name, "an object with two names");
	if (!w->group && obj->type != H5O_TYPE_GROUP && !strcmp(name, TOTALS))
		return nodescan__fail(w->n, -EBADMSG, NULL, name,
				      "not a group, as the totals of a job file are");
	if (obj->type == H5O_TYPE_GROUP && !w->group)
		return add_group(w, group, name);
	if (obj->type != H5O_TYPE_DATASET)
		return nodescan__fail(w->n, -EBADMSG, w->group, name, "no table of a profile");
	if (w->group)
		return add_table(w, group, name, obj);
	series.into = add_series(w->n, name, false);
	return series.into ? add_table(&series, group, name, obj) : -ENOMEM;
}

static herr_t on_link(hid_t group, const char *name, const H5L_info_t *link, void *arg)
{
	struct walk *w = arg;
	const unsigned of_totals = w->totals ? H5O_INFO_HDR | H5O_INFO_META_SIZE : 0;
	const unsigned fields = H5O_INFO_BASIC | H5O_INFO_NUM_ATTRS | of_totals;
	H5O_info_t obj = {0};

	if (link->type != H5L_TYPE_HARD || !h5__name_ok(name))
		w->err = nodescan__fail(w->n, -EBADMSG, w->group, name,
					"a link that is no part of a profile");
	else if (++w->children > TABLES_MAX)
		w->err = nodescan__fail(w->n, -EBADMSG, w->group, NULL, "too many tables");
	else if (H5Oget_info_by_name2(group, name, &obj, fields, H5P_DEFAULT) < 0)
		w->err = nodescan__fail(w->n, -EBADMSG, w->group, name, "damaged");
	if (w->err)
		return -1;
	/* Whether there are Totals is no part of the body. */
	if (w->group || strcmp(name, TOTALS))
		*w->digest = digest__text(*w->digest, name);
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
	sub.totals = !strcmp(name, TOTALS);
	if (sub.totals) {
		w->n->info.totals = 1;
		sub.digest = &w->n->info.totals;
		sub.into = NULL;
	} else {
		sub.into = add_series(w->n, name, true);
		if (!sub.into)
			return -ENOMEM;
	}
	g = H5Gopen2(node, name, H5P_DEFAULT);
	if (g < 0)
		return nodescan__fail(w->n, -EBADMSG, NULL, name, "damaged");
	err = add_attrs(&sub, g);
	if (!err)
		err = add_links(&sub, g);
	H5Gclose(g);
	return err;
}

int nodescan__read(struct nodescanner *s, hid_t group, uint64_t file_size, bool decode,
		   struct nodescan **out)
{
	struct walk w = {.s = s, .n = &s->scan, .digest = &s->scan.info.body};
	int err;

	*out = &s->scan;
	clear_scan(s);
	s->file_size = file_size;
	/* Without totals, they are computed from the rows, which shows whether these are whole. */
	digester__decode(s->digester, decode && H5Lexists(group, TOTALS, H5P_DEFAULT) > 0);
	err = add_attrs(&w, group);
	if (!err)
		err = add_links(&w, group);
	return err && err != -ENOMEM ? -EBADMSG : err;
}

void nodescan_totals__clear(struct nodescanner *s)
{
	for (unsigned i = 0; i < s->ntotals; i++) {
		summary__free_columns(s->totals[i].cols, s->totals[i].ncols);
		free(s->totals[i].name);
		free(s->totals[i].rows);
	}
	free(s->totals);
	s->totals = NULL;
	s->ntotals = 0;
}
