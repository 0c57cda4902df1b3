#!/usr/bin/python3
# releases: all
# timeout: 150
# SPDX-License-Identifier: GPL-2.0-or-later
"""jobprof mail as the MailProg of a real Slurm: slurmctld calls it, and the mails have what the profile of the job says; of
an array there is one."""

import email
import email.policy
import sys

sys.path.insert(0, sys.path[0] + "/../../lib")
from slurmlib import *

PROG = """#!/bin/sh
exec %s mail --spool %s --program /bin/false "$@"
"""
SENDMAIL = """#!/bin/sh
cat >"${0%/*}/$(date +%s%N).eml"
"""


def executable(path, text):
    with open(path, "w") as f:
        f.write(text)
    os.chmod(path, 0o755)
    return path


class Post:
    def __init__(self):
        self.dir, self.spool, self.index = tmpdir("post"), tmpdir("spool"), tmpdir("index") + "/index.db"
        self.prog = executable(self.dir + "/prog", PROG % (JOBPROF, self.spool))
        self.sendmail = executable(self.dir + "/sendmail", SENDMAIL)
        self.turn()

    def call(self, *args):
        p = subprocess.run([JOBPROF, "index", *args, "--database", self.index], capture_output=True, text=True)
        if p.returncode:
            raise Failed("jobprof index %s: %s" % (" ".join(args), p.stderr))
        return p.stdout.strip()

    def turn(self):
        return self.call("mail", "--spool", self.spool, "--sendmail", self.sendmail)

    def subjects(self):
        out = []
        for path in glob.glob(self.spool + "/*.mail"):
            with open(path) as f:
                out.append(json.load(f)["subject"])
        return out

    def mails(self):
        out = []
        for path in sorted(glob.glob(self.dir + "/*.eml")):
            with open(path, "rb") as f:
                out.append(email.message_from_bytes(f.read(), policy=email.policy.default))
            os.remove(path)
        return out


def text_of(mail):
    return mail.get_body(("plain",)).get_content()


def a_job(name, c, d, post):
    j = c.sbatch("srun %s 0.5\n" % tool("jpspin"), ["-w", c.nodes[0], "-n1", "-t5", "-J", "sol\u00fcver", "--mail-type=BEGIN,END",
                                                    "--mail-user=alice@example.org"])
    is_equal(name + ": it ends", j.end(), "COMPLETED")
    wait_until(lambda: sum("Job_id=%d " % j.id in s for s in post.subjects()) == 2, 30, "two calls of MailProg")
    for step in (0, "batch"):
        d.get(j.id, step, c.nodes[0])
    steps_end(d, j.id)
    post.call("scan", d.hdf5)
    is_equal(name + ": both are sent", post.turn(), "2 sent, 0 waiting, 0 failed, 0 refused")
    mails = {re.search("(Began|Ended)", m["Subject"]).group(1): m for m in post.mails()}
    is_true(name + ": Slurm's subject", mails["Ended"]["Subject"].startswith("Slurm Job_id=%d Name=sol\u00fcver Ended, Run time" % j.id)
            and mails["Ended"]["Subject"].endswith("COMPLETED, ExitCode 0"), mails["Ended"]["Subject"])
    text = text_of(mails["Ended"])
    is_true(name + ": what it used", re.search("^State: COMPLETED", text, re.M) and re.search("^CPU Utilized: 00:00:0[01]$", text, re.M)
            and "Memory Utilized" in text, text)
    is_true(name + ": of its begin nothing", "CPU Utilized" not in text_of(mails["Began"]), text_of(mails["Began"]))


def an_array(name, c, d, post):
    j = c.sbatch("exec %s 0.2\n" % tool("jpspin"), ["-w", c.nodes[0], "-n1", "-t5", "-J", "many", "-a", "1-3", "--mail-type=END,ARRAY_TASKS",
                                                    "--mail-user=bob"])
    wait_until(lambda: sum("Array Task Job_id=%d_" % j.id in s for s in post.subjects()) == 3, 60, "three calls of MailProg")
    wait_until(lambda: len(glob.glob(d.hdf5 + "/root/*_batch_*.h5")) >= 4, 30, "their files")
    post.call("scan", d.hdf5)
    wait_until(lambda: post.turn().startswith("1 sent"), 30, "one mail")
    mail, = post.mails()
    is_equal(name + ": one mail", (mail["To"], mail["Subject"]), ("bob", "Slurm Array Job_id=%d Name=many Ended, 3 tasks: 3 COMPLETED" % j.id))
    is_true(name + ": its tasks", "Tasks: 3 " in text_of(mail), text_of(mail))


def seff_while_it_runs(name, c, d, post):
    """From the files that jobprofd publishes of running steps."""
    j = c.sbatch("srun sh -c '%s 0.9; until [ -e go ]; do sleep 0.1; done'\n" % tool("jpspin"), ["-w", c.nodes[0], "-n1", "-t5", "-J", "run"])
    def says():
        p = subprocess.run([JOBPROF, "seff", str(j.id), "-p", d.hdf5], capture_output=True, text=True, env=plain_env(HOME="/absent"))
        return dict(line.split(": ", 1) for line in p.stdout.splitlines())
    live = os.path.join(d.hdf5, "root", ".%d_0_%s.h5" % (j.id, c.nodes[0]))
    wait_until(lambda: os.path.exists(live), 30, live)
    wait_until(lambda: says().get("State") == "RUNNING", 30, "seff to know of the job")
    wait_until(lambda: says().get("CPU Utilized") == "00:00:01", 30, "its CPU time")  # 0.9 s and the shells', rounded
    is_true(name + ": with a warning", "RUNNING" in says()["WARNING"], says())
    with open(j.dir + "/go", "w"):
        pass
    is_equal(name + ": it ends", j.end(), "COMPLETED")
    for step in (0, "batch"):
        d.get(j.id, step, c.nodes[0])
    steps_end(d, j.id)
    is_equal(name + ": then it is as any job", (says().get("State"), "WARNING" in says()), ("COMPLETED (exit code 0)", False))


def main():
    post = Post()
    d = Profiler(PublishInterval="1")
    clusters = start_clusters(modes=MODES[1:], nodes=1, conf=["MailProg=" + post.prog])
    if not clusters:
        return
    d.start()
    for test in (a_job, an_array, seff_while_it_runs):
        test(test.__name__.replace("_", " "), clusters["v2"], d, post)
    is_equal("mail: jobprofd's exit status", d.end(), 0)


if __name__ == "__main__":
    need_bpf()
    main()
