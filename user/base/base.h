/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The room base: what all other rooms need and what knows nothing of jobs, profiles or the kernel
 * side. It includes libc and jansson only. Each header is one subject and is included by itself;
 * this one is for readers:
 *
 *   texts      str.h, string_list.h, utf8.h, escape.h, csv.h, hostlist.h
 *   numbers    format_number.h, outbuf.h, known.h (may be NaN), freq.h (Slurm's intervals)
 *   memory     cleanup.h, room.h (an array that grows), id_table.h
 *   files      io_full.h, str.h (a whole small file), json.h, config/config.h (jobprof.conf),
 *              read_note.h (what is being read), foreign.h (opens what others wrote), fd_message.h
 *   time       clock.h
 *   people     log.h (one line per error), options.h (the command line), progress.h,
 *              text_table.h
 *   programs   program.h (where the programs of one installation are), ids.h (ids of child
 * processes) machine    cpuinfo.h (what /proc/cpuinfo says of processors)
 */
#ifndef JP_BASE_BASE_H
#define JP_BASE_BASE_H
#endif
