#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Every case of tests/data/analysis-cases: analysis-case gives what the case expects, which numpy, scipy
and sklearn computed."""

import sys
sys.path.insert(0, sys.path[0] + "/../../lib")
from lib import *

TOOL = os.path.join(BUILD, "tests", "analysis-case")
CASES = sorted(glob.glob(os.path.join(ROOT, "tests/data/analysis-cases/*.json")))


def compute(path):
    p = subprocess.run([TOOL, path], capture_output=True, text=True, timeout=60)
    return p.returncode, p.stdout, p.stderr


def is_number(v):
    return isinstance(v, (int, float)) and not isinstance(v, bool)


def differences(where, got, wanted, tolerance):
    """Lines, one for each value that is missing or differs."""
    if isinstance(wanted, dict) and isinstance(got, dict):
        return [d for key in wanted for d in
                (differences("%s.%s" % (where, key), got[key], wanted[key], tolerance)
                 if key in got else ["%s.%s is missing" % (where, key)])]
    if isinstance(wanted, list) and isinstance(got, list):
        if len(got) != len(wanted):
            return ["%s has %d values, not %d" % (where, len(got), len(wanted))]
        return [d for i, (g, w) in enumerate(zip(got, wanted))
                for d in differences("%s[%d]" % (where, i), g, w, tolerance)]
    if is_number(wanted) and is_number(got):
        near = tolerance.get("abs", 0) + tolerance.get("rel", 1e-9) * abs(wanted)
        return [] if abs(got - wanted) <= near else ["%s is %r, not %r" % (where, got, wanted)]
    return [] if type(got) is type(wanted) and got == wanted else ["%s is %r, not %r" % (where, got, wanted)]


def cases():
    is_true("there are cases", len(CASES) >= 76, len(CASES))
    for path in CASES:
        with open(path) as f:
            case = json.load(f)
        status, out, err = compute(path)
        if status:
            not_ok(case["id"], err)
            continue
        wrong = differences("", json.loads(out), case["expected"], case.get("tolerance", {}))
        if wrong:
            not_ok(case["id"], "; ".join(wrong[:5]))
        else:
            ok(case["id"])


def bad_input_is_one_line():
    file = os.path.join(tmpdir(), "case.json")
    for name, text in (("unknown analysis", '{"analysis": "nothing", "inputs": {}}'),
                       ("no inputs", '{"analysis": "pika.tags"}'),
                       ("rows of two lengths", '{"analysis": "pika.idle", "inputs": {"load": [[0], [0, 1]]}}'),
                       ("text for a number", '{"analysis": "pika.idle", "inputs": {"load": [["x"]]}}'),
                       ("no JSON", '{')):
        with open(file, "w") as f:
            f.write(text)
        status, out, err = compute(file)
        is_equal("bad input: " + name, (status, out, err.count("\n")), (2, "", 1))


run_tests([cases, bad_input_is_one_line])
