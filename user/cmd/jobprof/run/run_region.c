// SPDX-License-Identifier: GPL-2.0-only
/* Regions that jobprof run is asked for: what the option says, and the files that it names. */
#include "cmd/jobprof/run/run_region.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/foreign.h"
#include "base/log.h"
#include "base/read_note.h"
#include "base/str.h"
#include "client/column.h"
#include "pool/pool.h"

#define USDT "usdt:"
#define WAIT "wait:"
#define FORM                                                       \
	"want [NAME=]FILE:FUNCTION, [NAME=]wait:FILE:FUNCTION or " \
	"[NAME=]usdt:FILE:PROVIDER:BEGIN,END"

/* Cuts the text at the last such sign. What is behind it, or NULL. */
static char *cut_last(char *text, char sign)
{
	char *at = strrchr(text, sign);

	if (at)
		*at++ = 0;
	return at && *at ? at : NULL;
}

static int put_text(char *to, size_t size, const char *text)
{
	return text && *text && strlen(text) < size ? (strcpy(to, text), 0) : -EINVAL;
}

/* The part of the text after the name that it may give. */
static const char *after_name(const char *text)
{
	const char *sign = strpbrk(text, "=/:");

	return sign && *sign == '=' ? sign + 1 : text;
}

/* What is behind NAME=. */
static int parse_places(struct region_spec *s, char *text)
{
	bool usdt = str__starts(text, USDT), wait = str__starts(text, WAIT);
	char *file = text + (usdt ? strlen(USDT) : wait ? strlen(WAIT) : 0);
	char *what = cut_last(file, ':');
	char *end = usdt && what ? cut_last(what, ',') : what;
	int err =
		put_text(s->begin, sizeof(s->begin), what) | put_text(s->end, sizeof(s->end), end);

	s->wait = wait;
	s->pattern = wait && what && strpbrk(what, "*?[");
	if (!err && usdt)
		err = put_text(s->provider, sizeof(s->provider), cut_last(file, ':'));
	return err | put_text(s->file, sizeof(s->file), file);
}

/* The name that was given, else the file's own and what was asked for of it. */
static int name_region(struct region_spec *s, const char *text)
{
	const char *slash = strrchr(s->file, '/'), *rest = after_name(text);
	_cleanup_free_ char *name = NULL;

	if (rest != text)
		name = strndup(text, (size_t)(rest - text) - 1);
	else if (asprintf(&name, "%s:%s%s%s", slash ? slash + 1 : s->file, s->begin,
			  s->provider[0] ? "," : "", s->provider[0] ? s->end : "") < 0)
		name = NULL;
	if (!name)
		return -ENOMEM;
	if (!column__mark_name(s->name, name))
		return 0;
	log_error("--region %s: a name has 1 to 63 bytes of printable text: give one, NAME=%s",
		  text, rest);
	return -EINVAL;
}

int region_spec__parse(struct region_spec *s, const char *text)
{
	_cleanup_free_ char *copy = strdup(after_name(text));

	*s = (struct region_spec){.name = ""};
	if (!copy)
		return -ENOMEM;
	if (parse_places(s, copy)) {
		log_error("--region %s: " FORM, text);
		return -EINVAL;
	}
	return name_region(s, text);
}

/* The directories of the loader, as in LD_LIBRARY_PATH: those that this names, and the system's.
 * NULL: not known. */
static char *library_dirs(void)
{
	void *self = dlopen(NULL, RTLD_LAZY);
	_cleanup_free_ Dl_serinfo *found = NULL;
	char *list = NULL;
	Dl_serinfo head;
	size_t size;
	FILE *f = open_memstream(&list, &size);

	if (self && f && !dlinfo(self, RTLD_DI_SERINFOSIZE, &head))
		found = malloc(head.dls_size);
	if (found)
		*found = head;
	if (found && !dlinfo(self, RTLD_DI_SERINFO, found))
		for (unsigned i = 0; i < found->dls_cnt; i++)
			fprintf(f, "%s%s", i ? ":" : "", found->dls_serpath[i].dls_name);
	if (f)
		fclose(f);
	if (self)
		dlclose(self);
	return list;
}

/* libx.so, libx.so.6 */
static bool is_library(const char *name)
{
	while ((name = strstr(name, ".so"))) {
		name += strlen(".so");
		if (!*name || *name == '.')
			return true;
	}
	return false;
}

/* Where a file without a slash in its name is looked for: a library as by the loader, a program as
 * by a shell. */
static char *dirs_of(const char *name)
{
	const char *path = getenv("PATH");

	return is_library(name) ? library_dirs() : strdup(path ? path : "/bin:/usr/bin");
}

/* O_PATH opens nothing, so that a device or a pipe is seen before it is opened; some files of the
 * kernel wait for something to read. */
static int open_regular(const char *path)
{
	_cleanup_close_ int at = open(path, O_PATH | O_CLOEXEC);
	char link[32];
	struct stat st;
	int fd;

	if (at < 0)
		return -errno;
	if (fstat(at, &st) || !S_ISREG(st.st_mode))
		return -EINVAL;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", at);
	fd = open(link, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

/* Of a name without a slash: the first file that it is of. */
static int open_file(const char *name)
{
	_cleanup_free_ char *list = strchr(name, '/') ? NULL : dirs_of(name);
	char *rest = list, *dir, path[4200];
	int fd = list ? -ENOENT : open_regular(name), got;

	while (fd < 0 && rest && (dir = strsep(&rest, ":"))) {
		snprintf(path, sizeof(path), "%s/%s", *dir ? dir : ".", name);
		got = open_regular(path);
		if (got >= 0 || got == -EINVAL || got == -EACCES)
			fd = got;
	}
	return fd;
}

/* Parent and child share this. */
struct work {
	struct region_spec spec;
	int fd, n;
	struct kern_region_place places[RUN_REGION_PLACES];
};

static int find_places(void *arg)
{
	struct work *w = arg;
	int err = foreign__begin(w->fd);

	read_note__file(w->spec.file);
	if (err) {
		log_error("%s: cannot be read: %s", w->spec.file, strerror(-err));
		return 2;
	}
	w->n = region_elf__places(w->fd, &w->spec, w->places);
	return w->n < 0 ? 2 : 0;
}

static bool is_same_file(int a, int b)
{
	struct stat x, y;

	return !fstat(a, &x) && !fstat(b, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* A region of the list that has a place of this one: a function may have several names. Ends would
 * be taken for those of the other region. NULL: there is none. */
static const struct kern_region *find_same_place(const struct run_regions *l, const struct work *w)
{
	for (unsigned i = 0; i < (unsigned)l->n; i++) {
		const struct kern_region *r = &l->list[i];

		for (unsigned k = 0; is_same_file(r->fd, w->fd) && k < r->nplaces; k++)
			for (int j = 0; j < w->n && j < RUN_REGION_PLACES; j++)
				if (r->places[k].offset == w->places[j].offset)
					return r;
	}
	return NULL;
}

static int fill_region(struct kern_region *r, const struct work *w)
{
	unsigned n = (unsigned)w->n;

	r->fd = w->fd;
	r->wait = w->spec.wait;
	strcpy(r->name, w->spec.name);
	r->places = n && n <= RUN_REGION_PLACES ? calloc(n, sizeof(*r->places)) : NULL;
	if (!r->places)
		return 1;
	memcpy(r->places, w->places, n * sizeof(*r->places));
	r->nplaces = n;
	return 0;
}

static int look_up_region(struct run_regions *l, struct work *w, const char *text)
{
	const struct kern_region *same;
	struct region_spec spec;
	int status, fd;

	if (region_spec__parse(&w->spec, text))
		return 2;
	w->fd = open_file(w->spec.file);
	if (w->fd < 0) {
		log_error("--region %s: cannot open %s: %s: give its path, as ldd or which show it",
			  text, w->spec.file,
			  w->fd == -EINVAL ? "it is no regular file" : strerror(-w->fd));
		return 2;
	}
	spec = w->spec;
	fd = w->fd;
	status = pool__call_verb(find_places, w, &POOL_STREAM);
	w->spec = spec; /* the child may have written anything */
	w->fd = fd;
	same = status ? NULL : find_same_place(l, w);
	if (same) {
		log_error("--region %s: a function of it is one of %s already: a "
			  "function can be in one region",
			  text, same->name);
		status = 2;
	}
	if (!status)
		status = fill_region(&l->list[l->n], w);
	if (status)
		close(w->fd);
	else
		l->n++;
	return status;
}

int run_regions__add(struct run_regions *l, const char *text)
{
	struct work *w = pool__share(sizeof(*w));
	int status = 1;

	if (!w)
		log_error("%s", strerror(ENOMEM));
	else if (l->n == JP_REGIONS)
		log_error("--region %s: there are %d already, and at most so many", text, l->n);
	else
		status = look_up_region(l, w, text);
	pool__unshare(w, sizeof(*w));
	return status;
}

void run_regions__free(struct run_regions *l)
{
	while (l->n) {
		struct kern_region *r = &l->list[--l->n];

		close(r->fd);
		free(r->places);
	}
}
