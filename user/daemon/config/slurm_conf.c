/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads what slurm.conf, acct_gather.conf and plugstack.conf set for this node. */
#include "daemon/config/slurm_conf.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/config/conf_file.h"
#include "base/hostlist.h"
#include "base/str.h"
#include "identity/slurmd.h"

/* ---- the release of Slurm that this node has, read from Slurm's plugins */

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

/* ---- what Slurm's files say */

#define SPANK "spank_jobprof.so"
#define DEPTH 4

static const char *const usual[] = {"/etc/slurm/slurm.conf", "/run/slurm/conf/slurm.conf",
				    "/etc/slurm-llnl/slurm.conf", "/usr/local/etc/slurm.conf"};

struct reading {
	struct slurm_conf *s;
	const struct config *c;
	char host[128];
	char named[128]; /* the NodeName of the line that is being read */
};

static bool in_list(const char *list, const char *name)
{
	struct string_list l = {0};
	bool has = !hostlist__parse(&l, list, NULL, 0) && hostlist__has(&l, name);

	string_list__free(&l);
	return has;
}

static void take_node(struct reading *r, const char *key, const char *value)
{
	if (!strcasecmp(key, "NodeName")) {
		snprintf(r->named, sizeof(r->named), "%s", value);
		r->s->has_node |= in_list(value, r->c->node_name);
	} else if (!strcasecmp(key, "NodeHostname") && !strpbrk(r->named, "[,") &&
		   !strcasecmp(value, r->host)) {
		size_t n = strlen(r->s->named);

		snprintf(r->s->named + n, sizeof(r->s->named) - n, "%s%s", n ? ", " : "", r->named);
	}
}

static void take_pair(void *ctx, const struct conf_pair *p)
{
	struct reading *r = ctx;
	const struct {
		const char *key;
		char *text;
		size_t size;
	} texts[] = {
		{"ClusterName", r->s->cluster, sizeof(r->s->cluster)},
		{"AcctGatherProfileType", r->s->profile_type, sizeof(r->s->profile_type)},
		{"ProctrackType", r->s->proctrack, sizeof(r->s->proctrack)},
		{"TaskPlugin", r->s->task_plugin, sizeof(r->s->task_plugin)},
		{"PluginDir", r->s->plugin_dir, sizeof(r->s->plugin_dir)},
		{"PlugStackConfig", r->s->plugstack, sizeof(r->s->plugstack)},
		{"ProfileHDF5Dir", r->s->profile_dir, sizeof(r->s->profile_dir)},
		{"ProfileJobprofSocket", r->s->profile_socket, sizeof(r->s->profile_socket)},
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (!strcasecmp(p->key, texts[i].key))
			snprintf(texts[i].text, texts[i].size, "%s", p->value);
	r->s->dynamic |= !strcasecmp(p->key, "MaxNodeCount");
	take_node(r, p->key, p->value);
}

/* The text is "" where it does not fit. */
static void path_in_same_dir(char path[static SLURM_PATH], const char *conf, const char *name)
{
	const char *slash = strrchr(conf, '/');
	int n = snprintf(path, SLURM_PATH, "%.*s/%s", slash ? (int)(slash - conf) : 1,
			 slash ? conf : ".", name);

	if (n < 0 || n >= SLURM_PATH)
		path[0] = '\0';
}

static bool find_conf(const struct config *c, char conf[static SLURM_PATH])
{
	const char *path = c->slurm_conf ? c->slurm_conf : getenv("SLURM_CONF");

	if (path && *path) {
		snprintf(conf, SLURM_PATH, "%s", path);
		return true;
	}
	for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]); i++) {
		snprintf(conf, SLURM_PATH, "%s", usual[i]);
		if (!access(conf, F_OK))
			return true;
	}
	conf[0] = '\0';
	return false;
}

static void read_plugstack(struct slurm_conf *s, const char *path, unsigned depth);

static void include_plugstack(struct slurm_conf *s, const char *from, const char *pattern,
			      unsigned depth)
{
	char path[SLURM_PATH];
	glob_t found = {0};

	if (pattern[0] == '/')
		snprintf(path, sizeof(path), "%s", pattern);
	else
		path_in_same_dir(path, from, pattern);
	if (depth < DEPTH && !glob(path, 0, NULL, &found))
		for (size_t i = 0; i < found.gl_pathc; i++)
			read_plugstack(s, found.gl_pathv[i], depth + 1);
	globfree(&found);
}

static void take_spank(struct slurm_conf *s, const char *how, const char *plugin, char *args)
{
	char *word;

	memcpy(s->spank, plugin, sizeof(s->spank));
	s->spank_required = !strcasecmp(how, "required");
	s->spank_socket[0] = '\0';
	while ((word = strsep(&args, " \t\n")))
		if (str__starts(word, "socket="))
			snprintf(s->spank_socket, sizeof(s->spank_socket), "%s",
				 word + strlen("socket="));
}

/* "required|optional PLUGIN ARGUMENT ...", "include FILES" */
static void read_plugstack(struct slurm_conf *s, const char *path, unsigned depth)
{
	_cleanup_fclose_ FILE *f = fopen(path, "re");
	char line[1024], how[16], plugin[SLURM_PATH];
	const char *base;
	int args;

	while (f && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "#")] = '\0';
		if (sscanf(line, "%15s %511s%n", how, plugin, &args) != 2)
			continue;
		base = strrchr(plugin, '/');
		if (!strcasecmp(how, "include"))
			include_plugstack(s, path, plugin, depth);
		else if (!strcmp(base ? base + 1 : plugin, SPANK))
			take_spank(s, how, plugin, line + args);
	}
}

int slurm_conf__read(struct slurm_conf *s, const struct config *c)
{
	struct reading r = {.s = s, .c = c};
	const char *cluster = s->cluster;
	struct conf_file f = {.node_name = (const char *const *)&c->node_name,
			      .cluster = &cluster,
			      .take = take_pair,
			      .ctx = &r};
	char acct[SLURM_PATH];
	int err;

	memset(s, 0, sizeof(*s));
	gethostname(r.host, sizeof(r.host) - 1);
	r.host[strcspn(r.host, ".")] = '\0';
	if (!find_conf(c, s->conf))
		return -ENOENT;
	err = conf_file__read(&f, s->conf);
	if (err)
		return err;
	s->errors = f.errors;
	path_in_same_dir(acct, s->conf, "acct_gather.conf");
	s->profile_dir[0] = '\0'; /* it has no meaning in slurm.conf */
	(void)conf_file__read(&f, acct);
	s->errors += f.errors;
	if (!s->plugstack[0])
		path_in_same_dir(s->plugstack, s->conf, "plugstack.conf");
	read_plugstack(s, s->plugstack, 0);
	return 0;
}
