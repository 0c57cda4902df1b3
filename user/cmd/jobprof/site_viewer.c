/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decides who sees jobs of others, by groups, by Slurm's coordinators, and by the index's owner. */
#include "cmd/jobprof/site_viewer.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <math.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "base/foreign.h"
#include "base/json.h"
#include "base/str.h"
#include "cmd/jobprof/site_when.h"
#include "cmd/jobprof/user_name.h"
#include "index/coordinators.h"

#define STAFF	     "jobprof" /* without a jobprof.conf */
#define GROUPS_MAX   1024
#define ACCOUNTS_MAX 20 /* that are named to the viewer */

static struct {
	char view[1024], staff[1024]; /* lists of groups */
	bool sums;		      /* coordinators see sums alone */
} rights = {.staff = STAFF};

/* Of a process that asks for somebody else; NULL: it does not. */
static const char *asked_for, *asked_where, *asked_address, *asked_account;

void site_viewer__configure(const struct config *c)
{
	snprintf(rights.view, sizeof(rights.view), "%s", c->view_groups ? c->view_groups : "");
	snprintf(rights.staff, sizeof(rights.staff), "%s", c->staff_groups ? c->staff_groups : "");
	rights.sums = c->coordinator_sums;
}

void site_viewer__ask_for(const char *user, const char *where, const char *address)
{
	asked_for = user;
	asked_account = NULL;
	asked_where = where;
	asked_address = address;
	foreign__of_all();
}

void site_viewer__see_account(const char *account)
{
	asked_account = account;
}

const char *site_viewer__where(void)
{
	return asked_where;
}

/* ---- groups */

static bool is_among(gid_t gid, const gid_t *groups, int n)
{
	for (int i = 0; i < n; i++)
		if (groups[i] == gid)
			return true;
	return false;
}

/* Whether one of the groups of a list is among these. */
static bool has_one(const char *list, const gid_t *groups, int n)
{
	char name[256];

	for (const char *p = list; *p; p += strspn(p, ", ")) {
		const size_t len = strcspn(p, ", ");
		const struct group *g;

		if (len && len < sizeof(name)) {
			snprintf(name, sizeof(name), "%.*s", (int)len, p);
			g = getgrnam(name);
			if (g && is_among(g->gr_gid, groups, n))
				return true;
		}
		p += len;
	}
	return false;
}

/* By the user's entries in the databases of users and groups: the groups of this process may be
 * those of a server. */
enum site_role site_viewer__role(const char *user)
{
	const struct passwd *pw = getpwnam(user);
	gid_t groups[GROUPS_MAX];
	int n = GROUPS_MAX;

	if (!strcmp(user, "root"))
		return ROLE_STAFF;
	if (!pw || getgrouplist(user, pw->pw_gid, groups, &n) < 0)
		return ROLE_USER;
	return has_one(rights.staff, groups, n)	 ? ROLE_STAFF
	       : has_one(rights.view, groups, n) ? ROLE_VIEW
						 : ROLE_USER;
}

int site_viewer__list_staff(struct string_list *users)
{
	const char *const lists[] = {rights.staff, rights.view};
	char name[256];
	int err = 0;

	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++)
		for (const char *p = lists[i]; !err && *p; p += strspn(p, ", ")) {
			const size_t len = strcspn(p, ", ");
			const struct group *g;

			snprintf(name, sizeof(name), "%.*s", (int)len, p);
			g = len && len < sizeof(name) ? getgrnam(name) : NULL;
			for (char **m = g ? g->gr_mem : NULL; !err && m && *m; m++)
				err = string_list__append(users, *m);
			p += len;
		}
	return err;
}

bool site_viewer__are_sums(void)
{
	return rights.sums;
}

/* ---- the viewer */

void site_viewer__init(struct viewer *v, const char *path, bool is_own)
{
	static char user[256];
	char *name = NULL;
	struct stat st;

	*v = (struct viewer){.user = asked_for, .account = asked_account};
	if (!asked_for) {
		/* a user without a name is stored by its number in rows, too */
		if (user_name__of_uid(getuid(), &name))
			snprintf(user, sizeof(user), "%u", (unsigned)getuid());
		else
			snprintf(user, sizeof(user), "%s", name);
		free(name);
		v->user = user;
		v->sees_all = is_own || !getuid() || (!stat(path, &st) && st.st_uid == getuid());
	}
	v->is_own = is_own;
	v->sees_all |= !v->account && site_viewer__role(v->user) != ROLE_USER;
}

static bool is_midnight(double s)
{
	return isnan(s) || site_when__is_midnight(s);
}

/* Whether a question is about sums that cannot single out a job, but by its day and name. */
static bool is_of_sums(const struct job_filter *f)
{
	struct job_filter rest = *f;

	rest.name = NULL;
	return !job_filter__is_of_rows(&rest) && is_midnight(f->since) && is_midnight(f->until);
}

int site_viewer__add_accounts(struct viewer *v, struct index *ix, const struct job_filter *f,
			      bool of_sums)
{
	int err = 0;

	if (!v->sees_all && !v->account && (!rights.sums || (of_sums && is_of_sums(f))))
		v->coordinates = coordinators__has(ix, v->user, &err);
	return err;
}

json_t *site_viewer__sees(const struct viewer *v, struct index *ix)
{
	struct string_list accounts = {0};
	json_t *list;

	if (v->account) {
		list = json_array();
		json_array_append_new(list, json__text(v->account));
		return list;
	}
	if (v->sees_all || coordinators__accounts(ix, v->user, ACCOUNTS_MAX, &accounts) ||
	    !accounts.n) {
		string_list__free(&accounts);
		return json__text(v->sees_all ? "all" : "own");
	}
	list = json_array();
	for (unsigned i = 0; i < accounts.n; i++)
		json_array_append_new(list, json__text(accounts.v[i]));
	string_list__free(&accounts);
	return list;
}

/* ---- the log of who saw jobs of others */

/* The words of this process, with blanks between them. */
static void read_command(char *to, size_t size)
{
	const int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, to, size - 1);

	if (fd >= 0)
		close(fd);
	n = n < 0 ? 0 : n;
	to[n] = '\0';
	for (ssize_t i = 0; i < n - 1; i++)
		if ((unsigned char)to[i] < ' ')
			to[i] = ' ';
}

void site_viewer__log(const struct viewer *v, const struct job_filter *f)
{
	const char *sudo = asked_for ? NULL : getenv("SUDO_USER");
	static bool is_done;
	char command[1024];

	if (is_done || (asked_for && !asked_address) || v->is_own ||
	    (!v->sees_all && !v->coordinates) || (f->user && !strcmp(f->user, v->user)))
		return;
	is_done = true;
	if (!asked_for)
		read_command(command, sizeof(command));
	openlog("jobprof-access", LOG_PID | LOG_NDELAY, LOG_AUTHPRIV);
	syslog(LOG_INFO, "%s%s%s sees jobs of others: %s", v->user, sudo && *sudo ? " for " : "",
	       sudo && *sudo ? sudo : "", asked_for ? asked_address : command);
	closelog();
}

/* ---- files */

const char *site_viewer__only_user(void)
{
	return asked_for && site_viewer__role(asked_for) == ROLE_USER ? asked_for : NULL;
}

void site_viewer__limit_files(const char *owner)
{
	const struct passwd *pw = getpwnam(owner);
	uint32_t number;

	if (!asked_for)
		return;
	if (pw)
		foreign__only_of(pw->pw_uid);
	else
		foreign__only_of(parse_u32(owner, &number) ? (uid_t)-1 : number);
}
