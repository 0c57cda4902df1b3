/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Programs and libraries of users: their build ids, the names of their functions, and the tables by
 * which stacks are followed. */
#include "tests/fuzz/input.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "identity/elf.h"
#include "model/symbols.h"
#include "unwind/code_source.h"
#include "unwind/unwind.h"

#define PLACES 48 /* of a file, of which each is asked for */
#define WHERE  0x400000

static size_t place(const struct input *in, unsigned i)
{
	return i * in->len / PLACES;
}

static bool build_id(const struct input *in, char id[ELF_BUILD_ID])
{
	if (elf__build_id(input__file(in), id))
		return false;
	input__must(id[0] && strspn(id, "0123456789abcdef") == strlen(id));
	return true;
}

static bool try_symbols(const struct input *in)
{
	char id[ELF_BUILD_ID], module[ELF_BUILD_ID + 40];
	struct symbols *s;
	uint64_t offset;
	bool named = false;

	if (!build_id(in, id))
		return false;
	snprintf(module, sizeof(module), "%s %s", id, input__path(in));
	s = symbols__new();
	for (unsigned i = 0; s && i < PLACES; i++) {
		const char *name = symbols__name(s, module, place(in, i));

		input__must(name && *name);
		named |= *name != '[' && !strchr(name, '+');
		symbols__offset(s, module, place(in, i), &offset);
	}
	symbols__free(s);
	return named;
}

/* ---- stacks: the file is mapped as a whole, and what is on the stack points into it */

static const struct input *mapped;

/* In the place of the process that opens the files. */
unsigned code_source__read(int socket, pid_t pid, struct code code[PROC_MAPS])
{
	(void)socket;
	(void)pid;
	code[0] = (struct code){.range = {WHERE, WHERE + mapped->len, 0}, .kind = CODE_FILE};
	return 1;
}

int code_source__open(int socket, pid_t pid, uint64_t addr)
{
	(void)socket;
	(void)pid;
	(void)addr;
	return fcntl(input__file(mapped), F_DUPFD_CLOEXEC, 0);
}

static void fill(struct jp_stack_copy *copy, const struct input *in, unsigned i)
{
	uint64_t *word = (uint64_t *)copy->stack;

	copy->key.tgid = (uint32_t)getpid();
	copy->sp = 0x7ffc00001000;
	copy->nstack = JP_COPY_BYTES;
	for (unsigned k = 0; k < JP_COPY_BYTES / sizeof(*word); k++)
		word[k] = k % 4 < 3 ? WHERE + place(in, (k + i) % PLACES) : copy->sp + 8 * k + 16;
	for (unsigned k = 0; k < sizeof(copy->regs) / sizeof(copy->regs[0]); k++)
		copy->regs[k] = copy->sp + 8 * k;
	copy->regs[16] = WHERE + place(in, i); /* x86-64's; another's stack is somewhere else */
	copy->regs[19] = copy->sp;
}

static bool try_stacks(const struct input *in)
{
	static struct jp_stack_copy copy;
	static struct jp_stack stack;
	struct jp_stack_key key;
	struct unwinder *u = unwinder__new(-1);
	unsigned deepest = 0;

	mapped = in;
	for (unsigned i = 0; u && i < PLACES; i++) {
		memset(&stack, 0, sizeof(stack));
		fill(&copy, in, i);
		unwinder__stack(u, &copy, &key, &stack);
		input__must(stack.nuser >= 1 && stack.nuser <= JP_STACK_USER);
		deepest = stack.nuser > deepest ? stack.nuser : deepest;
	}
	unwinder__free(u);
	return deepest > 1;
}

static bool try_build_id(const struct input *in)
{
	char id[ELF_BUILD_ID];

	return build_id(in, id);
}

const struct input_kind input_kinds[] = {
	{'i', try_build_id},
	{'s', try_symbols},
	{'f', try_stacks},
	{0},
};
