# SPDX-License-Identifier: GPL-2.0-or-later
"""Node-step files as Slurm's plugin lays them out, made with h5py: tables of 8-byte members, chunks
of 10 rows, deflate 0, attributes of one element."""

import h5py
import numpy

U, F = "<u8", "<f8"
TIME = [("ElapsedTime", U), ("EpochTime", U)]
COLUMNS = {
    "Tasks": [("CPUFrequency", U), ("CPUTime", F), ("CPUUtilization", F), ("RSS", U),
              ("VMSize", U), ("Pages", U), ("ReadMB", F), ("WriteMB", F)],
    "Energy": [("Power", U)],
    "Filesystem": [("Reads", U), ("ReadMB", F), ("Writes", U), ("WriteMB", F)],
    "Network": [("PacketsIn", U), ("PacketsOut", U), ("InMB", F), ("OutMB", F)],
}
EPOCH = 1795226400


def attribute(obj, name, value):
    space = h5py.h5s.create_simple((1,))
    if isinstance(value, str):
        kind = h5py.h5t.C_S1.copy()
        kind.set_size(len(value))
        data = numpy.array([value.encode()], dtype="S%d" % len(value))
    else:
        kind = h5py.h5t.STD_I32LE
        data = numpy.array([value], dtype="<i4")
    h5py.h5a.create(obj.id, name.encode(), kind, space).write(data, mtype=kind)


def dataset(group, name, rows):
    group.create_dataset(name, data=rows, maxshape=(None,), chunks=(10,), compression="gzip",
                         compression_opts=0)


def rows_of(elapsed, columns, cells, start=EPOCH, extra=()):
    """elapsed: seconds; cells: a sequence of values per column."""
    rows = numpy.zeros(len(elapsed), dtype=TIME + list(columns) + list(extra))
    rows["ElapsedTime"] = numpy.floor(elapsed)
    rows["EpochTime"] = numpy.floor(numpy.asarray(elapsed, dtype=float) + start)
    for (name, _), values in zip(list(columns) + list(extra), cells):
        rows[name] = values
    return rows


def random_rows(rng, series, n, interval=2, start=EPOCH):
    columns = COLUMNS[series]
    cells = [rng.integers(0, 1 << 20, n) if kind == U else
             numpy.where(rng.random(n) < 0.2, 0, rng.random(n) * 10.0 ** rng.integers(-6, 6, n))
             for _, kind in columns]
    return rows_of(numpy.arange(n) * interval, columns, cells, start)


def node_file(path, node, tables, index=0, tasks=1, attributes=()):
    """tables: {"Tasks/0": rows, "Energy": rows}; attributes: ((name, value), ...) of the node besides."""
    with h5py.File(path, "w") as f:
        g = f.create_group(node)
        attribute(g, "Node Index", index)
        attribute(g, "Node Name", node)
        attribute(g, "Number of Tasks", tasks)
        attribute(g, "CPUs per Task", 1)
        attribute(g, "Start Time", "Sat Nov 21 02:00:00 2026")
        for name, value in attributes:
            attribute(g, name, value)
        for name, rows in tables.items():
            dataset(g, name, rows)
