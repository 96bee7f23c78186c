# SPDX-License-Identifier: MIT
"""
mutation/trial.py - one mutant of the logic, before the tests and the simulator.

The cheapest come first: the unit tests of its module, those of its room, and
then the scenarios that are about its file.
"""

import os
import sys
import threading
import time

from mutation.simulator import (SURVIVED, Arena, Crash, Result, list_scenarios,
                                sound)
from mutation.units import Units, tests_of


class Simulation:
    """The simulator for all trials; the first that needs it builds it."""

    def __init__(self, args, builder):
        self.args = args
        self.builder = builder
        self.arena = None
        self.lock = threading.Lock()

    def ready(self):
        with self.lock:
            if self.arena is None:
                self.program = self.builder.build(self.args.jobs)
                arena = Arena(self.args, list_scenarios(self.program))
                sound(arena, self.program)
                self.arena = arena

    def has(self, path):
        """Whether anything that is simulated is made from it."""
        original = os.path.join(self.builder.root, path)
        return any(original in files for files in self.builder.uses.values())

    def fight(self, mutant, folder):
        self.ready()
        scenarios = self.arena.relevant(mutant.path)
        if not scenarios or not self.has(mutant.path):
            return SURVIVED
        program = self.builder.build_changed(
            mutant.path, mutant.text, folder, mutant.name)
        try:
            result = self.arena.explore(program, scenarios, self.args.each,
                                        mutant.name)
        except Crash as crash:
            return Result("killed", "weft-scenarios", crash.why, "0", "-")
        self.arena.acquit(self.program, result, mutant.name)
        return result


class Trial:
    """Where mutants are tried one after another; one of several."""

    def __init__(self, root, folder, simulation):
        self.folder = os.path.join(folder, "simulator")
        self.units = Units(root, os.path.join(folder, "units"))
        self.simulation = simulation

    def prepare(self, paths):
        """Everything unchanged, for mutants of these files."""
        self.units.prepare()
        names = []
        for path in paths:
            for some in tests_of(path, self.units.tests):
                names += [n for n in some if n not in names]
        self.units.measure(names)

    def judge(self, mutant, listed):
        """One that is listed meets the tests of its module only."""
        not_counted = self.units.put(mutant.path, mutant.text)
        if not_counted:
            return SURVIVED._replace(status=not_counted)
        own, more = tests_of(mutant.path, self.units.tests)
        for names in [own] if listed else [own, more]:
            noticed = self.units.notices(names)
            if noticed:
                return Result("killed", *noticed, "0", "-")
        if listed:
            return SURVIVED
        return self.simulation.fight(mutant, self.folder)


class Progress:
    """How far we are, on standard error, every ten seconds at most."""

    EVERY = 10

    def __init__(self, total):
        self.total = total
        self.done = 0
        self.start = self.said = time.monotonic()
        self.lock = threading.Lock()

    def step(self):
        with self.lock:
            self.done += 1
            now = time.monotonic()
            if now - self.said < self.EVERY:
                return
            self.said = now
            left = (now - self.start) / self.done * (self.total - self.done)
            sys.stderr.write(f"mutate: {self.done} of {self.total}, some "
                             f"{left / 60:.0f} min left\n")
