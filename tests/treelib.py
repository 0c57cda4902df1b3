# SPDX-License-Identifier: GPL-2.0-only
"""Machines made of files, for sensors to read."""

from lib import *


def put(root, path, text):
    """In one write, and never empty: the reader has the file open."""
    full = os.path.join(root, path)
    os.makedirs(os.path.dirname(full), exist_ok=True)
    fd = os.open(full, os.O_WRONLY | os.O_CREAT, 0o644)
    os.ftruncate(fd, os.write(fd, b"%s\n" % str(text).encode()))
    os.close(fd)


def put_register(root, path, reg, value):
    full = os.path.join(root, path)
    os.makedirs(os.path.dirname(full), exist_ok=True)
    fd = os.open(full, os.O_WRONLY | os.O_CREAT, 0o600)
    os.pwrite(fd, value.to_bytes(8, "little"), reg * 8)
    os.close(fd)


def machine(name):
    """The tree of tests/data/sensors/NAME.tree; its README says how they are written."""
    root = tmpdir(name)
    os.chmod(root, 0o755)
    os.chmod(TMP, 0o755)
    with open(os.path.join(ROOT, "tests/data/sensors", name + ".tree")) as f:
        lines = [l.rstrip("\n") for l in f if l.strip() and l[0] != "#"]
    for line in lines:
        path, text = line.split(" ", 1)
        if "@" in path:
            path, reg = path.split("@")
            put_register(root, path, int(reg, 16), int(text, 16))
        else:
            put(root, path, text.replace("\\n", "\n"))
    return root
