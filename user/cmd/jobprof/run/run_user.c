/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The user that "jobprof run" gives to its command, the output directory of that user, and the
 * cgroup in which the command runs. */
#include "cmd/jobprof/run/run_user.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <pwd.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/ids.h"
#include "base/log.h"
#include "base/own_way.h"
#include "base/str.h"

/* ---- the cgroup in which "jobprof run" runs its command */

/* Below the task's directory CMD may have made its own. */
static void remove_below(const char *dir)
{
	_cleanup_closedir_ DIR *d = opendir(dir);
	char path[1024];
	struct dirent *e;

	while (d && (e = readdir(d))) {
		if (e->d_type != DT_DIR || e->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
		remove_below(path);
		rmdir(path);
	}
}

/* Trees of runs that were killed: an empty one goes, one with processes stays as it is. */
static void remove_stale(const char *home)
{
	_cleanup_closedir_ DIR *d = opendir(home);
	char path[1024];
	struct dirent *e;
	int pid;

	while (d && (e = readdir(d))) {
		if (sscanf(e->d_name, "jobprof_%d", &pid) != 1 || pid <= 0 || !kill(pid, 0) ||
		    errno != ESRCH)
			continue;
		snprintf(path, sizeof(path), "%s/%s", home, e->d_name);
		remove_below(path);
		rmdir(path);
	}
}

int run_cgroup__make(struct run_cgroup *c, const struct kern_root *r, uint32_t job)
{
	int i, err;

	memset(c, 0, sizeof(*c));
	snprintf(c->home, sizeof(c->home), "%s%s", r->mount, r->prefix);
	remove_stale(c->home);
	snprintf(c->dir[0], sizeof(c->dir[0]), "%.500s/jobprof_%d", c->home, getpid());
	snprintf(c->dir[1], sizeof(c->dir[1]), "%.540s/job_%u", c->dir[0], job);
	snprintf(c->dir[2], sizeof(c->dir[2]), "%.560s/step_0", c->dir[1]);
	snprintf(c->dir[3], sizeof(c->dir[3]), "%.580s/task_0", c->dir[2]);
	for (i = 0; i < 4; i++) {
		if (mkdir(c->dir[i], 0755)) {
			err = -errno;
			log_error("cannot make cgroup %s: %s", c->dir[i], strerror(-err));
			run_cgroup__remove(c);
			return err;
		}
		c->made = i + 1;
	}
	return 0;
}

static int move_pid(const char *dir, pid_t pid)
{
	char path[640];
	FILE *f;
	int err;

	snprintf(path, sizeof(path), "%s/cgroup.procs", dir);
	f = fopen(path, "we");
	if (!f)
		return -errno;
	fprintf(f, "%d\n", pid);
	err = fclose(f) ? -errno : 0;
	return err;
}

/* Born in the cgroup where clone3 can (5.7, v2), so that nothing of it is missed; else moved. */
pid_t run_cgroup__fork(const struct run_cgroup *c)
{
	_cleanup_close_ int fd = open(c->dir[3], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct clone_args args = {.flags = CLONE_INTO_CGROUP, .exit_signal = SIGCHLD, .cgroup = fd};
	pid_t pid = fd < 0 ? -1 : syscall(SYS_clone3, &args, sizeof(args));

	if (pid >= 0)
		return pid;
	pid = fork();
	if (!pid && move_pid(c->dir[3], getpid()))
		log_warn("cannot enter cgroup %s: %s", c->dir[3], strerror(errno));
	return pid;
}

static void note_name(struct run_cgroup *c, int pid)
{
	size_t len = strlen(c->names), left = sizeof(c->names) - len;
	char path[32], name[32], quoted[40], all[sizeof(c->names) + 4];

	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	if (read_file(AT_FDCWD, path, name, sizeof(name)) < 0)
		return;
	name[strcspn(name, "\n")] = '\0';
	snprintf(quoted, sizeof(quoted), ", %s, ", name);
	snprintf(all, sizeof(all), ", %s, ", c->names);
	if (strstr(all, quoted))
		return;
	if (strlen(name) + 3 > left)
		c->more_names = true;
	else
		snprintf(c->names + len, left, "%s%s", len ? ", " : "", name);
}

static void evict_dir(struct run_cgroup *c, const char *dir)
{
	char path[1024];
	struct dirent *e;
	_cleanup_closedir_ DIR *d = opendir(dir);
	_cleanup_fclose_ FILE *f = NULL;
	int pid;

	while (d && (e = readdir(d))) {
		if (e->d_type != DT_DIR || e->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
		evict_dir(c, path);
	}
	snprintf(path, sizeof(path), "%s/cgroup.procs", dir);
	f = fopen(path, "re");
	while (f && fscanf(f, "%d", &pid) == 1)
		if (pid > 0 && !move_pid(c->home, pid)) {
			c->evicted++;
			note_name(c, pid);
		}
}

unsigned run_cgroup__evict(struct run_cgroup *c)
{
	evict_dir(c, c->dir[0]);
	return c->evicted;
}

int run_cgroup__remove(struct run_cgroup *c)
{
	if (c->made)
		remove_below(c->dir[c->made - 1]);
	while (c->made) {
		if (rmdir(c->dir[c->made - 1]) && errno != ENOENT)
			return -errno;
		c->made--;
	}
	return 0;
}

int run_user__find(struct run_user *u, const char *name)
{
	const char *uid = getenv("SUDO_UID"), *gid = getenv("SUDO_GID");
	struct passwd *pw = NULL;
	uint32_t id, group;

	u->uid = getuid();
	u->gid = getgid();
	if (name) {
		pw = getpwnam(name);
		if (!pw) {
			log_error("no such user \"%s\"", name);
			return -EINVAL;
		}
		u->uid = pw->pw_uid;
		u->gid = pw->pw_gid;
	} else if (!getuid() && uid && gid && !parse_u32(uid, &id) && !parse_u32(gid, &group)) {
		u->uid = id;
		u->gid = group;
	}
	pw = getpwuid(u->uid);
	if (pw)
		str__copy(u->name, sizeof(u->name), pw->pw_name);
	return 0;
}

int run_user__become(const struct run_user *u)
{
	int err;

	if (u->uid == getuid() && u->gid == getgid())
		return 0;
	err = ids__set_groups(u->name[0] ? u->name : "nobody", u->gid);
	if (!err)
		err = ids__set(u->uid, u->gid);
	if (err)
		log_error("cannot become uid %u: %s", u->uid, strerror(-err));
	return err;
}

int run_user__act(const struct run_user *u)
{
	return setegid(u->gid) || seteuid(u->uid) ? -errno : 0;
}

int run_user__act_as_ourselves(void)
{
	return seteuid(getuid()) || setegid(getgid()) ? -EPERM : 0;
}

static int make_dirs(const char *dir)
{
	_cleanup_free_ char *path = strdup(dir);

	if (!path)
		return -ENOMEM;
	for (char *p = path + 1; *p; p++) {
		if (*p != '/')
			continue;
		*p = '\0';
		if (mkdir(path, 0777) && errno != EEXIST)
			return -errno;
		*p = '/';
	}
	return mkdir(path, 0777) && errno != EEXIST ? -errno : 0;
}

static int check_way(const char *dir)
{
	_cleanup_free_ char *path = NULL;
	const char *base;
	int fd;

	if (asprintf(&path, "%s/.", dir) < 0)
		return -ENOMEM;
	fd = own_way__open(path, &base);
	if (fd >= 0)
		close(fd);
	return fd < 0 ? fd : 0;
}

/* Access rights are not enough: the disk may be full, or the path in /proc. Of a file without a
 * name nothing is left, whenever a kill comes; some file systems have no such files. */
static int try_file(const char *dir)
{
	_cleanup_free_ char *path = NULL;
	int fd = open(dir, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);

	if (fd >= 0) {
		close(fd);
		return 0;
	}
	if (asprintf(&path, "%s/.jobprof-XXXXXX", dir) < 0)
		return -ENOMEM;
	fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	close(fd);
	unlink(path);
	return 0;
}

/* The writer has no capabilities: root's too goes by owner and mode. */
static int try_as_writer(const char *dir)
{
	cap_t own = cap_get_proc(), less = own ? cap_dup(own) : NULL;
	int err = -ENOMEM;

	if (less && !cap_clear_flag(less, CAP_EFFECTIVE))
		err = cap_set_proc(less) ? -errno : try_file(dir);
	if (own && cap_set_proc(own))
		err = -errno;
	cap_free(less);
	cap_free(own);
	return err;
}

static void log_no_right(const char *dir, const char *name)
{
	struct stat st;
	const struct passwd *owner = stat(dir, &st) ? NULL : getpwuid(st.st_uid);

	if (!owner)
		log_error("output directory %s: %s may not write there: choose another with -o",
			  dir, name);
	else
		log_error("output directory %s: it is %s's, and %s may not write there%s: -u %s, "
			  "or choose another with -o",
			  dir, owner->pw_name, name,
			  strcmp(name, "root") ? "" : " without privileges, as files are written",
			  owner->pw_name);
}

int run_user__output(const struct run_user *u, const char *dir, char path[static 4096])
{
	const char *name = u->name[0] ? u->name : "the user";
	int err = run_user__act(u);

	if (err)
		return err;
	err = make_dirs(dir);
	if (!err)
		err = check_way(dir);
	if (!err && !realpath(dir, path))
		err = -errno;
	if (!err)
		err = try_as_writer(path);
	if (run_user__act_as_ourselves())
		return -EPERM;
	if (err == -EACCES)
		log_no_right(dir, name);
	else if (err)
		log_error("output directory %s: %s: choose another with -o", dir,
			  err == -ELOOP ? "another user's link on the way is not followed"
					: strerror(-err));
	return err;
}

static int may_run(const char *path)
{
	struct stat st;

	if (faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) || stat(path, &st))
		return -errno;
	return S_ISREG(st.st_mode) ? 0 : -EACCES;
}

/* Searches as execvp(3) does: the first file that may be run, else the error of one that may not.
 * */
static int search_path(const char *dirs, const char *command)
{
	_cleanup_free_ char *list = strdup(dirs);
	char *rest = list, *dir, path[4096];
	int best = -ENOENT, err;

	while (rest && (dir = strsep(&rest, ":"))) {
		snprintf(path, sizeof(path), "%s/%s", *dir ? dir : ".", command);
		err = may_run(path);
		if (!err)
			return 0;
		if (err == -EACCES)
			best = err;
	}
	return best;
}

int run_user__command(const struct run_user *u, const char *command)
{
	const char *dirs = getenv("PATH");
	int err = run_user__act(u);

	if (err)
		return 126;
	if (!*command)
		err = -ENOENT;
	else if (strchr(command, '/'))
		err = may_run(command);
	else
		err = search_path(dirs ? dirs : "/bin:/usr/bin", command);
	if (run_user__act_as_ourselves())
		return 126;
	if (!err)
		return 0;
	log_error("cannot run %s: %s", command, strerror(-err));
	return RUN_STATUS(-err);
}
