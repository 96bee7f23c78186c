# SPDX-License-Identifier: MIT
"""
mutation/simulator.py - a changed library in the simulator.

Builder links the library with the scenarios, Arena runs them.
"""

import collections
import concurrent.futures
import glob
import hashlib
import os
import platform
import re
import shlex
import shutil
import subprocess
import threading

from mutation import process
from mutation.source import Trouble, read


TASTE = 500                 # schedules of each scenario, unchanged

# Which scenarios are most likely to notice a change in a file: by how the path
# begins, the longest first.  All the others come behind them, for a tenth of
# the schedules.
RELEVANT = {
    "src/": [],
    "src/chan/": ["chan/", "select/"],
    "src/chan/select": ["select/", "chan/linear-select"],
    "src/exec/": ["strand/", "pooled/", "manual/", "foreign/"],
    "src/exec/foreign": ["foreign/", "strand/"],
    "src/exec/foreign_pool": ["foreign-pool/", "foreign/", "timer/"],
    "src/exec/lab": ["lab/"],
    "src/exec/manual": ["manual/"],
    "src/exec/notice": ["call/", "strand/destroy", "pooled/"],
    "src/exec/pool": ["pooled/"],
    "src/exec/strand": ["strand/", "call/"],
    "src/exec/submit": ["strand/", "pooled/", "foreign/"],
    "src/fiber/fiber": ["word/", "wait/", "suspend/", "join/", "inspect/"],
    "src/fiber/slab": ["pool/", "life/"],
    "src/idle/gate": ["gate/", "work/"],
    "src/idle/groups": ["groups/", "work/", "idle/groups"],
    "src/idle/monitor": ["monitor/", "work/", "rt/"],
    "src/idle/park": ["idle/", "park/", "wake/", "rt/"],
    "src/idle/search": ["steal/", "slot/", "work/", "groups/", "wake/"],
    "src/idle/serve": ["timer/", "work/"],
    "src/idle/wait_idle": ["idle/"],
    "src/idle/wake": ["policy/rest", "park/", "wake/", "rt/", "policy/",
                      "idle/"],
    "src/life/cancel": ["wait/", "scope/", "chan/cancel"],
    "src/life/finish": ["join/", "life/", "inspect/", "foreign/", "key/",
                        "scope/"],
    "src/life/inspect": ["inspect/"],
    "src/life/join": ["join/", "life/", "foreign/"],
    "src/life/key": ["key/"],
    "src/life/scope": ["scope/"],
    "src/life/spawn": ["join/", "word/"],
    "src/os/cond": ["cond/", "pooled/"],
    "src/os/lock": ["lock/", "inject/"],
    "src/os/spin": ["spin/", "sem/", "group/"],
    "src/queue/": ["inject/", "policy/", "ring/"],
    "src/queue/bounded": ["bounded/", "policy/", "idle/"],
    "src/queue/inbox": ["inbox/", "lockfree/", "idle/"],
    "src/queue/inject": ["inject/", "policy/", "idle/"],
    "src/queue/runq": ["ring/"],
    "src/queue/runq_locked": ["locked-ring/", "policy/"],
    "src/rt/assemble": ["rt/", "groups/"],
    "src/rt/runtime": ["pick/", "rt/", "life/"],
    "src/sched/": ["rt/", "work/", "policy/", "steal/"],
    "src/sched/finish": ["join/", "life/", "rt/"],
    "src/sched/global": ["policy/", "idle/", "lockfree/"],
    "src/sched/handshake": ["handshake/", "slot/", "steal/", "yield/"],
    "src/sched/pick": ["slot/", "handshake/"],
    "src/sched/run": ["inspect/", "suspend/"],
    "src/sched/runtime": ["rt/", "pick/", "life/"],
    "src/sched/steal": ["slot/", "handshake/", "steal/"],
    "src/sched/submit": ["slot/", "rt/"],
    "src/sched/turn": ["pick/", "work/", "policy/"],
    "src/sched/yielders": ["yield/", "handshake/"],
    "src/stack/": ["pool/", "life/"],
    "src/sync/amutex": ["amutex/"],
    "src/sync/barrier": ["barrier/"],
    "src/sync/cond": ["cond/"],
    "src/sync/event": ["event/"],
    "src/sync/group": ["group/"],
    "src/sync/mutex": ["mutex/", "rwlock/", "once/"],
    "src/sync/once": ["once/"],
    "src/sync/rwlock": ["rwlock/"],
    "src/sync/sem": ["sem/"],
    "src/timer/": ["timer/"],
    "src/wait/sleep": ["timer/"],
    "src/wait/timers": ["timer/"],
    "src/wait/wait": ["wait/", "life/late", "group/"],
    "src/wait/wait_inline": ["wait/", "select/", "chan/cancel", "life/late"],
}
OTHERS = 10     # the part of its schedules that a scenario not named there has

# Who notices mutants that all the others would be tried on for long: by how
# the mutant's name begins.
KNOWN = {
    "src/os/spin.h: wf_spin_try:": "chan/one",
    "src/queue/bounded.h: wf_bounded_len:": "idle/inside-bounded",
    "src/queue/inbox.h: wf_inbox_is_empty: wf_load_acq(&inbox->out)":
        "idle/taken-other-group-lock-free",
    "src/queue/inject.c: wf_inject_push: wf_store_rel": "policy/overflow",
    "src/queue/inject.h: wf_inject_has_any:": "policy/overflow",
    "src/idle/park.c: set_bit: (void)wf_add_rel": "idle/last-left",
    "src/idle/wait_idle.c: parkings:": "idle/last-push",
    "src/idle/wake.c: wf_wake_next: wf_fence_seq": "policy/rest-go",
}


class Builder:
    """
    Builds weft-scenarios in a cache folder: once as it is, then with one file
    in place of another.  An object is made again if its command or anything it
    was made from has changed.
    """

    COMMON = ["-std=gnu11", "-D_GNU_SOURCE", "-DWEFT_SIM=1", "-g", "-w",
              "-MMD"]
    WATCHED = ["-O1", "-fsanitize=thread"]      # made again and again
    PLAIN = ["-O2"]                             # made once
    LINK = ["-pthread", "-ldl", "-Wl,-z,now"]

    def __init__(self, root, cache):
        self.root = os.path.abspath(root)
        self.cache = os.path.abspath(cache)
        self.cc = shlex.split(os.environ.get("CC", "cc"))
        machine = platform.machine()
        self.arch = {"arm64": "aarch64"}.get(machine, machine)
        if not os.path.isdir(os.path.join(self.root, "src/arch", self.arch)):
            raise Trouble(f"src/arch/{self.arch}: there is no such folder")
        self.hashes = {}
        self.lock = threading.Lock()

    def glob(self, pattern):
        return sorted(glob.glob(pattern, root_dir=self.root))

    def sources(self):
        """{path: whether its memory accesses are watched}"""
        found = {path: True for path in self.glob("src/*/*.c")
                 + self.glob("tests/sim/*_scenarios.c")
                 + self.glob("tests/sim/*_kit.c")}
        found.pop("src/base/assert.c", None)    # the simulator has its own
        for pattern in ("src/arch/*.c", f"src/arch/{self.arch}/*.[cS]",
                        "src/sim/*.c", "tests/sim/driver*.c"):
            found.update({path: False for path in self.glob(pattern)})
        return found

    def command(self, source, watched, out, overlay=None):
        """source is a path under root, or under overlay if it is there."""
        includes = ["include", "src", f"src/arch/{self.arch}", "tests", "."]
        includes = [os.path.join(self.root, path) for path in includes]
        path = os.path.join(self.root, source)
        if overlay:
            includes.insert(0, overlay)
            changed = os.path.join(overlay, source[len("src/"):])
            if source.startswith("src/") and os.path.exists(changed):
                path = changed
        return (self.cc + self.COMMON
                + (self.WATCHED if watched else self.PLAIN)
                + ["-I" + i for i in includes] + ["-c", path, "-o", out])

    def run(self, command, what):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise Trouble(f"{what} does not build:\n{done.stderr.strip()}")

    def made_from(self, out):
        """The files that an object was made from."""
        text = read(out[:-1] + "d").replace("\\\n", " ")
        return text.split(":", 1)[1].split()

    def hash(self, path):
        with self.lock:
            if path not in self.hashes:
                with open(path, "rb") as stream:
                    self.hashes[path] = hashlib.sha256(
                        stream.read()).hexdigest()
            return self.hashes[path]

    def key(self, command, out):
        parts = [" ".join(command)]
        parts += [p + self.hash(p) for p in self.made_from(out)]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()

    def is_current(self, command, out):
        try:
            with open(out + ".key", encoding="utf-8") as stream:
                return (os.path.exists(out)
                        and stream.read() == self.key(command, out))
        except (OSError, Trouble):
            return False

    def compile(self, source, watched):
        """The unchanged object of source, made if it is not there."""
        out = os.path.join(self.cache, "objects", source + ".o")
        command = self.command(source, watched, out)
        if not self.is_current(command, out):
            os.makedirs(os.path.dirname(out), exist_ok=True)
            self.run(command, source)
            with open(out + ".key", "w", encoding="utf-8") as stream:
                stream.write(self.key(command, out))
        return out

    def link(self, objects, out, what):
        self.run(self.cc + ["-o", out] + objects + self.LINK, what)
        return out

    def build(self, jobs):
        """The unchanged program."""
        sources = self.sources()
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            outs = list(pool.map(self.compile, sources, sources.values()))
        self.objects = dict(zip(sources, outs))
        self.uses = {s: set(self.made_from(o))
                     for s, o in self.objects.items()}
        program = os.path.join(self.cache, "weft-scenarios")
        return self.link(list(outs), program, "weft-scenarios")

    def fingerprint(self):
        """Of everything the program is made of."""
        files = sorted(set().union(*self.uses.values()))
        parts = [os.path.relpath(p, self.root) + self.hash(p) for p in files]
        parts += self.cc + self.COMMON + self.WATCHED + self.PLAIN
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]

    def build_changed(self, path, text, folder, what):
        """The program with text in place of path, in a folder of its own."""
        overlay = os.path.join(folder, "src")
        shutil.rmtree(folder, ignore_errors=True)
        changed = os.path.join(overlay, path[len("src/"):])
        os.makedirs(os.path.dirname(changed))
        with open(changed, "w", encoding="utf-8") as stream:
            stream.write(text)
        original = os.path.join(self.root, path)
        objects, again = dict(self.objects), 0
        for source, watched in self.sources().items():
            if source != path and original not in self.uses[source]:
                continue
            out = os.path.join(folder, "objects", source + ".o")
            os.makedirs(os.path.dirname(out), exist_ok=True)
            self.run(self.command(source, watched, out, overlay), what)
            if original in self.made_from(out):
                raise Trouble(f"{source} includes {path} by another way than "
                              "relative to src/; it cannot be changed there")
            objects[source] = out
            again += 1
        if again == 0:
            raise Trouble(f"{path} is used by nothing that is linked")
        program = os.path.join(folder, "weft-scenarios")
        return self.link(list(objects.values()), program, what)


Result = collections.namedtuple(
    "Result", "status scenario oracle schedules token")
SURVIVED = Result("survived", "-", "-", "0", "-")


class Crash(Trouble):
    """weft-scenarios itself crashed or hung.  why: in a word."""

    def __init__(self, message, why):
        super().__init__(message)
        self.why = why


def explored(lines):
    """How many schedules the last line of weft-scenarios tells of."""
    m = re.search(r"^sim: (\d+) schedules", "\n".join(lines), re.M)
    return int(m.group(1)) if m else 0


class Arena:
    """Where a program has to show whether it fails."""

    def __init__(self, args, scenarios):
        self.args = args
        self.scenarios = scenarios

    def relevant(self, path):
        """The scenarios most likely to fail if path is changed."""
        start = max((s for s in RELEVANT if path.startswith(s)), key=len)
        found = []
        for prefix in RELEVANT[start]:
            found += [s for s in self.scenarios
                      if s.startswith(prefix) and s not in found]
        return found

    def run(self, command):
        clean = {k: v for k, v in os.environ.items()
                 if not k.startswith("WEFT_SIM_")}
        return process.run(command, 2 * self.args.budget + 60, clean)

    def explore(self, program, scenarios, each, what, jobs=1):
        command = [program, "--expect-failure", "--seed", str(self.args.seed),
                   "--each", str(each), "--budget", str(self.args.budget),
                   "--jobs", str(jobs)]
        done = self.run(command + scenarios)
        lines = done.out.split("\n")
        failure = [line for line in lines if line.startswith("failure\t")]
        if done.status == 0 and not failure:
            return SURVIVED._replace(schedules=str(explored(lines)))
        if done.status != 1 or len(failure) != 1:
            raise Crash(f"{what}: weft-scenarios ended with {done.why()}:\n"
                        f"{done.err.strip()}", done.why())
        _, scenario, oracle, _, schedules, token = failure[0].split("\t")[:6]
        return Result("killed", scenario, oracle, schedules, token or "-")

    def fight(self, program, path, what, each):
        """Let it fail; the scenarios that are about path come first."""
        known = [s for name, s in KNOWN.items() if what.startswith(name)]
        first = [s for s in self.relevant(path) if s not in known]
        others = [s for s in self.scenarios if s not in known + first]
        spent, wanted = 0, 0
        for scenarios, n in ((known, each), (first, each),
                             (others, each // OTHERS or 1)):
            if not scenarios:
                continue
            result = self.explore(program, scenarios, n, what)
            spent += int(result.schedules)
            wanted += n * len(scenarios)
            if result.status == "killed":
                break
        if result.status != "killed" and spent < wanted:
            raise Trouble(f"{what}: only {spent} of {wanted} schedules; give "
                          "it a larger --budget")
        return result._replace(schedules=str(spent))

    def acquit(self, program, result, what):
        """
        The same schedule must pass in the unchanged program: what fails there
        too is no merit of the change.
        """
        if result.status != "killed" or result.token == "-":
            return
        done = self.run([program, "--replay", result.token])
        if done.status != 0:
            raise Trouble(f"{what}: killed, but the unchanged library fails "
                          f"there too: {result.scenario}: {result.oracle}: "
                          f"{result.token}")


def list_scenarios(program):
    out = subprocess.run([program, "--list"], capture_output=True, text=True)
    names = out.stdout.split()
    if out.returncode != 0 or not names:
        raise Trouble(f"{program} --list does not work: {out.stderr.strip()}")
    for prefix in sum(RELEVANT.values(), list(KNOWN.values())):
        if not any(name.startswith(prefix) for name in names):
            raise Trouble(f"no scenario begins with {prefix}; correct "
                          "RELEVANT or KNOWN in tools/mutation/simulator.py")
    return names


def sound(arena, program):
    """
    A kill says nothing if the library fails as it is.  A taste of it, since
    each kill is tried on it again.
    """
    result = arena.explore(program, arena.scenarios,
                           min(arena.args.each, TASTE), "the unchanged library",
                           min(arena.args.jobs, 64))
    if result.status == "killed":
        raise Trouble("the unchanged library fails, so nothing can be said of "
                      f"others: {result.scenario}: {result.oracle}: "
                      f"{result.token}")
