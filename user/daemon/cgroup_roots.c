// SPDX-License-Identifier: GPL-2.0-only
/* What to follow: mounted hierarchies x layouts. */
#include "daemon/cgroup_roots.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/str.h"
#include "daemon/daemon_state.h"
#include "identity/hierarchy.h"

/* The tree that this jobprof run makes, and no other: several may run at once. */
static int own_tree(struct daemon *d)
{
	d->nrows = layout__rows(LAYOUT_RUN, d->rows, 1);
	d->patterns[0] = *d->rows[0];
	if (asprintf(&d->pattern_texts[0], "jobprof_%d", getpid()) < 0) {
		d->pattern_texts[0] = NULL;
		return -ENOMEM;
	}
	d->patterns[0].comp[0].glob = d->pattern_texts[0];
	d->rows[0] = &d->patterns[0];
	return 0;
}

static int collect_rows(struct daemon *d)
{
	const struct config *c = d->opts.cfg;
	char err[160];
	unsigned i;

	if (d->opts.embedded)
		return own_tree(d);
	d->nrows = layout__rows(LAYOUT_SLURM, d->rows, MAX_ROWS);
	for (i = 0; i < c->n_cgroup_patterns && d->nrows < MAX_ROWS; i++) {
		d->pattern_texts[i] = strdup(c->cgroup_patterns[i]);
		if (!d->pattern_texts[i])
			return -ENOMEM;
		if (layout__from_pattern(&d->patterns[i], d->pattern_texts[i], err, sizeof(err))) {
			log_error("CgroupPattern=%s: %s", c->cgroup_patterns[i], err);
			return -EINVAL;
		}
		d->rows[d->nrows++] = &d->patterns[i];
	}
	return 0;
}

/*
 * Where the layouts begin: CgroupRoot; else, on v2, the parent of pid 1's cgroup, which is not the
 * root in containers only. jobprof run makes its tree in its own cgroup, so that limits stay.
 */
static void find_prefix(const struct daemon *d, const struct hierarchy *h, char *out, size_t len)
{
	char *slash;

	out[0] = 0;
	if (d->opts.embedded) {
		if (hierarchy__cgroup_of("self", h, out, len))
			out[0] = 0;
	} else if (d->opts.cfg->cgroup_root) {
		str__copy(out, len, d->opts.cfg->cgroup_root);
	} else if (h->v2 && !hierarchy__cgroup_of("1", h, out, len)) {
		slash = strrchr(out, '/');
		if (slash)
			*slash = 0; /* the parent of "/init.scope" is "" */
	}
	if (!strcmp(out, "/"))
		out[0] = 0;
}

static int add_root(struct daemon *d, const struct hierarchy *h)
{
	struct kern_root *r = &d->roots[d->nroots];
	char prefix[256];
	unsigned node;
	int err;

	find_prefix(d, h, prefix, sizeof(prefix));
	err = layout__compile(d->rows, d->nrows, prefix, h->v2, d->nodes, &node);
	if (err == -ENOENT)
		return 0;
	if (err) {
		log_error("the cgroup layouts for %s do not fit together: %s: check CgroupPattern",
			  h->mount, strerror(-err));
		return err;
	}
	memset(r, 0, sizeof(*r));
	r->hier = h->id;
	r->node = node;
	if (!h->v2)
		snprintf(r->controller, sizeof(r->controller), "%.*s",
			 (int)strcspn(h->controllers, ","), h->controllers);
	snprintf(r->mount, sizeof(r->mount), "%s", h->mount);
	snprintf(r->prefix, sizeof(r->prefix), "%s", prefix);
	d->nroots++;
	return 0;
}

int cgroup_roots__find(struct daemon *d)
{
	struct hierarchy *h = calloc(HIERARCHY_MAX, sizeof(*h));
	unsigned chosen[JP_CARRIERS], n, i;
	int found, err;

	if (!h)
		return -ENOMEM;
	err = collect_rows(d);
	found = hierarchy__discover(h, HIERARCHY_MAX);
	if (!err && found < 0) {
		log_error("cannot read the cgroup mounts: %s", strerror(-found));
		err = found;
	}
	n = err ? 0 : hierarchy__carriers(h, found, chosen, JP_CARRIERS);
	if (!err && !n) {
		log_error("no cgroup hierarchy is mounted: mount -t cgroup2 none /sys/fs/cgroup");
		err = -ENODEV;
	}
	/* jobprof run needs one tree only */
	for (i = 0; !err && i < n && !(d->opts.embedded && d->nroots); i++)
		err = add_root(d, &h[chosen[i]]);
	if (!err && !d->nroots) {
		log_error("no layout fits the mounted cgroup hierarchies: check CgroupPattern");
		err = -ENODEV;
	}
	free(h);
	return err;
}
