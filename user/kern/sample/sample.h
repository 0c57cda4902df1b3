/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The family sample: the clock on every CPU (sample.c), and a thread that books what the kernel
 * side cannot. Further threads read the memory maps of processes, because a user can make a reader
 * of a map wait for ever. Part of user/kern.
 */
#ifndef JP_KERN_SAMPLE_H
#define JP_KERN_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct kern;
struct proc_modules;
struct booker;

/* Finds out whether points can be samples of cycles, where the configuration wants this. */
void kern_sample_choose(struct kern *k);
/* The text about the points in the step's file. */
const char *kern_sample_points(const struct kern *k);
/* Opens the clocks of CPUs that have none yet, and starts the thread that books. Where that fails
 * the family is off from then on: its columns are NaN. */
void kern_sample_start(struct kern *k);
void kern_sample_stop(struct kern *k);
/* Measures what a sample costs the program that it interrupts, and stores it in the control page.
 * This takes some 40 ms on this CPU, while no clock runs. */
void kern_sample_calibrate(struct kern *k);

/* A thread that reads memory maps. */
struct maps_reader;
/* Reads the memory map of the process: 0 or -errno. -ETIMEDOUT: that took more than a fifth of a
 * second; *r, which is NULL before the first call, is another thread then. -EAGAIN: too many
 * threads hang. */
int maps_reader__read(struct maps_reader **r, pid_t pid, struct proc_modules *m);
/* Whether a map that did not come in time is still waited for. */
bool maps_reader__hangs(void);
void maps_reader__stop(struct maps_reader *r);

#endif
