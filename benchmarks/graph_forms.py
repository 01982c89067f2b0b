"""Programs of a wished number of ops, in the forms that graphs of real programs have: for the time that compiling takes,
not for what they compute. Each is (function, arguments)."""

import mlx.core as mx

ROWS, WIDTH = 8, 16


def rows():
    return mx.random.normal((ROWS, WIDTH))


def chain(ops):
    """One long chain of elementwise ops with a constant here and there."""

    def run(x):
        for step in range(ops // 9):
            x = mx.tanh(x * (1 + step % 7) + 0.5) - mx.abs(x)
        return x

    return run, [rows()]


def fan(ops):
    """One tensor read by many branches, whose results are added up pairwise."""

    def run(x):
        level = [mx.exp(x * float(branch)) for branch in range(ops // 5)]
        while len(level) > 1:
            pairs = [a + b for a, b in zip(level[::2], level[1::2])]
            level = pairs + level[len(level) // 2 * 2 :]
        return level[0]

    return run, [rows()]


def blocks(ops):
    """Transformer-like: norm, attention with a softmax, residual, norm, gated MLP, residual."""
    per_block = 50

    def norm(x, gain):
        return x * mx.rsqrt(mx.mean(mx.square(x), axis=-1, keepdims=True) + 1e-5) * gain

    def run(x, weight, gain):
        for _ in range(max(1, ops // per_block)):
            y = norm(x, gain)
            q, k, v = y @ weight, y @ weight.T, y @ (weight * 0.5)
            x = x + mx.softmax(q @ k.T * 0.25, axis=-1) @ v @ weight
            y = norm(x, gain)
            gate = y @ weight
            x = x + (gate * mx.sigmoid(gate) * (y @ weight.T)) @ weight
        return x

    return run, [rows(), mx.random.normal((WIDTH, WIDTH)), mx.ones((WIDTH,))]


def parameters(ops):
    """A step of AdamW over many independent parameters."""
    per_parameter = 27
    count = max(1, ops // per_parameter)

    def update(p, g, m, v):
        m = 0.9 * m + 0.1 * g
        v = 0.999 * v + 0.001 * mx.square(g)
        return p * (1 - 1e-4) - 1e-3 * m / (mx.sqrt(v) + 1e-8), m, v

    def run(*arrays):
        return [new for i in range(count) for new in update(*arrays[4 * i : 4 * i + 4])]

    return run, [rows() for _ in range(4 * count)]


def ladder(ops):
    """Diamonds on top of each other: each value is read twice, and the paths meet again at the next."""

    def run(x):
        y = x
        for _ in range(ops // 4):
            x, y = mx.sin(x) + y, mx.cos(y) * x
        return x + y

    return run, [rows()]


FORMS = {form.__name__: form for form in (chain, fan, blocks, parameters, ladder)}
