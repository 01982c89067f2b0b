"""Runs one program in every way there is and compares the results.

    eager            MLX itself
    captured         the captured graph, printed, parsed and interpreted: the same bits
    reference        the reference executor on it, in exact dtype semantics
    canonical        the canonical graph, printed, parsed and interpreted; by the reference it has the same bits as captured
    plan             the fused plan, every region as raise() gives it, the rest by MLX
    region           each region alone on the values it has in this program: raise(), the Python text of that, and the
                     reference executor on its KernelIR
    kernel           each region compiled from one of the schedules: admitted by the gate, and judged by the gate's rule on
                     these values
    wide             instead, at times: kernels that may keep halves in f32, by the gate's rule on these values
    program          the whole program with those kernels, twice
"""

import dataclasses
import re

import mlx.core as mx
from autoperfect import _core

from .compare import Spread, agree, same_bits


# MLX 0.32 never returns from some sums, products and the like of no elements (of a transposed array with shape (3, 0)
# along its last axis), so eager cannot be asked.
REDUCTION = re.compile(r"%\S+ = (?:sum|prod|any|all) (%[\w.]+) .*: \w+\[([\d,]*)\]$")
RESULT = re.compile(r"^\s+(%\S+) = .* : \w+\[([\d,]*)\]$|(%[\w.]+): \w+\[([\d,]*)\]", re.MULTILINE)


def is_empty(dimensions):
    return "0" in dimensions.split(",")


def reduces_nothing(text):
    """Whether a graph has a reduction of no elements to some."""
    empty = {a or b for a, x, b, y in RESULT.findall(text) if is_empty(x or y)}
    reductions = (REDUCTION.search(line) for line in text.splitlines())
    return any(r[1] in empty and not is_empty(r[2]) for r in reductions if r)


def evaluated(arrays):
    arrays = list(arrays)
    mx.eval(arrays)
    return arrays


def called(source, inputs):
    """What the one function of a Python text returns."""
    scope = {"mx": mx}
    exec(source, scope)
    function = next(value for name, value in scope.items() if name not in ("mx", "__builtins__") and callable(value))
    outputs = function(*inputs)
    return [outputs] if isinstance(outputs, mx.array) else outputs


@dataclasses.dataclass(frozen=True)
class Options:
    schedule: int | None = None  # which of the schedules kernels are compiled from; None: none is compiled
    gate_by_cost: bool = False  # of fuse()
    wide: bool = False  # kernels are lowered with numerics="wide"

    def __str__(self):
        return f"schedule={self.schedule} gate_by_cost={self.gate_by_cost} wide={self.wide}"


class Check:
    """One program. `count` (a collections.Counter) adds up what was run, and what was not compared and why."""

    def __init__(self, function, arguments, count, options=Options()):
        self.function, self.arguments, self.count, self.options = function, arguments, count, options

    def run(self):
        self.count["programs"] += 1
        self.stages = self.build("raised")
        if reduces_nothing(self.stages.captured):
            self.count["not compared, eager: a reduction of no elements"] += 1
            self.count["not compiled: a reduction of no elements"] += self.options.schedule is not None
            return
        self.eager = evaluated(self.function(*self.arguments))
        texts = (self.stages.captured, self.stages.canonical)
        graphs = [lambda seed, text=text: self.stages.interpret(text, seed=seed) for text in texts]
        self.spread = Spread(graphs, _core.rounding_dependent(texts[0]), _core.zero_sign_dependent(texts[0]))
        same_bits("captured", self.by_text(self.stages.captured), self.eager)
        self.count["leg captured"] += 1
        self.agree("canonical", self.by_text(self.stages.canonical))
        self.run_reference()
        self.agree("plan", evaluated(self.stages.call()))
        self.run_regions()
        if self.options.schedule is not None:
            self.run_kernels()

    def build(self, region_code, numerics="mlx"):
        return _core.Stages(
            self.function, self.arguments, region_code, self.options.schedule or 0, self.options.gate_by_cost, numerics
        )

    def by_text(self, text, wanted=()):
        return evaluated(self.stages.interpret(text, list(wanted)))

    def agree(self, leg, ours):
        agree(leg, ours, self.eager, self.spread, self.count)
        self.count["leg " + leg] += 1

    def skip(self, leg, error):
        """What the reference does not know yet."""
        reason = str(error).splitlines()[0].replace("[reference] ", "").partition(" (line")[0]
        reason = re.sub(r"%\S+ is", "a value is", reason)
        self.count[f"not compared, {leg}: {reason}"] += 1

    def run_reference(self):
        try:
            captured, canonical = (
                _core.run_reference(text, self.stages.inputs_of(text), "exact")
                for text in (self.stages.captured, self.stages.canonical)
            )
        except ValueError as error:
            if "[reference]" not in str(error):
                raise
            return self.skip("reference", error)
        self.agree("reference", captured)
        same_bits("canonical by reference", canonical, captured)

    def region_values(self, regions):
        """Per region the values it reads and those it makes, as the canonical graph has them."""
        names = sorted({name for region in regions for name in region["inputs"] + region["outputs"]})
        values = dict(zip(names, self.by_text(self.stages.canonical, names))) if names else {}
        return [([values[n] for n in r["inputs"]], [values[n] for n in r["outputs"]]) for r in regions]

    def run_regions(self):
        self.regions = self.stages.regions
        self.values = self.region_values(self.regions)
        for r, (region, (inputs, outputs)) in enumerate(zip(self.regions, self.values)):
            if not region["lowered"]:
                raise AssertionError(f"region {r} was not lowered: {region['reason']}")
            self.run_region(r, region, inputs, outputs)

    def run_region(self, r, region, inputs, outputs):
        kernel = region["kernel"]
        text = _core.raise_kernel(kernel)
        graphs = [lambda seed: _core.interpret(text, inputs, seed)]
        zero_signs = _core.zero_sign_dependent(self.stages.canonical, region["outputs"])
        spread = Spread(graphs, _core.rounding_dependent(text), zero_signs)
        with_kernel = lambda what, ours: agree(f"region {r} {what}\n{kernel}", ours, outputs, spread, self.count)
        with_kernel("raised", evaluated(self.stages.run_region(r, inputs)))
        self.count["leg region raised"] += 1
        source = _core.python_text(text)
        with_kernel(f"as Python\n{source}", evaluated(called(source, inputs)))
        self.count["leg region as Python"] += 1
        try:
            exact = _core.run_kernel(kernel, inputs, "exact")
        except ValueError as error:
            return self.skip("region by reference", error)
        with_kernel("by reference", exact)
        self.count["leg region by reference"] += 1

    def judge(self, what, r, kernel, ours):
        inputs, theirs = self.values[r]
        try:
            failure = _core.judge(kernel, inputs, ours, theirs)
        except ValueError as error:
            return self.skip("kernel judged", error)
        if failure:
            raise AssertionError(f"{what}: {failure}\n{kernel}")

    def run_kernels(self):
        wide = self.options.wide
        compiled = self.build("untimed", "wide" if wide else "mlx")
        regions = compiled.regions
        if [r["kernel"].replace("    wide yes\n", "") for r in regions] != [r["kernel"] for r in self.regions]:
            raise AssertionError("two builds of one program have other regions")
        for r, region in enumerate(regions):
            if region["rejected"]:
                raise AssertionError(f"region {r}: the gate refuses {region['rejected'][0]}\n{region['kernel']}")
            if not region["provenance"]:
                self.count[f"not compared, kernel: {region['reason']}"] += 1
                continue
            ours = evaluated(compiled.run_region(r, self.values[r][0]))
            self.judge(f"kernel {r} ({region['provenance']})", r, region["kernel"], ours)
            self.count["leg wide" if wide else "leg kernel"] += 1
        ours = evaluated(compiled.call())
        if wide:
            self.count["leg wide program"] += 1
            return
        self.agree("program", ours)
        same_bits("program, second call", evaluated(compiled.call()), ours)
