#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
tests/tools/compare_test.py - tools/compare fails a slower library, and no other.

usage: compare_test.py LIBWEFT FOLDER

Most tests make up the times that processes report.  Those of class Whole
compare LIBWEFT with itself, with a copy of it whose weft_yield wastes time, and
with one that lacks a public header; what they build stays in FOLDER.
"""

import contextlib
import importlib.machinery
import importlib.util
import io
import os
import random
import re
import shutil
import subprocess
import sys
import types
import unittest

HERE = os.path.dirname(os.path.realpath(__file__))
ROOT = os.path.join(HERE, "..", "..")
COMPARE = os.path.join(ROOT, "tools", "compare")


def load_compare():
    sys.dont_write_bytecode = True
    loader = importlib.machinery.SourceFileLoader("compare", COMPARE)
    module = importlib.util.module_from_spec(
        importlib.util.spec_from_loader("compare", loader))
    loader.exec_module(module)
    return module


compare = load_compare()
Interval = compare.Interval
LOAD = compare.Load("made-up", "-", 1.0, False, [1, 2])
ARGS = types.SimpleNamespace(windows=31, limit=0.05, no_time=False)


def run_compare(*words):
    """(exit status, standard output and standard error)"""
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        try:
            status = compare.main(list(words))
        except SystemExit as ended:
            status = ended.code
    return status, said.getvalue()


class Statistics(unittest.TestCase):
    """The interval of the median, and the verdict."""

    def test_ranks(self):
        values = list(range(1, 32))
        random.shuffle(values)
        self.assertEqual(compare.interval(values), (10, 16, 22))
        self.assertEqual(compare.interval(range(1, 63)), (23, 31.5, 40))

    def test_too_few_windows_tell_nothing(self):
        found = compare.interval([1.0] * 30)
        self.assertEqual((found.low, found.high), (0, float("inf")))
        self.assertEqual(compare.judge(found, found, 0.05), "not resolved")

    def test_median_is_inside_19_times_in_20(self):
        draw = random.Random(1)
        for distribution in (lambda: draw.gauss(0, 1),
                             lambda: draw.lognormvariate(0, 2) - 1):
            inside = 0
            for _ in range(2000):
                found = compare.interval([distribution() for _ in range(31)])
                inside += found.low <= 0 <= found.high
            self.assertGreater(inside, 0.95 * 2000)
            self.assertLess(inside, 0.99 * 2000)

    def test_verdicts(self):
        quiet = Interval(0.99, 1, 1.01)
        for ratio, control, verdict in (
                ((0.98, 1, 1.02), quiet, "within"),
                ((1.02, 1.04, 1.06), quiet, "within"),
                ((1.049, 1.06, 1.07), quiet, "within"),
                ((1.051, 1.06, 1.07), quiet, "failed"),
                ((0.5, 0.6, 0.7), quiet, "within"),
                ((0.98, 1, 1.02), (0.96, 1, 1.02), "not resolved"),
                ((1.06, 1.1, 1.2), (0.96, 1, 1.02), "not resolved"),
                ((1.5, 1.6, 1.7), (0.9, 1, 1.1), "failed"),
                ((1.06, 1.07, 1.08), (1.06, 1.07, 1.08), "not resolved"),
                ((0.98, 1, 1.02), (0.91, 0.92, 0.93), "not resolved")):
            self.assertEqual(compare.judge(Interval(*ratio),
                                           Interval(*control), 0.05),
                             verdict, (ratio, control))


class Made:
    """A process whose operation takes ns, on a machine that may be noisy."""

    def __init__(self, name, ns, noise, machine):
        self.name, self.ns, self.noise = name, ns, noise
        self.machine = machine

    def window(self, load, workers, scale, ns):
        self.machine.turns.append(self.name)
        took = self.ns * self.machine.speed() * self.machine.draw.lognormvariate(
            0, self.noise)
        return compare.Window(1000, took * 1000, took * 2000, 0)


class Machine:
    """It becomes slower and faster by a fifth as time goes by."""

    def __init__(self, seed):
        self.draw = random.Random(seed)
        self.turns, self.now = [], 1.0

    def speed(self):
        self.now *= self.draw.uniform(0.98, 1.02)
        self.now = min(max(self.now, 0.9), 1.1)
        return self.now


def verdict(seed, slower, noise, machine=None):
    machine = machine or Machine(seed)
    processes = {name: Made(name, ns, noise, machine) for name, ns in (
        ("old", 40.0), ("new", 40.0 * slower), ("control", 40.0))}
    series = compare.measure(processes, LOAD, 2, 1.0, ARGS)
    return compare.judge(compare.ratio_of(series, "new"),
                         compare.ratio_of(series, "control"), ARGS.limit)


class Series(unittest.TestCase):
    """Made-up times."""

    def verdicts(self, slower, noise):
        return {verdict(seed, slower, noise) for seed in range(150)}

    def test_equal_libraries_never_fail(self):
        for noise in (0.001, 0.03, 0.1, 0.5):
            self.assertNotIn("failed", self.verdicts(1.0, noise), noise)

    def test_quiet_machine_resolves(self):
        self.assertEqual(self.verdicts(1.0, 0.02), {"within"})
        self.assertEqual(self.verdicts(1.02, 0.02), {"within"})
        self.assertEqual(self.verdicts(1.1, 0.02), {"failed"})

    def test_large_change_is_seen_in_noise(self):
        self.assertEqual(self.verdicts(3.0, 0.2), {"failed"})

    def test_noise_is_not_resolved(self):
        self.assertEqual(self.verdicts(1.03, 1.0), {"not resolved"})

    def test_old_stands_between_the_others(self):
        machine = Machine(1)
        verdict(1, 1.0, 0.001, machine)
        threes = list(zip(*[iter(machine.turns)] * 3))
        self.assertEqual(len(threes), ARGS.windows)
        self.assertEqual(set(threes), {("new", "old", "control"),
                                       ("control", "old", "new")})

    def test_noise_gets_more_windows(self):
        machine = Machine(1)
        verdict(1, 1.0, 1.0, machine)
        self.assertEqual(len(machine.turns), 3 * 4 * ARGS.windows)

    def test_sleeper_is_judged_by_cpu_time(self):
        machine, series = Machine(1), {"old": [], "new": [], "control": []}
        processes = {n: Made(n, 40.0, 0, machine) for n in series}
        for sleeps, least in ((False, 30), (True, 70)):
            compare.take_turns(processes, LOAD._replace(sleeps=sleeps), 2, 1,
                               series)
            self.assertGreater(min(s[-1] for s in series.values()), least)

    def test_time_that_cannot_be_seen_is_dropped(self):
        machine, series = Machine(1), {"old": [], "new": [], "control": []}
        processes = {n: Made(n, 40.0, 0, machine) for n in series}
        processes["old"].ns = 0
        compare.take_turns(processes, LOAD, 2, 1, series)
        self.assertEqual(series, {"old": [], "new": [], "control": []})


class Fitting(unittest.TestCase):
    """The size of a pass, and what is counted in two of them."""

    def fit(self, ns_of, load=LOAD):
        process = types.SimpleNamespace(window=lambda load, workers, scale, ns:
            compare.Window(1, ns_of(scale), 1, 0))
        return compare.fit(process, load, 2)

    def test_pass_fills_a_window(self):
        for full_ns in (1e6, 1e8, 1e9, 1e11):
            scale, window = self.fit(lambda scale: int(full_ns * scale))
            self.assertAlmostEqual(window.ns, 5e7, delta=1e7)

    def test_time_that_does_not_depend_on_the_size(self):
        self.assertEqual(self.fit(lambda scale: 1000)[0], 100)
        self.assertEqual(self.fit(lambda scale: int(1e9))[1].ns, 1e9)

    def test_sleeper_has_its_own_size(self):
        load = LOAD._replace(sleeps=True, size=0.2)
        self.assertEqual(self.fit(lambda scale: int(1e10 * scale), load),
                         (0.2, (1, 2_000_000_000, 1, 0)))

    def test_cost_of_starting_cancels_out(self):
        def by(program, command):
            ops = round(float(command.split()[3]) * 1000)
            return f"ok {ops} 1 1 0\n", [str(5000 + 7 * ops), "300"]
        self.assertEqual(compare.count(by, "", LOAD, 1.0), 7)

    def test_same_number_of_operations_tells_nothing(self):
        self.assertIsNone(compare.count(
            lambda program, command: ("ok 1 1 1 0\n", ["9"]), "", LOAD, 1.0))


class Words(unittest.TestCase):
    """What the command line can be."""

    def test_wrong(self):
        for words in ((), ("a",), ("a", "b"), ("a", "b", "yield", "--all"),
                      ("a", "b", "yield", "--no-count", "--no-time"),
                      ("a", "b", "yield", "--limit", "x"),
                      ("a", "b", "yield", "--limit", "0"),
                      ("a", "b", "yield", "--windows", "30"),
                      ("a", "b", "yield", "--workers", "-1")):
            self.assertEqual(run_compare(*words)[0], 2, words)

    def test_right(self):
        args = compare.parse(["--limit", "3%", "a", "b", "yield", "ring"])
        self.assertAlmostEqual(args.limit, 0.03)
        self.assertEqual(args.workloads, ["yield", "ring"])

    def test_no_such_revision(self):
        status, said = run_compare("no-such-thing", "HEAD", "yield")
        self.assertEqual(status, 2)
        self.assertIn("no-such-thing is neither a revision nor", said)

    def test_library_without_headers(self):
        status, said = run_compare("/bin/sh", "/bin/sh", "yield")
        self.assertEqual(status, 2)
        self.assertIn("no include/weft in a folder above", said)


WASTE = """void wf_yield_at_once(void);
void weft_yield(void);
void weft_yield(void)
{
	for (volatile int i = 0; i < 20; i++)
		;
	wf_yield_at_once();
}
"""


class Whole(unittest.TestCase):
    """Real libraries, in folders that say how they differ from LIBWEFT."""

    @classmethod
    def setUpClass(cls):
        compare.MORE = 1        # a verdict, whatever it is, soon
        shutil.rmtree(compare.CACHE, ignore_errors=True)
        for name in ("plain", "slow", "less"):
            folder = os.path.join(FOLDER, name)
            shutil.rmtree(folder, ignore_errors=True)
            shutil.copytree(os.path.join(ROOT, "include"),
                            os.path.join(folder, "include"))
            shutil.copy(LIBWEFT, os.path.join(folder, "libweft.a"))
        os.remove(os.path.join(FOLDER, "less/include/weft/rwlock.h"))
        slow = os.path.join(FOLDER, "slow")
        with open(os.path.join(slow, "waste.c"), "w") as stream:
            stream.write(WASTE)
        for command in ("objcopy --redefine-sym weft_yield=wf_yield_at_once "
                        "libweft.a", "cc -O2 -c waste.c",
                        "ar rs libweft.a waste.o"):
            subprocess.run(command.split(), cwd=slow, check=True,
                           capture_output=True)

    def compare(self, old, new, *words):
        old, new = (os.path.join(FOLDER, n, "libweft.a") for n in (old, new))
        status, said = run_compare(old, new, *words)
        print(said)
        return status, said

    def row(self, said, workload):
        return re.search(f"^{workload} .*", said, re.M).group().split()

    def test_same_library_does_not_fail(self):
        status, said = self.compare("plain", "plain", "yield")
        self.assertEqual(status, 0)
        row = self.row(said, "yield")
        self.assertRegex(" ".join(row[11:]), "^(within|not resolved)$")
        self.assertEqual(row[1], "2")
        self.assertGreater(float(row[2]), 10)
        self.assertAlmostEqual(float(row[4]), 1, delta=0.02)

    def test_slower_library_fails(self):
        status, said = self.compare("plain", "slow", "yield", "--workers", "1")
        self.assertEqual(status, 1)
        row = self.row(said, "yield")
        self.assertEqual(row[11], "failed")
        self.assertEqual(row[1], "1")
        self.assertGreater(float(row[4]), 1.1)
        self.assertIn("more instructions than the limit: yield\n", said)

    def test_instructions_alone(self):
        status, said = self.compare("plain", "slow", "yield", "--no-time")
        self.assertEqual(status, 0)
        row = self.row(said, "yield")
        self.assertGreater(float(row[4]), 1.1)
        self.assertEqual(row[5:], ["-"] * 5 + ["0", "not", "timed"])

    def test_workload_that_a_library_cannot_run(self):
        status, said = self.compare("less", "plain", "mutexes", "--no-count",
                                    "starve-lifo")
        self.assertEqual(status, 0)
        self.assertIn("headers are not enough for bench/mutex.c\n", said)
        self.assertEqual(self.row(said, "mutexes")[1:3], ["left", "out:"])
        self.assertEqual(self.row(said, "starve-lifo")[1:5],
                         ["1", "-", "-", "-"])

    def test_workload_that_does_not_exist(self):
        status, said = self.compare("plain", "plain", "weave")
        self.assertEqual(status, 2)
        self.assertRegex(said, "no workload weave; there is: mutexes .* idle")


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    LIBWEFT, FOLDER = (os.path.abspath(path) for path in sys.argv[1:3])
    compare.CACHE = os.path.join(FOLDER, "cache")
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
