/* SPDX-License-Identifier: GPL-2.0-only */
/* What a journal says will be in the file, known before the first row is written. */
#ifndef JP_HDF5_NODESTEP_LAYOUT_H
#define JP_HDF5_NODESTEP_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "journal/journal.h"

struct plan_attr {
	char *name;
	enum attr_type type;
	union cell value;
	char *str; /* ATTR_STR */
};

struct plan_series {
	char *name;
	bool grouped;
	struct column *cols; /* name, type, kind, unit, how */
	unsigned ncols;
	unsigned ntables;
};

struct plan_table {
	char *name; /* of its series when that is not grouped */
	unsigned series;
	uint64_t rows;
};

struct plan {
	struct plan_attr *attrs;
	unsigned nattrs;
	struct plan_series *series;
	unsigned nseries;
	struct plan_table *tables;
	unsigned ntables;
	/* Journal ids to positions above, -1: not declared. Several ids may name one table: a
	 * restarted owner need not remember the ids it gave. */
	int16_t series_of[JOURNAL_SERIES_MAX];
	int16_t table_of[JOURNAL_TABLES_MAX];
	uint64_t records; /* good records read */
	uint64_t rows;
	uint64_t rejected; /* records that make no sense: not declared, wrong width, bad name */
	uint64_t torn_bytes;
	uint64_t torn_rows;
	bool complete; /* J_END was there */
};

/* Reads all of the journal. 0, -EBADMSG, -ENOMEM or -errno. plan__free(NULL) is fine. */
int plan__read(struct plan **out, int journal_fd);
void plan__free(struct plan *p);

/* Position of the table a J_ROW belongs to, -1 when the row is to be rejected. */
int plan__row_table(const struct plan *p, const struct journal_record *rec);
const struct plan_attr *plan__attr(const struct plan *p, const char *name); /* NULL: no such */

#endif
