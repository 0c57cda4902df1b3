// SPDX-License-Identifier: GPL-2.0-only
/* jobprof calibrate: the most that this node can do, measured with known kernels. */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/str.h"
#include "cmd/jobprof/calibrate.h"
#include "cmd/jobprof/verbs.h"
#include "peaks/busy.h"
#include "sensor/core/cpus.h"

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

static const struct opt opts[] = {
	{OPT_LONG + 'o', "only", "LIST", "of memory, flops, disk, network; default: all"},
	{'d', "dir", "DIR",
	 "where the scratch file is; default: $TMPDIR, else the working directory"},
	{OPT_LONG + 'q', "quick", NULL, "3 passes within 3 s each, instead of 10 within 15 s"},
	{OPT_LONG + 'l', "limit", "S", "seconds for each of the four, 0.5 to 600"},
	{'w', "write", NULL, "the peaks into FILE; default: where the other verbs look for them"},
	{OPT_LONG + 'n', "nodes", "LIST", "for which nodes they are written; default: this one"},
	{OPT_LONG + 'j', "json", NULL, "as JSON"},
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

static int set_only(struct args *a, const char *list)
{
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

static int set_limit(struct args *a, const char *text)
{
	if (!parse_double(text, &a->limit) && a->limit >= LIMIT_MIN && a->limit <= LIMIT_MAX)
		return 0;
	return options__wrong(&cmd_calibrate,
			      "--limit: \"%s\" is not a number of seconds from %g to %g", text,
			      LIMIT_MIN, LIMIT_MAX);
}

static int set_option(void *ctx, int letter, const char *arg)
{
	struct args *a = ctx;

	switch (letter) {
	case OPT_LONG + 'o':
		return set_only(a, arg);
	case OPT_LONG + 'l':
		return set_limit(a, arg);
	case OPT_LONG + 'q':
		a->quick = true;
		return 0;
	case OPT_LONG + 'n':
		a->nodes = arg;
		return 0;
	case OPT_LONG + 'j':
		a->json = true;
		return 0;
	case 'd':
		a->o.dir = arg;
		return 0;
	default:
		a->write = true;
		return 0;
	}
}

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

/* A result of some CPUs is not the node's. */
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

/* What all three measures of a disk say is said once. The exit status. */
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

	if (a->write && calibration__may_write(&a->c, path, nodes))
		return 1;
	status = measure_all(a);
	if (!a->json)
		calibration__print_text(&a->c, stdout);
	else if (calibration__print_json(&a->c, stdout)) {
		log_error("%s", strerror(ENOMEM));
		status = 1;
	}
	if (a->write && calibration__write(&a->c, path, nodes))
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
	status = options__read(&cmd_calibrate, argc, argv, set_option, &a);
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
