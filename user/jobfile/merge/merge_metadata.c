/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Attributes of the job and its steps, put together from those of the nodes, and the list of
 * missing nodes. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/hostlist.h"
#include "base/log.h"
#include "base/room.h"
#include "hdf5/h5util.h"
#include "identity/stepname.h"
#include "jobfile/merge/merge_internal.h"

#define TEXT_MAX 60000 /* an attribute in an object's header ends below 64 KiB */

struct agreed_attr {
	struct job_attr_value value;
	bool differs; /* the nodes do not agree: it is none of the job */
};

struct step_metadata {
	char *name;
	struct string_list nodes;
	int64_t promised; /* nodes of the step, -1: no file has their number */
	char *nodelist;	  /* the same by name */
	char *missing;	  /* what the job file said before, a comma list */
};

struct merge_metadata {
	struct agreed_attr attrs[JOB_ATTRS];
	int64_t start_s, end_s, tasks;
	bool tasks_unknown; /* of a node */
	struct step_metadata *steps;
	unsigned nsteps;
};

/* Attributes that a merge writes: those of an earlier merge go, for what they say may have changed,
 * or be unknown now. */
static const char *const of_job[] = {"Number of Steps", "Job Id",	"Nodes",
				     "Tasks",		"Start Time",	"Start EpochTime",
				     "End Time",	"End EpochTime"};
static const char *const of_step[] = {"Number of Nodes", "Missing Nodes",
				      "Number of Missing Nodes"};

static int clear_attrs(struct merge_tree *t, const char *step)
{
	const char *const *names = step ? of_step : of_job;
	const unsigned n =
		step ? sizeof(of_step) / sizeof(*of_step) : sizeof(of_job) / sizeof(*of_job);
	int err = 0;

	for (unsigned i = 0; !err && i < n; i++)
		err = merge_tree__forget(t, step, names[i]);
	for (unsigned i = 0; !err && !step && i < JOB_ATTRS; i++)
		err = merge_tree__forget(t, NULL, job_attrs[i].name);
	return err;
}

int merge_metadata__new(struct merge_metadata **out)
{
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return -ENOMEM;
	(*out)->start_s = (*out)->end_s = -1;
	return 0;
}

void merge_metadata__free(struct merge_metadata *metadata)
{
	if (!metadata)
		return;
	for (unsigned i = 0; i < metadata->nsteps; i++) {
		free(metadata->steps[i].name);
		string_list__free(&metadata->steps[i].nodes);
		free(metadata->steps[i].nodelist);
		free(metadata->steps[i].missing);
	}
	free(metadata->steps);
	free(metadata);
}

static struct step_metadata *step_of(struct merge_metadata *metadata, const char *name)
{
	struct step_metadata *v;

	for (unsigned i = metadata->nsteps; i-- > 0;)
		if (!strcmp(metadata->steps[i].name, name))
			return &metadata->steps[i];
	if (room__grow(&metadata->steps, metadata->nsteps, 1, sizeof(*metadata->steps)))
		return NULL;
	v = &metadata->steps[metadata->nsteps];
	*v = (struct step_metadata){.name = strdup(name), .promised = -1};
	if (!v->name)
		return NULL;
	metadata->nsteps++;
	return v;
}

static void agree_on_attr(struct agreed_attr *l, enum job_attr which,
			  const struct job_attr_value *v)
{
	if (!v->known)
		return;
	if (!l->value.known)
		l->value = *v;
	else if (job_attrs[which].number ? l->value.i != v->i : strcmp(l->value.text, v->text))
		l->differs = true;
}

static int add_node(struct step_metadata *s, const struct merge_item *i,
		    const struct merge_result *r)
{
	if (string_list__append(&s->nodes, i->node))
		return -ENOMEM;
	if (r->info.nodes > s->promised)
		s->promised = r->info.nodes;
	if (!s->nodelist && *r->nodelist)
		s->nodelist = strdup(r->nodelist);
	return *r->nodelist && !s->nodelist ? -ENOMEM : 0;
}

int merge_metadata__add(struct merge_metadata *metadata, const struct merge_item *i,
			const struct merge_result *r)
{
	const struct node_info *n = &r->info;
	struct step_metadata *s = step_of(metadata, i->step);

	for (unsigned k = 0; k < JOB_ATTRS; k++)
		agree_on_attr(&metadata->attrs[k], k, &n->attrs[k]);
	if (n->start_s >= 0 && (metadata->start_s < 0 || n->start_s < metadata->start_s))
		metadata->start_s = n->start_s;
	if (n->end_s > metadata->end_s)
		metadata->end_s = n->end_s;
	if (n->tasks < 0)
		metadata->tasks_unknown = true;
	else
		metadata->tasks += n->tasks;
	return s ? add_node(s, i, r) : -ENOMEM;
}

int merge_metadata__add_missing(struct merge_metadata *metadata, const char *step, hid_t group)
{
	hid_t attr = H5Aexists(group, "Missing Nodes") > 0
			     ? H5Aopen(group, "Missing Nodes", H5P_DEFAULT)
			     : H5I_INVALID_HID;
	hid_t type = attr < 0 ? attr : H5Aget_type(attr);
	char *text = NULL;
	int err = type < 0 ? 0 : h5__get_text(attr, type, TEXT_MAX, &text);

	if (text) {
		struct step_metadata *s = step_of(metadata, step);

		if (s)
			s->missing = text;
		else
			free(text);
		err = s ? 0 : -ENOMEM;
	}
	if (type >= 0)
		H5Tclose(type);
	if (attr >= 0)
		H5Aclose(attr);
	return err == -ENOMEM ? err : 0;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int by_nature(const void *a, const void *b)
{
	return strverscmp(*(const char *const *)a, *(const char *const *)b);
}

/* Sorts, and drops what is there after all and what comes twice. s->nodes is sorted. */
static void settle_texts(struct string_list *m, const struct step_metadata *s)
{
	unsigned n = 0;

	if (m->n)
		qsort(m->v, m->n, sizeof(*m->v), by_nature);
	for (unsigned i = 0; i < m->n; i++) {
		if ((n && !strcmp(m->v[n - 1], m->v[i])) || hostlist__has(&s->nodes, m->v[i]))
			free(m->v[i]);
		else
			m->v[n++] = m->v[i];
	}
	m->n = n;
}

/* Joins as many texts of the list as an attribute holds; another attribute has the number of all
 * texts. */
static char *join_texts(const struct string_list *m)
{
	char *text = calloc(1, TEXT_MAX + 1);
	size_t at = 0;

	for (unsigned i = 0; text && i < m->n; i++) {
		size_t n = strlen(m->v[i]);

		if (at + n + 1 > TEXT_MAX)
			break;
		if (at)
			text[at++] = ',';
		memcpy(text + at, m->v[i], n);
		at += n;
	}
	return text;
}

static int write_missing(const struct merge_set *set, const struct step_metadata *s,
			 const struct string_list *m, struct merge_tree *t)
{
	int64_t n = m->n;
	char *text;
	int err;

	if (s->promised > (int64_t)s->nodes.n + n)
		n = s->promised - s->nodes.n;
	if (n <= 0)
		return 0;
	text = join_texts(m);
	if (!text)
		return -ENOMEM;
	log_warn("job %u step %s: %lld of its nodes %s missing%s%s", set->job,
		 stepname__human(s->name), (long long)n, n == 1 ? "is" : "are", *text ? ": " : "",
		 text);
	err = merge_tree__number(t, s->name, "Number of Missing Nodes", n, false);
	if (!err)
		err = merge_tree__text(t, s->name, "Missing Nodes", text);
	free(text);
	return err;
}

static int write_step(struct merge_metadata *metadata, const struct merge_set *set,
		      struct step_metadata *s, struct merge_tree *t)
{
	struct string_list promised = {0};
	struct string_list m = {0};
	char bad[64], *save = NULL;
	int err = clear_attrs(t, s->name);

	if (s->nodes.n)
		qsort(s->nodes.v, s->nodes.n, sizeof(*s->nodes.v), by_text);
	if (s->nodelist && hostlist__parse(&promised, s->nodelist, bad, sizeof(bad)))
		promised = (struct string_list){0};
	for (unsigned i = 0; !err && i < promised.n; i++)
		err = string_list__append(&m, promised.v[i]);
	for (unsigned i = 0; !err && i < set->nabsent; i++)
		if (!strcmp(set->absent[i].step, s->name))
			err = string_list__append(&m, set->absent[i].node);
	for (char *w = s->missing ? strtok_r(s->missing, ",", &save) : NULL; !err && w;
	     w = strtok_r(NULL, ",", &save))
		err = string_list__append(&m, w);
	if (!err) {
		settle_texts(&m, s);
		err = merge_tree__number(t, s->name, "Number of Nodes", s->nodes.n, false);
	}
	if (!err)
		err = write_missing(set, s, &m, t);
	string_list__free(&promised);
	string_list__free(&m);
	return err;
}

static int write_time(struct merge_tree *t, const char *event, int64_t at)
{
	char name[32], text[64];
	time_t clock = at;
	struct tm tm;
	int err;

	if (at < 0 || !localtime_r(&clock, &tm))
		return 0;
	snprintf(name, sizeof(name), "%s Time", event);
	strftime(text, sizeof(text), "%a %b %d %T %Y", &tm);
	err = merge_tree__text(t, NULL, name, text);
	snprintf(name, sizeof(name), "%s EpochTime", event);
	return err ? err : merge_tree__number(t, NULL, name, at, true);
}

static int write_attrs(struct merge_metadata *metadata, struct merge_tree *t)
{
	int err = 0;

	for (unsigned i = 0; !err && i < JOB_ATTRS; i++) {
		const struct agreed_attr *l = &metadata->attrs[i];
		const char *name = job_attrs[i].name;

		if (!l->value.known || l->differs)
			continue;
		err = job_attrs[i].number ? merge_tree__number(t, NULL, name, l->value.i, true)
					  : merge_tree__text(t, NULL, name, l->value.text);
	}
	return err;
}

static unsigned count_steps(const struct merge_metadata *metadata)
{
	unsigned n = 0;

	for (unsigned i = 0; i < metadata->nsteps; i++)
		n += metadata->steps[i].nodes.n > 0;
	return n;
}

/* A node that several steps used counts once. */
static int64_t count_nodes(const struct merge_metadata *metadata)
{
	unsigned n = 0, distinct = 0;
	const char **v;

	for (unsigned i = 0; i < metadata->nsteps; i++)
		n += metadata->steps[i].nodes.n;
	v = calloc(n + 1, sizeof(*v));
	if (!v)
		return -ENOMEM;
	n = 0;
	for (unsigned i = 0; i < metadata->nsteps; i++)
		for (unsigned k = 0; k < metadata->steps[i].nodes.n; k++)
			v[n++] = metadata->steps[i].nodes.v[k];
	qsort(v, n, sizeof(*v), by_text);
	for (unsigned i = 0; i < n; i++)
		distinct += !i || strcmp(v[i], v[i - 1]);
	free(v);
	return distinct;
}

static int write_job(struct merge_metadata *metadata, const struct merge_set *set, const char *user,
		     struct merge_tree *t)
{
	struct agreed_attr *u = &metadata->attrs[JOB_USER];
	int64_t nodes = count_nodes(metadata);
	int err = nodes < 0 ? (int)nodes : clear_attrs(t, NULL);

	/* The directory is the user's, whatever Slurm's files do not say. */
	if (!u->value.known) {
		u->value.known = true;
		snprintf(u->value.text, sizeof(u->value.text), "%s", user);
	}
	if (!err)
		err = merge_tree__number(t, NULL, "Number of Steps", count_steps(metadata), false);
	if (!err)
		err = merge_tree__number(t, NULL, "Job Id", set->job, true);
	if (!err)
		err = merge_tree__number(t, NULL, "Nodes", nodes, false);
	if (!err && !metadata->tasks_unknown)
		err = merge_tree__number(t, NULL, "Tasks", metadata->tasks, true);
	if (!err)
		err = write_time(t, "Start", metadata->start_s);
	if (!err)
		err = write_time(t, "End", metadata->end_s);
	return err ? err : write_attrs(metadata, t);
}

int merge_metadata__write(struct merge_metadata *metadata, const struct merge_set *set,
			  const char *user, struct merge_tree *t)
{
	int err = 0;

	/* A step of which no node is there has no group: readers take a node of each. */
	for (unsigned i = 0; !err && i < metadata->nsteps; i++)
		if (metadata->steps[i].nodes.n)
			err = write_step(metadata, set, &metadata->steps[i], t);
	return err ? err : write_job(metadata, set, user, t);
}
