// SPDX-License-Identifier: GPL-2.0-only
/* Opening the kernel side: programs and maps are loaded, or taken over from the pins of an earlier
 * daemon. */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "kern/internal.h"
#include "kern/probe.h"

#define SLOTS_MIN 512
#define SLOTS_MAX 4096

/* Writes the first contents of freshly made maps. */
static int fill_maps(struct kern *k)
{
	struct bpf_map_info info = {};
	uint32_t len = sizeof(info), i;

	if (!bpf_obj_get_info_by_fd(k->map[M_PCPU], &info, &len))
		k->control->pcpu_id = info.id;
	k->control->abi = JP_ABI_VERSION;
	k->control->raw_tp = k->opts.raw_tp;
	k->control->families = k->families;
	k->control->blind = k->blind;
	k->control->nslots = k->nslots;
	k->control->ncpus = k->ncpus;
	k->control->born_ns = clock__boot_ns();
	k->control->born_real_ns = clock__real_ns();
	k->control->shape = kern_shape(k);
	kern_store_network_text(k);
	for (i = 0; i < k->opts.nevents && i < JP_PMU_EVENTS; i++)
		snprintf(k->control->pmu_name[i], JP_PMU_NAME_LEN, "%s", k->opts.events[i].column);
	for (i = 0; i < JP_COMPONENTS; i++)
		if (bpf_map_update_elem(k->map[M_COMPONENTS], &i, &k->components[i], BPF_ANY))
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
	k->taken_over = true;
	return kern_pmu_restore(k);
}

static int open_fresh(struct kern *k)
{
	int err;

	/* kernels before 5.11 charge maps to RLIMIT_MEMLOCK; if raising it is refused the load
	 * reports it */
	struct rlimit rl = {RLIM_INFINITY, RLIM_INFINITY};

	setrlimit(RLIMIT_MEMLOCK, &rl);
	kern_pmu_choose(k);
	err = kern_load(k);
	if (err && !k->opts.raw_tp && err != -EPERM) {
		/* typed tracepoints need the kernel's own BTF, the raw one does not */
		k->opts.raw_tp = true;
		kern_choose_culprit(k);
		if (!kern_load(k))
			err = 0;
	}
	if (!err)
		err = kern_mmap(k);
	if (!err)
		err = fill_maps(k);
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

	kern_sample_stop(k);
	kern_region_stop(k);
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

/* Finds out which of the requested families and hooks this kernel can serve. */
static int probe_kernel(struct kern *k)
{
	int err = kern_btf_open(k);

	if (!err)
		err = kern_choose_carriers(k);
	if (!err)
		err = kern_region_probe(&k->opts);
	if (err)
		return err;
	/* before 6.2 it is a struct of its own */
	k->rss_percpu =
		!k->btf || btf__find_by_name_kind(k->btf, "mm_rss_stat", BTF_KIND_STRUCT) <= 0;
	kern_probe_families(k);
	kern_choose_block(k);
	kern_choose_hooks(k);
	kern_choose_wait(k);
	kern_choose_culprit(k);
	kern_sample_choose(k);
	kern_region_choose(k);
	kern_btf_close(k); /* libbpf holds another one during the load */
	k->wanted = k->families;
	k->pmu.n = k->opts.nevents < JP_PMU_EVENTS ? k->opts.nevents : JP_PMU_EVENTS;
	if (k->pmu.n)
		memcpy(k->pmu.events, k->opts.events, k->pmu.n * sizeof(*k->opts.events));
	kern_pmu_find_sets(&k->pmu);
	return 0;
}

unsigned kern__default_slots(unsigned ncpus)
{
	unsigned n = KERN_SLOTS_OF_JOB * ncpus;

	return n < SLOTS_MIN ? SLOTS_MIN : n > SLOTS_MAX ? SLOTS_MAX : n;
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
	if (!opts->nslots)
		k->opts.nslots = kern__default_slots((unsigned)ncpus);
	k->nslots = k->opts.nslots;
	k->ncpus = ncpus;
	k->opts.nstacks = kern_stack_entries(k);
	memcpy(k->components, opts->components, sizeof(k->components));
	if (opts->pin_dir)
		snprintf(k->pin_dir, sizeof(k->pin_dir), "%s", opts->pin_dir);
	err = probe_kernel(k);
	if (!err)
		err = kern_lock_pins(k);
	if (err) {
		kern__free(k);
		return err;
	}
	err = k->pin_dir[0] ? take_over(k) : -ENOENT;
	if (err) {
		drop_all(k);
		k->nslots = k->opts.nslots;
		k->ncpus = ncpus;
		k->families = k->wanted;
		if (k->pin_dir[0])
			kern__unpin(k->pin_dir);
		err = open_fresh(k);
	}
	if (err) {
		if (!k->taken_over && k->pin_dir[0])
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
	k->taken_over = true;
	*out = k;
	return 0;
}

void kern__free(struct kern *k)
{
	if (!k)
		return;
	if (k->ring)
		ring_buffer__free(k->ring);
	kern_free_bursts(k);
	if (k->crossing_ring)
		ring_buffer__free(k->crossing_ring);
	drop_all(k);
	kern_btf_close(k);
	kern_close_fd(&k->lock);
	free(k);
}
