"""Arguments, objects, errors, lifetime and face of compiled functions: the semantics of mx.compile, and eager's values
where mx.compile has others."""

import collections
import functools
import gc
import math
import threading
import weakref

import mlx.core as mx
import mlx.nn as nn
import numpy as np
import pytest
from agreement import check, same

import autoperfect as ap


@pytest.fixture(autouse=True)
def on_the_cpu():
    mx.set_default_device(mx.cpu)
    mx.random.seed(7)


X = mx.arange(6.0).reshape(2, 3) / 4


class TestArguments:
    def test_arrays(self):
        check(lambda x, y: mx.exp(x) * y + 1, (X, X), (X, X[0]), (X.astype(mx.bfloat16), X), (mx.array(2), mx.array(3)))

    def test_trees(self):
        fn = lambda t: {"a": t["a"] + t["b"][0] * t["b"][1][0], "list": [t["b"][1]], "none": None, "text": "x"}
        check(fn, ({"a": X, "b": [X, (X + 1,)]},), ({"a": X, "b": [X, (X + 1, 5)]},), ({"b": [X, [X]], "a": X},))

    def test_results_are_fresh_containers(self):
        fast = ap.compile(lambda x: {"x": [x + 1]})
        first = fast(X)
        first["x"].append(None)
        assert len(fast(X)["x"]) == 1

    def test_the_function_gets_copies_of_lists(self):
        def fn(items):
            items.append(items[0] + 1)
            return sum(items)

        items = [X]
        same(ap.compile(fn)(items), 2 * X + 1)
        assert len(items) == 1

    def test_namedtuples_and_their_classes(self):
        Pair = collections.namedtuple("Pair", "left right")
        fn = lambda p: p._replace(left=p.left + p.right) if hasattr(p, "left") else p[0] - p[1]
        fast = check(fn, (Pair(X, X * 2),), ((X, X * 2),))
        assert type(fast(Pair(X, X))) is Pair

    def test_constants_differ_by_type_and_value(self):
        seen = []

        def fn(x, c):
            seen.append(c)
            return x + 1 if c is True else x + 2 if isinstance(c, float) else x

        fast = ap.compile(fn)
        constants = [0, 0.0, -0.0, False, 1, 1.0, True, None, "1", "", [1], (1,), [], (), 2**70, math.nan, math.inf]
        for c in constants:
            same(fn(X, c), fast(X, c))
            same(fn(X, c), fast(X, c))
        assert len(fast(X, 2**70).shape) == 2

    def test_integer_enumerations_and_numpy_numbers(self):
        import enum

        class Mode(enum.IntEnum):
            fast = 1

        fn = lambda x, m: x * 2 if isinstance(m, Mode) else x * 3
        check(fn, (X, Mode.fast), (X, 1), (X, np.float64(1)))

    def test_keywords(self):
        fn = lambda x, *rest, scale=1.0, **more: sum(rest, x) * scale + more.get("bias", 0)
        fast = ap.compile(fn)
        for args, kwargs in [((X,), {}), ((X, X), {"scale": 2.0}), ((X,), {"bias": X}), ((X,), {"bias": X, "scale": 3})]:
            same(fn(*args, **kwargs), fast(*args, **kwargs))

    def test_an_argument_in_another_place_is_another_call(self):
        fn = lambda a=None, b=None: (a if b is None else a - b) if a is not None else -b
        fast = ap.compile(fn)
        same(fast(X), X)
        same(fast(None, X), -X)
        same(fast(b=X), -X)
        same(fast(a=X), X)

    @pytest.mark.parametrize("bad", [object(), {1}, 1j, b"bytes", mx.float32, mx, print, np.zeros(2)])
    def test_what_cannot_be_an_argument(self, bad):
        fn = lambda x, o: x
        with pytest.raises(ValueError) as theirs:
            mx.compile(fn)(X, bad)
        with pytest.raises(ValueError) as ours:
            ap.compile(fn)(X, bad)
        assert str(ours.value) == str(theirs.value)
        with pytest.raises(ValueError):
            ap.compile(fn)(X, [(bad,)])

    def test_recursive_argument(self):
        loop = []
        loop.append(loop)
        with pytest.raises(RecursionError):
            ap.compile(lambda x: x)(loop)

    def test_missing_arguments(self):
        with pytest.raises(TypeError, match="missing 1 required positional argument"):
            ap.compile(lambda x: x)()

    def test_strided_and_broadcast_arrays(self):
        a = mx.arange(12.0).reshape(3, 4)
        fn = lambda a: mx.softmax(a * 2.0, axis=-1) - a.mean(axis=0, keepdims=True)
        check(fn, (a.T,), (mx.broadcast_to(a[0:1], (2, 4)),), (a[::2, 1::2],), (a[:, ::-1],))

    def test_reductions_of_no_elements(self):
        """From the first of them MLX 0.32 itself never returns."""
        nothing = mx.zeros((0, 3))
        fn = lambda x: (mx.sum(x.T, axis=1), mx.prod(x, axis=0), mx.any(x), mx.all(x > 0, axis=0), mx.sum(x, axis=1))
        wanted = mx.zeros(3), mx.ones(3), mx.array(False), mx.array([True] * 3), mx.zeros(0)
        for ours, value in zip(ap.compile(fn)(nothing), wanted):
            same(ours, value)

    def test_many_shapes_stay_right(self):
        fast = ap.compile(lambda x, t: mx.exp(x * t) + t)
        for n in range(1, 20):
            for t in (0.5, n / 7):
                same(mx.exp(mx.ones(n) * t) + t, fast(mx.ones(n), t))


    def test_the_least_recently_used_is_dropped(self):
        traces = []
        fast = ap.compile(lambda x: traces.append(x.shape) or x + 1)
        for n in range(1, 301):
            for _ in range(2):  # new kinds of arguments are compiled when they come again
                same(fast(mx.zeros(n)), mx.ones(n))
        count = len(traces)
        fast(mx.zeros(300))
        assert len(traces) == count
        fast(mx.zeros(1))
        assert len(traces) == count + 1


class TestObjects:
    def test_module(self):
        net = nn.Sequential(nn.Linear(3, 4), nn.GELU(), nn.LayerNorm(4))
        fn = lambda net, x: nn.silu(net(x))
        fast = check(fn, (net, X))
        before = [id(v) for _, v in nn.utils.tree_flatten(net.parameters())]
        same(fn(net, X + 1), fast(net, X + 1))
        assert before == [id(v) for _, v in nn.utils.tree_flatten(net.parameters())]
        net.layers[0].weight = net.layers[0].weight * 2
        same(fn(net, X), fast(net, X))

    def test_module_attributes_are_part_of_the_key(self):
        norm = nn.RMSNorm(3)
        fast = ap.compile(lambda norm, x: norm(x))
        for eps in (1e-5, 10.0, 1e-5):
            norm.eps = eps
            same(norm(X), fast(norm, X))
        dropout = nn.Dropout(0.9)
        fast = ap.compile(lambda layer, x: layer(x))
        dropout.eval()
        same(X, fast(dropout, X))
        dropout.train()
        assert not mx.array_equal(fast(dropout, mx.ones(100)), mx.ones(100))

    def test_module_that_is_updated(self):
        ours, theirs = nn.BatchNorm(3), nn.BatchNorm(3)
        fast = ap.compile(lambda norm, x: norm(x))
        for scale in (1, 2, 3):
            same(theirs(X * scale), fast(ours, X * scale))
            same(theirs.running_mean, ours.running_mean)
            same(theirs.running_var, ours.running_var)
        assert "sub" in fast.graph  # it was compiled

    def test_dict_subclass_arrives_as_itself(self):
        fn = lambda d: d["missing"] + d["x"]
        same(ap.compile(fn)(collections.defaultdict(lambda: X, x=X)), X + X)

    def test_two_modules_of_one_shape(self):
        a, b = nn.Linear(3, 3), nn.Linear(3, 3)
        check(lambda net, x: net(x), (a, X), (b, X))


class TestErrors:
    def test_exceptions_pass_through(self):
        class Mine(Exception):
            pass

        def fn(x):
            raise Mine("text")

        fast = ap.compile(fn)
        for _ in range(2):
            with pytest.raises(Mine, match="text"):
                fast(X)

    @pytest.mark.parametrize("fn", [lambda x: x / x.max().item(), lambda x: x if x.sum() > 0 else -x, lambda x: x @ x])
    def test_the_errors_of_mlx(self, fn):
        with pytest.raises(Exception) as theirs:
            mx.compile(fn)(X)
        with pytest.raises(type(theirs.value)) as ours:
            ap.compile(fn)(X)
        assert str(ours.value) == str(theirs.value)

    def test_it_can_be_called_again(self):
        fail = [True]

        def fn(x):
            if fail[0]:
                raise RuntimeError("once")
            return x + 1

        fast = ap.compile(fn)
        with pytest.raises(RuntimeError, match="once"):
            fast(X)
        fail[0] = False
        same(fast(X), X + 1)

    def test_not_callable(self):
        with pytest.raises(TypeError):
            ap.compile(3)


class TestLifetime:
    def test_freed_with_the_function(self):
        w = mx.ones(3)

        def fn(x):
            return x * w

        alive = weakref.ref(fn)
        fast = ap.compile(fn)
        fast(X)
        del fn, fast
        gc.collect()
        assert alive() is None

    def test_freed_in_a_cycle(self):
        class Owner:
            def __init__(self):
                self.fast = ap.compile(lambda x: x + self.offset)
                self.offset = 1

        owner = Owner()
        owner.fast(X)
        alive = weakref.ref(owner)
        del owner
        gc.collect()
        assert alive() is None

    def test_data_is_freed(self):
        mx.synchronize()
        gc.collect()
        before = mx.get_active_memory()
        for _ in range(3):
            w = mx.random.normal((512, 512))

            def fn(x, w=w):
                a, b = mx.split(x @ w, 2, axis=-1)
                return nn.silu(a) * b

            mx.eval(ap.compile(fn)(mx.ones((4, 512))))
            del fn, w
        gc.collect()
        mx.synchronize()
        assert mx.get_active_memory() - before < 2 * 512 * 512 * 4

    def test_freed_on_another_thread(self):
        for i in range(6):
            box = []
            thread = threading.Thread(target=lambda: box.append(ap.compile(lambda a, k=i: (a + k).sum())))
            thread.start()
            thread.join()
            assert box.pop()(mx.zeros(4)).item() == 4 * i

    def test_called_from_many_threads(self):
        fast = ap.compile(lambda x, k: mx.softmax(x * k, axis=-1).sum(0))
        wrong = []

        def work(seed):
            for i in range(20):
                x, k = mx.random.normal((3, 4), key=mx.random.key(seed * 100 + i)), float(i % 3)
                if not mx.allclose(fast(x, k), mx.softmax(x * k, axis=-1).sum(0)).item():
                    wrong.append((seed, i))

        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        assert not wrong


class TestFace:
    def test_decorators(self):
        @ap.compile
        def a(x):
            """The doc."""
            return x + 1

        @ap.compile(shapeless=True)
        def b(x):
            return x * 2

        @functools.partial(ap.compile, shapeless=True)
        def c(x):
            return x - 1

        same([a(X), b(X), c(X)], [X + 1, X * 2, X - 1])
        assert a.__name__ == "a" and a.__doc__ == "The doc." and b.__name__ == "b"
        assert a.__wrapped__(1) == 2

    def test_texts(self):
        fast = ap.compile(lambda x: mx.exp(x).sum(axis=-1))
        for name in ("graph", "regions", "kernels"):
            with pytest.raises(RuntimeError, match="call the function first"):
                getattr(fast, name)
        fast(X)
        assert fast.graph.startswith("autoperfect.graph 1\n") and "exp" in fast.graph
        assert "exp" in fast.regions
        assert isinstance(fast.kernels, str)

    def test_explain(self):
        fn = lambda x, scale=1.0: mx.exp(x) * scale
        assert "exp" in ap.explain(fn, X)
        assert "exp" in ap.explain(ap.compile(fn), X, scale=2.0)

    def test_explain_changes_nothing(self):
        state = {"n": mx.zeros(())}

        @ap.compile(inputs=state, outputs=state)
        def step(x):
            state["n"] = state["n"] + 1
            return x * state["n"]

        assert "add" in ap.explain(step, X)
        assert state["n"].item() == 0
        same(step(X), X)
        assert state["n"].item() == 1

    def test_disabled(self):
        calls = []
        fast = ap.compile(lambda x: calls.append(1) or x + 1)
        mx.disable_compile()
        try:
            fast(X)
            fast(X)
        finally:
            mx.enable_compile()
        assert len(calls) == 2

    def test_version(self):
        assert ap.__version__.count(".") == 2

    def test_small_calls_are_cheap(self):
        import timeit

        x = mx.ones(4)
        fn = lambda x, y: x + y
        best = {}
        for name, wrapped in (("ours", ap.compile(fn)), ("mlx", mx.compile(fn))):
            wrapped(x, x)
            best[name] = min(timeit.repeat(lambda: wrapped(x, x), number=2000, repeat=7)) / 2000
        assert best["ours"] < 2 * best["mlx"] + 2e-6, best
