"""Honest timing: warm-up, fixed iterations, contenders interleaved round by round in rotating order, median and
quartiles. Every sample ends with the result computed and the device idle."""

import dataclasses
import statistics
import time

import mlx.core as mx

SHORTEST_SAMPLE = 5e-3  # seconds; shorter calls are repeated within a sample


@dataclasses.dataclass
class Timing:
    median: float  # seconds of one call
    low: float
    high: float
    iterations: int

    @property
    def spread(self):
        return (self.high - self.low) / 2 / self.median


def call(function, arguments):
    mx.eval(function(*arguments))
    mx.synchronize()


def sample(function, arguments, repeats):
    start = time.perf_counter()
    for _ in range(repeats):
        call(function, arguments)
    return (time.perf_counter() - start) / repeats


def repeats_for(seconds):
    return max(1, min(1000, round(SHORTEST_SAMPLE / max(seconds, 1e-7))))


def interleave(contenders, arguments, warmup, iterations):
    """{name: function} -> {name: Timing}. The last warm-up call says how often a sample repeats the call."""
    repeats, samples = {}, {name: [] for name in contenders}
    for name, function in contenders.items():
        for _ in range(max(1, warmup)):
            seconds = sample(function, arguments, 1)
        repeats[name] = repeats_for(seconds)
    names = list(contenders)
    for round_number in range(iterations):
        shift = round_number % len(names)
        for name in names[shift:] + names[:shift]:
            samples[name].append(sample(contenders[name], arguments, repeats[name]))
    return {name: summary(values) for name, values in samples.items()}


def summary(values):
    low, median, high = statistics.quantiles(values, n=4, method="inclusive") if len(values) > 1 else values * 3
    return Timing(median, low, high, len(values))
