/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Cases of counters, of CPI stacks and of the reduction over nodes. */
#include "tests/analysis/case.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/counters/counters.h"
#include "analysis/reduce.h"

static json_t *mux_scale(const json_t *params, const json_t *inputs)
{
	struct mux_count m;

	mux__scale(case_number(inputs, "delta", NAN), case_number(inputs, "d_enabled", NAN),
		   case_number(inputs, "d_running", NAN), &m);
	return json_pack("{s:o}", "scaled", case_real(m.scaled));
}

static const char *const cpi_kinds[N_CPI_KINDS] = {
	[CPI_INTEL_PRE_ICL] = "intel_pre_icl", [CPI_INTEL_ICL] = "intel_icl",
	[CPI_AMD_ZEN4] = "amd_zen4",	       [CPI_AMD_ZEN5] = "amd_zen5",
	[CPI_AMD_STALLS] = "amd_stalls",       [CPI_ARM_SBSA] = "arm_sbsa",
	[CPI_ARM_STALLS] = "arm_stalls",
};

static const char *const cpi_parts[N_CPI_PARTS] = {
	[CPI_PART_FRONTEND] = "frontend", [CPI_PART_BAD_SPEC] = "bad_spec",
	[CPI_PART_RETIRING] = "retiring", [CPI_PART_BACKEND] = "backend",
	[CPI_PART_SMT] = "smt",		  [CPI_PART_OTHER] = "other",
};

/* What the cases call the counts. */
static const struct {
	const char *name;
	enum cpi_count count;
} cpi_counts[] = {
	{"cyc", CPI_CYCLES},	   {"ins", CPI_INSTRUCTIONS},	{"slots", CPI_WIDTH},
	{"fe", CPI_FRONTEND},	   {"no_ops_fe", CPI_FRONTEND}, {"ss_fe", CPI_FRONTEND},
	{"be", CPI_BACKEND},	   {"be_stalls", CPI_BACKEND},	{"ss_be", CPI_BACKEND},
	{"issued", CPI_ISSUED},	   {"disp", CPI_ISSUED},	{"op_spec", CPI_ISSUED},
	{"retired", CPI_RETIRED},  {"ret_ops", CPI_RETIRED},	{"op_ret", CPI_RETIRED},
	{"retiring", CPI_RETIRED}, {"bad_spec", CPI_BAD_SPEC},	{"recovery", CPI_RECOVERY},
	{"smt", CPI_SMT},	   {"ss", CPI_STALLED},		{"fe_bound", CPI_FRONTEND},
	{"be_bound", CPI_BACKEND},
};

static json_t *part_object(enum cpi_kind kind, const double *v)
{
	json_t *o = json_object();

	for (int i = 0; i < N_CPI_PARTS; i++) {
		if (cpi_kind__has(kind, i))
			json_object_set_new(o, cpi_parts[i], case_real(v[i]));
	}
	return o;
}

static json_t *cpi_stack(const json_t *params, const json_t *inputs)
{
	const char *name = json_string_value(json_object_get(inputs, "kind"));
	const json_t *given = json_object_get(inputs, "counters");
	double counts[N_CPI_COUNTS];
	struct cpi_stack s;
	int kind = 0;

	while (name && kind < N_CPI_KINDS && strcmp(name, cpi_kinds[kind]))
		kind++;
	if (!name || kind == N_CPI_KINDS)
		return NULL;
	for (int i = 0; i < N_CPI_COUNTS; i++)
		counts[i] = NAN;
	for (size_t i = 0; i < sizeof(cpi_counts) / sizeof(cpi_counts[0]); i++) {
		double *count = &counts[cpi_counts[i].count];

		*count = case_number(given, cpi_counts[i].name, *count);
	}
	cpi__stack(kind, counts, &s);
	return json_pack("{s:o, s:o, s:o}", "fractions", part_object(kind, s.fraction), "cpi",
			 case_real(s.cpi), "cpi_stack", part_object(kind, s.stack));
}

/* The bursts of cpi.project as arrays; names has the counters as keys, in the order of columns. */
struct project_input {
	unsigned *cluster, nclusters;
	double *ins, *counts;
	size_t n, ncounters;
	json_t *names;
};

static bool read_project(const json_t *bursts, struct project_input *p)
{
	const char *key;
	json_t *burst, *value;
	size_t i;

	*p = (struct project_input){.n = json_array_size(bursts), .names = json_object()};
	json_array_foreach (bursts, i, burst)
		json_object_foreach (json_object_get(burst, "ctr"), key, value)
			json_object_set_new(p->names, key, json_null());
	p->ncounters = json_object_size(p->names);
	p->cluster = case_alloc(p->n, sizeof(*p->cluster));
	p->ins = case_alloc(p->n, sizeof(*p->ins));
	p->counts = case_alloc(p->n * p->ncounters, sizeof(*p->counts));
	if (!json_is_array(bursts))
		return false;
	json_array_foreach (bursts, i, burst) {
		double cluster = case_number(burst, "cluster", NAN);
		double *row = p->counts + i * p->ncounters;

		if (!(cluster >= 0 && cluster < 1e6))
			return false;
		p->cluster[i] = (unsigned)cluster;
		p->nclusters = p->cluster[i] > p->nclusters ? p->cluster[i] : p->nclusters;
		p->ins[i] = case_number(burst, "ins", NAN);
		json_object_foreach (p->names, key, value)
			*row++ = case_number(json_object_get(burst, "ctr"), key, NAN);
	}
	return true;
}

static json_t *projected_object(const json_t *names, const struct projection *p)
{
	json_t *o = json_object(), *value;
	const char *key;

	json_object_foreach ((json_t *)names, key, value) {
		if (p->n_measured)
			json_object_set_new(o, key,
					    json_pack("{s:I, s:o, s:o, s:o}", "n_measured",
						      (json_int_t)p->n_measured, "mean",
						      case_real(p->mean), "per_ins",
						      case_real(p->per_ins), "projected_total",
						      case_real(p->total)));
		p++;
	}
	return o;
}

static json_t *project(const json_t *params, const json_t *inputs)
{
	struct project_input in;
	struct projected_cluster *clusters;
	struct projection *p;
	json_t *result;

	if (!read_project(json_object_get(inputs, "bursts"), &in))
		return NULL;
	clusters = case_alloc(in.nclusters, sizeof(*clusters));
	p = case_alloc(((size_t)in.nclusters + 1) * in.ncounters, sizeof(*p));
	counters__project(in.cluster, in.ins, in.counts, in.n, in.ncounters, in.nclusters, clusters,
			  p);
	result = json_object();
	for (unsigned c = 0; c <= in.nclusters; c++) {
		char key[16];

		snprintf(key, sizeof(key), "%u", c);
		if (clusters[c].n)
			json_object_set_new(
				result, key,
				json_pack("{s:I, s:o, s:o}", "n", (json_int_t)clusters[c].n, "ins",
					  case_real(clusters[c].ins), "counters",
					  projected_object(in.names, p + c * in.ncounters)));
	}
	return result;
}

static json_t *moments(const json_t *params, const json_t *inputs)
{
	const json_t *groups = json_object_get(inputs, "groups");
	struct moments all = MOMENTS_NONE;

	if (!json_is_array(groups))
		return NULL;
	for (size_t i = 0; i < json_array_size(groups); i++) {
		struct moments group = MOMENTS_NONE;
		size_t n;
		double *v = case_numbers(json_array_get(groups, i), &n);

		if (!v)
			return NULL;
		moments__add_all(&group, v, n);
		moments__merge(&all, &group);
	}
	return json_pack("{s:I, s:o, s:o, s:o, s:o, s:o}", "n", (json_int_t)all.n, "mean",
			 case_real(moments__mean(&all)), "m2", case_real(moments__m2(&all)), "min",
			 case_real(all.min), "max", case_real(all.max), "std",
			 case_real(moments__std(&all)));
}

/* Every node makes its own sample, and these are merged. false: bad input. */
static bool sample_nodes(const json_t *nodes, uint64_t seed, struct bottom_k *all)
{
	for (size_t i = 0; i < json_array_size(nodes); i++) {
		const json_t *pair = json_array_get(nodes, i);
		json_int_t node = json_integer_value(json_array_get(pair, 0));
		json_int_t count = json_integer_value(json_array_get(pair, 1));
		struct bottom_k own;

		if (json_array_size(pair) != 2 || node < 0 || count < 0 ||
		    bottom_k__init(&own, all->k) != ANALYSIS_OK)
			return false;
		for (json_int_t seq = 0; seq < count; seq++)
			bottom_k__add(&own, sample_item__of(seed, (uint64_t)node, (uint64_t)seq));
		bottom_k__merge(all, &own);
	}
	return true;
}

/* The hash of the first burst of the list; null: there is none. */
static json_t *first_key(const json_t *nodes, uint64_t seed)
{
	for (size_t i = 0; i < json_array_size(nodes); i++) {
		const json_t *pair = json_array_get(nodes, i);
		uint64_t node = (uint64_t)json_integer_value(json_array_get(pair, 0));
		char hex[24];

		if (json_integer_value(json_array_get(pair, 1)) < 1)
			continue;
		snprintf(hex, sizeof(hex), "0x%016" PRIx64, sample_item__of(seed, node, 0).key);
		return json_string(hex);
	}
	return json_null();
}

static json_t *sample(const json_t *params, const json_t *inputs)
{
	json_int_t k = json_integer_value(json_object_get(inputs, "k"));
	uint64_t seed = (uint64_t)json_integer_value(json_object_get(inputs, "seed"));
	const json_t *nodes = json_object_get(inputs, "nodes");
	json_t *kept = json_array();
	struct bottom_k b;

	if (!json_is_array(nodes) || k < 0 || bottom_k__init(&b, (size_t)k) != ANALYSIS_OK ||
	    !sample_nodes(nodes, seed, &b))
		return NULL;
	bottom_k__sort(&b);
	for (size_t i = 0; i < b.n; i++)
		json_array_append_new(kept, json_pack("[I, I]", (json_int_t)b.items[i].node,
						      (json_int_t)b.items[i].seq));
	return json_pack("{s:o, s:o}", "kept", kept, "first_key_hex", first_key(nodes, seed));
}

#define FANOUT 32 /* the default */

static json_t *tree(const json_t *params, const json_t *inputs)
{
	json_int_t n = json_integer_value(json_object_get(inputs, "n_nodes"));
	double fanout = case_number(inputs, "fanout", FANOUT);
	struct reduce_tree t;

	if (n < 0 || !(fanout >= 0) || reduce_tree__of(n, (size_t)fanout, &t) != ANALYSIS_OK)
		return NULL;
	return json_pack("{s:I, s:I, s:o, s:I}", "depth", (json_int_t)t.depth, "root_children",
			 (json_int_t)t.root_children, "parent_of_last",
			 t.last_parent == SIZE_MAX ? json_null()
						   : json_integer((json_int_t)t.last_parent),
			 "leaves", (json_int_t)t.leaves);
}

const struct case_entry counter_cases[] = {
	{"mux.scale", mux_scale},
	{"cpi.stack", cpi_stack},
	{"cpi.project", project},
	{"reduce.moments", moments},
	{"reduce.sample", sample},
	{"reduce.tree", tree},
	{NULL, NULL},
};
