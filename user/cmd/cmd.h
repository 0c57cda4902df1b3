/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The room cmd: the programs, a folder for each. A program reads its command line, calls the rooms,
 * prints, and ends with status 0 (done), 1 (failed: one line on stderr says at what) or 2 (wrong
 * usage). Code that a second program needs moves to a room. This header is for readers:
 *
 *   jobprofd      the service of a node: command line, --check, --status; its work is in daemon
 *   writer        jobprof-writer: makes the file of a step, as the job's user
 *   jobprof       what users call; a file or folder per verb, see jobprof/verbs.h
 *   sh5util       the same binary under the name of Slurm's tool
 *   reduce_mpi    jobprof-reduce-mpi: jobprof reduce as a program of MPI
 *   dump          jobprof-dump: prints the live maps of the kernel side
 */
#ifndef JP_CMD_CMD_H
#define JP_CMD_CMD_H
#endif
