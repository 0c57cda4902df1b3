// SPDX-License-Identifier: GPL-2.0-or-later
/* jobprofd --check and --check-bpf: what this kernel and node support. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/escape.h"
#include "base/log.h"
#include "base/str.h"
#include "cmd/jobprofd/jobprofd.h"
#include "daemon/config/perf_columns.h"
#include "identity/hierarchy.h"
#include "kern/kern.h"
#include "kern/pmu/perf_groups.h"
#include "sensor/plugin/plugin.h"
#include "sensor/sensors.h"

static const char *state_name(const struct kern_feature *f)
{
	if (f->state == 1)
		return "yes";
	return f->state == 0 ? "no" : strerror(-f->state);
}

static bool has_controller(const char *list, const char *name)
{
	size_t len = strlen(name);

	for (const char *p = list; (p = strstr(p, name)); p += len)
		if ((p == list || p[-1] == ' ') && (!p[len] || p[len] == ' ' || p[len] == '\n'))
			return true;
	return false;
}

static bool v1_has_controller(const struct hierarchy *h, int n, const char *name)
{
	char list[sizeof(h->controllers)];

	for (int i = 0; i < n; i++) {
		memcpy(list, h[i].controllers, sizeof(list));
		for (char *c = list; *c; c++)
			*c = *c == ',' ? ' ' : *c;
		if (!h[i].v2 && has_controller(list, name))
			return true;
	}
	return false;
}

/* Controllers without which columns of v2 stay empty. Slurm's cgroup/v2 switches them on below the
 * root, where the root lets it. */
static void check_controllers(const struct hierarchy *h, int n)
{
	static const struct {
		const char *name, *without;
	} wanted[] = {
		{"memory", "MemMB, MemPeakMB, MemLimitMB stay unknown"},
		{"cpu", "Throttled stays unknown"},
	};
	const struct hierarchy *v2 = h;
	char path[300], there[512], on[512];

	while (v2 < h + n && !v2->v2)
		v2++;
	if (v2 == h + n)
		return;
	snprintf(path, sizeof(path), "%s/cgroup.controllers", v2->mount);
	if (read_file(AT_FDCWD, path, there, sizeof(there)) < 0)
		return;
	snprintf(path, sizeof(path), "%s/cgroup.subtree_control", v2->mount);
	if (read_file(AT_FDCWD, path, on, sizeof(on)) < 0)
		on[0] = '\0';
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		const char *name = wanted[i].name;
		bool has = has_controller(there, name), v1 = v1_has_controller(h, n, name);

		printf("v2 controller %-6s %-5s %-34s ", name,
		       has && has_controller(on, name) ? "yes" : "no",
		       has ? "cgroup.subtree_control" : "cgroup.controllers");
		if (v1)
			printf("nothing for steps in v1, which has it; in v2 %s\n",
			       wanted[i].without);
		else
			printf("%s\n", wanted[i].without);
	}
}

static void check_hierarchies(void)
{
	struct hierarchy *h = calloc(HIERARCHY_MAX, sizeof(*h));
	unsigned chosen[JP_CARRIERS], n, i;
	int found = h ? hierarchy__discover(h, HIERARCHY_MAX) : 0;

	n = found > 0 ? hierarchy__carriers(h, found, chosen, JP_CARRIERS) : 0;
	for (i = 0; i < n; i++)
		printf("%-20s %-5s %-34s %s\n", h[chosen[i]].v2 ? "cgroup v2" : "cgroup v1", "yes",
		       h[chosen[i]].v2 ? "mountinfo" : h[chosen[i]].controllers,
		       h[chosen[i]].mount);
	if (!n)
		printf("%-20s %-5s %-34s %s\n", "cgroup", "NO", "mountinfo",
		       "nothing can be followed");
	check_controllers(h, found > 0 ? found : 0);
	free(h);
}

static void check_sensor(const struct sensor_ops *ops)
{
	static const struct sensor_roots roots = {"/sys", "/proc", "/dev", NULL};
	char reason[256];
	int err = sensor__probe(ops, &roots, reason, sizeof(reason));

	if (err == -ENOENT)
		return;
	printf("sensor %-13s %-5s ", ops->name, err ? "no" : "yes");
	print__escaped(stdout, reason);
	printf("%*s %s\n", (int)(strlen(reason) < 34 ? 34 - strlen(reason) : 0), "", ops->doc);
}

/* Sources of readings that are there; those that may not be read say what to do. */
static void check_sensors(void)
{
	const struct sensor_ops *const *plugins;
	int i, n = plugins__load(PLUGINS_DIR, sensor_sources, &plugins);

	for (i = 0; i < (int)n_sensor_sources; i++)
		check_sensor(sensor_sources[i]);
	for (i = 0; i < n; i++)
		check_sensor(plugins[i]);
}

/* Whether this processor's events for the words of PerfEvents are known. */
static void check_words(void)
{
	const struct perf_arch *a = perf_arch__find("/proc", "/sys");

	printf("%-20s %-5s %-34s %s\n", "@cpi and its like", a ? "yes" : "no",
	       a ? a->name : "/proc/cpuinfo, counters",
	       a ? "these events were not tried on hardware" : "PerfEvents: @ words are left out");
}

/* Each row: present or not, how that was found out, what degrades without it. */
int jobprofd__check(const char *btf)
{
	struct kern_feature f[64];
	unsigned i, n = kern__features(f, 64, btf);
	int missing = 0;

	printf("%-20s %-5s %-34s %s\n", "feature", "here", "found by", "without it");
	for (i = 0; i < n; i++) {
		printf("%-20s %-5s %-34s %s%s%s%s\n", f[i].name,
		       f[i].state == 1 ? "yes"
		       : f[i].required ? "NO"
				       : state_name(&f[i]),
		       f[i].how, f[i].without, f[i].detail[0] ? " (" : "", f[i].detail,
		       f[i].detail[0] ? ")" : "");
		missing += f[i].required && f[i].state != 1;
	}
	check_hierarchies();
	check_words();
	check_sensors();
	if (geteuid())
		log_warn("not root: what needs privileges shows as absent");
	if (missing)
		log_error("%d required feature%s missing%s", missing,
			  missing == 1 ? " is" : "s are",
			  geteuid() ? ", or not shown to this user: ask as root"
				    : ": jobprofd cannot run here");
	return missing ? 1 : 0;
}

#define CHECK_PROGRAMS 64
#define CHECK_EVENTS   "cpu-clock,page-faults" /* every machine has these */

/* Ways to load the object that together hold every program that can be loaded on one machine. */
static const struct {
	bool fallbacks;
	enum kern_perf_mode perf_mode;
	const char *note;
} variants[] = {
	{false, PERF_OFF, ""},
	{false, PERF_EXACT, " (counters read)"},
	{false, PERF_SAMPLED, " (counters sampled)"},
	{true, PERF_EXACT, " (fallback)"},
};

/* The programs that no earlier variant had, or had otherwise. */
static void print_programs(const struct kern *k, const char *note)
{
	static struct kern_prog seen[4 * CHECK_PROGRAMS];
	static int nseen;
	struct kern_prog p[CHECK_PROGRAMS];
	int i, j, n = kern__programs(k, p, CHECK_PROGRAMS);

	for (i = 0; i < n; i++) {
		for (j = 0; j < nseen; j++)
			if (!strcmp(seen[j].name, p[i].name) && seen[j].insns == p[i].insns)
				break;
		if (j < nseen)
			continue;
		seen[nseen++] = p[i];
		printf("%-20s %7u instructions verified%s\n", p[i].name, p[i].insns, note);
	}
}

int jobprofd__check_bpf(const struct config *c)
{
	static struct jp_component components[JP_COMPONENTS];
	struct kern_opts o = {.nslots = 64,
			      .ncgroups = c->max_cgroups,
			      .ring_kb = c->ring_size,
			      .components = components,
			      .btf = c->btf,
			      .by_cycles = true,
			      .load_all = true,
			      .families = FAM_ALL | FAM_FILES | FAM_STACK | FAM_FOLD | FAM_BURST};
	struct perf_columns perf = {};
	struct kern *k;
	char reason[512];
	size_t v;

	if (perf_columns__parse(&perf, CHECK_EVENTS, reason, sizeof(reason)) < 0) {
		log_error("%s", reason);
		return 1;
	}
	o.events = perf.ev;
	o.nevents = perf.n;
	o.perf_budget = c->perf_budget;
	for (v = 0; v < sizeof(variants) / sizeof(variants[0]); v++) {
		o.raw_tp = o.block_issue = o.net_skb = variants[v].fallbacks;
		o.perf_mode = variants[v].perf_mode;
		if (kern__open(&k, &o)) {
			log_error("%s", kern__error());
			return 1;
		}
		print_programs(k, variants[v].note);
		kern__free(k);
	}
	return 0;
}
