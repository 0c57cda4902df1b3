#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""jobprof mark, emit and live, and programs with libjobprof, before a jobprofd of the test's own."""

import errno
import math
import struct
import sys
sys.path.insert(0, sys.path[0] + "/../../lib")
from lib import *
import serverlib

SOCKET = os.path.join(tmpdir("sock"), "sock")
ENV = plain_env(JOBPROF_SOCKET=SOCKET)
TIME = [("ElapsedTime", "s", 0, 0), ("TimeNS", "ns", 0, 0)]
TABLES = [("0", "Step", TIME + [("CPUTime", "s", 1, 1)], [(1, 10**9, 0.5), (2, 2 * 10**9, 1.25)]),
          ("0/Tasks", "0", TIME + [("RSS", "KiB", 0, 0)], [(2, 2 * 10**9, 1 << 60)]),
          ("0/Tasks", "1", TIME + [("RSS", "KiB", 0, 0)], [(2, 2 * 10**9, 8)]),
          ("batch/User", "solver", TIME + [("Residual", "", 1, 0)],
           [(2, 2 * 10**9, float("nan"))])]


def jobprof(*args, env=ENV):
    p = subprocess.run([JOBPROF] + list(args), env=env, stdin=subprocess.DEVNULL,
                       capture_output=True, text=True, timeout=30)
    return p.returncode, p.stdout, p.stderr


def listening(answer=None, **kw):
    return serverlib.Server(SOCKET, answer, **kw).start()


def numbers(rows):
    return struct.unpack("=q%dd" % ((len(rows["cells"]) - 8) // 8), rows["cells"])


def marks():
    s = listening()
    before = time.time_ns()
    is_equal("mark", jobprof("mark", "phase 2"), (0, "", ""))
    is_equal("mark --time", jobprof("mark", "--time", "1234567890.5", "\u00e4"), (0, "", ""))
    a, b = s.of("MARK")
    s.stop()
    is_true("mark: now", a["name"] == "phase 2" and before <= a["time_ns"] <= time.time_ns(), a)
    is_equal("mark: then", (b["name"], b["time_ns"], b["flags"]), ("\u00e4", 1234567890500000000, 1))
    is_equal("mark: packets", s.errors, [])


def emissions():
    s = listening()
    is_equal("emit", jobprof("emit", "solver", "Residual=1e-3", "Cells[1e6]=-2.5", "Iterations+=12",
                             "X=nan", "--time", "5"), (0, "", ""))
    table, = s.of("TABLE")
    rows, = s.of("ROWS")
    s.stop()
    is_equal("emit: the table", (table["group"], table["name"], table["cols"]),
             ("", "solver", [("Residual", "", 1, 0), ("Cells", "1e6", 1, 0),
                             ("Iterations", "", 1, 1), ("X", "", 1, 0)]))
    got = numbers(rows)
    is_true("emit: the row", got[:4] == (5 * 10**9, 1e-3, -2.5, 12.0) and math.isnan(got[4]), got)
    is_equal("emit: in this order, as one", [m["type"] for m in s.log][:2], ["TABLE", "ROWS"])


def refusals():
    def answer(server, c, m):
        return [serverlib.reply(m["seq"], -server.err, text=server.text)]
    s = listening(answer)
    for err, text, said in ((3, "", "no step that is profiled"), (13, "", "not allowed"),
                            (22, "columns\x1b[2J differ", "columns\\x1b[2J differ"),
                            (28, "", "No space left")):
        s.err, s.text = err, text
        for verb in (["mark", "x"], ["emit", "s", "a=1"], ["live"]):
            status, out, log = jobprof(*verb)
            is_true("%s refused with %d %s" % (verb[0], err, text[:7]),
                    status == 1 and not out and said in log and log.count("\n") == 1,
                    (status, out, log))
    s.stop()
    for verb in (["mark", "x"], ["emit", "s", "a=1"], ["live"]):
        status, out, log = jobprof(*verb)
        is_true("%s without a jobprofd" % verb[0], status == 1 and not out and
                log.count("\n") == 1 and "no jobprofd on this node" in log, log)


def usages():
    for args in (["mark"], ["mark", "a", "b"], ["mark", ""], ["mark", "x" * 64], ["mark", "a\nb"],
                 ["mark", "x", "--time", "now"], ["mark", "x", "--time", "-1"], ["emit"],
                 ["emit", "s"], ["emit", "s", "a"], ["emit", "s", "a=x"], ["emit", "s", "a= 1"],
                 ["emit", "s", "=1"], ["emit", "a/b", "a=1"], ["emit", "s", "a=1", "a[s]=2"],
                 ["emit", "s"] + ["c%d=1" % i for i in range(129)], ["live", "x"],
                 ["live", "-j", "1,2"], ["live", "--format", "xml"],
                 ["live", "--watch", "0.01"]):
        status, out, log = jobprof(*args)
        is_true("usage: " + " ".join(args)[:40].replace("\n", " "),
                status == 2 and not out and log, (status, out, log))


def serve_live(server, c, m):
    packets = []
    for i, (group, name, cols, values) in enumerate(TABLES):
        packets += [serverlib.table(i, group, name, cols), serverlib.rows(i, cols, values)]
    return packets + [serverlib.reply(m["seq"], number=len(TABLES))]


def lives():
    s = listening(serve_live)
    status, out, _ = jobprof("live", "--format", "json", "-j", "42.batch")
    got = json.loads(out)
    is_equal("live: what was asked", [(m["job_id"], m["step_name"]) for m in s.of("LIVE")],
             [(42, "batch")])
    is_equal("live: json", [status] + [(t["step"], t["series"], t["rows"]) for t in got],
             [0, ("0", "Step", [[1, 10**9, 0.5], [2, 2 * 10**9, 1.25]]),
              ("0", "Tasks/0", [[2, 2 * 10**9, 1 << 60]]), ("0", "Tasks/1", [[2, 2 * 10**9, 8]]),
              ("batch", "User/solver", [[2, 2 * 10**9, None]])])
    is_equal("live: json units", got[1]["columns"][2], {"name": "RSS", "unit": "KiB"})
    status, out, _ = jobprof("live", "--format", "csv", "-s", "Tasks")
    is_equal("live: csv of a series", (status, out),
             (0, "Step,Series,ElapsedTime,TimeNS,RSS\n0,Tasks/0,2,2000000000,%d\n"
                 "0,Tasks/1,2,2000000000,8\n" % (1 << 60)))
    is_equal("live: own step unless told", [(m["job_id"], m["step_name"])
                                            for m in s.of("LIVE")][-1:], [(serverlib.UNKNOWN, "")])
    status, out, _ = jobprof("live", "-s", "Step")
    is_true("live: table", status == 0 and "step 0 Step\n" in out and "  CPUTime" in out and
            " 1.25 s\n" in out and "0.5" not in out, out)
    status, out, log = jobprof("live", "-s", "Nothing")
    is_true("live: no such series", status == 1 and not out and "\"Nothing\"" in log, log)
    p = start([JOBPROF, "live", "--watch", "0.1", "--format", "json"], env=ENV,
              stdout=subprocess.PIPE, text=True)
    rounds = [json.loads(p.stdout.readline()) for _ in range(3)]
    p.send_signal(signal.SIGINT)
    is_equal("live --watch: a line a round, until it is stopped",
             [len(r) for r in rounds] + [p.wait(10)], [4, 4, 4, 0])
    s.stop()


def lives_of_histograms():
    """Sixty columns, of which a person wants those that are not 0."""
    cols = TIME + [("B%d" % i, "", 1, 1) for i in range(40)]

    def answer(server, c, m):
        return [serverlib.table(0, "0/RunLatency", "0", cols),
                serverlib.rows(0, cols, [(2, 2 * 10**9) + tuple(5.0 * (i in (3, 17)) for i in range(40))]),
                serverlib.reply(m["seq"], number=1)]
    s = listening(answer)
    status, out, _ = jobprof("live")
    is_true("live: a histogram is one line", status == 0 and len(out.split("\n")) < 6 and
            re.search(r"^  not 0: +B3 5, B17 5$", out, re.M), out)
    s.stop()


def lives_of_arrays():
    """jobprofd knows ids of jobs; squeue says which those of an array are."""
    here = {}

    def answer(server, c, m):
        known = m["job_id"] in here
        return serve_live(server, c, m) if known else [serverlib.reply(m["seq"], -errno.ESRCH)]
    s = listening(answer)
    d = tmpdir("bin")
    squeue = os.path.join(d, "squeue")
    with open(squeue, "w") as f:
        f.write("""#!/bin/sh
while [ $# -gt 1 ]; do [ "$1" = -j ] && job=$2; shift; done
case $job in
50_3) echo '53|RUNNING|5' ;;
50) echo '52|COMPLETED|5'; echo '53|RUNNING|5'; echo '54|RUNNING|5'; echo '50|PENDING|N/A' ;;
60+1) echo '61|RUNNING|5' ;;
esac
""")
    os.chmod(squeue, 0o755)
    env = dict(ENV, PATH=d + ":/usr/bin:/bin")

    def live(job, *jobs):
        here.clear()
        here.update(dict.fromkeys(jobs))
        before = len(s.of("LIVE"))
        p = subprocess.run([JOBPROF, "live", "--format", "json", "-j", job], env=env, timeout=30,
                           capture_output=True, text=True)
        asked = [(m["job_id"], m["step_name"]) for m in s.of("LIVE")][before:]
        return p.returncode, len(json.loads(p.stdout)) if p.stdout else p.stderr.count("\n"), asked
    is_equal("a task of an array", live("50_3.batch", 53), (0, 4, [(53, "batch")]))
    is_equal("a component", live("60+1", 61), (0, 4, [(61, "")]))
    is_equal("a task that does not run", live("50_4"), (1, 1, []))
    is_equal("an array, of which two tasks run", live("50", 53, 54)[:2], (0, 8))
    is_equal("an array, of which one is here", live("50", 54)[:2], (0, 4))
    is_equal("a job of the id of an array", live("50", 50), (0, 4, [(50, "")]))
    is_equal("none is here", live("50")[0], 1)
    is_equal("an id that squeue does not know", live("99")[0], 1)
    s.stop()


PROGRAM = """
#include <jobprof.h>
#include <stdio.h>
int main(void)
{
	static const char *const columns[] = {"Residual", "Steps+"};
	int s = jobprof_series("solver", 2, columns);
	int mark = jobprof_mark("phase 2"), row = jobprof_add(s, 0.25f, 12);

	printf("%d %d %d %d\\n", s, mark, row, (int)jobprof_dropped());
	return 0;
}
"""


def libraries():
    """As a site has it: installed, found by pkg-config, in C and C++, shared and static."""
    root = tmpdir("inst")
    made = subprocess.run(["make", "-s", "install-lib", "PREFIX=" + root, "B=" + root + "/build"], cwd=ROOT,
                          capture_output=True, text=True)
    if made.returncode:
        raise Failed("make install-lib: " + made.stderr)
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "jobprof"], capture_output=True,
                           text=True, env=plain_env(PKG_CONFIG_PATH=root + "/lib/pkgconfig"))
    is_equal("pkg-config", flags.stdout.split(),
             ["-I%s/include" % root, "-L%s/lib" % root, "-ljobprof"])
    for name, compiler, source in (("C", ["gcc", "-std=c99", "-Wpedantic"], "a.c"),
                                   ("C++", ["g++", "-std=c++11"], "a.cc")):
        path = os.path.join(root, source)
        with open(path, "w") as f:
            f.write(PROGRAM)
        for how, link in (("shared", flags.stdout.split()),
                          ("static", ["-I%s/include" % root, root + "/lib/libjobprof.a",
                                      "-lpthread"])):
            exe = path + "." + how
            cc = subprocess.run(compiler + ["-Wall", "-Wextra", "-Werror", path, "-o", exe] + link,
                                capture_output=True, text=True)
            if cc.returncode:
                raise Failed(cc.stderr)
            label = "libjobprof, %s, %s" % (name, how)
            s = listening()
            env = dict(ENV, LD_LIBRARY_PATH=root + "/lib")
            out = subprocess.run([exe], env=env, capture_output=True, text=True)
            is_equal(label + ": done", (out.stdout, out.returncode), ("0 0 0 0\n", 0))
            wait_until(lambda: s.of("CLOSE"), 10, "its end")
            s.stop()
            is_equal(label + ": heard", [m["type"] for m in s.of("MARK", "TABLE", "ROWS")],
                     ["MARK", "TABLE", "ROWS"])
            is_equal(label + ": the row", numbers(s.of("ROWS")[0])[1:], (0.25, 12.0))
            out = subprocess.run([exe], env=env, capture_output=True, text=True)
            is_equal(label + ": without a jobprofd", (out.stdout, out.stderr, out.returncode),
                     ("0 -107 -107 2\n", "", 0))


def names():
    """Nothing but what the header declares is seen from outside."""
    with open(os.path.join(ROOT, "user/client/libjobprof.h")) as f:
        text = f.read()
    for lib in ("libjobprof.so", "libjobprof.a"):
        flags = ["-D"] if lib.endswith(".so") else ["-g"]
        out = subprocess.run(["nm", "--defined-only"] + flags + [os.path.join(BUILD, lib)],
                             capture_output=True, text=True, check=True).stdout
        found = {l.split()[2].split("@")[0] for l in out.splitlines()
                 if len(l.split()) == 3 and l.split()[1] in "TDBRVW"}
        is_true(lib + ": its names", found and all(n.startswith("jobprof_") and n + "(" in text
                                                   for n in found), found)


run_tests([marks, emissions, refusals, usages, lives, lives_of_histograms, lives_of_arrays, libraries, names])
