"""Recipes of input arrays: a line of text makes the same array on any machine."""

import dataclasses
import math

import mlx.core as mx
import numpy as np

FLOATS = ("float32", "float16", "bfloat16")
INTEGERS = ("int32", "int8", "int16", "int64", "uint8", "uint16", "uint32", "uint64")
DTYPES = (*FLOATS, *INTEGERS, "bool", "complex64")
SPECIAL = (0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 2.5, -0.5, 65504.0, 1e-40, -3e38)
# row: as an array is born. The others are views, as a program may get them.
LAYOUTS = ("row", "transposed", "strided", "reversed", "broadcast")
KINDS = ("normal", "integers", "special", "equal")


def dtype_name(dtype):
    return str(dtype).removeprefix("mlx.core.").removesuffix("_")


@dataclasses.dataclass(frozen=True)
class Recipe:
    dtype: str
    shape: tuple
    kind: str = "normal"
    layout: str = "row"
    seed: int = 0

    def __str__(self):
        return f"{self.dtype}[{','.join(map(str, self.shape))}] {self.kind} {self.layout} seed={self.seed}"

    @staticmethod
    def parse(text):
        head, kind, layout, seed = text.split()
        dtype, _, sizes = head.rstrip("]").partition("[")
        shape = tuple(int(size) for size in sizes.split(",") if size)
        return Recipe(dtype, shape, kind, layout, int(seed.removeprefix("seed=")))

    def numbers(self, shape):
        random = np.random.default_rng(self.seed)
        if self.dtype == "bool":
            return random.integers(0, 2, shape).astype(bool)
        if self.dtype in INTEGERS:
            low = 0 if self.dtype.startswith("u") else -9
            return random.integers(low, 10, shape)
        if self.dtype == "complex64":
            return (random.normal(size=shape) + 1j * random.normal(size=shape)).astype(np.complex64)
        if self.kind == "integers":
            return random.integers(-4, 5, shape).astype(np.float32)
        numbers = np.asarray(random.normal(size=shape), np.float32)
        if self.kind == "equal":
            numbers = np.full(shape, np.float32(random.normal()))
        if self.kind == "special":
            special = random.choice(np.array(SPECIAL, np.float32), shape)
            numbers = np.where(random.random(shape) < 0.2, special, numbers).astype(np.float32)
        return numbers

    def make(self):
        """The array, evaluated."""
        shape, rank = self.shape, len(self.shape)
        layout = self.layout if rank else "row"
        stored = {
            "row": shape,
            "transposed": shape[::-1],
            "strided": shape[:-1] + (2 * shape[-1] + 1,) if rank else shape,
            "reversed": shape,
            "broadcast": (1,) + shape[1:],
        }[layout]
        dtype = getattr(mx, "bool_" if self.dtype == "bool" else self.dtype)
        # MLX 0.32 leaves the strides of what NumPy holds no elements of to chance: reductions of it may not return.
        array = mx.array(self.numbers(stored)).astype(dtype) if math.prod(stored) else mx.zeros(stored, dtype)
        view = {
            "row": lambda: array,
            "transposed": lambda: mx.transpose(array),
            "strided": lambda: array[..., 1::2],
            "reversed": lambda: array[::-1],
            "broadcast": lambda: mx.broadcast_to(array, shape),
        }[layout]()
        mx.eval(view)
        return view
