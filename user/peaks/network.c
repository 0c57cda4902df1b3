// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The peak of the network is not measured: it is made from the speeds that ports of InfiniBand and
 * Omni-Path, and network interfaces with a device, report. The peak is the sum over the fastest
 * ones: a node with two fast ports and a slow one for administration has twice the speed of a fast
 * port.
 */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "peaks/measure.h"

#define ETHERNET "1" /* ARPHRD_ETHER */
#define SAME	 0.999

struct links {
	double fastest, sum; /* B/s */
	unsigned n;	     /* as fast as the fastest */
	unsigned up;	     /* also those whose speed is not known */
	char name[64];	     /* of the first of the fastest */
	char mute[64];	     /* one that does not say its speed */
};

static bool read_word(const char *dir, const char *file, char *buf, size_t size)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s/%s", dir, file) >= (int)sizeof(path) ||
	    read_file(AT_FDCWD, path, buf, size) < 0)
		return false;
	buf[strcspn(buf, "\n")] = '\0';
	return true;
}

static void add_link(struct links *l, const char *name, double speed)
{
	l->up++;
	if (!(speed > 0)) {
		snprintf(l->mute, sizeof(l->mute), "%s", name);
		return;
	}
	if (speed * SAME > l->fastest) {
		l->fastest = speed;
		l->n = 0;
		l->sum = 0;
		snprintf(l->name, sizeof(l->name), "%s", name);
	} else if (speed < l->fastest * SAME) {
		return;
	}
	l->n++;
	l->sum += speed;
}

/* Bits to bytes per second; 0: the text begins with no number. */
static double speed_of(const char *text, double unit)
{
	double v;
	char number[32];

	snprintf(number, sizeof(number), "%.*s", (int)strcspn(text, " "), text);
	return parse_double(number, &v) ? 0 : v * unit / 8;
}

static void add_interface(struct links *l, const char *net, const char *name)
{
	char dir[PATH_MAX], path[PATH_MAX + 16], text[64];

	if (snprintf(dir, sizeof(dir), "%s/%s", net, name) >= (int)sizeof(dir))
		return;
	snprintf(path, sizeof(path), "%s/device", dir);
	if (access(path, F_OK) || !read_word(dir, "type", text, sizeof(text)) ||
	    strcmp(text, ETHERNET) != 0)
		return;
	if (!read_word(dir, "operstate", text, sizeof(text)) || strcmp(text, "up") != 0)
		return;
	add_link(l, name, read_word(dir, "speed", text, sizeof(text)) ? speed_of(text, 1e6) : 0);
}

/* RoCE ports are network interfaces, too, and counted as these. */
static void add_port(struct links *l, const char *device, const char *name, const char *number)
{
	char dir[PATH_MAX], text[64], port[64];

	if (snprintf(dir, sizeof(dir), "%s/ports/%s", device, number) >= (int)sizeof(dir) ||
	    !read_word(dir, "link_layer", text, sizeof(text)) || strcmp(text, "InfiniBand") != 0)
		return;
	if (!read_word(dir, "state", text, sizeof(text)) || !str__starts(text, "4:"))
		return;
	snprintf(port, sizeof(port), "%.40s/%.16s", name, number);
	add_link(l, port, read_word(dir, "rate", text, sizeof(text)) ? speed_of(text, 1e9) : 0);
}

static void add_ports(struct links *l, const char *class, const char *name)
{
	_cleanup_closedir_ DIR *ports = NULL;
	char device[PATH_MAX], dir[PATH_MAX + 16];
	const struct dirent *e;

	if (snprintf(device, sizeof(device), "%s/%s", class, name) >= (int)sizeof(device))
		return;
	snprintf(dir, sizeof(dir), "%s/ports", device);
	ports = opendir(dir);
	while (ports && (e = readdir(ports)))
		if (e->d_name[0] != '.')
			add_port(l, device, name, e->d_name);
}

static void add_all(struct links *l, const char *sys, const char *class,
		    void (*add)(struct links *l, const char *dir, const char *name))
{
	_cleanup_closedir_ DIR *dir = NULL;
	const struct dirent *e;
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/class/%s", sys, class);
	dir = opendir(path);
	while (dir && (e = readdir(dir)))
		if (e->d_name[0] != '.')
			add(l, path, e->d_name);
}

void network__measure(const struct measure_opts *o, struct measure *m)
{
	struct links l = {0};

	add_all(&l, o->sys, "infiniband", add_ports);
	add_all(&l, o->sys, "net", add_interface);
	if (l.n) {
		m->pass[m->npasses++] = l.sum;
		snprintf(m->how, sizeof(m->how),
			 "%u x %.4g Gb/s (%s), as the link says, not measured", l.n,
			 l.fastest * 8 / 1e9, l.name);
		return;
	}
	m->absent = true;
	if (l.up)
		measure__fail(m, "%s does not say its speed", l.mute);
	else
		measure__fail(m, "no port or interface with a device is up");
}
