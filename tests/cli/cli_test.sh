#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# cli_test.sh - the program says what it can do and what was wrong.
#
# usage: cli_test.sh path-of-weft
set -u
weft=$1
failed=0

# expect STATUS PATTERN ARG...: exit status, and what the output must match.
expect() {
	local status=$1 pattern=$2 output got

	shift 2
	output=$("$weft" "$@" 2>&1)
	got=$?
	if [[ $got != "$status" ]]; then
		echo "weft $*: exit status $got, not $status"
		failed=1
	fi
	if ! grep -qE -- "$pattern" <<<"$output"; then
		printf 'weft %s: no match for %s in:\n%s\n' "$*" "$pattern" "$output"
		failed=1
	fi
}

expect 0 '^usage: weft' --help
expect 0 '^  bench ' help
expect 2 '^usage: weft'
expect 0 '^weft [0-9]+\.[0-9]+\.[0-9]+ \([a-z0-9_]+, malloc: [a-z]+\)$' --version
expect 2 "no command 'brew'; there is: .*bench" brew
expect 0 '^usage: weft bench' bench --help
expect 0 '^floor-steal ' bench --list
expect 2 "no bench 'flors'; there is: floors floor-add" bench flors
expect 2 "no option '--fast'; there is: .*--tsv" bench --fast
expect 2 'needs a number' bench --rounds
for bad in 0 -1 100 x 1x '' 99999999999999999999; do
	expect 2 'takes 1 to 99' bench --rounds "$bad"
done
expect 0 '^floor-add .* [0-9.]+ +[0-9.]+$' bench floor-add --rounds 1
expect 0 ' x cas' bench floor-cas floor-queue --rounds 1

# One line each, eight fields, all floors, every number positive.
floors=$("$weft" bench floors --tsv --rounds 1)
names=$(cut -f 1 <<<"$floors" | sort | tr '\n' ' ')
want='floor-add floor-cas floor-fault floor-line floor-queue floor-stack '
want+='floor-steal floor-switch floor-syscall floor-wake-other floor-wake-same '
if [[ $(nproc) == 1 ]]; then
	echo 'one CPU: floor-line and floor-wake-other cannot be measured here'
	want=${want/floor-line /}
	want=${want/floor-wake-other /}
fi
if [[ $names != "$want" ]]; then
	printf 'floors are: %s\nnot:        %s\n' "$names" "$want"
	failed=1
fi
if ! awk -F '\t' 'NF != 8 || $3 < 1 || $4 <= 0 || $5 <= 0 || $6 <= 0 ||
	$7 < 0 || $8 <= 0 { print "bad line: " $0; bad = 1 }
	END { exit bad }' <<<"$floors"; then
	failed=1
fi
exit $failed
