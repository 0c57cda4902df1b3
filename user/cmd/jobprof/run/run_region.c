/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Regions that jobprof run is asked for: reads the option, and finds the files that it names. */
#include "cmd/jobprof/run/run_region.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <gelf.h>
#include <libelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/foreign.h"
#include "base/log.h"
#include "base/read_note.h"
#include "base/str.h"
#include "client/column.h"
#include "pool/pool.h"

/* ---- functions, and probes of SystemTap's kind (USDT), in an ELF file: where they are in the file
 */

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

/* Finds where in the open ELF file the region begins and ends. The file may be hostile: for a child
 * with limits. Returns how many places there are, or -errno, logged. */
static int region_elf_places(int fd, const struct region_spec *spec,
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

#define USDT "usdt:"
#define WAIT "wait:"
#define FORM                                                       \
	"want [NAME=]FILE:FUNCTION, [NAME=]wait:FILE:FUNCTION or " \
	"[NAME=]usdt:FILE:PROVIDER:BEGIN,END"

/* Cuts the text at the last such sign. Returns what is behind it, or NULL. */
static char *cut_last(char *text, char sign)
{
	char *at = strrchr(text, sign);

	if (at)
		*at++ = 0;
	return at && *at ? at : NULL;
}

static int put_text(char *to, size_t size, const char *text)
{
	return text && *text && strlen(text) < size ? (strcpy(to, text), 0) : -EINVAL;
}

/* The part of the text after the name that it may give. */
static const char *after_name(const char *text)
{
	const char *sign = strpbrk(text, "=/:");

	return sign && *sign == '=' ? sign + 1 : text;
}

/* What is behind NAME=. */
static int parse_places(struct region_spec *s, char *text)
{
	bool usdt = str__starts(text, USDT), wait = str__starts(text, WAIT);
	char *file = text + (usdt ? strlen(USDT) : wait ? strlen(WAIT) : 0);
	char *what = cut_last(file, ':');
	char *end = usdt && what ? cut_last(what, ',') : what;
	int err =
		put_text(s->begin, sizeof(s->begin), what) | put_text(s->end, sizeof(s->end), end);

	s->wait = wait;
	s->pattern = wait && what && strpbrk(what, "*?[");
	if (!err && usdt)
		err = put_text(s->provider, sizeof(s->provider), cut_last(file, ':'));
	return err | put_text(s->file, sizeof(s->file), file);
}

/* The name that was given, else the file's own and what was asked for of it. */
static int name_region(struct region_spec *s, const char *text)
{
	const char *slash = strrchr(s->file, '/'), *rest = after_name(text);
	_cleanup_free_ char *name = NULL;

	if (rest != text)
		name = strndup(text, (size_t)(rest - text) - 1);
	else if (asprintf(&name, "%s:%s%s%s", slash ? slash + 1 : s->file, s->begin,
			  s->provider[0] ? "," : "", s->provider[0] ? s->end : "") < 0)
		name = NULL;
	if (!name)
		return -ENOMEM;
	if (!column__mark_name(s->name, name))
		return 0;
	log_error("--region %s: a name has 1 to 63 bytes of printable text: give one, NAME=%s",
		  text, rest);
	return -EINVAL;
}

int region_spec__parse(struct region_spec *s, const char *text)
{
	_cleanup_free_ char *copy = strdup(after_name(text));

	*s = (struct region_spec){.name = ""};
	if (!copy)
		return -ENOMEM;
	if (parse_places(s, copy)) {
		log_error("--region %s: " FORM, text);
		return -EINVAL;
	}
	return name_region(s, text);
}

/* The directories of the loader, as in LD_LIBRARY_PATH: those that this names, and the system's.
 * NULL: not known. */
static char *library_dirs(void)
{
	void *self = dlopen(NULL, RTLD_LAZY);
	_cleanup_free_ Dl_serinfo *found = NULL;
	char *list = NULL;
	Dl_serinfo head;
	size_t size;
	FILE *f = open_memstream(&list, &size);

	if (self && f && !dlinfo(self, RTLD_DI_SERINFOSIZE, &head))
		found = malloc(head.dls_size);
	if (found)
		*found = head;
	if (found && !dlinfo(self, RTLD_DI_SERINFO, found))
		for (unsigned i = 0; i < found->dls_cnt; i++)
			fprintf(f, "%s%s", i ? ":" : "", found->dls_serpath[i].dls_name);
	if (f)
		fclose(f);
	if (self)
		dlclose(self);
	return list;
}

/* libx.so, libx.so.6 */
static bool is_library(const char *name)
{
	while ((name = strstr(name, ".so"))) {
		name += strlen(".so");
		if (!*name || *name == '.')
			return true;
	}
	return false;
}

/* Where a file without a slash in its name is looked for: a library as by the loader, a program as
 * by a shell. */
static char *dirs_of(const char *name)
{
	const char *path = getenv("PATH");

	return is_library(name) ? library_dirs() : strdup(path ? path : "/bin:/usr/bin");
}

/* O_PATH opens nothing, so that a device or a pipe is seen before it is opened; some files of the
 * kernel wait for something to read. */
static int open_regular(const char *path)
{
	_cleanup_close_ int at = open(path, O_PATH | O_CLOEXEC);
	char link[32];
	struct stat st;
	int fd;

	if (at < 0)
		return -errno;
	if (fstat(at, &st) || !S_ISREG(st.st_mode))
		return -EINVAL;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", at);
	fd = open(link, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

/* Finds the first file with a name without a slash. */
static int open_file(const char *name)
{
	_cleanup_free_ char *list = strchr(name, '/') ? NULL : dirs_of(name);
	char *rest = list, *dir, path[4200];
	int fd = list ? -ENOENT : open_regular(name), got;

	while (fd < 0 && rest && (dir = strsep(&rest, ":"))) {
		snprintf(path, sizeof(path), "%s/%s", *dir ? dir : ".", name);
		got = open_regular(path);
		if (got >= 0 || got == -EINVAL || got == -EACCES)
			fd = got;
	}
	return fd;
}

/* Parent and child share this. */
struct work {
	struct region_spec spec;
	int fd, n;
	struct kern_region_place places[RUN_REGION_PLACES];
};

static int find_places(void *arg)
{
	struct work *w = arg;
	int err = foreign__begin(w->fd);

	read_note__file(w->spec.file);
	if (err) {
		log_error("%s: cannot be read: %s", w->spec.file, strerror(-err));
		return 2;
	}
	w->n = region_elf_places(w->fd, &w->spec, w->places);
	return w->n < 0 ? 2 : 0;
}

static bool is_same_file(int a, int b)
{
	struct stat x, y;

	return !fstat(a, &x) && !fstat(b, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* Returns a region of the list that has a place in common with this one, as a function may have
 * several names. The end of one region would count as an end of the other. NULL: there is none. */
static const struct kern_region *find_same_place(const struct run_regions *l, const struct work *w)
{
	for (unsigned i = 0; i < (unsigned)l->n; i++) {
		const struct kern_region *r = &l->list[i];

		for (unsigned k = 0; is_same_file(r->fd, w->fd) && k < r->nplaces; k++)
			for (int j = 0; j < w->n && j < RUN_REGION_PLACES; j++)
				if (r->places[k].offset == w->places[j].offset)
					return r;
	}
	return NULL;
}

static int fill_region(struct kern_region *r, const struct work *w)
{
	unsigned n = (unsigned)w->n;

	r->fd = w->fd;
	r->wait = w->spec.wait;
	strcpy(r->name, w->spec.name);
	r->places = n && n <= RUN_REGION_PLACES ? calloc(n, sizeof(*r->places)) : NULL;
	if (!r->places)
		return 1;
	memcpy(r->places, w->places, n * sizeof(*r->places));
	r->nplaces = n;
	return 0;
}

static int look_up_region(struct run_regions *l, struct work *w, const char *text)
{
	const struct kern_region *same;
	struct region_spec spec;
	int status, fd;

	if (region_spec__parse(&w->spec, text))
		return 2;
	w->fd = open_file(w->spec.file);
	if (w->fd < 0) {
		log_error("--region %s: cannot open %s: %s: give its path, as ldd or which show it",
			  text, w->spec.file,
			  w->fd == -EINVAL ? "it is no regular file" : strerror(-w->fd));
		return 2;
	}
	spec = w->spec;
	fd = w->fd;
	status = pool__call_verb(find_places, w, &POOL_STREAM);
	w->spec = spec; /* the child may have written anything */
	w->fd = fd;
	same = status ? NULL : find_same_place(l, w);
	if (same) {
		log_error("--region %s: a function of it is one of %s already: a "
			  "function can be in one region",
			  text, same->name);
		status = 2;
	}
	if (!status)
		status = fill_region(&l->list[l->n], w);
	if (status)
		close(w->fd);
	else
		l->n++;
	return status;
}

int run_regions__add(struct run_regions *l, const char *text)
{
	struct work *w = pool__share(sizeof(*w));
	int status = 1;

	if (!w)
		log_error("%s", strerror(ENOMEM));
	else if (l->n == JP_REGIONS)
		log_error("--region %s: there are %d already, and at most so many", text, l->n);
	else
		status = look_up_region(l, w, text);
	pool__unshare(w, sizeof(*w));
	return status;
}

void run_regions__free(struct run_regions *l)
{
	while (l->n) {
		struct kern_region *r = &l->list[--l->n];

		close(r->fd);
		free(r->places);
	}
}
