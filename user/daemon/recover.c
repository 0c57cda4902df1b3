// SPDX-License-Identifier: GPL-2.0-only
/* After a crash of anything: the journals finish the files. */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "daemon/internal.h"

static bool is_journal(const char *name)
{
	size_t len = strlen(name), suffix = strlen(".journal");

	return name[0] != '.' && len > suffix && !strcmp(name + len - suffix, ".journal");
}

static void recover_one(struct daemon *d, const char *path)
{
	struct orphan *o = calloc(1, sizeof(*o));
	struct step *s;

	if (!o)
		return;
	s = step__resume(&d->env, path, &o->pub);
	if (s) {
		s->next = d->steps;
		d->steps = s;
	} else if (o->pub.name[0]) {
		log_info("finishing %s from the journal of an earlier run", o->pub.name);
		o->next = d->orphans;
		d->orphans = o;
		return;
	}
	free(o);
}

/* What ended and was journaled before we began: its slots are free to go. What ended and was not
 * gets its step and its file yet. */
static void release_leftovers(struct daemon *d)
{
	uint32_t i, j;

	for (i = JP_SLOT_FIRST; i < kern__nslots(d->env.k); i++) {
		const struct jp_slot *info = kern__slot(d->env.k, i);
		const struct step *s;

		if (info->kind != JP_KIND_STEP || info->state != JP_SLOT_DRAINING ||
		    !(info->flags & JP_SLOT_F_DONE))
			continue;
		for (s = d->steps; s && s->slot != i; s = s->next)
			;
		for (j = JP_SLOT_FIRST; !s && j < kern__nslots(d->env.k); j++)
			if (kern__slot(d->env.k, j)->step == i &&
			    kern__slot(d->env.k, j)->state != JP_SLOT_FREE)
				kern__release(d->env.k, j);
	}
}

static void recover_dir(struct daemon *d, const char *sub)
{
	char dir[PUBLISH_PATH], path[PUBLISH_PATH + 300];
	_cleanup_closedir_ DIR *list = NULL;
	struct dirent *e;

	snprintf(dir, sizeof(dir), "%s/%s", d->env.state_dir, sub);
	list = opendir(dir);
	while (list && (e = readdir(list))) {
		if (!is_journal(e->d_name))
			continue;
		snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
		recover_one(d, path);
	}
}

void daemon_recover(struct daemon *d)
{
	if (!d->opts.embedded)
		recover_dir(d, JOURNALS_STEP);
	recover_dir(d, JOURNALS_RUN);
	release_leftovers(d);
}
