// SPDX-License-Identifier: GPL-2.0-only
/* Cost of the collector: its programs over a sampling time, its memory, the daemon's own slot. */
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "cmd/dump/dump.h"

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

static void put_number(char *cell, const char *fmt, double v)
{
	if (isnan(v))
		snprintf(cell, GRID_CELL, "-");
	else
		snprintf(cell, GRID_CELL, fmt, v);
}

enum { C_NAME, C_ATTACHED, C_RUNS, C_RATE, C_NS, C_LOAD, C_MISSED, C_INSNS, N_COLS };

/* Iterators are attached to nothing: jobprofd and this program call them. */
static void put_program(struct grid *g, const struct self *s, int i, bool attached)
{
	const struct kern_prog *p = &s->after[i];
	struct cost c = cost_of(s, i);
	char(*row)[GRID_CELL] = grid__row(g);

	if (!row)
		return;
	snprintf(row[C_NAME], GRID_CELL, "%s", p->name);
	snprintf(row[C_ATTACHED], GRID_CELL, "%s",
		 p->attached ? "yes"
		 : attached  ? "called"
			     : "no");
	put_number(row[C_RUNS], "%.0f", c.runs);
	put_number(row[C_RATE], "%.1f", c.runs / s->seconds);
	put_number(row[C_NS], "%.0f", c.runs > 0 ? c.ns / c.runs : NAN);
	put_number(row[C_LOAD], "%.4f", share_of_cpu(s, c.ns));
	snprintf(row[C_MISSED], GRID_CELL, "%llu", (unsigned long long)p->missed);
	put_number(row[C_INSNS], "%.0f", p->insns ? p->insns : NAN);
}

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
	static const char *const heads[N_COLS] = {"program", "attached", "runs",   "runs/s",
						  "ns/run",  "CPU %",	 "missed", "insns"};
	struct grid g = {.ncols = N_COLS, .nleft = C_RUNS};
	char(*row)[GRID_CELL] = grid__row(&g);
	double probe = (double)kern__control(d->k)->probe_ns;

	for (unsigned i = 0; row && i < N_COLS; i++)
		snprintf(row[i], GRID_CELL, "%s", heads[i]);
	for (int i = 0; i < s->n; i++)
		put_program(&g, s, i, kern__attached(d->k));
	if (s->stats_err)
		fprintf(out,
			"the kernel gives no run statistics (%s): runs and times are unknown\n",
			strerror(-s->stats_err));
	fprintf(out, "programs over %.2f s\n", s->seconds);
	grid__print(&g, out);
	grid__free(&g);
	if (!s->stats_err)
		fprintf(out, "all programs: %.3f ms, %.4f %% of all CPUs\n", total_ns(s) / 1e6,
			share_of_cpu(s, total_ns(s)));
	fprintf(out, "calibrated: ");
	fprintf(out, probe > 0 ? "%.0f ns per run\n" : "not yet\n", probe);
	fprintf(out, "jobprofd and its writers, in %.0f s: CPU %.3f s, RSS now %.1f MiB\n",
		d->self.age, value_of(&d->self, "CPUTime"), value_of(&d->self, "RSS") / 1024);
	print_control(d, out);
	fprintf(out, "maps: %u with %.1f MiB\n", s->maps, (double)s->map_bytes / 1048576);
	raw__print_counters(d, out);
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
			 "daemon", json__columns(&d->self, false), "counters", raw__counters(d),
			 "families", families_json(c), "network",
			 json__text(kern__family_mode(d->k, FAM_NETWORK)), "perf", perf_json(d));
}
