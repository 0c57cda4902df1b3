// SPDX-License-Identifier: GPL-2.0-only
/* The maps as they are: every slot in use, every CPU. */
#include <stddef.h>
#include <string.h>

#include "cmd/jobprof-dump.h"
#include "fuse/counters.h"

struct field {
	const char *name;
	size_t offset;
	const char *meaning; /* of the collector's counters; NULL: nothing to be told */
};

#define SCHED(f)                                       \
	{                                              \
#f, offsetof(struct jp_sched, f), NULL \
	}
static const struct field sched_fields[] = {
	SCHED(runtime_ns), SCHED(run_delay_ns), SCHED(nvcsw),	  SCHED(nivcsw),
	SCHED(migrations), SCHED(iowait_ns),	SCHED(tasks_out), SCHED(harvests),
};

#define ACCT(f)                                       \
	{                                             \
#f, offsetof(struct jp_acct, f), NULL \
	}
static const struct field acct_fields[] = {
	ACCT(utime_ns), ACCT(stime_ns), ACCT(min_flt),	ACCT(maj_flt),	   ACCT(rchar),
	ACCT(wchar),	ACCT(syscr),	ACCT(syscw),	ACCT(read_bytes),  ACCT(write_bytes),
	ACCT(forks),	ACCT(exits),	ACCT(tasks_in), ACCT(life_events), ACCT(exit_maxrss),
};

#define STAT(f, meaning)                                  \
	{                                                 \
#f, offsetof(struct jp_stats, f), meaning \
	}
static const struct field stat_fields[] = {
	STAT(rb_lost, "events found the ring full; jobprofd looked at the cgroups instead"),
	STAT(slots_exhausted,
	     "steps or tasks found no slot and count as unattributed: raise MaxSlots"),
	STAT(cgroups_full, "cgroups did not fit the table of cgroups; their tasks are not counted"),
	STAT(storage_fail, "tasks got no storage in the kernel and were not counted"),
	STAT(env_long, "environments were too long to find SLURM_PROCID in"),
	STAT(path_long, "cgroup paths were too long to keep"),
	/* no loss: the record comes again with the next read */
	STAT(iter_fail, NULL),
	STAT(late_tasks, "tasks were already running when they were first seen"),
};

#define N(a) (sizeof(a) / sizeof((a)[0]))

static uint64_t get(const void *base, const struct field *f)
{
	uint64_t v;

	memcpy(&v, (const char *)base + f->offset, sizeof(v));
	return v;
}

/* Fields that are not zero. */
static json_t *fields(const void *base, const struct field *f, size_t n)
{
	json_t *obj = json_object();

	for (size_t i = 0; i < n; i++)
		if (get(base, &f[i]))
			json_object_set_new(obj, f[i].name,
					    json_integer((json_int_t)get(base, &f[i])));
	return obj;
}

static void print_fields(FILE *out, const char *label, const void *base, const struct field *f,
			 size_t n)
{
	unsigned printed = 0;

	for (size_t i = 0; i < n; i++) {
		if (!get(base, &f[i]))
			continue;
		if (!printed++)
			fprintf(out, "  %s:", label);
		fprintf(out, " %s=%llu", f[i].name, (unsigned long long)get(base, &f[i]));
	}
	if (printed)
		putc('\n', out);
}

static const char *kind_name(uint32_t kind)
{
	static const char *const names[] = {
		[JP_KIND_NONE] = "none",   [JP_KIND_PATH] = "path",	  [JP_KIND_STEP] = "step",
		[JP_KIND_TASK] = "task",   [JP_KIND_LINEAGE] = "lineage", [JP_KIND_GROUP] = "group",
		[JP_KIND_STEPD] = "stepd",
	};

	return kind < N(names) ? names[kind] : "?";
}

static const char *gtid_source(uint32_t source)
{
	static const char *const names[] = {
		[JP_GTID_UNKNOWN] = "unknown",
		[JP_GTID_PATH] = "path",
		[JP_GTID_ENVIRON] = "environ",
		[JP_GTID_EXEC] = "exec",
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
		"{s:I, s:s, s:I, s:s, s:I, s:I, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I,"
		" s:o, s:o}",
		"slot", (json_int_t)slot, "state", dump__state(s), "gen", (json_int_t)s->gen,
		"kind", kind_name(s->kind), "step", (json_int_t)s->step, "gtid",
		(json_int_t)s->gtid, "gtid_source", gtid_source(s->gtid_source), "hier",
		(json_int_t)(int32_t)s->hier, "cgroup_id", (json_int_t)s->cgroup_id, "root_pid",
		(json_int_t)s->root_pid, "uid", (json_int_t)s->uid, "start_ns",
		(json_int_t)s->start_ns, "end_ns", (json_int_t)s->end_ns, "exit_code",
		(json_int_t)s->exit_code, "oom", (json_int_t)s->oom, "flags", names, "path",
		json__text(s->path));
}

static json_t *slot_json(const struct dump *d, uint32_t slot, const struct jp_slot *s)
{
	json_t *obj = slot_info(slot, s), *cpus = json_object(), *lat = json_object();
	uint64_t sum[HIST_CELLS];
	char key[16];

	for (unsigned cpu = 0; cpu < kern__ncpus(d->k); cpu++) {
		json_t *c = fields(kern__sched(d->k, cpu, slot), sched_fields, N(sched_fields));

		snprintf(key, sizeof(key), "%u", cpu);
		if (json_object_size(c))
			json_object_set_new(cpus, key, c);
		else
			json_decref(c);
	}
	counters__hist(d->k, HIST_RUN, slot, sum);
	for (unsigned b = 0; b < JP_LAT_BUCKETS; b++) {
		snprintf(key, sizeof(key), "B%u", b);
		if (sum[b])
			json_object_set_new(lat, key, json_integer((json_int_t)sum[b]));
	}
	json_object_set_new(obj, "cpus", cpus);
	json_object_set_new(obj, "acct",
			    fields(kern__acct(d->k, slot), acct_fields, N(acct_fields)));
	json_object_set_new(obj, "latency", lat);
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

static void print_latency(const struct dump *d, uint32_t slot, FILE *out)
{
	unsigned printed = 0;
	uint64_t sum[HIST_CELLS];

	counters__hist(d->k, HIST_RUN, slot, sum);
	for (unsigned b = 0; b < JP_LAT_BUCKETS; b++) {
		if (!sum[b])
			continue;
		fprintf(out, "%s B%u=%llu", printed++ ? "" : "  latency:", b,
			(unsigned long long)sum[b]);
	}
	if (printed)
		putc('\n', out);
}

void raw__text(const struct dump *d, FILE *out)
{
	char label[24];

	for (uint32_t i = 0; i < kern__nslots(d->k); i++) {
		struct jp_slot s = copy_slot(d, i);

		if (s.state == JP_SLOT_FREE)
			continue;
		print_slot(d, i, &s, out);
		for (unsigned cpu = 0; cpu < kern__ncpus(d->k); cpu++) {
			snprintf(label, sizeof(label), "cpu %u", cpu);
			print_fields(out, label, kern__sched(d->k, cpu, i), sched_fields,
				     N(sched_fields));
		}
		print_fields(out, "acct", kern__acct(d->k, i), acct_fields, N(acct_fields));
		print_latency(d, i, out);
	}
	raw__print_counters(d, out);
}

json_t *raw__counters(const struct dump *d)
{
	const struct jp_control *c = kern__control(d->k);
	json_t *obj = json_object();

	for (size_t i = 0; i < N(stat_fields); i++)
		json_object_set_new(obj, stat_fields[i].name,
				    json_integer((json_int_t)get(&c->stats, &stat_fields[i])));
	return obj;
}

void raw__print_counters(const struct dump *d, FILE *out)
{
	const struct jp_control *c = kern__control(d->k);

	for (size_t i = 0; i < N(stat_fields); i++)
		if (stat_fields[i].meaning && get(&c->stats, &stat_fields[i]))
			fprintf(out, "%s: %llu %s\n", stat_fields[i].name,
				(unsigned long long)get(&c->stats, &stat_fields[i]),
				stat_fields[i].meaning);
}
