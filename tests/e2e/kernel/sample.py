#!/usr/bin/python3
# runs: in full
# runs: alone
# timeout: 600
# SPDX-License-Identifier: GPL-2.0-or-later
"""Samples: what threads execute, against programs that measure it by their own clocks."""

import math
import sys
sys.path.insert(0, sys.path[0] + "/../../lib")
from daemonlib import *

HZ = 97
WITHOUT = "sched,memory,file,self,cgroup,wait"  # all that these tests look at, but for samples
KINDS = ("Own", "MPI", "LibGPU", "BLAS", "OpenMP", "Interpreter", "LibC", "Library", "Generated", "Kernel", "Unknown")


def sampled(path, name="Samples/0"):
    """The sums of the columns; every row adds up and takes nothing back."""
    rows = table(path, name)
    sums = sum(rows[c] for c in KINDS)
    is_true(name + ": the columns add up to Samples", (sums == rows["Samples"]).all(), sums - rows["Samples"])
    is_true(name + ": nothing is below zero", all((rows[c] >= 0).all() for c in KINDS + ("ForMPI",)), rows)
    return {c: float(rows[c].sum()) for c in KINDS + ("Samples", "ForMPI")}


def is_share(name, got, n, share, more=0.0):
    """Three standard errors of a share of n samples."""
    error = 3 * math.sqrt(share * (1 - share) / n) + more
    is_true(name, abs(got / n - share) <= error, "%.4f of %d samples, want %.4f +- %.4f" % (got / n, n, share, error))


def as_many(name, n, cpu):
    """As many samples as the clock ticked; a thread that is preempted meets it by chance."""
    is_true(name + ": as many samples as the clock ticked", abs(n - HZ * cpu) < 3 * math.sqrt(HZ * cpu) + 3,
            "%d in %.2f s" % (n, cpu))


def mixed():
    run, path = run_jobprof([tool("jpmix"), "12"], 1, series="all")
    wanted = {w[0]: float(w[1]) for w in map(str.split, run.out().splitlines()) if len(w) == 2 and w[0] in KINDS}
    got, cpu, seconds = sampled(path), total(task_table(path), "CPUTime"), sum(wanted.values())
    as_many("mixed", got["Samples"], cpu)
    for k, s in wanted.items():
        is_share("mixed: " + k, got[k], got["Samples"], s / seconds, 0.004)
    is_true("mixed: nothing unknown", got["Unknown"] <= 0.01 * got["Samples"], got)
    is_true("mixed: little else", got["Kernel"] < 0.05 * got["Samples"] and got["MPI"] == 0 and got["BLAS"] == 0, got)
    is_equal("mixed: none is for MPI", got["ForMPI"], 0)


def short_lived():
    """Their memory maps can be read only while they live."""
    run, path = run_jobprof(["sh", "-c", "for i in $(seq 60); do %s 0.1 >/dev/null; done" % tool("jpmix")], 1,
                            series="all")
    got, cpu = sampled(path), total(task_table(path), "CPUTime")
    as_many("short", got["Samples"], cpu)
    is_true("short: nearly all are known", got["Unknown"] < 0.03 * got["Samples"], got)
    is_share("short: Library", got["Library"], got["Samples"] - got["Kernel"], 0.4, 0.05)


def in_kernel():
    run, path = run_jobprof(["dd", "if=/dev/zero", "of=/dev/null", "bs=4M", "count=20000"], 1, series="all")
    got, tasks = sampled(path), task_table(path)
    is_share("kernel", got["Kernel"], got["Samples"], total(tasks, "SystemTime") / total(tasks, "CPUTime"), 0.02)


def interpreter():
    run, path = run_jobprof(["/usr/bin/python3", "-c", "x = 0\nfor i in range(40000000): x += i"], 1, series="all")
    got = sampled(path)
    is_true("python: it is an interpreter", got["Interpreter"] > 0.9 * got["Samples"] > 50, got)


MULTIPLIES = """
import time, numpy
a, inside, since = numpy.random.rand(500, 500), 0, time.monotonic()
while time.monotonic() < since + 5:
    begin = time.process_time()
    a @ a
    inside += time.process_time() - begin
print(inside, time.process_time(), any("blas" in line for line in open("/proc/self/maps")))
"""


def blas():
    run, path = run_jobprof(["/usr/bin/python3", "-c", MULTIPLIES], 1, series="all", env=plain_env(OPENBLAS_NUM_THREADS="1"))
    inside, cpu, has_blas = run.lines_of_command()[0].split()
    if has_blas != "True":
        raise Skipped("numpy has its BLAS in itself")
    got = sampled(path)
    is_share("BLAS: as long as the program multiplied", got["BLAS"], got["Samples"], float(inside) / float(cpu), 0.02)


WAITS = """
#include <omp.h>
#include <stdio.h>
#include <time.h>
static double cpu(int clock) { struct timespec t; clock_gettime(clock, &t); return t.tv_sec + 1e-9 * t.tv_nsec; }
int main(void)
{
	static volatile unsigned long kept;
	double waited = 0;
	for (int i = 0; i < 25; i++)
		#pragma omp parallel num_threads(2)
		{
			double before = cpu(CLOCK_THREAD_CPUTIME_ID);
			if (omp_get_thread_num() == 0)
				while (cpu(CLOCK_THREAD_CPUTIME_ID) < before + 0.2)
					for (int k = 0; k < 100000; k++)
						kept += k;
			#pragma omp barrier
			if (omp_get_thread_num())
				waited += cpu(CLOCK_THREAD_CPUTIME_ID) - before;
		}
	printf("%g %g\\n", waited, cpu(CLOCK_PROCESS_CPUTIME_ID));
}
"""


def openmp():
    where = tmpdir("omp")
    with open(where + "/waits.c", "w") as f:
        f.write(WAITS)
    r = subprocess.run(["gcc", "-O1", "-fopenmp", "-o", where + "/waits", where + "/waits.c"], capture_output=True, text=True)
    if r.returncode:
        raise Skipped("there is no OpenMP: " + r.stderr[:100])
    run, path = run_jobprof([where + "/waits"], 1, series="all", env=plain_env(OMP_WAIT_POLICY="active"))
    waited, cpu = map(float, run.lines_of_command()[0].split())
    got = sampled(path)
    is_true("OpenMP: a thread waited for long", waited > 0.2 * cpu, (waited, cpu))
    is_share("OpenMP: as long as it waited", got["OpenMP"], got["Samples"], waited / cpu, 0.01)


def built_with_mpi():
    program = tmpdir("mpi") + "/jpmpi"
    r = subprocess.run(["cc", "-O1", "-o", program, ROOT + "/tests/mpi/jpmpi.c", "-lm", "-l:libmpi.so.40"], capture_output=True,
                       text=True)
    if r.returncode or not shutil.which("mpirun.openmpi"):
        raise Skipped("there is no Open MPI: scripts/install-deps test " + r.stderr[:100])
    return program


def efficiencies(useful, times, walls):
    """times: of the ranks, without what they waited for a CPU."""
    mean, of = sum(useful) / len(useful), times[useful.index(max(useful))]
    return {"load_balance": mean / max(useful), "communication_efficiency": max(useful) / of, "with_cpu": of / max(walls),
            "parallel_efficiency": mean / max(walls)}


def run_ranks(series, *options, seconds="20", work=("20", "12"), **env):
    """The file, and what each of two ranks says: useful, CPU, wall and waiting time."""
    d = tmpdir("ranks")
    run, path = run_jobprof(["mpirun.openmpi", "--oversubscribe", *options, "-n", "2", built_with_mpi(), d, seconds, *work],
                            1, series=series, timeout=110, env=plain_env(
                                OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", **env))
    return path, [[float(v) for v in open("%s/%d" % (d, i)).read().split()] for i in range(2)]


def are_as_wanted(name, path, told, errors):
    facts = json.loads(subprocess.run([JOBPROF, "report", "--json", path], capture_output=True, text=True).stdout)["facts"]
    wanted = efficiencies([t[0] for t in told], [t[2] - t[3] for t in told], [t[2] for t in told])
    is_true(name + ": wanted", 0.01 < wanted["parallel_efficiency"] < 0.95, wanted)
    for fact, v in wanted.items():
        is_near("%s: %s" % (name, fact), facts[fact], v, 0, max(0.02, v * max(errors)))


def ranks(name, *options):
    """Load balance, communication and parallel efficiency against clocks around MPI's functions."""
    path, told = run_ranks("all", *options)
    samples = [sampled(path, "RankSamples/%d" % i) for i in range(2)]
    errors = []
    for i, (useful, cpu, wall, waited) in enumerate(told):
        got, n = samples[i], samples[i]["Samples"]
        as_many("%s: rank %d" % (name, i), n, cpu)
        is_share("%s: rank %d: outside of MPI" % (name, i), n - got["MPI"] - got["ForMPI"], n, useful / cpu, 0.005)
        errors.append(3 * math.sqrt(useful / cpu * (1 - useful / cpu) / n) * cpu / useful)
    are_as_wanted(name, path, told, errors)


def blocking():
    """Ranks that sleep while they wait need no samples: their CPU time is useful."""
    path, told = run_ranks(WITHOUT, seconds="10", work=("160", "96"), JPMPI_BLOCKS="1")
    are_as_wanted("blocking", path, told, [0])


def spinning():
    ranks("spinning")


def yielding():
    """The time is in the kernel, and in the C library, for MPI."""
    ranks("yielding", "--mca", "mpi_yield_when_idle", "1")


def said_of_balance(path):
    out = subprocess.run([JOBPROF, "report", "--facts", path], capture_output=True, text=True).stdout
    return next((l for l in out.splitlines() if l.startswith("job.load_balance")), out)


def loaded():
    """A rival computes all the time, on a CPU or the other."""
    rival = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        ranks("loaded")
    finally:
        rival.kill()
        rival.wait()


def not_sampled():
    """Ranks that spin run all the time: their CPU time says nothing."""
    run, path = run_jobprof(["mpirun.openmpi", "--oversubscribe", "-n", "2", built_with_mpi(), tmpdir("ranks"), "4", "2", "1"], 1,
                            WITHOUT, timeout=110, env=plain_env(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1"))
    line = said_of_balance(path)
    is_true("not sampled: UNSUITABLE, may spin", "not known: UNSUITABLE" in line and "spinning" in line, line)


def without_mpi():
    run, path = run_jobprof(["sh", "-c", "for i in 0 1; do PMI_RANK=$i %s 3 >/dev/null & done; wait" % tool("jpmix")], 1,
                            series="all")
    line = said_of_balance(path)
    is_true("without MPI: UNSUITABLE", "not known: UNSUITABLE" in line and "MPI library" in line, line)


def restarted():
    """The clock and the thread that books begin again with jobprofd; meanwhile nothing is sampled."""
    d, job = Daemon(0.5, ProfileHDF5Default="all").start(), new_job()
    s = Stepd(job, 0, [tool("jpmix"), "8"], v2_task(Trees().job(job) + "/step_0"))
    time.sleep(2)
    d.end(signal.SIGKILL)
    gone = time.monotonic()
    d.start()
    gone = time.monotonic() - gone + 0.5
    s.end()
    path = d.file(job, 0)
    got, cpu = sampled(path), total(task_table(path), "CPUTime")
    n = got["Samples"]
    is_true("restarted: samples", HZ * (cpu - gone) - 3 * math.sqrt(HZ * cpu) <= n <= HZ * cpu + 3 * math.sqrt(HZ * cpu),
            "%d in %.2f s, without %.2f s" % (n, cpu, gone))
    is_share("restarted: Library", got["Library"], n, 0.4, 0.02)
    is_true("restarted: nothing unknown", got["Unknown"] <= 0.01 * n, got)


# spins, or sleeps and spins in turn, and says from when to when it had a CPU
SPINNER = """
import sys, time
time.sleep(max(0, float(sys.argv[3]) - time.monotonic()) if len(sys.argv) > 3 else 0)
now, out, last, end = time.monotonic_ns, [], time.monotonic_ns(), time.monotonic_ns() + 3 * 10 ** 9
begin, nap = last, float(sys.argv[2])
while last < end:
    t = now()
    if t - last > 100000:
        out.append((begin, last))
        begin = t
    last = t
    if nap and last % 10 ** 9 > nap * 10 ** 9:
        time.sleep(1 - nap)
out.append((begin, last))
open(sys.argv[1], "w").write("".join("%d %d\\n" % o for o in out))
"""


def spans(path):
    return [tuple(map(int, l.split())) for l in open(path)]


def together(a, b):
    """For how long both ran, s."""
    edges = sorted([(t, d) for s in (a, b) for span in s for t, d in zip(span, (1, -1))])
    n = both = 0
    for (t, d), (after, _) in zip(edges, edges[1:]):
        n += d
        both += (after - t) * (n == 2)
    return both / 1e9


def at_once(name, n, nap):
    """Programs that go before others on CPUs of their own, against what they say of themselves."""
    d, cpus = tmpdir("once"), sorted(os.sched_getaffinity(0))[:2]
    open(d + "/spin.py", "w").write(SPINNER)
    one = "chrt -f 1 taskset -c %d /usr/bin/python3 %s/spin.py %s/%d %g"
    run, path = run_jobprof(["sh", "-c", " & ".join(one % (cpus[i], d, d, i, nap) for i in range(n)) + " & wait"], 1, series="all")
    rows, ran = table(path, "Step"), [spans("%s/%d" % (d, i)) for i in range(n)]
    counts = {k: float(rows["OnCPUs%d" % k].sum()) for k in (0, 1, 2, 4)}
    both = together(*ran) if n == 2 else 0
    either = sum(t - f for s in ran for f, t in s) / 1e9 - 2 * both
    lasted = (max(s[-1][1] for s in ran) - min(s[0][0] for s in ran)) / 1e9
    for k, s in ((1, either), (2, both)):
        error = 3 * math.sqrt(max(0, s / lasted * (1 - s / lasted)) * HZ * lasted) / HZ + 0.15
        is_near("%s: %d at once" % (name, k), counts[k] / HZ, s, 0, error)
    is_equal("%s: no more than there are" % name, counts[4], 0)
    if not nap:
        is_near("%s: all instants" % name, sum(counts.values()) / HZ, lasted, 0, 0.3)
    return both


def one_at_once():
    at_once("one", 1, 0)


def two_at_once():
    if len(os.sched_getaffinity(0)) < 2:
        raise Skipped("there is one CPU only")
    both = at_once("two", 2, 0)
    is_true("two: they were, for a while", both > 1, both)


def naps():
    at_once("naps", 1, 0.5)


def queued_beside(name, nap):
    """Two programs share a CPU; on the other one another runs, naps, or there is none."""
    d, cpus = tmpdir("queue"), sorted(os.sched_getaffinity(0))[:2]
    open(d + "/spin.py", "w").write(SPINNER)
    on = [cpus[0], cpus[0]] + ([] if nap is None else [cpus[1]])
    begin = time.monotonic() + 3  # until then interpreters start, which is no part of what is compared
    line = " & ".join("taskset -c %d /usr/bin/python3 %s/spin.py %s/%d %g %.3f" % (cpu, d, d, i, (nap or 0) if i == 2 else 0, begin)
                      for i, cpu in enumerate(on))
    foreign = -busy_s(cpus[1])
    run, path = run_jobprof(["sh", "-c", line + " & wait"], 1, series="all")
    foreign += busy_s(cpus[1])
    rows = table(path, "Step")
    ran = [spans("%s/%d" % (d, i)) for i in range(len(on))]
    both = (min(ran[0][-1][1], ran[1][-1][1]) - max(ran[0][0][0], ran[1][0][0])) / 1e9
    other = sum(min(t, ran[0][-1][1]) - max(f, ran[0][0][0]) for f, t in (ran[2] if nap is not None else [])
                if t > ran[0][0][0] and f < ran[0][-1][1]) / 1e9
    wanted = 1 - other / both
    foreign -= sum(t - f for f, t in (ran[2] if nap is not None else [])) / 1e9
    if foreign > 0.25 * both:
        raise Skipped("%s: other programs had CPU %d for %.1f s" % (name, cpus[1], foreign))
    queued, beside = float(rows["Queued"].sum()), float(rows["QueuedBesideIdle"].sum())
    is_near("%s: instants with a queue" % name, queued / HZ, both, 0.05, 0.1)
    # Others use the second CPU for a moment at times.
    is_near("%s: beside an idle CPU" % name, beside / queued, wanted, 0, 3 * math.sqrt(0.25 / queued) + 0.1)
    waited = float(rows["RunDelay"].sum())
    is_near("%s: avoidable" % name, json.loads(subprocess.run([JOBPROF, "report", "--json", path], capture_output=True, check=True).stdout)["facts"]["avoidable_s"], waited * beside / queued, 0.1, 0.1)


def queued_beside_idle():
    queued_beside("an idle CPU", None)


def queued_beside_naps():
    queued_beside("a CPU that naps", 0.5)


def queued_beside_others():
    queued_beside("a CPU in use", 0)


def series_of_samples(path):
    with h5py.File(path, "r") as f:
        node = next(k for k in f if isinstance(f[k], h5py.Group))
        return [k for k in f[node] if "Samples" in k]


def by_default():
    """They are part of what is recorded without a word; a list without them leaves them out."""
    is_equal("by default", series_of_samples(run_jobprof([tool("jpmix"), "0.5"], 1)[1]), ["Samples"])
    is_equal("not asked for", series_of_samples(run_jobprof([tool("jpmix"), "0.5"], 1, WITHOUT)[1]), [])


def clocks(pid):
    """How many events of perf a process has open."""
    n = 0
    for fd in os.listdir("/proc/%d/fd" % pid):
        try:
            n += "perf_event" in os.readlink("/proc/%d/fd/%s" % (pid, fd))
        except FileNotFoundError:
            pass
    return n


def only_with_steps():
    """Nothing ticks before the first profiled step, nor after the last one."""
    d, job = Daemon(0.5, ProfileHDF5Default="sample").start(), new_job()
    is_equal("no step: no clock", clocks(d.proc.pid), 0)
    s = Stepd(job, 0, [tool("jpmix"), "2"], v2_task(Trees().job(job) + "/step_0"))
    wait_until(lambda: clocks(d.proc.pid) >= len(os.sched_getaffinity(0)), 10, "a clock of each CPU")
    s.end()
    d.file(job, 0)
    wait_until(lambda: clocks(d.proc.pid) == 0, 10, "the clocks to end with the step")


def naps_of_threads(pid):
    """{thread: how often it has slept}, without the first one."""
    naps = {}
    for tid in os.listdir("/proc/%d/task" % pid):
        with open("/proc/%d/task/%s/status" % (pid, tid)) as f:
            naps[tid] = int(f.read().split("\nvoluntary_ctxt_switches:")[1].split()[0])
    return {tid: n for tid, n in naps.items() if tid != str(pid)}


def rows_wake_no_thread():
    """Where the process's map is known, samples in the C library are booked without the thread that reads maps."""
    d, job = Daemon(0.1, ProfileHDF5Default="sample").start(), new_job()
    s = Stepd(job, 0, [tool("jpmix"), "4"], v2_task(Trees().job(job) + "/step_0"))
    time.sleep(2)
    before = naps_of_threads(d.proc.pid)
    time.sleep(1.5)
    woken = {tid: n - before[tid] for tid, n in naps_of_threads(d.proc.pid).items() if tid in before}
    s.end()
    got = sampled(d.file(job, 0))
    is_true("15 rows: no thread wakes for each", max(woken.values()) < 8, woken)
    is_true("there were samples in the C library", got["LibC"] > 20, got)


if __name__ == "__main__":
    need_bpf()
    run_tests([mixed, short_lived, in_kernel, interpreter, blas, openmp, blocking, spinning, yielding, loaded, not_sampled, without_mpi, restarted, one_at_once,
               two_at_once, naps, queued_beside_idle, queued_beside_naps, queued_beside_others, by_default, only_with_steps, rows_wake_no_thread])
