#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# install_test.sh - make install works from an empty build, as README says; and
# the installed files can be used, alone and from any place.
#
# usage: install_test.sh cmake cc
set -eu
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
cmake=$1
cc=$2

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
# make test may run this: its variables must not reach the make in here.
unset MAKEFLAGS MFLAGS MAKEOVERRIDES MAKELEVEL
unset DESTDIR PKG_CONFIG_PATH LD_LIBRARY_PATH CFLAGS LDFLAGS TSAN_OPTIONS
strict=(-Wall -Wextra -Werror)

step() {
	echo "--- $*"
}

die() {
	echo "install_test: $*" >&2
	exit 1
}

# The first argument is a program that must print the version of the library.
expect_version() {
	local got

	got=$(LD_LIBRARY_PATH=$libdir "$1") || die "$1 fails"
	[[ $got == "$version" ]] || die "$1 says '$got', not '$version'"
}

# Is the first argument linked to libweft.so?
is_shared() {
	LC_ALL=C readelf -d "$1" | grep -q 'NEEDED.*libweft\.so\.'
}

pc() {
	PKG_CONFIG_PATH=$libdir/pkgconfig pkg-config "$@" weft
}

# Build by pkg-config against the installation in $prefix; "$@" goes to it.
use_pkg_config() {
	pcfile=$(cd "$prefix" && find "$PWD" -name weft.pc)
	[[ -n $pcfile ]] || die 'no weft.pc'
	libdir=$(dirname "$(dirname "$pcfile")")
	version=$(pc --modversion)
	# Words on purpose: these are lists of flags.
	"$cc" -std=gnu11 "${strict[@]}" $(pc --variable=fiber_cflags) \
		$(pc "$@" --cflags) -o user_shared main.c $(pc "$@" --libs)
	is_shared user_shared || die 'pkg-config --libs: not the shared library'
	expect_version ./user_shared
	"$cc" -std=gnu11 "${strict[@]}" $(pc "$@" --cflags) -static \
		-o user_static main.c $(pc "$@" --static --libs)
	expect_version ./user_static
}

cd "$tmp"
cp "$here/main.c" .
prefix=$tmp/first
build=$tmp/build

# install argument...: make install as README has it, with the build in $build.
install() {
	(cd "$root" && make install BUILD="$build" CC="$cc" "$@") >log 2>&1 ||
		die "make install $*: $(cat log)"
}

step 'install, from an empty build'
grep -qF '`make install PREFIX=$HOME/weft`' "$root/README.md" ||
	die 'README.md says something else about make install'
start=$SECONDS
install PREFIX="$prefix"
echo "built and installed in $((SECONDS - start)) s"
! grep -q 'warning: ' log || die "make install warns: $(cat log)"
for file in bin/weft libexec/weft/weft-scenarios share/man/man3/weft_chan.3 \
	lib*/libweft.so lib*/libweft.a lib*/libweft-tsan.a lib*/libweft-sim.a \
	lib*/pkgconfig/weft.pc lib*/pkgconfig/weft-tsan.pc \
	lib*/pkgconfig/weft-sim.pc include/weft/weft.h; do
	[[ -s $(echo "$prefix"/$file) ]] || die "$file is not installed"
done

step 'pkg-config, shared and static'
use_pkg_config
fiber_cflags=$(pc --variable=fiber_cflags)
[[ $fiber_cflags == *-fstack-clash-protection* ]] ||
	die "fiber_cflags lacks -fstack-clash-protection: '$fiber_cflags'"

step 'find_package, shared and static'
mkdir project
cp "$here/CMakeLists.txt" "$here/main.c" "$here/tsan.c" project
"$cmake" -S project -B project/build -G Ninja \
	-DCMAKE_PREFIX_PATH="$prefix" -DWANTED_VERSION="$version" \
	-DCMAKE_C_COMPILER="$cc" >project/log || die "$(cat project/log)"
"$cmake" --build project/build >project/log || die "$(cat project/log)"
is_shared project/build/user_weft || die 'weft::weft is not shared'
! is_shared project/build/user_static || die 'weft::static is not static'
expect_version project/build/user_weft
expect_version project/build/user_static
for flag in $fiber_cflags; do
	for kind in weft static unflagged; do
		want=1
		[[ $kind != unflagged ]] || want=0
		got=$(grep -c -- "\"command\".* $flag .*user_$kind" \
			project/build/compile_commands.json) || true
		[[ $got == "$want" ]] ||
			die "$flag: in $got of the commands of user_$kind"
	done
done

step 'errno and thread-local variables are right after a move'
"$cc" -O2 "${strict[@]}" -D_GNU_SOURCE -I"$here/.." $(pc --cflags) \
	-o moves "$here"/../moves/{plain,moves,safe}.c $(pc --libs)
LD_LIBRARY_PATH=$libdir ./moves >said || die "$(cat said)"
expect_version project/build/user_tsan

step 'the first program of the README is the example, and runs'
awk '/^```c$/ { on = 1; next } /^```$/ { if (on) exit } on' \
	"$root/README.md" >hello.c
sed '1,/^ \*\/$/d' "$root/examples/hello.c" | diff - hello.c ||
	die 'README.md and examples/hello.c differ'
# Each of README's commands that compile it, unchanged.
grep '^ *cc .*hello\.c ' "$root/README.md" >commands
[[ $(wc -l <commands) == 2 ]] || die "README.md has not 2 lines with cc hello.c"
while read -r command; do
	echo "$command"
	said=$(
		cc() {
			"$cc" "${strict[@]}" "$@"
		}
		export PKG_CONFIG_PATH=$libdir/pkgconfig LD_LIBRARY_PATH=$libdir
		eval "$command" 2>&1 | tr '\n' ' '
	)
	[[ $said == '0 1 2 ' ]] || die "the first program says '$said'"
done <commands

step 'ThreadSanitizer: a correct program has no race, a wrong one has'
for i in 1 2 3; do
	timeout 60 project/build/tsan >said 2>&1 || die "tsan.c: $(cat said)"
	[[ $(cat said) == done ]] || die "tsan.c says: $(cat said)"
done
timeout 60 project/build/tsan race >said 2>&1 && die 'the race is no failure'
grep -q 'WARNING: ThreadSanitizer: data race' said ||
	die "the race is not reported: $(cat said)"

step 'the plain library tells a program that has ThreadSanitizer, once'
for libs in "$(pc --libs)" "$libdir/libweft.a -pthread"; do
	# With two runtimes, one after the other.
	sed 's/return weft_run(NULL, app, NULL)/return weft_run(NULL, app, NULL) |\
		weft_run(NULL, app, NULL)/' hello.c >twice.c
	"$cc" -fsanitize=thread $(pc --cflags) -o twice twice.c $libs
	# What ThreadSanitizer then makes of it is another matter.
	LD_LIBRARY_PATH=$libdir timeout 60 ./twice >/dev/null 2>said || true
	[[ $(grep -c '^weft: .*ThreadSanitizer.*pkg-config weft-tsan' said) == 1 ]] ||
		die "with $libs it says: $(cat said)"
done

step 'the promise of the examples is kept'
"$cc" -std=gnu11 "${strict[@]}" $(pc --cflags) -o promise \
	"$root/examples/promise.c" $(pc --libs)
said=$(LD_LIBRARY_PATH=$libdir ./promise | sort | uniq -c | tr -s ' ')
[[ $said == ' 3 the answer is 42' ]] || die "the promise says '$said'"

step 'the strand of the examples adds up'
"$cc" -std=gnu11 "${strict[@]}" $(pc --cflags) -o strand \
	"$root/examples/strand.c" $(pc --libs)
said=$(LD_LIBRARY_PATH=$libdir ./strand)
[[ $said == 'the balance is 10000' ]] || die "the strand says '$said'"

step 'the simulator: relinked, instrumented, and its example fails'
sim() {
	PKG_CONFIG_PATH=$libdir/pkgconfig pkg-config "$@" weft-sim
}
instrument=$(sim --variable=instrument)
if "$cc" --version | grep -q clang; then
	instrument=${instrument/-Wno-tsan/}
fi
for name in lost_wakeup lost_wakeup_fixed; do
	"$cc" -g "${strict[@]}" $(sim --cflags) $instrument -c \
		"$root/examples/$name.c"
	"$cc" -o $name $name.o $(sim --libs)
done
"$cc" "${strict[@]}" $(sim --cflags) -o relinked \
	"$here/relinked.c" $(sim --libs)
export WEFT_SIM_SCHEDULES=2000
./lost_wakeup >said 2>&1 && die 'the lost wake-up is not found'
grep -q 'replay: WEFT_SIM_REPLAY=lost_wakeup:' said ||
	die "no token: $(cat said)"
for program in lost_wakeup_fixed relinked; do
	./$program >said 2>&1 || die "$program: $(cat said)"
	tail -1 said | grep -q '^sim: 2000 schedules, .* 0 failures' ||
		die "$program says: $(cat said)"
done
! grep -q 'uses ThreadSanitizer' said || die "the simulator says: $(cat said)"
unset WEFT_SIM_SCHEDULES

step 'weft sim runs the scenarios that were installed'
"$prefix/bin/weft" sim --list | grep -q / || die 'weft sim lists no scenario'
"$prefix/bin/weft" sim --schedules 100 -- ring/ >said 2>&1 ||
	die "weft sim: $(cat said)"

step 'the simulator finds the bug of the example, as README says'
grep -qF '`make sim ARGS=build/release/lost_wakeup`' "$root/README.md" ||
	die 'README.md says something else about make sim'
(cd "$root" && make sim BUILD="$build" CC="$cc" ARGS="$build/lost_wakeup") \
	>said 2>&1 && die 'make sim: the lost wake-up is not found'
grep -q 'replay: WEFT_SIM_REPLAY=lost_wakeup:' said ||
	die "make sim: $(tail -20 said)"

step 'every header alone, as C11, C++11 and C++17'
headers=$(cd "$prefix/include" && echo weft/*.h)
for header in $headers; do
	# The declaration: without any a file is not ISO C.
	printf '#include <%s>\nextern int alone;\n' "$header" >alone.c
	"$cc" -std=c11 "${strict[@]}" -Wpedantic -I"$prefix/include" \
		-fsyntax-only alone.c
	if command -v g++ >/dev/null; then
		for std in c++11 c++17; do
			g++ -std=$std "${strict[@]}" -Wpedantic \
				-I"$prefix/include" -fsyntax-only -x c++ alone.c
		done
	fi
done

step 'only weft_ symbols are exported'
# The version's own name (WEFT_0.1) is a symbol of type A.
symbols=$(nm -D --defined-only "$libdir/libweft.so" |
	awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }')
[[ -n $symbols ]] || die 'nothing is exported'
! others=$(grep -v '^weft_' <<<"$symbols") || die "also exported: $others"

step 'nothing but libc is needed'
needed=$(LC_ALL=C readelf -d "$libdir/libweft.so" |
	sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
for library in $needed; do
	case $library in
	libc.so.* | libpthread.so.* | ld-linux*) ;;
	*) die "libweft.so needs $library" ;;
	esac
done

step 'once loaded, it stays'
LC_ALL=C readelf -d "$libdir/libweft.so" | grep -q 'FLAGS_1.*NODELETE' ||
	die 'libweft.so can be unloaded'

step 'a moved installation still works'
mv "$prefix" "$tmp/second"
prefix=$tmp/second
use_pkg_config
use_pkg_config --define-prefix
"$prefix/bin/weft" sim --list | grep -q / || die 'weft sim lists no scenario'

step 'DESTDIR'
install PREFIX=/opt/weft DESTDIR="$tmp/stage"
prefix=$tmp/stage/opt/weft
use_pkg_config

echo 'install_test: passed'
