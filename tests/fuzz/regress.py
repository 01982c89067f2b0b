"""A program that once failed, as a file: where it came from, what differed, the program, and the graph MLX made of it.
Every file in tests/fuzz/regress is run by the suite, as a program and from its graph alone."""

import hashlib
import pathlib
import re

from autoperfect import _core

from .inputs import Recipe
from .legs import Check
from .program import Program

FOLDER = pathlib.Path(__file__).parent / "regress"
NAMES = {
    "f32": "float32", "f16": "float16", "bf16": "bfloat16", "c64": "complex64", "bool": "bool",
    "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64",
    "u8": "uint8", "u16": "uint16", "u32": "uint32", "u64": "uint64",
}


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
    """(Program, text of its graph or '')"""
    head, _, graph = path.read_text(encoding="utf-8").partition("; GRAPH\n")
    lines = [line[2:] for line in head.split("\n; PROGRAM\n")[1].split("\n")]
    return Program.parse("\n".join(lines)), graph if graph.startswith("autoperfect.graph") else ""


def recipes_of(graph):
    """Recipes for all inputs of a graph, captured ones too."""
    header = re.search(r"^graph @\S*?\((.*)\) \{$", graph, re.MULTILINE).group(1)
    types = re.findall(r"%\S+: (\w+)\[([\d,]*)\]", header)
    shape = lambda sizes: tuple(int(size) for size in sizes.split(",") if size)
    return [Recipe(NAMES[dtype], shape(sizes), seed=i + 1) for i, (dtype, sizes) in enumerate(types)]


def run(path, count, schedule=0):
    """Raises when the program of a file still fails."""
    program, graph = read(path)
    Check(program.function(), program.make_arguments(), count, schedule).run()
    if not graph or " opaque " in graph:
        count["not run from its graph alone"] += 1
        return
    arguments = [recipe.make() for recipe in recipes_of(graph)]
    Check(lambda *arrays: _core.interpret(graph, list(arrays)), arguments, count, schedule).run()
