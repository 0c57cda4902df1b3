#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What passes the node, in the files of its steps: a machine made of files whose counters move while
a step runs."""

import sqlite3
import sys
sys.path.insert(0, sys.path[0] + "/../../lib")
from daemonlib import *
from machinelib import machine, put

IB = "sys/class/infiniband/%s/ports/1/"
DEV = "  eno1: %d 42219 1 2 3 4 5 6 1698130 23336 7 8 9 10 11 12\n"
DISK = "   8 0 sda 18838039 289869 %d 7751040 3028071 869414 245072720 803220 2 765816 8739327"


def build():
    """A node with ports, interfaces, disks, Lustre and NFS."""
    root = machine("ports")
    for name in ("node", "lustre", "nfs"):
        for part in ("sys", "proc"):
            path = os.path.join(ROOT, "tests/data/sensors", name, part)
            if os.path.isdir(path):
                shutil.copytree(path, os.path.join(root, part), dirs_exist_ok=True)
    mounts = [slurp("tests/data/sensors/%s/proc/self/mountinfo" % n) for n in ("nfs", "lustre")]
    put(root, "proc/self/mountinfo", "".join(mounts))
    os.mkdir(os.path.join(root, "dev"))
    return root


def slurp(path):
    with open(os.path.join(ROOT, path)) as f:
        return f.read()


def move(root):
    """Known amounts of everything."""
    put(root, IB % "mlx5_0" + "counters/port_rcv_data", 4831882393217 + 3 * MB // 4)
    put(root, IB % "mlx5_0" + "counters/port_xmit_packets", 17934567123 + 1000)
    put(root, IB % "hfi1_0" + "counters/port_rcv_data", 123456 + 5 * MB // 4)
    put(root, IB % "mlx5_0" + "state", "1: DOWN")
    put(root, "proc/net/dev", DEV % (2101081484 + 7 * MB))
    put(root, "proc/diskstats", DISK % (319192714 + 2 * MB // 512))
    stats = slurp("tests/data/sensors/nfs/proc/self/mountstats")
    stats = stats.replace("\tbytes:\t1000 2000", "\tbytes:\t%d 2000" % (1000 + 11 * MB))
    put(root, "proc/self/mountstats", stats)
    llite = "proc/fs/lustre/llite/scratch-ffff8f5b4d8a3000/stats"
    put(root, llite, slurp("tests/data/sensors/lustre/" + llite).replace(
        "145121869", str(145121869 + 13 * MB)).replace("25673 samples", "25680 samples"))


def table_sums(node):
    """Columns of all tables of the node's sensors, summed over the rows."""
    sums = {}
    for series in NODE_SERIES:
        if series not in node:
            continue
        tables = {series: node[series]} if isinstance(node[series], h5py.Dataset) else {
            series + "/" + k: v for k, v in node[series].items()}
        for name, t in tables.items():
            for c in t.dtype.names:
                sums[name, c] = float(numpy.nansum(t[c].astype("f8")))
    return sums


def of_file_systems(path, sums):
    """The index has what the job read and wrote, if it had the node for itself."""
    with h5py.File(path, "r+") as f:
        node = f[NODE]
        node.attrs["Node Sharing"] = numpy.bytes_(b"exclusive")
    index = os.path.join(tmpdir("index"), "index.db")
    p = subprocess.run([JOBPROF, "index", "scan", os.path.dirname(path), "--database", index], capture_output=True, text=True)
    is_true("the index: the profile is read", not p.returncode, p.stdout + p.stderr)
    with sqlite3.connect(index) as db:
        got = {fs: values for fs, *values in db.execute("SELECT fs, read_bytes, write_bytes FROM job_fs")}
    want = {name: [sums["Mount/" + name, way + "MB"] * MB for way in ("Read", "Write")] for name in ("home", "scratch")}
    is_true("the index: bytes of each file system", got.keys() == want.keys() and
            all(abs(a - b) < 1e-6 * b + 1 for name in want for a, b in zip(got[name], want[name])), (got, want))


def a_steps_file_has_what_passed_the_node():
    root = build()
    d = Daemon(interval=0.5, SysRoot=root + "/sys", ProcRoot=root + "/proc",
               DevRoot=root + "/dev", Sensors="ports,netdev,mounts,disks").start()
    time.sleep(2.5)  # slow sources answer once a second
    job, h = new_job(), Holds(["0"])
    s = Stepd(job, 0, h.cmd("park", "park"), v2_task(tree.job(job) + "/step_0"))
    h.wait()
    time.sleep(3)
    move(root)
    time.sleep(3)
    h.go()
    h.wait()
    h.go()
    s.end()
    with h5py.File(d.file(job, 0), "r") as f:
        node = f[NODE]
        got = table_sums(node)
        up = node["Port/mlx5_0-1"]["Up"]
        unknown = node["Port/rxe0-1"]["RxMB"]
    is_equal("jobprofd ends", d.end(), 0)
    of_file_systems(d.file(job, 0), got)
    for table, column, wanted in (
            ("Port/mlx5_0-1", "RxMB", 3), ("Port/mlx5_0-1", "TxPackets", 1000),
            ("Port/mlx5_0-1", "TxMB", 0), ("Port/hfi1_0-1", "RxMB", 5),
            ("NetDev/eno1", "RxMB", 7), ("Disk/sda", "ReadMB", 2),
            ("Mount/home", "ReadMB", 11), ("Mount/scratch", "ReadMB", 13),
            ("Mount/scratch", "Reads", 7), ("Mount/opt-apps", "ReadMB", 0),
            ("Network", "InMB", 8), ("Network", "PacketsOut", 1000),
            ("Filesystem", "ReadMB", 24)):
        is_near("%s %s" % (table, column), got.get((table, column), numpy.nan), wanted, 1e-9, 1e-9)
    known = up[~numpy.isnan(up)]  # a busy machine may have its first answer after the first row
    is_equal("a port that goes down", (known[0], known[-1]), (1, 0))
    is_true("what a port does not count is unknown", numpy.isnan(unknown).all(), unknown)


need_bpf()
tree = Trees()
run_tests([a_steps_file_has_what_passed_the_node])
