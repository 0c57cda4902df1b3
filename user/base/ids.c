// SPDX-License-Identifier: GPL-2.0-or-later
/* Sets ids by system calls. */
#include "base/ids.h"

#include <errno.h>
#include <grp.h>
#include <sys/syscall.h>
#include <unistd.h>

#define IDS_WORK   (IDS_OWN + 1) /* jobprofd's helpers are others */
#define GROUPS_MAX 65536	 /* NGROUPS_MAX of Linux */

static int set_groups(int n, const gid_t *groups)
{
	return syscall(SYS_setgroups, n, groups) ? -errno : 0;
}

int ids__set_groups(const char *user, gid_t gid)
{
	static gid_t groups[GROUPS_MAX];
	int n = GROUPS_MAX;

	if (getgrouplist(user, gid, groups, &n) < 0)
		return set_groups(1, &gid);
	return set_groups(n, groups);
}

int ids__drop_groups(void)
{
	return set_groups(0, NULL);
}

int ids__set(uid_t uid, gid_t gid)
{
	if (syscall(SYS_setresgid, gid, gid, gid) || syscall(SYS_setresuid, uid, uid, uid))
		return -errno;
	return 0;
}

int ids__work_as(uid_t uid, gid_t gid)
{
	if (syscall(SYS_setresgid, gid, gid, gid))
		return -errno;
	if (!syscall(SYS_setresuid, IDS_WORK, uid, IDS_WORK))
		return 0;
	return errno == EINVAL ? ids__set(uid, gid) : -errno;
}

int ids__set_effective(uid_t uid, gid_t gid)
{
	const int keep = -1;

	/* root is needed for the group: it comes back first, and goes last */
	if (!uid && syscall(SYS_setresuid, keep, uid, keep))
		return -errno;
	if (syscall(SYS_setresgid, keep, gid, keep))
		return -errno;
	return uid && syscall(SYS_setresuid, keep, uid, keep) ? -errno : 0;
}
