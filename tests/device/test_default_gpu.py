"""With MLX's default device set to a GPU, where no backend of ours exists yet, plain MLX runs; on a CPU stream of the same
process kernels of ours do. Needs a GPU; also runs without pytest: python tests/device/test_default_gpu.py"""

import sys

import mlx.core as mx
import mlx.nn as nn

import autoperfect as ap

NO_GPU = "no GPU: MLX has none on this machine"


def layer_norm(x, w):
    centred = x - mx.mean(x, axis=-1, keepdims=True)
    return centred * mx.rsqrt(mx.mean(centred * centred, axis=-1, keepdims=True) + 1e-5) * w


def inputs():
    return mx.random.normal((512, 1024), key=mx.random.key(1)), mx.linspace(0.5, 1.5, 1024)


def close(ours, theirs, tolerance=1e-4):
    assert ours.dtype == theirs.dtype and ours.shape == theirs.shape
    assert mx.allclose(ours.astype(mx.float32), theirs.astype(mx.float32), rtol=tolerance, atol=tolerance).item()


def test_values_are_those_of_mlx():
    mx.set_default_device(mx.gpu)
    fast = ap.compile(layer_norm)
    for _ in range(2):
        close(fast(*inputs()), layer_norm(*inputs()))


def test_explain_says_that_mlx_runs():
    mx.set_default_device(mx.gpu)
    assert "plain MLX runs" in ap.explain(layer_norm, *inputs())


def test_trees_constants_and_state():
    mx.set_default_device(mx.gpu)
    state = [mx.ones((4,)), mx.zeros((4,))]

    def step(batch, *, rate):
        loss, grads = mx.value_and_grad(lambda p: mx.square(batch["x"] @ p[0] + p[1].sum()).mean())(list(state))
        state[0] = state[0] - rate * grads[0]
        return {"loss": loss}

    fast = ap.compile(step, inputs=state, outputs=state)
    losses = [fast({"x": mx.ones((8, 4))}, rate=0.01)["loss"].item() for _ in range(3)]
    assert losses[0] > losses[1] > losses[2]


def test_gradients():
    mx.set_default_device(mx.gpu)
    fast = ap.compile(layer_norm)
    loss = lambda f: mx.grad(lambda x, w: mx.square(f(x, w)).sum(), argnums=1)(*inputs())
    close(loss(fast), loss(layer_norm), 1e-2)


def test_module():
    mx.set_default_device(mx.gpu)
    block = nn.Sequential(nn.Linear(64, 128), nn.GELU(), nn.LayerNorm(128))
    x = mx.random.normal((32, 64))
    close(ap.compile(block)(x), block(x), 1e-2)


def test_cpu_beside_the_gpu():
    mx.set_default_device(mx.cpu)
    try:
        fast = ap.compile(layer_norm)
        for _ in range(2):
            close(fast(*inputs()), layer_norm(*inputs()))
        assert not fast.outcomes()[0]["use_mlx"], fast.outcomes()
        mx.set_default_device(mx.gpu)
        close(fast(*inputs()), layer_norm(*inputs()))
        mx.set_default_device(mx.cpu)
        close(fast(*inputs()), layer_norm(*inputs()))
    finally:
        mx.set_default_device(mx.gpu)


try:
    import pytest

    pytestmark = pytest.mark.skipif(not mx.is_available(mx.gpu), reason=NO_GPU)
except ImportError:  # a GPU machine need not have it
    pass

if __name__ == "__main__":
    if not mx.is_available(mx.gpu):
        sys.exit(NO_GPU)
    tests = [(name, test) for name, test in sorted(globals().items()) if name.startswith("test_")]
    for name, test in tests:
        test()
        print(f"passed {name}", flush=True)
    print(f"{len(tests)} passed, 0 failed")
