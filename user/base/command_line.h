/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A command as one line of text, as a shell would take it, without its secrets. */
#ifndef JP_BASE_COMMAND_LINE_H
#define JP_BASE_COMMAND_LINE_H

#include <stddef.h>

#define COMMAND_LINE_MAX 2048 /* bytes; what is longer ends in "..." */

/*
 * The words of argv with blanks between, quoted where a shell would split them. What looks like a
 * secret is "***": the value of an option or of a variable whose name has "password", "token" or
 * the like, and the password in a URL. The caller frees it; NULL: no memory.
 */
char *command_line__of(char *const *argv);

/* A command as a title on one line: unchanged if it fits into room, else without the directories of
 * words that are absolute paths, because the program's input matters more. Returns buf. */
const char *command_line__short(const char *command, size_t room,
				char buf[static COMMAND_LINE_MAX + 1]);

#endif
