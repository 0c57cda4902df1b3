/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What users have put into a job file goes along when the file is made again: every attribute,
 * object and link of the old file that the new one does not have. Nodes are copied whole before
 * (merge_tree.c), and groups that both files have are merged.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "hdf5/h5util.h"
#include "jobfile/merge/merge_internal.h"

#define LINKS_MAX (1u << 20) /* a damaged group may name its children for ever */
#define ATTR_MAX  (64u << 20)

/* One group that both files have. */
struct keeping {
	hid_t old, into;
	bool nodes;	 /* its children were copied whole */
	bool root, step; /* merge writes attributes of it */
	unsigned level;	 /* 0: the root */
	unsigned links;	 /* seen so far */
	char *object;	 /* out: what cannot be kept */
	size_t object_len;
	int err;
};

/* Says what cannot be kept. Returns err. */
static int name_object(struct keeping *k, const char *what, const char *name, int err)
{
	char group[256] = "";

	H5Iget_name(k->old, group, sizeof(group));
	snprintf(k->object, k->object_len, "%s%s/%s", what, strcmp(group, "/") ? group : "", name);
	return err;
}

static bool has_references(hid_t type)
{
	return H5Tdetect_class(type, H5T_REFERENCE) != 0;
}

static int copy_value(hid_t from, hid_t type, hid_t space, hid_t into, const char *name)
{
	const hssize_t n = H5Sget_simple_extent_npoints(space);
	const size_t size = H5Tget_size(type);
	_cleanup_free_ void *value = NULL;
	hid_t to;
	int err = 0;

	if (n < 0 || !size)
		return -EBADMSG;
	if ((uint64_t)n > ATTR_MAX / size)
		return -EMSGSIZE;
	value = calloc(n + 1, size);
	if (!value)
		return -ENOMEM;
	if (n && H5Aread(from, type, value) < 0)
		return -EBADMSG;
	to = H5Acreate2(into, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
	if (to < 0 || (n && H5Awrite(to, type, value) < 0))
		err = h5__error();
	if (to >= 0)
		H5Aclose(to);
	if (n)
		H5Dvlen_reclaim(type, space, H5P_DEFAULT, value);
	return err;
}

static int copy_attr(hid_t from, hid_t into, const char *name)
{
	/* A named type is the old file's; a copy of it is nobody's. */
	const hid_t stored = H5Aget_type(from), space = H5Aget_space(from);
	const hid_t type = stored < 0 ? H5I_INVALID_HID : H5Tcopy(stored);
	int err = type < 0 || space < 0 ? -EBADMSG : has_references(type) ? -ENOTSUP : 0;

	if (!err)
		err = copy_value(from, type, space, into, name);
	if (type >= 0)
		H5Tclose(type);
	if (stored >= 0)
		H5Tclose(stored);
	if (space >= 0)
		H5Sclose(space);
	return err;
}

static herr_t on_attr(hid_t old, const char *name, const H5A_info_t *info, void *arg)
{
	struct keeping *k = arg;
	hid_t from;

	if (H5Aexists(k->into, name) > 0 ||
	    ((k->root || k->step) && merge_metadata__writes(k->step, name)))
		return 0;
	from = H5Aopen(old, name, H5P_DEFAULT);
	k->err = from < 0 ? -EBADMSG : copy_attr(from, k->into, name);
	if (from >= 0)
		H5Aclose(from);
	if (k->err)
		name_object(k, "the attribute ", name, k->err);
	return k->err ? -1 : 0;
}

/* References lead to places in the file that they are in: in a copy they would be null. */
static herr_t find_reference_attr(hid_t object, const char *name, const H5A_info_t *info, void *arg)
{
	hid_t attr = H5Aopen(object, name, H5P_DEFAULT);
	hid_t type = attr < 0 ? attr : H5Aget_type(attr);
	herr_t found = type < 0 ? -1 : has_references(type);

	if (type >= 0)
		H5Tclose(type);
	if (attr >= 0)
		H5Aclose(attr);
	return found;
}

static herr_t find_references(hid_t at, const char *name, const H5O_info_t *info, void *arg)
{
	hid_t object = H5Oopen(at, name, H5P_DEFAULT);
	hid_t type = object >= 0 && info->type == H5O_TYPE_DATASET ? H5Dget_type(object)
								   : H5I_INVALID_HID;
	herr_t found = object < 0 ? -1 : type >= 0 && has_references(type);

	if (!found)
		found = H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_NATIVE, NULL,
				    find_reference_attr, NULL);
	if (type >= 0)
		H5Tclose(type);
	if (object >= 0)
		H5Oclose(object);
	return found;
}

static int copy_object(struct keeping *k, const char *name)
{
	herr_t found = H5Ovisit_by_name2(k->old, name, H5_INDEX_NAME, H5_ITER_NATIVE,
					 find_references, NULL, H5O_INFO_BASIC, H5P_DEFAULT);

	if (found)
		return found > 0 ? name_object(k, "the references in ", name, -ENOTSUP)
				 : name_object(k, "", name, -EBADMSG);
	if (H5Ocopy(k->old, name, k->into, name, H5P_DEFAULT, H5P_DEFAULT) >= 0)
		return 0;
	return name_object(k, "", name, h5__of_system() ? h5__error() : -EBADMSG);
}

static int copy_link(struct keeping *k, const char *name, const H5L_info_t *link)
{
	_cleanup_free_ char *to = calloc(1, link->u.val_size + 1);
	const char *file, *object;
	herr_t done = -1;

	if (!to)
		return -ENOMEM;
	if (H5Lget_val(k->old, name, to, link->u.val_size, H5P_DEFAULT) < 0)
		return name_object(k, "the link ", name, -EBADMSG);
	if (link->type == H5L_TYPE_SOFT)
		done = H5Lcreate_soft(to, k->into, name, H5P_DEFAULT, H5P_DEFAULT);
	else if (link->type == H5L_TYPE_EXTERNAL &&
		 H5Lunpack_elink_val(to, link->u.val_size, NULL, &file, &object) >= 0)
		done = H5Lcreate_external(file, object, k->into, name, H5P_DEFAULT, H5P_DEFAULT);
	return done < 0 ? name_object(k, "the link ", name, -ENOTSUP) : 0;
}

static int keep_group(const struct keeping *group);

/* Both files have something of that name. */
static int merge_object(struct keeping *k, const char *name, const H5L_info_t *link)
{
	struct keeping sub = {
		.nodes = k->level == 2 && !strcmp(name, "Nodes"),
		.step = k->level == 1,
		.level = k->level + 1,
		.object = k->object,
		.object_len = k->object_len,
	};
	H5L_info_t new;
	int err;

	if (k->nodes)
		return 0;
	if (H5Lget_info(k->into, name, &new, H5P_DEFAULT) < 0)
		return h5__error();
	if (link->type != new.type)
		return name_object(k, "", name, -EEXIST);
	if (link->type != H5L_TYPE_HARD)
		return 0;
	sub.old = H5Gopen2(k->old, name, H5P_DEFAULT);
	sub.into = H5Gopen2(k->into, name, H5P_DEFAULT);
	err = sub.old < 0 || sub.into < 0 ? name_object(k, "", name, -EEXIST) : keep_group(&sub);
	if (sub.old >= 0)
		H5Gclose(sub.old);
	if (sub.into >= 0)
		H5Gclose(sub.into);
	return err;
}

static herr_t on_link(hid_t old, const char *name, const H5L_info_t *link, void *arg)
{
	struct keeping *k = arg;
	const htri_t there = H5Lexists(k->into, name, H5P_DEFAULT);

	if (there < 0 || ++k->links > LINKS_MAX)
		k->err = name_object(k, "", name, -EBADMSG);
	else if (there)
		k->err = merge_object(k, name, link);
	else if (link->type == H5L_TYPE_HARD)
		k->err = copy_object(k, name);
	else
		k->err = copy_link(k, name, link);
	return k->err ? -1 : 0;
}

static int keep_group(const struct keeping *group)
{
	struct keeping k = *group;

	if (H5Aiterate2(k.old, H5_INDEX_NAME, H5_ITER_NATIVE, NULL, on_attr, &k) < 0 ||
	    H5Literate(k.old, H5_INDEX_NAME, H5_ITER_NATIVE, NULL, on_link, &k) < 0)
		return k.err ? k.err : name_object(&k, "", "", -EBADMSG);
	return 0;
}

int merge_keep__others(hid_t old, hid_t into, char *object, size_t len)
{
	struct keeping k = {.root = true, .object = object, .object_len = len};
	int err = 0;

	k.old = H5Gopen2(old, "/", H5P_DEFAULT);
	k.into = H5Gopen2(into, "/", H5P_DEFAULT);
	err = k.old < 0 || k.into < 0 ? -EBADMSG : keep_group(&k);
	if (k.old >= 0)
		H5Gclose(k.old);
	if (k.into >= 0)
		H5Gclose(k.into);
	return err;
}
