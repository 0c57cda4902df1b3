/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What /proc/cpuinfo says of processors. */
#ifndef JP_BASE_CPUINFO_H
#define JP_BASE_CPUINFO_H

/* The first CPU. A text is "" and a number 0 where the file does not say it. */
struct cpuinfo {
	char vendor[32];   /* "GenuineIntel"; on Arm the implementer, "0x41" */
	int family, model; /* on Arm the architecture, and the number of the part */
	char name[256];	   /* "model name"; Arm has none */
};

/* Reads PROC/cpuinfo. */
void cpuinfo__read(struct cpuinfo *c, const char *proc);
/* The highest "cpu MHz" of all CPUs; 0: not known. */
double cpuinfo__highest_mhz(const char *proc);

#endif
