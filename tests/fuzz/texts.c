/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is taken from users, administrators and Slurm as texts, and journals: paths of cgroups,
 * /proc, configuration, rules, what Slurm's commands print. */
#include "tests/fuzz/input.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/config/config.h"
#include "base/hostlist.h"
#include "base/str.h"
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
#include "identity/slurm_lines.h"
#include "index/coordinators.h"
#include "index/queue.h"
#include "journal/journal.h"

static bool ends_within(const char *text, size_t size)
{
	return memchr(text, '\0', size);
}

static bool try_configuration(const struct input *in)
{
	struct config c = {0};
	bool taken;

	if (config__init(&c))
		return false;
	taken = !config__load(&c, input__path(in));
	config__free(&c);
	return taken;
}

static bool try_rules(const struct input *in)
{
	static struct facts facts;
	static const size_t counts[N_SCOPES] = {[SCOPE_JOB] = 1};
	static bool made;
	const struct rules_options o = {.site = input__path(in)};
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
	input__must(ids.job_end <= in->len && ids.step_end <= in->len);
	return true;
}

static bool try_environment(const struct input *in)
{
	static struct lookup_env env;

	memset(&env, 0, sizeof(env));
	lookup_env__parse(in->text, in->len, 7, &env);
	for (unsigned i = 0; i < ENV_ATTRS; i++)
		input__must(ends_within(env.values[i], sizeof(env.values[i])));
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
	input__must(ends_within(libraries.mpi, sizeof(libraries.mpi)) &&
		    ends_within(libraries.gpu, sizeof(libraries.gpu)));
	return libraries.mpi[0];
}

static bool try_title(const struct input *in)
{
	char step[65];
	uint32_t job;

	if (proc__stepd_title(in->text, &job, step, sizeof(step)))
		return false;
	input__must(ends_within(step, sizeof(step)));
	return true;
}

static bool try_scontrol(const struct input *in)
{
	struct job_facts f;

	if (!job_facts__parse(in->text, 7, &f))
		return false;
	input__must(ends_within(f.state, sizeof(f.state)) &&
		    ends_within(f.sharing, sizeof(f.sharing)) && !(f.node_memory < 0) &&
		    !(f.cpu_memory < 0));
	return true;
}

static bool try_state(const struct input *in)
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
		input__must(ends_within(name, sizeof(name)));
	cpulist__read(in->text, cpus, 4);
	return taken;
}

static bool try_journal(const struct input *in)
{
	struct journal_reader *r;
	struct journal_record rec;
	unsigned n = 0;

	if (journal_reader__open(&r, input__file(in)))
		return false;
	while (journal_reader__next(r, &rec) > 0)
		n += rec.type == J_ROW || rec.type == J_ATTR;
	input__must(journal_reader__end(r) <= in->len && journal_reader__torn(r) <= in->len);
	journal_reader__torn_rows(r);
	journal_reader__free(r);
	return n;
}

/* ---- what sacct, squeue and sacctmgr print, and the index that it goes to */

#define DELIMITER 17 /* bytes: made anew for each question, and a bar in the input */

static const struct input *printed;

/* What a question has for a delimiter; NULL: it has none. */
static const char *delimiter_of(char *const argv[])
{
	if (!strcmp(argv[0], "squeue"))
		return argv[4] + strlen("%A");
	for (; *argv; argv++)
		if (str__starts(*argv, "--delimiter="))
			return *argv + strlen("--delimiter=");
	return NULL;
}

/* In the place of the one that runs the command. */
int slurm_lines__read(struct slurm_lines *l)
{
	const char *delimiter = delimiter_of(l->argv), *end;
	char *line = malloc(1 + printed->len * DELIMITER), *to;
	int err = line ? 0 : -ENOMEM;

	l->said[0] = '\0';
	if (l->argv[1] && !strcmp(l->argv[1], "--helpformat"))
		err = l->take(l->arg, "Restarts");
	else
		for (const char *at = printed->text; !err && *at; at = *end ? end + 1 : end) {
			end = strchrnul(at, '\n');
			for (to = line; at < end; at++) {
				size_t n = *at == '|' && delimiter ? DELIMITER : 1;

				memcpy(to, n > 1 ? delimiter : at, n);
				to += n;
			}
			*to = '\0';
			err = l->take(l->arg, line);
		}
	free(line);
	return err;
}

static char index_dir[200];

static void remove_index(void)
{
	static const char *const files[] = {"", "-wal", "-shm", ".lock", "-journal"};
	char path[sizeof(index_dir) + 16];

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		snprintf(path, sizeof(path), "%s/i%s", index_dir, files[i]);
		unlink(path);
	}
	rmdir(index_dir);
}

/* Which nothing was asked for, and that has no jobs. */
static struct index *index_of(const struct input *in)
{
	static const char *const forget[] = {
		"DELETE FROM meta WHERE key LIKE 'coordinators_at%' OR key LIKE 'queue%'",
		"DELETE FROM coordinator", "DELETE FROM running", "DELETE FROM job"};
	static struct index index;
	char path[sizeof(index_dir) + 2];

	printed = in;
	if (!index.db) {
		snprintf(index_dir, sizeof(index_dir), "%s/jobprof-fuzz-XXXXXX",
			 getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
		input__must(mkdtemp(index_dir) && !atexit(remove_index));
		snprintf(path, sizeof(path), "%s/i", index_dir);
		input__must(!index__open(&index, path, DB_WRITE));
	}
	input__must(!index__begin(&index));
	for (size_t i = 0; i < sizeof(forget) / sizeof(*forget); i++)
		input__must(!db__run(index.db, forget[i], NULL, 0));
	input__must(!index__commit(&index));
	return &index;
}

static double count(struct index *ix, const char *question)
{
	int err;
	double n = db__number(ix->db, &err, question, NULL, 0);

	input__must(!err);
	return n;
}

static bool try_sacct(const struct input *in)
{
	const struct accounting_options o = {.since = (double)time(NULL) - 60};
	struct accounting_result res = {0};
	struct index *ix = index_of(in);

	input__must(!accounting__sync(ix, &o, &res));
	input__must(count(ix, "SELECT count(*) FROM job") <= (double)res.jobs);
	return res.jobs;
}

static bool try_squeue(const struct input *in)
{
	const struct queue_options o = {.cluster = "c"};
	struct index *ix = index_of(in);

	input__must(!queue__read(ix, &o));
	return count(ix, "SELECT count(*) FROM running") > 0;
}

static bool try_coordinators(const struct input *in)
{
	const struct accounting_options o = {0};
	struct index *ix = index_of(in);

	input__must(!coordinators__sync(ix, &o));
	return count(ix, "SELECT count(*) FROM coordinator") > 0;
}

const struct input_kind input_kinds[] = {
	{'c', try_configuration}, {'r', try_rules},
	{'g', try_cgroup},	  {'e', try_environment},
	{'m', try_maps},	  {'t', try_title},
	{'s', try_scontrol},	  {'q', try_state},
	{'n', try_nodes},	  {'j', try_journal},
	{'a', try_sacct},	  {'u', try_squeue},
	{'o', try_coordinators},  {0},
};
