// SPDX-License-Identifier: GPL-2.0-only
/* Loading the programs, or taking over what an earlier daemon pinned. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <zlib.h>

#include "kern/internal.h"
#include "skel/jobprof.skel.h"

static char last_error[512];
static char libbpf_said[256];

const char *kern__error(void)
{
	return last_error;
}

int kern_fail(int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(last_error, sizeof(last_error), fmt, ap);
	va_end(ap);
	return err;
}

void kern_close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

uint64_t kern_boot_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_BOOTTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + ts.tv_nsec;
}

/* Keeps the first complaint of a load: the later ones only say that the load failed. */
static int keep_first(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	if (getenv("JOBPROF_LIBBPF_LOG"))
		return vfprintf(stderr, fmt, ap);
	if (level == LIBBPF_WARN && !libbpf_said[0]) {
		vsnprintf(libbpf_said, sizeof(libbpf_said), fmt, ap);
		libbpf_said[strcspn(libbpf_said, "\n")] = 0;
	}
	return 0;
}

/* Index of a v1 controller in css_set.subsys: it depends on the kernel's configuration. */
int kern_ssid(const char *controller, const char *btf_path)
{
	char name[64];
	struct btf *btf = btf_path ? btf__parse(btf_path, NULL) : btf__load_vmlinux_btf();
	const struct btf_type *t;
	const struct btf_enum *e;
	int id, i, ssid = -ENOENT;

	if (!btf || libbpf_get_error(btf))
		return -ENOENT;
	/* the file system and cgroupfs call this one blkio, the kernel io */
	snprintf(name, sizeof(name), "%s_cgrp_id", strcmp(controller, "blkio") ? controller : "io");
	id = btf__find_by_name_kind(btf, "cgroup_subsys_id", BTF_KIND_ENUM);
	if (id > 0) {
		t = btf__type_by_id(btf, id);
		e = btf_enum(t);
		for (i = 0; i < btf_vlen(t); i++)
			if (!strcmp(btf__name_by_offset(btf, e[i].name_off), name))
				ssid = e[i].val;
	}
	btf__free(btf);
	return ssid;
}

static bool rss_is_percpu(const char *btf_path)
{
	struct btf *btf = btf_path ? btf__parse(btf_path, NULL) : btf__load_vmlinux_btf();
	bool old = false;

	if (!btf || libbpf_get_error(btf))
		return true;
	old = btf__find_by_name_kind(btf, "mm_rss_stat", BTF_KIND_STRUCT) > 0;
	btf__free(btf);
	return !old;
}

/* What pinned maps must agree on with this program to be taken over. */
static uint64_t shape(const struct kern *k)
{
	size_t len;
	const void *elf = jobprof__elf_bytes(&len);
	uLong crc = crc32(0, elf, len);
	unsigned i;

	crc = crc32(crc, (const Bytef *)k->nodes, sizeof(k->nodes));
	crc = crc32(crc, (const Bytef *)&k->nslots, sizeof(k->nslots));
	crc = crc32(crc, (const Bytef *)&k->wanted, sizeof(k->wanted));
	crc = kern_pmu_crc(k, crc);
	crc = crc32(crc, (const Bytef *)k->unused, sizeof(k->unused));
	for (i = 0; i < k->opts.nroots; i++) {
		crc = crc32(crc, (const Bytef *)&k->opts.roots[i].hier, sizeof(uint32_t));
		crc = crc32(crc, (const Bytef *)k->opts.roots[i].controller,
			    strlen(k->opts.roots[i].controller));
	}
	return (uint64_t)crc << 32 | k->ncpus;
}

static int set_carriers(struct kern *k, struct jobprof *s)
{
	unsigned i;

	s->rodata->jp_ncarriers = k->opts.nroots;
	for (i = 0; i < k->opts.nroots; i++) {
		const struct kern_root *r = &k->opts.roots[i];
		int ssid = r->controller[0] ? kern_ssid(r->controller, k->opts.btf) : -1;

		if (r->controller[0] && ssid < 0)
			return kern_fail(-ENOENT,
					 "cgroup controller %s is not in the kernel's BTF: choose "
					 "another hierarchy",
					 r->controller);
		s->rodata->jp_carriers[i].hier = r->hier;
		s->rodata->jp_carriers[i].ssid = ssid;
	}
	return 0;
}

static void choose_maps(struct kern *k, struct jobprof *s)
{
	int i;

	for (i = 0; i < M_N; i++) {
		struct bpf_map *m = bpf_object__find_map_by_name(s->obj, kern_maps[i].name);

		bpf_map__set_autocreate(m, kern_has_map(k, i));
		if (kern_map_entries(k, i))
			bpf_map__set_max_entries(m, kern_map_entries(k, i));
	}
	if (k->opts.ring_bytes)
		bpf_map__set_max_entries(s->maps.jp_events, k->opts.ring_bytes);
	bpf_map__set_max_entries(s->maps.jp_owners, s->rodata->jp_blk_sets);
	if (k->pmu.n)
		bpf_map__set_max_entries(s->maps.jp_pmu_fds, k->pmu.n * k->ncpus);
	if (k->pmu.loses_events)
		bpf_map__set_map_flags(s->maps.jp_pmu_fds, 0);
}

/* One of them is loaded. */
static const char *const switches[] = {"jp_sched_switch", "jp_sched_switch_raw",
				       "jp_sched_switch_pmu"};
#define N_SWITCHES (sizeof(switches) / sizeof(switches[0]))

static const char *switch_name(const struct kern *k)
{
	if (k->opts.raw_tp)
		return "jp_sched_switch_raw";
	return k->pmu.mode == JP_PMU_EXACT ? "jp_sched_switch_pmu" : "jp_sched_switch";
}

static void choose_programs(struct kern *k, struct jobprof *s)
{
	int i;

	for (i = 0; i < P_N; i++)
		bpf_program__set_autoload(
			bpf_object__find_program_by_name(s->obj, kern_progs[i].name),
			kern_has_prog(k, i));
	for (i = 0; i < (int)N_SWITCHES; i++)
		bpf_program__set_autoload(bpf_object__find_program_by_name(s->obj, switches[i]),
					  !strcmp(switches[i], switch_name(k)));
	/* needed only where RSS is kept per CPU, and then bpf_map_lookup_percpu_elem exists;
	 * helpers are not probed for tracing programs, raw tracepoints have the same */
	if (libbpf_probe_bpf_helper(BPF_PROG_TYPE_RAW_TRACEPOINT, BPF_FUNC_map_lookup_percpu_elem,
				    NULL) != 1)
		bpf_program__set_autoload(s->progs.jp_percpu, false);
}

/* Maps and programs outlive the skeleton as plain file descriptors. */
static int keep_fds(struct kern *k, struct jobprof *s)
{
	int i;

	for (i = 0; i < M_N; i++) {
		if (!kern_has_map(k, i))
			continue;
		k->map[i] = fcntl(bpf_object__find_map_fd_by_name(s->obj, kern_maps[i].name),
				  F_DUPFD_CLOEXEC, 0);
		if (k->map[i] < 0)
			return kern_fail(-errno, "map %s is missing", kern_maps[i].name);
	}
	for (i = 0; i < P_N; i++) {
		const char *name = i == P_SWITCH ? switch_name(k) : kern_progs[i].name;
		struct bpf_program *p = bpf_object__find_program_by_name(s->obj, name);
		int fd = p ? bpf_program__fd(p) : -1;

		k->prog[i] = fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : -1;
	}
	return 0;
}

static const char *advice(int err)
{
	if (err == -EPERM || err == -EACCES)
		return geteuid() ? "run as root"
				 : "the kernel refuses BPF here (lockdown, or a container "
				   "without CAP_BPF and CAP_PERFMON)";
	if (access("/sys/kernel/btf/vmlinux", R_OK))
		return "the kernel has no BTF: use one built with CONFIG_DEBUG_INFO_BTF, or --btf "
		       "FILE";
	if (err == -ENOMEM)
		return "not enough memory for the maps: lower MaxSlots";
	return "see jobprofd --check";
}

static int load_object(struct kern *k)
{
	LIBBPF_OPTS(bpf_object_open_opts, o, .btf_custom_path = k->opts.btf);
	struct jobprof *s;
	int err;

	libbpf_said[0] = 0;
	libbpf_set_print(keep_first);
	s = jobprof__open_opts(&o);
	if (!s)
		return kern_fail(-errno, "cannot open the BPF object: %s", strerror(errno));
	s->rodata->jp_nslots = k->nslots;
	s->rodata->jp_ncpus = k->ncpus;
	s->rodata->jp_families = k->families;
	s->rodata->jp_blk_sets = kern_blk_sets();
	s->rodata->jp_rq_second = k->rq_second;
	s->rodata->jp_retrans_err = k->retrans_err;
	s->rodata->jp_npmu = k->pmu.mode == JP_PMU_EXACT ? k->pmu.n : 0;
	s->rodata->jp_nsampled = k->pmu.mode == JP_PMU_SAMPLED ? k->pmu.n : 0;
	s->rodata->jp_pmu_idle = k->pmu.counts_idle;
	memcpy(s->rodata->jp_pmu_period, k->pmu.period, sizeof(k->pmu.period));
	choose_maps(k, s);
	choose_programs(k, s);
	err = set_carriers(k, s);
	if (!err) {
		err = jobprof__load(s);
		if (err)
			kern_fail(err, "cannot load the BPF programs: %s%s%s: %s", strerror(-err),
				  libbpf_said[0] ? ": " : "", libbpf_said, advice(err));
	}
	if (!err)
		err = keep_fds(k, s);
	jobprof__destroy(s);
	return err;
}

static void *map_pages(int fd, size_t len, bool ro)
{
	size_t page = sysconf(_SC_PAGESIZE);
	void *p = mmap(NULL, (len + page - 1) / page * page,
		       ro ? PROT_READ : PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	return p == MAP_FAILED ? NULL : p;
}

static size_t map_bytes(const struct kern *k, enum kern_map m)
{
	return (size_t)kern_map_entries(k, m) * kern_maps[m].mapped;
}

/* Maps the counters; of maps that were made by another process the control page says how many. */
int kern_mmap(struct kern *k)
{
	int i;

	for (i = 0; i < M_N; i++) {
		if (!kern_maps[i].mapped || k->map[i] < 0)
			continue;
		k->mem[i] = map_pages(k->map[i], map_bytes(k, i), k->readonly);
		if (!k->mem[i])
			return kern_fail(-errno, "cannot map %s: %s", kern_maps[i].name,
					 strerror(errno));
		if (i != M_CONTROL)
			continue;
		k->control = k->mem[M_CONTROL];
		if (k->nslots)
			continue;
		if (k->control->abi != JP_ABI_VERSION)
			return kern_fail(-EPROTO,
					 "%s was made by another version of jobprof (ABI %u, "
					 "this is %u)",
					 k->pin_dir, k->control->abi, JP_ABI_VERSION);
		k->nslots = k->control->nslots;
		k->ncpus = k->control->ncpus;
		k->families = k->control->families;
	}
	k->slots = k->mem[M_SLOTS];
	k->sched = k->mem[M_SCHED];
	k->acct = k->mem[M_ACCT];
	k->released = calloc(k->nslots, sizeof(*k->released));
	k->quiet_ns = calloc(k->nslots, sizeof(*k->quiet_ns));
	if (!k->released || !k->quiet_ns)
		return kern_fail(-ENOMEM, "out of memory");
	return 0;
}

void kern_munmap(struct kern *k)
{
	size_t page = sysconf(_SC_PAGESIZE);
	int i;

	for (i = M_N; i-- > 0;) {
		if (k->mem[i])
			munmap(k->mem[i], (map_bytes(k, i) + page - 1) / page * page);
		k->mem[i] = NULL;
	}
	k->control = NULL, k->slots = NULL, k->sched = NULL, k->acct = NULL;
	free(k->released), k->released = NULL;
	free(k->quiet_ns), k->quiet_ns = NULL;
}

/* First contents of freshly made maps. */
static int fill(struct kern *k)
{
	struct bpf_map_info info = {};
	uint32_t len = sizeof(info), i;
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	if (!bpf_obj_get_info_by_fd(k->map[M_PCPU], &info, &len))
		k->control->pcpu_id = info.id;
	k->control->abi = JP_ABI_VERSION;
	k->control->raw_tp = k->opts.raw_tp;
	k->control->families = k->families;
	k->control->blind = k->blind;
	k->control->nslots = k->nslots;
	k->control->ncpus = k->ncpus;
	k->control->born_ns = kern_boot_ns();
	k->control->born_real_ns = (uint64_t)ts.tv_sec * 1000000000u + ts.tv_nsec;
	k->control->shape = shape(k);
	for (i = 0; i < k->opts.nevents && i < JP_PMU_EVENTS; i++)
		snprintf(k->control->pmu_name[i], JP_PMU_NAME_LEN, "%s", k->opts.events[i].column);
	for (i = 0; i < JP_NODES; i++)
		if (bpf_map_update_elem(k->map[M_NODES], &i, &k->nodes[i], BPF_ANY))
			return kern_fail(-errno, "cannot store the cgroup layouts: %s",
					 strerror(errno));
	if (kern_pmu_store(k))
		return -ENOMEM;
	for (i = 0; i < JP_SLOT_FIRST; i++) {
		k->slots[i].state = JP_SLOT_ACTIVE;
		k->slots[i].step = i;
		k->slots[i].gtid = JP_GTID_NONE;
		k->slots[i].hier = UINT32_MAX;
	}
	for (i = JP_SLOT_FIRST; i < k->nslots; i++)
		if (bpf_map_update_elem(k->map[M_FREE], NULL, &i, BPF_ANY))
			return kern_fail(-errno, "cannot fill the queue of free slots: %s",
					 strerror(errno));
	return kern_offsets(k);
}

/* A file given for the kernel's types is looked at first: what fails later does not say why. */
static int check_btf(const char *path)
{
	struct btf *btf;
	char text[128];
	long err;

	if (!path)
		return 0;
	libbpf_set_print(keep_first);
	btf = btf__parse(path, NULL);
	err = libbpf_get_error(btf);
	if (!err) {
		btf__free(btf);
		return 0;
	}
	libbpf_strerror(err, text, sizeof(text));
	return kern_fail(-EINVAL, "%s holds no BTF: %s: give the file made for this kernel", path,
			 text);
}

static struct kern *new_kern(void)
{
	struct kern *k = calloc(1, sizeof(*k));
	int i;

	if (!k)
		return NULL;
	for (i = 0; i < M_N; i++)
		k->map[i] = -1;
	for (i = 0; i < P_N; i++)
		k->prog[i] = k->link[i] = -1;
	k->lock = -1;
	return k;
}

static int take_over(struct kern *k)
{
	unsigned want_slots = k->nslots;
	int err;

	k->nslots = 0;
	err = kern_open_pins(k, false);
	if (err)
		return err;
	if (k->nslots != want_slots || k->control->shape != shape(k))
		return -ESTALE;
	k->opts.raw_tp = k->control->raw_tp;
	k->adopted = true;
	return kern_pmu_restore(k);
}

static int open_fresh(struct kern *k)
{
	int err;

	/* kernels before 5.11 charge maps to RLIMIT_MEMLOCK; raising it may be refused, and then
	 * the load says so */
	struct rlimit rl = {RLIM_INFINITY, RLIM_INFINITY};

	setrlimit(RLIMIT_MEMLOCK, &rl);
	kern_pmu_choose(k);
	err = load_object(k);
	if (err && !k->opts.raw_tp && err != -EPERM) {
		/* typed tracepoints want the kernel's own BTF, the raw one does not */
		k->opts.raw_tp = true;
		if (!load_object(k))
			err = 0;
	}
	if (!err)
		err = kern_mmap(k);
	if (!err)
		err = fill(k);
	if (!err)
		err = kern_attach_one(k, P_MKDIR);
	if (!err && k->pin_dir[0])
		err = kern_pin_all(k);
	if (!err)
		err = kern_lock_pins(k);
	return err;
}

static void drop_all(struct kern *k)
{
	int i;

	kern_munmap(k);
	kern_pmu_free(k);
	for (i = 0; i < P_N; i++) {
		kern_close_fd(&k->link[i]);
		kern_close_fd(&k->prog[i]);
	}
	for (i = 0; i < M_N; i++)
		kern_close_fd(&k->map[i]);
}

int kern__open(struct kern **out, const struct kern_opts *opts)
{
	struct kern *k = new_kern();
	int err, ncpus = libbpf_num_possible_cpus();

	*out = NULL;
	if (!k)
		return kern_fail(-ENOMEM, "out of memory");
	if (ncpus < 1) {
		free(k);
		return kern_fail(-EIO, "cannot read /sys/devices/system/cpu/possible");
	}
	k->opts = *opts;
	k->nslots = opts->nslots;
	k->ncpus = ncpus;
	memcpy(k->nodes, opts->nodes, sizeof(k->nodes));
	if (opts->pin_dir)
		snprintf(k->pin_dir, sizeof(k->pin_dir), "%s", opts->pin_dir);
	err = check_btf(opts->btf);
	if (!err)
		err = kern_lock_pins(k);
	if (err) {
		kern__free(k);
		return err;
	}
	k->rss_percpu = rss_is_percpu(opts->btf);
	k->families = kern_probe_families(opts->families, opts->btf);
	kern_choose_block(k);
	kern_choose_hooks(k);
	k->wanted = k->families;
	k->pmu.n = opts->nevents < JP_PMU_EVENTS ? opts->nevents : JP_PMU_EVENTS;
	if (k->pmu.n)
		memcpy(k->pmu.events, opts->events, k->pmu.n * sizeof(*opts->events));
	err = k->pin_dir[0] ? take_over(k) : -ENOENT;
	if (err) {
		drop_all(k);
		k->nslots = opts->nslots;
		k->ncpus = ncpus;
		k->families = k->wanted;
		if (k->pin_dir[0])
			kern__unpin(k->pin_dir);
		err = open_fresh(k);
	}
	if (err) {
		if (!k->adopted && k->pin_dir[0])
			kern__unpin(k->pin_dir);
		kern__free(k);
		return err;
	}
	*out = k;
	return 0;
}

int kern__open_pinned(struct kern **out, const char *pin_dir)
{
	struct kern *k = new_kern();
	int err;

	*out = NULL;
	if (!k)
		return kern_fail(-ENOMEM, "out of memory");
	snprintf(k->pin_dir, sizeof(k->pin_dir), "%s", pin_dir);
	err = kern_open_pins(k, true);
	if (!err)
		err = kern_pmu_restore(k);
	if (err) {
		kern__free(k);
		return err;
	}
	k->adopted = true;
	*out = k;
	return 0;
}

void kern__free(struct kern *k)
{
	if (!k)
		return;
	if (k->ring)
		ring_buffer__free(k->ring);
	drop_all(k);
	kern_close_fd(&k->lock);
	free(k);
}

bool kern__raw_tp(const struct kern *k)
{
	return k->opts.raw_tp;
}

bool kern__adopted(const struct kern *k)
{
	return k->adopted;
}
