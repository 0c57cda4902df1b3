#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""How often each verb opens a profile: once, and node-step files of one job twice. strace counts, in all processes."""

import os
import re
import sys

sys.path.insert(0, os.path.realpath(__file__ + "/../../../lib"))
sys.path.insert(0, os.path.realpath(__file__ + "/../../../findings"))
from joblib import *
from lib import *
from verblib import calls, make_profile

HERE = tmpdir("opens")
A, B = os.path.join(HERE, "job_4711.h5"), os.path.join(HERE, "job_4712.h5")
# those that look for a job ask a file what it is before they read it
MOST = {"report -j": 2, "compare": 1, "reduce": 2, "track": 2, "merge -S": 2}


def opened(*args):
    """Status, and how often each file was opened by its name."""
    trace = os.path.join(HERE, "trace")
    p = subprocess.run(["strace", "-f", "-qq", "-e", "trace=open,openat,openat2", "-o", trace, JOBPROF, *args],
                       capture_output=True, cwd=HERE, env=plain_env())
    counts = {}
    with open(trace, errors="replace") as f:
        for path in re.findall(r'open\w*\((?:[^"]*)"([^"]*\.h5)", O_RDONLY[^)]*\) = \d', f.read()):
            path = os.path.join(HERE, path)
            counts[path] = counts.get(path, 0) + 1
    return p, counts
