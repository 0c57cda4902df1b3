/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Expressions of DWARF that tables for unwinding contain. */
#ifndef JP_UNWIND_EXPRESSION_H
#define JP_UNWIND_EXPRESSION_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdint.h>

#include "bpf/jobprof.h"

#define UNWIND_REGS 33 /* number of registers that matter, in DWARF's order */

/* A thread in one of its functions: the values of its registers, as far as they are known. */
struct unwind_regs {
	uint64_t v[UNWIND_REGS];
	uint64_t known; /* as bits */
	uint64_t pc;
};

struct unwind_context {
	const struct jp_stack_copy *copy;
	const struct unwind_regs *regs;
	uint64_t cfa; /* where the caller's stack begins; 0: it is being computed */
};

/* The value of a register of the caller, by an expression. False: not known. */
bool unwind_context__value(const struct unwind_context *c, const Dwarf_Op *ops, size_t n,
			   bool is_cfa, uint64_t *v);

#endif
