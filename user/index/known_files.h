/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The files and directories that scans have looked at, as the index has them. */
#ifndef JP_INDEX_KNOWN_FILES_H
#define JP_INDEX_KNOWN_FILES_H

#include <sys/types.h>

#include "base/string_list.h"
#include "index/index.h"

enum known_state {
	FILE_NEW,
	FILE_AGAIN, /* it is noted without a time */
	FILE_CHANGED,
	FILE_KNOWN
};

struct known_file {
	char *path;
	double mtime_s, size; /* NaN: it is to be read again */
	bool is_there;
	bool is_read; /* neither refused nor unreadable */
};

struct known_files {
	struct known_file *v;
	unsigned n;
};

/* Those of a directory. 0 or -errno; known_files__free() in both cases. */
int known_files__load(struct known_files *k, struct index *ix, const char *dir);
void known_files__free(struct known_files *k);
/* What a file is that was found there, which is noted as being there. */
enum known_state known_files__state(struct known_files *k, const char *path, double mtime_s,
				    double size);
/* Whether the index has read such a file, as it is. */
bool known_files__has(const struct known_files *k, const char *path, double mtime_s, double size);
/* Forgets files that do not exist any more, and adds their number to *gone: they were merged or
 * removed, and their jobs stay. 0 or -errno. */
int known_files__forget_gone(const struct known_files *k, struct index *ix, unsigned long *gone);
/* Whether the index can have such a path. */
bool known_files__may_have(const char *path);

/* Notes that a file was read, or why not. 0 or -errno. */
int known_file__note(struct index *ix, const char *dir, const struct known_file *f, uid_t uid,
		     const char *state, const char *why);
int known_file__forget(struct index *ix, const char *path);

/* *same: the directory has not changed since it was last read. 0 or -errno. */
int known_dir__is_same(struct index *ix, const char *dir, double mtime_s, bool *same);
/* Notes when the directory changed; NaN: the next look at it is whole. A change just before it was
 * looked at is not noted, since another one may have the same time. 0 or -errno. */
int known_dir__note(struct index *ix, const char *dir, double mtime_s, double looked_s);
/* The next look at a directory is whole; all: also at those in it, and known files are read again.
 * In a transaction of its own. 0 or -errno. */
int known_dir__look_again(struct index *ix, const char *dir, bool all);
/* Whether the path ends in restart<n>, where the runs of a job before a requeue are. */
bool known_dir__is_for_restarts(const char *path);
/* Lists the restart<n> of a directory: as they are now if that was read, else those that the index
 * knows. 0 or -errno. */
int known_dir__restarts(struct index *ix, const char *dir, bool looked, struct string_list *found);

#endif
