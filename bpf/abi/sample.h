/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 *
 * Where threads are in their code: samples by module, samples one by one, stacks.
 */
#ifndef JP_ABI_SAMPLE_H
#define JP_ABI_SAMPLE_H

#ifndef __bpf__
#include <linux/types.h>
#endif

#include "bpf/abi/pmu.h"

#define JP_PAGES	16384 /* of programs' code whose module is known */
#define JP_SAMPLE_HZ	97    /* of the clock on each CPU */
#define JP_STACK_WORDS	16    /* of a sample's stack, from its top */
#define JP_STACK_KERNEL 32    /* frames of a stack in the kernel */
#define JP_STACK_USER	96    /* frames of a stack in the program; the outer ones are cut off */

/* Where a thread was, and of which process: another exec, or another process of the same number,
 * has other addresses. */
struct jp_stack_key {
	__u64 hash; /* of the frames; 0: they were not taken */
	__u64 start_ns;
	__u32 tgid;
	__u32 exec;
	__u32 slot;
	__u32 cause; /* enum jp_cause that it was blocked by; JP_CAUSE_NONE: it ran */
};

/* How often a stack was met, and for how long. Any CPU: atomic adds; user space removes it. */
struct jp_stack {
	__u64 n;       /* samples, or gaps of a millisecond and more */
	__u64 ns;      /* of gaps */
	__u32 nkernel; /* both 0: user space has the frames already */
	__u32 nuser;
	__u64 kernel[JP_STACK_KERNEL]; /* the innermost first */
	__u64 user[JP_STACK_USER];
};

#define JP_COPY_BYTES 4096 /* of a stack, from its top, */
#define JP_COPY_CHUNK 512  /* as far as so many are there at once */
#define JP_COPY_EVERY 10   /* samples of a CPU */
#define JP_COPY_REGS  33

/* The registers and stack of a thread in a sample, so that user space can follow the stack; not all
 * samples have one. */
struct jp_stack_copy {
	struct jp_stack_key key; /* hash 0 */
	__u64 job;		 /* the job that counts the share of its step */
	__u64 sp;
	__u32 nstack; /* bytes */
	__u32 nkernel;
	__u64 kernel[JP_STACK_KERNEL];
	__u64 regs[JP_COPY_REGS]; /* the kernel's struct pt_regs */
	__u8 stack[JP_COPY_BYTES];
};

/* What a thread executes: the kind of the file that its code is from (schemas/modules.def). */
enum jp_module {
	JP_MODULE_OWN, /* the program's own file */
	JP_MODULE_MPI, /* MPI, with all that it calls to wait and to send */
	JP_MODULE_LIBGPU,
	JP_MODULE_BLAS,
	JP_MODULE_OPENMP,
	JP_MODULE_INTERPRETER,
	JP_MODULE_LIBC,
	JP_MODULE_LIBRARY,
	JP_MODULE_GENERATED, /* no file: made by the program at run time */
	JP_MODULE_KERNEL,
	JP_MODULE_UNKNOWN,
	JP_MODULES
};

/* Samples of a slot: not two cache lines. Interrupts, and the collector: atomic adds. */
struct jp_samples {
	__u64 module[JP_MODULES];
	__u64 for_mpi; /* of JP_MODULE_LIBC and _KERNEL, those that MPI had called */
	/* of the family stack */
	__u64 stack_samples; /* interrupts, those without a stack too */
	__u64 stack_ns;	     /* time that it took to take stacks, in interrupts and at switches */
};

/* A step on several CPUs at once: in how many periods of the clock 0, 1, 2 and 3, 4 to 7 CPUs ran
 * it, and so on. Any CPU, when it begins a period; cpus: atomic adds. */
#define JP_AT_ONCE	10
#define JP_AT_ONCE_ROOM 16 /* a power of two */
#define JP_PERIODS	4
struct jp_at_once {
	__u64 period;		/* the newest */
	__u32 cpus[JP_PERIODS]; /* of the newest periods, by their number */
	__u64 periods[JP_AT_ONCE_ROOM];
	/* threads in the queues of its CPUs, at each look; atomic adds */
	__u64 queued;
	__u64 queued_beside_idle; /* those of queued for which another CPU, which the step may use,
				   * was idle
				   */
};

/* The instant at which the last tick of a CPU's clock was due; the tick itself may be late. */
struct jp_tick {
	__u64 due_ns; /* CLOCK_MONOTONIC */
};

/* A page of a program's code. Another exec of the process, or another process of its number, has
 * other pages. */
struct jp_page_key {
	__u64 page; /* of 4 KiB */
	__u64 start_ns;
	__u32 tgid;
	__u32 exec;
};

/* A sample with its instant and what its thread had counted until then. */
struct jp_point {
	__u64 time_ns; /* CLOCK_MONOTONIC */
	__u64 place;   /* of the user's code: see JP_PLACE_LIBRARY */
	__u64 cpu_ns;
	__u64 faults;
	__u64 period_ns; /* of the clock then; 0: not known */
	__u32 slot;
	__u32 gen;
	__u32 tgid;
	__u32 tid; /* as the thread itself knows it */
	__u32 module;
	__u32 events; /* bits: JP_PMU_AT_ONCE counts follow, of these in turn; 0: none */
};

/* With the family perf, where a counter can be read at each switch. */
struct jp_counted_point {
	struct jp_point point;
	__u64 count[JP_PMU_AT_ONCE]; /* JP_UNCOUNTED: since the point before, only a part of what
					its thread did was counted */
};
#define JP_UNCOUNTED (~0ull)

/* Where code is: bytes from the begin of the program's own code, or with JP_PLACE_LIBRARY below the
 * end of the region of mappings. Both are the same in all processes of a program. */
#define JP_PLACE_LIBRARY (1ull << 48)

/* A sample that user space counts, because its page is not known yet, or its callers matter.
 */
struct jp_sample {
	struct jp_page_key at; /* of the user's code, also for a sample in the kernel */
	__u32 slot;
	__u32 gen;
	__u32 kernel;
	__u32 known; /* enum jp_module that the kernel side has for the page */
	__u64 ip;
	__u64 stack[JP_STACK_WORDS]; /* from its top; the return address that some CPUs have in a
					register comes first */
};

_Static_assert(sizeof(struct jp_samples) == 112, "jp_samples");
_Static_assert(sizeof(struct jp_at_once) == 40 + 8 * JP_AT_ONCE_ROOM, "jp_at_once");
_Static_assert(sizeof(struct jp_page_key) == 24, "jp_page_key");
_Static_assert(sizeof(struct jp_point) == 64, "jp_point");
_Static_assert(sizeof(struct jp_counted_point) == 128, "jp_counted_point");
_Static_assert(sizeof(struct jp_stack_copy) ==
		       56 + 8 * (JP_STACK_KERNEL + JP_COPY_REGS) + JP_COPY_BYTES,
	       "jp_stack_copy");
_Static_assert(sizeof(struct jp_sample) == 48 + 8 * JP_STACK_WORDS, "jp_sample");

#endif
