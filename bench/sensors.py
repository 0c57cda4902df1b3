# SPDX-License-Identifier: GPL-2.0-only
"""What a reading of the node's sensors takes: of those of this machine, and of a large node made of
files."""

import os
import subprocess

import helper
from table import Row

TITLE = "us that one reading of a source of sensors takes"
CPUS = 256  # of the large node: two packages, two threads per core
THROTTLE = ("core_throttle_count", "core_throttle_total_time_ms", "package_throttle_count",
            "package_throttle_total_time_ms")
# What all quick sources together may take on the sampling thread, each second.
TARGET = 200


def put(root, path, text):
    path = os.path.join(root, path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as f:
        f.write("%s\n" % text)


def large_node():
    root = os.path.join(helper.tmpdir(), "node")
    for cpu in range(CPUS):
        at = "sys/devices/system/cpu/cpu%d/" % cpu
        put(root, at + "topology/physical_package_id", cpu // (CPUS // 4) % 2)
        put(root, at + "topology/core_id", cpu % (CPUS // 4))
        put(root, at + "cpufreq/scaling_cur_freq", 2000000 + cpu)
        for name in THROTTLE:
            put(root, at + "thermal_throttle/" + name, 0)
    for package in (0, 1):
        chip = "sys/class/hwmon/hwmon%d/" % package
        put(root, chip + "name", "coretemp")
        put(root, chip + "temp1_label", "Package id %d" % package)
        put(root, chip + "temp1_input", 45000)
        zone = "sys/class/powercap/intel-rapl:%d/" % package
        put(root, zone + "name", "package-%d" % package)
        put(root, zone + "energy_uj", 1000000)
        put(root, zone + "max_energy_range_uj", 262143328850)
    return root


def measured(where, opts, *args):
    """(name, slow, us of each round) of each source."""
    tool = os.path.join(os.environ["BUILD"], "bench", "jpsensors")
    p = subprocess.run([tool, str(opts.rounds), str(10 if opts.quick else 200), *args],
                       capture_output=True, text=True)
    if p.returncode:
        raise helper.Missing("jpsensors: " + p.stderr.strip())
    for line in p.stdout.splitlines():
        name, slow, channels, *us = line.split()
        yield "%s, %s channels, %s" % (name, channels, where), slow == "1", [float(v) for v in us]


def run(_, opts):
    plugins = os.path.join(os.environ["BUILD"], "sensors")
    rows, quick = [], []
    for where, args in (("this machine", ("", plugins)),
                        ("%d CPUs made of files" % CPUS, (large_node(),))):
        for name, slow, us in measured(where, opts, *args):
            rows.append(Row("sensors", name + (", on a thread of its own" if slow else ""), "us",
                            us))
            if not slow and not args[0]:
                quick.append(us)
    if quick:
        rows.append(Row("sensors", "all quick ones of this machine", "us",
                        [sum(v) for v in zip(*quick)], target=TARGET))
    return rows
