/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One line on stderr per message: "program: text". Control characters and bytes outside ASCII are
 * shown as \xNN, since text may hold names that users chose. When stderr is the system journal,
 * the line begins with its priority; the lines of a service begin with the time elsewhere.
 */
#ifndef JP_BASE_LOG_H
#define JP_BASE_LOG_H

#include <stdbool.h>
#include <stdint.h>

enum log_level { LOGL_NONE = -1, LOGL_ERROR, LOGL_WARN, LOGL_INFO, LOGL_DEBUG };

/* program must outlive all logging. Lines go to stderr; looks at JOURNAL_STREAM once. */
void log__init(const char *program, enum log_level level);
/* Lines go to syslogd from here on, where one listens and stderr is not the system journal; a line
 * that syslogd has no room for is counted, never waited for. Returns whether lines go there. */
bool log__to_syslog(void);
void log__set_level(enum log_level level);
/* From now on lines on stderr begin with the time, unless stderr is the system journal. */
void log__timed(void);
/* "error", "warn", "info", "debug" */
const char *log__level_name(enum log_level level);

/* Keeps errno. Lines over 2 KiB are cut and end in "...". */
void log__print(enum log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#define log_error(...) log__print(LOGL_ERROR, __VA_ARGS__)
#define log_warn(...)  log__print(LOGL_WARN, __VA_ARGS__)
#define log_info(...)  log__print(LOGL_INFO, __VA_ARGS__)
#define log_debug(...) log__print(LOGL_DEBUG, __VA_ARGS__)

/* The calls of log_error() since the start. */
struct log_errors {
	uint64_t n;
	int64_t last; /* unix time of the last one */
	char text[256];
};
const struct log_errors *log__errors(void);
/* From now on nothing is printed; errors are still counted. */
void log__only_count(void);

/* Zero-initialised, one per message that could come in floods. */
struct log_limit {
	uint64_t next_ns;
	uint64_t pending; /* suppressed since the last one printed */
	uint64_t skipped; /* set when log_every() returns true: how many it had suppressed */
};

/* True at most once in that many seconds; other times the message is counted in *l. */
bool log_every(struct log_limit *l, unsigned seconds);

#endif
