/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which job, step and task something is. A cgroup is identified by its path (layout.h, in one of
 * the hierarchies that hierarchy.h finds), a process by its files in /proc (proc.h), a step by the
 * spellings that Slurm and users have for it (stepname.h, jobspec.h, sluid.h), a component of a
 * heterogeneous job by the environment of its tasks (hetjob.h). slurmd.h finds this node's Slurm,
 * slurmjob.h runs its commands. proc_program.h finds what a process executes and on which CPUs it
 * may run, elf.h the build id of a program's file. cpulist.h reads lists of CPUs.
 */
#ifndef JP_IDENTITY_IDENTITY_H
#define JP_IDENTITY_IDENTITY_H

#include "identity/cpulist.h"
#include "identity/elf.h"
#include "identity/hetjob.h"
#include "identity/hierarchy.h"
#include "identity/jobspec.h"
#include "identity/layout.h"
#include "identity/proc.h"
#include "identity/proc_program.h"
#include "identity/slurmd.h"
#include "identity/slurmjob.h"
#include "identity/sluid.h"
#include "identity/stepname.h"

#endif
