/* SPDX-License-Identifier: MIT */
/*
 * bench/machine.h - the machine on which is measured, described.
 */
#ifndef WEFT_BENCH_MACHINE_H
#define WEFT_BENCH_MACHINE_H

struct bench_machine {
	char cpu[96];			/* model */
	unsigned cpus;			/* CPUs that this process may use */
	char kernel[96];
	char date[32];			/* now, UTC */
	const char *version;		/* of weft */
};

void bench_machine_read(struct bench_machine *m);

/*
 * The model from a text like /proc/cpuinfo; an empty string if there is none.
 */
void bench_machine_model(const char *path, char *model, int bytes);

#endif
