/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The perf family's events, in sets that are counted in turn: chosen and calibrated before the load
 * (pmu_mode.c), opened on every CPU while the programs are attached (pmu_cpu.c,
 * pmu_events.c), flushed before a snapshot (pmu.c). Part of user/kern.
 */
#ifndef JP_KERN_PMU_H
#define JP_KERN_PMU_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/jobprof.h"
#include "kern/pmu/perf_event.h"

struct kern;

struct pmu {
	struct perf_event events[JP_PMU_EVENTS];
	unsigned n; /* number of configured events */
	enum jp_pmu_mode mode;
	uint32_t usable;	      /* events that can be opened here, as bits */
	uint32_t sets[JP_PMU_EVENTS]; /* events of each set, as bits */
	unsigned nsets, set;	      /* set: the one that is open */
	unsigned left_out;	      /* sets that are not counted */
	uint64_t turn_ns;	      /* the next set is not opened before this instant */
	uint64_t read_ns;	      /* cost of one reading of all events */
	double sample_ns;	      /* cost of one sample */
	bool sample_measured;
	bool calibrated;  /* the costs were measured by the program that reads */
	uint64_t cost_ns; /* cost of one reading, or in sampled mode of one sample */
	uint64_t period[JP_PMU_EVENTS];
	uint32_t counts_idle; /* events that count while a CPU idles, as bits */
	bool loses_events;    /* the map loses events of a process that has ended (before 5.12) */
	unsigned group_max;   /* 0: not tried yet */
	char text[JP_PMU_TEXT];
	struct pmu_clock *clocks; /* by CPU */
	struct pmu_seen *seen;	  /* sampled mode */
};

/* Finds which events can be opened and what they cost, and chooses the mode. Without events
 * FAM_PERF is removed from k->families. The mode's text has the reason. */
void kern_pmu_choose(struct kern *k);
/* Finds the sets of k->pmu.events. */
void kern_pmu_find_sets(struct pmu *p);
/* The largest number of events that are open at once. */
unsigned kern_pmu_at_once(const struct pmu *p);
/* kern_pmu_store(): stores the choice in the control page; kern_pmu_restore(): restores it from the
 * control page of maps that were taken over. */
int kern_pmu_store(struct kern *k);
int kern_pmu_restore(struct kern *k);
/* Adds to the hash of all settings that must be equal for taking over pinned maps. */
uint32_t kern_pmu_crc(const struct kern *k, uint32_t crc);
void kern_pmu_free(struct kern *k);

/* PERF_TYPE_*, or a PMU's number: events with the same one are counted by the same hardware. */
uint32_t kern_pmu_of(const struct perf_event *e);
/* Opens event i, disabled unless it joins a group; sampling where period is not 0. fd or -errno. */
int kern_pmu_event(const struct pmu *p, unsigned i, unsigned cpu, int group_fd, uint64_t period);
/* Opens and enables the usable events of the set on a CPU, in groups. fds[JP_PMU_EVENTS]: -1 where
 * that failed. Returns which events are open, as bits. */
uint32_t kern_pmu_open_set(struct kern *k, unsigned cpu, int *fds);
void kern_pmu_close_set(int *fds);

/* Events that count while a CPU idles, as bits. kern_pmu_clocks() finds them by their kind;
 * kern_pmu_counting_in_idle() tries those that are open and enabled on the CPU to which this thread
 * is bound (fds as above; some ms, more on a busy CPU). */
uint32_t kern_pmu_clocks(const struct pmu *p);
uint32_t kern_pmu_counting_in_idle(const int *fds);
/* Sets ns[] to how long each CPU has been idle, which the kernel updates some milliseconds late;
 * UINT64_MAX: not known. */
void kern_cpu_idle(uint64_t *ns, unsigned ncpus);

/* Whether the map of events can outlive the process that fills it (5.12). */
bool kern_pmu_keeps_events(void);

/* Opens the events on every CPU that is online and does not have them yet. */
void kern_pmu_open_all(struct kern *k);
void kern_pmu_close_all(struct kern *k);
void kern_pmu_open_cpu(struct kern *k, unsigned cpu);
void kern_pmu_close_cpu(struct kern *k, unsigned cpu);

struct jp_pmu_cpu *kern_pmu_cpu(const struct kern *k, unsigned cpu);
/* Makes room for the time at which each CPU was read; -ENOMEM. */
int kern_pmu_new_clocks(struct kern *k);
/* Reads the CPU's counters for its slot, and finds out which slot has the CPU now. -ENXIO: the CPU
 * is offline. */
int kern_pmu_read_cpu(struct kern *k, unsigned cpu);
/* Reads the CPU's counters for its slot; closes the events of a CPU that went off line, and opens
 * them when it comes back. */
void kern_pmu_flush_cpu(struct kern *k, unsigned cpu);
/* Whether the last reading, or flush, of the CPU is more than age_ns old. */
bool kern_pmu_is_old(const struct kern *k, unsigned cpu, uint64_t age_ns);
/* Makes all CPUs stop counting for the slot; false: some CPU still does. */
bool kern_pmu_release(struct kern *k, uint32_t slot);
/* Measures the cost of a reading by the programs and stores it in the control page. */
void kern_pmu_calibrate(struct kern *k);

/* Sampled mode: makes periods longer where the kernel allows fewer samples by now and would stop
 * the counters. True: the caller reopens the events. */
bool kern_pmu_lengthen_periods(struct kern *k);

/* ---- arithmetic of pmu_mode.c: what counting costs, and which counting a budget affords */

#define PMU_SWITCHES_PER_S 5000.0 /* between slots, on a busy CPU: what exact mode must afford */
#define PMU_SAMPLES_MIN	   10.0	  /* per second and event: fewer samples tell nothing */

/* Times of the same work, in ns: alone, interrupted by samples, and alone again. NaN: not known. */
struct pmu_round {
	double before, with, after;
	uint64_t samples;
};

/*
 * ns by which one sample delayed the work: the median of the rounds. NaN where the rounds cannot be
 * trusted: fewer than PMU_ROUNDS_MIN are known and had samples, the middle half of them is wider
 * than half the median, or the time is one that no interrupt takes (outside PMU_SAMPLE_LEAST to
 * _MOST).
 */
double pmu_cost__sample(const struct pmu_round *rounds, unsigned n);
#define PMU_ROUNDS_MAX	 11
#define PMU_ROUNDS_MIN	 5
#define PMU_SAMPLE_LEAST 200
#define PMU_SAMPLE_MOST	 200000

/* The assumed cost of a sample where it cannot be measured, by the cost of reading n events. */
double pmu_cost__assumed(double read_ns, unsigned n);

/* Whether a budget of so many percent of a CPU affords PMU_SWITCHES_PER_S readings per second. */
bool pmu_cost__affords_reads(double read_ns, double percent);
/* Samples per second that the budget affords for each of n events; at most a quarter of `limit`,
 * the kernel's for all users, because with more the kernel lowers its limit. */
double pmu_cost__rate(double sample_ns, unsigned n, double percent, double limit);

#endif
