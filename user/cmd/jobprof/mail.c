/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jobprof mail: the MailProg of slurmctld. It stores the mail in a directory and ends at once: it
 * asks neither Slurm nor the index. */
#include "cmd/jobprof/mail.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/config/config.h"
#include "base/io_full.h"
#include "base/json.h"
#include "base/log.h"
#include "base/str.h"
#include "cmd/jobprof/site_job.h"
#include "cmd/jobprof/verbs.h"
#include "view/site/mail.h"

#define JOBPROF_CONF JOBPROF_SYSCONFDIR "/jobprof/jobprof.conf"
#define SERVED_S     600 /* a spool that nobody looked into for so long is not served */

struct options {
	struct site_args site;
	const char *subject, *body, *spool, *program;
};

static const struct opt opts[] = {
	{'s', "subject", "SUBJECT", "of the mail: then ADDRESS follows, and nothing else",
	 OPT_TEXT(struct options, subject)},
	{0, "body", "JOB", "prints what a mail on the job says, and sends none",
	 OPT_TEXT(struct options, body)},
	{0, "spool", "DIR", "instead of MailSpool of jobprof.conf",
	 OPT_TEXT(struct options, spool)},
	{0, "program", "FILE", "instead of MailProgram: what is called while nobody serves DIR",
	 OPT_TEXT(struct options, program)},
	OPTS_DATABASE(struct options),
	{0},
};

const struct command cmd_mail = {
	.name = "jobprof mail",
	.usage = "[OPTION]... -s SUBJECT ADDRESS\n[OPTION]... --body JOB",
	.about = "Slurm's MailProg, by the name jobprof-mail: leaves a mail for jobprof index"
		 "\nmail, which adds what the job used, and ends at once. While that is not "
		 "running,\nthe mail goes to MailProgram.",
	.opts = opts,
};

/* ---- settings */

void mail_settings__free(struct mail_settings *s)
{
	free(s->spool);
	free(s->program);
	*s = (struct mail_settings){0};
}

int mail_settings__read(struct mail_settings *s)
{
	struct config c;
	int err = config__init(&c);

	*s = (struct mail_settings){0};
	if (err)
		return err;
	if (!access(JOBPROF_CONF, F_OK))
		config__load(&c, JOBPROF_CONF); /* errors are logged there */
	s->spool = strdup(c.mail_spool);
	s->program = strdup(c.mail_program);
	config__free(&c);
	return s->spool && s->program ? 0 : -ENOMEM;
}

/* ---- the spool */

static bool is_served(const char *spool)
{
	struct stat st;
	char *path;
	bool is;

	if (asprintf(&path, "%s/" MAIL_SERVED, spool) < 0)
		return false;
	is = !stat(path, &st) && st.st_mtim.tv_sec > time(NULL) - SERVED_S;
	free(path);
	return is;
}

/* The environment variables of Slurm. */
static json_t *environment(void)
{
	json_t *o = json_object();
	char name[64];

	for (char **e = environ; *e; e++) {
		size_t n = strcspn(*e, "=");

		if (!str__starts(*e, "SLURM_") || n >= sizeof(name) || (*e)[n] != '=')
			continue;
		memcpy(name, *e, n);
		name[n] = '\0';
		json__set(o, name, json__text(*e + n + 1));
	}
	return o;
}

static char *content(const char *subject, const char *to)
{
	json_t *o = json_object();
	char *text;

	json__set(o, "subject", json__text(subject));
	json__set(o, "to", json__text(to));
	json__set(o, "at", json_integer(time(NULL)));
	json__set(o, "env", environment());
	text = json_dumps(o, JSON_COMPACT | JSON_ENSURE_ASCII);
	json_decref(o);
	return text;
}

/* Writes under another name first: a file whose name ends with .mail is complete. 0 or -errno. */
static int put_file(const char *spool, const char *text)
{
	const uint64_t now = clock__real_ns();
	char *temporary = NULL, *final = NULL;
	int fd = -1, err = 0;

	if (asprintf(&temporary, "%s/.%" PRIu64 ".%d.tmp", spool, now, getpid()) < 0 ||
	    asprintf(&final, "%s/%" PRIu64 ".%d" MAIL_FILE, spool, now, getpid()) < 0)
		return -ENOMEM;
	fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0640);
	if (fd < 0)
		err = -errno;
	if (!err && fchmod(fd, 0640))
		err = -errno;
	if (!err)
		err = write_full(fd, text, strlen(text));
	if (fd >= 0 && close(fd) && !err)
		err = -errno;
	if (!err && rename(temporary, final))
		err = -errno;
	if (err && fd >= 0)
		unlink(temporary);
	free(temporary);
	free(final);
	return err;
}

static int put_mail(const char *spool, const char *subject, const char *to)
{
	char *text = content(subject, to);
	int err = !text ? -ENOMEM : strlen(text) > MAIL_FILE_MAX ? -E2BIG : put_file(spool, text);

	if (err)
		log_error("%s: the mail cannot be put there: %s", spool, strerror(-err));
	free(text);
	return err;
}

static int send_mail(const struct options *o, const char *subject, const char *to)
{
	struct mail_settings set = {0};
	const char *spool = o->spool, *program = o->program;

	if (!mail__is_address(to)) {
		log_error("\"%s\" is no address of a mail", to);
		return 1;
	}
	if ((!spool || !program) && mail_settings__read(&set))
		return 1;
	spool = spool ? spool : set.spool;
	program = program ? program : set.program;
	if (!is_served(spool) || put_mail(spool, subject, to)) {
		execl(program, program, "-s", subject, to, (char *)NULL);
		log_error("%s: %s: the mail is lost; nobody serves %s", program, strerror(errno),
			  spool);
		mail_settings__free(&set);
		return 1;
	}
	mail_settings__free(&set);
	return 0;
}

/* ---- the text of a mail */

static int print_mail(const struct site_job *j)
{
	const struct row *r = &j->row;
	const struct seff_job seff = {r, site_job__group(r->text[INDEX_user]), j->is_running,
				      j->is_live};
	char *lines = NULL, command[64], head[512];
	struct mail_body body = {
		.head = head, .row = r, .command = command, .says_end = !j->is_running};
	size_t len;
	FILE *f = open_memstream(&lines, &len);

	if (!f)
		return 1;
	seff__print(&seff, f);
	fclose(f);
	snprintf(head, sizeof(head), "Slurm job %.0f, %s", r->number[INDEX_job_id],
		 r->text[INDEX_name] ? r->text[INDEX_name] : "without a name");
	snprintf(command, sizeof(command), "jobprof report -j %.0f", r->number[INDEX_job_id]);
	body.lines = lines ? lines : "";
	mail_body__print_text(&body, stdout);
	free(lines);
	return 0;
}

static int print_body(const struct options *o)
{
	struct site_job j;
	int err = site_job__find(&j, &o->site, o->body), status = err == -EINVAL ? 2 : 1;

	if (err == -ENOENT)
		log_error("%s: neither the index nor a profile has this job", o->body);
	if (!err)
		status = print_mail(&j);
	site_job__free(&j);
	return status;
}

/* slurmctld passes an address that a user chose: words after -s SUBJECT are never options. */
int verb_mail(int argc, char **argv)
{
	const bool is_mail = argc >= 4 && !strcmp(argv[argc - 3], "-s");
	const char *subject = is_mail ? argv[argc - 2] : NULL,
		   *to = is_mail ? argv[argc - 1] : NULL;
	struct options o = {0};
	int status;

	if (is_mail) {
		argc -= 3;
		argv[argc] = NULL;
	}
	site_args__init(&o.site, "all");
	status = options__read(&cmd_mail, argc, argv, &o);
	if (status != OPTIONS_GO_ON)
		return status;
	if (optind < argc || o.subject || !o.body == !is_mail)
		return options__wrong(&cmd_mail, "give -s SUBJECT ADDRESS as the last words, or "
						 "--body JOB");
	return is_mail ? send_mail(&o, subject, to) : print_body(&o);
}
