#!/usr/bin/python3
# timeout: 90
# SPDX-License-Identifier: GPL-2.0-or-later
"""jobprof-dump, and the file behind it, against counts that bpftool put in the maps."""

import struct
import sys


sys.path.insert(0, sys.path[0] + "/../../lib")
from lib import *
from maplib import Maps

DUMP = os.path.join(BUILD, "jobprof-dump")
PID = os.getpid()
# Counts put in, (on CPU 0, on the last CPU), and what becomes of them.
MB = 1048576
POKES = {
    "jp_blk": ([5, 2, 3 * MB, MB, 600000, 50 * 10**6], [1, 0, MB, 0, 2 * 10**6, 0]),
    "jp_net": ([MB, 2 * MB, 3, 4, 5 * MB, 6 * MB, 7, 8, 9], [MB, 0, 1, 0, 0, 0, 0, 0, 1]),
    "jp_files": ([11, 10], [2, 1]),
}
WANT = {
    "jp_blk": {"BlkReads": 6, "BlkWrites": 2, "BlkReadMB": 4, "BlkWriteMB": 1,
               "BlkReadTime": 0.0026, "BlkWriteTime": 0.05},
    "jp_net": {"NetRxMB": 2, "NetTxMB": 2, "NetRxOps": 4, "NetTxOps": 4, "NetLoopRxMB": 5,
               "NetLoopTxMB": 6, "NetLoopRxOps": 7, "NetLoopTxOps": 8, "TcpRetrans": 10},
    "jp_files": {"Opens": 13, "Closes": 11},
}
RAW = {"jp_blk": ("blk", "reads", [5, 1]), "jp_net": ("net", "loop_tx_ops", [8, None]),
       "jp_files": ("files", "closes", [10, 1])}


def sh(*args, **kw):
    return subprocess.run(args, capture_output=True, text=True, timeout=60, **kw)


def line_of(text, label, part="task 0"):
    """A line of the page with what was broken off it; None: there is none."""
    block = re.search(r"^%s:.*\n((?:  .*\n)*)" % part, text, re.M)
    m = re.search(r"^  %-10s(.*(?:\n {12}.*)*)" % re.escape(label), block.group(1) if block else "",
                  re.M)
    return " ".join(m.group(1).split()) if m else None


class Parked:
    """A jobprof run of everything whose task sleeps."""

    def __init__(self):
        self.pin = "/sys/fs/bpf/jobprof-test-%d-views" % PID
        self.hold = Hold()
        self.run = Run(self.hold.cmd("park", "park"), series="all,files",
                       extra=["--pin", self.pin, "-e", "cpu-clock,page-faults",
                              "--perf-mode", "exact"], env=plain_env(SLURM_JOB_ID="88"))
        self.hold.wait()
        self.maps = Maps(self.pin)

    def dump(self, *args):
        r = sh(DUMP, "--pin", self.pin, *args)
        if r.returncode:
            raise Failed("jobprof-dump %s: %d %s" % (args, r.returncode, r.stderr))
        return r.stdout

    def json(self, *args):
        return json.loads(self.dump("--json", *args))

    def task(self):
        return self.json()[0]["tasks"]["0"]

    def end(self):
        self.hold.go()
        self.hold.wait()
        self.hold.go()
        return self.run.end()


def poke(p, slot, name):
    for cpu, numbers in zip((0, p.maps.ncpus - 1), POKES[name]):
        p.maps.add(name, p.maps.cpu_slot(cpu, slot), numbers)


def poked_columns(p, name):
    before = p.task()
    watch = start([DUMP, "--pin", p.pin, "--json", "--watch", "1.5", "--count", "2"],
                  stdout=subprocess.PIPE, text=True)
    rounds = [json.loads(watch.stdout.readline())[0]["tasks"]["0"]]
    poke(p, before["slot"], name)
    rounds.append(json.loads(watch.stdout.readline())[0]["tasks"]["0"])
    watch.wait(10)
    after = p.json()[0]
    dt = rounds[1]["age"] - rounds[0]["age"]
    wrong = []
    for column, n in WANT[name].items():
        base = before["columns"][column]
        if base is None:  # TcpRetrans where sockets cannot be told
            continue
        got = {"task": after["tasks"]["0"]["columns"][column], "step": after["columns"][column],
               "rate": rounds[1]["rates"][column] * dt + base}
        wrong += ["%s of the %s: %s, not %s" % (column, k, v, base + n) for k, v in got.items()
                  if not numpy.isclose(v, base + n, rtol=1e-3, atol=1e-6)]
    is_equal("dump: what was put in %s" % name, wrong, [])
    key, field, per_cpu = RAW[name]
    raw = next(s for s in p.json("--raw") if s["slot"] == before["slot"])
    at = [0, p.maps.ncpus - 1]
    got = [raw["cpus"].get(str(c), {}).get(key, {}).get(field) for c in at]
    is_true("dump: --raw %s" % key, p.maps.ncpus == 1 or
            all((g or 0) >= (w or 0) for g, w in zip(got, per_cpu)), (got, per_cpu))
    is_true("dump: --raw %s as text" % key, re.search(r"^  cpu 0 %s: .*\b%s=%d\b" % (
        key, field, got[0] or 0), p.dump("--raw"), re.M), p.dump("--raw"))


def poked_latency(p, slot):
    cells = [0] * 80
    cells[17], cells[20], cells[40 + 20] = 6, 2, 2
    p.maps.add("jp_blk_lat", slot, cells)
    raw = next(s for s in p.json("--raw") if s["slot"] == slot)["blk_lat"]
    is_true("dump: --raw has the histogram of requests", raw.get("all.17", 0) >= 6 and
            raw.get("all.20", 0) >= 2 and raw.get("write.20", 0) >= 2, raw)
    is_true("dump: --raw says it as text", re.search(
        r"^  blk_lat: .*\ball\.17=\d+.* write\.20=\d+", p.dump("--raw"), re.M), p.dump("--raw"))


def poked_budget(p, slot):
    at = 3 + 5  # after the three sums the sixth cause: the lock
    p.maps.add("jp_wait", slot, [7 * 10**9 * (i == at) for i in range(16)])
    raw = next(s for s in p.json("--raw") if s["slot"] == slot)["wait"]
    is_true("dump: --raw has the time budget", 7e9 <= raw["blocked_ns.futex"] < 8e9, raw)
    is_true("dump: --raw says it as text", re.search(r"^  wait: .*\bblocked_ns\.futex=7\d{9}\b", p.dump("--raw"), re.M),
            p.dump("--raw"))


def control_put(p, offset, raw):
    all_of_it = bytearray(p.maps.get("jp_control", 0))
    all_of_it[offset:offset + len(raw)] = raw
    p.maps.put("jp_control", 0, bytes(all_of_it))


def poked_control(p, slot):
    """Names of events and counters of the collector; offsets of struct jp_control."""
    control_put(p, 48 + 8 * 8, struct.pack("<5Q", 1, 2, 3, 4, 5))
    got = p.json("--self", "-t", "0.1")
    names = ("blk_full", "blk_unowned", "sock_fail", "pmu_fail", "pmu_lost")
    is_true("dump: new counters of the collector", all(
        got["counters"][n] >= i + 1 for i, n in enumerate(names)), got["counters"])
    text = p.dump()
    is_equal("dump: and what they mean", [n for n in names if not re.search(
        r"^%s: \d+ \S+" % n, text, re.M)], [])
    text = p.dump("--self", "-t", "0.1")
    is_true("dump: --self names the families", re.search(r"^families: base sched .*", text, re.M)
            and "sched" in got["families"], text)
    if not p.maps.has("jp_pmu"):
        skip("dump: events by their names", "the family perf is not loaded here")
        return
    raw = p.maps.get("jp_control", 0)
    with open(os.path.join(os.path.dirname(BUILD), "bpf/jobprof.h")) as f:
        mode = 72 + int(re.search(r"sizeof\(struct jp_stats\) == (\d+)", f.read())[1])
    npmu = max(2, struct.unpack_from("<I", raw, mode + 4)[0])
    control_put(p, mode, struct.pack("<2I", 2, npmu))
    control_put(p, mode + 12, struct.pack("<I", 0))
    control_put(p, mode + 16, struct.pack("<3Q", 777, 1000, 2000))
    names = raw.find(b"CpuClock".ljust(40, b"\0"))
    control_put(p, names if names > 0 else mode + 216,
                b"PokedA".ljust(40, b"\0") + b"PokedB".ljust(40, b"\0"))
    poked_events(p, slot)


def poked_events(p, slot):
    # enabled, reads, then counter and running of each event
    p.maps.add("jp_pmu", p.maps.cpu_slot(0, slot), [10**9, 3, 5000, 10**9, 800, 25 * 10**7])
    sums = numpy.zeros(6)
    for cpu in range(p.maps.ncpus):
        raw = p.maps.get("jp_pmu", p.maps.cpu_slot(cpu, slot))
        sums += struct.unpack_from("<6Q", raw)
    want = [sums[2] * max(1, sums[0] / sums[3]), sums[4] * max(1, sums[0] / sums[5])]
    cols = p.task()["columns"]
    is_true("dump: events by their names, scaled", numpy.allclose(
        [cols.get("PokedA"), cols.get("PokedB")], want, rtol=1e-9), (cols, want))
    is_true("dump: the schema's names are not there then", "Instructions" not in cols, list(cols))
    table = p.dump("--columns", "pokedb,TcpRetrans,opens").splitlines()
    is_equal("dump: --columns takes the events", table[1].split()[-3:],
             ["PokedB", "TcpRetrans", "Opens"])
    perf = p.json("--self", "-t", "0.1")["perf"]
    is_equal("dump: --self says how they are read",
             [perf["mode"], perf["read_ns"], perf["events"][:2]],
             ["sampled", 777, [{"column": "PokedA", "period": 1000},
                               {"column": "PokedB", "period": 2000}]])
    is_true("dump: --self says it as text", "hardware counters: sampled, 777 ns per sample: "
            "PokedA (each 1000), PokedB (each 2000)" in p.dump("--self", "-t", "0.1"), perf)


def usual_columns(p):
    heads = re.search(r"^job +step.*$", p.dump(), re.M).group(0)
    families = p.json("--self", "-t", "0.1")["families"]
    is_equal("dump: block and network columns come with their families",
             ["blk rd" in heads, "net tx" in heads, "dread MiB" in heads],
             ["block" in families, "network" in families, "block" not in families])
    r = sh(DUMP, "--pin", p.pin, "--columns", "Nope")
    is_equal("dump: an unknown column", [r.returncode, r.stderr.count("\n")], [2, 1])


def dump_shows_what_the_maps_hold():
    """Counts that bpftool puts into the slot of a sleeping task, up to its file."""
    need_bpf()
    p = Parked()
    slot = p.task()["slot"]
    usual_columns(p)
    put = []
    for name in POKES:
        if p.maps.has(name):
            poked_columns(p, name)
            put.append(name)
        else:
            skip("dump: what was put in " + name, "its family is not loaded here")
    if p.maps.has("jp_blk_lat"):
        poked_latency(p, slot)
        poked_budget(p, slot)
    poked_control(p, slot)
    path = p.end()
    with h5py.File(path, "r") as f:
        node = next(k for k in f if isinstance(f[k], h5py.Group))
        t = f[node]["Tasks/0"][()]
    # A page of the maps' numbers is a page of the file's
    for name in put:
        is_equal("file: what was put in " + name,
                 ["%s: %g < %g" % (c, t[c].sum(), n) for c, n in WANT[name].items()
                  if not numpy.isnan(t[c]).all() and t[c].sum() < n - 1e-6], [])
    page = subprocess.run([JOBPROF, "show", path], capture_output=True, text=True).stdout
    labels = {"jp_blk": "block", "jp_net": "network", "jp_files": "files"}
    is_equal("file: lines of the page that are not there",
             [labels[n] for n in put if not line_of(page, labels[n])], [])


if __name__ == "__main__":
    run_tests([dump_shows_what_the_maps_hold])
