#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 240
# runs: in full
# runs: alone
"""jobprof calibrate against fio, numpy and /proc/cpuinfo, within factors that each test says: both
sides are measured one after the other, on a machine that others may use. What --write writes against
what was printed; the file when it was written by hand, and when it is not fit to be one."""

import sys
sys.path.insert(0, sys.path[0] + "/../../lib")
from lib import *

DISK_FACTOR = 3
MEMORY_FACTOR = 3
CPU_HZ_MAX = 7e9
FLOPS_PER_CYCLE_MAX = 64  # four units of 512 bits
CPUS = sorted(os.sched_getaffinity(0))


def calibrate(*args, status=0, pre=(), timeout=100, **kw):
    r = subprocess.run([*pre, JOBPROF, "calibrate", *args], capture_output=True, text=True,
                       timeout=timeout, **kw)
    if r.returncode != status:
        raise Failed("%s: status %d: %s" % (" ".join(args), r.returncode, r.stderr))
    return r


def measured(*args, **kw):
    """What --json says, and its measures by key."""
    said = json.loads(calibrate("--json", *args, **kw).stdout)
    return said, {m["key"]: m for m in said["measures"]}


def is_within(name, got, wanted, factor):
    is_true("%s within a factor of %g" % (name, factor), wanted / factor < got < wanted * factor,
            "%.4g, and the other program says %.4g" % (got, wanted))


def fio(directory, rw, size, jobs):
    """Bytes and requests per second of direct requests, as many at a time as jobprof has."""
    p = subprocess.run(["fio", "--name=x", "--directory=" + directory, "--filename=fio", "--direct=1",
                        "--ioengine=psync", "--thread", "--rw=" + rw, "--bs=" + size, "--size=128M",
                        "--numjobs=%d" % jobs, "--group_reporting", "--time_based", "--runtime=2",
                        "--output-format=json"], capture_output=True, text=True)
    if p.returncode:
        raise Failed(p.stdout + p.stderr)
    said = json.loads(p.stdout)["jobs"][0]["write" if "write" in rw else "read"]
    return said["bw_bytes"], said["iops"]


def disk_is_as_fio_says():
    if not shutil.which("fio"):
        raise Skipped("there is no fio")
    d = tmpdir()
    said, m = measured("--only", "disk", "-d", d, "--limit", "6")
    is_equal("disk: three measures", list(m), ["DiskWritePeak", "DiskReadPeak", "DiskReadOpsPeak"])
    direct = all("direct, file of" in x["how"] and "not direct" not in x["how"] for x in m.values())
    is_equal("disk: direct requests where the directory takes them", direct, takes_direct(d))
    is_within("disk: writes", m["DiskWritePeak"]["value"], fio(d, "write", "1M", 4)[0], DISK_FACTOR)
    is_within("disk: reads", m["DiskReadPeak"]["value"], fio(d, "read", "1M", 4)[0], DISK_FACTOR)
    is_within("disk: random reads", m["DiskReadOpsPeak"]["value"], fio(d, "randread", "4k", 16)[1],
              DISK_FACTOR)


def takes_direct(directory):
    try:
        os.close(os.open(os.path.join(directory, "direct"), os.O_RDWR | os.O_CREAT | os.O_DIRECT))
        return True
    except OSError:
        return False


def copies(mb, rounds):
    """Bytes per second of CPU time of copies by numpy, a thread on each CPU, each byte read and written."""
    together, took = threading.Barrier(len(CPUS)), []

    def work(cpu):
        os.sched_setaffinity(0, [cpu])
        a, b = numpy.ones(mb << 17), numpy.ones(mb << 17)  # zeros would get their pages in the first copy
        together.wait()
        began = time.thread_time()
        for _ in range(rounds):
            numpy.copyto(b, a)
        took.append(time.thread_time() - began)

    threads = [threading.Thread(target=work, args=(c,)) for c in CPUS]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return 2 * (mb << 20) * rounds * len(CPUS) ** 2 / sum(took)


def memory_is_as_numpy_says():
    """By CPU time, since both sides lose what others take of the CPUs. A copy without stores past the
    caches moves a half more than is counted here."""
    before = copies(128, 10)
    said, m = measured("--only", "memory")
    m = m["MemBandwidthPeak"]
    is_equal("memory: CPUs", said["cpus"], len(CPUS))
    is_within("memory: bandwidth", m["value"] / m["cpu_share"], (before + copies(128, 10)) / 2, MEMORY_FACTOR)


def arithmetic_is_what_the_cpu_can():
    said, m = measured("--only", "flops")
    m = m["FlopsPeak"]
    with open("/proc/cpuinfo") as f:
        flags = set(re.findall(r"^flags\s*: (.*)", f.read(), re.M)[0].split()) if os.uname().machine == \
            "x86_64" else set()
    wide = "AVX-512" if "avx512f" in flags else "AVX2" if {"avx2", "fma"} <= flags else ""
    is_true("flops: the widest unit of /proc/cpuinfo", m["how"].startswith(wide), m["how"])
    is_true("flops: not more than a CPU can have",
            m["value"] < len(CPUS) * CPU_HZ_MAX * FLOPS_PER_CYCLE_MAX, m["value"])
    # Two operations for an element of a dot product in the nearest cache, on one CPU. The scheduler
    # may give each side half of what it gives the other.
    a = numpy.ones(1000)
    began, rounds = time.monotonic(), 200000
    for _ in range(rounds):
        a.dot(a)
    dot = 2 * 1000 * rounds / (time.monotonic() - began)
    is_true("flops: more than half of a dot product of numpy on each CPU",
            m["value"] > dot * len(CPUS) / 2, "%.4g, dot %.4g" % (m["value"], dot))


def numbers_are_consistent():
    said, m = measured("--quick")
    for key, x in m.items():
        p = x["passes"]
        if key == "NetworkPeak":
            is_equal("network: a speed that a link says, or why it is unknown",
                     (x["value"] is None, len(p)), (x["error"] is not None, int(x["error"] is None)))
            continue
        is_true("%s: median, minimum and maximum of its passes" % key,
                p and numpy.allclose([x["value"], x["min"], x["max"], x["spread"]],
                                     [numpy.median(p), min(p), max(p), (max(p) - min(p)) / numpy.median(p)],
                                     rtol=1e-12), x)
        warned = any(w.startswith(key + ": the passes differ") for w in said["warnings"])
        is_equal("%s: a warning from 10 %% of spread on" % key, warned, x["spread"] > 0.1)


def fewer_cpus_are_said():
    if len(CPUS) < 2:
        raise Skipped("needs two CPUs")
    spin = start(["taskset", "-c", str(CPUS[0]), sys.executable, "-c", "while True: pass"])
    r = calibrate("--only", "flops", "--quick", pre=["taskset", "-c", str(CPUS[0])])
    spin.kill()
    spin.wait()
    is_true("one of the CPUs: said in the table", "measured on 1 of" in r.stdout, r.stdout)
    is_true("one of the CPUs: a warning", "may use 1 of the node's" in r.stderr, r.stderr)
    is_true("a CPU that is shared: a warning", "of their CPUs' time" in r.stderr, r.stderr)
    is_true("a busy node: a warning", "the node is busy" in r.stderr, r.stderr)


def time_is_kept():
    began = time.monotonic()
    calibrate("--limit", "0.5", "-d", tmpdir())
    took = time.monotonic() - began
    is_true("--limit 0.5 ends soon", took < 15, "%.1f s" % took)


def nothing_is_left_of_a_killed_one():
    d = tmpdir()
    p = start([JOBPROF, "calibrate", "--only", "disk", "-d", d], stdout=subprocess.DEVNULL,
              stderr=subprocess.DEVNULL)
    wait_until(lambda: p.poll() is not None or any(
        os.path.realpath(f).startswith(d) for f in glob.glob("/proc/%d/fd/*" % p.pid)), 10, "a scratch file")
    is_equal("the scratch file has no name", os.listdir(d), [])
    p.kill()
    p.wait()
    is_equal("nothing is left of it", os.listdir(d), [])


def without_direct_requests():
    so = os.path.join(BUILD, "tests/stub/nodirect.so")
    if not os.path.exists(so):
        raise Failed("%s is not there: make tools" % so)
    said, m = measured("--only", "disk", "--quick", "--limit", "1", "-d", tmpdir(), pre=["env", "LD_PRELOAD=" + so])
    is_true("no direct requests: each measure says so",
            len(m) == 3 and all("not direct, which is refused there" in x["how"] for x in m.values()), m)


def wrong_usage():
    for args, status, word in ((["--only", "disc"], 2, '"disc" is not one of'),
                               (["--only", ""], 2, "--only"), (["--only", "disk,"], 2, "--only"),
                               (["--limit", "0"], 2, "--limit"), (["--limit", "nan"], 2, "--limit"),
                               (["file"], 2, "without --write"), (["-w", "a", "b"], 2, "one file"),
                               (["--nodes", "n1"], 2, "without --write"),
                               (["--only", "disk", "-d", "/nonexistent"], 1, "No such file"),
                               (["--only", "disk", "-d", "/proc"], 1, "cannot be written")):
        r = calibrate(*args, status=status)
        lines = [l for l in r.stderr.splitlines() if not re.search("busy|steal|may use", l)]
        is_true("calibrate %s" % " ".join(args), len(lines) == 1 and word in lines[0], r.stderr)


UNITS = {"k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18}


def number(text):
    return float(text[:-1]) * UNITS[text[-1]] if text[-1] in UNITS else float(text)


def sections(path):
    """{list of nodes: {key: numbers}}"""
    found, at = {}, ""
    with open(path) as f:
        for line in f:
            key, _, value = line.split("#")[0].strip().partition("=")
            if key == "Nodes":
                at = value
            elif key:
                found.setdefault(at, {})[key] = [number(v) for v in value.split(",")]
    return found


def what_is_written_is_what_was_said():
    path = os.path.join(tmpdir(), "peaks.conf")
    node = os.uname().nodename.split(".")[0]
    env = plain_env(JOBPROF_PEAKS=path)
    said, m = measured("--only", "memory,flops,network", "--quick", "-w", env=env)
    got = sections(path)[node]
    for key, x in m.items():
        if x["value"] is None:
            is_true("%s is unknown and not written" % key, key not in got, got)
        else:
            is_true("%s as it was said" % key, numpy.allclose(
                got[key], [x["value"], x["min"], x["max"]], rtol=1e-6), (got[key], x))
    is_equal("how many CPUs", (got["CPUs"], got["Cores"]), ([said["cpus"]], [said["cores"]]))

    with open(path, "a") as f:
        f.write("IpcPeak=5 # by hand\n# on others\nNodes=m*\nFlopsPeak=3T\n")
    flops = got["FlopsPeak"]
    said, m = measured("--only", "disk", "--quick", "--limit", "1", "--write", path, "-d", tmpdir())
    got = sections(path)
    is_equal("what was not measured stays", (got[node]["FlopsPeak"], got[node]["IpcPeak"], got["m*"]),
             (flops, [5], {"FlopsPeak": [3e12]}))
    is_true("what was measured is added", numpy.isclose(got[node]["DiskReadPeak"][0],
                                                        m["DiskReadPeak"]["value"], rtol=1e-6), got)
    with open(path) as f:
        is_true("comments stay", "# on others\n" in f.read(), "gone")
    said, m = measured("--only", "flops", "--quick", "-w", path, "--nodes", "n[1-3],x")
    is_true("other nodes have a section of their own", numpy.isclose(
        sections(path)["n[1-3],x"]["FlopsPeak"][0], m["FlopsPeak"]["value"], rtol=1e-6), sections(path))
    is_equal("and this node's is as it was", sections(path)[node]["FlopsPeak"], flops)


def unfit_files_stay_as_they_are():
    d = tmpdir()
    path = os.path.join(d, "peaks.conf")
    quick = ["--only", "flops", "--quick", "--limit", "0.5", "-w"]
    node = os.uname().nodename.split(".")[0]
    for text, word in (("FlopsPeak=1\nFlopsPeak=fast\n", ":2: "), ("FlopsPaek=1\n", "did you mean"),
                       ("Nodes=n[1-\n", "list of nodes"), ("Nodes=n[1-999999999]\n", "nodes"),
                       ("MemBandwidthPeak=3,2,1\n", "median,minimum,maximum"),
                       ("CPUs=\x00\n", "NUL"), ("\xff\xfe\x00", "NUL"),
                       ("Nodes=%s\nFlopsPeak=\\\n1T\n" % node, ""),
                       ("Nodes=*\nFlopsPeak=1T\nNodes=%s\nNodes=*\nFlopsPeak=1T\n" % node, "another value")):
        with open(path, "wb") as f:
            f.write(text.encode("latin-1"))
        r = calibrate(*quick, path, status=1)
        with open(path, "rb") as f:
            is_true("unfit: %r" % text, f.read() == text.encode("latin-1") and word in r.stderr
                    and os.listdir(d) == ["peaks.conf"], r.stderr)
    r = calibrate(*quick, "/proc/peaks.conf", status=1)
    is_true("unfit: a directory that takes no file", "cannot be written" in r.stderr, r.stderr)
    os.unlink(path)
    os.mkfifo(path)
    r = calibrate(*quick, path, status=1)
    is_true("unfit: a FIFO", "not a regular file" in r.stderr, r.stderr)
    for nodes in ("", "n[", "a b", "a*\nFlopsPeak=1", "n[1-2]*", "a/b*", '"'):
        r = calibrate(*quick, os.path.join(d, "new"), "--nodes", nodes, status=1)
        is_true("unfit: --nodes %r" % nodes, "--nodes" in r.stderr and not os.path.exists(d + "/new"), r.stderr)


if __name__ == "__main__":
    run_tests([disk_is_as_fio_says, memory_is_as_numpy_says, arithmetic_is_what_the_cpu_can,
               numbers_are_consistent, fewer_cpus_are_said, time_is_kept, nothing_is_left_of_a_killed_one,
               without_direct_requests, wrong_usage, what_is_written_is_what_was_said,
               unfit_files_stay_as_they_are])
