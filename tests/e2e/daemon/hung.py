#!/usr/bin/python3
# timeout: 120
# SPDX-License-Identifier: GPL-2.0-or-later
"""A job's process whose memory map is locked for ever (tests/tools/jphang), or that gives jobprofd what never ends, is no
other job's trouble: jobprofd writes their rows and files, ends when asked to, and begins again beside it."""

import sys
sys.path.insert(0, sys.path[0] + "/../../lib")
from daemonlib import *
import socketlib as c

NOBODY = 65534
MUTE = 54322  # tests/stub/nss_jptest.c
CROWD = 200
STRINGS, LARGEST = 15, 128000  # that fit into an environment

d = tree = None


class Hung:
    """A step whose task hangs. Its process is killed at the end, whatever comes."""

    def __init__(self, step_args, cmd=(), args=()):
        self.job = new_job()
        self.state = os.path.join(tmpdir("hung"), "pid")
        self.step = Stepd(self.job, 0, [*cmd, tool("jphang"), "-o", self.state, *args],
                          step_args(tree.job(self.job) + "/step_0"))

    def __enter__(self):
        wait_until(lambda: os.path.exists(self.state) or self.step.proc.poll() is not None, 20,
                   "the task to hang")
        if not os.path.exists(self.state):
            raise Skipped("no process can be hung here: " + self.step.out().strip())
        self.pid = int(written(self.state))
        return self

    def kill(self):
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            self.pid = 0
            self.step.end()

    def __exit__(self, *args):
        self.kill()


def is_locked(pid, file="environ"):
    """By cat, which can be killed."""
    try:
        subprocess.run(["cat", "/proc/%d/%s" % (pid, file)], stdout=subprocess.DEVNULL, timeout=0.5)
    except subprocess.TimeoutExpired:
        return True
    return False


def others_go_on(name, rows_min=3):
    """Another user's job beside it has its rows, its attributes and its file."""
    job, account = new_job(), os.path.join(tmpdir("account"), "a")
    os.chmod(os.path.dirname(account), 0o777)
    s = Stepd(job, 0, [tool("jpspin"), "-o", account, "1"],
              v2_task(tree.job(job) + "/step_0", ["-u", NOBODY, "-e", "SLURM_JOB_NAME=beside"]))
    s.end()
    path = d.file(job, 0, "nobody")
    rows = task_table(path)
    is_true(name + ": another job has its rows", len(rows) >= rows_min, len(rows))
    is_near(name + ": and its CPU time", whole(path, "Tasks/0", "CPUTime"),
            *own_cpu(read_account(account), 0.01, 0.01))
    is_equal(name + ": and its name", attrs_of(path).get("Job Name"), "beside")


def ends(name, sig=signal.SIGTERM):
    began = time.monotonic()
    is_equal(name + ": jobprofd ends", d.end(sig, 20), 0)
    took = time.monotonic() - began
    is_true(name + ": soon", took < 15, took)


def first_step():
    """The first one of a fresh jobprofd, its tasks in a cgroup that they share."""
    d.start()
    with Hung(v2_shared) as h:
        is_true("first step: its environment cannot be read", is_locked(h.pid), "it can")
        others_go_on("first step")
        h.kill()
        path = d.file(h.job, 0)
        is_equal("first step: its file is there", os.path.exists(path), True)
    ends("first step")


def restart():
    """It hangs when jobprofd begins, and when it takes up what another one has left."""
    with Hung(v2_shared) as h:
        is_true("restart: its environment cannot be read", is_locked(h.pid), "it can")
        d.start()
        others_go_on("restart")
        ends("restart, handed over", signal.SIGUSR1)
        d.start()
        others_go_on("restart, taken up")
        wait_until(lambda: "cannot be read" in d.said(), 10, "jobprofd to give up")
        h.kill()
        path = d.file(h.job, 0)
        attrs = attrs_of(path)
        is_true("restart: the file says so", attrs.get("Unread Processes", 0) >= 1, attrs)
        is_equal("restart: whose it was is not known", attrs["Number of Tasks"], 0)
        is_true("restart: it has rows", len(table(path, "Step")) >= 5, len(table(path, "Step")))
    ends("restart")


def libraries():
    """They cannot be read before Linux 6.17; the program, and where it may run, can."""
    d.start()
    with Hung(v2_task) as h:
        if is_locked(h.pid, "maps"):
            wait_until(lambda: "are missing" in d.said(), 15, "jobprofd to give up")
        others_go_on("libraries")
        time.sleep(1)
        h.kill()
        with h5py.File(d.file(h.job, 0), "r") as f:
            attrs = dict(f[d.name]["Tasks/0"].attrs)
        is_equal("libraries: the program is known", os.path.basename(attrs.get("Executable", "")),
                 "jphang")
        is_true("libraries: its CPUs are known", attrs.get("Allowed CPUs", [0])[0] > 0, attrs)
    with Hung(v2_task):
        time.sleep(1)
        ends("libraries")


def can_write(pid, name):
    """Whether a write to the file of that name that a process has open ends."""
    fd = next(f for f in glob.glob("/proc/%d/fd/*" % pid) if name in os.readlink(f))
    script = "import os, sys; f = os.open(sys.argv[1], os.O_WRONLY); os.pwrite(f, b'x', 64)"
    p = start([sys.executable, "-c", script, fd])
    try:
        return p.wait(1) == 0
    except subprocess.TimeoutExpired:
        return False  # it ends with the process that holds the file


def region_ring():
    """The memory of a process's regions, to which the process writes for ever: jobprofd reads there, and writes nothing."""
    d.start()
    with Hung(v2_task, args=["-r", d.settings["Socket"]]) as h:
        is_equal("region ring: nobody can write to the file", can_write(h.pid, "jobprof regions"), False)
        others_go_on("region ring")
        ends("region ring, handed over", signal.SIGUSR1)
        d.start()
        others_go_on("region ring, taken up")
        h.kill()
        is_true("region ring: its step has rows", len(table(d.file(h.job, 0), "Step")) >= 5, d.said())
    ends("region ring")


def lingering():
    """A connection whose other end, which is returned too, reads nothing."""
    listener = socket.create_server(("127.0.0.1", 0))
    near = socket.create_connection(listener.getsockname())
    far = listener.accept()[0]
    near.setblocking(False)
    try:
        while True:
            near.send(bytes(1 << 16))
    except BlockingIOError:
        pass
    return near, far


def given_files():
    """A process gives files to jobprofd whose last close would not end: nobody closes them."""
    d.start()
    s, left = [c.connect(d.settings["Socket"]) for _ in range(2)]
    d.tell(signal.SIGSTOP)  # so that it is the last who has them
    far = []
    for to in (s, left):
        near, end = lingering()
        far.append(end)
        try:
            socket.send_fds(to, [c.live(1)], [near.fileno()])
            near.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 60))
        except PermissionError:
            pass  # Linux 6.16 and later
        near.close()
    left.close()
    d.tell(signal.SIGCONT)
    others_go_on("given files")
    ends("given files")


def bytes_read(pid):
    with open("/proc/%d/io" % pid) as f:
        return int(f.readline().split()[1])


def large_environments():
    """Many processes of one task with all the environment that fits: it is read a few times, however
    many there are, and the task gets its number."""
    job = new_job()
    state = os.path.join(tmpdir("crowd"), "pid")
    more = sum((["-e", "V%d=%s" % (i, "x" * LARGEST)] for i in range(STRINGS)), [])
    cmd = "for i in $(seq %d); do sleep 300 & done; echo > %s; wait" % (CROWD, state)
    base = tree.job(job) + "/step_0"
    s = Stepd(job, 0, ["sh", "-c", cmd], v2_shared(base, more))
    wait_until(lambda: os.path.exists(state) or s.proc.poll() is not None, 30, "the crowd")
    is_equal("large environments: the crowd is there", s.proc.poll(), None)
    d.start()
    wait_until(lambda: "profiling %d_0" % job in d.said(), 10, "the step")
    time.sleep(1)
    others_go_on("large environments")
    is_true("large environments: not once for each process",
            bytes_read(d.proc.pid) < CROWD * STRINGS * LARGEST / 10, bytes_read(d.proc.pid))
    with open(base + "/user/task_special/cgroup.procs") as f:
        for pid in f.read().split():
            os.kill(int(pid), signal.SIGKILL)
    s.end()
    is_equal("large environments: the task has its number", tasks_of(d.file(job, 0)), [0])
    ends("large environments")


def name_service():
    """It has no answer for a user: that user's directory has the number, others have their names."""
    conf, libs = os.path.join(tmpdir(), "nsswitch.conf"), tmpdir()
    with open(conf, "w") as f:
        f.write("passwd: files jptest\n")
    shutil.copy(os.path.join(BUILD, "tests", "stub", "nss_jptest.so"),
                os.path.join(libs, "libnss_jptest.so.2"))
    if b"__asan_init" in open(JOBPROFD, "rb").read():
        raise Skipped("the name service is built for sanitizers, which other programs cannot load")
    global d
    d = Daemon(wrap=["env", "LD_LIBRARY_PATH=" + libs, "unshare", "-m", "--propagation", "private",
                     "sh", "-c", 'mount --bind "$0" /etc/nsswitch.conf && exec "$@"', conf])
    d.start()
    job = new_job()
    s = Stepd(job, 0, [tool("jpspin"), "4"], v2_task(tree.job(job) + "/step_0", ["-u", MUTE]))
    others_go_on("name service", 1)  # its rows begin when its name is known
    s.end()
    path = d.file(job, 0, str(MUTE))
    is_true("name service: the job of whom it does not know has its rows",
            len(task_table(path)) >= 3, len(task_table(path)))
    is_true("name service: jobprofd says so", "name service gives no answer" in d.said(), d.said())
    ends("name service")


if __name__ == "__main__":
    need_bpf()
    tree = Trees()
    d = Daemon()
    run_tests((first_step, restart, libraries, region_ring, given_files, large_environments, name_service))
