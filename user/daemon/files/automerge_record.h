/* SPDX-License-Identifier: GPL-2.0-only */
/* A merge that is due, as a restart finds it: a file in a directory, named by the job's id. */
#ifndef JP_DAEMON_FILES_AUTOMERGE_RECORD_H
#define JP_DAEMON_FILES_AUTOMERGE_RECORD_H

#include <stdint.h>
#include <sys/types.h>

#include "bpf/jobprof.h"
#include "daemon/child/publication.h"

struct merge_record {
	uint32_t job_id;
	uid_t uid;
	gid_t gid;
	char user[64];				 /* name of the directory */
	char dir[PUBLISH_PATH];			 /* it is in */
	char cgroup[PUBLISH_PATH + JP_PATH_LEN]; /* directory of the job, while there is one */
};

/* Writes the file, which appears as a whole. 0 or -errno. */
int merge_record__write(const char *dir, const struct merge_record *r);
/* Reads the file. 0; -EBADMSG: it is not such a file; -errno. */
int merge_record__read(const char *dir, uint32_t job_id, struct merge_record *r);
void merge_record__remove(const char *dir, uint32_t job_id);

#endif
