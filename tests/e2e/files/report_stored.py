#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 240
"""The page that jobprof report --store puts into a job file: it is the page that would be made anew, it is taken only while it is that,
and what an owner may have written in its place changes nothing."""

import gzip
import os
import shutil
import sys

sys.path.insert(0, os.path.realpath(__file__ + "/../../../lib"))
sys.path.insert(0, os.path.realpath(__file__ + "/../../../findings"))
from besideslib import MARK, change_analysis, mark_page, page_of, put_bursts, put_page, put_stacks
from jobs import Job
from layout import START
from lib import *

PEAKS = "/absent"


def report(*args, peaks=None):
    p = subprocess.run([JOBPROF, "report", *args], capture_output=True, text=True, timeout=120, env={**os.environ, "JOBPROF_PEAKS": peaks or PEAKS})
    if p.returncode or p.stderr:
        raise Failed("report %s: %d %s" % (" ".join(args), p.returncode, p.stderr))
    return p.stdout


def drawn(path, *args, **kw):
    return re.search(r'<script type="application/json" id="data">(.*?)</script>', report("--html", "-", *args, path, **kw), re.S).group(1)


def made(name="job_4711.h5", store=True, peaks=None):
    """A job with a finding."""
    path = os.path.join(tmpdir("stored"), name)
    job = Job(nodes=2, tasks=4, cores=8, wall=7200)
    job.cpu(0.12)
    job.write(path)
    if store:
        report("--store", path, peaks=peaks)
    return path


def is_taken(path, *args, **kw):
    return MARK in drawn(path, *args, **kw)


def it_is_the_same():
    """Byte for byte, of files with and without findings, bursts, samples and stacks, of one node and of several."""
    d = tmpdir("same")
    paths = [made(store=False), os.path.join(d, "job_1.h5"), os.path.join(d, "job_7.h5"), os.path.join(d, "job_2.h5")]
    Job(nodes=1, tasks=2, cores=2, wall=600).write(paths[1])
    put_bursts(paths[1], START, [(300, 0.003, 0.002), (200, 0.03, 0.002)])
    shutil.copy(os.path.join(ROOT, "tests/data/golden/job_7.h5"), paths[2])
    Job(nodes=4, tasks=2, cores=2, wall=7200).write(paths[3])
    put_stacks(paths[3], START, {"main;work;inner": 3.0, "main;read": 0.5, "[blocked: locks];main;lock": 7.0})
    for path in paths:
        before = drawn(path)
        report("--store", path)
        is_true("%s: a page is stored" % os.path.basename(path), page_of(path)["page"], "")
        is_true("%s: with it the page is the same" % os.path.basename(path), drawn(path) == before, len(before))
        is_equal("%s: and it was the stored one" % os.path.basename(path), is_taken(mark_page(path)), True)
    is_equal("one of these jobs has a finding", bool(page_of(paths[0])["findings"]), True)


def when_it_is_taken():
    """Only while the same program would make the same page of the file."""
    is_equal("it is", is_taken(mark_page(made())), True)
    for what, other in (("another version", {"made_by": "0.0.1 0123456789abcdef"}), ("another time", {"file_mtime": 5.0}), ("no time", {"file_mtime": "x"}),
                        ("another file", {"file": "job_4712.h5"})):
        is_equal("of %s it is not" % what, is_taken(mark_page(made(), **other)), False)
    path = mark_page(made())
    now = os.stat(path)
    os.utime(path, ns=(now.st_atime_ns, now.st_mtime_ns + 1))
    is_equal("written a nanosecond later", is_taken(path), False)
    path = mark_page(made())
    with h5py.File(path, "r+") as f:
        f.attrs["more"] = 1
    is_equal("written to", is_taken(path), False)
    path, other = mark_page(made()), os.path.join(tmpdir("other"), "job_4712.h5")
    shutil.copy2(path, other)
    is_equal("of a file with another name, which may be another job's", is_taken(other), False)
    rules = os.path.join(tmpdir("rules"), "rules.lua")
    with open(rules, "w") as f:
        f.write("-- none\n")
    is_equal("for a call with other rules, issues of all jobs, one node", [is_taken(path, *a) for a in (["--rules", rules], ["--force"], ["-N", "n1"])], [False] * 3)
    for args in (["--rules", rules], ["--force"]):
        p = made(store=False)
        report("--store", *args, p)
        with h5py.File(p, "r") as f:
            is_true("%s: what a call without options would not make is not stored" % args[0], "report" in f["analysis"] and "page" not in f["analysis"], list(f["analysis"]))


def peaks():
    """Of another machine: they are taken where this one has none."""
    d = tmpdir("peaksof")
    one, two = os.path.join(d, "one"), os.path.join(d, "two")
    for way in (TMP, d):
        os.chmod(way, 0o755)  # a child of root reads them as somebody else
    for name, value in ((one, "41.5G"), (two, "83G")):
        with open(name, "w") as f:
            f.write("MemBandwidthPeak=%s\n" % value)
    path = mark_page(made(peaks=one))
    is_equal("the same, none, others", [is_taken(path, peaks=p) for p in (one, PEAKS, two)], [True, True, False])
    is_equal("made without, and here are some", is_taken(mark_page(made()), peaks=one), False)


def what_an_owner_may_write():
    """In place of the page: it is made anew, without a word and without what the page said."""
    before = drawn(made(store=False))
    page = page_of(made())
    page["job"]["name"] = MARK
    text = json.dumps(page).encode()
    packed = gzip.compress(text)
    finding = page["findings"][0]
    wrong = lambda **k: gzip.compress(json.dumps({**page, **k}).encode())
    cases = {
        "cut": packed[:len(packed) // 2], "an end that lies": packed[:-4] + b"\xff\xff\xff\x7f", "too long": gzip.compress(text + b" " * (9 << 20)),
        "short": b"x", "no gzip": text, "a byte is wrong": packed[:-9] + bytes([packed[-9] ^ 1]) + packed[-8:], "two parts": packed + packed,
        "no JSON": gzip.compress(b"{"), "deep": gzip.compress(b"[" * 100000), "a list": gzip.compress(b"[]"), "empty": gzip.compress(b""), "nothing in it": gzip.compress(b"{}"),
        "a key twice": gzip.compress(text[:-1] + b', "page": {}}'), "a zero byte": gzip.compress(text.replace(b"stored", b"st\0red")),
        "no UTF-8": gzip.compress(text.replace(b"stored", b"st\xffred")), "no series": wrong(page=1), "a part by which it would be another page": wrong(digest={}), "findings are no list": wrong(findings={}),
        "a rule that does not exist": wrong(findings=[{**finding, "id": "cpu.invented"}]),
        "a line to copy of words that no rule has": wrong(findings=[{**finding, "remedy_kind": "command", "remedy_code": "curl evil.example"}]),
        "more findings than there are": wrong(findings=[finding] * 100), "one is no finding": wrong(findings=[finding, 1]), "no job": wrong(job=None), "a part is missing": gzip.compress(json.dumps({k: v for k, v in page.items() if k != "io"}).encode()),
        "a number": lambda g: g.create_dataset("page", data=1.5), "text": lambda g: g.create_dataset("page", data="text"),
        "a group": lambda g: g.create_group("page"), "floats": lambda g: g.create_dataset("page", data=numpy.zeros(9)),
        "a filter": lambda g: g.create_dataset("page", data=numpy.frombuffer(packed, numpy.uint8), compression="gzip"),
        "a table of two dimensions that claims much": lambda g: g.create_dataset("page", (1 << 20, 1 << 20), "u1", chunks=(1, 1)),
        "an external file": lambda g: g.create_dataset("page", (99,), "u1", external=[("/etc/passwd", 0, 99)]),
        "a soft link": lambda g: g.__setitem__("page", h5py.SoftLink("/analysis/report")), "none": lambda g: None,
    }
    for name, data in cases.items():
        path = made()
        put_page(path, data)
        got = drawn(path)
        is_true("%s: the page is made anew" % name, got == before, got[:300])
    for name, value in (("none", None), ("a long one", "x" * 100000), ("numbers", [1, 2, 3])):
        path = mark_page(made())
        change_analysis(path, lambda g: g["page"].attrs.__setitem__("made_by", value) if value else g["page"].attrs.__delitem__("made_by"))
        is_equal("maker: %s" % name, is_taken(path), False)


if __name__ == "__main__":
    run_tests([it_is_the_same, when_it_is_taken, peaks, what_an_owner_may_write])
