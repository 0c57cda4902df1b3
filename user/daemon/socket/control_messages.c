/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The messages of the socket: their sizes, the users that may send them, and their effect. */
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "daemon/child/publication.h"
#include "daemon/follow/daemon_state.h"
#include "daemon/follow/follow.h"
#include "daemon/follow/kernel_watch.h"
#include "daemon/node/node.h"
#include "daemon/record/record.h"
#include "daemon/socket/control_internal.h"
#include "identity/proc.h"

/* ---- what a program's own step, and one task of it, have used up to now, sent to that program:
 * it makes rows of the profile only where these and the step's journal are asked for */

static int check_step(struct call *k, const struct step *s)
{
	const struct peer *p = k->p;

	if (!s || s->state == STEP_IGNORED)
		return reply__refuse(&k->reply, -ESRCH, CONTROL_NO_STEP);
	if (p->uid && s->uid_known && s->uid != p->uid)
		return reply__refuse(&k->reply, -EACCES, "this step is another user's");
	if (s->state != STEP_ACTIVE || (p->uid && !s->uid_known))
		return reply__refuse(&k->reply, -EAGAIN, "this step has just begun");
	return 0;
}

/* 0 also where the step has no such table. */
static int send_kind(struct call *k, struct step *s, int kind, int gtid)
{
	const struct table t = {.kind = kind, .gtid = gtid};
	union cell cells[MAX_COLUMNS];

	if (!step__totals(s, &k->c->d->env, kind, gtid, cells))
		return 0;
	return control_live__send(k->c, k->p, s, &t, cells, k->now);
}

/* The user may read what the step's file will have. The answer is useful also without it. */
static void send_journal(struct call *k, const struct step *s)
{
	const struct jpc_journal m = {.head = {.magic = JPC_MAGIC,
					       .version = JPC_VERSION,
					       .type = JPC_JOURNAL,
					       .length = sizeof(m)}};
	int fd = s->unnamed ? -1 : journal_copy__start(s->pub.journal);

	if (fd < 0)
		return;
	peer__send_fds(k->p, &m, (const int[FD_MESSAGE_FILES]){fd, -1});
	close(fd);
}

/* Sends the totals of the peer's own step, and of one task of it. 0 or -errno. */
static int control_totals_send(struct call *k, const struct jpc_totals *question)
{
	const bool rows = question->head.flags & JPC_F_ROWS;
	const bool journal = rows && question->head.flags & JPC_F_JOURNAL;
	const uint32_t task = question->task; /* the buffer is used for the answer */
	struct step *s = control_rows__own_step(k);
	int err = check_step(k, s);

	if (err)
		return err;
	quota__charge(k->p->quota, QUOTA_LOOK + (rows ? QUOTA_ROWS : 0));
	err = sampling__look(&k->c->d->env);
	if (err)
		return reply__refuse(&k->reply, err, "the counters cannot be read");
	if (rows)
		sampling__rows_of(s, &k->c->d->env);
	if (journal)
		send_journal(k, s);
	k->p->live.tables = 0;
	err = send_kind(k, s, KIND_STEP, JP_GTID_NONE);
	if (!err && task <= INT32_MAX)
		err = send_kind(k, s, KIND_TASKS, (int)task);
	k->reply.number = k->p->live.tables;
	return err;
}

#define ANY_SIZE  1 /* the size is the least one */
#define ROOT_ONLY 2
#define ANSWER	  4 /* an answer is always sent */

static bool step_texts_end(const struct jpc_step *m)
{
	return TERMINATED(m->step_name) && TERMINATED(m->families) && TERMINATED(m->freq) &&
	       TERMINATED(m->node_name) && TERMINATED(m->cluster) && TERMINATED(m->job_name) &&
	       TERMINATED(m->account) && TERMINATED(m->partition) && TERMINATED(m->user) &&
	       TERMINATED(m->cpus) && TERMINATED(m->node_list) && TERMINATED(m->job_node_list);
}

/* The step to which a message of slurmstepd belongs, as the message says. */
struct stepd_step {
	uint32_t job_id, step_id;
	const char *step_name, *node;
};

/* slurmstepd is in no cgroup of its job at first, and on v1 in the job's directory only: its
 * message has the rest of the key. */
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
	struct request *r = request_match__of_serial(&k->c->d->env, k->p->request);
	struct step_key key;

	if (!r) {
		stepd_key(k, t, &key);
		r = request_match__of_step(&k->c->d->env, &key, make);
		k->p->request = r ? r->serial : 0;
	}
	return r;
}

/* The families that the step gets by what is known now; 0 is possible: the step is then profiled
 * with external series only. */
static bool is_profiled(const struct daemon_opts *opts, const struct request *r, unsigned *families)
{
	*families = r->asked_by ? r->families : opts->families;
	return r->asked_by ? !r->none : *families != 0;
}

/* Attaches the programs: they must count before the tasks begin. */
static int attach_programs(struct call *k)
{
	struct daemon *d = k->c->d;

	d->watch.sync = true;
	if (kern__attached(d->env.k))
		return 0;
	d->watch.idle_since_ns = 0;
	if (kernel_watch__attach(d->env.k) || kern__rescan(d->env.k, NULL))
		return reply__refuse(&k->reply, -EIO, "%s", kern__error());
	return 0;
}

/* The series that jobprofd measures for the step: Slurm's gatherers need not. */
static uint32_t measured_series(const struct node *node, unsigned families)
{
	uint32_t mask = families & FAM_BASE ? JPC_MEASURES_TASK : 0;

	for (int i = 0; i < GATHERERS; i++)
		if (families & gatherers[i].family && node__has_series(node, gatherers[i].series))
			mask |= gatherers[i].measures;
	return mask;
}

/* On the first node alone: a problem of all nodes is told once. */
static void want_findings(struct call *k, struct request *r, bool profiled)
{
	enum config_live_findings of = k->c->d->opts.cfg->live_findings;

	r->findings.wanted = profiled && r->info.node_index == 0 && r->spank &&
			     (of == LIVE_FINDINGS_ALL ||
			      (of == LIVE_FINDINGS_ASKED && r->info.flags & JPC_STEP_FINDINGS));
	if (r->findings.wanted)
		k->reply.flags |= JPC_REPLY_FINDINGS;
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
		return reply__refuse(&k->reply, -EINVAL, "a text does not end");
	k->p->request = 0; /* this message says to which step the peer belongs */
	r = stepd_request(k, &step, true);
	if (!r)
		return -ENOMEM;
	end_reason__find_squeue(&r->slurmd, k->p->pid);
	bad = request__update(r, m, &d->opts.cfg->freq, k->reply.text, sizeof(k->reply.text));
	wanted = is_profiled(&d->opts, r, &families);
	if (wanted && !d->env.hdf5_dir)
		return reply__refuse(&k->reply, -ENOTDIR,
				     "ProfileHDF5Dir is not set in jobprofd's configuration");
	k->reply.number = wanted;
	want_findings(k, r, wanted);
	k->reply.measures = measured_series(d->env.node, families);
	r->external.measures = k->reply.measures;
	err = wanted && families ? attach_programs(k) : 0;
	d->watch.sync = true;
	return err ? err : bad;
}

static int on_conf(struct call *k, const struct jpc_head *h)
{
	const struct jpc_conf *m = (const void *)h;
	const struct stepd_step step = {m->job_id, m->step_id, m->step_name, ""};
	struct request *r;

	if (!TERMINATED(m->path) || !TERMINATED(m->step_name))
		return reply__refuse(&k->reply, -EINVAL, "a text does not end");
	if (m->path[0] != '/')
		return reply__refuse(&k->reply, -EINVAL, "the path of slurm.conf is not absolute");
	if (!proc__has_our_root(k->p->pid))
		return reply__refuse(&k->reply, -EPERM,
				     "the path of slurm.conf is another root directory's");
	r = stepd_request(k, &step, false);
	if (!r)
		return reply__refuse(&k->reply, -ESRCH, "this step is not known");
	memcpy(r->slurmd.conf, m->path, sizeof(r->slurmd.conf));
	return 0;
}

static int on_step_end(struct call *k, const struct jpc_head *h)
{
	const struct jpc_step_end *m = (const void *)h;
	const struct stepd_step step = {m->job_id, m->step_id, m->step_name, ""};
	struct request *r;

	if (!TERMINATED(m->reason) || !TERMINATED(m->step_name))
		return reply__refuse(&k->reply, -EINVAL, "a text does not end");
	r = stepd_request(k, &step, false);
	if (!r)
		return reply__refuse(&k->reply, -ESRCH, "this step is not known");
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
		return reply__refuse(&k->reply, -EINVAL, "a text does not end");
	r = stepd_request(k, &step, false);
	if (!r)
		return reply__refuse(&k->reply, -ESRCH, "this step is not known");
	if (m->gtid == JPC_UNKNOWN)
		return 0;
	if (m->gtid > INT32_MAX)
		return reply__refuse(&k->reply, -EINVAL, "there is no task %u", m->gtid);
	k->c->d->watch.sync = true;
	return request__update_task(r, m);
}

/* Sends the reason why a LIVE or BURSTS has no answer. */
static int refuse_live(struct call *k, const struct jpc_live *m, int err)
{
	if (err == -ESRCH && m->job_id != JPC_UNKNOWN)
		return reply__refuse(&k->reply, err,
				     "no step of job %u that runs on this node is profiled%s",
				     m->job_id, m->step_name[0] ? ", or none of that name" : "");
	if (err == -ESRCH)
		return reply__refuse(&k->reply, err, CONTROL_NO_STEP);
	return err;
}

static int on_live(struct call *k, const struct jpc_head *h)
{
	const struct jpc_live *m = (const void *)h;
	int err;

	if (!TERMINATED(m->step_name))
		return reply__refuse(&k->reply, -EINVAL, "a text does not end");
	err = control_live__begin(k->c, k->p, m);
	return refuse_live(k, m, err);
}

static int on_bursts(struct call *k, const struct jpc_head *h)
{
	const struct jpc_bursts *m = (const void *)h;
	int err;

	if (!TERMINATED(m->of.step_name))
		return reply__refuse(&k->reply, -EINVAL, "a text does not end");
	err = control_live__bursts(k->c, k->p, m, k->now);
	if (err == -ENODATA)
		return reply__refuse(
			&k->reply, err,
			"this step has no bursts: ask for the family burst, as in srun "
			"--jobprof=all,burst");
	if (err == -EDQUOT)
		return reply__refuse(&k->reply, err, "the bursts of %u steps are followed already",
				     JPC_BURSTS_STEPS);
	return refuse_live(k, &m->of, err);
}

static int on_totals(struct call *k, const struct jpc_head *h)
{
	return control_totals_send(k, (const void *)h);
}

static int on_findings(struct call *k, const struct jpc_head *h)
{
	(void)h;
	return control_findings__message(k);
}

static int on_status(struct call *k, const struct jpc_head *h)
{
	if (k->p->uid && !k->p->admin)
		return reply__refuse(&k->reply, -EPERM, "root and AdminGroup may ask for this");
	return control_status__send(k, h->flags & JPC_F_JSON);
}

static int on_metrics(struct call *k, const struct jpc_head *h)
{
	(void)h;
	if (k->p->uid && !k->p->admin && k->p->uid != k->c->metrics_uid)
		return reply__refuse(&k->reply, -EPERM,
				     "root, AdminGroup and MetricsUser may ask for this");
	return control_metrics__send(k);
}

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
	[JPC_TABLE] = {sizeof(struct jpc_table), ANY_SIZE | ANSWER, control_rows__table},
	[JPC_ROWS] = {sizeof(struct jpc_rows), ANY_SIZE, control_rows__rows},
	[JPC_MARK] = {sizeof(struct jpc_mark), 0, control_rows__mark},
	[JPC_LIVE] = {sizeof(struct jpc_live), ANSWER, on_live},
	[JPC_TOTALS] = {sizeof(struct jpc_totals), ANSWER, on_totals},
	[JPC_BURSTS] = {sizeof(struct jpc_bursts), ANSWER, on_bursts},
	[JPC_RING] = {sizeof(struct jpc_ring_message), ANSWER, control_ring__message},
	[JPC_STATUS] = {sizeof(struct jpc_status), ANSWER, on_status},
	[JPC_FINDINGS] = {sizeof(struct jpc_findings), ROOT_ONLY | ANSWER, on_findings},
	[JPC_METRICS] = {sizeof(struct jpc_metrics), ANSWER, on_metrics},
};

static int handle_message(struct call *k, const struct jpc_head *h)
{
	size_t size;
	unsigned flags;

	if (h->type >= sizeof(messages) / sizeof(messages[0]) || !messages[h->type].handle)
		return reply__refuse(&k->reply, -EOPNOTSUPP, "there is no message %u", h->type);
	size = messages[h->type].size;
	flags = messages[h->type].flags;
	if (h->length < size || (h->length > size && !(flags & ANY_SIZE)))
		return reply__refuse(&k->reply, -EBADMSG, "a message %u is not of %u bytes",
				     h->type, h->length);
	if ((flags & ROOT_ONLY) && k->p->uid)
		return reply__refuse(&k->reply, -EPERM, "only root may say this");
	return messages[h->type].handle(k, h);
}

void control_messages__handle(struct control *c, struct peer *p, const struct jpc_head *h,
			      uint64_t now)
{
	struct call k = {.c = c, .p = p, .now = now};
	uint16_t seq = h->seq; /* the buffer may be used for the answer */
	bool answer =
		(h->flags & JPC_F_REPLY) || (h->type < sizeof(messages) / sizeof(messages[0]) &&
					     messages[h->type].flags & ANSWER);

	k.reply.error = handle_message(&k, h);
	if (p->live.on) /* the answer ends with its REPLY */
		control_live__continue(c, p, now);
	else if (answer)
		peer__reply(p, seq, &k.reply, now);
}
