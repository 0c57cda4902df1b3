/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The processes that help to extract, since the library reads with one thread only. They are there
 * before it begins, and each begins it for itself: as copies of a process that has begun they would
 * have to copy every page they write to, which takes longer. All read the file that is open: their
 * driver has no position in it that they would share.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "jobfile/extract_lane.h"

#define THREADS_DEFAULT 8
#define BYTES_EACH	(1u << 20)  /* of the file, that a process more is worth */
#define BYTES_LEAST	(32u << 10) /* without that many it would have nothing to do */
#define PARENT_TOO	4u /* processes; of more, writing out what they make is enough for one */

_Static_assert(EXTRACT_THREADS_MAX <= POOL_BESIDE_MAX, "each of them may be left to the pool");

uint64_t extract__bytes(const struct extraction *x)
{
	struct stat st;

	return fstat(x->fd, &st) || st.st_size < 0 ? 0 : (uint64_t)st.st_size;
}

/* The parent is one of them. */
static unsigned processes(const struct extraction *x)
{
	const uint64_t bytes = extract__bytes(x);
	uint64_t max = x->opt->threads, most = 1 + bytes / BYTES_LEAST;

	if (!max) {
		long cores = sysconf(_SC_NPROCESSORS_ONLN);

		most = bytes / BYTES_EACH;
		max = cores < THREADS_DEFAULT ? (uint64_t)cores : THREADS_DEFAULT;
	}
	max = max > EXTRACT_THREADS_MAX ? EXTRACT_THREADS_MAX : max;
	return (unsigned)(max < most ? max : most);
}

bool extract__helped(const struct extraction *x)
{
	return x->helpers && x->nrefs > 1;
}

static void unshare(struct lane *l)
{
	if (l->slots)
		close(l->fd);
	pool__unshare(l->slots, (size_t)LANE_SLOTS * LANE_SLOT);
	l->slots = NULL;
}

void extract__dismiss_helpers(struct extraction *x, bool well)
{
	struct helpers *h = x->helpers;

	if (!h)
		return;
	for (unsigned k = 0; k < h->n; k++) {
		unshare(&h->v[k].lane);
		if (well)
			pool__beside_done(&h->v[k].process);
		else
			pool__beside_end(&h->v[k].process);
	}
	pool__unshare(h->makers, LANE_BLOCKS);
	free(h);
	x->helpers = NULL;
}

/* The two ends of a lane. 0 or -errno. */
static int make_lane(struct lane *own, struct lane *other)
{
	int fds[2], err;

	*own = (struct lane){.slots = pool__share((size_t)LANE_SLOTS * LANE_SLOT)};
	if (!own->slots)
		return -ENOMEM;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds)) {
		err = -errno;
		pool__unshare(own->slots, (size_t)LANE_SLOTS * LANE_SLOT);
		own->slots = NULL;
		return err;
	}
	*other = *own;
	own->fd = fds[0];
	other->fd = fds[1];
	return 0;
}

static int call(struct extraction *x, unsigned k)
{
	struct helper *v = x->helpers->v;
	struct lane other = {.fd = -1};
	int err = make_lane(&v[k].lane, &other);
	pid_t pid;

	if (err)
		return err;
	pid = pool__beside(&v[k].process);
	if (!pid) {
		/* The others' ends too, or none of them would see the parent go. */
		for (unsigned i = x->helpers->first; i <= k; i++)
			close(v[i].lane.fd);
		extract__help(x, &other);
	}
	close(other.fd);
	return pid < 0 ? pid : 0;
}

int extract__call_helpers(struct extraction *x)
{
	const unsigned n = processes(x);
	int err = 0;

	if (n <= 1 || x->helpers)
		return 0;
	x->helpers = calloc(1, sizeof(*x->helpers));
	if (!x->helpers)
		return -ENOMEM;
	x->helpers->makers = pool__share(LANE_BLOCKS);
	if (!x->helpers->makers)
		err = -ENOMEM;
	x->helpers->first = n <= PARENT_TOO;
	for (unsigned k = x->helpers->first; !err && k < n; k++) {
		x->helpers->n = k + 1;
		err = call(x, k);
	}
	if (!err)
		return 0;
	log_error("%s: no process to help reading it: %s", x->path, strerror(-err));
	extract__dismiss_helpers(x, false);
	return -ECHILD;
}
