#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""jobprof mail and jobprof index mail, without a Slurm: what slurmctld's call leaves in the spool, and what a stand-in for
sendmail gets, read by Python's email."""

import email
import email.policy
import html.parser
import socket
import sys

sys.path.insert(0, sys.path[0] + "/../../lib")
from lib import *
import sefflib

SENDMAIL = """#!/usr/bin/python3
import os, sys, time
d = os.path.dirname(sys.argv[0])
text = sys.stdin.buffer.read()
with open(d + "/calls", "a") as f:
    f.write(repr(sys.argv[1:]) + "\\n")
if os.path.exists(d + "/hang"):
    time.sleep(60)
if os.path.exists(d + "/fail") and open(d + "/fail").read().encode() in text:
    sys.exit("sendmail: no")
with open("%s/%d.eml" % (d, time.time_ns()), "wb") as f:
    f.write(text)
"""
OLD = """#!/bin/sh
for word; do printf '%s|' "$word"; done >>"${0%/*}/old.log"; echo >>"${0%/*}/old.log"
"""


class Post:
    """A spool that is served, an index, and what takes the mails."""

    def __init__(self, rows=()):
        self.dir, self.spool, self.index = tmpdir("post"), tmpdir("spool"), tmpdir() + "/index.db"
        for name, text in (("sendmail", SENDMAIL), ("old", OLD)):
            with open(os.path.join(self.dir, name), "w") as f:
                f.write(text)
            os.chmod(os.path.join(self.dir, name), 0o755)
        subprocess.run([JOBPROF, "index", "scan", tmpdir(), "--database", self.index], check=True, capture_output=True)
        sefflib.put_rows(self.index, rows)
        self.turn()

    def put(self, subject, to="alice@example.org", **env):
        """As slurmctld calls its MailProg."""
        p = subprocess.run([JOBPROF, "mail", "--spool", self.spool, "--program", self.dir + "/old", "-s", subject, to],
                           capture_output=True, text=True, env=plain_env(**{"SLURM_" + k: str(v) for k, v in env.items()}))
        return p.returncode, p.stdout, p.stderr

    def turn(self, *args):
        p = subprocess.run([JOBPROF, "index", "mail", "--database", self.index, "--spool", self.spool, "--sendmail",
                            self.dir + "/sendmail", *args], capture_output=True, text=True)
        return p.returncode, p.stdout.strip(), p.stderr

    def mails(self):
        """Those that came since the last call."""
        out = []
        for path in sorted(glob.glob(self.dir + "/*.eml")):
            with open(path, "rb") as f:
                out.append(email.message_from_bytes(f.read(), policy=email.policy.default))
            os.remove(path)
        return out

    def files(self):
        return sorted(os.path.basename(p) for p in glob.glob(self.spool + "/*"))

    def age(self, seconds):
        """All of the spool is that much older."""
        for path in glob.glob(self.spool + "/*.mail"):
            with open(path) as f:
                o = json.load(f)
            o["at"] -= seconds
            with open(path, "w") as f:
                json.dump(o, f)

    def sql(self, statement):
        with sefflib.sqlite3.connect(self.index) as db:
            found = db.execute(statement).fetchall()
        db.close()
        return found


def row(number, **more):
    return {**sefflib.Job(number, cluster="tux").row(), "end": int(time.time()), "start": int(time.time()) - 60, "name": "solver", **more}


def ended(number, name="solver", state="COMPLETED", **more):
    return {"JOB_ID": number, "JOB_NAME": name, "JOB_STATE": state, "JOB_MAIL_TYPE": "Ended", "CLUSTER_NAME": "tux", **more}


def part(mail, kind):
    return mail.get_body((kind,)).get_content()


class Texts(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags, self.text = set(), ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)

    def handle_data(self, data):
        self.text += data


def one_job():
    p = Post([row(7, findings=1, worst_rule="cpu.unused", worst_text="Cores idle")])
    p.sql("INSERT INTO finding (job, n, rule, severity, text, remedy, place) SELECT id, 0, 'cpu.unused', 2, "
          "'12 of 16 cores did <nothing>', 'ask for 4', 'n1' FROM job")
    subject = "Slurm Job_id=7 Name=solver Ended, Run time 00:01:00, COMPLETED, ExitCode 0"
    is_equal("the call is quiet", p.put(subject, **ended(7)), (0, "", ""))
    is_true("one file, which others cannot read", len(p.files()) == 1 and not os.stat(p.spool + "/" + p.files()[0]).st_mode & 7, p.files())
    is_equal("it is sent", p.turn(), (0, "1 sent, 0 waiting, 0 failed, 0 refused", ""))
    mail, = p.mails()
    is_equal("its headers", {k: mail[k] for k in ("To", "Subject", "Auto-Submitted", "MIME-Version")},
             {"To": "alice@example.org", "Subject": subject, "Auto-Submitted": "auto-generated", "MIME-Version": "1.0"})
    is_true("Message-ID and Date", re.fullmatch(r"<jobprof\.7\.Ended\.\d+mail@tux>", mail["Message-ID"])
            and abs(mail["Date"].datetime.timestamp() - time.time()) < 60, (mail["Message-ID"], mail["Date"]))
    is_equal("its parts", (mail.get_content_type(), [x.get_content_type() for x in mail.iter_parts()]),
             ("multipart/alternative", ["text/plain", "text/html"]))
    text, page = part(mail, "plain"), Texts(part(mail, "html"))
    out = subprocess.run([JOBPROF, "seff", "--database", p.index, "7"], capture_output=True, text=True).stdout
    is_true("the text has seff's lines and the finding", out in text and "12 of 16 cores did <nothing> (n1)\n    What to change: ask for 4"
            in text and "jobprof report -j 7" in text, text)
    is_true("the page too", "COMPLETED (exit code 0)" in page.text and "12 of 16 cores did <nothing>" in page.text
            and page.tags <= set("html head meta body p table tr th td b br code".split()), (page.tags, page.text))
    is_equal("sendmail is called for the header's address", open(p.dir + "/calls").read(), "['-t', '-i']\n")
    is_equal("nothing stays", (p.files(), p.turn()[1], p.mails()), ([], "0 sent, 0 waiting, 0 failed, 0 refused", []))
    body = subprocess.run([JOBPROF, "mail", "--body", "7", "--database", p.index], capture_output=True, text=True)
    is_true("--body prints it", body.returncode == 0 and out in body.stdout and "ask for 4" in body.stdout, body)


def it_waits_for_the_index():
    p = Post()
    p.put("Slurm Job_id=8 Name=x Ended, Run time 00:01:00, FAILED, ExitCode 1", **ended(8, state="FAILED"))
    p.put("Slurm Job_id=8 Name=x Began, Queued time 00:00:01", **ended(8, JOB_MAIL_TYPE="Began", JOB_STATE="RUNNING"))
    is_equal("what is not about an end does not wait", p.turn()[1], "1 sent, 1 waiting, 0 failed, 0 refused")
    is_true("its body", part(p.mails()[0], "plain").strip() == "Slurm Job_id=8 Name=x Began, Queued time 00:00:01", "")
    sefflib.put_rows(p.index, [row(8, findings=None, sources=1)])
    is_equal("a row without a profile may get one", p.turn()[1], "0 sent, 1 waiting, 0 failed, 0 refused")
    p.age(121)
    is_equal("after two minutes", p.turn()[1], "1 sent, 0 waiting, 0 failed, 0 refused")
    is_true("what Slurm knows", "Job Wall-clock time: 00:01:00" in part(p.mails()[0], "plain"), "")
    p.put("Slurm Job_id=9 Name=x Ended", **ended(9))
    p.age(121)
    p.turn()
    is_true("nothing is known", "There is no profile of it" in part(p.mails()[0], "plain"), "")


def one_mail_per_array():
    rows = [row(100 + t, array_id=100, array_task=t) for t in range(300)]
    p = Post(rows)
    for t in range(30):
        p.put("Slurm Array Task Job_id=100_%d (%d) Name=many Ended" % (t, 100 + t),
              **ended(100 + t, "many", "FAILED" if t % 10 == 3 else "COMPLETED", ARRAY_JOB_ID=100, ARRAY_TASK_ID=t, ARRAY_TASK_COUNT=30))
        if t == 20:
            is_equal("tasks wait for each other", p.turn()[1], "0 sent, 1 waiting, 0 failed, 0 refused")
    is_equal("all are there", p.turn()[1], "1 sent, 0 waiting, 0 failed, 0 refused")
    mail, = p.mails()
    is_equal("its subject", mail["Subject"], "Slurm Array Job_id=100 Name=many Ended, 30 tasks: 27 COMPLETED, 3 FAILED")
    is_true("the array's sums", "Tasks: 300 (300 COMPLETED)" in part(mail, "plain") and "jobprof seff -a 100" in part(mail, "plain"), part(mail, "plain"))
    for t in range(2):
        p.put("Slurm Array Task", **ended(100 + t, "many", ARRAY_JOB_ID=100, ARRAY_TASK_ID=t, ARRAY_TASK_COUNT=300))
    p.age(121)
    is_equal("others end later: not within the hour", p.turn()[1], "0 sent, 1 waiting, 0 failed, 0 refused")
    p.sql("UPDATE mail SET at = at - 3600")
    is_equal("an hour later", p.turn()[1], "1 sent, 0 waiting, 0 failed, 0 refused")
    p.mails()
    p.put("Slurm Array Summary Job_id=100_* (399) Name=many Ended, Mixed, ExitCode [0-1]", **ended(399, "many", ARRAY_JOB_ID=100, ARRAY_TASK_COUNT=300))
    is_equal("Slurm's summary is sent as it is", p.turn()[1], "1 sent, 0 waiting, 0 failed, 0 refused")
    mail, = p.mails()
    is_true("with sums", mail["Subject"].startswith("Slurm Array Summary") and "Tasks: 300" in part(mail, "plain"), mail["Subject"])


def hostile_names():
    evil = "x\r\nBcc: root@example.org\r\n\r\n<script>alert(1)</script> \u202e\x1b[31m \u00fcber =?UTF-8?Q?x?= " + "\u00e4" * 200
    p = Post([row(11, name=evil, user="root")])
    p.put("Slurm Job_id=11 Name=%s Ended" % evil, **ended(11, evil))
    is_equal("sent", p.turn()[1], "1 sent, 0 waiting, 0 failed, 0 refused")
    with open(glob.glob(p.dir + "/*.eml")[0], "rb") as f:
        raw = f.read()
    mail, = p.mails()
    is_equal("no header comes of it", sorted(set(mail.keys())),
             sorted(["To", "Subject", "Date", "Message-ID", "Auto-Submitted", "MIME-Version", "Content-Type"]))
    is_true("the subject is one line of what can be seen", mail["Subject"].startswith("Slurm Job_id=11 Name=x") and "\u00fcber" in mail["Subject"]
            and not re.search("[\\x00-\\x1f\\x7f\u202e]", mail["Subject"]), ascii(mail["Subject"]))
    is_true("ASCII, in short lines", raw.isascii() and max(len(line) for line in raw.splitlines()) <= 78, max(map(len, raw.splitlines())))
    is_true("no markup comes of it", "script" not in Texts(part(mail, "html")).tags, part(mail, "html"))
    is_true("no escape in the text", "\x1b" not in part(mail, "plain"), "")
    for to in ("a@b\nBcc: c@d", "a b", "-oQ/tmp", "<a@b>", "a@b;c", "", "\u00e4@b", "a@b,,c", "x" * 600, "|/bin/sh", "/etc/passwd", "a@b,|/bin/sh",
               "a@b,/tmp/x", "a@b,-x", "a|sh@b", "a@b\t", "a@b\x7f"):
        status, out, err = p.put("s", to, **ended(11))
        is_true("no address: %s" % ascii(to)[:20], status == 1 and "is no address of a mail" in err, (status, err))
    is_equal("options are no addresses", (p.put("s", "--body=1")[0], p.put("s", "--program=/bin/true")[0]), (1, 1))
    is_equal("several addresses, and names of this machine", [p.put("s", "alice,bob@x.org", **ended(11))[0], p.turn()[1], p.mails()[0]["To"].replace(" ", "")],
             [0, "1 sent, 0 waiting, 0 failed, 0 refused", "alice,bob@x.org"])


def of_its_own_user():
    """Of the job's id the index knows what another user's file says: that is not of the mail."""
    p = Post([row(95003, user="mallory", name="forged", sources=2, findings=1, worst_rule="cpu.unused", worst_text="Forged"),
              *[row(960 + t, user="mallory", sources=2, array_id=960, array_task=t) for t in range(2)]])
    p.put("Slurm Job_id=95003 Ended", **ended(95003, JOB_USER="bob"))
    for t in range(2):
        p.put("Slurm Array Task", **ended(960 + t, JOB_USER="bob", ARRAY_JOB_ID=960, ARRAY_TASK_ID=t, ARRAY_TASK_COUNT=2))
    is_equal("both wait, as for a profile", p.turn()[1], "0 sent, 2 waiting, 0 failed, 0 refused")
    p.age(121)
    is_equal("and are sent", p.turn()[1], "2 sent, 0 waiting, 0 failed, 0 refused")
    texts = [part(m, "plain") for m in p.mails()]
    is_true("with nothing of the other user", len(texts) == 2 and not any("orged" in t or "mallory" in t or "Job ID" in t for t in texts), texts)
    sefflib.put_rows(p.index, [row(95003, user="bob", start=int(time.time()) - 4000, findings=0)])
    p.put("Slurm Job_id=95003 Ended", **ended(95003, JOB_USER="bob"))
    p.age(121)
    status, out, err = p.turn()
    text = part(p.mails()[0], "plain")
    is_true("of two rows that of the user", "User/Group: bob/" in text and "mallory" not in text, (out, err, text))


def files_of_others():
    p = Post()
    good = {"subject": "s", "to": "a@b", "at": 1, "env": {}}
    for name, text in (("1.mail", "{"), ("2.mail", json.dumps(dict(good, to="a\n@b"))), ("3.mail", "x" * 70000), ("4.mail", json.dumps([good])),
                       ("5.mail", json.dumps(dict(good, at=None))), ("6.tmp", "{"), (".7.mail", json.dumps(good))):
        with open(os.path.join(p.spool, name), "w") as f:
            f.write(text)
    os.symlink("/etc/passwd", p.spool + "/8.mail")
    os.mkfifo(p.spool + "/9.mail")
    with socket.socket(socket.AF_UNIX) as s:
        s.bind(p.spool + "/11.mail")
    with open(p.spool + "/10.mail", "w") as f:
        json.dump(good, f)
    os.chown(p.spool + "/10.mail", 4242, 4242)
    is_equal("refused", p.turn()[:2], (1, "0 sent, 0 waiting, 0 failed, 9 refused"))
    is_equal("what is no mail is gone", p.files(), ["6.tmp"])
    is_equal("nothing was sent", p.mails(), [])


def a_file_that_may_not_be_read():
    """As by a service whose user is not in the group of Slurm's user."""
    p = Post()
    p.put("Slurm Job_id=7 Began", **ended(7, JOB_MAIL_TYPE="Began"))
    name, = p.files()
    public = shutil.copy(JOBPROF, TMP + "/jobprof")
    os.chmod(TMP, 0o755)
    for path in (p.dir, p.spool, os.path.dirname(p.index)):
        for each in (path, *(e.path for e in os.scandir(path) if e.name != name)):
            os.chown(each, 65534, 65534)
    q = subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", public, "index", "mail", "--database", p.index,
                        "--spool", p.spool, "--sendmail", p.dir + "/sendmail"], capture_output=True, text=True, env=plain_env())
    is_true("it fails, and is not lost", (q.returncode, q.stdout, p.files()) == (1, "0 sent, 0 waiting, 1 failed, 0 refused\n", [name])
            and q.stderr.count("\n") == 1 and name + ": it cannot be read: Permission denied" in q.stderr, q)


def sendmail_that_fails():
    p = Post([row(n) for n in range(20, 24)])
    for n in range(20, 24):
        p.put("Slurm Job_id=%d Ended" % n, "user%d@x.org" % n, **ended(n))
    with open(p.dir + "/fail", "w") as f:
        f.write("user21@")
    status, out, err = p.turn()
    is_true("the others are sent", (status, out) == (1, "3 sent, 0 waiting, 1 failed, 0 refused") and "status 1: sendmail: no" in err, (out, err))
    os.remove(p.dir + "/fail")
    is_equal("it is tried again, once", ([m["To"] for m in p.mails()], p.turn()[1], [m["To"] for m in p.mails()], p.turn()[1]),
             (["user20@x.org", "user22@x.org", "user23@x.org"], "1 sent, 0 waiting, 0 failed, 0 refused", ["user21@x.org"],
              "0 sent, 0 waiting, 0 failed, 0 refused"))
    with open(p.dir + "/hang", "w"):
        pass
    for n in range(20, 24):
        p.put("again", **ended(n))
    began = time.monotonic()
    status, out, err = p.turn("--wait", "1")
    is_true("one that hangs ends the turn", status == 1 and out.startswith("0 sent, ") and err.count("it had not ended after 1 s") == 1
            and time.monotonic() - began < 30 and len(p.files()) == 4, (out, err))
    os.remove(p.dir + "/hang")
    p.age(86500)
    with open(p.dir + "/fail", "w") as f:
        f.write("T")
    status, out, err = p.turn()
    is_true("after a day it is lost, and that is said", p.files() == [] and err.count("it is lost") == 4, err)


def at_most_so_many_a_minute():
    p = Post()
    for n in range(5):
        p.put("Slurm Job_id=%d Began" % n, **ended(n, JOB_MAIL_TYPE="Began"))
    is_equal("three", p.turn("--rate", "3")[1], "3 sent, 2 waiting, 0 failed, 0 refused")
    is_equal("no more", p.turn("--rate", "3")[1], "0 sent, 2 waiting, 0 failed, 0 refused")
    p.sql("UPDATE mail SET at = at - 61")
    is_equal("a minute later", p.turn("--rate", "3")[1], "2 sent, 0 waiting, 0 failed, 0 refused")


def users_take_turns():
    """One user's mails, many of them or none that sendmail takes, leave another user's first."""
    p = Post()
    for i in range(12):
        p.put("flood %d" % i, "mallory@example.org", JOB_ID=i + 1, JOB_USER="mallory", JOB_MAIL_TYPE="Began", CLUSTER_NAME="c")
    p.put("one", JOB_ID=99, JOB_USER="alice", JOB_MAIL_TYPE="Began", CLUSTER_NAME="c")
    with open(p.dir + "/fail", "w") as f:
        f.write("flood")
    p.turn()
    is_equal("those of the other fail", [m["Subject"] for m in p.mails()], ["one"])
    os.remove(p.dir + "/fail")
    p.put("two", JOB_ID=100, JOB_USER="alice", JOB_MAIL_TYPE="Began", CLUSTER_NAME="c")
    p.turn("--rate", "4")
    is_equal("the rate is shared", sorted(m["Subject"] for m in p.mails()), ["flood 0", "flood 1", "two"])


def none_twice():
    """As after a stop between sending and removing the file."""
    p = Post([row(30)])
    p.put("Slurm Job_id=30 Ended", **ended(30))
    name, = p.files()
    with open(p.spool + "/" + name) as f:
        text = f.read()
    p.turn()
    with open(p.spool + "/" + name, "w") as f:
        f.write(text)
    is_equal("it is not sent again", (p.turn()[1], len(p.mails()), p.files()), ("0 sent, 0 waiting, 0 failed, 0 refused", 1, []))


def falls_through():
    p = Post()
    os.utime(p.spool + "/.served", (time.time() - 700,) * 2)
    is_equal("nobody serves the spool", (p.put("a subject", "alice")[0], p.files()), (0, []))
    p.turn()
    p.put("in the spool")
    shutil.rmtree(p.spool)
    is_equal("there is no spool", p.put("another", "bob")[0], 0)
    is_equal("the old program gets the same words", open(p.dir + "/old.log").read(), "-s|a subject|alice|\n-s|another|bob|\n")
    os.remove(p.dir + "/old")
    status, out, err = p.put("lost")
    is_true("there is no old program", status == 1 and "the mail is lost" in err, err)
    status, out, err = p.turn()
    is_true("who sends says it", status == 1 and "MailSpool is made by" in err, err)


@in_full
def it_takes_little():
    """The best of 20 calls, from fork to end; what it must not do is wait."""
    p, times = Post(), []
    for n in range(20):
        began = time.monotonic()
        pid = os.posix_spawn(JOBPROF, ["jobprof", "mail", "--spool", p.spool, "--program", "/bin/false", "-s", "s", "a@b"],
                             {"SLURM_JOB_ID": "1"})
        os.waitpid(pid, 0)
        times.append(time.monotonic() - began)
    print("# jobprof mail: best %.1f ms, median %.1f ms" % (min(times) * 1e3, sorted(times)[10] * 1e3))
    is_true("within 10 ms", min(times) < 0.01, times)
    is_equal("each is there", len(p.files()), 20)


def by_its_name():
    p = subprocess.run([os.path.join(BUILD, "jobprof-mail"), "--help"], capture_output=True, text=True)
    is_true("jobprof-mail is jobprof mail", p.returncode == 0 and p.stdout.startswith("usage: jobprof mail"), p)


run_tests([one_job, it_waits_for_the_index, one_mail_per_array, hostile_names, of_its_own_user, files_of_others,
           a_file_that_may_not_be_read, sendmail_that_fails, at_most_so_many_a_minute, users_take_turns, none_twice, falls_through, it_takes_little, by_its_name])
