#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Tables GPU, CPU and of a site's own sensors in the files of steps: GPUs by stand-ins for their
libraries, processors and fans on a machine made of files, pressure and memory of this machine."""

import sys
sys.path.insert(0, sys.path[0] + "/../../lib")
from daemonlib import *
from machinelib import machine, put, roots

STUB = os.path.join(BUILD, "tests", "stub")
CPU = "sys/devices/system/cpu/cpu%d/"
CHIP = "sys/class/hwmon/hwmon0/"


def pressure(what):
    """Seconds in which some task waited."""
    with open("/proc/pressure/" + what) as f:
        return int(f.readline().split("total=")[1]) / 1e6


def used_mb():
    with open("/proc/meminfo") as f:
        m = {l.split(":")[0]: int(l.split()[1]) for l in f}
    return (m["MemTotal"] - m["MemAvailable"]) / 1024


def made_up():
    """Two CPUs, a thermometer and two fans; /proc is this machine's."""
    root = machine("vm")
    for cpu in (0, 1):
        put(root, CPU % cpu + "topology/physical_package_id", 0)
        put(root, CPU % cpu + "topology/core_id", cpu)
        put(root, CPU % cpu + "cpufreq/scaling_cur_freq", 2000000 + 500000 * cpu)
        put(root, CPU % cpu + "thermal_throttle/core_throttle_count", 5)
        put(root, CPU % cpu + "thermal_throttle/core_throttle_total_time_ms", 5000)
    put(root, CHIP + "name", "coretemp")
    put(root, CHIP + "temp1_label", "Package id 0")
    put(root, CHIP + "temp1_input", 47000)
    for fan, speed in (("front", 1200), ("back", 900)):
        put(root, "sys/fans/%s/speed" % fan, speed)
        put(root, "sys/fans/%s/joules" % fan, 1000000)
    return root


def plugins():
    d = tmpdir("plugins")
    os.chmod(d, 0o755)
    for stub in ("good", "lies", "hang", "abi"):
        shutil.copyfile(os.path.join(STUB, "plugin-%s.so" % stub), "%s/sensor_%s.so" % (d, stub))
        os.chmod("%s/sensor_%s.so" % (d, stub), 0o644)
    return d


def libraries():
    """Both makers' in one directory, for the loader to find."""
    d = tmpdir("libraries")
    for lib in ("libnvidia-ml.so.1", "rocm/librocm_smi64.so"):
        shutil.copy(os.path.join(STUB, lib), d)
    return d


def run_a_step(root, d):
    """Its file; meanwhile there is load, throttling, and fans use energy."""
    job, h = new_job(), Holds(["0"])
    s = Stepd(job, 0, h.cmd("park", "spin=2", "park"), v2_task(tree.job(job) + "/step_0"))
    h.wait()
    time.sleep(1.2)
    before = (pressure("cpu"), used_mb())
    h.go()
    for i in range(1, 9):
        put(root, "sys/fans/front/joules", 1000000 + 10 * i)
        put(root, CPU % 1 + "thermal_throttle/core_throttle_count", 5 + i)
        put(root, CPU % 1 + "thermal_throttle/core_throttle_total_time_ms", 5000 + 250 * i)
        time.sleep(0.2)
    h.wait()
    after = (pressure("cpu"), used_mb())
    time.sleep(1.5)
    h.go()
    s.end()
    return d.file(job, 0), before, after


def check_gpus(node):
    is_equal("a table per GPU", sorted(node["GPU"]), ["0", "1", "2", "3"])
    nv, amd = node["GPU/0"][:], node["GPU/2"][:]
    is_equal("columns as listed", list(nv.dtype.names), [c["name"] for c in json.loads(
        subprocess.run([JOBPROF, "list", "-s", "GPU", "--json"], capture_output=True, check=True,
                       text=True).stdout)[0]["columns"]])
    is_equal("what the libraries say, in the columns' units",
             [nv[c][-1] for c in ("Power", "MemMB", "MemTotalMB", "Utilization", "Split")] +
             [amd[c][-1] for c in ("Power", "MemMB", "Temperature", "Clock")],
             [301, 8192, 81920, 93, 0, 412, 16384, 51, 1700])
    is_true("what AMD's does not say is not known", numpy.isnan(amd["ThrottleReasons"]).all(), amd)
    is_true("energy is per interval", set(nv["Energy"][1:]) == {0.0}, nv["Energy"])


def check_cpu(node, before, after):
    rows = node["CPU"][:]
    last = rows[-1]
    is_equal("clocks and temperature", [float(last[c]) for c in (
        "FreqMean", "FreqMin", "FreqMax", "PkgTemperature")], [2250, 2000, 2500, 47])
    is_equal("throttling adds up", [numpy.nansum(rows[c]) for c in (
        "CoreThrottles", "CoreThrottleTime")], [8, 2])
    is_true("what is not there is not known", numpy.isnan(rows["PkgThrottles"]).all(), rows)
    waited = float(numpy.nansum(rows["PSICpu"]))
    is_true("pressure is at least what the kernel says of a part of it",
            waited >= after[0] - before[0] - 1e-6, (waited, before, after))
    is_true("and no more than time", waited <= (rows["TimeNS"][-1] - rows["TimeNS"][0]) / 1e9 + 1,
            waited)
    slack = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / MB / 20  # others use it too
    low, high = min(before[1], after[1]) - slack, max(before[1], after[1]) + slack
    is_true("memory in use is the kernel's", (rows["MemUsedMB"] > low).all() and
            (rows["MemUsedMB"] < high).all(), (rows["MemUsedMB"], low, high))


def check_plugins(node, d):
    is_equal("tables of a plug-in", sorted(node["Fans"]), ["back", "front"])
    front = node["Fans/front"][:]
    is_equal("its columns", list(front.dtype.names),
             ["ElapsedTime", "EpochTime", "Speed", "Energy", "TimeNS"])
    is_true("its levels are as they are", (front["Speed"] == 1200).all(), front)
    is_equal("its counts are per interval", numpy.nansum(front["Energy"]), 80)
    lies = node["Lies/front"][:]
    is_true("lies are not known", numpy.isnan(lies["Speed"]).all() and
            numpy.isnan(lies["Energy"]).all(), lies)
    is_true("one that hangs has no table", "Hang" not in node, list(node))
    is_true("one that is refused is named",
            "sensor_abi.so is not loaded: it is made for ABI 2" in d.said(), d.said()[-1500:])


def tables_of_the_node():
    if not os.path.exists("/proc/pressure/cpu"):
        raise Skipped("the kernel has no PSI")
    root = made_up()
    settings = {**roots(root), "ProcRoot": "/proc"}
    d = Daemon(interval=0.25, wrap=["env", "LD_LIBRARY_PATH=" + libraries()],
               SensorDir=plugins(), **settings).start()
    path, before, after = run_a_step(root, d)
    status = d.end()
    is_equal("a sensor that hangs keeps nobody", status, 0)
    with h5py.File(path, "r") as f:
        node = f[NODE]
        check_gpus(node)
        check_cpu(node, before, after)
        check_plugins(node, d)


def a_directory_that_is_no_good():
    """Steps are profiled all the same."""
    bad = tmpdir("bad")
    os.chmod(bad, 0o777)
    d = Daemon(interval=0.25, SensorDir=bad, **roots(made_up())).start()
    is_true("others may write to it", "sensor plug-ins of %s are not loaded: others may write" % bad
            in d.said(), d.said())
    is_equal("and it goes on", d.end(), 0)


need_bpf()
tree = Trees()
run_tests([
    tables_of_the_node,
    a_directory_that_is_no_good,
])
