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

#include "base/units.h"
#include "sim/program.h"

#define WF_SIM_COMMAND 65536
#define WF_SIM_BATCH 2048 /* addresses in it */

/* The debug information of the library's own files has this in its paths. */
#define WF_SIM_OURS "weft-src/"

/* The whole file, or NULL; mapped once, before any run, and kept. */
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

void wf_sim_symbols_open(void)
{
	(void)file();
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

/* Read one line without its end; false: there is none. */
static bool line(FILE *in, char *text, size_t bytes)
{
	if (fgets(text, (int)bytes, in) == NULL)
		return false;
	text[strcspn(text, "\n")] = '\0';
	return true;
}

/* Read addr2line's answer for one address: a function, then a place. */
static bool read_line(FILE *in, struct wf_sim_line *l)
{
	char function[256], place[PATH_MAX];
	const char *file = place, *ours;

	if (!line(in, function, sizeof(function)) ||
		!line(in, place, sizeof(place)))
		return false;
	place[strcspn(place, " ")] = '\0';
	ours = strstr(place, WF_SIM_OURS);
	l->inside = ours != NULL;
	if (l->inside)
		file = ours + strlen(WF_SIM_OURS);
	else if (strrchr(place, '/') != NULL)
		file = strrchr(place, '/') + 1;
	if (function[0] != '?')
		snprintf(l->text, sizeof(l->text), "%.38s (%.38s)", function,
			file);
	return true;
}

/* Look up as many as fit a command line. */
static void read_lines(const char *exe, struct wf_sim_line *lines, size_t n)
{
	char *command = malloc(WF_SIM_COMMAND);
	size_t at;
	FILE *in;

	if (command == NULL)
		return;
	at = (size_t)snprintf(command, WF_SIM_COMMAND,
		"addr2line -f -e '%s' 2>/dev/null", exe);
	/* A return address is behind the call, so subtract 1. */
	for (size_t i = 0; i < n; i++)
		at += (size_t)snprintf(command + at, WF_SIM_COMMAND - at,
			" %#lx",
			(unsigned long)wf_sim_program_offset(lines[i].pc) - 1);
	in = popen(command, "r");
	free(command);
	if (in == NULL)
		return;
	for (size_t i = 0; i < n && read_line(in, &lines[i]); i++)
		continue;
	(void)pclose(in);
}

void wf_sim_lines(struct wf_sim_line *lines, size_t n)
{
	char exe[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

	for (size_t i = 0; i < n; i++) {
		lines[i].inside = false;
		snprintf(lines[i].text, sizeof(lines[i].text), "%#lx",
			(unsigned long)wf_sim_program_offset(lines[i].pc));
	}
	/*
	 * The shell gets the path between quotes, so it must not contain a
	 * quote.
	 */
	if (length <= 0 || memchr(exe, '\'', (size_t)length) != NULL)
		return;
	exe[length] = '\0';
	for (size_t i = 0; i < n; i += WF_SIM_BATCH)
		read_lines(exe, lines + i, wf_min_size(n - i, WF_SIM_BATCH));
}
