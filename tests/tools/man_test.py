#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""man_test.py - every public function has a manual page, and they are sound."""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]

HEADER = """/* SPDX-License-Identifier: MIT */
/*
 * weft/probe.h - something to look at.
 *
 * More about it.
 *
 *\tshown(as, it, is);
 */
WEFT_BEGIN_DECLS

/* A value. */
typedef struct weft_probe {
\tint state_;
} weft_probe;

/*
 * Look at p.
 *
 * Returns 0; -EINVAL for p NULL.
 *
 * Context: any.  Never switches.
 * Order:   everything before happens before
 *\t    the return.
 */
WEFT_API WEFT_MUST_CHECK int weft_probe_look(
\tweft_probe *p);

/* Define one. */
#define WEFT_PROBE(type, name) \\
\tstatic type hidden_##name; \\
\tstruct weft_semicolon_

WEFT_END_DECLS
"""


def make(root, out):
    return subprocess.run(
        [sys.executable, ROOT / "tools/man", "--root", root, "--out", out],
        capture_output=True, text=True, check=False)


def sources(pages):
    """Pages that are not just a way to another."""
    return [p for p in sorted(pages.glob("*.3"))
            if not p.read_text().startswith(".so")]


class OfTheHeaders(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.out = pathlib.Path(tempfile.mkdtemp())
        done = make(ROOT, cls.out)
        assert done.returncode == 0, done.stderr

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.out)

    def test_each_function_has_one(self):
        for header in (ROOT / "include/weft").glob("*.h"):
            text = re.sub(r"/\*.*?\*/", "", header.read_text(), flags=re.S)
            for name in re.findall(r"WEFT_API[^;]*?\b(weft_\w+)\(", text):
                page = (self.out / f"{name}.3").read_text()
                if page.startswith(".so man3/"):
                    page = (self.out / page.split("/")[1].strip()).read_text()
                self.assertRegex(page, rf"\.SS .*\b{name}\b", name)

    def test_groff_finds_nothing_wrong(self):
        for page in sources(self.out):
            done = subprocess.run(["groff", "-ww", "-man", "-Tutf8", page],
                                  capture_output=True, text=True, check=True)
            self.assertEqual(done.stderr, "", page.name)


class OfOneHeader(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp())
        include = self.root / "include/weft"
        include.mkdir(parents=True)
        (include / "probe.h").write_text(HEADER)
        shutil.copy(ROOT / "include/weft/version.h", include)
        self.addCleanup(shutil.rmtree, self.root)

    def text(self):
        done = make(self.root, self.root / "out")
        self.assertEqual(done.returncode, 0, done.stderr)
        page = self.root / "out/weft_probe.3"
        shown = subprocess.run(
            ["groff", "-man", "-Tascii", "-P-cbou", page],
            capture_output=True, text=True, check=True).stdout
        return re.sub(r"[ \t]+", " ", shown)

    def test_says_what_the_comments_say(self):
        text = self.text()
        for part in ("weft_probe_look, WEFT_PROBE - something to look at",
                     "More about it.", "shown(as, it, is);",
                     "int weft_probe_look(", "typedef struct weft_probe {",
                     "Returns 0; -EINVAL for p NULL.",
                     "Context\n any. Never switches.",
                     "everything before happens before the return.",
                     "\n WEFT_PROBE(type, name)\n",
                     "\n WEFT_PROBE\n Define one."):
            self.assertIn(part, text)
        for part in ("WEFT_API", "hidden_"):
            self.assertNotIn(part, text)
        page = (self.root / "out/WEFT_PROBE.3").read_text()
        self.assertEqual(page, ".so man3/weft_probe.3\n")

    def test_refuses_a_header_without_a_title(self):
        (self.root / "include/weft/probe.h").write_text("int x;\n")
        done = make(self.root, self.root / "out")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("probe.h", done.stderr)


if __name__ == "__main__":
    unittest.main()
