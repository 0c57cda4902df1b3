#!/usr/bin/python3
# timeout: 200
# SPDX-License-Identifier: GPL-2.0-or-later
"""Functions as regions (jobprof run --region), against a program that times its calls by its own clock."""

import sys
sys.path.insert(0, sys.path[0] + "/../../lib")
from lib import *
from faultlib import rmtree_cgroup

CALLS = tool("jpcalls")
LIBSTDCXX = subprocess.run(["gcc", "-print-file-name=libstdc++.so.6"], capture_output=True, text=True).stdout.strip()


def names(path):
    with h5py.File(path, "r") as f:
        return list(f[next(k for k in f if isinstance(f[k], h5py.Group))])


def run(options, *regions, budget=100):
    """The Run, its rows of Regions by their ends, its attributes, and the program's own begins and ends."""
    extra = [w for r in regions for w in ("--region", r)] + ["--region-budget", str(budget)]
    got, path = run_jobprof([CALLS, *options], 0.5, "base", extra)
    rows = table(path, "Regions") if "Regions" in names(path) else numpy.zeros(0, [("Begin", "u8"), ("End", "u8")])
    own = [line.split() for line in got.out().splitlines() if re.fullmatch(r"\d+ \d+", line)]
    own = numpy.array(own, dtype="u8").reshape(-1, 2)
    return got, rows[numpy.argsort(rows["End"])], attributes(path), own


def lost(attrs):
    return int(attrs.get("Lost Regions", 0))


def are_the_calls(name, rows, attrs, own):
    """Each row is around one call, and not much longer: the probes' own time is outside."""
    is_equal(name + ": as many as calls", [len(rows), lost(attrs)], [len(own), 0])
    before = own[:, 0].astype(float) - rows["Begin"]
    after = rows["End"].astype(float) - own[:, 1]
    probe = float(re.search(r"([\d.]+) us each time", attrs["Regions"]).group(1)) * 1e3
    is_true(name + ": each is around its call", min(before.min(), after.min()) >= 0, (before.min(), after.min()))
    is_true(name + ": and half of them by less than a probe costs", numpy.median(before + after) < probe,
            (numpy.median(before + after), probe))


def calls():
    got, rows, attrs, own = run(["10000", "20"], CALLS + ":work")
    are_the_calls("calls", rows, attrs, own)
    is_equal("calls: the program's own number of them", len(own), 10000)
    is_equal("calls: the name", attrs["Region 1"], "jpcalls:work")
    is_true("calls: one process and thread", len(set(rows["Process"])) == 1 and (rows["Thread"] == rows["Process"]).all(), rows)
    is_true("calls: nothing paused", "regions:" not in got.out() and "paused" not in attrs["Regions"], attrs["Regions"])


def beside_another():
    """The cost of a probe is measured beside another run that measures, or probes, on the same function."""
    got, path = run_jobprof([JOBPROF, "run", "-q", "-s", "base", "-o", TMP, "--region", CALLS + ":work", CALLS, "2000", "20"], 0.5, "base",
                            ["--region-budget", "100", "--region", JOBPROF + ":trial"])
    inner = max(glob.glob(TMP + "/*.h5"), key=os.path.getmtime)
    outer, inner = (float(re.search(r"([\d.]+) us each time", attributes(p)["Regions"]).group(1)) for p in (path, inner))
    is_true("beside another: what a probe costs", outer / 2 < inner < 4 * outer, (outer, inner))


def recursion():
    got, rows, attrs, own = run(["-r", "5", "300", "20"], "deep=" + CALLS + ":work")
    are_the_calls("recursion", rows, attrs, own)
    is_equal("recursion: the name", attrs["Region 1"], "deep")
    got, rows, attrs, own = run(["-r", "100", "20", "20"], CALLS + ":work")
    is_equal("recursion: the kernel sees 64 of nested returns, the others are lost", [2000, len(rows), lost(attrs)],
             [len(own), 20 * 64, 20 * 36])
    first = own[numpy.argsort(own[:, 0])]
    began = first[numpy.searchsorted(first[:, 0], rows["Begin"])]  # the first call from there on
    ended = own[numpy.searchsorted(own[:, 1], rows["End"]) - 1]  # the last one until there
    is_true("recursion: those seen begin and end where one call does", (began == ended).all(), (began, ended))


def no_end():
    got, rows, attrs, own = run(["-l", "200", "20"], CALLS + ":work")
    is_equal("no end: calls that longjmp left are lost", [len(rows), lost(attrs)], [0, 200])
    got, rows, attrs, own = run(["-x", "10", "20"], CALLS + ":work", CALLS + ":work_and_exit")
    is_equal("no end: so is one that ended the program", [len(rows), len(own), lost(attrs)], [10, 10, 1])


def paused():
    for _ in range(3):  # where the machine stands still for a moment, nobody reads the ring, and it is full
        got, rows, attrs, own = run(["-q", "3"], CALLS + ":quick", budget=1)
        if lost(attrs) <= 1:
            break
    calls = int(next(line for line in got.out().splitlines() if line.isdigit()))
    spent = 2 * len(rows) * float(re.search(r"([\d.]+) us each time", attrs["Regions"]).group(1)) * 1e-6
    said = "jpcalls:quick paused once, "
    is_true("paused: the file says so", said in attrs["Regions"], attrs["Regions"])
    is_true("paused: run says so in a line", re.search("^regions: .*" + said, got.out(), re.M), got.out()[-400:])
    whole, first = map(float, re.search(r"once, ([\d.]+) s in all, first after ([\d.]+) s", attrs["Regions"]).groups())
    ran = float(re.search(r"^ran ([\d.]+) s", got.out(), re.M).group(1))
    is_near("paused: from when it says until the end", first + whole, ran, 0, 0.2)
    is_true("paused: it was called millions of times a second after that", calls > 5e6 and calls > 100 * len(rows), (calls, len(rows)))
    is_true("paused: with what 1 % of 5 seconds pays for, and some", 0.02 < spent < 0.25, spent)
    is_true("paused: no more is lost than a call that went on then", lost(attrs) <= 1, lost(attrs))


def never_executed():
    got, rows, attrs, own = run(["3", "20"], CALLS + ":work", CALLS + ":work_and_exit")
    said = "jpcalls:work_and_exit was never executed"
    is_true("never executed: the file says so", attrs["Regions"].endswith("; " + said), attrs["Regions"])
    is_true("never executed: run says so in a line", re.search("^regions: .*" + said + "$", got.out(), re.M), got.out()[-400:])
    is_equal("never executed: the other one is there", [len(rows), attrs["Regions"].count("never")], [3, 1])


def other_processes():
    """Others who execute the file come to the probes, but not into the profile."""
    with open(os.devnull, "w") as null:
        other = start([CALLS, "100000000", "50"], stdout=null)
        got, rows, attrs, own = run(["500", "20"], CALLS + ":work")
    is_true("others: they ran meanwhile", other.poll() is None, other.returncode)
    other.kill()
    other.wait()
    are_the_calls("others", rows, attrs, own)


def usdt():
    """The C++ library has probes of its own, which readelf -n shows."""
    notes = subprocess.run(["readelf", "-n", LIBSTDCXX], capture_output=True, text=True).stdout
    if "libstdcxx" not in notes:
        raise Skipped("the C++ library has no probes")
    src, prog = os.path.join(TMP, "throws.cc"), os.path.join(TMP, "throws")
    with open(src, "w") as f:
        f.write("int main() { for (int i = 0; i < 1234; i++) try { throw i; } catch (int) {} }\n")
    subprocess.run(["g++", "-O1", "-o", prog, src], check=True)
    got, path = run_jobprof([prog], 0.5, "base", ["--region-budget", "100", "--region",
                                                  "usdt:" + LIBSTDCXX + ":libstdcxx:throw,catch"])
    rows, attrs = table(path, "Regions"), attributes(path)
    is_equal("usdt: a row per exception", [len(rows), lost(attrs)], [1234, 0])
    is_true("usdt: its name", attrs["Region 1"].endswith(":throw,catch"), attrs["Region 1"])
    is_true("usdt: one after another", (rows["Begin"][1:] >= rows["End"][:-1]).all(), rows)


# Notes as <sys/sdt.h> writes them: a probe is a nop, and is of use where its semaphore is not 0.
GUARDED = r"""
#include <stdio.h>
#include <stdlib.h>
#define SEMAPHORE(name) __attribute__((section(".probes"))) volatile unsigned short name##_semaphore
#define PROBE(name)                                                              \
    __asm__ volatile("990: nop\n.pushsection .note.stapsdt, \"\", %note\n.balign 4\n" \
                     ".4byte 992f - 991f, 994f - 993f, 3\n991: .asciz \"stapsdt\"\n"  \
                     "992: .balign 4\n993: .8byte 990b, 0, " #name "_semaphore\n"      \
                     ".asciz \"own\", \"" #name "\", \"\"\n994: .balign 4\n.popsection")
SEMAPHORE(begin);
SEMAPHORE(end);
int main(int argc, char **argv)
{
    int rounds = atoi(argv[1]), begins = 0, ends = 0;

    for (int i = 0; i < rounds; i++) {
        if (begin_semaphore) {
            begins++;
            PROBE(begin);
        }
        if (end_semaphore) {
            ends++;
            PROBE(end);
        }
    }
    printf("%d %d %d %d\n", begins, ends, begin_semaphore, end_semaphore);
}
"""


def semaphores():
    """Probes that the program passes only while their semaphores are not 0."""
    src, prog = os.path.join(TMP, "guarded.c"), os.path.join(TMP, "guarded")
    with open(src, "w") as f:
        f.write(GUARDED)
    subprocess.run(["gcc", "-O1", "-o", prog, src], check=True)
    alone = subprocess.run([prog, "1000"], capture_output=True, text=True, check=True).stdout.split()
    is_equal("semaphores: 0 without jobprof", alone, ["0"] * 4)
    for rounds, budget in ((1000, 100), (5000000, 1)):
        got, path = run_jobprof([prog, str(rounds)], 0.5, "base", ["--region-budget", str(budget), "--region",
                                                               "usdt:" + prog + ":own:begin,end"])
        said = next(line for line in got.out().splitlines() if re.fullmatch(r"\d+ \d+ \d+ \d+", line))
        begins, ends, *left = map(int, said.split())
        rows, attrs = table(path, "Regions"), attributes(path)
        if budget == 100:
            is_equal("semaphores: on from the start, and a row each time", [begins, ends, len(rows), lost(attrs)], [rounds] * 3 + [0])
            is_equal("semaphores: on until the end", left, [1, 1])
        else:
            is_true("semaphores: where it paused, they are off again", "paused" in attrs["Regions"] and left == [0, 0], (attrs, left))
            is_true("semaphores: and what it passed before is in rows", 100 < len(rows) <= begins < rounds, (len(rows), said))


def killed():
    """The next jobprof run finishes the file, which says that nobody knows what is missing."""
    where, state = tmpdir("killed"), tmpdir("state")
    args = [JOBPROF, "run", "-q", "-i", "0.3", "--state-dir", state, "-o", where]
    p = start([*args, "--region", CALLS + ":work", "--region-budget", "100", "--", CALLS, "100000", "20"],
              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, env=plain_env())
    wait_until(lambda: any(os.path.getsize(j) > 100000 for j in glob.glob(state + "/runs/*.journal")), 20, "rows")
    p.kill()
    p.wait()
    subprocess.run([*args, "--", "true"], check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, env=plain_env())
    for mnt in {cgroup2_mount(), cgroup1_mount("freezer")} - {None}:
        for top in glob.glob("%s/**/jobprof_%d" % (mnt, p.pid), recursive=True):
            rmtree_cgroup(top)
    path = next(f for f in glob.glob(where + "/*.h5") if "Regions" in names(f))
    is_true("killed: rows until then", 100 < len(table(path, "Regions")) < 100000, len(table(path, "Regions")))
    is_true("killed: the file says so", "not counted" in attributes(path)["Regions"], attributes(path))


def refused():
    cut = os.path.join(TMP, "cut.so")
    with open(CALLS, "rb") as f, open(cut, "wb") as to:
        to.write(f.read(5000))
    fifo = os.path.join(TMP, "fifo")
    os.mkfifo(fifo)
    for options, why in ((["--region", CALLS], "want [NAME=]FILE:FUNCTION"),
                         (["--region", "usdt:" + CALLS + ":a:b"], "want [NAME=]FILE:FUNCTION"),
                         (["--region", CALLS + ":nothing"], "no function nothing"),
                         (["--region", "usdt:" + CALLS + ":a:b,c"], "no probe a:b"),
                         (["--region", "/nowhere:f"], "No such file"),
                         (["--region", fifo + ":f"], "no regular file"),
                         (["--region", "/etc/passwd:f"], "no ELF file"),
                         (["--region", cut + ":work"], "cut"),
                         (["--region", "cut.so:work"], "cut"),  # in LD_LIBRARY_PATH
                         (["--region", "libc.so.6:nothing"], "no function nothing"),
                         (["--region", "libnowhere.so:f"], "cannot open libnowhere.so: No such file"),
                         (["--region", "%s=%s:work" % ("x" * 64, CALLS)], "1 to 63 bytes"),
                         (["--region", CALLS + ":work", "--region-budget", "0"], "more than 0"),
                         (["--region", CALLS + ":work"] * 17, "at most 16")):
        p = subprocess.run([JOBPROF, "run", "-o", TMP, *options, "true"], capture_output=True, text=True, timeout=60,
                           env=plain_env(LD_LIBRARY_PATH=TMP))
        is_true("refused: " + why, p.returncode == 2 and why in p.stderr and p.stderr.count("\n") == 1, p)


def by_name():
    """As a shell and the loader do, past what is no file; a program's name may have .so within."""
    first, second = tmpdir("first"), tmpdir("second")
    for name in ("heat.solver", "libheat.so", "libheat.so.1"):
        os.mkdir(os.path.join(first, name))
        shutil.copy(CALLS, os.path.join(second, name))
        where = {"PATH" if name == "heat.solver" else "LD_LIBRARY_PATH": first + ":" + second}
        for function, why in (("nothing", "no function nothing"), ("work", "")):
            p = subprocess.run([JOBPROF, "run", "-q", "-o", TMP, "--region", name + ":" + function, "/bin/true"], capture_output=True, text=True,
                               timeout=60, env=plain_env(**where))
            is_true("by name: %s:%s" % (name, function), p.returncode == (2 if why else 0) and why in p.stderr, p)
        p = subprocess.run([JOBPROF, "run", "-o", TMP, "--region", name + ":work", "/bin/true"], capture_output=True, text=True, timeout=60,
                           env=plain_env(**{w: first for w in where}))
        is_true("by name: %s is a directory" % name, p.returncode == 2 and "no regular file" in p.stderr, p)


def deadly():
    """Functions of which a probe on the return would end programs are refused, and left out of patterns."""
    libc = next(l.split()[-1] for l in open("/proc/self/maps") if "/libc.so" in l)
    for what in ("", "wait:"):
        p = subprocess.run([JOBPROF, "run", "--series", "all,burst", "--region", what + libc + ":_setjmp", "true"], capture_output=True, text=True)
        is_true("deadly: refused: %s_setjmp" % what, p.returncode == 2 and "would end programs" in p.stderr, p.stderr)
        p = subprocess.run([JOBPROF, "run", "--series", "all,burst", "--region", what + LIBSTDCXX + ":__cxa_throw", "true"], capture_output=True, text=True)
        is_true("deadly: refused: %s__cxa_throw" % what, p.returncode == 2 and "would end programs" in p.stderr, p.stderr)
    run, path = run_jobprof([tool("jpcalls"), "3", "100"], 0.3, "all,burst", ["--region", "wait:%s:*" % tool("jpcalls"), "--region-budget", "50"])
    is_equal("deadly: all functions of a program but its start", sum(len(l.split()) == 2 and l.split()[0].isdigit() and
             l.split()[1].isdigit() for l in run.out().splitlines()), 3)
    p = subprocess.run([JOBPROF, "run", "--region", tool("jpcalls") + ":wor*", "true"], capture_output=True, text=True)
    is_true("a pattern is for waits", p.returncode == 2 and "no function wor*" in p.stderr, p.stderr)


GO = """package main

//go:noinline
func grow(n int) int { var a [64]int; a[n%64] = n; if n == 0 { return a[0] }; return grow(n-1) + a[n%64] }

//go:noinline
func region(n int) int { return grow(n) }

func main() {
	c := make(chan int)
	for i := 0; i < 200; i++ { go func(i int) { c <- region(i * 20) }(i) }
	for i := 0; i < 200; i++ { <-c }
	println("done")
}
"""
# What files of these languages have, and no others: a section or a symbol, as this machine may not have their compilers.
MARKS = (('__attribute__((section(".gopclntab"))) int mark = 1;', "Go moves"),
         ('__asm__(".globl runtime.main; runtime.main: nop");', "Go moves"),
         ('__asm__(".pushsection .note.go.buildid, \\"a\\", @note\\n.4byte 0\\n.popsection");', "Go moves"),
         ("int caml_frametable = 1;", "OCaml"), ("int stg_upd_frame_info = 1;", "Haskell"), ("void __morestack(void) {}", "-fsplit-stack"))


def is_refused(name, why, path, function):
    """Nothing is executed, and nothing of the file changes for others who execute it."""
    for what in ("", "wait:"):
        p = subprocess.run([JOBPROF, "run", "-o", TMP, "--series", "all,burst", "--region", what + path + ":" + function, path],
                           capture_output=True, text=True, timeout=60, env=plain_env())
        is_true("%s: %s%s is refused in a line that says why" % (name, what, function), p.returncode == 2 and why in p.stderr and
                p.stderr.count("\n") == 1 and "would end every process" in p.stderr and not p.stdout, p)


def languages_that_look_at_stacks():
    src, prog = os.path.join(TMP, "marked.c"), os.path.join(TMP, "marked")
    for i, (mark, why) in enumerate((("", ""),) + MARKS):
        with open(src, "w") as f:
            f.write(mark + "\nvoid work(void) {}\nint main(void) { work(); return 0; }\n")
        subprocess.run(["gcc", "-O0", "-o", prog, src], check=True)
        if why:
            is_refused("a file with %s" % mark.split(";")[0], why, prog, "work")
        else:
            p = subprocess.run([JOBPROF, "run", "-q", "-o", TMP, "--region", prog + ":work", prog], capture_output=True, text=True, timeout=60,
                               env=plain_env())
            is_equal("a file without a mark", p.returncode, 0)


def go():
    if not shutil.which("go"):
        raise Skipped("there is no go")
    d = tmpdir("go")
    with open(d + "/m.go", "w") as f:
        f.write(GO)
    env = plain_env(HOME=d, GOCACHE=d + "/cache", GO111MODULE="off", GOFLAGS="")
    for name, options in (("Go", []), ("Go, by the system's linker", ["-buildmode=pie", "-ldflags=-linkmode=external -buildid="])):
        subprocess.run(["go", "build", *options, "-o", d + "/m", d + "/m.go"], check=True, cwd=d, env=env)
        is_refused(name, "Go moves", d + "/m", "main.region")
    p = subprocess.run([d + "/m"], capture_output=True, text=True, timeout=60)
    is_equal("Go: the program works", (p.returncode, p.stderr), (0, "done\n"))


if __name__ == "__main__":
    need_bpf()
    run_tests([calls, beside_another, recursion, no_end, paused, never_executed, other_processes, usdt, semaphores, killed, refused, by_name, deadly,
               languages_that_look_at_stacks, go])
