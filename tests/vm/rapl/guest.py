#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""In the machine that tests/vm/rapl/run boots: its processor says that it has energy counters, and they
do not count. Nothing of that may look like a measurement."""
import glob
import json
import os
import subprocess
import sys

failed = 0


def check(name, good, detail=""):
    global failed
    failed += not good
    print(f"ok {name}" if good else f"not ok {name}: {detail}", flush=True)


def load(name):
    found = glob.glob(f"{os.environ['MODULES']}/**/kernel/**/{name}.ko*", recursive=True)
    p = subprocess.run(["insmod", found[0]], capture_output=True, text=True) if found else None
    print(f"# {name}: {p.stderr.strip() or 'loaded' if p else 'no such module'}")


def register(number):
    with open("/dev/cpu/0/msr", "rb") as f:
        return int.from_bytes(os.pread(f.fileno(), 8, number), "little")


def sensors():
    p = subprocess.run(["jobprof", "sensors", "--json", "-a"], stdout=subprocess.PIPE, text=True,
                       timeout=120)
    return {s["name"]: s for s in json.loads(p.stdout)["sources"]}, p.returncode


def main():
    for module in ("intel_rapl_common", "intel_rapl_msr", "rapl", "msr"):
        load(module)
    pmu = "/sys/bus/event_source/devices/power"
    print("# PMU power: " + (" ".join(os.listdir(pmu + "/events")) if os.path.exists(pmu)
                             else "not there"))
    check("the registers read 0", [register(r) for r in (0x606, 0x611, 0x619)] == [0, 0, 0])
    got, status = sensors()
    check("jobprof sensors ends well", status == 0, status)
    for name in ("rapl", "rapl-cores"):
        values = [c["value"] for c in got[name].get("channels") or []]
        check(f"{name} has no values", not any(v is not None for v in values), got[name])
        check(f"{name} says why", got[name].get("why"), got[name])
    os.mkdir("/tmp/out")
    p = subprocess.run(["jobprof", "run", "-q", "-o", "/tmp/out", "--state-dir", "/tmp/state", "-i", "0.5",
                        "sleep", "1.5"], capture_output=True, text=True)
    files = glob.glob("/tmp/out/*.h5")
    check("a step is profiled", len(files) == 1, p.stderr)
    import h5py
    with h5py.File(files[0]) as f:
        node = f[list(f)[0]]
        check("it has no energy", "Energy" not in node, list(node))
        check("and says so", node.attrs["Mode energy"] == "absent: nothing on this node measures it",
              node.attrs["Mode energy"])
    sys.exit(failed > 0)


main()
