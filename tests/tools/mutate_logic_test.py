#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
tests/tools/mutate_logic_test.py - tools/mutate --logic makes each mistake once.

Most tests look at the mutants of a few lines.  Those of class Whole build a
small tree with two unit tests and a made-up weft-scenarios, each of which
notices another mistake.
"""

import contextlib
import io
import os
import platform
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
from mutate_test import TOOLS, inside, load_mutate      # noqa: E402

mutate = load_mutate()
from mutation import logic, process, simulator, source, units   # noqa: E402


def mutants(text, path="src/room/file.c"):
    return list(logic.mutants_of(source.Source(path, text)))


class Mistakes(unittest.TestCase):
    """What is found, and what becomes of it."""

    def changed(self, *lines):
        """{what changed: the lines after it} of lines in a function."""
        found = {}
        for m in mutants(inside(*lines)):
            self.assertNotIn(m.change, found)
            after = m.text.split("\n")[2:2 + len(lines)]
            found[m.change] = " ".join(line.strip() for line in after).strip()
        return found

    def test_condition_of_if_is_negated(self):
        self.assertEqual(self.changed("if (p)", "\treturn x;"),
                         {"negated": "if (!(p)) return x;"})

    def test_conditions_of_loops_are_negated(self):
        for before, after in (
                ("while (p)", "while (!(p))"),
                ("for (; p; )", "for (; !(p); )")):
            self.assertEqual(self.changed(before, "\tcontinue;"),
                             {"negated": after + " continue;"})
        self.assertEqual(self.changed("do {", "} while (p && q);"), {
            "negated": "do { } while (!(p && q));",
            "&& to ||": "do { } while (p || q);"})

    def test_loop_without_condition(self):
        self.assertEqual(self.changed("for (;;)", "\tcontinue;"), {})

    def test_branches_are_swapped(self):
        self.assertEqual(self.changed("if (p)", "\treturn x;", "else",
                                      "\treturn y;"),
                         {"swapped": "if (!(p)) return x; else return y;"})
        self.assertEqual(self.changed("return f(x, p->q[i] ? y : z);"), {
            "swapped": "return f(x, !(p->q[i]) ? y : z);"})

    def test_chain_of_ifs(self):
        found = mutants(inside("if (p) {", "} else if (q) {", "\tbreak;",
                               "} else {", "\tbreak;", "}"))
        self.assertEqual([(m.line, m.change) for m in found],
                         [(3, "swapped"), (4, "swapped")])

    def test_else_of_another_if(self):
        found = mutants(inside("if (p)", "\tif (q)", "\t\treturn x;",
                               "\telse", "\t\treturn y;", "return z;"))
        self.assertEqual([(m.line, m.change) for m in found],
                         [(3, "negated"), (4, "swapped")])

    def test_comparisons(self):
        for old, new in (("<", "<="), ("<=", "<"), (">", ">="), (">=", ">"),
                         ("==", "!="), ("!=", "==")):
            self.assertEqual(self.changed(f"return a {old} b;"),
                             {f"{old} to {new}": f"return a {new} b;"})

    def test_and_or(self):
        self.assertEqual(self.changed("return a && b;"),
                         {"&& to ||": "return a || b;"})
        self.assertEqual(self.changed("return a || b;"),
                         {"|| to &&": "return a && b;"})

    def test_other_operators_stay(self):
        self.assertEqual(self.changed("return a->b << c >> d & e | f - g;"),
                         {})

    def test_equality_that_is_the_condition_is_negated_only(self):
        for condition in ("a == b", "wf_unlikely(a == b)"):
            self.assertEqual(
                self.changed(f"if ({condition})", "\treturn x;"),
                {"negated": f"if (!({condition})) return x;"})
        self.assertEqual(sorted(self.changed("if (a == b && c)",
                                             "\treturn x;")),
                         ["&& to ||", "== to !=", "negated"])
        self.assertEqual(sorted(self.changed("if (f(a == b))",
                                             "\treturn x;")),
                         ["== to !=", "negated"])

    def test_constants(self):
        self.assertEqual(self.changed("return x + 0x10u;"), {
            "0x10u to 0x10u+1": "return x + (0x10u + 1);",
            "0x10u to 0x10u-1": "return x + (0x10u - 1);"})

    def test_constant_that_repeats_a_comparison(self):
        for line, changes in (
                ("return x < 4;", ["4 to 4-1", "< to <="]),
                ("return x <= 4;", ["4 to 4+1", "<= to <"]),
                ("return x > 4;", ["4 to 4+1", "> to >="]),
                ("return x >= 4;", ["4 to 4-1", ">= to >"]),
                ("return x < 4 * y;", ["4 to 4+1", "4 to 4-1", "< to <="])):
            self.assertEqual(sorted(self.changed(line)), changes)

    def test_no_integers(self):
        self.assertEqual(self.changed("return x2 + 1.5 + y_3 + NULL;"), {})

    def test_returned_constants(self):
        for old, new in (("true", "false"), ("false", "true"), ("0", "1"),
                         ("7", "0"), ("-EINVAL", "0"), ("-1", "0"),
                         ("NULL", "(void *)1")):
            self.assertEqual(self.changed(f"return {old};"),
                             {f"return {old} to {new}": f"return {new};"})

    def test_what_is_no_constant_is_returned(self):
        self.assertEqual(self.changed("return x;"), {})
        self.assertEqual(self.changed("return;"), {})

    def test_statements_are_dropped(self):
        for line in ("f(x);", "(void)f(x);", "x = y;", "p->q += y;", "x++;",
                     "*p = y;", "p[i]->f(x);"):
            self.assertEqual(self.changed(line), {"dropped": "(void)0;"})

    def test_declarations_stay(self):
        for line in ("int x = y;", "struct a *b = f(x);", "weft_task *t = x;",
                     "wf_entry e;", "const char *s = x, *t = f(y);",
                     "uint64_t a[N] = { x };", "return f(x);", "break;",
                     "goto out;"):
            self.assertEqual(self.changed(line), {}, line)

    def test_statement_behind_a_label_or_head(self):
        for line in ("out:", "case X:", "default:", "else", "do"):
            lines = {"else": ("if (p)", "\t;", "else", "\tf();"),
                     "do": ("do", "\tf();", "while (p);")}.get(
                         line, (line, "\tf();"))
            self.assertIn("dropped", self.changed(*lines), line)

    def test_statement_in_a_loop_made_by_a_macro(self):
        self.assertEqual(self.changed("wf_each (x, list) {", "\tf(x);", "}"),
                         {"dropped": "wf_each (x, list) { (void)0; }"})

    def test_dropped_statement_leaves_its_lines(self):
        text = inside("f(x,", "\ty);", "g(z);")
        for m in mutants(text):
            self.assertEqual(m.text.count("\n"), text.count("\n"))
        self.assertEqual(mutants(text)[0].text.split("\n")[4], "\tg(z);")

    def test_fences_are_left_to_the_other_mode(self):
        for call in ("wf_fence_seq();", "wf_os_membarrier();"):
            self.assertEqual(self.changed(call), {})

    def test_comments_strings_and_directives_stay(self):
        self.assertEqual(mutants(inside(
            "/* if (x == 1) f(); */ // a && b", 'return "a && b";', "return '1';",
            "#define X(y) \\", "\tif (y < 3) \\", "\t\tf(y);",
            "#if N > 1", "#endif")), [])

    def test_assertions(self):
        """Their conditions may be wrong; messages are not looked at."""
        self.assertEqual(
            self.changed('wf_assert(a && f(b, c), "%d", d + 1);'),
            {"&& to ||": 'wf_assert(a || f(b, c), "%d", d + 1);'})
        self.assertEqual(self.changed('wf_panic("x", a && b);'), {})
        self.assertEqual(self.changed("wf_check(f(x));"), {})
        self.assertEqual(self.changed('_Static_assert(N, "x");'), {})

    def test_assembly_stays(self):
        self.assertEqual(self.changed('__asm__ volatile("" : : "i"(1));'), {})

    def test_outside_of_functions(self):
        self.assertEqual(mutants("static int x = 1;\nenum { A = 2 };\n"
                                 "int t[] = {\n\t1, 2,\n};\n"), [])

    def test_nothing_else_changes(self):
        text = inside("int x = 1; /* 2 */", "if (x < y && f(x))", "\tg();",
                      "return 0;")
        found = mutants(text)
        self.assertEqual(len(found), 7)
        for m in found:
            lines = zip(text.split("\n"), m.text.split("\n"))
            differ = [n for n, (a, b) in enumerate(lines, 1) if a != b]
            self.assertEqual(differ, [m.line])

    def test_names(self):
        names = [m.name for m in mutants(inside("return a && b && c;"))]
        start = "src/room/file.c: f: return a && b && c; [&& to ||]"
        self.assertEqual(names, [start, start + " #2"])

    def test_bracket_that_is_open(self):
        with self.assertRaisesRegex(source.Trouble, "file.c:3: a bracket"):
            mutants(inside("f(x;"))


class Choice(unittest.TestCase):
    """Which tests are about a file."""

    TESTS = ["api/mutex", "api/scope", "api/scope_time", "queue/runq",
             "queue/inject", "sync/cond", "sync/mutex", "os/clock"]

    def test_module_then_room_and_api(self):
        self.assertEqual(units.tests_of("src/sync/mutex.c", self.TESTS),
                         (["sync/mutex"], ["api/mutex", "sync/cond"]))

    def test_header_with_the_name_of_its_module(self):
        self.assertEqual(units.tests_of("src/queue/runq_inline.h", self.TESTS),
                         (["queue/runq"], ["queue/inject"]))

    def test_folder_of_a_system(self):
        self.assertEqual(units.tests_of("src/os/linux/clock.c", self.TESTS),
                         (["os/clock"], []))

    def test_longer_names_of_api_tests(self):
        self.assertEqual(units.tests_of("src/life/scope.c", self.TESTS),
                         ([], ["api/scope", "api/scope_time"]))


class Process(unittest.TestCase):
    def test_ends(self):
        for script, why in (("exit 3", "status 3"), ("kill -SEGV $$", "SIGSEGV"),
                            ("sleep 60", "hang")):
            done = process.run(["sh", "-c", script], 0.3)
            self.assertEqual(done.why(), why)

    def test_output(self):
        done = process.run(["sh", "-c", "echo a; echo b >&2"], 60)
        self.assertEqual((done.status, done.stopped, done.out, done.err),
                         (0, None, "a\n", "b\n"))

    def test_children_end_with_it(self):
        done = process.run(["sh", "-c", "sleep 60 & echo $!"], 60)
        stat = f"/proc/{done.out.strip()}/stat"
        end = time.monotonic() + 30
        while os.path.exists(stat) and mutate.read(stat).split()[2] != "Z":
            self.assertLess(time.monotonic(), end)
            time.sleep(0.01)

    def test_memory(self):
        self.addCleanup(setattr, process, "MOST_BYTES", process.MOST_BYTES)
        process.MOST_BYTES = 1
        self.assertEqual(process.run(["sleep", "60"], 60).why(), "memory")


# ---------------------------------------------------------- the small tree

ROOM_C = """int room_add(int x, int y);

int room_add(int x, int y)
{
	return x + y + 5;
}

int room_other(int x)
{
	return x + 6;
}

int room_sim(int x)
{
	return x + 7;
}

int room_nobody(int x)
{
	return x + 8;
}

int room_wait(int x)
{
	while (x)
		x &= 3;
	return x;
}

int room_same(int x)
{
	if (0)
		return 9;
	return x;
}

int room_broken(int x)
{
	switch (x) {
	case 0:
	case 1:
		return x;
	}
	return x;
}
"""
CMAKE = """cmake_minimum_required(VERSION 3.25)
project(tiny C)
enable_testing()
add_subdirectory(src)
add_subdirectory(tests)
"""
CMAKE_SRC = "add_library(weft_static STATIC room/room.c)\n"
CMAKE_TESTS = """foreach(name room other)
  add_executable(room_${name}_test room/${name}_test.c)
  target_link_libraries(room_${name}_test weft_static)
  add_test(NAME room/${name} COMMAND room_${name}_test)
endforeach()
"""
ROOM_TEST = """int room_add(int, int), room_wait(int);
int main(void)
{
	return room_add(1, 2) == 8 ? room_wait(0) : 3;
}
"""
OTHER_TEST = """#include <stdlib.h>
int room_other(int);
int main(void)
{
	if (room_other(1) != 7)
		abort();
	return 0;
}
"""
DRIVER = """#include <stdio.h>
#include <string.h>
int room_sim(int);
int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "--list"))
		return !puts("room/a other/b");
	if (argc > 1 && !strcmp(argv[1], "--replay"))
		return 0;
	if (room_sim(1) != 8 && !strcmp(argv[argc - 1], "room/a"))
		return puts("failure\\troom/a\\trace\\t3\\t4\\ttoken\\tx") > 0;
	return printf("sim: 50 schedules, 1 scenarios\\n") < 0;
}
"""
SIM_C = """void __tsan_init(void) {}
void __tsan_func_entry(void *p) {}
void __tsan_func_exit(void) {}
"""
SURVIVOR = "src/room/room.c: room_nobody: return x + 8; [8 to 8+1]"


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
            "CMakeLists.txt": CMAKE, "src/CMakeLists.txt": CMAKE_SRC,
            "tests/CMakeLists.txt": CMAKE_TESTS, "src/room/room.c": ROOM_C,
            "tests/room/room_test.c": ROOM_TEST,
            "tests/room/other_test.c": OTHER_TEST, "src/sim/hooks.c": SIM_C,
            "tests/sim/driver.c": DRIVER, f"src/arch/{machine}/empty.c": "",
            "tests/logic_survivors.txt": "",
        }

    def setUp(self):
        for module, name, value in (
                (simulator, "RELEVANT", {"src/": [], "src/room": ["room/"]}),
                (simulator, "KNOWN", {}), (units, "LIMIT_SECONDS", 1)):
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
            status = mutate.main(["--logic", "--root", self.root, "--jobs",
                                  "1", *args])
        return status, out.getvalue().split("\n")[:-1], err.getvalue()

    def fate(self, line):
        """{what changed: its fate and the reason} of the mutants of a line."""
        number = ROOM_C.split("\n").index("\t" + line) + 1
        _, lines, err = self.run_it("--only", f"room/room.c:{number}")
        self.assertEqual(err, "")
        found = {}
        for n, text in enumerate(lines):
            word = text.split(" ")[0]
            if word in ("killed", "SURVIVES", "same", "broken"):
                why = lines[n + 1].split(",")[0].strip()
                change = text[text.rindex("[") + 1:-1]
                found[change] = (word if word in ("same", "broken")
                                 else f"{word} {why}")
        return found

    def test_module_notices(self):
        self.assertEqual(self.fate("return x + y + 5;"), {
            "5 to 5+1": "killed room/room: status 3",
            "5 to 5-1": "killed room/room: status 3"})

    def test_room_notices(self):
        self.assertEqual(self.fate("return x + 6;")["6 to 6+1"],
                         "killed room/other: SIGABRT")

    def test_simulator_notices(self):
        self.assertEqual(self.fate("return x + 7;")["7 to 7+1"],
                         "killed room/a: race")

    def test_crash_of_the_simulator_is_noticed(self):
        self.write("tests/sim/driver.c", DRIVER.replace(
            'return puts("failure', 'return 4 | puts("failure'))
        self.assertEqual(self.fate("return x + 7;")["7 to 7+1"],
                         "killed weft-scenarios: status 5")

    def test_hang_is_noticed(self):
        self.assertEqual(self.fate("while (x)"),
                         {"negated": "killed room/room: hang"})

    def test_nobody_notices(self):
        self.assertEqual(self.fate("return x + 8;"), {
            "8 to 8+1": "SURVIVES 50 schedules",
            "8 to 8-1": "SURVIVES 50 schedules"})

    def test_same_code_is_not_counted(self):
        self.assertEqual(self.fate("\treturn 9;"), {"return 9 to 0": "same"})

    def test_what_does_not_compile_is_not_counted(self):
        self.assertEqual(self.fate("case 0:")["0 to 0+1"], "broken")

    def test_table(self):
        status, lines, _ = self.run_it()
        self.assertEqual(status, 1)
        total = [line.split() for line in lines if line.startswith("total")]
        _, counted, killed, score, _ = total[0]
        self.assertEqual(lines[-1].split(", ")[:2],
                         [f"mutate: {counted} counted", f"{killed} killed"])
        self.assertEqual(int(score), round(100 * int(killed) / int(counted)))
        self.assertIn("src/room/room.c:20: not killed and not listed in "
                      "tests/logic_survivors.txt:", lines)
        self.assertIn(SURVIVOR, lines)

    def test_listed_survivor(self):
        self.write("tests/logic_survivors.txt", "".join(
            SURVIVOR.replace("+1", step) + "\n\tNobody calls it.\n"
            for step in ("+1", "-1")))
        status, lines, _ = self.run_it("--only", "room/room.c:20")
        self.assertEqual((status, lines[-1]), (
            0, "mutate: 2 counted, 0 killed, 2 survive (2 listed)"))

    def test_listed_but_killed_or_gone(self):
        killed = "src/room/room.c: room_add: return x + y + 5; [5 to 5+1]"
        self.write("tests/logic_survivors.txt",
                   f"{killed}\n\tWhy.\nsrc/old.c: f: x\n\tWhy.\n")
        status, lines, _ = self.run_it("--only", "room/room.c:5")
        self.assertEqual(status, 1)
        self.assertIn("src/room/room.c:5: listed in tests/logic_survivors.txt "
                      "but killed; take it out:", lines)
        self.assertIn("src/old.c: f: x", lines)

    def test_results_are_kept_until_something_changes(self):
        out = os.path.join(self.root, "results.tsv")
        args = ("--only", "room/room.c:5", "--out", out)
        first = self.run_it(*args)[1]
        status, lines, _ = self.run_it(*args)
        self.assertEqual((status, lines), (0, first[4:]))
        self.write("tests/room/room_test.c", ROOM_TEST + "\n")
        self.assertEqual(len(self.run_it(*args)[1]), len(first))

    def test_stopped_run_goes_on(self):
        """What is in the file is not done again; the rest is."""
        out = os.path.join(self.root, "stopped.tsv")
        args = ("--only", "room/room.c:5", "--out", out)
        self.run_it(*args)
        lines = mutate.read(out).split("\n")
        with open(out, "w", encoding="utf-8") as stream:
            stream.write("\n".join(lines[:2]) + "\n")
        _, again, _ = self.run_it(*args)
        self.assertEqual(sum(text.startswith("killed") for text in again), 1)
        self.assertEqual(again[-1],
                         "mutate: 2 counted, 2 killed, 0 survive (0 listed)")

    def test_unchanged_library_must_pass(self):
        self.write("tests/room/room_test.c",
                   ROOM_TEST.replace("== 8", "== 9"))
        status, _, err = self.run_it("--only", "room/room.c:5")
        self.assertEqual(status, 2)
        self.assertIn("room/room fails with the unchanged library: status 3",
                      err)

    def test_copy_is_like_the_tree_at_the_end_of_a_run(self):
        self.run_it("--only", "room/room.c:5")
        self.assertEqual(self.fate("return x + 6;")["6 to 6-1"],
                         "killed room/other: SIGABRT")

    def git(self, *args):
        subprocess.run(["git", "-C", self.root, "-c", "user.name=x", "-c",
                        "user.email=x", *args], check=True,
                       capture_output=True)

    def test_changed(self):
        self.git("init", "-q")
        self.git("add", "-A")
        self.git("commit", "-qm", "one")
        self.write("src/room/room.c", ROOM_C.replace("x + 6", "x + 60"))
        self.git("commit", "-qam", "two")
        self.write("src/room/room.c", ROOM_C.replace("x + 6", "x + 60")
                   .replace("x + 8", "x + 80"))
        for base, numbers in ((["HEAD"], {"80"}), (["HEAD~1"], {"60", "80"}),
                              ([], {"80"})):
            args = ["--base", *base] if base else []
            _, lines, _ = self.run_it("--list", "--changed", *args)
            self.assertEqual({line.split("[")[1].split()[0]
                              for line in lines}, numbers)
        self.write("src/room/new.c", inside("return 0;"))
        _, lines, _ = self.run_it("--list", "--changed")
        self.assertIn("   3 src/room/new.c: f: return 0; [return 0 to 1]",
                      lines)
        os.unlink(os.path.join(self.root, "src/room/new.c"))

    def test_changed_by_removal(self):
        """The lines around count; a file that is gone has none."""
        self.write("src/room/gone.c", inside("return 0;"))
        self.git("init", "-q")
        self.git("add", "-A")
        self.git("commit", "-qm", "one")
        os.unlink(os.path.join(self.root, "src/room/gone.c"))
        self.write("src/room/room.c",
                   ROOM_C.replace("\t\tx &= 3;\n\treturn x;", "\t\tx &= 3;"))
        _, lines, _ = self.run_it("--list", "--changed")
        self.assertEqual([line.split("[")[1] for line in lines],
                         ["dropped]", "3 to 3+1]", "3 to 3-1]"])


class Tree(unittest.TestCase):
    """The list of the tree this is in names what is there."""

    ROOT = os.path.join(TOOLS, "..")

    def test_survivors(self):
        arch = simulator.Builder(self.ROOT, "unused").arch
        names = [m.name for m in logic.all_mutants(self.ROOT, arch)]
        self.assertEqual(len(names), len(set(names)))
        text = mutate.read(os.path.join(self.ROOT, mutate.LOGIC_SURVIVORS))
        for name in mutate.parse_survivors(text):
            self.assertIn(name, names)


if __name__ == "__main__":
    unittest.main()
