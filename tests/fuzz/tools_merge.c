/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Merges a fuzzed node-step file with a sound one, in a directory of its own. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/str.h"
#include "jobfile/merge/merge_internal.h"
#include "pool/message.h"
#include "tests/fuzz/libfault.h"
#include "tests/fuzz/tools.h"

#define GOOD_NAME "7_1_p1.h5"
#define USER	  "fuzz"

/* The directories and names of one merge. */
struct place {
	char root[4096], dir[4200], name[300], out[4200];
	const char *node;
	bool keep;
};

static void must(bool is, const char *what)
{
	if (is)
		return;
	fprintf(stderr, "fuzz: %s\n", what);
	abort();
}

static void put(const char *dir, const char *name, const uint8_t *data, size_t size)
{
	char path[4600];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, data, size) != (ssize_t)size) {
		perror(path);
		_exit(2);
	}
	close(fd);
}

/* A sound node of Slurm's, read once. */
static void put_good(const char *dir)
{
	static uint8_t good[64 << 10];
	static size_t size;
	FILE *f;

	if (!size) {
		f = fopen(FUZZ_DATA "/golden/7_1_p1.h5", "rb");
		size = f ? fread(good, 1, sizeof(good), f) : 0;
		must(size > 0, "there is no sound file to merge with");
		fclose(f);
	}
	put(dir, GOOD_NAME, good, size);
}

static void set_place(struct place *p, const struct reader *r)
{
	const char *tmp = getenv("TMPDIR");

	p->node = r->nsteps && r->steps[0].nodes.n ? r->steps[0].nodes.v[0] : "x";
	if (!str__safe_name(p->node) || strstr(p->node, ".h5") || strlen(p->node) > 200)
		p->node = "x";
	snprintf(p->root, 4000, "%s/merge%d", tmp ? tmp : "/dev/shm", getpid());
	snprintf(p->dir, sizeof(p->dir), "%s/" USER, p->root);
	snprintf(p->name, sizeof(p->name), "7_0_%s.h5", p->node);
	snprintf(p->out, sizeof(p->out), "%s/job_7.h5", p->root);
	mkdir(p->root, 0700);
	mkdir(p->dir, 0700);
}

static bool is_there(const struct place *p, const char *name)
{
	struct stat st;
	char path[4600];

	snprintf(path, sizeof(path), "%s/%s", p->dir, name);
	return !stat(path, &st);
}

/* As a merge's workers do. Whether they would let it pass. */
static bool scan_passes(const struct place *p)
{
	struct merge_item item = {.file = (char *)p->name, .step = "0", .node = (char *)p->node};
	struct merge_set set = {.items = &item, .nitems = 1, .where = (char *)p->dir};
	struct message m = {0};
	const int *err;
	bool passed;

	set.dir = open(p->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (set.dir < 0 || merge_scan__here(&set, 0, &m))
		_exit(2);
	err = message__take(&m, sizeof(*err));
	passed = err && !*err;
	message__free(&m);
	close(set.dir);
	return passed;
}

static void merge_all(void *arg)
{
	const struct place *p = arg;
	const struct jobspec job = {.job = 7, .any_step = true, .text = "7"};
	const struct merge_opts o = {.profile_dir = p->root,
				     .user = USER,
				     .specs = &job,
				     .nspecs = 1,
				     .output = p->out,
				     .keep = p->keep,
				     .threads = 1};

	_exit(merge__run(&o, NULL) ? 1 : 0);
}

/* By reading the output. */
static bool holds(const struct place *p, const char *step, const char *node)
{
	struct reader *r;
	bool has = false;

	if (reader__open(&r, p->out))
		return false;
	for (unsigned s = 0; s < r->nsteps; s++)
		for (unsigned n = 0; n < r->steps[s].nodes.n; n++)
			has |= !strcmp(r->steps[s].name, step) &&
			       !strcmp(r->steps[s].nodes.v[n], node);
	reader__free(r);
	return has;
}

static void remove_all(const struct place *p)
{
	static const char *const names[] = {"%s/" USER "/%s", "%s/" USER "/" GOOD_NAME,
					    "%s/job_7.h5", "%s/.job_7.h5.merge"};
	char path[4600];

	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++) {
		snprintf(path, sizeof(path), names[i], p->root, p->name);
		unlink(path);
	}
	rmdir(p->dir);
	rmdir(p->root);
}

static void merge(const struct place *p)
{
	bool in_it, good;
	int status;

	unlink(p->out);
	put_good(p->dir);
	status = libfault__apart(merge_all, (void *)p);
	must(WIFEXITED(status) && WEXITSTATUS(status) < 2, "the merge itself died");
	in_it = holds(p, "0", p->node);
	good = holds(p, "1", "p1");
	if (!good && WEXITSTATUS(status) == 1 && access(p->out, F_OK)) { /* they are of two jobs */
		must(is_there(p, GOOD_NAME) && is_there(p, p->name), "a file was deleted unmerged");
		return;
	}
	must(good, "the sound node was not merged");
	must(is_there(p, GOOD_NAME) == p->keep, "the sound node's file is not as it should be");
	must(in_it || is_there(p, p->name), "a file was deleted that is not merged");
	must(p->keep || in_it != is_there(p, p->name), "a file is merged, and there still");
	must(!p->keep || is_there(p, p->name), "a file was deleted that should be kept");
	must(in_it == !WEXITSTATUS(status), "the status is another than what was done");
}

void tools__merge(const struct reader *r, const uint8_t *data, size_t size)
{
	uint64_t sum = 0xcbf29ce484222325;
	struct place p;

	for (size_t i = 0; i < size; i++)
		sum = (sum ^ data[i]) * 0x100000001b3;
	set_place(&p, r);
	put(p.dir, p.name, data, size);
	p.keep = sum >> 50 & 1;
	if (scan_passes(&p) && (sum >> 40) % 4 == 0)
		merge(&p);
	remove_all(&p);
}
