"""Draws a program statement by statement. Each is run lazily at once, so that MLX itself says its shape and dtype, and
one that MLX refuses is left out."""

import dataclasses
import math
import textwrap

import mlx.core as mx
import mlx.nn as nn
from hypothesis import strategies as st

from .inputs import DTYPES, FLOATS, INTEGERS, KINDS, LAYOUTS, Recipe, dtype_name
from .program import Program

SIZES = (1, 2, 3, 5, 7, 8, 16, 17, 31, 33, 64, 65, 127, 129, 1023, 4097)
MOST_ELEMENTS = 4500  # of one value
MOST_RANK = 5
# log2 of the largest magnitudes a tame value may reach.
LARGEST = {"float16": 8, "bfloat16": 30, "float32": 30, "complex64": 20}


@dataclasses.dataclass(frozen=True)
class Value:
    name: str
    array: mx.array  # lazy; only its type is looked at
    # The same bits however the program is run. Steps (comparisons, rounding, indices) are taken on such values only.
    exact: bool
    size: float  # log2 of a bound on the magnitudes; inf: not known, may hold NaN

    @property
    def dtype(self):
        return dtype_name(self.array.dtype)

    @property
    def shape(self):
        return tuple(self.array.shape)

    @property
    def ndim(self):
        return self.array.ndim

    @property
    def is_float(self):
        return self.dtype in FLOATS

    @property
    def is_integer(self):
        return self.dtype in INTEGERS

    @property
    def is_real(self):
        return self.is_float or self.is_integer

    @property
    def is_bool(self):
        return self.dtype == "bool"


class Refused(Exception):
    """MLX does not take it, or it would be too large: no statement."""


class Generator:
    """A block of statements: the body of the program, or of a function inside it."""

    def __init__(self, draw, parent=None):
        self._draw = draw
        self.parent = parent
        self.root = parent.root if parent else self
        self.values, self.lines, self.used = [], [], set()
        if parent is None:
            self.scope = {"mx": mx, "nn": nn}
            self.arguments, self.captured = {}, {}
            self.names = 0
            self.wild = draw(st.integers(0, 5)) == 5
            self.shape = self.draw_shape()
            self.floats = draw(st.sampled_from([("float32",), ("float32", "bfloat16"), ("float16",), FLOATS]))
        else:
            self.scope = parent.scope

    # --- choices

    def draw(self, strategy):
        return self._draw(strategy)

    def choose(self, *options):
        return self._draw(st.sampled_from(options))

    def integer(self, low, high):
        return self._draw(st.integers(low, high))

    def flip(self):
        return self._draw(st.booleans())

    def seldom(self):
        return self._draw(st.integers(0, 9)) == 9

    def draw_shape(self, most_rank=MOST_RANK, most=MOST_ELEMENTS):
        shape, left = [], most
        for _ in range(self.integer(0, most_rank)):
            shape.append(self.choose(*[size for size in SIZES if size <= left]))
            left //= shape[-1]
        if shape and self.integer(0, 29) == 29:
            shape[self.integer(0, len(shape) - 1)] = 0
        return tuple(shape)

    def axis(self, value):
        """Some axis, also counted from the end."""
        return self.integer(-value.ndim, value.ndim - 1)

    def axes(self, value):
        """A set of axes, at least one."""
        return self._draw(st.sets(st.integers(0, value.ndim - 1), min_size=1).map(sorted))

    def draw_permutation(self, count):
        return list(self._draw(st.permutations(range(count))))

    # --- values

    def is_tame(self, value):
        return value.size <= LARGEST.get(value.dtype, math.inf)

    def pick(self, wanted=lambda value: True, make=None):
        """A value that is `wanted`; else what `make` gives, else a new input if there is one that is wanted."""
        fits = [value for value in self.values if wanted(value)]
        if fits:
            if len(fits) > 6 and self.flip():
                fits = fits[-6:]
            value = self.choose(*fits)
            self.used.add(value.name)
            return value
        if make is not None:
            return make()
        raise Refused

    def row(self, value):
        """One row of a value, of the same nature."""
        return dataclasses.replace(value, array=value.array[0])

    def pick_float(self, wanted=lambda value: True, exact=False):
        fits = lambda v: v.is_float and self.is_tame(v) and (v.exact or not exact) and wanted(v)
        return self.pick(fits, lambda: self.input_like(fits))

    def input_like(self, wanted):
        for shape in (self.root.shape, self.draw_shape()):
            value = self.new_input(self.choose(*self.root.floats), shape)
            if wanted(value):
                return value
        raise Refused

    def compatible(self, value):
        """Another value that broadcasts with it to something of sensible size."""
        def fits(other):
            return other.dtype != "complex64" and self.is_tame(other) and broadcasts(value.shape, other.shape)
        return self.pick(fits)

    def new_input(self, dtype, shape, kind=None, layout=None):
        root = self.root
        if self.parent is not None or len(root.arguments) + len(root.captured) > 12:
            raise Refused  # a function inside the program takes what it is given
        kind = kind or (self.choose(*KINDS) if self.wild else self.choose("normal", "normal", "integers", "equal"))
        layout = layout or (self.choose(*LAYOUTS) if self.seldom() else "row")
        recipe = Recipe(dtype, tuple(shape), kind, layout, len(root.arguments) + len(root.captured) + 1)
        where, prefix = (root.captured, "c") if root.arguments and self.seldom() else (root.arguments, "x")
        name = f"{prefix}{len(where)}"
        where[name] = recipe
        array = recipe.make()
        self.scope[name] = array
        size = 4 if dtype in FLOATS or dtype == "complex64" else 0
        value = Value(name, array, True, math.inf if kind == "special" and dtype in FLOATS else size)
        self.values.append(value)
        return value

    def fresh(self, prefix="v"):
        self.root.names += 1
        return f"{prefix}{self.root.names - 1}"

    def run(self, expression):
        try:
            return eval(expression, self.scope)
        except (ValueError, RuntimeError, IndexError) as error:
            raise Refused(f"{expression}: {error}") from error

    def let(self, expression, exact=True, size=math.inf):
        """Appends `name = expression`, which must be one array. `exact` counts the operands' exactness in."""
        array = self.run(expression)
        return self.bind(expression, array, exact, size)

    def bind(self, expression, array, exact, size):
        if array.size > 2 * MOST_ELEMENTS or array.ndim > MOST_RANK + 1:
            raise Refused
        name = self.fresh()
        self.lines.append(f"{name} = {expression}")
        self.scope[name] = array
        value = Value(name, array, exact, size if dtype_name(array.dtype) in LARGEST else 0)
        self.values.append(value)
        if not self.is_tame(value) and value.is_float and not self.root.wild and size < math.inf:
            value = self.let(f"{name} * {2.0 ** -min(120, math.ceil(size)):.17g}", exact, 0)
        return value

    def let_all(self, expression, exact=True, size=math.inf):
        """The same for an expression that is a list or tuple of arrays: one name each."""
        arrays = self.run(expression)
        names = [self.fresh() for _ in arrays]
        if any(array.size > 2 * MOST_ELEMENTS for array in arrays):
            raise Refused
        self.lines.append(f"{', '.join(names)}, = {expression}")
        for name, array in zip(names, arrays):
            self.scope[name] = array
            self.values.append(Value(name, array, exact, size if dtype_name(array.dtype) in LARGEST else 0))

    def define(self, text):
        """A function of the program's own."""
        exec(text, self.scope)
        self.lines.append(text)

    def statement(self, table):
        builder = self._draw(st.sampled_from(table))
        before = len(self.lines), len(self.values)
        try:
            builder(self)
            return True
        except Refused:
            del self.lines[before[0] :], self.values[before[1] :]
            self.values.extend(self.inputs_since())
            return False

    def inputs_since(self):
        """Inputs made for a statement that came to nothing stay: they are arguments of the program already."""
        if self.parent is not None:
            return []
        known = {value.name for value in self.values}
        names = [*self.arguments, *self.captured]
        return [Value(n, self.scope[n], True, math.inf) for n in names if n not in known]


def broadcasts(a, b):
    total = 1
    for i in range(1, max(len(a), len(b)) + 1):
        m, n = (a[-i] if i <= len(a) else 1), (b[-i] if i <= len(b) else 1)
        if m != n and 1 not in (m, n):
            return False
        total *= n if m == 1 else m
    return total <= MOST_ELEMENTS


def nested(generator, parameters, arguments, table, most):
    """(definition, its generator): a function of `parameters` in the block of `generator`, with up to `most`
    statements; its lines lack the return."""
    inner = Generator(generator._draw, generator)
    for name, argument in zip(parameters, arguments):
        inner.scope[name] = argument.array
        inner.values.append(dataclasses.replace(argument, name=name))
    for _ in range(most):
        if not generator._draw(step(inner, table, most)):
            break
    return inner


def definition(name, parameters, inner, result):
    body = "\n".join(inner.lines + [f"return {result}"])
    return f"def {name}({', '.join(parameters)}):\n" + textwrap.indent(body, "    ")


def draw_outputs(generator):
    """Results nobody reads, and now and then one that is read as well, twice, or an input."""
    read = " ".join(generator.lines)
    made = [value.name for value in generator.values]
    unread = [n for n in made if n.startswith("v") and read.count(n) == 1 or n.startswith("v") and n == made[-1]]
    outputs = unread[-12:] or made[-1:]
    for _ in range(generator.integer(0, 2)):
        outputs.append(generator.choose(*made))
    return outputs


def live(lines, outputs):
    """Only the statements that the outputs need."""
    needed, kept = set(outputs), []
    for line in reversed(lines):
        head, _, rest = line.partition("(" if line.startswith("def ") else " = ")
        names = {head.removeprefix("def ")} if line.startswith("def ") else {n.strip() for n in head.split(",")}
        if names & needed:
            kept.append(line)
            needed |= words(rest)
    return kept[::-1], needed


def words(text):
    return {word for word in "".join(c if c.isalnum() or c == "_" else " " for c in text).split()}


@st.composite
def step(draw, generator, table, length):
    """One statement more, or the end. Drawn as a whole, so that shrinking can take it out as a whole."""
    if draw(st.integers(0, length)) == 0:
        return False
    generator.statement(table)
    return True


@st.composite
def programs(draw, table, most=60):
    generator = Generator(draw)
    for _ in range(generator.integer(1, 3)):
        generator.new_input(generator.choose(*generator.floats), generator.shape)
    if generator.flip():
        generator.new_input(generator.choose(*DTYPES), generator.shape)
    length = generator.choose(2, 8, 30, 60)
    while len(generator.lines) < most and draw(step(generator, table, length)):
        pass
    outputs = draw_outputs(generator)
    lines, needed = live(generator.lines, outputs)
    captured = {name: recipe for name, recipe in generator.captured.items() if name in needed}
    arguments = {n: r for n, r in generator.arguments.items() if n in needed or n == "x0"}
    return Program(arguments, captured, lines, list(outputs))
