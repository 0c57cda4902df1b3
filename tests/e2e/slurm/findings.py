#!/usr/bin/python3
# releases: all
# timeout: 400
# SPDX-License-Identifier: GPL-2.0-or-later
"""Findings of running steps: on the job's standard error through the SPANK plugin, and as marks of the
file. What is found is of a program of the test's own in jobprof's place, which prints what it is told to."""

import contextlib
import sys
sys.path.insert(0, sys.path[0] + "/../../lib")
from slurmlib import *
import daemonlib

PLUGIN = plugin("spank_jobprof.so")
FOUND = "mem.leak\tmemory grows by 1 GiB an hour, and is full in 2 h\x1b[2J\u202e!\n"
MORE = FOUND + "cpu.bound\tno word of this\njob.stopped\tnothing has run for 60 s\nno tab\ncpu.stacked\tthis line does not end"
# A version that takes 0.15 s, on a machine that is busy, is followed by the next one after up to 56 s.
JUDGED_S = 120


def programs(text):
    """jobprofd, with a jobprof beside it that says what the file `says` has, and notes how it was called."""
    d = tmpdir("programs")
    os.chmod(d, 0o755)
    shutil.copy(os.path.join(BUILD, "jobprofd"), d)
    notes = os.path.join(d, "notes")
    os.mkdir(notes)
    os.chmod(notes, 0o777)
    with open(os.path.join(d, "says"), "w") as f:
        f.write(text)
    with open(os.path.join(d, "jobprof"), "w") as f:
        f.write("#!/bin/sh\n{ id -u; grep CapEff /proc/self/status; echo \"$@\"; } >%s/$$\ncat %s/says\n" % (notes, d))
    os.chmod(os.path.join(d, "jobprof"), 0o755)
    return d


class Site:
    def __init__(self, mode, text, **settings):
        self.programs = programs(text)
        daemonlib.JOBPROFD = os.path.join(self.programs, "jobprofd")
        self.profiler = Profiler(Writer=os.path.join(BUILD, "jobprof-writer"), **settings).start()
        self.cluster = Cluster(mode, plugstack=["optional %s socket=%s timeout=1000" % (PLUGIN, self.profiler.settings["Socket"])])

    def calls(self):
        found = []
        for name in os.listdir(os.path.join(self.programs, "notes")):
            with open(os.path.join(self.programs, "notes", name)) as f:
                lines = f.read().splitlines()
            if len(lines) == 3:
                found.append(lines)
        return found

    def run(self, *args, user=USER.pw_name, until=2):
        """A step of two tasks that ends when it was judged so often; its standard error."""
        before = len(self.calls())
        s = self.start(*args, "-n2", user=user)
        wait_until(lambda: len(self.calls()) >= before + until, JUDGED_S, "the step's file to be judged")
        time.sleep(1)
        let_go(s)
        status = s.end()
        return s, status, [l for l in s.err().splitlines() if "jobprof" in l]

    def start(self, *args, cmd=UNTIL, user=USER.pw_name, prepare=None):
        """An srun whose first task has its standard error in a file, err()."""
        top = public_dir(user)
        path = os.path.join(top, "err.0")
        if prepare:
            prepare(path)
        s = self.cluster.srun(["-e", top + "/err.%t", *args], cmd, user=user)
        s.err = lambda: open(path, errors="replace").read() if os.path.exists(path) else ""
        s.id
        return s

    def end(self):
        self.cluster.down()
        self.profiler.end()


def marks(path):
    with h5py.File(path) as f:
        found = []
        f.visititems(lambda name, o: found.extend(v if isinstance(v, str) else v.decode() for k, v in o.attrs.items() if re.fullmatch(r"Mark \d+", k)))
        return found


def told(mode):
    site = Site(mode, MORE, LiveFindings="asked")
    s, status, err = site.run("--jobprof-findings")
    node = site.cluster.nodes[0]
    is_equal("%s: its end" % mode, status, 0)
    is_equal("%s: each finding is one line, once" % mode, [re.sub(r"^.*?jobprof: ", "jobprof: ", l) for l in err],
             ["jobprof: step %d.0: memory grows by 1 GiB an hour, and is full in 2 h\ufffd[2J\ufffd! (mem.leak)" % s.id,
              "jobprof: step %d.0: nothing has run for 60 s (job.stopped)" % s.id])
    is_equal("%s: the file has marks" % mode, marks(site.profiler.get(s.id, 0, node, USER.pw_name)), ["finding: mem.leak", "finding: job.stopped"])
    uid, caps, words = site.calls()[0]
    is_equal("%s: it is judged as the user, without capabilities" % mode, (uid, caps.split()[-1].strip("0")), (str(USER.pw_uid), ""))
    is_equal("%s: what is judged" % mode, words, "running --lines %s/%s/.%d_0_%s.h5" % (site.profiler.hdf5, USER.pw_name, s.id, node))
    before = len(site.calls())
    job = site.cluster.sbatch("until [ -e go ]; do sleep 0.1; done\n", ["--jobprof-findings"], user=USER.pw_name)
    wait_until(lambda: len(site.calls()) >= before + 2, JUDGED_S, "the script's file to be judged")
    time.sleep(1)
    let_go(job)
    is_equal("%s: a script's end" % mode, job.end(), "COMPLETED")
    is_equal("%s: a script is told in its output" % mode, len(re.findall(r"(?m)^.*jobprof: step %d.batch: " % job.id, job.out())), 2)
    # who does not ask is not told, and pays nothing
    s = site.start("-n1", cmd=["sleep", "4"])
    is_equal("%s: another step ends" % mode, s.end(), 0)
    is_equal("%s: nobody is told who did not ask" % mode, (s.err(), [c for c in site.calls() if "/.%d_" % s.id in c[2]]), ("", []))
    site.end()


def all_steps():
    site = Site("v2", FOUND, LiveFindings="all")
    _, status, err = site.run("-N2", until=1)
    is_equal("all: a step of two nodes is told by its first one", (status, len(err)), (0, 1))
    # jobprofd goes and comes back: nothing is said twice
    s = site.start("-n1")
    wait_until(s.err, 60, "the line")
    site.profiler.end()
    site.profiler.start()
    before = len(site.calls())
    wait_until(lambda: len(site.calls()) > before, JUDGED_S, "another look")
    time.sleep(1)
    let_go(s)
    is_equal("all: it ends as usual after jobprofd was restarted", s.end(), 0)
    is_equal("all: after a restart nothing is said twice", s.err().count("jobprof: step"), 1)
    site.end()


def nobody_reads():
    """A step whose standard error takes nothing more, as of a pipe that nobody reads, runs and ends as without the plugin."""
    site = Site("v2", FOUND, LiveFindings="all")
    full = []
    def pipe(path):
        os.mkfifo(path)
        os.chmod(path, 0o666)
        full.append(os.open(path, os.O_RDWR | os.O_NONBLOCK))
        with contextlib.suppress(BlockingIOError):
            while True:
                os.write(full[0], b"x" * 4096)
    s = site.start("-n2", prepare=pipe)
    wait_until(lambda: len(site.calls()) >= 2, JUDGED_S, "the step's file to be judged")
    time.sleep(2)
    let_go(s)
    is_equal("full: it ends as usual", s.end(20), 0)
    os.close(full[0])
    site.end()


def never():
    site = Site("v2", FOUND, LiveFindings="no")
    s = site.start("-n1", "--jobprof-findings", cmd=["sleep", "4"])
    is_equal("no: the step ends", s.end(), 0)
    is_equal("no: nothing is judged or told", (s.err(), site.calls()), ("", []))
    site.end()


@in_full
def told_v1():
    told("v1")


def told_v2():
    told("v2")


run_tests([told_v2, told_v1, all_steps, nobody_reads, never])
