/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The bench's hand in the kernel: loads the programs with several sets of families at once, keeps
 * pairs of processes in a profiled slot, in two slots and in none, and attaches, runs and detaches
 * as it is told by lines on stdin, so that hundreds of runs with and without can be interleaved.
 * Every line is answered by one: "ok ..." or "error WHY".
 *
 *	open NAME FAMILIES [exact|sampled|raw]   loads; prints the families that are loaded
 *	close NAME
 *	attach NAME, detach NAME   "empty" is a typed sched_switch program that does nothing
 *	run PLACE WORKLOAD MS [PATH]   ns per operation: first quartile, median, third, operations
 *	calibrate NAME             ns a switch takes more, as jobprofd finds out when it starts
 *	programs NAME              name:runs:ns of every program
 *	stats on|off               the kernel's run statistics
 *	pids PLACE, dir PLACE      of a pair
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "bench/worker.h"
#include "identity/hierarchy.h"
#include "identity/layout.h"
#include "kern/kern.h"
#include "schema/series.h"

#define MAX_KERNS 16
#define NSLOTS	  512 /* jobprofd's defaults */
#define NCGROUPS  32768
#define RING_KB	  4096

enum { PLACE_NONE, PLACE_ONE, PLACE_TWO, PLACES };
static const char *const places[PLACES] = {"none", "one", "two"};

struct named {
	char name[24];
	struct kern *k;
};

struct bench {
	struct kern_root root;
	struct jp_component components[JP_COMPONENTS];
	char tree[64];	  /* below the root */
	char dir[5][600]; /* tree, job, step, task_0, task_1 */
	struct pair pair[PLACES];
	struct named kern[MAX_KERNS];
	int empty_prog, empty_link, stats;
};

static int make_tree(struct bench *b)
{
	int i;

	snprintf(b->dir[0], sizeof(b->dir[0]), "%s/%s", b->root.mount, b->tree);
	snprintf(b->dir[1], sizeof(b->dir[1]), "%.500s/job_1", b->dir[0]);
	snprintf(b->dir[2], sizeof(b->dir[2]), "%.540s/step_0", b->dir[1]);
	snprintf(b->dir[3], sizeof(b->dir[3]), "%.560s/task_0", b->dir[2]);
	snprintf(b->dir[4], sizeof(b->dir[4]), "%.560s/task_1", b->dir[2]);
	for (i = 0; i < 5; i++)
		if (mkdir(b->dir[i], 0755))
			return -errno;
	return 0;
}

static void remove_tree(struct bench *b)
{
	int i, tries;

	/* the last processes may take a moment to be gone */
	for (tries = 0; tries < 100; tries++) {
		for (i = 5; i-- > 0;)
			if (b->dir[i][0] && !rmdir(b->dir[i]))
				b->dir[i][0] = 0;
		if (!b->dir[0][0])
			return;
		usleep(10000);
	}
}

/* The hierarchy that is followed first, v2 where there is one, and a tree like jobprof run's. */
static int find_root(struct bench *b)
{
	static struct hierarchy h[HIERARCHY_MAX];
	const struct layout *row;
	static struct layout own;
	unsigned first, node;
	int n = hierarchy__discover(h, HIERARCHY_MAX), err;

	if (n <= 0 || !hierarchy__carriers(h, n, &first, 1) || !layout__rows(LAYOUT_RUN, &row, 1))
		return -ENODEV;
	snprintf(b->tree, sizeof(b->tree), "jobprof_%d", getpid());
	own = *row;
	own.comp[0].glob = b->tree;
	row = &own;
	err = layout__compile(&row, 1, "", h[first].v2, b->components, &node);
	if (err)
		return err;
	b->root.hier = h[first].id;
	b->root.component = node;
	if (!h[first].v2)
		snprintf(b->root.controller, sizeof(b->root.controller), "%.*s",
			 (int)strcspn(h[first].controllers, ","), h[first].controllers);
	snprintf(b->root.mount, sizeof(b->root.mount), "%s", h[first].mount);
	return 0;
}

static int enter(pid_t pid, const char *dir)
{
	char path[640];
	FILE *f;

	snprintf(path, sizeof(path), "%s/cgroup.procs", dir);
	f = fopen(path, "we");
	if (!f)
		return -errno;
	fprintf(f, "%d\n", pid);
	return fclose(f) ? -errno : 0;
}

/* The workers get the last CPU for themselves, everything else the others. */
static int split_cpus(void)
{
	cpu_set_t set;
	int i, last = 0;

	sched_getaffinity(0, sizeof(set), &set);
	for (i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &set))
			last = i;
	if (CPU_COUNT(&set) > 1) {
		CPU_CLR(last, &set);
		sched_setaffinity(0, sizeof(set), &set);
	}
	return last;
}

static int start_pairs(struct bench *b)
{
	int i, cpu = split_cpus(), err = 0;

	for (i = 0; !err && i < PLACES; i++)
		err = pair__start(&b->pair[i], cpu);
	if (!err)
		err = enter(b->pair[PLACE_ONE].lead, b->dir[3]);
	if (!err)
		err = enter(b->pair[PLACE_ONE].echo, b->dir[3]);
	if (!err)
		err = enter(b->pair[PLACE_TWO].lead, b->dir[3]);
	if (!err)
		err = enter(b->pair[PLACE_TWO].echo, b->dir[4]);
	return err;
}

/* return 0, and nothing else. */
static int load_empty(struct bench *b)
{
	struct bpf_insn insns[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = BPF_TRACE_RAW_TP);
	int id = libbpf_find_vmlinux_btf_id("sched_switch", BPF_TRACE_RAW_TP);

	if (id <= 0)
		return -ENOENT;
	opts.attach_btf_id = id;
	b->empty_prog = bpf_prog_load(BPF_PROG_TYPE_TRACING, "bench_empty", "GPL", insns, 2, &opts);
	return b->empty_prog < 0 ? -errno : 0;
}

static struct named *find(struct bench *b, const char *name)
{
	int i;

	for (i = 0; i < MAX_KERNS; i++)
		if (b->kern[i].k && !strcmp(b->kern[i].name, name))
			return &b->kern[i];
	return NULL;
}

static void fail(const char *what, int err)
{
	printf("error %s: %s\n", what, strerror(-err));
}

static void no_event(const struct jp_event *ev, void *ctx)
{
}

/* Attached once, so that the pairs, which do not move afterwards, are found and have their slots.
 */
static int settle(struct kern *k)
{
	int err = kern__attach(k);

	if (!err)
		err = kern__rescan(k, NULL);
	kern__detach(k);
	return err;
}

static void cmd_open(struct bench *b, char **arg)
{
	struct kern_opts o = {.nslots = NSLOTS,
			      .ncgroups = NCGROUPS,
			      .ring_kb = RING_KB,
			      .roots = {b->root},
			      .nroots = 1,
			      .components = b->components,
			      .perf_mode = PERF_EXACT,
			      .perf_budget = 100};
	struct perf_event events[JP_PMU_EVENTS];
	struct named *n = NULL;
	char bad[256];
	int i, nevents;

	for (i = 0; i < MAX_KERNS && !n; i++)
		if (!b->kern[i].k)
			n = &b->kern[i];
	if (!n || !arg[1]) {
		printf("error open: no room, or no families\n");
		return;
	}
	if (family__parse(arg[1], &o.families, bad, sizeof(bad))) {
		printf("error no family \"%s\"\n", bad);
		return;
	}
	nevents = perf_event__parse(arg[2] && arg[3] ? arg[3] : PERF_EVENTS_DEFAULT, "/sys", events,
				    JP_PMU_EVENTS, bad, sizeof(bad));
	if (nevents < 0) {
		printf("error %s\n", bad);
		return;
	}
	o.events = events;
	o.nevents = nevents;
	o.raw_tp = arg[2] && !strcmp(arg[2], "raw");
	if (arg[2] && !strcmp(arg[2], "sampled"))
		o.perf_mode = PERF_SAMPLED;
	if (kern__open(&n->k, &o) || settle(n->k)) {
		printf("error %s\n", kern__error());
		kern__free(n->k);
		n->k = NULL;
		return;
	}
	snprintf(n->name, sizeof(n->name), "%s", arg[0]);
	kern__events(n->k, no_event, NULL);
	printf("ok %u %s\n", kern__families(n->k), kern__family_mode(n->k, FAM_PERF));
}

static void cmd_close(struct bench *b, char **arg)
{
	struct named *n = find(b, arg[0]);

	if (n) {
		kern__free(n->k);
		n->k = NULL;
	}
	printf("ok\n");
}

static void cmd_attach(struct bench *b, char **arg)
{
	struct named *n = find(b, arg[0]);
	int err = 0;

	if (!strcmp(arg[0], "empty")) {
		b->empty_link = bpf_raw_tracepoint_open(NULL, b->empty_prog);
		err = b->empty_link < 0 ? -errno : 0;
	} else {
		err = n ? kern__attach(n->k) : -ENOENT;
	}
	if (err)
		fail("attach", err);
	else
		printf("ok\n");
}

static void cmd_detach(struct bench *b, char **arg)
{
	struct named *n = find(b, arg[0]);

	if (n) {
		kern__events(n->k, no_event, NULL);
		kern__detach(n->k);
	} else if (b->empty_link >= 0) {
		close(b->empty_link);
		b->empty_link = -1;
	}
	printf("ok\n");
}

static void cmd_calibrate(struct bench *b, char **arg)
{
	struct named *n = find(b, arg[0]);
	int err = n ? kern__track_self(n->k) : -ENOENT;

	if (!err)
		err = kern__calibrate(n->k);
	if (err)
		fail("calibrate", err);
	else
		printf("ok %llu %llu\n", (unsigned long long)kern__control(n->k)->probe_ns,
		       (unsigned long long)kern__control(n->k)->sample_ns);
}

static int place_of(const char *name)
{
	int i;

	for (i = 0; i < PLACES; i++)
		if (!strcmp(places[i], name))
			return i;
	return -1;
}

static void cmd_run(struct bench *b, char **arg)
{
	int p = place_of(arg[0]);
	struct worker_request req = {};
	struct worker_result res;

	if (p < 0 || !arg[2]) {
		printf("error run PLACE WORKLOAD MS [PATH]\n");
		return;
	}
	snprintf(req.workload, sizeof(req.workload), "%s", arg[1]);
	req.ms = strtoul(arg[2], NULL, 10);
	if (arg[3])
		snprintf(req.path, sizeof(req.path), "%s", arg[3]);
	if (pair__run(&b->pair[p], &req, &res))
		printf("error the workers have died\n");
	else if (!res.ops)
		printf("error %s\n", res.error);
	else
		printf("ok %.2f %.2f %.2f %llu\n", res.q1, res.median, res.q3,
		       (unsigned long long)res.ops);
}

static void empty_programs(struct bench *b)
{
	struct bpf_prog_info info = {};
	uint32_t len = sizeof(info);

	if (!bpf_obj_get_info_by_fd(b->empty_prog, &info, &len))
		printf(" empty:%llu:%llu", (unsigned long long)info.run_cnt,
		       (unsigned long long)info.run_time_ns);
}

static void cmd_programs(struct bench *b, char **arg)
{
	struct named *n = find(b, arg[0]);
	struct kern_prog p[64];
	int i, got = n ? kern__programs(n->k, p, 64) : 0;

	printf("ok");
	for (i = 0; i < got; i++)
		printf(" %s:%llu:%llu", p[i].name, (unsigned long long)p[i].runs,
		       (unsigned long long)p[i].ns);
	empty_programs(b);
	printf("\n");
}

static void cmd_stats(struct bench *b, char **arg)
{
	if (b->stats >= 0)
		close(b->stats);
	b->stats = strcmp(arg[0], "on") ? -1 : kern__stats_on();
	printf(b->stats < 0 && !strcmp(arg[0], "on") ? "error no run statistics\n" : "ok\n");
}

static void cmd_pids(struct bench *b, char **arg)
{
	int p = place_of(arg[0]);

	if (p < 0)
		printf("error no such place\n");
	else
		printf("ok %d %d\n", b->pair[p].lead, b->pair[p].echo);
}

static void cmd_dir(struct bench *b, char **arg)
{
	printf("ok %s\n", b->dir[3]);
}

static const struct {
	const char *name;
	void (*run)(struct bench *b, char **arg);
} commands[] = {
	{"open", cmd_open},	      {"close", cmd_close}, {"attach", cmd_attach},
	{"detach", cmd_detach},	      {"run", cmd_run},	    {"programs", cmd_programs},
	{"stats", cmd_stats},	      {"pids", cmd_pids},   {"dir", cmd_dir},
	{"calibrate", cmd_calibrate},
};

static void obey(struct bench *b, char *line)
{
	char *word[8] = {}, *save = NULL, *w;
	size_t i, n = 0;

	for (w = strtok_r(line, " \n", &save); w && n < 7; w = strtok_r(NULL, " \n", &save))
		word[n++] = w;
	for (i = 0; n > 1 && i < sizeof(commands) / sizeof(commands[0]); i++) {
		if (!strcmp(commands[i].name, word[0])) {
			commands[i].run(b, word + 1);
			fflush(stdout);
			return;
		}
	}
	printf("error what is that\n");
	fflush(stdout);
}

int main(void)
{
	struct bench b = {.empty_prog = -1, .empty_link = -1, .stats = -1};
	char line[1024];
	int i, err;

	signal(SIGPIPE, SIG_IGN);
	signal(SIGINT, SIG_IGN); /* the end of stdin ends us, and only then is the tree empty */
	err = find_root(&b);
	if (!err)
		err = make_tree(&b);
	if (!err)
		err = start_pairs(&b);
	if (!err)
		err = load_empty(&b);
	if (err)
		fail("cannot start", err);
	else
		printf("ok\n");
	fflush(stdout);
	while (!err && fgets(line, sizeof(line), stdin))
		obey(&b, line);
	for (i = 0; i < MAX_KERNS; i++)
		kern__free(b.kern[i].k);
	for (i = 0; i < PLACES; i++)
		pair__end(&b.pair[i]);
	remove_tree(&b);
	return err ? 1 : 0;
}
