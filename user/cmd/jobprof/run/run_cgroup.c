// SPDX-License-Identifier: GPL-2.0-only
/* The cgroup in which "jobprof run" runs its command. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/str.h"
#include "cmd/jobprof/run/run_cgroup.h"

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
