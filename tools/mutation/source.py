# SPDX-License-Identifier: MIT
"""
mutation/source.py - a source file, and the mutants in it by name.
"""

import collections
import re


TOKEN = re.compile(r"""//(?:\\\n|[^\n])*          # line comment
                     | /\*.*?(?:\*/|\Z)           # block comment
                     | "(?:\\.|[^"\\\n])*"        # string
                     | '(?:\\.|[^'\\\n])*'        # character
                     """, re.S | re.X)


class Trouble(Exception):
    """Something is wrong with the input or the tree, not with a mutant."""


def read(path):
    try:
        with open(path, encoding="utf-8") as stream:
            return stream.read()
    except OSError as error:
        raise Trouble(f"{path}: {error.strerror}") from error


def blank(text):
    """Spaces of the same shape: offsets and line numbers stay true."""
    return re.sub(r"[^\n]", " ", text)



class Source:
    """One file; code is its text with comments and strings blanked."""

    def __init__(self, path, text):
        self.path = path
        self.text = text
        self.code = TOKEN.sub(lambda m: blank(m.group()), text)

    def line(self, offset):
        return self.text.count("\n", 0, offset) + 1

    def function(self, offset):
        """
        The function around offset: kernel style, so its braces stand alone in
        column 0.
        """
        start = self.code.rfind("\n{\n", 0, offset)
        if start < 0 or "\n}" in self.code[start:offset]:
            return "-"
        above = re.split(r"\n(?=[}#]|\s*\n)|;", self.code[:start])[-1]
        names = re.findall(r"(\w+)\s*\((?!\()", above)
        return names[0] if names else "-"

    def statement(self, offset):
        """The line at offset without its comment, white space squeezed."""
        start = self.code.rfind("\n", 0, offset) + 1
        end = (self.code + "\n").index("\n", offset)
        return " ".join(self.code[start:end].split())

    def close(self, at):
        """The offset of the parenthesis that closes the one at `at'."""
        depth = 0
        for m in re.finditer(r"[()]", self.code[at:]):
            depth += 1 if m.group() == "(" else -1
            if depth == 0:
                return at + m.start()
        raise Trouble(f"{self.path}:{self.line(at)}: a parenthesis is open")


# name tells it from all others and survives changes elsewhere in the file.
Mutant = collections.namedtuple("Mutant", "name path line change text")


def name_mutants(source, found):
    """The mutants of source, given (offset, what changed, new text) of each."""
    seen = collections.Counter()
    for offset, change, text in found:
        name = (f"{source.path}: {source.function(offset)}: "
                f"{source.statement(offset)} [{change}]")
        seen[name] += 1
        if seen[name] > 1:
            name += f" #{seen[name]}"
        yield Mutant(name, source.path, source.line(offset), change, text)
