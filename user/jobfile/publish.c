/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Builds a node-step file under a temporary name and renames it; files of other runs are not
 * overwritten. */
#include "jobfile/publish.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "pool/pool.h"
#include "hdf5/reader.h"

#define RESTARTS_MAX 100000

static bool name_ok(const char *name)
{
	size_t n = strlen(name);

	return n && n <= PUBLISH_NAME_MAX && *name != '.' && !strchr(name, '/');
}

int publish__sync_dir(int dir_fd)
{
	struct statfs fs;

	if (fstatfs(dir_fd, &fs))
		return -errno;
	switch ((unsigned long)fs.f_type) {
	case EXT4_SUPER_MAGIC:
	case XFS_SUPER_MAGIC:
	case BTRFS_SUPER_MAGIC:
		return fsync(dir_fd) ? -errno : 0;
	default:
		return 0;
	}
}

/* Builds .NAME.tmp, of which all is on the disk then. */
static int build_tmp(int journal_fd, int dir_fd, const char *name, char tmp[static 256],
		     struct nodestep_stats *st)
{
	if (!name_ok(name))
		return -EINVAL;
	snprintf(tmp, 256, ".%s.tmp", name);
	return nodestep__build(journal_fd, dir_fd, tmp, NULL, st);
}

int publish__live(int journal_fd, int dir_fd, const char *name, struct nodestep_stats *st)
{
	char tmp[256], dot[256];
	int err;

	err = build_tmp(journal_fd, dir_fd, name, tmp, st);
	if (err)
		return err;
	snprintf(dot, sizeof(dot), ".%s", name);
	if (renameat(dir_fd, tmp, dir_fd, dot)) {
		err = -errno;
		unlinkat(dir_fd, tmp, 0);
		return err;
	}
	return 0;
}

int publish__remove(int dir_fd, const char *name)
{
	char tmp[256], dot[256];

	if (!name_ok(name))
		return -EINVAL;
	snprintf(dot, sizeof(dot), ".%s", name);
	snprintf(tmp, sizeof(tmp), ".%s.tmp", name);
	if ((unlinkat(dir_fd, tmp, 0) && errno != ENOENT) ||
	    (unlinkat(dir_fd, dot, 0) && errno != ENOENT))
		return -errno;
	return 0;
}

mode_t publish__mask(int dir_fd)
{
	struct stat st;

	return !fstat(dir_fd, &st) && st.st_mode & S_ISGID && !(st.st_mode & S_IRWXO) ? 027 : 0;
}

struct run_of {
	char path[300];
	bool known;    /* it says when it began */
	bool by_slurm; /* Slurm's own plugin has made the file, or is making it */
	int64_t start_ns;
	int64_t restart; /* which one it was, -1: it does not say */
};

static int read_run(void *arg)
{
	const struct reader_attr *start, *count;
	struct run_of *run = arg;
	struct reader_node *n;
	struct reader *r;

	if (reader__open(&r, run->path))
		return 1;
	if (reader__node(r, 0, 0, NULL, &n)) {
		reader__free(r);
		return 1;
	}
	start = node__attr(n, "Start TimeNS");
	count = node__attr(n, "Restart Count");
	run->known = start && start->type == ATTR_I64;
	if (run->known)
		run->start_ns = start->i;
	run->by_slurm = !start && node__str(n, "Start Time");
	if (count && count->type == ATTR_I64 && count->i < RESTARTS_MAX)
		run->restart = count->i;
	reader_node__free(n);
	reader__free(r);
	return 0;
}

/* Slurm's step daemon has its file locked as long as the step runs. */
static bool is_held(int dir_fd, const char *name)
{
	int fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	bool held = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) && errno == EWOULDBLOCK;

	if (fd >= 0)
		close(fd);
	return held;
}

/* In a child: what lies at our place may be anything. What it cannot say is not known. */
static int run_of(int dir_fd, const char *name, struct run_of *out)
{
	struct run_of *run = pool__share(sizeof(*run));
	int err;

	if (!run)
		return -ENOMEM;
	run->restart = -1;
	snprintf(run->path, sizeof(run->path), "/proc/self/fd/%d/%s", dir_fd, name);
	err = pool__call(read_run, run, &POOL_STREAM);
	*out = *run;
	if (err) {
		out->known = false;
		out->by_slurm = is_held(dir_fd, name);
		out->restart = -1;
	}
	pool__unshare(run, sizeof(*run));
	return err < 0 && err != -EBADMSG && err != -ETIME && err != -EOWNERDEAD ? err : 0;
}

/* Like rename, but -EEXIST where the target is there. */
static int move_new(int from_fd, const char *from, int to_fd, const char *to)
{
	if (!renameat2(from_fd, from, to_fd, to, RENAME_NOREPLACE))
		return 0;
	/* Some network file systems know no flags. */
	if (errno != EINVAL && errno != ENOSYS)
		return -errno;
	if (linkat(from_fd, from, to_fd, to, 0))
		return -errno;
	return unlinkat(from_fd, from, 0) ? -errno : 0;
}

/* Moves a file to restart<n>/NAME; -EEXIST: taken. */
static int keep_as(int dir_fd, const char *from, const char *name, int64_t n, char *kept,
		   size_t len)
{
	char dir[32];
	int fd, err;

	snprintf(dir, sizeof(dir), "restart%lld", (long long)n);
	if (mkdirat(dir_fd, dir, publish__mask(dir_fd) ? 0750 : 0700) && errno != EEXIST)
		return -errno;
	fd = openat(dir_fd, dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	/* A file or a link of that name is in the way like a taken place. */
	if (fd < 0)
		return errno == ENOTDIR || errno == ELOOP ? -EEXIST : -errno;
	err = move_new(dir_fd, from, fd, name);
	close(fd);
	if (!err)
		snprintf(kept, len, "%s/%s", dir, name);
	return err;
}

static int keep_run(int dir_fd, const char *from, const char *name, int64_t restart, char *kept,
		    size_t len)
{
	int err = -EEXIST;

	if (restart >= 0)
		err = keep_as(dir_fd, from, name, restart, kept, len);
	for (int64_t n = 0; err == -EEXIST && n < RESTARTS_MAX; n++)
		err = keep_as(dir_fd, from, name, n, kept, len);
	return err;
}

/* Puts tmp at NAME; what another run left there is kept. Ours may come after a later run's, and
 * where Slurm's own plugin has its file of the step, that one stays. */
static int put_final(int dir_fd, const char *tmp, const char *name, struct kept *kept)
{
	struct run_of built, found;
	int err;

	while ((err = move_new(dir_fd, tmp, dir_fd, name)) == -EEXIST) {
		err = run_of(dir_fd, tmp, &built);
		if (!err)
			err = run_of(dir_fd, name, &found);
		if (err)
			break;
		if (built.known && found.known && built.start_ns == found.start_ns)
			return renameat(dir_fd, tmp, dir_fd, name) ? -errno : 0;
		kept->by_slurm = found.by_slurm;
		if (found.by_slurm ||
		    (built.known && found.known && built.start_ns < found.start_ns))
			return keep_run(dir_fd, tmp, name, built.restart, kept->path,
					sizeof(kept->path));
		err = keep_run(dir_fd, name, name, found.restart, kept->path, sizeof(kept->path));
		if (err)
			break;
	}
	return err;
}

int publish__final(int journal_fd, int dir_fd, const char *name, struct nodestep_stats *st,
		   struct kept *kept)
{
	char tmp[256], dot[256];
	int err;

	*kept = (struct kept){0};
	err = build_tmp(journal_fd, dir_fd, name, tmp, st);
	if (err)
		return err;
	err = put_final(dir_fd, tmp, name, kept);
	if (err) {
		unlinkat(dir_fd, tmp, 0);
		return err;
	}
	snprintf(dot, sizeof(dot), ".%s", name);
	return unlinkat(dir_fd, dot, 0) && errno != ENOENT ? -errno : publish__sync_dir(dir_fd);
}
