/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of the running kernel's functions. */
#ifndef JP_IDENTITY_KALLSYMS_H
#define JP_IDENTITY_KALLSYMS_H

#include <stdint.h>

/* Begins to read /proc/kallsyms, which takes some 50 ms, in a thread of its own. */
void kallsyms__prepare(void);
/* The function at an address; NULL: not known, as always without CAP_SYSLOG. Waits until all is
 * read. Only one thread may call it. */
const char *kallsyms__name(uint64_t addr);

#endif
