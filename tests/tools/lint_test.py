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
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.realpath(__file__))
LINT = os.path.join(HERE, "..", "..", "tools", "lint")
NOTE = "lint: note: symbols not checked, no build (run make lint)"
SPDX = "SPDX-License-Identifier: MIT"


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


def h(path, body):
    """A header with its include guard."""
    own = re.sub(r"^(src|include)/", "", path)
    guard = re.sub(r"\W", "_", own).upper()
    if path.startswith("src/"):
        guard = "WF_" + guard
    return c(path, f"#ifndef {guard}\n#define {guard}\n\n{body}\n#endif\n")


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
	 * [pair: runq.consume] Whoever moved head had seen tail.
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
    "src/os/os.h": h("src/os/os.h", "void *wf_os_map(size_t bytes);\n"),
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
    "src/CMakeLists.txt": f"# {SPDX}\n# atomic_load(x)\n",
    "docs/DESIGN.md": "# Design\n",
    "docs/empty": "",
}
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
            NOTE, f"lint: clean, {len(GOOD)} files, 14 rules"])
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
        self.assertEqual(
            [line.split(":")[0] for line in lines],
            "rooms raw-atomics pairs if-rooms header-line reads-next symbols "
            "context must-check size mirror names text syscalls".split())
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
                ("src/queue/runq.c", '"sched/pick.h"'),     # not above
                ("src/queue/runq.c", '"stack/arena.h"'),    # builds alone
                ("src/timer/wheel.c", '"os/os.h"'),         # builds alone
                ("src/sched/pick.c", '"sync/mutex.h"'),     # not above
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
                           ("cli/main.c", '"sched/run.h"'),
                           ("cli/main.c", '"other.h"'),
                           ("cli/main.c", '"foo/bar.h"'),
                           ("src/sched/pick.c", '"fiber/fiber.h"'),
                           ("src/sim/hooks.c", '"queue/runq_inline.h"'),
                           ("src/os/linux/vm.c", '"arch/context.h"')):
            with self.subTest(path=path, include=what):
                self.include(path, what)
        self.append("src/queue/runq.c", '/*\n#include "sim/x.h"\n*/\n')

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
        path = "src/queue/runq_inline.h"      # runq.c has a test
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


class Symbols(LintCase):
    """These compile: a fault in a library shows only in a library."""

    def build(self, source, folder="build/release", flags=()):
        out = os.path.join(self.root, folder)
        os.makedirs(out)

        def run(*command):
            subprocess.run(command, cwd=out, check=True, input=source,
                           text=True)
        run("gcc", "-fPIC", "-x", "c", "-c", "-", "-o", "x.o")
        run("ar", "rc", "libweft.a", "x.o")
        run("gcc", "-shared", "-o", "libweft.so.0.1", "x.o", *flags)
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
        self.check("build/release/libweft.a:1: symbols: nm cannot read")

    def test_symbols_exported(self):
        self.build("int weft_x; int wf_y;")
        self.check("build/release/libweft.so.0.1:1: symbols: wf_y ")

    def test_symbols_global(self):
        self.build('__attribute__((visibility("hidden"))) int y;')
        self.check("build/release/libweft.a:1: symbols: y of x.o ")

    def test_symbols_in_a_named_build(self):
        self.build("int y;", "elsewhere")
        build = os.path.join(self.root, "elsewhere")
        self.check("elsewhere/libweft.a:1: symbols: y of x.o ",
                   "elsewhere/libweft.so.0.1:1: symbols: y ",
                   args=["--build", build])

    def test_symbols_without_a_build(self):
        status, lines = self.lint()
        self.assertEqual(lines[-2], NOTE)
        self.assertEqual(status, 0)
        self.check("build/release:1: symbols: holds no libweft.a",
                   args=["--require-build"])


if __name__ == "__main__":
    unittest.main()
