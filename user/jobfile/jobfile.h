/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The room jobfile does what users ask of the files of a job: node-step files are waited for
 * (merge_wait.h) and merged into one job file (merge.h); of a file's steps, nodes and tables those
 * are chosen that users name (select.h); its rows are extracted as text (extract.h,
 * extract_time.h). A merge has worker processes scan the inputs, copies with H5Ocopy, and deletes
 * inputs only after the digests of the copies were the same. Rooms behind this one include this
 * header.
 */
#ifndef JP_JOBFILE_JOBFILE_H
#define JP_JOBFILE_JOBFILE_H

#include "jobfile/extract/extract.h"
#include "jobfile/extract/extract_time.h"
#include "jobfile/merge/merge.h"
#include "jobfile/merge/merge_wait.h"
#include "jobfile/select.h"

#endif
