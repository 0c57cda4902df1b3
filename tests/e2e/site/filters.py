#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The filters that verbs on the index have in common: lists of nodes and jobs, shares, a time at which jobs ran, jobs without a profile; what is
no value is refused, and what the index has none of is named to who may know."""

import jobs
from jobs import *


def ranges():
    path, rows = index()
    busy = sorted((r for r in rows if r["node_names"] and len(r["node_names"]) > 8), key=lambda r: r["start"])[-1]
    at = [time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(t)) for t in (busy["start"], busy["end"] - 1, busy["end"], rows[len(rows) // 2]["start"] + 60)]
    task = next(r for r in rows if r["array_task"])
    het = next(r for r in rows if r["het_id"])
    word = "%d_%d" % (task["array_id"], task["array_task"])
    options = [{"--node": "n1,n2"}, {"--node": "n[1-3,7],n900"}, {"--node": "n[100-140]", "--cluster": "alpha"}, {"--node": "n[1-400]"},
               {"--node": busy["node_names"][-1], "--ran-at": at[1]}, *({"--ran-at": t} for t in at), {"--finding": "unknown"},
               {"--cpu-share": "0-30"}, {"--cpu-share": "90-"}, {"--cpu-share": "33.3-66.7", "--nodes": "2-"}, {"--memory-share": "0-5"},
               {"--memory-share": "100-"}, {"--limit-share": "100-"}, {"--limit-share": "0-1", "--cpu-share": "50-"}, {"--jobs": word},
               {"--jobs": "%s,%d+0,%d" % (word, het["het_id"], busy["job_id"])}, {"--jobs": "%d" % task["array_id"]}]
    some = 0
    for each in options:
        # with --ran-at the 30 days before are the default
        got, want = as_json("jobs", "--database", path, "--all", *([] if "--ran-at" in each else ["--since", "all"]), *words_of(each)), wanted(rows, each, "UTC")
        is_equal("jobs %s" % " ".join(words_of(each)), faults(got["rows"], want), [])
        some += bool(want)
    is_true("jobs: most of these filters find some", some > len(options) * 2 / 3, some)
    for verb in (("usage", "--by", "user"), ("usage", "--by", "name"), ("issues",)):
        for each in options[::4]:
            n = sum(1 for r in rows if chosen_by(each, "UTC")(r) and (verb[0] == "usage" or r["is_eligible"]))
            got = as_json(*verb, "--database", path, *([] if "--ran-at" in each else ["--since", "all"]), *words_of(each))["sum"]
            is_equal("%s %s: as many jobs" % (" ".join(verb), " ".join(words_of(each))), got["jobs" if verb[0] == "usage" else "runs"], n)
    long = [r for r in rows if r["start"] <= instant(at[3], "UTC") < r["end"]]
    got = as_json("jobs", "--database", path, "--since", "all", "--ran-at", at[3], "--all")["rows"]
    is_equal("jobs --ran-at with --since all: whenever they began", sorted(r["job_id"] for r in got), sorted(r["job_id"] for r in long))


def short_states():
    path, rows = index()
    for short, name in (("TO", "TIMEOUT"), ("cd", "COMPLETED"), ("oom,nf", "OUT_OF_MEMORY,NODE_FAIL"), ("Preempted", "PREEMPTED"),
                        ("CANCELLED by 1000", "CANCELLED")):
        is_equal("jobs --state %s" % short, ask(path, {"--state": short})["matching"], sum(r["state"] in name.split(",") for r in rows))


def ids():
    """Jobs that -j names are of all times, and as seff takes them."""
    path = os.path.join(tmpdir("ids"), "index.db")
    old = {"cluster": "c", "start": 1700000000, "end": 1700000060, "elapsed_s": 60, "cpus": 2, "user": "u", "sources": 1}
    rows = [{**old, "job_id": 5, "sluid": "s5K1KKYAYG5D00", "sources": 3}, {**old, "job_id": 6, "array_id": 6, "array_task": 3}, {**old, "job_id": 7, "array_id": 6, "array_task": 4},
            {**old, "job_id": 8, "het_id": 8}, {**old, "job_id": 9, "het_id": 8}]
    with open(path + ".jsonl", "w") as f:
        f.writelines(json.dumps(r) + "\n" for r in rows)
    must("index", "import", "--database", path, path + ".jsonl")
    for words, want in (("5", [5]), ("6_3", [6]), ("6", [6, 7]), ("8+1", [9]), ("8+0,6_4", [7, 8]), ("6_9", []), ("s5K1KKYAYG5D00", [5]),
                        ("7.batch,5.0", [5, 7]), ("1000,9", [9])):
        got = as_json("jobs", "--database", path, "-j", words)
        is_equal("jobs -j %s, of jobs long ago" % words, sorted(r["job_id"] for r in got["rows"]), want)
        is_equal("usage -j %s" % words, as_json("usage", "--database", path, "-j", words, "--by", "user")["sum"]["jobs"], len(want))
        is_equal("issues -j %s" % words, as_json("issues", "--database", path, "-j", words)["by"], "project")
    for order in (("-S", "7d", "-j", "5"), ("-j", "5", "-S", "7d")):
        is_equal("jobs %s: the time that is said counts" % " ".join(order), as_json("jobs", "--database", path, *order)["matching"], 0)
    is_equal("digest -j: of 7 days, unless another time is said", [as_json("digest", "--database", path, "-j", "5", *more)["total"]["jobs"] for more in ((), ("--since", "2020-01"))], [0, 1])
    is_true("jobs -j as text: no time is said", "since" not in must("jobs", "--database", path, "-j", "5").splitlines()[0], "")


WRONG = [("--finding", "mem.ovr", "mem.over"), ("--finding", "no.such.rule.at.all", "rule"), ("-s", "timeot", "TIMEOUT"), ("-s", "failed,", "state"),
         ("-s", "comp_eted", "COMPLETED"), ("-j", "x", "x"), ("-j", "5,", "JobID"), ("-j", "0", "zero"), ("-j", "6_x", "6_x"), ("-w", "n[1-", "n[1-"), ("-w", "n[5-2]", "n[5-2]"),
         ("-w", ",", "list of nodes"), ("--cpu-share", "5", "percent"), ("--cpu-share", "9-5", "percent"), ("--memory-share", "x-", "percent"),
         ("--limit-share", "-5", "percent"), ("-N", "4-2", "range"), ("--ran", "2h-1h", "range"), ("--ran-at", "all", "one time"), ("--ran-at", "noon", "noon"),
         ("--tag", "memory", "tag"), ("--finding", "\udcff", "rule"), *((o, "", "empty") for o in ("-u", "-A", "-n", "--program", "-r", "-M", "--signature"))]


def words_that_are_none():
    path, _ = index()
    for verb in (("jobs",), ("usage",), ("usage", "--io"), ("issues",), ("advice",), ("digest",)):
        for option, value, said in WRONG if verb == ("jobs",) else WRONG[::3]:
            p = call(*verb, "--database", path, "--since", "2026-10", option, value)
            is_equal("%s %s %s is refused" % (" ".join(verb), option, value), [p.returncode, p.stdout, said in p.stderr], [2, "", True])
        p = call(*verb, "--database", path, "--since", "2026-11-02", "--until", "2026-11-01")
        is_equal("%s: an end before the begin" % " ".join(verb), [p.returncode, "--until 2026-11-01 is not after --since 2026-11-02" in p.stderr], [2, True])
        p = call(*verb, "--database", path, "--csv", "--json")
        is_equal("%s --csv --json" % " ".join(verb), [p.returncode, p.stdout, "one of" in p.stderr], [2, "", True])
    p = call("jobs", "--database", path, "--until", "2020-01")
    is_equal("jobs: an end before the default begin", [p.returncode, "which is the default" in p.stderr], [2, True])
    p = call("jobs", "--database", path, "--ran-at", "2026-11-01", "--since", "2026-11-02")
    is_equal("jobs --ran-at before --since", [p.returncode, "--since 2026-11-02 is after --ran-at 2026-11-01" in p.stderr], [2, True])
    is_equal("an end equal to the begin", call("digest", "--database", path, "--since", "2026-11-01", "--until", "2026-11-01").returncode, 2)
    p = call("jobs", "--database", path, "--since", "all", "-w", "n[1-1000]")
    is_equal("jobs -w of more nodes than a question can have", [p.returncode, "too many words, 1000" in p.stderr], [2, True])
    p = call("jobs", "--database", path, "--since", "all", "-w", "n[1-99999999]")
    is_equal("jobs -w of more nodes than there are", [p.returncode, "too many words" in p.stderr], [2, True])


def hints():
    path, rows = index()
    task = next(r for r in rows if r["array_task"])
    for options, said in ((["-r", "bacth"], "no partition bacth"), (["-u", "user1,nosuch"], None), (["-u", "nosuch,nix"], "no user nosuch, no user nix"),
                          (["-A", "pp"], "no project pp"), (["-M", "gamma", "-r", "bacth"], "no cluster gamma, no partition bacth"),
                          (["-w", "n[8000-8001]"], "no node n8000, no node n8001"), (["-u", "\x1b[2J"], "no user \\x1b[2J"),
                          (["-u", "user1", "--name", "no such name"], None), (["-j", "999999,7_2"], "no job 999999, no job 7_2"), (["-j", "%d_9999" % task["array_id"]], "no job %d_9999" % task["array_id"]),
                          (["-j", "%d" % task["job_id"], "--name", "no such name"], None), (["--signature", "zzz"], "no signature zzz")):
        for verb in (("jobs",), ("usage", "--by", "name"), ("usage", "--io"), ("issues",), ("advice",), ("digest",)):
            for form in ((), ("--json",)):
                p = call(*verb, "--database", path, "--since", "2026-10", *options, *form)
                lines = [l for l in p.stderr.splitlines() if "the index has no" in l]
                if said is None and "--name" not in options:
                    is_equal("%s %s: some jobs match, no hint" % (" ".join(verb + form), options), [p.returncode, lines], [0, []])
                else:
                    is_equal("%s %s: a hint" % (" ".join(verb + form), options), [p.returncode, [l.split("index has ")[1] for l in lines]],
                             [0, [said] if said else []])


def hints_are_for_staff():
    if os.geteuid():
        raise Skipped("needs root")
    path, _, public = public_index()
    for options in (("-u", "user2"), ("-u", "nosuch"), ("-r", "bacth")):
        p = as_nobody(public, "jobs", "--database", path, "--since", "all", *options)
        is_equal("nobody asks %s and is told nothing of others" % " ".join(options), [p.returncode, p.stderr], [0, ""])


def nodes_of_lists():
    d = tmpdir("lists")
    path, lines = d + "/index.db", d + "/rows.jsonl"
    row = {"cluster": "c", "start": 1790000000, "end": 1790000060, "elapsed_s": 60, "cpus": 2, "user": "u", "sources": 1}
    lists = ["n[1-3,07]", "None assigned", "n[1-", "login1", "n[1-99999999]", "n[1-30000]", "", "a[1-2]b[1-2]"]
    with open(lines, "w") as f:
        for i, text in enumerate(lists):
            f.write(json.dumps({**row, "job_id": i + 1, "node_list": text}) + "\n")
        f.write(json.dumps({**row, "job_id": 50, "node_list": "n[1-3]", "node_names": ["x1"]}) + "\n")
        f.write(json.dumps({**row, "job_id": 51, "node_list": "n[1-3]", "node_names": []}) + "\n")
    must("index", "import", "--database", path, lines)
    got = {}
    for i, node in sql(path, "SELECT j.job_id, n.node FROM job j JOIN job_node n ON n.job = j.id ORDER BY 1, 2"):
        got.setdefault(i, []).append(node)
    is_equal("import: the nodes are those of node_list", got, {1: ["n07", "n1", "n2", "n3"], 4: ["login1"], 8: ["a1b1", "a1b2", "a2b1", "a2b2"], 50: ["x1"],
                                                                       51: ["n1", "n2", "n3"]})
    is_equal("jobs -w of them", sorted(r["job_id"] for r in as_json("jobs", "--database", path, "--since", "all", "-w", "n2")["rows"]), [1, 51])


if __name__ == "__main__":
    run_tests((ranges, short_states, ids, words_that_are_none, hints, hints_are_for_staff, nodes_of_lists))
