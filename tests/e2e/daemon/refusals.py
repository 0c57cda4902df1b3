#!/usr/bin/python3
# timeout: 120
# SPDX-License-Identifier: GPL-2.0-or-later
"""What is refused, with one line that says why and with its exit status: a machine that lacks
something, wrong usage, a bad configuration, a second jobprofd."""

import os
import sys

sys.path.insert(0, os.path.realpath(__file__ + "/../../../lib"))
from faultlib import *

UNCAPPED = ["setpriv", "--bounding-set=-bpf,-perfmon,-sys_admin"]


def not_root():
    user = ["setpriv", "--reuid=%d" % NOBODY, "--regid=%d" % NOBODY, "--clear-groups"]
    if sh(user + ["test", "-x", JOBPROF]).returncode:
        raise Skipped("nobody cannot reach the programs in %s" % BUILD)
    mark = marker()
    out = tmpdir("out")
    os.chmod(TMP, 0o755)
    os.chmod(out, 0o777)
    says("not root: jobprof run", sh(user + run_cmd("touch", mark, out=out)), 1, "needs root.*sudo")
    is_true("not root: CMD is not run", not os.path.exists(mark), "it was")
    d = RootedDaemon()
    says("not root: jobprofd", sh(user + [JOBPROFD, "-f", "-c", d.conf]), 1, "must run as root")
    if not os.path.exists(DUMP):
        skip("not root: jobprof-dump", "it is not built")
        return
    p = sh(user + [DUMP, "--pin", BPFFS + "/jobprof"])
    says("not root: jobprof-dump", p, 1, "jobprof-dump: .*")


def no_bpf():
    if sh(UNCAPPED + ["true"]).returncode:
        raise Skipped("setpriv cannot drop CAP_BPF")
    says("no BPF: jobprof run", sh(UNCAPPED + run_cmd("true")), 1, "no BPF programs, as in a container without CAP_BPF and CAP_PERFMON")
    d = RootedDaemon()
    says("no BPF: jobprofd", sh(UNCAPPED + [JOBPROFD, "-f", "-c", d.conf]), 1,
         "BPF programs: .*CAP_BPF")
    p = sh(UNCAPPED + [JOBPROFD, "--check"])
    is_true("no BPF: --check says what is missing", p.returncode == 1 and "NO" in p.stdout and
            "required" in p.stderr, "%d %s" % (p.returncode, p.stderr))


def old_kernel():
    """A release below 5.11, as EL 8's, whatever BPF it has: uname() of this personality says 2.6."""
    old = ["setarch", "--uname-2.6"]
    if not sh(old + ["uname", "-r"]).stdout.startswith("2.6."):
        raise Skipped("setarch cannot ask for an old release")
    for what, cmd in (("jobprofd", [JOBPROFD, "-f", "-c", RootedDaemon().conf]), ("jobprof run", run_cmd("true"))):
        says("old kernel: " + what, sh(old + cmd), 1, r"kernel 2\.6\.\S+ is too old: jobprof needs 5\.11 or later")
    p = sh(old + [JOBPROFD, "--check"])
    is_true("old kernel: --check", p.returncode == 1 and "kernel 5.11 or later NO" in p.stdout, p.stdout + p.stderr)


def no_btf():
    garbage = os.path.join(tmpdir("btf"), "garbage")
    with open(garbage, "wb") as f:
        f.write(os.urandom(4096))
    for what, path in (("missing", "/nonexistent"), ("garbage", garbage), ("a directory", "/")):
        cmd = run_cmd("true")
        cmd[2:2] = ["--btf", path]
        says("no BTF: file is %s" % what, sh(cmd), 1, "BTF")
        d = RootedDaemon()
        says("no BTF: jobprofd, file is %s" % what,
             sh([JOBPROFD, "-f", "-c", d.conf, "--btf", path]), 1, "BTF")


UMOUNT_CGROUPS = ("awk '$0 ~ / - cgroup2? / { print $5 }' /proc/self/mountinfo | sort -r |"
                  " while read -r m; do umount -l \"$m\"; done")


def no_cgroup():
    says("no cgroup mounted: jobprof run", sh(in_namespace(UMOUNT_CGROUPS, run_cmd("true"))), 1,
         "no cgroup hierarchy.*mount -t cgroup2")
    d = RootedDaemon()
    says("no cgroup mounted: jobprofd",
         sh(in_namespace(UMOUNT_CGROUPS, [JOBPROFD, "-f", "-c", d.conf])), 1,
         "no cgroup hierarchy.*mount -t cgroup2")


def no_cgroup2():
    if not cgroup1_mount("freezer") or not cgroup2_mount():
        raise Skipped("v1 and v2 are not mounted side by side here")
    out = tmpdir("out")
    account = out + "/account"
    p = sh(in_namespace("umount -l " + cgroup2_mount(),
                        run_cmd(tool("jphold"), "-o", account, "spin=0.1", out=out)))
    files = h5_files(out)
    is_true("no cgroup2: jobprof run takes v1", p.returncode == 0 and len(files) == 1 and
            approx(read_all(files[0])["Tasks/0"]["CPUTime"].sum(),
                   *own_cpu(read_account(account), 0.001, 0.004)),
            "%d %s %s" % (p.returncode, files, p.stderr))


def bpffs():
    d = RootedDaemon()
    d.wrap = in_namespace("umount -l %s; ! grep -q ' - bpf ' /proc/self/mountinfo" % BPFFS, [])
    d.start()
    seen = os.path.isdir("/proc/%d/root%s/maps" % (d.proc.pid, d.pin))
    works(d, "bpffs missing: jobprofd mounts it and works")
    is_true("bpffs missing: the pins are there", seen, "no %s" % d.pin)
    is_equal("bpffs missing: a clean end", d.end(), 0)
    e = RootedDaemon(PinDir=os.path.join(tmpdir("pins"), "x"))
    says("PinDir not on a bpffs", sh([JOBPROFD, "-f", "-c", e.conf]), 1,
         "PinDir .* is no BPF file system: take a path below /sys/fs/bpf")
    e.configure(PinDir=BPFFS + "/jptest_none/x")
    says("PinDir in no directory", sh([JOBPROFD, "-f", "-c", e.conf]), 1, "PinDir .*No such file")


def state_dir():
    says("StateDir cannot be made", sh(run_cmd("true", state="/proc/nothing")), 1,
         "StateDir /proc/nothing: ")
    for name, uid, mode in (("of a user", NOBODY, 0o700), ("that all may write to", 0, 0o1777), ("that a group may write to", 0, 0o770)):
        for key, below in (("StateDir", ""), ("Socket", "/socket")):
            own = tmpdir("own")
            d = RootedDaemon(**{key: own + below})
            os.chown(own, uid, uid)
            os.chmod(own, mode)
            says("a %s %s" % (key, name), sh([JOBPROFD, "-f", "-c", d.conf]), 1, key + ": others than root may write to")
            p = sh([JOBPROFD, "--check-config", "-c", d.conf])
            is_true("a %s %s: --check-config" % (key, name), p.returncode == 1 and key + ": others than root may write to" in p.stderr, p)
    d = RootedDaemon(StateDir="/proc/nothing")
    says("StateDir cannot be made: jobprofd", sh([JOBPROFD, "-f", "-c", d.conf]), 1,
         "StateDir /proc/nothing: ")


def wrong_usage():
    for prog, args in ((JOBPROF, []), (JOBPROF, ["frob"]), (JOBPROF, ["run"]), (JOBPROF, ["run", "--"]),
                       (JOBPROF, ["run", "--frob", "true"]), (JOBPROF, ["run", "-o", "/tmp", "-i", "0", "true"]),
                       (JOBPROF, ["run", "-i", "x", "true"]), (JOBPROF, ["run", "-i", "-1", "true"]),
                       (JOBPROF, ["run", "-s", "frob", "true"]), (JOBPROF, ["run", "-u", "frob", "true"]),
                       (JOBPROF, ["run", "-o"]), (JOBPROF, ["show"]), (JOBPROF, ["show", "--frob"]),
                       (JOBPROF, ["list", "--frob"]), (JOBPROF, ["list", "x", "y"]), (JOBPROFD, ["--frob"]),
                       (JOBPROFD, ["x"]), (JOBPROFD, ["-c"]), (WRITER, []), (WRITER, ["-j", "x"]),
                       (WRITER, ["-j", "3", "-d", "4", "-n", "x.h5", "-m", "frob"]),
                       (DUMP, ["--frob"]), (DUMP, ["x"])):
        name = "wrong usage: %s" % " ".join([os.path.basename(prog)] + args)
        if not os.path.exists(prog):
            skip(name, "it is not built")
            continue
        p = sh([prog] + args)
        is_true(name, p.returncode == 2 and p.stderr and not p.stdout and
                (prog == WRITER or not args or p.stderr.count("\n") == 1),
                "status %d, stdout %s, stderr %s" % (p.returncode, p.stdout[:80], p.stderr[:80]))
    says("an option that is not there", sh([JOBPROF, "run", "--frob", "true"]), 2,
         "there is no option --frob;")
    says("options that begin alike", sh([JOBPROF, "run", "--s", "x", "true"]), 2,
         "more than one option begins with --s;")
    says("no interval", sh([JOBPROF, "run", "-i", "0.01", "true"]), 2, "want 0.1 to 86400 seconds")
    p = sh([JOBPROF, "shwo"])
    is_true("a verb that is nearly one is named", '"show"' in p.stderr, p.stderr)


def all_errors_at_once():
    """Of the syntax and of what values mean, each with its line; a service that systemd need not start again."""
    d = tmpdir("errors")
    path = os.path.join(d, "bad.conf")
    lines = ("ProfileHDF5Dir=/tmp", "Frob=1", "MaxSlots=99999", "ProfileHDF5Default=Al", "CgroupPattern=/a/b*c*",
             "PerfEvents=cylces", "CgroupPattern=/ok/x-*", "Families=frob", "EnergyIPMITimeout=never")
    with open(path, "w") as f:
        f.write("\n".join(lines) + "\n")
    wrong = [str(i + 1) for i, line in enumerate(lines) if "/tmp" not in line and "/ok" not in line]
    for option, status in (("--check-config", 1), ("-f", os.EX_CONFIG)):
        p = sh([JOBPROFD, option, "-c", path])
        is_equal("all errors at once: " + option,
                 [p.returncode, sorted(re.findall(r"^jobprofd: %s:(\d+): " % path, p.stderr, re.M))],
                 [status, wrong])


def all_errors_of_a_list():
    """Each item of a value that is a list, in jobprof.conf and in Slurm's files."""
    d = tmpdir("lists")
    path, slurm = os.path.join(d, "bad.conf"), os.path.join(d, "slurm.conf")
    with open(slurm, "w") as f:
        f.write("JobAcctGatherFrequency=task=0.02,bar=1\n")
    for line, items in (
            ("JobAcctGatherFrequency=task=0.01,foo=3,energy=-1", ('"task=0.01"', '"foo=3"', '"energy=-1"')),
            ("ProfileHDF5Default=Task,Al,Energie", ('"Al"', '"Energie"')),
            ("Families=frob,Task,frub", ('"frob"', '"frub"')),
            ("PerfEvents=@foo;cylces,instructions,cs:z", ("@foo", "cylces:", "cs:z:")),
            ("PerfEvents=cs:name,rss/,instrutions", ("cs:name", "rss/", "instrutions")),
            ("EnergyIPMIPowerSensors=Node=a,2,b;Fan=c;Nothing", ('"a"', '"b"', '"c"', '"Nothing"')),
            ("Include slurm.conf", ("slurm.conf:1:", '"task=0.02"', '"bar=1"'))):
        with open(path, "w") as f:
            f.write("ProfileHDF5Dir=/tmp\n%s\n" % line)
        p = sh([JOBPROFD, "--check-config", "-c", path])
        is_equal("all errors of a list: " + line, (p.returncode, [i for i in items if i not in p.stderr]), (1, []))


def included_by_itself():
    """One error, where the circle closes; all others once, too."""
    d = tmpdir("circle")
    path, other, slurm = [os.path.join(d, n) for n in ("a.conf", "b.conf", "slurm.conf")]
    for name, texts, wanted in (
            ("a file", {path: "ProfileHDF5Dir=/tmp\nFrob=1\nInclude a.conf\n"}, [(path, "2"), (path, "3")]),
            ("two files", {path: "ProfileHDF5Dir=/tmp\nInclude b.conf\n", other: "Frob=1\nInclude a.conf\n"},
             [(other, "1"), (other, "2")]),
            ("slurm.conf", {path: "ProfileHDF5Dir=/tmp\nInclude slurm.conf\n",
                            slurm: "JobAcctGatherFrequency=often\nInclude slurm.conf\n"},
             [(slurm, "1"), (slurm, "2")])):
        for file, text in texts.items():
            with open(file, "w") as f:
                f.write(text)
        p = sh([JOBPROFD, "--check-config", "-c", path])
        is_equal("included by itself: " + name, (p.returncode, re.findall(r"^jobprofd: (\S+?):(\d+): ", p.stderr, re.M)),
                 (1, wanted))
        is_true("included by itself: %s: why" % name, p.stderr.count("it is included by itself") == 1, p.stderr)
    # the one of SLURM_CONF is read by --check-config alone
    with open(path, "w") as f:
        f.write("ProfileHDF5Dir=/tmp\n")
    p = sh([JOBPROFD, "--check-config", "-c", path], env=plain_env(SLURM_CONF=slurm))
    is_true("included by itself: slurm.conf of SLURM_CONF", p.returncode == 1 and
            p.stderr.count("slurm.conf:2: Include") == 1, p.stderr)


def bad_configuration():
    d = tmpdir("conf")
    good = "ProfileHDF5Dir=/tmp\n"
    for name, text, pattern in (
            ("unknown key", good + "ProfilHDF5Default=All\n", r"bad\.conf:2: .*ProfilHDF5Default.*ProfileHDF5Default"),
            ("bad number", good + "\n\nMaxSlots=many\n", r"bad\.conf:4: .*MaxSlots.*many"),
            ("out of range", good + "MaxSlots=1\n", r"bad\.conf:2: .*MaxSlots.*16 to 4096"),
            ("no list of CPUs", "HousekeepingCPUs=0-x\n" + good, r"bad\.conf:1: .*HousekeepingCPUs=0-x"),
            ("bad frequency", "JobAcctGatherFrequency=task=0.01\n", r"bad\.conf:1: .*JobAcctGatherFrequency"),
            ("unknown series", "JobAcctGatherFrequency=taks=1\n", r"bad\.conf:1: .*taks"),
            ("relative path", "StateDir=state\n", r"bad\.conf:1: .*absolute"),
            ("no value", good + "StateDir\n", r"bad\.conf:2: "),
            ("name with a slash", "NodeName=a/b\n", r"bad\.conf:1: .*NodeName"),
            ("bad level", "LogLevel=loud\n", r"bad\.conf:1: .*error, warn, info, debug"),
            ("missing include", "Include /nonexistent/x\n", r"bad\.conf:1: .*|/nonexistent/x"),
            ("unknown family", good + "ProfileHDF5Default=All,frob\n", "frob")):
        path = os.path.join(d, "bad.conf")
        with open(path, "w") as f:
            f.write(text)
        says("configuration: " + name, sh([JOBPROFD, "--check-config", "-c", path]), 1, pattern)
    good_path = os.path.join(d, "good.conf")
    with open(good_path, "w") as f:
        f.write(good)
    os.chmod(good_path, 0o666)
    says("configuration: world-writable is refused", sh([JOBPROFD, "--check-config", "-c", good_path]), 1,
         "good.conf.*writ")
    os.chmod(good_path, 0o644)
    is_equal("configuration: a good one", sh([JOBPROFD, "--check-config", "-c", good_path]).returncode, 0)
    says("configuration: missing file", sh([JOBPROFD, "--check-config", "-c", "/nonexistent/c"]), 1,
         "/nonexistent/c: .*No such file")
    says("configuration: a directory", sh([JOBPROFD, "--check-config", "-c", d]), 1, "directory|regular")
    with open(good_path, "wb") as f:
        f.write(b"\x7fELF\0\1\2" * 100)
    says("configuration: binary", sh([JOBPROFD, "--check-config", "-c", good_path]), 1, r"good\.conf:1: ")
    with open(good_path, "w") as f:
        f.write(good + "HousekeepingCPUs=1000-1001\n")
    says("configuration: no such CPU", sh([JOBPROFD, "-f", "-c", good_path]), os.EX_CONFIG,
         r"good\.conf:2: HousekeepingCPUs=1000-1001: .*CPUs of this node")
    with open(good_path, "w") as f:
        f.write("ProfileHDF5Default=All\n")
    says("configuration: no ProfileHDF5Dir", sh([JOBPROFD, "-f", "-c", good_path]), os.EX_CONFIG,
         "ProfileHDF5Dir is not set")
    e = RootedDaemon("nd", LogLevel="info")
    del e.settings["ProfileHDF5Dir"]
    e.configure(ProfileHDF5Default="None")
    e.start()
    e.wait_said("ProfileHDF5Dir is not set: no step can be profiled")
    e.end()
    ok("no ProfileHDF5Dir where nothing is profiled by default: said at the start")
    e = RootedDaemon("cf").start()
    job = new_job()
    e.configure(MaxSlots="many")
    old = r"running with the old settings, %s has an error in line %d: MaxSlots: " % (
        e.conf, [k for k, v in e.settings.items() if v is not None].index("MaxSlots") + 1)
    p = status(e)
    is_true("configuration: --status of one that became bad", p.returncode == 1 and
            re.fullmatch("jobprofd: %s.*\n" % old, p.stderr) and
            "\nrunning: since" in p.stdout and not re.search("^problem", p.stdout, re.M) and
            p.stdout.endswith("status: there are problems\n"), p.stdout + p.stderr)
    e.proc.send_signal(signal.SIGHUP)
    e.wait_said("old settings stay in force")
    works(e, "configuration: a bad one at SIGHUP leaves the old in force")
    p = status(e)
    is_equal("configuration: --status says once that it is bad", (
        p.returncode, p.stderr, [re.sub("since .*?: ", "", line) for line in p.stdout.splitlines() if "MaxSlots" in line]),
             (1, "", ["problem: " + old + '"many" is not a number from 16 to 4096']))
    e.configure(MaxSlots="128")
    p = status(e)
    is_true("configuration: --status when SIGHUP met a bad one", p.returncode == 1 and not p.stderr and
            re.search("^problem: since 20[^ ]* [^ ]*: " + old, p.stdout, re.M), p.stdout + p.stderr)
    e.proc.send_signal(signal.SIGHUP)
    e.wait_said("settings read again")
    p = status(e)
    is_equal("configuration: --status when it has been read again", (p.returncode, p.stderr), (0, ""))
    e.configure(MaxSlots="64", Socket=e.settings["Socket"] + "2", LogLevel="info")
    e.proc.send_signal(signal.SIGHUP)
    e.wait_said(r"jobprofd: MaxSlots, Socket: the new value is in force after a restart")
    e.end()


class Site:
    """Configurations of jobprofd and of Slurm for the node c7, and a PluginDir with both plugins."""

    def __init__(self, name):
        self.dir = tmpdir(name)
        self.h5, self.etc, self.lib = [os.path.join(self.dir, n) for n in ("h5", "etc", "lib")]
        for path in (self.h5, self.etc, self.lib):
            os.mkdir(path, 0o755)
        self.good = "ProfileHDF5Default=All\nInclude slurm.conf\nNodeName=c7\n"
        self.jobprof = self.good + "ProfileHDF5Dir=%s\n" % self.h5
        self.slurm = ("ClusterName=blue\nPluginDir=/nowhere:%s\nNodeName=DEFAULT CPUs=2\n"
                      "NodeName=c[1-9] State=UNKNOWN\n" % self.lib)
        for name in ("spank_jobprof.so", "acct_gather_profile_jobprof.so"):
            shutil.copyfile(sorted(glob.glob(os.path.join(BUILD, "slurm-*", name)))[0], self.plugin(name))
        # It has the version of Slurm.
        shutil.copyfile(self.plugin("acct_gather_profile_jobprof.so"), self.plugin("jobacct_gather_linux.so"))

    def plugin(self, name):
        return os.path.join(self.lib, name)

    def check(self, keys, slurm, acct="", plugstack="optional spank_jobprof.so\n"):
        for name, text in (("jobprof.conf", keys), ("slurm.conf", slurm), ("acct_gather.conf", acct),
                           ("plugstack.conf", plugstack)):
            with open(os.path.join(self.etc, name), "w") as f:
                f.write(text)
        return sh([JOBPROFD, "--check-config", "-c", os.path.join(self.etc, "jobprof.conf")],
                  env=plain_env(SLURM_CONF=os.path.join(self.etc, "slurm.conf")))


def checked_configuration():
    """--check-config: what the daemon would refuse, and the place of its files."""
    site = Site("conf")
    p = site.check(site.jobprof, site.slurm + "AcctGatherProfileType=acct_gather_profile/jobprof\n")
    is_equal("check: all is well", (p.returncode, p.stderr), (0, ""))
    is_true("check: what was looked at", all(re.search("^# .*" + w, p.stdout, re.M) for w in (
        site.h5, "NodeName c7", "spank_jobprof.so is of version", "spank_jobprof.so is built for Slurm",
        "acct_gather_profile_jobprof.so is of", r"MaxSlots: \d+ are enough for \d+ jobs of one CPU")),
        p.stdout[-400:])
    is_equal("check: which file was read", p.stdout.splitlines()[0],
             "# by %s and options" % os.path.join(site.etc, "jobprof.conf"))
    usual = re.search(r"default\s+(\S+),\s+if\s+there", sh([JOBPROFD, "--help"]).stdout).group(1)
    if not os.path.exists(usual):
        is_true("check: that there is none", sh([JOBPROFD, "--check-config"]).stdout.startswith(
            "# by %s, which is not there, and options\n" % usual), usual)
    with open(os.path.join(site.etc, "again.conf"), "w") as f:
        f.write(p.stdout)
    again = sh([JOBPROFD, "--check-config", "-c", os.path.join(site.etc, "again.conf")])
    is_equal("check: what is printed is a configuration",
             [l for l in again.stdout.splitlines() if l[0] != "#"],
             [l for l in p.stdout.splitlines() if l[0] != "#"])
    is_true("check: jobs that have slots", "# MaxSlots: 64 are enough for 12 jobs" in site.check(site.jobprof + "MaxSlots=64\n", site.slurm).stdout, p.stdout)
    says("check: no ProfileHDF5Dir", site.check(site.good, site.slurm), 1, "ProfileHDF5Dir is not set")
    says("check: no ProfileHDF5Dir, and no step that would need it",
         site.check(site.good.replace("=All", "=None"), site.slurm), 1, "ProfileHDF5Dir is not set")
    says("check: it is not there", site.check(site.good + "ProfileHDF5Dir=%s/a/b\n" % site.dir, site.slurm), 1,
         "/a/b: No such file or directory: mount")
    says("check: nobody may write in it", site.check(site.good + "ProfileHDF5Dir=/sys/kernel\n", site.slurm), 1,
         "/sys/kernel.*neither root nor users may")
    shared = tmpdir("shared")
    os.chmod(shared, 0o1777)
    os.chmod(site.h5, 0o1777)
    says("check: everybody may make directories in it", site.check(site.jobprof, site.slurm), 0,
         "h5 .mode 1777.: anybody can make the directory of another user")
    os.chown(site.h5, NOBODY, NOBODY)
    os.chmod(site.h5, 0o755)
    no_rights = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]
    check = [JOBPROFD, "--check-config", "-c", os.path.join(site.etc, "jobprof.conf")]
    env = plain_env(SLURM_CONF=os.path.join(site.etc, "slurm.conf"))
    if sh(no_rights + ["true"]).returncode:
        skip("check: root has no rights in it", "setpriv cannot drop CAP_DAC_OVERRIDE")
    else:
        says("check: root has no rights in it", sh(no_rights + check, env=env), 1,
             "mode 0755, of uid %d.: neither root nor users may .*beforehand" % NOBODY)
        os.mkdir(os.path.join(site.h5, "nobody"))
        os.chown(os.path.join(site.h5, "nobody"), NOBODY, NOBODY)
        p = sh(no_rights + check, env=env)
        is_true("check: root has no rights in it, and users have directories", p.returncode == 0 and not p.stderr and
                "users have directories" in p.stdout, p.stdout + p.stderr)
    for name, line, status, words in (
            ("StateDir cannot be made", "StateDir=/nonexistent/a", 1, "jobprof.conf:5: StateDir /nonexistent/a: No such file or directory: make"),
            ("StateDir is a file", "StateDir=%s/slurm.conf" % site.etc, 1, "jobprof.conf:5: StateDir .*: Not a directory"),
            ("PinDir elsewhere", "PinDir=%s/pins" % site.dir, 1, "jobprof.conf:5: PinDir .* is no BPF file system: take a path below /sys/fs/bpf"),
            ("SensorDir of everybody", "SensorDir=%s" % shared, 1, "sensor plug-ins of .* are not loaded: others may write to it"),
            ("a source that there is not", "Sensors=all,-imp", 0, 'jobprof.conf:5: Sensors: no source is called "imp": ')):
        says("check: " + name, site.check(site.jobprof + line + "\n", site.slurm), status, words)
    readable = os.path.join(tmpdir("programs"), "writer")
    shutil.copy(os.path.join(BUILD, "jobprof-writer"), readable)
    os.chmod(readable, 0o755)
    says("check: a writer that users can trace", site.check(site.jobprof + "Writer=%s\n" % readable, site.slurm), 0, "writer can be read by others than root: .* chmod 711")
    is_equal("check: sources that there are", site.check(site.jobprof + "Sensors=all,-ipmi,rapl\n", site.slurm).stderr, "")
    says("check: it is a file", site.check(site.good + "ProfileHDF5Dir=%s/slurm.conf\n" % site.etc, site.slurm), 1,
         "slurm.conf.*Not a directory")


# Mounts a file system that nobody answers for, in a mount namespace, and executes the rest of its arguments.
HANG = """import os, sys
sys.path.insert(0, sys.argv[1])
import slowfs
os.set_inheritable(slowfs.mount(sys.argv[2]), True)
os.execv(sys.argv[3], sys.argv[3:])
"""


def hung_directory():
    """--check-config: a program that reads what it says does not wait with it for the file system."""
    if not os.path.exists("/dev/fuse"):
        raise Skipped("no /dev/fuse")
    d = tmpdir("hung")
    conf = os.path.join(tmpdir("conf"), "jobprof.conf")
    with open(conf, "w") as f:
        f.write("ProfileHDF5Dir=%s\nSensors=none\n" % d)
    p = start([sys.executable, "-c", HANG, os.path.join(ROOT, "tests/lib"), d, JOBPROFD, "--check-config", "-c", conf],
              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=plain_env())

    def who_tries():
        with open("/proc/%d/task/%d/children" % (p.pid, p.pid)) as f:
            return f.read().split()
    wait_until(who_tries, 20, "a process that tries the directory")
    wait_until(lambda: who_tries() and {os.readlink("/proc/%s/fd/%d" % (who_tries()[0], n)) for n in (1, 2)} == {"/dev/null"}, 4,
               "it to have none of the check's output open")
    ok("check: what tries the directory holds no output")
    out, err = p.communicate(timeout=30)
    is_true("check: the directory does not answer", p.returncode == 1 and "does not answer for 5 s" in err, out + err)


def checked_slurm():
    """--check-config: what does not fit the node or Slurm."""
    site = Site("slurm")
    host = os.uname().nodename.split(".")[0]
    for line, status, wanted in (
            ("ProctrackType=proctrack/linuxproc", 1, "linuxproc: steps have no cgroups"),
            ("ProctrackType=proctrack/linuxproc\nTaskPlugin=task/affinity,task/cgroup", 0,
             "linuxproc: steps are found with cgroup v2 only")):
        says("check: " + line.replace("\n", ", "), site.check(site.jobprof, site.slurm + line + "\n"), status,
             "slurm.conf: ProctrackType=proctrack/" + wanted)
    says("check: another NodeName", site.check(
        site.jobprof.replace("NodeName=c7", "NodeName=d7"), site.slurm + "NodeName=x1 NodeHostname=%s\n" % host), 1,
         "NodeName d7 .*is in no line of .*slurm.conf, which calls this host x1:")
    p = site.check(site.jobprof.replace("NodeName=c7", "NodeName=d7"),
                   site.slurm + "".join("NodeName=x%d NodeHostname=%s\n" % (i, host) for i in range(50)))
    is_true("check: several nodes are of this host: its Slurm has their names in cgroups", p.returncode == 0 and
            not p.stderr and "calls this host x0, x1, x2, " in p.stdout, p.stderr)
    says("check: another cluster", site.check(site.jobprof + "ClusterName=red\n", site.slurm), 1,
         "ClusterName=red, but .*slurm.conf has ClusterName=blue")
    both = site.slurm + "AcctGatherProfileType=acct_gather_profile/jobprof\n"
    elsewhere = site.jobprof + "Socket=/run/x/s\n"
    looks = re.compile(r"(\S+) looks for jobprofd at (\S+), and Socket is /run/x/s: ")
    default = "/run/jobprof/jobprofd.sock"
    for acct, plugstack, wanted in (
            ("", "", [("spank_jobprof.so", default), ("acct_gather_profile_jobprof.so", default)]),
            ("ProfileJobprofSocket=/run/x/s\n", " timeout=9 socket=/run/x/s", []),
            ("ProfileJobprofSocket=/run/y\n", "\tsocket=/run/x/s # socket=/run/z",
             [("acct_gather_profile_jobprof.so", "/run/y")])):
        p = site.check(elsewhere, both, acct, "optional spank_jobprof.so%s\n" % plugstack)
        is_equal("check: where plugins look for jobprofd: %s" % acct, looks.findall(p.stderr), wanted)
    p = site.check(site.jobprof, site.slurm + "AcctGatherProfileType=acct_gather_profile/hdf5\n",
                   "ProfileHDF5Dir=%s\n" % site.h5)
    says("check: Slurm's plugin writes to the same place", p, 0, "acct_gather_profile/hdf5 writes files")
    e = RootedDaemon("slurms", root=False)
    os.symlink(e.hdf5, os.path.join(site.dir, "link"))
    e.env["SLURM_CONF"] = os.path.join(site.etc, "slurm.conf")
    site.check(site.jobprof, site.slurm + "AcctGatherProfileType=acct_gather_profile/hdf5\n",
               "ProfileHDF5Dir=%s/link\n" % site.dir)
    e.start()
    e.wait_said("acct_gather_profile/hdf5 writes files of the same names to " + e.hdf5)
    e.end()
    ok("jobprofd warns at its start, too")


def slurms_files():
    """slurm.conf is read as Slurm reads it; what Slurm does not take is an error."""
    site = Site("read")
    with open(os.path.join(site.etc, "blue.conf"), "w") as f:
        f.write("JobAcctGatherFrequency=task=7,\n")
    rest = site.slurm.partition("\n")[2]
    p = site.check(site.jobprof, "ClusterName=Blue\nInclude %c.conf\n" + rest)
    is_equal("slurm.conf: ClusterName in lower case, %c, a comma at the end",
             [p.returncode, p.stderr] + re.findall("^(?:ClusterName|JobAcctGatherFrequency)=.*", p.stdout, re.M),
             [0, "", "JobAcctGatherFrequency=task=7,energy=7,filesystem=7,network=7,step=7,latency=7",
              "ClusterName=blue"])
    for name, text, status, wanted in (
            ("a part that is not known", site.slurm + "JobAcctGatherFrequency=task=15,gpu=3\n", 0,
             r'slurm.conf:\d+: JobAcctGatherFrequency: "gpu=3" is not NAME=SECONDS'),
            ("rows at the end alone", site.slurm + "JobAcctGatherFrequency=0\n", 0,
             r"slurm.conf:\d+: JobAcctGatherFrequency is 0 for tasks: a step has one row, at its end"),
            ("a byte order mark", "\ufeff" + site.slurm, 1, "slurm.conf:1: a byte order mark"),
            ("%c before ClusterName", "Include %c.conf\n" + site.slurm, 1, "slurm.conf:1: Include %c.conf: no ClusterName"),
            ("an included file that is not there", site.slurm + "Include none.conf\n", 1, r"slurm.conf:\d+: Include .*none.conf")):
        says("slurm.conf: " + name, site.check(site.jobprof, text), status, wanted)


def checked_plugins():
    """--check-config: plugins and programs that are not there or do not fit."""
    site = Site("plugins")
    spank = site.plugin("spank_jobprof.so")
    with open(spank, "rb") as f:
        data = f.read()
    with open(spank, "wb") as f:
        f.write(re.sub(rb"jobprof version: [0-9]", b"jobprof version: 9", data))
    says("check: a plugin of another version", site.check(site.jobprof, site.slurm), 1,
         "spank_jobprof.so is of 9.*install both")
    os.unlink(spank)
    os.mkfifo(spank)
    is_equal("check: a plugin that is a FIFO", site.check(site.jobprof, site.slurm).returncode, 1)
    os.unlink(spank)
    says("check: a plugin that is not there", site.check(site.jobprof, site.slurm), 1,
         "plugstack.conf uses spank_jobprof.so, which is not in PluginDir")
    says("check: no writer", site.check(site.jobprof + "Writer=/nowhere/w\n", site.slurm, plugstack=""), 1,
         "Writer /nowhere/w: No such file")


DEV_LOG = """
mount -t tmpfs none "$1/dev" && cp -a /dev/null "$1/dev" && ln -s "$1/log" "$1/dev/log" &&
mount --bind "$1/dev" /dev && shift && exec "$@"
"""


def syslog():
    """In the background and without systemd, where a syslogd listens: here, at a /dev/log of a mount
    namespace of its own."""
    d = RootedDaemon("sl")
    os.mkdir(os.path.join(d.dir, "dev"))
    log = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    log.bind(os.path.join(d.dir, "log"))
    log.settimeout(20)
    p = sh(["unshare", "-m", "--propagation", "private", "sh", "-c", DEV_LOG, "sh", d.dir, JOBPROFD,
            "-c", d.conf])
    is_equal("in the background: ready, and stderr is left alone", (p.returncode, p.stderr),
             (0, ""))
    d.configure(MaxSlots="64")
    pid = [int(n) for n in os.listdir("/proc") if n.isdigit() and d.conf.encode() in cmdline(n)][0]
    os.kill(pid, signal.SIGHUP)
    said = [log.recv(4096).decode() for _ in range(3)]
    os.kill(pid, signal.SIGTERM)
    form = r"<(\d+)>[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d jobprofd\[(\d+)\]: "
    is_equal("in the background: syslog has the priority, the pid and the text",
             [re.sub(form, r"\1 \2 ", x).split()[:3] for x in said],
             [["30", str(pid), "version"], ["30", str(pid), "settings"], ["28", str(pid), "MaxSlots:"]])
    wait_until(lambda: d.conf.encode() not in cmdline(pid), 20, "jobprofd to end")


def relative_configuration():
    """SIGHUP reads the same file when jobprofd, in the background, has left the directory it was started in."""
    d = RootedDaemon("rc")
    start = [JOBPROFD, "-c", os.path.basename(d.conf)]
    p = subprocess.run(start, cwd=os.path.dirname(d.conf), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, env=plain_env(), timeout=60)
    is_equal("a relative path: it starts", p.returncode, 0)
    pid = int(re.search(r"process (\d+)", status(d).stdout).group(1))
    with open(d.conf, "a") as f:
        f.write("Nonsense=1\n")
    os.kill(pid, signal.SIGHUP)
    wait_until(lambda: "with the old settings" in status(d).stdout, 20, "the settings to be read again")
    is_true("a relative path: it is read again", 'unknown key "Nonsense"' in status(d).stdout, status(d).stdout)
    os.kill(pid, signal.SIGTERM)
    wait_until(lambda: not os.path.exists("/proc/%d" % pid), 60, "jobprofd to end")


def cmdline(pid):
    try:
        with open("/proc/%s/cmdline" % pid, "rb") as f:
            return f.read()
    except OSError:
        return b""


def second_daemon():
    a = RootedDaemon("sa").start()
    b = RootedDaemon("sb", StateDir=a.state)
    says("same StateDir: the second refuses", sh([JOBPROFD, "-f", "-c", b.conf]), 1,
         "another jobprofd uses StateDir")
    b.configure(StateDir=os.path.join(b.dir, "state"), PinDir=a.pin)
    try:
        says("same PinDir: the second refuses", sh([JOBPROFD, "-f", "-c", b.conf], timeout=5), 1,
             "another .*PinDir|PinDir .*another")
    except subprocess.TimeoutExpired:
        not_ok("same PinDir: the second refuses", "it runs")
    works(a, "the first goes on beside them")
    is_equal("the first: a clean end", a.end(), 0)


if __name__ == "__main__":
    need_bpf()
    run_five_at_a_time([bpffs, second_daemon, all_errors_at_once, all_errors_of_a_list, included_by_itself, bad_configuration, checked_configuration,
                        hung_directory, relative_configuration, checked_slurm, slurms_files, checked_plugins,
                        syslog, old_kernel, no_btf, no_bpf, no_cgroup, no_cgroup2, not_root, state_dir, wrong_usage])
