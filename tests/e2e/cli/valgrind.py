#!/usr/bin/python3
# timeout: 600
# runs: in full
# SPDX-License-Identifier: GPL-2.0-or-later
"""valgrind finds nothing in the verbs that read files, nor in the units of journals and of files."""

import sys
sys.path.insert(0, sys.path[0] + "/../../lib")
from faultlib import *


def valgrind():
    if sh(["sh", "-c", "command -v valgrind"]).returncode:
        raise Skipped("there is no valgrind")
    if b"__asan_init" in open(JOBPROF, "rb").read():
        raise Skipped("built with sanitizers")
    r, made = run_jobprof([tool("jphold"), "spin=0.3"], 0.1)
    # What reads files for root may not do what valgrind does: the same is done by another user.
    good = os.path.join(tmpdir(), os.path.basename(made))
    shutil.copy(made, good)
    os.chown(os.path.dirname(good), NOBODY, NOBODY)
    os.chown(good, NOBODY, NOBODY)
    readable = shutil.copy(JOBPROF, os.path.dirname(good))
    os.chmod(readable, 0o755)
    os.chmod(TMP, 0o711)
    cmds = {"jobprof show": [readable, "show", good],
            "jobprof show --json": [readable, "show", "--json", good],
            "jobprof list": [JOBPROF, "list"], "jobprof list --json": [JOBPROF, "list", "--json"]}
    for unit in ("test_journal", "test_journal_damage", "test_journal_owner", "test_nodestep"):
        path = os.path.join(BUILD, "tests", "unit", unit)
        if os.path.exists(path):
            cmds[unit] = [path]
        else:
            skip("valgrind: " + unit, "it is not built")
    for name, cmd in cmds.items():
        user = dict(user=NOBODY, group=NOBODY, extra_groups=[]) if good in cmd else {}
        p = sh(["valgrind", "-q", "--error-exitcode=99", "--leak-check=full", "--num-callers=40",
                "--errors-for-leak-kinds=definite",
                "--suppressions=" + os.path.join(ROOT, "tests", "data", "valgrind.supp")] + cmd,
               timeout=400, **user)
        is_true("valgrind: " + name, p.returncode == 0,
                "status %d: %s" % (p.returncode, " ".join(p.stderr.split())[:600]))


if __name__ == "__main__":
    need_bpf()
    run_tests([valgrind])
