/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A reduction as bytes, from process to process and in files: a head with a version, a length and a
 * checksum, then values as pool/message.h puts them. The writer of the bytes is not trusted:
 * whatever does not fit is refused, and no more memory is allocated than the bytes can fill.
 */
#ifndef JP_ANALYSIS_REDUCTION_PAYLOAD_H
#define JP_ANALYSIS_REDUCTION_PAYLOAD_H

#include "analysis/reduction/reduction.h"
#include "pool/message.h"

#define PAYLOAD_MAX (64u << 20) /* bytes: what a message holds at most */

/* Empties m first, and orders r. 0; -EFBIG: more than PAYLOAD_MAX, or no memory. */
int payload__write(struct message *m, struct reduction *r);
/* 0; -EPROTONOSUPPORT: of another version of jobprof, or of another kind of machine; -EBADMSG:
 * damaged, or no payload; -ENOMEM. reduction__free() in all cases. */
int payload__read(struct reduction *r, const void *bytes, size_t n);
/* The meaning of such an error to a user. */
const char *payload__strerror(int err);

#endif
