# SPDX-License-Identifier: GPL-2.0-only
"""Databases and servers."""

from case import Case, V

CASES = (
    Case("sqlite row by row", "py:sqlite3", "",
         sick="/usr/bin/python3 $P/rows.py 1 2000", mended="/usr/bin/python3 $P/rows.py 2000 2000",
         rules="io.wait", remedy="commit|fsync|transaction", cpus="0"),
)
