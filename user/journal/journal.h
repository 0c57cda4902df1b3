/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The journal: an append-only record of one step's rows on the node's own disk, from which the HDF5
 *file can always be made again. jobprofd (as root) writes journals, jobprof-writer (as the job's
 *user) reads them, and jobprofd reads them after a restart. Other rooms include this header only. A
 *file is a header and frames; each frame is one pwrite(2):
 *
 *	header	"JPJOURN1" u32 version u32 byte order mark 0x01020304
 *	frame	u32 length of what follows the crc, u32 crc32 (zlib) of it, records; with the
 *		highest bit of the length set: the crc inverted, u64 length of the records, the
 *		records as 64-bit words without the zeros (journal/zero_suppress.h)
 *	record	u16 type, u16 0, u32 payload length, payload, padded to 8 bytes
 *
 * A frame whose length or crc is wrong ends the journal: a kill can tear at most the last one.
 * Journals of older versions may have zeros behind the last frame, which are no loss. The owner has
 *the file locked (flock) while it lives.
 */
#ifndef JP_JOURNAL_JOURNAL_H
#define JP_JOURNAL_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schema/series.h"

enum journal_type {
	J_ATTR = 1, /* attribute of the node group; a later one of the same name replaces it */
	J_SERIES,   /* series and its columns */
	J_TABLE,    /* table of a series */
	J_ROW,	    /* one row of one table */
	J_STATE,    /* opaque bytes for the owner's restart; the last one counts */
	J_META,	    /* where the file goes: key=value strings for the writer, not stored in HDF5 */
	J_END,	    /* the step is complete */
	J_TABLE_ATTR, /* attribute of a table; a later one of the same name replaces it */
};

enum attr_type { ATTR_I32, ATTR_I64, ATTR_F64, ATTR_STR };

/* The size of the file's header: a journal of this size holds nothing yet. */
#define JOURNAL_HEADER_SIZE 16

/* Limits of a journal. To write more is -EINVAL (-EMSGSIZE for a frame); a reader that finds more
 * calls the frame damaged. */
#define JOURNAL_NAME_MAX   255	       /* bytes of a name, key or unit, without the NUL */
#define JOURNAL_STR_MAX	   60000       /* an HDF5 attribute ends below 64 KiB */
#define JOURNAL_COLS_MAX   512	       /* columns of a series */
#define JOURNAL_SERIES_MAX 256	       /* series ids are below */
#define JOURNAL_TABLES_MAX 16384       /* table ids are below */
#define JOURNAL_FRAME_MAX  (32u << 20) /* bytes of records in one frame */

struct journal;

/* A journal is made as PATH.new and renamed once it is locked; only a process that was killed
 * meanwhile leaves a PATH.new. */
#define JOURNAL_UNBORN ".new"

/* Makes PATH (0600, exclusive) and locks it. -EEXIST, or -errno. No other process may be making the
 * same PATH: an existing PATH.new is assumed to be of a process that was killed. */
int journal__create(struct journal **out, const char *path);
/* As journal__create(), but PATH is made with the first frame that can be written; until then
 * journal__commit() returns why none can be. 0 or -ENOMEM. */
int journal__prepare(struct journal **out, const char *path);
/* Opens an existing journal for appending: locks it (-EWOULDBLOCK: its owner lives), and cuts off a
 * torn tail of *cut bytes. */
int journal__reopen(struct journal **out, const char *path, uint64_t *cut);
/* Finds out whether another program has replaced, removed or cut the file. 0: no; 1: PATH was
 * another file, or none, and is again a copy of the open one; -errno: the open file is not at PATH
 * and cannot be put there. *cut: how many committed bytes the file has lost, among which may be
 * declarations. */
int journal__secure(struct journal *j, uint64_t *cut);
/* Gives the open file to the caller; nothing can be committed any more. */
int journal__take_fd(struct journal *j);
void journal__free(struct journal *j); /* closes; uncommitted records are lost; NULL is fine */

/* Append records to the frame being built. 0, or -ENOMEM, -EINVAL, -EMSGSIZE: the record is not
 * in the frame. */
int journal__attr_i32(struct journal *j, const char *name, int32_t v);
int journal__attr_i64(struct journal *j, const char *name, int64_t v);
int journal__attr_f64(struct journal *j, const char *name, double v);
/* Bytes that are not UTF-8 and control characters become U+FFFD: users choose some of the texts. */
int journal__attr_str(struct journal *j, const char *name, const char *v);
/* Attributes of a table. */
int journal__table_attr_i32(struct journal *j, uint32_t table, const char *name, int32_t v);
int journal__table_attr_i64(struct journal *j, uint32_t table, const char *name, int64_t v);
int journal__table_attr_str(struct journal *j, uint32_t table, const char *name, const char *v);
int journal__meta(struct journal *j, const char *key, const char *v);
int journal__series(struct journal *j, uint16_t id, const char *name, bool grouped,
		    const struct column *const *cols, unsigned ncols);
int journal__table(struct journal *j, uint32_t id, uint16_t series, const char *name);
int journal__row(struct journal *j, uint32_t table, const union cell *cells, unsigned ncells);
int journal__state(struct journal *j, const void *data, size_t len);
int journal__end(struct journal *j);
/* How many bytes of texts were replaced since the journal was opened. */
uint64_t journal__replaced(const struct journal *j);
/* Writes the frame to the file; 0 also where it is empty. -ENOSPC: the disk is full; the partial
 * frame is cut off again, and its records are still in the frame being built. */
int journal__commit(struct journal *j);
/* journal__mark(): the length of the frame being built. journal__discard(): cuts the frame back to
 * such a length. */
size_t journal__mark(const struct journal *j);
void journal__discard(struct journal *j, size_t mark);

/* A record that is read. The file may be hostile. Pointers are valid until the next call. */
struct journal_record {
	enum journal_type type;
	enum attr_type attr_type; /* J_ATTR, J_TABLE_ATTR */
	const char *name;	  /* J_ATTR, J_TABLE_ATTR, J_META key, J_SERIES, J_TABLE */
	union cell value; /* value of an attribute that is a number; I32 and I64 are sign-extended
			     in .u */
	const char *str;  /* value of an attribute that is a string, or of J_META */
	uint32_t id;	  /* series or table; J_TABLE_ATTR: table */
	uint16_t series;  /* J_TABLE */
	bool grouped;	  /* J_SERIES */
	unsigned ncols;	  /* J_SERIES, J_ROW */
	struct column *cols;	 /* J_SERIES: name, type, kind, unit are set */
	const union cell *cells; /* J_ROW */
	const void *blob;	 /* J_STATE */
	size_t blob_len;
};

struct journal_reader;
int journal_reader__open(struct journal_reader **out, int fd); /* reads by pread; fd stays open */
/* 1: a record; 0: the end; -EBADMSG: not a journal. */
int journal_reader__next(struct journal_reader *r, struct journal_record *rec);
uint64_t journal_reader__end(const struct journal_reader *r); /* where the last good frame ends */
/* Bytes after it; 0 if they are zeros, which older versions left there. */
uint64_t journal_reader__torn(const struct journal_reader *r);
/* Lower bound of the rows in these bytes: rows of the frame that ended the journal, as far as its
 * headers can be read, and of all frames that are found behind it. */
uint64_t journal_reader__torn_rows(const struct journal_reader *r);
void journal_reader__free(struct journal_reader *r);

#endif
