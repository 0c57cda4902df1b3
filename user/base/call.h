/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs a program that may leave other processes at work when it ends, as programs that take mails
 * do. For Slurm's commands see identity/slurm_lines.h. */
#ifndef JP_BASE_CALL_H
#define JP_BASE_CALL_H

#include <stddef.h>

/*
 * Runs argv[0] as execvp(3) finds it, with standard input from `in` (-1: nothing), and puts what it
 * prints, also on standard error, into text[size], cut where there is more; size 0: the output is
 * not read. Returns its exit status; 127: it cannot be run; -ETIME: it had not ended after so many
 * seconds, and was killed with all of its session; 128 and more: a signal ended it; -errno. Logs
 * nothing.
 */
int call__program(const char *const argv[], int in, char *text, size_t size, unsigned seconds);

#endif
