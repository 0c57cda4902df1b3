// SPDX-License-Identifier: GPL-2.0-or-later
/* Journals of earlier runs of jobprofd: steps of this boot are continued, and the files of all
 * others are finished. */
#include "daemon/follow/follow.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/str.h"
#include "daemon/follow/daemon_state.h"
#include "daemon/node/node.h"
#include "daemon/record/step_journal.h"
#include "daemon/record/step_kinds.h"
#include "daemon/record/step_state.h"
#include "journal/journal.h"
#include "schema/family.h"

#define JOURNAL		 ".journal"
#define UNFINISHED_MAX_S 60

struct scan {
	struct saved *saved; /* last J_STATE */
	size_t saved_len;
	char boot[64];
	bool ended;
	bool unbegun;	    /* has no whole frame, and no row in what there is */
	bool foreign;	    /* has series that we do not know */
	uint64_t cut_bytes; /* step.cut_bytes */
	struct column_set sets[COUNTED_KINDS];
	struct external_series external; /* what of them must go on as it was */
	struct sensor_ids node;
};

static void scan_meta(const struct journal_record *r, struct publication *p, struct scan *sc)
{
	uint32_t n;

	if (!strcmp(r->name, "dir"))
		str__copy(p->dir, sizeof(p->dir), r->str);
	else if (!strcmp(r->name, "user"))
		str__copy(p->user, sizeof(p->user), r->str);
	else if (!strcmp(r->name, "name"))
		str__copy(p->name, sizeof(p->name), r->str);
	else if (!strcmp(r->name, "boot"))
		str__copy(sc->boot, sizeof(sc->boot), r->str);
	else if (!strcmp(r->name, "uid") && !parse_u32(r->str, &n))
		p->uid = n;
	else if (!strcmp(r->name, "gid") && !parse_u32(r->str, &n))
		p->gid = n;
	else if (!strcmp(r->name, JOURNAL_UNWANTED))
		p->unwanted = true;
	else
		region_accounts__remember(&sc->external.accounts, r->name, r->str,
					  &sc->external.lost_regions);
}

static int scan_journal(const struct step_env *env, const char *path, struct publication *p,
			struct scan *sc)
{
	struct journal_reader *r = NULL;
	struct journal_record rec;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW), err;

	if (fd < 0)
		return -errno;
	err = journal_reader__open(&r, fd);
	while (!err && (err = journal_reader__next(r, &rec)) == 1) {
		err = 0;
		if (rec.type == J_META)
			scan_meta(&rec, p, sc);
		else if (rec.type == J_SERIES &&
			 (external_series__reserve_id(&sc->external, rec.id) ||
			  sensor_ids__series(&sc->node, rec.id)))
			;
		else if (rec.type == J_TABLE)
			sensor_ids__table(&sc->node, rec.id);
		else if (rec.type == J_SERIES)
			sc->foreign |= step__restore_columns(env, &rec, sc->sets) != 0;
		else if (rec.type == J_ATTR && rec.str)
			external_series__remember_name(&sc->external, rec.name, rec.str);
		else if (rec.type == J_ATTR && !strcmp(rec.name, "Lost Bytes"))
			sc->cut_bytes = rec.value.u;
		else if (rec.type == J_END)
			sc->ended = true;
		else if (rec.type == J_STATE && rec.blob_len >= sizeof(struct saved)) {
			free(sc->saved);
			sc->saved = malloc(rec.blob_len);
			if (!sc->saved)
				err = -ENOMEM;
			else
				memcpy(sc->saved, rec.blob, rec.blob_len);
			sc->saved_len = rec.blob_len;
		}
	}
	sc->unbegun = !err && journal_reader__end(r) == JOURNAL_HEADER_SIZE &&
		      !journal_reader__torn_rows(r);
	if (!err && (!p->name[0] || !p->dir[0] || !str__safe_name(p->name)))
		err = -EBADMSG;
	journal_reader__free(r);
	close(fd);
	return err;
}

static bool has_maps(struct kern *k, const struct saved *v)
{
	return kern__control(k)->born_ns == v->maps_born_ns;
}

/* The slot that counts for the saved step now: the same slot or, after the programs were loaded
 * once more, another slot of the cgroup. UINT32_MAX: there is none, or what its slots have counted
 * may not be whole any more. */
static uint32_t find_slot(struct kern *k, const struct saved *v, bool *same)
{
	uint32_t i;

	for (i = JP_SLOT_FIRST; i < kern__nslots(k); i++) {
		const struct jp_slot *info = kern__slot(k, i);

		if (info->state == JP_SLOT_FREE || info->kind != JP_KIND_STEP ||
		    info->cgroup_id != v->cgroup_id || info->hier != v->hier ||
		    info->flags & JP_SLOT_F_GIVEN)
			continue;
		*same = i == v->slot && info->gen == v->gen && has_maps(k, v);
		return i;
	}
	return UINT32_MAX;
}

/* External series of the step go on under series numbers that are free. */
static struct request *earlier_request(const struct step *s, const struct external_series *g)
{
	struct step_key p;
	struct request *r;

	step__key(s, &p);
	r = request__new(&p);
	if (r)
		r->external = *g;
	return r;
}

#define ALL_LOST (~0u)

/* torn: the last record of the journal was. */
static const char *restart_note(const struct step *s, struct kern *k, unsigned lost, bool torn)
{
	static char text[2 * FAMILY_WORDS_SIZE];
	char names[FAMILY_WORDS_SIZE];
	bool samples = s->families & (FAM_STACK | FAM_BURST | FAM_FOLD);
	bool unseen = kern__slot(k, s->slot)->flags & JP_SLOT_F_TAKEN;

	if (lost == ALL_LOST)
		return "jobprofd was restarted with other programs; counts between are lost";
	if (lost & s->families) {
		family__list(lost & s->families, names, sizeof(names));
		snprintf(
			text, sizeof(text),
			"jobprofd was restarted with other programs; counts between of %s are lost",
			names);
		return text;
	}
	snprintf(text, sizeof(text),
		 "jobprofd was restarted; no count is lost, but these may be: %s%s%sexecutions of "
		 "regions by programs that ended before they noticed",
		 unseen ? "what threads that ended while births rested used last, " : "",
		 samples ? "single samples, stacks and bursts of the last 10 s before, " : "",
		 torn ? "rows of sensors and of the job itself in a record that was torn, " : "");
	return text;
}

/* Journals how long nothing was counted, and how much CPU time the step's cgroup has that no row
 * has. */
static void tell_loss(struct step *s, struct kern *k)
{
	uint64_t until = kern__control(k)->attached_ns, missed = kern__missed_ns(k, s->slot);
	struct step_loss *l = &s->loss;
	uint64_t known = l->earlier_cpu_ns + l->missed_ns;
	char names[FAMILY_WORDS_SIZE];

	if (until < l->since_ns)
		until = clock__boot_ns();
	l->ns += until - l->since_ns;
	l->since_ns = 0;
	journal__attr_f64(s->journal, "Lost Time", (double)l->ns / NSEC_PER_SEC);
	if (l->families & FAM_BASE)
		strcpy(names, "all");
	else
		family__list(l->families, names, sizeof(names));
	journal__attr_str(s->journal, "Lost Counts", names);
	if (l->families & FAM_BASE && missed != UINT64_MAX && l->missed_ns != UINT64_MAX)
		journal__attr_f64(s->journal, "Lost CPU Time",
				  missed > known ? (double)(missed - known) / NSEC_PER_SEC : 0);
}

void daemon_tell_losses(struct daemon *d)
{
	for (struct step *s = d->steps; s; s = s->next)
		if (s->loss.since_ns && s->journal)
			tell_loss(s, d->env.k);
}

static struct step *resume_step(const struct step_env *env, const char *path, struct publication *p,
				const struct scan *sc)
{
	const struct saved *v = sc->saved;
	bool same = false;
	uint32_t slot = find_slot(env->k, v, &same);
	const bool closed = v->flags & SAVED_CLOSED;
	unsigned lost = closed ? 0 : same ? kern__lost(env->k) : ALL_LOST;
	struct step *s;
	uint64_t cut = 0;

	if (slot == UINT32_MAX)
		return NULL;
	s = step__new(env, slot);
	if (!s || step_state__restore(s, v, sc->saved_len, lost) ||
	    journal__reopen(&s->journal, path, &cut)) {
		step__free(s);
		return NULL;
	}
	s->cut_bytes = sc->cut_bytes;
	sensor_rows__resume(s->sensors, &sc->node);
	if (external_series__is_known(&sc->external))
		s->req = earlier_request(s, &sc->external);
	/* settings may have changed; the columns of the step's tables stay */
	memcpy(s->sets, sc->sets, sizeof(s->sets));
	memcpy(s->path, v->path, sizeof(s->path));
	s->pub = *p;
	s->uid_known = true;
	s->uid = p->uid;
	s->gid = p->gid;
	if (p->unwanted) {
		s->state = STEP_IGNORED;
		s->given_up = true;
		return s;
	}
	s->state = STEP_ACTIVE;
	if (!closed)
		journal__attr_str(s->journal, "Restarted", restart_note(s, env->k, lost, cut));
	log__print(same || closed ? LOGL_DEBUG : LOGL_WARN, "%s goes on after a restart%s", p->name,
		   same || closed ? "" : " (counts in between are lost)");
	return s;
}

/* Completes a journal that will not be continued, so that its file can be made. Where the step's
 * slots were given back its journal was complete, and has lost its end since. */
static void close_journal(const struct step_env *env, const char *path, const struct scan *sc,
			  bool same_boot)
{
	const struct saved *v = sc->saved && step_state__fits_build(sc->saved) ? sc->saved : NULL;
	bool closed = v && v->flags & SAVED_CLOSED;
	bool ended = closed || (v && same_boot && has_maps(env->k, v));
	struct journal *j;
	uint64_t cut;

	if (journal__reopen(&j, path, &cut))
		return;
	if (!ended)
		journal__attr_str(j, "End Reason",
				  same_boot ? "ended while jobprofd was away" : "node rebooted");
	journal__attr_str(
		j, "Restarted",
		closed	? "the end of the journal is missing; no count is lost, but how the step "
			  "ended, and whether tasks found no slot, is not known"
		: ended ? "the end of the journal is missing; counts after its last row are lost"
			: "jobprofd was away when the step ended; counts after its last row are "
			  "lost");
	if (v)
		journal__attr_i64(j, "Lost", v->lost_rows);
	if (cut && !closed)
		journal__attr_i64(j, "Lost Bytes", sc->cut_bytes + cut);
	journal__end(j);
	journal__commit(j);
	journal__free(j);
}

/* The journal has no header: the process that made it was killed before that. */
static bool is_empty(const char *path)
{
	struct stat st;

	return !lstat(path, &st) && S_ISREG(st.st_mode) && st.st_size <= JOURNAL_HEADER_SIZE;
}

static struct step *take_up_journal(const struct step_env *env, const char *path,
				    struct publication *p)
{
	struct scan sc = {};
	struct step *s = NULL;
	bool same_boot;
	int err;

	memset(p, 0, sizeof(*p));
	str__copy(p->journal, sizeof(p->journal), path);
	if (publication__lock(p))
		return NULL; /* another daemon, or a jobprof run, is at work on it */
	publication__end(p); /* what continues or completes the journal locks it for itself */
	err = scan_journal(env, path, p, &sc);
	if (err && (sc.unbegun || is_empty(path))) {
		log_info("%s has no row, as its writer ended when it began it: removed", path);
		unlink(path);
		p->name[0] = 0;
	} else if (err) {
		log_error("%s is not a usable journal: %s: left where it is", path, strerror(-err));
		p->name[0] = 0;
	} else if (!sc.ended) {
		same_boot = !strcmp(step_journal__boot_id(), sc.boot);
		if (same_boot && sc.saved && step_state__fits_build(sc.saved) && !sc.foreign)
			s = resume_step(env, path, p, &sc);
		if (!s)
			close_journal(env, path, &sc, same_boot);
	}
	if (!s)
		external_series__free(&sc.external);
	free(sc.saved);
	return s;
}

static bool is_named(const char *name, const char *suffix)
{
	size_t len = strlen(name), n = strlen(suffix);

	return name[0] != '.' && len > n && !strcmp(name + len - n, suffix);
}

/* Removes an unfinished journal of a killed process. A jobprof run may be making one right now, but
 * takes less than UNFINISHED_MAX_S. */
static void remove_unfinished(int dir, const char *name, bool own_dir)
{
	struct stat st;

	if (!fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) &&
	    (own_dir || st.st_mtime < time(NULL) - UNFINISHED_MAX_S))
		unlinkat(dir, name, 0);
}

static void resume_journal(struct daemon *d, const char *path)
{
	struct pending_file *o = calloc(1, sizeof(*o));
	struct step *s;

	if (!o)
		return;
	s = take_up_journal(&d->env, path, &o->pub);
	if (s) {
		s->next = d->steps;
		d->steps = s;
	} else if (o->pub.name[0]) {
		o->pub.unlogged = d->opts.embedded;
		log_debug("finishing %s from the journal of an earlier run", o->pub.name);
		o->next = d->pending_files;
		d->pending_files = o;
		return;
	}
	free(o);
}

/* Releases the slots of steps that ended, and whose journals were complete, before this start. An
 * ended step without a complete journal still becomes a step, with a file. */
static void release_done_slots(struct kern *k, const struct step *steps)
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

static void resume_dir(struct daemon *d, const char *sub)
{
	char dir[PUBLISH_PATH], path[PUBLISH_PATH + 300];
	_cleanup_closedir_ DIR *list = NULL;
	struct dirent *e;

	snprintf(dir, sizeof(dir), "%s/%s", d->env.state_dir, sub);
	list = opendir(dir);
	while (list && (e = readdir(list))) {
		if (is_named(e->d_name, JOURNAL JOURNAL_UNBORN))
			remove_unfinished(dirfd(list), e->d_name, !strcmp(sub, JOURNALS_STEP));
		if (!is_named(e->d_name, JOURNAL))
			continue;
		snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
		resume_journal(d, path);
	}
}

static void log_resumed(const struct daemon *d)
{
	const struct pending_file *o;
	unsigned steps = 0, files = 0;
	const struct step *s;

	for (s = d->steps; s; s = s->next)
		steps++;
	for (o = d->pending_files; o; o = o->next)
		files++;
	if (steps || files)
		log_info("of an earlier jobprofd %u step%s, and %u file%s to be finished", steps,
			 steps == 1 ? " goes on" : "s go on", files, files == 1 ? " is" : "s are");
}

void daemon_resume(struct daemon *d)
{
	step_journal__boot_id();
	if (!d->opts.embedded)
		resume_dir(d, JOURNALS_STEP);
	resume_dir(d, JOURNALS_RUN);
	log_resumed(d);
	release_done_slots(d->env.k, d->steps);
}
