/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Files that others wrote, opened only to be read. What parses them for root gives up its rights
 * when the first one is open, before a byte of it is read (pool/reader.c). The others are opened
 * for it by a process that has the rights and parses nothing, and opens HDF5 and ELF files alone.
 */
#ifndef JP_BASE_FOREIGN_H
#define JP_BASE_FOREIGN_H

/* As openat(2), of a regular file, without ever waiting; flags: 0 or O_NOFOLLOW. The path
 * /proc/self/fd/N is another descriptor of N, of any kind, whose position is the same. A descriptor
 * or -errno; -EISDIR, -EBADMSG: it is no regular file, and was not opened; -ENOEXEC: it is no HDF5
 * or ELF file, and this process may have no other. */
int foreign__open(int dir, const char *path, int flags);
/* As if foreign__open() had opened it: for a file that is open already. 0 or -errno. */
int foreign__begin(int fd);

/* confine() is called with the first file, and then never again; its error is that of opening. */
void foreign__confine_with(int (*confine)(int fd));
/* From now on the process at the other end of this socket opens files. */
void foreign__ask(int socket);
/* That process: answers until the socket is closed. */
void foreign__serve(int socket);

#endif
