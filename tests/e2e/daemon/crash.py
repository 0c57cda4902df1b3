#!/usr/bin/python3
# runs: in full
# timeout: 300
# SPDX-License-Identifier: GPL-2.0-or-later
"""kill -9 of any of the programs at any instant: every file opens, at all times; a row is missing
only where nobody was there to write it; no count is lost.

JP_CRASH_KILLS says how many kills (default 200)."""

import random
import statistics
import sys
sys.path.insert(0, sys.path[0] + "/../../lib")
from faultlib import *

KILLS = int(os.environ.get("JP_CRASH_KILLS", "200"))
SEED = int(os.environ.get("JP_CRASH_SEED", str(random.randrange(1 << 30))))
INTERVAL = 0.1
# How late a row may be on a machine that has more to do than CPUs.
SLACK_NS = 400_000_000


HEARTBEAT = """
import sys, time
while True:
    began = time.time_ns()
    open(sys.argv[1]).read()
    time.sleep(0.02)
    if time.time_ns() - began > 150_000_000:
        print(began, time.time_ns(), flush=True)
"""


class Heartbeat:
    """When the machine let nobody run or read a cgroup: a process that does only that. A Python
    thread of ours would not do: others hold the interpreter's lock."""

    def __init__(self):
        self.path = os.path.join(tmpdir("beat"), "late")
        with open(self.path, "wb") as out:
            start([sys.executable, "-c", HEARTBEAT,
                   (cgroup2_mount() or cgroup1_mount("freezer")) + "/cgroup.procs"], stdout=out)

    def late(self):
        with open(self.path) as f:
            return [tuple(int(x) for x in line.split()) for line in f if line.endswith("\n")]


class Lane(threading.Thread):
    """Kills of one kind. problems: what was wrong; kills: how many have been done."""

    def __init__(self, kills, seed):
        super().__init__(daemon=True)
        self.wanted, self.kills = kills, 0
        self.random = random.Random(seed)
        self.problems = []

    def run(self):
        try:
            self.work()
        except Exception as e:
            if not isinstance(e, Failed):
                traceback.print_exc()
            self.problems.append("%s: %s" % (type(e).__name__, e))

    def nap(self, longest):
        # Short ones are as likely as long ones: most that goes wrong does so in a hurry.
        time.sleep(longest * self.random.random() ** 2)


class DaemonLane(Lane):
    """One daemon with a long step of two tasks and short ones beside it."""

    def __init__(self, tag, kills, seed, v1):
        super().__init__(kills, seed)
        # A daemon that lives for less than a second frees no slot.
        self.daemon = RootedDaemon(tag, INTERVAL, MaxSlots="1024")
        self.uid = NOBODY if v1 else None
        self.user = "nobody" if v1 else "root"
        self.job = 70000 + serial()
        self.accounts = tmpdir("acct")
        os.chmod(self.accounts, 0o777)
        self.outages = []  # [began, ended] in ns of the wall clock
        self.writers = self.restarts = 0
        self.short = []
        self.stop_short = threading.Event()
        self.maker = threading.Thread(target=self.make_short, daemon=True)
        self.long = None
        self.slots = []  # never freed

    def account(self, step, task):
        return os.path.join(self.accounts, "%s.%s" % (step, task))

    def new_step(self, step, cmd, tasks=1):
        cmd = [tool(cmd[0]), "-o", self.account(step, "%d")] + cmd[1:]
        if self.uid is not None:
            cmd = ["setpriv", "--reuid=%d" % self.uid, "--regid=%d" % self.uid,
                   "--clear-groups"] + cmd
        return self.daemon.step(self.job, step, cmd, tasks, self.uid)

    def make_short(self):
        rnd, n = random.Random(self.job), 0
        while not self.stop_short.is_set():
            n += 1
            p = self.new_step(n, ["jphold", "spin=0.02", "sleep=%.3f" % (0.5 * rnd.random() ** 2),
                                  "spin=0.01"])
            if p.wait():
                self.problems.append("step %d ended with %d" % (n, p.returncode))
            self.short.append(n)
            time.sleep(0.1)

    def restart(self, began):
        """Sometimes it is killed again before it is ready."""
        self.daemon.spawn()
        while self.kills < self.wanted and self.random.random() < 0.25:
            time.sleep(0.012 * self.random.random())
            self.daemon.end(signal.SIGKILL)
            self.kills += 1
            self.daemon.spawn()
        self.daemon.ready()
        self.restarts += 1
        self.outages.append((began, time.time_ns()))

    def kill_daemon(self):
        self.nap(0.7)
        began = time.time_ns()
        self.daemon.end(signal.SIGKILL)
        self.kills += 1
        self.nap(0.1)
        self.restart(began)

    def kill_writer(self):
        """At an instant of its life of some 20 ms."""
        end = time.monotonic() + 1.5
        while time.monotonic() < end:
            pids = children(self.daemon.proc.pid)
            if pids:
                self.nap(0.025)
                try:
                    os.kill(self.random.choice(pids), signal.SIGKILL)
                except ProcessLookupError:
                    continue
                self.kills += 1
                self.writers += 1
                return
            time.sleep(0.003)

    def work(self):
        self.daemon.start()
        self.long = self.new_step(0, ["jpduty", "0.006", "0.03"], 2)
        self.maker.start()
        time.sleep(0.5)
        while self.kills < self.wanted:
            if self.random.random() < 0.3:
                self.kill_writer()
            else:
                self.kill_daemon()
        self.stop_short.set()
        self.maker.join()
        time.sleep(0.5)
        self.long.terminate()
        self.long.wait(20)
        for step in [0] + self.short:
            try:
                self.daemon.file(self.job, step, self.user, 30)
            except Failed as e:
                self.problems.append(str(e))
        try:
            # Freed a second after the last task has left it, by a daemon that lives so long.
            wait_until(lambda: not self.daemon.used_slots(), 8, "the slots to be free again")
        except Failed:
            self.slots = self.daemon.used_slots()
        status = self.daemon.end(seconds=70)
        if status:
            self.problems.append("jobprofd ended with %d" % status)

    def excused(self, a, b):
        """Nobody was there to write a row in (a, b)."""
        return any(a >= began - INTERVAL * 1e9 - SLACK_NS and b <= ended + INTERVAL * 1e9 + SLACK_NS
                   for began, ended in self.merged)

    def check_rows(self, name, rows):
        """No gap that no outage explains, and no time told twice."""
        t = [int(x) for x in rows["TimeNS"]]
        for a, b in zip(t, t[1:]):
            if b <= a:
                self.problems.append("%s: time runs from %d to %d" % (name, a, b))
            elif b - a > INTERVAL * 1e9 + SLACK_NS and not self.excused(a, b):
                near = [(o[0] - a, o[1] - a) for o in self.merged if o[1] > a - 10**9 and o[0] < b]
                self.problems.append("%s: %s: no row for %.2f s; away in that time: %s"
                                     % (self.daemon.name, name, (b - a) / 1e9,
                                        ["%.2f to %.2f" % (x / 1e9, y / 1e9) for x, y in near]))

    def merge_outages(self, machine):
        """Where less than some intervals lie between two, no row need be there either: a daemon that
        needed long to come needs long for its first row."""
        out = []
        for began, ended in sorted(self.outages + machine):
            if out and began <= out[-1][1] + 2 * INTERVAL * 1e9 + (out[-1][1] - out[-1][0]) / 4:
                out[-1][1] = max(out[-1][1], ended)
            else:
                out.append([began, ended])
        # The first daemon that lives ends dozens of steps at once: its rows are as late as the machine is
        # slow, which is known from how long the others needed to come.
        if out:
            out[-1][1] += 4 * statistics.median(ended - began for began, ended in self.outages)
        self.merged = out

    def check_counts(self, step, tables, tasks):
        for i in range(tasks):
            rows = tables.get("Tasks/%d" % i)
            if rows is None:
                self.problems.append("step %s has no table of task %d" % (step, i))
                continue
            wanted, rel, slack = own_cpu(read_account(self.account(step, i)), 0.001, 0.004)
            got = float(rows["CPUTime"].sum())
            if not approx(got, wanted, rel, slack):
                self.problems.append("step %s task %d: CPUTime adds up to %.6f s, schedstat says "
                                     "%.6f" % (step, i, got, wanted))

    def check(self, machine):
        """After the end; machine: when nobody could do anything. Each kind of finding is a list."""
        counts, rows, left = [], [], []
        self.merge_outages(machine)
        for step in [0] + self.short:
            try:
                tables = read_all(self.daemon.path(self.job, step, self.user))
            except OSError as e:
                self.problems.append("step %s: %s" % (step, e))
                continue
            n = len(self.problems)
            self.check_counts(step, tables, 2 if step == 0 else 1)
            counts += self.problems[n:]
            del self.problems[n:]
            for name, table_ in tables.items():
                # Commands has rows of intervals with use alone.
                if "TimeNS" in (table_.dtype.names or ()) and not name.startswith(("Totals", "Commands")):
                    self.check_rows("step %s %s" % (step, name), table_)
            rows += self.problems[n:]
            del self.problems[n:]
        left += self.daemon.temporaries() + self.daemon.journals("runs")
        left += glob.glob(self.daemon.state + "/steps/*")
        left += [f for f in self.daemon.files() if os.path.basename(f).startswith(".")]
        if os.path.exists(self.daemon.pin):
            left.append(self.daemon.pin)
        return counts, rows, left


class RunLane(Lane):
    """jobprof run is killed; the next one, or at the end jobprofd, finishes its file."""

    def __init__(self, kills, seed):
        super().__init__(kills, seed)
        self.out = tmpdir("runs")
        self.daemon = RootedDaemon("r", INTERVAL)
        self.state = self.daemon.state
        self.expected = {}  # name: instant of the kill
        self.at_once = []  # files that the next run did not finish

    def command(self, *steps):
        return [JOBPROF, "run", "-q", "-i", str(INTERVAL), "--state-dir", self.state, "-o", self.out,
                "--", tool("jphold")] + list(steps)

    def journals(self):
        return self.daemon.journals("runs")

    @staticmethod
    def end_command(pid):
        """What the killed jobprof run left: its command and its cgroup."""
        for mnt in {cgroup2_mount(), cgroup1_mount("freezer")} - {None}:
            for top in glob.glob("%s/**/jobprof_%d" % (mnt, pid), recursive=True):
                rmtree_cgroup(top)

    def kill_run(self):
        p = start(self.command("spin=0.05", "sleep=0.7", "spin=0.05", "sleep=0.3"),
                  stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, env=plain_env())
        # Most of the first third of a second is the verifier's.
        time.sleep(1.7 * self.random.random())
        if p.poll() is not None:
            return
        p.kill()
        p.wait()
        at = time.time_ns()
        self.kills += 1
        for journal in self.journals():
            name = os.path.basename(journal).rpartition(".h5.")[0] + ".h5"
            self.expected.setdefault(name, (at, journal))
        self.end_command(p.pid)

    def work(self):
        while self.kills < self.wanted:
            before = self.journals()
            self.kill_run()
            if before and self.random.random() < 0.3:
                p = subprocess.run(self.command("spin=0.01"), stdin=subprocess.DEVNULL,
                                   env=plain_env(), capture_output=True, text=True)
                if p.returncode:
                    self.problems.append("jobprof run ended with %d: %s" % (p.returncode, p.stderr))
                self.at_once += self.journals()
        self.kill_run()
        self.daemon.start()
        wait_until(lambda: not self.journals(), 30, "jobprofd to finish %s" % self.journals())
        self.daemon.end(seconds=70)

    def check(self, machine):
        rows, left = [], []
        for name, (at, _) in self.expected.items():
            try:
                tables = read_all(os.path.join(self.out, name))
            except OSError as e:
                self.problems.append("%s: %s" % (name, e))
                continue
            last_row = max((int(t["TimeNS"][-1]) for n, t in tables.items()
                            if n.startswith(("Tasks", "Step")) and len(t)), default=0)
            # A step killed in its first interval has no row.
            still = sum(max(0, min(b, at) - max(a, last_row)) for a, b in machine)
            if last_row and at - last_row - still > 2 * INTERVAL * 1e9 + SLACK_NS + 300_000_000:
                rows.append("%s ends %.2f s before the kill" % (name, (at - last_row) / 1e9))
        return rows, left + self.journals() + self.temporaries()

    def temporaries(self):
        """Those that are there for good: the writer of a killed jobprof run may still be at work."""
        def found():
            return [n for n in os.listdir(self.out) if n.startswith(".") or not n.endswith(".h5")]
        try:
            wait_until(lambda: not found(), 20, "the last writers")
        except Failed:
            pass
        return found()


class Reader:
    """Opens every published file again and again while the killing goes on."""

    def __init__(self, lanes):
        self.lanes = lanes
        self.opened = 0
        self.failed = []

    def files(self):
        for lane in self.lanes:
            yield from lane.daemon.files()
            if isinstance(lane, RunLane):
                yield from glob.glob(lane.out + "/*.h5") + glob.glob(lane.out + "/.*.h5")

    def read(self):
        for path in self.files():
            try:
                read_all(path)
                self.opened += 1
            except FileNotFoundError:
                pass  # renamed meanwhile
            except Exception as e:
                self.failed.append("%s: %s" % (path, e))


def share(n, parts):
    return [n * (i + 1) // parts - n * i // parts for i in range(parts)]


def main():
    need_bpf()
    print("seed %d" % SEED)
    in_runs = max(1, KILLS // 6)
    shares = share(KILLS - in_runs, 3)
    v1 = bool(cgroup1_mount("freezer"))
    daemons = [DaemonLane("c", n, SEED + i, v1 and i == 2) for i, n in enumerate(shares)]
    runs = RunLane(in_runs, SEED + 99)
    lanes = daemons + [runs]
    reader = Reader(lanes)
    beat = Heartbeat()
    for lane in lanes:
        lane.start()
    while any(lane.is_alive() for lane in lanes):
        reader.read()
        time.sleep(0.2)
    reader.read()

    counts, rows, left = [], [], []
    for lane in daemons:
        for got, more in zip((counts, rows, left), lane.check(beat.late())):
            got += more
    run_rows, run_left = runs.check(beat.late())
    problems = [p for lane in lanes for p in lane.problems]
    kills = sum(lane.kills for lane in lanes)
    print("%d kills: %d of writers, %d of jobprof run; %d restarts, %d short steps, %d times a file "
          "was read" % (kills, sum(d.writers for d in daemons), runs.kills,
                        sum(d.restarts for d in daemons), sum(len(d.short) for d in daemons),
                        reader.opened))
    print("the machine stood still %d times, %.1f s in all"
          % (len(beat.late()), sum(b - a for a, b in beat.late()) / 1e9))
    for p in problems + counts + rows + left + run_rows + run_left + reader.failed:
        print("  " + str(p)[:4000])

    def verdict(name, findings):
        is_true(name, not findings, "%d times, first: %s" % (len(findings), findings[:1]))

    is_true("%d kills were done" % KILLS, kills >= KILLS, "only %d" % kills)
    verdict("every step has its file, every program ends well", problems)
    verdict("every published file opens at any time", reader.failed)
    verdict("CPUTime adds up to schedstat over all kills", counts)
    verdict("rows are missing only while nobody was there", rows)
    verdict("a killed jobprof run lacks at most its last interval", run_rows)
    verdict("the next jobprof run finishes what a killed one left", runs.at_once)
    verdict("every slot is free again", [s for d in daemons for s in d.slots])
    verdict("nothing is left: no journal, no temporary file, no pin", left + run_left)


main()
