#!/usr/bin/python3
# timeout: 170
# SPDX-License-Identifier: GPL-2.0-or-later
"""jobprof-dump: what it shows of running steps against the kernel's own accounts, bpftool's view of
the maps, and jobprofd dead or alive."""

import pty
import sys
sys.path.insert(0, sys.path[0] + "/../../lib")
from daemonlib import *
from maplib import Maps

DUMP = os.path.join(BUILD, "jobprof-dump")
SETTLE = 0.1
NOBODY = 65534

tree = None
main = None  # the jobprofd that most tests share


def dump(*args, pin=None, **kw):
    """The ended process: returncode, stdout, stderr."""
    return subprocess.run([DUMP, "--pin", pin or main.pin] + list(args), capture_output=True,
                          text=True, stdin=subprocess.DEVNULL, env=plain_env(LC_ALL="C.UTF-8"), timeout=60, **kw)


def dump_json(*args, pin=None):
    p = dump("--json", *args, pin=pin)
    if p.returncode:
        raise Failed("jobprof-dump: status %d: %s" % (p.returncode, p.stderr))
    return json.loads(p.stdout)


def step_of(job, step="0", pin=None):
    found = [s for s in dump_json(pin=pin) if s["job"] == job and s["step"] == step]
    if len(found) != 1:
        raise Failed("%d steps of job %d in the maps" % (len(found), job))
    return found[0]


class Parked:
    """A step whose tasks park twice with some work between."""

    def __init__(self, numbers, first=0, step=0, daemon=None):
        self.job = new_job()
        self.holds = Holds(numbers)
        base = tree.job(self.job) + "/step_%s" % step
        work = ["park", "spin=0.2", "naps=30", "write=%s/w.%%d:3" % self.holds.dir,
                "read=%s/w.%%d:2" % self.holds.dir, "anon=5", "park"]
        self.stepd = Stepd(self.job, step, self.holds.cmd(*work), v2_task(base), n=len(numbers),
                           first=first)
        self.holds.wait()
        time.sleep(SETTLE)

    def accounts(self):
        return [kernel_account(h.pid) for h in self.holds.all]

    def work(self):
        """To the second park."""
        self.holds.go()
        self.holds.wait()
        time.sleep(SETTLE)

    def end(self):
        self.holds.go()
        self.stepd.end()


def compare_task(name, before, after, acc_before, acc_after):
    """Columns of one task at two parks, against the kernel's account of its process."""
    a, b = before["columns"], after["columns"]

    def ours(column):
        return b[column] - a[column]

    def kernels(key):
        return acc_after[key] - acc_before[key]

    is_near(name + ": CPU time is schedstat's", ours("CPUTime"), kernels("run_ns") / 1e9, 0.001,
            0.001)
    is_near(name + ": run delay is schedstat's", ours("RunDelay"), kernels("delay_ns") / 1e9,
            0.001, 0.001)
    wrong = ["%s: got %.9g, wanted %d" % (column, ours(column) * scale, kernels(key))
             for column, key, scale in EXACT if ours(column) * scale != kernels(key)]
    is_equal(name + ": switches, I/O and faults are the kernel's", wrong, [])
    is_equal(name + ": RSS and threads are the kernel's",
             [b["RSS"], b["Threads"]], [acc_after["VmRSS"] // 1024, acc_after["threads"]])


def live_values():
    """Two tasks, and the step their sum."""
    p = Parked(["0", "1"], first=4)
    acc = [p.accounts()]
    before = step_of(p.job)
    p.work()
    acc.append(p.accounts())
    after = step_of(p.job)
    is_equal("live: tasks", sorted(after["tasks"]), ["4", "5"])
    for i, gtid in enumerate(("4", "5")):
        compare_task("live: task " + gtid, before["tasks"][gtid], after["tasks"][gtid], acc[0][i],
                     acc[1][i])
    tasks = after["tasks"].values()
    for column in ("CPUTime", "VolSwitches", "WriteMB", "MinorFaults", "RSS", "Threads"):
        is_near("live: %s of the step is that of its tasks" % column, after["columns"][column],
                sum(t["columns"][column] for t in tasks), 0, 2e-6)
    is_equal("live: state", [after["state"], [t["state"] for t in tasks]],
             ["active", ["active", "active"]])
    is_true("live: the path is the step's cgroup",
            after["path"].endswith("job_%d/step_0" % p.job), after["path"])
    is_equal("live: columns without a source are null", after["columns"]["GPUMemMB"], None)
    raw_is_table(p, after)
    table_is_json(p, after)
    p.end()


def raw_is_table(p, step):
    """The tasks are parked: all their time is in the maps, on some CPU."""
    raw = {s["slot"]: s for s in dump_json("--raw")}
    text = dump("--raw").stdout
    for gtid, task in step["tasks"].items():
        slot = raw[task["slot"]]
        cpus = [c["sched"] for c in slot["cpus"].values() if "sched" in c]
        is_equal("raw: slot of task " + gtid, [slot["gtid"], slot["kind"], slot["gtid_source"]],
                 [int(gtid), "task", "exec"])
        is_near("raw: run time of task %s over all CPUs" % gtid,
                sum(c.get("cpu_ns", 0) for c in cpus) / 1e9, task["columns"]["CPUTime"], 0,
                2e-6)
        is_equal("raw: switches of task %s over all CPUs" % gtid,
                 [sum(c.get(k, 0) for c in cpus) for k in ("vol_switches", "invol_switches", "migrations")],
                 [task["columns"][k] for k in ("VolSwitches", "InvolSwitches", "Migrations")])
        part = re.search(r"^slot %d: .*\n((?:  .*\n)+)" % task["slot"], text, re.M).group(1)
        is_equal("raw: the text says the same of task " + gtid,
                 sum(int(n) for n in re.findall(r"cpu \d+ sched: .*\bcpu_ns=(\d+)", part)),
                 sum(c.get("cpu_ns", 0) for c in cpus))
        is_equal("raw: bpftool says the same of task " + gtid, main.slot_run_ns(task["slot"]),
                 sum(c.get("cpu_ns", 0) for c in cpus))
    is_true("raw: step slot", raw[step["slot"]]["kind"] == "step" and
            raw[step["slot"]]["path"] == step["path"], raw[step["slot"]])


def table_is_json(p, step):
    lines = [l.split() for l in dump().stdout.splitlines() if l.split()[:1] == [str(p.job)]]
    is_equal("table: a line for the step and each task", [l[:4] for l in lines],
             [[str(p.job), "0", t, "active"] for t in ["all"] + sorted(step["tasks"])])
    wanted = [step] + [step["tasks"][t] for t in sorted(step["tasks"])]
    is_equal("table: CPU time is that of --json", [l[5] for l in lines],
             ["%.3f" % w["columns"]["CPUTime"] for w in wanted])
    out = dump("--columns", "PeakMB,writecalls").stdout.splitlines()
    is_equal("table: --columns", [out[1].split()[-2:], len(out[1].split())],
             [["PeakMB", "WriteCalls"], 8])


def dead_daemon():
    """kill -9: the links stay, counting goes on, and the maps can be read."""
    d = Daemon(0.5).start()
    p = Parked(["0"])
    acc = [p.accounts()[0]]
    wait_until(lambda: p.job in [s["job"] for s in dump_json(pin=d.pin)], 5, "the step")
    d.end(signal.SIGKILL)
    before = step_of(p.job, pin=d.pin)
    slots = d.map_bytes("jp_slots")
    dump("--raw", pin=d.pin)
    dump("--self", "-t", "0.1", pin=d.pin)
    is_true("dead: looking changes no slot", d.map_bytes("jp_slots") == slots, "the maps have changed")
    p.work()
    after = step_of(p.job, pin=d.pin)
    compare_task("dead: task 0", before["tasks"]["0"], after["tasks"]["0"], acc[0],
                 p.accounts()[0])
    is_equal("dead: the table too", dump(pin=d.pin).returncode, 0)
    p.end()
    wait_until(lambda: step_of(p.job, pin=d.pin)["state"] == "draining", 5,
               "the step's slot to drain")
    ok("dead: an ended step waits for the next jobprofd")
    d.start()
    d.file(p.job, 0)
    wait_until(lambda: p.job not in [s["job"] for s in dump_json(pin=d.pin)], 10,
               "its slots to be free again")
    ok("dead: the next jobprofd finishes it")
    d.end()


def itself():
    """--self: the programs are bpftool's."""
    p = dump_json("--self", "-t", "0.5")
    progs = {g["name"]: g for g in p["programs"]}
    pins = sorted(os.listdir(main.pin + "/progs"))
    is_equal("self: every pinned program", sorted(progs), pins)
    ids, memory = {}, 0
    for name in pins:
        out = subprocess.run(["bpftool", "-j", "prog", "show", "pinned",
                              "%s/progs/%s" % (main.pin, name)], capture_output=True, check=True)
        ids[name] = json.loads(out.stdout)["id"]
    is_equal("self: their ids", {n: progs[n]["id"] for n in progs}, ids)
    for name in os.listdir(main.pin + "/maps"):
        out = subprocess.run(["bpftool", "-j", "map", "show", "pinned",
                              "%s/maps/%s" % (main.pin, name)], capture_output=True, check=True)
        memory += int(json.loads(out.stdout)["bytes_memlock"])
    # storage of tasks comes and goes
    is_near("self: memory of the maps", p["map_bytes"], memory, 0.02, 8192)
    switch = progs["jp_sched_switch"]
    is_true("self: the switch program ran while it was watched",
            switch["attached"] and switch["runs"] > 0 and 5 < switch["ns_per_run"] < 100000,
            switch)
    is_true("self: jobprofd uses CPU and memory",
            p["daemon"]["CPUTime"] > 0 and p["daemon"]["RSS"] > 500, p["daemon"])
    text = dump("--self", "-t", "0.1").stdout
    is_equal("self: the table names them all", [n for n in pins if n not in text], [])
    with open("/proc/sys/kernel/bpf_stats_enabled") as f:
        is_equal("self: run statistics stay off", f.read().strip(), "0")


def watching():
    begin = time.monotonic()
    p = dump("--watch", "0.2", "--count", "3")
    took = time.monotonic() - begin
    is_equal("watch: status", p.returncode, 0)
    is_equal("watch: rounds, and rates from the second on",
             [len(re.findall(r"^\d+ steps?, ", p.stdout, re.M)),
              p.stdout.count("per second, since the last round")], [3, 2])
    is_true("watch: waits between rounds", 0.4 <= took < 30, "took %.2f s" % took)
    is_equal("watch: no escapes into a pipe", p.stdout.count("\033"), 0)
    watch_rates()
    p = start([DUMP, "--pin", main.pin, "--watch", "0.1"], stdout=subprocess.PIPE,
              stderr=subprocess.PIPE)
    p.stdout.readline()
    p.send_signal(signal.SIGINT)
    out, err = p.communicate(timeout=10)
    is_equal("watch: Ctrl-C ends cleanly", [p.returncode, err], [0, b""])
    out = on_terminal("--watch", "0.1", "--count", "2")
    is_equal("watch: a terminal is cleared each time", out.count("\033[H\033[J"), 2)


def watch_rates():
    job, h = new_job(), Holds("0")
    s = Stepd(job, 0, h.cmd("park", "spin=2", "park"), v2_task(tree.job(job) + "/step_0"))
    h.wait()
    h.go()
    p = dump("--json", "--watch", "0.4", "--count", "3")
    rounds = [next(x for x in json.loads(l) if x["job"] == job)["tasks"]["0"]
              for l in p.stdout.splitlines()]
    is_equal("watch: a line of JSON per round", len(rounds), 3)
    is_true("watch: no rates in the first round", "rates" not in rounds[0] and
            "rates" in rounds[1], list(rounds[0]))
    for i in (1, 2):
        dt = rounds[i]["age"] - rounds[i - 1]["age"]
        is_near("watch: rate of round %d is the difference over the time" % (i + 1),
                rounds[i]["rates"]["CPUTime"],
                (rounds[i]["columns"]["CPUTime"] - rounds[i - 1]["columns"]["CPUTime"]) / dt,
                1e-4, 1e-5)
    is_true("watch: the task was seen to run", rounds[2]["rates"]["CPUTime"] > 0,
            rounds[2]["rates"]["CPUTime"])
    h.wait()
    h.go()
    s.end()


def on_terminal(*args):
    """What jobprof-dump writes to a terminal."""
    ours, theirs = pty.openpty()
    p = start([DUMP, "--pin", main.pin] + list(args), stdout=theirs, stdin=subprocess.DEVNULL)
    os.close(theirs)
    out = b""
    try:
        while True:
            part = os.read(ours, 65536)
            if not part:
                break
            out += part
    except OSError:
        pass  # the other side has gone
    os.close(ours)
    p.wait(10)
    return out.decode()


def names():
    """Ids of v1, SLUID and jobprof run trees; a step whose cgroup has a hostile name."""
    sluid = "s0" + "%012d" % (time.time_ns() // 1000 % 10**12)
    job, h = new_job(), Holds(["s", "v"])
    a = Stepd(job, "extern", [tool("jphold"), "-f", h.all[0].fifo, "-s", h.all[0].state, "park"],
              v2_task(tree.job(job, sluid) + "/step_extern"))
    v1 = tree.v1(0, job)
    b = Stepd(job, "0+1", [tool("jphold"), "-f", h.all[1].fifo, "-s", h.all[1].state, "park"],
              ["-d", v1, "-S", "-c", v1 + "/step_0+1"], first=3)
    h.wait()
    step = step_of(job, "extern")
    is_equal("names: SLUID tree: the job by slurmstepd's title",
             [step["sluid"], sorted(step["tasks"])], [sluid, ["0"]])
    is_equal("names: v1 tree, heterogeneous step", sorted(step_of(job, "0+1")["tasks"]), ["3"])
    h.go()
    a.end()
    b.end()
    run_tree()


def run_tree():
    pin = "/sys/fs/bpf/jobprof-test-%d-run" % PID
    h = Hold()
    r = Run(h.cmd("park"), extra=["--pin", pin], env=plain_env(SLURM_JOB_ID="77"))
    h.wait()
    step = step_of(77, pin=pin)
    is_true("names: jobprof run", sorted(step["tasks"]) == ["0"] and "/jobprof_" in step["path"],
            step)
    h.go()
    r.end()
    is_equal("names: nothing is pinned when it has ended", os.path.exists(pin), False)


def hostile():
    """Names may hold what a terminal would obey; MaxSlots is soon used up."""
    top = "/jptest%d-any" % PID
    d = Daemon(1, CgroupPattern=[top + "/run-*"], MaxSlots=64).start()
    mkcg(top)
    evil = "run-\033[2J\u00e9\x7f"
    mkcg(top + "/" + evil)
    for i in range(80):
        mkcg("%s/run-%d" % (top, i))
    text = dump(pin=d.pin)
    is_equal("hostile: status", text.returncode, 0)
    is_true("hostile: escaped in the table",
            "/run-\\x1b[2Jé\\x7f" in text.stdout and "\033" not in text.stdout,
            text.stdout)
    is_true("hostile: escaped in --raw", "\033" not in dump("--raw", pin=d.pin).stdout, "it is not")
    steps = [s for s in dump_json(pin=d.pin) if str(PID) in s["path"]]
    is_true("hostile: JSON holds the name itself", top + "/" + evil in [s["path"] for s in steps],
            [s["path"] for s in steps])
    is_equal("hostile: a pattern's step has no job", [steps[0]["job"], steps[0]["step"]],
             [None, None])
    lost = d.stats()["slots_exhausted"]
    is_true("hostile: what found no slot is said",
            lost > 0 and re.search(r"^slots_exhausted: \d+ .*MaxSlots", text.stdout, re.M),
            text.stdout)
    d.end()


def refused():
    """One line with what to do, and the status."""
    p = dump(pin="/sys/fs/bpf/jptest-nowhere-%d" % PID)
    is_true("refused: wrong pin directory",
            p.returncode == 1 and "jptest-nowhere" in p.stderr and "is jobprofd running" in p.stderr
            and p.stderr.count("\n") == 1, (p.returncode, p.stderr))
    mine = os.path.join(TMP, "bin-dump")
    shutil.copy(DUMP, mine)
    p = subprocess.run([mine], capture_output=True, text=True, user=NOBODY, group=NOBODY,
                       extra_groups=[])
    is_equal("refused: not root", [p.returncode, p.stderr],
             [1, "jobprof-dump: the maps are root's: run as root\n"])
    for args in (["--nope"], ["extra"], ["--raw", "--self"], ["--watch", "0"], ["--watch", "x"],
                 ["--count", "0"], ["--columns", "Nope"], ["--time", "-1"]):
        is_equal("refused: " + " ".join(args), dump(*args).returncode, 2)
    bad = os.path.join(TMP, "bad.conf")
    with open(bad, "w") as f:
        f.write("PinDri=/x\n")
    p = subprocess.run([DUMP, "-c", bad], capture_output=True, text=True)
    is_true("refused: a bad configuration", p.returncode == 1 and "bad.conf:1: unknown key" in
            p.stderr and "PinDir" in p.stderr, (p.returncode, p.stderr))
    with open("/dev/full", "w") as full:
        p = subprocess.run([DUMP, "--pin", main.pin], stdout=full, stderr=subprocess.PIPE,
                           text=True)
    is_true("refused: output that cannot be written", p.returncode == 1 and "cannot write" in
            p.stderr, (p.returncode, p.stderr))
    p = subprocess.run([DUMP, "-c", main.conf, "--json"], capture_output=True, text=True)
    is_equal("refused: not when PinDir comes from the configuration", p.returncode, 0)


def before_the_first_step():
    """What a probe costs is measured at the start, not when a step waits for the programs."""
    p = dump_json("--self", "-t", "0.1")
    is_true("before any step: the cost of a probe is known", p["probe_ns"] and p["probe_ns"] > 1,
            p["probe_ns"])
    is_equal("before any step: jobprofd may run on all CPUs",
             os.sched_getaffinity(main.proc.pid), os.sched_getaffinity(0))


def finish():
    main.end()
    is_equal("the end: pins are gone, and jobprof-dump says so", dump().returncode, 1)


if __name__ == "__main__":
    need_bpf()
    tree = Trees()
    main = Daemon(0.5).start()
    run_tests([before_the_first_step, live_values, itself, watching, names, refused, dead_daemon,
               hostile, finish])
