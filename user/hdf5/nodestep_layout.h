/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The contents of a file, which are found in the journal before the first row is written. */
#ifndef JP_HDF5_NODESTEP_LAYOUT_H
#define JP_HDF5_NODESTEP_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "hdf5/nodestep.h"
#include "journal/journal.h"

struct nodestep_attr {
	char *name;
	enum attr_type type;
	union cell value;
	char *str; /* ATTR_STR */
};

struct nodestep_attrs {
	struct nodestep_attr *at;
	unsigned n;
};

struct nodestep_series {
	char *name;
	bool grouped;
	struct column *cols; /* name, type, kind, unit, how */
	unsigned ncols;
	int time;	  /* the column TimeNS; -1: none */
	unsigned ntables; /* that are made */
	bool made;	  /* it has tables, or the stock tool wants it */
	bool apart;	  /* another one has its name and other columns */
	uint64_t rows;
};

struct nodestep_table {
	char *name; /* of its series when that is not grouped */
	unsigned series;
	bool made; /* a table without rows and attributes is not */
	uint64_t rows;
	struct nodestep_attrs attrs;
};

struct nodestep_layout {
	const struct nodestep_window *window; /* NULL: all */
	struct nodestep_attrs attrs;
	struct nodestep_series *series;
	unsigned nseries;
	struct nodestep_table *tables;
	unsigned ntables;
	/* By the journal's id: the position above; -1: not declared. Several ids may name one
	 * table, because an owner that was restarted need not know the ids that it used. */
	int16_t series_of[JOURNAL_SERIES_MAX];
	int16_t table_of[JOURNAL_TABLES_MAX];
	uint64_t records; /* good records read */
	uint64_t rows;
	uint64_t rejected; /* records without sense: not declared, of a wrong width, with a bad name
			    */
	uint64_t torn_bytes;
	uint64_t torn_rows;
	bool complete; /* J_END was there */
};

/* Reads all of the journal. 0, -EBADMSG, -ENOMEM or -errno. nodestep_layout__free(NULL) is fine. */
int nodestep_layout__read(struct nodestep_layout **out, int journal_fd,
			  const struct nodestep_window *window);
void nodestep_layout__free(struct nodestep_layout *p);

/* Position of the table to which a J_ROW belongs; -1: the row is rejected. */
int nodestep_layout__row_table(const struct nodestep_layout *p, const struct journal_record *rec);
/* Whether a row of the table of that position is in the window. */
bool nodestep_layout__is_wanted(const struct nodestep_layout *p, int table,
				const struct journal_record *rec);
const struct nodestep_attr *nodestep_layout__attr(const struct nodestep_layout *p,
						  const char *name); /* NULL: no such */

#endif
