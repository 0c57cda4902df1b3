#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Addresses by chance, made of what pages and verbs have and of what they should not get, at jobprof serve: each has an answer that is one of
few, no answer's child crashes, and nothing of an address comes back as markup. FUZZ_SECONDS: for so long, beside the build that BUILD names."""

import random
import sys
import urllib.parse

sys.path.insert(0, sys.path[0] + "/../../lib")
from serve import *

PATHS = ["/", "/jobs", "/usage", "/findings", "/io", "/issues", "/advice", "/digest", "/job/1", "/job/99999999", "/d/a/b/", "/d-solo/a/b/",
         "/assets/site.js", "/nothing", "/running", "/node/n1", "/nodes", "/node", "/home", "/apps", "/find", "/compare"]
ENDS = ["", "", ".json", ".csv", ".html", "/", "/..", "//", ".json.csv"]
NAMES = ["user", "project", "since", "until", "sort", "all", "by", "state", "name", "node", "program", "jobs", "limit", "where", "json", "csv", "html",
         "database", "o", "output", "overwrite", "help", "contacts", "cluster", "partition", "min-cores", "tag", "rule", "var-jobid", "panelId", "word", "cpu-share", "read", "ran-at", "x", "-", "--"]
VALUES = ["nobody", "zz_other1", "7d", "all", "2026-11-01", "2026-13-45", "-1", "1e9", "0", "99999999999999999999", "cpu", "lost", "user", "month", "'", "\"",
          "<b id=pwned>", "a,b,,c", "*", "%", "%%n%s", "../../etc/passwd", "/etc/passwd", "--help", "; rm", "' OR 1=1 --", "\\", "\u00e4\u4e16", "\u202e", "\x00", "\n",
          "x" * 300, "n[1-1000000000]", "n[1", "42", "42_3", "42_[1-9999]", "1+1", "nan", "inf", ">5", "<5", "5..6", "1-2", "NULL"]
RAW = ["%", "%4", "%ff", "%00", "#", " ", "&&", "=", "?", "\\", "%2e%2e", "%2f", "\xff", "+"]
STATUS = {200, 400, 403, 404}


def make_address(r):
    path = r.choice(PATHS) + r.choice(ENDS)
    args = []
    for _ in range(r.choice((0, 0, 0, 1, 1, 2, 3, 33))):
        name, value = r.choice(NAMES), r.choice(VALUES)
        args.append(r.choice((name, name + "=" + urllib.parse.quote(value, safe=""), name + "=" + urllib.parse.quote_plus(value))))
    address = path + ("?" + "&".join(args) if args else "")
    while r.random() < 0.15:
        at = r.randrange(1, len(address) + 1)
        address = address[:at] + r.choice(RAW) + address[at:]
    return address


def ask(server, address):
    """Status, type and bytes; None: the connection was closed without an answer."""
    line = b"GET " + address.encode("latin-1", "replace") + b" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(60)
    s.connect(server.socket)
    s.sendall(line)
    data = b""
    with s:
        while part := s.recv(65536):
            data += part
    head, _, body = data.partition(b"\r\n\r\n")
    m = re.match(rb"HTTP/1.[01] (\d+)", head)
    return (int(m[1]), re.search(rb"(?im)^content-type: ([^;\r]+)|$", head)[1], body) if m else None


def by_chance():
    seconds, r = float(os.environ.get("FUZZ_SECONDS", 0)), random.Random(int(os.environ.get("FUZZ_SEED", 25)))
    s, wrong, n, seen = Server("--database", made()), [], 0, {}
    end = time.monotonic() + seconds
    try:
        while n < 200 or time.monotonic() < end:
            address, n = make_address(r), n + 1
            got = ask(s, address)
            status, kind, body = got or (0, b"", b"")
            seen[status] = seen.get(status, 0) + 1
            is_closed = not status and " " in address  # which is no request's first line: the library has no answer to it
            if status not in STATUS and not is_closed or b"<b id=pwned>" in body and kind == b"text/html":
                wrong.append((address, status, body[:200]))
    finally:
        status, log = s.end()
    is_equal("addresses by chance: each has an answer, and no markup comes back", wrong[:5], [])
    is_true("addresses by chance: no answer's child crashed", status == 0 and not re.search("Sanitizer|runtime error|signal|crash", log), (status, log[-3000:]))
    is_true("addresses by chance: some pages, and some refusals", seen.get(200, 0) > 5 and seen.get(400, 0) > 5, seen)
    print("# %d addresses: %s" % (n, seen))


if __name__ == "__main__":
    run_tests((by_chance,))
