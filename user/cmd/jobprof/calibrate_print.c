// SPDX-License-Identifier: GPL-2.0-only
/* What jobprof calibrate has measured, as a table, as JSON, and into the file of peaks. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/escape.h"
#include "base/hostlist.h"
#include "base/json.h"
#include "base/log.h"
#include "cmd/jobprof/calibrate.h"
#include "cmd/jobprof/output_file.h"
#include "peaks/peaks_file.h"

static const char *const titles[PEAK_KINDS] = {
	[PEAK_MEMORY] = "memory",
	[PEAK_FLOPS] = "flops",
	[PEAK_DISK_WRITE] = "disk write",
	[PEAK_DISK_READ] = "disk read",
	[PEAK_DISK_READ_OPS] = "disk random",
	[PEAK_NETWORK] = "network",
};

static bool is_asked(const struct measure *m)
{
	return m->npasses || m->error[0];
}

/* Four digits with the prefix that the median has. */
static void print_row(FILE *out, enum peak_kind kind, const struct measure *m)
{
	static const char prefixes[] = " kMGTPE";
	struct peak p = measure__peak(m);
	double unit = 1, spread = measure__spread(m);
	const char *per = peak__unit(kind);
	char text[32] = "-";
	unsigned i = 0;

	while (p.value / unit >= 1000 && prefixes[i + 1]) {
		unit *= 1000;
		i++;
	}
	if (!isnan(spread))
		snprintf(text, sizeof(text), "%.1f %%", spread * 100);
	fprintf(out, "%-12s%10.2f%10.2f%10.2f %c%-7s%9s%7u\n", titles[kind], p.value / unit,
		p.min / unit, p.max / unit, prefixes[i], per + (*per == '1'), text, m->npasses);
}

void calibration__print_text(const struct calibration *c, FILE *out)
{
	print__escaped(out, c->node);
	fprintf(out, ": measured on %u of %u CPUs", c->cpus, c->online);
	if (c->cores && c->sockets)
		fprintf(out, ", %u core%s, %u socket%s", c->cores, c->cores > 1 ? "s" : "",
			c->sockets, c->sockets > 1 ? "s" : "");
	fprintf(out, "\n%-12s%10s%10s%10s%9s%9s%7s\n", "", "median", "min", "max", "", "spread",
		"passes");
	for (unsigned i = 0; i < PEAK_KINDS; i++) {
		const struct measure *m = &c->m.of[i];

		if (m->npasses)
			print_row(out, i, m);
		else if (is_asked(m))
			fprintf(out, "%-12s%10s\n", titles[i], "unknown");
		if (is_asked(m)) {
			fputs("            ", out);
			print__escaped(out, m->error[0] ? m->error : m->how);
			fputc('\n', out);
		}
	}
}

static json_t *json_passes(const struct measure *m)
{
	json_t *passes = json_array();

	for (unsigned i = 0; i < m->npasses; i++)
		json_array_append_new(passes, json__number(m->pass[i]));
	return passes;
}

static json_t *json_measure(enum peak_kind kind, const struct measure *m)
{
	struct peak p = measure__peak(m);

	return json_pack("{s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "name",
			 titles[kind], "key", peak__key(kind), "unit", peak__unit(kind), "value",
			 json__number(p.value), "min", json__number(p.min), "max",
			 json__number(p.max), "spread", json__number(measure__spread(m)), "passes",
			 json_passes(m), "cpu_share",
			 json__number(m->cpu_share > 0 ? m->cpu_share : NAN), "how",
			 m->how[0] ? json__text(m->how) : json_null(), "error",
			 m->error[0] ? json__text(m->error) : json_null());
}

static json_t *known(unsigned n)
{
	return n ? json_integer(n) : json_null();
}

int calibration__print_json(const struct calibration *c, FILE *out)
{
	json_t *measures = json_array(), *warnings = json_array(), *root;
	int err;

	for (unsigned i = 0; i < PEAK_KINDS; i++)
		if (is_asked(&c->m.of[i]))
			json_array_append_new(measures, json_measure(i, &c->m.of[i]));
	for (unsigned i = 0; i < c->nwarnings; i++)
		json_array_append_new(warnings, json__text(c->warning[i]));
	root = json_pack("{s:o, s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "node",
			 json__text(c->node), "cpus", (int)c->cpus, "cpus_online", known(c->online),
			 "cores", known(c->cores), "sockets", known(c->sockets), "load",
			 json__number(c->load), "busy", json__number(c->busy), "steal",
			 json__number(c->steal), "measures", measures, "warnings", warnings);
	err = root ? json_dumpf(root, out, JSON_INDENT(2) | JSON_ENSURE_ASCII) : -1;
	json_decref(root);
	fputc('\n', out);
	return err ? -ENOMEM : 0;
}

static void take_count(struct peaks *p, enum peak_kind kind, unsigned n)
{
	if (n)
		p->of[kind].value = n;
}

static bool make_peaks(const struct calibration *c, struct peaks *p)
{
	bool some = false;

	peaks__init(p);
	for (unsigned i = 0; i < PEAK_KINDS; i++) {
		p->of[i] = measure__peak(&c->m.of[i]);
		some |= c->m.of[i].npasses > 0;
	}
	if (c->m.of[PEAK_MEMORY].npasses || c->m.of[PEAK_FLOPS].npasses) {
		take_count(p, PEAK_CPUS, c->cpus);
		take_count(p, PEAK_CORES, c->cores);
		take_count(p, PEAK_SOCKETS, c->sockets);
	}
	return some;
}

/* The name of a node that the list has. */
static int name_in(const char *list, const char *node, char *name, size_t size)
{
	char err[256];
	int ret = peaks__list_has(list, node, err, sizeof(err));

	if (ret < 0) {
		log_error("--nodes: %s", ret == -ENOMEM ? strerror(ENOMEM) : err);
		return ret;
	}
	if (ret)
		snprintf(name, size, "%s", node);
	else if (strchr(list, '*'))
		snprintf(name, size, "%.*s", (int)strcspn(list, ","), list);
	else
		return hostlist__first(list, name, size);
	return 0;
}

static bool differs(double a, double b)
{
	return isnan(a) != isnan(b) || fabs(a - b) > 1e-6 * fabs(b);
}

/* What the new file says of the node is what has been measured. */
static int read_back(const struct peaks *wanted, const char *tmp, const char *path,
		     const char *name)
{
	struct peaks got;
	int err = peaks__read(&got, tmp, name);

	for (unsigned i = 0; !err && i < PEAK_KINDS; i++) {
		if (isnan(wanted->of[i].value) || (!differs(got.of[i].value, wanted->of[i].value)))
			continue;
		log_error("%s: another section or line of it gives %s another value for %s; "
			  "nothing is written: move that line up, or name another file",
			  path, name, peak__key(i));
		err = -EINVAL;
	}
	return err;
}

/* from: what is replaced; NULL: there is no file. */
static int write_file(const struct calibration *c, const struct peaks *p, FILE *from,
		      const char *nodes, int fd)
{
	_cleanup_fclose_ FILE *to = NULL;
	char note[160], day[16] = "";
	time_t now = time(NULL);
	struct tm tm;
	int copy = dup(fd), err;

	if (copy >= 0)
		to = fdopen(copy, "w");
	if (!to)
		return -ENOMEM;
	if (localtime_r(&now, &tm))
		strftime(day, sizeof(day), "%Y-%m-%d", &tm);
	snprintf(note, sizeof(note), "%s on %.64s, %u CPUs, version " JOBPROF_VERSION, day, c->node,
		 c->cpus);
	err = peaks__replace(from, to, nodes, p, note);
	return !err && fflush(to) ? -errno : err;
}

/* The file as it is, in *from; NULL: there is none. What is wrong in it is for a person to mend. */
static int open_old(const char *path, const char *name, FILE **from)
{
	struct peaks old;
	int err = strcmp(path, "-") ? peaks__read(&old, path, name) : -ENOENT;

	*from = NULL;
	if (err)
		return err == -ENOENT ? 0 : err;
	*from = fopen(path, "re");
	return *from ? 0 : -errno;
}

int calibration__may_write(const struct calibration *c, const char *path, const char *nodes)
{
	_cleanup_fclose_ FILE *from = NULL;
	struct output_file o;
	char name[256];
	int err = name_in(nodes, c->node, name, sizeof(name));

	if (!err)
		err = open_old(path, name, &from);
	if (!err)
		err = output_file__open(&o, path, "", true);
	if (!err)
		output_file__close(&o, false);
	return err;
}

int calibration__write(const struct calibration *c, const char *path, const char *nodes)
{
	_cleanup_fclose_ FILE *from = NULL;
	struct output_file o;
	struct peaks p;
	char name[256];
	int err;

	if (!make_peaks(c, &p)) {
		log_error("%s: nothing was measured, so nothing is written", path);
		return -ENODATA;
	}
	err = name_in(nodes, c->node, name, sizeof(name));
	if (!err)
		err = open_old(path, name, &from);
	if (!err)
		err = output_file__open(&o, path, "", true);
	if (err)
		return err;
	err = write_file(c, &p, from, nodes, o.fd);
	if (err)
		log_error("%s: cannot be written: %s", path, strerror(-err));
	else if (o.tmp)
		err = read_back(&p, o.tmp, path, name);
	if (output_file__close(&o, !err) || err)
		return err ? err : -EIO;
	log_info("%s: has the peaks of %s", path, nodes);
	return 0;
}
