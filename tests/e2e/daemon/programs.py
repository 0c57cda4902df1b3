#!/usr/bin/python3
# timeout: 120
# SPDX-License-Identifier: GPL-2.0-or-later
"""What tasks and ranks execute, with which libraries, and where they may run, against /proc, readelf and lscpu."""

import sys
sys.path.insert(0, sys.path[0] + "/../../lib")
from daemonlib import *

INTERVAL = 0.2
SEEN = 1.7  # a task is looked at when it begins and about a second later


def attributes_of_task(path, task=0, series="Tasks"):
    with h5py.File(path, "r") as f:
        node = next(k for k in f if isinstance(f[k], h5py.Group))
        attrs = f[node]["%s/%d" % (series, task)].attrs
        plain = {k: numpy.ravel(attrs[k])[0] for k in attrs}
    return {k: v if isinstance(v, str) else int(v) for k, v in plain.items()}


def cpu_set(text):
    cpus = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        cpus |= set(range(int(first), int(last or first) + 1))
    return cpus


def nodes_of(cpus):
    nodes = glob.glob("/sys/devices/system/node/node[0-9]*/cpulist")
    return sum(bool(cpu_set(open(n).read()) & cpus) for n in nodes if open(n).read().strip())


def build_id(path):
    out = subprocess.run(["readelf", "-n", path], capture_output=True, text=True).stdout
    found = re.search(r"Build ID: (\w+)", out)
    return found.group(1) if found else None


def own_dir(name=""):
    path = os.path.join(tmpdir("programs"), name) if name else tmpdir("programs")
    os.makedirs(path, exist_ok=True)
    return path


class Parked:
    """A step of one task that parks after its work; cmd, before jphold: a command that begins it."""

    def __init__(self, *work, before=(), program=None):
        self.job, self.holds = new_job(), Holds("0")
        cmd = self.holds.cmd(*work, "park")
        if program:
            cmd[0] = program
        self.step = Stepd(self.job, 0, [*before, *cmd],
                          v2_task(tree.job(self.job) + "/step_0"))
        self.holds.wait()
        self.pid = self.holds.all[0].pid

    def end(self):
        time.sleep(SEEN)
        self.holds.go()
        self.step.end()
        return attributes_of_task(daemon.file(self.job, 0))


def program_and_libraries():
    d = own_dir()
    libs = ["libmpi.so.40.30.5", "libcudart.so.12", "libcuda.so.1", "libm-other.so.6"]
    p = Parked(*["file=%s/%s:1" % (d, lib) for lib in libs])
    with open("/proc/%d/maps" % p.pid) as f:
        maps = f.read()
    exe = os.readlink("/proc/%d/exe" % p.pid)
    got = p.end()
    is_true("the libraries are mapped", all(lib in maps for lib in libs), maps)
    is_equal("Executable", got.get("Executable"), exe)
    is_equal("Build Id", got.get("Build Id"), build_id(exe))
    is_equal("MPI Libraries", got.get("MPI Libraries"), "libmpi.so.40.30.5")
    is_equal("GPU Libraries", set(got.get("GPU Libraries", "").split(",")), set(libs[1:3]))


def cpus():
    """A task may be moved; the last CPUs that were seen are in the file."""
    cpu = max(os.sched_getaffinity(0))
    bound = Parked(before=["taskset", "-c", str(cpu)])
    moved = Parked()
    free = os.sched_getaffinity(moved.pid)
    want = os.sched_getaffinity(bound.pid)
    got = bound.end()
    os.sched_setaffinity(moved.pid, {min(free)})
    time.sleep(4)  # it is seen again after 5 s
    last = moved.end()
    for name, attrs, mask in (("bound", got, want), ("moved", last, {min(free)})):
        is_equal(name + ": Allowed CPUs", attrs.get("Allowed CPUs"), len(mask))
        is_equal(name + ": Allowed CPU List", cpu_set(attrs["Allowed CPU List"]), mask)
        is_equal(name + ": NUMA Nodes", attrs.get("NUMA Nodes", 0), nodes_of(mask))


def busiest_process():
    """The task is a shell; of its children one computes."""
    job = new_job()
    s = Stepd(job, 0, ["sh", "-c", "sleep 9 & %s %g; kill $!; true" % (tool("jpspin"), SEEN + 0.5)],
              v2_task(tree.job(job) + "/step_0"))
    s.end()
    is_equal("the busiest process", attributes_of_task(daemon.file(job, 0)).get("Executable"),
             os.path.realpath(tool("jpspin")))


def tasks_in_one_cgroup():
    """Each has its own program, though all are in one cgroup."""
    job = new_job()
    d = own_dir()
    for i in range(2):
        shutil.copy(tool("jpspin"), "%s/program%d" % (d, i))
    s = Stepd(job, 0, ["sh", "-c", '"$0$SLURM_PROCID" %g; true' % (SEEN + 1), d + "/program"],
              v2_shared(tree.job(job) + "/step_0"), n=2)
    s.end()
    path = daemon.file(job, 0)
    is_equal("tasks in one cgroup",
             [attributes_of_task(path, i).get("Executable") for i in range(2)],
             ["%s/program%d" % (d, i) for i in range(2)])


def ranks_of_launchers():
    """Two tasks have a launcher each, whose ranks have programs and CPUs of their own; a second one of the
    first task starts its rank 0 again, elsewhere."""
    free = os.sched_getaffinity(0)
    cpus = sorted(free)[0], sorted(free)[-1]
    for name, place in (("cgroups of their own", v2_task), ("one cgroup", v2_shared)):
        job, d = new_job(), own_dir(name.replace(" ", "_"))
        for rank in range(4):
            shutil.copy(tool("jpspin"), "%s/rank%d" % (d, rank))
        spin = "MV2_COMM_WORLD_RANK=%d taskset -c %d %s/rank%d %g & "
        launch = ("if [ $SLURM_PROCID = 0 ]; then " + spin % (0, cpus[1], d, 0, SEEN) + spin % (1, cpus[1], d, 1, SEEN) +
                  "wait; " + spin % (0, cpus[0], d, 0, SEEN + 4) + "else MV2_COMM_WORLD_RANK=2 %s/rank2 %g & fi; wait" % (d, SEEN))
        s = Stepd(job, 0, ["sh", "-c", launch], place(tree.job(job) + "/step_0"), n=2)
        s.end()
        for rank, mask in ((0, {cpus[0]}), (1, {cpus[1]}), (2, free)):
            got = attributes_of_task(daemon.file(job, 0), rank, "Ranks")
            label = "%s: rank %d: " % (name, rank)
            is_equal(label + "Executable", got.get("Executable"), "%s/rank%d" % (d, rank))
            is_equal(label + "Build Id", got.get("Build Id"), build_id(tool("jpspin")))
            is_equal(label + "Allowed CPUs", got.get("Allowed CPUs"), len(mask))
            is_equal(label + "Allowed CPU List", cpu_set(got.get("Allowed CPU List", "9999")), mask)
            is_equal(label + "NUMA Nodes", got.get("NUMA Nodes", 0), nodes_of(mask))
        is_equal(name + ": the launcher's task", cpu_set(attributes_of_task(daemon.file(job, 0))["Allowed CPU List"]), free)


def hostile_names():
    d = own_dir()
    long_dir = own_dir("/".join(["d" * 100] * 6))
    for name, path, want in (
            ("control characters", d + "/a\n\033b", d + "/a\ufffd\ufffdb"),
            ("a long path", long_dir + "/program", "program")):
        shutil.copy(tool("jphold"), path)
        is_equal(name, Parked(program=path).end().get("Executable"), want)
    got = Parked(before=["unshare", "-m"]).end()
    is_equal("another mount namespace: the name alone", got.get("Executable"), "jphold")
    is_equal("another mount namespace: the build id", got.get("Build Id"), build_id(tool("jphold")))


def node_and_gpus():
    """As Slurm's variable says it; a user may have set it to anything."""
    for text, want in (("2", 2), ("2,x", None), ("-1", None)):
        job = new_job()
        Stepd(job, 0, ["sleep", "0.5"],
              v2_task(tree.job(job) + "/step_0", ["-e", "SLURM_JOB_NODELIST=n1",
                                                  "-e", "SLURM_GPUS_ON_NODE=" + text])).end()
        attrs = attrs_of(daemon.file(job, 0))
        is_equal("Allocated GPUs of %s" % text, attrs.get("Allocated GPUs"), want)
    out = subprocess.run(["lscpu"], capture_output=True, text=True, env=plain_env(LC_ALL="C")).stdout
    is_equal("Threads per Core", attrs.get("Threads per Core"),
             int(re.search(r"Thread\(s\) per core: *(\d+)", out).group(1)))


def restarted():
    """A later jobprofd goes on with the file's attributes."""
    p = Parked(program=shutil.copy(tool("jphold"), own_dir() + "/kept"))
    time.sleep(SEEN)
    daemon.end(signal.SIGKILL)
    daemon.start()
    time.sleep(0.5)
    is_equal("after a restart", os.path.basename(p.end().get("Executable", "")), "kept")


if __name__ == "__main__":
    need_bpf()
    tree = Trees()
    daemon = Daemon(INTERVAL).start()
    run_together([program_and_libraries, cpus, busiest_process, tasks_in_one_cgroup, ranks_of_launchers,
                  hostile_names, node_and_gpus])
    run_one(restarted)
    is_equal("jobprofd ends", daemon.end(), 0)
