// SPDX-License-Identifier: GPL-2.0-or-later
/* Describes in words how energy is split here, and stores what was learnt from one start to the
 * next. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "energy/node_energy_internal.h"

#define FILE_VERSION 1

struct header {
	char magic[8];
	uint32_t version, size; /* of all that follows */
	uint32_t npackages, ncores;
};

static void append_source(char *buf, size_t len, const char *text, const struct node_energy *e,
			  enum sensor_part part)
{
	const struct role *r = node_roles__first(e, part);
	const struct channel_state *c = r ? &e->channel[r->channel] : NULL;
	size_t at = strlen(buf);

	if (c)
		snprintf(buf + at, len - at, "%s%s %s%s%s%s", at ? ", " : "", text, c->ops->name,
			 c->channel->about[0] ? " (" : "", c->channel->about,
			 c->channel->about[0] ? ")" : "");
}

void node_energy__rule(const struct node_energy *e, char *buf, size_t len)
{
	const struct node_interval *o = &e->last;
	size_t at;

	buf[0] = '\0';
	append_source(buf, len, "node by", e, PART_NODE);
	append_source(buf, len, "packages by", e, PART_PACKAGE);
	append_source(buf, len, "DRAM by", e, PART_DRAM);
	append_source(buf, len, "GPUs by", e, PART_GPU);
	at = strlen(buf);
	if (!e->any_last)
		return;
	snprintf(buf + at, len - at, "; static part %s; dynamic part by %s%s",
		 !o->static_known ? "not known, in the dynamic one"
		 : o->alloc_known ? "by allocated cores"
				  : "by cores kept busy, for allocations are not known",
		 o->weight == WEIGHT_CYCLES ? "core cycles" : "CPU time",
		 o->clamped ? "; parts were more than the node: their sum is split" : "");
}

void node_energy__idle(const struct node_energy *e, double *pkg_w, double *dram_w, double *other_w)
{
	*pkg_w = *dram_w = 0;
	for (unsigned i = 0; i < e->topo.npackages; i++) {
		*pkg_w += calib_package__pkg_idle_w(&e->learnt->package[i]);
		*dram_w += calib_package__dram_idle_w(&e->learnt->package[i]);
	}
	*other_w = calib_min__value(&e->learnt->other);
}

void node_energy__lag(const struct node_energy *e, double *lag_s, double *period_s)
{
	const struct role *r = node_roles__first(e, PART_NODE);
	uint64_t period_ns = r ? e->channel[r->channel].channel->period_ns : 0;

	*lag_s = r ? e->lag_s : NAN;
	*period_s = period_ns ? (double)period_ns * 1e-9 : NAN;
}

static size_t learnt_size(const struct node_energy *e)
{
	return sizeof(*e->learnt) + e->topo.npackages * sizeof(e->learnt->package[0]);
}

static struct header header_of(const struct node_energy *e)
{
	return (struct header){"jpenergy", FILE_VERSION, (uint32_t)learnt_size(e),
			       e->topo.npackages, e->topo.ncores};
}

int node_energy__save(const struct node_energy *e, const char *path)
{
	struct header h = header_of(e);
	_cleanup_free_ char *tmp = NULL;
	_cleanup_fclose_ FILE *f = NULL;
	bool ok;

	if (asprintf(&tmp, "%s.tmp", path) < 0) {
		tmp = NULL;
		return -ENOMEM;
	}
	f = fopen(tmp, "we");
	if (!f)
		return -errno;
	ok = fwrite(&h, sizeof(h), 1, f) == 1 && fwrite(e->learnt, learnt_size(e), 1, f) == 1;
	ok = !fflush(f) && ok && !rename(tmp, path);
	return ok ? 0 : -EIO;
}

static bool is_sound(const struct node_energy *e, const struct learnt *l)
{
	bool ok = calib_min__sound(&l->other);

	for (unsigned i = 0; ok && i < e->topo.npackages; i++)
		ok = calib_package__sound(&l->package[i]);
	return ok;
}

int node_energy__load(struct node_energy *e, const char *path)
{
	struct header h, mine = header_of(e);
	_cleanup_free_ struct learnt *l = malloc(learnt_size(e));
	_cleanup_fclose_ FILE *f = NULL;

	if (!l)
		return -ENOMEM;
	f = fopen(path, "re");
	if (!f)
		return -errno;
	if (fread(&h, sizeof(h), 1, f) != 1 || memcmp(&h, &mine, sizeof(h)) ||
	    fread(l, learnt_size(e), 1, f) != 1 || !is_sound(e, l))
		return -EBADMSG;
	memcpy(e->learnt, l, learnt_size(e));
	return 0;
}
