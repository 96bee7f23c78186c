/* SPDX-License-Identifier: MIT */
/*
 * sim/program.c - find the program's variables and code in memory.
 */
#include "sim/program.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>

#include "base/units.h"
#include "sim/engine.h"
#include "sim/heap.h"
#include "sim/shadow.h"

#define WF_SIM_SEGMENTS 8
#define WF_SIM_ALTSTACK ((size_t)64 << 10)
#define WF_SIM_STUCK_S 10

struct segment {
	char *low, *saved;
	size_t bytes;
};

static const int crashes[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGVTALRM };

#define WF_SIM_CRASHES (sizeof(crashes) / sizeof(crashes[0]))

static struct {
	uintptr_t base, end, text_low, text_high;
	uint32_t build;
	struct segment segment[WF_SIM_SEGMENTS];
	size_t segments;
	char *tls; /* the block in use */
	const void *tls_image;
	size_t tls_image_bytes, tls_bytes;
	char *tls_real, *tls_blocks;
	char altstack[WF_SIM_ALTSTACK];
	stack_t old_altstack;
	struct sigaction old[WF_SIM_CRASHES];
	uint64_t seen_run, seen_digest; /* at the timer's last signal */
} * pr;

/* The part of a writable segment that stays writable. */
static void add_segment(const struct dl_phdr_info *info, const ElfW(Phdr) * h)
{
	char *low = (char *)info->dlpi_addr + h->p_vaddr;
	char *high = low + h->p_memsz;

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *r = &info->dlpi_phdr[i];
		char *end = (char *)info->dlpi_addr + r->p_vaddr + r->p_memsz;

		if (r->p_type == PT_GNU_RELRO && end > low && end <= high)
			low = (char *)wf_round_up((uintptr_t)end, 4096);
	}
	if (low < high && pr->segments < WF_SIM_SEGMENTS)
		pr->segment[pr->segments++] = (struct segment){ .low = low,
			.bytes = (size_t)(high - low) };
}

static void find_build(const char *p, const char *end)
{
	while (p + sizeof(ElfW(Nhdr)) <= end) {
		const ElfW(Nhdr) *n = (const void *)p;
		const char *name = p + sizeof(*n);
		const char *desc = name + wf_round_up(n->n_namesz, 4);

		if (n->n_type == NT_GNU_BUILD_ID && n->n_descsz >= 4 &&
			n->n_namesz == 4 && memcmp(name, "GNU", 4) == 0)
			memcpy(&pr->build, desc, sizeof(pr->build));
		p = desc + wf_round_up(n->n_descsz, 4);
	}
}

/* The loader reports the program first. */
static int look(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size;
	(void)arg;
	pr->base = info->dlpi_addr;
	pr->text_low = UINTPTR_MAX;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *h = &info->dlpi_phdr[i];
		uintptr_t low = info->dlpi_addr + h->p_vaddr;

		if (h->p_type == PT_LOAD)
			pr->end = wf_max_size(pr->end, low + h->p_memsz);
		if (h->p_type == PT_LOAD && (h->p_flags & PF_W))
			add_segment(info, h);
		if (h->p_type == PT_LOAD && (h->p_flags & PF_X)) {
			pr->text_low = wf_min_size(pr->text_low, low);
			pr->text_high =
				wf_max_size(pr->text_high, low + h->p_memsz);
		}
		if (h->p_type == PT_NOTE)
			find_build((char *)low, (char *)low + h->p_memsz);
		if (h->p_type == PT_TLS && info->dlpi_tls_data != NULL) {
			pr->tls = info->dlpi_tls_data;
			pr->tls_image = (void *)low;
			pr->tls_image_bytes = h->p_filesz;
			pr->tls_bytes = h->p_memsz;
		}
	}
	return 1;
}

int wf_sim_program_open(void)
{
	pr = wf_sim_reserve(sizeof(*pr));
	if (pr == NULL)
		return -ENOMEM;
	(void)dl_iterate_phdr(look, NULL);
	if (pr->tls_bytes > 0) {
		pr->tls_real =
			wf_sim_reserve(pr->tls_bytes * (WF_SIM_THREADS + 1));
		if (pr->tls_real == NULL)
			return -ENOMEM;
		pr->tls_blocks = pr->tls_real + pr->tls_bytes;
		wf_sim_shadow_ignore(pr->tls, pr->tls_bytes);
	}
	wf_sim_shadow_ignore(&errno, sizeof(errno));
	for (size_t i = 0; i < pr->segments; i++) {
		pr->segment[i].saved = wf_sim_reserve(pr->segment[i].bytes);
		if (pr->segment[i].saved == NULL)
			return -ENOMEM;
	}
	return 0;
}

int wf_sim_program_save(void)
{
	for (size_t i = 0; i < pr->segments; i++) {
		struct segment *s = &pr->segment[i];

		memcpy(s->saved, s->low, s->bytes);
	}
	if (pr->tls_bytes > 0)
		memcpy(pr->tls_real, pr->tls, pr->tls_bytes);
	return 0;
}

void wf_sim_program_restore(void)
{
	for (size_t i = 0; i < pr->segments; i++) {
		struct segment *s = &pr->segment[i];

		memcpy(s->low, s->saved, s->bytes);
	}
}

void wf_sim_program_tls_fresh(void **tls, uint32_t thread)
{
	char *block;

	*tls = NULL;
	if (pr->tls_bytes == 0)
		return;
	block = pr->tls_blocks + thread * pr->tls_bytes;
	memcpy(block, pr->tls_image, pr->tls_image_bytes);
	memset(block + pr->tls_image_bytes, 0,
		pr->tls_bytes - pr->tls_image_bytes);
	*tls = block;
}

void wf_sim_program_tls(void *from, void *to)
{
	if (pr->tls_bytes == 0)
		return;
	if (from != NULL)
		memcpy(from, pr->tls, pr->tls_bytes);
	memcpy(pr->tls, to != NULL ? to : pr->tls_real, pr->tls_bytes);
}

bool wf_sim_program_text(uintptr_t pc)
{
	return pr != NULL && pc >= pr->text_low && pc < pr->text_high;
}

bool wf_sim_program_owns(uintptr_t addr)
{
	return addr >= pr->base && addr < pr->end;
}

uintptr_t wf_sim_program_offset(uintptr_t pc)
{
	return pc - pr->base;
}

uint32_t wf_sim_program_build(void)
{
	return pr->build;
}

/* Runs on the alternate stack, which wf_sim_fail leaves for good. */
static void on_crash(int sig, siginfo_t *info, void *context)
{
	(void)context;
	if (sig == SIGVTALRM) {
		bool moves = wf_sim->runs != pr->seen_run ||
			wf_sim->digest != pr->seen_digest || !wf_sim->running;

		pr->seen_run = wf_sim->runs;
		pr->seen_digest = wf_sim->digest;
		if (moves)
			return;
		wf_sim_fail("endless loop", NULL,
			"thread %s computes without "
			"an atomic operation or a call",
			wf_sim_thread_name(wf_sim->current->id));
	}
	if (!wf_sim->running) {
		signal(sig, SIG_DFL);
		return;
	}
	if (wf_sim_heap_below_stack(info->si_addr))
		wf_sim_fail("stack overflow", NULL,
			"the stack of thread %s, "
			"%zu bytes, is too small",
			wf_sim_thread_name(wf_sim->current->id),
			WF_SIM_STACK_BYTES);
	wf_sim_fail("crash", NULL, "signal %d in thread %s, address %p", sig,
		wf_sim_thread_name(wf_sim->current->id), info->si_addr);
}

void wf_sim_program_guard_begin(void)
{
	stack_t stack = { .ss_sp = pr->altstack, .ss_size = WF_SIM_ALTSTACK };
	struct sigaction act = { .sa_sigaction = on_crash,
		.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER };
	struct itimerval timer = { .it_interval = { WF_SIM_STUCK_S, 0 },
		.it_value = { WF_SIM_STUCK_S, 0 } };

	(void)sigaltstack(&stack, &pr->old_altstack);
	for (size_t i = 0; i < WF_SIM_CRASHES; i++)
		(void)sigaction(crashes[i], &act, &pr->old[i]);
	(void)setitimer(ITIMER_VIRTUAL, &timer, NULL);
}

void wf_sim_program_guard_end(void)
{
	struct itimerval off = { .it_value = { 0, 0 } };

	(void)setitimer(ITIMER_VIRTUAL, &off, NULL);
	for (size_t i = 0; i < WF_SIM_CRASHES; i++)
		(void)sigaction(crashes[i], &pr->old[i], NULL);
	(void)sigaltstack(&pr->old_altstack, NULL);
}
