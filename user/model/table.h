/* SPDX-License-Identifier: GPL-2.0-only */
/* Reading a table, for the files of the room model. */
#ifndef JP_MODEL_TABLE_H
#define JP_MODEL_TABLE_H

#include "hdf5/hdf5.h"
#include "model/model.h"

/* start_ns: unix time of the step's start, NaN: not known. name must live as long as the table.
 * Errors as reader__table(); model_table__free() in all cases. */
int model_table__read(struct model_table *t, const struct reader_node *n,
		      const struct reader_series *s, const char *name, double start_ns);

#endif
