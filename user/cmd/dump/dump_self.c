// SPDX-License-Identifier: GPL-2.0-or-later
/* Prints the cost of the collector: its programs over a sampling time, its memory, the daemon's own
 * slot. */
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text_table.h"
#include "cmd/dump/dump.h"

/* ---- the collector's counters */

/* clang-format off */
#define STAT(f, meaning) {#f, offsetof(struct jp_stats, f), meaning}
static const struct {
	const char *name;
	size_t offset;
	const char *meaning; /* NULL: no loss, not printed as text */
} collector_stats[] = {
	STAT(rb_lost, "events that found the ring full; jobprofd looked at the cgroups instead"),
	STAT(slots_exhausted,
	     "steps that found no slot, and are not profiled: raise MaxSlots"),
	STAT(samples_late, "samples of slots that had ended; they count nowhere"),
	STAT(cgroups_full,
	     "cgroups that did not fit the table of cgroups; their tasks are not counted: raise MaxCgroups"),
	STAT(storage_fail, "tasks that got no storage in the kernel and are not counted"),
	STAT(env_long, "environments that were too long to find SLURM_PROCID in"),
	STAT(path_long, "cgroup paths that were too long to keep"),
	/* no loss: the record comes again with the next read */
	STAT(iter_fail, NULL),
	STAT(late_tasks, "tasks that were already running when they were first seen"),
	STAT(blk_full, "disk requests that had no room for their owner and count as unattributed"),
	STAT(blk_unowned,
	     "disk requests that were submitted by nobody that was seen and count as unattributed"),
	STAT(blk_lost, "disk requests that ended where no program saw it and count without their time"),
	STAT(blk_late, "disk requests that ended after their step's last row and count as unattributed"),
	STAT(sock_fail, "sockets that got no storage; their retransmits count as unattributed"),
	STAT(pmu_fail, "readings of the hardware counters that failed"),
	STAT(pmu_missed,
	     "switches to a task that were not seen: its counts of that slice are by its run time"),
	STAT(pmu_lost, "samples that were throttled by the kernel; the counts are scaled for them"),
};
/* clang-format on */
#define N_STATS (sizeof(collector_stats) / sizeof(collector_stats[0]))

static uint64_t stat_of(const struct dump *d, size_t i)
{
	return *(const uint64_t *)((const char *)&kern__control(d->k)->stats +
				   collector_stats[i].offset);
}

void counters__print(const struct dump *d, FILE *out)
{
	for (size_t i = 0; i < N_STATS; i++)
		if (collector_stats[i].meaning && stat_of(d, i))
			fprintf(out, "%s: %llu (%s)\n", collector_stats[i].name,
				(unsigned long long)stat_of(d, i), collector_stats[i].meaning);
}

static json_t *counters_json(const struct dump *d)
{
	json_t *obj = json_object();

	for (size_t i = 0; i < N_STATS; i++)
		json__set(obj, collector_stats[i].name, json_integer((json_int_t)stat_of(d, i)));
	return obj;
}

/* ---- the programs */

/* All BPF maps that this process has open are the collector's; fdinfo has their memory. */
static void add_up_maps(struct self *s)
{
	DIR *dir = opendir("/proc/self/fdinfo");
	unsigned long long bytes;
	struct dirent *e;

	while (dir && (e = readdir(dir))) {
		bool is_map = false;
		char path[300], line[256];
		FILE *f;

		snprintf(path, sizeof(path), "/proc/self/fdinfo/%s", e->d_name);
		f = e->d_name[0] == '.' ? NULL : fopen(path, "re");
		while (f && fgets(line, sizeof(line), f)) {
			is_map |= !strncmp(line, "map_type:", 9);
			if (is_map && sscanf(line, "memlock: %llu", &bytes) == 1)
				s->map_bytes += bytes;
		}
		s->maps += is_map;
		if (f)
			fclose(f);
	}
	if (dir)
		closedir(dir);
}

int self__sample(struct self *s, const struct kern *k, double seconds, void (*wait_s)(double))
{
	int stats = kern__stats_on(), n;
	uint64_t begin;

	memset(s, 0, sizeof(*s));
	s->stats_err = stats < 0 ? stats : 0;
	s->n = kern__programs(k, s->before, SELF_PROGRAMS);
	begin = clock__mono_ns();
	wait_s(seconds);
	n = kern__programs(k, s->after, SELF_PROGRAMS);
	s->seconds = (double)(clock__mono_ns() - begin) / 1e9;
	if (stats >= 0)
		close(stats);
	if (n != s->n || !n)
		return -ESTALE;
	add_up_maps(s);
	return 0;
}

/* Runs, ns and misses within the sampling time; NaN where the kernel does not count. */
struct cost {
	double runs, ns, missed;
};

static struct cost cost_of(const struct self *s, int i)
{
	struct cost c = {NAN, NAN, (double)(s->after[i].missed - s->before[i].missed)};

	if (s->stats_err)
		return c;
	c.runs = (double)(s->after[i].runs - s->before[i].runs);
	c.ns = (double)(s->after[i].ns - s->before[i].ns);
	return c;
}

static double total_ns(const struct self *s)
{
	double sum = 0;

	for (int i = 0; i < s->n; i++)
		sum += cost_of(s, i).ns;
	return sum;
}

/* Share of the time of all CPUs, in percent. */
static double share_of_cpu(const struct self *s, double ns)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	return cpus > 0 && s->seconds > 0 ? ns / (s->seconds * 1e9 * (double)cpus) * 100 : NAN;
}

static json_t *program_json(const struct self *s, int i)
{
	const struct kern_prog *p = &s->after[i];
	struct cost c = cost_of(s, i);

	return json_pack("{s:s, s:I, s:b, s:o, s:o, s:o, s:o, s:I, s:o}", "name", p->name, "id",
			 (json_int_t)p->id, "attached", p->attached, "runs", json__number(c.runs),
			 "runs_per_s", json__number(c.runs / s->seconds), "ns_per_run",
			 json__number(c.runs > 0 ? c.ns / c.runs : NAN), "cpu_percent",
			 json__number(share_of_cpu(s, c.ns)), "missed", (json_int_t)p->missed,
			 "insns", p->insns ? json_integer(p->insns) : json_null());
}

/* Iterators are attached to nothing: jobprofd and this program call them. */
static void print_programs(json_t *programs, bool attached, FILE *out)
{
	static const struct {
		const char *heading, *key, *format;
	} cols[] = {
		{"runs", "runs", "%.0f"},	  {"runs/s", "runs_per_s", "%.1f"},
		{"ns/run", "ns_per_run", "%.0f"}, {"CPU %", "cpu_percent", "%.4f"},
		{"missed", "missed", "%.0f"},	  {"insns", "insns", "%.0f"},
	};
	const size_t ncols = sizeof(cols) / sizeof(cols[0]);
	struct text_table t = {.ncols = 2 + ncols, .nleft = 2};
	json_t *p;
	size_t i;

	text_table__cell(&t, "program");
	text_table__cell(&t, "attached");
	for (size_t c = 0; c < ncols; c++)
		text_table__cell(&t, "%s", cols[c].heading);
	json_array_foreach (programs, i, p) {
		bool is_attached = json_is_true(json_object_get(p, "attached"));

		text_table__cell(&t, "%s", json__text_of(p, "name"));
		text_table__cell(&t, is_attached ? "yes" : attached ? "called" : "no");
		for (size_t c = 0; c < ncols; c++)
			text_table__number(&t, cols[c].format, json__number_of(p, cols[c].key));
	}
	text_table__end(&t, out);
}

/* ---- what is loaded, and all of it */

static json_t *families_json(const struct jp_control *c)
{
	json_t *all = json_array();

	for (unsigned i = 0; i < n_family_infos; i++)
		if (c->families & family_infos[i].family)
			json_array_append_new(all, json_string(family_infos[i].name));
	return all;
}

static json_t *positive_json(uint64_t n)
{
	return n ? json_integer((json_int_t)n) : json_null();
}

/* How the hardware counters are read. */
static json_t *perf_json(const struct dump *d)
{
	static const char *const modes[] = {
		[JP_PMU_OFF] = "off",
		[JP_PMU_EXACT] = "exact",
		[JP_PMU_SAMPLED] = "sampled",
	};
	const struct jp_control *c = kern__control(d->k);
	json_t *events = json_array();

	for (unsigned i = 0; i < c->npmu && i < JP_PMU_EVENTS; i++)
		json_array_append_new(events, json_pack("{s:o, s:o}", "column",
							json__text(d->event_names[i]), "period",
							positive_json(c->pmu_period[i])));
	return json_pack("{s:s, s:s, s:o, s:o}", "mode",
			 c->pmu_mode < sizeof(modes) / sizeof(modes[0]) ? modes[c->pmu_mode] : "?",
			 "text", kern__family_mode(d->k, FAM_PERF), "read_ns",
			 positive_json(c->pmu_read_ns), "events", events);
}

json_t *self__json(const struct self *s, const struct dump *d)
{
	const struct jp_control *c = kern__control(d->k);
	json_t *progs = json_array();

	for (int i = 0; i < s->n; i++)
		json_array_append_new(progs, program_json(s, i));
	return json_pack("{s:f, s:o, s:I, s:I, s:o, s:I, s:I, s:b, s:f, s:o, s:o, s:o, s:o, s:o}",
			 "seconds", s->seconds, "programs", progs, "map_bytes",
			 (json_int_t)s->map_bytes, "maps", (json_int_t)s->maps, "probe_ns",
			 positive_json(c->probe_ns), "slots",
			 (json_int_t)(kern__nslots(d->k) - JP_SLOT_FIRST), "slots_used",
			 (json_int_t)d->used, "attached", kern__attached(d->k), "age", d->self.age,
			 "daemon", columns__json(&d->self, false), "counters", counters_json(d),
			 "families", families_json(c), "network",
			 json__text(kern__family_mode(d->k, FAM_NETWORK)), "perf", perf_json(d));
}

static void print_perf(const json_t *perf, FILE *out)
{
	const char *mode = json__text_of(perf, "mode");
	double read_ns = json__number_of(perf, "read_ns");
	json_t *e;
	size_t i;

	fprintf(out, "hardware counters: %s", mode);
	if (read_ns > 0)
		fprintf(out, ", %.0f ns per %s", read_ns,
			!strcmp(mode, "sampled") ? "sample" : "reading");
	json_array_foreach (json_object_get(perf, "events"), i, e) {
		double period = json__number_of(e, "period");

		fprintf(out, "%s", i ? ", " : ": ");
		print__escaped(out, json__text_of(e, "column"));
		if (period > 0)
			fprintf(out, " (each %.0f)", period);
	}
	putc('\n', out);
}

/* What is loaded, and how the hardware counters are read. */
static void print_loaded(const json_t *self, const struct dump *d, FILE *out)
{
	const struct jp_control *c = kern__control(d->k);
	json_t *name;
	size_t i;

	fprintf(out, "families:");
	json_array_foreach (json_object_get(self, "families"), i, name) {
		fprintf(out, " %s", json_string_value(name));
	}
	fprintf(out,
		"%s\nnetwork: ", c->blind & JP_BLIND_RETRANS ? "; blind to TCP retransmits" : "");
	print__escaped(out, json__text_of(self, "network"));
	putc('\n', out);
	if (c->families & FAM_PERF)
		print_perf(json_object_get(self, "perf"), out);
	else
		fprintf(out, "hardware counters: %s\n", kern__family_mode(d->k, FAM_PERF));
}

void self__text(const struct self *s, const struct dump *d, FILE *out)
{
	json_t *self = self__json(s, d), *daemon = json_object_get(self, "daemon");
	double probe = json__number_of(self, "probe_ns");

	if (s->stats_err)
		fprintf(out,
			"the kernel gives no run statistics (%s): runs and times are unknown\n",
			strerror(-s->stats_err));
	fprintf(out, "programs over %.2f s\n", s->seconds);
	print_programs(json_object_get(self, "programs"), kern__attached(d->k), out);
	if (!s->stats_err)
		fprintf(out, "all programs: %.3f ms, %.4f %% of all CPUs\n", total_ns(s) / 1e6,
			share_of_cpu(s, total_ns(s)));
	fprintf(out, "calibrated: ");
	fprintf(out, probe > 0 ? "%.0f ns per run\n" : "not yet\n", probe);
	fprintf(out, "jobprofd and its writers, in %.0f s: CPU %.3f s, RSS now %.1f MiB\n",
		d->self.age, json__number_of(daemon, "CPUTime"),
		json__number_of(daemon, "RSS") / 1024);
	print_loaded(self, d, out);
	fprintf(out, "maps: %u with %.1f MiB\n", s->maps, (double)s->map_bytes / 1048576);
	json_decref(self);
}
