/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The messages over jobprofd's socket (SOCK_SEQPACKET, /run/jobprof/jobprofd.sock): one message per
 *packet, in fixed layouts and in the node's byte order, because both ends are on one node. A
 *message whose length does not fit its type, or of another version, is refused. With each message
 *the kernel tells jobprofd the sender (credentials, cgroup), which is never taken from the message.
 *
 *	sender		messages		answer
 *	root		STEP STEP_END		REPLY always
 *			TASK TASK_END CONF	REPLY with JPC_F_REPLY
 *			FINDINGS		REPLY, then FINDING for each that comes
 *	job's owner	TABLE			REPLY always
 *	and root	ROWS MARK		REPLY with JPC_F_REPLY
 *	owner, admins	LIVE			TABLE and ROWS of each table, then REPLY;
 *						with JPC_F_BRIEF a STEP before those of a step
 *	owner, admins	BURSTS			a TABLE and its ROWS, then REPLY
 *	job's owner	TOTALS			the same, of the sender's own step; with
 *						JPC_F_JOURNAL first a JOURNAL
 *	job's owner	RING			RING, then REPLY
 *	root, admins	STATUS			STATUS with a text, then REPLY
 *	root, admins,	METRICS			METRICS with a file, then REPLY
 *	MetricsUser
 *
 * A sender's step is the one whose cgroup it is in; root's slurmstepd may be in the job's directory
 * only, and names the step. Texts end with NUL within their array; an unknown text is "", an
 * unknown number JPC_UNKNOWN. In a STEP from slurmstepd the numbers, node_name and cpus are Slurm's
 * own; the other texts, time_limit, restart and the het ids are from the job's environment, which
 * its user may have changed.
 *
 * Messages stay unread where a user has sent too many (daemon/socket/quota.h), or where their
 *sender has answers to read; send() fails with EAGAIN when the kernel has no room for more.
 *
 * A sender may be gone with answers unread, for example when it was killed: recv() then fails with
 * ECONNRESET once, and returns the messages that were sent before after that.
 *
 * Errors that senders act on: -ESRCH: the sender is in no step that is profiled, -EACCES: not
 * allowed; both end a program's attempts for a while.
 */
#ifndef JP_CLIENT_PROTOCOL_H
#define JP_CLIENT_PROTOCOL_H

#include <stdint.h>

#define JPC_SOCKET "/run/jobprof/jobprofd.sock"
/* After the socket's path: the path of a second socket for root alone. */
#define JPC_SOCKET_ROOT ".root"
#define JPC_MAGIC	0x314a5043u /* "CPJ1" */
#define JPC_VERSION	1
#define JPC_MAX		32768 /* bytes of a message */
#define JPC_UNKNOWN	0xffffffffu
#define JPC_ALL		0xfffffffeu /* in LIVE: every job */

enum jpc_type {
	JPC_STEP = 1,
	JPC_STEP_END,
	JPC_TASK,
	JPC_TASK_END,
	JPC_TABLE,
	JPC_ROWS,
	JPC_MARK,
	JPC_LIVE,
	JPC_REPLY,
	JPC_STATUS,
	JPC_CONF,
	JPC_TOTALS,
	JPC_RING,
	JPC_BURSTS,
	JPC_JOURNAL,
	JPC_FINDINGS,
	JPC_FINDING,
	JPC_METRICS,
};

#define JPC_F_REPLY   1 /* a REPLY is wanted */
#define JPC_F_ROWS    2 /* this and JPC_F_JOURNAL: in TOTALS only */
#define JPC_F_JOURNAL 4
#define JPC_F_BRIEF   8	 /* in LIVE only */
#define JPC_F_JSON    16 /* in STATUS only */

struct jpc_head {
	uint32_t magic;
	uint16_t version;
	uint16_t type;	 /* enum jpc_type */
	uint32_t length; /* of the whole message */
	uint16_t flags;	 /* JPC_F_* */
	uint16_t seq;	 /* the sender's; a REPLY has its message's */
};

/* The sender of a STEP. A request by --jobprof outranks --profile, which outranks the
 * configuration. */
enum jpc_source { JPC_SPANK = 1, JPC_PROFILE };

/* A step begins; no task of it has begun yet. The message is sent again when more is known, or when
 * jobprofd was restarted. */
struct jpc_step {
	struct jpc_head head;
	uint32_t source; /* enum jpc_source */
	uint32_t asked;	 /* 0: nothing was asked for, and both families and freq are "" */
	uint32_t job_id;
	uint32_t step_id; /* Slurm's number, also of batch and extern */
	uint32_t uid;
	uint32_t gid;
	uint32_t restart;
	uint32_t node_index;
	uint32_t nnodes;
	uint32_t node_tasks; /* on this node */
	uint32_t ntasks;
	uint32_t cpus_per_task;
	uint32_t array_job_id;
	uint32_t array_task_id;
	uint32_t het_job_id;
	uint32_t het_offset;
	uint32_t time_limit; /* unix time when the job must end */
	uint32_t flags;	     /* JPC_STEP_* */
	uint64_t memory_mb;  /* limit of the step on this node, 0: none or unknown */
	char step_name[32];  /* as in cgroup names */
	char families[256];  /* as the user wrote them: see family__parse() */
	char freq[128];	     /* see freq__parse() */
	char node_name[64];
	char cluster[64];
	char job_name[128];
	char account[64];
	char partition[64];
	char user[64];
	char cpus[256];	      /* cores of the step on this node as Slurm numbers them: "0-3" */
	char node_list[1024]; /* of the step */
	char job_node_list[1024];
};

/* In struct jpc_step: the user asked that findings are told while the step runs. */
#define JPC_STEP_FINDINGS 1u

/* slurmstepd asks for the findings of its step, after its STEP and over the same connection. Each
 * comes once, at most JPC_FINDINGS_MAX of a step. */
struct jpc_findings {
	struct jpc_head head;
};

#define JPC_FINDINGS_MAX 4u

struct jpc_finding {
	struct jpc_head head;
	char rule[32];
	char text[256]; /* one line, in UTF-8 */
};

/* The absolute path of the slurm.conf of the sender's slurmstepd; sent after its STEP. */
struct jpc_conf {
	struct jpc_head head;
	uint32_t job_id;
	uint32_t step_id;
	char step_name[32];
	char path[256];
};

struct jpc_step_end {
	struct jpc_head head;
	uint32_t job_id;
	uint32_t step_id;
	char step_name[32];
	char reason[64]; /* "": jobprofd finds out by itself */
};

/* A task, before its first program: pid is its process. */
struct jpc_task {
	struct jpc_head head;
	uint32_t job_id;
	uint32_t step_id;
	char step_name[32];
	uint32_t gtid; /* JPC_UNKNOWN at the start of tasks in later het components */
	uint32_t local_id;
	int32_t pid;
	int32_t status; /* TASK_END: wait status */
};

enum jpc_cell { JPC_U64, JPC_F64 };
/* A column has the value at the instant, the change since the last row, or the sum since the step's
 * start. */
enum jpc_kind { JPC_GAUGE, JPC_DELTA, JPC_CUMULATIVE };

#define JPC_COLUMNS 128

struct jpc_column {
	char name[48];
	char unit[14];
	uint8_t cell; /* enum jpc_cell */
	uint8_t kind; /* enum jpc_kind */
};

/* Declares a table before its first rows. The sender numbers its tables from 0. jobprofd adds the
 * time columns. Where a table of that name with the same columns exists, the rows continue it. */
struct jpc_table {
	struct jpc_head head;
	uint32_t table;
	uint32_t ncols;
	/* From users: "" or "User", which mean the same; from Slurm's gatherers: their group or "".
	 * In answers to LIVE: STEP or STEP/GROUP. */
	char group[48];
	char name[64];
	struct jpc_column col[]; /* ncols */
};

struct jpc_rows {
	struct jpc_head head;
	uint32_t table;
	uint32_t nrows;
	/* nrows times: int64_t unix time in ns (0: now), then ncols cells of 8 bytes. In answers to
	 * LIVE the cells are those of the table, time columns too, without the leading time. */
	uint64_t cell[];
};

struct jpc_mark {
	struct jpc_head head;
	int64_t time_ns; /* unix time, 0: now */
	char name[64];
};

/*
 * Asks for the last rows of a step; job_id JPC_UNKNOWN with "" is the sender's own, JPC_ALL are all
 * that the sender may see, which may be none. With JPC_F_BRIEF a STEP comes before the tables of
 * each step, with what is known of its job, and the tables are only Step, Tasks, Ranks and
 * Energy, with columns more: Interval, how many seconds the row counts, and but for Energy
 * CPUTotal, the CPU time since the step's start.
 */
struct jpc_live {
	struct jpc_head head;
	uint32_t job_id;
	uint32_t pad;
	char step_name[32]; /* "": all of the job's */
};

/*
 * Asks for the bursts of a step with numbers above `after`; numbers count from 1 in each step. The
 * answer is one table with the columns Number, Task and those of Bursts. jobprofd stores the last
 * JPC_BURSTS_KEPT bursts of a step, from the first question on and as long as it is asked once a
 * minute. Missing numbers are of bursts that it has discarded. -ENODATA: the step has no series of
 * bursts; -EDQUOT: bursts of JPC_BURSTS_STEPS steps are stored already.
 */
struct jpc_bursts {
	struct jpc_live of;
	uint64_t after;
};

#define JPC_BURSTS_KEPT	 32768u
#define JPC_BURSTS_STEPS 64u

/* Asks what the sender's own step, and one task of it, have used up to this instant. The answer's
 * tables are Step and Tasks/<task>, with one row each: columns of JPC_DELTA are sums since the
 * step's start, and PeakMB is the highest so far. The question adds no row to the profile; with
 * JPC_F_ROWS each table of the step gets a row of this instant. With JPC_F_JOURNAL too, a JOURNAL
 * comes first, with the reading end of a pipe that gives the step's journal for 10 s. Where none
 * comes, jobprofd is older, or the journal could not be read. -EAGAIN: the step has just begun. */
struct jpc_totals {
	struct jpc_head head;
	uint32_t task; /* JPC_UNKNOWN: none */
	uint32_t pad;
};

struct jpc_journal {
	struct jpc_head head;
};

/*
 * Regions of the sender's threads go through shared memory. jobprofd answers the first RING of a
 * connection by a RING with the descriptors of two memory files, and a REPLY. The first file is a
 * struct jpc_ring; the second one, which the process may only read, is a word with the number of
 * records that jobprofd has read. A later RING makes jobprofd read the ring at once; without one,
 * jobprofd reads it at its rows and when the connection ends. A jobprofd that was restarted gives
 * another ring: `before` counts the records of earlier rings, and the journal says how many of
 * these were read.
 */
struct jpc_ring_message {
	struct jpc_head head;
};

#define JPC_RING_RECORDS 16384u /* a power of two; older ones are overwritten */
#define JPC_REGIONS	 256u
#define JPC_REGION_END	 0x80000000u /* in jpc_record.region: the region ends */

/* A region begins or ends. A record is complete when seq is its number; numbers count from 1. */
struct jpc_record {
	uint64_t seq;
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	uint32_t region;  /* index in jpc_ring.name */
	uint32_t thread;  /* as the thread itself knows it */
	uint64_t pad;
};

/* The contents of the first memory file. The job's programs may write anything there. */
struct jpc_ring {
	uint64_t head; /* number of records that were begun */
	uint64_t unused;
	uint64_t lost; /* earlier records that no jobprofd has read, as far as the process knows */
	uint64_t
		id; /* number of the process among those that had its pid; 0: `before` is not set */
	uint64_t before; /* number of earlier records of the process, in other rings or in none */
	uint64_t pad[3];
	char name[JPC_REGIONS][64];
	struct jpc_record record[JPC_RING_RECORDS];
};

/* Asks for the state of jobprofd. The question has no text; the answer's text ends with NUL. With
 * JPC_F_JSON it is the members of a JSON object, with no braces around them. */
struct jpc_status {
	struct jpc_head head;
	char text[];
};

/*
 * Asks for the metrics of the node and its jobs. The answer has the descriptor of a memory file, in
 * which they are as Prometheus reads them, sealed. What all jobs have used here since jobprofd
 * started is in the message, s; the question has 0 there.
 */
struct jpc_metrics {
	struct jpc_head head;
	double job_cpu, job_wait;
};

/* The series of a step that jobprofd measures itself, as the bits of Slurm's --profile. */
#define JPC_MEASURES_ENERGY  0x02u
#define JPC_MEASURES_TASK    0x04u
#define JPC_MEASURES_LUSTRE  0x08u
#define JPC_MEASURES_NETWORK 0x10u

/* Findings of this step will be told to a FINDINGS. */
#define JPC_REPLY_FINDINGS 1u

struct jpc_reply {
	struct jpc_head head;
	int32_t error;	   /* 0 or -errno */
	uint32_t measures; /* STEP: JPC_MEASURES_* */
	uint32_t number;   /* STEP: 1 profiled, 0 not (yet); LIVE: tables sent; STATUS: problems */
	uint32_t flags;	   /* STEP: JPC_REPLY_FINDINGS */
	char text[224];	   /* the reason, for people */
};

_Static_assert(sizeof(struct jpc_head) == 16, "jpc_head");
_Static_assert(sizeof(struct jpc_step) == 96 + 32 + 256 + 128 + 3 * 64 + 128 + 2 * 64 + 256 + 2048,
	       "jpc_step");
_Static_assert(sizeof(struct jpc_conf) == 312, "jpc_conf");
_Static_assert(sizeof(struct jpc_step_end) == 120, "jpc_step_end");
_Static_assert(sizeof(struct jpc_finding) == 304, "jpc_finding");
_Static_assert(sizeof(struct jpc_task) == 72, "jpc_task");
_Static_assert(sizeof(struct jpc_column) == 64, "jpc_column");
_Static_assert(sizeof(struct jpc_table) == 136, "jpc_table");
_Static_assert(sizeof(struct jpc_rows) == 24, "jpc_rows");
_Static_assert(sizeof(struct jpc_mark) == 88, "jpc_mark");
_Static_assert(sizeof(struct jpc_live) == 56, "jpc_live");
_Static_assert(sizeof(struct jpc_bursts) == 64, "jpc_bursts");
_Static_assert(sizeof(struct jpc_totals) == 24, "jpc_totals");
_Static_assert(sizeof(struct jpc_journal) == 16, "jpc_journal");
_Static_assert(sizeof(struct jpc_ring_message) == 16, "jpc_ring_message");
_Static_assert(sizeof(struct jpc_record) == 32, "jpc_record");
_Static_assert(sizeof(struct jpc_ring) == 64 + 64 * JPC_REGIONS + 32 * JPC_RING_RECORDS,
	       "jpc_ring");
_Static_assert(sizeof(struct jpc_metrics) == 32, "jpc_metrics");
_Static_assert(sizeof(struct jpc_reply) == 256, "jpc_reply");

#endif
