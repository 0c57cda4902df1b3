/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Makes rows of tables from the counters in the kernel. A snapshot reads all slots at one instant
 * and adds what living tasks have not retired yet (snapshot.h); its totals are per slot, and are
 * added up for tasks and steps (totals.h). A row is made from the readings at its begin and end,
 * column by column (rows.h). Histograms are read separately (counters.h). cpu_busy.h reads how long
 * each CPU was busy, and its frequency.
 */
#ifndef JP_SAMPLE_SAMPLE_H
#define JP_SAMPLE_SAMPLE_H

#include "sample/counters.h"
#include "sample/cpu_busy.h"
#include "sample/rows.h"
#include "sample/snapshot.h"
#include "sample/totals.h"

#endif
