/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Opens directories in which root writes. Any part of a path that another user can change may
 * become a link, by which that user would choose where root writes.
 */
#ifndef JP_BASE_OWN_WAY_H
#define JP_BASE_OWN_WAY_H

/* Opens the directory of a file, "." where the path has none; *base is the file's name. For root, a
 * link in the path that another user made is not followed. A descriptor or -errno; -ELOOP: there is
 * such a link. */
int own_way__open(const char *path, const char **base);

#endif
