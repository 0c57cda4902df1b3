/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The room jobfile has the files of a job: a node-step file is put where its readers look
 * (publish.h), and what users ask of the files is done: node-step files are waited for
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
#include "jobfile/publish.h"
#include "jobfile/select.h"

#endif
