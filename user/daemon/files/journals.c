// SPDX-License-Identifier: GPL-2.0-only
/* How much of the disk journals take, which journals are removed, and which steps write fewer
 * rows. */
#include "daemon/files/files.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "daemon/follow/daemon_state.h"

#define CHECK_NS  (5 * NSEC_PER_SEC)
#define REFUSED	  3  /* times: a file that is not written then is not in a moment either */
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
	uint64_t bytes, over; /* over: what should be less, by JournalMax or JournalMinFree */
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
