"""A second meaning of KernelIR: a parser of its text and an evaluation with NumPy, written from the documentation and
sharing nothing with the C++. The tests compare it with the reference executor.

    evaluate(parse(text), [x, w], exact=True)

Arrays of bf16 come and go as the uint16 of their bits, since NumPy has no such type.
"""

import re
from dataclasses import dataclass, field

import numpy as np

from numpy_scalars import INTEGERS, Meaning, converted, elementwise, greater_of, is_float, log_add_exp, numpy_type, rounded

TOKEN = re.compile(r"%\w+|\d+(?:\.\d+)?(?:e[+-]?\d+)?|[A-Za-z_]\w*|\S")
SCANS = ("cumsum", "cumprod", "cummax", "cummin", "logcumsumexp")
REDUCTIONS = ("sum", "prod", "max", "min", "any", "all", "argmax", "argmin")


@dataclass
class Buffer:
    name: str
    is_input: bool
    dtype: str
    dims: list  # a size, or the name of a dynamic axis


@dataclass
class Operand:
    kind: str  # value, load, literal, iota
    name: str = ""  # of the value, buffer or axis
    index: list = field(default_factory=list)  # of a load: (offset, {axis: coefficient}) or the name of a value
    literal: float = 0.0
    guarded: bool = False


@dataclass
class Statement:
    name: str
    op: str
    dtype: str
    axes: list
    along: list  # the axes in parentheses
    operands: list
    attributes: dict
    store: list | None = None  # of an output: where it is stored


@dataclass
class Kernel:
    buffers: list = field(default_factory=list)
    axes: dict = field(default_factory=dict)  # name: size
    statements: list = field(default_factory=list)
    accumulate: str = "f32"
    wide: bool = False


class Reader:
    """The tokens of one line."""

    def __init__(self, line):
        self.tokens = TOKEN.findall(line.split(";")[0])

    def at(self, text):
        return bool(self.tokens) and self.tokens[0] == text

    def next(self):
        return self.tokens.pop(0)

    def take(self, text):
        return self.at(text) and bool(self.next())

    def expect(self, text):
        assert self.take(text), (text, self.tokens)

    def listed(self, close, one):
        found = []
        while not self.take(close):
            if found:
                self.expect(",")
            found.append(one())
        return found

    def number(self):
        sign = -1.0 if self.take("-") else 1.0
        word = self.next()
        return sign * (float(word == "true") if word in ("true", "false") else float(word))

    def affine(self):
        offset, terms, sign = 0, {}, 1
        while True:
            if self.take("-"):
                sign = -1
            word = self.next()
            factor = sign * (int(word) if word.isdigit() else 1)
            axis = None if word.isdigit() else word
            if word.isdigit() and self.take("*"):
                axis = self.next()
            if axis is None:
                offset += factor
            else:
                terms[axis] = terms.get(axis, 0) + factor
            if self.at("-"):
                continue
            if not self.take("+"):
                return offset, terms
            sign = 1

    def index(self):
        def one():
            if not self.tokens[0].startswith("%"):
                return self.affine()
            name = self.next()
            self.index()
            return name

        self.expect("[")
        return self.listed("]", one)


def parse(text):
    kernel, section = Kernel(), ""
    for line in text.splitlines():
        reader = Reader(line)
        if not reader.tokens or reader.at("autoperfect") or reader.at("kernel"):
            continue
        if reader.tokens[-1] == "{":
            section = reader.next()
        elif reader.at("}"):
            section = ""
        elif section == "abi":
            if buffer := parse_buffer(reader):
                kernel.buffers.append(buffer)
        elif reader.take("axes"):
            parse_axes(reader, kernel)
        elif section == "math":
            kernel.statements.append(parse_statement(reader, kernel))
        elif reader.take("accumulate"):
            kernel.accumulate = reader.next()
        elif reader.take("wide"):
            kernel.wide = reader.take("yes")
    return kernel


def parse_buffer(reader):
    role = reader.next()
    if role == "temp":
        reader.tokens.clear()
        return None
    is_input = role == "in"
    name = reader.next()
    reader.expect(":")
    dtype = reader.next()
    reader.expect("[")
    dims = reader.listed("]", lambda: reader.next() if reader.take("?") else int(reader.next()))
    # Arrays say themselves how they lie, and temporaries hold nothing the math knows of.
    reader.tokens.clear()
    return Buffer(name, is_input, dtype, dims)


def parse_axes(reader, kernel):
    while reader.tokens:
        name = reader.next()
        reader.expect("=")
        dynamic = reader.take("?")
        kernel.axes[name] = int(reader.next()) if not dynamic or reader.tokens and not reader.at(",") else 1
        reader.take(",")


def parse_statement(reader, kernel):
    name = reader.next()
    index = reader.index()
    named = {axis for _, terms in index for axis in terms}
    axes = [axis for axis in kernel.axes if axis in named]
    is_output = any(buffer.name == name and not buffer.is_input for buffer in kernel.buffers)
    reader.expect("=")
    op = reader.next()
    along = reader.listed(")", reader.next) if reader.take("(") else []
    operands = [parse_operand(reader, kernel)]
    while reader.take(","):
        operands.append(parse_operand(reader, kernel))
    attributes = {}
    while not reader.take(":"):
        key = reader.next()
        reader.expect("=")
        attributes[key] = reader.next() == "true"
    return Statement(name, op, reader.next(), axes, along, operands, attributes, index if is_output else None)


def parse_operand(reader, kernel):
    if reader.take("iota"):
        return Operand("iota", reader.next())
    if not reader.tokens[0].startswith("%"):
        return Operand("literal", literal=reader.number())
    name = reader.next()
    index = reader.index()
    if not any(buffer.name == name and buffer.is_input for buffer in kernel.buffers):
        return Operand("value", name)
    guarded = reader.take("else")
    return Operand("load", name, index, reader.number() if guarded else 0.0, guarded)


class Evaluation:
    """Values are arrays over their axes, in the order of the kernel's."""

    def __init__(self, kernel, inputs, exact):
        self.kernel, self.exact = kernel, exact
        self.halves = {"f16": "f32", "bf16": "f32"} if kernel.wide else {}
        self.axes = dict(kernel.axes)
        self.values, self.statements, self.buffers = {}, {}, {}
        self.dtypes = {buffer.name: buffer.dtype for buffer in kernel.buffers}
        given = iter(inputs)
        for buffer in kernel.buffers:
            if buffer.is_input:
                array = np.asarray(next(given))
                self.buffers[buffer.name] = self.taken(array, buffer.dtype)
                self.axes.update({dim: size for dim, size in zip(buffer.dims, array.shape) if isinstance(dim, str)})

    def taken(self, array, dtype):
        if dtype == "bf16":
            array = (array.astype(np.uint32) << 16).view(np.float32)
        return array.astype(numpy_type(dtype, self.exact))

    def given_back(self, array, dtype):
        if not is_float(dtype):
            return array
        if not self.exact or dtype == "f64":
            return array.astype(np.float64)
        if dtype == "bf16":
            return (array.copy().view(np.uint32) >> 16).astype(np.uint16)
        return array.astype(np.float16 if dtype == "f16" else np.float32)

    def sizes(self, axes):
        return tuple(self.axes[axis] for axis in axes)

    def run(self):
        outputs = [buffer for buffer in self.kernel.buffers if not buffer.is_input]
        for buffer in outputs:
            shape = tuple(self.axes[dim] if isinstance(dim, str) else dim for dim in buffer.dims)
            self.buffers[buffer.name] = np.zeros(shape, numpy_type(buffer.dtype, self.exact))
        with np.errstate(all="ignore"):
            for statement in self.kernel.statements:
                self.compute(statement)
        return [self.given_back(self.buffers[buffer.name], buffer.dtype) for buffer in outputs]

    def compute(self, statement):
        reduced = [] if statement.op in SCANS else statement.along
        grid = statement.axes + reduced
        operands = [self.operand(statement, n, grid) for n in range(len(statement.operands))]
        dtype = self.operand_dtype(statement, 1 if statement.op == "select" else 0)
        meaning = Meaning(self.kept(dtype), self.kept(statement.dtype), self.exact, statement.attributes)
        shape = self.sizes(grid)
        if statement.op == "matmul":
            value = self.contract(meaning, [np.broadcast_to(operand, shape) for operand in operands], len(reduced))
        elif statement.op in REDUCTIONS:
            value = self.reduce(statement.op, meaning, np.broadcast_to(operands[0], shape), len(reduced))
        elif statement.op in SCANS:
            axis = statement.axes.index(statement.along[0])
            value = self.scan(statement, meaning, np.broadcast_to(operands[0], shape), axis)
        else:
            value = np.broadcast_to(elementwise(statement.op, meaning, operands), shape)
        value = np.array(value, numpy_type(statement.dtype, self.exact))
        self.values[statement.name], self.statements[statement.name] = value, statement
        self.dtypes[statement.name] = statement.dtype
        if statement.store is not None:
            place = tuple(self.affine(index, statement.axes) for index in statement.store)
            self.buffers[statement.name][place] = self.stored(value, statement.dtype)

    def kept(self, dtype):
        """Wide kernels keep halves as f32 until they are stored."""
        return self.halves.get(dtype, dtype)

    def stored(self, value, dtype):
        return rounded(value, dtype, self.exact) if dtype in self.halves else value

    def operand_dtype(self, statement, n):
        """That of its value or buffer. Literals and iota take it from the first such operand (the condition of select
        aside, which is bool), or from the value itself."""
        operand = statement.operands[n]
        if operand.kind in ("value", "load"):
            return self.dtypes[operand.name]
        is_select = statement.op == "select"
        if is_select and n == 0:
            return "bool"
        typed = [one for one in statement.operands[is_select:] if one.kind in ("value", "load")]
        return self.dtypes[typed[0].name] if typed else statement.dtype

    def operand(self, statement, n, grid):
        operand, dtype = statement.operands[n], self.operand_dtype(statement, n)
        if operand.kind == "literal":
            return self.literal(operand.literal, dtype)
        if operand.kind == "iota":
            return converted(self.positions(operand.name, grid), "i64", self.kept(dtype), self.exact)
        if operand.kind == "value":
            return self.along(operand.name, grid)
        return self.load(operand, dtype, grid)

    def literal(self, number, dtype):
        """A value of the dtype, for the oracle too."""
        array = np.float64(number)
        value = rounded(array, dtype) if is_float(dtype) else np.asarray(int(number)).astype(INTEGERS[dtype])
        return value.astype(numpy_type(dtype, self.exact))

    def positions(self, axis, grid):
        return np.arange(self.axes[axis]).reshape([-1 if other == axis else 1 for other in grid])

    def along(self, name, grid):
        """A value as an array with the dimensions of the grid, of size 1 where it does not vary."""
        own = self.statements[name].axes
        order = sorted(range(len(own)), key=lambda n: grid.index(own[n]))
        return self.values[name].transpose(order).reshape([self.axes[axis] if axis in own else 1 for axis in grid])

    def affine(self, index, grid):
        offset, terms = index
        total = np.full([1] * len(grid), offset, np.int64)
        for axis, coefficient in terms.items():
            total = total + coefficient * self.positions(axis, grid)
        return total

    def load(self, operand, dtype, grid):
        buffer = self.buffers[operand.name]
        inside, place = np.ones([1] * len(grid), bool), []
        for size, index in zip(buffer.shape, operand.index):
            if isinstance(index, str):  # a negative one counts from the end; what is still outside is clamped
                at = self.along(index, grid)
                at = np.minimum(at, at.dtype.type(min(size, np.iinfo(at.dtype).max))).astype(np.int64)
                at = np.clip(np.where(at < 0, at + size, at), 0, size - 1)
            else:
                at = self.affine(index, grid)
            inside = inside & (at >= 0) & (at < size)
            place.append(at)
        if operand.guarded:
            place = [np.clip(at, 0, max(size - 1, 0)) for size, at in zip(buffer.shape, place)]
            otherwise = self.literal(operand.literal, dtype)
            if buffer.size == 0:
                return np.broadcast_to(otherwise, inside.shape)
            return np.where(inside, buffer[tuple(place)], otherwise)
        assert inside.all(), operand
        return buffer[tuple(place)] if place else buffer.reshape([1] * len(grid))

    def flat(self, array, reduced):
        """Reduced positions first, in index order."""
        kept = array.shape[: array.ndim - reduced]
        return np.moveaxis(array.reshape(*kept, int(np.prod(array.shape[array.ndim - reduced :]))), -1, 0)

    def contract(self, meaning, operands, reduced):
        """Products are not rounded, sums are, to what they accumulate in."""
        wide = "f64" if meaning.dtype == "f64" else self.kernel.accumulate
        a, b = (self.flat(operand.astype(np.float64), reduced) for operand in operands)
        total = np.zeros(a.shape[1:], np.float64)
        for step in range(len(a)):
            total = rounded(total + a[step] * b[step], wide, self.exact).astype(np.float64)
        return rounded(total, meaning.result, self.exact)

    def reduce(self, op, meaning, array, reduced):
        elements = self.flat(array, reduced)
        if op in ("any", "all"):
            return getattr(np, op)(elements != 0, axis=0)
        if op in ("argmax", "argmin"):
            return self.first_extreme(op, elements)
        if op in ("sum", "prod"):
            return self.accumulated(op, meaning, elements)
        if not is_float(meaning.dtype):
            return getattr(np, op)(elements, axis=0)
        state = elements[0].copy()  # the first of equals; a NaN wins
        for element in elements[1:]:
            better = element > state if op == "max" else element < state
            state = np.where(better | np.isnan(element), element, state)
        return state

    @staticmethod
    def first_extreme(op, elements):
        """The first NaN, then the first of the largest or smallest."""
        best, found = elements[0], np.zeros(elements.shape[1:], np.int64)
        for n, element in enumerate(elements[1:], 1):
            better = element > best if op == "argmax" else element < best
            better = (better | (element != element)) & (best == best)
            best, found = np.where(better, element, best), np.where(better, n, found)
        return found

    def accumulated(self, op, meaning, elements):
        step = np.add if op == "sum" else np.multiply
        if not is_float(meaning.dtype):
            wide = elements.astype(INTEGERS[meaning.result])
            return step.reduce(wide, axis=0, dtype=wide.dtype)
        wide = "f64" if meaning.dtype == "f64" else self.kernel.accumulate
        held = numpy_type(wide, self.exact)
        state = np.full(elements.shape[1:], 0 if op == "sum" else 1, held)
        for element in elements:
            state = rounded(step(state, element.astype(held)), wide, self.exact)
        return rounded(state, meaning.result, self.exact)

    def scan(self, statement, meaning, array, axis):
        """Every step is rounded to the dtype of the result. An exclusive scan starts from the neutral element."""
        meaning = Meaning(statement.dtype, statement.dtype, self.exact)
        elements = np.moveaxis(converted(array, self.operand_dtype(statement, 0), statement.dtype, self.exact), axis, 0)
        reverse, inclusive = statement.attributes.get("reverse"), statement.attributes.get("inclusive", True)
        elements = elements[::-1] if reverse else elements
        state = np.broadcast_to(self.neutral(statement.op, statement.dtype), elements.shape[1:])
        scanned = []
        for n, element in enumerate(elements):
            following = element if inclusive and n == 0 else self.scan_step(statement.op, meaning, state, element)
            scanned.append(following if inclusive else state)
            state = following
        out = np.stack(scanned) if scanned else elements
        return np.moveaxis(out[::-1] if reverse else out, 0, axis)

    def neutral(self, op, dtype):
        if op in ("cumsum", "cumprod"):
            return self.literal(0.0 if op == "cumsum" else 1.0, dtype)
        if is_float(dtype):
            return numpy_type(dtype, self.exact)(np.inf if op == "cummin" else -np.inf)
        if dtype == "bool":
            return np.bool_(op == "cummin")
        limits = np.iinfo(INTEGERS[dtype])
        return INTEGERS[dtype](limits.max if op == "cummin" else limits.min)

    @staticmethod
    def scan_step(op, meaning, state, element):
        if op in ("cumsum", "cumprod"):
            return elementwise("add" if op == "cumsum" else "mul", meaning, [state, element])
        if op == "logcumsumexp":
            return log_add_exp(meaning, state, element)
        if not is_float(meaning.dtype):
            return np.maximum(state, element) if op == "cummax" else np.minimum(state, element)
        # Of equals, such as 0.0 and -0.0, a maximum is the later one, a minimum the earlier one.
        if op == "cummax":
            following = greater_of(state, element)
        else:
            following = np.where((element < state) | (np.isnan(element) & ~np.isnan(state)), element, state)
        if not meaning.exact or meaning.dtype not in ("f16", "bf16"):
            return following
        return np.where(np.isnan(following), np.zeros_like(following), following)  # MLX loses the NaN of a half


def evaluate(kernel, inputs, exact):
    """The outputs in order. Floats of the oracle are float64."""
    return Evaluation(kernel, inputs, exact).run()
