# SPDX-License-Identifier: GPL-2.0-or-later
"""What guests share: checks, programs that this machine need not have (tests/vm/tools.sh), NFS from itself."""
import os
import shutil
import socket
import subprocess
import sys
import time

failed = 0


def check(name, good, detail=""):
    global failed
    failed += not good
    print(f"ok {name}" if good else f"not ok {name}: {detail}", flush=True)


def end():
    sys.exit(failed > 0)


def command(*args, **kw):
    p = subprocess.run(args, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **kw)
    if p.returncode:
        sys.exit(f"not ok {args[0]}: {' '.join(args)}: {p.stdout}")
    return p.stdout


def unpack():
    """The tools' files go where the guest has its own; / is thrown away."""
    tools = os.environ["TOOLS"]
    for top, _, files in os.walk(tools):
        to = os.path.realpath("/" + os.path.relpath(top, tools))
        os.makedirs(to, exist_ok=True)
        for f in files:
            path = os.path.join(to, f)
            if not os.path.lexists(path):
                shutil.copy2(os.path.join(top, f), path, follow_symlinks=False)
    command("ldconfig")


def modules(*names):
    for name in names:
        command("modprobe", "-d", os.environ["MODULES"], "-S", os.uname().release, name)


def serve_nfs():
    for d in ("/srv/a", "/mnt/four", "/mnt/three", "/mnt/bind", "/var/lib/nfs/rpc_pipefs", "/run/rpcbind"):
        os.makedirs(d, exist_ok=True)
    for f in ("etab", "rmtab"):
        open("/var/lib/nfs/" + f, "a").close()
    command("mount", "-t", "tmpfs", "none", "/srv/a")
    os.mkdir("/srv/a/x")
    command("mount", "-t", "nfsd", "nfsd", "/proc/fs/nfsd")
    with open("/etc/exports", "w") as f:
        f.write("/srv/a *(rw,no_root_squash,insecure,fsid=0,no_subtree_check)\n")
    with open("/etc/passwd", "a") as f:
        f.write("_rpc:x:106:65534::/run/rpcbind:/usr/sbin/nologin\n")
    subprocess.run(["rpcbind", "-w"], check=True, stdin=subprocess.DEVNULL)
    for _ in range(100):
        with socket.socket() as s:
            if not s.connect_ex(("127.0.0.1", 111)):
                break
        time.sleep(0.1)
    for c in (["exportfs", "-a"], ["rpc.mountd"], ["rpc.nfsd", "2"]):
        subprocess.run(c, check=True, stdin=subprocess.DEVNULL)
    mount_four()
    command("mount", "-t", "nfs", "-o", "vers=3,nolock", "127.0.0.1:/srv/a", "/mnt/three")
    command("mount", "--bind", "/mnt/four/x", "/mnt/bind")


def mount_four():
    command("mount", "-t", "nfs4", "-o", "vers=4.2", "127.0.0.1:/", "/mnt/four")
