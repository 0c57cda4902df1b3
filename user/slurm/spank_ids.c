// SPDX-License-Identifier: GPL-2.0-or-later
/* Names the step of a slurmstepd, and reads the plugin's arguments in plugstack.conf. */
#include "slurm/spank_ids.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "identity/hetjob.h"

#define HET_COMPONENTS_MAX 128

static const struct {
	uint32_t id;
	const char *name;
} special_steps[] = {
	{0xfffffffb, "batch"},
	{0xfffffffc, "extern"},
	{0xfffffffa, "interactive"},
	{0xfffffffd, "TBD"},
};

static void format_step_id(char *name, size_t size, uint32_t step_id)
{
	for (size_t i = 0; i < sizeof(special_steps) / sizeof(special_steps[0]); i++) {
		if (special_steps[i].id == step_id) {
			snprintf(name, size, "%s", special_steps[i].name);
			return;
		}
	}
	snprintf(name, size, "%u", step_id);
}

void spank_ids__step_name(char *name, size_t size, uint32_t job_id, uint32_t step_id,
			  const char *title)
{
	char head[64], component[16];
	uint32_t number;
	size_t len;

	format_step_id(name, size, step_id);
	len = (size_t)snprintf(head, sizeof(head), "slurmstepd: [%u.%s+", job_id, name);
	if (!title || strncmp(title, head, len))
		return;
	title += len;
	len = strcspn(title, "]");
	if (title[len] != ']' || len >= sizeof(component))
		return;
	memcpy(component, title, len);
	component[len] = '\0';
	if (parse_u32(component, &number))
		return;
	len = strlen(name);
	snprintf(name + len, size - len, "+%u", number);
}

static bool env_u32(spank_ids__env_fn env, void *arg, const char *name, uint32_t *v)
{
	char text[16];

	return env(arg, name, text, sizeof(text)) && !parse_u32(text, v);
}

/* PACK_GROUP is the older name; 22.05 sets one or both, depending on how the step was launched. */
static bool component_id(spank_ids__env_fn env, void *arg, unsigned i, uint32_t *id)
{
	static const char *const formats[] = {"SLURM_JOB_ID_HET_GROUP_%u",
					      "SLURM_JOB_ID_PACK_GROUP_%u"};
	char name[40];

	for (size_t f = 0; f < sizeof(formats) / sizeof(formats[0]); f++) {
		snprintf(name, sizeof(name), formats[f], i);
		if (env_u32(env, arg, name, id))
			return true;
	}
	return false;
}

void spank_ids__het(struct jpc_step *s, spank_ids__env_fn env, void *arg)
{
	uint32_t size = 0, leader, id;

	s->het_job_id = s->het_offset = JPC_UNKNOWN;
	if (!env_u32(env, arg, "SLURM_HET_SIZE", &size) &&
	    !env_u32(env, arg, "SLURM_PACK_SIZE", &size))
		return;
	if (size < 2 || size > HET_COMPONENTS_MAX || !component_id(env, arg, 0, &leader))
		return;
	for (unsigned i = 0; i < size; i++) {
		if (component_id(env, arg, i, &id) && id == s->job_id) {
			s->het_job_id = leader;
			s->het_offset = i;
			return;
		}
	}
}

void spank_ids__own_nodes(struct jpc_step *s, spank_ids__env_fn env, void *arg)
{
	static const char *const formats[] = {HETJOB_NODELIST_FMTS};
	char name[48];

	if (s->het_offset == JPC_UNKNOWN)
		return;
	memset(s->node_list, 0, sizeof(s->node_list));
	memset(s->job_node_list, 0,
	       sizeof(s->job_node_list)); /* no old bytes stay after the text */
	for (size_t f = 0; f < sizeof(formats) / sizeof(formats[0]); f++) {
		snprintf(name, sizeof(name), formats[f], s->het_offset);
		if (env(arg, name, s->job_node_list, sizeof(s->job_node_list)))
			return;
		memset(s->job_node_list, 0, sizeof(s->job_node_list));
	}
}

bool spank_ids__gtid_is_global(const struct jpc_step *s, uint32_t step_tasks)
{
	const char *plus = strchr(s->step_name, '+');

	if (s->het_offset != JPC_UNKNOWN && s->het_offset)
		return false;
	if (step_tasks != JPC_UNKNOWN && step_tasks != s->ntasks)
		return false;
	return !plus || !strcmp(plus, "+0");
}

void spank_ids__plain(char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			*text = '?';
}

static int parse_arg(struct spank_args *a, const char *word)
{
	uint32_t ms;

	if (str__starts(word, "socket=/")) {
		a->socket = strchr(word, '=') + 1;
		return 0;
	}
	if (str__starts(word, "timeout=") && !parse_u32(strchr(word, '=') + 1, &ms) &&
	    ms <= SPANK_TIMEOUT_MS_MAX) {
		a->timeout_ms = ms;
		return 0;
	}
	return -EINVAL;
}

int spank_ids__args(struct spank_args *a, int argc, char **argv, const char **bad)
{
	int err = 0;

	*a = (struct spank_args){.timeout_ms = SPANK_TIMEOUT_MS};
	*bad = NULL;
	for (int i = 0; i < argc; i++) {
		if (!parse_arg(a, argv[i]))
			continue;
		if (!err)
			*bad = argv[i];
		err = -EINVAL;
	}
	return err;
}
