#!/usr/bin/python3
# runs: in full
# SPDX-License-Identifier: GPL-2.0-or-later
"""What users may take of jobprofd's socket: memory of answers they do not read, connections,
messages a second. And that root is heard meanwhile."""

import mmap
import pwd
import select
import sys
sys.path.insert(0, sys.path[0] + "/../../lib")
from daemonlib import *
import socketlib as c

NOBODY = pwd.getpwnam("nobody").pw_uid
RATE, BURST = 4000, 8000  # messages of a user (user/daemon/socket/quota.c)
MANY = 512
OTHER = pwd.getpwnam("daemon").pw_uid


def open_many(path, n):
    conns = []
    while len(conns) < n:
        try:
            conns.append(c.connect(path))
        except OSError:
            time.sleep(0.001)
    return conns


def ask_deaf(path, job):
    """Many that ask for as much as the socket takes, and never read."""
    conns = open_many(path, MANY)
    for s in conns:
        s.setblocking(False)
    asked, end = 0, time.monotonic() + 4
    while time.monotonic() < end:
        for s in conns:
            try:
                for _ in range(50):
                    s.send(c.live(int(job)))
                    asked += 1
            except OSError:
                pass
    print(asked, flush=True)
    time.sleep(30)


def idle(path, _):
    """One that says nothing, and one that has said something: how long they are let be."""
    conns = open_many(path, 2)
    conns[1].send(c.live(1))
    conns[1].recv(4096)
    began = time.monotonic()
    for s in conns:
        s.settimeout(20)
        try:
            gone = not s.recv(4096)
        except OSError:
            gone = False
        print("%s %.1f" % (gone, time.monotonic() - began), flush=True)


def connect_flood(path, _):
    """Connections that come and go, as many as can be."""
    print("begun", flush=True)
    while True:
        s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        s.setblocking(False)
        try:
            s.connect(path)
        except OSError:
            pass
        s.close()


def ask_much(path, seconds):
    """Asks, reads, asks: how many answers one user gets in so many seconds."""
    conns = open_many(path, 64)
    got, began = 0, time.monotonic()
    end = began + float(seconds)
    for s in conns:
        s.setblocking(False)
    poll = select.poll()
    by_fd = {s.fileno(): s for s in conns}
    for fd in by_fd:
        poll.register(fd, select.POLLIN)
    question = c.live(1)
    for s in conns:
        for _ in range(8):
            s.send(question)
    while time.monotonic() < end:
        for fd, _ in poll.poll(100):
            try:
                while True:
                    if not by_fd[fd].recv(4096):
                        raise Failed("put out after %d answers" % got)
                    got += 1
                    by_fd[fd].send(question)
            except OSError:
                pass
    print(got, time.monotonic() - began, flush=True)


def connected(path, n):
    """As many of n connections as are taken."""
    conns = []
    for _ in range(int(n)):
        s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        s.setblocking(False)
        try:
            s.connect(path)
            conns.append(s)
        except OSError:
            time.sleep(0.001)
    return conns


def hold_many(path, n):
    """As many connections as are taken, kept as long as they are."""
    conns = connected(path, n)
    print(len(conns), flush=True)
    time.sleep(30)


def break_rules(path, seconds):
    """Connections that are listened to, say what is no message, and go a moment later."""
    end = time.monotonic() + float(seconds)
    n = 0
    signal.alarm(10)  # where nobody listens any more
    while time.monotonic() < end:
        conns = open_many(path, 8)
        time.sleep(0.01)
        for s in conns:
            s.send(b"no message")
        time.sleep(0.02)
        for s in conns:
            s.close()
        n += len(conns)
    print(n, flush=True)


def ranks(path, seconds):
    """128 connections, ten rows a second each."""
    conns = open_many(path, 128)
    for i, s in enumerate(conns):
        s.send(c.table(0, "solver", [("X", "", c.U64, c.GAUGE)]))
        s.recv(4096)
    sent = lost = 0
    began = time.monotonic()
    for k in range(int(10 * float(seconds))):
        for s in conns:
            s.setblocking(False)
            try:
                s.send(c.rows(0, [k], flags=0))
                sent += 1
            except OSError:
                lost += 1
        time.sleep(max(0, began + (k + 1) / 10 - time.monotonic()))
    print(sent, lost, flush=True)


def ask_some(path, n):
    """So many questions, each over a connection of its own: how many had an answer within two seconds."""
    got = 0
    for _ in range(int(n)):
        s = open_many(path, 1)[0]
        s.settimeout(2)
        try:
            s.send(c.live(1))
            got += len(s.recv(4096)) > 0
        except OSError:
            pass
        s.close()
    print(got, flush=True)


def take_ring(s):
    s.send(c.message(c.RING, b"", flags=0))
    _, fds, _, _ = socket.recv_fds(s, 4096, 1)
    return mmap.mmap(fds[0], c.RING_MEMORY.itemsize)


def fill_rings(path, n):
    """So many processes, each with ten connections and rings that are always full: regions without an end."""
    os.nice(19)
    for _ in range(int(n) - 1):
        if not os.fork():
            break
    conns = open_many(path, 10)
    rings = [numpy.frombuffer(take_ring(s), c.RING_MEMORY) for s in conns]
    print("begun", flush=True)
    begins = numpy.arange(c.RING_RECORDS) % 2 == 0
    while True:
        for r in rings:
            head = int(r["head"][0])
            records = r["record"][0]
            records["time_ns"] = time.monotonic_ns() - 1000
            records["region"] = numpy.where(begins, 0, 1 << 31)
            records["thread"] = 1
            records["seq"] = numpy.arange(head, head + c.RING_RECORDS) + 1
            r["name"][0, 0] = b"flood"
            r["id"] = os.getpid()
            r["head"] = head + c.RING_RECORDS
        time.sleep(0.01)  # for the reader


def ask_blindly(path, n):
    """Asks as much as can be sent, over as many of so many connections as are let in; says when it is held up."""
    conns, held_up = connected(path, n), False
    if not conns:
        print("held up", flush=True)
    question = c.live(1)
    while True:
        for s in conns:
            try:
                s.send(question)
            except OSError:
                if not held_up:
                    print("held up", flush=True)
                held_up = True
            try:
                s.recv(4096)
            except OSError:
                pass


class Crowd:
    """Runs one of the functions above as nobody or another user, in a cgroup or where we are."""

    def __init__(self, what, d, arg="0", cgroup=None, uid=NOBODY):
        def enter():
            if cgroup:
                move(os.getpid(), cgroup)
            os.setgroups([])
            os.setgid(uid)
            os.setuid(uid)
        self.proc = start(["/usr/bin/python3", os.path.realpath(__file__), "--as",
                           what.__name__, d.settings["Socket"], str(arg)], stdout=subprocess.PIPE, text=True,
                          preexec_fn=enter)

    def line(self):
        words = self.proc.stdout.readline().split()
        if not words:
            raise Failed("the crowd is gone")
        return words

    def end(self):
        self.proc.kill()
        self.proc.wait()


def rss_mb(d):
    with open("/proc/%d/status" % d.proc.pid) as f:
        return int(next(l for l in f if l.startswith("VmRSS")).split()[1]) / 1024


def cpu_s(d):
    with open("/proc/%d/stat" % d.proc.pid) as f:
        return sum(map(int, f.read().rsplit(")", 1)[1].split()[11:13])) / os.sysconf("SC_CLK_TCK")


class Job:
    """A step of nobody's, whose rows can be asked for."""

    def __init__(self, n=1, uid=NOBODY):
        self.job, self.holds = new_job(), Holds(range(n))
        self.base = tree.job(self.job) + "/step_0"
        self.step = Stepd(self.job, 0, self.holds.cmd("park"), v2_task(self.base, ["-u", uid]),
                          n=n)
        self.holds.wait()
        self.task = self.base + "/user/task_0"

    def end(self):
        self.holds.go()
        return self.step.end()


def asked_as_root(d, job):
    """What was wrong with 100 connections made as the Slurm plugins do."""
    said = set()
    for _ in range(100):
        p = subprocess.run([JOBPROF, "live", "-j", str(job)], capture_output=True, text=True,
                           env=plain_env(JOBPROF_SOCKET=d.settings["Socket"]))
        if p.returncode:
            said.add(p.stderr)
    return said


def memory():
    """512 that ask and do not read, from outside and from inside of a job."""
    job = Job(16)
    time.sleep(3 * INTERVAL)
    for where, cgroup in (("outside", None), ("inside", job.task)):
        before = rss_mb(main)
        crowd = Crowd(ask_deaf, main, job.job, cgroup)
        time.sleep(3)
        grown = rss_mb(main) - before
        asked = int(crowd.line()[0])
        print("%s: %.1f MB, %d asked" % (where, grown, asked))
        is_true("%d from %s of a job ask and do not read: jobprofd grows by less than 8 MB"
                % (MANY, where), grown < 8 and asked > 5000, "%.1f MB, %d asked" % (grown, asked))
        crowd.end()
    is_true("who does not read is put out, which is said", "does not read: put out" in main.said(),
            main.said()[-500:])
    is_equal("the job's status", job.end(), 0)


def a_large_answer():
    """More than what a user may leave unread, read as it comes."""
    job = Job(120)
    time.sleep(5 * INTERVAL)
    p = subprocess.run(["runuser", "-u", "nobody", "--", public_jobprof(), "live", "-j",
                        str(job.job), "--format", "json"], capture_output=True, text=True,
                       env=plain_env(JOBPROF_SOCKET=main.settings["Socket"]))
    tasks = len(re.findall(r'"Tasks/\d+"', p.stdout))
    is_true("an answer of 120 tasks is whole", p.returncode == 0 and tasks == 120,
            (p.returncode, tasks, p.stderr, p.stdout[:300]))
    is_equal("its job's status", job.end(), 0)


def root_is_heard():
    job = Job()
    time.sleep(3 * INTERVAL)
    is_equal("root's socket is root's", [oct(os.stat(main.settings["Socket"] + s).st_mode & 0o777)
                                         for s in ("", ".root")], ["0o666", "0o600"])
    crowds = [Crowd(connect_flood, main) for _ in range(2)]
    for k in crowds:
        k.line()
    before, began = cpu_s(main), time.monotonic()
    time.sleep(2)
    share = (cpu_s(main) - before) / (time.monotonic() - began)
    print("jobprofd's share of a core in a flood of connections: %.2f" % share)
    is_equal("a flood of connections: root gets in", asked_as_root(main, job.job), set())
    for k in crowds:
        k.end()
    is_equal("the flooded job's status", job.end(), 0)


def work_is_bounded():
    before, began = cpu_s(main), time.monotonic()
    got, seconds = map(float, Crowd(ask_much, main, 4).line())
    share = (cpu_s(main) - before) / (time.monotonic() - began)
    print("jobprofd's share of a core in a flood of messages: %.2f, %d answers" % (share, got))
    is_true("a user gets so many answers a second and no more", 100 < got <= BURST + RATE *
            seconds * 1.1, "%d in %.1f s" % (got, seconds))
    is_true("that is said", "messages a second: what is more waits" in main.said(),
            main.said()[-500:])


def rings_are_bounded():
    """Rings that are always full: what is read of them is bounded, whatever is there, and others have their rows."""
    job, other = Job(), Job()
    time.sleep(2 * INTERVAL)
    crowd = Crowd(fill_rings, main, 16, job.task)
    crowd.line()
    time.sleep(1)
    before, began = cpu_s(main), time.monotonic()
    answers = set()
    while time.monotonic() < began + 5:
        answers |= asked_as_root(main, other.job)
    share = (cpu_s(main) - before) / (time.monotonic() - began)
    with open(job.task + "/cgroup.kill", "w") as f:
        f.write("1")
    crowd.end()
    job.step.end()
    other.end()
    gaps = numpy.diff(task_table(main.file(other.job, 0, "nobody"))["TimeNS"].astype("int64")) / 1e9
    print("jobprofd's share of a core with rings that are always full: %.2f, the longest row of others %.2f s" % (
        share, gaps.max()))
    is_equal("rings: root gets in", answers, set())
    is_true("rings: their reader does not take a core", share < 0.6, share)
    is_true("rings: others have their rows", gaps.max() < 5 * INTERVAL + 0.3, gaps.max())
    path = main.file(job.job, 0, "nobody")
    is_true("rings: what was not read is counted", attrs_of(path).get("Lost Regions", 0) > 1e6, attrs_of(path))


def many_ids_of_a_user():
    """A user has any number of ids (subuid(5)): in a job they are one user, elsewhere all such have a quarter."""
    job, other = Job(), Job(uid=OTHER)
    time.sleep(2 * INTERVAL)
    for where in (job.task, None):
        crowds = [Crowd(ask_blindly, main, 400, where, 300000 + i) for i in range(6)]
        for k in crowds:
            k.line()
        answers = Crowd(ask_some, main, 50, other.task, OTHER).line()
        # without a quota of all of them none is; a busy machine may take two seconds for some
        is_true("many ids %s a job: another user's questions are answered" % ("in" if where else "outside of"),
                int(answers[0]) >= 25, answers)
        for k in crowds:
            k.end()
    is_equal("the job's status", [job.end(), other.end()], [0, 0])


def ranks_pass():
    job = Job()
    time.sleep(2 * INTERVAL)
    sent, lost = map(int, Crowd(ranks, main, 3, job.task).line())
    is_equal("128 ranks at 10 Hz: none is told to wait", [sent, lost], [128 * 30, 0])
    time.sleep(0.5)
    is_equal("the ranks' job's status", job.end(), 0)
    path = main.file(job.job, 0, "nobody")
    is_equal("128 ranks at 10 Hz: every row is in the file", len(table(path, "User/solver")), sent)


def put_out_while_children_begin():
    """A child has a copy of every connection until it closes them: the watch of one that was put out
    must end all the same. Memory that was given back is overwritten here, so that its use shows."""
    d = Daemon(INTERVAL, ProfileHDF5Default="Task", wrap=[
        "env", "MALLOC_PERTURB_=90", "LD_PRELOAD=" + os.path.join(BUILD, "tests/stub/closelate.so")])
    if b"__asan_init" in open(JOBPROFD, "rb").read():
        raise Skipped("sanitizers must be loaded first")
    d.start()
    jobs = [new_job() for _ in range(4)]
    steps = [Stepd(j, 0, ["sleep", "4"], v2_task(tree.job(j) + "/step_0")) for j in jobs]
    n = int(Crowd(break_rules, d, 3).line()[0])
    for s in steps:
        s.end()
    is_true("%d were put out while children began: jobprofd lives" % n, d.proc.poll() is None and n,
            (d.proc.poll(), d.said()[-300:]))
    for j in jobs:
        d.file(j, 0)
    is_equal("and ends well", d.end(), 0)


def few_files():
    """Connections get a quarter of the files that jobprofd may open, a user less: rows and journals
    need some."""
    d = Daemon(INTERVAL, ProfileHDF5Default="Task", wrap=["prlimit", "--nofile=300:300"]).start()
    job = new_job()
    s = Stepd(job, 0, ["sleep", "3"], v2_task(tree.job(job) + "/step_0"))
    crowd = Crowd(hold_many, d, 400)
    crowd.line()
    more = new_job()
    later = Stepd(more, 0, ["sleep", "1"], v2_task(tree.job(more) + "/step_0"))
    before, began = cpu_s(d), time.monotonic()
    s.end()
    later.end()
    share = (cpu_s(d) - before) / (time.monotonic() - began)
    print("jobprofd's share of a core with a crowd at the door: %.2f" % share)
    for j in (job, more):
        d.file(j, 0)
    is_equal("few files: none is wanting", re.findall("Too many open files", d.said()), [])
    crowd.end()
    roots = [c.connect(d.settings["Socket"]) for _ in range(400)]
    wait_until(lambda: "no connection is taken now" in d.said(), 10, "root to need all files")
    before, began = cpu_s(d), time.monotonic()
    time.sleep(1)
    share = (cpu_s(d) - before) / (time.monotonic() - began)
    is_true("few files: who is not let in does not keep jobprofd busy", share < 0.5, share)
    for p in roots:
        p.close()
    is_equal("few files: jobprofd ends well", d.end(), 0)
    p = subprocess.run(["prlimit", "--nofile=64:64", JOBPROFD, "-f", "-c", d.conf],
                       capture_output=True, text=True)
    is_true("too few files: one line says so", p.returncode == 1 and re.fullmatch(
        r"[\d-]+ [\d:]+ jobprofd: 64 files may be open at once .*: 256 are needed, 8192 wanted\n", p.stderr),
        (p.returncode, p.stderr))


def idle_ones():
    crowd = Crowd(idle, main)
    for name in ("one that says nothing", "one that has asked"):
        gone, after = crowd.line()
        is_true("idle outside of jobs: %s is put out after 10 s" % name, gone == "True" and
                8 < float(after) < 15, (gone, after))


def public_jobprof():
    path = os.path.join(TMP, "jobprof")
    if not os.path.exists(path):
        shutil.copy(JOBPROF, path)
    return path


if sys.argv[1:2] == ["--as"]:
    globals()[sys.argv[2]](*sys.argv[3:])
else:
    need_bpf()
    INTERVAL = 0.2
    tree = Trees()
    main = Daemon(INTERVAL, ProfileHDF5Default="Task").start()
    os.chmod(os.path.realpath(TMP), 0o755)
    run_tests([a_large_answer, ranks_pass, work_is_bounded, rings_are_bounded, many_ids_of_a_user, memory, idle_ones,
               root_is_heard, put_out_while_children_begin, few_files])
