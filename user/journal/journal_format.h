/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The bytes of a journal, for its writer and its reader only. See journal.h. */
#ifndef JP_JOURNAL_JOURNAL_FORMAT_H
#define JP_JOURNAL_JOURNAL_FORMAT_H

#include <stdint.h>

#define JOURNAL_MAGIC	"JPJOURN1"
#define JOURNAL_VERSION 1
#define JOURNAL_BOM	0x01020304u

struct journal_header {
	char magic[8];
	uint32_t version;
	uint32_t bom;
};

_Static_assert(sizeof(struct journal_header) == JOURNAL_HEADER_SIZE, "journal header");

struct frame_header {
	uint32_t len; /* number of bytes that follow; with JOURNAL_PACKED they are u64, the length
			 of the records, and the packed records (journal/zero_suppress.h) */
	uint32_t crc; /* of these bytes; inverted if they are packed */
};
#define JOURNAL_PACKED 0x80000000u

/* Payload, then zeros up to a multiple of 8. */
struct record_header {
	uint16_t type;
	uint16_t zero;
	uint32_t len;
};

/* J_ATTR, J_TABLE_ATTR and J_META: then name NUL, and for strings value NUL. */
struct attr_payload {
	uint32_t type;	/* enum attr_type */
	uint32_t table; /* J_TABLE_ATTR; else 0 */
	uint64_t value;
};

/* J_SERIES: then name NUL and per column: type byte, kind byte, name NUL, unit NUL. */
struct series_payload {
	uint16_t id;
	uint16_t ncols;
	uint8_t grouped;
	uint8_t zero[3];
};

/* J_TABLE: then name NUL. */
struct table_payload {
	uint32_t id;
	uint16_t series;
	uint16_t zero;
};

/* J_ROW: then the cells. */
struct row_payload {
	uint32_t table;
	uint32_t ncells;
};

#endif
