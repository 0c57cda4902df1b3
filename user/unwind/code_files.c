// SPDX-License-Identifier: GPL-2.0-only
/* Files by device and inode, and the kernel's page of clocks, which is in no file. */
#include "unwind/code_files.h"

#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/id_table.h"

#define FILES_MAX 1024

struct code_files {
	struct id_table at;
	struct code_file v[FILES_MAX];
	unsigned n, forgotten;
};

struct code_files *code_files__new(void)
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

void code_files__free(struct code_files *f)
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

const struct code_file *code_files__get(struct code_files *f, int socket, pid_t pid,
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

unsigned code_files__forgotten(const struct code_files *f)
{
	return f->forgotten;
}

bool code_file__address(const struct code_file *file, uint64_t offset, uint64_t *addr)
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
