// SPDX-License-Identifier: GPL-2.0-or-later
/* Sums over CPUs of the families whose counters have maps of their own. */
#include "sample/counters.h"

#include <stddef.h>
#include <string.h>

/* The numbers of struct jp_wait are T_WAIT and those after it. */
#define WAIT_NUMBERS (sizeof(struct jp_wait) / sizeof(uint64_t))
_Static_assert(T_WAIT + WAIT_NUMBERS == T_WAIT_END + 1, "T_WAIT");

struct field {
	size_t offset;
	enum total total;
};

static const struct field blk_fields[] = {
	{offsetof(struct jp_blk, reads), T_BLK_READS},
	{offsetof(struct jp_blk, writes), T_BLK_WRITES},
	{offsetof(struct jp_blk, read_bytes), T_BLK_READ_BYTES},
	{offsetof(struct jp_blk, write_bytes), T_BLK_WRITE_BYTES},
	{offsetof(struct jp_blk, read_time_ns), T_BLK_READ_TIME},
	{offsetof(struct jp_blk, write_time_ns), T_BLK_WRITE_TIME},
	{offsetof(struct jp_blk, untimed), T_BLK_UNTIMED},
	{offsetof(struct jp_blk, others), T_BLK_OTHERS},
	{offsetof(struct jp_blk, reads), T_PROBES},
	{offsetof(struct jp_blk, writes), T_PROBES},
};

static const struct field net_fields[] = {
	{offsetof(struct jp_net, rx_bytes), T_NET_RX_BYTES},
	{offsetof(struct jp_net, tx_bytes), T_NET_TX_BYTES},
	{offsetof(struct jp_net, rx_ops), T_NET_RX_OPS},
	{offsetof(struct jp_net, tx_ops), T_NET_TX_OPS},
	{offsetof(struct jp_net, loop_rx_bytes), T_NET_LOOP_RX_BYTES},
	{offsetof(struct jp_net, loop_tx_bytes), T_NET_LOOP_TX_BYTES},
	{offsetof(struct jp_net, loop_rx_ops), T_NET_LOOP_RX_OPS},
	{offsetof(struct jp_net, loop_tx_ops), T_NET_LOOP_TX_OPS},
	{offsetof(struct jp_net, tcp_retrans), T_TCP_RETRANS},
	{offsetof(struct jp_net, rx_ops), T_PROBES},
	{offsetof(struct jp_net, tx_ops), T_PROBES},
	{offsetof(struct jp_net, loop_rx_ops), T_PROBES},
	{offsetof(struct jp_net, loop_tx_ops), T_PROBES},
};

static const struct field files_fields[] = {
	{offsetof(struct jp_files, opens), T_OPENS},
	{offsetof(struct jp_files, closes), T_CLOSES},
	{offsetof(struct jp_files, opens), T_PROBES},
	{offsetof(struct jp_files, closes), T_PROBES},
};

static const struct field pmu_fields[] = {
	{offsetof(struct jp_pmu, reads), T_PMU_READS},
	{offsetof(struct jp_pmu, enabled), T_PMU_ENABLED},
};

#define ADD_FIELDS(element, fields, t) \
	add_fields((element), (fields), sizeof(fields) / sizeof((fields)[0]), (t))

static void add_fields(const void *element, const struct field *f, size_t n, struct totals *t)
{
	for (; element && n--; f++)
		t->v[f->total] += *(const uint64_t *)((const char *)element + f->offset);
}

static void add_pmu(const struct jp_pmu *p, struct totals *t)
{
	int i;

	ADD_FIELDS(p, pmu_fields, t);
	for (i = 0; p && i < JP_PMU_EVENTS; i++) {
		t->v[T_PMU + i] += p->ev[i].counter;
		t->v[T_PMU_RUNNING + i] += p->ev[i].running;
	}
}

static const struct field burst_fields[] = {
	{offsetof(struct jp_burst_use, burst_ns), T_BURST},
	{offsetof(struct jp_burst_use, gap_ns), T_GAP},
	{offsetof(struct jp_burst_use, lost), T_BURST_LOST},
};

void counters__add_wait(struct totals *t, const struct jp_wait *w)
{
	const uint64_t *v = (const uint64_t *)w;

	for (size_t i = 0; i < WAIT_NUMBERS; i++)
		t->v[T_WAIT + i] += v[i];
}

static void add_samples(const struct jp_samples *s, struct totals *t)
{
	for (int i = 0; s && i < JP_MODULES; i++) {
		t->v[T_SAMPLED + i] += s->module[i];
		t->v[T_SAMPLES] += s->module[i];
	}
	if (!s)
		return;
	t->v[T_FOR_MPI] += s->for_mpi;
	t->v[T_STACK_SAMPLES] += s->stack_samples;
	t->v[T_STACK_NS] += s->stack_ns;
}

static void add_at_once(const struct jp_at_once *a, struct totals *t)
{
	for (int i = 0; a && i < JP_AT_ONCE; i++)
		t->v[T_AT_ONCE + i] += a->periods[i];
	if (!a)
		return;
	t->v[T_QUEUED] += a->queued;
	t->v[T_QUEUED_BESIDE_IDLE] += a->queued_beside_idle;
}

void counters__add(const struct kern *k, uint32_t slot, struct totals *t)
{
	const struct jp_wait *wait = kern__wait(k, slot);
	unsigned cpu;

	if (wait)
		counters__add_wait(t, wait);
	add_samples(kern__samples(k, slot), t);
	add_at_once(kern__at_once(k, slot), t);
	for (cpu = 0; cpu < kern__ncpus(k); cpu++) {
		ADD_FIELDS(kern__blk(k, cpu, slot), blk_fields, t);
		ADD_FIELDS(kern__net(k, cpu, slot), net_fields, t);
		ADD_FIELDS(kern__files(k, cpu, slot), files_fields, t);
		ADD_FIELDS(kern__burst_use(k, cpu, slot), burst_fields, t);
		add_pmu(kern__pmu(k, cpu, slot), t);
	}
}

/* A wait that is just being added is in some of the numbers only. */
#define TRIES 64

/* Returns the run-queue delay; was: what it was before. */
static uint64_t read_delay(const struct jp_sched *s, const struct jp_culprits *c,
			   uint64_t by[JP_CULPRITS], uint64_t *was)
{
	*was = __atomic_load_n(&s->run_delay_ns, __ATOMIC_ACQUIRE);
	for (int i = 0; i < JP_CULPRITS; i++)
		by[i] = __atomic_load_n(&c->ns[i], __ATOMIC_ACQUIRE);
	return __atomic_load_n(&s->run_delay_ns, __ATOMIC_ACQUIRE);
}

uint64_t counters__delay(const struct kern *k, unsigned cpu, uint32_t slot, struct totals *t)
{
	const struct jp_culprits *c = kern__culprits(k, cpu, slot);
	const struct jp_sched *s = kern__sched(k, cpu, slot);
	uint64_t by[JP_CULPRITS], delay, was;

	if (!c)
		return s->run_delay_ns;
	delay = read_delay(s, c, by, &was);
	for (int i = 0; i < TRIES && delay != was; i++)
		delay = read_delay(s, c, by, &was);
	for (int i = 0; i < JP_CULPRITS; i++)
		t->v[T_CULPRITS + i] += by[i];
	return delay;
}

void counters__hist(const struct kern *k, enum hist h, uint32_t slot, uint64_t out[HIST_CELLS])
{
	unsigned cpu, b;

	_Static_assert(sizeof(struct jp_blk_lat) == HIST_CELLS * sizeof(uint64_t), "HIST_CELLS");
	if (h == HIST_BLK && kern__blk_lat(k, slot)) {
		memcpy(out, kern__blk_lat(k, slot), sizeof(struct jp_blk_lat));
		return;
	}
	memset(out, 0, HIST_CELLS * sizeof(*out));
	for (cpu = 0; h == HIST_BURST && cpu < kern__ncpus(k); cpu++) {
		const struct jp_burst_use *u = kern__burst_use(k, cpu, slot);

		for (b = 0; u && b < JP_LAT_BUCKETS; b++) {
			out[b] += u->burst[b];
			out[JP_LAT_BUCKETS + b] += u->gap[b];
		}
	}
	for (cpu = 0; h == HIST_RUN && cpu < kern__ncpus(k); cpu++) {
		const struct jp_lat *l = kern__lat(k, cpu, slot);

		for (b = 0; l && b < JP_LAT_BUCKETS; b++)
			out[b] += l->bucket[b];
	}
}
