/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A step of a job on this node: its ids, its owner, its slots in the kernel's maps, its journal and
 * tables. The functions here read the cgroup's path and the slots; what happens to a step is in
 * follow/follow.h (job, owner), record/record.h (tasks, rows) and core/core.h (states).
 */
#ifndef JP_DAEMON_STEP_STEP_H
#define JP_DAEMON_STEP_STEP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/config/config.h"
#include "base/freq.h"
#include "base/log.h"
#include "daemon/child/end_reason.h"
#include "daemon/child/publication.h"
#include "daemon/config/cgroup_roots.h"
#include "daemon/lookup/lookup.h"
#include "daemon/step/frame.h"
#include "daemon/step/request.h"
#include "daemon/step/use_watch.h"
#include "identity/layout.h"
#include "journal/journal.h"
#include "sample/sample.h"
#include "sensor/node/cgroup.h"

/*
 * NEW: its cgroup is there, its job or user not known yet (the kernel counts already).
 * ACTIVE: rows go to the journal. ENDING: its cgroup is gone, the last tasks leave the CPU.
 * ASKING: the last row is written; only the reason of the end, or its job's final state, is
 * missing. FINISHING: the journal is complete, the file is being written. DONE: it will be freed.
 * IGNORED: it is not profiled.
 */
enum step_state {
	STEP_NEW,
	STEP_ACTIVE,
	STEP_ENDING,
	STEP_ASKING,
	STEP_FINISHING,
	STEP_DONE,
	STEP_IGNORED
};

/* How long the identity of a new step is searched often; after that its processes decide. */
#define STEP_YOUNG_NS (500 * 1000 * 1000ull)

/* Directories of journals below StateDir: jobprofd resumes its own journals; any jobprofd or
 * jobprof run finishes those of jobprof run. */
#define JOURNALS_STEP "steps"
#define JOURNALS_RUN  "runs"

enum {
	KIND_TASKS,
	KIND_STEP,
	KIND_RUN_LATENCY,
	KIND_BLK_LATENCY,
	KIND_RANKS,
	KIND_COMMANDS, /* of names, not of slots: record/step_rows.c */
	KIND_TIME_BUDGET,
	KIND_RANK_BUDGET,
	KIND_CULPRITS,
	KIND_RANK_CULPRITS,
	KIND_SAMPLES,
	KIND_RANK_SAMPLES,
	KIND_STACKS, /* record/step_stacks.h */
	KIND_CALL_TREE,
	KIND_BURSTS, /* of bursts, not of slots: record/step_bursts.c */
	KIND_BURST_LENGTH,
	KIND_GAP_LENGTH,
	COUNTED_KINDS,
	/* tables of the node's sensors: each kind has an interval, and any number of tables
	 * (node.h) */
	KIND_ENERGY = COUNTED_KINDS,
	KIND_NETWORK,
	KIND_FILESYSTEM,
	KIND_NODE,
	ALL_KINDS
};

#define MAX_COLUMNS 128 /* of one table */

/* CLOCK_BOOTTIME; 0: not known, or it has not ended. */
struct lifetime {
	uint64_t from_ns, to_ns;
};

struct table {
	uint32_t id;
	struct journaled declared;
	int kind;		/* KIND_* */
	int gtid;		/* JP_GTID_NONE: Step, Commands; of Ranks the rank */
	char name[JP_COMM_LEN]; /* of Commands */
	uint32_t counts_as; /* the id of the table that has the readings of its rows: its own id, or
			       that of the table of the same task or rank */
	struct between between;
	uint64_t peak;	      /* highest RSS in bytes of the rows so far */
	union cell *last;     /* its last row, NULL: none yet */
	double last_s;	      /* how long a time the last row counts */
	struct reading *prev; /* the reading from which the next row counts; NULL: not its own */
	struct reading *now;  /* the same, once the frame is written (frame.h) */
	bool in_frame;	      /* the frame has a row of this table */
	struct lifetime life, life_now; /* likewise, of a task or rank */
};

/* The task and rank for which a slot counts; JP_GTID_NONE: none. A rank's slot also counts for its
 * launcher's task. */
struct slot_owner {
	int gtid, rank;
};

struct column_set {
	const struct series *series;
	const struct column *cols[MAX_COLUMNS];
	unsigned ncols;
};

struct job_infos;
struct job_uses;
struct node;
struct overhead;
struct step_sensors;
struct step_stacks;
struct recent_bursts;
struct unwinding;

/* What all steps share. */
struct step_env {
	struct kern *k;
	struct snapshot *snap;
	struct lookups *lookups;
	struct unwinding *unwinding; /* NULL: stacks are by frame pointers */
	struct users *users;
	struct node *node;	   /* NULL: its sensors are not read */
	struct job_infos *jobs;	   /* jobs of this node; NULL: Slurm is not asked */
	struct step **steps;	   /* all of them */
	struct request **requests; /* of steps that do not exist yet */
	const char *node_name;
	const char *state_dir;
	const char *hdf5_dir; /* NULL: not configured */
	const char *cluster;
	struct freq freq;	     /* of steps that did not ask for their own */
	uint64_t boot0_ns, real0_ns; /* one instant on both clocks: rows fall on its multiples */
	unsigned families;	     /* of steps that ask for nothing; 0: they are not profiled */
	struct column pmu_cols[JP_PMU_EVENTS];	 /* of the events that are counted */
	struct column burst_cols[JP_PMU_EVENTS]; /* the same, of a burst */
	unsigned npmu;
	struct point_table points[2];	     /* of SamplePoints: without, and with events */
	bool can_ask;			     /* there is a socket to ask through */
	bool extern_all;		     /* ExternSteps=all */
	enum config_node_tables node_tables; /* NodeTables */
	bool external_rows;		     /* rows of external series have come in this turn */
	bool new_findings;		     /* findings of running steps are to be sent */
	bool leaving;  /* the daemon ends: what is not known now will not become known */
	bool embedded; /* jobprof run: the file goes to hdf5_dir itself, as uid:gid */
	const char *file, *command, *cwd, *user; /* of jobprof run: see daemon_opts */
	const int *command_status;		 /* likewise */
	uid_t uid;
	gid_t gid;
	const struct cgroup_roots *cgroups;
	struct probed_regions *probed; /* NULL: none were asked for */
	struct overhead *overhead;     /* what rests, as it costs too much */
	unsigned slower;       /* rows are so many times less often than asked for; 0: as 1 */
	uint64_t clock_steps;  /* how often the wall clock was set since the start */
	struct job_uses *uses; /* NULL: nobody asks for metrics */
};

/* What is missing as a jobprofd could not go on with the counts of the one before. */
struct step_loss {
	uint64_t since_ns; /* boot time of the last row before, until this is told; 0: it is told */
	uint64_t ns;	   /* how long nothing was counted, in all, */
	unsigned families; /* of these */
	uint64_t earlier_cpu_ns; /* CPU time that earlier maps have counted, as far as rows have it
				  */
	uint64_t missed_ns;	 /* kern__missed_ns() when the step was first seen */
};

/* What jobprofd loses itself, and not the kernel side. */
enum own_loss {
	LOSS_STACKS,
	LOSS_MAPS,
	LOSS_CLOCK,
	LOSS_WRITERS,
	LOSS_ROWS,
	LOSS_POINTS,
	LOSS_TEXTS,
	OWN_LOSSES
};

struct step {
	enum step_state state;
	uint32_t slot, gen;
	uint32_t hier; /* of its cgroup */
	uint64_t cgroup_id;
	struct cgroup_ids ids;
	char path[JP_PATH_LEN];
	char job_host[256];   /* first node of its job, "": not known */
	uint64_t node_ask_ns; /* has_node is not looked up before this instant */
	uint64_t next_ask_ns,
		ask_every_ns; /* when and how often its processes are asked for their owner */
	uid_t uid;
	gid_t gid;
	bool uid_known;
	bool baseline;		/* its processes were running when they were first seen */
	bool has_node, crowded; /* node_tables__allowed(): its job has the node as a whole; and yet
				   another job was seen */
	bool merge_noted;	/* automerge.c has read job_host */
	bool asks_reason, asks_state; /* ASKING: what is missing */
	bool facts_journaled; /* the attributes that Slurm's controller knows are in the journal */
	uint64_t start_boot_ns, start_real_ns, end_boot_ns;
	uint64_t clock_steps0;
	struct totals others0; /* of slot 0 when the step began */
	struct journal *journal;
	struct frame frame;
	unsigned families; /* what its tables hold */
	bool own_freq; /* its intervals were asked for: those of the configuration do not apply */
	uint64_t interval_ns[ALL_KINDS]; /* 0: off; UINT64_MAX: one row, at the end */
	struct column_set sets[COUNTED_KINDS];
	uint32_t *slots;		/* its slots, see step__collect_slots() */
	struct slot_owner *slot_owners; /* of each slot */
	unsigned nslots, max_slots;
	struct table *tables;
	unsigned ntables;
	size_t max_tables;
	unsigned next_table;	  /* the index at which the next search probably succeeds */
	uint64_t grid[ALL_KINDS]; /* number of the interval the last row was in */
	uint64_t rows, intervals, lost_rows;
	struct step_loss loss;
	uint64_t earlier_losses[OWN_LOSSES]; /* while an earlier jobprofd had the step */
	uint64_t cut_bytes;	/* bytes that another program has cut off the journal */
	unsigned late_requests; /* disk requests that were under way when its last row was taken */
	uint64_t unseen_ends;	/* threads that had ended, and were not counted, then */
	int tasks_seen;
	unsigned unanswered; /* questions that are not answered yet: step_ask.c */
	bool asking_stepd, asking_env, asking_name;
	uint64_t asking_ns; /* since when its last row waits for answers; 0: it does not */
	unsigned asking_tasks;
	uint64_t next_stepd_ns, next_tasks_ns; /* not asked before these instants */
	struct lineage *lineages; /* first processes of lineages that began before this daemon */
	struct task_about *about; /* of each task: task_about.h */
	unsigned nlineages, lineages_known, nabout;
	unsigned unread;	    /* processes that could not be read */
	struct lookup_env *job_env; /* from the environment; NULL: no answer yet */
	int allocated_cpus;	    /* 0: not known */
	double memory_limit;	    /* bytes, NAN: not known */
	bool have_last_cg;	    /* last_cg, below */
	bool asked;		    /* processes that ran before this daemon have been read */
	bool env_journaled;	    /* attributes from the job's environment are in the journal */
	bool given_up;		    /* IGNORED for a reason that was logged, or for good */
	bool refused;		    /* an extern step whose job's user wants no profile */
	bool user_seen;		    /* it had a process that was no daemon of root */
	bool unused;	      /* NEW, and an extern step in which no program of its user was seen */
	bool closing;	      /* its frame must be written, because there is no next row */
	bool first_node;      /* this is its job's first node, as far as known */
	bool closed;	      /* an earlier jobprofd has written its last rows */
	bool full_logged;     /* it was logged that rows are left out: full_ns */
	bool unwritable;      /* the last write to the journal failed */
	bool unnamed;	      /* the journal is open, and not at its path */
	bool reduced;	      /* its user's journals, or all, take too much space */
	uint64_t next_row_ns; /* where reduced: no row before this instant */
	uint64_t full_ns;     /* since when rows are left out of the journal; 0: none is */
	struct log_limit log_full;
	struct end_reason end_reason;
	struct request *req;	 /* messages of peers about it, or NULL */
	struct cgroup_files *cg; /* NULL: not read yet */
	/* values of cg when a task had ended or no process was alive, because slurmstepd then
	 * removes one directory after the other */
	double last_cg[CG_N];
	uint64_t last_cg_cpu_ns;      /* CPU time of all processes then, if known, by which is seen
					 whether one has run since */
	struct step_sensors *sensors; /* readings of the node's sensors; NULL: none */
	struct step_stacks *stacks;   /* NULL: none were seen yet */
	struct recent_bursts *recent; /* NULL: nobody has asked for them */
	struct publication pub;
	struct use_watch use;
	struct step *next;
};

/* Collects the slots that count for the step in s->slots. from: the snapshot's slots where its
 * counts are used, else the slots as they are now. */
void step__collect_slots(struct step *s, struct slots from);
#define for_each_slot(slot, s) \
	for (unsigned i_ = 0; i_ < (s)->nslots && ((slot) = (s)->slots[i_], true); i_++)

/* Sets the step's ids, as far as its cgroup's path and slurmstepd's title have them. 0 or
 * -errno. */
int step__parse_path(struct step *s, const struct step_env *env);
/* Reads ids from the path of a cgroup of the step. 0 or -errno. */
int step__parse_cgroup(const struct step *s, const struct step_env *env, const char *path,
		       struct cgroup_ids *ids);
/* The hierarchy of the step's cgroup, or NULL. */
const struct kern_root *step__cgroup_root(const struct step *s, const struct step_env *env);
/* The time between two rows of a kind of table, as it is now. */
uint64_t step__interval(const struct step *s, const struct step_env *env, int kind);
/* Slurm's name of the node that the step runs on. */
const char *step__node_name(const struct step *s, const char *host_name);
/* Sets the key that no other step of this host has; the step's ids must be known. */
void step__key(const struct step *s, struct step_key *p);
/* Whether both are steps of one job on this node. */
bool step__same_job(const struct step *a, const struct step *b);
/* Whether a process of that user proves that the step is the user's. */
bool step__may_own(const struct step *s, uid_t uid);
/* Whether the step's processes ran before they could be counted. */
bool step__began_before(const struct step *s, const struct kern *k);
/* Whether a part of the node's energy may be the step's. */
bool step__uses_node(const struct step *s);
/* Whether no task and no disk request of the step can write to its slots any more. */
bool step__quiet(struct step *s, struct kern *k);
/* Releases the step's slots. */
void step__release(struct step *s, struct kern *k);

/* ---- The values in the files of a step's cgroup: memory, throttling, pressure. */

/* Reads the values. now: the totals of the row; NULL: the values are for no row. */
void step__read_cgroup(struct step *s, const struct step_env *env, const struct totals *now,
		       double cg[CG_N]);
/* Called when a task, perhaps the last one, has ended: stores the cgroup's values for the last row.
 */
void step__remember_cgroup(struct step *s, const struct step_env *env);

#endif
