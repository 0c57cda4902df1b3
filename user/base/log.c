/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes a message as one line on stderr, or as one with a priority for the system journal. */
#include "base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

#define LINE_MAX_LEN 2048
#define SYSLOG_PATH  "/dev/log"
#define LOG_DAEMON   (3 << 3) /* syslog's facility of services */

static const char *program_name = "jobprof";
static enum log_level max_level = LOGL_INFO;
static bool to_journal;
static bool to_syslog;
static bool timed;
static bool only_counts;
static int syslog_fd = -1;
static pid_t syslog_pid; /* the process that opened syslog_fd: a child may have closed it and got
			    the number again */
static unsigned syslog_lost;

static const struct {
	const char *name;
	int priority; /* of syslog */
} levels[] = {
	[LOGL_ERROR] = {"error", 3},
	[LOGL_WARN] = {"warn", 4},
	[LOGL_INFO] = {"info", 6},
	[LOGL_DEBUG] = {"debug", 7},
};

/* The variable is inherited by children whose stderr was redirected: compare, do not trust. */
static bool stderr_is_journal(void)
{
	const char *env = getenv("JOURNAL_STREAM");
	unsigned long long dev, ino;
	struct stat st;
	char end;

	if (!env || sscanf(env, "%llu:%llu%c", &dev, &ino, &end) != 2)
		return false;
	return !fstat(STDERR_FILENO, &st) && st.st_dev == dev && st.st_ino == ino;
}

void log__init(const char *program, enum log_level level)
{
	program_name = program;
	max_level = level;
	to_journal = stderr_is_journal();
	to_syslog = timed = false;
}

void log__timed(void)
{
	timed = true;
}

void log__set_level(enum log_level level)
{
	max_level = level;
}

const char *log__level_name(enum log_level level)
{
	return levels[level].name;
}

/* Appends text to out with everything but printable ASCII escaped; always leaves room for "...\n".
 */
static size_t escape(char *out, size_t pos, size_t size, const char *text)
{
	size_t limit = size - sizeof("...\n");

	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;
		bool plain = c >= 0x20 && c < 0x7f;

		if (pos + (plain ? 1 : 4) > limit) {
			for (int i = 0; i < 3; i++)
				out[pos++] = '.';
			return pos;
		}
		if (plain)
			out[pos++] = (char)c;
		else
			pos += (size_t)snprintf(out + pos, 5, "\\x%02x", c);
	}
	return pos;
}

static bool syslog_connect(void)
{
	static const struct sockaddr_un addr = {.sun_family = AF_UNIX, .sun_path = SYSLOG_PATH};

	if (syslog_fd >= 0 && syslog_pid == getpid())
		close(syslog_fd);
	syslog_pid = getpid();
	syslog_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (syslog_fd < 0 || !connect(syslog_fd, (const struct sockaddr *)&addr, sizeof(addr)))
		return syslog_fd >= 0;
	close(syslog_fd);
	syslog_fd = -1;
	return false;
}

bool log__to_syslog(void)
{
	if (!to_journal && !to_syslog)
		to_syslog = syslog_connect();
	return to_syslog;
}

static bool syslog_send(const char *line, size_t len)
{
	if (syslog_fd >= 0 && syslog_pid == getpid()) {
		if (send(syslog_fd, line, len, MSG_NOSIGNAL) >= 0)
			return true;
		if (errno == EAGAIN)
			return false;
	}
	/* a child, or a new syslogd with a new socket */
	return syslog_connect() && send(syslog_fd, line, len, MSG_NOSIGNAL) >= 0;
}

/* RFC 3164, as syslog(3) sends, but without ever waiting for a syslogd that is stuck. */
static bool syslog_line(enum log_level level, const char *text)
{
	char line[LINE_MAX_LEN + 128], date[32];
	time_t now = time(NULL);
	struct tm tm;
	size_t len;

	strftime(date, sizeof(date), "%b %e %T", localtime_r(&now, &tm));
	len = (size_t)snprintf(line, 128, "<%d>%s %s[%d]: ", LOG_DAEMON | levels[level].priority,
			       date, program_name, getpid());
	len = escape(line, len, sizeof(line), text);
	return syslog_send(line, len);
}

static void print_syslog(enum log_level level, const char *text)
{
	char lost[64];

	if (syslog_lost) {
		snprintf(lost, sizeof(lost), "%u lines that syslog did not take are lost",
			 syslog_lost);
		if (syslog_line(LOGL_WARN, lost))
			syslog_lost = 0;
	}
	if (!syslog_line(level, text))
		syslog_lost++;
}

static struct log_errors errors;

static void note_error(const char *text)
{
	errors.n++;
	errors.last = time(NULL);
	errors.text[escape(errors.text, 0, sizeof(errors.text), text)] = '\0';
}

const struct log_errors *log__errors(void)
{
	return &errors;
}

void log__only_count(void)
{
	only_counts = true;
}

static void print_stderr(enum log_level level, const char *text)
{
	char line[LINE_MAX_LEN + 128];
	time_t now = time(NULL);
	size_t len = 0;
	struct tm tm;

	if (to_journal)
		len = (size_t)snprintf(line, sizeof(line), "<%d>", levels[level].priority);
	else if (timed)
		len = strftime(line, sizeof(line), "%F %T ", localtime_r(&now, &tm));
	len = escape(line, len, 64, program_name);
	line[len++] = ':';
	line[len++] = ' ';
	len = escape(line, len, sizeof(line), text);
	line[len++] = '\n';
	/* One write keeps lines of several processes whole. A failed write cannot be reported
	 * anywhere. */
	if (write(STDERR_FILENO, line, len) < 0)
		return;
}

void log__print(enum log_level level, const char *fmt, ...)
{
	char text[LINE_MAX_LEN];
	int saved = errno;
	va_list ap;

	if (level > max_level)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);

	if (level == LOGL_ERROR)
		note_error(text);
	if (only_counts)
		; /* whoever asks is told */
	else if (to_syslog)
		print_syslog(level, text);
	else
		print_stderr(level, text);
	errno = saved;
}

bool log_every(struct log_limit *l, unsigned seconds)
{
	uint64_t now = clock__mono_ns();

	if (now < l->next_ns) {
		l->pending++;
		return false;
	}
	l->next_ns = now + seconds * NSEC_PER_SEC;
	l->skipped = l->pending;
	l->pending = 0;
	return true;
}
