"""Random well-typed MLX programs as source text. Values stay bounded and steps are taken on inputs only, so that eager and
a fused kernel may differ by rounding and by nothing else."""

import random

SHAPES = [((67, 257), 1), ((5, 33, 96), 2), ((2048,), 0), ((128, 1000), 1)]
FLOATS = ["float32", "float32", "bfloat16", "float16"]


class Program:
    """`source` defines f(x, y, row, column, keep, count); `make` gives such arguments."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.shape, self.last = self.random.choice(SHAPES)
        self.dtype = self.random.choice(FLOATS)
        self.lines, self.full = [], ["x", "y"]
        for _ in range(self.random.randint(3, 14)):
            self.add_statement()
        results = self.random.sample(self.full[-4:], self.random.randint(1, min(3, len(self.full[-4:]))))
        reduced = [name for name in (self.reduce(self.pick()) for _ in range(self.random.randint(0, 2)))]
        body = "\n".join("    " + line for line in self.lines)
        self.source = f"def f(x, y, row, column, keep, count):\n{body}\n    return {', '.join(results + reduced)},\n"

    def pick(self):
        return self.random.choice(self.full)

    def let(self, expression, full=True):
        name = f"v{len(self.lines)}"
        self.lines.append(f"{name} = {expression}")
        if full:
            self.full.append(name)
        return name

    def reduce(self, a):
        axis = self.random.choice([-1, -1, None, 0] if self.last else [-1, None])
        keep = self.random.choice([True, False])
        how = self.random.choice(["max", "min", "mean", "logsumexp", "var"])
        return self.let(f"mx.{how}({a}, axis={axis}, keepdims={keep})", full=False)

    def add_statement(self):
        a, b = self.pick(), self.pick()
        kinds = [
            lambda: f"mx.tanh({a} + {b})",
            lambda: f"mx.sigmoid({a}) * {b}",
            lambda: f"0.5 * {a} - 0.25 * {b}",
            lambda: f"mx.maximum({a}, {b}) * row",
            lambda: f"mx.minimum({a}, column) + 0.125",
            lambda: f"mx.where(keep, {a}, {b})",
            lambda: f"mx.where(x > y, {a}, -{b})",
            lambda: f"mx.exp(-mx.abs({a}))",
            lambda: f"mx.square(mx.tanh({a}))",
            lambda: f"mx.sqrt(mx.abs({a}) + 1.0)",
            lambda: f"mx.erf({a})",
            lambda: f"mx.log1p(mx.abs({a}))",
            lambda: f"mx.sin({a}) * mx.cos({b})",
            lambda: f"mx.tanh({a}) ** 3",
            lambda: f"mx.clip({a}, -0.75, 1.5)",
            lambda: f"{a}.astype(mx.float32).astype(mx.{self.dtype})",
            lambda: f"mx.tanh({a}) * count.astype(mx.{self.dtype}) * 0.03125",
            lambda: f"mx.softmax({a}, axis=-1, precise=True)",
            lambda: f"{a} - mx.max({a}, axis=-1, keepdims=True)",
            lambda: f"mx.tanh({a}) - mx.mean({b}, axis=-1, keepdims=True)",
            lambda: f"mx.tanh({a}) * mx.rsqrt(mx.mean(mx.square({b}), axis=-1, keepdims=True) + 0.5)",
            lambda: f"mx.tanh(mx.{self.random.choice(['sum', 'max', 'min'])}({a}, axis=0, keepdims=True)) * {b}",
        ]
        self.let(self.random.choice(kinds)())

    def make(self, mx):
        keys = [mx.random.key(k) for k in range(6)]
        dtype = getattr(mx, self.dtype)
        normal = lambda shape, key: mx.random.normal(shape, key=key).astype(dtype)
        column = self.shape[:-1] + (1,)
        return (
            normal(self.shape, keys[0]),
            normal(self.shape, keys[1]),
            normal(self.shape[-1:], keys[2]),
            normal(column, keys[3]),
            mx.random.bernoulli(0.5, self.shape, key=keys[4]),
            mx.random.randint(-5, 5, self.shape[-1:], key=keys[5]),
        )

    def function(self, mx):
        scope = {"mx": mx}
        exec(self.source, scope)  # our own text, three lines above
        return scope["f"]
