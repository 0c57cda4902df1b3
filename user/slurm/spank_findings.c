// SPDX-License-Identifier: GPL-2.0-or-later
/* The thread of slurmstepd that waits for findings of its step. */
#include "slurm/spank_findings.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "slurm/spank_ids.h"

#define AGAIN_MS 10000 /* after jobprofd has gone, it may have been restarted */

/* Waits for something to read, or for the end. 1: there is; 0: the time is over; -1: the end. */
static int wait_for(const struct spank_findings *f, int fd, int timeout_ms)
{
	struct pollfd p[2] = {{.fd = f->wake, .events = POLLIN}, {.fd = fd, .events = POLLIN}};
	int n = poll(p, 2, timeout_ms);

	if (p[0].revents || (n < 0 && errno != EINTR))
		return -1;
	return n > 0 && p[1].revents;
}

/* A jobprofd that was restarted tells all again. */
static bool was_told(struct spank_findings *f, const char *rule)
{
	for (unsigned i = 0; i < f->ntold; i++)
		if (!strcmp(f->told[i], rule))
			return true;
	if (f->ntold == JPC_FINDINGS_MAX)
		return true;
	snprintf(f->told[f->ntold++], sizeof(f->told[0]), "%s", rule);
	return false;
}

static void tell(struct spank_findings *f, struct jpc_finding *m)
{
	char line[sizeof(m->text) + 128];

	m->rule[sizeof(m->rule) - 1] = m->text[sizeof(m->text) - 1] = '\0';
	spank_ids__plain(m->text);
	spank_ids__plain(m->rule);
	if (was_told(f, m->rule))
		return;
	snprintf(line, sizeof(line), "jobprof: step %u.%s: %s (%s)", f->step.job_id,
		 f->step.step_name, m->text, m->rule);
	f->tell(line);
}

/* Reads until the connection or the step ends. True: it is worth another try. */
static bool read_messages(struct spank_findings *f, struct client *c)
{
	union {
		struct jpc_head head;
		struct jpc_finding finding;
		struct jpc_reply reply;
	} m;
	int n;

	for (;;) {
		if (wait_for(f, c->fd, -1) < 0)
			return false;
		n = client__receive(c, &m, sizeof(m), 0);
		if (n == -ETIMEDOUT)
			continue;
		if (n < 0)
			return n != -EPROTO;
		if (m.head.type == JPC_FINDING && n == sizeof(m.finding))
			tell(f, &m.finding);
		else if (m.head.type == JPC_REPLY && n == sizeof(m.reply) && m.reply.error < 0)
			return false; /* no findings are to come */
	}
}

/* The step, by which jobprofd knows whose findings, and the question. */
static int ask(struct spank_findings *f, struct client *c)
{
	struct jpc_findings question;
	int err = client__open(c, f->path);

	if (err)
		return err;
	client__head(c, &f->step, JPC_STEP, sizeof(f->step));
	err = client__send(c, &f->step);
	client__head(c, &question, JPC_FINDINGS, sizeof(question));
	return err ? err : client__send(c, &question);
}

static void *run(void *arg)
{
	struct spank_findings *f = arg;
	bool again = true;

	while (again) {
		struct client c = {.fd = -1};

		if (!ask(f, &c))
			again = read_messages(f, &c);
		client__close(&c);
		if (again)
			again = wait_for(f, -1, AGAIN_MS) >= 0;
	}
	return NULL;
}

void spank_findings__begin(struct spank_findings *f, const struct spank_link *l,
			   void (*tell_user)(const char *line))
{
	sigset_t all, before;

	if (f->runs || !l->findings)
		return;
	f->path = l->path;
	f->step = l->step;
	f->tell = tell_user;
	f->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (f->wake < 0)
		return;
	sigfillset(&all); /* signals are slurmstepd's */
	pthread_sigmask(SIG_SETMASK, &all, &before);
	f->runs = !pthread_create(&f->thread, NULL, run, f);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!f->runs)
		close(f->wake);
}

void spank_findings__end(struct spank_findings *f)
{
	const uint64_t one = 1;

	if (!f->runs)
		return;
	if (write(f->wake, &one, sizeof(one)) == sizeof(one))
		pthread_join(f->thread, NULL);
	f->runs = false;
	close(f->wake);
}
