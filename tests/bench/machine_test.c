/* SPDX-License-Identifier: MIT */
/*
 * tests/bench/machine_test.c - the model of the CPU is found where there is
 * one, and no field is left empty.
 */
#include "bench/machine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const char *model_in(const char *text)
{
	static char model[16];
	char path[] = "/tmp/weft-machine-XXXXXX";
	int fd = mkstemp(path);
	size_t n = strlen(text);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, n), (ssize_t)n);
	close(fd);
	bench_machine_model(path, model, sizeof(model));
	unlink(path);
	return model;
}

static void models_are_found(void **state)
{
	char model[8] = "x";

	(void)state;
	assert_string_equal(model_in("processor\t: 0\nmodel\t\t: 1\n"
				     "model name\t: A CPU\nmodel name\t: B\n"),
		"A CPU");
	assert_string_equal(
		model_in("cpu\t\t: POWER9\nclock\t: 1\n"), "POWER9");
	assert_string_equal(model_in("model name : no end"), "no end");
	assert_string_equal(model_in("model name\t: 123456789012345678\n"),
		"123456789012345");
	assert_string_equal(model_in("processor\t: 0\nmodel name\n"), "");
	bench_machine_model("/nowhere/at/all", model, sizeof(model));
	assert_string_equal(model, "");
}

static void this_machine_is_known(void **state)
{
	struct bench_machine m;

	(void)state;
	bench_machine_read(&m);
	assert_true(m.cpu[0] != '\0' && m.kernel[0] != '\0');
	assert_true(m.cpus >= 1);
	assert_true(m.version[0] >= '0' && m.version[0] <= '9');
	assert_int_equal(strlen(m.date), strlen("2026-01-31 12:34 UTC"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(models_are_found),
		cmocka_unit_test(this_machine_is_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
