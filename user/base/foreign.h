/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files that others wrote, opened only to be read. A process that parses them for root gives up its
 * rights when the first file is open, before it reads a byte (pool/reader.c). Another process,
 * which keeps its rights and parses nothing, opens further files for it: HDF5 and ELF files only.
 */
#ifndef JP_BASE_FOREIGN_H
#define JP_BASE_FOREIGN_H

#include <sys/types.h>

/* Opens a regular file as openat(2) does, without ever waiting; flags: 0 or O_NOFOLLOW. The path
 * /proc/self/fd/N duplicates descriptor N, whatever it is; both share one position. Returns a
 * descriptor or -errno; -EISDIR, -EBADMSG: it is no regular file, and was not opened; -ENOEXEC: it
 * is no HDF5 or ELF file, and this process may have no other. */
int foreign__open(int dir, const char *path, int flags);
/* Does for a file that is open already what foreign__open() does after opening. 0 or -errno. */
int foreign__begin(int fd);

/* From now on foreign__open() opens only files of the users that were given here since
 * foreign__of_all(), and files of root that all may read: for a server, which may read files of
 * many users and works for one. A user's file may have become a link to another user's. A process
 * that opens files for this one knows what was given before it began. 0 or -ENOSPC. */
int foreign__only_of(uid_t uid);
/* And the file that is open there, whosever it is, by any name; two at most. */
int foreign__only_this(int fd);
void foreign__of_all(void);
/* foreign__open() calls confine() once, with the first file, and returns its error. */
void foreign__confine_with(int (*confine)(int fd));
/* From now on files are opened by the process at the other end of this socket. */
void foreign__ask(int socket);
/* The work of that process: it opens files on request until the socket is closed. */
void foreign__serve(int socket);

#endif
