// SPDX-License-Identifier: GPL-2.0-only
/* What may be said, by whom, and what it does. */
#include "daemon/control_messages.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/str.h"
#include "daemon/attach.h"
#include "daemon/control_live.h"
#include "daemon/control_state.h"
#include "daemon/control_status.h"
#include "daemon/request_match.h"
#include "daemon/sensor_tables.h"
#include "daemon/step_list.h"
#include "identity/proc.h"

/* How far from now a row of a job's own program may say it was made. */
#define AHEAD_NS NSEC_PER_SEC

struct call {
	struct control *c;
	struct peer *p;
	uint64_t now;
	struct jpc_reply reply;
};

static int refuse_message(struct call *k, int err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static int refuse_message(struct call *k, int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(k->reply.text, sizeof(k->reply.text), fmt, ap);
	va_end(ap);
	return err;
}

static bool is_terminated(const char *text, size_t size)
{
	return memchr(text, 0, size) != NULL;
}

#define TERMINATED(field) is_terminated(field, sizeof(field))

static bool step_texts_end(const struct jpc_step *m)
{
	return TERMINATED(m->step_name) && TERMINATED(m->families) && TERMINATED(m->freq) &&
	       TERMINATED(m->node_name) && TERMINATED(m->cluster) && TERMINATED(m->job_name) &&
	       TERMINATED(m->account) && TERMINATED(m->partition) && TERMINATED(m->user) &&
	       TERMINATED(m->cpus) && TERMINATED(m->node_list) && TERMINATED(m->job_node_list);
}

/* What slurmstepd says of the step it speaks of. */
struct stepd_step {
	uint32_t job_id, step_id;
	const char *step_name, *node;
};

/* It is in no cgroup of its job at first, and on v1 in the job's directory only: it says the rest.
 */
static void stepd_key(const struct call *k, const struct stepd_step *t, struct step_key *key)
{
	uint32_t number;

	memset(key, 0, sizeof(*key));
	key->step_id = STEP_NONE;
	key->het_comp = -1;
	key->job_id = JPC_UNKNOWN;
	if (k->p->located)
		*key = k->p->key;
	if (key->job_id == JPC_UNKNOWN)
		key->job_id = t->job_id;
	if (key->step_id == STEP_NONE) {
		key->step_id = t->step_id;
		if (layout__step_id(t->step_name, &number, &key->het_comp))
			key->het_comp = -1;
	}
	if (!key->node[0])
		str__copy(key->node, sizeof(key->node), t->node);
}

static struct request *stepd_request(struct call *k, const struct stepd_step *t, bool make)
{
	struct request *r = daemon_find_request(k->c->d, k->p->request);
	struct step_key key;

	if (!r) {
		stepd_key(k, t, &key);
		r = daemon_request_of(k->c->d, &key, make);
		k->p->request = r ? r->serial : 0;
	}
	return r;
}

/* What the step gets as things stand: the families, 0 with nothing of ours. */
static bool is_profiled(const struct daemon *d, const struct request *r, unsigned *families)
{
	*families = r->asked_by ? r->families : d->opts.families;
	return r->asked_by ? !r->none : *families != 0;
}

/* The programs must count before the tasks begin. */
static int attach_programs(struct call *k)
{
	struct daemon *d = k->c->d;

	d->sync = true;
	if (kern__attached(d->env.k))
		return 0;
	d->idle_since_ns = 0;
	if (daemon_attach(d->env.k) || kern__rescan(d->env.k, NULL))
		return refuse_message(k, -EIO, "%s", kern__error());
	return 0;
}

/* What the step's file has from us: Slurm's gatherers need not. */
static uint32_t measured_series(const struct node *node, unsigned families)
{
	static const struct {
		enum family family;
		const char *series;
		uint32_t bit;
	} theirs[] = {
		{FAM_ENERGY, "Energy", JPC_MEASURES_ENERGY},
		{FAM_INTERCONNECT, "Network", JPC_MEASURES_NETWORK},
		{FAM_FILESYSTEM, "Filesystem", JPC_MEASURES_LUSTRE},
	};
	uint32_t mask = families & FAM_BASE ? JPC_MEASURES_TASK : 0;

	for (unsigned i = 0; i < sizeof(theirs) / sizeof(theirs[0]); i++)
		if (families & theirs[i].family && sensor_tables__has(node, theirs[i].series))
			mask |= theirs[i].bit;
	return mask;
}

static int on_step(struct call *k, const struct jpc_head *h)
{
	const struct jpc_step *m = (const void *)h;
	const struct stepd_step step = {m->job_id, m->step_id, m->step_name, m->node_name};
	struct daemon *d = k->c->d;
	unsigned families;
	struct request *r;
	bool wanted;
	int err, bad;

	if (!step_texts_end(m))
		return refuse_message(k, -EINVAL, "a text does not end");
	k->p->request = 0; /* this is what says which step it is */
	r = stepd_request(k, &step, true);
	if (!r)
		return -ENOMEM;
	end_reason__find_squeue(&r->site, k->p->pid);
	bad = request__tell(r, m, &d->opts.cfg->freq, k->reply.text, sizeof(k->reply.text));
	wanted = is_profiled(d, r, &families);
	if (wanted && !d->env.hdf5_dir)
		return refuse_message(k, -ENOTDIR,
				      "ProfileHDF5Dir is not set in jobprofd's configuration");
	k->reply.number = wanted;
	k->reply.measures = measured_series(d->env.node, families);
	r->external.measures = k->reply.measures;
	err = wanted && families ? attach_programs(k) : 0;
	d->sync = true;
	return err ? err : bad;
}

static int on_conf(struct call *k, const struct jpc_head *h)
{
	const struct jpc_conf *m = (const void *)h;
	const struct stepd_step step = {m->job_id, m->step_id, m->step_name, ""};
	struct request *r;

	if (!TERMINATED(m->path) || !TERMINATED(m->step_name))
		return refuse_message(k, -EINVAL, "a text does not end");
	if (m->path[0] != '/')
		return refuse_message(k, -EINVAL, "the path of slurm.conf is not absolute");
	if (!proc__has_our_root(k->p->pid))
		return refuse_message(k, -EPERM,
				      "the path of slurm.conf is another root directory's");
	r = stepd_request(k, &step, false);
	if (!r)
		return refuse_message(k, -ESRCH, "this step is not known");
	memcpy(r->site.conf, m->path, sizeof(r->site.conf));
	return 0;
}

static int on_step_end(struct call *k, const struct jpc_head *h)
{
	const struct jpc_step_end *m = (const void *)h;
	const struct stepd_step step = {m->job_id, m->step_id, m->step_name, ""};
	struct request *r;

	if (!TERMINATED(m->reason) || !TERMINATED(m->step_name))
		return refuse_message(k, -EINVAL, "a text does not end");
	r = stepd_request(k, &step, false);
	if (!r)
		return refuse_message(k, -ESRCH, "this step is not known");
	memcpy(r->reason, m->reason, sizeof(r->reason));
	r->updated_ns = k->now;
	return 0;
}

static int on_task(struct call *k, const struct jpc_head *h)
{
	const struct jpc_task *m = (const void *)h;
	const struct stepd_step step = {m->job_id, m->step_id, m->step_name, ""};
	struct request *r;

	if (!TERMINATED(m->step_name))
		return refuse_message(k, -EINVAL, "a text does not end");
	r = stepd_request(k, &step, false);
	if (!r)
		return refuse_message(k, -ESRCH, "this step is not known");
	if (m->gtid == JPC_UNKNOWN)
		return 0;
	if (m->gtid > INT32_MAX)
		return refuse_message(k, -EINVAL, "there is no task %u", m->gtid);
	k->c->d->sync = true;
	return request__task(r, m);
}

/* The peer's step. A task's first words may come before we have looked at what the kernel says. */
static struct step *own_step(const struct call *k)
{
	const struct peer *p = k->p;
	struct step *s = p->in_step ? daemon_find_step(k->c->d, &p->key) : NULL;

	if (p->in_step && (!s || s->state == STEP_NEW)) {
		daemon_sync_steps(k->c->d);
		s = daemon_find_step(k->c->d, &p->key);
	}
	return s;
}

/* The request that rows of this peer belong to; NULL with the reason in k->reply.text. */
static struct request *rows_request(struct call *k, int *err)
{
	struct peer *p = k->p;
	struct request *r = daemon_find_request(k->c->d, p->request);
	struct step *s;

	if (r && !p->in_task)
		return r;
	s = own_step(k);
	if (!s || s->state == STEP_IGNORED) {
		*err = refuse_message(k, -ESRCH,
				      s ? "this step is not profiled: ask for it with --jobprof"
				      : p->in_step ? "this step is not known to jobprofd"
						   : "the sender is in no step of a job");
		return NULL;
	}
	if (p->uid && (!s->uid_known || s->uid != p->uid)) {
		*err = refuse_message(k, -EACCES, "this step is another user's");
		return NULL;
	}
	r = daemon_request_of(k->c->d, &p->key, true);
	p->request = r ? r->serial : 0;
	*err = r ? 0 : -ENOMEM;
	return r;
}

static int say_error(struct call *k, int err)
{
	switch (err) {
	case -EINVAL:
		return refuse_message(k, err,
				      "a name is missing, given twice, taken or not printable");
	case -EEXIST:
		return refuse_message(k, err, "it is there with other columns");
	case -EDQUOT:
		return refuse_message(k, err, "too much for one step: not stored, and counted");
	default:
		return err;
	}
}

static int on_table(struct call *k, const struct jpc_head *h)
{
	const struct jpc_table *m = (const void *)h;
	struct request *r;
	int err = 0;

	if (m->ncols > JPC_COLUMNS || h->length != sizeof(*m) + m->ncols * sizeof(m->col[0]) ||
	    m->table >= PEER_TABLES)
		return refuse_message(k, -EINVAL, "a table of %u columns does not fit its message",
				      m->ncols);
	r = rows_request(k, &err);
	if (!r)
		return err;
	err = external_series__declare(&r->external, m, k->p->in_task);
	if (err < 0)
		return say_error(k, err);
	k->p->tables[m->table] = (int16_t)err;
	return 0;
}

/* Unix time of a row, as its sender says, or now. */
static int row_time(struct call *k, const struct request *r, int64_t sent_ns, int64_t *time)
{
	int64_t now = (int64_t)clock__real_ns();
	const struct step *s;

	*time = sent_ns ? sent_ns : now;
	if (!sent_ns || !k->p->in_task)
		return sent_ns < 0 ? refuse_message(k, -ERANGE, "there is no such time") : 0;
	s = daemon_find_step(k->c->d, &r->key);
	if (sent_ns > now + (int64_t)AHEAD_NS || !s || sent_ns < (int64_t)s->start_real_ns)
		return refuse_message(k, -ERANGE,
				      "the time is not between the step's start and now");
	return 0;
}

static int on_rows(struct call *k, const struct jpc_head *h)
{
	const struct jpc_rows *m = (const void *)h;
	struct request *r;
	int err = 0, index;
	unsigned ncols, i;
	int64_t time;

	r = rows_request(k, &err);
	if (!r)
		return err;
	index = m->table < PEER_TABLES ? k->p->tables[m->table] : -1;
	if (index < 0 || (unsigned)index >= r->external.ntables)
		return refuse_message(k, -EINVAL, "table %u was not declared", m->table);
	ncols = r->external.table[index]->ncols;
	if (m->nrows > JPC_MAX || h->length != sizeof(*m) + 8ull * m->nrows * (1 + ncols))
		return refuse_message(k, -EINVAL, "%u rows of %u columns do not fit their message",
				      m->nrows, ncols);
	for (i = 0; !err && i < m->nrows; i++) {
		const uint64_t *row = &m->cell[i * (1 + ncols)];

		err = row_time(k, r, (int64_t)row[0], &time);
		if (!err)
			err = say_error(k, external_series__row(&r->external, (unsigned)index, time,
								row + 1));
	}
	k->c->d->external_rows = true;
	return err;
}

static int on_mark(struct call *k, const struct jpc_head *h)
{
	const struct jpc_mark *m = (const void *)h;
	struct request *r;
	int64_t time;
	int err = 0;

	if (!TERMINATED(m->name))
		return refuse_message(k, -EINVAL, "a text does not end");
	r = rows_request(k, &err);
	if (!r)
		return err;
	err = row_time(k, r, m->time_ns, &time);
	if (!err)
		err = say_error(k, external_series__mark(&r->external, time, m->name));
	k->c->d->external_rows = true;
	return err;
}

static int on_live(struct call *k, const struct jpc_head *h)
{
	const struct jpc_live *m = (const void *)h;
	int err;

	if (!TERMINATED(m->step_name))
		return refuse_message(k, -EINVAL, "a text does not end");
	err = control_live__begin(k->c, k->p, m);
	if (err == -ESRCH && m->job_id != JPC_UNKNOWN)
		return refuse_message(k, err,
				      "no step of job %u that runs on this node is profiled%s",
				      m->job_id, m->step_name[0] ? ", or none of that name" : "");
	if (err == -ESRCH)
		return refuse_message(
			k, err,
			"this process is in no step that is profiled: ask for a profile, "
			"as in srun --jobprof=all");
	return err;
}

static int on_status(struct call *k, const struct jpc_head *h)
{
	(void)h;
	if (k->p->uid && !k->p->admin)
		return refuse_message(k, -EPERM, "root and AdminGroup may ask for this");
	return control_status__send(k->c, k->p, &k->reply.number, k->now);
}

#define ANY_SIZE  1 /* the size is the least one */
#define ROOT_ONLY 2
#define ANSWER	  4 /* always */

static const struct {
	size_t size;
	unsigned flags;
	int (*handle)(struct call *k, const struct jpc_head *h);
} messages[] = {
	[JPC_STEP] = {sizeof(struct jpc_step), ROOT_ONLY | ANSWER, on_step},
	[JPC_CONF] = {sizeof(struct jpc_conf), ROOT_ONLY, on_conf},
	[JPC_STEP_END] = {sizeof(struct jpc_step_end), ROOT_ONLY | ANSWER, on_step_end},
	[JPC_TASK] = {sizeof(struct jpc_task), ROOT_ONLY, on_task},
	[JPC_TASK_END] = {sizeof(struct jpc_task), ROOT_ONLY, on_task},
	[JPC_TABLE] = {sizeof(struct jpc_table), ANY_SIZE | ANSWER, on_table},
	[JPC_ROWS] = {sizeof(struct jpc_rows), ANY_SIZE, on_rows},
	[JPC_MARK] = {sizeof(struct jpc_mark), 0, on_mark},
	[JPC_LIVE] = {sizeof(struct jpc_live), ANSWER, on_live},
	[JPC_STATUS] = {sizeof(struct jpc_status), ANSWER, on_status},
};

static int handle_message(struct call *k, const struct jpc_head *h)
{
	size_t size;
	unsigned flags;

	if (h->type >= sizeof(messages) / sizeof(messages[0]) || !messages[h->type].handle)
		return refuse_message(k, -EOPNOTSUPP, "there is no message %u", h->type);
	size = messages[h->type].size;
	flags = messages[h->type].flags;
	if (h->length < size || (h->length > size && !(flags & ANY_SIZE)))
		return refuse_message(k, -EBADMSG, "a message %u is not of %u bytes", h->type,
				      h->length);
	if ((flags & ROOT_ONLY) && k->p->uid)
		return refuse_message(k, -EPERM, "only root may say this");
	return messages[h->type].handle(k, h);
}

void control_messages__handle(struct control *c, struct peer *p, const struct jpc_head *h,
			      uint64_t now)
{
	struct call k = {.c = c, .p = p, .now = now};
	uint16_t seq = h->seq; /* its place may be used for the answer */
	bool answer =
		(h->flags & JPC_F_REPLY) || (h->type < sizeof(messages) / sizeof(messages[0]) &&
					     messages[h->type].flags & ANSWER);

	k.reply.error = handle_message(&k, h);
	if (p->live.on) /* the answer ends with its REPLY */
		control_live__continue(c, p, now);
	else if (answer)
		peer__reply(p, seq, &k.reply, now);
}
