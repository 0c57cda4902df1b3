// SPDX-License-Identifier: GPL-2.0-only
/* The table of keys. The file is read in config_read.c, a value in config_types.c. */
#include "base/config/config.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/config/config_types.h"
#include "base/str.h"

#define KEY_SLURM  1 /* also taken from slurm.conf and acct_gather.conf */
#define KEY_REPEAT 2
#define KEY_RELOAD 4 /* SIGHUP puts a new value in force */

#define IPMI_FREQUENCY "EnergyIPMIFrequency"
#define IPMI_SENSORS   "EnergyIPMIPowerSensors"
#define IPMI_TIMEOUT   "EnergyIPMITimeout"
#define IPMI_UNSCANNED "EnergyIPMIIgnoreScanningDisabled"
#define IPMI_DEVICE    "EnergyIPMIDriverDevice"

const char *const config_ipmi_keys[CONFIG_IPMI] = {IPMI_FREQUENCY, IPMI_SENSORS, IPMI_TIMEOUT,
						   IPMI_UNSCANNED, IPMI_DEVICE};

struct config_key {
	const char *name;
	const struct config_type *type;
	size_t offset;
	const char *initial;	  /* in the key's syntax; NULL: unset, or found at run time */
	const char *initial_text; /* for people, where initial does not say it */
	unsigned flags;
	const char *help;
};

/* clang-format off */
static const struct config_key keys[] = {
	{"ProfileHDF5Dir", &config_type_path, offsetof(struct config, hdf5_dir), NULL, "none: must be set",
	 KEY_SLURM, "Where the files go: a directory that the nodes share. Each user's are in a "
		    "directory of the user's name."},
	{"ProfileHDF5Default", &config_type_words, offsetof(struct config, hdf5_default), "none", NULL,
	 KEY_SLURM | KEY_RELOAD, "What is stored for steps that ask for nothing themselves: all, none, or a list "
		    "of Slurm's words and of families."},
	{"JobAcctGatherFrequency", &config_type_freq, offsetof(struct config, freq), "task=30", NULL,
	 KEY_SLURM | KEY_RELOAD, "Seconds between rows, for all or for one series: 30, or task=1,energy=5. "
		    "Fractions down to 0.1; 0 is off, and of task one row at the end."},
	{"ClusterName", &config_type_cluster, offsetof(struct config, cluster), NULL, "not stored",
	 KEY_SLURM, "Stored with every file, in lower case."},
	{"NodeName", &config_type_name, offsetof(struct config, node_name), NULL,
	 "the host's name up to the first dot", 0, "Slurm's name of this node: part of every file's name."},
	{"StateDir", &config_type_path, offsetof(struct config, state_dir), "/var/lib/jobprof", NULL, 0,
	 "Where the journals are, on a disk of this node."},
	{"JournalUserMax", &config_type_megabytes, offsetof(struct config, journals.user), "4096", NULL, KEY_RELOAD,
	 "MiB that the journals of one user's steps may take in StateDir; 0: no limit."},
	{"JournalMax", &config_type_megabytes, offsetof(struct config, journals.all), "8192", NULL, KEY_RELOAD,
	 "MiB that all journals may take in StateDir; 0: no limit."},
	{"JournalMinFree", &config_type_megabytes, offsetof(struct config, journals.min_free), "1024", NULL, KEY_RELOAD,
	 "MiB that journals leave free on StateDir's disk, at most a twentieth of it; 0: nothing."},
	{"PinDir", &config_type_path, offsetof(struct config, pin_dir), "/sys/fs/bpf/jobprof", NULL, 0,
	 "Where maps and links are pinned, on a BPF file system."},
	{"MaxSlots", &config_type_slots, offsetof(struct config, max_slots), NULL,
	 "5 per CPU, at least 512, at most 4096", 0,
	 "Steps, tasks and ranks that can be counted at once, 16 to 4096. A quarter is for steps alone; a job has at most as many tasks and ranks as it leaves to others, and what is beyond counts in its step."},
	{"MaxStacks", &config_type_stacks, offsetof(struct config, max_stacks), NULL,
	 "8192 and 512 more per CPU, at most 65536", 0,
	 "Different stacks that the kernel keeps between two rows, 1024 to 1048576, at 1.1 KiB each."},
	{"MaxCgroups", &config_type_cgroups, offsetof(struct config, max_cgroups), "32768", NULL, 0,
	 "Cgroups of jobs that can be known at once, 1024 to 1048576, at 100 bytes each."},
	{"RingSize", &config_type_ring, offsetof(struct config, ring_size), "4096", NULL, 0,
	 "KiB of the kernel's buffer of bursts, a power of two from 256 to 262144; other buffers are a quarter or less of it."},
	{"PublishInterval", &config_type_publish, offsetof(struct config, publish_interval), "60", NULL, KEY_RELOAD,
	 "Seconds between versions of a running step's file; 0: only when it has ended."},
	{"CgroupPattern", &config_type_pattern, 0, NULL, "Slurm's layouts only", KEY_REPEAT,
	 "Another layout of cgroups: /path/to/step-*, or /path/step-*//task-*; up to 8 times."},
	{"CgroupRoot", &config_type_path, offsetof(struct config, cgroup_root), NULL,
	 "found from process 1", 0, "The cgroup in which Slurm's tree begins, where that is not the root."},
	{"Writer", &config_type_path, offsetof(struct config, writer), NULL, "the installed one", 0,
	 "Path of jobprof-writer."},
	{"BTF", &config_type_path, offsetof(struct config, btf), NULL, "the running kernel's", 0,
	 "Type information of the kernel, for kernels that do not carry their own."},
	{"PerfEvents", &config_type_words, offsetof(struct config, perf_events),
	 "cycles,instructions,cache-misses", NULL, 0,
	 "What the family perf counts: up to 8 events by perf's names, rHEX, or PMU/TERMS/; sets with semicolons between them in turn."},
	{"PerfMode", &config_type_perf, offsetof(struct config, perf_mode), "auto", NULL, 0,
	 "How events are counted: exact, sampled, off; auto is the first of them that fits PerfBudget."},
	{"BurstMin", &config_type_burst, offsetof(struct config, burst_min), "1", NULL, 0,
	 "Milliseconds of run time from which a burst has a row of Bursts, 0.01 to 60000; all are in BurstLength."},
	{"PerfBudget", &config_type_budget, offsetof(struct config, perf_budget), "1", NULL, 0,
	 "Percent of each CPU that counting events may cost, 0.01 to 20."},
	{"Families", &config_type_words, offsetof(struct config, families), "all", NULL, 0,
	 "What steps may ask for, beside ProfileHDF5Default's: the families whose programs are loaded."},
	{"SensorDir", &config_type_path, offsetof(struct config, sensor_dir), JOBPROF_SENSORDIR, NULL, 0,
	 "Where a site's own sensors are, sensor_*.so: see jobprof-sensor(7)."},
	{"Socket", &config_type_path, offsetof(struct config, socket), "/run/jobprof/jobprofd.sock", NULL, 0,
	 "Where Slurm's plugins and users' programs talk to jobprofd."},
	{"AdminGroup", &config_type_name, offsetof(struct config, admin_group), NULL, "root only", 0,
	 "The group whose members may see every user's rows through the socket."},
	{"ProfileGroup", &config_type_name, offsetof(struct config, profile_group), NULL, "the users alone", 0,
	 "The group that may read all users' files: their directories have it, and mode 2750."},
	{"NodeTables", &config_type_node_tables, offsetof(struct config, node_tables), "exclusive", NULL, 0,
	 "Whose files say what the whole node did: exclusive, of jobs that have the node for themselves; always; never."},
	{"ExternSteps", &config_type_extern, offsetof(struct config, extern_all), "used", NULL, 0,
	 "Which extern steps have files: used, those in which the job's user was; all."},
	{"AutoMerge", &config_type_bool, offsetof(struct config, auto_merge), "no", NULL, 0,
	 "yes: a job's files are merged when it has ended, as its user, on its first node."},
	{"CulpritMatrix", &config_type_bool, offsetof(struct config, culprit_matrix), "no", NULL, 0,
	 "yes: the family culprit also counts which step waited for which, for jobprof-dump --culprits."},
	{"StackUnwind", &config_type_unwind, offsetof(struct config, unwind), "fp", NULL, 0,
	 "How the family stack finds callers: fp, by frame pointers; dwarf, by .eh_frame from copies of stacks."},
	{"SampleEvent", &config_type_sample_event, offsetof(struct config, by_cycles), "cpu-clock", NULL, 0,
	 "What the points of the family fold are samples of: cpu-clock or, where CPUs count them, cycles."},
	{"AutoReport", &config_type_bool, offsetof(struct config, auto_report), "no", NULL, 0,
	 "yes: AutoMerge stores what jobprof report finds in the job's file, too."},
	{"Sensors", &config_type_words, offsetof(struct config, sensors), "all", NULL, 0,
	 "Sources that are read, as jobprof sensors names them: all, or rapl,ipmi, or all,-ipmi."},
	{"SysRoot", &config_type_path, offsetof(struct config, sys_root), "/sys", NULL, 0,
	 "Where sensors look for sysfs: another tree in tests."},
	{"ProcRoot", &config_type_path, offsetof(struct config, proc_root), "/proc", NULL, 0,
	 "Where sensors look for /proc."},
	{"DevRoot", &config_type_path, offsetof(struct config, dev_root), "/dev", NULL, 0,
	 "Where sensors look for devices."},
	{IPMI_FREQUENCY, &config_type_words, offsetof(struct config, ipmi[0]), NULL, "1", KEY_SLURM,
	 "Seconds between two readings of the BMC."},
	{IPMI_SENSORS, &config_type_words, offsetof(struct config, ipmi[1]), NULL,
	 "DCMI's reading of power, else the first sensor in watts", KEY_SLURM,
	 "Sensors of the BMC by label, as in Slurm: Node=16,19,22;Socket1=19."},
	{IPMI_TIMEOUT, &config_type_words, offsetof(struct config, ipmi[2]), NULL, "10", KEY_SLURM,
	 "Seconds that the BMC has for an answer."},
	{IPMI_UNSCANNED, &config_type_words, offsetof(struct config, ipmi[3]), NULL, "no", KEY_SLURM,
	 "yes: sensors are read that the BMC says it does not scan."},
	{IPMI_DEVICE, &config_type_words, offsetof(struct config, ipmi[4]), NULL, "the first one",
	 KEY_SLURM, "Device of the BMC."},
	{"LogLevel", &config_type_level, offsetof(struct config, log_level), "info", NULL, KEY_RELOAD,
	 "error, warn, info or debug."},
};
/* clang-format on */
#define N_KEYS (sizeof(keys) / sizeof(keys[0]))
_Static_assert(N_KEYS <= CONFIG_KEYS, "CONFIG_KEYS");

static void *field_of(struct config *c, const struct config_key *k)
{
	return (char *)c + k->offset;
}

static int default_node_name(char **name)
{
	char host[256];

	if (gethostname(host, sizeof(host)))
		return -errno;
	host[sizeof(host) - 1] = '\0';
	host[strcspn(host, ".")] = '\0';
	*name = strdup(str__safe_name(host) ? host : "localhost");
	return *name ? 0 : -ENOMEM;
}

int config__init(struct config *c)
{
	char err[128];
	int ret;

	memset(c, 0, sizeof(*c));
	for (size_t i = 0; i < N_KEYS; i++) {
		const struct config_key *k = &keys[i];

		if (!k->initial)
			continue;
		ret = config_type__parse(k->type, false, k->initial, field_of(c, k), err,
					 sizeof(err));
		if (ret)
			goto fail;
	}
	ret = default_node_name(&c->node_name);
	if (!ret)
		return 0;
fail:
	config__free(c);
	return ret;
}

void config__free(struct config *c)
{
	if (!c)
		return;
	free(c->hdf5_dir);
	free(c->hdf5_default);
	free(c->cluster);
	free(c->state_dir);
	free(c->node_name);
	free(c->pin_dir);
	free(c->cgroup_root);
	free(c->writer);
	free(c->btf);
	free(c->perf_events);
	free(c->families);
	free(c->sensor_dir);
	free(c->socket);
	free(c->admin_group);
	free(c->profile_group);
	free(c->sensors);
	free(c->sys_root);
	free(c->proc_root);
	free(c->dev_root);
	free(c->slurm_conf);
	for (unsigned i = 0; i < CONFIG_IPMI; i++)
		free(c->ipmi[i]);
	free(c->error);
	for (unsigned i = 0; i < c->n_cgroup_patterns; i++) {
		free(c->cgroup_patterns[i]);
		free(c->pattern_where[i]);
	}
	for (unsigned i = 0; i < CONFIG_KEYS; i++)
		free(c->where[i]);
	memset(c, 0, sizeof(*c));
}

static const char *nearest_key(const char *word)
{
	const char *names[N_KEYS + 1];

	for (size_t i = 0; i < N_KEYS; i++)
		names[i] = keys[i].name;
	names[N_KEYS] = "Include";
	return str__nearest(word, names, N_KEYS + 1);
}

int config__set(struct config *c, const char *key, const char *value, bool slurm_only,
		unsigned *key_index, const char **near, char *err, size_t errlen)
{
	err[0] = '\0';
	for (unsigned i = 0; i < N_KEYS; i++) {
		if (strcasecmp(keys[i].name, key) != 0 ||
		    (slurm_only && !(keys[i].flags & KEY_SLURM)))
			continue;
		if (key_index)
			*key_index = i;
		return config_type__parse(keys[i].type, slurm_only, value, field_of(c, &keys[i]),
					  err, errlen);
	}
	if (near)
		*near = nearest_key(key);
	return -ENOENT;
}

/* key is one of the table: the caller knows it. */
static unsigned find_key(const char *key)
{
	unsigned i = 0;

	while (i + 1 < N_KEYS && strcmp(keys[i].name, key) != 0)
		i++;
	return i;
}

const char *config__where(const struct config *c, const char *key)
{
	const char *where = c->where[find_key(key)];

	return where ? where : "default";
}

static bool is_given(const struct config *c, unsigned key_index)
{
	return c->given[key_index] || c->where[key_index];
}

bool config__is_given(const struct config *c, const char *key)
{
	return is_given(c, find_key(key));
}

bool config__is_overridden(const struct config *c, const char *key)
{
	return c->given[find_key(key)];
}

static int replace_text(char **text, const char *with)
{
	char *copy = strdup(with);

	if (!copy)
		return -ENOMEM;
	free(*text);
	*text = copy;
	return 0;
}

int config__set_where(struct config *c, unsigned key_index, const char *file, unsigned line)
{
	unsigned last = c->n_cgroup_patterns;
	char where[PATH_MAX + 16];
	int err;

	snprintf(where, sizeof(where), "%s:%u", file, line);
	err = replace_text(&c->where[key_index], where);
	if (!err && keys[key_index].flags & KEY_REPEAT && last)
		err = replace_text(&c->pattern_where[last - 1], where);
	return err;
}

bool config__repeats(unsigned key_index)
{
	return keys[key_index].flags & KEY_REPEAT;
}

void config__print_keys(FILE *f)
{
	for (size_t i = 0; i < N_KEYS; i++)
		fprintf(f, "%s\n    %s\n    Default: %s.\n", keys[i].name, keys[i].help,
			keys[i].initial ? keys[i].initial : keys[i].initial_text);
}

void config__print(const struct config *c, FILE *f)
{
	for (size_t i = 0; i < N_KEYS; i++)
		config_type__print(keys[i].type, keys[i].name, (const char *)c + keys[i].offset, f);
}

static char *value_text(const struct config *c, const struct config_key *k)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return NULL;
	config_type__print(k->type, k->name, (const char *)c + k->offset, f);
	fclose(f);
	return text;
}

void config__print_given(const struct config *c, FILE *f)
{
	for (unsigned i = 0; i < N_KEYS; i++) {
		_cleanup_free_ char *text = is_given(c, i) ? value_text(c, &keys[i]) : NULL;
		char *rest = text, *line;

		while (rest && (line = strsep(&rest, "\n")))
			if (*line)
				fprintf(f, " %s", line);
	}
}

static bool same_value(const struct config *a, const struct config *b, const struct config_key *k)
{
	_cleanup_free_ char *one = value_text(a, k), *other = value_text(b, k);

	return one && other && !strcmp(one, other);
}

void config__print_restart(const struct config *old, const struct config *fresh, FILE *f)
{
	const char *comma = "";

	for (size_t i = 0; i < N_KEYS; i++) {
		if (keys[i].flags & KEY_RELOAD || old->given[i] || same_value(old, fresh, &keys[i]))
			continue;
		fprintf(f, "%s%s", comma, keys[i].name);
		comma = ", ";
	}
}

int config__override(struct config *c, const char *key, const char *value)
{
	char err[960];
	unsigned i = 0;
	int ret = config__set(c, key, value, false, &i, NULL, err, sizeof(err));

	if (ret)
		log_error("%s: %s", key, err);
	else
		c->given[i] = true;
	return ret;
}
