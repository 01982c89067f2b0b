"""What a measured result is compared with: the oracle on the measured arguments, or, as the double reference is plain
and slow, on the last rows of large ones."""

import dataclasses

import accuracy
import mlx.utils
import product

WHOLE_ELEMENTS = 1 << 22  # up to here the oracle takes all rows
PART_ELEMENTS = 1 << 20


def check(workload, size, dtype, arguments, results):
    """The accuracy of `results`, which ours gave for `arguments`."""
    eager = workload.function(*arguments)
    if size[0] * size[1] > WHOLE_ELEMENTS:
        verdict = last_rows(workload, size, dtype, arguments, results, eager)
        if verdict:
            return with_all_rows(verdict, results, eager)
    return accuracy.judge(results, eager, product.oracle(workload.function, arguments))


def last_rows(workload, size, dtype, arguments, results, eager):
    """Judges the last rows of the results by the last rows of the arguments; None when rows depend on each other."""
    rows = max(1, PART_ELEMENTS // size[1])
    part = cut(arguments, workload.make_args((rows, size[1]), dtype))
    part_eager = workload.function(*part)
    if accuracy.worst(cut(eager, part_eager), part_eager) > accuracy.limit(eager, accuracy.EAGER_BUDGET):
        return None
    return accuracy.judge(cut(results, part_eager), part_eager, product.oracle(workload.function, part))


def cut(tree, shapes):
    """The end of every array of `tree` in every dimension, as large as the array of `shapes` at its place."""

    def end(array, shape):
        return array[tuple(slice(have - want, None) for have, want in zip(array.shape, shape.shape, strict=True))]

    return mlx.utils.tree_map(end, tree, shapes)


def with_all_rows(verdict, results, eager):
    """`verdict`, and no element anywhere that is plainly something else than eager's."""
    apart, allowed = accuracy.worst(results, eager), accuracy.limit(results, accuracy.SAME_FUNCTION)
    failure = verdict.failure or ("" if apart <= allowed else f"{apart:.1f} units from eager MLX, allowed {allowed:g}")
    return dataclasses.replace(verdict, correct=not failure, failure=failure, against_eager=apart)
