"""Random KernelIR texts that are well typed, with inputs for them: every kind of operand, op and store."""

import numpy as np

FLOATS = ["f16", "bf16", "f32", "f64"]
INTEGERS = ["u8", "u16", "u32", "u64", "i8", "i16", "i32", "i64"]
DTYPES = [*FLOATS, *INTEGERS, "bool"]

ON_ANY = ["abs", "sign", "square", "copy", "stop_gradient", "round"]
ON_REALS = ["floor", "ceil"]
ON_FLOATS = [
    "exp", "expm1", "log", "log2", "log10", "log1p", "sqrt", "rsqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh",
    "asin", "acos", "atan", "asinh", "acosh", "atanh", "sigmoid", "erf", "neg",
]  # fmt: skip
PAIRS = ["add", "sub", "mul", "power", "maximum", "minimum", "floor_divide", "remainder"]
PAIRS_OF_FLOATS = ["div", "logaddexp", "atan2"]
BITS = ["bitwise_and", "bitwise_or", "bitwise_xor"]
COMPARISONS = ["equal", "not_equal", "less", "less_equal", "greater", "greater_equal"]
SCANS = ["cumsum", "cumprod", "cummax", "cummin"]



def affine_text(offset, terms):
    text = ""
    for axis, coefficient in terms:
        sign = "-" if coefficient < 0 else "+" if text else ""
        text += sign + (f"{abs(coefficient)}*" if abs(coefficient) != 1 else "") + axis
    if offset or not text:
        text += f"+{offset}" if text and offset >= 0 else str(offset)
    return text


def sum_dtype(dtype):
    if dtype in FLOATS or dtype.endswith("64"):
        return dtype
    return "u32" if dtype.startswith("u") else "i32"


class Maker:
    """One kernel in the making."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        names = ["i", "j", "k", "m"][: self.one([2, 3, 3, 4])]
        sizes = self.random.choice([1, 2, 3, 4, 5, 0], p=[0.15, 0.25, 0.25, 0.2, 0.12, 0.03], size=len(names))
        self.axes = dict(zip(names, sizes.tolist()))
        self.dynamic = "i" if self.random.random() < 0.25 else None
        if self.dynamic:
            self.axes["i"] = max(self.axes["i"], 1)
        self.dtypes = [self.one(DTYPES) for _ in range(3)] + [self.one(INTEGERS), "f32"]
        self.inputs, self.outputs, self.values, self.lines = {}, {}, {}, []

    def one(self, of):
        return of[int(self.random.integers(len(of)))]

    def chance(self, of):
        return self.random.random() < of

    def some_axes(self, of=None):
        return [axis for axis in (of or self.axes) if self.chance(0.6)]

    # --- Operands

    def bounds(self, terms):
        """The smallest and largest value; nothing where an axis is empty."""
        if any(self.axes[axis] == 0 for axis, _ in terms):
            return 0, 0
        ends = [sorted((0, coefficient * (self.axes[axis] - 1))) for axis, coefficient in terms]
        return sum(end[0] for end in ends), sum(end[1] for end in ends)

    def random_terms(self, grid):
        chosen = [axis for axis in grid if axis != self.dynamic and self.chance(0.5)][:2]
        return [(axis, self.one([1, 1, 1, 2, -1, 3, -2])) for axis in chosen]

    def load(self, dtype, grid):
        known = [name for name, (of, _) in self.inputs.items() if of == dtype]
        reuse = known and self.chance(0.5)
        name = self.one(known) if reuse else f"%x{len(self.inputs)}"
        dims = self.inputs[name][1] if reuse else [None] * self.one([0, 1, 1, 2, 2, 3])
        if reuse and self.dynamic in dims and self.dynamic not in grid:
            return self.load(dtype, grid)
        guarded, index, sizes = False, [], []
        for dim in dims:
            text, size, leaves = self.load_dimension(dim, grid)
            guarded |= leaves
            index.append(text)
            sizes.append(size)
        if not reuse:
            self.inputs[name] = (dtype, sizes)
        return f"%{name[1:]}[{','.join(index)}]" + (f" else {self.literal(dtype)}" if guarded else "")

    def load_dimension(self, dim, grid):
        """The index, the size that the dimension has or gets, and whether the index leaves it."""
        if dim == self.dynamic and dim is not None or dim is None and self.dynamic in grid and self.chance(0.4):
            return self.dynamic, self.dynamic, False
        gathers = self.typed_values(INTEGERS, grid)
        if gathers and self.chance(0.3) and dim != 0:
            return self.use(self.one(gathers)), dim or self.one([1, 2, 4]), False
        terms = self.random_terms(grid)
        low, high = self.bounds(terms)
        if dim is None and self.chance(0.75):
            offset = -low + self.one([0, 0, 0, 1, 2])
            return affine_text(offset, terms), high + offset + 1 + self.one([0, 0, 1]), False
        size = dim if dim is not None else self.one([0, 1, 2, 3, 5])
        offset = self.one([-2, -1, 0, 0, 1])
        return affine_text(offset, terms), size, not (low + offset >= 0 and high + offset < size)

    def literal(self, dtype):
        if dtype == "bool":
            return self.one(["true", "false"])
        if dtype in FLOATS:
            return self.one(["0.5", "-1.0", "2", "0.1", "-0.0", "inf", "-inf", "nan", "1e-05", "300.0"])
        return self.one(["0", "1", "2", "3", "7"] + ([] if dtype.startswith("u") else ["-1", "-3"]))

    def typed_values(self, dtypes, grid):
        return [name for name, (dtype, axes) in self.values.items() if dtype in dtypes and set(axes) <= set(grid)]

    def use(self, name):
        return f"{name}[{','.join(self.values[name][1])}]"

    def operand(self, dtype, grid, typed=False, literals=True):
        values = self.typed_values([dtype], grid)
        kind = self.random.random()
        if not typed and kind < 0.1 and literals:
            return self.literal(dtype)
        if not typed and kind < 0.2 and grid:
            return f"iota {self.one(grid)}"
        return self.use(self.one(values)) if values and kind < 0.75 else self.load(dtype, grid)

    # --- Statements

    def statement(self, dtype, axes):
        """The right-hand side of a value of this dtype over these axes."""
        makers = [self.elementwise, self.elementwise, self.elementwise]
        if any(axis not in axes for axis in self.axes):
            makers += [self.reduction, self.reduction]
        if axes and dtype != "bool":
            makers.append(self.scan)
        return self.one(makers)(dtype, axes) + f" : {dtype}"

    def elementwise(self, dtype, axes):
        kind = self.random.random()
        if kind < 0.12:
            return f"cast {self.operand(self.one(self.dtypes), axes, typed=True)}"
        if kind < 0.24:
            typed = self.operand(dtype, axes, typed=True)
            return f"select {self.operand('bool', axes, typed=True)}, {typed}, {self.operand(dtype, axes)}"
        if dtype == "bool" and kind < 0.6:
            of = self.one(self.dtypes)
            op = self.one(COMPARISONS)
            nan_equal = " nan_equal=true" if op == "equal" and self.chance(0.3) else ""
            return f"{op} {self.operand(of, axes, typed=True)}, {self.operand(of, axes)}{nan_equal}"
        unary, binary = list(ON_ANY + ON_REALS), list(PAIRS)
        if dtype in FLOATS:
            unary, binary = unary + ON_FLOATS, binary + PAIRS_OF_FLOATS
        elif dtype == "bool":
            unary, binary = unary + ["logical_not", "bitwise_invert"], binary + BITS + ["logical_and", "logical_or"]
        else:
            unary, binary = unary + ["neg", "bitwise_invert"], binary + BITS + ["left_shift", "right_shift"]
        if kind < 0.6:
            return f"{self.one(unary)} {self.operand(dtype, axes)}"
        return f"{self.one(binary)} {self.operand(dtype, axes)}, {self.operand(dtype, axes)}"

    def reduction(self, dtype, axes):
        others = [axis for axis in self.axes if axis not in axes]
        reduced = self.some_axes(others) or [self.one(others)]
        if dtype == "u32" and self.chance(0.5):
            return self.argument_reduction(axes, reduced[0])
        grid = [axis for axis in self.axes if axis in axes or axis in reduced]
        ops, of = ["max", "min"], dtype
        if sum_dtype(dtype) == dtype:
            ops += ["sum", "prod"]
        if dtype == "bool":
            ops, of = ["any", "all", "max"], self.one(self.dtypes)
        if dtype in FLOATS and self.chance(0.4):
            return f"matmul({','.join(reduced)}) {self.operand(dtype, grid, typed=True)}, {self.operand(dtype, grid)}"
        op = self.one(ops)
        if op in ("max", "min") and any(self.axes[axis] == 0 for axis in reduced):
            return self.elementwise(dtype, axes)
        if op in ("sum", "prod"):
            of = self.one([other for other in self.dtypes + [dtype] if sum_dtype(other) == dtype])
        if op == "max":
            of = dtype
        return f"{op}({','.join(reduced)}) {self.operand(of, grid, typed=of != dtype, literals=False)}"

    def argument_reduction(self, axes, reduced):
        if self.axes[reduced] == 0:
            return self.elementwise("u32", axes)
        grid = [axis for axis in self.axes if axis in axes or axis == reduced]
        return f"{self.one(['argmax', 'argmin'])}({reduced}) {self.operand(self.one(self.dtypes), grid, typed=True)}"

    def scan(self, dtype, axes):
        ops = SCANS + (["logcumsumexp"] if dtype in FLOATS else [])
        attributes = (" inclusive=false" if self.chance(0.4) else "") + (" reverse=true" if self.chance(0.4) else "")
        return f"{self.one(ops)}({self.one(axes)}) {self.operand(dtype, axes, literals=False)}{attributes}"

    def add_value(self):
        name, dtype, axes = f"%v{len(self.lines)}", self.one(self.dtypes), self.some_axes()
        self.lines.append(f"{name}[{','.join(axes)}] = {self.statement(dtype, axes)}")
        self.values[name] = (dtype, axes)

    # --- Stores

    def add_output(self):
        name, axes = f"%y{len(self.outputs)}", self.some_axes()
        dtype = self.one(self.dtypes)
        index, dims = self.store_map(axes)
        splittable = [d for d, dim in enumerate(dims) if isinstance(dim, int)]
        if splittable and self.chance(0.35):
            self.add_parts(name, dtype, axes, index, dims, self.one(splittable))
            return
        self.outputs[name] = (dtype, dims)
        self.lines.append(f"{name}[{self.store_text(index)}] = {self.statement(dtype, axes)}")
        self.values[name] = (dtype, axes)

    @staticmethod
    def store_text(index):
        return ",".join(affine_text(offset, terms) for offset, terms in index)

    def store_map(self, axes):
        """A place for every element: axes in some order, reversed, two in one dimension, dimensions of size 1."""
        index, dims = [], []
        order = [str(axis) for axis in self.random.permutation(axes)]
        while order:
            axis = order.pop()
            size = self.axes[axis]
            if axis == self.dynamic:
                index.append((0, [(axis, 1)]))
                dims.append(axis)
            elif order and order[-1] != self.dynamic and size > 0 and self.chance(0.3):
                other = order.pop()
                index.append((0, sorted([(axis, 1), (other, size)], key=lambda term: list(self.axes).index(term[0]))))
                dims.append(size * self.axes[other])
            elif self.chance(0.2) and size > 0:
                index.append((size - 1, [(axis, -1)]))
                dims.append(size)
            else:
                index.append((0, [(axis, 1)]))
                dims.append(size)
            if self.chance(0.1):
                index.append((0, []))
                dims.append(1)
        return index, dims

    def add_parts(self, name, dtype, axes, index, dims, split):
        """The output twice as long in one dimension: one half after the other, or element by element in turn."""
        offset, terms = index[split]
        step = self.one([1, 2])
        for part in range(2):
            moved = (offset * step + part * (1 if step == 2 else dims[split]), [(a, c * step) for a, c in terms])
            place = index[:split] + [moved] + index[split + 1 :]
            self.lines.append(f"{name}[{self.store_text(place)}] = {self.statement(dtype, axes)}")
        self.outputs[name] = (dtype, dims[:split] + [2 * dims[split]] + dims[split + 1 :])

    # --- The whole

    def text(self):
        def buffer(role, name, dtype, dims):
            shape = ",".join(f"?{dim}" if isinstance(dim, str) else str(dim) for dim in dims)
            return f"    {role} {name}: {dtype}[{shape}] row\n"

        axes = ", ".join(f"{name}={'?' if name == self.dynamic else ''}{size}" for name, size in self.axes.items())
        return (
            "autoperfect.kernel 1\nkernel @random {\n  abi {\n"
            + "".join(buffer("in", name, *of) for name, of in self.inputs.items())
            + "".join(buffer("out", name, *of) for name, of in self.outputs.items())
            + f"  }}\n  math {{\n    axes {axes}\n"
            + "".join(f"    {line}\n" for line in self.lines)
            + f"  }}\n  numerics {{\n    accumulate {self.accumulate}\n  }}\n}}\n"
        )

    def make(self):
        for _ in range(self.one([1, 3, 5, 8])):
            self.add_value()
        for _ in range(self.one([1, 1, 2, 3])):
            self.add_output()
        self.accumulate = self.one(["f32", "f32", "f32", "f64", "bf16"])
        return self.text()

    def array(self, dtype, dims, dynamic_size):
        shape = [dynamic_size if isinstance(dim, str) else dim for dim in dims]
        if dtype == "bool":
            return self.random.random(shape) < 0.5
        if dtype in FLOATS:
            numbers = self.random.normal(size=shape) * self.random.choice([0.1, 1, 1, 1, 10, 1e4], size=shape)
            special = self.random.choice([0.0, -0.0, 1.0, 0.5, 2.5, np.inf, -np.inf, np.nan], size=shape)
            numbers = np.asarray(np.where(self.random.random(shape) < 0.2, special, numbers))
            if dtype == "bf16":
                return (numbers.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
            return numbers.astype(f"f{int(dtype[1:]) // 8}")
        kind = np.dtype(f"{dtype[0]}{int(dtype[1:]) // 8}")
        limits = np.iinfo(kind)
        small = self.random.integers(0 if dtype[0] == "u" else -4, 9, size=shape)
        extreme = self.random.choice(np.array([limits.min, limits.max], kind), size=shape)
        return np.asarray(np.where(self.random.random(shape) < 0.1, extreme, small.astype(kind)), kind)

    def arrays(self):
        size = self.one([1, 2, 3, 5])
        return [self.array(dtype, dims, size) for dtype, dims in self.inputs.values()]


def random_kernel(seed):
    """A text and its inputs."""
    maker = Maker(seed)
    return maker.make(), maker.arrays()
