/* SPDX-License-Identifier: MIT */
/*
 * os/linux/cpu.c - how many CPUs this process may really use.
 *
 * The affinity mask says which CPUs we may run on; the CPU quota of our control
 * group, or of any group above it that we can see, says for how much of the
 * time.  Both versions of control groups are read.  A container often sees only
 * a part of the tree: the group `root' is mounted, and our path is relative to
 * it; if our path does not lie below root, the mount point is our group.
 */
#include "os/os.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The calling thread's mask, for any number of CPUs; NULL: no memory. */
static cpu_set_t *affinity(int *cpus)
{
	for (*cpus = 1024; *cpus <= 1 << 20; *cpus *= 2) {
		cpu_set_t *set = CPU_ALLOC(*cpus);

		if (set == NULL)
			return NULL;
		if (sched_getaffinity(0, CPU_ALLOC_SIZE(*cpus), set) == 0)
			return set;
		CPU_FREE(set);
	}
	return NULL;
}

unsigned wf_os_cpus_allowed(void)
{
	int cpus, n = 1;
	cpu_set_t *set = affinity(&cpus);

	if (set != NULL) {
		n = CPU_COUNT_S(CPU_ALLOC_SIZE(cpus), set);
		CPU_FREE(set);
	}
	return n > 0 ? (unsigned)n : 1;
}

int wf_os_thread_pin(unsigned nth)
{
	int cpus, err = -EINVAL;
	cpu_set_t *set = affinity(&cpus);
	size_t bytes = CPU_ALLOC_SIZE(cpus);

	if (set == NULL)
		return -ENOMEM;
	for (int cpu = 0; cpu < cpus; cpu++) {
		if (!CPU_ISSET_S(cpu, bytes, set) || nth-- > 0)
			continue;
		CPU_ZERO_S(bytes, set);
		CPU_SET_S(cpu, bytes, set);
		err = sched_setaffinity(0, bytes, set) < 0 ? -errno : 0;
		break;
	}
	CPU_FREE(set);
	return err;
}

/*
 * Call done(line, arg) for each line of a file under root, until it returns
 * true.
 */
static void for_each_line(const char *root, const char *name,
	bool (*done)(char *line, void *arg), void *arg)
{
	char path[PATH_MAX], *line = NULL;
	size_t room = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s%s", root, name);
	f = fopen(path, "re");
	if (f == NULL)
		return;
	while (getline(&line, &room, f) > 0) {
		line[strcspn(line, "\n")] = '\0';
		if (done(line, arg))
			break;
	}
	free(line);
	fclose(f);
}

/* Where a hierarchy with the cpu controller is mounted, and our place in it. */
struct cgroup {
	bool v2;
	char mount[PATH_MAX];
	char root[PATH_MAX]; /* the group that is mounted there */
	char path[PATH_MAX]; /* our group, from the root of the whole tree */
};

/* Whether word is one of the comma-separated words of list. */
static bool has_word(const char *list, const char *word)
{
	size_t n = strlen(word);

	for (const char *at = list; (at = strstr(at, word)) != NULL; at += n)
		if ((at == list || at[-1] == ',') &&
			(at[n] == '\0' || at[n] == ','))
			return true;
	return false;
}

/* "0::/path" (version 2), or "4:cpu,cpuacct:/path" (version 1). */
static bool find_path(char *line, void *arg)
{
	struct cgroup *g = arg;
	char *controllers = strchr(line, ':');
	char *path = controllers ? strchr(controllers + 1, ':') : NULL;

	if (path == NULL)
		return false;
	*controllers++ = '\0';
	*path++ = '\0';
	if (g->v2 ? strcmp(line, "0") == 0 && *controllers == '\0'
		  : has_word(controllers, "cpu")) {
		snprintf(g->path, sizeof(g->path), "%s", path);
		return true;
	}
	return false;
}

/* "id parent dev root mountpoint options [...] - type source superoptions" */
static bool find_mount(char *line, void *arg)
{
	struct cgroup *g = arg;
	char *tail = strstr(line, " - "), mount[PATH_MAX], root[PATH_MAX];
	char type[32], super[256];

	if (tail == NULL ||
		sscanf(tail, " - %31s %*s %255s", type, super) != 2 ||
		sscanf(line, "%*s %*s %*s %4095s %4095s", root, mount) != 2)
		return false;
	if (g->v2 ? strcmp(type, "cgroup2") == 0
		  : strcmp(type, "cgroup") == 0 && has_word(super, "cpu")) {
		snprintf(g->mount, sizeof(g->mount), "%s", mount);
		snprintf(g->root, sizeof(g->root), "%s", root);
		return true;
	}
	return false;
}

/* Read one number or two from dir/name; returns how many were read. */
static int read_numbers(const char *root, const char *dir, const char *name,
	long long *a, long long *b)
{
	char path[2 * PATH_MAX];
	int n;
	FILE *f;

	if (snprintf(path, sizeof(path), "%s%s/%s", root, dir, name) >=
		(int)sizeof(path))
		return 0;
	f = fopen(path, "re");
	if (f == NULL)
		return 0;
	n = fscanf(f, "%lld %lld", a, b);
	fclose(f);
	return n < 0 ? 0 : n;
}

/* The quota set at one group, in thousandths of a CPU; 0: none. */
static uint64_t quota_of(const char *root, const char *dir, bool v2)
{
	long long quota = 0, period = 0, none;

	if (v2) {
		/* "max 100000" gives no number: there is no limit. */
		if (read_numbers(root, dir, "cpu.max", &quota, &period) != 2)
			return 0;
	} else {
		read_numbers(root, dir, "cpu.cfs_quota_us", &quota, &none);
		read_numbers(root, dir, "cpu.cfs_period_us", &period, &none);
	}
	if (quota <= 0 || period <= 0 || quota > LLONG_MAX / 1000)
		return 0;
	return (uint64_t)(quota * 1000 / period);
}

/* Our group's path below the mount point; "" is the mount point itself. */
static const char *path_below(const struct cgroup *g)
{
	size_t n = strcmp(g->root, "/") == 0 ? 0 : strlen(g->root);

	if (strncmp(g->path, g->root, n) != 0 || strcmp(g->path, "/") == 0)
		return "";
	return g->path[n] == '/' ? g->path + n : "";
}

/* The least quota from our group up to the mount point. */
static uint64_t quota_upwards(const char *root, const struct cgroup *g)
{
	char dir[2 * PATH_MAX];
	uint64_t least = 0;
	size_t top = strlen(g->mount);

	snprintf(dir, sizeof(dir), "%s%s", g->mount, path_below(g));
	for (;;) {
		uint64_t q = quota_of(root, dir, g->v2);

		if (q != 0 && (least == 0 || q < least))
			least = q;
		if (strlen(dir) <= top)
			return least;
		*strrchr(dir, '/') = '\0';
	}
}

uint64_t wf_os_cpu_quota_milli(const char *root)
{
	uint64_t least = 0;

	for (int v2 = 0; v2 <= 1; v2++) {
		struct cgroup g = { .v2 = v2 };
		uint64_t q;

		for_each_line(root, "/proc/self/cgroup", find_path, &g);
		for_each_line(root, "/proc/self/mountinfo", find_mount, &g);
		if (g.mount[0] == '\0' || g.path[0] != '/')
			continue;
		q = quota_upwards(root, &g);
		if (q != 0 && (least == 0 || q < least))
			least = q;
	}
	return least;
}

unsigned wf_os_cpus_default(void)
{
	unsigned cpus = wf_os_cpus_allowed();
	uint64_t quota = (wf_os_cpu_quota_milli("") + 999) / 1000;

	return quota != 0 && quota < cpus ? (unsigned)quota : cpus;
}
