/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the peaks of a node from the file that jobprof calibrate or a person wrote. */
#include "peaks/peaks.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/config/conf_file.h"
#include "base/hostlist.h"
#include "base/log.h"
#include "base/str.h"

/* ---- new peaks replace the old ones of a section of the file */

#define NOTE "# jobprof calibrate: "

static const char *skip_blanks(const char *p)
{
	while (isspace((unsigned char)*p))
		p++;
	return p;
}

/* The text behind "KEY=" at the beginning of a line; NULL: the line begins with another key. */
static const char *value_of(const char *line, const char *key)
{
	size_t len = strlen(key);

	line = skip_blanks(line);
	if (strncasecmp(line, key, len) != 0)
		return NULL;
	line = skip_blanks(line + len);
	return *line == '=' ? skip_blanks(line + 1) : NULL;
}

static bool is_value(const char *text, const char *wanted)
{
	bool quoted = *text == '"';
	size_t len = strcspn(text + quoted, quoted ? "\"\n" : " \t\r\n#");

	return len == strlen(wanted) && !strncmp(text + quoted, wanted, len);
}

static bool is_replaced(const char *line, const struct peaks *p)
{
	if (str__starts(skip_blanks(line), NOTE))
		return true;
	for (unsigned i = 0; i < PEAK_KINDS; i++)
		if (!isnan(p->of[i].value) && value_of(line, peak__key(i)))
			return true;
	return false;
}

static void print_peaks(FILE *to, const struct peaks *p, const char *note)
{
	fprintf(to, NOTE "%s\n", note);
	for (unsigned i = 0; i < PEAK_KINDS; i++)
		peak__print(i, &p->of[i], to);
}

/* A file as it is copied. Blank lines and comments are held back: new peaks come before them at the
 * end of their section. */
struct copy {
	FILE *to, *held;
	char *text; /* what is held back */
	size_t len;
	const char *list, *note;
	const struct peaks *p;
	bool inside, done;
};

static void let_go(struct copy *c)
{
	fflush(c->held);
	fwrite(c->text, 1, c->len, c->to);
	rewind(c->held);
	fflush(c->held);
}

static void end_section(struct copy *c)
{
	if (c->inside && !c->done) {
		print_peaks(c->to, c->p, c->note);
		c->done = true;
	}
	c->inside = false;
	let_go(c);
}

static void copy_line(struct copy *c, const char *line)
{
	const char *list = value_of(line, PEAKS_NODES), *end = strchr(line, '\n');
	char first = *skip_blanks(line);

	if (c->inside && is_replaced(line, c->p))
		return;
	if (list) {
		end_section(c);
		c->inside = is_value(list, c->list);
	} else if (first != '\0' && first != '#') {
		let_go(c);
	}
	fprintf(first == '\0' || first == '#' ? c->held : c->to, "%s%s", line, end ? "" : "\n");
}

int peaks__replace(FILE *from, FILE *to, const char *list, const struct peaks *p, const char *note)
{
	struct copy c = {.to = to, .list = list, .note = note, .p = p};
	_cleanup_free_ char *line = NULL;
	size_t cap = 0;

	c.held = open_memstream(&c.text, &c.len);
	if (!c.held)
		return -ENOMEM;
	while (from && getline(&line, &cap, from) >= 0)
		copy_line(&c, line);
	end_section(&c);
	if (!c.done) {
		fprintf(to, "%s" PEAKS_NODES "=%s\n", from && ftell(to) > 0 ? "\n" : "", list);
		print_peaks(to, p, note);
	}
	fclose(c.held);
	free(c.text);
	return (from && ferror(from)) || ferror(to) ? -EIO : 0;
}

#define DEFAULT_PATH JOBPROF_SYSCONFDIR "/jobprof/peaks.conf"
#define VALUE_MAX    1e24

struct key {
	const char *name, *unit;
	bool alone; /* there are no passes of it: no minimum, no maximum */
};

static const struct key keys[PEAK_KINDS] = {
	[PEAK_MEMORY] = {"MemBandwidthPeak", "B/s", false},
	[PEAK_FLOPS] = {"FlopsPeak", "FLOP/s", false},
	[PEAK_DISK_WRITE] = {"DiskWritePeak", "B/s", false},
	[PEAK_DISK_READ] = {"DiskReadPeak", "B/s", false},
	[PEAK_DISK_READ_OPS] = {"DiskReadOpsPeak", "1/s", false},
	[PEAK_NETWORK] = {"NetworkPeak", "B/s", false},
	[PEAK_IPC] = {"IpcPeak", "", true},
	[PEAK_CPUS] = {"CPUs", "", true},
	[PEAK_CORES] = {"Cores", "", true},
	[PEAK_SOCKETS] = {"Sockets", "", true},
};

static const struct {
	char letter;
	double factor;
} prefixes[] = {{'k', 1e3}, {'M', 1e6}, {'G', 1e9}, {'T', 1e12}, {'P', 1e15}, {'E', 1e18}};

#define N_PREFIXES (sizeof(prefixes) / sizeof(prefixes[0]))

/* The peaks in the file while it is read. */
struct reading {
	struct peaks *p;
	const char *node;
	bool passed_over; /* the section is one of other nodes */
};

const char *peak__key(enum peak_kind kind)
{
	return keys[kind].name;
}

const char *peak__unit(enum peak_kind kind)
{
	return keys[kind].unit;
}

const char *peaks__default_path(void)
{
	const char *env = secure_getenv("JOBPROF_PEAKS");

	return env && *env ? env : DEFAULT_PATH;
}

void peaks__init(struct peaks *p)
{
	for (unsigned i = 0; i < PEAK_KINDS; i++)
		p->of[i] = (struct peak){NAN, NAN, NAN};
}

/* "41.5G". 0 or -EINVAL. */
static int parse_number(const char *text, double *v)
{
	size_t len = strlen(text);
	double factor = 1;
	char digits[64];

	if (!len || len >= sizeof(digits))
		return -EINVAL;
	memcpy(digits, text, len + 1);
	for (size_t i = 0; i < N_PREFIXES; i++) {
		if (digits[len - 1] != prefixes[i].letter)
			continue;
		factor = prefixes[i].factor;
		digits[len - 1] = '\0';
		break;
	}
	if (parse_double(digits, v))
		return -EINVAL;
	*v *= factor;
	return *v > 0 && *v <= VALUE_MAX ? 0 : -EINVAL;
}

/* "VALUE" or "VALUE,MIN,MAX". 0 or -EINVAL. */
static int parse_peak(const struct key *k, const char *text, struct peak *out)
{
	double v[3] = {NAN, NAN, NAN};
	char copy[256], *rest = copy;
	unsigned n = 0;

	if (str__copy(copy, sizeof(copy), text))
		return -EINVAL;
	while (rest && n < 3)
		if (parse_number(strsep(&rest, ","), &v[n++]))
			return -EINVAL;
	if (rest || n == 2 || (k->alone && n > 1) || v[1] > v[0] || v[0] > v[2])
		return -EINVAL;
	*out = (struct peak){v[0], v[1], v[2]};
	return 0;
}

static bool glob_has(const char *list, const char *node)
{
	_cleanup_free_ char *copy = strdup(list);
	char *rest = copy;

	while (rest)
		if (str__glob1(strsep(&rest, ","), node))
			return true;
	return false;
}

/* Each name of the list has one '*' at most, and no range. */
static bool is_glob(const char *list)
{
	unsigned stars = 0;

	for (; *list; list++) {
		if (*list == '[' || *list == ']')
			return false;
		stars = *list == ',' ? 0 : stars + (*list == '*');
		if (stars > 1)
			return false;
	}
	return true;
}

int peaks__list_has(const char *list, const char *node, char *err, unsigned errlen)
{
	struct string_list hosts = {0};
	char bad[64];
	int ret;

	if (!*list || strlen(list) >= PEAKS_LIST_MAX || strpbrk(list, " \t\r\n\"#\\/") ||
	    (strchr(list, '*') && !is_glob(list))) {
		snprintf(err, errlen, "\"%.60s\" is not a list of nodes: n[1-4],m7 or n*,m*", list);
		return -EINVAL;
	}
	if (strchr(list, '*'))
		return glob_has(list, node);
	ret = hostlist__parse(&hosts, list, bad, sizeof(bad));
	if (ret == -EINVAL)
		snprintf(err, errlen, "\"%.60s\" is not a list of nodes, from \"%s\" on", list,
			 bad);
	else if (ret)
		snprintf(err, errlen, "%s",
			 ret == -E2BIG ? "the list has too many nodes" : strerror(-ret));
	else
		ret = hostlist__has(&hosts, node);
	string_list__free(&hosts);
	return ret;
}

static void begin_section(struct reading *r, const struct conf_pair *pair)
{
	char err[256];
	int ret = peaks__list_has(pair->value, r->node, err, sizeof(err));

	r->passed_over = ret != 1;
	if (ret < 0)
		conf_file__complain(pair, PEAKS_NODES ": %s",
				    ret == -ENOMEM ? "out of memory" : err);
}

static void unknown_key(const struct conf_pair *pair)
{
	const char *names[PEAK_KINDS + 1] = {PEAKS_NODES}, *near;

	for (unsigned i = 0; i < PEAK_KINDS; i++)
		names[i + 1] = keys[i].name;
	near = str__nearest(pair->key, names, PEAK_KINDS + 1);
	if (near)
		conf_file__complain(pair, "unknown key \"%s\", did you mean \"%s\"?", pair->key,
				    near);
	else
		conf_file__complain(pair, "unknown key \"%s\"", pair->key);
}

static void take_pair(void *ctx, const struct conf_pair *pair)
{
	struct reading *r = ctx;
	struct peak peak;

	if (!strcasecmp(pair->key, PEAKS_NODES)) {
		begin_section(r, pair);
		return;
	}
	for (unsigned i = 0; i < PEAK_KINDS; i++) {
		if (strcasecmp(pair->key, keys[i].name) != 0)
			continue;
		if (parse_peak(&keys[i], pair->value, &peak))
			conf_file__complain(
				pair,
				"%s: \"%.60s\" is not a number above 0 with k, M, G, T, P or E%s",
				keys[i].name, pair->value,
				keys[i].alone ? "" : ", or three: median,minimum,maximum");
		else if (!r->passed_over)
			r->p->of[i] = peak;
		return;
	}
	unknown_key(pair);
}

int peaks__read(struct peaks *p, const char *path, const char *node)
{
	struct reading r = {.p = p, .node = node};
	struct conf_file f = {.node_name = &r.node, .take = take_pair, .ctx = &r};
	int err;

	if (!path)
		path = peaks__default_path();
	peaks__init(p);
	err = conf_file__read(&f, path);
	if (err && err != -ENOENT)
		log_error("%s: cannot read the peaks: %s", path, conf_file__reason(err));
	if (!err && f.errors)
		err = -EINVAL;
	if (err)
		peaks__init(p);
	return err;
}

static void add_pair(void *ctx, const struct conf_pair *pair)
{
	const char *const texts[] = {pair->key, pair->value};
	uint64_t *h = ctx;

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		const char *p = texts[i];

		do
			*h = (*h ^ (uint8_t)*p) * 0x100000001b3;
		while (*p++);
	}
}

uint64_t peaks__digest(void)
{
	const char *node = "";
	uint64_t h = 0xcbf29ce484222325;
	struct conf_file f = {.node_name = &node, .take = add_pair, .ctx = &h};

	return conf_file__read(&f, peaks__default_path()) == -ENOENT ? 0 : h;
}

/* Digits enough that what is read is what was measured, to one in 1e8. */
static void print_number(double v, FILE *f)
{
	unsigned best = N_PREFIXES;

	for (unsigned i = 0; i < N_PREFIXES; i++)
		if (v >= prefixes[i].factor)
			best = i;
	if (best == N_PREFIXES)
		fprintf(f, v == floor(v) ? "%.0f" : "%.9f", v);
	else
		fprintf(f, "%.6f%c", v / prefixes[best].factor, prefixes[best].letter);
}

void peak__print(enum peak_kind kind, const struct peak *p, FILE *f)
{
	if (isnan(p->value))
		return;
	fprintf(f, "%s=", keys[kind].name);
	print_number(p->value, f);
	if (!isnan(p->min) && !isnan(p->max)) {
		fputc(',', f);
		print_number(p->min, f);
		fputc(',', f);
		print_number(p->max, f);
	}
	fputc('\n', f);
}
