/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The build id of an ELF file. */
#ifndef JP_IDENTITY_ELF_H
#define JP_IDENTITY_ELF_H

#include <stddef.h>

/* A build id has 20 bytes, or 8 or 16 with some linkers; longer ones are not taken. */
#define ELF_BUILD_ID 65

/* Writes the GNU build id of the open file in hexadecimal. The file is hostile: at most some 100 KB
 * of it are read. 0; -ENOENT: it has none; -EINVAL: it is no ELF file of this machine's byte order;
 * -errno of a read. */
int elf__build_id(int fd, char id[ELF_BUILD_ID]);

#endif
