/* SPDX-License-Identifier: GPL-2.0-only */
/* Functions of files without symbols: what is needed to unwind the stack says where each begins. */
#ifndef JP_MODEL_EH_FRAME_H
#define JP_MODEL_EH_FRAME_H

#include <elfutils/libdwfl.h>
#include <stdbool.h>

/* The address, as dwfl has it, where the function begins that has addr. False: the file does not
 * say. */
bool eh_frame__function(Dwfl_Module *mod, GElf_Addr addr, GElf_Addr *begin);

#endif
