# SPDX-License-Identifier: MIT
"""
mutation/units.py - the unit tests with a changed library.

Units keeps a copy of the tree with a build of its own.  A mutant is written into
the copy, and ninja makes what depends on it; so headers, wrapped symbols and
plug-ins of tests are right without a rule here.
"""

import collections
import filecmp
import glob
import hashlib
import json
import os
import re
import shutil

from mutation import process
from mutation.source import Trouble

NOT_COPIED = {".git", "build", "__pycache__"}
OPTIONS = ["-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_C_FLAGS_RELEASE=-O2",
           "-DWEFT_TESTS=ON", "-DWEFT_WERROR=OFF", "-DWEFT_SIM=OFF",
           "-DWEFT_TSAN=OFF", "-DWEFT_MIMALLOC=OFF"]
LIBRARY = "weft_static"
SKIPPED = 77                # the exit status of a test that cannot run here
BUILD_SECONDS = 600
# A test may take so much longer than it takes with the unchanged library.
LIMIT_SECONDS, LIMIT_TIMES = 8, 8

Test = collections.namedtuple("Test", "target env")


def files_of(root):
    """The paths of all files of a tree."""
    found = set()
    for folder, inside, names in os.walk(root):
        inside[:] = [n for n in inside
                     if n not in NOT_COPIED and not n.startswith("build-")]
        found.update(os.path.relpath(os.path.join(folder, n), root)
                     for n in names)
    return found


def tests_of(path, tests):
    """
    The tests of a source file: those of its module, by the mirror rule of
    tests/, and then those of its room and of the API with the module's name.
    """
    room = path.split("/")[1]
    stem = os.path.splitext(os.path.basename(path))[0]
    mirrored = {f"{room}/{stem}", f"{room}/" + re.sub("_(priv|inline)$", "",
                                                      stem)}
    named = re.compile(rf"api/(\w+_)?{re.escape(stem)}(_\w+)?(@\w+)?")
    own = [t for t in tests if t in mirrored]
    return own, [t for t in tests if t not in own and
                 (t.startswith(room + "/") or named.fullmatch(t))]


class Units:
    def __init__(self, root, folder):
        self.root = root
        self.copy = os.path.join(folder, "tree")
        self.build_folder = os.path.join(folder, "build")
        self.changed = None         # the file that is not as in the tree
        self.seconds = {}           # what each test takes, unchanged
        self.useless = set()        # tests that cannot run here

    def run(self, command):
        return process.run(command, BUILD_SECONDS)

    def must(self, command):
        done = self.run(command)
        if done.stopped or done.status != 0:
            raise Trouble(f"{' '.join(command)}: {done.why()}:\n"
                          f"{(done.out + done.err).strip()[-2000:]}")
        return done.out

    def sync(self):
        """Make the copy like the tree; what is alike keeps its time."""
        wanted = files_of(self.root)
        for path in files_of(self.copy) - wanted:
            os.unlink(os.path.join(self.copy, path))
        for path in wanted:
            old = os.path.join(self.root, path)
            new = os.path.join(self.copy, path)
            if not os.path.exists(old):     # a link to nowhere
                continue
            if not os.path.exists(new) or not filecmp.cmp(old, new, False):
                os.makedirs(os.path.dirname(new), exist_ok=True)
                shutil.copyfile(old, new)
                shutil.copymode(old, new)

    def ninja(self, *targets):
        return ["ninja", "-C", self.build_folder, "-j", "1", *targets]

    def prepare(self):
        """The unchanged library, and what there is to know of the tests."""
        self.sync()
        if not os.path.exists(os.path.join(self.build_folder, "build.ninja")):
            self.must(["cmake", "-G", "Ninja", "-S", self.copy, "-B",
                       self.build_folder, *OPTIONS])
        self.must(self.ninja(LIBRARY))
        self.original = self.objects()
        self.tests = self.find_tests()
        if not self.tests:
            raise Trouble("no test is built by the rule of "
                          "tests/CMakeLists.txt")

    def find_tests(self):
        """{name: test} of those that are programs of tests/."""
        listed = json.loads(self.must(["ctest", "--test-dir",
                                       self.build_folder,
                                       "--show-only=json-v1"]))
        targets = self.must(self.ninja("-t", "targets", "all"))
        found = {}
        for test in listed["tests"]:
            name = test["name"]
            target = f"tests/{name.replace('/', '_')}_test"
            if f"\n{target}:" not in targets:
                continue
            env = {}
            for of in test["properties"]:
                if of["name"] == "ENVIRONMENT":
                    env = dict(pair.split("=", 1) for pair in of["value"])
            found[name] = Test(target, env)
        return found

    def objects(self):
        """{object of the library: the hash of its code}"""
        found = {}
        for path in glob.glob(os.path.join(self.build_folder, "src", "**",
                                           "*.o"), recursive=True):
            with open(path, "rb") as stream:
                found[path] = hashlib.sha256(stream.read()).digest()
        return found

    def write(self, path, text):
        with open(os.path.join(self.copy, path), "w",
                  encoding="utf-8") as stream:
            stream.write(text)

    def restore(self):
        if self.changed:
            shutil.copyfile(os.path.join(self.root, self.changed),
                            os.path.join(self.copy, self.changed))
            self.changed = None

    def put(self, path, text):
        """
        Change one file.  "same": the library's code is as it was; "broken": it
        does not compile; None: it is a mutant.
        """
        if self.changed != path:
            self.restore()
        self.changed = path
        self.write(path, text)
        if self.run(self.ninja(LIBRARY)).status != 0:
            return "broken"
        return "same" if self.objects() == self.original else None

    def build(self, names):
        """Whether these tests build."""
        targets = sorted(self.tests[n].target for n in names)
        return not targets or self.run(self.ninja(*targets)).status == 0

    def run_test(self, name, seconds):
        test = self.tests[name]
        program = os.path.join(self.build_folder, test.target)
        env = {k: v for k, v in os.environ.items()
               if not k.startswith("WEFT_")}
        return process.run([program], seconds, {**env, **test.env},
                           os.path.dirname(program))

    def measure(self, names):
        """Run the tests, unchanged, each of which must pass."""
        self.restore()
        if not self.build(names):
            raise Trouble("the unchanged tests do not build: "
                          + " ".join(names))
        for name in names:
            for _ in range(3):
                start = os.times().elapsed
                done = self.run_test(name, 120)
                self.seconds[name] = os.times().elapsed - start
                if done.status in (0, SKIPPED):
                    break
            else:
                raise Trouble(f"{name} fails with the unchanged library: "
                              f"{done.why()}:\n{done.err.strip()[-2000:]}")
            if done.status == SKIPPED:
                self.useless.add(name)

    def fails(self, name):
        """
        How the test fails, or None.  A failure must come twice in three runs:
        a busy machine can make a test fail once.  A crash or a hang counts at
        once.
        """
        limit = LIMIT_SECONDS + LIMIT_TIMES * self.seconds[name]
        failures = 0
        for _ in range(3):
            done = self.run_test(name, limit)
            if done.stopped or done.status < 0:
                return done.why()
            failures += done.status not in (0, SKIPPED)
            if failures == 2:
                return done.why()
            if failures == 0:
                return None
        return None

    def notices(self, names):
        """(test, how it fails) of the first of these that fails, or None."""
        names = [n for n in names if n not in self.useless]
        for name in sorted(names, key=self.seconds.get):
            if not self.build([name]):
                return name, "does not build"
            why = self.fails(name)
            if why:
                return name, why
        return None
