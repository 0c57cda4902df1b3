# SPDX-License-Identifier: GPL-2.0-or-later
"""Shells, compressors, builds, videos, genomes."""

from case import Case, V

PY = "/usr/bin/python3 $P/"
TEXT = "head -c [[%d]]%s /dev/urandom | base64 >text; cat text text text >big"
VIDEO = "ffmpeg -v error -f lavfi -i testsrc=size=%s:rate=25:duration=[[%d]] -y %s"
GENOME = PY + "genome.py %d [[%d]]"
SOURCES = """for i in $(seq [[6]]); do printf '#include <map>\\n#include <string>\\nint f%d(std::map<std::string, int> &m) { return m["%d"]++; }\\n' $i $i >f$i.cc; done
printf 'all: $(patsubst %%.cc,%%.o,$(wildcard *.cc))\\n%%.o: %%.cc\\n\\tg++ -O1 -c -o $@ $<\\n' >Makefile"""
HISTORY = """git init -q r; cd r; (for i in $(seq [[600]]); do printf 'commit refs/heads/main\\ncommitter a <a@b> %d +0000\\ndata 1\\nx\\nM 100644 inline f%d\\ndata 6\\n%05d\\n\\n' $i $((i % 50)) $i; done) | git fast-import --quiet"""
FORKS = dict(rules="proc.forks", remedy="one program|start", also="cpu.serial cpu.unused")

CASES = (
    Case("shell steps", "awk", "",
         sick="""i=0; while [ $i -lt [[700]] ]; do n=$(expr $i % 7); echo "$i $n" | awk '{ for (k = 0; k < 200; k++) s += $1 * k; print s }' >>out.$n; i=$(expr $i + 1); done""",
         mended="awk 'BEGIN { for (i = 0; i < [[700]]; i++) { s = 0; for (k = 0; k < 200; k++) s += i * k; print s >> \"out.\" i % 7 } }'", **FORKS),
    Case("xargs one by one", "xargs grep", "mkdir d; for i in $(seq [[1500]]); do echo $i >d/$i; done",
         sick="ls d | xargs -n 1 -I{} grep -c 7 d/{} >out; true", mended="ls d | sed 's|^|d/|' | xargs grep -c 7 >out; true", **FORKS),
    Case("rsync file by file", "rsync", "mkdir from; for i in $(seq [[60]]); do head -c 50k /dev/urandom >from/$i; done",
         sick="for f in from/*; do rsync -a -I $f to/; done", mended="rsync -a -I from/ to", **FORKS),
    Case("git one by one", "git", HISTORY,
         sick="cd r; for c in $(git rev-list main); do git show -s --format=%an $c; done >/dev/null", mended="cd r; git log --format=%an main >/dev/null", **FORKS),
    Case("git repack", "git", HISTORY.replace("600", "3000").replace("% 50", "% 3000"), healthy="git -C r -c pack.threads=2 repack -q -a -d -f --window=50"),
    Case("gzip", "gzip pigz", TEXT % (18, "M"), sick="gzip -k -f big", mended="pigz -k -f -p 2 big", rules="cpu.serial", remedy="pigz",
         loss="none"),  # pigz is faster on one core, too
    Case("xz", "xz", "head -c [[4]]M /dev/urandom | base64 >big", sick="xz -4 -k -f -T1 --block-size=1MiB big", mended="xz -4 -k -f -T2 --block-size=1MiB big", rules="cpu.serial", remedy="xz -T"),
    Case("zstd many threads", "zstd", TEXT % (40, "M"), healthy="zstd -q -f -T16 -9 big -o out"),
    Case("make without -j", "make g++", SOURCES, sick="make -B -s", mended="make -B -s -j2", rules="cpu.serial", remedy="make -j"),
    Case("make -j8", "make g++", SOURCES, healthy="make -B -s -j8"),
    Case("ffmpeg", "ffmpeg", "", healthy=VIDEO % ("1280x720", 15, "out.mkv")),
    Case("ffmpeg one thread", "ffmpeg", "", sick=VIDEO % ("960x540", 12, "-threads 1 -x264-params lookahead-threads=1 out.mkv"),
         mended=VIDEO % ("960x540", 12, "out.mkv"), rules="cpu.serial", remedy="thread|parallel"),
    Case("ffmpeg frame by frame", "ffmpeg", VIDEO % ("320x180", 20, "in.mkv"),
         sick="for i in $(seq [[40]]); do ffmpeg -v error -ss 0.$i -i in.mkv -frames:v 1 -y f$i.png; done",
         mended="ffmpeg -v error -i in.mkv -frames:v [[40]] -y f%d.png", **FORKS),
    Case("bwa one thread", "bwa", GENOME % (1000000, 20000) + "; bwa index ref.fa",
         sick="bwa mem -t 1 -o out.sam ref.fa reads.fq", mended="bwa mem -t 2 -o out.sam ref.fa reads.fq", rules="cpu.serial", remedy="thread|parallel"),
    Case("bwa and samtools", "bwa samtools", GENOME % (1000000, 25000) + "; bwa index ref.fa",
         healthy="bwa mem -t 2 ref.fa reads.fq | samtools sort -@ 1 -o out.bam -"),
    Case("minimap2 read by read", "minimap2", GENOME % (300000, 60) + "; split -l 4 reads.fq one.",
         sick="for f in one.*; do minimap2 -a ref.fa $f >>out.sam; done", mended="minimap2 -a ref.fa reads.fq >out.sam",
         **FORKS),
    Case("blast query by query", "blastn makeblastdb", GENOME % (2000000, 40) + "; makeblastdb -in ref.fa -dbtype nucl; awk 'NR % 4 == 1 { print \">\" substr($0, 2) } NR % 4 == 2' reads.fq >q.fa; split -l 2 q.fa one.",
         sick="for f in one.*; do blastn -db ref.fa -query $f >>out; done", mended="blastn -db ref.fa -query q.fa >out", **FORKS),
    Case("locked files", "flock gzip", TEXT % (2, "M"),
         sick="for p in 1 2; do (for i in 1 2 3 4; do flock lock gzip -c big >out.$p; done) & done; wait",
         mended="for p in 1 2; do (for i in 1 2 3 4; do flock lock.$p gzip -c big >out.$p; done) & done; wait",
         rules="cpu.serial|cpu.unused", remedy="lock"),
    Case("xargs with a tail", "xargs gzip", TEXT % (2, "M") + "; for i in 1 2 3 4; do head -c [[2]]M big >p$i; done; cp big p5; cat big big big >p6",
         sick="ls p? | xargs -n 1 -P 2 gzip -k -f", mended="ls -S p? | xargs -n 1 -P 2 gzip -k -f",
         rules="cpu.tail|cpu.unused|cpu.serial", remedy="tail|balanc|pieces|evenly|distribut|job of its own|longest first"),
    Case("waits for a file", "sleep", "", sick="rm -f done; (sleep 6; touch done) & while [ ! -e done ]; do sleep 0.2; done; gzip -c /bin/bash >out", mended="gzip -c /bin/bash >out",
         rules="cpu.unused", remedy="sleep|wait", also="cpu.serial"),
)
