#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# super_test.sh - a project that has weft as a subdirectory gets the libraries
# and nothing else: its warnings are not ours, and it does not install us.
#
# usage: super_test.sh cmake cc
set -eu
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
cmake=$1
cc=$2

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
unset DESTDIR CFLAGS LDFLAGS
cd "$tmp"

step() {
	echo "--- $*"
}

die() {
	echo "super_test: $*" >&2
	exit 1
}

# configure directory option...
configure() {
	"$cmake" -S "$here/super" -B "$1" -G Ninja -DWEFT_SOURCE="$root" \
		-DCMAKE_C_COMPILER="$cc" \
		-DCMAKE_C_FLAGS='-Wall -Wextra -Wpedantic -Werror' \
		"${@:2}" >log 2>&1 || die "$(cat log)"
}

targets() {
	ninja -C "$1" -t targets all
}

step "build, with -Wall -Wextra -Wpedantic -Werror, $cc"
configure build
"$cmake" --build build --target user_weft user_static >log 2>&1 ||
	die "$(cat log)"
! grep 'warning: ' log || die 'weft has warnings'
version=$(sed -nE "s/^#define WEFT_VERSION_(MAJOR|MINOR|PATCH)[ \t]+//p" \
	"$root/include/weft/version.h" | paste -sd .)
for kind in weft static; do
	said=$(build/user_$kind) || die "user_$kind fails"
	[[ $said == "$version" ]] || die "user_$kind says '$said', not '$version'"
done

step 'nothing else is built'
others='weft_cli|weft-scenarios|libweft-sim|libweft-tsan|weft_man|_test'
! targets build | grep -E "$others" || die 'these are built too'

step 'nothing of weft is installed'
"$cmake" --install build --prefix "$tmp/prefix" >log 2>&1 || die "$(cat log)"
installed=$(cd prefix && find . -type f)
[[ $installed == ./bin/user_static ]] || die "installed: $installed"

step 'the kind of build is left to the project'
grep -qx 'CMAKE_BUILD_TYPE:[A-Z]*=' build/CMakeCache.txt ||
	die "$(grep CMAKE_BUILD_TYPE: build/CMakeCache.txt)"

step 'each part can be asked for'
# part, and a target or file that it brings.
while read -r part brings; do
	configure "$part" -D"$part"=ON
	targets "$part" | grep -q "$brings" || die "$part brings no $brings"
done <<END
WEFT_CLI weft_cli
WEFT_SIM libweft-sim
WEFT_TSAN libweft-tsan
WEFT_INSTALL weft_install_needs
END

echo 'super_test: passed'
