#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""jobprof report: PIKA's and El Sayed's numbers are those that numpy computes from the file's tables."""

import os
import sys

sys.path.insert(0, os.path.realpath(__file__ + "/../../../lib"))
sys.path.insert(0, os.path.realpath(__file__ + "/../../../findings"))
from cases import job
from extractlib import Stock
from lib import *

MB = 1048576


def verdict(o):
    """Without what it is based on."""
    return {k: v for k, v in o.items() if k not in ("params", "n_used", "n_missing")}


def as_json(*args, **env):
    p = subprocess.run([JOBPROF, "report", "--json"] + list(args), capture_output=True, text=True,
                       env={**os.environ, "JOBPROF_PEAKS": "/absent", **env})
    if p.returncode:
        raise Failed("report --json %s: status %d, %s" % (" ".join(args), p.returncode, p.stderr))
    return json.loads(p.stdout)


def stops(shape="some", **more):
    """A job that stops for 60 s every 3 minutes to read; one task idles; memory grows."""
    j = job(shape, 5, **more)
    on = (numpy.arange(j.n) % 6) < 4
    cpu = numpy.where(on, 0.96, 0.1) * j.threads * numpy.ones((j.tasks, 1))
    cpu[-1] = 0
    j.put(CPUTime=cpu, ReadMB=numpy.where(on, 0.0, 300.0), ReadCalls=numpy.where(on, 0.0, 300.0),
          AnonMB=numpy.linspace(0.2, 0.4, j.n) * j.limit_mb / j.per_node.max(), Opens=8.0, Closes=8.0)
    j.without = set()
    path = os.path.join(tmpdir("pika"), "job_4711.h5")
    j.write(path)
    return j, path


def tables(path):
    """{node: Step's rows}, and rows of all tasks, task by task."""
    with h5py.File(path, "r") as f:
        nodes = f["Steps/0/Nodes"]
        steps = {n: nodes[n]["Step"][()] for n in nodes}
        tasks = {int(t): nodes[n]["Tasks"][t][()] for n in nodes for t in nodes[n]["Tasks"]}
        energy = {n: nodes[n]["Energy"][()]["StepEnergy"] for n in nodes}
        ports = {n: nodes[n]["Port"] for n in nodes} if "Port" in nodes["n1"] else {}
        net = {n: sum(t[()]["TxMB"] for t in p.values()) for n, p in ports.items()}
    return steps, [tasks[t] for t in sorted(tasks)], energy, net


def footprint():
    j, path = stops()
    p = as_json(path)["pika"]
    steps, tasks, energy, net = tables(path)
    load = numpy.array([t["CPUTime"] for t in tasks]) / 30 / j.threads
    f = p["footprint"]
    is_equal("footprint: status", [p["status"], f["status"], p["unit"], p["units"]], ["OK", "OK", "task", j.tasks])
    is_near("footprint: cpu_usage", f["cpu_usage"], load.mean(), 1e-9)
    all_of = lambda c: numpy.array([s[c] for s in steps.values()])
    is_near("footprint: ipc", f["ipc"], all_of("Instructions").sum() / all_of("Cycles").sum(), 1e-9)
    is_near("footprint: read_bytes", f["read_bytes"], all_of("ReadMB").sum() * MB, 1e-9)
    is_near("footprint: write_bytes", f["write_bytes"], all_of("WriteMB").sum() * MB, 1e-9)
    own = all_of("MemAnonMB") + all_of("MemShmemMB") + all_of("MemKernelMB")
    is_near("footprint: mem_used_max_unit", f["mem_used_max_unit"], own.max() * MB, 1e-9)
    is_near("footprint: mem_used_max_total", f["mem_used_max_total"], own.sum(axis=0).max() * MB, 1e-9)
    is_near("footprint: cpu_power", f["cpu_power"], sum(energy.values()).mean() / 30, 1e-9)
    is_near("footprint: net_bw", f["net_bw"], sum(net.values()).mean() * MB / 30, 1e-9)
    is_equal("footprint: no column has flops", [f["flops"], f["mem_bw"], f["gpu_usage"]], [None] * 3)


def flops():
    """Events of PerfEvents=@flops, operations of single precision each; without one of them nothing is known."""
    worth = {"FlopsX1": 1, "FlopsX2": 2, "FlopsX4": 4, "FlopsX8": 8, "FlopsX16": 16}
    for missing in (None, "FlopsX8"):
        j = job("some", 5)
        j.events = {c: 1e8 * (i + 1) for i, c in enumerate(worth) if c != missing}
        j.without = set()
        path = os.path.join(tmpdir("flops"), "job_4711.h5")
        j.write(path)
        steps, _, _, _ = tables(path)
        f = as_json(path)["pika"]["footprint"]
        if missing:
            is_equal("flops: one event is missing", f["flops"], None)
            continue
        wanted = sum(w * s[c] for c, w in worth.items() for s in steps.values()) / 30
        is_near("flops: operations per second", f["flops"], wanted.mean(), 1e-9)


def peaks_file(text):
    """Where the owner of a profile can read it, as whom root's report reads."""
    path = os.path.join(tmpdir(), "peaks.conf")
    with open(path, "w") as f:
        f.write(text)
    for d in (TMP, os.path.dirname(path)):
        os.chmod(d, 0o711)
    return path


def memory():
    """Bytes that the nodes' controllers moved, of a job that has its nodes alone; its tag needs the nodes' peaks."""
    for what in ("alone", "shared", "not read"):
        j = job("some", 5, shared=what == "shared")
        j.put_node("CPU", MemReadMB=30000.0)
        if what != "not read":
            j.put_node("CPU", MemWriteMB=20000.0)
        j.without = set()
        path = os.path.join(tmpdir("memory"), "job_4711.h5")
        j.write(path)
        f = as_json(path)["pika"]["footprint"]
        if what != "alone":
            is_equal("memory: %s, so nothing is known" % what, f["mem_bw"], None)
            continue
        with h5py.File(path, "r") as h:
            nodes = h["Steps/0/Nodes"]
            moved = sum(nodes[n]["CPU"]["MemReadMB"] + nodes[n]["CPU"]["MemWriteMB"] for n in nodes)
        is_near("memory: bytes per second", f["mem_bw"], moved.mean() * MB / 30, 1e-9)
        for share, given in ((0.85, True), (0.75, False)):
            peaks = peaks_file("MemBandwidthPeak=%.0f\n" % (f["mem_bw"] / j.nodes / share))
            t = as_json(path, JOBPROF_PEAKS=peaks)["pika"]["tags"]
            is_equal("memory: the tag at %g of the peak" % share, "memory-bound" in t["given"], given)


def stack():
    """Cycles per instruction of an Arm SBSA processor, by Arm's formulae; nodes of two kinds have no stack."""
    j = job("some", 5)
    j.events = {"SlotsFrontend": 3e9, "SlotsBackend": 5e9, "SlotsStalled": 9e9, "OpsDispatched": 4e9, "OpsRetired": 3e9}
    j.without = set()
    path = os.path.join(tmpdir("stack"), "job_4711.h5")
    j.write(path)
    with h5py.File(path, "r+") as f:
        nodes = f["Steps/0/Nodes"]
        for n in nodes:
            nodes[n].attrs["CPI Kind"], nodes[n].attrs["Slots per Cycle"] = "arm_sbsa", numpy.int32(8)
    steps, _, _, _ = tables(path)
    all_of = lambda c: sum(s[c].sum() for s in steps.values())
    f = as_json(path)["facts"]
    cpi, slots = all_of("Cycles") / all_of("Instructions"), 8 * all_of("Cycles")
    used, retired = 1 - all_of("SlotsStalled") / slots, all_of("OpsRetired") / all_of("OpsDispatched")
    wanted = {"frontend": all_of("SlotsFrontend") / slots, "backend": all_of("SlotsBackend") / slots,
              "retiring": retired * used, "bad_speculation": (1 - retired) * used}
    is_near("stack: cpi", f["cpi"], cpi, 1e-9)
    for name, part in wanted.items():
        is_near("stack: " + name, f["cpi_" + name], part * cpi, 1e-9)
    is_near("stack: the parts add up", sum(f["cpi_" + n] for n in [*wanted, "other"]), cpi, 1e-9)
    is_equal("stack: what the processor does not count", f.get("cpi_smt"), None)
    with h5py.File(path, "r+") as f:
        f["Steps/0/Nodes/n1"].attrs["CPI Kind"] = "amd_zen4"
    f = as_json(path)["facts"]
    is_equal("stack: not of two kinds", [f.get("cpi") is None, f.get("cpi_frontend")], [False, None])


def issues():
    j, path = stops()
    p = as_json(path)["pika"]
    steps, tasks, _, _ = tables(path)
    load = numpy.array([t["CPUTime"] for t in tasks]) / 30 / j.threads
    i = p["issues"]
    is_equal("issues: eligible", [i["status"], i["eligible"], i["failed"]], ["OK", True, []])
    idle = load < 0.01
    is_near("idle: time", i["cpu_idle"]["idle_s"], idle.sum() * 30, 1e-9)
    is_near("idle: ratio", i["cpu_idle"]["idle_ratio"], idle.mean(), 1e-9)
    unused = (idle.sum(axis=1) > j.n - 2).sum()
    is_equal("idle: units", [i["cpu_idle"]["unused_units"], unused], [1, 1])
    is_near("imbalance", i["cpu_imbalance"]["mean_sd"], load.std(axis=0, ddof=1).mean(), 1e-9)
    opens = sum(s["Opens"] + s["Closes"] for s in steps.values()) / 30
    is_near("congestion", i["io_congestion"]["max_rate"], opens.max(), 1e-9)
    is_equal("congestion: attributed", i["io_congestion"]["attributed"], bool(opens.max() >= 40))
    is_equal("idle: what it is of", [i["cpu_idle"]["n_used"], i["gpu_idle"]["n_used"], i["gpu_imbalance"]["n_used"]], [load.size, 0, 0])
    is_equal("issues: without GPUs", verdict(i["gpu_idle"]), {"status": "UNAVAILABLE", "reason": "no_values"})

    own = sum(s["MemAnonMB"] + s["MemShmemMB"] + s["MemKernelMB"] for s in steps.values())
    x = numpy.linspace(0, 1, j.n)
    y = own / own.max()
    m, n = numpy.polyfit(x, y, 1)
    dis = numpy.abs(m * x - y + n).max() / numpy.hypot(m, 1)
    leak = p["memleak"]
    is_near("leak: m", leak["m"], m, 1e-9)
    is_near("leak: distance", leak["max_dis"], dis, 1e-6)
    is_equal("leak: suspected", leak["suspected"], bool(0.01 <= m <= 1 and dis < min(m, 0.1) / numpy.hypot(m, 1)))
    is_equal("leak: on all nodes", leak["nodes_suspected"], j.nodes)

    c = load.mean(axis=0)
    o = numpy.mean([s["ReadMB"] for s in steps.values()], axis=0) * MB / 30
    a, b = numpy.round(c, 1), numpy.where(o < o.mean(), 0, o)
    A, B = (numpy.abs(numpy.fft.rfft(v))[1:] for v in (a, b))
    S = A / A.max() + B / B.max()
    read = p["periodic"]["read_bw"]
    is_equal("periodic: frequency", read["k"], int(S.argmax()) + 1)
    is_near("periodic: median", read["sum_median"], numpy.median(S), 1e-6, 1e-9)
    is_near("periodic: correlation", read["corr"], numpy.corrcoef(a, b)[0, 1], 1e-9)
    is_near("periodic: IOB", p["periodic"]["iob"], (int(S.argmax()) + 1) / (j.n * 30) * j.wall, 1e-9)
    is_equal("periodic: vector", p["periodic"]["iob_vector"], "read_bw")


def eligibility():
    _, path = stops(wall=1800)
    p = as_json(path)["pika"]
    is_equal("eligibility: a short job has a footprint and no issues",
             [p["footprint"]["status"], verdict(p["issues"]), p["memleak"]["reason"]],
             ["OK", {"status": "UNSUITABLE", "reason": "not_eligible", "eligible": False, "failed": ["duration"]},
              "not_eligible"])
    is_equal("eligibility: --force", as_json("--force", path)["pika"]["issues"]["status"], "OK")


def tags():
    j, path = stops()
    p = as_json(path)["pika"]
    is_equal("tags: without peaks", [p["tags"]["given"], p["tags"]["IO-heavy"]["missing"]],
             [["unrestrained"], "no_peak"])
    j.without = {"PERF"}
    j.write(path)
    is_equal("tags: none where none can be judged", as_json(path)["pika"]["tags"]["given"], [])
    mean = p["tags"]["IO-heavy"]["value"]
    j, path = stops()
    for share, given in ((0.7, ["IO-heavy"]), (0.5, ["unrestrained"])):
        peaks = peaks_file("DiskReadPeak=%.0f\nIpcPeak=8\n" % (mean / j.nodes / share))
        t = as_json(path, JOBPROF_PEAKS=peaks)["pika"]["tags"]
        is_near("tags: the peak is of all nodes", t["IO-heavy"]["peak"], mean / share, 1e-6)
        is_equal("tags: %g of the peak" % share, [t["given"], t["compute-bound"]["ipc_peak"]], [given, 8])


CUTOFFS = (("c0", 0), ("c128k", 131072), ("c1m", 1048576))


def same_character(at, got, fine, ops, dt):
    """fine, ops: bytes and calls of [servers, bins of 30 s]."""
    servers, k = len(fine), dt // 30
    whole = fine.shape[1] // k * k
    b, o = (v[:, :whole].reshape(servers, -1, k).sum(axis=2) for v in (fine, ops))
    for name, c in CUTOFFS:
        one, active = got[name], b > c
        h, t = active.any(axis=0), "%s, %s: " % (at, name)
        runs = [(r[0], len(r)) for r in numpy.split(h, numpy.flatnonzero(numpy.diff(h)) + 1)]
        l_io, l_no = (numpy.mean([n for is_io, n in runs if is_io == w] or [0]) for w in (True, False))
        is_near(t + "volume", one["volume"], fine.sum(), 1e-9)
        is_near(t + "bw_max", one["bw_max"], b.sum(axis=0).max() / dt, 1e-9)
        is_near(t + "bw_max_server", one["bw_max_server"], b.max() / dt, 1e-9)
        is_near(t + "iops_max", one["iops_max"], o.sum(axis=0).max() / dt, 1e-9)
        is_near(t + "intensity", one["intensity"], h.mean(), 1e-9)
        is_near(t + "burstiness", one["burstiness"], 1 - numpy.tanh(l_io / l_no) if l_no else 0, 1e-9)
        if h.any():
            pi = active.sum() / servers / h.sum()
            is_near(t + "parallel", one["parallel"], pi, 1e-9)
            if servers > 1:
                is_near(t + "parallel_norm", one["parallel_norm"], (servers * pi - 1) / (servers - 1), 1e-9, 1e-9)
            else:
                is_equal(t + "parallel_norm", one["parallel_norm"], None)


def io_character():
    _, path = stops()
    steps = tables(path)[0]
    io = as_json(path)["io"]
    for way in ("Read", "Write"):
        fine, ops = (numpy.array([s[way + c] for s in steps.values()]) for c in ("MB", "Calls"))
        for dt in (30, 120):
            same_character("io: %s, %d s" % (way, dt), io["node"][str(dt)][way.lower()], fine * MB, ops, dt)
    is_equal("io: without mounts and disks", [verdict(io["mount"]), verdict(io["blkdev"])],
             [{"status": "UNAVAILABLE", "reason": "no_servers", "level": level} for level in ("fs", "blk")])


def devices(shared=False, gpus=0, **more):
    """A job whose nodes have two file systems and two disks, of which one each is not used."""
    j = job("some", 6, shared=shared, **more)
    on = (numpy.arange(j.n) % 6) < 4
    cpu = numpy.where(on, 0.96, 0.1) * j.threads * numpy.ones((j.tasks, 1))
    j.put(CPUTime=cpu, ReadMB=0.0, WriteMB=0.0)
    mb = numpy.where(on, 0.0, 200.0) * (1 + numpy.arange(j.nodes))[:, None]
    for name, used in (("scratch-1", 1), ("home", 0.0001), ("idle", 0)):
        j.put_device("Mount", name, Reads=mb * used, ReadMB=mb * used, Writes=used, WriteMB=0.01 * used,
                     Opens=2.0 * used, Closes=2.0 * used)
    j.gpus(gpus, utilization=numpy.linspace(10, 90, j.n))
    for name, used in (("sda", 1), ("sdb", 0)):
        j.put_device("Disk", name, Reads=used, ReadMB=numpy.where(on, 0.02, 0.0) * used, Writes=used,
                     WriteMB=numpy.linspace(0, 0.1, j.n) * used)
    path = os.path.join(tmpdir("devices"), "job_4711.h5")
    j.write(path)
    return j, path


def device_tables(path, series):
    """{(node, table): rows}"""
    with h5py.File(path, "r") as f:
        return {(n, t): g[series][t][()] for n, g in f["Steps/0/Nodes"].items() for t in g[series]}


def io_of_devices():
    j, path = devices()
    io = as_json(path)["io"]
    mounts, disks = (device_tables(path, s) for s in ("Mount", "Disk"))
    for way in ("Read", "Write"):
        for dt in (30, 120):
            of = lambda column: numpy.array([sum(mounts["n%d" % (n + 1), name][column] for n in range(j.nodes))
                                             for name in ("scratch-1", "home")])
            same_character("io: mounts, %s, %d s" % (way, dt), io["mount"][str(dt)][way.lower()],
                           of(way + "MB") * MB, of(way + "s"), dt)
            of = lambda column: numpy.array([t[column] for (_, name), t in disks.items() if name == "sda"])
            same_character("io: disks, %s, %d s" % (way, dt), io["blkdev"][str(dt)][way.lower()],
                           of(way + "MB") * MB, of(way + "s"), dt)
    each = {m["name"]: m for m in io["mount"]["each"]}
    is_equal("io: each file system that moved a byte", sorted(each), ["home", "scratch-1"])
    for name, m in each.items():
        for way in ("Read", "Write"):
            mb = sum(mounts["n%d" % (n + 1), name][way + "MB"] for n in range(j.nodes)) * MB
            is_near("io: %s, %s" % (name, way), m[way.lower() + "_bytes"], mb.sum(), 1e-9)
            is_near("io: %s, %s, the highest bandwidth" % (name, way), m[way.lower() + "_bw_max"], mb.max() / 30, 1e-9)
    hostile = path + ".hostile.h5"
    shutil.copyfile(path, hostile)
    with h5py.File(hostile, "a") as f:
        for node in f["Steps/0/Nodes"].values():
            node["Mount"].move("home", b"\xff\x1b[31m\n" * 30)
    r = as_json(hostile)
    is_equal("io: names of mounts are escaped", [r["io"]["mount"]["30"]["servers"], len(r["pika"]["periodic"]["mounts"])], [2, 3])
    p = subprocess.run([JOBPROF, "report", "--store", hostile], capture_output=True, text=True)
    is_true("io: and are stored", not p.returncode, p.stderr)
    with h5py.File(hostile, "r") as f:
        is_equal("io: as many", [len(f["analysis/pika/periodic/mounts"]), len(f["analysis/io/mount/each"])], [3, 2])
    is_equal("io: those that moved no byte are no servers", [io[k]["30"]["servers"] for k in ("mount", "blkdev")],
             [2, j.nodes])
    io = as_json(devices(shared=True)[1])
    is_equal("io: on shared nodes the counters are others', too",
             [[verdict(io["io"][k]) for k in ("mount", "blkdev")], io["pika"]["periodic"]["mounts"]],
             [[{"status": "UNSUITABLE", "reason": "not_exclusive", "level": level} for level in ("fs", "blk")], {}])


def io_of_two_steps():
    """The steps follow each other, and the extern step has the rows of both."""
    j, path = devices(gpus=1)
    whole = as_json(path)
    want, gpu = whole["io"]["mount"]["30"]["read"]["c0"], whole["pika"]["footprint"]["gpu_usage"]
    with h5py.File(path, "a") as f:
        f.copy(f["Steps/0"], f["Steps"], "extern")
        for step, has in (("0", slice(0, j.n // 2)), ("1", slice(j.n // 2, None))):
            if step != "0":
                f.copy(f["Steps/extern"], f["Steps"], step)
            for node in f["Steps/%s/Nodes" % step].values():
                tables = []
                node.visititems(lambda name, t: tables.append(name) if isinstance(t, h5py.Dataset) else None)
                for name in tables:
                    attrs, rows = dict(node[name].attrs), node[name][has]
                    del node[name]
                    node.create_dataset(name, data=rows, maxshape=(None,), chunks=(100,)).attrs.update(attrs)
                if step == "1":
                    t = node["Step"]["TimeNS"].astype("i8")
                    node.attrs["Start TimeNS"] = 2 * t[0] - t[1]
    got = as_json(path)["io"]["mount"]["30"]["read"]["c0"]
    is_near("io: steps have the same mounts, which count once", got["volume"], want["volume"], 1e-9)
    with h5py.File(path, "a") as f:
        del f["Steps/extern"]
    parts = as_json(path)
    got = parts["io"]["mount"]["30"]["read"]["c0"]
    is_near("GPUs of one step after the other", parts["pika"]["footprint"]["gpu_usage"], gpu, 1e-9)
    is_near("io: one step after the other, without the extern step", got["volume"], want["volume"], 1e-9)
    is_near("io: and when", got["intensity"], want["intensity"], 1e-9)


def periodic_of_mounts():
    j, path = devices()
    p = as_json(path)["pika"]["periodic"]
    _, tasks, _, _ = tables(path)
    rows = device_tables(path, "Mount")
    a = numpy.round((numpy.array([t["CPUTime"] for t in tasks]) / 30 / j.threads).mean(axis=0), 1)
    is_equal("periodic: every file system", sorted(p["mounts"]), ["home", "idle", "scratch-1"])
    is_equal("periodic: programs read nothing, as they say", p["read_bw"]["reason"], "bw_mean")
    o = numpy.mean([rows["n%d" % (n + 1), "scratch-1"]["ReadMB"] for n in range(j.nodes)], axis=0) * MB / 30
    b = numpy.where(o < o.mean(), 0, o)
    A, B = (numpy.abs(numpy.fft.rfft(v))[1:] for v in (a, b))
    S = A / A.max() + B / B.max()
    got = p["mounts"]["scratch-1"]["read_bw"]
    is_equal("periodic: frequency with a file system", [got["k"], got["detected"]], [int(S.argmax()) + 1, True])
    is_near("periodic: correlation with a file system", got["corr"], numpy.corrcoef(a, b)[0, 1], 1e-9)
    is_near("periodic: IOB is that of the file system", p["iob"], (int(S.argmax()) + 1) / (j.n * 30) * j.wall, 1e-9)
    is_equal("periodic: of which", [p["iob_mount"], p["iob_vector"]], ["scratch-1", "read_bw"])
    is_equal("periodic: little is no stop", p["mounts"]["home"]["read_bw"]["reason"], "bw_mean")
    page = subprocess.run([JOBPROF, "report", "--all", path], capture_output=True, text=True).stdout
    is_true("page: stops on scratch", "40 stops for I/O on scratch-1," in page, page)
    is_true("page: servers", all(t in page for t in ("4 nodes\n", "2 file systems\n", "4 disks\n")), page)
    part = page[page.index("Intervals with I/O"):page.index("\nInput and output")]
    is_true("page: 80 columns", max(map(len, part.split("\n"))) <= 80, part)
    subprocess.run([JOBPROF, "report", "--store", path], check=True)
    with h5py.File(path, "r") as f:
        is_near("store: of a file system", f["analysis/pika/periodic/mounts/scratch-1/read_bw"].attrs["corr"],
                got["corr"], 1e-14)
        is_equal("store: kinds of servers", list(f["analysis/io"]), ["blkdev", "mount", "node"])


def stored():
    _, path = stops()
    before = as_json(path)
    os.chmod(path, 0o640)
    os.chown(path, 65534, 65534) if not os.geteuid() else None
    owner = os.stat(path)
    env = {**os.environ, "JOBPROF_PEAKS": "/absent"}
    for time in ("first", "second"):
        p = subprocess.run([JOBPROF, "report", "--store", path], capture_output=True, text=True, env=env)
        is_equal("store, the %s time" % time, [p.returncode, p.stdout, p.stderr], [0, "", ""])
    now = os.stat(path)
    is_equal("store: owner and mode", [now.st_uid, now.st_gid, now.st_mode],
             [owner.st_uid, owner.st_gid, owner.st_mode])
    with h5py.File(path, "r") as f:
        is_equal("store: the report", json.loads(f["analysis/report"][0]), before)
        known = {k: v for k, v in before["pika"]["footprint"].items() if v is not None and k != "params"}
        attrs = dict(f["analysis/pika/footprint"].attrs)
        for name, value in known.items():
            if name == "status":
                is_equal("store: the footprint's status", attrs[name], value)
            else:
                is_near("store: the footprint's " + name, attrs[name], value, 1e-14)
        is_equal("store: what is not known is absent", "flops" in attrs, False)
        is_equal("store: version and interval", [attrs["version"], attrs["source_end"] - attrs["source_begin"]],
                 [1, 7200])
        units_bins = before["pika"]["units"] * before["pika"]["bins"]
        is_equal("store: what it is of", [attrs["n_used"] + attrs["n_missing"], attrs["n_missing"]],
                 [units_bins, before["pika"]["missing_bins"]])
        # Thresholds as the paper has them.
        for where, params in (("pika/tags", {"mem_bw_above": 0.8, "flops_above": 0.7}), ("pika/issues", {"shortest_s": 3600}),
                              ("pika/issues/cpu_imbalance", {"attributed_above": 0.2}), ("pika/memleak", {"limit_slope": 0.1}),
                              ("io/node/30/read/c1m", {"c": 1048576, "dt_s": 30})):
            is_equal("store: parameters of " + where, {k: f["analysis/" + where].attrs["param_" + k] for k in params}, params)
        of_io = f["analysis/io/node/30/read/c1m"].attrs
        is_equal("store: what the I/O is of", [of_io["n_used"], of_io["n_missing"]], [4 * 240, 0])
        is_equal("store: groups", [list(f["analysis/pika"]), list(f["analysis/io/node/120/read"])],
                 [["footprint", "issues", "memleak", "periodic", "tags"], ["c0", "c128k", "c1m"]])
        is_near("store: I/O", f["analysis/io/node/30/read/c1m"].attrs["intensity"],
                 before["io"]["node"]["30"]["read"]["c1m"]["intensity"], 1e-14)
    is_equal("store: another report is the same", as_json(path), before)
    for verb in (["show", path], ["extract", "-s", "Step", "-o", os.path.join(tmpdir(), "x.csv"), path]):
        p = subprocess.run([JOBPROF] + verb, capture_output=True, text=True)
        is_equal("store: %s reads it" % verb[0], [p.returncode, p.stderr], [0, ""])


STATUSES = ("OK", "INSUFFICIENT", "UNSUITABLE", "UNAVAILABLE")


def groups_say_what_they_are_of():
    """All groups, of a job whose disks and file systems are its own and of one that shares them: spec 7."""
    for name, path in (("own", devices()[1]), ("shared", devices(shared=True)[1]), ("short", stops(wall=1800)[1])):
        for _ in range(2):
            subprocess.run([JOBPROF, "report", "--store", path], check=True)
        want, bad, groups = {"version", "source_begin", "source_end"}, [], []
        with h5py.File(path, "r") as f:
            of = f["analysis"]
            source = [of.attrs[a] for a in sorted(want)]
            of.visititems(lambda n, o: groups.append(n) if isinstance(o, h5py.Group) else None)
            for g in groups + ["report", "findings"]:
                a = dict(of[g].attrs)
                missing = (want | ({"status", "n_used", "n_missing"} if g in groups else set())) - set(a)
                if missing or [a[n] for n in sorted(want)] != source or (g in groups and (
                        a["status"] not in STATUSES or a["n_used"] + a["n_missing"] < 0)):
                    bad.append((g, missing))
            is_equal("groups, %s: all say what they are of" % name, bad, [])
            is_true("groups, %s: there are all kinds" % name, {"pika/tags/IO-heavy", "io", "io/node/30/read/c0"} <= set(groups), groups)
            n = lambda g: [of[g].attrs[a] for a in ("status", "n_used", "n_missing")]
            if name == "own":
                is_equal("groups: mounts have the status of what they are in", n("pika/periodic/mounts"), n("pika/periodic"))
                is_equal("groups: two file systems, both directions", n("io/mount"), ["OK", 2 * 2 * 240, 0])
                is_equal("groups: one direction, long intervals", n("io/mount/120/write"), ["OK", 2 * 60, 0])
                is_equal("groups: a tag without its peak", n("pika/tags/IO-heavy")[0], "UNAVAILABLE")
            if name == "shared":
                is_equal("groups: disks that others use, too", n("io/blkdev"), ["UNSUITABLE", 0, 0])


def stored_beside():
    """What another program has put into /analysis, or in its place, is not lost."""
    _, path = stops()
    with h5py.File(path, "r+") as f:
        f["analysis/mine"] = numpy.arange(5)
        f["analysis"].attrs["of"] = 7
    for _ in range(2):
        subprocess.run([JOBPROF, "report", "--store", path], check=True)
    with h5py.File(path, "r") as f:
        is_equal("store: what is beside the results stays", [list(f["analysis"]), f["analysis/mine"][()].tolist(),
                 f["analysis"].attrs["of"]], [["findings", "io", "mine", "page", "pika", "report", "row"], [0, 1, 2, 3, 4], 7])
    for name, put in (("a data set", numpy.arange(5)), ("a link", h5py.SoftLink("/Steps"))):
        with h5py.File(path, "r+") as f:
            del f["analysis"]
            f["analysis"] = put
            before = list(f), list(f["Steps"])
        p = subprocess.run([JOBPROF, "report", "--store", path], capture_output=True, text=True)
        is_true("store: %s is in the place: that is said" % name, p.returncode == 1 and
                "another program's /analysis" in p.stderr and p.stderr.count("\n") == 1, p.stderr)
        with h5py.File(path, "r") as f:
            is_equal("store: %s in the place stays" % name, (list(f), list(f["Steps"])), before)


def readable(path):
    """The HDF5 tools copy and print it."""
    repacked, copied = path + ".repacked", path + ".copied"
    for tool in (["h5repack", path, repacked], ["h5dump", "-d", "/analysis/findings", path],
                 ["h5copy", "-i", path, "-o", copied, "-s", "/analysis", "-d", "/copy"]):
        p = subprocess.run(tool, capture_output=True, text=True)
        is_equal("findings: " + tool[0], [p.returncode, p.stderr], [0, ""])
    with h5py.File(path, "r") as f, h5py.File(repacked, "r") as r, h5py.File(copied, "r") as c:
        want = f["analysis/findings"][()].tobytes()
        is_equal("findings: the copies have them", [r["analysis/findings"][()].tobytes(), c["copy/findings"][()].tobytes()],
                 [want, want])
    os.unlink(repacked)
    os.unlink(copied)


def findings_table():
    """One line of h5py has the findings of the JSON; without any, the table is empty."""
    path = devices()[1]
    want = as_json(path)["findings"]
    subprocess.run([JOBPROF, "report", "--store", path], check=True)
    with h5py.File(path, "r") as f:
        rows, attrs = f["analysis/findings"][()], dict(f["analysis/findings"].attrs)
    is_equal("findings: as many", [len(rows), len(want) > 0], [len(want), True])
    is_equal("findings: the interval", [attrs["version"], attrs["source_end"] - attrs["source_begin"]], [1, 7200])
    number = lambda v: numpy.nan if v is None else v
    for row, w in zip(rows, want):
        for name in ("id", "severity", "text", "remedy", "where", "source"):
            is_equal("findings: %s of %s" % (name, w["id"]), row[name].decode(), w[name])
        numbers = [w["cost"]["core_s"], w["cost"]["saving"]] + (w["when"] or [None, None])
        got = [row[c] for c in ("cost", "saving", "from_s", "to_s")]
        is_true("findings: numbers of " + w["id"],
                numpy.allclose(got, [number(v) for v in numbers], rtol=1e-14, equal_nan=True), got)
        is_equal("findings: unit of " + w["id"], row["cost_unit"], b"" if w["cost"]["core_s"] is None else b"core-s")
    readable(path)
    job("node", 5).write(path)
    subprocess.run([JOBPROF, "report", "--store", path], check=True)
    with h5py.File(path, "r") as f:
        is_equal("findings: of a healthy job", [len(f["analysis/findings"][()]), len(as_json(path)["findings"])], [0, 0])
    readable(path)


def others_read_it():
    golden, d = os.path.join(ROOT, "tests/data/golden"), tmpdir("others")
    path = os.path.join(d, "job_7.h5")
    os.mkdir(os.path.join(d, "root"))
    for to, name in ((path, "job_7.h5"), (os.path.join(d, "root", "7_0_p1.h5"), "7_0_p1.h5")):
        shutil.copyfile(os.path.join(golden, name), to)
    with h5py.File(path, "a") as f:  # so that a merge has something to add
        del f["Steps/0/Nodes/p1"]
    bare = os.path.join(d, "bare.h5")
    shutil.copyfile(path, bare)
    subprocess.run([JOBPROF, "report", "--store", path], check=True)
    if Stock.there():
        stock = Stock()
        is_equal("store: stock sh5util extracts the same", stock.extract(path, "-j", "7", "-s", "Tasks"),
                 stock.extract(bare, "-j", "7", "-s", "Tasks"))
    p = subprocess.run([JOBPROF, "merge", "-j", "7", "-u", "root", "-o", path, d], capture_output=True, text=True)
    is_equal("store: merge extends it", p.returncode, 0)
    with h5py.File(path, "r") as f:
        is_true("store: merge keeps the results and adds the node",
                "analysis/pika/footprint" in f and "p1" in f["Steps/0/Nodes"], p.stderr)


def killed():
    """At any time there is the old file or the new one."""
    _, path = stops()
    old = open(path, "rb").read()
    done = 0
    for ms in range(0, 240, 12):
        with open(path, "wb") as f:
            f.write(old)
        p = subprocess.Popen([JOBPROF, "report", "--store", path], stderr=subprocess.DEVNULL)
        try:
            p.wait(ms / 1000)
        except subprocess.TimeoutExpired:
            p.kill()
            p.wait()
        with h5py.File(path, "r") as f:
            done += "analysis" in f
            if "analysis" in f:
                json.loads(f["analysis/report"][0])
            elif open(path, "rb").read() != old:
                raise Failed("killed after %d ms: the file is neither" % ms)
    is_true("store: killed at 20 times, %d of them after the end" % done, done < 20, str(done))
    p = subprocess.run([JOBPROF, "report", "--store", path], capture_output=True, text=True)
    is_equal("store: after a kill", [p.returncode, os.listdir(os.path.dirname(path))], [0, ["job_4711.h5"]])


def refused():
    for args in ([ROOT + "/tests/data/golden/7_0_p1.h5"], [ROOT + "/tests/data/golden/7_%s.h5" % p for p in ("0_p1", "0_p2")]):
        copies = []
        for a in args:
            copies.append(os.path.join(tmpdir(), os.path.basename(a)))
            with open(copies[-1], "wb") as f:
                f.write(open(a, "rb").read())
        p = subprocess.run([JOBPROF, "report", "--store"] + copies, capture_output=True, text=True)
        is_true("store: node-step files are refused", p.returncode and "jobprof merge" in p.stderr, p.stderr)
        is_equal("store: and stay", [open(c, "rb").read() for c in copies], [open(a, "rb").read() for a in args])


if __name__ == "__main__":
    run_tests((footprint, flops, memory, stack, issues, eligibility, tags, io_character, io_of_devices, io_of_two_steps,
               periodic_of_mounts, stored, groups_say_what_they_are_of, stored_beside, findings_table, others_read_it,
               killed, refused))
