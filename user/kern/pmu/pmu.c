// SPDX-License-Identifier: GPL-2.0-only
/* The perf family's events: set by set, and read before a snapshot. A task that does not switch has
 * its counts in the counters of its CPU only, until these are read. */
#include <bpf/bpf.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/clock.h"
#include "kern/internal.h"

#define MIN_AGE_NS	1000000ull
#define CALIBRATE_READS 64

int kern_pmu_store(struct kern *k)
{
	struct jp_control *c = k->control;
	const struct pmu *p = &k->pmu;

	memcpy(c->pmu_text, p->text, sizeof(c->pmu_text));
	c->pmu_mode = p->mode;
	if (p->mode == JP_PMU_OFF)
		return 0;
	c->npmu = p->n;
	c->pmu_set = p->set;
	c->pmu_sets = p->nsets;
	c->pmu_missing = ((1u << p->n) - 1) & ~p->usable;
	c->pmu_read_ns = p->cost_ns;
	memcpy(c->pmu_period, p->period, sizeof(c->pmu_period));
	return kern_pmu_new_clocks(k);
}

int kern_pmu_restore(struct kern *k)
{
	const struct jp_control *c = k->control;
	struct pmu *p = &k->pmu;
	int err;

	p->mode = c->pmu_mode;
	if (p->mode == JP_PMU_OFF)
		return 0;
	p->loses_events = !kern_pmu_keeps_events();
	p->n = c->npmu;
	kern_pmu_find_sets(p);
	p->set = c->pmu_set < p->nsets ? c->pmu_set : 0;
	p->usable = ((1u << p->n) - 1) & ~c->pmu_missing;
	memcpy(p->period, c->pmu_period, sizeof(p->period));
	err = kern_pmu_new_clocks(k);
	if (!err && !k->readonly && p->loses_events && kern__attached(k)) {
		kern_pmu_close_all(k);
		kern_pmu_open_all(k);
	}
	return err;
}

uint32_t kern_pmu_crc(const struct kern *k, uint32_t crc)
{
	unsigned i;

	crc = crc32(crc, (const Bytef *)&k->opts.perf_mode, sizeof(k->opts.perf_mode));
	crc = crc32(crc, (const Bytef *)&k->opts.perf_budget, sizeof(k->opts.perf_budget));
	for (i = 0; i < k->opts.nevents; i++) {
		const struct perf_event *e = &k->opts.events[i];

		crc = crc32(crc, (const Bytef *)e->text, strlen(e->text) + 1);
		crc = crc32(crc, (const Bytef *)&e->sets, sizeof(e->sets));
	}
	return crc;
}

bool kern__counts_points(const struct kern *k)
{
	return (k->families & FAM_FOLD) && k->pmu.mode == JP_PMU_EXACT && !k->opts.raw_tp;
}

int kern__place_of(uint32_t events, unsigned event)
{
	int place = __builtin_popcount(events & ((1u << event) - 1));

	return (events >> event & 1) && place < JP_PMU_AT_ONCE ? place : -1;
}

void kern_pmu_free(struct kern *k)
{
	free(k->pmu.clocks);
	k->pmu.clocks = NULL;
	kern_pmu_free_seen(k);
}

#define TURN_MIN_NS 100000000ull
#define TURN_SHARE  100 /* a turn takes at most one part in so many of the time */

/* What a set has counted is read before it goes; until the next one counts, nothing does. */
void kern__next_set(struct kern *k)
{
	struct pmu *p = &k->pmu;
	uint64_t from = clock__mono_ns(), took;
	unsigned cpu;

	if (p->mode != JP_PMU_EXACT || p->nsets < 2 || k->readonly || !kern__attached(k) ||
	    from < p->turn_ns)
		return;
	p->set = (p->set + 1) % p->nsets;
	k->control->pmu_set = p->set;
	for (cpu = 0; cpu < k->ncpus; cpu++) {
		if (kern_pmu_cpu(k, cpu)->open) {
			kern_pmu_read_cpu(k, cpu);
			kern_pmu_close_cpu(k, cpu);
		}
		kern_pmu_open_cpu(k, cpu);
	}
	took = clock__mono_ns() - from;
	p->turn_ns = from + (took * TURN_SHARE > TURN_MIN_NS ? took * TURN_SHARE : TURN_MIN_NS);
}

void kern__flush(struct kern *k, uint64_t age_ns)
{
	unsigned cpu;

	if (age_ns < MIN_AGE_NS)
		age_ns = MIN_AGE_NS;
	if (k->pmu.mode == JP_PMU_SAMPLED)
		kern_pmu_correct(k, age_ns);
	for (cpu = 0; k->pmu.mode == JP_PMU_EXACT && cpu < k->ncpus; cpu++) {
		const struct jp_pmu_cpu *c = kern_pmu_cpu(k, cpu);

		if (c->open && (c->slot >= JP_SLOT_FIRST || c->moved) &&
		    kern_pmu_is_old(k, cpu, age_ns))
			kern_pmu_flush_cpu(k, cpu);
	}
}

bool kern_pmu_release(struct kern *k, uint32_t slot)
{
	bool left = true;
	unsigned cpu;

	kern_pmu_forget(k, slot);
	for (cpu = 0; k->pmu.mode == JP_PMU_EXACT && cpu < k->ncpus; cpu++) {
		const struct jp_pmu_cpu *c = kern_pmu_cpu(k, cpu);

		if (!c->open || c->slot != slot)
			continue;
		kern_pmu_flush_cpu(k, cpu);
		left = left && (!c->open || c->slot != slot);
	}
	return left;
}

void kern_pmu_calibrate(struct kern *k)
{
	struct bpf_prog_info before = {}, after = {};
	uint32_t len = sizeof(before);
	int i, stats, cpu = sched_getcpu();

	if (k->pmu.mode != JP_PMU_EXACT || k->pmu.calibrated || cpu < 0 ||
	    (stats = kern__stats_on()) < 0)
		return;
	k->pmu.calibrated = true;
	bpf_obj_get_info_by_fd(k->prog[P_FLUSH], &before, &len);
	for (i = 0; i < CALIBRATE_READS; i++)
		kern_pmu_read_cpu(k, cpu);
	len = sizeof(after);
	bpf_obj_get_info_by_fd(k->prog[P_FLUSH], &after, &len);
	close(stats);
	if (after.run_cnt > before.run_cnt)
		k->control->pmu_read_ns =
			(after.run_time_ns - before.run_time_ns) / (after.run_cnt - before.run_cnt);
}
