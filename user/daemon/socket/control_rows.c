/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Messages with external series, whose rows go to the request of a step. */
#include "daemon/socket/control_internal.h"

#include <errno.h>

#include "base/clock.h"
#include "daemon/follow/follow.h"

/* ---- regions of a job's processes: each has a ring, which is read into the request of its step */

#define RECORDS_PER_CHARGE 64 /* are as much work as a message */

/* Where the instances of a ring go. */
struct region_sink {
	struct external_series *to;
	const struct region_ring *ring;
	int64_t real_minus_mono_ns;
	uint32_t process;
	unsigned named; /* the region of that name, from 1; 0: none yet */
	char name[64];
};

static void on_instance(void *ctx, const struct region_instance *i)
{
	struct region_sink *s = ctx;
	const struct external_region r = {i->begin_ns, i->end_ns,	    s->process,
					  i->thread,   THREAD_USED_UNKNOWN, THREAD_USED_UNKNOWN};

	if (s->named != i->region + 1 && !region_ring__name(s->ring, i->region, s->name)) {
		s->to->lost_regions += 2;
		return;
	}
	s->named = i->region + 1;
	external_series__region(s->to, (int64_t)i->end_ns + s->real_minus_mono_ns, s->name, &r);
}

/* For a process that the journal knows, the journal's values are used and not those of the process.
 */
static void meet_process(const struct peer *p, struct region_accounts *accounts)
{
	const struct region_account *a;

	if (!region_ring__meet(p->ring))
		return;
	a = region_accounts__find(accounts, p->ring_pid, p->ring->id);
	if (a)
		p->ring->known = a->settled;
}

void control_ring__read(struct control *c, struct peer *p, uint64_t now, bool last)
{
	struct request *r = p->ring ? request_match__of_serial(&c->d->env, p->request) : NULL;
	uint64_t mono = clock__mono_ns(), records, lost;
	struct region_sink sink = {.ring = p->ring, .process = (uint32_t)p->ring_pid};
	struct region_pass pass = {.fn = on_instance, .ctx = &sink};
	const struct step *s;

	if (!r)
		return;
	if (quota__may_work(p->quota, now))
		pass.most = c->ring_records;
	s = request_match__find_step(c->d->steps, &r->key);
	if (!s)
		return;
	sink.to = &r->external;
	sink.real_minus_mono_ns = (int64_t)clock__real_ns() - (int64_t)mono;
	meet_process(p, &r->external.accounts);
	lost = p->ring->pairs.lost;
	/* both clocks run alike, but for the time that the machine slept */
	pass.from_ns = mono - (clock__boot_ns() - s->start_boot_ns);
	records = region_ring__read(p->ring, &pass);
	if (last)
		region_ring__end(p->ring);
	r->external.lost_regions += p->ring->pairs.lost - lost;
	if (p->ring->id)
		region_accounts__set(&r->external.accounts, p->ring_pid, p->ring->id,
				     region_ring__settled(p->ring));
	c->ring_records -= records;
	quota__charge(p->quota, (double)records / RECORDS_PER_CHARGE);
	c->d->env.external_rows |= external_series__has_new(&r->external);
}

static void end_ring(struct control *c, struct peer *p, uint64_t now)
{
	control_ring__read(c, p, now, true);
	region_ring__free(p->ring);
	p->ring = NULL;
}

/* A process has one ring, that of its last connection. */
int control_ring__message(struct call *k, const struct jpc_head *h)
{
	struct jpc_ring_message m;
	struct request *r;
	int err = 0;

	(void)h;
	if (!k->p->in_task)
		return reply__refuse(&k->reply, -ESRCH, CONTROL_NO_STEP);
	r = control_rows__request(k, &err);
	if (!r)
		return err;
	if (k->p->ring && k->p->ring_pid == k->p->pid) {
		control_ring__read(k->c, k->p, k->now, false);
		return 0;
	}
	for (struct peer *p = k->c->peers; p; p = p->next)
		if (p == k->p || (p->ring && p->ring_pid == k->p->pid))
			end_ring(k->c, p, k->now);
	quota__charge(k->p->quota, QUOTA_RING);
	err = region_ring__make(&k->p->ring);
	if (err)
		return reply__refuse(&k->reply, err, "no memory for regions");
	k->p->ring_pid = k->p->pid;
	m.head = (struct jpc_head){
		.magic = JPC_MAGIC, .version = JPC_VERSION, .type = JPC_RING, .length = sizeof(m)};
	err = peer__send_fds(k->p, &m,
			     (const int[FD_MESSAGE_FILES]){k->p->ring->fd, k->p->ring->read_fd});
	if (err) {
		region_ring__free(k->p->ring);
		k->p->ring = NULL;
		return err;
	}
	region_ring__given(k->p->ring);
	return 0;
}

/* How far the time of a row from a job's own program may be from now. */
#define AHEAD_NS NSEC_PER_SEC

/* A task's first message may come before the events of the kernel have been read. */
struct step *control_rows__own_step(const struct call *k)
{
	const struct peer *p = k->p;
	struct step *s = p->in_step ? request_match__find_step(k->c->d->steps, &p->key) : NULL;

	if (p->in_step && (!s || s->state == STEP_NEW)) {
		daemon_sync_steps(k->c->d);
		s = request_match__find_step(k->c->d->steps, &p->key);
	}
	return s;
}

struct request *control_rows__request(struct call *k, int *err)
{
	struct peer *p = k->p;
	struct request *r = request_match__of_serial(&k->c->d->env, p->request);
	struct step *s;

	if (r && !p->in_task)
		return r;
	s = control_rows__own_step(k);
	if (!s || s->state == STEP_IGNORED) {
		*err = reply__refuse(&k->reply, -ESRCH,
				     s ? "this step is not profiled: ask for it with --jobprof"
				     : p->in_step ? "this step is not known to jobprofd"
						  : CONTROL_NO_STEP);
		return NULL;
	}
	if (p->uid && (!s->uid_known || s->uid != p->uid)) {
		*err = reply__refuse(&k->reply, -EACCES, "this step is another user's");
		return NULL;
	}
	r = request_match__of_step(&k->c->d->env, &p->key, true);
	p->request = r ? r->serial : 0;
	*err = r ? 0 : -ENOMEM;
	return r;
}

static int refuse_error(struct call *k, int err)
{
	switch (err) {
	case -EINVAL:
		return reply__refuse(&k->reply, err,
				     "a name is missing, given twice, taken, or has a "
				     "character that no name has");
	case -EDQUOT:
		return reply__refuse(&k->reply, err,
				     "too much for one step: not stored, and counted");
	default:
		return err;
	}
}

#define COLUMNS 110 /* their room in the text of the reply */

static int refuse_table(struct call *k, const struct request *r, const struct jpc_table *m, int err)
{
	char columns[COLUMNS];

	if (err != -EEXIST)
		return refuse_error(k, err);
	external_series__columns(&r->external, m, k->p->in_task, columns, sizeof(columns));
	return reply__refuse(
		&k->reply, err,
		"series %s has the columns %s in this step: give these, or another name", m->name,
		columns);
}

int control_rows__table(struct call *k, const struct jpc_head *h)
{
	const struct jpc_table *m = (const void *)h;
	struct request *r;
	int err = 0;

	if (m->ncols > JPC_COLUMNS || h->length != sizeof(*m) + m->ncols * sizeof(m->col[0]) ||
	    m->table >= PEER_TABLES)
		return reply__refuse(&k->reply, -EINVAL,
				     "a table of %u columns does not fit its message", m->ncols);
	r = control_rows__request(k, &err);
	if (!r)
		return err;
	err = external_series__declare(&r->external, m, k->p->in_task);
	if (err < 0)
		return refuse_table(k, r, m, err);
	k->p->tables[m->table] = (int16_t)err;
	return 0;
}

/* Unix time of a row: the time in the message, or now. */
static int row_time(struct call *k, const struct request *r, int64_t sent_ns, int64_t *time)
{
	int64_t now = (int64_t)clock__real_ns();
	const struct step *s;

	*time = sent_ns ? sent_ns : now;
	if (!sent_ns || !k->p->in_task)
		return sent_ns < 0 ? reply__refuse(&k->reply, -ERANGE, "there is no such time") : 0;
	s = request_match__find_step(k->c->d->steps, &r->key);
	if (sent_ns > now + (int64_t)AHEAD_NS || !s || sent_ns < (int64_t)s->start_real_ns)
		return reply__refuse(&k->reply, -ERANGE,
				     "the time is not between the step's start and now");
	return 0;
}

int control_rows__rows(struct call *k, const struct jpc_head *h)
{
	const struct jpc_rows *m = (const void *)h;
	struct request *r;
	int err = 0, index;
	unsigned ncols, i;
	int64_t time;

	r = control_rows__request(k, &err);
	if (!r)
		return err;
	index = m->table < PEER_TABLES ? k->p->tables[m->table] : -1;
	if (index < 0 || (unsigned)index >= r->external.ntables)
		return reply__refuse(&k->reply, -EINVAL, "table %u was not declared", m->table);
	ncols = r->external.table[index]->ncols;
	if (m->nrows > JPC_MAX || h->length != sizeof(*m) + 8ull * m->nrows * (1 + ncols))
		return reply__refuse(&k->reply, -EINVAL,
				     "%u rows of %u columns do not fit their message", m->nrows,
				     ncols);
	for (i = 0; !err && i < m->nrows; i++) {
		const uint64_t *row = &m->cell[i * (1 + ncols)];

		err = row_time(k, r, (int64_t)row[0], &time);
		if (!err)
			err = refuse_error(k, external_series__row(&r->external, (unsigned)index,
								   time, row + 1));
	}
	k->c->d->env.external_rows = true;
	return err;
}

int control_rows__mark(struct call *k, const struct jpc_head *h)
{
	const struct jpc_mark *m = (const void *)h;
	struct request *r;
	int64_t time;
	int err = 0;

	if (!TERMINATED(m->name))
		return reply__refuse(&k->reply, -EINVAL, "a text does not end");
	r = control_rows__request(k, &err);
	if (!r)
		return err;
	err = row_time(k, r, m->time_ns, &time);
	if (!err)
		err = refuse_error(k, external_series__mark(&r->external, time, m->name));
	k->c->d->env.external_rows = true;
	return err;
}
