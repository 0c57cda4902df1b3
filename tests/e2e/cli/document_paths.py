#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""README.md, docs and man name files and folders that exist, and functions in the files they are in."""

import sys
sys.path.insert(0, sys.path[0] + "/../../lib")
from lib import *

NAMED = r"(?<![\w/.-])((?:bpf|schemas|user|man|docs|scripts|tests|bench|skel|\.ci)/[\w./-]*)"
EXAMPLES = r"[A-Z]{3}|/x\.|test_x"


def check_document(path):
    with open(path) as f:
        text = f.read()
    named = {n.rstrip(".") for n in re.findall(NAMED, text.replace("\\-", "-")) if not re.search(EXAMPLES, n)}
    is_equal(os.path.relpath(path, ROOT) + ": the paths that it names exist",
             sorted(n for n in named if not os.path.exists(os.path.join(ROOT, n))), [])
    for function, where in re.findall(r"`(\w+)(?:\(\))?`(?: in| \|) `([\w/.]+\.c)`", text):
        with open(os.path.join(ROOT, where)) as f:
            is_true("%s is in %s" % (function, where), re.search(r"\b%s[(,]" % function, f.read()), "no")


def paths():
    for path in DOCUMENTS:
        check_document(path)


run_tests([paths])
