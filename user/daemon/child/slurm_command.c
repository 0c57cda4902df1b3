// SPDX-License-Identifier: GPL-2.0-or-later
/* Runs a command of Slurm's and stores what it prints. */
#include "daemon/child/slurm_command.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io_full.h"
#include "base/str.h"
#include "daemon/child/child.h"
#include "pool/confine.h"

/* A child that finds no Slurm prints this line: as an answer it has no meaning. */
#define NO_SLURM "NO_SLURM\n"
/* For the first id of an array or of a heterogeneous job the commands list all elements and
 * components. */
#define ANSWER_LEN (1 << 20)

void slurm_command__init(struct slurm_command *c, const struct slurmd *slurmd, const char *node)
{
	*c = (struct slurm_command){.fd = -1};
	if (slurmd)
		c->slurmd = *slurmd;
	str__copy(c->node, sizeof(c->node), node);
}

/* Paths that slurmstepd has not sent are taken from the node's slurmd. */
static void find_missing_paths(struct slurmd *slurmd, const char *node)
{
	struct slurmd found;

	if ((slurmd->squeue[0] && slurmd->conf[0]) || slurmd__find(&found, node))
		return;
	if (!slurmd->squeue[0])
		*slurmd = found;
	else if (!strcmp(slurmd->squeue, found.squeue))
		memcpy(slurmd->conf, found.conf, sizeof(slurmd->conf));
}

static void execute(const struct slurmd *slurmd, const char *const argv[])
{
	char conf[SLURMD_PATH + 16], path[SLURMD_PATH + 16];
	char *env[] = {conf, "SLURM_TIME_FORMAT=%s", NULL};
	const char *slash = strrchr(slurmd->squeue, '/');

	if (!slash)
		return;
	snprintf(conf, sizeof(conf), "%s%s", slurmd->conf[0] ? "SLURM_CONF=" : "LANG=C",
		 slurmd->conf);
	snprintf(path, sizeof(path), "%.*s/%s", (int)(slash - slurmd->squeue), slurmd->squeue,
		 argv[0]);
	if (!confine__process(CONFINE_SLURM))
		execve(path, (char *const *)argv, env);
}

static void __attribute__((noreturn))
run(struct slurm_command *c, const char *const argv[], int out, pid_t parent)
{
	int null = open("/dev/null", O_RDWR);

	dup2(null, STDIN_FILENO);
	dup2(out, STDOUT_FILENO);
	dup2(null, STDERR_FILENO);
	child__begin();
	if (!child__end_with(parent, SIGKILL)) {
		find_missing_paths(&c->slurmd, c->node);
		execute(&c->slurmd, argv);
	}
	_exit(write(STDOUT_FILENO, NO_SLURM, strlen(NO_SLURM)) < 0 ? 126 : 127);
}

bool slurm_command__start(struct slurm_command *c, const char *const argv[])
{
	pid_t parent = getpid();
	int p[2];

	if (pipe2(p, O_CLOEXEC | O_NONBLOCK))
		return false;
	fcntl(p[0], F_SETPIPE_SZ, ANSWER_LEN);
	c->pid = fork();
	if (!c->pid)
		run(c, argv, p[1], parent);
	close(p[1]);
	if (c->pid < 0) {
		close(p[0]);
		c->pid = 0;
		return false;
	}
	c->fd = p[0];
	return true;
}

bool slurm_command__reaped(struct slurm_command *c, pid_t pid, char **text)
{
	ssize_t n;

	if (!c->pid || c->pid != pid)
		return false;
	c->pid = 0;
	*text = malloc(ANSWER_LEN);
	n = *text ? read_full(c->fd, *text, ANSWER_LEN - 1) : 0;
	close(c->fd);
	c->fd = -1;
	if (n > 0) {
		(*text)[n] = '\0';
	} else {
		free(*text);
		*text = NULL;
	}
	return true;
}

/* The loop reaps the killed command as an unknown child. */
void slurm_command__stop(struct slurm_command *c)
{
	if (!c->pid)
		return;
	kill(c->pid, SIGKILL);
	close(c->fd);
	c->fd = -1;
	c->pid = 0;
}
