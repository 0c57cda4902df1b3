/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is read of users' programs: expressions of their tables for unwinding, and build ids. */
#include "tests/fuzz/frames.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "identity/elf.h"
#include "unwind/expression.h"

#define OPS 80 /* more than are taken */

struct input {
	uint64_t sp, cfa, known, regs[8];
	uint32_t nstack;
	uint8_t nops, is_cfa;
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Small numbers are met more often than others. */
static uint64_t number_of(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p + 2, sizeof(v));
	return p[1] & 1 ? v : (uint64_t)(int8_t)p[2];
}

static size_t make_ops(const uint8_t *data, size_t size, unsigned wanted, Dwarf_Op *ops)
{
	const size_t each = 10;
	size_t n = size / each < wanted ? size / each : wanted;

	for (size_t i = 0; i < n; i++, data += each)
		ops[i] = (Dwarf_Op){.atom = data[0],
				    .number = number_of(data),
				    .number2 = number_of(data) >> 3};
	return n;
}

/* The value of an expression that ends with where it is must be a word of the copy. */
static void check_word(const struct jp_stack_copy *c, uint64_t v)
{
	for (size_t i = 0; i + sizeof(v) <= c->nstack && i + sizeof(v) <= JP_COPY_BYTES; i++)
		if (!memcmp(c->stack + i, &v, sizeof(v)))
			return;
	abort();
}

static bool is_value(const Dwarf_Op *ops, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (ops[i].atom == DW_OP_stack_value || ops[i].atom == DW_OP_regx)
			return true;
	return false;
}

static int try_expression(const uint8_t *data, size_t size)
{
	static struct jp_stack_copy copy;
	static Dwarf_Op ops[OPS];
	struct unwind_regs regs = {};
	struct unwind_context c = {.copy = &copy, .regs = &regs};
	struct input in;
	uint64_t v;
	size_t n;

	if (size < sizeof(in))
		return 0;
	memcpy(&in, data, sizeof(in));
	data += sizeof(in);
	size -= sizeof(in);
	copy.sp = in.sp;
	copy.nstack = in.nstack & 1 ? in.nstack : in.nstack % (JP_COPY_BYTES + 2);
	memset(copy.stack, 0x55, sizeof(copy.stack));
	memcpy(copy.stack, data, size < JP_COPY_BYTES ? size : JP_COPY_BYTES);
	for (unsigned i = 0; i < UNWIND_REGS; i++)
		regs.v[i] = i % 3 ? in.regs[i % 8] : in.sp + i;
	regs.known = in.known;
	c.cfa = in.cfa;
	n = make_ops(data, size, in.nops % (OPS + 1), ops);
	if (!unwind_context__value(&c, ops, n, in.is_cfa & 1, &v))
		return 0;
	if (!(in.is_cfa & 1) && !is_value(ops, n))
		check_word(&copy, v);
	return 1;
}

static void try_file(const uint8_t *data, size_t size)
{
	static int fd = -1;
	char id[ELF_BUILD_ID];

	if (fd < 0)
		fd = memfd_create("fuzz", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, 0) || pwrite(fd, data, size, 0) != (ssize_t)size)
		return;
	if (!elf__build_id(fd, id) && (!id[0] || strspn(id, "0123456789abcdef") != strlen(id)))
		abort();
}

int frames__fuzz(const uint8_t *data, size_t size)
{
	int has_value = try_expression(data, size);

	try_file(data, size);
	return has_value;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	frames__fuzz(data, size);
	return 0;
}
