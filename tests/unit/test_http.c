/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Addresses, names and hosts as browsers and attackers send them; processes that answer. */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/unit/unit.h"
#include "http/child.h"
#include "http/http.h"
#include "http/request.h"
#include "http/socket.h"

static int parse(const char *raw)
{
	struct http_address a = {0};
	int err = http_address__parse(&a, raw);

	http_address__free(&a);
	return err;
}

TEST(an_address_is_taken_apart)
{
	struct http_address a = {0};

	assert_int_equal(
		http_address__parse(&a, "/jobs?user=ann%20b&since=7d&all&name=%3Da%2Bb+c&&x="), 0);
	assert_string_equal(a.path, "/jobs");
	assert_int_equal(a.nargs, 5);
	assert_string_equal(http_address__arg(&a, "user"), "ann b");
	assert_string_equal(http_address__arg(&a, "name"), "=a+b c");
	assert_string_equal(http_address__arg(&a, "all"), "");
	assert_string_equal(http_address__arg(&a, "x"), "");
	assert_true(!http_address__arg(&a, "none"));
	http_address__free(&a);
}

TEST(what_is_no_address)
{
	static const char *const bad[] = {
		"",	    "jobs",	"/../x",	"/.x",		 "/a/..",	"/a%2f",
		"/a b",	    "/a\\b",	"//../",	"/x?a=%",	 "/x?a=%1",	"/x?a=%0g",
		"/x?a=%00", "/x?a=%0a", "/x?a=%7f",	"/x?a=%ff",	 "/x?a=%c0%80", "/x?=1",
		"/x?a&a",   "/x?a=\n",	"/x?%61=1&a=2", "/x?a=%e2%80%ae"};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_int_equal(parse(bad[i]), -EINVAL);
	assert_int_equal(parse("/x?a=%c3%a9"), 0);
	assert_int_equal(parse("/a//b?"), 0);
}

TEST(what_is_too_long)
{
	char text[HTTP_ADDRESS_MAX + 2];

	memset(text, 'a', sizeof(text));
	text[0] = '/';
	text[HTTP_ADDRESS_MAX] = '\0';
	assert_int_equal(parse(text), 0);
	text[HTTP_ADDRESS_MAX] = 'a';
	text[HTTP_ADDRESS_MAX + 1] = '\0';
	assert_int_equal(parse(text), -EINVAL);
	strcpy(text, "/x?");
	for (int i = 0; i < HTTP_ARGS_MAX; i++)
		snprintf(text + strlen(text), 16, "a%d&", i);
	assert_int_equal(parse(text), 0);
	strcat(text, "one=more");
	assert_int_equal(parse(text), -EINVAL);
}

TEST(names_of_users)
{
	assert_true(http_name__is_user("ann"));
	assert_true(http_name__is_user("a.b-c_9"));
	assert_true(!http_name__is_user(""));
	assert_true(!http_name__is_user("-x"));
	assert_true(!http_name__is_user("../root"));
	assert_true(!http_name__is_user("a b"));
	assert_true(!http_name__is_user("a:80"));
	assert_true(!http_name__is_user("a,b"));
	assert_true(!http_name__is_user("r\xc3\xb6t"));
}

TEST(hosts_of_the_loopback)
{
	assert_true(http_host__is_loopback("localhost"));
	assert_true(http_host__is_loopback("LOCALHOST:8080"));
	assert_true(http_host__is_loopback("127.0.0.1:1"));
	assert_true(http_host__is_loopback("[::1]:1"));
	assert_true(!http_host__is_loopback("localhost.evil.example"));
	assert_true(!http_host__is_loopback("127.0.0.1.evil.example:80"));
	assert_true(!http_host__is_loopback("127.0.0.1:"));
	assert_true(!http_host__is_loopback("127.0.0.1:80x"));
	assert_true(!http_host__is_loopback(""));
}

TEST(a_child_that_is_killed_is_not_waited_for)
{
	struct dying d = {0};
	struct child c;
	pid_t pid = child__start(&c, &d, 30);

	if (!pid)
		_exit(0);
	assert_int_equal(pid, c.pid);
	while (poll(&(struct pollfd){c.pidfd, POLLIN, 0}, 1, -1) < 0)
		;
	assert_true(child__end(&c, &d, false));
	child__close_file(&c);
	assert_int_equal(0, d.n);

	pid = child__start(&c, &d, 30);
	if (!pid)
		for (;;)
			pause();
	assert_false(child__end(&c, &d, true));
	child__close_file(&c);
	for (int i = 0; d.n && i < 3000; i++, usleep(10000))
		dying__reap(&d);
	assert_int_equal(0, d.n);
	assert_int_equal(-1, waitpid(pid, NULL, WNOHANG));

	d.n = DYING_MAX;
	assert_int_equal(-EBUSY, child__start(&c, &d, 30));
}

TEST(who_has_closed_the_connection_is_nobody)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	unsigned short port = 0;
	int listener, client = socket(AF_INET, SOCK_STREAM, 0), fd;
	uid_t uid = (uid_t)-1;

	assert_int_equal(0, http_listener__loopback(&listener, &port));
	a.sin_port = htons(port);
	assert_int_equal(0, connect(client, (const struct sockaddr *)&a, sizeof(a)));
	fd = accept(listener, NULL, NULL);
	assert_true(fd >= 0);
	assert_int_equal(0, http_peer__of_loopback(&uid, fd));
	assert_int_equal(getuid(), uid);
	close(client); /* the kernel's table says root's from now on */
	assert_int_equal(-ENOENT, http_peer__of_loopback(&uid, fd));
	close(fd);
	close(listener);
}
