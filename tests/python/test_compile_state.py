"""Captured state, and functions with side effects: either the semantics of mx.compile, or plain eager execution."""

import functools

import mlx.core as mx
import mlx.nn as nn
import mlx.optimizers as optim
import pytest
from agreement import same

import autoperfect as ap


@pytest.fixture(autouse=True)
def on_the_cpu():
    mx.set_default_device(mx.cpu)
    mx.random.seed(7)


X = mx.arange(6.0).reshape(2, 3) / 4


class TestState:
    def train(self, wrap, steps=6):
        mx.random.seed(1)
        net = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.LayerNorm(8), nn.Linear(8, 1))
        opt = optim.AdamW(1e-2)
        state = [net.state, opt.state]

        def step(x, y):
            loss, grads = nn.value_and_grad(net, lambda x, y: nn.losses.mse_loss(net(x), y))(x, y)
            opt.update(net, grads)
            return loss

        step = wrap(step, inputs=state, outputs=state)
        losses = []
        for n in (16, 16, 16, 5, 16, 5)[:steps]:
            losses.append(step(mx.ones((n, 4)), mx.zeros((n, 1))))
            mx.eval(state, losses)
        self.step = step
        return losses, [v for _, v in nn.utils.tree_flatten(net.parameters())], opt.state["step"]

    def test_training(self):
        eager = self.train(lambda fn, **_: fn)
        same(eager, self.train(ap.compile))
        assert "matmul" in self.step.graph  # it was compiled

    def test_entries_that_are_replaced(self):
        def run(wrap):
            state = [mx.ones((3, 4)), mx.zeros(3)]

            def step(x):
                state[0] = state[0] * 0.5
                state[1] = state[1] + (x @ state[0].T).mean(0)
                return state[1].sum()

            step = wrap(step, inputs=state, outputs=state)
            return [step(mx.ones((2, 4))) for _ in range(3)], state

        same(run(lambda fn, **_: fn), run(ap.compile))

    def test_outputs_only(self):
        cache = {}

        @ap.compile(outputs=cache)
        def fn(x):
            cache["last"] = x * 2
            return x + 1

        for scale in (1, 2, 3):
            same(fn(X * scale), X * scale + 1)
            same(cache["last"], X * scale * 2)

    def test_random_state(self):
        def draw(wrap):
            mx.random.seed(5)
            fn = wrap(lambda x: x + mx.random.normal(x.shape), inputs=mx.random.state, outputs=mx.random.state)
            return [fn(mx.zeros(3)) for _ in range(3)], mx.random.uniform(shape=(2,))

        same(draw(lambda fn, **_: fn), draw(ap.compile))
        same(draw(mx.compile), draw(ap.compile))

    def test_random_state_as_an_input_alone_is_left_whole(self):
        fast = ap.compile(lambda x: x + mx.random.uniform(), inputs=[mx.random.state])
        fast(mx.zeros(2))
        mx.eval(mx.random.normal((2,)))

    def test_an_exception_leaves_the_state_whole(self):
        state = {"w": mx.ones(3)}

        def fn(x):
            state["w"] = state["w"] + x
            raise KeyError("mine")

        fast = ap.compile(fn, inputs=state, outputs=state)
        with pytest.raises(KeyError, match="mine"):
            fast(mx.ones(3))
        same(state["w"], mx.ones(3))


COUNTER = 0
KEPT = None


class TestSideEffects:
    def test_nonlocal(self, capfd):
        def make(wrap):
            y = None

            def fn(x):
                nonlocal y
                y = mx.zeros_like(x) if y is None else y
                y = 0.9 * y + 0.1 * x
                return y.sum()

            return wrap(fn)

        plain, fast = make(lambda fn: fn), make(ap.compile)
        for _ in range(3):
            same(plain(X), fast(X))
        assert "'y'" in capfd.readouterr().err

    def test_list_dict_and_attribute(self):
        class Holder:
            pass

        log, table, holder = [], {}, Holder()

        def fn(x):
            h = mx.tanh(x)
            log.append(h)
            table["h"] = [h]
            holder.h = h
            return h * h

        for keep in ("log", "table", "holder"):
            fast = ap.compile(fn)
            log.clear()
            fast(mx.ones(2))
            same(fast(mx.zeros(2)), mx.zeros(2))
            assert len(log) == 2
            same(log[-1], mx.zeros(2))
            same(table["h"][0], mx.zeros(2))
            same(holder.h, mx.zeros(2))

    def test_global(self):
        def fn(x):
            global KEPT
            KEPT = x + 1
            return KEPT * 2

        fast = ap.compile(fn)
        same(fast(X), (X + 1) * 2)
        same(KEPT, X + 1)
        same(fast(X * 2), (X * 2 + 1) * 2)
        same(KEPT, X * 2 + 1)

    def test_bound_method_and_callable_object(self):
        class Meter:
            def __init__(self):
                self.total = mx.zeros(())

            def add(self, x):
                self.total = self.total + x.sum()
                return self.total

            __call__ = add

        for pick in (lambda m: m.add, lambda m: m):
            meter, reference = Meter(), Meter()
            fast = ap.compile(pick(meter))
            for _ in range(3):
                same(reference.add(X), fast(X))
            same(reference.total, meter.total)

    def test_array_updated_in_place(self):
        buffer = mx.zeros(3)

        def fn(x):
            buffer[1] = x.sum()
            return buffer * 2

        fast = ap.compile(fn)
        same(fast(X), mx.array([0, 2 * X.sum().item(), 0]))
        same(fast(X * 2), mx.array([0, 4 * X.sum().item(), 0]))
        same(buffer, mx.array([0, 2 * X.sum().item(), 0]))

    def test_through_a_helper(self):
        kept = []

        def helper(x):
            kept.append(x)
            return x

        fast = ap.compile(functools.partial(lambda h, x: h(x) + 1, helper))
        fast(X)
        same(fast(X), X + 1)
        assert len(kept) == 2
        mx.eval(kept)

    def test_module_in_the_closure(self):
        ours, theirs = nn.BatchNorm(3), nn.BatchNorm(3)
        fast = ap.compile(lambda x: ours(x))
        for scale in (1, 2):
            same(theirs(X * scale), fast(X * scale))
            same(theirs.running_mean, ours.running_mean)

    def test_returned_object(self):
        class Result:
            def __init__(self, x):
                self.x = x

        fast = ap.compile(lambda x: Result(x + 1))
        same(fast(X).x, X + 1)
        same(fast(X * 2).x, X * 2 + 1)

    def test_python_effects_happen_when_it_is_traced(self):
        global COUNTER
        COUNTER = 0

        def fn(x):
            global COUNTER
            COUNTER += 1
            return x + 1

        fast = ap.compile(fn)
        for _ in range(4):
            fast(X)
        assert COUNTER == 1 and "add" in fast.graph
