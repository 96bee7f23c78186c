#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# cli_test.sh - weft prints help, results and the reason of every error.
#
# usage: cli_test.sh path-of-weft
set -u
export LC_ALL=C
weft=$1
failed=0

# Every line of standard input has eight fields, and its numbers are positive;
# but timeouts is a difference, which may be too small to be seen.
check_lines() {
	awk -F '\t' 'NF != 8 || $3 < 1 || $4 <= 0 || $5 < 0 || $6 < 0 ||
		$7 < 0 || $8 <= 0 || ($1 != "timeouts" && ($5 == 0 || $6 == 0)) {
			print "bad line: " $0; bad = 1
		}
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
expect 0 '^ring +a token .*; unless named, 0\.1 of that$' bench --list
expect 0 '^mutex-work-free .*; only by name or with --all$' bench --list
expect 0 '^chan-prodcons-10 ' bench --list chan-prodcons
expect 0 '^channels +50 pairs' bench --list select
expect 0 '^mutexes +13 x 100' bench --list mutex
expect 2 "no bench 'flors'; there is: floors floor-add.* yield .*idle" bench flors
expect 2 "no option '--fast'; there is: .*--tsv" bench --fast
expect 0 '^--impl steal-one +a thief takes one' bench --list
expect 2 "--impl go: neither weft nor pool nor a policy: .*'go'.*steal-one" \
	bench --impl go
expect 2 "'mutexes'.*global-fifo.*lock-free" bench --impl steal-one,mutexes
expect 2 'policy: .+' bench --impl lock-free,mutex
many=()
for take in take-one take-all take-share; do
	for steal in steal-one steal-half; do
		for rest in mutex no-lifo wake-go; do
			many+=(--impl "$take,$steal,$rest")
		done
	done
done
expect 2 'more than 16 times --impl' bench yield "${many[@]}"
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
expect 0 '^yield +pool +2 ' bench yield --impl pool "${small[@]}"
expect 0 '^yield +2 .* (reaches|BELOW) 8\.0 times the pool$' \
	bench yield "${small[@]}"
expect 0 '^different-spawners +8 .* (reaches|BELOW) 4\.0 times the pool$' \
	bench different-spawners "${small[@]}"
expect 0 '^fib +mutex,steal-one +2 ' bench fib --impl weft \
	--impl mutex,steal-one "${small[@]}"
expect 0 '^fib +weft +1 ' bench fib --impl weft --impl mutex,steal-one \
	"${small[@]}"
expect 0 '^floor-strand .* (within|OVER) 8\.0$' bench floor-strand floor-cas \
	--rounds 1
expect 0 'bytes resident each, (within|OVER) 4400' bench million "${small[@]}"
expect 0 'context switches, (within|OVER) 0' bench idle "${small[@]}"
expect 0 '^ping-pong-100 +weft +2 .* (within|OVER) 11\.0$' \
	bench ping-pong-100 "${small[@]}"
expect 0 '^channels +weft +1 .* (within|OVER) 12\.0$' bench select "${small[@]}"
expect 0 '^mutexes +weft +2 .* (within|OVER) 2\.0$' bench mutex "${small[@]}"
expect 0 '^sieve +2 .* (reaches|BELOW) 3\.0 times the pool$' \
	bench sieve "${small[@]}"
expect 0 'us late at worst, (within|OVER) 2000$' bench timers "${small[@]}"
expect 0 'ns to set and cancel it(: below what can be measured)?$' \
	bench timeouts "${small[@]}"
expect 0 'us the 99th percentile$' bench ping-pong-hog "${small[@]}"
expect 0 '^floor-select .* (within|OVER) 3\.0 x floor-recv$' \
	bench floor-select --rounds 1
expect 0 '^floor-select-wait .* (within|OVER) 16\.0 above floor-recv-wait$' \
	bench floor-select-wait --rounds 1
expect 0 '^floor-mutex .* (within|OVER) 2\.0$' bench floor-mutex --rounds 1
expect 0 '^smaller unless named:.* ring x 0\.1,' bench "${small[@]}"
expect 0 '^spawn-join +2( +[0-9.]+){2} +- +[0-9.]+ +- ' \
	bench spawn-join "${small[@]}"

# One line each, all floors.
floors=$("$weft" bench floors --tsv --rounds 1)
names=$(cut -f 1 <<<"$floors" | sort | tr '\n' ' ')
want='floor-add floor-cas floor-fault floor-line floor-mutex floor-queue '
want+='floor-recv floor-recv-wait floor-select floor-select-wait floor-stack '
want+='floor-steal floor-strand floor-switch floor-syscall floor-wake-other floor-wake-same '
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

# All benches at once, on every implementation; nothing on standard error, which
# is not a terminal here.
noise=$(mktemp)
trap 'rm -f "$noise"' EXIT
all=$("$weft" bench --all --tsv "${small[@]}" 2>"$noise")
status=$?
if [[ $(nproc) != 1 && -s $noise ]] || [[ $status != 0 ]]; then
	echo "weft bench --all: exit status $status, and on standard error:"
	cat "$noise"
	failed=1
fi
loads='chained-spawn chan-prodcons-0 chan-prodcons-10 chan-prodcons-100 channels '
loads+='coarse different-spawners fib handles-first handles-last handles-random '
loads+='idle merge-sort million '
loads+='mutex-work-busy mutex-work-free mutex-work-rw1 mutex-work-rw10 '
loads+='mutex-work-slack mutexes mutexes-async mutexes-inline mutexes-pthread '
loads+='mutexes-strand pairs ping-pong-1 ping-pong-100 ping-pong-hog '
loads+='remote-spawn ring sieve single-spawner slow-thread sort spawn-join spawn-tree '
loads+='starve starve-lifo switch2 timeouts timers yield '
names=$(awk -F '\t' '$2 == "weft" && $1 !~ /^floor-/ { print $1 }' <<<"$all" |
	sort -u | tr '\n' ' ')
if [[ $names != "$loads" ]]; then
	printf 'workloads are: %s\nnot:           %s\n' "$names" "$loads"
	failed=1
fi
names=$(awk -F '\t' '$2 == "pool" { print $1 }' <<<"$all" | sort -u |
	tr '\n' ' ')
if [[ $names != "$loads" ]]; then
	printf 'the pool runs: %s\nnot:           %s\n' "$names" "$loads"
	failed=1
fi
check_lines <<<"$all" || failed=1

# The experiment: text, lines, and a page.
tiny=(--rounds 1 --scale 0.01)
room=$(mktemp -d)
page=$room/named.html
usual=$room/weft-policies.html
trap 'rm -rf "$noise" "$room"' EXIT
cd "$room"
expect 0 "^ *\\(default ${usual##*/}, here; with --tsv none\\)$" bench --help
expect 0 '^  mutex,wake-go .* [0-9.]+' bench --policies "${tiny[@]}"
if [[ $(tail -n 1 "$usual") != '</html>' ]]; then
	echo 'weft bench --policies has made no page'
	failed=1
fi
rm -f "$usual"
last=$("$weft" bench --policies merge-sort --impl mutex "${tiny[@]}" | tail -n 1)
if [[ $last != *" ${usual##*/}" || ! -s $usual ]]; then
	echo "weft bench --policies ends with: $last"
	failed=1
fi
expect 0 '^slow-thread, 4 workers: ' bench --policies "${tiny[@]}"
expect 0 '^yield, 3 workers: ' bench --policies yield --workers 3 "${tiny[@]}"
rm -f "$usual"
expect 2 'needs a file' bench --policies --page
expect 2 'needs a file' bench --policies --page ''
expect 2 'goes with --policies' bench yield --page "$page"
expect 2 "'floor-cas' is a floor" bench --policies floor-cas
expect 1 'cannot write /nowhere/at/all: No such file' \
	bench --policies --page /nowhere/at/all "${tiny[@]}"
expect 1 'cannot write /dev/full: No space' \
	bench --policies --page /dev/full "${tiny[@]}" merge-sort --impl mutex
lines=$("$weft" bench --policies --tsv --page "$page" merge-sort starve \
	--impl pool --impl mutex,steal-one "${tiny[@]}")
got=$(cut -f 1-3 <<<"$lines" | tr '\t\n' ' ;')
want='merge-sort ws 4;merge-sort pool 4;merge-sort mutex,steal-one 4;'
want+='starve ws 2;starve pool 2;starve mutex,steal-one 2;'
if [[ $got != "$want" ]] || grep -qvP '^([^\t]+\t){16}[^\t]+$' <<<"$lines"; then
	printf 'the lines of --policies are:\n%s\n' "$lines"
	failed=1
fi
if [[ $(grep -c '<svg class="chart"' "$page") != 2 ||
	$(tail -n 1 "$page") != '</html>' ]]; then
	echo 'the page has not two charts, or no end'
	failed=1
fi
if [[ -e $usual ]]; then
	echo 'with --page or --tsv there is a page that nobody asked for'
	failed=1
fi
exit $failed
