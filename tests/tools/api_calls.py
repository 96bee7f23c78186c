#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/tools/api_calls.py - the public functions, as their headers tell them.

usage: api_calls.py [--root DIR] [--out FILE]

Writes a C table, sorted by name, of every function that include/weft declares:

    { "weft_join", returns_int, may_switch, in_sim, { EAGAIN, ECANCELED, 0 } },

errors are those that the comment above the prototype names, as -ECANCELED, in
the paragraph that begins with "Returns" (anywhere, if there is none), and those
of functions that it refers to ("Returns the result of weft_run", "Returns 0 or
an error of weft_submit").  may_switch is what its Context line says.  in_sim: it is weft-sim
that has it.

So a test that has a row for each entry notices a function that is new, and one
that compares what a call returns with the errors notices a header that does
not tell all.
"""
import argparse
import importlib.machinery
import importlib.util
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]

ERROR = re.compile(r"-(E[A-Z0-9]+)\b")
# Phrases by which a comment has the errors of another function.
REFERENCE = re.compile(
    r"(?:the result of|the error of|an error of) (weft_\w+)")
PROTOTYPE = re.compile(
    r"(?:WEFT_API|WEFT_MUST_CHECK|static inline)\s+"
    r"(?:(?:WEFT_API|WEFT_MUST_CHECK|static|inline)\s+)*"
    r"((?:const\s+)?(?:struct\s+)?\w+)\s+(\**)(weft_\w+)\s*\(")


class Trouble(Exception):
    pass


def load_man(root):
    """tools/man, which knows what a declaration with its comment is."""
    path = str(root / "tools" / "man")
    loader = importlib.machinery.SourceFileLoader("weft_man", path)
    spec = importlib.util.spec_from_loader("weft_man", loader)
    module = importlib.util.module_from_spec(spec)
    sys.dont_write_bytecode = True
    loader.exec_module(module)
    return module


def told_results(comment):
    """The paragraph about results, or all."""
    paragraphs = re.split(r"\n\n+", "\n".join(comment))
    told = [p for p in paragraphs if re.match(r"Returns?\b", p)]
    return " ".join(told or paragraphs)


class Call:
    def __init__(self, name, comment, returns_int, in_sim):
        text = " ".join(comment)
        self.name = name
        self.returns_int = returns_int
        self.in_sim = in_sim
        self.may_switch = bool(
            re.search(r"Context:[^.]*\(may switch\)|Context:.*?\bMay switch",
                      text))
        self.errors = set(ERROR.findall(told_results(comment)))
        self.references = REFERENCE.findall(text)


def read_header(man, path):
    calls = []
    text = path.read_text()
    for comment, code in man.blocks(text, path.name):
        for kind, stars, name in PROTOTYPE.findall(code):
            calls.append(Call(name, comment, kind == "int" and not stars,
                              path.name == "sim.h"))
    return calls


def read_all(root):
    man = load_man(root)
    calls = {}
    for path in sorted((root / "include" / "weft").glob("*.h")):
        if path.stem in man.WITHOUT_PAGE:
            continue
        for call in read_header(man, path):
            calls[call.name] = call
    for call in calls.values():
        follow(calls, call, set())
    return [calls[name] for name in sorted(calls)]


def follow(calls, call, seen):
    """Add the errors of those it refers to, and of those they refer to."""
    seen.add(call.name)
    for name in call.references:
        if name not in calls:
            raise Trouble(f"{call.name} refers to {name}, which is nowhere")
        if name not in seen:
            follow(calls, calls[name], seen)
        call.errors |= calls[name].errors


def flag(value):
    return "true" if value else "false"


def line_of(call):
    errors = "".join(f"{e}, " for e in sorted(call.errors))
    return (f'\t{{ "{call.name}", {flag(call.returns_int)}, '
            f"{flag(call.may_switch)}, {flag(call.in_sim)}, "
            f"{{ {errors}0 }} }},\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", type=pathlib.Path, default=ROOT)
    parser.add_argument("--out", type=pathlib.Path)
    args = parser.parse_args()
    try:
        text = "".join(line_of(call) for call in read_all(args.root))
    except Trouble as trouble:
        print(f"api_calls: {trouble}", file=sys.stderr)
        return 1
    if args.out:
        args.out.write_text(text)
    else:
        sys.stdout.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
