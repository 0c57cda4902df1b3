/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Opening the kernel side: programs and maps are loaded, or taken over from the pins of an earlier
 * daemon. */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>
#include <zlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "kern/carry.h"
#include "kern/internal.h"
#include "kern/probe.h"
#include "kern/region/region.h"
#include "skel/jobprof.skel.h"

/* ---- the BPF object: what of it this kernel needs, its settings, and the load */

static char libbpf_error[256];

/* Keeps the first error line of a load: later ones only say that the load failed. */
static int keep_first(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	if (getenv("JOBPROF_LIBBPF_LOG"))
		return vfprintf(stderr, fmt, ap);
	if (level == LIBBPF_WARN && !libbpf_error[0]) {
		vsnprintf(libbpf_error, sizeof(libbpf_error), fmt, ap);
		libbpf_error[strcspn(libbpf_error, "\n")] = 0;
	}
	return 0;
}

/* A digest of everything in which pinned maps must agree with this program to be taken over. */
static uint64_t kern_shape(const struct kern *k)
{
	size_t len;
	const void *elf = jobprof__elf_bytes(&len);
	uLong crc = crc32(0, elf, len);
	unsigned i;

	crc = crc32(crc, (const Bytef *)k->components, sizeof(k->components));
	crc = crc32(crc, (const Bytef *)&k->nslots, sizeof(k->nslots));
	crc = crc32(crc, (const Bytef *)&k->opts.nstacks, sizeof(k->opts.nstacks));
	crc = crc32(crc, (const Bytef *)&k->opts.ncgroups, sizeof(k->opts.ncgroups));
	crc = crc32(crc, (const Bytef *)&k->opts.ring_kb, sizeof(k->opts.ring_kb));
	crc = crc32(crc, (const Bytef *)&k->wanted, sizeof(k->wanted));
	crc = crc32(crc, (const Bytef *)&k->opts.burst_min_ns, sizeof(k->opts.burst_min_ns));
	crc = crc32(crc, (const Bytef *)&k->opts.culprit_matrix, sizeof(k->opts.culprit_matrix));
	crc = crc32(crc, (const Bytef *)&k->opts.follow, sizeof(k->opts.follow));
	crc = crc32(crc, (const Bytef *)&k->opts.unwind, sizeof(k->opts.unwind));
	crc = crc32(crc, (const Bytef *)&k->opts.nregions, sizeof(k->opts.nregions));
	crc = kern_pmu_crc(k, crc);
	crc = crc32(crc, (const Bytef *)k->unused, sizeof(k->unused));
	for (i = 0; i < k->opts.nroots; i++) {
		crc = crc32(crc, (const Bytef *)&k->opts.roots[i].hier, sizeof(uint32_t));
		crc = crc32(crc, (const Bytef *)k->opts.roots[i].controller,
			    strlen(k->opts.roots[i].controller));
	}
	return (uint64_t)crc << 32 | k->ncpus;
}

static void set_carriers(const struct kern *k, struct jobprof *s)
{
	unsigned i;

	s->rodata->jp_ncarriers = k->opts.nroots;
	for (i = 0; i < k->opts.nroots; i++) {
		s->rodata->jp_carriers[i].hier = k->opts.roots[i].hier;
		s->rodata->jp_carriers[i].ssid = k->ssid[i];
	}
}

/* By how much there may be of each. */
static void size_rings(const struct kern *k, struct jobprof *s)
{
	const struct {
		struct bpf_map *ring;
		unsigned part;
	} rings[] = {{s->maps.jp_bursts, 1},
		     {s->maps.jp_points, 4},
		     {s->maps.jp_crossings, 4},
		     {s->maps.jp_events, 16},
		     {s->maps.jp_unbooked, 16}};

	for (size_t i = 0; i < sizeof(rings) / sizeof(*rings); i++)
		bpf_map__set_max_entries(rings[i].ring, k->opts.ring_kb * 1024 / rings[i].part);
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
	bpf_map__set_max_entries(s->maps.jp_stacks, kern_stack_entries(k));
	bpf_map__set_max_entries(s->maps.jp_copies, kern_copies_size(k));
	bpf_map__set_max_entries(s->maps.jp_cgroups, k->opts.ncgroups);
	size_rings(k, s);
	bpf_map__set_max_entries(s->maps.jp_owners, s->rodata->jp_blk_sets);
	if (k->pmu.n)
		bpf_map__set_max_entries(s->maps.jp_pmu_fds, k->pmu.n * k->ncpus);
	/* packets of a connection that is accepted come before its first call */
	if (kern_has_prog(k, P_SKB_IN))
		bpf_map__set_map_flags(s->maps.jp_socks, BPF_F_NO_PREALLOC | BPF_F_CLONE);
	if (k->pmu.loses_events)
		bpf_map__set_map_flags(s->maps.jp_pmu_fds, 0);
}

/* One of them is loaded. */
static const char *const switches[] = {"jp_sched_switch", "jp_sched_switch_raw",
				       "jp_sched_switch_pmu", "jp_sched_switch_cast"};
#define N_SWITCHES (sizeof(switches) / sizeof(switches[0]))

static const char *switch_name(const struct kern *k)
{
	if (k->opts.raw_tp)
		return "jp_sched_switch_raw";
	if (k->pmu.mode == JP_PMU_EXACT)
		return "jp_sched_switch_pmu";
	return k->can_cast ? "jp_sched_switch_cast" : "jp_sched_switch";
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
	kern_region_load(k, s->progs.jp_cross);
	/* needed only where RSS is kept per CPU, and then bpf_map_lookup_percpu_elem exists;
	 * helpers are not probed for tracing programs, raw tracepoints have the same */
	if (libbpf_probe_bpf_helper(BPF_PROG_TYPE_RAW_TRACEPOINT, BPF_FUNC_map_lookup_percpu_elem,
				    NULL) != 1)
		bpf_program__set_autoload(s->progs.jp_percpu, false);
}

static int choose_carry(struct kern *k, struct jobprof *s)
{
	int fd;

	if (!k->carry) {
		bpf_map__set_autocreate(s->maps.jp_was, k->opts.load_all);
		return 0;
	}
	fd = kern_carry_tasks(k->carry, bpf_object__btf(s->obj), s->rodata->jp_moves,
			      &s->rodata->jp_was_bytes, &s->rodata->jp_was_ready,
			      &s->rodata->jp_was_next);
	return fd < 0 ? fd : bpf_map__reuse_fd(s->maps.jp_was, fd);
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
	if (!kern_can_read())
		return "lockdown=confidentiality keeps BPF from the kernel's memory: boot with "
		       "integrity";
	if (err == -ENOMEM)
		return "not enough memory for the maps: lower MaxSlots, MaxStacks or RingSize";
	return "see jobprofd --check";
}

/* Loads maps and programs for the families of k and keeps them as file descriptors. */
static int kern_load(struct kern *k)
{
	LIBBPF_OPTS(bpf_object_open_opts, o, .btf_custom_path = k->opts.btf);
	struct jobprof *s;
	int err;

	libbpf_error[0] = 0;
	libbpf_set_print(keep_first);
	s = jobprof__open_opts(&o);
	if (!s)
		return kern_fail(-errno, "cannot open the BPF object: %s", strerror(errno));
	s->rodata->jp_nslots = k->nslots;
	s->rodata->jp_ncpus = k->ncpus;
	s->rodata->jp_families = k->families;
	s->rodata->jp_blk_sets = kern_blk_sets();
	s->rodata->jp_burst_min_ns = k->opts.burst_min_ns ? k->opts.burst_min_ns : JP_BURST_MIN_NS;
	s->rodata->jp_rq_second = k->rq_second;
	s->rodata->jp_retrans_err = k->retrans_err;
	s->rodata->jp_npmu = k->pmu.mode == JP_PMU_EXACT ? k->pmu.n : 0;
	s->rodata->jp_nsampled = k->pmu.mode == JP_PMU_SAMPLED ? k->pmu.n : 0;
	s->rodata->jp_regs = k->has_regs;
	s->rodata->jp_unwind = k->opts.unwind;
	s->rodata->jp_count_pairs = k->opts.culprit_matrix;
	s->rodata->jp_follow = k->opts.follow;
	s->rodata->jp_pmu_idle = k->pmu.counts_idle != 0;
	for (int i = 0; i < JP_SHARES; i++)
		s->rodata->jp_share_room[i] = kern_share_room(k, i);
	choose_maps(k, s);
	choose_programs(k, s);
	set_carriers(k, s);
	err = choose_carry(k, s);
	if (!err)
		err = jobprof__load(s);
	if (err)
		kern_fail(err, "cannot load the BPF programs: %s%s%s: %s", strerror(-err),
			  libbpf_error[0] ? ": " : "", libbpf_error, advice(err));
	else
		err = keep_fds(k, s);
	jobprof__destroy(s);
	return err;
}

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
	k->control->abi_from = JP_ABI_FROM;
	k->control->changing = 1;
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
	if (k->nslots != want_slots || k->control->shape != kern_shape(k) || k->control->changing)
		return -ESTALE;
	k->opts.raw_tp = k->control->raw_tp;
	k->taken_over = true;
	kern_rest_taken_over(k);
	return kern_pmu_restore(k);
}

static int open_fresh(struct kern *k)
{
	int err;

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
	if (!err && k->carry)
		err = kern_carry_run(k, k->carry);
	if (!err && k->pin_dir[0])
		err = kern_pin_all(k);
	if (!err)
		err = kern_lock_pins(k);
	if (!err)
		k->control->changing = 0;
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
	char release[80];
	int err;

	if (kern_is_old(release, sizeof(release)))
		return kern_fail(-ENOTSUP, "kernel %s is too old: jobprof needs 5.11 or later",
				 release);
	err = kern_btf_open(k);
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

static void set_opts(struct kern *k, const struct kern_opts *opts, unsigned ncpus)
{
	k->opts = *opts;
	if (!opts->nslots)
		k->opts.nslots = kern__default_slots(ncpus);
	k->nslots = k->opts.nslots;
	k->ncpus = ncpus;
	k->opts.nstacks = kern_stack_entries(k);
	memcpy(k->components, opts->components, sizeof(k->components));
	if (opts->pin_dir)
		snprintf(k->pin_dir, sizeof(k->pin_dir), "%s", opts->pin_dir);
}

static void begin_anew(struct kern *k, unsigned ncpus)
{
	drop_all(k);
	k->pinned = false;
	k->nslots = k->opts.nslots;
	k->ncpus = ncpus;
	k->families = k->wanted;
	k->lost = 0;
}

/* Loads the programs, which go on with what those of another build have counted. -ENOENT: nobody
 * has counted. */
static int open_carried(struct kern *k)
{
	int err;

	k->carry = kern_carry_open(k);
	if (!k->carry)
		return -ENOENT;
	err = open_fresh(k);
	if (err)
		log_warn("%s; counts of running steps are lost", kern__error());
	kern_carry_free(k->carry);
	k->carry = NULL;
	return err;
}

/* Takes over what an earlier process has pinned or, where that does not fit, loads the programs. */
static int take_or_load(struct kern *k, unsigned ncpus)
{
	int err = k->pin_dir[0] ? take_over(k) : -ENOENT;

	if (!err)
		return 0;
	begin_anew(k, ncpus);
	if (!k->pin_dir[0])
		return open_fresh(k);
	err = open_carried(k);
	if (!err)
		return 0;
	begin_anew(k, ncpus);
	kern__unpin(k->pin_dir);
	err = open_fresh(k);
	if (err)
		kern__unpin(k->pin_dir);
	return err;
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
	set_opts(k, opts, (unsigned)ncpus);
	err = probe_kernel(k);
	if (!err)
		err = kern_lock_pins(k);
	if (!err)
		err = take_or_load(k, (unsigned)ncpus);
	if (err) {
		kern__free(k);
		return err;
	}
	*out = k;
	return 0;
}

unsigned kern__lost(const struct kern *k)
{
	return k->lost;
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
	flock(k->lock, LOCK_UN); /* as others may have the descriptor, see kern_lock_pins() */
	kern_close_fd(&k->lock);
	free(k);
}
