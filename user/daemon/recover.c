// SPDX-License-Identifier: GPL-2.0-only
/* After a crash of anything: the journals finish the files. */
#include "daemon/recover.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "daemon/daemon_state.h"
#include "daemon/step_create.h"
#include "daemon/step_resume.h"
#include "journal/journal.h"

#define JOURNAL	     ".journal"
#define UNBORN_MAX_S 60

static bool is_named(const char *name, const char *suffix)
{
	size_t len = strlen(name), n = strlen(suffix);

	return name[0] != '.' && len > n && !strcmp(name + len - n, suffix);
}

/* What was killed before it was a journal. A jobprof run may be making one right now: not for that
 * long. */
static void remove_unborn(int dir, const char *name, bool ours)
{
	struct stat st;

	if (!fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) &&
	    (ours || st.st_mtime < time(NULL) - UNBORN_MAX_S))
		unlinkat(dir, name, 0);
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
		o->pub.quiet = d->opts.embedded;
		log_info("finishing %s from the journal of an earlier run", o->pub.name);
		o->next = d->orphans;
		d->orphans = o;
		return;
	}
	free(o);
}

/* What ended and was journaled before we began: its slots are free to go. What ended and was not
 * gets its step and its file yet. */
static void release_leftovers(struct kern *k, const struct step *steps)
{
	uint32_t i, j;

	for (i = JP_SLOT_FIRST; i < kern__nslots(k); i++) {
		const struct jp_slot *info = kern__slot(k, i);
		const struct step *s;

		if (info->kind != JP_KIND_STEP || info->state == JP_SLOT_ACTIVE ||
		    !(info->flags & JP_SLOT_F_DONE))
			continue;
		for (s = steps; s && s->slot != i; s = s->next)
			;
		for (j = JP_SLOT_FIRST; !s && j < kern__nslots(k); j++)
			if (kern__slot(k, j)->step == i && kern__slot(k, j)->state != JP_SLOT_FREE)
				kern__release(k, j);
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
		if (is_named(e->d_name, JOURNAL JOURNAL_UNBORN))
			remove_unborn(dirfd(list), e->d_name, !strcmp(sub, JOURNALS_STEP));
		if (!is_named(e->d_name, JOURNAL))
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
	release_leftovers(d->env.k, d->steps);
}
