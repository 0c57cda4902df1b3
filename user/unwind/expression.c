// SPDX-License-Identifier: GPL-2.0-only
/* A machine with a stack (DWARF 5, 2.5). */
#include "unwind/expression.h"

#include <dwarf.h>
#include <string.h>

#define DEPTH	16
#define OPS_MAX 64

struct machine {
	const struct unwind_context *c;
	uint64_t v[DEPTH];
	unsigned n;
	bool is_value; /* the result is the value itself, not where it is */
};

bool unwind_context__word(const struct unwind_context *c, uint64_t addr, uint64_t *v)
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
		return m->n && unwind_context__word(m->c, m->v[m->n - 1], &m->v[m->n - 1]);
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
	return is_cfa || m.is_value || unwind_context__word(c, *v, v);
}
