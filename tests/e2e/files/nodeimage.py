#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Nodes that a merge makes anew from what its readers send, and those that it has the library copy:
either way h5py finds in the job file what it finds in the node's own."""

import sys
import os

sys.path.insert(0, os.path.realpath(__file__ + "/../../../lib"))
from lib import *
from mergelib import *

TASK = "p1/Tasks/0"
MADE, COPIED = "made", "copied"


def again(f, rows=None, **layout):
    """The first task's table, stored otherwise."""
    data = f[TASK][()] if rows is None else numpy.resize(f[TASK][()], rows)
    del f[TASK]
    return f.create_dataset(TASK, data=data, **layout)


def attributes(f):
    for at in f["p1"], f["p1/Tasks"]:
        for i, t in enumerate(("<i1", ">i2", "<u4", ">u8", "<f4", ">f8", "S7")):
            at.attrs.create("one %d" % i, numpy.array([100 + i], t))
            at.attrs.create("scalar %d" % i, numpy.array(100 + i, t))
            at.attrs.create("list %d" % i, numpy.array([100 + i, 7, 9], t))
        for name, pad, cset in (("null", h5py.h5t.STR_NULLTERM, h5py.h5t.CSET_ASCII),
                                ("space", h5py.h5t.STR_SPACEPAD, h5py.h5t.CSET_UTF8)):
            text = h5py.h5t.C_S1.copy()
            text.set_size(5)
            text.set_strpad(pad)
            text.set_cset(cset)
            h5py.h5a.create(at.id, name.encode(), text, h5py.h5s.create(h5py.h5s.SCALAR)).write(
                numpy.array(b"a\xc3\xa4b ", "S5"), text)


def many_tasks(f):
    for n in range(2, 150):
        f.copy(TASK, "p1/Tasks/%d" % n)


def an_empty_series(f):
    f["p1"].create_group("Nothing").attrs["of"] = numpy.array([1], "<i4")


def fill_value(f):
    data = f[TASK][()]
    again(f, chunks=(2,), fillvalue=numpy.ones((), data.dtype))


def missing_chunk(f):
    data = f[TASK][()]
    del f[TASK]
    f.create_dataset(TASK, (8,), data.dtype, chunks=(5,), maxshape=(None,))[:5] = data[0]


def no_rows(f):
    data = f[TASK][()]
    del f[TASK]
    f.create_dataset(TASK, (0,), data.dtype, chunks=(5,), maxshape=(None,))


def text_column(f):
    data = f[TASK][()]
    wide = numpy.zeros(len(data), data.dtype.descr + [("Host", "S8")])
    wide["Host"] = b"n"
    again_as(f, wide)


def again_as(f, data):
    del f[TASK]
    f.create_dataset(TASK, data=data, chunks=(2,), maxshape=(None,))


def kept_order(f):
    f.copy("p1/Tasks", "old")
    del f["p1/Tasks"]
    g = f["p1"].create_group("Tasks", track_order=True)
    for t in f["old"]:
        f.copy("old/" + t, "p1/Tasks/" + t)
    del f["old"]
    g.attrs["b"], g.attrs["a"] = numpy.array([1], "<i4"), numpy.array([2], "<i4")


def name_in_utf8(f):
    f["p1/Tasks"]["\u00e4"] = f[TASK]  # h5py has the link say so
    del f[TASK]


def comment(f):
    h5py.h5o.set_comment(f["p1/Tasks"].id, b"by hand")


CASES = {
    "as Slurm wrote it": (MADE, lambda f: None),
    "attributes": (MADE, attributes),
    "150 tasks": (MADE, many_tasks),
    "an empty series": (MADE, an_empty_series),
    "chunks without a filter": (MADE, lambda f: again(f, chunks=(2,), maxshape=(None,))),
    "4 MB of rows": (MADE, lambda f: again(f, 45000, chunks=(100,), maxshape=(None,))),
    "more of them": (COPIED, lambda f: again(f, 60000, chunks=(100,), maxshape=(None,))),
    "compressed": (COPIED, lambda f: again(f, chunks=(2,), compression=4)),
    "shuffled": (COPIED, lambda f: again(f, chunks=(2,), shuffle=True)),
    "checksums": (COPIED, lambda f: again(f, chunks=(2,), fletcher32=True)),
    "a fill value": (COPIED, fill_value),
    "a chunk that is missing": (COPIED, missing_chunk),
    "no rows": (COPIED, no_rows),
    "a column of text": (COPIED, text_column),
    "columns of four bytes": (COPIED, lambda f: again_as(f, f[TASK][()].astype(
        [(n, "<f4") for n in f[TASK].dtype.names]))),
    "an attribute of a table": (COPIED, lambda f: f[TASK].attrs.create("x", 1)),
    "a text of any length": (COPIED, lambda f: f["p1"].attrs.create("x", "text")),
    "a truth value": (COPIED, lambda f: f["p1"].attrs.create("x", True)),
    "a matrix": (COPIED, lambda f: f["p1"].attrs.create("x", numpy.ones((2, 2)))),
    "an attribute's name": (MADE, lambda f: f["p1"].attrs.create("l\u00e4nge", numpy.array([1]))),
    "a table's name": (COPIED, name_in_utf8),
    "attributes in order": (COPIED, kept_order),
    "a comment": (COPIED, comment),
}


def how(out, node="p1"):
    """Whether the library has copied it: then tables have the chunks they had."""
    with h5py.File(out, "r") as f:
        tasks = f["Steps/0/Nodes/%s/Tasks" % node]
        return MADE if all(t.chunks is None for t in tasks.values()) else COPIED


def a_node_is_what_it_was(*options):
    for case, (way, change) in CASES.items():
        what = " ".join((case,) + options)
        prof, d = world("7_0_p1.h5"), tmpdir()
        out, path = os.path.join(d, "m.h5"), edit(prof, "7_0_p1.h5", change)
        kept = shutil.copy(path, d)
        st, err = merge(prof, "-v", "-j", "7", *options, out=out)
        is_true("%s: it is what it was" % what, not st and not err.count("left alone") and
                holds(out, kept, "0", "p1"), err)
        is_equal("%s: how" % what, how(out), way)
        is_true("%s: it was compared, and deleted" % what, "1 of 1 nodes were compared as a whole" in
                err and not inputs(prof), err)


def by_processes_that_read():
    a_node_is_what_it_was("--threads", "2")


def the_same_is_known_again():
    """However it is stored in the job file."""
    for case, (_, change) in CASES.items():
        prof, out = world("7_0_p1.h5"), os.path.join(tmpdir(), "m.h5")
        edit(prof, "7_0_p1.h5", change)
        st, err = merge(prof, "-j", "7", "-S", out=out)
        again_st, again_err = merge(prof, "-j", "7", out=out)
        is_true("%s: known again" % case, not st and not again_st and
                "has all of it already" in again_err and not inputs(prof), err + again_err)


def a_stock_job_file_is_made_anew():
    """Its nodes have no totals, so that their rows are read; one that has them is copied."""
    prof, out = world("7_0_p1.h5", "7_0_p2.h5"), os.path.join(tmpdir(), "m.h5")
    shutil.copy(os.path.join(GOLDEN, "job_7.h5"), out)
    put(prof, "7_0_p1.h5", "7_0_p3.h5")
    st, err = merge(prof, "-j", "7.0", out=out)
    is_true("extended", not st and not inputs(prof) and
            steps(out)["0"] == ["p1", "p2", "p3"], err)
    is_equal("how", [how(out, n) for n in ("p1", "p2", "p3")], [MADE] * 3)
    is_true("they are what they were", all(holds(
        out, os.path.join(GOLDEN, "7_0_%s.h5" % (n if n != "p3" else "p1")), "0", n,
        of="p1" if n == "p3" else n) for n in ("p1", "p2", "p3")), err)


run_tests([a_node_is_what_it_was, by_processes_that_read, the_same_is_known_again,
           a_stock_job_file_is_made_anew])
