/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jobprof.conf: its keys, their defaults, and how it is read. */
#ifndef JP_BASE_CONFIG_H
#define JP_BASE_CONFIG_H

#include <stdbool.h>
#include <stdio.h>

#include "base/freq.h"
#include "base/log.h"

#define CONFIG_PATTERNS 8
#define CONFIG_KEYS	80

/* Keys of acct_gather.conf that are about power by IPMI. */
#define CONFIG_IPMI 5
extern const char *const config_ipmi_keys[CONFIG_IPMI];

/* How stacks are followed (unwind), and how hardware counters are read: auto is the best of the
 * other modes that the budget allows. */
enum config_unwind { UNWIND_FP, UNWIND_DWARF };
enum config_perf { PERF_MODE_AUTO, PERF_MODE_EXACT, PERF_MODE_SAMPLED, PERF_MODE_OFF };

/* Whether files have readings of the node as a whole; exclusive: only where the job has the node
 * for itself. */
enum config_node_tables { NODE_TABLES_EXCLUSIVE, NODE_TABLES_ALWAYS, NODE_TABLES_NEVER };

/* Which steps are told what holds them back while they run. */
enum config_live_findings { LIVE_FINDINGS_NO, LIVE_FINDINGS_ASKED, LIVE_FINDINGS_ALL };

/* Limits of the journals in StateDir, MB; 0: none. */
struct journal_limits {
	double user;	 /* JournalUserMax: of one user's steps */
	double all;	 /* JournalMax */
	double min_free; /* JournalMinFree: free space that stays, at most 1/20 of the disk */
};

struct prices {
	double core_h, gpu_h, kwh, co2_g_kwh;
	char *currency;
};

/* Strings are owned; NULL where not set and without a default. */
struct config {
	char *hdf5_dir;	    /* ProfileHDF5Dir; absolute */
	char *hdf5_default; /* ProfileHDF5Default, as written: names are the caller's to check */
	struct freq freq;   /* JobAcctGatherFrequency */
	char *cluster;	    /* ClusterName, in lower case as everywhere in Slurm */
	char *state_dir;    /* StateDir; absolute */
	struct journal_limits journals;
	char *node_name;	 /* NodeName; default: the host's name up to the first dot */
	char *pin_dir;		 /* PinDir; absolute */
	unsigned max_slots;	 /* MaxSlots */
	unsigned max_stacks;	 /* MaxStacks; 0: by the number of CPUs */
	unsigned max_cgroups;	 /* MaxCgroups */
	unsigned ring_size;	 /* RingSize; KB */
	char *housekeeping_cpus; /* HousekeepingCPUs, as written */
	double publish_interval; /* PublishInterval, s; 0: only when a step ends */
	char *cgroup_patterns[CONFIG_PATTERNS]; /* CgroupPattern; see identity/layout.h */
	unsigned n_cgroup_patterns;
	char *cgroup_root;  /* CgroupRoot: where Slurm's tree begins, below the hierarchy's root */
	char *writer;	    /* Writer: path of jobprof-writer */
	bool admin_comment; /* AdminComment */
	char *mail_spool;   /* MailSpool */
	char *mail_program; /* MailProgram */
	char *btf;	    /* BTF: type information instead of the kernel's */
	char *perf_events;  /* PerfEvents, as written: names are the caller's to check */
	enum config_perf perf_mode;		 /* PerfMode */
	enum config_live_findings live_findings; /* LiveFindings */
	double burst_min;			 /* BurstMin, ms */
	double perf_budget;			 /* PerfBudget, percent of each CPU */
	double overhead_budget; /* OverheadBudget, percent of the busy cores; 0: none */
	char *families;		/* Families, as written: names are the caller's to check */
	char *sensor_dir;	/* SensorDir; absolute */
	char *socket;		/* Socket; absolute */
	char *admin_group;	/* AdminGroup */
	char *profile_group;	/* ProfileGroup */
	double retention_days;	/* ProfileRetention; 0: for ever */
	double quota_mib;	/* ProfileQuota, of each user; 0: none */
	enum config_node_tables node_tables; /* NodeTables */
	bool live_files;		     /* LiveFiles */
	bool extern_all;		     /* ExternSteps=all */
	bool auto_merge;		     /* AutoMerge */
	bool auto_report;		     /* AutoReport */
	bool culprit_matrix;		     /* CulpritMatrix */
	enum config_unwind unwind;	     /* StackUnwind */
	bool by_cycles;			     /* SampleEvent=cycles */
	bool metrics_jobs;		     /* MetricsJobs */
	char *index;			     /* IndexDatabase */
	char *metrics_listen;		     /* MetricsListen, as written */
	char *metrics_file;		     /* MetricsFile; absolute */
	char *metrics_user;		     /* MetricsUser */
	char *metrics_readers;		     /* MetricsReaders: a list, as written */
	char *proxy_user;		     /* ProxyUser */
	char *user_header;		     /* UserHeader */
	char *frame_ancestors;		     /* FrameAncestors, as written */
	char *view_groups, *staff_groups;    /* ViewGroups, StaffGroups: lists, as written */
	bool coordinator_sums;		     /* CoordinatorSees=sums */
	struct prices prices;		     /* PriceCoreHour, ...; 0: not known */
	char *sensors;			     /* Sensors: which sources are read */
	char *sys_root; /* SysRoot, ProcRoot, DevRoot: where sensors look; absolute */
	char *proc_root;
	char *dev_root;
	char *ipmi[CONFIG_IPMI];  /* EnergyIPMI*, as written: config_ipmi_keys has the names */
	enum log_level log_level; /* LogLevel */
	char *slurm_conf;	  /* the slurm.conf that was included */
	char *where[CONFIG_KEYS]; /* by key: the FILE:LINE that set it; NULL: it has its default */
	char *pattern_where[CONFIG_PATTERNS]; /* of each CgroupPattern */
	bool given[CONFIG_KEYS];	      /* by key: an option of the command line set it */
	char *error; /* the first one, "FILE has an error in line N: TEXT", or "FILE cannot be
		      * read: WHY"; NULL: there is none */
};

/* Sets every default. 0 or -ENOMEM. */
int config__init(struct config *c);
/*
 * Reads path into *c (after config__init); the syntax is conf_file.h's. In slurm.conf and
 * acct_gather.conf, and what they include, only those of Slurm's keys that concern profiles are
 * read, as Slurm reads them. Anywhere else an unknown key is an error. Every error is logged as
 * FILE:LINE, and the first one is c->error. 0; -EINVAL:
 * something was wrong in a file; -errno: path could not be read; -EPERM: root would read a file
 * that others may write.
 */
int config__load(struct config *c, const char *path);
void config__free(struct config *c); /* what it owns, not *c itself */

/* Sets a key by an option of the command line, which outranks every file. Logs. 0, -EINVAL or
 * -ENOMEM. */
int config__override(struct config *c, const char *key, const char *value);

/* Prints all keys with default and meaning, for --help and the manual. */
void config__print_keys(FILE *f);
/* Prints all values in force, in the syntax of the file. */
void config__print(const struct config *c, FILE *f);
/* Prints the settings that a file or an option gives, on one line, with a space before each. */
void config__print_given(const struct config *c, FILE *f);
/* Prints the keys whose new values need a restart, as "StateDir, Socket"; nothing if there are
 * none. */
void config__print_restart(const struct config *old, const struct config *fresh, FILE *f);

/* Logs what is wrong with a value, behind the place that the value is from (config__where(); NULL:
 * no place), and stores the first such line as c->error. */
void __attribute__((format(printf, 3, 4)))
config__complain(struct config *c, const char *where, const char *fmt, ...);

/* The words of PerfMode. -EINVAL: the text is none of them. */
void config__print_perf_words(FILE *out); /* with a space after each */
int config__parse_perf(const char *text, enum config_perf *mode);
/* The words of StackUnwind. -EINVAL: the text is none of them. */
int config__parse_unwind(const char *text, enum config_unwind *how);
void config__print_unwind_words(FILE *out);

/* The FILE:LINE of a key's value, whether the value was accepted or not, for messages about it;
 * "default" where no file has the key. */
const char *config__where(const struct config *c, const char *key);
/* Whether a file or an option gives the key's value; whether an option does. */
bool config__is_given(const struct config *c, const char *key);
bool config__is_overridden(const struct config *c, const char *key);

#endif
