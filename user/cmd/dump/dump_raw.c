// SPDX-License-Identifier: GPL-2.0-or-later
/* Prints every slot in use as it is in the maps. The fields are found by the types of the maps'
 * elements (BTF), which the kernel has for each map. */
#include <string.h>

#include <bpf/btf.h>

#include "cmd/dump/dump.h"

/* Names of numbers, in the order of their enum: of the values of a field, or of an array's indexes.
 */
static const struct {
	const char *field;
	const char *names[16];
} named[] = {
	{"kind", {"none", "path", "step", "task", "lineage", "group", "stepd", "rank"}},
	{"gtid_source", {"unknown", "path", "environ", "exec", "Slurm"}},
	{"ns", {"slot", "task", "own_step", "own_job", "other_jobs", "system", "idle", "quota"}},
	{"blocked_ns",
	 {"throttled", "disk", "fault", "net_fs", "kernel", "futex", "pipe", "socket", "poll",
	  "sleep", "child", "signal", "other"}},
	{"lost", {"tasks", "ranks", "names", "stacks", "copies", "samples", "points"}},
	{"module",
	 {"own", "mpi", "libgpu", "blas", "openmp", "interpreter", "libc", "library", "generated",
	  "kernel", "unknown"}},
};
_Static_assert(JP_KIND_RANK == 7 && JP_GTID_SLURM == 4 && JP_CULPRITS == 8 && JP_CAUSES == 13 &&
		       JP_LOSSES == 7 && JP_MODULES == 11,
	       "named");

static const char *name_of(const char *field, uint64_t number)
{
	for (size_t i = 0; i < sizeof(named) / sizeof(named[0]); i++)
		if (!strcmp(named[i].field, field) && number < 16)
			return named[i].names[number];
	return NULL;
}

/* Where the fields of an element go. */
struct fields {
	const struct btf *btf;
	json_t *obj;
	bool zeros; /* too */
};

static json_int_t integer_at(const struct btf_type *t, const void *at)
{
	switch (t->size) {
	case 1:
		return *(const uint8_t *)at;
	case 2:
		return *(const uint16_t *)at;
	case 4:
		if (btf_int_encoding(t) & BTF_INT_SIGNED)
			return *(const int32_t *)at;
		return *(const uint32_t *)at;
	default:
		return *(const int64_t *)at;
	}
}

static void add_integer(const struct fields *f, const char *path, json_int_t v)
{
	const char *name = name_of(path, (uint64_t)v);

	if (name)
		json__set(f->obj, path, json_string(name));
	else if (v || f->zeros)
		json__set(f->obj, path, json_integer(v));
}

/* Prints a number, a text, or all that is in an array or struct, under names with dots. */
static void add_field(const struct fields *f, uint32_t type, const char *path, const void *at)
{
	const struct btf_type *t =
		btf__type_by_id(f->btf, (uint32_t)btf__resolve_type(f->btf, type));
	char below[128], text[256], index[16];

	if (btf_is_int(t))
		add_integer(f, path, integer_at(t, at));
	for (int i = 0; btf_is_struct(t) && i < btf_vlen(t); i++) {
		const struct btf_member *m = btf_members(t) + i;
		const char *name = btf__str_by_offset(f->btf, m->name_off);

		snprintf(below, sizeof(below), "%s%s%s", path, *path ? "." : "", name);
		if (strncmp(name, "pad", 3) != 0)
			add_field(f, m->type, below, (const char *)at + m->offset / 8);
	}
	for (uint32_t i = 0; btf_is_array(t) && i < btf_array(t)->nelems; i++) {
		size_t size = (size_t)btf__resolve_size(f->btf, btf_array(t)->type);
		const char *name = name_of(path, i);

		if (size == 1) {
			snprintf(text, sizeof(text), "%.*s", (int)btf_array(t)->nelems,
				 (const char *)at);
			json__set(f->obj, path, json__text(text));
			break;
		}
		snprintf(index, sizeof(index), "%u", i);
		snprintf(below, sizeof(below), "%s.%s", path, name ? name : index);
		add_field(f, btf_array(t)->type, below, (const char *)at + i * size);
	}
}

static json_t *fields_json(const struct btf *btf, const char *type, const void *at, bool zeros)
{
	struct fields f = {btf, json_object(), zeros};
	int id = btf__find_by_name_kind(btf, type, BTF_KIND_STRUCT);

	if (id > 0)
		add_field(&f, (uint32_t)id, "", at);
	return f.obj;
}

struct slot {
	const struct btf *btf;
	json_t *obj, *cpus;
};

/* Adds the fields of an element that are not zero; those of a CPU under its number. */
static void add_element(const char *map, int cpu, const void *at, void *ctx)
{
	const struct slot *s = ctx;
	json_t *fields = fields_json(s->btf, map, at, false), *to = s->obj;
	char key[16];

	if (json_object_size(fields) && cpu >= 0) {
		snprintf(key, sizeof(key), "%d", cpu);
		to = json_object_get(s->cpus, key);
		if (!to)
			json__set(s->cpus, key, to = json_object());
	}
	if (json_object_size(fields))
		json__set(to, map + strlen("jp_"), json_incref(fields));
	json_decref(fields);
}

static json_t *slot_json(const struct dump *d, uint32_t slot)
{
	struct jp_slot info = *kern__slot(d->k, slot);
	struct slot s = {d->types, json_pack("{s:I}", "slot", (json_int_t)slot), json_object()};
	json_t *fields = fields_json(d->types, "jp_slot", &info, true);

	json__set(fields, "state", json_string(dump__state(&info)));
	json_object_update(s.obj, fields);
	json_decref(fields);
	json__set(s.obj, "cpus", s.cpus);
	kern__elements(d->k, slot, add_element, &s);
	/* the counters of the CPU as they were read last, for the slot they count for since */
	for (unsigned cpu = 0; cpu < kern__ncpus(d->k); cpu++) {
		const struct jp_pmu_cpu *c = kern__pmu_cpu(d->k, cpu);

		if (c && c->slot == slot)
			add_element("jp_pmu_cpu", (int)cpu, c, &s);
	}
	return s.obj;
}

json_t *raw__json(const struct dump *d)
{
	json_t *all = json_array();

	for (uint32_t i = 0; i < kern__nslots(d->k); i++)
		if (kern__slot(d->k, i)->state != JP_SLOT_FREE)
			json_array_append_new(all, slot_json(d, i));
	return all;
}

/* What in obj is no object itself. */
static void print_values(FILE *out, const char *label, json_t *obj)
{
	const char *key;
	json_t *v;

	fprintf(out, "%s:", label);
	json_object_foreach (obj, key, v) {
		if (json_is_object(v))
			continue;
		fprintf(out, " %s=", key);
		json__dump(v, out, JSON_ENCODE_ANY);
	}
	putc('\n', out);
}

void raw__text(const struct dump *d, FILE *out)
{
	json_t *all = raw__json(d), *slot, *cpu, *v;
	const char *number, *key;
	char label[64];
	size_t i;

	json_array_foreach (all, i, slot) {
		snprintf(label, sizeof(label), "slot %d",
			 (int)json_number_value(json_object_get(slot, "slot")));
		print_values(out, label, slot);
		json_object_foreach (json_object_get(slot, "cpus"), number, cpu) {
			json_object_foreach (cpu, key, v) {
				snprintf(label, sizeof(label), "  cpu %s %s", number, key);
				print_values(out, label, v);
			}
		}
		json_object_foreach (slot, key, v) {
			snprintf(label, sizeof(label), "  %s", key);
			if (json_is_object(v) && strcmp(key, "cpus") != 0)
				print_values(out, label, v);
		}
	}
	json_decref(all);
}
