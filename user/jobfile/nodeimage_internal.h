/* SPDX-License-Identifier: GPL-2.0-only */
/* What an image consists of; texts and bytes are as wire.h puts them. */
#ifndef JP_JOBFILE_NODEIMAGE_INTERNAL_H
#define JP_JOBFILE_NODEIMAGE_INTERNAL_H

#include <stdint.h>

enum nodeimage_part {
	IMAGE_GROUP, /* head; name */
	IMAGE_ATTR,  /* head; name, type, value: of the group before it, or of the node */
	IMAGE_TABLE, /* head; group or "", name, type, rows */
};

struct nodeimage_head {
	uint32_t part;
	uint32_t type_bytes; /* as H5Tencode() gives them */
	uint64_t n;	     /* links of the group, elements of the attribute, rows of the table */
	uint64_t bytes;	     /* of value or rows */
	uint32_t rank;	     /* of the attribute: 0 or 1 */
	uint32_t unused;
};

#endif
