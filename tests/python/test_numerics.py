"""numerics="wide": halves may stay in float32 until they are stored. Never unless it was asked for."""

import mlx.core as mx
import numpy as np
import pytest
from autoperfect import _core

import autoperfect as ap

ROWS, COLUMNS = 64, 256


def chain(x, y):
    """What rounding takes away from the sum is what is left over."""
    return (x + y) - x, mx.sum((x * y) + x, axis=-1)


def arguments(dtype):
    mx.random.seed(3)
    return [(mx.random.normal((ROWS, COLUMNS)) * scale).astype(dtype) for scale in (8.0, 0.5)]


def run(numerics, x, y):
    """By kernels of ours, whether they are faster or not."""
    stages = _core.Stages(chain, [x, y], "untimed", numerics=numerics)
    assert all(region["provenance"] for region in stages.regions), stages.regions
    outputs = stages.call()
    mx.eval(outputs)
    return outputs, stages.regions


def numbers(array):
    return np.array(array.astype(mx.float32))


@pytest.mark.parametrize("dtype", [mx.bfloat16, mx.float16])
def test_the_default_is_faithful_to_the_bit(dtype):
    x, y = arguments(dtype)
    (rest, _), regions = run("mlx", x, y)
    assert all("wide" not in region["kernel"] for region in regions)
    np.testing.assert_array_equal(numbers(rest), numbers(chain(x, y)[0]))


@pytest.mark.parametrize("dtype", [mx.bfloat16, mx.float16])
def test_wide_rounds_where_it_stores_only(dtype):
    x, y = arguments(dtype)
    (rest, total), regions = run("wide", x, y)
    assert all("    wide yes\n" in region["kernel"] for region in regions)
    assert all(region["provenance"].endswith(", wide") for region in regions)
    in_f32 = chain(x.astype(mx.float32), y.astype(mx.float32))
    np.testing.assert_array_equal(numbers(rest), numbers(in_f32[0].astype(dtype)))
    assert np.mean(numbers(rest) != numbers(chain(x, y)[0])) > 0.5
    unit = 2.0**-7 if dtype == mx.bfloat16 else 2.0**-10
    np.testing.assert_allclose(numbers(total), numbers(in_f32[1]), rtol=unit, atol=1e-3)


def test_wide_changes_nothing_of_float32():
    x, y = arguments(mx.float32)
    kernels = [[r["kernel"] for r in _core.Stages(chain, [x, y], "raised", numerics=n).regions] for n in ("mlx", "wide")]
    assert kernels[0] == kernels[1] and "wide" not in kernels[1][0]


def test_wide_has_signatures_of_its_own_and_explain_names_it():
    x, y = arguments(mx.bfloat16)
    texts = {}
    for numerics in ("mlx", "wide"):
        texts[numerics] = ap.explain(ap.compile(chain, numerics=numerics), x, y)
    named = "numerics: wide, as asked for: f16 and bf16 stay in f32 until they are stored"
    assert named in texts["wide"] and "numerics:" not in texts["mlx"]
    signatures = {n: {line for line in text.splitlines() if "signature:" in line} for n, text in texts.items()}
    of = lambda lines: {line.split()[1] for line in lines}
    assert signatures["mlx"] and not of(signatures["mlx"]) & of(signatures["wide"])


def test_wide_results_are_nearer_to_the_oracle():
    x, y = arguments(mx.bfloat16)
    oracle = numbers(x).astype(np.float64) + numbers(y) - numbers(x)
    (wide, _), _ = run("wide", x, y)
    error = lambda array: np.mean(np.abs(numbers(array) - oracle))
    assert error(wide) < error(chain(x, y)[0]) / 8


def test_another_word_is_refused():
    with pytest.raises(ValueError, match='numerics is "mlx" or "wide", not "fast"'):
        ap.compile(chain, numerics="fast")
