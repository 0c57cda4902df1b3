// SPDX-License-Identifier: GPL-2.0-or-later
/* The journal of a step: its file and header, and the frame that is being built. */
#include "daemon/record/step_journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/str.h"
#include "daemon/node/node.h"
#include "daemon/record/record.h"
#include "daemon/record/step_bursts.h"
#include "daemon/record/step_stacks.h"
#include "daemon/record/step_state.h"
#include "daemon/record/step_tables.h"
#include "daemon/step/task_about.h"

/* Time between rows of a step while journals take too much of the disk. */
#define REDUCED_NS (60 * NSEC_PER_SEC)

static void end_tables(struct step *s, enum frame_end end)
{
	for (unsigned i = 0; i < s->ntables; i++) {
		struct table *t = &s->tables[i];

		journaled__end_frame(&t->declared, end);
		if (t->in_frame && end == FRAME_WRITTEN && t->prev) {
			struct reading *was = t->prev;

			t->prev = t->now;
			t->now = was;
			t->between = rows__between(&t->prev->totals);
			t->life = t->life_now;
		}
		if (end == FRAME_LOST)
			t->life = (struct lifetime){};
		t->in_frame = false;
	}
}

static void end_frame(struct step *s, enum frame_end end)
{
	end_tables(s, end);
	task_about__end_frame(s, end);
	sensor_rows__end_frame(s->sensors, end);
	step_stacks__end_frame(s->stacks, end);
	if (s->recent)
		journaled__end_frame(&s->recent->rows, end);
	if (s->req)
		external_series__end_frame(&s->req->external, end);
}

/* True: this is to be logged. A journal may fail and recover often. */
static bool note_full(struct step *s)
{
	if (s->full_ns)
		return false;
	s->full_ns = clock__boot_ns();
	s->full_logged = log_every(&s->log_full, FULL_AGAIN_S);
	return s->full_logged;
}

static void log_failure(struct step *s, int err)
{
	if (!note_full(s))
		return;
	if (s->unwritable)
		log_error("%s: cannot append to the journal %s: %s: rows are left out, and the "
			  "next ones count what they would have; make room in StateDir",
			  s->pub.name, s->pub.journal, strerror(-err));
	else
		log_error("%s: journals take too much: rows are left out, and the next ones count "
			  "what they would have; see JournalUserMax, JournalMax, JournalMinFree",
			  s->pub.name);
}

static void log_recovery(struct step *s)
{
	if (s->full_logged)
		log_info("%s: its journal is written again; %llu rows were left out", s->pub.name,
			 (unsigned long long)s->lost_rows);
	s->full_logged = false;
	s->full_ns = 0;
}

/* -EDQUOT: journals take too much of the disk, and this frame is left out. */
static int write_frame(struct step *s)
{
	uint64_t now = s->reduced ? clock__boot_ns() : 0;
	int err;

	if (s->reduced && !s->closing && now < s->next_row_ns)
		return -EDQUOT;
	err = s->frame.err ?: journal__commit(s->journal);
	s->unwritable = err;
	if (!err && s->reduced)
		s->next_row_ns = now + REDUCED_NS;
	return err;
}

bool step__commit_frame(struct step *s)
{
	int err = write_frame(s);
	bool stays = !err || s->closing; /* there is no next frame */

	if (err)
		log_failure(s, err);
	else if (!s->reduced)
		log_recovery(s);
	if (!stays) {
		journal__discard(s->journal, s->frame.mark);
		s->lost_rows += s->frame.put;
		s->rows = s->frame.rows;
		s->intervals = s->frame.intervals;
	}
	end_frame(s, stays ? FRAME_WRITTEN : FRAME_DROPPED);
	return stays;
}

const char *step_journal__boot_id(void)
{
	static char id[64]; /* read once: later there may be too many open files */

	if (!id[0] && read_file(AT_FDCWD, "/proc/sys/kernel/random/boot_id", id, sizeof(id)) < 0)
		id[0] = '\0';
	id[strcspn(id, "\n")] = '\0';
	return id[0] ? id : "unknown";
}

static int put_header(struct step *s)
{
	struct journal *j = s->journal;
	char number[32];
	int i, err = 0;

	err |= journal__meta(j, "dir", s->pub.dir);
	err |= journal__meta(j, "user", s->pub.user);
	err |= journal__meta(j, "name", s->pub.name);
	snprintf(number, sizeof(number), "%u", s->pub.uid);
	err |= journal__meta(j, "uid", number);
	snprintf(number, sizeof(number), "%u", s->pub.gid);
	err |= journal__meta(j, "gid", number);
	err |= journal__meta(j, "boot", step_journal__boot_id());
	if (s->pub.unwanted)
		err |= journal__meta(j, JOURNAL_UNWANTED, "yes");
	for (i = 0; i < COUNTED_KINDS; i++)
		if (s->sets[i].ncols)
			err |= journal__series(j, i, s->sets[i].series->name,
					       s->sets[i].series->grouped, s->sets[i].cols,
					       s->sets[i].ncols);
	return err;
}

/* What is declared once in a journal is declared again. */
static void redeclare(struct step *s, const struct step_env *env)
{
	put_header(s);
	step__put_start_attrs(s, env);
	end_frame(s, FRAME_LOST);
	s->env_journaled = false;
	if (s->req)
		s->req->unjournaled = true;
	journal__attr_i64(s->journal, "Lost Bytes", s->cut_bytes);
}

/* Looks whether another program has replaced, removed or cut the journal, and mends and logs that.
 */
static void check_journal(struct step *s, const struct step_env *env)
{
	uint64_t cut;
	int err = journal__secure(s->journal, &cut);

	if (err > 0)
		log_warn("%s: another program has replaced or removed its journal %s, which is put "
			 "back; no row is lost",
			 s->pub.name, s->pub.journal);
	if (err < 0 && !s->unnamed)
		log_error("%s: another program has replaced or removed its journal %s, and it "
			  "cannot be put back: %s: its rows are lost if this process is killed; "
			  "check StateDir",
			  s->pub.name, s->pub.journal, strerror(-err));
	s->unnamed = err < 0;
	if (!cut)
		return;
	s->cut_bytes += cut;
	log_error("%s: another program has cut its journal %s: %llu bytes of rows are lost; the "
		  "file will have the other rows, and Lost Bytes",
		  s->pub.name, s->pub.journal, (unsigned long long)cut);
	redeclare(s, env);
}

void step__begin_frame(struct step *s, const struct step_env *env)
{
	check_journal(s, env);
	s->frame = (struct frame){
		.mark = journal__mark(s->journal), .rows = s->rows, .intervals = s->intervals};
}

bool step__write_rest(struct step *s, bool last)
{
	int err = s->journal ? journal__commit(s->journal) : 0;

	if (!s->journal)
		return true;
	if (err && !last) {
		log_failure(s, err);
		return false;
	}
	if (err)
		log_error("%s: the end of the profile is missing: cannot append to the journal %s: "
			  "%s",
			  s->pub.name, s->pub.journal, strerror(-err));
	if (!err)
		log_recovery(s);
	s->pub.unnamed = s->unnamed;
	/* No other process reads the journals of jobs, of which many may wait for their files. */
	if (s->unnamed || !s->pub.user[0])
		s->pub.journal_fd = journal__take_fd(s->journal);
	journal__free(s->journal);
	s->journal = NULL;
	return true;
}

int step__open_journal(struct step *s, const struct step_env *env)
{
	const char *sub = env->embedded ? JOURNALS_RUN : JOURNALS_STEP;
	int err, i;

	snprintf(s->pub.journal, sizeof(s->pub.journal), "%s/%s", env->state_dir, sub);
	mkdir(s->pub.journal, 0700);
	snprintf(s->pub.journal, sizeof(s->pub.journal), "%s/%s/%.200s.%llu.journal",
		 env->state_dir, sub, s->pub.name, (unsigned long long)s->start_real_ns);
	/* jobprof run reports at once that there will be no file */
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
	step__put_state(s, env);
	err = journal__commit(s->journal);
	s->unwritable = err;
	end_frame(s, FRAME_WRITTEN);
	if (!err)
		return 0;
	log_error("cannot begin journal %s: %s: %s; make room in StateDir", s->pub.journal,
		  strerror(-err),
		  env->embedded ? "the step is not profiled"
				: "its first rows wait, and nothing that they count is lost");
	if (env->embedded)
		unlink(s->pub.journal);
	else
		note_full(s);
	return env->embedded ? err : 0;
}

void step__refuse(struct step *s, const struct step_env *env)
{
	bool begun = s->state == STEP_ACTIVE;

	s->state = STEP_IGNORED;
	s->given_up = begun || s->refused;
	if (!env->hdf5_dir || env->embedded)
		return;
	s->pub.unwanted = true;
	if (!begun) {
		step__open_journal(s, env);
		return;
	}
	log_debug("%s is not profiled any more: its user wants no profile", s->pub.name);
	s->closing = true;
	step__begin_frame(s, env);
	journal__meta(s->journal, JOURNAL_UNWANTED, "yes");
	step__put_state(s, env);
	step__commit_frame(s);
}

void step__drop_journal(struct step *s)
{
	s->pub.unwanted = false;
	if (!s->journal)
		return;
	journal__free(s->journal);
	s->journal = NULL;
	if (!s->unnamed)
		unlink(s->pub.journal);
}
