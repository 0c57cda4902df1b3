#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What the pages of usage, findings, I/O and digest are made of: histograms, the lost share over time, findings by cost and whose jobs have them,
contacts week by week, jobs by bytes and bandwidth. Every number is a sum over the generated jobs, and what a bar or a cell has is what a
filter finds."""

import collections
import itertools
import sys

import digest
from digest import *
from serve import Server

BINS = {"cpu": ("--cpu-share", "cpu_s", "held_core_s"), "memory": ("--memory-share", "peak_mb", "mem_asked_mb"), "limit": ("--limit-share", "elapsed_s", "limit_s")}
WEEKS = 7 * DAY
NOW = steady_now()


def bin_of(r, name):
    share = quotient(r[BINS[name][1]], r[BINS[name][2]])
    return None if share is None else min(19, int(share * 20))


def histograms_of(rows, options, tz="UTC"):
    out = {}
    for name, (option, _, _) in BINS.items():
        of = chosen_by({k: v for k, v in options.items() if k != option}, tz)
        mine = [(r, bin_of(r, name)) for r in rows if of(r)]
        out[name] = [[math.fsum(r["held_core_s"] for r, b in mine if b == i), math.fsum(r["lost_core_s"] or 0 for r, b in mine if b == i), sum(b == i for _, b in mine)]
                     for i in range(20)]
    return out


def unlike(got, want):
    return [(name, i, g, w) for name in want for i, (g, w) in enumerate(zip(got[name], want[name])) if len(got[name]) != 20 or any(differ(a, b) for a, b in zip(g, w))][:2]


SOME = [{}, {"--cluster": "beta"}, {"--partition": "gpu"}, {"--user": "user1,user2,user3"}, {"--state": "completed"}, {"--cpu-share": "40-60"},
        {"--cpu-share": "40-60", "--limit-share": "0-5"}, {"--memory-share": "95-"}]
WHEN = [{"--since": "all"}, {"--since": "2026-10-05", "--until": "2026-11-03"}, {"--since": "2026-10-05T07:30"}]


def histograms():
    """From the table of sums, where the filter allows that, and from rows."""
    path, rows = index()
    for times, more in itertools.product(WHEN, SOME):
        options = {**times, **more}
        got = as_json("usage", "--histograms", "--database", path, *words_of(options))
        is_equal("usage --histograms %s" % " ".join(words_of(options)), [sorted(got), unlike(got, histograms_of(rows, options))], [sorted(BINS), []])
    by_sql = sql(path, "SELECT bin, sum(core_s), sum(lost_core_s), sum(jobs) FROM hist WHERE quantity = 'cpu' GROUP BY 1 ORDER BY 1")
    got = as_json("usage", "--histograms", "--since", "all", "--database", path)["cpu"]
    is_equal("usage --histograms: as SQL has it", [r for r in by_sql if any(differ(a, b or 0) for a, b in zip(got[r[0]], r[1:]))], [])
    table = from_csv(must("usage", "--histograms", "--csv", "--since", "all", "--database", path))
    is_equal("usage --histograms: as CSV", [len(table), table[0], [float(c) for r in table[1:21] for c in r[2:]] == [float("%.15g" % v) for b in got for v in b]],
             [61, ["quantity", "from", "core_s", "lost_core_s", "jobs"], True])
    lines = must("usage", "--histograms", "--since", "all", "--database", path).splitlines()
    is_true("usage --histograms as text", len(lines) == 1 + 3 * 22 and max(map(len, lines)) <= 80 and all(len(re.findall(r"(?m)^ *%d-%d " % (i, i + 5), "\n".join(lines))) == 3 for i in range(0, 100, 5)), lines)
    is_equal("usage --histograms --io", call("usage", "--histograms", "--io", "--database", path).returncode, 2)


def a_bar_and_its_jobs():
    """The range of each bin finds the jobs that it counts, also those at its very edge."""
    rows = [{"cluster": "c", "job_id": 1 + i, "start": 1793000000 + i, "user": "u", "cpus": 1, "cores": 1.0, "sources": 3, "findings": 0, "elapsed_s": 5 * i, "limit_s": 100, "cpu_s": 0.5 * i} for i in range(1, 25)]
    path = os.path.join(tmpdir("edges"), "index.db")
    with open(path + ".jsonl", "w") as f:
        f.writelines(json.dumps(r) + "\n" for r in rows)
    must("index", "import", "--database", path, path + ".jsonl")
    path_of = {"edges": path, "site": index()[0]}
    for what, where in path_of.items():
        bars = as_json("usage", "--histograms", "--since", "all", "--database", where)
        for name, (option, _, _) in BINS.items():
            found = [as_json("jobs", "--since", "all", "--database", where, option, "95-" if i == 19 else "%d-%d" % (5 * i, 5 * i + 5))["matching"] for i in range(20)]
            is_equal("%s: the jobs of each bar, %s" % (what, name), found, [b[2] for b in bars[name]])
    is_equal("a range to 100 has its end", as_json("jobs", "--since", "all", "--database", path, "--limit-share", "0-100")["matching"], 20)


def over_time():
    """The lost share of each tenth: of whole days where sums answer, else of seconds. Of each month where there are many, in which the first and the last may be
    cut; of more than 31 of each two."""
    path, rows = index()
    for by, (since, until), more in (("project", ("2026-10-05", "2026-11-03"), {}), ("user", ("2026-10-05", "2026-10-09"), {}), ("project", ("2026-10-05T07:30", "2026-11-02T19:00"), {}),
                                     ("name", ("2026-10-05", "2026-11-03"), {}), ("user", ("2026-10-05", "2026-11-03"), {"--state": "completed"}),
                                     ("project", ("2026-01-05", "2026-10-20"), {}), ("user", ("2026-01-05", "2026-11-03"), {"--user": "user1,user2,nosuch"}), ("name", ("2026-04-01", "2026-11-03"), {}),
                                     ("partition", ("2024-01-01", "2026-11-03"), {}), ("state", ("2022-12-31", "2027-01-02"), {})):
        options = {"--since": since, "--until": until, **more}
        got = as_json("usage", "--by", by, "--all", "--database", path, *words_of(options))["rows"]
        begin, end = instant(since, "UTC"), instant(until, "UTC")
        of_days = "T" not in since
        first, length = (int(begin // DAY), int((end - begin) // DAY)) if of_days else (int(begin), int(end - begin))
        n = min(10, length) if of_days else 10
        of_months = of_days and length > 183
        if of_months:
            (y, m), (last_y, last_m) = ([int(w) for w in time.strftime("%Y %m", time.gmtime(s)).split()] for s in (begin, end - 1))
            first, months = y * 12 + m - 1, last_y * 12 + last_m - y * 12 - m + 1
            each = -(-months // 31)
            n, length = -(-months // each), -(-months // each) * each
        lost, held = collections.Counter(), collections.Counter()
        for r in filter(chosen_by(options, "UTC"), rows):
            key = r[{"project": "account"}.get(by, by)] or "", ((r["month"] if of_months else r["day"] if of_days else r["start"]) - first) * n // length
            lost[key] += r["lost_core_s"] or 0
            held[key] += r["held_core_s"] if r["findings"] is not None else 0
        want = {r[by]: [lost[r[by], i] / held[r[by], i] if held[r[by], i] else None for i in range(n)] for r in got}
        bad = [(r[by], g, w) for r in got for g, w in zip(r["lost_share_points"] or [0], want[r[by]]) if differ(g, w, 1e-8)]
        is_equal("usage --by %s %s: the share over time" % (by, " ".join(words_of(options))), [bad[:2], {len(r["lost_share_points"]) for r in got}], [[], {n}])
    got = as_json("usage", "--since", "all", "--database", path)["rows"]
    is_equal("usage --since all: no share over time", {r["lost_share_points"] for r in got}, {None})


# ---- findings

def findings_of(rows, late=()):
    """late: (user, rule) of recent contacts; rule None: of all."""
    out = {}
    for r in rows:
        for f in r["finding_list"] or ():
            jobs, users, projects, cost, hard = out.setdefault(f["id"], (set(), set(), set(), [], []))
            jobs.add((r["cluster"], r["job_id"], r["start"]))
            users.add(r["user"])
            projects.add(r["account"] or "")
            cost.append(f["cost"].get("core_s"))
            hard.append(("note", "warn", "bad").index(f["severity"]))
    made = [{"rule": rule, "severity": ("note", "warn", "bad")[max(hard)], "jobs": len(jobs), "users": len(users), "projects": len(projects), "cost_core_s": total(cost),
             "contacted": sum((u, rule) in late or (u, None) in late for u in users)} for rule, (jobs, users, projects, cost, hard) in out.items()]
    return sorted(made, key=lambda r: (r["cost_core_s"] is None, -(r["cost_core_s"] or 0), r["rule"]))


def findings():
    path, rows = index()
    for options in (*WHEN, {**WHEN[1], "--cluster": "alpha"}, {**WHEN[1], "--project": "@SUM(A1)"}, {**WHEN[1], "--partition": "gpu"}, {**WHEN[0], "--nodes": "2-"}):
        words = words_of(options)
        mine = [r for r in rows if chosen_by(options, "UTC")(r)]
        got, want = as_json("findings", "--database", path, *words), findings_of(mine)
        bad = [d for g, w in zip(got["rows"], want) for d in differences(g, w)]
        s = sums(mine)
        is_equal("findings %s" % " ".join(words), [len(got["rows"]), bad[:3], differences(got["total"], {k: s[k] for k in ("jobs", "held_core_s", "profiled_core_s", "lost_core_s", "lost_gpu_s")})], [len(want), [], []])
        is_equal("findings %s: the dearest is looked into" % " ".join(words), [got["finding"], got["users"] == []], [want[0]["rule"], False])
        series = [math.fsum(r["cost_points"]) - (r["cost_core_s"] or 0) for r in got["rows"] if r["cost_points"]]
        is_true("findings %s: its parts add up" % " ".join(words), max(map(abs, series), default=0) < 1 and (bool(series) == ("all" not in words)), series[:3])
    is_equal("findings: as SQL has it", [r for r in sql(path, "SELECT rule, sum(cost_core_s) FROM finding GROUP BY 1")
                                         if differ(r[1], next(g["cost_core_s"] for g in as_json("findings", "--since", "all", "--database", path)["rows"] if g["rule"] == r[0]))], [])


def whose_jobs():
    """What findings says of a rule is what advice says of the same jobs; the dearest job is that of SQL."""
    path, rows = index()
    for rule in ("cpu.unused", "mem.over", "io.wait"):
        words = ("--finding", rule, "--since", "all", "--all", "--database", path)
        got, want = as_json("findings", *words), as_json("advice", *words)["rows"]
        is_true("findings --finding %s: as advice has it" % rule, got["users"] == want and got["finding"] == rule and got["signatures"] == len(want) > 0, (got["users"][:1], want[:1], got["signatures"]))
        bad = []
        for r in got["users"]:
            of = [(x, f["cost"].get("core_s")) for x in rows if (x["cluster"], x["user"]) == (x["cluster"], r["user"]) for f in x["finding_list"] or () if f["id"] == rule]
            dearest = sql(path, "SELECT j.job_id, j.array_id, j.array_task FROM job j JOIN finding f ON f.job = j.id WHERE j.signature = ? AND f.rule = ? ORDER BY COALESCE(j.disagrees, 0), "
                          "f.cost_core_s DESC NULLS LAST, j.start DESC, j.id DESC LIMIT 1", r["signature"], rule)[0]
            bad += [] if of and r["job"] == ("%d_%d" % dearest[1:] if dearest[2] is not None else "%d" % dearest[0]) else [r]
        is_equal("findings --finding %s: the dearest job of each" % rule, bad[:2], [])
    for word in ("any", "none", "unknown"):
        is_equal("findings --finding %s" % word, call("findings", "--finding", word, "--database", path).returncode, 2)
    text = must("findings", "--finding", "cpu.unused", "--since", "all", "--database", path)
    is_true("findings as text", "\ncpu.unused:\n" in text and "\x1b" not in text and max(map(len, text.splitlines()[:-1])) <= 80 and "jobprof advice --finding cpu.unused --since all" in text.splitlines()[-1], text)


# ---- contacts

def contacts():
    """Of two users: the weeks before and after, who counts as contacted, and what the digest lists."""
    path = os.path.join(tmpdir("contacts"), "index.db")
    at, rows = NOW - 20 * DAY, []
    for i in range(80):
        start = at - 6 * WEEKS + i * 18 * 3600 + 60
        rule, cost = ("cpu.unused", "io.wait")[i % 2], 900.0 + i if start < at else 30.0 + i
        rows.append({"cluster": "c", "job_id": 100 + i, "start": start, "end": start + 3600, "elapsed_s": 3600, "cpus": 4, "cores": 4.0, "user": "u%d" % (i % 4 // 2), "account": "p%d" % (i % 4 // 2), "name": "run_%d" % i,
                     "program": "/opt/a", "nodes": 1, "tasks": 4, "sources": 3, "state": "COMPLETED", "findings": 1, "worst_rule": rule, "cost_core_s": cost, "lost_core_s": cost, "cpu_s": 100.0,
                     "finding_list": [{"id": rule, "severity": "bad", "cost": {"core_s": cost}, "text": "text %d" % i, "remedy": "r", "remedy_kind": "sentence", "where": ""}]})
    rows = [r for r in rows if r["start"] < NOW - 3600]
    with open(path + ".jsonl", "w") as f:
        f.writelines(json.dumps(r) + "\n" for r in rows)
    must("index", "import", "--database", path, path + ".jsonl")
    must("contacted", "u0", "--finding", "cpu.unused", "--ticket", "T1", "--at", str(at), "--database", path)
    must("contacted", "u1", "--ticket", "T2", "--at", str(NOW - 200 * DAY), "--database", path)
    weeks = [None] * 14
    for k in range(14):
        if at + (k - 6) * WEEKS < NOW:
            mine = [r for r in rows if r["user"] == "u0" and (r["start"] - at + 6 * WEEKS) // WEEKS == k]
            weeks[k] = math.fsum(r["cost_core_s"] for r in mine if r["worst_rule"] == "cpu.unused")
    got = as_json("advice", "--database", path)
    is_equal("advice: each week, and none that is to come", got["rows"][0]["weeks"], weeks)
    is_equal("advice: who is asked for", [[r["ticket"] for r in as_json("advice", "--contacts", *w, "--database", path)["rows"]] for w in ((), ("--user", "u0"), ("--project", "p1"), ("--user", "u0", "--project", "p1"))],
             [["T1", "T2"], ["T1"], [], []])
    found = as_json("findings", "--since", "all", "--database", path)
    is_equal("findings: who was written to of late", {r["rule"]: (r["contacted"], r["users"]) for r in found["rows"]}, {"cpu.unused": (1, 2), "io.wait": (0, 2)})
    users = {r["user"]: r for r in as_json("findings", "--finding", "cpu.unused", "--since", "all", "--database", path)["users"]}
    is_equal("findings: the last contact", [(users[u]["ticket"], users[u]["contacted_at"]) for u in ("u0", "u1")], [("T1", at), ("T2", NOW - 200 * DAY)])
    is_equal("findings: the weeks of it", users["u0"]["weeks"], weeks)
    is_equal("findings: what it became", users["u0"]["verdict"], got["rows"][0]["verdict"])
    said = as_json("digest", "--since", "8w", "--database", path)
    is_equal("digest: contacts of 8 weeks", [(c["ticket"], c["weeks"]) for c in said["contacts"]], [("T1", weeks)])
    asked = {(a["user"], a["rule"]): a for a in said["ask"]}
    is_equal("digest: whom to write to", sorted(asked), [("u0", "io.wait"), ("u1", "cpu.unused"), ("u1", "io.wait")])
    dearest = max((r for r in rows if r["user"] == "u1" and r["worst_rule"] == "io.wait"), key=lambda r: r["cost_core_s"])
    is_equal("digest: such as", [asked["u1", "io.wait"][k] for k in ("job", "text", "severity")], [str(dearest["job_id"]), dearest["finding_list"][0]["text"], "bad"])


# ---- jobs by bytes and bandwidth

def planes():
    """Each cell, and that its ranges find its jobs."""
    path, rows = index()
    for options in ({"--since": "all"}, {"--since": "2026-10", "--cluster": "beta"}, {"--since": "all", "--ran": "0s-", "--partition": "gpu"}):
        got = as_json("usage", "--io", "--database", path, *words_of(options))["planes"]
        mine = [r for r in rows if chosen_by({"--ran": "1h-", **options}, "UTC")(r)]
        for name, (a, b) in {"read": ("read_bytes", "read_bw_max"), "written": ("write_bytes", "write_bw_max")}.items():
            want = collections.Counter((math.frexp(r[a])[1] - 1, math.frexp(r[b])[1] - 1) for r in mine if (r[a] or 0) >= 1 and (r[b] or 0) >= 1)
            is_equal("usage --io %s: jobs by what they %s" % (" ".join(words_of(options)), name), {(x, y): n for x, y, n in got[name]}, dict(want))
    cells = as_json("usage", "--io", "--since", "all", "--database", path)["planes"]
    bad = []
    for name, option, rate in (("read", "--read", "--read-rate"), ("written", "--written", "--write-rate")):
        for x, y, n in sorted(cells[name], key=lambda c: -c[2])[:6] + cells[name][:3]:
            found = as_json("jobs", "--since", "all", "--ran", "1h-", option, power_range(x), rate, power_range(y, "/s"), "--database", path)["matching"]
            bad += [] if found == n else [(name, x, y, n, found)]
    is_equal("usage --io: the jobs of a cell", bad, [])


def power_range(i, more=""):
    """As the page links to it: 2^30 to 2^31 is 1GiB-2GiB."""
    word = lambda k: "%d%s%s" % (2 ** (k % 10), ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")[k // 10], more)
    return "%s-%s" % (word(i), word(i + 1))


def bytes_as_ranges():
    path, rows = index()
    for options in ({"--read": "1GiB-"}, {"--read": "0-4096"}, {"--written": "1kB-2MB"}, {"--read-rate": "64KiB/s-1MiB/s"}, {"--write-rate": "1e3-"}, {"--read": "1GB"}, {"--read": "2MB-1MB"}, {"--written": "-5"}, {"--read": "1XB-"}):
        p = call("jobs", "--since", "all", "--json", "--database", path, *words_of(options))
        word = list(options.values())[0]
        if word in ("1e3-", "1GB", "2MB-1MB", "-5", "1XB-"):
            is_true("jobs %s: what a range is" % " ".join(words_of(options)), p.returncode == 2 and "1GiB-2GiB" in p.stderr, p.stderr)
        else:
            want = sum(map(chosen_by(options, "UTC"), rows))
            is_true("jobs %s" % " ".join(words_of(options)), json.loads(p.stdout)["matching"] == want > 0, (p.stdout[:100], want))


def browse(*words):
    if not shutil.which("node") or not os.path.exists(os.environ.get("CHROMIUM", "/usr/bin/chromium")) or not os.path.isdir(os.path.join(ROOT, "tests/web/node_modules/playwright-core")):
        raise Skipped("needs node, chromium and playwright-core: scripts/install-deps test")
    s = Server("--database", index()[0], own=True)
    p = subprocess.run(["node", os.path.join(ROOT, "tests/web/overview.js"), "http://127.0.0.1:%d" % s.port, *words], capture_output=True, text=True, timeout=500)
    print(p.stdout, end="", flush=True)
    is_true("the browser's tests came to their end", p.returncode == 0, p.stderr[-400:])
    is_equal("the server says nothing", s.end(), (0, ""))


def in_a_browser():
    browse()


@in_full
def looks():
    """Each page by day, and by night on a phone."""
    browse("looks")


if __name__ == "__main__":
    run_tests((histograms, a_bar_and_its_jobs, over_time, findings, whose_jobs, contacts, planes, bytes_as_ranges, in_a_browser, looks))
