/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libhdf5 itself faults or loops on damaged files. The programs read in a child and outlive that
 * (pool/pool.h); a fuzzer that ended at each would find nothing else. A fault whose instruction
 * lies in the library is jumped out of; one in our code ends the process as ever.
 */
#ifndef JP_TESTS_FUZZ_LIBFAULT_H
#define JP_TESTS_FUZZ_LIBFAULT_H

#define LIBFAULT_SECONDS 1 /* of processor time for one input */

#define LIBFAULT_EXIT 77 /* of a process that ended in a report about the library */

/* Runs fn; 0, or the signal that ended it inside of the library. */
int libfault__run(void (*fn)(const char *), const char *arg);

/* From here on a report of the address sanitizer about the library, or about what it called, ends
 * the process with LIBFAULT_EXIT. */
void libfault__judge_reports(void);

/* Runs fn in a process of its own, where the library's faults end it as they end the programs'.
 * The status as of wait(2). A fault of ours there, or in a process of its, ends this one. */
int libfault__apart(void (*fn)(void *), void *arg);

#endif
