#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# cli_test.sh - the program says what it can do and what was wrong.
#
# usage: cli_test.sh path-of-weft
set -u
weft=$1
failed=0

# Every line of standard input has eight fields, and its numbers are positive.
check_lines() {
	awk -F '\t' 'NF != 8 || $3 < 1 || $4 <= 0 || $5 <= 0 || $6 <= 0 ||
		$7 < 0 || $8 <= 0 { print "bad line: " $0; bad = 1 }
		END { exit bad }'
}

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
expect 0 '^spawn-join +spawn in batches' bench --list
expect 0 '^--impl pool ' bench --list
expect 2 "no bench 'flors'; there is: floors floor-add.* yield .*idle" bench flors
expect 2 "no option '--fast'; there is: .*--tsv" bench --fast
expect 2 "no implementation 'go'; there is: weft pool$" bench --impl go
expect 2 'needs a name' bench --impl
for option in --rounds --workers --scale; do
	expect 2 'needs a number' bench "$option"
done
for bad in 0 -1 100 x 1x '' 99999999999999999999; do
	expect 2 'takes 1 to 99' bench --rounds "$bad"
done
for bad in 0 -1 4097 x; do
	expect 2 'takes 1 to 4096' bench --workers "$bad"
done
for bad in 0 -1 1001 nan inf x 1x ''; do
	expect 2 'takes a number above 0' bench --scale "$bad"
done
expect 0 '^floor-add .* [0-9.]+ +[0-9.]+$' bench floor-add --rounds 1
expect 0 ' x cas' bench floor-cas floor-queue --rounds 1

# Workloads, a thousandth of their size.
small=(--scale 0.001 --rounds 1)
expect 0 '^yield +weft +1 .* (within|OVER) 8\.0$' bench yield "${small[@]}"
expect 0 '^yield +weft +2 .* (within|OVER) 1\.15 of 1 worker$' \
	bench yield "${small[@]}"
expect 0 '^fib +weft +2 .* (reaches|BELOW) 1\.4 times' bench fib "${small[@]}"
expect 0 '^fib +weft +3 ' bench fib --workers 3 "${small[@]}"
expect 0 '^starve +weft +1 ' bench starve --workers 1 "${small[@]}"
expect 0 '^yield +pool +1 .*not measured: its tasks cannot wait' \
	bench yield --impl pool "${small[@]}"
expect 0 'bytes resident each, (within|OVER) 4400' bench million "${small[@]}"
expect 0 'context switches, (within|OVER) 0' bench idle "${small[@]}"
expect 0 '^spawn-join +2( +[0-9.]+){3} +-$' bench spawn-join "${small[@]}"

# One line each, all floors.
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
check_lines <<<"$floors" || failed=1

# Everything at once, on every implementation; nothing on standard error, which
# is no terminal here.
noise=$(mktemp)
trap 'rm -f "$noise"' EXIT
all=$("$weft" bench --tsv "${small[@]}" 2>"$noise")
status=$?
if [[ $(nproc) != 1 && -s $noise ]] || [[ $status != 0 ]]; then
	echo "weft bench --tsv: exit status $status, and on standard error:"
	cat "$noise"
	failed=1
fi
loads='chained-spawn coarse different-spawners fib idle merge-sort million '
loads+='remote-spawn single-spawner slow-thread sort spawn-join spawn-tree '
loads+='starve switch2 yield '
names=$(awk -F '\t' '$2 == "weft" && $1 !~ /^floor-/ { print $1 }' <<<"$all" |
	sort -u | tr '\n' ' ')
if [[ $names != "$loads" ]]; then
	printf 'workloads are: %s\nnot:           %s\n' "$names" "$loads"
	failed=1
fi
names=$(awk -F '\t' '$2 == "pool" { print $1 }' <<<"$all" | sort -u |
	tr '\n' ' ')
want='chained-spawn coarse idle remote-spawn spawn-join '
if [[ $names != "$want" ]]; then
	printf 'the pool runs: %s\nnot:           %s\n' "$names" "$want"
	failed=1
fi
check_lines <<<"$all" || failed=1
exit $failed
