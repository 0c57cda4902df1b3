// SPDX-License-Identifier: GPL-2.0-or-later
/* The thread that asks the makers' libraries which processes use the GPUs. */
#include "sensor/gpu/gpu_internal.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "sensor/core/async_worker.h"

#define PERIODS_KEPT 10

static const struct {
	const struct sensor_ops *ops;
	int (*processes)(struct sensor *s, struct gpu_use **out);
} makers[] = {{&sensor_nvml, nvml__processes}, {&sensor_rsmi, rsmi__processes}};

#define N_MAKERS (sizeof(makers) / sizeof(makers[0]))

struct gpu_users {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned refs; /* one of the thread, one of the caller */
	bool stop;
	struct sensor_roots roots;
	uint64_t period_ns;
	struct gpu_use *answer; /* the thread's last answer, if it was not taken yet */
	int n;
	uint64_t answered_ns; /* 0: no answer yet */
	struct gpu_use *taken;
	int ntaken;
};

/* Gives up a reference; the last one frees u. */
static void put_users(struct gpu_users *u)
{
	bool last;

	pthread_mutex_lock(&u->lock);
	last = !--u->refs;
	pthread_mutex_unlock(&u->lock);
	if (!last)
		return;
	pthread_mutex_destroy(&u->lock);
	pthread_cond_destroy(&u->changed);
	sensor_roots__free(&u->roots);
	free(u->answer);
	free(u->taken);
	free(u);
}

static void keep_answer(struct gpu_users *u, struct gpu_use *use, int n)
{
	pthread_mutex_lock(&u->lock);
	free(u->answer);
	u->answer = use;
	u->n = n;
	u->answered_ns = clock__boot_ns();
	pthread_mutex_unlock(&u->lock);
}

/* Waits for a period. False: the thread must stop. */
static bool rest(struct gpu_users *u)
{
	bool stop;

	pthread_mutex_lock(&u->lock);
	sensor_thread__rest(&u->lock, &u->changed, &u->period_ns, &u->stop);
	stop = u->stop;
	pthread_mutex_unlock(&u->lock);
	return !stop;
}

/* Makes one list of the uses of all vendors' GPUs. Returns their number, or -ENODATA. */
static int ask_processes(struct sensor *const *s, struct gpu_use **out)
{
	int sum = -ENODATA;

	*out = NULL;
	for (unsigned i = 0; i < N_MAKERS; i++) {
		struct gpu_use *use = NULL, *all;
		int n = s[i] ? makers[i].processes(s[i], &use) : -ENODATA;

		if (n < 0)
			continue;
		sum = sum < 0 ? 0 : sum;
		all = realloc(*out, (size_t)(sum + n + 1) * sizeof(*all));
		if (all) {
			*out = all;
			memcpy(&all[sum], use, (size_t)n * sizeof(*use));
			sum += n;
		}
		free(use);
	}
	return sum;
}

static void *run_worker(void *arg)
{
	struct gpu_users *u = arg;
	struct sensor *s[N_MAKERS] = {};

	for (unsigned i = 0; i < N_MAKERS; i++)
		if (sensor__open(makers[i].ops, &s[i], &u->roots))
			s[i] = NULL;
	do {
		struct gpu_use *use;
		int n = ask_processes(s, &use);

		if (n >= 0)
			keep_answer(u, use, n);
		else
			free(use);
	} while (rest(u));
	for (unsigned i = 0; i < N_MAKERS; i++)
		sensor__close(makers[i].ops, s[i]);
	put_users(u);
	return NULL;
}

static int begin_thread(struct gpu_users *u)
{
	int err;

	sensor_thread__sync(&u->lock, &u->changed);
	u->refs = 2;
	err = sensor_thread__start(run_worker, u);
	if (!err)
		return 0;
	u->refs = 1;
	put_users(u);
	return err;
}

int gpu_users__start(struct gpu_users **out, const struct sensor_roots *roots, uint64_t period_ns)
{
	struct gpu_users *u;
	int err = -ENOENT;
	char reason[256];

	for (unsigned i = 0; err && i < N_MAKERS; i++)
		err = sensor__probe(makers[i].ops, roots, reason, sizeof(reason));
	if (err)
		return err;
	u = calloc(1, sizeof(*u));
	if (!u)
		return -ENOMEM;
	u->period_ns = period_ns;
	err = sensor_roots__copy(&u->roots, roots);
	if (err) {
		free(u);
		return err;
	}
	err = begin_thread(u);
	if (!err)
		*out = u;
	return err;
}

void gpu_users__set_period(struct gpu_users *u, uint64_t ns)
{
	pthread_mutex_lock(&u->lock);
	u->period_ns = ns;
	pthread_cond_signal(&u->changed);
	pthread_mutex_unlock(&u->lock);
}

int gpu_users__take(struct gpu_users *u, const struct gpu_use **out)
{
	bool old;

	pthread_mutex_lock(&u->lock);
	if (u->answer) {
		free(u->taken);
		u->taken = u->answer;
		u->answer = NULL;
	}
	u->ntaken = u->n;
	old = !u->answered_ns || clock__boot_ns() > u->answered_ns + PERIODS_KEPT * u->period_ns;
	pthread_mutex_unlock(&u->lock);
	*out = u->taken;
	return old ? -EAGAIN : u->ntaken;
}

void gpu_users__stop(struct gpu_users *u)
{
	if (!u)
		return;
	pthread_mutex_lock(&u->lock);
	u->stop = true;
	pthread_cond_signal(&u->changed);
	pthread_mutex_unlock(&u->lock);
	put_users(u);
}
