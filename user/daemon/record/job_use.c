/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sums of the steps of each job. */
#include "daemon/record/job_use.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/str.h"
#include "daemon/record/record.h"

#define KEPT_NS (3600 * NSEC_PER_SEC)

/* What counters are made of, and the family that counts it. */
static const struct {
	enum job_value to;
	unsigned total; /* enum total */
	enum family family;
	double scale;
} counters[] = {
	{JOB_CPU, T_CPU, FAM_BASE, 1e-9},
	{JOB_CPU_WAIT, T_RUN_DELAY, FAM_SCHED, 1e-9},
	{JOB_BY_QUOTA, T_BLOCKED + JP_CAUSE_THROTTLED, FAM_WAIT, 1e-9},
	{JOB_BY_DISK, T_BLOCKED + JP_CAUSE_DISK, FAM_WAIT, 1e-9},
	{JOB_BY_DISK, T_BLOCKED + JP_CAUSE_FAULT, FAM_WAIT, 1e-9},
	{JOB_BY_NET_FS, T_BLOCKED + JP_CAUSE_NET_FS, FAM_WAIT, 1e-9},
	{JOB_BY_LOCK, T_BLOCKED + JP_CAUSE_KERNEL, FAM_WAIT, 1e-9},
	{JOB_BY_LOCK, T_BLOCKED + JP_CAUSE_FUTEX, FAM_WAIT, 1e-9},
	{JOB_BY_MESSAGE, T_BLOCKED + JP_CAUSE_PIPE, FAM_WAIT, 1e-9},
	{JOB_BY_MESSAGE, T_BLOCKED + JP_CAUSE_SOCKET, FAM_WAIT, 1e-9},
	{JOB_BY_MESSAGE, T_BLOCKED + JP_CAUSE_POLL, FAM_WAIT, 1e-9},
	{JOB_BY_OTHER, T_BLOCKED + JP_CAUSE_SLEEP, FAM_WAIT, 1e-9},
	{JOB_BY_OTHER, T_BLOCKED + JP_CAUSE_CHILD, FAM_WAIT, 1e-9},
	{JOB_BY_OTHER, T_BLOCKED + JP_CAUSE_SIGNAL, FAM_WAIT, 1e-9},
	{JOB_BY_OTHER, T_BLOCKED + JP_CAUSE_OTHER, FAM_WAIT, 1e-9},
	{JOB_READ, T_READ_BYTES, FAM_BASE, 1},
	{JOB_WRITTEN, T_WRITE_BYTES, FAM_BASE, 1},
};

static void add_counters(double *v, const struct totals *t)
{
	for (size_t i = 0; i < sizeof(counters) / sizeof(counters[0]); i++)
		v[counters[i].to] += (double)t->v[counters[i].total] * counters[i].scale;
}

static void clear_unknown(double *v, unsigned families)
{
	for (size_t i = 0; i < sizeof(counters) / sizeof(counters[0]); i++)
		if (!(families & counters[i].family))
			v[counters[i].to] = NAN;
}

void job_uses__free(struct job_uses *u)
{
	while (u->jobs) {
		struct job_use *j = u->jobs;

		u->jobs = j->next;
		free(j);
	}
}

static void forget(struct job_uses *u, struct job_use **at)
{
	struct job_use *j = *at;

	*at = j->next;
	u->n--;
	free(j);
}

/* Whether there is room for one more; a job that has ended makes it. */
static bool make_room(struct job_uses *u)
{
	struct job_use **at = &u->jobs;

	if (u->n < JOB_USES)
		return true;
	while (*at && (*at)->steps)
		at = &(*at)->next;
	if (*at)
		forget(u, at);
	return u->n < JOB_USES;
}

static struct job_use *find_job(struct job_uses *u, const struct step *s)
{
	struct job_use **at = &u->jobs, *j;

	for (; *at; at = &(*at)->next)
		if ((*at)->job_id == s->ids.job_id)
			return *at;
	if (!s->ids.has_job || !make_room(u) || !(j = calloc(1, sizeof(*j))))
		return NULL;
	for (at = &u->jobs; *at;)
		at = &(*at)->next;
	j->job_id = s->ids.job_id;
	*at = j;
	u->n++;
	return j;
}

static const char *env_value(const struct step *s, const char *attr)
{
	for (unsigned i = 0; s->job_env && i < ENV_ATTRS; i++)
		if (!strcmp(env_attrs[i].attr, attr))
			return s->job_env->values[i];
	return "";
}

static void set_text(char to[static JOB_USE_TEXT], const char *given, const char *otherwise)
{
	if (!*to)
		snprintf(to, JOB_USE_TEXT, "%s", *given ? given : otherwise);
}

static void describe(struct job_use *j, const struct step *s)
{
	const struct jpc_step *info = s->req && s->req->known ? &s->req->info : NULL;
	uint32_t gpus;

	set_text(j->account, info ? info->account : "", env_value(s, "Account"));
	set_text(j->partition, info ? info->partition : "", env_value(s, "Partition"));
	if (!*j->user && s->uid_known && !s->pub.user[0])
		snprintf(j->user, sizeof(j->user), "%u", s->uid);
	set_text(j->user, s->pub.user, "");
	if (!*j->sluid)
		memcpy(j->sluid, s->ids.sluid, sizeof(j->sluid));
	if (!parse_u32(env_value(s, "Allocated GPUs"), &gpus) && gpus > j->gpus && gpus < 1024)
		j->gpus = gpus;
}

static double peak_of(const struct step *s, uint64_t rss)
{
	for (unsigned i = 0; i < s->ntables; i++) {
		const struct table *t = &s->tables[i];

		if (t->kind != KIND_STEP)
			continue;
		rss = t->peak > rss ? t->peak : rss;
		rss = t->between.peak > rss ? t->between.peak : rss;
	}
	return (double)rss;
}

void job_uses__end_step(struct job_uses *u, struct step *s, const struct step_env *env)
{
	struct job_use *j = u ? find_job(u, s) : NULL;
	struct totals t;

	if (!u || !step__sum(s, env, &t))
		return;
	u->cpu_ended_s += (double)t.v[T_CPU] * 1e-9;
	u->cpu_wait_ended_s += (double)t.v[T_RUN_DELAY] * 1e-9;
	if (!j)
		return;
	describe(j, s);
	add_counters(j->ended, &t);
	j->peak = fmax(j->peak, peak_of(s, totals__rss(&t)));
	j->answers = 0;
	j->ended_ns = clock__boot_ns();
}

static void begin_look(struct job_uses *u)
{
	u->cpu_s = u->cpu_ended_s;
	u->cpu_wait_s = u->cpu_wait_ended_s;
	for (struct job_use *j = u->jobs; j; j = j->next) {
		memset(j->v, 0, sizeof(j->v));
		memcpy(j->v, j->ended, sizeof(j->ended));
		j->v[JOB_MEMORY_PEAK] = j->peak;
		j->v[JOB_MEMORY_LIMIT] = NAN;
		j->steps = 0;
	}
}

static void add_step(struct job_uses *u, struct step *s, const struct step_env *env,
		     const unsigned *processes)
{
	struct job_use *j = find_job(u, s);
	struct totals t;

	if (!step__sum(s, env, &t))
		memset(&t, 0, sizeof(t)); /* it has begun since the snapshot */
	u->cpu_s += (double)t.v[T_CPU] * 1e-9;
	u->cpu_wait_s += (double)t.v[T_RUN_DELAY] * 1e-9;
	if (!j)
		return;
	describe(j, s);
	j->steps++;
	j->answers = 0;
	add_counters(j->v, &t);
	j->v[JOB_MEMORY] += (double)totals__rss(&t);
	j->v[JOB_MEMORY_PEAK] = fmax(j->v[JOB_MEMORY_PEAK], peak_of(s, totals__rss(&t)));
	if (s->memory_limit > 0) /* 0: there is none */
		j->v[JOB_MEMORY_LIMIT] = fmax(j->v[JOB_MEMORY_LIMIT], s->memory_limit);
	j->v[JOB_GPU] += (double)t.v[T_GPU_UTILIZATION] * 1e-5;
	j->v[JOB_PROCESSES] += processes[s->slot];
}

/* The GPUs of a job that does not say how many it has are those that it uses. */
static void end_look(struct job_use *j, unsigned families, bool has_gpus)
{
	double gpus = j->gpus ? j->gpus : ceil(j->v[JOB_GPU]);

	j->peak = j->v[JOB_MEMORY_PEAK] = fmax(j->v[JOB_MEMORY_PEAK], j->v[JOB_MEMORY]);
	j->v[JOB_GPU] = has_gpus && gpus > 0 ? j->v[JOB_GPU] / gpus : NAN;
	for (unsigned i = 0; i < JOB_COUNTERS; i++)
		j->v[i] = j->last[i] = fmax(j->v[i], j->last[i]);
	clear_unknown(j->v, families);
}

/* The living processes of each step, by its slot; NULL: no memory. */
static unsigned *count_processes(const struct step_env *env)
{
	unsigned *counts = calloc(kern__nslots(env->k), sizeof(*counts)), n;
	const struct jp_task_rec *rec = snapshot__tasks(env->snap, &n);

	for (unsigned i = 0; counts && i < n; i++) {
		const struct jp_slot *slot = snapshot__slot(env->snap, rec[i].slot);

		if (rec[i].pid == rec[i].tgid && slot && slot->step < kern__nslots(env->k))
			counts[slot->step]++;
	}
	return counts;
}

void job_uses__look(struct job_uses *u, const struct step_env *env)
{
	const uint64_t now = clock__boot_ns();
	unsigned *processes = count_processes(env);
	struct job_use **at = &u->jobs;

	begin_look(u);
	for (struct step *s = processes ? *env->steps : NULL; s; s = s->next)
		if (s->state == STEP_ACTIVE || s->state == STEP_ENDING || s->state == STEP_ASKING)
			add_step(u, s, env, processes);
	free(processes);
	while (*at) {
		struct job_use *j = *at;

		end_look(j, kern__families(env->k) & ~kern__resting(env->k),
			 snapshot__has_gpus(env->snap));
		if (!j->steps && now > j->ended_ns + KEPT_NS)
			forget(u, at);
		else
			at = &j->next;
	}
}

/* ---- from one jobprofd to the next */

#define MAGIC 0x554a504au /* "JPJU" */

/* Fields of a job are added at the end: those of an earlier build are fewer. */
struct saved_head {
	uint32_t magic, size, n, pad;
	double cpu_s, cpu_wait_s;
};

struct saved_job {
	uint32_t job_id, gpus, answers, pad;
	double ended[JOB_COUNTERS], peak;
	uint64_t ended_ns;
	char sluid[SLUID_LEN + 2], user[JOB_USE_TEXT], account[JOB_USE_TEXT],
		partition[JOB_USE_TEXT];
	double last[JOB_COUNTERS];
};

static bool put_job(FILE *f, const struct job_use *j)
{
	struct saved_job s = {.job_id = j->job_id,
			      .gpus = j->gpus,
			      .answers = j->answers,
			      .peak = j->peak,
			      .ended_ns = j->ended_ns ? j->ended_ns : clock__boot_ns()};

	memcpy(s.ended, j->ended, sizeof(s.ended));
	memcpy(s.last, j->last, sizeof(s.last));
	memcpy(s.sluid, j->sluid, sizeof(j->sluid));
	memcpy(s.user, j->user, sizeof(s.user));
	memcpy(s.account, j->account, sizeof(s.account));
	memcpy(s.partition, j->partition, sizeof(s.partition));
	return fwrite(&s, sizeof(s), 1, f) == 1;
}

void job_uses__save(const struct job_uses *u, const char *state_dir)
{
	const struct saved_head head = {.magic = MAGIC,
					.size = sizeof(struct saved_job),
					.n = u->n,
					.cpu_s = u->cpu_ended_s,
					.cpu_wait_s = u->cpu_wait_ended_s};
	char path[4200];
	bool ok;
	FILE *f;

	snprintf(path, sizeof(path), "%s/metrics", state_dir);
	f = fopen(path, "we");
	ok = f && fwrite(&head, sizeof(head), 1, f) == 1;
	for (const struct job_use *j = u->jobs; ok && j; j = j->next)
		ok = put_job(f, j);
	if ((f && fclose(f)) || !ok) {
		log_warn("cannot write %s: %s: metrics of jobs begin at 0 again", path,
			 strerror(errno));
		unlink(path);
	}
}

static void take_job(struct job_uses *u, struct job_use ***at, const struct saved_job *s)
{
	struct job_use *j = u->n < JOB_USES ? calloc(1, sizeof(*j)) : NULL;

	if (!j)
		return;
	*j = (struct job_use){.job_id = s->job_id,
			      .gpus = s->gpus,
			      .answers = s->answers,
			      .peak = s->peak,
			      .ended_ns = s->ended_ns};
	memcpy(j->ended, s->ended, sizeof(j->ended));
	memcpy(j->last, s->last, sizeof(j->last));
	snprintf(j->sluid, sizeof(j->sluid), "%.*s", SLUID_LEN, s->sluid);
	snprintf(j->user, sizeof(j->user), "%.*s", JOB_USE_TEXT - 1, s->user);
	snprintf(j->account, sizeof(j->account), "%.*s", JOB_USE_TEXT - 1, s->account);
	snprintf(j->partition, sizeof(j->partition), "%.*s", JOB_USE_TEXT - 1, s->partition);
	**at = j;
	*at = &j->next;
	u->n++;
}

void job_uses__load(struct job_uses *u, const char *state_dir)
{
	struct job_use **at = &u->jobs;
	struct saved_head head;
	struct saved_job s = {0};
	char path[4200];
	FILE *f;

	snprintf(path, sizeof(path), "%s/metrics", state_dir);
	f = fopen(path, "re");
	if (f && fread(&head, sizeof(head), 1, f) == 1 && head.magic == MAGIC &&
	    head.size <= sizeof(s)) {
		u->cpu_s = u->cpu_ended_s = head.cpu_s;
		u->cpu_wait_s = u->cpu_wait_ended_s = head.cpu_wait_s;
		while (head.n-- && fread(&s, head.size, 1, f) == 1)
			take_job(u, &at, &s);
	}
	if (f)
		fclose(f);
	unlink(path); /* a jobprofd that is killed leaves sums that are too low, and none is better
		       */
}

bool job_use__is_shown(const struct job_use *j)
{
	return j->steps || j->answers < JOB_ANSWERS;
}
