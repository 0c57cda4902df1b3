# SPDX-License-Identifier: GPL-2.0-only
"""Shells, compressors, builds, videos, genomes."""

from case import Case, V

CASES = (
    Case("shell steps", "awk", "",
         sick="""i=0; while [ $i -lt 700 ]; do n=$(expr $i % 7); echo "$i $n" | awk '{ for (k = 0; k < 200; k++) s += $1 * k; print s }' >>out.$n; i=$(expr $i + 1); done""",
         mended="awk 'BEGIN { for (i = 0; i < 700; i++) { s = 0; for (k = 0; k < 200; k++) s += i * k; print s >> \"out.\" i % 7 } }'",
         rules="proc.forks", remedy="one program", loss="cpu"),
    Case("gzip", "gzip pigz", "head -c 30M /dev/urandom | base64 >text; cat text text text >big",
         sick="gzip -k -f big", mended="pigz -k -f -p 2 big", rules="cpu.serial", remedy="pigz"),
    Case("ffmpeg", "ffmpeg", "",
         healthy="ffmpeg -v error -f lavfi -i testsrc=size=1280x720:rate=25:duration=15 -y out.mkv"),
)
