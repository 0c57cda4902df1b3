/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether Slurm's configuration fits: names, cgroups, its profile plugin, and our plugins. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io_full.h"
#include "base/log.h"
#include "base/str.h"
#include "client/client.h"
#include "daemon/config/check.h"
#include "daemon/config/slurm_conf.h"

#define SLURMS_PROFILE "acct_gather_profile/hdf5"
#define OUR_PROFILE    "acct_gather_profile/jobprof"
#define OUR_PLUGIN     "acct_gather_profile_jobprof.so"
#define OUR_SPANK      "spank_jobprof.so"
#define PROCTRACK      "proctrack/cgroup"
#define PLUGIN_MAX     (4 << 20)
#define RELEASE_FMT    "%u.%02u"
#define RELEASE(v)     (v) >> 16, (v) >> 8 & 0xff

static unsigned check_names(const struct config *c, const struct slurm_conf *s)
{
	unsigned errors = 0;

	if (c->cluster && s->cluster[0] && strcasecmp(c->cluster, s->cluster)) {
		log_error("%s: ClusterName=%s, but %s has ClusterName=%s",
			  config__where(c, "ClusterName"), c->cluster, s->conf, s->cluster);
		errors++;
	} else if (!c->cluster && s->cluster[0]) {
		log_warn("ClusterName is not set, and not stored: %s has ClusterName=%s", s->conf,
			 s->cluster);
	}
	if (s->has_node) {
		check__ok("NodeName %s is in %s", c->node_name, s->conf);
	} else if (s->dynamic) {
		log_warn("NodeName %s is in no line of %s: it must be a dynamic node", c->node_name,
			 s->conf);
	} else if (strchr(s->named, ',')) {
		/* such a Slurm has the node's name in its cgroups */
		check__ok("%s calls this host %s: the cgroup of a step says which", s->conf,
			  s->named);
	} else {
		log_error("NodeName %s (%s) is in no line of %s%s%s: files would have another name "
			  "than Slurm's node",
			  c->node_name, config__where(c, "NodeName"), s->conf,
			  s->named[0] ? ", which calls this host " : "", s->named);
		errors++;
	}
	return errors;
}

static bool same_dir(const char *a, const char *b)
{
	struct stat st, other;

	return !strcmp(a, b) || (!stat(a, &st) && !stat(b, &other) && st.st_dev == other.st_dev &&
				 st.st_ino == other.st_ino);
}

static void warn_of_slurms_plugin(const struct config *c, const struct slurm_conf *s)
{
	if (strcasecmp(s->profile_type, SLURMS_PROFILE) || !c->hdf5_dir || !s->profile_dir[0] ||
	    !same_dir(c->hdf5_dir, s->profile_dir))
		return;
	log_warn("%s: AcctGatherProfileType=%s writes files of the same names to %s: of steps with "
		 "--profile Slurm's file stays, and ours goes to restart<N>; set another "
		 "ProfileHDF5Dir here or %s there",
		 s->conf, s->profile_type, c->hdf5_dir, OUR_PROFILE);
}

/* Steps are found by their cgroups. With v1 it is proctrack/cgroup that makes them in the hierarchy
 * that is followed; with v2 there is one hierarchy, and task/cgroup makes them too. */
static unsigned check_cgroups(const struct slurm_conf *s)
{
	if (!s->proctrack[0] || !strcasecmp(s->proctrack, PROCTRACK))
		return 0;
	if (strcasestr(s->task_plugin, "cgroup")) {
		log_warn("%s: ProctrackType=%s: steps are found with cgroup v2 only; set "
			 "ProctrackType=" PROCTRACK,
			 s->conf, s->proctrack);
		return 0;
	}
	log_error("%s: ProctrackType=%s: steps have no cgroups, so none is profiled; set "
		  "ProctrackType=" PROCTRACK,
		  s->conf, s->proctrack);
	return 1;
}

void check__slurm(const struct config *c)
{
	struct slurm_conf s;

	if (slurm_conf__read(&s, c))
		return;
	check_cgroups(&s);
	warn_of_slurms_plugin(c, &s);
}

/* -ENOENT: the plugin has no version, or is not a plugin of jobprof. */
static int version_of(const char *path, char *version, size_t size)
{
	static const char mark[] = CLIENT_VERSION_MARK;
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	_cleanup_free_ char *text = malloc(PLUGIN_MAX + 1);
	const char *at;
	ssize_t n;

	if (fd < 0)
		return -errno;
	if (!text)
		return -ENOMEM;
	n = read_full(fd, text, PLUGIN_MAX);
	if (n < 0)
		return (int)n;
	text[n] = '\0';
	at = memmem(text, (size_t)n, mark, sizeof(mark) - 1);
	if (!at)
		return -ENOENT;
	snprintf(version, size, "%s", at + sizeof(mark) - 1);
	return 0;
}

/* SPANK takes plugins of its own release only. */
static unsigned check_release(const char *path, const struct slurm_conf *s,
			      const struct slurm_release *slurm)
{
	uint32_t built;

	if (slurm_release__version_of(path, &built)) {
		log_error("%s says no version of Slurm: it is no plugin that Slurm loads", path);
		return 1;
	}
	if (!slurm->version) {
		log_warn("%s is built for Slurm " RELEASE_FMT "; no Slurm was found: say its "
			 "PluginDir in slurm.conf, or have slurmd in PATH, to have that checked",
			 path, RELEASE(built));
		return 0;
	}
	if (!((built ^ slurm->version) & SLURM_RELEASE_MASK)) {
		check__ok("%s is built for Slurm " RELEASE_FMT, path, RELEASE(built));
		return 0;
	}
	log_error("%s is built for Slurm " RELEASE_FMT ", and Slurm " RELEASE_FMT " does not load "
		  "it: %s; build it for that Slurm (\"make SLURM=<its --prefix>\") and install it "
		  "in its place",
		  path, RELEASE(built), RELEASE(slurm->version),
		  s->spank_required ? "as it is required, slurmd does not start and no job can be "
				      "submitted"
				    : "there is no --jobprof");
	return 1;
}

static unsigned check_plugin(const char *path)
{
	char version[32] = "";
	int err = version_of(path, version, sizeof(version));

	if (!err && !strcmp(version, JOBPROF_VERSION)) {
		check__ok("%s is of version %s", path, version);
		return 0;
	}
	if (err && access(path, R_OK))
		log_error("%s: %s", path, strerror(-err));
	else
		log_error("%s is of %s%s, jobprofd of version %s: install both from one version",
			  path, err ? "another" : "", err ? " version" : version, JOBPROF_VERSION);
	return 1;
}

/* Finds a plugin's file: at the path that is named, or in one of the directories. False: no
 * directory has the file, or none is known. */
static bool find_plugin(const char *list, const char *name, char path[static SLURM_PATH])
{
	_cleanup_free_ char *dirs = strdup(list);
	char *rest = dirs, *dir;

	if (name[0] == '/') {
		snprintf(path, SLURM_PATH, "%s", name);
		return true;
	}
	while (rest && (dir = strsep(&rest, ":")))
		if (*dir && (size_t)snprintf(path, SLURM_PATH, "%s/%s", dir, name) < SLURM_PATH &&
		    !access(path, F_OK))
			return true;
	return false;
}

static unsigned check_plugins(const struct slurm_conf *s, const struct slurm_release *slurm)
{
	const char *dirs = s->plugin_dir[0] ? s->plugin_dir : slurm->dir;
	const struct {
		const char *name, *where;
		bool used, for_one_release;
	} plugins[] = {
		{s->spank, s->plugstack, s->spank[0], true},
		{OUR_PLUGIN, s->conf, !strcasecmp(s->profile_type, OUR_PROFILE), false},
	};
	unsigned errors = 0;
	char path[SLURM_PATH];

	for (size_t i = 0; i < sizeof(plugins) / sizeof(plugins[0]); i++) {
		if (!plugins[i].used)
			continue;
		if (find_plugin(dirs, plugins[i].name, path)) {
			errors += check_plugin(path);
			if (plugins[i].for_one_release && !access(path, R_OK))
				errors += check_release(path, s, slurm);
		} else if (dirs[0]) {
			log_error("%s uses %s, which is not in PluginDir %s", plugins[i].where,
				  plugins[i].name, dirs);
			errors++;
		} else {
			log_warn("%s uses %s, and neither a PluginDir nor a Slurm was found: its "
				 "version is not checked",
				 plugins[i].where, plugins[i].name);
		}
	}
	return errors;
}

/* A plugin that does not find jobprofd cannot send what users asked for. */
static void warn_of_sockets(const struct config *c, const struct slurm_conf *s)
{
	const struct {
		bool used;
		const char *plugin, *socket, *set, *where;
	} plugins[] = {
		{s->spank[0], OUR_SPANK, s->spank_socket, "socket=", s->plugstack},
		{!strcasecmp(s->profile_type, OUR_PROFILE), OUR_PLUGIN, s->profile_socket,
		 "ProfileJobprofSocket=", "acct_gather.conf"},
	};

	for (size_t i = 0; i < sizeof(plugins) / sizeof(plugins[0]); i++) {
		const char *at = plugins[i].socket[0] ? plugins[i].socket : JPC_SOCKET;

		if (plugins[i].used && strcmp(at, c->socket))
			log_warn("%s looks for jobprofd at %s, and Socket is %s: what users ask "
				 "for is not heard; set %s%s in %s",
				 plugins[i].plugin, at, c->socket, plugins[i].set, c->socket,
				 plugins[i].where);
	}
}

unsigned check__slurm_conf(const struct config *c)
{
	struct slurm_release slurm = {0};
	struct slurm_conf s;
	int err = slurm_conf__read(&s, c);

	if (err == -ENOENT && !s.conf[0]) {
		log_warn("no slurm.conf was found: Include it, or set SLURM_CONF, to have names "
			 "and plugins checked");
		return 0;
	}
	if (err) {
		log_error("%s: %s", s.conf, strerror(-err));
		return 1;
	}
	if (!slurm_release__find(&slurm, &s, c->node_name))
		check__ok("Slurm " RELEASE_FMT ".%u, with its plugins in %s",
			  RELEASE(slurm.version), slurm.version & 0xff, slurm.dir);
	warn_of_slurms_plugin(c, &s);
	warn_of_sockets(c, &s);
	return s.errors + check_cgroups(&s) + check_names(c, &s) + check_plugins(&s, &slurm);
}
