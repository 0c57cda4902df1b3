#!/usr/bin/python3
# timeout: 180
# SPDX-License-Identifier: GPL-2.0-or-later
"""The file that jobprof-writer makes of a journal, read by a journal parser of the test's own, h5py,
the HDF5 tools and Slurm's sh5util."""

import csv
import struct
import sys
import zlib

sys.path.insert(0, sys.path[0] + "/../../lib")
from storelib import *
from slurm_release import STOCK

SLURM_CONF = """ClusterName=t
SlurmctldHost=localhost
AuthType=auth/none
AcctGatherProfileType=acct_gather_profile/hdf5
NodeName=n[1-2] CPUs=2
PartitionName=x Nodes=n[1-2] Default=YES
"""


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
          "CPUTime": ("s", "delta"), "CPUUtilization": ("%", "gauge"), "GPUMemMB": ("MiB", "gauge"),
          "GPUUtilization": ("%", "gauge"), "RSS": ("KiB", "gauge"), "VMSize": ("KiB", "gauge"),
          "Pages": ("", "cumulative"), "ReadMB": ("MiB", "delta"), "WriteMB": ("MiB", "delta")}


def told(node, series):
    """What the file says of the columns of a series: {name: (unit, kind, description)}."""
    return {r["Column"].decode(): tuple(r[k].decode() for k in ("Unit", "Kind", "Description"))
            for r in node["Columns"][:] if r["Table"].decode() == series}


def columns_are_described():
    path = published()
    wrong, bare = [], []
    with h5py.File(path, "r") as f:
        node = f["n1"]
        for name in node:
            tables = node[name].values() if isinstance(node[name], h5py.Group) else [node[name]]
            of = told(node, name)
            if name not in ("Totals", "Columns"):
                wrong += [t.name for t in tables if t.dtype.names != tuple(of)]
            bare += [name + "/" + c for c, t in of.items() if not t[2]]
        is_equal("tables of which other columns are described, or in another order", wrong, [])
        is_equal("columns without a description", bare, [])
        is_equal("Slurm's columns", {c: told(node, "Tasks")[c][:2] for c in SLURMS}, SLURMS)
        is_equal("each column once", len(node["Columns"]), len({(r["Table"], r["Column"]) for r in node["Columns"][:]}))
        is_true("what MB is", "2^20" in node.attrs["Units"], node.attrs["Units"])
        is_equal("a text is a str", node.attrs["End Reason"], "exit")
    text = sh("h5dump", "-A", path).stdout
    is_true("h5dump -A", '"exit"' in text and "MiB is 2^20 bytes" in text, text[:200])
    text = sh("h5dump", "-d", "/n1/Columns", path).stdout
    is_true("h5dump of Columns", '"kHz"' in text and '"KiB"' in text and "Virtual memory size." in text, text[:200])


def total_of(row, series, what, column):
    """Of the buckets of a histogram it is an element of an array."""
    bucket = re.fullmatch("([BW])(\\d+)", column) if series.endswith(("Latency", "Length")) else None
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
            if name in ("Stacks", "CallTree"):  # numbers of functions: there is nothing to add up
                continue
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
            is_equal("and says the same of its columns", told(f["Steps/0/Nodes/n2"], "Tasks"),
                     told(one["n2"], "Tasks"))
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


if __name__ == "__main__":
    run_store_tests([every_cell_as_in_the_journal, layout_as_slurms, columns_are_described,
                      totals_as_numpy_says, totals_of_histograms_are_arrays, hdf5_tools_read_it,
                      stock_sh5util_merges_and_extracts])
