#!/usr/bin/python3
# timeout: 300
# SPDX-License-Identifier: GPL-2.0-or-later
"""jobprof exporter before a jobprofd: numbers are the kernel's, the format is Prometheus', a job's series ends after its last value was
given twice, names may be anything, who may not read the port does not; and jobprofd --status --json."""

import http.client
import pwd
import shutil
import sys
import urllib.parse
sys.path.insert(0, sys.path[0] + "/../../lib")
from controllib import *
import socketlib as c
from machinelib import Gpus, Meter, machine, roots
from metricslib import *

NOBODY, OTHER = pwd.getpwnam("nobody").pw_uid, pwd.getpwnam("daemon")
HOSTILE = 'a"} 1\njobprof_up 7\n\\"\x1b[2J\u202e\\'

d = None


def cpu_of(cgroup):
    with open(cgroup + "/cpu.stat") as f:
        return int(dict(line.split() for line in f)["usage_usec"]) / 1e6


def working(job, seconds, **about):
    """A step that works, then waits; and what its tasks' cgroup has used by the kernel's account."""
    s, h = Step(d, job), Holds("0")
    s.stepd.call(c.step(job_id=job, step_id=0, step_name="0", uid=0, **about))
    s.hold = h
    s.run(h.cmd("spin=%g" % seconds, "anon=50", "park"))
    h.wait()
    s.used = cpu_of(s.base + "/user")
    return s


def values():
    x, jobs = Exporter(d), [new_job(), new_job()]
    before, cpus = x.series(), os.times()
    steps = [working(j, 0.4) for j in jobs]
    time.sleep(1.1)  # there is at most one snapshot a second
    got = x.series()
    for j, s in zip(jobs, steps):
        is_near("CPU time is cpu.stat's", of(got, "job_cpu_seconds_total", jobid=str(j)), s.used, 0.002, 0.004)
        is_near("a process holds 50 MiB", of(got, "job_memory_bytes", jobid=str(j)), 50 << 20, 0.1, 4 << 20)
        is_true("the peak is not below", of(got, "job_memory_peak_bytes", jobid=str(j)) >= of(got, "job_memory_bytes", jobid=str(j)), got)
        is_equal("one process", of(got, "job_processes", jobid=str(j)), 1)
        is_true("how long it was blocked, by cause", len([1 for n, l in got if n == "jobprof_job_blocked_seconds_total" and ("jobid", str(j)) in l]) == 6, got)
    is_true("a job has at most 16 series", max(sum(("jobid", str(j)) in l for _, l in got) for j in jobs) <= 16, got)
    of_node = lambda mode: of(got, "node_cpu_seconds_total", mode=mode) - of(before, "node_cpu_seconds_total", mode=mode)
    is_near("the jobs' part of the node", of_node("job"), sum(s.used for s in steps), 0.01, 0.02)
    is_near("parts add up to the CPUs", of_node("job") + of_node("system") + of_node("idle"), os.cpu_count() * (os.times().elapsed - cpus.elapsed), 0.1, 0.5)
    is_true("waits of all tasks", of(got, "node_runqueue_wait_seconds_total", victim="system") is not None or not os.path.exists("/proc/schedstat"), got)
    is_true("how jobprofd is", of(got, "up") == 1 and of(got, "writer_queue") is not None and 0 < of(got, "scrape_seconds") < 5 and
            of(got, "lost_events_total", kind="rows") == 0 and of(got, "program_loaded", program="jp_sched_switch") == 1, got)
    for s in steps:
        s.hold.go()
        s.end()
    x.end()


def steps_add_up():
    """A job's counter never falls: what ended steps have used stays in it. Its series ends when it was given twice after the end."""
    x, job, total, seen = Exporter(d), new_job(), 0, 0
    first = Step(d, job, 0)
    for n in range(3):
        s, h = first if not n else Step(d, job, n), Holds("0")
        s.run(h.cmd("spin=0.2", "park"))
        h.wait()
        total += cpu_of(s.base + "/user")
        h.go()
        s.end()
        d.file(job, n)
        time.sleep(1.1)
        got = of(x.series(), "job_cpu_seconds_total", jobid=str(job))
        if n == 0:
            seen = got
    is_near("steps that have ended count", got, total, 0.01, 0.02)
    is_true("it has grown", got > seen, (seen, got))
    after = [of(x.series(), "job_cpu_seconds_total", jobid=str(job)) for _ in range(3)]
    is_equal("the last value was given twice", [v is not None for v in after], [True, False, False])
    is_near("it is the last one", after[0], got, 0, 0.001)
    job = new_job()
    s = working(job, 0.1)
    s.hold.go()
    s.end()
    d.file(job, 0)
    is_true("a job between two scrapes is seen", of(x.series(), "job_cpu_seconds_total", jobid=str(job)) > 0.9 * s.used, s.used)
    x.end()


def restarted():
    """Counters do not fall when another jobprofd takes over, for Prometheus would count them anew."""
    mine = Daemon(INTERVAL).start()
    x, job = Exporter(mine), new_job()
    first, h = Step(mine, job, 0), Holds("0")
    first.run(["sh", "-c", "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done"]).end()
    mine.file(job, 0)
    s = Step(mine, job, 1)
    s.run(h.cmd("spin=0.2", "park"))
    h.wait()
    time.sleep(1.1)
    keys = [("job_cpu_seconds_total", {"jobid": str(job)}), ("node_cpu_seconds_total", {"mode": "job"}), ("node_cpu_seconds_total", {"mode": "system"})]
    look = lambda: [of(x.series(), n, **l) for n, l in keys]
    before = look()
    used = cpu_of(s.base + "/user")
    for sig in (signal.SIGUSR1, signal.SIGTERM):
        mine.end(sig)
        mine.start()
        after = look()
        is_true("%s: no counter falls, and none is counted twice" % sig.name,
                after[0] is None or all(b <= a + 1e-5 and a < b + 0.05 for a, b in zip(after[:2], before)) and after[2] >= before[2], (before, after))
        is_true("%s: the job is there" % sig.name, after[0] is not None and after[0] > used, after)
        before = after
    h.go()
    s.end()
    x.end()
    mine.end()


def energy_and_gpus():
    """Joules are those of the counters, a job's GPUs are as busy as the library says, and two of them are half as much."""
    root = machine("intel-2s")
    with Meter(root) as meter, Gpus() as gpus:
        mine = Daemon(interval=0.5, wrap=gpus.wrap, **roots(root)).start()
        x, jobs = Exporter(mine), [new_job(), new_job()]
        steps = []
        for j, held in zip(jobs, (1, 2)):
            h = Holds("0")
            steps.append((Stepd(j, 0, h.cmd("park"), v2_task(tree.job(j) + "/step_0", ["-e", "SLURM_GPUS_ON_NODE=%d" % held])), h))
            h.wait()
        gpus.processes = [(i, h.all[0].pid, 100 << 20, 60) for i, (_, h) in enumerate(steps)]
        part = lambda got, p: of(got, "node_energy_joules_total", part=p)
        wait_until(lambda: part(x.series(), "gpu") and of(x.series(), "job_gpu_busy_ratio", jobid=str(jobs[0])), 20, "energy of GPUs, and use of them")
        before, began = x.series(), time.time_ns()
        time.sleep(4)
        after, ended = x.series(), time.time_ns()
        for p, wanted in (("package", meter.joules("pkg", began, ended)), ("dram", meter.joules("dram", began, ended)), ("gpu", 300 * (ended - began) / 1e9)):
            is_near("energy: " + p, part(after, p) - part(before, p), wanted, 0.4, 1)  # each is as of a last row
        is_equal("energy: nothing measures the whole node", part(after, "node"), None)
        is_equal("GPUs: busy, one of one and one of two", [round(of(after, "job_gpu_busy_ratio", jobid=str(j)), 2) for j in jobs], [0.6, 0.3])
        is_equal("GPUs, energy: promtool", promtool("check", "metrics", text=x.get()[2]).stdout, "")
        for s, h in steps:
            h.go()
            s.end()
        x.end()
        mine.end()


def names():
    job = new_job()
    s = working(job, 0.05, account=HOSTILE.encode() + b"\xff", partition="p" * 63, user="")
    x = Exporter(d)
    status, headers, body = x.get()
    is_equal("the type that Prometheus wants", (status, headers["Content-Type"]), (200, "text/plain; version=0.0.4; charset=utf-8"))
    got = parse(body)
    (labels,) = [dict(l) for n, l in got if n == "jobprof_job_info" and ("jobid", str(job)) in l]
    is_equal("its labels", sorted(labels), ["account", "cluster", "jobid", "partition", "sluid", "user"])
    is_true("a name does not leave its label", of(got, "up") == 1 and "\x1b" not in body and "\u202e" not in body and
            labels["account"].startswith('a"} 1'), labels)
    p = promtool("check", "metrics", text=body)
    is_equal("promtool check metrics", (p.returncode, p.stdout + p.stderr), (0, ""))
    series = [l for n, l in got if ("jobid", str(job)) in l]
    is_true("about 20 series of a job", 12 <= len(series) <= 22 and all({k for k, _ in l} <= {"jobid", "cause"} or ("jobid" in dict(l) and "sluid" in dict(l)) for l in series), series)
    s.hold.go()
    s.end()
    x.end()


def readers():
    x = Exporter(d, "--readers", OTHER.pw_name + ", not-there")
    is_equal("who may read the port", [x.get(uid=u)[0] for u in (0, OTHER.pw_uid, NOBODY)], [200, 200, 403])
    is_equal("what else there is", [x.get("/")[0], x.get("/metrics/")[0], x.get("/jobs")[0], x.get(method="POST")[0], x.get(method="DELETE")[0]], [404, 404, 404, 405, 405])
    x.end()
    x = Exporter(d, "--readers", "all")
    is_equal("all may", x.get(uid=NOBODY)[0], 200)
    x.end()
    for words in (["--listen", "127.0.0.1"], ["--listen", "[::1]:80"], ["--listen", "1.2.3.4:70000"], ["--listen", "none"], ["--database", "/x"], ["--file", "x.prom"], ["--file", "/tmp/thesis.txt"], ["x"]):
        p = subprocess.run([JOBPROF, "exporter", *words], capture_output=True, text=True, env=plain_env(), timeout=20)
        is_true("usage: " + " ".join(words), p.returncode == 2 and not p.stdout and p.stderr.startswith("jobprof exporter: "), p)


def held():
    """Whoever opens many connections and says nothing, or goes away, does not hide the metrics from others."""
    for args, away in ((["--readers", "all"], False), ([], True)):
        x = Exporter(d, *args)
        code = "import socket, sys\nl = [socket.create_connection(('127.0.0.1', %d)) for _ in range(300)]\nprint('there', flush=True)\nsys.stdin.read()" % x.port
        p = start(["setpriv", "--reuid=%d" % NOBODY, "--clear-groups", "/usr/bin/python3", "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if away:
            x.proc.send_signal(signal.SIGSTOP)
        is_equal("held: 300 connections", p.stdout.readline(), "there\n")
        if away:
            p.kill()
            p.wait()
            x.proc.send_signal(signal.SIGCONT)
        is_equal("held: the metrics are there%s" % (" when who held them is gone" if away else ""), [x.get()[0] for _ in range(3)], [200] * 3)
        p.stdin.close()
        p.wait()
        x.end()


def user():
    """jobprofd gives the metrics to one user, and nothing else; the exporter needs no right."""
    mine = Daemon(INTERVAL, MetricsUser=OTHER.pw_name).start()
    for uid, wanted in ((OTHER.pw_uid, 1), (NOBODY, 0)):
        x = Exporter(mine, uid=uid)
        is_equal("MetricsUser alone is given metrics", of(x.series(), "up"), wanted)
        is_equal("who is not told why", "MetricsUser may ask" in x.said(), not wanted)
        x.end()
    p = sh(["setpriv", "--reuid=%d" % OTHER.pw_uid, "--clear-groups", JOBPROFD, "--status", "-c", mine.conf])
    is_true("the state is not for it", p.returncode == 1 and "root and AdminGroup" in p.stderr, p)
    mine.configure(MetricsJobs="no")
    mine.tell(signal.SIGHUP)
    wait_until(lambda: "settings read again" in mine.said(), 10, "the new settings")
    job = new_job()
    s = Step(mine, job).run(["sleep", "1"])
    x = Exporter(mine)
    is_true("MetricsJobs=no: the node alone", not [n for n, _ in x.series() if n.startswith("jobprof_job")] and of(x.series(), "node_cpu_seconds_total", mode="idle") > 0, "")
    x.end()
    s.end()
    mine.end()


def calls():
    """What its unit closes leaves the exporter what it needs."""
    for program in ("strace", "systemd-analyze"):
        if not shutil.which(program):
            raise Skipped("there is no " + program)
    with open(os.path.join(ROOT, "conf/jobprof-exporter.service.in")) as f:
        filters = re.findall("^SystemCallFilter=(.*)$", f.read(), re.M)
    is_equal("unit: what is denied", filters, ["@system-service", "~@privileged @resources"])
    allowed, log = members("@system-service") - members("@privileged") - members("@resources"), os.path.join(tmpdir("calls"), "calls")
    top = tmpdir("textfile")
    os.chmod(top, 0o777)
    x = Exporter(d, "--file", top + "/x.prom", "--readers", "all", uid=NOBODY, wrap=["strace", "-D", "-f", "-qq", "-o", log, "-e", "signal=none"])
    is_equal("without any right: it is there", x.get()[0], 200)
    is_equal("without any right: it ends well", (x.end(), os.listdir(top)), (0, []))
    made = set(re.findall(r"^\d+ +(\w+)\(", slurp(log).split('/jobprof", ["')[-1], re.M))
    is_true("unit: calls were seen", {"accept4", "rename", "connect"} <= made, made)
    is_equal("unit: nothing that it needs is denied", sorted(made - allowed - {"prlimit64", "seccomp"}), [])  # more files would be better; libseccomp asks prctl then


def file():
    top = tmpdir("textfile")
    os.chmod(top, 0o777)
    path = os.path.join(top, "jobprof.prom")
    x = Exporter(d, "--file", path, listen="none")
    wait_until(lambda: os.path.exists(path), 10, "the file")
    with open(path) as f:
        is_equal("the file: complete", of(parse(f.read()), "up"), 1)
    is_equal("the file: all may read it, and nothing else is there", (oct(os.stat(path).st_mode & 0o7777), os.listdir(top)), ("0o644", ["jobprof.prom"]))
    is_equal("the file: gone at the end", (x.end(), os.listdir(top)), (0, []))
    os.symlink("/etc/passwd", path + ".tmp")
    x = Exporter(d, "--file", path)
    wait_until(lambda: os.path.exists(path), 10, "the file")
    is_true("a link in the way is not followed", not os.path.islink(path) and os.stat("/etc/passwd").st_mode & 0o200 and x.get()[0] == 200, "")
    x.end()
    p = subprocess.run([JOBPROF, "exporter", "--file", "/proc/x.prom", "--listen", "none"], capture_output=True, text=True, env=plain_env(JOBPROF_SOCKET=d.settings["Socket"]), timeout=20)
    is_true("a place that cannot be written", p.returncode == 1 and p.stderr.count("\n") == 1 and "its directory must be writable" in p.stderr, p)


def absent():
    """No jobprofd is a value, and no failure; it may come and go."""
    mine = Daemon(INTERVAL).start()
    x = Exporter(mine)
    is_equal("up", of(x.series(), "up"), 1)
    mine.end()
    got = x.series()
    is_equal("not up: nothing else is known", sorted(n for n, _ in got), ["jobprof_scrape_seconds", "jobprof_up"])
    is_equal("not up: 0", of(got, "up"), 0)
    x.series()
    is_equal("not up: said once", x.said().count("\n"), 1)
    mine.start()
    is_equal("up again", of(x.series(), "up"), 1)
    mine.tell(signal.SIGSTOP)
    began = time.monotonic()
    is_true("one that does not answer", of(x.series(), "up") == 0 and time.monotonic() - began < 5, time.monotonic() - began)
    mine.tell(signal.SIGCONT)
    x.end()
    mine.end()


def scraped():
    """By Debian's Prometheus."""
    if not shutil.which("prometheus"):
        raise Skipped("there is no prometheus: Debian's package of that name")
    job = new_job()
    s = working(job, 0.3, account=HOSTILE)
    x, top, port = Exporter(d), tmpdir("prometheus"), free_port()
    with open(top + "/prometheus.yml", "w") as f:
        f.write("global:\n  scrape_interval: 1s\nrule_files: [rules.yml]\nscrape_configs:\n  - job_name: jobprof\n    static_configs:\n      - targets: ['127.0.0.1:%d']\n" % x.port)
    with open(os.path.join(ROOT, "conf/metrics/rules.yml")) as rules, open(top + "/rules.yml", "w") as f:
        f.write(rules.read().replace("interval: 1m", "interval: 1s"))
    log = open(top + "/log", "w")
    p = start(["prometheus", "--config.file", top + "/prometheus.yml", "--storage.tsdb.path", top + "/data", "--web.listen-address", "127.0.0.1:%d" % port,
               "--log.level=warn"], stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def ask(query):
        try:
            conn = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
            conn.request("GET", "/api/v1/query?query=" + urllib.parse.quote(query))
            return json.load(conn.getresponse())["data"]["result"]
        except (OSError, ValueError, KeyError):
            return []
    try:
        wait_until(lambda: ask('up{job="jobprof"} == 1') and ask("jobprof_job_cpu_seconds_total"), 30, "Prometheus to scrape")
    except Failed as e:
        raise Failed("%s: %s" % (e, slurp(top + "/log")))
    (got,) = ask('jobprof_job_cpu_seconds_total{jobid="%d"}' % job)
    is_near("Prometheus has the job's CPU time", float(got["value"][1]), s.used, 0.01, 0.01)
    is_equal("Prometheus has one series of its info", len(ask('jobprof_job_info{jobid="%d"}' % job)), 1)
    wait_until(lambda: ask("account_partition:jobprof_job_memory_bytes:sum"), 90, "a recording rule")
    ok("Prometheus: recording rules have values")
    p.terminate()
    p.wait(20)
    is_true("Prometheus complains of nothing", "level=error" not in slurp(top + "/log") and "append failed" not in slurp(top + "/log"), slurp(top + "/log"))
    s.hold.go()
    s.end()
    x.end()


def status():
    def asked(*more):
        p = sh([JOBPROFD, "--status", "-c", d.conf, *more])
        return p.returncode, p.stdout, p.stderr
    code, out, err = asked("--json")
    got = json.loads(out)
    is_equal("status: names", sorted(got), ["errors", "healthy", "journals", "kernel", "node", "overhead", "problems", "process", "programs_attached", "rows_left_out",
                                           "since", "steps", "version", "writers"])
    text = asked()[1]
    is_true("status: the facts of the text", "process %d\n" % got["process"] in text and "node %s," % got["node"] in text and got["process"] == d.proc.pid and
            re.search(r"running: since " + time.strftime("%F %T", time.localtime(got["since"])), text), (out, text))
    is_equal("status: healthy", (code, err, got["healthy"], got["problems"], got["errors"]["last"]), (0, "", True, [], None))
    job = new_job()
    s = working(job, 0.01)
    os.rename(d.hdf5, d.hdf5 + ".away")
    s.hold.go()
    s.end()
    wait_until(lambda: asked("--json")[0], 20, "a problem")
    code, out, err = asked("--json")
    got = json.loads(out)
    is_true("status: a problem, as in the text", code == 1 and not err and not got["healthy"] and len(got["problems"]) == 1 and
            abs(got["problems"][0]["since"] - time.time()) < 60 and got["problems"][0]["text"] in asked()[1] and got["steps"]["ended"] == 1, out)
    x = Exporter(d)
    is_equal("the queue of writers", of(x.series(), "writer_queue"), 1)
    x.end()
    os.rename(d.hdf5 + ".away", d.hdf5)
    wait_until(lambda: not asked("--json")[0], 30, "the file to be written")
    ok("status: healthy again")
    p = sh([JOBPROFD, "--json", "-c", d.conf])
    is_equal("--json goes with --status", (p.returncode, p.stdout), (2, ""))


@in_full
def many():
    """More jobs than an answer has: the newest, and how many are left out."""
    jobs = [new_job() for _ in range(530)]
    for at in range(0, len(jobs), 10):
        for s in [Stepd(job, 0, ["true"], v2_task(tree.job(job) + "/step_0")) for job in jobs[at:at + 10]]:
            s.end()
        wait_until(lambda: len(d.used_slots()) < 200, 60, "slots")  # which come back a while after their steps
    x = Exporter(d)
    wait_until(lambda: not any(p.split("/")[-2] == "job_%d" % jobs[-1] for *_, p in d.used_slots()), 60, "the steps to be forgotten")
    got = x.series()
    shown = {dict(l)["jobid"] for n, l in got if n == "jobprof_job_info"}
    is_equal("as many jobs as there may be", len(shown), 512)
    is_true("the newest, and a count of the others", str(jobs[-1]) in shown and str(jobs[0]) not in shown and of(got, "jobs_left_out") >= 18, of(got, "jobs_left_out"))
    x.end()


def main():
    global d
    need_bpf()
    d = Daemon(INTERVAL, -10, PublishInterval=1).start()
    run_tests((values, steps_add_up, restarted, energy_and_gpus, names, readers, held, user, calls, file, absent, scraped, status, many))
    d.end()


main()
