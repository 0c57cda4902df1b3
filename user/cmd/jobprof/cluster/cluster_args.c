// SPDX-License-Identifier: GPL-2.0-only
/* Options of cluster and track, and what a file cannot be read for. */
#include "cmd/jobprof/cluster/cluster_args.h"

#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "base/str.h"
#include "model/model.h"

void cluster_args__init(struct cluster_args *a)
{
	*a = (struct cluster_args){.request = CLUSTER_REQUEST};
}

static int find_feature(const char *word, size_t len)
{
	for (int f = 0; f < BURST_FEATURES; f++)
		if (strlen(burst_features[f].word) == len &&
		    !strncmp(burst_features[f].word, word, len))
			return f;
	return -1;
}

int cluster_args__by(void *to, const struct opt *o, const char *list)
{
	struct cluster_args *a = to;
	struct cluster_request *q = &a->request;

	a->given = true;
	q->dims = 0;
	for (const char *p = list;; p++) {
		size_t len = strcspn(p, ",");
		int f = find_feature(p, len);

		if (f < 0 || q->dims == CLUSTER_MAX_DIMS) {
			log_error("--by %s: it is a list of up to %d of run, gap, duration, share",
				  list, CLUSTER_MAX_DIMS);
			return 2;
		}
		q->by[q->dims++] = (enum burst_feature)f;
		p += len;
		if (!*p)
			return 0;
	}
}

int cluster_args__eps(void *to, const struct opt *o, const char *arg)
{
	struct cluster_args *a = to;
	struct cluster_request *q = &a->request;

	a->given = true;
	if (!parse_double(arg, &q->eps) && q->eps >= 1e-6 && q->eps <= 1)
		return 0;
	log_error("--eps %s: it is a number from 0.000001 to 1", arg);
	return 2;
}

int cluster_args__min_pts(void *to, const struct opt *o, const char *arg)
{
	struct cluster_args *a = to;
	uint32_t n;

	a->given = true;
	if (parse_u32(arg, &n) || n < 1 || n > 1000000) {
		log_error("--min-pts %s: it is a number from 1 to 1000000", arg);
		return 2;
	}
	a->request.min_pts = n;
	return 0;
}

int cluster_args__window(void *to, const struct opt *o, const char *arg)
{
	struct cluster_args *a = to;

	if (!parse_double(arg, &a->window) && a->window >= 0.001)
		return 0;
	log_error("--window %s: it is a number of seconds, 0.001 or more", arg);
	return 2;
}

void cluster_args__print_by(FILE *out)
{
	for (int f = 0; f < BURST_FEATURES; f++)
		fprintf(out, "%s ", burst_features[f].word);
}

int cluster_args__cannot(const char *path, int err)
{
	if (err == -ENODATA)
		log_error("%s: there are no bursts: they are recorded where the family burst is "
			  "asked for, as by \"jobprof run --series all,burst\"",
			  path);
	else if (err == -ERANGE)
		log_error("%s: no burst was as long as BurstMin of jobprof.conf: only such ones "
			  "can be compared",
			  path);
	else if (err == -ENOMSG)
		log_error("%s: it has no samples: see jobprof run --series all,burst,fold", path);
	else if (err == -EMSGSIZE)
		log_error("%s: it has more samples or bursts than are read for this: 1048576",
			  path);
	else if (err == -ENXIO)
		log_error("%s: its programs have named no region, or only waits: see jobprof run "
			  "--region, and "
			  "jobprof_region_begin in libjobprof(3)",
			  path);
	else if (err == -ESRCH)
		log_error("%s: it has no such step", path);
	else if (err == -ESTALE)
		log_error("%s: the clock was set during the step: which bursts were in which "
			  "region is not known",
			  path);
	else if (err == -ENOMEM)
		log_error("%s: no memory", path);
	else
		log_error("%s: %s", path, model_file__strerror(err));
	return 1;
}
