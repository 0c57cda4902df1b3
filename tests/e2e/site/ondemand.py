#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Open OnDemand before jobprof serve: what its Active Jobs asks a Grafana for is answered with the job's page and with pictures of it, of jobs
that have ended and of those that run, to who may see them; its Passenger app in conf/ood shows a user's own jobs."""

import importlib.util
import wsgiref.util
import wsgiref.validate
import xml.etree.ElementTree

from serve import *

# As build_grafana_link() of Active Jobs makes them from conf/ood/cluster.yml: /d-solo/ with a panel for each of cpu, memory and those of GPUs, /d/ for the link.
COMMON = "orgId=1&theme=light&from=1582303423000&to=now&var-cluster=owens&var-host=%s"
SOLO = "/d-solo/jobprof/job/?" + COMMON + "&panelId=%d&var-jobid=%s"
PAGE = "/d/jobprof/job/?" + COMMON + "&var-jobid=%s"
OOD = "https://ondemand.example.org"


@functools.cache
def jobs_of_a_site():
    """Job 1 has ended, and its profile is in the index; job 2 runs, and only the file of its step knows it."""
    d, user = tmpdir("profiles"), pwd.getpwnam("games")
    own = os.path.join(d, user.pw_name)
    os.rename(os.path.dirname([path for path, _ in sitegen.job_files(d, 2, users=1)][0]), own)
    ended, running = os.path.join(own, "job_1.h5"), os.path.join(own, ".2_0_n0001.h5")
    os.rename(os.path.join(own, "job_2.h5"), running)
    for path in (own, ended, running):
        os.chown(path, user.pw_uid, user.pw_gid)
    os.chmod(d, 0o755)
    path = os.path.join(tmpdir("index"), "index.db")
    must("index", "scan", d, "--database", path)
    conf = tmpdir("slurm")
    with open(os.path.join(conf, "acct_gather.conf"), "w") as f:
        f.write("ProfileHDF5Dir=%s\n" % d)
    os.chmod(TMP, 0o755)
    os.chmod(conf, 0o755)
    return path, os.path.join(conf, "slurm.conf"), user.pw_uid, ended, running


def nodes_of(path):
    with h5py.File(path, "r") as f:
        return sorted(f["Steps/0/Nodes"]) if "Steps" in f else []


def served():
    path, conf, uid, *_ = jobs_of_a_site()
    return Server("--database", path, "--frame-ancestors", OOD, env={"SLURM_CONF": conf}), uid


def picture_of(body):
    """Its title, and its line's points."""
    svg = xml.etree.ElementTree.fromstring(re.search(rb"<svg.*</svg>", body, re.S)[0])
    name = "{http://www.w3.org/2000/svg}"
    lines = [p for p in svg.iter(name + "polyline") if p.get("class") == "middle"]
    return svg.find(name + "title").text, [p.get("points") for p in lines]


def panels_of_active_jobs():
    s, uid = served()
    try:
        for job, what in (("1", "that has ended"), ("2", "that runs")):
            node = nodes_of(jobs_of_a_site()[2 + int(job)])[0]
            seen = []
            for panel, title in ((1, "CPUs at work"), (2, "Memory")):
                status, headers, body = s.ask(SOLO % (node, panel, job), uid=uid)
                is_true("ondemand: %s of a job %s" % (title, what), status == 200 and ("<h1>%s</h1>" % title).encode() in body and b"<svg" in body, (status, body[:400]))
                seen.append(picture_of(body))
                is_true("ondemand: with a line", seen[-1][1] and len(seen[-1][1][0].split()) > 4, seen[-1])
                is_true("ondemand: in a frame of that site alone", "frame-ancestors " + OOD in headers["Content-Security-Policy"] and "X-Frame-Options" not in headers, headers)
                is_true("ondemand: without script and style of its own", not re.search(rb"<script|<style|style=|\bon\w+=", body), body[:400])
                is_equal("ondemand: its style", [s.ask("/d-solo/jobprof/job/" + f.decode(), uid=uid)[0] for f in re.findall(rb'href="([^"]*assets[^"]*)"', body)], [400])  # a browser resolves ../
                is_equal("ondemand: its style", [s.ask("/" + f.decode(), uid=uid)[0] for f in re.findall(rb'href="(?:\.\./){3}(assets[^"]*)"', body)], [200])
            is_true("ondemand: which are different", seen[0] != seen[1], seen)
            status, _, body = s.ask((SOLO % (node, 3, job)).replace("light", "dark"), uid=uid)
            is_true("ondemand: no GPU is said", status == 200 and b"not known" in body and b'class="solo dark"' in body, body[:400])
            status, _, body = s.ask(PAGE % (node, job), uid=uid)
            is_true("ondemand: the link is the job's page", status == 200 and data_of(body)["job"]["id"] == job, (status, body[:300]))
            is_true("ondemand: whose links lead back", b'"root": "../../../"' in body or b'"root":"../../../"' in body, body[:600])
    finally:
        s.end()


def the_same_as_plot():
    s, uid = served()
    try:
        path = jobs_of_a_site()[3]
        node = nodes_of(path)[0]
        wanted = must("plot", "--sum", "--svg=-", "-s", "Step", "-d", "CPUTime", "-N", node, path)
        is_equal("ondemand: the picture is that of jobprof plot", picture_of(s.ask(SOLO % (node, 1, 1), uid=uid)[2]), picture_of(wanted.encode()))
        everywhere = s.ask((SOLO % (node, 1, 1)).replace("var-host=" + node, "var-host=elsewhere"), uid=uid)
        is_equal("ondemand: of an unknown node it is that of all", picture_of(everywhere[2]), picture_of(must("plot", "--sum", "--svg=-", "-s", "Step", "-d", "CPUTime", path).encode()))
    finally:
        s.end()


def not_of_others():
    s, uid = served()
    try:
        for job in ("1", "2", "3"):
            for address in (lambda j: "/job/" + j, lambda j: SOLO % ("n1", 1, j), lambda j: PAGE % ("n1", j)):
                theirs, none = ((status, re.sub(rb'"now":\d+|"var-jobid":"\d+"', b"", body)) for status, _, body in (s.ask(address(j), uid=OTHER) for j in (job, "99")))
                is_equal("ondemand, %s: for nobody else" % address(job)[:8], theirs, none)
                is_equal("ondemand, %s: which is 403" % address(job)[:8], none[0], 403)
        is_equal("ondemand: staff sees both", [s.ask("/job/" + j)[0] for j in "12"], [200, 200])
        for address in ("/d/jobprof/job/?var-jobid=", "/d/x", "/d-solo/x/y/?var-jobid=1&panelId=1&database=/etc/passwd", "/d-solo/x/y/?var-jobid=../1&panelId=1", "/d-solo/x/y/?var-jobid=1;2&panelId=1",
                        "/d-solo/x/y/?var-jobid=1&panelId=0", "/d-solo/x/y/?var-jobid=1&panelId=5", "/d-solo/x/y/?var-jobid=1&panelId=-1", "/d-solo/x/y/?var-jobid=1&panelId=1&var-host=%s" % ("../" * 5)):
            status, _, body = s.ask(address, uid=uid)
            is_true("ondemand, %s: no page of others" % address[-30:], status in (400, 403) or (status == 200 and b"<svg" in body and "var-host" in address), (status, body[:200]))
    finally:
        s.end()


def app_as(uid, home):
    """Calls the Passenger app as OnDemand's nginx of that user does: PATH_INFO, query -> status, headers, body."""
    def call(path, query="", method="GET", **more):
        def work():
            os.setgroups([])
            os.setgid(uid)
            os.setuid(uid)
            os.environ.update(JOBPROF=JOBPROF, HOME=home, SLURM_CONF=jobs_of_a_site()[1], TZ="UTC", LC_ALL="C.UTF-8")
            spec = importlib.util.spec_from_file_location("app", os.path.join(ROOT, "conf/ood/passenger_wsgi.py"))
            app = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(app)
            environ, said = {}, []
            wsgiref.util.setup_testing_defaults(environ)
            environ.update(REQUEST_METHOD=method, SCRIPT_NAME="/pun/sys/jobprof", PATH_INFO=path, QUERY_STRING=query, **more)
            out = wsgiref.validate.validator(app.application)(environ, lambda status, headers, exc=None: said.append((status, headers)))
            body = b"".join(out)
            out.close()
            return int(said[0][0][:3]), dict(said[0][1]), body
        return in_child(work)
    return call


def an_app_of_the_user():
    uid = jobs_of_a_site()[2]
    home = tmpdir("home")
    os.chown(home, uid, uid)
    ask = app_as(uid, home)
    status, headers, body = ask("/jobs.json", "since=all")
    is_equal("app: own jobs", (status, [r["job_id"] for r in json.loads(body)["rows"]]), (200, [1]))
    status, headers, body = ask("/jobs", "since=all")
    is_true("app: their page", status == 200 and data_of(body)["jobs"]["matching"] == 1 and "script-src 'self'" in headers["Content-Security-Policy"], (status, headers, body[:300]))
    status, headers, body = ask("/" + re.search(rb'"(assets/[^"]+js)"', body)[1].decode())
    is_true("app: its script", status == 200 and headers["Content-Type"].startswith("text/javascript") and int(headers["Content-Length"]) == len(body) > 10000, (status, headers))
    is_equal("app: the job's page", data_of(ask("/job/1")[2])["job"]["id"], "1")
    is_equal("app: the folder itself", (ask("")[0], ask("")[1]["Location"]), (302, "/pun/sys/jobprof/"))
    is_equal("app: HEAD", ask("/jobs", "since=all", "HEAD")[::2], (200, b""))
    for path, query, method, status in (("/jobs", "since=all", "POST", 405), ("/../etc/passwd", "", "GET", 400), ("/jobs", "database=/etc/passwd", "GET", 400), ("/jobs?user=x", "", "GET", 400), ("/nope", "", "GET", 404), ("/j\xf6bs", "", "GET", 400), ("/jobs\0", "", "GET", 400), ("/jobs", "name=\0", "GET", 400), ("/jobs", "name=\r\nX: y", "GET", 400), ("/j\u20acbs", "", "GET", 400),
                                        ("/job/99", "", "GET", 403)):
        is_equal("app, %s %r: %d" % (method, path + "?" + query, status), ask(path, query, method)[0], status)
    for site_, as_, status in (("cross-site", "script", 403), ("same-site", "iframe", 403), ("cross-site", "document", 200), ("same-origin", "empty", 200), ("none", "document", 200)):
        is_equal("app, fetched %s as %s: %d" % (site_, as_, status), ask("/jobs.json", "since=all", HTTP_SEC_FETCH_SITE=site_, HTTP_SEC_FETCH_DEST=as_)[0], status)
    root = app_as(OTHER, home)
    is_true("app: of another user none of these", root("/job/1")[0] != 200 and root("/jobs.json", "since=all")[0] != 200, root("/jobs.json", "since=all"))


if __name__ == "__main__":
    run_tests((panels_of_active_jobs, the_same_as_plot, not_of_others, an_app_of_the_user))
