/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decides when the journal of a step becomes a file: while the step runs, and at its end. */
#include "daemon/files/files.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/id_table.h"
#include "base/log.h"
#include "daemon/files/live_findings.h"
#include "daemon/follow/daemon_state.h"
#include "daemon/step/task_about.h"

/* ---- how much of the disk journals take, which journals are removed, and which steps write fewer
 * rows */

#define CHECK_NS  (5 * NSEC_PER_SEC)
#define REFUSED	  3  /* times: a file that is not written by then will not be written soon */
#define FREE_PART 20 /* of the disk: small ones have no JournalMinFree to give */
#define MB	  1048576.0
#define NO_LIMIT  UINT64_MAX

struct entry {
	struct step *step; /* NULL: a pending file */
	struct publication *pub;
	uint64_t bytes;
	int64_t written_ns; /* when it was last */
	bool waiting;	    /* may be removed */
};

struct user_use {
	uid_t uid;
	uint64_t bytes;
	unsigned waiting;
};

struct use {
	struct entry *entries;
	struct user_use *users;
	unsigned n, nusers;
	uint64_t bytes, over; /* over: bytes to be freed, by JournalMax or JournalMinFree */
};

static void add_journal(struct use *u, struct step *s, struct publication *p)
{
	struct entry *e = &u->entries[u->n];
	struct user_use *user = u->users;
	struct stat st;

	if (!p->journal[0] || stat(p->journal, &st))
		return;
	*e = (struct entry){.step = s,
			    .pub = p,
			    .bytes = (uint64_t)st.st_blocks * 512,
			    .written_ns =
				    st.st_mtim.tv_sec * (int64_t)NSEC_PER_SEC + st.st_mtim.tv_nsec,
			    .waiting = !p->pid && !p->done && p->failures >= REFUSED &&
				       (!s || (s->state == STEP_FINISHING && !s->journal))};
	while (user < u->users + u->nusers && user->uid != p->uid)
		user++;
	if (user == u->users + u->nusers)
		u->users[u->nusers++].uid = p->uid;
	user->bytes += e->bytes;
	user->waiting += e->waiting;
	u->bytes += e->bytes;
	u->n++;
}

static int collect_journals(struct use *u, struct step *steps, struct pending_file *pending_files)
{
	struct pending_file *o;
	struct step *s;
	unsigned n = 1;

	for (s = steps; s; s = s->next)
		n++;
	for (o = pending_files; o; o = o->next)
		n++;
	u->entries = calloc(n, sizeof(*u->entries));
	u->users = calloc(n, sizeof(*u->users));
	if (!u->entries || !u->users)
		return -ENOMEM;
	for (s = steps; s; s = s->next)
		if (s->state != STEP_NEW && s->state != STEP_IGNORED)
			add_journal(u, s, &s->pub);
	for (o = pending_files; o; o = o->next)
		add_journal(u, NULL, &o->pub);
	return 0;
}

static uint64_t bytes_of(double mb)
{
	return mb > 0 ? (uint64_t)(mb * MB) : NO_LIMIT;
}

/* Bytes by which journals exceed JournalMax or reach into JournalMinFree. */
static uint64_t too_much(const struct use *u, const struct journal_limits *l, const char *state_dir)
{
	uint64_t most = bytes_of(l->all), floor, part, is_free, over;
	struct statvfs fs;

	over = u->bytes > most ? u->bytes - most : 0;
	if (l->min_free <= 0 || statvfs(state_dir, &fs))
		return over;
	floor = bytes_of(l->min_free);
	part = (uint64_t)fs.f_blocks * fs.f_frsize / FREE_PART;
	is_free = (uint64_t)fs.f_bavail * fs.f_frsize;
	if (floor > part)
		floor = part;
	return is_free < floor && floor - is_free > over ? floor - is_free : over;
}

static bool is_over(const struct use *u, const struct user_use *user, uint64_t user_most)
{
	return u->over || user->bytes > user_most;
}

/* The user whose journals must shrink: a user over the limit, or the user with the most bytes.
 * NULL: no journal may be removed. */
static struct user_use *choose_user(const struct use *u, uint64_t user_most)
{
	struct user_use *user, *found = NULL;

	for (user = u->users; user < u->users + u->nusers; user++)
		if (user->waiting && is_over(u, user, user_most) &&
		    (!found || user->bytes > found->bytes))
			found = user;
	return found;
}

static struct entry *oldest_of(const struct use *u, uid_t uid)
{
	struct entry *e, *found = NULL;

	for (e = u->entries; e < u->entries + u->n; e++)
		if (e->waiting && e->pub->uid == uid &&
		    (!found || e->written_ns < found->written_ns))
			found = e;
	return found;
}

static void remove_oldest(struct journal_stats *stats, struct use *u, struct user_use *user)
{
	struct entry *e = oldest_of(u, user->uid);

	log_error(
		"%s: its file could not be written, and its journal of %.1f MiB is removed: "
		"journals of user %u have %.1f MiB, all %.1f MiB; see JournalUserMax, JournalMax, "
		"JournalMinFree",
		e->pub->name, (double)e->bytes / MB, user->uid, (double)user->bytes / MB,
		(double)u->bytes / MB);
	unlink(e->pub->journal);
	stats->removed++;
	stats->removed_bytes += e->bytes;
	e->waiting = false;
	e->pub->done = true;
	if (e->step)
		e->step->state = STEP_DONE;
	user->waiting--;
	user->bytes -= e->bytes;
	u->bytes -= e->bytes;
	u->over -= e->bytes < u->over ? e->bytes : u->over;
	e->bytes = 0;
}

static void reduce_rows(struct journal_stats *stats, const struct use *u, uint64_t user_most)
{
	const struct user_use *user;
	unsigned i;

	for (i = 0; i < u->n; i++) {
		struct step *s = u->entries[i].step;

		if (!s)
			continue;
		for (user = u->users; user->uid != s->pub.uid; user++)
			;
		s->reduced = is_over(u, user, user_most);
		stats->reduced += s->reduced && s->state == STEP_ACTIVE;
	}
}

void daemon_limit_journals(struct daemon *d, uint64_t now_ns)
{
	uint64_t user_most = bytes_of(d->opts.cfg->journals.user);
	struct user_use *user;
	struct use u = {};

	if (d->opts.embedded || now_ns < d->journals.next_ns)
		return;
	d->journals.next_ns = now_ns + CHECK_NS;
	if (!collect_journals(&u, d->steps, d->pending_files)) {
		u.over = too_much(&u, &d->opts.cfg->journals, d->env.state_dir);
		while ((user = choose_user(&u, user_most)))
			remove_oldest(&d->journals, &u, user);
		d->journals.over = u.over > 0;
		d->journals.reduced = 0;
		reduce_rows(&d->journals, &u, user_most);
		clock__since(&d->journals.reduced_ns, d->journals.reduced > 0, now_ns);
		d->journals.bytes = u.bytes;
		d->journals.journals = d->journals.waiting = 0;
		for (unsigned i = 0; i < u.n; i++) {
			d->journals.journals += u.entries[i].bytes > 0;
			d->journals.waiting += u.entries[i].waiting;
		}
	}
	free(u.entries);
	free(u.users);
}

/* The most writers at the same time, of all users and of one user. A slow writer counts for its
 * user only: users can stop their writers. */
#define WRITERS_MAX  16
#define WRITERS_USER 8
/* Publishing may take one part in PUBLISH_SHARE of the time. */
#define PUBLISH_SHARE 250
/* A step that runs so long has a first version, at most twice as long after its start. */
#define FIRST_NS (30 * NSEC_PER_SEC)

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

/* When the next version is due of a step that goes on as it did. Who starts a step looks at it
 * soon: a young one has its next version when it is twice as old. */
static uint64_t even_due(const struct step *s, double part, uint64_t every)
{
	const uint64_t first = every < FIRST_NS ? every : FIRST_NS;
	uint64_t due, earliest = s->pub.started_ns + every / 2;

	if (!s->pub.started_ns)
		return s->start_boot_ns + first + (uint64_t)(part * (double)first);
	if (s->pub.started_ns < s->start_boot_ns + every / 2)
		return 2 * s->pub.started_ns - s->start_boot_ns;
	due = s->start_boot_ns + (uint64_t)(part * (double)every);
	return due < earliest ? due + (earliest - due + every - 1) / every * every : due;
}

/* A change may be one of the CPUs that tasks may run on. */
static void watch_use(struct step *s, uint64_t every, uint64_t now)
{
	const struct table *t = s->tables;

	while (t < s->tables + s->ntables && t->kind != KIND_STEP)
		t++;
	if (t < s->tables + s->ntables && t->prev &&
	    use_watch__look(&s->use, &t->prev->totals, t->prev->boot_ns, every))
		task_about__again(s, now);
}

/* The nodes of a step begin together, and write into one directory: each has its own place in the
 * interval, by its name. */
static bool is_live_due(const struct step *s, const char *node, uint64_t every, uint64_t now)
{
	const double part = (double)(id__mix(id__of_text(node), 0) >> 11) * 0x1p-53;

	return now >= even_due(s, part, every) ||
	       now >= use_watch__due(&s->use, s->pub.started_ns, part, every);
}

void daemon_publish_live(struct daemon *d, struct step *s, uint64_t now)
{
	const struct config *cfg = d->opts.cfg;
	uint64_t every = cfg->live_files ? (uint64_t)(cfg->publish_interval * NSEC_PER_SEC) : 0;

	live_findings__watch(s, now);
	if (!every || s->pub.pid || !s->intervals ||
	    !room_for_writer(d->steps, d->pending_files, s->pub.uid, now) ||
	    name_in_use(d->steps, d->pending_files, &s->pub))
		return;
	if (every < PUBLISH_SHARE * s->pub.cost_ns)
		every = PUBLISH_SHARE * s->pub.cost_ns;
	watch_use(s, every, now);
	/* publication__start() says when it is tried again after a failure */
	if (s->pub.failures || is_live_due(s, step__node_name(s, d->env.node_name), every, now))
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
	if (!p->unnamed) /* else that name belongs to another file, or to none */
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
		if (!s->pub.final && !s->pub.failures)
			live_findings__judge(d, s, now);
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
