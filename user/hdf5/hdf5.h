/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The room hdf5 writes and reads HDF5 files, and knows nothing of jobs. From a journal it makes a
 * node-step file, the file of a step on a node (nodestep.h). It opens node-step files and job files
 * (reader.h), reads their tables as rows of cells (cursor.h), and takes digests of them (digest.h),
 * by which two copies are compared. Files that are read may be damaged or hostile: every size in
 * them is checked, and they are read in a limited child (the room pool), whose parent can see what
 * is being read (base/read_note.h). Rooms behind this one include this header.
 */
#ifndef JP_HDF5_HDF5_H
#define JP_HDF5_HDF5_H

#include "hdf5/cursor.h"
#include "hdf5/nodestep.h"
#include "hdf5/reader.h"

#endif
