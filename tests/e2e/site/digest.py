#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""digest, and the money of digest and usage: every number is the sum over the generated jobs, with prices in a jobprof.conf of a
file system of its own, and without; what got slower, by python's medians."""

import collections
import statistics
import sys

import numpy

sys.path.insert(0, sys.path[0] + "/../../lib")
import postgreslib
from sitelib import *

PRICES = {"PriceCoreHour": 0.018, "PriceGPUHour": 0.55, "PriceKWh": 0.31, "GramsCO2PerKWh": 380}
WEEK = {"--since": "2026-10-12", "--until": "2026-10-19"}
FIRST = instant("2026-10-05", "UTC")  # of the week before
_made = []


def index():
    if not _made:
        _made.append(make(site(seed=9, users=60)))
    return _made[0]


def with_prices(prices):
    """What starts a program where /etc/jobprof/jobprof.conf has these; a directory in the place of /etc, for this program alone."""
    if os.geteuid():
        raise Skipped("needs root, for a mount namespace")
    etc = tmpdir("etc")
    for name in ("passwd", "group", "nsswitch.conf"):
        if os.path.exists("/etc/" + name):
            shutil.copy("/etc/" + name, etc)
    os.mkdir(os.path.join(etc, "jobprof"))
    with open(os.path.join(etc, "jobprof/jobprof.conf"), "w") as f:
        f.write("".join("%s=%s\n" % p for p in {**prices, "Currency": "CHF"}.items()))
    return ("unshare", "--mount", "sh", "-c", 'mount --bind "$0" /etc && exec "$@"', etc)


def money(core_s, gpu_s, prices):
    parts = [s / 3600 * prices[p] for s, p in ((core_s, "PriceCoreHour"), (gpu_s, "PriceGPUHour")) if p in prices and s is not None]
    return math.fsum(parts) if parts else None


def together(rows, was, prices):
    """What the digest says of jobs, beside those of the week before."""
    s, old = shares(sums(rows), sums(rows)), shares(sums(was), sums(was)) if was else None
    out = {k: s[k] for k in ("jobs", "held_core_s", "profiled_core_s", "lost_core_s", "held_gpu_s", "lost_gpu_s", "energy_j", "lost_share", "energy_kwh")}
    out["lost_share_before"] = old and old["lost_share"]
    known = old and None not in (s["lost_core_s"], old["lost_core_s"])
    out["trend"] = s["lost_core_s"] / s["profiled_core_s"] - old["lost_core_s"] / old["profiled_core_s"] if known else None
    out["money_held"], out["money_lost"] = (money(s["%s_core_s" % w], s["%s_gpu_s" % w], prices) for w in ("held", "lost"))
    kwh = s["energy_kwh"]
    out["energy_money"] = kwh * prices["PriceKWh"] if kwh is not None and "PriceKWh" in prices else None
    out["co2_kg"] = kwh * prices["GramsCO2PerKWh"] / 1000 if kwh is not None and "GramsCO2PerKWh" in prices else None
    return out


def costs(rows):
    """Of each finding: jobs, users, cost."""
    out = {}
    for r in rows:
        for f in r["finding_list"] or ():
            jobs, users, cost = out.setdefault(f["id"], (set(), set(), []))
            jobs.add((r["cluster"], r["job_id"], r["start"]))
            users.add(r["user"])
            cost.append(f["cost"].get("core_s"))
    return {rule: (len(jobs), len(users), total(cost)) for rule, (jobs, users, cost) in out.items()}


def wanted(prices, options=()):
    of = chosen_by(dict(options), "UTC")
    rows = [r for r in index()[1] if of(r)]
    now = [r for r in rows if FIRST + 7 * DAY <= r["start"] < FIRST + 14 * DAY]
    was = [r for r in rows if FIRST <= r["start"] < FIRST + 7 * DAY]
    of = lambda l, account: [r for r in l if r["account"] == account]
    accounts = []
    for name in {r["account"] for r in now}:
        row = {"account": name, **together(of(now, name), of(was, name), prices)}
        dearest = sorted((-c, rule) for rule, (_, _, c) in costs(of(now, name)).items() if c)
        accounts.append({**row, "mostly_by": dearest[0][1] if dearest else None})
    accounts.sort(key=lambda r: (r["lost_core_s"] is None, -(r["lost_core_s"] or 0), r["account"].encode()))
    before = costs(was)
    findings = [{"rule": rule, "jobs": jobs, "users": users, "cost_core_s": cost, "cost_core_s_before": before.get(rule, (0, 0, 0))[2],
                 "cost_money": money(cost, None, prices)} for rule, (jobs, users, cost) in costs(now).items()]
    findings.sort(key=lambda r: (r["cost_core_s"] is None, -(r["cost_core_s"] or 0), r["rule"]))
    return {"total": together(now, was, prices), "before": together(was, None, prices), "accounts": accounts[:10], "findings": findings[:10],
            "of": {"accounts": len(accounts), "findings": len(findings)}}


def faults(got, want):
    bad = ["%s: %s" % (part, d) for part in ("total", "before", "of") for d in differences(got[part], want[part])]
    for part in ("accounts", "findings"):
        bad += ["%s: %d rows" % (part, len(got[part]))] if len(got[part]) != len(want[part]) else []
        bad += ["%s %d: %s" % (part, i, d) for i, (g, w) in enumerate(zip(got[part], want[part])) for d in differences(g, w)]
    return bad[:4]


def each_number():
    path, _ = index()
    got = as_json("digest", "--database", path, *words_of(WEEK))
    is_equal("digest: each number is the sum over the jobs", faults(got, wanted({})), [])
    is_equal("digest: which weeks", [got["from"], got["to"], got["before_from"]], [FIRST + 7 * DAY, FIRST + 14 * DAY, FIRST])
    is_true("digest: without prices there is no money", "currency" not in got and got["total"]["money_lost"] is None, got["total"])
    sql_says = sql(path, "SELECT sum(lost_core_s), sum(energy_j) FROM job WHERE start >= ? AND start < ?", FIRST, FIRST + 7 * DAY)[0]
    is_equal("digest: the week before as SQL has it", [differ(got["before"][k], v) for k, v in zip(("lost_core_s", "energy_j"), sql_says)], [False, False])


def each_filter():
    """Those of jobs and usage; and the tables as CSV."""
    path, rows = index()
    number = lambda c: float(c) if re.fullmatch(r"-?[\d.]+(e[-+]?\d+)?", c) else None if c == "" else of_csv(c)
    for options in ({"--cluster": "alpha"}, {"--user": rows[0]["user"]}, {"--state": "failed,timeout", "--nodes": "2-"}, {"--finding": "any", "--partition": "batch"}):
        want = wanted({}, options)
        got = as_json("digest", "--database", path, *words_of(WEEK), *words_of(options))
        is_equal("digest %s" % " ".join(words_of(options)), [faults(got, want), {a["user"] for a in got["ask"]} <= set(options.get("--user", "").split(",")) or "--user" not in options], [[], True])
        tables = [from_csv(t) for t in must("digest", "--database", path, *words_of(WEEK), *words_of(options), "--csv").split("\n\n")]
        bad = [d for table, name in zip(tables, ("accounts", "findings")) for cells, w in zip(table[1:], want[name])
               for d in differences({k: number(c) for k, c in zip(table[0], cells)}, {k: escaped(v) if isinstance(v, str) else v for k, v in w.items() if not isinstance(v, str) or k == "rule"})]
        is_equal("digest %s: as CSV" % " ".join(words_of(options)), [[len(t) - 1 for t in tables], bad[:3]], [[len(want["accounts"]), len(want["findings"]), len(got["ask"]), len(got["slower"]), len(got["nodes"])], []])
    is_equal("digest in two forms", call("digest", "--database", path, "--csv", "--json").returncode, 2)


def prices():
    path, _ = index()
    for some in (PRICES, {"PriceGPUHour": 0.55}, {"PriceKWh": 0.31, "GramsCO2PerKWh": 380}):
        wrap = with_prices(some)
        got = as_json("digest", "--database", path, *words_of(WEEK), wrap=wrap)
        is_equal("digest: with %s" % ", ".join(some), [faults(got, wanted(some)), got.get("currency")], [[], "CHF"])
        sum_of = as_json("usage", "--database", path, *words_of(WEEK), wrap=wrap)["sum"]
        want = {k: wanted(some)["total"][k] for k in ("money_held", "money_lost", "energy_money", "co2_kg")}
        is_equal("usage: with %s" % ", ".join(some), differences(sum_of, want), [])
    for by, heads in (("project", ["held CHF", "lost CHF"]), ("user", ["held CHF", "lost CHF", "kWh", "lost%"])):
        text = must("usage", "--by", by, "--database", path, *words_of(WEEK), wrap=with_prices(PRICES), env={"COLUMNS": "80"})
        head = next(x for x in text.splitlines() if x.startswith(by))
        total_line = next(x for x in text.splitlines() if x.startswith("all "))
        is_equal("usage --by %s as text: money at 80 columns" % by, [w for w in heads if w not in head], [])
        is_equal("usage --by %s as text: and no line is longer" % by, [x for x in (head, total_line) if len(x) > 80], [])
        is_true("usage --by %s as text: what all of it cost" % by, {number(wanted(PRICES)["total"][k]) for k in ("money_held", "money_lost")} <= set(total_line.split()), total_line)
    text = must("usage", "--sort", "energy_money", "--database", path, *words_of(WEEK), wrap=with_prices(PRICES))
    is_true("usage --sort energy_money: money has its currency", "energy CHF" in next(x for x in text.splitlines() if x.startswith("project")), text)


def as_text():
    path, _ = index()
    wrap, of = with_prices(PRICES), wanted(PRICES)
    for how, env in ((wrap, "priced"), ((), "plain")):
        text = must("digest", "--database", path, *words_of(WEEK), wrap=how)
        lines = text.splitlines()
        t = of["total"]
        is_true("digest as text, %s: what was held and lost, and before" % env, all(w in text for w in (
            grouped(t["jobs"]) + " jobs held " + hours(t["held_core_s"]) + " core-h", "lost " + hours(t["lost_core_s"]) + " of them",
            "before they lost " + hours(of["before"]["lost_core_s"]), "From 2026-10-12 to 2026-10-19; before: from 2026-10-05.", number(t["energy_kwh"]) + " kWh", share(1 - t["profiled_core_s"] / t["held_core_s"]) + " % of what was held has no profile")), text)
        is_equal("digest as text, %s: lines of 72 columns, but for the command" % env, [line for line in lines[:-1] if len(line) > 72], [])
        is_equal("digest as text, %s: nothing that a terminal obeys" % env, visible(text.replace("\n", "")), text.replace("\n", ""))
        said = (number(t["money_held"]) + " CHF, of which " + number(t["money_lost"]), number(t["co2_kg"]) + " kg of CO2", "lost CHF")
        is_equal("digest as text, %s: money" % env, [w in text for w in said], [bool(how)] * 3)
        first = of["accounts"][0]
        titles = [t + ": the first 10 of %d" % of["of"][k] if of["of"][k] > 10 else t for t, k in (("Lost by project", "accounts"), ("Findings", "findings"))]
        is_true("digest as text, %s: of how many these are the first" % env, of["of"]["accounts"] > 10 and set(titles) <= set(lines), (titles, text))
        head = next(i for i, x in enumerate(lines) if x.startswith("project"))
        line = lines[head + 1]
        parts = [cut(first["account"], 20), grouped(first["jobs"]), hours(first["lost_core_s"]), share(first["lost_share"])]
        is_true("digest as text, %s: the project that lost most" % env, ("mostly by" not in lines[head] or line.endswith(cut(first["mostly_by"], 18))) and line.startswith(parts[0]) and
                all(p in line.split() for p in parts[1:]), (line, parts))
    is_equal("digest of a time without jobs", must("digest", "--database", path, "--since", "2027-01-01", "--until", "2027-01-08"), "no jobs\n")


def of_some_jobs():
    """The text is a mail: it says which jobs it is about. Before an instant there is no time."""
    path, rows = index()
    options = {"--user": rows[0]["user"], "--project": ",".join(p for p in sorted({r["account"] for r in rows}) if "'" not in p), "--nodes": "1-"}
    got = as_json("digest", "--database", path, *words_of(WEEK), *words_of(options))
    is_equal("digest: the filter", got["filter"], {k[2:]: v for k, v in options.items()})
    is_equal("digest: no filter", as_json("digest", "--database", path, *words_of(WEEK))["filter"], {})
    text = must("digest", "--database", path, *words_of(WEEK), *words_of(options))
    said = " ".join(text.split("\n\n")[0].split()[7:])
    is_true("digest as text: the filter", said.startswith("Only jobs of --user %s --project '" % rows[0]["user"]) and said.endswith(" --nodes 1-"), text)
    at = rows[len(rows) // 2]["start"] + 1
    word = datetime.datetime.fromtimestamp(at, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S")
    ran = [r for r in rows if r["start"] <= at < r["end"] and r["start"] >= at - 30 * DAY]
    for more in ({}, {"--since": "all"}, {"--jobs": ",".join(str(r["job_id"]) for r in ran[:2])}):
        got = as_json("digest", "--database", path, "--ran-at", word, *words_of(more))
        want = ran[:2] if "--jobs" in more else ran
        is_equal("digest --ran-at %s" % " ".join(more), [got["total"]["jobs"], got["before"], got["before_from"], got["slower"], {a["trend"] for a in got["accounts"]}, {f["cost_core_s_before"] for f in got["findings"]} - {None}],
                 [len(want), None, None, [], {None}, set()])
        text = must("digest", "--database", path, "--ran-at", word, *words_of(more))
        is_true("digest --ran-at %s as text" % " ".join(more), "before" not in text.split("Whom")[0] and "trend" not in text and "--ran-at %s" % word in text.split("\n\n")[0], text)
    for word, length in (("24h", DAY), ("36h", 1.5 * DAY), ("7d", 8 * DAY), ("2d", 3 * DAY)):  # of days today is one
        got = as_json("digest", "--database", path, "--since", word)
        is_true("digest --since %s: as long a time before" % word, abs(got["from"] - got["before_from"] - length) < 60, got)
    p = call("digest", "--database", path, "--since", "all")
    is_true("digest --since all: why not", p.returncode == 2 and "there is no time before it" in p.stderr, p.stderr)
    p = call("digest", "--database", path, "--profiledir", "/tmp")
    is_true("digest --database and --profiledir", p.returncode == 2 and "--database and --profiledir: " in p.stderr, p.stderr)
    for words in (("digest", "--ran-at", "tomorrow"), ("digest", "--ran-at", "all"), ("contacted", "1", "--at", "tomorrow"), ("contacted", "1", "--at", "all")):
        p = call(*words, "--database", path)
        is_true("%s: no word is offered that is none" % " ".join(words), p.returncode == 2 and "2026-11-01 or 2026-11-01T08:00" in p.stderr and "or all" not in p.stderr, p.stderr)


def as_page():
    """Its numbers have 15 digits."""
    if not os.path.exists(os.path.join(BUILD, "web/report.html")):
        raise Skipped("make made no template: node or npm was not there")
    path, _ = index()
    few = lambda text: json.loads(text, parse_float=lambda v: "%.12g" % float(v))
    page = must("digest", "--database", path, *words_of(WEEK), "--html", "-")
    got = few(re.search(r'<script[^>]*id="data"[^>]*>(.*?)</script>', page, re.S).group(1))["digest"]
    is_true("digest --html: the page has what --json says", got == few(must("digest", "--database", path, *words_of(WEEK), "--json")), got["total"])
    for tz in ZONES:
        page = must("digest", "--database", path, *words_of(WEEK), "--html", "-", tz=tz)
        data = json.loads(re.search(r'<script[^>]*id="data"[^>]*>(.*?)</script>', page, re.S).group(1))
        is_equal("digest --html: dates in the zone of who makes the page, %s" % tz, [data["from"], data["to"]], [*WEEK.values()])


# ---- what got slower

LATER = {"--since": "2026-11-06", "--until": "2026-11-13"}
PLACES = ("%s", "x1,%s and 2 more", "n3-n6", "n10-n12,n1", "ranks 0-2 on n1", "n11", "")


class Slowing(sitegen.Site):
    """Jobs of half of the users are alike; those of three take longer from a day on, those of one not by much, those of one are now
    short and now long, and those of one node always take longer. On one node jobs fail, which no finding names."""

    def who(self, rng, c, first, n):
        super().who(rng, c, first, n)
        c["_alike"] = c["_user"] < 6
        c["_user"] = numpy.where(c["_alike"], first + numpy.arange(n), c["_user"]) % 6 + numpy.where(c["_alike"], 0, 6)
        c["user"] = [self.users[u] for u in c["_user"]]
        for i in numpy.flatnonzero(c["_alike"]):
            c["program"][i] = "/bin/a%d" % c["_user"][i]

    def size(self, rng, c, n):
        super().size(rng, c, n)
        for i in numpy.flatnonzero(c["_alike"]):
            k, at = 1 + c["_user"][i] % 3, int(rng.integers(1, 13))
            c["nodes"][i], c["tasks"][i] = k, 8
            c["node_list"][i] = "n%d" % at if k == 1 else "n[%d-%d]" % (at, at + k - 1)
            c["node_names"][i] = sitegen.names_of(c["node_list"][i])

    def times(self, rng, c, first, n):
        super().times(rng, c, first, n)
        spread = numpy.where(c["_user"] == 3, 0.5, numpy.where(c["_user"] == 4, 0.001, 0.03))
        base = 3600 * (1 + c["_user"]) * (1 + spread * rng.uniform(-1, 1, n))
        later = c["start"] >= instant(LATER["--since"], "UTC")
        base *= numpy.where(later & (c["_user"] < 3), 1.4, numpy.where(later & (c["_user"] == 4), 1.04, 1))
        base *= [1.3 if "n5" in (names or ()) else 1 for names in c["node_names"]]
        c["elapsed_s"] = numpy.where(c["_alike"], numpy.floor(base), c["elapsed_s"])
        c["end"] = c["start"] + c["elapsed_s"]

    def lost(self, rng, c, n):
        super().lost(rng, c, n)
        for i, (found, names) in enumerate(zip(c["finding_list"], c["node_names"])):
            for f in found[:2] if names and i % 3 == 0 else ():
                place = PLACES[i // 3 % len(PLACES)]
                f["id"], f["where"] = ("node.slow", "cpu.slow_clock")[i % 2], place % names[-1] if "%" in place else place
        failing = [i for i, names in enumerate(c["node_names"]) if "n9" in (names or ())]
        for i in failing:
            c["finding_list"][i] = [f for f in c["finding_list"][i] if f["id"] not in ("node.slow", "cpu.slow_clock")]
        for i in [i for i in failing if instant(LATER["--since"], "UTC") <= c["start"][i] < instant(LATER["--until"], "UTC")][:4]:
            c["state"][i] = "NODE_FAIL"


def by_shape(rows):
    """Runs that completed, of the same user, name without digits, program and size."""
    groups = collections.defaultdict(list)
    for r in rows:
        if r["state"] == "COMPLETED":
            groups[r["user"], re.sub("[0-9]", "", r["name"]), r["program"], r["nodes"], r["tasks"]].append(r)
    return groups


def slower(now, was):
    """And users of whose runs some are longer by more than 5 %, and by more than 3 MAD, but not by both."""
    out, almost, before = [], (set(), set()), by_shape(was)
    middle = lambda rows: statistics.median(r["elapsed_s"] for r in rows)
    for shape, rows in by_shape(now).items():
        old = before.get(shape, ())
        if len(rows) < 5 or len(old) < 5:
            continue
        m, b = middle(rows), middle(old)
        mad = statistics.median(abs(r["elapsed_s"] - b) for r in old)
        far = m > 1.05 * b, m - b > 3 * mad
        for users, has, lacks in zip(almost, far, far[::-1]):
            users |= {shape[0]} if has and not lacks else set()
        if all(far):
            out.append({"user": shape[0], "account": max((r["account"] for r in rows), key=str.encode), "name": max((r["name"] for r in rows), key=str.encode),
                        "runs": len(rows), "median_s": m, "median_s_before": b, "longer": m / b - 1, "runs_before": len(old),
                        "more_core_s": math.fsum(r["held_core_s"] for r in rows) * (1 - b / m)})
    return sorted(out, key=lambda r: -r["more_core_s"]), almost


def is_named(place, node):
    """Whether "n1-n3,n7 and 2 more" has n2."""
    for part in place.split(" and ")[0].split(","):
        ends = re.fullmatch(r"n([0-9]+)(?:-n([0-9]+))?", part)
        if part == node or ends and int(ends[1]) <= int(node[1:]) <= int(ends[2] or ends[1]):
            return True
    return False


def slow_nodes(now):
    """Of a node where jobs were of which Slurm knows, these count alone."""
    took, fails, found = (collections.defaultdict(list) for _ in range(3))
    sure = {(r["cluster"], name) for r in now if r["sources"] & 1 for name in r["node_names"] or ()}
    nodes_of = lambda r: [name for name in r["node_names"] or () if r["sources"] & 1 or (r["cluster"], name) not in sure]
    for rows in by_shape(now).values():
        for r in rows if len(rows) >= 5 else ():
            for name in nodes_of(r):
                took[r["cluster"], name].append(r["elapsed_s"] / statistics.median(x["elapsed_s"] for x in rows))
    for r in now:
        for name in nodes_of(r):
            fails[r["cluster"], name] += [1] if r["state"] == "NODE_FAIL" else []
            found[r["cluster"], name] += [f for f in r["finding_list"] or () if f["id"] in ("node.slow", "cpu.slow_clock") and is_named(f["where"], name)]
    out = []
    for at in fails:
        ratio = statistics.median(took[at]) if len(took[at]) >= 15 else None
        if found[at] or (ratio or 0) > 1.05 or len(fails[at]) > 1:
            out.append({"node": at[1], "cluster": at[0], "runs": len(took[at]), "speed": ratio and 1 / ratio, "longer": ratio and ratio - 1,
                        "node_fails": len(fails[at]), "findings": len(found[at])})
    return sorted(out, key=lambda r: (-r["longer"] if (r["longer"] or 0) > 0.05 else 0, -r["findings"] - r["node_fails"], r["node"], r["cluster"]))


def what_got_slower():
    """In both engines; a user sees own applications and no nodes."""
    d = tmpdir("slower")
    made, lines, path = Slowing(jobs=2400, seed=3, users=12, projects=5, days=21, end=END, hostile=True, nodes=True), d + "/rows.jsonl", d + "/index.db"
    made.users[0] = "nobody"
    with open(lines, "w") as f:
        made.write(f)
    rows = [stored(r, "UTC") for r in made.rows()]
    now, was = ([r for r in rows if instant(LATER["--since"], "UTC") - 7 * DAY * k <= r["start"] < instant(LATER["--until"], "UTC") - 7 * DAY * k] for k in (0, 1))
    apps, almost = slower(now, was)
    all_ = {"slower": apps, "nodes": slow_nodes(now)}
    want = {part: rows[:10] for part, rows in all_.items()}
    is_true("some are longer by 5 % alone, some by 3 MAD alone", "user4" in almost[0] and "user5" in almost[1], almost)
    is_true("a few applications got slower, as they were made", {"nobody", "user2", "user3"} >= {r["user"] for r in want["slower"]} and len(want["slower"]) >= 3,
            want["slower"])
    is_true("a node is slow, as it was made, and others are named", want["nodes"][0]["node"] == "n5" and any(r["findings"] for r in want["nodes"]), want["nodes"])
    is_true("a node is there for its failed jobs alone", any(r["node"] == "n9" and not r["findings"] and r["longer"] < 0.05 for r in want["nodes"]), want["nodes"])
    addresses = [path]
    try:
        addresses.append(postgreslib.Server().new_database("slower"))
    except Skipped as e:
        skip("what got slower, in PostgreSQL", e)
    for address in addresses:
        must("index", "import", "--database", address, lines)
        got = as_json("digest", "--database", address, *words_of(LATER))
        for part in want:
            is_equal("digest: %s, %s" % (part, address.split(":")[0][-10:]), [len(got[part])] + [differences(g, w) for g, w in zip(got[part], want[part])],
                     [len(want[part])] + [[]] * len(want[part]))
        is_equal("digest: of how many these are the first, %s" % address.split(":")[0][-10:], {part: got["of"][part] for part in all_}, {part: len(rows) for part, rows in all_.items()})
    is_true("there are more nodes than are listed", len(all_["nodes"]) > 10, all_["nodes"])
    got = as_json("digest", "--database", path, *words_of(LATER), "--node", "n5")["nodes"]
    is_equal("digest --node: the node is still beside all", differences(next(r for r in got if r["node"] == "n5"), want["nodes"][0]), [])
    as_lines(path, want, len(all_["nodes"]))
    of_a_user(path)


def as_lines(path, want, nodes):
    lines = must("digest", "--database", path, *words_of(LATER)).splitlines()
    is_equal("what got slower as text: lines of 72 columns", [x for x in lines[:-1] if len(x) > 72], [])
    first, node = want["slower"][0], want["nodes"][0]
    points = lambda v: "%+.*f" % (1 if abs(v) < 0.0995 else 0, 100 * v)
    below = lambda title: lines[next(i for i, x in enumerate(lines) if x.startswith(title)) + 4].split()
    cells = [str(first["runs"]), duration(first["median_s"]), duration(first["median_s_before"]), points(first["longer"]), hours(first["more_core_s"])]
    is_equal("what got slower as text", [below("Slower than before")[0], below("Slower than before")[-5:]], [first["user"], cells])
    cells = [str(node["runs"]), share(node["speed"]), points(node["longer"]), str(node["node_fails"]), str(node["findings"])]
    is_equal("slow nodes as text", [below("Nodes to look at")[0], below("Nodes to look at")[-5:]], ["n5", cells])
    is_true("slow nodes as text: of how many", "Nodes to look at: the first 10 of %d" % nodes in lines, lines)


def of_a_user(path):
    if os.geteuid():
        return skip("what got slower, of a user", "needs root")
    public = os.path.join(TMP, "jobprof")
    shutil.copy(JOBPROF, public)
    for name in (TMP, os.path.dirname(path), public):
        os.chmod(name, 0o755)
    for name in (path, path + "-wal", path + "-shm"):
        if os.path.exists(name):
            os.chmod(name, 0o644)
    ask = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", public, "digest", "--database", path, *words_of(LATER), "--json"]
    p = subprocess.run(ask, capture_output=True, text=True, env=plain_env(TZ="UTC", HOME="/nonexistent"))
    got = json.loads(p.stdout or "{}")
    is_equal("a user sees what own applications took, and no nodes", [{r["user"] for r in got.get("slower", ())}, got.get("nodes"), p.stderr], [{"nobody"}, [], ""])


if __name__ == "__main__":
    run_tests((each_number, each_filter, prices, as_text, of_some_jobs, as_page, what_got_slower))
