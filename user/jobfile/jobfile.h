/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The room jobfile handles the files of a job. For the daemon it puts a node-step file where its
 * readers look (publish.h). For users it waits for node-step files (merge_wait.h) and merges them
 * into one job file (merge.h), finds profiles (profiles.h), selects steps, nodes and tables of a
 * file (select.h), extracts rows as text (extract.h, extract_time.h), and removes what a site does
 * not keep (expire.h). A merge has worker processes scan the inputs, copies with H5Ocopy, and
 * deletes inputs only after the digests of the copies were the same. Rooms behind this one include
 * this header.
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
