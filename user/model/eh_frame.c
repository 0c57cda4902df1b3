// SPDX-License-Identifier: GPL-2.0-only
/* Finds functions by .eh_frame_hdr, a sorted table of where the entries of .eh_frame begin
 * (Linux Standard Base, "Exception Frames"). */
#include "model/eh_frame.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

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

bool eh_frame__function(Dwfl_Module *mod, GElf_Addr addr, GElf_Addr *begin)
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
