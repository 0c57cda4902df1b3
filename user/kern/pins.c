// SPDX-License-Identifier: GPL-2.0-or-later
/* Pins under bpffs: maps/NAME, progs/NAME, links/NAME. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "kern/internal.h"

static void pin_path(const struct kern *k, const char *kind, const char *name, char *out,
		     size_t len)
{
	snprintf(out, len, "%s/%s/%s", k->pin_dir, kind, name);
}

#define BPFFS "/sys/fs/bpf"

static int find_bpffs(const char *pin_dir, char *parent, size_t size)
{
	struct statfs st;
	char *slash;

	snprintf(parent, size, "%s", pin_dir);
	slash = strrchr(parent, '/');
	if (!slash || slash == parent)
		return kern_fail(-EINVAL, "PinDir %s: want an absolute path below a bpffs",
				 pin_dir);
	*slash = 0;
	if (statfs(parent, &st))
		return kern_fail(-errno, "PinDir %s: %s: %s%s", pin_dir, parent, strerror(errno),
				 strcmp(parent, BPFFS) ? "" : ": is sysfs mounted?");
	if (st.f_type == BPF_FS_MAGIC)
		return 0;
	if (strcmp(parent, BPFFS))
		return kern_fail(-EINVAL,
				 "PinDir %s: %s is no BPF file system: take a path below " BPFFS,
				 pin_dir, parent);
	return 1;
}

int kern__check_pin_dir(const char *pin_dir)
{
	char parent[256];
	int found = find_bpffs(pin_dir, parent, sizeof(parent));

	return found < 0 ? found : 0;
}

/* bpffs is often not mounted in containers and early boot: mount it where the pins go. */
static int ensure_bpffs(const char *pin_dir)
{
	char parent[256];
	int found = find_bpffs(pin_dir, parent, sizeof(parent));

	if (found <= 0)
		return found;
	if (mount("bpf", parent, "bpf", 0, "mode=0700"))
		return kern_fail(-errno, "cannot mount bpffs on %s: %s", parent, strerror(errno));
	return 0;
}

/* A child of a killed daemon may hold the lock for a moment, until it has closed its
 * descriptors. */
#define LOCK_TRIES 100

int kern_lock_pins(struct kern *k)
{
	int fd = k->pin_dir[0] ? open(k->pin_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1, i;

	kern_close_fd(&k->lock);
	if (fd < 0)
		return 0; /* nothing is pinned there */
	for (i = 0; flock(fd, LOCK_EX | LOCK_NB); i++) {
		if (i < LOCK_TRIES && !usleep(10000))
			continue;
		close(fd);
		return kern_fail(-EBUSY, "another jobprofd uses PinDir %s: give this one its own",
				 k->pin_dir);
	}
	k->lock = fd;
	return 0;
}

static int make_dirs(struct kern *k)
{
	static const char *const sub[] = {"", "/maps", "/progs", "/links"};
	char path[320];
	size_t i;

	for (i = 0; i < sizeof(sub) / sizeof(sub[0]); i++) {
		snprintf(path, sizeof(path), "%s%s", k->pin_dir, sub[i]);
		if (mkdir(path, 0700) && errno != EEXIST)
			return kern_fail(-errno, "cannot make %s: %s%s", path, strerror(errno),
					 strchr(path, '.') ? ": a bpffs takes no dot in names"
							   : "");
	}
	return 0;
}

static int pin_one(struct kern *k, const char *kind, const char *name, int fd)
{
	char path[384];

	if (fd < 0)
		return 0;
	pin_path(k, kind, name, path, sizeof(path));
	if (bpf_obj_pin(fd, path))
		return kern_fail(-errno, "cannot pin %s: %s", path, strerror(errno));
	return 0;
}

int kern_pin_all(struct kern *k)
{
	int i, err = ensure_bpffs(k->pin_dir);

	if (!err)
		err = make_dirs(k);
	for (i = 0; !err && i < M_N; i++)
		err = pin_one(k, "maps", kern_maps[i].name, k->map[i]);
	for (i = 0; !err && i < P_N; i++)
		err = pin_one(k, "progs", kern_progs[i].name, k->prog[i]);
	for (i = 0; !err && i < P_N; i++)
		err = pin_one(k, "links", kern_progs[i].name, k->link[i]);
	k->pinned = !err;
	return err;
}

int kern_open_pin(const struct kern *k, const char *kind, const char *name)
{
	char path[384];
	int fd;

	pin_path(k, kind, name, path, sizeof(path));
	fd = bpf_obj_get(path);
	return fd < 0 ? -errno : fd;
}

int kern_open_pins(struct kern *k, bool readonly)
{
	int i;

	k->readonly = readonly;
	for (i = 0; i < M_N; i++) {
		k->map[i] = kern_open_pin(k, "maps", kern_maps[i].name);
		/* the control page, once it is mapped, says of which families there are maps */
		if (k->map[i] < 0 && !kern_maps[i].family)
			return kern_fail(k->map[i],
					 "cannot open %s/maps/%s: %s: is jobprofd running with "
					 "this PinDir?",
					 k->pin_dir, kern_maps[i].name, strerror(-k->map[i]));
	}
	for (i = 0; i < P_N; i++) {
		k->prog[i] = kern_open_pin(k, "progs", kern_progs[i].name);
		k->link[i] = kern_open_pin(k, "links", kern_progs[i].name);
	}
	k->pinned = true;
	return kern_mmap(k);
}

void kern__unpin(const char *pin_dir)
{
	/* without their maps nobody takes the others for whole */
	static const char *const sub[] = {"maps", "progs", "links"};
	char path[640];
	size_t i;

	for (i = 0; i < sizeof(sub) / sizeof(sub[0]); i++) {
		struct dirent *e;
		DIR *d;

		snprintf(path, sizeof(path), "%s/%s", pin_dir, sub[i]);
		d = opendir(path);
		while (d && (e = readdir(d))) {
			if (!strncmp(e->d_name, "jp_", 3)) {
				snprintf(path, sizeof(path), "%s/%s/%s", pin_dir, sub[i],
					 e->d_name);
				unlink(path);
			}
		}
		if (d)
			closedir(d);
		snprintf(path, sizeof(path), "%s/%s", pin_dir, sub[i]);
		rmdir(path);
	}
	rmdir(pin_dir);
}
