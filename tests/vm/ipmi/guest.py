#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""In the machine that tests/vm/ipmi/run boots. What jobprof reads from the BMC is what
ipmitool and FreeIPMI read, whatever mood the BMC is in; and it is the node's energy in a step's file."""
import glob
import json
import os
import re
import subprocess
import sys
import time

MOODS = ["fine", "busy", "slow", "hung", "inactive", "frozen", "nodcmi"]
failed = 0


def check(name, good, detail=""):
    global failed
    failed += not good
    print(f"ok {name}" if good else f"not ok {name}: {detail}", flush=True)


def command(*args):
    return subprocess.run(args, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False).stdout


def load():
    """The driver of the BMC's interface; what is built in, or has another name, is not missed."""
    drivers = glob.glob(f"{os.environ['MODULES']}/lib/modules/*/kernel/drivers/char/ipmi")[0]
    for name in ("ipmi_msghandler", "ipmi_devintf", "ipmi_si"):
        module = glob.glob(f"{drivers}/{name}.ko*")[0]
        if module.endswith(".xz"):
            with open(f"/tmp/{name}.ko", "wb") as f:
                subprocess.run(["xz", "-dc", module], stdout=f, check=True)
            module = f"/tmp/{name}.ko"
        subprocess.run(["insmod", module], check=True)
    for _ in range(100):
        if os.path.exists("/dev/ipmi0"):
            return
        time.sleep(0.1)
    sys.exit("not ok device: no /dev/ipmi0\n" + command("dmesg"))


def tell(mood, watts):
    command("ipmitool", "raw", "0x30", "0x01", hex(watts & 0xFF), hex(watts >> 8))
    command("ipmitool", "raw", "0x30", "0x02", str(MOODS.index(mood)))


def ours():
    """The source, its channels, and how long it took."""
    start = time.monotonic()
    p = subprocess.run(["jobprof", "sensors", "--json", "-a"], stdout=subprocess.PIPE, text=True, timeout=120, check=False)
    source = [s for s in json.loads(p.stdout)["sources"] if s["name"] == "ipmi"][0]
    return source, source.get("channels") or [], time.monotonic() - start


def value(channels):
    return channels[0]["value"] if channels else None


def dcmi():
    m = re.search(r"Instantaneous power reading: +(\d+) Watts", command("ipmitool", "dcmi", "power", "reading"))
    return float(m.group(1)) if m else None


def record(name):
    m = re.search(name + r" +\| (\d+) Watts", command("ipmitool", "sdr"))
    return float(m.group(1)) if m else None


FREEIPMI = ["--driver-type=OPENIPMI", "--driver-device=/dev/ipmi0"]


def freeipmi_dcmi():
    m = re.search(r"Current Power +: +(\d+) Watts",
                  command("ipmi-dcmi", *FREEIPMI, "--get-system-power-statistics"))
    return float(m.group(1)) if m else None


def freeipmi_sensor(name):
    said = command("ipmi-sensors", *FREEIPMI, "--sdr-cache-directory=/tmp", "--quiet-cache")
    m = re.search(r"\| " + name + r" +\|[^|]*\| +([\d.]+) +\| W", said)
    if not m:
        print("# ipmi-sensors: " + said.replace("\n", "\n# "))
    return float(m.group(1)) if m else None


def energy_of_a_step():
    """Rows go on every half second while the BMC takes 1.5 s for an answer."""
    import h5py
    import numpy
    for mood in ("fine", "slow"):
        tell(mood, 500)
        command("rm", "-rf", "/tmp/energy")
        os.mkdir("/tmp/energy")
        said = command("jobprof", "run", "-q", "-i", "0.5", "-s", "task,energy", "-o", "/tmp/energy",
                       "--state-dir", "/tmp/energy-state", "sleep", "12")
        files = glob.glob("/tmp/energy/*.h5")
        check(f"{mood}: a file", len(files) == 1, said)
        if len(files) != 1:
            continue
        with h5py.File(files[0]) as f:
            node = f[list(f)[0]]
            rows, attrs = node["Energy"][:], dict(node.attrs)
            every = numpy.diff(node["Step"]["TimeNS"].astype("f8")) / 1e9
        seconds = numpy.diff(rows["TimeNS"].astype("f8")) / 1e9
        known = ~numpy.isnan(rows["NodeEnergy"][1:])
        watts = rows["NodeEnergy"][1:][known] / seconds[known]
        check(f"{mood}: the node's energy is the BMC's power by time",
              known.sum() >= 8 and numpy.allclose(watts, 500, rtol=0.01), (rows["NodeEnergy"], seconds))
        check(f"{mood}: no row waits for the BMC", len(every) >= 21 and every.max() < 1.3, every)
        check(f"{mood}: who measured is said", "node by ipmi" in attrs["Energy Rule"],
              attrs["Energy Rule"])


def same(name, truth):
    source, channels, _ = ours()
    check(name, truth is not None and value(channels) == truth, f"{source}, ipmitool: {truth}")
    return channels


def watch_frozen():
    p = subprocess.Popen(["jobprof", "sensors", "--json", "-w", "2"], stdout=subprocess.PIPE, text=True)
    seen = []
    for line in p.stdout:
        for s in json.loads(line)["sources"]:
            seen += [c for c in s.get("channels") or [] if s["name"] == "ipmi" and c["value"] is not None]
        if len(seen) >= 4:
            break
    p.terminate()
    p.wait()
    check("a_bmc_that_repeats_itself_is_said", [c["quality"] for c in seen[1:]] == ["repeated"] * (len(seen) - 1), seen)
    check("its_value_keeps_its_time", len({c["boot_ns"] for c in seen}) == 1, seen)


def main():
    load()
    for watts in (617, 42, 1500):
        tell("fine", watts)
        channels = same(f"dcmi_{watts}_w_as_ipmitool", dcmi())
        same(f"dcmi_{watts}_w_as_freeipmi", freeipmi_dcmi())
    check("it_is_the_node", channels and channels[0]["part"] == "node" and channels[0]["unit"] == "W", channels)
    tell("nodcmi", 420)
    check("ipmitool_sees_no_dcmi", dcmi() is None)
    same("first_sensor_in_watts_as_ipmitool", record("Sys Power"))
    same("first_sensor_in_watts_as_freeipmi", freeipmi_sensor("Sys Power"))
    tell("inactive", 640)
    same("inactive_dcmi_gives_way_to_a_sensor", record("Sys Power"))
    tell("frozen", 333)
    watch_frozen()
    tell("slow", 350)
    same("a_slow_bmc_is_waited_for", 350.0)
    for mood in ("busy", "hung"):
        tell(mood, 360)
        source, channels, took = ours()
        check(f"a_{mood}_bmc_has_no_value", value(channels) is None, source)
        check(f"a_{mood}_bmc_is_not_waited_for", took < 30, took)
    tell("fine", 370)
    same("a_bmc_that_is_well_again", 370.0)
    energy_of_a_step()
    sys.exit(failed > 0)


main()
