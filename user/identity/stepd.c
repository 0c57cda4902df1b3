// SPDX-License-Identifier: GPL-2.0-or-later
/* Which processes are slurmstepd's, and which descend from one. */
#include <errno.h>
#include <string.h>

#include "base/str.h"
#include "identity/layout.h"
#include "identity/proc.h"

#define ANCESTORS_MAX 256

int proc__stepd_title(const char *title, uint32_t *job, char *step, size_t size)
{
	static const char start[] = "slurmstepd: [", stepmgr[] = " stepmgr";
	char ids[96], *dot, *plus;
	uint32_t id, offset = 0, step_id;
	int32_t het;
	size_t len;

	if (!str__starts(title, start))
		return -EINVAL;
	title += strlen(start);
	len = strcspn(title, "]");
	if (title[len] != ']' || len >= sizeof(ids) ||
	    title[len + 1 + strspn(title + len + 1, " ")])
		return -EINVAL;
	if (len >= strlen(stepmgr) && str__starts(title + len - strlen(stepmgr), stepmgr))
		len -= strlen(stepmgr);
	memcpy(ids, title, len);
	ids[len] = '\0';
	dot = strchr(ids, '.');
	if (!dot)
		return -EINVAL;
	*dot = '\0';
	plus = strchr(ids, '+');
	if (plus)
		*plus = '\0';
	if (parse_u32(ids, &id) || !id || (plus && parse_u32(plus + 1, &offset)) ||
	    __builtin_add_overflow(id, offset, &id) || id >= STEP_NONE)
		return -EINVAL;
	if (layout__step_id(dot + 1, &step_id, &het) || str__copy(step, size, dot + 1))
		return -EINVAL;
	*job = id;
	return 0;
}

int proc__is_stepd(pid_t pid)
{
	char comm[64] = "";
	uid_t uid = (uid_t)-1;
	int err = proc__comm(pid, comm, sizeof(comm));

	if (err)
		return err;
	if (strcmp(comm, "slurmstepd") != 0)
		return 0;
	err = proc__uid(pid, &uid);
	return err ? err : uid == 0;
}

int proc__root_of(pid_t pid, pid_t *root)
{
	/* Parents may die and pids be used again between two reads: the bound ends any loop. */
	for (unsigned i = 0; i < ANCESTORS_MAX; i++) {
		pid_t parent;
		int ret = proc__ppid(pid, &parent);

		if (ret)
			return ret;
		if (parent <= 1 || parent == pid)
			return -ENOENT;
		ret = proc__is_stepd(parent);
		if (ret < 0)
			return ret;
		if (ret) {
			*root = pid;
			return 0;
		}
		pid = parent;
	}
	return -ELOOP;
}
