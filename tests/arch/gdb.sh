#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# gdb.sh - a debugger sees a started context's frames down to the entry, no more.
#
# usage: gdb.sh program
#
# The program is the test arch/entry with debug information.  It is stopped at
# the entry code, in the function that it calls, and far below; the
# frames there are counted by hand in this script.
set -eu
program=$1

die() {
	echo "arch-gdb: $*" >&2
	exit 1
}

command -v gdb >/dev/null || die 'gdb is not installed (tools/setup test)'

# stop location frames: the backtrace there has so many and ends at the entry.
stop() {
	local where=$1 want=$2 output have last

	output=$(LC_ALL=C timeout 50 gdb -nx -batch \
		-iex 'set debuginfod enabled off' \
		-ex 'set disable-randomization off' \
		-ex 'set confirm off' -ex 'set width 0' \
		-ex "break $where" -ex run -ex 'echo ---\n' -ex bt -ex kill \
		"$program" </dev/null 2>&1) || true
	echo "--- $where"
	echo "$output"
	case $output in
	*ptrace*'not permitted'* | *'Could not trace the inferior'*)
		die 'ptrace is forbidden here, so gdb cannot run a program;' \
			'allow it (container: --cap-add=SYS_PTRACE)'
		;;
	*'Breakpoint 1, '*) ;;
	*) die "gdb did not stop at $where" ;;
	esac
	output=${output#*$'\n---\n'}
	! grep -iE 'corrupt|previous frame|backtrace stopped|cannot access' \
		<<<"$output" || die "$where: gdb complains"
	have=$(grep -c '^#' <<<"$output") || true
	[[ $have == "$want" ]] || die "$where: $have frames, not $want"
	last=$(grep '^#' <<<"$output" | tail -n 1)
	[[ $last =~ (^| )wf_context_entry\ \(\) ]] ||
		die "$where: the last frame is not wf_context_entry: $last"
}

stop '*wf_context_entry' 1
stop flow_main 2
# deepest, ten times descend, run_trace, flow_main, the entry.
stop 'deepest if trace->depth == 10' 14

echo 'arch-gdb: passed'
