# SPDX-License-Identifier: GPL-2.0-or-later
"""genome.py BASES READS: ref.fa, and reads of it with errors in reads.fq"""
import random
import sys

r = random.Random(1)
ref = "".join(r.choices("ACGT", k=int(sys.argv[1])))
with open("ref.fa", "w") as f:
    f.write(">ref\n" + "\n".join(ref[i : i + 70] for i in range(0, len(ref), 70)) + "\n")
with open("reads.fq", "w") as f:
    for i in range(int(sys.argv[2])):
        at = r.randrange(len(ref) - 150)
        read = list(ref[at : at + 150])
        for _ in range(3):
            read[r.randrange(150)] = r.choice("ACGT")
        f.write("@r%d\n%s\n+\n%s\n" % (i, "".join(read), "I" * 150))
