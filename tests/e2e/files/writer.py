#!/usr/bin/python3
# timeout: 120
# SPDX-License-Identifier: GPL-2.0-or-later
"""jobprof-writer: how it publishes, what it leaves alone, its rights, its deadline, its failures."""

import fcntl
import random
import sys
sys.path.insert(0, sys.path[0] + "/../../lib")
from storelib import *


def writer_publishes_live_then_final():
    d = tmpdir()
    r = writer("live.journal", d, "7_0_n1.h5", "live")
    is_equal("live file has a dot", (r.returncode, r.stderr, os.listdir(d)),
             (0, "", [".7_0_n1.h5"]))
    with h5py.File(os.path.join(d, ".7_0_n1.h5"), "r") as f:
        is_equal("live file is complete", f["n1/Tasks/0"].shape, (20,))
    r = writer("n1.journal", d, "7_0_n1.h5", "final")
    is_equal("the final one replaces it", (r.returncode, r.stdout, os.listdir(d)),
             (0, "", ["7_0_n1.h5"]))
    r = writer("n1.journal", d, "7_0_n1.h5", "final")
    is_equal("publishing again replaces it", (r.returncode, r.stdout, os.listdir(d)),
             (0, "", ["7_0_n1.h5"]))
    r = writer("again.journal", d, "7_0_n1.h5", "final")
    is_equal("an earlier run is kept", (r.returncode, r.stderr), (0, (
        "jobprof-writer: 7_0_n1.h5: the file of the earlier run is restart0/7_0_n1.h5\n")))
    with h5py.File(os.path.join(d, "restart0", "7_0_n1.h5"), "r") as f:
        is_equal("under its own name", f["n1/Tasks/0"].shape, (300,))
    is_equal("restart directory is private",
             os.stat(os.path.join(d, "restart0")).st_mode & 0o777, 0o700)


def writer_leaves_slurms_file():
    """Also one that Slurm is writing: it has it locked."""
    golden = os.path.join(ROOT, "tests", "data", "golden", "7_0_p1.h5")
    for held in (False, True):
        d = tmpdir()
        path = os.path.join(d, "7_0_n1.h5")
        with open(golden, "rb") as f, open(path, "wb") as g:
            g.write(f.read()[:100 if held else None])
        with open(path, "rb") as f:
            was = f.read()
            if held:
                fcntl.flock(f, fcntl.LOCK_EX)
            r = writer("n1.journal", d, "7_0_n1.h5", "final")
        is_equal("Slurm's file stays, %s" % held, (r.returncode, r.stderr), (0, (
            "jobprof-writer: 7_0_n1.h5: is a file of Slurm's own plugin, which stays: jobprof's is "
            "restart0/7_0_n1.h5\n")))
        with open(path, "rb") as f:
            is_true("as it was, %s" % held, f.read() == was, "")
        with h5py.File(os.path.join(d, "restart0", "7_0_n1.h5"), "r") as f:
            is_equal("ours, %s" % held, f["n1/Tasks/0"].shape, (300,))


def writer_wrong_usage():
    for args in ((), ("-j", "0"), ("-j", "x", "-d", "3", "-n", "a.h5", "-m", "live"),
                 ("-j", "0", "-d", "3", "-n", "a.h5", "-m", "later"),
                 ("-j", "0", "-d", "3", "-n", "a.h5", "-m", "live", "more")):
        r = sh(WRITER, *args)
        if r.returncode != 2 or "usage" not in r.stderr:
            raise Failed("%s: %d %s" % (args, r.returncode, r.stderr))
    ok("writer_wrong_usage")


def writer_failures_are_one_line():
    d = tmpdir()
    for name in ("../x.h5", ".x.h5", ""):
        r = writer("n1.journal", d, name, "final")
        if r.returncode != 1 or r.stderr.count("\n") != 1:
            raise Failed("name %r: %d %s" % (name, r.returncode, r.stderr))
    open(os.path.join(SRC, "no.journal"), "w").write("this is not a journal at all\n")
    r = writer("no.journal", d, "a.h5", "final")
    is_true("writer on another file", r.returncode == 3 and r.stderr.count("\n") == 1 and
            not os.listdir(d), r.stderr)
    if os.geteuid():
        raise Skipped("another user's directory needs root")
    os.chmod(d, 0o755)
    os.chmod(os.path.dirname(d), 0o755)
    r = writer("n1.journal", d, "7_0_n1.h5", "final",
               pre=("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"))
    is_true("writer without rights", r.returncode == 1 and "Permission denied" in r.stderr and
            r.stderr.count("\n") == 1 and not os.listdir(d), r.stderr)


def status_field(pid, field):
    m = re.search(r"^%s:\s*(\S+)" % field, open("/proc/%d/status" % pid).read(), re.M)
    return m.group(1) if m else ""


def writer_gives_up_its_rights():
    d = tmpdir()
    p = writer_start("long.journal", d, "7_0_n1.h5", "final")
    wait_until(lambda: os.listdir(d) or p.poll() is not None, 10, "the writer")
    p.send_signal(signal.SIGSTOP)
    try:
        sets = [status_field(p.pid, "Cap" + s) for s in ("Inh", "Prm", "Eff", "Amb")]
        is_equal("no capability", {int(s, 16) for s in sets}, {0})
        is_equal("no new privileges", status_field(p.pid, "NoNewPrivs"), "1")
        limits = open("/proc/%d/limits" % p.pid).read()
        is_true("no core dumps", re.search(r"^Max core file size +0 +0 ", limits, re.M), limits)
    finally:
        p.send_signal(signal.SIGCONT)
        p.wait()
    is_equal("writer ends well", p.returncode, 0)


def writer_ends_at_its_deadline():
    d = tmpdir()
    p = writer_start("long.journal", d, "7_0_n1.h5", "final", "-D", "1")
    wait_until(lambda: os.listdir(d) or p.poll() is not None, 10, "the writer")
    p.send_signal(signal.SIGSTOP)
    time.sleep(1.3)
    p.send_signal(signal.SIGCONT)
    err = p.communicate()[1]
    is_true("writer_ends_at_its_deadline", p.returncode == 1 and "deadline" in err and
            not os.path.exists(os.path.join(d, "7_0_n1.h5")), "%d %s" % (p.returncode, err))


def writer_killed_at_random():
    d = tmpdir()
    path = os.path.join(d, "7_0_n1.h5")
    random.seed(5)
    seen, begun = 0, time.monotonic()
    is_equal("a writer ends", writer("n1.journal", d, "7_0_n1.h5", "final").returncode, 0)
    takes = time.monotonic() - begun
    os.unlink(path)
    for i in range(60):
        p = writer_start("n1.journal", d, "7_0_n1.h5", "final")
        time.sleep(random.uniform(0, 1.5 * takes))
        p.kill()
        p.wait()
        if os.path.exists(path):
            seen += 1
            with h5py.File(path, "r") as f:
                if f["n1/Tasks/1"].shape != (300,) or "Totals" not in f["n1"]:
                    raise Failed("kill %d left half a file" % i)
            if i % 2:
                os.unlink(path)
    r = writer("n1.journal", d, "7_0_n1.h5", "final")
    is_equal("a last writer leaves one file", (r.returncode, os.listdir(d)), (0, ["7_0_n1.h5"]))
    is_true("writer_killed_at_random", seen, "no kill came late enough to see a file")


if __name__ == "__main__":
    run_store_tests([writer_publishes_live_then_final, writer_leaves_slurms_file,
                      writer_wrong_usage, writer_failures_are_one_line, writer_gives_up_its_rights,
                      writer_ends_at_its_deadline, writer_killed_at_random])
