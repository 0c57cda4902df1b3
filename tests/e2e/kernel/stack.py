#!/usr/bin/python3
# runs: in full
# timeout: 500
# noisy: other programs use the CPUs
# SPDX-License-Identifier: GPL-2.0-or-later
"""Stacks: the hottest functions against perf record's of the same run, blocked time against TimeBudget,
callers, names that a page could take amiss, and the forms of other programs."""

import contextlib
import ctypes
import gzip
import http.server
import random
import sys
import xml.etree.ElementTree as ElementTree


sys.path.insert(0, sys.path[0] + "/../../lib")
from faultlib import *

SERIES = "all,stack"
HOSTILE = "<svg onload=alert(1)>;&"
SECONDS = 6
# Columns of TimeBudget whose gaps have a root of that name.
ROOTS = {"BlockedSleep": "sleep", "BlockedPoll": "poll", "BlockedFutex": "locks", "BlockedSignal": "signal",
         "BlockedSocket": "socket", "BlockedPipe": "pipe", "BlockedChild": "child", "BlockedOther": "other"}


def flame(path, *args, **kw):
    r = subprocess.run([JOBPROF, "flame", *args, path], capture_output=True, timeout=60, **kw)
    if r.returncode:
        raise Failed("jobprof flame %s: %s" % (" ".join(args), r.stderr.decode()))
    return r.stdout.decode()


def folded(path, *args, **kw):
    """[(names, number)]; in --folded a semicolon of a name is a colon."""
    rows = [line.rsplit(" ", 1) for line in flame(path, "--folded", *args, **kw).splitlines()]
    return [(stack.split(";"), int(n)) for stack, n in rows]


def by_leaf(stacks):
    sums = {}
    for names, n in stacks:
        sums[names[-1]] = sums.get(names[-1], 0) + n
    return sums


def perf_counts(data):
    out = subprocess.run(["perf", "report", "--stdio", "--no-children", "-F", "sample,sym", "-i", data],
                         capture_output=True, text=True).stdout
    rows = re.findall(r"^\s*(\d+)\s+\[\.\]\s+(.*?)\s*$", out, re.M)
    return {name.replace(";", ":"): int(n) for n, name in rows}


def hottest():
    data = os.path.join(tmpdir(), "perf.data")
    if not shutil.which("perf"):
        return skip("the hottest functions are perf's", "no perf")
    run, path = run_jobprof(["perf", "record", "-q", "-e", "cpu-clock", "-F", "997", "-o", data, tool("jpstack"),
                             str(SECONDS)], 1, SERIES)
    theirs, ours = perf_counts(data), by_leaf(folded(path))
    if not theirs:
        return skip("the hottest functions are perf's", "perf record sees nothing here: " + run.out()[-200:])
    top = sorted(theirs, key=theirs.get, reverse=True)[:10]
    n, m = sum(theirs[t] for t in top), sum(ours.get(t, 0) for t in top)
    is_true("samples: 97 in a second of CPU time", abs(m / 97 - SECONDS) < 0.25 * SECONDS, m)
    far = {}
    for name in top:
        p, q = theirs[name] / n, ours.get(name, 0) / max(1, m)
        sigma = (p * (1 - p) * (1 / n + 1 / max(1, m))) ** 0.5
        far[name] = abs(p - q) / sigma
    # of ten functions one is beyond 3 sigma in a run of 40
    is_true("shares of perf's ten hottest functions", sorted(far.values())[-2] < 3 and max(far.values()) < 4, far)
    is_true("and one of them has that name", HOSTILE.replace(";", ":") in top, top)


def blocked():
    run, path = run_jobprof([tool("jpwait"), "-n", "100", "0.005", "sleep", "poll", "futex", "sigtimedwait", "recv",
                             "pipe", "child", "flock"], 1, SERIES)
    rows, sums, without = table(path, "TimeBudget/0"), {}, {}
    for names, us in folded(path, "--off-cpu"):
        sums[names[0]] = sums.get(names[0], 0) + us / 1e6
        if names[1:] == ["[stack not taken]"]:
            without[names[0]] = without.get(names[0], 0) + us / 1e6
    for column, name in ROOTS.items():
        wanted = total(rows, column)
        # the budget has the shorter gaps as well
        is_true("blocked by %s: as TimeBudget" % name,
                wanted < 0.01 or 0.97 * wanted - 0.02 < sums.get("[blocked: %s]" % name, 0) < wanted + 0.001,
                (wanted, sums))
    is_true("stacks of gaps are taken", sum(without.values()) < 0.3 * sum(sums.values()), (without, sums))


def built(name, *flags, of="jpstack"):
    path = os.path.join(tmpdir(), name)
    source = os.path.join(ROOT, "tests/tools/%s.c" % of)
    subprocess.run(["gcc", "-O1", "-g", *flags, "-o", path, source], check=True)
    return path


def callers():
    """A function that calls nothing may have no frame: then its caller is missing, and no other."""
    run, path = run_jobprof([built("framed", "-fno-omit-frame-pointer"), "2"], 1, SERIES)
    stacks = [s for s, _ in folded(path) if s[-1] in ("hot_2", "hot_3", "hot_4", "hot_5")]
    is_true("stacks of hot functions", len(stacks) >= 4, stacks)
    bad = [s for s in stacks if s.index("main") + 1 != s.index("outer")]
    is_equal("with their callers", bad, [])
    out = flame(path)
    is_true("as text: the hottest function first", re.search(r"Functions\n.*\n .* %  (hot_\d|<svg onload)", out), out)
    total_s = {}
    for task in ((), ("--task", "0"), ("--from", "0"), ("--to", "1000")):
        total_s[task] = sum(n for _, n in folded(path, *task))
    is_equal("task and time that hold all", set(total_s.values()), {sum(n for _, n in folded(path))})
    is_true("as text: the time that it covers", re.match(r"Running, 0 s to [\d.]+ s: ", out), out)
    end = (int(table(path, "Stacks/0")["TimeNS"].max()) - int(attributes(path)["Start TimeNS"])) / 1e9
    for args, said, status in ((("--from", "1000"), "no interval ends in the time", 1), (("--from", "1000"), "the last at %.4g s" % end, 1),
                               (("--from", "1", "--to", "0.5"), "--from 1 is not before --to 0.5", 2), (("--task", "1"), "no stacks of task 1", 1)):
        r = subprocess.run([JOBPROF, "flame", *args, path], capture_output=True, text=True, timeout=60)
        is_true("%s: one line says that there are none" % " ".join(args),
                r.returncode == status and not r.stdout and said in r.stderr and r.stderr.count("\n") == 1, r)


def loaded_later():
    """A library that comes less than a second after the process's map was read has its names, too."""
    lib = os.path.join(tmpdir(), "later.so")
    text = b"#include <time.h>\nvoid later(void) { clock_t end = clock() + 4 * CLOCKS_PER_SEC; while (clock() < end) for (volatile int i = 0; i < 1000000; i++); }"
    subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-x", "c", "-", "-o", lib], input=text, check=True)
    code = "import ctypes, time\nwhile time.process_time() < 0.4:\n    pass\nctypes.CDLL(%r).later()" % lib
    run, path = run_jobprof([sys.executable, "-c", code], 0.2, SERIES)
    leaves = by_leaf(folded(path))
    is_true("all samples are in a file", leaves.get("[no file]", 0) <= 2 and leaves.get("later", 0) > 194, leaves)


def called_later():
    """So do the callers in such a library."""
    d = tmpdir()
    for name, flags, text in (
            ("later.so", ["-shared", "-fPIC"], "#include <time.h>\nvoid later(void (*f)(void)) { clock_t end = clock() + 5 * CLOCKS_PER_SEC; while (clock() < end) f(); }"),
            ("calls", ["-ldl"], "#include <dlfcn.h>\n#include <time.h>\nvoid hot(void) { for (volatile int i = 0; i < 1000000; i++); clock(); }\n"
             "int main() { while (clock() < CLOCKS_PER_SEC / 3) hot(); void (*f)(void (*)(void)) = dlsym(dlopen(\"%s/later.so\", RTLD_NOW), \"later\"); f(hot); }" % d)):
        subprocess.run(["gcc", "-O0", "-x", "c", "-", "-o", os.path.join(d, name), *flags], input=text.encode(), check=True)
    run, path = run_jobprof([os.path.join(d, "calls")], 0.2, SERIES)
    stacks = [(s, n) for s, n in folded(path) if "hot" in s]
    called = sum(n for s, n in stacks if s[:s.index("hot")][-2:] == ["main", "later"])
    is_true("callers that came later", called > 250, stacks)


CHAIN = ["main", "one", "two", "three", "four", "five"]


def perf_chains(data):
    """[[function, ...]] of perf's samples, the outermost first."""
    out = subprocess.run(["perf", "script", "-F", "ip,sym", "-i", data], capture_output=True, text=True).stdout
    return [[line.split(None, 1)[1].split("+0x")[0] for line in block.splitlines() if len(line.split(None, 1)) == 2][::-1]
            for block in out.split("\n\n") if block.strip()]


def unwound():
    """Code without frame pointers: its callers are there by .eh_frame, as perf finds them, and not by frame pointers."""
    path, data = chain(), os.path.join(tmpdir(), "perf.data")
    run, out = run_jobprof([path, "2"], 1, SERIES)
    is_true("by frame pointers: how is said", "frame pointers" in attributes(out)["Mode stack"], attributes(out))
    is_equal("by frame pointers: no chain is whole", [s for s, _ in folded(out) if s[-6:] == CHAIN], [])
    run, out = run_jobprof(["perf", "record", "-q", "-e", "cpu-clock", "-F", "97", "--call-graph", "dwarf,4096", "-o", data,
                            path, "6"] if shutil.which("perf") else [path, "6"], 1, SERIES, ("--unwind", "dwarf"))
    is_true("by .eh_frame: how is said", ".eh_frame" in attributes(out)["Mode stack"], attributes(out))
    stacks = [(s, n) for s, n in folded(out) if "five" in s]
    met = sum(n for _, n in stacks)
    is_true("by .eh_frame: samples, a tenth of 97 a second", 0.7 * 58 < met < 1.3 * 58, met)
    leaf = [(s, n) for s, n in stacks if s[-1] == "five"]
    whole = sum(n for s, n in leaf if s[-6:] == CHAIN)
    is_true("by .eh_frame: chains of five functions are whole", whole == sum(n for _, n in leaf) > 30, stacks)
    roots = {s[0] for s, _ in leaf}
    is_equal("by .eh_frame: up to the program's begin", roots, {"_start"})
    theirs = [c for c in perf_chains(data) if c[-1] == "five"] if shutil.which("perf") else []
    if not theirs:
        return skip("the callers are perf's", "no perf, or it sees nothing here")
    best = max(theirs, key=theirs.count)
    # outside of it perf names what was put inline
    is_equal("the callers are perf's", {tuple(s[s.index("main"):]) for s, _ in leaf}, {tuple(best[best.index("main"):])})


def chain():
    return built("chain", "-O2", "-fomit-frame-pointer", of="jpchain")


def wholes(path):
    return sum(n for names, n in folded(path) if names[-6:] == CHAIN)


def helpers(d):
    """(the one that opens files, the one that follows stacks)."""
    found = [(p, c) for p in children(d.proc.pid) for c in children(p) if open("/proc/%d/comm" % c).read() == "jobprof-unwind\n"]
    return found[0] if found else None


def cpu_seconds(pid):
    with open("/proc/%d/stat" % pid) as f:
        return int(f.read().rpartition(")")[2].split()[11]) / os.sysconf("SC_CLK_TCK")


OWN_ID = "4294967280"  # ids.h: no user's


def rights():
    """What reads users' files has none."""
    d = Daemon(1, ProfileHDF5Default="all,stack", StackUnwind="dwarf").start()
    opener, helper = wait_until(lambda: helpers(d), 5, "helpers")
    is_equal("one parent of the helper", len([p for p in children(d.proc.pid) if children(p)]), 1)
    status = wait_until(lambda: (lambda s: s if s.get("Seccomp") == "2" else None)(dict(
        line.split(":\t", 1) for line in open("/proc/%d/status" % helper).read().splitlines())), 5, "a confined helper")
    is_equal("the helper has no capabilities", {status["Cap" + c].strip("0") for c in ("Prm", "Eff", "Amb")}, {""})
    is_equal("the helper has ids of its own", (status["Uid"].split(), status["Gid"].split(), status["Groups"].split()), ([OWN_ID] * 4, [OWN_ID] * 4, []))
    is_equal("the helper gets no rights by a program", status["NoNewPrivs"], "1")
    limits = open("/proc/%d/limits" % helper).read()
    is_equal("the helper writes no files and starts no processes",
             [re.search(r"Max %s +(\S+)" % what, limits).group(1) for what in ("file size", "processes", "core file size")], ["0"] * 3)
    d.end()
    is_true("they end with jobprofd", wait_until(lambda: not os.path.exists("/proc/%d" % helper) and
                                                 not os.path.exists("/proc/%d" % opener), 5, "their end"), "")


def helper_ends():
    """Another one is started; while there is none the ring fills up: samples are by frame pointers then, and none is
    lost."""
    for sig, which, said in ((signal.SIGKILL, 1, "has ended"), (signal.SIGSTOP, 1, "gave no answer and was ended"),
                             (signal.SIGSTOP, 0, "gave no answer and was ended")):
        d, job = Daemon(1, ProfileHDF5Default="all,stack", StackUnwind="dwarf").start(), new_job()
        before = wait_until(lambda: helpers(d), 5, "helpers")
        os.kill(before[which], sig)
        s, name = Stepd(job, 0, [chain(), "8" if sig == signal.SIGKILL else "16"], v2_task(Trees().job(job) + "/step_0")), "%s %d: " % (sig.name, which)
        if sig == signal.SIGSTOP:  # while jobprofd starts no other one, the ring fills up, however long that takes here
            pid = wait_until(lambda: children(s.proc.pid), 60, "the program")[0]
            wait_until(lambda: cpu_seconds(pid) > 0.5, 60, "the program")
            d.proc.send_signal(signal.SIGSTOP)
            try:
                wait_until(lambda: cpu_seconds(pid) > 10, 300, "10 s of CPU time")
            finally:
                d.proc.send_signal(signal.SIGCONT)
        after = wait_until(lambda: helpers(d) not in (None, before) and helpers(d), 60, "another helper")
        is_true(name + "both are replaced", not set(after) & set(before) and wait_until(
            lambda: not os.path.exists("/proc/%d" % before[1]), 15, "the end of the one before"), (before, after))
        s.end(400)
        path = d.file(job, 0)
        used, lost = total(table(path, "Tasks/0"), "CPUTime"), attrs_of(path).get("Uncopied Stacks", 0)
        met = sum(n for _, n in folded(path)) / 9.7
        is_true(name + "a line says so", "the helper that follows stacks " + said in d.said(), d.said())
        if (sig, which) == (signal.SIGSTOP, 1):  # an opener that is stopped late has served the next helper already
            is_true(name + "what the ring had no room for is counted", lost > 0, (lost, used))
        # one by frame pointers stands for 1/97 s alone
        is_true(name + "no stack is lost", 0.75 * (used - lost / 9.7) < met < 1.2 * used, (met, lost, used))
        is_true(name + "the next one follows stacks", wholes(path) > 30, folded(path))
        cost = total(table(path, "Tasks/0"), "ProbeTime")
        is_true(name + "stacks cost something, and little", 0 < cost < 0.01 * used, (cost, used))
        d.end()


def locked_map():
    """A process whose memory map its user has locked: two helpers wait for it, and the third one no more."""
    d, bad, job, tree = Daemon(1, ProfileHDF5Default="all,stack", StackUnwind="dwarf").start(), new_job(), new_job(), Trees()
    state = os.path.join(tmpdir(), "hung")
    s = Stepd(bad, 0, ["sh", "-c", "'%s' -s -o '%s' & wait" % (tool("jphang"), state)], v2_task(tree.job(bad) + "/step_0"))
    other = Stepd(job, 0, [chain(), 100], v2_task(tree.job(job) + "/step_0"))
    pid = int(written(state))
    try:
        wait_until(lambda: "at a stack of process %d, and stacks of its user's jobs have one function from now on" % pid in d.said(), 60,
                   "jobprofd to give the process up: " + d.said())
        time.sleep(15)
        is_equal("two helpers waited", d.said().count("the helper that follows stacks gave no answer"), 2)
        is_true("the third one does not", helpers(d), d.said())
    finally:
        for p in [pid, *(p for x in (s, other) for c in children(x.proc.pid) for p in (c, *children(c)))]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(p, signal.SIGKILL)
    s.end()
    other.end()
    is_true("stacks of others are followed", wholes(d.file(job, 0)) > 30, folded(d.file(job, 0)))


ENDLESS = """asm volatile(".cfi_escape 0x0f,3,0x2f,0xfd,0xff")"""  # where its caller is: an expression that jumps to itself


def patched(path, section, change):
    """Changes a section's (offset, size) or header in the file."""
    line = re.search(r"\[ *(\d+)\] %s +\S+ +\S+ (\S+) (\S+)" % re.escape(section), subprocess.run(
        ["readelf", "-SW", path], capture_output=True, text=True).stdout)
    index, at, size = int(line.group(1)), int(line.group(2), 16), int(line.group(3), 16)
    with open(path, "r+b") as f:
        raw = bytearray(f.read())
        headers = int.from_bytes(raw[0x28:0x30], "little")
        change(raw, at, size, headers + 64 * index)
        f.seek(0)
        f.truncate()
        f.write(raw)


def put(at_of, value, size=8):
    def change(raw, at, length, header):
        to = at_of(at, length, header)
        raw[to:to + size] = value.to_bytes(size, "little")
    return change


def noise(raw, at, size, header):
    raw[at:at + size] = random.Random(25).randbytes(size)


HOSTILE_FILES = {
    "cut off": ("", None, lambda path: os.truncate(path, os.path.getsize(path) - 1000)),
    "huge section": (".eh_frame", put(lambda at, n, h: h + 32, (1 << 63) - 1), None),
    "section beyond the end": (".eh_frame", put(lambda at, n, h: h + 24, 1 << 40), None),
    "huge entry": (".eh_frame", put(lambda at, n, h: at, 0x7fffffffffffffffffffffff << 32 | 0xffffffff, 16), None),
    "entry of its own": (".eh_frame", put(lambda at, n, h: at + 4, 4, 4), None),
    "huge index": (".eh_frame_hdr", put(lambda at, n, h: at + 8, 0xffffffff, 4), None),
    "noise": (".eh_frame", noise, None),
    "noise in the index": (".eh_frame_hdr", noise, None),
    "sparse": ("", None, lambda path: os.truncate(path, 1 << 36)),
    "endless expression": ("", None, None),
}


def names_of(stacks):
    return sorted({n for names, _ in stacks for n in names})


def hostile_files():
    """Files that libdw cannot read: their functions have samples, and other programs have whole stacks."""
    d, job, paths = Daemon(1, ProfileHDF5Default="all,stack", StackUnwind="dwarf").start(), new_job(), []
    for i, (name, (section, change, harm)) in enumerate(HOSTILE_FILES.items()):
        path = built("hostile%d" % i, "-O2", "-fomit-frame-pointer", "-Dfive=hostile%d" % i,
                     *(["-DIN_FIVE=" + ENDLESS] if name == "endless expression" else []), of="jpchain")
        if change:
            patched(path, section, change)
        if harm:
            harm(path)
        paths.append(path)
    first = wait_until(lambda: helpers(d), 5, "helpers")
    s = Stepd(job, 0, ["sh", "-c", "; ".join(["'%s' 1" % p for p in paths] + ["exec '%s' 4" % chain()])],
              v2_task(Trees().job(job) + "/step_0"))
    s.end(150)
    stacks = folded(d.file(job, 0))
    for i, name in enumerate(HOSTILE_FILES):
        met = sum(n for names, n in stacks if "hostile%d" % i in names[-1])
        is_true("hostile file, %s: its functions have their samples" % name, 0.6 * 9.7 < met < 1.4 * 9.7, (met, names_of(stacks)))
    is_equal("hostile files: no helper ended", (helpers(d), "follows stacks" in d.said()), (first, False))
    is_true("hostile files: stacks of others are whole", wholes(d.file(job, 0)) > 25, stacks)


def text_offsets(path):
    """{function: where it begins in the file}, by nm and readelf."""
    loads = [[int(x, 16) for x in m] for m in re.findall(r"LOAD\s+(0x\w+) (0x\w+) 0x\w+ (0x\w+)", subprocess.run(
        ["readelf", "-lW", path], capture_output=True, text=True).stdout)]
    out = {}
    for line in subprocess.run(["nm", path], capture_output=True, text=True).stdout.splitlines():
        addr, kind, name = line[:16].strip(), *line[17:].split(" ", 1)
        for offset, begin, size in loads if addr else ():
            if kind in "tT" and begin <= int(addr, 16) < begin + size:
                out[name] = int(addr, 16) - begin + offset
    return out


def stripped():
    """Without symbols a function is where it begins, as nm says of the file that still has them; without the file
    there is one name for all."""
    path = built("bare")
    wanted = {n: "bare+0x%x" % at for n, at in text_offsets(path).items() if n.startswith("hot_") or "<svg" in n}
    is_equal("stripped: nm has them all", len(wanted), 10)
    subprocess.run(["strip", path], check=True)
    run, out = run_jobprof([path, "2"], 1, SERIES)
    leaf = by_leaf(folded(out))
    ours = {n: k for n, k in leaf.items() if n.startswith(("bare+", "[bare]"))}
    is_true("stripped: functions begin where nm says", sum(ours.get(n, 0) for n in wanted.values()) > 0.97 * sum(ours.values()) > 150,
            (ours, wanted))
    is_true("stripped: most of them are met", len(set(ours) & set(wanted.values())) >= 7, (ours, wanted))
    os.remove(path)
    gone = by_leaf(folded(out))
    is_equal("a file that is gone has one name", {n: k for n, k in gone.items() if "bare" in n}, {"[bare]": sum(ours.values())})


def no_build_id():
    """Functions of files without a build id have no names, and a line says why."""
    paths = {how: built("hot_" + how, "-Wl,--build-id=" + how) for how in ("none", "sha1")}
    run, out = run_jobprof(["sh", "-c", "%(none)s 1; %(sha1)s 1" % paths], 2, SERIES)
    p = subprocess.run([JOBPROF, "flame", "--folded", out], capture_output=True, text=True, timeout=60)
    is_equal("no build id: one line names the file", p.stderr.splitlines(), [
        "jobprof flame: %s: functions of %s have no names, as there is no build id to find them by: link with -Wl,--build-id"
        % (out, paths["none"])])
    os.remove(paths["none"])
    gone = subprocess.run([JOBPROF, "flame", "--folded", out], capture_output=True, text=True, timeout=60)
    is_equal("no build id: nothing is said of a file that is not here", gone.stderr, "")
    is_true("no build id: the file has one name", "[hot_none]" in p.stdout and "[hot_sha1]" not in p.stdout, p.stdout[:500])


def debuginfod():
    """The symbols of a stripped file come from a server that is asked by build id, but not for root."""
    try:
        ctypes.CDLL("libdebuginfod.so.1")
    except OSError:
        return skip("names by debuginfod", "no libdebuginfod")
    path, folder, asked = built("bare"), tmpdir(), []
    build_id = re.search(r"Build ID: (\w+)", subprocess.run(["readelf", "-n", path], capture_output=True, text=True).stdout).group(1)
    os.makedirs(os.path.join(folder, "buildid", build_id))
    subprocess.run(["objcopy", "--only-keep-debug", path, os.path.join(folder, "buildid", build_id, "debuginfo")], check=True)
    subprocess.run(["strip", path], check=True)

    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *args):
            super().__init__(*args, directory=folder)

        def log_message(self, *args):
            asked.append(self.path)

    run, out = run_jobprof([path, "2"], 1, SERIES)
    public, cache = tmpdir(), tmpdir()
    for name, mode in (public, 0o755), (os.path.dirname(path), 0o755), (cache, 0o777):
        os.chmod(name, mode)
    out = shutil.copy(out, public)
    without = by_leaf(folded(out))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        os.environ.update(DEBUGINFOD_URLS="http://127.0.0.1:%d" % server.server_port, DEBUGINFOD_CACHE_PATH=cache)
        try:
            names = by_leaf(folded(out, user=65534, group=65534, extra_groups=[]))
        finally:
            del os.environ["DEBUGINFOD_URLS"], os.environ["DEBUGINFOD_CACHE_PATH"]
            server.shutdown()
    is_equal("debuginfod: without it no function has a name", [n for n in without if n.startswith("hot_")], [])
    is_true("debuginfod: the server was asked by build id", "/buildid/%s/debuginfo" % build_id in asked, asked)
    is_true("debuginfod: functions have their names", len([n for n in names if n.startswith("hot_")]) >= 7 and
            not [n for n in names if n.startswith("bare+")], names)


def forms():
    directory = tmpdir()
    name = os.path.join(directory, "a<b>\"&' .x")
    shutil.copy(built("plain"), name)
    run, path = run_jobprof(["timeout", "12", name, "100"], 1, SERIES)  # more than one interval
    svg = flame(path, "--svg", "-")
    tree = ElementTree.fromstring(svg)
    tags = {e.tag.rsplit("}")[-1] for e in tree.iter()}
    is_equal("SVG: elements", tags - {"svg", "title", "rect", "text", "g"}, set())
    titles = [e.text for e in tree.iter() if e.tag.endswith("title")]
    is_true("SVG: the hostile name is a title", any(t.startswith(HOSTILE) for t in titles), titles)
    counts = folded(path)
    samples = sum(n for _, n in counts)
    scope = json.loads(flame(path, "--speedscope", "-"))
    profile = scope["profiles"][0]
    is_near("speedscope: seconds", sum(profile["weights"]), samples / 97, rel=1e-6)
    used = {i for s in profile["samples"] for i in s}
    is_true("speedscope: frames", used == set(range(len(scope["shared"]["frames"]))), used)
    is_true("speedscope: files", any(f.get("file") == name for f in scope["shared"]["frames"]), scope["shared"])
    events = json.loads(flame(path, "--perfetto", "-"))["traceEvents"]
    leafs = sum(e["dur"] for e in events if e["name"].startswith("hot_"))
    ours = sum(n for names, n in counts if any(x.startswith("hot_") for x in names))
    is_near("perfetto: time of functions", leafs / 1e6, ours / 97, rel=0.01)
    proto = os.path.join(directory, "p.pb.gz")
    flame(path, "--pprof", proto)
    raw = gzip.open(proto).read()
    is_true("pprof: names", all(t in raw for t in (b"hot_9", HOSTILE.encode(), b"nanoseconds", name.encode())), raw)
    values = pprof_samples(raw)
    is_equal("pprof: samples", sum(v[0] for v in values), samples)
    in_a_browser(path)
    for form in ("--speedscope", "--pprof", "--perfetto"):  # each is of one run
        p = subprocess.run([JOBPROF, "flame", "--diff", path, form, "-", path], capture_output=True, text=True)
        is_true("%s of two runs: refused" % form, p.returncode == 2 and not p.stdout and "--diff" in p.stderr, p)
    same = flame(path, "--diff", path)
    is_true("a run does not differ from itself", not re.search(r"[+-]0\.0[1-9]s|[+-][1-9]", same), same)


def compared():
    """A third phase that takes 45 % of 4 s instead of 25 % of 3 s: compare names it first."""
    paths = [run_jobprof(with_priority(tool("jpphases"), seconds, "20", first, "0.35"), 0.5, SERIES)[1]
             for seconds, first in (("3", "0.4"), ("4", "0.2"))]
    def of(*words):
        return subprocess.run([JOBPROF, "compare", *words], capture_output=True, text=True, timeout=60).stdout
    tables = {t["id"]: t["rows"] for t in json.loads(of("--json", *paths))["tables"]}
    rows = tables["functions"]
    is_equal("compared: the function that changed most", rows[0]["name"], "third_phase")
    is_true("compared: by how much, where others leave it a CPU", 0.1 < rows[0]["s"] < 1.2 and 1.5 < rows[0]["b_s"] / rows[0]["a_s"] < 3.5, rows[0])
    is_true("compared: the largest change first", [abs(r["s"]) for r in rows] == sorted((abs(r["s"]) for r in rows), reverse=True) and
            len(rows) <= 10, rows)
    for side, path in zip("ab", paths):
        counts = folded(path)
        own = {r["name"]: sum(n for names, n in counts if names[-1] == r["name"]) for r in rows}
        used = total(task_table(path), "CPUTime")
        is_true("compared: seconds of %s are its shares of the CPU time" % side, all(abs(r[side + "_s"] - r[side] * used) < 1e-6 for r in rows), (rows, used))
        is_near("compared: shares of %s" % side, sum(r[side] for r in rows), sum(own.values()) / sum(n for _, n in counts), rel=1e-6)
    text = of(*paths)
    is_true("compared: as text, in 80 columns", re.search(r"^  third_phase +[0-9.]+ % ", text, re.M) and max(map(len, text.splitlines())) <= 80, text)
    without = run_jobprof(["sleep", "1"], 0.5)[1]
    is_true("compared: only where both have stacks", "functions" not in of("--json", paths[0], without), "")


def in_a_browser(path):
    web = os.path.join(ROOT, "tests/web")
    if not all(shutil.which(w) for w in ("node", "chromium")) or not os.path.isdir(web + "/node_modules/playwright-core"):
        return skip("the page in a browser", "node, chromium or playwright-core is not there")
    folder = tmpdir()
    flame(path, "--html", os.path.join(folder, "flame.html"))
    with open(os.path.join(folder, "cases.json"), "w") as f:
        json.dump([{"name": "flame", "sections": ["flame"], "intervals": 2}], f)
    p = subprocess.run(["node", web + "/flame.js", folder], capture_output=True, text=True, timeout=100)
    print(p.stdout, end="", flush=True)
    is_true("the browser's tests came to their end", p.returncode == 0, p.stderr[-400:])


def varint(raw, at):
    v = shift = 0
    while True:
        v |= (raw[at] & 127) << shift
        shift += 7
        at += 1
        if raw[at - 1] < 128:
            return v, at


def fields(raw):
    """[(number, value)] of a message of protocol buffers."""
    at, out = 0, []
    while at < len(raw):
        key, at = varint(raw, at)
        v, at = varint(raw, at)
        if key & 7 == 2:
            v, at = raw[at:at + v], at + v
        out.append((key >> 3, v))
    return out


def pprof_samples(raw):
    return [[v for k, v in fields(s) if k == 2] for f, s in fields(raw) if f == 2]


def languages():
    """Names of C++ and of Fortran as they are written."""
    for compiler, suffix, source, wanted in (
            ("g++", "cc", "#include <ctime>\nnamespace ns { template <class T> __attribute__((noinline)) T hot(T n) "
             "{ volatile T x = 0; for (long i = 0; i < 1000000; i++) x = x + n; return x; } }\n"
             "int main() { while (clock() < CLOCKS_PER_SEC) ns::hot<double>(1); }", "double ns::hot<double>(double)"),
            ("gfortran", "f90", "module solver\ncontains\nsubroutine hot(x)\nreal(8), volatile :: x\ninteger :: i\n"
             "do i = 1, 1000000\nx = x + i\nend do\nend subroutine\nend module\nprogram p\nuse solver\n"
             "real(8) :: x, t\nx = 0\nt = 0\ndo while (t < 1)\ncall hot(x)\ncall cpu_time(t)\nend do\nend program",
             "solver::hot")):
        if not shutil.which(compiler):
            skip("names of " + compiler, "no " + compiler)
            continue
        path = os.path.join(tmpdir(), "x." + suffix)
        with open(path, "w") as f:
            f.write(source)
        subprocess.run([compiler, "-O1", "-o", path + ".exe", path], check=True, cwd=os.path.dirname(path))
        run, out = run_jobprof([path + ".exe"], 1, SERIES)
        leaf = by_leaf(folded(out))
        is_true("names of " + compiler, leaf.get(wanted, 0) > 50, leaf)


def restarted_and_merged():
    """jobprofd is killed while a program runs; the file goes into that of the job."""
    d, job = Daemon(1, ProfileHDF5Default="all,stack").start(), new_job()
    s = Stepd(job, 0, [tool("jpstack"), "8"], v2_task(Trees().job(job) + "/step_0"))
    time.sleep(4)
    d.end(signal.SIGKILL)
    d.start()
    s.end(120)
    path = d.file(job, 0)
    counts = folded(path)
    hot = sum(n for names, n in counts if names[-1].startswith(("hot_", "<svg")))
    used = total(table(path, "Tasks/0"), "CPUTime")
    # what jobprofd had not written yet went with it, which the file says
    is_true("after a restart: what ran after it has samples", used - 6 < hot / 97 < 1.1 * used, (hot / 97, used))
    is_true("after a restart: the file says what may be lost", "stacks" in attrs_of(path).get("Restarted", ""), attrs_of(path).get("Restarted"))
    is_equal("after a restart: all names are known", [n for n, _ in counts if "?" in n], [])
    both = os.path.join(tmpdir(), "job.h5")
    r = subprocess.run([JOBPROF, "merge", "-S", "-j", str(job), "-p", d.hdf5, "-o", both], capture_output=True, text=True)
    is_true("merge", r.returncode == 0, r.stderr)
    is_equal("merged: the same stacks", folded(both), counts)
    r = subprocess.run([JOBPROF, "extract", "-i", both, "-s", "Stacks", "-l", "timeseries"], capture_output=True, text=True,
                       cwd=tmpdir())
    is_true("extract", r.returncode == 0, r.stderr)


MAPPER = "import mmap, time\nf = open('/bin/true', 'rb')\n" \
    "m = [mmap.mmap(f.fileno(), 4096, prot=mmap.PROT_READ | mmap.PROT_EXEC) for i in range(450)]\n" \
    "import os\n" \
    "if os.fork(): os.wait(), os._exit(0)\n" \
    "while time.process_time() < 1.5: pass"  # a process whose maps are read when it has them all


def full_tables():
    """What found no room is said in a line, and numbers that are none count for nothing."""
    run, path = run_jobprof([sys.executable, "-c", MAPPER], 1, SERIES)
    said = subprocess.run([JOBPROF, "flame", path], capture_output=True, text=True).stderr
    is_true("more mappings than are kept: a line", re.search(r"of [12] processes some code is \[no file\]", said) and said.count("\n") == 1, said)
    run, path = run_jobprof([tool("jpstack"), "2"], 1, SERIES)
    said = subprocess.run([JOBPROF, "flame", path], capture_output=True, text=True).stderr
    is_equal("nothing is said where nothing is lost", said, "")
    before = sum(n for _, n in folded(path))
    with h5py.File(path, "r+") as f:
        found = {}
        f.visititems(lambda name, o: found.__setitem__("/".join(name.split("/")[-2:]), o))
        tree, rows = found[next(n for n in found if n.endswith("/CallTree"))], found["Stacks/0"]
        root = next(r["Node"] for r in tree[:] if r["Parent"] == 0)
        data = rows[:]
        running = [i for i in range(len(data)) if data["Seconds"][i] > 0]
        one, other = running[:2]
        cut, gone = data["Samples"][one], data["Samples"][other]
        data["Stack"][one] = root
        data["Seconds"][other] = float("inf")
        rows[:] = data
        tree.parent.attrs["Lost Stacks"] = 7
    counts = by_leaf(folded(path))
    said = subprocess.run([JOBPROF, "flame", path], capture_output=True, text=True).stderr
    is_true("the tables were full: a line", "; 7 are in none; %d have no functions, [no room]" % cut in said, said)
    is_equal("stacks without room", counts.get("[no room]"), int(cut))
    is_equal("an infinite time is not known", sum(counts.values()), before - int(gone))


MANY = """
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
__attribute__((noinline, noclone)) void a(unsigned path, unsigned deep);
__attribute__((noinline, noclone)) void b(unsigned path, unsigned deep);
/* Not by libc, which has no frame pointers. */
static void sleep_a_while(void)
{
	struct timespec t = {.tv_nsec = 1100000};
	long n = SYS_nanosleep;

	__asm__ volatile("syscall" : "+a"(n) : "D"(&t), "S"(0) : "rcx", "r11", "memory");
}
static void next(unsigned path, unsigned deep)
{
	if (!deep)
		sleep_a_while();
	else if (path & 1)
		a(path / 2, deep - 1);
	else
		b(path / 2, deep - 1);
}
void a(unsigned path, unsigned deep) { next(path, deep); __asm__ volatile(""); }
void b(unsigned path, unsigned deep) { next(path, deep); __asm__ volatile(""); }
int main(int argc, char **argv)
{
	for (int i = 0; i < atoi(argv[argc - 1]); i++)
		next(i, 14);
}
"""


def max_stacks():
    """A program that sleeps each time with other callers: what finds no room is counted, none is lost else."""
    source, program = os.path.join(tmpdir(), "many.c"), os.path.join(tmpdir(), "many")
    with open(source, "w") as f:
        f.write(MANY)
    subprocess.run(["gcc", "-O1", "-fno-omit-frame-pointer", "-o", program, source], check=True)
    for most, sleeps in ((1024, 3000), (8192, 3000)):
        d, job = Daemon(60, ProfileHDF5Default="all,stack", MaxStacks=most).start(), new_job()
        Stepd(job, 0, [program, sleeps], v2_task(Trees().job(job) + "/step_0")).end(60)
        path = d.file(job, 0)
        rows, lost = table(path, "Stacks/0"), attrs_of(path).get("Lost Stacks", 0)
        is_true("MaxStacks=%d: half for a job that is alone" % most, rows["Samples"].sum() >= min(most / 2, sleeps), rows)
        is_near("MaxStacks=%d: kept and lost are the sleeps" % most, rows["Samples"].sum() + lost,
                sleeps, 0.03, 0)
        is_equal("MaxStacks=%d: lost ones" % most, lost > 0, most < sleeps)
        d.end()
    stacks_of_two(program)
    stacks_of_a_user(program)


def stacks_of_a_user(program):
    """Three jobs of a user have one share of the room for stacks together, and another user's job has all of its own."""
    d, where, tree = Daemon(60, ProfileHDF5Default="all,stack", MaxStacks=1024).start(), tmpdir("user"), Trees()
    os.chmod(where, 0o777)
    for path in (os.path.dirname(program), program):
        os.chmod(path, 0o755)
    script = "while [ ! -e %s/go ]; do sleep 0.1; done; %s 1000; echo >%s/had.$0; while [ ! -e %s/end ]; do sleep 0.1; done" % (
        where, program, where, where)
    greedy = [Stepd(j, 0, ["sh", "-c", script, j], v2_task(tree.job(j) + "/step_0", ["-u", 65534])) for j in (new_job(), new_job(), new_job())]
    wait_until(lambda: sum(struct.unpack_from("<6I", bytes(v))[5] for v in d.map_bytes("jp_jobs")) == 2, 20, "whose they are to be known")
    open(where + "/go", "w").close()
    wait_until(lambda: len(glob.glob(where + "/had.*")) == 3, 60, "the user's stacks")
    job = new_job()
    Stepd(job, 0, [program, 200], v2_task(tree.job(job) + "/step_0")).end(60)
    open(where + "/end", "w").close()
    for s in greedy:
        s.end()
    is_near("three jobs of a user: another's has all of its sleeps", table(d.file(job, 0), "Stacks/0")["Samples"].sum(), 200, 0.03, 3)
    d.end()


def stacks_of_two(program):
    """A job that has its share of the room for stacks takes none of another's, and the loss is in its own file."""
    d, greedy, job, where, tree = Daemon(60, ProfileHDF5Default="all,stack", MaxStacks=1024).start(), new_job(), new_job(), tmpdir("two"), Trees()
    script = "%s 3000; echo >%s/had; while [ ! -e %s/end ]; do sleep 0.1; done" % (program, where, where)
    first = Stepd(greedy, 0, ["sh", "-c", script], v2_task(tree.job(greedy) + "/step_0"))
    wait_until(lambda: os.path.exists(where + "/had"), 60, "the first job's stacks")
    Stepd(job, 0, [program, 200], v2_task(tree.job(job) + "/step_0")).end(60)
    open(where + "/end", "w").close()
    first.end()
    lost = [attrs_of(d.file(j, 0)).get("Lost Stacks", 0) for j in (greedy, job)]
    is_true("two jobs: what is lost is the first one's", lost[0] > 2000 and lost[1] == 0, lost)
    is_near("two jobs: the other has all of its sleeps", table(d.file(job, 0), "Stacks/0")["Samples"].sum(), 200, 0.03, 3)
    d.end()


def refused():
    run, path = run_jobprof(["true"], 1, "all")
    for args in ([path], [path, "--task", "7"], ["/dev/null"], [path, "--svg", "-", "--folded"], ["--from", "x", path]):
        r = subprocess.run([JOBPROF, "flame", *args], capture_output=True, text=True)
        is_true("refused in a line: " + " ".join(args[-2:]), r.returncode and r.stderr.count("\n") <= 2 and not r.stdout,
                r.stderr)


if __name__ == "__main__":
    need_bpf()
    run_tests([hottest, blocked, callers, loaded_later, called_later, unwound, rights, helper_ends, locked_map, hostile_files, stripped, no_build_id, debuginfod, forms, languages, restarted_and_merged, compared, full_tables, max_stacks, refused])
