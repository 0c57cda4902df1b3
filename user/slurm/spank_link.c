// SPDX-License-Identifier: GPL-2.0-or-later
/* Sends a step, its tasks and its end to jobprofd, for the SPANK plugin. */
#include "slurm/spank_link.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "slurm/spank_ids.h"

__attribute__((format(printf, 2, 3))) static void log_once(struct spank_link *l, const char *fmt,
							   ...)
{
	char reason[320], line[512];
	va_list args;

	if (l->logged || !l->log)
		return;
	l->logged = true;
	va_start(args, fmt);
	vsnprintf(reason, sizeof(reason), fmt, args);
	va_end(args);
	snprintf(line, sizeof(line), "jobprof: step %u.%s: %s", l->step.job_id, l->step.step_name,
		 reason);
	l->log(line, l->step.asked);
}

static void log_unreachable(struct spank_link *l, int err)
{
	if (err == -EAGAIN)
		log_once(l, "jobprofd at %s is too busy to listen; the job runs on without it",
			 l->path);
	else
		log_once(l, "no jobprofd at %s (%s); the job runs on without it", l->path,
			 strerror(-err));
}

/* Sends the message and waits for its answer for the rest of the budget. */
static int call_jobprofd(struct spank_link *l, void *message, struct jpc_reply *reply)
{
	uint64_t start = clock__mono_ns() / 1000, took;
	int err = client__call(&l->client, message, reply, l->left_us / 1000);

	took = clock__mono_ns() / 1000 - start;
	l->left_us -= took < l->left_us ? (unsigned)took : l->left_us;
	l->answered = !err;
	return err;
}

static void log_refusal(struct spank_link *l, struct jpc_reply *reply)
{
	spank_ids__plain(reply->text);
	if (reply->error < 0)
		log_once(l, "jobprofd refuses it: %s",
			 *reply->text ? reply->text : strerror(-reply->error));
	else if (l->step.asked && !reply->number && *reply->text)
		log_once(l, "it is not profiled: %s", reply->text);
}

/* An older jobprofd ignores the message. */
static void send_conf(struct spank_link *l)
{
	struct jpc_conf message = {.job_id = l->step.job_id, .step_id = l->step.step_id};

	if (!l->conf[0])
		return;
	memcpy(message.step_name, l->step.step_name, sizeof(message.step_name));
	memcpy(message.path, l->conf, sizeof(message.path));
	client__head(&l->client, &message, JPC_CONF, sizeof(message));
	(void)client__send(&l->client, &message);
}

static int send_step(struct spank_link *l, bool wait)
{
	struct jpc_reply reply;
	int err;

	client__head(&l->client, &l->step, JPC_STEP, sizeof(l->step));
	err = wait ? call_jobprofd(l, &l->step, &reply) : client__send(&l->client, &l->step);
	if (wait && !err) {
		log_refusal(l, &reply);
		l->findings = !reply.error && reply.flags & JPC_REPLY_FINDINGS;
	}
	if (!err || err == -ETIMEDOUT)
		send_conf(l);
	return err;
}

void spank_link__begin(struct spank_link *l, const char *path, unsigned timeout_ms)
{
	int err;

	l->path = path;
	l->timeout_ms = timeout_ms;
	l->left_us = timeout_ms * 1000;
	l->answered = false;
	err = client__open(&l->client, path);
	if (!err)
		err = send_step(l, true);
	if (err == -ETIMEDOUT) {
		/* the message is in the socket: jobprofd will read it later */
		log_once(l, "jobprofd at %s has not answered within %u ms; the job runs on", path,
			 timeout_ms);
		return;
	}
	if (!err)
		return;
	log_unreachable(l, err);
	client__close(&l->client);
}

/* Opens a new connection and sends the step first: jobprofd may have been restarted. */
static int reopen_link(struct spank_link *l)
{
	int err = client__open(&l->client, l->path);

	if (!err)
		err = send_step(l, false);
	if (err)
		client__close(&l->client);
	return err;
}

static bool is_gone(int err)
{
	return err && err != -EAGAIN && err != -ENOBUFS && err != -ENOMEM;
}

/* Sends without waiting, over a new connection if the old one is gone. */
static int send_message(struct spank_link *l, void *message, enum jpc_type type, size_t length)
{
	int err;

	client__head(&l->client, message, type, length);
	err = client__send(&l->client, message);
	if (!is_gone(err))
		return err;
	client__close(&l->client);
	err = reopen_link(l);
	if (err)
		return err;
	client__head(&l->client, message, type, length);
	return client__send(&l->client, message);
}

void spank_link__task(struct spank_link *l, enum jpc_type type, const struct jpc_task *task)
{
	struct jpc_task message = *task;
	int err;

	message.job_id = l->step.job_id;
	message.step_id = l->step.step_id;
	memcpy(message.step_name, l->step.step_name, sizeof(message.step_name));
	err = send_message(l, &message, type, sizeof(message));
	if (err)
		log_unreachable(l, err);
}

void spank_link__end(struct spank_link *l)
{
	struct jpc_step_end message = {.job_id = l->step.job_id, .step_id = l->step.step_id};
	struct jpc_reply reply;
	int err = -ENOTCONN;

	memcpy(message.step_name, l->step.step_name, sizeof(message.step_name));
	if (l->answered) {
		/* while this process waits for the answer, jobprofd can read its credentials */
		l->left_us = l->timeout_ms * 1000;
		client__head(&l->client, &message, JPC_STEP_END, sizeof(message));
		err = call_jobprofd(l, &message, &reply);
	}
	if (err && err != -ETIMEDOUT)
		err = send_message(l, &message, JPC_STEP_END, sizeof(message));
	if (err && err != -ETIMEDOUT)
		log_unreachable(l, err);
	client__close(&l->client);
}
