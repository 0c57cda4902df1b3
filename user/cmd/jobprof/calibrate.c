/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jobprof calibrate: the most that this node can do, measured with known kernels. */
#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/escape.h"
#include "base/hostlist.h"
#include "base/json.h"
#include "base/log.h"
#include "base/str.h"
#include "cmd/jobprof/output_file.h"
#include "cmd/jobprof/verbs.h"
#include "peaks/measure.h"
#include "peaks/peaks.h"
#include "sensor/core/cpus.h"

#define CALIBRATION_WARNINGS 16

struct calibration {
	char node[256];
	unsigned cpus, online;	 /* that may be used; of the node */
	unsigned cores, sockets; /* of the CPUs that may be used; 0: not known */
	double load;		 /* average of a minute, before */
	double busy, steal;	 /* parts of all CPUs: before, by others; during the measures */
	bool asked[MEASURE_GROUPS];
	struct measures m;
	char warning[CALIBRATION_WARNINGS][256];
	unsigned nwarnings;
};

/* ---- what jobprof calibrate has measured, as a table, as JSON, and into the file of peaks */

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

static void calibration_print_text(const struct calibration *c, FILE *out)
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

/* 0 or -ENOMEM. */
static int calibration_print_json(const struct calibration *c, FILE *out)
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

/* The new file must give the measured peaks for this node. */
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

/* Reads the file as it is into *from; NULL: there is none. Errors in it are not mended here. */
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

/* Whether the peaks can be written, as far as that can be known before they are measured. As above.
 */
static int calibration_may_write(const struct calibration *c, const char *path, const char *nodes)
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

/*
 * Puts the peaks into the section of the nodes in the file, which is read back before it takes the
 * place of the old one. 0; -EINVAL: the list is none, or the file says otherwise behind that
 * section; -errno. Logged.
 */
static int calibration_write(const struct calibration *c, const char *path, const char *nodes)
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

/* ---- the verb */

#define LIMIT_S	   15.0
#define LIMIT_MIN  0.5
#define LIMIT_MAX  600.0
#define PASSES	   10
#define FILE_BYTES (1ull << 30)

#define QUICK_LIMIT_S	 3.0
#define QUICK_PASSES	 3
#define QUICK_FILE_BYTES (128ull << 20)

#define WATCH_NS    200000000 /* how long others are watched before it begins */
#define BUSY_LIMIT  0.1
#define STEAL_LIMIT 0.01
#define SHARE_LIMIT 0.95
#define CPUS_MAX    65536

struct args {
	struct measure_opts o;
	bool json, write, quick;
	double limit;	   /* NaN: as --quick says */
	const char *nodes; /* NULL: this node */
	struct calibration c;
};

static int set_only(void *to, const struct opt *o, const char *list)
{
	struct args *a = to;
	char copy[128], *rest = copy;
	const char *word;
	unsigned i;

	if (str__copy(copy, sizeof(copy), list))
		copy[0] = '\0';
	memset(a->c.asked, 0, sizeof(a->c.asked));
	while (rest) {
		word = strsep(&rest, ",");
		for (i = 0; i < MEASURE_GROUPS && strcmp(word, measure_groups[i].name) != 0; i++)
			;
		if (i == MEASURE_GROUPS)
			return options__wrong(
				&cmd_calibrate,
				"--only: \"%s\" is not one of memory, flops, disk, network",
				*word ? word : list);
		a->c.asked[i] = true;
	}
	return 0;
}

static int set_limit(void *to, const struct opt *o, const char *text)
{
	double *s = to;

	if (!parse_double(text, s) && *s >= LIMIT_MIN && *s <= LIMIT_MAX)
		return 0;
	return options__wrong(&cmd_calibrate,
			      "--limit: \"%s\" is not a number of seconds from %g to %g", text,
			      LIMIT_MIN, LIMIT_MAX);
}

static const struct opt opts[] = {
	{0, "only", "LIST", "of memory, flops, disk, network; default: all", OPT_CALL(set_only)},
	{'d', "dir", "DIR",
	 "where the scratch file is; default: $TMPDIR, else the working directory",
	 OPT_TEXT(struct args, o.dir)},
	{0, "quick", NULL, "3 passes within 3 s each, instead of 10 within 15 s",
	 OPT_FLAG(struct args, quick)},
	{0, "limit", "S", "seconds for each of the four, 0.5 to 600",
	 OPT_CALL_AT(set_limit, struct args, limit)},
	{'w', "write", NULL, "the peaks into FILE; default: where the other verbs look for them",
	 OPT_FLAG(struct args, write)},
	{0, "nodes", "LIST", "for which nodes they are written; default: this one",
	 OPT_TEXT(struct args, nodes)},
	{0, "json", NULL, "as JSON", OPT_FLAG(struct args, json)},
	{0},
};

const struct command cmd_calibrate = {
	.name = "jobprof calibrate",
	.usage = "[--only LIST] [-d DIR] [--quick] [--limit S] [--json]\n"
		 "-w [FILE] [--nodes LIST] [OPTION]...",
	.about = "Measures the peaks of this node, on the CPUs that it may use: memory bandwidth,\n"
		 "double precision, a disk; the network's speed is read. Takes less than a minute.",
	.opts = opts,
};

static void __attribute__((format(printf, 2, 3)))
add_warning(struct calibration *c, const char *fmt, ...)
{
	char *text;
	va_list ap;

	if (c->nwarnings == CALIBRATION_WARNINGS)
		return;
	text = c->warning[c->nwarnings];
	va_start(ap, fmt);
	vsnprintf(text, sizeof(c->warning[0]), fmt, ap);
	va_end(ap);
	c->nwarnings++;
	log_warn("%s", text);
}

/* The CPUs that this process may use, in *cpus. How many, or -errno. */
static int allowed_cpus(int **cpus)
{
	size_t size = CPU_ALLOC_SIZE(CPUS_MAX);
	cpu_set_t *set = CPU_ALLOC(CPUS_MAX);
	int n = 0, err = set ? 0 : -ENOMEM;

	*cpus = calloc(CPUS_MAX, sizeof(**cpus));
	if (!*cpus)
		err = -ENOMEM;
	if (!err)
		CPU_ZERO_S(size, set);
	if (!err && sched_getaffinity(0, size, set))
		err = -errno;
	for (int i = 0; !err && i < CPUS_MAX; i++)
		if (CPU_ISSET_S((unsigned)i, size, set))
			(*cpus)[n++] = i;
	CPU_FREE(set);
	return err ? err : n;
}

static bool is_first_of_its(const struct cpus *all, const struct measure_opts *o, unsigned i,
			    bool socket)
{
	const struct cpu_place *place = cpus__find(all, o->cpus[i]), *other;

	for (unsigned k = 0; place && k < i; k++) {
		other = cpus__find(all, o->cpus[k]);
		if (other &&
		    (socket ? other->package == place->package : other->core == place->core))
			return false;
	}
	return place != NULL;
}

static void count_cores(struct calibration *c, const struct measure_opts *o)
{
	struct sensor_roots roots = {"/sys", "/proc", "/dev", NULL};
	struct cpus all = {0};

	if (cpus__read(&all, &roots))
		return;
	c->online = all.n;
	for (unsigned i = 0; i < o->ncpus; i++) {
		c->cores += is_first_of_its(&all, o, i, false);
		c->sockets += all.packages && is_first_of_its(&all, o, i, true);
	}
	cpus__free(&all);
}

/* A result for some of the CPUs is not that of the node. */
static void look_around(struct calibration *c)
{
	struct timespec pause = {.tv_nsec = WATCH_NS};
	struct node_ticks before, after;

	node_ticks__read(&before);
	nanosleep(&pause, NULL);
	node_ticks__read(&after);
	c->busy = node_ticks__busy(&before, &after);
	if (getloadavg(&c->load, 1) != 1)
		c->load = NAN;
	if (c->online > c->cpus)
		add_warning(c,
			    "this process may use %u of the node's %u CPUs: the peaks are theirs",
			    c->cpus, c->online);
	if (c->busy > BUSY_LIMIT)
		add_warning(c,
			    "the node is busy: others use %.0f %% of the CPUs (load average %.2f)",
			    c->busy * 100, c->load);
	else if (c->load > c->online)
		add_warning(c, "the node was busy until now: load average %.2f", c->load);
}

static void warn_of(struct calibration *c, enum peak_kind kind)
{
	const struct measure *m = &c->m.of[kind];
	double spread = measure__spread(m);

	if (spread > SPREAD_LIMIT)
		add_warning(c, "%s: the passes differ by %.0f %% of the median", peak__key(kind),
			    spread * 100);
	if (m->cpu_share > 0 && m->cpu_share < SHARE_LIMIT)
		add_warning(c,
			    "%s: the threads had %.0f %% of their CPUs' time: a limit or others "
			    "took the rest",
			    peak__key(kind), m->cpu_share * 100);
}

/* Prints once what all three measures of a disk report. Returns the exit status. */
static int say_failures(const struct calibration *c)
{
	const char *before = "";
	int status = 0;

	for (unsigned i = 0; i < PEAK_KINDS; i++) {
		const struct measure *m = &c->m.of[i];

		if (!m->error[0] || m->absent)
			continue;
		if (strcmp(m->error, before) != 0)
			log_error("%s: %s", peak__key(i), m->error);
		before = m->error;
		status = 1;
	}
	return status;
}

/* The exit status: 1 if something failed. */
static int measure_all(struct args *a)
{
	struct calibration *c = &a->c;
	struct node_ticks before, after;
	int status;

	look_around(c);
	node_ticks__read(&before);
	for (unsigned i = 0; i < MEASURE_GROUPS; i++)
		if (c->asked[i])
			measure__run(&measure_groups[i], &a->o, &c->m);
	node_ticks__read(&after);
	c->steal = node_ticks__steal(&before, &after);
	for (unsigned i = 0; i < PEAK_KINDS; i++)
		warn_of(c, i);
	status = say_failures(c);
	if (c->steal > STEAL_LIMIT)
		add_warning(c, "the hypervisor took %.1f %% of the CPUs' time (steal)",
			    c->steal * 100);
	return status;
}

static int prepare_scratch(struct args *a)
{
	const char *tmp = getenv("TMPDIR");
	int *cpus, n = allowed_cpus(&cpus);

	if (n < 0) {
		log_error("which CPUs this process may use is not known: %s", strerror(-n));
		return 1;
	}
	a->o.cpus = cpus;
	a->o.ncpus = a->c.cpus = (unsigned)n;
	a->o.passes = a->quick ? QUICK_PASSES : PASSES;
	a->o.file_bytes = a->quick ? QUICK_FILE_BYTES : FILE_BYTES;
	a->o.seconds = !isnan(a->limit) ? a->limit : a->quick ? QUICK_LIMIT_S : LIMIT_S;
	if (!a->o.dir)
		a->o.dir = tmp && *tmp ? tmp : ".";
	if (gethostname(a->c.node, sizeof(a->c.node) - 1))
		a->c.node[0] = '\0';
	a->c.node[strcspn(a->c.node, ".")] = '\0';
	count_cores(&a->c, &a->o);
	return 0;
}

static int run_all(struct args *a, const char *path)
{
	const char *nodes = a->nodes ? a->nodes : a->c.node;
	int status;

	if (a->write && calibration_may_write(&a->c, path, nodes))
		return 1;
	status = measure_all(a);
	if (!a->json)
		calibration_print_text(&a->c, stdout);
	else if (calibration_print_json(&a->c, stdout)) {
		log_error("%s", strerror(ENOMEM));
		status = 1;
	}
	if (a->write && calibration_write(&a->c, path, nodes))
		status = 1;
	return status;
}

int verb_calibrate(int argc, char **argv)
{
	/* static: the thread of a measure that hangs may still look at it */
	static struct args a = {.o = {.sys = "/sys"}, .limit = NAN};
	int status;

	for (unsigned i = 0; i < MEASURE_GROUPS; i++)
		a.c.asked[i] = true;
	status = options__read(&cmd_calibrate, argc, argv, &a);
	if (status != OPTIONS_GO_ON)
		return status;
	if (optind < argc && !a.write)
		return options__wrong(&cmd_calibrate, "\"%s\" means nothing without --write",
				      argv[optind]);
	if (optind + 1 < argc)
		return options__wrong(&cmd_calibrate, "the peaks go into one file");
	if (a.nodes && !a.write)
		return options__wrong(&cmd_calibrate, "--nodes means nothing without --write");
	status = prepare_scratch(&a);
	return status ? status : run_all(&a, optind < argc ? argv[optind] : peaks__default_path());
}
