/* SPDX-License-Identifier: GPL-2.0-only */
/* Processes, whose maps are kept, and their stacks. */
#include "unwind/unwind.h"

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
#include "unwind/frame.h"

/* ---- files by device and inode, and the kernel's page of clocks, which is in no file */

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

/* All programs of 64 bits have the one that is mapped here. */
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
		return 1; /* the page of clocks */
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

/* The file that the code is from, which the socket's other end opens. When there are too many, all
 * are closed. NULL: there is none, or no memory. */
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

/* How often all were closed: those of before are not to be used. */
static unsigned code_files_forgotten(const struct code_files *f)
{
	return f->forgotten;
}

/* The virtual address of an offset of the file. False: it is in no segment. */
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
