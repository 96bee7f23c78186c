#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
tests/tools/lint_test.py - tools/lint finds every fault it promises to find.

Each test starts from GOOD, a small tree that lint passes, changes one thing,
and asks for exactly the findings that change deserves: no other line, no
other rule.  "Stays clean" tests change something harmless and ask for none.
"""

import contextlib
import importlib.machinery
import importlib.util
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.realpath(__file__))
LINT = os.path.join(HERE, "..", "..", "tools", "lint")
NOTE = "lint: note: symbols not checked, no build (run make lint)"
SPDX = "SPDX-License-Identifier: MIT"
RULES = """
rooms
room-list
contracts
raw-atomics
pairs
if-rooms
header-line
reads-next
symbols
room-symbols
context
must-check
size
mirror
names
cycles
narrow
text
words
syscalls
doors
""".split()


def load_lint():
    """lint as a module: 400 runs in one process are fast enough."""
    sys.dont_write_bytecode = True
    loader = importlib.machinery.SourceFileLoader("lint", LINT)
    module = importlib.util.module_from_spec(
        importlib.util.spec_from_loader("lint", loader))
    loader.exec_module(module)
    return module


LINT_MODULE = load_lint()


def c(path, body, what="a file of the small tree"):
    """A C file with its header."""
    own = re.sub(r"^(src|include)/", "", path)
    return f"/* {SPDX} */\n/*\n * {own} - {what}\n */\n{body}"


def h(path, body, *what):
    """A header with its include guard."""
    own = re.sub(r"^(src|include)/", "", path)
    guard = re.sub(r"\W", "_", own).upper()
    if path.startswith("src/"):
        guard = "WF_" + guard
    return c(path, f"#ifndef {guard}\n#define {guard}\n\n{body}\n#endif\n",
             *what)


BASE = """#include <stdatomic.h>

#if defined(__SANITIZE_THREAD__)
#define WF_TSAN 1
#endif
#define wf_load_acq(p) atomic_load_explicit(p, memory_order_acquire)
#define wf_store_rel(p, v) atomic_store_explicit(p, v, memory_order_release)
"""

RUNQ_H = """#include <stdint.h>
#include "base/atomic.h"
#include <weft/task.h>

#define WF_RUNQ_CAP 256

struct wf_runq {
	_Atomic(uint64_t) head;	/* "don't" and /* are harmless here */
	_Atomic(uint64_t) tail;
};

typedef void wf_visit(void *, size_t);

void wf_runq_push(struct wf_runq *q, struct weft_task *t);

static inline int wf_runq_cap(void)
{
	return WF_RUNQ_CAP;
}
"""

RUNQ_C = """#include "queue/runq.h"
#include "runq.h"
#include "os/os.h"

static int full(struct wf_runq *q)
{
	/*
	 * [pair: runq.consume] The thief that moved head had seen tail.
	 */
	return wf_load_acq(&q->head) + WF_RUNQ_CAP ==
		wf_load_acq(&q->tail);
}

/* Publishes t. */
void wf_runq_push(struct wf_runq *q, struct weft_task *t)
{
	for (;;) {
		if (!full(q))
			break;
	}
	wf_store_rel(&q->tail, (uint64_t)t);	/* [pair: runq.publish] */
}
"""

PICK_C = """#include "queue/runq.h"
#include "sched/sched_priv.h"

struct weft_task *wf_pick(struct wf_runq *q, struct ops *ops)
{
	const char *s = "malloc(1) // atomic_load(x) [pair: no.tag]";

	ops->free(q);
	wf_os_free(s);
	/* [pair: runq.publish] */
	if (wf_load_acq(&q->tail) == 0) {
		/* [pair: runq.consume]: lets the owner reuse the cell. */
		wf_store_rel(&q->head, 1);
	}
	return 0;
}
"""

TASK_H = """#include <weft/attr.h>
#include <stdint.h>

WEFT_BEGIN_DECLS

/*
 * Nothing.
 *
 * Context: none.
 */
WEFT_API void weft_nothing(void);

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weft_task {
	void (*run)(struct weft_task *);
} weft_task;

/*
 * Run t.
 *
 * Context: any.
 */
WEFT_MUST_CHECK int weft_task_run(weft_task *t);

/*
 * Run t some day.
 *
 * Returns 0; the result may
 * be ignored.
 *
 * Context: any.
 */
int weft_task_later(weft_task *t);
WEFT_NONNULL(1) WEFT_MUST_CHECK
ssize_t weft_task_read(weft_task *t,
		       int (*fn)(void *));
uint64_t weft_task_count(const weft_task *t);
_Static_assert(sizeof(weft_task) == sizeof(void *), "size");

static inline int weft_task_run_twice(weft_task *t)
{
	int err = weft_task_run(t);
	weft_nothing();
	if (err == 0)
		return weft_task_run(t);
	return 0;
}

typedef void weft_fn(void *);
typedef int weft_key(void);

#ifdef __cplusplus
}
#endif
"""

GOOD = {
    "src/base/atomic.h": h("src/base/atomic.h", BASE),
    "src/os/os.h": h("src/os/os.h", "void *wf_os_map(size_t bytes);\n",
                     "the system\n *\n * Contract: implemented in "
                     "os/linux/.\n * Reads next: queue/runq.h."),
    "src/os/linux/vm.c": c("src/os/linux/vm.c", """#include "os/os.h"

#ifdef MAP_STACK
#define FLAGS(x) ((x) | MAP_STACK)
#endif

void *wf_os_map(size_t bytes)
{
	return mmap(0, bytes, 3, FLAGS(0), -1, 0);
}
"""),
    "src/arch/context.h": h("src/arch/context.h",
                            '#include "arch_context.h"\n'),
    "src/arch/x86_64/arch_context.h": h("src/arch/x86_64/arch_context.h",
                                        "static inline void wf_pause(void);"),
    "src/arch/x86_64/context.S": c("src/arch/x86_64/context.S",
                                   "\t.globl wf_jump\nwf_jump:\n\tret\n"),
    "src/queue/runq.h": h("src/queue/runq.h", RUNQ_H),
    "src/queue/runq.c": c("src/queue/runq.c", RUNQ_C),
    "src/timer/wheel.c": c("src/timer/wheel.c",
                           '#include "base/atomic.h"\n'),
    "src/sched/sched_priv.h": h("src/sched/sched_priv.h", "struct wf_sched;"),
    "src/sched/pick.c": c("src/sched/pick.c", PICK_C, (
        "takes the next task\n *\n * Before: no/such.h.\n * "
        "Reads next: queue/runq.h,\n * arch/<arch>/context.S and "
        "weft/task.h,\n * docs/DESIGN.md. Not read: no/such.c.")),
    "src/obs/dump.c": c("src/obs/dump.c", '#include "sched/run.h"\n'),
    "src/sim/hooks.c": c("src/sim/hooks.c", """#include "sched/sched_priv.h"
#include "obs/dump.h"

void __tsan_read1(void *addr)
{
	free(malloc(1));
}
"""),
    "include/weft/attr.h": h("include/weft/attr.h", """#if defined(__GNUC__)
#define WEFT_MUST_CHECK __attribute__((warn_unused_result))
#endif
"""),
    "include/weft/task.h": h("include/weft/task.h", TASK_H),
    "cli/main.c": c("cli/main.c", '#include "cli.h"\n'),
    "cli/cli.h": c("cli/cli.h", """#ifndef CLI_H
#define CLI_H

struct cmd {
	int (*run)(void);
};

#endif
"""),
    "bench/spin.c": c("bench/spin.c", "int x;\n"),
    "examples/hello.c": c("examples/hello.c", "int x;\n"),
    "tests/support/check.h": h("tests/support/check.h",
                               "#ifdef X\n#define T(x) malloc(x)\n#endif"),
    "tools/run": f"#!/bin/sh\n# {SPDX}\n",
    ".ci/build": f"#!/bin/sh\n#\n# {SPDX}\n",
    "CMakeLists.txt": f"# {SPDX}\n",
    "cmake/flags.cmake": f"# {SPDX}\n",
    "src/CMakeLists.txt": f"# {SPDX}\n# atomic_load(x)\n"
                          "set(rooms base os queue timer\n"
                          "  sched idle sync chan rt obs)\n",
    "CONTRIBUTING.md": "# Rooms\n\n| rooms | |\n|---|---|\n| `base` `arch` "
                       "`os` | x |\n| `queue` `timer` | x |\n| `sched` | `x` "
                       "|\n| `idle` `sync` `chan` | |\n| `rt` `obs` | |\n"
                       "| `sim` | |\n",
    "docs/DESIGN.md": "# Design\n",
    "docs/empty": "",
}
for room in ("idle", "sync", "chan", "rt"):
    path = f"src/{room}/x.h"
    GOOD[path] = h(path, "struct wf_x;")
for room, name in (("os", "vm"), ("arch", "context"), ("queue", "runq"),
                   ("timer", "wheel"), ("sched", "pick"), ("obs", "dump"),
                   ("sim", "hooks"), ("stress", "anything")):
    path = f"tests/{room}/{name}_test.c"
    GOOD[path] = c(path, "\tatomic_load(&x);\n",
                   "every task\n * pushed is popped")


def function(body_lines, comment=""):
    """A static function; lint counts its braces, so body_lines + 2."""
    body = "\tx();\n" * body_lines
    return f"{comment}static void f(void)\n{{\n{body}}}\n"


class LintCase(unittest.TestCase):
    def setUp(self):
        self.tmp = tempfile.TemporaryDirectory()
        self.addCleanup(self.tmp.cleanup)
        self.root = os.path.join(self.tmp.name, "tree")
        self.write(GOOD)

    def write(self, files):
        """Write files (path -> text; None removes one) into the tree."""
        for path, text in files.items():
            full = os.path.join(self.root, path)
            if text is None:
                os.remove(full)
                continue
            os.makedirs(os.path.dirname(full), exist_ok=True)
            with open(full, "wb") as stream:
                stream.write(text.encode())

    def lint(self, *args):
        """Exit status and output lines."""
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            status = LINT_MODULE.main(["--root", self.root, *args])
        return status, out.getvalue().splitlines()

    def expect(self, changes, *expected):
        """
        The good tree with changes (path -> text, None removes) has exactly
        the expected findings: (rule, path, line or text of that line; the
        last such line if there are several).
        """
        files = {**GOOD, **changes}
        self.write(changes)
        status, lines = self.lint()
        self.write({path: GOOD.get(path) for path in changes
                    if path in GOOD or changes[path] is not None})
        want = []
        for rule, path, at in expected:
            if isinstance(at, str):
                text = files[path].split("\n")
                hits = [i for i, t in enumerate(text, 1) if at in t]
                self.assertTrue(hits, f"{at!r} is not in {path}")
                at = hits[-1]
            want.append(f"{path}:{at}: {rule}: ")
        found = [line for line in lines if not line.startswith("lint: ")]
        self.assertEqual(sorted(re.match(r".*?:\d+: [\w-]+: ", line).group()
                                for line in found), sorted(want), found)
        self.assertEqual(status, 1 if expected else 0)
        summary = f"{len(want)} findings in" if want else "clean,"
        self.assertTrue(lines[-1].startswith("lint: " + summary), lines)

    def append(self, path, text, *expected):
        """The good tree with text added to one file, inside its guard."""
        good = GOOD[path]
        if good.endswith("\n#endif\n") and path.endswith(".h"):
            self.expect({path: good[:-7] + text + "\n#endif\n"}, *expected)
        else:
            self.expect({path: good + text}, *expected)

    def replace(self, path, old, new, *expected):
        """The good tree with the first old in one file replaced by new."""
        self.assertIn(old, GOOD[path])
        self.expect({path: GOOD[path].replace(old, new, 1)}, *expected)


class Program(LintCase):
    """lint as a program: arguments, output, exit status."""

    def lint(self, *args):
        out = subprocess.run([LINT, "--root", self.root, *args],
                             capture_output=True, text=True)
        self.assertEqual(out.stderr, "")
        return out.returncode, out.stdout.splitlines()

    def test_a_good_tree_is_clean(self):
        status, lines = self.lint()
        self.assertEqual(lines, [
            NOTE, f"lint: clean, {len(GOOD)} files, {len(RULES)} rules"])
        self.assertEqual(status, 0)

    def test_findings_are_sorted_and_counted(self):
        self.write({"docs/b.md": "b \n" + "\n" * 8 + "b \nb\n",
                    "docs/a.md": "a \n"})
        status, lines = self.lint()
        self.assertEqual(
            [line.split(": ")[0] for line in lines],
            ["docs/a.md:1", "docs/b.md:1", "docs/b.md:10", "lint", "lint"])
        self.assertEqual(
            lines[-1], f"lint: 3 findings in {len(GOOD) + 2} files")
        self.assertEqual(status, 1)

    def test_list_has_every_rule_in_one_sentence(self):
        status, lines = self.lint("--list")
        self.assertEqual(status, 0)
        self.assertEqual([line.split(":")[0] for line in lines], RULES)
        for line in lines:
            self.assertRegex(line, r"^[a-z-]+: \S.*\.$")

    def test_ignored_files_do_not_count(self):
        self.write({".gitignore": "*.gen\n", "docs/x.gen": "x \n",
                    "docs/new.md": "new \n"})
        subprocess.run(["git", "init", "-q", self.root], check=True)
        _, lines = self.lint()
        self.assertEqual([line.split(": ")[0] for line in lines],
                         ["docs/new.md:1", "lint", "lint"])

    def test_links_and_removed_files_do_not_count(self):
        self.write({"docs/a.md": "a \n", "docs/b.md": "b\n"})
        os.symlink("a.md", os.path.join(self.root, "docs/link.md"))
        subprocess.run("git init -q && git add docs && rm docs/b.md",
                       shell=True, cwd=self.root, check=True)
        _, lines = self.lint()
        self.assertEqual([line.split(": ")[0] for line in lines],
                         ["docs/a.md:1", "lint", "lint"])

    def test_a_broken_checkout_is_an_error(self):
        self.write({".git": "gitdir: nowhere\n"})
        out = subprocess.run([LINT, "--root", self.root],
                             capture_output=True, text=True)
        self.assertEqual(out.returncode, 2)

    def test_an_empty_root_is_an_error(self):
        out = subprocess.run([LINT, "--root", os.path.join(self.root, "no")],
                             capture_output=True, text=True)
        self.assertEqual(out.returncode, 2)


class Rules(LintCase):
    def include(self, path, what, *expected):
        self.append(path, f"#include {what}\n", *expected)

    def test_rooms(self):
        for path, what in (
                ("src/queue/runq.c", '"sched/pick.h"'),     # not before
                ("src/queue/runq.c", '"stack/arena.h"'),    # builds alone
                ("src/timer/wheel.c", '"os/os.h"'),         # builds alone
                ("src/sched/pick.c", '"sync/mutex.h"'),     # not before
                ("src/sched/pick.c", '"wait/wait.h"'),
                ("src/obs/dump.c", '"sim/os.h"'),
                ("src/sched/pick.c", '"obs/dump.h"'),       # nobody
                ("src/sched/pick.c", '"runq.h"'),           # not beside
                ("src/sched/pick.c", '"arch_context.h"'),   # only in arch/
                ("src/sched/pick.c", '"foo/bar.h"'),        # no room
                ("src/sched/pick.c", '"weft"'),             # not beside
                ("src/arch/context.h", '"context_arch.h"'),
                ("src/sched/pick.c", "<queue/runq.h>"),     # not a system's
                ("src/obs/dump.c", '"sched/sched_priv.h"'),  # private
                ("cli/main.c", '"sched/sched_priv.h"'),
                ("bench/spin.c", '"obs/dump.h"')):
            with self.subTest(path=path, include=what):
                self.include(path, what,
                             ("rooms", path, "#include " + what))
        path = "src/other/x.c"
        self.expect({path: c(path, "")}, ("rooms", path, 1))
        path = "src/x.c"
        self.expect({path: c(path, "")}, ("rooms", path, 1))

    def test_rooms_stays_clean(self):
        for path, what in (("src/queue/runq.c", "<weft/task.h>"),
                           ("src/queue/runq.c", '"weft/task.h"'),
                           ("src/queue/runq.c", "<sys/mman.h>"),
                           ("src/sched/pick.c", "HEADER"),
                           ("src/obs/dump.c", '"obs/trace.h"'),
                           ("src/obs/dump.c", '"rt/runtime.h"'),
                           ("cli/main.c", '"sched/run.h"'),
                           ("cli/main.c", '"other.h"'),
                           ("cli/main.c", '"foo/bar.h"'),
                           ("src/sched/pick.c", '"fiber/fiber.h"'),
                           ("src/sim/hooks.c", '"queue/runq_priv.h"'),
                           ("src/os/linux/vm.c", '"arch/context.h"')):
            with self.subTest(path=path, include=what):
                self.include(path, what)
        self.append("src/queue/runq.c", '/*\n#include "sim/x.h"\n*/\n')

    def test_room_list(self):
        rule, path = "room-list", "CONTRIBUTING.md"
        first = "| `base` `arch`"
        self.replace(path, " `timer`", "", (rule, path, first))
        self.replace(path, "`arch`", "`stack`", (rule, path, "| `base`"))
        self.replace(path, "`queue` `timer`", "`timer` `queue`",
                     (rule, path, first))
        self.replace(path, "| `sim`", "| sim", (rule, path, first))
        self.expect({path: "Rooms: `base` `arch`\n"}, (rule, path, 1))
        self.append(path, "| `base` | again |\n", (rule, path, first))
        self.append(path, "| `-O2` | `base` |\n| `other` | x |\n")
        path = "src/CMakeLists.txt"
        self.replace(path, "set(rooms base", "set(rooms base arch",
                     (rule, path, "set(rooms"))
        self.replace(path, " obs", "", (rule, path, "set(rooms"))
        self.replace(path, "set(rooms", "set(parts", (rule, path, 1))
        # A new room belongs into both.
        self.expect({"src/io/file.h": h("src/io/file.h", "struct wf_x;")},
                    (rule, path, "set(rooms"),
                    (rule, "CONTRIBUTING.md", first))

    def test_contracts(self):
        rule, path = "contracts", "src/os/os.h"
        self.append(path, "int wf_os_more(void);\n",
                    (rule, path, "wf_os_more"))
        self.append(path, "wf_printf(1, 2) int wf_os_more(\n\tint x);\n",
                    (rule, path, "wf_os_more"))
        self.append(path, "int wf_os_word; struct wf_x { int (*f)(void); };\n"
                    "static inline int wf_os_y(void)\n{\n\treturn 1;\n}\n",
                    ("mirror", path, 1))
        mark = "Contract: implemented in os/linux/."
        for wrong in ("Contract: os/linux/.", "Contract: implemented in sim.",
                      "Contract: implemented in idle, exec/.",
                      "Contract: implemented in none/.",      # no room
                      "Contract: implemented in os/.",        # its own room
                      "Contract: implemented in base/."):     # before it
            with self.subTest(mark=wrong):
                self.replace(path, mark, wrong, (rule, path, "Contract:"))
        more = "wf_printf(1, 2) int wf_os_more(const char *fmt)"
        text = GOOD[path].replace("\n#endif", more + ";\n\n#endif")
        vm = "src/os/linux/vm.c"
        self.expect({path: text, vm: GOOD[vm] + more + "\n{\n}\n"})
        self.expect({path: text, vm: GOOD[vm] + more.replace("more", "other")
                     + "\n{\n}\n"}, (rule, path, "wf_os_more"))
        inline = "src/os/linux/more.h"      # a definition in a header is none
        self.expect({path: text, inline: h(inline, "wf_inline " + more
                                           + "\n{\n}\n")},
                    (rule, path, "wf_os_more"))
        # Each folder must define all of it.
        self.replace(path, mark, "Contract: implemented in\n * os/linux/ "
                     "and idle/.", (rule, path, "wf_os_map"))
        self.expect({path: GOOD[path].replace(mark, "Contract: implemented in "
                                              "os/linux/, idle/."),
                     "src/idle/map.c": c("src/idle/map.c", "void *wf_os_map("
                                         "size_t bytes)\n{\n}\n"),
                     "tests/idle/map_test.c": c("tests/idle/map_test.c", "",
                                                "it maps some memory")})
        self.replace(path, "void *wf_os_map(size_t bytes);", "struct wf_x;",
                     (rule, path, "Contract:"))
        path = "src/queue/runq.h"       # a room that has no contract headers
        self.replace(path, "small tree\n", "small tree\n *\n * Contract: "
                     "implemented in sched/.\n", (rule, path, "Contract:"),
                     (rule, path, "void wf_runq_push"))
        path = "src/sched/pick.c"       # no header
        self.replace(path, "Before:", "Contract: x.\n *")

    def test_raw_atomics(self):
        for path in ("src/sched/pick.c", "cli/main.c", "bench/spin.c",
                     "src/os/linux/vm.c"):
            for code in ("x = atomic_load(&y);", "x = atomic_fetch_add (&y);",
                         "__atomic_store_n(&y, 1, 5);",
                         "__sync_synchronize();",
                         "int o = memory_order_seq_cst;"):
                with self.subTest(path=path, code=code):
                    self.append(path, code + "\n",
                                ("raw-atomics", path, code))
        path = "bench/base/x.c"
        self.expect({path: c(path, "int x = __sync_y;\n")},
                    ("raw-atomics", path, "__sync_y"))
        self.append("src/sched/pick.c",
                    "static _Atomic(int) x; /* atomic_load(x) */\n"
                    "int __tsan_atomic8_load(int x);\nmemory_order y;\n")

    def test_pairs_untagged(self):
        path = "src/sched/pick.c"
        self.replace(path, "[pair: runq.publish] */", "nothing */",
                     ("pairs", path, "wf_load_acq(&q->tail)"),
                     ("pairs", "src/queue/runq.c", "[pair: runq.publish]"))
        for op in ("wf_load_seq", "wf_cas_acqrel", "wf_fence_light",
                   "wf_xchg_acq", "wf_cas_rel_rlx", "wf_fence_seq"):
            with self.subTest(op=op):
                self.append(path, function(1).replace("x()", op + "(&x)"),
                            ("pairs", path, op))
        # The second statement needs a tag of its own,
        self.replace(path, "wf_store_rel(&q->head, 1);",
                     "wf_store_rel(&q->head, 1);\n\t\twf_store_rel(&z, 1);",
                     ("pairs", path, "wf_store_rel(&z, 1);"))
        # even if #if and #else confuse the parentheses before it,
        path = "src/os/linux/vm.c"
        self.append(path, "int f(void)\n{\n#if A\n\tx(\n#else\n\ty(\n#endif\n"
                    "\t\t1);\n}\nstatic int g(void)\n{\n"
                    "\twf_load_acq(&a); /* [pair: runq.publish] */\n"
                    "\twf_load_acq(&b);\n}\n",
                    ("names", path, "int f("),
                    ("pairs", path, "wf_load_acq(&b)"))
        path = "src/sched/pick.c"
        # and a tag does not reach into the next function.
        self.append(path, "/* [pair: runq.publish] */\nstatic int g(void)\n"
                    "{\n}\n\nstatic int f(void)\n{\n\twf_load_acq(&z);\n}\n",
                    ("pairs", path, "[pair: runq.publish]"),
                    ("pairs", path, "wf_load_acq(&z)"))

    def test_pairs_ends(self):
        path = "src/sched/pick.c"
        self.replace(path, "[pair: runq.publish]", "[pair: runq.publsih]",
                     ("pairs", path, "[pair: runq.publsih]"),
                     ("pairs", "src/queue/runq.c", "[pair: runq.publish]"))
        self.append(path, "/* [pair: runq.publish] */\nint x;\n",
                    ("pairs", path, "[pair: runq.publish]"))
        self.append(path, "/* [pair: runq.publish] */\n" + "int x;\n" * 12
                    + "static int y = wf_load_acq(&z);\n",
                    ("pairs", path, "[pair: runq.publish]"),
                    ("pairs", path, "int y"))
        for tag in ("[pair:runq.publish]", "[pair: Publish It]",
                    "[pair: publish]", "[pair: a.b, c.d]"):
            with self.subTest(tag=tag):
                line = f" = wf_load_acq(&z); /* {tag} */\n"
                self.append(path, "int x" + line + "int y" + line,
                            ("pairs", path, "int x"),
                            ("pairs", path, "int y"))

    def test_pairs_stays_clean(self):
        tag = "/* [pair: runq.publish] */"
        for code in (
                # Eleven lines between; a long comment; in the middle and at
                # the end of a statement; several in one statement; a pair
                # with itself; relaxed; names that only look ordered.
                f"{tag}\n" + "int x;\n" * 11 + "int y = wf_load_acq(&z);\n",
                f"{tag[:-3]}\n" + " * more\n" * 20 + " */\n"
                "int y = wf_load_acq(&z);\n",
                f"int y = f(1,\n\t{tag}\n\twf_load_acq(&z));\n",
                f"int y = f(wf_load_acq(&z),\n\t1);\t{tag}\n",
                f"{tag}\nint y[] = {{\n\twf_load_acq(&z),\n"
                "\twf_load_acq(&z),\n};\n",
                f"{tag}\nwhile (wf_load_acq(&z) ||\n\twf_load_acq(&z))\n"
                "\tx();\n",
                f"{tag}\nfor (x = wf_load_acq(&z); x;\n"
                "\tx = wf_load_acq(&z))\n\ty();\n",
                "/* [pair: a.b] and [pair: a.b] */\n"
                "int y = wf_add_acqrel(&z, 1);\n",
                "int y = wf_load_rlx(&z);\n",
                "int y = wf_seq_next(&z), z = wf_rel_path(x);\n"):
            with self.subTest(code=code):
                self.append("src/sched/pick.c", code)
        self.append("src/os/os.h", f"{tag}\n#define WF_X(p) wf_load_acq(p)\n"
                    f"int x;\n{tag}\nint y = wf_load_acq(&z);\n")
        self.append("src/arch/x86_64/context.S", f"\tnop\t{tag}\n")
        self.append("src/base/atomic.h",
                    "/* Write [pair: name], as [pair: queue.step]. */\n")

    def test_if_rooms(self):
        for path in ("src/sched/pick.c", "src/queue/runq.h", "cli/main.c",
                     "bench/spin.c", "include/weft/task.h"):
            for code in ("#if FOO", "#ifdef FOO", "#  ifndef FOO"):
                with self.subTest(path=path, code=code):
                    self.append(path, code + "\n#endif\n",
                                ("if-rooms", path, code))
        path = "src/sched/pick.c"
        self.append(path, "#if 0\n#elif 1\n#endif\n",
                    ("if-rooms", path, "#if 0"),
                    ("if-rooms", path, "#elif 1"))
        self.append(path, "#ifdef __cplusplus\n#endif\n",
                    ("if-rooms", path, "#ifdef"))
        self.append("include/weft/task.h",
                    "#if __cplusplus >= 201703L /* C++17 */\n#endif\n")

    def test_header_line(self):
        for path in ("src/queue/runq.c", "include/weft/task.h", "cli/main.c",
                     "src/arch/x86_64/context.S", "examples/hello.c",
                     "tests/queue/runq_test.c", "bench/spin.c"):
            with self.subTest(path=path):
                own = re.sub(r"^(src|include)/", "", path)
                rule = "header-line"
                self.replace(path, "MIT", "BSD", (rule, path, 1))
                self.replace(path, f" * {own} - ", " * x.c - ",
                             (rule, path, 3))
        path = "cli/main.c"
        self.expect({path: f"/* {SPDX} */\nint x;\n"},
                    ("header-line", path, 2))
        self.expect({path: f"/* {SPDX} */\n/*\n * cli/main.c -\n */\n"},
                    ("header-line", path, 3))
        for path in ("tools/run", ".ci/build", "CMakeLists.txt",
                     "cmake/flags.cmake"):
            with self.subTest(path=path):
                self.replace(path, "MIT", "BSD", ("header-line", path, 1))
        path = "CMakeLists.txt"
        self.replace(path, "#", "\n#", ("header-line", path, 1))
        path = ".ci/build"
        self.replace(path, "#\n", "#\n#\n", ("header-line", path, 1))
        self.expect({"docs/x.sh": "#!/bin/sh\n", "docs/x.c": "int x;\n"})
        path = "tests/tools/x_test.py"
        self.expect({path: "import os\n"}, ("header-line", path, 1))

    def test_reads_next(self):
        path = "src/sched/pick.c"
        for old in ("queue/runq.h", "arch/<arch>/context.S", "weft/task.h",
                    "docs/DESIGN.md"):
            with self.subTest(old=old):
                new = old.replace("/", "/un")
                self.replace(path, old, new, ("reads-next", path, new))

    def test_context(self):
        path = "include/weft/task.h"
        self.replace(path, " * Context: any.", " * Anywhere.",
                     ("context", path, "int weft_task_run("))
        self.append(path, "uint64_t weft_a(void);\n",
                    ("context", path, "weft_a"))
        self.append(path, "struct weft_b {\n\t/*\n\t * Context: any.\n"
                    "\t */\n\tint x;\n};\nvoid weft_b(void);\n",
                    ("context", path, "weft_b(void)"))
        self.append(path, "/*\n * Context: any.\n */\n\n"
                    "uint64_t\nweft_a(void);\n",
                    ("context", path, "uint64_t"))
        # Three prototypes share the second comment.
        before, _, after = GOOD[path].rpartition(" * Context: any.")
        text = before + " * Anywhere." + after
        self.expect({path: text}, ("context", path, "int weft_task_later"),
                    ("context", path, "WEFT_NONNULL(1)"),
                    ("context", path, "uint64_t weft_task_count"))
        inline = function(6).replace("static", "static inline")
        self.append(path, inline, ("context", path, "static inline void f"))
        self.append(path, function(5).replace("static", "static inline"))

    def test_must_check(self):
        path = "include/weft/task.h"
        self.replace(path, "WEFT_MUST_CHECK int", "int",
                     ("must-check", path, "int weft_task_run("))
        self.replace(path, "may\n * be ignored", "may\n * be used",
                     ("must-check", path, "int weft_task_later("))
        note = "/*\n * x\n * Context: any.\n */\n"
        for returns in ("int", "ssize_t", "extern int", "WEFT_API int",
                        "__attribute__((format(printf, 1, 2))) int"):
            with self.subTest(returns=returns):
                self.append(path, f"{note}{returns} weft_a(void);\n",
                            ("must-check", path, "weft_a"))
        for returns in ("unsigned int", "void *", "int64_t", "int *",
                        "typedef int"):
            with self.subTest(returns=returns):
                self.append(path, f"{note}{returns} weft_a(void);\n")

    def test_size(self):
        path = "bench/spin.c"
        reason = "/*\n * x\n * Long: a table.\n */\n"
        self.append(path, function(58))
        self.append(path, function(59), ("size", path, "{"))
        self.append(path, function(59, "/* Long: */\n"), ("size", path, "{"))
        self.append(path, function(98, reason))
        self.append(path, function(99, reason), ("size", path, "{"))
        self.append(path, "\n" * 793 + "x;\nx;\n")
        self.append(path, "\n" * 793 + "x;\nx;\nx;\n", ("size", path, 801))
        self.append(path, "x" * 80 + "\n")
        self.append(path, "x" * 81 + "\n", ("size", path, "xxx"))
        self.append(path, "\t" * 9 + "x" * 9 + "\n", ("size", path, "xxx"))
        self.append(path, "/* https://" + "x" * 80 + " */\n")

    def test_mirror(self):
        for source, test in (
                ("src/queue/runq.c", "tests/queue/runq_test.c"),
                ("src/os/linux/vm.c", "tests/os/vm_test.c"),
                ("src/arch/x86_64/context.S", "tests/arch/context_test.c")):
            with self.subTest(source=source):
                self.expect({test: None}, ("mirror", source, 1))
        for path in ("src/queue/runq_priv.h", "src/queue/runq_inline.h"):
            self.expect({path: h(path, "wf_inline int wf_f(void);")})
        path = "tests/queue/helper.c"
        self.expect({path: c(path, "", "helps")})
        path = "src/base/list.h"
        self.expect({path: h(path, "wf_inline int wf_f(void);")},
                    ("mirror", path, 1))
        self.expect({path: h(path, "#define wf_inline static inline")})
        inline = h(path, function(1).replace("static", "static inline"))
        self.expect({path: inline}, ("mirror", path, 1))
        test = "tests/base/list_test.c"
        self.expect({path: inline, test: c(test, "", "a list keeps order")})
        self.expect({path: h(path, "struct wf_list;")})
        path = "tests/queue/other_test.c"
        self.expect({path: c(path, "", "four words are enough")},
                    ("mirror", path, 1))
        for what in ("three words only", "tests"):
            path = "tests/stress/x_test.c"
            self.expect({path: c(path, "", what)}, ("mirror", path, 3))

    def test_names(self):
        path = "src/sched/pick.c"
        self.append(path, function(1).replace("static ", ""),
                    ("names", path, "void f("))
        self.append(path, "void (*get(int x))(void)\n{\n}\n",
                    ("names", path, "get("))
        self.append(path, "void __tsan_x(void)\n{\n}\n",
                    ("names", path, "__tsan_x"))
        self.append(path, "wf_inline int x(void)\n{\n}\n")
        self.append(path, "void (*wf_get(int x))(void)\n{\n}\n"
                    "__attribute__((cold)) void wf_x(void)\n{\n}\n"
                    "static inline struct y *\nz(int a,\n  int b)\n{\n}\n")
        self.append(path, "#define WF_X(y) y\n", ("names", path, "WF_X"))
        self.append(path, "#define LIMIT 3\n", ("names", path, "LIMIT"))
        self.append(path, "#define WF_LIMIT (3)\n")
        self.append(path, "struct local {\n\tint x;\n};\n")
        path = "src/queue/runq.h"
        self.append(path, "struct local {\n\tint x;\n};\n",
                    ("names", path, "struct local"))
        for guard in ("QUEUE_RUNQ_H", "WF_RUNQ_H"):
            self.expect({path: GOOD[path].replace("WF_QUEUE_RUNQ_H", guard)},
                        ("names", path, "#ifndef"))
        self.expect({path: c(path, "#pragma once\nint x;\n")},
                    ("names", path, 1))
        path = "include/weft/task.h"
        self.expect({path: GOOD[path].replace("WEFT_TASK_H", "WF_TASK_H")},
                    ("names", path, "#ifndef"))

    def circle(self, *stems, room="os"):
        """Modules of which each one's file includes the next one's header."""
        files = {}
        for here, there in zip(stems, stems[1:] + stems[:1]):
            path = f"src/{room}/{here}"
            test = f"tests/{room}/{here}_test.c"
            files[path + ".h"] = h(path + ".h", "struct wf_x;\n")
            files[path + ".c"] = c(path + ".c", f'#include "{here}.h"\n'
                                   f'#include "{room}/{there}.h"\n')
            files[test] = c(test, "", "it is part of a circle")
        return files

    def test_cycles(self):
        three = self.circle("a", "b", "c")
        self.expect(three)
        four = self.circle("a", "b", "c", "d")
        self.expect(four, ("cycles", "src/os/a.c", 1))
        # One finding for each circle; what only leads to one is not in it.
        other = self.circle("p", "q", "r", "s", "t", room="sched")
        self.expect({**four, **other}, ("cycles", "src/os/a.c", 1),
                    ("cycles", "src/sched/p.c", 1))
        chain = {"src/os/0.h": h("src/os/0.h", '#include "os/a.h"\n'),
                 "src/os/d.h": h("src/os/d.h", '#include "os/e.h"\n'),
                 "src/os/e.h": h("src/os/e.h", "struct wf_x;\n")}
        self.expect({**four, **chain}, ("cycles", "src/os/a.c", 1))
        self.expect({**three, **chain})
        # Two circles of three that share a module are one of five.
        path = "src/os/a.c"
        both = {**self.circle("a", "p", "q"), **three}
        both[path] = three[path].replace("#", '#include "os/p.h"\n#', 1)
        self.expect(both, ("cycles", path, 1))
        self.expect(self.circle("a", "b", "c", "d", room="sim"))

    def chain(self, n, room="sync"):
        """A file that sees n headers, each through the one before."""
        path = f"src/{room}/narrow.c"
        files = {path: c(path, '#include "base/h1.h"\n#include "base/h1.h"\n'
                         "#include <weft/task.h>\n"),
                 f"tests/{room}/narrow_test.c": c(
                     f"tests/{room}/narrow_test.c", "", "it sees n headers")}
        for i in range(1, n + 1):
            here = f"src/base/h{i}.h"
            there = f'#include "base/h{i + 1}.h"\n' if i < n else ""
            files[here] = h(here, there + "#include <stdint.h>\n")
        return files

    def test_narrow(self):
        limit = LINT_MODULE.HEADERS
        self.assertEqual(limit, 15)
        found = ("narrow", "src/sync/narrow.c", 1)
        self.expect(self.chain(limit))
        self.expect(self.chain(limit + 1), found)
        self.expect(self.chain(limit + 1, room="chan"))
        self.expect(self.chain(limit + 1, room="sched"))
        # A header of the room is judged by the files that include it.
        files = self.chain(limit + 1)
        path = "src/sync/wide.h"
        files[path] = h(path, '#include "base/h1.h"\n')
        self.expect(files, found)
        # The file's own header counts.
        files = self.chain(limit)
        files[path] = h(path, "struct wf_x;\n")
        files[found[1]] += '#include "sync/wide.h"\n'
        self.expect(files, found)

    def test_names_typedef(self):
        for path in ("include/weft/task.h", "tests/support/check.h",
                     "cli/cli.h", "src/sched/pick.c"):
            for code in ("typedef int foo_t;", "typedef int (*foo_t)(int);",
                         "typedef struct {\n\tint x;\n} foo_t;",
                         "typedef int foo_t[3];", "typedef int foo_t(int);"):
                with self.subTest(path=path, code=code):
                    self.append(path, code + "\n",
                                ("names", path, code.split("\n")[0]))
        self.append("src/sched/pick.c", "typedef int (*foo)(size_t);\n"
                    "typedef size_t foo;\n"
                    "typedef struct x {\n\tsize_t size_t;\n} x;\n")

    def test_text(self):
        path = "docs/DESIGN.md"
        self.append(path, "x \n", ("text", path, "x "))
        self.append(path, "x\t\n", ("text", path, "x\t"))
        self.append(path, "a\r\nb\r\n", ("text", path, "a\r"))
        self.append(path, "x", ("text", path, "x"))
        self.append(path, "x\n\n", ("text", path, "x"))
        self.append(path, "TO" "DO\n")
        self.expect({"tools/lint": GOOD["tools/run"] + "# TO" "DO\n"})
        for top in ("home", "root", "work", "farm"):
            for before in ("", "at ", "-I", '"', "=", "(", "file://"):
                with self.subTest(top=top, before=before):
                    line = before + "/" + top + "/me"
                    self.append(path, line + "\n", ("text", path, line))
            self.append(path, "https://example.org/" + top + "/x "
                        "src/" + top + "/x ${D}/" + top + "/x\n")
        for word in ("TO" "DO", "FIX" "ME", "XX" "X", "HA" "CK"):
            for path in ("src/sched/pick.c", "include/weft/task.h",
                         "cli/main.c", "bench/spin.c", "tools/run",
                         "tests/queue/runq_test.c"):
                with self.subTest(path=path, word=word):
                    self.append(path, f"/* {word}: x */\n",
                                ("text", path, word))
        self.append("cli/main.c", 'char s[] = "/tmp/x.XXXXXX";\n')
        self.expect({"docs/x.bin": "\0 \n\n"})
        self.expect({"tests/x.patch": "@@\n \n x\n"})

    def test_words(self):
        bad = ("The same, holding the lock.", "As wf_push.", "As weft_go.",
               "Likewise for n.", "It pushes.  The same for take.",
               "Take: The same.", "[Q1] Likewise.",
               "Who waits frees it.", "Whoever comes first takes it.",
               "It is freed by who saw it.", "Freed, who waits being gone.",
               "A task; whoever takes it runs it.", "It comes before who does.",
               "It is for who waits.", "The list is of who waits.",
               "It ends, and who waits is woken.",
               "What is left goes on.", "Two take. What comes is new.",
               "It ends; what was there stays.", "It is no task.",
               "These tasks\n * are no\n * fibers.")
        for path in ("src/sched/pick.c", "include/weft/task.h", "cli/main.c",
                     "tests/queue/runq_test.c", "bench/spin.c",
                     "examples/hello.c", "src/arch/x86_64/context.S"):
            for text in bad if path == "src/sched/pick.c" else bad[:2]:
                with self.subTest(path=path, text=text):
                    at = text.split("\n")[1 if "\n" in text else 0]
                    self.append(path, f"/* {text} */\n", ("words", path, at))

    def test_words_of_a_long_comment(self):
        path = "src/sched/pick.c"
        for text in ("The last one is taken by\n * whoever comes.",
                     "One comes.\n *\n * Whoever does.",
                     "One comes.\n * The same for two."):
            with self.subTest(text=text):
                self.append(path, f"/*\n * {text}\n */\n",
                            ("words", path, text.split("\n")[-1]))
        self.append(path, "/* Who waits is woken by who ends. */\n",
                    *[("words", path, "Who waits")] * 2)
        self.append(path, "int x; /* who waits */ // The same.\n",
                    *[("words", path, "who waits")] * 2)

    def test_words_stays_clean(self):
        path = "src/sched/pick.c"
        self.append(path, """
/* A user who reads this, and the fiber that waits. Whole. Whose turn it is. */
/* Takes the same lock, as wf_push does. Both see the same. */
/* What a reader will wrongly assume: that it is empty. Do what it says. */
/* There is no task, there\n * are no fibers, and this is no longer one. */
/* There was no room. It is no more than that. This is not a task. */
/* It says who waits. It asks who has it, and what is left. */
// What the monitor knows.
char s[] = "Who waits? The same: who waits is no task. /* The same */";
""")
        self.append("docs/DESIGN.md", "Who waits is no task.\n")

    def test_syscalls(self):
        path = "src/sched/pick.c"
        for call in ("syscall mmap munmap madvise mprotect pthread_create "
                     "clock_gettime sched_getaffinity sched_yield getrandom "
                     "sigaction sigaltstack malloc calloc realloc "
                     "free").split():
            with self.subTest(call=call):
                self.append(path, f"int x = ({call}(1));\n",
                            ("syscalls", path, call + "(1)"))
        path = "src/base/atomic.h"
        self.append(path, "int x = malloc(1);\n", ("syscalls", path, "malloc"))
        self.append("src/sched/pick.c", "x->mmap(1); x.free(1); wf_free(1);\n"
                    "struct sigaction sa; int (*free)(void *);\n")

    def test_doors_self(self):
        path = "src/sched/pick.c"
        self.append(path, "static int x = wf_os_self();\n",
                    ("doors", path, "wf_os_self"))
        self.append(path, "static int x = wf_os_self_place();\n")
        for path in ("src/os/linux/vm.c", "src/base/atomic.h",
                     "src/sim/hooks.c"):
            self.append(path, "static int x = wf_os_self();\n")
        path = "src/sched/thread.h"
        self.expect({path: h(path, "wf_inline wf_enters int wf_enter(void)\n"
                             "{\n\treturn wf_os_self();\n}\n"),
                     "tests/sched/thread_test.c": c(
                         "tests/sched/thread_test.c", "",
                         "one door leads in")})

    def door(self, body, *expected, name="static int f(int t)", more=""):
        """The good tree with a function; expected: texts of its lines."""
        path = "src/sched/pick.c"
        body = "".join(f"\t{line}\n" for line in body.split("\n"))
        self.append(path, f"{more}{name}\n{{\n{body}}}\n",
                    *(("doors", path, at) for at in expected))

    def test_doors(self):
        enter = "struct wf_thread *t = wf_enter();\n"
        self.door(enter + "return 0;", "return 0;")
        self.door(enter + "x();", "}")
        self.door(enter + "if (t == NULL)\n\treturn 1;\nwf_leave(t);\n"
                  "return 2;", "return 1;")
        self.door(enter + "if (t)\n\twf_leave(t);\nreturn 3;", "return 3;")
        self.door(enter + "if (x) {\n\twf_leave(t);\n} else if (y) {\n"
                  "\tx();\n} else {\n\twf_leave(t);\n}\nreturn 4;",
                  "return 4;")
        self.door(enter + "while (x()) {\n\tif (y)\n\t\tbreak;\n"
                  "\twf_leave(t);\n\treturn 5;\n}\nreturn 6;", "return 6;")
        self.door(enter + "for (;;) {\n\tif (y)\n\t\tbreak;\n}\nx();",
                  "}")
        self.door("x(wf_enter());\nreturn 7;", "return 7;")
        self.door("return wf_enter()->x;", "return wf_enter")
        self.door(enter + "if (x)\n\tgoto out;\nwf_leave(t);\nout:\n"
                  "return 8;", "return 8;")
        self.door(enter + "switch (x) {\ncase 1:\n\tbreak;\ndefault:\n"
                  "\twf_leave(t);\n}\nreturn 9;", "return 9;")
        self.door(enter + "switch (x) {\ncase 1:\n\twf_leave(t);\n"
                  "\treturn 1;\n}\nx();", "}")
        self.door(enter + "do {\n\tif (x)\n\t\tcontinue;\n\twf_leave(t);\n"
                  "\treturn 1;\n} while (y);\nreturn 10;", "return 10;")
        # A loop or a switch inside has its own breaks.
        for inner in ("while (y)\n\t\tx();",
                      "switch (y) {\n\tcase 1:\n\t\tbreak;\n\t}"):
            self.door(enter + "for (;;) {\n\tif (z)\n\t\tbreak;\n"
                      f"\twf_leave(t);\n\t{inner}\n\treturn 1;\n}}\n"
                      "return 11;", "return 11;")
        self.door("again:\nif (x)\n\treturn 1;\nt = wf_enter();\nif (y)\n"
                  "\tgoto again;\nwf_leave(t);\nreturn 12;", "return 1;",
                  "t = wf_enter()")
        # Twice through the door: in, then in; out, then out; round a loop.
        self.door(enter + "t = wf_enter();\nwf_leave(t);\nreturn 0;",
                  "t = wf_enter()")
        self.door(enter + "wf_leave(t);\nwf_leave(t + 1);\nreturn 0;",
                  "wf_leave(t + 1)")
        self.door(enter + "for (;;)\n\twf_leave(t);", "wf_leave(t)")
        self.door("do\n\tt = wf_enter();\nwhile (x);\nwf_leave(t);\n"
                  "return 0;", "t = wf_enter()")
        # A function that was called inside returns there.
        self.door("wf_leave(t);\nx();\nreturn 0;", "return 0;")

    def test_doors_stays_clean(self):
        enter = "struct wf_thread *t = wf_enter();\n"
        for body in (
                enter + "x(t);\nwf_leave(t);\nreturn x;",
                enter + "x(t);\nwf_leave(t);",
                enter + "if (x) {\n\twf_leave(t);\n\treturn 1;\n}\n"
                "wf_leave(t);\nif (y)\n\treturn 2;\nx();\nreturn 3;",
                enter + "if (x)\n\tgoto out;\nx();\nout:\nwf_leave(t);\n"
                "return 0;",
                enter + "for (;;) {\n\twf_leave(t);\n\tx();\n"
                "\tt = wf_enter();\n}",
                enter + "while (1) {\n\tif (x)\n\t\tcontinue;\n"
                "\twf_leave(t);\n\treturn 1;\n}",
                enter + "switch (x) {\ncase 1:\n\twf_leave(t);\n\treturn 1;"
                "\ncase 2:\ndefault:\n\twf_leave(t);\n}\nreturn 2;",
                enter + "for (;;) {\n\tswitch (y) {\n\tcase 1:\n"
                "\t\tbreak;\n\t}\n\twf_leave(t);\n\treturn 1;\n}",
                enter + "wf_leave(t);\nreturn 1;\nx(wf_enter());",
                enter + "do {\n\tx({ 1; });\n} while (y);\nwf_leave(t);",
                "int x[] = {\n\t1, 2,\n};\nwf_leave(t);\nx();\n"
                "t = wf_enter();\nreturn t;",
                "if (x)\n\treturn 1;\nt = wf_enter();\nwf_leave(t);\n"
                "return 0;",
                "return t;"):
            with self.subTest(body=body):
                self.door(body)

    def test_doors_marks(self):
        self.door("x();\nwf_leave(t);\nreturn 0;",
                  name="static wf_leaves int f(int t)")
        self.door("return 1;", "return 1;",
                  name="static wf_leaves int f(int t)")
        self.door("if (x)\n\treturn 1;\nwf_leave(t);\nreturn 0;",
                  "return 1;", name="static wf_leaves int f(int t)")
        name = "static wf_enters struct x *f(int t)"
        self.door("return wf_enter();", name=name)
        self.door("if (x)\n\treturn 1;\nreturn wf_enter();", "return 1;",
                  name=name)
        self.door("t = wf_enter();\nwf_leave(t);\nreturn t;", "return t;",
                  name=name)
        self.door("wf_leave(t);\nreturn wf_enter();", "wf_leave(t)",
                  name=name)
        # Callers go by the marks.
        enter = "struct wf_thread *t = g(1);\n"
        more = "static wf_enters int g(int);\nwf_leaves int h(int);\n" \
               "static wf_noreturn wf_noinline void end(void);\n"
        self.door(enter + "return h(t);", more=more)
        self.door(enter + "if (x)\n\tend();\nreturn h(t);", more=more)
        self.door(enter + "if (x)\n\treturn end(), 1;\nh(t);\nend();",
                  more=more)
        self.door("if (x)\n\tend();\nwf_leave(t);\nt = wf_enter();",
                  more=more)
        self.door(enter + "return 1;", "return 1;", more=more)
        self.door(enter + "return 1;")
        path = "src/queue/runq.h"
        self.append(path, "wf_enters int wf_into(void);\n"
                    "static inline int wf_x(void)\n{\n\treturn wf_into();\n"
                    "}\n", ("doors", path, "return wf_into()"))
        pick = "src/sched/pick.c"
        text = GOOD[path].replace("\n#endif",
                                  "wf_enters int wf_into(void);\n\n#endif")
        self.expect({path: text, pick: GOOD[pick] + "static int f(void)\n{\n"
                     "\treturn wf_into();\n}\n"},
                    ("doors", pick, "return wf_into()"))


class Symbols(LintCase):
    """These compile: a fault in a library shows only in a library."""

    def build(self, source, folder="build/release", flags=()):
        """Build a library of one source, or of several: path -> source."""
        out = os.path.join(self.root, folder)
        objects = []

        def run(*command, source=None):
            subprocess.run(command, cwd=out, check=True, input=source,
                           text=True)
        if isinstance(source, str):
            source = {"src/sched/pick.c": source}
        for path, text in source.items():
            part = "weft_os_linux" if "os/linux/" in path else "weft_core"
            name = f"src/CMakeFiles/{part}.dir/{path[len('src/'):]}.o"
            os.makedirs(os.path.dirname(os.path.join(out, name)),
                        exist_ok=True)
            run("gcc", "-fPIC", "-x", "c", "-c", "-", "-o", name, source=text)
            objects.append(name)
        run("ar", "rc", "libweft.a", *objects)
        run("gcc", "-shared", "-o", "libweft.so.0.1", *objects, *flags)
        if not os.path.exists(os.path.join(out, "libweft.so")):
            os.symlink("libweft.so.0.1", os.path.join(out, "libweft.so"))

    def check(self, *wanted, args=()):
        status, lines = self.lint(*args)
        self.assertEqual(len(lines), len(wanted) + 1, lines)
        for line, want in zip(lines, wanted):
            self.assertTrue(line.startswith(want), line)
        self.assertEqual(status, 1 if wanted else 0)

    def test_symbols_good(self):
        self.build('int weft_x; static int y; int weft_f(void) { return y; }'
                   '__attribute__((visibility("hidden"))) int wf_z;')
        self.check()
        self.check(args=["--require-build"])

    def test_symbols_of_a_versioned_library(self):
        self.write({"weft.map": "WEFT_0.1 { global: weft_*; local: *; };\n"})
        script = os.path.join(self.root, "weft.map")
        self.build("int weft_x; int wf_y;",
                   flags=["-Wl,--version-script=" + script])
        self.check()

    def test_symbols_of_a_sanitizer(self):
        self.build('__asm__(".globl __odr_asan.weft_x\\n__odr_asan.weft_x:");')
        self.check()

    def test_symbols_unreadable(self):
        self.write({"build/release/libweft.a": "!<arch>\nno\n"})
        self.check("build/release:1: room-symbols: holds libweft.a but no ",
                   "build/release/libweft.a:1: symbols: nm cannot read")

    def test_symbols_exported(self):
        self.build("int weft_x; int wf_y;")
        self.check("build/release/libweft.so.0.1:1: symbols: wf_y ")

    def test_symbols_global(self):
        self.build('__attribute__((visibility("hidden"))) int y;')
        self.check("build/release/libweft.a:1: symbols: y of pick.c.o ")

    def test_symbols_in_a_named_build(self):
        self.build("int y;", "elsewhere")
        build = os.path.join(self.root, "elsewhere")
        self.check("elsewhere/libweft.a:1: symbols: y of pick.c.o ",
                   "elsewhere/libweft.so.0.1:1: symbols: y ",
                   args=["--build", build])

    def test_symbols_without_a_build(self):
        status, lines = self.lint()
        self.assertEqual(lines[-2], NOTE)
        self.assertEqual(status, 0)
        self.check("build/release:1: symbols: holds no libweft.a",
                   args=["--require-build"])

    def parts(self, changes, sources, *wanted):
        """The good tree with changes, and a build of sources."""
        self.write(changes)
        self.build({path: '#pragma GCC visibility push(hidden)\n' + text
                    for path, text in sources.items()})
        self.check(*wanted)
        self.write({path: GOOD.get(path) for path in changes})
        shutil.rmtree(os.path.join(self.root, "build"))

    def test_room_symbols(self):
        pick, dump = "src/sched/pick.c", "src/obs/dump.c"
        runq, vm = "src/queue/runq.c", "src/os/linux/vm.c"
        uses = {**GOOD, pick: GOOD[pick] + "\nint wf_of_dump(void);\n"}
        line = uses[pick].count("\n")
        use = "int wf_of_dump(void); int wf_x(void) { return wf_of_dump(); }"
        define = "int wf_of_dump(void) { return 1; }"
        told = "room-symbols: wf_of_dump is of obs/dump.c, and sched/ "
        self.parts({pick: uses[pick]}, {pick: use, dump: define},
                   f"{pick}:{line}: {told}")
        # Through an inline function of another file.
        self.parts({}, {pick: use, dump: define}, f"{pick}:1: {told}")
        # A public function, a variable, and an address are symbols too.
        for code, name in (
                ("int weft_y(void); int wf_x(void) { return weft_y(); }",
                 "weft_y"),
                ("extern int wf_y; int wf_x(void) { return wf_y; }", "wf_y"),
                ("int wf_y(void); int (*wf_x)(void) = wf_y;", "wf_y")):
            with self.subTest(code=code):
                kind = "int weft_y(void) { return 1; }" if "weft" in name \
                    else "int wf_y = 1;"
                self.parts({}, {pick: code, dump: kind},
                           f"{pick}:1: room-symbols: {name} is of ")
        # A later room may need an earlier one.
        self.parts({}, {pick: "int wf_z;", dump: use, runq: define})
        self.parts({}, {pick: use, runq: define})
        # queue/ and timer/ build alone.
        self.parts({}, {runq: use, "src/timer/wheel.c": define},
                   f"{runq}:1: room-symbols: wf_of_dump is of timer/wheel.c")
        self.parts({}, {"src/timer/wheel.c": use, runq: define},
                   "src/timer/wheel.c:1: room-symbols: wf_of_dump is of queue")
        self.parts({}, {runq: use, vm: define})

    def test_room_symbols_of_a_contract(self):
        pick, dump = "src/sched/pick.c", "src/obs/dump.c"
        runq, header = "src/queue/runq.c", "src/sched/dump.h"
        use = "int wf_of_dump(void); int wf_x(void) { return wf_of_dump(); }"
        define = "int wf_of_dump(void)\n{\n\treturn 1;\n}\n"
        plain = h(header, "int wf_of_dump(void);")
        marked = h(header, "int wf_of_dump(void);",
                   "asks for more\n *\n * Contract: implemented in obs/.")
        text = {dump: GOOD[dump] + define}
        self.parts({**text, header: marked}, {pick: use, dump: define})
        self.parts({**text, header: plain}, {pick: use, dump: define},
                   f"{pick}:1: room-symbols: wf_of_dump is of obs/dump.c")
        # The contract of a later room is not for an earlier one.
        self.parts({**text, header: marked}, {runq: use, dump: define},
                   f"{runq}:1: room-symbols: wf_of_dump is of sched/dump.h")

    def test_cycles_by_symbol(self):
        paths = ["src/queue/runq.c", "src/os/linux/vm.c", "src/obs/dump.c",
                 "src/sched/pick.c"]

        def circle(n):
            """The first n files: each calls the next, the last the first."""
            return {path: f"int wf_{i}(void); int wf_{(i + 1) % n}(void);"
                    f"int wf_{i}(void) {{ return wf_{(i + 1) % n}(); }}"
                    for i, path in enumerate(paths[:n])}

        def cycles(sources, changes):
            """The modules in a circle, as lint tells of them."""
            self.write(changes)
            self.build({path: "int wf_nowhere(void); int (*wf_fn)(void) "
                        f"__attribute__((weak)) = wf_nowhere; {text}"
                        for path, text in sources.items()})
            _, lines = self.lint()
            self.write({path: GOOD.get(path) for path in changes})
            shutil.rmtree(os.path.join(self.root, "build"))
            return [line.partition(": cycles: ")[2] for line in lines
                    if ": cycles: " in line]
        told = ["4 modules call each other in a circle, more than 3; cut it: "
                "obs/dump os/linux/vm queue/runq sched/pick"]
        self.assertEqual(cycles(circle(3), {}), [])
        self.assertEqual(cycles(circle(4), {}), told)
        # A call through a contract header leads to the header and ends there.
        header = "src/sched/runq.h"
        for name, wanted in (("wf_0", []), ("wf_x", told)):
            text = h(header, f"int {name}(void);", "asks for more\n *\n"
                     " * Contract: implemented in obs/.")
            self.assertEqual(cycles(circle(4), {header: text}), wanted)

    def test_room_symbols_needs_objects(self):
        told = "build/release:1: room-symbols: holds libweft.a but no object "
        self.build("int weft_x;")
        self.check()
        name = "build/release/src/CMakeFiles/weft_core.dir/sched/pick.c.o"
        self.write({name: "no object\n"})
        self.check(told)
        self.write({name: None})
        self.check(told)

    def test_room_symbols_of_a_file_that_is_gone(self):
        self.parts({}, {"src/sched/gone.c": "int wf_y(void); int wf_x(void) "
                        "{ return wf_y(); }", "src/obs/dump.c":
                        "int wf_y(void) { return 1; }"})


if __name__ == "__main__":
    unittest.main()
