#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# releases: all
# The stock sh5util merges what jobprof run wrote and extracts what h5py reads from it.
. "$(dirname "$(readlink -f "$0")")/../../lib/lib.sh"
need_bpf
STOCK=${SLURM:+$SLURM/bin/}sh5util
need_cmd "$STOCK"
user=$(id -un) node=$(hostname -s)
mkdir -p "$TMP/etc" "$TMP/prof/$user"
cat >"$TMP/etc/slurm.conf" <<EOF
ClusterName=test
SlurmctldHost=localhost
AcctGatherProfileType=acct_gather_profile/hdf5
NodeName=$node CPUs=2
PartitionName=p Nodes=$node
EOF
echo "ProfileHDF5Dir=$TMP/prof" >"$TMP/etc/acct_gather.conf"
export SLURM_CONF=$TMP/etc/slurm.conf

env -u SLURM_JOB_ID "$BUILD/jobprof" run -q -i 0.2 -o "$TMP/prof/$user" --state-dir "$TMP/state" -- \
	"$TOOLS/jpspin" 1 >"$TMP/account"
is "jobprof run ends well" $? 0
file=$(ls "$TMP/prof/$user")
job=${file%%_*}
(cd "$TMP" && "$STOCK" -j "$job" -S -o m.h5 && "$STOCK" -j "$job" -i m.h5 -E -s Tasks -l Node:TimeSeries -o ts.csv &&
	"$STOCK" -j "$job" -i m.h5 -E -s Tasks -l Node:Totals -o tot.csv) 2>"$TMP/said"
is "sh5util merges and extracts" $? 0

"$PYTHON" - "$TMP/prof/$user/$file" "$TMP/ts.csv" "$TMP/tot.csv" "$TMP/account" <<'EOF'
import csv, h5py, sys
path, series, totals, account = sys.argv[1:]
with h5py.File(path) as f:
    rows = next(iter(f.values()))["Tasks/0"][()]
def verdict(name, good, why):
    print("ok " + name if good else "not ok %s: %s" % (name, why))
got = list(csv.DictReader(open(series)))
wrong = [(i, c, r[c], rows[c][i]) for i, r in enumerate(got) for c in rows.dtype.names
         if r[c] != "nan" and abs(float(r[c]) - float(rows[c][i])) > 1e-6 + 1e-12 * abs(float(rows[c][i]))]
verdict("extracted rows are h5py's", len(got) == len(rows) and not wrong, wrong[:3] or len(got))
tot = next(csv.DictReader(open(totals)))
ran = int(next(l for l in open(account) if l.startswith("schedstat.run_ns")).split("=")[1]) / 1e9
cpu = float(tot["Sum_CPUTime"])
verdict("extracted CPU time is the kernel's", ran - 0.001 <= cpu <= ran * 1.001 + 0.005, (cpu, ran))
EOF
