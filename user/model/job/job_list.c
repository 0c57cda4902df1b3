/* SPDX-License-Identifier: GPL-2.0-only */
/* The first round of reading a job: which parts its files have. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/log.h"
#include "jobfile/select.h"
#include "model/job/job_internal.h"

int job_list__work(void *reading, unsigned item, struct message *m)
{
	struct job_reading *r = reading;
	const struct job_input *in = &r->inputs[item];
	const struct selection sel = {.nodes = in->nodes, .steps = in->steps, .nsteps = in->nsteps};
	struct node_ref *refs = NULL;
	unsigned n = 0;
	int err = job_reading__open(r, item);

	if (!err)
		err = select__nodes(r->reader, &sel, &refs, &n);
	message__put(m, &err, sizeof(err));
	if (!err) {
		message__put_text(m, r->reader->job);
		message__put(m, &n, sizeof(n));
		message__put(m, refs, n * sizeof(*refs));
		for (unsigned i = 0; i < n; i++) {
			const struct reader_step *s = &r->reader->steps[refs[i].step];

			message__put_text(m, s->name);
			message__put_text(m, s->nodes.v[refs[i].node]);
			if (r->ninputs > 1)
				job_head__put(r, refs[i].step, refs[i].node, m);
		}
	}
	free(refs);
	return 0;
}

static int add_node(struct model_job *j, const char *name)
{
	struct job_node *more = realloc(j->nodes, (j->nnodes + 1) * sizeof(*more));
	struct job_unit *u;

	if (!more)
		return -1;
	j->nodes = more;
	more[j->nnodes] = (struct job_node){0};
	u = &more[j->nnodes].unit;
	*u = (struct job_unit){
		.name = strdup(name), .node = j->nnodes, .begin_s = NAN, .end_s = NAN};
	for (int q = 0; q < N_QUANTITIES; q++)
		u->total[q] = NAN;
	return u->name ? (int)j->nnodes++ : -1;
}

/* The index of the node or step of a name, which is added where it is new; -1: no memory. The one
 * behind `last` is looked at first: nodes of steps have the same order. */
static int node_index(struct model_job *j, const char *name, unsigned last)
{
	for (unsigned i = 1; i <= j->nnodes; i++) {
		unsigned at = (last + i) % j->nnodes;

		if (!strcmp(j->nodes[at].unit.name, name))
			return (int)at;
	}
	return add_node(j, name);
}

static int step_index(struct model_job *j, const char *name)
{
	struct job_step *more;

	for (unsigned i = j->nsteps; i-- > 0;)
		if (!strcmp(j->steps[i].name, name))
			return (int)i;
	more = realloc(j->steps, (j->nsteps + 1) * sizeof(*more));
	if (!more)
		return -1;
	j->steps = more;
	j->steps[j->nsteps] =
		(struct job_step){.name = strdup(name), .cpu_s = NAN, .begin_s = NAN, .end_s = NAN};
	return j->steps[j->nsteps].name ? (int)j->nsteps++ : -1;
}

/* Whether an earlier input has that step of that node. Files without the number of a step in their
 * names are not known to be the same. */
static bool is_there(const struct job_reading *r, const struct job_place *p)
{
	for (unsigned i = 0; r->ninputs > 1 && i < r->job->nparts; i++)
		if (r->places[i].input != p->input && r->places[i].of_step == p->of_step &&
		    r->places[i].of_node == p->of_node)
			return *r->job->steps[p->of_step].name;
	return false;
}

/* What a part says that is not read by a round of its own; a failure is the part's trouble. */
static int take_head(struct job_reading *r, struct message *m)
{
	int err = job_head__take(r, r->job->nparts, m);

	if (!err || err == -ENOMEM)
		return err;
	return m->bad ? -EBADMSG : job_part__fail(r, r->job->nparts, err);
}

static int take_place(struct job_reading *r, struct job_place p, struct message *m,
		      unsigned *doubles)
{
	struct model_job *j = r->job;
	struct job_part *part = &j->parts[j->nparts];
	const char *step = message__take_text(m), *node = message__take_text(m);
	int s, d, err;

	if (m->bad)
		return -EBADMSG;
	s = step_index(j, step);
	d = node_index(j, node, j->nparts ? r->places[j->nparts - 1].of_node : 0);
	if (s < 0 || d < 0)
		return -ENOMEM;
	p.of_step = (unsigned)s;
	p.of_node = (unsigned)d;
	*part = (struct job_part){.step = p.of_step,
				  .node = p.of_node,
				  .start_ns = NAN,
				  .end_ns = NAN,
				  .row_s = NAN,
				  .covered_s = NAN};
	err = r->ninputs > 1 ? take_head(r, m) : 0;
	if (err || is_there(r, &p)) {
		job_part__free(part);
		*doubles += !err;
		return err;
	}
	r->places[j->nparts++] = p;
	return 0;
}

static int take_places(struct job_reading *r, unsigned input, const struct node_ref *refs,
		       unsigned n, struct message *m)
{
	struct model_job *j = r->job;
	struct job_place *places = realloc(r->places, (j->nparts + n + 1) * sizeof(*places));
	struct job_part *parts = realloc(j->parts, (j->nparts + n + 1) * sizeof(*parts));
	unsigned doubles = 0;
	int err = 0;

	r->places = places ? places : r->places;
	j->parts = parts ? parts : j->parts;
	if (!places || !parts)
		return -ENOMEM;
	for (unsigned i = 0; !err && i < n; i++)
		err = take_place(r, (struct job_place){input, refs[i].step, refs[i].node, 0, 0}, m,
				 &doubles);
	if (doubles)
		log_warn("%s: %u of its node-steps are in an earlier file, too; they count once",
			 r->inputs[input].path, doubles);
	return err;
}

int job_list__take(struct job_reading *r, unsigned item, struct message *m)
{
	const int *failed = message__take(m, sizeof(*failed));
	const struct node_ref *refs;
	const unsigned *n;
	const char *id;

	if (!failed || *failed)
		return failed ? *failed : -EBADMSG;
	id = message__take_text(m);
	n = message__take(m, sizeof(*n));
	refs = n ? message__take(m, *n * sizeof(*refs)) : NULL;
	if (!refs)
		return -EBADMSG;
	if (r->job->id && *r->job->id && *id && strcmp(r->job->id, id))
		return -EINVAL;
	if (!r->job->id || !*r->job->id) {
		free(r->job->id);
		r->job->id = strdup(id);
	}
	return r->job->id ? take_places(r, item, refs, *n, m) : -ENOMEM;
}
