/* SPDX-License-Identifier: GPL-2.0-only */
/* What a file is called on pages: program and job. */
#ifndef JP_MODEL_TITLE_H
#define JP_MODEL_TITLE_H

#include "model/model.h"

#define MODEL_TITLE 256

/* "solver, job 42 step 0" by what the first node says, of a job file "solver, job 42"; of jobprof
 * run the command stands for the program; what is not known is left out. A file may be damaged: in
 * a limited child. */
void model_title__of(const struct model_file *f, char text[static MODEL_TITLE]);
/* The same of a file at path; "": nothing is known. */
void model_title__read(const char *path, char text[static MODEL_TITLE]);
/* What the first node says under a name; NULL: nothing. The caller frees it. */
char *model_title__attr(const struct model_file *f, const char *name);

#endif
