/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Judges the files of running steps in children, and takes what these find. */
#include "daemon/files/live_findings.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/program.h"
#include "base/utf8.h"
#include "daemon/child/child.h"
#include "daemon/child/publication.h"
#include "daemon/follow/daemon_state.h"

#define DEADLINE_NS (60 * NSEC_PER_SEC)
#define CPU_S	    20
#define OUTPUT_MAX  16384 /* bytes, which fit into a pipe: the child need not wait for a reader */
#define AT_ONCE	    4	  /* children of all steps, half of them of one user, who may stop them */

/* What a user can act on at once. All else that holds a job back is said after its end. */
static const char *const told[] = {"cpu.stacked", "job.stopped", "mem.leak", "gpu.idle"};

/* ---- the child */

static void limit_child(void)
{
	const struct rlimit cpu = {CPU_S, CPU_S};

	setrlimit(RLIMIT_CPU, &cpu);
	child__yield();
}

/* Runs in the child, whose output goes to out. Never returns. */
static void run_judge(const struct publication *p, int out, pid_t parent)
{
	struct child_user u = {p->user, p->uid, p->gid};
	char program[PUBLISH_PATH + 64], path[2 * PUBLISH_PATH];

	program__find("jobprof", "../bin", program, sizeof(program));
	/* standard error is the one descriptor that the next call leaves as it is */
	dup2(out, STDERR_FILENO);
	child__begin();
	child__silence();
	dup2(STDERR_FILENO, STDOUT_FILENO);
	limit_child();
	if (child__become(&u) || child__drop_capabilities() || child__end_with(parent, SIGKILL) ||
	    chdir("/"))
		_exit(1);
	/* what goes wrong is for nobody: the file is judged again */
	dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), STDERR_FILENO);
	snprintf(path, sizeof(path), "%s%s%s/.%s", p->dir, p->user[0] ? "/" : "", p->user, p->name);
	execl(program, "jobprof", "running", "--lines", path, (char *)NULL);
	_exit(1);
}

static bool has_room(const struct daemon *d, uid_t uid)
{
	unsigned n = 0, own = 0;

	for (const struct step *s = d->steps; s; s = s->next) {
		const bool runs = s->req && s->req->findings.pid;

		n += runs;
		own += runs && s->pub.uid == uid;
	}
	return n < AT_ONCE && own < AT_ONCE / 2;
}

void live_findings__judge(struct daemon *d, struct step *s, uint64_t now_ns)
{
	struct live_findings *f = s->req ? &s->req->findings : NULL;
	pid_t parent = getpid(), pid;
	int out[2];

	if (!f || !f->wanted || f->pid || f->n == JPC_FINDINGS_MAX || s->state != STEP_ACTIVE ||
	    !has_room(d, s->pub.uid) || pipe2(out, O_CLOEXEC | O_NONBLOCK))
		return;
	pid = fork();
	if (!pid)
		run_judge(&s->pub, out[1], parent);
	close(out[1]);
	if (pid < 0) {
		close(out[0]);
		return;
	}
	f->pid = pid;
	f->out = out[0];
	f->deadline_ns = now_ns + DEADLINE_NS;
}

void live_findings__watch(struct step *s, uint64_t now_ns)
{
	struct live_findings *f = s->req ? &s->req->findings : NULL;

	if (f && f->pid && now_ns > f->deadline_ns) {
		kill(f->pid, SIGKILL);
		f->deadline_ns = UINT64_MAX;
	}
}

/* ---- what it has found */

static bool is_new(const struct live_findings *f, const char *rule)
{
	size_t i = 0;

	while (i < sizeof(told) / sizeof(told[0]) && strcmp(told[i], rule) != 0)
		i++;
	if (i == sizeof(told) / sizeof(told[0]) || f->n == JPC_FINDINGS_MAX)
		return false;
	for (unsigned k = 0; k < f->n; k++)
		if (!strcmp(f->v[k].rule, rule))
			return false;
	return true;
}

/* The child has read a file of its user's: the text may be anything. */
static void take_finding(struct daemon *d, struct step *s, const char *rule, const char *text)
{
	struct live_findings *f = &s->req->findings;
	_cleanup_free_ char *shown = NULL, *clean = NULL;
	struct jpc_finding *to = &f->v[f->n];
	char mark[64];
	unsigned replaced;

	if (!is_new(f, rule))
		return;
	shown = utf8__shown(text, &replaced);
	clean = shown ? utf8__clean(shown, sizeof(to->text) - 1, &replaced) : NULL;
	if (!clean || !*clean)
		return;
	*to = (struct jpc_finding){0};
	snprintf(to->rule, sizeof(to->rule), "%s", rule);
	snprintf(to->text, sizeof(to->text), "%s", clean);
	f->n++;
	snprintf(mark, sizeof(mark), "finding: %s", rule);
	if (!external_series__mark(&s->req->external, (int64_t)clock__real_ns(), mark))
		d->env.external_rows = true;
	d->env.new_findings = true;
	log_debug("%s: found %s while it runs", s->pub.name, rule);
}

/* Lines of RULE, a tab and a text. */
static void take_lines(struct daemon *d, struct step *s, char *rest)
{
	char *line, *tab;

	while ((line = strsep(&rest, "\n"))) {
		tab = strchr(line, '\t');
		if (!tab || !rest) /* the last line does not end */
			continue;
		*tab = '\0';
		take_finding(d, s, line, tab + 1);
	}
}

bool live_findings__reaped(struct daemon *d, pid_t pid, int status)
{
	struct live_findings *f;
	char text[OUTPUT_MAX];
	struct step *s;
	ssize_t n;

	for (s = d->steps; s && !(s->req && s->req->findings.pid == pid); s = s->next)
		;
	if (!s)
		return false;
	f = &s->req->findings;
	f->pid = 0;
	n = read(f->out, text, sizeof(text) - 1);
	close(f->out);
	if (n > 0 && WIFEXITED(status) && !WEXITSTATUS(status) && s->state == STEP_ACTIVE) {
		text[n] = '\0';
		take_lines(d, s, text);
	}
	return true;
}
