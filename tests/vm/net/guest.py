#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""In the machine that tests/vm/net/run boots: NFS 3 and 4 from itself, a soft-RoCE port, a SCSI disk.
What jobprof sensors says is what was asked for, and what the kernel counts elsewhere."""
import glob
import json
import mmap
import os
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.realpath(__file__ + "/../.."))
from guestlib import check, command, end, modules, mount_four, serve_nfs, unpack

KIB, MIB = 1024, 1048576


def equal(name, got, wanted):
    check(name, got == wanted, f"got {got}, wanted {wanted}")


class Watch:
    def __init__(self):
        self.proc = subprocess.Popen(["jobprof", "sensors", "--json", "--watch", "0.2"], stdout=subprocess.PIPE,
                                     text=True)

    def next(self):
        """Channels of one round by table and column."""
        line = json.loads(self.proc.stdout.readline())
        return {(c["table"], c["column"]): c for s in line["sources"] for c in s["channels"]}

    def fresh(self):
        """All measured from now on."""
        now = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
        while True:
            cells = self.next()
            if cells and all(c["boot_ns"] > now for c in cells.values() if c["boot_ns"]):
                return cells

    def end(self):
        self.proc.send_signal(signal.SIGTERM)
        self.proc.communicate()


def moved(before, after, table, column):
    return after[table, column]["value"] - before[table, column]["value"]


def rpc_counts(version):
    """Requests that the node's NFS client made, by the kernel's other account."""
    with open("/proc/net/rpc/nfs") as f:
        words = [l.split() for l in f if l.startswith("proc%d " % version)][0]
    n = [int(w) for w in words[2:]]
    return {"Reads": n[6], "Writes": n[7]} if version == 3 else {
        "Reads": n[1], "Writes": n[2], "Opens": n[4] + n[6], "Closes": n[8]}


def work(path):
    """10 MiB written in pieces of 64 KiB, read again from the server in pieces of 32 KiB, and 20
    more files opened."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT)
    for _ in range(160):
        os.write(fd, b"x" * 64 * KIB)
    os.fsync(fd)
    os.close(fd)
    with open("/proc/sys/vm/drop_caches", "w") as f:
        f.write("3")
    fd = os.open(path, os.O_RDONLY)
    while os.read(fd, 32 * KIB):
        pass
    os.close(fd)
    for i in range(20):
        os.close(os.open("%s.%d" % (path, i), os.O_WRONLY | os.O_CREAT))


def nfs(w, table, path, version):
    before, counted = w.fresh(), rpc_counts(version)
    work(path)
    after, now = w.fresh(), rpc_counts(version)
    for column in ("ReadMB", "WriteMB", "ServerReadMB", "ServerWriteMB"):
        equal("nfs%d_%s" % (version, column), moved(before, after, table, column), 10 * MIB)
    for column in counted:
        equal("nfs%d_%s_are_rpc_counts" % (version, column), moved(before, after, table, column),
              now[column] - counted[column])
    if version == 3:
        equal("nfs3_Opens", (moved(before, after, table, "Opens"), moved(before, after, table, "Closes")),
              (22, 22))
    check("nfs%d_RequestTime" % version, moved(before, after, table, "RequestTime") > 0)
    check("nfs%d_MetaRequests" % version, 20 < moved(before, after, table, "MetaRequests") <
          moved(before, after, table, "Requests"))


def remount(w):
    before = w.fresh()
    command("umount", "/mnt/bind")
    command("umount", "/mnt/four")
    gone = w.fresh()
    equal("a_mount_that_is_gone", gone["Mount/mnt-four", "ReadMB"]["quality"], "none")
    mount_four()
    work("/mnt/four/again")
    qualities = []
    while "good" not in qualities:
        now = w.next()
        qualities.append(now["Mount/mnt-four", "ReadMB"]["quality"])
    check("a_mount_anew_is_a_gap", "gap" in qualities, qualities)
    # As much of it as came behind the gap.
    check("a_mount_anew_counts_from_there", moved(before, now, "Mount/mnt-four", "ReadMB") <= 10 * MIB,
          (before, now))


def port_counts():
    for port in json.loads(command("rdma", "-j", "statistic", "show", "link", "rxe0/1")):
        if port.get("ifname") == "rxe0":
            return port
    return {}


def soft_roce(w):
    before, counted = w.fresh(), port_counts()
    server = subprocess.Popen(["ibv_rc_pingpong", "-d", "rxe0", "-g", "1", "-n", "500", "-s", "8192"],
                              stdout=subprocess.DEVNULL)
    time.sleep(2)
    command("ibv_rc_pingpong", "-d", "rxe0", "-g", "1", "-n", "500", "-s", "8192", "10.98.0.1")
    server.wait(60)
    after, now = w.fresh(), port_counts()
    table = "Port/rxe0-1"
    equal("roce_port_is_up", after[table, "Up"]["value"], 1)
    check("roce_has_no_bytes", (table, "RxMB") not in after)
    for column, counter in (("RxPackets", "rcvd_pkts"), ("TxPackets", "sent_pkts")):
        got = moved(before, after, table, column)
        check("roce_%s_are_rdmas" % column, got == now[counter] - counted[counter] and got >= 2000,
              (got, counted, now))


def scsi(w):
    before = w.fresh()
    disk = os.path.basename(glob.glob("/sys/block/sd*")[0])
    fd = os.open("/dev/" + disk, os.O_WRONLY | os.O_DIRECT)
    page = mmap.mmap(-1, 64 * KIB)
    for _ in range(10):
        os.write(fd, page)
    os.close(fd)
    after = w.fresh()
    equal("scsi_writes", (moved(before, after, "Disk/" + disk, "Writes"),
                          moved(before, after, "Disk/" + disk, "WriteMB")), (10, 640 * KIB))
    equal("disks_that_are_listed", {t for t, _ in after if t.startswith("Disk/")}, {"Disk/" + disk})


def main():
    unpack()
    modules("nfs", "nfsv3", "nfsv4", "nfsd", "crc32_generic", "rdma_rxe", "ib_uverbs", "sd_mod", "scsi_debug")
    serve_nfs()
    command("ip", "link", "set", "dummy0", "up")
    command("ip", "address", "add", "10.98.0.1/24", "dev", "dummy0")
    command("rdma", "link", "add", "rxe0", "type", "rxe", "netdev", "dummy0")
    time.sleep(2)
    w = Watch()
    tables = {t for t, _ in w.fresh()}
    equal("each_mount_once", {t for t in tables if t.startswith("Mount/")}, {"Mount/mnt-four", "Mount/mnt-three"})
    nfs(w, "Mount/mnt-four", "/mnt/four/f", 4)
    nfs(w, "Mount/mnt-three", "/mnt/three/g", 3)
    remount(w)
    soft_roce(w)
    scsi(w)
    w.end()
    print(command("jobprof", "sensors", "--all"))
    end()


main()
