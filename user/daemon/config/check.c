/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether a configuration fits this node: settings, directories, Slurm's files and plugins. */
#include "daemon/config/check.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/program.h"
#include "base/str.h"
#include "client/client.h"
#include "daemon/child/child.h"
#include "daemon/child/publication.h"
#include "daemon/config/perf_columns.h"
#include "daemon/config/slurm_conf.h"
#include "identity/cpulist.h"
#include "identity/layout.h"
#include "kern/kern.h"
#include "schema/family.h"
#include "sensor/core/sensor_set.h"
#include "sensor/plugin/plugin.h"
#include "sensor/sensors.h"

#define DIR_CHECK_OPEN 1

/* ---- whether users' directories can be made below ProfileHDF5Dir, tried in a child */

#define PATIENCE_MS 5000

struct answer {
	int err;
	char text[1024];
};

static bool everybody_may(mode_t mode)
{
	return (mode & (S_IWOTH | S_IXOTH)) == (S_IWOTH | S_IXOTH);
}

static bool is_refused(int err)
{
	return err == -EACCES || err == -EPERM;
}

/* Directories that are not root's: made for users. */
static bool has_directories(const char *dir)
{
	_cleanup_closedir_ DIR *list = opendir(dir);
	struct dirent *e;
	struct stat st;

	while (list && (e = readdir(list)))
		if (e->d_name[0] != '.' &&
		    !fstatat(dirfd(list), e->d_name, &st, AT_SYMLINK_NOFOLLOW) &&
		    S_ISDIR(st.st_mode) && st.st_uid)
			return true;
	return false;
}

static void explain_refusal(struct answer *a, const char *dir, const struct stat *st)
{
	if (is_refused(a->err))
		snprintf(a->text, sizeof(a->text),
			 "%s (mode %04o, of uid %u): neither root nor users may make directories "
			 "in it: make the users' directories beforehand, see SECURITY in "
			 "jobprofd(8)",
			 dir, st->st_mode & 07777, st->st_uid);
	else
		snprintf(a->text, sizeof(a->text), "%s: nothing can be made in it: %s", dir,
			 strerror(-a->err));
}

static int try_to_make(const char *dir)
{
	char path[4200];

	snprintf(path, sizeof(path), "%s/.jobprof-check-%d", dir, getpid());
	if (mkdir(path, 0700) || rmdir(path))
		return -errno;
	return 0;
}

static void try_dir(const char *dir, struct answer *a)
{
	struct stat st;

	if (stat(dir, &st)) {
		a->err = -errno;
		snprintf(a->text, sizeof(a->text), "%s: %s: %s", dir, strerror(errno),
			 errno == ENOENT ? "mount the shared file system, or make it"
					 : "ProfileHDF5Dir must be a directory");
		return;
	}
	a->err = S_ISDIR(st.st_mode) ? try_to_make(dir) : -ENOTDIR;
	if (a->err &&
	    !(is_refused(a->err) && (everybody_may(st.st_mode) || has_directories(dir)))) {
		explain_refusal(a, dir, &st);
	} else if (everybody_may(st.st_mode)) { /* also where root is mapped to the user nobody */
		a->err = DIR_CHECK_OPEN;
		snprintf(a->text, sizeof(a->text),
			 "%s (mode %04o): anybody can make the directory of another user, whose "
			 "profiles then stay in the journals%s: make the users' directories "
			 "beforehand, and chmod 0755 it, see SECURITY in jobprofd(8)",
			 dir, st.st_mode & 07777,
			 st.st_mode & S_ISVTX ? "" : ", and rename the others'");
	} else {
		snprintf(a->text, sizeof(a->text), "%s: %s", dir,
			 a->err ? "users have directories, and no more can be made by root here"
				: "root makes the users' directories");
		a->err = 0;
	}
}

static void wait_for(pid_t pid, int fd, struct answer *a)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	if (poll(&p, 1, PATIENCE_MS) > 0 && read(fd, a, sizeof(*a)) == sizeof(*a)) {
		waitpid(pid, NULL, 0);
		return;
	}
	kill(pid,
	     SIGKILL); /* the child ends when the file system answers; this process does not wait */
	a->err = -ETIMEDOUT;
}

/*
 * Checks whether users' directories can be made in dir: makes one and removes it, in a child
 * process that is left behind after 5 s, since shared file systems hang. 0: yes, and the text says
 * whether root or the users make them; DIR_CHECK_OPEN: yes, but not only their users or root may;
 * -ETIMEDOUT, -errno: no, and the text has the cause and the remedy.
 */
static int dir_check_run(const char *dir, char *text, size_t len)
{
	struct answer a = {0};
	int p[2];
	pid_t pid;

	if (pipe2(p, O_CLOEXEC))
		return -errno;
	pid = fork();
	if (!pid) {
		/* the caller's pipes end with the caller, also where this hangs in the kernel */
		child__silence();
		dup2(STDOUT_FILENO, STDERR_FILENO);
		try_dir(dir, &a);
		_exit(write(p[1], &a, sizeof(a)) != sizeof(a));
	}
	close(p[1]);
	if (pid < 0)
		a.err = -errno;
	else
		wait_for(pid, p[0], &a);
	close(p[0]);
	if (a.err == -ETIMEDOUT)
		snprintf(a.text, sizeof(a.text), "%s: the file system does not answer for %d s",
			 dir, PATIENCE_MS / 1000);
	snprintf(text, len, "%s", a.text);
	return a.err;
}

/* ---- who may write to what jobprofd believes, and read what it executes */

/* -EPERM, logged, where others than root may write to a directory that is there. */
static int check_roots(const char *key, const char *dir)
{
	struct stat st;

	if (stat(dir, &st) || (!st.st_uid && !(st.st_mode & (S_IWGRP | S_IWOTH))))
		return 0;
	log_error("%s: others than root may write to %s (mode %04o, of uid %u), and so decide "
		  "what is believed: chown root, chmod go-w, or name another directory",
		  key, dir, st.st_mode & 07777, st.st_uid);
	return -EPERM;
}

int check__root_alone(const struct config *c)
{
	char dir[128];
	char *slash;
	int err;

	snprintf(dir, sizeof(dir), "%s", c->socket);
	slash = strrchr(dir, '/');
	if (slash)
		slash[slash == dir] = '\0';
	err = check_roots("Socket", slash ? dir : ".");
	return check_roots("StateDir", c->state_dir) ? -EPERM : err;
}

/* What executes a file that it may not read cannot be traced, from its first instruction on. */
void check__unreadable(const char *program)
{
	struct stat st;

	if (!stat(program, &st) && st.st_mode & (S_IRGRP | S_IROTH))
		log_warn("%s can be read by others than root: a job's user could trace it, and so "
			 "run programs in jobprofd's cgroup: chmod 711",
			 program);
}

/* ---- what jobprofd needs to start, and sensors that the configuration names */

/* The directory is made, if need be, in one that is there. */
static int try_state_dir(const char *dir)
{
	char above[4200];
	struct stat st;
	char *slash;

	snprintf(above, sizeof(above), "%s", dir);
	if (stat(dir, &st) && errno == ENOENT) {
		slash = strrchr(above, '/');
		slash[slash == above] = '\0';
		if (stat(above, &st))
			return -errno;
	}
	return S_ISDIR(st.st_mode) ? 0 : -ENOTDIR;
}

static unsigned check_state_dir(const struct config *c)
{
	int err = try_state_dir(c->state_dir);

	if (err)
		log_error("%s: StateDir %s: %s: make the directory above it",
			  config__where(c, "StateDir"), c->state_dir, strerror(-err));
	return err != 0;
}

static unsigned check_pin_dir(const struct config *c)
{
	if (!kern__check_pin_dir(c->pin_dir))
		return 0;
	log_error("%s: %s", config__where(c, "PinDir"), kern__error());
	return 1;
}

static bool is_source(const char *name, const struct sensor_ops *const *plugins, int n)
{
	for (unsigned i = 0; i < n_sensor_sources; i++)
		if (!strcmp(sensor_sources[i]->name, name))
			return true;
	for (int i = 0; i < n; i++)
		if (!strcmp(plugins[i]->name, name))
			return true;
	return false;
}

static unsigned check_sensors(const struct config *c)
{
	const struct sensor_ops *const *plugins;
	int n = plugins__load(c->sensor_dir, sensor_sources, &plugins);
	const char *list = c->sensors;
	char word[64];

	while (list && sensor_set__word(&list, word, sizeof(word)))
		if (strcmp(word, "all") && strcmp(word, "none") && !is_source(word, plugins, n))
			log_warn("%s: Sensors: no source is called \"%s\": jobprof sensors -a "
				 "names them",
				 config__where(c, "Sensors"), word);
	return n == -EPERM; /* which is said */
}

/* The part of the check that is about StateDir, Socket, PinDir and sensors. */
static unsigned check_places(const struct config *c)
{
	return check_state_dir(c) + check_pin_dir(c) + check_sensors(c) +
	       (check__root_alone(c) != 0);
}

int check__ipmi(struct config *c, struct ipmi_settings *s)
{
	char err[960];
	int ret = 0;

	ipmi_settings__init(s);
	for (unsigned i = 0; i < CONFIG_IPMI; i++) {
		const char *key = config_ipmi_keys[i];

		if (!c->ipmi[i] || ipmi_settings__set(s, key, c->ipmi[i], err, sizeof(err)) >= 0)
			continue;
		config__complain(c, config__where(c, key), "%s: %s", key, err);
		ret = -EINVAL;
	}
	return ret;
}

/* Checks each word by itself, since all wrong ones are logged. */
static int check_words(struct config *c, const char *key, const char *list, unsigned *families)
{
	_cleanup_free_ char *copy = list ? strdup(list) : NULL;
	char *rest = copy, *word, bad[64];
	unsigned mask;

	if (!list || !family__parse(list, families, bad, sizeof(bad)))
		return 0;
	while (rest && (word = strsep(&rest, ",")))
		if (family__parse(word, &mask, bad, sizeof(bad)))
			config__complain(c, config__where(c, key),
					 "%s=%s: unknown word \"%s\": want all, none, task, or "
					 "families of jobprof list",
					 key, list, bad);
	return -EINVAL;
}

static int check_patterns(struct config *c)
{
	_cleanup_free_ char *copy = NULL;
	char reason[160];
	struct layout l;
	int err = 0;

	for (unsigned i = 0; i < c->n_cgroup_patterns; i++) {
		free(copy);
		copy = strdup(c->cgroup_patterns[i]);
		if (!copy)
			return -ENOMEM;
		if (!layout__from_pattern(&l, copy, reason, sizeof(reason)))
			continue;
		config__complain(c, c->pattern_where[i], "CgroupPattern=%s: %s",
				 c->cgroup_patterns[i], reason);
		err = -EINVAL;
	}
	return err;
}

static int check_events(struct config *c)
{
	char reason[960];

	if (perf_columns__parse(NULL, c->perf_events, reason, sizeof(reason)) >= 0)
		return 0;
	config__complain(c, config__where(c, "PerfEvents"), "PerfEvents: %s", reason);
	return -EINVAL;
}

static int check_cpus(struct config *c)
{
	if (!c->housekeeping_cpus || cpulist__count(c->housekeeping_cpus) > 0)
		return 0;
	config__complain(c, config__where(c, "HousekeepingCPUs"),
			 "HousekeepingCPUs=%s: want a list of CPUs, as 0,64-65",
			 c->housekeeping_cpus);
	return -EINVAL;
}

static int check_is_set(struct config *c, unsigned families)
{
	if (!families || c->hdf5_dir || config__is_given(c, "ProfileHDF5Dir"))
		return 0;
	config__complain(c, NULL,
			 "ProfileHDF5Dir is not set: say in jobprof.conf where the files go");
	return -EINVAL;
}

/* Whether systemd has given this process a directory of its own there (PrivateTmp=): the mount's
 * source, as the kernel says it, has a name that systemd makes. */
static bool is_own(const char *dir)
{
	_cleanup_fclose_ FILE *f = fopen("/proc/self/mountinfo", "re");
	char line[4096], root[2048], at[2048];

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%*s %*s %*s %2047s %2047s", root, at) == 2 && !strcmp(at, dir) &&
		    strstr(root, "/systemd-private-"))
			return true;
	return false;
}

/* A service may have directories for temporary files of its own: nobody would find the profiles. */
static int check_is_seen(struct config *c)
{
	static const char *const dirs[] = {"/tmp", "/var/tmp"};

	for (unsigned i = 0; c->hdf5_dir && i < sizeof(dirs) / sizeof(dirs[0]); i++) {
		const size_t n = strlen(dirs[i]);

		if (!str__starts(c->hdf5_dir, dirs[i]) ||
		    (c->hdf5_dir[n] && c->hdf5_dir[n] != '/') || !is_own(dirs[i]))
			continue;
		config__complain(c, config__where(c, "ProfileHDF5Dir"),
				 "ProfileHDF5Dir=%s: this service has a %s of its own: choose "
				 "another directory, or set PrivateTmp=no (systemctl edit "
				 "jobprofd)",
				 c->hdf5_dir, dirs[i]);
		return -EINVAL;
	}
	return 0;
}

static int check_settings(struct config *c, struct check_families *f)
{
	struct ipmi_settings ipmi;
	int err = 0;

	if (check_words(c, "ProfileHDF5Default", c->hdf5_default, &f->by_default))
		err = -EINVAL;
	else if (!f->by_default && c->hdf5_default && strcasecmp(c->hdf5_default, "none"))
		log_warn("ProfileHDF5Default=%s: none of these is measured here: no step is "
			 "profiled",
			 c->hdf5_default);
	if (check_words(c, "Families", c->families, &f->may_ask))
		err = -EINVAL;
	if (check_patterns(c))
		err = -EINVAL;
	if (check_events(c))
		err = -EINVAL;
	if (check_cpus(c))
		err = -EINVAL;
	if (check__ipmi(c, &ipmi))
		err = -EINVAL;
	if (check_is_set(c, f->by_default))
		err = -EINVAL;
	if (check_is_seen(c))
		err = -EINVAL;
	return err;
}

int check__load(struct config *c, const char *path, bool needed, struct check_families *f)
{
	int err = 0, wrong;

	*f = (struct check_families){};
	if (needed || !access(path, F_OK))
		err = config__load(c, path);
	if (err && err != -EINVAL)
		return err;
	wrong = check_settings(c, f);
	return err ? err : wrong;
}

static unsigned check_dir(const struct config *c)
{
	char text[1200];
	int err;

	if (!c->hdf5_dir) {
		log_error("ProfileHDF5Dir is not set: no step can be profiled");
		return 1;
	}
	if (geteuid()) {
		log_warn("not root: who may write in %s is not checked", c->hdf5_dir);
		return 0;
	}
	err = dir_check_run(c->hdf5_dir, text, sizeof(text));
	if (!err)
		check__ok("ProfileHDF5Dir %s", text);
	else
		log__print(err == DIR_CHECK_OPEN ? LOGL_WARN : LOGL_ERROR, "ProfileHDF5Dir %s",
			   text);
	return err < 0;
}

static unsigned check_programs(const struct config *c)
{
	char writer[4200], merges[4200];

	publication__find_writer(c->writer, writer, sizeof(writer));
	program__find("jobprof", "../bin", merges, sizeof(merges));
	check__unreadable(writer);
	check__unreadable(merges);
	if (!access(writer, X_OK))
		return 0;
	log_error("Writer %s: %s: no file can be written", writer, strerror(errno));
	return 1;
}

static unsigned check_local(const struct config *c)
{
	struct sockaddr_un addr;
	unsigned errors = check_programs(c);

	if (strlen(c->socket) >= sizeof(addr.sun_path) - strlen(JPC_SOCKET_ROOT)) {
		log_error("%s: Socket=%s: a path of a socket has at most %zu characters",
			  config__where(c, "Socket"), c->socket,
			  sizeof(addr.sun_path) - sizeof(JPC_SOCKET_ROOT));
		errors++;
	}
	if (c->admin_group && !getgrnam(c->admin_group))
		log_warn("%s: AdminGroup=%s: there is no such group: only root sees all jobs",
			 config__where(c, "AdminGroup"), c->admin_group);
	if (c->profile_group && !getgrnam(c->profile_group)) {
		log_error("%s: ProfileGroup=%s: there is no such group: make it on all nodes, or "
			  "take the line away",
			  config__where(c, "ProfileGroup"), c->profile_group);
		errors++;
	}
	return errors;
}

static void check_slots(const struct config *c)
{
	unsigned cpus = (unsigned)sysconf(_SC_NPROCESSORS_CONF);
	unsigned needed = kern__default_slots(cpus);
	unsigned slots = c->max_slots ? c->max_slots : needed, jobs = slots / KERN_SLOTS_OF_JOB;

	check__ok("MaxSlots: %u are enough for %u jobs of one CPU; this node has %u CPUs", slots,
		  jobs, cpus);
	if (jobs < cpus && slots < needed)
		log_warn("%s: MaxSlots=%u: with more than %u jobs at once some have no slot for "
			 "their tasks, or none: set %u",
			 config__where(c, "MaxSlots"), slots, jobs, needed);
}

/* Logs which words of PerfEvents have no events here, and that the events of the others are
 * untried. */
static void warn_of_events(const struct config *c)
{
	_cleanup_free_ struct perf_columns *perf = calloc(1, sizeof(*perf));
	char err[512];

	if (!perf || perf_columns__parse(perf, c->perf_events, err, sizeof(err)) < 0)
		return;
	if (perf->left_out[0])
		log_warn("%s: PerfEvents: %s", config__where(c, "PerfEvents"), perf->left_out);
	if (perf->nwords)
		log_warn("%s: PerfEvents: the events that @cpi, @memory and @flops stand for were "
			 "tried on no processor of this kind: compare a job's counts with those of "
			 "perf stat before you rely on them",
			 config__where(c, "PerfEvents"));
}

static void warn_of_intervals(const struct config *c)
{
	if (freq__at_end(&c->freq, FREQ_TASK))
		log_warn("%s: JobAcctGatherFrequency is 0 for tasks: a step has one row, at its "
			 "end; JobAcctGatherFrequency=task=30 in jobprof.conf has more",
			 config__where(c, "JobAcctGatherFrequency"));
}

unsigned check__node(const struct config *c)
{
	unsigned errors = check_dir(c) + check_local(c) + check_places(c);

	check_slots(c);
	warn_of_events(c);
	warn_of_intervals(c);
	return errors + check__slurm_conf(c);
}
