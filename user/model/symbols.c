/* SPDX-License-Identifier: GPL-2.0-or-later */
/* libdw finds symbols, also in files of debug information. */
#include "model/symbols.h"

#include <ctype.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/foreign.h"
#include "base/id_table.h"
#include "base/room.h"
#include "base/str.h"
#include "identity/elf.h"

/* ---- finds functions by .eh_frame_hdr, a sorted table of where the entries of .eh_frame begin
 * (Linux Standard Base, "Exception Frames") */

#define HEAD  12 /* version, three encodings, where .eh_frame is, the number of entries */
#define ENTRY 8

struct table {
	const unsigned char *entries; /* where a function begins, and its entry: 4 bytes each */
	uint32_t n;
	GElf_Addr base; /* which they count from */
};

static bool find_header(Elf *elf, GElf_Phdr *found)
{
	size_t n = 0;

	if (elf_getphdrnum(elf, &n))
		return false;
	for (size_t i = 0; i < n; i++)
		if (gelf_getphdr(elf, (int)i, found) && found->p_type == PT_GNU_EH_FRAME)
			return true;
	return false;
}

/* Linkers write one form of it. */
static bool find_table(Elf *elf, struct table *t)
{
	static const unsigned char form[4] = {1, DW_EH_PE_pcrel | DW_EH_PE_sdata4, DW_EH_PE_udata4,
					      DW_EH_PE_datarel | DW_EH_PE_sdata4};
	GElf_Phdr p;
	Elf_Data *d;

	if (!find_header(elf, &p) || p.p_filesz < HEAD)
		return false;
	d = elf_getdata_rawchunk(elf, (int64_t)p.p_offset, p.p_filesz, ELF_T_BYTE);
	if (!d || d->d_size < HEAD || memcmp(d->d_buf, form, sizeof(form)))
		return false;
	t->entries = (const unsigned char *)d->d_buf + HEAD;
	memcpy(&t->n, (const char *)d->d_buf + HEAD - sizeof(t->n), sizeof(t->n));
	t->base = p.p_vaddr;
	return t->n <= (d->d_size - HEAD) / ENTRY;
}

static GElf_Addr begin_of(const struct table *t, uint32_t i)
{
	int32_t rel;

	memcpy(&rel, t->entries + (size_t)i * ENTRY, sizeof(rel));
	return t->base + (GElf_Addr)(int64_t)rel;
}

/* The table says where functions begin, the entry where one ends. */
static bool has_entry(Dwfl_Module *mod, GElf_Addr addr)
{
	Dwarf_Addr bias = 0;
	Dwarf_CFI *cfi = dwfl_module_eh_cfi(mod, &bias);
	Dwarf_Frame *frame = NULL;
	bool has = cfi && !dwarf_cfi_addrframe(cfi, addr - bias, &frame);

	free(frame);
	return has;
}

/* The address, as dwfl has it, where the function begins that has addr. False: the file does not
 * say. */
static bool eh_frame_function(Dwfl_Module *mod, GElf_Addr addr, GElf_Addr *begin)
{
	GElf_Addr bias = 0;
	Elf *elf = dwfl_module_getelf(mod, &bias);
	struct table t = {};
	uint32_t from = 0, to;

	if (!elf || !find_table(elf, &t) || !has_entry(mod, addr))
		return false;
	to = t.n;
	while (from < to) {
		uint32_t mid = from + (to - from) / 2;

		if (begin_of(&t, mid) <= addr - bias)
			from = mid + 1;
		else
			to = mid;
	}
	if (from)
		*begin = begin_of(&t, from - 1) + bias;
	return from;
}

#define NAME_MAX_LEN 400 /* of a template's function */

/* The C++ runtime has this function. NULL: the name is not of C++. */
extern char *__cxa_demangle(const char *mangled, char *buf, size_t *len, int *status);

struct module {
	uint64_t id;
	Dwfl *dwfl; /* NULL: there is no such file */
	Dwfl_Module *mod;
	const char *file; /* the path's last part */
};

struct symbols {
	struct id_table module_of, name_of;
	struct module *modules;
	char **names;
	unsigned nmodules, nnames;
};

struct symbols *symbols__new(void)
{
	return calloc(1, sizeof(struct symbols));
}

void symbols__free(struct symbols *s)
{
	for (unsigned i = 0; s && i < s->nmodules; i++)
		if (s->modules[i].dwfl)
			dwfl_end(s->modules[i].dwfl);
	for (unsigned i = 0; s && i < s->nnames; i++)
		free(s->names[i]);
	if (s) {
		free(s->modules);
		free(s->names);
		id_table__free(&s->module_of);
		id_table__free(&s->name_of);
	}
	free(s);
}

/* The open file, if it is the one that was mapped. */
static int open_same(const char *path, const char *id, size_t id_len)
{
	int fd = foreign__open(AT_FDCWD, path, 0);
	char its[ELF_BUILD_ID];

	if (fd >= 0 &&
	    (elf__build_id(fd, its) || strlen(its) != id_len || strncmp(its, id, id_len))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

bool symbols__lacks_id(const char *module)
{
	int fd = str__starts(module, "- /") ? foreign__open(AT_FDCWD, module + 2, 0) : -1;
	char id[ELF_BUILD_ID];
	bool lacks = fd >= 0 && elf__build_id(fd, id) == -ENOENT;

	if (fd >= 0)
		close(fd);
	return lacks;
}

static int open_debug(const char *id, size_t id_len)
{
	char path[ELF_BUILD_ID + 64];

	if (id_len < 4)
		return -1;
	snprintf(path, sizeof(path), "/usr/lib/debug/.build-id/%.2s/%.*s.debug", id,
		 (int)id_len - 2, id + 2);
	return open_same(path, id, id_len);
}

/* By the build id alone, here or from a server of DEBUGINFOD_URLS: a name in the file
 * (.gnu_debuglink) may be that of anything. */
static int find_debuginfo(Dwfl_Module *mod, void **data, const char *name, Dwarf_Addr base,
			  const char *file, const char *link, GElf_Word crc, char **found)
{
	const unsigned char *bits;
	char id[ELF_BUILD_ID];
	GElf_Addr at;
	int n = dwfl_module_build_id(mod, &bits, &at), fd;

	(void)file;
	(void)link;
	if (n <= 0 || 2 * n >= ELF_BUILD_ID)
		return -1;
	for (int i = 0; i < n; i++)
		snprintf(id + 2 * (size_t)i, 3, "%02x", bits[i]);
	fd = open_debug(id, 2 * (size_t)n);
	if (fd >= 0 || !getenv("DEBUGINFOD_URLS"))
		return fd;
	return dwfl_standard_find_debuginfo(mod, data, name, base, NULL, NULL, crc, found);
}

static const Dwfl_Callbacks callbacks = {
	.find_elf = dwfl_build_id_find_elf,
	.find_debuginfo = find_debuginfo,
	.section_address = dwfl_offline_section_address,
};

/* module: "BUILDID PATH". */
static void load_symbols(struct module *m, const char *module)
{
	const char *path = strchr(module, ' ') + 1, *slash = strrchr(path, '/');
	size_t id_len = (size_t)(path - module) - 1;
	int fd;

	m->file = slash ? slash + 1 : path;
	if (id_len < 4) /* without a build id any file may have that path */
		return;
	fd = open_same(path, module, id_len);
	if (fd < 0)
		fd = open_debug(module, id_len);
	if (fd < 0)
		return;
	m->dwfl = dwfl_begin(&callbacks);
	m->mod = m->dwfl ? dwfl_report_offline(m->dwfl, m->file, path, fd) : NULL;
	if (!m->mod)
		close(fd);
	else
		dwfl_report_end(m->dwfl, NULL, NULL);
}

static struct module *module_of(struct symbols *s, const char *name)
{
	uint64_t id = id__of_text(name);
	uint32_t *at = id_table__find(&s->module_of, id);
	struct module *m;

	if (at)
		return &s->modules[*at];
	if (room__grow(&s->modules, s->nmodules, 1, sizeof(*s->modules)) ||
	    !id_table__add(&s->module_of, id, s->nmodules))
		return NULL;
	m = &s->modules[s->nmodules++];
	*m = (struct module){.id = id};
	load_symbols(m, name);
	return m;
}

/* The address of an offset of the file. */
static bool address_of(const struct module *m, uint64_t offset, GElf_Addr *addr)
{
	GElf_Addr bias = 0;
	Elf *elf = m->mod ? dwfl_module_getelf(m->mod, &bias) : NULL;
	size_t n = 0;

	if (!elf || elf_getphdrnum(elf, &n))
		return false;
	for (size_t i = 0; i < n; i++) {
		GElf_Phdr p;

		if (gelf_getphdr(elf, (int)i, &p) && p.p_type == PT_LOAD && offset >= p.p_offset &&
		    offset - p.p_offset < p.p_memsz) {
			*addr = bias + p.p_vaddr + (offset - p.p_offset);
			return true;
		}
	}
	return false;
}

/* The kernel takes the lowest segment that may be executed for the begin of the code. */
bool symbols__offset(struct symbols *s, const char *module, uint64_t place, uint64_t *offset)
{
	struct module *m = module_of(s, module);
	GElf_Addr bias, begin = UINT64_MAX;
	Elf *elf = m && m->mod ? dwfl_module_getelf(m->mod, &bias) : NULL;
	GElf_Phdr p;
	size_t n = 0;

	if (!elf || elf_getphdrnum(elf, &n))
		return false;
	for (size_t i = 0; i < n; i++)
		if (gelf_getphdr(elf, (int)i, &p) && p.p_type == PT_LOAD && p.p_flags & PF_X &&
		    p.p_vaddr < begin)
			begin = p.p_vaddr;
	for (size_t i = 0; begin != UINT64_MAX && i < n; i++)
		if (gelf_getphdr(elf, (int)i, &p) && p.p_type == PT_LOAD &&
		    begin + place >= p.p_vaddr && begin + place - p.p_vaddr < p.p_filesz) {
			*offset = p.p_offset + (begin + place - p.p_vaddr);
			return true;
		}
	return false;
}

/* gfortran: __MODULE_MOD_PROCEDURE, and a program is MAIN__. */
static char *fortran_name(const char *name)
{
	const char *mod = strstr(name, "_MOD_");
	char *out;

	if (!strcmp(name, "MAIN__"))
		return strdup("MAIN");
	if (!str__starts(name, "__") || !mod || mod == name + 2 || !mod[5])
		return NULL;
	return asprintf(&out, "%.*s::%s", (int)(mod - name - 2), name + 2, mod + 5) < 0 ? NULL
											: out;
}

static char *demangled(const char *name)
{
	char *out = str__starts(name, "_Z") ? __cxa_demangle(name, NULL, NULL, NULL)
					    : fortran_name(name);

	if (!out)
		out = strdup(name);
	if (out && out[0] != '@') /* the version of a symbol */
		out[strcspn(out, "@")] = '\0';
	if (out && strlen(out) > NAME_MAX_LEN)
		memcpy(out + NAME_MAX_LEN - 3, "...", 4);
	return out;
}

/* The symbol at an address. Where one without a size lies nearest before, it may be of another
 * function: begin is where that of the address begins, 0: not known. */
static const char *symbol_at(const struct module *m, GElf_Addr addr, GElf_Addr begin)
{
	GElf_Off off;
	GElf_Sym sym;
	const char *name = dwfl_module_addrinfo(m->mod, addr, &off, &sym, NULL, NULL, NULL);

	return name && (sym.st_size ? off < sym.st_size : addr - off >= begin) ? name : NULL;
}

static char *name_in_file(const struct module *m, uint64_t offset)
{
	GElf_Addr addr = 0, begin = 0;
	const char *name = NULL;
	char *out;

	if (address_of(m, offset, &addr)) {
		if (!eh_frame_function(m->mod, addr, &begin))
			begin = 0;
		name = symbol_at(m, addr, begin);
	}
	if (name)
		return demangled(name);
	if (begin)
		return asprintf(&out, "%s+0x%" PRIx64, m->file, offset - (addr - begin)) < 0 ? NULL
											     : out;
	return asprintf(&out, "[%s]", m->file) < 0 ? NULL : out;
}

static char *make_name(struct symbols *s, const char *module, uint64_t offset)
{
	struct module *m = *module == '[' || !strchr(module, ' ') ? NULL : module_of(s, module);

	if (m)
		return name_in_file(m, offset);
	if (str__starts(module, "[kernel] "))
		return strdup(module[9] ? module + 9 : "[kernel]");
	return strdup(module);
}

const char *symbols__name(struct symbols *s, const char *module, uint64_t offset)
{
	uint64_t id = id__mix(id__of_text(module), offset);
	uint32_t *at = id_table__find(&s->name_of, id);
	char *name;

	if (at)
		return s->names[*at];
	if (room__grow(&s->names, s->nnames, 1, sizeof(*s->names)))
		return NULL;
	name = make_name(s, module, offset);
	if (!name || !id_table__add(&s->name_of, id, s->nnames)) {
		free(name);
		return NULL;
	}
	return s->names[s->nnames++] = name;
}
