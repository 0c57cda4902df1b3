// SPDX-License-Identifier: GPL-2.0-only
/* The merges that are due, in a file per job: written, read again and removed. */
#include "daemon/files/automerge_record.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"

/* The file is a list of texts, each with its NUL: paths may hold any other character. */
#define MAGIC "merge 1"

struct words {
	const char *at, *end;
};

static const char *next_word(struct words *w)
{
	const char *word = w->at, *nul = memchr(w->at, 0, (size_t)(w->end - w->at));

	if (!nul)
		return "";
	w->at = nul + 1;
	return word;
}

int merge_record__write(const char *dir, const struct merge_record *r)
{
	char text[sizeof(*r) + 64], tmp[PUBLISH_PATH + 32], path[PUBLISH_PATH + 32];
	_cleanup_close_ int fd = -1;
	int len = snprintf(text, sizeof(text), "%s%c%u%c%u%c%s%c%s%c%s%c", MAGIC, 0, r->uid, 0,
			   r->gid, 0, r->user, 0, r->dir, 0, r->cgroup, 0);

	snprintf(path, sizeof(path), "%s/%u", dir, r->job_id);
	snprintf(tmp, sizeof(tmp), "%s/.tmp", dir);
	fd = open(tmp, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	if (write(fd, text, (size_t)len) != len)
		return errno ? -errno : -ENOSPC;
	return rename(tmp, path) ? -errno : 0;
}

int merge_record__read(const char *dir, uint32_t job_id, struct merge_record *r)
{
	char text[sizeof(*r) + 64], path[PUBLISH_PATH + 32];
	struct words w = {text, text};
	ssize_t n;

	snprintf(path, sizeof(path), "%s/%u", dir, job_id);
	n = read_file(AT_FDCWD, path, text, sizeof(text));
	if (n < 0)
		return (int)n;
	w.end = text + n;
	*r = (struct merge_record){.job_id = job_id};
	if (strcmp(next_word(&w), MAGIC) || parse_u32(next_word(&w), &r->uid) ||
	    parse_u32(next_word(&w), &r->gid) ||
	    str__copy(r->user, sizeof(r->user), next_word(&w)) ||
	    str__copy(r->dir, sizeof(r->dir), next_word(&w)) ||
	    str__copy(r->cgroup, sizeof(r->cgroup), next_word(&w)))
		return -EBADMSG;
	return str__safe_name(r->user) && r->dir[0] == '/' && r->cgroup[0] == '/' ? 0 : -EBADMSG;
}

void merge_record__remove(const char *dir, uint32_t job_id)
{
	char path[PUBLISH_PATH + 32];

	snprintf(path, sizeof(path), "%s/%u", dir, job_id);
	unlink(path);
}
