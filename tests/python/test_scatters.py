"""Scatters of few updates inside kernels: they are where they should be, every way to run them agrees with MLX, and those
that stay MLX's run its own op."""

import collections
import re

import mlx.core as mx
import pytest
from agreement import same

import autoperfect as ap
from tests.differential.legs import Check, Options
from workloads.programs import PROGRAMS, penalize_repetition


@pytest.fixture(autouse=True)
def on_the_cpu():
    mx.set_default_device(mx.cpu)


def regions_of(function, *arguments):
    """Kernels of the plan without asking for their gain, and what does not run in one."""
    check = Check(function, arguments, collections.Counter())
    stages = check.build("raised")
    return [region["kernel"] for region in stages.regions], stages.canonical


def agrees_every_way(function, *arguments):
    """The reference, raised kernels and compiled ones, by the gate and by MLX."""
    mx.disable_compile()
    try:
        for schedule in (0, 1):
            count = collections.Counter()
            Check(lambda *given: [function(*given)], arguments, count, Options(schedule)).run()
            assert count["leg kernel"] > 0, count
    finally:
        mx.enable_compile()


def cross_entropy(x, targets):
    return mx.mean(mx.logsumexp(x, axis=-1) - mx.take_along_axis(x, targets[:, None], axis=-1).squeeze(-1))


def indexed_cross_entropy(x, targets):
    return mx.mean(mx.logsumexp(x, axis=-1) - x[mx.arange(x.shape[0]), targets])


@pytest.mark.parametrize("loss", [cross_entropy, indexed_cross_entropy])
@pytest.mark.parametrize("dtype", [mx.float32, mx.bfloat16, mx.float16])
def test_the_gradient_of_a_cross_entropy_is_one_kernel(loss, dtype):
    x, targets = mx.random.normal((9, 37)).astype(dtype), mx.array([0, 36, 5, 5, 7, -1, 30, -37, 2])
    kernels, _ = regions_of(mx.grad(loss), x, targets)
    assert len(kernels) == 1 and "equal" in kernels[0]
    agrees_every_way(mx.grad(loss), x, targets)
    one_hot = (mx.arange(37) == targets[:, None] % 37).astype(mx.float32)
    expected = (mx.softmax(x.astype(mx.float32), axis=-1) - one_hot) / 9
    found = ap.compile(mx.grad(loss))(x, targets).astype(mx.float32)
    assert mx.allclose(found, expected, rtol=0, atol={mx.float32: 1e-6, mx.bfloat16: 4e-3, mx.float16: 5e-4}[dtype])


@pytest.mark.parametrize("rows", [1, 3])
def test_a_repetition_penalty_is_one_kernel(rows):
    logits = mx.random.normal((rows, 200))
    tokens = mx.array([3, 199, 3, -1, 0, 7, 8, 9, 10, 11, 12, 3, 14, 15, 16, 17, 18, 19, 20, 21])
    kernels, _ = regions_of(penalize_repetition, logits, tokens)
    assert len(kernels) == 1 and kernels[0].count(" = equal ") == 20
    agrees_every_way(penalize_repetition, logits, tokens)


def test_the_groups_of_experts_are_masked_in_a_kernel():
    program = PROGRAMS["select_experts"]
    kernels, graph = regions_of(program.function, *program.make_args())
    assert "scatter_axis" in graph and sum(kernel.count(" = equal ") for kernel in kernels) == 4


X = mx.arange(24.0).reshape(4, 6) / 8 - 1
TWICE = mx.array([1, -5, 0, 1])  # 1 three times, of 6
EDGES = mx.array([float("nan"), -0.0, float("inf"), 0.0])


def put(x, at, u):
    return mx.put_along_axis(x + 0, mx.broadcast_to(at, (x.shape[0], at.size)), u, axis=-1) * 2


CASES = {
    "assigned": lambda x, u: put(x, TWICE, u),
    "added": lambda x, u: (x + 0).at[:, TWICE].add(u) * 2,
    "multiplied": lambda x, u: (x + 0).at[:, TWICE].multiply(u) * 2,
    "largest": lambda x, u: (x + 0).at[:, TWICE].maximum(u) * 2,
    "least": lambda x, u: (x + 0).at[:, TWICE].minimum(u) * 2,
    "of two axes": lambda x, u: (x + 0).at[mx.array([0, -4, 3, 0]), TWICE].add(u) * 2,
    "of whole rows": lambda x, u: (x + 0).at[mx.array([0, -4, 3])].add(u[0]) * 2,
    "beside whole axes": lambda x, u: (x.reshape(4, 2, 3) + 0).at[mx.array([0, -4, 3]), ..., mx.array([1, -2, 1])].add(u[:2]) * 2,
    "at a column of rows": lambda x, u: (x.reshape(2, 4, 3) + 0).at[mx.arange(2), ..., 2].add(u) * 2,
    "at their own rows": lambda x, u: (x + 0).at[mx.arange(4), TWICE].add(u) * 2,
}


@pytest.mark.parametrize("dtype", [mx.float32, mx.bfloat16, mx.float16, mx.int32, mx.uint8])
@pytest.mark.parametrize("name", CASES)
def test_updates_land_in_order(name, dtype):
    x, u = (X * 4).astype(dtype), mx.array([1.5, -2, 3, 0.375]).astype(dtype)
    kernels, _ = regions_of(CASES[name], x, u)
    assert len(kernels) == 1 and " = equal " in kernels[0]
    agrees_every_way(CASES[name], x, u)


@pytest.mark.parametrize("name", ["assigned", "added", "largest", "least"])
def test_nan_and_signed_zeros(name):
    special = mx.concatenate([EDGES, -EDGES[::-1], mx.zeros(16)]).reshape(4, 6)
    agrees_every_way(CASES[name], special, EDGES)
    agrees_every_way(CASES[name], special, -EDGES[::-1])


@pytest.mark.parametrize("index", [mx.int8, mx.int16, mx.int64, mx.uint8, mx.uint32])
def test_indices_of_any_integers(index):
    at = mx.array([250, 3, 299, 250] if index == mx.uint32 else [100, 3, 127, 100]).astype(index)
    if index not in (mx.uint8, mx.uint32):
        at = mx.where(at == 3, mx.array(-1, index), at)
    agrees_every_way(lambda x, at: (x + 0).at[at].add(1.5) * 2, mx.arange(300.0), at)


def test_bools_are_assigned():
    agrees_every_way(lambda x: mx.logical_not(put(x.astype(mx.int32), TWICE, mx.array([1, 0, 1, 0])) > 1), X > 0)
    agrees_every_way(
        lambda x: mx.logical_not(mx.put_along_axis(x > 0, TWICE[None] + mx.zeros((4, 1), mx.int32), mx.array(True), axis=-1)), X)


def test_indices_that_the_program_finds():
    agrees_every_way(lambda x: mx.put_along_axis(x * 2, mx.argmax(x * 2, axis=-1, keepdims=True), mx.array(-mx.inf), axis=-1) + 1, X)
    targets = mx.array([3, -100, 5, 0])

    def masked(x, targets):
        keep = targets != -100
        at = mx.where(keep, targets, 0)[:, None]
        return (mx.logsumexp(x, axis=-1) - mx.take_along_axis(x, at, axis=-1).squeeze(-1)) @ keep.astype(x.dtype)

    agrees_every_way(mx.grad(masked), X, targets)


def test_what_stays_runs_mlx_s_own():
    """Too many updates, and an array that MLX may write into: the op of the program runs, and explain says why."""
    many = mx.arange(40) % 13
    cases = [
        (lambda x: mx.exp((x * 2).at[many].add(1.0)), mx.random.normal((64,)), "scatter has 40 updates for each element"),
        (lambda x: mx.exp(x.at[mx.array([3])].add(1.0)), mx.random.normal((2048, 1024)), "scatter updates a large array that"),
    ]
    for function, x, reason in cases:
        assert reason in re.sub(r"\s+", " ", ap.explain(function, x))
        same(ap.compile(function)(x), function(x))


def test_the_gradient_and_rows_of_a_kernel_with_a_scatter():
    """Derivatives and vmap of what became a kernel."""
    x, u = X, mx.array([1.5, -2, 3, 0.375])
    total = lambda x, u: (mx.exp((x + 0).at[:, TWICE].add(u)) * 2).sum()
    fast = ap.compile(lambda x, u: mx.exp((x + 0).at[:, TWICE].add(u)) * 2)
    for argument in (0, 1):
        found = mx.grad(lambda *given: fast(*given).sum(), argnums=argument)(x, u)
        assert mx.allclose(found, mx.grad(total, argnums=argument)(x, u), rtol=1e-5)
