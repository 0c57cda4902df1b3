#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""jobprof site build: a user's folder has that user's pages, as serve makes them, and nothing of others in any byte; what is the same stays as it
is; nothing outside is touched; Debian's Apache with conf/apache-jobprof-files.conf lets each user into one folder."""

import contextlib
import grp
import pwd

from proxies import *

SHOWN = "since=30d&limit=10000"


def recent(users=WHO, more=()):
    """Rows of the last 20 days: users' names are in all that is theirs."""
    rows = list(site(jobs=120, users=2, hostile=False, end=int(time.time()) - 7200, days=20).rows())
    for i, r in enumerate(rows):
        user = users[i % len(users)]
        r["user"], r["account"], r["name"] = user, "project_" + user, "job_%d_%s" % (i % 5, user)
        r["program"] = r["program"] and "/opt/" + user
        r["node_list"], r["node_names"] = r["node_list"] and "n1" + user, None
    for i, name in enumerate(more):
        rows[i]["user"] = rows[i]["account"] = name
    return rows


def coordinate(index, *pairs, ago=60, cluster=""):
    """As the service copies them from Slurm: (user, account)."""
    with contextlib.closing(sqlite3.connect(index)) as c:
        c.executemany('INSERT INTO coordinator ("user", account, cluster, at) VALUES (?, ?, ?, ?)', [(u, a, cluster, int(time.time()) - ago) for u, a in pairs])
        c.commit()
    return index


@functools.cache
def of_recent():
    return coordinate(index_of(recent()), ("games", "project_games"), ("daemon", "project_games"), ("nobody", "project_nobody"))


def build(index, at=None, *words):
    at = at or os.path.join(tmpdir("pages"), "site")
    os.chmod(os.path.dirname(at), 0o755)
    return at, must("site", "build", *words, at, "--database", index)


def all_files(at):
    return {os.path.relpath(os.path.join(d, f), at): os.path.join(d, f) for d, _, files in os.walk(at) for f in files}


def content(path):
    with open(path, "rb") as f:
        return f.read()


def a_folder_for_each():
    at, said = build(of_recent())
    files = all_files(at)
    is_true("files: it says what it did", re.fullmatch(r"%s: 2 users, 2 projects: %d files written, 0 as they were, 0 removed\n" % (at, len(files) - 1), said), (said, len(files)))
    is_equal("files: folders", sorted(os.listdir(os.path.join(at, "user"))) + sorted(os.listdir(os.path.join(at, "project"))), [".htaccess", "games", "nobody", ".htaccess", "project_games", "project_nobody"])
    s = Server("--database", of_recent(), "--proxy-user", "www-data")
    try:
        for user, other in (WHO, WHO[::-1]):
            for folder in ("user/%s/" % user, "project/project_%s/" % user):
                mine = {f: content(p) for f, p in files.items() if f.startswith(folder)}
                is_true("files, %s: no byte of others" % folder, len(mine) >= 6 and not [f for f, text in mine.items() if other.encode() in text], [f for f, text in mine.items() if other.encode() in text])
            uid = pwd.getpwnam(user).pw_uid
            for page, query in (("jobs", SHOWN), ("usage", "since=30d&by=name"), ("findings", "since=30d"), ("io", "since=30d"), ("issues", "since=30d&by=name"), ("advice", "since=30d&user=" + user)):
                text = content(files["user/%s/%s.html" % (user, page)])
                wanted = json.loads(s.ask("/%s.json?%s" % (page, query), uid=uid)[2])
                is_true("files, %s of %s: what serve says" % (page, user), close(data_of(text)[page], wanted) or close(data_of(text), wanted), text[-300:])
                is_true("files, %s of %s: the same page" % (page, user), re.sub(rb'<script type="application/json".*?</script>|[./]*assets', b"", text, flags=re.S) ==
                        re.sub(rb'<script type="application/json".*?</script>|[./]*assets', b"", s.ask("/%s?%s" % (page, query), uid=uid)[2], flags=re.S), text[:900])
        rows = as_json("jobs", "--since", "30d", "--all", "--project", "project_games", "--database", of_recent())["rows"]
        is_true("files: a project's jobs are those of the verb", close(data_of(content(files["project/project_games/jobs.html"]))["jobs"]["rows"], rows), rows[:1])
        is_equal("files: staff has all", data_of(content(files["all/jobs.html"]))["jobs"]["matching"], 120)
    finally:
        s.end()
    is_equal("files: 0640, folders 0750", ({oct(os.stat(p).st_mode & 0o7777) for p in files.values()}, {oct(os.stat(d).st_mode & 0o7777) for d, _, _ in os.walk(at)}), ({"0o640"}, {"0o750"}))
    is_equal("files: who may read a folder", [content(files[f]) for f in ("user/games/.htaccess", "user/.htaccess", "project/.htaccess")], [b"Require user games\n", b"Require all denied\n", b"Require all denied\n"])
    is_equal("files: a project's folder is for who coordinates it", content(files["project/project_games/.htaccess"]), b"Require user daemon games\n")
    is_equal("files: which see that project", json.loads(re.search(rb'id="site">(.*?)</script>', content(files["project/project_games/usage.html"]))[1])["sees"], ["project_games"])
    for f, p in files.items():
        if f.endswith(".html"):
            is_true("files, %s: its script and style are there" % f, all(os.path.exists(os.path.join(os.path.dirname(p), a.decode())) for a in re.findall(rb'(?:src|href)="([^"]*assets[^"]*)"', content(p))), content(p)[:600])


def only_what_changed():
    at, _ = build(of_recent())
    before = {f: os.stat(p).st_mtime_ns for f, p in all_files(at).items()}
    time.sleep(1.1)
    _, said = build(of_recent(), at)
    is_true("files: a second time nothing is written", ": 0 files written, %d as they were, 0 removed" % (len(before) - 1) in said and {f: os.stat(p).st_mtime_ns for f, p in all_files(at).items()} == before, said)
    _, said = build(index_of(recent(users=("games",))), at)
    after = all_files(at)
    is_true("files: who has no jobs any more has no folder", not [f for f in after if "nobody" in f] and "user/games/jobs.html" in after and " removed" in said, (said, sorted(after)))
    text = content(after["user/games/jobs.html"])
    os.remove(after["user/games/jobs.html"])
    secret = os.path.join(tmpdir("outside"), "secret")
    with open(secret, "w") as f:
        f.write("mine")
    os.symlink(secret, os.path.join(at, "user/games/jobs.html"))
    os.symlink(os.path.dirname(secret), os.path.join(at, "user/linked"))
    build(index_of(recent(users=("games",))), at)
    is_equal("files: a link is replaced, not followed", (content(secret), os.path.islink(os.path.join(at, "user/games/jobs.html")), os.path.lexists(os.path.join(at, "user/linked")), len(content(after["user/games/jobs.html"])) // 100), (b"mine", False, False, len(text) // 100))


def nothing_else():
    d = tmpdir("full")
    with open(os.path.join(d, "theirs"), "w") as f:
        f.write("x")
    p = call("site", "build", d, "--database", of_recent())
    is_true("files: a directory with other files is left alone", p.returncode == 1 and "not of jobprof site build" in p.stderr and os.listdir(d) == ["theirs"], (p.returncode, p.stderr, os.listdir(d)))
    for words in (["build"], [], ["make", d], ["build", d, "x"]):
        is_equal("files, site %s: wrong" % " ".join(words), call("site", *words, "--database", of_recent()).returncode, 2)
    at, _ = build(index_of(recent(more=("../evil", "a/b", ".hidden", "a b", "a,games", "\u00fcser", "x\"y", "-x", ".."))))
    folders = sorted(os.listdir(os.path.join(at, "user"))) + sorted(os.listdir(os.path.join(at, "project")))
    is_equal("files: names that are no folder's get none, nor do projects that nobody coordinates", folders, [".htaccess", "games", "nobody", ".htaccess"])
    is_equal("files: nor anything beside", sorted(os.listdir(os.path.dirname(at))) + sorted(os.listdir(at)), ["site", ".htaccess", ".jobprof-site", "all", "assets", "project", "user"])


def not_where_others_write():
    """In a directory of another user, or with folders of another's, that user would read all that is put there: by its group, or its list of who may."""
    theirs = pwd.getpwnam("games")
    def refused(title, change, at=None):
        top = tmpdir("theirs")
        at = at or os.path.join(top, "site")
        os.makedirs(at, exist_ok=True)
        change(at)
        p = call("site", "build", at, "--database", of_recent())
        found = [f for f in all_files(at) if f.endswith(".html") or f.endswith(".js")]
        is_true("files, %s: nothing is written there, which is said" % title, p.returncode == 1 and "others than root and this user may write there" in p.stderr and not found, (p.returncode, p.stderr, found[:3]))
    def give(at, mode=0o2755):
        os.chown(at, theirs.pw_uid, theirs.pw_gid)
        os.chmod(at, mode)
    def marked(at):
        open(os.path.join(at, ".jobprof-site"), "w").close()
        give(at)
    refused("an empty directory of another user", give)
    refused("one that is as if site build had made it", marked)
    refused("one that its group may write to", lambda at: os.chmod(at, 0o2770))
    refused("one that all may write to", lambda at: os.chmod(at, 0o1777))
    for folders in (("user",), ("user", "user/nobody"), ("project",), ("all",), ("assets",)):
        def planted(at):
            build(of_recent(), at)
            for f in all_files(at).values():
                os.remove(f)
            open(os.path.join(at, ".jobprof-site"), "w").close()
            give(os.path.join(at, folders[-1]))
        at = os.path.join(tmpdir("planted"), "site")
        planted(at)
        p = call("site", "build", at, "--database", of_recent())
        found = [f for f in all_files(os.path.join(at, folders[-1]))]
        is_true("files, %s is another user's: nothing is written there" % folders[-1], p.returncode == 1 and "others than root" in p.stderr and not found, (p.returncode, p.stderr, found[:3]))
    at, mask = os.path.join(tmpdir("mask"), "site"), os.umask(0o077)
    try:
        build(of_recent(), at)
    finally:
        os.umask(mask)
    is_equal("files: the mask of who calls means nothing", {oct(os.stat(d).st_mode & 0o7777) for d, _, _ in os.walk(at)}, {"0o750"})


def who_coordinates():
    """On the cluster of the jobs, since a day at most; names that are words of Apache's are none."""
    rows = recent()
    for r in rows:
        r["cluster"] = "alpha"
    index = index_of(rows)
    coordinate(index, ("games", "project_games"), cluster="beta")
    coordinate(index, ("daemon", "project_games"), ago=2 * 86400)
    coordinate(index, ("x y", "project_games"), ("../x", "project_games"), ("\n", "project_games"))
    at, _ = build(index)
    is_equal("files: of another cluster, of long ago, or by no name nobody coordinates", os.listdir(os.path.join(at, "project")), [".htaccess"])
    coordinate(index, ("games", "project_games"), cluster="alpha")
    build(index, at)
    is_equal("files: on the cluster somebody does", content(os.path.join(at, "project/project_games/.htaccess")), b"Require user games\n")


def pages_of_jobs():
    d = tmpdir("jobs")
    files = list(sitegen.job_files(d, 3, users=2))
    index = os.path.join(tmpdir("ofjobs"), "index.db")
    must("index", "scan", d, "--database", index)
    with sqlite3.connect(index) as c:  # now is when they ran
        c.execute("UPDATE job SET start = start + ? - (SELECT max(start) FROM job)", (int(time.time()) - 7200,))
    at, _ = build(index, None, "--jobs")
    pages = sorted(os.listdir(os.path.join(at, "all/job")))
    is_equal("files: a page of each job", pages, ["1.html", "2.html", "3.html"])
    page = content(os.path.join(at, "all/job/2.html"))
    is_equal("files: which is its report", (data_of(page)["job"]["id"], data_of(page)["findings"]), ("2", json.loads(must("report", "--json", files[1][0]))["findings"]))
    is_true("files: the list leads there", b'"files":["jobs","usage","findings","io","issues","advice","digest","job"]' in content(os.path.join(at, "all/jobs.html")), content(os.path.join(at, "all/jobs.html"))[:900])


class Files(Apache):
    def command(self, at):
        text = "".join("LoadModule %s_module /usr/lib/apache2/modules/mod_%s.so\n" % (m, m) for m in (*MODULES, "rewrite"))
        text += "ServerName x\nListen 127.0.0.1:%d\nUser www-data\nGroup www-data\nErrorLog %s/error\nPidFile %s/pid\nMutex file:%s\nTypesConfig /etc/mime.types\n" % (self.port, *3 * [self.top])
        text += shipped("apache-jobprof-files.conf", **{"/srv/jobprof": at, "/etc/apache2/jobprof.htpasswd": self.passwords})
        return [program("apache2"), "-DFOREGROUND", "-f", self.write("apache.conf", text)]


def served():
    """The files by Apache: their directory, and the server."""
    top = tmpdir("served")
    at = os.path.join(top, "site")
    os.chmod(top, 0o755)
    os.mkdir(at)
    os.chown(at, 0, grp.getgrnam("www-data").gr_gid)
    os.chmod(at, 0o2750)
    build(of_recent(), at)
    return at, Files(at)


def by_apache():
    _, p = served()
    try:
        for user, other in (WHO, WHO[::-1]):
            status, headers, body = p.ask("/jobprof/user/%s/jobs.html" % user, user)
            is_true("apache, files: %s reads own pages" % user, status == 200 and data_of(body)["jobs"]["matching"] == 60 and other.encode() not in body, (status, body[:200]))
            is_true("apache, files: with the pages' policy", "script-src 'self'" in headers["Content-Security-Policy"] and headers["Content-Type"].startswith("text/html"), headers)
            for asset in re.findall(rb'"(?:\.\./)+(assets/[^"]+)"', body):
                is_equal("apache, files: script and style", p.ask("/jobprof/" + asset.decode(), user)[0], 200)
            status, headers, _ = p.ask("/jobprof/", user)
            is_true("apache, files: the first address leads to the own folder", status == 302 and headers["Location"].endswith("/jobprof/user/%s/" % user), (status, headers))
            is_equal("apache, files: which has a first page", p.ask("/jobprof/user/%s/" % user, user)[0], 200)
            is_equal("apache, files: who coordinates a project reads its pages", p.ask("/jobprof/project/project_%s/jobs.html" % user, user)[0], 200)
            for address in ("user/%s/" % other, "user/%s/jobs.html" % other, "user/%s/index.html" % other, "project/project_%s/jobs.html" % other, "all/", "all/jobs.html", "user/", "project/", "user/%s/.htaccess" % user,
                            ".htaccess", ".jobprof-site", "user/%s/../%s/jobs.html" % (user, other), "user/%s/%%2e%%2e/%s/jobs.html" % (user, other)):
                status, _, body = p.ask("/jobprof/" + address, user)
                is_true("apache, files: not %s" % address, status in (401, 403) and b"data" not in body, (status, body[:200]))
        for address in ("", "user/nobody/jobs.html", "all/jobs.html", "assets/"):
            is_true("apache, files, /%s without a login: not" % address, p.ask("/jobprof/" + address)[0] in (401, 403), address)
    finally:
        p.end()


@in_full
def links_without_a_server():
    """Each link of the files is a file, and the list of jobs applies what its address asks for."""
    at, p = served()
    try:
        first = "http://127.0.0.1:%d/jobprof/user/nobody/" % p.port
        seen = followed(first + "jobs.html", "nobody")
        pages = {s["address"][len(first):].split("?")[0] for s in seen}
        is_true("browser, files: pages", {"jobs.html", "usage.html", "findings.html"} <= pages <= set(os.listdir(os.path.join(at, "user/nobody"))), pages)
        is_equal("browser, files: links lead to files, without errors", [s for s in seen if s["status"] != 200 or s["wrong"]], [])
        rows = [r for r in recent() if r["user"] == "nobody"]
        for query, wanted in (("state=failed", sum(r["state"] == "FAILED" for r in rows)), ("name=job_0", sum(r["name"].startswith("job_0") for r in rows)), ("user=games", 0), ("user=nobody", len(rows))):
            shown = followed(first + "jobs.html?" + query, "nobody", 1)[0]
            is_equal("browser, files: jobs.html?%s" % query, shown["jobs"], wanted)
    finally:
        p.end()


if __name__ == "__main__":
    run_tests((a_folder_for_each, only_what_changed, nothing_else, not_where_others_write, who_coordinates, pages_of_jobs, by_apache, links_without_a_server))
