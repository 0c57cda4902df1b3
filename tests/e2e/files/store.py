#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 240
"""The file: journal -> jobprof-writer -> HDF5, looked at by a journal parser of its own, h5py, the
HDF5 tools and Slurm's sh5util; jobprof show and list."""

import csv
import fcntl
import os
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import time
import zlib

import h5py
import numpy

sys.path.insert(0, os.path.realpath(__file__ + "/../../../lib"))
from lib import (BUILD, Failed, Skipped, is_equal, is_true, ok, not_ok, run_tests, start, tmpdir, totalled,
                 NODE_SERIES, ROOT, JOBPROF, wait_until)
from slurm_release import STOCK

WRITER = os.path.join(BUILD, "jobprof-writer")
DATA = os.path.join(ROOT, "tests", "data", "slurm")
SRC = tmpdir("journals")
SLURM_CONF = """ClusterName=t
SlurmctldHost=localhost
AuthType=auth/none
AcctGatherProfileType=acct_gather_profile/hdf5
NodeName=n[1-2] CPUs=2
PartitionName=x Nodes=n[1-2] Default=YES
"""


def sh(*args, **kw):
    return subprocess.run(args, capture_output=True, text=True, **kw)


def unpacked(frame):
    """The text of pack.h: maps of the words that are not 0, each before its words."""
    words = struct.unpack("=%dQ" % (len(frame) // 8), frame)
    left, at, out = words[0] // 8, 1, []
    while left:
        n, bits = min(64, left), words[at]
        at, left = at + 1, left - n
        for i in range(n):
            out.append(words[at] if bits >> i & 1 else 0)
            at += bits >> i & 1
    if at != len(words):
        raise Failed("a packed frame has words too many")
    return struct.pack("=%dQ" % len(out), *out)


def journal_rows(path):
    """Tables of a journal, by the text of journal.h: {(series, table): [cells as u64]}, columns
    {series: [(name, type)]}."""
    raw = open(path, "rb").read()
    if raw[:8] != b"JPJOURN1" or struct.unpack("=II", raw[8:16]) != (1, 0x01020304):
        raise Failed("not a journal: " + path)
    at, series, tables, rows, attrs = 16, {}, {}, {}, {}
    while at < len(raw):
        if not any(raw[at:]):
            break  # room for more
        length, crc = struct.unpack_from("=II", raw, at)
        packed, length = length >> 31, length & 0x7fffffff
        frame = raw[at + 8:at + 8 + length]
        if len(frame) != length or zlib.crc32(frame) ^ (packed and 0xffffffff) != crc:
            raise Failed("torn frame at %d" % at)
        at, pos = at + 8 + length, 0
        if packed:
            frame = unpacked(frame)
            length = len(frame)
        while pos < length:
            kind, _, n = struct.unpack_from("=HHI", frame, pos)
            p = frame[pos + 8:pos + 8 + n]
            pos += 8 + (n + 7) // 8 * 8
            if kind == 1:
                t, _, v = struct.unpack_from("=IIq", p)
                name, text = (p[16:].split(b"\0") + [b""])[:2]
                attrs[name.decode()] = (t, v if t < 2 else text.decode() if t == 3 else
                                        struct.unpack_from("=d", p, 8)[0])
            elif kind == 2:
                sid, ncols, grouped = struct.unpack_from("=HHB", p)
                end = p.index(b"\0", 8)
                name, cols, q = p[8:end].decode(), [], end + 1
                for _ in range(ncols):
                    e = p.index(b"\0", q + 2)
                    u = p.index(b"\0", e + 1)
                    cols.append((p[q + 2:e].decode(), p[q], p[q + 1]))
                    q = u + 1
                series[sid] = (name, cols, grouped)
            elif kind == 3:
                tid, sid = struct.unpack_from("=IH", p)
                tables[tid] = (series[sid][0], p[8:-1].decode())
                rows.setdefault(tables[tid], [])
            elif kind == 4:
                tid, n = struct.unpack_from("=II", p)
                rows[tables[tid]].append(p[8:8 + 8 * n])
    return rows, {n: (c, g) for n, c, g in series.values()}, attrs


def writer(journal, directory, name, mode, *more, pre=(), **kw):
    """Runs jobprof-writer as jobprofd would: the journal and the directory as descriptors."""
    j = os.open(os.path.join(SRC, journal), os.O_RDONLY)
    d = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        return subprocess.run([*pre, WRITER, "-j", str(j), "-d", str(d), "-n", name, "-m", mode,
                               *more], pass_fds=(j, d), capture_output=True, text=True, **kw)
    finally:
        os.close(j)
        os.close(d)


def writer_start(journal, directory, name, mode, *more):
    j = os.open(os.path.join(SRC, journal), os.O_RDONLY)
    d = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    p = start([WRITER, "-j", str(j), "-d", str(d), "-n", name, "-m", mode, *more],
              pass_fds=(j, d), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    os.close(j)
    os.close(d)
    return p


def published(journal="n1.journal", name="7_0_n1.h5"):
    d = tmpdir()
    r = writer(journal, d, name, "final")
    if r.returncode or r.stdout or r.stderr:
        raise Failed("writer: %d %s %s" % (r.returncode, r.stdout, r.stderr))
    return os.path.join(d, name)


def every_cell_as_in_the_journal():
    rows, series, _ = journal_rows(os.path.join(SRC, "n1.journal"))
    with h5py.File(published(), "r") as f:
        for (name, table), want in rows.items():
            cols, grouped = series[name]
            d = f["n1"][name][table] if grouped else f["n1"][name]
            if d.shape != (len(want),):
                raise Failed("%s/%s has %s rows" % (name, table, d.shape))
            if d[:].tobytes() != b"".join(want):
                raise Failed("%s/%s differs" % (name, table))
            kinds = [("<u8", "<f8")[t] for _, t, _ in cols]
            if [(c, d.dtype[c].str) for c in d.dtype.names] != \
                    [(c[0], k) for c, k in zip(cols, kinds)]:
                raise Failed("columns of %s" % name)
    ok("every_cell_as_in_the_journal")


def layout_as_slurms():
    with h5py.File(published(), "r") as f, h5py.File(os.path.join(DATA, "7_0_p1.h5"), "r") as s:
        ours, theirs = f["n1"], s["p1"]
        for name in theirs.attrs:
            a, b = (h5py.h5a.open(g.id, name.encode()) for g in (ours, theirs))
            is_equal("shape of attribute " + name, a.shape, b.shape)
            is_equal("type of attribute " + name, type(a.get_type()), type(b.get_type()))
            if isinstance(b.get_type(), h5py.h5t.TypeStringID):
                t, value = a.get_type(), ours.attrs[name][0]
                is_true("string of " + name, t.get_size() == len(value) and
                        t.get_strpad() == b.get_type().get_strpad() and
                        t.get_cset() == b.get_type().get_cset(), str(t.get_size()))
            else:
                is_equal("size of attribute " + name, a.get_type().get_size(),
                         b.get_type().get_size())
        mine, slurms = ours["Tasks/0"], theirs["Tasks/0"]
        order = [c for c in mine.dtype.names if c in slurms.dtype.names]
        is_equal("Slurm's columns in Slurm's order", order, list(slurms.dtype.names))
        is_true("members are packed and of 8 bytes",
                mine.dtype.itemsize == 8 * len(mine.dtype.names), str(mine.dtype))
        is_equal("unlimited", mine.maxshape, (None,))
        is_true("shuffled and deflated in chunks", mine.shuffle and mine.compression == "gzip" and
                mine.compression_opts == 4 and mine.chunks[0] <= 128, str(mine.chunks))
        names = [c for c in ours["Totals"]]
        is_equal("Totals holds tables only",
                 [n for n in names if not isinstance(ours["Totals"][n], h5py.Dataset)], [])


# What Slurm's own columns are: by its source, and kinds by what it does with them.
SLURMS = {"ElapsedTime": ("s", "time"), "EpochTime": ("s", "time"), "CPUFrequency": ("kHz", "gauge"),
          "CPUTime": ("s", "delta"), "CPUUtilization": ("%", "gauge"), "GPUMemMB": ("MB", "gauge"),
          "GPUUtilization": ("%", "gauge"), "RSS": ("KiB", "gauge"), "VMSize": ("KiB", "gauge"),
          "Pages": ("", "cumulative"), "ReadMB": ("MB", "delta"), "WriteMB": ("MB", "delta")}


def told(table):
    """What a table says of its columns: {name: (unit, kind, description)}."""
    texts = [[v.decode() for v in table.attrs["Column " + k]]
             for k in ("Units", "Kinds", "Descriptions")]
    if {len(t) for t in texts} != {len(table.dtype.names)}:
        raise Failed("%s: %s texts for %d members" % (table.name, [len(t) for t in texts],
                                                      len(table.dtype.names)))
    return dict(zip(table.dtype.names, zip(*texts)))


def tables_describe_themselves():
    path = published()
    without, bare = [], []
    with h5py.File(path, "r") as f:
        def look(name, table):
            if isinstance(table, h5py.Dataset):
                try:
                    bare.extend(name + "/" + c for c, t in told(table).items() if not t[2])
                except (KeyError, Failed) as e:
                    without.append("%s: %s" % (name, e))
        f.visititems(look)
        node = f["n1"]
        is_equal("tables without, or with another number of texts", without, [])
        is_equal("columns without a description", bare, [])
        is_equal("Slurm's columns", {c: told(node["Tasks/1"])[c][:2] for c in SLURMS}, SLURMS)
        of = told(node["Totals/Tasks"])
        is_equal("totals have their column's unit", [of[c][0] for c in (
            "Max_RSS", "Avg_RunDelay", "Sum_ReadMB", "Task")], ["KiB", "s", "MB", ""])
        is_equal("and say what is summed up", [of[c][2] for c in ("Min_RSS", "Sum_ReadMB")],
                 ["lowest", "sum"])
        is_equal("an array is one member", len(node["Totals/RunLatency"].attrs["Column Units"]), 5)
        is_true("what MB is", "2^20" in node.attrs["Units"], node.attrs["Units"])
        is_equal("a text is a str", node.attrs["End Reason"], "exit")
    text = sh("h5dump", "-A", path).stdout
    is_true("h5dump -A", '"kHz"' in text and '"KiB"' in text and "Virtual memory size." in text and
            "MB is 2^20 bytes" in text, text[:200])


def total_of(row, series, what, column):
    """Of the buckets of a histogram it is an element of an array."""
    bucket = re.fullmatch("([BW])(\\d+)", column) if series.endswith("Latency") else None
    return row["%s_%s" % (what, bucket[1])][int(bucket[2])] if bucket else \
        row["%s_%s" % (what, column)]


def totals_of_histograms_are_arrays():
    wanted = {"RunLatency": "B", "BlkLatency": "BW"}
    with h5py.File(published(), "r") as f:
        for series, prefixes in wanted.items():
            t = f["n1/Totals"][series].dtype
            is_equal("Totals/" + series, [(n, t[n].base.str, t[n].shape) for n in t.names],
                     [("Task", "<u8", ())] + [("%s_%s" % (m, p), "<f8", (40,)) for p in prefixes
                                              for m in ("Min", "Max", "Avg", "Sum")])


def totals_as_numpy_says():
    rows, series, attrs = journal_rows(os.path.join(SRC, "n1.journal"))
    unknown = attrs["Unknown Columns"][1].split(",")
    with h5py.File(published(), "r") as f:
        for name, (cols, grouped) in series.items():
            totals = f["n1/Totals"][name][()]
            tables = sorted((k[1] for k in rows if k[0] == name), key=int) if grouped else [name]
            for i, table in enumerate(tables):
                data = f["n1"][name][table][:] if grouped else f["n1"][name][:]
                if grouped and totals["Task"][i] != int(table):
                    raise Failed("Task of row %d of %s" % (i, name))
                for c, _, kind in cols:
                    v = data[c].astype("f8")
                    v = totalled(c, v) if c not in unknown else v[:0]
                    if kind == 0:
                        continue
                    want = {"Min": v.min, "Max": v.max, "Avg": v.mean}
                    want.update({"Sum": v.sum} if kind == 2 else
                                {"Last": lambda: v[-1]} if kind == 3 else {})
                    for what, fn in want.items():
                        got = total_of(totals[i], name, what, c)
                        if not (numpy.isnan(got) if not len(v) else
                                numpy.isclose(got, fn(), rtol=1e-12, atol=0)):
                            raise Failed("%s_%s of %s/%s is %r" % (what, c, name, table, got))
    ok("totals_as_numpy_says")


def hdf5_tools_read_it():
    path = published()
    r = sh("h5dump", "-H", path)
    is_true("h5dump -H", not r.returncode and "RunDelay" in r.stdout, r.stderr)
    r = sh("h5dump", path)
    is_true("h5dump with data", not r.returncode and not r.stderr, r.stderr)
    r = sh("h5ls", "-r", path)
    is_true("h5ls -r", not r.returncode and re.search(r"^/n1/Tasks/1 +Dataset \{300/Inf\}",
                                                      r.stdout, re.M), r.stdout + r.stderr)
    r = sh("h5stat", path)
    is_true("h5stat", not r.returncode, r.stderr)


def slurm_dir():
    """A ProfileHDF5Dir with job 7 of two nodes, and the environment that names it."""
    if not STOCK:
        raise Skipped("no sh5util (Debian: slurm-wlm, slurm-wlm-hdf5-plugin)")
    d = tmpdir("slurm")
    conf = os.path.join(d, "slurm.conf")
    open(conf, "w").write(SLURM_CONF)
    open(os.path.join(d, "acct_gather.conf"), "w").write("ProfileHDF5Dir=%s\n" % d)
    user = os.path.join(d, "root")
    os.mkdir(user)
    for node in ("n1", "n2"):
        r = writer(node + ".journal", user, "7_0_%s.h5" % node, "final")
        if r.returncode:
            raise Failed(r.stderr)
    r = writer("live.journal", user, "7_1_n1.h5", "live")
    if r.returncode:
        raise Failed(r.stderr)
    return d, dict(os.environ, SLURM_CONF=conf)


def sh5util(env, *args):
    r = sh(STOCK, *args, env=env)
    if r.returncode or "rror" in r.stderr:
        raise Failed("sh5util %s: %d %s" % (" ".join(args), r.returncode, r.stdout + r.stderr))
    return r


def same_text(text, value):
    """Whether a number of the stock tool's CSV is this one: %f or an integer."""
    if isinstance(value, numpy.floating):
        return text.lstrip("-") == "nan" if numpy.isnan(value) else text == "%f" % value
    return text == str(value)


def stock_sh5util_merges_and_extracts():
    d, env = slurm_dir()
    merged = os.path.join(d, "job_7.h5")
    sh5util(env, "-j", "7", "-p", d, "-u", "root", "-S", "-o", merged)
    with h5py.File(merged, "r") as f:
        steps = f["Steps"]
        is_equal("the live file is left alone", list(steps), ["0"])
        is_equal("nodes merged", sorted(steps["0/Nodes"]), ["n1", "n2"])
        with h5py.File(os.path.join(d, "root", "7_0_n2.h5"), "r") as one:
            is_true("a merged table is the same",
                    f["Steps/0/Nodes/n2/Tasks/1"][:].tobytes() == one["n2/Tasks/1"][:].tobytes(),
                    "Tasks/1 of n2")
            is_equal("and says the same of its columns", told(f["Steps/0/Nodes/n2/Tasks/1"]),
                     told(one["n2/Tasks/1"]))
        out = os.path.join(d, "ts.csv")
        sh5util(env, "-j", "7", "-i", merged, "-E", "-l", "Node:TimeSeries", "-s", "Tasks",
                "-o", out)
        lines = list(csv.DictReader(open(out)))
        is_equal("rows extracted", len(lines), 2 * 300 + 2 * 140)
        count, bad = {}, []
        for line in lines:
            key = (line["Node"], line["Series"])
            row = f["Steps/0/Nodes/%s/Tasks/%s" % key][count.setdefault(key, 0)]
            count[key] += 1
            bad += [c for c in row.dtype.names if not same_text(line[c], row[c])]
        is_true("stock time series are h5py's", not bad, ", ".join(bad[:5]))
        totals(env, d, merged, f)
    out = os.path.join(d, "list.csv")
    r = sh5util(env, "-j", "7", "-i", merged, "-L", "-s", "Tasks", "-o", out)
    text = r.stdout + (open(out).read() if os.path.exists(out) else "")
    is_true("stock list knows our columns", "RunDelay" in text and "TimeNS" in text, text)


def totals(env, d, merged, f):
    out = os.path.join(d, "tot.csv")
    sh5util(env, "-j", "7", "-i", merged, "-E", "-l", "Node:Totals", "-s", "Tasks", "-o", out)
    lines = list(csv.DictReader(open(out)))
    is_equal("totals extracted", len(lines), 4)
    bad = []
    for line in lines:
        t = f["Steps/0/Nodes/%s/Tasks/%s" % (line["Node"], line["Series"])][:]
        for c in ("CPUTime", "MinorFaults", "DiskWriteMB", "AnonMB"):
            for what, fn in (("Min", min), ("Max", max), ("Sum", sum)):
                if abs(float(line["%s_%s" % (what, c)]) - fn(t[c])) > 1e-5:
                    bad.append("%s_%s" % (what, c))
    is_true("stock totals are h5py's", not bad, ", ".join(bad))


def writer_publishes_live_then_final():
    d = tmpdir()
    r = writer("live.journal", d, "7_0_n1.h5", "live")
    is_equal("live file has a dot", (r.returncode, r.stderr, os.listdir(d)),
             (0, "", [".7_0_n1.h5"]))
    with h5py.File(os.path.join(d, ".7_0_n1.h5"), "r") as f:
        is_equal("live file is complete", f["n1/Tasks/0"].shape, (20,))
    r = writer("n1.journal", d, "7_0_n1.h5", "final")
    is_equal("the final one replaces it", (r.returncode, r.stdout, os.listdir(d)),
             (0, "", ["7_0_n1.h5"]))
    r = writer("n1.journal", d, "7_0_n1.h5", "final")
    is_equal("publishing again replaces it", (r.returncode, r.stdout, os.listdir(d)),
             (0, "", ["7_0_n1.h5"]))
    r = writer("again.journal", d, "7_0_n1.h5", "final")
    is_equal("an earlier run is kept", (r.returncode, r.stderr), (0, (
        "jobprof-writer: 7_0_n1.h5: the file of the earlier run is restart0/7_0_n1.h5\n")))
    with h5py.File(os.path.join(d, "restart0", "7_0_n1.h5"), "r") as f:
        is_equal("under its own name", f["n1/Tasks/0"].shape, (300,))
    is_equal("restart directory is private",
             os.stat(os.path.join(d, "restart0")).st_mode & 0o777, 0o700)


def writer_leaves_slurms_file():
    """Also one that Slurm is writing: it has it locked."""
    golden = os.path.join(ROOT, "tests", "data", "golden", "7_0_p1.h5")
    for held in (False, True):
        d = tmpdir()
        path = os.path.join(d, "7_0_n1.h5")
        with open(golden, "rb") as f, open(path, "wb") as g:
            g.write(f.read()[:100 if held else None])
        with open(path, "rb") as f:
            was = f.read()
            if held:
                fcntl.flock(f, fcntl.LOCK_EX)
            r = writer("n1.journal", d, "7_0_n1.h5", "final")
        is_equal("Slurm's file stays, %s" % held, (r.returncode, r.stderr), (0, (
            "jobprof-writer: 7_0_n1.h5: is a file of Slurm's own plugin, which stays: jobprof's is "
            "restart0/7_0_n1.h5\n")))
        with open(path, "rb") as f:
            is_true("as it was, %s" % held, f.read() == was, "")
        with h5py.File(os.path.join(d, "restart0", "7_0_n1.h5"), "r") as f:
            is_equal("ours, %s" % held, f["n1/Tasks/0"].shape, (300,))


def writer_wrong_usage():
    for args in ((), ("-j", "0"), ("-j", "x", "-d", "3", "-n", "a.h5", "-m", "live"),
                 ("-j", "0", "-d", "3", "-n", "a.h5", "-m", "later"),
                 ("-j", "0", "-d", "3", "-n", "a.h5", "-m", "live", "more")):
        r = sh(WRITER, *args)
        if r.returncode != 2 or "usage" not in r.stderr:
            raise Failed("%s: %d %s" % (args, r.returncode, r.stderr))
    ok("writer_wrong_usage")


def writer_failures_are_one_line():
    d = tmpdir()
    for name in ("../x.h5", ".x.h5", ""):
        r = writer("n1.journal", d, name, "final")
        if r.returncode != 1 or r.stderr.count("\n") != 1:
            raise Failed("name %r: %d %s" % (name, r.returncode, r.stderr))
    open(os.path.join(SRC, "no.journal"), "w").write("this is not a journal at all\n")
    r = writer("no.journal", d, "a.h5", "final")
    is_true("writer on another file", r.returncode == 1 and r.stderr.count("\n") == 1 and
            not os.listdir(d), r.stderr)
    if os.geteuid():
        raise Skipped("another user's directory needs root")
    os.chmod(d, 0o755)
    os.chmod(os.path.dirname(d), 0o755)
    r = writer("n1.journal", d, "7_0_n1.h5", "final",
               pre=("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"))
    is_true("writer without rights", r.returncode == 1 and "Permission denied" in r.stderr and
            r.stderr.count("\n") == 1 and not os.listdir(d), r.stderr)


def status_field(pid, field):
    m = re.search(r"^%s:\s*(\S+)" % field, open("/proc/%d/status" % pid).read(), re.M)
    return m.group(1) if m else ""


def writer_gives_up_its_rights():
    d = tmpdir()
    p = writer_start("long.journal", d, "7_0_n1.h5", "final")
    wait_until(lambda: os.listdir(d) or p.poll() is not None, 10, "the writer")
    p.send_signal(signal.SIGSTOP)
    try:
        sets = [status_field(p.pid, "Cap" + s) for s in ("Inh", "Prm", "Eff", "Amb")]
        is_equal("no capability", {int(s, 16) for s in sets}, {0})
        is_equal("no new privileges", status_field(p.pid, "NoNewPrivs"), "1")
        limits = open("/proc/%d/limits" % p.pid).read()
        is_true("no core dumps", re.search(r"^Max core file size +0 +0 ", limits, re.M), limits)
    finally:
        p.send_signal(signal.SIGCONT)
        p.wait()
    is_equal("writer ends well", p.returncode, 0)


def writer_ends_at_its_deadline():
    d = tmpdir()
    p = writer_start("long.journal", d, "7_0_n1.h5", "final", "-D", "1")
    wait_until(lambda: os.listdir(d) or p.poll() is not None, 10, "the writer")
    p.send_signal(signal.SIGSTOP)
    time.sleep(1.3)
    p.send_signal(signal.SIGCONT)
    err = p.communicate()[1]
    is_true("writer_ends_at_its_deadline", p.returncode == 1 and "deadline" in err and
            not os.path.exists(os.path.join(d, "7_0_n1.h5")), "%d %s" % (p.returncode, err))


def writer_killed_at_random():
    d = tmpdir()
    path = os.path.join(d, "7_0_n1.h5")
    random.seed(5)
    seen = 0
    for i in range(60):
        p = writer_start("n1.journal", d, "7_0_n1.h5", "final")
        time.sleep(random.uniform(0, 0.08))
        p.kill()
        p.wait()
        if os.path.exists(path):
            seen += 1
            with h5py.File(path, "r") as f:
                if f["n1/Tasks/1"].shape != (300,) or "Totals" not in f["n1"]:
                    raise Failed("kill %d left half a file" % i)
            if i % 2:
                os.unlink(path)
    r = writer("n1.journal", d, "7_0_n1.h5", "final")
    is_equal("a last writer leaves one file", (r.returncode, os.listdir(d)), (0, ["7_0_n1.h5"]))
    is_true("writer_killed_at_random", seen, "no kill came late enough to see a file")


def show_says_what_h5py_says():
    import json
    path = published()
    r = sh(JOBPROF, "show", "--json", path)
    if r.returncode:
        raise Failed(r.stderr)
    node = json.loads(r.stdout)["nodes"][0]
    with h5py.File(path, "r") as f:
        for t in node["tasks"]:
            rows = f["n1/Tasks"][t["task"]][:]
            for c, v in t["sum"].items():
                if not numpy.isclose(v, numpy.nansum(rows[c]), rtol=1e-12):
                    raise Failed("sum of " + c)
            for c, v in t["max"].items():
                want = None if c.startswith("GPU") else float(numpy.nanmax(rows[c]))
                if v != want:
                    raise Failed("max of %s: %s" % (c, v))
            counts = [f["n1/RunLatency"][t["task"]]["B%d" % k].sum() for k in range(40)]
            below = numpy.cumsum(counts)
            for q in (50, 90, 99):
                k = int(numpy.searchsorted(below, q / 100 * below[-1]))
                if t["run_latency"]["p%d_below_ns" % q] != 2.0 ** (k + 1):
                    raise Failed("p%d" % q)
            end = (rows["TimeNS"][-1] - f["n1"].attrs["Start TimeNS"][0]) / 1e9
            lived = rows["TimeNS"][rows["Threads"] > 0]
            lived = (lived[-1] - f["n1"].attrs["Start TimeNS"][0]) / 1e9 if len(lived) else end
            if abs(t["wall_s"] - lived) > 1e-5:
                raise Failed("wall")
            if not numpy.isclose(t["cpu_efficiency"], rows["CPUTime"].sum() / end / 2, rtol=1e-6):
                raise Failed("efficiency")
    is_equal("show --json, node", (node["job"], node["step"], node["node"]), ("7", "0", "n1"))
    is_equal("show --json, attributes", node["attributes"]["Start TimeNS"], 1795226680123456789)
    ok("show_says_what_h5py_says")


def show_prints_a_page():
    path = published()
    text = sh(JOBPROF, "show", path, env=dict(os.environ, LC_ALL="C.UTF-8")).stdout
    for word in ("job 7 step 0 on n1", "task 0:", "task 1:", "run queue", "step: all processes",
                 "Mode exact: ", "Unknown Columns: GPUMemMB", "collector:", "█"):
        if word not in text:
            raise Failed("no %r in the page" % word)
    is_true("page fits 80 columns", max(map(len, text.splitlines())) <= 80, text)
    text = sh(JOBPROF, "show", path, env=dict(os.environ, LC_ALL="C")).stdout
    is_true("page without UTF-8 is ASCII", text.isascii() and "@" in text, text)
    for wide, names in ((True, {"LANG": "ab_CD.utf8@x"}), (True, {"LC_ALL": "", "LC_CTYPE": "C.UTF-8"}),
                        (False, {"LC_CTYPE": "C", "LANG": "C.UTF-8"}), (False, {"LANG": "de_DE"}),
                        (False, {"LANG": "ab_CD.UTF-16"}), (False, {})):
        env = {k: v for k, v in os.environ.items() if k not in ("LC_ALL", "LC_CTYPE", "LANG")}
        text = sh(JOBPROF, "show", path, env=dict(env, **names)).stdout
        is_true("drawn for %s" % names, ("█" in text) == wide == (not text.isascii()), text)
    for name, words in (("7_0_p1.h5", ("job 7 step 0 on p1", "task 1:")),
                        ("2_0_p1.h5", ("job 2 step 0 on p1",)),
                        ("job_7.h5", ("step 0 on p2", "step batch on p1", "step 1 on p1"))):
        r = sh(JOBPROF, "show", os.path.join(DATA, name))
        is_true("page of Slurm's " + name, not r.returncode and all(w in r.stdout for w in words),
                r.stdout + r.stderr)


def show_does_not_trust_the_file():
    d = tmpdir()
    evil = os.path.join(d, "1_0_x.h5")
    t = numpy.dtype([("ElapsedTime", "<u8"), ("CPUTime", "<f8")])
    with h5py.File(evil, "w") as f:
        n = f.create_group("x\x1b]0;owned\x07\n")
        n.attrs["User"] = numpy.array([b"\x1b[31mred\xff"], "S9")
        n.attrs["End Reason"] = "variable length"
        n.attrs["Number of Tasks"] = numpy.arange(5)
        tasks = n.create_group("Tasks")
        tasks.create_dataset("0", data=numpy.zeros(2, t))
        tasks["1"] = h5py.ExternalLink("/etc/passwd", "/x")
        tasks["2"] = h5py.SoftLink("/nowhere")
        f["y"] = h5py.ExternalLink(os.path.join(DATA, "7_0_p1.h5"), "/p1")
    r = sh(JOBPROF, "show", evil)
    is_true("control characters of the file are shown, not sent", not r.returncode and
            "\x1b" not in r.stdout and "\\x1b" in r.stdout and "\x07" not in r.stdout, r.stderr)
    is_true("links out of the file are not followed", "on p1" not in r.stdout and
            "task 1" not in r.stdout, r.stdout)
    outside = os.path.join(d, "2_0_x.h5")
    dcpl = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    dcpl.set_external(b"/etc/passwd", 0, h5py.h5f.UNLIMITED)
    with h5py.File(outside, "w") as f:
        g = f.create_group("x/Tasks")
        h5py.h5d.create(g.id, b"0", h5py.h5t.py_create(t), h5py.h5s.create_simple((10,)), dcpl)
    r = sh(JOBPROF, "show", outside)
    is_true("bytes of another file are not read", r.returncode == 1 and
            r.stderr.count("\n") == 1, r.stdout + r.stderr)
    huge = os.path.join(d, "3_0_x.h5")
    with h5py.File(huge, "w") as f:
        f.create_dataset("x/Tasks/0", shape=(1 << 40,), maxshape=(None,), chunks=(10,), dtype=t)
    r = sh(JOBPROF, "show", huge)
    is_true("rows that cannot be there are not believed", r.returncode == 1 and
            "claims more than the file can hold" in r.stderr, r.stdout + r.stderr)
    for path in ("/nonexistent.h5", "/etc/passwd", "/tmp", "/dev/null"):
        r = sh(JOBPROF, "show", path)
        if r.returncode != 1 or r.stderr.count("\n") != 1:
            raise Failed("show %s: %d %s" % (path, r.returncode, r.stderr))
    ok("other files get one line")


def verbs():
    r = sh(JOBPROF, "shwo")
    is_equal("unknown verb names the nearest", (r.returncode, '"show"' in r.stderr), (2, True))
    is_equal("no verb", sh(JOBPROF).returncode, 2)
    is_equal("help", (sh(JOBPROF, "help").returncode, sh(JOBPROF, "--help").returncode), (0, 0))
    is_true("version", sh(JOBPROF, "--version").stdout.startswith("jobprof "), "")
    is_equal("show without a file", sh(JOBPROF, "show").returncode, 2)


def list_is_the_schema():
    import json
    every = json.loads(sh(JOBPROF, "list", "--json").stdout)
    is_equal("series", [s["name"] for s in every],
             ["Tasks", "Step", "RunLatency", "BlkLatency"] + NODE_SERIES)
    with h5py.File(published(), "r") as f:
        for s in every:
            d = f["n1"][s["name"]]
            names = (d["0"] if s["grouped"] else d).dtype.names
            is_equal("columns of " + s["name"], [c["name"] for c in s["columns"]], list(names))
    text = sh(JOBPROF, "list", "-s", "step").stdout
    is_true("list of one series", "MemLimitMB" in text and "B0" not in text, text)
    r = sh(JOBPROF, "list", "-s", "Tsks")
    is_equal("unknown series", (r.returncode, '"Tasks"' in r.stderr), (2, True))


def manual_page_is_clean():
    page = sh(JOBPROF, "list", "--man").stdout
    for cmd in (["groff", "-man", "-ww", "-Tutf8", "-z"], ["mandoc", "-T", "lint", "-W", "warning"]):
        if not shutil.which(cmd[0]):
            print("# no " + cmd[0])
            continue
        r = subprocess.run(cmd, input=page, capture_output=True, text=True)
        is_true("manual page: " + cmd[0], not r.returncode and not (r.stdout + r.stderr).strip(),
                r.stdout + r.stderr)
    text = subprocess.run(["man", "-l", "-"], input=page, capture_output=True, text=True,
                          env=dict(os.environ, MANWIDTH="80", LC_ALL="C.UTF-8")).stdout
    is_true("manual page has every kind of thing", all(w in text for w in (
        "RunDelay", "Blind spot", "B0 ... B39", "2^k")), text[:200])


if __name__ == "__main__":
    r = sh(os.path.join(BUILD, "tests", "unit", "test_nodestep"), "--make", SRC)
    if r.returncode:
        not_ok("store", "cannot make journals: " + r.stderr)
        sys.exit(1)
    run_tests((every_cell_as_in_the_journal, layout_as_slurms, tables_describe_themselves,
               totals_as_numpy_says,
               totals_of_histograms_are_arrays,
               hdf5_tools_read_it, stock_sh5util_merges_and_extracts,
               writer_publishes_live_then_final, writer_leaves_slurms_file, writer_wrong_usage, writer_failures_are_one_line,
               writer_gives_up_its_rights, writer_ends_at_its_deadline, writer_killed_at_random,
               show_says_what_h5py_says, show_prints_a_page, show_does_not_trust_the_file, verbs,
               list_is_the_schema, manual_page_is_clean))
