/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The analyses of PIKA (F. Winkler: Efficient monitoring of HPC jobs, MODA23, 2023): footprint and
 * tags of a job, and the issues that make a job worth a look. All work on the bins of 30 s of
 * analysis/grid.h, for which their thresholds are made. Fractions are 0..1, never percent. What is
 * not known is NaN, in arguments and in results; an array of a quantity that was not collected has
 * no units.
 */
#ifndef JP_ANALYSIS_PIKA_H
#define JP_ANALYSIS_PIKA_H

#include <stdbool.h>
#include <stddef.h>

#include "analysis/matrix.h"
#include "analysis/status.h"

/* What a footprint is made of. Units are cores, sockets, devices or nodes, as each source has. */
struct footprint_series {
	struct matrix cpu_usage, gpu_usage;    /* load of a unit: 1 = one hardware unit is busy */
	struct matrix instructions, cycles;    /* events in the bin, of the same units */
	struct matrix flops;		       /* 1/s, normalised to single precision: SP + 2 DP */
	struct matrix flops_sp, flops_dp;      /* 1/s, where flops is not there */
	struct matrix mem_bw, net_bw;	       /* B/s */
	struct matrix cpu_power, gpu_power;    /* W */
	struct matrix read_bytes, write_bytes; /* in the bin */
	struct matrix mem_used, gpu_mem_used;  /* B */
};

struct footprint {
	struct analysis_verdict verdict; /* INSUFFICIENT: no bins; UNAVAILABLE: nothing is known */
	double cpu_usage, gpu_usage;	 /* mean of all units and bins */
	double ipc; /* of the sums of all units and bins where both are known */
	/* Means over bins of the job's total, of bins where every unit is known. */
	double flops, mem_bw, net_bw, cpu_power, gpu_power;
	double read_bytes, write_bytes; /* sum of what is known */
	/* The highest bin of one unit, and of the job's total where every unit is known. */
	double mem_used_max_unit, mem_used_max_total;
	double gpu_mem_used_max_unit, gpu_mem_used_max_total;
};

void footprint__of(const struct footprint_series *s, struct footprint *out);

/* Tags are bits. */
enum job_tag {
	JOB_TAG_UNRESTRAINED, /* no other */
	JOB_TAG_MEMORY,
	JOB_TAG_COMPUTE,
	JOB_TAG_GPU,
	JOB_TAG_IO,
	JOB_TAG_NETWORK,
	JOB_TAGS,
};

/* This counts as the peak of IPC where nothing else is known of a CPU. */
#define JOB_IPC_OPTIMAL 4.0

/* A metric and its peak, which is that of the job's share of the machine: both in B/s or 1/s. */
struct tag_metric {
	double value, peak; /* peak: NaN or 0 is not known */
};

struct tag_metrics {
	struct tag_metric mem_bw, flops, ipc, io_bw, net_bw; /* io_bw: read + written */
	double cpu_usage, gpu_usage; /* as in the footprint; gpu_usage NaN: no GPUs */
};

/* Bits 1 << enum job_tag. A tag whose metric or peak is not known is not given. */
extern const struct analysis_param job_tags__params[];
unsigned job_tags__of(const struct tag_metrics *m);
/* "memory-bound". */
const char *job_tag__name(enum job_tag tag);

/* Why a job is left out of the analysis of issues; bits 1 << enum. */
enum ineligible {
	INELIGIBLE_DURATION, /* shorter than an hour */
	INELIGIBLE_CORES,    /* one physical core */
	INELIGIBLE_STATE,    /* neither COMPLETED, OUT_OF_MEMORY nor TIMEOUT */
	INELIGIBLE_REASONS,
};

/* 0: eligible. state: as Slurm writes it in full, NULL: not known. */
extern const struct analysis_param eligibility__params[];
unsigned eligibility__of(double duration_s, double physical_cores, const char *state);
/* "duration". */
const char *ineligible__name(enum ineligible reason);

#define IDLE_CPU_LOAD 0.01

struct idle {
	struct analysis_verdict verdict; /* INSUFFICIENT: no bin is known */
	size_t known, missing;		 /* bins of units */
	double idle_s, total_s; /* ICT or IGT, over all units; total_s: time of known bins */
	double idle_ratio;	/* ICR, IGR */
	unsigned unused_units;	/* units with 3 known bins or more, of which all but one are idle */
	double unused_ratio;	/* UCR, UGR: unused units divided by all units */
	double unused_to_used;	/* NaN: none is used */
};

/* load: of cores or GPUs. A bin is idle if its load is below the threshold, or with threshold 0
 * (GPUs) if its load is 0. idle_bins[load->units], or NULL: the idle bins of each unit. */
extern const struct analysis_param idle__params[];
void idle__of(const struct matrix *load, double threshold, double dt_s, unsigned *idle_bins,
	      struct idle *out);

struct imbalance {
	struct analysis_verdict verdict; /* INSUFFICIENT: no bin in which all units are known */
	size_t known, missing;		 /* bins */
	double mean_sd; /* CLI, GLI: mean over bins of the standard deviation of the sample */
	double mean_sd_population; /* the same with the population's */
	bool is_attributed;	   /* mean_sd > 0.2 */
};

/* Standard deviation of the load over units, in bins where all units are known; 0 for one unit. */
extern const struct analysis_param imbalance__params[];
void imbalance__of(const struct matrix *load, struct imbalance *out);

/* What is compared with the load of the CPUs. */
enum periodic_kind {
	PERIODIC_BANDWIDTH, /* B/s, mean over nodes */
	PERIODIC_METADATA,  /* operations/s, mean over nodes */
	PERIODIC_GPU,	    /* load, mean over devices */
};

struct periodic_vector {
	enum periodic_kind kind;
	const double *v;
};

struct periodic {
	/* UNSUITABLE: too_short, cpu_mean, cpu_range, gpu_mean, gpu_range, bw_mean, meta_mean,
	 * flat; INSUFFICIENT: missing_bins, more than 5 % of a vector */
	struct analysis_verdict verdict;
	bool is_dominant, is_detected;
	const char *undetected; /* why a suitable pair is not detected: no_dominant_frequency, corr,
				   period_num; else "" */
	unsigned known, missing; /* bins in which both are known, and others */
	unsigned k;		 /* the strongest frequency, as periods in all bins; 0: none */
	double freq_hz;
	double sum_max, sum_median; /* of the sum of both spectra, each by its maximum: 0..2 */
	double corr;		    /* Pearson's, NaN where no frequency is dominant */
	double period_num;	    /* periods in the job's duration, likewise */
};

/*
 * Finds whether `other` is high in the same rhythm in which the CPUs' load is low, as in blocking
 * I/O or synchronous offloading. cpu[bins] and other->v[bins] are means over units. A frequency
 * that stands out of the sum of both spectra is dominant; the pair is detected with r <= -0.4 and
 * 10 periods or more. 0 or -ENOMEM.
 */
extern const struct analysis_param periodic__params[];
int periodic__of(const double *cpu, const struct periodic_vector *other, unsigned bins, double dt_s,
		 double duration_s, struct periodic *out);
/* Finds the detected vector with the most periods (IOB or SO) among n, and puts its index into
 * *which; n: none is detected, and *out is that of the last one. 0 or -ENOMEM. */
int periodic__strongest(const double *cpu, const struct periodic_vector *others, unsigned n,
			unsigned bins, double dt_s, double duration_s, struct periodic *out,
			unsigned *which);

struct io_congestion {
	struct analysis_verdict verdict; /* UNAVAILABLE: no rate is known */
	size_t known, missing;		 /* bins of units */
	double max_rate;		 /* 1/s: of the job's total */
	unsigned bin;			 /* the first with that rate */
	bool is_attributed;		 /* max_rate >= 40 */
	double ioc;			 /* max_rate, 0 unless attributed */
	double max_rate_unit;		 /* of one node and file system */
};

/* rates: opens and closes per second, with a unit per node and file system; an unknown rate counts
 * as 0. */
extern const struct analysis_param io_congestion__params[];
void io_congestion__of(const struct matrix *rates, struct io_congestion *out);

struct memleak {
	struct analysis_verdict verdict; /* INSUFFICIENT: less than 3 points; UNSUITABLE: no_memory,
					  * no_time */
	size_t known, missing;		 /* points */
	/* The line of least squares: y = m x + n, x is time 0..1, y is memory by its maximum. */
	double m, n;
	double max_dis; /* of a point to the line */
	/* p1 and p2 are the line's ends, P is the point whose distance to the line is the limit;
	 * NaN where 0.01 <= m <= 1 does not hold. */
	double p1[2], p2[2], p[2];
	double max_distance; /* the limit: min(m, 0.1) / sqrt(m^2 + 1) */
	bool is_suspected;   /* 0.01 <= m <= 1, and max_dis < max_distance */
	double ml;	     /* m, 0 unless suspected */
	double rate;	     /* B/s: the line's */
};

/* t_s and bytes have n values: when, and the job's memory without page cache. Points that are not
 * known are left out. */
extern const struct analysis_param memleak__params[];
void memleak__of(const double *t_s, const double *bytes, size_t n, struct memleak *out);

/* A job in the table of issues. What was not attributed is 0, what is not known is NaN. */
struct issue_job {
	bool is_eligible; /* others do not enter */
	double idle_cpu_s, cpu_s, idle_gpu_s, gpu_s;
	double ucr, cli, iob, ioc, ml, ugr, gli, so;
};

/* A row: several jobs of a user, a project or a name. */
struct issue_row {
	size_t runs;
	/* Sums and maxima of what is known; NaN: of no job is it known. */
	double idle_cpu_s, idle_gpu_s; /* ICT, IGT */
	double icr, igr;	       /* of the sums; igr is 0 without GPU time */
	double max_ucr, max_cli, max_iob, max_ioc, max_ml, max_ugr, max_gli, max_so;
};

void issue_row__of(const struct issue_job *jobs, size_t n, struct issue_row *out);

struct project_job {
	double nodes, cores;
	double submit_s, start_s, end_s; /* on one clock */
	bool is_tagged;			 /* there is a footprint */
};

struct project_row {
	size_t jobs, footprints;
	double max_nodes, max_cores, max_pending_s; /* NaN: of no job is it known */
	double core_s, runtime_s;
};

void project_row__of(const struct project_job *jobs, size_t n, struct project_row *out);

#endif
