#!/usr/bin/python3
# timeout: 150
# SPDX-License-Identifier: GPL-2.0-or-later
"""What jobprofd survives: writers that hang or die, damaged journals and files, cgroups with odd
names, and cgroups that vanish while they are read."""

import sys
sys.path.insert(0, sys.path[0] + "/../../lib")
from faultlib import *


def script(text):
    path = os.path.join(tmpdir("writer"), "writer")
    with open(path, "w") as f:
        f.write("#!/bin/sh\n" + text)
    os.chmod(path, 0o755)
    os.chmod(os.path.dirname(path), 0o755)
    return path


def broken_writer(what, writer):
    """Rows go on; when the writer works again the next jobprofd finishes the file from the journal."""
    d = RootedDaemon("wr", Writer=writer)
    d.start()
    job = new_job()
    p = d.step(job, 0, [tool("jpduty"), "-o", d.dir + "/account", "0.01", "0.05"])
    d.wait_said("profiling %d_0" % job)
    time.sleep(2.5)
    journal = d.journals()[0]
    size = in_use(journal)
    time.sleep(0.6)
    is_true("%s: rows go on" % what, in_use(journal) > size, "no more rows")
    return d, job, p


def finish_repaired(what, d, job, p):
    d.configure(Writer=None)
    d.start()
    p.terminate()
    p.wait(10)
    path = d.file(job, 0)
    wait_until(lambda: not d.journals(), 10, "the journal to go: its writer has ended")
    rows = task_rows(path)
    is_true("%s: the journal finishes the file" % what, approx(
        rows["CPUTime"].sum(), *own_cpu(read_account(d.dir + "/account"), 0.001, 0.004))
        and not d.journals(), "CPUTime %s, schedstat %s, journals %s" % (
            rows["CPUTime"].sum(), read_account(d.dir + "/account")["schedstat.run_ns"], d.journals()))
    is_equal("%s: no temporary file is left" % what, d.temporaries(), [])
    is_equal("%s: a clean end" % what, d.end(), 0)


def writer_hangs():
    pid_file = os.path.join(tmpdir("pid"), "pid")
    what = "a writer that hangs"
    d, job, p = broken_writer(what, script("echo $$ > %s; exec sleep 1000\n" % pid_file))
    is_equal("%s: one at a time" % what, len(not_helpers(d.proc.pid)), 1)
    pid = int(written(pid_file))
    d.end(signal.SIGKILL)
    wait_until(lambda: not os.path.exists("/proc/%d" % pid), 5, "the writer to end with jobprofd")
    ok("%s: it ends with a killed jobprofd" % what)
    finish_repaired(what, d, job, p)


def catch_writer(daemon, seconds):
    """A writer's life is some ms: looked for without a pause, and stopped where it is."""
    end = time.time() + seconds
    while time.time() < end:
        with open("/proc/%d/task/%d/children" % (daemon, daemon)) as f:
            pids = [int(p) for p in f.read().split()]
        for pid in pids:
            try:
                os.kill(pid, signal.SIGSTOP)
                if comm(pid).startswith("jobprof-writer"[:15]):
                    return [pid]
                os.kill(pid, signal.SIGCONT)
            except OSError:
                continue  # it has gone
    raise Failed("no writer could be caught in %d s" % seconds)


def writer_stopped():
    """The real one under SIGSTOP, somewhere between its first and its last system call."""
    what = "a writer that stands still"
    d = RootedDaemon("ws")
    d.start()
    job = new_job()
    p = d.step(job, 0, [tool("jpduty"), "-o", d.dir + "/account", "0.01", "0.05"])
    pids = catch_writer(d.proc.pid, 20)
    size = in_use(d.journals()[0])
    time.sleep(0.6)
    is_true("%s: rows go on" % what, in_use(d.journals()[0]) > size, "no more rows")
    d.end(signal.SIGKILL)
    wait_until(lambda: not os.path.exists("/proc/%d" % pids[0]), 5, "the writer to end with jobprofd")
    finish_repaired(what, d, job, p)


def writer_dies():
    what = "a writer that dies"
    d, job, p = broken_writer(what, "/bin/false")
    d.wait_said("cannot write %d_0_.* as uid .*: its writer ended with status 1" % job)
    ok("%s: said" % what)
    n = len(re.findall("cannot write %d_0_" % job, d.said()))
    is_true("%s: tried again, not in a loop" % what, 1 <= n <= 4, "%d times" % n)
    d.end(signal.SIGUSR1)
    finish_repaired(what, d, job, p)


def writer_missing():
    what = "no writer"
    d, job, p = broken_writer(what, "/nonexistent/writer")
    d.wait_said("cannot run /nonexistent/writer: No such file.*Writer=")
    ok("%s: said" % what)
    d.end(signal.SIGUSR1)
    finish_repaired(what, d, job, p)


def flip(path, at, n=1):
    with open(path, "r+b") as f:
        f.seek(at)
        old = f.read(n)
        f.seek(at)
        f.write(bytes(x ^ 0x5a for x in old))


def damaged_journals():
    d = RootedDaemon("dj")
    d.start()
    jobs = [new_job() for _ in range(3)]
    steps = [d.step(j, 0, [tool("jpduty"), "0.002", "0.02"]) for j in jobs]
    wait_until(lambda: len(d.journals()) == 3, 10, "three journals")
    time.sleep(2)  # ten rows: a busy machine leaves some out
    d.end(signal.SIGKILL)
    for p in steps:
        p.terminate()
        p.wait()
    head, middle, whole = (glob.glob("%s/steps/%d_0_*" % (d.state, j))[0] for j in jobs)
    flip(head, 3)
    flip(middle, in_use(middle) - 700, 64)
    empty = d.state + "/steps/1_0_x.h5.1.journal"
    text = d.state + "/steps/2_0_x.h5.1.journal"
    open(empty, "w").close()
    first = d.state + "/steps/7_0_x.h5.1.journal"
    with open(whole, "rb") as f, open(first, "wb") as to:
        to.write(f.read(first_frame_end(whole) - 5))
    with open(text, "w") as f:
        f.write("this is not a journal at all, only somebody's notes\n" * 20)
    unborn = [d.state + "/steps/5_0_x.h5.1.journal.new", d.state + "/runs/5_0_x.h5.1.journal.new"]
    young = d.state + "/runs/6_0_x.h5.1.journal.new"
    os.makedirs(d.state + "/runs", exist_ok=True)
    for path in unborn + [young]:
        open(path, "w").close()
    os.utime(unborn[1], (time.time() - 100,) * 2)
    os.mkdir(d.state + "/steps/3_0_x.h5.1.journal")
    os.symlink("/etc/passwd", d.state + "/steps/4_0_x.h5.1.journal")
    passwd = open("/etc/passwd", "rb").read()
    d.start()
    for path, what in ((head, "magic flipped"), (text, "text")):
        is_true("journal with its %s: said and left" % what, os.path.exists(path) and
                re.search(re.escape(path) + " is not a usable journal.*left where it is", d.said()),
                d.said()[-400:])
    for job, what in ((jobs[1], "bytes flipped in the middle"), (jobs[2], "no damage")):
        rows = task_rows(d.file(job, 0))
        is_true("journal with %s: its rows are in the file" % what, len(rows) >= 5, "%d" % len(rows))
    is_true("journals whose makers were killed: gone", not any(os.path.exists(p) for p in unborn + [first]),
            d.journals() + d.journals("runs"))
    is_true("a journal that a jobprof run may be making: left", os.path.exists(young), young)
    is_true("journal that is a link: not followed", open("/etc/passwd", "rb").read() == passwd, "changed")
    wait_until(lambda: not any(os.path.exists(p) for p in (middle, whole, empty)), 20,
               "journals to go: %s" % d.journals())
    works(d, "damaged journals: jobprofd goes on")
    is_equal("damaged journals: a clean end", d.end(), 0)


def damaged_files():
    d = tmpdir("h5")
    r, good = run_jobprof([tool("jphold"), "spin=0.3"], 0.1)
    data = open(good, "rb").read()
    wrong = {"empty": b"", "text": b"hello\n" * 100, "cut": data[:len(data) // 2],
             "cut by one": data[:-1], "magic": b"\x88" + data[1:], "superblock": data[:20] + b"\xff" * 40 + data[60:],
             "zeros behind its head": data[:512] + b"\0" * (len(data) - 512)}
    for name, content in wrong.items():
        path = os.path.join(d, name.replace(" ", "_") + ".h5")
        with open(path, "wb") as f:
            f.write(content)
        says("damaged file (%s): jobprof show" % name, sh([JOBPROF, "show", path]), 1, re.escape(path))
    with h5py.File(os.path.join(d, "foreign.h5"), "w") as f:
        f["x"] = numpy.arange(10)
    says("foreign HDF5 file: jobprof show", sh([JOBPROF, "show", f"{d}/foreign.h5"]), 1, "foreign.h5")
    says("no file: jobprof show", sh([JOBPROF, "show", "/nonexistent.h5"]), 1, "No such file")
    says("directory: jobprof show", sh([JOBPROF, "show", d]), 1, "no profile in this directory: its .h5 files cannot be read")
    rnd = numpy.random.default_rng(1)
    crashed = []
    for i in range(40):
        bent = bytearray(data)
        for at in rnd.integers(0, len(data), 8):
            bent[at] ^= int(rnd.integers(1, 256))
        path = os.path.join(d, "bent.h5")
        with open(path, "wb") as f:
            f.write(bent)
        p = sh([JOBPROF, "show", path])
        if p.returncode not in (0, 1):
            crashed.append("%d: status %d %s" % (i, p.returncode, p.stderr[-100:]))
    is_equal("40 files with random bytes changed: jobprof show ends by itself", crashed[:2], [])


def vanishing():
    d = RootedDaemon("va", MaxSlots="2048")
    d.start()
    before = len(d.said())
    root = d.v2_step(new_job(), 0).rpartition("/job_")[0]
    os.makedirs(root)
    for i in range(300):
        job = new_job()
        for sub in ("", "/step_0", "/step_0/user", "/step_0/user/task_0"):
            os.mkdir("%s/job_%d%s" % (root, job, sub))
        if i % 10 == 0:
            time.sleep(0.01)
        for sub in ("/step_0/user/task_0", "/step_0/user", "/step_0", ""):
            os.rmdir("%s/job_%d%s" % (root, job, sub))
    works(d, "300 cgroups vanish while they are read: jobprofd goes on")
    wait_until(lambda: not d.journals(), 30, "the files of %s" % d.journals()[:3])
    bad = [l for l in d.said()[before:].splitlines() if re.search("cannot|error|killed|unknown", l)]
    is_equal("300 cgroups vanish while they are read: nothing to complain about", bad[:3], [])
    is_equal("300 cgroups vanish while they are read: a clean end", d.end(), 0)


HOSTILE = ["%s%n%s%n", "a\nb", "..", "...", "..x", "x" * 240, "\u00e4\u00f6\u00fc\u2603", "\x01\x1b[31mred", "-1", "0x",
           "99999999999", "", "0 ", "+1", "0+", "1+2+3", "4294967295", "007", "-", "a;rm -rf b", "$(id)",
           "'\"", "\\", "\xff"]


def hostile_tree(d, top, make):
    """A process in a directory of every hostile name."""
    n = 0
    for name in HOSTILE:
        path = os.path.join(top, *make(name))
        if len(os.path.basename(path).encode()) > 255:
            continue
        try:
            os.makedirs(path, exist_ok=True)
        except OSError:
            continue  # the kernel allows no such name
        p = start([tool("jphold"), "sleep=0.4"], stdout=subprocess.DEVNULL)
        try:
            with open(path + "/cgroup.procs", "w") as f:
                f.write(str(p.pid))
            n += 1
        except OSError:
            pass
    return n


def hostile_names():
    d = RootedDaemon("ho", MaxSlots="2048")
    root = d.cgroup_root()
    d.configure(CgroupPattern="%s/box/box-*//t-*" % d.root)
    d.start()
    scope = root + "/system.slice/slurmstepd.scope"
    n = hostile_tree(d, scope, lambda x: ["job_9", "step_" + x, "user", "task_0"])
    n += hostile_tree(d, scope, lambda x: ["job_" + x, "step_0", "user", "task_" + x])
    n += hostile_tree(d, root + "/box", lambda x: ["box-" + x, "t-" + x])
    if cgroup1_mount("freezer"):
        n += hostile_tree(d, d.cgroup_root(cgroup1_mount("freezer")) + "/slurm",
                          lambda x: ["uid_" + x, "job_9", "step_0", "task_0"])
    time.sleep(0.8)
    for top in list(d._dirs):
        rmtree_cgroup(top)
        os.mkdir(top)
    is_true("hostile names: they were made", n > 40, "only %d" % n)
    works(d, "hostile names: jobprofd goes on")
    wait_until(lambda: not d.journals(), 30, "the files of %s" % d.journals()[:3])
    odd = [l for l in d.said().split("\n") if l and not re.match(r"([\d-]+ [\d:]+ )?jobprof(d|-writer): ", l)]
    raw = [l for l in d.said() if l != "\n" and ord(l) < 32 or l == "\x7f"]
    is_true("hostile names: no log line is forged", not odd and not raw, "%s %s" % (odd[:2], raw[:2]))
    outside = [p for p in os.listdir(d.dir) if p not in (
        "hdf5", "state", "jobprof.conf", "log", "notify", "socket", "socket.root")]
    is_equal("hostile names: nothing is written elsewhere", outside, [])
    names = [os.path.basename(f) for f in d.files()]
    bad = [x for x in names if any(ord(c) < 32 for c in x) or x.startswith(("..", "-"))]
    is_equal("hostile names: no file has one", bad, [])
    is_equal("hostile names: every file opens", [f for f in d.files() if not read_all(f)], [])
    is_equal("hostile names: a clean end", d.end(), 0)


def removed_while_looked_at():
    """Steps whose directories go when a scan has just opened them: the kernel has told of each
    already, and none is found a second time."""
    if not shutil.which("strace"):
        raise Skipped("no strace")
    d = RootedDaemon("rl", MaxSlots="2048").start()
    job, made, ready = new_job(), [], threading.Event()
    # whose the others are, in which nothing runs
    long = d.step(job, 9999, [tool("jpduty"), "0.002", "0.02"])
    wait_until(d.journals, 10, "the journal of a step")
    d.end(signal.SIGKILL)
    base = os.path.dirname(d.v2_step(job, 0))
    os.makedirs(base, exist_ok=True)

    def churn():
        while not ready.is_set():
            made.append(len(made))
            os.mkdir("%s/step_%d" % (base, made[-1]))
            time.sleep(0.008)
            os.rmdir("%s/step_%d" % (base, made[-1]))
            time.sleep(0.002)

    t = threading.Thread(target=churn)
    t.start()
    d.wrap = ["strace", "-qq", "-o", "/dev/null", "-e", "inject=openat:delay_exit=8000"]
    try:
        d.spawn()
        d.ready(60)
    finally:
        ready.set()
        t.join()
        for p in children(d.proc.pid):
            os.kill(p, signal.SIGKILL)
        d.proc.wait(20)
    d.wrap = []
    d.start()
    d.file(job, made[-1], seconds=60)
    long.terminate()
    long.wait()
    wait_until(lambda: not d.journals(), 60, "the files of %s" % d.journals()[:3])
    names = [os.path.relpath(f, d.hdf5) for f in d.files() if "/%d_" % job in f]
    wanted = {"root/%d_%d_%s.h5" % (job, n, d.name) for n in made + [9999]}
    is_equal("removed while looked at: a file of each step, and no other",
             (len(names), set(names) ^ wanted), (len(wanted), set()))
    is_equal("removed while looked at: a clean end", d.end(), 0)


if __name__ == "__main__":
    need_bpf()
    run_five_at_a_time([writer_hangs, writer_stopped, writer_dies, writer_missing, hostile_names,
                        vanishing, damaged_journals, damaged_files, removed_while_looked_at])
