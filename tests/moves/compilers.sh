#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# compilers.sh - errno and thread-local variables are those of the thread that
# a fiber is on, by every compiler, as C and as C++, at every level.
#
# usage: compilers.sh build-directory [compiler...]
#
# Builds safe.c and plain.c with gcc and clang, as C11 and as C++11, from -O0 to
# -O3, with and without -fPIC, with and without optimisation by the linker, and
# runs them from moves.c.  That moves a fiber to another thread 800 times, and
# fails if one of these moves did not happen.  Compilers that are named must be
# there; without names, it takes those of the two that are, and says which is
# not.
#
# The last line says in how many of these builds each use went wrong without
# weft's headers.  With them it must be none.
set -eu
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
build=$(cd "$1" && pwd)
shift
common=(-Wall -Wextra -Wpedantic -Werror -D_GNU_SOURCE -I"$root/include"
	-I"$root/src" -I"$here/..")

# build_and_run compiler language option...
#
# With optimisation by the linker, the library's errno.c takes part in it.
# plain.c comes first: the attributes of libc's functions in its headers must
# not hold for safe.c.
build_and_run() {
	local cc=$1 language=$2 cxx=$1 link=()
	shift 2
	local flags=("$@" -std=c11 "${common[@]}")
	local objects=(plain.o safe.o ../moves.o)

	if [[ $language == c++ ]]; then
		cxx=${cxx/%gcc/g++}
		cxx=${cxx/%clang/clang++}
		flags=("${flags[@]/-std=c11/-std=c++11}")
	fi
	"$cxx" -x "$language" "${flags[@]}" -c "$here"/{plain,safe}.c
	if [[ $* == *-flto* ]]; then
		"$cc" "${flags[@]/-std=*/-std=gnu11}" -c "$root/src/os/errno.c"
		objects+=(errno.o)
		if [[ $cc == clang ]] && command -v ld.lld >/dev/null; then
			link=(-fuse-ld=lld)
		fi
	fi
	[[ $* == *-fPIC* ]] || link+=(-no-pie)
	"$cxx" "$@" "${link[@]}" -o moves "${objects[@]}" \
		"$build/libweft.a" -pthread
	timeout 60 ./moves
}

# --one directory argument...: one build, in a child process of its own.
if [[ ${1-} == --one ]]; then
	mkdir "$2"
	cd "$2"
	shift 2
	# In no condition, which would take the effect from set -e.
	set +e
	(set -e; build_and_run "$@") >log 2>&1
	status=$?
	[[ $status == 0 ]] || { echo "FAILED: $*"; cat log; }
	exit $status
fi

compilers=("$@")
if [[ $# == 0 ]]; then
	for cc in gcc clang; do
		if command -v $cc >/dev/null; then
			compilers+=("$cc")
		else
			echo "moves: there is no $cc here: left out"
		fi
	done
fi

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
"${compilers[0]}" -std=c11 -O2 "${common[@]}" -fPIC -c -o "$tmp/moves.o" \
	"$here/moves.c"
builds=0
for cc in "${compilers[@]}"; do
	for way in {c,c++}' '-O{0,1,2,3}' '{-fno-pie,-fPIC}{,' '-flto}; do
		builds=$((builds + 1))
		echo "$tmp/$builds $cc $way"
	done
done >"$tmp/list"
status=0
xargs -P "$(nproc)" -L 1 "$here/compilers.sh" "$build" --one \
	<"$tmp/list" || status=1

# Each build of "plain, stale: &errno 25, &local 0, ..." that has more than 0.
cat "$tmp"/*/log | awk -F'[:,] ' '
	/^plain, stale/ {
		for (i = 3; i <= NF; i++) {
			kind = $i
			sub(/ [0-9]+$/, "", kind)
			bad[kind] += $i !~ / 0$/
		}
	}
	/ 0 stale$/ { right++ }
	END {
		printf "moves: %d builds, %d right; without the headers wrong:",
			'$builds', right
		for (kind in bad)
			printf " %s %d,", kind, bad[kind]
		print ""
		exit right != '$builds'
	}' || status=1
exit $status
