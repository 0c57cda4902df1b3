#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 120
"""Names that users chose: no verb prints a character that nobody sees or that a terminal obeys, in no form; and no cell
of CSV is one that a spreadsheet would compute."""

import csv
import io
import os
import sys

sys.path.insert(0, os.path.realpath(__file__ + "/../../../lib"))
sys.path.insert(0, os.path.realpath(__file__ + "/../../../findings"))
from lib import *
from verblib import calls, make_profile

# A formula, U+202E and its kin, a control character of one byte and one of two, no width, a letter that nobody sees.
STRANGE = "=1+1\u202e\u2066\x1b[31m\u009b31m\u200b\ufeff\U000e0041\u00e4"
HIDDEN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb"
                    "\U000e0000-\U000e007f]")
A, B = (os.path.join(tmpdir(), "job_%d.h5" % n) for n in (4711, 4712))


def make():
    """Every name that is not one of the profiler's."""
    for at, path in enumerate((A, B)):
        make_profile(path, at, work=STRANGE)
        with h5py.File(path, "r+") as f:
            places = [f] + [s for s in f["Steps"].values()] + [n for s in f["Steps"].values() for n in s["Nodes"].values()]
            for place in places:
                for key, value in list(place.attrs.items()):
                    if isinstance(value, (str, bytes)) and key not in ("Step",) and not key.startswith("Mode "):
                        place.attrs[key] = STRANGE
            for step in f["Steps"].values():
                for node in list(step["Nodes"]):
                    step["Nodes"].move(node, STRANGE)


def called(args):
    p = subprocess.run([JOBPROF, *args], capture_output=True, timeout=100, env=plain_env(LC_ALL="C.UTF-8", TZ="UTC"))
    return p.returncode, p.stdout.decode(errors="replace"), p.stderr.decode(errors="replace")


def nothing_is_hidden():
    for name, args in calls(A, B).items():
        status, out, err = called(args)
        found = HIDDEN.search(out + err)
        is_true(name, status in (0, 1) and not found,
                (status, err[-200:]) if not found else ascii((out + err)[max(0, found.start() - 60):found.end() + 20]))


def no_cell_is_a_formula():
    for name in ("items", "extract", "cluster --csv"):
        status, out, err = called(calls(A, B)[name])
        cells = [c for row in csv.reader(io.StringIO(out)) for c in row]
        texts = [c for c in cells if re.match("[=+@-]", c) and not re.fullmatch(r"[+-]?[0-9.]+([eE][+-]?[0-9]+)?", c)]
        is_true(name + ": there are cells of that name", status == 0 and any(c.startswith("'=1+1\\xe2") for c in cells), (status, err, out[:300]))
        is_true(name + ": none is computed", not texts, texts[:5])


make()
run_tests([nothing_is_hidden, no_cell_is_a_formula])
