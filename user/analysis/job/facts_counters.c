/* SPDX-License-Identifier: GPL-2.0-only */
/* Facts of hardware counters: the cycles per instruction, and what they were used for. */
#include <math.h>
#include <string.h>

#include "analysis/counters/counter_metrics.h"
#include "analysis/job/facts_fill.h"

/* The events that the stack needs, as quantities and by the columns that counter_metrics knows. */
static const struct {
	const char *column;
	enum quantity q;
} events[] = {
	{"Cycles", Q_CYCLES},
	{"Instructions", Q_INSTRUCTIONS},
	{"SlotsFrontend", Q_SLOTS_FRONTEND},
	{"SlotsBackend", Q_SLOTS_BACKEND},
	{"SlotsSmt", Q_SLOTS_SMT},
	{"SlotsStalled", Q_SLOTS_STALLED},
	{"Slots", Q_SLOTS},
	{"OpsDispatched", Q_OPS_DISPATCHED},
	{"OpsRetired", Q_OPS_RETIRED},
	{"RecoveryCycles", Q_RECOVERY_CYCLES},
};
#define N_EVENTS (sizeof(events) / sizeof(*events))

static const enum fact parts[N_CPI_PARTS] = {
	[CPI_PART_FRONTEND] = FACT_JOB_cpi_frontend,
	[CPI_PART_BAD_SPEC] = FACT_JOB_cpi_bad_speculation,
	[CPI_PART_RETIRING] = FACT_JOB_cpi_retiring,
	[CPI_PART_BACKEND] = FACT_JOB_cpi_backend,
	[CPI_PART_SMT] = FACT_JOB_cpi_smt,
	[CPI_PART_OTHER] = FACT_JOB_cpi_other,
};

/* Nodes of different processors have no stack together. */
static bool have_one_kind(const struct model_job *j)
{
	for (unsigned i = 0; i < j->nnodes; i++)
		if (!j->nodes[i].cpi_kind || strcmp(j->nodes[i].cpi_kind, j->nodes[0].cpi_kind))
			return false;
	return j->nnodes > 0;
}

void facts_counters__fill(struct facts *f, const struct model_job *j)
{
	const char *columns[N_EVENTS];
	double totals[N_EVENTS];
	struct counter_totals t = {columns, totals, N_EVENTS, NAN, NULL, NAN};
	struct counter_metrics m;

	for (size_t i = 0; i < N_EVENTS; i++) {
		columns[i] = events[i].column;
		totals[i] = facts__sum(j, events[i].q);
	}
	*f->values[FACT_JOB_cpi] = totals[1] > 0 ? totals[0] / totals[1] : NAN;
	if (!have_one_kind(j))
		return;
	t.kind = j->nodes[0].cpi_kind;
	t.width = j->nodes[0].cpi_width;
	counter_metrics__of(&t, &m);
	for (int i = 0; m.status == ANALYSIS_OK && i < N_CPI_PARTS; i++)
		*f->values[parts[i]] = m.stack.stack[i];
}
