# SPDX-License-Identifier: MIT
"""
mutation/orders.py - mutants: one memory order weakened, or one fence removed.
"""

import glob
import os
import re

from mutation.source import Source, Trouble, name_mutants, read


RMW = {"acq": ["rlx"], "rel": ["rlx"], "acqrel": ["acq", "rel"],
       "seq": ["acqrel"]}
WEAKER = {
    "load": {"acq": ["rlx"], "seq": ["acq"]},
    "store": {"rel": ["rlx"], "seq": ["rel"]},
    "xchg": RMW, "add": RMW, "sub": RMW, "or": RMW, "and": RMW,
    "cas": RMW, "cas_weak": RMW,
}
FENCES = ("acq", "rel", "seq", "light")
RAW = {
    "load": "load", "store": "store", "xchg": "exchange", "add": "fetch_add",
    "sub": "fetch_sub", "or": "fetch_or", "and": "fetch_and",
    "cas": "compare_exchange_strong", "cas_weak": "compare_exchange_weak",
}
ORDER = {"rlx": "relaxed", "acq": "acquire", "rel": "release",
         "acqrel": "acq_rel", "seq": "seq_cst"}
NOTHING = "((void)0)"


def operations(atomic):
    """{macro: (operation, order)} of what base/atomic.h says is ordered."""
    found = {}
    for name in re.findall(r"^#define (wf_\w+)\(", atomic, re.M):
        m = re.fullmatch(r"wf_(\w+?)_(acq|rel|acqrel|seq|light)", name)
        if not m:
            continue
        op, order = m.groups()
        if order not in (FENCES if op == "fence" else WEAKER.get(op, {})):
            raise Trouble(f"{name} of base/atomic.h is unknown; say in "
                          "tools/mutate what is weaker")
        found[name] = (op, order)
    return found


def weaken(source, m, op, order, known):
    """The text of source with the operation at m given a weaker order."""
    text = source.text
    name = f"wf_{op}_{order}"
    if name in known:
        return text[:m.start(1)] + name + text[m.end(1):]
    end = source.close(m.end() - 1)
    orders = f", memory_order_{ORDER[order]}"
    if op.startswith("cas"):
        orders += ", memory_order_relaxed"
    return (text[:m.start(1)] + f"atomic_{RAW[op]}_explicit"
            + text[m.end(1):end] + orders + text[end:])


def changes(source, ordered, known):
    """(offset, what changed, new text) of everything that can be weakened."""
    names = sorted(ordered, key=len, reverse=True)
    pattern = re.compile(r"\b(" + "|".join(names) + r")\s*\("
                         r"|\b(wf_os_membarrier)\s*\((?=\s*\))")
    for m in pattern.finditer(source.code):
        op, order = ordered.get(m.group(1), ("fence", None))
        if op == "fence":
            end = source.close(m.end() - 1) + 1
            yield m.start(), "removed", (source.text[:m.start()] + NOTHING
                                         + source.text[end:])
            continue
        for weaker in WEAKER[op][order]:
            yield (m.start(), f"{order}->{weaker}",
                   weaken(source, m, op, weaker, known))


def mutants_of(source, ordered, known):
    return name_mutants(source, changes(source, ordered, known))


def mutated_files(root):
    """The files that have memory orders of the library in them."""
    found = []
    for path in glob.glob("src/*/*.[ch]", root_dir=root):
        room = path.split("/")[1]
        if room not in ("base", "arch", "sim"):
            found.append(path)
    return sorted(found)


def all_mutants(root):
    atomic = read(os.path.join(root, "src/base/atomic.h"))
    known = set(re.findall(r"^#define (wf_\w+)\(", atomic, re.M))
    ordered = operations(atomic)
    found = []
    for path in mutated_files(root):
        source = Source(path, read(os.path.join(root, path)))
        found += mutants_of(source, ordered, known)
    return found
