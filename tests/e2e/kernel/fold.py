#!/usr/bin/python3
# runs: in full
# runs: alone
# timeout: 480
# SPDX-License-Identifier: GPL-2.0-or-later
"""Regions and their folding, against a program that knows its phases by its own clock."""

import sys
from xml.etree import ElementTree

sys.path.insert(0, sys.path[0] + "/../../lib")
from daemonlib import *


def names(path):
    with h5py.File(path, "r") as f:
        node = next(k for k in f if isinstance(f[k], h5py.Group))
        return list(f[node])


WORDS = ("loops", "period", "first", "second", "ns")  # of jpphases


def spoken(run):
    return {w[0]: float(w[1]) for w in map(str.split, run.out().splitlines()) if w and w[0] in WORDS}


def regions():
    run, path = run_jobprof([tool("jpphases"), "-r", "my loop", "3", "6", "0.4", "0.4"], 0.5)
    said, rows, attrs = spoken(run), table(path, "Regions"), attributes(path)
    lost = int(attrs.get("Lost Regions", 0))
    lengths = (rows["End"] - rows["Begin"]).astype(float) / 1e9
    is_equal("regions: its name", attrs["Region 1"], "my loop")
    is_true("regions: each is a row, but for those before jobprofd had answered",
            said["loops"] - 20 <= len(rows) <= said["loops"], (len(rows), said))
    is_true("regions: what is missing is counted",
            lost == 2 * (said["loops"] - len(rows)), (lost, len(rows), said))
    is_true("regions: their lengths", abs(lengths.mean() / said["period"] - 1) < 0.01, (lengths.mean(), said))
    is_true("regions: one after another", (rows["Begin"][1:] >= rows["End"][:-1]).all(), rows)
    is_true("regions: of one thread", len(set(rows["Thread"])) == 1 and (rows["Thread"] == rows["Process"]).all(), rows)
    is_true("regions: rows have the time of the end", abs((rows["TimeNS"] - rows["End"]) / 1e9 - (
        time.time() - time.monotonic())).max() < 0.01, rows)


def calls():
    """Faster than the ring is read: lost, and counted; also what a call takes."""
    run, path = run_jobprof([tool("jpphases"), "-c", "1000"], 0.5)
    rows, attrs, took = table(path, "Regions"), attributes(path), spoken(run)["ns"]
    instants = 1000 * 2000 + 2
    is_equal("calls: each is in a row or is counted as lost", 2 * len(rows) + int(attrs["Lost Regions"]), instants)
    is_true("calls: under 60 ns", took < 60, took)


def points():
    """Each sample by itself: by a clock of other periods, about as many as Samples counts, with what the thread had used by then."""
    run, path = run_jobprof([tool("jpphases"), "4", "24", "0.4", "0.4"], 0.5, series="all,fold")
    rows, samples, tasks = table(path, "SamplePoints"), table(path, "Samples/0"), task_table(path)
    is_true("points: about as many as Samples has", abs(len(rows) / samples["Samples"].sum() - 1) <= 0.2, (len(rows), samples["Samples"].sum()))
    is_equal("points: none is lost", int(attributes(path).get("Lost Points", 0)), 0)
    is_true("points: of the task", (rows["Task"] == 0).all(), rows["Task"])
    main = rows[rows["Thread"] == rows["Process"]]
    steps = main["CPUTime"][1:].astype(float) - main["CPUTime"][:-1].astype(float)
    spans = main["Time"][1:].astype(float) - main["Time"][:-1].astype(float)
    is_true("points: time goes on", (spans > 0).all(), spans)
    quarters = numpy.percentile(spans, [25, 75])
    is_true("points: the clock has other periods", quarters[1] / quarters[0] > 1.05, quarters)
    is_true("points: no more CPU time than time", (steps >= 0).all() and (steps <= spans + 2e5).all(), (steps - spans).max())
    is_true("points: CPU time in all", abs(main["CPUTime"][-1] / 1e9 - total(tasks, "CPUTime")) < 0.05 + 2 / 97,
            (main["CPUTime"][-1], total(tasks, "CPUTime")))
    faults = total(tasks, "MinorFaults") if "MinorFaults" in tasks.dtype.names else None
    is_true("points: faults grow", (main["PageFaults"][1:] >= main["PageFaults"][:-1]).all() and
            main["PageFaults"][-1] > main["PageFaults"][0], main["PageFaults"])
    is_true("points: no more faults than in all", faults is None or main["PageFaults"][-1] <= faults, (main["PageFaults"][-1], faults))


def points_not_asked():
    run, path = run_jobprof(["true"], 1, series="all")
    is_true("points: only when asked", "SamplePoints" not in names(path), names(path))


FUNCTIONS = ["first_phase", "second_phase", "third_phase"]  # of jpphases


def fold(path, *options):
    p = subprocess.run([JOBPROF, "fold", "--json", *options, path], capture_output=True, text=True, timeout=60)
    return json.loads(p.stdout) if p.returncode == 0 else None, p.stderr


def is_bound_near(name, got, want, samples):
    """A hundredth of the region with 2,000 samples; where one code follows another is known to so many samples."""
    allowed = max(0.01, 20 / max(samples, 1))
    is_true(name, abs(got - want) <= allowed, "%.4f of %d samples, want %.4f +- %.4f" % (got, samples, want, allowed))


def had_a_cpu(path, seconds):
    """Others that take the CPU move the ends of phases, and there are too few samples: no truth then."""
    share = total(task_table(path), "CPUTime") / seconds
    if share < 0.8:
        raise Skipped("the machine is loaded: the program had %.2f of a CPU" % share)


def phases():
    """The code of each third changes where the program says; pages are touched in the second one alone."""
    run, path = run_jobprof(with_priority(tool("jpphases"), "25", "24", "0.4", "0.45"), 1, series="all,fold")
    had_a_cpu(path, 25)
    said, (got, _) = spoken(run), fold(path, "--counter", "PageFaults")
    samples = got["validity"]["samples"]
    for name in ("first", "second"):
        nearest = min(got["phases"][:-1], key=lambda p: abs(p["to"] - said[name]), default=None)
        is_bound_near("phases: end of the %s one" % name, nearest["to"], said[name], samples)
        is_true("phases: about where it is said to end", nearest["to_low"] - 0.005 <= said[name] <= nearest["to_high"] + 0.005, (nearest, said))
        # a phase of two codes may be cut by chance, anywhere in it: such an end is not known so well
        is_true("phases: the end is known to 0.02 or better", nearest["to_high"] - nearest["to_low"] <= 0.04, nearest)
    is_equal("phases: the program's functions, in order", list(dict.fromkeys(p["code"].split(" (at ")[0] for p in got["phases"])), FUNCTIONS)
    is_true("phases: not many more", 3 <= len(got["phases"]) <= 5, got["phases"])
    is_true("phases: the period", abs(got["period_s"] / said["period"] - 1) < 0.02, (got["period_s"], said))
    faults = [(p["to"] - p["from"]) * p["PageFaults"] for p in got["phases"]]
    inside = sum(f for f, p in zip(faults, got["phases"]) if said["first"] - 0.05 < (p["from"] + p["to"]) / 2 < said["second"] + 0.05)
    is_true("phases: pages are touched in the second", inside > 0.75 * sum(faults) > 0, (faults, got["phases"]))
    curve = got["counters"]["PageFaults"]["curve"]
    is_true("phases: the curve goes from 0 to 1", abs(curve[0]) < 0.06 and abs(curve[-1] - 1) < 0.06, (curve[0], curve[-1]))
    text = subprocess.run([JOBPROF, "fold", path], capture_output=True, text=True, timeout=60)
    is_true("phases: as text", text.returncode == 0 and "0.0000 - " in text.stdout, text)
    is_equal("phases: as text, its lines", [l.split()[0] for l in text.stdout.split("\n\n")[0].splitlines()],
             ["region", "executions", "validity", "samples", "running", "bounds"] + ["lost"] * bool(got["lost_samples"] or got["lost_instants"]))
    page = subprocess.run([JOBPROF, "report", "--all", path], capture_output=True, text=True, timeout=60).stdout
    is_true("phases: in the report", all(re.search(" %%  %s" % name, page) for name in FUNCTIONS) and "\nFolded     " in page, page)
    reduced = json.loads(subprocess.run([JOBPROF, "reduce", "--fold", "--json", path], capture_output=True, text=True, timeout=60).stdout)["fold"]
    is_equal("phases: as reduce names them", list(dict.fromkeys(p["code"].split(" (at ")[0] for p in reduced["phases"])), FUNCTIONS)
    svg = subprocess.run([JOBPROF, "fold", "--svg", "-", path], capture_output=True, text=True, timeout=60)
    is_true("phases: as SVG", svg.returncode == 0 and len(list(ElementTree.fromstring(svg.stdout))) > 5, svg)
    drawn = path + ".svg"
    is_equal("phases: SVG in a file, and JSON", [fold(path, "--counter", "PageFaults", "--svg", drawn)[0], len(list(ElementTree.parse(drawn).getroot())) > 5], [got, True])
    is_true("phases: not both on standard output", "standard output" in fold(path, "--svg", "-")[1], "")
    for options, why in ((("-r", "other"), 'no region is called "other"'), (("-c", "Cycles"), "there are CPUTime and PageFaults"),
                         (("-c", "TimeNS"), 'no counter "TimeNS"')):
        none, err = fold(path, *options)
        is_true("phases: refused: " + why, none is None and why in err and err.count("\n") == 1, err)


def rates():
    """Each phase touches pages at a rate of its own."""
    asked = [20, 50, 5]
    run, path = run_jobprof(with_priority(tool("jpphases"), "-f", ",".join(map(str, asked)), "25", "24", "0.4", "0.35"), 1, series="all,fold")
    had_a_cpu(path, 25)
    said, (got, err) = spoken(run), fold(path, "--counter", "PageFaults")
    ends, truth = [0, said["first"], said["second"], 1], [1e3 * r for r in asked]
    curve = numpy.array(got["counters"]["PageFaults"]["curve"])
    at = numpy.interp(ends, numpy.linspace(0, 1, len(curve)), curve)
    mean = got["counters"]["PageFaults"]["mean_rate"]
    found = numpy.diff(at) / numpy.diff(ends) * mean
    wrong = (abs(found - truth) * numpy.diff(ends)).sum() / mean
    is_true("rates: of the phases, to 5 % of the region's", wrong <= 0.05, (wrong, found, truth))
    is_true("rates: the highest, to 10 %", abs(found[1] / truth[1] - 1) <= 0.1, (found, truth))
    is_true("rates: all faults", abs(mean / (numpy.diff(ends) * truth).sum() - 1) <= 0.05, (mean, ends, truth))


def still():
    """A counter that hardly changes in the region has no curve: neither nan nor noise. The ring of regions is a page longer now and then."""
    run, path = run_jobprof(with_priority(tool("jpphases"), "-f", "0,0,0", "5", "24", "0.4", "0.35"), 1, series="all,fold")
    got, err = fold(path)
    of = got["counters"]["PageFaults"]
    is_equal("still: no rate", [of["status"], of["mean_rate"]], ["UNSUITABLE", None])
    is_true("still: says so", of["reason"].startswith(("does not change in this region", "is counted in few executions", "is not known of any execution")), of)
    is_true("still: no curve, and no rate of phases", "curve" not in of and {p["PageFaults"] for p in got["phases"]} == {None}, got["phases"])
    is_equal("still: the other counter has one", got["counters"]["CPUTime"]["status"], "OK")
    text = subprocess.run([JOBPROF, "fold", path], capture_output=True, text=True, timeout=60).stdout
    is_true("still: as text", "PageFaults    " + of["reason"] in text and "nan" not in text, text)
    none, err = fold(path, "--counter", "PageFaults")
    is_true("still: refused when asked for", none is None and "PageFaults " + of["reason"] in err, err)


def short_part():
    """A region that takes a tenth of its thread's time is folded, and what is counted outside of it is not of it."""
    run, path = run_jobprof(with_priority(tool("jpphases"), "-n", "-f", "5,50,0", "12", "20", "0.45", "0.1"), 1, "all,fold",
                            ["--region", "%s:second_phase" % tool("jpphases")])
    had_a_cpu(path, 12)
    got, err = fold(path, "--counter", "PageFaults")
    is_near("short part: executions", got["executions"], spoken(run)["loops"], 0, 2)
    is_near("short part: the rate of its faults", got["counters"]["PageFaults"]["mean_rate"], 50e3, 0.05)
    is_equal("short part: CPU time has a curve", got["counters"]["CPUTime"]["status"], "OK")


COMPRESSES = """import random, time, zlib
random.seed(1)
data, until = bytes(random.choice(b"abcdefghijklmnop ") for _ in range(10000)), time.monotonic() + 15
while time.monotonic() < until:
    zlib.compress(data)
"""


def short_executions():
    """Of some 0.1 ms, which a sample's own interrupt stretches by a fifth: a real library's function, that has the CPU throughout."""
    with open("/proc/self/maps") as f:
        zlib = next(line.split()[-1] for line in f if "/libz.so" in line)
    run, path = run_jobprof(with_priority(sys.executable, "-c", COMPRESSES), 1, "all,fold",
                            ["--region", zlib + ":deflate", "--region-budget", "20"])
    had_a_cpu(path, 15)
    got, err = fold(path)
    is_true("short executions: they have samples", got and got["validity"]["samples"] >= 100, (got, err))
    curve = numpy.array(got["counters"]["CPUTime"]["curve"])
    off = abs(curve - numpy.linspace(0, 1, len(curve))).max()
    is_true("short executions: CPU time grows as time does", off <= 0.03, off)
    is_true("short executions: of phases too", all(abs(p["CPUTime"] - 1) <= 0.1 for p in got["phases"] if p["samples"] >= 30), got["phases"])


FIRST_TOUCHES = """import ctypes, mmap, sys, time
lib = ctypes.CDLL(sys.argv[1])
region = lib.jobprof_region(b"loop")
for n in range(60):
    lib.jobprof_region_begin(region)
    end = time.monotonic() + 0.05
    if n == 30:
        room = mmap.mmap(-1, 64 << 20)
        for at in range(0, 64 << 20, 4096):
            room[at] = 1
    while time.monotonic() < end:
        pass
    lib.jobprof_region_end(region)
"""


def once():
    """Faults of one execution among many are of no curve."""
    run, path = run_jobprof([sys.executable, "-c", FIRST_TOUCHES, os.path.join(BUILD, "libjobprof.so")], 1, series="all,fold")
    got, err = fold(path)
    of = got["counters"]["PageFaults"]
    is_equal("once: no curve", [of["status"], of["mean_rate"]], ["UNSUITABLE", None])
    is_true("once: says why", "in few executions" in of["reason"], of)
    is_equal("once: CPU time has one", got["counters"]["CPUTime"]["status"], "OK")


def asleep():
    """Where the region sleeps there are no samples: that is a phase of its own, and CPU time and phases add up to the wall."""
    faults = {"first_phase": 20e3, "not running": 0, "third_phase": 5e3}
    for name, options, period in (("asleep", (), 24), ("asleep, no marker", ("-n",), 60)):
        run, path = run_jobprof(with_priority(tool("jpphases"), "-s", "1", "-f", "20,0,5", *options, "12", str(period), "0.4", "0.35"), 1, series="all,fold")
        said, (got, err) = spoken(run), fold(path)
        had_a_cpu(path, 12 * (1 - said["second"] + said["first"]))
        off = [p for p in got["phases"] if p["code"] == "not running"]
        want = {"first_phase": said["first"], "not running": said["second"] - said["first"], "third_phase": 1 - said["second"]}
        is_equal(name + ": one such phase", len(off), 1)
        is_bound_near(name + ": its length", off[0]["to"] - off[0]["from"], want["not running"], got["validity"]["samples"])
        is_true(name + ": nothing runs there", off[0]["CPUTime"] < 0.05 and off[0]["share"] > 0.95, off)
        is_true(name + ": else one CPU does", all(p["CPUTime"] > 0.9 for p in got["phases"] if p["to"] - p["from"] > 0.1 and p not in off), got["phases"])
        mean = got["counters"]["CPUTime"]["mean_rate"]
        is_true(name + ": CPU time of all of it", abs(mean - (1 - want["not running"])) < 0.02, (mean, want))
        is_true(name + ": phases add up to it", abs(sum((p["to"] - p["from"]) * p["CPUTime"] for p in got["phases"]) / mean - 1) < 0.01, got["phases"])
        wrong = sum(abs(p["PageFaults"] - faults.get(p["code"], p["PageFaults"])) * (p["to"] - p["from"]) for p in got["phases"])
        is_true(name + ": rates of faults, to 5 % of the region's", wrong <= 0.05 * got["counters"]["PageFaults"]["mean_rate"], got["phases"])
        is_true(name + ": no part is without samples", got["validity"]["status"] == "good" and got["validity"]["max_gap"] < 0.02, got["validity"])
        is_true(name + ": the period", abs(got["period_s"] / said["period"] - 1) < 0.01, (got["period_s"], said))
        if not options:
            is_bound_near(name + ": it begins", off[0]["from"], said["first"], got["validity"]["samples"])


WAITS = r"""
#include <stdlib.h>
#include <time.h>
static volatile double x = 1;
static void spin(double s)
{
	struct timespec a, b;
	clock_gettime(CLOCK_MONOTONIC, &a);
	do {
		for (int i = 0; i < 2000; i++)
			x = x * 1.0000001 + 1e-9;
		clock_gettime(CLOCK_MONOTONIC, &b);
	} while (b.tv_sec - a.tv_sec + 1e-9 * (b.tv_nsec - a.tv_nsec) < s);
}
__attribute__((noinline)) void prepare(void) { spin(0.03); }
__attribute__((noinline)) void solve(void)
{
	for (int k = 0; k < 20; k++) {
		for (int i = 0; i < 150000; i++)
			x = x * 1.0000001 + 1e-9;
		nanosleep(&(struct timespec){0, 2000000}, NULL);
	}
}
__attribute__((noinline)) void one_loop(void) { prepare(); solve(); }
int main(void)
{
	time_t end = time(NULL) + 15;
	while (time(NULL) < end)
		one_loop();
	return 0;
}
"""


def waiting():
    """A phase of a function that mostly waits is not running, and names the function."""
    prog = os.path.join(tmpdir("waits"), "waits")
    subprocess.run(["gcc", "-O1", "-x", "c", "-", "-o", prog], input=WAITS, text=True, check=True)
    run, path = run_jobprof(with_priority(prog), 1, "all,fold", ["--region", "loop=%s:one_loop" % prog])
    got, err = fold(path, "-r", "loop")
    off = max((p for p in got["phases"] if p["code"] == "not running"), key=lambda p: p["to"] - p["from"], default=None)  # the last sleep may be one more
    is_true("waiting: the function that waits is named", off and off["runs"] == "solve" and off["to"] - off["from"] > 0.5, (got["phases"], err))
    is_true("waiting: no phase has more than one CPU", all(p["CPUTime"] <= 1 for p in got["phases"]), got["phases"])
    text = subprocess.run([JOBPROF, "fold", path], capture_output=True, text=True, timeout=60).stdout
    is_true("waiting: as text", "not running; when it runs: solve" in text, text)


def counted():
    """A function's probes count at both ends of each execution: single points of the rate are known, too."""
    asked = [20, 50, 5]
    run, path = run_jobprof(with_priority(tool("jpphases"), "-n", "-f", ",".join(map(str, asked)), "25", "24", "0.4", "0.35"), 1, "all,fold",
                            ["--region", "loop=" + tool("jpphases") + ":one_loop"])
    had_a_cpu(path, 25)
    said, rows = spoken(run), table(path, "Regions")
    length, faults = (rows["End"] - rows["Begin"]).astype(float), rows["EndPageFaults"] - rows["BeginPageFaults"]
    used = rows["EndCPUTime"] - rows["BeginCPUTime"]
    want = 24 * numpy.dot(asked, [0.4, 0.35, 0.25])
    is_true("counted: pages of a loop, to 1 %", abs(numpy.median(faults) / want - 1) <= 0.01, (numpy.median(faults), want))
    is_true("counted: no more CPU time than time", (used <= length + 2e5).all() and numpy.median(used / length) > 0.9,
            (used - length).max())
    is_true("counted: what a thread has counted grows", (rows["BeginPageFaults"][1:] >= rows["EndPageFaults"][:-1]).all() and
            (rows["BeginCPUTime"][1:] >= rows["EndCPUTime"][:-1]).all(), rows)
    got, err = fold(path, "--counter", "PageFaults")
    of = got["counters"]["PageFaults"]
    at = numpy.linspace(0, 1, len(of["rate"]))
    truth = 1e3 * numpy.select([at < said["first"], at < said["second"]], asked[:2], asked[2])
    wrong = abs(numpy.array(of["rate"]) - truth).mean() / of["mean_rate"]
    is_true("counted: the rate of its points, to 7.5 % of the mean", wrong <= 0.075, wrong)


def no_marker():
    unnamed("no marker", 25, "25", "37", "0.3", "0.5")


def no_marker_and_uneven():
    """Iterations that differ are followed roughly: no result is called good whose phases are wrong, and bounds say how far they are off."""
    for percent in ("2", "10"):
        run, path = run_jobprof(with_priority(tool("jpphases"), "-n", "-j", percent, "-f", "0,0,0", "14", "53", "0.4", "0.35"), 1, series="all,fold")
        had_a_cpu(path, 14)
        said, (got, err) = spoken(run), fold(path)
        if not got or len(got["phases"]) < 2:
            is_true("uneven by %s %%: refused or weak" % percent, not got or got["validity"]["status"] == "weak", (got, err))
            continue
        want = dict(zip(FUNCTIONS, (said["first"], said["second"] - said["first"], 1 - said["second"])))
        off = max(abs(sum(p["to"] - p["from"] for p in got["phases"] if p["code"].split(" (at ")[0] == f) - w) for f, w in want.items())
        is_true("uneven by %s %%: good is right" % percent, got["validity"]["status"] == "weak" or off <= 0.04, (off, got["validity"], got["phases"]))
        is_true("uneven by %s %%: its bounds" % percent, off <= 2 * got["validity"]["bounds"] + 0.01, (off, got["validity"], got["phases"]))


def no_marker_and_blocked():
    """Iterations that differ by up to 40 %, which samples cannot follow; each ends with a sleep, and bursts say when."""
    args = [tool("jpphases"), "-n", "-j", "40", "-s", "2", "-f", "0,0,0", "12", "37", "0.4", "0.35"]
    run, path = run_jobprof(with_priority(*args), 1, series="all,fold,burst")
    if total(task_table(path), "CPUTime") < 0.7 * 0.75 * 12:
        raise Skipped("the machine is loaded: the program had %.2f s of CPU time" % total(task_table(path), "CPUTime"))
    said, (got, err) = spoken(run), fold(path)
    is_true("blocked: folded by bursts", got is not None and 0 < got["wait_s"] <= 0.25 * 1.4 * 0.037, (got and got["wait_s"], err))
    is_true("blocked: nearly all iterations", abs(got["executions"] / said["loops"] - 1) < 0.03, (got["executions"], said))
    is_true("blocked: the three phases, from the wake-up on", [p["code"].split(" (at ")[0] for p in got["phases"]] == FUNCTIONS[:2] + ["not running"], got["phases"])
    for i, name in enumerate(("first", "second")):
        is_bound_near("blocked: end of the %s phase" % name, got["phases"][i]["to"], said[name], got["validity"]["samples"])
    too_many_bursts(path)
    got, err = fold(path)
    is_true("blocked: of too many bursts none is taken, and samples say what they can",
            got["wait_s"] is None if got else "no period stands out" in err, (got, err))
    run, path = run_jobprof(with_priority(*args), 1, series="all,fold")
    got, err = fold(path)
    is_true("blocked: without bursts nothing, or weak", got is None or got["wait_s"] is None and got["validity"]["status"] == "weak", (got, err))


def too_many_bursts(path):
    """Adds a table of more of them than jobprof fold reads."""
    with h5py.File(path, "r+") as f:
        group = next(node["Bursts"] for node in f.values() if "Bursts" in node)
        rows = numpy.zeros((8 << 20) + 1, [(c, "<f4") for c in ("TimeNS", "Thread", "Duration", "Gap")])
        group.create_dataset("99", data=rows, maxshape=(None,), chunks=(1 << 16,), compression=1)


def no_marker_rates():
    """A short phase that counts most: its rate is right, or the result is weak."""
    asked = dict(zip(FUNCTIONS, (5e3, 60e3, 10e3)))
    run, path = run_jobprof(with_priority(tool("jpphases"), "-n", "-f", "5,60,10", "20", "37", "0.5", "0.06"), 1, series="all,fold")
    had_a_cpu(path, 20)
    got, err = fold(path, "--counter", "PageFaults")
    phases = [(asked[p["code"].split(" (at ")[0]], p) for p in got["phases"] if p["code"].split(" (at ")[0] in asked]
    wrong = max(abs(p["PageFaults"] - want) / max(want, got["counters"]["PageFaults"]["mean_rate"]) for want, p in phases)
    is_true("rates without a marker: good is right", got["validity"]["status"] == "weak" or wrong <= 0.1, (wrong, got["validity"], got["phases"]))
    is_true("rates without a marker: of a phase and of its middle", got["validity"]["blurred"] is not None, got["validity"])


def no_marker_and_long():
    unnamed("long iterations", 20, "-f", "0,0,0", "20", "600", "0.3", "0.5")


def unnamed(name, seconds, *args):
    """The period is found, and phases have their lengths; where the first one begins is a choice."""
    run, path = run_jobprof(with_priority(tool("jpphases"), "-n", *args), 1, series="all,fold")
    had_a_cpu(path, seconds)
    said, (got, err) = spoken(run), fold(path)
    is_true(name + ": folded", got is not None, err)
    is_true(name + ": the period, to 1 %", abs(got["period_s"] / said["period"] - 1) < 0.01, (got["period_s"], said))
    length, order = {}, []
    for p in got["phases"]:
        function = p["code"].split(" (at ")[0]  # next to a phase of the same function it says where
        length[function] = length.get(function, 0) + p["to"] - p["from"]
        order += [function] if function not in order and p["to"] - p["from"] > 0.02 else []  # not what disturbs
    want = [said["first"], said["second"] - said["first"], 1 - said["second"]]
    found = [length[p] for p in order]
    turned = [want[i:] + want[:i] for i in range(3)]
    allowed = max(0.02, 30 / got["validity"]["samples"])
    is_equal(name + ": the program's functions", sorted(order), sorted(FUNCTIONS))
    is_true(name + ": the phases' lengths and order", len(found) == 3 and
            min(max(abs(a - b) for a, b in zip(found, w)) for w in turned) <= allowed, (found, want, allowed))


def ranks():
    """Of one task: both execute its program, whose functions have names."""
    if not shutil.which("mpirun.openmpi"):
        raise Skipped("there is no Open MPI: scripts/install-deps test")
    cmd = ["mpirun.openmpi", "--oversubscribe", "-n", "2", tool("jpphases"), "6", "24", "0.4", "0.45"]
    run, path = run_jobprof(cmd, 1, series="all,fold", env=plain_env(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1"))
    got, err = fold(path)
    is_equal("ranks: both are folded", [err, got and got["threads"]], ["", 2])
    codes = {p["code"].split(" (at ")[0] for p in got["phases"]}
    is_true("ranks: their functions have names", codes & set(FUNCTIONS) and not any("0x" in c for c in codes), codes)


WORKER = """import threading, time, zlib
data = bytes(range(256)) * 40
def work():
    begin = time.monotonic()
    for _ in range(250):
        while time.monotonic() < begin + 0.04:
            zlib.compress(data, 1)
        begin += 0.06
        time.sleep(max(begin - time.monotonic(), 0))
t = threading.Thread(target=work)
t.start()
t.join()
"""


def worker():
    """Of a program whose first thread has samples, but no iterations, those of the other one are folded."""
    run, path = run_jobprof(["nice", "-n", "-20", sys.executable, "-c", WORKER], 1, series="all,fold")
    had_a_cpu(path, 15 * 0.04 / 0.06)
    got, err = fold(path)
    is_true("worker: the period", got and abs(got["period_s"] / 0.06 - 1) < 0.01, (got and got["period_s"], err))


def alias():
    """No loop keeps step with a clock that changes: one of its mean period is folded, and faster ones are none of longer iterations."""
    period = 1000 / 97
    run, path = run_jobprof(with_priority(tool("jpphases"), "12", str(period), "0.4", "0.45"), 1, series="all,fold")
    had_a_cpu(path, 12)
    said, (got, err) = spoken(run), fold(path)
    is_true("alias: of the clock's period", got and got["validity"]["why"] in ("", "samples are not uniform"), (got, err))  # by chance, 1 in 20
    for name in ("first", "second") if got else ():
        off = min(abs(p["to"] - said[name]) for p in got["phases"])
        is_true("alias: end of the %s phase" % name, off <= 0.02, (off, said, got["phases"]))
    for period in (3.1, 7.3):
        run, path = run_jobprof([tool("jpphases"), "-n", "-j", "2", "15", str(period), "0.6", "0.2"], 1, series="all,fold")
        got, err = fold(path)
        is_true("alias: no longer iterations than of %g ms" % period, got is None and "no period stands out" in err, (got, err))


def in_step():
    """Samples that all fall on the same part of the loop, as those of a clock that keeps step with it would, are refused."""
    run, path = run_jobprof(with_priority(tool("jpphases"), "-r", "loop", "12", str(1000 / 97), "0.4", "0.45"), 1, series="all,fold")
    with h5py.File(path, "r+") as f:
        node = next(f[k] for k in f if isinstance(f[k], h5py.Group))
        rows, loops = node["SamplePoints"][()], node["Regions"][()]
        at = numpy.searchsorted(loops["Begin"], rows["Time"]) - 1
        inside = (at >= 0) & (rows["Thread"] == loops["Thread"][0])
        began, lasted = loops["Begin"][at].astype(float), (loops["End"] - loops["Begin"])[at].astype(float)
        moved = numpy.where(inside, began + (0.37 + 0.02 * numpy.random.default_rng(1).random(len(rows))) * lasted - rows["Time"], 0).astype(int)
        for column in ("Time", "TimeNS", "CPUTime"):
            rows[column] = (rows[column].astype(int) + moved).astype(rows[column].dtype)
        node["SamplePoints"][...] = rows
    p = subprocess.run([JOBPROF, "fold", path], capture_output=True, text=True, timeout=60)
    is_true("in step: refused, and said why", p.returncode == 1 and not p.stdout and "is not folded: samples fall on the same parts of it" in p.stderr, p)


def nothing_to_fold():
    for cmd, series, why in (([tool("jpphases"), "1", "24", "0.4", "0.45"], "all", "has no samples to fold"),
                             (["dd", "if=/dev/zero", "of=/dev/null", "bs=4M", "count=4000"], "all,fold",
                              "have named no region, and no period stands out")):
        run, path = run_jobprof(cmd, 1, series=series)
        got, err = fold(path)
        is_true("nothing: " + why, got is None and why in err and err.count("\n") == 1, err)
    got, err = fold(os.path.join(tmpdir(), "no.h5"))
    is_true("nothing: no file", got is None and err.endswith("/no.h5: No such file or directory\n") and err.count("\n") == 1, err)


def not_profiled():
    p = subprocess.run([tool("jpphases"), "-c", "1000"], capture_output=True, text=True, timeout=60,
                       env=dict(os.environ, JOBPROF_SOCKET="/nowhere"))
    is_true("not profiled: a call is cheap", float(p.stdout.split()[1]) < 60, p.stdout)


if __name__ == "__main__":
    need_bpf()
    run_tests([regions, calls, points, points_not_asked, phases, rates, still, short_part, short_executions, once, asleep, waiting, counted, no_marker, no_marker_and_uneven, no_marker_and_blocked, no_marker_rates, no_marker_and_long, ranks, worker, alias, in_step, nothing_to_fold, not_profiled])
