/* SPDX-License-Identifier: MIT */
/*
 * bench/process.c - read /proc.
 */
#include "bench/process.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The number behind "key:" in a file of such lines; 0 if there is none. */
static uint64_t number_of(const char *path, const char *key)
{
	FILE *f = fopen(path, "re");
	size_t length = strlen(key);
	char line[256];
	uint64_t n = 0;

	if (f == NULL)
		return 0;
	while (fgets(line, sizeof(line), f) != NULL) {
		if (strncmp(line, key, length) == 0 && line[length] == ':') {
			n = strtoull(line + length + 1, NULL, 10);
			break;
		}
	}
	fclose(f);
	return n;
}

uint64_t bench_rss_bytes(void)
{
	return number_of("/proc/self/status", "VmRSS") * 1024;
}

uint64_t bench_memory_left(void)
{
	return number_of("/proc/meminfo", "MemAvailable") * 1024;
}

uint64_t bench_mappings(void)
{
	FILE *f = fopen("/proc/self/maps", "re");
	uint64_t lines = 0;
	int c;

	if (f == NULL)
		return 0;
	while ((c = getc_unlocked(f)) != EOF)
		lines += c == '\n';
	fclose(f);
	return lines;
}

int bench_switches_read(struct bench_switches *s)
{
	long self = syscall(SYS_gettid);
	DIR *dir = opendir("/proc/self/task");
	struct dirent *entry;

	s->n = 0;
	if (dir == NULL)
		return -errno;
	while ((entry = readdir(dir)) != NULL && s->n < BENCH_THREADS_MAX) {
		long tid = strtol(entry->d_name, NULL, 10);
		char path[64];

		if (tid <= 0 || tid == self)
			continue;
		snprintf(path, sizeof(path), "/proc/self/task/%ld/status", tid);
		s->of[s->n].tid = tid;
		s->of[s->n].switches =
			number_of(path, "voluntary_ctxt_switches");
		s->n++;
	}
	closedir(dir);
	return 0;
}

uint64_t bench_switches_between(
	const struct bench_switches *before, const struct bench_switches *after)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < after->n; i++)
		sum += after->of[i].switches;
	for (size_t i = 0; i < before->n; i++) {
		size_t k = 0;

		while (k < after->n && after->of[k].tid != before->of[i].tid)
			k++;
		if (k < after->n)
			sum -= before->of[i].switches;
		else
			sum++;
	}
	return sum;
}
