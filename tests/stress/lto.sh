#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# lto.sh - fibers that migrate are right when the whole program is optimised as
# one: -O3 and link-time optimisation, by every compiler that is installed.
#
# usage: lto.sh
#
# A compiler that sees through a call could keep what belongs to a thread across
# it; the tests look for that, one in the library and one in code of users.
set -eu
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

for cc in gcc clang; do
	echo "--- $cc"
	cmake -S "$here/../.." -B "$tmp/$cc" -G Ninja -DCMAKE_C_COMPILER="$cc" \
		-DCMAKE_C_FLAGS_RELEASE='-O3 -g -flto' -DWEFT_TESTS=ON >/dev/null
	cmake --build "$tmp/$cc" \
		--target stress_sched_migrate_test moves >/dev/null
	"$tmp/$cc/tests/stress_sched_migrate_test"
	"$tmp/$cc/tests/moves"
done
