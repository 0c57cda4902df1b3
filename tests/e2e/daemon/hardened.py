#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""How the programs are compiled and linked, by readelf; what the unit file closes, by
systemd-analyze and by the system calls that a jobprofd with a step makes; what the kernel says that each running process may do."""

import contextlib
import sys
import tempfile
sys.path.insert(0, sys.path[0] + "/../../lib")
from daemonlib import *
from metricslib import public_jobprof

UNIT = os.path.join(ROOT, "conf", "jobprofd.service.in")
# docs/security.md says what each of these points is for.
EXPOSURE_MAX = 4.3
WRITERS_PART = 4  # of the memory is theirs and the merges': user/daemon/child/child.c


def said(*cmd):
    return subprocess.run(cmd, capture_output=True, text=True, check=True).stdout


def built():
    """Every program and shared object that is installed."""
    files = [f for pattern in ("*", "sensors/*.so", "slurm-*/*.so") for f in glob.glob(os.path.join(BUILD, pattern))
             if os.path.isfile(f) and not os.path.islink(f)]
    return [f for f in files if open(f, "rb").read(4) == b"\x7fELF"]


def lacks(path):
    """Of the protections, those that the file does not have."""
    head = said("readelf", "-hW", path)
    segments = said("readelf", "-lW", path)
    dynamic = said("readelf", "-dW", path)
    symbols = said("readelf", "-sW", path)
    stack = re.search(r"GNU_STACK.* (\w+) +0x\w+$", segments, re.M)
    has = {"PIE": re.search(r"Type: +DYN", head) and
           (".so" in os.path.basename(path) or re.search(r"FLAGS_1.*\bPIE\b", dynamic)),
           "RELRO": "GNU_RELRO" in segments,
           "all bindings at the start": "BIND_NOW" in dynamic or re.search(r"FLAGS_1.*NOW", dynamic),
           "no executable stack": stack and "E" not in stack.group(1),
           "stack protector": "__stack_chk_fail" in symbols,
           "fortified functions": re.search(r"\b__\w+_chk\b", symbols)}
    return [name for name, there in has.items() if not there]


def programs():
    if "san" in os.path.basename(BUILD):
        raise Skipped("a build for sanitizers has theirs instead")
    files = built()
    is_true("there are programs and shared objects", len(files) > 6, files)
    is_equal("each has every protection", {f: lacks(f) for f in files if lacks(f)}, {})


# Of every file that is compiled, as the debugging information has it; one kind of the last two for each processor.
COMPILED = ["-fstack-protector-strong", "-fstack-clash-protection"] + {"x86_64": ["-fcf-protection"], "aarch64": ["-mbranch-protection=standard"]}.get(
    os.uname().machine, [])


def compiled():
    if "san" in os.path.basename(BUILD):
        raise Skipped("a build for sanitizers has theirs instead")
    lacking, seen = set(), 0
    for path in built():
        text = said("readelf", "--debug-dump=info", "--dwarf-depth=1", "-W", path)
        for unit in text.split("DW_TAG_compile_unit")[1:]:
            how, name = re.search(r"DW_AT_producer.*: (GNU C\d.*)", unit), re.search(r"DW_AT_name.*: (user/\S+)", unit)
            if how and name:
                seen += 1
                lacking |= {(name[1], option) for option in COMPILED if option not in how[1]}
    is_true("compiled: files were seen", seen > 300, seen)
    is_equal("compiled: every file with every protection", lacking, set())


def unit_in(directory):
    path = os.path.join(directory, "jobprofd.service")
    with open(UNIT) as f, open(path, "w") as out:
        out.write(f.read().replace("@PREFIX@", os.path.dirname(JOBPROFD)).replace("/sbin/", "/").replace("@SYSCONFDIR@", "/etc"))
    return path


def unit():
    is_hardened(unit_in(tmpdir()), EXPOSURE_MAX)


def settings_of_unit():
    with open(UNIT) as f:
        return dict(re.findall(r"^(\w+)=(.*)$", f.read(), re.M))


def unit_and_daemon():
    """What the unit says of jobprofd is what jobprofd does."""
    unit = settings_of_unit()
    with open(os.path.join(ROOT, "user", "cmd", "jobprofd", "jobprofd.c")) as f:
        waits = int(re.search(r"^#define FINISH_S +(\d+)$", f.read(), re.M)[1])
    is_true("unit: jobprofd has more time to end than it takes", int(unit["TimeoutStopSec"]) >= waits + 20,
            (unit["TimeoutStopSec"], waits))
    bad = os.path.join(tmpdir(), "bad.conf")
    with open(bad, "w") as f:
        f.write("Frob=1\n")
    for name, args in (("settings", ["-f", "-c", bad]), ("options", ["-f", "--frob"])):
        p = subprocess.run([JOBPROFD] + args, stdin=subprocess.DEVNULL, capture_output=True)
        is_true("unit: wrong %s are not tried again" % name,
                str(p.returncode) in unit["RestartPreventExitStatus"].split(), p)
    is_equal("unit: Slurm does not wait for the profiler",
             [k for k in ("Before", "RequiredBy", "WantedBy") if "slurm" in unit.get(k, "")], [])
    high, most = [float(unit[k].rstrip("%")) for k in ("MemoryHigh", "MemoryMax")]
    is_true("unit: memory is bounded, above the bound of writers", 100 / WRITERS_PART < high < most < 50, (high, most))
    is_true("unit: a share of the CPUs", int(unit["CPUWeight"]) >= 100, unit["CPUWeight"])


def own_directories():
    """Profiles in a directory that only the service sees are refused."""
    conf = os.path.join(tmpdir(), "own.conf")
    with open(conf, "w") as f:
        f.write("ProfileHDF5Dir=/var/tmp/profiles\nStateDir=%s/state\n" % tmpdir())
    own = tmpdir("systemd-private-of-a-test")
    command = "mount --bind '%s' /var/tmp && timeout 60 '%s' -f -c '%s'; echo status $?" % (own, JOBPROFD, conf)
    p = subprocess.run(["unshare", "-m", "--propagation", "private", "sh", "-c", command], capture_output=True, text=True)
    is_true("unit: profiles that nobody sees are refused", "status 78" in p.stdout and "a /var/tmp of its own" in p.stderr, p)


def denied_calls():
    """What SystemCallFilter= of the unit denies."""
    with open(UNIT) as f:
        words = re.search(r"^SystemCallFilter=~(.*)$", f.read(), re.M)[1].split()
    calls = [w for w in words if w[0] != "@"]
    for group in (w for w in words if w[0] == "@"):
        listed = said("systemd-analyze", "syscall-filter", "--no-pager", group).splitlines()
        calls += [line.strip() for line in listed[1:] if not line.strip().startswith("#")]
    return calls


def no_denied_call():
    """A jobprofd, its writers and a merge need nothing that the unit denies."""
    for program in ("systemd-analyze", "strace"):
        if not shutil.which(program):
            raise Skipped("there is no " + program)
    calls = denied_calls()
    is_true("unit: the denied calls", "init_module" in calls and "bpf" not in calls, calls)
    log = os.path.join(tmpdir(), "calls")
    # "?": calls that other machines have; execve: shows that calls are seen
    d = Daemon(AutoMerge="yes", Sensors="all", wrap=[
        "strace", "-D", "-f", "--seccomp-bpf", "-qq", "-o", log, "-e", "signal=none",
        "-e", "trace=execve," + ",".join("?" + c for c in calls)]).start()
    tree, job = Trees(), new_job()
    words = ["-e", "SLURM_JOB_NODELIST=" + NODE, "-e", "SLURM_STEP_NUM_NODES=1"]
    step = Stepd(job, 0, ["sleep", "0.5"], v2_task(tree.job(job) + "/step_0", words))
    is_equal("unit: the step's status", step.end(), 0)
    d.file(job, 0)
    os.rmdir(tree.job(job))
    merged = os.path.join(d.hdf5, "root", "job_%d.h5" % job)
    wait_until(lambda: os.path.exists(merged), 20, merged)
    is_equal("unit: jobprofd ends", d.end(), 0)
    with open(log) as f:
        made = f.read()
    is_true("unit: strace saw the writer", "jobprof-writer" in made, made)
    is_equal("unit: nothing of it is denied", [line for line in made.splitlines()
                                               if " execve(" not in line and
                                               "execve resumed>" not in line], [])


def named_tests():
    """What the pages on security name is there."""
    for page in ("SECURITY.md", "docs/security.md"):
        with open(os.path.join(ROOT, page)) as f:
            rows = [line.rsplit("|", 2)[1] for line in f if line.count("|") > 3]
        found = re.findall(r"(\w+)(\.py|\.c)?((?:,? `\w+`)*)", " ".join(rows))
        named = [(name, ext, re.findall(r"`(\w+)`", functions)) for name, ext, functions in found if ext or name.startswith("test_")]
        is_true(page + ": tests are named", len(named) > 15, named)
        lacking = []
        for name, ext, functions in named:
            paths = glob.glob("%s/tests/**/%s%s" % (ROOT, name, ext or ".c"), recursive=True)
            text = "".join(open(p).read() for p in paths)
            lacking += [(name, f) for f in functions or [""] if not paths or not re.search(r"\bdef %s\(" % f if f else "", text)]
        is_equal(page + ": each is there", lacking, [])


CAPS = {"CHOWN": 0, "DAC_OVERRIDE": 1, "DAC_READ_SEARCH": 2, "FOWNER": 3, "FSETID": 4, "KILL": 5, "SETGID": 6, "SETUID": 7, "SETPCAP": 8,
        "NET_ADMIN": 12, "SYS_RAWIO": 17, "SYS_PTRACE": 19, "SYS_ADMIN": 21, "SYSLOG": 34, "PERFMON": 38, "BPF": 39, "CHECKPOINT_RESTORE": 40}
BY_HAND = {"NET_ADMIN", "SYS_RAWIO"}  # the unit has them by a drop-in only
DAEMON = set(CAPS) - {"SETPCAP"}
READS = {"SYS_PTRACE", "CHECKPOINT_RESTORE", "DAC_READ_SEARCH"}
OWN_ID, NOBODY = 4294967280, 65534  # the first: ids.h; no user's


def status_of(pid):
    with open("/proc/%d/status" % pid) as f:
        return dict(line.rstrip("\n").split(":\t", 1) for line in f if ":\t" in line)


def names(mask):
    known = {n: c for c, n in CAPS.items()}
    return {known.get(n, n) for n in range(64) if int(mask, 16) >> n & 1}


def confined(pid):
    """The status, once the process has given up what it does not need."""
    with contextlib.suppress(OSError):
        s = status_of(pid)
        return s if s["Seccomp"] == "2" and s["CapPrm"] == s["CapEff"] else None


def may(who, s, uid, caps):
    """caps: of those that this script itself has."""
    own = status_of(os.getpid())
    is_equal(who + ": its user", int(s["Uid"].split()[1]), uid)
    for kind in ("CapPrm", "CapEff"):
        is_equal("%s: %s" % (who, kind), names(s[kind]), caps & names(own["CapPrm"]))
    is_equal(who + ": none that programs inherit", names(s["CapInh"]) | names(s["CapAmb"]), set())
    bound = names(s["CapBnd"]) - (DAEMON if "SETPCAP" in names(own["CapEff"]) else names(own["CapBnd"]))
    is_equal(who + ": nor that they could get", bound, set())
    is_equal(who + ": no new privileges", s["NoNewPrivs"], "1")
    is_equal(who + ": system calls are filtered", s["Seccomp"], "2")


def children_of(pid):
    with open("/proc/%d/task/%d/children" % (pid, pid)) as f:
        return [int(p) for p in f.read().split()]


def child(d, name, uid):
    """Some live for a few ms."""
    end = time.monotonic() + 30
    while time.monotonic() < end:
        for s in map(confined, children_of(d.proc.pid)):
            if s and (s["Name"], s["Uid"].split()[0]) == (name, str(uid)):
                return s
    raise Failed("there is no %s of uid %d: %s" % (name, uid, d.said()[-500:]))


def processes():
    """jobprofd with a step of nobody's, whose stacks are followed and whose file is written again and again."""
    d = Daemon(0.2, ProfileHDF5Default="all,stack", StackUnwind="dwarf").start()
    job = new_job()
    step = Stepd(job, 0, [public_tool("jpspin"), "60"], v2_task(Trees().job(job) + "/step_0", ["-u", NOBODY]))
    may("jobprofd", confined(d.proc.pid), 0, DAEMON)
    may("a helper that reads /proc", child(d, "jobprofd", OWN_ID), OWN_ID, READS)
    may("who opens programs", child(d, "jobprof-code", 0), 0, READS | {"KILL"})
    code = next(p for p in children_of(d.proc.pid) if status_of(p)["Name"] == "jobprof-code")
    may("who follows stacks", wait_until(lambda: confined(children_of(code)[0]), 5, "the unwinder"), OWN_ID, set())
    may("a writer", child(d, "jobprof-writer", NOBODY), NOBODY, set())
    step.proc.terminate()
    step.end()
    is_equal("processes: jobprofd ends", d.end(), 0)
    with open(UNIT) as f:
        unit = re.search(r"^CapabilityBoundingSet=(.*)$", f.read(), re.M)[1]
    is_equal("unit: what jobprofd keeps, and what it takes to give up the rest", {c[4:] for c in unit.split()}, DAEMON - BY_HAND | {"SETPCAP"})


def services():
    """Those of a user, by hand: their units close them as well."""
    top, pages = tmpdir("services"), os.path.join(BUILD, "web")
    os.chmod(top, 0o777)
    if os.path.isdir(pages):  # beside the program
        shutil.copytree(pages, os.path.join(TMP, "web"))
    for name, words in (("exporter", ["--listen", "127.0.0.1:0"]), ("serve", ["--user", "--socket", top + "/socket", "--database", top + "/index"]),
                        ("index", ["watch", "--sacct", "none", "--squeue", "none", "--database", top + "/index", top])):
        if name == "serve" and not os.path.exists(pages + "/site.html"):
            skip("serve", "there are no pages: node and npm make them")
            continue
        with open(top + "/log", "ab") as log:
            p = start(["setpriv", "--reuid=%d" % NOBODY, "--regid=%d" % NOBODY, "--clear-groups", "--bounding-set=-all", public_jobprof(), name, *words], env=plain_env(), stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            may(name, wait_until(lambda: confined(p.pid), 10, "%s to be confined: %s" % (name, open(top + "/log").read())), NOBODY, set())
        finally:
            p.kill()
            p.wait()


# The first process of a container, which becomes systemd. What it has in /run is its own, and so is its hierarchy of cgroups.
FIRST = """set -e
mount --make-rprivate /
mount -t tmpfs run /run
mount -t proc proc /proc
umount -R /sys/fs/cgroup
mount -t cgroup2 cgroup2 /sys/fs/cgroup
mkdir -p /run/systemd/system/jobprofd.service.d
cp %(top)s/jobprofd.service %(top)s/test.target /run/systemd/system/
cp %(top)s/test.conf /run/systemd/system/jobprofd.service.d/
exec env -i container=other PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --system --unit=test.target --show-status=no
"""
TARGET = "[Unit]\nDefaultDependencies=no\nWants=jobprofd.service\n"
DROP_IN = """[Unit]
DefaultDependencies=no
ConditionPathExists=
[Service]
ExecStart=
ExecStart=%(top)s/jobprofd -f -c %(top)s/conf
StandardError=append:%(top)s/log
"""
CONF = """ProfileHDF5Dir=%(top)s/profiles
ProfileHDF5Default=all
StateDir=%(top)s/state
PinDir=%(pins)s
JobAcctGatherFrequency=task=1
"""
STEP = """mkdir -p %(job)s/step_0/user/task_0
sh -c 'echo $$ >%(job)s/step_0/user/task_0/cgroup.procs; exec setpriv --reuid=%(uid)d --regid=%(uid)d --clear-groups %(top)s/jpspin 3' >/dev/null
sleep 0.3
cd %(job)s && rmdir -p step_0/user/task_0
"""


def text_of(path):
    with contextlib.suppress(OSError), open(path, errors="replace") as f:
        return f.read()
    return ""


def start_systemd(top):
    """In a container. Returns the number of the jobprofd that it has started by the unit."""
    with open(top + "/out", "wb") as out:
        container = start(["unshare", "--pid", "--fork", "--mount", "--cgroup", "--uts", "--ipc", "--kill-child", "sh", top + "/first"],
                          stdin=subprocess.DEVNULL, stdout=out, stderr=out)

    def ready():
        return "version" in text_of(top + "/log") and [
            int(p) for p in os.listdir("/proc") if p.isdigit() and text_of("/proc/%s/cmdline" % p).startswith(top + "/jobprofd")]
    try:
        return container, wait_until(ready, 60, "systemd to start jobprofd")[0]
    except Failed:
        container.kill()
        raise Failed("jobprofd was not started: " + text_of(top + "/out") + text_of(top + "/log"))


@in_full
def by_systemd():
    """The unit as systemd itself makes it: a step of nobody's gets its file, with the modes that Slurm's have."""
    root = cgroup2_mount()
    if not os.path.exists("/lib/systemd/systemd") or not root or os.path.exists(root + "/init.scope"):
        raise Skipped("there is no systemd, or no cgroup v2, or systemd has it already")
    job, top = new_job(), tempfile.mkdtemp(prefix="jobprof-test.", dir="/var/lib")  # the unit's /tmp is another one
    path = "%s/profiles/nobody/%d_0_%s.h5" % (top, job, os.uname().nodename.split(".")[0])
    words = {"top": top, "pins": "/sys/fs/bpf/jobprof-test-%d-unit" % os.getpid(), "job": mkcg("system.slice/slurmstepd.scope/job_%d" % job), "uid": NOBODY}
    os.chmod(top, 0o755)
    os.mkdir(top + "/profiles")
    for program in (JOBPROFD, os.path.join(os.path.dirname(JOBPROFD), "jobprof-writer"), tool("jpspin")):
        shutil.copy(program, top)
    unit_in(top)
    for name, text in (("first", FIRST), ("test.target", TARGET), ("test.conf", DROP_IN), ("conf", CONF)):
        with open(os.path.join(top, name), "w") as f:
            f.write(text % words if "%" in text else text)
    container, pid = start_systemd(top)
    try:
        s = status_of(pid)
        is_equal("by systemd: it is confined", (s["Seccomp"], s["NoNewPrivs"], names(s["CapEff"]) - DAEMON), ("2", "1", set()))
        step = start(["nsenter", "-t", str(pid), "-p", "sh", "-c", STEP % words], stdin=subprocess.DEVNULL)
        time.sleep(1.5)
        subprocess.run(["nsenter", "-a", "-t", text_of("/proc/%d/stat" % pid).split()[3], "systemctl", "restart", "jobprofd"], check=True, timeout=60)
        is_equal("by systemd: the step goes on", step.wait(60), 0)
        wait_until(lambda: os.path.exists(path), 30, "the file: " + text_of(top + "/log"))
        is_equal("by systemd: whose files are", [(st.st_uid, st.st_mode & 0o777) for st in map(os.stat, (path, os.path.dirname(path)))],
                 [(NOBODY, 0o644), (NOBODY, 0o700)])
        used = total(table(path, "Step"), "CPUTime")
        is_true("by systemd: the step's CPU time", 0.01 < used < 3.5, used)
        is_true("by systemd: a restart loses nothing", "no count is lost" in attrs_of(path).get("Restarted", "") and os.listdir(os.path.dirname(path)) == [os.path.basename(path)],
                (attrs_of(path).get("Restarted"), os.listdir(os.path.dirname(path))))
        is_equal("by systemd: no complaint", [x for x in text_of(top + "/log").splitlines() if not re.search("version|leaving|goes on|took over", x)], [])
    finally:
        container.kill()
        container.wait()
        end_systemd(root, words)


def end_systemd(root, words):
    """What it leaves when its container has been killed."""
    for made in ("init.scope", "system.slice/jobprofd.service"):
        for d, _, _ in os.walk(os.path.join(root, made), topdown=False):
            wait_until(lambda d=d: not text_of(d + "/cgroup.procs") and not os.rmdir(d), 20, "the end of " + d)
    with contextlib.suppress(OSError):  # others may be there
        os.rmdir(root + "/system.slice")
    for d in [words["top"], words["pins"]] + glob.glob("/tmp/systemd-private-*-jobprofd.service-*") + glob.glob("/var/tmp/systemd-private-*-jobprofd.service-*"):
        shutil.rmtree(d, ignore_errors=True)

run_tests([programs, compiled, named_tests, unit, unit_and_daemon, services] + ([] if os.geteuid() else [own_directories, by_systemd, processes, no_denied_call]))
