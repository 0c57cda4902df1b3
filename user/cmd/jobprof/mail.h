/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Mails of Slurm's: `jobprof mail` puts each into a directory, MailSpool, and what serves the index
 * sends them. A file there is NUMBER.mail, a JSON object: "subject", "to", "at" (Unix time) and
 * "env", the variables that Slurm sets for a MailProg. The directory belongs to Slurm's user, and
 * who sends may write to it; ".served" in it says when it was last looked into.
 */
#ifndef JP_CMD_JOBPROF_MAIL_H
#define JP_CMD_JOBPROF_MAIL_H

#include "index/index.h"

#define MAIL_SERVED   ".served"
#define MAIL_FILE     ".mail"
#define MAIL_FILE_MAX (64 << 10) /* bytes */

struct mail_settings {
	char *spool, *program; /* MailSpool, MailProgram */
};
/* Of jobprof.conf, else the defaults. 0 or -ENOMEM; mail_settings__free() in both cases. */
int mail_settings__read(struct mail_settings *s);
void mail_settings__free(struct mail_settings *s);

struct mail_options {
	const char *spool, *sendmail;
	int rate;	 /* mails a minute */
	unsigned wait_s; /* for sendmail */
	double delay_s;	 /* until a job is in the index, and for further tasks of an array */
};
#define MAIL_SENDMAIL "/usr/sbin/sendmail"
#define MAIL_RATE     60
#define MAIL_WAIT_S   30
#define MAIL_DELAY_S  120

struct mail_result {
	unsigned sent, waiting, failed, refused;
};

/* Sends what is due. 0; -errno: nobody can look into the spool, or the index is not to be written;
 * said. */
int mail_queue__turn(struct index *ix, const struct mail_options *o, struct mail_result *res);

#endif
