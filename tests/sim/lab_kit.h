/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/lab_kit.h - scenarios of the laboratory, by plan.
 */
#ifndef WEFT_TESTS_SIM_LAB_KIT_H
#define WEFT_TESTS_SIM_LAB_KIT_H

#include <stdbool.h>
#include <stdint.h>

#include "exec/lab.h"

struct lab_plan {
	uint32_t workers;
	uint32_t wake, queues, local;	/* enums of exec/lab.h */
	bool one;	/* steal one task, from one victim by chance */
};

/* Hooks: at every step, and when no thread can run before time passes. */
void lab_step(void *arg);
void lab_idle(void *arg);

void lab_submit(void *arg);
void lab_need(void *arg);
void lab_need_inside(void *arg);
void lab_inside(void *arg);
void lab_park(void *arg);
void lab_claim(void *arg);
void lab_spinners(void *arg);
void lab_fiber(void *arg);
void lab_late_fiber(void *arg);
void lab_yield(void *arg);
void lab_faults(void *arg);

#endif
