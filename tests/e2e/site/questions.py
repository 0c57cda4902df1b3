#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What support staff ask, answered in a browser from the first page on by clicks and typing alone: each answer that a page shows is that of
SQL on the index, after 4 clicks at most. How each is asked: tests/web/site-questions.js."""

import datetime
import os
import statistics
import sys

sys.path.insert(0, os.path.realpath(__file__ + "/../../../lib"))
sys.path.insert(0, os.path.realpath(__file__ + "/.."))
import nodes
from browser import *
from sitelib import DAY
from squeuelib import put_rows, running_rows

MOST = 4  # clicks
while DAY - time.time() % DAY < 90:  # pages begin at a midnight, and that may not come meanwhile
    time.sleep(5)
NOW = steady_now()
MIDNIGHT = NOW - NOW % DAY
WEEK, MONTH = MIDNIGHT - 7 * DAY, MIDNIGHT - 30 * DAY
AGO = 21 * DAY  # when users were written to
AT = nodes.BEGIN + 3000  # a time at which jobs are on n1


def ordinary():
    """Jobs of 40 days. Nodes of each cluster have names of their own."""
    for r in site(jobs=900, users=14, projects=9, days=40, end=NOW - 3600, hostile=False, at=()).rows():
        first = r["cluster"][0]
        yield {**r, "node_list": r["node_list"] and first + r["node_list"], "node_names": [first + n for n in r["node_names"] or ()]}


def made(number, start, took, **more):
    return {"cluster": "alpha", "job_id": number, "start": start, "end": start + took, "elapsed_s": took, "cpus": 8, "cores": 8.0, "held_core_s": 8.0 * took, "cpu_s": 7.0 * took, "nodes": 1, "tasks": 8, "account": "proj01",
            "state": "COMPLETED", "sources": 3, "findings": 0, "finding_list": [], **more}


def on_slow_nodes():
    """Runs of three applications on seven nodes, of which one needs a quarter longer."""
    for k in range(168):
        app, at = k % 3, 1 + k % 7
        took = round(1000 * (1 + app) * (1 + 0.002 * ((k * 7919) % 11 - 5)) * (1.25 if at == 5 else 1))
        yield made(700000 + k, NOW - 6 * DAY + k * 2900, took, user="speedy", name="app%s" % "abc"[app], program="/opt/bin/app%d" % app, node_names=["s%d" % at])


def of_slower():
    """An application that needs half as long again since five days."""
    for k in range(20):
        start = NOW - 12 * DAY + k * 14 * 3600
        yield made(710000 + k, start, 2400 if start > NOW - 5 * DAY else 1600, user="slowed", name="model", program="/opt/bin/model")


def of_contacts():
    """Two users who were written to, of whom one then lost a tenth."""
    for u, user in enumerate(("helped", "stayed")):
        for k in range(30):
            start = NOW - 39 * DAY + k * 30 * 3600 + 60
            cost = 90.0 if user == "helped" and start > NOW - AGO else 900.0
            yield made(800000 + 100 * u + k, start, 3600, user=user, account="proj02", name="work", program="/opt/bin/work", findings=1, worst_rule="cpu.unused", worst_severity=1, cost_core_s=cost, lost_core_s=cost,
                       finding_list=[{"id": "cpu.unused", "severity": "warn", "cost": {"core_s": cost}, "text": "cores without work", "remedy": "r", "remedy_kind": "sentence", "where": ""}])


@functools.cache
def staffs_index():
    path, lines, jobs = (os.path.join(tmpdir("asked"), n) for n in ("index.db", "rows.jsonl", "jobs"))
    with open(lines, "w") as f:
        for r in (*ordinary(), *on_slow_nodes(), *of_slower(), *of_contacts()):
            if all(abs(r["start"] - m) > 900 for m in range(MIDNIGHT - 60 * DAY, MIDNIGHT + 2 * DAY, DAY)):
                f.write(json.dumps({k: v for k, v in r.items() if v is not None}) + "\n")
    must("index", "import", "--database", path, lines)
    for number, begin, wall, more in ((11, 0, 7000, {}), (12, 600, 5000, {}), (13, 9000, 1234, {"wait": 0.9})):
        own = os.path.join(jobs, USER, "job_%d.h5" % number)
        nodes.job(own, nodes.BEGIN + begin, number, wall, user=USER, cluster="alpha", **more)
        if os.geteuid() == 0:
            shutil.chown(own, USER)
    must("index", "scan", jobs, "--database", path)
    for user, ticket in (("helped", "T1"), ("stayed", "T2")):
        must("contacted", user, "--finding", "cpu.unused", "--ticket", ticket, "--at", str(NOW - AGO), "--database", path)
    put_rows(path, list(running_rows(80)))
    return path


# ---- what SQL has to say

def ask(sql, *args):
    return query(staffs_index(), sql, *args)


def best(what, by, since, *more):
    """Of the group that has most of something: its name, and sums."""
    key, *rest = ask("SELECT %s, %s FROM job WHERE start >= ? GROUP BY 1 ORDER BY %s DESC LIMIT 1" % (by, ", ".join((what, *more)), what), since)[0]
    return [key, *rest]


def few(v):
    """As pages write a number: whole from 100 on, else three digits."""
    return "{:,}".format(round(v)) if v >= 99.95 else "%.1f" % v if v >= 9.995 else "%.2f" % v


def hours(s):
    return few(s / 3600)


HELD, LOST, JOBS = "sum(held_core_s)", "sum(lost_core_s)", "count(*)"


def wastes():
    user, lost = best(LOST, '"user"', MONTH)
    return [[user, hours(lost)]]


def project():
    account, lost, held = best(LOST, "account", MONTH, HELD)
    part = 100 * lost / held
    return [[account, hours(lost), "%.*f %%" % (part < 9.95, part)]]


def holds():
    account, held = best(HELD, "account", MONTH)
    return [[account, hours(held)]]


def program():
    path, held, jobs = best(HELD, "program", MONTH, JOBS)
    return [[path, str(jobs), hours(held)]]


def memory():
    return sorted([user, str(n)] for user, n in ask("SELECT \"user\", count(*) FROM job WHERE start >= ? AND state = 'OUT_OF_MEMORY' GROUP BY 1", MONTH))


def jobs():
    """An array is one row."""
    return [[str(job), hours(lost)] for job, lost in ask("SELECT COALESCE(array_id, job_id), sum(lost_core_s) FROM job WHERE start >= ? GROUP BY cluster, COALESCE(array_id, -id) ORDER BY 2 DESC LIMIT 5", WEEK)]


ID = "CASE WHEN array_id IS NULL THEN '' || job_id ELSE array_id || '_' || array_task END"


def most_io():
    job, rate = ask("SELECT %s, (read_mb + write_mb) * 1048576 / elapsed_s FROM job WHERE start >= ? AND read_mb + write_mb > 0 ORDER BY 2 DESC LIMIT 1" % ID, MONTH)[0]
    return [[job, few(rate / 2**20)]]


def last_jobs(user):
    return [r[0] for r in ask("SELECT %s FROM job WHERE \"user\" = ? AND start >= ? ORDER BY start DESC, job_id DESC LIMIT 10" % ID, user, MONTH)]


def many_jobs(condition, since):
    n = ask("SELECT count(*) FROM job WHERE start >= ? AND %s" % condition, since)[0][0]
    return "%d job%s" % (n, "" if n == 1 else "s")


def one_job(number):
    state, code, took = ask("SELECT state, exit_code, elapsed_s FROM job WHERE job_id = ?", number)[0]
    return ["State: %s (exit code %s)" % (state, code.split(":")[0]), "Job Wall-clock time: %02d:%02d:%02d" % (took // 3600, took // 60 % 60, took % 60)]


def clock(s):
    return ("%d:%02d:%02d" % (s // 3600, s // 60 % 60, s % 60)).removeprefix("0:")


def two_jobs():
    return [clock(s) for s, in ask("SELECT elapsed_s FROM job WHERE job_id IN (11, 12) ORDER BY job_id")]


def gpus():
    return [["%s %s" % (user, account), hours(lost)] for user, account, lost in ask("SELECT \"user\", account, sum(f.cost_core_s) FROM job JOIN finding f ON f.job = job.id WHERE start >= ? AND rule = 'gpu.idle' "
            "GROUP BY \"user\", signature ORDER BY 3 DESC LIMIT 3", MONTH)]


def often():
    return ask("SELECT count(DISTINCT job) FROM finding JOIN job ON job.id = finding.job WHERE start >= ? GROUP BY rule ORDER BY 1 DESC LIMIT 1", MONTH)[0][0]


def helped():
    """What was lost of each core-hour, before and after, and what the pages call that."""
    out = []
    for user, ticket, at in ask('SELECT "user", ticket, at FROM contact'):
        (before,), (after,) = (ask("SELECT sum(lost_core_s) / sum(held_core_s) FROM job WHERE \"user\" = ? AND start %s ?" % way, user, at)[0] for way in ("<", ">="))
        change = round(100 * (after / before - 1))
        out.append([user, ticket, "%s (%s%d %%)" % ("helped" if change <= -30 else "no change", "\u2212" if change < 0 else "", abs(change))])
    return sorted(out)


def issues():
    account, idle = best("sum(idle_cpu_s)", "account", MONTH)
    return [[account, hours(idle)]]


def slow():
    """By the median of each node's runs against the median of all runs of the application."""
    runs = ask("SELECT name, elapsed_s, (SELECT node FROM job_node WHERE job = job.id) FROM job WHERE \"user\" = 'speedy' AND start >= ?", WEEK)
    usual = {app: statistics.median(t for a, t, _ in runs if a == app) for app in {a for a, _, _ in runs}}
    speed = {at: 1 / statistics.median(t / usual[a] for a, t, n in runs if n == at) for at in {n for _, _, n in runs}}
    return [[at, "\u2212%.0f %%" % (100 - 100 * v), str(sum(n == at for _, _, n in runs))] for at, v in speed.items() if v < 0.9]


def slower():
    now, before = (statistics.median(t for t, in ask("SELECT elapsed_s FROM job WHERE name = 'model' AND start %s ?" % way, WEEK)) for way in (">=", "<"))
    return [["model", clock(now), clock(before)]]


def changed():
    """The week before has as many whole days as this one, of which today is one."""
    n, held = ask("SELECT count(*), sum(held_core_s) FROM job WHERE start >= ?", WEEK)[0]
    m, was = ask("SELECT count(*), sum(held_core_s) FROM job WHERE start >= ? AND start < ?", WEEK - 8 * DAY, WEEK)[0]
    return "Held%d jobs, before %d%s core-h was %s core-h" % (n, m, hours(held), hours(was))


def stopped():
    return sorted(str(j) for j, in ask("SELECT job_id FROM running WHERE rule = 'job.stopped' AND state <> 'PENDING' AND losing_cores >= 1"))


def minute(s):
    return datetime.datetime.fromtimestamp(s, datetime.timezone.utc).strftime("%m-%d %H:%M")


def now(number):
    share, text = ask("SELECT cpu_share, text FROM running WHERE job_id = ?", number)[0]
    return [str(number), "%.0f" % (100 * share), text]


def at_node():
    """CPUs at work in the five minutes of that time, and the jobs that were there."""
    cpu = ask("SELECT sum(cpu_ms) FROM node_row r JOIN node n ON n.id = r.node WHERE n.name = 'n1' AND r.t = ?", AT // 300)[0][0] / 300e3
    return ["%s cores" % few(cpu), sorted(on_node("n1", AT, AT))]


def on_node(name, begin, end):
    return [j for j, in ask('SELECT %s FROM job JOIN job_node k ON k.job = job.id WHERE k.node = ? AND k."start" <= ? AND k."end" > ?' % ID, name, end, begin)]


def beside():
    """Who was on its node while job 11 ran."""
    begin, end = ask("SELECT start, \"end\" FROM job WHERE job_id = 11")[0]
    return sorted(on_node("n1", begin, end))


def change(user):
    cost = ask("SELECT sum(f.cost_core_s) FROM job JOIN finding f ON f.job = job.id WHERE \"user\" = ? AND start >= ? GROUP BY signature, rule ORDER BY 1 DESC LIMIT 1", user, MONTH)[0][0]
    return [user, hours(cost) + " core-h"]


def questions():
    """Name, question, the true answer, what is asked for."""
    user, id_ = best(JOBS, '"user"', MONTH)[0], ask("SELECT job_id FROM job WHERE array_id IS NULL AND restart = 0 AND state = 'FAILED' AND file IS NOT NULL AND exit_code IS NOT NULL LIMIT 1")[0][0]
    costly = ask("SELECT \"user\" FROM job JOIN finding f ON f.job = job.id WHERE start >= ? GROUP BY 1 ORDER BY sum(f.cost_core_s) DESC LIMIT 1", MONTH)[0][0]
    runs = ask("SELECT job_id FROM running WHERE rule = 'job.stopped' AND state <> 'PENDING' AND cpu_share > 0.1 LIMIT 1")[0][0]
    return (
        ("wastes", "which user wastes most core-hours in 30 days", wastes()),
        ("project", "which project lost most, and which part of what it held", project()),
        ("holds", "which project holds most", holds()),
        ("program", "which program is most used", program()),
        ("memory", "whose jobs ran out of memory", memory()),
        ("jobs", "which jobs of 7 days lost most", jobs()),
        ("io", "which job reads and writes most a second", most_io()),
        ("last", "the ten last jobs of a user", last_jobs(user), {"user": user}),
        ("idle", "how many jobs used below a tenth of their CPUs", many_jobs("cpu_s IS NOT NULL AND cpu_s < 0.1 * held_core_s", MONTH)),
        ("late", "how many jobs ran into their time limit in 7 days", many_jobs("state = 'TIMEOUT'", WEEK)),
        ("job", "what became of a job", one_job(id_), {"id": str(id_)}),
        ("compared", "how long did two runs take", two_jobs()),
        ("gpus", "whose GPUs do nothing", gpus()),
        ("often", "how many jobs have the finding that comes most often", often()),
        ("helped", "who was written to, and did that help", helped()),
        ("issues", "whose CPUs are idle by PIKA's issues", issues()),
        ("slow", "which nodes are slow", slow()),
        ("changed", "what changed since last week", changed()),
        ("slower", "which application became slower", slower()),
        ("stopped", "which running jobs have stopped", stopped()),
        ("now", "what does a running job do now", now(runs), {"id": str(runs)}),
        ("node", "what did a node do at that time", at_node(), {"node": "n1", "at": AT}),
        ("beside", "which jobs were on the node of a job", beside(), {"id": "11"}),
        ("change", "what should a user change first", change(costly), {"user": costly}),
    )


def by_clicks():
    need_browser()
    folder, asked = tmpdir("browser"), questions()
    s = Server("--database", staffs_index(), "--proxy-user", "root")
    relay = Relay(s, "root")
    with open(os.path.join(folder, "cases.json"), "w") as f:
        json.dump({"base": relay.base, "questions": [{"name": q[0], **(q[3] if len(q) > 3 else {})} for q in asked]}, f)
    p = subprocess.run(["node", os.path.join(WEB, "site-questions.js"), folder], capture_output=True, text=True, timeout=200)
    relay.shutdown()
    s.end()
    got = {r["name"]: r for r in map(json.loads, p.stdout.splitlines())}
    print("# clicks, question")
    for name, words, truth, *_ in asked:
        r = got.get(name, {"answer": p.stderr[-500:], "clicks": 0})
        print("# %6d  %s" % (r["clicks"], words))
        is_equal("%s: the answer is SQL's" % words, r["answer"], truth)
        is_true("%s: in %d clicks at most" % (words, MOST), r["clicks"] <= MOST, r["clicks"])


if __name__ == "__main__":
    run_tests((by_clicks,))
