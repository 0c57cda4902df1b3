#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Ports, interfaces, mounts and disks: on machines made of files, and against what was really sent,
written and read."""

import sys
sys.path.insert(0, sys.path[0] + "/../../lib")
from netlib import *
from sensorlib import *

SCHEMA = {s["name"]: {c["name"]: c for c in s["columns"]}
          for s in json.loads(subprocess.run([JOBPROF, "list", "--json"], capture_output=True,
                                             check=True).stdout)}
TREES = os.path.join(ROOT, "tests/data/sensors")


def tree(name):
    """The machine of tests/data/sensors of that name, a directory or a .tree."""
    path = os.path.join(TREES, name)
    if not os.path.isdir(path):
        return machine(name)
    root = tmpdir(name)
    shutil.copytree(path, root, dirs_exist_ok=True)
    return root


def sources(root):
    return {s["name"]: s for s in json.loads(sensors("--json", "--root", root))["sources"]}


def cells(line):
    """Values by table and column."""
    return {(c["table"], c["column"]): c for c in line.values()}


def channels_are_columns_of_the_schema():
    """Of every machine; a new series has a machine that shows it."""
    seen = set()
    for name in sorted({f.split(".")[0] for f in os.listdir(TREES)} - {"README"}):
        bad = []
        for c in [c for s in sources(tree(name)).values() for c in s["channels"] if c["table"]]:
            series, grouped, table = c["table"].partition("/")
            column = SCHEMA[series].get(c["column"])
            seen.add(series)
            if not column or grouped and not re.fullmatch(r"[A-Za-z0-9._+~-]{1,31}", table):
                bad.append((c["table"], c["column"]))
            elif (column["unit"], c["unit"]) not in (("MiB", "B"), (column["unit"], column["unit"])):
                bad.append((c["column"], c["unit"], column["unit"]))
        is_equal("columns_of_" + name, bad, [])
    with open(os.path.join(ROOT, "schemas/series.def")) as f:
        of_node = set(re.findall(r"^SERIES\((\w+), \w+, OF_NODE", f.read(), re.M))
    is_equal("series_of_channels_without_a_table", of_node - seen,
             {"Energy", "GPU", "CPU", "Network", "Filesystem"})
    for series in ("Port", "NetDev"):
        is_equal("columns_that_are_summed_of_" + series,
                 [(n, SCHEMA[series][n]["unit"]) for n in list(SCHEMA[series])[2:6]],
                 [("RxMB", "MiB"), ("TxMB", "MiB"), ("RxPackets", ""), ("TxPackets", "")])
    is_equal("columns_that_are_summed_of_Mount", list(SCHEMA["Mount"])[2:8],
             ["Reads", "ReadMB", "Writes", "WriteMB", "Opens", "Closes"])


def parts_say_what_they_are():
    got = {c["table"]: c["about"] for c in sources(tree("nfs"))["mounts"]["channels"]}
    is_equal("mounts_by_name", got, {
        "Mount/home": "nfs4 filer1:/export/home at /home",
        "Mount/opt-apps": "nfs filer1:/export/apps at /opt/apps",
        "Mount/data-my_set~6fc1d259": "nfs4 filer2:/data/my set at /data/my set"})
    ports = sources(tree("ports"))["ports"]
    is_true("ports_are_read_aside", ports["slow"] and ports["way"].startswith("7 in "), ports)
    text = sensors("--root", tree("slingshot"))
    is_true("text_of_slingshot", re.search(r"^slingshot: 1 in ", text, re.M) and
            re.search(r"^  cxi0 Rx +port +0 B", text, re.M), text)


def a_made_up_port_is_followed():
    root = tree("ports")
    port = "sys/class/infiniband/hfi1_0/ports/1/counters/port_rcv_data"
    w = Watch(root, "ports")
    w.next()
    put(root, port, 123456 + 1000)
    now, _ = w.until("hfi1_0-1 Rx", lambda c: c["value"] != 0)
    is_near("words_become_bytes", now["hfi1_0-1 Rx"]["value"], 4000)
    put(root, port, 5)
    now, _ = w.until("hfi1_0-1 Rx", lambda c: c["quality"] == "gap")
    is_equal("a_reset_is_a_gap", now["hfi1_0-1 Rx"]["value"], 4000)
    shutil.rmtree(os.path.join(root, "sys/class/infiniband/hfi1_0"))
    now, _ = w.until("hfi1_0-1 Rx", lambda c: c["quality"] == "none")
    is_true("a_port_that_is_gone", now["hfi1_0-1 Rx"]["value"] is None, now)
    w.end()


def at_rest(w, truth):
    """What the kernel says and what we say, with nothing in between."""
    for _ in range(50):
        before = truth()
        line = w.fresh()
        if truth() == before:
            return before, cells(line)
    raise Failed("the kernel's counters do not come to rest")


LINK = {("rx", "bytes"): "RxMB", ("tx", "bytes"): "TxMB", ("rx", "packets"): "RxPackets",
        ("tx", "packets"): "TxPackets", ("rx", "errors"): "RxErrors",
        ("tx", "errors"): "TxErrors", ("rx", "dropped"): "RxDrops", ("tx", "dropped"): "TxDrops",
        ("rx", "multicast"): "Multicast"}


def interfaces_are_what_ip_says():
    if os.geteuid():
        raise Skipped("needs root, for network namespaces")
    cable = Cable()
    need("iperf3")
    dev = cable.dev["a"]
    root = tmpdir("ns")
    os.symlink("/proc", os.path.join(root, "proc"))
    put(root, "sys/class/net/%s/device/vendor" % dev, "0x1af4")
    for end in "ab":  # nothing but what is asked for
        cable.do(end, "sh", "-c", "echo 1 > /proc/sys/net/ipv6/conf/all/disable_ipv6")

    def truth():
        text = cable.do("a", "ip", "-s", "-j", "link", "show", "dev", dev,
                        stdout=subprocess.PIPE).stdout
        return json.loads(text)[0]["stats64"]

    w = Watch(root, "netdev", inside=lambda *cmd: cable.inside("a", *cmd))
    w.next()
    before, mine = at_rest(w, truth)
    server = start(cable.inside("b", "iperf3", "-s", "-1", "-p", "5201"),
                   stdout=subprocess.DEVNULL)
    wait_until(lambda: cable.listens("b", 5201), 10, "iperf3 to listen")
    report = json.loads(cable.do("a", "iperf3", "-c", ADDRESS["b"], "-p", 5201, "-n", "200M",
                                 "-J", stdout=subprocess.PIPE).stdout)
    server.wait(20)
    after, ours = at_rest(w, truth)
    w.end()
    table = "NetDev/" + dev
    for (way, what), column in LINK.items():
        is_equal("ip_says_%s_%s" % (way, what),
                 ours[table, column]["value"] - mine[table, column]["value"],
                 after[way][what] - before[way][what])
    # the receiver may end before it has read all that was sent
    sent, came = (report["end"][way]["bytes"] for way in ("sum_sent", "sum_received"))
    got = ours[table, "TxMB"]["value"] - mine[table, "TxMB"]["value"]
    is_true("iperf3_sent_and_received_that_without_headers", came <= got <= sent * 1.1,
            (came, got, sent))


def loop_device(size):
    """A loop device of its own, gone at exit."""
    path = os.path.join(tmpdir("loop"), "image")
    with open(path, "wb") as f:
        f.truncate(size)
    p = subprocess.run(["losetup", "-f", "--show", path], capture_output=True, text=True)
    if p.returncode:
        raise Skipped("no loop device: " + p.stderr)
    dev = p.stdout.strip()
    atexit.register(lambda: subprocess.run(["losetup", "-d", dev]))
    return dev


def disks_are_what_was_asked_of_them():
    if os.geteuid():
        raise Skipped("needs root, for a loop device")
    dev = loop_device(64 * MB)
    name = os.path.basename(dev)
    root = tmpdir("disk")
    os.symlink("/proc", os.path.join(root, "proc"))
    put(root, "sys/block/%s/device/model" % name, "LOOP")

    def truth():
        for line in open("/proc/diskstats"):
            words = line.split()
            if words[2] == name:
                return [int(x) for x in words[3:]]
        raise Failed("%s is not in /proc/diskstats" % name)

    w = Watch(root, "disks")
    w.next()
    before, mine = at_rest(w, truth)
    subprocess.run(["dd", "if=/dev/zero", "of=" + dev, "bs=64k", "count=100", "oflag=direct"],
                   check=True, stderr=subprocess.DEVNULL)
    subprocess.run(["dd", "if=" + dev, "of=/dev/null", "bs=128k", "count=30", "iflag=direct"],
                   check=True, stderr=subprocess.DEVNULL)
    after, ours = at_rest(w, truth)
    w.end()
    got = {c: ours["Disk/" + name, c]["value"] - mine["Disk/" + name, c]["value"]
           for c in SCHEMA["Disk"] if ("Disk/" + name, c) in ours}
    is_equal("dd_wrote", (got["Writes"], got["WriteMB"]), (100, 100 * 65536))
    # udev and others look at a device once it was written to.
    is_true("dd_read", got["Reads"] >= 30 and got["ReadMB"] >= 30 * 131072, got)
    fields = {"Reads": (0, 1), "ReadMB": (2, 512), "Writes": (4, 1), "WriteMB": (6, 512),
              "ReadTime": (3, 1e-3), "WriteTime": (7, 1e-3), "BusyTime": (9, 1e-3),
              "QueueTime": (10, 1e-3), "Discards": (11, 1), "DiscardMB": (13, 512),
              "Flushes": (15, 1)}
    for column, (field, unit) in fields.items():
        if field < len(after):
            is_near("diskstats_says_" + column, got[column],
                    (after[field] - before[field]) * unit, 1e-9, 1e-9)


def this_machine():
    """Listed is what the kernel has, and nothing else."""
    got = {s["name"]: s for s in json.loads(sensors("--json"))["sources"]}
    nets = {os.path.basename(os.path.dirname(d)) for d in glob.glob("/sys/class/net/*/device")
            if not os.path.exists(os.path.join(os.path.dirname(d), "master/device"))}
    disks = {os.path.basename(os.path.dirname(d)) for d in glob.glob("/sys/block/*/device")
             if not os.path.basename(os.path.dirname(d)).startswith(("sr", "fd"))}
    with open("/proc/self/mountinfo") as f:
        mounts = [l for l in f if re.search(r" - (nfs4?|lustre) ", l)]
    for source, wanted in (("netdev", nets), ("disks", disks),
                           ("ports", glob.glob("/sys/class/infiniband/*/ports/*")),
                           ("slingshot", glob.glob("/sys/class/cxi/*/device/telemetry")),
                           ("mounts", mounts)):
        is_equal("%s_are_listed_where_they_are" % source, source in got, bool(wanted))
    have = {c["table"].split("/")[1] for c in got.get("netdev", {"channels": []})["channels"]}
    is_equal("all_interfaces_with_a_device", len(have), len(nets))


run_tests([
    channels_are_columns_of_the_schema,
    parts_say_what_they_are,
    a_made_up_port_is_followed,
    interfaces_are_what_ip_says,
    disks_are_what_was_asked_of_them,
    this_machine,
])
