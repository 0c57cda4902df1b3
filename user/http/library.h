/* SPDX-License-Identifier: GPL-2.0-or-later */
/* libmicrohttpd, loaded when a server starts: it brings others along (TLS) that no verb should wait
 * for. */
#ifndef JP_HTTP_LIBRARY_H
#define JP_HTTP_LIBRARY_H

#if __has_include(<microhttpd.h>)
#include <microhttpd.h>
#define HAS_MICROHTTPD

#define HTTP_FUNCTIONS(X)                          \
	X(MHD_add_response_header)                 \
	X(MHD_create_response_from_buffer)         \
	X(MHD_create_response_from_callback)       \
	X(MHD_create_response_from_fd_at_offset64) \
	X(MHD_destroy_response)                    \
	X(MHD_get_connection_info)                 \
	X(MHD_get_connection_values)               \
	X(MHD_get_daemon_info)                     \
	X(MHD_get_timeout)                         \
	X(MHD_queue_response)                      \
	X(MHD_resume_connection)                   \
	X(MHD_run)                                 \
	X(MHD_start_daemon)                        \
	X(MHD_stop_daemon)                         \
	X(MHD_suspend_connection)

struct http_library {
#define POINTER(function) typeof(function) *function;
	HTTP_FUNCTIONS(POINTER)
#undef POINTER
};
extern struct http_library mhd;
#endif

/* 0; -ENOTSUP, logged. */
int http_library__load(void);

#endif
