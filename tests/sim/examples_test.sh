#!/bin/sh
# SPDX-License-Identifier: MIT
# examples_test.sh - the simulator finds the lost wake-up of the example, again
# by its tokens, and not in the one that is fixed; `weft sim' runs them, tells
# programs what it was told, and refuses what it cannot run.
#
# usage: examples_test.sh BUILD_DIR
set -u
build=$(cd "${1:?usage: examples_test.sh BUILD_DIR}" && pwd) || exit 2
weft=$build/weft
buggy=$build/lost_wakeup
fixed=$build/lost_wakeup_fixed
schedules=100000	# that the fixed one must pass
seconds=10		# in which the other one must fail
failed=0
unset WEFT_SIM_SEED WEFT_SIM_SCHEDULES WEFT_SIM_BUDGET WEFT_SIM_REPLAY \
	WEFT_SIM_LOG WEFT_SIM_TRACE WEFT_SIM_SHRINK

tmp=$(mktemp -d) || exit 2
trap 'rm -rf "$tmp"' EXIT
out=$tmp/out
err=$tmp/err

wrong() {
	echo "examples_test: $*"
	failed=1
}

# expect STATUS PATTERN COMMAND...: its exit status, and what it must print.
expect() {
	want=$1
	pattern=$2
	shift 2
	"$@" >"$out" 2>"$err"
	got=$?
	if [ $got -ne "$want" ]; then
		wrong "$*: exit status $got, not $want:"
		tail -n 5 "$out" "$err"
	fi
	if ! grep -qE -e "$pattern" "$out" "$err"; then
		wrong "$*: no match for $pattern in:"
		tail -n 5 "$out" "$err"
	fi
}

# Where the program lies in memory differs from process to process, and values
# in a trace may be addresses of it: 12 digits.
same() {
	sed 's/0x[0-9a-f]\{12\}\>/ADDRESS/' "$1" >"$tmp/a"
	sed 's/0x[0-9a-f]\{12\}\>/ADDRESS/' "$2" | cmp - "$tmp/a"
}

# token NAME: the one printed behind "replay:" or "shrunk:".
token() {
	sed -n "s/^ *$1: WEFT_SIM_REPLAY=//p" "$err"
}

for program in "$weft" "$build/weft-scenarios" "$buggy" "$fixed"; do
	[ -x "$program" ] || wrong "$program is not there"
done
[ $failed -eq 0 ] || exit 1

# The bug is found, whatever the seed, and it is the one that is meant.
for seed in 1 1000003 ''; do
	WEFT_SIM_SEED=$seed expect 1 '^sim: .* 1 failures, ' \
		timeout $seconds "$buggy"
	grep -q '^weft: sim: lost_wakeup: deadlock: ' "$err" ||
		wrong "seed '$seed': it is not a deadlock"
done

# Each token leads there again, in the same steps each time.
replay=$(token replay)
shrunk=$(token shrunk)
[ -n "$replay" ] || wrong 'no token was printed'
[ -n "$shrunk" ] || wrong 'no shrunk token was printed'
grep '^ *[0-9]* *[0-9]* (' "$err" >"$tmp/found"
[ -s "$tmp/found" ] || wrong 'no trace was printed'
for one in "$replay" "$shrunk"; do
	for turn in first second; do
		WEFT_SIM_REPLAY=$one expect 1 ': deadlock: ' "$buggy"
		cp "$err" "$tmp/$turn"
	done
	same "$tmp/first" "$tmp/second" || wrong "$one: is not the same twice"
	expect 1 ': deadlock: ' "$weft" sim "$buggy" --replay "$one"
	same "$tmp/first" "$err" || wrong "weft sim --replay $one: differs"
done
grep '^ *[0-9]* *[0-9]* (' "$err" >"$tmp/again"
same "$tmp/again" "$tmp/found" ||
	wrong "the shrunk token does not lead to the trace it came with"
expect 1 ': deadlock: ' "$weft" sim --replay "$replay" --shrink "$buggy"
[ "$(token shrunk)" = "$shrunk" ] ||
	wrong "--shrink gives '$(token shrunk)', not '$shrunk'"
expect 2 'is not a token' "$weft" sim "$buggy" --replay nonsense

# What --log wrote is a token too.
expect 1 ': deadlock: ' "$weft" sim --log "$tmp/log" "$buggy"
[ -s "$tmp/log" ] || wrong '--log has written nothing'
expect 1 ': deadlock: ' "$weft" sim --replay "@$tmp/log" "$buggy"

# The fixed one passes.
expect 0 "^sim: $schedules schedules, 1 scenarios, 0 failures, " \
	env WEFT_SIM_SCHEDULES=$schedules "$fixed"
expect 0 '^sim: 300 schedules, 1 scenarios, 0 failures, .* seed 7$' \
	"$weft" sim "$fixed" --schedules 300 --seed 7
expect 0 ' 0 failures, ' timeout 60 \
	"$weft" sim "$fixed" --schedules 1000000000 --budget 1

# What a program is told: this one only says what it hears.
cat >"$tmp/echo" <<'EOF'
#!/bin/sh
# weft-sim-marker-1
env | grep '^WEFT_SIM_' | sort | tr '\n' ' '
echo "args:$*"
EOF
chmod +x "$tmp/echo"
expect 0 '^args:$' "$weft" sim "$tmp/echo"
heard='^WEFT_SIM_BUDGET=3 WEFT_SIM_LOG=f WEFT_SIM_REPLAY=t '
heard=$heard'WEFT_SIM_SCHEDULES=2 WEFT_SIM_SEED=1 WEFT_SIM_SHRINK=1 '
heard=$heard'WEFT_SIM_TRACE=1 args:one two --seed 9$'
expect 0 "$heard" "$weft" sim --seed 1 "$tmp/echo" --schedules 2 one \
	--budget 3 --replay t --shrink two --trace --log f -- --seed 9

# Without a program it is weft's scenarios, beside it or where installed.
mkdir -p "$tmp/bin" "$tmp/libexec/weft"
cp "$weft" "$tmp/bin/weft"
expect 2 'weft-scenarios is neither in .* nor in .*libexec/weft' \
	"$tmp/bin/weft" sim
cp "$tmp/echo" "$tmp/libexec/weft/weft-scenarios"
expect 0 '^args:--budget 3 --list --schedules 2 --seed 1 ring/$' \
	"$tmp/bin/weft" sim --list --seed 1 --schedules 2 --budget 3 -- ring/
expect 0 '^WEFT_SIM_SHRINK=1 WEFT_SIM_TRACE=1 args:--replay t$' \
	"$tmp/bin/weft" sim --trace --replay t --shrink
sed 's/args/beside/' "$tmp/echo" >"$tmp/bin/weft-scenarios"
expect 2 'nothing that can be executed' "$tmp/bin/weft" sim
chmod +x "$tmp/bin/weft-scenarios"
expect 0 '^beside:$' "$tmp/bin/weft" sim
expect 0 '/' "$weft" sim --list

# What cannot be run is said in one line.
cp "$buggy" "$tmp/still"
chmod -x "$tmp/still"
expect 2 'has no simulator in it' "$weft" sim /bin/sh
expect 2 'has no simulator in it' "$weft" sim "$weft"
expect 2 "no program '.*/nowhere'" "$weft" sim "$tmp/nowhere"
expect 2 'nothing that can be executed' "$weft" sim "$tmp"
expect 2 'nothing that can be executed' "$weft" sim "$tmp/still"
expect 2 '--shrink needs a --replay' "$weft" sim --shrink "$buggy"
expect 2 '--list is about' "$weft" sim --list "$buggy"
expect 2 "no option '--fast'; there is: .*--seed" "$weft" sim "$buggy" --fast
expect 2 '--replay takes no empty word' "$weft" sim --replay '' "$buggy"
for option in --seed --schedules --budget; do
	expect 2 "$option needs a number" "$weft" sim "$buggy" $option
	for bad in 0 -1 x 1x '' 99999999999999999999; do
		expect 2 "$option takes 1 to" \
			"$weft" sim "$buggy" $option "$bad"
	done
done
expect 2 '--budget takes 1 to 1000000,' "$weft" sim "$buggy" --budget 1000001
for option in --replay --log; do
	expect 2 "$option needs a word" "$weft" sim "$buggy" $option
done
for refused in /bin/sh "$tmp/nowhere" "$tmp/still"; do
	lines=$("$weft" sim "$refused" 2>&1 | wc -l)
	[ "$lines" -eq 1 ] || wrong "weft sim $refused: $lines lines, not 1"
done
expect 0 '^usage: weft sim' "$weft" sim --help
expect 0 '^  sim ' "$weft" --help

[ $failed -eq 0 ] && echo 'examples_test: passed'
exit $failed
