// SPDX-License-Identifier: GPL-2.0-only
/* Cost of the collector: its programs over a sampling time, its memory, the daemon's own slot. */
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
static void print_programs(const struct self *s, bool attached, FILE *out)
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

	text_table__cell(&t, "program");
	text_table__cell(&t, "attached");
	for (size_t c = 0; c < ncols; c++)
		text_table__cell(&t, "%s", cols[c].heading);
	for (int i = 0; i < s->n; i++) {
		json_t *p = program_json(s, i);

		text_table__cell(&t, "%s", s->after[i].name);
		text_table__cell(&t, s->after[i].attached ? "yes" : attached ? "called" : "no");
		for (size_t c = 0; c < ncols; c++)
			text_table__number(&t, cols[c].format, json__number_of(p, cols[c].key));
		json_decref(p);
	}
	text_table__end(&t, out);
}

/* ---- what is loaded, and all of it */

static double value_of(const struct dump_row *r, const char *column)
{
	int i = dump__column(r->cols, column);

	return i < 0 ? NAN : r->value[i];
}

static const char *pmu_mode(const struct jp_control *c)
{
	static const char *const names[] = {
		[JP_PMU_OFF] = "off",
		[JP_PMU_EXACT] = "exact",
		[JP_PMU_SAMPLED] = "sampled",
	};

	return c->pmu_mode < sizeof(names) / sizeof(names[0]) ? names[c->pmu_mode] : "?";
}

/* Counts that loaded families lack on this machine. */
static const struct {
	uint32_t bit;
	const char *text;
} blind_spots[] = {
	{JP_BLIND_RETRANS, "TCP retransmits"},
};

/* What is loaded, and how the hardware counters are read. */
static void print_control(const struct dump *d, FILE *out)
{
	const struct jp_control *c = kern__control(d->k);

	fprintf(out, "families:");
	for (unsigned i = 0; i < n_family_infos; i++)
		if (c->families & family_infos[i].family)
			fprintf(out, " %s", family_infos[i].name);
	for (size_t i = 0; i < sizeof(blind_spots) / sizeof(blind_spots[0]); i++)
		if (c->blind & blind_spots[i].bit)
			fprintf(out, "; blind to %s", blind_spots[i].text);
	putc('\n', out);
	fprintf(out, "network: ");
	print__escaped(out, kern__family_mode(d->k, FAM_NETWORK));
	putc('\n', out);
	if (!(c->families & FAM_PERF)) {
		fprintf(out, "hardware counters: %s\n", kern__family_mode(d->k, FAM_PERF));
		return;
	}
	fprintf(out, "hardware counters: %s", pmu_mode(c));
	if (c->pmu_read_ns)
		fprintf(out, ", %llu ns per %s", (unsigned long long)c->pmu_read_ns,
			c->pmu_mode == JP_PMU_SAMPLED ? "sample" : "reading");
	for (unsigned i = 0; i < c->npmu && i < JP_PMU_EVENTS; i++) {
		fprintf(out, "%s", i ? ", " : ": ");
		print__escaped(out, d->event_names[i]);
		if (c->pmu_period[i])
			fprintf(out, " (each %llu)", (unsigned long long)c->pmu_period[i]);
	}
	putc('\n', out);
}

void self__text(const struct self *s, const struct dump *d, FILE *out)
{
	double probe = (double)kern__control(d->k)->probe_ns;

	if (s->stats_err)
		fprintf(out,
			"the kernel gives no run statistics (%s): runs and times are unknown\n",
			strerror(-s->stats_err));
	fprintf(out, "programs over %.2f s\n", s->seconds);
	print_programs(s, kern__attached(d->k), out);
	if (!s->stats_err)
		fprintf(out, "all programs: %.3f ms, %.4f %% of all CPUs\n", total_ns(s) / 1e6,
			share_of_cpu(s, total_ns(s)));
	fprintf(out, "calibrated: ");
	fprintf(out, probe > 0 ? "%.0f ns per run\n" : "not yet\n", probe);
	fprintf(out, "jobprofd and its writers, in %.0f s: CPU %.3f s, RSS now %.1f MiB\n",
		d->self.age, value_of(&d->self, "CPUTime"), value_of(&d->self, "RSS") / 1024);
	print_control(d, out);
	fprintf(out, "maps: %u with %.1f MiB\n", s->maps, (double)s->map_bytes / 1048576);
	counters__print(d, out);
}

static json_t *families_json(const struct jp_control *c)
{
	json_t *all = json_array();

	for (unsigned i = 0; i < n_family_infos; i++)
		if (c->families & family_infos[i].family)
			json_array_append_new(all, json_string(family_infos[i].name));
	return all;
}

static json_t *perf_json(const struct dump *d)
{
	const struct jp_control *c = kern__control(d->k);
	json_t *events = json_array();

	for (unsigned i = 0; i < c->npmu && i < JP_PMU_EVENTS; i++)
		json_array_append_new(
			events,
			json_pack("{s:o, s:o}", "column", json__text(d->event_names[i]), "period",
				  c->pmu_period[i] ? json_integer((json_int_t)c->pmu_period[i])
						   : json_null()));
	return json_pack("{s:s, s:s, s:o, s:o}", "mode", pmu_mode(c), "text",
			 kern__family_mode(d->k, FAM_PERF), "read_ns",
			 c->pmu_read_ns ? json_integer((json_int_t)c->pmu_read_ns) : json_null(),
			 "events", events);
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
			 c->probe_ns ? json_integer((json_int_t)c->probe_ns) : json_null(), "slots",
			 (json_int_t)(kern__nslots(d->k) - JP_SLOT_FIRST), "slots_used",
			 (json_int_t)d->used, "attached", kern__attached(d->k), "age", d->self.age,
			 "daemon", columns__json(&d->self, false), "counters", counters_json(d),
			 "families", families_json(c), "network",
			 json__text(kern__family_mode(d->k, FAM_NETWORK)), "perf", perf_json(d));
}
