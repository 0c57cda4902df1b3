# SPDX-License-Identifier: GPL-2.0-or-later
"""What a reading of the node's sensors takes: of those of this machine, and of a large node made of
files."""

import os
import shutil
import subprocess
import time

import helper
import steps
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


def late(label, opts, **settings):
    """How late each row of a step was, against the instant it was due at; 10 rows a second."""
    d = steps.Daemon(0.1, "task,node", **settings)
    step = None
    try:
        step = steps.Step(1, ["-p", 50, 600])
        steps.wait_until(lambda: len(d.rows().of("Step")) >= 3, 20, "the first rows; jobprofd "
                         "said: " + d.said())
        time.sleep(1 if opts.quick else 8)
        times = d.rows().of("Step")[2:]
    finally:
        if step:
            step.end(0)
        d.end()
        steps.remove_cgroups()
    ms = sorted(t % 10**8 / 1e6 for t in times)
    return [Row("sensors", "a row is late, " + label, "ms", ms),
            Row("sensors", "the latest row, " + label, "ms", ms[-1:])]


def slow_plugin(root):
    """A source of a site's own that takes 3 s for an answer, in its directory."""
    path = os.path.join(root, "plugins")
    os.makedirs(path, 0o755)
    shutil.copy(os.path.join(os.environ["BUILD"], "tests", "stub", "plugin-slow.so"),
                os.path.join(path, "sensor_slow.so"))
    put(root, "sys/fans/front/speed", 1000)
    return {"Sensors": "slow", "SensorDir": path, "SysRoot": os.path.join(root, "sys")}


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
    root = os.path.join(helper.tmpdir(), "slow")
    return (rows + late("no sensor", opts, Sensors="none") +
            late("a sensor that takes 3 s", opts, **slow_plugin(root)))
