"""A run of many random programs. Failures shrink and become regress files."""

import collections
import dataclasses
import pathlib

import mlx.core as mx
from hypothesis import HealthCheck, Phase, given, seed, settings

from . import regress
from .generator import programs
from .legs import Check
from .program import Program
from .table import TABLE

FAILURES = pathlib.Path(__file__).resolve().parents[2] / "build" / "fuzz"


@dataclasses.dataclass
class Failure:
    program: Program
    error: Exception
    file: pathlib.Path = None


class Session:
    """`kernels`: of so many programs one has its kernels compiled (0: none)."""

    def __init__(self, seed, kernels, folder=FAILURES):
        self.seed, self.kernels, self.folder = seed, kernels, folder
        self.count = collections.Counter()
        self.failure = None

    def check(self, program):
        number = self.count["programs"]
        folder = self.folder
        folder.mkdir(parents=True, exist_ok=True)
        # A crash of this process leaves the program that did it.
        (folder / "running.txt").write_text(f"seed {self.seed}\n{program}", encoding="utf-8")
        schedule = number // self.kernels if self.kernels and number % self.kernels == 0 else None
        if self.failure:
            schedule = self.schedule
        self.schedule = schedule
        try:
            Check(program.function(), program.make_arguments(), self.count, schedule, number % 4 == 3).run()
        except Exception as error:
            self.failure = Failure(program, error)
            raise

    def run(self, examples, shrink=True):
        """The smallest failure found, or None."""
        phases = [Phase.generate, Phase.shrink] if shrink else [Phase.generate]

        @seed(self.seed)
        @settings(
            max_examples=examples, database=None, deadline=None, phases=phases, report_multiple_bugs=False,
            print_blob=False, suppress_health_check=list(HealthCheck),
        )
        @given(programs(TABLE))
        def every_way(program):
            self.check(program)

        mx.disable_compile()  # mlx.nn compiles some functions, which on the CPU round otherwise than eager ones
        try:
            every_way()
        except Exception as error:
            if self.failure is None:
                raise  # the generator's own
            self.failure.error = error if str(error) == str(self.failure.error) else self.failure.error
            origin = f"found by seed {self.seed}"
            self.failure.file = regress.write(self.folder, self.failure.program, origin, str(self.failure.error))
        finally:
            mx.enable_compile()
        return self.failure
