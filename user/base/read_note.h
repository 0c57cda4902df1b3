/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A note of the file and object that this process is reading, written by the readers of files. In a
 * limited child (the room pool) the note is in memory that the parent shares, so that the error
 * line about a child that died names the file and the object.
 */
#ifndef JP_BASE_READ_NOTE_H
#define JP_BASE_READ_NOTE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

/* Rows with impossible values; each table counts once, however often it is read. */
#define READ_DOUBTS 512 /* tables that are counted at most */
struct read_doubts {
	unsigned n, more; /* number of tables; not 0 where there were more than READ_DOUBTS */
	struct read_doubt {
		uint64_t table; /* a hash of file and object */
		uint64_t rows;
	} of[READ_DOUBTS];
	char file[256];	   /* of the first one */
	char columns[256]; /* with ", " between them */
	bool other_files;
};

struct read_note {
	char file[1024], object[512]; /* object: its path and ": ", or "" */
	unsigned seconds;	      /* limit of CPU time for a file; 0: none */
	unsigned seconds_more;	      /* added for the size of this file */
	struct read_doubts doubts;
};

/* From now on the note of this process is in n, and its CPU time is limited: SIGPROF ends the
 * process when it reads one file for longer than n->seconds + n->seconds_more. */
void read_note__keep_in(struct read_note *n);

/* Notes that a file is read from here on, and no object so far. In a child this starts the limit of
 * CPU time again, with a second more for each 256 KiB of the file. */
void read_note__file(const char *path);
/* As read_note__file(); bytes is the result of read_note__file_bytes() for the file. */
void read_note__file_of(const char *path, uint64_t bytes);
/* Notes the object that is read from here on, by its path in the file. */
void read_note__object(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* The object's name and ": ", or "" where there is none. Good until the note changes. */
const char *read_note__get_object(void);
/* Notes that so many rows of the object have impossible values. False: they are in the note
 * already.
 */
bool read_note__doubt(uint64_t rows);
/* Notes that this column has such values. */
void read_note__doubt_column(const char *name);
/* Adds what a child that has ended found to the note of this process. */
void read_note__join(const struct read_note *of_child);
/* Logs one line on all rows with impossible values, if there are any. */
void read_note__say_doubts(void);
/* Bytes that a file occupies on the disk, because the size of a sparse file says nothing. 0 for
 * anything but a regular file. */
uint64_t read_note__file_bytes(const struct stat *st);

#endif
