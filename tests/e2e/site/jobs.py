#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Every number of jobprof jobs, as text, CSV and JSON, is the one that python makes of the generated jobs, for each option and
many together, in three zones; export and import keep all of them; who is no staff sees own jobs."""

import contextlib
import itertools
import sys

sys.path.insert(0, sys.path[0] + "/../../lib")
from sitelib import *

_made = {}


def index(tz="UTC"):
    if tz not in _made:
        _made[tz] = make(site(), tz)
    return _made[tz]


# What columns are of a row of the index.
def columns(r, rule=None):
    rate = lambda a, b: a / b if a is not None and b else None
    moved = None if r["read_mb"] is None or r["write_mb"] is None else (r["read_mb"] + r["write_mb"]) * 1048576
    return {"job_id": r["job_id"], "array_id": r["array_id"], "array_task": r["array_task"], "cluster": r["cluster"], "user": r["user"],
            "account": r["account"], "name": r["name"] if r["name"] is not None else r["program"], "state": r["state"],
            "partition": r["partition"], "nodes": r["nodes"], "cores": cores(r), "gpus": r["gpus"], "start": r["start"],
            "elapsed_s": r["elapsed_s"], "limit_share": rate(r["elapsed_s"], r["limit_s"]), "cpu_share": rate(r["cpu_s"], r["held_core_s"]),
            "memory_share": rate(r["peak_mb"], r["mem_asked_mb"]), "gpu_share": r["gpu_use"], "io_bytes_s": rate(moved, r["elapsed_s"]),
            "energy_j": r["energy_j"], "held_core_s": r["held_core_s"], "lost_core_s": r["lost_core_s"], "lost_gpu_s": r["lost_gpu_s"],
            "finding_core_s": rule_cost(r, rule), "findings": r["findings"], "worst_text": r["worst_text"], "file": r["file"],
            "worst_rule": "no profile" if r["sources"] == 1 else "none" if r["worst_rule"] == "" else r["worst_rule"]}


def sort_key(row, column, up):
    """As the verb sorts: what is not known last, then the newest id."""
    v = row[column]
    if isinstance(v, str):
        v = v.encode()
        v = [b if up else -b for b in v] + ([] if up else [1])  # a longer text is after its beginning
    elif v is not None:
        v = v if up else -v
    return v is None, v if v is not None else 0, -row["job_id"], -row["start"]


def wanted(rows, options, tz, sort=None, up=False):
    of, rule = chosen_by(options, tz), options.get("--finding")
    sort = sort or ("finding_core_s" if is_rule(rule) else "held_core_s" if rule == "unknown" else "lost_core_s")
    return sorted((columns(r, rule) for r in rows if of(r)), key=lambda row: sort_key(row, sort, up))


def filters(rows):
    """One of each option, and some together; arguments that jobs have, and one that none has."""
    r = next(r for r in rows if r["array_id"] is not None and r["node_names"] and r["finding_list"])
    user = max({x["user"] for x in rows}, key=lambda u: sum(x["user"] == u for x in rows))
    single = [{"--user": user}, {"--user": "user1,user2,nobody"}, {"--project": r["account"]}, {"--project": "x'; DROP TABLE job; --"},
              {"--name": "_u1"}, {"--name": "%"}, {"--name": "_\\"}, {"--name": "'"}, {"--name": "日本"}, {"--name": "LMP"},
              {"--state": "failed"}, {"--state": "timeout,out_of_memory"}, {"--state": "Cancelled"}, {"--partition": "gpu,big"},
              {"--cluster": "beta"}, {"--jobs": "%d,%d,1001" % (r["array_id"], r["job_id"])}, {"--nodes": "2"}, {"--nodes": "4-16"},
              {"--nodes": "8-"}, {"--node": r["node_names"][-1]}, {"--finding": "any"}, {"--finding": "none"},
              {"--finding": r["finding_list"][0]["id"]}, {"--finding": "unknown"}, {"--tag": "memory-bound"}, {"--tag": "IO-heavy"},
              {"--ran": "1h-"}, {"--ran": "10m-2h"}, {"--user": "nobody.at.all"}]
    times = [{"--since": a, **({"--until": b} if b else {})} for a, b in (
        ("2026-10", "2026-11"), ("2026-11", None), ("2026-10-31", "2026-11-02"), ("2026-11-01", "2026-11-02"), ("2026-11-02", "2026-11-03"),
        ("2026-10-05T07:30", "2026-10-05T19:00"), ("2026-11-01T12:00", None), ("2026-09-30", "2026-10-17"), ("2027-01", None))]
    both = [{**a, **b} for a, b in itertools.product(single[:22:3], times[:6:2])]
    several = [{"--user": user, "--state": "completed", "--finding": "any", "--ran": "5m-", "--since": "2026-10"},
               {"--cluster": "alpha", "--partition": "batch,short", "--nodes": "1", "--name": "_"},
              {"--finding": r["finding_list"][0]["id"], "--user": user}, {"--name": "=" + r["name"]}, {"--name": "=LMP"}, {"--program": "=" + r["program"]}]
    return [{}] + single + times + both + several


def ask(path, options, *args, tz="UTC"):
    return as_json("jobs", "--database", path, "--since", "all", "--all", *words_of(options), *args, tz=tz)


def faults(got, want):
    if len(got) != len(want):
        return ["%d rows, wanted %d" % (len(got), len(want))]
    return ["row %d: %s" % (i, d) for i, (g, w) in enumerate(zip(got, want)) for d in differences(g, w)][:3]


def head_faults(got, rows, options, tz):
    of = chosen_by(options, tz)
    mine = [r for r in rows if of(r)]
    s = sums(mine)
    want = {"matching": len(mine), "held_core_s": s["held_core_s"], "lost_core_s": s["lost_core_s"],
            "finding_core_s": total(rule_cost(r, options.get("--finding")) for r in mine),
            "without_profile_core_s": total(r["held_core_s"] if r["findings"] is None else 0 for r in mine)}
    return differences(got, want)


def each_filter():
    path, rows = index()
    for options in filters(rows):
        got = ask(path, options)
        found = faults(got["rows"], wanted(rows, options, "UTC")) + head_faults(got, rows, options, "UTC")
        is_equal("jobs %s" % (" ".join(words_of(options)) or "without options"), found, [])


def zones():
    for tz in ZONES[1:]:
        path, rows = index(tz)
        for options in filters(rows)[30:39]:
            got = ask(path, options, tz=tz)
            is_equal("jobs %s in %s" % (" ".join(words_of(options)), tz),
                     faults(got["rows"], wanted(rows, options, tz)) + head_faults(got, rows, options, tz), [])


def sorts():
    path, rows = index()
    for column in columns(rows[0]):
        for up in (False, True):
            got = ask(path, {"--cluster": "beta"}, "--sort", "-" * up + column)
            is_equal("jobs --sort %s%s" % ("-" * up, column),
                     faults(got["rows"], wanted(rows, {"--cluster": "beta"}, "UTC", column, up)), [])
    p = call("jobs", "--database", path, "--sort", "job_id; DROP TABLE job")
    is_equal("jobs --sort of no column", [p.returncode, p.stdout], [2, ""])
    p = call("jobs", "--database", path, "--sort", "lost_core")
    is_equal("jobs --sort of nearly a column", [p.returncode, "did you mean lost_core_s" in p.stderr], [2, True])


def limits():
    path, rows = index()
    got = as_json("jobs", "--database", path, "--since", "all")
    is_equal("jobs without --all: the first 50", [faults(got["rows"], wanted(rows, {}, "UTC")[:50]), got["matching"]], [[], len(rows)])


def one_finding():
    """What that finding cost is what rows are sorted by, not all that these jobs lost; the first 50 as all."""
    path, rows = index()
    rules = sorted({f["id"] for r in rows for f in r["finding_list"] or ()})
    for rule in rules:
        options = {"--finding": rule, "--since": "2026-10", "--until": "2026-11"}
        want = wanted(rows, options, "UTC")[:50]
        got = as_json("jobs", "--database", path, *words_of(options))
        found = faults(got["rows"], want) + head_faults(got, rows, options, "UTC")
        up = as_json("jobs", "--database", path, *words_of(options), "--sort", "-lost_core_s")
        found += faults(up["rows"], wanted(rows, options, "UTC", "lost_core_s", True)[:50]) + head_faults(up, rows, options, "UTC")
        is_equal("jobs --finding %s: what that cost" % rule, found, [])
        got_sql = sql(path, "SELECT sum(f.cost_core_s) FROM finding f JOIN job j ON j.id = f.job WHERE f.rule = ? AND j.start >= ? AND j.start < ?",
                      rule, instant("2026-10", "UTC"), instant("2026-11", "UTC"))[0][0]
        is_true("jobs --finding %s: and SQL's sum" % rule, not differ(got["finding_core_s"], got_sql), (got["finding_core_s"], got_sql))
    dear = max(rules, key=lambda rule: total(rule_cost(r, rule) for r in rows) or 0)
    text, want = must("jobs", "--database", path, "--since", "all", "--finding", dear), wanted(rows, {"--finding": dear}, "UTC")
    is_true("jobs --finding as text: the head says how much of it", ", of which %s %s\n" % (dear, hours(total(r["finding_core_s"] for r in want))) in text, text[:200])
    line = next(line for line in text.splitlines() if line.split()[:1] == [called(want[0])])
    is_true("jobs --finding as text: and the column", hours(want[0]["finding_core_s"]) in line.split() and dear in text.splitlines()[3], line)
    for none in ("any", "none"):
        is_equal("jobs --finding %s: of no finding alone" % none, {r["finding_core_s"] for r in ask(path, {"--finding": none})["rows"]}, {None})


def sorted_column():
    """Text has the column that it is sorted by, however narrow it is."""
    path, rows = index()
    for column in columns(rows[0]):
        text = must("jobs", "--database", path, "--since", "all", "--sort", column, env={"COLUMNS": "40"})
        first = as_json("jobs", "--database", path, "--since", "all", "--sort", column)["rows"][0][column]
        head = {"energy_j": "energy J", "cpu_share": "CPU%", "findings": "findings", "signature": "signature", "file": "file", "gpu_share": "GPU%"}
        table = text.split("\n\n", 1)[1].splitlines()
        if column in head:
            is_true("jobs --sort %s: is a column" % column, re.search(r"(^|\s)%s(\s|$)" % head[column], table[0]), table[0])
        if column in ("findings", "energy_j", "lost_gpu_s"):
            shown = (hours if column == "lost_gpu_s" else number if column == "energy_j" else grouped)(first)
            is_true("jobs --sort %s: with its values" % column, shown in table[1].split(), (shown, table[1]))
        for width in (80, 200):
            text = must("jobs", "--database", path, "--since", "all", "--sort", column, env={"COLUMNS": str(width)})
            is_equal("jobs --sort %s: lines of %d columns" % (column, width), [line for line in text.splitlines() if len(line) > width], [])
    text = must("jobs", "--database", path, "--since", "all", "--finding", "unknown")
    is_true("jobs --finding unknown: what was held is a column", "held core-h" in text.splitlines()[3], text[:400])


def heads_that_fit():
    """The first lines, with times and a finding, at the width of the terminal; no word is lost."""
    path, rows = index()
    rule = max((f["id"] for r in rows for f in r["finding_list"] or ()), key=len)
    for word in ("2026-10-01T08:00Z", "2026-10-01T08:00:00Z"):
        is_equal("jobs: %s is in UTC in any zone" % word, as_json("jobs", "--since", word, "--database", path, tz="Asia/Kolkata")["matching"], sum(r["start"] >= instant("2026-10-01T08:00", "UTC") for r in rows))
    is_equal("jobs: a day in UTC is no time", call("jobs", "--since", "2026-10-01Z", "--database", path).returncode, 2)
    times = ["--since", "2026-10-01T08:00:00", "--until", "2026-11-20T08:00:00"]
    for words in (["jobs"], ["usage"], ["issues"], ["usage", "--io"], ["jobs", "--finding", rule], ["usage", "--finding", rule],
                  ["jobs", "--ran-at", "2026-10-15T08:00:00"]):
        wide = must(*words, *times, "--database", path, env={"COLUMNS": "400"}).split("\n\n")[0]
        for width in (80, 200) if "--io" in words else (40, 80, 200):
            head = must(*words, *times, "--database", path, env={"COLUMNS": str(width)}).split("\n\n")[0]
            too_long = [line for line in head.splitlines() if len(line) > max(width, 80 if "nobody knows" in line else 0)]
            is_equal("%s: first lines of %d columns" % (" ".join(words), width), [too_long, head.split()], [[], wide.split()])
    lines = must("jobs", *times, "--database", path).splitlines()
    is_true("jobs: a line that is too long is broken behind the times", lines[0].endswith("until 2026-11-20T08:00:00:") and "core-h held" in lines[1], lines[:2])
    is_true("jobs: one line where there is room", "core-h held" in must("jobs", *times, "--database", path, env={"COLUMNS": "120"}).splitlines()[0], lines[:2])


def whole_numbers():
    """Counts and times are integers of JSON."""
    path, _ = index()
    got = as_json("jobs", "--database", path, "--since", "all")
    kinds = {k: type(v) for k, v in got["rows"][0].items() if k in ("job_id", "nodes", "start", "cores", "elapsed_s", "findings")}
    is_equal("jobs --json: counts and times are integers", [type(got["matching"]), set(kinds.values())], [int, {int}])
    for words in (["usage"], ["usage", "--by", "node"], ["usage", "--nodes", "1-"], ["issues"]):
        got = as_json(*words, "--database", path, "--since", "all")
        counts = [v for row in got["rows"] + [got["sum"]] for k, v in row.items()
                  if k in ("jobs", "profiled", "findings", "run_s", "footprints", "max_nodes", "max_pending_s", "runs", "failed") and v is not None]
        is_equal("%s --json: counts are integers" % " ".join(words), {type(v) for v in counts}, {int})
    got = as_json("digest", "--database", path, "--since", "2026-10-12", "--until", "2026-10-19")
    is_equal("digest --json: its times and counts", {type(v) for v in (got["from"], got["to"], got["before_from"], got["total"]["jobs"])}, {int})
    is_equal("usage --io --json: its least time", type(as_json("usage", "--io", "--database", path, "--since", "all")["least_s"]), int)
    is_equal("advice --json: how many helped", type(as_json("advice", "--database", path)["helped"]), int)


def as_sql():
    path, rows = index()
    n, held, lost, found = sql(path, "SELECT count(*), sum(held_core_s), sum(lost_core_s), sum(findings) FROM job")[0]
    got = as_json("jobs", "--database", path, "--since", "all")
    is_equal("jobs: the sums are SQL's and those of the generator",
             [n, differ(held, got["held_core_s"]), differ(lost, got["lost_core_s"]), differ(held, total(r["held_core_s"] for r in rows)),
              found == sum(r["findings"] or 0 for r in rows)], [len(rows), False, False, False, True])
    stored = {(c, j, s): r for c, j, s, *r in sql(path, "SELECT cluster, job_id, start, %s FROM job" % ", ".join(
        '"%s"' % name for name in sitegen.COLUMNS))}
    bad = []
    for r in rows:
        row = dict(zip(sitegen.COLUMNS, stored[r["cluster"], r["job_id"], r["start"]]))
        bad += differences(row, {k: v for k, v in r.items() if k in sitegen.COLUMNS})
    is_equal("import: each column of each row is as it was generated", bad[:5], [])
    is_equal("index check finds no difference", must("index", "check", "--database", path).splitlines()[-1], "no difference")


def as_csv():
    path, rows = index()
    options = {"--cluster": "alpha"}
    text = must("jobs", "--database", path, "--since", "all", "--all", "--csv", *words_of(options))
    (head, *lines), want = from_csv(text), wanted(rows, options, "UTC")
    bad = []
    for line, row in zip(lines, want):
        for key, cell in zip(head, line):
            v = row.get(key)
            if key in row and (of_csv(cell) != escaped(v) if isinstance(v, str) else cell != "" if v is None else differ(float(cell), v)):
                bad.append("%s: got %r, wanted %r" % (key, cell, v))
    is_equal("jobs --csv: each cell", [len(lines), bad[:5]], [len(want), []])
    risky = [c for line in lines for c in line if c[:1] in tuple("=+-@") and not re.fullmatch(r"[-+]?[0-9.]+(e[-+]?\d+)?", c)]
    is_equal("jobs --csv: no cell is a formula", risky, [])
    is_true("jobs --csv: there are names that were formulas", any(c.startswith("'=") for line in lines for c in line), text[:300])
    is_equal("jobs --csv: nothing that a terminal obeys", visible(text.replace("\n", "")), text.replace("\n", ""))


def called(row):
    """As Slurm calls a job, which a task of an array is not by its number."""
    return str(row["job_id"]) if row["array_task"] is None else "%d_%d" % (row["array_id"], row["array_task"])


def expected_texts(row, has_gpu):
    is_this_year = time.gmtime(row["start"]).tm_year == time.gmtime().tm_year
    start = time.strftime("%m-%d %H:%M" if is_this_year else "%Y-%m-%d", time.gmtime(row["start"]))
    return [called(row), cut(row["user"], 10), cut(row["account"], 12), cut(row["name"] or "", 20), row["state"] or "",
            row["partition"], grouped(row["nodes"]), grouped(row["cores"]), "-" if row["gpus"] is None else grouped(row["gpus"]), start,
            duration(row["elapsed_s"]), share(row["limit_share"]), share(row["cpu_share"]), share(row["memory_share"]), share(row["gpu_share"]) if has_gpu else "",
            hours(row["held_core_s"]), hours(row["lost_core_s"]), row["worst_rule"] or "", cut(row["worst_text"] or "", 60)]


def lacks(line, texts):
    """The first of the texts that the line does not have behind those before it; None: it has them all."""
    at = 0
    for text in texts:
        found = line.find(text.strip(), at)
        if found < 0:
            return text
        at = found + len(text.strip())
    return None


def as_text():
    path, rows = index()
    options = {"--cluster": "beta"}
    text = must("jobs", "--database", path, "--since", "all", "--all", *words_of(options), env={"COLUMNS": "300"})
    lines = text.splitlines()
    table, want = lines[4:-3], wanted(rows, options, "UTC")
    has_gpu = any(row["gpu_share"] is not None for row in want)
    is_equal("jobs as text: each number of each row, in their order",
             [len(table), [(lacks(line, expected_texts(row, has_gpu)), line) for line, row in zip(table, want) if lacks(line, expected_texts(row, has_gpu)) is not None][:3]],
             [len(want), []])
    is_true("jobs as text: tasks of arrays are among them", any("_" in called(row) for row in want), len(want))
    is_equal("jobs as text: nothing that a terminal obeys", visible(text.replace("\n", "")), text.replace("\n", ""))
    of = chosen_by(options, "UTC")
    s = sums([r for r in rows if of(r)])
    is_true("jobs as text: the sums are above it", grouped(s["jobs"]) + " jobs" in lines[0] and hours(s["held_core_s"]) in lines[0]
            and hours(s["lost_core_s"]) in lines[0], lines[0])
    for width in (80, 200):
        text = must("jobs", "--database", path, "--since", "all", env={"COLUMNS": str(width)})
        is_equal("jobs as text: lines of %d columns" % width, [line for line in text.splitlines() if len(line) > width], [])
        is_equal("jobs as text: what is lost stands at %d columns" % width, [w in text for w in ("lost", "worst finding")], [True, True])


# ---- rows to other places

def exchange():
    path, rows = index()
    lines = os.path.join(tmpdir("ex"), "all.jsonl")
    with open(lines, "w") as f:
        f.write(must("index", "export", "--database", path))
    again = lines.replace("jsonl", "db")
    must("index", "import", "--database", again, lines)
    every = "SELECT %s FROM job ORDER BY cluster, job_id, start" % ", ".join('"%s"' % c for c in sitegen.COLUMNS)
    is_true("export and import: the same rows", sql(path, every) == sql(again, every), "they differ")
    for table, order in (("finding", "3, 4, 5"), ("job_node", "1, 2, 3"), ("job_fs", "1, 2, 3"), ("day", "2, 3, 4, 5, 6"), ("month", "2, 3, 4, 5"), ("day_rule", "2, 3, 4, 5, 6"),
                         ("hist", "1, 2, 3, 4, 5")):
        names = [r[1] for r in sql(path, "PRAGMA table_info(%s)" % table) if r[1] not in ("id", "job")]
        text = "SELECT %s FROM %s ORDER BY %s" % (", ".join('"%s"' % n for n in names), table, ", ".join('"%s"' % n for n in names))
        is_true("export and import: the same %s" % table, sql(path, text) == sql(again, text), "they differ")
    must("index", "import", "--database", again, lines)
    is_true("import twice: nothing is doubled", sql(path, every) == sql(again, every), "they differ")
    own = must("index", "export", "--database", path, "--user", "user1").splitlines()
    is_equal("export --user", sorted(json.loads(line)["job_id"] for line in own), sorted(r["job_id"] for r in rows if r["user"] == "user1"))
    (head, *cells) = from_csv(must("index", "export", "--database", path, "--csv"))
    held = head.index("held_core_s")
    is_equal("export --csv: all rows and columns",
             [head, len(cells), differ(math.fsum(float(c[held]) for c in cells), total(r["held_core_s"] for r in rows))],
             [list(sitegen.COLUMNS), len(rows), False])


def anonymous():
    path, rows = index()
    text = must("index", "export", "--database", path, "--anonymize")
    lines = [json.loads(line) for line in text.splitlines()]
    said = {v for x in lines for v in x.values() if isinstance(v, str)} | {v for x in lines for f in x.get("finding_list", ()) for v in f.values()
                                                                       if isinstance(v, str)}
    names = {r[k] for r in rows for k in ("user", "account", "name", "program", "file", "node_list", "worst_text") if r[k]}
    is_equal("export --anonymize: no name of anybody, nor of a node", [names & said, [u for u in {r["user"] for r in rows} if '"%s"' % u in text]],
             [set(), []])
    is_true("export --anonymize: nor of a file system, which may be a home", "file_systems" not in text, "")
    groups = lambda of: sorted(len(list(g)) for _, g in itertools.groupby(sorted(of)))
    is_equal("export --anonymize: users and projects stay apart",
             [groups(x["user"] for x in lines), groups(x["account"] for x in lines)],
             [groups(r["user"] for r in rows), groups(r["account"] for r in rows)])
    again = must("index", "export", "--database", path, "--anonymize")
    is_true("export --anonymize: with another key each time", again.splitlines()[0] != text.splitlines()[0], again[:200])
    other = os.path.join(tmpdir("an"), "index.db")
    with open(other + ".jsonl", "w") as f:
        f.write(text)
    must("index", "import", "--database", other, other + ".jsonl")
    is_equal("export --anonymize: sums stay", sql(other, "SELECT count(*), round(sum(lost_core_s)) FROM job"),
             sql(path, "SELECT count(*), round(sum(lost_core_s)) FROM job"))


GOOD = {"cluster": "c", "job_id": 5, "start": 1790000000, "elapsed_s": 60, "cpus": 2, "user": "u", "sources": 1}
BAD = [b"", b"{", b"[]", b"7", b'"x"', b"null", b"{}", b'{"job_id":1}', b'{"job_id":1,"start":"x","sources":1}', b"\xff\xfe\x00", b"{" * 5000, b"\x00\x00",
       b'{"job_id":-1,"start":1790000000,"sources":1}', b'{"job_id":1e300,"start":1790000000,"sources":1}',
       b'{"job_id":1,"start":1e17,"sources":1}', b'{"job_id":1,"start":0,"sources":1}', b'{"job_id":1,"start":1790000000}',
       b'{"job_id":1,"start":1790000000,"sources":9}', b'{"job_id":1.5,"start":1790000000,"sources":1}',
       b'{"job_id":1,"start":1790000000,"sources":2,"findings":1}', b'{"job_id":1,"start":1790000000,"sources":2,"finding_list":[1]}',
       b'{"job_id":1,"start":1790000000,"sources":2,"finding_list":{}}', b'{"job_id":1,"start":1790000000,"sources":1,"user":7}',
       b'{"job_id":1,"start":1790000000,"sources":1,"user":"a\\u0000b"}', b'{"job_id":1,"start":1790000000,"sources":1,"nodes":-4}',
       b'{"job_id":1,"start":1790000000,"sources":1,"cpu_s":NaN}', b'{"job_id":1,"start":1790000000,"sources":1,"node_names":[{}]}',
       b'{"job_id":1,"start":1790000000,"sources":2,"file_systems":{}}', b'{"job_id":1,"start":1790000000,"sources":2,"file_systems":[{"read_bytes":1}]}',
       b'{"job_id":1,"start":1790000000,"sources":1} {}', b'{"x":"' + b"y" * 5000000 + b'"}']


def hostile_lines():
    d = tmpdir("bad")
    path, lines = d + "/index.db", d + "/bad.jsonl"
    with open(lines, "wb") as f:
        for line in BAD:
            f.write(line + b"\n")
        f.write(json.dumps(GOOD).encode() + b"\n")
        f.write(json.dumps({**GOOD, "job_id": 6, "cpu_s": 1e23, "peak_mb": -5, "new_column": 1, "name": "x" * 9000, "node_names": ["n" * 9000]}).encode())
    p = call("index", "import", "--database", path, lines)
    is_equal("import: lines that are no rows are refused, the others are read",
             [p.returncode, p.stdout.split(":")[1], sql(path, "SELECT job_id, length(name) FROM job ORDER BY 1")],
             [1, " 2 rows, %d refused\n" % (len(BAD) - 2), [(5, None), (6, 512)]])
    is_equal("import: a node's name is no longer than an index of PostgreSQL takes", sql(path, "SELECT length(node) FROM job_node"), [(512,)])
    names = "held_core_s lost_core_s lost_gpu_s cost_core_s cpu_s energy_j peak_mb read_bytes idle_cpu_s".split()
    less = {**GOOD, "job_id": 7, "sources": 3, **{name: -1e9 for name in names},
            "finding_list": [{"id": "mem.over", "severity": "bad", "cost": {"core_s": -1e9}, "text": "", "remedy": "", "where": ""}]}
    with open(lines, "w") as f:
        f.write(json.dumps(less))
    must("index", "import", "--database", path, lines)
    is_equal("import: what is less than nothing takes nothing from the sums of others",
             sql(path, "SELECT %s FROM job WHERE job_id = 7 AND min(%s) < 0" % (names[0], ", ".join("coalesce(%s, 0)" % n for n in names)))
             + sql(path, "SELECT cost_core_s FROM finding WHERE cost_core_s < 0") + sql(path, "SELECT * FROM day WHERE min(held_core_s, lost_core_s) < 0"), [])
    is_equal("import: each refusal says where", [n for n in [*range(2, 12), *range(13, 22)] if "bad.jsonl:%d: " % n not in p.stderr], [])
    is_true("import: columns of a later version are left out, which is said", "left out" in p.stderr, p.stderr[-300:])
    p = call("index", "import", "--database", path, "/dev/null")
    is_equal("import of nothing", [p.returncode, p.stdout], [0, "/dev/null: 0 rows\n"])
    p = call("index", "import", "--database", path, d + "/absent")
    is_equal("import of no file", [p.returncode, "absent" in p.stderr], [1, True])


def rows_of_other_users():
    """A row of a profile that claims another user's job is refused by itself, as the profile is."""
    d = tmpdir("other")
    path, lines = d + "/index.db", d + "/rows.jsonl"
    with open(lines, "w") as f:
        for row in (GOOD, {**GOOD, "user": "mallory", "sources": 2, "finding_list": []}, {**GOOD, "job_id": 8}):
            f.write(json.dumps(row) + "\n")
    p = call("index", "import", "--database", path, lines)
    is_equal("import: a claim of another user's job is refused, the others are read",
             [p.returncode, p.stdout.split(":")[1], sql(path, "SELECT job_id, user, sources FROM job ORDER BY 1")],
             [1, " 2 rows, 1 refused\n", [(5, "u", 1), (8, "u", 1)]])
    is_true("import: and the reason is given", "rows.jsonl:2: " in p.stderr and "another user" in p.stderr, p.stderr)


# ---- rights

NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]


def public_index():
    """An index that all may read, with jobs of nobody; and the program, in a place where anybody reaches it."""
    os.chmod(TMP, 0o755)
    made = site(600, hostile=False)
    made.users[int(made.weights.argmax())] = "nobody"
    path, rows = make(made)
    os.chmod(os.path.dirname(path), 0o755)
    for name in (path, path + "-wal", path + "-shm"):
        os.chmod(name, 0o644)
    public = os.path.join(TMP, "jobprof")
    if not os.path.exists(public):
        shutil.copy(JOBPROF, public)
        os.chmod(public, 0o755)
    return path, rows, public


def as_nobody(public, *args, wrap=NOBODY):
    return subprocess.run([*wrap, public, *args], capture_output=True, text=True, env=plain_env(TZ="UTC", HOME="/nonexistent"))


def rights():
    if os.geteuid():
        raise Skipped("needs root")
    path, rows, public = public_index()
    own = [r for r in rows if r["user"] == "nobody"]
    p = as_nobody(public, "jobs", "--database", path, "--since", "all", "--all", "--json")
    if p.returncode:
        raise Failed(p.stderr)
    got = json.loads(p.stdout)
    is_equal("nobody sees own jobs alone", [sorted(r["job_id"] for r in got["rows"]), {r["user"] for r in got["rows"]}, got["matching"]],
             [sorted(r["job_id"] for r in own), {"nobody"}, len(own)])
    p = as_nobody(public, "jobs", "--database", path, "--since", "all", "--user", "user2", "--json")
    is_equal("nobody asks for another's jobs and gets none", json.loads(p.stdout)["rows"], [])
    for by, more in (("user", ()), ("project", ()), ("name", ()), ("user", ("--nodes", "1-"))):
        p = as_nobody(public, "usage", "--database", path, "--since", "all", "--all", "--by", by, "--json", *more)
        got = json.loads(p.stdout)
        is_equal("nobody's usage by %s %s is of own jobs" % (by, " ".join(more)),
                 [got["sum"]["jobs"], sum(r["jobs"] for r in got["rows"]), differ(got["sum"]["held_core_s"], total(r["held_core_s"] for r in own))],
                 [len(own), len(own), False])
    p = as_nobody(public, "index", "export", "--database", path)
    is_equal("nobody exports own jobs", {json.loads(line)["user"] for line in p.stdout.splitlines()}, {"nobody"})
    with contextlib.closing(sqlite3.connect(path)) as db:  # open: -wal and -shm stay
        db.execute("UPDATE finding SET rule = 'secret.rule' WHERE rowid = (SELECT min(rowid) FROM finding WHERE job IN (SELECT id FROM job WHERE \"user\" <> 'nobody'))")
        db.commit()
        said = [as_nobody(public, "jobs", "--database", path, "--since", "all", "--finding", rule) for rule in ("secret.rule", "secret.rulf")]
    is_equal("nobody does not learn which rules others' jobs have", [said[0].returncode, said[0].stdout, said[0].stderr.replace("rule:", "rulf:")],
             [2, "", said[1].stderr])
    is_equal("staff does", call("jobs", "--database", path, "--since", "all", "--finding", "secret.rule").returncode, 0)
    staff = ["unshare", "--mount", "sh", "-c", 'cp /etc/group "$0" && echo "jobprof:x:64999:nobody" >> "$0" && mount --bind "$0" /etc/group && exec "$@"',
             os.path.join(TMP, "group"), *NOBODY]
    p = as_nobody(public, "jobs", "--database", path, "--since", "all", "--json", wrap=staff)
    if p.returncode and "mount" in p.stderr:
        skip("a member of the group jobprof sees all", p.stderr)
    else:
        is_equal("a member of the group jobprof sees all", json.loads(p.stdout or "{}").get("matching"), len(rows))
    os.chown(path, 65534, 65534)
    p = as_nobody(public, "jobs", "--database", path, "--since", "all", "--json")
    is_equal("who an index belongs to sees all of it", json.loads(p.stdout or "{}").get("matching"), len(rows))


if __name__ == "__main__":
    run_tests((each_filter, zones, sorts, limits, one_finding, sorted_column, heads_that_fit, whole_numbers, as_sql, as_csv, as_text, exchange, anonymous, hostile_lines, rows_of_other_users, rights))
