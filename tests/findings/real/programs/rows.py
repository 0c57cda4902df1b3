# SPDX-License-Identifier: GPL-2.0-or-later
"""rows.py BATCH ROWS: puts ROWS rows into a table of SQLite, BATCH in a transaction"""
import os
import random
import sqlite3
import sys

batch, rows = int(sys.argv[1]), int(sys.argv[2])
if os.path.exists("rows.db"):
    os.unlink("rows.db")
db = sqlite3.connect("rows.db", isolation_level=None)
db.execute("create table t (id integer primary key, name text, value real)")
db.execute("create index by_value on t (value)")
for first in range(0, rows, batch):
    db.execute("begin")
    for i in range(first, min(first + batch, rows)):
        db.execute("insert into t (name, value) values (?, ?)", ("row %d" % i, random.random()))
    db.execute("commit")
print(db.execute("select count(*), sum(value) from t").fetchone())
