#!/usr/bin/python3
# runs: in full
# timeout: 3000
# SPDX-License-Identifier: GPL-2.0-or-later
"""Packages of what is committed: two builds are the same bytes, lintian finds no error, and in a fresh Debian they are installed, replaced by a newer
version under a running job and purged, after which nothing of theirs is left. What building needs is in docs."""

import functools
import sys
sys.path.insert(0, sys.path[0] + "/../../lib")
from daemonlib import *

NAMES = {"jobprof", "jobprof-daemon", "jobprof-slurm", "jobprof-site", "libjobprof0", "libjobprof-dev"}
# What packages leave behind by Debian's rules: a system user, whose files may still be there, and apt's own records.
STAYS = r"/(proc|sys|dev|run|tmp|packages)(/|$)|/var/(lib/(dpkg|apt|systemd)|cache|log)(/|$)|/etc/(passwd|group|shadow|gshadow|subuid|subgid)-?$|/etc/(alternatives|systemd/system)$"


# There is no systemd in a chroot. This does with jobprofd.service what packages ask for; Restart=always and RestartSec=2 are the unit's.
SYSTEMCTL = """#!/bin/sh
echo "$@" >>/run/systemd/asked
for a; do
	case $a in
	--signal=*) signal=${a#*=} ;;
	-*) ;;
	*) verb=${verb:-$a} unit=$a ;;
	esac
done
[ "$unit" = jobprofd.service ] || exit 3
pid=$(cat /run/jobprofd.pid)
case $verb in
is-active) kill -0 $pid ;;
is-enabled) echo enabled ;;
kill) kill -s ${signal:-TERM} $pid ;;
restart) kill -s TERM $pid ;;
stop)
	touch /run/systemd/stopped
	kill -s TERM $pid
	while kill -0 $pid; do sleep 0.1; done
	;;
esac
"""
SERVICE = """mount -t proc proc "$0/proc" && mount --rbind /sys "$0/sys" && exec chroot "$0" sh -c '
until [ -e /run/systemd/stopped ]; do
	jobprofd -f >>/var/log/jobprofd 2>&1 &
	echo $! >/run/jobprofd.pid
	wait $!
	sleep 2
done'"""
SETTINGS = """ProfileHDF5Dir=/srv
ProfileHDF5Default=All
JobAcctGatherFrequency=task=1
Sensors=none
NodeName=%s
CgroupRoot=%s
PinDir=%s
"""


def run(*cmd, **more):
    return subprocess.run(cmd, capture_output=True, text=True, errors="replace", **more)


def need(*programs):
    absent = [p for p in programs if not shutil.which(p)]
    if absent:
        raise Skipped("there is no %s: scripts/install-deps package" % ", ".join(absent))


def make(kind, to, top=ROOT):
    p = run(os.path.join(top, "scripts", "package"), kind, to, env=plain_env(RPM_NODEPS="1"))
    if p.returncode:
        raise Failed("scripts/package %s: %s" % (kind, p.stderr[-2000:]))
    return {os.path.basename(f): f for f in p.stdout.split()}


@functools.cache
def debs():
    need("dpkg-buildpackage", "dh", "lintian")
    if run("git", "-C", ROOT, "rev-parse", "HEAD").returncode:
        raise Skipped("this is no checkout of git")
    return make("deb", tmpdir("deb"))


def version():
    with open(os.path.join(ROOT, "Makefile")) as f:
        return re.search(r"^VERSION := (\S+)", f.read(), re.M)[1]


def of_names(files):
    """Without those of symbols for debuggers."""
    return {n.split("_")[0]: f for n, f in files.items() if "dbgsym" not in n}


def the_same_bytes():
    first, other, modules = debs(), tmpdir("clone"), "web/node_modules"
    run("git", "clone", "-q", ROOT, other, check=True)
    if os.path.isdir(os.path.join(ROOT, modules)):
        shutil.copytree(os.path.join(ROOT, modules), os.path.join(other, modules))
    second = make("deb", tmpdir("deb"), other)
    is_equal("debs: which there are", set(of_names(first)), NAMES)
    is_equal("debs: two builds have the same names", sorted(first), sorted(second))
    is_equal("debs: and the same bytes, from another clone too", [n for n, f in first.items() if run("cmp", f, second[n]).returncode], [])
    p = run("lintian", "--allow-root", "--fail-on", "error", *first.values())
    is_true("debs: lintian finds no error", p.returncode == 0, p.stdout[-1500:])


def rpms():
    need("rpmbuild", "rpm")
    files = make("rpm", tmpdir("rpm"))
    is_equal("rpms: which there are", {run("rpm", "-qp", "--qf", "%{NAME}", f).stdout for f in files.values()}, NAMES - {"libjobprof0", "libjobprof-dev"} | {"libjobprof", "libjobprof-devel"})
    owned = [line for f in files.values() for line in run("rpm", "-qlp", f).stdout.split("\n") if re.search(r"/(jobprofd|jobprof|spank_jobprof.so|jobprof-web.socket|jobprof.h)$", line) and "/share/" not in line and "/libexec/" not in line and not line.startswith("/etc")]
    is_equal("rpms: each program and file is in one", sorted(os.path.basename(line) for line in owned), ["jobprof", "jobprof-web.socket", "jobprof.h", "jobprofd", "spank_jobprof.so"])


class Root:
    """A fresh Debian."""

    def __init__(self):
        need("debootstrap", "unshare")
        if os.geteuid():
            raise Skipped("needs root")
        self.top = tmpdir("root")
        p = run("debootstrap", "--variant=minbase", "bookworm", self.top)
        if p.returncode:
            raise Skipped("debootstrap: no Debian mirror answers: " + " ".join((p.stdout + p.stderr).split())[-200:])
        os.mkdir(os.path.join(self.top, "packages"))
        self.put("usr/sbin/policy-rc.d", "#!/bin/sh\nexit 101\n", 0o755)
        for name in ("/etc/apt/sources.list", "/etc/resolv.conf"):
            if os.path.exists(name):
                shutil.copy(name, self.top + name)
        for name in glob.glob("/etc/apt/apt.conf.d/*"):
            shutil.copy(name, self.top + name)
        self.must("apt-get", "update", "-q")

    def put(self, name, text, mode=0o644):
        path = os.path.join(self.top, name)
        with open(path, "w") as f:
            f.write(text)
        os.chmod(path, mode)

    def call(self, *cmd):
        script = 'mount -t proc proc "$0/proc" && exec chroot "$0" "$@"'
        return run("unshare", "-m", "--propagation", "private", "sh", "-c", script, self.top, *cmd, env=plain_env(DEBIAN_FRONTEND="noninteractive", LC_ALL="C.UTF-8"))

    def must(self, *cmd):
        p = self.call(*cmd)
        if p.returncode:
            raise Failed("%s: %s" % (" ".join(cmd), (p.stdout + p.stderr)[-1500:]))
        return p.stdout

    def install(self, files):
        for f in files:
            shutil.copy(f, os.path.join(self.top, "packages"))
        return self.must("apt-get", "install", "-qy", "--no-install-recommends", *("/packages/" + os.path.basename(f) for f in files))

    def files(self):
        return {line for line in self.must("find", "/", "-xdev").split("\n") if line and not re.match(STAYS, line)}


def newer(files):
    """The same packages as those of the next version."""
    top = tmpdir("newer")
    made = []
    for name, f in files.items():
        d, out = os.path.join(top, name), os.path.join(top, name + ".deb")
        run("dpkg-deb", "-R", f, d, check=True)
        control = os.path.join(d, "DEBIAN", "control")
        with open(control) as c:
            text = c.read()
        with open(control, "w") as c:
            c.write(text.replace("Version: %s" % version(), "Version: 99.0").replace("(= %s)" % version(), "(= 99.0)").replace("(>= %s)" % version(), "(>= 99.0)"))
        run("dpkg-deb", "-b", d, out, check=True)
        made.append(out)
    return made


class Service:
    """jobprofd.service of a fresh Debian, where this kernel allows BPF."""

    def __init__(self, root):
        self.root, self.proc = root, None
        self.pin = "/sys/fs/bpf/jobprof-test-%d-packages" % PID
        root.put("etc/jobprof/jobprof.conf", SETTINGS % (NODE, CGROUP_ROOT, self.pin))
        if not os.access("/sys/kernel/btf/vmlinux", os.R_OK) or not cgroup2_mount():
            return
        os.makedirs(root.top + "/run/systemd/system")
        root.put("usr/bin/systemctl", SYSTEMCTL, 0o755)
        os.unlink(root.top + "/usr/sbin/policy-rc.d")
        self.proc = start(["unshare", "-m", "--propagation", "private", "sh", "-c", SERVICE, root.top], stdin=subprocess.DEVNULL, env=plain_env())
        self.wait()

    def pid(self):
        return int(slurp(self.root.top + "/run/jobprofd.pid"))

    def wait(self):
        try:
            wait_until(lambda: not self.root.call("jobprofd", "--status").returncode, 30, "jobprofd")
        except Failed as e:
            raise Failed("%s; it logged: %s" % (e, slurp(self.root.top + "/var/log/jobprofd")[-1500:]))

    def told(self):
        """What was asked for that ends a service; each is told once."""
        path = self.root.top + "/run/systemd/asked"
        lines = sorted(re.findall(r"^.*\b(?:stop|restart|kill)\b.*$", slurp(path), re.M))
        os.unlink(path)
        return lines

    def program(self):
        """Whether what runs is what is installed."""
        return os.path.samefile("/proc/%d/exe" % self.pid(), self.root.top + "/usr/sbin/jobprofd")


def under_a_running_job(root, service, upgrade):
    """The old jobprofd leaves a job that computes all the time to the new one: what is counted is what cpu.stat says."""
    if not service.proc:
        skip("an upgrade under a running job", "this kernel allows no BPF, or has no cgroup v2")
        return upgrade()
    was, job, stop = service.pid(), new_job(), os.path.join(tmpdir(), "stop")
    base = Trees().job(job) + "/step_0"
    wait_until(lambda: os.path.exists(service.pin + "/links/jp_cgroup_rmdir"), 20, "the programs")
    step = Stepd(job, 0, ["sh", "-c", 'until [ -e "$0" ]; do :; done; exec sleep 5', stop], v2_task(base))
    time.sleep(3)
    upgrade()
    wait_until(lambda: service.pid() != was, 10, "another jobprofd")
    service.wait()
    is_true("upgrade: what runs is what was installed", service.program(), service.pid())
    is_equal("upgrade: what packages do to services", service.told(), ["kill --kill-who=main --signal=USR1 jobprofd.service", "try-restart jobprof-exporter.service", "try-restart jobprof-index.service jobprof-web.service"])
    time.sleep(3)
    open(stop, "w").close()
    time.sleep(2)
    used = cpu_stat_ns(base + "/user/task_0") / 1e9
    is_equal("upgrade: the step's status", step.end(), 0)
    path = root.top + "/srv/root/%d_0_%s.h5" % (job, NODE)
    wait_until(lambda: os.path.exists(path), 30, path)
    attrs = attrs_of(path)
    is_near("upgrade: CPU time counted before and after is cpu.stat's", whole(path, "Tasks/0", "CPUTime") + attrs.get("Missed CPU Time", 0), used, 0.01, 0)
    is_true("upgrade: the file says that none is lost", "no count is lost" in attrs.get("Restarted", ""), attrs)


def in_a_fresh_debian():
    files = of_names(debs())
    root = Root()
    root.must("apt-get", "install", "-qy", "--no-install-recommends", "slurm-wlm-basic-plugins", "libmicrohttpd12", "adduser")
    before = root.files()
    root.install(files.values())
    said = [root.call(*cmd).stdout.strip() for cmd in (("jobprof", "--version"), ("jobprofd", "--version"), ("seff", "--version"))]  # seff's status is that of Slurm's
    is_true("chroot: all say the version", all(version() in s for s in said), said)
    is_equal("chroot: whom files may be run by", [oct(os.stat(root.top + f).st_mode & 0o7777) for f in ("/usr/bin/jobprof", "/usr/libexec/jobprof/jobprof-writer", "/usr/sbin/jobprofd")], ["0o711", "0o711", "0o755"])
    is_true("chroot: the services have users", "(jobprof)" in root.must("id", "jobprof") and "(jobprof-exporter)" in root.must("id", "jobprof-exporter"), "")
    is_true("chroot: plugins are where that Slurm looks", glob.glob(root.top + "/usr/lib/*/slurm-wlm/spank_jobprof.so"), "")
    is_equal("chroot: programs find their libraries", [f for f in ("/usr/bin/jobprof", "/usr/sbin/jobprofd", "/usr/libexec/jobprof/jobprof-writer") if "not found" in root.must("ldd", f)], [])
    service = Service(root)
    under_a_running_job(root, service, lambda: root.install(newer(files)))
    is_equal("chroot: the newer version is there, and the settings", [root.must("dpkg-query", "-W", "-f", "${Version}", "jobprof-daemon"), os.path.exists(root.top + "/etc/jobprof/jobprof.conf")], ["99.0", True])
    os.unlink(root.top + "/etc/jobprof/jobprof.conf")
    root.must("apt-get", "purge", "-qy", *files)
    root.must("apt-get", "autoremove", "--purge", "-qy")
    if service.proc:
        is_equal("chroot: purged, services are stopped, and nothing is counted", [service.told(), service.proc.wait(20), os.path.exists(service.pin)],
                 [["stop jobprof-expire.timer jobprof-index.service jobprof-web.socket jobprof-web.service", "stop jobprof-exporter.service", "stop jobprofd.service"], 0, False])
    is_equal("chroot: purged, nothing is left", sorted(f for f in root.files() - before if "jobprof" in f), [])


def names_in(path, pattern):
    """Of packages, in what the pattern finds, without versions and profiles."""
    text = " ".join(re.findall(pattern, slurp(os.path.join(ROOT, path)), re.M | re.S))
    return set(re.sub(r"\(.*?\)|<.*?>|[<>=]+ *[\d.]+|[,\\\\]", " ", text).split())


def needs_are_listed():
    """What building needs, in docs, is what packages are built with."""
    rows = re.search(r"^## What building needs\n\n(.*?)\n\n", slurp(ROOT + "/docs/compatibility.md"), re.M | re.S)[1].split("\n")[2:]
    debian, el = [set(re.findall(r"`(.+?)`", " ".join(row.split("|")[n] for row in rows))) for n in (1, 2)]
    is_equal("docs: what building needs on Debian", debian, names_in("packaging/debian/control", r"^Build-Depends: (.*?)\n\n") - {"debhelper-compat"} | {"make", "debhelper", "lintian"})
    is_true("docs: and on EL 9", el >= names_in("packaging/jobprof.spec.in", r"^BuildRequires: (.*?)$"), el)
    is_equal("docs: as in the container", el, names_in("packaging/Containerfile.el9", r"dnf -y install (rpm-build.*?)&&"))
    is_true("docs: scripts/install-deps knows them", debian <= names_in("scripts/install-deps", '^(?:build|page|package)="(.*?)"'), debian)


def a_version_is_made_anew():
    """A checkout of another version compiles again each file that says it."""
    says = set(run("git", "-C", ROOT, "grep", "-l", "JOBPROF_VERSION", "--", "user/*.c").stdout.split())
    out = run("make", "-n", "VERSION=98.7", "B=" + os.path.relpath(BUILD, ROOT), "all", cwd=ROOT).stdout
    made = set(re.findall(r"-c (user/\S+\.c) ", out))
    is_true("make: all that say the version are made anew with another one", len(says) > 10 and says <= made | {f for f in says if f.startswith("user/slurm/")}, sorted(says - made))


def as_el9_has_it():
    """SQLite 3.34, a later HDF5, and a Lua that is named otherwise."""
    late = run("git", "-C", ROOT, "grep", "-nE", r'"[^"]*(\bRETURNING\b|\bSTRICT\b|\bMATERIALIZED\b|\bunixepoch\b|->>)', "--", "user/*.c").stdout
    is_equal("el9: no SQL that SQLite 3.34 lacks", late, "")
    fake = os.path.join(tmpdir("el9"), "pkg-config")
    with open(fake, "w") as f:
        f.write('#!/bin/sh\ncase "$*" in\n*lua5.4*) exit 1 ;;\n"--libs lua >= 5.4") echo -llua ;;\n*) exec pkg-config "$@" ;;\nesac\n')
    os.chmod(fake, 0o755)
    made = run("make", "-n", "V=1", "PKG_CONFIG=" + fake, "B=build-none", "build-none/jobprof", cwd=ROOT).stdout.replace("\\\n", " ")
    is_equal("el9: which Lua is linked", set(re.findall(r"-llua\S*", made)), {"-llua"})
    users = run("git", "-C", ROOT, "grep", "-l", "hdf5.h>", "--", "user/*.c").stdout.split()
    is_equal("el9: who uses HDF5 asks for the functions of 1.10", [f for f in users if re.search(r"^(?!.*-DH5_USE_110_API).* -c %s " % f, made, re.M)], [])


if __name__ == "__main__":
    run_tests((needs_are_listed, as_el9_has_it, a_version_is_made_anew, the_same_bytes, in_a_fresh_debian, rpms))
