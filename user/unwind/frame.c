/* SPDX-License-Identifier: GPL-2.0-only */
/* libdw finds the entry of the tables and reads it; what it says is done here. */
#include "unwind/frame.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "unwind/expression.h"

/* ---- A machine with a stack (DWARF 5, 2.5) */

#define DEPTH	16
#define OPS_MAX 64

struct machine {
	const struct unwind_context *c;
	uint64_t v[DEPTH];
	unsigned n;
	bool is_value; /* the result is the value itself, not where it is */
};

/* A word of the stack that was copied. */
static bool context_word(const struct unwind_context *c, uint64_t addr, uint64_t *v)
{
	uint64_t at = addr - c->copy->sp;

	if (addr < c->copy->sp || c->copy->nstack > JP_COPY_BYTES || c->copy->nstack < sizeof(*v) ||
	    at > c->copy->nstack - sizeof(*v))
		return false;
	memcpy(v, c->copy->stack + at, sizeof(*v));
	return true;
}

static bool push(struct machine *m, uint64_t v)
{
	if (m->n == DEPTH)
		return false;
	m->v[m->n++] = v;
	return true;
}

static bool push_register(struct machine *m, uint64_t reg, uint64_t add)
{
	return reg < UNWIND_REGS && (m->c->regs->known >> reg & 1) &&
	       push(m, m->c->regs->v[reg] + add);
}

/* Replaces the two topmost values. */
static bool combine(struct machine *m, unsigned op)
{
	uint64_t b, *a;

	if (m->n < 2)
		return false;
	b = m->v[--m->n];
	a = &m->v[m->n - 1];
	switch (op) {
	case DW_OP_plus:
		*a += b;
		return true;
	case DW_OP_minus:
		*a -= b;
		return true;
	case DW_OP_and:
		*a &= b;
		return true;
	case DW_OP_or:
		*a |= b;
		return true;
	case DW_OP_shl:
		*a = b < 64 ? *a << b : 0;
		return true;
	case DW_OP_shr:
		*a = b < 64 ? *a >> b : 0;
		return true;
	case DW_OP_ge:
		*a = (int64_t)*a >= (int64_t)b;
		return true;
	case DW_OP_gt:
		*a = (int64_t)*a > (int64_t)b;
		return true;
	case DW_OP_le:
		*a = (int64_t)*a <= (int64_t)b;
		return true;
	case DW_OP_lt:
		*a = (int64_t)*a < (int64_t)b;
		return true;
	case DW_OP_eq:
		*a = *a == b;
		return true;
	case DW_OP_ne:
		*a = *a != b;
		return true;
	default:
		return false;
	}
}

static bool execute(struct machine *m, const Dwarf_Op *op)
{
	unsigned atom = op->atom;

	if (atom >= DW_OP_lit0 && atom <= DW_OP_lit31)
		return push(m, atom - DW_OP_lit0);
	if (atom >= DW_OP_breg0 && atom <= DW_OP_breg31)
		return push_register(m, atom - DW_OP_breg0, op->number);
	if (atom >= DW_OP_const1u && atom <= DW_OP_consts)
		return push(m, op->number);
	switch (atom) {
	case DW_OP_bregx:
		return push_register(m, op->number, op->number2);
	case DW_OP_regx: /* is nowhere but in the register */
		m->is_value = true;
		return push_register(m, op->number, 0);
	case DW_OP_call_frame_cfa:
		return m->c->cfa && push(m, m->c->cfa);
	case DW_OP_plus_uconst:
		return m->n && (m->v[m->n - 1] += op->number, true);
	case DW_OP_dup:
		return m->n && push(m, m->v[m->n - 1]);
	case DW_OP_deref:
		return m->n && context_word(m->c, m->v[m->n - 1], &m->v[m->n - 1]);
	case DW_OP_stack_value:
		m->is_value = true;
		return true;
	default:
		return combine(m, atom);
	}
}

bool unwind_context__value(const struct unwind_context *c, const Dwarf_Op *ops, size_t n,
			   bool is_cfa, uint64_t *v)
{
	struct machine m = {.c = c};

	if (n > OPS_MAX)
		return false;
	for (size_t i = 0; i < n; i++)
		if (!execute(&m, &ops[i]))
			return false;
	if (!m.n)
		return false;
	*v = m.v[m.n - 1];
	return is_cfa || m.is_value || context_word(c, *v, v);
}

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
