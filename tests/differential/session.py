"""A run of many random programs. Failures shrink and become regress files."""

import collections
import dataclasses
import math
import pathlib
import re
import time

import mlx.core as mx
from hypothesis import HealthCheck, Phase, given, seed, settings

from . import regress
from .generator import programs
from .legs import Check, Options
from .minimize import minimize
from .program import Program
from .table import TABLE

SHRINK_SECONDS = 25  # then the smallest failure so far is reported; hypothesis may call that flaky
FAILURES = pathlib.Path(__file__).resolve().parents[2] / "build" / "differential"


@dataclasses.dataclass
class Failure:
    program: Program
    error: Exception
    file: pathlib.Path = None


def kind_of(error):
    """What must stay the same while a failure is made smaller: the way to run it, or the exception."""
    first = str(error).partition(":")[0] if isinstance(error, AssertionError) else ""
    return type(error), re.sub(r"\d+.*", "", first)


class Session:
    """`kernels`: of so many programs one has its kernels compiled (0: none)."""

    def __init__(self, seed, kernels, folder=FAILURES):
        self.seed, self.kernels, self.folder = seed, kernels, folder
        self.count, self.programs = collections.Counter(), 0
        self.failure, self.shrink_until = None, math.inf

    def check(self, program):
        if time.monotonic() > self.shrink_until:
            return
        number = self.programs
        self.programs += 1
        folder = self.folder
        folder.mkdir(parents=True, exist_ok=True)
        # A crash of this process leaves the program that did it.
        (folder / f"running-{self.seed}.txt").write_text(str(program), encoding="utf-8")
        if self.failure is None:
            compiles = self.kernels and number % self.kernels == 0
            schedule = number // self.kernels if compiles else None
            self.options = Options(schedule, gate_by_cost=number % 4 == 3, wide=compiles and schedule % 4 == 3)
        try:
            Check(program.function(), program.make_arguments(), self.count, self.options).run()
        except Exception as error:
            if self.failure is None:
                self.shrink_until = time.monotonic() + SHRINK_SECONDS
            self.failure = Failure(program, error)
            raise

    def minimize(self):
        """Further than hypothesis, keeping what kind of failure it is."""
        kind = kind_of(self.failure.error)
        end = time.monotonic() + SHRINK_SECONDS

        def fails(program):
            if time.monotonic() > end:
                return False
            try:
                Check(program.function(), program.make_arguments(), collections.Counter(), self.options).run()
            except Exception as error:
                if kind_of(error) == kind:
                    self.failure = Failure(program, error)
                    return True
            return False

        minimize(self.failure.program, fails)

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
        except Exception:
            if self.failure is None:
                raise  # the generator's own
            self.minimize()
            origin = f"found by seed {self.seed}, {self.options}"
            self.failure.file = regress.write(self.folder, self.failure.program, origin, str(self.failure.error))
        finally:
            mx.enable_compile()
            (self.folder / f"running-{self.seed}.txt").unlink(missing_ok=True)
        return self.failure
