"""What a workload is, and how its inputs are made: seeded by the name, so that every run sees the same numbers."""

import dataclasses
import zlib
from typing import Callable

import mlx.core as mx


@dataclasses.dataclass(frozen=True)
class Workload:
    name: str
    function: Callable
    inputs: Callable  # (Draw, rows, columns) -> tuple of arguments
    kind: str  # "elementwise", "reduction" or "mixed"
    built_in: Callable = None  # MLX's own hand-written operation for the same, where it has one

    def make_args(self, size, dtype=mx.float32):
        draw = Draw(dtype, zlib.crc32(self.name.encode()))
        arguments = self.inputs(draw, *size)
        mx.eval(arguments)
        return arguments


class Draw:
    """Random inputs of one dtype; each call takes the next key."""

    def __init__(self, dtype, seed):
        self.dtype = dtype
        self.key = mx.random.key(seed)

    def next_key(self):
        self.key, key = mx.random.split(self.key)
        return key

    def normal(self, *shape, scale=1.0, mean=0.0, dtype=None):
        values = mx.random.normal(shape, key=self.next_key()) * scale + mean
        return values.astype(dtype or self.dtype)

    def positive(self, *shape, scale=1.0):
        return mx.abs(mx.random.normal(shape, key=self.next_key()) * scale).astype(self.dtype)

    def labels(self, count, classes):
        return mx.random.randint(0, classes, (count,), key=self.next_key())
