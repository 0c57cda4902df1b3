// SPDX-License-Identifier: GPL-2.0-or-later
/* The cgroups to follow: every mounted hierarchy with every layout that fits it. */
#include "daemon/config/cgroup_roots.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/str.h"
#include "identity/hierarchy.h"

/* jobprof run follows the tree that it makes itself: several jobprof run may be active at once. */
static int own_tree(struct cgroup_roots *r)
{
	r->nlayouts = layout__rows(LAYOUT_RUN, r->layout, 1);
	r->patterns[0] = *r->layout[0];
	if (asprintf(&r->pattern_texts[0], "jobprof_%d", getpid()) < 0) {
		r->pattern_texts[0] = NULL;
		return -ENOMEM;
	}
	r->patterns[0].comp[0].glob = r->pattern_texts[0];
	r->layout[0] = &r->patterns[0];
	return 0;
}

static int collect_layouts(struct cgroup_roots *r, const struct config *c, bool embedded)
{
	char err[160];
	unsigned i;

	if (embedded)
		return own_tree(r);
	r->nlayouts = layout__rows(LAYOUT_SLURM, r->layout, CGROUP_LAYOUTS);
	for (i = 0; i < c->n_cgroup_patterns && r->nlayouts < CGROUP_LAYOUTS; i++) {
		r->pattern_texts[i] = strdup(c->cgroup_patterns[i]);
		if (!r->pattern_texts[i])
			return -ENOMEM;
		if (layout__from_pattern(&r->patterns[i], r->pattern_texts[i], err, sizeof(err))) {
			log_error("CgroupPattern=%s: %s", c->cgroup_patterns[i], err);
			return -EINVAL;
		}
		r->layout[r->nlayouts++] = &r->patterns[i];
	}
	return 0;
}

/*
 * Where the layouts begin: CgroupRoot; else, on v2, the parent of pid 1's cgroup, which is not the
 * root in containers only. jobprof run makes its tree in its own cgroup, so that limits stay.
 */
static void find_prefix(const struct config *cfg, bool embedded, const struct hierarchy *h,
			char *out, size_t len)
{
	char *slash;

	out[0] = 0;
	if (embedded) {
		if (hierarchy__cgroup_of("self", h, out, len))
			out[0] = 0;
	} else if (cfg->cgroup_root) {
		str__copy(out, len, cfg->cgroup_root);
	} else if (h->v2 && !hierarchy__cgroup_of("1", h, out, len)) {
		slash = strrchr(out, '/');
		if (slash)
			*slash = 0; /* the parent of "/init.scope" is "" */
	}
	if (!strcmp(out, "/"))
		out[0] = 0;
}

static int add_root(struct cgroup_roots *roots, const struct config *cfg, bool embedded,
		    const struct hierarchy *h)
{
	struct kern_root *r = &roots->root[roots->nroots];
	char prefix[256];
	unsigned component;
	int err;

	find_prefix(cfg, embedded, h, prefix, sizeof(prefix));
	err = layout__compile(roots->layout, roots->nlayouts, prefix, h->v2, roots->components,
			      &component);
	if (err == -ENOENT)
		return 0;
	if (err) {
		log_error("the cgroup layouts for %s do not fit together: %s: check CgroupPattern",
			  h->mount, strerror(-err));
		return err;
	}
	memset(r, 0, sizeof(*r));
	r->hier = h->id;
	r->component = component;
	if (!h->v2)
		snprintf(r->controller, sizeof(r->controller), "%.*s",
			 (int)strcspn(h->controllers, ","), h->controllers);
	snprintf(r->mount, sizeof(r->mount), "%s", h->mount);
	snprintf(r->prefix, sizeof(r->prefix), "%s", prefix);
	roots->nroots++;
	return 0;
}

int cgroup_roots__find(struct cgroup_roots *r, const struct config *cfg, bool embedded)
{
	struct hierarchy *h = calloc(HIERARCHY_MAX, sizeof(*h));
	unsigned chosen[JP_CARRIERS], n, i;
	int found, err;

	if (!h)
		return -ENOMEM;
	err = collect_layouts(r, cfg, embedded);
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
	for (i = 0; !err && i < n && !(embedded && r->nroots); i++)
		err = add_root(r, cfg, embedded, &h[chosen[i]]);
	if (!err && !r->nroots) {
		log_error("no layout fits the mounted cgroup hierarchies: check CgroupPattern");
		err = -ENODEV;
	}
	free(h);
	return err;
}

void cgroup_roots__free(struct cgroup_roots *r)
{
	for (unsigned i = 0; i < CONFIG_PATTERNS; i++)
		free(r->pattern_texts[i]);
}
