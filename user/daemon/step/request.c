// SPDX-License-Identifier: GPL-2.0-or-later
/* The messages of Slurm's plugins about a step, merged into one request. */
#include "daemon/step/request.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/room.h"
#include "schema/family.h"

#define TASKS_MAX 65536

struct request *request__new(const struct step_key *p)
{
	static uint64_t serial;
	struct request *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->serial = ++serial;
	r->key = *p;
	r->updated_ns = clock__boot_ns();
	return r;
}

void request__free(struct request *r)
{
	if (!r)
		return;
	if (r->findings.pid) {
		kill(r->findings.pid, SIGKILL); /* the loop reaps it */
		close(r->findings.out);
	}
	external_series__free(&r->external);
	free(r->tasks);
	free(r);
}

bool step_key__equal(const struct step_key *a, const struct step_key *b)
{
	if (a->step_id != b->step_id || a->het_comp != b->het_comp)
		return false;
	if (a->job_path[0] && b->job_path[0])
		return a->hier == b->hier && !strcmp(a->job_path, b->job_path);
	return a->job_id == b->job_id && a->job_id != JPC_UNKNOWN &&
	       (!a->node[0] || !b->node[0] || !strcmp(a->node, b->node));
}

/* The families of --jobprof stay set, whatever --profile asks for later. */
static int set_families(struct request *r, const struct jpc_step *m, const struct freq *freq,
			char *err, size_t errlen)
{
	struct freq f = *freq;
	char bad[64];
	int ret = 0;

	if (r->asked_by == JPC_SPANK && m->source != JPC_SPANK)
		return 0;
	if (m->families[0]) {
		unsigned mask = 0;

		if (family__parse(m->families, &mask, bad, sizeof(bad))) {
			snprintf(err, errlen, "nothing is called \"%s\"", bad);
			return -EINVAL;
		}
		r->asked_by = m->source;
		r->families = mask;
		r->none = !strcasecmp(m->families, "none");
	}
	if (m->freq[0]) {
		ret = freq__parse(m->freq, &f, err, errlen);
		if (!ret) {
			r->freq = f;
			r->own_freq = true;
		}
	}
	return ret;
}

#define KEEP_NUMBER(field)                        \
	do {                                      \
		if (m->field != JPC_UNKNOWN)      \
			r->info.field = m->field; \
	} while (0)
#define KEEP_TEXT(field)                                                   \
	do {                                                               \
		if (m->field[0])                                           \
			memcpy(r->info.field, m->field, sizeof(m->field)); \
	} while (0)

/* Two plugins send messages about the same step, each with other fields. */
static void merge_info(struct request *r, const struct jpc_step *m)
{
	if (!r->known) {
		r->info = *m;
		r->known = true;
		return;
	}
	KEEP_NUMBER(job_id);
	KEEP_NUMBER(uid);
	KEEP_NUMBER(gid);
	KEEP_NUMBER(restart);
	KEEP_NUMBER(node_index);
	KEEP_NUMBER(nnodes);
	KEEP_NUMBER(node_tasks);
	KEEP_NUMBER(ntasks);
	KEEP_NUMBER(cpus_per_task);
	KEEP_NUMBER(array_job_id);
	KEEP_NUMBER(array_task_id);
	KEEP_NUMBER(het_job_id);
	KEEP_NUMBER(het_offset);
	KEEP_NUMBER(time_limit);
	r->info.flags |= m->flags;
	if (m->memory_mb)
		r->info.memory_mb = m->memory_mb;
	KEEP_TEXT(step_name);
	KEEP_TEXT(node_name);
	KEEP_TEXT(cluster);
	KEEP_TEXT(job_name);
	KEEP_TEXT(account);
	KEEP_TEXT(partition);
	KEEP_TEXT(user);
	KEEP_TEXT(cpus);
	KEEP_TEXT(node_list);
	KEEP_TEXT(job_node_list);
}

int request__update(struct request *r, const struct jpc_step *m, const struct freq *freq, char *err,
		    size_t errlen)
{
	r->updated_ns = clock__boot_ns();
	r->unjournaled = true;
	r->spank |= m->source == JPC_SPANK;
	merge_info(r, m);
	return m->asked ? set_families(r, m, freq, err, errlen) : 0;
}

bool request__refuses(const struct request *r)
{
	return r && r->asked_by && r->none;
}

int request__update_task(struct request *r, const struct jpc_task *m)
{
	struct slurm_task *t;
	unsigned i;

	for (i = 0; i < r->ntasks && r->tasks[i].gtid != m->gtid; i++)
		;
	if (i == TASKS_MAX)
		return -E2BIG;
	if (i == r->ntasks && room__grow(&r->tasks, r->ntasks, 1, sizeof(*t)))
		return -ENOMEM;
	t = &r->tasks[i];
	if (i == r->ntasks) {
		*t = (struct slurm_task){.gtid = m->gtid};
		r->ntasks++;
	}
	if (m->pid > 0)
		t->pid = m->pid;
	if (m->head.type == JPC_TASK_END) {
		t->ended = true;
		t->status = m->status;
	}
	return 0;
}

const struct slurm_task *request__find_task(const struct request *r, pid_t pid)
{
	unsigned i;

	for (i = 0; i < r->ntasks; i++)
		if (r->tasks[i].pid == pid)
			return &r->tasks[i];
	return NULL;
}
