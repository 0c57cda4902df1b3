/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Directories in which root writes. In a path that another user can change any part may become a
 * link: root would write where that user likes.
 */
#ifndef JP_BASE_OWN_WAY_H
#define JP_BASE_OWN_WAY_H

/* Opens the directory of a file, "." where the path has none; *base is the file's name. For root, a
 * link on the way that another user made is not followed. A descriptor or -errno; -ELOOP: there is
 * such a link. */
int own_way__open(const char *path, const char **base);

#endif
