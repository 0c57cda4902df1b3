/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What jobprofd --status prints: what the daemon does, and what is wrong since when. Facts and
 * problems are gathered once, and printed as text or as JSON. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/escape.h"
#include "base/log.h"
#include "base/room.h"
#include "base/utf8.h"
#include "daemon/child/publication.h"
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

struct problem {
	time_t since;
	char *text;
};

struct status {
	const struct daemon *d;
	uint64_t now, real; /* the same instant, boot and unix time */
	struct problem *problems;
	unsigned nproblems;
	unsigned active, ending, waiting, writers, slow;
	uint64_t left_out; /* rows of steps that have not ended */
	const struct publication *slowest;
	uint64_t first_active_ns; /* start of the oldest active step */
	struct cause causes[CAUSES_MAX];
	unsigned ncauses, more; /* files that cannot be written for other reasons */
};

/* ---- what there is to say */

static time_t when(const struct status *s, uint64_t at_ns)
{
	return (time_t)((s->real - (s->now - at_ns)) / NSEC_PER_SEC);
}

static void add_problem(struct status *s, uint64_t since_ns, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static void add_problem(struct status *s, uint64_t since_ns, const char *fmt, ...)
{
	char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		text = NULL;
	va_end(ap);
	if (!text || room__grow(&s->problems, s->nproblems, 1, sizeof(*s->problems))) {
		free(text);
		return;
	}
	s->problems[s->nproblems++] = (struct problem){when(s, since_ns), text};
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
	s->left_out += s->d->journals.left_out;
}

static void find_unwritable(struct status *s)
{
	for (unsigned i = 0; i < s->ncauses; i++) {
		const struct cause *c = &s->causes[i];

		add_problem(s, c->since_ns, "%u file%s cannot be written, as %s: %s", c->n,
			    c->n == 1 ? "" : "s", c->first->name, c->first->error);
	}
	if (s->more)
		add_problem(s, s->causes[0].since_ns,
			    "%u more files cannot be written: see the log", s->more);
	if (s->slow)
		add_problem(s, s->slowest->started_ns,
			    "%u writer%s not ended within %u s, as that of %s: the file system of "
			    "%s does not answer, or their users have stopped them; the rows are in "
			    "the journals",
			    s->slow, s->slow == 1 ? " has" : "s have",
			    (unsigned)(WRITER_SLOW_NS / NSEC_PER_SEC), s->slowest->name,
			    s->slowest->dir);
}

static void find_reduced(struct status *s)
{
	const struct journal_stats *j = &s->d->journals;
	const struct step *step = s->d->steps;

	while (step && !step->reduced)
		step = step->next;
	if (!j->reduced || !step)
		return;
	if (j->over)
		add_problem(s, j->reduced_ns,
			    "journals take too much, or %s has too little free: %u step%s a row a "
			    "minute; see JournalMax, JournalMinFree",
			    s->d->env.state_dir, j->reduced, j->reduced == 1 ? " has" : "s have");
	else
		add_problem(s, j->reduced_ns,
			    "journals take more than JournalUserMax, as those of user %u: %u "
			    "step%s a row a minute; see JournalUserMax",
			    step->pub.uid, j->reduced, j->reduced == 1 ? " has" : "s have");
}

static void find_full(struct status *s)
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
		add_problem(s, full->full_ns,
			    "%u journal%s cannot be written, as %s: make room in %s", n,
			    n == 1 ? "" : "s", full->pub.journal, s->d->env.state_dir);
}

static void find_slots(struct status *s)
{
	uint64_t started = s->d->started_ns, first = s->first_active_ns;

	if (s->active && !kern__attached(s->d->env.k))
		add_problem(s, first > started ? first : started,
			    "the programs are not attached: see the log");
	if (s->d->watch.unplaced_ns)
		add_problem(s, s->d->watch.unplaced_ns,
			    "all %u slots are taken, or a job's share of them, and %u step%s not "
			    "profiled: raise MaxSlots",
			    kern__nslots(s->d->env.k), kern__unplaced(s->d->env.k),
			    kern__unplaced(s->d->env.k) == 1 ? " is" : "s are");
	if (s->d->overhead.budget.short_of)
		add_problem(s, s->d->overhead.short_ns,
			    "OverheadBudget is exceeded, and nothing is left to rest: see Families "
			    "and JobAcctGatherFrequency");
	if (!s->d->env.hdf5_dir)
		add_problem(s, started, "ProfileHDF5Dir is not set: no step can be profiled");
}

static void find_losses(struct status *s)
{
	for (unsigned i = 0; i < KERNEL_LOSSES; i++) {
		const struct kernel_loss *l = &s->d->watch.losses[i];

		if (l->last_ns && s->now - l->last_ns <= KERNEL_LOSS_NS)
			add_problem(s, l->since_ns, "%llu %s", (unsigned long long)l->seen,
				    kernel_loss__text(i, l->seen));
	}
}

static struct status look(const struct daemon *d)
{
	struct status s = {.d = d,
			   .now = clock__boot_ns(),
			   .real = clock__real_ns(),
			   .first_active_ns = UINT64_MAX};

	count_steps(&s);
	if (d->refused)
		add_problem(&s, d->refused_ns, "running with the old settings, %s", d->refused);
	find_unwritable(&s);
	find_full(&s);
	find_reduced(&s);
	find_slots(&s);
	find_losses(&s);
	return s;
}

void control_status__count(const struct daemon *d, unsigned *waiting, uint64_t *left_out)
{
	struct status s = {.d = d, .now = clock__boot_ns()};

	count_steps(&s);
	*waiting = s.waiting;
	*left_out = s.left_out;
}

/* ---- as text */

static void print_time(FILE *out, time_t t)
{
	char text[64];
	struct tm tm;

	strftime(text, sizeof(text), "%F %T", localtime_r(&t, &tm));
	fputs(text, out);
}

static void print_overhead(const struct status *s, FILE *out)
{
	const struct overhead *o = &s->d->overhead;
	char phrase[OVERHEAD_PHRASE];

	if (!(o->budget.percent > 0)) {
		fputs("overhead: without a budget\n", out);
		return;
	}
	fputs("overhead: ", out);
	if (isnan(o->percent))
		fputs("not known yet", out);
	else
		fprintf(out, "%.2g %% of the busy cores", o->percent);
	fprintf(out, ", OverheadBudget %g %%", o->budget.percent);
	for (int p = 0; p < BUDGET_PARTS; p++) {
		if (!o->budget.level[p])
			continue;
		overhead__phrase(p, o->budget.level[p], phrase);
		fprintf(out, "; %s since ", phrase);
		print_time(out, when(s, o->since_ns[p]));
	}
	fputc('\n', out);
}

static void print_text(const struct status *s, FILE *out)
{
	const struct journal_stats *j = &s->d->journals;
	const struct log_errors *e = log__errors();
	struct utsname u;

	for (unsigned i = 0; i < s->nproblems; i++) {
		fputs("problem: since ", out);
		print_time(out, s->problems[i].since);
		fputs(": ", out);
		print__escaped(out, s->problems[i].text);
		fputc('\n', out);
	}
	uname(&u);
	fprintf(out, "version: jobprofd %s, kernel %s, node %s, process %d\n", JOBPROF_VERSION,
		u.release, s->d->env.node_name, getpid());
	fputs("running: since ", out);
	print_time(out, when(s, s->d->started_ns));
	fprintf(out, "\nsteps: %u being profiled, %u ending, %u ended with a file to come\n",
		s->active, s->ending, s->waiting);
	fprintf(out, "writers: %u at work\n", s->writers);
	fprintf(out, "journals: %u, %.1f MiB in %s; removed since the start: %" PRIu64 "\n",
		j->journals, (double)j->bytes / MB, s->d->env.state_dir, j->removed);
	fprintf(out, "rows left out since the start: %" PRIu64 "\n", s->left_out);
	fprintf(out, "programs: %s\n",
		kern__attached(s->d->env.k) ? "attached" : "detached, while no step needs them");
	print_overhead(s, out);
	fprintf(out, "errors since the start: %" PRIu64, e->n);
	if (e->n) {
		fputs("; the last one, ", out);
		print_time(out, (time_t)e->last);
		fprintf(out, ": %s", e->text);
	}
	fputc('\n', out);
}

/* ---- as JSON */

static void put_text(FILE *out, const char *key, const char *text)
{
	unsigned replaced;
	_cleanup_free_ char *clean = utf8__clean(text, strlen(text), &replaced);

	fprintf(out, "\"%s\":\"", key);
	for (const char *p = clean ? clean : ""; *p; p++) {
		if (*p == '"' || *p == '\\')
			fputc('\\', out);
		if ((unsigned char)*p < ' ')
			fprintf(out, "\\u%04x", (unsigned)*p);
		else
			fputc(*p, out);
	}
	fputc('"', out);
}

static void put_errors(FILE *out)
{
	const struct log_errors *e = log__errors();

	fprintf(out, ",\"errors\":{\"count\":%" PRIu64 ",\"last\":", e->n);
	if (e->n) {
		fprintf(out, "{\"time\":%" PRId64 ",", e->last);
		put_text(out, "text", e->text);
		fputs("}}", out);
	} else {
		fputs("null}", out);
	}
}

/* Levels by the names that metrics have too. */
static void put_overhead(const struct overhead *o, FILE *out)
{
	fputs(",\"overhead\":{\"percent\":", out);
	if (isnan(o->percent))
		fputs("null", out);
	else
		fprintf(out, "%.4g", o->percent);
	fprintf(out, ",\"budget\":%g,\"levels\":{", o->budget.percent);
	for (int p = 0; p < BUDGET_PARTS; p++)
		fprintf(out, "%s\"%s\":%u", p ? "," : "", budget_infos[p].label,
			o->budget.level[p]);
	fputs("}}", out);
}

static void put_problems(const struct status *s, FILE *out)
{
	fputs(",\"problems\":[", out);
	for (unsigned i = 0; i < s->nproblems; i++) {
		fprintf(out, "%s{\"since\":%lld,", i ? "," : "", (long long)s->problems[i].since);
		put_text(out, "text", s->problems[i].text);
		fputc('}', out);
	}
	fputc(']', out);
}

static void print_json(const struct status *s, FILE *out)
{
	const struct journal_stats *j = &s->d->journals;
	struct utsname u;

	uname(&u);
	put_text(out, "version", JOBPROF_VERSION);
	fputc(',', out);
	put_text(out, "kernel", u.release);
	fputc(',', out);
	put_text(out, "node", s->d->env.node_name);
	fprintf(out, ",\"process\":%d,\"since\":%lld", getpid(),
		(long long)when(s, s->d->started_ns));
	fprintf(out, ",\"steps\":{\"profiled\":%u,\"ending\":%u,\"ended\":%u},\"writers\":%u",
		s->active, s->ending, s->waiting, s->writers);
	fprintf(out, ",\"journals\":{\"count\":%u,\"bytes\":%" PRIu64 ",\"removed\":%" PRIu64 ",",
		j->journals, j->bytes, j->removed);
	put_text(out, "directory", s->d->env.state_dir);
	fprintf(out, "},\"rows_left_out\":%" PRIu64 ",\"programs_attached\":%s", s->left_out,
		kern__attached(s->d->env.k) ? "true" : "false");
	put_overhead(&s->d->overhead, out);
	put_errors(out);
	put_problems(s, out);
}

/* ---- the answer */

int control_status__send(struct call *k, bool as_json)
{
	struct jpc_status *m = (void *)k->c->buf; /* the message in it has been handled */
	size_t room = sizeof(k->c->buf) - sizeof(*m) - 1, len = 0;
	_cleanup_free_ char *text = NULL;
	FILE *f = open_memstream(&text, &len);
	struct status s;

	if (!f)
		return -ENOMEM;
	s = look(k->c->d);
	(as_json ? print_json : print_text)(&s, f);
	fclose(f);
	k->reply.number = s.nproblems;
	for (unsigned i = 0; i < s.nproblems; i++)
		free(s.problems[i].text);
	free(s.problems);
	if (!text)
		return -ENOMEM;
	if (len > room && as_json)
		return reply__refuse(&k->reply, -EMSGSIZE, "too many problems: ask without JSON");
	if (len > room)
		len = room;
	memcpy(m->text, text, len);
	m->text[len++] = '\0';
	m->head = (struct jpc_head){.magic = JPC_MAGIC,
				    .version = JPC_VERSION,
				    .type = JPC_STATUS,
				    .length = (uint32_t)(sizeof(*m) + len)};
	return peer__send(k->p, m, k->now);
}
