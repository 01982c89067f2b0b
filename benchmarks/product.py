"""Everything the benchmarks and the demo ask of Auto-Perfect beyond MLX, in one place."""

import dataclasses
import re

import autoperfect
from autoperfect import _core

KERNEL = re.compile(r"^autoperfect\.kernel \d+\n.*?^}$", re.MULTILINE | re.DOTALL)
REGION = re.compile(r'^  region \w+ {\n.*?^    reason "(.*?)"$', re.MULTILINE | re.DOTALL)


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What became of one region of a program."""

    name: str
    kind: str
    use_mlx: bool
    reason: str
    provenance: str
    from_cache: bool
    seconds: float
    baselines: dict
    worst_ulp: float

    @property
    def short_reason(self):
        """Without the diagnostics that may follow."""
        return self.reason.partition(":")[0]


def compile(function):
    return autoperfect.compile(function)


def outcomes(fast):
    """Of the program that ran last."""
    names = [field.name for field in dataclasses.fields(Outcome)]
    return [Outcome(**{name: row[name] for name in names}) for row in fast.outcomes()]


def way(fast):
    """How the program that ran last does so: "" with our kernels where any won, else as what of MLX."""
    found = fast.whole()["way"]
    return "" if found == "with our kernels" else found


def fused(fast):
    """What each region of the program that ran last joins, in the order of outcomes(): "9 elementwise, 2 reductions"."""
    return [reason.partition(";")[0] for reason in REGION.findall(fast.regions)]


def oracle(function, arguments):
    """The leaves of the result in double precision, in order, as the reference executor computes them from the graph of
    the function. None when the program holds an operation that the reference does not know."""
    try:
        return autoperfect.compile(function)._oracle(tuple(arguments), {})
    except ValueError:
        return None


def copy_limit():
    """Bytes per second, read plus written, of the machine's measured streaming copy over all cores."""
    return _core.copy_limit()


def plan(function, arguments, **options):
    """The function after a plan of one's own (kernels=False: as MLX runs it; gate_by_cost, most_ops): it takes a list of
    arrays, and has figures, predicted_seconds, live_bytes, region_costs and the plan's text."""
    return _core.PlannedFunction(function, list(arguments), **options)


def plan_only(function, arguments):
    """Every stage before tuning, on a traced function: {"seconds": {stage: seconds}, "captured_ops", "canonical_ops",
    "regions"}."""
    return plan(function, arguments, kernels=False).figures


def machine():
    """What the cost model takes this machine to reach: copy_bytes_per_second, flops_per_second, threads."""
    return _core.machine()


def gpu():
    """What the cost model takes the GPU to reach: copy_bytes_per_second, launch_seconds, name, multiprocessors."""
    return _core.gpu()


def tune_kernel(text, request):
    """What became of a KernelIR text and of every candidate for it, see autoperfect.tune for the request: an outcome as
    a dict, with its "attempts", "text" and "evidence"."""
    return _core.tune_kernels([text], request)[0]


def version():
    return autoperfect.__version__


def kernel_texts(fast):
    """KernelIR of each region of the program that ran last, as text."""
    return KERNEL.findall(fast.kernels)


def run_kernel(text, inputs, how):
    """The outputs of a KernelIR text for inputs in ABI order. `how`: "oracle" (reference executor in double), "exact"
    (reference executor in the values' own dtypes), "mlx" (the same mathematics as MLX operations)."""
    return _core.run_kernel(text, inputs, how)
