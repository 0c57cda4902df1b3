#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The network family by packets (--net-skb) against what system calls returned (tests/tools/jpnet),
iperf3's own report and the devices' counters; beside other programs on cgroups; over a restart."""

import ctypes
import platform
import sys
sys.path.insert(0, sys.path[0] + "/../../lib")
from daemonlib import *
from netlib import *

PORT = 5301
SLACK = 65536  # of iperf3's control connection, which is not in its report
MSS = 1448     # of the cable; a segment sent again has at most that
SKB = ["--net-skb"]
SIDES = ("Tx", "Rx", "LoopTx", "LoopRx")

cable = None


def counted(path):
    rows = task_table(path)
    got = {s: total(rows, "Net%sMB" % s) * MB for s in SIDES}
    got.update({s + "Ops": total(rows, "Net%sOps" % s) for s in SIDES})
    got["again"] = total(rows, "TcpRetrans")
    return got


def profile(cmd, extra=SKB):
    run, path = run_jobprof(cmd, series="network", extra=extra)
    return run, path, counted(path)


def strays(got, prefix):
    """What is in the columns of the other kind of device."""
    return [got[("" if prefix else "Loop") + s] for s in ("Tx", "Rx")]


def one_way(name, args, prefix="Loop", inside=None, datagrams=False, received=True):
    """Runs jpnet: bytes are those of its calls, but for what TCP sent again; a datagram is an
    operation, and TCP's are not known."""
    out = os.path.join(tmpdir(), "account")
    cmd = [tool("jpnet"), "-o", out] + args
    run, path, got = profile(cable.inside(inside, *cmd) if inside else cmd)
    if not os.path.exists(out):
        if "io_uring" in run.out():
            return skip(name, "the kernel has no io_uring")
        return not_ok(name, "jpnet failed: " + run.out()[-300:])
    t = read_account(out)
    tx, rx = t["tx_bytes"], t["rx_bytes"] if received else t["tx_bytes"]
    more = got["again"] * 65536
    right = (tx <= got[prefix + "Tx"] <= tx + more and rx <= got[prefix + "Rx"] <= rx + more and
             strays(got, prefix) == [0, 0])
    if datagrams:
        right = right and [got[prefix + s + "Ops"] for s in ("Tx", "Rx")] == [t["tx_ops"],
                                                                            t["rx_ops"]]
    else:
        right = right and got[prefix + "TxOps"] > 0 and got[prefix + "RxOps"] > 0
    is_true(name, right, "got %s, the calls %s" % (got, t))


def calls():
    ways = [("send and recv", ["send"]),
            ("sendfile and read", ["-s", "30000", "sendfile"]),
            ("splice from a pipe", ["splice"]),
            ("splice from a socket is seen", ["splice-from"]),
            ("MSG_PEEK is nothing of its own", ["peek"]),
            ("io_uring's worker threads", ["async"]),
            ("empty, failed and bad calls", ["fails"]),
            ("IPv6 loopback, TCP", ["-a", "::1", "send"]),
            ("IPv4 loopback inside IPv6", ["-a", "::ffff:127.0.0.1", "send"])]
    dgram = [("UDP, datagrams", ["mmsg"]),
             ("UDP, large datagrams", ["-s", "20000", "mmsg"]),
             ("UDP without a peer is known for loopback", ["sendto"]),
             ("IPv6 loopback, UDP", ["-a", "::1", "sendto"])]
    b = ["-n", cable.ns["b"]]
    wired = [("veth, TCP", b + ["-a", ADDRESS["b"], "send"], "", "a"),
             ("veth, UDP, in fragments", b + ["-s", "9000", "-a", ADDRESS["b"], "mmsg"], "", "a", True),
             ("veth, UDP over IPv6, in fragments", b + ["-s", "9000", "-a", ADDRESS6["b"], "sendto"],
              "", "a", True),
             ("veth, IPv6", b + ["-a", ADDRESS6["b"], "send"], "", "a"),
             ("own address", ["-a", ADDRESS["a"], "send"], "Loop", "a")]
    todo = [lambda w=w: one_way(*w) for w in ways]
    todo += [lambda w=w: one_way(*w, datagrams=True) for w in dgram]
    todo += [lambda w=w: one_way(*w) for w in wired]
    for i in range(0, len(todo), 4):
        together(todo[i:i + 4])


def nothing():
    for way in ("unix", "netlink"):
        _, _, got = profile([tool("jpnet"), way])
        is_equal(way + " sockets count nothing", [got[s] for s in SIDES], [0, 0, 0, 0])


def device_bytes(end):
    """Sent and received by the end's device of the cable."""
    text = cable.do(end, "cat", "/proc/net/dev", capture_output=True, text=True).stdout
    words = next(l for l in text.splitlines() if cable.dev[end] in l).split(":")[1].split()
    return int(words[8]), int(words[0])


class Iperf:
    """One iperf3 run over the cable, both ends jobs of their own; what it says, what we counted,
    and what the client's device and its TCP say."""

    def __init__(self, args, address=ADDRESS["b"]):
        need("iperf3")
        logs = [os.path.join(tmpdir("iperf"), n) for n in ("server", "client")]
        common = ["iperf3", "-p", str(PORT), "--json"]
        server = Run(cable.inside("b", *common, "-s", "-1", "--logfile", logs[0]),
                     series="network", extra=SKB)
        wait_until(lambda: cable.listens("b", PORT), 30, "iperf3 to listen")
        segments = [cable.tcp(e, "RetransSegs") for e in "ab"]
        device = device_bytes("a")
        client = Run(cable.inside("a", *common, "-c", address, "--logfile", logs[1], *args),
                     series="network", extra=SKB)
        self.client, self.server = [counted(r.end()) for r in (client, server)]
        self.device = [n - o for n, o in zip(device_bytes("a"), device)]
        self.again = sum(cable.tcp(e, "RetransSegs") - s for e, s in zip("ab", segments))
        ends = []
        for log in logs:
            with open(log) as f:
                ends.append(json.load(f)["end"])
        self.sender, self.receiver = self.client, self.server
        if "-R" in args:
            ends.reverse()
            self.sender, self.receiver = self.server, self.client
        self.sent = ends[1]["sum_sent"]["bytes"]
        self.received = ends[0]["sum_received"]["bytes"]


def one_iperf(name, args, address=ADDRESS["b"]):
    i = Iperf(args, address)
    more = SLACK + i.again * MSS
    # of what it says to have sent some may not have left the socket at the end; what has been
    # received has
    is_true("iperf3 %s: bytes sent" % name,
            0 < min(i.received, i.sent) <= i.sender["Tx"] <= i.sent + more,
            "got %d, iperf3 says %d, received %d, %d segments again"
            % (i.sender["Tx"], i.sent, i.received, i.again))
    # what comes when its test is over iperf3 reads and does not report; no more than was sent
    most = max(i.received, i.sent) + more
    is_true("iperf3 %s: bytes received" % name, 0 < i.received <= i.receiver["Rx"] <= most,
            "got %d, iperf3 says %d of %d" % (i.receiver["Rx"], i.received, i.sent))
    is_true("iperf3 %s: the device has these and the headers" % name,
            i.client["Tx"] < i.device[0] and i.client["Rx"] < i.device[1],
            "got %d and %d, the device %s" % (i.client["Tx"], i.client["Rx"], i.device))
    is_equal("iperf3 %s: nothing over loopback" % name,
             [e[s] for e in (i.client, i.server) for s in ("LoopTx", "LoopRx")], [0] * 4)


def iperf():
    one_iperf("TCP", ["-n", "200M"])
    one_iperf("TCP, server sends, small messages", ["-n", "20M", "-l", "200", "-R"])
    one_iperf("UDP", ["-u", "-b", "400M", "-n", "20M"])
    one_iperf("UDP over IPv6, server sends", ["-u", "-b", "100M", "-n", "5M", "-R"], ADDRESS6["b"])


def sent_again():
    """What goes again is in the bytes, and TcpRetrans says how much of them that can be."""
    rules = """table inet jploss {
        chain in {
            type filter hook prerouting priority -300;
            meta l4proto tcp meta length > 1000 numgen inc mod 20 == 0 drop
        }
    }"""
    need("nft", "iperf3")
    try:
        cable.do("b", "nft", "-f", "-", input=rules.encode(), capture_output=True)
    except subprocess.CalledProcessError as e:
        raise Skipped("nft cannot drop packets: %s" % e.stderr.decode().strip()[:200])
    try:
        i = Iperf(["-n", "30M"])
    finally:
        cable.do("b", "nft", "delete table inet jploss")
    is_true("packets lost: bytes sent are iperf3's and what went again",
            i.again > 0 and i.received < i.sender["Tx"] <= i.sent + SLACK + i.again * MSS,
            "got %d, iperf3 says %d of %d, %d segments again"
            % (i.sender["Tx"], i.received, i.sent, i.again))
    is_true("packets lost: TcpRetrans is there too", 0 < i.sender["again"] <= i.again,
            "got %d of %d" % (i.sender["again"], i.again))


def said():
    _, path, got = profile(["true"])
    is_equal("a command that sends nothing has nothing", [got[s] for s in SIDES], [0] * 4)
    mode = attrs_of(path)["Mode network"]
    is_true("the file says that these are packets", mode.startswith("packets (cgroup_skb)") and
            "not calls" in mode, mode)
    is_equal("and states what they see",
             [said_of(mode, w) for w in ("splice from a socket", "packet sockets")],
             ["seen", "not seen"])
    r = subprocess.run(["setpriv", "--bounding-set=-net_admin,-sys_admin", "true"],
                       capture_output=True)
    if r.returncode:
        raise Skipped("setpriv cannot drop capabilities")
    d = tmpdir()
    subprocess.run(["setpriv", "--bounding-set=-net_admin,-sys_admin", JOBPROF, "run", *SKB, "-s",
                    "sched,network", "-q", "-o", d, "--", "true"], check=True, env=plain_env(),
                   stdin=subprocess.DEVNULL)
    path = glob.glob(d + "/*.h5")[0]
    mode = attrs_of(path)["Mode network"]
    is_true("where it is not allowed: off, and why", mode.startswith("off: ") and
            "CAP_NET_ADMIN" in mode, mode)
    is_true("and NaN, not 0", numpy.isnan(task_table(path)["NetTxMB"]).all(), "values")


# A program of two instructions that others could have on their cgroups (systemd's IPAddressDeny).
BPF_PROG_LOAD, BPF_PROG_ATTACH, BPF_PROG_DETACH = 5, 8, 9
PROG_CGROUP_SKB, CGROUP_EGRESS = 8, 1
SYS_BPF = {"x86_64": 321, "aarch64": 280, "ppc64le": 361}


def bpf(command, attr):
    libc = ctypes.CDLL(None, use_errno=True)
    buf = ctypes.create_string_buffer(attr.ljust(128, b"\0"))
    r = libc.syscall(SYS_BPF[platform.machine()], command, buf, 128)
    if r < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return r


def filter_program(verdict):
    insns = ctypes.create_string_buffer(struct.pack("<BBhiBBhi", 0xb7, 0, 0, verdict, 0x95, 0, 0, 0))
    licence = ctypes.create_string_buffer(b"GPL")
    attr = struct.pack("<IIQQ", PROG_CGROUP_SKB, 2, ctypes.addressof(insns),
                       ctypes.addressof(licence))
    attr = attr.ljust(68, b"\0") + struct.pack("<I", CGROUP_EGRESS)  # expected_attach_type
    return bpf(BPF_PROG_LOAD, attr)


def can_send(directory):
    """A process of the cgroup gets a datagram through to itself."""
    script = ("import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); "
              "s.bind(('127.0.0.1', 0)); s.settimeout(0.3); s.sendto(b'x', s.getsockname()); "
              "s.recv(1)")
    return start_in([directory], [sys.executable, "-c", script]).wait(20) == 0


def beside_others():
    """A filter on a cgroup of somebody's own goes on, as it was and where it is put now."""
    if platform.machine() not in SYS_BPF:
        raise Skipped("the number of bpf(2) is not known")
    dirs = [mkcg("jpfilter%d%s" % (PID, n)) for n in "ab"]
    prog = filter_program(0)
    fds = [os.open(d, os.O_RDONLY) for d in dirs]
    verdicts = [can_send(d) for d in dirs]
    attach = lambda i, flags: bpf(BPF_PROG_ATTACH, struct.pack("<IIII", fds[i], prog,
                                                               CGROUP_EGRESS, flags))
    attach(0, 0)  # as systemd does where it delegates nothing: no other program below it
    verdicts += [can_send(dirs[0])]
    h = Hold()
    run = Run(h.cmd("park"), series="network", extra=SKB)
    h.wait()
    attach(1, 2)  # BPF_F_ALLOW_MULTI
    verdicts += [can_send(d) for d in dirs]
    h.go()
    run.end()
    verdicts += [can_send(d) for d in dirs]
    for i in (0, 1):
        bpf(BPF_PROG_DETACH, struct.pack("<IIII", fds[i], prog, CGROUP_EGRESS, 0))
    verdicts += [can_send(d) for d in dirs]
    for fd in fds + [prog]:
        os.close(fd)
    is_equal("others' filters work before, beside and after",
             verdicts, [True, True, False, False, False, False, False, True, True])


def read_json(cmd):
    return json.loads(subprocess.run(cmd, capture_output=True).stdout.strip() or b"[]")


def bpftool(*args):
    return read_json(["bpftool", "-j", *args])


def ids_of(d):
    """Of a daemon's two programs on packets, by their pins."""
    return {bpftool("prog", "show", "pinned", "%s/progs/jp_skb_%s" % (d.pin, n))["id"]
            for n in ("in", "out")}


def at_root(ids):
    """Those of the programs that are at the root of cgroup v2."""
    return ids & {p["id"] for p in bpftool("cgroup", "show", cgroup2_mount())}


def tcp_step(d, name, base, args, way, want):
    """A step that makes its own connection; want(account) of LoopTx."""
    job, h = new_job(), Holds("0")
    out = os.path.join(h.dir, "account")
    net = "%s -o %s %s" % (tool("jpnet"), out, way)
    script = "%s; exec %s" % (net, " ".join(h.cmd("park", "park", word="0")))
    s = Stepd(job, 0, ["/bin/sh", "-c", script], args(base(job)))
    h.wait()
    h.go()
    h.wait()
    h.go()
    s.end()
    rows, t = task_table(d.file(job, 0)), read_account(out)
    got = [total(rows, "NetLoop%sMB" % side) * MB for side in ("Tx", "Rx")]
    is_equal(name, got, want(t))


def service():
    """Steps of a service: cgroups of v2, and of v1 beside it; links over a kill."""
    tree = Trees()
    d = Daemon(args=SKB)
    d.start()
    both = lambda t: [t["tx_bytes"], t["rx_bytes"]]
    v2, v1 = lambda job: tree.job(job) + "/step_0", lambda job: tree.v1(0, job)
    v2_args = lambda base: v2_task(base, ["-w", 0.3])
    v1_args = lambda base: ["-d", base, "-S", "-c", base + "/step_0", "-w", 0.3]
    tcp_step(d, "service: TCP of a step on v2", v2, v2_args, "send", both)
    tcp_step(d, "service: UDP of a step on v2", v2, v2_args, "mmsg", both)
    try:
        need_cgroup1("freezer")
    except Skipped as e:
        skip("service: steps on v1", e)
    else:
        tcp_step(d, "service: TCP of a step on v1", v1, v1_args, "send", both)
        tcp_step(d, "service: UDP of a step on v1 is nobody's", v1, v1_args, "mmsg",
                 lambda t: [0, 0])
    mode = restart(d, tree)
    dump = read_json([os.path.join(BUILD, "jobprof-dump"), "--self", "--json", "--time", "0.1",
                      "--pin", d.pin])
    is_equal("service: jobprof-dump has the file's words", dump["network"], mode)
    ids = ids_of(d)
    is_equal("service: ends with status 0", d.end(), 0)
    wait_until(lambda: not at_root(ids), 10, "the programs to be gone")
    ok("service: and nothing is left at the root")


def restart(d, tree):
    """Killed, the programs stay where they are and count; the next one takes them over."""
    job, h = new_job(), Holds("0")
    out = os.path.join(h.dir, "account")
    park = " ".join(h.cmd("park", word="0"))
    script = "%s; %s -o %s send; exec %s" % (park, tool("jpnet"), out, park)
    s = Stepd(job, 0, ["/bin/sh", "-c", script], v2_task(tree.job(job) + "/step_0", ["-w", 0.3]))
    h.wait()
    ids = ids_of(d)
    before = at_root(ids)
    d.end(signal.SIGKILL)
    h.go()
    wait_until(lambda: os.path.exists(out) and len(read_account(out)) == 4, 20, "jpnet to end")
    during = at_root(ids)
    h.all[0].parks = 0  # another process with the same files
    d.start()
    h.go()
    s.end()
    is_equal("restart: both programs stay", [before, during], [ids, ids])
    is_equal("restart: they are taken over", ids_of(d), ids)
    rows, t = task_table(d.file(job, 0)), read_account(out)
    is_equal("restart: what passed meanwhile is counted",
             [total(rows, "NetLoop%sMB" % side) * MB for side in ("Tx", "Rx")],
             [t["tx_bytes"], t["rx_bytes"]])
    return attrs_of(d.file(job, 0))["Mode network"]


if __name__ == "__main__":
    need_bpf()
    if not cgroup2_mount():
        skip("netskb", "cgroup v2 is not mounted")
        sys.exit(0)
    try:
        cable = Cable()
    except Skipped as e:
        skip("netskb", e)
        sys.exit(0)
    run_tests((said, calls, nothing, iperf, sent_again, beside_others, service))
