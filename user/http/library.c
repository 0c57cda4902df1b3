/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Loads libmicrohttpd. */
#include "http/library.h"

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>

#include "base/log.h"

#ifdef HAS_MICROHTTPD

#define LIBRARY "libmicrohttpd.so.12"

struct http_library mhd;

int http_library__load(void)
{
	const char *missing = NULL;
	void *lib = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);

	if (!lib) {
		log_error("serve: %s; Debian's package is libmicrohttpd12", dlerror());
		return -ENOTSUP;
	}
#define FIND(function)                                   \
	*(void **)&mhd.function = dlsym(lib, #function); \
	missing = mhd.function ? missing : #function;
	HTTP_FUNCTIONS(FIND)
	if (missing)
		log_error("serve: %s has no %s: it is too old", LIBRARY, missing);
	return missing ? -ENOTSUP : 0;
}

#else

int http_library__load(void)
{
	log_error("serve: this jobprof was built without libmicrohttpd; Debian's package is "
		  "libmicrohttpd-dev");
	return -ENOTSUP;
}

#endif
