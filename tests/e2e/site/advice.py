#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What to change in many jobs that are alike: each number of jobprof advice is a sum over generated jobs. And what jobprof report
says of a job beside others: earlier runs, and shares of the jobs of its program."""

import statistics
import sys

sys.path.insert(0, sys.path[0] + "/../../lib")
from sitelib import *

sys.path.insert(0, ROOT + "/tests/findings")
from jobs import Job

# Of schemas/index.def, whose text is in the report.
SHARES = {"share_kernel": "time in the kernel", "share_others": "time of other programs", "share_quota": "time throttled by a CPU quota",
          "share_wait": "wait for a CPU", "share_disk": "wait for a disk", "share_asleep": "time asleep", "share_idle": "time not used"}
JOINED = {"mem.over": ("own_peak_mb", max), "time.over": ("elapsed_s", max), "cpu.oversubscribed": (None, min)}
# Of these states a job says something of what is enough.
ENDED = {"mem.over": (None, "COMPLETED", "TIMEOUT", "OUT_OF_MEMORY"), "time.over": (None, "COMPLETED", "TIMEOUT")}


def put(path, rows):
    lines = os.path.join(os.path.dirname(path), "rows.jsonl")
    with open(lines, "w") as f:
        for r in rows:
            f.write(json.dumps({k: v for k, v in r.items() if v is not None}) + "\n")
    must("index", "import", "--database", path, lines)


def few_kinds():
    """Jobs of 400, each of one of six signatures, with a finding of each rule at most."""
    rows = list(site(jobs=400, users=3, hostile=True).rows())
    for i, r in enumerate(rows):
        k = i * i % 6
        r.update(user="user%d" % (k % 3), name="sweep=%d <b>\x1b[31m %d" % (k, i), program="/opt/p%d" % (k // 3), nodes=1 + k % 2, tasks=4)
        if r["sources"] == 1:
            r["program"] = r["tasks"] = None
        if r["finding_list"]:
            r["finding_list"] = list({f["id"]: f for f in r["finding_list"]}.values())
            for n, f in enumerate(f for f in r["finding_list"] if "sets" not in f):  # more of those with a number
                if n == 0 and all(f["id"] != "mem.over" for f in r["finding_list"]):
                    f.update(id="mem.over", **sitegen.Site.numbers({k: [numpy_nan(r[k])] for k in ("own_peak_mb", "mem_asked_mb")}, 0, "mem.over", f["remedy"]))
    return rows


def numpy_nan(v):
    return math.nan if v is None else v


def kind(r):
    return r["user"], re.sub(r"\d", "", r["name"]), r["program"], r["nodes"], r["tasks"]


def had_enough(r, rule, needs):
    column, join = JOINED[rule]
    if rule == "mem.over" and (r["state"] == "OUT_OF_MEMORY" or (r["oom_kills"] or 0) > 0) or rule == "time.over" and r["state"] == "TIMEOUT":
        return False
    if column:
        return r[column] is not None and r[column] <= needs
    return any(f["id"] == rule and "sets" in f and f["sets"]["needs"] >= needs for f in r["finding_list"])


def joined(rows, rule, of):
    """What is to be said of a rule's findings in the jobs of a kind."""
    all_ = [r for r in rows if kind(r) == of and r["finding_list"] is not None]
    found = [(r, f) for r in all_ for f in r["finding_list"] if f["id"] == rule]
    sets = [f["sets"] for _, f in found if "sets" in f] if rule in JOINED else []
    known = lambda key: [s[key] for s in sets if key in s]
    needs = JOINED[rule][1](known("needs")) if sets else None
    ended = [r for r in all_ if r["state"] in ENDED.get(rule, ENDED["mem.over"])]
    costs = [f["cost"]["core_s"] for _, f in found if "core_s" in f["cost"]]
    safe = sum(had_enough(r, rule, needs) for r in ended) if needs is not None else None
    is_safe = needs is not None and 10 * safe >= 9 * len(ended)
    return {"jobs": len(found), "of": len(all_), "cost_core_s": sum(costs) if costs else None, "last": max(r["start"] for r, _ in found),
            "severity": max((f["severity"] for _, f in found), key=("note", "warn", "bad").index), "needs": needs,
            "used": max(known("used"), default=None), "asked_least": min(known("asked"), default=None), "asked_most": max(known("asked"), default=None),
            "nodes": of[3], "tasks": of[4], "safe": safe, "safe_of": len(ended) if needs is not None else None,
            "remedy_code": next(f["remedy_code"] for _, f in found if "sets" in f and f["sets"]["needs"] == needs) if is_safe else None}


def same(got, wanted):
    return all((got[k] is None and v is None) or (got[k] == v if isinstance(v, str) or got[k] is None or v is None else math.isclose(got[k], v, rel_tol=1e-9))
               for k, v in wanted.items())


def many_jobs():
    rows = few_kinds()
    path = os.path.join(tmpdir("many"), "index.db")
    put(path, rows)
    signatures = {(u, re.sub(r"\d", "", n), p, nodes, tasks): s for u, n, p, nodes, tasks, s in
                  sqlite3.connect(path).execute("SELECT \"user\", name, program, nodes, tasks, signature FROM job")}
    is_true("jobs of a kind have one signature", len(set(signatures.values())) == len(signatures), signatures)
    clean = [dict(r, name=CONTROL.sub("\ufffd", r["name"])) for r in rows]
    of_signature = {s: k for k, s in signatures.items()}
    for options in ({"--user": "user1"}, {"--finding": "mem.over"}, {"--user": "user0,user2", "--finding": "cpu.oversubscribed"}, {"--name": "sweep", "--nodes": "1"},
                    {"--project": clean[0]["account"]}):
        words = [w for o in options.items() for w in o]
        got = as_json("advice", *words, "--since", "all", "--all", "--database", path)["rows"]
        rest = {k: v for k, v in options.items() if k != "--finding"}
        chosen = [r for r in clean if chosen_by(rest, "UTC")(r)]
        rules = {(kind(r), f["id"]) for r in chosen for f in r["finding_list"] or () if options.get("--finding", f["id"]) == f["id"]}
        title = " ".join(words)
        is_equal("advice %s: what is joined" % title, sorted((of_signature[r["signature"]], r["rule"]) for r in got), sorted(rules))
        wrong = [(r, w) for r in got for w in [joined(chosen, r["rule"], of_signature[r["signature"]])] if not same(r, w)]
        is_equal("advice %s: numbers of %d" % (title, len(got)), wrong[:2], [])
        dearest = {s: max(r["cost_core_s"] or 0 for r in got if r["signature"] == s) for s in {r["signature"] for r in got}}
        order = [(dearest[r["signature"]], r["signature"], r["cost_core_s"] or 0) for r in got]
        is_equal("advice %s: signature by signature, the dearest first" % title, order, sorted(order, reverse=True))
    without_profile(path)
    all_ = as_json("advice", "--user", "user0,user1,user2", "--since", "all", "--all", "--database", path)["rows"]
    numbers = [r for r in all_ if r["safe_of"]]
    is_true("advice: some would not have been enough for all, some would", {r["safe"] < r["safe_of"] for r in numbers} == {True, False}, numbers)
    sentences(numbers, all_)
    as_text(path, all_)


def without_profile(path):
    """No advice is about jobs that have none."""
    for words, where in ((("--user", "user1"), "\"user\" = 'user1'"), (("--state", "FAILED"), "state = 'FAILED'"), (("--finding", "any"), "findings > 0")):
        (held, bare), = sqlite3.connect(path).execute("SELECT sum(held_core_s), sum(CASE WHEN findings IS NULL THEN held_core_s ELSE 0 END) FROM job WHERE " + where)
        got = as_json("advice", *words, "--since", "all", "--database", path)["without_profile"]
        is_true("advice %s: what has no profile" % " ".join(words), abs(got - bare / held) < 1e-9 and (got > 0) == ("any" not in words), (got, bare, held))
        said = re.findall(r"(?m)^(\d+|<1) % of what these jobs held has no profile: ", must("advice", *words, "--since", "all", "--database", path))
        is_equal("advice %s: said, too" % " ".join(words), said, ["<1" if got < 0.005 else "%.0f" % (100 * got)] if got > 0 else [])


def sentences(numbers, all_):
    def wanted(r):
        noun = lambda n: "job" if n == 1 else "jobs"
        how = "safe in " if r["remedy_code"] else "not have been safe in any of " if not r["safe"] else "safe in only "
        return "%d of %d %s: " % (r["jobs"], r["of"], noun(r["of"])), how + ("%d of " % r["safe"] if r["safe"] else "") + "%d %s" % (r["safe_of"], noun(r["safe_of"]))
    # tasks of arrays are called that where all are
    wrong = [r["text"] for r in numbers if not (r["text"].replace("task", "job").startswith(wanted(r)[0]) and r["text"].replace("task", "job").endswith(wanted(r)[1]) and (not r["remedy_code"] or "; %s would " % r["remedy_code"] in r["text"]))]
    is_equal("advice: one sentence", wrong[:2], [])
    over = [r["text"] for r in numbers if r["rule"] == "mem.over" and r["used"]]
    is_true("advice: what was asked and used", over and all(re.search(r": asked [\d.]+ [GM]iB( to [\d.]+ [GM]iB)?, used at most [\d.]+ [GM]iB; #SBATCH", t) for t in over), over[:2])
    is_equal("advice: kinds", {(r["remedy_kind"], r["remedy_code"] is None) for r in all_} - {("line", False), ("sentence", True)}, set())


def as_text(path, all_):
    words = ("advice", "--user", "user0,user1,user2", "--since", "all", "--database", path)
    text, more = must(*words), must(*words, "--all")
    headings = [l for l in more.split("\n") if l and l[0] != " " and " % of what these jobs held " not in l]
    is_equal("advice: one heading for a signature", len(headings), len({r["signature"] for r in all_}))
    is_true("advice: no line of text is wider than 80", max(map(len, more.split("\n"))) <= 80, more)
    is_equal("advice: what is to be copied has lines of its own", [l.strip() for l in more.split("\n") if re.match(" {11}(#SBATCH|export) ", l)],
             [r["remedy_code"] for r in all_ if r["remedy_code"]])
    is_true("advice: names cannot harm a terminal", "\x1b" not in more, more[:300])
    is_equal("advice: the dearest ten, without --all", [len(re.findall(r"(?m)^  (?:note|warn|bad ) ", t)) for t in (text, more)], [10, len(all_)])
    table = list(csv.DictReader(io.StringIO(must(*words, "--all", "--csv"))))
    is_equal("advice: the same as CSV", [(r["signature"], r["rule"], float(r["jobs"]), r["safe"]) for r in table],
             [(r["signature"], r["rule"], r["jobs"], "" if r["safe"] is None else "%d" % r["safe"]) for r in all_])
    is_equal("advice: jobs without findings", must("advice", "--finding", "none", "--since", "all", "--database", path), "no such job has a finding\n")


def few(n, rule, sets, state="COMPLETED", **more):
    """Jobs of one kind, with this finding where there is something that it sets."""
    found = {"id": rule, "severity": "note", "text": "A text", "remedy": "Do: #SBATCH --x=1", "remedy_code": "#SBATCH --x=1", "remedy_kind": "line", "cost": {}, "sets": sets}
    return [{"cluster": "c", "start": 1795000000, "elapsed_s": 3600, "sources": 3, "cpus": 4, "nodes": 1, "tasks": 1, "state": state, "user": "u", "name": "n", "program": "/p",
             "finding_list": [found] if sets else [], **more} for _ in range(n)]


def cut_off():
    """Jobs that were ended by the limit in question do not show that it is enough."""
    cases = {  # rows; what is enough for which, and what is said of it; whether the line is printed
        "time": (few(10, "time.over", {"needs": 7200, "used": 6000, "asked": 86400}) + few(3, "", None, "TIMEOUT") + few(2, "", None, "OUT_OF_MEMORY"),
                 (10, 13), "#SBATCH --x=1 would have been safe in only 10 of 13 jobs", False),
        "limit": (few(9, "time.over", {"needs": 7200, "used": 6000, "asked": 86400}) + few(1, "", None, "TIMEOUT"),
                  (9, 10), "this would have been safe in 9 of 10 jobs:", True),
        "below": (few(8, "time.over", {"needs": 7200, "used": 6000, "asked": 86400}) + few(1, "", None, "TIMEOUT"),
                  (8, 9), "#SBATCH --x=1 would have been safe in only 8 of 9 jobs", False),
        "memory": (few(41, "mem.over", {"needs": 2000, "used": 1500, "asked": 64000}, own_peak_mb=1500) + few(3, "", None, "TIMEOUT", own_peak_mb=1000) +
                   few(2, "", None, "OUT_OF_MEMORY", own_peak_mb=900) + few(1, "", None, own_peak_mb=900, oom_kills=2) + few(1, "", None, "OUT_OF_MEMORY"),
                   (44, 48), "would have been safe in 44 of 48 jobs", True),
        "threads": (few(4, "cpu.oversubscribed", {"needs": 4, "used": 16, "asked": 16}) + few(3, "cpu.oversubscribed", {"needs": 4, "used": 16, "asked": 16}, "TIMEOUT"),
                    (7, 7), "would have been safe in 7 of 7 jobs", True),
        "none": (few(7, "mem.near_limit", {"needs": 2000, "used": 1900, "asked": 1900}, "OUT_OF_MEMORY", own_peak_mb=1900),
                 (0, 7), "#SBATCH --x=1 would not have been safe in any of 7 jobs", False),
        "no job": (few(5, "mem.near_limit", {"needs": 2000, "used": 1900, "asked": 1900}, "FAILED", own_peak_mb=1900),
                   (0, 0), "used at most 1.86 GiB; no job shows whether this would be enough:", True),
        "sentence": (few(2, "mem.near_limit", {"used": 1900}, own_peak_mb=1900), (None, None), "A text. Do:", True),
        "array": (few(19, "mem.near_limit", {"needs": 2000, "used": 1500, "asked": 1900}, array_id=9, array_task=1, own_peak_mb=1500) + few(1, "", None, array_id=9, array_task=3),
                  (19, 20), "19 of 20 tasks, last TIME: asked 1.86 GiB, used at most 1.46 GiB; this would have been safe in 19 of 20 tasks:", True),
        "mixed": (few(19, "mem.near_limit", {"needs": 2000, "used": 1500, "asked": 1900}, array_id=9, array_task=1, own_peak_mb=1500) + few(1, "", None),
                  (19, 20), "19 of 20 jobs,", True),
        "many": (few(1200, "cpu.oversubscribed", {"needs": 1024, "used": 5120, "asked": 5120}), (1200, 1200), "1,200 of 1,200 jobs, last TIME: asked 5,120 threads, used at "
                 "most 5,120 threads; this would have been safe in 1,200 of 1,200 jobs:", True)}
    path, rows = os.path.join(tmpdir("cut"), "index.db"), []
    for name, case in cases.items():
        rows += [{**r, "name": name} for r in case[0]]
    put(path, [{**r, "job_id": 100 + i} for i, r in enumerate(rows)])
    for name, (_, safe, said, is_printed) in cases.items():
        words = ("advice", "--name", name, "--since", "all", "--database", path)
        row, = as_json(*words)["rows"]
        is_equal("advice, %s: in how many it is safe" % name, (row["safe"], row["safe_of"]), safe)
        is_equal("advice, %s: the line to be copied" % name, row["remedy_code"], "#SBATCH --x=1" if is_printed else None)
        text = must(*words)
        is_true("advice, %s: what is said" % name, said in re.sub(r"last [\d-]+( \d\d:\d\d)?", "last TIME", " ".join(text.split())), text)
        is_equal("advice, %s: the heading" % name, text.split("\n")[0], "%s of u, 1 node, 1 task" % name)
        is_equal("advice, %s: whether the line is printed as advice" % name, "           #SBATCH --x=1" in text.split("\n"), is_printed)


# ---- report

class Own:
    """A profile of a job, and an index of it and of other jobs, in the place of a user's own."""

    def __init__(self):
        self.home, self.dir = tmpdir("own"), tmpdir("profiles")
        self.index, self.file = os.path.join(self.home, "jobprof", "index.db"), os.path.join(self.dir, "job_77.h5")
        os.mkdir(os.path.dirname(self.index))
        job = Job(nodes=1, tasks=2, cores=4, wall=1200, job=77, job_name="run12", cluster="c")
        job.cpu(0.4)
        job.write(self.file)
        self.call("index", "scan", self.dir, "--database", self.index)
        names = [*SHARES, "signature", "program", "user", "name", "nodes", "tasks", "start", "elapsed_s", "day"]
        with sqlite3.connect(self.index) as db:
            self.row = dict(zip(names, db.execute("SELECT %s FROM job" % ", ".join('"%s"' % n for n in names)).fetchone()))

    def call(self, *args):
        p = subprocess.run([JOBPROF, *args], capture_output=True, text=True, env=plain_env(XDG_DATA_HOME=self.home, TZ="UTC"))
        if p.returncode or p.stderr:
            raise Failed("jobprof %s: %d, %s" % (" ".join(args), p.returncode, p.stderr))
        return p.stdout

    def alike(self):
        return json.loads(self.call("report", "--json", self.file))["alike"]

    def others(self, rows):
        """Only these are there beside the job."""
        with sqlite3.connect(self.index) as db:
            db.execute("DELETE FROM job WHERE job_id <> 77")
        put(self.index, [{"cluster": "c", "job_id": 1000 + i, "start": int(self.row["start"]) - 5000 - i, "elapsed_s": 100, "sources": 3, "cpus": 4, "state": "COMPLETED",
                          "file": "/p/job_%d.h5" % i, "finding_list": [], **r} for i, r in enumerate(rows)])


def expected(row, others):
    """By the shares alone: what more than nine of ten had less of."""
    best = None
    for name, text in SHARES.items():
        known = [r for r in others if r.get("program") == row["program"] and r.get(name) is not None]
        users = {r["user"] for r in known}
        if row[name] is None or row[name] < 0.05 or len(known) < 30 or len(users) < 3:
            continue
        than = sum(r[name] < row[name] for r in known) / len(known)
        if than > 0.9 and (not best or than > best["than"]):
            best = {"of": text, "share": row[name], "than": than, "jobs": len(known), "users": len(users), "program": row["program"]}
    return best


def equal(got, wanted):
    return got == wanted or got and wanted and got.keys() == wanted.keys() and all(
        math.isclose(got[k], v, rel_tol=1e-9) if isinstance(v, float) else got[k] == v for k, v in wanted.items())


def jobs_of_its_program():
    own = Own()
    row, key = own.row, max(SHARES, key=lambda k: own.row[k] or 0)
    is_true("the job does little with its time", row[key] > 0.3, row)
    is_equal("of an index with this job alone nothing is said", own.alike(), None)

    def others(n, below, users=3, **more):
        return [{"user": "u%d" % (i % users), "program": row["program"], "name": "x", key: row[key] * (0.5 if i < below else 1.001), **more} for i in range(n)]
    for title, rows in (("30 jobs of 3 users", others(30, 29)), ("29 jobs", others(29, 29)), ("2 users", others(60, 60, users=2)), ("nine of ten", others(30, 27)),
                        ("28 of 30", others(30, 28)), ("of another program", others(40, 40, program="other")), ("fewer than that", others(50, 3)),
                        ("those that do not say it count as none", others(29, 29) + others(20, 20, **{key: None})),
                        ("more users do not say it", others(40, 40, users=2) + [{"user": "u9", "program": row["program"], "name": "x"}])):
        own.others(rows)
        got, wanted = own.alike(), expected(row, rows)
        is_true("report, %s: %s" % (title, "said" if wanted else "silent"), equal((got or {}).get("more"), wanted), (got, wanted))
    rows = others(200, 195)
    for i, r in enumerate(rows):
        r.update({k: (row[k] or 0) * (0.2 + i / 199) for k in SHARES if k != key})
    own.others(rows)
    got, wanted = own.alike(), expected(row, rows)
    is_true("report, all shares known: what is least usual", equal(got["more"], wanted), (got, wanted))
    line = "more %s than %d %% of %d other jobs of %s here" % (wanted["of"], wanted["than"] * 100, wanted["jobs"], row["program"])
    text = own.call("report", own.file)
    is_true("report: the line of the page", line in " ".join(text.split()) and max(map(len, text.split("\n"))) <= 80, text)
    page = own.call("report", "--html", "-", own.file)
    is_equal("report: the page in a browser has it", json.loads(re.search(r'id="data">(.*?)</script>', page, re.S).group(1))["alike"], got)
    own.call("report", "--store", own.file)
    own.call("index", "scan", own.dir, "--database", own.index)
    is_true("report: that which is stored in the file, too", own.call("report", "--html", "-", own.file) == page, got)
    own.others([])
    is_true("report: as it is now", own.call("report", "--html", "-", own.file) != page, got)


def earlier_runs():
    own = Own()
    row = own.row
    like = lambda i, s, **more: {"user": row["user"], "program": row["program"], "name": "run%d" % i, "nodes": row["nodes"], "tasks": row["tasks"], "elapsed_s": s, **more}
    later = int(row["start"]) + 10
    for title, rows, used in (
            ("two", [like(1, 700), like(2, 900)], []), ("three", [like(1, 700), like(2, 900), like(3, 950)], [700, 900, 950]),
            ("four", [like(i, 600 + 100 * i) for i in range(4)], [600, 700, 800, 900]),
            ("others are not earlier runs", [like(i, 500) for i in range(3)] + [like(9, 9000, start=later), like(5, 1, state="FAILED"), like(6, 8000, tasks=7),
                                                                             like(7, 8000, user="somebody"), like(8, 8000, name="walk8")], [500, 500, 500])):
        own.others(rows)
        got = (own.alike() or {}).get("earlier")
        wanted = {"runs": len(used), "median_s": statistics.median(used), "elapsed_s": row["elapsed_s"]} if used else None
        is_true("report, earlier runs: %s" % title, equal(got, wanted), (got, wanted))
    text = own.call("report", own.file)
    is_true("report: the line of earlier runs", "earlier runs   this one took 2.4 times the median of the 3 before, 8:20" in text, text)
    os.utime(own.file, (1e9, 1e9))
    is_equal("of a file that is another one by now nothing is said", own.alike(), None)


def no_index():
    own = Own()
    for name, text in (("none", None), ("no database", b"x" * 5000), ("empty", b"")):
        shutil.rmtree(os.path.join(own.home, "jobprof"))
        if text is not None:
            os.mkdir(os.path.join(own.home, "jobprof"))
            with open(own.index, "wb") as f:
                f.write(text)
        is_equal("report with %s for an index is silent" % name, own.alike(), None)
        is_true("and makes none: %s" % name, os.path.exists(own.index) == (text is not None) and (text is None or os.path.getsize(own.index) == len(text)), os.listdir(own.home))
        os.makedirs(os.path.join(own.home, "jobprof"), exist_ok=True)


if __name__ == "__main__":
    run_tests([many_jobs, cut_off, jobs_of_its_program, earlier_runs, no_index])
