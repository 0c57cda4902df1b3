/* SPDX-License-Identifier: GPL-2.0-only */
/* Parts of a reduction in files, which a later one goes on from. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io_full.h"
#include "base/log.h"
#include "base/options.h"
#include "cmd/jobprof/output_file.h"
#include "cmd/jobprof/reduce/reduce.h"

int reduce_parts__merge(const struct reduce_work *w, struct reduction *r,
			const struct reduction *from, const char *where)
{
	const char *place = NULL;
	int err = reduction__merge(r, from, &place);

	if (err == -EEXIST && w->o->follow)
		log_error("%s: another process has the rows of %s too: start one process per node, "
			  "as with --ntasks-per-node=1",
			  where, place);
	else if (err == -EEXIST)
		log_error("%s: rows of %s are in another file too: name one of them", where, place);
	else if (err == -EINVAL)
		log_error("%s: it is of series %s with a sample of %u rows, others are of %s with "
			  "%u: reduce those apart",
			  where, from->series, from->k, r->series, r->k);
	else if (err)
		log_error("%s: %s", where, payload__strerror(err));
	return err;
}

/* The whole file, to be freed; NULL: errno says why. */
static void *read_bytes(const char *path, size_t *n)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct stat st;
	void *bytes;

	if (fd < 0 || fstat(fd, &st))
		return NULL;
	errno = S_ISREG(st.st_mode) ? EFBIG : EINVAL;
	if (!S_ISREG(st.st_mode) || st.st_size > PAYLOAD_MAX)
		return NULL;
	*n = (size_t)st.st_size;
	bytes = malloc(*n + 1);
	if (bytes && read_full(fd, bytes, *n) == (ssize_t)*n)
		return bytes;
	free(bytes);
	return NULL;
}

static int add_part(const struct reduce_work *w, const char *path, struct reduction *out)
{
	size_t n = 0;
	_cleanup_free_ void *bytes = read_bytes(path, &n);
	struct reduction r = {0};
	int err = bytes ? payload__read(&r, bytes, n) : errno ? -errno : -EIO;

	if (err)
		log_error("%s: %s", path, payload__strerror(err));
	else
		err = reduce_parts__merge(w, out, &r, path) == -EEXIST ? -EEXIST : 0;
	reduction__free(&r);
	return err;
}

int reduce_parts__add(struct reduce_work *w, unsigned rank, unsigned size, struct reduction *out)
{
	for (unsigned i = rank; i < w->parts.n; i += size) {
		int err = add_part(w, w->parts.v[i], out);

		if (err == -EEXIST || err == -ENOMEM)
			return err;
		w->failed |= err != 0;
	}
	return 0;
}

int reduce_parts__keep(const struct reduce_work *w, unsigned rank, struct reduction *r)
{
	static bool is_ours; /* this process has written it, and writes it again with each file */
	_cleanup_free_ char *path = NULL;
	struct message m = {0};
	struct output_file out;
	int err = asprintf(&path, "%s/rank-%u" REDUCE_PART, w->o->keep, rank) < 0 ? -ENOMEM : 0;

	if (err)
		path = NULL;
	if (!err && mkdir(w->o->keep, 0777) && errno != EEXIST) {
		err = -errno;
		log_error("--keep: %s: %s", w->o->keep, strerror(-err));
		return err;
	}
	if (!err)
		err = payload__write(&m, r);
	if (err)
		log_error("--keep: %s", strerror(-err));
	else
		err = output_file__open(&out, path, w->o->keep, is_ours || options__overwrites());
	if (!err) {
		err = write_full(out.fd, m.p, m.len);
		if (err)
			log_error("%s: %s", path, strerror(-err));
		if (output_file__close(&out, !err) && !err)
			err = -EIO;
		is_ours |= !err;
	}
	message__free(&m);
	return err;
}
