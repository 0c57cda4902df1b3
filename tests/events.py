#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Names of events: the same numbers as perf's."""

import re

from lib import *

UNIT = os.path.join(BUILD, "tests", "unit", "test_perf_event")


def perf_attr(event):
    """Type and config that perf asks the kernel for, whether or not it has such an event."""
    p = subprocess.run(["perf", "stat", "-vv", "-e", event, "true"], capture_output=True, text=True,
                       env=dict(os.environ, LC_ALL="C"))
    attr = re.search(r"^perf_event_attr:\n((?:  .*\n)+)", p.stderr, re.M)
    if not attr:
        return None
    values = dict(re.findall(r"^  (\w+) +(\S+)", attr.group(1), re.M))
    # zero is not printed
    return int(values.get("type", "0"), 0), int(values.get("config", "0"), 0)


def names_are_perfs():
    if not shutil.which("perf"):
        raise Skipped("there is no perf")
    names = subprocess.run([UNIT, "--names"], capture_output=True, text=True, check=True).stdout
    bad = []
    for line in names.splitlines():
        name, kind, config = line.split()
        theirs = perf_attr(name)
        if theirs != (int(kind), int(config, 16)):
            bad.append("%s: ours %s %s, perf's %s" % (name, kind, config, theirs))
    is_true("%d names stand for what perf says" % len(names.splitlines()), not bad and names,
            "; ".join(bad))


if __name__ == "__main__":
    run_tests([names_are_perfs])
