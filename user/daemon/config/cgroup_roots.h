/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The cgroups to follow: every mounted hierarchy with every layout that fits it, and the trie of
 * these layouts that the kernel side reads. */
#ifndef JP_DAEMON_CONFIG_CGROUP_ROOTS_H
#define JP_DAEMON_CONFIG_CGROUP_ROOTS_H

#include <stdbool.h>

#include "base/config/config.h"
#include "identity/layout.h"
#include "kern/kern.h"

#define CGROUP_LAYOUTS 16

struct cgroup_roots {
	struct kern_root root[JP_CARRIERS];
	unsigned nroots;
	struct jp_component components[JP_COMPONENTS];
	const struct layout *layout[CGROUP_LAYOUTS];
	unsigned nlayouts;
	struct layout patterns[CONFIG_PATTERNS]; /* of the configuration */
	char *pattern_texts[CONFIG_PATTERNS];
};

/* r must be zero. embedded: jobprof run follows its own tree only. 0; -errno: logged. */
int cgroup_roots__find(struct cgroup_roots *r, const struct config *cfg, bool embedded);
void cgroup_roots__free(struct cgroup_roots *r); /* what it owns */

#endif
