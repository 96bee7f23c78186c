#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# matrix.sh - the switch works on every architecture with every compiler.
#
# usage: matrix.sh [architecture...]
#
# Builds the tests of arch/ with gcc and clang, without optimisation, with it,
# and with that of the linker too, and runs them; those of other architectures
# under qemu.  Where the processor can check the targets of indirect jumps, the
# switch is also built for that, and the marks it must leave are looked for.
set -eu
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

arches=("$@")
if [[ $# == 0 ]]; then
	arches=(x86_64 aarch64 riscv64 ppc64le)
fi

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
flags=(-std=gnu11 -g -Wall -Wextra -Werror -fasynchronous-unwind-tables
	-D_GNU_SOURCE -Iinclude -Isrc -Itests/support/cross -Itests)
combinations=0
failed=0

# Set what depends on $arch alone: its names, and how to run its programs.
choose_arch() {
	triple=$arch-linux-gnu
	[[ $arch != ppc64le ]] || triple=powerpc64le-linux-gnu
	tools=("$triple-gcc" "$triple-ld" "$triple-objdump" "$triple-readelf"
		clang ld.lld)
	runner=()
	if [[ $(uname -m) != "$arch" ]]; then
		runner=("qemu-$arch" -L "/usr/$triple")
		tools+=("qemu-$arch")
	fi
	for tool in "${tools[@]}"; do
		if ! command -v "$tool" >/dev/null; then
			echo "arch-matrix: no $tool (tools/setup all)" >&2
			exit 1
		fi
	done
}

# Set cc and, for linking, ld, given the compiler's name and its options.
choose_compiler() {
	ld=()
	if [[ $1 == gcc ]]; then
		cc=("$triple-gcc")
	elif [[ $arch != riscv64 ]]; then
		cc=(clang "--target=$triple")
		ld=(-fuse-ld=lld)
	else
		# lld 14 lacks relaxation and so cannot link with this libc.
		# Another linker that optimises must be told the ABI again.
		cc=(clang "--target=$triple" -march=rv64gc -mabi=lp64d)
		[[ $2 != *-flto* ]] || ld=(-Wl,-plugin-opt=-target-abi=lp64d)
	fi
	cc+=("${flags[@]}" "-Isrc/arch/$arch")
}

# run_test name option...: build and run one test.
run_test() {
	local test=$1
	shift

	"${cc[@]}" "$@" "${ld[@]}" -pthread -o "$tmp/program" \
		src/arch/context.c "src/arch/$arch/entry.S" src/base/assert.c \
		"tests/arch/${test}_test.c" "tests/arch/$arch/registers.S"
	timeout 60 "${runner[@]}" "$tmp/program"
}

# compile option...: make switch.o and entry.o.
compile() {
	"${cc[@]}" "$@" -c -o "$tmp/switch.o" tests/arch/context_test.c
	"${cc[@]}" "$@" -c -o "$tmp/entry.o" "src/arch/$arch/entry.S"
}

# marked_after object jump mark: there are jumps, and each has a mark behind.
marked_after() {
	"$triple-objdump" -d --no-show-raw-insn "$tmp/$1" |
		awk -v jump="$2" -v mark="$3" '
		after && $0 !~ mark { bad++; print "no mark here:", $0 }
		{ after = $0 ~ jump; jumps += after }
		END { exit !jumps || bad }'
}

# has_property object name: for the linker the object has that property.
has_property() {
	LC_ALL=C "$triple-readelf" -n "$tmp/$1" | grep "Properties:.*$2"
}

# Where a jump may arrive there is a mark.
look_at_marks() {
	local jump='br[ \t]+x3' mark='bti[ \t]+j|hint[ \t]+#0x24'

	if [[ $arch == x86_64 ]]; then
		jump='jmp[ \t]+\*0x8\(%rsi\)'
		mark=endbr64
	fi
	compile "$@"
	marked_after switch.o "$jump" "$mark"
	marked_after entry.o '<wf_context_entry>:' "$mark"
}

# x86-64 can keep a second stack of return addresses, which a switch does not
# know of.  No program with a switch in it may ask for that: even if all C code
# does, the entry code that is linked to it does not.
look_at_properties() {
	[[ $arch == x86_64 ]] || return 0
	compile "$@"
	has_property switch.o IBT
	! has_property switch.o SHSTK || return 1
	compile "$@" -fcf-protection=full
	has_property switch.o SHSTK
	"$triple-ld" -r -o "$tmp/both.o" "$tmp/switch.o" "$tmp/entry.o"
	! has_property both.o SHSTK || return 1
}

# try compiler options check...: one line, and on failure why.
try() {
	local compiler=$1 options=$2 result=ok status
	shift 2

	choose_compiler "$compiler" "$options"
	for check in "$@"; do
		# In no condition, which would take the effect from set -e.
		set +e
		# Words on purpose: checks and options are lists.
		(set -e; $check $options) >"$tmp/log" 2>&1
		status=$?
		set -e
		if [[ $status != 0 ]]; then
			result="FAILED: $check"
			failed=$((failed + 1))
			break
		fi
	done
	combinations=$((combinations + 1))
	printf '%-8s %-6s %-32s %s\n' "$arch" "$compiler" "$options" "$result"
	[[ $result == ok ]] || cat "$tmp/log"
}

for arch in "${arches[@]}"; do
	choose_arch
	case $arch in
	x86_64)  protected='-O2 -fcf-protection=branch' ;;
	aarch64) protected='-O2 -mbranch-protection=standard' ;;
	*)       protected= ;;
	esac
	for compiler in gcc clang; do
		for options in '-O0' '-O2' '-O3 -flto'; do
			try $compiler "$options" \
				'run_test context' 'run_test entry'
		done
		[[ -z $protected ]] || try $compiler "$protected" \
			'run_test context' 'run_test entry' \
			look_at_marks look_at_properties
	done
done

echo "arch-matrix: $combinations combinations, $failed failed"
[[ $failed == 0 ]]
