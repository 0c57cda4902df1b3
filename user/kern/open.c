// SPDX-License-Identifier: GPL-2.0-only
/* The kernel side as a whole: loaded anew, or taken over from an earlier daemon. */
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

#include "kern/internal.h"

static char last_error[512];

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

static void *map_pages(int fd, size_t len, bool ro)
{
	size_t page = sysconf(_SC_PAGESIZE);
	void *p = mmap(NULL, (len + page - 1) / page * page,
		       ro ? PROT_READ : PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (p == MAP_FAILED)
		return NULL;
	/* a child that is left behind must not keep the maps */
	madvise(p, len, MADV_DONTFORK);
	return p;
}

static size_t map_bytes(const struct kern *k, enum kern_map m)
{
	return (size_t)(m == M_OWNERS ? k->blk_sets : kern_map_entries(k, m)) * kern_maps[m].mapped;
}

/* The table of requests has the size that its maker chose. */
static unsigned entries_of(int fd)
{
	struct bpf_map_info info = {};
	uint32_t len = sizeof(info);

	return bpf_obj_get_info_by_fd(fd, &info, &len) ? 0 : info.max_entries;
}

/* Maps the counters; of maps that were made by another process the control page says how many. */
int kern_mmap(struct kern *k)
{
	int i;

	for (i = 0; i < M_N; i++) {
		if (!kern_maps[i].mapped || k->map[i] < 0)
			continue;
		if (i == M_OWNERS)
			k->blk_sets = entries_of(k->map[i]);
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
	k->missed_ns = calloc(k->nslots, sizeof(*k->missed_ns));
	k->used = calloc(k->nslots, sizeof(*k->used));
	if (!k->released || !k->quiet_ns || !k->missed_ns || !k->used)
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
	free(k->released), k->released = NULL, k->nreleased = 0;
	free(k->quiet_ns), k->quiet_ns = NULL;
	free(k->missed_ns), k->missed_ns = NULL;
	free(k->used), k->used = NULL;
	k->used_at = 0;
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
	k->control->shape = kern_shape(k);
	kern_say_network(k);
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
	k->lock = k->iter = -1;
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
	if (k->nslots != want_slots || k->control->shape != kern_shape(k))
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
	err = kern_load(k);
	if (err && !k->opts.raw_tp && err != -EPERM) {
		/* typed tracepoints want the kernel's own BTF, the raw one does not */
		k->opts.raw_tp = true;
		if (!kern_load(k))
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
	kern_close_fd(&k->iter);
	for (i = 0; i < P_N; i++) {
		kern_close_fd(&k->link[i]);
		kern_close_fd(&k->prog[i]);
	}
	for (i = 0; i < M_N; i++)
		kern_close_fd(&k->map[i]);
}

/* What this kernel has of what is asked for. */
static int probe(struct kern *k)
{
	int err = kern_btf_open(k);

	if (!err)
		err = kern_choose_carriers(k);
	if (err)
		return err;
	/* before 6.2 it is a struct of its own */
	k->rss_percpu =
		!k->btf || btf__find_by_name_kind(k->btf, "mm_rss_stat", BTF_KIND_STRUCT) <= 0;
	kern_probe_families(k);
	kern_choose_block(k);
	kern_choose_hooks(k);
	kern_btf_close(k); /* libbpf holds another one during the load */
	k->wanted = k->families;
	k->pmu.n = k->opts.nevents < JP_PMU_EVENTS ? k->opts.nevents : JP_PMU_EVENTS;
	if (k->pmu.n)
		memcpy(k->pmu.events, k->opts.events, k->pmu.n * sizeof(*k->opts.events));
	return 0;
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
	err = probe(k);
	if (!err)
		err = kern_lock_pins(k);
	if (err) {
		kern__free(k);
		return err;
	}
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
	kern_btf_close(k);
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
