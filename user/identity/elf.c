// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads the notes of an ELF file, which may be anybody's, until the build id is found. */
#include "identity/elf.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/io_full.h"

#define SEGMENTS_MAX 64
#define NOTES_MAX    4096 /* bytes of one segment; the build id is among the first */

/* The fields that matter, of files of either width. */
struct segment {
	uint32_t type;
	uint64_t offset, size;
};

struct elf {
	bool wide;
	uint64_t segments; /* where they are */
	unsigned nsegments, segment_size;
};

static ssize_t read_at(int fd, void *buf, size_t size, uint64_t at)
{
	return at > INT64_MAX - size ? -EINVAL : pread_full(fd, buf, size, at);
}

static int read_header(int fd, struct elf *e)
{
	union {
		unsigned char ident[EI_NIDENT];
		Elf32_Ehdr narrow;
		Elf64_Ehdr wide;
	} h = {};
	const unsigned char order =
		__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;
	ssize_t n = read_at(fd, &h, sizeof(h), 0);

	if (n < 0)
		return (int)n;
	if ((size_t)n < sizeof(h.narrow) || memcmp(h.ident, ELFMAG, SELFMAG) ||
	    h.ident[EI_DATA] != order)
		return -EINVAL;
	e->wide = h.ident[EI_CLASS] == ELFCLASS64;
	e->segments = e->wide ? h.wide.e_phoff : h.narrow.e_phoff;
	e->nsegments = e->wide ? h.wide.e_phnum : h.narrow.e_phnum;
	e->segment_size = e->wide ? h.wide.e_phentsize : h.narrow.e_phentsize;
	if (e->segment_size != (e->wide ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr)))
		return -EINVAL;
	return 0;
}

static int read_segment(int fd, const struct elf *e, unsigned i, struct segment *s)
{
	union {
		Elf32_Phdr narrow;
		Elf64_Phdr wide;
	} p;
	uint64_t at = e->segments + (uint64_t)i * e->segment_size;
	ssize_t n = read_at(fd, &p, e->segment_size, at);

	if (n != (ssize_t)e->segment_size)
		return n < 0 ? (int)n : -EINVAL;
	s->type = e->wide ? p.wide.p_type : p.narrow.p_type;
	s->offset = e->wide ? p.wide.p_offset : p.narrow.p_offset;
	s->size = e->wide ? p.wide.p_filesz : p.narrow.p_filesz;
	return 0;
}

static int put_id(const unsigned char *bytes, size_t n, char id[ELF_BUILD_ID])
{
	if (!n || n > (ELF_BUILD_ID - 1) / 2)
		return -ENOENT;
	for (size_t i = 0; i < n; i++)
		snprintf(id + 2 * i, 3, "%02x", bytes[i]);
	return 0;
}

static size_t padded(uint32_t n)
{
	return ((size_t)n + 3) & ~(size_t)3;
}

static int find_note(const char *notes, size_t left, char id[ELF_BUILD_ID])
{
	Elf32_Nhdr h; /* the same in both widths */

	while (left >= sizeof(h)) {
		size_t name, desc;

		memcpy(&h, notes, sizeof(h));
		notes += sizeof(h);
		left -= sizeof(h);
		name = padded(h.n_namesz);
		desc = padded(h.n_descsz);
		if (name > left || h.n_descsz > left - name)
			break;
		if (h.n_type == NT_GNU_BUILD_ID && h.n_namesz == sizeof(ELF_NOTE_GNU) &&
		    !memcmp(notes, ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU)))
			return put_id((const unsigned char *)notes + name, h.n_descsz, id);
		if (desc > left - name)
			break;
		notes += name + desc;
		left -= name + desc;
	}
	return -ENOENT;
}

int elf__build_id(int fd, char id[ELF_BUILD_ID])
{
	struct elf e = {};
	struct segment s = {};
	int err = read_header(fd, &e);

	*id = '\0';
	for (unsigned i = 0; !err && i < e.nsegments && i < SEGMENTS_MAX; i++) {
		char notes[NOTES_MAX];
		ssize_t n;

		err = read_segment(fd, &e, i, &s);
		if (err || s.type != PT_NOTE)
			continue;
		n = read_at(fd, notes, s.size < sizeof(notes) ? s.size : sizeof(notes), s.offset);
		if (n < 0)
			return (int)n;
		if (!find_note(notes, (size_t)n, id))
			return 0;
	}
	return err ? err : -ENOENT;
}
