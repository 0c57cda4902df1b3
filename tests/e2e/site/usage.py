#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Every number of jobprof usage is the sum over the generated jobs: by each group, for filters that sums by day and month
answer and for those that rows do, in three zones, from an index of another zone, too; the tables of sums themselves; and
every number of jobprof issues."""

import contextlib
import itertools
import sys

sys.path.insert(0, sys.path[0] + "/../../lib")
from sitelib import *

GROUPS = {"project": "account", "user": "user", "name": "name", "program": "program", "partition": "partition", "cluster": "cluster",
          "state": "state"}
SUMS = ("jobs", "profiled", "held_core_s", "held_cpu_s", "held_gpu_s", "profiled_core_s", "lost_core_s", "lost_gpu_s", "cpu_s", "energy_j",
        "energy_low_j", "energy_high_j", "findings", "run_s", "footprints", "max_nodes", "max_cores", "max_pending_s",
        "failed", "read_bytes", "write_bytes")
TIMES = [{"--since": "all"}] + [{"--since": a, **({"--until": b} if b else {})} for a, b in (
    ("2026-10", "2026-11"), ("2026-10", None), ("2026-11", None), ("2026-10-31", "2026-11-02"), ("2026-11-01", "2026-11-02"),
    ("2026-10-05", "2026-11-03"), ("2026-10-05T07:30", "2026-10-05T19:00"), ("2026-10-05T07:30", None), ("2026-09", "2026-10-15"), ("2026-09-25", None), ("2026-09-25", "2026-11-12"),
    ("2027-01", None))]
FILTERS = [{}, {"--user": "user1,user2,user3"}, {"--cluster": "beta"}, {"--partition": "gpu"}, {"--project": "@SUM(A1)"},
           {"--project": "<script>alert(1)</script>", "--cluster": "alpha"}, {"--state": "failed,timeout"}, {"--finding": "any"},
           {"--nodes": "2-8"}, {"--name": "_1", "--state": "completed"}, {"--ran": "1h-"}]

_made = {}


def index(tz="UTC"):
    if tz not in _made:
        _made[tz] = make(site(seed=8), tz)
    return _made[tz]


def wanted(rows, options, tz, by, sort="lost_core_s"):
    of = chosen_by(options, tz)
    mine = [r for r in rows if of(r)]
    everything = sums(mine)
    groups = {}
    for r in mine:
        groups.setdefault(r[GROUPS[by]] or "", []).append(r)
    out = [{by: key, **shares(sums(g), everything)} for key, g in groups.items()]
    out.sort(key=lambda s: (s[sort] is None, -(s[sort] or 0), s[by].encode()))
    return out, {by: "all", **shares(dict(everything), everything)}


def near_ties(rows, sort):
    """Rows whose values to be sorted by are equal but for rounding may change places."""
    return sorted(rows, key=lambda r: (r[sort] is None, -round(r[sort] or 0, 3), [v for v in r.values() if isinstance(v, str)]))


def faults(got, want, total_wanted):
    rows, total_got = got["rows"], got["sum"]
    if total_wanted["jobs"] == 0:
        return [d for d in differences(total_got, {"jobs": 0})] + ["rows of nothing"] * len(rows)
    if len(rows) != len(want):
        return ["%d rows, wanted %d" % (len(rows), len(want))]
    bad = ["row %d: %s" % (i, d) for i, (g, w) in enumerate(zip(rows, want)) for d in differences(g, w)]
    return (bad + ["sum: " + d for d in differences(total_got, total_wanted)])[:3]


def ask(path, options, by, *args, tz="UTC"):
    return as_json("usage", "--database", path, "--by", by, "--all", *words_of(options), *args, tz=tz)


def check(tz, by, options, index_tz=None, *args):
    path, rows = index(index_tz or tz)
    want, everything = wanted(rows, options, tz, by)
    got = ask(path, options, by, *args, tz=tz)
    is_equal("usage --by %s %s in %s%s" % (by, " ".join(words_of(options)), tz, " of an index of " + index_tz if index_tz else ""),
             faults(got, want, everything), [])


def each_group():
    for by in GROUPS:
        for options in TIMES[:8:3]:
            check("UTC", by, options)


def each_filter():
    for i, (times, options) in enumerate(itertools.product(TIMES[:8:2], FILTERS)):
        check("UTC", list(GROUPS)[i % 3], {**times, **options})


def zones():
    for tz in ZONES:
        for i, times in enumerate(TIMES):
            check(tz, ("user", "project")[i % 2], times)


def other_zones():
    """Who asks elsewhere means own midnights, which are no midnights of the index."""
    for here, there in itertools.permutations(ZONES, 2):
        for times in TIMES[1:6:2] + TIMES[-2:]:
            check(here, "project", times, there)


def sums_as_rows():
    """A filter that leaves out no job, and that sums do not know, gives the same."""
    path, _ = index()
    for times, by in itertools.product(TIMES[:7], ("project", "user", "partition", "cluster")):
        a, b = ask(path, times, by), ask(path, times, by, "--nodes", "0-")
        bad = [d for x, y in zip(a["rows"] + [a["sum"]], b["rows"] + [b["sum"]]) for d in differences(x, y)]
        is_equal("usage --by %s %s: of sums as of rows" % (by, " ".join(words_of(times))), [len(a["rows"]), bad[:3]], [len(b["rows"]), []])


def sorts():
    path, rows = index()
    for sort in SUMS:
        want, everything = wanted(rows, TIMES[0], "UTC", "user", sort)
        got = ask(path, TIMES[0], "user", "--sort", sort)
        is_equal("usage --sort %s" % sort, faults(got, want, everything), [])
    want, everything = wanted(rows, TIMES[0], "UTC", "user")
    for sort, key in (("-jobs", lambda r: (r["jobs"], r["user"].encode())), ("-held_core_s", lambda r: (r["held_core_s"], r["user"].encode())),
                      ("-lost_share", lambda r: (r["lost_share"] is None, r["lost_share"] or 0, r["user"].encode())), ("-user", lambda r: r["user"].encode())):
        got = ask(path, TIMES[0], "user", "--sort", sort)
        is_equal("usage --sort %s: the smallest first" % sort, faults(got, sorted(want, key=key), everything), [])
        first = as_json("usage", "--database", path, "--since", "all", "--by", "user", "--sort", sort)
        is_equal("usage --sort %s: the first of them" % sort, [first["rows"], first["groups"]], [got["rows"][:25], len(want)])
    got = ask(path, TIMES[0], "user", "--sort", "user")
    is_equal("usage --sort user: by the names", faults(got, sorted(want, key=lambda r: r["user"].encode(), reverse=True), everything), [])
    runs = [r["runs"] for r in as_json("issues", "--database", path, "--since", "all", "--sort", "-runs", "--all")["rows"]]
    is_equal("issues --sort -runs", runs, sorted(runs))
    p = call("usage", "--database", path, "--sort", "lost_core")
    is_equal("usage --sort of nearly a column", [p.returncode, "did you mean lost_core_s" in p.stderr], [2, True])
    unknown = as_json("usage", "--database", path, "--since", "all", "--finding", "unknown", "--by", "user", "--all")
    held = {r["user"]: r["held_core_s"] for r in unknown["rows"]}
    is_equal("usage --finding unknown: by what was held", list(held), sorted(held, key=lambda u: (-held[u], u.encode())))
    is_equal("usage --sort of no column", call("usage", "--database", path, "--sort", "1; DROP TABLE day").returncode, 2)


def as_sql():
    path, rows = index()
    for table in ("day", "month"):
        got = sql(path, 'SELECT "user", sum(jobs), sum(held_core_s), sum(lost_core_s) FROM %s GROUP BY 1' % table)
        want = sql(path, 'SELECT "user", count(*), sum(held_core_s), sum(lost_core_s) FROM job GROUP BY 1')
        bad = [(g, w) for g, w in zip(sorted(got), sorted(want)) if any(differ(a, b) for a, b in zip(g, w))]
        is_equal("the table %s has what SQL sums of jobs" % table, [len(got), bad[:2]], [len(want), []])


# What a person would ask the database.
CORES = "coalesce(cores, cpus)"
OF_SQL = ["count(*)", "count(findings)", "sum(held_core_s)", "sum(held_cpu_s)", "sum(held_gpu_s)", "coalesce(sum(held_core_s) FILTER (WHERE findings NOT NULL), 0)",
          "sum(lost_core_s)", "sum(lost_gpu_s)", "sum(cpu_s)", "sum(energy_j)", "sum(energy_low_j)", "sum(energy_high_j)", "coalesce(sum(findings), 0)",
          "sum(elapsed_s)", "coalesce(sum(has_footprint), 0)", "max(nodes)", "max(%s)" % CORES, "max(start - submit)",
          "count(*) FILTER (WHERE state IN ('FAILED', 'NODE_FAIL', 'OUT_OF_MEMORY'))", "sum(read_bytes)", "sum(write_bytes)"]
RATIO = "sum(%s) FILTER (WHERE %s NOT NULL) / sum(%s) FILTER (WHERE %s NOT NULL)"
ISSUES = {"runs": "count(*)", "ict": "sum(idle_cpu_s)", "icr": RATIO % (("idle_cpu_s", "idle_of_cpu_s") + ("idle_of_cpu_s", "idle_cpu_s")),
          "igt": "sum(idle_gpu_s)", "igr": RATIO % (("idle_gpu_s", "idle_of_gpu_s") + ("idle_of_gpu_s", "idle_gpu_s")),
          "max_ucr": "max(unused_ratio)", "max_cli": "max(cpu_imbalance)", "max_iob": "max(io_blocking)", "max_ioc": "max(io_congestion)",
          "max_ml": "max(memory_leak)", "max_ugr": "max(unused_gpu_ratio)", "max_gli": "max(gpu_imbalance)", "max_so": "max(offloads)"}


def each_number_as_sql():
    """Of usage, issues, and what has no profile."""
    path, _ = index()
    begin, end = (instant(t, "UTC") for t in ("2026-10-05", "2026-11-03"))
    for where, options in (("true", {"--since": "all"}), ("start >= %d AND start < %d" % (begin, end), {"--since": "2026-10-05", "--until": "2026-11-03"}),
                           ("cluster = 'beta' AND nodes >= 2", {"--since": "all", "--cluster": "beta", "--nodes": "2-"})):
        words = " ".join(words_of(options))
        for by, column in GROUPS.items():
            want = {k or "": dict(zip(SUMS, v)) for k, *v in sql(path, 'SELECT "%s", %s FROM job WHERE %s GROUP BY 1' % (column, ", ".join(OF_SQL), where))}
            got = ask(path, options, by)["rows"]
            is_equal("usage --by %s %s: as SQL has it" % (by, words), [len(got), [d for r in got for d in differences(r, want[r[by]])][:3]], [len(want), []])
            want = {k or "": dict(zip(ISSUES, v)) for k, *v in sql(path, 'SELECT "%s", %s FROM job WHERE is_eligible AND %s GROUP BY 1' % (column, ", ".join(ISSUES.values()), where))}
            got = as_json("issues", "--by", by, "--all", "--database", path, *words_of(options))
            is_equal("issues --by %s %s: as SQL has it" % (by, words), [len(got["rows"]), [d for r in got["rows"] for d in differences(r, want[r[by]])][:3]], [len(want), []])
        for verb, among in ((["issues"], "state = 'COMPLETED' AND elapsed_s >= 3600 AND %s >= 2" % CORES), (["usage", "--io"], "elapsed_s >= 3600")):
            held, known = sql(path, "SELECT sum(held_core_s), sum(held_core_s) FILTER (WHERE findings NOT NULL) FROM job WHERE %s AND %s" % (among, where))[0]
            got = as_json(*verb, "--database", path, *words_of(options))["without_profile"]
            text = must(*verb, "--database", path, *words_of(options))
            is_equal("%s %s: what has no profile" % (" ".join(verb), words), [differ(got, 1 - known / held), "\n%s %% of what these jobs held has no profile: " % share(got) in text],
                     [False, True])


def keyed(rows, *names):
    groups = {}
    for r in rows:
        groups.setdefault(tuple(r[n] for n in names), []).append(r)
    return groups


def tables_of_sums():
    for tz in ZONES:
        path, rows = index(tz)
        for table in ("day", "month"):
            keys = (table, "cluster", "user", "account", "partition")
            want = {k: sums(g) for k, g in keyed(rows, *keys).items()}
            got = {r[:5]: dict(zip(SUMS, r[5:])) for r in sql(path, 'SELECT %s, cluster, "user", account, partition, %s FROM %s'
                                                              % (table, ", ".join(SUMS), table))}
            bad = [d for k, w in want.items() for d in differences(got.get(k, {}), {n: w[n] for n in SUMS})]
            is_equal("sums by %s in %s" % (table, tz), [len(got), bad[:3]], [len(want), []])
        rules_and_bins(path, rows, tz)


def nearest_rank(values, part):
    return sorted(values)[max(math.ceil(part * len(values) - 1e-9), 1) - 1]


def of_file_systems(rows):
    """What usage --io says of each file system: those that most was moved to and from first."""
    of = {}
    for r in rows:
        for f in r["file_systems"] or ():
            of.setdefault(f["name"], []).append(f)
    moved = lambda l: math.fsum(f["read_bytes"] + f["write_bytes"] for f in l)
    all_bytes, out = {way: math.fsum(f[way + "_bytes"] for l in of.values() for f in l) for way in ("read", "write")}, []
    for name, l in sorted(of.items(), key=lambda i: -moved(i[1])):
        for way, word in (("read", "read"), ("write", "written")):
            v, bw = (sorted(f["%s_%s" % (way, what)] for f in l) for what in ("bytes", "bw_max"))
            top = v[len(v) - math.ceil(0.2 * len(v) - 1e-9):]
            out.append({"file_system": name, "quantity": word, "jobs": len(v), "p50": nearest_rank(v, 0.5), "p80": nearest_rank(v, 0.8),
                        "p95": nearest_rank(v, 0.95), "most": v[-1], "sum": math.fsum(v), "of_all": math.fsum(v) / all_bytes[way],
                        "top_share": math.fsum(top) / math.fsum(v), "bw_p80": nearest_rank(bw, 0.8), "bw_most": bw[-1]})
    return out


def file_systems():
    path, rows = index()
    for options in ({"--since": "all", "--ran": "0s-"}, {"--since": "2026-10", "--cluster": "beta"}, {"--since": "all", "--partition": "gpu"}):
        of = chosen_by({"--ran": "1h-", **options}, "UTC")
        want = of_file_systems([r for r in rows if of(r)])
        got = as_json("usage", "--io", "--database", path, *words_of(options))["file_systems"]
        is_equal("usage --io %s: file systems" % " ".join(words_of(options)), [len(got), [d for g, w in zip(got, want) for d in differences(g, w)][:3]], [len(want), []])
        cells = from_csv(must("usage", "--io", "--csv", "--database", path, *words_of(options)).split("\n\n")[-1])
        bad = [(c, w) for line, w in zip(cells[1:], want) for key, c in zip(cells[0], line) if differ(c if isinstance(w[key], str) else float(c), w[key])]
        is_equal("usage --io %s: as CSV" % " ".join(words_of(options)), [cells[0], len(cells), bad[:3]], [list(want[0]), len(want) + 1, []])
    got = sql(path, "SELECT fs, sum(f.read_bytes) FROM job_fs f JOIN job j ON j.id = f.job WHERE j.elapsed_s >= 3600 GROUP BY fs")
    want = {r["file_system"]: r["sum"] for r in as_json("usage", "--io", "--since", "all", "--database", path)["file_systems"] if r["quantity"] == "read"}
    is_equal("usage --io: as SQL has it", [k for k, v in got if differ(v, want[k])], [])
    for width in (80, 200):
        lines = must("usage", "--io", "--since", "all", "--database", path, env={"COLUMNS": str(width)}).splitlines()
        is_equal("usage --io: lines of %d columns" % width, [line for line in lines if len(line) > width], [])
        is_true("usage --io: the file systems by name", all(any(line.startswith(n) for line in lines) for n in sitegen.FILE_SYSTEMS), lines)


def tables_of_io():
    """What all jobs move, and what is usual: each number, of jobs of an hour and more."""
    path, rows = index()
    long = [r for r in rows if r["elapsed_s"] >= 3600]
    known = lambda name: sorted(r[name] for r in long if r[name] is not None)
    got, bad = as_json("usage", "--io", "--since", "all", "--database", path), []
    names = {"read": "read_bytes", "written": "write_bytes", "highest bandwidth of reads": "read_bw_max", "highest bandwidth of writes": "write_bw_max"}
    for row, (quantity, name) in zip(got["moved"], names.items()):
        v = known(name)
        top, is_sum = v[len(v) - math.ceil(0.2 * len(v) - 1e-9):], name.endswith("bytes")
        bad += differences(row, {"quantity": quantity, "jobs": len(v), "p50": nearest_rank(v, 0.5), "p80": nearest_rank(v, 0.8), "p95": nearest_rank(v, 0.95),
                                 "most": v[-1], "sum": math.fsum(v) if is_sum else None, "top_share": math.fsum(top) / math.fsum(v) if is_sum else None})
    is_equal("usage --io: what is moved", [len(got["moved"]), bad[:3]], [4, []])
    words = {"I/O intensity": "intensity", "burstiness": "burstiness", "parallel I/O intensity": "parallel"}
    bad = []
    for (word, name), way in itertools.product(words.items(), ("read", "write")):
        row = next(r for r in got["usual"] if r["quantity"] == "%s, %s" % (word, way))
        bad += differences(row, {key: nearest_rank(known("%s_%s_%s" % (way, name, level)), 0.8) for key, level in (("c0", "0"), ("c128k", "128k"), ("c1m", "1m"))})
    is_equal("usage --io: what is usual", [len(got["usual"]), bad[:3]], [6, []])


def of_issues(rows):
    """F. Winkler, 2023, of jobs that are eligible."""
    out = {"runs": len(rows)}
    for total_of, ratio, part, whole in (("ict", "icr", "idle_cpu_s", "idle_of_cpu_s"), ("igt", "igr", "idle_gpu_s", "idle_of_gpu_s")):
        both = [r for r in rows if r[part] is not None and r[whole] is not None]
        out[total_of] = total(r[part] for r in rows)
        out[ratio] = quotient(total(r[part] for r in both), total(r[whole] for r in both))
    for key, name in (("ucr", "unused_ratio"), ("cli", "cpu_imbalance"), ("iob", "io_blocking"), ("ioc", "io_congestion"), ("ml", "memory_leak"),
                      ("ugr", "unused_gpu_ratio"), ("gli", "gpu_imbalance"), ("so", "offloads")):
        out["max_" + key] = highest(r[name] for r in rows)
    return out


def issues():
    path, rows = index()
    eligible = [r for r in rows if r["is_eligible"]]
    for by, options in itertools.product(GROUPS, (TIMES[0], {"--since": "2026-10-05", "--nodes": "2-", "--cluster": "alpha"})):
        mine = [r for r in eligible if chosen_by(options, "UTC")(r)]
        want = {key or "": of_issues(g) for (key,), g in keyed(mine, GROUPS[by]).items()}
        got = as_json("issues", "--by", by, "--all", "--database", path, *words_of(options))
        bad = [d for r in got["rows"] for d in differences(r, want.pop(r[by]))] + differences(got["sum"], of_issues(mine))
        is_equal("issues --by %s %s: each number" % (by, " ".join(words_of(options))), [bad[:3], list(want)], [[], []])
    for width in (80, 200):
        lines = must("issues", "--since", "all", "--database", path, env={"COLUMNS": str(width)}).splitlines()
        is_equal("issues: lines of %d columns" % width, [line for line in lines[:-1] if len(line) > width], [])


def bin_of(part, whole):
    if part is None or not whole or part < 0:
        return None
    return min(19, math.floor(part / whole * 20))


def rules_and_bins(path, rows, tz):
    want = {}
    for r in rows:
        for f in r["finding_list"] or ():
            jobs, cost = want.setdefault((r["day"], r["cluster"], f["id"], r["user"], r["account"]), (set(), []))
            jobs.add((r["job_id"], r["start"]))
            cost.append(f["cost"].get("core_s"))
    got = {r[:5]: r[5:] for r in sql(path, 'SELECT day, cluster, rule, "user", account, jobs, cost_core_s FROM day_rule')}
    bad = [(k, got.get(k)) for k, (jobs, cost) in want.items() if k not in got or got[k][0] != len(jobs) or differ(got[k][1], total(cost))]
    is_equal("findings by day in %s" % tz, [len(got), bad[:2]], [len(want), []])
    bins = {}
    for r in rows:
        for quantity, b in (("cpu", bin_of(r["cpu_s"], r["held_core_s"])), ("mem", bin_of(r["peak_mb"], r["mem_asked_mb"])),
                            ("limit", bin_of(r["elapsed_s"], r["limit_s"])), ("gpu", bin_of(r["gpu_use"], 1))):
            if b is not None:
                bins.setdefault((r["day"], r["cluster"], r["partition"], quantity, b), []).append(r)
    got = {r[:5]: r[5:] for r in sql(path, "SELECT day, cluster, partition, quantity, bin, jobs, core_s FROM hist")}
    bad = [(k, got.get(k)) for k, g in bins.items() if k not in got or got[k][0] != len(g) or differ(got[k][1], total(r["held_core_s"] for r in g))]
    is_equal("distributions by day in %s" % tz, [len(got), bad[:2]], [len(bins), []])


def left(path, condition):
    """What a feed leaves that is killed: rows of these days, and their sums of a moment before. Other sums of
    their months are as they were."""
    with contextlib.closing(sqlite3.connect(path)) as db, db:
        db.execute('INSERT INTO dirty (day, month, cluster, "user", account, partition) SELECT DISTINCT day, month, cluster, "user", account, '
                   "partition FROM job WHERE " + condition)
        db.execute("UPDATE day SET jobs = jobs + 5, max_nodes = NULL WHERE (day, \"user\") IN (SELECT day, \"user\" FROM dirty)")
        db.execute('UPDATE month SET held_core_s = held_core_s * 2 WHERE (month, cluster, "user", account, partition) IN '
                   '(SELECT month, cluster, "user", account, partition FROM dirty)')
        db.execute("DELETE FROM hist WHERE day IN (SELECT day FROM dirty)")
        db.execute("UPDATE day_rule SET jobs = 0 WHERE (day, \"user\") IN (SELECT day, \"user\" FROM dirty)")


def sums_that_are_left():
    """Until the next feed makes them, rows are asked for these days."""
    for name, condition in (("a day", "day = 20747"), ("of some users", "day IN (20700, 20747, 20748) AND \"user\" LIKE '%1'"),
                            ("of all days", "true")):
        path, rows = make(site(jobs=1200, seed=9))
        left(path, condition)
        for i, (times, options) in enumerate(itertools.product(TIMES, ({}, {"--cluster": "alpha"}, {"--user": "user1,user11,user3"}))):
            by = ("user", "project", "partition")[i % 3]
            want, everything = wanted(rows, {**times, **options}, "UTC", by)
            bad = faults(ask(path, {**times, **options}, by), want, everything)
            head = as_json("jobs", "--database", path, *words_of({**times, **options}))
            bad += [head] if head["matching"] != everything["jobs"] or differ(head["held_core_s"] or 0, everything["held_core_s"] or 0) else []
            is_equal("sums left %s: usage --by %s %s" % (name, by, " ".join(words_of({**times, **options}))), bad, [])
        is_equal("sums left %s: check knows that" % name, must("index", "check", "--database", path).splitlines()[-1], "no difference")
        must("index", "scan", tmpdir("empty"), "--database", path)
        is_equal("sums left %s: the next feed makes them" % name, sql(path, "SELECT count(*) FROM dirty"), [(0,)])
        for table in ("day", "month"):
            got = sql(path, 'SELECT "user", sum(jobs), sum(held_core_s), max(max_nodes) FROM %s GROUP BY 1' % table)
            want = sql(path, 'SELECT "user", count(*), sum(held_core_s), max(nodes) FROM job GROUP BY 1')
            is_equal("sums left %s: %s" % (name, table), [(g, w) for g, w in zip(sorted(got), sorted(want)) if any(map(differ, g, w))][:2], [])
        rules_and_bins(path, rows, "UTC")


def as_csv():
    path, rows = index()
    want, _ = wanted(rows, TIMES[0], "UTC", "project")
    head, *lines = from_csv(must("usage", "--database", path, "--since", "all", "--all", "--csv"))
    bad = []
    for line, row in zip(lines, want):
        for key, cell in zip(head, line):
            v = row.get(key)
            if key not in row:
                continue  # money, which has prices in jobprof.conf
            if of_csv(cell) != escaped(v) if isinstance(v, str) else cell != "" if v is None else differ(float(cell), v):
                bad.append("%s: got %r, wanted %r" % (key, cell, v))
    is_equal("usage --csv: each cell", [sorted(set(want[0]) - set(head)), len(lines), bad[:3]], [[], len(want), []])
    is_equal("usage --csv: projects that were formulas are quoted", [c for line in lines for c in line[:1] if c[:1] in tuple("=+-@")], [])


def as_text():
    path, rows = index()
    for by in ("user", "project"):
        want, everything = wanted(rows, TIMES[0], "UTC", by)
        text = must("usage", "--database", path, "--since", "all", "--all", "--by", by, env={"COLUMNS": "400"})
        lines = text.splitlines()
        is_true("usage --by %s as text: the sums are above it" % by, all(t in lines[0] for t in (
            grouped(everything["jobs"]), hours(everything["held_core_s"]), hours(everything["lost_core_s"]))), lines[0])
        begin = next(i for i, line in enumerate(lines) if line.startswith(by))
        bad = []
        for line, s in zip(lines[begin + 1:], want + [everything]):
            texts = [cut(s[by], 24), grouped(s["jobs"]), hours(s["held_core_s"]), hours(s["held_gpu_s"]), hours(s["lost_core_s"]),
                     hours(s["lost_gpu_s"]), grouped(s["findings"]), hours(s["run_s"]), grouped(s["footprints"]), grouped(s["max_nodes"]),
                     grouped(s["max_cores"]), duration(s["max_pending_s"]), grouped(s["failed"]), volume(s["read_bytes"]), volume(s["write_bytes"]), share(s["cpu_share"]), share(s["lost_share"]), share(s["of_all_lost"]),
                     share(s["without_profile"]), number(s["energy_kwh"])]
            bad += [] if [c for c in re.split(r"\s{2,}", line.strip())] == [t.strip() for t in texts] else [(line, texts)]
        is_equal("usage --by %s as text: each number" % by, bad[:2], [])
        is_equal("usage --by %s as text: nothing that a terminal obeys" % by, visible(text.replace("\n", "")), text.replace("\n", ""))
        for width in (80, 200):
            text = must("usage", "--database", path, "--since", "all", "--by", by, env={"COLUMNS": str(width)})
            is_equal("usage as text: lines of %d columns" % width, [line for line in text.splitlines()[:-1] if len(line) > width], [])


def last_command(text):
    """The words of the last line, as a shell reads them."""
    return subprocess.run(["bash", "-c", "printf '%s\\0' " + text.splitlines()[-1]], capture_output=True, text=True, check=True).stdout.split("\0")[:-1]


def every_last_line():
    """Pasted into a shell it gives rows, of those jobs alone that the question was about."""
    path, _ = index()
    more = {"--cluster": "alpha", "--until": "2026-11-12", "--nodes": "1-64"}
    questions = [["usage", "--by", by] for by in GROUPS] + [["issues"], ["issues", "--by", "name"], ["issues", "--by", "signature"], ["digest"]]
    for question in questions:
        words = [*question, "--database", path, "--since", "2026-10-01"]
        words += words_of(more)
        command = last_command(must(*words))
        got = as_json(*command[1:], "--all")
        is_true("%s: its last line gives rows" % " ".join(question), got["rows"], command)
        kept = {w: command[command.index(w) + 1] for w in (*more, "--since") if w in command}
        is_equal("%s: and keeps what was asked" % " ".join(question), kept,
                 {"--since": "2026-10-01", **more, **({"--cluster": kept["--cluster"]} if "cluster" in question else {})})
    p = subprocess.run(["bash", "-c", must("jobs", "--database", path, "--since", "all").splitlines()[-1].replace("jobprof", JOBPROF, 1)],
                       capture_output=True, text=True, env=plain_env(TZ="UTC"))
    is_true("jobs: its last line says what the first job did", p.returncode == 0 and "Job ID" in p.stdout, p.stdout + p.stderr)


def before(options, tz):
    """The time before that of the options: as many days where they are of days, else as many seconds."""
    zone = zoneinfo.ZoneInfo(tz)
    begin, end = (datetime.datetime.fromtimestamp(instant(options[o], tz), zone) for o in ("--since", "--until"))
    if begin.hour + begin.minute or end.hour + end.minute:
        return begin.timestamp() - (end.timestamp() - begin.timestamp()), begin.timestamp()
    days = (end.date() - begin.date()).days
    return datetime.datetime.combine(begin.date() - datetime.timedelta(days), datetime.time(), zone).timestamp(), begin.timestamp()


def trends():
    """Beside each row what the same user, project or program held and lost as long a time before."""
    for tz, by, options in (("UTC", "project", {}), ("America/New_York", "user", {}), ("UTC", "name", {}), ("UTC", "program", {"--state": "completed"}),
                            ("UTC", "user", {"--nodes": "2-"}), ("Asia/Kolkata", "partition", {"--cluster": "beta"})):
        path, rows = index(tz)
        for begin, end in (("2026-10-28", "2026-11-04"), ("2026-10", "2026-11"), ("2026-10-05T07:30", "2026-10-07T19:00")):
            options = {**options, "--since": begin, "--until": end}
            first, last = before(options, tz)
            then = chosen_by({k: v for k, v in options.items() if k not in ("--since", "--until")}, tz)
            groups = keyed([{**r, "program": r["program"] or ""} for r in rows if then(r) and first <= r["start"] < last], GROUPS[by])
            for limit in ((), ("--all",)):
                got, bad = as_json("usage", "--database", path, "--by", by, *words_of(options), *limit, tz=tz), []
                for row in [*got["rows"], got["sum"]]:
                    was = sums(groups.get((row[by],), []) if row is not got["sum"] else [r for g in groups.values() for r in g])
                    want = {"jobs_before": was["jobs"], **{k + "_before": was[k] for k in ("held_core_s", "profiled_core_s", "lost_core_s")}}
                    want["trend"] = None
                    if not was["jobs"]:
                        want = dict.fromkeys(want)
                    elif was["lost_core_s"] is not None and row["lost_core_s"] is not None:
                        want["trend"] = row["lost_core_s"] / row["profiled_core_s"] - was["lost_core_s"] / was["profiled_core_s"]
                    bad += differences(row, want)
                is_equal("usage --by %s %s %s in %s: the time before" % (by, " ".join(words_of(options)), " ".join(limit), tz),
                         [bool(got["rows"]), bad[:3]], [True, []])
    path, rows = index()
    of_days = {"--since": "2026-10-28", "--until": "2026-11-04"}
    is_true("usage as text: the trend, and what it is", all(w in must("usage", "--database", path, *words_of(of_days), env={"COLUMNS": "200"}) for w in ("  trend  ", "trend: by how")), "")
    is_true("usage of all times: there is none", "trend" not in must("usage", "--database", path, "--since", "all"), "")
    text = must("usage", "--database", path, "--since", "2026-09-01", "--until", "2026-10-20")
    is_true("usage: none where there were no jobs before", "trend  " not in text, text)


def next_step():
    """The last line is a command that looks into the first row, as a shell reads it."""
    path, rows = index()
    bad = []
    for project in {r["account"] for r in rows}:
        text = must("usage", "--database", path, "--since", "all", "--by", "project")
        break
    words = last_command(text)
    want, _ = wanted(rows, TIMES[0], "UTC", "project")
    is_equal("usage: the command for the first row", words, ["jobprof", "usage", "--project", want[0]["project"], "--by", "user", "--since", "all",
                                                             "--database", path])
    got = as_json(*words[1:])
    is_equal("usage: that command's sum is the row", differences(got["sum"], {k: want[0][k] for k in SUMS}), bad)


def row_named(rows, by, word):
    return next(r for r in rows if r[by] == word)


def last_lines_fit():
    """The last line is about the jobs of the row, no more and no fewer; of issues about those that its table is of, as far as there are options."""
    path, rows = index()
    for by, options in itertools.product(GROUPS, ({"--since": "all"}, {"--since": "2026-10", "--until": "2026-11", "--finding": "any"})):
        words = ["usage", "--by", by, "--database", path, *words_of(options)]
        command, table = last_command(must(*words)), as_json(*words)["rows"]
        word = command[command.index("--" + by) + 1]
        if by == "state" and any(r["state"].startswith(word + " ") for r in rows):
            continue  # states are given by how they begin
        is_equal("usage --by %s %s: whole names in the last line" % (by, " ".join(words_of(options))), word[0] == "=", by in ("name", "program"))
        got = as_json(*command[1:])
        row = row_named(table, by, word[1:] if by in ("name", "program") else word)
        is_equal("usage --by %s %s: the last line is about its jobs" % (by, " ".join(words_of(options))),
                 got["matching"] if "matching" in got else got["sum"]["jobs"], row["jobs"])
    for by, more in itertools.product(("name", "program", "signature", "user"), ({}, {"--ran": "10m-9h"}, {"--ran": "2h-"}, {"--state": "completed,failed"})):
        words = ["issues", "--by", by, "--database", path, "--since", "all", *words_of(more)]
        text = must(*words)
        command, table = last_command(text), as_json(*words)["rows"]
        word = command[command.index("--" + by) + 1]
        row = row_named(table, by, word[1:] if by in ("name", "program") else word)
        if by == "user":
            is_equal("issues --by user %s: and then a table of these" % more, as_json(*command[1:])["sum"]["runs"], row["runs"])
            continue
        least, most = spans(more.get("--ran", "1h-"))
        sought = sql(path, "SELECT cluster, job_id, start FROM job WHERE %s = ?" % by, row[by])
        among_these = [r for r in rows if (r["cluster"], r["job_id"], r["start"]) in sought and r["state"] == "COMPLETED" and max(least, 3600) <= r["elapsed_s"] <= most]
        is_equal("issues --by %s %s: the last line has its conditions" % (by, more), as_json(*command[1:])["matching"], len(among_these))
        is_true("issues --by %s %s: and what it has not is said" % (by, more), "among jobs of one core or without a profile:" in text.splitlines()[-2] and
                len(among_these) >= row["runs"], text.splitlines()[-2:])


def sorts_here():
    """By columns that the database does not have: the same rows as of all, in that order."""
    path, _ = index()
    for by, options in (("user", {"--since": "2026-10-20", "--until": "2026-11-01"}), ("name", {"--since": "2026-10-20", "--until": "2026-11-01"}),
                        ("project", {"--since": "2026-10-05", "--nodes": "1-"})):
        every = ask(path, options, by)
        for sort in ("cpu_share", "lost_share", "trend", "of_all_lost", "without_profile", "energy_kwh", "jobs_before", "held_core_s_before", "lost_core_s_before",
                     "money_held", "co2_kg", "failed", "read_bytes", "write_bytes", "finding_core_s"):
            want = sorted(every["rows"], key=lambda r: (r[sort] is None, -(r[sort] or 0), r[by].encode()))
            got, first = ask(path, options, by, "--sort", sort), as_json("usage", "--database", path, "--by", by, *words_of(options), "--sort", sort)
            is_equal("usage --by %s --sort %s" % (by, sort), [len(got["rows"]), [d for g, w in zip(got["rows"], want) for d in differences(g, w)][:2],
                                                             len(first["rows"]), [d for g, w in zip(first["rows"], want) for d in differences(g, w)][:2],
                                                             differences(first["sum"], every["sum"])],
                     [len(want), [], min(25, len(want)), [], []])
    heads = {"cpu_share": "CPU%", "trend": "trend", "energy_j": "energy J", "findings": "findings", "read_bytes": "read", "held_cpu_s": "held CPU-h", "lost_core_s_before": "lost before"}
    for sort, head in heads.items():
        text = must("usage", "--database", path, "--since", "2026-10-20", "--until", "2026-11-01", "--sort", sort, env={"COLUMNS": "60"})
        is_true("usage --sort %s: is a column however narrow" % sort, any(re.search(r"\s%s(\s|$)" % re.escape(head), x) for x in text.splitlines() if x.startswith("project")), text)


def beside_sums():
    """Failures, bytes, and what one finding cost, by which rows then are sorted."""
    path, rows = index()
    rules = sorted({f["id"] for r in rows for f in r["finding_list"] or ()})[::4]
    for by, options in [("user", {"--since": "all"}), ("project", {"--since": "2026-10", "--until": "2026-11"})] + [
            (list(GROUPS)[i % 4], {"--since": "all", "--finding": rule}) for i, rule in enumerate(rules)]:
        rule, of = options.get("--finding"), chosen_by(options, "UTC")
        mine, want = [r for r in rows if of(r)], {}
        for key, g in [*keyed([{**r, "program": r["program"] or "", "name": r["name"] or ""} for r in mine], GROUPS[by]).items(), (None, mine)]:
            want[key and key[0]] = {"failed": sum((r["state"] or "").startswith(FAILED) for r in g), "read_bytes": total(r["read_bytes"] for r in g),
                                    "write_bytes": total(r["write_bytes"] for r in g), "finding_core_s": total(rule_cost(r, rule) for r in g), "jobs": len(g)}
        got = ask(path, options, by)
        bad = [d for r in got["rows"] for d in differences(r, want[r[by]])] + differences(got["sum"], want[None])
        is_equal("usage --by %s %s: failures, bytes, cost" % (by, " ".join(words_of(options))), [len(got["rows"]), bad[:3]], [len(want) - 1, []])
        if rule:
            costs = [r["finding_core_s"] for r in got["rows"] if r["finding_core_s"] is not None]
            is_equal("usage %s: the dearest first" % rule, costs, sorted(costs, reverse=True))
            text = must("usage", "--database", path, "--by", by, *words_of(options))
            is_true("usage %s as text: the head and the column" % rule, not costs or ", of which %s %s\n" % (rule, hours(want[None]["finding_core_s"])) in text and
                    any(x.startswith(by) and x.split()[-1] == cut(rule, 22) for x in text.splitlines()), text)


def nodes_of(rows):
    """Jobs by the node and its cluster, each with its part; all of a job in no node where none is known."""
    of = {}
    for r in rows:
        for node in r["node_names"] or ("",):
            of.setdefault((node, r["cluster"]), []).append((r, r["nodes"] or 1 if r["node_names"] else 1))
    return of


def part(jobs, name):
    return total(r[name] / n if r[name] is not None else None for r, n in jobs)


def node_faults(got, want, mine):
    bad = []
    for row in got["rows"]:
        g = want[row["node"], row["cluster"]]
        bad += differences(row, {"jobs": len(g), "failed": sum((r["state"] or "").startswith(FAILED) for r, _ in g), "run_s": sum(r["elapsed_s"] for r, _ in g),
                                 "profiled": sum(r["findings"] is not None for r, _ in g),
                                 **{k: part(g, k) for k in ("held_core_s", "lost_core_s", "cpu_s", "energy_j", "read_bytes", "write_bytes", "held_gpu_s")}})
    everything = sums(mine)
    return bad + differences(got["sum"], {k: everything[k] for k in SUMS}) + differences(got["sum"], {"failed": sum((r["state"] or "").startswith(FAILED) for r in mine)})


def by_node():
    """A job is in the row of each of its nodes, with its part; nodes of one name in two clusters are two."""
    path, rows = index()
    for options in ({"--since": "all"}, {"--since": "2026-10", "--until": "2026-11", "--cluster": "beta"}, {"--since": "all", "--state": "failed"}):
        of = chosen_by(options, "UTC")
        mine = [r for r in rows if of(r)]
        want, got = nodes_of(mine), ask(path, options, "node")
        is_equal("usage --by node %s" % " ".join(words_of(options)), [len(got["rows"]), got["groups"], node_faults(got, want, mine)[:3]], [len(want), len(want), []])
        is_equal("usage --by node %s: the sum's cluster, where it is one" % " ".join(words_of(options)), got["sum"]["cluster"], options.get("--cluster"))
        known = math.fsum(r["held_core_s"] * len(r["node_names"] or ()) / r["nodes"] if r["node_names"] else r["held_core_s"] for r in mine)
        is_true("usage --by node %s: parts add up, those in no known node, too" % " ".join(words_of(options)), not differ(math.fsum(r["held_core_s"] for r in got["rows"]), known), known)
    every = ask(path, {"--since": "all"}, "node")
    names = [r["node"] for r in every["rows"]]
    is_true("usage --by node: some are of both clusters, and some jobs have no known node", len(names) > len(set(names)) and "" in names, len(names))
    text = must("usage", "--database", path, "--since", "all", "--by", "node")
    head = next(x for x in text.splitlines() if x.startswith("node "))
    is_true("usage --by node as text: failures are a column", " failed" in head and "failed: jobs" in text, text)
    is_equal("usage --by node as text: so is the cluster, where there are several", 
             [head.split()[1], [x.split()[1] for x in must("usage", "--database", path, "--since", "all", "--by", "node", "--cluster", "beta").splitlines() if x.startswith("node ")]],
             ["cluster", ["jobs"]])
    lines = from_csv(must("usage", "--database", path, "--since", "all", "--by", "node", "--all", "--csv"))
    is_equal("usage --by node as CSV", [lines[0][:3], [line[:3] for line in lines[1:]]], [["node", "cluster", "jobs"], [[r["node"], r["cluster"], str(r["jobs"])] for r in every["rows"]]])
    asked_nodes(path, rows)
    sorted_nodes(path, every)
    of_issues_by_node(path, rows)


def asked_nodes(path, rows):
    """Of the nodes asked for alone, and the last line is about the jobs of the first row."""
    options = {"--since": "all", "--node": "n[1-3],n50"}
    mine = [r for r in rows if chosen_by(options, "UTC")(r)]
    want = {k: g for k, g in nodes_of(mine).items() if k[0] in hosts(options["--node"])}
    got = ask(path, options, "node")
    is_equal("usage --by node %s: these alone" % " ".join(words_of(options)), [len(got["rows"]), node_faults(got, want, mine)[:3]], [len(want), []])
    is_true("usage --by node --node as text: what the last row is", "all: these jobs on all of their nodes." in must("usage", "--database", path, "--by", "node", *words_of(options)).replace("\n", " "), "")
    for verb, key, more in itertools.product(("usage", "issues"), ("jobs",), ({"--since": "all"}, options, {"--since": "2026-10", "--until": "2026-11", "--cluster": "beta,alpha"})):
        words = [verb, "--by", "node", "--database", path, *words_of(more)]
        text, table = must(*words), as_json(*words)["rows"]
        command, first = last_command(text), next(r for r in table if r["node"])
        is_equal("%s: the last line names the node and its cluster" % " ".join(words[:3] + words_of(more)), {w: command[command.index(w) + 1] for w in ("--node", "--cluster")},
                 {"--node": first["node"], "--cluster": first["cluster"]})
        if verb == "usage":
            is_equal("usage --by node %s: and gives the row's jobs" % " ".join(words_of(more)), as_json(*command[1:])["matching"], first[key])


def sorted_nodes(path, every):
    for sort, key, up in (("cluster", lambda r: r["cluster"], False), ("-cluster", lambda r: r["cluster"], True), ("-node", lambda r: (r["node"], r["cluster"]), True)):
        got = as_json("usage", "--database", path, "--since", "all", "--by", "node", "--sort", sort)
        by_name = sorted(every["rows"], key=lambda r: (r["node"], r["cluster"]))
        want = sorted(by_name, key=key, reverse=not up)
        is_equal("usage --by node --sort %s" % sort, [(r["node"], r["cluster"]) for r in got["rows"]], [(r["node"], r["cluster"]) for r in want[:25]])


def of_issues_by_node(path, rows):
    want = nodes_of([r for r in rows if r["is_eligible"]])
    got = as_json("issues", "--by", "node", "--all", "--database", path, "--since", "all")
    bad = [d for r in got["rows"] for d in differences(r, {"runs": len(want[r["node"], r["cluster"]]), "ict": part(want[r["node"], r["cluster"]], "idle_cpu_s"),
                                                           "max_ucr": highest(j["unused_ratio"] for j, _ in want[r["node"], r["cluster"]])})]
    is_equal("issues --by node", [len(got["rows"]), bad[:3]], [len(want), []])


def how_many():
    """Where not all rows are printed the last lines say of how many these are; a row without a name is said to be so."""
    path, rows = index()
    for words, n in ((["usage", "--by", "user"], len({r["user"] for r in rows})), (["usage", "--by", "name"], len({r["name"] or "" for r in rows})),
                     (["usage", "--by", "node"], len(nodes_of(rows))), (["issues", "--by", "user"], len({r["user"] for r in rows if r["is_eligible"]})),
                     (["usage", "--by", "cluster"], 2)):
        text = must(*words, "--database", path, "--since", "all")
        got = as_json(*words, "--database", path, "--since", "all")
        said = re.findall(r"^([\d,]+) of ([\d,]+); --all prints all\.", text, re.M)
        is_equal("%s: of how many rows" % " ".join(words), [said, got["groups"], len(got["rows"])], [[("25", grouped(n))] if n > 25 else [], n, min(n, 25)])
    text = must("usage", "--database", path, "--since", "all", "--by", "program")
    is_true("usage --by program: of jobs without one", re.search(r"^not known +%s " % grouped(sum(not r["program"] for r in rows)), text, re.M), text)
    is_equal("usage --by program: JSON has no name there", [r["jobs"] for r in as_json("usage", "--database", path, "--since", "all", "--by", "program")["rows"] if r["program"] == ""],
             [sum(not r["program"] for r in rows)])
    text = must("issues", "--database", path, "--since", "all", "--name", "no such name")
    is_equal("issues of no jobs", " ".join(text.split()), "0 jobs that completed and ran an hour or more on two cores or more, of which profiles are known")


def legends():
    """Of the columns that are shown, and of no others."""
    path, _ = index()
    for width in (40, 60, 80, 120, 200):
        for words in (["issues", "--since", "all"], ["usage", "--since", "2026-10-20", "--until", "2026-11-01"]):
            text = must(*words, "--database", path, env={"COLUMNS": str(width)})
            head = next(x for x in text.splitlines() if x.startswith("project"))
            note = text[text.index("\n\n", text.index(head)):]
            names = {n: n for n in ("ICT", "ICR", "UCR", "CLI", "IOB", "IOC", "ML", "IGT", "IGR", "UGR", "GLI", "SO")} if words[0] == "issues" else {"trend": "trend:"}
            is_equal("%s: what it explains in %d columns" % (words[0], width), {n for n, sign in names.items() if re.search(r"\b%s" % sign, note)},
                     {n for n in names if re.search(r"\b%s\b" % n, head)})
            is_equal("%s: no line of the legend is longer than 80" % words[0], [x for x in note.splitlines()[:-1] if len(x) > 80], [])
    head = must("issues", "--database", path, "--since", "2026-10").splitlines()[0]
    is_true("issues: of how many jobs, and since when", head.startswith("%s jobs since 2026-10 that completed" % grouped(as_json("issues", "--database", path, "--since", "2026-10")["sum"]["runs"])), head)
    for words, want in (([], "I/O of jobs that ran 1 h or more."), (["--ran", "0s-"], "I/O of jobs."), (["--ran", "30m-2h"], "I/O of jobs that ran 0.5 to 2 h.")):
        is_equal("usage --io %s: of which jobs" % " ".join(words), must("usage", "--io", "--database", path, "--since", "all", *words).splitlines()[0], want)


def postgresql():
    """The same lines in a database of a server: the same sums and lists, in each form."""
    from postgreslib import Server
    server = Server()
    path, rows = index()
    where = server.address()
    lines = os.path.join(os.path.dirname(path), "rows.jsonl")
    must("index", "import", "--database", where, lines)
    for by, options in itertools.product(("user", "project", "name"), ({}, {"--state": "failed"}, {"--since": "2026-09-25", "--until": "2026-11-12"})):
        check_at(where, rows, by, {"--since": "all", **options})
    a, b = (as_json("usage", "--io", "--since", "all", "--database", w)["file_systems"] for w in (path, where))
    is_equal("usage --io: file systems of both engines", [len(a), [d for x, y in zip(a, b) for d in differences(x, y)]], [len(b), []])
    for by, options in (("node", {}), ("user", {"--finding": "mem.over"}), ("project", {})):
        a, b = (ask(w, {"--since": "all", **options}, by, "--sort", "read_bytes") for w in (path, where))
        is_equal("usage --by %s %s: of both engines" % (by, options), [len(a["rows"]), [d for x, y in zip(near_ties(a["rows"], "read_bytes"), near_ties(b["rows"], "read_bytes")) for d in differences(x, y)][:2]], [len(b["rows"]), []])
    for words in (["jobs"], ["jobs", "--finding", "mem.over"], ["jobs", "--finding", "mem.over", "--sort", "-start"], ["jobs", "--sort", "start"], ["jobs", "--finding", "any", "--sort", "-held_core_s"], ["jobs", "--name", "\\off"]):
        a, b = (as_json(*words, "--since", "all", "--all", "--database", w) for w in (path, where))
        is_equal("%s: of both engines" % " ".join(words), [d for x, y in zip(a["rows"], b["rows"]) for d in differences(x, y)][:3], [])
    is_equal("index check of PostgreSQL", must("index", "check", "--database", where).splitlines()[-1], "no difference")
    is_true("export of both engines: the same lines", sorted(must("index", "export", "--database", path).splitlines()) ==
            sorted(must("index", "export", "--database", where).splitlines()), "they differ")


def check_at(where, rows, by, options):
    want, everything = wanted(rows, options, "UTC", by)
    is_equal("usage --by %s %s of PostgreSQL" % (by, " ".join(words_of(options))), faults(ask(where, options, by), want, everything), [])


if __name__ == "__main__":
    run_tests((each_group, each_filter, zones, other_zones, sums_as_rows, sorts, as_sql, each_number_as_sql, tables_of_sums, sums_that_are_left, file_systems, tables_of_io, issues, as_csv, as_text, next_step, every_last_line, last_lines_fit, sorts_here, beside_sums, by_node, how_many, legends, trends, postgresql))
