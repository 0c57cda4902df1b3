// SPDX-License-Identifier: GPL-2.0-only
/* A step's journal: opening it, and finding the place again after a restart. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/str.h"
#include "daemon/step_internal.h"
#include "sensor/node/cgroup.h"

#define STATE_VERSION 7

/* What J_STATE holds: this, then for every table its head and what its rows are differences of.
 * Read back only by the same build on the same boot. */
struct saved {
	uint32_t version;
	uint32_t shape; /* of what follows: see saved_shape() */
	uint32_t slot, gen;
	uint64_t maps_born_ns;
	uint64_t cgroup_id;
	uint64_t start_boot_ns, start_real_ns;
	uint64_t rows, intervals, lost_rows;
	uint32_t ntables;
	uint32_t hier;
	uint32_t families;
	uint32_t own_freq;
	uint32_t unread;
	uint32_t asked; /* and all answers have come */
	uint64_t interval_ns[ALL_KINDS];
	struct cgroup_ids ids;
	struct totals others0;
	double throttled_base; /* see cg_files__base() */
	char path[JP_PATH_LEN];
};

struct saved_table {
	uint32_t id;
	uint32_t journaled;
	int32_t kind, gtid;
	struct between between;
	uint64_t prev_boot_ns;
};

static uint32_t saved_shape(void)
{
	return sizeof(struct saved_table) << 20 | sizeof(struct totals) << 8 | HIST_CELLS;
}

/* Bytes of a table of that kind after its head. */
static size_t saved_bytes(int kind)
{
	if (kind < 0 || kind >= COUNTED_KINDS)
		return 0;
	if (step__is_hist(kind))
		return sizeof(((struct reading *)0)->hist);
	return sizeof(struct totals) + (kind == KIND_STEP ? sizeof(((struct reading *)0)->cg) : 0);
}

static char *save_table(char *to, const struct table *t)
{
	/* it is in the frame that makes it true */
	const struct reading *prev = t->in_frame ? &t->now : &t->prev;
	struct saved_table h = {.id = t->id,
				.journaled = t->journaled,
				.kind = t->kind,
				.gtid = t->gtid,
				.between = t->in_frame ? rows__between(&prev->totals) : t->between,
				.prev_boot_ns = prev->boot_ns};

	memcpy(to, &h, sizeof(h));
	to += sizeof(h);
	if (step__is_hist(t->kind))
		memcpy(to, prev->hist, sizeof(prev->hist));
	else
		memcpy(to, &prev->totals, sizeof(prev->totals));
	if (t->kind == KIND_STEP)
		memcpy(to + sizeof(prev->totals), prev->cg, sizeof(prev->cg));
	return to + saved_bytes(t->kind);
}

/* Where the next one begins; NULL: cut off, or none that we have written. */
static const char *load_table(const char *from, const char *end, struct table *t)
{
	struct saved_table h;

	if ((size_t)(end - from) < sizeof(h))
		return NULL;
	memcpy(&h, from, sizeof(h));
	from += sizeof(h);
	if (!saved_bytes(h.kind) || (size_t)(end - from) < saved_bytes(h.kind))
		return NULL;
	memset(t, 0, sizeof(*t));
	t->id = h.id;
	t->journaled = h.journaled;
	t->kind = h.kind;
	t->gtid = h.gtid;
	t->between = h.between;
	t->prev.boot_ns = h.prev_boot_ns;
	if (step__is_hist(t->kind))
		memcpy(t->prev.hist, from, sizeof(t->prev.hist));
	else
		memcpy(&t->prev.totals, from, sizeof(t->prev.totals));
	if (t->kind == KIND_STEP)
		memcpy(t->prev.cg, from + sizeof(t->prev.totals), sizeof(t->prev.cg));
	return from + saved_bytes(h.kind);
}

static void boot_id(char *buf, size_t len)
{
	if (read_file(AT_FDCWD, "/proc/sys/kernel/random/boot_id", buf, len) < 0)
		snprintf(buf, len, "unknown");
	buf[strcspn(buf, "\n")] = 0;
}

static int put_header(struct step *s, const struct step_env *env)
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
	boot_id(boot, sizeof(boot));
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
	if (put_header(s, env)) {
		log_error("cannot describe %s in its journal: out of memory", s->pub.name);
		return -ENOMEM;
	}
	step__put_start_attrs(s, env);
	for (i = 0; i < COUNTED_KINDS; i++)
		if (s->sets[i].ncols && !s->sets[i].series->grouped)
			step__table(s, env, i, JP_GTID_NONE);
	step__put_state(s, env);
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

void step__put_state(struct step *s, const struct step_env *env)
{
	const struct jp_slot *info = kern__slot(env->k, s->slot);
	size_t len = sizeof(struct saved);
	struct saved *v;
	unsigned i;
	char *to;

	for (i = 0; i < s->ntables; i++)
		len += sizeof(struct saved_table) + saved_bytes(s->tables[i].kind);
	v = calloc(1, len);
	if (!v)
		return;
	v->version = STATE_VERSION;
	v->shape = saved_shape();
	v->slot = s->slot;
	v->gen = s->gen;
	v->maps_born_ns = kern__control(env->k)->born_ns;
	v->cgroup_id = info->cgroup_id;
	v->hier = info->hier;
	v->start_boot_ns = s->start_boot_ns;
	v->start_real_ns = s->start_real_ns;
	v->rows = s->rows;
	v->intervals = s->intervals;
	v->lost_rows = s->lost_rows;
	v->ntables = s->ntables;
	v->families = s->families;
	v->own_freq = s->own_freq;
	v->unread = s->unread;
	v->asked = s->asked && !s->unanswered;
	memcpy(v->interval_ns, s->interval_ns, sizeof(v->interval_ns));
	v->ids = s->ids;
	v->others0 = s->others0;
	v->throttled_base = cg_files__base(s->cg);
	memcpy(v->path, s->path, sizeof(v->path));
	to = (char *)(v + 1);
	for (i = 0; i < s->ntables; i++)
		to = save_table(to, &s->tables[i]);
	journal__state(s->journal, v, len);
	free(v);
}

struct scan {
	struct saved *saved; /* last J_STATE */
	size_t saved_len;
	char boot[64];
	bool ended;
	bool foreign; /* has series that we do not know */
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
			external_series__remember_mark(&sc->external, rec.name, rec.str);
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
	if (!err && (!p->name[0] || !p->dir[0] || !str__safe_name(p->name)))
		err = -EBADMSG;
	journal_reader__free(r);
	close(fd);
	return err;
}

/* The slot that counts for the saved step now: its own, or after a reload one of its cgroup. */
static uint32_t find_slot(const struct step_env *env, const struct saved *v, bool *same)
{
	uint32_t i;

	for (i = JP_SLOT_FIRST; i < kern__nslots(env->k); i++) {
		const struct jp_slot *info = kern__slot(env->k, i);

		if (info->state == JP_SLOT_FREE || info->kind != JP_KIND_STEP ||
		    info->cgroup_id != v->cgroup_id || info->hier != v->hier)
			continue;
		*same = i == v->slot && info->gen == v->gen &&
			kern__control(env->k)->born_ns == v->maps_born_ns;
		return i;
	}
	return UINT32_MAX;
}

/* The tables as they were: 0, or -EBADMSG when they are not all there. */
static int restore_state(struct step *s, const struct saved *v, size_t len, bool same)
{
	const char *from = (const char *)(v + 1), *end = (const char *)v + len;
	const struct layout *row;
	unsigned i;

	s->start_boot_ns = v->start_boot_ns;
	s->start_real_ns = v->start_real_ns;
	s->rows = v->rows;
	s->intervals = v->intervals;
	s->lost_rows = v->lost_rows;
	row = s->ids.row; /* a pointer of another process's there */
	s->ids = v->ids;
	s->ids.row = row;
	s->families = v->families;
	s->own_freq = v->own_freq;
	s->unread = v->unread;
	if (s->own_freq)
		memcpy(s->interval_ns, v->interval_ns, sizeof(s->interval_ns));
	if (!s->cg)
		s->cg = cg_files__new(v->throttled_base);
	if (same) /* other maps began at zero: nobody's counts of before are lost too */
		s->others0 = v->others0;
	else
		memset(&s->others0, 0, sizeof(s->others0));
	if (v->ntables > JOURNAL_TABLES_MAX)
		return -EBADMSG;
	s->tables = calloc(v->ntables + 1, sizeof(struct table));
	if (!s->tables)
		return -ENOMEM;
	s->max_tables = v->ntables;
	s->asked = same && v->asked;
	for (i = 0; i < v->ntables; i++) {
		struct table *t = &s->tables[i];

		from = load_table(from, end, t);
		if (!from)
			return -EBADMSG;
		if (t->journaled == JOURNALED_PENDING) /* in the frame that told us so */
			t->journaled = JOURNALED_YES;
		if (same)
			continue;
		/* other maps began at zero: what was counted between is in nobody's */
		memset(&t->prev.totals, 0, sizeof(t->prev.totals));
		memset(t->prev.hist, 0, sizeof(t->prev.hist));
	}
	s->ntables = v->ntables;
	return 0;
}

/* What others brought goes on under numbers that are not taken. */
static struct request *earlier_request(const struct step *s, const struct step_env *env,
				       const struct external_series *g)
{
	struct step_key p;
	struct request *r;

	step__key(s, env, &p);
	r = request__new(&p);
	if (r)
		r->external = *g;
	return r;
}

static struct step *resume_step(const struct step_env *env, const char *path, struct publication *p,
				const struct scan *sc)
{
	const struct saved *v = sc->saved;
	bool same = false;
	uint32_t slot = find_slot(env, v, &same);
	struct step *s;
	uint64_t cut = 0;

	if (slot == UINT32_MAX)
		return NULL;
	s = step__new(env, slot);
	if (!s || restore_state(s, v, sc->saved_len, same) ||
	    journal__reopen(&s->journal, path, &cut)) {
		step__free(s);
		return NULL;
	}
	sensor_rows__resume(s->sensors, &sc->node);
	if (sc->external.next_id)
		s->req = earlier_request(s, env, &sc->external);
	/* the settings may have changed, what its rows are may not */
	memcpy(s->sets, sc->sets, sizeof(s->sets));
	memcpy(s->path, v->path, sizeof(s->path));
	s->pub = *p;
	s->uid_known = true;
	s->uid = p->uid;
	s->gid = p->gid;
	s->state = STEP_ACTIVE;
	journal__attr_str(
		s->journal, "Restarted",
		same ? "jobprofd was restarted; no count is lost"
		     : "jobprofd was restarted with other programs; counts between are lost");
	log_info("%s goes on after a restart%s", p->name,
		 same ? "" : " (counts in between are lost)");
	return s;
}

/* No longer to be continued: says why and completes it, so that the file can be made. */
static void close_journal(const char *path, const char *reason)
{
	struct journal *j;
	uint64_t cut;

	if (journal__reopen(&j, path, &cut))
		return;
	journal__attr_str(j, "End Reason", reason);
	if (cut)
		journal__attr_i64(j, "Lost Bytes", cut);
	journal__end(j);
	journal__commit(j);
	journal__free(j);
}

/* Somebody is writing it: another daemon, or a jobprof run. */
static bool is_locked(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	bool taken = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK;

	if (fd >= 0)
		close(fd);
	return taken;
}

/* Made, and its maker killed before it could write a word. */
static bool is_empty(const char *path)
{
	struct stat st;

	return !lstat(path, &st) && S_ISREG(st.st_mode) && st.st_size <= JOURNAL_HEADER_SIZE;
}

struct step *step__resume(const struct step_env *env, const char *path, struct publication *p)
{
	struct scan sc = {};
	struct step *s = NULL;
	char boot[64];
	int err;

	memset(p, 0, sizeof(*p));
	str__copy(p->journal, sizeof(p->journal), path);
	if (is_locked(path))
		return NULL;
	err = scan_journal(env, path, p, &sc);
	if (err && is_empty(path)) {
		unlink(path);
		p->name[0] = 0;
	} else if (err) {
		log_error("%s is not a usable journal: %s: left where it is", path, strerror(-err));
		p->name[0] = 0;
	} else if (!sc.ended) {
		boot_id(boot, sizeof(boot));
		if (!strcmp(boot, sc.boot) && sc.saved && sc.saved->version == STATE_VERSION &&
		    sc.saved->shape == saved_shape() && !sc.foreign)
			s = resume_step(env, path, p, &sc);
		if (!s)
			close_journal(path, strcmp(boot, sc.boot)
						    ? "node rebooted"
						    : "ended while jobprofd was away");
	}
	free(sc.saved);
	return s;
}
