#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The files family against strace's summary and a tool's own account. Between the fork and the exec
of a command jobprof opens and closes a few files itself, as many for every command: what is compared
is the difference between a short and a long run of the same thing."""

import sys
sys.path.insert(0, sys.path[0] + "/../../lib")
from daemonlib import *

SHORT, LONG = 5, 25
OPENS = ("open", "openat", "openat2", "creat")
SCRIPT = ("i=0; while [ $i -lt %d ]; do cat /etc/hostname /etc/passwd /nonexistent; "
          ": </etc/hosts; i=$((i+1)); done")


def counted(cmd):
    run, path = run_jobprof(cmd, series="base,files")
    rows = task_table(path)
    return total(rows, "Opens"), total(rows, "Closes")


def strace(cmd):
    """Calls that did not fail, of the command and all its children."""
    out = os.path.join(tmpdir(), "summary")
    subprocess.run(["strace", "-f", "-c", "-o", out] + cmd, check=False, stdin=subprocess.DEVNULL,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    good = {}
    with open(out) as f:
        for line in f:
            w = line.split()
            # % time, seconds, usecs/call, calls, [errors,] syscall
            if len(w) in (5, 6) and w[3].isdigit():
                good[w[-1]] = int(w[3]) - (int(w[4]) if len(w) == 6 else 0)
    if not good:
        raise Skipped("strace cannot trace here")
    return sum(good.get(c, 0) for c in OPENS), good.get("close", 0)


def difference(measure, command):
    few, many = [measure(command(n)) for n in (SHORT, LONG)]
    return [many[0] - few[0], many[1] - few[1]]


def against_strace():
    command = lambda n: ["/bin/sh", "-c", SCRIPT % n]
    wanted = difference(strace, command)
    is_true("strace: it saw opens and closes", min(wanted) > 3 * (LONG - SHORT), str(wanted))
    is_equal("opens and closes are strace's calls less its errors",
             difference(counted, command), wanted)


def account(cmd):
    out = subprocess.run(cmd, check=True, capture_output=True, text=True).stdout
    return [float(l.split("=")[1]) for l in out.split()]


def every_call():
    command = lambda n: [tool("jpopen"), str(n)]
    wanted = difference(account, command)
    is_equal("open, openat, openat2, creat and close, failures not counted",
             difference(counted, command), wanted)


class Hidden(Run):
    """A jobprof run that finds no tracefs."""

    def __init__(self, cmd):
        wrapper = os.path.join(tmpdir(), "jobprof")
        with open(wrapper, "w") as f:
            f.write("#!/bin/sh\nexec unshare -m sh -c '"
                    "for d in tracing debug; do mount -t tmpfs none /sys/kernel/$d; done; "
                    "exec \"$@\"' sh %s \"$@\"\n" % JOBPROF)
        os.chmod(wrapper, 0o755)
        was, lib.JOBPROF = lib.JOBPROF, wrapper
        try:
            super().__init__(cmd, series="base,files")
        finally:
            lib.JOBPROF = was


def without_tracefs():
    """The other hook, one program on the return of every system call, counts the same."""
    modes = []

    def measure(cmd):
        path = Hidden(cmd).end()
        modes.append(attributes(path)["Mode files"])
        rows = task_table(path)
        return total(rows, "Opens"), total(rows, "Closes")

    command = lambda n: [tool("jpopen"), str(n)]
    got = difference(measure, command)
    is_true("without tracefs: the file says how", all("every system call" in m for m in modes),
            str(modes))
    is_equal("without tracefs: the same counts", got, difference(account, command))


def restart():
    """The tracepoints' links are pinned: counting goes on while no jobprofd is there."""
    d = Daemon(ProfileHDF5Default="task,files").start()
    job, h = new_job(), Holds("0")
    hold = " ".join(h.cmd("park", word="0"))
    out = os.path.join(tmpdir(), "account")
    base = Trees().job(job) + "/step_0"
    s = Stepd(job, 0, ["/bin/sh", "-c", "%s; %s 50 >%s; exec %s" % (
        hold, tool("jpopen"), out, hold.replace("state.0", "state.1"))], v2_task(base))
    h.wait()
    d.end(signal.SIGKILL)
    links = sorted(os.listdir(d.pin + "/links"))
    is_true("restart: links stay", "jp_openat" in links and "jp_close" in links, str(links))
    h.go()
    wait_until(lambda: os.path.exists(h.all[0].state[:-1] + "1"), 20, "the tool to be done")
    d.start()
    h.go()
    s.end()
    opens = whole(d.file(job, 0), "Tasks/0", "Opens")
    with open(out) as f:
        wanted = float(f.readline().split("=")[1])
    is_true("restart: opens in between are there", wanted <= opens <= wanted + 100,
            "got %d, the tool says %d, the programs around it open less than 100" % (opens, wanted))
    d.end()


def not_asked_for():
    """Off unless named: "all" does not mean it."""
    run, path = run_jobprof([tool("jpopen"), "1"])
    is_true("off unless asked for", "Opens" not in task_table(path).dtype.names, "it is there")
    is_equal("off: the file says so", attributes(path)["Mode files"], "off: not asked for")


if __name__ == "__main__":
    need_bpf()
    run_tests((not_asked_for, against_strace, every_call, without_tracefs, restart))
