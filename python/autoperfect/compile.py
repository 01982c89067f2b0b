"""``compile`` and ``explain``: the faces of the compiled functions of ``autoperfect._core``."""

import functools

import mlx.core  # its types must exist before ours refer to them

from ._core import CompiledFunction

_NAMES = ("__module__", "__name__", "__qualname__", "__doc__")


def compile(fun=None, inputs=None, outputs=None, shapeless=False, numerics="mlx"):
    """A function that gives the results of ``fun``, by verified kernels where they are faster than MLX.

    Same signature and semantics as ``mx.compile``, and one option more; also a decorator, with and without options.

    Args:
        fun: takes and returns arrays, or trees (lists, tuples, dicts) of arrays. Other arguments are constants:
            ``fun`` is traced once for each of their values, and for each shape and dtype of the arrays. An
            ``nn.Module`` may be an argument.
        inputs: lists or dicts of arrays that ``fun`` reads besides its arguments, such as ``model.state`` and
            ``mx.random.state``.
        outputs: lists or dicts of arrays that ``fun`` updates; updated in place on each call.
        shapeless: accepted for compatibility. Kernels serve every number of rows anyway.
        numerics: ``"mlx"`` rounds wherever MLX does. With ``"wide"`` kernels may keep what is float16 or bfloat16 in
            float32 until it is stored: results differ from MLX's, and are nearer to exact arithmetic.

    Returns:
        A callable. ``fast.graph``, ``fast.regions`` and ``fast.kernels`` are the texts of what ran last.

    Raises:
        What ``fun`` raises, and ``ValueError`` for an argument that is neither an array, a constant, nor a tree of
        them, as ``mx.compile`` does.
    """
    if fun is None:
        return functools.partial(compile, inputs=inputs, outputs=outputs, shapeless=shapeless, numerics=numerics)
    if not callable(fun):
        raise TypeError(f"[compile] Expected a callable, but received {type(fun).__name__}.")
    compiled = CompiledFunction(fun, inputs, outputs, shapeless, numerics)
    for name in _NAMES:
        if hasattr(fun, name):
            setattr(compiled, name, getattr(fun, name))
    return compiled


def explain(fun, *args, **kwargs):
    """What happens to ``fun`` for these arguments, as text: graph, regions, kernels, predictions and measurements.

    Compiles when needed, and does not run the result. ``fun`` is a function or what ``compile`` made of one.
    """
    compiled = fun if isinstance(fun, CompiledFunction) else compile(fun)
    return compiled._explain(args, kwargs)
