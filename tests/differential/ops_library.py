"""Statements of library operations: products, convolutions, transforms, quantization, random numbers."""

import math


def new_matrix(g, rows, columns):
    return g.new_input(g.choose(*g.root.floats), (rows, columns))


def matmul(g):
    a = g.pick_float(lambda v: v.ndim > 0)
    inner = a.shape[-1]
    b = g.pick(
        lambda v: v.is_float and g.is_tame(v) and v.ndim > 0 and v.shape[-2 if v.ndim > 1 else 0] == inner and v.ndim <= 2,
        lambda: g.new_input(a.dtype, (inner, g.choose(1, 3, 8, 17))) if inner <= 600 else None,
    )
    if b is None or a.array.size * (b.shape[-1] if b.ndim > 1 else 1) > 300_000:
        return
    form = g.choose("{} @ {}", "mx.matmul({}, {})", "mx.tanh({} @ {})")
    g.let(form.format(a.name, b.name), False, a.size + b.size + math.log2(max(1, inner)))


def product_of_two(g):
    """With itself transposed, outer, inner, einsum, addmm."""
    fits = lambda v: v.is_float and v.ndim == 2 and v.array.size * min(v.shape) <= 100_000 and g.is_tame(v)
    a = g.pick(fits, lambda: new_matrix(g, 17, 31))
    m, k = a.shape
    size = 2 * a.size + math.log2(max(1, k))
    n = a.name
    form = g.choose(
        f"{n} @ {n}.T", f"mx.inner({n}, {n})", f"mx.einsum('ij,kj->ik', {n}, {n})", f"mx.einsum('ij,ij->i', {n}, {n})",
        f"mx.addmm({n} @ {n}.T, {n}, {n}.T, 0.5, 0.25)", f"mx.tensordot({n}, {n}, axes=[[0, 1], [0, 1]])",
        f"mx.outer({n}[0], {n}[:, 0])" if m and k else f"{n} @ {n}.T",
        f"mx.softmax({n} @ {n}.T * 0.125, axis=-1) @ {n}",
    )
    g.let(form, False, size + 1)


def attention(g):
    fits = lambda v: v.is_float and v.ndim == 4 and v.array.size * v.shape[2] <= 60_000 and v.size < 8 and min(v.shape) > 0
    a = g.pick(fits, lambda: g.new_input(g.choose(*g.root.floats), (1, g.choose(1, 2), g.choose(1, 7, 33), g.choose(2, 16))))
    form = g.choose(
        "mx.fast.scaled_dot_product_attention({0}, {0}, {0}, scale=0.125)",
        "mx.fast.rope({0}, %d, traditional=%s, base=10000.0, scale=1.0, offset=3)" % (a.shape[-1] // 2 * 2, g.flip()),
    )
    if "rope" in form and a.shape[-1] < 2:
        return
    g.let(form.format(a.name), False, a.size + 1)


def convolution(g):
    a = g.pick_float(lambda v: v.ndim in (3, 4) and v.shape[-1] <= 8 and min(v.shape) > 0 and v.array.size <= 3000)
    channels, taps = a.shape[-1], g.choose(1, 2, 3)
    weight = g.new_input(a.dtype, (g.choose(1, 3, 4), *[taps] * (a.ndim - 2), channels))
    stride, pad = g.choose(1, 2), g.choose(0, 1, 2)
    if min(a.shape[1:-1]) + 2 * pad < taps:
        return
    call = f"mx.conv{a.ndim - 2}d({a.name}, {weight.name}, stride={stride}, padding={pad})"
    g.let(call, False, a.size + weight.size + 6)


def fourier(g):
    a = g.pick(lambda v: v.ndim > 0 and 0 < v.shape[-1] <= 129 and v.dtype in ("float32", "complex64") and g.is_tame(v))
    forms = ["mx.abs(mx.fft.fft({}))", "mx.real(mx.fft.ifft({}))", "mx.fft.fft({})"]
    if a.dtype == "float32":
        forms += ["mx.fft.irfft(mx.fft.rfft({}))" if a.shape[-1] > 1 else "mx.fft.rfft({})", "mx.abs(mx.fft.rfft({}))"]
    g.let(g.choose(*forms).format(a.name), False, a.size + 8)


def linear_algebra(g):
    fits = lambda v: v.ndim == 2 and v.dtype == "float32" and max(v.shape) <= 17 and min(v.shape) > 0 and g.is_tame(v)
    a = g.pick(fits, lambda: g.new_input("float32", (g.choose(1, 3, 8), g.choose(1, 5, 16)), "normal"))
    n, k = a.name, a.shape[0]
    spd = f"({n} @ {n}.T * 0.01 + mx.eye({k}))"
    stream = "stream=mx.cpu"
    g.let(
        g.choose(
            f"mx.linalg.inv({spd}, {stream})", f"mx.linalg.cholesky({spd}, {stream})",
            f"mx.linalg.solve({spd}, {n}, {stream})", f"mx.linalg.qr(mx.eye({k}) + 0.01 * {spd}, {stream})[1]",
            f"mx.linalg.eigvalsh({spd}, {stream=})".replace("stream='stream=mx.cpu'", stream),
        ),
        False, a.size + 6,
    )


def quantized(g):
    fits = lambda v: v.is_float and v.exact and g.is_tame(v) and v.ndim == 2 and v.shape[-1] and v.shape[-1] % 32 == 0
    a = g.pick(fits, lambda: new_matrix(g, g.choose(1, 3, 17), g.choose(32, 64)))
    group, bits = 32, g.choose(4, 8)
    form = g.choose(
        "mx.dequantize(*mx.quantize({0}, group_size={1}, bits={2}), group_size={1}, bits={2})",
        "mx.quantized_matmul(mx.tanh({0}), *mx.quantize({0}, group_size={1}, bits={2}), group_size={1}, bits={2})",
        "mx.quantize({0}, group_size={1}, bits={2})[1]",
    )
    g.let(form.format(a.name, group, bits), False, 2 * a.size + 8)


def random_numbers(g):
    a = g.pick()
    key = f"mx.random.key({g.integer(0, 99)})"
    shape = list(a.shape)
    form, exact, size = g.choose(
        (f"mx.random.uniform(shape={shape}, key={key})", True, 0),
        (f"mx.random.normal({shape}, key={key})", False, 3),
        (f"mx.random.bernoulli(0.3, {shape}, key={key})", True, 0),
        (f"mx.random.randint(-3, 9, {shape}, key={key})", True, 4),
        (f"mx.random.split({key}, 3)", True, 32),
        (f"mx.random.permutation({g.choose(5, 16)}, key={key})", True, 5),
    )
    if g.flip() and a.is_integer and a.exact and a.ndim == 0:
        form = form.replace(key, f"mx.stack([mx.array(7, mx.uint32), {a.name}.astype(mx.uint32)])")
    g.let(form, exact, size)


def constants(g):
    a = g.pick()
    dtype = g.choose("mx.float32", "mx.int32", "mx.bfloat16", "mx.float16")
    size = a.shape[-1] if a.ndim else 1
    g.let(
        g.choose(
            f"mx.arange({size}, dtype={dtype})", f"mx.zeros({list(a.shape)}, {dtype})", f"mx.ones({list(a.shape)}, {dtype})",
            f"mx.full({list(a.shape)}, 0.3, {dtype})", f"mx.array([0.5, -1.25, 3.0]).astype({dtype})",
            f"mx.linspace(0, 1, {max(2, size)})", f"mx.eye({min(33, max(1, size))}, dtype={dtype})", "mx.array(2.5)",
            f"mx.ones_like({a.name})",
        ),
        True, 13,
    )


TABLE = [
    matmul, matmul, product_of_two, attention, convolution, fourier, linear_algebra, quantized, random_numbers, constants,
    constants,
]
