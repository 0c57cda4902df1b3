// SPDX-License-Identifier: GPL-2.0-only
/* Regions of a job's processes: each has a ring, which is read into the request of its step. */
#include <errno.h>

#include "base/clock.h"
#include "daemon/follow/follow.h"
#include "daemon/socket/control_internal.h"

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

/* Of a process that the journal knows: what it says counts, not what the process says. */
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
