/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The room hdf5 writes and reads HDF5 files, and knows nothing of jobs. From a journal it makes a
 * node-step file, the file of a step on a node (nodestep.h). It opens node-step files and job files
 * (reader.h), reads their tables as rows of cells (cursor.h), and takes digests of them (digest.h),
 * by which two copies are compared. Files that are read may be damaged or hostile: every size in
 * them is checked, and the process that reads them is a limited child (the room pool), whose parent
 * is told what is read (base/read_note.h). Rooms behind this one include this header.
 */
#ifndef JP_HDF5_HDF5_H
#define JP_HDF5_HDF5_H

#include "hdf5/cursor.h"
#include "hdf5/nodestep.h"
#include "hdf5/reader.h"

#endif
