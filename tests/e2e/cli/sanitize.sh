#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 1000
# runs: in full
# The programs and units built with the address, leak and undefined behaviour sanitizers: runs, what
# shows their files, a service with a step, and every unit test must end without a word from them.
. "$(dirname "$(readlink -f "$0")")/../../lib/lib.sh"
need_bpf
need_cmd make gcc
renice -n 15 $$ >/dev/null # it runs beside tests of what time a thing takes
B=$ROOT/build-san
export UBSAN_OPTIONS=print_stacktrace=1 ASAN_OPTIONS=detect_leaks=1

said='ERROR: AddressSanitizer|ERROR: LeakSanitizer|runtime error:|SUMMARY: '

quiet() { # NAME LOG
	if grep -qE "$said" "$2"; then
		grep -E -A12 "$said" "$2"
		not_ok "$1" "$(grep -E "$said" "$2" | head -n 1)"
	else
		ok "$1"
	fi
}

make="make -s -C $ROOT -j$(nproc) SAN=1"
! command -v ccache >/dev/null || make="$make CC='ccache gcc'"

programs="$(printf "build-san/%s " jobprof jobprofd jobprof-writer)"
if ! eval "$make $programs" >"$TMP/build" 2>&1; then
	tail -n 5 "$TMP/build"
	not_ok "build with sanitizers" "make SAN=1 failed"
	exit 1
fi
ok "build with sanitizers"

eval "$make test" >"$TMP/units" 2>&1
is "units end well" $? 0
quiet "units: no sanitizer speaks" "$TMP/units"

mkdir "$TMP/out" "$TMP/prof"
"$B/jobprof" run -i 0.1 -o "$TMP/out" --state-dir "$TMP/run-state" -- \
	sh -c 'sleep 0.3; for i in 1 2 3 4; do ls / >/dev/null; done' >"$TMP/run" 2>&1
is "jobprof run ends well" $? 0
quiet "jobprof run: no sanitizer speaks" "$TMP/run"
"$B/jobprof" list --json >"$TMP/list" 2>&1
quiet "jobprof list: no sanitizer speaks" "$TMP/list"

"$B/jobprof" run --series all,stack,fold,burst -i 0.5 -o "$TMP/all" --state-dir "$TMP/run-state" -- \
	sh -c 'chrt -f -p 1 $$ 2>/dev/null; exec "$@"' sh "$TOOLS/jpphases" 4 20 0.4 0.35 >"$TMP/run" 2>&1
is "jobprof run of all families ends well" $? 0
quiet "jobprof run of all families: no sanitizer speaks" "$TMP/run"
while read -ra verb; do
	"$B/jobprof" "${verb[@]}" "$TMP"/all/*.h5 >"$TMP/verb" 2>&1 </dev/null
	is "jobprof ${verb[*]} ends well" $? 0
	quiet "jobprof ${verb[*]}: no sanitizer speaks" "$TMP/verb"
done <<EOF
report
report --json
report --all
fold
fold --json
fold --svg -
fold --counter PageFaults
cluster
cluster --json
cluster --csv
cluster --regions
cluster --regions --json
track --window 1
flame --folded
flame --svg -
flame --perfetto $TMP/trace
show
show --json
list
list --json
items -s Tasks -d CPUTime
extract -s Tasks -o $TMP/rows.csv
plot -s Tasks -d CPUTime
plot -s Tasks -d CPUTime --svg -
reduce -s Tasks
reduce --clusters
reduce --fold
EOF

cat >"$TMP/conf" <<EOF
ProfileHDF5Dir=$TMP/prof
ProfileHDF5Default=All
JobAcctGatherFrequency=task=0.1
PublishInterval=1
StateDir=$TMP/state
PinDir=/sys/fs/bpf/jobprof-test-san-$$
NodeName=jptestsan
CgroupRoot=/jptest_$$
EOF
"$B/jobprofd" -f -c "$TMP/conf" >"$TMP/daemon" 2>&1 &
daemon=$!
wait_for 10 test -e "/sys/fs/bpf/jobprof-test-san-$$/links/jp_cgroup_mkdir"
job=$(cgroup2_mount)/jptest_$$/system.slice/jptestsan_slurmstepd.scope/job_8801
"$TOOLS/jpstepd" -j 8801 -n 2 -c "$job/step_0/user/task_%d" -d "$job/step_0/slurm" -- \
	sleep 0.8 >"$TMP/stepd" 2>&1
wait_for 10 test -e "$TMP/prof/root/8801_0_jptestsan.h5"
is "jobprofd writes the step's file" $? 0
kill -TERM $daemon
wait $daemon
is "jobprofd ends well" $? 0
quiet "jobprofd: no sanitizer speaks" "$TMP/daemon"
