/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Slurm's mails: `jobprof mail` puts each into a directory, MailSpool, and `jobprof index mail`,
 * or its watch, sends them. A file there is NUMBER.mail, a JSON object: "subject", "to", "at" (Unix
 * time) and "env", the variables that Slurm sets for a MailProg. The directory belongs to Slurm's
 * user, and the sender may write to it; the time of ".served" in it is that of the last look.
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
/* Reads jobprof.conf, else takes the defaults. 0 or -ENOMEM; mail_settings__free() in both cases.
 */
int mail_settings__read(struct mail_settings *s);
void mail_settings__free(struct mail_settings *s);

struct mail_options {
	const char *spool, *sendmail;
	int rate;	 /* mails sent in a minute, at most */
	unsigned wait_s; /* sendmail may take so long */
	double delay_s;	 /* how long a mail waits for its job in the index, and for further tasks of
			    an array */
};
#define MAIL_SENDMAIL "/usr/sbin/sendmail"
#define MAIL_RATE     60
#define MAIL_WAIT_S   30
#define MAIL_DELAY_S  120

struct mail_result {
	unsigned sent, waiting, failed, refused;
};

/* Sends the mails that are due. 0; -errno: the spool cannot be read, or the index not written;
 * logged. */
int mail_queue__turn(struct index *ix, const struct mail_options *o, struct mail_result *res);

#endif
