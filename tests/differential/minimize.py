"""Makes a failing program smaller after hypothesis has: one output, values made into inputs, what is dead gone."""

import dataclasses
import re

from .generator import live, words
from .inputs import FLOATS, Recipe, dtype_name
from .program import Program


def with_outputs(program, outputs):
    lines, needed = live(program.lines, outputs)
    keep = lambda recipes: {name: recipe for name, recipe in recipes.items() if name in needed}
    return Program(keep(program.arguments), keep(program.captured), lines, outputs)


def values_of(program):
    """Name: array, of every value made by a statement of its own."""
    names = [m.group(1) for line in program.lines if (m := re.match(r"(v\d+) = ", line))]
    everything = dataclasses.replace(program, outputs=names)
    return dict(zip(names, everything.function()(*everything.make_arguments()))) if names else {}


def cut(program, name, array):
    """The value comes from outside instead."""
    lines = [line for line in program.lines if not line.startswith(f"{name} = ")]
    recipe = Recipe(dtype_name(array.dtype), tuple(array.shape), "normal", "row", 100 + int(name[1:]))
    arguments = {**program.arguments, name: recipe}
    return with_outputs(Program(arguments, program.captured, lines, program.outputs), program.outputs)


def plainer(program):
    """The same with arguments in place of captured arrays, and arrays that are nobody's view."""
    yield Program({**program.arguments, **program.captured}, {}, program.lines, program.outputs)
    for name, recipe in program.arguments.items():
        for simple in (dataclasses.replace(recipe, layout="row"), dataclasses.replace(recipe, kind="normal")):
            if simple != recipe:
                yield dataclasses.replace(program, arguments={**program.arguments, name: simple})


def smaller(program):
    for output in dict.fromkeys(program.outputs):
        if len(program.outputs) > 1:
            yield with_outputs(program, [output])
    for output in range(len(program.outputs)):
        if len(program.outputs) > 2:
            yield with_outputs(program, program.outputs[:output] + program.outputs[output + 1 :])
    try:
        values = values_of(program)
    except Exception:  # eager itself may be what fails
        values = {}
    read = set().union(*(words(line.partition(" = ")[2]) for line in program.lines)) if program.lines else set()
    for name in reversed(values):
        # Integers may be indices, which other numbers would take out of range.
        if name in read and name not in program.outputs and dtype_name(values[name].dtype) in FLOATS:
            yield cut(program, name, values[name])
    yield from plainer(program)


def minimize(program, fails):
    """The smallest program found for which `fails(program)` holds, as it does for `program`."""
    found = True
    while found:
        found = False
        for candidate in smaller(program):
            if str(candidate) != str(program) and candidate.lines and fails(candidate):
                program, found = candidate, True
                break
    return program
