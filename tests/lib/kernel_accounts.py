# SPDX-License-Identifier: GPL-2.0-or-later
"""What the kernel says of processes and cgroups, and what a tool wrote of itself."""

import os

from reporting import Failed, Skipped


def read_account(path):
    """What a tool wrote of itself: key=value lines."""
    with open(path) as f:
        return {k: float(v) for k, v in (line.strip().split("=", 1) for line in f if "=" in line)}


def own_cpu(account, rel, slack):
    """What is_near() and approx() compare with: CPU time of a tool by its account, and the tolerances.
    The time before its main() may count or not (of what started it, of loading it; on a slow machine
    10 ms), and as much again for its end."""
    return account["schedstat.run_ns"] / 1e9, rel, slack + account["start.run_ns"] / 1e9


def slurp(path):
    with open(path) as f:
        return f.read()


def _colon_lines(text):
    out = {}
    for line in text.splitlines():
        key, _, rest = line.partition(":")
        word = rest.split()
        if word and word[0].isdigit():
            out[key] = int(word[0])
    return out


def _migrations(path):
    """Of one thread; None where the kernel has no /proc/<pid>/sched."""
    try:
        for line in slurp(path).splitlines():
            if line.startswith("se.nr_migrations"):
                return int(line.split(":")[1])
    except OSError:
        pass
    return None


def kernel_account(pid):
    """The kernel's account of a process at rest, seen from outside. Times in ns, sizes in bytes.
    blkio_ns counts only with sysctl kernel.task_delayacct; migrations may be missing."""
    base = "/proc/%d/" % pid
    a = {"run_ns": 0, "delay_ns": 0, "nvcsw": 0, "nivcsw": 0, "threads": 0}
    for tid in os.listdir(base + "task"):
        run, delay, _ = slurp(base + "task/%s/schedstat" % tid).split()
        status = _colon_lines(slurp(base + "task/%s/status" % tid))
        a["run_ns"] += int(run)
        a["delay_ns"] += int(delay)
        a["nvcsw"] += status["voluntary_ctxt_switches"]
        a["nivcsw"] += status["nonvoluntary_ctxt_switches"]
        a["threads"] += 1
        moved = _migrations(base + "task/%s/sched" % tid)
        if moved is not None:
            a["migrations"] = a.get("migrations", 0) + moved
    a.update({"io_" + k: v for k, v in _colon_lines(slurp(base + "io")).items()})
    # Past the name, which may hold blanks: field 3 (state) is word 0.
    stat = slurp(base + "stat").rpartition(")")[2].split()
    a["minflt"], a["cminflt"], a["majflt"], a["cmajflt"] = (int(x) for x in stat[7:11])
    a["blkio_ns"] = int(stat[39]) * 10**9 // os.sysconf("SC_CLK_TCK")
    for k, v in _colon_lines(slurp(base + "status")).items():
        if k.startswith(("Vm", "Rss", "Huge")):
            a[k] = v * 1024
    if stat[0] != "Z":
        for k, v in _colon_lines(slurp(base + "smaps_rollup")).items():
            a["smaps_" + k] = v * 1024
    return a


def cgroup2_mount():
    with open("/proc/self/mountinfo") as f:
        for line in f:
            left, _, right = line.partition(" - ")
            if right.split()[0] == "cgroup2":
                return left.split()[4]
    return None


def cgroup1_mount(controller):
    """Where the v1 hierarchy of a controller is mounted, None without one."""
    with open("/proc/self/mountinfo") as f:
        for line in f:
            left, _, right = line.partition(" - ")
            kind, _, options = right.split()[:3]
            if kind == "cgroup" and controller in options.split(","):
                return left.split()[4]
    return None


def need_cgroup1(controller):
    mount = cgroup1_mount(controller)
    if not mount:
        raise Skipped("there is no v1 %s hierarchy" % controller)
    return mount


def cgroup2_dir(pid):
    """Directory of a process's cgroup in the v2 hierarchy, None without one."""
    mnt = cgroup2_mount()
    with open("/proc/%d/cgroup" % pid) as f:
        for line in f:
            if mnt and line.startswith("0::"):
                return mnt + line[3:].strip()
    return None


def cpu_stat_ns(cgroup):
    for line in slurp(os.path.join(cgroup, "cpu.stat")).splitlines():
        if line.startswith("usage_usec "):
            return int(line.split()[1]) * 1000
    raise Failed("no usage_usec in %s/cpu.stat" % cgroup)


def steal_s():
    with open("/proc/stat") as f:
        return int(f.readline().split()[8]) / os.sysconf("SC_CLK_TCK")


def busy_s(cpu):
    """How long that CPU has run programs."""
    with open("/proc/stat") as f:
        words = next(line for line in f if line.startswith("cpu%d " % cpu)).split()
    return sum(map(int, words[1:4])) / os.sysconf("SC_CLK_TCK")
