# SPDX-License-Identifier: GPL-2.0-or-later
"""Makers of files that no profiler would write, each a function of a path. tests/e2e/files/hostile.py says what
must come of them; tests/fuzz/corpus.py gives them to the fuzzers."""

import os
import struct
import zlib

import h5py
import numpy

ROW = numpy.dtype([("ElapsedTime", "<u8"), ("EpochTime", "<u8"), ("RSS", "<u8"),
                   ("CPUTime", "<f8")])


def rows(n=20, dtype=ROW):
    t = numpy.zeros(n, dtype)
    for i, name in enumerate(dtype.names):
        if t.dtype[name].kind in "iuf":
            t[name] = (numpy.arange(1, n + 1) * (i + 1)) % 100
    return t


def table(group, name, data=None, **kw):
    data = rows() if data is None else data
    kw.setdefault("chunks", (min(10, len(data)) or 10,))
    return group.create_dataset(name, data=data, maxshape=kw.pop("maxshape", (None,)), **kw)


def node(f, name="n1", tasks=1, path=None):
    n = f.create_group(path or name)
    n.attrs["Node Name"] = numpy.array([name.encode()], "S%d" % len(name))
    n.attrs["CPUs per Task"] = numpy.array([1], "<i4")
    n.attrs["Start Time"] = numpy.array([b"Sat Nov 21 02:04:40 2026"], "S24")
    for i in range(tasks):
        table(n, "Tasks/%d" % i)
    return n


def with_node(fn, **kw):
    """A maker of a sound node-step file that fn(file, node) then changes."""
    def make(path):
        with h5py.File(path, "w", **kw) as f:
            fn(f, node(f))
    return make


def with_table(**kw):
    def make(path):
        with h5py.File(path, "w") as f:
            n = node(f, tasks=0)
            table(n, "Tasks/0", **kw)
    return make


def plain(path):
    with_node(lambda f, n: None)(path)


def latest(path):
    with_node(lambda f, n: table(n, "Energy"), libver="latest")(path)


def v18(path):
    with h5py.File(path, "w", libver=("v108", "v108")) as f:
        n = node(f, tasks=12)  # dense links
        for i in range(12):
            n.attrs["Mode x%d" % i] = i


def merged(path, links=lambda f: None):
    with h5py.File(path, "w") as f:
        for s in ("0", "batch"):
            node(f, "n1", path="Steps/%s/Nodes/n1" % s)
            node(f, "n2", path="Steps/%s/Nodes/n2" % s)
        links(f)


def merged_with(links):
    return lambda path: merged(path, links)


# Links.

def soft_links(f, n):
    n["Tasks/1"] = h5py.SoftLink("/n1/Tasks/0")
    n["Tasks/2"] = h5py.SoftLink("/nowhere")
    n["Energy"] = h5py.SoftLink("../../../etc/passwd")
    f["n2"] = h5py.SoftLink("/n1")


def other_file(path):
    other = path + ".other"
    if not os.path.exists(other):
        with h5py.File(other, "w") as f:
            n = f.create_group("n9")
            n.attrs["Node Name"] = numpy.array([b"SECRET"], "S6")
            table(n, "Tasks/0", numpy.full(20, 7777, ROW))
    return other


def external_links(path):
    other = other_file(path)
    with h5py.File(path, "w") as f:
        n = node(f)
        n["Tasks/1"] = h5py.ExternalLink(other, "/n9/Tasks/0")
        n["RunLatency/0"] = h5py.ExternalLink(other, "/n9/Tasks/0")
        n["Totals/Tasks"] = h5py.ExternalLink(other, "/n9/Tasks/0")
        n["Step"] = h5py.ExternalLink(other, "/n9/Tasks/0")
        f["n2"] = h5py.ExternalLink(other, "/n9")


def group_loop(f, n):
    n["again"] = n
    n["Tasks/up"] = n
    f["n2"] = n
    n["root"] = f["/"]


def own_child(f):
    f["Steps/0/Nodes/n3"] = f["Steps"]
    f["Steps/1"] = f["/"]
    f["Steps/Steps"] = f["Steps"]
    f["Steps/0/Nodes/Nodes"] = f["Steps/0/Nodes"]


def too_many_links(path):
    with h5py.File(path, "w") as f:
        tasks = node(f)["Tasks"]
        one = tasks["0"]
        for i in range(1, 66000):
            h5py.h5o.link(one.id, tasks.id, b"g%d" % i)


def node_farm(path):
    """Many names of one node of many tables."""
    with h5py.File(path, "w") as f:
        n = node(f, tasks=30)
        for i in range(300):
            f["x%d" % i] = n


def series_farm(path):
    """1,100 x 1,000 tables from a few kilobytes."""
    with h5py.File(path, "w") as f:
        n = f.create_group("n1")
        d = table(n, "Tasks/0")
        for i in range(1, 1000):
            n["Tasks/%d" % i] = d
        for i in range(1100):
            n["s%d" % i] = n["Tasks"]


# Names.

def odd_names(f, n):
    for name in (b"..a", b"a\x1b[31m", b"x\ny", b"\xff\xfe", b"a" * 255, b"b" * 256, b"c" * 40000,
                 b" ", b"%s%n"):
        h5py.h5g.create(n.id, name)
        h5py.h5o.link(n["Tasks/0"].id, n["Tasks"].id, name)


def dotted_node(path):
    """A node called ".." cannot be made by path: a name of the same length is overwritten."""
    with h5py.File(path, "w") as f:
        node(f, "QX")
    swap(path, b"QX\0", b"..\0")


def slashed_node(path):
    with h5py.File(path, "w") as f:
        node(f, "QyX")
    swap(path, b"QyX\0", b"Q/X\0")


def empty_name(path):
    with h5py.File(path, "w") as f:
        node(f, "QX")
    swap(path, b"QX\0", b"\0X\0")


def swap(path, old, new):
    with open(path, "r+b") as f:
        data = f.read()
        assert old in data
        f.seek(0)
        f.write(data.replace(old, new))


# Attributes.

def huge_attributes(path):
    with h5py.File(path, "w", libver="latest") as f:
        n = node(f)
        n.attrs["big"] = numpy.zeros(1 << 20, "S1")
        n.attrs["long"] = numpy.array([b"x" * 60000], "S60000")
        n.attrs["longer"] = numpy.array([b"y" * 3000000], "S3000000")
        for i in range(1500):
            n.attrs["a%d" % i] = i


def odd_attributes(f, n):
    n.attrs["vlen"] = "variable"
    n.attrs["Unknown Columns"] = "RSS"
    n.attrs["ref"] = n.ref
    n.attrs["array"] = numpy.zeros((3, 3))
    n.attrs["empty"] = h5py.Empty("f8")
    n.attrs["compound"] = rows(1)
    n.attrs["Start TimeNS"] = numpy.array([b"not a number"], "S12")
    n.attrs["CPUs per Task"] = numpy.array([numpy.inf])
    n.attrs["Number of Tasks"] = numpy.array([2 ** 64 - 1], "<u8")
    n.attrs["Allocated CPUs"] = numpy.array([b"0-4294967295,0-65534,7-"], "S24")
    n.attrs["Mode sched"] = numpy.array([b"\x1b]0;x\x07 off"], "S10")
    n.attrs["Job Name"] = numpy.array([b"\x00\x01\xff"], "S3")


# Columns.

def other_members(path):
    t = numpy.dtype([("ElapsedTime", "<u8"), ("name", "S5"), ("CPUTime", "<f8"),
                     ("arr", "<f8", (3,)), ("in", [("a", "<i4"), ("b", "<f4")]),
                     ("e", h5py.enum_dtype({"A": 1}, "i1")), ("RSS", "<u8")])
    with_table(data=rows(20, t))(path)


def no_numbers(path):
    with_table(data=numpy.zeros(20, [("a", "S5"), ("b", "<f8", (2, 2)),
                                     ("c", [("x", "<i4")], (2,)), ("d", "S2", (3,))]))(path)


def arrays(*members):
    return with_table(data=rows(20, numpy.dtype(list(ROW.descr) + list(members))))


def array_size(dims):
    """An array of 5 numbers that says it has so many: the size that it takes stays."""
    def make(path):
        arrays(("B", "<f8", (5,)))(path)
        head = b"\x2a\0\0\0" + struct.pack("<I", 40) + b"\1\0\0\0"
        swap(path, head + struct.pack("<I", 5), head + struct.pack("<I", dims))
    return make


def variable_strings(path):
    t = numpy.dtype([("ElapsedTime", "<u8"), ("v", h5py.string_dtype()), ("RSS", "<u8")])
    data = numpy.zeros(20, t)
    data["v"] = "text"
    data["ElapsedTime"] = numpy.arange(20)
    with_table(data=data)(path)


def references(path):
    def add(f, n):
        t = numpy.dtype([("ElapsedTime", "<u8"), ("r", h5py.ref_dtype)])
        data = numpy.zeros(4, t)
        data["r"] = n.ref
        table(n, "Energy", data)
    with_node(add)(path)


def columns(n):
    t = numpy.dtype([("c%d" % i, "<f8") for i in range(n)])
    return with_table(data=numpy.zeros(3, t))


def most_columns(path):
    """As many as fit into a type."""
    t = numpy.dtype([("c%d" % i, "<f8") for i in range(2100)])
    with_node(lambda f, n: table(n, "Energy", numpy.zeros(3, t)), libver="latest")(path)


def links_to_one_table(path):
    """65,000 tasks that are the same table of 1,000 columns."""
    columns(1000)(path)
    with h5py.File(path, "r+") as f:
        tasks, one = f["n1/Tasks"], f["n1/Tasks/0"]
        for i in range(1, 65000):
            h5py.h5o.link(one.id, tasks.id, b"%d" % i)


def odd_columns(path):
    t = numpy.dtype([("ElapsedTime", "<u8"), ("a/b", "<f8"), ("..", "<f8"), ("x\x1b[0m\n", "<f8"),
                     ("\u00e9", "<f8"), ("n" * 5000, "<f8"), (" ", "<f8"), ('"', "<f8")])
    with_table(data=rows(20, t))(path)


def same_columns(path):
    t = numpy.dtype([("CPUTime", "<f8"), ("CPUTimf", "<f8"), ("ElapsedTime", "<u8")])
    with_table(data=rows(20, t))(path)
    swap(path, b"CPUTimf", b"CPUTime")


def different_columns(f):
    del f["Steps/0/Nodes/n2/Tasks/0"]
    table(f["Steps/0/Nodes/n2"], "Tasks/0",
          rows(5, numpy.dtype([("EpochTime", "<f4"), ("Other", "<i2"), ("RSS", "<f8")])))


def scalar_table(f, n):
    n["Energy"] = 5
    n["Network"] = numpy.zeros((4, 4), ROW)
    n["Filesystem"] = numpy.arange(10)
    n["NullSpace"] = h5py.Empty(ROW)


def swapped_kinds(path):
    with h5py.File(path, "w") as f:
        n = f.create_group("n1")
        table(n, "Tasks")  # where tasks are expected
        n.create_group("Energy/0/deeper")
        table(n, "Step/0")
        f["n2"] = 5
        f["type"] = ROW
        f.create_group("Steps")
        n["RunLatency"] = numpy.dtype("f8")


def datasets_as_groups(f):
    del f["Steps/0/Nodes/n1"]
    f["Steps/0/Nodes/n1"] = rows()
    del f["Steps/batch/Nodes"]
    f["Steps/batch/Nodes"] = rows()


# Storage.

def raw_external(path):
    """Its bytes are another file's."""
    with h5py.File(path, "w") as f:
        n = node(f, tasks=0)
        g = n.create_group("Tasks")
        g.create_dataset("0", (10,), ROW, external=[("/etc/passwd", 0, 320)])


def virtual(path):
    other = other_file(path)
    with h5py.File(path, "w", libver="latest") as f:
        n = node(f, tasks=0)
        layout = h5py.VirtualLayout((20,), ROW)
        layout[:] = h5py.VirtualSource(other, "n9/Tasks/0", (20,), ROW)
        n.create_group("Tasks").create_virtual_dataset("0", layout)


def low_level(path, shape, dcpl_fn, dtype=ROW, data=None, maxshape=None):
    with h5py.File(path, "w") as f:
        g = node(f, tasks=0).create_group("Tasks")
        dcpl = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        dcpl_fn(dcpl)
        h5py.h5d.create(g.id, b"0", h5py.h5t.py_create(dtype, logical=True),
                        h5py.h5s.create_simple(shape, maxshape), dcpl)
        if data is not None:
            g["0"][()] = data


def compact(path):
    low_level(path, (20,), lambda p: p.set_layout(h5py.h5d.COMPACT), data=rows())


def contiguous(path):
    low_level(path, (20,), lambda p: p.set_layout(h5py.h5d.CONTIGUOUS), data=rows())


def no_storage(n, chunk=None):
    """Rows that were never written."""
    def fn(p):
        if chunk:
            p.set_chunk((chunk,))
        p.set_alloc_time(h5py.h5d.ALLOC_TIME_LATE)
    return lambda path: low_level(path, (n,), fn)


def with_filter(name, **kw):
    def fn(p):
        p.set_chunk((10,))
        getattr(p, name)(*kw.get("args", ()))
    return lambda path: low_level(path, (20,), fn, kw.get("dtype", ROW), kw.get("data", rows()))


def committed_type(path):
    with h5py.File(path, "w") as f:
        n = node(f, tasks=0)
        n["rowtype"] = ROW
        d = n.create_group("Tasks").create_dataset("0", (20,), n["rowtype"], maxshape=(None,),
                                                   chunks=(10,))
        d[()] = rows()


def unknown_filter(path):
    with_table(compression="gzip")(path)
    # Filter message: id 1 with name "deflate".
    with open(path, "r+b") as f:
        data = f.read()
        at = data.index(b"deflate\0") - 8
        f.seek(at)
        f.write(struct.pack("<H", 32099))
        f.seek(at + 4)
        f.write(b"\0\0")  # not optional


def filter_masks(path):
    """Chunks that left out shuffle, deflate, both."""
    with h5py.File(path, "w") as f:
        n = node(f, tasks=0)
        d = table(n, "Tasks/0", rows(40), shuffle=True, compression="gzip")
        raw = rows(40).tobytes()
        step = 10 * ROW.itemsize
        for i, mask in enumerate((0, 1, 2, 3)):
            part = raw[i * step:(i + 1) * step]
            if not mask & 1:
                part = numpy.frombuffer(part, "u1").reshape(10, -1).T.tobytes()
            if not mask & 2:
                part = zlib.compress(part)
            d.id.write_direct_chunk((10 * i,), part, mask)


def missing_chunk(path):
    with h5py.File(path, "w") as f:
        n = node(f, tasks=0)
        d = n.create_group("Tasks").create_dataset(
            "0", (50,), ROW, chunks=(10,), maxshape=(None,), compression="gzip", shuffle=True)
        d[0:10] = rows(10)
        d[40:50] = rows(10)


def chunk_data(data, mask=0, n=20, **kw):
    """One chunk holds just these bytes."""
    def make(path):
        with h5py.File(path, "w") as f:
            g = node(f, tasks=0).create_group("Tasks")
            d = g.create_dataset("0", (n,), ROW, maxshape=(None,), chunks=(kw.get("chunk", n),),
                                 compression="gzip")
            d.id.write_direct_chunk((0,), data, mask)
    return make


def bomb(path):
    """4 MB that are 4 GB of rows."""
    rows_of_chunk = 1 << 20
    data = zlib.compress(bytes(rows_of_chunk * ROW.itemsize), 9)
    with h5py.File(path, "w") as f:
        g = node(f, tasks=0).create_group("Tasks")
        d = g.create_dataset("0", (128 * rows_of_chunk,), ROW, maxshape=(None,),
                             chunks=(rows_of_chunk,), compression="gzip")
        for i in range(128):
            d.id.write_direct_chunk((i * rows_of_chunk,), data)


def huge_chunk(path):
    low_level(path, (1 << 40,), lambda p: p.set_chunk((100 << 20,)))


def wide_row(path):
    t = h5py.h5t.create(h5py.h5t.COMPOUND, (1 << 31) - 1)
    t.insert(b"RSS", 0, h5py.h5t.STD_U64LE)
    with h5py.File(path, "w") as f:
        g = node(f, tasks=0).create_group("Tasks")
        h5py.h5d.create(g.id, b"0", t, h5py.h5s.create_simple((1,)))


def claims_rows(n):
    """The dataspace's count is raised afterwards."""
    def make(path):
        with_table(data=rows(123), compression="gzip")(path)
        with open(path, "r+b") as f:
            data = f.read()
            at = data.index(struct.pack("<QQ", 123, 2 ** 64 - 1))
            f.seek(at)
            f.write(struct.pack("<Q", n))
    return make


# Damage.

def loop_in_tree(path):
    """A group's B-tree whose right sibling is itself."""
    with h5py.File(path, "w") as f:
        n = node(f)
        for i in range(600):
            n.create_group("Tasks/g%d" % i)
    with open(path, "r+b") as f:
        data = bytearray(f.read())
        at = 0
        while (at := data.find(b"TREE", at + 1)) > 0:
            if data[at + 4] == 0:
                data[at + 16:at + 24] = struct.pack("<Q", at)
        f.seek(0)
        f.write(data)


def chunk_loop(path):
    """A chunk B-tree that is its own child."""
    with_table(data=rows(2000), compression="gzip")(path)
    with open(path, "r+b") as f:
        data = bytearray(f.read())
        at = 0
        while (at := data.find(b"TREE", at + 1)) > 0:
            if data[at + 4] == 1:
                data[at + 5] = 1  # level
                data[at + 16:at + 24] = struct.pack("<Q", at)
                data[at + 48:at + 56] = struct.pack("<Q", at)
        f.seek(0)
        f.write(data)


def damaged_header(path):
    """One task's object header, of version 1, claims another version."""
    with h5py.File(path, "w") as f:
        n = node(f, tasks=3)
        at = h5py.h5o.get_info(n["Tasks/1"].id).addr
    with open(path, "r+b") as f:
        f.seek(at)
        f.write(b"\x77")


def cut(part):
    def make(path):
        plain(path)
        os.truncate(path, int(os.path.getsize(path) * part))
    return make


def garbage(path):
    with open(path, "wb") as f:
        f.write(b"\x89HDF\r\n\x1a\n" + bytes(range(256)) * 8)


def empty(path):
    open(path, "wb").close()


# name: maker
CASES = {
    "plain": plain, "latest format": latest, "1.8 format": v18, "merged": merged,
    "soft links": with_node(soft_links), "external links": external_links,
    "group loop": with_node(group_loop), "own child": merged_with(own_child),
    "node farm": node_farm, "series farm": series_farm,
    "66000 links": too_many_links,
    "odd names": with_node(odd_names), "node named ..": dotted_node,
    "node with a slash": slashed_node, "node without a name": empty_name,
    "huge attributes": huge_attributes, "odd attributes": with_node(odd_attributes),
    "other members": other_members, "no numbers": no_numbers,
    "variable strings": variable_strings, "references": references,
    "1000 columns": columns(1000), "2100 columns": most_columns,
    "65000 names of one table": links_to_one_table, "odd columns": odd_columns, "same columns": same_columns,
    "different columns": merged_with(different_columns),
    "arrays": arrays(("B", "<f8", (40,)), ("W", ">i2", (3,)), ("X", "u1", (1,))),
    "arrays of no numbers": arrays(("B", "<f8", (2, 20)), ("C", [("x", "<i4")], (2,)),
                                   ("D", "S2", (3,)), ("E", h5py.enum_dtype({"A": 1}, "i1"), (4,))),
    "largest array": arrays(("B", "u1", (4092,))),
    "array of too many": arrays(("B", "u1", (4093,)), ("C", "u1", (60000,))),
    "array with a long name": arrays(("n" * 256, "<f8", (40,))),
    "array and a column of one name": arrays(("B", "<f8", (2,)), ("B0", "<f8")),
    "arrays with a name in common": arrays(("B", "<f8", (12,)), ("B1", "<f8", (3,))),
    "array larger than its size": array_size(4000), "array of 2^32": array_size((1 << 32) - 1),
    "array of nothing": array_size(0), "array smaller than its size": array_size(1),
    "scalars and matrices": with_node(scalar_table), "swapped kinds": swapped_kinds,
    "datasets as groups": merged_with(datasets_as_groups),
    "raw external": raw_external, "virtual": virtual,
    "compact": compact, "contiguous": contiguous,
    "no storage": no_storage(50), "no chunks": no_storage(50, 10),
    "2^40 rows of nothing": no_storage(1 << 40), "2^60 rows of nothing": no_storage(1 << 60, 10),
    "no rows": no_storage(0, 10),
    "committed type": committed_type,
    "nbit": with_filter("set_filter", args=(h5py.h5z.FILTER_NBIT,)),
    "fletcher32": with_filter("set_fletcher32"),
    "szip": with_filter("set_szip", args=(4, 8), dtype=numpy.dtype("<u8"), data=7),
    "scale-offset": with_filter("set_scaleoffset", args=(h5py.h5z.SO_INT, 0),
                                dtype=numpy.dtype("<u8"), data=7),
    "unknown filter": unknown_filter, "filter masks": filter_masks,
    "missing chunk": missing_chunk,
    "chunk larger than its rows": chunk_data(zlib.compress(bytes(64000))),
    "chunk smaller than its rows": chunk_data(zlib.compress(bytes(64))),
    "chunk of garbage": chunk_data(b"garbage!" * 8),
    "chunk of raw bytes too many": chunk_data(bytes(64000), 1),
    "deflate bomb": bomb, "huge chunk": huge_chunk, "wide row": wide_row,
    "claims 1000 rows": claims_rows(1000), "claims 2^40 rows": claims_rows(1 << 40),
    "claims 10^8 rows": claims_rows(10 ** 8),
    "loop in a B-tree": loop_in_tree, "chunk B-tree that holds itself": chunk_loop,
    "damaged object header": damaged_header,
    "cut in half": cut(0.5), "cut at the end": cut(0.99), "garbage": garbage, "empty": empty,
}

# Too large, or too slow to make, for the fuzzers to start from.
LARGE = {"node farm", "series farm", "66000 links", "65000 names of one table", "huge attributes",
         "deflate bomb", "1000 columns", "2100 columns", "largest array",
         "array larger than its size", "loop in a B-tree", "odd names"}
