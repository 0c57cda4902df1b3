#!/usr/bin/python3
# timeout: 120
# SPDX-License-Identifier: GPL-2.0-or-later
"""Commands: what each program of a step used, against wait4's rusage, the programs' own accounts and
the step's sums; exec chains, names beyond the table's, names that a path could take amiss."""

import sys
sys.path.insert(0, sys.path[0] + "/../../lib")
from daemonlib import *

# CPU time is up to a tick behind when exec changes the name.
EXEC = 0.012


def commands(path):
    """{name: rows}"""
    with h5py.File(path, "r") as f:
        node = next(k for k in f if isinstance(f[k], h5py.Group))
        return {k: v[()] for k, v in f[node]["Commands"].items()}


def sums(path, column):
    return {k: float(v[column].sum()) for k, v in commands(path).items()}


def named(d, name, of):
    path = os.path.join(d, name)
    shutil.copy(of, path)
    return path


def adds_up(name, path, columns=("CPUTime", "RunDelay", "ReadMB", "WriteMB")):
    """All programs together are the step."""
    step = table(path, "Step")
    for column in columns:
        mine = sum(sums(path, column).values())
        is_near("%s: %s of all programs is the step's" % (name, column), mine, step[column].sum(),
                1e-6, 1e-5 * len(commands(path)))
    is_equal("%s: every process counts once" % name, sum(sums(path, "Processes").values()),
             step["Forks"].sum() + 1)


# Starts programs, and writes what wait4 says of each name.
DRIVER = """import json, os, sys
used = {}
for job in json.loads(sys.argv[2]):
    pid = os.fork()
    if not pid:
        os.execv(job[0], job)
    _, _, u = os.wait4(pid, 0)
    name = os.path.basename(job[0])
    was = used.get(name, [0, 0])
    used[name] = [was[0] + 1, was[1] + u.ru_utime + u.ru_stime]
json.dump(used, open(sys.argv[1], "w"))
"""


def rusage():
    """Like make: many processes of few programs, one after the other."""
    d = tmpdir("names")
    alpha, beta = named(d, "alpha", tool("jpspin")), named(d, "beta-with-a-long-name", tool("jpspin"))
    copy = named(d, "copy", shutil.which("dd"))
    jobs = [[alpha, "0.05"], [beta, "0.15"]] * 5 + [[alpha, "0.2", "3"]]
    jobs += [[copy, "if=/dev/zero", "of=" + d + "/out", "bs=1M", "count=20", "status=none"]]
    r, path = run_jobprof(["/usr/bin/python3", "-c", DRIVER, d + "/used", json.dumps(jobs)])
    with open(d + "/used") as f:
        truth = json.load(f)
    got, n = sums(path, "CPUTime"), sums(path, "Processes")
    for name, (processes, cpu) in truth.items():
        short = name[:15]
        is_equal("%s: processes" % short, n.get(short), processes)
        # wait4 has the time between fork and exec too, here that of the driver's name, or a tick's
        is_near("%s: CPU time is wait4's" % short, got.get(short, 0), cpu, 0.01, 0.003 * processes)
    is_near("dd's bytes", sums(path, "WriteMB").get("copy"), 20, 1e-6, 1e-4)
    adds_up("driver", path)
    readers(path, got, n)


def readers(path, cpu, processes):
    """show has those that used most, extract all, items puts them side by side."""
    text = subprocess.run([JOBPROF, "show", path], capture_output=True, text=True).stdout
    block = re.search(r"^  commands +(.*(?:\n {12}.*)*)", text, re.M)
    shown = re.findall(r"(\S+) ([\d.]+) s \((\d+)\)", block.group(1)) if block else []
    most = sorted(cpu, key=lambda k: -cpu[k])[:len(shown)]
    is_equal("show: the names by CPU time", [s[0] for s in shown], most)
    is_equal("show: CPU time and processes", [[s[1], s[2]] for s in shown],
             [["%.3f" % cpu[k], "%d" % processes[k]] for k in most])
    csv = subprocess.run([JOBPROF, "extract", "-s", "Commands", "-o", "-", path], capture_output=True,
                         text=True).stdout.splitlines()
    head = csv[0].split(",")
    is_equal("extract: a row per name with its sum", {
        r.split(",")[2]: r.split(",")[head.index("Sum_CPUTime")] for r in csv[1:]},
        {k: "%f" % v for k, v in cpu.items()})
    rows = subprocess.run([JOBPROF, "items", "-s", "Commands", "-d", "CPUTime", "-o", "-", path],
                          capture_output=True, text=True).stdout.splitlines()
    rows = [r.split(",") for r in rows if r.count(",") > 8]
    at = rows[0].index("Sum")
    is_near("items: the sum over all names", sum(float(r[at]) for r in rows[1:]), sum(cpu.values()),
            0, 1e-6 * len(rows))


def exec_chain():
    """One process that is three programs: each has its own time."""
    d = tmpdir("chain")
    last = named(d, "last", tool("jpspin"))
    mid = os.path.join(d, "mid.sh")
    loop = "t0=$(cut -d' ' -f1 /proc/$$/schedstat); i=0; while [ $i -lt 150000 ]; do i=$((i+1)); done\n"
    own = "cut -d' ' -f1 /proc/$$/schedstat > %s/%s\n"
    with open(mid, "w") as f:
        f.write("#!/bin/bash\n" + loop + own % (d, "mid") + "exec %s -o %s/last 0.3\n" % (last, d))
    os.chmod(mid, 0o755)
    r, path = run_jobprof(["bash", "-c", loop + own % (d, "first") + "exec " + mid])
    first, both = int(slurp(d + "/first")) / 1e9, int(slurp(d + "/mid")) / 1e9
    own = read_account(d + "/last")
    got = sums(path, "CPUTime")
    is_near("exec: the first program", got["bash"], first, 0.01, EXEC)
    is_near("exec: the second", got["mid.sh"], both - first, 0.01, EXEC)
    is_near("exec: the third", got["last"], own["schedstat.run_ns"] / 1e9 - both, 0.01, EXEC)
    is_equal("exec: one process, of the last name",
             [sums(path, "Processes")[k] for k in ("mid.sh", "last")], [0, 1])
    adds_up("exec", path)


def memory():
    d = tmpdir("mem")
    big, small = named(d, "big", tool("jpmem")), named(d, "small", tool("jpmem"))
    r, path = run_jobprof(["sh", "-c", "%s -a 96 -o %s/a; %s -a 24 -o %s/b; %s -a 8 -o %s/c" % (
        big, d, small, d, small, d)])
    peak = {k: v["PeakMB"].max() for k, v in commands(path).items()}
    for name, account in (("big", "a"), ("small", "b")):
        hwm = read_account(os.path.join(d, account))["status.VmHWM"] / 1024
        is_near("PeakMB of %s is VmHWM of its largest process" % name, peak[name], hwm, 0.02, 1)


def seen():
    """First and last, and rows while a process lives."""
    d = tmpdir("seen")
    late = named(d, "late", tool("jpspin"))
    r, path = run_jobprof(["sh", "-c", "sleep 0.7; %s 1.2; sleep 0.5" % late])
    rows = commands(path)["late"]
    is_true("seen: rows while it runs", len(rows) >= 4, len(rows))
    is_near("seen: first", rows["FirstSeen"][-1], 0.75, 0, 0.2)
    is_near("seen: last", rows["LastSeen"][-1] - rows["FirstSeen"][-1], 1.2, 0, 0.1)
    # it may have no CPU yet in the first row, and none any more in the last
    is_true("seen: CPU time over time", (rows["CPUTime"][1:-1] > 0).all(), rows["CPUTime"])


def names():
    """More than there is room for; and some that a path or a terminal could take amiss."""
    d = tmpdir("many")
    for i in range(80):
        os.symlink(shutil.which("true"), os.path.join(d, "n%02d" % i))
    os.symlink(shutil.which("true"), os.path.join(d, "a\tb\x7f"))
    rename = ("import ctypes,os\nctypes.CDLL(None).prctl(15, b'x/../y', 0, 0, 0)\n"
              "pid = os.fork()\n"
              "pid and os.wait4(pid, 0)\n")
    cmd = "/usr/bin/python3 -c \"%s\"; $0/a*; for i in $0/n*; do $i; done" % rename
    r, path = run_jobprof(["bash", "-c", cmd, d])
    got = sums(path, "Processes")
    is_true("names: 64 and the others", 64 <= len(got) - 1 <= 66, len(got))
    is_equal("names: all processes of n00 to n79",
             sum(v for k, v in got.items() if k[0] in "n("), 80)
    is_equal("names: one without control characters", got.get("a_b_"), 1)
    is_equal("names: prctl does not change it", [k for k in got if "y" in k], ["python3"])
    adds_up("names", path)


def background():
    """What outlives the command leaves the step, and is not lost."""
    d = tmpdir("bg")
    alive = named(d, "alive", tool("jpspin"))
    r, path = run_jobprof(["sh", "-c", "%s 1.5 & sleep 0.5" % alive])
    rows = commands(path)["alive"]
    is_equal("background: the process", rows["Processes"].sum(), 1)
    is_true("background: its CPU time so far", 0.01 < rows["CPUTime"].sum() < 1, rows["CPUTime"].sum())
    # the wait that it was in when it left is in one of the two
    adds_up("background", path, ("CPUTime", "ReadMB", "WriteMB"))


def survives_restart():
    """A jobprofd that comes back goes on with the same tables."""
    d = Daemon(0.1).start()
    tree = Trees()
    dirs, job = tmpdir("restart"), new_job()
    one = named(dirs, "one", tool("jpspin"))
    script = "for i in 1 2 3 4 5 6; do %s -o %s/$i 0.3; done" % (one, dirs)
    s = Stepd(job, 0, ["sh", "-c", script], v2_task(tree.job(job) + "/step_0"), n=1)
    wait_until(lambda: os.path.exists(dirs + "/2"), 20, "two programs")
    d.end(signal.SIGKILL)
    time.sleep(0.4)
    d.start()
    s.end()
    path = d.file(job, 0)
    own = sum(read_account("%s/%d" % (dirs, i))["schedstat.run_ns"] for i in range(1, 7)) / 1e9
    is_equal("restart: processes", sums(path, "Processes")["one"], 6)
    is_near("restart: CPU time", sums(path, "CPUTime")["one"], own, 0.01, 0.03)
    adds_up("restart", path)
    is_equal("restart: jobprofd ends", d.end(), 0)


def no_room():
    """Steps of one job have taken its share of the room for names: another job's programs still have accounts."""
    d = Daemon(0.5, MaxSlots=256).start()
    tree, greedy, job, dirs = Trees(), new_job(), new_job(), tmpdir("room")
    for i in range(66):
        os.symlink(shutil.which("true"), os.path.join(dirs, "n%02d" % i))
    script = ("for i in %s/n*; do $i; done; touch %s/done.%%d; "
              "while [ ! -e %s/end ]; do sleep 0.5; done" % (dirs, dirs, dirs))
    steps = [Stepd(greedy, n, ["sh", "-c", script % n], v2_task("%s/step_%d" % (tree.job(greedy), n)))
             for n in range(64)]
    wait_until(lambda: len(glob.glob(dirs + "/done.*")) == 64, 60, "all names")
    spins = "".join("%s -o %s/own.%d 0.1; " % (named(dirs, "mine%d" % n, tool("jpspin")), dirs, n)
                    for n in range(3))
    s = Stepd(job, 0, ["sh", "-c", spins], v2_task(tree.job(job) + "/step_0"))
    s.end()
    open(dirs + "/end", "w").close()
    for g in steps:
        g.end()
    path = d.file(job, 0)
    cpu = sums(path, "CPUTime")
    for n in range(3):
        own = read_account("%s/own.%d" % (dirs, n))["schedstat.run_ns"] / 1e9
        is_near("no room: program %d has its account" % n, cpu.get("mine%d" % n), own, 0.01, 0.03)
    adds_up("no room", path)
    is_true("no room: it has lost nothing", "Lost Commands" not in attributes(path), attributes(path))
    lost = ["Lost Commands" in attributes(d.file(greedy, n)) for n in range(64)]
    is_true("no room: files of the other job's steps say so", sum(lost) >= 16, lost)
    is_equal("no room: jobprofd ends", d.end(), 0)


if __name__ == "__main__":
    need_bpf()
    run_tests((rusage, exec_chain, memory, seen, names, background, survives_restart, no_room))
