/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What jobprofd takes from users, administrators and Slurm as texts, and its journals: paths of
 * cgroups, /proc, configuration, rules, what Slurm's commands print. */
#include "tests/fuzz/texts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/config/config.h"
#include "base/hostlist.h"
#include "base/log.h"
#include "daemon/child/end_reason.h"
#include "daemon/child/job_infos.h"
#include "daemon/lookup/lookup.h"
#include "findings/findings.h"
#include "findings/live.h"
#include "identity/cpulist.h"
#include "identity/elf.h"
#include "identity/jobspec.h"
#include "identity/layout.h"
#include "identity/proc.h"
#include "identity/proc_modules.h"
#include "identity/proc_program.h"
#include "journal/journal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A text ends with 0, which len does not count; it may have others. */
struct input {
	const char *text;
	size_t len;
};

static void must(bool fits)
{
	if (!fits)
		abort();
}

static bool ends_within(const char *text, size_t size)
{
	return memchr(text, '\0', size);
}

static int file_of(const struct input *in)
{
	static int fd = -1;

	if (fd < 0)
		fd = memfd_create("fuzz", MFD_CLOEXEC);
	must(!fchmod(fd, 0600)); /* root reads no settings that others may write */
	must(fd >= 0 && !ftruncate(fd, 0) && pwrite(fd, in->text, in->len, 0) == (ssize_t)in->len);
	return fd;
}

static const char *path_of(const struct input *in)
{
	static char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", file_of(in));
	return path;
}

static bool try_configuration(const struct input *in)
{
	struct config c = {0};
	bool taken;

	if (config__init(&c))
		return false;
	taken = !config__load(&c, path_of(in));
	config__free(&c);
	return taken;
}

static bool try_rules(const struct input *in)
{
	static struct facts facts;
	static const size_t counts[N_SCOPES] = {[SCOPE_JOB] = 1};
	static bool made;
	const struct rules_options o = {.site = path_of(in)};
	struct verdict v = {0};
	bool taken;

	made = made || !facts__alloc(&facts, counts);
	taken = made && !rules__judge(&v, &facts, &o) && !v.errors.n;

	verdict__free(&v);
	return taken;
}

static bool try_cgroup(const struct input *in)
{
	static const struct layout *rows[64];
	static unsigned n;
	struct cgroup_ids ids;

	for (; !n || (n < 64 && n < n_layouts); n++)
		rows[n] = &layouts[n];
	if (layout__parse_rows(rows, n, in->text, 0, &ids))
		return false;
	must(ids.job_end <= in->len && ids.step_end <= in->len);
	return true;
}

static bool try_environment(const struct input *in)
{
	static struct lookup_env env;

	memset(&env, 0, sizeof(env));
	lookup_env__parse(in->text, in->len, 7, &env);
	for (unsigned i = 0; i < ENV_ATTRS; i++)
		must(ends_within(env.values[i], sizeof(env.values[i])));
	return ends_within(env.job_host, sizeof(env.job_host)) && env.values[0][0];
}

static bool try_maps(const struct input *in)
{
	static struct proc_libraries libraries;
	static struct proc_modules modules;
	char line[4096];

	memset(&libraries, 0, sizeof(libraries));
	memset(&modules, 0, sizeof(modules));
	for (const char *at = in->text; *at;) {
		const char *end = strchrnul(at, '\n');

		snprintf(line, sizeof(line), "%.*s", (int)(end - at), at);
		proc_libraries__take(&libraries, line);
		proc_modules__take(&modules, line, "/usr/bin/own");
		at = *end ? end + 1 : end;
	}
	must(ends_within(libraries.mpi, sizeof(libraries.mpi)) &&
	     ends_within(libraries.gpu, sizeof(libraries.gpu)));
	return libraries.mpi[0];
}

static bool try_title(const struct input *in)
{
	char step[65];
	uint32_t job;

	if (proc__stepd_title(in->text, &job, step, sizeof(step)))
		return false;
	must(ends_within(step, sizeof(step)));
	return true;
}

static bool try_scontrol(const struct input *in)
{
	struct job_facts f;

	if (!job_facts__parse(in->text, 7, &f))
		return false;
	must(ends_within(f.state, sizeof(f.state)) && ends_within(f.sharing, sizeof(f.sharing)) &&
	     !(f.node_memory < 0) && !(f.cpu_memory < 0));
	return true;
}

static bool try_squeue(const struct input *in)
{
	const char *meaning;

	return end_reason__meaning(in->text, 7, 0, &meaning);
}

static bool try_nodes(const struct input *in)
{
	struct string_list l = {0};
	uint64_t cpus[4] = {0};
	char bad[64], name[65];
	bool taken = !hostlist__parse(&l, in->text, bad, sizeof(bad));

	string_list__free(&l);
	if (!hostlist__first(in->text, name, sizeof(name)))
		must(ends_within(name, sizeof(name)));
	cpulist__read(in->text, cpus, 4);
	return taken;
}

static bool try_journal(const struct input *in)
{
	struct journal_reader *r;
	struct journal_record rec;
	unsigned n = 0;

	if (journal_reader__open(&r, file_of(in)))
		return false;
	while (journal_reader__next(r, &rec) > 0)
		n += rec.type == J_ROW || rec.type == J_ATTR;
	must(journal_reader__end(r) <= in->len && journal_reader__torn(r) <= in->len);
	journal_reader__torn_rows(r);
	journal_reader__free(r);
	return n;
}

static const struct {
	char begins;
	bool (*try)(const struct input *in);
} kinds[] = {
	{'c', try_configuration}, {'r', try_rules},   {'g', try_cgroup},   {'e', try_environment},
	{'m', try_maps},	  {'t', try_title},   {'s', try_scontrol}, {'q', try_squeue},
	{'n', try_nodes},	  {'j', try_journal},
};

bool texts__fuzz(const uint8_t *data, size_t size)
{
	bool taken = false;
	char *text = size ? malloc(size) : NULL;

	if (!text)
		return false;
	log__set_level(LOGL_NONE);
	memcpy(text, data + 1, size - 1);
	text[size - 1] = '\0';
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (kinds[i].begins == data[0])
			taken = kinds[i].try(&(struct input){text, size - 1});
	free(text);
	return taken;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	texts__fuzz(data, size);
	return 0;
}
