// SPDX-License-Identifier: GPL-2.0-or-later
/* Finds slurmd or slurmstepd among the processes, and from it the Slurm of this node. */
#include "identity/slurmd.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "identity/proc.h"

#define ARGS_LEN 16384
#define ARGS_MAX 256

/* The options of a slurmd's command line; "": not given. */
struct options {
	char node[65], conf[SLURMD_PATH];
	bool server; /* slurmctld has the configuration: --conf-server */
	bool unclear;
};

/* A process of root in a container has paths of the container, and other users may have made files
 * of these names here. */
static bool is_roots(pid_t pid, const char *name)
{
	char comm[64];
	uid_t uid;

	return !proc__comm(pid, comm, sizeof(comm)) && !strcmp(comm, name) &&
	       !proc__uid(pid, &uid) && !uid && proc__has_our_root(pid);
}

/* <prefix>/sbin/slurmd comes with <prefix>/bin/squeue. Debian's program is slurmd-wlm; " (deleted)"
 * follows the name after an upgrade. The process is looked at again, as a user's may have its
 * number by now: root executes what is found. */
int slurmd__squeue(pid_t pid, const char *name, char *squeue, size_t size)
{
	char exe[PATH_MAX], *slash;

	if (!is_roots(pid, name) || proc__link(pid, "exe", exe, sizeof(exe)) ||
	    !is_roots(pid, name))
		return -ENOENT;
	slash = strrchr(exe, '/');
	if (!slash || !str__starts(slash + 1, name) ||
	    isalnum((unsigned char)slash[1 + strlen(name)]))
		return -ENOENT;
	*slash = '\0';
	slash = strrchr(exe, '/');
	if (!slash)
		return -ENOENT;
	*slash = '\0';
	return snprintf(squeue, size, "%s/bin/squeue", exe) < (int)size ? 0 : -E2BIG;
}

static void take_option(struct options *o, int option, const char *value)
{
	switch (option) {
	case 'N':
		o->unclear |= str__copy(o->node, sizeof(o->node), value) != 0;
		break;
	case 'f':
		o->unclear |= value[0] != '/' || str__copy(o->conf, sizeof(o->conf), value);
		break;
	case 's':
		o->server = true;
		break;
	default:
		break;
	}
}

/* The options of slurmd in Slurm 22.05 to 26.05. */
static void read_options(struct options *o, int argc, char **argv)
{
	static const char short_options[] = ":bcCd:Df:F::GhL:Mn:N:vVZ";
	static const struct option long_options[] = {{"conf-server", required_argument, NULL, 's'},
						     {"conf", required_argument, NULL, 'c'},
						     {}};
	int option;

	*o = (struct options){};
	optind = 0; /* glibc: begin again */
	while ((option = getopt_long(argc, argv, short_options, long_options, NULL)) != -1)
		take_option(o, option, optarg ? optarg : "");
}

static int read_command_line(struct options *o, pid_t pid)
{
	char text[ARGS_LEN], *argv[ARGS_MAX + 1];
	ssize_t len = proc__args(pid, text, sizeof(text));
	int argc = 0;

	for (ssize_t at = 0; at < len && argc < ARGS_MAX; at += (ssize_t)strlen(text + at) + 1)
		argv[argc++] = text + at;
	if (!argc || len == sizeof(text) - 1)
		return -EINVAL;
	argv[argc] = NULL;
	read_options(o, argc, argv);
	return o->unclear ? -EINVAL : 0;
}

/* slurmd keeps the files that slurmctld sends in SlurmdSpoolDir/conf-cache. The link leads there;
 * with several slurmds it leads to the directory of the last one. */
static void find_cache(struct slurmd *s, pid_t pid)
{
	char dir[SLURMD_PATH - sizeof("/slurm.conf")];

	if (!proc__link(pid, "root/run/slurm/conf", dir, sizeof(dir)) && dir[0] == '/')
		snprintf(s->conf, sizeof(s->conf), "%s/slurm.conf", dir);
}

static void find_conf(struct slurmd *s, pid_t pid, const struct options *o)
{
	if (o->server)
		find_cache(s, pid);
	else if (o->conf[0])
		str__copy(s->conf, sizeof(s->conf), o->conf);
	else if (proc__environ(pid, "SLURM_CONF", s->conf, sizeof(s->conf)) || s->conf[0] != '/')
		s->conf[0] = '\0';
}

struct search {
	const char *node;
	struct slurmd found;
	unsigned n; /* slurmds that differ from the one before */
};

/* 1: the process is the slurmd that is searched for. */
static int check_process(void *ctx, pid_t pid)
{
	struct search *f = ctx;
	struct slurmd s = {};
	struct options o;

	if (slurmd__squeue(pid, "slurmd", s.squeue, sizeof(s.squeue)) ||
	    read_command_line(&o, pid) || (o.node[0] && strcmp(o.node, f->node) != 0))
		return 0;
	find_conf(&s, pid, &o);
	if (!is_roots(pid, "slurmd"))
		return 0;
	/* a child that slurmd has just forked looks like slurmd itself */
	if (!f->n || strcmp(s.squeue, f->found.squeue) != 0 || strcmp(s.conf, f->found.conf) != 0)
		f->n++;
	f->found = s;
	return o.node[0] != '\0';
}

int slurmd__find(struct slurmd *s, const char *node)
{
	struct search f = {.node = node};
	int ret = proc__each(check_process, &f);

	*s = (struct slurmd){};
	if (ret < 0)
		return ret;
	if (!ret && f.n != 1)
		return f.n ? -ENOTUNIQ : -ENOENT;
	*s = f.found;
	return 0;
}
