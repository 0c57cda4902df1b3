#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The modules of the pages, without a browser: tests/web/*.test.js, by node."""

import sys
sys.path.insert(0, sys.path[0] + "/../../lib")
from lib import *

WEB = os.path.join(ROOT, "tests/web")


def modules():
    if not shutil.which("node"):
        raise Skipped("no node: scripts/install-deps test")
    p = subprocess.run(["node", "--test", "--test-reporter=tap", WEB], capture_output=True, text=True, timeout=120)
    lines = re.findall(r"^(not ok|ok) \d+ - (.*)$", p.stdout, re.M)
    for verdict, name in lines:
        is_true(name, verdict == "ok", p.stdout[-600:])
    is_true("modules are tested", lines and p.returncode == 0, p.stderr[-400:])


if __name__ == "__main__":
    run_tests([modules])
