#!/usr/bin/python3
# runs: in full
# timeout: 120
# SPDX-License-Identifier: GPL-2.0-or-later
"""Times of block requests: the histogram, its percentiles against fio's, and the disk's own sums."""

import math
import sys
sys.path.insert(0, sys.path[0] + "/../../lib")
from blocklib import *

LATENCY_TRIES = 5


def percentile_bucket(counts, part):
    wanted, seen = part * counts.sum(), 0
    for k, n in enumerate(counts):
        seen += n
        if seen >= wanted:
            return k
    return -1


def histogram(rows, letter):
    return numpy.array([rows["%s%d" % (letter, k)].sum() for k in range(40)])


def soon():
    """Runs a command before all others, where that is allowed, and on one CPU: fio's latency ends
    when it runs again."""
    first = ["chrt", "-f", "1"]
    try:
        allowed = not subprocess.run(first + ["true"], capture_output=True).returncode
    except FileNotFoundError:
        allowed = False
    return "taskset -c %d %s " % (max(os.sched_getaffinity(0)),
                                  " ".join(first) if allowed else "nice -n -20")


class Reads:
    """One read at a time, large enough that little of fio's latency is not the disk's."""

    def __init__(self, path, out):
        self.job = Job(soon() + fio_cmd(path, out, "--direct=1", "--rw=randread", "--bs=256k",
                                        "--size=%d" % SIZE, "--loops=8"), disk_of(path))
        self.fio = fio_result(out)["read"]
        self.rows = table(self.job.path, "BlkLatency/0")
        self.every, self.writes = histogram(self.rows, "B"), histogram(self.rows, "W")
        self.buckets = [(p, percentile_bucket(self.every - self.writes, p / 100),
                         int(math.log2(self.fio["clat_ns"]["percentile"]["%d.000000" % p])))
                        for p in (50, 90, 95, 99)]
        # of all its processes
        self.delay_ns = total(self.job.rows, "RunDelay") * 1e9

    def far(self):
        """How many buckets too far apart the percentiles are."""
        return sum(max(abs(ours - theirs) - 1, 0) for _, ours, theirs in self.buckets)

    def was_late(self):
        """fio waited for the CPU for so long that its percentiles say nothing: the reads above one
        took, if the disk's part is as we say, at least this much longer."""
        for part, ours, theirs in self.buckets:
            above = (1 - part / 100) * self.fio["total_ios"]
            if theirs > ours + 1 and self.delay_ns < above * (2**theirs - 2**(ours + 1)) / 2:
                return False
        return all(theirs >= ours - 1 for _, ours, theirs in self.buckets)


def percentiles(path, out):
    """The best of a few tries, each whole: of what happens to fio after the disk has done its part
    not all is known."""
    best = None
    for _ in range(LATENCY_TRIES):
        r = Reads(path, out)
        best = r if not best or r.far() < best.far() else best
        if not best.far():
            break
    name = "BlkLatency: p%d is fio's within one bucket"
    for part, ours, theirs in best.buckets:
        if best.far() and best.was_late():
            skip(name % part, "fio waited %.3f s for its CPU" % (best.delay_ns / 1e9))
        else:
            is_near(name % part, ours, theirs, 0, 1)
    return best


def disk_times(job, most_ns):
    """Ours and the disk's. Each request that no program saw has taken up to most_ns."""
    for what in ("read", "write"):
        least, most = job.stat(what + "_time_ns")
        # The kernel's own ends when the request's memory is given back, some us later; in ms.
        late = 10e-6 * job.counted(what + "s")
        missing = job.unseen(what + "s") * most_ns / 1e9
        is_near("the %s time of all slots is the disk's" % what, job.counted(what + "_time_ns") / 1e9 +
                missing / 2, (least + most) / 2e9, 0.03,
                0.002 + late + missing / 2 + (most - least) / 2e9)


def slowest_s(histogram_, n):
    """What its n slowest requests took at most."""
    s = 0
    for k in range(39, -1, -1):
        some = min(n, histogram_[k])
        s, n = s + some * 2 ** (k + 1) / 1e9, n - some
    return s


def latency():
    path = laid_out()
    reads = percentiles(path, os.path.join(os.path.dirname(path), "fio.json"))
    job, fio, every, writes = reads.job, reads.fio, reads.every, reads.writes
    names = ["%s%d" % (c, k) for c in "BW" for k in range(40)]
    is_true("BlkLatency has B0..B39 and W0..W39", set(names) <= set(reads.rows.dtype.names),
            str(reads.rows.dtype.names))
    untimed = total(job.rows, "BlkUntimed")
    is_equal("BlkLatency: B is every request whose time is known", every.sum(),
             total(job.rows, "BlkReads") + total(job.rows, "BlkWrites") - untimed)
    is_near("BlkLatency: W is the writes", writes.sum() + untimed / 2,
            total(job.rows, "BlkWrites"), 0, untimed / 2)
    spent = fio["clat_ns"]["mean"] * fio["total_ios"] / 1e9
    ours, late = job.own("read_time_ns") / 1e9, reads.delay_ns / 1e9
    # programs and libraries that were not in memory
    others = max(0, int(total(job.rows, "BlkReads")) - fio["total_ios"])
    is_true("BlkReadTime is below fio's completion latency, and not far",
            0.4 * (spent - late) < ours < 1.1 * spent + 0.02 + slowest_s(every, others),
            "%.4f s, fio %.4f s and %.4f s late, %d not fio's" % (ours, spent, late, others))
    disk_times(job, 2 ** (int(numpy.flatnonzero(every).max()) + 1))
    is_true("ProbeTime counts the requests", total(job.rows, "ProbeTime") > 0, "it is 0")


if __name__ == "__main__":
    run_block_tests([latency])
