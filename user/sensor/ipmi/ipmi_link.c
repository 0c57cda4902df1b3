// SPDX-License-Identifier: GPL-2.0-or-later
/* Requests and answers through /dev/ipmi0. */
#include "sensor/ipmi/ipmi_link.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/ipmi.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

#define BUSY_TRIES 4
#define BUSY_WAIT  (NSEC_PER_SEC / 10)

struct device {
	int fd;
	long msgid;
};

/* Milliseconds to the deadline, rounded up; 0: it has passed. */
static int time_left(uint64_t deadline_ns)
{
	uint64_t now = clock__boot_ns(), ms;

	if (now >= deadline_ns)
		return 0;
	ms = (deadline_ns - now + 999999) / 1000000;
	return ms > INT_MAX ? INT_MAX : (int)ms;
}

static int send_request(struct device *d, const struct ipmi_request *req)
{
	struct ipmi_system_interface_addr to = {
		.addr_type = IPMI_SYSTEM_INTERFACE_ADDR_TYPE,
		.channel = IPMI_BMC_CHANNEL,
		.lun = req->lun,
	};
	uint8_t data[sizeof(req->data)];
	struct ipmi_req r = {
		.addr = (unsigned char *)&to,
		.addr_len = sizeof(to),
		.msgid = ++d->msgid,
		.msg = {.netfn = req->netfn, .cmd = req->cmd, .data_len = req->len, .data = data},
	};

	memcpy(data, req->data, sizeof(data));
	return ioctl(d->fd, IPMICTL_SEND_COMMAND, &r) ? -errno : 0;
}

/* Receives a message. Returns its length; 0: the message was an event, or the answer to an earlier
 * question that was given up; -errno. */
static int receive(struct device *d, uint8_t *answer)
{
	struct ipmi_addr from;
	struct ipmi_recv r = {
		.addr = (unsigned char *)&from,
		.addr_len = sizeof(from),
		.msg = {.data = answer, .data_len = IPMI_MAX_ANSWER},
	};

	if (ioctl(d->fd, IPMICTL_RECEIVE_MSG_TRUNC, &r)) {
		if (errno == EAGAIN || errno == EINTR)
			return 0;
		return errno == EMSGSIZE ? -EPROTO : -errno;
	}
	if (r.recv_type != IPMI_RESPONSE_RECV_TYPE || r.msgid != d->msgid || !r.msg.data_len)
		return 0;
	return r.msg.data_len;
}

static int device_call(void *context, const struct ipmi_request *req, uint8_t *answer,
		       uint64_t deadline_ns)
{
	struct device *d = context;
	int err = send_request(d, req);

	while (!err) {
		struct pollfd p = {.fd = d->fd, .events = POLLIN};
		int left = time_left(deadline_ns);
		int n = left ? poll(&p, 1, left) : 0;

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (!n)
			return -ETIMEDOUT;
		if (!(p.revents & POLLIN))
			return -ENODEV;
		err = receive(d, answer);
	}
	return err;
}

static void device_close(void *context)
{
	struct device *d = context;

	close(d->fd);
	free(d);
}

static int open_first(const char *dev, const char *path, char *where, size_t len)
{
	static const char *const names[] = {"ipmi0", "ipmi/0", "ipmidev/0"};
	int fd = -1;

	for (unsigned i = 0; i < 3 && fd < 0; i++) {
		if (path)
			snprintf(where, len, "%s", path);
		else
			snprintf(where, len, "%s/%s", dev, names[i]);
		fd = open(where, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
		if (fd < 0 && (path || (errno != ENOENT && errno != ENOTDIR)))
			return -errno;
	}
	if (fd < 0)
		snprintf(where, len, "%s/%s", dev, names[0]);
	return fd < 0 ? -ENOENT : fd;
}

int ipmi_link__open(struct ipmi_link *link, const char *dev, const char *path, char *where,
		    size_t len)
{
	char tried[PATH_MAX];
	struct device *d;
	int fd = open_first(dev, path, tried, sizeof(tried));

	*link = (struct ipmi_link){0};
	if (where)
		snprintf(where, len, "%s", tried);
	if (fd < 0)
		return fd == -EPERM ? -EACCES : fd;
	d = malloc(sizeof(*d));
	if (!d) {
		close(fd);
		return -ENOMEM;
	}
	*d = (struct device){.fd = fd};
	*link = (struct ipmi_link){d, device_call, device_close};
	return 0;
}

void ipmi_link__close(struct ipmi_link *link)
{
	if (link->close)
		link->close(link->context);
	*link = (struct ipmi_link){0};
}

int ipmi_link__probe(const char *dev, const char *path, const char *hint, char *text, size_t len)
{
	struct ipmi_link link;
	char tried[128];
	int err = ipmi_link__open(&link, dev, path, tried, sizeof(tried));

	if (err == -ENOENT)
		snprintf(text, len, "no %s; %s", tried, hint);
	else if (err == -EACCES)
		snprintf(text, len, "%s: not permitted; needs root", tried);
	else if (err)
		snprintf(text, len, "%s: %s", tried, strerror(-err));
	else
		snprintf(text, len, "the BMC behind %s", tried);
	ipmi_link__close(&link);
	return err;
}

int ipmi_link__error(int err)
{
	return err == -ETIMEDOUT ? -ETIME : err;
}

/* Completion codes that mean more than "it did not work". */
static int code_error(uint8_t code)
{
	static const struct {
		uint8_t code;
		int err;
	} table[] = {
		{0x00, 0},	     {0xc0, -EBUSY},	  {0xc1, -EOPNOTSUPP}, {0xc2, -EOPNOTSUPP},
		{0xc3, -ETIMEDOUT},  {0xc5, -ESTALE},	  {0xc9, -EOPNOTSUPP}, {0xcb, -EOPNOTSUPP},
		{0xcc, -EOPNOTSUPP}, {0xcd, -EOPNOTSUPP}, {0xd0, -EBUSY},      {0xd2, -EBUSY},
		{0xd4, -EACCES},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (table[i].code == code)
			return table[i].err;
	return -EIO;
}

int ipmi_link__ask(struct ipmi_link *link, const struct ipmi_request *req, uint8_t *data,
		   uint64_t deadline_ns)
{
	const struct timespec wait = {.tv_nsec = BUSY_WAIT};
	int err = -EBUSY;

	for (unsigned tries = 0; tries < BUSY_TRIES; tries++) {
		uint8_t answer[IPMI_MAX_ANSWER];
		int n = link->call(link->context, req, answer, deadline_ns);

		if (n < 0)
			return n;
		err = n ? code_error(answer[0]) : -EPROTO;
		if (!err) {
			memcpy(data, answer + 1, (size_t)n - 1);
			return n - 1;
		}
		if (err != -EBUSY || tries + 1 == BUSY_TRIES ||
		    clock__boot_ns() + BUSY_WAIT >= deadline_ns)
			break;
		nanosleep(&wait, NULL);
	}
	return err;
}
