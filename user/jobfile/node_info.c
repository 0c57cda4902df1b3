/* SPDX-License-Identifier: GPL-2.0-only */
/* What the attributes of a node say of its step and its job. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hdf5/h5util.h"
#include "jobfile/merge/nodescan_internal.h"

const struct job_attr_info job_attrs[JOB_ATTRS] = {
	[JOB_USER] = {"User", false},
	[JOB_UID] = {"UID", true},
	[JOB_CLUSTER] = {"Cluster", false},
	[JOB_NAME] = {"Job Name", false},
	[JOB_ACCOUNT] = {"Account", false},
	[JOB_PARTITION] = {"Partition", false},
	[JOB_SLUID] = {"SLUID", false},
	[JOB_ARRAY_JOB] = {"Array Job Id", true},
	[JOB_ARRAY_TASK] = {"Array Task Id", true},
	[JOB_HET_JOB] = {"Het Job Id", true},
	[JOB_HET_OFFSET] = {"Het Job Offset", true},
	[JOB_RESTART] = {"Restart Count", true},
	[JOB_START] = {"Job Start EpochTime", true},
};

static bool read_text(hid_t attr, hid_t type, char *to, size_t size)
{
	char *text;

	*to = 0;
	if (h5__get_text(attr, type, size - 1, &text))
		return false;
	strcpy(to, text);
	free(text);
	return *to != 0;
}

static bool read_number(hid_t attr, hid_t type, int64_t *v)
{
	return H5Tget_class(type) == H5T_INTEGER && H5Aread(attr, H5T_NATIVE_INT64, v) >= 0;
}

/* Reads a number of nodes or tasks; one that no job has is not known. */
static bool read_count(hid_t attr, hid_t type, int64_t *v)
{
	return read_number(attr, type, v) && *v >= 0 && *v <= INT32_MAX;
}

static int take_unknown_columns(struct nodescan *n, hid_t attr, hid_t type)
{
	int err = n->unknown ? 0 : h5__get_text(attr, type, JOURNAL_STR_MAX, &n->unknown);

	return err == -ENOMEM ? err : 0;
}

static void take_step_attr(struct nodescan *n, const char *name, hid_t attr, hid_t type)
{
	struct node_info *info = &n->info;
	int64_t v = -1;

	if (!strcmp(name, "Step Node List")) {
		read_text(attr, type, n->nodelist, sizeof(n->nodelist));
	} else if (!strcmp(name, "Nodes in Step") && read_count(attr, type, &v)) {
		info->nodes = v;
	} else if (!strcmp(name, "Number of Tasks") && read_count(attr, type, &v)) {
		info->tasks = v;
	} else if (!strcmp(name, "Start TimeNS") && read_number(attr, type, &v)) {
		info->start_s = v / 1000000000;
	} else if (!strcmp(name, "Baseline")) {
		info->late = true;
	}
}

static void take_job_attr(struct node_info *info, const char *name, hid_t attr, hid_t type)
{
	for (unsigned i = 0; i < JOB_ATTRS; i++) {
		struct job_attr_value *v = &info->attrs[i];

		if (!strcmp(name, job_attrs[i].name))
			v->known = job_attrs[i].number
					   ? read_number(attr, type, &v->i)
					   : read_text(attr, type, v->text, sizeof(v->text));
	}
}

int node_info__take_attr(struct nodescan *n, const char *name, hid_t attr, hid_t type)
{
	hid_t space = H5Aget_space(attr);
	const bool one_value = space >= 0 && H5Sget_simple_extent_npoints(space) == 1;

	if (space >= 0)
		H5Sclose(space);
	if (!one_value)
		return 0;
	if (!strcmp(name, "Unknown Columns"))
		return take_unknown_columns(n, attr, type);
	take_step_attr(n, name, attr, type);
	take_job_attr(&n->info, name, attr, type);
	return 0;
}
