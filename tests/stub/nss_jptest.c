// SPDX-License-Identifier: GPL-2.0-or-later
/* A name service (nsswitch.conf(5): "jptest") that knows one user: "serviceuser", 54321; to who
 * 54322 is it never has an answer. */
#include <errno.h>
#include <nss.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define USER "serviceuser"
#define ID   54321
#define MUTE 54322

enum nss_status _nss_jptest_getpwuid_r(uid_t uid, struct passwd *pw, char *buf, size_t len,
				       int *err);
enum nss_status _nss_jptest_getpwnam_r(const char *name, struct passwd *pw, char *buf, size_t len,
				       int *err);

static enum nss_status give(struct passwd *pw, char *buf, size_t len, int *err)
{
	if (snprintf(buf, len, "%s", USER) >= (int)len) {
		*err = ERANGE;
		return NSS_STATUS_TRYAGAIN;
	}
	*pw = (struct passwd){.pw_name = buf,
			      .pw_passwd = (char *)"x",
			      .pw_uid = ID,
			      .pw_gid = ID,
			      .pw_gecos = (char *)"",
			      .pw_dir = (char *)"/",
			      .pw_shell = (char *)"/bin/sh"};
	return NSS_STATUS_SUCCESS;
}

enum nss_status _nss_jptest_getpwuid_r(uid_t uid, struct passwd *pw, char *buf, size_t len,
				       int *err)
{
	while (uid == MUTE)
		pause();
	return uid == ID ? give(pw, buf, len, err) : NSS_STATUS_NOTFOUND;
}

enum nss_status _nss_jptest_getpwnam_r(const char *name, struct passwd *pw, char *buf, size_t len,
				       int *err)
{
	return strcmp(name, USER) ? NSS_STATUS_NOTFOUND : give(pw, buf, len, err);
}
