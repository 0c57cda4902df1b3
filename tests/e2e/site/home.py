#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""apps, usage --by day, jobs --limit and its money, @me, when the index read last; and the page of a user that is made of them: each
number against SQL and python's own medians over jobs that run again and again."""

import functools
import statistics
import sys

sys.path.insert(0, sys.path[0] + "/../../lib")
import appsite
from digest import PRICES, money, with_prices
from serve import OTHER, Server, close, data_of
from sitelib import *

NOW = steady_now() // 3600 * 3600
STATES = dict(zip(appsite.SHARES, ("own code", "kernel", "other programs", "CPU quota", "wait for CPU", "wait for disk", "asleep", "not used")))
RECENT, BEFORE, POINTS = 8, 5, 60


@functools.cache
def made():
    d = tmpdir("home")
    path, lines = os.path.join(d, "index.db"), os.path.join(d, "rows.jsonl")
    with open(lines, "w") as f:
        for r in appsite.Jobs(["nobody", "u0417", "zz_other"], NOW).rows():
            f.write(json.dumps(r) + "\n")
    must("index", "import", "--database", path, lines)
    os.chmod(TMP, 0o755)
    os.chmod(d, 0o755)
    os.chmod(path, 0o644)
    return path


def rows_of(path, where="true", *args):
    db = sqlite3.connect("file:%s?mode=ro" % path, uri=True)
    db.row_factory = sqlite3.Row
    out = [dict(r) for r in db.execute("SELECT * FROM job WHERE %s ORDER BY signature, start, id" % where, args)]
    db.close()
    return out


def of_runs(before, recent):
    """What changed, by python's medians."""
    out = {"median_s": None, "recent_s": statistics.median(r["elapsed_s"] for r in recent) if recent else None, "trend": "too few runs", "change": None, "why": None, "why_s": None}
    if len(before) < BEFORE:
        return out
    a, b = statistics.median(r["elapsed_s"] for r in before), out["recent_s"]
    mad = statistics.median(abs(r["elapsed_s"] - a) for r in before)
    out.update(median_s=a, change=b / a - 1, trend="steady")
    if abs(b - a) > 0.05 * a and abs(b - a) > 3 * mad:
        out["trend"] = "slower" if b > a else "faster"
        mean = lambda rows, k: statistics.fmean(r[k] for r in rows if r[k] is not None)
        more = {STATES[k]: b * mean(recent, k) - a * mean(before, k) for k in STATES if all(any(r[k] is not None for r in rows) for rows in (before, recent))}
        out["why"] = (max if b > a else min)(more, key=lambda k: more[k]) if more else None
        out["why_s"] = more.get(out["why"])
    return out


def app(jobs):
    runs = [r for r in jobs if r["state"] in (None, "COMPLETED") and (r["elapsed_s"] or 0) > 0]
    recent, before = runs[-RECENT:], runs[:-RECENT]
    last, times = jobs[-1], sorted(r["elapsed_s"] for r in runs)
    lost = [r for r in jobs if r["lost_core_s"] is not None]
    peaks = [p for p in (r["own_peak_mb"] if r["own_peak_mb"] is not None else r["peak_mb"] for r in jobs) if p is not None]
    held = total(r["held_core_s"] for r in lost)
    return {"signature": last["signature"], "user": last["user"], "name": last["name"], "program": last["program"], "nodes": last["nodes"], "gpus": last["gpus"], "limit_s": last["limit_s"],
            "mem_asked_mb": last["mem_asked_mb"], "jobs": len(jobs), "completed": len(runs), **of_runs(before, recent), "p95_s": times[math.ceil(0.95 * len(times)) - 1] if times else None,
            "peak_mb": max(peaks) if peaks else None, "held_core_s": total(r["held_core_s"] for r in jobs), "lost_core_s": total(r["lost_core_s"] for r in lost),
            "lost_share": total(r["lost_core_s"] for r in lost) / held if held else None, "last": last["start"], "points": [[r["start"], r["elapsed_s"], r["job_id"]] for r in runs[-POINTS:]]}


def apps_of(path, where="true", *args):
    groups = {}
    for r in rows_of(path, "signature IS NOT NULL AND " + where, *args):
        groups.setdefault(r["signature"], []).append(r)
    return {k: app(v) for k, v in groups.items()}


def check_apps(title, path, words, where="true", *args):
    got, want = as_json("apps", "--database", path, "--all", *words), apps_of(path, where, *args)
    is_equal("apps %s: as many" % title, (got["matching"], len(got["rows"])), (len(want), len(want)))
    bad = [(r["signature"], d) for r in got["rows"] for d in differences(r, want[r["signature"]])]
    is_equal("apps %s: each number is python's" % title, bad[:3], [])
    held = [r["held_core_s"] or -1 for r in got["rows"]]
    is_equal("apps %s: what held most is first" % title, held, sorted(held, reverse=True))
    return got["rows"]


def applications():
    rows = check_apps("of a user", made(), ["--user", "u0417", "--since", "all"], '"user" = ?', "u0417")
    is_equal("apps: what became slower, and by what", [(r["trend"], r["why"]) for r in rows if r["program"].endswith("wrf.exe")], [("slower", "wait for disk")])
    is_equal("apps: of the others nothing did", {r["trend"] for r in rows if not r["program"].endswith("wrf.exe")}, {"steady"})
    slow = next(r for r in rows if r["trend"] == "slower")
    of = {r["job_id"]: r["elapsed_s"] for r in rows_of(made())}
    is_true("apps: the jobs to compare are typical", abs(of[slow["before_job"]] / slow["median_s"] - 1) < 0.05 and abs(of[slow["recent_job"]] / slow["recent_s"] - 1) < 0.05, slow)
    path, _ = make(site())
    check_apps("of a hostile site", path, ["--since", "all"])
    check_apps("of some of its jobs", path, ["--since", "all", "--state", "failed,completed", "--nodes", "2-"], "state IN ('FAILED', 'COMPLETED') AND nodes >= 2")
    text = must("apps", "--database", path, "--since", "all", "--user", "user1", env={"COLUMNS": "80"})
    is_equal("apps as text: within the terminal", [line for line in text.splitlines() if len(line) > 80], [])
    is_equal("apps as CSV: a row each", len(from_csv(must("apps", "--database", path, "--since", "all", "--all", "--csv"))) - 1, len(apps_of(path)))
    for column, up in (("jobs", False), ("jobs", True), ("recent_s", False), ("name", True)):
        got = [r[column] for r in as_json("apps", "--database", path, "--since", "all", "--all", "--sort", "-" * up + column)["rows"]]
        known = [v.encode() if isinstance(v, str) else v for v in got if v is not None]
        is_true("apps --sort %s%s" % ("-" * up, column), known == sorted(known, reverse=not up) and None not in got[:len(known)], got[:5])
    is_equal("apps --sort of no column", call("apps", "--database", path, "--sort", "nope").returncode, 2)


def days():
    """From sums of days, from rows where a filter needs them, and where sums are not made yet; in a zone of its own."""
    for tz in ("UTC", "America/New_York"):
        path, rows = make(site(), tz)
        for words, where in (([], "true"), (["--user", "user3"], "\"user\" = 'user3'"), (["--cluster", "beta", "--since", "2026-10-03"], "cluster = 'beta' AND start >= %d" % instant("2026-10-03", tz)), (["--nodes", "2-"], "nodes >= 2")):
            got = as_json("usage", "--database", path, "--since", "all", *words, "--by", "day", "--all", tz=tz)
            want = {datetime.date.fromordinal(719163 + d).isoformat(): (n, held, lost, j) for d, n, held, lost, j in sql(
                path, "SELECT day, count(*), sum(held_core_s), sum(lost_core_s), sum(energy_j) FROM job WHERE %s GROUP BY day" % where)}
            title = "usage --by day %s, %s" % (" ".join(words), tz)
            is_equal(title + ": the newest first", [r["day"] for r in got["rows"]], sorted(want, reverse=True))
            bad = [(r["day"], w) for r in got["rows"] for k, w in zip(("jobs", "held_core_s", "lost_core_s", "energy_j"), want[r["day"]]) if differ(r[k], w)]
            is_equal(title + ": each day is SQL's", bad[:3], [])
            is_equal(title + ": the sum", [got["sum"]["jobs"], differ(got["sum"]["held_core_s"], total(w[1] for w in want.values()))], [sum(w[0] for w in want.values()), False])
    text = must("usage", "--database", path, "--since", "all", "--by", "day", tz=tz)
    is_true("usage --by day as text: days, and how many more", re.search(r"^2026-\d\d-\d\d +\d", text, re.M) and "--all prints all." in text and text.endswith("\n"), text[-300:])
    is_true("issues --by day: has rows", as_json("issues", "--database", path, "--since", "all", "--by", "day")["rows"], path)


def limits_and_money():
    path, rows = make(site())
    for n in (1, 7, 2000, 10000):
        got = as_json("jobs", "--database", path, "--since", "all", "--limit", str(n))
        ids = [r["job_id"] for r in got["rows"]]
        is_equal("jobs --limit %d" % n, (len(ids), got["matching"]), (min(n, len(rows)), len(rows)))
        is_equal("jobs --limit %d: the first of all" % n, ids, [r["job_id"] for r in as_json("jobs", "--database", path, "--since", "all", "--all")["rows"]][:n])
    for bad in ("0", "-1", "1000001", "1000000000", "x", ""):
        is_equal("jobs --limit %s: refused" % bad, call("jobs", "--database", path, "--limit=" + bad).returncode, 2)
    is_equal("jobs --limit and --all: all", len(as_json("jobs", "--database", path, "--since", "all", "--limit", "3", "--all")["rows"]), len(rows))
    is_equal("jobs: without prices no money", {r["money_lost"] for r in as_json("jobs", "--database", path, "--since", "all")["rows"]}, {None})
    of = {(r["cluster"], r["job_id"], r["start"]): r for r in rows}
    for some in (PRICES, {"PriceGPUHour": 0.55}, {"PriceCoreHour": 0.02}):
        got = as_json("jobs", "--database", path, "--since", "all", "--all", "--sort", "money_lost", wrap=with_prices(some))["rows"]
        bad = [r["job_id"] for r in got for k in [of[r["cluster"], r["job_id"], r["start"]]] if differ(r["money_lost"], money(k["lost_core_s"], k["lost_gpu_s"], some))]
        is_equal("jobs: money at %s" % " ".join(some), bad[:3], [])
        values = [r["money_lost"] for r in got if r["money_lost"] is not None]
        is_equal("jobs --sort money_lost", values, sorted(values, reverse=True))
    severities = {r["job_id"]: r["worst_severity"] for r in as_json("jobs", "--database", path, "--since", "all", "--all")["rows"]}
    is_equal("jobs: how bad the worst finding is", {s for s in severities.values()}, {None, "note", "warn", "bad"})


def read_last():
    path = made()
    fed = float(sql(path, "SELECT value FROM meta WHERE key = 'fed_at'")[0][0])
    is_true("the index knows when it read last", abs(time.time() - fed) < 600, fed)
    lines = os.path.join(tmpdir("more"), "r.jsonl")
    with open(lines, "w") as f:
        f.write(json.dumps(appsite.Jobs(["later"], NOW, days=2).rows()[0]) + "\n")
    sqlite3.connect(path).executescript("UPDATE meta SET value = '1000' WHERE key = 'fed_at'")
    s = Server("--database", path)
    try:
        site_of = lambda: json.loads(re.search(rb'id="site">(.*?)</script>', s.ask("/jobs")[2], re.S)[1])
        is_equal("serve: pages say since when the index is late", site_of()["fed_at"], 1000)
        must("index", "import", "--database", path, lines)
        is_true("serve: and that it is not, once it has read", time.time() - site_of()["fed_at"] < 60, site_of())
        words = site_of()["words"]
        is_equal("serve: the partitions that jobs had", words["partition"], [r[0] for r in sql(path, "SELECT DISTINCT partition FROM job ORDER BY 1")])
        is_equal("serve: and the clusters", words["cluster"], [r[0] for r in sql(path, "SELECT DISTINCT cluster FROM job ORDER BY 1")])
        is_equal("serve: their findings", words["finding"], [r[0] for r in sql(path, "SELECT DISTINCT rule FROM finding f JOIN job j ON j.id = f.job WHERE j.start > ? ORDER BY 1", time.time() - 7 * DAY)])
        mine = json.loads(re.search(rb'id="site">(.*?)</script>', s.ask("/jobs", uid=OTHER)[2], re.S)[1])
        is_equal("serve: of a user the user's own", mine["words"]["finding"], [r[0] for r in sql(
            path, "SELECT DISTINCT rule FROM finding f JOIN job j ON j.id = f.job WHERE j.\"user\" = 'nobody' AND j.start > ? ORDER BY 1", time.time() - 7 * DAY)])
    finally:
        s.end()


HOME = {"jobs": ["jobs", "--since=7d", "--sort=start", "--limit=10000"], "advice": ["advice"], "days": ["usage", "--by=day", "--since=62d", "--all"], "apps": ["apps"]}


def pages():
    path = made()
    s = Server("--database", path)
    try:
        for title, address, uid, user in (("of the user who asks", "/", OTHER, "nobody"), ("by its name", "/home", OTHER, "nobody"), ("of another user, for staff", "/home?user=u0417", 0, "u0417")):
            status, _, body = s.ask(address, uid=uid)
            data = data_of(body)
            for part, words in HOME.items():
                is_true("serve, home %s: %s is what the verb prints" % (title, part), status == 200 and data[part]["rows"] and close(data[part], as_json(*words, "--user", user, "--database", path)), str(data.get(part))[:300])
            command = json.loads(re.search(rb'id="site">(.*?)</script>', body, re.S)[1])["command"]
            is_equal("serve, home %s: its command has each option once" % title, command.count("--user="), 1)
            is_true("serve, home %s: nothing of others" % title, b"zz_other" not in body, body[:200])
        is_equal("serve, home: of a user without rights there is no other's", [data_of(s.ask("/home?user=u0417", uid=OTHER)[2])[p]["rows"] for p in HOME], [[], [], [], []])
        is_true("serve, /: for staff the jobs of all", "jobs" in data_of(s.ask("/")[2]) and "apps" not in data_of(s.ask("/")[2]), "")
        status, _, body = s.ask("/jobs.json?since=all")
        is_equal("serve, jobs: 10,000 at once", (status, len(json.loads(body)["rows"])), (200, sql(path, "SELECT count(*) FROM job")[0][0]))
        is_equal("serve, jobs: fewer, where asked", len(json.loads(s.ask("/jobs.json?since=all&limit=3")[2])["rows"]), 3)
        is_equal("serve, a name with = before it", json.loads(s.ask("/jobs.json?since=all&name==param-sweep")[2])["matching"], sql(path, "SELECT count(*) FROM job WHERE name = 'param-sweep'")[0][0])
        is_equal("serve, /jobs?limit: what makes no sense", [s.ask("/jobs?limit=" + v)[0] for v in ("-1", "0", "1000000000", "x")], [400] * 4)
        me = [json.loads(s.ask("/jobs.json?since=all&user=@me", uid=uid)[2])["matching"] for uid in (OTHER, 0)]
        is_equal("serve, jobs?user=@me: who asks", me, [sql(path, "SELECT count(*) FROM job WHERE \"user\" = ?", u)[0][0] for u in ("nobody", "root")])
    finally:
        s.end()


if __name__ == "__main__":
    run_tests((applications, days, limits_and_money, read_last, pages))
