"""Compiled functions under, over and inside MLX's transformations."""

import mlx.core as mx
import pytest
from agreement import same

import autoperfect as ap


@pytest.fixture(autouse=True)
def on_the_cpu():
    mx.set_default_device(mx.cpu)
    mx.random.seed(7)


X = mx.arange(6.0).reshape(2, 3) / 4


class TestTransformations:
    def setup_method(self):
        self.w = mx.array([0.5, -1.0, 2.0])
        self.fn = lambda x: mx.tanh(x * self.w).sum()

    def test_gradient_of_a_compiled_function(self):
        same(mx.grad(self.fn)(X), mx.grad(ap.compile(self.fn))(X))

    def test_compiled_gradient(self):
        same(mx.grad(self.fn)(X), ap.compile(mx.grad(self.fn))(X))
        same(mx.grad(mx.grad(lambda x: (x**3).sum() * x.sum()))(mx.array(2.0)),
             ap.compile(mx.grad(mx.grad(lambda x: (x**3).sum() * x.sum())))(mx.array(2.0)))

    def test_gradient_with_respect_to_a_closure(self):
        fast = ap.compile(lambda x: mx.tanh(x * self.w).sum())
        fast(X)

        def loss(w):
            self.w = w
            return fast(X)

        w = self.w
        gradient = mx.grad(loss)(w)
        self.w = w
        same(mx.grad(lambda w: mx.tanh(X * w).sum())(w), gradient)
        same(fast(X), mx.tanh(X * w).sum())

    def test_vmap_and_jvp(self):
        fast = ap.compile(lambda x: mx.softmax(x) * self.w)
        same(mx.vmap(lambda x: mx.softmax(x) * self.w)(X), mx.vmap(fast)(X))
        same(mx.jvp(lambda x: mx.exp(x), [X], [X]), mx.jvp(ap.compile(lambda x: mx.exp(x)), [X], [X]))

    def test_nested(self):
        inner = ap.compile(lambda x: mx.exp(x) * self.w)
        same(ap.compile(lambda x: inner(x) + inner(x * 2))(X), inner(X) + inner(X * 2))
        same(mx.compile(lambda x: inner(x) + 1)(X), inner(X) + 1)
        same(ap.compile(mx.compile(lambda x: x * 2 + 1))(X), X * 2 + 1)

    def test_checkpoint_and_custom_function(self):
        @mx.custom_function
        def f(x):
            return mx.sin(x)

        f.vjp(lambda primals, cotangents, outputs: cotangents * 7)
        same(mx.grad(ap.compile(lambda x: f(x).sum()))(X), mx.full(X.shape, 7.0))
        same(ap.compile(mx.grad(lambda x: f(x).sum()))(X), mx.full(X.shape, 7.0))
        same(ap.compile(mx.grad(mx.checkpoint(self.fn)))(X), mx.grad(self.fn)(X))

    def test_export(self, tmp_path):
        path = str(tmp_path / "f.mlxfn")
        mx.export_function(path, ap.compile(self.fn), X)
        same(mx.import_function(path)(X)[0], self.fn(X))
