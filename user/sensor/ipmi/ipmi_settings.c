// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads EnergyIPMI* of acct_gather.conf. */
#include "sensor/ipmi/ipmi_settings.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/str.h"

#define DEFAULT_PERIOD	30
#define DEFAULT_TIMEOUT 5 /* s, less than a slow source may take (sensor/core/async.h) */
#define MAX_SECONDS	86400
#define NODE		"Node"

void ipmi_settings__init(struct ipmi_settings *s)
{
	*s = (struct ipmi_settings){.period_s = DEFAULT_PERIOD, .timeout_s = DEFAULT_TIMEOUT};
}

/* Copies len bytes of the text. False: it is empty, or does not fit. */
static bool copy_word(char *out, size_t size, const char *text, size_t len)
{
	if (!len || len >= size)
		return false;
	memcpy(out, text, len);
	out[len] = '\0';
	return true;
}

static int add_source(struct ipmi_label *l, const char *id, size_t len, char *err, size_t errlen)
{
	char word[24];
	uint32_t record = 0;
	enum ipmi_way way = IPMI_BY_RECORD;

	if (l->n == IPMI_IDS) {
		snprintf(err, errlen, "more than %d sensors of \"%s\"", IPMI_IDS, l->name);
		return -EINVAL;
	}
	if (!copy_word(word, sizeof(word), id, len))
		goto bad;
	if (!strcasecmp(word, "DCMI"))
		way = IPMI_BY_DCMI;
	else if (!strcasecmp(word, "DCMI_ENHANCED"))
		way = IPMI_BY_DCMI_ENHANCED;
	else if (parse_u32(word, &record) || record >= UINT16_MAX)
		goto bad;
	l->source[l->n].way = way;
	l->source[l->n++].record = (uint16_t)record;
	return 0;
bad:
	snprintf(err, errlen, "sensor \"%.*s\" of \"%s\" is not a record id, DCMI or DCMI_ENHANCED",
		 (int)(len > 32 ? 32 : len), id, l->name);
	return -EINVAL;
}

/* Reads "id,id" up to end, and adds each error to err. */
static int add_sources(struct ipmi_label *l, const char *id, const char *end, char *err,
		       size_t errlen)
{
	char reason[160];
	int e = 0;

	for (; id <= end; id++) {
		const char *comma = memchr(id, ',', (size_t)(end - id));
		const char *stop = comma ? comma : end;

		if (add_source(l, id, (size_t)(stop - id), reason, sizeof(reason))) {
			str__add_reason(err, errlen, reason);
			e = -EINVAL;
		}
		id = stop;
	}
	return e;
}

/* Reads Label=id,id; the label is added even if some of its ids are wrong. */
static int add_label(struct ipmi_settings *s, const char *text, size_t len, char *err,
		     size_t errlen)
{
	struct ipmi_label *l = &s->label[s->nlabels];
	const char *equal = memchr(text, '=', len);

	if (s->nlabels == IPMI_LABELS) {
		snprintf(err, errlen, "more than %d labels", IPMI_LABELS);
		return -EINVAL;
	}
	if (!equal || !copy_word(l->name, sizeof(l->name), text, (size_t)(equal - text)) ||
	    !str__safe_name(l->name)) {
		snprintf(err, errlen, "\"%.*s\" is not LABEL=ID,ID...", (int)(len > 32 ? 32 : len),
			 text);
		return -EINVAL;
	}
	for (unsigned i = 0; i < s->nlabels; i++)
		if (!strcasecmp(s->label[i].name, l->name)) {
			snprintf(err, errlen, "label \"%s\" twice", l->name);
			return -EINVAL;
		}
	l->n = 0;
	s->nlabels++;
	return add_sources(l, equal + 1, text + len, err, errlen);
}

static bool has_node(const struct ipmi_settings *s)
{
	for (unsigned i = 0; i < s->nlabels; i++)
		if (!strcasecmp(s->label[i].name, NODE))
			return true;
	return false;
}

static int set_sensors(struct ipmi_settings *s, const char *value, char *err, size_t errlen)
{
	struct ipmi_settings now = *s;
	char reason[512];
	int e = 0;

	now.nlabels = 0;
	err[0] = '\0';
	while (*value) {
		size_t len = strcspn(value, ";");

		reason[0] = '\0';
		if (len && add_label(&now, value, len, reason, sizeof(reason)))
			e = -EINVAL;
		str__add_reason(err, errlen, reason);
		value += len + (value[len] == ';');
	}
	if (!has_node(&now)) {
		str__add_reason(err, errlen, "no label \"" NODE "\"");
		e = -EINVAL;
	}
	if (!e)
		*s = now;
	return e;
}

static int parse_seconds(uint32_t *out, const char *value, char *err, size_t errlen)
{
	uint32_t n;

	if (parse_u32(value, &n) || !n || n > MAX_SECONDS) {
		snprintf(err, errlen, "not a number of seconds from 1 to %d", MAX_SECONDS);
		return -EINVAL;
	}
	*out = n;
	return 0;
}

static int set_period(struct ipmi_settings *s, const char *value, char *err, size_t errlen)
{
	return parse_seconds(&s->period_s, value, err, errlen);
}

static int set_timeout(struct ipmi_settings *s, const char *value, char *err, size_t errlen)
{
	return parse_seconds(&s->timeout_s, value, err, errlen);
}

static int set_variable(struct ipmi_settings *s, const char *value, char *err, size_t errlen)
{
	if (!strcasecmp(value, "Watts"))
		return 0;
	snprintf(err, errlen, "only Watts can be read");
	return -EINVAL;
}

static int set_unscanned(struct ipmi_settings *s, const char *value, char *err, size_t errlen)
{
	static const char *const yes[] = {"yes", "y", "true", "t", "up", "1"};
	static const char *const no[] = {"no", "n", "false", "f", "down", "0"};

	for (unsigned i = 0; i < 6; i++) {
		if (strcasecmp(value, yes[i]) != 0 && strcasecmp(value, no[i]) != 0)
			continue;
		s->unscanned = !strcasecmp(value, yes[i]);
		return 0;
	}
	snprintf(err, errlen, "neither yes nor no");
	return -EINVAL;
}

static int set_device(struct ipmi_settings *s, const char *value, char *err, size_t errlen)
{
	if (value[0] == '/' && !str__copy(s->device, sizeof(s->device), value))
		return 0;
	snprintf(err, errlen, "not the path of a device");
	return -EINVAL;
}

/* The keys. Those without set belong to libraries and networks, which reading in-band does not use.
 */
static const struct {
	const char *name;
	int (*set)(struct ipmi_settings *s, const char *value, char *err, size_t errlen);
} keys[] = {
	{"PowerSensors", set_sensors},
	{"Frequency", set_period},
	{"Timeout", set_timeout},
	{"Variable", set_variable},
	{"IgnoreScanningDisabled", set_unscanned},
	{"DriverDevice", set_device},
	{"CalcAdjustment", NULL},
	{"DriverType", NULL},
	{"DisableAutoProbe", NULL},
	{"DriverAddress", NULL},
	{"RegisterSpacing", NULL},
	{"ProtocolVersion", NULL},
	{"Username", NULL},
	{"Password", NULL},
	{"PrivilegeLevel", NULL},
	{"AuthenticationType", NULL},
	{"CipherSuiteId", NULL},
	{"SessionTimeout", NULL},
	{"RetransmissionTimeout", NULL},
	{"WorkaroundFlags", NULL},
	{"RereadSdrCache", NULL},
	{"IgnoreNonInterpretableSensors", NULL},
	{"BridgeSensors", NULL},
	{"InterpretOemData", NULL},
	{"SharedSensors", NULL},
	{"DiscreteReading", NULL},
	{"AssumeBmcOwner", NULL},
	{"EntitySensorNames", NULL},
};

int ipmi_settings__set(struct ipmi_settings *s, const char *key, const char *value, char *err,
		       size_t errlen)
{
	static const char prefix[] = "EnergyIPMI";

	if (strncasecmp(key, prefix, sizeof(prefix) - 1) != 0)
		return -ENOENT;
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (!strcasecmp(key + sizeof(prefix) - 1, keys[i].name))
			return keys[i].set ? keys[i].set(s, value, err, errlen) : 1;
	return -ENOENT;
}
