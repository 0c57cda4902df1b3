#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""How the programs are compiled and linked, by readelf; what the unit file closes, by
systemd-analyze and by the system calls that a jobprofd with a step makes."""

import sys
sys.path.insert(0, sys.path[0] + "/../../lib")
from daemonlib import *

UNIT = os.path.join(ROOT, "conf", "jobprofd.service.in")
EXPOSURE_MAX = 5.0
WRITERS_PART = 4  # of the memory is theirs and the merges': user/daemon/child/child.c


def said(*cmd):
    return subprocess.run(cmd, capture_output=True, text=True, check=True).stdout


def built():
    """Every program and shared object that is installed."""
    files = [f for pattern in ("*", "sensors/*.so", "slurm-*/*.so") for f in glob.glob(os.path.join(BUILD, pattern))
             if os.path.isfile(f) and not os.path.islink(f)]
    return [f for f in files if open(f, "rb").read(4) == b"\x7fELF"]


def lacks(path):
    """Of the protections, those that the file does not have."""
    head = said("readelf", "-hW", path)
    segments = said("readelf", "-lW", path)
    dynamic = said("readelf", "-dW", path)
    symbols = said("readelf", "-sW", path)
    stack = re.search(r"GNU_STACK.* (\w+) +0x\w+$", segments, re.M)
    has = {"PIE": re.search(r"Type: +DYN", head) and
           (".so" in os.path.basename(path) or re.search(r"FLAGS_1.*\bPIE\b", dynamic)),
           "RELRO": "GNU_RELRO" in segments,
           "all bindings at the start": "BIND_NOW" in dynamic or re.search(r"FLAGS_1.*NOW", dynamic),
           "no executable stack": stack and "E" not in stack.group(1),
           "stack protector": "__stack_chk_fail" in symbols,
           "fortified functions": re.search(r"\b__\w+_chk\b", symbols)}
    return [name for name, there in has.items() if not there]


def programs():
    if "san" in os.path.basename(BUILD):
        raise Skipped("a build for sanitizers has theirs instead")
    files = built()
    is_true("there are programs and shared objects", len(files) > 6, files)
    is_equal("each has every protection", {f: lacks(f) for f in files if lacks(f)}, {})


def unit():
    path = os.path.join(tmpdir(), "jobprofd.service")
    with open(UNIT) as f, open(path, "w") as out:
        out.write(f.read().replace("@PREFIX@", os.path.dirname(JOBPROFD)).replace("/sbin/", "/").replace("@SYSCONFDIR@", "/etc"))
    is_hardened(path, EXPOSURE_MAX)


def settings_of_unit():
    with open(UNIT) as f:
        return dict(re.findall(r"^(\w+)=(.*)$", f.read(), re.M))


def unit_and_daemon():
    """What the unit says of jobprofd is what jobprofd does."""
    unit = settings_of_unit()
    with open(os.path.join(ROOT, "user", "cmd", "jobprofd", "jobprofd.c")) as f:
        waits = int(re.search(r"^#define FINISH_S +(\d+)$", f.read(), re.M)[1])
    is_true("unit: jobprofd has more time to end than it takes", int(unit["TimeoutStopSec"]) >= waits + 20,
            (unit["TimeoutStopSec"], waits))
    bad = os.path.join(tmpdir(), "bad.conf")
    with open(bad, "w") as f:
        f.write("Frob=1\n")
    for name, args in (("settings", ["-f", "-c", bad]), ("options", ["-f", "--frob"])):
        p = subprocess.run([JOBPROFD] + args, stdin=subprocess.DEVNULL, capture_output=True)
        is_true("unit: wrong %s are not tried again" % name,
                str(p.returncode) in unit["RestartPreventExitStatus"].split(), p)
    is_equal("unit: Slurm does not wait for the profiler",
             [k for k in ("Before", "RequiredBy", "WantedBy") if "slurm" in unit.get(k, "")], [])
    high, most = [float(unit[k].rstrip("%")) for k in ("MemoryHigh", "MemoryMax")]
    is_true("unit: memory is bounded, above the bound of writers", 100 / WRITERS_PART < high < most < 50, (high, most))
    is_true("unit: a share of the CPUs", int(unit["CPUWeight"]) >= 100, unit["CPUWeight"])


def denied_calls():
    """What SystemCallFilter= of the unit denies."""
    with open(UNIT) as f:
        words = re.search(r"^SystemCallFilter=~(.*)$", f.read(), re.M)[1].split()
    calls = [w for w in words if w[0] != "@"]
    for group in (w for w in words if w[0] == "@"):
        listed = said("systemd-analyze", "syscall-filter", "--no-pager", group).splitlines()
        calls += [line.strip() for line in listed[1:] if not line.strip().startswith("#")]
    return calls


def no_denied_call():
    """A jobprofd, its writers and a merge need nothing that the unit denies."""
    for program in ("systemd-analyze", "strace"):
        if not shutil.which(program):
            raise Skipped("there is no " + program)
    calls = denied_calls()
    is_true("unit: the denied calls", "init_module" in calls and "bpf" not in calls, calls)
    log = os.path.join(tmpdir(), "calls")
    # "?": calls that other machines have; execve: shows that calls are seen
    d = Daemon(AutoMerge="yes", Sensors="all", wrap=[
        "strace", "-D", "-f", "--seccomp-bpf", "-qq", "-o", log, "-e", "signal=none",
        "-e", "trace=execve," + ",".join("?" + c for c in calls)]).start()
    tree, job = Trees(), new_job()
    words = ["-e", "SLURM_JOB_NODELIST=" + NODE, "-e", "SLURM_STEP_NUM_NODES=1"]
    step = Stepd(job, 0, ["sleep", "0.5"], v2_task(tree.job(job) + "/step_0", words))
    is_equal("unit: the step's status", step.end(), 0)
    d.file(job, 0)
    os.rmdir(tree.job(job))
    merged = os.path.join(d.hdf5, "root", "job_%d.h5" % job)
    wait_until(lambda: os.path.exists(merged), 20, merged)
    is_equal("unit: jobprofd ends", d.end(), 0)
    with open(log) as f:
        made = f.read()
    is_true("unit: strace saw the writer", "jobprof-writer" in made, made)
    is_equal("unit: nothing of it is denied", [line for line in made.splitlines()
                                               if " execve(" not in line and
                                               "execve resumed>" not in line], [])


run_tests([programs, unit, unit_and_daemon] + ([] if os.geteuid() else [no_denied_call]))
