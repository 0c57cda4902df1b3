/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The metrics of the node and its jobs, as Prometheus reads them, in a memory file for who asks.
 * All series of a metric stand together, and no label but the job's info has what a user has
 * written.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/metrics_text.h"
#include "daemon/follow/daemon_state.h"
#include "daemon/follow/follow.h"
#include "daemon/node/node.h"
#include "daemon/record/job_use.h"
#include "daemon/socket/control_internal.h"

#define LOOK_NS	    NSEC_PER_SEC	/* between two snapshots for who asks */
#define PROGRAMS_NS (60 * NSEC_PER_SEC) /* between two looks at the programs: a call for each */
#define SHOWN	    512			/* jobs of an answer */
#define PROGRAMS    128

/* ---- jobs */

static const struct {
	const char *name, *type, *help;
	enum job_value value;
	const char *cause; /* of blocked time */
} job_metrics[] = {
	{"job_cpu_seconds_total", "counter", "CPU time of the job on this node.", JOB_CPU, NULL},
	{"job_runqueue_wait_seconds_total", "counter", "Time threads of the job waited for a CPU.",
	 JOB_CPU_WAIT, NULL},
#define BLOCKED \
	"job_blocked_seconds_total", "counter", "Time threads of the job were blocked, by cause."
	{BLOCKED, JOB_BY_QUOTA, "quota"},
	{BLOCKED, JOB_BY_DISK, "disk"},
	{BLOCKED, JOB_BY_NET_FS, "network_fs"},
	{BLOCKED, JOB_BY_LOCK, "lock"},
	{BLOCKED, JOB_BY_MESSAGE, "message"},
	{BLOCKED, JOB_BY_OTHER, "other"},
	{"job_memory_bytes", "gauge", "Resident memory of the job's processes.", JOB_MEMORY, NULL},
	{"job_memory_peak_bytes", "gauge", "The highest of it that was seen so far.",
	 JOB_MEMORY_PEAK, NULL},
	{"job_memory_limit_bytes", "gauge", "Memory that the job may use on this node.",
	 JOB_MEMORY_LIMIT, NULL},
	{"job_read_bytes_total", "counter", "Bytes that read calls returned.", JOB_READ, NULL},
	{"job_written_bytes_total", "counter", "Bytes that write calls took.", JOB_WRITTEN, NULL},
	{"job_gpu_busy_ratio", "gauge", "Part of the job's GPUs on this node that is busy.",
	 JOB_GPU, NULL},
	{"job_processes", "gauge", "Processes of the job; 0: it holds the node with none.",
	 JOB_PROCESSES, NULL},
};

static void put_job_value(struct outbuf *o, const struct job_use *j, const char *name,
			  const char *cause, double v)
{
	if (isnan(v))
		return;
	outbuf__str(o, "jobprof_");
	outbuf__str(o, name);
	outbuf__str(o, "{jobid=\"");
	outbuf__u64(o, j->job_id);
	if (cause) {
		outbuf__str(o, "\",cause=\"");
		outbuf__str(o, cause);
	}
	outbuf__str(o, "\"}");
	metrics_text__value(o, v);
}

static void put_info(struct outbuf *o, const struct job_use *j, const char *cluster)
{
	outbuf__str(o, "jobprof_job_info{jobid=\"");
	outbuf__u64(o, j->job_id);
	outbuf__str(o, "\",");
	metrics_text__label(o, "sluid", j->sluid);
	outbuf__char(o, ',');
	metrics_text__label(o, "user", j->user);
	outbuf__char(o, ',');
	metrics_text__label(o, "account", j->account);
	outbuf__char(o, ',');
	metrics_text__label(o, "partition", j->partition);
	outbuf__char(o, ',');
	metrics_text__label(o, "cluster", cluster ? cluster : "");
	outbuf__str(o, "} 1\n");
}

/* The newest jobs are shown where there are too many. */
static unsigned find_shown(const struct job_uses *u, const struct job_use *shown[static SHOWN])
{
	unsigned n = 0, left_out = 0, i = 0;

	for (const struct job_use *j = u->jobs; j; j = j->next)
		n += job_use__is_shown(j);
	left_out = n > SHOWN ? n - SHOWN : 0;
	n = 0;
	for (const struct job_use *j = u->jobs; j; j = j->next)
		if (job_use__is_shown(j) && i++ >= left_out)
			shown[n++] = j;
	return left_out;
}

static void put_jobs(struct outbuf *o, struct daemon *d)
{
	const struct job_use *shown[SHOWN] = {NULL};
	const unsigned left_out = find_shown(&d->uses, shown);

	metrics_text__head(o, "job_info", "gauge", "Whose job it is.");
	for (unsigned i = 0; i < SHOWN && shown[i]; i++)
		put_info(o, shown[i], d->env.cluster);
	for (size_t m = 0; m < sizeof(job_metrics) / sizeof(job_metrics[0]); m++) {
		const char *name = job_metrics[m].name;

		if (!m || strcmp(job_metrics[m - 1].name, name) != 0)
			metrics_text__head(o, name, job_metrics[m].type, job_metrics[m].help);
		for (unsigned i = 0; i < SHOWN && shown[i]; i++)
			put_job_value(o, shown[i], name, job_metrics[m].cause,
				      shown[i]->v[job_metrics[m].value]);
	}
	metrics_text__one(o, "jobs_left_out", "gauge",
			  "Jobs that have no series, as there are too many.", left_out);
	for (struct job_use *j = d->uses.jobs; j; j = j->next)
		j->answers += !j->steps && j->answers < JOB_ANSWERS;
}

/* ---- the node */

static void put_energy(struct outbuf *o, const struct node *n)
{
	const struct node_joules j = node__joules(n);
	const struct {
		const char *part;
		double joules;
	} parts[] = {{"node", j.node}, {"package", j.package}, {"dram", j.dram}, {"gpu", j.gpu}};

	metrics_text__head(o, "node_energy_joules_total", "counter",
			   "Energy since jobprofd started, as of its last reading.");
	for (unsigned i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		metrics_text__series(o, "node_energy_joules_total", "part", parts[i].part,
				     parts[i].joules);
}

/* What is lost, or was counted where it does not belong. */
static void put_lost(struct outbuf *o, const struct kern *k, uint64_t rows)
{
	const struct jp_stats *s = &kern__control(k)->stats;
	const struct {
		const char *kind;
		uint64_t n;
	} kinds[] = {
		{"events", s->rb_lost},		{"steps", s->slots_exhausted},
		{"cgroups", s->cgroups_full},	{"tasks", s->storage_fail},
		{"requests", s->blk_lost},	{"samples", s->samples_late},
		{"regions", s->crossings_lost}, {"rows", rows},
	};

	metrics_text__head(o, "lost_events_total", "counter",
			   "What could not be counted or stored, by kind.");
	for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		metrics_text__series(o, "lost_events_total", "kind", kinds[i].kind,
				     (double)kinds[i].n);
}

static void put_overhead(struct outbuf *o, const struct overhead *h)
{
	metrics_text__one(o, "overhead_ratio", "gauge",
			  "What jobprof costs, as a part of the busy cores.", h->percent / 100);
	metrics_text__head(o, "overhead_level", "gauge",
			   "0: this part of jobprof works, more: it rests, or is sampled, to keep "
			   "OverheadBudget.");
	for (int p = 0; h->budget.percent > 0 && p < BUDGET_PARTS; p++)
		metrics_text__series(o, "overhead_level", "part", budget_infos[p].label,
				     h->budget.level[p]);
}

static void put_programs(struct outbuf *o, const struct kern *k)
{
	struct kern_prog p[PROGRAMS];
	const int n = kern__programs(k, p, PROGRAMS);
	double ns = 0, runs = 0;

	metrics_text__head(o, "program_loaded", "gauge",
			   "1: this BPF program is attached, 0: it is loaded.");
	for (int i = 0; i < n; i++) {
		metrics_text__series(o, "program_loaded", "program", p[i].name, p[i].attached);
		ns += (double)p[i].ns;
		runs += (double)p[i].runs;
	}
	if (!(runs > 0)) /* nobody has asked the kernel to measure */
		return;
	metrics_text__one(
		o, "bpf_seconds_total", "counter",
		"Time in all BPF programs of jobprofd, while kernel.bpf_stats_enabled is 1.",
		ns * 1e-9);
}

static void add_programs(struct outbuf *o, struct control *c, uint64_t now)
{
	const bool attached = kern__attached(c->d->env.k);

	if (!c->programs.buf || now > c->programs_ns + PROGRAMS_NS ||
	    c->programs_attached != attached) {
		outbuf__end(&c->programs);
		if (!outbuf__init(&c->programs, -1))
			put_programs(&c->programs, c->d->env.k);
		c->programs_ns = now;
		c->programs_attached = attached;
	}
	outbuf__mem(o, c->programs.buf, c->programs.len);
}

static void put_all(struct outbuf *o, struct control *c, uint64_t now)
{
	struct daemon *d = c->d;
	const struct totals *other = snapshot__totals(d->env.snap, JP_SLOT_OTHER);
	unsigned waiting;
	uint64_t rows;

	control_status__count(d, &waiting, &rows);
	metrics_text__one(o, "node_unowned_cpu_seconds_total", "counter",
			  "CPU time in jobs that no step could be given.",
			  other ? (double)other->v[T_CPU] * 1e-9 : NAN);
	put_energy(o, d->env.node);
	put_overhead(o, &d->overhead);
	put_lost(o, d->env.k, rows);
	metrics_text__one(o, "writer_queue", "gauge",
			  "Steps that have ended and whose file is to come.", waiting);
	add_programs(o, c, now);
	if (d->opts.cfg->metrics_jobs)
		put_jobs(o, d);
}

/* ---- the answer */

/* Who asks often gets the counts of one snapshot. */
static void look(struct daemon *d, uint64_t now)
{
	const struct step *s = d->steps;

	while (s && s->state != STEP_ACTIVE)
		s = s->next;
	if (s && now > snapshot__boot_ns(d->env.snap) + LOOK_NS)
		(void)sampling__look(&d->env); /* else the counts are those of the last one */
	job_uses__look(&d->uses, &d->env);
}

/* The file cannot be changed any more by who gets it. -errno: there is none. */
static int make_file(const struct outbuf *o)
{
	int fd = memfd_create("metrics", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0)
		return -errno;
	if (write(fd, o->buf, o->len) == (ssize_t)o->len &&
	    !fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL))
		return fd;
	close(fd);
	return -ENOMEM;
}

int control_metrics__send(struct call *k)
{
	struct daemon *d = k->c->d;
	struct jpc_metrics m = {.head = {.magic = JPC_MAGIC,
					 .version = JPC_VERSION,
					 .type = JPC_METRICS,
					 .length = sizeof(m)}};
	struct outbuf o;
	int fd, err = outbuf__init(&o, -1);

	if (err)
		return err;
	quota__charge(k->p->quota, QUOTA_LOOK);
	look(d, k->now);
	put_all(&o, k->c, k->now);
	m.job_cpu = d->uses.cpu_s;
	m.job_wait = d->uses.cpu_wait_s;
	fd = o.err ? o.err : make_file(&o);
	outbuf__end(&o);
	if (fd < 0)
		return fd;
	err = peer__send_fds(k->p, &m, (const int[FD_MESSAGE_FILES]){fd, -1});
	close(fd);
	return err;
}
