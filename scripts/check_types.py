#!/usr/bin/env python3
"""One definition of each type: two of one name in one namespace link without a word, and then one destroys the other's
objects. Types inside unnamed namespaces, functions and other types cannot meet and are not looked at."""

import collections
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NOISE = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])'", re.DOTALL)
TOKEN = re.compile(
    r"namespace\s*(?P<space>[\w:]*)\s*\{|(?:struct|class|union|enum(?:\s+class)?)\s+(?P<type>\w+)\s*(?:final\s*)?(?::(?!:)[^{;()]*)?\{|[{}]")


def types_of(text):
    """Yields the full name of each type that others may see."""
    scopes = []  # names of the namespaces around; "" for anything else
    for token in TOKEN.finditer(NOISE.sub(" ", text)):
        if token[0] == "}":
            scopes and scopes.pop()
        elif token["space"] is not None:
            scopes.append(token["space"])
        else:
            if token["type"] and scopes and all(scopes):
                yield "::".join([*scopes, token["type"]])
            scopes.append("")


def main():
    places = collections.defaultdict(set)
    for folder in ("src", "include"):
        for path in sorted((ROOT / folder).rglob("*")):
            # Parts of the kernel prelude become text of kernels; they are not part of the library.
            if path.suffix in (".h", ".cpp") and "prelude" not in path.parts:
                for name in types_of(path.read_text(encoding="utf-8")):
                    places[name].add(str(path.relative_to(ROOT)))
    problems = [f"{name} is defined in {' and in '.join(sorted(files))}" for name, files in places.items() if len(files) > 1]
    print("\n".join(problems) if problems else f"{len(places)} types, each defined once")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
