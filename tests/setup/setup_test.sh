#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# setup_test.sh - tools/setup says what is missing and installs exactly that.
#
# usage: setup_test.sh path-of-setup
#
# Nothing is installed: PATH holds only stand-ins for dpkg-query, apt-get, sudo
# and id, and the few real commands that setup needs.
set -eu
setup=$1

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
bin=$tmp/bin
mkdir "$bin"
for command in bash cat cut env grep sed tr; do
	ln -s "$(command -v "$command")" "$bin"
done

# fake name: standard input becomes the command of that name.
fake() {
	{
		echo '#!/usr/bin/env bash'
		cat
	} >"$bin/$1"
	chmod +x "$bin/$1"
}

# Reports every package as installed but those in $tmp/missing.
fake dpkg-query <<END
for arg; do
	case \$arg in
	-* | *'\${'*) ;;
	*) grep -qx -e "\$arg" $tmp/missing || echo "installed \$arg" ;;
	esac
done
END
fake apt-get <<END
echo "apt-get \$*" >>$tmp/calls
END
fake sudo <<END
echo sudo >>$tmp/calls
exec "\$@"
END
fake id <<END
cat $tmp/uid
END

die() {
	echo "setup_test: $*" >&2
	cat "$tmp/output" "$tmp/calls" >&2
	exit 1
}

# run status uid "missing packages" [VAR=value] group
run() {
	local want=$1 status=0

	echo "$2" >"$tmp/uid"
	tr ' ' '\n' <<<"$3" >"$tmp/missing"
	: >"$tmp/calls"
	shift 3
	env -i PATH="$bin" "${@:1:$#-1}" bash "$setup" "${!#}" \
		>"$tmp/output" 2>&1 || status=$?
	[[ $status == "$want" ]] || die "$*: exit status $status, not $want"
}

said() {
	grep -q -e "$1" "$tmp/output" || die "did not say '$1'"
}

did() {
	[[ $(cat "$tmp/calls") == "$1" ]] || die "did not run exactly: $1"
}

# All there: silent.
for group in run install test all; do
	run 0 0 '' "$group"
	[[ ! -s $tmp/output ]] || die "$group: not silent"
	did ''
done

# Missing, and nothing may be installed: a list, a command line, a failure.
run 1 0 'cmake ninja-build' WEFT_NO_INSTALL=1 run
said '^  cmake .*configures'
said '^  ninja-build '
said 'apt-get install .*cmake ninja-build$'
did ''

# A group does not ask for the packages of a larger one.
run 0 0 'valgrind qemu-user' WEFT_NO_INSTALL=1 run
[[ ! -s $tmp/output ]] || die 'run: asks for packages of test or all'
run 1 0 'valgrind qemu-user' WEFT_NO_INSTALL=1 test
said '^  valgrind '
! grep -q qemu "$tmp/output" || die 'test: asks for packages of all'

# A missing optional package is not a failure.
run 0 0 'libmimalloc-dev' WEFT_NO_INSTALL=1 run
said '(optional)'

# install and test name python3; for install it is optional.
run 0 0 'python3' WEFT_NO_INSTALL=1 run
[[ ! -s $tmp/output ]] || die 'run: asks for python3'
run 0 0 'python3' WEFT_NO_INSTALL=1 install
said '^  python3 .*manual pages (optional)$'
run 1 0 'python3' WEFT_NO_INSTALL=1 test

# Root installs the missing packages, and no others, after one update.
get='apt-get -q -o Dpkg::Use-Pty=0'
run 0 0 'cmake g++' test
said '^  g++ '
did "$get update
$get install -y --no-install-recommends cmake g++"

# Other users install by sudo.
run 0 1000 'make' run
did "sudo
$get update
sudo
$get install -y --no-install-recommends make"

# A failing apt-get is a failure.
fake apt-get <<END
exit 100
END
run 100 0 'make' run

# No apt-get: names the tools, and fails only if a command is missing.
rm "$bin/apt-get"
run 1 0 '' run
said '^  cmake '
said 'no apt-get'
for command in gcc make cmake ninja pkg-config; do
	fake "$command" </dev/null
done
run 0 0 '' run
[[ ! -s $tmp/output ]] || die 'no apt-get, all commands there: not silent'
run 0 0 '' install
said '^  python3 .*(optional)$'

# An unknown group is a mistake.
run 2 0 '' everything
said usage

echo 'setup_test: passed'
