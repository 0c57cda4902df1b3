#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The network family against what system calls returned (tests/tools/jpnet), iperf3's own report,
and the kernel's count of retransmitted segments. Those no BPF program can see are known from a
trace (unseenlib.py)."""

import sys
sys.path.insert(0, sys.path[0] + "/../../lib")
from daemonlib import *
from unseenlib import UnseenRetrans
from netlib import *

PORT = 5201
SLACK = 65536  # of iperf3's control connection, which is not in its report
WAIT_PORT = 7997  # of jpnet
LOSSY_BYTES = 30 * MB
LOSSY_TRIES = 4
REPEATS = 3

cable = None
main = None
unseen = None
tree = None
to_repeat = []

COLUMNS = (("NetTxMB", MB), ("NetTxOps", 1), ("NetRxMB", MB), ("NetRxOps", 1),
           ("NetLoopTxMB", MB), ("NetLoopTxOps", 1), ("NetLoopRxMB", MB), ("NetLoopRxOps", 1))
NAMES = [c.replace("MB", "").replace("Net", "") for c, _ in COLUMNS]


def counted(path):
    rows = task_table(path)
    return dict(zip(NAMES, [total(rows, c) * scale for c, scale in COLUMNS]))


def operations(amounts):
    return sum(n for c, n in amounts.items() if c.endswith("Ops"))


def skipped_in(path):
    return int(attrs_of(path).get("Skipped Runs", 0))


def expect(**kw):
    """Of COLUMNS; those not named are 0."""
    out = dict.fromkeys(NAMES, 0.0)
    out.update(kw)
    return out


def loop(t):
    return expect(LoopTx=t["tx_bytes"], LoopTxOps=t["tx_ops"], LoopRx=t["rx_bytes"],
                  LoopRxOps=t["rx_ops"])


def cabled(t):
    return expect(Tx=t["tx_bytes"], TxOps=t["tx_ops"], Rx=t["rx_bytes"], RxOps=t["rx_ops"])


def unbound(t):
    """Loopback, to a socket without a peer that is bound to none of 127/8: kernels before 6.3 do not tell which way a datagram came."""
    with open("/sys/kernel/btf/vmlinux", "rb") as f:
        if b"btf_trace_sk_data_ready" in f.read():
            return loop(t)
    return expect(LoopTx=t["tx_bytes"], LoopTxOps=t["tx_ops"], Rx=t["rx_bytes"], RxOps=t["rx_ops"])


def one_way(name, args, wanted, inside=None):
    """Runs jpnet; wanted() makes of what its calls returned what is to be counted. Before 6.5
    sendfile and splice hand over page by page, and each page is an operation. Of what lacks, the
    kernel says that it skipped our program; such a way is tried again, alone."""
    out = os.path.join(tmpdir(), "account")
    cmd = [tool("jpnet"), "-o", out] + args
    run, path = run_jobprof(cable.inside(inside, *cmd) if inside else cmd, series="network")
    if not os.path.exists(out):
        if "io_uring" in run.out():
            skip(name, "the kernel has no io_uring: " + run.out().strip()[-80:])
        else:
            not_ok(name, "jpnet failed: " + run.out()[-300:])
        return
    got, want = counted(path), wanted(read_account(out))
    if "fexit" in attrs_of(path)["Mode network"] and ("sendfile" in args or "splice" in args):
        for c in ("TxOps", "LoopTxOps"):
            got[c] = min(got[c], want[c])
    if got != want and 0 < operations(want) - operations(got) <= skipped_in(path):
        to_repeat.append((name, args, wanted, inside))
    else:
        is_equal(name, got, want)


def every_way(calls):
    """Three at a time; alone those that threads of others kept from being counted."""
    to_repeat.clear()
    for i in range(0, len(calls), 3):
        together([lambda c=c: one_way(*c) for c in calls[i:i + 3]])
    for n in range(REPEATS):
        left, to_repeat[:] = to_repeat[:], []
        for c in left:
            one_way(*c)
    for name, *_ in to_repeat:
        not_ok(name, "runs were skipped in each of %d trials" % (1 + REPEATS))


def calls():
    """Over loopback; the ways that differ from "what the calls returned" say how."""
    nothing = lambda t: expect()
    sent_only = lambda t: expect(LoopTx=t["tx_bytes"], LoopTxOps=t["tx_ops"])
    ways = [("send and recv", ["send"], loop),
            ("writev and readv", ["-s", "30000", "writev"], loop),
            ("sendfile and read", ["-s", "30000", "sendfile"], loop),
            ("splice from a pipe", ["splice"], loop),
            ("splice from a socket is not seen", ["splice-from"], sent_only),
            ("MSG_PEEK counts nothing", ["peek"], loop),
            ("MSG_ZEROCOPY once, its notices not", ["-s", "20000", "zerocopy"], loop),
            ("io_uring", ["uring"], loop),
            ("io_uring's worker threads count for their process", ["async"], loop),
            ("empty, failed and bad calls count nothing", ["fails"], loop),
            ("sendmmsg and recvmmsg, each message", ["mmsg"], loop),
            ("MSG_TRUNC: the whole datagram", ["trunc"], loop),
            ("copies with time stamps count nothing", ["stamps"], loop),
            ("UDP without a peer", ["sendto"], loop),
            ("UDP without a peer, bound to no address", ["-a", "0.0.0.0", "sendto"], unbound),
            ("UDP without a peer, bound to no address of IPv6", ["-a", "::", "sendto"], unbound),
            ("UDP without a peer, large", ["-s", "20000", "-a", "0.0.0.0", "sendto"], unbound),
            ("UNIX sockets count nothing", ["unix"], nothing),
            ("netlink counts nothing", ["netlink"], nothing),
            ("IPv6 loopback, TCP", ["-a", "::1", "send"], loop),
            ("IPv6 loopback, UDP", ["-a", "::1", "mmsg"], loop),
            ("IPv6 loopback, bound only", ["-a", "::1", "sendto"], loop),
            ("IPv4 loopback inside IPv6", ["-a", "::ffff:127.0.0.1", "send"], loop),
            ("another address of 127/8", ["-a", "127.9.8.7", "send"], loop)]
    every_way(ways)


def skipped():
    """Four processes on one CPU that do nothing else: what lacks is what the kernel skipped, which are a few of
    others' calls, too."""
    d = tmpdir()
    each = "taskset -c %d %s -c 20000 -o %s/$n send &" % (max(os.sched_getaffinity(0)), tool("jpnet"), d)
    run, path = run_jobprof(["sh", "-c", "for n in 1 2 3 4; do %s done; wait" % each], series="network", timeout=300)
    want = sum(operations(loop(read_account(os.path.join(d, n)))) for n in os.listdir(d))
    lacks, skips = want - operations(counted(path)), skipped_in(path)
    is_true("four at once on one CPU: Skipped Runs has what lacks", want and lacks <= skips <= 1.02 * lacks + 10,
            "%d of %d lack, %d were skipped" % (lacks, want, skips))


def addresses():
    """In a namespace: its own addresses are loopback, the other end of the cable is not."""
    b = ["-n", cable.ns["b"]]
    ways = [("veth, TCP", b + ["-a", ADDRESS["b"], "send"], cabled),
            ("veth, UDP", b + ["-a", ADDRESS["b"], "mmsg"], cabled),
            ("veth, UDP without a peer", b + ["-a", ADDRESS["b"], "sendto"], cabled),
            ("veth, sendfile", b + ["-a", ADDRESS["b"], "sendfile"], cabled),
            ("veth, IPv6", b + ["-a", ADDRESS6["b"], "send"], cabled),
            ("veth, IPv4 inside IPv6", b + ["-a", "::ffff:" + ADDRESS["b"], "send"], cabled),
            ("own address, TCP", ["-a", ADDRESS["a"], "send"], loop),
            ("own address, UDP", ["-a", ADDRESS["a"], "mmsg"], loop),
            ("own address, UDP without a peer", ["-a", ADDRESS["a"], "sendto"], unbound),
            ("own address, IPv6", ["-a", ADDRESS6["a"], "send"], loop)]
    every_way([(*w, "a") for w in ways])


BOTH_WAYS = """
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("", 7996))
s.settimeout(10)
for i in range(20):
    s.sendto(b"x" * 300, (sys.argv[1], 7996))
    s.recvfrom(500)
    s.sendto(b"x" * 200, (sys.argv[2], 7996))
    s.recv(500)
"""
ECHO = """
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("", 7996))
while True:
    b, a = s.recvfrom(500)
    s.sendto(b, a)
"""

PING = """
import socket, struct
s = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
s.settimeout(10)
body = b"x" * 500
echo = struct.pack("!BBHHH", 8, 0, 0, 7, 7) + body
total = sum(struct.unpack("!%dH" % (len(echo) // 2), echo))
total = (total >> 16) + (total & 0xffff)
echo = echo[:2] + struct.pack("!H", ~(total + (total >> 16)) & 0xffff) + echo[4:]
for i in range(3):
    s.sendto(echo, ("127.0.0.1", 0))
    assert {s.recv(600)[20] for k in range(2)} == {0, 8}
"""


def without_a_peer():
    """One socket that speaks with both sides in turn; and a ping, whose socket gets both packets."""
    echo = start(cable.inside("b", sys.executable, "-c", ECHO))
    listens = lambda: ":1F3C " in cable.do("b", "cat", "/proc/net/udp", capture_output=True,
                                           text=True).stdout
    wait_until(listens, 10, "the echo")
    run, path = run_jobprof(cable.inside("a", sys.executable, "-c", BOTH_WAYS, ADDRESS["a"],
                                         ADDRESS["b"]), series="network")
    echo.kill()
    is_equal("one socket both ways", counted(path),
             expect(LoopTx=6000, LoopTxOps=20, LoopRx=6000, LoopRxOps=20, Tx=4000, TxOps=20,
                    Rx=4000, RxOps=20))
    run, path = run_jobprof([sys.executable, "-c", PING], series="network")
    is_equal("ping", counted(path), expect(LoopTx=3 * 508, LoopTxOps=3, LoopRx=6 * 528, LoopRxOps=6))


def ways():
    """What the file says of ways that its counters may not see, against what they make of them."""
    run, path = run_jobprof(["true"], series="network")
    mode = attrs_of(path)["Mode network"]
    for way, args in (("splice from a socket", ["splice-from"]), ("io_uring", ["uring"]),
                      ("sendfile and splice to a socket", ["sendfile"])):
        out = os.path.join(tmpdir(), "account")
        run, path = run_jobprof([tool("jpnet"), "-o", out] + args, series="network")
        if not os.path.exists(out):
            skip("ways: " + way, "jpnet: " + run.out().strip()[-80:])
            continue
        got, t = counted(path), read_account(out)
        seen = [got["LoopTx"], got["LoopRx"]] == [t["tx_bytes"], t["rx_bytes"]]
        is_equal("ways: " + way, said_of(mode, way),
                 "seen" if seen else "not seen")
    try:
        with open("/proc/sys/net/mptcp/enabled") as f:
            has = f.read().strip() == "1"
    except OSError:
        has = False
    is_true("ways: MPTCP where there is any", (said_of(mode, "MPTCP") != "no") == has, mode)
    devices = sorted(glob.glob("/sys/class/infiniband/*"))
    is_equal("ways: RDMA devices", said_of(mode, "RDMA" if devices else "RDMA device"),
             "not seen" if devices else "no")


class Iperf:
    """One iperf3 run, both ends as jobs of their own. sent, received: iperf3's bytes."""

    def __init__(self, server_end, address, args, port):
        need("iperf3")
        d = tmpdir("iperf")
        logs = [os.path.join(d, n) for n in ("server", "client")]
        common = ["iperf3", "-p", str(port), "--json"]
        server = Run(cable.inside(server_end, *common, "-s", "-1", "--logfile", logs[0]),
                     series="network")
        wait_until(lambda: cable.listens(server_end, port), 30, "iperf3 to listen")
        client = Run(cable.inside("a", *common, "-c", address, "--logfile", logs[1], *args),
                     series="network")
        self.client, self.server = [counted(r.end()) for r in (client, server)]
        ends = []
        for log in logs:
            with open(log) as f:
                said = json.load(f)
            if "error" in said:
                raise Failed("iperf3: " + said["error"])
            ends.append(said["end"])
        reverse = "-R" in args
        sender, receiver = (ends[0], ends[1]) if reverse else (ends[1], ends[0])
        self.sent = sender["sum_sent"]["bytes"]
        self.received = receiver["sum_received"]["bytes"]
        self.sender = self.server if reverse else self.client
        self.receiver = self.client if reverse else self.server


def one_iperf(name, server_end, address, args, prefix, port):
    i = Iperf(server_end, address, args, port)
    other = "" if prefix else "Loop"
    is_true("iperf3 %s: bytes sent" % name,
            i.sent and i.sent <= i.sender[prefix + "Tx"] <= i.sent + SLACK,
            "got %d, iperf3 says %d" % (i.sender[prefix + "Tx"], i.sent))
    # what arrives when its test is over iperf3 reads and does not report: datagrams; all with -R.
    # It cannot be more than the other end has sent.
    most = max(i.received, i.sent) if "-u" in args or "-R" in args else i.received
    is_true("iperf3 %s: bytes received" % name,
            i.received and i.received <= i.receiver[prefix + "Rx"] <= most + SLACK,
            "got %d, iperf3 says %d of %d" % (i.receiver[prefix + "Rx"], i.received, i.sent))
    strays = [i.client[other + "Tx"], i.client[other + "Rx"]]
    is_equal("iperf3 %s: nothing in the other columns" % name, strays, [0, 0])


def iperf():
    # What comes after the end of its test iperf3 reads but does not report: small reads, and a
    # slow server of UDP.
    reverse, slow = ["-n", "300M", "-R", "-l", "16K"], ["-u", "-b", "20M", "-n", "1M", "-R"]
    tcp, udp = ["-n", "300M", "-l", "32K"], ["-u", "-b", "800M", "-n", "30M"]
    small = ["-n", "20M", "-l", "128"]
    runs = []
    for where, end, address, prefix in (("loopback", "a", "127.0.0.1", "Loop"),
                                        ("veth", "b", ADDRESS["b"], "")):
        runs += [(where + " TCP", end, address, tcp, prefix),
                 (where + " TCP, server sends", end, address, reverse, prefix),
                 (where + " TCP, sendfile", end, address, tcp + ["-Z"], prefix),
                 (where + " UDP", end, address, udp, prefix)]
    runs.append(("veth TCP, small messages", "b", ADDRESS["b"], small, ""))
    runs.append(("veth IPv6 UDP, server sends", "b", ADDRESS6["b"], slow, ""))
    for i in range(0, len(runs), 2):
        together([lambda r=r, n=n: one_iperf(*r, PORT + n) for n, r in
                  enumerate(runs[i:i + 2])])


class Loss:
    """Every n-th large TCP packet that comes to "b" is dropped."""

    def __init__(self, n):
        need("nft")
        rules = """table inet jploss {
            chain in {
                type filter hook prerouting priority -300;
                meta l4proto tcp meta length > 1000 numgen inc mod %d == 0 drop
            }
        }""" % n
        try:
            cable.do("b", "nft", "-f", "-", input=rules.encode(), capture_output=True)
        except subprocess.CalledProcessError as e:
            raise Skipped("nft cannot drop packets: %s" % e.stderr.decode().strip()[:200])

    def end(self):
        cable.do("b", "nft", "delete table inet jploss")


def transfer(end=0.5):
    """Commands of a server in "b" and a client in "a", on one CPU, the client with a wait: what is
    on its way when iperf3 ends may still be sent again."""
    pin = ["taskset", "-c", max(os.sched_getaffinity(0)), "iperf3", "-p", PORT]
    client = cable.inside("a", *pin, "-c", ADDRESS["b"], "-n", LOSSY_BYTES)
    return (cable.inside("b", *pin, "-s", "-1"),
            ["sh", "-c", "%s; sleep %g" % (" ".join(client), end)])


def is_retrans(ours, wanted, events, segments=UnseenRetrans.SEGMENTS):
    """All were counted, or all but what is in buffers of up to so many segments that no program
    saw; exactly that where each is of one."""
    return ours == wanted or ours + events <= wanted <= ours + events * segments


def one_lossy():
    """One transfer from a profiled sender: segments sent again by us and by RetransSegs, and how
    many buffers no program saw."""
    before = cable.tcp("a", "RetransSegs")
    unseen.start()
    serve, send = transfer()
    server = start(serve, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    wait_until(lambda: cable.listens("b", PORT), 30, "iperf3 to listen")
    run, path = run_jobprof(send, series="network")
    server.wait(20)
    wanted = cable.tcp("a", "RetransSegs") - before
    if not wanted:
        raise Failed("nothing was sent again: " + run.out()[-300:])
    return total(task_table(path), "TcpRetrans"), wanted, unseen.events(PORT, PORT)


def lossy(name, segments=UnseenRetrans.SEGMENTS):
    """Another transfer where some were not seen and it is not known how many exactly."""
    for n in range(LOSSY_TRIES):
        ours, wanted, events = one_lossy()
        if ours >= wanted or not (events or unseen.escaped) or ours + events == wanted:
            break
    is_true(name, is_retrans(ours, wanted, events, segments),
            "got %d, wanted %d, %d buffers unseen, transfer %d" % (ours, wanted, events, n + 1))


@in_full
def retransmits():
    need("iperf3")
    loss = Loss(20)
    try:
        lossy("retransmits are RetransSegs, large packets")
        ip("-n", cable.ns["a"], "link", "set", cable.dev["a"], "gso_max_segs", 1)
        lossy("retransmits are RetransSegs, single segments", 1)
    finally:
        ip("-n", cable.ns["a"], "link", "set", cable.dev["a"], "gso_max_segs", 65535)
        loss.end()


def netem():
    need("tc", "iperf3")
    queue = ["tc", "qdisc", "add", "dev", cable.dev["a"], "root", "netem", "loss", "1%"]
    try:
        cable.do("a", *queue, capture_output=True)
    except subprocess.CalledProcessError:
        raise Skipped("the kernel has no netem queue")
    lossy("retransmits are RetransSegs under tc netem")
    cable.do("a", "tc", "qdisc", "delete", "dev", cable.dev["a"], "root")


def handshakes():
    """The answer does not find its way: requests and answers go again, each end its own."""
    before = {e: cable.tcp(e, "RetransSegs") for e in "ab"}
    unseen.start()
    ip("-n", cable.ns["b"], "neighbour", "replace", ADDRESS["a"], "lladdr", "02:00:00:00:00:99",
       "dev", cable.dev["b"], "nud", "permanent")
    net = "%s -a %s" % (tool("jpnet"), ADDRESS["b"])
    pid = os.path.join(tmpdir(), "pid")
    script = "%s -t 60 listen & echo $! >%s; wait" % (net, pid)
    listen = Run(cable.inside("b", "sh", "-c", script), series="network")
    wait_until(lambda: cable.listens("b", WAIT_PORT), 30, "jpnet to listen")
    connect = Run(cable.inside("a", *net.split(), "-t", 2.5, "connect"), series="network")
    ours = {"a": total(task_table(connect.end()), "TcpRetrans")}
    os.kill(int(written(pid)), signal.SIGTERM)
    ours["b"] = total(task_table(listen.end()), "TcpRetrans")
    ip("-n", cable.ns["b"], "neighbour", "delete", ADDRESS["a"], "dev", cable.dev["b"])
    wanted = {e: cable.tcp(e, "RetransSegs") - before[e] for e in "ab"}
    is_true("handshakes: some went again", wanted["a"] and wanted["b"], str(wanted))
    events = {"a": unseen.events(dest=WAIT_PORT), "b": unseen.events(source=WAIT_PORT)}
    is_true("handshakes: each end has its own retransmits",
            all(is_retrans(ours[e], wanted[e], events[e], 1) for e in "ab"),
            "got %s, wanted %s, %s unseen" % (ours, wanted, events))


def net_sums(slot=None):
    """A slot's counters, or of all slots, over all CPUs (struct jp_net of bpf/jobprof.h)."""
    rows = main.map_bytes("jp_net")
    if slot is not None:
        rows = rows[slot::len(main.map_bytes("jp_slots"))]
    names = ("rx", "tx", "rx_ops", "tx_ops", "loop_rx", "loop_tx", "loop_rx_ops", "loop_tx_ops",
             "retrans")
    return dict(zip(names, map(sum, zip(*[struct.unpack_from("<9Q", r) for r in rows]))))


def least_of_others(tries=4):
    """What slot 0 has sent beside a command in no job: others may send on this machine, too."""
    seen = []
    while len(seen) < tries and (not seen or seen[-1] >= MB):
        zero = net_sums(0)
        account = read_output([tool("jpnet"), "-c", "1000", "-s", "60000", "send"])
        seen.append(net_sums(0)["loop_tx"] - zero["loop_tx"] - account["tx_bytes"])
    return min(seen)


def slots_of_a_daemon():
    """A step in a v1 cgroup, whose sockets' v2 cgroup says nothing; beside it others' traffic."""
    need("iperf3")
    loss = Loss(20)
    job, h = new_job(), Holds("0")
    base = tree.v1(0, job)
    serve, send = transfer()
    script = "(%s) >/dev/null; exec %s" % (send[2], " ".join(h.cmd("park", "park", word="0")))
    server = start(serve, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    wait_until(lambda: cable.listens("b", PORT), 30, "iperf3 to listen")
    before, ends = net_sums(), {e: cable.tcp(e, "RetransSegs") for e in "ab"}
    unseen.start()
    s = Stepd(job, 0, ["/bin/sh", "-c", script],
              ["-d", base, "-S", "-c", base + "/step_0", "-w", 0.5])
    try:
        h.wait()
        server.wait(20)
        ends = {e: cable.tcp(e, "RetransSegs") - n for e, n in ends.items()}
        again = net_sums()["retrans"] - before["retrans"]
        events = unseen.events(PORT, PORT)
        more = least_of_others()
    finally:
        loss.end()
    is_true("slots: what no job sends is in slot 0", 0 <= more < MB, "%d bytes too many" % more)
    h.go()
    h.wait()
    h.go()
    s.end()
    path = main.file(job, 0)
    rows = task_table(path)
    segs = sum(ends.values())
    conserved = is_retrans(again, segs, events) or (unseen.escaped and 0.9 * segs <= again < segs)
    is_true("slots: retransmits are conserved", conserved and ends["a"],
            "%d in all slots, %d buffers unseen, RetransSegs %s" % (again, events, ends))
    # The server may send something again, too, where the client is too late with its answer.
    is_equal("slots: they are the sender's, although its cgroup is of v1",
             total(rows, "TcpRetrans"), again - ends["b"])
    is_true("slots: the step has what it sent",
            LOSSY_BYTES <= total(rows, "NetTxMB") * MB <= LOSSY_BYTES + SLACK + 131072,
            "%g MB" % total(rows, "NetTxMB"))


def read_output(cmd):
    out = subprocess.run(cmd, check=True, capture_output=True, text=True).stdout
    return {k: float(v) for k, v in (l.split("=") for l in out.split())}


def start_main():
    global main, tree
    tree = Trees()
    main = Daemon().start()


def main_ends():
    is_equal("jobprofd ends with status 0", main.end(), 0)


def off():
    """A family that was not asked for is not loaded, and says so."""
    run, path = run_jobprof([tool("jpnet"), "send"], series="sched")
    names = task_table(path).dtype.names
    is_true("off: no columns", "NetTxMB" not in names, str(names))
    run, path = run_jobprof([tool("jpnet"), "send"], series="network")
    is_true("on: the file says how", str(attrs_of(path)["Mode network"]).startswith("exact"),
            str(attrs_of(path)["Mode network"]))


if __name__ == "__main__":
    need_bpf()
    try:
        cable = Cable()
    except Skipped as e:
        skip("network", e)
        sys.exit(0)
    unseen = UnseenRetrans()
    run_tests((off, ways, calls, skipped, addresses, without_a_peer, iperf, retransmits, netem, handshakes,
               start_main, slots_of_a_daemon, main_ends))
