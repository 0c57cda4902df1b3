/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How the programs of one installation, or of one build, find each other and their files. */
#ifndef JP_BASE_PROGRAM_H
#define JP_BASE_PROGRAM_H

#include <stddef.h>

/* The path of a program that is installed with this one: in the same directory, or else in the
 * directory `elsewhere` relative to that, whether the program exists there or not. */
void program__find(const char *name, const char *elsewhere, char *buf, size_t len);

/* The path of a file that programs read: `beside` and `elsewhere` are its paths relative to this
 * program's directory, in a build and installed. */
void program__find_data(const char *beside, const char *elsewhere, char *buf, size_t len);

/* From now on the user of this process can neither trace the process nor read its memory. A program
 * file that the user may not read has the same effect from exec on, unless root has set
 * fs.suid_dumpable to 1. */
void program__close_to_user(void);

#endif
