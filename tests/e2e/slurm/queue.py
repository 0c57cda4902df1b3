#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 180
# releases: all
"""jobprof index watch asks a real squeue: what jobprof running says of jobs that run and wait is what scontrol says of them."""

import shutil
import sys

sys.path.insert(0, sys.path[0] + "/../../lib")
from slurmlib import *


def shown(c, job):
    text = c.command("scontrol", "-o", "show", "job", str(job), check=False)
    return [dict(re.findall(r"(\w+)=(\S*)", line)) for line in re.split(r"(?=\bJobId=)", text) if line.strip()]


def seconds(text):
    days, _, rest = text.rpartition("-")
    h, m, s = map(int, rest.split(":"))
    return int(days or 0) * 86400 + h * 3600 + m * 60 + s


def as_scontrol_says():
    c = Cluster("v2")
    name = "a|b\nc'; DROP TABLE running"
    jobs = {"runs": c.sbatch("sleep 1000", ["-n", "3", "-t", "1-2:03:04", "-J", name]), "two nodes": c.sbatch("sleep 1000", ["-N", "2", "-t", "90"]), "held": c.sbatch("true", ["-H"]),
            "later": c.sbatch("true", ["--begin=now+1000"]), "array": c.sbatch("true", ["-a", "1-9%2", "--begin=now+1000", "-t", "UNLIMITED"]), "tasks": c.sbatch("sleep 1000", ["-a", "3,5", "-n", "1"])}
    c.wait_state(jobs["runs"].id, "RUNNING")
    index, dir_ = os.path.join(tmpdir("index"), "index.db"), tmpdir("prof")
    p = start([JOBPROF, "index", "watch", "--every", "1", "--sacct", "none", "--database", index, dir_], stdout=subprocess.DEVNULL, env=c.env)

    def rows():
        out = subprocess.run([JOBPROF, "running", "--json", "--all", "--database", index], capture_output=True, text=True)
        d = json.loads(out.stdout) if not out.returncode else {"rows": [], "waiting_rows": []}
        return {r["job_id"]: r for r in d["rows"] + d["waiting_rows"]}
    wait_until(lambda: len(rows()) >= 6, 30, "the queue")
    got = rows()
    p.terminate()
    p.wait(30)
    for what, job in jobs.items():
        number = job.id
        for s in shown(c, number):
            r = got[int(s["JobId"])]
            is_equal("queue, %s: state" % what, r["state"], s["JobState"])
            is_equal("queue, %s: who and where" % what, [r["user"], r["partition"]], [s["UserId"].split("(")[0], s["Partition"]])
            is_equal("queue, %s: what it has" % what, [r["nodes"], r["cores"]], [int(s["NumNodes"].split("-")[0]), int(s["NumCPUs"].split("-")[0])])
            is_equal("queue, %s: its limit" % what, r["limit_s"], None if s["TimeLimit"] in ("UNLIMITED", "365-00:00:00") else seconds(s["TimeLimit"]))
            if s["JobState"] == "PENDING":
                is_equal("queue, %s: why it waits" % what, r["reason"], s["Reason"].split(",")[0])
            else:
                is_near("queue, %s: its begin" % what, r["start"], time.mktime(time.strptime(s["StartTime"], "%Y-%m-%dT%H:%M:%S")), 0, 1)
    first = got[jobs["runs"].id]
    is_equal("queue: a name of two lines", first["name"], name.replace("\n", "\ufffd"))


if __name__ == "__main__":
    run_tests((as_scontrol_says,))
