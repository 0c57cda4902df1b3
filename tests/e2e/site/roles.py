#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""jobprof serve as a site runs it, by a user of its own that may read all profiles: what each role sees of others, in every byte of every address;
and the attacks that other sites' servers fell to. Users, groups and jobprof.conf are those of an /etc of this test."""

import ctypes
import functools
import gzip
import itertools
import select
import shutil
import socket
import sqlite3
import struct
import sys
import threading
import time

sys.path.insert(0, sys.path[0] + "/../../lib")
from sitelib import *
from serve import Server, in_child

SERVICE, WWW = 6000, 6001
USERS = {"userann": 6010, "userbob": 6011, "userzed": 6012, "usercora": 6013, "uservic": 6014, "userstan": 6015, "usernew": 6016, "userfar": 6017}
# Whose jobs have which words: anns and bobs are of the account that usercora coordinates.
TOKENS = {"anns": ("userann", "shared"), "annp": ("userann", "annp_acct"), "bobs": ("userbob", "shared"), "bobp": ("userbob", "bobp_acct"),
          "zedp": ("userzed", "zedp_acct")}
IDS = {token: 71110000 + 10000000 * i // 8 for i, token in enumerate(TOKENS)}
EACH = 40
SEES = {"userann": {"anns", "annp"}, "userbob": {"bobs", "bobp"}, "usernew": set(), "usercora": {"anns", "bobs"}, "uservic": set(TOKENS),
        "userstan": set(TOKENS), "root": set(TOKENS)}


def etc(**keys):
    """A directory for the place of /etc."""
    d = tmpdir("etc")
    os.mkdir(os.path.join(d, "jobprof"))
    put = lambda name, text: open(os.path.join(d, name), "w").write(text)
    people = {"root": 0, "nobody": 65534, "jobprof": SERVICE, "www": WWW, **USERS}
    put("passwd", "".join("%s:x:%d:%d::/nonexistent:/bin/false\n" % (n, u, 100 if u in USERS.values() else u) for n, u in people.items()))
    put("group", "root:x:0:\nusers:x:100:\nnogroup:x:65534:\njobprof:x:%d:userstan\nwww:x:%d:\nhelpdesk:x:6100:uservic\n" % (SERVICE, WWW))
    put("nsswitch.conf", "passwd: files\ngroup: files\n")
    put("jobprof/jobprof.conf", "".join("%s=%s\n" % k for k in {"ViewGroups": "none-such,helpdesk", "ProxyUser": "www", "FrameAncestors": "https://ood.example.org",
                                                              "ProfileHDF5Dir": profiles(), **keys}.items()))
    for top, _, files in os.walk(d):
        os.chmod(top, 0o755)
        for f in files:
            os.chmod(os.path.join(top, f), 0o644)
    return d


def as_service(etc_dir, log_dir=None, uid=SERVICE):
    """What starts a program as the service's user, where that directory is /etc, and the other one has the socket /dev/log."""
    dev = 'mount --bind /dev/null "$1/null" && mount --bind "$1" /dev && ' if log_dir else ""
    return ("unshare", "--mount", "sh", "-c", 'mount --bind "$0" /etc && %sshift && exec setpriv --reuid %d --regid %d --clear-groups "$@"' % (dev, uid, uid), etc_dir, log_dir or "-")


def serve(log_dir=None, uid=SERVICE, **keys):
    d = tmpdir("sock")
    os.chown(d, SERVICE, SERVICE)
    os.chmod(d, 0o755)
    return Server("--database", made(), at=os.path.join(d, "web.sock"), wrap=as_service(etc(**keys), log_dir, uid))


def need_root():
    if os.geteuid():
        raise Skipped("needs root, for a mount namespace and other users")


@functools.cache
def profiles():
    """As ProfileGroup=jobprof makes them."""
    sys.path.insert(0, os.path.join(ROOT, "tests/findings"))
    from jobs import Job
    d = tmpdir("profiles")
    for n, (token, (user, account)) in enumerate(TOKENS.items()):
        mine, uid = os.path.join(d, user), USERS[user]
        os.makedirs(mine, exist_ok=True)
        for i in range(2):
            job = Job(nodes=1, tasks=2, cores=2, wall=600, seed=n, job=IDS[token] + EACH + i, job_name=token + "_job", account=account, user=user)
            path = os.path.join(mine, "job_%d.h5" % (IDS[token] + EACH + i))
            job.write(path)
            os.chown(path, uid, SERVICE)
            os.chmod(path, 0o640)
        os.chown(mine, uid, SERVICE)
        os.chmod(mine, 0o2750)
    os.chmod(TMP, 0o755)
    os.chmod(d, 0o755)
    return d


def rows():
    made = itertools.cycle(list(site(jobs=400, users=4, hostile=False).rows()))
    for i in range(EACH):
        for token, (user, account) in TOKENS.items():
            r = dict(next(made), user=user, account=account, name=token + "_job%d" % (i % 3), program="/opt/%s_prog" % token, node_list=token + "-n1" if i % 4 else "common-n1",
                     node_names=None, job_id=IDS[token] + i, array_id=None, array_task=None, het_id=None, cluster="heron", signature=None)
            for f in r.get("finding_list") or ():
                f["text"] = "%s wastes" % token
            if r.get("worst_text"):
                r["worst_text"] = "%s wastes" % token
            r["file_systems"] = None
            yield r


@functools.cache
def made():
    """The index, which the service's user owns; usercora coordinates an account."""
    need_root()
    d = tmpdir("site")
    path, lines = os.path.join(d, "index.db"), os.path.join(d, "rows.jsonl")
    with open(lines, "w") as f:
        for r in rows():
            f.write(json.dumps({k: v for k, v in r.items() if v is not None}) + "\n")
    must("index", "import", "--database", path, lines)
    must("index", "scan", profiles(), "--database", path, wrap=as_service(etc(), uid=0))
    for token in ("annp", "zedp"):
        must("contacted", str(IDS[token]), "--ticket", token + "-ticket", "--database", path)
    with sqlite3.connect(path) as db:
        db.executemany("INSERT INTO coordinator (\"user\", account, cluster, at) VALUES (?, ?, ?, ?)",
                       [("usercora", "shared", "", int(time.time())), ("userfar", "zedp_acct", "otter", int(time.time())),
                        ("usernew", "zedp_acct", "", int(time.time()) - 2 * 86400)])
        for token, (user, account) in TOKENS.items():
            db.execute("INSERT INTO running (cluster, job_id, \"user\", account, partition, name, program, state, start, nodes, node_list, cpus, cores, queued_at, last, rule, text, losing_cores) "
                       "VALUES ('heron', ?, ?, ?, 'batch', ?, ?, 'RUNNING', ?, 1, ?, 8, 8.0, ?, ?, 'cpu.unused', ?, 4.0)",
                       (IDS[token] + 90, user, account, token + "_runs", "/opt/%s_prog" % token, int(time.time()) - 3600, token + "-n1", int(time.time()), int(time.time()), token + " wastes"))
    os.chmod(TMP, 0o755)
    os.chmod(d, 0o755)
    for name in os.listdir(d):
        os.chown(os.path.join(d, name), SERVICE, SERVICE)
    os.chown(d, SERVICE, SERVICE)
    return path


def uid_of(who):
    return {"root": 0, "www": WWW, **USERS}[who]


def body_of(answer):
    status, headers, body = answer
    return gzip.decompress(body) if headers.get("Content-Encoding") == "gzip" else body


def foreign(text, allowed):
    """Words of jobs that the reader may not see: names, projects, programs, nodes, findings, tickets, numbers of jobs; users who have none but such."""
    found = [t for t in TOKENS if t not in allowed and (t.encode() in text or re.search(rb"\b%d[0-9]{2}\b" % (IDS[t] // 100), text))]
    users = {TOKENS[t][0] for t in TOKENS} - {TOKENS[t][0] for t in allowed}
    return found + [u for u in users if u.encode() in text]


def pages():
    """Of the table of pages, so that no new one is left out: path and arguments."""
    with open(os.path.join(ROOT, "user/cmd/jobprof/serve_page.c")) as f:
        table = re.search(r"static const struct page pages\[\] = \{(.*?)\n\};", f.read(), re.S)[1]
    return [("/" + re.match(r"\w+", row)[0], re.search(r'"( [^"]*)"', row)[1].split()) for row in re.split(r'\{"/', table)[1:]]


def addresses(fully=True):
    """Each page in each form, with all times, and with filters that name what others have; the pages of jobs of all. Not fully: fewer of these."""
    for page, arguments in pages():
        for form in ("", ".json", ".csv"):
            yield page + form
            for query in ("since=all", "since=all&user=userzed", "since=2026-09-20&until=2026-10-20&node=common-n1")[:3 if not form else 1] if not fully else ("since=all", "since=all&user=userzed", "since=all&project=zedp_acct,shared", "since=all&name=zedp", "since=all&node=zedp-n1", "since=2026-09-20&until=2026-10-20&node=common-n1", "since=all&program=zedp",
                          "since=all&jobs=%d" % IDS["zedp"], "since=all&finding=any", "since=2026-11-01&until=2026-11-15"):
                yield "%s%s?%s" % (page, form, query)
            for a in arguments if fully else ():
                for value in {"by": ("user", "project", "name", "node", "program", "signature"), "sort": ("jobs",)}.get(a, ("",)):
                    yield "%s%s?since=all&%s%s" % (page, form, a, "=" + value if value else "")
    for token in TOKENS:
        yield "/job/%d" % IDS[token]
        yield "/job/%d" % (IDS[token] + EACH)
        yield "/node/%s-n1" % token
        yield "/compare?jobs=%d,%d" % (IDS[token] + EACH, IDS[token] + EACH + 1)
    yield "/compare?jobs=%d,%d" % (IDS["anns"] + EACH, IDS["zedp"] + EACH)
    yield "/compare?jobs=%d,%d" % (IDS["zedp"] + EACH, IDS["anns"] + EACH)
    yield "/no-such-page"
    yield "/job/99999999"


def json_of(text, id_="data"):
    return json.loads(re.search(rb'id="%s">(.*?)</script>' % id_.encode(), text, re.S)[1])


def without(v, words):
    """Of JSON, what is not one of these words or a command line."""
    if isinstance(v, dict):
        return {k: without(x, words) for k, x in v.items() if k != "command"}
    return [without(x, words) for x in v] if isinstance(v, list) else "" if v in words else v


def without_question(text, address):
    """What was asked for comes back in what a page knows of its address, and in the digest's filter."""
    if b"<html" not in text and text[:1] != b"{":
        return text
    words = {w.partition("=")[2] for w in address.partition("?")[2].split("&")} | {address.rpartition("/")[2]}
    if text[:1] == b"{":
        return json.dumps(without(json.loads(text), words)).encode()
    scripts = [json.dumps(without(json_of(text, i), words)).encode() for i in ("site", "data")]
    return re.sub(rb'(id="(?:site|data)">).*?</script>', b"", text, flags=re.S) + b"".join(scripts)


def walk(s, asked, allowed):
    bad, seen, failed = [], {}, []
    for a in asked:
        answer = s.ask(a, headers=[("Accept-Encoding", "gzip")])
        text = body_of(answer)
        words = foreign(without_question(text, a), allowed)
        if words:
            bad.append((a, answer[0], words))
        for t in TOKENS:
            if t.encode() in text:
                seen.setdefault(t, set()).add(a.partition("?")[0])
        failed += [a] if answer[0] >= 500 else []
    return bad[:5], len(bad), {t: len(v) for t, v in seen.items()}, failed[:5]


def walk_as(roles, asked):
    s = serve()
    try:
        for who in roles:
            uid, allowed = uid_of(who), SEES[who]
            bad, n, seen, failed = in_child(lambda: ((os.setgroups([]), os.setgid(100), os.setuid(uid)) if uid else None, walk(s, asked, allowed))[1])
            is_equal("%s: no byte of others in %d addresses" % (who, len(asked)), (n, bad), (0, []))
            is_true("%s: what the role shows is there" % who, all(seen.get(t, 0) > 5 for t in allowed), seen)
            is_equal("%s: no address fails" % who, failed, [])
    finally:
        s.end()


def nobody_sees_more():
    """A walk over all pages."""
    walk_as(("userann", "usercora"), list(addresses(False)))


@in_full
def no_role_sees_more():
    """With all forms and filters, in each role."""
    walk_as(SEES, list(addresses()))


def streams():
    """Of running jobs: each reader has own ones, a coordinator those of the account, staff all; it is logged when a stream begins."""
    s = serve()
    def first(uid):
        with socket.socket(socket.AF_UNIX) as c:
            c.settimeout(20)
            c.connect(s.socket)
            c.sendall(b"GET /running.events?all HTTP/1.1\r\nHost: x\r\n\r\n")
            text = b""
            while text.count(b"\n\n") < 1 and (part := c.recv(65536)):
                text += part
            return text
    try:
        for who, allowed in SEES.items():
            uid = uid_of(who)
            text = in_child(lambda: ((os.setgroups([]), os.setgid(100), os.setuid(uid)) if uid else None, first(uid))[1])
            is_equal("%s: a stream of running jobs" % who, (b"text/event-stream" in text, {t for t in TOKENS if t.encode() in text}), (True, allowed))
    finally:
        s.end()


def pages_of_running_jobs():
    """Who sees a running job in the list has its page, and nobody else; another user's file of that name is not its."""
    sys.path.insert(0, os.path.join(ROOT, "tests/findings"))
    from jobs import Job
    from squeuelib import put_running
    paths = []
    def put(token, owner):
        user, account = TOKENS[token]
        path = put_running(os.path.join(profiles(), owner), Job(nodes=1, tasks=2, cores=2, wall=600, seed=1, job=IDS[token] + 90, job_name=token + "_job", account=account, user=owner))
        os.chown(path, USERS[owner], SERVICE)
        os.chmod(path, 0o640)
        paths.append(path)
    for token in TOKENS:
        put(token, TOKENS[token][0])
    put("bobs", "userzed")
    try:
        for keys, sees in (({}, SEES), ({"CoordinatorSees": "sums"}, {**SEES, "usercora": set()})):
            s = serve(**keys)
            try:
                for who, allowed in sees.items():
                    got = {t: s.ask("/job/%d" % (IDS[t] + 90), uid=uid_of(who)) for t in TOKENS}
                    is_equal("%s%s: pages of running jobs" % (who, "".join(", " + k for k in keys)), {t for t in TOKENS if got[t][0] == 200 and "findings" in json_of(got[t][2])}, allowed)
                    is_equal("%s%s: and of no others" % (who, "".join(", " + k for k in keys)), {got[t][0] for t in TOKENS if t not in allowed} - {403}, set())
                    is_equal("%s%s: in the list there are the same" % (who, "".join(", " + k for k in keys)), {t for r in json.loads(s.ask("/running.json?all", uid=uid_of(who))[2])["rows"] for t in TOKENS if r["name"] == t + "_runs"}, allowed)
            finally:
                s.end()
    finally:
        for path in paths:
            os.unlink(path)


def counts():
    """How many jobs each role has in its lists, by SQL."""
    path = made()
    s = serve()
    try:
        with sqlite3.connect(path) as db:
            for who, allowed in SEES.items():
                where = "account = 'shared'" if who == "usercora" else "\"user\" = '%s'" % who if who not in ("uservic", "userstan", "root") else "true"
                n, held = db.execute("SELECT count(*), sum(held_core_s) FROM job WHERE " + where).fetchone()
                got = json.loads(s.ask("/jobs.json?since=all", uid=uid_of(who))[2])
                is_equal("%s: jobs" % who, (got["matching"], math.isclose(got["held_core_s"] or 0, held or 0, rel_tol=1e-9)), (n, True))
                got = json.loads(s.ask("/usage.json?since=all&by=project", uid=uid_of(who))[2])
                wanted = dict(db.execute("SELECT account, count(*) FROM job WHERE %s GROUP BY account" % where))
                is_equal("%s: usage by project" % who, {r["project"]: r["jobs"] for r in got["usage"]["rows"]}, wanted)
    finally:
        s.end()


def coordinators_of_sums():
    """CoordinatorSees=sums: usage of whole days, and no single job."""
    path = made()
    s = serve(CoordinatorSees="sums")
    def ask(a):
        got = json.loads(s.ask(a, uid=USERS["usercora"])[2])
        return got.get("usage", got)
    try:
        both = {"userann", "userbob"}
        is_equal("sums: by user", {r["user"] for r in ask("/usage.json?since=all&by=user")["rows"]}, both)
        is_equal("sums: by name", len(ask("/usage.json?since=all&by=name&all")["rows"]), 6 + 2)
        is_equal("sums: by name of a user", len(ask("/usage.json?since=all&by=name&user=userann&all")["rows"]), 3 + 1)
        for a in ("/jobs.json?since=all", "/issues.json?since=all", "/advice.json?user=userann&since=all", "/usage.json?since=all&by=node", "/usage.json?since=all&by=signature",
                  "/usage.json?since=2026-11-01T08:01", "/usage.json?since=all&jobs=%d" % IDS["anns"], "/usage.json?since=all&node=anns-n1", "/usage.json?since=all&ran=1s-",
                  "/usage.json?since=all&state=completed", "/usage.json?since=all&program=anns"):
            is_equal("sums: not %s" % a, ask(a)["rows"], [])
        is_equal("sums: no page of a job", s.ask("/job/%d" % (IDS["anns"] + EACH), uid=USERS["usercora"])[0], 403)
    finally:
        s.end()


def a_right_ends():
    """With an entry of the coordinator, at once; and after a day without sacctmgr."""
    path = made()
    s = serve()
    count = lambda: json.loads(s.ask("/jobs.json?since=all&user=userbob", uid=USERS["usercora"])[2])["matching"]
    try:
        before = count()
        with sqlite3.connect(path) as db:
            db.execute("UPDATE coordinator SET at = at - 90000 WHERE \"user\" = 'usercora'")
            db.commit()
            old = count()
            db.execute("UPDATE coordinator SET at = at + 90000 WHERE \"user\" = 'usercora'")
            db.commit()
        is_equal("a coordinator: before, a day later, and with a new entry", (before, old, count()), (EACH + 2, 0, EACH + 2))
        is_equal("of another cluster: none", json.loads(s.ask("/jobs.json?since=all&user=userzed", uid=USERS["userfar"])[2])["matching"], 0)
        is_equal("older than a day: none", json.loads(s.ask("/jobs.json?since=all", uid=USERS["usernew"])[2])["matching"], 0)
    finally:
        s.end()


def files_are_their_owners():
    """The service may read all profiles; a link in a user's directory, in the place of a known file, leads to nobody else's."""
    for uid in (SERVICE, 0):
        links_lead_nowhere(serve(uid=uid))


def links_lead_nowhere(s):
    mine, theirs = IDS["anns"] + EACH, IDS["zedp"] + EACH
    file = os.path.join(profiles(), "userann", "job_%d.h5" % mine)
    try:
        status, _, body = s.ask("/job/%d" % mine, uid=USERS["userann"])
        is_true("files: the owner sees the report", status == 200 and "findings" in json_of(body), body[:300])
        is_equal("files: another user does not", s.ask("/job/%d" % mine, uid=USERS["userzed"])[0], 403)
        status, _, body = s.ask("/job/%d" % theirs, uid=USERS["userann"])
        is_equal("files: which no row of the viewer names are not searched", status, 403)
        os.rename(file, file + ".kept")
        for title, make in (("a link", lambda: os.symlink(os.path.join(profiles(), "userzed", "job_%d.h5" % theirs), file)),
                            ("a hard link", lambda: os.link(os.path.join(profiles(), "userzed", "job_%d.h5" % theirs), file))):
            make()
            status, _, body = s.ask("/job/%d" % mine, uid=USERS["userann"])
            is_true("files: %s to another's: what the index has" % title, status == 200 and list(json_of(body)) == ["no_profile"] and not foreign(body, SEES["userann"]), (status, body[:300]))
            for other in ("jobs=%d,%d" % (mine, mine + 1), "jobs=%d,%d" % (mine + 1, mine)):
                status, _, body = s.ask("/compare?" + other, uid=USERS["userann"])
                is_true("files: %s to another's: no comparison" % title, status in (404, 500) and not foreign(body, SEES["userann"]), (status, body[:300]))
            os.unlink(file)
        os.rename(file + ".kept", file)
        status, _, body = s.ask("/compare?jobs=%d,%d" % (mine, mine + 1), uid=USERS["userann"])
        is_true("files: own jobs are compared", status == 200 and "terms" in json_of(body), (status, body[:300]))
        is_equal("files: not with another's", s.ask("/compare?jobs=%d,%d" % (mine, theirs), uid=USERS["userann"])[0], 403)
        is_equal("files: by a coordinator", [s.ask("/compare?jobs=%d,%d" % (a, b), uid=USERS["usercora"])[0] for a, b in ((mine, IDS["bobs"] + EACH), (mine, IDS["bobp"] + EACH))], [200, 403])
    finally:
        s.end()


class Swap:
    """When a file was opened so often, and some time more, a link takes its place: what was looked at and what is opened then are not the same."""

    def __init__(self, path, target, opens, wait_s=0):
        libc = ctypes.CDLL(None)
        self.path, self.opens, self.wait_s, self.fd, self.over = path, opens, wait_s, libc.inotify_init1(os.O_NONBLOCK), False
        libc.inotify_add_watch(self.fd, path.encode(), 0x30)  # IN_OPEN, IN_CLOSE_NOWRITE
        os.symlink(target, path + ".link")
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        n = 0
        while n < self.opens and not self.over:
            if select.select([self.fd], [], [], 0.05)[0]:
                events = os.read(self.fd, 4096)
                n += sum(struct.unpack_from("I", events, at + 4)[0] & 0x20 > 0 for at in range(0, len(events), 16))
        time.sleep(self.wait_s)
        os.rename(self.path + ".link", self.path)

    def end(self):
        self.over = True
        self.thread.join()
        os.close(self.fd)


def own_file(path, job, token, user=None):
    """A profile as Slurm's own plugin leaves it: it does not say whose it is."""
    import h5py
    from jobs import Job
    Job(nodes=1, tasks=2, cores=2, wall=600, seed=job, job=job, job_name=token + "_job", account=TOKENS[token][1]).write(path)
    def strip(name, o):
        o.attrs.pop("User", None)
    with h5py.File(path, "r+") as f:
        strip("/", f)
        f.visititems(strip)
    os.chown(path, USERS[user or TOKENS[token][0]], SERVICE)
    os.chmod(path, 0o640)


def files_that_become_links():
    """While they are read: whatever was looked at, no byte of another user's file reaches who put the link there."""
    theirs, mine = (os.path.join(profiles(), user, "job_%d.h5" % 666) for user in ("userzed", "userann"))
    s = serve()
    try:
        own_file(theirs, 666, "zedp")
        seen = {}
        for opens, wait_ms in ((1, 0), (2, 0), *((3, k) for k in range(20)), (4, 0), (5, 0), (6, 0), (7, 0)):
            own_file(mine, 666, "anns")
            swap = Swap(mine, theirs, opens, wait_ms / 1000)
            status, _, body = s.ask("/job/666", uid=USERS["userann"])
            swap.end()
            seen |= {(status, foreign(body, SEES["userann"]) != []): (opens, wait_ms)}
            os.unlink(mine)
    finally:
        os.unlink(theirs)
        s.end()
    is_equal("links: a page of another's job", [k for k in seen.items() if k[0][1]], [])
    is_true("links: a page and a refusal", {200, 403} <= {status for status, _ in seen}, seen)


def a_comparison_reads_two_files():
    """A coordinator sees a job of each of two users; by a link of one of them no other job of the other."""
    theirs, mine = (os.path.join(profiles(), user, "job_%d.h5" % job) for user, job in (("userbob", IDS["bobp"] + EACH), ("userann", IDS["anns"] + EACH)))
    others = {t: [IDS[t] + EACH + i for i in range(2)] for t in ("anns", "bobs")}
    s = serve()
    ask = lambda a, b: s.ask("/compare?jobs=%d,%d" % (a, b), uid=USERS["usercora"])
    try:
        status, _, body = ask(others["anns"][0], others["bobs"][0])
        is_true("two users: compared", status == 200 and "terms" in json_of(body), (status, body[:300]))
        os.rename(mine, mine + ".kept")
        os.symlink(theirs, mine)
        for pair in ((others["anns"][0], others["bobs"][0]), (others["bobs"][0], others["anns"][0])):
            status, _, body = ask(*pair)
            is_true("two users: a link leads to no other job", status in (404, 500) and not foreign(body, SEES["usercora"]), (status, body[:300]))
        os.unlink(mine)
        os.rename(mine + ".kept", mine)
        kept = os.path.join(os.path.dirname(mine), "kept.h5")
        seen = set()
        for opens in range(1, 13):
            shutil.copy2(mine, kept)
            os.chown(kept, USERS["userann"], SERVICE)
            swap = Swap(mine, theirs, opens)
            status, _, body = ask(others["anns"][0], others["bobs"][0])
            swap.end()
            seen.add((status, bool(foreign(body, SEES["usercora"]))))
            os.rename(kept, mine)
        is_true("two users: a file that becomes such a link, too", not any(bad for _, bad in seen) and len(seen) > 1, seen)
    finally:
        s.end()


def links_while_a_feed_reads():
    """Between the look into a directory and the reading of its files: their owner has no row of another's job."""
    d, path = tmpdir("feed"), os.path.join(tmpdir("feedix"), "index.db")
    for user in ("userann", "userzed"):
        os.mkdir(os.path.join(d, user))
    first, last, theirs = (os.path.join(d, *w) for w in (("userann", "job_100.h5"), ("userann", "job_130.h5"), ("userzed", "job_130.h5")))
    for i in range(31):
        own_file(os.path.join(d, "userann", "job_%d.h5" % (100 + i)), 100 + i, "anns")
    own_file(theirs, 130, "zedp")
    for top, _, _ in os.walk(d):
        os.chmod(top, 0o755)
    swap = Swap(first, theirs, 1)
    os.unlink(first + ".link")
    os.symlink(theirs, last + ".link")
    swap.path = last
    p = call("index", "scan", d, "--database", path, wrap=as_service(etc(), uid=0), timeout=120)
    swap.end()
    with sqlite3.connect(path) as db:
        seen = db.execute("SELECT \"user\", job_id, name FROM job ORDER BY 1, 2").fetchall()
    is_equal("feed: no row of another's job", [r for r in seen if (r[0] == "userann") != r[2].startswith("anns")], [])
    is_true("feed: rows of the own ones, and the file is named", len(seen) >= 30 and (p.returncode, p.stderr.count(last)) == (1, 1), (seen, p.returncode, p.stderr))
    is_true("feed: the link was there while it was read", os.path.islink(last), os.listdir(os.path.join(d, "userann")))


def of_three_jobs(user, times):
    """What serve answers for a job of another, one with a profile, and one that is not there: the answers, and the least time that each took."""
    s = serve()

    def ask(address):
        began = time.perf_counter()
        status, headers, body = s.ask(address)
        headers.pop("Date", None)
        return time.perf_counter() - began, (status, sorted(headers.items()), re.sub(rb'"now":\d+', b"", body))

    def measure():
        answers = [[ask("/job/%d" % j) for j in (IDS["zedp"], IDS["zedp"] + EACH, 99999998)] for _ in range(times)]
        return [a for _, a in answers[0]], [min(t for t, _ in of_one) for of_one in zip(*answers)]
    try:
        return in_child(lambda: ((os.setgroups([]), os.setgid(100), os.setuid(USERS[user])), measure())[1])
    finally:
        s.end()


def refused_alike():
    """Of a job that is another's and of one that is not there, the same bytes."""
    (known, with_file, none), _ = of_three_jobs("userann", 1)
    is_equal("another's job, and none", known, none)
    is_equal("another's profile, and none", with_file, none)
    is_equal("which is refused", none[0], 403)
    s = serve()
    is_equal("a part of a page that failed is not shown", s.ask("/jobs?sort=none-such")[0], 400)
    s.end()


@in_full
def refused_as_soon():
    _, took = of_three_jobs("userann", 15)
    is_true("another's job takes as long as none", max(took) < 2 * min(took) + 0.005, took)


def the_proxy():
    """Only ProxyUser's header counts, once, with a name that is there."""
    s = serve()
    name = "X-Remote-User"
    try:
        def count(headers, address="/jobs.json?since=all"):
            status, _, body = s.ask(address, headers=headers, uid=WWW)
            return json.loads(body)["matching"] if status == 200 else status
        is_equal("proxy: roles", [count([(name, who)]) for who in ("userann", "usercora", "uservic", "userstan", "root")],
                 [2 * EACH + 4, 2 * EACH + 4, 5 * EACH + 10, 5 * EACH + 10, 5 * EACH + 10])
        for title, headers in (("no header", []), ("twice", [(name, "userann"), (name, "root")]), ("twice in one", [(name, "userann, root")]), ("a port", [(name, "root:80")]),
                               ("a blank", [(name, "ro ot")]), ("UTF-8", [(name, "r\u00f6\u00f6t".encode())]), ("a tab", [(name, "root\tx")]), ("a null", [(name, "root%00")]),
                               ("SQL", [(name, "x' OR '1'='1")]), ("a number", [(name, "0")]), ("empty", [(name, "")]), ("unknown", [(name, "nobody-there")]),
                               ("a header that looks like it", [("X_Remote_User", "root")]), ("of another proxy", [("Remote-User", "root"), ("X-Forwarded-User", "root")])):
            for address in ("/jobs.json", "/job/%d" % (IDS["anns"] + EACH), "/"):
                is_equal("proxy, %s: %s" % (title, address), s.ask(address, headers=headers, uid=WWW)[0], 403)
        is_equal("not the proxy: its header means nothing", json.loads(s.ask("/jobs.json?since=all", headers=[(name, "root")], uid=USERS["userann"])[2])["matching"], 2 * EACH + 4)
        for group, n in (("helpdesk", 2 * EACH + 4), ("", 2 * EACH + 4)):
            t = serve(ViewGroups="none", StaffGroups=group or "none")
            try:
                got = [json.loads(t.ask("/jobs.json?since=all", headers=[(name, who)], uid=WWW)[2])["matching"] for who in ("userann", "uservic", "userstan")]
                is_equal("StaffGroups=%s" % group, got, [n, 5 * EACH + 10 if group else 0, 0])
            finally:
                t.end()
    finally:
        s.end()


def who_looked():
    """Staff and coordinators who see jobs of others are in the system's log; users are not."""
    d = tmpdir("dev")
    open(os.path.join(d, "null"), "w").close()
    os.chmod(d, 0o755)
    log = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    log.bind(os.path.join(d, "log"))
    os.chmod(os.path.join(d, "log"), 0o666)
    log.settimeout(5)
    s = serve(d)
    def said():
        try:
            return re.sub(r"^<\d+>.*jobprof-access\[\d+\]: ", "", log.recv(4096).decode())
        except TimeoutError:
            return None
    try:
        job = IDS["zedp"]
        for who, address, line in (("userstan", "/jobs?since=all&user=userzed", "userstan sees jobs of others: /jobs?since=all&user=userzed"), ("uservic", "/job/%d" % job, "uservic sees jobs of others: /job/%d" % job),
                                   ("usercora", "/usage.json?since=all", "usercora sees jobs of others: /usage.json?since=all")):
            s.ask(address, uid=USERS[who])
            is_equal("log: %s" % who, said(), line)
        log.settimeout(0.3)
        for who, address in (("userann", "/jobs?since=all"), ("userstan", "/jobs?since=all&user=userstan"), ("userann", "/job/%d" % job)):
            s.ask(address, uid=USERS[who])
            is_equal("log: nothing of %s, %s" % (who, address), said(), None)
    finally:
        s.end()
        log.close()


def staff_notes_contacts():
    """By sudo, as the index's owner; who only sees all does not."""
    path = made()
    with sqlite3.connect(path) as db:
        before = db.execute("SELECT count(*) FROM contact").fetchone()[0]
    for who, noted in (("userstan", 1), ("uservic", 0), ("userann", 0), ("nobody-there", 0)):
        p = call("contacted", str(IDS["bobs"]), "--ticket", "T1", "--database", path, wrap=as_service(etc()), env={"SUDO_USER": who}, timeout=60)
        is_true("contacted by %s" % who, (p.returncode == 0) == bool(noted) and (re.search("noted: .*userstan contacted", p.stdout) if noted else "StaffGroups" in p.stderr), (p.stdout, p.stderr))
    with sqlite3.connect(path) as db:
        is_equal("one contact more", db.execute("SELECT count(*) FROM contact").fetchone()[0], before + 1)


def from_other_places():
    """Other sites' pages, frames, methods, and requests that are slow, huge or no HTTP."""
    s = serve()
    try:
        for address in ("/", "/jobs.json", "/jobs.csv", "/job/%d" % (IDS["anns"] + EACH), "/no-such", "/jobs?nope=1"):
            _, headers, _ = s.ask(address, headers=[("Origin", "https://evil.example")])
            low = {k.lower(): v for k, v in headers.items()}
            is_true("%s: no other site may read it" % address, not any(k.startswith("access-control-") for k in low), low)
            is_equal("%s: its headers" % address, [low.get(k) for k in ("cross-origin-resource-policy", "x-content-type-options", "referrer-policy", "cache-control")],
                     ["same-origin", "nosniff", "no-referrer", "private, no-store"])
            is_true("%s: who may frame it" % address, low["content-security-policy"].endswith("; frame-ancestors https://ood.example.org") and "set-cookie" not in low, low)
        for site_, mode, as_, status in (("cross-site", "no-cors", "empty", 403), ("cross-site", "cors", "empty", 403), ("cross-site", "websocket", "websocket", 403), ("cross-site", "navigate", "document", 200),
                                         ("same-origin", "cors", "empty", 200), ("none", "navigate", "document", 200), ("same-site", "no-cors", "script", 403), ("same-site", "cors", "empty", 403),
                                         ("same-site", "navigate", "document", 200), ("cross-site", "navigate", "iframe", 200), ("cross-site", "navigate", "object", 403), ("same-site", "navigate", "embed", 403)):
            is_equal("fetched %s, %s, %s" % (site_, mode, as_), s.ask("/jobs.json", headers=[("Sec-Fetch-Site", site_), ("Sec-Fetch-Mode", mode), ("Sec-Fetch-Dest", as_)])[0], status)
        for title, data in (("a huge address", b"GET /jobs?name=" + b"a" * 300000 + b" HTTP/1.1\r\nHost: x\r\n\r\n"), ("a huge header", b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"a" * 300000 + b"\r\n\r\n"),
                            ("many headers", b"GET / HTTP/1.1\r\nHost: x\r\n" + b"X: a\r\n" * 60000 + b"\r\n"), ("no HTTP", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" * 100 + b"\r\n\r\n"),
                            ("two lengths", b"GET /jobs HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nContent-Length: 0\r\n\r\nabc"),
                            ("chunks", b"GET /jobs HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"),
                            ("a second request behind no chunk", b"GET /jobs.json HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /jobs.json HTTP/1.1\r\nHost: x\r\n\r\n"),
                            ("another protocol", b"GET / HTTP/9.9\r\nHost: x\r\n\r\n"), ("an address of another host", b"GET http://evil.example/jobs.json HTTP/1.1\r\nHost: x\r\n\r\n")):
            out = s.raw(data)
            is_true("%s: refused" % title, not out or re.match(rb"HTTP/1.[01] [45]\d\d", out), out[:100])
        for address in ("/jobs/", "//jobs", "/jobs.json/", "/job/", "/job/7/8", "/job/%37", "/JOBS", "/jobs.JSON", "/jobs;x", "/job/../jobs", "/%2e%2e/etc/passwd", "/job/..%5c..", "/assets/", "/assets/../site.html",
                        "/jobs?sort+limit=1", "/jobs?limit=-1", "/jobs?limit=1000000000", "/jobs?jobs=-1", "/jobs?jobs=99999999999999999999", "/jobs?nodes=-1", "/usage?by=x", "/jobs?user", "/compare", "/compare?jobs=1", "/compare?jobs=1,2,x",
                        "/compare?jobs=" + ",".join(map(str, range(1, 40))), "/compare?jobs=1,2&x=1"):
            status, headers, body = s.ask(address)
            is_true("%s: no failure" % address[:40], status in (200, 400, 403, 404) and b"root:x" not in body and "Location" not in headers, (status, body[:200]))
        slow = [socket.socket(socket.AF_UNIX) for _ in range(60)]
        for c in slow:
            c.connect(s.socket)
            c.sendall(b"GET /jobs HTTP/1.1\r\nHo")
        is_equal("beside 60 that are slow", s.ask("/jobs.json")[0], 200)
        for c in slow:
            c.close()
    finally:
        s.end()


def no_user_has_all_connections():
    """Whoever opens as many as there may be, here or through the proxy, and asks as much as he can, holds up nobody else."""
    s = serve()
    def connections(n, data):
        all_ = []
        for _ in range(n):
            c = socket.socket(socket.AF_UNIX)
            c.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", 3, 0))
            try:
                c.connect(s.socket)
                c.sendall(data)
            except BlockingIOError:
                break  # it takes no more
            except ConnectionError:
                pass  # it is closed already
            c.settimeout(20)
            all_.append(c)
        return all_
    def is_open(c):
        try:
            c.setblocking(False)
            return bool(c.recv(1))
        except BlockingIOError:
            return True
        except ConnectionError:
            return False
    def user(who, work):
        return in_child(lambda: (os.setgroups([]), os.setgid(100), os.setuid(uid_of(who)), work())[-1])
    def status_of(c):
        try:
            return int(c.recv(4096)[9:12] or 0)
        except (ConnectionError, TimeoutError):
            return 0
    def ask_by_others():
        began = time.monotonic()
        answers = [s.ask("/jobs.json", uid=USERS["userbob"])[0], s.ask("/jobs.json", headers=[("X-Remote-User", "userzed")], uid=WWW)[0]]
        return answers, time.monotonic() - began < 10
    try:
        def hold():
            mine = connections(1100, b"GET /jobs HTTP/1.1\r\nHo")
            time.sleep(5)
            return sum(map(is_open, mine))
        held = []
        t = threading.Thread(target=lambda: held.append(user("userann", hold)))
        t.start()
        time.sleep(3)
        is_equal("beside who has all connections", ask_by_others(), ([200, 200], True))
        t.join()
        is_true("of which a quarter is left", 0 < held[0] <= 256, held)
        def flood():
            mine = connections(200, b"GET /usage.json?since=all HTTP/1.1\r\nHost: x\r\nX-Remote-User: userann\r\n\r\n")
            return [status_of(c) for c in mine]
        statuses = user("www", flood)
        is_true("200 requests of one at once: some are refused, none fails", set(statuses) == {200, 429} and statuses.count(200) >= 64, {x: statuses.count(x) for x in set(statuses)})
        def many():
            mine = connections(700, b"GET /jobs HTTP/1.1\r\nHo")
            return s.ask("/jobs.json", headers=[("X-Remote-User", "userzed")])[0], sum(map(is_open, mine))
        is_equal("the proxy may have them", user("www", many), (200, 700))
    finally:
        status, log = s.end()
    is_true("and it has not said that files are lacking", status == 0 and "too many" not in log.lower(), log[-500:])


def what_is_said():
    """An own page for what is refused, not there, or makes no sense; of a page that is asked by a program a line."""
    s = serve()
    try:
        for address, status in (("/job/%d" % IDS["zedp"], 403), ("/nope", 404), ("/jobs?nope=1", 400), ("/job/7?x=1", 400), ("/compare?jobs=7", 400)):
            got, headers, body = s.ask(address, uid=USERS["usercora"])
            is_equal("%s: a page" % address, (got, headers["Content-Type"], json_of(body)["refused"]["status"]), (status, "text/html; charset=utf-8", status))
            is_equal("%s: which knows who asks" % address, json_of(body, "site")["sees"], ["shared"])
        for address, status in (("/nope.json", 404), ("/jobs.json?nope=1", 400), ("/jobs.xml", 404)):
            got, headers, body = s.ask(address)
            is_true("%s: a line" % address, (got, headers["Content-Type"]) == (status, "text/plain; charset=utf-8") and body.count(b"\n") == 1, (got, headers, body))
    finally:
        s.end()


@in_full
def nobody_is_held_up():
    """By a user who asks for many pages at once."""
    s = serve()
    done = []
    def ask(who):
        with socket.socket(socket.AF_UNIX) as c:
            c.settimeout(60)
            c.connect(s.socket)
            c.sendall(b"GET /usage.json?since=all&by=name HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            yield
            while c.recv(65536):
                pass
        done.append(who)
    def as_user(who, n):
        def run():
            os.setgroups([])
            os.setgid(100)
            os.setuid(USERS[who])
            asked = [ask(who) for _ in range(n)]
            for a in asked:
                next(a)
            asked_at = time.monotonic()
            for a in asked:
                next(a, None)
            return asked_at, time.monotonic()
        return in_child(run)
    try:
        many = {}
        t = threading.Thread(target=lambda: many.update(many=as_user("userann", 64)))
        t.start()
        time.sleep(0.05)
        one = as_user("userbob", 1)
        t.join()
        is_true("another user's page comes long before the last of 64", one[1] < many["many"][1] and one[1] - one[0] < 0.6 * (many["many"][1] - many["many"][0]), (one, many))
    finally:
        s.end()


def by_another_name():
    """--user: a page of another site whose name leads to this machine (DNS rebinding)."""
    s = Server("--database", made(), own=True)
    try:
        for host, status in (("evil.example:%d" % s.port, 403), ("127.0.0.1.evil.example", 403), ("127.0.0.1:%d@evil.example" % s.port, 403), ("", 403), ("localhost:%d" % s.port, 200),
                             ("LOCALHOST:%d" % s.port, 200), ("[::1]:%d" % s.port, 200), ("0.0.0.0:%d" % s.port, 403), ("2130706433", 403)):
            is_equal("own, Host %s" % host, s.ask("/jobs.json", headers=[("Host", host)])[0], status)
        is_equal("own, two Hosts", s.ask("/jobs.json", headers=[("Host", "localhost"), ("Host", "evil.example")])[0], 403)
    finally:
        s.end()


def coordinators_come_from_sacctmgr():
    """By a stand-in for Slurm's commands: once an hour; what it prints amiss is passed over; without it nobody coordinates."""
    d = tmpdir("slurm")
    path = os.path.join(tmpdir("ix"), "index.db")
    def stand_in(name, text):
        p = os.path.join(d, name)
        with open(p, "w") as f:
            f.write("#!/bin/sh\n" + text)
        os.chmod(p, 0o755)
    stand_in("sacct", "exit 0\n")
    sync = lambda *more: call("index", "sync", "--sacct", os.path.join(d, "sacct"), "--database", path, *more)
    def entries():
        with sqlite3.connect(path) as db:
            return db.execute("SELECT \"user\", account, cluster FROM coordinator ORDER BY 1, 2, 3").fetchall()
    p = sync()
    is_equal("without sacctmgr: nobody", (p.returncode, p.stderr, entries()), (0, "", []))
    def later():
        with sqlite3.connect(path) as db:
            db.execute("UPDATE meta SET value = value - 4000 WHERE key LIKE 'coordinators_at%'")
    later()
    stand_in("sacctmgr", 'printf "%%s\\n" "$*" >>%s/calls\nprintf "ann|physics,laser\\nbob|\\n|x\\nnonsense\\ncora|bio\\n"\n' % d)
    sync()
    is_equal("coordinators", entries(), [("ann", "laser", ""), ("ann", "physics", ""), ("cora", "bio", "")])
    stand_in("sacctmgr", 'printf "%%s\\n" "$*" >>%s/calls\necho "eve|physics"\n' % d)
    sync()
    is_equal("within an hour: no second call", (open(d + "/calls").read(), len(entries())), ("-n -P -r list user WithCoordinator format=User,Coordinators\n", 3))
    later()
    stand_in("sacctmgr", "echo failed >&2; exit 1\n")
    p = sync()
    is_true("sacctmgr fails: what was known stays, and it is said", len(entries()) == 3 and "sacctmgr: failed" in p.stderr, p.stderr)
    stand_in("sacctmgr", 'echo "eve|physics"\n')
    sync("--cluster", "heron,otter")
    is_equal("of clusters", [e for e in entries() if e[0] == "eve"], [("eve", "physics", "heron"), ("eve", "physics", "otter")])
    sync()
    is_equal("who is no coordinator any more is not", entries(), [("eve", "physics", ""), ("eve", "physics", "heron"), ("eve", "physics", "otter")])
    must("index", "forget", "eve", "--database", path)
    is_equal("forget: of the user nothing is left", entries(), [])


if __name__ == "__main__":
    run_tests((nobody_sees_more, no_role_sees_more, streams, pages_of_running_jobs, counts, coordinators_of_sums, a_right_ends, files_are_their_owners, files_that_become_links, a_comparison_reads_two_files, links_while_a_feed_reads, refused_alike, refused_as_soon, the_proxy, who_looked, staff_notes_contacts, from_other_places, no_user_has_all_connections, what_is_said, nobody_is_held_up,
               by_another_name, coordinators_come_from_sacctmgr))
