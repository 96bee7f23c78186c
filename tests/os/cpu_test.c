/* SPDX-License-Identifier: MIT */
/*
 * tests/os/cpu_test.c - CPUs are counted by affinity and by the least quota of
 * our control group and those above it, in both versions, and bad files count
 * as no quota.
 *
 * Each test has a root of its own, a temporary directory with the files that
 * the kernel would show.  Code that cannot be told to look there is led there
 * by its calls of fopen.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/os.h"

#define MOUNT "/sys/fs/cgroup"
#define V2_MOUNT "30 20 0:25 / " MOUNT " rw - cgroup2 cgroup2 rw,nsdelegate\n"
#define V1_MOUNT                                                           \
	"33 24 0:28 / " MOUNT "/cpuset rw shared:9 - cgroup cgroup "       \
	"rw,cpuset\n"                                                      \
	"34 24 0:29 / " MOUNT "/cpu rw shared:9 master:1 - cgroup cgroup " \
	"rw,cpu,cpuacct\n"

static char root[256];
static bool led_to_root;

/* A machine of many CPUs, if not 0; odd ones are not ours. */
static int fake_cpus;
static int fake_pinned;		/* the CPU we were bound to last */

FILE *__real_fopen(const char *path, const char *mode);
FILE *__wrap_fopen(const char *path, const char *mode);
int __real_sched_getaffinity(pid_t pid, size_t bytes, cpu_set_t *set);
int __wrap_sched_getaffinity(pid_t pid, size_t bytes, cpu_set_t *set);
int __real_sched_setaffinity(pid_t pid, size_t bytes, const cpu_set_t *set);
int __wrap_sched_setaffinity(pid_t pid, size_t bytes, const cpu_set_t *set);

FILE *__wrap_fopen(const char *path, const char *mode)
{
	char there[PATH_MAX];

	if (!led_to_root)
		return __real_fopen(path, mode);
	snprintf(there, sizeof(there), "%s%s", root, path);
	return __real_fopen(there, mode);
}

/* As the kernel: the set must have room for every CPU there may be. */
int __wrap_sched_getaffinity(pid_t pid, size_t bytes, cpu_set_t *set)
{
	if (fake_cpus == 0)
		return __real_sched_getaffinity(pid, bytes, set);
	if (bytes * CHAR_BIT < (size_t)fake_cpus) {
		errno = EINVAL;
		return -1;
	}
	CPU_ZERO_S(bytes, set);
	for (int cpu = 0; cpu < fake_cpus; cpu += 2)
		CPU_SET_S(cpu, bytes, set);
	return 0;
}

int __wrap_sched_setaffinity(pid_t pid, size_t bytes, const cpu_set_t *set)
{
	if (fake_cpus == 0)
		return __real_sched_setaffinity(pid, bytes, set);
	fake_pinned = -1;
	for (int cpu = 0; cpu < fake_cpus; cpu++)
		if (CPU_ISSET_S(cpu, bytes, set))
			fake_pinned = fake_pinned < 0 ? cpu : -2;
	return 0;
}

static int make_root(void **state)
{
	const char *tmp = getenv("TMPDIR");

	(void)state;
	led_to_root = false;
	fake_cpus = 0;
	snprintf(root, sizeof(root), "%s/weft-cpu-XXXXXX", tmp ? tmp : "/tmp");
	return mkdtemp(root) ? 0 : -1;
}

static int remove_one(
	const char *path, const struct stat *st, int kind, struct FTW *at)
{
	(void)st;
	(void)kind;
	(void)at;
	return remove(path);
}

static int remove_root(void **state)
{
	(void)state;
	led_to_root = false;
	fake_cpus = 0;
	return nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* A file under root, with the directories it is in. */
static void put(const char *name, const char *text)
{
	char path[PATH_MAX];
	FILE *f;

	assert_false(led_to_root);
	snprintf(path, sizeof(path), "%s%s", root, name);
	for (char *p = path + strlen(root) + 1; *p != '\0'; p++) {
		if (*p == '/') {
			*p = '\0';
			mkdir(path, 0700);
			*p = '/';
		}
	}
	f = fopen(path, "we");
	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static void put_v2(const char *group)
{
	char line[PATH_MAX];

	snprintf(line, sizeof(line), "0::%s\n", group);
	put("/proc/self/cgroup", line);
	put("/proc/self/mountinfo",
		"20 1 8:1 / / rw - ext4 /dev/sda1 rw\n" V2_MOUNT);
}

static void put_v1(const char *group)
{
	char lines[PATH_MAX];

	snprintf(lines, sizeof(lines),
		"6:vcpu,cpuset:/elsewhere\n4:cpu,cpuacct:%s\n"
		"1:name=systemd:/\n",
		group);
	put("/proc/self/cgroup", lines);
	put("/proc/self/mountinfo", V1_MOUNT);
}

static unsigned quota(void)
{
	return (unsigned)wf_os_cpu_quota_milli(root);
}

static void an_empty_root_has_no_quota(void **state)
{
	(void)state;
	assert_int_equal(quota(), 0);
	assert_int_equal(wf_os_cpu_quota_milli("/no/such/directory"), 0);
}

static void v2_quota_of_our_own_group(void **state)
{
	(void)state;
	put_v2("/app");
	put(MOUNT "/app/cpu.max", "150000 100000\n");
	assert_int_equal(quota(), 1500);
}

static void v2_quota_of_the_parent(void **state)
{
	(void)state;
	put_v2("/user.slice/app.scope");
	put(MOUNT "/user.slice/cpu.max", "50000 100000\n");
	put(MOUNT "/user.slice/app.scope/cpu.max", "max 100000\n");
	assert_int_equal(quota(), 500);
}

static void v2_least_quota_wins_wherever_it_is(void **state)
{
	(void)state;
	put_v2("/a/b/c/d/e");
	put(MOUNT "/a/b/c/d/e/cpu.max", "400000 100000\n");
	put(MOUNT "/a/b/c/cpu.max", "300000 100000\n");
	put(MOUNT "/a/cpu.max", "700000 100000\n");
	assert_int_equal(quota(), 3000);
	put(MOUNT "/a/cpu.max", "200000 100000\n");
	assert_int_equal(quota(), 2000);
	put(MOUNT "/a/b/c/d/e/cpu.max", "100000 100000\n");
	assert_int_equal(quota(), 1000);
	/* Nor one beside us, nor one that only begins like us. */
	put(MOUNT "/a/b/cc/cpu.max", "1000 100000\n");
	put(MOUNT "/a/bb/cpu.max", "1000 100000\n");
	assert_int_equal(quota(), 1000);
}

static void v2_without_a_limit(void **state)
{
	(void)state;
	put_v2("/app");
	put(MOUNT "/app/cpu.max", "max 100000\n");
	put(MOUNT "/cpu.max", "max 100000\n");
	assert_int_equal(quota(), 0);
}

static void v2_at_the_root_of_the_tree(void **state)
{
	(void)state;
	put_v2("/");
	assert_int_equal(quota(), 0);
	put(MOUNT "/cpu.max", "250000 100000\n");
	assert_int_equal(quota(), 2500);
}

/* A container that sees its own part of the tree, under a name of the host. */
static void v2_our_group_is_the_mount_point(void **state)
{
	(void)state;
	put_v2("/docker/0123456789abcdef");
	put(MOUNT "/cpu.max", "120000 100000\n");
	assert_int_equal(quota(), 1200);
	put_v2("/../../docker/0123456789abcdef");
	assert_int_equal(quota(), 1200);
}

/* A container that sees its own part of the tree and made groups in it. */
static void v2_our_group_is_below_the_mounted_one(void **state)
{
	(void)state;
	put("/proc/self/cgroup", "0::/docker/abc/sub\n");
	put("/proc/self/mountinfo",
		"30 20 0:25 /docker/abc " MOUNT " rw - cgroup2 cgroup2 rw\n");
	put(MOUNT "/cpu.max", "400000 100000\n");
	put(MOUNT "/sub/cpu.max", "150000 100000\n");
	assert_int_equal(wf_os_cpu_quota_milli(root), 1500);
	/* A name that only begins alike is not below. */
	put("/proc/self/cgroup", "0::/docker/abcd/sub\n");
	assert_int_equal(wf_os_cpu_quota_milli(root), 4000);
}

static void v2_not_mounted(void **state)
{
	(void)state;
	put_v2("/app");
	put(MOUNT "/app/cpu.max", "150000 100000\n");
	put("/proc/self/mountinfo", "20 1 8:1 / / rw - ext4 /dev/sda1 rw\n");
	assert_int_equal(quota(), 0);
}

static void v1_quota(void **state)
{
	(void)state;
	put_v1("/app");
	put(MOUNT "/cpu/app/cpu.cfs_quota_us", "200000\n");
	put(MOUNT "/cpu/app/cpu.cfs_period_us", "100000\n");
	put(MOUNT "/cpuset/app/cpu.cfs_quota_us", "1000\n");
	put(MOUNT "/cpuset/app/cpu.cfs_period_us", "100000\n");
	assert_int_equal(quota(), 2000);
}

static void v1_quota_of_the_parent(void **state)
{
	(void)state;
	put_v1("/pod/app");
	put(MOUNT "/cpu/pod/app/cpu.cfs_quota_us", "-1\n");
	put(MOUNT "/cpu/pod/app/cpu.cfs_period_us", "100000\n");
	put(MOUNT "/cpu/pod/cpu.cfs_quota_us", "75000\n");
	put(MOUNT "/cpu/pod/cpu.cfs_period_us", "50000\n");
	assert_int_equal(quota(), 1500);
}

static void v1_without_a_limit(void **state)
{
	(void)state;
	put_v1("/app");
	put(MOUNT "/cpu/app/cpu.cfs_quota_us", "-1\n");
	put(MOUNT "/cpu/app/cpu.cfs_period_us", "100000\n");
	assert_int_equal(quota(), 0);
}

static void v1_our_group_is_the_mount_point(void **state)
{
	(void)state;
	put_v1("/docker/0123456789abcdef");
	put(MOUNT "/cpu/cpu.cfs_quota_us", "10000\n");
	put(MOUNT "/cpu/cpu.cfs_period_us", "100000\n");
	assert_int_equal(quota(), 100);
}

/* Both are mounted; the cpu controller is in the first. */
static void v1_and_v2_together(void **state)
{
	(void)state;
	put("/proc/self/cgroup", "4:cpu:/app\n0::/app\n");
	put("/proc/self/mountinfo", V1_MOUNT V2_MOUNT);
	put(MOUNT "/cpu/app/cpu.cfs_quota_us", "300000\n");
	put(MOUNT "/cpu/app/cpu.cfs_period_us", "100000\n");
	assert_int_equal(quota(), 3000);
	put(MOUNT "/app/cpu.max", "200000 100000\n");
	assert_int_equal(quota(), 2000);
}

static void malformed_quotas_are_none(void **state)
{
	static const char *const bad[] = { "", "\n", "lots\n", "100000\n",
		"100000 0\n", "100000 -100000\n", "0 100000\n",
		"-100000 100000\n", "100000 many\n", "max max\n",
		"99999999999999999999999 100000\n",
		"9223372036854775807 1\n" };

	(void)state;
	put_v2("/app");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		put(MOUNT "/app/cpu.max", bad[i]);
		assert_int_equal(quota(), 0);
	}
	put_v1("/app");
	put(MOUNT "/cpu/app/cpu.cfs_quota_us", "100000\n");
	assert_int_equal(quota(), 0);
	put(MOUNT "/cpu/app/cpu.cfs_period_us", "0\n");
	assert_int_equal(quota(), 0);
}

static void malformed_lists_are_none(void **state)
{
	static const char *const bad[] = { "", "\n", ":", "::", "0::\n",
		"0::app\n", "0:/app\n", "1::/app\n", "0:cpus:/app\n",
		"no colons\n" };

	(void)state;
	put_v2("/app");
	put(MOUNT "/app/cpu.max", "150000 100000\n");
	put(MOUNT "/cpu.max", "160000 100000\n");
	put(MOUNT "app/cpu.max", "160000 100000\n");
	assert_int_equal(quota(), 1500);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		put("/proc/self/cgroup", bad[i]);
		assert_int_equal(quota(), 0);
	}
	put_v2("/app");
	put("/proc/self/mountinfo", "30 20 0:25 / " MOUNT " rw cgroup2\n"
				    " - cgroup2\n - cgroup2 cgroup2 rw\n\n-");
	assert_int_equal(quota(), 0);
	/* Bad lines do not hide a good one, which may lack its newline. */
	put("/proc/self/mountinfo", "nonsense\n - \n" V2_MOUNT);
	put("/proc/self/cgroup", "\nnonsense\n0::/app");
	assert_int_equal(quota(), 1500);
}

/* Longer than any path may be: no quota, and no harm. */
static void endless_names_do_no_harm(void **state)
{
	static char text[4 * PATH_MAX];

	(void)state;
	put_v2("/app");
	put(MOUNT "/cpu.max", "150000 100000\n");
	memset(text, 'x', sizeof(text) - 1);
	for (size_t i = 3; i < sizeof(text) - 1; i += 100)
		text[i] = '/';
	memcpy(text, "0::", 3);
	put("/proc/self/cgroup", text);
	assert_int_equal(quota(), 1500);
	memcpy(text, "1 2 3 ", 6);
	memcpy(text + sizeof(text) - 30, " rw - cgroup2 cgroup2 rw\n", 26);
	put("/proc/self/mountinfo", text);
	assert_int_equal(quota(), 0);
	assert_int_equal(wf_os_cpu_quota_milli(text), 0);
}

static void a_quota_is_told_in_thousandths(void **state)
{
	(void)state;
	put_v2("/app");
	put(MOUNT "/app/cpu.max", "100000 300000\n");
	assert_int_equal(quota(), 333);
	put(MOUNT "/app/cpu.max", "1000 1000000\n");
	assert_int_equal(quota(), 1);
	put(MOUNT "/app/cpu.max", "6400000 100000\n");
	assert_int_equal(quota(), 64000);
}

static unsigned default_with(const char *cpu_max)
{
	unsigned n;

	put(MOUNT "/app/cpu.max", cpu_max);
	led_to_root = true;
	n = wf_os_cpus_default();
	led_to_root = false;
	return n;
}

static void a_part_of_a_cpu_counts_as_one(void **state)
{
	(void)state;
	fake_cpus = 16;			/* of which 8 are ours */
	put_v2("/app");
	assert_int_equal(default_with("max 100000\n"), 8);
	assert_int_equal(default_with("1000 100000\n"), 1);
	assert_int_equal(default_with("100000 100000\n"), 1);
	assert_int_equal(default_with("100100 100000\n"), 2);
	assert_int_equal(default_with("150000 100000\n"), 2);
	assert_int_equal(default_with("700000 100000\n"), 7);
	assert_int_equal(default_with("701000 100000\n"), 8);
	assert_int_equal(default_with("1200000 100000\n"), 8);
}

static void the_real_default_is_sound(void **state)
{
	unsigned n = wf_os_cpus_default();

	(void)state;
	assert_in_range(n, 1, wf_os_cpus_allowed());
}

static void many_cpus_are_all_counted(void **state)
{
	(void)state;
	for (fake_cpus = 1; fake_cpus <= 65536; fake_cpus *= 4) {
		unsigned ours = (unsigned)(fake_cpus + 1) / 2;

		assert_int_equal(wf_os_cpus_allowed(), ours);
		assert_int_equal(wf_os_thread_pin(ours - 1), 0);
		assert_int_equal(fake_pinned, 2 * (ours - 1));
		assert_int_equal(wf_os_thread_pin(0), 0);
		assert_int_equal(fake_pinned, 0);
		assert_int_equal(wf_os_thread_pin(ours), -EINVAL);
		assert_int_equal(wf_os_thread_pin(UINT_MAX), -EINVAL);
		assert_int_equal(fake_pinned, 0);
	}
}

/* On a thread of its own, which stays bound for the rest of its life. */
struct pin {
	unsigned nth;
	int err, past_the_end;
	unsigned allowed;
	int cpu;
};

static void *pinned(void *arg)
{
	struct pin *p = arg;

	p->err = wf_os_thread_pin(p->nth);
	p->allowed = wf_os_cpus_allowed();
	p->cpu = sched_getcpu();
	p->past_the_end = wf_os_thread_pin(1);
	return NULL;
}

static void pinned_to_each_cpu_in_turn(void **state)
{
	unsigned allowed = wf_os_cpus_allowed();
	int last = -1;

	(void)state;
	assert_true(allowed >= 1);
	for (unsigned nth = 0; nth < allowed; nth++) {
		struct pin p = { .nth = nth };
		pthread_t thread;

		assert_int_equal(
			pthread_create(&thread, NULL, pinned, &p), 0);
		pthread_join(thread, NULL);
		assert_int_equal(p.err, 0);
		assert_int_equal(p.allowed, 1);
		assert_true(p.cpu > last);
		assert_int_equal(p.past_the_end, -EINVAL);
		last = p.cpu;
	}
	assert_int_equal(wf_os_cpus_allowed(), allowed);
	assert_int_equal(wf_os_thread_pin(allowed), -EINVAL);
	assert_int_equal(wf_os_cpus_allowed(), allowed);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, make_root, remove_root)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_empty_root_has_no_quota),
		TEST(v2_quota_of_our_own_group),
		TEST(v2_quota_of_the_parent),
		TEST(v2_least_quota_wins_wherever_it_is),
		TEST(v2_without_a_limit),
		TEST(v2_at_the_root_of_the_tree),
		TEST(v2_our_group_is_the_mount_point),
		TEST(v2_our_group_is_below_the_mounted_one),
		TEST(v2_not_mounted),
		TEST(v1_quota),
		TEST(v1_quota_of_the_parent),
		TEST(v1_without_a_limit),
		TEST(v1_our_group_is_the_mount_point),
		TEST(v1_and_v2_together),
		TEST(malformed_quotas_are_none),
		TEST(malformed_lists_are_none),
		TEST(endless_names_do_no_harm),
		TEST(a_quota_is_told_in_thousandths),
		TEST(a_part_of_a_cpu_counts_as_one),
		TEST(the_real_default_is_sound),
		TEST(many_cpus_are_all_counted),
		TEST(pinned_to_each_cpu_in_turn),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
