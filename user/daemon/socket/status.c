// SPDX-License-Identifier: GPL-2.0-only
/* The text of jobprofd --status: what the daemon does, and what is wrong since when. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/escape.h"
#include "base/log.h"
#include "daemon/follow/daemon_state.h"
#include "daemon/follow/kernel_watch.h"
#include "daemon/socket/control_internal.h"

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

int control_status__send(struct control *c, struct peer *p, unsigned *nproblems, uint64_t now)
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
