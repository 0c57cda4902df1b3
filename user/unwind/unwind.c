// SPDX-License-Identifier: GPL-2.0-only
/* Processes, whose maps are kept, and their stacks. */
#include "unwind/unwind.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/id_table.h"
#include "identity/proc_maps.h"
#include "unwind/frame.h"

#define PROCESSES     256
#define READ_AGAIN_NS (1 * NSEC_PER_SEC) /* a map is read at most that often */

struct process {
	uint32_t tgid, exec;
	uint64_t start_ns;
	uint64_t read_ns, used; /* 0: never */
	unsigned forgotten;	/* files are those of before so many were forgotten */
	struct code *code;
	unsigned n;
};

struct unwinder {
	struct code_files *files;
	struct process process[PROCESSES];
	struct code code[PROC_MAPS];
	int source;
	uint64_t uses;
};

struct unwinder *unwinder__new(int source)
{
	struct unwinder *u = calloc(1, sizeof(*u));

	if (u)
		u->files = code_files__new();
	if (u && u->files) {
		u->source = source;
		return u;
	}
	free(u);
	return NULL;
}

void unwinder__free(struct unwinder *u)
{
	if (!u)
		return;
	for (int i = 0; i < PROCESSES; i++)
		free(u->process[i].code);
	code_files__free(u->files);
	free(u);
}

/* The process's place: its own, or that of the one that was not met for longest. */
static struct process *process_of(struct unwinder *u, const struct jp_stack_key *key)
{
	struct process *oldest = &u->process[0], *p;

	for (p = u->process; p < u->process + PROCESSES; p++) {
		if (p->used && p->tgid == key->tgid && p->exec == key->exec &&
		    p->start_ns == key->start_ns)
			return p;
		if (p->used < oldest->used)
			oldest = p;
	}
	free(oldest->code);
	*oldest = (struct process){.tgid = key->tgid, .exec = key->exec, .start_ns = key->start_ns};
	return oldest;
}

static void read_maps(struct unwinder *u, struct process *p)
{
	unsigned n = code_source__read(u->source, (pid_t)p->tgid, u->code);
	struct code *code = n ? malloc(n * sizeof(*code)) : NULL;

	p->read_ns = clock__mono_ns();
	if (!code)
		return;
	memcpy(code, u->code, n * sizeof(*code));
	free(p->code);
	p->code = code;
	p->n = n;
}

static struct code *find_code(const struct process *p, uint64_t addr)
{
	return p->n ? bsearch(&addr, p->code, p->n, sizeof(*p->code), code_range__compare) : NULL;
}

/* Code that was mapped since is read about. */
static struct code *code_at(struct unwinder *u, struct process *p, uint64_t addr)
{
	struct code *c = find_code(p, addr);

	if (c || (p->read_ns && clock__mono_ns() - p->read_ns < READ_AGAIN_NS))
		return c;
	read_maps(u, p);
	return find_code(p, addr);
}

/* All files may have been closed meanwhile. */
static void renew_files(struct unwinder *u, struct process *p)
{
	unsigned now = code_files__forgotten(u->files);

	for (unsigned i = 0; p->forgotten != now && i < p->n; i++)
		p->code[i].file = NULL;
	p->forgotten = now;
}

static const struct code_file *file_of(struct unwinder *u, struct process *p, struct code *c)
{
	const struct code_file *file = c->file;

	if (c->kind == CODE_NONE || file)
		return file;
	file = code_files__get(u->files, u->source, (pid_t)p->tgid, c);
	renew_files(u, p);
	if (!file)
		c->kind = CODE_NONE;
	return c->file = file;
}

static unsigned chain(struct unwinder *u, struct process *p, const struct jp_stack_copy *c,
		      struct unwind_regs *regs, __u64 *frames)
{
	bool is_signal = true; /* the innermost function was interrupted */
	unsigned n = 0;

	p->used = ++u->uses;
	while (n < JP_STACK_USER) {
		uint64_t addr = regs->pc - !is_signal, at;
		struct code *code = code_at(u, p, addr);
		const struct code_file *file;

		if (n && !code)
			break;
		frames[n++] = regs->pc;
		renew_files(u, p);
		file = code ? file_of(u, p, code) : NULL;
		if (!file ||
		    !code_file__address(file, code_range__offset(&code->range, addr), &at) ||
		    !frame__step(c, file, at, regs, &is_signal))
			break;
	}
	return n;
}

static uint64_t hash_of(const struct jp_stack *s)
{
	uint64_t hash = 1;

	for (unsigned i = 0; i < s->nkernel; i++)
		hash = id__mix(hash, s->kernel[i]);
	hash = id__mix(hash, 0);
	for (unsigned i = 0; i < s->nuser; i++)
		hash = id__mix(hash, s->user[i]);
	return hash;
}

void unwinder__stack(struct unwinder *u, const struct jp_stack_copy *c, struct jp_stack_key *key,
		     struct jp_stack *out)
{
	struct unwind_regs regs;

	*out = (struct jp_stack){.n = 1};
	out->nkernel = c->nkernel < JP_STACK_KERNEL ? c->nkernel : JP_STACK_KERNEL;
	memcpy(out->kernel, c->kernel, out->nkernel * sizeof(out->kernel[0]));
	frame__first(c, &regs);
	if (u)
		out->nuser = chain(u, process_of(u, &c->key), c, &regs, out->user);
	else
		out->user[out->nuser++] = regs.pc;
	*key = c->key;
	key->hash = hash_of(out);
}
