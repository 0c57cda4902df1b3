# SPDX-License-Identifier: GPL-2.0-or-later
"""Two network namespaces with a cable between them, and what their kernel counted."""


from lib import *

PID = os.getpid()
ADDRESS = {"a": "10.213.0.1", "b": "10.213.0.2"}
ADDRESS6 = {"a": "fd13::1", "b": "fd13::2"}


def ip(*args):
    subprocess.run(["ip"] + [str(a) for a in args], check=True, stdout=subprocess.DEVNULL)


def need(*programs):
    for p in programs:
        if not shutil.which(p):
            raise Skipped("there is no " + p)


def said_of(mode, way):
    """What "Mode network" says of a way: "seen", "not seen", "no", or None."""
    for part in mode.split("; ")[1:]:
        heading, _, rest = part.partition(": ") if ": " in part else ("no", "", part)
        if way in [re.sub(r" \(.*\)$|^no ", "", w) for w in re.split(r", (?![^(]*\))", rest)]:
            return heading
    return None


class Cable:
    """Namespaces "a" and "b", each with lo and one end of a veth pair. Gone at exit."""

    def __init__(self):
        need("ip")
        self.ns = {e: "jpt%d%s" % (PID, e) for e in "ab"}
        self.dev = {e: "jpv%s%d" % (e, PID) for e in "ab"}
        atexit.register(self.remove)
        for e in "ab":
            ip("netns", "add", self.ns[e])
        try:
            ip("link", "add", self.dev["a"], "netns", self.ns["a"], "type", "veth", "peer",
               "name", self.dev["b"], "netns", self.ns["b"])
        except subprocess.CalledProcessError:
            raise Skipped("the kernel has no veth devices")
        for e in "ab":
            for dev in ("lo", self.dev[e]):
                ip("-n", self.ns[e], "link", "set", dev, "up")
            ip("-n", self.ns[e], "address", "add", ADDRESS[e] + "/24", "dev", self.dev[e])
            ip("-n", self.ns[e], "address", "add", ADDRESS6[e] + "/64", "dev", self.dev[e],
               "nodad")

    def remove(self):
        for ns in self.ns.values():
            subprocess.run(["ip", "netns", "delete", ns], stderr=subprocess.DEVNULL)

    def inside(self, end, *cmd):
        """The command as one to be run in a namespace."""
        return ["ip", "netns", "exec", self.ns[end]] + [str(c) for c in cmd]

    def do(self, end, *cmd, **kw):
        return subprocess.run(self.inside(end, *cmd), check=True, **kw)

    def tcp(self, end, name):
        """A counter of the namespace's /proc/net/snmp, such as RetransSegs."""
        text = self.do(end, "cat", "/proc/net/snmp", capture_output=True, text=True).stdout
        names, values = [l.split() for l in text.splitlines() if l.startswith("Tcp:")]
        return int(values[names.index(name)])

    def listens(self, end, port):
        """Something listens there."""
        hexport = ":%04X" % port
        for f in ("/proc/net/tcp", "/proc/net/tcp6"):
            text = self.do(end, "cat", f, capture_output=True, text=True).stdout
            for line in text.splitlines()[1:]:
                words = line.split()
                if words[1].endswith(hexport) and words[3] == "0A":
                    return True
        return False
