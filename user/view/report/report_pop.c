/* SPDX-License-Identifier: GPL-2.0-only */
/* How well the ranks worked in parallel: POP's numbers, how they were measured, or why there are
 * none. */
#include <math.h>
#include <string.h>

#include "base/json.h"
#include "base/str.h"
#include "view/report/report_page.h"

#define UNSUITABLE "UNSUITABLE: "

/* Why the last of POP's numbers is not known; NULL: all are. */
static const char *reason_of(const struct facts *f)
{
	const char *why = f->missing[FACT_JOB_parallel_efficiency];

	if (!isnan(facts__job(f, FACT_JOB_parallel_efficiency)))
		return NULL;
	return why && str__starts(why, UNSUITABLE) ? why + strlen(UNSUITABLE) : why;
}

static bool by_samples(const struct facts *f)
{
	return !isnan(facts__job(f, FACT_JOB_pop_samples));
}

json_t *report_pop__json(const struct facts *f)
{
	static const enum fact numbers[] = {FACT_JOB_load_balance,
					    FACT_JOB_communication_efficiency, FACT_JOB_with_cpu,
					    FACT_JOB_parallel_efficiency, FACT_JOB_pop_samples};
	json_t *o = json_object();
	bool is_known = !isnan(facts__job(f, FACT_JOB_load_balance));
	const char *why = reason_of(f);

	json__set(o, "status", json__text(is_known ? "OK" : "UNSUITABLE"));
	json__set(o, "reason", why ? json__text(why) : json_null());
	json__set(o, "measured_by",
		  is_known ? json__text(by_samples(f) ? "samples" : "blocking") : json_null());
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		json__set(o, fact_infos[numbers[i]].name, json__number(facts__job(f, numbers[i])));
	return o;
}

/* CPU time in which they wait would look like work. */
static void print_spinning(const struct facts *f, FILE *out)
{
	if (f->count[SCOPE_TASK] > 1 && facts__job(f, FACT_JOB_has_mpi) == 1 &&
	    isnan(facts__job(f, FACT_JOB_samples)))
		fprintf(out, "  %-14s may wait by spinning: --series all,sample says how long\n",
			"ranks");
}

void report_pop__print(const struct report *r, FILE *out)
{
	double lb = facts__job(r->facts, FACT_JOB_load_balance);
	double comm = facts__job(r->facts, FACT_JOB_communication_efficiency);

	if (isnan(lb)) {
		print_spinning(r->facts, out);
		return;
	}
	fprintf(out, "  %-14s load balance %.2f", "ranks", lb);
	if (!isnan(comm))
		fprintf(out, " x communication %.2f x with a CPU %.2f\n%17s= efficiency %.2f", comm,
			facts__job(r->facts, FACT_JOB_with_cpu), "",
			facts__job(r->facts, FACT_JOB_parallel_efficiency));
	fprintf(out, "%s%s\n", isnan(comm) ? "; useful time is " : ": useful time is ",
		by_samples(r->facts) ? "CPU time outside of MPI" : "all CPU time, as ranks block");
}
