"""Counts how often the system compiler really runs, from the outside: $CXX names a wrapper that notes each run."""

import os
import pathlib
import shlex
import shutil


def write_wrapper(folder):
    """folder/compiler notes every compilation (not --version) in folder/runs, then compiles. Written once: path, size and
    time of a compiler are part of the key of the cache."""
    wrapper, log = folder / "compiler", folder / "runs"
    if not wrapper.exists():
        log.touch()
        note = f'[ "$1" = --version ] || echo run >> {shlex.quote(str(log))}'
        wrapper.write_text(f'#!/bin/sh\n{note}\nexec {shlex.quote(system_compiler())} "$@"\n')
        wrapper.chmod(0o755)
    return wrapper


def system_compiler():
    found = next(filter(None, map(shutil.which, (os.environ.get("CXX", ""), "g++", "c++", "clang++"))), None)
    if found is None:
        raise SystemExit("no C++ compiler found: install g++ or clang++")
    return found


def count(wrapper):
    return len((pathlib.Path(wrapper).parent / "runs").read_text().splitlines())
