#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""corpus.py DIR [MAX]: what the fuzzers start from: golden and hostile files of at most MAX bytes
(default 17000: small files are read and damaged faster)."""

import os
import shutil
import sys

sys.path.insert(0, os.path.realpath(__file__ + "/../../lib"))
import hostilelib

DATA = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(__file__))), "data")


def made(target):
    for name, make in hostilelib.CASES.items():
        if name in hostilelib.LARGE:
            continue
        path = os.path.join(target, "made-%s.h5" % "".join(c if c.isalnum() else "-" for c in name))
        make(path)
        if os.path.exists(path + ".other"):
            os.unlink(path + ".other")
        yield path


def copied(target):
    for top in ("golden", "hostile", "slurm"):
        for where, _, names in os.walk(os.path.join(DATA, top)):
            for name in sorted(n for n in names if n.endswith(".h5")):
                path = os.path.join(target, "%s-%s" % (os.path.basename(where), name))
                shutil.copyfile(os.path.join(where, name), path)
                yield path


def main(target, most=17000):
    os.makedirs(target, exist_ok=True)
    for path in list(made(target)) + list(copied(target)):
        if not 0 < os.path.getsize(path) <= int(most):
            os.unlink(path)


if __name__ == "__main__":
    main(*sys.argv[1:])
