#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The node's network beside Slurm's own gatherer (acct_gather_interconnect/sysfs) and profile, on an
interface made of files that both read: Slurm's daemons find it in the place of /sys/class/net."""

import sys
sys.path.insert(0, sys.path[0] + "/../../lib")
from slurmlib import *
import slurmlib
from machinelib import put, roots

# rx_bytes, rx_packets, tx_bytes, tx_packets
BEFORE = (5 << 30, 4000000, 3 << 30, 2000000)
PASSED = (300 * MB + 123, 250000, 70 * MB + 45, 65000)
STATISTICS = "sys/class/net/eno1/statistics/"


def say(root, counts):
    rx_bytes, rx_packets, tx_bytes, tx_packets = counts
    for name, v in (("rx_bytes", rx_bytes), ("rx_packets", rx_packets), ("tx_bytes", tx_bytes),
                    ("tx_packets", tx_packets)):
        put(root, STATISTICS + name, v)
    put(root, "proc/net/dev", "Inter-|   Receive  |  Transmit\n face |bytes packets\n  eno1: "
        "%d %d 0 0 0 0 0 0 %d %d 0 0 0 0 0 0" % (rx_bytes, rx_packets, tx_bytes, tx_packets))


def interface():
    root = tmpdir("net")
    os.chmod(root, 0o755)
    os.makedirs(os.path.join(root, "sys/class/net/eno1/device"))
    os.mkdir(os.path.join(root, "dev"))
    say(root, BEFORE)
    return root


def testbed(root):
    """scripts/testbed whose daemons see the interface."""
    path = os.path.join(tmpdir("testbed"), "testbed")
    with open(path, "w") as f:
        f.write("#!/bin/sh\nexec unshare -m --propagation private sh -c '\n"
                "mount --bind %s/sys/class/net /sys/class/net && exec \"$@\"' sh %s \"$@\"\n" % (
                    root, slurmlib.TESTBED))
    os.chmod(path, 0o755)
    return path


def beside_slurm(root, c, d):
    s = c.srun(["-w", c.nodes[0], "--profile=network", "--acctg-freq=task=1,network=1"],
               ["sleep", "6"])
    wait_until(lambda: os.path.exists(os.path.join(
        d.hdf5, "root", "." + name_of(s.id, 0, c.nodes[0]))), 20, "the live file")
    time.sleep(1.5)
    say(root, [b + p for b, p in zip(BEFORE, PASSED)])
    is_equal("srun's status", s.end(), 0)
    ours = table(d.get(s.id, 0, c.nodes[0]), "Network")
    theirs = table(os.path.join(c.profile, "root", name_of(s.id, 0, c.nodes[0])), "Network")
    rx_bytes, rx_packets, tx_bytes, tx_packets = PASSED
    is_equal("ours: packets", [int(ours[n].sum()) for n in ("PacketsIn", "PacketsOut")],
             [rx_packets, tx_packets])
    for name, n in (("InMB", rx_bytes), ("OutMB", tx_bytes)):
        is_near("ours: " + name, float(ours[name].sum()), n / MB, 1e-9, 1e-12)
    # Slurm's sysfs gatherer writes bytes as packets, and packets / 65536 as MB; in 25.11 and 26.05
    # it has all of it twice, in 22.05 once.
    times = 2 if RELEASE >= (25, 11) else 1
    is_equal("Slurm's: bytes", [int(theirs[n].sum()) for n in ("PacketsIn", "PacketsOut")],
             [times * round(float(ours[n].sum()) * MB) for n in ("InMB", "OutMB")])
    is_equal("Slurm's: packets", [round(float(theirs[n].sum()) * 65536) for n in ("InMB", "OutMB")],
             [times * int(ours[n].sum()) for n in ("PacketsIn", "PacketsOut")])


def main():
    root = interface()
    slurmlib.TESTBED = testbed(root)
    c = Cluster("v1" if is_v1_mounted() else "v2", nodes=1, conf=[
        "AcctGatherInterconnectType=acct_gather_interconnect/sysfs"], acct=["SysfsInterfaces=eno1"])
    d = Profiler(0.5, ProfileHDF5Default="network", **roots(root)).start()
    beside_slurm(root, c, d)
    is_equal("jobprofd ends", d.end(), 0)


need_bpf()
main()
