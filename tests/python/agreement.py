"""What it means that two results agree: same structure, types, shapes and dtypes, and numbers up to rounding."""

import mlx.core as mx
import numpy as np

import autoperfect as ap


def same(a, b):
    if isinstance(a, mx.array):
        assert isinstance(b, mx.array) and a.dtype == b.dtype and a.shape == b.shape
        wide = mx.float32 if a.dtype in (mx.bfloat16, mx.float16) else a.dtype
        np.testing.assert_allclose(np.array(a.astype(wide)), np.array(b.astype(wide)), rtol=2e-5, atol=2e-6)
    elif isinstance(a, dict):
        assert isinstance(b, dict) and list(a) == list(b)
        for key in a:
            same(a[key], b[key])
    elif isinstance(a, (list, tuple)):
        assert type(a) is type(b) and len(a) == len(b)
        for x, y in zip(a, b):
            same(x, y)
    else:
        assert type(a) is type(b) and (a == b or a != a)


def check(fn, *calls):
    """Each call twice, in turn: specialisations must not be mistaken for one another."""
    fast = ap.compile(fn)
    for args in calls + calls:
        same(fn(*args), fast(*args))
    return fast
