# SPDX-License-Identifier: MIT
"""
mutation/logic.py - mutants with one mistake in their logic.

A small tokenizer and a parser of statements read the functions of a file, which
are in kernel style: the braces of a function stand alone in column 0.  They
leave out comments, strings, preprocessor lines, whatever stands outside of
functions, inline assembly, and the messages of assertions.  The mistakes:

    negated     the condition of an if without else, while or for
    swapped     the branches of an if with else or of ?:
    == to !=    and back, unless that is the whole condition: see negated
    && to ||    and back
    < to <=     all four comparisons
    0 to 0+1    every integer constant, one up and one down
    dropped     a statement that is a call or an assignment
    return      a constant replaced by another

A mistake that would repeat another one is left out.  No mutant has more or fewer
lines than its source, since assertions know their line.
"""

import glob
import os
import re

from mutation.source import Source, Trouble, blank, name_mutants, read

TOKEN = re.compile(r"""[A-Za-z_]\w*
                     | (?:0[xX][0-9a-fA-F]+|\d+\.?\d*)\w*
                     | <<=|>>=|\.\.\.|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\|
                     | [-+*/%&|^]=
                     | [^\s\w]""", re.X)
DIRECTIVE = re.compile(r"^[ \t]*#(?:\\\n|[^\n])*", re.M)
INTEGER = re.compile(r"(?:0[xX][0-9a-fA-F]+|\d+)[uUlL]*")

EXCHANGED = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "&&": "||",
             "||": "&&", "==": "!=", "!=": "=="}
# The step of a constant behind it that is the same as exchanging it.
SAME_STEP = {"<": "+", "<=": "-", ">": "-", ">=": "+"}
ASSIGNS = {"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="}
BEFORE_CONDITION = ASSIGNS | {",", ";", "(", "[", "{", "}", "return", "?", ":"}
HINTS = {"wf_likely", "wf_unlikely"}
ASSERTIONS = {"wf_assert", "wf_debug_assert", "wf_check", "wf_panic",
              "_Static_assert"}
ASSEMBLY = {"asm", "__asm__"}
# Calls that tools/mutate removes without --logic.
FENCE = re.compile(r"wf_fence_\w+|wf_os_membarrier")
DECLARES = set("""struct union enum const static unsigned signed int long short
    char bool float double void volatile _Atomic _Thread_local register extern
    typedef _Static_assert""".split())
JUMPS = {"return", "goto", "break", "continue"}
HEADED = {"if", "while", "for", "switch"}


class Function:
    """The tokens of one function's body, and the statements in it."""

    def __init__(self, source, code, start, end):
        self.source = source
        self.tokens = []        # their text
        self.at = []            # their offsets
        for m in TOKEN.finditer(code, start, end):
            self.tokens.append(m.group())
            self.at.append(m.start())
        self.tokens.append("")              # so that a look ahead finds an end
        self.at.append(end)
        self.other = self.pairs()
        self.conditions = []    # (first token, behind the last, what changes)
        self.simple = []        # (first token, its semicolon)
        self.hidden = set()     # tokens that no mistake is made in
        i = 0
        while i < len(self.tokens) - 1:
            i = self.statement(i)
        self.hide()
        self.find_choices()

    def pairs(self):
        """{token: the one that closes or opens it} of all brackets."""
        other, stack = {}, []
        for i, t in enumerate(self.tokens):
            if t in "([{" and t:
                stack.append(i)
            elif t in ")]}" and t:
                if not stack:
                    raise self.trouble(i, "a bracket is not open")
                other[i] = stack.pop()
                other[other[i]] = i
        if stack:
            raise self.trouble(stack[-1], "a bracket is open")
        return other

    def trouble(self, i, what):
        line = self.source.line(min(self.at[i], len(self.source.text)))
        return Trouble(f"{self.source.path}:{line}: {what}")

    def find(self, i, wanted):
        """The first token from i on that is wanted, outside of brackets."""
        while self.tokens[i] not in wanted:
            if self.tokens[i] == "":
                raise self.trouble(i, f"no {' or '.join(wanted)} any more")
            i = self.other[i] + 1 if self.tokens[i] in "([{" else i + 1
        return i

    def statement(self, i):
        """Note what is in the statement at i.  Returns the token behind it."""
        t = self.tokens[i]
        if t == "{":
            end, i = self.other[i], i + 1
            while i < end:
                i = self.statement(i)
            return end + 1
        if t in HEADED:
            return self.headed(i)
        if t == "do":
            i = self.statement(i + 1)       # at its while
            self.condition(i + 2, self.other[i + 1], "negated")
            return self.find(i, ";") + 1
        if t in ("case", "default") or (self.tokens[i + 1] == ":"
                                        and t.isidentifier()):
            return self.find(i, ":") + 1
        if self.tokens[i + 1] == "(":       # a macro that heads a statement
            end = self.other[i + 1]
            if self.tokens[end + 1] == "{" or self.tokens[end + 1] in HEADED:
                return self.statement(end + 1)
        end = self.find(i, ";")
        if end > i and t not in JUMPS and not self.declares(i):
            self.simple.append((i, end))
        return end + 1

    def headed(self, i):
        word, open_, end = self.tokens[i], i + 1, self.other[i + 1]
        behind = self.statement(end + 1)
        if word == "for":
            first = self.find(open_ + 1, ";") + 1
            self.condition(first, self.find(first, ";"), "negated")
        elif word == "while":
            self.condition(open_ + 1, end, "negated")
        elif word == "if":
            swaps = self.tokens[behind] == "else"
            self.condition(open_ + 1, end, "swapped" if swaps else "negated")
            if swaps:
                return self.statement(behind + 1)
        return behind

    def condition(self, first, end, change):
        if first < end:
            self.conditions.append((first, end, change))

    def declares(self, i):
        """Whether the statement at i is a declaration."""
        if self.tokens[i] in DECLARES:
            return True
        if not self.tokens[i].isidentifier():
            return False
        i += 1
        while self.tokens[i] in ("*", "const"):
            i += 1
        return self.tokens[i].isidentifier()

    def hide(self):
        """Messages of assertions and assembly."""
        for i, t in enumerate(self.tokens):
            if self.tokens[i + 1:i + 2] != ["("]:
                continue
            first, end = i + 2, self.other[i + 1]
            if t in ASSERTIONS:
                while (t != "wf_panic" and first < end
                       and self.tokens[first] != ","):
                    first = (self.other[first] if self.tokens[first] in "([{"
                             else first) + 1
                self.hidden.update(range(first, end))
            elif t in ASSEMBLY or self.tokens[i - 1] in ASSEMBLY:
                self.hidden.update(range(i, end))

    def find_choices(self):
        """The conditions of ?:"""
        for i, t in enumerate(self.tokens):
            if t != "?":
                continue
            first = i
            while first > 0 and self.tokens[first - 1] not in BEFORE_CONDITION:
                first -= 1
                if self.tokens[first] in (")", "]"):
                    first = self.other[first]
            self.condition(first, i, "swapped")

    # -- the mistakes: (offset, what changes, text from, to, instead)

    def whole_comparisons(self):
        """The == and != that are all of a condition."""
        found = set()
        for first, end, _ in self.conditions:
            if (self.tokens[first] in HINTS
                    and self.other.get(first + 1) == end - 1):
                first, end = first + 2, end - 1
            inside, i = [], first
            while i < end:
                if self.tokens[i] in ("&&", "||", "?", "==", "!="):
                    inside.append(i)
                i = (self.other[i] if self.tokens[i] in ("(", "[", "{")
                     else i) + 1
            if len(inside) == 1 and self.tokens[inside[0]] in ("==", "!="):
                found.add(inside[0])
        return found

    def behind(self, i):
        return self.at[i] + len(self.tokens[i])

    def of_conditions(self):
        for first, end, change in self.conditions:
            a, b = self.at[first], self.behind(end - 1)
            yield first, change, a, b, f"!({self.source.text[a:b]})"

    def of_operators(self):
        whole = self.whole_comparisons()
        for i, t in enumerate(self.tokens):
            if t in EXCHANGED and i not in whole:
                new = EXCHANGED[t]
                yield i, f"{t} to {new}", self.at[i], self.behind(i), new

    def of_constants(self):
        for i, t in enumerate(self.tokens):
            if not INTEGER.fullmatch(t) or self.is_returned(i):
                continue
            ends = self.tokens[i + 1] in (")", ";", "&&", "||", "?", ",", ":")
            same = SAME_STEP.get(self.tokens[i - 1]) if ends else None
            for step in "+-":
                if step != same:
                    yield (i, f"{t} to {t}{step}1", self.at[i], self.behind(i),
                           f"({t} {step} 1)")

    def is_returned(self, i):
        """Whether token i is a constant that is all of what is returned."""
        if self.tokens[i - 1] == "-":
            i -= 1
        return self.tokens[i - 1] == "return" and (
            self.returned(i - 1) is not None)

    def returned(self, i):
        """(constant, another) of the return at i, or None."""
        end = i + 1
        while self.tokens[end] not in (";", ""):
            end += 1
        value = "".join(self.tokens[i + 1:end])
        swap = {"true": "false", "false": "true", "NULL": "(void *)1",
                "0": "1"}
        if value in swap:
            return value, swap[value]
        if re.fullmatch(r"-?(E[A-Z0-9]+|\d+[uUlL]*)", value):
            return value, "0"
        return None

    def of_returns(self):
        for i, t in enumerate(self.tokens):
            constants = self.returned(i) if t == "return" else None
            if constants:
                old, new = constants
                a, b = self.at[i + 1], self.at[self.find(i, ";")]
                yield i, f"return {old} to {new}", a, b, new

    def of_statements(self):
        for first, end in self.simple:
            word = self.tokens[first]
            if word in ASSERTIONS | ASSEMBLY or FENCE.fullmatch(word):
                continue
            inside = self.tokens[first:end]
            if not (ASSIGNS & set(inside) or {"++", "--", "("} & set(inside)):
                continue
            a, b = self.at[first], self.at[end]
            lines = "\n" * self.source.text.count("\n", a, b)
            yield first, "dropped", a, b, "(void)0" + lines

    def mistakes(self):
        for kind in (self.of_conditions, self.of_operators, self.of_constants,
                     self.of_returns, self.of_statements):
            for token, change, a, b, new in kind():
                if token not in self.hidden:
                    yield self.at[token], change, a, b, new


def functions(source):
    code = DIRECTIVE.sub(lambda m: blank(m.group()), source.code)
    end = 0
    for m in re.finditer(r"^\{\n", code, re.M):
        if m.start() >= end:
            end = code.find("\n}", m.end() - 1) + 1
            if end == 0:
                raise Trouble(f"{source.path}:{source.line(m.start())}: "
                              "the end of this function is not found")
            yield Function(source, code, m.end(), end)


def mutants_of(source):
    found = []
    for function in functions(source):
        found += function.mistakes()
    found.sort(key=lambda mistake: mistake[0])
    text = source.text
    return name_mutants(source, ((at, change, text[:a] + new + text[b:])
                                 for at, change, a, b, new in found))


def mutated_files(root, arch):
    """The library's files, without other architectures and the simulator."""
    found = glob.glob("src/*/*.[ch]", root_dir=root)
    found += glob.glob("src/os/*/*.[ch]", root_dir=root)
    found += glob.glob(f"src/arch/{arch}/*.[ch]", root_dir=root)
    return sorted(p for p in found if not p.startswith("src/sim/"))


def all_mutants(root, arch):
    found = []
    for path in mutated_files(root, arch):
        found += mutants_of(Source(path, read(os.path.join(root, path))))
    return found
