"""ap.compile with MLX's default device set to a GPU: the answers of MLX, kernels that won, the cache, faults, mixed devices.
Needs a GPU; also runs without pytest: python tests/device/test_compile_gpu.py [NAME...]"""

import functools
import multiprocessing
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import traceback
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor, as_completed

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]
# A cache of its own, before the library is first imported: no earlier run decides a test.
os.environ.setdefault("AUTOPERFECT_CACHE_DIR", tempfile.mkdtemp(prefix="autoperfect-gpu-"))
# MLX's own, of compiled kernels, is not made for several processes that write it at once: each has another.
MLX_KERNELS = tempfile.TemporaryDirectory(prefix="mlx-kernels-")
os.environ["MLX_PTX_CACHE_DIR"] = MLX_KERNELS.name
# Of products with ten bits of each number, two right answers may be thousands of units apart.
os.environ["MLX_ENABLE_TF32"] = "0"

import accuracy  # noqa: E402
import mlx.core as mx  # noqa: E402
import mlx.nn as nn  # noqa: E402
from mlx.utils import tree_flatten, tree_unflatten  # noqa: E402
from workloads import WORKLOADS  # noqa: E402
from workloads.programs import PROGRAMS  # noqa: E402

import autoperfect as ap  # noqa: E402
from autoperfect import _core  # noqa: E402

NO_GPU = "no GPU: MLX has none on this machine"
PROCESSES = max(1, min(12, (os.cpu_count() or 2) - 2))  # each has a context on the GPU
SECONDS_A_TEST = 100
DTYPES = {"f32": mx.float32, "bf16": mx.bfloat16, "f16": mx.float16}


def on_gpu(test):
    @functools.wraps(test)
    def run():
        mx.set_default_device(mx.gpu)
        test()

    return run


def layer_norm(x, w):
    centred = x - mx.mean(x, axis=-1, keepdims=True)
    return centred * mx.rsqrt(mx.mean(centred * centred, axis=-1, keepdims=True) + 1e-5) * w


def softmax(x):
    e = mx.exp(x - mx.max(x, axis=-1, keepdims=True))
    return e / mx.sum(e, axis=-1, keepdims=True)


def normal(*shape, dtype=mx.float32, key=1):
    return mx.random.normal(shape, key=mx.random.key(key)).astype(dtype)


# Units of the last place between two right answers: eager rounds halves at every op, and was judged by the gate.
ALLOWED = {mx.float32: 256.0, mx.float16: 64.0, mx.bfloat16: 64.0}


def agree(ours, theirs, allowed=None):
    apart, allowed = accuracy.worst(ours, theirs), allowed or accuracy.limit(ours, ALLOWED)
    assert apart <= allowed, f"{apart} units from MLX, allowed {allowed}"


def kernels(fast):
    return sum(not row["use_mlx"] for row in fast.outcomes())


def workload_cases():
    """[(name, function, what is compared of it, how its arguments are made)]"""
    return [
        (f"{name} {kind}", workload.function, workload.function, functools.partial(workload.make_args, (256, 1024), dtype))
        for name, workload in WORKLOADS.items()
        for kind, dtype in DTYPES.items()
        if kind != "f16" or workload.kind == "reduction"
    ]


def program_cases():
    return [(name, p.function, p.compared, p.make_args) for name, p in PROGRAMS.items()]


def allowed_of_program(arrays, results):
    """Units: where an argument has fewer bits than a result, one unit of it decides; long chains and sums add up."""
    bits = accuracy.MANTISSA_BITS
    of_arrays, of_results = ([bits[array.dtype] for array in some if array.dtype in bits] for some in (arrays, results))
    least = min(of_arrays, default=bits[mx.float32])
    return 2.0**12 if least == bits[mx.float32] else 64.0 * 2.0 ** max(0, max(of_results, default=0) - least)


def run_case(cases, place, device=mx.gpu):
    """In a process of its own: (name, kernels of ours, why it failed). Kernels run whatever their time, so that none is
    left out here because MLX is as fast on this GPU, and nothing waits for what it would be timed against."""
    mx.set_default_device(device)
    name, _, compared, make_args = cases()[place]
    try:
        arguments = tree_flatten(make_args())
        names, arrays = [name for name, _ in arguments], [array for _, array in arguments]

        def flat(*arrays):
            return accuracy.leaves(compared(*tree_unflatten(list(zip(names, arrays)))))

        planned = _core.PlannedFunction(flat, arrays)
        for _ in range(2):
            theirs = flat(*arrays)
            agree(planned(arrays), theirs, allowed_of_program(arrays, theirs))
        return name, planned.kernels, ""
    except Exception:
        return name, 0, traceback.format_exc(limit=3)


def check_all(cases):
    """Many programs, several processes at once: each compiles many kernels."""
    count = len(cases())
    with ProcessPoolExecutor(PROCESSES, mp_context=multiprocessing.get_context("spawn")) as pool:
        results = list(pool.map(functools.partial(run_case, cases), range(count)))
    failed = [f"{name}: {why}" for name, _, why in results if why]
    assert not failed, "\n".join(failed)
    without = [name for name, kernels, _ in results if not kernels]
    assert len(without) < count / 4, f"no kernel of ours in {', '.join(without)}"


@on_gpu
def test_workloads():
    check_all(workload_cases)


@on_gpu
def test_hot_functions_of_real_programs():
    check_all(program_cases)


@on_gpu
def test_a_kernel_wins_and_says_so():
    x, w = normal(8192, 4096), normal(4096)
    fast = ap.compile(layer_norm)
    agree(fast(x, w), layer_norm(x, w))
    assert kernels(fast) == 1, fast.outcomes()
    text = ap.explain(fast, x, w)
    assert "kernel: schedule" in text and "guard pages on the GPU" in text, text
    assert "of the copy limit; the device works" in text and "; with nothing in L2 " in text, text


@on_gpu
def test_programs_are_timed_as_a_whole():
    x = normal(8192, 4096)
    fast = ap.compile(softmax)
    agree(fast(x), softmax(x))
    told = ap.explain(fast, x)
    assert "the whole program runs with our kernels: the fastest as a whole" in told, told

    def product(a, b):
        return a @ b

    a, b = normal(256, 128), normal(128, 64, key=2)
    fast = ap.compile(product)
    agree(fast(a, b), product(a, b))
    told = ap.explain(fast, a, b)
    assert "the whole program runs as " in told and "with our kernels" not in told, told


@on_gpu
def test_views_and_offsets():
    """Strided inputs are copied; slices that are not aligned take the unaligned version."""
    fast = ap.compile(softmax)
    whole = normal(512, 1024)
    for x in (whole, whole.T, whole[1:, :], whole[:, 1:], whole.reshape(-1)[3 : 3 + 512 * 1000].reshape(512, 1000)):
        mx.eval(x)
        agree(fast(x), softmax(x))
    assert kernels(fast), fast.outcomes()


def of_taken_logits(x, targets):
    return mx.mean(mx.logsumexp(x, axis=-1) - mx.take_along_axis(x, targets[:, None], axis=-1).squeeze(-1))


def of_indexed_logits(x, targets):
    return mx.mean(mx.logsumexp(x, axis=-1) - x[mx.arange(x.shape[0]), targets])


@on_gpu
def test_scatters_of_few_updates_are_kernels():
    """The gradients of two cross entropies, and a penalty of tokens that come twice, negative ones too."""
    targets = mx.random.randint(-5000, 5000, (2048,), key=mx.random.key(3))
    for loss in (of_taken_logits, of_indexed_logits):
        for dtype in DTYPES.values():
            x, fast = normal(2048, 5000, dtype=dtype), ap.compile(mx.grad(loss))
            agree(fast(x, targets), mx.grad(loss)(x, targets))
            assert kernels(fast) == 1, fast.outcomes()

    def penalty(logits, tokens):
        chosen = logits[:, tokens]
        return mx.tanh(logits.at[:, tokens].add(mx.where(chosen < 0, chosen * 0.1, chosen * -0.1)))

    # What comes twice brings the same update twice, so their order does not show.
    logits, tokens = normal(4, 32000), mx.array([5, -1, 31999, 5, 0, 7, -32000])
    fast = ap.compile(penalty)
    agree(fast(logits, tokens), penalty(logits, tokens))
    assert kernels(fast) == 1, fast.outcomes()


@on_gpu
def test_two_stage_reductions():
    for shape, axis in (((16384, 64), 0), ((3, 400000), 1), ((2000000,), 0)):
        fast = ap.compile(lambda x, axis=axis: mx.sum(mx.square(x), axis=axis))
        x = normal(*shape)
        for _ in range(3):
            agree(fast(x), mx.sum(mx.square(x), axis=axis))


@on_gpu
def test_many_calls_in_one_eval():
    fast = ap.compile(layer_norm)
    w = normal(1024)
    inputs = [normal(300 + k, 1024, key=k) for k in range(4)] * 10
    outputs = [fast(x, w) for x in inputs]
    mx.eval(outputs)
    for x, y in zip(inputs, outputs):
        agree(y, layer_norm(x, w))
    chain = fast(fast(fast(inputs[0], w), w), w)
    agree(chain, layer_norm(layer_norm(layer_norm(inputs[0], w), w), w))


@on_gpu
def test_async_eval_and_streams():
    fast = ap.compile(layer_norm)
    x, w = normal(2048, 1024), normal(1024)
    expected = layer_norm(x, w)
    agree(fast(x, w), expected)
    stream = mx.new_stream(mx.gpu)
    with mx.stream(stream):
        y = fast(x, w)
    mx.async_eval(y)
    z = fast(y, w)  # on the default stream, waiting for the other
    agree(z, layer_norm(expected, w))
    agree(y, expected)


@on_gpu
def test_cpu_and_gpu_in_one_program():
    def both(x, w):
        y = layer_norm(x, w)
        z = mx.add(mx.exp(y, stream=mx.cpu), 1, stream=mx.cpu)
        return layer_norm(z, w), z

    x, w = normal(512, 1024), normal(1024)
    fast = ap.compile(both)
    for _ in range(2):
        for ours, theirs in zip(fast(x, w), both(x, w)):
            agree(ours, theirs)
    mx.set_default_device(mx.cpu)
    try:
        agree(fast(x, w)[0], both(x, w)[0])
    finally:
        mx.set_default_device(mx.gpu)


@on_gpu
def test_transformations():
    x, w = normal(64, 256), normal(256)
    fast = ap.compile(layer_norm)
    loss = lambda f: lambda x, w: mx.square(f(x, w)).sum()
    agree(mx.grad(loss(fast), argnums=1)(x, w), mx.grad(loss(layer_norm), argnums=1)(x, w))
    agree(mx.vmap(fast, (0, None))(normal(4, 64, 256), w), mx.vmap(layer_norm, (0, None))(normal(4, 64, 256), w))
    step = ap.compile(lambda x, w: mx.value_and_grad(loss(layer_norm), argnums=(0, 1))(x, w))
    for ours, theirs in zip(accuracy.leaves(step(x, w)), accuracy.leaves(mx.value_and_grad(loss(layer_norm), (0, 1))(x, w))):
        agree(ours, theirs)
    agree(mx.compile(fast)(x, w), layer_norm(x, w))


@on_gpu
def test_state_and_modules():
    model = nn.Sequential(nn.Linear(64, 128), nn.GELU(), nn.LayerNorm(128))
    x = normal(256, 64)
    agree(ap.compile(model)(x), model(x))
    state = [mx.zeros((64,))]

    def step(x):
        state[0] = state[0] + mx.mean(mx.abs(x), axis=0)
        return state[0] * 2

    fast = ap.compile(step, inputs=state, outputs=state)
    for _ in range(3):
        fast(x)
    agree(state[0], 3 * mx.mean(mx.abs(x), axis=0))


@on_gpu
def test_threads():
    fast = ap.compile(softmax)
    x = normal(1024, 1024)
    expected, wrong = softmax(x), []
    mx.eval(expected, x)

    def work():
        try:
            with mx.stream(mx.new_stream(mx.gpu)):
                for _ in range(10):
                    agree(fast(x), expected)
        except Exception:
            wrong.append(traceback.format_exc(limit=3))

    fast(x)
    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong, wrong[0]


@on_gpu
def test_tune_reports_the_schedules():
    x, w = normal(8192, 1024), normal(1024)
    report = ap.tune(layer_norm, x, w)
    assert "schedule" in str(report), str(report)


WARM = """
import sys, time, mlx.core as mx, autoperfect as ap
sys.path.insert(0, {root!r} + "/tests/device")
import test_compile_gpu as tests
mx.set_default_device(mx.gpu)
x, w = tests.normal(8192, 4096), tests.normal(4096)
mx.eval(x, w)
fast = ap.compile(tests.layer_norm)
start = time.perf_counter()
mx.eval(fast(x, w))
print(time.perf_counter() - start, fast.outcomes()[0]["from_cache"], fast.outcomes()[0]["use_mlx"])
"""


@on_gpu
def test_the_next_process_finds_the_kernel():
    with tempfile.TemporaryDirectory() as folder:
        runs = []
        for _ in range(2):
            done = subprocess.run(
                [sys.executable, "-c", WARM.format(root=str(ROOT))],
                env={**os.environ, "AUTOPERFECT_CACHE_DIR": folder + "/cache"},
                capture_output=True,
                text=True,
                timeout=120,
            )
            assert done.returncode == 0, done.stderr
            seconds, cached, use_mlx = done.stdout.split()
            runs.append((float(seconds), cached))
            assert use_mlx == "False"
        assert [cached for _, cached in runs] == ["False", "True"]
        assert runs[1][0] < 0.25 * runs[0][0], runs
        print(f"cold {runs[0][0]:.2f} s, warm {runs[1][0] * 1e3:.0f} ms", flush=True)


@on_gpu
def test_memory_is_given_back():
    fast = ap.compile(lambda x: mx.sum(mx.square(x), axis=0))
    x = normal(4096, 4096)
    mx.eval(fast(x.T))
    mx.synchronize()
    before = mx.get_active_memory()
    for _ in range(50):
        mx.eval(fast(x.T))
    mx.synchronize()
    assert mx.get_active_memory() <= before + (1 << 20), (before, mx.get_active_memory())


try:
    import pytest

    pytestmark = pytest.mark.skipif(not mx.is_available(mx.gpu), reason=NO_GPU)
except ImportError:  # a GPU machine need not have it
    pass

def run_test(name):
    """In a process of its own: (name, its output, whether it passed)."""
    command = [sys.executable, __file__, "--here", name]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS_A_TEST)
        return name, done.stdout + done.stderr, done.returncode == 0
    except subprocess.TimeoutExpired as late:
        return name, f"not done after {late.timeout} s", False


def run_all(names):
    """Several tests at once, those of many programs first. The number that failed."""
    _core.gpu()  # measured and kept while nothing else runs
    failed = 0
    with ThreadPoolExecutor(max(1, PROCESSES // 2)) as pool:
        tests = [pool.submit(run_test, name) for name in sorted(names, key=lambda name: (name not in LONG, name))]
        for test in as_completed(tests):
            name, output, passed = test.result()
            failed += not passed
            print(f"{output.strip()}\npassed {name}".strip() if passed else f"FAILED {name}\n{output}", flush=True)
    print(f"{len(names) - failed} passed, {failed} failed")
    return failed


LONG = ("test_hot_functions_of_real_programs", "test_workloads")

if __name__ == "__main__":
    if not mx.is_available(mx.gpu):
        sys.exit(NO_GPU)
    if sys.argv[1:2] == ["--here"]:
        globals()[sys.argv[2]]()
        sys.exit()
    sys.exit(bool(run_all(sys.argv[1:] or [name for name in globals() if name.startswith("test_")])))
