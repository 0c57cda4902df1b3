// SPDX-License-Identifier: GPL-2.0-or-later
/* Parses lists of events in the syntax of perf. */
#include "kern/pmu/perf_event.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/cpuinfo.h"
#include "base/str.h"
#include "kern/pmu/perf_names.h"

#define CLOCK_HZ 5e9 /* where nothing says how fast the CPUs are */
#define BOOST	 1.5 /* over the nominal clock, which is all that /proc/cpuinfo has */

/* The highest clock of the fastest CPU, Hz. */
static double clock_hz(const char *sysfs)
{
	_cleanup_closedir_ DIR *d = NULL;
	const struct dirent *e;
	uint64_t khz, most = 0;
	char path[512], text[32];
	double nominal;

	snprintf(path, sizeof(path), "%s/devices/system/cpu", sysfs);
	d = opendir(path);
	while (d && (e = readdir(d))) {
		if (!str__starts(e->d_name, "cpu") || !isdigit((unsigned char)e->d_name[3]))
			continue;
		snprintf(path, sizeof(path), "%.32s/cpufreq/cpuinfo_max_freq", e->d_name);
		if (read_file(dirfd(d), path, text, sizeof(text)) < 0)
			continue;
		text[strcspn(text, "\n")] = '\0';
		if (!parse_u64(text, &khz) && khz > most && khz < 100000000)
			most = khz;
	}
	if (most)
		return (double)most * 1e3;
	nominal = cpuinfo__highest_mhz("/proc") * 1e6;
	return nominal > 0 ? nominal * BOOST : CLOCK_HZ;
}

static int take_modifiers(struct perf_event *ev, const char *mods, const struct perf_error *error)
{
	if (!strcmp(mods, "u"))
		ev->exclude_kernel = true;
	else if (!strcmp(mods, "k"))
		ev->exclude_user = true;
	else
		return perf_error__set(error, -EINVAL, "\"%s\" is not one of the modifiers u and k",
				       mods);
	return 0;
}

/* Capitals where words begin: L1-dcache-loads is L1DcacheLoads. */
static int make_column(struct perf_event *ev, const char *words, const struct perf_error *error)
{
	const char *suffix = ev->exclude_kernel ? "User" : ev->exclude_user ? "Kernel" : "";
	char name[sizeof(ev->text) + 8];
	size_t len = 0;
	bool begins = true;

	for (; *words; words++) {
		unsigned char c = (unsigned char)*words;

		if (isalnum(c))
			name[len++] = (char)(begins ? toupper(c) : c);
		begins = !isalnum(c);
	}
	snprintf(name + len, sizeof(name) - len, "%s", suffix);
	if (isalpha((unsigned char)name[0]) && !str__copy(ev->column, sizeof(ev->column), name))
		return 0;
	return perf_error__set(
		error, -EINVAL,
		"no column can be called \"%s\": give it a name=, at most %zu letters "
		"and digits",
		name, sizeof(ev->column) - 1);
}

static bool is_raw(const char *name)
{
	size_t len = strspn(name + 1, "0123456789abcdefABCDEF");

	return name[0] == 'r' && len && !name[1 + len];
}

static int take_name(struct perf_event *ev, const char *name, double clock,
		     const struct perf_error *error)
{
	const struct perf_name *known;
	const char *near = NULL;

	if (is_raw(name)) {
		if (strlen(name) > 17)
			return perf_error__set(error, -EINVAL, "more than 64 bits");
		ev->type = PERF_TYPE_RAW;
		ev->config = strtoull(name + 1, NULL, 16);
		ev->max_rate = clock;
		return 0;
	}
	known = perf_names__find(name, &near);
	if (!known && near)
		return perf_error__set(error, -ENOENT, "no such event; did you mean \"%s\"?", near);
	if (!known)
		return perf_error__set(error, -ENOENT,
				       "no such event: want a hardware, software or cache event of "
				       "perf list, rHEX, or PMU/TERMS/");
	ev->type = known->type;
	ev->config = known->config;
	ev->max_rate = known->per_second > 0 ? known->per_second : known->per_cycle * clock;
	return 0;
}

/* pmu/terms/ with its modifier behind the last slash, after a colon or not. */
static int take_pmu(struct perf_event *ev, char *text, const char *sysfs, double clock,
		    const struct perf_error *error)
{
	char *terms = strchr(text, '/'), *end = strrchr(text, '/'), *mods = end + 1;
	char cut[sizeof(ev->text)];
	int err;

	if (end == terms)
		return perf_error__set(error, -EINVAL, "the slash after the terms is missing");
	*terms++ = '\0';
	*end = '\0';
	mods += *mods == ':' && mods[1];
	str__copy(cut, sizeof(cut), terms);
	err = perf_pmu__parse(text, cut, sysfs, ev, error);
	ev->max_rate = clock;
	if (!err && *mods)
		err = take_modifiers(ev, mods, error);
	terms[-1] = '/';
	if (err || ev->column[0])
		return err;
	return make_column(ev, text, error);
}

static int take_event(struct perf_event *ev, const char *sysfs, double clock,
		      const struct perf_error *error)
{
	char text[sizeof(ev->text)], reason[384], *mods;
	const struct perf_error inner = {reason, sizeof(reason)};
	int err;

	str__copy(text, sizeof(text), ev->text);
	if (strchr(text, '/')) {
		err = take_pmu(ev, text, sysfs, clock, &inner);
	} else {
		mods = strchr(text, ':');
		if (mods)
			*mods++ = '\0';
		err = take_name(ev, text, clock, &inner);
		if (!err && mods)
			err = take_modifiers(ev, mods, &inner);
		if (!err)
			err = make_column(ev, text, &inner);
	}
	return err ? perf_error__set(error, err, "%s: %s", ev->text, reason) : 0;
}

/* Cuts the next item off *list to text: commas between slashes are its own. *last: its set ends. */
static int next_item(const char **list, char *text, size_t size, bool *last,
		     const struct perf_error *error)
{
	const char *p = *list, *from = p + strspn(p, " \t"), *end;
	bool in_pmu = false;

	for (; *p && ((*p != ',' && *p != ';') || in_pmu); p++)
		in_pmu ^= *p == '/';
	*last = *p != ',';
	*list = *p ? p + 1 : NULL;
	for (end = p; end > from && (end[-1] == ' ' || end[-1] == '\t'); end--)
		;
	if (end <= from)
		return perf_error__set(error, -EINVAL, "an event is missing");
	for (p = from; p < end; p++)
		if (!isgraph((unsigned char)*p))
			return perf_error__set(error, -EINVAL,
					       "\"%.*s\" has a blank or a control "
					       "character in it",
					       (int)(p - from < 40 ? p - from : 40), from);
	if ((size_t)(end - from) >= size)
		return perf_error__set(error, -EINVAL, "\"%.40s...\" is longer than %zu characters",
				       from, size - 1);
	snprintf(text, size, "%.*s", (int)(end - from), from);
	return 0;
}

static bool is_same(const struct perf_event *a, const struct perf_event *b)
{
	return a->type == b->type && a->config == b->config && a->config1 == b->config1 &&
	       a->config2 == b->config2 && a->exclude_user == b->exclude_user &&
	       a->exclude_kernel == b->exclude_kernel;
}

static int check_others(const struct perf_event *ev, unsigned n, const struct perf_error *error)
{
	for (unsigned i = 0; i < n; i++) {
		if (is_same(&ev[i], &ev[n]))
			return perf_error__set(error, -EINVAL, "%s is the same event as %s",
					       ev[n].text, ev[i].text);
		if (!strcasecmp(ev[i].column, ev[n].column))
			return perf_error__set(error, -EINVAL,
					       "%s and %s would both be the column %s", ev[i].text,
					       ev[n].text, ev[n].column);
	}
	return 0;
}

/* What is being read: n events of out are known. */
struct list {
	struct perf_event *out;
	unsigned n, max;
	unsigned set, in_set; /* the set's number, and its events */
	int err;	      /* of the first event that is wrong */
};

/* An event that an earlier set has, too; NULL: it is a new one. */
static struct perf_event *of_other_set(struct list *l, const struct perf_event *ev)
{
	for (unsigned i = 0; i < l->n; i++)
		if (is_same(&l->out[i], ev) && !(l->out[i].sets >> l->set & 1))
			return &l->out[i];
	return NULL;
}

static int add_event(struct list *l, struct perf_event *ev, const struct perf_error *error)
{
	struct perf_event *other = of_other_set(l, ev);
	int err;

	if (++l->in_set > JP_PMU_AT_ONCE)
		return perf_error__set(error, -EINVAL, "more than %d events%s", JP_PMU_AT_ONCE,
				       l->set ? " in a set" : "");
	if (other) {
		other->sets |= 1u << l->set;
		return 0;
	}
	if (l->n == l->max)
		return perf_error__set(error, -EINVAL, "more than %u events", l->max);
	ev->sets = 1u << l->set;
	l->out[l->n] = *ev;
	err = check_others(l->out, l->n, error);
	l->n += !err;
	return err;
}

static uint32_t events_of(const struct list *l, unsigned set)
{
	uint32_t events = 0;

	for (unsigned i = 0; i < l->n; i++)
		events |= (l->out[i].sets >> set & 1) << i;
	return events;
}

/* Sets are compared only as long as no event is wrong. more: another one follows. */
static int end_set(struct list *l, bool more, const struct perf_error *error)
{
	unsigned set = l->set++;

	l->in_set = 0;
	for (unsigned i = 0; i < set && !l->err; i++)
		if (events_of(l, i) == events_of(l, set))
			return perf_error__set(error, -EINVAL,
					       "the sets %u and %u have the same events", i + 1,
					       set + 1);
	if (more && l->set == JP_PMU_EVENTS)
		return perf_error__set(error, -EINVAL, "more than %d sets", JP_PMU_EVENTS);
	return 0;
}

static void note(struct list *l, int err, const struct perf_error *one,
		 const struct perf_error *all)
{
	if (!err)
		return;
	if (!l->err)
		l->err = err;
	str__add_reason(all->err, all->errlen, one->err);
}

int perf_event__parse(const char *list, const char *sysfs, struct perf_event *out, unsigned max,
		      char *err, size_t errlen)
{
	char reason[512];
	const struct perf_error one = {reason, sizeof(reason)}, all = {err, errlen};
	struct list l = {.out = out, .max = max};
	double clock = clock_hz(sysfs);

	err[0] = '\0';
	while (list && l.set < JP_PMU_EVENTS) {
		struct perf_event ev = {0};
		bool last = false;
		int ret = next_item(&list, ev.text, sizeof(ev.text), &last, &one);

		if (!ret)
			ret = take_event(&ev, sysfs, clock, &one);
		if (!ret)
			ret = add_event(&l, &ev, &one);
		note(&l, ret, &one, &all);
		if (last)
			note(&l, end_set(&l, list, &one), &one, &all);
	}
	return l.err ? l.err : (int)l.n;
}
