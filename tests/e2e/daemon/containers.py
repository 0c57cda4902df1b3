#!/usr/bin/python3
# timeout: 200
# SPDX-License-Identifier: GPL-2.0-or-later
"""A step's program in a container: podman, crun, Apptainer, and namespaces made by unshare. Its counts are the
kernel's, its names, regions and stacks are there."""

import pwd
import sys
sys.path.insert(0, sys.path[0] + "/../../lib")
from daemonlib import *
from netlib import need

main = tree = None
CAP_SYS_RESOURCE = 24
PHASES = {"first_phase", "second_phase", "third_phase"}


def image():
    """A root with programs of ours in a directory that this machine does not have, and a shell."""
    root = tmpdir("image")
    os.chmod(root, 0o755)
    for d in ("app", "bin", "dev", "proc", "sys", "tmp", "etc", "run", "root", "usr", "var/tmp"):
        os.makedirs(os.path.join(root, d))
    need("busybox")
    shutil.copy(shutil.which("busybox"), root + "/bin/busybox")
    os.symlink("busybox", root + "/bin/sh")
    for program in (tool("jphold"), tool("jpphases"), JOBPROF):
        shutil.copy(program, root + "/app")
        for lib in re.findall(r"(/\S+) \(0x", subprocess.run(["ldd", program], capture_output=True, text=True).stdout):
            os.makedirs(root + os.path.dirname(lib), exist_ok=True)
            shutil.copy(lib, root + lib)
    for name, text in (("passwd", "root:x:0:0:root:/root:/bin/sh\n"), ("group", "root:x:0:\n"), ("hosts", ""), ("resolv.conf", "")):
        with open(os.path.join(root, "etc", name), "w") as f:
            f.write(text)
    return root


class Inside(Hold):
    """A tool that parks in a container: the number that it says of itself is of the container's namespace."""

    def _parked(self):
        if not super()._parked():
            return False
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                if self.state.encode() in slurp("/proc/%s/cmdline" % pid).encode().split(b"\0") and slurp("/proc/%s/comm" % pid) == "jphold\n":
                    return int(pid)
            except (FileNotFoundError, ProcessLookupError):
                pass
        return False


def by_unshare(root):
    enter = 'mount --make-rprivate / && mount --bind {0} {0} && mkdir -p {0}{1} && mount --rbind {1} {0}{1} && ' \
        'mount -t proc proc {0}/proc && cd {0} && pivot_root . . && /bin/busybox umount -l . && exec "$@"'.format(root, TMP)
    return ["unshare", "--mount", "--pid", "--cgroup", "--uts", "--ipc", "--fork", "--kill-child", "sh", "-c", enter, "sh"]


def by_podman(root):
    need("podman")
    if not int(re.search(r"CapEff:\s*(\w+)", slurp("/proc/self/status"))[1], 16) >> CAP_SYS_RESOURCE & 1:
        raise Skipped("podman sets limits, and root may not here")
    return ["podman", "--root", tmpdir("storage"), "--runroot", tmpdir("storage"), "--storage-driver", "vfs",
            "--cgroup-manager", "cgroupfs", "run", "--rm", "--cgroups", "disabled", "--network", "none", "--log-driver", "none",
            "--ulimit", "host", "-e", "JOBPROF_SOCKET=" + main.settings["Socket"], "-v", "%s:%s" % (TMP, TMP), "--rootfs", root]


def by_crun(root):
    """Without a daemon or images, as Slurm's `srun --container` calls it."""
    need("crun")
    bundle = tmpdir("bundle")
    subprocess.run(["crun", "spec"], cwd=bundle, check=True)
    with open(bundle + "/config.json") as f:
        spec = json.load(f)
    spec["root"] = {"path": root, "readonly": False}
    spec["process"].update(terminal=False, rlimits=[])
    spec["mounts"] = [m for m in spec["mounts"] if m["type"] != "cgroup"]
    spec["mounts"].append({"destination": TMP, "type": "bind", "source": TMP, "options": ["rbind"]})
    with open(bundle + "/config.json", "w") as f:
        json.dump(spec, f)
    fill = """import json, os, sys
with open("config.json") as f:
    spec = json.load(f)
spec["process"].update(args=sys.argv[2:], env=["=".join(v) for v in os.environ.items()])
with open("config.json", "w") as f:
    json.dump(spec, f)
os.execlp("crun", "crun", "--cgroup-manager=disabled", "run", sys.argv[1])"""
    return ["env", "-C", bundle, sys.executable, "-c", fill, "jptest%d" % PID]


def by_apptainer(root):
    need("apptainer")
    return ["apptainer", "--silent", "exec", "--pid", "--bind", TMP, root]


def folded(path, before=()):
    p = subprocess.run([*before, "/app/jobprof" if before else JOBPROF, "flame", "--folded", path], capture_output=True, text=True,
                       env=plain_env())
    if p.returncode:
        raise Failed("jobprof flame: " + p.stderr)
    return [(line.rsplit(" ", 1)[0].split(";"), int(line.rsplit(" ", 1)[1])) for line in p.stdout.splitlines()]


def a_row(live):
    """Returns once a row has been taken: where programs for stacks are loaded slowly, the first one is seconds late."""
    now = time.time_ns()
    wait_until(lambda: os.path.exists(live) and (table(live, "Step")["TimeNS"] > now).any(), 30, "a row")


def one(name, runtime, user="root"):
    """A step of two programs: one whose accounts the kernel has, one that says how often it executed its region."""
    root, h, job = image(), Inside(), new_job()
    folder = os.path.dirname(h.fifo)  # of whatever user the runtime makes of us
    os.chmod(folder, 0o777)
    os.chmod(h.fifo, 0o666)
    script = "/app/%s; exec /app/jpphases -r work 4 2 0.4 0.3" % (
        " ".join(h.cmd("park", "spin=0.3", "naps=30", "write=%s/data:3" % folder, "park")).replace(TOOLS + "/", ""))
    env = ["env", "JOBPROF_SOCKET=" + main.settings["Socket"], "HOME=" + folder]
    s = Stepd(job, 0, [*env, *runtime(root), "/bin/sh", "-c", script],
              v2_task(tree.job(job) + "/step_0", ["-u", pwd.getpwnam(user).pw_uid]))
    wait_until(lambda: h._parked() or s.proc.poll() is not None, 60, "the container to begin")
    if s.proc.poll() is not None:
        if "hybrid mode not supported" in s.out():
            raise Skipped("crun: " + s.out().strip())
        raise Failed("it did not begin: " + s.out())
    h.wait()
    w = Window([h], lambda: a_row(os.path.join(main.hdf5, user, ".%s_0_%s.h5" % (job, main.name))))
    h.go()
    is_equal(name + ": its status", s.end(), 0)
    path = main.file(job, 0, user)
    rows = table(path, "Step")
    if runtime == by_podman:  # podman itself waits in the step
        less = [c for c, key, scale in EXACT if w.ours(rows, c) * scale < w.kernel(key)]
        is_equal(name + ": switches, I/O and faults are the kernel's and podman's", less, [])
        is_near(name + ": CPU time is schedstat's and podman's", w.ours(rows, "CPUTime"), w.kernel("run_ns") / 1e9, 0.001, 0.02)
    else:
        compare(name, w, rows)
        compare(name + ": task", w, table(path, "Tasks/0"))
    with h5py.File(path, "r") as f:
        node = f[next(k for k in f if isinstance(f[k], h5py.Group))]
        names, regions, lost = set(node["Commands"]), len(node.get("Regions", [])), int(node.attrs.get("Lost Regions", 0))
    is_true(name + ": its programs", {"jphold", "jpphases"} <= names, names)
    loops = int(re.search(r"loops (\d+)", s.out())[1])
    is_true(name + ": each execution of its region is a row, or begin and end are lost", 2 * regions + lost == 2 * loops and lost < 100,
            (regions, lost, loops))
    stacks(name, path, root)


def stacks(name, path, root):
    """In a root that has the program at its path its functions have names, outside they are one line."""
    inside = {}
    for names, n in folded(path, by_unshare(root)):
        inside[names[-1]] = inside.get(names[-1], 0) + n
    is_true(name + ": functions by name, in such a root", PHASES <= set(inside) and "[jpphases]" not in inside, inside)
    outside = [names for names, _ in folded(path) if "jpphases" in names[0]]
    is_true(name + ": one line, outside", outside and all(x[0] == "[jpphases]" and not PHASES & set(x) for x in outside), outside[:5])


def unshared():
    one("unshare", by_unshare)


def crun():
    one("crun", by_crun)


def podman():
    one("podman", by_podman)


def apptainer():
    one("Apptainer", by_apptainer, "nobody")  # as root it needs every capability


if __name__ == "__main__":
    need_bpf()
    tree = Trees()
    main = Daemon(ProfileHDF5Default="All,stack").start()
    tree.job(new_job())
    wait_until(main.counts, 60, "the programs")
    run_tests([unshared, crun, podman, apptainer])
