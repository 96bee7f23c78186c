/* SPDX-License-Identifier: MIT */
/*
 * bench/machine.h - what was measured on, in words.
 */
#ifndef WEFT_BENCH_MACHINE_H
#define WEFT_BENCH_MACHINE_H

struct bench_machine {
	char cpu[96];			/* its model */
	unsigned cpus;			/* that this process may use */
	char kernel[96];
	char date[32];			/* now, UTC */
	const char *version;		/* of weft */
};

void bench_machine_read(struct bench_machine *m);

/* The model in a text like /proc/cpuinfo; an empty string if it has none. */
void bench_machine_model(const char *path, char *model, int bytes);

#endif
