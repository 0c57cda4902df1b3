/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Messages of other processes: to jobprofd's socket, of users' programs and Slurm's plugins; and
 * what a confined reader of files passes to the process that has started it. */
#include "tests/fuzz/input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "client/protocol.h"
#include "daemon/follow/follow.h"
#include "daemon/record/record.h"
#include "daemon/socket/control_internal.h"
#include "index/node_row.h"
#include "index/row.h"
#include "journal/journal.h"

/* ---- in the place of the kernel side, which is not there */

bool kern__attached(const struct kern *k)
{
	return !k;
}

int kern__programs(const struct kern *k, struct kern_prog *out, unsigned max)
{
	(void)k;
	(void)out;
	return max ? 0 : -EINVAL;
}

const struct jp_control *kern__control(const struct kern *k)
{
	static const struct jp_control none;

	return k ? NULL : &none;
}

int sampling__look(const struct step_env *env)
{
	return env->k ? -EIO : 0;
}

void sampling__rows_of(struct step *s, const struct step_env *env)
{
	input__must(s && env);
}

void daemon_sync_steps(struct daemon *d)
{
	input__must(d);
}

bool step__totals(struct step *s, const struct step_env *env, int kind, int gtid,
		  union cell cells[MAX_COLUMNS])
{
	(void)s, (void)env, (void)kind, (void)gtid, (void)cells;
	return false;
}

uint64_t snapshot__boot_ns(const struct snapshot *s)
{
	return s ? 0 : UINT64_MAX / 2;
}

const struct totals *snapshot__totals(const struct snapshot *s, uint32_t slot)
{
	input__must(!s && slot < UINT32_MAX);
	return NULL;
}

void job_uses__look(struct job_uses *u, const struct step_env *env)
{
	input__must(u && env);
}

/* ---- jobprofd with one step */

#define OWNER 1000
#define JOB   "/system.slice/slurmstepd.scope/job_7"
#define STEP  JOB "/step_0"

static struct daemon d;
static struct control c;
static struct config cfg;
static struct step step;
static char journal_path[64];

static void make_daemon(void)
{
	const struct layout *rows[64];
	unsigned n = 0;

	for (; n < 64 && n < n_layouts; n++)
		rows[n] = &layouts[n];
	input__must(!config__init(&cfg));
	snprintf(journal_path, sizeof(journal_path), "/dev/shm/jobprof-fuzz-%d", getpid());
	d = (struct daemon){.opts.cfg = &cfg, .env = {.steps = &d.steps, .requests = &d.requests}};
	d.env.node_name = "n1";
	d.env.state_dir = "/var/lib/jobprof";
	d.env.hdf5_dir = "/profiles";
	d.env.overhead = &d.overhead;
	c.d = &d;
	c.programs.fd = c.epfd = -1;
	strcpy(step.path, STEP);
	input__must(!layout__parse_rows(rows, n, STEP, 0, &step.ids) && step.ids.has_step);
	step.slot = 1;
	step.uid_known = step.unnamed = true;
	step.uid = OWNER;
	step.state = STEP_ACTIVE;
	d.steps = &step;
}

/* The first byte of an input. */
#define BY_ROOT	   1
#define OUTSIDE	   2 /* of the step: slurmstepd, or a program of nobody's job */
#define IN_PLACE   4 /* the message is in the buffer that its answer may use */
#define BY_ANOTHER 8 /* user */

static struct peer *make_peer(unsigned flags, int *other)
{
	pid_t pid;
	int ends[2];
	struct peer *p;

	input__must(!socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends));
	p = peer__new(ends[0], (gid_t)-1, &pid);
	input__must(p);
	p->uid = flags & BY_ROOT ? 0 : flags & BY_ANOTHER ? OWNER + 1 : OWNER;
	p->admin = !p->uid;
	p->pid = pid;
	if (!(flags & OUTSIDE)) {
		step__key(&step, &p->key);
		p->located = p->in_step = p->in_task = true;
	}
	if (p->uid)
		p->quota = quotas__of_user(&c.quotas, p->uid, true, clock__boot_ns());
	if (p->quota)
		quota__connect(p->quota);
	c.peers = p;
	*other = ends[1];
	return p;
}

static unsigned accepted; /* messages of this input */

/* An answer is one message of this protocol, whose texts end. */
static void check_answer(const struct jpc_head *h, ssize_t n)
{
	const struct jpc_reply *r = (const void *)h;

	input__must(n >= (ssize_t)sizeof(*h) && h->magic == JPC_MAGIC && h->length == n);
	if (h->type == JPC_REPLY)
		input__must(n == sizeof(*r) && TERMINATED(r->text) && r->error <= 0);
	accepted += h->type != JPC_REPLY || !r->error;
}

/* Reads what has been answered, as long as there is more. */
static void take_answers(struct peer *p, int other)
{
	static _Alignas(8) char answer[JPC_MAX];
	uint64_t now = clock__boot_ns();
	int fds[FD_MESSAGE_FILES];
	ssize_t n;

	for (unsigned i = 0; i < 1000; i++) {
		while ((n = fd_message__receive(other, answer, sizeof(answer), fds)) > 0) {
			check_answer((const void *)answer, n);
			for (unsigned k = 0; k < FD_MESSAGE_FILES && fds[k] >= 0; k++)
				close(fds[k]);
		}
		now += NSEC_PER_SEC;
		if (p->out_len)
			input__must(!peer__flush(p, now));
		else if (p->live.on)
			control_live__continue(&c, p, now);
		else
			return;
	}
	abort();
}

/* The sizes of messages that have one; they are filled up. */
static const uint16_t sizes[] = {
	[JPC_STEP] = sizeof(struct jpc_step),	    [JPC_CONF] = sizeof(struct jpc_conf),
	[JPC_TASK] = sizeof(struct jpc_task),	    [JPC_STEP_END] = sizeof(struct jpc_step_end),
	[JPC_MARK] = sizeof(struct jpc_mark),	    [JPC_TASK_END] = sizeof(struct jpc_task),
	[JPC_LIVE] = sizeof(struct jpc_live),	    [JPC_TOTALS] = sizeof(struct jpc_totals),
	[JPC_BURSTS] = sizeof(struct jpc_bursts),   [JPC_STATUS] = sizeof(struct jpc_status),
	[JPC_METRICS] = sizeof(struct jpc_metrics),
};
#define N_SIZES (sizeof(sizes) / sizeof(sizes[0]))
#define RING	100 /* no message: bytes that are written to the ring, from a word on */

struct part {
	uint8_t type, flags;
	uint16_t len;
};

static void write_ring(struct peer *p, const char *bytes, size_t len)
{
	uint16_t word;

	if (len < sizeof(word) || !p->ring)
		return;
	memcpy(&word, bytes, sizeof(word));
	input__must(pwrite(p->ring->fd, bytes + sizeof(word), len - sizeof(word), 8 * word) >= 0);
	control_ring__read(&c, p, clock__boot_ns(), false);
}

static void say(struct peer *p, const struct part *m, const char *bytes, bool in_place)
{
	size_t size = sizeof(struct jpc_head) + m->len;
	struct jpc_head *h;

	if (m->type < N_SIZES && sizes[m->type] && !(m->flags & 0x80))
		size = sizes[m->type];
	if (size > JPC_MAX)
		return;
	h = in_place ? (void *)c.buf : malloc(size);
	input__must(h);
	memset(h, 0, size);
	memcpy(h + 1, bytes, m->len < size - sizeof(*h) ? m->len : size - sizeof(*h));
	*h = (struct jpc_head){JPC_MAGIC, JPC_VERSION, m->type, size, m->flags & 0x7f, 1};
	control_messages__handle(&c, p, h, clock__boot_ns());
	if (!in_place)
		free(h);
}

/* What was taken goes to a journal, which can be read again. */
static void check_journal(struct external_series *g)
{
	struct journal_record rec;
	struct journal_reader *r;
	struct journal *j;
	unsigned rows = 0, put;
	int fd;

	if (!external_series__has_new(g) || journal__create(&j, journal_path))
		return;
	put = external_series__flush(g, j, step.start_real_ns, true);
	input__must(!journal__commit(j));
	external_series__end_frame(g, FRAME_WRITTEN);
	journal__free(j);
	fd = open(journal_path, O_RDONLY | O_CLOEXEC);
	unlink(journal_path);
	input__must(fd >= 0 && !journal_reader__open(&r, fd));
	while (journal_reader__next(r, &rec) > 0)
		rows += rec.type == J_ROW;
	input__must(rows == put && !journal_reader__torn(r));
	journal_reader__free(r);
	close(fd);
}

static void forget_requests(void)
{
	request__free(step.req);
	step.req = NULL;
	while (d.requests) {
		struct request *r = d.requests;

		d.requests = r->next;
		request__free(r);
	}
}

static bool try_socket(const struct input *in)
{
	const char *at = in->text + 1, *end = in->text + in->len;
	struct peer *p;
	struct part m;
	int other;

	if (!c.d)
		make_daemon();
	if (!in->len)
		return false;
	accepted = 0;
	quotas__init(&c.quotas, 4096, clock__boot_ns());
	step.start_real_ns = clock__real_ns() - 10 * NSEC_PER_SEC;
	step.start_boot_ns = clock__boot_ns() - 10 * NSEC_PER_SEC;
	p = make_peer(*in->text, &other);
	for (unsigned i = 0; i < 64 && end - at >= (ssize_t)sizeof(m) && !p->closing; i++) {
		memcpy(&m, at, sizeof(m));
		at += sizeof(m);
		m.len = m.len < end - at ? m.len : end - at;
		c.ring_records = JPC_RING_RECORDS;
		if (m.type == RING)
			write_ring(p, at, m.len);
		else
			say(p, &m, at, *in->text & IN_PLACE);
		at += m.len;
		take_answers(p, other);
	}
	c.peers = NULL;
	peer__free(p);
	close(other);
	if (step.req)
		check_journal(&step.req->external);
	free(step.recent);
	step.recent = NULL;
	quotas__free(&c.quotas);
	forget_requests();
	return accepted;
}

/* ---- what a reader of files passes on */

static struct message message_of(const struct input *in)
{
	return (struct message){.p = (uint8_t *)in->text, .len = in->len, .room = in->len};
}

static bool try_row(const struct input *in)
{
	struct message m = message_of(in);
	struct row r;
	bool taken = !row__take(&r, &m);

	row__free(&r);
	return taken;
}

static bool try_node_rows(const struct input *in)
{
	struct message m = message_of(in);
	struct node_rows r = {0};
	bool taken = !node_rows__take(&r, &m);

	node_rows__free(&r);
	return taken;
}

const struct input_kind input_kinds[] = {
	{'d', try_socket},
	{'r', try_row},
	{'n', try_node_rows},
	{0},
};
