// SPDX-License-Identifier: GPL-2.0-only
/* Functions, and probes of SystemTap's kind (USDT), in an ELF file: where they are in the file. */
#include <errno.h>
#include <fnmatch.h>
#include <gelf.h>
#include <libelf.h>
#include <string.h>

#include "base/log.h"
#include "cmd/jobprof/run/run_region.h"

#define NOTE_TYPE 3 /* of a note that is a probe */

struct search {
	Elf *elf;
	const struct region_spec *spec;
	struct kern_region_place *places;
	int n;
	bool ifunc;	   /* there is one of that name, which is chosen at run time */
	bool deadly;	   /* one of these must have no probe */
	bool unreadable;   /* a table of symbols */
	const char *why;   /* no function of the file may have a probe; NULL: they may */
	unsigned kinds;	   /* of probes that were found: bits */
	uint64_t base_now; /* address of .stapsdt.base; 0: there is none */
};

/* The place in the file of an address of the program. False: it is in no part of the file. */
static bool place_of(Elf *elf, uint64_t address, uint64_t *offset)
{
	size_t n;
	GElf_Phdr p;

	if (elf_getphdrnum(elf, &n))
		return false;
	for (size_t i = 0; i < n; i++) {
		if (!gelf_getphdr(elf, (int)i, &p) || p.p_type != PT_LOAD || address < p.p_vaddr ||
		    address - p.p_vaddr >= p.p_filesz)
			continue;
		*offset = address - p.p_vaddr + p.p_offset;
		return true;
	}
	return false;
}

static bool is_meant(const struct region_spec *spec, const char *name)
{
	return spec->pattern ? !fnmatch(spec->begin, name, 0) : !strcmp(spec->begin, name);
}

/* Each place once: a function may be in two tables of symbols. */
static void add_place(struct search *s, const struct kern_region_place *at)
{
	for (int i = 0; i < s->n && i < RUN_REGION_PLACES; i++)
		if (s->places[i].offset == at->offset && s->places[i].kind == at->kind)
			return;
	if (s->n < RUN_REGION_PLACES)
		s->places[s->n] = *at;
	s->n++;
}

/* A probe on the return puts another address in the place of the one to return to: that kills the
 * program where a function returns twice, returns on another stack, was not called at all, or looks
 * for who catches an exception above it. */
static const char *const deadly[] = {
	"_start",
	"setjmp",
	"_setjmp",
	"sigsetjmp",
	"__sigsetjmp",
	"longjmp",
	"_longjmp",
	"siglongjmp",
	"__longjmp_chk",
	"vfork",
	"__vfork",
	"getcontext",
	"setcontext",
	"swapcontext",
	"__start_context",
	"jump_fcontext",
	"ontop_fcontext",
	"__restore_rt",
	"__cxa_throw",
	"__cxa_rethrow",
	"_Unwind_RaiseException",
	"_Unwind_ForcedUnwind",
	"_Unwind_Resume",
	"_Unwind_Resume_or_Rethrow",
};

static bool must_not_have_probe(const char *name)
{
	for (size_t i = 0; i < sizeof(deadly) / sizeof(deadly[0]); i++)
		if (!strcmp(name, deadly[i]))
			return true;
	return false;
}

/* What only files have whose functions must not: sections, also as .data.rel.ro.gopclntab, which
 * the system's linker puts into another one, and symbols, which need not be defined. A garbage
 * collector, or what makes stacks larger, finds what is on a stack by the addresses to return to,
 * and ends the program at one that it does not know; code that is jumped to has none. */
static const struct {
	const char *name, *why;
} marks[] = {
	{".gopclntab", "Go moves its stacks, and looks at the addresses on them"},
	{".note.go.buildid", "Go moves its stacks, and looks at the addresses on them"},
	{"runtime.main", "Go moves its stacks, and looks at the addresses on them"},
	{"__morestack", "stacks in pieces (-fsplit-stack): calls return on another one"},
	{"caml_frametable", "OCaml's garbage collector looks at the addresses on the stack"},
	{"stg_upd_frame_info", "functions of Haskell are jumped to, not called"},
};

static void look_for_mark(struct search *s, const char *name)
{
	const char *end = strrchr(name, '.');

	for (size_t i = 0; !s->why && i < sizeof(marks) / sizeof(marks[0]); i++)
		if (!strcmp(marks[i].name, name) || (end && !strcmp(marks[i].name, end)))
			s->why = marks[i].why;
}

static void add_symbols(struct search *s, Elf_Scn *section, const GElf_Shdr *h)
{
	Elf_Data *data = elf_getdata(section, NULL);
	struct kern_region_place at = {.kind = KERN_REGION_CALL};
	GElf_Sym sym;

	s->unreadable |= !data && h->sh_size;
	for (int i = 0; data && gelf_getsym(data, i, &sym); i++) {
		const char *name = elf_strptr(s->elf, h->sh_link, sym.st_name);

		if (name)
			look_for_mark(s, name);
		if (!name || !is_meant(s->spec, name) || sym.st_shndx == SHN_UNDEF)
			continue;
		s->ifunc |= GELF_ST_TYPE(sym.st_info) == STT_GNU_IFUNC && !s->spec->pattern;
		s->deadly |= must_not_have_probe(name);
		if (must_not_have_probe(name))
			continue;
		if (GELF_ST_TYPE(sym.st_info) == STT_FUNC &&
		    place_of(s->elf, sym.st_value, &at.offset))
			add_place(s, &at);
	}
}

/* Three addresses, each as wide as the file's: of the probe, of .stapsdt.base when the file was
 * linked, of the semaphore. */
static void read_addresses(const struct search *s, const char *desc, uint64_t to[3])
{
	bool wide = gelf_getclass(s->elf) == ELFCLASS64;

	for (int i = 0; i < 3; i++) {
		uint32_t narrow;

		if (wide) {
			memcpy(&to[i], desc + 8 * i, 8);
		} else {
			memcpy(&narrow, desc + 4 * i, 4);
			to[i] = narrow;
		}
	}
}

/* A note: addresses, provider, name, arguments. */
static void add_probe(struct search *s, const char *desc, size_t size)
{
	size_t words = 3 * (gelf_getclass(s->elf) == ELFCLASS64 ? 8 : 4);
	const char *provider = desc + words, *name;
	struct kern_region_place at = {.kind = KERN_REGION_BEGIN};
	uint64_t address[3], moved;

	if (size < words + 3 || desc[size - 1])
		return;
	name = provider + strnlen(provider, size - words) + 1;
	if (name >= desc + size || strcmp(provider, s->spec->provider))
		return;
	read_addresses(s, desc, address);
	moved = s->base_now ? s->base_now - address[1] : 0; /* by prelink(8) */
	if (!place_of(s->elf, address[0] + moved, &at.offset) ||
	    (address[2] && !place_of(s->elf, address[2] + moved, &at.semaphore)) ||
	    at.semaphore > UINT32_MAX)
		return;
	if (!strcmp(name, s->spec->begin))
		add_place(s, &at), s->kinds |= 1;
	at.kind = KERN_REGION_END;
	if (!strcmp(name, s->spec->end))
		add_place(s, &at), s->kinds |= 2;
}

static void add_notes(struct search *s, Elf_Scn *section)
{
	Elf_Data *data = elf_getdata(section, NULL);
	size_t at = 0, name, desc;
	GElf_Nhdr h;

	while (data && (at = gelf_getnote(data, at, &h, &name, &desc)) > 0)
		if (h.n_type == NOTE_TYPE && h.n_namesz == sizeof("stapsdt") &&
		    !memcmp((char *)data->d_buf + name, "stapsdt", sizeof("stapsdt")))
			add_probe(s, (char *)data->d_buf + desc, h.n_descsz);
}

/* Calls fn for each section of the type. */
static void for_sections(struct search *s, unsigned type,
			 void (*fn)(struct search *s, Elf_Scn *section, const GElf_Shdr *h))
{
	Elf_Scn *section = NULL;
	GElf_Shdr h;

	while ((section = elf_nextscn(s->elf, section)))
		if (gelf_getshdr(section, &h) && h.sh_type == type)
			fn(s, section, &h);
}

static const char *section_name(const struct search *s, const GElf_Shdr *h)
{
	size_t names;

	return elf_getshdrstrndx(s->elf, &names) ? NULL : elf_strptr(s->elf, names, h->sh_name);
}

static void find_base(struct search *s, Elf_Scn *section, const GElf_Shdr *h)
{
	const char *name = section_name(s, h);

	(void)section;
	if (name && !strcmp(name, ".stapsdt.base"))
		s->base_now = h->sh_addr;
}

static void take_section(struct search *s, Elf_Scn *section, const GElf_Shdr *h)
{
	const char *name = section_name(s, h);

	(void)section;
	if (name)
		look_for_mark(s, name);
}

static void take_notes(struct search *s, Elf_Scn *section, const GElf_Shdr *h)
{
	(void)h;
	add_notes(s, section);
}

static int missing(const struct search *s)
{
	const struct region_spec *spec = s->spec;

	if (spec->provider[0])
		log_error("%s: no probe %s:%s: readelf -n shows which there are", spec->file,
			  spec->provider, s->kinds & 1 ? spec->end : spec->begin);
	else if (s->why)
		log_error("%s: a probe on the return of its functions would end every process that "
			  "executes it, as %s: let the program name its regions, see "
			  "libjobprof(3)",
			  spec->file, s->why);
	else if (s->unreadable)
		log_error("%s: its table of symbols cannot be read: %s", spec->file,
			  elf_errmsg(-1));
	else if (s->deadly)
		log_error("%s: a probe on the return of %s would end programs: it returns twice, "
			  "or on another stack, or throws: name a function that calls it",
			  spec->file, spec->begin);
	else if (s->ifunc)
		log_error("%s: %s is chosen among others at run time: name the one that it "
			  "chooses, as nm or perf show it",
			  spec->file, spec->begin);
	else
		log_error("%s: no function %s: nm or nm -D show which there are; the file may be "
			  "stripped, and C++ names are those of nm without -C",
			  spec->file, spec->begin);
	return -ENOENT;
}

static int find_all(struct search *s)
{
	if (s->spec->provider[0]) {
		for_sections(s, SHT_PROGBITS, find_base);
		for_sections(s, SHT_NOTE, take_notes);
	} else {
		for_sections(s, SHT_PROGBITS, take_section);
		for_sections(s, SHT_NOTE, take_section);
		for_sections(s, SHT_SYMTAB, add_symbols);
		for_sections(s, SHT_DYNSYM, add_symbols);
	}
	if (!s->n || s->ifunc || s->why || (s->spec->provider[0] && s->kinds != 3))
		return missing(s);
	if (s->n > RUN_REGION_PLACES) {
		log_error("%s: %s is at %d places, and at most %d can have probes", s->spec->file,
			  s->spec->begin, s->n, RUN_REGION_PLACES);
		return -E2BIG;
	}
	return s->n;
}

int region_elf__places(int fd, const struct region_spec *spec,
		       struct kern_region_place places[RUN_REGION_PLACES])
{
	struct search s = {.spec = spec, .places = places};
	int n = -EINVAL;

	elf_version(EV_CURRENT);
	s.elf = elf_begin(fd, ELF_C_READ, NULL);
	if (s.elf && elf_kind(s.elf) == ELF_K_ELF)
		n = find_all(&s);
	else
		log_error("%s: no ELF file: name the program or library itself, not a script that "
			  "starts it",
			  spec->file);
	elf_end(s.elf);
	return n;
}
