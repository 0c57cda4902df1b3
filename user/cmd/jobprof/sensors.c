/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jobprof sensors: what this node measures in addition to what the kernel counts. */
#include "cmd/jobprof/sensors.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/escape.h"
#include "base/json.h"
#include "base/log.h"
#include "base/str.h"
#include "cmd/jobprof/verbs.h"
#include "sensor/plugin/plugin.h"
#include "sensor/sensors.h"

/* ---- the two ways in which jobprof sensors writes what it has read */

#define NAME_WIDTH_MAX 40

static bool counts_up(const struct sensor_channel *ch)
{
	return ch->quantity == QUANTITY_ENERGY || ch->quantity == QUANTITY_COUNT;
}

/* Per second, of what counts up; NAN where that is not known. */
static double rate_of(const struct source *s, unsigned i)
{
	const struct sensor_value *now = &s->now[i], *before = &s->before[i];

	if (!counts_up(&s->ch[i]) || now->quality != READING_GOOD ||
	    now->time_ns <= before->time_ns)
		return NAN;
	return (now->value - before->value) /
	       ((double)(now->time_ns - before->time_ns) / NSEC_PER_SEC);
}

/* J/s is W. */
static void rate_unit(char unit[static 16], const struct sensor_channel *ch)
{
	if (ch->quantity == QUANTITY_ENERGY)
		snprintf(unit, 16, "W");
	else
		snprintf(unit, 16, "%s/s", ch->unit);
}

static const char *state_name(const struct source *s)
{
	if (!s->err)
		return "read";
	if (s->absent)
		return "not there";
	if (s->err == -EACCES)
		return "not permitted";
	return s->err == -EAGAIN || s->err == -ETIMEDOUT ? "no answer yet" : "does not work";
}

/* Returns how many columns a text takes at the terminal. */
static int width_of(const char *text)
{
	int n = 0;

	for (; *text; text++)
		n += (*text & 0xc0) != 0x80; /* of a character of UTF-8 the first byte */
	return n;
}

static void print_padded(FILE *out, const char *text, int width)
{
	print__escaped(out, text);
	fprintf(out, "%*s", width > width_of(text) ? width - width_of(text) : 0, "");
}

static void print_number(FILE *out, double v, const char *unit, int unit_width)
{
	char text[40];

	if (isnan(v))
		snprintf(text, sizeof(text), "-");
	else if (v == floor(v) && fabs(v) < 1e15)
		snprintf(text, sizeof(text), "%.0f", v);
	else
		snprintf(text, sizeof(text), "%.*f", fabs(v) < 100 ? 3 : 1, v);
	fprintf(out, " %14s ", text);
	print_padded(out, isnan(v) ? "" : unit, unit_width);
}

/* The columns of names, units and rates are so wide, for all sources that are printed. */
struct widths {
	int name, unit, rate;
};

static void widen(int *width, const char *text)
{
	int n = width_of(text);

	if (n > *width)
		*width = n < NAME_WIDTH_MAX ? n : NAME_WIDTH_MAX;
}

static void add_widths(struct widths *w, const struct source *s)
{
	char unit[16];

	for (unsigned i = 0; i < s->n; i++) {
		widen(&w->name, s->ch[i].name);
		widen(&w->unit, s->ch[i].unit);
		rate_unit(unit, &s->ch[i]);
		if (counts_up(&s->ch[i]))
			widen(&w->rate, unit);
	}
}

static void print_channel(FILE *out, const struct source *s, unsigned i, const struct widths *w)
{
	const struct sensor_channel *ch = &s->ch[i];
	char unit[16];

	rate_unit(unit, ch);
	fputs("  ", out);
	print_padded(out, ch->name, w->name);
	fprintf(out, " %-9s", sensor__part_name(ch->part));
	print_number(out, s->now[i].value, ch->unit, w->unit);
	print_number(out, rate_of(s, i), unit, w->rate);
	/* A counter of energy that does not move counts nothing. */
	fprintf(out, "  %s%s%s\n",
		ch->quantity == QUANTITY_ENERGY && rate_of(s, i) == 0
			? "stands still"
			: sensor__quality_name(s->now[i].quality),
		ch->quantity == QUANTITY_POWER && ch->about[0] ? "; " : "",
		ch->quantity == QUANTITY_POWER ? ch->about : "");
}

/* "rapl: powercap: 2 package", "ipmi: not permitted: run as root" */
static void print_source(FILE *out, const struct source *s, const struct widths *w)
{
	fprintf(out, "%s: ", s->ops->name);
	if (s->err)
		fprintf(out, "%s%s", state_name(s), s->detail[0] ? ": " : "");
	print__escaped(out, s->detail);
	fputs("\n", out);
	for (unsigned i = 0; i < s->n; i++)
		print_channel(out, s, i, w);
}

static int print_text(FILE *out, const struct source *s, unsigned n, bool all, bool compact)
{
	struct widths w = {0};
	unsigned shown = 0, there = 0;

	for (unsigned i = 0; i < n; i++)
		if (all || !s[i].absent)
			add_widths(&w, &s[i]);
	for (unsigned i = 0; i < n; i++) {
		there += !s[i].absent;
		if (s[i].absent && !all)
			continue;
		shown++;
		print_source(out, &s[i], &w);
	}
	if (!there)
		fprintf(out, "%s%s\n", "none of the sensors that jobprof knows is on this node",
			shown ? "" : "; --all says what was looked for");
	if (compact)
		fputs("\n", out);
	return 0;
}

static json_t *json_channel(const struct source *s, unsigned i)
{
	static const char *const quantities[] = {[QUANTITY_ENERGY] = "energy",
						 [QUANTITY_POWER] = "power",
						 [QUANTITY_COUNT] = "count",
						 [QUANTITY_LEVEL] = "level"};
	const struct sensor_channel *ch = &s->ch[i];
	const struct sensor_value *v = &s->now[i];
	char unit[16];

	rate_unit(unit, ch);
	return json_pack("{s:o, s:s, s:o, s:o, s:s, s:o, s:o, s:o, s:o, s:s, s:o, s:o, s:o, s:o, "
			 "s:o, s:o, s:o, s:o}",
			 "name", json__text(ch->name), "part", sensor__part_name(ch->part), "index",
			 ch->index < 0 ? json_null() : json_integer(ch->index), "cpu",
			 ch->cpu < 0 ? json_null() : json_integer(ch->cpu), "quantity",
			 quantities[ch->quantity], "unit", json__text(ch->unit), "value",
			 json__number(v->value), "rate", json__number(rate_of(s, i)), "rate_unit",
			 counts_up(ch) ? json__text(unit) : json_null(), "quality",
			 sensor__quality_name(v->quality), "boot_ns",
			 v->time_ns ? json_integer((json_int_t)v->time_ns) : json_null(), "step",
			 json__number(ch->step), "error", json__number(ch->error), "period_s",
			 json__number(ch->period_ns ? (double)ch->period_ns / NSEC_PER_SEC : NAN),
			 "lag_s",
			 json__number(ch->lag_ns ? (double)ch->lag_ns / NSEC_PER_SEC : NAN),
			 "table", json__nonempty(ch->series), "column", json__nonempty(ch->column),
			 "about", json__nonempty(ch->about));
}

static json_t *json_source(const struct source *s)
{
	json_t *channels = json_array();

	for (unsigned i = 0; i < s->n; i++)
		json_array_append_new(channels, json_channel(s, i));
	return json_pack("{s:s, s:s, s:s, s:b, s:o, s:o}", "name", s->ops->name, "doc", s->ops->doc,
			 "state", state_name(s), "slow", s->ops->slow, s->err ? "why" : "way",
			 json__text(s->detail), "channels", channels);
}

static int print_json(FILE *out, const struct source *s, unsigned n, bool all, bool compact)
{
	json_t *sources = json_array(), *root;
	int err;

	for (unsigned i = 0; i < n; i++)
		if (all || !s[i].absent)
			json_array_append_new(sources, json_source(&s[i]));
	root = json_pack("{s:o}", "sources", sources);
	err = root ? json__dump(root, out, compact ? JSON_COMPACT : JSON_INDENT(2)) : -1;
	json_decref(root);
	fputs("\n", out);
	return err ? -ENOMEM : 0;
}

static const struct sensors_format sensors_text = {print_text};
static const struct sensors_format sensors_json = {print_json};

/* ---- the verb */

#define WATCH_MIN 0.1
#define WATCH_MAX 86400.0
#define ONCE_S	  1.0  /* between the two readings that rates are made of */
#define PATIENCE  10.0 /* s that slow sources have for their first answer */

struct args {
	double watch; /* seconds between rounds; 0: one round */
	const struct sensors_format *format;
	bool all;
	const char *plugins; /* where they are; NULL: nowhere */
	bool plugins_needed; /* the directory was asked for */
	struct sensor_roots roots;
	char sys[PATH_MAX], proc[PATH_MAX], dev[PATH_MAX], lib[PATH_MAX];
};

static volatile sig_atomic_t ended;

static void on_signal(int sig)
{
	(void)sig;
	ended = 1;
}

static int set_watch(void *to, const struct opt *o, const char *text)
{
	double *s = to;

	if (!parse_double(text, s) && *s >= WATCH_MIN && *s <= WATCH_MAX)
		return 0;
	log_error("--watch: \"%s\" is not a number of seconds from %g to %g", text, WATCH_MIN,
		  WATCH_MAX);
	return 2;
}

static int set_root(void *to, const struct opt *o, const char *dir)
{
	struct args *a = to;
	char path[PATH_MAX];
	struct stat st;

	if (!realpath(dir, path) || stat(path, &st) ||
	    (!S_ISDIR(st.st_mode) && (errno = ENOTDIR))) {
		log_error("--root: %s: %s", dir, strerror(errno));
		return 1;
	}
	if (strlen(path) + 8 > sizeof(path)) {
		log_error("--root: %s: %s", dir, strerror(ENAMETOOLONG));
		return 1;
	}
	if (!strcmp(path, "/"))
		return 0;
	snprintf(a->sys, sizeof(a->sys), "%.*s/sys", PATH_MAX - 8, path);
	snprintf(a->proc, sizeof(a->proc), "%.*s/proc", PATH_MAX - 8, path);
	snprintf(a->dev, sizeof(a->dev), "%.*s/dev", PATH_MAX - 8, path);
	snprintf(a->lib, sizeof(a->lib), "%.*s/lib", PATH_MAX - 8, path);
	a->roots = (struct sensor_roots){a->sys, a->proc, a->dev, a->lib};
	if (!a->plugins_needed)
		a->plugins = NULL;
	return 0;
}

static int set_plugins(void *to, const struct opt *o, const char *dir)
{
	struct args *a = to;

	a->plugins = dir;
	a->plugins_needed = true;
	return 0;
}

static int set_json(void *to, const struct opt *o, const char *arg)
{
	struct args *a = to;

	a->format = &sensors_json;
	return 0;
}

static const struct opt opts[] = {
	{'w', "watch", "S", "again every S seconds, 0.1 to 86400; else once, after 1 s",
	 OPT_CALL_AT(set_watch, struct args, watch)},
	{0, "json", NULL, "as JSON, with --watch one object in a line", OPT_CALL(set_json)},
	{'a', "all", NULL, "also the sources that are not there, and why",
	 OPT_FLAG(struct args, all)},
	{0, "root", "DIR", "sys, proc, dev and lib of a recorded machine below DIR",
	 OPT_CALL(set_root)},
	{0, "plugins", "DIR",
	 "a site's own sensors in DIR; default: " PLUGINS_DIR ", none with --root",
	 OPT_CALL(set_plugins)},
	{0},
};

const struct command cmd_sensors = {
	.name = "jobprof sensors",
	.usage = "[-w S] [--json] [-a] [--root DIR] [--plugins DIR]",
	.about = "What this node measures of energy, power and the like: each source, the way it\n"
		 "is read, its channels with their values, rates and how good they are.",
	.opts = opts,
};

/* Returns how many there are; -1: the directory that was asked for cannot be used. */
static int load_plugins(const struct args *a, const struct sensor_ops *const **out)
{
	int n = a->plugins ? plugins__load(a->plugins, sensor_sources, out) : 0;

	if (n >= 0 || (n == -ENOENT && !a->plugins_needed))
		return n >= 0 ? n : 0;
	if (n != -EPERM)
		log_error("sensor plug-ins of %s are not loaded: %s", a->plugins, strerror(-n));
	return a->plugins_needed ? -1 : 0;
}

static void close_source(struct source *s)
{
	sensor__close(s->ops, s->fast);
	async__stop(s->slow);
	free(s->now);
	free(s->before);
}

/* Channels of a slow source are known once it has answered. */
static void take_channels(struct source *s)
{
	if (s->n)
		return;
	if (s->slow)
		s->n = async__channels(s->slow, &s->ch);
	else
		s->n = s->ops->channels(s->fast, &s->ch);
	s->now = calloc(s->n + 1, sizeof(*s->now));
	s->before = calloc(s->n + 1, sizeof(*s->before));
	for (unsigned i = 0; s->now && s->before && i < s->n; i++)
		s->now[i] = s->before[i] = sensor__no_value(READING_NONE);
	if (s->now && s->before)
		return;
	s->err = -ENOMEM;
	s->n = 0;
}

static void open_source(struct source *s, const struct args *a)
{
	struct async_opts slow = ASYNC_DEFAULTS;

	/* Once: so that each of the two rounds has a value of its own. */
	slow.period_ns = (uint64_t)((a->watch > 0 ? a->watch : ONCE_S / 2) * 1e9);
	s->err = sensor__probe(s->ops, &a->roots, s->detail, sizeof(s->detail));
	s->absent = s->err == -ENOENT;
	if (s->err)
		return;
	if (s->ops->slow)
		s->err = async__start(&s->slow, s->ops, &a->roots, &slow);
	else
		s->err = sensor__open(s->ops, &s->fast, &a->roots);
	if (s->err)
		snprintf(s->detail, sizeof(s->detail), "cannot be opened: %s", strerror(-s->err));
	else if (s->fast)
		take_channels(s);
}

static void read_async(struct source *s)
{
	const struct sensor_channel *ch;

	if (!s->n && async__channels(s->slow, &ch)) {
		free(s->now);
		free(s->before);
		take_channels(s);
	}
	s->err = async__read(s->slow, s->now);
}

static void read_source(struct source *s)
{
	if (s->n)
		memcpy(s->before, s->now, s->n * sizeof(*s->now));
	if (s->slow)
		read_async(s);
	else if (s->fast)
		s->ops->read(s->fast, s->now);
}

static void wait_s(double s)
{
	struct timespec ts = {.tv_sec = (time_t)s,
			      .tv_nsec = (long)((s - (double)(time_t)s) * 1e9)};

	if (!ended)
		nanosleep(&ts, NULL);
}

static bool is_waited_for(const struct source *s, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (s[i].slow && s[i].err == -EAGAIN)
			return true;
	return false;
}

/* The first readings: all that are open, and slow ones within their time. */
static void begin_sources(struct source *s, unsigned n)
{
	double left = PATIENCE;

	for (unsigned i = 0; i < n; i++)
		read_source(&s[i]);
	while (is_waited_for(s, n) && left > 0 && !ended) {
		wait_s(0.02);
		left -= 0.02;
		for (unsigned i = 0; i < n; i++)
			if (s[i].slow && s[i].err == -EAGAIN)
				read_source(&s[i]);
	}
}

static int show_readings(struct source *s, unsigned n, const struct args *a)
{
	double interval = a->watch > 0 ? a->watch : ONCE_S;
	bool open = false;
	int err;

	for (unsigned i = 0; i < n; i++)
		open |= s[i].fast || s[i].slow;
	if (open)
		begin_sources(s, n);
	do {
		if (open || a->watch > 0)
			wait_s(interval);
		for (unsigned i = 0; i < n; i++)
			read_source(&s[i]);
		if (a->watch > 0 && isatty(STDOUT_FILENO))
			fputs("\033[H\033[2J", stdout);
		err = a->format->print(stdout, s, n, a->all, a->watch > 0);
	} while (!err && !fflush(stdout) && a->watch > 0 && !ended);
	if (err)
		log_error("cannot write what was read: %s", strerror(-err));
	return err ? 1 : 0;
}

static int show_all(const struct args *a, const struct sensor_ops *const *plugins,
		    unsigned nplugins)
{
	unsigned n = n_sensor_sources + nplugins;
	struct source *s = calloc(n + 1, sizeof(*s));
	int status;

	if (!s) {
		log_error("%s", strerror(ENOMEM));
		return 1;
	}
	for (unsigned i = 0; i < n; i++) {
		s[i].ops = i < n_sensor_sources ? sensor_sources[i] : plugins[i - n_sensor_sources];
		open_source(&s[i], a);
	}
	status = show_readings(s, n, a);
	for (unsigned i = 0; i < n; i++)
		close_source(&s[i]);
	free(s);
	return status;
}

int verb_sensors(int argc, char **argv)
{
	struct sigaction sa = {.sa_handler = on_signal};
	const struct sensor_ops *const *plugins = NULL;
	struct args a = {.format = &sensors_text,
			 .roots = {"/sys", "/proc", "/dev", NULL},
			 .plugins = PLUGINS_DIR};
	int status = options__read(&cmd_sensors, argc, argv, &a), n;

	if (status != OPTIONS_GO_ON)
		return status;
	if (optind != argc)
		return options__wrong(&cmd_sensors, "\"%s\" means nothing here", argv[optind]);
	n = load_plugins(&a, &plugins);
	if (n < 0)
		return 1;
	if (a.watch > 0) {
		sigaction(SIGINT, &sa, NULL);
		sigaction(SIGTERM, &sa, NULL);
	}
	return show_all(&a, plugins, (unsigned)n);
}
