// SPDX-License-Identifier: GPL-2.0-or-later
/* jobprofd --check: each feature is found by trying it or by BTF, not by a version; kernels that
 * are too old for any trial are refused by it. */
#include <dirent.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "kern/internal.h"
#include "kern/pmu/perf_names.h"
#include "kern/probe.h"

struct probe {
	const char *name, *how, *without;
	bool required;
	int (*test)(const struct probe *p, const struct btf *btf, char *detail, size_t len);
	int arg, arg2;
	const char *text;
};

#define OLDEST_MAJOR 5
#define OLDEST_MINOR 11

/* Distributions have brought BPF to older kernels, as EL 8 to 4.18: nothing of jobprof was tried
 * there. */
bool kern_is_old(char *release, size_t len)
{
	struct utsname u = {};
	unsigned major = 0, minor = 0;

	uname(&u);
	snprintf(release, len, "%s", u.release);
	return sscanf(u.release, "%u.%u", &major, &minor) == 2 &&
	       (major < OLDEST_MAJOR || (major == OLDEST_MAJOR && minor < OLDEST_MINOR));
}

static int has_release(const struct probe *p, const struct btf *btf, char *detail, size_t len)
{
	return !kern_is_old(detail, len);
}

static int has_btf(const struct probe *p, const struct btf *btf, char *detail, size_t len)
{
	if (btf)
		snprintf(detail, len, "%u types", btf__type_cnt(btf));
	return !!btf;
}

static int has_map(const struct probe *p, const struct btf *btf, char *detail, size_t len)
{
	return libbpf_probe_bpf_map_type(p->arg, NULL);
}

static int has_helper(const struct probe *p, const struct btf *btf, char *detail, size_t len)
{
	return kern_has_helper(p->arg2, p->arg);
}

static int has_tracepoint(const struct probe *p, const struct btf *btf, char *detail, size_t len)
{
	char name[96];

	if (!btf)
		return -ENOENT;
	snprintf(name, sizeof(name), "btf_trace_%s", p->text);
	return btf__find_by_name_kind(btf, name, BTF_KIND_TYPEDEF) > 0;
}

/* "struct.member" */
static int has_member(const struct probe *p, const struct btf *btf, char *detail, size_t len)
{
	const struct btf_member *m;
	const struct btf_type *t;
	char type[64];
	const char *dot = strchr(p->text, '.');
	int id, i;

	if (!btf)
		return -ENOENT;
	snprintf(type, sizeof(type), "%.*s", (int)(dot - p->text), p->text);
	id = btf__find_by_name_kind(btf, type, BTF_KIND_STRUCT);
	if (id <= 0)
		return 0;
	t = btf__type_by_id(btf, id);
	m = btf_members(t);
	for (i = 0; i < btf_vlen(t); i++)
		if (!strcmp(btf__name_by_offset(btf, m[i].name_off), dot + 1))
			return 1;
	return 0;
}

static int has_mmapable(const struct probe *p, const struct btf *btf, char *detail, size_t len)
{
	LIBBPF_OPTS(bpf_map_create_opts, o, .map_flags = BPF_F_MMAPABLE);
	int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, NULL, 4, 8, 1, &o);

	if (fd < 0)
		return errno == EPERM ? -EPERM : 0;
	close(fd);
	return 1;
}

static int has_event(const struct probe *p, const struct btf *btf, char *detail, size_t len)
{
	return kern_event_id(p->text) >= 0;
}

static int has_fexit(const struct probe *p, const struct btf *btf, char *detail, size_t len)
{
	return btf ? kern_can_fexit(btf, p->text) : -ENOENT;
}

static int has_packets(const struct probe *p, const struct btf *btf, char *detail, size_t len)
{
	int err = kern_try_packets();

	if (err)
		snprintf(detail, len, "%s", kern_no_packets(err));
	return err == -EPERM ? err : !err;
}

static int has_file(const struct probe *p, const struct btf *btf, char *detail, size_t len)
{
	return !access(p->text, F_OK);
}

static int has_stats(const struct probe *p, const struct btf *btf, char *detail, size_t len)
{
	int fd = kern__stats_on();

	if (fd < 0)
		return fd == -EPERM ? -EPERM : 0;
	close(fd);
	return 1;
}

/* An event by its name, as pmu_events.c will open it: counting, or with a period sampling. */
static int has_counter(const struct probe *p, const struct btf *btf, char *detail, size_t len)
{
	const char *near;
	const struct perf_name *event = perf_names__find(p->text, &near);
	struct pmu one = {.n = 1};
	int fd;

	one.events[0].type = event->type;
	one.events[0].config = event->config;
	fd = kern_pmu_event(&one, 0, 0, -1, (uint64_t)p->arg);
	if (fd < 0) {
		snprintf(detail, len, "%s: %s", p->text, strerror(-fd));
		return fd == -EACCES || fd == -EPERM ? -EPERM : 0;
	}
	close(fd);
	return 1;
}

static int has_kept_events(const struct probe *p, const struct btf *btf, char *detail, size_t len)
{
	return kern_pmu_keeps_events();
}

static int has_program(const struct probe *p, const struct btf *btf, char *detail, size_t len)
{
	return libbpf_probe_bpf_prog_type(p->arg, NULL);
}

static int has_ask(const struct probe *p, const struct btf *btf, char *detail, size_t len)
{
	return btf ? kern_can_query_tasks(btf) : -ENOENT;
}

static int has_registers(const struct probe *p, const struct btf *btf, char *detail, size_t len)
{
	return kern_has_registers();
}

static int has_cast(const struct probe *p, const struct btf *btf, char *detail, size_t len)
{
	return btf ? kern_can_cast(btf) : -ENOENT;
}

static int has_uprobes(const struct probe *p, const struct btf *btf, char *detail, size_t len)
{
	return !kern_region_probe(&(struct kern_opts){.nregions = 1});
}

static const struct probe probes[] = {
	{"kernel 5.11 or later", "uname", "nothing was tried", true, has_release, 0, 0, NULL},
	{"kernel BTF", "/sys/kernel/btf/vmlinux or --btf", "nothing works", true, has_btf, 0, 0,
	 NULL},
	{"mmapable array", "map created", "nothing works (5.5)", true, has_mmapable, 0, 0, NULL},
	{"task storage", "map type probed", "nothing works (5.11)", true, has_map,
	 BPF_MAP_TYPE_TASK_STORAGE, 0, NULL},
	{"ring buffer", "map type probed", "nothing works (5.8)", true, has_map,
	 BPF_MAP_TYPE_RINGBUF, 0, NULL},
	{"queue", "map type probed", "nothing works (4.20)", true, has_map, BPF_MAP_TYPE_QUEUE, 0,
	 NULL},
	{"kernel's memory", "helper probed", "nothing works (lockdown=confidentiality)", true,
	 has_helper, BPF_FUNC_probe_read_kernel, BPF_PROG_TYPE_RAW_TRACEPOINT, NULL},
	{"sched_switch", "BTF of the tracepoint", "raw tracepoint: late threads wait for a sweep",
	 false, has_tracepoint, 0, 0, "sched_switch"},
	{"cgroup_mkdir", "BTF of the tracepoint", "nothing works", true, has_tracepoint, 0, 0,
	 "cgroup_mkdir"},
	{"cgroup_attach_task", "BTF of the tracepoint", "nothing works", true, has_tracepoint, 0, 0,
	 "cgroup_attach_task"},
	{"run-queue delay", "BTF of sched_info", "RunDelay, RunLatency", true, has_member, 0, 0,
	 "task_struct.sched_info"},
	{"registers of tasks", "helper probed",
	 "causes in TimeBudget by system call: disk, kernel and other only (before 5.15)", false,
	 has_registers, 0, 0, NULL},
	{"typed pointers", "program tried",
	 "some 50 ns more for TimeBudget where a thread blocks in read or write (before 6.2)",
	 false, has_cast, 0, 0, NULL},
	{"throttled threads", "BTF of task_struct",
	 "Throttled in TimeBudget; such time is CPUWait (before 6.18)", false, has_member, 0, 0,
	 "task_struct.throttled"},
	{"I/O accounting", "BTF of task_struct.ioac", "ReadMB, WriteMB, file family", true,
	 has_member, 0, 0, "task_struct.ioac"},
	{"tasks by number", "program tried",
	 "a pass over all tasks of the node for every sample (before 6.10)", false, has_ask, 0, 0,
	 NULL},
	{"per-CPU RSS parts", "helper probed", "memory columns off by one batch per CPU", false,
	 has_helper, BPF_FUNC_map_lookup_percpu_elem, BPF_PROG_TYPE_RAW_TRACEPOINT, NULL},
	{"bpf_loop", "helper probed", "nothing where RSS is not kept per CPU (before 6.2)", false,
	 has_helper, BPF_FUNC_loop, BPF_PROG_TYPE_RAW_TRACEPOINT, NULL},
	{"block requests", "BTF of block_rq_complete", "block family", false, has_tracepoint, 0, 0,
	 "block_rq_complete"},
	{"block_io_start", "BTF of the tracepoint",
	 "a request's owner is who inserts or issues it, at times a kernel thread (before 6.5)",
	 false, has_tracepoint, 0, 0, "block_io_start"},
	{"hardware counters", "perf_event_open tried",
	 "Cycles, Instructions and the like; of PIKA's tags compute-bound", false, has_counter, 0,
	 0, "cycles"},
	{"samples of cycles", "perf_event_open tried",
	 "SampleEvent=cycles, which was not tried on hardware: its points stay samples of the "
	 "clock",
	 false, has_counter, 1000000, 0, "cycles"},
	{"node loads", "perf_event_open tried",
	 "PerfEvents=node-loads,node-load-misses, and the finding numa.remote", false, has_counter,
	 0, 0, "node-load-misses"},
	{"counters in programs", "helper probed", "family perf", false, has_helper,
	 BPF_FUNC_perf_event_read_value, BPF_PROG_TYPE_RAW_TRACEPOINT, NULL},
	{"sampling programs", "program type probed", "family perf where reading is dear", false,
	 has_program, BPF_PROG_TYPE_PERF_EVENT, 0, NULL},
	{"events kept by maps", "map created", "counts while jobprofd is restarted (5.12)", false,
	 has_kept_events, 0, 0, NULL},
	{"run statistics", "BPF_ENABLE_STATS tried", "times in jobprof-dump --self", false,
	 has_stats, 0, 0, NULL},
	{"socket tracepoints", "BTF of the tracepoint", "network family through fexit (before 6.3)",
	 false, has_tracepoint, 0, 0, "sock_send_length"},
	{"fexit", "tried on inet_sendmsg",
	 "network family by packets where socket tracepoints are absent too", false, has_fexit, 0,
	 0, "inet_sendmsg"},
	{"cgroup_skb", "tried at the root of cgroup v2",
	 "network family where socket tracepoints and fexit are absent too", false, has_packets, 0,
	 0, NULL},
	{"socket storage", "map type probed", "network family", false, has_map,
	 BPF_MAP_TYPE_SK_STORAGE, 0, NULL},
	{"tcp_retransmit_skb", "BTF of the tracepoint", "TcpRetrans", false, has_tracepoint, 0, 0,
	 "tcp_retransmit_skb"},
	{"syscall tracepoints", "tracefs", "files family through one program on every system call",
	 false, has_event, 0, 0, "syscalls/sys_exit_openat"},
	{"probes on functions", "event source, and helper probed",
	 "jobprof run --region (before 5.15)", false, has_uprobes, 0, 0, NULL},
	{"pressure (PSI)", "/proc/pressure/cpu", "PSICpu, PSIMem, PSIIO", false, has_file, 0, 0,
	 "/proc/pressure/cpu"},
	{"cpufreq", "sysfs of cpu0", "CPUFrequency is the nominal clock", false, has_file, 0, 0,
	 "/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq"},
};

bool kern__may_load(void)
{
	return libbpf_probe_bpf_prog_type(BPF_PROG_TYPE_TRACEPOINT, NULL) == 1;
}

unsigned kern__features(struct kern_feature *out, unsigned max, const char *btf_path)
{
	struct btf *btf = btf_path ? btf__parse(btf_path, NULL) : btf__load_vmlinux_btf();
	unsigned i, n = sizeof(probes) / sizeof(probes[0]);

	libbpf_set_print(NULL);
	if (libbpf_get_error(btf))
		btf = NULL;
	for (i = 0; i < n && i < max; i++) {
		const struct probe *p = &probes[i];

		out[i] = (struct kern_feature){.name = p->name,
					       .how = p->how,
					       .without = p->without,
					       .required = p->required};
		out[i].state = p->test(p, btf, out[i].detail, sizeof(out[i].detail));
	}
	btf__free(btf);
	return i;
}
