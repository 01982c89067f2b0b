"""Statements that move elements: views, joins, gathers and updates."""

import math


def reshaped(g, shape):
    """A shape of as many elements: neighbours merged, or one axis split."""
    sizes = list(shape)
    if len(sizes) > 1 and g.flip():
        at = g.integer(0, len(sizes) - 2)
        sizes[at : at + 2] = [sizes[at] * sizes[at + 1]]
    elif sizes:
        at = g.integer(0, len(sizes) - 1)
        divisors = [d for d in (1, 2, 3, 5, 7, 8, 31) if sizes[at] % d == 0 and sizes[at]]
        if divisors:
            d = g.choose(*divisors)
            sizes[at : at + 1] = [d, sizes[at] // d]
    return sizes


def view(g):
    a = g.pick()
    n = a.name
    forms = [f"mx.reshape({n}, {reshaped(g, a.shape)})", f"mx.expand_dims({n}, {g.integer(0, a.ndim)})", f"mx.squeeze({n})"]
    if a.ndim:
        order = g.draw_permutation(a.ndim)
        forms += [f"mx.transpose({n}, {order})", f"{n}.T", f"mx.flatten({n}, 0, {g.integer(0, a.ndim - 1)})"]
        forms += [f"mx.swapaxes({n}, {g.axis(a)}, {g.axis(a)})", f"mx.moveaxis({n}, {g.axis(a)}, {g.axis(a)})"]
        forms += [f"mx.transpose({n}, {order})"]
    g.let(g.choose(*forms), a.exact, a.size)


def index(g, size):
    """One axis of a slice."""
    kind = g.integer(0, 5)
    if size == 0 or kind == 0:
        return ":"
    if kind == 1:
        return str(g.integer(-size, size - 1))
    if kind == 2:
        return f"::{g.choose(-1, 2, -2, 3)}"
    start = g.integer(0, size - 1)
    stop = g.integer(start, size)
    if kind == 3:
        return f"{start}:{stop}"
    if kind == 4:
        return f"{start}:{stop}:{g.choose(2, 3, 1)}"
    return f"{stop}:{start}:-1" if start else f"{stop}::-{g.choose(1, 2)}"


def slice_text(g, a, whole=True):
    parts = [index(g, size) for size in a.shape[: g.integer(1, a.ndim)]]
    if not whole:
        parts = [part if ":" in part else ":" for part in parts]
    return ", ".join(parts)


def slicing(g):
    a = g.pick(lambda v: v.ndim > 0)
    g.let(f"{a.name}[{slice_text(g, a)}]", a.exact, a.size)


def broadcast(g):
    a = g.pick(lambda v: math.prod(v.shape) <= 600)
    lead = g.choose([], [2], [3, 1], [1], [5])
    shape = lead + [g.choose(1, 3, 8) if size == 1 else size for size in a.shape]
    g.let(f"mx.broadcast_to({a.name}, {shape})", a.exact, a.size)


def joining(g):
    a = g.pick()
    b = g.pick(lambda v: v.shape == a.shape and v.dtype != "complex64", lambda: a)
    if a.dtype == "complex64":
        b = a
    exact, size = a.exact and b.exact, max(a.size, b.size)
    forms = [f"mx.stack([{a.name}, {b.name}], axis={g.integer(0, a.ndim)})"]
    if a.ndim:
        axis = g.axis(a)
        forms += [f"mx.concatenate([{a.name}, {b.name}], axis={axis})"] * 2
        forms += [f"mx.concatenate([{a.name}, {b.name}, {a.name}], axis={axis})"]
        forms += [f"mx.concatenate([{b.name}[:1], {a.name}], axis=0)"]
    g.let(g.choose(*forms), exact, size)


def splitting(g):
    a = g.pick(lambda v: v.ndim > 0 and max(v.shape) > 1)
    axis = max(range(a.ndim), key=lambda i: a.shape[i])
    size = a.shape[axis]
    parts = [n for n in (2, 3, 5) if size % n == 0]
    where = str(g.choose(*parts)) if parts and g.flip() else str(sorted({g.integer(1, size - 1), size - 1}))
    g.let_all(f"mx.split({a.name}, {where}, axis={axis})", a.exact, a.size)


def padding(g):
    a = g.pick(lambda v: v.ndim > 0)
    widths = [(g.integer(0, 2), g.integer(0, 2)) for _ in a.shape]
    mode = g.choose(f"constant_values={g.choose(0, 1)}", "mode='edge'", "")
    if 0 in a.shape:
        mode = ""
    g.let(f"mx.pad({a.name}, {widths}, {mode})", a.exact, max(a.size, 1))


def moving(g):
    a = g.pick(lambda v: v.ndim > 0)
    forms = [f"mx.roll({a.name}, {g.integer(-3, 3)}, axis={g.axis(a)})", f"mx.tile({a.name}, 2)"]
    forms += [f"mx.repeat({a.name}, 2, axis={g.axis(a)})"]
    if a.ndim == 2:
        forms += [f"mx.tril({a.name})", f"mx.triu({a.name}, 1)", f"mx.diagonal({a.name})", f"mx.diag({a.name})"]
    g.let(g.choose(*forms), a.exact, a.size)


def indices(g, size):
    """Text of an index array with entries in [-size, size)."""
    count = g.choose(1, 2, 5, 17)
    entries = [g.integer(-size, size - 1) for _ in range(min(count, 5))] * (4 if count == 17 else 1)
    made = f"mx.array({entries[:count]})"
    known = [v for v in g.values if v.exact and v.is_integer and v.dtype != "uint64" and v.array.size <= 600]
    if known and g.flip():
        # uint8 cannot hold the negative sizes that clip would need.
        made = f"(mx.abs({g.choose(*known).name}.astype(mx.int32) % {size}))"
    return made


def taking(g):
    a = g.pick(lambda v: v.ndim > 0 and min(v.shape) > 0)
    axis = g.axis(a)
    forms = [
        f"mx.take({a.name}, {indices(g, a.shape[axis])}, axis={axis})",
        f"mx.take({a.name}, {indices(g, math.prod(a.shape))})",
        f"{a.name}[{indices(g, a.shape[0])}]",
    ]
    if a.ndim > 1:
        column = ", ".join([":"] * (a.ndim - 1) + [indices(g, a.shape[-1])])
        rows = f"mx.array({[g.integer(0, a.shape[0] - 1) for _ in range(3)]})"
        columns = f"mx.array({[[g.integer(0, a.shape[1] - 1)] for _ in range(2)]})"
        forms += [f"{a.name}[{column}]", f"{a.name}[{rows}, {columns}]"]
    g.let(g.choose(*forms), a.exact, a.size)


def taking_along(g):
    a = g.pick(lambda v: v.ndim > 0 and min(v.shape) > 0)
    axis = g.axis(a)
    size = a.shape[axis]
    shape = list(a.shape)
    shape[axis] = g.choose(1, 2, size)
    at = f"(mx.arange({math.prod(shape)}) % {size}).reshape({shape})"
    if g.flip():
        g.let(f"mx.take_along_axis({a.name}, {at}, axis={axis})", a.exact, a.size)
    else:
        shape[axis] = 1
        g.let(f"mx.put_along_axis({a.name}, {at.replace(str(math.prod(shape)), str(math.prod(shape)))}, "
              f"mx.array(1, {a.name}.dtype), axis={axis})", a.exact, max(a.size, 1))


def update(g):
    a = g.pick(lambda v: v.ndim > 0 and min(v.shape) > 0 and g.is_tame(v))
    where = slice_text(g, a, whole=g.flip())
    part = f"{a.name}[{where}]"
    value = g.choose(f"{part} * 2", f"mx.array(1, {a.name}.dtype)", f"{part}[::1]" if ":" in where.split(",")[0] else part)
    if a.is_bool:
        value = f"mx.logical_not({part})"
    how = g.choose("add", "multiply", "maximum", "minimum", "subtract") if not a.is_bool else "maximum"
    if how in ("maximum", "minimum") and a.dtype == "complex64":
        how = "add"
    g.let(f"{a.name}.at[{where}].{how}({value})", a.exact, 2 * max(1, a.size) + 1)


def scatter(g):
    """Rows updated by an index array; sums over repeated rows are made in the order MLX makes them."""
    a = g.pick(lambda v: v.ndim > 0 and min(v.shape) > 0 and g.is_tame(v) and not v.is_bool and v.dtype != "complex64")
    rows = f"mx.array({[g.integer(0, a.shape[0] - 1) for _ in range(g.integer(1, 4))]})"
    how = g.choose("add", "maximum", "minimum")
    g.let(f"{a.name}.at[{rows}].{how}({a.name}[{rows}])", a.exact, a.size + 3)


def landing(g):
    """A few updates of each row, some of them to one element."""
    a = g.pick(lambda v: v.ndim > 0 and min(v.shape) > 0 and g.is_tame(v) and not v.is_bool and v.dtype != "complex64")
    size, count = a.shape[-1], g.integer(1, 6)
    places = [g.integer(-size, size - 1) for _ in range(count)]
    at = f"mx.array({(places[:3] + places)[:count]})"
    forms = [f"mx.put_along_axis({a.name}, mx.broadcast_to({at}, {[*a.shape[:-1], count]}), {a.name}[..., {at}] * 2, axis=-1)"]
    forms += [f"{a.name}.at[..., {at}].{how}({a.name}[..., {at}])" for how in ("add", "maximum", "minimum")]
    if a.ndim > 1:
        rows = f"mx.array({[g.integer(-a.shape[0], a.shape[0] - 1) for _ in range(count)]})"
        forms += [f"{a.name}.at[{rows}, ..., {at}].add({a.name}[{rows}, ..., {at}])"]
        forms += [f"{a.name}.at[mx.arange({a.shape[0]}), ..., {places[0]}].add(1)"]
    g.let(g.choose(*forms), a.exact, a.size + 4)


def assignment(g):
    """`y = mx.array(a); y[...] = value`, as a function of its own so that it stays one statement."""
    a = g.pick(lambda v: v.ndim > 0 and min(v.shape) > 0)
    name = g.fresh("set")
    where = slice_text(g, a)
    text = f"def {name}(a):\n    a = a + mx.array(0, a.dtype)\n    a[{where}] = a[{where}][...]\n    a[0] = a[-1]\n    return a"
    g.define(text)
    g.let(f"{name}({a.name})", a.exact, a.size)


TABLE = [
    view, view, view, slicing, slicing, broadcast, joining, joining, splitting, padding, moving, taking, taking,
    taking_along, update, scatter, landing, landing, assignment,
]
