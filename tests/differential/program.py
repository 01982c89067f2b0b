"""A program of MLX operations as text: a function of arrays, recipes of its arguments and of the arrays it captures."""

import dataclasses
import textwrap

import mlx.core as mx
import mlx.nn as nn

from .inputs import Recipe


@dataclasses.dataclass
class Program:
    arguments: dict  # name: Recipe
    captured: dict
    lines: list  # the body, one statement or definition each
    outputs: list

    def body(self):
        return [line for statement in self.lines for line in statement.split("\n")]

    def source(self):
        body = self.body() + [f"return {', '.join(self.outputs)},"]
        return f"def f({', '.join(self.arguments)}):\n" + textwrap.indent("\n".join(body), "    ") + "\n"

    def __str__(self):
        recipes = [f"{name}: {recipe}" for name, recipe in self.arguments.items()]
        recipes += [f"{name}: captured {recipe}" for name, recipe in self.captured.items()]
        return "\n".join(recipes) + "\n" + self.source()

    __repr__ = __str__  # what hypothesis prints

    def function(self):
        scope = {"mx": mx, "nn": nn, **{name: recipe.make() for name, recipe in self.captured.items()}}
        exec(self.source(), scope)  # text of our own making
        return scope["f"]

    def make_arguments(self):
        return [recipe.make() for recipe in self.arguments.values()]

    @staticmethod
    def parse(text):
        head, _, body = text.partition("def f(")
        arguments, captured = {}, {}
        for line in head.strip().splitlines():
            name, _, recipe = line.partition(": ")
            where = captured if recipe.startswith("captured ") else arguments
            where[name] = Recipe.parse(recipe.removeprefix("captured "))
        *lines, last = textwrap.dedent(body.partition("\n")[2]).rstrip().split("\n")
        outputs = [name.strip() for name in last.removeprefix("return ").split(",") if name.strip()]
        return Program(arguments, captured, lines, outputs)
