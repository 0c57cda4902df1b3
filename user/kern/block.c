// SPDX-License-Identifier: GPL-2.0-only
/* What the block family must know of the kernel and of this node's disks. */
#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "kern/internal.h"
#include "kern/probe.h"

#define SYS_BLOCK "/sys/block"

void kern_choose_block(struct kern *k)
{
	if (k->btf) { /* else the load will say what is missing */
		if (!kern_tracepoint_args(k->btf, "block_io_start"))
			k->opts.block_issue = true;
		k->rq_second = kern_tracepoint_args(k->btf, "block_rq_issue") > 1;
		k->unused[P_BLK_MERGE] = !kern_tracepoint_args(k->btf, "block_rq_merge");
	}
	k->unused[P_BLK_START] = k->opts.block_issue;
	k->unused[P_BLK_INSERT] = k->unused[P_BLK_ISSUE] = !k->opts.block_issue;
}

static unsigned long sys_number(const char *disk, const char *file, unsigned long unknown)
{
	unsigned long v = unknown;
	char path[320];
	FILE *f;

	snprintf(path, sizeof(path), SYS_BLOCK "/%s/%s", disk, file);
	f = fopen(path, "re");
	if (!f)
		return unknown;
	if (fscanf(f, "%lu", &v) != 1)
		v = unknown;
	fclose(f);
	return v;
}

/* Hardware queues; 0: the disk makes no requests, or does not exist. */
static unsigned queues(const char *disk)
{
	struct dirent *e;
	char path[320];
	unsigned n = 0;
	DIR *d;

	snprintf(path, sizeof(path), SYS_BLOCK "/%s/mq", disk);
	d = opendir(path);
	while (d && (e = readdir(d)))
		n += e->d_name[0] != '.';
	if (d)
		closedir(d);
	return n;
}

#define SETS_LEAST 1024u
#define SETS_MOST  (1u << 20)

/*
 * nr_requests is per hardware queue, of the driver's tags or of the scheduler's where there is one.
 * A set of JP_BLK_WAYS for each request leaves room for disks that come later and for another
 * scheduler, which has requests of its own: a place is used again once its request is over.
 */
unsigned kern_blk_sets(void)
{
	unsigned long requests = 0, sets = SETS_LEAST;
	DIR *d = opendir(SYS_BLOCK);
	struct dirent *e;

	while (d && (e = readdir(d)))
		if (e->d_name[0] != '.')
			requests +=
				queues(e->d_name) * sys_number(e->d_name, "queue/nr_requests", 0);
	if (d)
		closedir(d);
	while (sets < requests && sets < SETS_MOST)
		sets *= 2;
	return sets;
}

void kern_untimed_disk(char name[32])
{
	DIR *d = opendir(SYS_BLOCK);
	struct dirent *e;

	name[0] = 0;
	while (d && !name[0] && (e = readdir(d)))
		if (e->d_name[0] != '.' && queues(e->d_name) &&
		    !sys_number(e->d_name, "queue/iostats", 1))
			snprintf(name, 32, "%.31s", e->d_name);
	if (d)
		closedir(d);
}
