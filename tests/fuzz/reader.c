/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One input of the fuzzers: a whole file, read through everything that reads files. libFuzzer calls
 * it, and so does replay.c. What the numbers are does not matter here, only that each is touched.
 */
#include "tests/fuzz/reader.h"

#include <fcntl.h>
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/jobprof/show.h"
#include "hdf5/cursor.h"
#include "tests/fuzz/libfault.h"
#include "tests/fuzz/tools.h"

static volatile uint64_t sink;

static void touch_rows(const struct cursor *c, const union cell *rows, unsigned n)
{
	for (size_t i = 0; i < (size_t)n * c->ncols; i++)
		sink += rows[i].u;
}

static void read_by_cursor(struct cursor *c, const struct reader_node *n,
			   const struct reader_series *s, const char *table)
{
	const union cell *rows;
	unsigned got;

	if (cursor__open(c, n, s, table))
		return;
	for (unsigned i = 0; i < c->ncols; i++)
		sink += strlen(c->cols[i].name) + c->cols[i].unknown;
	while (cursor__next(c, &rows, &got) > 0)
		touch_rows(c, rows, got);
}

static void read_whole(const struct reader_node *n, const struct reader_series *s,
		       const char *table)
{
	struct table *t;

	if (reader__table(n, s, table, &t))
		return;
	for (uint64_t i = 0; i < t->nrows * t->ncols; i++)
		sink += t->cells[i] > 0;
	table__free(t);
}

static void read_attrs(const struct reader_node *n)
{
	for (unsigned i = 0; i < n->nattrs; i++) {
		const struct reader_attr *a = &n->attrs[i];

		sink += strlen(a->name) + a->i + (a->str ? strlen(a->str) : 0);
	}
}

static void read_series(struct cursor *c, const struct reader *r, unsigned step, unsigned node,
			const char *name)
{
	struct reader_node *n;

	if (reader__node(r, step, node, name, &n))
		return;
	read_attrs(n);
	for (unsigned s = 0; s < n->nseries; s++) {
		for (unsigned i = 0; i < n->series[s].tables.n; i++) {
			if (name)
				read_by_cursor(c, n, &n->series[s], n->series[s].tables.v[i]);
			else
				read_whole(n, &n->series[s], n->series[s].tables.v[i]);
		}
	}
	reader_node__free(n);
}

static void read_nodes(const struct reader *r)
{
	static const char *const names[] = {NULL, "Tasks", "Step", "Energy", "Totals"};
	struct cursor *c;

	if (cursor__new(&c))
		return;
	for (unsigned s = 0; s < r->nsteps; s++)
		for (unsigned n = 0; n < r->steps[s].nodes.n; n++)
			for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++)
				read_series(c, r, s, n, names[i]);
	cursor__free(c);
}

static void show(const char *path, enum show_form form)
{
	const struct show_opts opts = {.form = form};
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	if (!out)
		return;
	show__file(path, &opts, out);
	fclose(out);
	free(text);
}

/* A file of its own for each input: the library knows an open one by its inode. */
static void make_file(const char *path, const uint8_t *data, size_t size)
{
	int fd;

	unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, data, size) != (ssize_t)size) {
		perror(path);
		_exit(2);
	}
	close(fd);
}

/* The input, for who wants to give it another name. */
static struct {
	const uint8_t *data;
	size_t size;
} input;

static void read_file(const char *path)
{
	struct model_file f;

	if (model_file__open(&f, path))
		return;
	read_nodes(f.reader);
	tools__read(path, &f);
	tools__plot(&f);
	tools__merge(f.reader, input.data, input.size);
	model_file__close(&f);
	tools__report(path);
	show(path, SHOW_ALL);
	show(path, SHOW_JSON);
}

int reader__fuzz(const uint8_t *data, size_t size)
{
	const char *dir = getenv("TMPDIR");
	char path[4200];
	int sig;

	snprintf(path, sizeof(path), "%s/7_0_n%d.h5", dir ? dir : "/dev/shm", getpid());
	make_file(path, data, size);
	input.data = data;
	input.size = size;
	sig = libfault__run(read_file, path);
	unlink(path);
	return sig;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	reader__fuzz(data, size);
	return 0;
}
