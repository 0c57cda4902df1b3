#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The page of running jobs in a browser, while what it shows changes: tests/web/site-live.js does what a reader does."""

import contextlib
import sys

sys.path.insert(0, sys.path[0] + "/../../lib")
from browser import WEB, need_browser
from running import filled
from serve import Server
from squeuelib import *


def in_a_browser():
    need_browser()
    folder = tmpdir("live")
    with filled(120) as (index, db):
        s = Server("--database", index, "--period", "0.3", own=True)
        with open(os.path.join(folder, "cases.json"), "w") as f:
            json.dump({"base": "http://127.0.0.1:%d" % s.port}, f)
        with open(os.path.join(folder, "out"), "w+") as out:
            p = start(["node", os.path.join(WEB, "site-live.js"), folder], stdout=out, stderr=subprocess.STDOUT)
            wish, until = os.path.join(folder, "wish.json"), time.monotonic() + 150
            while p.poll() is None and time.monotonic() < until:
                time.sleep(0.02)
                with contextlib.suppress(FileNotFoundError):
                    with open(wish) as f:
                        for sql in json.load(f):
                            db.execute(sql)
                    db.commit()
                    os.unlink(wish)
            p.kill()
            out.seek(0)
            lines = out.read().splitlines()
        s.end()
    for line in lines:
        good, name = re.match(r"(not )?ok (\w+)", line).groups() if re.match(r"(not )?ok \w", line) else ("not", "a line")
        is_true("live, " + name, not good, line)
    is_true("live: it ends well", p.returncode == 0 and len(lines) == 5, lines)


if __name__ == "__main__":
    run_tests((in_a_browser,))
