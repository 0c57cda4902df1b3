/* SPDX-License-Identifier: GPL-2.0-only */
/* A unit of a job as a message. */
#include "model/job/job_message.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* Whether there is anything in a quantity's bins. */
static bool has_bins(const struct binner *b, enum quantity q)
{
	for (unsigned k = 0; k < b->grid->n; k++)
		if (!isnan(b->bins[(size_t)q * b->grid->n + k]))
			return true;
	return false;
}

/* Bytes of all HELD quantities. */
static size_t held_bytes(const struct time_grid *g)
{
	return quantity__held_before(N_QUANTITIES) * g->n * g->instants * sizeof(double);
}

void job_message__put_unit(struct message *m, const struct binner *b, const char *series)
{
	size_t row = b->grid->n * sizeof(*b->bins); /* and of two rows of floats */

	message__put(m, b->total, sizeof(b->total));
	message__put(m, &b->rows, sizeof(b->rows));
	message__put(m, &b->begin_s, sizeof(b->begin_s));
	message__put(m, &b->end_s, sizeof(b->end_s));
	message__put(m, b->lived_s, sizeof(b->lived_s));
	message__put(m, &b->last_s, sizeof(b->last_s));
	for (int q = 0; q < N_QUANTITIES; q++) {
		int there = quantity__is_kept(q, series) && has_bins(b, q);

		message__put(m, &there, sizeof(there));
		if (there)
			message__put(m, b->bins + (size_t)q * b->grid->n, row);
		if (there && extremes__of(&b->extremes, q))
			message__put(m, extremes__of(&b->extremes, q), row);
	}
	if (!series)
		message__put(m, b->held, held_bytes(b->grid));
}

static int take_value(struct message *m, void *to, size_t n)
{
	const void *p = message__take(m, n);

	if (!p)
		return -EBADMSG;
	memcpy(to, p, n);
	return 0;
}

int job_message__take_unit(struct message *m, struct binner *b, const char *series)
{
	size_t row = b->grid->n * sizeof(*b->bins);
	int err, there;

	binner__clear(b);
	err = take_value(m, b->total, sizeof(b->total));
	if (!err)
		err = take_value(m, &b->rows, sizeof(b->rows));
	if (!err)
		err = take_value(m, &b->begin_s, sizeof(b->begin_s));
	if (!err)
		err = take_value(m, &b->end_s, sizeof(b->end_s));
	if (!err)
		err = take_value(m, b->lived_s, sizeof(b->lived_s));
	if (!err)
		err = take_value(m, &b->last_s, sizeof(b->last_s));
	for (int q = 0; !err && q < N_QUANTITIES; q++) {
		err = take_value(m, &there, sizeof(there));
		if (!err && there)
			err = take_value(m, b->bins + (size_t)q * b->grid->n, row);
		if (!err && there && extremes__of(&b->extremes, q))
			err = take_value(m, extremes__of(&b->extremes, q), row);
	}
	if (!err && !series)
		err = take_value(m, b->held, held_bytes(b->grid));
	return err;
}
