"""Counts how often the system compiler really runs, from the outside: $CXX names a wrapper that notes each run."""

import contextlib
import os
import pathlib
import shlex
import shutil
import tempfile


def write_wrapper(folder):
    """A compiler that appends a line to folder/runs for every compilation (not for --version), then compiles."""
    compiler = os.environ.get("CXX", "")
    real = shutil.which(compiler) if compiler else None
    real = real or next(filter(None, map(shutil.which, ("g++", "c++", "clang++"))), None)
    if real is None:
        raise SystemExit("no C++ compiler found: install g++ or clang++")
    log = folder / "runs"
    log.touch()
    wrapper = folder / "compiler"
    note = f'[ "$1" = --version ] || echo run >> {shlex.quote(str(log))}'
    wrapper.write_text(f'#!/bin/sh\n{note}\nexec {shlex.quote(real)} "$@"\n')
    wrapper.chmod(0o755)
    return wrapper, log


def count(log):
    return len(log.read_text().splitlines())


@contextlib.contextmanager
def counted():
    """For this process; enter before Auto-Perfect first compiles. Yields a function that gives the count so far."""
    with tempfile.TemporaryDirectory(prefix="autoperfect-") as folder:
        wrapper, log = write_wrapper(pathlib.Path(folder))
        os.environ["CXX"] = str(wrapper)
        yield lambda: count(log)
