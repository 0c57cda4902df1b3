/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of keys of jobprof.conf, and how their values are read, set, printed and freed. */
#include "base/config/config.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/config/conf_file.h"
#include "base/str.h"

#define KEY_SLURM  1 /* also taken from slurm.conf and acct_gather.conf */
#define KEY_RELOAD 2 /* SIGHUP puts a new value in force */

#define IPMI_FREQUENCY "EnergyIPMIFrequency"
#define IPMI_SENSORS   "EnergyIPMIPowerSensors"
#define IPMI_TIMEOUT   "EnergyIPMITimeout"
#define IPMI_UNSCANNED "EnergyIPMIIgnoreScanningDisabled"
#define IPMI_DEVICE    "EnergyIPMIDriverDevice"

const char *const config_ipmi_keys[CONFIG_IPMI] = {IPMI_FREQUENCY, IPMI_SENSORS, IPMI_TIMEOUT,
						   IPMI_UNSCANNED, IPMI_DEVICE};

/* ---- the keys */

/* Words of a key, each of which stands for its place in the list. */
static const char *const bools[] = {"no", "yes", NULL};
static const char *const coordinators_see[] = {"jobs", "sums", NULL};
static const char *const live_findings[] = {[LIVE_FINDINGS_NO] = "no",
					    [LIVE_FINDINGS_ASKED] = "asked",
					    [LIVE_FINDINGS_ALL] = "all",
					    NULL};
static const char *const sample_events[] = {"cpu-clock", "cycles", NULL};
static const char *const extern_steps[] = {"used", "all", NULL};
static const char *const levels[] = {"error", "warn", "info", "debug", NULL};
static const char *const node_tables[] = {[NODE_TABLES_EXCLUSIVE] = "exclusive",
					  [NODE_TABLES_ALWAYS] = "always",
					  [NODE_TABLES_NEVER] = "never",
					  NULL};
static const char *const perf_modes[] = {[PERF_MODE_AUTO] = "auto",
					 [PERF_MODE_EXACT] = "exact",
					 [PERF_MODE_SAMPLED] = "sampled",
					 [PERF_MODE_OFF] = "off",
					 NULL};
static const char *const unwinds[] = {[UNWIND_FP] = "fp", [UNWIND_DWARF] = "dwarf", NULL};

enum value_type {
	TYPE_TEXT,     /* char *: any, */
	TYPE_PATH,     /* an absolute path, */
	TYPE_NAME,     /* a name without "/", */
	TYPE_CLUSTER,  /* the same in lower case */
	TYPE_PATTERNS, /* CgroupPattern, which may be given several times */
	TYPE_FREQ,
	TYPE_COUNT, /* unsigned from min to max; 0: not set */
	TYPE_POWER_OF_TWO,
	TYPE_NUMBER,   /* double from min to max */
	TYPE_PERCENT,  /* the same; % may follow */
	TYPE_INTERVAL, /* the same, or 0 */
	TYPE_WORD,     /* an enum: its place among the words */
	TYPE_YES_NO,   /* bool: the second of two words */
};

struct config_key {
	const char *name;
	struct {
		enum value_type type;
		size_t offset;	  /* in struct config */
		const char *what; /* "a number of MiB from", for people */
		double min, max;
		const char *const *words; /* ends with NULL */
	} value;
	const char *initial;	  /* in the key's syntax; NULL: unset, or found at run time */
	const char *initial_text; /* for people, where initial does not say it */
	unsigned flags;
	const char *help;
};

/* clang-format off */
#define VALUE(type, field) {type, offsetof(struct config, field), NULL, 0, 0, NULL}
#define TEXT(field) VALUE(TYPE_TEXT, field)
#define PATH(field) VALUE(TYPE_PATH, field)
#define NAME(field) VALUE(TYPE_NAME, field)
#define PATTERNS {TYPE_PATTERNS, 0, NULL, 0, 0, NULL}
#define COUNT(field, min, max) {TYPE_COUNT, offsetof(struct config, field), "a number from", min, max, NULL}
#define POWER_OF_TWO(field, min, max) {TYPE_POWER_OF_TWO, offsetof(struct config, field), "a number from", min, max, NULL}
#define NUMBER(field, what, min, max) {TYPE_NUMBER, offsetof(struct config, field), what, min, max, NULL}
#define PERCENT(field, min, max) {TYPE_PERCENT, offsetof(struct config, field), "a percentage from", min, max, NULL}
#define INTERVAL(field, min, max) {TYPE_INTERVAL, offsetof(struct config, field), "0 (only at the end) or", min, max, NULL}
#define WORD(field, words) {TYPE_WORD, offsetof(struct config, field), NULL, 0, 0, words}
#define YES_NO(field, words) {TYPE_YES_NO, offsetof(struct config, field), NULL, 0, 0, words}

static const struct config_key keys[] = {
	{"ProfileHDF5Dir", PATH(hdf5_dir), NULL, "none: must be set",
	 KEY_SLURM, "Where the files go: a directory that the nodes share. Each user's are in a "
		    "directory of the user's name."},
	{"ProfileHDF5Default", TEXT(hdf5_default), "none", NULL,
	 KEY_SLURM | KEY_RELOAD, "What is stored for steps that ask for nothing themselves: all, none, or a list "
		    "of Slurm's words and of families."},
	{"JobAcctGatherFrequency", VALUE(TYPE_FREQ, freq), "task=30", NULL,
	 KEY_SLURM | KEY_RELOAD, "Seconds between rows, for all or for one series: 30, or task=1,energy=5. "
		    "Fractions down to 0.1; 0 is off, and of task one row at the end."},
	{"ClusterName", VALUE(TYPE_CLUSTER, cluster), NULL, "not stored",
	 KEY_SLURM, "Stored with every file, in lower case."},
	{"NodeName", NAME(node_name), NULL,
	 "the host's name up to the first dot", 0, "Slurm's name of this node: part of every file's name."},
	{"StateDir", PATH(state_dir), "/var/lib/jobprof", NULL, 0,
	 "Where the journals are, on a disk of this node."},
	{"JournalUserMax", NUMBER(journals.user, "a number of MiB from", 0, 1e9), "4096", NULL, KEY_RELOAD,
	 "MiB that the journals of one user's steps may take in StateDir; 0: no limit."},
	{"JournalMax", NUMBER(journals.all, "a number of MiB from", 0, 1e9), "8192", NULL, KEY_RELOAD,
	 "MiB that all journals may take in StateDir; 0: no limit."},
	{"JournalMinFree", NUMBER(journals.min_free, "a number of MiB from", 0, 1e9), "1024", NULL, KEY_RELOAD,
	 "MiB that journals leave free on StateDir's disk, at most a twentieth of it; 0: nothing."},
	{"PinDir", PATH(pin_dir), "/sys/fs/bpf/jobprof", NULL, 0,
	 "Where maps and links are pinned, on a BPF file system."},
	{"MaxSlots", COUNT(max_slots, 16, 4096), NULL,
	 "5 per CPU, at least 512, at most 4096", 0,
	 "Steps, tasks and ranks that can be counted at once, 16 to 4096. A quarter is for steps alone; a job has at most as many tasks and ranks as it leaves to others, and what is beyond counts in its step."},
	{"MaxStacks", COUNT(max_stacks, 1024, 1048576), NULL,
	 "8192 and 512 more per CPU, at most 65536", 0,
	 "Different stacks that the kernel keeps between two rows, 1024 to 1048576, at 1.1 KiB each."},
	{"MaxCgroups", COUNT(max_cgroups, 1024, 1048576), "32768", NULL, 0,
	 "Cgroups of jobs that can be known at once, 1024 to 1048576, at 100 bytes each."},
	{"RingSize", POWER_OF_TWO(ring_size, 256, 262144), "4096", NULL, 0,
	 "KiB of the kernel's buffer of bursts, a power of two from 256 to 262144; other buffers are a quarter or less of it."},
	{"HousekeepingCPUs", TEXT(housekeeping_cpus), NULL, "all that the service may use", 0,
	 "CPUs on which jobprofd and what it starts run, as 0,64-65: those that jobs do not get, Slurm's CpuSpecList."},
	{"LiveFiles", YES_NO(live_files, bools), "yes", NULL, KEY_RELOAD,
	 "yes: running steps have files, which jobprof running, top, seff and serve read; no: files come when steps have ended."},
	{"PublishInterval", INTERVAL(publish_interval, 1, 86400), "600", NULL, KEY_RELOAD,
	 "Seconds between versions of a running step's file; a young step's come sooner; 0: as LiveFiles=no."},
	{"CgroupPattern", PATTERNS, NULL, "Slurm's layouts only", 0,
	 "Another layout of cgroups: /path/to/step-*, or /path/step-*//task-*; up to 8 times."},
	{"CgroupRoot", PATH(cgroup_root), NULL,
	 "found from process 1", 0, "The cgroup in which Slurm's tree begins, where that is not the root."},
	{"AdminComment", YES_NO(admin_comment, bools), "no", NULL, 0,
	 "yes: the index service writes the text of jobstats into the AdminComment of jobs."},
	{"MailSpool", PATH(mail_spool), "/var/spool/jobprof", NULL, 0,
	 "Where jobprof mail, as Slurm's MailProg, puts mails for the index service."},
	{"MailProgram", PATH(mail_program), "/bin/mail", NULL, 0,
	 "What jobprof mail becomes while there is no index service."},
	{"Writer", PATH(writer), NULL, "the installed one", 0,
	 "Path of jobprof-writer."},
	{"BTF", PATH(btf), NULL, "the running kernel's", 0,
	 "Type information of the kernel, for kernels that do not carry their own."},
	{"PerfEvents", TEXT(perf_events),
	 "cycles,instructions,cache-misses", NULL, 0,
	 "What the family perf counts: up to 8 events by perf's names, rHEX, or PMU/TERMS/; sets with semicolons between them in turn."},
	{"PerfMode", WORD(perf_mode, perf_modes), "auto", NULL, 0,
	 "How events are counted: exact, sampled, off; auto is the first of them that fits PerfBudget."},
	{"BurstMin", NUMBER(burst_min, "a number of milliseconds from", 0.01, 60000), "1", NULL, 0,
	 "Milliseconds of run time from which a burst has a row of Bursts, 0.01 to 60000; all are in BurstLength."},
	{"PerfBudget", PERCENT(perf_budget, 0.01, 20), "1", NULL, 0,
	 "Percent of each CPU that counting events may cost, 0.01 to 20."},
	{"OverheadBudget", PERCENT(overhead_budget, 0, 100), "0.5", NULL, KEY_RELOAD,
	 "Percent of the node's busy cores that all of jobprof may cost: what costs more rests for a while; 0: no limit."},
	{"Families", TEXT(families), "all", NULL, 0,
	 "What steps may ask for, beside ProfileHDF5Default's: the families whose programs are loaded."},
	{"SensorDir", PATH(sensor_dir), JOBPROF_SENSORDIR, NULL, 0,
	 "Where a site's own sensors are, sensor_*.so: see jobprof-sensor(7)."},
	{"Socket", PATH(socket), "/run/jobprof/jobprofd.sock", NULL, 0,
	 "Where Slurm's plugins and users' programs talk to jobprofd."},
	{"AdminGroup", NAME(admin_group), NULL, "root only", 0,
	 "The group whose members may see every user's rows through the socket."},
	{"ProfileGroup", NAME(profile_group), NULL, "the users alone", 0,
	 "The group that may read all users' files: their directories have it, and mode 2750."},
	{"ProfileRetention", NUMBER(retention_days, "a number of days from", 0, 36500), "0", "for ever", 0,
	 "Days after a job's last change until jobprof expire removes its profile."},
	{"ProfileQuota", NUMBER(quota_mib, "a number of MiB from", 0, 1e12), "0", "none", 0,
	 "MiB of profiles that jobprof expire leaves to each user, the newest."},
	{"NodeTables", WORD(node_tables, node_tables), "exclusive", NULL, 0,
	 "Whose files say what the whole node did: exclusive, of jobs that have the node for themselves; always; never."},
	{"ExternSteps", YES_NO(extern_all, extern_steps), "used", NULL, 0,
	 "Which extern steps have files: used, those in which the job's user was; all."},
	{"AutoMerge", YES_NO(auto_merge, bools), "no", NULL, 0,
	 "yes: a job's files are merged when it has ended, as its user, on its first node."},
	{"CulpritMatrix", YES_NO(culprit_matrix, bools), "no", NULL, 0,
	 "yes: the family culprit also counts which step waited for which, for jobprof-dump --culprits."},
	{"StackUnwind", WORD(unwind, unwinds), "fp", NULL, 0,
	 "How the family stack finds callers: fp, by frame pointers; dwarf, by .eh_frame from copies of stacks."},
	{"SampleEvent", YES_NO(by_cycles, sample_events), "cpu-clock", NULL, 0,
	 "What the points of the family fold are samples of: cpu-clock or, where CPUs count them, cycles."},
	{"AutoReport", YES_NO(auto_report, bools), "no", NULL, 0,
	 "yes: AutoMerge stores what jobprof report finds in the job's file, too."},
	{"LiveFindings", WORD(live_findings, live_findings), "asked", NULL, 0,
	 "Which steps are told while they run what holds them back: no; asked, those of users who ask; all."},
	{"IndexDatabase", TEXT(index), NULL, "/var/lib/jobprof-index/index.db", 0,
	 "The index of all jobs, see jobprof-index(1): the path of SQLite's file, or postgresql://..."},
	{"ViewGroups", TEXT(view_groups), NULL, "none", 0,
	 "Groups whose members see all jobs of the index: a list."},
	{"StaffGroups", TEXT(staff_groups), "jobprof", NULL, 0,
	 "Groups whose members see all jobs of the index, and note contacts: a list."},
	{"CoordinatorSees", YES_NO(coordinator_sums, coordinators_see), "jobs", NULL, 0,
	 "What Slurm's coordinators see of their accounts in the index: jobs, or sums, of usage alone."},
	{"ProxyUser", NAME(proxy_user), NULL, "nobody is believed", 0,
	 "The user of the web server before jobprof serve, whose header is believed."},
	{"UserHeader", NAME(user_header), "X-Remote-User", NULL, 0,
	 "The header in which that web server names who asks."},
	{"FrameAncestors", TEXT(frame_ancestors), NULL, "none", 0,
	 "Other sites that may show pages of jobprof serve in a frame, with blanks between them."},
	{"MetricsListen", TEXT(metrics_listen), "127.0.0.1:10270", NULL, 0,
	 "Where jobprof exporter answers, ADDRESS:PORT; none: nowhere."},
	{"MetricsFile", PATH(metrics_file), NULL, "none", 0,
	 "A file of jobprof exporter's for node_exporter, in its directory: /PATH/jobprof.prom."},
	{"MetricsJobs", YES_NO(metrics_jobs, bools), "yes", NULL, KEY_RELOAD,
	 "no: the metrics are of the node alone, and not of its jobs."},
	{"MetricsReaders", TEXT(metrics_readers), "prometheus", NULL, 0,
	 "Users of this node who may read the metrics at 127.0.0.1, beside root: a list; all."},
	{"MetricsUser", NAME(metrics_user), "jobprof-exporter", NULL, 0,
	 "The user of jobprof exporter, to whom jobprofd gives the metrics."},
	{"PriceCoreHour", NUMBER(prices.core_h, "a price from", 0, 1e6), "0", "not known", 0,
	 "What an hour of a core costs, for jobprof usage and digest."},
	{"PriceGPUHour", NUMBER(prices.gpu_h, "a price from", 0, 1e6), "0", "not known", 0,
	 "What an hour of a GPU costs."},
	{"PriceKWh", NUMBER(prices.kwh, "a price from", 0, 1e6), "0", "not known", 0,
	 "What a kWh costs."},
	{"GramsCO2PerKWh", NUMBER(prices.co2_g_kwh, "a number of g from", 0, 1e5), "0", "not known", 0,
	 "CO2 of a kWh, g."},
	{"Currency", NAME(prices.currency), "EUR", NULL, 0,
	 "The currency of these prices."},
	{"Sensors", TEXT(sensors), "all", NULL, 0,
	 "Sources that are read, as jobprof sensors names them: all, or rapl,ipmi, or all,-ipmi."},
	{"SysRoot", PATH(sys_root), "/sys", NULL, 0,
	 "Where sensors look for sysfs: another tree in tests."},
	{"ProcRoot", PATH(proc_root), "/proc", NULL, 0,
	 "Where sensors look for /proc."},
	{"DevRoot", PATH(dev_root), "/dev", NULL, 0,
	 "Where sensors look for devices."},
	{IPMI_FREQUENCY, TEXT(ipmi[0]), NULL, "1", KEY_SLURM,
	 "Seconds between two readings of the BMC."},
	{IPMI_SENSORS, TEXT(ipmi[1]), NULL,
	 "DCMI's reading of power, else the first sensor in watts", KEY_SLURM,
	 "Sensors of the BMC by label, as in Slurm: Node=16,19,22;Socket1=19."},
	{IPMI_TIMEOUT, TEXT(ipmi[2]), NULL, "10", KEY_SLURM,
	 "Seconds that the BMC has for an answer."},
	{IPMI_UNSCANNED, TEXT(ipmi[3]), NULL, "no", KEY_SLURM,
	 "yes: sensors are read that the BMC says it does not scan."},
	{IPMI_DEVICE, TEXT(ipmi[4]), NULL, "the first one",
	 KEY_SLURM, "Device of the BMC."},
	{"LogLevel", WORD(log_level, levels), "info", NULL, KEY_RELOAD,
	 "error, warn, info or debug."},
};
/* clang-format on */
#define N_KEYS (sizeof(keys) / sizeof(keys[0]))
_Static_assert(N_KEYS <= CONFIG_KEYS, "CONFIG_KEYS");

/* ---- values */

static int refuse(char *err, size_t errlen, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static int refuse(char *err, size_t errlen, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(err, errlen, fmt, ap);
	va_end(ap);
	return -EINVAL;
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

static int set_text(enum value_type type, char **field, const char *text, char *err, size_t errlen)
{
	if (type == TYPE_PATH && text[0] != '/')
		return refuse(err, errlen, "\"%s\" is not an absolute path", text);
	if ((type == TYPE_NAME || type == TYPE_CLUSTER) && !str__safe_name(text))
		return refuse(err, errlen,
			      "\"%s\" is not a name: 1 to 128 characters without \"/\"", text);
	if (replace_text(field, text)) {
		refuse(err, errlen, "out of memory");
		return -ENOMEM;
	}
	/* slurm.conf may have it in any case, and Slurm has it in lower case everywhere */
	for (char *p = type == TYPE_CLUSTER ? *field : NULL; p && *p; p++)
		*p = (char)tolower((unsigned char)*p);
	return 0;
}

static int add_pattern(struct config *c, const char *text, char *err, size_t errlen)
{
	int ret;

	if (c->n_cgroup_patterns == CONFIG_PATTERNS)
		return refuse(err, errlen, "at most %d patterns", CONFIG_PATTERNS);
	ret = set_text(TYPE_PATH, &c->cgroup_patterns[c->n_cgroup_patterns], text, err, errlen);
	if (!ret)
		c->n_cgroup_patterns++;
	return ret;
}

/* Slurm's own files are read as Slurm reads them: err may say what was passed over. */
static int set_freq(struct freq *field, bool slurms, const char *text, char *err, size_t errlen)
{
	struct freq f;
	int ret;

	freq__init(&f);
	ret = (slurms ? freq__parse_slurms : freq__parse)(text, &f, err, errlen);
	if (!ret)
		*field = f;
	return ret;
}

static int parse_percent(const char *text, double *v)
{
	const size_t n = strlen(text);
	char bare[32];

	if (!n || n >= sizeof(bare))
		return -EINVAL;
	memcpy(bare, text, n + 1);
	if (bare[n - 1] == '%')
		bare[n - 1] = '\0';
	return parse_double(bare, v);
}

static int set_number(const struct config_key *k, void *field, const char *text, char *err,
		      size_t errlen)
{
	bool is_count = k->value.type == TYPE_COUNT || k->value.type == TYPE_POWER_OF_TWO;
	uint32_t n = 0;
	double v = 0;

	if (is_count			    ? parse_u32(text, &n)
	    : k->value.type == TYPE_PERCENT ? parse_percent(text, &v)
					    : parse_double(text, &v))
		v = NAN;
	else if (is_count)
		v = n;
	if (!(v >= k->value.min && v <= k->value.max) &&
	    !(v == 0 && k->value.type == TYPE_INTERVAL))
		return refuse(err, errlen, "\"%s\" is not %s %.10g to %.10g", text, k->value.what,
			      k->value.min, k->value.max);
	if (k->value.type == TYPE_POWER_OF_TWO && n & (n - 1))
		return refuse(err, errlen, "%u is not a power of two", n);
	if (is_count)
		*(unsigned *)field = n;
	else
		*(double *)field = v;
	return 0;
}

/* The word's place in the list, or -1. */
static int find_word(const char *const *words, const char *text)
{
	for (int i = 0; words[i]; i++)
		if (!strcasecmp(text, words[i]))
			return i;
	return -1;
}

static int set_word(const struct config_key *k, void *field, const char *text, char *err,
		    size_t errlen)
{
	const char *const *words = k->value.words;
	int place = find_word(words, text), n;

	if (place < 0) {
		n = snprintf(err, errlen, "\"%s\" is not one of", text);
		for (int i = 0; words[i] && n < (int)errlen; i++)
			n += snprintf(err + n, errlen - (size_t)n, "%s %s", i ? "," : "", words[i]);
		return -EINVAL;
	}
	if (k->value.type == TYPE_YES_NO)
		*(bool *)field = place;
	else
		*(unsigned *)field = (unsigned)place;
	return 0;
}

static void *field_of(const struct config *c, const struct config_key *k)
{
	return (char *)c + k->value.offset;
}

/* 0, with what was passed over of a value of Slurm's in err, or ""; -EINVAL: the reason is in err;
 * -ENOMEM. */
static int set_value(struct config *c, const struct config_key *k, bool slurms, const char *text,
		     char *err, size_t errlen)
{
	void *field = field_of(c, k);

	err[0] = '\0';
	switch (k->value.type) {
	case TYPE_PATTERNS:
		return add_pattern(c, text, err, errlen);
	case TYPE_FREQ:
		return set_freq(field, slurms, text, err, errlen);
	case TYPE_COUNT:
	case TYPE_POWER_OF_TWO:
	case TYPE_NUMBER:
	case TYPE_PERCENT:
	case TYPE_INTERVAL:
		return set_number(k, field, text, err, errlen);
	case TYPE_WORD:
	case TYPE_YES_NO:
		return set_word(k, field, text, err, errlen);
	default:
		return set_text(k->value.type, field, text, err, errlen);
	}
}

static void print_text(const char *key, const char *text, FILE *f)
{
	if (text)
		fprintf(f, strpbrk(text, " \t") ? "%s=\"%s\"\n" : "%s=%s\n", key, text);
}

static void print_freq(const char *key, const struct freq *freq, FILE *f)
{
	fprintf(f, "%s=", key);
	for (unsigned i = 0; i < FREQ_N; i++) /* what follows task=0 is not the same as 0 */
		if (i == FREQ_TASK || !freq__at_end(freq, i))
			fprintf(f, "%s%s=%g", i ? "," : "", freq__name(i), freq__interval(freq, i));
	fputc('\n', f);
}

/* "Key=value" lines; nothing when the field is unset. */
static void print_value(const struct config *c, const struct config_key *k, FILE *f)
{
	const void *field = field_of(c, k);

	switch (k->value.type) {
	case TYPE_PATTERNS:
		for (unsigned i = 0; i < c->n_cgroup_patterns; i++)
			print_text(k->name, c->cgroup_patterns[i], f);
		break;
	case TYPE_FREQ:
		print_freq(k->name, field, f);
		break;
	case TYPE_COUNT:
	case TYPE_POWER_OF_TWO:
		if (*(const unsigned *)field)
			fprintf(f, "%s=%u\n", k->name, *(const unsigned *)field);
		break;
	case TYPE_NUMBER:
	case TYPE_PERCENT:
	case TYPE_INTERVAL:
		fprintf(f, "%s=%g\n", k->name, *(const double *)field);
		break;
	case TYPE_WORD:
		fprintf(f, "%s=%s\n", k->name, k->value.words[*(const unsigned *)field]);
		break;
	case TYPE_YES_NO:
		fprintf(f, "%s=%s\n", k->name, k->value.words[*(const bool *)field]);
		break;
	default:
		print_text(k->name, *(char *const *)field, f);
	}
}

static void print_words(const char *const *words, FILE *out)
{
	for (; *words; words++)
		fprintf(out, "%s ", *words);
}

void config__print_perf_words(FILE *out)
{
	print_words(perf_modes, out);
}

void config__print_unwind_words(FILE *out)
{
	print_words(unwinds, out);
}

int config__parse_perf(const char *text, enum config_perf *mode)
{
	int place = find_word(perf_modes, text);

	*mode = place < 0 ? *mode : (enum config_perf)place;
	return place < 0 ? -EINVAL : 0;
}

int config__parse_unwind(const char *text, enum config_unwind *how)
{
	int place = find_word(unwinds, text);

	*how = place < 0 ? *how : (enum config_unwind)place;
	return place < 0 ? -EINVAL : 0;
}

/* ---- all of them */

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
		ret = set_value(c, k, false, k->initial, err, sizeof(err));
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
	for (size_t i = 0; i < N_KEYS; i++)
		if (keys[i].value.type <= TYPE_CLUSTER)
			free(*(char **)field_of(c, &keys[i]));
	free(c->slurm_conf);
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

/* slurm_only: one of those that are taken from Slurm's own files. NULL: there is none. */
static const struct config_key *find_key(const char *name, bool slurm_only)
{
	for (size_t i = 0; i < N_KEYS; i++)
		if (!strcasecmp(keys[i].name, name) && (!slurm_only || keys[i].flags & KEY_SLURM))
			return &keys[i];
	return NULL;
}

/* key is one of the table: the caller knows it. */
static size_t index_of(const char *key)
{
	const struct config_key *k = find_key(key, false);

	return k ? (size_t)(k - keys) : 0;
}

const char *config__where(const struct config *c, const char *key)
{
	const char *where = c->where[index_of(key)];

	return where ? where : "default";
}

static bool is_given(const struct config *c, unsigned key_index)
{
	return c->given[key_index] || c->where[key_index];
}

bool config__is_given(const struct config *c, const char *key)
{
	return is_given(c, index_of(key));
}

bool config__is_overridden(const struct config *c, const char *key)
{
	return c->given[index_of(key)];
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
		print_value(c, &keys[i], f);
}

static char *value_text(const struct config *c, const struct config_key *k)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return NULL;
	print_value(c, k, f);
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
	size_t i = index_of(key);
	char err[960];
	int ret = set_value(c, &keys[i], false, value, err, sizeof(err));

	if (ret)
		log_error("%s: %s", key, err);
	else
		c->given[i] = true;
	return ret;
}

/* ---- the file */

static bool is_in_file(const char *where, const char *file)
{
	size_t len = strlen(file);

	return where && !strncmp(where, file, len) && where[len] == ':';
}

static void note_slurm_conf(struct config *c, const struct conf_pair *p)
{
	const char *slash = strrchr(p->file, '/');

	if (c->slurm_conf || strcmp(slash ? slash + 1 : p->file, "slurm.conf"))
		return;
	c->slurm_conf = strdup(p->file);
	if (!c->slurm_conf)
		conf_file__complain(p, "out of memory");
}

/* FILE:LINE of a value that was taken, or not. */
static int set_where(struct config *c, size_t i, const struct conf_pair *p)
{
	unsigned last = c->n_cgroup_patterns;
	char where[PATH_MAX + 16];
	int err;

	snprintf(where, sizeof(where), "%s:%u", p->file, p->line);
	err = replace_text(&c->where[i], where);
	if (!err && keys[i].value.type == TYPE_PATTERNS && last)
		err = replace_text(&c->pattern_where[last - 1], where);
	return err;
}

static void complain_of_key(const struct conf_pair *p)
{
	const char *near = nearest_key(p->key);

	if (near)
		conf_file__complain(p, "unknown key \"%s\", did you mean \"%s\"?", p->key, near);
	else
		conf_file__complain(p, "unknown key \"%s\"", p->key);
}

static void set_key(void *ctx, const struct conf_pair *p)
{
	const struct config_key *k = find_key(p->key, p->slurm);
	struct config *c = ctx;
	bool repeats;
	char err[960];
	int ret;

	note_slurm_conf(c, p);
	if (!k) {
		if (!p->slurm)
			complain_of_key(p);
		return;
	}
	repeats = k->value.type == TYPE_PATTERNS;
	ret = set_value(c, k, p->slurm, p->value, err, sizeof(err));
	if (ret)
		conf_file__complain(p, "%s: %s", p->key, err);
	else if (is_in_file(c->where[k - keys], p->file) && !repeats)
		log_warn("%s:%u: %s is given twice: this one counts", p->file, p->line, p->key);
	if (!ret && err[0])
		log_warn("%s:%u: %s: %s: this is passed over", p->file, p->line, p->key, err);
	if (ret && repeats)
		return;
	if (set_where(c, (size_t)(k - keys), p))
		conf_file__complain(p, "%s: out of memory", p->key);
}

int config__load(struct config *c, const char *path)
{
	struct conf_file f = {.node_name = (const char *const *)&c->node_name,
			      .cluster = (const char *const *)&c->cluster,
			      .take = set_key,
			      .ctx = c};
	int err = conf_file__read(&f, path);

	if (err) {
		log_error("%s: cannot read the configuration: %s", path, conf_file__reason(err));
		snprintf(f.first, sizeof(f.first), "%s cannot be read: %s", path,
			 conf_file__reason(err));
	}
	/* one who may not read it does not know whether it has an error */
	if ((err || f.errors) && err != -EACCES && !c->error)
		c->error = strdup(f.first);
	return !err && f.errors ? -EINVAL : err;
}

void config__complain(struct config *c, const char *where, const char *fmt, ...)
{
	const char *colon = where ? strrchr(where, ':') : NULL;
	char text[1024], with_line[1400];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	log_error("%s%s%s", where ? where : "", where ? ": " : "", text);
	if (c->error)
		return;
	if (colon)
		snprintf(with_line, sizeof(with_line), "%.*s has an error in line %s: %s",
			 (int)(colon - where), where, colon + 1, text);
	c->error = strdup(colon ? with_line : text);
}
