/* SPDX-License-Identifier: GPL-2.0-only */
/* The attributes of the node's group and of its tables are written. */
#include "hdf5/nodestep_attrs.h"

#include <string.h>

#include "hdf5/h5util.h"

static hid_t attr_type(const struct nodestep_attr *a)
{
	hid_t t;

	switch (a->type) {
	case ATTR_I32:
		return H5Tcopy(H5T_STD_I32LE);
	case ATTR_I64:
		return H5Tcopy(H5T_STD_I64LE);
	case ATTR_F64:
		return H5Tcopy(H5T_IEEE_F64LE);
	case ATTR_STR:
		break;
	}
	t = H5Tcopy(H5T_C_S1);
	H5Tset_size(t, strlen(a->str)); /* no room for a NUL, as Slurm does it */
	return t;
}

/* An array of one, as Slurm's are. */
static int write_slurm_attr(hid_t node, const struct nodestep_attr *a)
{
	const hid_t mem[] = {
		[ATTR_I32] = H5T_NATIVE_INT64,
		[ATTR_I64] = H5T_NATIVE_INT64,
		[ATTR_F64] = H5T_NATIVE_DOUBLE,
	};
	hsize_t one = 1;
	hid_t type, space, attr;
	int err = 0;

	type = attr_type(a);
	space = H5Screate_simple(1, &one, NULL);
	attr = H5Acreate2(node, a->name, type, space, H5P_DEFAULT, H5P_DEFAULT);
	if (attr < 0 || H5Awrite(attr, a->type == ATTR_STR ? type : mem[a->type],
				 a->type == ATTR_STR ? (const void *)a->str : &a->value) < 0)
		err = h5__error();
	if (attr >= 0)
		H5Aclose(attr);
	H5Sclose(space);
	H5Tclose(type);
	return err;
}

static int write_attr(hid_t node, const struct nodestep_attr *a)
{
	if (a->type == ATTR_STR && !*a->str)
		return 0;
	if (a->type == ATTR_STR && strcmp(a->name, "Node Name") && strcmp(a->name, "Start Time"))
		return h5__put_text(node, a->name, a->str);
	return write_slurm_attr(node, a);
}

int nodestep_attrs__write_table(hid_t dset, const struct nodestep_table *t)
{
	int err = 0;

	for (unsigned i = 0; !err && i < t->attrs.n; i++)
		err = write_attr(dset, &t->attrs.at[i]);
	return err;
}

int nodestep_attrs__write(hid_t node, const struct nodestep_layout *p)
{
	struct nodestep_attr torn = {
		.name = "Torn Rows",
		.type = ATTR_I64,
		.value.u = p->torn_rows,
	};
	int err =
		h5__put_text(node, "Units",
			     "MiB is 2^20 bytes, KiB is 2^10; MB in the name of a column is MiB.");

	for (unsigned i = 0; !err && i < p->attrs.n; i++)
		err = write_attr(node, &p->attrs.at[i]);
	if (err)
		return err;
	return p->torn_bytes && !nodestep_layout__attr(p, torn.name) ? write_attr(node, &torn) : 0;
}
