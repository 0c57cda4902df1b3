/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From counters in the kernel to rows of a table. A snapshot reads all slots at one instant and
 * adds what living tasks have not retired yet (snapshot.h); its totals are per slot and are added
 * up to tasks and steps (totals.h); a row is made from the readings at its begin and end, column by
 * column (rows.h). Histograms are read by themselves (counters.h). cpu_busy.h and cpufreq.h read
 * what the kernel says of each CPU.
 */
#ifndef JP_SAMPLE_SAMPLE_H
#define JP_SAMPLE_SAMPLE_H

#include "sample/counters.h"
#include "sample/cpu_busy.h"
#include "sample/rows.h"
#include "sample/snapshot.h"
#include "sample/totals.h"

#endif
