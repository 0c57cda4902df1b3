// SPDX-License-Identifier: GPL-2.0-only
/* Attributes of a job as its controller knows it: what was asked for, and how it ended. */
#include "daemon/record/job_attrs.h"

#include <math.h>
#include <stddef.h>

#include "daemon/child/job_infos.h"
#include "daemon/record/step_attrs.h"
#include "identity/layout.h"

static void put_facts(struct journal *j, const struct job_facts *f, bool ended)
{
	const struct {
		const char *name;
		int64_t v;
	} times[] = {
		{"Time Limit", f->time_limit},
		{"Submit EpochTime", f->submitted},
		{"Eligible EpochTime", f->eligible},
	};

	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
		if (times[i].v >= 0)
			journal__attr_i64(j, times[i].name, times[i].v);
	if (!isnan(f->node_memory))
		journal__attr_f64(j, "Requested Memory per Node", f->node_memory);
	if (!isnan(f->cpu_memory))
		journal__attr_f64(j, "Requested Memory per CPU", f->cpu_memory);
	if (f->sharing[0])
		journal__attr_str(j, "Node Sharing", f->sharing);
	if (ended && job_facts__ended(f))
		journal__attr_str(j, "Job State", f->state);
}

static bool is_of_slurm(const struct step *s, const struct step_env *env)
{
	return !env->embedded && s->ids.has_job;
}

void job_attrs__take(struct step *s, const struct step_env *env, uint64_t now_ns)
{
	const struct job_facts *f;

	if (s->facts_journaled || !is_of_slurm(s, env))
		return;
	f = job_infos__get(env->jobs, s->ids.job_id, now_ns);
	if (!f && step__on_first_node(s))
		job_infos__ask(env->jobs, s->ids.job_id, s->req ? &s->req->slurmd : NULL,
			       step__node_name(s, env->node_name), now_ns);
	if (!f)
		return;
	put_facts(s->journal, f, false);
	s->facts_journaled = true;
}

bool job_attrs__waits(const struct step *s, const struct step_env *env)
{
	return !s->facts_journaled && is_of_slurm(s, env) &&
	       job_infos__pending(env->jobs, s->ids.job_id);
}

/* The extern step lives as long as the job; where it is not profiled the batch step ends last. */
static bool ends_last(const struct step *s, const struct step_env *env)
{
	if (s->ids.step_id == STEP_EXTERN)
		return true;
	for (const struct step *o = *env->steps; o; o = o->next)
		if (o != s && o->ids.has_job && o->ids.job_id == s->ids.job_id &&
		    o->ids.step_id == STEP_EXTERN && o->state != STEP_NEW &&
		    o->state != STEP_IGNORED)
			return false;
	return s->ids.step_id == STEP_BATCH;
}

bool job_attrs__ask_end(const struct step *s, const struct step_env *env, uint64_t now_ns)
{
	if (!is_of_slurm(s, env) || !job_infos__get(env->jobs, s->ids.job_id, now_ns) ||
	    !ends_last(s, env))
		return false;
	job_infos__ask_end(env->jobs, s->ids.job_id, now_ns);
	return job_infos__pending(env->jobs, s->ids.job_id);
}

void job_attrs__put_end(struct step *s, const struct step_env *env, uint64_t now_ns)
{
	const struct job_facts *f = job_infos__get(env->jobs, s->ids.job_id, now_ns);

	if (f)
		put_facts(s->journal, f, true);
}
