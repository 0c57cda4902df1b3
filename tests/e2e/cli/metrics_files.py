#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What is installed beside jobprof exporter: rules and alerts by promtool, the dashboard against what the exporter and the pages have, its unit; and the
metrics of an index."""

import contextlib
import shutil
import sqlite3
import sys
sys.path.insert(0, sys.path[0] + "/../../lib")
from sitelib import *
from metricslib import parse, of, promtool

CONF = os.path.join(ROOT, "conf/metrics")
EXPOSURE_MAX = 2.0
HOSTILE = 'cpu."idle\\ } 1'


def slurp_json(name):
    with open(os.path.join(CONF, name)) as f:
        return json.load(f)


def sources():
    """All metrics that the exporter can have, by the texts in its sources."""
    text = ""
    for path in ("user/daemon/socket/control_metrics.c", "user/cmd/jobprof/exporter/exporter.c", "user/cmd/jobprof/exporter/exporter_index.c"):
        with open(os.path.join(ROOT, path)) as f:
            text += f.read()
    return {"jobprof_" + n for n in re.findall(r'"((?:job|node|index|lost|writer|program|bpf|up|scrape|jobs)[a-z_]*)"', text)}


def rules():
    path = os.path.join(CONF, "rules.yml")
    p = promtool("check", "rules", path)
    is_true("promtool check rules", p.returncode == 0 and "16 rules found" in p.stdout, p.stdout + p.stderr)
    top = tmpdir("rules")
    shutil.copy(path, top)
    shutil.copy(os.path.join(ROOT, "tests/data/metrics/rules_test.yml"), top)
    p = subprocess.run(["promtool", "test", "rules", "rules_test.yml"], cwd=top, capture_output=True, text=True)
    is_equal("promtool test rules", (p.returncode, p.stdout.count("SUCCESS")), (0, 1))
    with open(path) as f:
        text = f.read()
    with open(os.path.join(ROOT, "tests/data/metrics/rules_test.yml")) as f:
        tested = f.read()
    alerts = re.findall(r"alert: (\w+)", text)
    is_true("eight alerts, each with a test", len(alerts) == 8 and all(tested.count("alertname: " + a) >= 2 for a in alerts), alerts)
    used = set(re.findall(r"(?<![:a-z_])jobprof_[a-z_]+", re.sub("name: jobprof_.*", "", text)))
    is_equal("rules ask for what there is", sorted(used - sources()), [])


def dashboard():
    d = slurp_json("grafana.json")
    exprs = [t["expr"] for p in d["panels"] for t in p["targets"]]
    known = sources()
    with open(os.path.join(CONF, "rules.yml")) as f:
        known |= set(re.findall(r"record: (\S+)", f.read()))
    used = {w for e in exprs for w in re.findall(r"[a-z_]*:?jobprof_[a-z_:0-9]+", e)}
    is_equal("the dashboard asks for what there is", sorted(used - known), [])
    with open(os.path.join(ROOT, "user/cmd/jobprof/serve_page.c")) as f:
        pages = set(re.findall(r'\{"/([a-z]+)"', f.read())) | {"job"}
    urls = [l["url"] for p in d["panels"] for l in p["fieldConfig"]["defaults"]["links"]] + [l["url"] for l in d["links"]]
    to = {re.match(r"\$\{serve\}/([a-z]+)", u)[1] for u in urls}
    is_true("its links open pages of jobprof serve", {"job", "jobs", "node", "running"} <= to <= pages, (to, pages))
    is_true("panels: numbers differ, and each has one place", len({p["id"] for p in d["panels"]}) == len(d["panels"]) ==
            len({(p["gridPos"]["x"], p["gridPos"]["y"]) for p in d["panels"]}), "")
    for e in exprs:
        plain = re.sub(r'\$(account|partition)', "x", e)
        top = os.path.join(tmpdir("expr"), "r.yml")
        with open(top, "w") as f:
            json.dump({"groups": [{"name": "x", "rules": [{"record": "x", "expr": plain}]}]}, f)
        p = promtool("check", "rules", top)
        if p.returncode:
            raise Failed("promtool: %s: %s" % (e, p.stderr))
    ok("promtool understands its questions")
    named = [(l["url"], t["expr"]) for p in d["panels"] for l in p["fieldConfig"]["defaults"]["links"] for t in p["targets"] if "/node?" in l["url"]]
    is_equal("links to nodes are by the label node", [u for u, _ in named if not u.endswith("/node?node=${__field.labels.node}")], [])
    of_node = sorted({e for _, e in named if "jobprof_node_" in e})
    series = ('jobprof_node_cpu_seconds_total{instance="n1:10270",mode="job"}', 'jobprof_node_energy_joules_total{instance="n1.site:10270",part="dram"}')
    with open(os.path.join(tmpdir("names"), "t.yml"), "w") as f:
        json.dump({"tests": [{"interval": "1m", "input_series": [{"series": s, "values": "0+60x20"} for s in series], "promql_expr_test": [
            {"expr": e, "eval_time": "10m", "exp_samples": [{"labels": '{node="n1", %s}' % s.rstrip("}").split(",")[-1], "value": 1}]}
            for e, s in zip(of_node, series)]}]}, f)
    p = promtool("test", "rules", f.name)
    is_equal("which is the node's name, without a port or a domain", (len(of_node), p.returncode), (2, 0))


def unit():
    with open(os.path.join(ROOT, "conf/jobprof-exporter.service.in")) as f:
        text = f.read().replace("@PREFIX@/bin", os.path.dirname(JOBPROF))
    is_equal("unit: its own user, and no capability", [line in text.splitlines() for line in ("User=jobprof-exporter", "CapabilityBoundingSet=", "NoNewPrivileges=yes")], [True] * 3)
    path = os.path.join(tmpdir("unit"), "jobprof-exporter.service")
    with open(path, "w") as f:
        f.write(text)
    is_hardened(path, EXPOSURE_MAX)


def index():
    path, rows = make(site(jobs=400))
    with contextlib.closing(sqlite3.connect(path)) as db:
        needed = [c[1:3] for c in db.execute("PRAGMA table_info(running)").fetchall() if c[3] and not c[5]]
        values = {**{n: "" if t == "TEXT" else 1 for n, t in needed}, "rule": HOSTILE, "severity": 2}
        db.execute("INSERT INTO running (%s) VALUES (%s)" % (", ".join('"%s"' % n for n in values), ", ".join("?" * len(values))), list(values.values()))
        db.commit()
    p = call("exporter", "--once", "--index", "--database", path)
    is_equal("an index: status", (p.returncode, p.stderr), (0, ""))
    got = parse(p.stdout)
    is_equal("an index: up, and its rows", (of(got, "up"), of(got, "index_rows_total")), (1, len(rows)))
    is_equal("an index: findings of running jobs", of(got, "job_findings", rule=HOSTILE, severity="bad"), 1)
    is_true("an index: nothing of a node", not [n for n, _ in got if n.startswith("jobprof_node")], got)
    checked = promtool("check", "metrics", text=p.stdout)
    is_equal("promtool check metrics", (checked.returncode, checked.stdout + checked.stderr), (0, ""))
    p = call("exporter", "--once", "--index", "--database", tmpdir("none") + "/index.db")
    is_equal("no index: not up", (p.returncode, of(parse(p.stdout), "up")), (0, 0))


run_tests((rules, dashboard, unit, index))
