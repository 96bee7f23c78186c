#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
tests/tools/mutate_test.py - tools/mutate weakens what it says, and only that.

Most tests look at the mutants of a few lines.  Those of class Whole build and
run a small tree of which everything is made up: its atomic operations are
numbers that tell their order, and its weft-scenarios fails if a number is not
what it should be.
"""

import contextlib
import importlib.machinery
import importlib.util
import io
import os
import platform
import re
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.realpath(__file__))
TOOLS = os.path.join(HERE, "..", "..", "tools")
MUTATE = os.path.join(TOOLS, "mutate")


def load_mutate():
    sys.dont_write_bytecode = True
    sys.path.insert(0, TOOLS)
    loader = importlib.machinery.SourceFileLoader("mutate", MUTATE)
    module = importlib.util.module_from_spec(
        importlib.util.spec_from_loader("mutate", loader))
    loader.exec_module(module)
    return module


mutate = load_mutate()
from mutation import orders, simulator, source      # noqa: E402

# Each is the number of its order; a raw one, which mutate writes where there
# is no such macro, too.
ATOMIC = """#define wf_load_rlx(p) 10
#define wf_load_acq(p) 11
#define wf_load_seq(p) 15
#define wf_store_rlx(p, v) 20
#define wf_store_rel(p, v) 22
#define wf_xchg_acqrel(p, v) 33
#define wf_cas_acqrel(p, e, v) 43
#define wf_cas_rel(p, e, v) 42
#define wf_fence_seq() (fenced |= 1)
#define wf_fence_light() (fenced |= 2)
#define memory_order_relaxed 0
#define memory_order_acquire 1
#define memory_order_release 2
#define atomic_exchange_explicit(p, v, order) (30 + order)
#define atomic_compare_exchange_strong_explicit(p, e, v, order, fail) \\
	(40 + order + fail)
extern int fenced;
void wf_os_membarrier(void);
"""


def mutants(text, path="src/room/file.c"):
    known = set(re.findall(r"#define (wf_\w+)\(", ATOMIC))
    return list(orders.mutants_of(source.Source(path, text),
                                  orders.operations(ATOMIC), known))


def inside(*lines):
    """A function with these lines in it."""
    body = "".join(f"\t{line}\n" for line in lines)
    return f"static int f(int *p)\n{{\n{body}}}\n"


class Parsing(unittest.TestCase):
    """What is found, and what becomes of it."""

    def changed(self, line):
        """{what changed: the line after it} of a line in a function."""
        return {m.change: m.text.split("\n")[2].strip()
                for m in mutants(inside(line))}

    def test_load(self):
        self.assertEqual(self.changed("return wf_load_acq(p);"),
                         {"acq->rlx": "return wf_load_rlx(p);"})

    def test_store(self):
        self.assertEqual(self.changed("wf_store_rel(p, 1);"),
                         {"rel->rlx": "wf_store_rlx(p, 1);"})

    def test_sequential(self):
        self.assertEqual(self.changed("return wf_load_seq(p);"),
                         {"seq->acq": "return wf_load_acq(p);"})

    def test_relaxed_is_left_alone(self):
        self.assertEqual(self.changed("return wf_load_rlx(p);"), {})

    def test_both_halves_of_an_exchange(self):
        self.assertEqual(self.changed("x = wf_xchg_acqrel(g(p), h(1, 2));"), {
            "acqrel->acq": "x = atomic_exchange_explicit(g(p), h(1, 2), "
                           "memory_order_acquire);",
            "acqrel->rel": "x = atomic_exchange_explicit(g(p), h(1, 2), "
                           "memory_order_release);"})

    def test_compare_and_swap_by_macro_or_raw(self):
        self.assertEqual(self.changed("return !wf_cas_acqrel(p, &e, (1));"), {
            "acqrel->acq":
                "return !atomic_compare_exchange_strong_explicit(p, &e, (1), "
                "memory_order_acquire, memory_order_relaxed);",
            "acqrel->rel": "return !wf_cas_rel(p, &e, (1));"})

    def test_fences_and_membarrier_go(self):
        for call in ("wf_fence_seq()", "wf_fence_light()",
                     "wf_os_membarrier()"):
            self.assertEqual(self.changed(call + ";"),
                             {"removed": "((void)0);"})

    def test_declaration_of_membarrier_stays(self):
        self.assertEqual(mutants("void wf_os_membarrier(void);\n"), [])

    def test_longer_names_are_others(self):
        self.assertEqual(self.changed("my_wf_load_acq(p);"), {})
        self.assertEqual(self.changed("wf_load_acq_all(p);"), {})
        self.assertEqual(self.changed("wf_os_membarrier_register();"), {})

    def test_comments_and_strings_stay(self):
        self.assertEqual(mutants(inside(
            "/* wf_load_acq(p) */ // wf_fence_seq()", 's = "wf_fence_seq()";',
            "/*", " * wf_store_rel(p, 1);", " */")), [])

    def test_call_over_several_lines(self):
        found = mutants(inside("while (!wf_cas_acqrel(", "\tp, &e,",
                               "\te + 1))", "\tcontinue;"))
        raw = found[0].text.split("\n")
        self.assertEqual([text.strip() for text in raw[2:5]], [
            "while (!atomic_compare_exchange_strong_explicit(", "p, &e,",
            "e + 1, memory_order_acquire, memory_order_relaxed))"])

    def test_nothing_else_changes(self):
        text = inside("int x = 1; /* wf_load_acq */", "wf_store_rel(p, x);",
                      "return wf_load_acq(p);")
        for m in mutants(text):
            lines = zip(text.split("\n"), m.text.split("\n"))
            differ = [n for n, (a, b) in enumerate(lines, 1) if a != b]
            self.assertEqual(differ, [m.line])

    def test_operation_without_a_rule_is_refused(self):
        with self.assertRaisesRegex(mutate.Trouble, "wf_nand_acqrel"):
            orders.operations("#define wf_nand_acqrel(p, v) x\n")


class Names(unittest.TestCase):
    """A mutant keeps its name when other lines come and go."""

    def names(self, text):
        return [m.name for m in mutants(text)]

    def test_parts(self):
        self.assertEqual(
            self.names(inside("x =  wf_load_acq(p); /* [pair: a.b] */")),
            ["src/room/file.c: f: x = wf_load_acq(p); [acq->rlx]"])

    def test_lines_above_do_not_count(self):
        text = inside("wf_fence_seq();")
        above = "#include \"x.h\"\n\n" + inside("return 1;").replace("f", "g")
        self.assertEqual(self.names(text), self.names(above + "\n" + text))

    def test_functions_are_told_apart(self):
        text = inside("wf_fence_seq();")
        other = "/* f(1) */\nwf_inline struct a *\nlonger(int (*f)(int),\n"
        other += "\tint b)\n{\n\twf_fence_seq();\n}\n"
        self.assertEqual(self.names(text + "\n" + other), [
            "src/room/file.c: f: wf_fence_seq(); [removed]",
            "src/room/file.c: longer: wf_fence_seq(); [removed]"])

    def test_attribute_is_no_function(self):
        text = "__attribute__((cold)) static int slow(void)\n{\n"
        text += "\treturn wf_load_acq(p);\n}\n"
        self.assertIn(": slow: ", self.names(text)[0])

    def test_outside_of_functions(self):
        text = inside("return 1;") + "\nint x = wf_load_acq(p);\n"
        self.assertIn(": -: ", self.names(text)[0])

    def test_equal_ones_are_numbered(self):
        text = inside("wf_fence_seq();", "g();", "wf_fence_seq();")
        self.assertEqual(self.names(text), [
            "src/room/file.c: f: wf_fence_seq(); [removed]",
            "src/room/file.c: f: wf_fence_seq(); [removed] #2"])


class Lists(unittest.TestCase):
    """survivors.txt and bugs.txt."""

    def test_survivors(self):
        self.assertEqual(mutate.parse_survivors(
            "# comment\n\na: f: x [removed]\n\tOne line\n\tand another.\n"
            "b: f: y [acq->rlx]\n\tSo.\n"),
            {"a: f: x [removed]": "One line and another.",
             "b: f: y [acq->rlx]": "So."})

    def test_survivor_without_reason(self):
        for text in ("a: f: x [removed]\n", "a\n\nb\n\twhy\n"):
            with self.assertRaisesRegex(mutate.Trouble, "no reason"):
                mutate.parse_survivors(text)

    def test_survivor_twice_or_reason_alone(self):
        with self.assertRaisesRegex(mutate.Trouble, ":3: listed twice"):
            mutate.parse_survivors("a\n\twhy\na\n\twhy\n")
        with self.assertRaisesRegex(mutate.Trouble, ":1: a reason for"):
            mutate.parse_survivors("\twhy\n")

    BUGS = ("# one\nB1 src/a.c ring/x 500\n-\told();\n+\tnew();\n\n"
            "B2 src/b.c ring/y 7\n-one\n-two\n-three\n+ONE\n")

    def test_bugs(self):
        one, two = mutate.parse_bugs(self.BUGS)
        self.assertEqual(one[:4], ("B1", "src/a.c", "ring/x", 500))
        self.assertEqual(mutate.put_in(one, "{\n\told();\n}\n"),
                         "{\n\tnew();\n}\n")
        self.assertEqual(mutate.put_in(two, "zero\none\ntwo\nthree\nfour\n"),
                         "zero\nONE\nfour\n")

    def test_bug_that_only_adds_keeps_its_line(self):
        bug = mutate.parse_bugs("B1 a r 1\n-one\n+one\n+more\n-two\n+2\n")[0]
        self.assertEqual(mutate.put_in(bug, "one\ntwo\n"), "one\nmore\n2\n")

    def test_bug_that_only_removes(self):
        bug = mutate.parse_bugs("B1 a r 1\n-one\n")[0]
        self.assertEqual(mutate.put_in(bug, "one\ntwo\n"), "two\n")

    def test_bug_whose_text_is_not_there_once(self):
        bug = mutate.parse_bugs("B1 a r 1\n-one\n+two\n")[0]
        for text, count in (("other\n", 0), ("one\none\n", 2), ("one more\n", 0),
                            ("\tone\n", 0)):
            with self.assertRaisesRegex(mutate.Trouble, f"{count} times"):
                mutate.put_in(bug, text)

    def test_bad_bugs(self):
        for text in ("-x\n", "B1 a r\n", "B1 a r 1\n+x\n", "bug a r 1\n"):
            with self.assertRaises(mutate.Trouble):
                mutate.parse_bugs(text)
        with self.assertRaisesRegex(mutate.Trouble, "changes nothing"):
            mutate.put_in(mutate.parse_bugs("B1 a r 1\n")[0], "x\n")


# ---------------------------------------------------------- the small tree

ROOM_H = """#include "base/atomic.h"
int room_c(void);

static inline int room_h(void)
{
	return wf_load_acq(0);
}
"""
ROOM_C = """#include "room/room.h"

int room_c(void)
{
	wf_fence_seq();
	return wf_store_rel(0, 0);
}
"""
USER_C = """#include "room/room.h"

int user(void)
{
	return room_h();
}
"""
SIM_C = """int fenced;
void __tsan_init(void) {}
void __tsan_func_entry(void *p) {}
void __tsan_func_exit(void) {}
void __tsan_read4(void *p) {}
void __tsan_write4(void *p) {}
"""
# It lists its scenarios, and fails with one whose number is wrong.
DRIVER_C = """#define REPLAYED 0
#include <stdio.h>
#include <string.h>
int room_c(void), user(void);
extern int fenced;
static int is(int argc, char **argv, const char *name)
{
	for (int i = 1; i < argc; i++)
		if (!strcmp(argv[i], name))
			return 1;
	return 0;
}
static int fail(const char *name)
{
	printf("failure\\t%s\\trace\\t3\\t4\\t%s:t\\tmessage\\nsim: x\\n",
		name, name);
	return 1;
}
int main(int argc, char **argv)
{
	int stored = room_c();

	if (is(argc, argv, "--replay"))
		return REPLAYED;
	if (is(argc, argv, "--list"))
		return !puts("load/a store/b fence/c");
	if (is(argc, argv, "load/a") && user() != 11)
		return fail("load/a");
	if (is(argc, argv, "store/b") && stored != 22)
		return fail("store/b");
	if (is(argc, argv, "fence/c") && !fenced)
		return fail("fence/c");
	return printf("sim: 60000 schedules, 3 scenarios\\n") < 0;
}
"""
LOAD = "src/room/room.h: room_h: return wf_load_acq(0); [acq->rlx]"
STORE = "src/room/room.c: room_c: return wf_store_rel(0, 0); [rel->rlx]"
FENCE = "src/room/room.c: room_c: wf_fence_seq(); [removed]"
TREE_BUGS = "".join(f"{cls} src/room/user.c load/a 9\n-\treturn room_h();\n"
                    "+\treturn 0;\n" for cls in ("B1", "B4"))


class Whole(unittest.TestCase):
    """From the tree to the last line, with a real compiler."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.root = folder.name
        machine = platform.machine()
        machine = {"arm64": "aarch64"}.get(machine, machine)
        cls.tree = {
            "src/base/atomic.h": ATOMIC, "src/room/room.h": ROOM_H,
            "src/room/room.c": ROOM_C, "src/room/user.c": USER_C,
            "src/base/assert.c": "#error not for the simulator\n",
            "src/sim/hooks.c": SIM_C, "tests/sim/driver.c": DRIVER_C,
            f"src/arch/{machine}/empty.c": "", "tests/sim/survivors.txt": "",
            "tests/sim/bugs.txt": TREE_BUGS,
        }

    def setUp(self):
        for module, name, value in (
                (simulator, "RELEVANT",
                 {"src/": [], "src/room/room.c": ["store/"]}),
                (simulator, "KNOWN", {}), (mutate, "CLASSES", ["B1", "B4"])):
            self.addCleanup(setattr, module, name, getattr(module, name))
            setattr(module, name, value)
        for path, text in self.tree.items():
            self.write(path, text)

    def write(self, path, text):
        full = os.path.join(self.root, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="utf-8") as stream:
            stream.write(text)

    def run_it(self, *args):
        """(exit status, lines of standard output, standard error)"""
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = mutate.main(["--root", self.root, "--jobs", "2", *args])
        return status, out.getvalue().split("\n")[:-1], err.getvalue()

    def test_all_are_killed(self):
        status, lines, err = self.run_it()
        self.assertEqual((status, err), (0, ""))
        self.assertEqual(lines[-1],
                         "mutate: 3 mutants, 3 killed, 0 survive (0 listed)")
        killed = {lines[i][10:]: lines[i + 1].split(":")[0].strip()
                  for i in range(0, 6, 2)}
        self.assertEqual(killed, {LOAD: "load/a", STORE: "store/b",
                                  FENCE: "fence/c"})

    def test_survivor_that_is_not_listed(self):
        self.write("tests/sim/driver.c",
                   DRIVER_C.replace("stored != 22", "stored < 0"))
        status, lines, _ = self.run_it()
        self.assertEqual(status, 1)
        self.assertIn("src/room/room.c:6: not killed and not listed in "
                      "tests/sim/survivors.txt:", lines)
        self.assertEqual(lines[-2:], [
            STORE, "mutate: 3 mutants, 2 killed, 1 survive (0 listed)"])

    def test_survivor_that_is_listed(self):
        self.write("tests/sim/driver.c",
                   DRIVER_C.replace("stored != 22", "stored < 0"))
        self.write("tests/sim/survivors.txt", STORE + "\n\tBecause.\n")
        status, lines, _ = self.run_it()
        self.assertEqual((status, lines[-1]), (
            0, "mutate: 3 mutants, 2 killed, 1 survive (1 listed)"))

    def test_listed_but_killed(self):
        self.write("tests/sim/survivors.txt", STORE + "\n\tBecause.\n")
        status, lines, _ = self.run_it()
        self.assertEqual(status, 1)
        self.assertIn("src/room/room.c:6: listed in tests/sim/survivors.txt "
                      "but killed; take it out:", lines)

    def test_listed_but_gone(self):
        self.write("tests/sim/survivors.txt", "src/old.c: f: x\n\tWhy.\n")
        status, lines, _ = self.run_it("--only", "room/user.c")
        self.assertEqual(status, 2)     # nothing is ordered in user.c
        status, lines, _ = self.run_it("--only", "room/room.h")
        self.assertEqual(status, 1)
        self.assertIn("src/old.c: f: x", lines)

    def test_unchanged_library_must_pass(self):
        self.write("tests/sim/driver.c",
                   DRIVER_C.replace("stored != 22", "stored == 22"))
        status, _, err = self.run_it()
        self.assertEqual(status, 2)
        self.assertIn("the unchanged library fails", err)

    def test_kill_must_not_happen_without_the_change(self):
        self.write("tests/sim/driver.c",
                   DRIVER_C.replace("REPLAYED 0", "REPLAYED 1"))
        status, _, err = self.run_it("--only", "room/room.h")
        self.assertEqual(status, 2)
        self.assertIn("the unchanged library fails there too: load/a: race: "
                      "load/a:t", err)

    def test_too_little_time(self):
        self.write("tests/sim/driver.c",
                   DRIVER_C.replace("60000 schedules", "59 schedules")
                   .replace("stored != 22", "0"))
        status, _, err = self.run_it("--each", "200")
        self.assertEqual(status, 2)
        self.assertIn(": only 118 of 240 schedules", err)

    def test_crash_of_the_driver_is_no_kill(self):
        self.write("tests/sim/driver.c", DRIVER_C.replace(
            'return fail("load/a")', "__builtin_trap()"))
        status, _, err = self.run_it("--only", "room/room.h")
        self.assertEqual(status, 2)
        self.assertIn("weft-scenarios ended with SIG", err)

    def test_only_a_line(self):
        status, lines, _ = self.run_it("--only", "src/room/room.c:5")
        self.assertEqual((status, lines[-1]), (
            0, "mutate: 1 mutants, 1 killed, 0 survive (0 listed)"))
        self.assertEqual(lines[0][10:], FENCE)

    def test_sample(self):
        lists = {tuple(self.run_it("--list", "--sample", "1", "--pick",
                                   str(pick))[1][1:]) for pick in range(1, 20)}
        self.assertEqual(len(lists), 3)
        again = [self.run_it("--list", "--sample", "2", "--pick", "5")
                 for _ in range(2)]
        self.assertEqual(again[0], again[1])
        self.assertEqual(len(again[0][1]), 3)

    def git(self, *args):
        subprocess.run(["git", "-C", self.root, "-c", "user.name=x", "-c",
                        "user.email=x", *args], check=True,
                       capture_output=True)

    def test_changed(self):
        self.git("init", "-q")
        self.git("add", "-A")
        self.git("commit", "-qm", "one")
        self.write("src/room/room.h", ROOM_H + "\n")
        _, lines, _ = self.run_it("--changed", "--list")
        self.assertEqual([line[5:] for line in lines], [LOAD])
        self.git("commit", "-qam", "two")
        self.assertEqual(self.run_it("--changed", "--list")[1], [])
        _, lines, _ = self.run_it("--changed", "--base", "HEAD~1", "--list")
        self.assertEqual([line[5:] for line in lines], [LOAD])

    def test_results_are_kept_until_something_changes(self):
        out = os.path.join(self.root, "results.tsv")
        self.run_it("--out", out)
        status, lines, _ = self.run_it("--out", out)
        self.assertEqual((status, lines), (
            0, ["mutate: 3 mutants, 3 killed, 0 survive (0 listed)"]))
        with open(out, encoding="utf-8") as stream:
            rows = [row.split("\t") for row in stream.read().split("\n")]
        by_name = {row[0]: row[2:-1] for row in rows[1:-1]}
        self.assertEqual(sorted(by_name), sorted([LOAD, STORE, FENCE]))
        self.assertEqual(by_name[LOAD], ["killed", "load/a", "race", "4",
                                         "load/a:t"])
        self.write("src/room/user.c", USER_C + "\n")
        self.assertEqual(len(self.run_it("--out", out)[1]), 7)

    def test_header_reached_by_another_way(self):
        self.write("src/room/user.c",
                   USER_C.replace("room/room.h", "room.h"))
        status, _, err = self.run_it("--only", "room/room.h")
        self.assertEqual(status, 2)
        self.assertIn("includes src/room/room.h by another way", err)

    def test_what_does_not_build_is_no_kill(self):
        self.write("src/base/atomic.h", ATOMIC.replace(
            "wf_store_rlx(p, v) 20", "wf_store_rlx(p, v) oops"))
        status, _, err = self.run_it("--only", "room/room.c:6")
        self.assertEqual(status, 2)
        self.assertIn("does not build", err)

    def test_bugs(self):
        status, lines, _ = self.run_it("--bugs")
        self.assertEqual((status, lines[-1]), (0, "mutate: 2 bugs, 2 found"))
        self.assertIn("B1 in src/room/user.c: found by load/a: "
                      "race, after 4 of 9 schedules", lines)

    def test_bug_that_is_not_found(self):
        self.write("tests/sim/bugs.txt", TREE_BUGS.replace(
            "+\treturn 0;", "+\treturn 11;", 1))
        status, lines, _ = self.run_it("--bugs")
        self.assertEqual(status, 1)
        self.assertIn("NOT FOUND by load/a in 9 schedules",
                      "\n".join(lines))

    def test_class_without_a_bug(self):
        self.write("tests/sim/bugs.txt", TREE_BUGS.replace("B4 ", "B1 "))
        status, _, err = self.run_it("--bugs")
        self.assertEqual(status, 2)
        self.assertIn("no bug of class B4", err)

    def test_scenario_that_is_not_there(self):
        simulator.RELEVANT["src/room/room.h"] = ["stone/"]
        status, _, err = self.run_it()
        self.assertEqual(status, 2)
        self.assertIn("no scenario begins with stone/", err)

    def test_who_is_known_to_notice_comes_first(self):
        simulator.KNOWN[FENCE[:-12]] = "fence/c"
        simulator.RELEVANT["src/room/room.c"] = ["store/", "fence/", "load/"]
        self.write("tests/sim/driver.c", DRIVER_C.replace(
            "stored != 22", "!fenced"))
        _, lines, _ = self.run_it("--only", "room/room.c")
        at = lines.index("killed    " + FENCE)
        self.assertIn("fence/c: race", lines[at + 1])

    def test_bad_numbers(self):
        for value in ("0", "-1", "x", "1.5", ""):
            with self.assertRaises(SystemExit) as end:
                self.run_it("--each", value)
            self.assertEqual(end.exception.code, 2)


class Tree(unittest.TestCase):
    """The lists of the tree this is in name what is there."""

    ROOT = os.path.join(HERE, "..", "..")

    def read(self, path):
        return mutate.read(os.path.join(self.ROOT, path))

    def test_survivors(self):
        names = [m.name for m in mutate.all_mutants(self.ROOT)]
        self.assertEqual(len(names), len(set(names)))
        for name in mutate.parse_survivors(self.read(mutate.SURVIVORS)):
            self.assertIn(name, names)

    def test_known(self):
        names = [m.name for m in mutate.all_mutants(self.ROOT)]
        for start in simulator.KNOWN:
            self.assertTrue(any(n.startswith(start) for n in names), start)

    def test_bugs(self):
        bugs = mutate.parse_bugs(self.read(mutate.BUGS))
        self.assertEqual(sorted({bug.cls for bug in bugs}),
                         sorted(mutate.CLASSES))
        for bug in bugs:
            mutate.put_in(bug, self.read(bug.path))


if __name__ == "__main__":
    unittest.main()
