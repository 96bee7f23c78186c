/* SPDX-License-Identifier: MIT */
/*
 * sim/symbols.c - the symbol table of the program's file, and addr2line.
 */
#include "sim/symbols.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/program.h"

#define WF_SIM_COMMAND 60000

/* The whole file, or NULL; mapped once and kept. */
static const char *file(void)
{
	static const char *mapped;
	struct stat st;
	int fd;

	if (mapped != NULL)
		return mapped == MAP_FAILED ? NULL : mapped;
	mapped = MAP_FAILED;
	fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) == 0 && st.st_size > 0)
		mapped = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE,
			fd, 0);
	(void)close(fd);
	return mapped == MAP_FAILED ? NULL : mapped;
}

static const ElfW(Shdr) * symbol_table(const char *f)
{
	const ElfW(Ehdr) *e = (const void *)f;
	const ElfW(Shdr) *s = (const void *)(f + e->e_shoff);

	for (unsigned i = 0; e->e_shoff != 0 && i < e->e_shnum; i++)
		if (s[i].sh_type == SHT_SYMTAB)
			return &s[i];
	return NULL;
}

bool wf_sim_symbol(uintptr_t addr, char *name, size_t bytes, size_t *offset)
{
	uintptr_t at = wf_sim_program_offset(addr);
	const char *f = file(), *strings;
	const ElfW(Shdr) *table = f == NULL ? NULL : symbol_table(f);
	const ElfW(Sym) * sym;

	if (table == NULL)
		return false;
	sym = (const void *)(f + table->sh_offset);
	strings = f +
		((const ElfW(Shdr) *)(const void *)(f +
			((const ElfW(Ehdr) *)(const void *)f)
				->e_shoff))[table->sh_link]
			.sh_offset;
	for (size_t i = 0; i < table->sh_size / sizeof(*sym); i++) {
		unsigned type = ELF64_ST_TYPE(sym[i].st_info);

		if ((type != STT_OBJECT && type != STT_FUNC) ||
			at < sym[i].st_value ||
			at - sym[i].st_value >= sym[i].st_size)
			continue;
		snprintf(name, bytes, "%s", strings + sym[i].st_name);
		*offset = at - sym[i].st_value;
		return true;
	}
	return false;
}

/* One line without its end; false: there is none. */
static bool line(FILE *in, char *text, size_t bytes)
{
	if (fgets(text, (int)bytes, in) == NULL)
		return false;
	text[strcspn(text, "\n")] = '\0';
	return true;
}

void wf_sim_lines(const uintptr_t *pc, size_t n, char (*text)[80])
{
	char *command = malloc(WF_SIM_COMMAND);
	char exe[PATH_MAX], function[256], place[256];
	ssize_t length = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	size_t at;
	FILE *in = NULL;

	for (size_t i = 0; i < n; i++)
		snprintf(text[i], sizeof(text[i]), "%#lx",
			(unsigned long)wf_sim_program_offset(pc[i]));
	/* The shell sees the path between quotes; one with a quote is odd. */
	if (command == NULL || length <= 0 ||
		memchr(exe, '\'', (size_t)length) != NULL) {
		free(command);
		return;
	}
	at = (size_t)snprintf(command, WF_SIM_COMMAND,
		"addr2line -f -s -e '%.*s' 2>/dev/null", (int)length, exe);
	/* A return address is behind the call. */
	for (size_t i = 0; i < n && at < WF_SIM_COMMAND - 32; i++)
		at += (size_t)snprintf(command + at, WF_SIM_COMMAND - at,
			" %#lx",
			(unsigned long)wf_sim_program_offset(pc[i]) - 1);
	in = popen(command, "r");
	free(command);
	if (in == NULL)
		return;
	for (size_t i = 0; i < n && line(in, function, sizeof(function)) &&
		line(in, place, sizeof(place));
		i++) {
		place[strcspn(place, " ")] = '\0';
		if (function[0] != '?')
			snprintf(text[i], sizeof(text[i]), "%.38s (%.38s)",
				function, place);
	}
	(void)pclose(in);
}
