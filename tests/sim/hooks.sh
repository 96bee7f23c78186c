#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# hooks.sh - the simulator has every function that the compiler calls in code
# built with -fsanitize=thread.
#
# usage: hooks.sh cc libweft-sim.a source-directory
#
# Compilers differ in which they call, and by how much they optimise.  So all
# sources of the library that are simulated are compiled, and one that has every
# atomic operation and every kind of plain access there is, in four ways; what
# they then need is compared with what the library has.  Without this a new
# compiler would be noticed first by whoever cannot link.
#
# Atomic objects of 16 bytes are not among them: they are not modelled.
set -eu

if [[ $# != 3 ]]; then
	echo "usage: hooks.sh cc libweft-sim.a source-directory" >&2
	exit 2
fi
cc=$1
library=$2
root=$3

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

die() {
	echo "hooks.sh: $*" >&2
	exit 1
}

command -v "$cc" >/dev/null || die "no compiler $cc"
[[ -r $library ]] || die "no library $library"
arch=$(uname -m)
[[ -d $root/src/arch/$arch ]] || die "no $root/src/arch/$arch"

flags=(-std=gnu11 -w -fsanitize=thread -D_GNU_SOURCE -DWEFT_SIM=1
	-I"$root/include" -I"$root/src" -I"$root/src/arch/$arch")

# Everything on objects of one type.
one_type() {
	cat <<-END
	void all_$1(volatile _Atomic($2) *p, $2 *e, $2 v, memory_order mo)
	{
		atomic_store(p, v);
		atomic_store_explicit(p, v, memory_order_relaxed);
		*e += atomic_load(p);
		*e += atomic_load_explicit(p, memory_order_acquire);
		*e += atomic_exchange(p, v);
		*e += atomic_fetch_add(p, v) + atomic_fetch_sub(p, v);
		*e += atomic_fetch_and(p, v) + atomic_fetch_or(p, v);
		*e += atomic_fetch_xor_explicit(p, v, mo);
		*e += __atomic_fetch_nand(($2 *)p, v, __ATOMIC_RELAXED);
		*e += __atomic_add_fetch(($2 *)p, v, __ATOMIC_RELEASE);
		*e += __sync_fetch_and_nand(($2 *)p, v);
		*e += __sync_lock_test_and_set(($2 *)p, v);
		__sync_lock_release(($2 *)p);
		*e += __sync_val_compare_and_swap(($2 *)p, v, *e);
		*e += __sync_bool_compare_and_swap(($2 *)p, v, *e);
		*e += atomic_compare_exchange_strong(p, e, v);
		*e += atomic_compare_exchange_weak(p, e, v);
		*e += atomic_compare_exchange_strong_explicit(p, e, v,
			memory_order_acq_rel, memory_order_relaxed);
		*e += atomic_compare_exchange_weak_explicit(p, e, v,
			memory_order_release, memory_order_acquire);
		(*p)++;
		*p |= v;
		*p *= 3;
	}
	$2 plain_$1($2 *p, volatile $2 *q)
	{
		struct __attribute__((packed)) { char c; $2 v; } *r = (void *)p;

		*p += *q;
		*q = *p;
		r->v += r[1].v;
		p[3] = r[2].v;
		return *q;
	}
	END
}

# All of it.
source_of_everything() {
	cat <<-END
	#include <stdatomic.h>
	#include <stdbool.h>
	#include <stdint.h>
	#include <string.h>

	struct small { char c[3]; };
	struct middle { long a, b, c; };
	struct large { char c[5000]; };
	typedef float four __attribute__((vector_size(16)));
	typedef float eight __attribute__((vector_size(32)));

	void fences(memory_order mo)
	{
		atomic_thread_fence(memory_order_seq_cst);
		atomic_thread_fence(mo);
		atomic_signal_fence(memory_order_seq_cst);
		__sync_synchronize();
	}
	void flags(atomic_flag *f, _Atomic(bool) *b, _Atomic(char *) *p)
	{
		while (atomic_flag_test_and_set(f))
			atomic_flag_clear_explicit(f, memory_order_release);
		*b = !atomic_exchange(b, true);
		atomic_fetch_add(p, 1);
		atomic_store(p, (char *)b);
	}
	void copies(struct small *s, struct middle *m, struct large *l,
		size_t n)
	{
		s[0] = s[1];
		m[0] = m[1];
		l[0] = l[1];
		l[2] = (struct large){ { 1 } };
		m[2] = (struct middle){ 0 };
		memcpy(s, s + 5, sizeof(*s));
		memcpy(m, l, n);
		memmove(l, l + 1, n);
		memset(m, 1, n);
		memset(l, 0, sizeof(*l));
		for (size_t i = 0; i < n; i++)
			l[3].c[i] = l[4].c[i];
	}
	void others(double *d, float *f, long double *x, four *v, eight *w,
		__int128 *i)
	{
		*d += *f;
		*x += *d;
		*v += v[1];
		*w += w[1];
		*i += i[1];
	}
	END
	one_type u8 uint8_t
	one_type i8 int8_t
	one_type u16 uint16_t
	one_type i16 int16_t
	one_type u32 uint32_t
	one_type i32 int32_t
	one_type u64 uint64_t
	one_type i64 int64_t
}

# usage: compile source object option...
compile() {
	local source=$1 object=$2
	shift 2
	"$cc" "${flags[@]}" "$@" -c -o "$object" "$source" ||
		die "$cc $* cannot compile $source"
}

source_of_everything >"$tmp/everything.c"
sources=("$tmp/everything.c")
# As the build does: not the switch of contexts, nor the simulator itself.
for file in "$root"/src/*/*.c; do
	case $file in
	*/src/arch/* | */src/sim/* | */src/base/assert.c) ;;
	*) sources+=("$file") ;;
	esac
done
[[ ${#sources[@]} -ge 20 ]] || die "no sources in $root/src"

n=0
for level in -O0 -O1 -O2 -O3; do
	for file in "${sources[@]}"; do
		# Two at a time.
		while [[ $(jobs -pr | wc -l) -ge 2 ]]; do
			wait -n || exit 1
		done
		n=$((n + 1))
		compile "$file" "$tmp/$n.o" "$level" &
	done
done
while [[ -n $(jobs -pr) ]]; do
	wait -n || exit 1
done
# Those who ask for it get calls of their own for volatile objects.
for option in "--param=tsan-distinguish-volatile=1" \
	"-mllvm -tsan-distinguish-volatile=1" \
	"-mllvm -tsan-compound-read-before-write=1"; do
	# shellcheck disable=SC2086 # an option may be two words
	if "$cc" "${flags[@]}" -O2 $option -c -o "$tmp/option.o" \
		"$tmp/everything.c" 2>/dev/null; then
		n=$((n + 1))
		mv "$tmp/option.o" "$tmp/$n.o"
	fi
done
[[ $(find "$tmp" -name '*.o' | wc -l) == "$n" ]] ||
	die "some sources were not compiled"

nm -u "$tmp"/*.o | sed -n 's/^ *U \(__tsan_.*\)/\1/p' | sort -u >"$tmp/needed"
nm --defined-only "$library" 2>/dev/null |
	sed -n 's/^.* [TW] \(__tsan_.*\)/\1/p' | sort -u >"$tmp/there"
needed=$(wc -l <"$tmp/needed")
# Five plain accesses and ten operations of four sizes, at the very least.
[[ $needed -ge 40 ]] ||
	die "$cc calls only $needed functions: nothing is instrumented"
missing=$(comm -23 "$tmp/needed" "$tmp/there")
if [[ -n $missing ]]; then
	for symbol in $missing; do
		echo "hooks.sh: the compiler emits $symbol," \
			"which src/sim/hooks.c does not have" >&2
	done
	exit 1
fi
echo "hooks.sh: $cc: $n objects call $needed functions, all are there"
