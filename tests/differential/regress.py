"""A program that once failed, as a file: where it came from, what differed, the program, and the graph MLX made of it.
Every file in tests/differential/regress is run by the suite, as a program and from its graph alone."""

import hashlib
import pathlib
import re

from autoperfect import _core

from .legs import Check, Options
from .program import Program

FOLDER = pathlib.Path(__file__).parent / "regress"


def comment(text):
    return "".join(f"; {line}".rstrip() + "\n" for line in text.rstrip().split("\n"))


def captured_text(program):
    try:
        return _core.Stages(program.function(), program.make_arguments()).captured
    except Exception as error:  # what failed may be the capture; the program tells enough
        return comment(f"no graph: {error}")


def write(folder, program, origin, failure):
    """Writes the file and returns its path."""
    folder.mkdir(parents=True, exist_ok=True)
    name = hashlib.sha256(str(program).encode()).hexdigest()[:12]
    path = folder / f"{name}.ap"
    text = comment(f"{origin}\nDIFFERS\n{failure}\nPROGRAM\n{program}GRAPH") + captured_text(program)
    path.write_text(text, encoding="utf-8")
    return path


def read(path):
    """(Program, text of its graph or '', the Options it failed with)"""
    head, _, graph = path.read_text(encoding="utf-8").partition("; GRAPH\n")
    lines = [line[2:] for line in head.split("\n; PROGRAM\n")[1].split("\n")]
    options = Options()
    if found := re.search(r"schedule=(\w+) gate_by_cost=(\w+)(?: wide=(\w+))?", head):
        options = Options(None if found[1] == "None" else int(found[1]), found[2] == "True", found[3] == "True")
    return Program.parse("\n".join(lines)), graph if graph.startswith("autoperfect.graph") else "", options


def inputs_of(program, graph):
    """What the program gives its graph: arguments, and captured arrays by name. None where names are no longer those."""
    try:
        return _core.Stages(program.function(), program.make_arguments()).inputs_of(graph)
    except ValueError:
        return None


def run(path, count):
    """Raises when the program of a file still fails."""
    program, graph, options = read(path)
    Check(program.function(), program.make_arguments(), count, options).run()
    arguments = inputs_of(program, graph) if graph and " key=" not in graph else None
    if arguments is None:
        count["not run from its graph alone"] += 1
        return
    Check(lambda *arrays: _core.interpret(graph, list(arrays)), arguments, count, options).run()
