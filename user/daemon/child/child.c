/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How a child of jobprofd begins: signals, files, ids and rights. */
#include "daemon/child/child.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/ids.h"
#include "base/log.h"
#include "base/str.h"
#include "identity/hierarchy.h"
#include "pool/confine.h"

/* ---- the cgroup of jobprofd's children is made where jobprofd has a cgroup of its own */

#define CHILDREN "children"
#define DAEMON	 "daemon"
/* A step's file needs some 300 MB at the most, and the pages that were written. */
#define MEMORY_PART 4 /* of the machine's */
#define PIDS_MAX    "1024"
#define NICE_LEAST  19

struct child_group {
	char own[600]; /* jobprofd's, as it was given */
	bool v2;
};

/* Read by children, which have a copy. */
static struct child_group groups[3];
static unsigned ngroups;

/* The kernel takes or refuses a value as a whole. */
static int write_group_file(const struct child_group *g, const char *file, const char *value)
{
	char path[700];
	int fd, err = 0;

	snprintf(path, sizeof(path), "%s/%s", g->own, file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (write(fd, value, strlen(value)) < 0)
		err = -errno;
	close(fd);
	return err;
}

static int make_group(const struct child_group *g, const char *name)
{
	char path[700];

	snprintf(path, sizeof(path), "%s/%s", g->own, name);
	return mkdir(path, 0755) && errno != EEXIST ? -errno : 0;
}

static void remove_group(const struct child_group *g, const char *name)
{
	char path[700];

	snprintf(path, sizeof(path), "%s/%s", g->own, name);
	rmdir(path);
}

/* No other process is in the cgroup. */
static bool is_alone(const struct child_group *g)
{
	char path[700], text[64], own_pid[32];

	snprintf(path, sizeof(path), "%s/cgroup.procs", g->own);
	snprintf(own_pid, sizeof(own_pid), "%d\n", getpid());
	return read_file(AT_FDCWD, path, text, sizeof(text)) > 0 && !strcmp(text, own_pid);
}

static void set_limits(const struct child_group *g)
{
	uint64_t bytes = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
	char memory[32];
	int err;

	snprintf(memory, sizeof(memory), "%llu", (unsigned long long)(bytes / MEMORY_PART));
	if (g->v2) { /* one at a time: a hybrid system may have one of them in v1 */
		write_group_file(g, "cgroup.subtree_control", "+memory");
		write_group_file(g, "cgroup.subtree_control", "+pids");
	}
	err = write_group_file(
		g, g->v2 ? CHILDREN "/memory.max" : CHILDREN "/memory.limit_in_bytes", memory);
	if (!err)
		log_debug("writers and merges have %s bytes of memory, in %s", memory, g->own);
	write_group_file(g, CHILDREN "/pids.max", PIDS_MAX);
}

static void give_back(const struct child_group *g)
{
	if (g->v2) {
		write_group_file(g, "cgroup.subtree_control", "-memory");
		write_group_file(g, "cgroup.subtree_control", "-pids");
		write_group_file(g, "cgroup.procs", "0");
		remove_group(g, DAEMON);
	}
	remove_group(g, CHILDREN);
}

static void add_hierarchy(const struct hierarchy *h)
{
	struct child_group *g = &groups[ngroups];
	char path[256];
	int err;

	if (hierarchy__cgroup_of("self", h, path, sizeof(path)) || !strcmp(path, "/") ||
	    ngroups == sizeof(groups) / sizeof(*groups))
		return;
	g->v2 = h->v2;
	snprintf(g->own, sizeof(g->own), "%s%s", h->mount,
		 strcmp(h->root, "/") ? path + strlen(h->root) : path);
	if (!is_alone(g))
		return;
	err = make_group(g, CHILDREN);
	if (!err && g->v2)
		err = make_group(g, DAEMON);
	if (!err && g->v2)
		err = write_group_file(g, DAEMON "/cgroup.procs", "0");
	if (err) {
		log_warn("no cgroup for writers and merges in %s: %s: they have no limits of their "
			 "own; a unit needs Delegate=",
			 g->own, strerror(-err));
		give_back(g);
		return;
	}
	set_limits(g);
	ngroups++;
}

void child_group__make(void)
{
	struct hierarchy *h = calloc(HIERARCHY_MAX, sizeof(*h));
	int i, n = h ? hierarchy__discover(h, HIERARCHY_MAX) : 0;

	for (i = 0; i < n; i++)
		if (h[i].v2 || strstr(h[i].controllers, "memory") ||
		    strstr(h[i].controllers, "pids"))
			add_hierarchy(&h[i]);
	free(h);
}

/* In a child: moves the calling process to the cgroup. */
static void group_enter(void)
{
	for (unsigned i = 0; i < ngroups; i++)
		write_group_file(&groups[i], CHILDREN "/cgroup.procs", "0");
}

void child_group__remove(void)
{
	for (unsigned i = 0; i < ngroups; i++)
		give_back(&groups[i]);
	ngroups = 0;
}

/* ---- A user's directory below ProfileHDF5Dir: made by root, opened as the user */

#define TRIES	10
#define WAIT_US 10000

#define NO_GROUP ((gid_t)-1)

static gid_t share = NO_GROUP;

void user_dir__share(const char *group)
{
	const struct group *g = group ? getgrnam(group) : NULL;

	share = g ? g->gr_gid : NO_GROUP;
	if (group && !g)
		log_warn("ProfileGroup=%s: there is no such group: files are for their users alone",
			 group);
}

/* The group reads, and files that are made there are its own. The mode comes last: a change of the
 * group clears bits of it. */
static int share_dir(int fd, uid_t uid)
{
	return fchown(fd, uid, share) || fchmod(fd, 02750) ? -errno : 0;
}

/* Root gives away only a directory that root has just made. */
static int make_as_root(int top, const struct child_user *u)
{
	struct stat st;
	int fd, err = 0;

	if (mkdirat(top, u->user, 0700))
		return -errno;
	fd = openat(top, u->user, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st))
		err = -errno;
	else if (st.st_uid)
		err = -EPERM;
	else if (share != NO_GROUP)
		err = share_dir(fd, u->uid);
	else if (fchown(fd, u->uid, u->gid))
		err = -errno;
	close(fd);
	return err;
}

/* As the user, with the group: a directory that was just made, or that the group does not have yet.
 * One that its user has closed to the group since stays closed. */
static void share_own(int top, const struct child_user *u, bool made)
{
	int fd = openat(top, u->user, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), err = 0;
	struct stat st;

	if (fd < 0)
		return;
	if (!fstat(fd, &st) && st.st_uid == u->uid && (made || st.st_gid != share))
		err = share_dir(fd, (uid_t)-1);
	close(fd);
	if (err)
		log_warn("%s's directory cannot be given to the group of ProfileGroup: %s", u->user,
			 strerror(-err));
}

static int make_as_user(int top, const struct child_user *u)
{
	struct child_user as = {u->user, u->uid, share != NO_GROUP ? share : u->gid};
	int err = child__act_as(&as), back;

	if (!err && mkdirat(top, u->user, 0700))
		err = -errno;
	if (share != NO_GROUP && (!err || err == -EEXIST))
		share_own(top, u, !err);
	back = child__act_as_root();
	if (back) { /* neither root nor the user: the process may do nothing now */
		log_error("cannot become root again: %s", strerror(-back));
		_exit(1);
	}
	return err;
}

int user_dir__make(const char *top, const struct child_user *u)
{
	char path[1024];
	struct stat st;
	int fd, err;

	/* Most often it is there, and has nothing to be given. */
	snprintf(path, sizeof(path), "%s/%s", top, u->user);
	if (share == NO_GROUP && !lstat(path, &st))
		return 0;
	/* Making a directory in top needs no right to list top. */
	fd = open(top, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	err = make_as_user(fd, u);
	if (err == -EACCES || err == -EPERM)
		err = make_as_root(fd, u);
	close(fd);
	return err == -EEXIST ? 0 : err;
}

/* Prints why the directory is not there. made: the result of user_dir__make(). */
static void describe_absent(const char *top, const struct child_user *u, int made, char *error,
			    size_t len)
{
	struct stat st;

	if (stat(top, &st))
		snprintf(error, len, "%s: %s: mount the file system, or make the directory", top,
			 strerror(made ? -made : errno));
	else if (!S_ISDIR(st.st_mode))
		snprintf(error, len, "%s: %s", top, strerror(ENOTDIR));
	else if (made == -EACCES || made == -EPERM)
		snprintf(error, len,
			 "there is no %s/%s and neither root nor the user may make it: make it, "
			 "with mode 0700, as uid %u's",
			 top, u->user, u->uid);
	else
		snprintf(error, len, "%s/%s cannot be made: %s", top, u->user,
			 strerror(made ? -made : ENOENT));
}

static int describe_error(const char *top, const struct child_user *u, int err, int made,
			  char *error, size_t len)
{
	struct stat st;
	char path[1024];

	snprintf(path, sizeof(path), "%s/%s", top, u->user);
	if (err == -ENOENT)
		describe_absent(top, u, made, error, len);
	else if (!lstat(path, &st) && S_ISLNK(st.st_mode))
		snprintf(error, len, "%s is a symbolic link, which is not followed: remove it",
			 path);
	else if (!lstat(path, &st) && st.st_uid != u->uid && st.st_uid)
		snprintf(error, len, "%s belongs to uid %u and is not used: remove it", path,
			 st.st_uid);
	else
		snprintf(error, len, "%s: %s", path, strerror(-err));
	return err;
}

int user_dir__open(const char *top, const struct child_user *u, int made, char *error, size_t len)
{
	char path[1024];
	struct stat st;
	int fd, tries = 0, err;

	snprintf(path, sizeof(path), "%s/%s", top, u->user);
	do { /* another step's child may have made it and not yet given it to the user */
		fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	} while (fd < 0 && errno == EACCES && ++tries < TRIES && !usleep(WAIT_US));
	if (fd < 0)
		return describe_error(top, u, -errno, made, error, len);
	if (!fstat(fd, &st) && (st.st_uid == u->uid || !st.st_uid))
		return fd;
	err = describe_error(top, u, -EPERM, made, error, len);
	close(fd);
	return err;
}

/* A protection of jobprofd from the OOM killer is for jobprofd alone. A value that jobprof run was
 * started with stays. */
static void give_up_oom_protection(void)
{
	static const char file[] = "/proc/self/oom_score_adj";
	char text[16];
	int fd;

	if (read_file(AT_FDCWD, file, text, sizeof(text)) < 0 || atoi(text) >= 0)
		return;
	fd = open(file, O_WRONLY | O_CLOEXEC);
	if (fd >= 0 && write(fd, "0", 1) == 1)
		close(fd);
}

void child__silence(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0)
		return;
	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
}

void child__begin(void)
{
	sigset_t none;
	int s;

	for (s = 1; s < 32; s++)
		signal(s, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	close_range(STDERR_FILENO + 1, ~0u, 0);
	umask(022); /* as Slurm's: the users' directories are what protects their files */
	group_enter();
	give_up_oom_protection();
}

static bool is_root(const struct child_user *u)
{
	return u->uid == 0 && u->gid == 0;
}

static int take_groups(const struct child_user *u)
{
	return ids__set_groups(u->user[0] ? u->user : "nobody", u->gid);
}

int child__become(const struct child_user *u)
{
	int err;

	if (!geteuid() && !is_root(u)) {
		err = take_groups(u);
		if (err)
			return err;
		err = ids__set(u->uid, u->gid);
		if (err)
			return err;
	}
	/* this comes last: a change of ids sets the flag to the value of fs.suid_dumpable */
	return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) ? -errno : 0;
}

int child__become_helper(void)
{
	int err = 0;

	/* no names are asked for: a name service may hang */
	if (!geteuid()) {
		err = prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) ? -errno : ids__drop_groups();
		if (!err)
			err = ids__set(IDS_OWN, IDS_OWN);
	}
	if (err && err != -EINVAL) /* a container may have no such user */
		return err;
	return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) ? -errno : 0;
}

int child__act_as(const struct child_user *u)
{
	int err = is_root(u) ? 0 : take_groups(u);

	return err || is_root(u) ? err : ids__set_effective(u->uid, u->gid);
}

int child__act_as_root(void)
{
	int err = ids__set_effective(0, 0);

	return err ? err : ids__drop_groups();
}

void child__yield(void)
{
	static const char most[] = "1000";
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, most, sizeof(most) - 1) < 0)
		log_debug("a child is as safe from the OOM killer as jobprofd is: %s",
			  strerror(errno));
	if (fd >= 0)
		close(fd);
	setpriority(PRIO_PROCESS, 0, NICE_LEAST);
}

int child__drop_capabilities(void)
{
	struct rlimit none = {0, 0};

	return setrlimit(RLIMIT_CORE, &none) ? -errno : confine__process(CONFINE_VERB);
}

int child__end_with(pid_t parent, int sig)
{
	if (prctl(PR_SET_PDEATHSIG, sig))
		return -errno;
	return getppid() == parent ? 0 : -ESRCH;
}
