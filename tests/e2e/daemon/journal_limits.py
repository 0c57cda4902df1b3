#!/usr/bin/python3
# runs: in full
# SPDX-License-Identifier: GPL-2.0-or-later
"""How much journals may take: those that cannot become files are removed, the oldest first, and
running steps write fewer rows, which have all that the others would have had."""

import os
import sys

if os.geteuid() == 0 and "JP_OWN_MOUNTS" not in os.environ:
    os.environ["JP_OWN_MOUNTS"] = "1"
    os.execvp("unshare", ["unshare", "-m", "--propagation", "private", sys.executable, "-u"] + sys.argv)

sys.path.insert(0, sys.path[0] + "/../../lib")
from faultlib import *

KIB = 1024
COPIES, COPY = 6, 300 * KIB


def spinning(d, job, uid=0, tasks=1):
    """A step of a user that uses CPU all the time."""
    return d.step(job, 0, [tool("jpduty"), "0.002", "0.02"], tasks, extra=["-u", str(uid)])


def refusing(d):
    """The directory of a user that the user may not write to."""
    path = os.path.join(d.hdf5, "nobody")
    os.mkdir(path, 0o700)
    return path


def copies_of(journal):
    """Journals as left by steps before: each takes its room, later ones are newer."""
    with open(journal, "rb") as f:
        content = f.read().rstrip(b"\0")
    os.unlink(journal)
    names = []
    for i in range(COPIES):
        names.append(journal.replace(".journal", ".%d.journal" % i))
        with open(names[-1], "wb") as f:
            f.write(content.ljust(COPY, b"\0"))
        os.utime(names[-1], (1e9 + i, 1e9 + i))
    return names


def free(path):
    st = os.statvfs(path)
    return st.f_bavail * st.f_frsize


def removed():
    """By the floor of free space, by the user's limit, by that of all; what is left becomes a file."""
    state = tmpdir("small")
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m,mode=0755", "tmpfs", state], check=True)
    d = RootedDaemon("jr", StateDir=state, PublishInterval="0")
    theirs = refusing(d)
    d.start()
    p = spinning(d, 91001, NOBODY)
    d.wait_said("profiling 91001_0_")
    time.sleep(0.3)
    end_of(p)
    d.wait_said("cannot write 91001_0_")
    d.end()
    left = copies_of(d.journals()[0])
    d.start()
    time.sleep(8)
    is_equal("within the limits: journals wait", d.journals(), left)
    # A twentieth of the disk is to be free.
    with open(os.path.join(state, "filler"), "wb") as f:
        f.write(b"\0" * (free(state) - 100 * KIB))
    wait_until(lambda: len(d.journals()) < COPIES, 60, "a journal to go: %s" % d.said()[-400:])
    time.sleep(6)
    is_equal("JournalMinFree: the oldest goes, and no more than need be", d.journals(), left[1:])
    os.unlink(os.path.join(state, "filler"))
    d.configure(JournalUserMax="1")
    d.proc.send_signal(signal.SIGHUP)
    wait_until(lambda: d.journals() == left[3:], 20, "JournalUserMax: %s" % d.said()[-400:])
    ok("JournalUserMax: the oldest go")
    d.configure(JournalUserMax="0", JournalMax="0.5")
    d.proc.send_signal(signal.SIGHUP)
    wait_until(lambda: d.journals() == left[5:], 20, "JournalMax: %s" % d.said()[-400:])
    ok("JournalMax: the oldest go")
    said = re.findall("91001_0_.*its journal of 0.3 MiB is removed: journals of user 65534 have", d.said())
    is_equal("each is said", len(said), COPIES - 1)
    os.chown(theirs, NOBODY, NOBODY)
    d.end()  # the next one tries at once
    d.start()
    path = d.file(91001, 0, "nobody")
    is_true("what is left becomes a file", len(read_all(path)["Step"]) > 0, path)
    is_equal("a clean end", d.end(), 0)
    subprocess.run(["umount", "-l", state])


def thinned():
    """A running step of a user with too much writes a row a minute; another's does not. When a task ended is kept for the
    row that is written."""
    d = RootedDaemon("jt", JournalUserMax="0.05", JournalMinFree="0", PublishInterval="0")
    d.start()
    p = spinning(d, 92001, NOBODY, tasks=2)
    d.wait_said("92001_0_.*rows are left out", 20)
    q = spinning(d, 92002)
    said = status(d).stdout
    is_equal("thinned: --status says which limit it is, and nothing of the disk", (
        re.findall("^problem: since [-0-9]+ [:0-9]+: (.*)", said, re.M), "make room" in said),
             (["journals take more than JournalUserMax, as those of user %d: 1 step has a row a minute; see JournalUserMax"
               % NOBODY], False))
    with open(d.v2_step(92001, 0) + "/user/task_1/cgroup.procs") as f:
        os.kill(int(f.read()), signal.SIGTERM)
    ended = time.time()
    time.sleep(2.5)
    end_of(p)
    end_of(q)
    cgroup = os.path.dirname(d.v2_step(92001, 0))
    path = d.file(92001, 0, "nobody")
    tables, attrs, wanted = read_all(path), attributes(path), cpu_stat_ns(cgroup) / 1e9
    tasks = [tables["Tasks/%d" % i]["CPUTime"].sum() for i in (0, 1)]
    for name, got in (("tasks have", sum(tasks)), ("Step has", tables["Step"]["CPUTime"].sum())):
        is_true("thinned: %s what cpu.stat says" % name, approx(got, wanted, 0.002, 0.012),
                "CPUTime %s, cpu.stat %s" % (got, wanted))
    about = table_attributes(path, "Tasks/1")
    is_near("thinned: when a task ended", int(about.get("End TimeNS", [0])[0]) / 1e9, ended, 0, 0.3)
    gaps = numpy.diff(tables["Step"]["TimeNS"].astype(float)) / 1e9
    is_true("thinned: rows are left out, and counted", gaps.max() > 2 and int(attrs["Lost"][0]) > 10,
            "longest %s s, Lost %s" % (gaps.max(), attrs["Lost"]))
    is_equal("a clean end", d.end(), 0)


if __name__ == "__main__":
    need_bpf()
    run_tests([removed, thinned])
