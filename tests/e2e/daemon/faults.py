#!/usr/bin/python3
# timeout: 1500
# SPDX-License-Identifier: GPL-2.0-or-later
"""Faults at random instants while jobs run, merge and are indexed: all counts of each file are the kernel's own, or the file
says what is lost; every file opens at any time, and each job is in the index once.

faults.py [--faults N] [--seconds S] [--seed N] [--only KIND,...] [--guest N] [--steps N] [FUNCTION ...]: kinds are those
of KINDS below, --steps are those of the day. The long run takes a seed by chance, and prints it. In a machine that is the
test's alone (tests/vm/faults/run) guest() sets the clock and takes CPUs away, too."""

import argparse
import collections
import os
import sys

if os.geteuid() == 0 and "JP_OWN_MOUNTS" not in os.environ:
    os.environ["JP_OWN_MOUNTS"] = "1"
    os.execvp("unshare", ["unshare", "-m", "--propagation", "private", sys.executable, "-u"] + sys.argv)

import contextlib
import itertools
import random
import resource
sys.path.insert(0, sys.path[0] + "/../../lib")
from workslib import *
from indexlib import query
sys.path.insert(0, ROOT + "/tests/e2e/site")
import serve

INTERVAL = 0.2
REPORTS = 25  # of each, at most
FINDINGS = 20  # of each kind are printed
READY_S, MERGED_S = 200, 300  # at most, on a machine that has more to do: a start, or a report, and all files after the last job
UNSEEN_S = 30  # after the last job: what has neither a journal nor a file by then found no slot
LANES = 4  # jobprofds that faults meet at the same time
SECONDS = 700  # of the long run at most, but for what is under way then; with the end 20 minutes


class Lane(threading.Thread):
    """One jobprofd, jobs that run all the time, and faults that meet them."""

    def __init__(self, number, kinds, seed, index, pause):
        """kinds: a function of the lane, which yields names of KINDS until it is over; pause: between two at most, s."""
        super().__init__(daemon=True)
        self.number, self.kinds, self.index, self.pause = number, kinds, index, pause
        self.random, self.jobs_random = random.Random(seed), random.Random(seed + 1)
        self.state_disk, self.files_disk = [Disk(mb, hangs=number % 2 == 0) for mb in (24, 48)]
        self.d = RootedDaemon("k%d" % number, INTERVAL, AutoMerge="yes", StateDir=self.state_disk.dir + "/state", JournalMinFree="0",
                              ProfileHDF5Dir=self.files_disk.dir + "/hdf5", PublishInterval="1", MaxSlots="96")
        os.mkdir(self.files_disk.dir + "/hdf5", 0o755)
        self.d.hdf5 = self.files_disk.dir + "/hdf5"
        self.works, self.problems, self.running, self.broken = [], [], set(), set()
        self.met, self.told = collections.Counter(), collections.Counter()
        self.over, self.held = threading.Event(), threading.Event()
        self.makers = [threading.Thread(target=self.make_jobs, daemon=True) for _ in range(2)]

    # ---- the jobs

    def make_jobs(self):
        while not self.over.is_set():
            self.one_job(self.jobs_random.randint(1, 3), self.jobs_random.randint(1, 3), 0.1 + 2 * self.jobs_random.random() ** 2)

    def one_job(self, steps, tasks, seconds, cmd=None):
        job = new_job()
        try:
            for step in range(steps):
                w = Work(self, job, step, tasks, seconds, cmd)
                self.running.add(w)
                try:
                    w.run()
                    self.works.append(w)
                except Exception as e:
                    self.broken.add(job)
                    raise Failed("%s; there are %s" % (e, w.kill()))
                finally:
                    self.running.discard(w)
            wait_until(lambda: removed(os.path.dirname(self.d.v2_step(job, 0))), 20, "the job's cgroup to go")
        except Exception as e:
            if not isinstance(e, Failed):
                traceback.print_exc()
            self.problems.append("job %d: %s: %s" % (job, type(e).__name__, e))

    # ---- the faults

    def nap(self, longest):
        # Short ones are as likely as long ones: most that goes wrong does so in a hurry.
        time.sleep(longest * self.random.random() ** 2)

    def run(self):
        began = time.monotonic()
        try:
            self.d.configure()
            self.d.spawn()
            self.d.ready(READY_S)
            for t in self.makers:
                t.start()
            for kind in self.kinds(self):
                self.nap(self.pause)
                self.lives()
                KINDS[kind](self)
                self.met[kind] += 1
        except Exception as e:
            traceback.print_exc()
            self.problems.append("lane %d: %s: %s" % (self.number, type(e).__name__, e))
        self.over.set()
        for t in self.makers:
            t.join()
        self.took = time.monotonic() - began
        self.left = self.finish()

    def lives(self):
        """Nobody but this test ends its jobprofd."""
        if self.d.proc.poll() is not None:
            self.problems.append("jobprofd has ended by itself, or by another's signal, with %s: %s" % (self.d.proc.returncode, self.d.said()[-600:]))
            self.again()

    def again(self):
        """Sometimes it is killed before it is ready."""
        self.d.spawn()
        while self.random.random() < 0.2:
            self.nap(0.3)
            self.d.end(signal.SIGKILL)
            self.d.spawn()
        self.d.ready(READY_S)

    def kill(self, between=lambda: None):
        self.d.end(signal.SIGKILL)
        self.nap(0.3)
        between()
        self.again()

    def torn(self):
        """The last record of a journal is not whole, as where the machine takes the power from a writer: of a step that runs, or of one
        that has ended, whose counts are there alone then."""
        def cut():
            for path in self.random.sample(self.d.journals(), min(1, len(self.d.journals()))):
                if in_use(path) > first_frame_end(path):
                    os.truncate(path, in_use(path) - 3)
        self.kill(cut)

    def hand_over(self):
        self.d.end(signal.SIGUSR1)
        self.nap(0.3)
        self.again()

    def upgrade(self):
        """Other programs: they are loaded beside those that count."""
        self.d.end(self.random.choice((signal.SIGUSR1, signal.SIGKILL)))
        self.d.configure(RingSize="512" if self.d.settings.get("RingSize") != "512" else "1024")
        self.again()

    def reload(self):
        self.d.configure(JobAcctGatherFrequency="task=%g" % self.random.choice((0.1, 0.2, 0.5)))
        self.d.tell(signal.SIGHUP)

    def stop(self):
        self.stopped([self.d.proc.pid])

    def stopped(self, pids):
        for pid in pids:
            tell(pid, signal.SIGSTOP)
        self.nap(2)
        for pid in pids:
            tell(pid, signal.SIGCONT)

    def a_child(self, is_writer):
        """Of jobprofd, at an instant of its life of some 20 ms."""
        end = time.monotonic() + 3
        while time.monotonic() < end:
            pids = [p for p in children(self.d.proc.pid) if comm(p).startswith("jobprof-writer"[:15]) == is_writer]
            if pids:
                if is_writer:
                    self.nap(0.02)
                return [self.random.choice(pids)]
            time.sleep(0.003)
        return []

    def kill_child(self, is_writer):
        for pid in self.a_child(is_writer):
            tell(pid, signal.SIGKILL)

    def kill_writer(self):
        self.kill_child(True)

    def kill_helper(self):
        self.kill_child(False)

    def stop_writer(self):
        self.stopped(self.a_child(True))

    def stop_helper(self):
        self.stopped(self.a_child(False))

    def disk(self, held):
        """Meanwhile jobprofd may die."""
        with held:
            self.nap(2.5)
            dies = self.random.random() < 0.4
            if dies:
                self.d.proc.kill()
                self.nap(0.5)
        if dies:
            self.d.proc.wait(60)
            self.again()

    def full_state(self):
        self.disk(self.state_disk.full())

    def full_files(self):
        self.disk(self.files_disk.full())

    def hung_state(self):
        if self.state_disk.hangs:
            self.disk(self.state_disk.freeze())

    def hung_files(self):
        if self.files_disk.hangs:
            self.disk(self.files_disk.freeze())

    def slots(self):
        """A job of more tasks than there are slots."""
        self.one_job(1, int(self.d.settings["MaxSlots"]) + 8, 1, [tool("jphold"), "spin=0.001", "park"])

    def descriptors(self):
        """jobprofd may open no more files."""
        pid = self.d.proc.pid
        before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (len(os.listdir("/proc/%d/fd" % pid)) + self.random.randint(0, 3), before[1]))
        self.nap(2)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, before)

    def kill_task(self):
        for w in list(self.running)[:1]:
            pids = w.pids()
            if pids and w.proc.poll() is None and w.stopped:
                w.killed = True
                tell(self.random.choice(pids), signal.SIGKILL)

    def kill_index(self):
        self.index.kill()

    def stop_index(self):
        self.stopped([self.index.proc.pid])

    def clock(self):
        """The wall clock is set, forth or back, and then right again."""
        off = self.random.choice((-4000, -70, -1.5, 2, 90, 5000)) * self.random.random()
        time.clock_settime(time.CLOCK_REALTIME, time.time() + off)
        self.nap(4)
        time.clock_settime(time.CLOCK_REALTIME, time.time() - off)

    def cpu(self):
        """One goes, and comes again."""
        last = max(int(p[len("/sys/devices/system/cpu/cpu"):]) for p in glob.glob("/sys/devices/system/cpu/cpu[0-9]*"))
        for on in "01":
            with open("/sys/devices/system/cpu/cpu%d/online" % last, "w") as f:
                f.write(on)
            self.nap(3)

    # ---- the end

    def file(self, work):
        """The step's own, where the job was not merged, which is said, or before it came; else its job's. A user whose name was asked for in vain has a
        directory by the number."""
        merged = self.merged(work.job)
        paths = [self.d.path(work.job, work.step, user) for user in ("root", "0")]
        return next((p for p in paths + [merged] if os.path.exists(p)), merged)

    def merged(self, job):
        paths = ["%s/%s/job_%d.h5" % (self.d.hdf5, user, job) for user in ("root", "0")]
        return next((p for p in paths if os.path.exists(p)), paths[0])

    def jobs(self):
        return sorted({w.job for w in self.works})

    def finish(self):
        """All jobs have ended, and no fault comes any more. Returns what is left over."""
        self.ended = time.monotonic()
        with contextlib.suppress(Failed):
            wait_until(lambda: not self.d.journals() and not self.lacking(), MERGED_S, "the files")
        for w in self.lacking():
            self.works.remove(w)
            self.problems.append("no file, or no merge, of %d_%d: %s" % (w.job, w.step, self.d.known_of("%d_%d_%s.h5" % (w.job, w.step, self.d.name))))
        try:
            if self.d.end(seconds=70):
                self.problems.append("jobprofd ended with %d" % self.d.proc.returncode)
        except Failed as e:
            self.problems.append(str(e))
        with contextlib.suppress(Failed):  # a merge that was under way removes what it has made
            wait_until(lambda: not self.d.temporaries(), 20, "merges to end")
        own = {self.file(w) for w in self.works}
        left = self.d.temporaries() + self.d.journals() + self.d.journals("runs") + [f for f in self.d.files() if f not in own]
        left = [f for f in left if not any(os.path.basename(f).startswith(("%d_" % job, "job_%d." % job)) for job in self.broken)]
        left += [self.d.pin] * os.path.exists(self.d.pin)
        return ["%s: %s" % (path, self.d.known_of(path)) for path in left]

    def lacking(self):
        """Steps without a file, or whose job is not merged, of which the log does not say why."""
        said, out = self.d.said(), []
        unmerged = set(re.findall(r"job (\d+)(?: is not merged|: it is not written down)", said)) | set(
            re.findall(r"(\d+)_\S*: nobody has told the job's first node", said))
        unseen = set(re.findall(r"job_(\d+)/step_(\d+)(?: is not profiled|: it has no file)", said))
        full, journals = "found none so far, not profiled" in said, {tuple(os.path.basename(j).split("_")[:2]) for j in self.d.journals()}
        for w in list(self.works):
            if not w.is_in(self.file(w)):
                name = str(w.job), str(w.step)
                if name in unseen or full and name not in journals and time.monotonic() > self.ended + UNSEEN_S:
                    self.works.remove(w)
                    self.told["not profiled, by the log"] += 1
                else:
                    out.append(w)
            elif not os.path.exists(self.merged(w.job)) and str(w.job) not in unmerged and w.job not in self.broken:
                out.append(w)
        return out

    def compare(self):
        wrong = []
        for w in self.works:
            try:
                wrong += w.compare(self.file(w))
            except (OSError, KeyError) as e:
                wrong.append("%d_%d: %s: %s" % (w.job, w.step, type(e).__name__, e))
        return wrong

    def reports(self):
        out, paths = [], sorted({self.file(w) for w in self.works})
        for path in self.random.sample(paths, min(len(paths), REPORTS)):
            p = sh([JOBPROF, "report", path], READY_S) if os.path.exists(path) else None
            if p and (p.returncode or p.stderr):
                out.append("report %s: status %d: %s" % (path, p.returncode, p.stderr[-300:]))
        return out


class Index:
    """jobprof index watch over all lanes' files, and at times a scan beside it, each killed now and then."""

    def __init__(self):
        self.path = os.path.join(tmpdir("index"), "index.db")
        self.dirs, self.proc, self.said = [], None, os.path.join(os.path.dirname(self.path), "log")
        self.lock = threading.Lock()  # of who ends it

    def cmd(self, verb, *more):
        return [JOBPROF, "index", verb, "--database", self.path, "--cluster", "faults", *more, *self.dirs]

    def start(self):
        with open(self.said, "ab") as log:
            self.proc = start(self.cmd("watch", "--every", "1", "--squeue", "none", "--sacct", "none"), stdin=subprocess.DEVNULL,
                              stdout=log, stderr=subprocess.STDOUT, env=plain_env())

    def kill(self):
        """One that reads a disk that hangs has its end when the disk goes on."""
        with self.lock:
            self.kill_alone()

    def kill_alone(self):
        self.proc.kill()
        self.proc.wait(READY_S)
        p = subprocess.Popen(self.cmd("scan"), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=plain_env())
        time.sleep(0.05 * random.random())
        p.kill()
        p.wait(READY_S)
        self.start()

    def check(self, lanes):
        self.proc.terminate()
        self.proc.wait(60)
        wrong = []
        p = sh(self.cmd("scan"), timeout=300)
        if p.returncode:
            wrong.append("scan ended with %d: %s" % (p.returncode, p.stderr[-500:]))
        p = sh([JOBPROF, "index", "check", "--verbose", "--database", self.path])
        if p.returncode or "no difference" not in p.stdout:
            wrong.append("check: status %d: %s %s" % (p.returncode, p.stdout[-500:], p.stderr[-500:]))
        have = collections.Counter(row[0] for row in query(self.path, "SELECT job_id FROM job"))
        wanted = {j for lane in lanes for j in lane.jobs()}
        twice, missing = [j for j in have if have[j] > 1], sorted(wanted - set(have))
        others = sorted(set(have) - wanted - set().union(*(lane.broken for lane in lanes)))
        if twice or missing or others:
            wrong.append("twice: %s, missing: %s, others: %s; %s" % (twice[:5], missing[:5], others[:5], [
                row for j in (twice + missing + others)[:5] for row in query(self.path, "SELECT path, state, why FROM file WHERE path LIKE '%%%d%%'" % j)]))
        return wrong


class Reader(threading.Thread):
    """Opens every published file again and again."""

    def __init__(self, lanes):
        super().__init__(daemon=True)
        self.lanes, self.opened, self.failed, self.over = lanes, 0, [], threading.Event()

    def run(self):
        while not self.over.wait(1):
            for lane in self.lanes:
                for path in random.sample(lane.d.files(), min(10, len(lane.d.files()))):
                    try:
                        with lib._reading:
                            read_all(path)
                        self.opened += 1
                    except Exception as e:
                        if os.path.exists(path):  # else renamed, or merged
                            self.failed.append("%s: %s" % (path, e))


# SIGTERM is none of them: it ends the files of running steps, which say so, and counts nothing until the next start.
KINDS = {
    "kill": Lane.kill, "torn journal": Lane.torn, "hand over": Lane.hand_over, "upgrade": Lane.upgrade, "reload": Lane.reload,
    "stop": Lane.stop, "kill writer": Lane.kill_writer, "kill helper": Lane.kill_helper, "stop writer": Lane.stop_writer,
    "stop helper": Lane.stop_helper, "full state": Lane.full_state, "full files": Lane.full_files, "hung state": Lane.hung_state,
    "hung files": Lane.hung_files, "slots": Lane.slots, "descriptors": Lane.descriptors, "kill task": Lane.kill_task,
    "kill index": Lane.kill_index, "stop index": Lane.stop_index,
}
OF_GUEST = {"clock": Lane.clock, "cpu": Lane.cpu}


def verdict(name, findings):
    for f in findings[:FINDINGS]:
        print("  " + str(f)[:1500])
    is_true(name, not findings, "%d times, first: %s" % (len(findings), str(findings[:1])[:1500]))


def faults(seed, lanes, kinds, pause=1.5):
    """Of kinds (Lane) in so many lanes."""
    print("seed %d" % seed, flush=True)
    index = Index()
    lanes = [Lane(i, kinds, seed + 10 * i, index, pause) for i in range(lanes)]
    index.dirs = [lane.d.hdf5 for lane in lanes]
    index.start()
    reader = Reader(lanes)
    for t in lanes + [reader]:
        t.start()
    for lane in lanes:
        lane.join()
    took = max(lane.took for lane in lanes)
    reader.over.set()
    reader.join()
    met = sum((lane.met for lane in lanes), collections.Counter())
    print("%d faults in %d s, %.0f a minute: %s" % (met.total(), took, met.total() * 60 / took, dict(met)))
    print("%d jobs, %d steps; %d times a file was read" % (sum(len(lane.jobs()) for lane in lanes), sum(len(lane.works) for lane in lanes), reader.opened))
    verdict("all steps end well, and have their files", sum((lane.problems for lane in lanes), []))
    verdict("all counts are the kernel's, or the file says what is lost", sum((lane.compare() for lane in lanes), []))
    print("lost or missed, by the files of how many steps: %s" % dict(sum((lane.told for lane in lanes), collections.Counter())))
    verdict("every published file opens at any time", reader.failed)
    verdict("jobprof report works on each", sum((lane.reports() for lane in lanes), []))
    verdict("each job is in the index once, and the sums are right", index.check(lanes))
    verdict("nothing is left: no journal, no temporary file, no pin", sum((lane.left for lane in lanes), []))
    return met


ONCE = ("kill", "hand over", "upgrade", "kill writer", "full state", "hung files", "kill task", "kill index")


def each_once():
    """A part of the long run, always the same."""
    faults(1, 1, lambda lane: ONCE, 0.2)


@in_full
def long_run():
    end, names = time.monotonic() + OPTIONS.seconds, OPTIONS.only.split(",") if OPTIONS.only else list(KINDS)
    left = itertools.count(OPTIONS.faults, -1)

    def kinds(lane):
        while time.monotonic() < end and next(left) > 0:
            yield lane.random.choice(names)
    met = faults(OPTIONS.seed or random.randrange(1 << 30), LANES, kinds)
    # how many there are in that time is the machine's affair
    is_true("%d faults, at most %d within %d s" % (met.total(), OPTIONS.faults, OPTIONS.seconds), met.total() >= min(len(names), OPTIONS.faults), met)


def guest():
    """In scripts/vm, whose clock and CPUs nobody else has."""
    if os.uname().nodename != "vm":
        raise Failed("the clock is not the test's: tests/vm/faults/run")
    KINDS.update(OF_GUEST)
    names = list(OF_GUEST) * 4 + ["kill", "hand over", "stop"]
    faults(OPTIONS.seed or 1, 1, lambda lane: (lane.random.choice(names) for _ in range(OPTIONS.guest)))


# ---- a day of a node, as fast as its steps come

QUARTERS = 4
# At most, from the first quarter's end on: jobprofd keeps what 1,024 jobs have used.
GROWTH_KIB = {"jobprofd": 2048, "index watch": 3072, "serve": 2048}


def resources(pid):
    """At rest: memory of its own, and what it has open, with the kernel's objects of BPF."""
    rss = int(re.search(r"RssAnon:\s+(\d+)", slurp("/proc/%d/status" % pid))[1])
    fds, objects = os.listdir("/proc/%d/fd" % pid), set()
    for fd in fds:
        with contextlib.suppress(OSError):
            objects.update(re.findall(r"^(map_id|prog_id|link_id):\s+(\d+)", slurp("/proc/%d/fdinfo/%s" % (pid, fd)), re.M))
    return rss, len(fds), objects


def quarter(d, index, site):
    """A quarter of the day's jobs, four at a time; users and the site ask meanwhile."""
    left = itertools.count(OPTIONS.steps // QUARTERS, -1)

    def jobs():
        while next(left) > 0:
            job = new_job()
            d.step(job, 0, ["true"], extra=["-e", "SLURM_JOB_NODELIST=" + d.name, "-e", "SLURM_STEP_NUM_NODES=1"]).wait()
            wait_until(lambda: removed(os.path.dirname(d.v2_step(job, 0))), 20, "the job's cgroup to go")
            if job % 20 == 0:
                status(d)
                site.ask("/jobs.json")
    together([jobs] * 4)
    wait_until(lambda: not d.journals() and not [f for f in d.files() if "/job_" not in f], 300, "the jobs' files")
    wait_until(lambda: query(index.path, "SELECT count(*) FROM job")[0][0] == len(d.files()), 300, "the index")
    time.sleep(3)


@in_full
def a_day():
    """Memory, descriptors and the kernel's objects are what they were after its first quarter."""
    d, index = RootedDaemon("day", 0.1, MaxSlots="512", AutoMerge="yes", PublishInterval="1", LogLevel="info").start(), Index()
    index.dirs = [d.hdf5]
    index.start()
    site = serve.Server("--database", index.path)
    programs = {"jobprofd": d.proc.pid, "index watch": index.proc.pid, "serve": site.process.pid}
    seen = []
    for _ in range(QUARTERS):
        quarter(d, index, site)
        seen.append({name: resources(pid) for name, pid in programs.items()})
        print({name: (kib, fds, len(objects)) for name, (kib, fds, objects) in seen[-1].items()}, flush=True)
    for name in programs:
        (kib, fds, objects), (kib_end, fds_end, objects_end) = seen[0][name], seen[-1][name]
        is_true("%s: %d KiB after %d jobs, %d after %d" % (name, kib, OPTIONS.steps // QUARTERS, kib_end, OPTIONS.steps), kib_end <= kib + GROWTH_KIB[name],
                [at[name][0] for at in seen])
        is_equal(name + ": descriptors, and objects of BPF", (fds_end, len(objects_end)), (fds, len(objects)))
    site.end()
    objects = set().union(*(at["jobprofd"][2] for at in seen))
    is_equal("a clean end", (d.end(), os.path.exists(d.pin)), (0, False))
    with contextlib.suppress(Failed):  # the kernel frees them a while later
        wait_until(lambda: not objects & set(all_objects()), 30, "objects to go")
    is_equal("no object of BPF is left", sorted(objects & set(all_objects())), [])


def all_objects():
    for kind in ("map", "prog", "link"):
        p = subprocess.run(["bpftool", "-j", kind, "show"], capture_output=True, text=True, check=True)
        yield from ((kind + "_id", str(o["id"])) for o in json.loads(p.stdout))


def arguments():
    p = argparse.ArgumentParser()
    p.add_argument("--faults", type=int, default=500)
    p.add_argument("--seconds", type=int, default=SECONDS)
    p.add_argument("--seed", type=int)
    p.add_argument("--only")
    p.add_argument("--guest", type=int, default=20)
    p.add_argument("--steps", type=int, default=2000)
    options, sys.argv[1:] = p.parse_known_args()
    return options


if __name__ == "__main__":
    need_bpf()
    OPTIONS = arguments()
    run_tests([guest] if "JP_GUEST" in os.environ else [each_once, long_run, a_day])
