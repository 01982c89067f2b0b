"""Shared fixtures. Every test session has a kernel cache of its own, so that no earlier run decides a test."""

import os
import pathlib
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

_cache = tempfile.TemporaryDirectory(prefix="autoperfect-tests-")
os.environ["AUTOPERFECT_CACHE_DIR"] = _cache.name  # before the library is first imported

import mlx.core as mx  # noqa: E402
import pytest  # noqa: E402

mx.set_default_device(mx.cpu)


@pytest.fixture
def root():
    return ROOT


@pytest.fixture(autouse=True)
def seeded():
    mx.random.seed(0)
