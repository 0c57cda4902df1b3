// SPDX-License-Identifier: GPL-2.0-only
/* What the block family must know of the kernel and of this node's disks. */
#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "kern/internal.h"

#define SYS_BLOCK "/sys/block"

/* Parameters of a tracepoint, the program's own context included; 0: there is no such one. */
static unsigned parameters(const struct btf *btf, const char *tracepoint)
{
	const struct btf_type *t;
	char name[96];
	int id;

	snprintf(name, sizeof(name), "btf_trace_%s", tracepoint);
	id = btf__find_by_name_kind(btf, name, BTF_KIND_TYPEDEF);
	t = id > 0 ? btf__type_by_id(btf, id) : NULL;
	while (t && (btf_is_typedef(t) || btf_is_ptr(t)))
		t = btf__type_by_id(btf, t->type);
	return t && btf_is_func_proto(t) ? btf_vlen(t) : 0;
}

void kern_choose_block(struct kern *k)
{
	const char *file = k->opts.btf;
	struct btf *btf = file ? btf__parse(file, NULL) : btf__load_vmlinux_btf();

	if (btf && !libbpf_get_error(btf)) { /* else the load will say what is missing */
		if (!parameters(btf, "block_io_start"))
			k->opts.block_issue = true;
		k->rq_second = parameters(btf, "block_rq_issue") > 2;
		btf__free(btf);
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
