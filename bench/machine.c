/* SPDX-License-Identifier: MIT */
/*
 * bench/machine.c - describe this machine.
 */
#include "bench/machine.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

#include <weft/version.h>

#include "os/os.h"

/* Not every architecture has a "model name"; some have "cpu", some neither. */
void bench_machine_model(const char *path, char *model, int bytes)
{
	FILE *f = fopen(path, "re");
	char line[256];

	model[0] = '\0';
	if (f == NULL)
		return;
	while (model[0] == '\0' && fgets(line, sizeof(line), f) != NULL) {
		const char *value = strchr(line, ':');

		if (value == NULL ||
			(strncmp(line, "model name", 10) != 0 &&
				strncmp(line, "cpu\t", 4) != 0))
			continue;
		value += 1 + strspn(value + 1, " \t");
		(void)snprintf(model, (size_t)bytes, "%.*s",
			(int)strcspn(value, "\n"), value);
	}
	fclose(f);
}

void bench_machine_read(struct bench_machine *m)
{
	struct utsname u = { 0 };
	time_t now = time(NULL);
	struct tm tm = { 0 };

	*m = (struct bench_machine){ .version = weft_version(),
		.cpus = wf_os_cpus_default() };
	(void)uname(&u);
	bench_machine_model("/proc/cpuinfo", m->cpu, sizeof(m->cpu));
	if (m->cpu[0] == '\0')
		(void)snprintf(m->cpu, sizeof(m->cpu), "%s", u.machine);
	(void)snprintf(m->kernel, sizeof(m->kernel), "%s", u.release);
	(void)gmtime_r(&now, &tm);
	(void)strftime(m->date, sizeof(m->date), "%Y-%m-%d %H:%M UTC", &tm);
}
