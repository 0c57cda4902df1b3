/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unwinds stacks of processes, and caches the processes' maps. */
#include "unwind/unwind.h"

#include <dwarf.h>
#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/id_table.h"
#include "identity/proc_maps.h"
#include "unwind/code_files.h"
#include "unwind/expression.h"

/* ---- rules of a frame, which libdw finds in the tables and decodes, are executed here: a machine
 * with a stack (DWARF 5, 2.5) */

#define DEPTH	16
#define OPS_MAX 64

struct machine {
	const struct unwind_context *c;
	uint64_t v[DEPTH];
	unsigned n;
	bool is_value; /* the result is the value, not its address */
};

/* Reads a word from the copy of the stack. False: it lies outside. */
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

/* Replaces the two topmost values by their combination. */
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
	case DW_OP_regx: /* the value has no address */
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

/* Indices of DWARF's registers in the array of bpf/sample.bpf.c, which is struct pt_regs of the
 * kernel. */
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
#define ADDR(v) ((v) & ((1ull << 48) - 1)) /* strips the signature */
#else
#define SP	0
#define PC	0
static const signed char places[UNWIND_REGS] = {-1};
#define ADDR(v) (v)
#endif

/* The thread's registers from the copy, in DWARF's order. */
static void frame_first(const struct jp_stack_copy *c, struct unwind_regs *regs)
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
	if (!n && ops) /* the register is undefined: the function did not save it */
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

/* Replaces the function's registers by its caller's. at: an address in the function, in file's
 * terms, before the return address. *is_signal: a signal interrupted the function there, so that it
 * made no call. False: there is no caller, or the tables or the copy lack it. */
static bool frame_step(const struct jp_stack_copy *c, const struct code_file *file, uint64_t at,
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

/* ---- files by device and inode, and the vDSO, which is in no file */

#define FILES_MAX 1024

struct code_files {
	struct id_table at;
	struct code_file v[FILES_MAX];
	unsigned n, forgotten;
};

/* NULL: no memory */
static struct code_files *code_files_new(void)
{
	elf_version(EV_CURRENT);
	return calloc(1, sizeof(struct code_files));
}

static void forget(struct code_files *f)
{
	for (unsigned i = 0; i < f->n; i++) {
		dwarf_cfi_end(f->v[i].cfi);
		elf_end(f->v[i].elf);
	}
	id_table__free(&f->at);
	f->n = 0;
	f->forgotten++;
}

static void code_files_free(struct code_files *f)
{
	if (f)
		forget(f);
	free(f);
}

static bool is_machines(Elf *elf)
{
	GElf_Ehdr h;

	return gelf_getehdr(elf, &h) && h.e_ident[EI_CLASS] == ELFCLASS64 &&
	       (h.e_type == ET_EXEC || h.e_type == ET_DYN);
}

static void open_tables(struct code_file *file, int fd)
{
	file->elf = elf_begin(fd, ELF_C_READ_MMAP_PRIVATE, NULL);
	if (file->elf && elf_kind(file->elf) == ELF_K_ELF && is_machines(file->elf))
		file->cfi = dwarf_getcfi_elf(file->elf);
	if (file->elf)
		elf_cntl(file->elf, ELF_C_FDDONE);
}

/* Opens the vDSO: all 64-bit programs map the same one as this process. */
static void open_clocks(struct code_file *file, uint64_t size)
{
	char *page = (char *)getauxval(AT_SYSINFO_EHDR); // NOLINT(performance-no-int-to-ptr)

	file->elf = page ? elf_memory(page, size) : NULL;
	if (file->elf && is_machines(file->elf))
		file->cfi = dwarf_getcfi_elf(file->elf);
}

static uint64_t id_of(int fd)
{
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		return 1; /* the vDSO */
	return id__mix(id__mix(id__mix(1, st.st_dev), st.st_ino), (uint64_t)st.st_mtim.tv_nsec);
}

static struct code_file *add_file(struct code_files *f, uint64_t id)
{
	if (f->n == FILES_MAX)
		forget(f);
	if (!id_table__add(&f->at, id, f->n))
		return NULL;
	f->v[f->n] = (struct code_file){.id = id};
	return &f->v[f->n++];
}

static const struct code_file *get_file(struct code_files *f, int fd, const struct code *code)
{
	uint64_t id = id_of(fd);
	uint32_t *at = id_table__find(&f->at, id);
	struct code_file *file = at ? f->v + *at : add_file(f, id);

	if (!at && file && fd >= 0)
		open_tables(file, fd);
	else if (!at && file)
		open_clocks(file, code->range.end - code->range.start);
	return file;
}

/* The file of the code, which the socket's other end opens. If too many are open, all are closed
 * first. NULL: there is none, or no memory. */
static const struct code_file *code_files_get(struct code_files *f, int socket, pid_t pid,
					      const struct code *code)
{
	const struct code_file *file;
	int fd;

	if (code->kind == CODE_CLOCKS)
		return get_file(f, -1, code);
	fd = code->kind == CODE_FILE ? code_source__open(socket, pid, code->range.start) : -1;
	if (fd < 0)
		return NULL;
	file = get_file(f, fd, code);
	close(fd);
	return file;
}

/* How often all files were closed: pointers from before are invalid. */
static unsigned code_files_forgotten(const struct code_files *f)
{
	return f->forgotten;
}

/* Sets the virtual address of an offset in the file. False: it is in no segment. */
static bool code_file_address(const struct code_file *file, uint64_t offset, uint64_t *addr)
{
	size_t n = 0;

	if (!file->elf || elf_getphdrnum(file->elf, &n))
		return false;
	for (size_t i = 0; i < n; i++) {
		GElf_Phdr p;

		if (gelf_getphdr(file->elf, (int)i, &p) && p.p_type == PT_LOAD &&
		    offset >= p.p_offset && offset - p.p_offset < p.p_filesz) {
			*addr = p.p_vaddr + (offset - p.p_offset);
			return true;
		}
	}
	return false;
}

#define PROCESSES     256
#define READ_AGAIN_NS (1 * NSEC_PER_SEC) /* least time between two readings of a map */

struct process {
	uint32_t tgid, exec;
	uint64_t start_ns;
	uint64_t read_ns, used; /* 0: never */
	unsigned forgotten;	/* the value of code_files_forgotten() that files are of */
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
		u->files = code_files_new();
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
	code_files_free(u->files);
	free(u);
}

/* The process's entry; a new one replaces the entry that was not used for longest. */
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

/* Finds the code at addr; reads the map again where the code may have been mapped since. */
static struct code *code_at(struct unwinder *u, struct process *p, uint64_t addr)
{
	struct code *c = find_code(p, addr);

	if (c || (p->read_ns && clock__mono_ns() - p->read_ns < READ_AGAIN_NS))
		return c;
	read_maps(u, p);
	return find_code(p, addr);
}

/* Drops pointers to files if all were closed meanwhile. */
static void renew_files(struct unwinder *u, struct process *p)
{
	unsigned now = code_files_forgotten(u->files);

	for (unsigned i = 0; p->forgotten != now && i < p->n; i++)
		p->code[i].file = NULL;
	p->forgotten = now;
}

static const struct code_file *file_of(struct unwinder *u, struct process *p, struct code *c)
{
	const struct code_file *file = c->file;

	if (c->kind == CODE_NONE || file)
		return file;
	file = code_files_get(u->files, u->source, (pid_t)p->tgid, c);
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
		    !code_file_address(file, code_range__offset(&code->range, addr), &at) ||
		    !frame_step(c, file, at, regs, &is_signal))
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
	frame_first(c, &regs);
	if (u)
		out->nuser = chain(u, process_of(u, &c->key), c, &regs, out->user);
	else
		out->user[out->nuser++] = regs.pc;
	*key = c->key;
	key->hash = hash_of(out);
}
