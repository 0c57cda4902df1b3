// SPDX-License-Identifier: GPL-2.0-only
/* The journal of a step: its file and its header. */
#include "daemon/step_journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/str.h"
#include "daemon/step_attrs.h"
#include "daemon/step_frame.h"
#include "daemon/step_state.h"

void step_journal__boot_id(char *buf, size_t len)
{
	if (read_file(AT_FDCWD, "/proc/sys/kernel/random/boot_id", buf, len) < 0)
		snprintf(buf, len, "unknown");
	buf[strcspn(buf, "\n")] = 0;
}

static int put_header(struct step *s)
{
	struct journal *j = s->journal;
	char number[32], boot[64];
	int i, err = 0;

	err |= journal__meta(j, "dir", s->pub.dir);
	err |= journal__meta(j, "user", s->pub.user);
	err |= journal__meta(j, "name", s->pub.name);
	snprintf(number, sizeof(number), "%u", s->pub.uid);
	err |= journal__meta(j, "uid", number);
	snprintf(number, sizeof(number), "%u", s->pub.gid);
	err |= journal__meta(j, "gid", number);
	step_journal__boot_id(boot, sizeof(boot));
	err |= journal__meta(j, "boot", boot);
	for (i = 0; i < COUNTED_KINDS; i++)
		if (s->sets[i].ncols)
			err |= journal__series(j, i, s->sets[i].series->name,
					       s->sets[i].series->grouped, s->sets[i].cols,
					       s->sets[i].ncols);
	return err;
}

int step__open_journal(struct step *s, const struct step_env *env)
{
	const char *sub = env->embedded ? JOURNALS_RUN : JOURNALS_STEP;
	int err, i;

	snprintf(s->pub.journal, sizeof(s->pub.journal), "%s/%s", env->state_dir, sub);
	mkdir(s->pub.journal, 0700);
	snprintf(s->pub.journal, sizeof(s->pub.journal), "%s/%s/%.200s.%llu.journal",
		 env->state_dir, sub, s->pub.name, (unsigned long long)s->start_real_ns);
	/* jobprof run says at once that there will be no file */
	err = env->embedded ? journal__create(&s->journal, s->pub.journal)
			    : journal__prepare(&s->journal, s->pub.journal);
	if (err) {
		log_error("cannot make journal %s: %s: the step is not profiled; check StateDir",
			  s->pub.journal, strerror(-err));
		return err;
	}
	if (put_header(s)) {
		log_error("cannot describe %s in its journal: out of memory", s->pub.name);
		return -ENOMEM;
	}
	step__put_start_attrs(s, env);
	for (i = 0; i < COUNTED_KINDS; i++)
		if (s->sets[i].ncols && !s->sets[i].series->grouped)
			step__table(s, i, JP_GTID_NONE);
	step__put_state(s, env->k);
	err = journal__commit(s->journal);
	step__settle_frame(s, true);
	if (!err)
		return 0;
	log_error("cannot begin journal %s: %s: %s; make room in StateDir", s->pub.journal,
		  strerror(-err),
		  env->embedded ? "the step is not profiled"
				: "its first rows wait, and nothing that they count is lost");
	if (env->embedded)
		unlink(s->pub.journal);
	else
		s->full = log_every(&s->said_full, FULL_AGAIN_S);
	s->full_ns = s->full ? clock__boot_ns() : 0;
	return env->embedded ? err : 0;
}
