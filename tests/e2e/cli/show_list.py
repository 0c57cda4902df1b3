#!/usr/bin/python3
# timeout: 120
# SPDX-License-Identifier: GPL-2.0-or-later
"""jobprof show of files that jobprof-writer made and of spoilt ones, against h5py; jobprof list and
its manual page against the file."""

import sys
sys.path.insert(0, sys.path[0] + "/../../lib")
from storelib import *


def show_says_what_h5py_says():
    import json
    path = published()
    r = sh(JOBPROF, "show", "--json", path)
    if r.returncode:
        raise Failed(r.stderr)
    node = json.loads(r.stdout)["nodes"][0]
    with h5py.File(path, "r") as f:
        for t in node["tasks"]:
            rows = f["n1/Tasks"][t["task"]][:]
            for c, v in t["sum"].items():
                if not numpy.isclose(v, numpy.nansum(rows[c]), rtol=1e-12):
                    raise Failed("sum of " + c)
            for c, v in t["max"].items():
                want = None if c.startswith("GPU") else float(numpy.nanmax(rows[c]))
                if v != want:
                    raise Failed("max of %s: %s" % (c, v))
            counts = [f["n1/RunLatency"][t["task"]]["B%d" % k].sum() for k in range(40)]
            below = numpy.cumsum(counts)
            for q in (50, 90, 99):
                k = int(numpy.searchsorted(below, q / 100 * below[-1]))
                if t["run_latency"]["p%d_below_ns" % q] != 2.0 ** (k + 1):
                    raise Failed("p%d" % q)
            end = (rows["TimeNS"][-1] - f["n1"].attrs["Start TimeNS"][0]) / 1e9
            lived = rows["TimeNS"][rows["Threads"] > 0]
            lived = (lived[-1] - f["n1"].attrs["Start TimeNS"][0]) / 1e9 if len(lived) else end
            if abs(t["wall_s"] - lived) > 1e-5:
                raise Failed("wall")
            if not numpy.isclose(t["cpu_efficiency"], rows["CPUTime"].sum() / end / 2, rtol=1e-6):
                raise Failed("efficiency")
    is_equal("show --json, node", (node["job"], node["step"], node["node"]), ("7", "0", "n1"))
    is_equal("show --json, attributes", node["attributes"]["Start TimeNS"], 1795226680123456789)
    ok("show_says_what_h5py_says")


def show_prints_a_page():
    path = published()
    text = sh(JOBPROF, "show", "--all", path, env=dict(os.environ, LC_ALL="C.UTF-8")).stdout
    for word in ("job 7 step 0 on n1", "task 0:", "task 1:", "run queue", "step: all processes",
                 "Mode exact: ", "Unknown Columns: GPUMemMB", "collector:", "█"):
        if word not in text:
            raise Failed("no %r in the page" % word)
    text = sh(JOBPROF, "show", path, env=dict(os.environ, LC_ALL="C.UTF-8")).stdout
    is_true("page fits 80 columns", max(map(len, text.splitlines())) <= 80, text)
    text = sh(JOBPROF, "show", path, env=dict(os.environ, LC_ALL="C")).stdout
    is_true("page without UTF-8 is ASCII", text.isascii() and "@" in text, text)
    for wide, names in ((True, {"LANG": "ab_CD.utf8@x"}), (True, {"LC_ALL": "", "LC_CTYPE": "C.UTF-8"}),
                        (False, {"LC_CTYPE": "C", "LANG": "C.UTF-8"}), (False, {"LANG": "de_DE"}),
                        (False, {"LANG": "ab_CD.UTF-16"}), (False, {})):
        env = {k: v for k, v in os.environ.items() if k not in ("LC_ALL", "LC_CTYPE", "LANG")}
        text = sh(JOBPROF, "show", path, env=dict(env, **names)).stdout
        is_true("drawn for %s" % names, ("█" in text) == wide == (not text.isascii()), text)
    for name, words in (("7_0_p1.h5", ("job 7 step 0 on p1", "task 1:")),
                        ("2_0_p1.h5", ("job 2 step 0 on p1",)),
                        ("job_7.h5", ("step 0 on p2", "step batch on p1", "step 1 on p1"))):
        r = sh(JOBPROF, "show", os.path.join(DATA, name))
        is_true("page of Slurm's " + name, not r.returncode and all(w in r.stdout for w in words),
                r.stdout + r.stderr)


def show_does_not_trust_the_file():
    d = tmpdir()
    evil = os.path.join(d, "1_0_x.h5")
    t = numpy.dtype([("ElapsedTime", "<u8"), ("CPUTime", "<f8")])
    with h5py.File(evil, "w") as f:
        n = f.create_group("x\x1b]0;owned\x07\n")
        n.attrs["User"] = numpy.array([b"\x1b[31mred\xff"], "S9")
        n.attrs["End Reason"] = "variable length"
        n.attrs["Number of Tasks"] = numpy.arange(5)
        tasks = n.create_group("Tasks")
        tasks.create_dataset("0", data=numpy.zeros(2, t))
        tasks["1"] = h5py.ExternalLink("/etc/passwd", "/x")
        tasks["2"] = h5py.SoftLink("/nowhere")
        f["y"] = h5py.ExternalLink(os.path.join(DATA, "7_0_p1.h5"), "/p1")
    r = sh(JOBPROF, "show", evil)
    is_true("control characters of the file are shown, not sent", not r.returncode and
            "\x1b" not in r.stdout and "\\x1b" in r.stdout and "\x07" not in r.stdout, r.stderr)
    is_true("links out of the file are not followed", "on p1" not in r.stdout and
            "task 1" not in r.stdout, r.stdout)
    outside = os.path.join(d, "2_0_x.h5")
    dcpl = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    dcpl.set_external(b"/etc/passwd", 0, h5py.h5f.UNLIMITED)
    with h5py.File(outside, "w") as f:
        g = f.create_group("x/Tasks")
        h5py.h5d.create(g.id, b"0", h5py.h5t.py_create(t), h5py.h5s.create_simple((10,)), dcpl)
    r = sh(JOBPROF, "show", outside)
    is_true("bytes of another file are not read", r.returncode == 1 and
            r.stderr.count("\n") == 1, r.stdout + r.stderr)
    huge = os.path.join(d, "3_0_x.h5")
    with h5py.File(huge, "w") as f:
        f.create_dataset("x/Tasks/0", shape=(1 << 40,), maxshape=(None,), chunks=(10,), dtype=t)
    r = sh(JOBPROF, "show", huge)
    is_true("rows that cannot be there are not believed", r.returncode == 1 and
            "claims more than the file can hold" in r.stderr, r.stdout + r.stderr)
    for path in ("/nonexistent.h5", "/etc/passwd", tmpdir(), "/dev/null"):
        r = sh(JOBPROF, "show", path)
        if r.returncode != 1 or r.stderr.count("\n") != 1:
            raise Failed("show %s: %d %s" % (path, r.returncode, r.stderr))
    ok("other files get one line")


def verbs():
    r = sh(JOBPROF, "shwo")
    is_equal("unknown verb names the nearest", (r.returncode, '"show"' in r.stderr), (2, True))
    is_equal("no verb", sh(JOBPROF).returncode, 2)
    is_equal("help", (sh(JOBPROF, "help").returncode, sh(JOBPROF, "--help").returncode), (0, 0))
    is_true("version", sh(JOBPROF, "--version").stdout.startswith("jobprof "), "")
    is_equal("show without a file", sh(JOBPROF, "show").returncode, 2)


def list_is_the_schema():
    import json
    every = json.loads(sh(JOBPROF, "list", "--json").stdout)
    is_equal("series", [s["name"] for s in every], SERIES)
    with h5py.File(published(), "r") as f:
        for s in every:
            d = f["n1"][s["name"]]
            names = (d["0"] if s["grouped"] else d).dtype.names
            is_equal("columns of " + s["name"], [c["name"] for c in s["columns"]], list(names))
            docs = [r["Description"].decode() for r in f["n1/Columns"][:] if r["Table"].decode() == s["name"]]
            is_equal("a description of each column of " + s["name"], len(docs), len(s["columns"]))
            is_equal("descriptions of %s that end within a clause" % s["name"], [
                doc for doc, c in zip(docs, s["columns"])
                if not c["description"].startswith(doc) or doc.count("(") != doc.count(")") or
                not doc.endswith(".") and not re.match(r"$| ?[,:;(]", c["description"][len(doc):])], [])
    text = sh(JOBPROF, "list", "-s", "step").stdout
    is_true("list of one series", "MemLimitMB" in text and "B0" not in text, text)
    r = sh(JOBPROF, "list", "-s", "Tsks")
    is_equal("unknown series", (r.returncode, '"Tasks"' in r.stderr), (2, True))


def manual_page_is_clean():
    page = sh(JOBPROF, "list", "--man").stdout
    for cmd in (["groff", "-man", "-ww", "-Tutf8", "-z"], ["mandoc", "-T", "lint", "-W", "warning"]):
        if not shutil.which(cmd[0]):
            print("# no " + cmd[0])
            continue
        r = subprocess.run(cmd, input=page, capture_output=True, text=True)
        is_true("manual page: " + cmd[0], not r.returncode and not (r.stdout + r.stderr).strip(),
                r.stdout + r.stderr)
    text = subprocess.run(["man", "-l", "-"], input=page, capture_output=True, text=True,
                          env=dict(os.environ, MANWIDTH="80", LC_ALL="C.UTF-8")).stdout
    is_true("manual page has every kind of thing", all(w in text for w in (
        "RunDelay", "Blind spot", "B0 ... B39", "2^k")), text[:200])


if __name__ == "__main__":
    run_store_tests([show_says_what_h5py_says, show_prints_a_page, show_does_not_trust_the_file,
                      verbs, list_is_the_schema, manual_page_is_clean])
