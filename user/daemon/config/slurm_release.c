// SPDX-License-Identifier: GPL-2.0-only
/* The release of Slurm that this node has, read from Slurm's plugins. */
#include "daemon/config/slurm_conf.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "identity/slurmd.h"

/* Every release of Slurm has this plugin, and loads it in its own version only. */
#define OWN_PLUGIN "jobacct_gather_linux.so"

struct elf_file {
	Elf *elf;
	int fd;
};

static void elf_file__close(struct elf_file *f)
{
	elf_end(f->elf);
	if (f->fd >= 0)
		close(f->fd);
}

static int elf_file__open(struct elf_file *f, const char *path)
{
	struct stat st;

	elf_version(EV_CURRENT);
	f->elf = NULL;
	f->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (f->fd < 0)
		return -errno;
	if (!fstat(f->fd, &st) && S_ISREG(st.st_mode))
		f->elf = elf_begin(f->fd, ELF_C_READ, NULL);
	return elf_kind(f->elf) == ELF_K_ELF ? 0 : -ENOEXEC;
}

static Elf_Scn *section_of(Elf *elf, GElf_Word type, GElf_Shdr *header)
{
	Elf_Scn *s = NULL;

	while ((s = elf_nextscn(elf, s)))
		if (gelf_getshdr(s, header) && header->sh_type == type)
			return s;
	return NULL;
}

/* The offset in the file of a global variable's initial value; 0: no such dynamic symbol. */
static off_t offset_of(Elf *elf, const char *name)
{
	GElf_Shdr symbols, in;
	Elf_Scn *s = section_of(elf, SHT_DYNSYM, &symbols);
	Elf_Data *data = s ? elf_getdata(s, NULL) : NULL;
	const char *text;
	GElf_Sym sym;

	for (int i = 0; data && gelf_getsym(data, i, &sym); i++) {
		text = elf_strptr(elf, symbols.sh_link, sym.st_name);
		if (!text || strcmp(text, name) || sym.st_size != sizeof(uint32_t))
			continue;
		s = elf_getscn(elf, sym.st_shndx);
		return s && gelf_getshdr(s, &in) && in.sh_type == SHT_PROGBITS
			       ? (off_t)(sym.st_value - in.sh_addr + in.sh_offset)
			       : 0;
	}
	return 0;
}

int slurm_release__version_of(const char *plugin, uint32_t *version)
{
	struct elf_file f;
	int err = elf_file__open(&f, plugin);
	off_t at;

	if (!err) {
		at = offset_of(f.elf, "plugin_version");
		if (at <= 0 || pread(f.fd, version, sizeof(*version), at) != sizeof(*version))
			err = -ENOEXEC;
	}
	elf_file__close(&f);
	return err;
}

static int take_dirs(struct slurm_release *slurm, const char *list)
{
	_cleanup_free_ char *dirs = strdup(list);
	char *rest = dirs, *dir, plugin[SLURM_PATH + sizeof(OWN_PLUGIN) + 1];

	while (rest && (dir = strsep(&rest, ":"))) {
		if (dir[0] != '/' || strlen(dir) >= sizeof(slurm->dir))
			continue;
		snprintf(plugin, sizeof(plugin), "%s/%s", dir, OWN_PLUGIN);
		if (slurm_release__version_of(plugin, &slurm->version))
			continue;
		strcpy(slurm->dir, dir);
		return 0;
	}
	return -ENOENT;
}

/* Slurm's programs find their library where its plugins are. */
static int take_program(struct slurm_release *slurm, const char *path)
{
	struct elf_file f;
	int err = elf_file__open(&f, path);
	GElf_Shdr header;
	Elf_Scn *s = err ? NULL : section_of(f.elf, SHT_DYNAMIC, &header);
	Elf_Data *data = s ? elf_getdata(s, NULL) : NULL;
	const char *dirs;
	GElf_Dyn dyn;

	err = -ENOENT;
	for (int i = 0; err && data && gelf_getdyn(data, i, &dyn); i++) {
		if (dyn.d_tag != DT_RUNPATH && dyn.d_tag != DT_RPATH)
			continue;
		dirs = elf_strptr(f.elf, header.sh_link, dyn.d_un.d_val);
		err = dirs ? take_dirs(slurm, dirs) : -ENOENT;
	}
	elf_file__close(&f);
	return err;
}

static int find_running(struct slurm_release *slurm, const char *node)
{
	struct slurmd running;
	int err = slurmd__find(&running, node);

	return err ? err : take_program(slurm, running.squeue);
}

static int find_installed(struct slurm_release *slurm)
{
	const char *path = getenv("PATH");
	_cleanup_free_ char *dirs = NULL;
	char *rest, *dir, slurmd[SLURM_PATH];

	if (asprintf(&dirs, "%s:/usr/local/sbin:/usr/sbin:/sbin", path ? path : "") < 0)
		return -ENOMEM;
	rest = dirs;
	while ((dir = strsep(&rest, ":"))) {
		snprintf(slurmd, sizeof(slurmd), "%s/slurmd", dir);
		if (*dir && !take_program(slurm, slurmd))
			return 0;
	}
	return -ENOENT;
}

int slurm_release__find(struct slurm_release *slurm, const struct slurm_conf *conf,
			const char *node)
{
	int err = take_dirs(slurm, conf->plugin_dir);

	if (err)
		err = find_running(slurm, node);
	return err ? find_installed(slurm) : 0;
}
