# SPDX-License-Identifier: GPL-2.0-or-later
"""An index of generated jobs, and what jobprof has to say of it: the rows' own sums, made in python."""

import csv
import datetime
import io
import math
import os
import re
import sqlite3
import zoneinfo

import sitegen
from lib import *

DAY = 86400
# Over the end of summer time in New York, which was on 2026-11-01.
END = int(datetime.datetime(2026, 11, 20, tzinfo=datetime.timezone.utc).timestamp())
ZONES = ("UTC", "America/New_York", "Asia/Kolkata")
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ufffe\uffff]")


def site(jobs=2500, seed=7, **more):
    """Jobs begin at midnight in each of ZONES more often than chance would have it."""
    return sitegen.Site(**{"jobs": jobs, "seed": seed, "users": 30, "projects": 28, "days": 60, "end": END, "hostile": True, "nodes": True,
                           "at": (0, 4 * 3600, 5 * 3600, 66600), **more})


def call(*args, tz="UTC", wrap=(), env=None, **more):
    return subprocess.run([*wrap, JOBPROF, *args], capture_output=True, text=True,
                          env=plain_env(TZ=tz, **{"HOME": TMP, "LC_ALL": "C.UTF-8", **(env or {})}), **more)


def must(*args, **more):
    p = call(*args, **more)
    if p.returncode:
        raise Failed("jobprof %s: status %d, %s" % (" ".join(args), p.returncode, p.stderr[-500:]))
    return p.stdout


def as_json(*args, **more):
    return json.loads(must(*args, "--json", **more))


def make(made, tz="UTC", name="index.db"):
    """Imports a site; returns the index's path and the rows as they are stored."""
    d = tmpdir("site")
    path, lines = os.path.join(d, name), os.path.join(d, "rows.jsonl")
    with open(lines, "w") as f:
        made.write(f)
    out = must("index", "import", "--database", path, lines, tz=tz)
    rows = [stored(row, tz) for row in made.rows()]
    if out != "%s: %d rows\n" % (lines, len(rows)):
        raise Failed("import says %r of %d rows" % (out, len(rows)))
    return path, rows


def stored(row, tz):
    """A row as the index has it: texts without control characters, the day in its zone."""
    row = {k: CONTROL.sub("\ufffd", v) if isinstance(v, str) else v for k, v in row.items()}
    local = datetime.datetime.fromtimestamp(row["start"], zoneinfo.ZoneInfo(tz))
    row["day"] = (local.date() - datetime.date(1970, 1, 1)).days
    row["month"] = local.year * 12 + local.month - 1
    if row["node_names"] is None and row["node_list"]:
        row["node_names"] = sitegen.names_of(row["node_list"])
    row["judged_"] = row["findings"] is not None
    return row


def instant(text, tz):
    """Of "2026-11", "2026-11-01", "2026-11-01T08:00" in a zone."""
    if len(text) == 7:
        text += "-01"
    return datetime.datetime.fromisoformat(text).replace(tzinfo=zoneinfo.ZoneInfo(tz)).timestamp()


def among(text):
    words = text.split(",")
    return lambda v: v in words


def between(text):
    least, _, most = text.partition("-")
    return float(least), float(most) if most else math.inf if "-" in text else float(least)


SPANS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def spans(text):
    least, dash, most = text.partition("-")
    number = lambda t: float(t[:-1]) * SPANS[t[-1]]
    return number(least), number(most) if most else math.inf if dash else number(least)


def has_finding(rule):
    if rule == "none":
        return lambda r: r["findings"] == 0
    if rule == "unknown":
        return lambda r: r["findings"] is None
    if rule == "any":
        return lambda r: (r["findings"] or 0) > 0
    return lambda r: any(f["id"] == rule for f in r["finding_list"] or ())


VOLUMES = {"--read": "read_bytes", "--written": "write_bytes", "--read-rate": "read_bw_max", "--write-rate": "write_bw_max"}
POWERS = {"": 1, "B": 1, **{p + "B": 1000 ** (i + 1) for i, p in enumerate("kMGTPE")}, **{p + "iB": 1024 ** (i + 1) for i, p in enumerate("KMGTPE")}}


def volumes(text):
    """Of "1GiB-2GiB", "500MB/s-"."""
    least, _, most = text.partition("-")
    number = lambda t: float(re.match(r"[\d.]+", t)[0]) * POWERS[re.sub(r"^[\d.]+|/s$", "", t)]
    return number(least), number(most) if most else math.inf


def within(v, least, most, is_open=True):
    """Ranges that follow each other have no job in common: each ends below its end."""
    return v is not None and least <= v and (v < most if is_open and least < most else v <= most)


SHARES = {"--cpu-share": ("cpu_s", "held_core_s"), "--memory-share": ("peak_mb", "mem_asked_mb"), "--limit-share": ("elapsed_s", "limit_s")}


def is_job(r, word):
    if "_" in word:
        return [r["array_id"], r["array_task"]] == [int(x) for x in word.split("_")]
    if "+" in word:
        first, k = map(int, word.split("+"))
        return r["het_id"] == first and r["job_id"] == first + k
    return int(word) in (r["job_id"], r["array_id"])


def hosts(text):
    """Of "n1,n[2-4,7]"; no bracket's number has zeros before it."""
    names = set()
    for prefix, inside, plain in re.findall(r"([^,\[]+)\[([^\]]*)\]|([^,\[\]]+)", text):
        names |= {plain} if plain else {prefix + str(i) for part in inside.split(",")
                                        for i in range(int(part.split("-")[0]), int(part.split("-")[-1]) + 1)}
    return names


def is_rule(word):
    return word not in (None, "any", "none", "unknown")


def rule_cost(row, rule):
    """What the findings of a rule cost a job; None: not known."""
    return total(f["cost"].get("core_s") for f in row["finding_list"] or () if f["id"] == rule) if is_rule(rule) else None


def chosen_by(options, tz):
    """A test of rows for {"--user": "a,b", ...}."""
    tests = []
    for name, v in options.items():
        if name == "--since" and v != "all":
            tests.append(lambda r, t=instant(v, tz): r["start"] >= t)
        elif name == "--until":
            tests.append(lambda r, t=instant(v, tz): r["start"] < t)
        elif name in ("--user", "--project", "--partition", "--cluster"):
            key = {"--project": "account"}.get(name, name[2:])
            tests.append(lambda r, key=key, ok=among(v): ok(r[key]))
        elif name == "--name":
            tests.append(lambda r, v=v: r["name"] == v[1:] if v[0] == "=" else v in (r["name"] or ""))
        elif name == "--program":
            tests.append(lambda r, v=v: r["program"] == v[1:] if v[0] == "=" else v in (r["program"] or ""))
        elif name == "--state":
            tests.append(lambda r, w=v.upper().split(","): any((r["state"] or "").startswith(x) for x in w))
        elif name == "--jobs":
            tests.append(lambda r, w=v.split(","): any(is_job(r, x) for x in w))
        elif name == "--nodes":
            tests.append(lambda r, b=between(v): b[0] <= r["nodes"] <= b[1])
        elif name == "--ran":
            tests.append(lambda r, b=spans(v): b[0] <= r["elapsed_s"] <= b[1])
        elif name == "--finding":
            tests.append(has_finding(v))
        elif name == "--node":
            tests.append(lambda r, w=hosts(v): not w.isdisjoint(r["node_names"] or ()))
        elif name == "--ran-at":
            tests.append(lambda r, t=instant(v, tz): t - 30 * DAY <= r["start"] <= t < r["end"])
        elif name in SHARES:
            tests.append(lambda r, of=SHARES[name], b=between(v): within(quotient(r[of[0]], r[of[1]]), b[0] / 100, b[1] / 100, b[1] < 100))
        elif name in VOLUMES:
            tests.append(lambda r, of=VOLUMES[name], b=volumes(v): within(r[of], *b))
        elif name == "--tag":
            tests.append(lambda r, bit=TAG_NAMES.index(v): r["tags"] is not None and r["tags"] >> bit & 1)
    return lambda r: all(t(r) for t in tests)


TAG_NAMES = ["unrestrained", "memory-bound", "compute-bound", "GPU-bound", "IO-heavy", "network-heavy"]


def words_of(options):
    return [w for pair in options.items() for w in pair]


# ---- sums

def total(values):
    """As SQL has it: of nothing it is not known."""
    known = [v for v in values if v is not None]
    return math.fsum(known) if known else None


def highest(values):
    return max((v for v in values if v is not None), default=None)


def quotient(a, b):
    return a / b if a is not None and b else None


def cores(row):
    return row["cores"] if row["cores"] is not None else row["cpus"]


FAILED = ("FAILED", "NODE_FAIL", "BOOT_FAIL", "OUT_OF_MEMORY")


def sums(rows):
    """What jobprof usage says of jobs."""
    of = lambda name: total(r[name] for r in rows)
    judged = [r for r in rows if r["findings"] is not None]
    s = {"jobs": len(rows), "profiled": len(judged), "findings": sum(r["findings"] for r in judged),
         "profiled_core_s": math.fsum(r["held_core_s"] for r in judged),
         "run_s": of("elapsed_s"), "footprints": sum(r["has_footprint"] or 0 for r in rows),
         "max_nodes": highest(r["nodes"] for r in rows), "max_cores": highest(cores(r) for r in rows),
         "max_pending_s": highest(r["start"] - r["submit"] if r["submit"] is not None else None for r in rows)}
    for name in ("held_core_s", "held_cpu_s", "held_gpu_s", "lost_core_s", "lost_gpu_s", "cpu_s", "energy_j", "energy_low_j",
                 "energy_high_j", "read_bytes", "write_bytes"):
        s[name] = of(name)
    s["failed"] = sum(r["state"] in FAILED for r in rows)
    return s


def shares(s, everything):
    """What usage makes of sums; a share of nothing is not known."""
    s["cpu_share"] = quotient(s["cpu_s"], s["profiled_core_s"])
    s["lost_share"] = quotient(s["lost_core_s"], s["held_core_s"])
    s["of_all_lost"] = quotient(s["lost_core_s"], everything["lost_core_s"])
    s["without_profile"] = 1 - s["profiled_core_s"] / s["held_core_s"] if s["held_core_s"] else None
    s["energy_kwh"] = quotient(s["energy_j"], 3.6e6)
    return s


def differ(got, want, rel=1e-9):
    """Whether a value is not the one that it has to be."""
    if isinstance(want, (int, float)) and isinstance(got, (int, float)):
        return not approx(got, want, rel, 1e-9)
    return got != want


def differences(got, want):
    """Keys of a dictionary whose values differ, with both."""
    return ["%s: got %r, wanted %r" % (k, got.get(k, "absent"), v) for k, v in want.items()
            if k not in got or differ(got[k], v)]


# ---- forms

def visible(text):
    """As a terminal shows it, a character in each place."""
    hidden = re.compile("[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb"
                        "\U000e0000-\U000e007f]")
    return hidden.sub("?", text)


def cut(text, most):
    """As a column has it that is no wider."""
    text = visible(text)
    if len(text) <= most:
        return text
    return ".." + text[2 - most:] if text[0] == "/" else text[:most - 2] + ".."


def grouped(v):
    return "{:,.0f}".format(v)


def number(v):
    if v is None:
        return "-"
    if abs(v) >= 99.95:
        return grouped(math.floor(v + 0.5))
    if 0 < abs(v) < 0.0005:
        return "<0.001"
    return "%.*f" % (1 if abs(v) >= 9.995 else 2 if abs(v) >= 0.0995 else 3 if v else 0, v)


def volume(v):
    if v is None:
        return "-"
    units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"]
    while abs(v) >= 999.5 and len(units) > 1:
        v /= 1024
        del units[0]
    return "%s %s" % (number(v), units[0])


def share(v):
    return "-" if v is None else "<1" if 0 < v < 0.005 else "%.0f" % (v * 100)


def duration(s):
    if s is None:
        return "-"
    if s < 60:
        return "%.0f s" % s
    minutes = math.floor(s / 60 + 0.5)
    if minutes >= 1440:
        return "%d-%02d:%02d" % (minutes // 1440, minutes // 60 % 24, minutes % 60)
    return "%d:%02d" % (minutes // 60, minutes % 60)


def hours(v):
    return number(None if v is None else v / 3600)


def from_csv(text):
    return list(csv.reader(io.StringIO(text)))


def of_csv(cell):
    """A cell's text without the quote that keeps spreadsheets from computing it."""
    return cell[1:] if cell[:1] == "'" and cell[1:2] in tuple("=+-@") else cell


def escaped(text):
    """As CSV has a text: of what nobody sees the bytes."""
    return "".join(c if visible(c) == c else "".join("\\x%02x" % b for b in c.encode()) for c in text)


def sql(path, text, *args):
    db = sqlite3.connect("file:%s?mode=ro" % path, uri=True)
    try:
        return db.execute(text, args).fetchall()
    finally:
        db.close()
