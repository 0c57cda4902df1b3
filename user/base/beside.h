/* SPDX-License-Identifier: GPL-2.0-only */
/* Processes that work beside the one that starts them. */
#ifndef JP_BASE_BESIDE_H
#define JP_BASE_BESIDE_H

#include <sys/types.h>

/* As fork(2). Where the caller may have another CPU, the child does not wait for the caller's. */
pid_t beside__fork(void);

#endif
