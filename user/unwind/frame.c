// SPDX-License-Identifier: GPL-2.0-only
/* libdw finds the entry of the tables and reads it; what it says is done here. */
#include "unwind/frame.h"

#include <stdlib.h>

/* Where bpf/sample.bpf.c has put DWARF's registers: struct pt_regs of the kernel. */
#if defined(__x86_64__)
#define SP 7
static const signed char places[UNWIND_REGS] = {10, 12, 11, 5,	13, 14, 4,  19, 9,  8,	7,
						6,  3,	2,  1,	0,  16, -1, -1, -1, -1, -1,
						-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1};
#define PC	16
#define ADDR(v) (v)
#elif defined(__aarch64__)
#define SP	31
static const signed char places[UNWIND_REGS] = {0,  1,	2,  3,	4,  5,	6,  7,	8,  9,	10,
						11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
						22, 23, 24, 25, 26, 27, 28, 29, 30, 31, -1};
#define PC	32
#define ADDR(v) ((v) & ((1ull << 48) - 1)) /* without its signature */
#else
#define SP	0
#define PC	0
static const signed char places[UNWIND_REGS] = {-1};
#define ADDR(v) (v)
#endif

void frame__first(const struct jp_stack_copy *c, struct unwind_regs *regs)
{
	*regs = (struct unwind_regs){.pc = c->regs[PC]};
	for (unsigned i = 0; i < UNWIND_REGS; i++) {
		if (places[i] < 0)
			continue;
		regs->v[i] = c->regs[places[i]];
		regs->known |= 1ull << i;
	}
}

static void take_register(const struct unwind_context *c, Dwarf_Frame *frame, unsigned reg,
			  struct unwind_regs *to)
{
	Dwarf_Op room[3], *ops;
	size_t n;
	bool known = false;

	if (dwarf_frame_register(frame, (int)reg, room, &ops, &n))
		return;
	if (!n && ops) /* the function has not kept it */
		return;
	if (n) {
		known = unwind_context__value(c, ops, n, false, &to->v[reg]);
	} else {
		to->v[reg] = c->regs->v[reg];
		known = c->regs->known >> reg & 1;
	}
	to->known |= (uint64_t)known << reg;
}

static bool take_caller(const struct jp_stack_copy *c, Dwarf_Frame *frame, int ra,
			struct unwind_regs *regs)
{
	struct unwind_context ctx = {.copy = c, .regs = regs};
	struct unwind_regs caller = {};
	Dwarf_Op *ops;
	size_t n;

	if (ra < 0 || ra >= UNWIND_REGS || dwarf_frame_cfa(frame, &ops, &n) ||
	    !unwind_context__value(&ctx, ops, n, true, &ctx.cfa))
		return false;
	for (unsigned i = 0; i < UNWIND_REGS; i++)
		take_register(&ctx, frame, i, &caller);
	caller.v[SP] = ctx.cfa;
	caller.known |= 1ull << SP;
	caller.pc = ADDR(caller.v[ra]);
	if (!(caller.known >> ra & 1) || !caller.pc || ctx.cfa < regs->v[SP] ||
	    (caller.pc == regs->pc && ctx.cfa == regs->v[SP]))
		return false;
	*regs = caller;
	return true;
}

bool frame__step(const struct jp_stack_copy *c, const struct code_file *file, uint64_t at,
		 struct unwind_regs *regs, bool *is_signal)
{
	Dwarf_Frame *frame = NULL;
	bool ok;
	int ra;

	*is_signal = false;
	if (!file->cfi || dwarf_cfi_addrframe(file->cfi, at, &frame))
		return false;
	ra = dwarf_frame_info(frame, NULL, NULL, is_signal);
	ok = take_caller(c, frame, ra, regs);
	free(frame);
	return ok;
}
