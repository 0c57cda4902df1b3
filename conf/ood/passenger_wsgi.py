# SPDX-License-Identifier: GPL-2.0-or-later
"""Own jobs in Open OnDemand: this folder to /var/www/ood/apps/sys/jobprof. OnDemand runs it as the user who has logged in, so that nobody sees more
than by jobprof in a terminal. Each page is what "jobprof serve --user --page ADDRESS" prints."""

import os
import subprocess

JOBPROF = os.environ.get("JOBPROF", "/usr/local/bin/jobprof")
SECONDS = 60  # a first page makes the user's index


def text(start_response, status, words, *headers):
    start_response(status, [("Content-Type", "text/plain; charset=utf-8"), *headers])
    return [words.encode()]


def application(environ, start_response):
    if environ["REQUEST_METHOD"] not in ("GET", "HEAD"):
        return text(start_response, "405 Method Not Allowed", "GET and HEAD are all there is.\n", ("Allow", "GET, HEAD"))
    if environ.get("HTTP_SEC_FETCH_SITE", "none") not in ("same-origin", "none") and environ.get("HTTP_SEC_FETCH_DEST", "document") != "document":
        return text(start_response, "403 Forbidden", "Pages of others may link here, no more.\n")
    path, query = environ.get("PATH_INFO", ""), environ.get("QUERY_STRING", "")
    if not path:  # links of pages are relative
        return text(start_response, "302 Found", "", ("Location", environ.get("SCRIPT_NAME", "") + "/"))
    try:
        address = (path.replace("?", "%3f") + ("?" + query if query else "")).encode("latin-1")
        p = subprocess.run([JOBPROF, "serve", "--user", b"--page=" + address], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return text(start_response, "503 Service Unavailable", "This took too long. A shorter time or a narrower filter is faster.\n")
    except ValueError:  # a null byte
        return text(start_response, "400 Bad Request", "The address makes no sense.\n")
    except OSError as e:
        return text(start_response, "500 Internal Server Error", "%s: %s\n" % (JOBPROF, e.strerror))
    head, _, body = p.stdout.partition(b"\r\n\r\n")
    if p.returncode or not head.startswith(b"Status: "):
        return text(start_response, "500 Internal Server Error", "jobprof failed; its words are in the user's log of nginx.\n")
    lines = [line.split(": ", 1) for line in head.decode("latin-1").split("\r\n")]
    start_response(lines[0][1] + " -", [(k, v) for k, v in lines[1:]] + [("Content-Length", str(len(body)))])
    return [body if environ["REQUEST_METHOD"] == "GET" else b""]
