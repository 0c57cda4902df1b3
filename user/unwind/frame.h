/* SPDX-License-Identifier: GPL-2.0-only */
/* From a function to its caller. */
#ifndef JP_UNWIND_FRAME_H
#define JP_UNWIND_FRAME_H

#include "unwind/code_files.h"
#include "unwind/expression.h"

/* Where a thread was: its registers of the copy, in DWARF's order. */
void frame__first(const struct jp_stack_copy *c, struct unwind_regs *regs);
/* The caller's registers in place of the function's. at: the place in file that belongs to the
 * function, which is before the return address. *is_signal: it was interrupted there, and has not
 * called. False: there is no caller, or the tables or the copy do not say. */
bool frame__step(const struct jp_stack_copy *c, const struct code_file *file, uint64_t at,
		 struct unwind_regs *regs, bool *is_signal);

#endif
