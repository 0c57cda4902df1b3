#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 400
# runs: in full
"""What a cursor reads, cell by cell, against h5py: every way a table can be stored that is not an
error. Chunks with shuffle and deflate are decoded by code of our own."""

import sys
import zlib


sys.path.insert(0, sys.path[0] + "/../../lib")
from lib import *

ROWS = os.path.join(BUILD, "fuzz", "rows")
PLAIN = numpy.dtype([("U", "<u8"), ("F", "<f8"), ("I", "<i8"), ("G", "<f8")])


def noise(n, dtype=PLAIN, seed=1):
    """Every bit pattern of integers; doubles with NaN, infinities and small numbers among them."""
    rng = numpy.random.default_rng(seed)
    t = numpy.zeros(n, dtype)
    for name in dtype.names:
        cells = t[name]
        kind, size = cells.dtype.kind, cells.dtype.itemsize
        if kind in "ui":
            cells[...] = rng.integers(0, 256, cells.size * size, "u1").view(
                "%s%d" % (kind, size)).reshape(cells.shape)
        elif kind == "f":
            cells[...] = rng.normal(0, 1e6, cells.shape)
            cells[::7] = numpy.nan
            cells[3::11] = numpy.inf
            cells[5::13] = 0
    return t


def number_columns(data):
    """(name, cells) of each; of an array each element's."""
    for name in data.dtype.names:
        base, shape = data.dtype[name].subdtype or (data.dtype[name], ())
        if base.kind not in "uif" or len(shape) > 1 or h5py.check_enum_dtype(base) is not None:
            continue
        if not shape:
            yield name, data[name]
        for i in range(shape[0] if shape else 0):
            yield "%s%d" % (name, i), data[name][:, i]


def line(node, table, dataset):
    """The lines rows prints, made from what h5py reads."""
    data = dataset[()]
    for name, values in number_columns(data):
        kind = values.dtype.kind
        if kind == "f":
            cells = ["%016x" % b for b in values.astype("<f8").view("<u8")]
        else:
            cells = [str(v) for v in values.tolist()]
        yield " ".join([node, table, name, kind] + cells)


def same(text):
    """NaN is NaN whatever its bits."""
    out = []
    for l in text.splitlines():
        w = l.split(" ")
        if len(w) > 4 and w[3] == "f":
            v = numpy.array([int(x, 16) for x in w[4:]], "<u8").view("<f8")
            w[4:] = ["nan" if numpy.isnan(a) else x for a, x in zip(v, w[4:])]
        out.append(" ".join(w))
    return sorted(out)


def compare(path):
    wanted = []
    with h5py.File(path, "r") as f:
        for table, d in f["n1/Tasks"].items():
            wanted += list(line("n1", "Tasks/" + table, d))
    r = subprocess.run([ROWS, path], capture_output=True, text=True, timeout=60,
                       env=dict(os.environ, ASAN_OPTIONS="detect_leaks=1"))
    if r.returncode:
        raise Failed("%d %s" % (r.returncode, r.stderr[-300:]))
    got, wanted = same(r.stdout), same("\n".join(wanted))
    if got != wanted or not wanted:
        bad = next((i for i, (a, b) in enumerate(zip(got, wanted)) if a != b), None)
        raise Failed("%d and %d lines, %s" % (len(got), len(wanted), "" if bad is None else
                                              got[bad][:200] + " / " + wanted[bad][:200]))


def new_file():
    path = os.path.join(tmpdir("rows"), "7_0_n1.h5")
    return path, h5py.File(path, "w")


def many(tables):
    """tables: [(data, create_dataset's arguments)] in one file; returns how many."""
    path, f = new_file()
    with f:
        g = f.create_group("n1/Tasks")
        for i, (data, kw) in enumerate(tables):
            g.create_dataset(str(i), data=data, maxshape=(None,), **kw)
    compare(path)
    return len(tables)


CHUNKS = (1, 7, 8, 10, 121, 128)
COUNTS = (1, 7, 8, 9, 120, 121, 129, 500)


def chunks_and_filters():
    for chunk in CHUNKS:
        many([(noise(n, seed=n), dict(chunks=(chunk,), shuffle=s, **({} if level is None else dict(
            compression="gzip", compression_opts=level))))
              for s in (False, True) for level in (None, 0, 1, 4, 9) for n in COUNTS])
        ok("chunks of %d rows, with and without shuffle and deflate" % chunk)


def deflate_levels():
    many([(noise(300), dict(chunks=(64,), shuffle=True, compression="gzip", compression_opts=l))
          for l in range(10)])
    ok("deflate 0 to 9")


def other_storage():
    path, f = new_file()
    with f:
        g = f.create_group("n1/Tasks")
        g.create_dataset("0", data=noise(300))
        dcpl = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        dcpl.set_layout(h5py.h5d.COMPACT)
        h5py.h5d.create(g.id, b"1", h5py.h5t.py_create(PLAIN), h5py.h5s.create_simple((50,)), dcpl)
        g["1"][()] = noise(50)
        g.create_dataset("2", data=noise(300), chunks=(64,), fletcher32=True)
        g.create_dataset("3", data=noise(300), chunks=(64,), fletcher32=True, shuffle=True,
                         compression="gzip")
        g.create_dataset("4", (0,), PLAIN, maxshape=(None,), chunks=(10,))
    compare(path)
    ok("contiguous, compact, fletcher32, no rows")


def number_types():
    """What is not 8 bytes of this machine's order is converted by the library."""
    small = numpy.dtype([(k + str(s) + o, {"l": "<", "b": ">"}[o] + k + str(s))
                         for k in "ui" for s in (1, 2, 4, 8) for o in "lb"] +
                        [("f%d%s" % (s, o), {"l": "<", "b": ">"}[o] + "f%d" % s)
                         for s in (4, 8) for o in "lb"])
    between = numpy.dtype([("a", "<u8"), ("text", "S5"), ("b", "<f8"), ("v", "<f8", (3,)),
                           ("in", [("x", "<i4")]), ("c", "<i8")])
    padded = numpy.dtype({"names": ["a", "b"], "formats": ["<u8", "<f8"], "offsets": [8, 24],
                          "itemsize": 40})
    swapped = numpy.dtype({"names": ["a", "b"], "formats": ["<u8", "<f8"], "offsets": [8, 0],
                           "itemsize": 16})
    arrays = numpy.dtype([("A", "<f8", (40,)), ("B", "<u8"), ("C", "<u8", (3,)), ("D", "<i8", (1,))])
    odd = numpy.dtype([("a", ">i2", (5,)), ("matrix", "<f8", (2, 2)), ("b", "<f4", (3,)),
                       ("in", [("x", "<i4")], (2,)), ("text", "S3", (2,)), ("a5", "<u8"),
                       ("a01", "u1"), ("c", ">f8", (7,)), ("d9", "i1", (12,))])
    for name, t in (("all sizes, signs and orders", small), ("members that are no numbers", between),
                    ("arrays", arrays), ("arrays of all kinds", odd),
                    ("gaps between members", padded), ("members out of order", swapped)):
        kw = dict(chunks=(64,), shuffle=True, compression="gzip")
        many([(noise(300, t), kw), (noise(63, t), kw), (noise(10, t), {}), (noise(300), kw)])
        ok("rows with " + name)


def shuffled(raw, size):
    return numpy.frombuffer(raw, "u1").reshape(-1, size).T.tobytes()


def filter_masks():
    path, f = new_file()
    with f:
        g = f.create_group("n1/Tasks")
        for i, (shuffle, deflate) in enumerate(((1, 1), (0, 1), (1, 0))):
            kw = dict(shuffle=bool(shuffle), **(dict(compression="gzip") if deflate else {}))
            data = noise(80, seed=i)
            d = g.create_dataset(str(i), data=data, maxshape=(None,), chunks=(10,), **kw)
            for k in range(8):
                mask, part = k % (1 << (shuffle + deflate)), data[10 * k:10 * k + 10].tobytes()
                if shuffle and not mask & 1:
                    part = shuffled(part, PLAIN.itemsize)
                if deflate and not mask & (1 << shuffle):
                    part = zlib.compress(part)
                d.id.write_direct_chunk((10 * k,), part, mask)
    compare(path)
    ok("chunks that left filters out")


def missing_chunks():
    path, f = new_file()
    with f:
        g = f.create_group("n1/Tasks")
        for i, fill in enumerate((None, numpy.array((7, 1.5, -3, numpy.nan), PLAIN))):
            for k, there in enumerate(((), (0,), (2,), (0, 4), (1, 2, 3), (3,))):
                d = g.create_dataset("%d" % (10 * i + k), (45,), PLAIN, maxshape=(None,),
                                     chunks=(10,), shuffle=True, compression="gzip", fillvalue=fill)
                for c in there:
                    d[10 * c:min(10 * c + 10, 45)] = noise(min(10, 45 - 10 * c), seed=c)
        for name in ("0", "10"):
            del g[name]  # nothing at all was written: rows that no bytes stand for
    compare(path)
    ok("chunks that were never written")


def files_of_slurm():
    done = 0
    for where, _, names in os.walk(os.path.join(ROOT, "tests", "data")):
        if where.endswith("hostile"):
            continue
        for name in sorted(n for n in names if n.endswith(".h5") and not n.startswith("job_")):
            path = os.path.join(where, name)
            r = subprocess.run([ROWS, path], capture_output=True, text=True, timeout=60)
            wanted = []
            with h5py.File(path, "r") as f:
                for node in f.values():
                    def add(at, obj):
                        if isinstance(obj, h5py.Dataset):
                            at = at if "/" in at else at + "/" + at
                            wanted.extend(line(node.name[1:], at, obj))
                    node.visititems(add)
            # what Slurm never set in its GPU columns is not known to a reader: slurm_values.py
            got, want = ([l for l in text if " GPU" not in l] for text in (r.stdout.splitlines(), wanted))
            if same("\n".join(got)) != same("\n".join(want)) or r.returncode:
                raise Failed("%s: %d %s" % (path, r.returncode, r.stderr))
            done += 1
    is_true("every table of Slurm's own files", done > 10, "only %d files" % done)


if __name__ == "__main__":
    # One at a time: fuzz.sh, which may run beside this, makes it too.
    if subprocess.run(["flock", os.path.join(ROOT, "Makefile"), "make", "-s", "-C", ROOT, "replay"],
                      stdout=sys.stderr).returncode:
        raise SystemExit("make replay failed")
    run_tests((chunks_and_filters, deflate_levels, other_storage, number_types, filter_masks,
               missing_chunks, files_of_slurm))
