/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Words that stand for sets of events, for processors whose events are known. */
#ifndef JP_KERN_PERF_GROUPS_H
#define JP_KERN_PERF_GROUPS_H

#include <stddef.h>

/* A processor, as far as its events differ from others'. */
struct perf_arch {
	const char *name; /* "intel_icl": the kind of its stack of cycles per instruction */
	unsigned width;	  /* slots per cycle; 0: its events count no slots, or the kernel gives the
			     number */
	const char *words[3], *lists[3]; /* "@cpi" and what it stands for; %s: the CPU's PMU */
};

/* The processor that proc ("/proc") and sysfs ("/sys") describe; NULL: an unknown one. */
const struct perf_arch *perf_arch__find(const char *proc, const char *sysfs);
/* Slots per cycle: width or, where that is 0, the number in the PMU's sysfs; 0: not known. */
unsigned perf_arch__width(const struct perf_arch *a, const char *sysfs);

/*
 * Copies a list of events to out; each set that is only a word with "@" is replaced by the events
 * for which it stands, or left out where these are not known for this processor; then err has the
 * reason (else ""). Returns how many words became events; -ENOSPC; -EINVAL: there is no such word,
 * which is left out, and err has every reason.
 */
int perf_groups__expand(const char *list, const char *proc, const char *sysfs, char *out,
			size_t size, char *err, size_t errlen);

#endif
