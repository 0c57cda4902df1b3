#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 240
"""Files that no profiler would write: each gives a page that is right, or one line that names file
and object. Never a crash, a loop or much memory, and never anything of another file. What is right
is told by the same data stored as usual."""

import resource
import sys
sys.path.insert(0, sys.path[0] + "/../../lib")
from lib import *
import hostilelib

MEMORY = 2 << 30
SECONDS = 4  # of processor time

# What becomes of each: the number of nodes and tasks shown, or what the error line says after the
# name of the file.
NUMBERS = "not a profile, or damaged"
CLAIMS = "it claims more than the file can hold, or than is read"
CRASH = "damaged: reading it crashed the HDF5 library.*"
TASK = "/n1/Tasks/0: "
WANTED = {
    "plain": (1, 1), "latest format": (1, 1), "1.8 format": (1, 12), "merged": (4, 4),
    # Links that are not hard ones are no nodes, series or tables.
    "soft links": (1, 1), "external links": (1, 1), "group loop": (2, 2), "own child": (6, 4),
    "node farm": (301, 9030), "series farm": "/n1: " + CLAIMS,
    "65000 names of one table": None, "66000 links": "/n1: " + CLAIMS,
    "odd names": None,
    "node named ..": NUMBERS, "node with a slash": NUMBERS, "node without a name": NUMBERS,
    "huge attributes": (1, 1), "odd attributes": (1, 1 << 63),
    "other members": (1, 1), "no numbers": TASK + "it has no column of numbers", "variable strings": (1, 1),
    "references": (1, 1), "1000 columns": (1, 1), "2100 columns": (1, 1), "odd columns": (1, 1),
    "same columns": TASK + NUMBERS, "different columns": (4, 4),
    "arrays": (1, 1), "arrays of no numbers": (1, 1), "largest array": (1, 1),
    "array of too many": (1, 1), "array with a long name": (1, 1),
    "array and a column of one name": TASK + NUMBERS, "arrays with a name in common": TASK + NUMBERS,
    "array larger than its size": None, "array of 2^32": None, "array of nothing": None,
    "array smaller than its size": None,
    "scalars and matrices": (1, 1), "swapped kinds": (2, 0),
    "datasets as groups": "/Steps/(0/Nodes/n1|batch): " + NUMBERS,
    "raw external": TASK + NUMBERS, "virtual": TASK + NUMBERS,
    "compact": (1, 1), "contiguous": (1, 1), "no rows": (1, 1), "fletcher32": (1, 1),
    "committed type": (1, 1), "nbit": (1, 1),
    "no storage": TASK + CLAIMS, "no chunks": TASK + CLAIMS,
    "2^40 rows of nothing": TASK + CLAIMS, "2^60 rows of nothing": TASK + CLAIMS,
    "szip": TASK + NUMBERS, "scale-offset": TASK + NUMBERS, "unknown filter": TASK + "filter 32099 is not there: .*",
    "filter masks": (1, 1), "missing chunk": (1, 1),
    "chunk larger than its rows": TASK + NUMBERS, "chunk smaller than its rows": TASK + NUMBERS,
    "chunk of garbage": TASK + NUMBERS, "chunk of raw bytes too many": TASK + NUMBERS,
    "deflate bomb": TASK + "Cannot allocate memory", "huge chunk": TASK + CLAIMS,
    "wide row": TASK + CLAIMS, "claims 1000 rows": (1, 1), "claims 2^40 rows": TASK + CLAIMS,
    "claims 10^8 rows": TASK + CLAIMS,
    "loop in a B-tree": None, "chunk B-tree that holds itself": TASK + CRASH,
    "damaged object header": "/n1/Tasks/1: " + NUMBERS,
    "cut in half": NUMBERS, "cut at the end": NUMBERS, "garbage": NUMBERS, "empty": NUMBERS,
}
# The C library's last words when the HDF5 library has overwritten what malloc knows.
GLIBC = re.compile("^(\\w+\\(\\): |double free or |corrupted |\\*\\*\\* ).*\n", re.M)


def limits():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, 4 * SECONDS))


def show(path, *args):
    r = subprocess.run([JOBPROF, "show", *args, path], capture_output=True, timeout=100,
                       preexec_fn=limits, env=dict(os.environ, LC_ALL="C"))
    out, err = r.stdout.decode("latin-1"), r.stderr.decode("latin-1")
    if r.returncode not in (0, 1):
        raise Failed("status %d %s" % (r.returncode, err[-200:]))
    err = GLIBC.sub("", err)
    if r.returncode and not re.fullmatch("jobprof show: %s: [^\n]+\n" % re.escape(path), err):
        raise Failed("not one line about the file: " + repr(err[-300:]))
    if not r.returncode and err:
        raise Failed("it worked and said " + repr(err[-300:]))
    if re.search("[^\n -~]", out + err):
        raise Failed("control characters in " + repr(re.search(".{,20}[^\n -~].{,20}", out + err)))
    if "SECRET" in out or "7777" in out:
        raise Failed("another file's data was shown")
    return r.returncode, out, err[len("jobprof show: %s: " % path):].strip()


def shown(out):
    nodes = re.findall("^\\S.*: .* s, (\\d+) tasks?\\b", out, re.M)
    return len(nodes), sum(map(int, nodes))


def of_text(path, wanted):
    status, out, err = show(path, "--all")
    if isinstance(wanted, tuple):
        got = shown(out) if not status else err
        if got != wanted:
            raise Failed("got %s, wanted %s" % (got, wanted))
    elif wanted and not (status and re.fullmatch(wanted, err)):
        raise Failed("got %d %s, wanted %s" % (status, err or shown(out), wanted))
    return status


def of_json(path, status):
    got, out, _ = show(path, "--json")
    if got != status:
        raise Failed("status %d, without --json %d" % (got, status))
    if not got:
        json.loads(out)


def made(name, make):
    def test():
        path = os.path.join(tmpdir("hostile"), "7_0_n1.h5")
        make(path)
        of_json(path, of_text(path, WANTED[name]))
        ok(name)
    test.__name__ = name
    return test


def every_case_is_judged():
    is_equal("every case is judged", sorted(hostilelib.CASES), sorted(WANTED))


def as_stored_as_usual():
    """The same rows in other storage make the same page."""
    def page(name):
        path = os.path.join(tmpdir("hostile"), "7_0_n1.h5")
        hostilelib.CASES[name](path)
        return re.sub("^.*Other Series.*\n", "", show(path)[1], flags=re.M)
    wanted = page("plain")
    for name in ("latest format", "soft links", "external links", "references", "compact",
                 "contiguous", "committed type", "nbit", "fletcher32", "huge attributes"):
        is_equal("same page: " + name, page(name), wanted)


def what_the_fuzzers_found():
    top, n = os.path.join(ROOT, "tests", "data", "hostile"), 0
    for name in sorted(os.listdir(top)):
        if name.endswith(".h5"):
            path = os.path.join(top, name)
            of_json(path, of_text(path, None))
            n += 1
    is_true("what the fuzzers found", n > 5, "only %d files" % n)


if __name__ == "__main__":
    run_tests([every_case_is_judged, as_stored_as_usual, what_the_fuzzers_found] +
              [made(*c) for c in hostilelib.CASES.items()])
