#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 800
# runs: in full
# Damaged files, a few thousand of them and always the same ones, read by the fuzzers' own code with
# the sanitizers on; scripts/fuzz looks further. What once went wrong is in tests/data/hostile.
. "$(dirname "$(readlink -f "$0")")/../lib/lib.sh"
need_cmd make gcc
renice -n 15 $$ >/dev/null # it runs beside tests of what time a thing takes

# rows.py, which may run beside this, makes it too.
if ! flock "$ROOT/Makefile" make -s -C "$ROOT" -j2 replay >"$TMP/build" 2>&1; then
	tail -n 5 "$TMP/build"
	not_ok "build of the replay" "make replay failed"
	exit 1
fi
"$PYTHON" "$ROOT/tests/fuzz/corpus.py" "$TMP/corpus" || not_ok "corpus" "corpus.py failed"

# Those of tests/data/hostile as they are: most copies of what crashes do too.
replay() {
	"$BUILD/fuzz/replay" "$TMP"/corpus/hostile-*.h5 && rm "$TMP"/corpus/hostile-*.h5 &&
		"$BUILD/fuzz/replay" -n 20 "$TMP"/corpus/*.h5
}

mkdir "$TMP/files" # of its own: what a fault leaves behind goes with it
TMPDIR=$TMP/files replay >"$TMP/said" 2>"$TMP/reports"
status=$?
cat "$TMP/said"
if [ $status -eq 0 ]; then
	ok "damaged files: no fault of ours"
else
	tail -n 60 "$TMP/reports"
	not_ok "damaged files: no fault of ours" "$(head -n 3 "$TMP/said" | tr '\n' ' ')"
fi

said=$("$BUILD/fuzz/replay_frames" 100000 2>&1)
status=$?
echo "$said" | tail -n 60
if [ $status -eq 0 ] && [[ $said =~ ^100000\ inputs,\ [0-9]{4,}\ values$ ]]; then
	ok "frames: expressions and build ids, no fault"
else
	not_ok "frames: expressions and build ids, no fault" "$(echo "$said" | grep -m1 ERROR)"
fi
said=$("$BUILD/fuzz/replay_addresses" 500000 2>&1)
status=$?
echo "$said" | tail -n 60
if [ $status -eq 0 ] && [[ $said =~ ^500000\ inputs,\ [0-9]{5,}\ taken$ ]]; then
	ok "addresses: no fault"
else
	not_ok "addresses: no fault" "$(echo "$said" | grep -m1 ERROR)"
fi
for name in texts messages programs; do
	mapfile -t files < <(find "$ROOT/tests/data/$name" -type f)
	said=$("$BUILD/fuzz/replay_$name" 500 "${files[@]}" 2>&1)
	status=$?
	echo "$said" | tail -n 60
	if [ $status -eq 0 ] && [[ $said =~ ^[0-9]{4}\ inputs,\ [0-9]{3,}\ taken$ ]]; then
		ok "$name: no fault"
	else
		not_ok "$name: no fault" "$(echo "$said" | grep -m1 'ERROR\|not taken')"
	fi
done
n=$(tail -n 1 "$TMP/said" | cut -d' ' -f1)
if [ "${n:-0}" -gt 1000 ] 2>/dev/null; then
	ok "damaged files: most can be read or refused"
else
	not_ok "damaged files: most can be read or refused" "$(tail -n 1 "$TMP/said")"
fi
