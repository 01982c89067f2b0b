#!/usr/bin/env python3
"""The reference of all ops, docs/ops.md, from src/ir/ops.def.

    op_reference.py           print it
    op_reference.py --write   write docs/ops.md
    op_reference.py --check   fail when docs/ops.md is not what would be written
"""

import argparse
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
DEFINITIONS = ROOT / "src/ir/ops.def"
REASONS = ROOT / "src/ir/op.cpp"
PAGE = ROOT / "docs/ops.md"

ROW = re.compile(
    r'^(OP|BARRIER)\((\w+), "(\w+)", (\w+), (\w+), (\w+),\s*"([^"]*)",\s*"([^"]*)"\)(?:[ ]*// (.*))?$', re.MULTILINE)
SECTION = re.compile(r"(?<=\n\n)// (\w.*(?:\n// .*)*)\n(?=OP|BARRIER)")
IN_KERNELS = ("elementwise", "reduction", "scan")
HEAD = """# Ops

Generated from `src/ir/ops.def` by `scripts/op_reference.py --write`; do not edit.

- *Attributes* are written after the operands, sorted by name: `%y = sum %x axes=[1] keepdims=true : f32[4,1]`. One in
  brackets may be left out, and is then what follows its `=`. One that repeats the type after the colon is not in the text.
- *Rule*: what the operands are, and the types of the results where the line above the table does not say them.
- *Edges*: what becomes of NaN, infinities, zeros, overflow, and of numbers that other languages leave undefined: what MLX
  does on the CPU.
- *Kernel*: whether KernelIR has the op. It writes the axes that a reduction, a scan or a contraction runs along in
  parentheses (`sum(j)`, `cumsum(j)`, `matmul(k)`) and the dtype after the colon, so `axes`, `axis`, `keepdims` and `dtype`
  are no attributes there.
- A *barrier* ends a region: MLX itself runs it.
"""
TYPES = {
    "bool": "bool", "int": "integer", "number": "number", "string": "string", "ints": "integers", "numbers": "numbers",
    "dtype": "dtype", "constant": "number or numbers",
}  # fmt: skip
ABSENT = {"bool": "false", "int": "0"}  # of an optional attribute, unless the comment of its op says otherwise


def attribute(word, comment):
    """`axis` integer, [`keepdims` bool = false]; nothing for one that the type after the colon repeats."""
    in_type = word.endswith("=type")
    name, kind = word.removesuffix("=type").removesuffix("?").split(":")
    if in_type:
        return f"`{name}` {TYPES[kind]}, from the type"
    if not word.endswith("?"):
        return f"`{name}` {TYPES[kind]}"
    stated = re.search(rf"\b{name}=(\w+) unless given", comment)
    default = stated[1] if stated else ABSENT.get(kind)
    return f"[`{name}` {TYPES[kind]}" + (f" = {default}]" if default else "]")


def barrier_reasons():
    """What op.cpp says of each reason."""
    text = REASONS.read_text()
    return dict(re.findall(r'case BarrierReason::(\w+):\s*return "([^"]*)";', text))


def row(match, reasons):
    macro, identifier, text, column, operands, results, attributes, primitives, comment = match.groups(default="")
    is_barrier = macro == "BARRIER"
    rule, _, edges = (part.strip() for part in f" {comment} ".partition(" | "))
    in_kernel = not is_barrier and (column in IN_KERNELS or identifier == "matmul")
    return [
        f"`{text}`",
        "barrier: " + reasons[column] if is_barrier else column,
        operands,
        "; ".join(attribute(word, comment) for word in attributes.split()),
        results,
        rule,
        edges,
        "yes" if in_kernel else "no",
        ", ".join(f"`{primitive}`" for primitive in primitives.split()),
    ]


def reference():
    text, reasons = DEFINITIONS.read_text(), barrier_reasons()
    matches = list(ROW.finditer(text))
    if len(matches) != len(re.findall(r"^(?:OP|BARRIER)\(", text, re.MULTILINE)):
        sys.exit(f"{DEFINITIONS}: a line has another form than {pathlib.Path(__file__).name} knows")
    sections = [(found.end(), " ".join(found[1].split("\n// "))) for found in SECTION.finditer(text)]
    out = HEAD
    for number, (start, title) in enumerate(sections):
        end = sections[number + 1][0] if number + 1 < len(sections) else len(text)
        heading = re.split(r": | over |\. ", title)[0]
        out += f"\n## {heading}\n" + (f"\n{title}.\n" if title != heading else "")
        out += "\n| op | class | operands | attributes | results | rule | edges | kernel | MLX |\n|" + "---|" * 9 + "\n"
        for match in matches:
            if start <= match.start() < end:
                out += "| " + " | ".join(row(match, reasons)) + " |\n"
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    page = reference()
    if arguments.write:
        PAGE.parent.mkdir(exist_ok=True)
        PAGE.write_text(page)
    elif arguments.check:
        if not PAGE.is_file() or PAGE.read_text() != page:
            sys.exit(f"{PAGE.relative_to(ROOT)} is not current: run scripts/op_reference.py --write\n0 passed, 1 failed")
        print("1 passed, 0 failed")
    else:
        print(page, end="")


if __name__ == "__main__":
    main()
