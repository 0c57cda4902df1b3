/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The settings of IPMI in Slurm's acct_gather.conf: the keys that begin with EnergyIPMI. */
#ifndef JP_SENSOR_IPMI_IPMI_SETTINGS_H
#define JP_SENSOR_IPMI_IPMI_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define IPMI_LABELS 16
#define IPMI_IDS    32

enum ipmi_way { IPMI_BY_RECORD, IPMI_BY_DCMI, IPMI_BY_DCMI_ENHANCED };

/* The power of one label is the sum of all its sources. */
struct ipmi_label {
	char name[32];
	unsigned n;
	struct {
		enum ipmi_way way;
		uint16_t record;
	} source[IPMI_IDS];
};

/* All 0 with a timeout: the BMC's own choice (DCMI, else its first sensor in watts). */
struct ipmi_settings {
	struct ipmi_label label[IPMI_LABELS];
	unsigned nlabels;
	uint32_t period_s;  /* EnergyIPMIFrequency */
	uint32_t timeout_s; /* EnergyIPMITimeout: of one reading */
	bool unscanned;	    /* EnergyIPMIIgnoreScanningDisabled */
	char device[128];   /* EnergyIPMIDriverDevice; "": the first */
};

void ipmi_settings__init(struct ipmi_settings *s);
/*
 * Sets one key, without regard to case. 0; 1: Slurm knows the key, which does not matter for
 * reading in band through the kernel; -ENOENT: it is no key of IPMI's; -EINVAL: err has every
 * reason.
 */
int ipmi_settings__set(struct ipmi_settings *s, const char *key, const char *value, char *err,
		       size_t errlen);

#endif
