/* SPDX-License-Identifier: GPL-2.0-only */
/* The foot of a report: energy, switches, what is not known, what the profile cost. */
#include <math.h>
#include <string.h>

#include "base/escape.h"
#include "identity/stepname.h"
#include "view/report/report_page.h"
#include "view/report/report_text.h"

static void print_switches(const struct facts *f, FILE *out)
{
	double forced = facts__job(f, FACT_JOB_invol_switches);
	double n = facts__job(f, FACT_JOB_vol_switches) + forced;
	double wall = facts__job(f, FACT_JOB_wall_s);
	report_number often, share;

	if (n > 0 && wall > 0)
		fprintf(out, "Switches     %s, %s of them forced\n",
			report_text__often(n, wall, "", often),
			report_text__share(forced / n, share));
}

static void print_energy(const struct facts *f, FILE *out)
{
	double j = facts__job(f, FACT_JOB_energy_j), least = facts__job(f, FACT_JOB_energy_low_j);
	double like = isnan(least) ? j : least;
	double nodes = facts__job(f, FACT_JOB_node_energy_j);
	report_number all, low, high, idle;

	if (isnan(j) && !isnan(nodes))
		fprintf(out, "Energy       %s of the whole nodes, by Slurm's sensors\n",
			report_text__energy(nodes, nodes, all));
	if (isnan(j))
		return;
	fprintf(out, "Energy       %s (%s to %s), %s of it idle cores\n",
		report_text__energy(j, like, all), report_text__energy(least, like, low),
		report_text__energy(facts__job(f, FACT_JOB_energy_high_j), like, high),
		report_text__energy(facts__job(f, FACT_JOB_energy_static_j), like, idle));
}

/* Facts that a reader misses when they are not there, and what they are called. */
static const struct {
	enum fact fact;
	const char *name;
} missed[] = {
	{FACT_JOB_wait_s, "waiting for CPUs"},
	{FACT_JOB_disk_wait_s, "waiting for disks"},
	{FACT_JOB_instructions, "instructions, IPC"},
	{FACT_JOB_blk_ops, "disk requests"},
	{FACT_JOB_net_tx_mb, "network"},
	{FACT_JOB_energy_j, "energy"},
	{FACT_JOB_samples, "where the code was"},
	{FACT_JOB_waited_own_task_s, "what had the CPU"},
};

static void print_reasons(const struct facts *f, FILE *out)
{
	const char *heading = "Not known";
	char text[512];

	for (size_t i = 0; i < sizeof(missed) / sizeof(*missed); i++) {
		if (!f->missing[missed[i].fact])
			continue;
		snprintf(text, sizeof(text), "%s: %s", missed[i].name, f->missing[missed[i].fact]);
		fprintf(out, "%-13s", heading);
		report_text__paragraph(out, text, 13, 13);
		heading = "";
	}
}

static void print_names(const struct facts *f, FILE *out)
{
	char text[512];
	size_t len = 0;

	for (size_t i = 0; i < sizeof(missed) / sizeof(*missed); i++)
		if (f->missing[missed[i].fact])
			len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s",
						len ? "; " : "", missed[i].name);
	if (!len)
		return;
	snprintf(text + len, sizeof(text) - len, " (--all says why)");
	fputs("Not known    ", out);
	report_text__paragraph(out, text, 13, 13);
}

static void print_slurms(const struct facts *f, FILE *out)
{
	char text[256];

	snprintf(text, sizeof(text),
		 "waiting, IPC, disk requests, network, %senergy: Slurm's own profiles do not have "
		 "them; rules that need them were not judged",
		 isnan(facts__job(f, FACT_JOB_node_energy_j)) ? "" : "the job's part of the ");
	fputs("Not known    ", out);
	report_text__paragraph(out, text, 13, 13);
}

static void print_missing(const struct report *r, FILE *out)
{
	if (r->job->is_slurms)
		print_slurms(r->facts, out);
	else if (r->all)
		print_reasons(r->facts, out);
	else
		print_names(r->facts, out);
}

#define LEAST 0.00001 /* of the CPU time: what is below has no digits */

#define TROUBLES_MAX 3 /* on a page without --all */

static void print_troubles(const struct report *r, FILE *out)
{
	const struct model_job *j = r->job;
	unsigned n = 0;

	for (unsigned i = 0; i < j->nparts; i++) {
		const struct job_part *p = &j->parts[i];

		if (!p->trouble || (n++ >= TROUBLES_MAX && !r->all))
			continue;
		fprintf(out, "%-13s", n > 1 ? "" : "Left out");
		print__escaped(out, j->nodes[p->node].unit.name);
		if (*j->steps[p->step].name) {
			fputs(" step ", out);
			print__escaped(out, stepname__human(j->steps[p->step].name));
		}
		fputs(": ", out);
		print__escaped(out, p->trouble);
		putc('\n', out);
	}
	if (n > TROUBLES_MAX && !r->all)
		fprintf(out, "%-13sand %u more (--all)\n", "", n - TROUBLES_MAX);
}

void report_end__print(const struct report *r, FILE *out)
{
	const struct facts *f = r->facts;
	double probe = facts__job(f, FACT_JOB_probe_s), cpu = facts__job(f, FACT_JOB_cpu_s);

	if (!r->is_run)
		putc('\n', out);
	print_energy(f, out);
	if (r->is_run)
		return;
	print_switches(f, out);
	print_missing(r, out);
	print_troubles(r, out);
	if (probe >= 0 && cpu > 0)
		fprintf(out, "Cost of the profile: %s%.3f %% of the CPU time. ",
			probe / cpu < LEAST ? "below " : "", 100 * fmax(probe / cpu, LEAST));
	fputs(r->all ? "More: --facts, --json\n" : "More: --all, --facts, --json\n", out);
}
