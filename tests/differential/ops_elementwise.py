"""Statements of elementwise operations: each builder draws operands it may be applied to and appends what it makes."""

from .generator import broadcasts
from .inputs import DTYPES, FLOATS, INTEGERS


def float_exact(g):
    a = g.pick_float()
    name, size = g.choose(
        ("mx.abs({})", a.size),
        ("mx.negative({})", a.size),
        ("mx.square({})", 2 * a.size),
        ("mx.sqrt(mx.abs({}))", a.size / 2 + 1),
        ("mx.stop_gradient({})", a.size),
        ("mx.reciprocal(mx.abs({}) + 0.5)", 1),
        ("mx.contiguous({})", a.size),
        ("mx.nan_to_num({})", a.size),
        ("mx.degrees({})", a.size + 6),
    )
    g.let(name.format(a.name), a.exact, size)


def float_step(g):
    a = g.pick_float(exact=True)
    name = g.choose("floor({})", "ceil({})", "round({})", "sign({})", "round({} * 0.125, 2)", "trunc_by({})")
    if name.startswith("trunc"):
        name = "where({0} > 0, mx.floor({0}), mx.ceil({0}))"
    g.let("mx." + name.format(a.name), True, a.size + 1)


def float_function(g):
    a = g.pick_float()
    name, size = g.choose(
        ("mx.exp(-mx.abs({}))", 0),
        ("mx.exp(mx.minimum({}, 3.0))", 5),
        ("mx.expm1(-mx.abs({}))", 0),
        ("mx.log(mx.abs({}) + 0.25)", 7),
        ("mx.log1p(mx.abs({}))", 7),
        ("mx.log2(mx.abs({}) + 0.25)", 7),
        ("mx.log10(mx.abs({}) + 0.25)", 7),
        ("mx.sigmoid({})", 0),
        ("mx.tanh({})", 0),
        ("mx.sin({})", 0),
        ("mx.cos({})", 0),
        ("mx.tan(mx.tanh({}))", 1),
        ("mx.sinh(mx.clip({}, -3.0, 3.0))", 4),
        ("mx.cosh(mx.clip({}, -3.0, 3.0))", 4),
        ("mx.arcsin(mx.clip({}, -1.0, 1.0))", 1),
        ("mx.arccos(mx.clip({}, -1.0, 1.0))", 2),
        ("mx.arctan({})", 1),
        ("mx.arcsinh({})", 7),
        ("mx.arccosh(mx.abs({}) + 1.0)", 7),
        ("mx.arctanh(0.75 * mx.tanh({}))", 1),
        ("mx.erf({})", 0),
        ("mx.erfinv(0.75 * mx.tanh({}))", 1),
        ("mx.rsqrt(mx.abs({}) + 0.25)", 1),
        ("nn.gelu({})", a.size),
        ("nn.gelu_approx({})", a.size),
        ("nn.gelu_fast_approx({})", a.size),
        ("nn.silu({})", a.size),
        ("nn.softplus({})", a.size + 1),
        ("nn.mish({})", a.size),
        ("nn.elu({})", a.size),
        ("nn.log_sigmoid({})", a.size + 1),
        ("nn.hardswish({})", a.size + 1),
        ("nn.leaky_relu({})", a.size),
    )
    if g.root.wild and g.flip():
        name, size = g.choose("exp", "log", "log1p", "expm1", "sinh", "cosh", "rsqrt", "arcsin", "arctanh"), float("inf")
        name = f"mx.{name}({{}})"
    g.let(name.format(a.name), False, size)


def binary(g):
    a = g.pick_float()
    b = g.compatible(a)
    both, most = a.exact and b.exact, max(a.size, b.size)
    name, exact, size = g.choose(
        ("{} + {}", both, most + 1),
        ("{} - {}", both, most + 1),
        ("{} * {}", both, a.size + b.size),
        ("{} / (mx.abs({}) + 0.5)", both, a.size + 1),
        ("mx.maximum({}, {})", both, most),
        ("mx.minimum({}, {})", both, most),
        ("mx.logaddexp({}, {})", False, most + 1),
        ("mx.arctan2({}, {})", False, 2),
        ("mx.power(mx.abs({}) * 0.125 + 0.5, mx.tanh({}))", False, 8),
    )
    if g.is_tame(b):
        g.let(name.format(a.name, b.name), exact, size)


def with_scalar(g):
    a = g.pick_float()
    name, exact, size = g.choose(
        ("{} + 1.5", a.exact, a.size + 1),
        ("2 - {}", a.exact, a.size + 2),
        ("0.3 * {}", a.exact, a.size),
        ("{} / 3.0", a.exact, a.size),
        ("mx.clip({}, -0.75, 1.5)", a.exact, 1),
        ("mx.tanh({}) ** 3", False, 0),
        ("(mx.abs({}) + 0.5) ** -0.5", False, 1),
        ("mx.maximum({}, 0)", a.exact, a.size),
        ("{} * mx.array(0.7, mx.float32)", a.exact, a.size),
        ("{} + mx.zeros_like({})", a.exact, a.size),
    )
    g.let(name.format(a.name, a.name), exact, size)


def division_of_exact(g):
    a = g.pick_float(exact=True)
    b = g.compatible(a)
    if b.exact and not b.is_bool:
        name = g.choose("mx.floor_divide({}, mx.abs({}) + 1)", "mx.remainder({}, mx.abs({}) + 1)")
        g.let(name.format(a.name, b.name), True, a.size + 1)


def comparison(g):
    a = g.pick(lambda v: v.exact and v.dtype != "complex64")
    b = g.pick(lambda v: v.exact and v.dtype != "complex64" and broadcasts(v.shape, a.shape))
    op = g.choose("==", "!=", "<", "<=", ">", ">=")
    g.let(f"{a.name} {op} {b.name}")


def is_special(g):
    a = g.pick_float(exact=True)
    g.let(f"mx.{g.choose('isnan', 'isinf', 'isfinite', 'isposinf', 'isneginf')}({a.name})")


def select(g):
    a = g.pick_float()
    fits = lambda v: v.is_bool and v.exact and broadcasts(v.shape, a.shape)
    condition = g.pick(fits, lambda: g.new_input("bool", a.shape[a.ndim // 2 :]))
    b = g.compatible(a)
    g.let(f"mx.where({condition.name}, {a.name}, {b.name})", a.exact and b.exact, max(a.size, b.size))


def logical(g):
    a = g.pick(lambda v: v.is_bool)
    b = g.pick(lambda v: v.is_bool and broadcasts(v.shape, a.shape))
    name = g.choose("mx.logical_not({})", "mx.logical_and({}, {})", "mx.logical_or({}, {})", "{} != {}", "{} & {}", "{} | {}")
    g.let(name.format(a.name, b.name), a.exact and b.exact)


def integer_unary(g):
    a = g.pick(lambda v: v.is_integer)
    g.let(g.choose("mx.negative({})", "mx.abs({})", "mx.square({})", "~{}", "mx.sign({})").format(a.name), a.exact)


def integer_binary(g):
    a = g.pick(lambda v: v.is_integer)
    b = g.pick(lambda v: (v.is_integer or v.is_bool) and broadcasts(v.shape, a.shape))
    name = g.choose(
        "{} + {}", "{} - {}", "{} * {}", "{} & {}", "{} | {}", "{} ^ {}", "mx.maximum({}, {})", "mx.minimum({}, {})",
        "{} << ({} & 3)", "{} >> ({} & 3)", "{} // mx.maximum(mx.abs({}), 1)", "{} % mx.maximum(mx.abs({}), 1)",
        "{} * 3 + {}",
    )
    g.let(name.format(a.name, b.name), a.exact and b.exact)


def cast(g):
    a = g.pick(lambda v: v.size <= 60)
    into = g.choose(*FLOATS, *DTYPES)
    if not a.is_float or into in FLOATS:
        size = min(a.size, 60) if a.is_float else 64
        if a.is_integer or a.is_bool:
            size = 8 if a.dtype in ("int8", "uint8", "bool") else 40
        g.let(f"{a.name}.astype(mx.{type_name(into)})", a.exact, size)
    elif into in INTEGERS and a.exact:
        low = 0 if into.startswith("u") else -100
        # What C++ leaves undefined for a cast, NaN and numbers out of range, is kept from it.
        g.let(f"mx.clip(mx.nan_to_num({a.name}), {low}, 100).astype(mx.{into})")
    elif into == "complex64" or a.exact:
        g.let(f"{a.name}.astype(mx.{type_name(into)})", a.exact, a.size)


def type_name(dtype):
    return "bool_" if dtype == "bool" else dtype


def complex_op(g):
    fits = lambda v: v.dtype == "complex64" and g.is_tame(v)
    a = g.pick(fits, lambda: g.new_input("complex64", g.root.shape))
    b = g.pick(lambda v: v.dtype == "complex64" and g.is_tame(v))
    name, exact, size = g.choose(
        ("{} + {}", True, max(a.size, b.size) + 1),
        ("{} * {}", False, a.size + b.size + 1),
        ("mx.conjugate({})", True, a.size),
        ("mx.real({})", True, a.size),
        ("mx.imag({})", True, a.size),
        ("mx.abs({})", False, a.size + 1),
        ("mx.exp({} * 0.01)", False, 3),
        ("{} - {}", True, max(a.size, b.size) + 1),
    )
    g.let(name.format(a.name, b.name), exact and a.exact and b.exact, size)


TABLE = [
    float_exact, float_function, float_function, binary, binary, binary, with_scalar, with_scalar, float_step,
    division_of_exact, comparison, is_special, select, select, logical, integer_unary, integer_binary, cast, cast,
    complex_op,
]
