/* SPDX-License-Identifier: GPL-2.0-only */
/* Attributes of the node's group and of its tables. */
#ifndef JP_HDF5_NODESTEP_ATTRS_H
#define JP_HDF5_NODESTEP_ATTRS_H

#include <hdf5.h>

#include "hdf5/nodestep_layout.h"

/* Those of the layout: Slurm's own in the shape that Slurm gives them, other texts as scalars. And
 * what the units of tables mean, and the rows that a torn end has lost. 0 or as h5__error(). */
int nodestep_attrs__write(hid_t node, const struct nodestep_layout *p);
/* Those of a table, in the same shapes. 0 or as h5__error(). */
int nodestep_attrs__write_table(hid_t dset, const struct nodestep_table *t);

#endif
