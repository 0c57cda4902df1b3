#!/usr/bin/python3
# timeout: 900
# SPDX-License-Identifier: GPL-2.0-or-later
"""OverheadBudget: what costs more than it rests, in the stated order, and every file says so: marks, attributes, NaN in the rows of that
time and nowhere else. What the kernel accounts for itself stays exact. A quiet job never leaves
exact mode."""

import contextlib
import json
import sys
sys.path.insert(0, sys.path[0] + "/../../lib")
from daemonlib import *
from metricslib import *

tree = Trees()
TINY = 0.0001  # percent
SURE = ["samples", "culprits", "waits", "histograms", "births", "switches"]  # sockets and disks are idle here
# A column of each family that rests.
RESTS = [("Tasks/0", "OffCPUDisk"), ("TimeBudget/0", "ThreadTime"), ("TimeBudget/0", "BlockedSleep"), ("Step", "OffCPUDisk"),
         ("Culprits/0", "System"), ("RunLatency/0", "B10"), ("Samples/0", "Samples")]


class Job:
    """A step of one task."""

    def __init__(self, d, *cmd, args=()):
        self.d, self.id = d, new_job()
        self.base = tree.job(self.id) + "/step_0"
        self.stepd = Stepd(self.id, 0, cmd, v2_task(self.base, args))

    def end(self):
        self.stepd.end()
        self.path = self.d.file(self.id, 0)
        return self


def status(d):
    return json.loads(subprocess.run([JOBPROFD, "--status", "--json", "-c", d.conf], stdout=subprocess.PIPE, text=True).stdout)


def levels(d):
    return status(d)["overhead"]["levels"]


def marks_of(path):
    """Texts of marks in the order of their instants."""
    a, rows = attrs_of(path), table(path, "Marks")
    return [(int(r["TimeNS"]), a["Mark %d" % r["Mark"]]) for r in rows]


@contextlib.contextmanager
def busy():
    """Samples cost busy CPUs, births cost where processes begin."""
    all_ = [start(cmd, stdout=subprocess.DEVNULL, process_group=0)
            for cmd in [[tool("jpspin"), "240"]] * os.cpu_count() + [[tool("jpfork"), "-d", "240", "-p", "1", "-u", "300", "-o", "/dev/null"]]]
    yield
    for p in all_:
        os.killpg(p.pid, signal.SIGKILL)
        p.wait()


def reload(d, **settings):
    d.configure(**settings)
    d.tell(signal.SIGHUP)
    time.sleep(0.5)


def forks(d, others=2):
    """A job whose processes all end while nobody looks at switches; other jobs have others slots."""
    out = os.path.join(tmpdir("forks"), "account")
    j = Job(d, tool("jpfork"), "-n", 300, "-u", 500, "-o", out).end()
    of = read_account(out)
    used = sum(of["%s.%stime_us" % (who, mode)] for who in ("self", "children") for mode in "us") / 1e6
    # the kernel tells of none while probes of other programs come or go
    unseen = attrs_of(j.path).get("Unseen Ends", 0)
    is_near("forks that end while switches rest: CPU time is getrusage's", whole(j.path, "Tasks/0", "CPUTime"), used, 0.01, 0.004 + unseen * 0.001)
    is_equal("and all of them have ended", whole(j.path, "Tasks/0", "Forks") + unseen, 300)
    is_true("their slots are free again", wait_until(lambda: len(d.used_slots()) <= others, 10, "slots to be free"), d.used_slots())


def births(d):
    """Processes whose parents have ended, that go on for some rows, and that become another program, while nobody looks at births."""
    if not tree.v2:
        return skip("births", "no cgroup v2")
    script = "( (exec %s 1.5) & ) ; for i in 1 2 3 4 5 6 7 8; do (i=0; while [ $i -lt 5000 ]; do i=$((i+1)); done); done; sleep 4"
    j = Job(d, "/bin/sh", "-c", script % tool("jpspin"))
    used = []  # the last one is of when all but a shell's end is done

    def has_gone():
        try:
            used.append(cpu_stat_ns(j.base + "/user/task_0") / 1e9)
        except OSError:
            return len(used)
    wait_until(has_gone, 60, "the cgroup to go")
    j.end()
    unseen = attrs_of(j.path).get("Unseen Ends", 0)
    is_near("births rest: CPU time is the cgroup's", whole(j.path, "Tasks/0", "CPUTime"), used[-1], 0.01 + 0.3 * unseen, 0.01)
    with h5py.File(j.path, "r") as f:
        names = set(f[d.name]["Commands"])
    is_true("and programs have their names", unseen or {"sh", "sleep", "jpspin"} <= names, names)
    is_equal("and all processes are counted", whole(j.path, "Tasks/0", "Forks") + unseen, 11)


def is_told(got):
    """Returns what status() has, if a problem is the budget."""
    return any("OverheadBudget" in p["text"] for p in got["problems"]) and got


def has_slept(d, job, resumed):
    """A task that has slept ever since before the rest."""
    e = Exporter(d)
    of = {k[0] for k in e.series() if dict(k[1]).get("jobid") == str(job.id)}
    e.end()
    is_true("metrics: CPU time is known, and what rested is not, nor is it less than it was",
            "jobprof_job_cpu_seconds_total" in of and "jobprof_job_blocked_seconds_total" not in of, of)
    woken = time.time_ns()  # a row may come between the task's end and the step's
    job.stepd.proc.terminate()
    t = table(job.end().path, "TimeBudget/0")
    at = t["TimeNS"].astype(numpy.int64)
    late = t[(at > resumed + 2e9) & (at < woken)]
    is_near("who sleeps through the rest sleeps after it", late["BlockedSleep"].sum(), (late["TimeNS"][-1] - at[at <= resumed + 2e9][-1]) / 1e9, 0.01, 0.01)


def all_rest():
    """With a budget that nothing fits, without one, and with it again: the rows of each time."""
    d = Daemon(0.5, OverheadBudget=TINY).start()
    hold = Hold()
    still = Job(d, "sleep", 1000)
    j = Job(d, *hold.cmd("park", "spin=0.2", "naps=300", "write=/dev/null:10", "park", "sleep=2.5", "park"))
    hold.wait()
    with busy():
        wait_until(lambda: "nothing is left to rest" in d.said() and all(levels(d)[k] for k in SURE), 120, "all to rest")
        got = wait_until(lambda: is_told(status(d)), 30, "status to tell of a problem")
    rests = [k for k, v in got["overhead"]["levels"].items() if v]
    is_equal("status: what costs most rests, in order", [k for k in rests if k in SURE], SURE)
    wait_until(lambda: not os.path.exists(d.pin + "/links/jp_sched_switch"), 30, "a row in which nobody looks at switches")
    is_true("processes are still followed", os.path.exists(d.pin + "/links/jp_exit"), d.said())
    hold.go()
    hold.wait()
    forks(d, 4)
    births(d)
    kernel = kernel_account(hold.pid)
    if tree.v2:  # what it used before it was in the step is not the step's
        kernel["run_ns"] = cpu_stat_ns(j.base + "/user/task_0")
    resumed = time.time_ns()
    reload(d, OverheadBudget=0)
    is_equal("without a budget all works at once", [k for k, v in levels(d).items() if v], [])
    is_true("switches too", os.path.exists(d.pin + "/links/jp_sched_switch"), d.said())
    hold.go()
    hold.wait()
    hold.go()
    j.end()
    has_slept(d, still, resumed)
    d.end()
    check(j.path, kernel, resumed)


def check(path, kernel, resumed):
    marks = marks_of(path)
    rows = table(path, "Tasks/0")
    first = marks[0][0]
    texts = [t for _, t in marks]
    is_equal("marks: samples rest first", texts[0], "overhead: stacks and samples rest")
    is_true("marks: what rests, in order", [texts.index("overhead: %s rest" % p) for p in ("culprits", "wait causes", "histograms")] ==
            sorted(texts.index("overhead: %s rest" % p) for p in ("culprits", "wait causes", "histograms")), texts)
    for where, column in RESTS:
        t = table(path, where)
        at, v = t["TimeNS"].astype(numpy.int64), t[column]
        is_true("%s/%s: unknown while it rests" % (where, column), numpy.isnan(v[(at > marks[-1][0]) & (at <= resumed)]).all(), (v, at - first))
        is_true("%s/%s: known again" % (where, column), not numpy.isnan(v[at > resumed + 1.6e9]).any() and len(v[at > resumed + 1.6e9]), (v, at - resumed))
    for column in ("CPUTime", "RunDelay", "VolSwitches", "InvolSwitches", "ReadMB", "Forks"):
        is_true("%s is known in every row" % column, not numpy.isnan(rows[column]).any(), rows[column])
    until = rows["TimeNS"].astype(numpy.int64) <= resumed + 1.6e9
    is_near("CPU time is the kernel's", rows["CPUTime"][until].sum(), kernel["run_ns"] / 1e9, 0.01, 0.003)
    is_near("voluntary switches are the kernel's", rows["VolSwitches"][until].sum(), kernel["nvcsw"], 0.001, 3)
    slept = table(path, "TimeBudget/0")
    late = slept["TimeNS"].astype(numpy.int64) > resumed + 2e9
    is_true("the time budget is true again", (slept["BlockedSleep"][late] > 0.4).any(), slept["BlockedSleep"][late])
    a = attrs_of(path)
    is_true("the attribute says what, when and why", a.get("Overhead", "").startswith("after ") and "stacks and samples rest (" in a["Overhead"], a.get("Overhead"))
    is_true("modes say it", "rested at times" in a["Mode wait"] and "read for each row" in a["Mode sched"] and "rested" not in a["Mode memory"], a)


@in_full
def quiet():
    """A job that sleeps, with the default budget."""
    d = Daemon(1, OverheadBudget=None, PublishInterval=600).start()
    j = Job(d, "sleep", 12)
    j.end()
    is_true("nothing has rested", "OverheadBudget is" not in d.said().split("jobprofd: version", 1)[-1].split("\n", 1)[-1], d.said())
    is_true("nor says the file so", "Overhead" not in attrs_of(j.path), attrs_of(j.path))
    is_true("no row is unknown", not numpy.isnan(table(j.path, "TimeBudget/0")["ThreadTime"]).any(), table(j.path, "TimeBudget/0"))
    d.end()


def hand_over(**others):
    """jobprofd is killed while all rests, and the next one has no budget, and other settings: nothing is lost, and all works."""
    d = Daemon(0.5, OverheadBudget=TINY).start()
    hold, made = Hold(), os.path.join(tmpdir("made"), "children")
    j = Job(d, *hold.cmd("park", "spin=0.2", "naps=300", "park"))
    hold.wait()
    with busy():
        wait_until(lambda: all(levels(d)[k] for k in SURE), 150, "all to rest")
    forks(d)
    hold.go()
    hold.wait()
    begins = Job(d, "/bin/sh", "-c", "exec %s -p 2 -u 500 -d 6 >%s" % (tool("jpfork"), made), args=["-w", "30"])
    time.sleep(1)
    d.end(signal.SIGKILL)
    d.configure(OverheadBudget=0, **others)
    d.spawn()
    d.ready()
    is_true("births are seen again", wait_until(lambda: os.path.exists(d.pin + "/links/jp_fork"), 10, "the program of forks"), d.said())
    used = wait_until(lambda: used_and_left(begins.base + "/user/task_0"), 30, "the processes to end") / 1e9
    begins.end()
    unseen = attrs_of(begins.path).get("Unseen Ends", 0)
    lost = 0.005 if others else 0  # frees that no program was told of, more where others' probes come and go: another build does not know how many
    is_near("handed over: processes that began and ended meanwhile are counted", whole(begins.path, "Tasks/0", "Forks") + unseen,
            int(re.search(r"children=(\d+)", slurp(made))[1]), lost)
    is_near("and their CPU time is the cgroup's", whole(begins.path, "Tasks/0", "CPUTime"), used, 0.001 + lost, 0.004 + unseen * 0.001)
    said = attrs_of(begins.path)["Restarted"]
    is_equal("and the file says so, and what may be missing where the programs are others",
             ("no count is lost" in said, "ended while births rested" in said), (True, bool(others)))
    forks(d)
    kernel = kernel_account(hold.pid)
    hold.go()
    j.end()
    is_near("handed over: CPU time is schedstat's", whole(j.path, "Tasks/0", "CPUTime"), kernel["run_ns"] / 1e9, 0.01, 0.01)
    is_near("and voluntary switches are the kernel's", whole(j.path, "Tasks/0", "VolSwitches"), kernel["nvcsw"], 0.001, 5)
    d.end()


@in_full
def upgraded():
    """The same where the next one's programs are others."""
    hand_over(RingSize=512)


if __name__ == "__main__":
    need_bpf()
    run_tests((all_rest, hand_over, upgraded, quiet))
