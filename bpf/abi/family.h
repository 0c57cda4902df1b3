/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 *
 * Families of quantities: what is loaded, and what a step's files hold.
 */
#ifndef JP_ABI_FAMILY_H
#define JP_ABI_FAMILY_H

/* The families, as bits. */
enum family {
	FAM_BASE = 1 << 0, /* time columns and Slurm's ten */
	FAM_SCHED = 1 << 1,
	FAM_MEMORY = 1 << 2,
	FAM_FILE = 1 << 3,
	FAM_SELF = 1 << 4,
	FAM_CGROUP = 1 << 5,  /* Step only */
	FAM_LATENCY = 1 << 6, /* RunLatency */
	FAM_BLOCK = 1 << 7,   /* BlkLatency too */
	FAM_NETWORK = 1 << 8,
	FAM_PERF = 1 << 9,
	FAM_FILES = 1 << 10, /* opens and closes: the family costs every system call, so it must be
				asked for */
	/* of the node, read by jobprofd: no BPF program counts these */
	FAM_ENERGY = 1 << 11,
	FAM_GPU = 1 << 12,
	FAM_INTERCONNECT = 1 << 13, /* ports and interfaces */
	FAM_FILESYSTEM = 1 << 14,   /* mounts and disks */
	FAM_NODE = 1 << 15,	    /* all else that sensors say */
	FAM_WAIT = 1 << 16,	    /* TimeBudget */
	FAM_CULPRIT = 1 << 17,	    /* Culprits */
	FAM_SAMPLE = 1 << 18,	    /* Samples: an interrupt 97 times a second on every CPU */
	FAM_STACK = 1 << 19,	    /* Stacks, CallTree */
	FAM_BURST = 1 << 20,	    /* Bursts, BurstLength, GapLength */
	FAM_FOLD = 1 << 21,	    /* SamplePoints: each sample by itself; with SAMPLE and WAIT */
};
#define FAM_SENSORS 0xf800 /* read by jobprofd */
/* What "all" means; the others must be asked for. */
#define FAM_ALL (FAM_SENSORS | 0x3ff | FAM_WAIT | FAM_CULPRIT | FAM_SAMPLE)

/*
 * jp_control.resting: families whose programs do nothing for now, as they cost too much (user
 * space: kern__rest()). FAM_SCHED stands for the program of switches, which is not attached then:
 * the kernel's own accounts are read for each row. JP_REST_BIRTHS is no family: the program of
 * forks is not attached, see unseen_slot() of bpf/task.bpf.h. Above these bits is a number that
 * grows whenever the program of switches is attached again.
 */
#define JP_REST_BIRTHS	 (1u << 22)
#define JP_REST_BITS	 23
#define JP_REST_FAMILIES ((1u << JP_REST_BITS) - 1)

#endif
