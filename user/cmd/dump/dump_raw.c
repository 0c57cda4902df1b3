// SPDX-License-Identifier: GPL-2.0-only
/* Every field of every slot in use, per CPU, as the maps hold them. */
#include <stddef.h>
#include <string.h>

#include "cmd/dump/dump.h"
#include "sample/counters.h"

struct field {
	const char *name;
	size_t offset;
	const char *meaning; /* of the collector's counters; NULL: no loss, not printed as text */
};

/* clang-format off */
#define F(type, f) {#f, offsetof(struct type, f), NULL}
static const struct field sched_fields[] = {
	F(jp_sched, runtime_ns), F(jp_sched, run_delay_ns), F(jp_sched, nvcsw),
	F(jp_sched, nivcsw), F(jp_sched, migrations), F(jp_sched, iowait_ns),
	F(jp_sched, tasks_out), F(jp_sched, harvests),
};

static const struct field blk_fields[] = {
	F(jp_blk, reads), F(jp_blk, writes), F(jp_blk, read_bytes), F(jp_blk, write_bytes),
	F(jp_blk, read_ns), F(jp_blk, write_ns), F(jp_blk, untimed), F(jp_blk, others),
};

#define BY(name, culprit) {name, offsetof(struct jp_culprits, ns[JP_BY_##culprit]), NULL}
static const struct field culprits_fields[] = {
	BY("slot_ns", SLOT), BY("task_ns", TASK), BY("step_ns", STEP), BY("job_ns", JOB),
	BY("others_ns", OTHERS), BY("system_ns", SYSTEM), BY("idle_ns", IDLE),
	BY("quota_ns", QUOTA),
};

static const struct field net_fields[] = {
	F(jp_net, rx_bytes), F(jp_net, tx_bytes), F(jp_net, rx_ops), F(jp_net, tx_ops),
	F(jp_net, loop_rx_bytes), F(jp_net, loop_tx_bytes), F(jp_net, loop_rx_ops),
	F(jp_net, loop_tx_ops), F(jp_net, retrans),
};

static const struct field burst_fields[] = {
	F(jp_burst_use, burst_ns), F(jp_burst_use, gap_ns), F(jp_burst_use, lost),
};

static const struct field files_fields[] = {
	F(jp_files, opens), F(jp_files, closes),
};

/* The event's number is part of the name: the control page has their columns. */
#define EV(type, i) \
	{"counter" #i, offsetof(struct type, ev[i].counter), NULL}, \
	{"running" #i, offsetof(struct type, ev[i].running), NULL}
#define EVENTS(type) \
	EV(type, 0), EV(type, 1), EV(type, 2), EV(type, 3), \
	EV(type, 4), EV(type, 5), EV(type, 6), EV(type, 7), EV(type, 8), EV(type, 9), \
	EV(type, 10), EV(type, 11), EV(type, 12), EV(type, 13), EV(type, 14), EV(type, 15), \
	EV(type, 16), EV(type, 17), EV(type, 18), EV(type, 19), EV(type, 20), EV(type, 21), \
	EV(type, 22), EV(type, 23)

static const struct field pmu_fields[] = {
	F(jp_pmu, enabled), F(jp_pmu, reads), EVENTS(jp_pmu),
};

#define WAITED(i) {"waited" #i, offsetof(struct jp_pmu_cpu, waited[i]), NULL}
#define CPU_EV(i) \
	{"given" #i, offsetof(struct jp_pmu_cpu, given[i]), NULL}, \
	{"idle" #i, offsetof(struct jp_pmu_cpu, idle[i]), NULL}

static const struct field pmu_cpu_fields[] = {
	F(jp_pmu_cpu, enabled), F(jp_pmu_cpu, reads), F(jp_pmu_cpu, fails),
	EVENTS(jp_pmu_cpu), WAITED(0), WAITED(1), WAITED(2), WAITED(3), WAITED(4), WAITED(5),
	WAITED(6), WAITED(7), WAITED(8), WAITED(9), WAITED(10), WAITED(11), WAITED(12), WAITED(13),
	WAITED(14), WAITED(15), WAITED(16), WAITED(17), WAITED(18), WAITED(19), WAITED(20),
	WAITED(21), WAITED(22), WAITED(23),
	CPU_EV(0), CPU_EV(1), CPU_EV(2), CPU_EV(3), CPU_EV(4), CPU_EV(5), CPU_EV(6), CPU_EV(7),
};
_Static_assert(JP_PMU_EVENTS == 24 && JP_PMU_AT_ONCE == 8, "EVENTS");

#define LOST(name, kind) {name, offsetof(struct jp_acct, lost[JP_LOST_##kind]), NULL}
static const struct field acct_fields[] = {
	F(jp_acct, utime_ns), F(jp_acct, stime_ns), F(jp_acct, min_flt), F(jp_acct, maj_flt),
	F(jp_acct, rchar), F(jp_acct, wchar), F(jp_acct, syscr), F(jp_acct, syscw),
	F(jp_acct, read_bytes), F(jp_acct, write_bytes), F(jp_acct, forks), F(jp_acct, exits),
	F(jp_acct, tasks_in), F(jp_acct, life_events), F(jp_acct, commands), F(jp_acct, exit_maxrss),
	F(jp_acct, left_seq), F(jp_acct, left_acked), F(jp_acct, left.peak), F(jp_acct, left.anon), F(jp_acct, left.file),
	F(jp_acct, left.shmem), F(jp_acct, left.swap), F(jp_acct, left.vm),
	F(jp_acct, left.hugetlb), F(jp_acct, left.threads), F(jp_acct, other.processes),
	F(jp_acct, other.runtime_ns), F(jp_acct, other.run_delay_ns),
	F(jp_acct, other.rchar), F(jp_acct, other.wchar), F(jp_acct, other.peak),
	LOST("lost_tasks", TASKS), LOST("lost_ranks", RANKS), LOST("lost_names", NAMES),
	LOST("lost_stacks", STACKS), LOST("lost_copies", COPIES),
	LOST("lost_samples", SAMPLES), LOST("lost_points", POINTS),
	F(jp_acct, other.first_ns), F(jp_acct, other.last_ns),
};

#define GAP(name, cause) {name, offsetof(struct jp_wait, gap_ns[JP_CAUSE_##cause]), NULL}
static const struct field wait_fields[] = {
	F(jp_wait, on_ns), F(jp_wait, stolen_ns), F(jp_wait, queued_ns),
	GAP("throttled_ns", THROTTLED), GAP("disk_ns", DISK), GAP("fault_ns", FAULT),
	GAP("net_fs_ns", NET_FS), GAP("kernel_ns", KERNEL), GAP("lock_ns", LOCK),
	GAP("pipe_ns", PIPE), GAP("socket_ns", SOCKET), GAP("poll_ns", POLL),
	GAP("sleep_ns", SLEEP), GAP("child_ns", CHILD), GAP("signal_ns", SIGNAL),
	GAP("other_ns", OTHER),
};

#define MODULE_OF(name, kind) {name, offsetof(struct jp_samples, module[JP_MODULE_##kind]), NULL}
static const struct field sample_fields[] = {
	MODULE_OF("own", OWN), MODULE_OF("mpi", MPI), MODULE_OF("gpu", GPU), MODULE_OF("blas", BLAS),
	MODULE_OF("openmp", OPENMP), MODULE_OF("interpreter", INTERPRETER), MODULE_OF("libc", LIBC),
	MODULE_OF("library", LIBRARY), MODULE_OF("made", MADE), MODULE_OF("kernel", KERNEL),
	MODULE_OF("unknown", UNKNOWN), F(jp_samples, for_mpi), F(jp_samples, stack_samples),
	F(jp_samples, stack_ns),
};

#define STAT(f, meaning) {#f, offsetof(struct jp_stats, f), meaning}
static const struct field stat_fields[] = {
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

#define N(a) (sizeof(a) / sizeof((a)[0]))

static uint64_t field_value(const void *base, const struct field *f)
{
	uint64_t v;

	memcpy(&v, (const char *)base + f->offset, sizeof(v));
	return v;
}

/* Fields that are not zero. */
static json_t *fields_json(const void *base, const struct field *f, size_t n)
{
	json_t *obj = json_object();

	for (size_t i = 0; i < n; i++)
		if (field_value(base, &f[i]))
			json_object_set_new(obj, f[i].name,
					    json_integer((json_int_t)field_value(base, &f[i])));
	return obj;
}

static void print_fields(FILE *out, const char *label, const void *base, const struct field *f,
			 size_t n)
{
	unsigned printed = 0;

	for (size_t i = 0; i < n; i++) {
		if (!field_value(base, &f[i]))
			continue;
		if (!printed++)
			fprintf(out, "  %s:", label);
		fprintf(out, " %s=%llu", f[i].name, (unsigned long long)field_value(base, &f[i]));
	}
	if (printed)
		putc('\n', out);
}

static const char *kind_name(uint32_t kind)
{
	static const char *const names[] = {
		[JP_KIND_NONE] = "none",   [JP_KIND_PATH] = "path",	  [JP_KIND_STEP] = "step",
		[JP_KIND_TASK] = "task",   [JP_KIND_LINEAGE] = "lineage", [JP_KIND_GROUP] = "group",
		[JP_KIND_STEPD] = "stepd", [JP_KIND_RANK] = "rank",
	};

	return kind < N(names) ? names[kind] : "?";
}

static const char *gtid_source(uint32_t source)
{
	static const char *const names[] = {
		[JP_GTID_UNKNOWN] = "unknown", [JP_GTID_PATH] = "path",
		[JP_GTID_ENVIRON] = "environ", [JP_GTID_EXEC] = "exec",
		[JP_GTID_SLURM] = "Slurm",
	};

	return source < N(names) ? names[source] : "?";
}

static const struct {
	uint32_t bit;
	const char *name;
} flags[] = {
	{JP_SLOT_F_EXITED, "exited"},
	{JP_SLOT_F_BASE, "base"},
	{JP_SLOT_F_ENV, "env"},
	{JP_SLOT_F_DONE, "done"},
};

static struct jp_slot copy_slot(const struct dump *d, uint32_t slot)
{
	struct jp_slot s = *kern__slot(d->k, slot);

	s.path[JP_PATH_LEN - 1] = '\0';
	return s;
}

static json_t *slot_info(uint32_t slot, const struct jp_slot *s)
{
	json_t *names = json_array();

	for (size_t i = 0; i < N(flags); i++)
		if (s->flags & flags[i].bit)
			json_array_append_new(names, json_string(flags[i].name));
	return json_pack(
		"{s:I, s:s, s:I, s:s, s:I, s:I, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I,"
		" s:I, s:o, s:o}",
		"slot", (json_int_t)slot, "state", dump__state(s), "gen", (json_int_t)s->gen,
		"kind", kind_name(s->kind), "step", (json_int_t)s->step, "gtid",
		(json_int_t)s->gtid, "gtid_source", gtid_source(s->gtid_source), "hier",
		(json_int_t)(int32_t)s->hier, "cgroup_id", (json_int_t)s->cgroup_id, "root_pid",
		(json_int_t)s->root_pid, "uid", (json_int_t)s->uid, "start_ns",
		(json_int_t)s->start_ns, "end_ns", (json_int_t)s->end_ns, "left_ns",
		(json_int_t)s->left_ns, "away_ns", (json_int_t)s->away_ns, "exit_code",
		(json_int_t)s->exit_code, "oom", (json_int_t)s->oom, "flags", names, "path",
		json__text(s->path));
}

/* A slot's element of each map on one CPU; NULL for families that are off. */
#define ELEMENT(map)                                                                    \
	static const void *get_##map(const struct kern *k, unsigned cpu, uint32_t slot) \
	{                                                                               \
		return kern__##map(k, cpu, slot);                                       \
	}
ELEMENT(sched)
ELEMENT(blk)
ELEMENT(net)
ELEMENT(culprits)
ELEMENT(files)
ELEMENT(burst_use)
ELEMENT(pmu)

/* The counters of the CPU as they were read last, for the slot they count for since. */
static const void *get_pmu_cpu(const struct kern *k, unsigned cpu, uint32_t slot)
{
	const struct jp_pmu_cpu *c = kern__pmu_cpu(k, cpu);

	return c && c->slot == slot ? c : NULL;
}

static const struct {
	const char *name; /* NULL: the CPU's own */
	const void *(*get)(const struct kern *k, unsigned cpu, uint32_t slot);
	const struct field *fields;
	size_t n;
} elements[] = {
	{NULL, get_sched, sched_fields, N(sched_fields)},
	{"blk", get_blk, blk_fields, N(blk_fields)},
	{"net", get_net, net_fields, N(net_fields)},
	{"culprits", get_culprits, culprits_fields, N(culprits_fields)},
	{"files", get_files, files_fields, N(files_fields)},
	{"bursts", get_burst_use, burst_fields, N(burst_fields)},
	{"pmu", get_pmu, pmu_fields, N(pmu_fields)},
	{"pmu_cpu", get_pmu_cpu, pmu_cpu_fields, N(pmu_cpu_fields)},
};

/* Histograms of a slot: of which the cells from first on, under their columns' letter. */
static const struct {
	const char *name;
	enum hist hist;
	unsigned first;
	char letter;
} hists[] = {
	{"latency", HIST_RUN, 0, 'B'},
	{"blk_latency", HIST_BLK, 0, 'B'},
	{"blk_latency", HIST_BLK, JP_LAT_BUCKETS, 'W'},
	{"burst_length", HIST_BURST, 0, 'B'},
	{"gap_length", HIST_BURST, JP_LAT_BUCKETS, 'B'},
};

/* Takes value, unless it is empty. */
static void set_filled(json_t *obj, const char *key, json_t *value)
{
	if (json_object_size(value))
		json_object_set_new(obj, key, value);
	else
		json_decref(value);
}

static json_t *cpu_json(const struct dump *d, unsigned cpu, uint32_t slot)
{
	json_t *obj = json_object();

	for (size_t i = 0; i < N(elements); i++) {
		const void *e = elements[i].get(d->k, cpu, slot);
		json_t *f = e ? fields_json(e, elements[i].fields, elements[i].n) : NULL;

		if (f && !elements[i].name) {
			json_object_update(obj, f);
			json_decref(f);
		} else if (f) {
			set_filled(obj, elements[i].name, f);
		}
	}
	return obj;
}

/* Histograms of one name share an object. */
static void add_hist(json_t *obj, const struct dump *d, uint32_t slot, size_t h)
{
	json_t *cells = json_object_get(obj, hists[h].name);
	uint64_t sum[HIST_CELLS];
	char key[16];

	if (hists[h].hist == HIST_BLK && !kern__blk_lat(d->k, slot))
		return;
	if (!cells) {
		cells = json_object();
		json_object_set_new(obj, hists[h].name, cells);
	}
	counters__hist(d->k, hists[h].hist, slot, sum);
	for (unsigned b = 0; b < JP_LAT_BUCKETS; b++) {
		uint64_t n = sum[hists[h].first + b];

		snprintf(key, sizeof(key), "%c%u", hists[h].letter, b);
		if (n)
			json_object_set_new(cells, key, json_integer((json_int_t)n));
	}
}

static json_t *slot_json(const struct dump *d, uint32_t slot, const struct jp_slot *s)
{
	json_t *obj = slot_info(slot, s), *cpus = json_object();
	char key[16];

	for (unsigned cpu = 0; cpu < kern__ncpus(d->k); cpu++) {
		snprintf(key, sizeof(key), "%u", cpu);
		set_filled(cpus, key, cpu_json(d, cpu, slot));
	}
	json_object_set_new(obj, "cpus", cpus);
	json_object_set_new(obj, "acct",
			    fields_json(kern__acct(d->k, slot), acct_fields, N(acct_fields)));
	if (kern__wait(d->k, slot))
		set_filled(obj, "wait",
			   fields_json(kern__wait(d->k, slot), wait_fields, N(wait_fields)));
	if (kern__samples(d->k, slot))
		set_filled(obj, "samples",
			   fields_json(kern__samples(d->k, slot), sample_fields, N(sample_fields)));
	for (size_t h = 0; h < N(hists); h++)
		add_hist(obj, d, slot, h);
	return obj;
}

json_t *raw__json(const struct dump *d)
{
	json_t *all = json_array();

	for (uint32_t i = 0; i < kern__nslots(d->k); i++) {
		struct jp_slot s = copy_slot(d, i);

		if (s.state != JP_SLOT_FREE)
			json_array_append_new(all, slot_json(d, i, &s));
	}
	return all;
}

static void print_slot(const struct dump *d, uint32_t slot, const struct jp_slot *s, FILE *out)
{
	fprintf(out, "slot %u: state %s, gen %u, kind %s, step %u, gtid ", slot, dump__state(s),
		s->gen, kind_name(s->kind), s->step);
	if (s->gtid < 0)
		fprintf(out, "none");
	else
		fprintf(out, "%d (%s)", s->gtid, gtid_source(s->gtid_source));
	if (s->kind != JP_KIND_NONE)
		fprintf(out, ", cgroup %d:%llu, pid %u, uid %u, start %.3f", (int)s->hier,
			(unsigned long long)s->cgroup_id, s->root_pid, s->uid,
			(double)s->start_ns / 1e9);
	if (s->end_ns)
		fprintf(out, ", end %.3f", (double)s->end_ns / 1e9);
	if (s->flags & JP_SLOT_F_EXITED)
		fprintf(out, ", exit code 0x%x", (unsigned)s->exit_code);
	if (s->oom)
		fprintf(out, ", oom %u", s->oom);
	for (size_t i = 0; i < N(flags); i++)
		if (s->flags & flags[i].bit)
			fprintf(out, ", %s", flags[i].name);
	if (s->path[0]) {
		fprintf(out, "\n  path ");
		print__escaped(out, s->path);
	}
	putc('\n', out);
}

static void print_hist(const struct dump *d, uint32_t slot, size_t h, FILE *out)
{
	uint64_t sum[HIST_CELLS];
	unsigned printed = 0;

	counters__hist(d->k, hists[h].hist, slot, sum);
	for (unsigned b = 0; b < JP_LAT_BUCKETS; b++) {
		uint64_t n = sum[hists[h].first + b];

		if (!n)
			continue;
		if (!printed++)
			fprintf(out, "  %s:", hists[h].name);
		fprintf(out, " %c%u=%llu", hists[h].letter, b, (unsigned long long)n);
	}
	if (printed)
		putc('\n', out);
}

static void print_cpu(const struct dump *d, unsigned cpu, uint32_t slot, FILE *out)
{
	char label[48];

	for (size_t i = 0; i < N(elements); i++) {
		const void *e = elements[i].get(d->k, cpu, slot);

		snprintf(label, sizeof(label), "cpu %u%s%s", cpu, elements[i].name ? " " : "",
			 elements[i].name ? elements[i].name : "");
		if (e)
			print_fields(out, label, e, elements[i].fields, elements[i].n);
	}
}

void raw__text(const struct dump *d, FILE *out)
{
	for (uint32_t i = 0; i < kern__nslots(d->k); i++) {
		struct jp_slot s = copy_slot(d, i);

		if (s.state == JP_SLOT_FREE)
			continue;
		print_slot(d, i, &s, out);
		for (unsigned cpu = 0; cpu < kern__ncpus(d->k); cpu++)
			print_cpu(d, cpu, i, out);
		print_fields(out, "acct", kern__acct(d->k, i), acct_fields, N(acct_fields));
		if (kern__wait(d->k, i))
			print_fields(out, "wait", kern__wait(d->k, i), wait_fields, N(wait_fields));
		if (kern__samples(d->k, i))
			print_fields(out, "samples", kern__samples(d->k, i), sample_fields,
				     N(sample_fields));
		for (size_t h = 0; h < N(hists); h++)
			print_hist(d, i, h, out);
	}
	raw__print_counters(d, out);
}

json_t *raw__counters(const struct dump *d)
{
	const struct jp_control *c = kern__control(d->k);
	json_t *obj = json_object();

	for (size_t i = 0; i < N(stat_fields); i++)
		json_object_set_new(
			obj, stat_fields[i].name,
			json_integer((json_int_t)field_value(&c->stats, &stat_fields[i])));
	return obj;
}

void raw__print_counters(const struct dump *d, FILE *out)
{
	const struct jp_control *c = kern__control(d->k);

	for (size_t i = 0; i < N(stat_fields); i++)
		if (stat_fields[i].meaning && field_value(&c->stats, &stat_fields[i]))
			fprintf(out, "%s: %llu (%s)\n", stat_fields[i].name,
				(unsigned long long)field_value(&c->stats, &stat_fields[i]),
				stat_fields[i].meaning);
}
