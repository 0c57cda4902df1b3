/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The messages of the socket: their sizes, the users that may send them, and their effect. */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/escape.h"
#include "base/log.h"
#include "base/str.h"
#include "daemon/child/publication.h"
#include "daemon/follow/daemon_state.h"
#include "daemon/follow/follow.h"
#include "daemon/follow/kernel_watch.h"
#include "daemon/node/node.h"
#include "daemon/record/record.h"
#include "daemon/socket/control_internal.h"
#include "identity/proc.h"

/* ---- the text of jobprofd --status: what the daemon does, and what is wrong since when */

#define MB	   1048576.0
#define CAUSES_MAX 16

/* Files that cannot be written for one reason. */
struct cause {
	const struct publication *first;
	unsigned n;
	uint64_t since_ns;
};

struct status {
	const struct daemon *d;
	uint64_t now, real; /* the same instant, boot and unix time */
	FILE *out;
	unsigned nproblems;
	unsigned active, ending, waiting, writers, slow;
	uint64_t left_out; /* rows of steps that have not ended */
	const struct publication *slowest;
	uint64_t first_active_ns; /* start of the oldest active step */
	struct cause causes[CAUSES_MAX];
	unsigned ncauses, more; /* files that cannot be written for other reasons */
};

static void print_time(FILE *out, time_t t)
{
	char text[64];
	struct tm tm;

	strftime(text, sizeof(text), "%F %T", localtime_r(&t, &tm));
	fputs(text, out);
}

static void print_when(const struct status *s, uint64_t at_ns)
{
	print_time(s->out, (time_t)((s->real - (s->now - at_ns)) / NSEC_PER_SEC));
}

/* Begins the line of a problem. */
static FILE *begin_problem(struct status *s, uint64_t since_ns)
{
	s->nproblems++;
	fputs("problem: since ", s->out);
	print_when(s, since_ns);
	fputs(": ", s->out);
	return s->out;
}

static void add_failure(struct status *s, const struct publication *p)
{
	struct cause *c = s->causes;

	while (c < s->causes + s->ncauses && strcmp(c->first->error, p->error) != 0)
		c++;
	if (c == s->causes + CAUSES_MAX) {
		s->more++;
		return;
	}
	if (c == s->causes + s->ncauses) {
		*c = (struct cause){.first = p, .since_ns = p->failing_ns};
		s->ncauses++;
	}
	c->n++;
	if (p->failing_ns < c->since_ns)
		c->since_ns = p->failing_ns;
}

static void count_publication(struct status *s, const struct publication *p)
{
	s->writers += p->pid > 0;
	if (p->failures)
		add_failure(s, p);
	if (!p->pid || s->now < p->started_ns + WRITER_SLOW_NS)
		return;
	s->slow++;
	if (!s->slowest || p->started_ns < s->slowest->started_ns)
		s->slowest = p;
}

static void count_steps(struct status *s)
{
	const struct pending_file *o;
	const struct step *step;

	for (step = s->d->steps; step; step = step->next) {
		s->active += step->state == STEP_ACTIVE;
		if (step->state == STEP_ACTIVE && step->start_boot_ns < s->first_active_ns)
			s->first_active_ns = step->start_boot_ns;
		s->ending += step->state == STEP_ENDING || step->state == STEP_ASKING;
		s->waiting += step->state == STEP_FINISHING;
		s->left_out += step->lost_rows;
		count_publication(s, &step->pub);
	}
	for (o = s->d->pending_files; o; o = o->next) {
		s->waiting++;
		count_publication(s, &o->pub);
	}
}

static void print_unwritable(struct status *s)
{
	for (unsigned i = 0; i < s->ncauses; i++) {
		const struct cause *c = &s->causes[i];

		fprintf(begin_problem(s, c->since_ns), "%u file%s cannot be written, as %s: ", c->n,
			c->n == 1 ? "" : "s", c->first->name);
		print__escaped(s->out, c->first->error);
		fputc('\n', s->out);
	}
	if (s->more)
		fprintf(s->out, "         %u more files cannot be written: see the log\n", s->more);
	if (s->slow)
		fprintf(begin_problem(s, s->slowest->started_ns),
			"%u writer%s not ended within %u s, as that of %s: the file system of %s "
			"does not answer, or their users have stopped them; the rows are in the "
			"journals\n",
			s->slow, s->slow == 1 ? " has" : "s have",
			(unsigned)(WRITER_SLOW_NS / NSEC_PER_SEC), s->slowest->name,
			s->slowest->dir);
}

static void print_settings(struct status *s)
{
	if (!s->d->refused)
		return;
	fputs("running with the old settings, ", begin_problem(s, s->d->refused_ns));
	print__escaped(s->out, s->d->refused);
	fputc('\n', s->out);
}

static void print_reduced(struct status *s)
{
	const struct journal_stats *j = &s->d->journals;
	const struct step *step = s->d->steps;
	FILE *out;

	while (step && !step->reduced)
		step = step->next;
	if (!j->reduced || !step)
		return;
	out = begin_problem(s, j->reduced_ns);
	if (j->over)
		fprintf(out, "journals take too much, or %s has too little free",
			s->d->env.state_dir);
	else
		fprintf(out, "journals take more than JournalUserMax, as those of user %u",
			step->pub.uid);
	fprintf(out, ": %u step%s a row a minute; see %s\n", j->reduced,
		j->reduced == 1 ? " has" : "s have",
		j->over ? "JournalMax, JournalMinFree" : "JournalUserMax");
}

static void print_journals(struct status *s)
{
	const struct step *step, *full = NULL;
	unsigned n = 0;

	for (step = s->d->steps; step; step = step->next) {
		if (!step->full_ns || !step->unwritable)
			continue;
		n++;
		if (!full || step->full_ns < full->full_ns)
			full = step;
	}
	if (full)
		fprintf(begin_problem(s, full->full_ns),
			"%u journal%s cannot be written, as %s: make room in %s\n", n,
			n == 1 ? "" : "s", full->pub.journal, s->d->env.state_dir);
	print_reduced(s);
}

static void print_slots(struct status *s)
{
	uint64_t started = s->d->started_ns, first = s->first_active_ns;

	if (s->active && !kern__attached(s->d->env.k))
		fprintf(begin_problem(s, first > started ? first : started),
			"the programs are not attached: see the log\n");
	if (s->d->watch.unplaced_ns)
		fprintf(begin_problem(s, s->d->watch.unplaced_ns),
			"all %u slots are taken, or a job's share of them, and %u step%s not "
			"profiled: raise MaxSlots\n",
			kern__nslots(s->d->env.k), kern__unplaced(s->d->env.k),
			kern__unplaced(s->d->env.k) == 1 ? " is" : "s are");
	if (!s->d->env.hdf5_dir)
		fprintf(begin_problem(s, started),
			"ProfileHDF5Dir is not set: no step can be profiled\n");
}

static void print_losses(struct status *s)
{
	for (unsigned i = 0; i < KERNEL_LOSSES; i++) {
		const struct kernel_loss *l = &s->d->watch.losses[i];

		if (l->last_ns && s->now - l->last_ns <= KERNEL_LOSS_NS)
			fprintf(begin_problem(s, l->since_ns), "%llu %s\n",
				(unsigned long long)l->seen, kernel_loss__text(i, l->seen));
	}
}

static void print_numbers(const struct status *s)
{
	const struct journal_stats *j = &s->d->journals;
	const struct log_errors *e = log__errors();
	struct utsname u;

	uname(&u);
	fprintf(s->out, "version: jobprofd %s, kernel %s, node %s, process %d\n", JOBPROF_VERSION,
		u.release, s->d->env.node_name, getpid());
	fputs("running: since ", s->out);
	print_when(s, s->d->started_ns);
	fprintf(s->out, "\nsteps: %u being profiled, %u ending, %u ended with a file to come\n",
		s->active, s->ending, s->waiting);
	fprintf(s->out, "writers: %u at work\n", s->writers);
	fprintf(s->out, "journals: %u, %.1f MiB in %s; removed since the start: %llu\n",
		j->journals, (double)j->bytes / MB, s->d->env.state_dir,
		(unsigned long long)j->removed);
	fprintf(s->out, "rows left out since the start: %llu\n",
		(unsigned long long)j->left_out + s->left_out);
	fprintf(s->out, "programs: %s\n",
		kern__attached(s->d->env.k) ? "attached" : "detached, while no step needs them");
	fprintf(s->out, "errors since the start: %llu", (unsigned long long)e->n);
	if (e->n) {
		fputs("; the last one, ", s->out);
		print_time(s->out, e->last);
		fprintf(s->out, ": %s", e->text);
	}
	fputc('\n', s->out);
}

/* Returns the number of problems. */
static unsigned print_status(const struct daemon *d, FILE *out)
{
	struct status s = {.d = d,
			   .now = clock__boot_ns(),
			   .real = clock__real_ns(),
			   .out = out,
			   .first_active_ns = UINT64_MAX};

	count_steps(&s);
	print_settings(&s);
	print_unwritable(&s);
	print_journals(&s);
	print_slots(&s);
	print_losses(&s);
	print_numbers(&s);
	return s.nproblems;
}

/* Sends the text of --status; *nproblems: how many there are. 0 or -errno. */
static int control_status_send(struct control *c, struct peer *p, unsigned *nproblems, uint64_t now)
{
	struct jpc_status *m = (void *)c->buf; /* the message in it has been handled */
	size_t room = sizeof(c->buf) - sizeof(*m) - 1, len = 0;
	_cleanup_free_ char *text = NULL;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return -ENOMEM;
	*nproblems = print_status(c->d, f);
	fclose(f);
	if (!text)
		return -ENOMEM;
	if (len > room)
		len = room;
	memcpy(m->text, text, len);
	m->text[len++] = '\0';
	m->head = (struct jpc_head){.magic = JPC_MAGIC,
				    .version = JPC_VERSION,
				    .type = JPC_STATUS,
				    .length = (uint32_t)(sizeof(*m) + len)};
	return peer__send(p, m, now);
}

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
	const struct child_user u = {s->pub.user, s->pub.uid, s->pub.gid};
	const struct jpc_journal m = {.head = {.magic = JPC_MAGIC,
					       .version = JPC_VERSION,
					       .type = JPC_JOURNAL,
					       .length = sizeof(m)}};
	int fd = s->unnamed ? -1 : journal_copy__start(s->pub.journal, &u);

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
	(void)h;
	if (k->p->uid && !k->p->admin)
		return reply__refuse(&k->reply, -EPERM, "root and AdminGroup may ask for this");
	return control_status_send(k->c, k->p, &k->reply.number, k->now);
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
