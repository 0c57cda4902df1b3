// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * acct_gather_profile_jobprof.so: Slurm's --profile, --acctg-freq and gatherers, for jobprofd.
 * slurmctld and slurmd load the plugin for its options only; slurmstepd alone reports a step.
 */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "schema/family.h"
#include "base/freq.h"
#include "base/str.h"
#include "client/client.h"
#include "identity/layout.h"
#include "identity/proc.h"
#include "slurm/profile_api.h"
#include "slurm/profile_mask.h"
#include "slurm/profile_record.h"

#define START_MS 50 /* the longest wait for jobprofd at a step's start, in all */

_Static_assert(PROFILE_NOT_SET == ACCT_GATHER_PROFILE_NOT_SET &&
		       PROFILE_NONE == ACCT_GATHER_PROFILE_NONE &&
		       PROFILE_ENERGY == ACCT_GATHER_PROFILE_ENERGY &&
		       PROFILE_TASK == ACCT_GATHER_PROFILE_TASK &&
		       PROFILE_LUSTRE == ACCT_GATHER_PROFILE_LUSTRE &&
		       PROFILE_NETWORK == ACCT_GATHER_PROFILE_NETWORK &&
		       PROFILE_ALL == ACCT_GATHER_PROFILE_ALL,
	       "Slurm's bits");
_Static_assert(JPC_MEASURES_ENERGY == PROFILE_ENERGY && JPC_MEASURES_TASK == PROFILE_TASK &&
		       JPC_MEASURES_LUSTRE == PROFILE_LUSTRE &&
		       JPC_MEASURES_NETWORK == PROFILE_NETWORK,
	       "the protocol's bits are Slurm's");

const char plugin_name[] = "AcctGatherProfile jobprof plugin";
const char plugin_type[] = "acct_gather_profile/jobprof";
/* Slurm loads only plugins that have its own version number, down to the patch level. */
uint32_t plugin_version = SLURM_VERSION_NUMBER;
static char release[32]; /* version of the running Slurm */

static struct {
	char dir[PATH_MAX];
	char default_text[sizeof(((struct jpc_step *)0)->families)];
	uint32_t default_mask; /* of the series that Slurm samples */
	char socket[PATH_MAX];
} conf = {.default_mask = PROFILE_NONE};

/* The one step of this slurmstepd. */
static struct {
	struct sink *sink;
	struct profile_step request; /* as the user asked by --profile */
	bool has_request;
	struct jpc_step message;
	bool wait; /* wait for jobprofd's answer when tasks begin */
	bool tasks_begun;
	/* PROFILE_NOT_SET until the step begins, and never after that. */
	_Atomic uint32_t asked;
} step;

static void log_line(const char *line)
{
	if (slurm_info)
		slurm_info("jobprof: %s", line);
}

static void log_problem(const char *object, const char *reason)
{
	if (slurm_error)
		slurm_error("jobprof: %s: %s", object, reason);
}

/* The version of another plugin, which is that of the running Slurm; 0: the file is no plugin, or
 * one for SPANK, whose version may differ. */
static uint32_t plugin_version_of(const char *path, int flags)
{
	void *so = *path ? dlopen(path, RTLD_LAZY | RTLD_LOCAL | flags) : NULL;
	const uint32_t *version;
	const char *type;
	uint32_t v = 0;

	if (!so)
		return 0;
	version = dlsym(so, "plugin_version");
	type = dlsym(so, "plugin_type");
	if (version && version != &plugin_version && type && strcmp(type, "spank") != 0)
		v = *version;
	dlclose(so);
	return v;
}

/* The version of a plugin that Slurm has loaded already. */
static uint32_t loaded_version(void)
{
	void *self = dlopen(NULL, RTLD_LAZY);
	struct link_map *m = NULL;
	uint32_t v = 0;

	if (self && !dlinfo(self, RTLD_DI_LINKMAP, &m))
		for (; m && !v; m = m->l_next)
			v = plugin_version_of(m->l_name, RTLD_NOLOAD);
	if (self)
		dlclose(self);
	return v;
}

/* The version of a plugin that every Slurm has in its library directory: needed where a program
 * loads this plugin first. */
static uint32_t neighbours_version(void)
{
	static const char *const names[] = {"jobacct_gather_linux.so", "select_cons_tres.so",
					    "hash_k12.so"};
	char path[PATH_MAX];
	uint32_t v = 0;
	Dl_info lib;

	if (!slurm_info || !dladdr((void *)slurm_info, &lib) || !strchr(lib.dli_fname, '/'))
		return 0;
	for (size_t i = 0; !v && i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%.*s/%s",
			 (int)(strrchr(lib.dli_fname, '/') - lib.dli_fname), lib.dli_fname,
			 names[i]);
		v = plugin_version_of(path, 0);
	}
	return v;
}

static const char *format_version(uint32_t v, char *buf, size_t size)
{
	snprintf(buf, size, "%u.%02u.%u", SLURM_VERSION_MAJOR(v), SLURM_VERSION_MINOR(v),
		 SLURM_VERSION_MICRO(v));
	return buf;
}

/* Runs before Slurm reads plugin_version: a plugin that was built for one release also works with
 * others of the same interface. Later releases are unknown: there the version stays, and Slurm
 * refuses the plugin. */
__attribute__((constructor)) static void adopt_slurm_version(void)
{
	uint32_t v = loaded_version();
	char found[32], reason[160];

	if (!v)
		v = neighbours_version();
	if (v >= API_OLDEST && v <= API_NEWEST)
		plugin_version = v;
	else if (v && v != plugin_version) {
		snprintf(reason, sizeof(reason),
			 "built for %s, this is %s: build it for this one (make SLURM=PREFIX)",
			 format_version(plugin_version, release, sizeof(release)),
			 format_version(v, found, sizeof(found)));
		log_problem("the AcctGatherProfile plugin", reason);
	}
	format_version(plugin_version, release, sizeof(release));
}

/* Only daemons log the version: slurmstepd would repeat it for each step, and users' commands would
 * print it. */
int init(void)
{
	const char *self = program_invocation_short_name;

	if (slurm_info && (!strcmp(self, "slurmd") || !strcmp(self, "slurmctld")))
		slurm_info("jobprof: " JOBPROF_VERSION " in Slurm %s", release);
	else if (slurm_debug && !strcmp(self, "slurmstepd"))
		slurm_debug("jobprof: " JOBPROF_VERSION " in Slurm %s", release);
	return SLURM_SUCCESS;
}

int fini(void)
{
	sink__free(step.sink);
	step.sink = NULL;
	return SLURM_SUCCESS;
}

static const char *const option_names[] = {"ProfileHDF5Dir", "ProfileHDF5Default",
					   "ProfileJobprofSocket"};

void acct_gather_profile_p_conf_options(void *all, int *n)
{
	for (size_t i = 0; i < sizeof(option_names) / sizeof(option_names[0]); i++) {
		struct api_option list = {.key = option_names[i], .type = OPTION_STRING};

		if (slurm_transfer_s_p_options)
			slurm_transfer_s_p_options(all, &list, n);
	}
}

static void read_option(const void *table, const char *key, char *buf, size_t size)
{
	char *value = NULL;

	buf[0] = '\0';
	if (!table || !slurm_s_p_get_string || !slurm_s_p_get_string(&value, key, table) || !value)
		return;
	if (str__copy(buf, size, value))
		log_problem(key, "the value in acct_gather.conf is too long, it is not used");
	if (slurm_xfree)
		slurm_xfree((void **)&value);
}

void acct_gather_profile_p_conf_set(const void *table)
{
	char bad[64] = "", words[FAMILY_WORDS_SIZE], reason[FAMILY_WORDS_SIZE + 128];

	read_option(table, "ProfileHDF5Dir", conf.dir, sizeof(conf.dir));
	read_option(table, "ProfileJobprofSocket", conf.socket, sizeof(conf.socket));
	read_option(table, "ProfileHDF5Default", conf.default_text, sizeof(conf.default_text));
	conf.default_mask = PROFILE_NONE;
	if (!conf.default_text[0] ||
	    !profile_mask__parse(conf.default_text, &conf.default_mask, bad, sizeof(bad)))
		return;
	conf.default_text[0] = '\0';
	family__words(words, sizeof(words));
	snprintf(reason, sizeof(reason),
		 "\"%s\" in acct_gather.conf is none of %s; none is used instead", bad, words);
	log_problem("ProfileHDF5Default", reason);
}

void acct_gather_profile_p_conf_values(void **list)
{
	const char *const values[] = {conf.dir, conf.default_text[0] ? conf.default_text : "none",
				      conf.socket[0] ? conf.socket : JPC_SOCKET};

	if (!slurm_xcalloc || !slurm_xstrdup || !slurm_list_append)
		return;
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		struct api_key_pair *pair =
			slurm_xcalloc(1, sizeof(*pair), true, false, __FILE__, __LINE__, __func__);

		pair->name = slurm_xstrdup(option_names[i]);
		pair->value = slurm_xstrdup(values[i]);
		slurm_list_append(*list, pair);
	}
}

/* PROFILE_NOT_SET before the step's start, as Slurm's own plugin does. */
static uint32_t running_mask(void)
{
	uint32_t asked = atomic_load(&step.asked);

	if (asked == PROFILE_NOT_SET || !step.sink)
		return asked;
	return profile_mask__running(asked, sink__measures(step.sink));
}

void acct_gather_profile_p_get(enum acct_gather_profile_info what, void *data)
{
	switch (what) {
	case ACCT_GATHER_PROFILE_DIR:
		*(char **)data = slurm_xstrdup ? slurm_xstrdup(conf.dir) : NULL;
		break;
	case ACCT_GATHER_PROFILE_DEFAULT:
		*(uint32_t *)data = conf.default_mask;
		break;
	case ACCT_GATHER_PROFILE_RUNNING:
		*(uint32_t *)data = running_mask();
		break;
	default:
		break;
	}
}

bool acct_gather_profile_p_is_active(uint32_t type)
{
	uint32_t on = running_mask() & PROFILE_SERIES;

	return type == PROFILE_NOT_SET ? on : on & type;
}

/* Reads the job and step of this slurmstepd from its title. */
static int read_own_title(struct jpc_step *m)
{
	char title[256];
	int32_t het;
	int err = proc__title(getpid(), title, sizeof(title));

	if (!err)
		err = proc__stepd_title(title, &m->job_id, m->step_name, sizeof(m->step_name));
	return err ? err : layout__step_id(m->step_name, &m->step_id, &het);
}

/* The mask that the step's user asked for; PROFILE_NOT_SET, with a line in the log, if the record
 * does not have it. */
static uint32_t read_request(const void *record)
{
	const struct jpc_step *m = &step.message;
	struct profile_ids ids = {m->job_id, m->step_id, m->node_name};
	char reason[256], line[512];

	step.has_request = !profile_step__find(record, &ids, &step.request, reason, sizeof(reason));
	if (step.has_request)
		return step.request.mask;
	snprintf(
		line, sizeof(line),
		"--profile is taken as not given: %s (Slurm %s); use --jobprof, or a later jobprof",
		reason, release);
	log_line(line);
	return PROFILE_NOT_SET;
}

static bool default_is_given(void)
{
	return conf.default_text[0] && strcasecmp(conf.default_text, "none") != 0;
}

/* Fills in the request; returns the mask of the series that Slurm samples if jobprofd does not. */
static uint32_t fill_request(const void *record)
{
	struct jpc_step *m = &step.message;
	uint32_t mask = read_request(record);

	m->asked = mask != PROFILE_NOT_SET || default_is_given();
	if (mask == PROFILE_NOT_SET) {
		str__copy(m->families, sizeof(m->families),
			  default_is_given() ? conf.default_text : "");
		mask = conf.default_mask;
	} else {
		profile_mask__print(mask, m->families, sizeof(m->families));
	}
	if (m->asked)
		str__copy(m->freq, sizeof(m->freq), step.request.freq);
	return mask;
}

static void init_message(struct jpc_step *m)
{
	const char *node = getenv("SLURMD_NODENAME");

	*m = (struct jpc_step){.source = JPC_PROFILE,
			       .uid = JPC_UNKNOWN,
			       .gid = JPC_UNKNOWN,
			       .restart = JPC_UNKNOWN,
			       .node_index = JPC_UNKNOWN,
			       .nnodes = JPC_UNKNOWN,
			       .node_tasks = JPC_UNKNOWN,
			       .ntasks = JPC_UNKNOWN,
			       .cpus_per_task = JPC_UNKNOWN,
			       .array_job_id = JPC_UNKNOWN,
			       .array_task_id = JPC_UNKNOWN,
			       .het_job_id = JPC_UNKNOWN,
			       .het_offset = JPC_UNKNOWN,
			       .time_limit = JPC_UNKNOWN};
	str__copy(m->node_name, sizeof(m->node_name), node ? node : "");
}

int acct_gather_profile_p_node_step_start(const void *record)
{
	uint32_t asked;

	atomic_store(&step.asked, PROFILE_NONE);
	init_message(&step.message);
	if (read_own_title(&step.message)) {
		log_line("this process does not look like a slurmstepd, the step is not told of");
		return SLURM_SUCCESS;
	}
	asked = fill_request(record);
	step.sink =
		sink__new(client__path(conf.socket[0] ? conf.socket : NULL), START_MS, log_line);
	if (!step.sink) {
		log_line("ProfileJobprofSocket is no path of a socket, or memory is short: the "
			 "step is not told of");
		return SLURM_SUCCESS;
	}
	/* jobprofd must know --profile=none, too, before the step counts as one that asks for
	 * nothing */
	step.wait = step.message.asked;
	if (!step.wait)
		sink__open(step.sink);
	else if (sink__step(step.sink, &step.message, true) != -ESRCH)
		step.wait = false;
	atomic_store(&step.asked, asked);
	return SLURM_SUCCESS;
}

/* A batch step has no launch message: sbatch stores the intervals in the environment. */
static void find_batch_freq(char *buf, size_t size)
{
	struct freq f;
	char err[8];

	freq__init(&f);
	if (!buf[0] && step.has_request && step.message.asked &&
	    (profile_step__getenv(&step.request, "SLURM_ACCTG_FREQ", buf, size) ||
	     freq__parse(buf, &f, err, sizeof(err))))
		memset(buf, 0, size);
}

static void forget_request(void)
{
	struct jpc_step *m = &step.message;

	m->asked = 0;
	memset(m->families, 0, sizeof(m->families));
	memset(m->freq, 0, sizeof(m->freq));
	step.has_request = false;
	atomic_store(&step.asked, PROFILE_NONE);
}

/* Takes the user from this process's rights: slurmstepd has the user's while it forks tasks. */
static void learn_step_user(void)
{
	struct jpc_step *m = &step.message;
	uid_t uid = geteuid();

	if (step.has_request && uid && (uid != step.request.uid || getegid() != step.request.gid)) {
		log_line(
			"Slurm's record of the step names another user or group than its tasks are "
			"started as: --profile is taken as not given; use --jobprof, or a later "
			"jobprof");
		forget_request();
	}
	/* the extern step has no task, and always root's rights */
	if (uid || (step.has_request && !step.request.uid)) {
		m->uid = uid;
		m->gid = getegid();
	}
}

int acct_gather_profile_p_task_start(uint32_t task)
{
	if (!step.sink || step.tasks_begun)
		return SLURM_SUCCESS;
	step.tasks_begun = true;
	find_batch_freq(step.message.freq, sizeof(step.message.freq));
	learn_step_user();
	if (sink__step(step.sink, &step.message, step.wait) == -ESRCH)
		log_line("jobprofd does not know whose step this is, its samples are dropped");
	return SLURM_SUCCESS;
}

int acct_gather_profile_p_task_end(pid_t pid)
{
	return SLURM_SUCCESS;
}

int acct_gather_profile_p_node_step_end(void)
{
	if (step.sink)
		sink__end(step.sink);
	return SLURM_SUCCESS;
}

void acct_gather_profile_p_child_forked(void)
{
	if (step.sink)
		sink__child(step.sink);
}

int64_t acct_gather_profile_p_create_group(const char *name)
{
	int64_t id =
		step.sink && running_mask() != PROFILE_NONE ? sink__group(step.sink, name) : -1;

	return id < 0 ? SLURM_ERROR : id;
}

int acct_gather_profile_p_create_dataset(const char *name, int64_t parent,
					 const struct sink_field *fields)
{
	int id;

	if (!step.sink || running_mask() == PROFILE_NONE)
		return SLURM_ERROR;
	id = sink__table(step.sink, parent, name, fields);
	if (id < 0)
		log_problem(name, "a dataset with names or types that jobprofd does not know of");
	return id < 0 ? SLURM_ERROR : id;
}

/* A sample that is lost is counted, and is no error for the gatherer. */
int acct_gather_profile_p_add_sample_data(int dataset, const void *data, time_t when)
{
	if (!step.sink || sink__row(step.sink, dataset, data, when) == -EINVAL)
		return SLURM_ERROR;
	return SLURM_SUCCESS;
}
