#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# lto.sh - link-time optimisation of the whole program, by every compiler that
# is installed: the library gives no warning, and fibers that migrate are right.
#
# usage: lto.sh
#
# A compiler that sees through a call warns of code that it cannot follow, and
# the users of a static library see these warnings when they link.  It could
# also keep an address of a thread across the call: two tests look for that, one
# in the library and one in code of users.
set -eu
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
warnings='-Wall -Wextra -Werror'

configure() { # compiler, level
	cmake -S "$here/../.." -B "$tmp/$1$2" -G Ninja \
		-DCMAKE_C_COMPILER="$1" \
		-DCMAKE_C_FLAGS_RELEASE="$2 -g -flto" \
		-DWEFT_TESTS=ON >/dev/null
}

# All files of the library at once, in a user's program.
link_user() { # compiler, level
	local lib=$tmp/$1$2/libweft.a

	cmake --build "$tmp/$1$2" --target weft_static >/dev/null
	# shellcheck disable=SC2086
	"$1" "$2" -flto $warnings -I"$here/../../include" \
		"$here/../install/main.c" -Wl,--whole-archive "$lib" \
		-Wl,--no-whole-archive -pthread -o "$tmp/user"
	"$tmp/user"
}

for cc in gcc clang; do
	for level in -O2 -O3; do
		echo "--- $cc $level"
		configure "$cc" "$level"
		link_user "$cc" "$level"
	done
	cmake --build "$tmp/$cc-O3" \
		--target stress_sched_migrate_test moves >/dev/null
	"$tmp/$cc-O3/tests/stress_sched_migrate_test"
	"$tmp/$cc-O3/tests/moves"
done
