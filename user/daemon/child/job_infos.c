/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The jobs that the controller was asked about, and the commands that ask. */
#include "daemon/child/job_infos.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/str.h"
#include "daemon/child/slurm_command.h"
#include "identity/slurm_lines.h"

/* ---- reads what "scontrol -o show job" prints, of Slurm 22.05 to 26.05 */

#define VALUE_MAX 64

struct line {
	const char *text;
	size_t len;
};

/* The value of the only word that begins with the key; false: there is none, or there are more. */
static bool find_value(const struct line *l, const char *key, char value[VALUE_MAX])
{
	const char *at = l->text, *end = l->text + l->len, *found = NULL;
	size_t n = strlen(key), len;

	while ((at = memmem(at, end - at, key, n))) {
		/* within another word: users may write what they like there, and Slurm does not */
		if (at == l->text || at[-1] == ' ') {
			if (found)
				return false;
			found = at + n;
		}
		at += n;
	}
	if (!found)
		return false;
	len = strcspn(found, " \n");
	if (len >= VALUE_MAX || found + len > end)
		return false;
	memcpy(value, found, len);
	value[len] = '\0';
	return true;
}

static int64_t read_time(const struct line *l, const char *key)
{
	char value[VALUE_MAX];
	uint32_t t;

	return find_value(l, key, value) && !parse_u32(value, &t) && t ? (int64_t)t : -1;
}

/* [DAYS-]HH:MM:SS; words are UNLIMITED and Partition_Limit. */
static int64_t read_limit(const struct line *l)
{
	unsigned days = 0, h, m, s;
	char value[VALUE_MAX], rest;
	int64_t limit;

	if (!find_value(l, "TimeLimit=", value))
		return -1;
	if (sscanf(value, "%5u-%2u:%2u:%2u%c", &days, &h, &m, &s, &rest) != 4) {
		days = 0;
		if (sscanf(value, "%2u:%2u:%2u%c", &h, &m, &s, &rest) != 3)
			return -1;
	}
	limit = ((int64_t)days * 24 + h) * 3600 + (int64_t)m * 60 + s;
	return limit < SLURM_NO_LIMIT_S ? limit : -1;
}

/* "20M", "1.50G", "0": nothing was asked for, which may be all of a node. */
static double read_memory(const struct line *l, const char *key)
{
	static const char units[] = "KMGTP";
	char value[VALUE_MAX], *end;
	const char *unit;
	double v;

	if (!find_value(l, key, value) || !isdigit((unsigned char)value[0]))
		return NAN;
	v = strtod(value, &end);
	if (v <= 0)
		return NAN;
	if (!*end)
		return v;
	unit = strchr(units, *end);
	return unit && !end[1] ? v * pow(1024, (double)(unit - units) - 1) : NAN;
}

/* Slurm 25.11 and later say with Exclusive whether other jobs may be on the nodes; before, it is
 * OverSubscribe=NO. */
static void read_sharing(const struct line *l, struct job_facts *f)
{
	static const struct {
		const char *key, *value, *sharing;
	} kinds[] = {
		{"Exclusive=", "NODE", "exclusive"}, {"Exclusive=", "NO", "shared"},
		{"Exclusive=", "USER", "user"},	     {"Exclusive=", "MCS", "mcs"},
		{"Exclusive=", "TOPO", "topo"},	     {"OverSubscribe=", "NO", "exclusive"},
		{"OverSubscribe=", "OK", "shared"},  {"OverSubscribe=", "YES", "shared"},
		{"OverSubscribe=", "USER", "user"},  {"OverSubscribe=", "MCS", "mcs"},
		{"OverSubscribe=", "TOPO", "topo"},
	};
	char value[VALUE_MAX];
	const char *key = memmem(l->text, l->len, " Exclusive=", strlen(" Exclusive="))
				  ? "Exclusive="
				  : "OverSubscribe=";

	if (!find_value(l, key, value))
		return;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(kinds[i].key, key) && !strcmp(kinds[i].value, value))
			str__copy(f->sharing, sizeof(f->sharing), kinds[i].sharing);
}

static bool is_state(const char *word)
{
	return word[0] && word[strspn(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_")] == '\0';
}

static void read_line(const struct line *l, struct job_facts *f)
{
	char value[VALUE_MAX];

	f->time_limit = read_limit(l);
	f->submitted = read_time(l, "SubmitTime=");
	f->eligible = read_time(l, "EligibleTime=");
	f->node_memory = read_memory(l, "MinMemoryNode=");
	f->cpu_memory = read_memory(l, "MinMemoryCPU=");
	read_sharing(l, f);
	if (find_value(l, "JobState=", value) && is_state(value))
		str__copy(f->state, sizeof(f->state), value);
}

static bool is_of_job(const char *line, uint32_t job_id)
{
	char begin[32];

	snprintf(begin, sizeof(begin), "JobId=%u ", job_id);
	return str__starts(line, begin);
}

bool job_facts__parse(const char *text, uint32_t job_id, struct job_facts *f)
{
	struct line l = {};

	*f = (struct job_facts){.time_limit = -1,
				.submitted = -1,
				.eligible = -1,
				.node_memory = NAN,
				.cpu_memory = NAN};
	while (*text) {
		const char *end = strchrnul(text, '\n');

		if (is_of_job(text, job_id)) {
			if (l.text)
				return false;
			l = (struct line){text, (size_t)(end - text)};
		}
		text = *end ? end + 1 : end;
	}
	if (l.text)
		read_line(&l, f);
	return l.text;
}

bool job_facts__ended(const struct job_facts *f)
{
	static const char *const states[] = {"COMPLETED", "FAILED",	   "TIMEOUT",
					     "CANCELLED", "PREEMPTED",	   "NODE_FAIL",
					     "DEADLINE",  "OUT_OF_MEMORY", "BOOT_FAIL"};

	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++)
		if (!strcmp(f->state, states[i]))
			return true;
	return false;
}

#define GIVE_UP_NS (8 * NSEC_PER_SEC)
#define AGAIN_NS   (NSEC_PER_SEC / 5) /* while a job ends: 0.2, 0.4, 0.8 ... s */
/* How long jobs stay in the table: known ones, unknown ones, and ended ones, whose id may run
 * again. */
#define KNOWN_NS    (600 * NSEC_PER_SEC)
#define UNKNOWN_NS  (60 * NSEC_PER_SEC)
#define ENDED_NS    (5 * NSEC_PER_SEC)
#define RUNNING_MAX 4  /* commands at once */
#define BURST	    20 /* commands that may be started without a pause */

struct job_info {
	struct job_info *next;
	uint32_t job_id;
	bool wants;  /* a command is to be started, or runs */
	bool ending; /* the state is to be one that ends a job */
	bool known;
	unsigned asked; /* while it ends */
	uint64_t next_ns, end_ns, forget_ns;
	struct slurm_command scontrol;
	struct job_facts facts;
};

struct job_infos {
	struct job_info *first;
	unsigned running;
	uint64_t credit_ns; /* time in which nothing was asked, BURST seconds at most */
	uint64_t turned_ns;
};

struct job_infos *job_infos__new(void)
{
	struct job_infos *j = calloc(1, sizeof(*j));

	if (j)
		j->credit_ns = BURST * NSEC_PER_SEC;
	return j;
}

static void stop_child(struct job_infos *j, struct job_info *i)
{
	j->running -= i->scontrol.pid != 0;
	slurm_command__stop(&i->scontrol);
	i->wants = i->ending = false;
}

void job_infos__free(struct job_infos *j)
{
	while (j && j->first) {
		struct job_info *i = j->first;

		j->first = i->next;
		stop_child(j, i);
		free(i);
	}
	free(j);
}

static struct job_info *find_info(const struct job_infos *j, uint32_t job_id)
{
	struct job_info *i = j ? j->first : NULL;

	while (i && i->job_id != job_id)
		i = i->next;
	return i;
}

void job_infos__ask(struct job_infos *j, uint32_t job_id, const struct slurmd *slurmd,
		    const char *node, uint64_t now_ns)
{
	struct job_info *i = find_info(j, job_id);

	if (i || !j)
		return;
	i = calloc(1, sizeof(*i));
	if (!i)
		return;
	*i = (struct job_info){.job_id = job_id,
			       .wants = true,
			       .next_ns = now_ns,
			       .end_ns = now_ns + GIVE_UP_NS,
			       .forget_ns = now_ns + UNKNOWN_NS,
			       .next = j->first};
	slurm_command__init(&i->scontrol, slurmd, node);
	j->first = i;
}

void job_infos__ask_end(struct job_infos *j, uint32_t job_id, uint64_t now_ns)
{
	struct job_info *i = find_info(j, job_id);

	if (!i || !i->known || i->ending)
		return;
	i->wants = i->ending = true;
	i->asked = 0;
	i->next_ns = now_ns;
	i->end_ns = now_ns + GIVE_UP_NS;
}

const struct job_facts *job_infos__get(struct job_infos *j, uint32_t job_id, uint64_t now_ns)
{
	struct job_info *i = find_info(j, job_id);

	if (i && i->known && !job_facts__ended(&i->facts))
		i->forget_ns = now_ns + KNOWN_NS;
	return i && i->known ? &i->facts : NULL;
}

bool job_infos__pending(const struct job_infos *j, uint32_t job_id)
{
	const struct job_info *i = find_info(j, job_id);

	return i && i->wants;
}

static void start_child(struct job_infos *j, struct job_info *i, uint64_t now_ns)
{
	char job[16];
	const char *const argv[] = {"scontrol", "-o", "show", "job", job, NULL};

	snprintf(job, sizeof(job), "%u", i->job_id);
	i->next_ns = now_ns + (AGAIN_NS << i->asked++);
	if (!slurm_command__start(&i->scontrol, argv))
		return;
	log_debug("scontrol is asked about job %u", i->job_id);
	j->running++;
	j->credit_ns -= NSEC_PER_SEC;
}

static void earn(struct job_infos *j, uint64_t now_ns)
{
	j->credit_ns += now_ns - j->turned_ns;
	if (j->credit_ns > BURST * NSEC_PER_SEC)
		j->credit_ns = BURST * NSEC_PER_SEC;
	j->turned_ns = now_ns;
}

void job_infos__turn(struct job_infos *j, uint64_t now_ns)
{
	struct job_info **at = j ? &j->first : NULL;

	if (j)
		earn(j, now_ns);
	while (at && *at) {
		struct job_info *i = *at;

		if (i->wants && now_ns >= i->end_ns) {
			stop_child(j, i);
			i->forget_ns = now_ns + UNKNOWN_NS;
		}
		if (i->wants && !i->scontrol.pid && now_ns >= i->next_ns &&
		    j->running < RUNNING_MAX && j->credit_ns >= NSEC_PER_SEC)
			start_child(j, i, now_ns);
		if (i->wants || now_ns < i->forget_ns) {
			at = &i->next;
			continue;
		}
		*at = i->next;
		free(i);
	}
}

/* Any other state is one of the end, or the job waits for its next run. */
static bool goes_on(const struct job_facts *f)
{
	return !strcmp(f->state, "RUNNING") || !strcmp(f->state, "COMPLETING");
}

static void take_answer(struct job_info *i, const char *text, uint64_t now_ns)
{
	struct job_facts facts;

	if (!text || !job_facts__parse(text, i->job_id, &facts)) {
		i->wants = i->ending = false;
		return;
	}
	i->facts = facts;
	i->known = true;
	i->forget_ns = now_ns + (i->ending ? ENDED_NS : KNOWN_NS);
	if (!i->ending || !goes_on(&facts))
		i->wants = i->ending = false;
}

bool job_infos__reaped(struct job_infos *j, pid_t pid, uint64_t now_ns)
{
	for (struct job_info *i = j ? j->first : NULL; i; i = i->next) {
		char *text;

		if (!slurm_command__reaped(&i->scontrol, pid, &text))
			continue;
		j->running--;
		take_answer(i, text, now_ns);
		free(text);
		return true;
	}
	return false;
}
