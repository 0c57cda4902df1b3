// SPDX-License-Identifier: GPL-2.0-only
/* When the journal of a step becomes a file: while the step runs, and at its end. */
#include "daemon/files/files.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "daemon/follow/daemon_state.h"

/* The most writers at the same time, of all users and of one user. A slow writer counts for its
 * user only: users can stop their writers. */
#define WRITERS_MAX  16
#define WRITERS_USER 8
/* Publishing may take one part in PUBLISH_SHARE of the time. */
#define PUBLISH_SHARE 250

struct writers {
	unsigned all, users;
};

static void count_writer(struct writers *n, const struct publication *p, uid_t uid, uint64_t now)
{
	n->all += p->pid && now - p->started_ns < WRITER_SLOW_NS;
	n->users += p->pid && p->uid == uid;
}

/* A thousand steps may end at once. The writers of one user that hang do not delay other users. */
static bool room_for_writer(const struct step *steps, const struct pending_file *pending_files,
			    uid_t uid, uint64_t now)
{
	struct writers n = {};
	const struct pending_file *o;
	const struct step *s;

	for (s = steps; s; s = s->next)
		count_writer(&n, &s->pub, uid, now);
	for (o = pending_files; o; o = o->next)
		count_writer(&n, &o->pub, uid, now);
	return n.all < WRITERS_MAX && n.users < WRITERS_USER;
}

/* Another writer is at work on a file of that name: the job has run before, and was requeued. */
static bool name_in_use(const struct step *steps, const struct pending_file *pending_files,
			const struct publication *p)
{
	const struct pending_file *o;
	const struct step *s;

	for (s = steps; s; s = s->next)
		if (&s->pub != p && s->pub.pid && !strcmp(s->pub.name, p->name))
			return true;
	for (o = pending_files; o; o = o->next)
		if (&o->pub != p && o->pub.pid && !strcmp(o->pub.name, p->name))
			return true;
	return false;
}

void daemon_publish_live(struct daemon *d, struct step *s, uint64_t now)
{
	uint64_t every = (uint64_t)(d->opts.cfg->publish_interval * NSEC_PER_SEC);

	if (!every || s->pub.pid || !s->intervals ||
	    !room_for_writer(d->steps, d->pending_files, s->pub.uid, now) ||
	    name_in_use(d->steps, d->pending_files, &s->pub))
		return;
	if (s->pub.failures)
		every = 0; /* publication__start() says when it is tried again */
	else if (every < PUBLISH_SHARE * s->pub.cost_ns)
		every = PUBLISH_SHARE * s->pub.cost_ns;
	if (now - (s->pub.started_ns ? s->pub.started_ns : s->start_boot_ns) >= every)
		publication__start(&s->pub, d->opts.writer, false, now);
}

void daemon_finish_file(struct daemon *d, struct publication *p, uint64_t now)
{
	int err;

	publication__check(p, now);
	if (p->pid || p->done || !room_for_writer(d->steps, d->pending_files, p->uid, now) ||
	    name_in_use(d->steps, d->pending_files, p))
		return;
	err = publication__start(p, d->opts.writer, true, now);
	if (err && err != -EAGAIN)
		log_error("cannot start a writer for %s: %s", p->name, strerror(-err));
}

static void remove_written_journal(const struct publication *p, char *path, size_t len)
{
	snprintf(path, len, "%s%s%s/%s", p->dir, p->user[0] ? "/" : "", p->user, p->name);
	if (!p->unnamed) /* else that name is another file's, or nobody's */
		unlink(p->journal);
	if (p->unwanted)
		log_debug("%s is not kept: none was wanted", path);
	else
		log_debug("wrote %s", path);
}

bool daemon_writer_reaped(struct daemon *d, pid_t pid, int status, uint64_t now)
{
	char path[sizeof(d->last_file)];
	struct pending_file *o;
	struct step *s;

	for (s = d->steps; s; s = s->next) {
		if (!publication__reaped(&s->pub, pid, status, now))
			continue;
		/* the journal of a step that goes on tells a later jobprofd what its user wants */
		if (s->pub.done && s->state != STEP_IGNORED) {
			remove_written_journal(&s->pub, d->last_file, sizeof(d->last_file));
			s->state = STEP_DONE;
		}
		return true;
	}
	for (o = d->pending_files; o; o = o->next) {
		if (!publication__reaped(&o->pub, pid, status, now))
			continue;
		if (o->pub.done) {
			remove_written_journal(&o->pub, path, sizeof(path));
			if (d->opts.embedded) /* its user has looked for it in vain */
				log_warn("finished %s of an earlier run, which could not write it",
					 path);
		} else {
			publication__end(&o->pub); /* many may wait */
		}
		return true;
	}
	return false;
}

bool daemon__finishing(const struct daemon *d)
{
	const struct pending_file *o;

	for (o = d->pending_files; o; o = o->next)
		if (o->pub.pid)
			return true;
	return false;
}

const char *daemon__last_file(const struct daemon *d)
{
	return d->last_file;
}
